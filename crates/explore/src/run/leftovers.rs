//! Processes that trials started and that still run, found through `/proc`: by the token in their environment, by the
//! process groups that trials made, or as descendants of the explorer.
//!
//! A program may write over its environment (many that show their state in `ps` do), leave its process group and lose
//! its parent: hence three ways, and a control group where there is one (`group.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use slowpath_platform::process;

/// The variable that has the exploration's token.
pub(crate) const TOKEN_VARIABLE: &str = "SLOWPATH_EXPLORATION";

/// How the processes of trials are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signs {
    /// In the environment.
    pub(crate) token: String,
    /// Leaders of process groups, which may have ended.
    pub(crate) groups: BTreeSet<i32>,
    /// Descendants of this process are meant, too.
    pub(crate) ancestor: Option<i32>,
    /// But not these, nor their descendants.
    pub(crate) spared: BTreeSet<i32>,
}

/// A process as `/proc/PID/stat` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: i32,
    group: i32,
    ticks: u64,
}

/// Ends all of them at once and waits until they have ended, for a bounded time.
pub(crate) fn kill(signs: &Signs) {
    for _ in 0..100 {
        let found = find(signs);
        if found.is_empty() {
            return;
        }
        for pid in &found {
            process::kill_if(*pid, || find(signs).contains(pid));
        }
        std::thread::sleep(Duration::from_millis(5));
        found.iter().for_each(|pid| process::reap(*pid));
    }
}

/// Seconds of processor time of the processes of a group and of those of their children that have ended.
pub(crate) fn cpu_of_group(leader: i32) -> f64 {
    let stats = stats();
    let of_group = stats.values().filter(|stat| stat.group == leader);
    let ticks: u64 = of_group.map(|stat| stat.ticks).sum();
    // USER_HZ is 100 on every architecture of Linux that is left.
    ticks as f64 / 100.0
}

/// Who they are now.
pub(crate) fn find(signs: &Signs) -> BTreeSet<i32> {
    let stats = stats();
    let own = std::process::id() as i32;
    let is_meant = |pid: i32, stat: &Stat| {
        signs.groups.contains(&stat.group)
            || (signs.ancestor)
                .is_some_and(|ancestor| descends(&stats, pid, ancestor, &signs.spared))
            || has_token(pid, &signs.token)
    };
    let meant = (stats.iter())
        .filter(|(pid, stat)| **pid != own && !signs.spared.contains(pid) && is_meant(**pid, stat));
    meant.map(|(pid, _)| *pid).collect()
}

fn descends(
    stats: &BTreeMap<i32, Stat>,
    mut pid: i32,
    ancestor: i32,
    spared: &BTreeSet<i32>,
) -> bool {
    // Bounded, as processes come and go while they are looked at.
    for _ in 0..1000 {
        if spared.contains(&pid) {
            return false;
        }
        match stats.get(&pid) {
            Some(stat) if stat.parent == ancestor => return true,
            Some(stat) if stat.parent > 1 => pid = stat.parent,
            _ => return false,
        }
    }
    false
}

fn has_token(pid: i32, token: &str) -> bool {
    if token.is_empty() {
        return false;
    }
    let wanted = format!("{TOKEN_VARIABLE}={token}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|one| one == wanted.as_bytes())
}

/// All processes but those that have ended.
fn stats() -> BTreeMap<i32, Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let stat = |pid: i32| {
        Some((
            pid,
            parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?,
        ))
    };
    pids.filter_map(stat).collect()
}

/// Words behind the name (which may hold anything): state, parent, group, …, and from the twelfth on times in ticks.
fn parse(text: &str) -> Option<Stat> {
    let words: Vec<&str> = text[text.rfind(')')? + 1..]
        .split_ascii_whitespace()
        .collect();
    if matches!(*words.first()?, "Z" | "X") {
        return None;
    }
    let ticks = words
        .get(11..15)?
        .iter()
        .filter_map(|word| word.parse::<u64>().ok());
    Some(Stat {
        parent: words.get(1)?.parse().ok()?,
        group: words.get(2)?.parse().ok()?,
        ticks: ticks.sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_line_of_proc_is_read_whatever_the_name() {
        let line = "7 (a) b) S 3 5 5 0 -1 4194560 1 2 3 4 10 20 30 40 20 0";
        assert_eq!(
            parse(line),
            Some(Stat {
                parent: 3,
                group: 5,
                ticks: 100
            })
        );
        assert_eq!(parse("7 (x) Z 3 5 5"), None);
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn who_has_left_group_and_parent_is_found_by_the_token() {
        let token = format!("test-{}", std::process::id());
        let mut command = Command::new("sh");
        command
            .args(["-c", "setsid sleep 60 & exit 0"])
            .env(TOKEN_VARIABLE, &token);
        assert!(command.status().is_ok_and(|status| status.success()));
        let signs = Signs {
            token,
            ..Signs::default()
        };
        assert_eq!(find(&signs).len(), 1);
        kill(&signs);
        assert_eq!(find(&signs), BTreeSet::new());
    }
}

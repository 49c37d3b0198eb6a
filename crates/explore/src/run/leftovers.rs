//! Processes that trials started and that still run, found through `/proc`: by the token in their environment, by the
//! process groups that trials made, or as descendants of the explorer.
//!
//! A program may write over its environment (many that show their state in `ps` do), leave its process group and lose
//! its parent: hence three ways, and a control group where there is one (`group.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::time::Duration;

use slowpath_platform::process;

use super::group::Part;

/// The variable that has the exploration's token.
pub(crate) const TOKEN_VARIABLE: &str = "SLOWPATH_EXPLORATION";

/// The variable that has the part of a trial that a program belongs to, beside the token.
pub(crate) const PART_VARIABLE: &str = "SLOWPATH_EXPLORATION_PART";

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

/// Whether there are any but those of a workload: this process and its descendants, these others, and what has inherited
/// its sign, as those do that have lost their parent.
pub(crate) fn are_any_beside(signs: &Signs, workload: Option<i32>, others: &BTreeSet<i32>) -> bool {
    let stats = stats();
    let is_below =
        |pid: i32, other: i32| pid == other || descends(&stats, pid, other, &BTreeSet::new());
    let is_of_workload = |pid: i32| {
        others.contains(&pid)
            || workload.is_some_and(|workload| is_below(pid, workload))
            || has_variable(pid, PART_VARIABLE, Part::Workload.name())
    };
    find(signs).into_iter().any(|pid| !is_of_workload(pid))
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
    !token.is_empty() && has_variable(pid, TOKEN_VARIABLE, token)
}

fn has_variable(pid: i32, name: &str, value: &str) -> bool {
    let wanted = format!("{name}={value}");
    environment(pid)
        .split(|byte| *byte == 0)
        .any(|one| one == wanted.as_bytes())
}

/// The environment of a process. One that starts a program has none for a moment, and is asked again.
fn environment(pid: i32) -> Vec<u8> {
    for attempt in 0..100 {
        match read_at_once(&format!("/proc/{pid}/environ")) {
            Ok(environment) if environment.is_empty() && may_come(pid, attempt) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            read => return read.unwrap_or_default(),
        }
    }
    Vec::new()
}

/// What one read gives, of a mebibyte at most: a second one finds nothing if the process has started another program
/// since (and the first of `fs::read` is one of 32 bytes).
fn read_at_once(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 1 << 20];
    let length = fs::File::open(path)?.read(&mut bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}

/// Whether an environment that was empty may be there soon: where a process starts a program, either the old one's is
/// gone, or the new one's ends at address 0, or, for some microseconds, where it begins, as one that stays empty does.
fn may_come(pid: i32, attempt: u32) -> bool {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let words = words_behind_name(&text).unwrap_or_default();
    // Fields as proc_pid_stat(5) numbers them; the first word here is field 3.
    let field = |number: usize| -> u64 {
        let word = words.get(number - 3);
        word.and_then(|word| word.parse().ok()).unwrap_or(0)
    };
    let (memory, begin, end) = (field(23), field(50), field(51));
    // Threads of the kernel, and processes that have gone, have no memory.
    memory > 0 && (end == 0 || begin != end || attempt < 20)
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
fn words_behind_name(text: &str) -> Option<Vec<&str>> {
    let behind = &text[text.rfind(')')? + 1..];
    Some(behind.split_ascii_whitespace().collect())
}

fn parse(text: &str) -> Option<Stat> {
    let words = words_behind_name(text)?;
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

    #[test]
    fn a_process_that_starts_one_program_after_the_other_is_seen_at_any_moment() {
        let token = format!("test-starts-{}", std::process::id());
        let again = "n=$((n + 1)); export n; [ $n -gt 20000 ] || exec sh -c \"$again\"";
        let mut command = Command::new("sh");
        command
            .args(["-c", again])
            .env("again", again)
            .env(TOKEN_VARIABLE, &token);
        let mut child = command.spawn().expect("a shell starts");
        let pid = child.id() as i32;
        let seen = (0..3000).filter(|_| has_token(pid, &token)).count();
        let _ = child.kill();
        let _ = child.wait();
        assert_eq!(seen, 3000);
    }
}

//! Uprobes as the kernel's tracing file system defines them, and their end.
//!
//! A definition alone costs nothing and probes nothing: only a counter that is opened on it, or an instance that records
//! it, does. So what a killed process leaves is a name in a list. Another way to make uprobes, by `perf_event_open`
//! alone, leaves no names, but with it the kernel (6.18) lets no observed process fork.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::start_time;

const LIST: &str = "uprobe_events";

/// The name of a group of this process: it begins with `prefix` and tells of whom it is.
pub fn own_group(prefix: &str) -> String {
    let own = std::process::id();
    let start = start_time(own as i32).map_or(0, |start| start.0);
    format!("{prefix}{own}_{start}")
}

/// Probes that are defined; their definitions end with this.
#[derive(Debug)]
pub struct Definitions {
    tracing: PathBuf,
    group: String,
    count: usize,
}

impl Definitions {
    /// None yet, of the tracing file system at `tracing`.
    pub fn new(tracing: PathBuf, group: String) -> Self {
        Self {
            tracing,
            group,
            count: 0,
        }
    }

    /// The name that they have in common.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Defines the probe `name` at an offset of a file, of the entry or of returns, with `fields` as the kernel's
    /// documentation of uprobe events has them. The path must have no space and no `#`.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn add(
        &mut self,
        name: &str,
        path: &Path,
        offset: u64,
        is_return: bool,
        fields: &str,
    ) -> io::Result<()> {
        let kind = if is_return { 'r' } else { 'p' };
        let line = format!(
            "{kind}:{}/{name} {}:{offset:#x} {fields}",
            self.group,
            path.display()
        );
        order(&self.tracing, &line)?;
        self.count += 1;
        Ok(())
    }
}

impl Drop for Definitions {
    fn drop(&mut self) {
        if self.count > 0 {
            remove(&self.tracing, |group| group == self.group);
        }
    }
}

/// Removes what processes that are no more have defined in groups that begin with `prefix`. (Of one in another container
/// it may not be known that it lives; what it uses cannot be removed.)
pub fn remove_leftovers(tracing: &Path, prefix: &str) {
    remove(tracing, |group| is_leftover(group, prefix));
}

/// Whether the process is no more that [`own_group`] named the group for, or one that begins with that.
fn is_leftover(group: &str, prefix: &str) -> bool {
    let mut owner = group
        .strip_prefix(prefix)
        .into_iter()
        .flat_map(|rest| rest.split('_'));
    let (Some(pid), Some(start)) = (owner.next(), owner.next()) else {
        return false;
    };
    let since = pid.parse().ok().and_then(start_time);
    since.is_none_or(|since| since.0.to_string() != start)
}

/// Removes all definitions of some groups. One is in use until the last process that held it has been put away: tries for
/// a bounded time.
pub fn remove(tracing: &Path, is_meant: impl Fn(&str) -> bool) {
    for _ in 0..200 {
        let list = fs::read_to_string(tracing.join(LIST)).unwrap_or_default();
        let names = list
            .lines()
            .filter_map(|line| line.split([':', ' ']).nth(1));
        let meant = names.filter(|name| name.split('/').next().is_some_and(&is_meant));
        let mut are_left = false;
        for name in meant {
            are_left |= order(tracing, &format!("-:{name}")).is_err();
        }
        if !are_left {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Opened for appending, as otherwise the kernel would remove the probes of everybody.
fn order(tracing: &Path, line: &str) -> io::Result<()> {
    let mut file = File::options().append(true).open(tracing.join(LIST))?;
    file.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{is_leftover, own_group};

    #[test]
    fn only_what_processes_that_are_no_more_have_defined_is_left_over() {
        let own = own_group("ours_");
        // One may have several groups.
        for group in [&own, &format!("{own}_30342")] {
            assert!(!is_leftover(group, "ours_"), "{group}");
        }
        let own = std::process::id();
        for group in [format!("ours_{own}_1"), format!("ours_{own}_1_30342")] {
            assert!(is_leftover(&group, "ours_"), "{group}");
        }
        for group in ["theirs_1_1", "ours_1"] {
            assert!(!is_leftover(group, "ours_"), "{group}");
        }
    }
}

//! Uprobes as the kernel's tracing file system defines them, and their end.
//!
//! A definition alone costs nothing and probes nothing: only a counter that is opened on it does, and that ends with the
//! process that opened it. So what a killed explorer leaves is a name in a list. The other way to make uprobes, by
//! `perf_event_open` alone, leaves no names, but with it the kernel (6.18) lets no observed process fork.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use slowpath_platform::process::start_time;
use slowpath_platform::tracefs::find_or_mount;

use super::Unusable;

/// What the groups of all explorers begin with.
const PREFIX: &str = "slowpath_explore_";

const LIST: &str = "uprobe_events";

/// The name below which this process defines probes: it tells of whom they are.
pub(crate) fn own_group() -> String {
    let own = std::process::id();
    let start = start_time(own as i32).map_or(0, |start| start.0);
    format!("{PREFIX}{own}_{start}")
}

/// Probes that are defined; their definitions end with this.
#[derive(Debug)]
pub(super) struct Definitions {
    tracing: PathBuf,
    group: String,
    count: usize,
}

impl Definitions {
    pub(super) fn new() -> Result<Self, Unusable> {
        let tracing = find_or_mount().map_err(|error| Unusable {
            what: format!("functions cannot be observed: {error}"),
            hint: "observing functions needs root, or CAP_PERFMON and a tracing file system that may be written"
                .to_owned(),
        })?;
        Ok(Self {
            tracing,
            group: own_group(),
            count: 0,
        })
    }

    /// Defines a probe at an offset of a file, of the entry or of returns; gives the number by which it is opened.
    pub(super) fn add(
        &mut self,
        path: &Path,
        offset: u64,
        is_return: bool,
    ) -> Result<u64, Unusable> {
        let text = path.display().to_string();
        if text.contains(|letter: char| letter.is_whitespace() || letter == '#') {
            return Err(Unusable {
                what: format!(
                    "the kernel takes no probe for `{text}`: its path has a space or `#`"
                ),
                hint: "name it by a link whose path has none".to_owned(),
            });
        }
        let unusable = |cause: io::Error| {
            Unusable {
            what: format!("the kernel takes no probe at {offset:#x} of {text}: {cause}"),
            hint: match cause.kind() {
                io::ErrorKind::NotFound => "it has no uprobes (CONFIG_UPROBE_EVENTS)",
                io::ErrorKind::PermissionDenied => {
                    "observing functions needs root, or CAP_PERFMON and a tracing file system that may be written"
                }
                _ => "its error_log in the tracing folder may say more",
            }
            .to_owned(),
        }
        };
        let name = format!("{}/f{}", self.group, self.count);
        let kind = if is_return { 'r' } else { 'p' };
        order(&self.tracing, &format!("{kind}:{name} {text}:{offset:#x}")).map_err(unusable)?;
        self.count += 1;
        let id = fs::read_to_string(self.tracing.join("events").join(&name).join("id"));
        let id = id.map_err(unusable)?;
        id.trim()
            .parse()
            .map_err(|_| unusable(io::ErrorKind::InvalidData.into()))
    }
}

impl Drop for Definitions {
    fn drop(&mut self) {
        if self.count > 0 {
            remove(&self.tracing, |group| group == self.group);
        }
    }
}

/// Removes what an explorer that was killed has defined.
pub(crate) fn remove_group(group: &str) {
    if let Ok(tracing) = find_or_mount() {
        remove(&tracing, |other| other == group);
    }
}

/// Removes what explorers that are no more have defined. (Of one in another container it may not be known that it lives;
/// what it uses cannot be removed.)
pub(crate) fn remove_leftovers() {
    let is_left = |group: &str| {
        let owner = group
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split_once('_'));
        owner.is_some_and(|(pid, start)| {
            let since = pid.parse().ok().and_then(start_time);
            since.is_none_or(|since| since.0.to_string() != start)
        })
    };
    if let Ok(tracing) = find_or_mount() {
        remove(&tracing, is_left);
    }
}

/// Removes all definitions of some groups. One is in use until the last process that held it has been put away: tries for
/// a bounded time.
fn remove(tracing: &Path, is_meant: impl Fn(&str) -> bool) {
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

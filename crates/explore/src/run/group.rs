//! A control group (version 2) of everything that trials start: how much processor time it took, and who is in it.
//!
//! Nothing can leave it by accident: it holds programs that go on in the background and change their names, too. Where
//! none can be made, `leftovers.rs` looks for them through `/proc`. Sets no limits.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use slowpath_platform::process;

/// The part of an exploration's group for the observed system, or that for the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    System,
    Workload,
}

impl Part {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Workload => "workload",
        }
    }
}

/// The control group of an exploration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    folder: PathBuf,
}

impl Group {
    /// The group of the exploration that has this token, as it may be left from a killed explorer; `None` where no
    /// control group can be made.
    pub(crate) fn of(token: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let folder = own_folder(&mounts, &own)?.join(format!("slowpath-explore-{token}"));
        Some(Self { folder })
    }

    /// Makes it; whether that worked.
    pub(crate) fn make(&self) -> bool {
        let parts = [Part::System, Part::Workload].map(|part| self.folder.join(part.name()));
        parts.iter().all(|part| fs::create_dir_all(part).is_ok())
    }

    /// Where a child has to write itself to join a part.
    pub(crate) fn door(&self, part: Part) -> Option<File> {
        let path = self.folder.join(part.name()).join("cgroup.procs");
        File::options().write(true).open(path).ok()
    }

    /// Seconds of processor time that the part's processes have taken, ended ones too.
    pub(crate) fn cpu(&self, part: Part) -> Option<f64> {
        let text = fs::read_to_string(self.folder.join(part.name()).join("cpu.stat")).ok()?;
        let micros = text
            .lines()
            .find_map(|line| line.strip_prefix("usage_usec "))?;
        Some(micros.trim().parse::<u64>().ok()? as f64 / 1e6)
    }

    /// Ends all of its processes at once, and waits until they have ended, for a bounded time.
    pub(crate) fn kill(&self) {
        for _ in 0..200 {
            let processes = self.processes();
            if processes.is_empty() {
                return;
            }
            for (part, pid) in &processes {
                process::kill_if(*pid, || self.holds(*part, *pid));
            }
            std::thread::sleep(Duration::from_millis(5));
            processes.iter().for_each(|(_, pid)| process::reap(*pid));
        }
    }

    /// Removes it; it must be empty.
    pub(crate) fn remove(&self) {
        for _ in 0..100 {
            for part in [Part::System, Part::Workload] {
                let _ = fs::remove_dir(self.folder.join(part.name()));
            }
            if fs::remove_dir(&self.folder).is_ok() || !self.folder.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Who is in it now.
    pub(crate) fn processes(&self) -> Vec<(Part, i32)> {
        let parts = [Part::System, Part::Workload].into_iter();
        parts
            .flat_map(|part| self.of_part(part).into_iter().map(move |pid| (part, pid)))
            .collect()
    }

    /// Who is in a part now.
    pub(crate) fn of_part(&self, part: Part) -> Vec<i32> {
        let list = fs::read_to_string(self.folder.join(part.name()).join("cgroup.procs"));
        list.unwrap_or_default()
            .lines()
            .filter_map(|line| line.parse().ok())
            .collect()
    }

    fn holds(&self, part: Part, pid: i32) -> bool {
        self.of_part(part).contains(&pid)
    }
}

/// The folder of the control group that this process is in. Lines of `mountinfo` have the mount point as the fifth
/// word, and the type behind ` - `.
fn own_folder(mounts: &str, own: &str) -> Option<PathBuf> {
    let mount = mounts.lines().find_map(|line| {
        let (before, behind) = line.split_once(" - ")?;
        behind
            .starts_with("cgroup2 ")
            .then(|| before.split(' ').nth(4))
            .flatten()
    })?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let inside = Path::new(mount).join(own.trim_start_matches('/'));
    // In a container the group's path may be told as it is outside.
    Some(if inside.is_dir() {
        inside
    } else {
        PathBuf::from(mount)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_folder_is_below_the_mount_of_version_2() {
        let mounts = "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      41 31 0:38 / /tmp rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
        assert_eq!(
            own_folder(mounts, "3:cpu:/x\n0::/\n"),
            Some(PathBuf::from("/tmp"))
        );
        assert_eq!(own_folder(mounts, "3:cpu:/x\n"), None);
        assert_eq!(own_folder("", "0::/\n"), None);
    }
}

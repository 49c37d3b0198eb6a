//! `cgroups.jsonl`: which control groups have a CPU quota, how much, and how often it stopped them, as the
//! kernel counts it. Events tell none of that: a thread that a quota stops looks like one that waits.
//!
//! All groups that have or had a quota are noted before a recording begins and after it has ended, meanwhile what
//! changed: counts at the next look, quotas at once, as the kernel tells when somebody writes to their files. Each look
//! at the groups ends with a line of its own: what had no line before it never had a quota. Only the tree of groups that
//! everybody sees is read: a container's part of it lacks the quotas above it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use serde::Serialize;
use slowpath_platform::clocks::monotonic_ns;
use slowpath_platform::written_files::WrittenFiles;

use crate::notes::Notes;
use crate::processes;

pub(crate) const FILE_NAME: &str = "cgroups.jsonl";

/// More groups than this are not read, so that a look stays short.
const MOST_GROUPS: usize = 4096;

/// Where the kernel shows control groups' CPU quotas.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hierarchy {
    mount: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// `cpu.cfs_quota_us`, `cpu.cfs_period_us`, `throttled_time` in nanoseconds.
    One,
    /// `cpu.max`, `throttled_usec`.
    Two,
}

/// A group at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Quota {
    /// CPU time in each period; `None` where the group has no quota any more.
    quota_us: Option<u64>,
    period_us: u64,
    #[serde(skip_serializing_if = "is_zero")]
    burst_us: u64,
    nr_periods: u64,
    nr_throttled: u64,
    throttled_ns: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Serialize)]
struct GroupLine<'a> {
    at_ns: i64,
    group: &'a str,
    /// It was not there at the look before: its counts began at zero since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    new: bool,
    #[serde(flatten)]
    quota: &'a Quota,
}

#[derive(Serialize)]
struct GoneLine<'a> {
    at_ns: i64,
    gone: &'a str,
}

/// The end of a look at all groups.
#[derive(Serialize)]
struct LookLine {
    at_ns: i64,
    groups: usize,
    /// There were more groups than are read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more: bool,
}

/// What the groups' quotas were at the last look, and where it is noted.
#[derive(Debug)]
pub(crate) struct GroupQuotas {
    hierarchy: Hierarchy,
    notes: Notes,
    /// Every group; with its quota where it has one, or had one.
    known: BTreeMap<String, Option<Quota>>,
    /// Those of them that the last look at all did not find.
    young: BTreeSet<String>,
    has_looked: bool,
    /// Those of the groups' files that quotas are set by; `None` where these cannot be watched.
    written: Option<WrittenFiles>,
}

impl GroupQuotas {
    /// Notes into `folder`, or into memory where there is none.
    ///
    /// # Errors
    /// In words, why the groups cannot be read.
    pub(crate) fn begin(folder: Option<&Path>) -> Result<Self, String> {
        if !processes::sees_all_groups() {
            return Err("in a container the groups above its own cannot be seen".to_owned());
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo")
            .map_err(|cause| format!("/proc/self/mountinfo: {cause}"))?;
        let hierarchy = Hierarchy::of_mounts(&mounts)
            .ok_or("no hierarchy of control groups with the controller cpu is mounted whole")?;
        let notes = match folder {
            Some(folder) => {
                let path = folder.join(FILE_NAME);
                Notes::to_file(&path).map_err(|cause| format!("{}: {cause}", path.display()))?
            }
            None => Notes::to_memory(),
        };
        Ok(Self {
            hierarchy,
            notes,
            known: BTreeMap::new(),
            young: BTreeSet::new(),
            has_looked: false,
            written: WrittenFiles::new().ok(),
        })
    }

    /// Readable when quotas may have been changed, for [`look_at_changed`](Self::look_at_changed).
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.written.as_ref().map(WrittenFiles::descriptor)
    }

    /// Notes the quotas that were changed, and what was counted by then.
    pub(crate) fn look_at_changed(&mut self) -> io::Result<()> {
        /// The files by which quotas are set.
        const FILES: [&str; 5] = [
            "cpu.max",
            "cpu.max.burst",
            "cpu.cfs_quota_us",
            "cpu.cfs_period_us",
            "cpu.cfs_burst_us",
        ];
        let written = self.written.as_mut().map(WrittenFiles::take);
        let groups: BTreeSet<String> = (written.into_iter().flatten())
            .filter(|(_, name)| FILES.iter().any(|file| name == file))
            .filter_map(|(folder, _)| self.hierarchy.group(&folder))
            .collect();
        for group in groups {
            // What is not known yet the next look finds as new.
            let Some(before) = self.known.get(&group).cloned() else {
                continue;
            };
            let found = self.hierarchy.quota(&group, Some(&before));
            if let Some(quota) = &found
                && before != found
            {
                self.note(&group, false, quota)?;
                self.known.insert(group, found);
            }
        }
        self.notes.flush()
    }

    /// Notes every group that has a quota.
    pub(crate) fn note_all(&mut self) -> io::Result<()> {
        self.look(true)
    }

    /// Notes what has changed since the last look.
    pub(crate) fn look_for_news(&mut self) -> io::Result<()> {
        self.look(false)
    }

    /// Notes what is new of groups that the last look at all did not find: of these, and of those that it was
    /// called with before. They may be gone before the next one.
    pub(crate) fn look_at_new(
        &mut self,
        groups: impl IntoIterator<Item = String>,
    ) -> io::Result<()> {
        for group in groups {
            for (end, _) in group.match_indices('/').skip(1) {
                self.add_young(&group[..end]);
            }
            if group != "/" {
                self.add_young(&group);
            }
        }
        for group in self.young.clone() {
            let before = self.known.remove(&group).flatten();
            let found = self.hierarchy.quota(&group, None);
            if let Some(quota) = &found
                && before.as_ref() != Some(quota)
            {
                self.note(&group, before.is_none(), quota)?;
            }
            self.known.insert(group, found.or(before));
        }
        self.notes.flush()
    }

    fn add_young(&mut self, group: &str) {
        if !self.known.contains_key(group) {
            self.young.insert(group.to_owned());
        }
    }

    fn note(&mut self, group: &str, new: bool, quota: &Quota) -> io::Result<()> {
        self.notes.add(&GroupLine {
            at_ns: monotonic_ns(),
            group,
            new,
            quota,
        })
    }

    /// Writes what is remembered as a file of its own in `folder`.
    pub(crate) fn write_snapshot(&mut self, folder: &Path) -> io::Result<()> {
        self.notes.write_remembered(&folder.join(FILE_NAME))
    }

    fn look(&mut self, all: bool) -> io::Result<()> {
        let all = all || self.notes.wants_all();
        if all {
            self.notes.begin_all();
        }
        let (groups, more) = self.hierarchy.groups(MOST_GROUPS);
        let count = groups.len();
        let mut present = BTreeMap::new();
        for group in groups {
            if let Some(written) = &mut self.written {
                // Where that fails, this look has found what it has, and the next one will.
                let _ = written.watch(&self.hierarchy.folder(&group));
            }
            let before = self.known.remove(&group);
            let found = self.hierarchy.quota(&group, before.as_ref());
            let new = before.is_none() && self.has_looked;
            if let Some(quota) = &found
                && (all || before.is_none_or(|before| before != found))
            {
                self.note(&group, new, quota)?;
            }
            present.insert(group, found);
        }
        let with_quota = self.known.iter().filter(|(_, quota)| quota.is_some());
        for (gone, _) in with_quota {
            let at_ns = monotonic_ns();
            self.notes.add(&GoneLine { at_ns, gone })?;
        }
        self.known = present;
        self.young.clear();
        self.has_looked = true;
        self.notes.add(&LookLine {
            at_ns: monotonic_ns(),
            groups: count,
            more,
        })?;
        self.notes.flush()
    }
}

impl Hierarchy {
    /// The one with the controller `cpu` of version 1, else the one of version 2. One whose root is not
    /// mounted is of no use.
    fn of_mounts(mountinfo: &str) -> Option<Self> {
        let mut version_2 = None;
        for line in mountinfo.lines() {
            // `ID PARENT MAJOR:MINOR ROOT MOUNT OPTIONS … - TYPE SOURCE SUPER_OPTIONS`
            let Some((mount, of_type)) = line.split_once(" - ") else {
                continue;
            };
            let mut fields = mount.split(' ').skip(3);
            let (Some("/"), Some(mount)) = (fields.next(), fields.next()) else {
                continue;
            };
            let mut of_type = of_type.split(' ');
            let (kind, options) = (of_type.next(), of_type.nth(1).unwrap_or_default());
            let found = |version| Self {
                mount: PathBuf::from(unescaped(mount)),
                version,
            };
            match kind {
                Some("cgroup") if options.split(',').any(|option| option == "cpu") => {
                    return Some(found(Version::One));
                }
                Some("cgroup2") => version_2 = version_2.or(Some(found(Version::Two))),
                _ => {}
            }
        }
        version_2
    }

    /// At most so many groups, as `/a/b`, without the root, which has no quota; and whether there are more.
    fn groups(&self, most: usize) -> (Vec<String>, bool) {
        let mut groups = Vec::new();
        let mut open = vec![String::new()];
        while let Some(group) = open.pop() {
            let below = fs::read_dir(self.folder(&group));
            let below = below.into_iter().flatten().flatten();
            let names = below
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .filter_map(|entry| entry.file_name().into_string().ok());
            for name in names {
                if groups.len() == most {
                    return (groups, true);
                }
                let path = format!("{group}/{name}");
                groups.push(path.clone());
                open.push(path);
            }
        }
        (groups, false)
    }

    fn folder(&self, group: &str) -> PathBuf {
        self.mount.join(group.trim_start_matches('/'))
    }

    fn group(&self, folder: &Path) -> Option<String> {
        let below = folder.strip_prefix(&self.mount).ok()?.to_str()?;
        Some(format!("/{below}"))
    }

    /// The group's quota; where it has none, `None`, or what remains to be said of one that it had. `before` is
    /// what the last look found.
    fn quota(&self, group: &str, before: Option<&Option<Quota>>) -> Option<Quota> {
        let folder = self.folder(group);
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let number = |name: &str| read(name).trim().parse().ok();
        let (quota_us, period_us) = match self.version {
            // -1 is none.
            Version::One => (number("cpu.cfs_quota_us"), None),
            Version::Two => parse_maximum(&read("cpu.max")),
        };
        if quota_us.is_none() && before == Some(&None) {
            return None;
        }
        let (period_us, burst_us) = match self.version {
            Version::One => (number("cpu.cfs_period_us"), number("cpu.cfs_burst_us")),
            Version::Two => (period_us, number("cpu.max.burst")),
        };
        let limit = Quota {
            quota_us,
            period_us: period_us.unwrap_or(0),
            burst_us: burst_us.unwrap_or(0),
            ..Quota::default()
        };
        let quota = with_counts(limit, &read("cpu.stat"));
        // Unless it had one before the first look.
        let never_had_one = quota_us.is_none() && before.is_none() && quota.nr_periods == 0;
        (!never_had_one).then_some(quota)
    }
}

/// `QUOTA PERIOD` of cpu.max; without a quota, `max PERIOD`.
fn parse_maximum(text: &str) -> (Option<u64>, Option<u64>) {
    let mut words = text.split_ascii_whitespace();
    let mut number = || words.next().and_then(|word| word.parse().ok());
    (number(), number())
}

/// Lines of cpu.stat are `name number`.
fn with_counts(mut quota: Quota, stat: &str) -> Quota {
    for line in stat.lines() {
        let Some((name, number)) = line.split_once(' ') else {
            continue;
        };
        let Ok(number) = number.trim().parse::<u64>() else {
            continue;
        };
        match name {
            "nr_periods" => quota.nr_periods = number,
            "nr_throttled" => quota.nr_throttled = number,
            "throttled_time" => quota.throttled_ns = number,
            "throttled_usec" => quota.throttled_ns = number.saturating_mul(1000),
            _ => {}
        }
    }
    quota
}

/// Spaces and the like are `\040` in mountinfo.
fn unescaped(path: &str) -> String {
    let replaced = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n")].iter();
    let path = replaced.fold(path.to_owned(), |path, (from, to)| path.replace(from, to));
    path.replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_with_the_controller_is_preferred_and_one_in_part_is_none() {
        let found = |mounts: &str| Hierarchy::of_mounts(mounts).map(|one| (one.mount, one.version));
        let two = "41 31 0:38 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
        let one = "32 31 0:29 / /sys/fs/my\\040group rw,relatime - cgroup cgroup rw,cpu,cpuacct\n";
        let accounts = "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n";
        let part = "32 31 0:29 /docker/1 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        assert_eq!(
            found(&format!("{two}{accounts}{one}")),
            Some(("/sys/fs/my group".into(), Version::One))
        );
        assert_eq!(
            found(&format!("{accounts}{part}{two}")),
            Some(("/sys/fs/cgroup".into(), Version::Two))
        );
        assert_eq!(found(&format!("{accounts}{part}garbage\n")), None);
    }

    #[test]
    fn quotas_of_both_versions_are_read_and_noted_where_they_change() {
        for version in [Version::One, Version::Two] {
            let folder = tempfile::tempdir().expect("a folder");
            let group = folder.path().join("pod/app");
            fs::create_dir_all(&group).expect("made");
            let write = |name: &str, text: &str| {
                fs::write(group.join(name), text).expect("written");
            };
            let set = |quota: Option<u64>, throttled: u64| match version {
                Version::One => {
                    write("cpu.cfs_period_us", "50000\n");
                    let quota = quota.map_or("-1".to_owned(), |quota| quota.to_string());
                    write("cpu.cfs_quota_us", &quota);
                    let stat =
                        format!("nr_periods 9\nnr_throttled {throttled}\nthrottled_time 7000\n");
                    write("cpu.stat", &stat);
                }
                Version::Two => {
                    let quota = quota.map_or("max".to_owned(), |quota| quota.to_string());
                    write("cpu.max", &format!("{quota} 50000\n"));
                    let stat = format!(
                        "usage_usec 5\nnr_periods 9\nnr_throttled {throttled}\nthrottled_usec 7\n"
                    );
                    write("cpu.stat", &stat);
                }
            };
            let mut quotas = GroupQuotas {
                hierarchy: Hierarchy {
                    mount: folder.path().to_owned(),
                    version,
                },
                notes: Notes::to_memory(),
                known: BTreeMap::new(),
                young: BTreeSet::new(),
                has_looked: false,
                written: None,
            };
            set(None, 0);
            quotas.note_all().expect("noted");
            set(Some(2000), 3);
            quotas.look_for_news().expect("noted");
            quotas.look_for_news().expect("noted");
            set(None, 4);
            quotas.look_for_news().expect("noted");
            fs::create_dir(group.join("new")).expect("made");
            fs::rename(folder.path().join("pod"), folder.path().join("other")).expect("moved");
            quotas.look_for_news().expect("noted");
            let out = folder.path().join(FILE_NAME);
            quotas.notes.write_remembered(&out).expect("written");
            let text = fs::read_to_string(out).expect("lines");
            let lines: Vec<String> = (text.lines())
                .map(|line| {
                    let (_, rest) = line.split_once(',').expect("at_ns first");
                    rest.replace('"', "")
                })
                .collect();
            let counts = |throttled| {
                format!("period_us:50000,nr_periods:9,nr_throttled:{throttled},throttled_ns:7000}}")
            };
            assert_eq!(
                lines,
                [
                    // It had one earlier.
                    format!("group:/pod/app,quota_us:null,{}", counts(0)),
                    "groups:2}".to_owned(),
                    format!("group:/pod/app,quota_us:2000,{}", counts(3)),
                    "groups:2}".to_owned(),
                    "groups:2}".to_owned(),
                    format!("group:/pod/app,quota_us:null,{}", counts(4)),
                    "groups:2}".to_owned(),
                    format!("group:/other/app,new:true,quota_us:null,{}", counts(4)),
                    "gone:/pod/app}".to_owned(),
                    "groups:3}".to_owned(),
                ]
            );
        }
    }

    #[test]
    fn a_quota_that_is_set_and_lifted_between_two_looks_is_noted_with_its_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let group = folder.path().join("app");
        fs::create_dir_all(&group).expect("made");
        let write = |quota: &str, throttled: u64| {
            let stat = format!("nr_periods 9\nnr_throttled {throttled}\n");
            fs::write(group.join("cpu.stat"), stat).expect("written");
            fs::write(group.join("cpu.max"), quota).expect("written");
        };
        fs::write(group.join("cpu.max"), "max 50000\n").expect("written");
        let mut quotas = GroupQuotas {
            hierarchy: Hierarchy {
                mount: folder.path().to_owned(),
                version: Version::Two,
            },
            notes: Notes::to_memory(),
            known: BTreeMap::new(),
            young: BTreeSet::new(),
            has_looked: false,
            written: WrittenFiles::new().ok(),
        };
        quotas.note_all().expect("noted");
        quotas.look_at_changed().expect("noted");
        write("2000 50000\n", 0);
        quotas.look_at_changed().expect("noted");
        write("max 50000\n", 7);
        quotas.look_at_changed().expect("noted");
        quotas.look_at_changed().expect("noted");
        quotas.look_for_news().expect("noted");
        let out = folder.path().join(FILE_NAME);
        quotas.notes.write_remembered(&out).expect("written");
        let text = fs::read_to_string(out).expect("lines");
        let of_quota = |line: &str| -> Option<(Option<u64>, u64)> {
            let line: serde_json::Value = serde_json::from_str(line).ok()?;
            Some((line["quota_us"].as_u64(), line["nr_throttled"].as_u64()?))
        };
        let noted: Vec<_> = text.lines().filter_map(of_quota).collect();
        assert_eq!(noted, [(Some(2000), 0), (None, 7)]);
    }

    #[test]
    fn a_group_that_lives_between_two_looks_is_noted_where_a_process_is_seen_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut quotas = GroupQuotas {
            hierarchy: Hierarchy {
                mount: folder.path().to_owned(),
                version: Version::Two,
            },
            notes: Notes::to_memory(),
            known: BTreeMap::new(),
            young: BTreeSet::new(),
            has_looked: false,
            written: None,
        };
        quotas.note_all().expect("noted");
        // The quota is that of the group above the process's.
        let pod = folder.path().join("pod");
        fs::create_dir_all(pod.join("app")).expect("made");
        fs::write(pod.join("cpu.max"), "2000 50000\n").expect("written");
        let mut count = |throttled, entered: &[&str]| {
            let stat = format!("nr_periods 9\nnr_throttled {throttled}\n");
            fs::write(pod.join("cpu.stat"), stat).expect("written");
            let entered = entered.iter().map(|group| (*group).to_owned());
            quotas.look_at_new(entered).expect("noted");
        };
        count(1, &["/", "/pod/app"]);
        count(1, &["/pod/app"]);
        count(2, &[]);
        fs::remove_dir_all(&pod).expect("removed");
        quotas.look_for_news().expect("noted");
        let out = folder.path().join(FILE_NAME);
        quotas.notes.write_remembered(&out).expect("written");
        let text = fs::read_to_string(out).expect("lines");
        let about = |line: &str| -> Option<(String, bool, u64)> {
            let line: serde_json::Value = serde_json::from_str(line).ok()?;
            let throttled = line["nr_throttled"].as_u64()?;
            let group = line["group"].as_str()?.to_owned();
            Some((group, line["new"] == true, throttled))
        };
        let noted: Vec<_> = text.lines().filter_map(about).collect();
        let of_pod = |new, throttled| ("/pod".to_owned(), new, throttled);
        assert_eq!(noted, [of_pod(true, 1), of_pod(false, 2)]);
        assert!(text.contains(r#""gone":"/pod""#), "{text}");
        assert!(!text.contains(r#""gone":"/pod/app""#), "{text}");
    }

    #[test]
    fn of_too_many_groups_some_are_read_and_the_look_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a", "b", "c/d"] {
            fs::create_dir_all(folder.path().join(name)).expect("made");
        }
        let hierarchy = Hierarchy {
            mount: folder.path().to_owned(),
            version: Version::Two,
        };
        let (groups, more) = hierarchy.groups(3);
        assert_eq!((groups.len(), more), (3, true));
        assert_eq!(
            (hierarchy.groups(4).0.len(), hierarchy.groups(4).1),
            (4, false)
        );
    }
}

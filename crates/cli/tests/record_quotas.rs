//! A CPU quota that is set here and now, and a group without one beside it on the same processor: the
//! recorder reads the quota from the kernel, and `slowpath diagnose` tells exactly that one.
//!
//! Needs root, tracefs, Python and control groups with the controller `cpu`; skips visibly where one is
//! missing.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use support::{skip, slowpath_succeeds};

/// A control group of the test's own, removed at the end.
struct Group {
    folder: PathBuf,
    name: String,
}

impl Group {
    /// `None` where there are none that limit CPU time, or no rights to make one.
    fn make(name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/mounts").ok()?;
        let mut mounts: Vec<Vec<&str>> = (mounts.lines())
            .map(|line| line.split(' ').skip(1).collect())
            .collect();
        // Version 1 has the controller where both are mounted.
        mounts.sort_by_key(|mount| mount.get(1) == Some(&"cgroup2"));
        let mount = mounts.iter().find_map(|mount| match mount[..] {
            [folder, "cgroup", options, ..] => {
                let has_cpu = options.split(',').any(|option| option == "cpu");
                has_cpu.then_some(folder)
            }
            [folder, "cgroup2", ..] => {
                let control = format!("{folder}/cgroup.subtree_control");
                let has_cpu = |text: String| text.split_whitespace().any(|word| word == "cpu");
                fs::read_to_string(control)
                    .is_ok_and(has_cpu)
                    .then_some(folder)
            }
            _ => None,
        })?;
        let name = format!("slowpath-test-{}-{name}", std::process::id());
        let folder = Path::new(mount).join(&name);
        fs::create_dir(&folder).ok()?;
        Some(Self { folder, name })
    }

    fn set(&self, quota_us: u64, period_us: u64) -> bool {
        let write = |file: &str, text: String| fs::write(self.folder.join(file), text).is_ok();
        if self.folder.join("cpu.max").exists() {
            return write("cpu.max", format!("{quota_us} {period_us}"));
        }
        write("cpu.cfs_period_us", period_us.to_string())
            && write("cpu.cfs_quota_us", quota_us.to_string())
    }

    /// How often the kernel has stopped it.
    fn throttled(&self) -> u64 {
        let stat = fs::read_to_string(self.folder.join("cpu.stat")).expect("cpu.stat");
        let mut lines = stat.lines();
        let found = lines.find_map(|line| line.strip_prefix("nr_throttled "));
        found.expect("nr_throttled").parse().expect("a number")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let of_group = fs::read_to_string(self.folder.join("cgroup.procs"));
        for process in of_group.unwrap_or_default().lines() {
            let _ = Command::new("kill").args(["-KILL", process]).status();
        }
        // It can go when they have.
        for _ in 0..100 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn the_quota_that_is_set_is_told_and_none_where_none_is_set() {
    let missing = "control groups that limit CPU time cannot be made here";
    let groups = ["limited", "free", "unreached"].map(Group::make);
    let [Some(limited), Some(free), Some(unreached)] = &groups else {
        return skip(missing);
    };
    if !limited.set(2_000, 50_000) || !unreached.set(50_000, 50_000) {
        return skip(missing);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let recording = folder.path().join("recording");
    let said = Command::new(env!("CARGO_BIN_EXE_slowpath"))
        .args(["record", "--kernel", "ftrace", "--ust", "none"])
        .args(["--spans", "127.0.0.1:0", "-o"])
        .arg(&recording)
        .args(["--", "python3"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/quotas.py"))
        .args([limited, free].map(|group| group.folder.join("cgroup.procs")))
        .stdin(Stdio::null())
        .output()
        .expect("slowpath runs");
    let talk = String::from_utf8_lossy(&said.stderr).into_owned();
    if said.status.code() == Some(3) {
        return skip(&format!("kernel events cannot be recorded here: {talk}"));
    }
    let manifest = fs::read(recording.join("slowpath.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    if let Some(cause) = manifest["quotas_unread"].as_str() {
        return skip(&format!("quotas cannot be read here: {cause}"));
    }
    assert_eq!(manifest["command_exit"], 0, "{talk}");
    let document = slowpath_succeeds(&["diagnose", "--json"], &recording).json();
    let findings = document["findings"].as_array().expect("findings");
    let of_quotas: Vec<&Value> = (findings.iter())
        .filter(|finding| finding["id"] == "cpu-quota")
        .collect();
    let [found] = of_quotas[..] else {
        panic!("one quota in {document:#}");
    };
    let title = found["title"].as_str().expect("a title");
    let expected = format!("/{} gets 2.000 ms of CPU in every 50.000 ms", limited.name);
    assert!(title.ends_with(&expected), "{title}");
    let explanation = found["explanation"].as_str().expect("an explanation");
    let times = explanation
        .split_once("the kernel counts ")
        .and_then(|(_, rest)| rest.split(' ').next()?.parse::<u64>().ok());
    let times = times.unwrap_or_else(|| panic!("no count: {explanation}"));
    // Periods go on until what was overdrawn is paid for, also after the last look.
    let all = limited.throttled();
    assert!(times <= all && times * 2 > all, "{times} of {all}");
    assert!(!explanation.contains("cpu.max"), "{explanation}");
    let advice = found["advice"].as_str().expect("an advice");
    for file in ["cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"] {
        if limited.folder.join(file).exists() {
            assert!(advice.contains(file), "no {file}: {advice}");
        }
    }
    let evidence = found["evidence"].as_array().expect("evidence").iter();
    let texts: Vec<&str> = evidence.filter_map(|one| one["text"].as_str()).collect();
    let held_back = |name: &str| {
        let of_thread = |text: &&&str| text.starts_with(name) && text.contains("held back");
        texts.iter().filter(of_thread).count()
    };
    assert!(held_back("limited (") > 0, "{texts:#?}");
    assert_eq!(held_back("free ("), 0, "{texts:#?}");
}

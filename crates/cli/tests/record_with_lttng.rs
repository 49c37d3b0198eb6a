//! What happens while the recorder waits for the `lttng` command: Ctrl-C before the command is started and at the
//! end, a kill, a refusal, and what room is still kept when LTTng writes its last events.
//!
//! An `lttng` stands before the real one and does something at a certain verb, so that nothing depends on how fast
//! anybody is. Skips visibly where there is no LTTng.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{skip, slowpath};

/// What is left of a recorder of `touch touched` in a process group of its own, as a terminal gives it one.
struct Recorded {
    folder: tempfile::TempDir,
    pid: u32,
    status: Option<i32>,
    said: String,
}

impl Recorded {
    /// `lttng VERB` of the recorder's own session runs the shell's words `first`, where `$PPID` is the recorder, which
    /// records kernel events by `kernel`. `None` without LTTng.
    fn at(verb: &str, first: &str, kernel: &str) -> Option<Self> {
        let case = format!("*\" {verb} slowpath-$PPID-\"*) {first}");
        let options = ["--kernel", kernel, "--ust", "slowpath_test:*"];
        Self::with(&case, &options, &["touch", "touched"])
    }

    /// The same of a recorder of `command`, where `case` are a pattern of the arguments of `lttng` and what is run then.
    fn with(case: &str, options: &[&str], command: &[&str]) -> Option<Self> {
        let Some(real) = program("lttng") else {
            skip("LTTng is not installed");
            return None;
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let before = folder.path().join("lttng");
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in {case};; esac\nexec {} \"$@\"\n",
            real.display()
        );
        fs::write(&before, script).expect("written");
        fs::set_permissions(&before, fs::Permissions::from_mode(0o755)).expect("made runnable");
        fs::write(folder.path().join(".lttngrc"), "session=mine\n").expect("written");
        let path = std::env::var("PATH").expect("a path");
        let recorder: Child = Command::new(env!("CARGO_BIN_EXE_slowpath"))
            .args(["record", "-o", "recording"])
            .args(options)
            .args(["--spans", "off", "--agents", "off", "--"])
            .args(command)
            .current_dir(folder.path())
            .env("PATH", format!("{}:{path}", folder.path().display()))
            .env("LTTNG_HOME", folder.path())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a recorder");
        let pid = recorder.id();
        let output = recorder.wait_with_output().expect("it ends");
        Some(Self {
            folder,
            pid,
            status: output.status.code(),
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    fn has(&self, name: &str) -> bool {
        self.folder.path().join(name).exists()
    }

    fn manifest(&self) -> Value {
        let text = fs::read(self.folder.path().join("recording/slowpath.json"));
        serde_json::from_slice(&text.expect("a manifest")).expect("JSON")
    }

    fn has_session(&self) -> bool {
        let list = Command::new("lttng")
            .args(["--no-sessiond", "list"])
            .output()
            .expect("LTTng runs");
        let own = format!("slowpath-{}-", self.pid);
        String::from_utf8_lossy(&list.stdout).contains(&own)
    }
}

#[test]
fn ctrl_c_while_the_session_is_put_away_leaves_none_behind() {
    let Some(recorder) = Recorded::at("destroy", "kill -s INT -- -$PPID", "none") else {
        return;
    };
    assert_eq!(recorder.status, Some(0), "{}", recorder.said);
    assert!(recorder.has("touched") && recorder.has("recording/slowpath.json"));
    assert!(!recorder.has_session(), "{}", recorder.said);
}

#[test]
fn the_session_that_the_user_has_made_stays_the_one_that_lttng_is_for() {
    let Some(recorder) = Recorded::at("start", "cp .lttngrc noted", "none") else {
        return;
    };
    assert_eq!(recorder.status, Some(0), "{}", recorder.said);
    for name in ["noted", ".lttngrc"] {
        let session = fs::read_to_string(recorder.folder.path().join(name));
        assert_eq!(session.expect("it is there"), "session=mine\n", "{name}");
    }
    assert!(!recorder.has("recording/.lttng-home"));
}

#[test]
fn the_socket_of_a_users_daemon_has_a_short_path_however_deep_the_recording_lies() {
    let note = "echo \"$LTTNG_HOME/.lttng/client-lttng-sessiond\" > \"${0%/*}/socket\"";
    let Some(recorder) = Recorded::at("create", note, "none") else {
        return;
    };
    assert_eq!(recorder.status, Some(0), "{}", recorder.said);
    let socket = fs::read_to_string(recorder.folder.path().join("socket")).expect("noted");
    let deep = recorder.folder.path().display().to_string();
    assert!(!socket.contains(&deep), "{socket}");
}

#[test]
fn after_ctrl_c_no_command_is_started_and_nothing_is_left() {
    let Some(recorder) = Recorded::at("create", "kill -s INT $PPID", "none") else {
        return;
    };
    assert_eq!(recorder.status, Some(130), "{}", recorder.said);
    let told = "error: SIGINT came before the command was started";
    assert!(recorder.said.contains(told), "{}", recorder.said);
    assert!(!recorder.has("touched") && !recorder.has("recording"));
    assert!(!recorder.has_session(), "{}", recorder.said);
}

#[test]
fn no_room_is_kept_for_rings_when_lttng_writes_its_last_events() {
    let look = "stat -c '%b %s' recording/kernel/cpu*.raw > sizes";
    let Some(recorder) = Recorded::at("stop", look, "ftrace") else {
        return;
    };
    if recorder.status == Some(3) {
        return skip(&format!(
            "kernel events cannot be recorded here: {}",
            recorder.said
        ));
    }
    assert_eq!(recorder.status, Some(0), "{}", recorder.said);
    let sizes = fs::read_to_string(recorder.folder.path().join("sizes")).expect("sizes");
    let numbers = sizes.split_whitespace().map(|word| word.parse::<u64>());
    let numbers: Vec<u64> = numbers.collect::<Result<_, _>>().expect("numbers");
    for file in numbers.chunks(2) {
        assert!(file[0] * 512 <= file[1] + 4096, "{sizes}");
    }
    assert!(numbers.len() >= 2, "{sizes}");
}

#[test]
fn events_that_are_asked_for_twice_are_enabled_once() {
    let events = "slowpath_test:*,slowpath_test:one,slowpath_test:*,slowpath_test:**";
    let options = ["--kernel", "none", "--ust", events];
    let Some(recorder) = Recorded::with("-) :", &options, &["true"]) else {
        return;
    };
    assert_eq!(recorder.status, Some(0), "{}", recorder.said);
    let enabled = ["slowpath_test:*", "slowpath_test:one", "slowpath_test:**"];
    assert_eq!(recorder.manifest()["ust"]["events"], json!(enabled));
}

#[test]
fn a_flight_recorder_whose_end_fails_tells_of_its_snapshots() {
    let fails = "*\" snapshot record --session=slowpath-$PPID-\"*) [ ! -e fail ] || exit 1";
    let snapshot = format!("{} snapshot recording", env!("CARGO_BIN_EXE_slowpath"));
    let command = format!("{snapshot} && touch fail && ! {snapshot}");
    let options = ["--snapshot", "--kernel", "none", "--ust", "slowpath_test:*"];
    let Some(recorder) = Recorded::with(fails, &options, &["sh", "-c", &command]) else {
        return;
    };
    assert_eq!(recorder.status, Some(3), "{}", recorder.said);
    for told in [
        "slowpath: earlier snapshot: recording/snapshot-1\n",
        "warning: 1 snapshot could not be written",
        "error: LTTng cannot record: ",
    ] {
        assert!(recorder.said.contains(told), "{told}: {}", recorder.said);
    }
}

#[test]
fn of_a_recorder_that_was_killed_before_it_recorded_nothing_is_missed() {
    for kernel in ["none", "ftrace"] {
        let Some(recorder) = Recorded::at("create", "kill -s KILL $PPID; exit 1", kernel) else {
            return;
        };
        if recorder.status == Some(3) {
            return skip(&format!(
                "kernel events cannot be recorded here: {}",
                recorder.said
            ));
        }
        assert_eq!(recorder.status, None, "{}", recorder.said);
        // Its guardian is still at work.
        let deadline = Instant::now() + Duration::from_secs(30);
        while recorder.manifest()["ended_because"].is_null() {
            assert!(Instant::now() < deadline, "{}", recorder.manifest());
            thread::sleep(Duration::from_millis(50));
        }
        let info = slowpath(&["info"], &recorder.folder.path().join("recording"));
        let why = "its recorder was killed before it recorded anything";
        assert!(info.stderr.contains(why), "{}", info.stderr);
        assert!(!info.stderr.contains("MissingStream"), "{}", info.stderr);
    }
}

/// Where the shell would find it.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places.find(|place: &PathBuf| Path::new(place).is_file())
}

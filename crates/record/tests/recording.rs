//! Real recordings of small workloads: what a folder holds, and what is left when a recorder dies.
//!
//! They need root and tracefs and say so where they are skipped. The recorder is this test program
//! started once more (`recorder_process`), so that it can be killed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use slowpath_model::ProcessId;
use slowpath_record::{
    AgentsChoice, CommandEnd, KernelChoice, Manifest, Mode, Outcome, RecordError, RecordOptions,
    RedisChoice, SpanOptions, SpansChoice, UserSpaceChoice, record, request_snapshot,
};

mod pages;

use pages::{check_pages, check_pages_since};

const INSTANCES: &str = "/sys/kernel/tracing/instances";
const ARGUMENTS: &str = "SLOWPATH_TEST_RECORDER";

/// Burns some CPU time, sleeps, ends with status 7.
const WORKLOAD: &str = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; sleep 0.1; exit 7";

#[test]
fn a_command_is_recorded_and_its_status_passed_on() {
    let Some(place) = place_with_rights() else {
        return;
    };
    let mut options = options(&place.folder);
    options.command = shell(WORKLOAD);
    let outcome = record_here(&options).expect("a recording");

    assert_eq!(outcome.command_end, CommandEnd::ByItself(7));
    let manifest = Manifest::read(&place.folder).expect("slowpath.json");
    assert_eq!(manifest, outcome.manifest);
    assert_eq!((manifest.complete, manifest.command_exit), (true, Some(7)));
    assert!(manifest.end_ns > manifest.begin_ns);

    let kernel = place.folder.join("kernel");
    check_pages(&kernel, &manifest);
    for event in &manifest.kernel.events {
        let format = kernel
            .join("events")
            .join(event.replace(':', "/"))
            .join("format");
        assert!(
            fs::read_to_string(&format).is_ok_and(|text| text.contains("print fmt:")),
            "{event}"
        );
    }
    let header = fs::read_to_string(kernel.join("header_page")).expect("header_page");
    assert!(header.contains("data;"), "cut short: {header}");
    assert!(
        fs::read_to_string(kernel.join("trace_clock")).is_ok_and(|text| text.contains("[mono]"))
    );
    for name in [
        "header_event",
        "saved_cmdlines",
        "stats/cpu0",
        "interrupts.json",
    ] {
        assert!(
            fs::metadata(kernel.join(name)).is_ok_and(|file| file.len() > 0),
            "{name}"
        );
    }

    let own = std::process::id();
    let dump = fs::read_to_string(kernel.join("statedump.jsonl")).expect("statedump.jsonl");
    let lines: Vec<serde_json::Value> = dump
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let own_lines = lines.iter().filter(|line| line["tid"] == own);
    assert!(
        own_lines
            .clone()
            .any(|line| line["fds"][0]["path"].is_string()),
        "own descriptors"
    );

    // The shell's figures run from its start to its end, so they hold its loop.
    let accounts = manifest.accounts.end.iter().zip(&manifest.accounts.begin);
    let shell_ran = accounts.filter(|(end, _)| end.comm == "sh");
    let ran_ns: Vec<u64> = shell_ran
        .map(|(end, begin)| end.schedstat_run_ns - begin.schedstat_run_ns)
        .collect();
    assert!(ran_ns.iter().any(|ns| *ns > 1_000_000), "{ran_ns:?}");
}

#[test]
fn the_duration_ends_the_recording_and_the_command() {
    let Some(place) = place_with_rights() else {
        return;
    };
    let mut options = options(&place.folder);
    options.duration = Some(Duration::from_millis(300));
    options.command = shell("exec sleep 20");
    let begin = Instant::now();
    let outcome = record_here(&options).expect("a recording");
    assert_eq!(outcome.command_end, CommandEnd::ByDuration);
    assert!(
        begin.elapsed() < Duration::from_secs(10),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(
        (outcome.manifest.complete, outcome.manifest.command_exit),
        (true, None)
    );
}

#[test]
fn a_signal_ends_the_recording_in_order_and_a_second_one_kills_the_command() {
    let Some(place) = place_with_rights() else {
        return;
    };
    let up = place.beside("up");
    let stubborn = format!("trap '' TERM INT; >{up:?}; while :; do sleep 0.1; done");
    let mut recorder = Recorder::start(&place.folder, &["command", &stubborn]);
    wait_for("the command", || up.exists());
    recorder.signal("INT");
    wait_for("the events to be written", || {
        instance_is_off(recorder.pid())
    });
    std::thread::sleep(Duration::from_millis(300));
    assert!(recorder.is_running(), "it waits for its command");
    recorder.signal("INT");
    assert_eq!(recorder.wait().code(), Some(128 + 9));
    let manifest = Manifest::read(&place.folder).expect("slowpath.json");
    assert!(manifest.complete);
    check_pages(&place.folder.join("kernel"), &manifest);
}

#[test]
fn a_killed_recorder_leaves_a_readable_recording_and_no_instance_or_session() {
    let Some(place) = place_with_rights() else {
        return;
    };
    let mut recorder = Recorder::start(&place.folder, &["spans", "command", "exec sleep 3"]);
    recorder.wait_until_it_traces();
    let pid = recorder.pid();
    let session = format!("slowpath-{pid}-");
    if lttng_is_installed() {
        wait_for("the session to be made", || {
            lttng_sessions().contains(&session)
        });
    }
    wait_for("the events to flow", || {
        place.folder.join("control.sock").exists()
    });
    std::thread::sleep(Duration::from_millis(300));
    recorder.signal("KILL");
    recorder.wait();
    wait_for("the instance to be removed", || {
        instances_of(pid).is_empty()
    });
    wait_for("the session to be destroyed", || {
        !lttng_sessions().contains(&session)
    });

    let manifest = Manifest::read(&place.folder).expect("slowpath.json");
    assert!(!manifest.complete);
    assert!(manifest.end_ns > manifest.begin_ns);
    check_pages(&place.folder.join("kernel"), &manifest);
    assert!(place.folder.join("kernel/saved_cmdlines").exists());
}

#[test]
fn a_starting_recorder_leaves_alone_what_a_guardian_still_writes_out() {
    let Some(place) = place_with_rights() else {
        return;
    };
    let mut recorder = Recorder::start(&place.folder, &["snapshot", "spans"]);
    recorder.wait_until_it_traces();
    let pid = recorder.pid();
    let session = format!("slowpath-{pid}-");
    if lttng_is_installed() {
        wait_for("the session to be made", || {
            lttng_sessions().contains(&session)
        });
    }
    // A guardian as slow as can be.
    let guardian = guardian_of(pid);
    signal(guardian, "STOP");
    recorder.signal("KILL");
    recorder.wait();

    let mut options = options(&place.beside("next"));
    options.user_space = UserSpaceChoice::SpansIfPossible;
    options.command = shell("true");
    let mut said = Vec::new();
    record_saying(&options, &mut |line| said.push(line.to_owned())).expect("a recording");
    let sessions_then = lttng_sessions();
    let instances_then = instances_of(pid).len();
    signal(guardian, "CONT");

    let name = format!("slowpath-{pid}");
    assert!(!said.iter().any(|line| line.contains(&name)), "{said:?}");
    assert_eq!(instances_then, 1);
    if lttng_is_installed() {
        assert!(sessions_then.contains(&session), "{sessions_then}");
        wait_for("the session to be destroyed", || {
            !lttng_sessions().contains(&session)
        });
    }
    wait_for("the instance to be removed", || {
        instances_of(pid).is_empty()
    });
    let manifest = Manifest::read(&place.folder).expect("slowpath.json");
    assert!(manifest.end_ns > manifest.begin_ns);
    check_pages(&place.folder.join("kernel"), &manifest);
}

#[test]
fn what_a_killed_recorder_and_its_killed_guardian_leave_is_removed_by_the_next() {
    // Every other recorder that starts would remove it as well.
    let _alone = OTHERS.write().unwrap_or_else(PoisonError::into_inner);
    let Some(place) = place_for_kernel_events(Place::alone) else {
        return;
    };
    let mut recorder = Recorder::start(&place.folder, &["command", "exec sleep 2"]);
    recorder.wait_until_it_traces();
    let pid = recorder.pid();
    let guardian = guardian_of(pid);
    // The guardian first, while the recorder holds the instance and has not noticed.
    signal(guardian, "KILL");
    recorder.signal("KILL");
    recorder.wait();
    wait_for("the guardian to be gone", || {
        !Path::new(&format!("/proc/{guardian}")).exists()
    });
    assert_eq!(instances_of(pid).len(), 1, "nobody was left to remove it");

    let mut options = options(&place.beside("next"));
    options.command = shell("true");
    record_here(&options).expect("a recording");
    assert_eq!(instances_of(pid), BTreeSet::new());
}

#[test]
fn snapshots_are_written_on_demand_and_at_the_end() {
    let Some(place) = place_with_rights() else {
        return;
    };
    let mut recorder = Recorder::start(&place.folder, &["snapshot"]);
    recorder.wait_until_it_traces();
    let kernel = place.folder.join("kernel");
    assert!(
        !kernel.join("cpu0.raw").exists(),
        "nothing is written until asked for"
    );

    let (mut first_begin, mut last_end) = (None, None);
    for number in 1..=2 {
        std::thread::sleep(Duration::from_millis(200));
        let folder = request_snapshot(&place.folder).expect("a snapshot");
        assert_eq!(folder, place.folder.join(format!("snapshot-{number}")));
        let manifest = Manifest::read(&folder).expect("its slowpath.json");
        assert!(manifest.complete);
        let begin = *first_begin.get_or_insert(manifest.begin_ns);
        check_pages_since(begin, &folder.join("kernel"), &manifest);
        assert!(fs::metadata(folder.join("kernel/statedump.jsonl")).is_ok_and(|one| one.len() > 0));
        let quotas = fs::metadata(folder.join("kernel/cgroups.jsonl"));
        assert!(manifest.quotas_unread.is_some() || quotas.is_ok_and(|one| one.len() > 0));
        assert!(
            last_end.is_none_or(|end| manifest.begin_ns >= end),
            "snapshots do not overlap"
        );
        last_end = Some(manifest.end_ns);
    }
    std::thread::sleep(Duration::from_millis(200));
    recorder.signal("TERM");
    assert_eq!(recorder.wait().code(), Some(0));
    let manifest = Manifest::read(&place.folder).expect("slowpath.json");
    assert_eq!(manifest.snapshots, ["snapshot-1", "snapshot-2"]);
    assert_eq!(Some(manifest.begin_ns), last_end);
    check_pages_since(first_begin.expect("snapshots"), &kernel, &manifest);
    let error = request_snapshot(&place.folder).expect_err("it has ended");
    assert!(matches!(error, RecordError::NotRunning { .. }), "{error}");
}

#[test]
fn a_standard_recording_refuses_snapshots_and_its_folder_is_not_taken_over() {
    let Some(place) = place_with_rights() else {
        return;
    };
    let mut recorder = Recorder::start(&place.folder, &[]);
    recorder.wait_until_it_traces();
    wait_for("the control socket", || {
        place.folder.join("control.sock").exists()
    });
    let refusal = request_snapshot(&place.folder).expect_err("everything is on disk");
    assert!(
        matches!(refusal, RecordError::SnapshotRefused(_)),
        "{refusal}"
    );
    let mut options = options(&place.folder);
    options.replace = true;
    let error = record_here(&options).expect_err("a recorder writes there");
    assert!(matches!(error, RecordError::Output { .. }), "{error}");
    recorder.signal("INT");
    assert_eq!(recorder.wait().code(), Some(0));
    assert!(!place.folder.join("control.sock").exists());
}

#[test]
fn a_small_ring_loses_events_and_the_recording_says_so() {
    let Some(place) = place_with_rights() else {
        return;
    };
    let mut options = options(&place.folder);
    options.buffer_bytes_per_cpu = Some(8192);
    options.events = vec!["syscalls".into()];
    options.command = shell("exec dd if=/dev/zero of=/dev/null bs=1 count=300000 2>/dev/null");
    let outcome = record_here(&options).expect("a recording");
    let lost: u64 = outcome.manifest.kernel.lost_events.values().sum();
    assert!(lost > 0, "two pages cannot hold 1.2 million events");
}

#[test]
fn applications_events_are_recorded_without_kernel_events() {
    if !lttng_is_installed() {
        println!("SKIPPED: LTTng is not installed");
        return;
    }
    let place = Place::new();
    let mut options = options(&place.folder);
    options.kernel = KernelChoice::None;
    options.user_space = UserSpaceChoice::Events(vec!["lttng_ust_statedump:*".into()]);
    options.command = shell("LD_PRELOAD=liblttng-ust-libc-wrapper.so exec ls >/dev/null");
    let outcome = record_here(&options).expect("a recording");
    let manifest = outcome.manifest;
    assert_eq!(manifest.command_exit, Some(0));
    assert!(!place.folder.join("kernel").exists());
    let files = files_below(&place.folder.join("ust"));
    let size_of = |path: &PathBuf| fs::metadata(path).map_or(0, |file| file.len());
    assert!(
        files
            .iter()
            .any(|path| path.ends_with("metadata") && size_of(path) > 0),
        "{files:?}"
    );
    let events = files
        .iter()
        .filter(|path| path.to_string_lossy().contains("slowpath_"));
    assert!(events.map(size_of).sum::<u64>() > 0, "{files:?}");
    assert!(manifest.cost.bytes_written > 0);
    let own = format!("slowpath-{}-", std::process::id());
    assert!(!lttng_sessions().contains(&own));
}

#[test]
fn mistakes_are_told_before_anything_is_touched() {
    let Some(place) = place_with_rights() else {
        return;
    };
    let check = |change: &dyn Fn(&mut RecordOptions), message: &str, hint: &str| {
        let mut options = options(&place.folder);
        options.command = shell("true");
        change(&mut options);
        let error = record_here(&options).expect_err(message);
        assert!(error.to_string().contains(message), "{error}");
        let said = error.hint().unwrap_or_default();
        assert!(said.contains(hint), "{said}");
        assert!(!place.folder.exists(), "{message}: the folder was made");
    };
    let beside = place.beside("occupied");
    fs::create_dir(&beside).expect("a folder");
    fs::write(beside.join("notes.txt"), "precious").expect("a file");
    check(
        &|one| one.output = beside.clone(),
        "is not empty",
        "choose another folder",
    );
    let replace_all = |one: &mut RecordOptions| (one.output, one.replace) = (beside.clone(), true);
    check(&replace_all, "is not empty", "choose another folder");
    assert!(
        beside.join("notes.txt").exists(),
        "only recordings are replaced"
    );
    check(
        &|one| one.output = "/proc/no".into(),
        "cannot be written to /proc/no",
        "-o DIR",
    );
    check(
        &|one| one.events = vec!["sched:nonsense".into()],
        "\"sched:nonsense\"",
        "presets are",
    );
    check(
        &|one| one.command = vec!["no-such-program".into()],
        "no-such-program",
        "spelling",
    );
    check(
        &|one| one.accounts = vec![ProcessId(i32::MAX)],
        "no process 2147483647",
        "",
    );
    let nothing = |one: &mut RecordOptions| one.kernel = KernelChoice::None;
    check(&nothing, "nothing to record", "--kernel none");
}

#[test]
fn spans_alone_are_a_recording() {
    let place = Place::new();
    let mut options = options(&place.folder);
    options.kernel = KernelChoice::None;
    options.spans.listen = SpansChoice::Auto;
    options.command = shell("true");
    let manifest = record_here(&options)
        .expect("a recording of what is received")
        .manifest;
    assert!(
        manifest.complete && manifest.spans.is_some(),
        "{manifest:?}"
    );
}

#[test]
fn of_two_recorders_on_one_folder_one_records() {
    let Some(place) = place_with_rights() else {
        return;
    };
    let start = || Recorder::start(&place.folder, &["replace", "command", "sleep 1"]);
    let mut recorders = [start(), start()];
    let mut ends = recorders.each_mut().map(|recorder| recorder.wait().code());
    ends.sort();
    assert_eq!(ends, [Some(0), Some(3)]);
    let manifest = Manifest::read(&place.folder).expect("slowpath.json");
    assert!(manifest.complete);
    check_pages(&place.folder.join("kernel"), &manifest);
}

#[test]
fn a_folder_that_a_recorder_has_locked_is_not_emptied() {
    let Some(place) = place_with_rights() else {
        return;
    };
    fs::create_dir(&place.folder).expect("a folder");
    let manifest = place.folder.join("slowpath.json");
    fs::write(&manifest, r#"{"format_version": 1}"#).expect("written");
    let lock = fs::File::open(&place.folder).expect("opened");
    lock.lock().expect("locked");
    let mut options = options(&place.folder);
    options.replace = true;
    options.command = shell("true");
    let error = record_here(&options).expect_err("another has it");
    assert!(error.to_string().contains("a recorder is writing to it"));
    assert!(manifest.exists());
    drop(lock);
    record_here(&options).expect("a recording");
}

#[test]
fn a_recording_is_private_and_given_to_the_user_of_sudo() {
    let Some(place) = place_with_rights() else {
        return;
    };
    let owner = |path: &Path| {
        let about = fs::symlink_metadata(path).expect("metadata");
        (about.uid(), about.gid())
    };
    let mode = || {
        let about = fs::metadata(&place.folder).expect("metadata");
        about.permissions().mode() & 0o777
    };
    let mut recorder = Recorder::start(&place.folder, &["command", "true"]);
    assert_eq!(recorder.wait().code(), Some(0));
    assert_eq!(mode(), 0o700);
    let own = owner(&place.folder);
    if own.0 != 0 {
        println!("SKIPPED: only root can give files away");
        return;
    }
    fs::write(place.beside("precious"), "").expect("a file");
    let sudo = [("SUDO_UID", "65534"), ("SUDO_GID", "65533")];
    // Twice: the second recorder replaces what is not its own any more.
    for command in ["true", "ln -s ../precious recording/link; true"] {
        let words = [
            "replace",
            "command",
            &format!("cd {}; {command}", place.base()),
        ];
        let mut recorder = Recorder::start_with(&place.folder, &words, &sudo);
        assert_eq!(recorder.wait().code(), Some(0));
        assert_eq!(mode(), 0o700);
        for path in files_below(&place.folder) {
            assert_eq!(owner(&path), (65534, 65533), "{}", path.display());
        }
        assert_eq!(owner(&place.folder), (65534, 65533));
        assert_eq!(owner(&place.folder.join("kernel")), (65534, 65533));
    }
    assert_eq!(owner(&place.beside("precious")), own);
}

#[test]
fn a_recording_that_cannot_begin_leaves_no_folder() {
    let place = Place::new();
    // An LTTng that is installed and refuses everything.
    let programs = place.beside("programs");
    fs::create_dir(&programs).expect("a folder");
    let lttng = programs.join("lttng");
    fs::write(&lttng, "#!/bin/sh\n[ \"$2\" = --version ]\n").expect("written");
    fs::set_permissions(&lttng, fs::Permissions::from_mode(0o755)).expect("made a program");
    let path = [("PATH", programs.to_str().expect("UTF-8"))];
    let words = ["no-kernel", "spans"];
    let mut recorder = Recorder::start_with(&place.folder, &words, &path);
    assert_eq!(recorder.wait().code(), Some(3));
    assert!(!place.folder.exists());
    fs::create_dir(&place.folder).expect("a folder");
    let mut recorder = Recorder::start_with(&place.folder, &words, &path);
    assert_eq!(recorder.wait().code(), Some(3));
    assert_eq!(files_below(&place.folder), Vec::<PathBuf>::new());
}

/// Not a test: the process that the others start and kill.
#[test]
#[ignore = "started by the other tests as a process of its own"]
fn recorder_process() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else {
        return;
    };
    let mut words = arguments.split('\n');
    let mut options = options(Path::new(words.next().expect("a folder")));
    while let Some(word) = words.next() {
        match word {
            "replace" => options.replace = true,
            "no-kernel" => options.kernel = KernelChoice::None,
            "snapshot" => options.mode = Mode::Snapshot,
            "spans" => options.user_space = UserSpaceChoice::SpansIfPossible,
            "command" => options.command = shell(words.next().expect("a command")),
            other => panic!("unknown word {other:?}"),
        }
    }
    let status = match record(&options, &mut |line| eprintln!("recorder: {line}")) {
        Ok(outcome) => match outcome.command_end {
            CommandEnd::ByItself(status) => status,
            CommandEnd::NoCommand | CommandEnd::ByDuration => 0,
        },
        Err(error) => {
            eprintln!("recorder: {error}");
            3
        }
    };
    std::process::exit(status);
}

/// Records in this process, which can hold one recording at a time: a guardian inherits the open
/// rings of every other.
fn record_here(options: &RecordOptions) -> Result<Outcome, RecordError> {
    record_saying(options, &mut |_| {})
}

fn record_saying(
    options: &RecordOptions,
    talk: &mut dyn FnMut(&str),
) -> Result<Outcome, RecordError> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _held = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let result = record(options, talk);
    assert_eq!(
        instances_of(std::process::id() as i32),
        BTreeSet::new(),
        "an instance is left"
    );
    result
}

/// A recorder in a process of its own.
struct Recorder {
    child: Child,
}

impl Recorder {
    fn start(folder: &Path, words: &[&str]) -> Self {
        Self::start_with(folder, words, &[])
    }

    /// With these variables in its environment.
    fn start_with(folder: &Path, words: &[&str], variables: &[(&str, &str)]) -> Self {
        let arguments = [&[folder.to_str().expect("UTF-8")], words]
            .concat()
            .join("\n");
        let own = std::env::current_exe().expect("this program");
        let child = Command::new(own)
            .args([
                "--ignored",
                "--exact",
                "recorder_process",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(ARGUMENTS, arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("a recorder process");
        Self { child }
    }

    fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    fn wait_until_it_traces(&self) {
        wait_for("the recorder to trace", || {
            let instances = instances_of(self.pid());
            instances.iter().any(|folder| {
                // A new one is on, and has no events.
                let events = fs::read_to_string(folder.join("set_event"));
                is_on(folder) && events.is_ok_and(|events| !events.is_empty())
            })
        });
    }

    fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    fn wait(&mut self) -> ExitStatus {
        wait_for("the recorder to end", || !self.is_running());
        self.child.wait().expect("it has ended")
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // It has ended unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a test records to, at the same time as other tests.
struct Place {
    base: tempfile::TempDir,
    folder: PathBuf,
    _shared: Option<RwLockReadGuard<'static, ()>>,
}

static OTHERS: RwLock<()> = RwLock::new(());

impl Place {
    fn new() -> Self {
        let shared = OTHERS.read().unwrap_or_else(PoisonError::into_inner);
        Self {
            _shared: Some(shared),
            ..Self::alone()
        }
    }

    /// For the test that holds `OTHERS`.
    fn alone() -> Self {
        let base = tempfile::tempdir().expect("a temporary folder");
        let folder = base.path().join("recording");
        Self {
            base,
            folder,
            _shared: None,
        }
    }

    fn base(&self) -> std::path::Display<'_> {
        self.base.path().display()
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.folder.with_file_name(name)
    }
}

/// `None`, with a line that says so, where kernel events cannot be recorded.
fn place_with_rights() -> Option<Place> {
    place_for_kernel_events(Place::new)
}

fn place_for_kernel_events(make: impl FnOnce() -> Place) -> Option<Place> {
    match slowpath_platform::tracefs::find_or_mount() {
        Ok(_) => Some(make()),
        Err(error) => {
            println!("SKIPPED: {error}");
            None
        }
    }
}

fn options(folder: &Path) -> RecordOptions {
    RecordOptions {
        output: folder.to_owned(),
        replace: false,
        mode: Mode::Standard,
        duration: None,
        kernel: KernelChoice::Ftrace,
        events: Vec::new(),
        user_space: UserSpaceChoice::Nothing,
        spans: SpanOptions {
            listen: SpansChoice::Off,
            forward: None,
            rules: Vec::new(),
        },
        agents: AgentsChoice::Off,
        redis: RedisChoice::default(),
        node: false,
        buffer_bytes_per_cpu: Some(2 << 20),
        accounts: Vec::new(),
        command: Vec::new(),
    }
}

fn shell(script: &str) -> Vec<std::ffi::OsString> {
    vec!["sh".into(), "-c".into(), script.into()]
}
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => files_below(&path),
            path => vec![path],
        })
        .collect()
}

/// The instances of the recorder `pid`.
fn instances_of(pid: i32) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(INSTANCES).into_iter().flatten().flatten();
    let name = format!("slowpath-{pid}-");
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&name))
        .map(|entry| entry.path())
        .collect()
}

fn is_on(instance: &Path) -> bool {
    fs::read_to_string(instance.join("tracing_on")).is_ok_and(|text| text.trim() == "1")
}

fn instance_is_off(pid: i32) -> bool {
    instances_of(pid).iter().all(|folder| !is_on(folder))
}

/// The child of recorder `pid` that runs the same program.
fn guardian_of(pid: i32) -> i32 {
    let program = fs::read_link(format!("/proc/{pid}/exe")).expect("the recorder runs");
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_guardian = |candidate: &i32| {
        let stat = fs::read_to_string(format!("/proc/{candidate}/stat")).unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let parent = after_name.split_ascii_whitespace().nth(1);
        parent == Some(&pid.to_string())
            && fs::read_link(format!("/proc/{candidate}/exe")).is_ok_and(|exe| exe == program)
    };
    pids.into_iter().find(is_guardian).expect("a guardian")
}

fn signal(pid: i32, name: &str) {
    let status = Command::new("sh")
        .args(["-c", &format!("kill -{name} {pid}")])
        .status();
    let is_sent = status.is_ok_and(|status| status.success());
    assert!(is_sent, "kill -{name} {pid}");
}

fn lttng_is_installed() -> bool {
    Command::new("lttng")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// The list of LTTng's sessions as it prints it; empty where there is no LTTng or no daemon.
fn lttng_sessions() -> String {
    let list = Command::new("lttng")
        .args(["--no-sessiond", "list"])
        .output();
    list.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default()
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(15);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

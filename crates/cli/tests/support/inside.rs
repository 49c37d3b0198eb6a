//! Recordings of programs from inside: agents built where they can be, and a recorder that records nothing else.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::skip;

/// The folder of agents, where LTTng and `program` are there and this one (`redis`) could be built into `file`.
pub fn agents_with(agent: &str, file: &str, program: &str) -> Option<PathBuf> {
    let agents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agents");
    for needed in [program, "lttng"] {
        if !quiet(needed, &["--version"]) {
            skip(&format!("{needed} is missing"));
            return None;
        }
    }
    let folder = agents.join(agent);
    let path = folder.to_str().expect("a path");
    assert!(quiet("make", &["--silent", "-C", path]), "make");
    if !folder.join("build").join(file).exists() {
        skip(&format!("the agent for {agent} cannot be built here"));
        return None;
    }
    Some(agents)
}

fn quiet(program: &str, arguments: &[&str]) -> bool {
    let run = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .status();
    run.is_ok_and(|status| status.success())
}

/// Records with these arguments; what was said.
pub fn record(agents: &Path, folder: &Path, arguments: &[&str]) -> String {
    record_with(agents, folder, arguments, &[])
}

/// The same with variables in the environment.
pub fn record_with(
    agents: &Path,
    folder: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> String {
    let mut recorder = recorder(agents, folder, arguments);
    let run = recorder.envs(variables.iter().copied()).output();
    let run = run.expect("a recorder");
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{said}");
    said
}

/// A recorder with these arguments that is still to be started; of the kernel it records nothing.
pub fn recorder(agents: &Path, folder: &Path, arguments: &[&str]) -> Command {
    recorder_with_kernel("none", agents, folder, arguments)
}

/// The same with the kernel's events from this tracer.
pub fn recorder_with_kernel(
    kernel: &str,
    agents: &Path,
    folder: &Path,
    arguments: &[&str],
) -> Command {
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_slowpath"));
    recorder
        .args(["record", "--kernel", kernel])
        .args(["--spans", "off", "--agents", "off", "-o"])
        .arg(folder)
        .args(arguments)
        .env("SLOWPATH_AGENTS", agents);
    recorder
}

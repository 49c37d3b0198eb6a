//! Restores what trials changed, when an exploration ends.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{filling, how};
use crate::spec::{CommandLine, Spec};

/// Runs the commands that restore what trials changed; all of them, and then tells the first that failed. Needs no
/// runner, as it is also done after the explorer was killed.
pub(crate) fn restore(spec: &Spec, spec_folder: &Path, folder: &Path) -> Result<(), String> {
    let mut first = Ok(());
    for command in &spec.commands.restore {
        let restored = restore_one(spec, command, spec_folder, folder);
        first = first.and(restored);
    }
    first
}

fn restore_one(
    spec: &Spec,
    command: &CommandLine,
    spec_folder: &Path,
    folder: &Path,
) -> Result<(), String> {
    let program = filling::outside(spec, command, spec_folder)?;
    let words = program.words.join(" ");
    let log = File::options()
        .create(true)
        .append(true)
        .open(folder.join("output/restore.log"));
    let log = log.map_err(|cause| format!("the log of `restore` cannot be written: {cause}"))?;
    // Not the terminal's to interrupt: half restored is worse than late.
    let mut command = slowpath_platform::process::helper(&program.words[0]);
    command.args(&program.words[1..]).current_dir(spec_folder);
    let started = log
        .try_clone()
        .and_then(|output| command.stdout(output).stderr(log).spawn());
    let mut child = started.map_err(|cause| format!("`{words}` cannot be started: {cause}"))?;
    let begin = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => {
                return Err(format!(
                    "the command `{words}` of `restore` ended with {}",
                    how(status)
                ));
            }
            Err(cause) => {
                return Err(format!(
                    "the command `{words}` of `restore` cannot be watched: {cause}"
                ));
            }
            Ok(None) if begin.elapsed() > spec.commands.timeout => {
                slowpath_platform::process::end_group(child.id(), true);
                let _ = child.wait();
                return Err(format!("the command `{words}` of `restore` took too long"));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

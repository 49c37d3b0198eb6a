//! Snapshots that a flight recorder takes while it runs: each a recording of its own, in a folder beside the others.
//!
//! What it writes at its end is not one of them (`closing.rs`).

use std::io;
use std::path::{Path, PathBuf};

use slowpath_platform::clocks::process_cpu_ns;

use super::Recording;
use crate::group_quotas::GroupQuotas;
use crate::host;
use crate::manifest::{FailedSnapshots, Mode, Trigger};
use crate::room_left::TEXTS_OF_END;
use crate::storage::{self, PageFiles};

impl Recording {
    /// Writes what the ring holds into the next snapshot's folder, and empties it; `reason` is the
    /// rule that asked for it. Where this fails, nothing is left of it but a note.
    pub(crate) fn take_snapshot(&mut self, reason: Option<Trigger>) -> Result<PathBuf, String> {
        if self.mode == Mode::Standard {
            return Err(
                "it writes everything to disk already; end it to read the recording".into(),
            );
        }
        let number = self.manifest.snapshots.len() + 1;
        let free = (number..).map(|number| format!("snapshot-{number}"));
        let mut free = free.filter(|name| !self.folder.join(name).exists());
        let name = free.next().unwrap_or_default();
        let folder = self.folder.join(&name);
        let told = |error: io::Error| format!("{}: {error}", folder.display());
        if let Err(cause) = self.write_snapshot(&name, &folder, reason) {
            // A part of it would take room, and be taken for the whole.
            let _ = std::fs::remove_dir_all(&folder);
            let before = self.manifest.failed_snapshots.take();
            self.manifest.failed_snapshots = Some(FailedSnapshots {
                count: before.map_or(0, |before| before.count) + 1,
                last_ns: host::now(),
                last_cause: cause.clone(),
            });
            // What is short for the snapshot may be short for this; the end says it again.
            let _ = self.manifest.write(&self.folder);
            return Err(cause);
        }
        self.manifest.snapshots.push(name);
        self.manifest.write(&self.folder).map_err(told)?;
        Ok(folder)
    }

    fn write_snapshot(
        &mut self,
        name: &str,
        folder: &Path,
        reason: Option<Trigger>,
    ) -> Result<(), String> {
        let told = |error: io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir(folder).map_err(told)?;
        let mut own = self.manifest.clone();
        if let Some(session) = &self.session {
            session.write_snapshot(folder)?;
        }
        own.end_ns = host::now();
        if let Some(instance) = &self.instance {
            let kernel_folder = folder.join("kernel");
            std::fs::create_dir(&kernel_folder).map_err(told)?;
            let mut pages = PageFiles::create(&kernel_folder, instance.cpus()).map_err(told)?;
            pages.leave(TEXTS_OF_END);
            // Stopped while it is emptied, so that all processors end at the same moment.
            instance.trace(false).map_err(|error| error.to_string())?;
            own.end_ns = host::now();
            // What the kernel counts from here on has no events beside it.
            let quotas_noted = self.group_quotas.as_mut().map(GroupQuotas::note_all);
            let drained = instance.drain_rest(&mut pages);
            own.kernel.lost_events = instance.lost_events(self.mode);
            instance.trace(true).map_err(|error| error.to_string())?;
            drained.map_err(told)?;
            quotas_noted.transpose().map_err(told)?;
            pages.remove_empty();
            own.cost.bytes_written = pages.bytes();
            self.describe(folder, &own.kernel.events).map_err(told)?;
            instance.save_tables(&kernel_folder).map_err(told)?;
            if let Some(state) = &mut self.state {
                state.write_snapshot(&kernel_folder).map_err(told)?;
            }
            if let Some(quotas) = &mut self.group_quotas {
                quotas.write_snapshot(&kernel_folder).map_err(told)?;
            }
        }
        if let Some(receiver) = &self.receiver {
            receiver.write_snapshot(folder, own.begin_ns, own.end_ns);
            own.spans = Some(receiver.part());
            own.cost.bytes_written += storage::bytes_below(&folder.join("spans"));
        }
        own.cost.bytes_written += storage::bytes_below(&folder.join("ust"));
        own.cost.recorder_cpu_ns = process_cpu_ns();
        own.accounts = self.accounts.accounts();
        own.snapshots.clear();
        let before = self.manifest.snapshots.last();
        let reason = reason.map(|reason| {
            let mut requests = reason.requests.iter();
            let begins_before = requests.any(|request| request.begin_ns < own.begin_ns);
            Trigger {
                snapshot: name.to_owned(),
                before: before.filter(|_| begins_before).cloned(),
                ..reason
            }
        });
        own.triggers = reason.clone().into_iter().collect();
        own.complete = true;
        own.files = storage::files_of(folder);
        // Spans that come late are added to it.
        own.files.retain(|file, _| !file.starts_with("spans/"));
        own.write(folder).map_err(told)?;
        self.manifest.triggers.extend(reason);
        // From now on the ring fills anew. Spans of the time of a failed one are in the next.
        self.manifest.begin_ns = own.end_ns;
        self.manifest.end_ns = own.end_ns;
        Ok(())
    }

    /// The last snapshot that a rule took.
    pub(crate) fn last_trigger(&self) -> Option<&Trigger> {
        self.manifest.triggers.last()
    }

    /// How many snapshots rules have taken.
    pub(crate) fn triggered_snapshots(&self) -> usize {
        self.manifest.triggers.len()
    }
}

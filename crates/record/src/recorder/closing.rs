//! The end of a recording: tracing stops, what tracers still hold is written, and what it was is told.
//!
//! Whatever fails of it, the rest is done. The recorder does it and lets its guardian go; the guardian does it where
//! the recorder was killed before.

use std::io;
use std::time::Duration;

use slowpath_platform::clocks::process_cpu_ns;
use slowpath_platform::ownership::{self, Owner};
use slowpath_platform::process::Parting;

use super::{Recording, group_quotas_failed, state_dump_failed};
use crate::control;
use crate::error::RecordError;
use crate::group_quotas::GroupQuotas;
use crate::host;
use crate::lttng::Session;
use crate::manifest::{Manifest, Mode};
use crate::room_left::TEXTS_OF_END;
use crate::storage::{self, PageFiles};
use crate::watch::Ended;

impl Recording {
    /// Puts away a recording that ends as it should.
    pub(super) fn finish(&mut self, ended: &Ended) -> Result<(), RecordError> {
        for process in ended.processes() {
            self.accounts.look_at(process);
        }
        self.put_away(None)
    }

    /// Puts away what there is of a recording that cannot go on for `cause`, unless it is put away already, so that
    /// nothing of it burdens the command, which may run for long.
    pub(crate) fn end_early(&mut self, cause: &RecordError) {
        if self.guardian.is_some() {
            // What fails now is told by the manifest.
            let _ = self.put_away(Some(cause));
        }
    }

    /// Once the command has ended whose recording could not go on, or not be written in full: what it sent until then.
    pub(crate) fn finish_early(&mut self) {
        self.finish_spans();
        // What was written before stands.
        let _ = self.write_manifest();
        let _ = self.hand_over();
    }

    /// Closes it, says so in the manifest, and lets the guardian go: from here on nothing is left for it to do.
    fn put_away(&mut self, cause: Option<&RecordError>) -> Result<(), RecordError> {
        let closed = self.close();
        let causes = cause.into_iter().chain(closed.as_ref().err());
        let causes: Vec<String> = causes.map(ToString::to_string).collect();
        self.manifest.ended_because = (!causes.is_empty()).then(|| causes.join("; then: "));
        self.manifest.accounts = self.accounts.accounts();
        self.manifest.cost.recorder_cpu_ns = process_cpu_ns();
        let written = self.write_manifest();
        if cause.is_some() {
            // Readable while the command goes on.
            let _ = self.hand_over();
        }
        self.part(Parting::Goodbye);
        closed.and(written)
    }

    /// Lets the guardian go, which removes the instance. Nothing happens where it has gone.
    pub(super) fn part(&mut self, parting: Parting) {
        self.let_go();
        if let Some(guardian) = self.guardian.take() {
            guardian.dismiss(parting);
        }
    }

    pub(super) fn finish_spans(&mut self) {
        if let Some(receiver) = self.receiver.take() {
            let part = receiver.finish(&self.folder, self.manifest.begin_ns, host::now());
            self.manifest.spans = Some(part);
            self.manifest.cost.bytes_written += storage::bytes_below(&self.folder.join("spans"));
        }
    }

    /// What recorder and guardian do alike. The error is the first of those that there were.
    fn close(&mut self) -> Result<(), RecordError> {
        let mut failed = None;
        let mut note = |result: Result<(), RecordError>| {
            if let Err(error) = result {
                failed.get_or_insert(error);
            }
        };
        control::remove_socket(&self.folder);
        let stopped = self.instance.as_ref().map(|instance| instance.trace(false));
        note(stopped.unwrap_or(Ok(())));
        self.manifest.end_ns = host::now();
        let offset_at_end = host::read_clocks().offset_to_epoch_ns;
        for clock in &mut self.manifest.clocks {
            clock.offset_to_epoch_at_end_ns = offset_at_end;
        }
        // At once: what the kernel counts from here on has no events beside it.
        let quotas_noted = self.group_quotas.as_mut().map(GroupQuotas::note_all);
        note(
            quotas_noted
                .unwrap_or(Ok(()))
                .map_err(group_quotas_failed()),
        );
        if let Some(room) = &mut self.room {
            room.give_back();
        }
        // First: room that was kept for rings is free then, for what LTTng still has to write.
        let drained = self.drain_rest();
        note(drained.map_err(RecordError::system(
            "the last kernel events could not be written",
        )));
        note(self.close_session());
        let kernel_folder = self.folder.join("kernel");
        if let Some(instance) = &self.instance {
            // Also where pages could not be written: those before them are of no use without.
            let described = instance.save_tables(&kernel_folder);
            note(described.map_err(RecordError::system(
                "names and counts of kernel events could not be written",
            )));
            self.manifest.kernel.lost_events = instance.lost_events(self.mode);
        }
        self.manifest.cost.bytes_written += storage::bytes_below(&self.folder.join("ust"));
        if let Some(state) = &mut self.state {
            note(
                state
                    .write_snapshot(&kernel_folder)
                    .map_err(state_dump_failed()),
            );
        }
        if let Some(quotas) = &mut self.group_quotas {
            note(
                quotas
                    .write_snapshot(&kernel_folder)
                    .map_err(group_quotas_failed()),
            );
        }
        failed.map_or(Ok(()), Err)
    }

    /// Writes what the rings of a stopped tracer hold.
    fn drain_rest(&mut self) -> io::Result<()> {
        let Some(instance) = &self.instance else {
            return Ok(());
        };
        let mut pages = match self.pages.take() {
            Some(mut pages) => {
                pages.keep_no_more_room();
                pages
            }
            None => {
                let mut pages = PageFiles::create(&self.folder.join("kernel"), instance.cpus())?;
                pages.leave(TEXTS_OF_END);
                pages
            }
        };
        let drained = instance.drain_rest(&mut pages);
        pages.remove_empty();
        self.manifest.cost.bytes_written += pages.bytes();
        drained
    }

    /// Has LTTng write what its buffers hold, and destroys its session.
    fn close_session(&mut self) -> Result<(), RecordError> {
        let Some(session) = self.session.take() else {
            return Ok(());
        };
        let written = match self.mode {
            Mode::Standard => session.stop(),
            Mode::Snapshot => session.write_snapshot(&self.folder),
        };
        let lost = session.lost_events();
        if let Some(part) = &mut self.manifest.ust {
            part.lost_events = lost;
        }
        session.destroy();
        written.map_err(|cause| RecordError::Lttng { cause })
    }

    /// The guardian's duty: nothing after a goodbye but to remove the instance; everything else
    /// where the recorder was killed.
    pub(super) fn guard(&mut self, parting: Parting) {
        if parting == Parting::Silence {
            let mut has_begun = false;
            if let Ok(latest) = Manifest::read(&self.folder) {
                has_begun = latest.begin_ns != self.manifest.begin_ns;
                self.manifest = latest;
            }
            if self.uses_lttng {
                self.session = Some(Session::of(&self.name, self.mode));
            }
            // Nobody is left to be told of a failure; what could be written is written.
            let _ = self.close();
            if !has_begun {
                self.manifest.end_ns = self.manifest.begin_ns;
                let cause = "its recorder was killed before it recorded anything";
                self.manifest.ended_because = Some(cause.to_owned());
            }
            let _ = self.write_manifest();
            let _ = self.hand_over();
        }
        self.let_go();
    }

    /// Closes the rings and removes the instance, if the other of recorder and guardian has
    /// already closed them.
    fn let_go(&mut self) {
        drop(self.instance.take());
    }

    /// Gives what is written to the user who called `sudo`, so that reading it needs none.
    pub(super) fn hand_over(&self) -> io::Result<()> {
        match Owner::behind_sudo() {
            Some(owner) => ownership::hand_over(&self.folder, owner),
            None => Ok(()),
        }
    }

    /// Keeps room on the disk for what is still to be written at the end; returns how long this will do, `None` where
    /// it need not be done.
    ///
    /// # Errors
    /// When there is too little to go on.
    pub(crate) fn look_at_room(&mut self) -> Result<Option<Duration>, RecordError> {
        let Some(room) = &mut self.room else {
            return Ok(None);
        };
        let look = room.look().map_err(RecordError::system(
            "too little room is left on the disk to go on",
        ))?;
        if let Some(pages) = &mut self.pages {
            pages.leave(look.to_stay_free);
        }
        Ok(Some(look.next))
    }
}

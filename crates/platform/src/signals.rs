//! Signals as something to wait for beside files: each arrival is a byte in a pipe.
//!
//! Process-wide, as signal handlers are: one `SignalPipe` at a time. It does not decide what a
//! signal means.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use crate::wait::wait_readable;

/// A request to end that came as a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// Ctrl-C (SIGINT): the terminal sends it to the whole foreground process group.
    Interrupt,
    /// SIGTERM: sent to one process.
    Terminate,
    /// SIGHUP: the terminal went away.
    HangUp,
}

impl EndSignal {
    /// Its number, as a shell's `$?` has it above 128.
    pub fn number(self) -> u8 {
        let number = match self {
            Self::Interrupt => SIGINT,
            Self::Terminate => SIGTERM,
            Self::HangUp => SIGHUP,
        };
        number as u8
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
        }
    }
}

/// The arrivals of SIGINT, SIGTERM and SIGHUP, which no longer end the process while this lives. Nor does
/// SIGXFSZ: a file that grows beyond the limit of the process is an error of whoever writes it.
#[derive(Debug)]
pub struct SignalPipe {
    pipes: [(EndSignal, OwnedFd); 3],
    handlers: Vec<SigId>,
}

/// Has a signal arrive at a [`SignalPipe`] that listens to no real one.
#[derive(Clone, Debug)]
pub struct Trigger {
    writer: Arc<OwnedFd>,
}

impl Trigger {
    /// As if SIGTERM had come.
    pub fn fire(&self) {
        let _ = rustix::io::write(&self.writer, b"x");
    }
}

impl SignalPipe {
    /// Takes over the signals.
    ///
    /// # Errors
    /// When no pipe can be had or a handler is refused.
    pub fn new() -> io::Result<Self> {
        let mut handlers = Vec::new();
        let mut listen = |meaning, number| -> io::Result<_> {
            let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
            handlers.push(signal_hook::low_level::pipe::register(number, writer)?);
            Ok((meaning, reader))
        };
        let pipes = [
            listen(EndSignal::Interrupt, SIGINT)?,
            listen(EndSignal::Terminate, SIGTERM)?,
            listen(EndSignal::HangUp, SIGHUP)?,
        ];
        let too_large = Arc::new(AtomicBool::new(false));
        handlers.push(signal_hook::flag::register(SIGXFSZ, too_large)?);
        Ok(Self { pipes, handlers })
    }

    /// One that listens to a trigger instead, for a part of the process that is to end by itself.
    ///
    /// # Errors
    /// When no pipe can be had.
    pub fn of_trigger() -> io::Result<(Self, Trigger)> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK);
        let (reader, writer) = pipe()?;
        let writer = Arc::new(writer);
        // Nothing is ever written to the others; their ends stay open with the trigger's.
        let (interrupt, hang_up) = (rustix::io::dup(&reader)?, rustix::io::dup(&reader)?);
        let pipes = [
            (EndSignal::Terminate, reader),
            (EndSignal::Terminate, interrupt),
            (EndSignal::Terminate, hang_up),
        ];
        let handlers = Vec::new();
        Ok((Self { pipes, handlers }, Trigger { writer }))
    }

    /// The descriptors to wait on; readable when a signal has arrived.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 3] {
        [
            self.pipes[0].1.as_fd(),
            self.pipes[1].1.as_fd(),
            self.pipes[2].1.as_fd(),
        ]
    }

    /// Sleeps for `time`, or until a signal has arrived; says whether one has, which stays to be taken.
    pub fn interrupts_sleep(&self, time: Duration) -> bool {
        wait_readable(&self.descriptors(), time).is_ok_and(|arrived| arrived.contains(&true))
    }

    /// The next signal that has arrived, if any. Several arrivals of one signal between two calls
    /// count once.
    pub fn next(&self) -> Option<EndSignal> {
        let mut bytes = [0; 64];
        self.pipes.iter().find_map(|(meaning, reader)| {
            rustix::io::read(reader, &mut bytes)
                .is_ok_and(|count| count > 0)
                .then_some(*meaning)
        })
    }
}

impl Drop for SignalPipe {
    fn drop(&mut self) {
        for id in &self.handlers {
            signal_hook::low_level::unregister(*id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};

    #[test]
    fn a_trigger_is_taken_for_a_signal() -> io::Result<()> {
        let (signals, trigger) = SignalPipe::of_trigger()?;
        assert!(!signals.interrupts_sleep(Duration::from_millis(1)));
        trigger.fire();
        assert!(signals.interrupts_sleep(Duration::from_secs(5)));
        assert_eq!(signals.next(), Some(EndSignal::Terminate));
        assert_eq!(signals.next(), None);
        Ok(())
    }

    #[test]
    fn a_signal_arrives_as_a_readable_pipe() -> io::Result<()> {
        let signals = SignalPipe::new()?;
        assert_eq!(signals.next(), None);
        for (sent, expected) in [
            (Signal::TERM, EndSignal::Terminate),
            (Signal::INT, EndSignal::Interrupt),
        ] {
            kill_process(getpid(), sent)?;
            let arrived = signals.interrupts_sleep(Duration::from_secs(5));
            assert!(arrived, "{sent:?} did not arrive");
            assert_eq!(signals.next(), Some(expected));
            assert_eq!(signals.next(), None);
        }
        Ok(())
    }
}

//! Which system calls move bytes or say what a descriptor is (docs/reference/definitions.md).

use serde::{Deserialize, Serialize};
use slowpath_model::{Nanoseconds, Timestamp};

use super::record::{Name, What};

/// A call that writes is told by itself where it takes this long: most write to memory and are back at once.
const LONG: Nanoseconds = Nanoseconds(100_000);

/// What a call does, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Moves as many bytes as it returns.
    Moves(Way),
    /// Returns a descriptor of the file that it was given.
    Opens,
    /// Returns a descriptor of this kind.
    Makes(Kind),
    /// Makes two descriptors of this kind.
    MakesPair(Kind),
    /// Returns another descriptor of the same file.
    Duplicates,
    /// Duplicates, if it was asked to.
    Controls,
    /// Forgets a descriptor when it is entered.
    Closes,
    /// Forgets descriptors from one to another one, unless they are to be closed by `exec` only.
    ClosesRange,
    /// Waits until what was written to a file is on its disk.
    Syncs,
}

/// Which way bytes move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Way {
    Read,
    Write,
    /// From one descriptor to another.
    ReadAndWrite,
    /// The call returns a number of messages; their bytes are not visible.
    ReadMessages,
    WriteMessages,
}

/// What a descriptor without a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    Pipe,
    Socket,
    Eventfd,
    Timerfd,
    Signalfd,
    Inotify,
    Epoll,
    Memfd,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pipe => "pipe",
            Self::Socket => "socket",
            Self::Eventfd => "eventfd",
            Self::Timerfd => "timerfd",
            Self::Signalfd => "signalfd",
            Self::Inotify => "inotify",
            Self::Epoll => "epoll",
            Self::Memfd => "memfd",
        }
    }
}

/// A call that matters here: a position in [`CALLS`], or [`Call::OTHER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Call(u8);

impl Call {
    /// Any other call.
    pub(super) const OTHER: Self = Self(u8::MAX);

    /// The call of this name; 32-bit calls are the same as the 64-bit ones.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.strip_prefix("compat_").unwrap_or(name);
        let position = CALLS.iter().position(|(names, _)| names.contains(&name))?;
        Some(Self(position as u8))
    }

    /// Its first name; empty for any other call.
    pub(super) fn name(self) -> &'static str {
        CALLS.get(self.0 as usize).map_or("", |(names, _)| names[0])
    }

    pub(super) fn effect(self) -> Option<Effect> {
        Some(CALLS.get(self.0 as usize)?.1)
    }
}

/// The calls by name, one row for each, as an exit finds its entry by call.
const CALLS: &[(&[&str], Effect)] = &[
    (&["read"], Effect::Moves(Way::Read)),
    (&["pread64"], Effect::Moves(Way::Read)),
    (&["readv"], Effect::Moves(Way::Read)),
    (&["preadv"], Effect::Moves(Way::Read)),
    (&["preadv2"], Effect::Moves(Way::Read)),
    (&["recv"], Effect::Moves(Way::Read)),
    (&["recvfrom"], Effect::Moves(Way::Read)),
    (&["recvmsg"], Effect::Moves(Way::Read)),
    (&["write"], Effect::Moves(Way::Write)),
    (&["pwrite64"], Effect::Moves(Way::Write)),
    (&["writev"], Effect::Moves(Way::Write)),
    (&["pwritev"], Effect::Moves(Way::Write)),
    (&["pwritev2"], Effect::Moves(Way::Write)),
    (&["send"], Effect::Moves(Way::Write)),
    (&["sendto"], Effect::Moves(Way::Write)),
    (&["sendmsg"], Effect::Moves(Way::Write)),
    (&["vmsplice"], Effect::Moves(Way::Write)),
    (
        &["sendfile", "sendfile64"],
        Effect::Moves(Way::ReadAndWrite),
    ),
    (&["splice"], Effect::Moves(Way::ReadAndWrite)),
    (&["tee"], Effect::Moves(Way::ReadAndWrite)),
    (&["copy_file_range"], Effect::Moves(Way::ReadAndWrite)),
    (&["recvmmsg"], Effect::Moves(Way::ReadMessages)),
    (&["sendmmsg"], Effect::Moves(Way::WriteMessages)),
    (&["open"], Effect::Opens),
    (&["openat"], Effect::Opens),
    (&["openat2"], Effect::Opens),
    (&["creat"], Effect::Opens),
    (&["dup"], Effect::Duplicates),
    (&["dup2"], Effect::Duplicates),
    (&["dup3"], Effect::Duplicates),
    (&["fcntl", "fcntl64"], Effect::Controls),
    (&["pipe"], Effect::MakesPair(Kind::Pipe)),
    (&["pipe2"], Effect::MakesPair(Kind::Pipe)),
    (&["socketpair"], Effect::MakesPair(Kind::Socket)),
    (&["socket"], Effect::Makes(Kind::Socket)),
    (&["accept"], Effect::Makes(Kind::Socket)),
    (&["accept4"], Effect::Makes(Kind::Socket)),
    (&["eventfd"], Effect::Makes(Kind::Eventfd)),
    (&["eventfd2"], Effect::Makes(Kind::Eventfd)),
    (&["timerfd_create"], Effect::Makes(Kind::Timerfd)),
    (&["signalfd"], Effect::Makes(Kind::Signalfd)),
    (&["signalfd4"], Effect::Makes(Kind::Signalfd)),
    (&["inotify_init"], Effect::Makes(Kind::Inotify)),
    (&["inotify_init1"], Effect::Makes(Kind::Inotify)),
    (&["epoll_create"], Effect::Makes(Kind::Epoll)),
    (&["epoll_create1"], Effect::Makes(Kind::Epoll)),
    (&["memfd_create"], Effect::Makes(Kind::Memfd)),
    (&["close"], Effect::Closes),
    (&["close_range"], Effect::ClosesRange),
    (&["fsync"], Effect::Syncs),
    (&["fdatasync"], Effect::Syncs),
];

/// A call that has been entered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) call: Call,
    /// -1 where it is not known.
    pub(super) fd: i32,
    /// -1 where there is none.
    pub(super) other_fd: i32,
    pub(super) path: Option<Box<str>>,
}

impl Entry {
    /// Whether an exit may be its own that says it is of `call`, if it does.
    pub(super) fn is_ended_by(&self, call: Option<Call>) -> bool {
        let becomes_other = |call: Call| {
            matches!(
                call.effect(),
                Some(Effect::Closes | Effect::ClosesRange | Effect::Controls)
            )
        };
        call.is_none_or(|call| call == self.call || self.call == Call::OTHER && becomes_other(call))
    }
}

/// A call that has returned without failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Return {
    pub(super) value: i64,
    pub(super) pair: Option<[i32; 2]>,
    /// It lies in the window: bytes that it moved count.
    pub(super) counts: bool,
    /// It is told by itself if it waited for a file.
    pub(super) is_looked_at: bool,
}

/// What follows from a return at `at`, given the entry and its time if they are known.
pub(super) fn outcome(
    call: Call,
    entered: Option<(Timestamp, Entry)>,
    at: Timestamp,
    returned: Return,
    mut tell: impl FnMut(What),
) {
    if let (Some((since, entry)), true) = (&entered, returned.is_looked_at) {
        let is_told = match call.effect() {
            Some(Effect::Syncs) => true,
            Some(Effect::Moves(Way::Write)) => at.since(*since) >= LONG,
            _ => false,
        };
        if is_told {
            tell(What::Called {
                call,
                fd: entry.fd,
                since: *since,
            });
        }
    }
    let entry = entered.map(|(_, entry)| entry);
    let made = returned.value as i32;
    let mut names = |fd, name| tell(What::Named { fd, name });
    match call.effect() {
        Some(Effect::Moves(way)) if returned.counts => tell(What::Moved {
            way,
            fd: entry.as_ref().map_or(-1, |entry| entry.fd),
            other_fd: entry.map_or(-1, |entry| entry.other_fd),
            value: returned.value,
        }),
        Some(Effect::Opens) => {
            let path = entry.and_then(|entry| entry.path);
            names(made, path.map_or(Name::Unknown, Name::Path));
        }
        Some(Effect::Makes(kind)) => names(made, Name::Kind(kind)),
        Some(Effect::MakesPair(kind)) => match returned.pair {
            Some(pair) => pair.into_iter().for_each(|fd| names(fd, Name::Kind(kind))),
            None => tell(What::MadeUntold),
        },
        // Without its entry it is not known whether `fcntl` duplicated: then nothing is.
        Some(Effect::Controls) => {
            if let Some(entry) = entry {
                names(made, Name::Like(entry.fd));
            }
        }
        Some(Effect::Duplicates) => {
            names(
                made,
                entry.map_or(Name::Unknown, |entry| Name::Like(entry.fd)),
            );
        }
        Some(Effect::Moves(_) | Effect::Closes | Effect::ClosesRange | Effect::Syncs) | None => {}
    }
}

/// Whether `close_range` with these flags closes; with CLOSE_RANGE_CLOEXEC it leaves that to `exec`.
pub(super) fn closes(flags: Option<u64>) -> bool {
    flags.is_none_or(|flags| flags & 4 == 0)
}

/// Whether `fcntl` with this command duplicates a descriptor: F_DUPFD, F_DUPFD_CLOEXEC.
pub(super) fn duplicates(command: Option<u64>) -> bool {
    matches!(command, Some(0 | 1030))
}

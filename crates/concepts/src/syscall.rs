//! System calls under one form, whatever the tracer: which call, and the arguments that say which
//! file it is about.
//!
//! Calls are numbered once per schema ([`SyscallId`]), so that no event carries a name. Tracers name
//! the call in the event's name (LTTng; ftrace's `syscalls` events), give a number (ftrace's
//! `raw_syscalls`; calls that LTTng does not know) or, for exits before LTTng 2.6, say nothing.

use rustc_hash::FxHashMap;
use slowpath_model::{
    Event, EventClass, FieldId, FieldKind, Schema, Scope, ThreadId, TimeRange, Timestamp,
};

use crate::{slot, syscall_table};

/// A system call: a position in the list of names that a schema was resolved to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SyscallId(pub u16);

impl SyscallId {
    /// The position in the list of names.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A thread enters the kernel. Arguments that the tracer does not record are absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyscallEntry<'packet> {
    /// The call.
    pub call: SyscallId,
    /// The descriptor it is about, or the one it reads from.
    pub fd: Option<i32>,
    /// The descriptor it writes to, the new one (`dup2`, `dup3`), or the last one (`close_range`).
    pub other_fd: Option<i32>,
    /// What it is asked to do (`fcntl`), or how (`close_range`).
    pub command: Option<u64>,
    /// The address of the word that it waits at, or wakes who waits there (`futex`).
    pub word: Option<u64>,
    /// Whether it waits no longer than until a time (`futex`).
    pub is_timed: Option<bool>,
    /// Whether it waits at a word that holds 2: that of a mutex which is locked and waited for (`futex`; Drepper,
    /// *Futexes Are Tricky*, `mutex3`).
    pub is_for_mutex: bool,
    /// The file's name as it was given.
    pub path: Option<&'packet [u8]>,
    /// The calling thread, where the event says so itself.
    pub thread: Option<ThreadId>,
    /// Its process, where the event says so itself.
    pub process: Option<slowpath_model::ProcessId>,
}

/// A thread returns from the kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyscallExit {
    /// The call, where the tracer says so.
    pub call: Option<SyscallId>,
    /// What it returned; negative when it failed.
    pub ret: i64,
    /// The two descriptors that it made (`pipe`, `pipe2`, `socketpair`).
    pub pair: Option<[i32; 2]>,
    /// The calling thread, where the event says so itself.
    pub thread: Option<ThreadId>,
    /// Its process, where the event says so itself.
    pub process: Option<slowpath_model::ProcessId>,
}

/// How an event class tells which call it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Naming {
    Named(SyscallId),
    Numbered,
    Unnamed,
}

/// What an event class is, by its name.
enum ClassKind {
    Entry(String),
    Exit(String),
    NumberedEntry,
    NumberedExit,
    UnnamedExit,
}

impl ClassKind {
    fn is_entry(&self) -> bool {
        matches!(self, Self::Entry(_) | Self::NumberedEntry)
    }
}

/// Slots of entries that are named: `fd`, `other_fd`, `command`, `path`, `word`, the time of `is_timed`, and what
/// `is_for_mutex` follows from.
const ENTRY_FIELDS: [&[&str]; 8] = [
    &["fd", "sockfd", "in_fd", "fd_in", "fdin", "fildes", "oldfd"],
    &["out_fd", "fd_out", "fdout", "newfd", "max_fd"],
    &["cmd"],
    &["filename", "pathname"],
    &["uaddr"],
    &["utime"],
    &["op"],
    &["val"],
];
const COMMAND: usize = 2;
const PATH: usize = 3;
/// Slots of contexts, behind those of any payload: thread, process.
const CONTEXT: u16 = 8;
/// LTTng's contexts; ftrace calls the current thread `common_pid` and has no process.
const CONTEXT_FIELDS: [&[&str]; 2] = [&["tid", "common_pid"], &["pid"]];
const ARGUMENTS: usize = 6;
/// Calls with numbers from here on are not told: no processor with few numbers has as many yet.
const NUMBERS: usize = 512;

/// The calls of a schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    names: Vec<String>,
    ids: FxHashMap<String, SyscallId>,
    by_number: Vec<Option<SyscallId>>,
    /// Numbers mean something else where these threads enter and leave then: the calls of 32-bit programs. Where no table
    /// tells them, there are none.
    threads_of_32_bit: FxHashMap<ThreadId, Vec<TimeRange>>,
    by_number_of_32_bit: Vec<Option<SyscallId>>,
    /// By call: positions of `fd`, `other_fd`, `command`, `word`, its time, operation and value among the arguments of
    /// numbered events.
    positions: Vec<[Option<u16>; 7]>,
}

/// One event class that is about system calls, resolved.
pub(crate) struct ResolvedClass {
    pub(crate) is_entry: bool,
    pub(crate) naming: Naming,
    pub(crate) slots: Vec<Option<FieldId>>,
}

impl Calls {
    /// Names of all calls; [`SyscallId`] is the position.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// What `class` says about system calls; `None` when it is about something else, or about a
    /// call that is not `wanted`.
    pub(crate) fn resolve(
        &mut self,
        schema: &Schema,
        class: &EventClass,
        wanted: impl Fn(&str) -> bool,
    ) -> Option<ResolvedClass> {
        let kind = class_kind(class)?;
        let is_entry = kind.is_entry();
        let (naming, payload) = match kind {
            ClassKind::Entry(call) if wanted(&call) || has_unnamed_exits(schema) => {
                let mut fields = entry_fields(class);
                // Other calls have flags, too, which say nothing here.
                if without_compat(&call) == "close_range" {
                    fields[COMMAND] = payload_field(class, "flags");
                }
                (Naming::Named(self.intern(&call)), fields)
            }
            ClassKind::Exit(call) if wanted(&call) => {
                (Naming::Named(self.intern(&call)), exit_fields(class))
            }
            ClassKind::Entry(_) | ClassKind::Exit(_) => return None,
            ClassKind::NumberedEntry => {
                self.number(schema);
                let arguments = array_fields(class, &["args"], ARGUMENTS);
                let fields = [class.field("id")].into_iter().chain(arguments).collect();
                (Naming::Numbered, fields)
            }
            ClassKind::NumberedExit => {
                self.number(schema);
                let fields = vec![class.field("ret"), None, None, class.field("id")];
                (Naming::Numbered, fields)
            }
            ClassKind::UnnamedExit => (Naming::Unnamed, exit_fields(class)),
        };
        let mut slots = payload;
        slots.resize(CONTEXT as usize, None);
        slots.extend(CONTEXT_FIELDS.map(|names| context_field(class, names)));
        while slots.last().is_some_and(Option::is_none) {
            slots.pop();
        }
        Some(ResolvedClass {
            is_entry,
            naming,
            slots,
        })
    }

    fn intern(&mut self, name: &str) -> SyscallId {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = SyscallId(self.names.len().min(u16::MAX as usize) as u16);
        self.names.push(name.to_owned());
        self.positions
            .push(argument_positions(without_compat(name)));
        self.ids.insert(name.to_owned(), id);
        id
    }

    /// Fills the table of numbers for the processor that was traced.
    fn number(&mut self, schema: &Schema) {
        if !self.by_number.is_empty() {
            return;
        }
        let table = table_of(schema);
        for name in table.split_ascii_whitespace() {
            let id = (name != "-").then(|| self.intern(name));
            self.by_number.push(id);
        }
        // A newer kernel's, or those of a processor without a table.
        for number in self.by_number.len()..NUMBERS {
            let id = self.intern(&format!("syscall_{number}"));
            self.by_number.push(Some(id));
        }
        for (thread, when) in &schema.threads_of_32_bit {
            let times = self.threads_of_32_bit.entry(*thread).or_default();
            times.push(*when);
        }
        if !self.threads_of_32_bit.is_empty() && table == syscall_table::X86_64 {
            for name in syscall_table::I386.split_ascii_whitespace() {
                // As LTTng calls them.
                let id = (name != "-").then(|| self.intern(&format!("compat_{name}")));
                self.by_number_of_32_bit.push(id);
            }
        }
    }

    /// The call that has a number where `thread` enters it or leaves it at a time.
    #[inline]
    fn numbered(&self, number: u64, thread: Option<ThreadId>, at: Timestamp) -> Option<SyscallId> {
        let is_of_32_bit = |thread: ThreadId| {
            let times = self.threads_of_32_bit.get(&thread);
            times.is_some_and(|times| times.iter().any(|when| when.contains(at)))
        };
        let is_of_32_bit = !self.threads_of_32_bit.is_empty() && thread.is_some_and(is_of_32_bit);
        let table = match is_of_32_bit {
            true => &self.by_number_of_32_bit,
            false => &self.by_number,
        };
        *table.get(number as usize)?
    }

    #[inline]
    pub(crate) fn entry<'packet>(
        &self,
        naming: Naming,
        event: &Event<'packet>,
    ) -> Option<SyscallEntry<'packet>> {
        let number = |n| event.has(slot(n)).then(|| event.signed(slot(n)) as i32);
        let mut entry = SyscallEntry {
            call: SyscallId(0),
            fd: None,
            other_fd: None,
            command: None,
            word: None,
            is_timed: None,
            is_for_mutex: false,
            path: None,
            thread: number(CONTEXT).map(ThreadId),
            process: number(CONTEXT + 1).map(slowpath_model::ProcessId),
        };
        match naming {
            Naming::Named(call) => {
                entry.call = call;
                entry.fd = number(0);
                entry.other_fd = number(1);
                entry.command = event.has(slot(2)).then(|| event.unsigned(slot(2)));
                entry.path = event.has(slot(3)).then(|| event.text(slot(3)));
                entry.word = event.has(slot(4)).then(|| event.unsigned(slot(4)));
                entry.is_timed = event.has(slot(5)).then(|| event.unsigned(slot(5)) != 0);
                entry.is_for_mutex = event.has(slot(6))
                    && event.has(slot(7))
                    && is_for_mutex(event.unsigned(slot(6)), event.unsigned(slot(7)));
            }
            Naming::Numbered => {
                entry.call = self.numbered(event.unsigned(slot(0)), entry.thread, event.at)?;
                let [fd, other_fd, command, word, until, operation, value] = self.positions
                    [entry.call.index()]
                .map(|position| element::<8>(event, 1, position?));
                entry.fd = fd.map(|fd| fd as i32);
                entry.other_fd = other_fd.map(|fd| fd as i32);
                entry.command = command;
                entry.word = word;
                entry.is_timed = until.map(|until| until != 0);
                entry.is_for_mutex = (operation.zip(value))
                    .is_some_and(|(operation, value)| is_for_mutex(operation, value));
            }
            Naming::Unnamed => return None,
        }
        Some(entry)
    }

    #[inline]
    pub(crate) fn exit(&self, naming: Naming, event: &Event<'_>) -> Option<SyscallExit> {
        let number = |n| event.has(slot(n)).then(|| event.signed(slot(n)) as i32);
        let thread = number(CONTEXT).map(ThreadId);
        let call = match naming {
            Naming::Named(call) => Some(call),
            Naming::Numbered => Some(self.numbered(event.unsigned(slot(3)), thread, event.at)?),
            Naming::Unnamed => None,
        };
        let member = |position| element::<4>(event, 1, position).map(|fd| fd as i32);
        Some(SyscallExit {
            call,
            ret: event.signed(slot(0)),
            pair: member(0).zip(member(1)).map(<[i32; 2]>::from),
            thread,
            process: number(CONTEXT + 1).map(slowpath_model::ProcessId),
        })
    }
}

/// What the numbers of system calls mean on the processor that was traced; nothing where that is not known. Traces
/// that do not tell their processor are taken for those of 64-bit x86.
fn table_of(schema: &Schema) -> &'static str {
    let get = |key: &str| {
        let mut environment = schema.environment.iter();
        Some(environment.find(|(name, _)| name == key)?.1.as_str())
    };
    // `trace.dat` has what `uname` says, whose other words are anybody's: the machine comes last.
    let of_uname = || get("uname")?.split_whitespace().last();
    match get("machine").or_else(of_uname).unwrap_or_default() {
        "" | "x86_64" | "amd64" => syscall_table::X86_64,
        "i386" | "i486" | "i586" | "i686" => syscall_table::I386,
        // These have the numbers of `asm-generic`, too.
        "aarch64" | "arm64" | "riscv64" | "loongarch64" => syscall_table::AARCH64,
        _ => "",
    }
}

/// Whether an operation on a futex waits until it no longer holds 2.
fn is_for_mutex(operation: u64, value: u64) -> bool {
    /// `FUTEX_WAIT` and `FUTEX_WAIT_BITSET`.
    const WAITS: [u64; 2] = [0, 9];
    /// Behind `FUTEX_PRIVATE_FLAG` and `FUTEX_CLOCK_REALTIME`.
    const OPERATION: u64 = 0x7f;
    // Both arguments are 32 bits wide.
    WAITS.contains(&(operation & OPERATION)) && value & 0xffff_ffff == 2
}

fn class_kind(class: &EventClass) -> Option<ClassKind> {
    let name = class.name.as_str();
    let has = |field| class.field(field).is_some();
    let (compat, base) = match name.strip_prefix("compat_") {
        Some(base) => ("compat_", base),
        None => ("", name),
    };
    let named = |call: &str| format!("{compat}{call}");
    let ftrace = has("__syscall_nr") || has("nr");
    Some(match base {
        "exit_syscall" => ClassKind::UnnamedExit,
        "sys_enter" if has("id") => ClassKind::NumberedEntry,
        "sys_exit" if has("id") => ClassKind::NumberedExit,
        "syscall_entry_unknown" if has("id") && compat.is_empty() => ClassKind::NumberedEntry,
        "syscall_exit_unknown" if has("id") && compat.is_empty() => ClassKind::NumberedExit,
        _ => {
            if let Some(call) = base.strip_prefix("syscall_entry_") {
                ClassKind::Entry(named(call))
            } else if let Some(call) = base.strip_prefix("syscall_exit_") {
                ClassKind::Exit(named(call))
            } else if let Some(call) = base.strip_prefix("sys_enter_").filter(|_| ftrace) {
                ClassKind::Entry(named(call))
            } else if let Some(call) = base.strip_prefix("sys_exit_").filter(|_| ftrace) {
                ClassKind::Exit(named(call))
            } else {
                ClassKind::Entry(named(base.strip_prefix("sys_")?))
            }
        }
    })
}

/// Whether exits do not say which call they are of: then all entries are needed.
fn has_unnamed_exits(schema: &Schema) -> bool {
    let mut classes = schema.event_classes.iter();
    classes.any(|class| class.name == "exit_syscall")
}

fn entry_fields(class: &EventClass) -> Vec<Option<FieldId>> {
    let first = |names: &[&str]| names.iter().find_map(|name| payload_field(class, name));
    let mut fields = ENTRY_FIELDS.map(first);
    // ftrace records the address of the name, not the name.
    fields[PATH] = fields[PATH].filter(|field| class.fields[field.index()].kind == FieldKind::Text);
    fields.into()
}

fn exit_fields(class: &EventClass) -> Vec<Option<FieldId>> {
    let pair = array_fields(class, &["fildes", "socket"], 2);
    [payload_field(class, "ret")]
        .into_iter()
        .chain(pair)
        .collect()
}

/// The array that has one of these names: its elements one by one, or all of it as bytes (see
/// [`element`]) in the first place, as the reader has them.
fn array_fields(class: &EventClass, names: &[&str], count: usize) -> Vec<Option<FieldId>> {
    let fields = |name: &&str| {
        let element = |n| payload_field(class, &format!("{name}.{n}"));
        let elements: Vec<_> = (0..count).map(element).collect();
        if elements.iter().any(Option::is_some) {
            return Some(elements);
        }
        let whole = payload_field(class, name)?;
        let is_bytes = class.fields[whole.index()].kind == FieldKind::Bytes;
        is_bytes.then(|| vec![Some(whole)])
    };
    let found = names.iter().find_map(fields);
    found.unwrap_or_else(|| vec![None; count])
}

/// Element `position` of the array of `SIZE`-byte numbers whose first slot is `first`, whichever way
/// the reader has it. Bytes are little-endian, as on every processor whose calls are known here.
#[inline]
fn element<const SIZE: usize>(event: &Event<'_>, first: u16, position: u16) -> Option<u64> {
    if !event.has(slot(first)) {
        return None;
    }
    if event.has(slot(first + 1)) {
        return Some(event.unsigned(slot(first + position)));
    }
    let bytes = event.raw_bytes(slot(first));
    let element = bytes.get(position as usize * SIZE..)?.get(..SIZE)?;
    let widened = element
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u64::from(byte));
    Some(widened)
}

/// The name of the 64-bit call that a 32-bit one is like.
fn without_compat(call: &str) -> &str {
    call.strip_prefix("compat_").unwrap_or(call)
}

fn payload_field(class: &EventClass, name: &str) -> Option<FieldId> {
    let field = class.field(name)?;
    (class.fields[field.index()].scope == Scope::Payload).then_some(field)
}

/// The context field of `class` that tells the thread: LTTng's `tid`, ftrace's `common_pid`.
pub fn context_thread(class: &EventClass) -> Option<FieldId> {
    context_field(class, CONTEXT_FIELDS[0])
}

fn context_field(class: &EventClass, names: &[&str]) -> Option<FieldId> {
    let is_context = |scope| matches!(scope, Scope::CommonContext | Scope::SpecificContext);
    let mut fields = (0..).map(FieldId).zip(&class.fields);
    let found =
        fields.find(|(_, field)| names.contains(&field.name.as_str()) && is_context(field.scope));
    Some(found?.0)
}

/// Where a call has `fd`, `other_fd`, `command`, `word`, its time, operation and value among its arguments (from the
/// kernel's prototypes).
fn argument_positions(call: &str) -> [Option<u16>; 7] {
    let [fd, other_fd, command] = match call {
        "read" | "write" | "pread64" | "pwrite64" | "readv" | "writev" | "preadv" | "pwritev"
        | "preadv2" | "pwritev2" | "sendto" | "recvfrom" | "sendmsg" | "recvmsg" | "sendmmsg"
        | "recvmmsg" | "vmsplice" | "close" | "dup" | "fsync" | "fdatasync" => {
            [Some(0), None, None]
        }
        "dup2" | "dup3" | "tee" => [Some(0), Some(1), None],
        "sendfile" | "sendfile64" => [Some(1), Some(0), None],
        "splice" | "copy_file_range" => [Some(0), Some(2), None],
        "fcntl" | "fcntl64" => [Some(0), None, Some(1)],
        "close_range" => [Some(0), Some(1), Some(2)],
        _ => [None; 3],
    };
    let [word, until, operation, value] = match call {
        "futex" => [Some(0), Some(3), Some(1), Some(2)],
        _ => [None; 4],
    };
    [fd, other_fd, command, word, until, operation, value]
}

//! What a reader or an analysis has to say about damaged or incomplete input.
//!
//! A diagnostic never replaces the result: readers return what they could read *and* these. Each
//! has a registered code that says what it means and what to do.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Timestamp, shown};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = DiagnosticSeverity)]
pub enum Severity {
    /// Worth knowing; results are whole.
    Note,
    /// Results are incomplete or may be off; the rest could be read.
    Warning,
    /// Something could not be read.
    Error,
}

macro_rules! codes {
    ($($name:ident, $severity:ident, $meaning:literal, $hint:literal;)*) => {
        /// The registered kinds of diagnostic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum DiagnosticCode {
            $(#[doc = $meaning] $name,)*
        }

        impl DiagnosticCode {
            /// Every code, for the generated reference page.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The code as printed, for instance `TruncatedPacket`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// How bad it is.
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            /// What it means, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning,)* }
            }

            /// What the user can do about it.
            pub fn hint(self) -> &'static str {
                match self { $(Self::$name => $hint,)* }
            }
        }
    };
}

codes! {
    InvalidMetadata, Error, "The description of the trace's layout cannot be understood.",
        "check that the metadata file is whole; copy the trace again";
    IgnoredMetadata, Note, "The description of the trace's layout says something that has no meaning here; it was left out.",
        "none needed; events are decoded without it";
    UnknownStreamClass, Error, "A packet names a stream class that the metadata does not describe.",
        "the metadata may be older than the stream; copy both again";
    UnknownEventClass, Error, "An event has an id that the metadata does not describe; the rest of its packet is skipped.",
        "the metadata may be older than the stream; copy both again";
    InvalidPacket, Error, "A packet's header, size, time or number makes no sense; what it is about is skipped, and where no index says how to go on the rest of the stream as well.",
        "the file is damaged there; copy it again";
    TooManyPackets, Error, "Packets are so small that listing them would take more memory than the trace is worth; the rest of the stream is skipped.",
        "the file is damaged, or not a stream of this trace";
    ForeignStream, Error, "A packet is of another trace than the metadata; the rest of its stream is skipped.",
        "copy metadata and streams of the same recording again";
    MissingPackets, Error, "A stream has fewer packets than its index lists, or fewer pages than were recorded; those that are there were read.",
        "the file was cut or not copied as a whole; copy the trace again";
    MissingStream, Error, "The file of a stream is missing; the other streams were read.",
        "the trace was not copied as a whole; copy it again";
    TruncatedPacket, Error, "A packet is cut short; the events before the cut are kept.",
        "the recorder was stopped or the disk was full while it wrote";
    InvalidEvent, Error, "An event runs past its packet or has an impossible value; the rest of its packet is skipped.",
        "the file is damaged at this place";
    InvalidIndex, Warning, "A packet index file does not fit its stream; packets were found by reading them.",
        "none needed; deleting the index folder silences this";
    LostEvents, Warning, "The tracer had no room for some events and counted them.",
        "record with larger buffers or fewer events";
    LostPackets, Warning, "Whole packets are missing between two packets of a stream.",
        "record with larger buffers; a snapshot overwrites old packets by design";
    LostSpans, Warning, "The recorder received spans that it could not keep: the disk was full or too slow.",
        "requests are missing or known in part; record onto a faster disk or one with room, or send fewer spans";
    RefusedMessages, Warning, "The recorder refused messages: they were malformed, too large, of a type that it does not take, or too many at that time.",
        "if they had spans and were not sent again, these are missing; exporters say which they could not send, and what they were told";
    OtherProcessor, Warning, "Packets name another processor than most of their stream, which is of one; they are read as the others are.",
        "the file is damaged at this place; copy the trace again";
    CopiedPacket, Warning, "Packets are there twice, in two files of a stream; they are read once.",
        "a file was copied beside the one it is of; remove either";
    TimeGoesBack, Warning, "A stream's time goes backwards.",
        "results near this place may be off";
    UnlikelyTime, Warning, "A stream begins long before or ends long after everything else in the trace, with no event in between: the time of a packet may be damaged.",
        "if the times are wrong, so are lengths and shares of the whole trace: choose a window by --begin and --end, or leave the stream out";
    UnknownBegin, Warning, "Streams begin later than others, and their packets have no numbers: packets may be missing before, or nothing happened.",
        "nothing tells; what is said of their processors before their first events may be wrong. Tracers of today number packets (LTTng since 2.8)";
    UnknownClockUnit, Warning, "The tracer's clock counts in a unit that the trace does not state; times are its bare numbers.",
        "record with a clock that counts nanoseconds, for instance `mono`";
    WallTimeSet, Warning, "Wall time was set while it was recorded, or `slowpath.json` is damaged; times are by what it was at the begin.",
        "compare with other hosts or logs by the begin of the recording only";
    UnknownWallTime, Warning, "Nothing tells how the tracer's clock relates to wall time; times are by its own, as if it had begun in 1970.",
        "open the whole recording, whose `slowpath.json` tells it; offsets such as --begin +2s mean the same either way";
    MixedClocks, Warning, "Times of one trace count from the epoch, and those of another do not: nothing tells what of the one happened when in the other.",
        "open them one by one; of all together, offsets such as --begin +2s are from the earliest time of any";
    IgnoredFile, Note, "A file in the folder is not part of the trace.",
        "none needed";
    InvalidFormat, Error, "The description of an event's layout cannot be understood; its events are skipped.",
        "please report the format text";
    SpanClockOffset, Warning, "The times of spans in files are off those of the spans' own events; the events' times are used.",
        "none needed here; the clock of whoever wrote the spans may be wrong";
    UnplacedSpans, Warning, "Spans of files belong to no host or time that was recorded; they were left out.",
        "record on the hosts that serve them, or give only files of the recorded time";
    SpansOfAnotherTime, Warning, "Spans of services that were recorded lie before or after the recording; they were left out.",
        "none needed: applications send spans when they end, and in batches";
    UnnamedRequests, Warning, "Events tell that there were requests, and no file has their spans: they go by their threads' names, not by service and operation.",
        "applications send spans in batches: have them end, or send what they keep, before the recording ends. Else see what they say of spans that could not be sent";
    SpansMoveUnseen, Warning, "Spans of a process move between threads, or take turns on one, unseen: the states of its requests are those of the threads that they began on, and none is said to be blocked by another.",
        "goroutines of Go and Java's virtual threads do so; elsewhere, record with the agent for the language (`make agents`)";
    HostClocksApart, Warning, "The clocks of two hosts differ, as packets between them or distributed traces on both show. Where packets show it, paths that lead from one host to the other are corrected, and `slowpath serve` has all times by the first host's clock; where only traces show it, times of different hosts cannot be compared.",
        "keep the hosts' clocks in step (NTP, PTP)";
    HostClocksUncertain, Warning, "Between two hosts only commands went, to a data store: each tells that it was executed after it was sent, and nothing of the way back. Their clocks are compared to a tenth of a second, no closer.",
        "keep the hosts' clocks in step (NTP, PTP); how long commands were on their way or queued may be wrong by the difference, how long they were executed is not";
    NoTemporaryFile, Warning, "There was no room for a large temporary file; what should have gone there stayed in memory.",
        "results are whole; if memory is short, set TMPDIR to a folder on a disk with room, a few times what the trace takes at most";
    InvalidFile, Error, "A file that belongs to the recording cannot be read.",
        "check that it is whole and that you may read it; copy it again";
    InvalidTransfers, Error, "A report of transfers, or a line of it, cannot be understood; it is left out.",
        "check that the file is whole and was written by the agent for Java of this version; lines after the first do not affect each other";
    InvalidSpanFile, Error, "A file of spans cannot be understood from some place on.",
        "check that it is Jaeger JSON or OTLP and was copied whole";
    NoSpans, Warning, "A file looks like one of spans, and has none.",
        "it is empty, or what it has is not where Jaeger's and OTLP's documents have their spans; save or export it again";
    TruncatedSpans, Error, "A file of spans is cut short; the spans before the cut are kept.",
        "the writer was stopped or the disk was full; save the file again";
    InvalidSpan, Error, "A span has no id, no trace (an id of zeros is none) or an impossible value; it is left out.",
        "whatever made the span is broken; the other spans are not affected";
    NegativeDuration, Warning, "A span ends before it begins; it is taken to last no time.",
        "the clock of its host was set back meanwhile";
    UnsetTime, Warning, "A span lacks its start, its end, or both; with one of them it is taken to last no time, at that one; a duration alone is none.",
        "whatever made the span left the time at 0: a start that was never set, or a span that was sent before it ended";
    MissingProcess, Warning, "A span's process is not described; its service is unknown.",
        "the file was cut before the list of processes, or that is damaged; save it again";
    UnusualSpanId, Note, "An id of a span or trace is no hexadecimal number; a hash of it is used.",
        "none needed";
    TracingSystemWarning, Note, "The tracing system itself has marked spans with a warning.",
        "its times may be adjusted already; compare with the raw spans";
    MissingParentSpan, Warning, "A span's parent is not in the input; `services` takes the span for a root, for `requests` its place in the tree is unknown.",
        "the parent was not sampled, not sent yet, or lies in another file";
    SpanCycle, Warning, "Spans are each other's ancestors; `services` takes the earliest for a root, for `requests` their places in the tree are unknown.",
        "whatever made the spans reuses ids";
    DuplicateSpan, Note, "A span is there more than once; one is kept.",
        "none needed";
    SameTrace, Warning, "A trace is there twice, the second time perhaps in part: a damaged copy, or a snapshot of it.",
        "the one that holds more is read; of snapshots that are opened together, which is right, the later ones hold applications' events of the earlier ones; else name only the one that is read";
    OverlappingTraces, Warning, "Two traces hold the same events in part, and each has some that the other lacks. Both are read: what counts events or adds up times has those of both twice. Spans count once.",
        "name only one of them: a snapshot holds a part of what the recording that it is of goes on to hold";
    RecordedTwice, Warning, "Two recorders ran on a machine at the same time: their traces hold the same kinds of events of the same processors, or both come from ftrace. Of the time that both have, the one that covers less is left out, as everything would count twice.",
        "open the one that was left out by itself, if that is the one you want; one recorder is enough, whichever events it is to record (--events)";
    MissingEnd, Warning, "A kernel stream ends before the others, with a packet that was full: what followed is missing.",
        "the recorder was killed, the machine lost power or files were not copied as a whole; what these processors did from there on is not known";
    MissingProcessor, Warning, "Threads were woken for processors, or moved to them, of which the trace has no stream: what these processors did is unknown.",
        "their files are missing: copy the trace again as a whole";
    MissingSpanEvents, Warning, "Threads that tell of spans ran on a processor from which no event of a span is recorded: requests are missing, or lack their start or end (`shown`).",
        "the stream of applications' events of that processor is missing: copy the trace again as a whole";
    UnfinishedRecording, Warning, "The recorder did not end in order: what it had not written yet is missing.",
        "what was written is read; to have the end too, let the recorder end by itself, by Ctrl-C or with its command, on a disk with room for it";
    StillRecorded, Warning, "A recording says of no end: its recorder ran when it was opened, or was killed with its guardian, or had no room.",
        "if it runs, open the recording again when it has ended: much is written only then, spans among it";
    SameHostName, Warning, "Hosts that were started at different times have the same name.",
        "they are kept apart; give each host its own name, or open recordings of before and after a restart one by one";
    ClockSkew, Warning, "Spans lie outside of the time of their callers: clocks of hosts differ.",
        "times are taken as they are told; synchronise the clocks";
    UnknownSpanHost, Warning, "Spans name a host that was not recorded, as those from containers do. Only one host was recorded, so they are taken to be of it; their threads are not guessed, as a container numbers threads on its own.",
        "build the agents (`make agents`), which tell the threads, and record again; spans of another host do not belong here";
    NoThreadKnown, Warning, "Nothing tells which threads served some requests: all of their time is UNKNOWN.",
        "build the agents (`make agents`), which tell the threads of spans, and record again; docs/reference/receiving-spans.md says how";
    ConflictingSpans, Warning, "Spans have the id of another one but differ from it.",
        "files of different runs may lie together, or whatever made the spans reuses ids; open each run by itself";
    AddedSpans, Note, "Spans are states of requests, which `slowpath export` added below these for other tools to show; they are left out.",
        "none needed";
    UnknownOperations, Warning, "Operations of io_uring completed whose submission was not recorded: what they read or wrote is not known.",
        "what completes again and again (multishot) is submitted once: start the recorder before the program, or let it submit anew, for instance by connecting again";
    ManyOperations, Warning, "Spans have so many different names, of operations or services, that the rarest are shown as one.",
        "names with ids in them are of as many operations as there are ids; let whatever makes the spans put ids into attributes";
    ManyContexts, Warning, "Spans call each other in so many ways, or so deep, that only the first calls of each path are told apart.",
        "choose requests with `--operation`: paths begin there, and those of other requests do not count. Names with ids in them make many paths, too: let whatever makes the spans put ids into attributes";
}

/// Where something was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// File or stream, as the user knows it.
    pub file: String,
    /// Byte offset in the file, where known.
    pub byte: Option<u64>,
    /// Line and column (from 1) of a text file, where known.
    pub line: Option<(u32, u32)>,
    /// Trace time, where known.
    pub at: Option<Timestamp>,
}

/// One finding about the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Its kind.
    pub code: DiagnosticCode,
    /// What exactly was found, with the offending value.
    pub message: String,
    /// Where.
    pub place: Place,
    /// How many things (events, packets) it is about, where that can be counted.
    pub count: Option<u64>,
}

impl Diagnostic {
    /// A diagnostic about `place`.
    pub fn new(code: DiagnosticCode, place: Place, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            place,
            count: None,
        }
    }

    /// What was found, and where, in a line: all but the hint.
    pub fn headline(&self) -> String {
        let severity = match self.code.severity() {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let (code, place) = (self.code.name(), &self.place);
        format!("{severity}[{code}]: {place}: {}", self.message)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.file))?;
        if let Some((line, column)) = self.line {
            write!(f, ":{line}:{column}")?;
        }
        if let Some(byte) = self.byte {
            write!(f, " at byte {byte}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  hint: {}", self.headline(), self.code.hint())
    }
}

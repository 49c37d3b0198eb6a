//! Probes inside observed programs: their shared memory read and switched, their numbers made into metrics.
//!
//! The memory is as docs/formats/probes.md says (`memory.rs`); where it is found, `find.rs`; what numbers come to, `gather.rs`.
//! Everything in that memory is another program's word and is checked before it is used. When all that happens in a
//! trial: `run/probes.rs`.

mod find;
mod gather;
mod memory;

pub(crate) use find::Finder;
pub(crate) use gather::{Gathered, Window};
pub use memory::{Counts, DamagedProbes, Probe, ProbeMemory, Record};

/// What a probe measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeKind {
    /// How often code was executed.
    Cnt,
    /// How long one execution took.
    Lat,
    /// How often, and how long together.
    Tpt,
    /// The last-level cache.
    Llc,
    /// Page faults.
    Flt,
    /// Context switches.
    Ctxsw,
    /// A performance counter that the program chose.
    Perfcntr,
    /// Values of the program's own.
    Snapshot,
}

impl ProbeKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Cnt,
        Self::Lat,
        Self::Tpt,
        Self::Llc,
        Self::Flt,
        Self::Ctxsw,
        Self::Perfcntr,
        Self::Snapshot,
    ];

    /// As in a specification and in `SLOWPATH_PROBES`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cnt => "CNT",
            Self::Lat => "LAT",
            Self::Tpt => "TPT",
            Self::Llc => "LLC",
            Self::Flt => "FLT",
            Self::Ctxsw => "CTXSW",
            Self::Perfcntr => "PERFCNTR",
            Self::Snapshot => "SNAPSHOT",
        }
    }

    /// Names of the values that a record has, by the place of their fields; the first is what a metric means by default.
    pub fn values(self) -> &'static [(&'static str, usize)] {
        match self {
            Self::Cnt => &[("executions", 0)],
            Self::Lat => &[("duration", 0)],
            Self::Tpt => &[("executions", 0), ("duration", 1)],
            Self::Llc => &[("misses", 1), ("references", 0)],
            Self::Flt => &[("minor", 0), ("major", 1)],
            Self::Ctxsw => &[("voluntary", 0), ("involuntary", 1)],
            Self::Perfcntr => &[("count", 1)],
            Self::Snapshot => &[("0", 0), ("1", 1), ("2", 2), ("3", 3), ("4", 4), ("5", 5)],
        }
    }

    /// Whether its records have totals, so that lost ones do not matter for how much there was.
    pub fn has_totals(self) -> bool {
        matches!(self, Self::Cnt | Self::Tpt)
    }

    /// Whether this field of its records is a duration.
    pub fn is_duration(self, field: usize) -> bool {
        match self {
            Self::Lat => field == 0,
            Self::Tpt => field % 2 == 1,
            _ => false,
        }
    }

    fn number(self) -> u32 {
        self as u32
    }
}

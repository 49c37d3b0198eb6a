//! Ids that cannot be mixed up.
//!
//! Ids of streams, packets, event classes and fields are positions in the lists that the source of
//! a trace gives out; thread, process and processor ids are the kernel's.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($number:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $number);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

macro_rules! position {
    ($name:ident) => {
        impl $name {
            /// The position in the list that gave out this id.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A thread as the kernel numbers it (`tid`); 0 is the idle thread of every processor.
    ThreadId(i32)
);
id!(
    /// A process as the kernel numbers it (`pid`, the thread group id).
    ProcessId(i32)
);
id!(
    /// A processor as the kernel numbers it.
    CpuId(u32)
);
id!(
    /// A stream of a source: its position in `Source::streams`.
    StreamId(u32)
);
id!(
    /// A packet of a source: its position in `Source::packets`.
    PacketId(u32)
);
id!(
    /// An event class of a source: its position in `Schema::event_classes`.
    EventClassId(u32)
);
id!(
    /// A field of an event class: its position in `EventClass::fields`.
    FieldId(u16)
);

position!(CpuId);
position!(StreamId);
position!(PacketId);
position!(EventClassId);
position!(FieldId);

impl ThreadId {
    /// The idle thread, which every processor has one of.
    pub const IDLE: Self = Self(0);
}

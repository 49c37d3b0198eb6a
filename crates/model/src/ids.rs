//! Ids that cannot be mixed up.
//!
//! Ids of streams, packets, event classes and fields are positions in the lists that the source of
//! a trace gives out; thread, process and processor ids are the kernel's.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($number:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone,
            Copy,
            Debug,
            Default,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            Serialize,
            Deserialize,
            ToSchema,
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
    /// A thread as the kernel numbers it (`tid`); 0 is the idle thread of every processor, and on the
    /// path of a request a thread that is not known.
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
    /// A host of an experiment: its position in the list of hosts.
    HostId(u32)
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
position!(HostId);
position!(StreamId);
position!(PacketId);
position!(EventClassId);
position!(FieldId);

impl ThreadId {
    /// The idle thread, which every processor has one of.
    pub const IDLE: Self = Self(0);
}

/// A distributed trace, as W3C Trace Context and Jaeger number it: 128 bits.
///
/// Jaeger's old clients use 64 bits; then `high` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId {
    /// The upper 64 bits.
    pub high: u64,
    /// The lower 64 bits.
    pub low: u64,
}

/// A span within its distributed trace: 64 bits; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(pub u64);

impl TraceId {
    /// The id that hexadecimal digits of any length up to 32 write (Jaeger drops leading zeros).
    pub fn from_hex(text: &str) -> Option<Self> {
        let number = hex(text, 32)?;
        Some(Self {
            high: (number >> 64) as u64,
            low: number as u64,
        })
    }
}

impl SpanId {
    /// The id that up to 16 hexadecimal digits write.
    pub fn from_hex(text: &str) -> Option<Self> {
        hex(text, 16).map(|number| Self(number as u64))
    }
}

fn hex(text: &str, longest: usize) -> Option<u128> {
    if text.is_empty() || text.len() > longest {
        return None;
    }
    text.bytes().try_fold(0, |number, byte| {
        let digit = char::from(byte).to_digit(16)?;
        Some(number << 4 | u128::from(digit))
    })
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.high, self.low)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Ids of traces and spans are written as text everywhere: hexadecimal digits.
macro_rules! serialised_as_hex {
    ($name:ident, $description:literal, $pattern:literal) => {
        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let text = ObjectBuilder::new().schema_type(Type::String);
                let text = text.description(Some($description)).pattern(Some($pattern));
                text.into()
            }
        }

        impl ToSchema for $name {}

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::from_hex(&text).ok_or_else(|| {
                    D::Error::custom(format_args!("`{text}` is no id in hexadecimal digits"))
                })
            }
        }
    };
}

serialised_as_hex!(
    TraceId,
    "A distributed trace: 32 hexadecimal digits.",
    "^[0-9a-f]{32}$"
);
serialised_as_hex!(
    SpanId,
    "A span within its distributed trace: 16 hexadecimal digits.",
    "^[0-9a-f]{16}$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_and_span_ids_come_back_as_they_were_written() {
        let text = "74776f68000000090000012500000001";
        assert_eq!(TraceId::from_hex(text).unwrap().to_string(), text);
        let short = TraceId::from_hex("3d5a").unwrap();
        assert_eq!((short.high, short.low), (0, 0x3d5a));
        assert_eq!(
            SpanId::from_hex("12F").unwrap().to_string(),
            "000000000000012f"
        );
        for wrong in ["", "+1", "xyz", "00112233445566778"] {
            assert_eq!(SpanId::from_hex(wrong), None, "{wrong}");
        }
    }
}

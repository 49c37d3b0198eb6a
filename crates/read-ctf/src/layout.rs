//! The layout of a CTF trace: what both metadata languages (TSDL of CTF 1.8, JSON of CTF 2) say.
//!
//! The parsers produce it with every reference resolved; the planner and the walker consume it.
//! A length or selector that another field holds is named by a [`Register`]: the field that is
//! referred to stores its value there when decoded, before the field that needs it.

use slowpath_model::DisplayBase;

/// The order of bytes (and, as CTF defines it, of bits within them).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant first.
    #[default]
    Little,
    /// Most significant first.
    Big,
}

/// A whole trace.
#[derive(Clone, Debug, Default)]
pub struct TraceLayout {
    /// CTF major version: 1 or 2.
    pub major: u8,
    /// The trace's UUID, if stated.
    pub uuid: Option<[u8; 16]>,
    /// The trace's name, if stated (CTF 2).
    pub name: Option<String>,
    /// The environment, in its order.
    pub environment: Vec<(String, EnvironmentValue)>,
    /// Clocks; [`StreamLayout::clock`] is a position here.
    pub clocks: Vec<ClockLayout>,
    /// The packet header, if any.
    pub packet_header: Option<StructureLayout>,
    /// Stream classes, in their order.
    pub streams: Vec<StreamLayout>,
    /// How many registers decoding a packet and its events needs.
    pub register_count: u16,
}

impl TraceLayout {
    /// Whether LTTng recorded it.
    pub(crate) fn is_by_lttng(&self) -> bool {
        let mut environment = self.environment.iter();
        environment.any(|(key, value)| {
            let names_lttng =
                matches!(value, EnvironmentValue::Text(name) if name.starts_with("lttng"));
            key == "tracer_name" && names_lttng
        })
    }
}

/// A value of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvironmentValue {
    /// A number.
    Integer(i64),
    /// Text.
    Text(String),
}

/// A clock.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockLayout {
    /// Its name (TSDL) or id (CTF 2).
    pub name: String,
    /// Cycles per second.
    pub frequency: u64,
    /// Offset of cycle 0 from the origin: whole seconds.
    pub offset_seconds: i64,
    /// Offset of cycle 0 from the origin, added to the seconds: cycles.
    pub offset_cycles: u64,
    /// Whether the origin is the Unix epoch (else unknown).
    pub origin_is_epoch: bool,
    /// Whether it is the same for all hosts (`absolute` in TSDL).
    pub absolute: bool,
    /// Precision in cycles.
    pub precision: u64,
    /// UUID, if stated.
    pub uuid: Option<[u8; 16]>,
    /// Description, if stated.
    pub description: String,
}

/// A stream class.
#[derive(Clone, Debug, Default)]
pub struct StreamLayout {
    /// Its id (0 when the metadata leaves it out).
    pub id: u64,
    /// Its name, if stated (CTF 2).
    pub name: Option<String>,
    /// Its default clock: a position in [`TraceLayout::clocks`].
    pub clock: Option<usize>,
    /// The packet context, if any.
    pub packet_context: Option<StructureLayout>,
    /// The event header, if any.
    pub event_header: Option<StructureLayout>,
    /// The context common to its events, if any.
    pub common_context: Option<StructureLayout>,
    /// Its event classes, in their order.
    pub events: Vec<EventLayout>,
}

/// An event class.
#[derive(Clone, Debug, Default)]
pub struct EventLayout {
    /// Its id within the stream class (0 when left out).
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its log level as the tracer numbers it, if stated.
    pub log_level: Option<i64>,
    /// Its EMF URI, if stated.
    pub emf_uri: Option<String>,
    /// Context of its own, if any.
    pub specific_context: Option<StructureLayout>,
    /// Its payload, if any.
    pub payload: Option<StructureLayout>,
}

/// Where a value that other fields depend on is kept while an event is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Register(pub u16);

/// What a field means to the reader, besides its value (CTF 2 roles; well-known names in TSDL).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Packet magic number.
    PacketMagic,
    /// The trace's UUID (array or blob of 16 bytes).
    MetadataStreamUuid,
    /// Id of the packet's stream class.
    StreamClassId,
    /// Id of the packet's stream within its class.
    StreamId,
    /// Size of the packet in bits, with padding.
    PacketTotalLength,
    /// Size of the packet in bits, without padding.
    PacketContentLength,
    /// Clock value when the packet begins (packet context) or of the event (event header); also
    /// any other integer that the metadata maps to the clock: it updates the clock's value.
    ClockTimestamp,
    /// Clock value when the packet ends.
    PacketEndTimestamp,
    /// Running number of events lost in the stream.
    DiscardedEventCounter,
    /// Running number of the packet within its stream.
    PacketSequenceNumber,
    /// The event class's id. Where several fields of a header have it, the last one decoded counts.
    EventClassId,
    /// The processor (`cpu_id` of the packet context).
    CpuId,
}

/// A structure: its members in order.
#[derive(Clone, Debug, Default)]
pub struct StructureLayout {
    /// Members.
    pub members: Vec<MemberLayout>,
    /// Alignment of its first bit, in bits: the largest of its own and its members'.
    pub alignment: u64,
}

/// A member of a structure.
#[derive(Clone, Debug)]
pub struct MemberLayout {
    /// Its name as shown to people (without TSDL's escaping underscore).
    pub name: String,
    /// Its class.
    pub class: FieldLayout,
}

/// A field's class.
#[derive(Clone, Debug)]
pub enum FieldLayout {
    /// An integer of a fixed number of bits; with labels an enumeration, with flags a bit array.
    Integer(IntegerLayout),
    /// An integer in LEB128 (CTF 2).
    VariableInteger(VariableIntegerLayout),
    /// An IEEE 754 number of 16, 32, 64 (or 128) bits.
    Float(FloatLayout),
    /// Text up to its terminator (one code unit of zero).
    Text(TextLayout),
    /// Text in a fixed number of bytes, up to a terminator inside if there is one.
    StaticText {
        /// Bytes.
        length: u64,
        /// Encoding.
        encoding: Encoding,
        /// Alignment of the first byte, in bits.
        alignment: u64,
    },
    /// Text in as many bytes as a register says, up to a terminator inside if there is one.
    DynamicText {
        /// Holds the number of bytes.
        length: Register,
        /// Encoding.
        encoding: Encoding,
        /// Alignment of the first byte, in bits.
        alignment: u64,
    },
    /// A fixed number of elements.
    StaticArray {
        /// Elements.
        length: u64,
        /// Class of each.
        element: Box<FieldLayout>,
        /// Alignment before the first element (even if there is none), in bits.
        alignment: u64,
        /// `MetadataStreamUuid` for the packet header's UUID.
        role: Option<Role>,
    },
    /// As many elements as a register says.
    DynamicArray {
        /// Holds the number of elements.
        length: Register,
        /// Class of each.
        element: Box<FieldLayout>,
        /// Alignment before the first element (even if there is none), in bits.
        alignment: u64,
    },
    /// A fixed number of raw bytes (CTF 2).
    StaticBlob {
        /// Bytes.
        length: u64,
        /// `MetadataStreamUuid` for the packet header's UUID.
        role: Option<Role>,
    },
    /// As many raw bytes as a register says (CTF 2).
    DynamicBlob {
        /// Holds the number of bytes.
        length: Register,
    },
    /// Members one after the other.
    Structure(StructureLayout),
    /// One of several classes.
    Variant(VariantLayout),
    /// A class or nothing (CTF 2).
    Optional(OptionalLayout),
}

/// An integer of a fixed number of bits.
#[derive(Clone, Debug)]
pub struct IntegerLayout {
    /// 1 to 64.
    pub bits: u32,
    /// Whether two's complement.
    pub signed: bool,
    /// In which order its bytes lie.
    pub byte_order: ByteOrder,
    /// CTF 2's `bit-order` says bits are read from the other end of each byte than the byte order
    /// implies; false for all of CTF 1.8.
    pub reversed_bits: bool,
    /// In bits.
    pub alignment: u64,
    /// For showing.
    pub base: DisplayBase,
    /// What it is shown as.
    pub meaning: IntegerMeaning,
    /// Where its value is kept for others.
    pub keep: Option<Register>,
    /// What it means to the reader.
    pub role: Option<Role>,
}

/// What a fixed-length integer stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntegerMeaning {
    /// A number.
    Number,
    /// An enumeration.
    Enumeration(Vec<EnumerationLabel>),
    /// A boolean (CTF 2).
    Boolean,
    /// An array of bits with named flags (CTF 2); the ranges are ranges of bit positions.
    BitArray(Vec<EnumerationLabel>),
}

/// A label and the values that bear it, both ends included. A signed value is sign-extended to 128 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumerationLabel {
    /// The label.
    pub label: String,
    /// Ranges, ends included.
    pub ranges: Vec<(i128, i128)>,
}

/// An integer of variable length: LEB128, at most 64 bits kept.
#[derive(Clone, Debug)]
pub struct VariableIntegerLayout {
    /// Whether signed.
    pub signed: bool,
    /// For showing.
    pub base: DisplayBase,
    /// Labels; empty for a plain number.
    pub labels: Option<Vec<EnumerationLabel>>,
    /// Where its value is kept for others.
    pub keep: Option<Register>,
    /// What it means to the reader.
    pub role: Option<Role>,
}

/// A floating-point number.
#[derive(Clone, Debug)]
pub struct FloatLayout {
    /// 16, 32, 64 or 128.
    pub bits: u32,
    /// In which order its bytes lie.
    pub byte_order: ByteOrder,
    /// As with integers.
    pub reversed_bits: bool,
    /// In bits.
    pub alignment: u64,
}

/// Text up to a terminator. Always at a byte boundary at least.
#[derive(Clone, Debug)]
pub struct TextLayout {
    /// Encoding.
    pub encoding: Encoding,
}

/// How text is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 or ASCII: code units of one byte.
    #[default]
    Utf8,
    /// UTF-16, little endian.
    Utf16Le,
    /// UTF-16, big endian.
    Utf16Be,
    /// UTF-32, little endian.
    Utf32Le,
    /// UTF-32, big endian.
    Utf32Be,
}

/// One of several classes, chosen by a register.
#[derive(Clone, Debug)]
pub struct VariantLayout {
    /// Holds the selector: the integer's bits, sign-extended when `selector_signed`.
    pub selector: Register,
    /// Whether the selector is signed.
    pub selector_signed: bool,
    /// Options, in order; the first whose ranges hold the selector is chosen.
    pub options: Vec<VariantOption>,
    /// Alignment before the chosen option, in bits (1 for TSDL).
    pub alignment: u64,
}

/// An option of a variant.
#[derive(Clone, Debug)]
pub struct VariantOption {
    /// Its name as shown.
    pub name: String,
    /// Selector values, ends included.
    pub ranges: Vec<(i128, i128)>,
    /// Its class.
    pub class: FieldLayout,
}

/// A class that is there or not.
#[derive(Clone, Debug)]
pub struct OptionalLayout {
    /// Holds the selector.
    pub selector: Register,
    /// Whether the selector is signed.
    pub selector_signed: bool,
    /// Selector values for which the field is there, ends included (a boolean selector: anything but 0).
    pub ranges: Vec<(i128, i128)>,
    /// The class of the field.
    pub class: Box<FieldLayout>,
}

impl FieldLayout {
    /// Alignment of the field's first bit, in bits.
    pub fn alignment(&self) -> u64 {
        match self {
            Self::Integer(integer) => integer.alignment,
            Self::Float(float) => float.alignment,
            Self::VariableInteger(_) | Self::Text(_) => 8,
            Self::StaticBlob { .. } | Self::DynamicBlob { .. } => 8,
            Self::StaticText { alignment, .. } | Self::DynamicText { alignment, .. } => *alignment,
            Self::StaticArray {
                element, alignment, ..
            }
            | Self::DynamicArray {
                element, alignment, ..
            } => (*alignment).max(element.alignment()),
            Self::Structure(structure) => structure.alignment,
            Self::Variant(variant) => variant.alignment,
            Self::Optional(_) => 1,
        }
    }

    /// Tells the registers that it refers to.
    fn references(&self, tell: &mut dyn FnMut(Register)) {
        match self {
            Self::DynamicText { length, .. } | Self::DynamicBlob { length } => tell(*length),
            Self::StaticArray { element, .. } => element.references(tell),
            Self::DynamicArray {
                length, element, ..
            } => {
                tell(*length);
                element.references(tell);
            }
            Self::Structure(structure) => structure.references(tell),
            Self::Variant(variant) => {
                tell(variant.selector);
                let options = variant.options.iter();
                options.for_each(|option| option.class.references(tell));
            }
            Self::Optional(optional) => {
                tell(optional.selector);
                optional.class.references(tell);
            }
            Self::Integer(_) | Self::VariableInteger(_) | Self::Float(_) => {}
            Self::Text(_) | Self::StaticText { .. } | Self::StaticBlob { .. } => {}
        }
    }
}

impl StructureLayout {
    /// A structure of `members`, aligned to `minimum` bits at least.
    pub fn new(members: Vec<MemberLayout>, minimum: u64) -> Self {
        let alignment = members
            .iter()
            .map(|member| member.class.alignment())
            .fold(minimum.max(1), u64::max);
        Self { members, alignment }
    }

    /// Tells the registers that its fields refer to.
    pub(crate) fn references(&self, tell: &mut dyn FnMut(Register)) {
        for member in &self.members {
            member.class.references(tell);
        }
    }
}

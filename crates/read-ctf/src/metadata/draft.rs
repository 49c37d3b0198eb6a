//! Field classes as either metadata language writes them: references still by name, named classes
//! shared instead of copied.
//!
//! The invariant that the rest relies on: no class is nested deeper than [`DEEPEST`], so that
//! walking one recursively is safe.

use std::rc::Rc;

use super::Fault;
use crate::layout::{
    ByteOrder, ClockLayout, Encoding, EnumerationLabel, EnvironmentValue, FloatLayout,
    IntegerMeaning, Role,
};
use slowpath_model::DisplayBase;

/// How deep classes may be nested. LTTng nests six deep.
pub(super) const DEEPEST: u32 = 64;

/// Which language it was written in; decides what names mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// TSDL of CTF 1.8.
    Tsdl,
    /// JSON of CTF 2.
    Json,
}

/// A trace as written.
#[derive(Debug)]
pub(super) struct DraftTrace {
    pub(super) language: Language,
    pub(super) uuid: Option<[u8; 16]>,
    pub(super) name: Option<String>,
    pub(super) environment: Vec<(String, EnvironmentValue)>,
    pub(super) clocks: Vec<ClockLayout>,
    /// What `native` means.
    pub(super) byte_order: ByteOrder,
    pub(super) packet_header: Option<Rc<Draft>>,
    pub(super) streams: Vec<DraftStream>,
    pub(super) events: Vec<DraftEvent>,
}

/// A stream class as written.
#[derive(Debug, Default)]
pub(super) struct DraftStream {
    pub(super) at: usize,
    pub(super) id: Option<u64>,
    pub(super) name: Option<String>,
    /// The clock that it names itself (CTF 2).
    pub(super) clock: Option<usize>,
    pub(super) packet_context: Option<Rc<Draft>>,
    pub(super) event_header: Option<Rc<Draft>>,
    pub(super) common_context: Option<Rc<Draft>>,
}

/// An event class as written.
#[derive(Debug, Default)]
pub(super) struct DraftEvent {
    pub(super) at: usize,
    pub(super) stream_id: Option<u64>,
    pub(super) id: Option<u64>,
    pub(super) name: String,
    pub(super) log_level: Option<i64>,
    pub(super) emf_uri: Option<String>,
    pub(super) specific_context: Option<Rc<Draft>>,
    pub(super) payload: Option<Rc<Draft>>,
}

/// A field class as written.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// Where in the text.
    pub(super) at: usize,
    pub(super) class: DraftClass,
    depth: u32,
}

#[derive(Clone, Debug)]
pub(super) enum DraftClass {
    Integer(DraftInteger),
    VariableInteger {
        signed: bool,
        base: DisplayBase,
        labels: Option<Vec<EnumerationLabel>>,
        roles: Vec<Role>,
    },
    /// `byte_order` of the layout counts only if the one beside it is stated.
    Float {
        layout: FloatLayout,
        byte_order: Option<ByteOrder>,
    },
    /// Up to a terminator where there is no length.
    Text {
        length: Option<Length>,
        encoding: Encoding,
    },
    Blob {
        length: Length,
        roles: Vec<Role>,
    },
    Array {
        length: Length,
        element: Rc<Draft>,
        alignment: u64,
    },
    Structure {
        members: Rc<[DraftMember]>,
        alignment: u64,
    },
    Variant {
        selector: Option<Reference>,
        options: Rc<[DraftOption]>,
    },
    Optional {
        selector: Reference,
        /// Stated unless the selector is a boolean.
        ranges: Option<Vec<(i128, i128)>>,
        class: Rc<Draft>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct DraftInteger {
    pub(super) bits: u32,
    pub(super) signed: bool,
    /// None for the trace's own.
    pub(super) byte_order: Option<ByteOrder>,
    pub(super) reversed_bits: bool,
    pub(super) alignment: u64,
    pub(super) base: DisplayBase,
    pub(super) meaning: IntegerMeaning,
    /// The clock that TSDL maps it to.
    pub(super) clock: Option<String>,
    /// Whether it is a character (TSDL's `encoding`).
    pub(super) character: bool,
    pub(super) roles: Vec<Role>,
}

/// A member of a structure; TSDL's escaping underscore is still there.
#[derive(Clone, Debug)]
pub(super) struct DraftMember {
    pub(super) name: String,
    pub(super) class: Rc<Draft>,
}

/// An option of a variant.
#[derive(Clone, Debug)]
pub(super) struct DraftOption {
    pub(super) name: String,
    /// None where the selector's labels say (TSDL).
    pub(super) ranges: Option<Vec<(i128, i128)>>,
    pub(super) class: Rc<Draft>,
}

/// How long an array, text or blob is.
#[derive(Clone, Debug)]
pub(super) enum Length {
    Static(u64),
    Dynamic(Reference),
}

/// A field named by another.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    pub(super) at: usize,
    pub(super) origin: Origin,
    /// Names of members (TSDL: and of options) to follow.
    pub(super) steps: Vec<String>,
}

/// Where following a reference begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The innermost structure around, then outward until found (TSDL).
    Outward,
    /// So many structures out from the innermost around (CTF 2).
    Enclosing(usize),
    /// A part of the packet or event.
    Part(Part),
    /// The environment (TSDL).
    Environment,
}

/// A part of a packet or event, in the order of decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    PacketHeader,
    PacketContext,
    EventHeader,
    CommonContext,
    SpecificContext,
    Payload,
}

impl Draft {
    /// A class at a place of the text.
    pub(super) fn new(at: usize, class: DraftClass) -> Result<Rc<Self>, Fault> {
        let inner = match &class {
            DraftClass::Array { element, .. } => element.depth,
            DraftClass::Optional { class, .. } => class.depth,
            DraftClass::Structure { members, .. } => members
                .iter()
                .map(|member| member.class.depth)
                .max()
                .unwrap_or(0),
            DraftClass::Variant { options, .. } => options
                .iter()
                .map(|option| option.class.depth)
                .max()
                .unwrap_or(0),
            _ => 0,
        };
        if inner >= DEEPEST {
            return Err(Fault::new(
                at,
                format!("classes are nested more than {DEEPEST} deep"),
            ));
        }
        Ok(Rc::new(Self {
            at,
            class,
            depth: inner + 1,
        }))
    }

    /// A variant that was declared without its selector (TSDL), or with another one.
    pub(super) fn selected_by(&self, at: usize, selector: Reference) -> Rc<Self> {
        let class = match &self.class {
            DraftClass::Variant { options, .. } => DraftClass::Variant {
                selector: Some(selector),
                options: Rc::clone(options),
            },
            other => other.clone(),
        };
        Rc::new(Self {
            at,
            class,
            depth: self.depth,
        })
    }

    /// The same for a pointer (TSDL): people read those in hexadecimal, whatever the number behind says.
    pub(super) fn as_pointer(&self) -> Rc<Self> {
        let mut pointer = self.clone();
        if let DraftClass::Integer(integer) = &mut pointer.class
            && integer.meaning == IntegerMeaning::Number
        {
            integer.base = DisplayBase::Hexadecimal;
        }
        Rc::new(pointer)
    }
}

impl Reference {
    /// The reference as TSDL writes it, for messages.
    pub(super) fn shown(&self) -> String {
        format!("`{}`", self.steps.join("."))
    }
}

/// An alignment: a power of two that leaves room for positions in bits.
pub(super) fn alignment(at: usize, bits: i128) -> Result<u64, Fault> {
    match u64::try_from(bits) {
        Ok(bits) if bits.is_power_of_two() && bits <= 1 << 32 => Ok(bits),
        _ => Err(Fault::new(
            at,
            format!("expected an alignment (a power of two, in bits), found {bits}"),
        )),
    }
}

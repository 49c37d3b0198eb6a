//! Decode plans against the walker: for random layouts and projections, and for real traces, both
//! see the same events and the same values.
//!
//! Random layouts are written out as TSDL with a packet of random values; the failure message of a
//! case is that text. The shared traces are found through `SLOWPATH_TRACES` and skipped, visibly,
//! where they are not.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use slowpath_model::{Event, EventClassId, FieldId, PacketId, Projection, Slot, Timestamp};
use slowpath_read_ctf::{CtfTrace, StreamFile};
use slowpath_source::{NamedBytes, Source};
use support::understood;
use support::walked::{Value, Walked, assert_same};

/// A field of a random layout.
#[derive(Clone, Debug)]
enum Shape {
    Integer {
        bits: u32,
        signed: bool,
        align: u64,
    },
    Float {
        bits: u32,
        align: u64,
    },
    Text,
    /// `uint8_t NAME[n]`.
    Bytes(u64),
    /// A length and a sequence of 16-bit numbers.
    Words,
    /// A length and a sequence of 4-bit numbers.
    Nibbles,
    /// A length, a 3-bit number, and a sequence of bytes right behind it: at no byte's place.
    PackedBytes,
    /// A tag and a variant of a 5-bit number, a string, and a structure.
    Choice,
    /// As many bytes as the event header's `id` says.
    BytesByHeader,
    Structure(Vec<Shape>),
}

fn shape() -> impl Strategy<Value = Shape> {
    let packed = (1..=64u32, any::<bool>(), 0..=1u32);
    let packed = packed.prop_map(|(bits, signed, align)| Shape::Integer {
        bits,
        signed,
        align: 1 << (align * 3),
    });
    let whole = (0..=3u32, any::<bool>(), any::<bool>());
    let whole = whole.prop_map(|(size, signed, natural)| Shape::Integer {
        bits: 8 << size,
        signed,
        align: if natural { 8 << size } else { 8 },
    });
    let float = (1..=2u32, any::<bool>()).prop_map(|(size, natural)| Shape::Float {
        bits: 32 * size,
        align: if natural { 32 * u64::from(size) } else { 8 },
    });
    let flat = prop_oneof![
        4 => whole,
        3 => packed,
        1 => float,
        1 => Just(Shape::Text),
        1 => prop_oneof![0..20u64, 200..300u64].prop_map(Shape::Bytes),
        1 => Just(Shape::Words),
        1 => Just(Shape::Nibbles),
        1 => Just(Shape::PackedBytes),
        1 => Just(Shape::Choice),
    ];
    let nested = prop::collection::vec(flat.clone(), 0..4).prop_map(Shape::Structure);
    prop_oneof![9 => flat, 1 => nested]
}

/// The event headers that tracers write, and two that none does.
const HEADERS: [&str; 5] = [
    "struct { enum : integer { size = 5; } { compact = 0 ... 30, extended = 31 } id; variant <id> {
        struct { integer { size = 27; map = clock.mono.value; } timestamp; } compact;
        struct { integer { size = 32; align = 8; } id;
            integer { size = 64; align = 8; map = clock.mono.value; } timestamp; } extended;
        } v; } align(8)",
    "struct { integer { size = 16; align = 8; } id;
        integer { size = 64; align = 8; map = clock.mono.value; } timestamp; }",
    "struct { integer { size = 3; } id; integer { size = 17; map = clock.mono.value; } timestamp; }",
    "struct { integer { size = 64; align = 64; map = clock.mono.value; } timestamp;
        integer { size = 8; } id; }",
    "struct { enum : integer { size = 16; align = 8; } { compact = 0 ... 65534, extended = 65535 } id; variant <id> {
        struct { integer { size = 32; align = 8; map = clock.mono.value; } timestamp; } compact;
        struct { integer { size = 32; align = 8; } id;
            integer { size = 64; align = 8; map = clock.mono.value; } timestamp; } extended;
        } v; } align(8)",
];

/// A trace of one packet.
#[derive(Clone, Debug)]
struct Case {
    big_endian: bool,
    /// Position in [`HEADERS`].
    header: usize,
    context: Vec<Shape>,
    events: Vec<Vec<Shape>>,
    /// What the random values and projections come from.
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let shapes = |most| prop::collection::vec(shape(), 0..most);
    let events = prop::collection::vec(shapes(8), 1..4);
    (
        any::<bool>(),
        0..HEADERS.len(),
        shapes(3),
        events,
        any::<u64>(),
    )
        .prop_map(|(big_endian, header, context, events, seed)| Case {
            big_endian,
            header,
            context,
            events,
            seed: seed | 1,
        })
}

/// Numbers without a pattern (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 8) % limit
    }
}

/// Writes fields bit by bit, by the book (CTF 1.8 §4.1.5).
#[derive(Default)]
struct Writer {
    big_endian: bool,
    bytes: Vec<u8>,
    at: u64,
    /// What the latest event header has as `id`.
    header_id: u64,
}

impl Writer {
    fn align(&mut self, alignment: u64) {
        self.at = self.at.next_multiple_of(alignment);
        self.bytes.resize(self.at.div_ceil(8) as usize, 0);
    }

    fn number(&mut self, value: u64, bits: u32, alignment: u64) {
        self.align(alignment);
        for position in 0..bits {
            let bit = match self.big_endian {
                true => bits - 1 - position,
                false => position,
            };
            let (byte, place) = (self.at / 8, (self.at % 8) as u32);
            self.bytes.resize(byte as usize + 1, 0);
            let place = if self.big_endian { 7 - place } else { place };
            self.bytes[byte as usize] |= ((value >> bit & 1) as u8) << place;
            self.at += 1;
        }
    }

    fn text(&mut self, text: &[u8]) {
        self.align(8);
        for &byte in text.iter().chain(&[0]) {
            self.number(byte.into(), 8, 8);
        }
    }
}

fn alignment(shape: &Shape) -> u64 {
    match shape {
        Shape::Integer { align, .. } | Shape::Float { align, .. } => *align,
        Shape::Text | Shape::Bytes(_) | Shape::BytesByHeader => 8,
        Shape::Words | Shape::Nibbles | Shape::PackedBytes | Shape::Choice => 8,
        Shape::Structure(members) => members.iter().map(alignment).max().unwrap_or(1),
    }
}

fn tsdl(shapes: &[Shape]) -> String {
    let mut text = String::from("struct { ");
    for (number, shape) in shapes.iter().enumerate() {
        match shape {
            Shape::Integer { bits, signed, align } => write!(
                text,
                "integer {{ size = {bits}; signed = {signed}; align = {align}; }} f{number}; "
            ),
            Shape::Float { bits, align } => {
                let exponent = if *bits == 32 { 8 } else { 11 };
                let mantissa = bits - exponent;
                write!(text, "floating_point {{ exp_dig = {exponent}; mant_dig = {mantissa}; align = {align}; }} f{number}; ")
            }
            Shape::Text => write!(text, "string f{number}; "),
            Shape::Bytes(length) => write!(text, "integer {{ size = 8; }} f{number}[{length}]; "),
            Shape::Words => write!(text, "integer {{ size = 8; }} n{number}; integer {{ size = 16; align = 8; }} f{number}[n{number}]; "),
            Shape::Nibbles => write!(text, "integer {{ size = 8; }} n{number}; integer {{ size = 4; }} f{number}[n{number}]; "),
            Shape::PackedBytes => write!(text, "integer {{ size = 8; }} n{number}; integer {{ size = 3; }} p{number}; integer {{ size = 8; align = 1; }} f{number}[n{number}]; "),
            Shape::Choice => write!(text, "enum : integer {{ size = 8; }} {{ A, B, C }} t{number}; variant <t{number}> {{ integer {{ size = 5; }} A; string B; struct {{ integer {{ size = 8; }} x; integer {{ size = 64; align = 32; }} y; }} C; }} f{number}; "),
            Shape::BytesByHeader => write!(text, "integer {{ size = 8; }} f{number}[stream.event.header.id]; "),
            Shape::Structure(members) => write!(text, "{} f{number}; ", tsdl(members)),
        }
        .expect("text grows");
    }
    text + "}"
}

/// Writes random values, and notes what a reader should find under which name.
fn fill(
    writer: &mut Writer,
    shapes: &[Shape],
    random: &mut Random,
    prefix: &str,
    note: &mut dyn FnMut(String, Value),
) {
    writer.align(shapes.iter().map(alignment).max().unwrap_or(1));
    for (number, shape) in shapes.iter().enumerate() {
        let name = format!("{prefix}f{number}");
        match shape {
            Shape::Integer {
                bits,
                signed,
                align,
            } => {
                let value = random.next() >> (64 - bits);
                writer.number(value, *bits, *align);
                let unused = 64 - bits;
                let value = match signed {
                    true => ((value << unused) as i64 >> unused) as u64,
                    false => value,
                };
                note(name, Value::Number(value));
            }
            Shape::Float { bits: 32, align } => {
                let value = random.below(1000) as f32 / 8.0;
                writer.number(value.to_bits().into(), 32, *align);
                note(name, Value::Number(f64::from(value).to_bits()));
            }
            Shape::Float { align, .. } => {
                let value = random.below(1000) as f64 / 8.0;
                writer.number(value.to_bits(), 64, *align);
                note(name, Value::Number(value.to_bits()));
            }
            Shape::Text => {
                let text = random_text(random);
                writer.text(&text);
                note(name, Value::Text(text));
            }
            Shape::Bytes(_) | Shape::BytesByHeader => {
                let length = match shape {
                    Shape::Bytes(length) => *length,
                    _ => writer.header_id,
                };
                writer.align(8);
                let mut elements = Vec::new();
                for _ in 0..length {
                    let value = random.below(256);
                    writer.number(value, 8, 8);
                    elements.push((value, 8));
                }
                note(name, Value::Elements(elements));
            }
            Shape::Words | Shape::Nibbles | Shape::PackedBytes => {
                let length = random.below(5);
                writer.number(length, 8, 8);
                note(format!("{prefix}n{number}"), Value::Number(length));
                let (bits, alignment) = match shape {
                    Shape::Words => (16, 8),
                    Shape::PackedBytes => (8, 1),
                    _ => (4, 1),
                };
                if let Shape::PackedBytes = shape {
                    let value = random.below(8);
                    writer.number(value, 3, 1);
                    note(format!("{prefix}p{number}"), Value::Number(value));
                }
                let mut elements = Vec::new();
                for _ in 0..length {
                    let value = random.below(1 << bits);
                    writer.number(value, bits, alignment);
                    elements.push((value, bits));
                }
                note(name, Value::Elements(elements));
            }
            Shape::Choice => {
                let tag = random.below(3);
                writer.number(tag, 8, 8);
                note(format!("{prefix}t{number}"), Value::Number(tag));
                match tag {
                    0 => {
                        let value = random.below(32);
                        writer.number(value, 5, 1);
                        note(format!("{name}.A"), Value::Number(value));
                    }
                    1 => {
                        let text = random_text(random);
                        writer.text(&text);
                        note(format!("{name}.B"), Value::Text(text));
                    }
                    _ => {
                        let (x, y) = (random.below(256), random.next());
                        writer.align(32);
                        writer.number(x, 8, 8);
                        writer.number(y, 64, 32);
                        note(format!("{name}.C.x"), Value::Number(x));
                        note(format!("{name}.C.y"), Value::Number(y));
                    }
                }
            }
            Shape::Structure(members) => {
                fill(writer, members, random, &format!("{name}."), note);
            }
        }
    }
}

fn random_text(random: &mut Random) -> Vec<u8> {
    let length = random.below(20);
    (0..length).map(|_| b'a' + random.below(26) as u8).collect()
}

/// An event as it was written.
struct Written {
    class: EventClassId,
    at: u64,
    values: BTreeMap<(String, String), Value>,
    /// The bit behind it.
    end: u64,
}

/// The bit at which the packet states the size of its content.
const CONTENT_SIZE_BIT: u64 = 32;

impl Case {
    fn metadata(&self) -> String {
        let order = if self.big_endian { "be" } else { "le" };
        let mut text = format!(
            "/* CTF 1.8 */
            trace {{ major = 1; minor = 8; byte_order = {order};
                packet.header := struct {{ integer {{ size = 32; align = 8; }} magic; }}; }};
            clock {{ name = mono; freq = 1000000000; }};
            stream {{
                packet.context := struct {{ integer {{ size = 32; align = 8; }} content_size, packet_size;
                    integer {{ size = 64; align = 8; }} timestamp_begin, timestamp_end; }};
                event.header := {};
                event.context := {};
            }};\n",
            HEADERS[self.header],
            tsdl(&self.context)
        );
        for (id, fields) in self.events.iter().enumerate() {
            let fields = tsdl(fields);
            writeln!(
                text,
                "event {{ name = e{id}; id = {id}; fields := {fields}; }};"
            )
            .expect("text grows");
        }
        text
    }

    /// The bytes of a packet, its content's size in bits, and its events.
    fn packet(&self) -> (Vec<u8>, u64, Vec<Written>) {
        let mut random = Random(self.seed);
        let mut writer = Writer {
            big_endian: self.big_endian,
            ..Writer::default()
        };
        // The lower bits of the clock wrap soon, however many a header has.
        let mut at = (1 << 32) - random.below(5000);
        for (value, bits) in [(0xc1fc_1fc1, 32), (0, 32), (0, 32), (at, 64), (1 << 40, 64)] {
            writer.number(value, bits, 8);
        }
        let mut events = Vec::new();
        for _ in 0..20 {
            at += random.below(1000) * random.below(2);
            let class = random.below(self.events.len() as u64);
            self.header(&mut writer, class, at, &mut random);
            let mut values = BTreeMap::new();
            for (scope, shapes) in [
                ("CommonContext", &self.context),
                ("Payload", &self.events[class as usize]),
            ] {
                let mut note = |name, value| {
                    values.insert((scope.to_owned(), name), value);
                };
                fill(&mut writer, shapes, &mut random, "", &mut note);
            }
            events.push(Written {
                class: EventClassId(class as u32),
                at,
                values,
                end: writer.at,
            });
        }
        let content = writer.at;
        // What lies behind the content belongs to no event.
        writer.align(8);
        let most = [12, 400][random.below(2) as usize];
        for _ in 0..random.below(most) {
            writer.number(0xff, 8, 8);
        }
        let size = writer.bytes.len() as u64 * 8;
        let mut bytes = writer.bytes;
        self.state(&mut bytes, CONTENT_SIZE_BIT, content);
        self.state(&mut bytes, CONTENT_SIZE_BIT + 32, size);
        (bytes, content, events)
    }

    /// Overwrites the 32 bits at `bit`.
    fn state(&self, bytes: &mut [u8], bit: u64, value: u64) {
        let value = value as u32;
        let value = match self.big_endian {
            true => value.to_be_bytes(),
            false => value.to_le_bytes(),
        };
        bytes[bit as usize / 8..][..4].copy_from_slice(&value);
    }

    fn header(&self, writer: &mut Writer, class: u64, at: u64, random: &mut Random) {
        writer.header_id = class;
        match self.header {
            0 if random.below(3) > 0 => {
                writer.number(class, 5, 8);
                writer.number(at, 27, 1);
            }
            0 => {
                writer.header_id = 31;
                writer.number(31, 5, 8);
                writer.number(class, 32, 8);
                writer.number(at, 64, 8);
            }
            1 => {
                writer.number(class, 16, 8);
                writer.number(at, 64, 8);
            }
            2 => {
                writer.number(class, 3, 1);
                writer.number(at, 17, 1);
            }
            4 if random.below(3) > 0 => {
                writer.number(class, 16, 8);
                writer.number(at, 32, 8);
            }
            4 => {
                writer.header_id = 0xffff;
                writer.number(0xffff, 16, 8);
                writer.number(class, 32, 8);
                writer.number(at, 64, 8);
            }
            _ => {
                writer.number(at, 64, 64);
                writer.number(class, 8, 8);
            }
        }
    }
}

fn open(metadata: &str, bytes: Vec<u8>) -> CtfTrace {
    let file = StreamFile {
        stream: NamedBytes::new("stream", bytes),
        index: None,
        is_cut_off: false,
    };
    CtfTrace::new(understood(metadata).layout, vec![file])
}

/// Wants some events and some of their fields: in any order, some twice, some slots empty.
fn any_projection(source: &dyn Source, random: &mut Random) -> Projection {
    let schema = source.schema();
    let mut projection = Projection::nothing(schema.event_classes.len());
    for (id, class) in schema.classes() {
        let fields = class.fields.len() as u64;
        if random.below(4) > 0 {
            let slots = random.below(2 * fields.min(12) + 1);
            let field = |_| match random.below(fields + 1) {
                position if position < fields => Some(FieldId(position as u16)),
                _ => None,
            };
            projection.want(id, (0..slots).map(field).collect());
        }
    }
    projection
}

/// Decodes one packet; each event must have the values that the walker finds in it. Returns class,
/// time and position of each.
fn decode_and_walk(
    source: &dyn Source,
    packet: PacketId,
    projection: &Projection,
) -> Vec<(EventClassId, Timestamp, u64)> {
    let mut events = Vec::new();
    let decoder = source.decoder(projection);
    decoder.decode(packet, &mut |event: &Event<'_>| {
        let mut walked = Walked::default();
        source.visit(packet, event.position, &mut walked);
        let class = &source.schema().event_classes[event.class.index()];
        let fields = projection.fields(event.class).expect("a wanted event");
        assert_eq!(event.values.len(), fields.len());
        for (slot, field) in (0..).map(Slot).zip(fields) {
            match field {
                Some(field) => {
                    let field = &class.fields[field.index()];
                    assert_same(event, slot, field, walked.value(field));
                }
                None => {
                    assert!(!event.has(slot), "slot {slot:?} was not asked for");
                    assert_eq!(event.unsigned(slot), 0, "slot {slot:?} was not asked for");
                }
            }
        }
        events.push((event.class, event.at, event.position));
    });
    events
}

/// Decodes one packet with everything and with several random projections. Returns class, time and
/// position of each event.
fn check_packet(
    source: &dyn Source,
    packet: PacketId,
    random: &mut Random,
) -> Vec<(EventClassId, Timestamp, u64)> {
    let everything = Projection::everything(source.schema());
    let all = decode_and_walk(source, packet, &everything);
    let mut counted = 0;
    let mut count = |_, more| counted += more;
    source.decoder(&everything).tally(packet, &mut count);
    assert_eq!(counted, all.len() as u64);
    for _ in 0..3 {
        let projection = any_projection(source, random);
        let mut wanted = all.clone();
        wanted.retain(|&(class, ..)| projection.fields(class).is_some());
        assert_eq!(decode_and_walk(source, packet, &projection), wanted);
    }
    all
}

/// Decodes what a case writes, whole and cut.
fn check_case(case: &Case) {
    let metadata = case.metadata();
    let (bytes, content, written) = case.packet();
    let trace = open(&metadata, bytes.clone());
    let mut random = Random(case.seed);
    let events = check_packet(&trace, PacketId(0), &mut random);
    assert_eq!(events.len(), written.len(), "{metadata}");
    for ((class, at, position), written) in events.iter().zip(&written) {
        let found = (class, at.ns() as u64);
        assert_eq!(found, (&written.class, written.at), "{metadata}");
        let mut walked = Walked::default();
        trace.visit(PacketId(0), *position, &mut walked);
        assert_eq!(walked.values, written.values, "{metadata}");
    }

    // Content that ends anywhere: the events before that are the same.
    let mut cut = bytes;
    let begin = CONTENT_SIZE_BIT + 32 * 6;
    let content = begin + random.below(content - begin + 1);
    case.state(&mut cut, CONTENT_SIZE_BIT, content);
    let trace = open(&metadata, cut);
    let present = written.iter().filter(|event| event.end <= content).count();
    let found = check_packet(&trace, PacketId(0), &mut random);
    assert_eq!(found, &events[..present], "{metadata}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_layouts(case in case()) {
        check_case(&case);
    }
}

#[test]
fn fields_that_refer_to_the_header() {
    for header in 0..HEADERS.len() {
        check_case(&Case {
            big_endian: false,
            header,
            context: Vec::new(),
            events: vec![Vec::new(), Vec::new(), vec![Shape::BytesByHeader]],
            seed: 1,
        });
    }
}

/// The stream files of the trace in `folder`, without their indexes.
fn open_folder(folder: &Path) -> CtfTrace {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if path.is_file() && !name.starts_with("metadata") && !name.contains('.') {
            let bytes = fs::read(&path).expect("a stream");
            files.push(StreamFile {
                stream: NamedBytes::new(name, bytes),
                index: None,
                is_cut_off: false,
            });
        }
    }
    files.sort_by(|one, other| one.stream.name.cmp(&other.stream.name));
    let metadata = fs::read(folder.join("metadata")).expect("metadata");
    let metadata = slowpath_read_ctf::metadata::parse(&NamedBytes::new("metadata", metadata));
    CtfTrace::new(
        metadata.unwrap_or_else(|fault| panic!("{fault}")).layout,
        files,
    )
}

/// Checks some packets from all over the trace; returns how many events they have.
fn check_some_packets(trace: &CtfTrace, most: usize) -> usize {
    let mut random = Random(0x5eed);
    let step = trace.packets().len().div_ceil(most).max(1);
    let packets = trace.packets().iter().step_by(step);
    packets
        .map(|packet| check_packet(trace, packet.id, &mut random).len())
        .sum()
}

#[test]
fn recorded_by_lttng_ust() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/cpu-cgroup-ust");
    assert!(check_some_packets(&open_folder(&fixture), 20) > 100);
}

fn trace_folders(folder: &Path, found: &mut Vec<PathBuf>) {
    if folder.join("metadata").is_file() {
        found.push(folder.to_owned());
    }
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            trace_folders(&path, found);
        }
    }
}

#[test]
fn shared_traces() {
    let traces = std::env::var_os("SLOWPATH_TRACES").map(PathBuf::from);
    let traces = traces
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"));
    for archive in [
        "cpu-cgroup/cpu-cgroup.tar.zst",
        "futex-contention/futex-contention.tar.zst",
        "redis-kernel/redis-kernel.tar.zst",
        "tracecompass/CTF2-7.0-succeed1.tar.zst",
        "tracecompass/CTF2-vl-ints.tar.zst",
        "tracecompass/funky_trace.tar.zst",
    ] {
        let archive = traces.join(archive);
        let Ok(packed) = fs::File::open(&archive) else {
            // Nothing can be done where standard error is closed.
            let _ = writeln!(
                std::io::stderr(),
                "skipped: {} is missing; set SLOWPATH_TRACES",
                archive.display()
            );
            continue;
        };
        let target = tempfile::tempdir().expect("a temporary folder");
        let tar = target.path().join("archive.tar");
        fs::write(&tar, zstd::decode_all(packed).expect("zstd")).expect("room");
        let mut extract = Command::new("tar");
        let extract = extract.arg("-xf").arg(&tar).arg("-C").arg(target.path());
        assert!(extract.status().expect("tar runs").success());
        let mut folders = Vec::new();
        trace_folders(target.path(), &mut folders);
        assert!(!folders.is_empty());
        for folder in folders {
            let events = check_some_packets(&open_folder(&folder), 6);
            assert!(events > 0, "{}", folder.display());
        }
    }
}

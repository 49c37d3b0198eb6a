//! Stream files that are cut, damaged, foreign, or no streams at all: which packets are read, and
//! what is said about the others.
//!
//! Packets are made by hand from one small layout; damage is done to their bytes. No event payload
//! is looked at here, only how many events arrive.

mod support;

use slowpath_model::{Event, PacketId, Projection, Severity};
use slowpath_read_ctf::{CtfTrace, StreamFile};
use slowpath_source::{NamedBytes, Source};
use support::understood;

const UUID: &str = "00010203-0405-0607-0809-0a0b0c0d0e0f";

/// Packets with a magic number, a UUID, a stream class, times and sizes; events of one byte.
fn layout(uuid: &str) -> String {
    format!(
        r#"/* CTF 1.8 */
        typealias integer {{ size = 8; align = 8; signed = false; }} := u8;
        typealias integer {{ size = 32; align = 8; signed = false; }} := u32;
        trace {{
            major = 1; minor = 8; byte_order = le; uuid = "{uuid}";
            packet.header := struct {{ u32 magic; u8 uuid[16]; u8 stream_id; }};
        }};
        env {{ tracer_name = "by-hand"; }};
        clock {{ name = cycles; freq = 1000000000; }};
        typealias integer {{ size = 32; align = 8; map = clock.cycles.value; }} := time;
        stream {{
            id = 0;
            packet.context := struct {{
                time timestamp_begin; time timestamp_end; u32 content_size; u32 packet_size;
            }};
            event.header := struct {{ u8 id; }};
        }};
        event {{ id = 7; name = "tick"; stream_id = 0; }};"#
    )
}

const HEADER_BYTES: usize = 37;
const PACKET_BYTES: usize = 64;

/// A packet that begins at `begin` and has three events.
fn packet(begin: u32) -> Vec<u8> {
    let mut bytes = 0xc1fc_1fc1_u32.to_le_bytes().to_vec();
    bytes.extend(0..16);
    bytes.push(0);
    let content_bits = (HEADER_BYTES as u32 + 3) * 8;
    for number in [begin, begin + 5, content_bits, PACKET_BYTES as u32 * 8] {
        bytes.extend(number.to_le_bytes());
    }
    assert_eq!(bytes.len(), HEADER_BYTES);
    bytes.extend([7, 7, 7]);
    bytes.resize(PACKET_BYTES, 0);
    bytes
}

/// Packets that begin at 10, 20, ...
fn packets(count: u32) -> Vec<u8> {
    (1..=count).flat_map(|n| packet(n * 10)).collect()
}

/// The index of [`packets`].
fn index(count: u32) -> Vec<u8> {
    let mut bytes: Vec<u8> = [0xc1f1_dcc1_u32, 1, 0, 56]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect();
    for n in 1..=u64::from(count) {
        let size = PACKET_BYTES as u64;
        let content = (HEADER_BYTES as u64 + 3) * 8;
        let entry = [(n - 1) * size, size * 8, content, n * 10, n * 10 + 5, 0, 0];
        bytes.extend(entry.iter().flat_map(|number| number.to_be_bytes()));
    }
    bytes
}

/// A stream file's name and content, and its index.
type File<'name> = (&'name str, Vec<u8>, Option<Vec<u8>>);

fn open(text: &str, files: Vec<File<'_>>) -> CtfTrace {
    let files = files.into_iter().map(|(name, stream, index)| StreamFile {
        stream: NamedBytes::new(name, stream),
        index: index.map(|index| NamedBytes::new(format!("{name}.idx"), index)),
        is_cut_off: false,
    });
    CtfTrace::new(understood(text).layout, files.collect())
}

/// What a trace gives: when the packets begin and how many events each has, then its diagnostics.
fn shown(trace: &CtfTrace) -> String {
    let decoder = trace.decoder(&Projection::every_event(trace.schema().event_classes.len()));
    let mut text = String::new();
    for position in 0..trace.packets().len() as u32 {
        let mut events = 0;
        let mut count = |_: &Event<'_>| events += 1;
        let damage = decoder.decode(PacketId(position), &mut count);
        assert_eq!(damage, [], "packet {position}");
        let begin = trace.packets()[position as usize].range.begin.ns();
        text += &format!("{begin}:{events} ");
    }
    for found in trace.diagnostics() {
        let severity = match found.code.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let count = found.count.map(|count| format!(" x{count}"));
        text += &format!(
            "\n{severity} {} {}{}",
            found.code.name(),
            found.place,
            count.unwrap_or_default()
        );
    }
    text
}

/// One stream file `s` of the layout above.
fn check(stream: Vec<u8>, index: Option<Vec<u8>>, expected: &str) {
    assert_eq!(
        shown(&open(&layout(UUID), vec![("s", stream, index)])),
        expected
    );
}

#[test]
fn whole_streams_with_and_without_an_index() {
    check(packets(3), None, "10:3 20:3 30:3 ");
    check(packets(3), Some(index(3)), "10:3 20:3 30:3 ");
    check(Vec::new(), None, "");
    check(Vec::new(), Some(index(0)), "");
}

#[test]
fn a_stream_that_ends_before_its_index_is_damaged() {
    check(
        packets(2),
        Some(index(5)),
        "10:3 20:3 \nerror MissingPackets s at byte 128 x3",
    );
    check(
        Vec::new(),
        Some(index(5)),
        "\nerror MissingPackets s at byte 0 x5",
    );
    let within = packets(3)[..2 * PACKET_BYTES + 50].to_vec();
    check(
        within.clone(),
        Some(index(5)),
        "10:3 20:3 30:3 \nerror TruncatedPacket s at byte 128\nerror MissingPackets s at byte 178 x2",
    );
    check(
        within,
        Some(index(3)),
        "10:3 20:3 30:3 \nerror TruncatedPacket s at byte 128",
    );
}

#[test]
fn a_stream_cut_within_a_packets_header_says_so_once() {
    let stream = packets(3)[..2 * PACKET_BYTES + 20].to_vec();
    check(
        stream,
        Some(index(3)),
        "10:3 20:3 \nerror InvalidPacket s at byte 128",
    );
}

#[test]
fn an_index_that_does_not_fit_is_not_believed() {
    let warning = "10:3 20:3 \nwarning InvalidIndex s.idx";
    check(packets(2), Some(index(1)), warning);
    check(packets(2), Some(b"nonsense".to_vec()), warning);
    let mut other_times = index(5);
    other_times[16 + 3 * 8 + 7] += 1;
    check(packets(2), Some(other_times), warning);
    let mut gap = index(5);
    gap[16 + 56 + 7] += 1;
    check(packets(2), Some(gap), warning);
}

#[test]
fn damage_is_seen_and_what_follows_it_is_read() {
    let damaged = |at: usize, byte: u8| {
        let mut stream = packets(4);
        stream[PACKET_BYTES + at] = byte;
        stream
    };
    let content_size = HEADER_BYTES - 8;
    for (stream, code) in [
        (damaged(0, 0), "InvalidPacket"),
        (damaged(4, 9), "ForeignStream"),
        (damaged(20, 9), "UnknownStreamClass"),
        (damaged(content_size, 8), "InvalidPacket"),
    ] {
        // A content of eight bits has a second byte.
        let mut stream = stream;
        if stream[PACKET_BYTES + content_size] == 8 {
            stream[PACKET_BYTES + content_size + 1] = 0;
        }
        let rest = format!("10:3 30:3 40:3 \nerror {code} s at byte 64");
        check(stream.clone(), None, &rest);
        check(stream, Some(index(4)), &rest);
    }
    // What is said of a magic number within a packet is no packet's.
    let mut stream = damaged(0, 0);
    stream[PACKET_BYTES + 10..2 * PACKET_BYTES].copy_from_slice(&packet(20)[..PACKET_BYTES - 10]);
    let rest = "10:3 30:3 40:3 \nerror InvalidPacket s at byte 64";
    check(stream, None, rest);
    // Nothing shows where packets begin that have no magic number.
    let without = layout(UUID).replace("u32 magic", "u32 nothing");
    let files = vec![("s", damaged(20, 9), None)];
    let rest = "10:3 \nerror UnknownStreamClass s at byte 64";
    assert_eq!(shown(&open(&without, files)), rest);
}

/// Writes a number into the packet at `position` of a stream, where its header has it.
fn overwrite(stream: &mut [u8], position: usize, at: usize, number: u32) {
    let at = position * PACKET_BYTES + at;
    stream[at..at + 4].copy_from_slice(&number.to_le_bytes());
}

const CONTENT_SIZE: usize = HEADER_BYTES - 8;
const PACKET_SIZE: usize = HEADER_BYTES - 4;

#[test]
fn packets_that_one_before_them_claims_are_read() {
    let whole = "10:3 20:3 30:3 40:3 50:3 ";
    let bits = PACKET_BYTES as u32 * 8;
    let rest = format!("{whole}\nerror InvalidPacket s at byte 64");
    // To where another begins, to nowhere, and behind the end.
    for size in [3 * bits, 2 * bits + 8, 1000 * bits] {
        let mut stream = packets(5);
        overwrite(&mut stream, 1, PACKET_SIZE, size);
        check(stream.clone(), Some(index(5)), &rest);
        check(stream, None, &rest);
    }
    // An index that claims more than there is.
    let mut other = index(4);
    other.truncate(16 + 56);
    other[16 + 14..16 + 16].copy_from_slice(&(2 * bits as u16).to_be_bytes());
    let warning = "10:3 20:3 \nwarning InvalidIndex s.idx";
    check(packets(2), Some(other), warning);
}

#[test]
fn events_behind_a_content_that_is_stated_too_small_are_read_by_the_index() {
    let mut stream = packets(3);
    overwrite(&mut stream, 1, CONTENT_SIZE, (HEADER_BYTES as u32 + 1) * 8);
    let rest = "10:3 20:3 30:3 \nerror InvalidPacket s at byte 64";
    check(stream.clone(), Some(index(3)), rest);
    check(stream, None, "10:3 20:1 30:3 ");
}

#[test]
fn missing_bytes_take_only_their_own_packets_events_along() {
    // The second packet's end is missing, and its size leads into the third.
    let mut stream = packets(5);
    stream.drain(2 * PACKET_BYTES - 20..2 * PACKET_BYTES);
    let rest = "10:3 20:3 30:3 40:3 50:3 \nerror InvalidPacket s at byte 64";
    check(stream.clone(), None, rest);
    check(stream, Some(index(5)), rest);
    let mut stream = packets(5);
    stream.drain(PACKET_BYTES + HEADER_BYTES + 1..2 * PACKET_BYTES);
    let rest = "10:3 20:1 30:3 40:3 50:3 \nerror TruncatedPacket s at byte 64";
    check(stream.clone(), None, rest);
    check(stream, Some(index(5)), rest);
}

#[test]
fn packets_between_damaged_ones_are_read_but_no_payload_that_looks_like_one() {
    let mut stream = packets(7);
    for position in [1, 3, 5] {
        overwrite(&mut stream, position, 0, 0);
    }
    let rest = "10:3 30:3 50:3 70:3 \nerror InvalidPacket s at byte 64\nerror InvalidPacket s at byte 192\n\
                error InvalidPacket s at byte 320";
    check(stream, None, rest);
    // Large numbers behind a magic number: it would be a packet of which most is missing.
    let mut stream = packets(4);
    overwrite(&mut stream, 1, 0, 0);
    let header = &packet(20)[..HEADER_BYTES];
    let at = PACKET_BYTES + 20;
    stream[at..at + HEADER_BYTES].copy_from_slice(header);
    stream[at + PACKET_SIZE..at + PACKET_SIZE + 4].copy_from_slice(&[8, 0xff, 0xff, 0xff]);
    let rest = "10:3 30:3 40:3 \nerror InvalidPacket s at byte 64";
    check(stream, None, rest);
}

#[test]
fn streams_of_another_trace_are_not_read() {
    let other = layout("ffffffff-0405-0607-0809-0a0b0c0d0e0f");
    let files = || vec![("a", packets(3), Some(index(3))), ("b", packets(3), None)];
    assert_eq!(
        shown(&open(&other, files())),
        "\nerror ForeignStream a at byte 0\nerror ForeignStream b at byte 0"
    );
    // Nothing to compare with, or no tracer that would have written it with care.
    let unstated = layout(UUID).replace(&format!("uuid = \"{UUID}\";"), "");
    let by_nobody = other.replace("tracer_name", "made");
    for text in [unstated, by_nobody] {
        let all = "10:3 20:3 30:3 10:3 20:3 30:3 ";
        assert_eq!(shown(&open(&text, files())), all);
    }
}

#[test]
fn text_beside_the_streams_is_no_damage() {
    let ignored = |text: &str| {
        let files = vec![
            ("README.txt", text.as_bytes().to_vec(), None),
            ("s", packets(1), None),
        ];
        assert_eq!(
            shown(&open(&layout(UUID), files)),
            "10:3 \nnote IgnoredFile README.txt"
        );
    };
    ignored("Recorded on a Tuesday.\n");
    ignored("{}");
    // The sample of the file that is looked at ends within a character.
    ignored(&format!("x{}", "ä".repeat(4000)));
    // Streams whose first packet is damaged stay visible, and so does text in a stream's place.
    let mut stream = packets(2);
    stream[0] = 0;
    check(stream, None, "20:3 \nerror InvalidPacket s at byte 0");
    check(vec![0; 4096], None, "\nerror InvalidPacket s at byte 0");
    check(
        b"Recorded on a Tuesday.\n".to_vec(),
        Some(index(0)),
        "\nerror InvalidPacket s at byte 0",
    );
}

#[test]
fn packets_are_listed_only_as_far_as_their_bytes_pay_for_them() {
    let tiny = r#"/* CTF 1.8 */
        typealias integer { size = 8; align = 8; signed = false; } := u8;
        trace { major = 1; minor = 8; byte_order = le; };
        stream { packet.context := struct { u8 packet_size; }; };
        event { name = "tick"; };"#;
    let open = |files: &[usize]| {
        let files = files.iter().map(|&size| ("s", vec![8; size], None));
        open(tiny, files.collect())
    };
    let few = open(&[5000, 5000]);
    assert_eq!((few.packets().len(), few.diagnostics().len()), (10_000, 0));
    let many = open(&[640_000, 640, 640_000]);
    // One for 64 bytes of each file, and 10 000 more for the whole trace.
    assert_eq!(many.packets().len(), 20_000 + 10 + 10_000);
    let codes: Vec<&str> = many
        .diagnostics()
        .iter()
        .map(|found| found.code.name())
        .collect();
    assert_eq!(codes, ["TooManyPackets"; 3]);
}

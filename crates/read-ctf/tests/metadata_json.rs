//! CTF 2 texts and the layouts that they mean; wrong texts and what is said about them.

mod support;

use slowpath_read_ctf::layout::EnvironmentValue;
use support::{fault, layout, notes, structure, understood};

const PREAMBLE: &str = "\u{1e}{\"type\": \"preamble\", \"version\": 2}\n";
const STREAM: &str = "\u{1e}{\"type\": \"data-stream-class\"}\n";

/// JSON that may be written with single quotes, for reading's sake.
fn json(text: &str) -> String {
    text.replace('\'', "\"")
}

/// An event whose payload has these members (the inside of a JSON object: names with classes).
fn event(members: &[(&str, &str)]) -> String {
    let member =
        |(name, class): &(&str, &str)| format!("{{'name': '{name}', 'field-class': {class}}}");
    let members: Vec<String> = members.iter().map(member).collect();
    let payload = format!(
        "{{'type': 'structure', 'member-classes': [{}]}}",
        members.join(",\n")
    );
    json(&format!(
        "\u{1e}{{'type': 'event-record-class', 'payload-field-class':\n{payload}}}\n"
    ))
}

fn check(members: &[(&str, &str)], expected: &str) {
    let text = PREAMBLE.to_owned() + STREAM + &event(members);
    let metadata = understood(&text);
    assert_eq!(notes(&metadata), [""; 0]);
    let payload = metadata.layout.streams[0].events[0]
        .payload
        .as_ref()
        .expect("a payload");
    assert_eq!(structure(payload), expected);
}

fn check_fault(members: &[(&str, &str)], expected: &str) {
    let text = PREAMBLE.to_owned() + STREAM + &event(members);
    assert_eq!(fault(&text), expected);
}

const U8: &str =
    "{'type': 'fixed-length-unsigned-integer', 'length': 8, 'byte-order': 'little-endian'}";
const VU: &str = "{'type': 'variable-length-unsigned-integer'}";
const TEXT: &str = "{'type': 'null-terminated-string'}";

#[test]
fn scalars() {
    let check_one =
        |class: &str, expected: &str| check(&[("a", class)], &format!("{{a: {expected}}}@1"));
    check_one(U8, "u8le@1");
    check_one(
        "{'type': 'fixed-length-signed-integer', 'length': 27, 'byte-order': 'big-endian', 'preferred-display-base': 16}",
        "i27be@1 hex",
    );
    check_one(
        "{'type': 'fixed-length-unsigned-integer', 'length': 3, 'byte-order': 'big-endian', 'bit-order': 'first-to-last'}",
        "u3be~@1",
    );
    check_one(
        "{'type': 'fixed-length-unsigned-integer', 'length': 3, 'byte-order': 'little-endian', 'bit-order': 'first-to-last'}",
        "u3le@1",
    );
    check_one(
        "{'type': 'fixed-length-boolean', 'length': 8, 'byte-order': 'little-endian'}",
        "u8le@1 bool",
    );
    check_one(
        "{'type': 'fixed-length-bit-array', 'length': 8, 'byte-order': 'little-endian'}",
        "u8le@1 bits[]",
    );
    check_one(
        "{'type': 'fixed-length-bit-map', 'length': 8, 'byte-order': 'big-endian', 'flags': {'z': [[7, 7]], 'a': [[0, 1], [3, 3]]}}",
        "u8be@1 bits[z(7) a(0..1 3)]",
    );
    check_one(
        "{'type': 'fixed-length-signed-integer', 'length': 8, 'byte-order': 'little-endian', 'mappings': {'low': [[-128, -1]], 'one': [[1, 1]]}}",
        "i8le@1 enum[low(-128..-1) one(1)]",
    );
    check_one(
        "{'type': 'fixed-length-floating-point-number', 'length': 16, 'byte-order': 'little-endian'}",
        "f16le@1",
    );
    let check_aligned = |class: &str, expected: &str| check(&[("a", class)], expected);
    check_aligned(
        "{'type': 'fixed-length-floating-point-number', 'length': 64, 'byte-order': 'big-endian', 'alignment': 64}",
        "{a: f64be@64}@64",
    );
    check_aligned(
        "{'type': 'variable-length-signed-integer', 'mappings': {'m': [[-5, 5]]}, 'preferred-display-base': 2}",
        "{a: vi bin enum[m(-5..5)]}@8",
    );
    check_aligned(TEXT, "{a: text}@8");
    check_aligned(
        "{'type': 'null-terminated-string', 'encoding': 'utf-16be'}",
        "{a: text utf16be}@8",
    );
    check_aligned(
        "{'type': 'static-length-string', 'length': 12, 'encoding': 'utf-32le'}",
        "{a: text[12] utf32le@8}@8",
    );
    check_aligned(
        "{'type': 'static-length-blob', 'length': 3, 'media-type': 'image/tiff'}",
        "{a: blob[3]}@8",
    );
}

#[test]
fn compounds() {
    let array = format!(
        "{{'type': 'static-length-array', 'length': 4, 'minimum-alignment': 32, 'element-field-class': {U8}}}"
    );
    check(&[("a", &array)], "{a: [4]@32 u8le@1}@32");
    let structure = format!(
        "{{'type': 'structure', 'minimum-alignment': 16, 'member-classes': [{{'name': '_x', 'field-class': {U8}}}]}}"
    );
    check(
        &[("s", &structure), ("empty", "{'type': 'structure'}")],
        "{s: {_x: u8le@1}@16, empty: {}@1}@16",
    );
    let sized = |kind: &str| {
        format!(
            "{{'type': 'dynamic-length-{kind}', 'length-field-location': {{'path': ['n']}}, 'element-field-class': {TEXT}}}"
        )
    };
    check(
        &[
            ("n", VU),
            ("a", &sized("array")),
            ("t", &sized("string")),
            ("b", &sized("blob")),
        ],
        "{n: vu ->r0, a: [r0]@8 text, t: text[r0]@8, b: blob[r0]}@8",
    );
}

#[test]
fn choices() {
    let variant = format!(
        "{{'type': 'variant', 'selector-field-location': {{'origin': 'event-record-payload', 'path': ['n']}},
          'options': [{{'selector-field-ranges': [[0, 3], [9, 9]], 'field-class': {U8}}},
                      {{'name': 'rest', 'selector-field-ranges': [[10, 255]], 'field-class': {TEXT}}}]}}"
    );
    check(
        &[("n", U8), ("v", &variant)],
        "{n: u8le@1 ->r0, v: <r0>{(0..3 9): u8le@1, rest(10..255): text}}@1",
    );
    let optional = |ranges: &str| {
        format!(
            "{{'type': 'optional', 'selector-field-location': {{'path': ['n']}}, {ranges} 'field-class': {TEXT}}}"
        )
    };
    let boolean = "{'type': 'fixed-length-boolean', 'length': 1, 'byte-order': 'little-endian'}";
    let signed = "{'type': 'variable-length-signed-integer'}";
    check(
        &[("n", boolean), ("o", &optional(""))],
        "{n: u1le@1 bool ->r0, o: ?r0(1..) text}@1",
    );
    check(
        &[
            ("n", signed),
            ("o", &optional("'selector-field-ranges': [[-2, -1]],")),
        ],
        "{n: vi ->r0, o: ?signed r0(-2..-1) text}@8",
    );
    check_fault(
        &[("n", VU), ("o", &optional(""))],
        "5:30: expected `selector-field-ranges`, as the selector is no boolean",
    );
    check_fault(
        &[("n", boolean), ("v", &variant)],
        "5:77: expected an integer as the selector of a variant, `n` is none",
    );
}

/// §5.3.1: without an origin a path begins in the structure around the field; null goes one out.
#[test]
fn locations() {
    let blob = |location: &str| {
        format!("{{'type': 'dynamic-length-blob', 'length-field-location': {location}}}")
    };
    let within = |members: &[(&str, &str)]| {
        let member =
            |(name, class): &(&str, &str)| format!("{{'name': '{name}', 'field-class': {class}}}");
        let members: Vec<String> = members.iter().map(member).collect();
        format!(
            "{{'type': 'structure', 'member-classes': [{}]}}",
            members.join(", ")
        )
    };
    let inner = within(&[
        ("n", VU),
        ("own", &blob("{'path': ['n']}")),
        ("outer", &blob("{'path': [null, 'n']}")),
        ("far", &blob("{'path': ['x', null, null, 's', 'm']}")),
    ]);
    check(
        &[("n", VU), ("s", &within(&[("m", VU)])), ("t", &inner)],
        "{n: vu ->r1, s: {m: vu ->r2}@8, t: {n: vu ->r0, own: blob[r0], outer: blob[r1], far: blob[r2]}@8}@8",
    );
    check_fault(
        &[("n", VU), ("b", &blob("{'path': ['m']}"))],
        "5:87: expected a field that is decoded before as a length, found `m`",
    );
    check_fault(
        &[("n", VU), ("b", &blob("{'path': [null, 'n']}"))],
        "5:87: expected a field that is decoded before as a length, found `n`",
    );
    check_fault(
        &[("n", VU), ("b", &blob("{'path': ['n', null]}"))],
        "5:87: expected a path that ends with the name of a member, found `{\"path\": [\"n\", null]}`",
    );
    check_fault(
        &[("n", TEXT), ("b", &blob("{'path': ['n']}"))],
        "5:87: expected an integer as a length, `n` is none",
    );
}

/// §6.4.2, examples 90 and 91: a path goes through whichever option is chosen, so all that may be
/// meant share a register, also where one was given its own before.
#[test]
fn locations_through_variants() {
    let blob = "{'type': 'dynamic-length-blob', 'length-field-location': {'origin': 'event-record-payload', 'path': ['glass', 'eagle']}}";
    let option = |value: u8, extra: &str| {
        format!(
            "{{'selector-field-ranges': [[{value}, {value}]], 'field-class': {{'type': 'structure', 'member-classes': [{{'name': 'eagle', 'field-class': {VU}}}{extra}]}}}}"
        )
    };
    let lock = format!(", {{'name': 'lock', 'field-class': {blob}}}");
    let variant = format!(
        "{{'type': 'variant', 'selector-field-location': {{'path': ['sel']}}, 'options': [{}, {}, {}]}}",
        option(0, &lock),
        option(1, ""),
        option(2, &lock)
    );
    check(
        &[("sel", VU), ("glass", &variant)],
        "{sel: vu ->r0, glass: <r0>{(0): {eagle: vu ->r1, lock: blob[r1]}@8, (1): {eagle: vu}@8, (2): {eagle: vu ->r2, lock: blob[r2]}@8}}@8",
    );
    check(
        &[("sel", VU), ("glass", &variant), ("margin", blob)],
        "{sel: vu ->r0, glass: <r0>{(0): {eagle: vu ->r1, lock: blob[r1]}@8, (1): {eagle: vu ->r1}@8, (2): {eagle: vu ->r1, lock: blob[r1]}@8}, margin: blob[r1]}@8",
    );
}

#[test]
fn a_whole_trace() {
    let text = json(
        "\u{1e}{'type': 'preamble', 'version': 2, 'uuid': [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,255], 'attributes': {'x': 1}}
\u{1e}{'type': 'field-class-alias', 'name': 'u8', 'field-class': {'type': 'fixed-length-unsigned-integer', 'length': 8, 'byte-order': 'big-endian', 'alignment': 8}}
\u{1e}{'type': 'field-class-alias', 'name': 'byte', 'field-class': 'u8'}
\u{1e}{'type': 'trace-class', 'name': 'mine', 'environment': {'z': 'text', 'a': -4},
       'packet-header-field-class': {'type': 'structure', 'member-classes': [
         {'name': 'm', 'field-class': {'type': 'fixed-length-unsigned-integer', 'length': 32, 'byte-order': 'big-endian', 'roles': ['packet-magic-number']}},
         {'name': 'u', 'field-class': {'type': 'static-length-blob', 'length': 16, 'roles': ['metadata-stream-uuid']}},
         {'name': 's', 'field-class': {'type': 'variable-length-unsigned-integer', 'roles': ['data-stream-class-id']}},
         {'name': 'i', 'field-class': {'type': 'variable-length-unsigned-integer', 'roles': ['data-stream-id']}}]}}
\u{1e}{'type': 'clock-class', 'id': 'c', 'name': 'n', 'frequency': 1000, 'origin': 'unix-epoch', 'offset-from-origin': {'seconds': -5, 'cycles': 7}}
\u{1e}{'type': 'data-stream-class', 'id': 3, 'name': 'st', 'default-clock-class-id': 'c',
       'packet-context-field-class': {'type': 'structure', 'member-classes': [
         {'name': 'p', 'field-class': {'type': 'variable-length-unsigned-integer', 'roles': ['packet-total-length']}},
         {'name': 'c', 'field-class': {'type': 'variable-length-unsigned-integer', 'roles': ['packet-content-length']}},
         {'name': 'b', 'field-class': {'type': 'variable-length-unsigned-integer', 'roles': ['default-clock-timestamp']}},
         {'name': 'e', 'field-class': {'type': 'variable-length-unsigned-integer', 'roles': ['packet-end-default-clock-timestamp']}},
         {'name': 'd', 'field-class': {'type': 'variable-length-unsigned-integer', 'roles': ['discarded-event-record-counter-snapshot']}},
         {'name': 'n', 'field-class': {'type': 'variable-length-unsigned-integer', 'roles': ['packet-sequence-number']}},
         {'name': 'cpu_id', 'field-class': 'byte'}]},
       'event-record-header-field-class': {'type': 'structure', 'member-classes': [
         {'name': 'i', 'field-class': {'type': 'variable-length-unsigned-integer', 'roles': ['event-record-class-id']}},
         {'name': 't', 'field-class': {'type': 'variable-length-unsigned-integer', 'roles': ['default-clock-timestamp']}}]},
       'event-record-common-context-field-class': {'type': 'structure', 'member-classes': [{'name': 'x', 'field-class': 'byte'}]}}
\u{1e}{'type': 'event-record-class', 'id': 9, 'data-stream-class-id': 3, 'name': 'ev',
       'attributes': {'babeltrace.org,2020': {'log-level': 'debug:line', 'emf-uri': 'http://x'}},
       'specific-context-field-class': {'type': 'structure', 'member-classes': [
         {'name': 't', 'field-class': {'type': 'variable-length-unsigned-integer', 'roles': ['default-clock-timestamp']}}]},
       'payload-field-class': {'type': 'structure', 'member-classes': [
         {'name': 'b', 'field-class': {'type': 'dynamic-length-blob', 'length-field-location': {'origin': 'packet-context', 'path': ['cpu_id']}}},
         {'name': 'd', 'field-class': {'type': 'dynamic-length-blob', 'length-field-location': {'origin': 'event-record-common-context', 'path': ['x']}}}]}}
",
    );
    let metadata = understood(&text);
    assert_eq!(notes(&metadata), [""; 0]);
    let trace = &metadata.layout;
    let environment = [
        ("z".to_owned(), EnvironmentValue::Text("text".to_owned())),
        ("a".to_owned(), EnvironmentValue::Integer(-4)),
    ];
    assert_eq!(trace.environment, environment);
    assert_eq!(
        (
            trace.major,
            trace.name.as_deref(),
            trace.uuid.map(|uuid| uuid[15])
        ),
        (2, Some("mine"), Some(255))
    );
    assert_eq!(trace.streams[0].name.as_deref(), Some("st"));
    assert!(trace.clocks[0].origin_is_epoch);
    let event = &trace.streams[0].events[0];
    assert_eq!(
        (event.log_level, event.emf_uri.as_deref()),
        (Some(13), Some("http://x"))
    );
    let expected = "\
clock c 1000 Hz from -5 s 7
packet-header {m: u32be@1 =PacketMagic, u: blob[16] =MetadataStreamUuid, s: vu =StreamClassId, i: vu =StreamId}@8
stream 3 clock 0
packet-context {p: vu =PacketTotalLength, c: vu =PacketContentLength, b: vu =ClockTimestamp, e: vu =PacketEndTimestamp, d: vu =DiscardedEventCounter, n: vu =PacketSequenceNumber, cpu_id: u8be@8 ->r0 =CpuId}@8
event-header {i: vu =EventClassId, t: vu =ClockTimestamp}@8
event-context {x: u8be@8 ->r1}@8
event 9 ev
  context {t: vu}@8
  fields {b: blob[r0], d: blob[r1]}@8
";
    assert_eq!(layout(trace), expected);
}

/// The drafts before CTF 2.0: bare paths, enumeration types, clocks by name.
#[test]
fn drafts() {
    let text = PREAMBLE.to_owned()
        + &json(
            "\u{1e}{'type': 'clock-class', 'name': 'c', 'frequency': 10}
\u{1e}{'type': 'data-stream-class', 'default-clock-class-name': 'c'}
\u{1e}{'type': 'event-record-class', 'user-attributes': {'babeltrace.org,2020': {'log-level': 'warning'}}, 'payload-field-class': {'type': 'structure', 'member-classes': [
         {'name': 't', 'field-class': {'type': 'fixed-length-unsigned-enumeration', 'length': 8, 'byte-order': 'little-endian', 'mappings': {'A': [[0, 1]]}}},
         {'name': 'v', 'field-class': {'type': 'variant', 'selector-field-location': ['event-record-payload', 't'], 'options': [
           {'name': 'A', 'selector-field-ranges': [[0, 1]], 'field-class': {'type': 'null-terminated-string'}}]}}]}}",
        );
    let metadata = understood(&text);
    assert_eq!(metadata.layout.streams[0].events[0].log_level, Some(4));
    let expected = "\
clock c 10 Hz from 0 s 0
stream 0 clock 0
event 0 \n  fields {t: u8le@1 enum[A(0..1)] ->r0, v: <r0>{A(0..1): text}}@1
";
    assert_eq!(layout(&metadata.layout), expected);
}

#[test]
fn what_is_not_known_is_left_out_with_a_note() {
    let text = json(
        "\u{1e}{'type': 'preamble', 'version': 2, 'extensions': {'x': {'y': 1}}}
\u{1e}{'type': 'new-fragment'}
\u{1e}{'type': 'trace-class', 'packet-header-field-class': {'type': 'structure', 'member-classes': [{'name': 'a', 'field-class': {'type': 'variable-length-unsigned-integer', 'roles': ['new-role']}}]}}",
    );
    let metadata = understood(&text);
    let expected = [
        "1:51: no extension of CTF 2 is known; these are left out",
        "2:11: the fragment type `new-fragment` is not known; the fragment is left out",
        "3:180: the role `new-role` is not known; it is left out",
    ];
    assert_eq!(notes(&metadata), expected);
}

#[test]
fn wrong_texts() {
    let check = |text: &str, expected: &str| assert_eq!(fault(&json(text)), expected, "{text}");
    check("\u{1e}", "1:1: expected a preamble fragment, there is none");
    check(
        "\u{1e}[]",
        "1:2: expected a fragment (a JSON object), found `[]`",
    );
    check(
        "\u{1e}{'type': 'trace-class'}",
        "1:11: expected `preamble`, as this is the first fragment, found `\"trace-class\"`",
    );
    check(
        "\u{1e}{'type': 'preamble', 'version': 3}",
        "1:34: expected version 2, found `3`",
    );
    check(
        "\u{1e}{'type': 'preamble', 'version': 2,\n  'uuid': [1, 300]}",
        "2:15: expected 16 numbers from 0 to 255, found `300`",
    );
    check(
        "\u{1e}{'type': 'preamble', 'version': 2}\u{1e}\n{'type': }",
        "2:10: not JSON: expected value at line 1 column 10",
    );
    let check = |fragments: &str, expected: &str| {
        assert_eq!(
            fault(&(PREAMBLE.to_owned() + STREAM + &json(fragments))),
            expected,
            "{fragments}"
        );
    };
    check(
        "\u{1e}{'type': 'event-record-class', 'data-stream-class-id': 4}",
        "3:2: the event's stream (id 4) is not described",
    );
    check(
        "\u{1e}{'type': 'data-stream-class'}",
        "3:2: there is a second stream with the id 0",
    );
    check(
        "\u{1e}{'type': 'data-stream-class', 'id': -1}",
        "3:38: expected a whole number from 0, found `-1`",
    );
    check(
        "\u{1e}{'type': 'data-stream-class', 'id': 1, 'default-clock-class-id': 'c'}",
        "3:67: expected the id of a clock class described before, found `\"c\"`",
    );
    check(
        "\u{1e}{'type': 'event-record-class', 'payload-field-class': 'x'}",
        "3:56: expected a field class that has this name, found `\"x\"`",
    );
    check(
        "\u{1e}{'type': 'clock-class', 'id': 'c', 'frequency': 0}",
        "3:50: expected at least one cycle per second, found `0`",
    );
    let check_class = |class: &str, expected: &str| check_fault(&[("a", class)], expected);
    check_class(
        "{'type': 'odd'}",
        "4:80: expected the type of a field class of CTF 2, found `\"odd\"`",
    );
    check_class(
        "{'length': 3}",
        "4:71: expected the property `type`, there is none",
    );
    check_class(
        "{'type': 'fixed-length-boolean', 'length': 65, 'byte-order': 'little-endian'}",
        "4:114: expected 1 to 64 bits, found `65`",
    );
    check_class(
        "{'type': 'structure', 'minimum-alignment': 3}",
        "4:114: expected an alignment (a power of two, in bits), found 3",
    );
    check_class(
        "{'type': 'fixed-length-bit-map', 'length': 8, 'byte-order': 'little-endian', 'flags': {'a': [[3, 2]]}}",
        "4:164: expected a range that does not end before it begins, found `[3, 2]`",
    );
}

/// What a small text could blow up.
#[test]
fn depth_and_size_are_bounded() {
    let begin = PREAMBLE.to_owned() + STREAM;
    let deep = begin.clone()
        + &json("\u{1e}{'type': 'field-class-alias', 'name': 'a', 'field-class': ")
        + &json("{'type': 'static-length-array', 'length': 1, 'element-field-class': ").repeat(300)
        + &json(TEXT)
        + &"}".repeat(301);
    assert!(fault(&deep).contains("classes are nested more than 64 deep"));
    let mut wide = begin
        + &json(&format!(
            "\u{1e}{{'type': 'field-class-alias', 'name': 'a0', 'field-class': {TEXT}}}"
        ));
    for level in 1..40 {
        wide += &json(&format!(
            "\u{1e}{{'type': 'field-class-alias', 'name': 'a{level}', 'field-class': {{'type': 'structure', 'member-classes': [
              {{'name': 'x', 'field-class': 'a{0}'}}, {{'name': 'y', 'field-class': 'a{0}'}}]}}}}",
            level - 1
        ));
    }
    wide += &json("\u{1e}{'type': 'event-record-class', 'payload-field-class': 'a39'}");
    assert!(fault(&wide).contains("more fields than any trace can have"));
}

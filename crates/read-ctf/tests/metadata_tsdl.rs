//! TSDL texts and the layouts that they mean; wrong texts and what is said about them.

mod support;

use slowpath_read_ctf::layout::EnvironmentValue;
use support::{fault, layout, notes, structure, understood};

const TRACE: &str = "trace { major = 1; minor = 8; byte_order = le; };";

const TYPES: &str = "
    typealias integer { size = 8; } := uint8_t;
    typealias integer { size = 16; } := uint16_t;
    typealias integer { size = 32; signed = true; } := int;
    typealias integer { size = 64; } := unsigned long;
    variant choice { string A; int C; };
";

/// The payload of an event with these fields.
fn check(fields: &str, expected: &str) {
    let text = format!("{TRACE} {TYPES} event {{ name = e; fields := struct {{ {fields} }}; }};");
    let metadata = understood(&text);
    assert_eq!(notes(&metadata), [""; 0]);
    let payload = metadata.layout.streams[0].events[0]
        .payload
        .as_ref()
        .expect("fields");
    assert_eq!(structure(payload), expected, "{fields}");
}

/// The column and the message about an event with these fields.
fn check_fault(fields: &str, expected: &str) {
    let text = format!("{TRACE} {TYPES} event {{ name = e; fields := struct {{\n{fields} }}; }};");
    let line = TYPES.matches('\n').count() + 2;
    assert_eq!(fault(&text), format!("{line}:{expected}"), "{fields}");
}

#[test]
fn integers() {
    check("integer { size = 32; } a;", "{a: u32le@8}@8");
    check(
        "integer { size = 27; signed = 1; byte_order = be; base = hex; } a;",
        "{a: i27be@1 hex}@1",
    );
    check(
        "integer { size = 0x40; align = 32; base = 010; } a;",
        "{a: u64le@32 oct}@32",
    );
    check(
        "integer { size = 8; byte_order = network; base = b; } a;",
        "{a: u8be@8 bin}@8",
    );
    check(
        "integer { size = 8; byte_order = native; base = u; encoding = none; } a, _b;",
        "{a: u8le@8, b: u8le@8}@8",
    );
    check_fault(
        "integer { size = 65; } a;",
        "18: expected 1 to 64 bits for `size`, found 65",
    );
    check_fault("integer { align = 8; } a;", "1: the integer has no `size`");
    check_fault(
        "integer { size = 8; align = 12; } a;",
        "29: expected an alignment (a power of two, in bits), found 12",
    );
    check_fault(
        "integer { size = 8; base = 7; } a;",
        "28: expected 2, 8, 10, 16 or the name of such a base for `base`, found 7",
    );
    check_fault(
        "integer { size = 8; signed = maybe; } a;",
        "30: expected `true` or `false` for `signed`, found `maybe`",
    );
    check_fault("integer { size = 8, } a;", "19: expected `;`, found `,`");
}

#[test]
fn floats_and_strings() {
    check(
        "floating_point { exp_dig = 8; mant_dig = 24; } a;",
        "{a: f32le@8}@8",
    );
    check(
        "floating_point { exp_dig = 11; mant_dig = 53; align = 64; byte_order = be; } a;",
        "{a: f64be@64}@64",
    );
    check(
        "string a; string { encoding = ASCII; } b;",
        "{a: text, b: text}@8",
    );
    check_fault(
        "floating_point { exp_dig = 8; mant_dig = 25; } a;",
        "1: expected an IEEE 754 number (`exp_dig` and `mant_dig` 5 and 11, 8 and 24, 11 and 53 or 15 and 113), found 8 and 25",
    );
    check_fault(
        "string { encoding = latin1; } a;",
        "21: expected `UTF8`, `ASCII` or `none` for `encoding`, found `latin1`",
    );
}

#[test]
fn arrays_and_sequences() {
    check("uint8_t a[3];", "{a: [3]@8 u8le@8}@8");
    check("uint8_t a[2][3];", "{a: [2]@8 [3]@8 u8le@8}@8");
    check(
        "integer { size = 8; align = 16; } a[0];",
        "{a: [0]@16 u8le@16}@16",
    );
    check(
        "uint8_t n; uint16_t a[n];",
        "{n: u8le@8 ->r0, a: [r0]@8 u16le@8}@8",
    );
    check(
        "uint8_t n, m; string a[ n ][m], b[n];",
        "{n: u8le@8 ->r0, m: u8le@8 ->r1, a: [r0]@8 [r1]@8 text, b: [r0]@8 text}@8",
    );
    check(
        "uint8_t __n; uint8_t _a[__n];",
        "{_n: u8le@8 ->r0, a: [r0]@8 u8le@8}@8",
    );
    check_fault(
        "uint16_t a[n];",
        "12: expected a field that is decoded before as a length, found `n`",
    );
    check_fault(
        "uint16_t a[a];",
        "12: expected a field that is decoded before as a length, found `a`",
    );
    check_fault(
        "string n; uint16_t a[n];",
        "22: expected an integer as a length, `n` is none",
    );
    check_fault(
        "int n; uint16_t a[n];",
        "19: expected an unsigned integer as a length, `n` is none",
    );
    check_fault(
        "uint16_t a[-1];",
        "12: expected a whole number from 0 for `length`, found -1",
    );
}

#[test]
fn arrays_of_characters_are_text() {
    let character = "integer { size = 8; align = 8; encoding = UTF8; }";
    check(&format!("{character} a[16];"), "{a: text[16]@8}@8");
    check(
        &format!("uint8_t n; {character} a[n];"),
        "{n: u8le@8 ->r0, a: text[r0]@8}@8",
    );
    check(&format!("{character} a[2][16];"), "{a: [2]@8 text[16]@8}@8");
    check(
        "integer { size = 8; align = 1; encoding = UTF8; } a[4];",
        "{a: [4]@1 u8le@1}@1",
    );
}

#[test]
fn structures() {
    check(
        "struct { uint8_t a; integer { size = 4; align = 64; } b; } s;",
        "{s: {a: u8le@8, b: u4le@64}@64}@64",
    );
    check("struct { } align(32) s;", "{s: {}@32}@32");
    check(
        "struct named { uint8_t a; } s; struct named t, u[2];",
        "{s: {a: u8le@8}@8, t: {a: u8le@8}@8, u: [2]@8 {a: u8le@8}@8}@8",
    );
    check_fault(
        "struct missing s;",
        "1: expected a type that was declared before, found `struct missing`",
    );
    check_fault(
        "struct { uint8_t a; } align(3) s;",
        "29: expected an alignment (a power of two, in bits), found 3",
    );
}

#[test]
fn fields_have_a_name_of_their_own() {
    check_fault("uint8_t ;", "9: expected a field's name, found `;`");
    check_fault(
        "struct { uint8_t a; };",
        "22: expected a field's name, found `;`",
    );
    check_fault(
        "enum : uint8_t { A } t; variant <t> { string; } v;",
        "45: expected a field's name, found `;`",
    );
    check_fault("uint8_t a; int b, a;", "19: there is a second field `a`");
    check_fault(
        "enum : uint8_t { A } t; variant <t> { string A; int A; } v;",
        "53: there is a second field `A`",
    );
    check(
        "uint8_t a; struct { uint8_t a; } s;",
        "{a: u8le@8, s: {a: u8le@8}@8}@8",
    );
}

#[test]
fn enumerations() {
    check(
        "enum : uint8_t { A, B = 3, C, D = 010 ... 0x10, \"e f\" = 200, } x;",
        "{x: u8le@8 enum[A(0) B(3) C(4) D(8..16) e f(200)]}@8",
    );
    check("enum { A = -2, B } x;", "{x: i32le@8 enum[A(-2) B(-1)]}@8");
    check(
        "enum : unsigned long { A = 18446744073709551615 } x;",
        "{x: u64le@8 enum[A(18446744073709551615)]}@8",
    );
    check(
        "enum named : uint8_t { A, A = 5 } x; enum named y;",
        "{x: u8le@8 enum[A(0 5)], y: u8le@8 enum[A(0 5)]}@8",
    );
    check_fault(
        "typedef string text; enum : text { A } x;",
        "22: expected an integer as the type of an enumeration",
    );
    check_fault(
        "enum : uint8_t { A = 4 ... 2 } x;",
        "24: the range 4 ... 2 ends before it begins",
    );
    check_fault("enum : uint8_t { A B } x;", "20: expected `}`, found `B`");
}

#[test]
fn variants() {
    let tag = "enum : uint8_t { A, B = 3 ... 5, C } tag;";
    check(
        &format!("{tag} variant <tag> {{ string A; uint8_t B; }} v;"),
        "{tag: u8le@8 enum[A(0) B(3..5) C(6)] ->r0, v: <r0>{A(0): text, B(3..5): u8le@8}}@8",
    );
    check(
        &format!("{tag} struct {{ variant choice <tag> v; }} s;"),
        "{tag: u8le@8 enum[A(0) B(3..5) C(6)] ->r0, s: {v: <r0>{A(0): text, C(6): i32le@8}}@1}@8",
    );
    check_fault(
        "uint8_t tag; variant <tag> { string A; } v;",
        "23: expected an enumeration as the selector of a variant, `tag` is none",
    );
    check_fault(
        "variant { string A; } v;",
        "1: the variant has no selector (`variant <field>`)",
    );
    check_fault(
        "variant <tag> { string A; } v;",
        "10: expected a field that is decoded before as the selector of a variant, found `tag`",
    );
}

/// One underscore escapes a name; labels are shown as they are, and match options as written, or
/// else with the escape of one of the two taken away.
#[test]
fn underscores() {
    check(
        "enum : uint8_t { A, _B, __B } tag; variant <tag> { string A; string _B; string __B; } v;",
        "{tag: u8le@8 enum[A(0) _B(1) __B(2)] ->r0, v: <r0>{A(0): text, B(1): text, _B(2): text}}@8",
    );
    check(
        "enum : uint8_t { A, _B } tag; variant <tag> { string _A; string B; } v;",
        "{tag: u8le@8 enum[A(0) _B(1)] ->r0, v: <r0>{A(0): text, B(1): text}}@8",
    );
}

#[test]
fn type_names_have_lexical_scopes() {
    check(
        "typealias integer { size = 4; } := uint8_t; uint8_t a;",
        "{a: u4le@1}@1",
    );
    check(
        "struct { typedef uint16_t uint8_t; uint8_t a; } s; uint8_t b;",
        "{s: {a: u16le@8}@8, b: u8le@8}@8",
    );
    check(
        "typedef uint8_t pair[2], one; pair a; one b;",
        "{a: [2]@8 u8le@8, b: u8le@8}@8",
    );
    // A pointer, which people read in hexadecimal.
    check(
        "typealias integer { size = 64; } := const void *; const void * p;",
        "{p: u64le@8 hex}@8",
    );
    check(
        "unsigned long a; uint8_t uint8_t;",
        "{a: u64le@8, uint8_t: u8le@8}@8",
    );
    check(
        "typealias integer { size = 4; } := unsigned small; unsigned small a, b; uint8_t c;",
        "{a: u4le@1, b: u4le@1, c: u8le@8}@8",
    );
    check(
        "typealias integer { size = 4; } := unsigned long very small; unsigned long very small a; unsigned long b;",
        "{a: u4le@1, b: u64le@8}@8",
    );
    check(
        "struct { typealias integer { size = 4; } := unsigned small; } s; uint8_t small;",
        "{s: {}@1, small: u8le@8}@8",
    );
    check_fault(
        "typealias integer { size = 4; } := unsigned small; small a;",
        "52: expected a type that was declared before, found `small`",
    );
    check_fault(
        "long long a;",
        "1: expected a type that was declared before, found `long long`",
    );
}

#[test]
fn references_go_outward_and_may_name_inner_fields() {
    check(
        "struct { uint8_t n; } s; struct { struct { uint8_t a[s.n]; } t; } u;",
        "{s: {n: u8le@8 ->r0}@8, u: {t: {a: [r0]@8 u8le@8}@8}@8}@8",
    );
    check(
        "uint8_t n; struct { uint8_t n; uint8_t a[n]; uint8_t b[event.fields.n]; } s;",
        "{n: u8le@8 ->r1, s: {n: u8le@8 ->r0, a: [r0]@8 u8le@8, b: [r1]@8 u8le@8}@8}@8",
    );
    check(
        "uint8_t m; struct { uint8_t n; uint8_t a[event.fields.s.n]; } s[m];",
        "{m: u8le@8 ->r0, s: [r0]@8 {n: u8le@8 ->r1, a: [r1]@8 u8le@8}@8}@8",
    );
    check(
        "enum : uint8_t { A } t; variant <t> { struct { uint8_t n; uint8_t a[event.fields.v.A.n]; } A; } v; uint8_t b[v.A.n];",
        "{t: u8le@8 enum[A(0)] ->r0, v: <r0>{A(0): {n: u8le@8 ->r1, a: [r1]@8 u8le@8}@8}, b: [r1]@8 u8le@8}@8",
    );
    check_fault(
        "struct { uint8_t n; } s; uint8_t a[n];",
        "36: expected a field that is decoded before as a length, found `n`",
    );
    check_fault(
        "uint8_t a[event.fields.n]; uint8_t n;",
        "11: expected a field that is decoded before as a length, found `n`",
    );
}

/// As LTTng writes it, with references from the event into every part before it.
#[test]
fn a_whole_trace() {
    let text = r#"/* CTF 1.8 */
        typealias integer { size = 8; align = 8; } := uint8_t;
        typealias integer { size = 32; align = 8; } := uint32_t;
        typealias integer { size = 5; align = 1; } := uint5_t;
        struct event_header {
            enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
            variant <id> {
                struct { integer { size = 27; map = clock.mono.value; } timestamp; } compact;
                struct { uint32_t id; integer { size = 64; map = clock.mono.value; } timestamp; } extended;
            } v;
        } align(8);
        trace {
            major = 1; minor = 8; byte_order = be;
            uuid = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564";
            packet.header := struct {
                uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint32_t stream_instance_id;
            };
        };
        env { domain = "kernel"; tracer_major = 2; vpid = -3; text = "a\"\x41\102\n"; };
        clock { name = "mono"; freq = 1000; offset_s = -5; offset = 7; description = "d"; };
        stream {
            id = 7;
            event.header := struct event_header;
            packet.context := struct {
                integer { size = 64; map = clock.mono.value; } timestamp_begin;
                integer { size = 64; map = clock.mono.value; } timestamp_end;
                uint32_t content_size, packet_size, events_discarded, packet_seq_num, cpu_id;
            };
            event.context := struct { uint8_t n; };
        };
        event {
            name = sched_switch; id = 3; stream_id = 7; loglevel = 4; model.emf.uri = "http://x";
            context := struct { uint8_t a[stream.packet.context.cpu_id]; };
            fields := struct { uint8_t b[n], c[stream.event.context.n], d[trace.packet.header.magic], e[env.tracer_major], f[stream.event.header.v.extended.id]; };
        };
        callsite { name = sched_switch; line = 3; };
    "#;
    let metadata = understood(text);
    assert_eq!(notes(&metadata), [""; 0]);
    let trace = &metadata.layout;
    let text = |text: &str| EnvironmentValue::Text(text.to_owned());
    let environment = [
        ("domain".to_owned(), text("kernel")),
        ("tracer_major".to_owned(), EnvironmentValue::Integer(2)),
        ("vpid".to_owned(), EnvironmentValue::Integer(-3)),
        ("text".to_owned(), text("a\"AB\n")),
    ];
    assert_eq!(trace.environment, environment);
    assert_eq!(trace.uuid.expect("a UUID")[..4], [0x2a, 0x64, 0x22, 0xd0]);
    assert_eq!(trace.register_count, 5);
    let event = &trace.streams[0].events[0];
    assert_eq!(
        (event.log_level, event.emf_uri.as_deref()),
        (Some(4), Some("http://x"))
    );
    let expected = "\
clock mono 1000 Hz from -5 s 7
packet-header {magic: u32be@8 ->r3 =PacketMagic, uuid: [16]@8 u8be@8 =MetadataStreamUuid, stream_id: u32be@8 =StreamClassId, stream_instance_id: u32be@8 =StreamId}@8
stream 7 clock 0
packet-context {timestamp_begin: u64be@8 =ClockTimestamp, timestamp_end: u64be@8 =PacketEndTimestamp, content_size: u32be@8 =PacketContentLength, packet_size: u32be@8 =PacketTotalLength, events_discarded: u32be@8 =DiscardedEventCounter, packet_seq_num: u32be@8 =PacketSequenceNumber, cpu_id: u32be@8 ->r1 =CpuId}@8
event-header {id: u5be@1 enum[compact(0..30) extended(31)] ->r0 =EventClassId, v: <r0>{compact(0..30): {timestamp: u27be@1 =ClockTimestamp}@1, extended(31): {id: u32be@8 ->r4 =EventClassId, timestamp: u64be@8 =ClockTimestamp}@8}}@8
event-context {n: u8be@8 ->r2}@8
event 3 sched_switch
  context {a: [r1]@8 u8be@8}@8
  fields {b: [r2]@8 u8be@8, c: [r2]@8 u8be@8, d: [r3]@8 u8be@8, e: [2]@8 u8be@8, f: [r4]@8 u8be@8}@8
";
    assert_eq!(layout(trace), expected);
}

/// Time stamps that no type maps to a clock count in the only clock, or in nanoseconds.
#[test]
fn clocks_by_name() {
    let check = |clocks: &str, header: &str, expected: &str| {
        let text = format!(
            "{TRACE} {TYPES} {clocks} stream {{ event.header := struct {{ {header} }}; }};"
        );
        assert_eq!(layout(&understood(&text).layout), expected);
    };
    let clock = "clock { name = a; freq = 10; };";
    check(
        clock,
        "uint8_t timestamp;",
        "clock a 10 Hz from 0 s 0\nstream 0 clock 0\nevent-header {timestamp: u8le@8 =ClockTimestamp}@8\n",
    );
    check(
        "",
        "struct { uint8_t timestamp; } v;",
        "clock default 1000000000 Hz from 0 s 0\nstream 0 clock 0\nevent-header {v: {timestamp: u8le@8 =ClockTimestamp}@8}@8\n",
    );
    check(
        clock,
        "uint8_t id;",
        "clock a 10 Hz from 0 s 0\nstream 0\nevent-header {id: u8le@8 =EventClassId}@8\n",
    );
    check(
        &(clock.to_owned() + "clock { name = b; };"),
        "integer { size = 8; map = clock.b.value; } time;",
        "clock a 10 Hz from 0 s 0\nclock b 1000000000 Hz from 0 s 0\nstream 0 clock 1\nevent-header {time: u8le@8 =ClockTimestamp}@8\n",
    );
    let unknown = format!(
        "{TRACE} stream {{ event.header := struct {{\ninteger {{ size = 8; map = clock.z.value; }} t; }}; }};"
    );
    assert_eq!(
        fault(&unknown),
        "2:1: the integer is mapped to the clock `z`, which is not described"
    );
}

#[test]
fn ids_may_be_left_out_where_there_is_one() {
    let check = |blocks: &str, expected: &str| {
        assert_eq!(
            layout(&understood(&format!("{TRACE} {blocks}")).layout),
            expected
        );
    };
    check("event { name = a; };", "stream 0\nevent 0 a\n");
    check(
        "event { name = a; }; stream { id = 4; };",
        "stream 4\nevent 0 a\n",
    );
    check(
        "stream { }; event { name = \"a b\"; id = 9; }; event { name = c; id = 2; };",
        "stream 0\nevent 9 a b\nevent 2 c\n",
    );
    let check_fault = |blocks: &str, expected: &str| {
        assert_eq!(fault(&format!("{TRACE}\n{blocks}")), expected);
    };
    check_fault(
        "event { name = a; }; event { name = b; };",
        "2:22: the event has no `id` but is not the only one",
    );
    check_fault(
        "event { name = a; id = 1; }; event { name = b; id = 1; };",
        "2:30: there is a second event with the id 1",
    );
    check_fault(
        "stream { id = 1; }; stream { };",
        "2:21: the stream has no `id` but is not the only one",
    );
    check_fault(
        "stream { id = 1; }; stream { id = 2; }; event { name = a; };",
        "2:41: the event names no stream but there are several",
    );
    check_fault(
        "stream { id = 1; }; event { name = a; stream_id = 3; };",
        "2:21: the event's stream (id 3) is not described",
    );
    check_fault("event { id = 1; };", "2:1: the event has no `name`");
}

#[test]
fn what_is_not_known_is_left_out_with_a_note() {
    let text = format!(
        "{TRACE}\ntypealias integer {{ size = 8; aa = bb; }} := u8;\nstream {{ dmesg = 1; }};\nevent {{ name = e; odd := struct {{ u8 a; }}; }};"
    );
    let metadata = understood(&text);
    let expected = [
        "2:31: the attribute `aa` of an integer is not known; it is left out",
        "3:10: the attribute `dmesg` of a stream is not known; it is left out",
        "4:19: the attribute `odd` of an event is not known; it is left out",
    ];
    assert_eq!(notes(&metadata), expected);
    assert_eq!(layout(&metadata.layout), "stream 0\nevent 0 e\n");
}

#[test]
fn wrong_texts() {
    let check = |text: &str, expected: &str| assert_eq!(fault(text), expected, "{text}");
    check(
        "/* CTF 1.8 */\n",
        "2:1: expected a `trace` block, found the end of the text",
    );
    check(
        "trace { major = 1;",
        "1:19: expected an attribute or `}`, found the end of the text",
    );
    check(
        "trace { major = 0; minor = 1; byte_order = le; };",
        "1:17: expected 1 (of CTF 1.8) for `major`, found 0",
    );
    check(
        "trace { minor = 8; byte_order = le; };",
        "1:1: the trace has no `major`",
    );
    check(
        "trace { major = 1; minor = 8; };",
        "1:1: the trace has no `byte_order`",
    );
    check(
        "trace { major = 1; minor = 8; byte_order = native; };",
        "1:44: expected `le`, `be` or `network` for `byte_order`, found `native`",
    );
    check(
        "trace { uuid = \"12\"; };",
        "1:16: expected 32 hexadecimal digits for `uuid`, found `12`",
    );
    check(
        "trace { major = 99999999999999999999; };",
        "1:17: expected a whole number of at most 64 bits, found `99999999999999999999`",
    );
    check("/* open", "1:1: the comment that begins here does not end");
    check(
        "env { a = \"open; };",
        "1:11: the quoted text that begins here does not end",
    );
    check(
        "env { a = \"\\o040\"; };",
        "1:12: expected an escape sequence of C, found `\\o`",
    );
    check(
        "traces { };",
        "1:1: expected `trace`, `env`, `clock`, `stream`, `event`, `callsite` or the declaration of a type, found `traces`",
    );
    check(
        "typealias integer { size = 8; ] := a;",
        "1:31: expected an attribute or `}`, found `]`",
    );
    check("@", "1:1: `@` has no meaning in TSDL");
    let twice = format!("{TRACE}{TRACE}");
    check(
        &twice,
        &format!("1:{}: there is a second `trace` block", TRACE.len() + 1),
    );
}

/// What a small text could blow up.
#[test]
fn depth_size_and_work_are_bounded() {
    let deep = format!("{TRACE} typealias {}", "struct { ".repeat(100_000));
    assert!(fault(&deep).contains("types are nested more than 64 deep"));
    let deep = format!("{TRACE} typealias {}", "enum : ".repeat(100_000));
    assert!(fault(&deep).contains("types are nested more than 64 deep"));

    let mut chain = format!("{TRACE} struct s0 {{ string a; }};");
    for level in 1..200 {
        chain += &format!("struct s{level} {{ struct s{} a; }};", level - 1);
    }
    assert!(fault(&chain).contains("classes are nested more than 64 deep"));

    let mut wide = format!("{TRACE} struct s0 {{ string a; }};");
    for level in 1..30 {
        wide += &format!(
            "struct s{level} {{ struct s{0} a; struct s{0} b; }};",
            level - 1
        );
    }
    wide += "event { name = e; fields := struct s29; };";
    assert!(fault(&wide).contains("more fields than any trace can have"));

    let references: String = (0..100_000).map(|n| format!("uint8_t a{n}[x];")).collect();
    let many = format!(
        "{TRACE}{TYPES} event {{ name = e; fields := struct {{ uint8_t x; {references} }}; }};"
    );
    assert!(fault(&many).contains("more fields than any trace can have"));
}

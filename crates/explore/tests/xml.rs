//! A specification in XML is the one in TOML that says the same; what is wrong is told with its line.

use std::io;
use std::path::Path;

use slowpath_explore::Spec;

const XML: &str = include_str!("specification.xml");

const TOML: &str = r#"
name = "demo"
constraints = ["threads <= 4 || mode == 'fast'", "threads != 3"]
[parameters]
threads = { type = "integer", min = 1, max = 8, default = 2 }
mode = { type = "category", values = ["fast", "7"] }
sync = { type = "boolean" }
share = { type = "float", min = 0, max = 0.5, steps = 3, when = { sync = true, mode = ["fast", "7"] } }
[[files]]
path = "{{scratch}}/server.xml"
content = "<config><threads>{{threads}}</threads></config>\n"
[[files]]
path = "{{scratch}}/b"
template = "b.in"
[[files]]
path = "{{scratch}}/c"
content = " c "
[commands]
timeout = "5s"
before = ["mkdir -p data", ["touch", "a file"]]
restore = ["rm -r data"]
[system]
ready_timeout = "10s"
command = ["server", "-t", "{{threads}}"]
environment = { MODE = "{{mode}}", space = " " }
ready = { command = ["redis-cli", "ping"] }
stop = "server --stop"
[workload]
command = "bench"
timeout = "90s"
warm_up = 1
environment = { seed = "1", port = "2" }
[load]
cpu = 1
memory_mib = "{{threads * 16}}"
[metrics]
speed = { unit = "1/s", regex = '([0-9.]+) requests & more' }
wait = { probe = 7, type = "LAT", take = "p99", every = 10 }
[[objectives]]
maximise = "speed"
[[objectives]]
minimise = "wait"
[trials]
per_configuration = 2
seed = 9
confidence = 0.9
[limits]
trials = 40
time = "1h"
[policy]
name = "optuna"
configurations = 12
options = { sampler = "gp", startup = 5, sizes = [1, "x"] }
"#;

fn parse(text: &str) -> Result<Spec, String> {
    let load = |path: &Path| match path.ends_with("b.in") {
        true => Ok("{{mode}}".to_owned()),
        false => Err(io::ErrorKind::NotFound.into()),
    };
    let parsed = Spec::parse(text, "a.xml", "a", Path::new("."), &load);
    parsed.map_err(|error| error.to_string())
}

#[test]
fn xml_says_what_toml_says() {
    let (xml, toml) = (parse(XML), parse(TOML));
    let toml = toml.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(xml.unwrap_or_else(|error| panic!("{error}")), toml);
}

/// Every key may be an element as well as an attribute.
#[test]
fn keys_are_elements_or_attributes() {
    let others = [
        (
            "<exploration name=\"demo\">",
            "<exploration><name>demo</name>",
        ),
        (" steps=\"3\"", ""),
    ];
    let mut text = XML.to_owned();
    for (from, to) in others {
        assert!(text.contains(from), "{from:?} is no part of it");
        text = text.replacen(from, to, 1);
    }
    let begin = text.find("name=\"share\"").expect("a parameter");
    let end = begin + text[begin..].find('>').expect("its end") + 1;
    text.insert_str(end, "<steps>3</steps>");
    assert_eq!(parse(&text), parse(TOML));
}

#[test]
fn what_is_wrong_with_xml_is_told_with_its_line() {
    let check = |from: &str, to: &str, expected: &str| {
        assert!(XML.contains(from), "{from:?} is no part of it");
        let error = parse(&XML.replacen(from, to, 1)).expect_err(to);
        let shown = format!("{to:?} gives:\n{error}\ninstead of:\n{expected}");
        assert!(error.starts_with(expected), "{shown}");
    };
    check(
        "</commands>",
        "</command>",
        "a.xml:27: it is no XML: expected 'commands' tag",
    );
    check(
        "<exploration",
        "<!DOCTYPE x [<!ENTITY a 'b'>]><exploration",
        "a.xml:1: it is no XML: ",
    );
    let others = XML
        .replace("<exploration", "<search")
        .replace("</exploration", "</search");
    let error = parse(&others).expect_err("another root");
    assert!(
        error.starts_with("a.xml:3: `search` is no exploration"),
        "{error}"
    );
    check(
        "max=\"8\"",
        "maximum=\"8\"",
        "a.xml:4: unknown field `maximum`, expected one of",
    );
    check(
        "max=\"8\"",
        "max=\"eight\"",
        "a.xml:4: the bounds of `threads` are no whole numbers",
    );
    check(
        "name=\"threads\"",
        "named=\"threads\"",
        "a.xml:4: a parameter needs a `name`",
    );
    check(
        "threads != 3",
        "thread != 3",
        "a.xml:13: there is no parameter `thread`",
    );
    check("<load", "<loads", "a.xml:35: unknown field `loads`");
    check(
        "bench",
        "bench {{m}}",
        "a.xml:34: there is no parameter `m`",
    );
    check(
        "<stop>",
        "stop<stop>",
        "a.xml:32: there is text in `system` that belongs to nothing",
    );
    check(
        "server --stop",
        "server <b>--stop</b>",
        "a.xml:32: there is text in `stop`",
    );
    check(
        "maximise=\"speed\"",
        "maximise=\"sped\"",
        "a.xml:38: there is no metric `sped`",
    );
    check(
        "<load",
        "<parameter name=\"threads\" type=\"boolean\"/><load",
        "a.xml:35: `threads` stands there twice\n  hint: one attribute",
    );
    check(
        "<stop>",
        "<stop>a</stop><stop>",
        "a.xml:32: `stop` stands there twice",
    );
}

#[test]
fn a_seed_may_have_64_bits() {
    let largest = u64::MAX;
    let text = XML.replacen("seed=\"9\"", &format!("seed=\"{largest}\""), 1);
    assert_eq!(parse(&text).expect("a seed").trials.seed, largest);
}

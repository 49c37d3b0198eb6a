//! `slowpath-benches spans`: writes large files of spans in each format and reads them back.
//!
//! Traces look like those of a shop: requests of a few kinds, each of fifty spans over eight services, with
//! the tags that tracing libraries add. The same seed gives the same bytes. Reported is this thread's CPU time.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use nix::sys::resource::{UsageWho, getrusage};
use slowpath_model::Diagnostic;
use slowpath_read_spans::{ReadOptions, Span, SpanSink, read_spans};

use crate::made::{Numbers, thread_cpu};

const SERVICES: [&str; 8] = [
    "frontend", "customer", "driver", "route", "redis", "mysql", "cart", "payment",
];
const OPERATIONS: [&str; 6] = [
    "HTTP GET /dispatch",
    "SQL SELECT",
    "GetDriver",
    "/driver.DriverService/FindNearest",
    "POST /cart",
    "charge",
];
/// Kinds of request; those of one kind differ in their times only.
const KINDS: u64 = 20;
/// Spans of a request.
const SPANS: u64 = 50;
/// Requests that an OTLP message brings.
const REQUESTS_PER_MESSAGE: u64 = 20;

/// What a made span says.
struct Made {
    trace: (u64, u64),
    id: u64,
    parent: u64,
    service: usize,
    operation: usize,
    is_server: bool,
    begin_us: u64,
    length_us: u64,
}

/// The spans of one request, the root first.
fn request(number: u64, numbers: &mut Numbers) -> Vec<Made> {
    let trace = (numbers.next(), numbers.next());
    let mut kind = Numbers(number % KINDS * 1_000_003 + 1);
    kind.next();
    let mut made: Vec<Made> = Vec::with_capacity(SPANS as usize);
    for position in 0..SPANS as usize {
        let above = (position > 0).then(|| &made[kind.below(position)]);
        let (begin_us, length_us) = match above {
            None => (1_700_000_000_000_000 + number * 300, 900_000),
            Some(above) => {
                let length = above.length_us / 2;
                let late = numbers.below(length as usize + 1) as u64;
                (above.begin_us + late, length)
            }
        };
        let parent = above.map_or(0, |above| above.id);
        let span = Made {
            trace,
            id: numbers.next() | 1,
            parent,
            service: kind.below(SERVICES.len()),
            operation: kind.below(OPERATIONS.len()),
            is_server: position % 2 == 0,
            begin_us,
            length_us,
        };
        made.push(span);
    }
    made
}

fn write_jaeger(count: u64, seed: u64, output: &mut impl Write) -> anyhow::Result<()> {
    let mut numbers = Numbers(seed);
    output.write_all(b"{\"data\":[")?;
    for number in 0..count / SPANS {
        let comma = if number > 0 { "," } else { "" };
        let spans = request(number, &mut numbers);
        let trace = format!("{:016x}{:016x}", spans[0].trace.0, spans[0].trace.1);
        write!(output, "{comma}{{\"traceID\":\"{trace}\",\"spans\":[")?;
        for (position, span) in spans.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            write!(
                output,
                "{comma}{{\"traceID\":\"{trace}\",\"spanID\":\"{:016x}\",\"flags\":1,\"operationName\":\"{}\",\"references\":[",
                span.id, OPERATIONS[span.operation]
            )?;
            if span.parent != 0 {
                write!(
                    output,
                    "{{\"refType\":\"CHILD_OF\",\"traceID\":\"{trace}\",\"spanID\":\"{:016x}\"}}",
                    span.parent
                )?;
            }
            write!(
                output,
                "],\"startTime\":{},\"duration\":{},\"tags\":[{{\"key\":\"span.kind\",\"type\":\"string\",\"value\":\"{}\"}},\
                 {{\"key\":\"http.method\",\"type\":\"string\",\"value\":\"GET\"}},{{\"key\":\"http.status_code\",\"type\":\"int64\",\"value\":200}},\
                 {{\"key\":\"http.url\",\"type\":\"string\",\"value\":\"http://0.0.0.0:8083/route?pickup={}\"}},\
                 {{\"key\":\"internal.span.format\",\"type\":\"string\",\"value\":\"proto\"}}],\"logs\":[],\"processID\":\"p{}\",\"warnings\":null}}",
                span.begin_us,
                span.length_us,
                if span.is_server { "server" } else { "client" },
                span.id % 1000,
                span.service
            )?;
        }
        output.write_all(b"],\"processes\":{")?;
        for (position, service) in SERVICES.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            write!(
                output,
                "{comma}\"p{position}\":{{\"serviceName\":\"{service}\",\"tags\":[{{\"key\":\"hostname\",\"type\":\"string\",\"value\":\"host-{position}\"}}]}}"
            )?;
        }
        output.write_all(b"},\"warnings\":null}")?;
    }
    output.write_all(b"],\"total\":0,\"limit\":0,\"offset\":0,\"errors\":null}")?;
    Ok(())
}

/// A field with a length, as protobuf writes it; all fields here have numbers below 16.
fn field(output: &mut Vec<u8>, number: u8, content: &[u8]) {
    output.push(number << 3 | 2);
    let mut length = content.len();
    while length > 0x7f {
        output.push(length as u8 | 0x80);
        length >>= 7;
    }
    output.push(length as u8);
    output.extend_from_slice(content);
}

fn attribute(output: &mut Vec<u8>, number: u8, key: &str, value: &str) {
    let (mut pair, mut any) = (Vec::new(), Vec::new());
    field(&mut any, 1, value.as_bytes());
    field(&mut pair, 1, key.as_bytes());
    field(&mut pair, 2, &any);
    field(output, number, &pair);
}

fn write_otlp(count: u64, seed: u64, output: &mut impl Write) -> anyhow::Result<()> {
    let mut numbers = Numbers(seed);
    let mut number = 0;
    while number < count / SPANS {
        let mut scopes: [Vec<u8>; SERVICES.len()] = Default::default();
        for _ in 0..REQUESTS_PER_MESSAGE.min(count / SPANS - number) {
            for span in request(number, &mut numbers) {
                let mut message = Vec::new();
                let trace = [span.trace.0.to_be_bytes(), span.trace.1.to_be_bytes()].concat();
                field(&mut message, 1, &trace);
                field(&mut message, 2, &span.id.to_be_bytes());
                if span.parent != 0 {
                    field(&mut message, 4, &span.parent.to_be_bytes());
                }
                field(&mut message, 5, OPERATIONS[span.operation].as_bytes());
                message.extend([6 << 3, if span.is_server { 2 } else { 3 }]);
                let end_us = span.begin_us + span.length_us;
                for (number, time) in [(7, span.begin_us), (8, end_us)] {
                    message.push(number << 3 | 1);
                    message.extend((time * 1000).to_le_bytes());
                }
                attribute(&mut message, 9, "http.request.method", "GET");
                attribute(&mut message, 9, "http.response.status_code", "200");
                let url = format!("http://0.0.0.0:8083/route?pickup={}", span.id % 1000);
                attribute(&mut message, 9, "url.full", &url);
                field(&mut scopes[span.service], 2, &message);
            }
            number += 1;
        }
        let mut message = Vec::new();
        for (service, spans) in SERVICES.iter().zip(&scopes) {
            let (mut resource, mut resource_spans) = (Vec::new(), Vec::new());
            attribute(&mut resource, 1, "service.name", service);
            field(&mut resource_spans, 1, &resource);
            field(&mut resource_spans, 2, spans);
            field(&mut message, 1, &resource_spans);
        }
        output.write_all(&(message.len() as u32).to_be_bytes())?;
        output.write_all(&message)?;
    }
    Ok(())
}

/// Counts, so that nothing but reading is measured.
#[derive(Default)]
struct Count {
    spans: u64,
    diagnostics: Vec<Diagnostic>,
}

impl SpanSink for Count {
    fn span(&mut self, _: Span) {
        self.spans += 1;
    }

    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}

/// Writes `count` spans in each format to `folder` (a temporary one without), reads them and prints a
/// table.
///
/// # Errors
/// Where a file cannot be written, or does not give back what was written.
pub fn run(count: u64, seed: u64, folder: Option<&Path>) -> anyhow::Result<()> {
    let temporary = tempfile::tempdir().context("no folder for the files")?;
    let folder = folder.unwrap_or(temporary.path());
    std::fs::create_dir_all(folder)?;
    let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let create = |name: &str| -> anyhow::Result<(PathBuf, BufWriter<File>)> {
        let path = folder.join(name);
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        Ok((path, BufWriter::new(file)))
    };
    let (jaeger, mut output) = create("jaeger.json")?;
    write_jaeger(count, seed, &mut output)?;
    output.flush()?;
    let (otlp, mut output) = create("otlp.pb")?;
    write_otlp(count, seed, &mut output)?;
    output.flush()?;
    println!("file          attributes      MB   CPU s   spans/s    MB/s");
    for path in [&jaeger, &otlp] {
        let megabytes = path.metadata()?.len() as f64 / 1e6;
        for attributes in [true, false] {
            let mut counted = Count::default();
            let begun = thread_cpu()?;
            let options = ReadOptions { attributes };
            read_spans(File::open(path)?, "spans", options, &mut counted);
            let seconds = (thread_cpu()? - begun).as_secs_f64();
            anyhow::ensure!(
                counted.spans == count / SPANS * SPANS && counted.diagnostics.is_empty(),
                "{} spans came back, and {:?}",
                counted.spans,
                counted.diagnostics
            );
            println!(
                "{:<13} {:<10} {megabytes:>7.0} {seconds:>7.2} {:>9.0} {:>7.0}",
                path.file_name().unwrap_or_default().to_string_lossy(),
                if attributes { "read" } else { "left out" },
                counted.spans as f64 / seconds,
                megabytes / seconds,
            );
        }
    }
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    println!("most memory   {} MB", usage.max_rss() / 1024);
    Ok(())
}

//! The fuzz targets: each takes any bytes and must neither panic, nor hang, nor eat the memory.
//!
//! The same functions serve cargo-fuzz (fuzz_targets/) and the `mutate` driver (src/bin/mutate.rs).

#![forbid(unsafe_code)]

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use slowpath_engine::Options;
use slowpath_explore::{ProbeKind, ProbeMemory, Spec};
use slowpath_kernel::count::{CountBy, count};
use slowpath_kernel::cpu::cpu;
use slowpath_kernel::io::{Known, io};
use slowpath_kernel::latency::{LatencyKind, latency};
use slowpath_kernel::timelines::Timelines;
use slowpath_model::{CpuId, Event, FieldVisitor, Projection};
use slowpath_platform::SharedMemory;
use slowpath_read_ctf::{CtfTrace, StreamFile, metadata};
use slowpath_read_ftrace::{EventFormatFile, FolderFiles, FtraceTrace, ReadOptions};
use slowpath_source::{NamedBytes, Source};

mod ignore;
mod spans;

/// A parser to throw bytes at.
pub struct Target {
    /// Its name, as on the command line.
    pub name: &'static str,
    /// Real inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target {
        name: "tsdl",
        seeds: || vec![fixture("ctf-metadata/lttng-ust.metadata"), small_tsdl()],
        run: parse_metadata,
    },
    Target {
        name: "ctf2_json",
        seeds: || vec![fixture("ctf-metadata/every-class.json")],
        run: parse_metadata,
    },
    Target {
        name: "ctf_packets",
        seeds: packet_seeds,
        run: read_packets,
    },
    Target {
        name: "packet_index",
        seeds: || vec![fixture("cpu-cgroup-ust/index/uchan_0.idx")],
        run: read_index,
    },
    Target {
        name: "trace_dat",
        seeds: || {
            ["everyday-v6", "everyday-v7-plain", "everyday-v7-zstd"]
                .map(|name| fixture(&format!("ftrace-trace-cmd/{name}.dat")))
                .into()
        },
        run: read_trace_dat,
    },
    Target {
        name: "ftrace_pages",
        seeds: || vec![fixture("ftrace-raw-pages/cpu0.raw")],
        run: read_pages,
    },
    Target {
        name: "spans",
        seeds: spans::seeds,
        run: spans::read,
    },
    Target {
        name: "transfers",
        seeds: || vec![fixture("transfers/planner.jsonl")],
        run: rank_transfers,
    },
    Target {
        name: "exploration",
        seeds: || {
            let examples = ["explore-redis/redis.toml", "explore-sqlite/small.toml"];
            let mut seeds: Vec<Vec<u8>> = examples.map(example).into();
            seeds.push(of_crate("explore/tests/specification.xml"));
            seeds
        },
        run: read_exploration,
    },
    Target {
        name: "probes",
        seeds: || vec![agent("probes/tests/golden/memory-v1.bin")],
        run: read_probes,
    },
];

/// Runs the target called `name` on `input`.
pub fn run(name: &str, input: &[u8]) {
    if let Some(target) = TARGETS.iter().find(|target| target.name == name) {
        (target.run)(input);
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(fixtures().join(name)).expect("the fixture is in the repository")
}

fn example(name: &str) -> Vec<u8> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    fs::read(examples.join(name)).expect("the example is in the repository")
}

fn agent(name: &str) -> Vec<u8> {
    let agents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents");
    fs::read(agents.join(name)).expect("it is in the repository")
}

fn of_crate(name: &str) -> Vec<u8> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    fs::read(crates.join(name)).expect("it is in the repository")
}

/// Memory that a program with probes shares: everything that is done with it. It has no records without end.
fn read_probes(input: &[u8]) {
    let Ok(memory) = SharedMemory::of_bytes(input) else {
        return;
    };
    let Ok(Some(mut memory)) = ProbeMemory::open(memory) else {
        return;
    };
    for kind in ProbeKind::ALL {
        memory.counts(kind);
        memory.unavailable(kind);
        memory.switch(kind, 7, 1);
        memory.switch_later_ones(kind, 1);
    }
    memory.probes();
    memory.program();
    let mut taken = 0;
    while memory.take(&ProbeKind::ALL, 16, &mut |_| taken += 1) > 0 {
        assert!(taken <= input.len(), "more records than bytes");
    }
}

/// A specification of an exploration, in TOML or XML, down to its grid and a configuration at random.
fn read_exploration(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let load = |_: &Path| Ok("threads {{threads}}".to_owned());
    if let Ok(spec) = Spec::parse(&text, "fuzz.toml", "fuzz", Path::new("."), &load) {
        let _ = spec.space.grid();
        let drawn = spec.space.sample(&mut fastrand::Rng::with_seed(1));
        assert!(drawn.is_none_or(|one| spec.space.objection(&one).is_none()));
    }
}

fn parse_metadata(input: &[u8]) {
    let _ = metadata::parse(&NamedBytes::new("metadata", input.to_vec()));
}

/// A layout with most of what TSDL has, in few bytes, so that mutations hit what matters.
fn small_tsdl() -> Vec<u8> {
    b"/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
typealias integer { size = 27; align = 1; map = clock.c.value; } := time;
trace { major = 1; minor = 8; byte_order = be;
  packet.header := struct { integer { size = 32; align = 8; } magic; u8 stream_id; }; };
env { hostname = \"h\"; n = -3; };
clock { name = c; freq = 1000; offset_s = 7; offset = 5; };
stream { id = 0;
  packet.context := struct { integer { size = 32; align = 32; } content_size; u8 cpu_id; };
  event.header := struct { enum : u8 { a = 0 ... 254, b } id;
    variant <id> { struct { time timestamp; } a; struct { u8 id; time timestamp; } b; } v; } align(8);
  event.context := struct { u8 _n; u8 s[_n]; }; };
event { id = 1; name = \"e\"; stream_id = 0; loglevel = 3;
  fields := struct { string s; floating_point { exp_dig = 8; mant_dig = 24; } f;
    enum : integer { size = 3; signed = true; } { x = -1, y } tag;
    variant <tag> { u8 x; struct { u8 q[2][3]; } y; } v; }; };
"
    .to_vec()
}

/// Every event, and every field of some.
fn read_everything(source: &dyn Source) {
    let decoder = source.decoder(&Projection::everything(source.schema()));
    for packet in source.packets() {
        let mut positions = Vec::new();
        let mut note = |event: &Event<'_>| {
            if positions.len() < 64 {
                positions.push(event.position);
            }
        };
        decoder.decode(packet.id, &mut note);
        for position in positions {
            let visitor: &mut dyn FieldVisitor = &mut ignore::Ignore;
            source.visit(packet.id, position, visitor);
        }
    }
}

/// What every reader's output is walked through and analysed with.
fn read_and_analyse(source: &dyn Source) {
    read_everything(source);
    let options = Options {
        jobs: NonZeroUsize::MIN,
        ..Options::default()
    };
    let _ = count(source, CountBy::Event, &options);
    let _ = cpu(source, &options);
    let _ = io(source, &Known::default(), &options);
    for kind in [LatencyKind::Syscall, LatencyKind::Irq, LatencyKind::Wakeup] {
        let _ = latency(source, kind, &options);
    }
    let _ = Timelines::build(source, &options);
}

/// The layouts that streams are read under: the first byte of the input chooses.
fn layouts() -> &'static [slowpath_read_ctf::layout::TraceLayout] {
    static LAYOUTS: std::sync::OnceLock<Vec<slowpath_read_ctf::layout::TraceLayout>> =
        std::sync::OnceLock::new();
    LAYOUTS.get_or_init(|| {
        let modules = fixture("ctf-metadata/lttng-modules.metadata.zst");
        let texts = [
            fixture("cpu-cgroup-ust/metadata"),
            fixture("ctf-metadata/every-class.json"),
            small_tsdl(),
            zstd::decode_all(&modules[..]).expect("the fixture is compressed by zstd"),
        ];
        let parsed = texts.map(|text| metadata::parse(&NamedBytes::new("metadata", text)));
        let layouts = parsed.into_iter().map(|metadata| {
            let metadata = metadata.unwrap_or_else(|wrong| panic!("a fixture: {wrong}"));
            metadata.layout
        });
        layouts.collect()
    })
}

fn packet_seeds() -> Vec<Vec<u8>> {
    let stream = fixture("cpu-cgroup-ust/uchan_0");
    let with_layout = |layout: u8, stream: &[u8]| [&[layout], stream].concat();
    (0..layouts().len() as u8)
        .map(|layout| with_layout(layout, &stream[..stream.len().min(4096)]))
        .chain([with_layout(0, &stream)])
        .collect()
}

fn read_packets(input: &[u8]) {
    let Some((&choice, stream)) = input.split_first() else {
        return;
    };
    let layout = layouts()[usize::from(choice) % layouts().len()].clone();
    let stream = NamedBytes::new("stream", stream.to_vec());
    let files = vec![StreamFile {
        stream,
        index: None,
        is_cut_off: false,
    }];
    read_and_analyse(&CtfTrace::new(layout, files));
}

fn read_index(input: &[u8]) {
    let files = vec![StreamFile {
        stream: NamedBytes::new("stream", fixture("cpu-cgroup-ust/uchan_0")),
        index: Some(NamedBytes::new("index", input.to_vec())),
        is_cut_off: false,
    }];
    read_and_analyse(&CtfTrace::new(layouts()[0].clone(), files));
}

fn read_trace_dat(input: &[u8]) {
    let file = NamedBytes::new("trace.dat", input.to_vec());
    if let Ok(trace) = FtraceTrace::from_trace_dat(file, ReadOptions::default()) {
        read_and_analyse(&trace);
    }
}

fn read_pages(input: &[u8]) {
    static FOLDER: std::sync::OnceLock<FolderFiles> = std::sync::OnceLock::new();
    let folder = FOLDER.get_or_init(folder_texts);
    let mut files = folder.clone();
    files.cpus = vec![(CpuId(0), NamedBytes::new("cpu0.raw", input.to_vec()))];
    if let Ok(trace) = FtraceTrace::from_folder(files, ReadOptions::default()) {
        read_and_analyse(&trace);
    }
}

fn folder_texts() -> FolderFiles {
    let folder = fixtures().join("ftrace-raw-pages");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let subfolders = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect()
    };
    let mut formats = Vec::new();
    for system in subfolders(&folder.join("events")) {
        for event in subfolders(&system) {
            let text = fs::read_to_string(event.join("format")).unwrap_or_default();
            let name = system.file_name().unwrap_or_default();
            formats.push(EventFormatFile {
                system: name.to_string_lossy().into_owned(),
                text,
            });
        }
    }
    FolderFiles {
        header_page: text("header_page"),
        header_event: text("header_event"),
        trace_clock: text("trace_clock"),
        formats,
        ..FolderFiles::default()
    }
}

fn rank_transfers(input: &[u8]) {
    let (transfers, _) = slowpath_read_transfers::read_transfers("fuzz", input);
    let report = slowpath_transfers::Report::new(transfers.as_slice(), 0);
    assert_eq!(report.rows, report.transfers.len());
}

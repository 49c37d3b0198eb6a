//! Makes a large CTF trace out of a small one: its packets again and again, each time later.
//!
//! What every stream holds stays what a tracer wrote; only times and packet numbers move.

use std::fs;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rustix::fs::{Advice, fadvise};
use slowpath_model::PacketId;
use slowpath_platform::MappedFile;
use slowpath_read_ctf::{ClockShift, CtfTrace, StreamFile, metadata};
use slowpath_source::{NamedBytes, Source};

/// Writes traces of at least `bytes` bytes together into `target`: of the trace `source`, or of all
/// traces below it, which stay as they lie in time to each other. Returns how often it holds `source`.
pub fn enlarge(source: &Path, target: &Path, bytes: u64) -> anyhow::Result<u64> {
    let mut traces = Vec::new();
    for folder in traces_below(source)? {
        let place = target.join(folder.strip_prefix(source).unwrap_or(Path::new("")));
        traces.push((open(&folder)?, folder, place));
    }
    let packets = || traces.iter().flat_map(|(trace, ..)| trace.packets());
    let size: u64 = packets().map(|packet| packet.size).sum();
    let (Some(begin), Some(end)) = (
        packets().map(|packet| packet.range.begin).min(),
        packets().map(|packet| packet.range.end).max(),
    ) else {
        bail!("{} has no packets", source.display());
    };
    // A second of nothing between two copies.
    let step = ClockShift::at_least(end.since(begin).get() + 1_000_000_000);
    let copies = bytes.div_ceil(size.max(1)).max(1);
    for (trace, folder, place) in &traces {
        write_copies(trace, folder, place, step, copies)?;
    }
    Ok(copies)
}

fn write_copies(
    trace: &CtfTrace,
    source: &Path,
    target: &Path,
    step: ClockShift,
    copies: u64,
) -> anyhow::Result<()> {
    fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    fs::copy(source.join("metadata"), target.join("metadata"))?;
    for stream in trace.streams() {
        let name = Path::new(&stream.name).file_name().unwrap_or_default();
        let path = target.join(name);
        let mut file = BufWriter::with_capacity(1 << 20, fs::File::create(&path)?);
        let packets = stream.packets.end - stream.packets.start;
        for copy in 0..copies {
            let shift = ClockShift::at_least(step.cycles() * copy);
            for id in stream.packets.clone().map(PacketId) {
                let moved = trace
                    .shifted_packet(id, shift, copy * u64::from(packets))
                    .with_context(|| format!("packet {id} of {} cannot be moved", stream.name))?;
                file.write_all(&moved)?;
            }
        }
        // What would be written to the disk later would disturb what is measured then.
        let file = file.into_inner()?;
        file.sync_data()?;
        fadvise(file, 0, None, Advice::DontNeed)?;
        read_back(&path)?;
    }
    Ok(())
}

/// Reads a file from the disk as slowpath does. Who reads a file first, or writes it, decides how large its pages in
/// memory are, and so what everybody's later reading costs.
fn read_back(path: &Path) -> anyhow::Result<()> {
    let file = MappedFile::open(path)?;
    let pages = file.as_ref().chunks(4096);
    black_box(pages.map(|page| u64::from(page[0])).sum::<u64>());
    Ok(())
}

/// The folders at or below `folder` that are CTF traces, in order.
fn traces_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if folder.join("metadata").is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut below: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<anyhow::Result<_>>()?;
    below.sort();
    let mut traces = Vec::new();
    for entry in below.iter().filter(|entry| entry.is_dir()) {
        traces.append(&mut traces_below(entry)?);
    }
    Ok(traces)
}

/// Opens a CTF trace.
pub fn open(folder: &Path) -> anyhow::Result<CtfTrace> {
    let map = |path: &Path| -> anyhow::Result<NamedBytes> {
        let file =
            MappedFile::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(NamedBytes::new(path.display().to_string(), file))
    };
    let description = metadata::parse(&map(&folder.join("metadata"))?)
        .map_err(|diagnostic| anyhow::anyhow!("{diagnostic}"))?;
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file() && !path.ends_with("metadata"))
        .collect();
    paths.sort();
    let files = paths.iter().map(|path| {
        let stream = map(path)?;
        Ok(StreamFile {
            stream,
            index: None,
            is_cut_off: false,
        })
    });
    let files: anyhow::Result<Vec<StreamFile>> = files.collect();
    Ok(CtfTrace::new(description.layout, files?))
}

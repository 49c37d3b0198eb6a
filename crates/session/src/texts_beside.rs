//! Small files that the recorder leaves beside the kernel's pages: names of disks and interrupts, and the
//! addresses of the kernel's functions.
//!
//! Recordings do without any of them; one that is there and cannot be understood is told. What `/proc` had
//! to say of processes is in `state_dump`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use slowpath_model::{Diagnostic, DiagnosticCode, Place};

use crate::discover::unreadable;
use crate::open::{damaged, is_absent};

/// The names of disks by their numbers (`254:0`).
pub(crate) fn disk_names(
    folder: &Path,
    diagnostics: &mut Vec<Diagnostic>,
) -> BTreeMap<String, String> {
    let names = table(folder, "block_devices.json", "disks go by their numbers");
    told(names, diagnostics).unwrap_or_default()
}

/// Tells which of the files that only some commands use cannot be understood.
pub(crate) fn check(folder: &Path, diagnostics: &mut Vec<Diagnostic>) {
    let missing = "names of interrupts may be missing";
    let names = table::<BTreeMap<u32, String>>(folder, "interrupts.json", missing);
    told(names, diagnostics);
    told(symbols(folder), diagnostics);
}

fn told<T>(read: Result<Option<T>, Diagnostic>, diagnostics: &mut Vec<Diagnostic>) -> Option<T> {
    read.unwrap_or_else(|wrong| {
        diagnostics.push(wrong);
        None
    })
}

/// A file as bytes; `None` where there is none.
fn bytes(path: &Path) -> Result<Option<Vec<u8>>, Diagnostic> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(cause) if is_absent(&cause) => Ok(None),
        Err(cause) => Err(unreadable(path, &cause)),
    }
}

fn table<T: DeserializeOwned>(
    folder: &Path,
    name: &str,
    missing: &str,
) -> Result<Option<T>, Diagnostic> {
    let path = folder.join(name);
    let understood = |text: Vec<u8>| {
        let table = serde_json::from_slice(&text);
        table.map_err(|error| damaged(&path, format!("{error}; {missing}")))
    };
    bytes(&path)?.map(understood).transpose()
}

/// `kallsyms`, of which each line is an address, a kind and a name; the last one may be cut off.
fn symbols(folder: &Path) -> Result<Option<()>, Diagnostic> {
    let path = folder.join("kallsyms");
    let Some(text) = bytes(&path)? else {
        return Ok(None);
    };
    let is_symbol = |line: &[u8]| {
        let mut words = line.split(u8::is_ascii_whitespace);
        let address = words.next().unwrap_or_default();
        !address.is_empty()
            && address.iter().all(u8::is_ascii_hexdigit)
            && words.next().is_some_and(|kind| kind.len() == 1)
            && words.next().is_some_and(|name| !name.is_empty())
    };
    let lines = text.split_inclusive(|byte| *byte == b'\n').zip(1..);
    let mut damaged = lines.filter(|(line, _)| line.ends_with(b"\n") && !is_symbol(line));
    let Some((_, first)) = damaged.next() else {
        return Ok(Some(()));
    };
    let place = Place {
        file: path.display().to_string(),
        line: Some((first, 1)),
        ..Place::default()
    };
    let message =
        "lines cannot be understood; causes that the kernel's functions tell may be missing";
    Err(Diagnostic {
        count: Some(1 + damaged.count() as u64),
        ..Diagnostic::new(DiagnosticCode::InvalidFile, place, message)
    })
}

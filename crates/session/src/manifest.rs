//! `slowpath.json`, which a recording carries at its root (docs/formats/recording.md).

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// What a recording says about itself, as far as reading it needs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// Version of the folder's format.
    pub format_version: u32,
    /// The host that was recorded.
    pub host: String,
    /// Its kernel.
    pub kernel_release: String,
    /// Its architecture, as `uname -m` says.
    pub machine: String,
    /// Identifies one run of the host's kernel.
    pub boot_id: String,
    /// Clocks of the host.
    pub clocks: Vec<ClockOffset>,
    /// `standard` or `snapshot`.
    pub mode: String,
    /// The recorded command.
    pub command: Option<Vec<String>>,
    /// Whether the recorder ended in order.
    pub complete: bool,
}

/// How a clock of the host relates to wall time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClockOffset {
    /// For instance `monotonic`.
    pub name: String,
    /// Epoch time minus the clock, in nanoseconds.
    pub offset_to_epoch_ns: i64,
}

impl Manifest {
    /// The manifest of the recording that `trace` lies in, with the recording's folder: at most
    /// three levels up.
    pub(crate) fn above(trace: &Path) -> Option<(PathBuf, Self)> {
        let folders = trace.ancestors().take(4);
        folders
            .filter_map(|folder| {
                let text = fs::read(folder.join("slowpath.json")).ok()?;
                let manifest = serde_json::from_slice(&text).ok()?;
                Some((folder.to_owned(), manifest))
            })
            .next()
    }

    /// Epoch time minus the monotonic clock, in nanoseconds; 0 where it is not stated.
    pub fn monotonic_offset_ns(&self) -> i64 {
        let clock = self.clocks.iter().find(|clock| clock.name == "monotonic");
        clock.map_or(0, |clock| clock.offset_to_epoch_ns)
    }
}

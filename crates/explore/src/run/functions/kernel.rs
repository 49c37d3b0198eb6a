//! Uprobes on functions, as the kernel's tracing file system defines them: what explorers name them, and what to say
//! where there are none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use slowpath_platform::tracefs::find_or_mount;
use slowpath_platform::uprobes;

use super::Unusable;

/// What the groups of all explorers begin with.
const PREFIX: &str = "slowpath_explore_";

/// The name below which this process defines probes: it tells of whom they are.
pub(crate) fn own_group() -> String {
    uprobes::own_group(PREFIX)
}

/// Probes that are defined; their definitions end with this.
#[derive(Debug)]
pub(super) struct Definitions {
    tracing: PathBuf,
    defined: uprobes::Definitions,
    count: usize,
}

impl Definitions {
    pub(super) fn new() -> Result<Self, Unusable> {
        let tracing = find_or_mount().map_err(|error| Unusable {
            what: format!("functions cannot be observed: {error}"),
            hint: "observing functions needs root, or CAP_PERFMON and a tracing file system that may be written"
                .to_owned(),
        })?;
        Ok(Self {
            defined: uprobes::Definitions::new(tracing.clone(), own_group()),
            tracing,
            count: 0,
        })
    }

    /// Defines a probe at an offset of a file, of the entry or of returns; gives the number by which it is opened.
    pub(super) fn add(
        &mut self,
        path: &Path,
        offset: u64,
        is_return: bool,
    ) -> Result<u64, Unusable> {
        let text = path.display().to_string();
        if text.contains(|letter: char| letter.is_whitespace() || letter == '#') {
            return Err(Unusable {
                what: format!(
                    "the kernel takes no probe for `{text}`: its path has a space or `#`"
                ),
                hint: "name it by a link whose path has none".to_owned(),
            });
        }
        let unusable = |cause: io::Error| {
            Unusable {
            what: format!("the kernel takes no probe at {offset:#x} of {text}: {cause}"),
            hint: match cause.kind() {
                io::ErrorKind::NotFound => "it has no uprobes (CONFIG_UPROBE_EVENTS)",
                io::ErrorKind::PermissionDenied => {
                    "observing functions needs root, or CAP_PERFMON and a tracing file system that may be written"
                }
                _ => "its error_log in the tracing folder may say more",
            }
            .to_owned(),
        }
        };
        let name = format!("f{}", self.count);
        (self.defined.add(&name, path, offset, is_return, "")).map_err(unusable)?;
        self.count += 1;
        let events = self.tracing.join("events").join(self.defined.group());
        let id = fs::read_to_string(events.join(&name).join("id"));
        let id = id.map_err(unusable)?;
        id.trim()
            .parse()
            .map_err(|_| unusable(io::ErrorKind::InvalidData.into()))
    }
}

/// Removes what an explorer that was killed has defined.
pub(crate) fn remove_group(group: &str) {
    if let Ok(tracing) = find_or_mount() {
        uprobes::remove(&tracing, |other| other == group);
    }
}

/// Removes what explorers that are no more have defined.
pub(crate) fn remove_leftovers() {
    if let Ok(tracing) = find_or_mount() {
        uprobes::remove_leftovers(&tracing, PREFIX);
    }
}

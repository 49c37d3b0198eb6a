//! Where the kernel's tracing file system is, and the rights that it takes to use it.
//!
//! Finds the mount or makes one. What is done with the files in it is the recorder's affair.

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::mount::{MountFlags, mount};

const USUAL_PLACE: &str = "/sys/kernel/tracing";
const PLACE_BESIDE_DEBUGFS: &str = "/sys/kernel/debug/tracing";

/// Why the tracing file system cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TracefsError {
    /// Nothing is mounted and the mount was refused.
    #[error("tracefs is not mounted and mounting it at {place} failed: {cause}")]
    NotMountable {
        /// Where the mount was tried.
        place: PathBuf,
        /// What mount(2) answered.
        cause: io::Error,
    },
    /// It is mounted, but this process may not use it.
    #[error("{path} may not be used: {cause}")]
    Forbidden {
        /// The file that was refused.
        path: PathBuf,
        /// What the kernel answered.
        cause: io::Error,
    },
}

/// Finds the mounted tracing file system, mounting it where there is none, and makes sure that
/// tracing instances may be created in it.
///
/// # Errors
/// When it is neither mounted nor mountable, or when this process has no write access to it.
pub fn find_or_mount() -> Result<PathBuf, TracefsError> {
    let root = match mounted() {
        Ok(Some(root)) => root,
        Ok(None) => {
            let place = PathBuf::from(USUAL_PLACE);
            mount("nodev", USUAL_PLACE, "tracefs", MountFlags::empty(), None).map_err(|cause| {
                TracefsError::NotMountable {
                    place: place.clone(),
                    cause: cause.into(),
                }
            })?;
            place
        }
        Err((path, cause)) => return Err(TracefsError::Forbidden { path, cause }),
    };
    let instances = root.join("instances");
    // What `access` says is of the real user, without what capabilities allow.
    accessat(CWD, &instances, Access::WRITE_OK, AtFlags::EACCESS).map_err(|cause| {
        TracefsError::Forbidden {
            path: instances,
            cause: cause.into(),
        }
    })?;
    Ok(root)
}

/// Opens a processor's `trace_pipe_raw`, from which reading never blocks.
///
/// # Errors
/// When the file cannot be opened.
pub fn open_ring(path: &Path) -> io::Result<fs::File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    fs::File::options()
        .read(true)
        .custom_flags(flags as i32)
        .open(path)
}

/// The mount that holds an `instances` folder; `Err` names a place that exists but is closed to us.
fn mounted() -> Result<Option<PathBuf>, (PathBuf, io::Error)> {
    for place in [USUAL_PLACE, PLACE_BESIDE_DEBUGFS] {
        let instances = Path::new(place).join("instances");
        match fs::metadata(&instances) {
            Ok(_) => return Ok(Some(PathBuf::from(place))),
            Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
                return Err((instances, cause));
            }
            Err(_) => {}
        }
    }
    Ok(None)
}

/// A capability that recording may need: its name and its number in `linux/capability.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Opening files whose permissions exclude this user, as tracefs's do.
    DacOverride = 1,
    /// Mounting tracefs.
    SysAdmin = 21,
    /// Observing other processes' performance.
    Perfmon = 38,
}

impl Capability {
    /// The name as capabilities(7) writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::DacOverride => "CAP_DAC_OVERRIDE",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::Perfmon => "CAP_PERFMON",
        }
    }
}

/// The capabilities of `wanted` that this process lacks.
pub fn missing_capabilities(wanted: &[Capability]) -> Vec<Capability> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = effective_capabilities(&status);
    wanted
        .iter()
        .copied()
        .filter(|one| effective & (1 << (*one as u32)) == 0)
        .collect()
}

/// The bit set behind `CapEff:` of a `/proc/PID/status`; none where the line is absent.
fn effective_capabilities(status: &str) -> u64 {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_set_is_read_from_its_line() {
        let status = "CapInh:\t0000000000000000\nCapEff:\t0000000000200002\nCapBnd:\tffff\n";
        assert_eq!(effective_capabilities(status), 1 << 21 | 1 << 1);
        assert_eq!(effective_capabilities("Name:\tbash\n"), 0);
    }
}

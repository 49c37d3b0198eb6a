//! Whose files are: a folder with all that is in it is handed to another user.
//!
//! Every name is looked up in a folder that is held open, and no link is followed, so that whoever
//! may write in there cannot have anything else handed over.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fchown, open, openat,
    statat,
};

/// A user and the group that files of theirs get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Number of the user.
    pub user: u32,
    /// Number of the group.
    pub group: u32,
}

impl Owner {
    /// Who called `sudo`, where this process acts for root on behalf of somebody else.
    pub fn behind_sudo() -> Option<Self> {
        let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
        let (user, group) = (number("SUDO_UID")?, number("SUDO_GID")?);
        let is_meant = crate::process::is_root() && user != 0 && user != u32::MAX;
        (is_meant && group != u32::MAX).then_some(Self { user, group })
    }
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Gives `folder` and everything in it that is this process's user's to `owner`, the folder last.
///
/// # Errors
/// The first thing that the system refused; the rest is handed over all the same.
pub fn hand_over(folder: &Path, owner: Owner) -> io::Result<()> {
    let opened = open(folder, FOLDER, Mode::empty())?;
    let mut result = Ok(());
    hand_over_content(opened.as_fd(), owner, &mut result);
    let (user, group) = ids(owner);
    fchown(&opened, Some(user), Some(group))?;
    result
}

fn hand_over_content(folder: BorrowedFd<'_>, owner: Owner, result: &mut io::Result<()>) {
    let mut note = |outcome: rustix::io::Result<()>| {
        if let (Err(error), true) = (outcome, result.is_ok()) {
            *result = Err(error.into());
        }
    };
    let entries = match Dir::read_from(folder) {
        Ok(entries) => entries,
        Err(error) => return note(Err(error)),
    };
    let (user, group) = ids(owner);
    let own = rustix::process::geteuid().as_raw();
    let mut folders = Vec::new();
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                note(Err(error));
                break;
            }
        };
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let about = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => about,
            Err(error) => {
                note(Err(error));
                continue;
            }
        };
        let is_folder = FileType::from_raw_mode(about.st_mode) == FileType::Directory;
        if is_folder {
            match openat(folder, name, FOLDER, Mode::empty()) {
                Ok(opened) => folders.push(opened),
                Err(error) => note(Err(error)),
            }
        } else if about.st_uid == own && about.st_nlink == 1 {
            // A file with a second name may be something else elsewhere.
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            note(chownat(folder, name, Some(user), Some(group), flags));
        }
    }
    for opened in folders {
        hand_over_content(opened.as_fd(), owner, result);
        if let (Err(error), true) = (fchown(&opened, Some(user), Some(group)), result.is_ok()) {
            *result = Err(error.into());
        }
    }
}

fn ids(owner: Owner) -> (Uid, Gid) {
    (Uid::from_raw(owner.user), Gid::from_raw(owner.group))
}

/// Makes `folder` this process's user's own again.
///
/// # Errors
/// Where that is not for this user to do.
pub fn take_over(folder: &Path) -> io::Result<()> {
    let opened = open(folder, FOLDER, Mode::empty())?;
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    Ok(fchown(&opened, Some(user), Some(group))?)
}

/// Whether this process may make files in `folder`.
pub fn may_write(folder: &Path) -> bool {
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::accessat(CWD, folder, wanted, AtFlags::EACCESS).is_ok()
}

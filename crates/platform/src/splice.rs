//! Pages from a kernel buffer into a file through a pipe, without a copy in user space.
//!
//! The pipe outlives a call that failed half-way, so that a process which inherited it (the
//! recorder's guardian) can write what is still inside. It knows nothing of what the pages hold.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

/// The most that a pipe holds: what it is asked for. The kernel may grant less to a process without rights.
pub const MOST_PIPE_BYTES: usize = 1 << 20;

/// A pipe that whole pages pass through on their way to a file.
#[derive(Debug)]
pub struct PagePipe {
    reader: OwnedFd,
    writer: OwnedFd,
    capacity: usize,
}

impl PagePipe {
    /// Makes the pipe, as large as the kernel allows up to 1 MiB.
    ///
    /// # Errors
    /// When no pipe can be had.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let capacity = fcntl_setpipe_size(&writer, MOST_PIPE_BYTES).or_else(|_| {
            let page = rustix::param::page_size();
            Ok::<usize, io::Error>(16 * page)
        })?;
        Ok(Self {
            reader,
            writer,
            capacity,
        })
    }

    /// Takes what `from` has to give at once, in whole pages, as far as the pipe has room; returns the
    /// bytes, 0 when there was nothing.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub fn take(&self, from: impl AsFd) -> io::Result<usize> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        loop {
            match splice(from.as_fd(), None, &self.writer, None, self.capacity, flags) {
                Ok(count) => return Ok(count),
                Err(Errno::AGAIN) => return Ok(0),
                Err(Errno::INTR) => {}
                Err(cause) => return Err(cause.into()),
            }
        }
    }

    /// Writes what is in the pipe to the end of `to`; returns the bytes written.
    ///
    /// # Errors
    /// When the file cannot be written (no space left, for instance); what was not written stays in it.
    pub fn empty_into(&self, to: &mut File) -> io::Result<u64> {
        let mut moved = 0;
        loop {
            let waiting = rustix::io::ioctl_fionread(&self.reader)?;
            if waiting == 0 {
                return Ok(moved);
            }
            let size = waiting as usize;
            match splice(
                &self.reader,
                None,
                to.as_fd(),
                None,
                size,
                SpliceFlags::MOVE,
            ) {
                Ok(count) => moved += count as u64,
                Err(Errno::INTR) => {}
                // Some file systems take no spliced pages: copy them.
                Err(Errno::INVAL) => moved += self.copy_into(to, size)?,
                Err(cause) => return Err(cause.into()),
            }
        }
    }

    fn copy_into(&self, to: &mut File, size: usize) -> io::Result<u64> {
        let mut buffer = vec![0; size];
        let count = rustix::io::read(&self.reader, &mut buffer)?;
        to.write_all(&buffer[..count])?;
        Ok(count as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    #[test]
    fn bytes_arrive_whole_and_in_order() -> io::Result<()> {
        let content: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
        let mut source = tempfile::tempfile()?;
        source.write_all(&content)?;
        source.rewind()?;
        let mut target = tempfile::tempfile()?;
        target.write_all(b"before")?;

        let pipe = PagePipe::new()?;
        let mut moved = 0;
        while pipe.take(&source)? > 0 {
            moved += pipe.empty_into(&mut target)?;
        }

        assert_eq!(moved, content.len() as u64);
        let mut written = Vec::new();
        target.rewind()?;
        target.read_to_end(&mut written)?;
        assert_eq!(&written[..6], b"before");
        assert!(
            written[6..] == content,
            "the copied bytes differ from the source"
        );
        Ok(())
    }

    #[test]
    fn pages_that_could_not_be_written_stay_in_the_pipe() -> io::Result<()> {
        let mut source = tempfile::tempfile()?;
        source.write_all(&[7; 8192])?;
        source.rewind()?;
        let pipe = PagePipe::new()?;
        let mut closed_to_writers = File::open("/dev/null")?;
        assert_eq!(pipe.take(&source)?, 8192);
        pipe.empty_into(&mut closed_to_writers)
            .expect_err("opened for reading only");

        let mut target = tempfile::tempfile()?;
        assert_eq!(pipe.empty_into(&mut target)?, 8192);
        Ok(())
    }
}

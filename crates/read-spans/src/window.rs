//! The part of an input that is in memory: parsers look at it, use it up, and ask for more.
//!
//! Grows only as bytes arrive, never by what a length in the input claims.

use std::io::{self, Read};

/// No value of an input may need more at once; the rest of the input is given up then.
const MOST_BYTES: usize = 512 << 20;
const FIRST_BYTES: usize = 256 << 10;

/// What is in memory of an input.
pub(crate) struct Window<'input> {
    input: Box<dyn Read + 'input>,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    /// Bytes of the input before the buffer.
    before: u64,
    ended: bool,
    /// Why reading failed before the input's end.
    pub(crate) failure: Option<io::Error>,
    /// Whether a value needed more than may be held.
    pub(crate) too_large: bool,
}

impl<'input> Window<'input> {
    pub(crate) fn new(input: Box<dyn Read + 'input>) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            begin: 0,
            end: 0,
            before: 0,
            ended: false,
            failure: None,
            too_large: false,
        }
    }

    /// What is there and not used up.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.begin..self.end]
    }

    /// Where in the input [`Self::bytes`] begin.
    pub(crate) fn position(&self) -> u64 {
        self.before + self.begin as u64
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.begin = (self.begin + count).min(self.end);
    }

    /// Puts more behind [`Self::bytes`]; false where there is no more to be had.
    pub(crate) fn more(&mut self) -> bool {
        if self.ended {
            return false;
        }
        let kept = self.end - self.begin;
        self.buffer.copy_within(self.begin..self.end, 0);
        self.before += self.begin as u64;
        (self.begin, self.end) = (0, kept);
        if kept * 2 > self.buffer.len() || self.buffer.is_empty() {
            if self.buffer.len() >= MOST_BYTES {
                self.too_large = true;
                return false;
            }
            let size = (self.buffer.len() * 2).max(FIRST_BYTES);
            self.buffer.resize(size, 0);
        }
        // Filled to the brim, so that a value that is looked at again has at least doubled.
        while self.end < self.buffer.len() && !self.ended {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => {
                    self.failure = Some(cause);
                    self.ended = true;
                }
            }
        }
        self.end > kept
    }

    /// Sees to it that at least `count` bytes are there, if the input has them.
    pub(crate) fn ensure(&mut self, count: usize) -> bool {
        while self.bytes().len() < count {
            if !self.more() {
                return false;
            }
        }
        true
    }

    /// The rest of the input, from [`Self::bytes`] on.
    pub(crate) fn into_rest(self) -> impl Read + 'input {
        let held = self.buffer[self.begin..self.end].to_vec();
        let failure = self.failure.map(Failing);
        io::Cursor::new(held)
            .chain(FailureFirst { failure })
            .chain(self.input)
    }
}

struct Failing(io::Error);

/// A failure that was met while looking ahead, met again at its place.
struct FailureFirst {
    failure: Option<Failing>,
}

impl Read for FailureFirst {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.failure.take() {
            Some(Failing(cause)) => Err(cause),
            None => Ok(0),
        }
    }
}

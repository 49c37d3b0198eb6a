//! Walks JSON in a window: into objects and arrays, over values that nobody wants.
//!
//! Knows structure only. Values that are wanted are handed out as bytes, and a JSON library parses them.
//! No recursion: a value may be nested as deep as it likes.

use memchr::memchr3;
use serde::Deserialize;
use slowpath_model::{DiagnosticCode, json_in_unicode};

use crate::builder::Builder;
use crate::window::Window;

/// Why a walk cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The input ends within a value.
    End,
    /// It is not JSON.
    Invalid(&'static str),
}

/// A walk through an object or array.
pub(crate) struct Inside {
    first: bool,
}

pub(crate) struct Walker<'window, 'input> {
    window: &'window mut Window<'input>,
}

impl<'window, 'input> Walker<'window, 'input> {
    pub(crate) fn new(window: &'window mut Window<'input>) -> Self {
        Self { window }
    }

    pub(crate) fn position(&self) -> u64 {
        self.window.position()
    }

    pub(crate) fn skip_byte_order_mark(&mut self) {
        if self.window.ensure(3) && self.window.bytes().starts_with(b"\xef\xbb\xbf") {
            self.window.consume(3);
        }
    }

    /// The next byte that is no white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            let bytes = self.window.bytes();
            let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace());
            let blank = blank.count();
            let found = bytes.get(blank).copied();
            self.window.consume(blank);
            if found.is_some() || !self.window.more() {
                return found;
            }
        }
    }

    fn expect(&mut self, expected: u8, what: &'static str) -> Result<(), Stop> {
        match self.peek() {
            Some(found) if found == expected => {
                self.window.consume(1);
                Ok(())
            }
            Some(_) => Err(Stop::Invalid(what)),
            None => Err(Stop::End),
        }
    }

    pub(crate) fn array(&mut self) -> Result<Inside, Stop> {
        self.expect(b'[', "a list is expected")?;
        Ok(Inside { first: true })
    }

    /// Goes to the next element; false behind the last, out of the array.
    pub(crate) fn next_element(&mut self, inside: &mut Inside) -> Result<bool, Stop> {
        if self.next(inside, b']')? {
            return Ok(true);
        }
        self.window.consume(1);
        Ok(false)
    }

    pub(crate) fn object(&mut self) -> Result<Inside, Stop> {
        self.expect(b'{', "an object is expected")?;
        Ok(Inside { first: true })
    }

    /// Goes to the value of the next key; `None` behind the last, out of the object.
    pub(crate) fn next_key(&mut self, inside: &mut Inside) -> Result<Option<String>, Stop> {
        if !self.next(inside, b'}')? {
            self.window.consume(1);
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return Err(Stop::Invalid("a key is expected"));
        }
        let key = self.text()?.ok_or(Stop::Invalid("a key is no text"))?;
        self.expect(b':', "a colon is expected behind a key")?;
        Ok(Some(key))
    }

    fn next(&mut self, inside: &mut Inside, close: u8) -> Result<bool, Stop> {
        let next = self.peek().ok_or(Stop::End)?;
        if next == close {
            return Ok(false);
        }
        if !std::mem::take(&mut inside.first) {
            self.expect(b',', "a comma is expected")?;
            self.peek().ok_or(Stop::End)?;
        }
        Ok(true)
    }

    /// Leaves out a value.
    pub(crate) fn skip(&mut self) -> Result<(), Stop> {
        let length = self.value_length()?;
        self.window.consume(length);
        Ok(())
    }

    /// Hands the input to `parse`, which reads the object or list that it begins with ([`read_front`]);
    /// where it cannot, the value is counted as damaged and left out.
    pub(crate) fn value<Parsed>(
        &mut self,
        builder: &mut Builder<'_>,
        parse: impl Fn(&[u8], u64, &mut Builder<'_>) -> Result<(Parsed, usize), serde_json::Error>,
    ) -> Result<Option<Parsed>, Stop> {
        self.peek().ok_or(Stop::End)?;
        let place = self.window.position();
        let mut parsed = parse(self.window.bytes(), place, builder);
        if parsed.is_err() {
            // Mostly it was not all there. Only now it is worth while to look for its end.
            let length = self.value_length()?;
            let value = &self.window.bytes()[..length];
            parsed = parse(value, place, builder);
            if parsed.is_err()
                && let Some(mended) = json_in_unicode(value)
            {
                parsed = parse(&mended, place, builder);
            }
            if parsed.is_err() {
                self.window.consume(length);
            }
        }
        match parsed {
            Ok((parsed, length)) => {
                self.window.consume(length);
                Ok(Some(parsed))
            }
            Err(wrong) => {
                builder.problem(DiagnosticCode::InvalidSpan, place, || wrong.to_string());
                Ok(None)
            }
        }
    }

    /// Reads a text.
    pub(crate) fn text(&mut self) -> Result<Option<String>, Stop> {
        let length = self.value_length()?;
        let text = &self.window.bytes()[..length];
        let read = serde_json::from_slice(text)
            .or_else(|wrong| {
                let mended = json_in_unicode(text).ok_or(wrong)?;
                serde_json::from_slice(&mended)
            })
            .ok();
        self.window.consume(length);
        Ok(read)
    }

    /// Bytes of the next value, all of which are in the window then.
    fn value_length(&mut self) -> Result<usize, Stop> {
        self.peek().ok_or(Stop::End)?;
        loop {
            match length_of_value(self.window.bytes()) {
                Ok(length) => return Ok(length),
                Err(NoValue::End) if self.window.more() => {}
                // A number ends with the input as well.
                Err(NoValue::End) if self.ends_with_word() => {
                    return Ok(self.window.bytes().len());
                }
                Err(NoValue::End) => return Err(Stop::End),
                Err(NoValue::Invalid(at, what)) => {
                    // Not looked at again.
                    self.window.consume(at);
                    return Err(Stop::Invalid(what));
                }
            }
        }
    }

    fn ends_with_word(&self) -> bool {
        let bytes = self.window.bytes();
        !bytes.is_empty() && !self.window.too_large && bytes.iter().all(|&byte| is_word(byte))
    }

    /// Which of `keys` the object ahead has first (but the last of them only if it has no other), as far
    /// as can be seen.
    pub(crate) fn first_known_key(&mut self, keys: &[&'static str]) -> Option<&'static str> {
        const LOOK_AHEAD: usize = 16 << 10;
        self.window.ensure(LOOK_AHEAD);
        let mut rest = self.window.bytes().strip_prefix(b"{")?;
        let mut weak = None;
        loop {
            rest = rest.trim_ascii_start();
            let key = length_of_value(rest)
                .ok()
                .filter(|_| rest.starts_with(b"\""));
            let Some(length) = key else {
                return weak;
            };
            let text = &rest[1..length - 1];
            let position = keys.iter().position(|key| key.as_bytes() == text);
            match position {
                Some(position) if position + 1 == keys.len() => weak = Some(keys[position]),
                Some(position) => return Some(keys[position]),
                None => {}
            }
            let value = rest[length..].trim_ascii_start().strip_prefix(b":")?;
            let value = value.trim_ascii_start();
            let Ok(length) = length_of_value(value) else {
                return weak;
            };
            let after = value[length..].trim_ascii_start();
            let Some(after) = after.strip_prefix(b",") else {
                return weak;
            };
            rest = after;
        }
    }

    /// Gives up the document: on to the next line that begins with `{`. Where the walk stopped at a `{`
    /// that does not belong there, that is it.
    pub(crate) fn skip_to_next_document(&mut self, stop: Stop) -> bool {
        if stop != Stop::End && self.window.bytes().first() == Some(&b'{') {
            return true;
        }
        loop {
            let bytes = self.window.bytes();
            match memchr::memmem::find(bytes, b"\n{") {
                Some(position) => {
                    self.window.consume(position + 1);
                    return true;
                }
                None => {
                    // The line break may be the last byte that is there.
                    let kept = usize::from(bytes.last() == Some(&b'\n'));
                    let used = bytes.len() - kept;
                    self.window.consume(used);
                    if !self.window.more() {
                        return false;
                    }
                }
            }
        }
    }
}

/// The object or list that `bytes` begin with, and its length.
pub(crate) fn read_front<'bytes, Parsed: Deserialize<'bytes>>(
    bytes: &'bytes [u8],
) -> Result<(Parsed, usize), serde_json::Error> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter();
    match values.next() {
        Some(parsed) => Ok((parsed?, values.byte_offset())),
        None => Err(serde::de::Error::custom("there is no value")),
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Why there is no whole value; where the bytes stop making sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoValue {
    End,
    Invalid(usize, &'static str),
}

/// Bytes of the value that `bytes` begin with.
fn length_of_value(bytes: &[u8]) -> Result<usize, NoValue> {
    match bytes.first().ok_or(NoValue::End)? {
        b'"' => end_of_text(bytes, 0),
        b'{' | b'[' => end_of_container(bytes),
        byte if is_word(*byte) => {
            let end = bytes.iter().position(|&byte| !is_word(byte));
            end.ok_or(NoValue::End)
        }
        _ => Err(NoValue::Invalid(0, "no value begins so")),
    }
}

/// The place behind the text that begins (with its quote) at `begin`.
fn end_of_text(bytes: &[u8], begin: usize) -> Result<usize, NoValue> {
    let mut at = begin + 1;
    loop {
        let rest = bytes.get(at..).ok_or(NoValue::End)?;
        at += memchr3(b'"', b'\\', b'\n', rest).ok_or(NoValue::End)?;
        match bytes[at] {
            b'"' => return Ok(at + 1),
            b'\\' => at += 2,
            _ => return Err(NoValue::Invalid(at, "a text runs into the next line")),
        }
    }
}

fn end_of_container(bytes: &[u8]) -> Result<usize, NoValue> {
    let mut depth = 0usize;
    let mut at = 0;
    loop {
        match *bytes.get(at).ok_or(NoValue::End)? {
            b'"' => {
                at = end_of_text(bytes, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Ok(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_values() {
        let check = |text: &str, expected| {
            assert_eq!(length_of_value(text.as_bytes()), expected, "{text}");
        };
        check("\"a\\\"b\" rest", Ok(6));
        check("\"a", Err(NoValue::End));
        check("\"a\\", Err(NoValue::End));
        check("{\"a\":[1,{\"]\":2}]},", Ok(17));
        check("[[[", Err(NoValue::End));
        check("-1.5e3,", Ok(6));
        check("true", Err(NoValue::End));
        check(
            "\"a\nb\"",
            Err(NoValue::Invalid(2, "a text runs into the next line")),
        );
        check(":", Err(NoValue::Invalid(0, "no value begins so")));
    }
}

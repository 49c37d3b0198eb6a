//! Cuts TSDL into tokens: words, numbers, quoted text and symbols. Comments and blanks are skipped.
//!
//! Keywords are words here; only the grammar knows which word means what where. Text is bytes: old
//! traces carry names that are not UTF-8.

use std::borrow::Cow;

use crate::metadata::{Fault, excerpt};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A keyword or an identifier.
    Word,
    /// A whole number, without sign.
    Number(u64),
    /// Quoted text, quotes included.
    Text,
    /// Anything that stands for itself.
    Symbol(&'static str),
    /// After the last token.
    End,
}

/// A token and the bytes that it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) begin: usize,
    pub(super) end: usize,
}

pub(super) struct Lexer<'text> {
    text: &'text [u8],
    at: usize,
}

impl<'text> Lexer<'text> {
    pub(super) fn new(text: &'text [u8]) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn bytes(&self, token: Token) -> &'text [u8] {
        &self.text[token.begin..token.end]
    }

    pub(super) fn next(&mut self) -> Result<Token, Fault> {
        self.skip_blanks_and_comments()?;
        let begin = self.at;
        let rest = &self.text[begin..];
        let Some(&first) = rest.first() else {
            return Ok(Token {
                kind: Kind::End,
                begin,
                end: begin,
            });
        };
        let kind = match first {
            b'"' | b'\'' => self.quoted(first)?,
            b'L' if matches!(rest.get(1), Some(b'"' | b'\'')) => {
                self.at += 1;
                self.quoted(rest[1])?
            }
            b'0'..=b'9' => self.number()?,
            _ if is_word(first) => {
                let length = rest.iter().take_while(|&&byte| is_word(byte)).count();
                self.at += length;
                Kind::Word
            }
            _ => {
                let Some(symbol) = symbol(rest) else {
                    let found = excerpt(&rest[..1]);
                    return Err(Fault::new(begin, format!("{found} has no meaning in TSDL")));
                };
                self.at += symbol.len();
                Kind::Symbol(symbol)
            }
        };
        Ok(Token {
            kind,
            begin,
            end: self.at,
        })
    }

    fn skip_blanks_and_comments(&mut self) -> Result<(), Fault> {
        loop {
            let rest = &self.text[self.at..];
            if rest.starts_with(b"/*") {
                let Some(end) = memchr::memmem::find(&rest[2..], b"*/") else {
                    return Err(Fault::new(
                        self.at,
                        "the comment that begins here does not end",
                    ));
                };
                self.at += end + 4;
            } else if rest.starts_with(b"//") {
                self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            } else {
                let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
                match rest.iter().take_while(|byte| is_blank(byte)).count() {
                    0 => return Ok(()),
                    blanks => self.at += blanks,
                }
            }
        }
    }

    fn quoted(&mut self, quote: u8) -> Result<Kind, Fault> {
        let begin = self.at;
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let Some(found) = memchr::memchr2(quote, b'\\', rest) else {
                return Err(Fault::new(
                    begin,
                    "the quoted text that begins here does not end",
                ));
            };
            self.at += found + 1;
            if rest[found] == quote {
                return Ok(Kind::Text);
            }
            self.at = (self.at + 1).min(self.text.len());
        }
    }

    fn number(&mut self) -> Result<Kind, Fault> {
        let begin = self.at;
        let rest = &self.text[begin..];
        let written = &rest[..rest.iter().take_while(|&&byte| is_word(byte)).count()];
        let (base, digits) = match written {
            [b'0', b'x' | b'X', digits @ ..] => (16, digits),
            [b'0', b'b' | b'B', digits @ ..] => (2, digits),
            [b'0', digits @ ..] if digits.first().is_some_and(u8::is_ascii_digit) => (8, digits),
            digits => (10, digits),
        };
        let suffix = digits
            .iter()
            .rev()
            .take_while(|byte| b"uUlL".contains(byte))
            .count();
        let digits = &digits[..digits.len() - suffix.min(3)];
        let value = std::str::from_utf8(digits)
            .map_err(|_| ())
            .and_then(|digits| u64::from_str_radix(digits, base).map_err(|_| ()));
        self.at += written.len();
        value.map(Kind::Number).map_err(|()| {
            let found = excerpt(written);
            Fault::new(
                begin,
                format!("expected a whole number of at most 64 bits, found {found}"),
            )
        })
    }
}

/// The symbol that `text` begins with.
fn symbol(text: &[u8]) -> Option<&'static str> {
    Some(match text {
        [b':', b'=', ..] => ":=",
        [b'.', b'.', b'.', ..] => "...",
        [b'-', b'>', ..] => "->",
        [b'[', ..] => "[",
        [b']', ..] => "]",
        [b'(', ..] => "(",
        [b')', ..] => ")",
        [b'{', ..] => "{",
        [b'}', ..] => "}",
        [b'<', ..] => "<",
        [b'>', ..] => ">",
        [b':', ..] => ":",
        [b';', ..] => ";",
        [b'.', ..] => ".",
        [b'=', ..] => "=",
        [b',', ..] => ",",
        [b'*', ..] => "*",
        [b'-', ..] => "-",
        [b'+', ..] => "+",
        _ => return None,
    })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// What quoted text says: escapes as in C. `begin` is the place of the opening quote (or its `L`).
pub(super) fn unquote(quoted: &[u8], begin: usize) -> Result<Cow<'_, str>, Fault> {
    let skipped = usize::from(quoted.first() == Some(&b'L'));
    let inner = quoted
        .get(skipped + 1..quoted.len() - 1)
        .unwrap_or_default();
    if memchr::memchr(b'\\', inner).is_none() {
        return Ok(String::from_utf8_lossy(inner));
    }
    let mut said = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            said.push(byte);
            continue;
        }
        let escape = inner.len() - after.len() - 1;
        let place = begin + skipped + 1 + escape;
        let Some((&code, after)) = rest.split_first() else {
            break;
        };
        rest = after;
        match code {
            b'n' => said.push(b'\n'),
            b't' => said.push(b'\t'),
            b'r' => said.push(b'\r'),
            b'a' => said.push(0x07),
            b'b' => said.push(0x08),
            b'f' => said.push(0x0c),
            b'v' => said.push(0x0b),
            b'\\' | b'"' | b'\'' | b'?' => said.push(code),
            b'0'..=b'7' => {
                let more = digits(rest, 8, 2);
                let (value, _) = read_digits(&inner[escape + 1..escape + 2 + more], 8);
                rest = &rest[more..];
                said.push(value as u8);
            }
            b'x' | b'u' | b'U' => {
                let most = [(b'x', 2), (b'u', 4), (b'U', 8)].into_iter();
                let most = most
                    .filter(|(letter, _)| *letter == code)
                    .map(|(_, most)| most)
                    .sum();
                let count = digits(rest, 16, most);
                let (value, valid) = read_digits(&rest[..count], 16);
                rest = &rest[count..];
                match char::from_u32(value) {
                    Some(character) if valid && code != b'x' => {
                        said.extend(character.encode_utf8(&mut [0; 4]).bytes());
                    }
                    _ if valid && code == b'x' => said.push(value as u8),
                    _ => return Err(unknown_escape(place, code)),
                }
            }
            _ => return Err(unknown_escape(place, code)),
        }
    }
    Ok(String::from_utf8_lossy(&said).into_owned().into())
}

fn unknown_escape(place: usize, code: u8) -> Fault {
    let found = excerpt(&[b'\\', code]);
    Fault::new(
        place,
        format!("expected an escape sequence of C, found {found}"),
    )
}

fn digits(text: &[u8], base: u32, most: usize) -> usize {
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(base);
    text.iter().take(most).take_while(is_digit).count()
}

/// The value of at most eight digits, and whether there were any.
fn read_digits(digits: &[u8], base: u32) -> (u32, bool) {
    let value = digits.iter().fold(0_u32, |value, &byte| {
        let digit = char::from(byte).to_digit(base).unwrap_or(0);
        value.wrapping_mul(base).wrapping_add(digit)
    });
    (value, !digits.is_empty())
}

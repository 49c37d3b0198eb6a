//! Attributes of TSDL blocks: `path = value;`.

use std::borrow::Cow;

use super::lexer::{Kind, unquote};
use super::{Fault, Parser};
use crate::layout::{ByteOrder, EnvironmentValue};

/// The value of an attribute and where it stands.
#[derive(Debug)]
pub(super) struct Value<'text> {
    pub(super) at: usize,
    pub(super) said: Said<'text>,
}

#[derive(Debug)]
pub(super) enum Said<'text> {
    Number(i128),
    /// Quoted, or names joined by dots.
    Text(Cow<'text, str>),
}

impl<'text> Parser<'text, '_> {
    /// Names joined by dots, as on the left of an attribute and in references.
    pub(super) fn path(&mut self) -> Result<Cow<'text, str>, Fault> {
        let mut path = self.name("a name")?;
        while self.sees(".") || self.sees("->") {
            self.take()?;
            let path = path.to_mut();
            path.push('.');
            path.push_str(&self.name("a name after the dot")?);
        }
        Ok(path)
    }

    /// The left of an attribute, where the block may also end.
    pub(super) fn attribute_path(&mut self) -> Result<Cow<'text, str>, Fault> {
        match self.token.kind {
            Kind::Word => self.path(),
            _ => Err(self.expected("an attribute or `}`")),
        }
    }

    /// A number with signs, text, or names joined by dots.
    pub(super) fn value(&mut self) -> Result<Value<'text>, Fault> {
        let at = self.at();
        let mut negative = false;
        let mut signed = false;
        while self.sees("-") || self.sees("+") {
            negative ^= self.sees("-");
            signed = true;
            self.take()?;
        }
        let said = match self.token.kind {
            Kind::Number(number) => {
                self.take()?;
                let number = i128::from(number);
                Said::Number(if negative { -number } else { number })
            }
            Kind::Text if !signed => {
                let mut text = Cow::Borrowed("");
                while self.token.kind == Kind::Text {
                    let token = self.take()?;
                    text += unquote(self.lexer.bytes(token), token.begin)?;
                }
                Said::Text(text)
            }
            Kind::Word if !signed => Said::Text(self.path()?),
            _ if signed => return Err(self.expected("a number")),
            _ => return Err(self.expected("a number, text or a name")),
        };
        Ok(Value { at, said })
    }

    /// `{ path = value; ... }`, each given to `attribute`.
    pub(super) fn attributes(
        &mut self,
        mut attribute: impl FnMut(&mut Self, usize, &str, Value<'text>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.expect("{")?;
        while !self.takes("}")? {
            let at = self.at();
            let path = self.attribute_path()?;
            self.expect("=")?;
            let value = self.value()?;
            self.expect(";")?;
            attribute(self, at, &path, value)?;
        }
        Ok(())
    }
}

impl Value<'_> {
    pub(super) fn unsigned(&self, what: &str) -> Result<u64, Fault> {
        match self.said {
            Said::Number(number) => u64::try_from(number).ok(),
            Said::Text(_) => None,
        }
        .ok_or_else(|| self.expected(what, "a whole number from 0"))
    }

    pub(super) fn signed(&self, what: &str) -> Result<i64, Fault> {
        match self.said {
            Said::Number(number) => i64::try_from(number).ok(),
            Said::Text(_) => None,
        }
        .ok_or_else(|| self.expected(what, "a whole number of 64 bits"))
    }

    pub(super) fn text(&self, what: &str) -> Result<&str, Fault> {
        match &self.said {
            Said::Text(text) => Ok(text),
            Said::Number(_) => Err(self.expected(what, "text")),
        }
    }

    pub(super) fn boolean(&self, what: &str) -> Result<bool, Fault> {
        match &self.said {
            Said::Number(number) => Ok(*number != 0),
            Said::Text(text) => match &**text {
                "true" | "TRUE" => Ok(true),
                "false" | "FALSE" => Ok(false),
                _ => Err(self.expected(what, "`true` or `false`")),
            },
        }
    }

    pub(super) fn byte_order(&self) -> Result<Option<ByteOrder>, Fault> {
        match self.text("byte_order")? {
            "le" => Ok(Some(ByteOrder::Little)),
            "be" | "network" => Ok(Some(ByteOrder::Big)),
            "native" => Ok(None),
            _ => Err(self.expected("byte_order", "`le`, `be`, `network` or `native`")),
        }
    }

    pub(super) fn uuid(&self) -> Result<[u8; 16], Fault> {
        let text = self.text("uuid")?;
        let digits: Vec<u8> = text.bytes().filter(|&byte| byte != b'-').collect();
        let mut uuid = [0; 16];
        let wrong = || self.expected("uuid", "32 hexadecimal digits");
        if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(wrong());
        }
        for (byte, pair) in uuid.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(uuid)
    }

    pub(super) fn environment(self) -> EnvironmentValue {
        match self.said {
            // The specification leaves the sign open; numbers past the signed range wrap.
            Said::Number(number) => EnvironmentValue::Integer(number as i64),
            Said::Text(text) => EnvironmentValue::Text(text.into_owned()),
        }
    }

    pub(super) fn expected(&self, attribute: &str, what: &str) -> Fault {
        let found = match &self.said {
            Said::Number(number) => number.to_string(),
            Said::Text(text) => super::excerpt(text.as_bytes()),
        };
        Fault::new(
            self.at,
            format!("expected {what} for `{attribute}`, found {found}"),
        )
    }
}

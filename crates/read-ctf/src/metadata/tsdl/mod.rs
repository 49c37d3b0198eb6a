//! TSDL, the metadata language of CTF 1.8 (specification 1.8.3, section 7): from text to drafts.
//!
//! A recursive descent in one pass. Types must be declared before they are used, as in C; what may
//! come later in the text (the trace's byte order, clocks, the streams of events) is kept by name
//! and looked up when drafts are lowered.

mod blocks;
mod lexer;
mod primitives;
mod types;
mod values;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::draft::{DEEPEST, Draft, DraftTrace};
use super::{Fault, Notes, excerpt};
use lexer::{Kind, Lexer, Token};

/// Reads TSDL.
pub(super) fn read(text: &[u8], notes: &mut Notes) -> Result<DraftTrace, Fault> {
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    Parser {
        lexer,
        token,
        scopes: vec![Scope::default()],
        depth: 0,
        notes,
    }
    .trace()
}

/// What a lexical scope has declared.
#[derive(Default)]
struct Scope<'text> {
    /// By name: `struct x`, `variant x`, `enum x` and aliases like `unsigned long`.
    types: HashMap<String, Rc<Draft>>,
    /// Identifiers in names of types behind other words, as in `unsigned small`: no field can have such a name.
    words: HashSet<&'text [u8]>,
}

/// The parser looks at one token that it has not taken yet.
struct Parser<'text, 'notes> {
    lexer: Lexer<'text>,
    token: Token,
    /// Innermost last.
    scopes: Vec<Scope<'text>>,
    depth: u32,
    notes: &'notes mut Notes,
}

impl<'text> Parser<'text, '_> {
    /// The bytes of the token looked at.
    fn word(&self) -> &'text [u8] {
        self.lexer.bytes(self.token)
    }

    fn at(&self) -> usize {
        self.token.begin
    }

    fn take(&mut self) -> Result<Token, Fault> {
        let taken = self.token;
        self.token = self.lexer.next()?;
        Ok(taken)
    }

    // With the symbol known, comparing is an instruction or two; metadata has tens of thousands.
    #[inline]
    fn sees(&self, symbol: &str) -> bool {
        matches!(self.token.kind, Kind::Symbol(seen) if seen == symbol)
    }

    #[inline]
    fn sees_word(&self, word: &str) -> bool {
        self.token.kind == Kind::Word && self.word() == word.as_bytes()
    }

    /// Takes the symbol if it comes next.
    #[inline]
    fn takes(&mut self, symbol: &str) -> Result<bool, Fault> {
        let sees = self.sees(symbol);
        if sees {
            self.take()?;
        }
        Ok(sees)
    }

    #[inline]
    fn expect(&mut self, symbol: &str) -> Result<Token, Fault> {
        match self.sees(symbol) {
            true => self.take(),
            false => Err(self.expected(&format!("`{symbol}`"))),
        }
    }

    /// A name: an identifier, or a keyword where no keyword can stand.
    fn name(&mut self, what: &str) -> Result<Cow<'text, str>, Fault> {
        if self.token.kind != Kind::Word {
            return Err(self.expected(what));
        }
        let token = self.take()?;
        Ok(String::from_utf8_lossy(self.lexer.bytes(token)))
    }

    fn expected(&self, what: &str) -> Fault {
        let found = match self.token.kind {
            Kind::End => "the end of the text".to_owned(),
            _ => excerpt(self.word()),
        };
        Fault::new(self.at(), format!("expected {what}, found {found}"))
    }

    /// Goes one level deeper for `parse`.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.depth > DEEPEST {
            return Err(Fault::new(
                self.at(),
                format!("types are nested more than {DEEPEST} deep"),
            ));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Gives the types that `parse` declares a lexical scope of their own.
    fn scoped<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.scopes.push(Scope::default());
        let parsed = parse(self);
        self.scopes.pop();
        parsed
    }
}

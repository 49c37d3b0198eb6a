//! From a file to a specification, and what is wrong with it in the words and at the line of the file.

use std::fmt;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use super::Spec;
use super::check::Checker;
use super::raw::RawSpec;
use super::xml;

/// Why a specification cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The file as the user named it.
    pub file: String,
    /// The line, from 1; `None` where it is about the whole file.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What can be done.
    pub hint: String,
}

impl std::error::Error for SpecError {}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)?;
        if !self.hint.is_empty() {
            write!(f, "\n  hint: {}", self.hint)?;
        }
        Ok(())
    }
}

/// Something wrong, at a place of the text.
pub(super) struct Wrong {
    pub(super) at: Option<Range<usize>>,
    pub(super) what: String,
    pub(super) hint: String,
}

impl Wrong {
    pub(super) fn new(at: Range<usize>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            at: Some(at),
            what: what.into(),
            hint: hint.into(),
        }
    }
}

impl Spec {
    /// Reads a specification and the templates that it names.
    ///
    /// # Errors
    /// Where a file cannot be read, or the first thing that is wrong.
    pub fn read(path: &Path) -> Result<(Self, String), SpecError> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|cause| SpecError {
            file: file.clone(),
            line: None,
            what: format!("it cannot be read: {cause}"),
            hint:
                "name a specification in TOML or XML; docs/guide/explore.md says what stands in it"
                    .to_owned(),
        })?;
        let folder = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let load = |path: &Path| fs::read_to_string(path);
        Ok((Self::parse(&text, &file, &name, folder, &load)?, text))
    }

    /// Makes a specification of its text, TOML or XML. `load` gives the text of a template file.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(
        text: &str,
        file: &str,
        name: &str,
        folder: &Path,
        load: &dyn Fn(&Path) -> io::Result<String>,
    ) -> Result<Self, SpecError> {
        let told = |line, what, hint| SpecError {
            file: file.to_owned(),
            line,
            what,
            hint,
        };
        let xml = match xml::is_meant(text) {
            true => Some(xml::in_toml(text).map_err(|error| {
                let hint = "docs/guide/explore.md says what stands in it".to_owned();
                told(Some(error.line), error.what, hint)
            })?),
            false => None,
        };
        let in_toml = xml.as_ref().map_or(text, |xml| &xml.text);
        let raw: Result<RawSpec, Wrong> = toml::from_str(in_toml).map_err(|error| {
            let (what, hint) = readable(error.message());
            // Of a key that stands there twice its name is not told.
            let key = error.span().and_then(|at| in_toml.get(at));
            let (what, hint) = match (what.as_str(), key) {
                ("duplicate key", Some(key)) => twice(key.trim_matches(['"', '\'']), xml.is_some()),
                _ => (what, hint),
            };
            Wrong {
                at: error.span(),
                what,
                hint,
            }
        });
        let line = |at: Range<usize>| {
            let line = line_of(in_toml, at.start);
            let of_xml = xml.as_ref().and_then(|xml| xml.lines.get(line - 1));
            of_xml.copied().unwrap_or(line)
        };
        let checked = raw.and_then(|raw| Checker { folder, load }.check(raw, name));
        checked.map_err(|wrong| told(wrong.at.map(line), wrong.what, wrong.hint))
    }
}

/// What TOML's reader objects to, and what can be done.
fn readable(message: &str) -> (String, String) {
    let number = message.split_once("integer `").map(|(_, behind)| behind);
    match number.and_then(|behind| behind.split_once("` as i128")) {
        Some((number, _)) => (
            format!("the number {number} has more than 64 bits"),
            "a float that is so large has a point or an exponent: 1e20".to_owned(),
        ),
        None => (message.to_owned(), String::new()),
    }
}

/// What is to be said of a key that stands there again; in XML an attribute, an element, or the name of one.
fn twice(key: &str, is_xml: bool) -> (String, String) {
    let hint = match is_xml {
        true => "one attribute or element of that name, and other names for parameters and metrics",
        false => "TOML takes each key and table once",
    };
    (format!("`{key}` stands there twice"), hint.to_owned())
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|&&byte| byte == b'\n').count() + 1
}

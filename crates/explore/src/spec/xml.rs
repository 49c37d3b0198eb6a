//! A specification in XML: elements and attributes in place of TOML's tables and keys, turned into that TOML.
//!
//! Templates of SPEX are XML (Go and Colmenares 2016, §3.2), but the paper prints none: the names here are those of TOML, so
//! that everything behind is one. Knows no schema: what is unknown or missing is told by `raw.rs` and `check.rs`, at the
//! element's line. No DTD, no entities but XML's own, no namespaces.

use std::collections::BTreeMap;

use roxmltree::{Document, Node, ParsingOptions};

/// More elements, attributes and texts than this are no specification.
const MOST_NODES: u32 = 100_000;

/// Elements below the root that may stand there several times, with what TOML calls them, and whether they have names.
const SEVERAL: [(&str, &str, Several); 4] = [
    ("parameter", "parameters", Several::Named),
    ("metric", "metrics", Several::Named),
    ("file", "files", Several::Listed),
    ("objective", "objectives", Several::Listed),
];

/// Elements that are commands in order.
const LISTS: [&str; 4] = ["before", "configure", "after", "restore"];

/// What is a number where it looks like one; everything else is a text, but for values of parameters.
const NUMBERS: [&str; 20] = [
    "confidence",
    "configurations",
    "cpu",
    "disk",
    "eta",
    "every",
    "memory_mib",
    "most_trials",
    "option",
    "per_configuration",
    "port",
    "precision",
    "probe",
    "seed",
    "step",
    "steps",
    "tolerance",
    "trials",
    "value",
    "warm_up",
];

/// What of a parameter has its type, and what is a number whatever its type.
const TYPED: [&str; 4] = ["default", "max", "min", "values"];
const STEPS: [&str; 2] = ["step", "steps"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Several {
    Named,
    Listed,
}

/// The same specification in TOML.
#[derive(Debug)]
pub(crate) struct InToml {
    pub(crate) text: String,
    /// For each of its lines that of the XML, from 1.
    pub(crate) lines: Vec<usize>,
}

/// What is no specification in XML.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoXml {
    /// From 1.
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// Whether a text is meant to be XML: no TOML begins so.
pub(crate) fn is_meant(text: &str) -> bool {
    text.trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('<')
}

/// Turns it into TOML.
///
/// # Errors
/// The first thing that is no XML, or cannot be in TOML.
pub(crate) fn in_toml(text: &str) -> Result<InToml, NoXml> {
    let options = ParsingOptions {
        nodes_limit: MOST_NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|error| NoXml {
        line: error.pos().row as usize,
        what: format!("it is no XML: {error}"),
    })?;
    let root = document.root_element();
    let mut writer = Writer {
        source: text,
        line_ends: text.match_indices('\n').map(|(place, _)| place).collect(),
        types: BTreeMap::new(),
        text: String::new(),
        lines: Vec::new(),
    };
    writer.specification(root)?;
    Ok(InToml {
        text: writer.text,
        lines: writer.lines,
    })
}

struct Writer<'run> {
    source: &'run str,
    line_ends: Vec<usize>,
    /// Of parameters.
    types: BTreeMap<&'run str, &'run str>,
    text: String,
    lines: Vec<usize>,
}

type Step<T> = Result<T, NoXml>;

impl<'run> Writer<'run> {
    fn specification(&mut self, root: Node<'run, 'run>) -> Step<()> {
        if name_of(root) != "exploration" {
            let what = format!(
                "`{}` is no exploration: the outermost element is `exploration`",
                name_of(root)
            );
            return Err(self.wrong(root, what));
        }
        for parameter in elements(root).filter(|one| name_of(*one) == "parameter") {
            if let (Some(name), Some(kind)) = (own(parameter, "name"), own(parameter, "type")) {
                self.types.insert(name, kind);
            }
        }
        self.check_text(root)?;
        for attribute in root.attributes() {
            let (key, value) = (quoted(attribute.name()), quoted(attribute.value()));
            self.line(root, &format!("{key} = {value}"));
        }
        self.line(root, "constraints = [");
        for constraint in elements(root).filter(|one| name_of(*one) == "constraint") {
            let text = self.text_of(constraint)?;
            self.line(constraint, &format!("{},", quoted(&text)));
        }
        self.line(root, "]");
        // Keys stand before tables, wherever their elements do.
        for name in elements(root).filter(|one| name_of(*one) == "name") {
            let text = self.text_of(name)?;
            self.line(name, &format!("name = {}", quoted(&text)));
        }
        let is_table = |one: &Node<'_, '_>| !["constraint", "name"].contains(&name_of(*one));
        for element in elements(root).filter(is_table) {
            self.table(element)?;
        }
        Ok(())
    }

    /// An element below the root.
    fn table(&mut self, element: Node<'run, 'run>) -> Step<()> {
        let name = name_of(element);
        let several = SEVERAL.iter().find(|(one, ..)| *one == name);
        let head = match several {
            None => format!("[{}]", quoted(name)),
            Some((_, table, Several::Listed)) => format!("[[{table}]]"),
            Some((_, table, Several::Named)) => match own(element, "name") {
                Some(own) => format!("[{table}.{}]", quoted(own)),
                None => return Err(self.wrong(element, format!("a {name} needs a `name`"))),
            },
        };
        self.line(element, &head);
        let is_named = several.is_some_and(|(.., several)| *several == Several::Named);
        let kind = match name {
            "parameter" => own(element, "type"),
            _ => None,
        };
        self.check_text(element)?;
        for attribute in element.attributes() {
            if is_named && attribute.name() == "name" {
                continue;
            }
            let (key, value) = (attribute.name(), attribute.value());
            let value = match kind {
                Some(kind) if TYPED.contains(&key) => typed(value, kind),
                Some(_) if STEPS.contains(&key) => number_or_text(value),
                _ => scalar(key, value),
            };
            self.line(element, &format!("{} = {value}", quoted(key)));
        }
        let mut of_list: BTreeMap<&str, Vec<Node<'run, 'run>>> = BTreeMap::new();
        for field in elements(element).filter(|one| !is_named || name_of(*one) != "name") {
            if LISTS.contains(&name_of(field)) && name == "commands" {
                of_list.entry(name_of(field)).or_default().push(field);
                continue;
            }
            let value = match (kind, name_of(field)) {
                (Some(_), "when") => self.when(field)?,
                (Some(kind), key) if TYPED.contains(&key) => self.value(field, Some(kind))?,
                _ => self.value(field, None)?,
            };
            self.line(field, &format!("{} = {value}", quoted(name_of(field))));
        }
        for (key, fields) in of_list {
            self.line(fields[0], &format!("{key} = ["));
            for field in fields {
                let value = self.value(field, None)?;
                self.line(field, &format!("{value},"));
            }
            self.line(element, "]");
        }
        Ok(())
    }

    /// A condition: attributes are earlier parameters, each with a value; or elements with that name, and several.
    fn when(&self, element: Node<'run, 'run>) -> Step<String> {
        self.check_text(element)?;
        let kind = |name: &str| self.types.get(name).copied().unwrap_or("category");
        let mut fields = Vec::new();
        for one in element.attributes() {
            let value = typed(one.value(), kind(one.name()));
            fields.push(format!("{} = {value}", quoted(one.name())));
        }
        for one in elements(element) {
            let value = self.value(one, Some(kind(name_of(one))))?;
            fields.push(format!("{} = {value}", quoted(name_of(one))));
        }
        Ok(format!("{{ {} }}", fields.join(", ")))
    }

    /// What an element has: a text, a list of `value` or `word`, or fields. Values of parameters have a type.
    fn value(&self, element: Node<'run, 'run>, kind: Option<&str>) -> Step<String> {
        let inside: Vec<Node<'run, 'run>> = elements(element).collect();
        if are(&inside, &["variable", "option"]) {
            self.check_text(element)?;
            let fields = inside.iter().map(|inner| {
                let own = inner.attribute("name").ok_or_else(|| {
                    self.wrong(*inner, format!("a {} needs a `name`", name_of(*inner)))
                })?;
                Ok(format!("{} = {}", quoted(own), self.plain(*inner, kind)?))
            });
            let fields = fields.collect::<Step<Vec<_>>>()?;
            return Ok(format!("{{ {} }}", fields.join(", ")));
        }
        if is_list(&inside) || inside.is_empty() && element.attributes().len() == 0 {
            return self.plain(element, kind);
        }
        self.check_text(element)?;
        // Variables of the environment are texts, whatever their names.
        let field = |key: &str, text: &str| match name_of(element) {
            "environment" => quoted(text),
            _ => scalar(key, text),
        };
        let mut fields: Vec<String> = (element.attributes())
            .map(|one| {
                let (key, text) = (one.name(), one.value());
                format!("{} = {}", quoted(key), field(key, text))
            })
            .collect();
        for inner in inside {
            let key = name_of(inner);
            // A field's own fields are nothing that a specification has.
            let value = match is_list(&elements(inner).collect::<Vec<_>>()) {
                true => self.plain(inner, None)?,
                false => field(key, &self.text_of(inner)?),
            };
            fields.push(format!("{} = {value}", quoted(key)));
        }
        Ok(format!("{{ {} }}", fields.join(", ")))
    }

    /// A text, or a list of `value` or `word`.
    fn plain(&self, element: Node<'run, 'run>, kind: Option<&str>) -> Step<String> {
        let one = |key: &str, text: &str| match kind {
            Some(kind) => typed(text, kind),
            None => scalar(key, text),
        };
        let inside: Vec<Node<'run, 'run>> = elements(element).collect();
        if !is_list(&inside) {
            return Ok(one(name_of(element), &self.text_of(element)?));
        }
        self.check_text(element)?;
        let values = inside.iter().map(|inner| {
            let text = self.text_of(*inner)?;
            Ok(match (kind, name_of(*inner)) {
                (None, "word") => quoted(&text),
                (_, key) => one(key, &text),
            })
        });
        let values = values.collect::<Step<Vec<_>>>()?;
        Ok(format!("[{}]", values.join(", ")))
    }

    /// The text of an element that has nothing else, without space around it: what has to begin or to end with space
    /// stands in one CDATA section. The content of a file, and a word, are as they stand there, but for the file's first
    /// line end and what indents its end.
    fn text_of(&self, element: Node<'run, 'run>) -> Step<String> {
        if let Some(inner) = elements(element).next() {
            let what = format!(
                "`{}` cannot stand in `{}`",
                name_of(inner),
                name_of(element)
            );
            return Err(self.wrong(inner, what));
        }
        let texts = element.children().filter(Node::is_text);
        let all: String = texts.filter_map(|text| text.text()).collect();
        let section = section(&self.source[element.range()]);
        let section = section.filter(|section| section.trim() == all.trim());
        let is_section = section.is_some();
        let text = section.unwrap_or(all);
        Ok(match name_of(element) {
            "content" => {
                let text = text.strip_prefix('\n').unwrap_or(&text);
                let end = if is_section {
                    text
                } else {
                    text.trim_end_matches(' ')
                };
                end.to_owned()
            }
            "word" => text,
            _ if is_section => text,
            _ => text.trim().to_owned(),
        })
    }

    /// Beside elements and attributes no text counts.
    fn check_text(&self, element: Node<'run, 'run>) -> Step<()> {
        for text in element.children().filter(Node::is_text) {
            let source = &self.source[text.range()];
            let begin = text.range().start + (source.len() - source.trim_start().len());
            if !text.text().unwrap_or_default().trim().is_empty() {
                return Err(NoXml {
                    line: self.row(begin),
                    what: format!(
                        "there is text in `{}` that belongs to nothing",
                        name_of(element)
                    ),
                });
            }
        }
        Ok(())
    }

    fn line(&mut self, from: Node<'run, 'run>, text: &str) {
        self.text += text;
        self.text.push('\n');
        self.lines.push(self.row(from.range().start));
    }

    fn row(&self, place: usize) -> usize {
        self.line_ends.partition_point(|end| *end < place) + 1
    }

    fn wrong(&self, at: Node<'run, 'run>, what: String) -> NoXml {
        let line = self.row(at.range().start);
        NoXml { line, what }
    }
}

fn name_of<'run>(node: Node<'run, 'run>) -> &'run str {
    node.tag_name().name()
}

fn are(inside: &[Node<'_, '_>], names: &[&str]) -> bool {
    !inside.is_empty() && inside.iter().all(|one| names.contains(&name_of(*one)))
}

fn is_list(inside: &[Node<'_, '_>]) -> bool {
    are(inside, &["value", "word"])
}

/// An attribute, or an element that stands in its place.
fn own<'run>(element: Node<'run, 'run>, name: &str) -> Option<&'run str> {
    let inside = || elements(element).find(|one| name_of(*one) == name);
    element
        .attribute(name)
        .or_else(|| inside()?.text().map(str::trim))
}

/// What stands in the first CDATA section of a source.
fn section(source: &str) -> Option<String> {
    let (_, begun) = source.split_once("<![CDATA[")?;
    let (inside, _) = begun.split_once("]]>")?;
    // XML's line ends are those of Unix.
    Some(inside.replace("\r\n", "\n"))
}

fn elements<'run>(node: Node<'run, 'run>) -> impl Iterator<Item = Node<'run, 'run>> {
    node.children().filter(Node::is_element)
}

/// A value of a parameter of this type. What does not fit is a text, which is objected to where types are known.
fn typed(text: &str, kind: &str) -> String {
    match kind {
        "category" => quoted(text),
        _ => number_or_text(text),
    }
}

fn scalar(key: &str, text: &str) -> String {
    match (NUMBERS.contains(&key), text.trim().parse::<u64>()) {
        // It may be larger than any other number.
        (true, Ok(seed)) if key == "seed" => seed.to_string(),
        (true, _) => number_or_text(text),
        (false, _) => quoted(text),
    }
}

/// A number or a truth as such, everything else as a text.
fn number_or_text(text: &str) -> String {
    let text = text.trim();
    if let Ok(whole) = text.parse::<i64>() {
        return whole.to_string();
    }
    match (text, text.parse::<f64>()) {
        ("true" | "false", _) => text.to_owned(),
        (_, Ok(number)) if number.is_finite() => format!("{number:?}"),
        _ => quoted(text),
    }
}

/// A string of TOML: that of JSON, where DEL has to be escaped, too.
fn quoted(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.replace('\u{7f}', "\\u007f")
}

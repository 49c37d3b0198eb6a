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
const NUMBERS: [&str; 18] = [
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
            if let (Some(name), Some(kind)) =
                (parameter.attribute("name"), parameter.attribute("type"))
            {
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
            self.line(constraint, &format!("{},", quoted(text.trim())));
        }
        self.line(root, "]");
        for element in elements(root).filter(|one| name_of(*one) != "constraint") {
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
            Some((_, table, Several::Named)) => match element.attribute("name") {
                Some(own) => format!("[{table}.{}]", quoted(own)),
                None => return Err(self.wrong(element, format!("a {name} needs a `name`"))),
            },
        };
        self.line(element, &head);
        let is_named = several.is_some_and(|(.., several)| *several == Several::Named);
        let kind = match name {
            "parameter" => element.attribute("type"),
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
        for field in elements(element) {
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
        let name = name_of(element);
        let one = |key: &str, text: &str| match kind {
            Some(kind) => typed(text, kind),
            None => scalar(key, text),
        };
        let inside: Vec<Node<'run, 'run>> = elements(element).collect();
        let are = |names: &[&str]| {
            !inside.is_empty() && inside.iter().all(|one| names.contains(&name_of(*one)))
        };
        if are(&["value", "word"]) {
            self.check_text(element)?;
            let values = inside.iter().map(|inner| {
                let text = self.text_of(*inner)?;
                Ok(match (kind, name_of(*inner)) {
                    (None, "word") => quoted(&text),
                    (_, key) => one(key, text.trim()),
                })
            });
            return Ok(format!(
                "[{}]",
                values.collect::<Step<Vec<_>>>()?.join(", ")
            ));
        }
        if are(&["variable", "option"]) {
            self.check_text(element)?;
            let fields = inside.iter().map(|inner| {
                let (key, text) = (name_of(*inner), self.text_of(*inner)?);
                let own = inner.attribute("name");
                let own =
                    own.ok_or_else(|| self.wrong(*inner, format!("a {key} needs a `name`")))?;
                Ok(format!("{} = {}", quoted(own), scalar(key, text.trim())))
            });
            return Ok(format!(
                "{{ {} }}",
                fields.collect::<Step<Vec<_>>>()?.join(", ")
            ));
        }
        if inside.is_empty() && element.attributes().len() == 0 {
            let text = self.text_of(element)?;
            return Ok(match name {
                // As it stands there, but for the line ends around it.
                "content" => quoted(
                    text.strip_prefix('\n')
                        .unwrap_or(&text)
                        .trim_end_matches(' '),
                ),
                _ => one(name, text.trim()),
            });
        }
        self.check_text(element)?;
        let mut fields: Vec<String> = (element.attributes())
            .map(|one| {
                format!(
                    "{} = {}",
                    quoted(one.name()),
                    scalar(one.name(), one.value())
                )
            })
            .collect();
        for inner in inside {
            // A field's own fields are nothing that a specification has.
            let text = self.text_of(inner)?;
            let key = name_of(inner);
            fields.push(format!("{} = {}", quoted(key), scalar(key, text.trim())));
        }
        Ok(format!("{{ {} }}", fields.join(", ")))
    }

    /// The text of an element that has nothing else.
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
        Ok(texts.filter_map(|text| text.text()).collect())
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
    match NUMBERS.contains(&key) {
        true => number_or_text(text),
        false => quoted(text),
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

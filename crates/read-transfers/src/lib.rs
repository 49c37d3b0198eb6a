//! Reports of transfers, as the agent for Java writes them: which remote objects arrived where, and which of their
//! fields were used. The format: docs/formats/transfers.md.
//!
//! The reader takes bytes and gives what they say and diagnostics; it opens no file, and what the numbers mean is
//! decided above. Every row that it gives adds up: used, printed and unused objects are the decided ones; where one field of
//! each object is watched, those of all fields together.

#![forbid(unsafe_code)]

use serde::Deserialize;
use slowpath_model::{Diagnostic, DiagnosticCode, Place};

/// The version of the format that this reads.
const VERSION: u64 = 1;

/// Whether a file that begins like this is one of transfers: whether its first line is an object whose format is that,
/// wherever in it that stands and whatever white space there is.
pub fn is_transfers(head: &[u8]) -> bool {
    let line = lines(head).next().unwrap_or_default().trim_ascii_start();
    let format = br#""slowpath-transfers""#;
    line.starts_with(b"{")
        && memchr::memmem::find_iter(line, format).any(|at| {
            let key = line[..at].trim_ascii_end().strip_suffix(b":");
            key.is_some_and(|key| key.trim_ascii_end().ends_with(br#""format""#))
        })
}

/// A report: one process, from the agent's start on.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfers {
    /// What the report says of itself.
    pub head: Head,
    /// Places where remote objects arrive.
    pub contexts: Vec<Context>,
}

/// The process, its agent, and what the agent left out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Head {
    /// Process.
    pub pid: u32,
    /// Main class or jar, of older agents with arguments; empty where the runtime does not tell.
    #[serde(default, deserialize_with = "or_empty")]
    pub program: String,
    /// How reads are seen: "field-mask", all fields of an object; "watchpoints", one.
    pub backend: String,
    /// Nanoseconds since the epoch when the agent started.
    pub begin_ns: i64,
    /// Nanoseconds since the epoch when the report was written.
    pub end_ns: i64,
    /// Decided objects of a class that suffice in a context.
    pub samples: u64,
    /// Objects of which nothing is known yet.
    pub watched_now: u64,
    /// What the agent did not watch.
    pub not_watched: NotWatched,
    /// Responses that stand in no context, as there are too many.
    pub responses_without_context: u64,
    /// Responses that the agent failed to look into.
    pub failures: u64,
    /// Classes of which the agent does not see what they read.
    pub classes_not_rewritten: u64,
}

impl Head {
    /// Whether debug registers see reads: those of one field of each object, until its request ends.
    pub fn is_by_watchpoints(&self) -> bool {
        self.backend == "watchpoints"
    }
}

/// Why objects were not watched, and how many.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NotWatched {
    /// Responses above the cap of each second.
    pub over_cap: u64,
    /// Objects, as too many are watched.
    pub too_many: u64,
    /// Objects whose reads might be missed.
    pub reads_unseen: u64,
    /// Objects, as no debug register was free.
    pub registers_busy: u64,
}

/// A place of the program where objects arrive from one endpoint.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Context {
    /// Its number in the process, as in events.
    #[serde(rename = "context")]
    pub number: u32,
    /// Methods of the application, the outermost first.
    pub call_path: Vec<Frame>,
    /// Whence the objects come.
    pub endpoint: Endpoint,
    /// What noticed them: "RestTemplate".
    pub by: String,
    /// All responses.
    pub responses: u64,
    /// Of that; 0: each was counted.
    #[serde(default)]
    pub standard_error: f64,
    /// Those whose objects were counted.
    pub looked_into: u64,
    /// Those of them that were too large to be seen whole.
    pub too_large: u64,
    /// Classes of the application among the objects.
    pub classes: Vec<Class>,
}

/// A method on the stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct Frame {
    /// Package and class.
    pub class: String,
    /// Its method.
    pub method: String,
    /// Name of the source file without folders, where the class file tells.
    pub file: Option<String>,
    /// Line, from 1; less where the class file does not tell.
    pub line: i64,
}

/// Method and URL; empty where not known.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Endpoint {
    /// "GET".
    pub method: String,
    /// Without query; what names a single thing in braces.
    pub url: String,
}

/// Objects of a class in a context.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Class {
    /// Package and class.
    #[serde(rename = "class")]
    pub name: String,
    /// Whether it is part of an entity's row; older agents do not tell.
    #[serde(default)]
    pub embedded: bool,
    /// Of the responses looked into, those with such objects.
    pub responses: u64,
    /// Objects in them.
    pub objects: u64,
    /// Objects that were watched.
    pub watched: u64,
    /// Of those, the dead: all use of them (of the field watched, by watchpoints) is known.
    pub decided: u64,
    /// Of those, of which later use cannot be ruled out.
    pub censored: u64,
    /// Of those, whose reads could not be followed, as a collector moved them.
    #[serde(default)]
    pub lost: u64,
    /// Sum of the weights of objects that were watched ([`Weighted`]); 0 where older agents do not tell.
    #[serde(default)]
    pub watched_weight: u64,
    /// Responses looked into, by how many of these objects they have; none where older agents do not tell.
    #[serde(default)]
    pub lengths: Vec<Length>,
    /// Its fields, inherited ones first.
    pub fields: Vec<Field>,
}

/// Responses that have about the same number of such objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Length {
    /// As many at least, and fewer than twice as many.
    pub least: u64,
    /// How many were looked into.
    pub responses: u64,
    /// Objects in them.
    pub objects: u64,
    /// Sum of the squares of the numbers of objects.
    pub squares: u64,
    /// Their objects that are decided.
    pub decided: u64,
    /// Sum of the weights of those.
    pub decided_weight: u64,
}

/// A field of such objects.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Field {
    /// As in the source.
    pub name: String,
    /// As in the source.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Decided objects in which it was read.
    pub used: u64,
    /// … read by toString, hashCode or equals alone.
    pub printed: u64,
    /// … not read.
    pub unused: u64,
    /// Censored objects in which it was watched.
    #[serde(default)]
    pub censored: u64,
    /// Those of them in which it was read.
    pub censored_used: u64,
    /// Watched objects in which it was not null.
    pub present: u64,
    /// Bytes as they travel, of all watched objects.
    pub bytes: u64,
    /// Whether it stands for other entities; older agents do not tell.
    #[serde(default)]
    pub refers: bool,
    /// The same by weight; nothing where older agents do not tell.
    #[serde(default)]
    pub weighted: Option<Weighted>,
}

/// Sums in which each object stands for all of its class in its response, of which it was chosen by chance: its weight
/// is how many these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Weighted {
    /// Weights of decided objects in which the field was read.
    pub used: u64,
    /// … read by toString, hashCode or equals alone.
    pub printed: u64,
    /// … not read.
    pub unused: u64,
    /// Squares of the weights of all decided objects.
    pub squares: u64,
    /// Bytes times weight of watched objects.
    pub bytes: u64,
    /// … of decided ones.
    pub bytes_decided: u64,
    /// … of those of them in which it was printed or not read.
    pub bytes_in_vain: u64,
}

impl Weighted {
    /// Weights of objects of which it is known whether the field was used.
    pub fn decided(&self) -> u64 {
        [self.printed, self.unused]
            .into_iter()
            .fold(self.used, u64::saturating_add)
    }

    /// Whether weights of 1 and more of these objects can make these sums.
    fn fits(&self, class: &Class, field: &Field) -> bool {
        let parts = [
            (field.used, self.used),
            (field.printed, self.printed),
            (field.unused, self.unused),
        ];
        let weight = u128::from(self.decided());
        let squares = u128::from(self.squares);
        (parts.iter()).all(|&(count, weight)| count <= weight && (count > 0 || weight == 0))
            && self.decided() <= class.watched_weight
            && weight <= squares
            && squares <= weight * weight
            && weight * weight <= squares * u128::from(field.decided())
            && self.bytes_in_vain <= self.bytes_decided
            && self.bytes_decided <= self.bytes
    }
}

impl Field {
    /// Objects of which it is known whether it was used.
    pub fn decided(&self) -> u64 {
        [self.printed, self.unused]
            .into_iter()
            .fold(self.used, u64::saturating_add)
    }
}

/// Reads a report; `file` is its name for diagnostics. Lines that make no sense are left out and told, and what follows
/// where another report begins.
pub fn read_transfers(file: &str, bytes: &[u8]) -> (Option<Transfers>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let mut transfers: Option<Transfers> = None;
    let mut at = 0;
    let mut is_over = false;
    for (number, line) in (1..).zip(lines(bytes)) {
        let wrong = match &mut transfers {
            None => match head(line) {
                Ok(head) => {
                    let contexts = Vec::new();
                    transfers = Some(Transfers { head, contexts });
                    None
                }
                Err(wrong) => Some(wrong),
            },
            // What follows is another process's, or the same one's at another time.
            Some(_) if is_transfers(line) => {
                is_over = true;
                Some("another report begins here: each has to be a file of its own".to_owned())
            }
            Some(transfers) => match context(line, transfers.head.is_by_watchpoints()) {
                Ok(context) => {
                    transfers.contexts.push(context);
                    None
                }
                Err(wrong) => Some(wrong),
            },
        };
        if let Some(wrong) = wrong {
            let place = Place {
                file: file.to_owned(),
                byte: Some(at),
                line: Some((number, 1)),
                at: None,
            };
            diagnostics.push(Diagnostic::new(
                DiagnosticCode::InvalidTransfers,
                place,
                wrong,
            ));
            if is_over || transfers.is_none() {
                break;
            }
        }
        at += line.len() as u64 + 1;
    }
    (transfers, diagnostics)
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = (!rest.is_empty()).then(|| &rest[..end]);
        rest = rest.get(end + 1..).unwrap_or_default();
        line
    })
}

fn head(line: &[u8]) -> Result<Head, String> {
    if !is_transfers(line) {
        return Err("it does not begin like a report of transfers".to_owned());
    }
    // Before the rest, which may be other in another version.
    let Version { version } = parse(line)?;
    if version != VERSION {
        return Err(format!(
            "it has version {version}, this slowpath reads version {VERSION}"
        ));
    }
    let head: Head = parse(line)?;
    if head.end_ns < head.begin_ns {
        return Err(format!(
            "it ends (at {} ns) before it begins (at {} ns)",
            head.end_ns, head.begin_ns
        ));
    }
    Ok(head)
}

#[derive(Deserialize)]
struct Version {
    version: u64,
}

fn context(line: &[u8], watches_one_field: bool) -> Result<Context, String> {
    let context: Context = parse(line)?;
    for class in &context.classes {
        let known = [class.censored, class.lost]
            .into_iter()
            .try_fold(class.decided, u64::checked_add);
        if known.is_none_or(|known| known > class.watched) {
            return Err(format!(
                "of {} watched objects of {} more were decided, censored and lost",
                class.watched, class.name
            ));
        }
        let mut of_all_fields = Some(0u64);
        for field in &class.fields {
            let parts = field.used.checked_add(field.printed);
            let decided = parts.and_then(|parts| parts.checked_add(field.unused));
            of_all_fields = of_all_fields
                .zip(decided)
                .and_then(|(sum, more)| sum.checked_add(more));
            let fits = |weighted: &Weighted| weighted.fits(class, field);
            if !field.weighted.as_ref().is_none_or(fits) {
                return Err(format!(
                    "the weights of {}.{} cannot be those of its objects",
                    class.name, field.name
                ));
            }
            if !watches_one_field && decided != Some(class.decided) {
                return Err(format!(
                    "{}.{} does not add up to {} decided objects",
                    class.name, field.name, class.decided
                ));
            }
        }
        if watches_one_field && of_all_fields != Some(class.decided) {
            return Err(format!(
                "the fields of {} do not add up to {} decided objects",
                class.name, class.decided
            ));
        }
    }
    Ok(context)
}

fn parse<'line, T: Deserialize<'line>>(line: &'line [u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|cause| format!("it is damaged: {cause}"))
}

fn or_empty<'de, D: serde::Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    Option::deserialize(text).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests;

//! What to change about a transfer, in a sentence, and on what that is founded.

use std::collections::HashMap;

use serde::Serialize;
use slowpath_read_transfers::{Class, Context, Field, Frame, Head};
use utoipa::ToSchema;

use crate::departure;
use crate::report::{FieldRow, Use};

/// More names than these are counted instead.
const MOST_NAMED: usize = 5;

/// Where more of all objects are in lengths of responses that samples do not stand for, that is told.
const MUCH: f64 = 0.05;
/// Where of more of them the later use is not known, that is told; of more than half, first of all.
const MANY_UNKNOWN: f64 = 0.1;

/// What to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = TransferAdvice)]
pub struct Advice {
    /// In a sentence without a full stop.
    pub text: String,
    /// Whether there is anything to gain.
    pub is_needed: bool,
}

/// Methods and commands that ask only: of HTTP, SQL, MongoDB and Elasticsearch.
const ASKS: [&str; 20] = [
    "GET",
    "HEAD",
    "SELECT",
    "WITH",
    "VALUES",
    "TABLE",
    "SHOW",
    "find",
    "aggregate",
    "distinct",
    "mapReduce",
    "watch",
    "get",
    "get_source",
    "mget",
    "search",
    "search_template",
    "msearch",
    "msearch_template",
    "scroll",
];

pub(crate) const HIBERNATE: &str = "Hibernate";

/// Whether a call might be left out where nothing reads what it brings of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// It is there for that alone.
    Spare,
    /// It may be made for what it does there, or to change what it brings.
    MayChange,
    /// It brings what is read, or may be: objects of another class.
    Needed,
}

/// What one call brings of a process: a context, but of Hibernate one for each table.
pub(crate) struct Calls<'all> {
    of_hibernate: HashMap<&'all [Frame], Vec<&'all Context>>,
}

impl<'all> Calls<'all> {
    pub(crate) fn of(contexts: &'all [Context]) -> Self {
        let mut of_hibernate: HashMap<&[Frame], Vec<&Context>> = HashMap::new();
        for context in contexts.iter().filter(|context| context.by == HIBERNATE) {
            of_hibernate
                .entry(&context.call_path)
                .or_default()
                .push(context);
        }
        Self { of_hibernate }
    }

    /// For a class of whose fields nothing is read; `use_of` says that of those of the others.
    pub(crate) fn call(
        &self,
        context: &Context,
        class: &Class,
        use_of: impl Fn(&Class, &Field) -> Use,
    ) -> Call {
        let is_idle = |kind| matches!(kind, Use::Never | Use::Printed | Use::Absent);
        let brings_more = |context: &Context, but: Option<&str>| {
            (context.classes.iter())
                .filter(|other| but != Some(&other.name))
                .any(|other| {
                    let mut fields = other.fields.iter();
                    fields.any(|field| !is_idle(use_of(other, field)))
                })
        };
        let of_tables = self.of_hibernate.get(context.call_path.as_slice());
        let mut others = of_tables
            .into_iter()
            .flatten()
            .filter(|other| context.by == HIBERNATE && other.number != context.number);
        // Of what is embedded the entity's row says what to do with the call.
        if class.embedded
            || brings_more(context, Some(&class.name))
            || others.any(|other| brings_more(other, None))
        {
            Call::Needed
        } else if context.by == HIBERNATE || !ASKS.contains(&context.endpoint.method.as_str()) {
            // Entities are loaded to be changed or removed, too.
            Call::MayChange
        } else {
            Call::Spare
        }
    }
}

impl Call {
    /// What to do where nothing is read; that there is an object, or how many are, may be all that is asked.
    fn without_reads(self, class: &Class) -> String {
        let there = match class.objects > class.responses {
            true => "how many there are",
            false => "whether it is there",
        };
        match self {
            Self::Spare => {
                format!("nothing of it is read: leave the call out, or ask only {there}")
            }
            Self::MayChange => format!(
                "nothing of it is read: leave the call out, or ask only {there}, unless it is made to change something"
            ),
            Self::Needed if class.embedded => {
                "nothing of it is read: ask for the entities without it".to_owned()
            }
            Self::Needed => format!(
                "nothing of it is read, but other objects of the response are: ask for those alone, or of it only {there}"
            ),
        }
    }

    /// What to do where reads are only for texts and comparisons.
    fn with_prints(self) -> &'static str {
        match self {
            Self::Spare => {
                "it is only logged, compared or printed: leave the call out, or ask for what that needs"
            }
            Self::MayChange => {
                "it is only logged, compared or printed: ask for what that needs, or leave the call out, \
                 unless it is made to change something"
            }
            Self::Needed => "it is only logged, compared or printed: ask for what that needs",
        }
    }
}

impl Advice {
    /// For objects of a class whose fields are used so, as the report with this head tells. What changes entities
    /// (`is_entity`) needs them whole.
    pub(crate) fn of(
        class: &Class,
        head: &Head,
        fields: &[FieldRow],
        call: Call,
        is_entity: bool,
    ) -> Self {
        if class.decided == 0 {
            return Self::nothing_known(class, fields);
        }
        // Of the field of which least is known.
        let decided = class.fields.iter().map(Field::decided).min().unwrap_or(0);
        let of = |kinds: &[Use]| used_so(fields, kinds);
        let used = of(&[Use::Always, Use::Sometimes, Use::Censored]);
        let sometimes = of(&[Use::Sometimes]);
        let censored = of(&[Use::Censored]);
        let printed = of(&[Use::Printed]);
        let never = of(&[Use::Never, Use::Printed]);
        let not_yet = of(&[Use::NotYet]);
        let perhaps = perhaps_used(class, fields);
        let mut text = if !never.is_empty() && perhaps >= 1.0 {
            let is_certain = not_yet.is_empty();
            let used = of(&[Use::Always, Use::Sometimes]);
            let what = match (used.as_slice(), printed.is_empty()) {
                ([], true) if is_certain => {
                    "hardly any of these objects is read: ask for those that are".to_owned()
                }
                ([], false) if is_certain => {
                    "hardly any of these objects is more than logged, compared \
                     or printed: ask for those that are"
                        .to_owned()
                }
                ([one], _) if is_certain => {
                    format!(
                        "of most objects only `{one}` is read: ask for the rest where it is needed"
                    )
                }
                (some, _) if is_certain && some.len() <= MOST_NAMED => format!(
                    "of most objects only {} are read: ask for the rest where it is needed",
                    named(some)
                ),
                _ => format!(
                    "{} of {} fields are hardly ever read: ask for {} where needed",
                    never.len(),
                    fields.len(),
                    named(&never)
                ),
            };
            format!(
                "{what} (up to {perhaps} of the {:.0} objects of a response may be read all the same, \
                 as one is that is looked for)",
                objects_of_response(class)
            )
        } else if !never.is_empty() && used.is_empty() && not_yet.is_empty() {
            match printed.is_empty() {
                true => call.without_reads(class),
                false => call.with_prints().to_owned(),
            }
        } else if !never.is_empty() && used.len() <= MOST_NAMED && not_yet.is_empty() {
            let (verb, them, what) = match used.len() {
                1 => ("is", "that field", "what it refers to"),
                _ => ("are", "those fields", "what they refer to"),
            };
            // No columns of the row, but for the other's id.
            let only_refer = is_entity
                && (class.fields.iter().zip(fields))
                    .filter(|(_, row)| used.contains(&row.name.as_str()))
                    .all(|(field, _)| field.refers);
            let asked = match only_refer {
                true => format!("{what} instead, or only for ids"),
                false => them.to_owned(),
            };
            format!("only {} {verb} read: ask for {asked}", named(&used))
        } else if !never.is_empty() {
            let read = match printed.is_empty() {
                true => "read",
                false => "used",
            };
            format!(
                "{} of {} fields are never {read}: do without {}",
                never.len(),
                fields.len(),
                named(&never)
            )
        } else if !not_yet.is_empty() {
            format!(
                "nothing has read {} so far, in {} objects, which are too few to be sure",
                named(&not_yet),
                decided
            )
        } else {
            "every field of it that is sent is read".to_owned()
        };
        let tells_of_changes = used.is_empty() && call == Call::MayChange;
        if is_entity && !never.is_empty() && perhaps < 1.0 && !tells_of_changes {
            text += ", unless the program changes such entities";
        }
        if !sometimes.is_empty() {
            text += &format!("; some objects only: {}", named(&sometimes));
        }
        if !censored.is_empty() {
            text += &format!("; only in objects that are censored: {}", named(&censored));
        }
        // By equals and hashCode, a program may need them. Where they are all that is read, that is said already.
        let is_said = used.is_empty() && not_yet.is_empty();
        if !printed.is_empty() && !is_said {
            text += &format!("; only logged, compared or printed: {}", named(&printed));
        }
        // Of different weights, fewer samples than objects.
        let effective = (fields.iter()).map(|field| field.effective_samples);
        let effective = effective.fold(f64::INFINITY, f64::min).floor();
        let samples = head.samples;
        if effective < samples as f64 && !never.is_empty() {
            text += &format!(" (so far: {effective} of {samples} samples)");
        }
        let others = departure::of_class(class);
        if others > MUCH {
            text += &format!(
                " ({:.0} % of all objects are in longer or shorter responses than those looked at)",
                100.0 * others
            );
        }
        if head.is_by_watchpoints() && !never.is_empty() {
            text += "; watchpoints do not see reads after the end of a request";
        }
        let all = class.decided.saturating_add(class.censored);
        let is_mostly_unknown = class.censored > class.decided;
        if !never.is_empty() && class.censored as f64 > MANY_UNKNOWN * all as f64 {
            let later = later_use(&format!("{} of {all}", class.censored));
            text = match is_mostly_unknown {
                true => format!("{later}; of the others: {text}"),
                false => format!("{text}; {later}"),
            };
        }
        Self {
            text,
            is_needed: !never.is_empty() && !is_mostly_unknown,
        }
    }

    fn nothing_known(class: &Class, fields: &[FieldRow]) -> Self {
        let mut text = match (class.watched, class.censored) {
            (0, _) => "nothing is known: none of its objects has been watched".to_owned(),
            (_, 0) => "nothing is known yet: no object has been collected".to_owned(),
            (_, censored) => later_use(&censored.to_string()),
        };
        let censored = used_so(fields, &[Use::Censored]);
        if !censored.is_empty() {
            text += &format!("; read in some of them: {}", named(&censored));
        }
        Self {
            text,
            is_needed: false,
        }
    }
}

/// What is said of so many objects that are censored.
fn later_use(objects: &str) -> String {
    format!(
        "the later use of {objects} objects is not known: they outlived their requests, were copied, \
         or may have been read unseen"
    )
}

/// Names of the fields of which any of these uses is made.
fn used_so<'row>(fields: &'row [FieldRow], kinds: &[Use]) -> Vec<&'row str> {
    let some = fields.iter().filter(|field| kinds.contains(&field.kind));
    some.map(|field| field.name.as_str()).collect()
}

/// In how many objects of a response a field may be used though no sample shows it. From 1 on each response may have one,
/// which may be what it is asked for.
fn perhaps_used(class: &Class, fields: &[FieldRow]) -> f64 {
    let unread = (fields.iter()).filter(|field| matches!(field.kind, Use::Never | Use::Printed));
    let shares = unread.filter_map(|field| field.utilisation);
    let most = shares.map(|share| share.high).fold(0.0, f64::max);
    (most * objects_of_response(class)).floor()
}

/// Of a response that has any, on average.
fn objects_of_response(class: &Class) -> f64 {
    class.objects as f64 / class.responses.max(1) as f64
}

fn named(fields: &[&str]) -> String {
    let shown = &fields[..fields.len().min(MOST_NAMED)];
    match (fields.len() - shown.len(), shown) {
        (0, [one]) => format!("`{one}`"),
        (0, [first @ .., last]) => format!("`{}` and `{last}`", first.join("`, `")),
        (more, _) => format!("`{}` and {more} more", shown.join("`, `")),
    }
}

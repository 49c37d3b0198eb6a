//! Rows: a class of objects in an allocation context, with what of it arrived in vain; the most bytes first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use slowpath_read_transfers::{Class, Context, Field, Frame, Head, Transfers};
use utoipa::ToSchema;

use crate::advice::{self, Advice};
use crate::calls::Calls;
use crate::departure;
use crate::services::{NoPath, OnServices, Placed, ServicePath, ServicePaths, places};
use crate::share::{Share, effective_samples};

/// Fields that are read in fewer objects, by the upper bound, count as not used: there is no sharper knowledge.
const HARDLY_USED: f64 = 0.05;

/// Standard errors of a normal distribution in which 95 % lie.
const CONFIDENCE_95: f64 = 1.96;

/// All rows of some processes.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = TransfersReport)]
pub struct Report {
    /// Processes with an agent.
    pub processes: usize,
    /// Of these, how many see reads by which backend of the agent: "field-mask", "watchpoints".
    pub backends: BTreeMap<String, usize>,
    /// Responses of remote services that arrived in them.
    pub responses: u64,
    /// What the agents could not count or watch.
    pub left_out: LeftOut,
    /// What spans tell of services; nothing where there are no spans.
    #[schema(required)]
    pub services: Option<OnServices>,
    /// Rows, those that were left out included.
    pub rows: usize,
    /// Worst first.
    pub transfers: Vec<TransferRow>,
}

/// What the agents of all processes could not count or watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = TransfersLeftOut)]
pub struct LeftOut {
    /// Responses that stand in no row, as there are too many contexts.
    pub responses_without_context: u64,
    /// Responses that stand in no row, as no objects of the application were seen in those that were looked into where
    /// they arrive.
    pub responses_without_objects: u64,
    /// Responses that stand in no row, as none of those that arrive there was looked into.
    pub responses_not_looked_into: u64,
    /// Responses that an agent failed to look into.
    pub failures: u64,
    /// Classes whose reads are not seen; nothing that they read was watched.
    pub classes_not_rewritten: u64,
    /// Objects that were not watched as reads of their class might be missed.
    pub reads_unseen: u64,
    /// Objects that were not watched as too many were.
    pub too_many: u64,
    /// Objects that were not watched as no debug register was free, or too much time was spent on aiming them.
    pub registers_busy: u64,
}

impl LeftOut {
    fn of(processes: &[Transfers]) -> Self {
        let sum = |count: fn(&Head) -> u64| {
            let counts = processes.iter().map(|process| count(&process.head));
            counts.fold(0, u64::saturating_add)
        };
        let without_classes = |are_those: fn(&Context) -> bool| {
            let contexts = processes.iter().flat_map(|process| &process.contexts);
            let responses = contexts
                .filter(|context| context.classes.is_empty() && are_those(context))
                .map(|context| context.responses);
            responses.fold(0, u64::saturating_add)
        };
        Self {
            responses_without_context: sum(|head| head.responses_without_context),
            responses_without_objects: without_classes(|context| context.looked_into > 0),
            responses_not_looked_into: without_classes(|context| context.looked_into == 0),
            failures: sum(|head| head.failures),
            classes_not_rewritten: sum(|head| head.classes_not_rewritten),
            reads_unseen: sum(|head| head.not_watched.reads_unseen),
            too_many: sum(|head| head.not_watched.too_many),
            registers_busy: sum(|head| head.not_watched.registers_busy),
        }
    }
}

/// Objects of a class in an allocation context.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Transfer)]
pub struct TransferRow {
    /// From 1.
    pub rank: usize,
    /// Process.
    pub pid: u32,
    /// Class or jar with arguments.
    pub program: String,
    /// How its agent sees reads: "field-mask"; "watchpoints", which see none after the end of a request.
    pub backend: String,
    /// Number of the context in the process.
    pub context: u32,
    /// The application's methods, the outermost first: "class.method(file:line)".
    pub call_path: Vec<String>,
    /// "GET http://host/path"; empty where not known.
    pub endpoint: String,
    /// What noticed it.
    pub by: String,
    /// Class of the objects.
    pub class: String,
    /// All responses in the context.
    pub responses: u64,
    /// How far that may be off, with 95 % confidence; 0: each was counted.
    pub responses_within: u64,
    /// Of these, by the time that the agent ran.
    pub responses_per_second: f64,
    /// Objects of the class in a response, on average.
    pub objects_per_response: f64,
    /// Responses of which not all objects were looked at, so that how many they have is estimated.
    pub too_large: u64,
    /// Objects of which all use is known.
    pub decided: u64,
    /// Objects of which later use is not known: they outlived their requests, were copied, or may have been read unseen.
    pub censored: u64,
    /// Objects whose reads could not be followed.
    pub lost: u64,
    /// Share of fields used (equation 2); nothing where no object is decided.
    #[schema(required)]
    pub utilisation: Option<f64>,
    /// Bytes of these objects in a response.
    pub bytes_per_response: f64,
    /// Of those, what no use was made of.
    pub wasted_bytes_per_response: f64,
    /// The same by time.
    pub wasted_bytes_per_second: f64,
    /// Fields of the class.
    pub fields: Vec<FieldRow>,
    /// What to change.
    pub advice: Advice,
    /// The paths of services on which the context lies, the first rank first.
    pub paths: Vec<ServicePath>,
    /// Why there is none; nothing where there is one, and where there are no spans.
    #[schema(required)]
    pub no_path: Option<NoPath>,
}

/// A field of these objects.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = TransferredField)]
pub struct FieldRow {
    /// As in the source.
    pub name: String,
    /// As in the source.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Decided objects in which it was read.
    pub used: u64,
    /// … in which only toString, hashCode or equals read it.
    pub printed: u64,
    /// … in which nothing did.
    pub unused: u64,
    /// Censored objects in which it was read; they are in no share.
    pub censored_used: u64,
    /// Share of objects in which it was read (equation 3), estimated from the decided ones by their weights.
    #[schema(required)]
    pub utilisation: Option<Share>,
    /// Share in which only toString, hashCode or equals read it.
    #[schema(required)]
    pub printed_share: Option<f64>,
    /// So many decided objects of equal weight would give shares as sure.
    pub effective_samples: f64,
    /// Bytes in an object, on average; 0 where it was never there.
    pub bytes: f64,
    /// All of it in a word.
    #[serde(rename = "use")]
    pub kind: Use,
}

/// What use a field is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = FieldUse)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// In all objects but perhaps a few.
    Always,
    /// In some.
    Sometimes,
    /// In none that is decided, but in censored ones.
    Censored,
    /// In none, but toString, hashCode or equals read it.
    Printed,
    /// In none.
    Never,
    /// In none so far, but samples are too few to say so: the interval goes beyond 5 %.
    NotYet,
    /// It was null in all objects: nothing was transferred.
    Absent,
    /// No object is decided.
    Unknown,
}

impl Report {
    /// All rows, the most bytes in vain first; `top` of them where it is not 0.
    pub fn new(processes: &[Transfers], top: usize) -> Self {
        Self::in_order(processes, None, top)
    }

    /// All rows, those on the first paths of services first; of those on the same path, and of those on none, the most
    /// bytes in vain first. `calls` have seen all spans.
    pub fn on_services(
        processes: &[Transfers],
        calls: &Calls,
        services: &ServicePaths,
        top: usize,
    ) -> Self {
        let places = places(processes, calls, services);
        Self::in_order(processes, Some((places, services)), top)
    }

    fn in_order(
        processes: &[Transfers],
        placed: Option<(Vec<Vec<Placed>>, &ServicePaths)>,
        top: usize,
    ) -> Self {
        let (places, services) = placed.unzip();
        let mut transfers: Vec<TransferRow> = Vec::new();
        for (number, process) in processes.iter().enumerate() {
            let together = advice::Calls::of(&process.contexts);
            for (position, context) in process.contexts.iter().enumerate() {
                let placed = places.as_ref().map(|places| &places[number][position]);
                let rows = context.classes.iter();
                transfers.extend(
                    rows.map(|class| row(&process.head, &together, context, class, placed)),
                );
            }
        }
        transfers.sort_by(|one, other| {
            let rank = |row: &TransferRow| row.paths.first().map_or(usize::MAX, |path| path.rank);
            let waste = other
                .wasted_bytes_per_second
                .total_cmp(&one.wasted_bytes_per_second);
            let key = |row: &TransferRow| (Reverse(row.responses), row.pid, row.context);
            (rank(one).cmp(&rank(other)))
                .then(waste)
                .then_with(|| key(one).cmp(&key(other)))
                .then_with(|| one.class.cmp(&other.class))
        });
        for (rank, row) in (1..).zip(&mut transfers) {
            row.rank = rank;
        }
        let services = services.map(|services| OnServices::of(services, &transfers));
        let rows = transfers.len();
        if top > 0 {
            transfers.truncate(top);
        }
        let responses = processes
            .iter()
            .flat_map(|process| &process.contexts)
            .map(|context| context.responses);
        let mut backends = BTreeMap::new();
        for process in processes {
            *backends.entry(process.head.backend.clone()).or_default() += 1;
        }
        Self {
            processes: processes.len(),
            backends,
            responses: responses.fold(0, u64::saturating_add),
            left_out: LeftOut::of(processes),
            services,
            rows,
            transfers,
        }
    }
}

fn row(
    head: &Head,
    together: &advice::Calls<'_>,
    context: &Context,
    class: &Class,
    placed: Option<&Placed>,
) -> TransferRow {
    let seconds = head.end_ns.saturating_sub(head.begin_ns).max(1) as f64 / 1e9;
    let responses_per_second = context.responses as f64 / seconds;
    let objects_per_response = ratio(class.objects, context.looked_into);
    let fields: Vec<FieldRow> = class
        .fields
        .iter()
        .map(|field| field_row(class, field))
        .collect();
    let bytes: f64 = fields.iter().map(|field| field.bytes).sum();
    let wasted: f64 = (class.fields.iter().zip(&fields))
        .filter_map(|(field, row)| Some(row.bytes * in_vain(field, row.utilisation?)))
        .sum();
    let sum = |weight: fn(Weights) -> u64| {
        let weights = class.fields.iter().map(|field| weight(Weights::of(field)));
        weights.fold(0, u64::saturating_add)
    };
    let used = sum(|weights| weights.used);
    let all = sum(|weights| weights.decided);
    let call = together.call(context, class, |other, field| field_row(other, field).kind);
    let is_entity = context.by == advice::HIBERNATE;
    let advice = Advice::of(class, head, &fields, call, is_entity);
    TransferRow {
        rank: 0,
        pid: head.pid,
        program: head.program.clone(),
        backend: head.backend.clone(),
        context: context.number,
        call_path: context.call_path.iter().map(place).collect(),
        endpoint: format!("{} {}", context.endpoint.method, context.endpoint.url)
            .trim()
            .to_owned(),
        by: context.by.clone(),
        class: class.name.clone(),
        responses: context.responses,
        responses_within: (CONFIDENCE_95 * context.standard_error).round() as u64,
        responses_per_second,
        objects_per_response,
        too_large: context.too_large,
        decided: class.decided,
        censored: class.censored,
        lost: class.lost,
        utilisation: (all > 0).then(|| ratio(used, all)),
        bytes_per_response: bytes * objects_per_response,
        wasted_bytes_per_response: wasted * objects_per_response,
        wasted_bytes_per_second: wasted * objects_per_response * responses_per_second,
        fields,
        advice,
        paths: placed
            .and_then(|placed| placed.clone().ok())
            .unwrap_or_default(),
        no_path: placed.and_then(|placed| placed.as_ref().err().copied()),
    }
}

/// Of the decided objects of a field: sums of their weights, which are all 1 where older agents do not tell them.
struct Weights {
    used: u64,
    printed: u64,
    decided: u64,
    squares: u64,
}

impl Weights {
    fn of(field: &Field) -> Self {
        match &field.weighted {
            Some(weighted) => Self {
                used: weighted.used,
                printed: weighted.printed,
                decided: weighted.decided(),
                squares: weighted.squares,
            },
            None => Self {
                used: field.used,
                printed: field.printed,
                decided: field.decided(),
                squares: field.decided(),
            },
        }
    }
}

/// The share of a field's bytes that objects have which do not use it. Not the share of these objects, as they may be
/// shorter or longer than those that do. Of censored objects the same share, but not of those that used it: reports do not tell
/// their weights, and what they used later nobody saw.
fn in_vain(field: &Field, utilisation: Share) -> f64 {
    let of_decided = match &field.weighted {
        Some(weighted) if weighted.bytes_decided > 0 => {
            ratio(weighted.bytes_in_vain, weighted.bytes_decided)
        }
        _ => 1.0 - utilisation.share,
    };
    let censored = ratio(
        field.censored,
        field.decided().saturating_add(field.censored),
    );
    let of_censored = of_decided.min(1.0 - ratio(field.censored_used, field.censored));
    of_decided * (1.0 - censored) + of_censored * censored
}

fn field_row(class: &Class, field: &Field) -> FieldRow {
    let weights = Weights::of(field);
    let is_unanimous = field.used == 0 || field.unused + field.printed == 0;
    let utilisation = Share::of_weights(weights.used, weights.decided, weights.squares)
        .map(|share| share.widened(departure::of_field(class, field, is_unanimous)));
    let is_absent = field.present == 0 && class.watched > 0;
    let kind = match utilisation {
        _ if field.used == 0 && field.censored_used > 0 => Use::Censored,
        _ if is_absent && field.used == 0 => Use::Absent,
        None if class.decided > 0 => Use::NotYet,
        None => Use::Unknown,
        Some(_) if field.used > 0 && field.unused + field.printed == 0 => Use::Always,
        Some(_) if field.used > 0 => Use::Sometimes,
        Some(share) if share.high > HARDLY_USED => Use::NotYet,
        Some(_) if field.printed > 0 => Use::Printed,
        Some(_) => Use::Never,
    };
    FieldRow {
        name: field.name.clone(),
        type_name: field.type_name.clone(),
        used: field.used,
        printed: field.printed,
        unused: field.unused,
        censored_used: field.censored_used,
        utilisation,
        printed_share: utilisation.map(|_| ratio(weights.printed, weights.decided)),
        effective_samples: effective_samples(weights.decided, weights.squares),
        bytes: match &field.weighted {
            _ if is_absent => 0.0,
            Some(weighted) => ratio(weighted.bytes, class.watched_weight),
            None => ratio(field.bytes, class.watched),
        },
        kind,
    }
}

fn place(frame: &Frame) -> String {
    let Frame {
        class,
        method,
        file,
        line,
    } = frame;
    match (file, line) {
        (Some(file), 1..) => format!("{class}.{method}({file}:{line})"),
        (Some(file), _) => format!("{class}.{method}({file})"),
        (None, _) => format!("{class}.{method}"),
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

//! Pages of events around a time: so many before it and after it, without reading the rest.

use std::collections::VecDeque;

use serde::Serialize;
use slowpath_model::{DisplayBase, FieldVisitor, Projection, Scope};
use slowpath_session::{EventPlace, Experiment, Interrupted, merged_events_by};
use slowpath_source::Source;

use crate::TraceClocks;
use crate::event_text::{class_name, write_fields};

/// Which events are meant.
#[derive(Clone, Debug)]
pub struct EventQuery {
    /// The time around which, as an offset.
    pub at: i64,
    /// So many that are earlier.
    pub before: usize,
    /// So many from that time on.
    pub after: usize,
    /// A part of the event's name; empty for all.
    pub name: String,
    /// A part of the printed fields; empty for all.
    pub text: String,
}

/// Events around a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventPage {
    /// In the order of time.
    pub events: Vec<EventRow>,
    /// Whether there are more before them.
    pub has_earlier: bool,
    /// Whether there are more after them.
    pub has_later: bool,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventRow {
    /// When.
    pub at_ns: i64,
    /// The host as its trace names it.
    pub host: String,
    /// The stream.
    pub stream: String,
    /// The processor, where known.
    pub cpu: Option<u32>,
    /// The event's name.
    pub name: String,
    /// The thread, where a context names it.
    pub tid: Option<i64>,
    /// Its fields as babeltrace2 prints them.
    pub text: String,
}

/// The page of events that is asked for.
pub fn event_page(experiment: &Experiment, query: &EventQuery, clocks: &TraceClocks) -> EventPage {
    let reader = Reader::new(experiment, query, clocks);
    let (mut events, has_later) = reader.after();
    let (earlier, has_earlier) = reader.before();
    let mut page = earlier;
    page.append(&mut events);
    EventPage {
        events: page,
        has_earlier,
        has_later,
    }
}

struct Reader<'run> {
    experiment: &'run Experiment,
    query: &'run EventQuery,
    clocks: &'run TraceClocks,
    sources: Vec<&'run dyn Source>,
    wanted: Vec<Projection>,
    /// What the packets state, as offsets.
    bounds: (i64, i64),
    packets: i64,
}

impl<'run> Reader<'run> {
    fn new(
        experiment: &'run Experiment,
        query: &'run EventQuery,
        clocks: &'run TraceClocks,
    ) -> Self {
        let name = query.name.to_lowercase();
        let traces = experiment.traces.iter();
        let sources: Vec<&dyn Source> = traces.map(|trace| &*trace.source).collect();
        let wanted = sources.iter().map(|source| {
            let schema = source.schema();
            let mut wanted = Projection::every_event(schema.event_classes.len());
            for (id, class) in schema.classes() {
                if !class.name.to_lowercase().contains(&name) {
                    wanted.exclude(id);
                }
            }
            wanted
        });
        let wanted = wanted.collect();
        let (mut bounds, mut packets) = (None, 0);
        for (trace, source) in sources.iter().enumerate() {
            let origin = clocks.of_trace(trace);
            for packet in source.packets() {
                let range = (
                    origin.offset(packet.range.begin),
                    origin.offset(packet.range.end),
                );
                let known = bounds.get_or_insert(range);
                *known = (known.0.min(range.0), known.1.max(range.1));
                packets += 1;
            }
        }
        Self {
            experiment,
            query,
            clocks,
            wanted,
            bounds: bounds.unwrap_or((query.at, query.at)),
            packets,
            sources,
        }
    }

    /// Tells `each` the events of a range until it has enough.
    fn read(
        &self,
        begin: i64,
        end: i64,
        mut each: impl FnMut(EventPlace) -> Result<(), Interrupted>,
    ) {
        let range = |trace| {
            self.clocks
                .about(trace, Some(begin), (end < i64::MAX).then_some(end))
        };
        let shown = |trace: usize, at| self.clocks.of_trace(trace).offset(at);
        let (_, _) = merged_events_by(&self.sources, &self.wanted, range, shown, |place| {
            let fits = (begin..end).contains(&shown(place.trace, place.at))
                && (self.query.text.is_empty() || self.row(place).text.contains(&self.query.text));
            match fits {
                true => each(place),
                false => Ok(()),
            }
        });
    }

    fn row(&self, place: EventPlace) -> EventRow {
        event_row(self.experiment, place, self.clocks)
    }

    fn after(&self) -> (Vec<EventRow>, bool) {
        let (mut events, mut has_later) = (Vec::new(), false);
        self.read(self.query.at, i64::MAX, |place| {
            has_later = events.len() == self.query.after;
            if has_later {
                return Err(Interrupted);
            }
            events.push(self.row(place));
            Ok(())
        });
        (events, has_later)
    }

    /// Goes back in ever longer strides until there are enough.
    fn before(&self) -> (Vec<EventRow>, bool) {
        let most = self.query.before;
        let mut found: VecDeque<EventPlace> = VecDeque::new();
        let (first, last) = self.bounds;
        let mut end = self.query.at.min(last.saturating_add(1));
        // A part of a packet's time, as pages are small beside packets.
        let mut stride = (last.saturating_sub(first) / self.packets.max(1) / 16).max(1);
        while most > 0 && end > first && found.len() <= most {
            let begin = end.saturating_sub(stride).max(first);
            let mut stretch = VecDeque::new();
            self.read(begin, end, |place| {
                stretch.push_back(place);
                if stretch.len() > most + 1 - found.len() {
                    stretch.pop_front();
                }
                Ok(())
            });
            stretch.append(&mut found);
            found = stretch;
            (end, stride) = (begin, stride.saturating_mul(4));
        }
        let has_earlier = found.len() > most;
        if has_earlier {
            found.pop_front();
        }
        (
            found.into_iter().map(|place| self.row(place)).collect(),
            has_earlier,
        )
    }
}

/// An event as a row.
pub(crate) fn event_row(
    experiment: &Experiment,
    place: EventPlace,
    clocks: &TraceClocks,
) -> EventRow {
    let source = &*experiment.traces[place.trace].source;
    let packet = &source.packets()[place.packet.index()];
    let mut text = Vec::new();
    write_fields(&mut text, place, source);
    let mut thread = ThreadContext::default();
    source.visit(place.packet, place.position, &mut thread);
    let name = class_name(&experiment.traces, place.trace, place.class);
    EventRow {
        at_ns: clocks.of_trace(place.trace).offset(place.at),
        host: source.schema().host.clone(),
        stream: source.streams()[packet.stream.index()].name.clone(),
        cpu: packet.cpu.map(|cpu| cpu.0),
        name: name.to_owned(),
        tid: thread.tid,
        text: String::from_utf8_lossy(&text).into_owned(),
    }
}

/// The thread that an event's contexts name.
#[derive(Default)]
struct ThreadContext {
    tid: Option<i64>,
    in_context: bool,
    named: bool,
}

impl FieldVisitor for ThreadContext {
    fn scope(&mut self, scope: Scope) {
        self.in_context = scope != Scope::Payload;
    }

    fn name(&mut self, name: &str) {
        self.named = self.in_context && ["tid", "vtid", "common_pid"].contains(&name);
    }

    fn unsigned(&mut self, value: u64, bits: u32, base: DisplayBase) {
        self.signed(value as i64, bits, base);
    }

    fn signed(&mut self, value: i64, _: u32, _: DisplayBase) {
        if self.named {
            self.tid = Some(value);
        }
    }
}

//! Pages of events around a time: so many before it and after it, without reading the rest.
//!
//! Where few events fit what is looked for, a page ends after a bounded part of the recording and says
//! how far it looked, so that whoever asks can show that and go on from there.

use std::collections::VecDeque;

use serde::Serialize;
use slowpath_model::{DisplayBase, FieldVisitor, HostId, Projection, Scope};
use slowpath_session::{EventPlace, Experiment, Interrupted, merged_events_by};
use slowpath_source::Source;
use utoipa::ToSchema;

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
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct EventPage {
    /// In the order of time.
    pub events: Vec<EventRow>,
    /// Whether there are more before them.
    pub has_earlier: bool,
    /// Whether there are more after them.
    pub has_later: bool,
    /// Where the search for earlier ones ended before there were enough; there may be more.
    #[schema(required)]
    pub searched_from_ns: Option<i64>,
    /// Where the search for later ones ended before there were enough; there may be more.
    #[schema(required)]
    pub searched_to_ns: Option<i64>,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = EventLine)]
pub struct EventRow {
    /// When.
    pub at_ns: i64,
    /// Its host; null where its trace is that of none with kernel events.
    #[schema(required)]
    pub host: Option<HostId>,
    /// The host as its trace names it.
    pub host_name: String,
    /// The stream.
    pub stream: String,
    /// The processor, where known.
    #[schema(required)]
    pub cpu: Option<u32>,
    /// The event's name.
    pub name: String,
    /// The thread, where a context names it.
    #[schema(required)]
    pub tid: Option<i64>,
    /// Its fields as babeltrace2 prints them.
    pub text: String,
}

/// Bytes of packets that a search for names looks at before it says how far it came.
const SEARCHED_FOR_NAMES: u64 = 256 << 20;
/// The same of a search in printed fields, which takes longer.
const SEARCHED_FOR_TEXTS: u64 = 32 << 20;

/// The page of events that is asked for.
pub fn event_page(experiment: &Experiment, query: &EventQuery, clocks: &TraceClocks) -> EventPage {
    let most = match (query.name.is_empty(), query.text.is_empty()) {
        (true, true) => u64::MAX,
        (false, true) => SEARCHED_FOR_NAMES,
        (_, false) => SEARCHED_FOR_TEXTS,
    };
    event_page_within(experiment, query, clocks, most)
}

/// The same, where a search for names or texts looks at so many bytes in each direction.
fn event_page_within(
    experiment: &Experiment,
    query: &EventQuery,
    clocks: &TraceClocks,
    most_bytes: u64,
) -> EventPage {
    let reader = Reader::new(experiment, query, clocks, most_bytes);
    let (later, earlier) = (reader.after(), reader.before());
    let mut events = earlier.events;
    events.extend(later.events);
    EventPage {
        events,
        has_earlier: earlier.has_more,
        has_later: later.has_more,
        searched_from_ns: earlier.searched,
        searched_to_ns: later.searched,
    }
}

/// One direction of a page.
struct Found {
    events: Vec<EventRow>,
    has_more: bool,
    /// Where it ended without having found enough.
    searched: Option<i64>,
}

struct Reader<'run> {
    experiment: &'run Experiment,
    query: &'run EventQuery,
    clocks: &'run TraceClocks,
    sources: Vec<&'run dyn Source>,
    wanted: Vec<Projection>,
    /// What the packets state, as offsets.
    bounds: (i64, i64),
    /// The first stretch of time to look at on the way back; those after it are longer.
    stride: i64,
    /// The most time to look at in each direction.
    patience: i64,
}

impl<'run> Reader<'run> {
    fn new(
        experiment: &'run Experiment,
        query: &'run EventQuery,
        clocks: &'run TraceClocks,
        most_bytes: u64,
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
        let (mut bounds, mut packets, mut bytes) = (None, 0, 0);
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
                bytes += packet.size;
            }
        }
        let bounds = bounds.unwrap_or((query.at, query.at));
        let length = bounds.1.saturating_sub(bounds.0).saturating_add(1);
        // A part of a packet's time, as pages are small beside packets.
        let stride = (length / packets.max(1) / 16).max(1);
        Self {
            experiment,
            query,
            clocks,
            wanted,
            bounds,
            stride,
            patience: match bytes <= most_bytes {
                true => i64::MAX,
                false => (length as f64 * (most_bytes as f64 / bytes as f64)) as i64,
            },
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

    fn after(&self) -> Found {
        let most = self.query.after;
        let (mut events, mut is_full) = (Vec::new(), false);
        let (first, last) = self.bounds;
        let end = self.query.at.max(first).saturating_add(self.patience);
        let searched = (end <= last).then_some(end);
        self.read(self.query.at, searched.unwrap_or(i64::MAX), |place| {
            is_full = events.len() == most;
            if is_full {
                return Err(Interrupted);
            }
            events.push(self.row(place));
            Ok(())
        });
        Found {
            events,
            has_more: is_full || searched.is_some(),
            searched: searched.filter(|_| !is_full),
        }
    }

    /// Goes back in ever longer strides until there are enough.
    fn before(&self) -> Found {
        let most = self.query.before;
        let mut found: VecDeque<EventPlace> = VecDeque::new();
        let mut searched = None;
        let (first, last) = self.bounds;
        let until = self.query.at.min(last.saturating_add(1));
        let (mut end, mut stride) = (until, self.stride);
        while end > first && found.len() <= most {
            if until - end > self.patience {
                searched = Some(end);
                break;
            }
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
            let longer = stride.saturating_mul(4).min(self.patience / 8);
            (end, stride) = (begin, longer.max(stride));
        }
        let is_full = found.len() > most;
        if is_full {
            found.pop_front();
        }
        Found {
            events: found.into_iter().map(|place| self.row(place)).collect(),
            has_more: is_full || searched.is_some(),
            searched,
        }
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
        host: clocks.host_of_trace(place.trace),
        host_name: source.schema().host.clone(),
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use slowpath_model::Timestamp;

    use super::*;
    use crate::Clocks;

    /// Events of a small recording that was made once.
    fn opened() -> (Experiment, TraceClocks) {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/cpu-cgroup-ust");
        let experiment = slowpath_session::open(&[path], std::num::NonZeroUsize::MIN).unwrap();
        let packets = experiment.traces[0].source.packets().iter();
        let first = packets.map(|packet| packet.range.begin).min();
        let clocks = Clocks::one(first.unwrap_or(Timestamp::from_ns(0)));
        let clocks = TraceClocks::of(&clocks, &experiment.hosts_of_traces());
        (experiment, clocks)
    }

    fn query(at: i64, before: usize, after: usize, text: &str) -> EventQuery {
        EventQuery {
            at,
            before,
            after,
            name: String::new(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_search_that_says_how_far_it_came_can_go_on_from_there() {
        let (experiment, clocks) = opened();
        let all = event_page(
            &experiment,
            &query(i64::MIN / 2, 0, usize::MAX, ""),
            &clocks,
        );
        let texts: Vec<&str> = all.events.iter().map(|event| &*event.text).collect();
        // The rarest of the texts, so that most of the recording is looked through for it.
        let wanted = texts
            .iter()
            .copied()
            .min_by_key(|text| texts.iter().filter(|other| *other == text).count());
        let wanted = wanted.unwrap();
        let expected: Vec<&EventRow> = all
            .events
            .iter()
            .filter(|event| event.text == wanted)
            .collect();
        assert!(!expected.is_empty() && expected.len() * 10 < all.events.len());

        let within = 4_096;
        let (mut at, mut later, mut questions) = (0, Vec::new(), 0);
        loop {
            let page =
                event_page_within(&experiment, &query(at, 0, 100_000, wanted), &clocks, within);
            questions += 1;
            later.extend(page.events);
            assert_eq!(page.has_later, page.searched_to_ns.is_some());
            match page.searched_to_ns {
                Some(reached) if reached > at => at = reached,
                Some(reached) => panic!("no step was made from {at} to {reached}"),
                None => break,
            }
        }
        assert!(questions > 2, "{questions}");
        assert_eq!(later.iter().collect::<Vec<_>>(), expected);

        let (mut at, mut earlier) = (i64::MAX / 2, Vec::new());
        loop {
            let page =
                event_page_within(&experiment, &query(at, 100_000, 0, wanted), &clocks, within);
            earlier.splice(0..0, page.events);
            match page.searched_from_ns {
                Some(reached) if reached < at => at = reached,
                Some(reached) => panic!("no step was made from {at} to {reached}"),
                None => break,
            }
        }
        assert_eq!(earlier.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn without_a_search_nothing_is_bounded() {
        let (experiment, clocks) = opened();
        let page = event_page(&experiment, &query(0, 0, 5, ""), &clocks);
        assert_eq!(page.events.len(), 5);
        assert_eq!((page.has_later, page.searched_to_ns), (true, None));
        let after_all = event_page(&experiment, &query(i64::MAX / 2, 0, 5, ""), &clocks);
        assert!(after_all.events.is_empty() && after_all.has_earlier);
    }
}

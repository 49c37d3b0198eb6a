//! Rules held against spans as they arrive: when one is broken, by what value, by which requests.
//!
//! Each service and operation that a rule covers is counted by itself, over the spans that arrived
//! within the rule's window. Memory is bounded: the oldest spans are not counted, and operations beyond a
//! number are forgotten, those first that were not heard from for longest.

use std::collections::{HashMap, VecDeque};
use std::io::{self, PipeReader, PipeWriter, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use slowpath_model::Timestamp;

use super::glance::{SpanGlance, glance};
use super::rules::{Measure, Rule};
use crate::host;
use crate::manifest::{SlowRequest, Trigger};

/// Operations that are remembered for each rule.
pub(crate) const MOST_OPERATIONS: usize = 128;
/// Spans of one request that are looked at: batches of senders have hundreds, floods millions.
const MOST_SPANS_OF_REQUEST: usize = 50_000;
/// Spans that are remembered for each of them.
const MOST_SPANS: usize = 4096;
/// Parts of the window, by which spans are counted beyond these.
const PARTS: u32 = 64;
/// A percentile of fewer spans says nothing.
const FEWEST_SPANS: usize = 10;
/// Requests that a broken rule names.
const MOST_NAMED: usize = 20;

/// The rules with what they have seen.
#[derive(Debug)]
pub(crate) struct Triggers {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    watched: Vec<Watched>,
    news: News,
    announce: PipeWriter,
}

/// What is to be told of the rules.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct News {
    /// Those that were broken.
    pub(crate) broken: Vec<Trigger>,
    /// Those that cover more operations at once than are remembered, each told once.
    pub(crate) crowded: Vec<String>,
}

#[derive(Debug)]
struct Watched {
    rule: Rule,
    held_until: Option<Instant>,
    operations: HashMap<(String, String), Operation>,
    /// Whether operations were forgotten that had spans in the window.
    is_crowded: bool,
    /// Whether any span was of an operation that the rule covers.
    has_covered: bool,
}

/// What is remembered of a service's operation.
#[derive(Debug)]
struct Operation {
    heard: Instant,
    /// The last ones of those that the measure rests on.
    spans: VecDeque<Seen>,
    /// How many of those arrived when, however many they are.
    parts: VecDeque<Part>,
}

/// Spans that arrived within a part of the window.
#[derive(Debug)]
struct Part {
    begin: Instant,
    spans: u64,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    arrived: Instant,
    begin_ns: u64,
    duration_ns: u64,
    is_error: bool,
    trace_id: [u8; 16],
    span_id: [u8; 8],
}

impl Triggers {
    /// The rules, and a pipe that becomes readable when one is broken.
    pub(crate) fn new(rules: Vec<Rule>) -> io::Result<(Self, PipeReader)> {
        let (reader, announce) = io::pipe()?;
        let watched = rules.into_iter().map(|rule| Watched {
            rule,
            held_until: None,
            operations: HashMap::new(),
            is_crowded: false,
            has_covered: false,
        });
        let state = State {
            watched: watched.collect(),
            news: News::default(),
            announce,
        };
        let triggers = Self {
            state: Mutex::new(state),
        };
        Ok((triggers, reader))
    }

    /// Holds the rules against the spans of a request.
    pub(crate) fn look_at(&self, message: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        // One byte is enough until they are taken.
        let is_announced = state.news != News::default();
        let State { watched, news, .. } = &mut *state;
        for watched in watched {
            news.broken.extend(watched.look_at(message, now));
            if watched.forget(now) {
                news.crowded.push(watched.rule.text.clone());
            }
        }
        if !is_announced && state.news != News::default() {
            // Nobody listens any more when the recording ends.
            let _ = state.announce.write_all(b"!");
        }
    }

    /// What has happened since the last call.
    pub(crate) fn take_news(&self) -> News {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.news)
    }

    /// The rules that no span was of so far.
    pub(crate) fn without_spans(&self) -> Vec<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let without = state.watched.iter().filter(|one| !one.has_covered);
        without.map(|one| one.rule.text.clone()).collect()
    }
}

impl Watched {
    fn look_at(&mut self, message: &[u8], now: Instant) -> Option<Trigger> {
        if self.held_until.is_some_and(|until| now < until) {
            return None;
        }
        let mut looked_at = 0;
        // Malformed requests do not come so far.
        let _ = glance(message, |span| {
            looked_at += 1;
            if looked_at > MOST_SPANS_OF_REQUEST {
                return;
            }
            let service = String::from_utf8_lossy(span.service);
            let operation = String::from_utf8_lossy(span.operation);
            if !self.rule.covers(&service, &operation) {
                return;
            }
            self.has_covered = true;
            let seen = Seen::of(&span, now);
            if !self.rule.rests_on(seen.duration_ns, seen.is_error) {
                return;
            }
            let key = (service.into_owned(), operation.into_owned());
            let operation = (self.operations.entry(key)).or_insert_with(|| Operation::new(now));
            operation.add(seen, self.rule.window);
        });
        let window = self.rule.window;
        let mut worst: Option<(u64, &(String, String), &Operation)> = None;
        for (key, operation) in &mut self.operations {
            if operation.heard != now {
                continue;
            }
            operation.forget_before(now, window);
            let Some(value) = operation.value(self.rule.measure) else {
                continue;
            };
            if self.rule.is_broken_by(value) && worst.is_none_or(|(most, ..)| value > most) {
                worst = Some((value, key, operation));
            }
        }
        let (value, key, operation) = worst?;
        let broken = trigger(&self.rule, value, key, &operation.spans);
        // Afterwards it starts afresh: the same spans shall not break it twice.
        self.held_until = now.checked_add(self.rule.hold);
        self.operations.clear();
        Some(broken)
    }

    /// Forgets operations until no more than [`MOST_OPERATIONS`] are left. Whether, for the first time, one of
    /// them had spans in the window.
    fn forget(&mut self, now: Instant) -> bool {
        if self.operations.len() <= MOST_OPERATIONS {
            return false;
        }
        let window = self.rule.window;
        self.operations
            .retain(|_, operation| now.duration_since(operation.heard) <= window);
        let Some(excess) = self.operations.len().checked_sub(MOST_OPERATIONS) else {
            return false;
        };
        let by_hearing = self.operations.iter();
        let mut by_hearing: Vec<(Instant, (String, String))> = by_hearing
            .map(|(key, operation)| (operation.heard, key.clone()))
            .collect();
        by_hearing.sort_unstable();
        for (_, key) in &by_hearing[..excess] {
            self.operations.remove(key);
        }
        excess > 0 && !std::mem::replace(&mut self.is_crowded, true)
    }
}

impl Operation {
    fn new(heard: Instant) -> Self {
        Self {
            heard,
            spans: VecDeque::new(),
            parts: VecDeque::new(),
        }
    }

    fn add(&mut self, seen: Seen, window: Duration) {
        self.heard = seen.arrived;
        if self.spans.len() == MOST_SPANS {
            self.spans.pop_front();
        }
        self.spans.push_back(seen);
        match self.parts.back_mut() {
            Some(part) if seen.arrived.duration_since(part.begin) <= window / PARTS => {
                part.spans += 1;
            }
            _ => self.parts.push_back(Part {
                begin: seen.arrived,
                spans: 1,
            }),
        }
    }

    fn forget_before(&mut self, now: Instant, window: Duration) {
        let is_old = |arrived: Instant| now.duration_since(arrived) > window;
        while self.spans.front().is_some_and(|one| is_old(one.arrived)) {
            self.spans.pop_front();
        }
        while self.parts.front().is_some_and(|part| is_old(part.begin)) {
            self.parts.pop_front();
        }
    }

    /// The value of the measure; `None` where there are too few spans to tell.
    fn value(&self, measure: Measure) -> Option<u64> {
        let durations = self.spans.iter().map(|span| span.duration_ns);
        match measure {
            Measure::Max => durations.max(),
            Measure::Errors => Some(self.parts.iter().map(|part| part.spans).sum()),
            Measure::Percentile(_) if self.spans.len() < FEWEST_SPANS => None,
            Measure::Percentile(percent) => {
                // Nearest rank: the smallest that `percent` of them do not exceed.
                let rank = (percent / 100.0 * self.spans.len() as f64).ceil() as usize;
                let mut durations: Vec<u64> = durations.collect();
                let position = rank.clamp(1, durations.len()) - 1;
                Some(*durations.select_nth_unstable(position).1)
            }
        }
    }
}

impl Seen {
    fn of(span: &SpanGlance<'_>, arrived: Instant) -> Self {
        Self {
            arrived,
            begin_ns: span.begin_ns,
            duration_ns: span.end_ns.saturating_sub(span.begin_ns),
            is_error: span.is_error,
            trace_id: span.trace_id.try_into().unwrap_or_default(),
            span_id: span.span_id.try_into().unwrap_or_default(),
        }
    }
}

fn trigger(rule: &Rule, value: u64, key: &(String, String), spans: &VecDeque<Seen>) -> Trigger {
    let mut guilty: Vec<&Seen> = match rule.measure {
        Measure::Errors => spans.iter().collect(),
        _ => spans
            .iter()
            .filter(|span| rule.is_broken_by(span.duration_ns))
            .collect(),
    };
    guilty.sort_by_key(|span| std::cmp::Reverse(span.duration_ns));
    guilty.truncate(MOST_NAMED);
    let requests = guilty.into_iter().map(|span| SlowRequest {
        trace_id: hexadecimal(&span.trace_id),
        span_id: hexadecimal(&span.span_id),
        service: key.0.clone(),
        operation: key.1.clone(),
        begin_ns: Timestamp::from_ns(i64::try_from(span.begin_ns).unwrap_or(i64::MAX)),
        duration_ns: span.duration_ns,
    });
    Trigger {
        snapshot: String::new(),
        before: None,
        rule: rule.text.clone(),
        value,
        threshold: rule.threshold,
        at_ns: host::now(),
        requests: requests.collect(),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use prost::Message;

    use super::*;
    use crate::spans::samples;

    /// What a rule says after each of some requests, given as service, operation, spans.
    fn check(rule: &str, requests: &[(&str, &str, u8)], expected: &[Option<u64>]) {
        let rules = vec![rule.parse().expect(rule)];
        let (triggers, _pipe) = Triggers::new(rules).expect("a pipe");
        let said = requests.iter().map(|(service, operation, count)| {
            let message = samples::request(service, operation, *count).encode_to_vec();
            triggers.look_at(&message);
            triggers
                .take_news()
                .broken
                .first()
                .map(|broken| broken.value)
        });
        assert_eq!(said.collect::<Vec<_>>(), expected, "{rule}");
        assert_eq!(triggers.without_spans(), [""; 0], "{rule}");
    }

    #[test]
    fn rules_that_no_span_was_of_are_known() {
        let rules = ["max(shop:/bye) > 1ms", "max(shop:/buy) > 1s"];
        let parsed = rules.map(|rule| rule.parse().expect(rule)).to_vec();
        let (triggers, _pipe) = Triggers::new(parsed).expect("a pipe");
        assert_eq!(triggers.without_spans(), rules);
        triggers.look_at(&samples::request("shop", "/buy", 1).encode_to_vec());
        assert_eq!(triggers.without_spans(), rules[..1]);
    }

    const DURATION: Option<u64> = Some(samples::DURATION_NS);

    #[test]
    fn a_rule_is_broken_by_the_spans_it_covers() {
        check(
            "max(shop:/buy) > 4ms",
            &[("shop", "/look", 3), ("shop", "/buy", 1)],
            &[None, DURATION],
        );
        check("max(shop:/buy) > 5ms", &[("shop", "/buy", 200)], &[None]);
        check("max(shop:/buy) >= 5ms", &[("shop", "/buy", 1)], &[DURATION]);
        // Ten spans are needed, and each operation is counted by itself.
        check(
            "p99(shop:*) > 4ms",
            &[("shop", "/a", 9), ("shop", "/b", 9), ("shop", "/a", 1)],
            &[None, None, DURATION],
        );
        // Each request has one that failed.
        check(
            "errors(*) >= 2",
            &[("a", "x", 5), ("b", "x", 5), ("a", "x", 5)],
            &[None, None, Some(2)],
        );
    }

    #[test]
    fn a_rule_holds_its_peace_after_a_snapshot_and_forgets_what_is_old() {
        let buy = ("shop", "/buy", 1);
        check(
            "max(shop:/buy) > 4ms hold 1min",
            &[buy, buy],
            &[DURATION, None],
        );
        check(
            "max(shop:/buy) > 4ms hold 1ns",
            &[buy, buy],
            &[DURATION, DURATION],
        );
        let few = ("shop", "/buy", 6);
        check("p50(shop:/buy) > 4ms in 1ns", &[few, few], &[None, None]);
        check("p50(shop:/buy) > 4ms", &[few, few], &[None, DURATION]);
    }

    #[test]
    fn errors_are_counted_however_many_they_are_and_whatever_else_comes() {
        let mut request = samples::request("shop", "/buy", 250);
        let spans = request.resource_spans[0].scope_spans[0].spans.iter_mut();
        let failed = samples::request("shop", "/buy", 1).resource_spans[0].scope_spans[0].spans[0]
            .status
            .clone();
        spans.for_each(|span| span.status.clone_from(&failed));
        let failed = request.encode_to_vec();
        let spans = request.resource_spans[0].scope_spans[0].spans.iter_mut();
        spans.for_each(|span| span.status = None);
        let fine = request.encode_to_vec();
        let rule = "errors(shop:*) >= 5000".parse().expect("a rule");
        let (triggers, _pipe) = Triggers::new(vec![rule]).expect("a pipe");
        for _ in 0..19 {
            triggers.look_at(&failed);
            triggers.look_at(&fine);
        }
        assert_eq!(triggers.take_news().broken, []);
        triggers.look_at(&failed);
        let broken = triggers.take_news().broken;
        assert_eq!(
            (broken[0].value, broken[0].requests.len()),
            (5000, MOST_NAMED)
        );
    }

    #[test]
    fn errors_are_forgotten_with_their_part_of_the_window() {
        let (begin, window) = (Instant::now(), Duration::from_secs(64));
        let at = |second: u64| begin + Duration::from_secs(second);
        let mut operation = Operation::new(begin);
        for second in 0..100 {
            operation.add(Seen::of(&SpanGlance::default(), at(second)), window);
            operation.forget_before(at(second), window);
        }
        let value = operation.value(Measure::Errors).expect("a count");
        assert!((64..=65).contains(&value), "{value}");
        assert!(operation.parts.len() <= PARTS as usize + 1);
        operation.forget_before(at(200), window);
        assert_eq!(operation.value(Measure::Errors), Some(0));
    }

    /// Requests with `count` spans each of `names` operations, numbered from 0.
    fn many_names(names: usize, count: u8) -> Vec<Vec<u8>> {
        let request =
            |name| samples::request("shop", &format!("/item/{name}"), count).encode_to_vec();
        (0..names).map(request).collect()
    }

    #[test]
    fn operations_beyond_a_number_displace_those_not_heard_from_for_longest() {
        let text = "p50(shop:*) > 4ms hold 1min";
        let (triggers, _pipe) = Triggers::new(vec![text.parse().expect(text)]).expect("a pipe");
        let requests = many_names(MOST_OPERATIONS + 2, 5);
        for request in &requests {
            triggers.look_at(request);
        }
        let news = triggers.take_news();
        assert_eq!(
            (news.broken, &news.crowded[..]),
            (vec![], &[text.to_owned()][..])
        );
        // The first is forgotten; the last one, which was new when all places were taken, is not.
        triggers.look_at(&requests[0]);
        assert_eq!(triggers.take_news(), News::default(), "told once");
        triggers.look_at(&requests[MOST_OPERATIONS + 1]);
        assert_eq!(triggers.take_news().broken.len(), 1);
    }

    #[test]
    fn operations_whose_spans_are_old_make_room_in_silence() {
        let text = "p50(shop:*) > 4ms in 1ns";
        let (triggers, _pipe) = Triggers::new(vec![text.parse().expect(text)]).expect("a pipe");
        for request in many_names(MOST_OPERATIONS, 5) {
            triggers.look_at(&request);
        }
        triggers.look_at(&samples::request("shop", "/slow", 10).encode_to_vec());
        let news = triggers.take_news();
        assert_eq!((news.broken.len(), news.crowded.len()), (1, 0));
    }

    #[test]
    fn all_of_a_message_is_looked_at_however_many_operations_it_has() {
        let rule = "errors(shop:*) >= 2".parse().expect("a rule");
        let (triggers, _pipe) = Triggers::new(vec![rule]).expect("a pipe");
        let mut message = Vec::new();
        for mut request in
            (0..2 * MOST_OPERATIONS).map(|name| samples::request("shop", &format!("/{name}"), 1))
        {
            let spans = &mut request.resource_spans[0].scope_spans[0].spans;
            if spans[0].name == "/0" {
                spans.push(spans[0].clone());
            }
            message.extend(request.encode_to_vec());
        }
        triggers.look_at(&message);
        assert_eq!(triggers.take_news().broken[0].requests[0].operation, "/0");
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let seen = |duration_ns| Seen {
            duration_ns,
            ..Seen::of(&SpanGlance::default(), Instant::now())
        };
        let mut operation = Operation::new(Instant::now());
        operation.spans = (1..=200).rev().map(seen).collect();
        for (percent, expected) in [(50.0, 100), (99.0, 198), (99.9, 200), (0.1, 1)] {
            assert_eq!(
                operation.value(Measure::Percentile(percent)),
                Some(expected)
            );
        }
    }

    #[test]
    fn what_broke_a_rule_is_named_and_announced_once() {
        let rules = vec!["max(shop:/buy) > 4ms hold 1ns".parse().expect("a rule")];
        let (triggers, mut pipe) = Triggers::new(rules).expect("a pipe");
        let message = samples::request("shop", "/buy", 25).encode_to_vec();
        triggers.look_at(&message);
        triggers.look_at(&message);
        let broken = triggers.take_news().broken;
        assert_eq!(broken.len(), 2);
        let requests = &broken[0].requests;
        assert_eq!(requests.len(), MOST_NAMED);
        assert_eq!(requests[3].trace_id, "03".repeat(16));
        assert_eq!(requests[3].span_id, "03".repeat(8));
        assert_eq!(broken[0].threshold, 4_000_000);
        drop(triggers);
        let mut announced = Vec::new();
        pipe.read_to_end(&mut announced).expect("it is closed");
        assert_eq!(announced, b"!");
    }
}

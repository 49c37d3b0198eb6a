//! Turns of the event loop, made of batches, and what waited in them.
//!
//! Redis serves all clients that have sent something, and only then writes the replies to all of them and asks
//! the kernel who has sent more. So batches with commands that began before a reply to any of them was written are
//! of one turn, and all of them had come when the turn began.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use slowpath_concepts::StoreClientId;
use slowpath_model::{Nanoseconds, TimeRange, Timestamp};

use super::{AT_ONCE, SLOW, SaturatedLoop};
use crate::batch::{Batch, Executed};
use crate::lite::MOST_WRITTEN_AT_ONCE;

/// Batches are told when their last reply was written, which turns are put together without: so many, and for so
/// long, wait for others whose replies began to be written before theirs.
const MOST_WAITING: usize = 1 << 14;
const LONGEST_WAITING: Nanoseconds = Nanoseconds(10_000_000_000);
/// What follows at once may seem to have begun so much earlier, as times of batches are rounded.
const ROUNDED: Nanoseconds = Nanoseconds(10_000);
/// Of a turn with more slow commands than this, the longest are looked at: each keeps its victims for a turn.
const MOST_SLOW: usize = 16;

const SECOND: i64 = 1_000_000_000;
/// A main thread that is at work for so much of a second is saturated …
const SATURATED: Nanoseconds = Nanoseconds(900_000_000);
/// … if one in so many commands had to wait for another client's.
const ONE_QUEUED_IN: u64 = 10;

/// Turns of one server's event loop.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Turns {
    /// In the order in which their replies began to be written.
    waiting: VecDeque<Served>,
    /// Batches of the turn that is put together, in that order.
    turn: Vec<Served>,
    /// Where the turn before that held others up.
    before: Option<Before>,
    /// When the last turn ended.
    ended: Option<Timestamp>,
    second: Second,
    /// The sum of seconds in which it was saturated; without its share of them.
    saturated: SaturatedLoop,
    /// How long it was at work in them.
    at_work: Nanoseconds,
    /// The row of saturated seconds that ends with the last one that was: its first, its last.
    row: Option<(i64, i64)>,
    /// Slow commands that held others up, by the number of their name.
    pub(super) slow: BTreeMap<u32, SlowTotals>,
}

/// What turns need of a batch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Served {
    client: StoreClientId,
    /// Its first command.
    command: u32,
    commands: u64,
    /// It was read; its first command began, where it was read long before.
    begin: Timestamp,
    start: Timestamp,
    executed: Timestamp,
    write_start: Timestamp,
    /// Its replies were written in the same turn; `write_start`, where that cannot be.
    written: Timestamp,
    /// The longest of its commands, if slow.
    slow: Option<Executed>,
}

/// Slow commands of a turn, and who was served in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Before {
    ended: Timestamp,
    clients: FxHashSet<StoreClientId>,
    slow: Vec<SlowRun>,
}

/// All times that one command was slow and held others up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SlowTotals {
    pub(super) count: u64,
    pub(super) executing: Nanoseconds,
    pub(super) held: u64,
    pub(super) likely_held: u64,
    pub(super) waited_at_least: Nanoseconds,
    pub(super) waited_at_most: Nanoseconds,
    pub(super) clients: FxHashSet<StoreClientId>,
    pub(super) worst: Option<SlowRun>,
}

/// A slow command, once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SlowRun {
    command: u32,
    pub(super) client: StoreClientId,
    pub(super) start: Timestamp,
    pub(super) length: Nanoseconds,
    pub(super) victims: Vec<Victim>,
}

/// Another client, which had sent commands that waited for it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Victim {
    pub(super) client: StoreClientId,
    pub(super) command: u32,
    pub(super) commands: u64,
    pub(super) certain: bool,
}

/// What was done in one second since the epoch.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Second {
    number: i64,
    at_work: Nanoseconds,
    commands: u64,
    queued: u64,
    most_clients: u64,
}

impl Turns {
    /// One more batch.
    pub(crate) fn add(&mut self, batch: &Batch) {
        let Some(served) = Served::of(batch) else {
            return;
        };
        let is_before = |other: &Served| other.write_start <= served.write_start;
        // Nearly always the last one.
        let position = self.waiting.partition_point(is_before);
        self.waiting.insert(position, served);
        while self.is_first_complete() {
            self.serve_first();
        }
    }

    /// Nothing follows that is known to be of what is open.
    pub(crate) fn settle(&mut self) {
        while !self.waiting.is_empty() {
            self.serve_first();
        }
        self.end_turn();
        self.finish_before();
        self.end_second();
        self.ended = None;
    }

    /// The seconds in which the main thread was saturated, if any.
    pub(super) fn saturated(&self) -> Option<SaturatedLoop> {
        let found = &self.saturated;
        let whole = found.seconds as f64 * SECOND as f64;
        (found.seconds > 0).then(|| SaturatedLoop {
            percent: self.at_work.get() as f64 / whole * 100.0,
            ..found.clone()
        })
    }

    fn is_first_complete(&self) -> bool {
        let (Some(first), Some(last)) = (self.waiting.front(), self.waiting.back()) else {
            return false;
        };
        self.waiting.len() > MOST_WAITING
            || last.write_start.since(first.write_start) > LONGEST_WAITING
    }

    fn serve_first(&mut self) {
        let Some(served) = self.waiting.pop_front() else {
            return;
        };
        let turn_ends = self.turn.first().map(|first| first.write_start);
        match turn_ends {
            // Too late: its turn was looked at without it.
            Some(ends) if served.write_start < ends => return,
            Some(ends) if served.start >= ends || self.turn.len() >= MOST_WAITING => {
                self.end_turn();
            }
            _ => {}
        }
        self.turn.push(served);
    }

    fn end_turn(&mut self) {
        let mut turn = std::mem::take(&mut self.turn);
        let clients = turn.iter().map(|served| served.client).collect();
        turn.sort_by_key(|served| (served.start, served.client));
        let turn = &turn[self.first_of_turn(&turn)..];
        let (Some(begin), Some(ended)) = (
            turn.iter().map(|served| served.begin).min(),
            turn.iter().map(|served| served.written).max(),
        ) else {
            return;
        };
        self.hold_likely(begin, turn);
        self.finish_before();
        let slow = slowest(turn);
        if !slow.is_empty() {
            self.before = Some(Before {
                ended,
                clients,
                slow,
            });
        }
        self.work(begin, ended, turn);
    }

    /// Where in the order of commands this turn begins, which is without a pause: before it are clients that an
    /// earlier one blocked. A command that was executed still when the one before ended takes so long that Redis served
    /// others meanwhile.
    fn first_of_turn(&self, turn: &[Served]) -> usize {
        let ended = self.ended.unwrap_or(Timestamp::MIN);
        let is_of_it = |served: &Served| served.start >= ended || served.executed > ended;
        let mut first = turn.iter().position(is_of_it).unwrap_or(turn.len());
        let follows = |position: usize| {
            let (before, served) = (&turn[position - 1], &turn[position]);
            served.start < ended && served.start.since(before.executed) <= AT_ONCE
        };
        while first > 0 && first < turn.len() && follows(first) {
            first -= 1;
        }
        let mut executed = Timestamp::MIN;
        for (position, served) in turn.iter().enumerate().skip(first) {
            if served.start.since(executed) > AT_ONCE {
                first = position;
            }
            executed = executed.max(served.executed);
        }
        first
    }

    /// Clients that were served in the turn right after one with slow commands, and not in that one, had sent
    /// what they sent before its end, as the event loop did not wait. Not those that were served while a long command of
    /// that turn was executed: for these Redis looks then.
    fn hold_likely(&mut self, begin: Timestamp, turn: &[Served]) {
        let Some(before) = &mut self.before else {
            return;
        };
        if begin.since(before.ended) > AT_ONCE {
            return;
        }
        let others =
            one_after_another(turn).filter(|served| !before.clients.contains(&served.client));
        let victims: Vec<Victim> = others.map(|served| served.victim(false)).collect();
        for slow in &mut before.slow {
            slow.victims.extend_from_slice(&victims);
        }
    }

    fn finish_before(&mut self) {
        let slow = self.before.take().map(|before| before.slow);
        for run in slow.into_iter().flatten() {
            if !run.victims.is_empty() {
                self.slow.entry(run.command).or_default().add(run);
            }
        }
    }

    fn work(&mut self, begin: Timestamp, ended: Timestamp, turn: &[Served]) {
        let begin = self.ended.map_or(begin, |before| begin.max(before));
        let ended = ended.max(begin);
        self.ended = Some(ended);
        self.work_in_second_of(begin, begin, ended);
        // Seconds in between have no command that could have waited.
        if self.second.range().end <= ended {
            self.work_in_second_of(ended, begin, ended);
        }
        self.second.commands += turn.iter().map(|served| served.commands).sum::<u64>();
        let queued = one_after_another(turn).skip(1);
        self.second.queued += queued.map(|served| served.commands).sum::<u64>();
        self.second.most_clients = self.second.most_clients.max(turn.len() as u64);
    }

    fn work_in_second_of(&mut self, at: Timestamp, begin: Timestamp, ended: Timestamp) {
        let number = at.ns().div_euclid(SECOND);
        if self.second.number != number {
            self.end_second();
            self.second.number = number;
        }
        let work = TimeRange::new(begin, ended).intersect(self.second.range());
        self.second.at_work += work.length();
    }

    fn end_second(&mut self) {
        let second = std::mem::take(&mut self.second);
        let is_queued =
            second.queued > 0 && second.queued.saturating_mul(ONE_QUEUED_IN) >= second.commands;
        if second.at_work < SATURATED || !is_queued {
            return;
        }
        let found = &mut self.saturated;
        found.seconds += 1;
        self.at_work += second.at_work;
        found.commands += second.commands;
        found.queued += second.queued;
        found.most_clients = found.most_clients.max(second.most_clients);
        let first = match self.row {
            Some((first, last)) if last + 1 == second.number => first,
            _ => second.number,
        };
        self.row = Some((first, second.number));
        let length = (second.number - first).unsigned_abs() + 1;
        if length > found.longest_seconds {
            found.longest_seconds = length;
            found.longest_begin_ns = first.saturating_mul(SECOND);
        }
    }
}

/// Of a turn in the order of its commands, those that were not executed while another one was: where a script takes long,
/// Redis serves others meanwhile.
fn one_after_another(turn: &[Served]) -> impl Iterator<Item = &Served> {
    let mut executed = Timestamp::MIN;
    turn.iter().filter(move |served| {
        let is_meanwhile = executed.since(served.executed) > ROUNDED;
        executed = executed.max(served.executed);
        !is_meanwhile
    })
}

/// The slow commands of a turn, each with those that waited for it.
fn slowest(turn: &[Served]) -> Vec<SlowRun> {
    let slow = (turn.iter()).filter_map(|served| Some((served, served.slow?)));
    let mut slow: Vec<(&Served, Executed)> = slow.collect();
    slow.sort_by_key(|(_, command)| (Reverse(command.length), command.start));
    slow.truncate(MOST_SLOW);
    let runs = slow.into_iter();
    runs.map(|(served, command)| SlowRun::in_turn(served, command, turn))
        .collect()
}

impl Served {
    /// `None` where nothing was executed or answered: in which turn that was is not known.
    fn of(batch: &Batch) -> Option<Self> {
        let (first, last) = (batch.commands.first()?, batch.commands.last()?);
        let write_start = batch.write_start.filter(|_| batch.answered)?;
        let is_slow = |command: &&Executed| command.length >= SLOW;
        let slow = batch.commands.iter().filter(is_slow);
        let was_just_read = first.start.since(batch.begin) <= AT_ONCE;
        Some(Self {
            client: batch.client,
            command: first.command,
            commands: batch.commands.len() as u64,
            begin: if was_just_read {
                batch.begin
            } else {
                first.start
            },
            start: first.start,
            executed: last.start + last.length,
            write_start,
            written: match batch.bytes_written {
                0..=MOST_WRITTEN_AT_ONCE => batch.ended,
                _ => write_start,
            },
            slow: slow.max_by_key(|command| command.length).copied(),
        })
    }

    fn victim(&self, certain: bool) -> Victim {
        Victim {
            client: self.client,
            command: self.command,
            commands: self.commands,
            certain,
        }
    }
}

impl SlowRun {
    /// All others of its turn waited for it: those after it to be executed, those before it to be answered. Not those that
    /// were executed or answered while it was executed, as Redis does where a script takes long.
    fn in_turn(of: &Served, slow: Executed, turn: &[Served]) -> Self {
        let ended = slow.start + slow.length;
        let is_meanwhile = |served: &Served| {
            served.start > slow.start && ended.since(served.executed) > ROUNDED
                || ended.since(served.written) >= AT_ONCE
        };
        let others =
            (turn.iter()).filter(|served| served.client != of.client && !is_meanwhile(served));
        Self {
            command: slow.command,
            client: of.client,
            start: slow.start,
            length: slow.length,
            victims: others.map(|served| served.victim(true)).collect(),
        }
    }

    /// Commands of others that waited for certain, or likely did.
    pub(super) fn held(&self, certain: bool) -> u64 {
        let those = self.victims.iter();
        let those = those.filter(|victim| victim.certain == certain);
        those.map(|victim| victim.commands).sum()
    }

    fn waited(&self, commands: u64) -> Nanoseconds {
        Nanoseconds(self.length.get().saturating_mul(commands))
    }
}

impl SlowTotals {
    fn add(&mut self, run: SlowRun) {
        let (held, likely_held) = (run.held(true), run.held(false));
        let all = held.saturating_add(likely_held);
        self.count += 1;
        self.executing += run.length;
        self.held = self.held.saturating_add(held);
        self.likely_held = self.likely_held.saturating_add(likely_held);
        self.waited_at_least += run.waited(held);
        self.waited_at_most += run.waited(all);
        self.clients
            .extend(run.victims.iter().map(|victim| victim.client));
        let order = |run: &SlowRun| run.waited(run.held(true).saturating_add(run.held(false)));
        if (self.worst.as_ref()).is_none_or(|worst| order(&run) > order(worst)) {
            self.worst = Some(run);
        }
    }
}

impl Second {
    fn range(&self) -> TimeRange {
        let begin = self.number.saturating_mul(SECOND);
        TimeRange::new(
            Timestamp::from_ns(begin),
            Timestamp::from_ns(begin.saturating_add(SECOND)),
        )
    }
}

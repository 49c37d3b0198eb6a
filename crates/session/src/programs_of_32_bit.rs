//! Which threads ran 32-bit programs, and when: ftrace tells numbers of system calls, which mean others there.
//!
//! A recorder sees in `/proc` what runs for long enough; events tell of the others. The call by which a thread executes
//! a program returns as one of that program's: on x86 a 32-bit one's has the number of `munmap`. Whom such a thread
//! makes runs the same program. Not for other tracers, which tell names.

use std::num::NonZeroUsize;

use rustc_hash::{FxHashMap, FxHashSet};
use slowpath_concepts::{Concepts, Fact, FactKind};
use slowpath_model::{Event, PacketId, Schema, ThreadId, TimeRange, Timestamp};
use slowpath_source::{Source, Stream};

use crate::retold::Retold;

/// So many packets of a stream are looked at for the return of a call, from the one on in which a program was executed.
const MOST_PACKETS: usize = 3;

/// The same trace, whose schema knows what its events tell of 32-bit programs.
pub(crate) fn told(source: Box<dyn Source>, jobs: NonZeroUsize) -> Box<dyn Source> {
    match threads_of_32_bit(&*source, jobs) {
        Some(threads_of_32_bit) => Box::new(Retold {
            schema: Some(Schema {
                threads_of_32_bit,
                ..source.schema().clone()
            }),
            streams: None,
            diagnostics: None,
            source,
        }),
        None => source,
    }
}

/// When, to which thread, and what.
type Happening = (Timestamp, ThreadId, Happened);

/// What happened to a thread that matters here.
#[derive(Clone, Copy, Debug)]
enum Happened {
    /// The thread was made by this one.
    MadeBy(ThreadId),
    /// It executed a program; whether that is one of 32 bits, if the call's return was found.
    Executed(Option<bool>),
}

/// Nothing where events tell no more than is known.
fn threads_of_32_bit(
    source: &dyn Source,
    jobs: NonZeroUsize,
) -> Option<Vec<(ThreadId, TimeRange)>> {
    let schema = source.schema();
    let programs = Concepts::resolve(schema, &[FactKind::Exec, FactKind::Fork]);
    let calls = Concepts::resolve(schema, &[FactKind::SyscallExit]);
    if schema.tracer != "ftrace"
        || !programs.has(FactKind::Exec)
        || !calls.has(FactKind::SyscallExit)
    {
        return None;
    }
    let mut happened = in_parallel(source.streams(), jobs, |stream| {
        of_stream(source, stream, &programs, &calls)
    });
    let known: FxHashSet<ThreadId> = (schema.threads_of_32_bit.iter())
        .map(|(thread, _)| *thread)
        .collect();
    let has_any = |(.., what): &Happening| matches!(what, Happened::Executed(Some(true)));
    if known.is_empty() && !happened.iter().any(has_any) {
        return None;
    }
    happened.sort_by_key(|(at, ..)| *at);
    Some(lives(&known, &happened))
}

/// What a stream tells, in its order.
fn of_stream(
    source: &dyn Source,
    stream: &Stream,
    programs: &Concepts,
    calls: &Concepts,
) -> Vec<Happening> {
    let mut happened: Vec<Happening> = Vec::new();
    // Where programs were executed: packet, and position in `happened`.
    let mut executed: Vec<(PacketId, usize)> = Vec::new();
    let decoder = source.decoder(programs.projection());
    for packet in stream.packets.clone().map(PacketId) {
        decoder.decode(packet, &mut |event: &Event<'_>| {
            match programs.fact(event) {
                Some(Fact::Exec { thread, .. }) => {
                    executed.push((packet, happened.len()));
                    happened.push((event.at, thread, Happened::Executed(None)));
                }
                Some(Fact::Fork { parent, child, .. }) => {
                    happened.push((event.at, child, Happened::MadeBy(parent)));
                }
                _ => {}
            };
        });
    }
    read_returns(source, stream, calls, &executed, &mut happened);
    happened
}

/// Finds what the calls returned as by which programs were executed.
fn read_returns(
    source: &dyn Source,
    stream: &Stream,
    calls: &Concepts,
    executed: &[(PacketId, usize)],
    happened: &mut [Happening],
) {
    let decoder = source.decoder(calls.projection());
    let mut executed = executed.iter().copied().peekable();
    // Those whose call has not returned: position, and how many packets more are looked at.
    let mut waiting: Vec<(usize, usize)> = Vec::new();
    for packet in stream.packets.clone().map(PacketId) {
        while let Some((_, place)) = executed.next_if(|(of, _)| *of == packet) {
            waiting.push((place, MOST_PACKETS));
        }
        if waiting.is_empty() {
            continue;
        }
        decoder.decode(packet, &mut |event: &Event<'_>| {
            let Some(Fact::SyscallExit(exit)) = calls.fact(event) else {
                return;
            };
            let is_its = |(place, _): &(usize, usize)| {
                let (at, thread, _) = happened[*place];
                exit.thread == Some(thread) && at <= event.at
            };
            if let Some(found) = waiting.iter().position(is_its) {
                let (place, _) = waiting.swap_remove(found);
                let name = exit.call.map(|call| &*calls.syscall_names()[call.index()]);
                happened[place].2 = Happened::Executed(match name {
                    // The numbers of `execve` among 32-bit calls and the others, read as either.
                    Some("munmap" | "compat_execve") => Some(true),
                    Some("execve" | "compat_oldolduname") => Some(false),
                    _ => None,
                });
            }
        });
        waiting.retain_mut(|(_, left)| {
            *left -= 1;
            *left > 0
        });
    }
}

/// Does `work` with all streams, several at a time; the results in the order of the streams.
fn in_parallel<T: Send>(
    streams: &[Stream],
    jobs: NonZeroUsize,
    work: impl Fn(&Stream) -> Vec<T> + Sync,
) -> Vec<T> {
    let share = streams.len().div_ceil(jobs.get()).max(1);
    std::thread::scope(|scope| {
        let shares = streams.chunks(share);
        let workers = shares.map(|share| scope.spawn(|| share.iter().flat_map(&work).collect()));
        let workers: Vec<_> = workers.collect();
        let done = workers.into_iter().map(|worker| worker.join());
        let done = done.map(|found: Result<Vec<T>, _>| {
            found.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        done.flatten().collect()
    })
}

/// When each thread was one of a 32-bit program, by what `happened` in the order of time; those that are `known` were
/// at some time.
fn lives(known: &FxHashSet<ThreadId>, happened: &[Happening]) -> Vec<(ThreadId, TimeRange)> {
    let mut since: FxHashMap<ThreadId, Timestamp> = FxHashMap::default();
    let mut first: FxHashMap<ThreadId, Happened> = FxHashMap::default();
    for (_, thread, what) in happened {
        first.entry(*thread).or_insert(*what);
    }
    for thread in known {
        // It may have been one before it executed another one.
        if let None | Some(Happened::Executed(Some(false))) = first.get(thread) {
            since.insert(*thread, Timestamp::MIN);
        }
    }
    let mut lives = Vec::new();
    for (at, thread, what) in happened {
        let is_now = match what {
            Happened::MadeBy(parent) => since.contains_key(parent),
            Happened::Executed(Some(is_of_32_bit)) => *is_of_32_bit,
            Happened::Executed(None) => known.contains(thread),
        };
        let begun = match is_now {
            true => since.insert(*thread, *at),
            false => since.remove(thread),
        };
        lives.extend(begun.map(|begin| (*thread, TimeRange::new(begin, *at))));
    }
    let still = since.into_iter();
    lives.extend(still.map(|(thread, begin)| (thread, TimeRange::new(begin, Timestamp::MAX))));
    lives.sort_unstable_by_key(|(thread, life)| (*thread, life.begin));
    lives
}

#[cfg(test)]
mod tests {
    use slowpath_drawn::DrawnTrace;

    use super::*;

    fn check(lines: &str, expected: &[(i32, i64, i64)]) {
        let text = format!("-- environment tracer_name=ftrace\n{lines}");
        let trace = DrawnTrace::parse(&text).expect("a trace");
        let before = trace.schema().threads_of_32_bit.clone();
        let told = told(Box::new(trace), NonZeroUsize::MIN);
        let lives = &told.schema().threads_of_32_bit;
        let lives = lives
            .iter()
            .map(|(thread, life)| (thread.0, life.begin.ns(), life.end.ns()));
        let lives: Vec<_> = lives.collect();
        assert_eq!(lives, expected, "{lines} {before:?}");
    }

    fn executes(thread: i32, at: i64, number: u32) -> String {
        format!(
            "cpu0 {at} sched_process_exec filename=/bin/a pid={thread} old_pid={thread} @common_pid={thread}
             cpu0 {} sys_exit id={number} ret=0 @common_pid={thread}\n",
            at + 2
        )
    }

    #[test]
    fn what_a_program_is_follows_from_how_the_call_returns() {
        check(&executes(7, 10, 59), &[]);
        check(&executes(7, 10, 11), &[(7, 10, i64::MAX)]);
        check(
            &(executes(7, 10, 11) + &executes(7, 30, 59)),
            &[(7, 10, 30)],
        );
        // Somebody else returns first.
        let other = "\ncpu0 11 sys_exit id=11 ret=0 @common_pid=8\n";
        check(&executes(7, 10, 59).replacen('\n', other, 1), &[]);
        // A thread that is made runs its maker's program, whoever had its number.
        let made = |parent: i32, child: i32, at: i64| {
            format!(
                "cpu1 {at} sched_process_fork parent_pid={parent} child_pid={child} @common_pid={parent}\n"
            )
        };
        check(
            &(executes(7, 10, 11) + &made(7, 8, 20) + &made(1, 8, 40) + &made(1, 7, 50)),
            &[(7, 10, 50), (8, 20, 40)],
        );
    }

    #[test]
    fn what_a_recorder_saw_holds_where_events_tell_nothing_else() {
        let end = "cpu0 90 sys_exit id=3 ret=0 @common_pid=9\n";
        let all = (i64::MIN, i64::MAX);
        check(
            &("-- 32-bit 5 7 8 9\n".to_owned() + &executes(7, 10, 11) + &executes(8, 20, 59) + end),
            &[
                (5, all.0, all.1),
                (7, 10, i64::MAX),
                (8, i64::MIN, 20),
                (9, all.0, all.1),
            ],
        );
    }
}

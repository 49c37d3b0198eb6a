//! Ready threads without a processor: a quota, others that ran instead, or a processor that idled.

use std::collections::BTreeMap;

use slowpath_kernel::priorities::Priorities;
use slowpath_kernel::quotas::GroupQuotas;
use slowpath_kernel::timelines::{Doing, Timelines};
use slowpath_kernel::timers::Firings;
use slowpath_model::{CpuId, Nanoseconds, ProcessId, ThreadId, TimeRange, Timestamp};

use crate::finding::{Evidence, Finding, FindingId};
use crate::path::{Piece, Slow, Taken, counted, percent, wants_cpu};
use crate::placement::{Contended, Placement, idle_elsewhere};
use crate::quota::{Counted, Quota, Regime, quota_behind, quotas};
use crate::ran_instead::RanInstead;
use crate::stalls::{SILENCE, STALL};

/// Shorter waits are those of every wake-up.
const SHORT: Nanoseconds = Nanoseconds(200_000);

/// A wait of a slow request's path for a processor.
struct CpuWait {
    piece: Piece,
    /// On which its thread ran last.
    cpu: CpuId,
    /// On which its thread ran next, where that is another one.
    moved_to: Option<CpuId>,
}

/// Waits of threads for processors.
fn pieces(slow: &Slow<'_>) -> impl Iterator<Item = Piece> {
    let is_long = |piece: &Piece| piece.segment.range.length() >= SHORT;
    let is_ready = |piece: &Piece| wants_cpu(piece.segment.state);
    (slow.pieces_here()).filter(move |piece| is_ready(piece) && is_long(piece))
}

/// Whether there may be a finding about them.
pub(crate) fn are_waits_worth_telling(slow: &Slow<'_>) -> bool {
    let mut taken = Taken::default();
    for piece in pieces(slow) {
        taken.add(piece.request, piece.whose(), piece.segment.range);
    }
    taken.share(slow).is_some()
}

/// Findings about processors, and the quotas that some of them are about.
pub(crate) fn findings(
    slow: &Slow<'_>,
    control_groups: &BTreeMap<ProcessId, Vec<String>>,
    group_quotas: Option<&GroupQuotas>,
    quota_periods: Option<&Firings>,
    priorities: &Priorities,
) -> (Vec<Finding>, Vec<Quota>) {
    let waits: Vec<CpuWait> = pieces(slow)
        .filter_map(|piece| {
            let (thread, range) = (piece.segment.thread, piece.segment.range);
            let cpu = cpu_before(slow.lines, thread, range.begin)?;
            let next = cpu_after(slow.lines, thread, range.end);
            Some(CpuWait {
                piece,
                cpu,
                moved_to: next.filter(|next| *next != cpu),
            })
        })
        .collect();
    let times = waits.iter().flat_map(|wait| {
        let cpus = [Some(wait.cpu), wait.moved_to].into_iter().flatten();
        cpus.map(|cpu| (cpu, wait.piece.segment.range))
    });
    let times: Vec<(CpuId, TimeRange)> = times.collect();
    let occupants = slow.lines.occupants(&times);
    let (mut placement, mut by_others) = (Placement::default(), Vec::new());
    // Nobody ran there for most of the time.
    let is_idle = |cpu: CpuId, range: TimeRange| {
        let ran = occupants.during(cpu, range).map(|(_, time)| time);
        ran.sum::<Nanoseconds>().get() * 2 < range.length().get()
    };
    // A quota that is told needs no other evidence. Otherwise, on a busy processor only its own timer tells
    // short stalls from waits of every thread.
    let least = match (group_quotas, quota_periods) {
        (Some(_), _) => SHORT,
        (None, Some(_)) => STALL,
        (None, None) => SILENCE,
    };
    let mut stalled: Vec<ThreadId> = (waits.iter())
        .filter(|wait| {
            let range = wait.piece.segment.range;
            range.length() >= least || is_idle(wait.cpu, range)
        })
        .map(|wait| wait.piece.segment.thread)
        .collect();
    stalled.sort_unstable();
    stalled.dedup();
    let quotas = quotas(
        slow.lines,
        &stalled,
        control_groups,
        group_quotas,
        quota_periods,
        slow.window,
    );
    let is_deadline = |of: ThreadId| priorities.get(&of).is_some_and(|one| one.is_deadline());
    // Threads of that policy ran there for most of the time: else whoever has it goes before all that run.
    let is_for_deadlines = |cpu: CpuId, range: TimeRange| {
        let ran = (occupants.during(cpu, range)).filter(|(other, _)| is_deadline(*other));
        ran.map(|(_, time)| time).sum::<Nanoseconds>().get() * 2 > range.length().get()
    };
    let mut by_deadline = Taken::default();
    let mut by_quota: Vec<Taken> = quotas.iter().map(|_| Taken::default()).collect();
    for wait in &waits {
        let (thread, range) = (wait.piece.segment.thread, wait.piece.segment.range);
        let (request, whose) = (wait.piece.request, wait.piece.whose());
        let mut others = vec![range];
        for (quota, taken) in quotas.iter().zip(&mut by_quota) {
            let parts = others.iter().flat_map(|part| quota.stopped(thread, *part));
            for part in parts {
                taken.add(request, whose, part);
            }
            let parts = others
                .iter()
                .flat_map(|part| quota.not_stopped(thread, *part));
            others = parts.collect();
        }
        others.retain(|part| part.length() >= SHORT);
        for range in others {
            if is_deadline(thread) && !is_for_deadlines(wait.cpu, range) {
                by_deadline.add(request, whose, range);
                by_deadline.blame(slow.thread(whose), range.length());
            } else if is_idle(wait.cpu, range) {
                // A processor that was idle may have fetched the thread; on a busy one it has waited.
                let busy = wait.moved_to.filter(|to| !is_idle(*to, range));
                placement.add_idle(slow, request, whose, range, wait.cpu, busy);
                if let Some(busy) = busy {
                    let others = occupants.during(busy, range);
                    placement.ran.add(slow, priorities, thread, others);
                }
            } else {
                by_others.push(Contended {
                    request,
                    whose,
                    cpu: wait.cpu,
                    range,
                });
            }
        }
    }
    let (mut contention, mut ran_instead) = (Taken::default(), RanInstead::default());
    let idle = idle_elsewhere(slow.lines, &by_others);
    for (one, idle) in by_others.iter().zip(idle) {
        let ran = match idle {
            Some(idle) => {
                placement.add_contended(one, idle);
                &mut placement.ran
            }
            None => {
                contention.add(one.request, one.whose, one.range);
                &mut ran_instead
            }
        };
        let others = occupants.during(one.cpu, one.range);
        ran.add(slow, priorities, one.whose.thread, others);
    }
    let mut findings: Vec<Finding> = (quotas.iter().zip(by_quota))
        .filter_map(|(quota, taken)| held_back(slow, &quotas, quota, taken))
        .collect();
    findings.extend(contended(slow, contention, &ran_instead));
    findings.extend(placement.finding(slow));
    findings.extend(out_of_runtime(slow, by_deadline));
    (findings, quotas)
}

/// A finding about threads of SCHED_DEADLINE that were ready, and that nobody of their policy kept from running.
fn out_of_runtime(slow: &Slow<'_>, mut taken: Taken) -> Option<Finding> {
    let title = "Deadline policy: threads that requests need have used up their runtime".to_owned();
    let explanation = format!(
        "{} waited {} in all for threads of SCHED_DEADLINE, which were ready to run and go before all others, but did not \
         run: the kernel holds them back when their runtime is used up, until their next period: {}.",
        taken.slow_requests(),
        taken.total,
        taken.blamed()
    );
    let evidence = taken.evidence_by(slow, "ready, but held back for", "thread");
    let advice = "See how much these threads need in each period, and give them more runtime or a longer one (`chrt -p`, \
                  sched_setattr), or another policy (SCHED_FIFO, nice).";
    let id = FindingId::DeadlineRuntime;
    taken.finding(slow, id, title, explanation, evidence, advice)
}

/// The processor that a thread ran on last.
fn cpu_before(lines: &Timelines, thread: ThreadId, at: Timestamp) -> Option<CpuId> {
    let window = TimeRange::new(lines.range().begin, at);
    let mut before = lines.backwards(thread, window);
    before.find_map(|stretch| match stretch.doing {
        Doing::Running { cpu } => Some(cpu),
        _ => None,
    })
}

/// The processor that a thread runs on from `at` on.
fn cpu_after(lines: &Timelines, thread: ThreadId, at: Timestamp) -> Option<CpuId> {
    let past = Timestamp::from_ns(at.ns().saturating_add(1));
    match lines.stretch_before(thread, past).doing {
        Doing::Running { cpu } => Some(cpu),
        _ => None,
    }
}

/// A finding about a quota, with each time in which it held.
fn held_back(
    slow: &Slow<'_>,
    quotas: &[Quota],
    quota: &Quota,
    mut taken: Taken,
) -> Option<Finding> {
    /// Processes that are named; others are counted.
    const MOST_NAMED: usize = 3;
    let first = quota.regimes.first()?;
    let amounts: Vec<String> = quota.regimes.iter().map(Regime::amount).collect();
    let mut processes: Vec<String> = (quota.processes.iter().take(MOST_NAMED))
        .map(|process| slow.thread(slow.own(ThreadId(process.0))))
        .collect();
    match quota.processes.len().saturating_sub(MOST_NAMED) {
        0 => {}
        more => processes.push(counted(more, "other", "others")),
    }
    let processes = match &processes[..] {
        [one] => format!("process {one}"),
        several => format!("processes {}", several.join(", ")),
    };
    let group = quota.group.as_deref();
    let moved_among = quota.moved_among.join(" and ");
    let of_group = match (group, quota.is_told()) {
        (None, _) => String::new(),
        (Some(group), true) => format!(" of control group {group}"),
        (Some(_), false) if !moved_among.is_empty() => {
            format!(", moved among the control groups {moved_among},")
        }
        (Some(group), false) => format!(" of control group {group} (or of one above it)"),
    };
    let has_one_period = (quota.regimes.iter()).all(|regime| regime.period == first.period);
    let amounts = match has_one_period {
        true => format!(
            "{} of CPU in every {}",
            amounts.join(", then "),
            first.period
        ),
        false => {
            let each = quota.regimes.iter().zip(&amounts);
            let each = each.map(|(regime, amount)| format!("{amount} in every {}", regime.period));
            format!("{} of CPU", each.collect::<Vec<_>>().join(", then "))
        }
    };
    let title = format!(
        "CPU quota: {processes}{of_group} {} {amounts}",
        if quota.processes.len() == 1 {
            "gets"
        } else {
            "get"
        },
    );
    let why = match quota.is_told() {
        true => told(&quota.regimes),
        false => inferred(&quota.regimes, quota.threads.len()),
    };
    let explanation = format!(
        "{} stood still for {} in all, ready to run, whether processors idled or not. {why}",
        taken.slow_requests(),
        taken.total,
    );
    let regime = |regime: &Regime| Evidence {
        range: Some(regime.range),
        thread: quota.processes.first().map(|process| ThreadId(process.0)),
        ..Evidence::text(in_regime(regime, group))
    };
    let mut evidence: Vec<Evidence> = quota.regimes.iter().map(regime).collect();
    let is_of_this = |found: &Quota| std::ptr::eq(found, quota);
    let (mut waited, mut times) = (Nanoseconds::ZERO, 0);
    for wait in slow.waits() {
        if quota_behind(quotas, &wait).is_some_and(is_of_this) {
            waited += wait.range.length();
            times += 1;
        }
    }
    if times > 0 {
        let text = format!(
            "{} for other threads (locks, tasks, the runtime), {waited} in all: for most of each, one \
             of these was held back itself",
            counted(times, "wait", "waits")
        );
        evidence.push(Evidence::text(text));
    }
    evidence.extend(taken.evidence(slow, "ready, but held back for"));
    let settings: Vec<String> = quota.regimes.iter().map(Regime::setting).collect();
    let (whose, about) = match (group, quota.is_told()) {
        (Some(group), true) => (format!("control group {group}"), ""),
        // Others may have used some of it.
        (Some(_), false) if !moved_among.is_empty() => (
            format!("that of the control groups {moved_among} that has it, or of one above"),
            "about as much or more: ",
        ),
        (Some(group), false) => (
            format!("control group {group}, or of the one above it that has it"),
            "about ",
        ),
        (None, _) => (
            "the process's control group".to_owned(),
            "about as much or more: ",
        ),
    };
    let advice = format!(
        "Raise the quota of {whose} ({about}{} in its cpu.max, with cgroup version 1 in its cpu.cfs_quota_us and \
         cpu.cfs_period_us; a container's CPU limit), or use fewer threads at once so that it lasts longer.",
        settings.join(", then ")
    );
    let id = FindingId::CpuQuota;
    let mut finding = taken.finding(slow, id, title, explanation, evidence, &advice)?;
    let ranges = quota.regimes.iter().map(|regime| regime.range);
    finding.range = ranges.reduce(TimeRange::hull)?;
    Some(finding)
}

/// Why threads stood still, where the kernel told of the quota.
fn told(regimes: &[Regime]) -> String {
    let counted = regimes.iter().filter_map(|regime| regime.counted);
    let looked_at = regimes.iter().map(|regime| regime.range);
    let (Some(all), Some(looked_at)) = (
        counted.reduce(Counted::and),
        looked_at.reduce(TimeRange::hull),
    ) else {
        return String::new();
    };
    if all.is_unknown() {
        return "The group has used up its CPU quota then. The kernel's count of that time is not \
                known, as nobody looked at it before or after."
            .to_owned();
    }
    // The first and the last look are never just where the trace begins and ends.
    let (between, length) = (all.between.length(), looked_at.length());
    let beyond = match between.get() <= length.get() + length.get() / 100 {
        true => String::new(),
        false => format!(", more than the {length} that are looked at"),
    };
    let but = match all.uncounted {
        Nanoseconds::ZERO => String::new(),
        uncounted => format!(" For {uncounted} of that time its count is not known."),
    };
    format!(
        "The group has used up its CPU quota then: the kernel counts {} periods in which it \
         stopped it, for {} in all, added up over processors, between two looks {between} apart{beyond}.{but}",
        all.times, all.stopped,
    )
}

/// Why they did, where that shows in the trace only.
fn inferred(regimes: &[Regime], threads: usize) -> String {
    let periods: usize = regimes.iter().map(|regime| regime.periods).sum();
    let first = regimes.first().map(|first| first.period);
    let is_same = |regime: &Regime| Some(regime.period) == first;
    let of = match first.filter(|_| regimes.iter().all(is_same)) {
        Some(period) => format!(" of {period}"),
        None => String::new(),
    };
    let together = match threads {
        1 => "its only thread stood still and went on when the next began".to_owned(),
        threads => format!("all {threads} threads stood still together and went on together"),
    };
    format!(
        "In {}{of} {together}: this is how the kernel holds a control group to its CPU quota.",
        counted(periods, "period", "periods"),
    )
}

/// What shows a quota while it had one value.
fn in_regime(regime: &Regime, group: Option<&str>) -> String {
    let share = percent(regime.about(), regime.period);
    match (regime.counted, group) {
        (Some(kernel), Some(group)) => {
            let least = match kernel.uncounted {
                Nanoseconds::ZERO => "",
                _ => "at least ",
            };
            let stopped = match kernel.is_unknown() {
                true => "how often the kernel stopped it is not known".to_owned(),
                false => format!(
                    "the kernel stopped it in {least}{}, for {} added up over processors",
                    counted(regime.periods, "period", "periods"),
                    kernel.stopped
                ),
            };
            format!(
                "{group} has a quota of {} in every {} ({share} of one processor); {stopped}; its ready \
                 threads stood still for {} added up over threads",
                regime.amount(),
                regime.period,
                regime.stood_still
            )
        }
        _ => format!(
            "{} of {}, in each its threads ran for {} on average ({share} of one processor); ready \
             threads stood still for {} in all",
            counted(regime.periods, "period", "periods"),
            regime.period,
            regime.amount(),
            regime.stood_still
        ),
    }
}

fn contended(slow: &Slow<'_>, mut taken: Taken, ran: &RanInstead) -> Option<Finding> {
    let title = "CPU contention: ready threads wait while others run".to_owned();
    let explanation = format!(
        "{} waited {} in all for a processor that others used: {}.{}",
        taken.slow_requests(),
        taken.total,
        ran.named()?,
        ran.because(taken.total)
    );
    let what = "ready, but without a processor for";
    let mut evidence = taken.evidence(slow, what);
    evidence.extend(ran.evidence(taken.total));
    let advice = "Give the service more processors, move the others elsewhere or lower their \
                  priority (nice, cpu.weight), or use fewer threads.";
    let id = FindingId::CpuContention;
    taken.finding(slow, id, title, explanation, evidence, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_counted_is_of_the_time_between_its_looks() {
        let seconds = |begin: i64, end: i64| {
            let [begin, end] = [begin, end].map(|at| Timestamp::from_ns(at * 1_000_000_000));
            TimeRange::new(begin, end)
        };
        let regime = |between, range| Regime {
            period: Nanoseconds(100_000_000),
            quota: Nanoseconds(1_000_000),
            most: Nanoseconds(1_000_000),
            range,
            periods: 10,
            stood_still: Nanoseconds(3_000_000_000),
            counted: Some(Counted {
                times: 10,
                stopped: Nanoseconds(900_000_000),
                between,
                uncounted: Nanoseconds::ZERO,
            }),
        };
        let whole = |range| regime(range, range);
        let words = told(&[whole(seconds(2, 3)), whole(seconds(3, 5))]);
        assert!(
            words.ends_with("20 periods in which it stopped it, for 1.800 s in all, added up over processors, between two looks 3.000 s apart."),
            "{words}"
        );
        let cut = regime(seconds(3, 5), seconds(3, 4));
        let words = told(&[whole(seconds(2, 3)), cut]);
        assert!(
            words.ends_with("3.000 s apart, more than the 2.000 s that are looked at."),
            "{words}"
        );
        let recorded = TimeRange::new(
            seconds(2, 5).begin + Nanoseconds(1_000_000),
            seconds(2, 5).end,
        );
        let words = told(&[regime(seconds(2, 5), recorded)]);
        assert!(
            words.ends_with("between two looks 3.000 s apart."),
            "{words}"
        );
        let mut part = whole(seconds(5, 6));
        part.counted = Some(Counted {
            times: 0,
            stopped: Nanoseconds::ZERO,
            between: part.range,
            uncounted: Nanoseconds(1_000_000_000),
        });
        let shown = in_regime(&part, Some("/a"));
        assert!(
            shown.contains("how often the kernel stopped it is not known"),
            "{shown}"
        );
        let words = told(&[whole(seconds(3, 5)), part.clone()]);
        assert!(
            words.ends_with(" For 1.000 s of that time its count is not known."),
            "{words}"
        );
        let words = told(&[part]);
        assert!(!words.contains("counts 0 periods"), "{words}");
    }
}

//! Runs one of this crate's analyses and turns its state into its report.

use slowpath_engine::{Analysis, Cancelled, Options, Outcome};
use slowpath_model::{Projection, TimeRange};
use slowpath_source::Source;

/// An analysis that knows what to read and what its state means in the end.
pub(crate) trait Answer: Analysis<State: Default> {
    /// What the state becomes.
    type Report;

    /// What has to be decoded.
    fn projection(&self) -> &Projection;

    /// Which packets have to be read.
    fn range(&self) -> TimeRange;

    /// The answer, when all chunks have been merged.
    fn report(&self, state: Self::State) -> Self::Report;
}

/// Passes over `source` and reports. The report is always there, be it empty.
pub(crate) fn answer<A: Answer>(
    source: &dyn Source,
    analysis: &A,
    options: &Options<'_>,
) -> Result<Outcome<A::Report>, Cancelled> {
    let options = Options {
        range: analysis.range(),
        ..*options
    };
    let outcome = slowpath_engine::run(source, analysis.projection(), analysis, &options)?;
    Ok(Outcome {
        state: Some(analysis.report(outcome.state.unwrap_or_default())),
        diagnostics: outcome.diagnostics,
        timings: outcome.timings,
    })
}

/// Asks one question in every way that must not matter, for tests.
#[cfg(test)]
pub(crate) mod every_way {
    use std::fmt::Debug;
    use std::num::NonZeroUsize;

    use slowpath_drawn::DrawnTrace;
    use slowpath_engine::{chunks, run_chunk};
    use slowpath_model::Timestamp;

    use super::*;

    /// The answer to a drawn trace, after checking that it does not depend on where packets are cut,
    /// the size of chunks, the number of workers, the bracketing of merges, or on states being
    /// serialised in between.
    pub(crate) fn ask<A: Answer<Report: Debug + PartialEq>>(
        trace: &DrawnTrace,
        analysis: impl Fn(&dyn Source) -> A,
    ) -> A::Report {
        let whole = trace.recut(|_, _| false);
        let plain = with_engine(&whole, &analysis, 1, u64::MAX);
        let cuts = [whole, trace.recut(|_, _| true)];
        let random = (0..12).map(|seed| trace.recut_at_random(seed, 2 + seed));
        for (trace, cut) in cuts.into_iter().chain(random).zip(0..) {
            for jobs in [1, 2, 8] {
                for chunk_bytes in [1, 300, u64::MAX] {
                    let found = with_engine(&trace, &analysis, jobs, chunk_bytes);
                    assert_eq!(
                        found, plain,
                        "cut {cut}, {jobs} workers, {chunk_bytes} bytes"
                    );
                }
            }
            for bracketing in [Bracketing::Left, Bracketing::Right, Bracketing::Tree] {
                let found = by_hand(&trace, &analysis(&trace), bracketing);
                assert_eq!(found, plain, "cut {cut}, merged {bracketing:?}");
            }
        }
        plain
    }

    /// Checks that the answer to a question about threads which seem to run on several processors at a time does not
    /// depend on where packets are cut, the size of chunks or the number of workers.
    pub(crate) fn ask_of_overlaps<Report: Debug + PartialEq>(
        question: impl Fn(&dyn Source, &Options<'_>) -> Report,
    ) {
        // Of seeds whose streams share their threads.
        for seed in (0..48).filter(|seed: &u64| (seed / 2).is_multiple_of(2)) {
            let drawing = contradiction(seed).replace("b/cpu0", "b/cpu2");
            for drawing in [with_losses(&drawing), drawing] {
                let trace = DrawnTrace::parse(&drawing).unwrap();
                let whole = trace.recut(|_, _| false);
                let plain = question(&whole, &Options::new(NonZeroUsize::MIN));
                let random = (0..4).map(|cut| trace.recut_at_random(cut, 2 + cut));
                for (trace, cut) in [whole, trace.recut(|_, _| true)]
                    .into_iter()
                    .chain(random)
                    .zip(0..)
                {
                    for (jobs, chunk_bytes) in [(1, 1), (2, 300), (8, 1), (8, u64::MAX)] {
                        let options = Options {
                            chunk_bytes: Some(chunk_bytes),
                            ..Options::new(NonZeroUsize::new(jobs).unwrap())
                        };
                        let found = question(&trace, &options);
                        assert_eq!(found, plain, "seed {seed}, cut {cut}, {chunk_bytes} bytes");
                    }
                }
            }
        }
    }

    /// A drawing of three streams that contradict themselves, as where numbers are damaged: calls and interrupts that
    /// end are others than those that began. Of some seeds two streams name the same processor and any threads, of
    /// the others each has its own. Of some each event says which thread it is of.
    pub(crate) fn contradiction(seed: u64) -> String {
        let mut state = seed;
        let mut number = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let shares = (seed / 2).is_multiple_of(2);
        let second = if shares { "b/cpu0" } else { "cpu2" };
        let mut text = String::new();
        for (stream, position) in ["a/cpu0", second, "cpu1"].into_iter().zip(0..) {
            let first_thread = if shares { 0 } else { 4 * position };
            let mut running = first_thread;
            let mut at = number(40);
            for _ in 0..60 {
                at += number(6);
                let one = number(4);
                let thread = first_thread + one;
                if shares {
                    running = number(4);
                }
                let context = match seed % 2 {
                    0 => String::new(),
                    // Some tracers say of each event in which thread it happened.
                    _ => format!(" @tid={running}"),
                };
                let call = ["read", "write", "close", "dup"][number(4) as usize];
                let what = match number(12) {
                    0..3 => {
                        let prev = std::mem::replace(&mut running, thread);
                        format!(
                            "sched_switch prev_comm=t{prev} prev_tid={prev} prev_state={} \
                             next_comm=t{thread} next_tid={thread}",
                            number(2)
                        )
                    }
                    3 => format!(
                        "sched_wakeup comm=t{thread} tid={thread} target_cpu={}",
                        number(2)
                    ),
                    4..6 => format!("syscall_entry_{call} fd={one}"),
                    6..8 => format!("syscall_exit_{call} ret={}", number(5) as i64 - 1),
                    8 => format!("irq_handler_entry irq={one} name=disk"),
                    9 => format!("irq_handler_exit irq={one} ret=1"),
                    // That tells nothing.
                    _ => "tick".to_owned(),
                };
                text += &format!("{stream} {at} {what}{context}\n");
            }
        }
        text
    }

    /// The same drawing with events lost before every 23rd.
    pub(crate) fn with_losses(drawing: &str) -> String {
        let lines = drawing.lines().zip(1..).map(|(line, number)| {
            let stream = line.split(' ').next().unwrap_or_default();
            match number % 23 {
                0 => format!("-- lost 3 {stream}\n{line}\n"),
                _ => format!("{line}\n"),
            }
        });
        lines.collect()
    }

    fn with_engine<A: Answer>(
        trace: &DrawnTrace,
        analysis: impl Fn(&dyn Source) -> A,
        jobs: usize,
        chunk_bytes: u64,
    ) -> A::Report {
        let options = Options {
            jobs: NonZeroUsize::new(jobs).unwrap(),
            chunk_bytes: Some(chunk_bytes),
            ..Options::default()
        };
        let outcome = answer(trace, &analysis(trace), &options).unwrap();
        outcome.state.unwrap()
    }

    #[derive(Clone, Copy, Debug)]
    enum Bracketing {
        Left,
        Right,
        Tree,
    }

    /// States travel as text before each merge, and settle only once, at the end.
    fn by_hand<A: Answer>(trace: &DrawnTrace, analysis: &A, bracketing: Bracketing) -> A::Report {
        let decoder = trace.decoder(analysis.projection());
        let mut states: Vec<A::State> = chunks(trace, 1, analysis.range())
            .iter()
            .map(|chunk| travel::<A>(run_chunk(trace, &*decoder, analysis, chunk).0))
            .collect();
        while states.len() > 1 {
            let pairs: Vec<usize> = match bracketing {
                Bracketing::Left => vec![0],
                Bracketing::Right => vec![states.len() - 2],
                Bracketing::Tree => (0..states.len() / 2).collect(),
            };
            for position in pairs {
                let later = travel::<A>(states.remove(position + 1));
                analysis.merge(&mut states[position], later);
            }
        }
        let mut state = states.pop().unwrap_or_default();
        analysis.settle(&mut state, Timestamp::MAX);
        analysis.report(state)
    }

    fn travel<A: Answer>(state: A::State) -> A::State {
        serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap()
    }
}

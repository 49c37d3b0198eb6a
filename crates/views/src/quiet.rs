//! When none of some threads did anything but wait: time that a picture of them may leave out.

use slowpath_critical_path::State;
use slowpath_history::History;

use crate::{Rows, Track, screen};

/// Rows that are looked at together: bounds what is held.
const AT_ONCE: usize = 256;

/// The stretches between two offsets in which every one of these threads is blocked, or nothing is known
/// of it; found in so many parts of the time, each of which counts only as a whole.
pub fn quiet(
    history: &History,
    rows: &Rows,
    wanted: &[usize],
    (begin, end): (i64, i64),
    parts: usize,
) -> Vec<(i64, i64)> {
    let mut busy = vec![false; parts];
    for some in wanted.chunks(AT_ONCE) {
        let places: Vec<_> = some
            .iter()
            .map(|&row| rows.place(Track::Threads, row))
            .collect();
        let shown = screen(history, &places, (begin, end), parts);
        let cells = shown.values.iter().zip(&shown.shares).enumerate();
        for (place, (&value, &share)) in cells {
            let waits = share == u8::MAX && is_wait(value);
            busy[place % parts] |= share > 0 && !waits;
        }
    }
    let length = i128::from(end) - i128::from(begin);
    let at = |part: usize| {
        let offset = length * part as i128 / parts.max(1) as i128;
        (i128::from(begin) + offset) as i64
    };
    let mut part = 0;
    let runs = busy.chunk_by(|one, next| one == next).map(|run| {
        let first = part;
        part += run.len();
        (run[0], at(first), at(part))
    });
    runs.filter(|(busy, ..)| !busy)
        .map(|(_, begin, end)| (begin, end))
        .collect()
}

/// Whether a thread in this state can only wait; one that could run but does not is worth a look.
fn is_wait(state: u32) -> bool {
    let state = State::ALL.get(state as usize).copied();
    state.is_some_and(|state| match state {
        State::Blocked | State::BlockDevice | State::Network | State::Timer | State::UserInput => {
            true
        }
        State::Running
        | State::Preempted
        | State::WaitCpu
        | State::Interrupted
        | State::Ipi
        | State::Unknown
        | State::BlockedByRequest => false,
    })
}

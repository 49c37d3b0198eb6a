//! Where answers were found last: whoever follows a path asks next for what is near.

use slowpath_model::{CpuId, ThreadId};

/// So many threads and processors are remembered; one more takes the place of another one.
const REMEMBERED: usize = 16;

/// Where in the lists of some threads and processors the last answers were found. Good for any time lines and any
/// question: it makes an answer sooner, never another one.
#[derive(Clone, Debug, Default)]
pub struct Nearby {
    threads: [(ThreadId, Places); REMEMBERED],
    cpus: [(CpuId, usize); REMEMBERED],
}

/// Positions in the lists of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Places {
    pub(super) runs: usize,
    pub(super) wakes: usize,
}

impl Nearby {
    pub(super) fn of_thread(&mut self, thread: ThreadId) -> &mut Places {
        let place = &mut self.threads[thread.0.cast_unsigned() as usize % REMEMBERED];
        if place.0 != thread {
            *place = (thread, Places::default());
        }
        &mut place.1
    }

    pub(super) fn of_cpu(&mut self, cpu: CpuId) -> &mut usize {
        let place = &mut self.cpus[cpu.0 as usize % REMEMBERED];
        if place.0 != cpu {
            *place = (cpu, 0);
        }
        &mut place.1
    }
}

/// How many rows of a list `is_before` holds for, as for none behind them: looked for from `near` on, which becomes it.
pub(super) fn count_near<T>(rows: &[T], near: &mut usize, is_before: impl Fn(&T) -> bool) -> usize {
    let (mut low, mut high) = (0, rows.len());
    // Nothing is known near an end.
    let from = (*near).min(high);
    let mut step = 1;
    if from > 0 && from < high {
        match is_before(&rows[from]) {
            true => {
                low = from + 1;
                while let Some(row) = rows.get(low + step - 1) {
                    if !is_before(row) {
                        high = low + step - 1;
                        break;
                    }
                    low += step;
                    step *= 2;
                }
            }
            false => {
                high = from;
                while let Some(place) = high.checked_sub(step) {
                    if is_before(&rows[place]) {
                        low = place + 1;
                        break;
                    }
                    high = place;
                    step *= 2;
                }
            }
        }
    }
    *near = low + rows[low..high].partition_point(is_before);
    *near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_found_from_everywhere() {
        for length in 0..20 {
            let rows: Vec<usize> = (0..length).collect();
            for count in 0..=length {
                for from in 0..length + 3 {
                    let mut near = from;
                    assert_eq!(count_near(&rows, &mut near, |row| *row < count), count);
                    assert_eq!(near, count, "{length} rows, from {from}");
                }
            }
        }
    }

    #[test]
    fn what_is_near_takes_few_looks() {
        let rows: Vec<usize> = (0..1 << 20).collect();
        let looks = |from: usize, count: usize| {
            let looks = std::cell::Cell::new(0);
            let mut near = from;
            count_near(&rows, &mut near, |row| {
                looks.set(looks.get() + 1);
                *row < count
            });
            looks.get()
        };
        for distance in 0..4 {
            assert!(looks(500_000, 500_000 - distance) <= 8);
            assert!(looks(500_000, 500_000 + distance) <= 8);
        }
        assert!(looks(500_000, 3) <= 45);
        assert!(looks(0, 500_000) <= 21);
    }

    #[test]
    fn threads_that_share_a_place_do_not_mix_up() {
        let mut nearby = Nearby::default();
        let other = ThreadId(3 + REMEMBERED as i32);
        nearby.of_thread(ThreadId(3)).runs = 70;
        assert_eq!(nearby.of_thread(other).runs, 0);
        nearby.of_thread(other).runs = 5;
        assert_eq!(nearby.of_thread(ThreadId(3)).runs, 0);
        *nearby.of_cpu(CpuId(1)) = 9;
        assert_eq!(*nearby.of_cpu(CpuId(1)), 9);
        assert_eq!(*nearby.of_cpu(CpuId(1 + REMEMBERED as u32)), 0);
    }
}

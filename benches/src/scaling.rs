//! What many workers would give: a model out of the measured time of each chunk and each merge.
//!
//! The pipeline is simulated as the engine runs it: workers take chunks in order, states are merged
//! in order, one merge at a time. Reumont-Locke et al. (2019, table 2) measured 0.44 to 0.57 with
//! 32 threads.

use std::time::Duration;

use slowpath_engine::ChunkTiming;

/// Parallel efficiency (speed-up over workers) of a run with these chunks on `workers` workers.
pub fn modelled_efficiency(chunks: &[ChunkTiming], workers: usize) -> f64 {
    let serial: Duration = chunks.iter().map(|chunk| chunk.pass + chunk.merge).sum();
    let mut free = vec![Duration::ZERO; workers.max(1)];
    let mut merged = Duration::ZERO;
    for chunk in chunks {
        let Some(worker) = free.iter_mut().min() else {
            return 0.0;
        };
        *worker += chunk.pass;
        merged = merged.max(*worker) + chunk.merge;
    }
    let ideal = serial.as_secs_f64() / workers.max(1) as f64;
    // Whoever merges does not pass meanwhile: so much work takes all workers that long at least.
    match merged.as_secs_f64().max(ideal) {
        0.0 => 0.0,
        end => ideal / end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(count: usize, pass_ms: u64, merge_ms: u64) -> Vec<ChunkTiming> {
        let chunk = ChunkTiming {
            bytes: 1,
            pass: Duration::from_millis(pass_ms),
            merge: Duration::from_millis(merge_ms),
        };
        vec![chunk; count]
    }

    #[test]
    fn free_merges_scale_and_dear_ones_do_not() {
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 0.01, "{value}");
        near(modelled_efficiency(&chunks(320, 10, 0), 32), 1.0);
        near(modelled_efficiency(&chunks(8, 10, 0), 32), 0.25);
        near(modelled_efficiency(&chunks(320, 10, 10), 32), 2.0 / 32.0);
        near(modelled_efficiency(&chunks(320, 10, 10), 2), 1.0);
    }
}

//! What records of probes come to: for each metric a distribution, or totals by thread. In bounded memory, whatever the
//! number of records.
//!
//! Distributions keep counts in buckets of equal relative width, so that a quantile is right within 0.1 %; means, sums,
//! the smallest and the largest are exact.

use std::collections::BTreeMap;

use super::memory::Record;
use crate::spec::{Aggregate, ProbeMetric};

/// From when to when records count, in nanoseconds of `CLOCK_MONOTONIC`; both ends are inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
}

/// What was gathered for a metric.
#[derive(Clone, Debug)]
pub(crate) struct Gathered {
    metric: ProbeMetric,
    /// Of probes whose records have no totals.
    distribution: Distribution,
    /// Of the others, by process and thread and probe.
    threads: BTreeMap<(usize, u32, u16), Totals>,
    /// Records inside the window.
    pub(crate) records: u64,
    /// Executions that these had since the record before, of probes with totals.
    told: u64,
}

/// Executions and durations of a thread, as its records tell them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    /// What it had before the window.
    before: [u64; 2],
    /// What the latest record says.
    latest: [u64; 2],
    latest_ns: u64,
    /// Of threads that had this number earlier.
    earlier: [u64; 2],
    is_seen: bool,
}

impl Gathered {
    pub(crate) fn of(metric: ProbeMetric) -> Self {
        Self {
            metric,
            distribution: Distribution::default(),
            threads: BTreeMap::new(),
            records: 0,
            told: 0,
        }
    }

    /// Takes a record of the process with this number. `was_off`: the probe was off before the window, so that a thread that
    /// was not heard of yet had executed nothing.
    pub(crate) fn add(&mut self, process: usize, record: &Record, window: Window, was_off: bool) {
        if record.time_ns > window.end_ns {
            return;
        }
        let is_inside = record.time_ns >= window.begin_ns;
        self.records += u64::from(is_inside);
        if self.metric.kind.has_totals() {
            let of = |first: usize| match record.field_count {
                2 => [record.fields[first], 0],
                _ => [record.fields[2 * first], record.fields[2 * first + 1]],
            };
            let (since, all) = (of(0), of(1));
            self.told += if is_inside { since[0] } else { 0 };
            let totals = (self.threads)
                .entry((process, record.thread, record.id))
                .or_default();
            totals.add(record.time_ns, since, all, is_inside, was_off);
        } else if is_inside && self.metric.field < record.field_count {
            self.distribution.add(record.fields[self.metric.field]);
        }
    }

    /// The value of a record that the metric is about, in its unit.
    pub(crate) fn value(&self, record: &Record) -> f64 {
        self.in_unit(record.fields[self.metric.field] as f64)
    }

    /// The metric over so many seconds; `None` where nothing can be said.
    pub(crate) fn number(&self, seconds: f64) -> Option<f64> {
        if self.metric.kind.has_totals() {
            let sum = |place: usize| {
                let of = |totals: &Totals| totals.inside(place) as f64;
                self.threads.values().map(of).sum::<f64>()
            };
            let wanted = self.in_unit(sum(self.metric.field));
            return match self.metric.take {
                Aggregate::Sum => Some(wanted),
                Aggregate::Rate => Some(wanted / seconds),
                _ => Some(wanted / sum(0)).filter(|mean| mean.is_finite()),
            };
        }
        let all = &self.distribution;
        let is_empty = all.count == 0;
        Some(match self.metric.take {
            Aggregate::Sum => self.in_unit(all.sum),
            Aggregate::Rate => self.in_unit(all.sum) / seconds,
            _ if is_empty => return None,
            Aggregate::Mean => self.in_unit(all.sum / all.count as f64),
            Aggregate::Min => self.in_unit(all.min as f64),
            Aggregate::Max => self.in_unit(all.max as f64),
            Aggregate::Quantile(share) => self.in_unit(all.quantile(share)),
        })
    }

    /// Executions that totals tell of though the records that had them were lost.
    pub(crate) fn made_up(&self) -> u64 {
        let all = self.threads.values().map(|totals| totals.inside(0));
        all.sum::<u64>().saturating_sub(self.told)
    }

    fn in_unit(&self, value: f64) -> f64 {
        match self.metric.kind.is_duration(self.metric.field) {
            true => value / 1e9,
            false => value,
        }
    }
}

impl Totals {
    fn add(
        &mut self,
        time_ns: u64,
        since: [u64; 2],
        all: [u64; 2],
        is_inside: bool,
        was_off: bool,
    ) {
        if !self.is_seen {
            self.is_seen = true;
            if is_inside && !was_off {
                self.before = [0, 1].map(|place| all[place].saturating_sub(since[place]));
            }
        } else if time_ns < self.latest_ns {
            // From another processor's queue, which was read later.
            if is_inside && !was_off && all[0] <= self.latest[0] {
                self.before = [0, 1]
                    .map(|place| self.before[place].min(all[place].saturating_sub(since[place])));
            }
            return;
        } else if all[0] < self.latest[0] {
            // Totals only grow while a thread lives: this is another one.
            self.earlier = [0, 1].map(|place| self.inside(place));
            self.before = [0, 0];
        }
        (self.latest, self.latest_ns) = (all, time_ns);
        if !is_inside {
            self.before = all;
        }
    }

    fn inside(&self, place: usize) -> u64 {
        let latest = self.latest[place].saturating_sub(self.before[place]);
        self.earlier[place].saturating_add(latest)
    }
}

/// Significant bits of a bucket.
const BITS: u32 = 9;

/// Whole numbers, counted by size.
#[derive(Clone, Debug, Default)]
struct Distribution {
    count: u64,
    sum: f64,
    min: u64,
    max: u64,
    /// Grows up to 28,672.
    buckets: Vec<u64>,
}

impl Distribution {
    fn add(&mut self, value: u64) {
        self.min = if self.count == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.max = self.max.max(value);
        self.count += 1;
        self.sum += value as f64;
        let bucket = bucket(value);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
    }

    /// By the nearest rank: the smallest value of which at least this share is not larger.
    fn quantile(&self, share: f64) -> f64 {
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut below = 0;
        for (number, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= rank {
                return middle(number).clamp(self.min as f64, self.max as f64);
            }
        }
        self.max as f64
    }
}

/// Values below 2^(BITS + 1) have buckets of their own; beyond, each power of two has 2^BITS.
fn bucket(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS + 1);
    ((u64::from(shift) << BITS) + (value >> shift)) as usize
}

fn middle(bucket: usize) -> f64 {
    let per_power = 1 << BITS;
    match bucket < 2 * per_power {
        true => bucket as f64,
        false => {
            let shift = bucket / per_power - 1;
            let first = (bucket - shift * per_power) as f64;
            (first + 0.5) * (shift as f64).exp2() - 0.5
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::ProbeKind;
    use crate::spec::ProbeName;

    const WINDOW: Window = Window {
        begin_ns: 100,
        end_ns: 200,
    };

    fn gathered(kind: ProbeKind, field: usize, take: Aggregate) -> Gathered {
        Gathered::of(ProbeMetric {
            kind,
            probe: ProbeName::Id(1),
            field,
            take,
            every: None,
        })
    }

    fn record(kind: ProbeKind, thread: u32, time_ns: u64, values: &[u64]) -> Record {
        let mut fields = [0; 6];
        fields[..values.len()].copy_from_slice(values);
        Record {
            time_ns,
            thread,
            processor: 0,
            kind,
            id: 1,
            fields,
            field_count: values.len(),
        }
    }

    /// Records of threads: (thread, time, executions since the one before, executions in all).
    #[track_caller]
    fn executions(records: &[(u32, u64, u64, u64)], was_off: bool, expected: f64) {
        let mut found = gathered(ProbeKind::Cnt, 0, Aggregate::Sum);
        for (thread, time, since, all) in records {
            let record = record(ProbeKind::Cnt, *thread, *time, &[*since, *all]);
            found.add(0, &record, WINDOW, was_off);
        }
        assert_eq!(found.number(2.0), Some(expected));
    }

    #[test]
    fn of_lost_records_totals_make_up_for_those_before_a_thread_s_last() {
        // A hundred records of a thread, of ten executions each: read were the first and another one.
        let made_up = |another: u64| {
            let mut found = gathered(ProbeKind::Cnt, 0, Aggregate::Sum);
            for all in [10, another] {
                let record = record(ProbeKind::Cnt, 1, 100 + all / 10, &[10, all]);
                found.add(0, &record, WINDOW, true);
            }
            found.made_up()
        };
        assert_eq!([1000, 600, 20].map(made_up), [980, 580, 0]);
    }

    #[test]
    fn totals_tell_what_lost_records_had() {
        executions(&[(1, 110, 10, 10), (1, 120, 10, 20)], true, 20.0);
        // All but the last were lost.
        executions(&[(1, 120, 10, 1000)], true, 1000.0);
        // It was on before, so only what this record itself says is known to be new…
        executions(&[(1, 120, 10, 1000)], false, 10.0);
        // …or what came behind the last record before the window.
        executions(&[(1, 90, 10, 500), (1, 120, 10, 1000)], false, 500.0);
        executions(
            &[(1, 110, 5, 5), (2, 115, 7, 7), (1, 250, 5, 10)],
            true,
            12.0,
        );
        // Queues of two processors, the later one read first.
        executions(&[(1, 130, 10, 30), (1, 120, 10, 20)], true, 30.0);
        // Another thread with the number of one that has ended.
        executions(
            &[(1, 110, 9, 9), (1, 150, 4, 4), (1, 160, 1, 5)],
            true,
            14.0,
        );
        executions(&[], true, 0.0);
    }

    #[test]
    fn throughput_and_the_mean_of_many_executions() {
        for (field, take, expected) in [
            (0, Aggregate::Rate, 20.0),
            (1, Aggregate::Sum, 4e-6),
            (1, Aggregate::Mean, 1e-7),
        ] {
            let mut found = gathered(ProbeKind::Tpt, field, take);
            let one = record(ProbeKind::Tpt, 1, 150, &[10, 1000, 40, 4000]);
            found.add(0, &one, WINDOW, true);
            assert_eq!(found.number(2.0), Some(expected), "{take:?}");
        }
        assert_eq!(
            gathered(ProbeKind::Tpt, 1, Aggregate::Mean).number(1.0),
            None
        );
    }

    #[test]
    fn a_distribution_gives_its_numbers() {
        let check = |take, expected: f64| {
            let mut found = gathered(ProbeKind::Lat, 0, take);
            for value in (1..=1000).rev() {
                let one = record(ProbeKind::Lat, 1, 150, &[value * 1_000_000]);
                found.add(0, &one, WINDOW, true);
            }
            for outside in [99, 201] {
                let one = record(ProbeKind::Lat, 1, outside, &[u64::MAX]);
                found.add(0, &one, WINDOW, true);
            }
            assert_eq!(found.records, 1000);
            let number = found.number(2.0).expect("a number");
            assert!((number / expected - 1.0).abs() < 1e-3, "{take:?}: {number}");
        };
        check(Aggregate::Mean, 0.5005);
        check(Aggregate::Sum, 500.5);
        check(Aggregate::Rate, 250.25);
        check(Aggregate::Min, 0.001);
        check(Aggregate::Max, 1.0);
        check(Aggregate::Quantile(0.5), 0.5);
        check(Aggregate::Quantile(0.99), 0.99);
        check(Aggregate::Quantile(0.999), 0.999);
        assert_eq!(
            gathered(ProbeKind::Lat, 0, Aggregate::Mean).number(1.0),
            None
        );
        assert_eq!(
            gathered(ProbeKind::Flt, 0, Aggregate::Sum).number(1.0),
            Some(0.0)
        );
    }

    #[test]
    fn buckets_are_dense_in_order_and_narrow() {
        let mut value = 1u64;
        let mut last = bucket(0);
        assert_eq!(last, 0);
        while value < u64::MAX / 2 {
            for near in [value - 1, value, value + value / 700] {
                let number = bucket(near);
                assert!(number == last || number >= last, "{near}");
                let apart = (middle(number) - near as f64).abs();
                assert!(apart <= near as f64 / 1000.0, "{near} {apart}");
                last = number;
            }
            value = value + value / 300 + 1;
        }
        assert_eq!(bucket(u64::MAX), 28_671);
    }
}

//! `slowpath-benches history`: building, a point query and a screen at many intervals.
//!
//! Threads are busy and idle by turns, some a thousand times busier than others; the numbers come
//! from a fixed seed. Reported is this thread's CPU time.

use std::hint::black_box;

use anyhow::Context;
use slowpath_history::{Attribute, AttributeId, Builder, History, Interval, Key, Value};
use slowpath_model::{TimeRange, Timestamp};

use crate::made::{Numbers, thread_cpu};

const ATTRIBUTES: u32 = 500;
const SPAN: i64 = 100_000_000_000;

/// Measures a history of about `intervals` intervals and prints a table.
///
/// # Errors
/// Where the history cannot be written or read.
pub fn run(intervals: u64) -> anyhow::Result<()> {
    let folder = tempfile::tempdir().context("no folder for the history")?;
    let target = folder.path().join("history");
    let key = Key("benchmark".into());
    let begun = thread_cpu()?;
    build(&target, &key, intervals)?;
    let built = thread_cpu()?;
    let history = History::open(&target, &key)?;
    let opened = thread_cpu()?;
    let bytes: u64 = std::fs::read_dir(&target)?
        .filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()))
        .sum();
    println!(
        "{} intervals of {ATTRIBUTES} attributes, {} MB on disk",
        history.len(),
        bytes >> 20
    );
    println!("build            {:>10.3} s", (built - begun).as_secs_f64());
    println!(
        "open             {:>10.3} ms",
        (opened - built).as_secs_f64() * 1e3
    );

    let mut numbers = Numbers(7);
    let queries = 200_000;
    let begun = thread_cpu()?;
    for _ in 0..queries {
        let attribute = AttributeId(numbers.below(ATTRIBUTES as usize) as u32);
        let at = Timestamp::from_ns(((numbers.next() >> 16) % SPAN as u64) as i64);
        black_box(history.at(attribute, at));
    }
    let each = (thread_cpu()? - begun).as_secs_f64() / f64::from(queries);
    println!("point query      {:>10.3} µs", each * 1e6);

    let ids: Vec<AttributeId> = (0..ATTRIBUTES).map(AttributeId).collect();
    for zoom in [1, 4, 16, 64, 256, 1024, 4096, 65536] {
        let width = SPAN / zoom;
        let begin = (SPAN - width) / 3;
        let range = TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(begin + width));
        black_box(history.screen(&ids, range, 2000));
        let begun = thread_cpu()?;
        let times = 5;
        for _ in 0..times {
            black_box(history.screen(&ids, range, 2000));
        }
        let each = (thread_cpu()? - begun).as_secs_f64() / f64::from(times);
        println!("screen 500×2000, 1/{zoom:<6} {:>6.1} ms", each * 1e3);
    }
    Ok(())
}

fn build(target: &std::path::Path, key: &Key, intervals: u64) -> anyhow::Result<()> {
    let builder = Builder::create(target)?;
    let mut writer = builder.writer();
    let mut numbers = Numbers(42);
    // The busiest attribute has a thousand times as many intervals as the idlest.
    let weight = |attribute: u32| 1000_f64.powf(f64::from(attribute) / f64::from(ATTRIBUTES));
    let sum: f64 = (0..ATTRIBUTES).map(weight).sum();
    let mut lines: Vec<(i64, i64)> = (0..ATTRIBUTES)
        .map(|attribute| {
            let count = (intervals as f64 * weight(attribute) / sum).max(1.0);
            (0, (SPAN as f64 / count) as i64)
        })
        .collect();
    // In rounds of 1 ms over all attributes: nearly in the order of time, as traces are.
    for round in 0..SPAN / 1_000_000 {
        let until = (round + 1) * 1_000_000;
        for (attribute, (at, mean)) in (0..).zip(&mut lines) {
            while *at < until {
                let length = 1 + ((numbers.next() >> 16) % (2 * *mean as u64)) as i64;
                let range =
                    TimeRange::new(Timestamp::from_ns(*at), Timestamp::from_ns(*at + length));
                writer.push(Interval {
                    attribute: AttributeId(attribute),
                    range,
                    value: Value(numbers.below(6) as i64),
                })?;
                *at += length;
            }
        }
    }
    writer.close();
    let attributes: Vec<Attribute> = (0..ATTRIBUTES)
        .map(|number| Attribute {
            path: format!("threads/{number}/state"),
            vocabulary: None,
            part: None,
        })
        .collect();
    builder.finish(key, &attributes, &[], Vec::new())?;
    Ok(())
}

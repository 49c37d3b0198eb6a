//! Attributes that share intervals answer as attributes with intervals of their own, and damaged ones are refused.

use std::collections::BTreeMap;
use std::path::Path;

use slowpath_history::{
    Attribute, AttributeId, Builder, Cell, History, Interval, Key, Part, Unusable, Value,
};
use slowpath_model::{TimeRange, Timestamp};

const SPAN: i64 = 400_000;
const OPERATION: AttributeId = AttributeId(0);
const CLIENT: AttributeId = AttributeId(1);
const AGAIN: AttributeId = AttributeId(2);

fn range(begin: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end))
}

/// Begin, end, an operation, a client where there is one.
fn rows() -> Vec<(i64, i64, i64, Option<i64>)> {
    let (mut rows, mut at, mut seed) = (Vec::new(), 0, 1_u64);
    while at < SPAN {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let number = (seed >> 33) as i64;
        at += if number % 5 == 0 { 40 } else { 0 };
        let end = at + 1 + number % 30;
        let client = (number % 7 > 0).then_some(number / 7 % 9);
        rows.push((at, end, number / 64 % 3, client));
        at = end;
    }
    rows
}

fn build(folder: &Path, parts: [Option<Part>; 3]) -> Result<History, Unusable> {
    let (target, key) = (folder.join("history"), Key("test".into()));
    let builder = Builder::create(&target).unwrap();
    let mut writer = builder.writer();
    for (begin, end, operation, client) in rows() {
        let mut push = |attribute, value| {
            let (range, value) = (range(begin, end), Value(value));
            writer
                .push(Interval {
                    attribute,
                    range,
                    value,
                })
                .unwrap();
        };
        match [parts[0], parts[1]] {
            [Some(first), Some(second)] => {
                let client = client.map_or(0, |client| second.packed(client));
                push(OPERATION, first.packed(operation) + client);
            }
            _ => {
                push(OPERATION, operation);
                client.into_iter().for_each(|client| push(CLIENT, client));
            }
        }
    }
    writer.close();
    let attributes: Vec<Attribute> = (parts.iter().zip(["operation", "client", "again"]))
        .map(|(&part, path)| Attribute {
            path: path.into(),
            vocabulary: None,
            part,
        })
        .collect();
    builder.finish(&key, &attributes, &[], Vec::new()).unwrap();
    History::open(&target, &key)
}

fn packed() -> [Option<Part>; 3] {
    let part = |first_bit, bits| {
        Some(Part {
            of: OPERATION,
            first_bit,
            bits,
        })
    };
    let operation = Part::bits_for(2);
    let client = Part::bits_for(8);
    [
        part(0, operation),
        part(operation, client),
        part(0, operation),
    ]
}

#[test]
fn what_is_shared_answers_as_what_is_not() {
    let folders = [0; 2].map(|_| tempfile::tempdir().unwrap());
    let shared = build(folders[0].path(), packed()).unwrap();
    let own = build(folders[1].path(), [None; 3]).unwrap();
    assert_eq!(shared.len(), rows().len() as u64);
    let attributes = [OPERATION, CLIENT];
    for attribute in attributes {
        for at in (0..SPAN).step_by(37).map(Timestamp::from_ns) {
            assert_eq!(shared.at(attribute, at), own.at(attribute, at));
        }
        for window in [range(0, SPAN), range(1000, 1001), range(77, 9001)] {
            let all = |history: &History| history.intervals(attribute, window).collect::<Vec<_>>();
            assert_eq!(all(&shared), all(&own));
            assert_eq!(
                shared.times(attribute, window),
                own.times(attribute, window)
            );
        }
    }
    for pixels in [7, 100, 3000, 100_000] {
        let screen =
            |history: &History, attribute| history.screen(&[attribute], range(0, SPAN), pixels);
        // The first one's summaries, of one value each.
        let expected = screen(&own, OPERATION);
        assert_eq!(screen(&shared, OPERATION), expected, "{pixels} pixels");
        assert_eq!(screen(&shared, AGAIN), expected, "{pixels} pixels");
        // The others' intervals: exact.
        for (cell, pixel) in screen(&shared, CLIENT).into_iter().zip(0..) {
            let bound = |pixel: i64| pixel * SPAN / pixels as i64;
            let window = range(bound(pixel), bound(pixel + 1));
            let held = own.times(CLIENT, window);
            assert_eq!(cell, longest(&held, window), "{pixel} of {pixels}");
        }
    }
}

fn longest(held: &BTreeMap<Value, slowpath_model::Nanoseconds>, pixel: TimeRange) -> Cell {
    let most = held
        .iter()
        .max_by_key(|(value, held)| (**held, std::cmp::Reverse(**value)));
    most.map_or_else(Cell::default, |(value, held)| {
        let share = held.get() * 255 / pixel.length().get();
        Cell {
            value: *value,
            share: share.max(1) as u8,
        }
    })
}

#[test]
fn bits_are_as_many_as_values_need() {
    for (most, bits) in [(-1, 1), (0, 1), (1, 2), (2, 2), (3, 3), (i64::MAX - 1, 63)] {
        assert_eq!(Part::bits_for(most), bits, "{most}");
    }
}

#[test]
fn bits_that_no_value_has_are_damage() {
    let folder = tempfile::tempdir().unwrap();
    for (first_bit, bits) in [(0, 0), (0, 64), (60, 4), (u32::MAX, 1)] {
        let [operation, ..] = packed();
        let unsound = operation.map(|part| Part {
            first_bit,
            bits,
            ..part
        });
        let opened = build(folder.path(), [None, None, unsound]);
        assert!(
            matches!(opened, Err(Unusable::Damaged { .. })),
            "{first_bit} {bits}"
        );
    }
}

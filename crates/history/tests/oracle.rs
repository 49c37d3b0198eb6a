//! A history answers as a list in memory would, however the intervals came; damaged ones are refused.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use slowpath_history::{
    Attribute, AttributeId, Builder, History, Interval, Key, Unusable, Value, Vocabulary,
};
use slowpath_model::{TimeRange, Timestamp};

fn range(begin: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ns(begin), Timestamp::from_ns(end))
}

fn key() -> Key {
    Key("test".into())
}

fn attributes(number: usize) -> Vec<Attribute> {
    (0..number)
        .map(|id| Attribute {
            path: format!("threads/{id}/state"),
            vocabulary: (id % 2 == 0).then(|| "state".into()),
            part: None,
        })
        .collect()
}

/// Builds a history from `intervals`, dealt out to `writers` in turn.
fn build(
    folder: &Path,
    intervals: &[Interval],
    number: usize,
    writers: usize,
    run_rows: usize,
) -> History {
    let target = folder.join("history");
    let builder = Builder::with_run_rows(&target, run_rows).unwrap();
    let mut open: Vec<_> = (0..writers).map(|_| builder.writer()).collect();
    for (turn, interval) in intervals.iter().enumerate() {
        open[turn % writers].push(*interval).unwrap();
    }
    open.into_iter().for_each(slowpath_history::Writer::close);
    let states = Vocabulary {
        name: "state".into(),
        names: ["RUNNING", "WAITING", "GONE"].map(String::from).into(),
    };
    builder
        .finish(
            &key(),
            &attributes(number),
            &[states],
            vec!["a note".into()],
        )
        .unwrap();
    let history = History::open(&target, &key()).unwrap();
    assert_eq!(history.notes(), ["a note"]);
    history
}

const ATTRIBUTES: u32 = 4;

/// Intervals of a few attributes, apart, some touching, in a random order.
fn intervals() -> impl Strategy<Value = Vec<Interval>> {
    let gap = prop_oneof![3 => Just(0i64), 1 => 1i64..2000];
    let length = prop_oneof![6 => 1i64..20, 1 => 1i64..20_000];
    let piece = (gap, length, 0i64..3);
    let line = (-5000i64..5000, prop::collection::vec(piece, 0..60));
    prop::collection::vec(line, ATTRIBUTES as usize)
        .prop_map(|lines| {
            let mut intervals = Vec::new();
            for (attribute, (mut at, pieces)) in (0..).zip(lines) {
                for (gap, length, value) in pieces {
                    intervals.push(Interval {
                        attribute: AttributeId(attribute),
                        range: range(at + gap, at + gap + length),
                        value: Value(value),
                    });
                    at += gap + length;
                }
            }
            intervals
        })
        .prop_shuffle()
}

/// How long each value was held, from the list.
fn times(
    intervals: &[Interval],
    attribute: AttributeId,
    window: TimeRange,
) -> BTreeMap<Value, u64> {
    let mut times = BTreeMap::new();
    for interval in intervals.iter().filter(|i| i.attribute == attribute) {
        let length = interval.range.intersect(window).length().get();
        if length > 0 {
            *times.entry(interval.value).or_default() += length;
        }
    }
    times
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn answers_are_those_of_a_list(
        intervals in intervals(),
        writers in 1usize..4,
        run_rows in 1usize..100,
        points in prop::collection::vec(-6000i64..200_000, 20),
        windows in prop::collection::vec((-6000i64..200_000, 1i64..100_000), 10),
        pixels in 1usize..50,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let number = ATTRIBUTES as usize;
        let history = build(folder.path(), &intervals, number, writers, run_rows);
        prop_assert_eq!(history.len(), intervals.len() as u64);
        let ids: Vec<AttributeId> = (0..ATTRIBUTES).map(AttributeId).collect();
        let edges = intervals.iter().flat_map(|i| [i.range.begin.ns(), i.range.end.ns()]);
        for at in points.into_iter().chain(edges).map(Timestamp::from_ns) {
            let expected: Vec<Interval> = ids.iter().filter_map(|&attribute| {
                let of = |i: &&Interval| i.attribute == attribute && i.range.begin <= at && at < i.range.end;
                intervals.iter().find(of).copied()
            }).collect();
            prop_assert_eq!(history.all_at(at).collect::<Vec<_>>(), expected);
        }
        for window in windows.into_iter().map(|(begin, length)| range(begin, begin + length)) {
            let screen = history.screen(&ids, window, pixels);
            for &attribute in &ids {
                let touches = |i: &&Interval| {
                    i.attribute == attribute && i.range.begin < window.end && i.range.end > window.begin
                };
                let mut expected: Vec<Interval> = intervals.iter().filter(touches).copied().collect();
                expected.sort_by_key(|i| i.range.begin);
                prop_assert_eq!(history.intervals(attribute, window).collect::<Vec<_>>(), expected);

                let expected = times(&intervals, attribute, window);
                let found: BTreeMap<Value, u64> = history.times(attribute, window)
                    .into_iter().map(|(value, time)| (value, time.get())).filter(|(_, time)| *time > 0).collect();
                prop_assert_eq!(found, expected);

                let row = &screen[attribute.0 as usize * pixels..][..pixels];
                let length = window.length().get() as i128;
                let bound = |pixel: usize| window.begin.ns() + (length * pixel as i128 / pixels as i128) as i64;
                for (pixel, cell) in row.iter().enumerate() {
                    // A pixel more on either side: nothing from elsewhere may be shown.
                    let (begin, end) = (bound(pixel), bound(pixel + 1));
                    let width = end - begin + 1;
                    let near = times(&intervals, attribute, range(begin - width, end + width));
                    if cell.share > 0 {
                        prop_assert!(near.contains_key(&cell.value), "{:?} of {:?}", cell, near);
                    }
                    let inside = times(&intervals, attribute, range(begin, end));
                    if inside.values().sum::<u64>() == (end - begin) as u64 && inside.len() == 1 {
                        prop_assert!(cell.share > 0, "the pixel is full");
                    }
                }
            }
        }
    }

    #[test]
    fn a_close_screen_is_exact(intervals in intervals(), begin in 0i64..50_000, width in 1i64..4) {
        let folder = tempfile::tempdir().unwrap();
        let history = build(folder.path(), &intervals, ATTRIBUTES as usize, 2, 16);
        let ids: Vec<AttributeId> = (0..ATTRIBUTES).map(AttributeId).collect();
        let pixels = 500;
        let screen = history.screen(&ids, range(begin, begin + width * pixels), pixels as usize);
        for (cell, number) in screen.iter().zip(0..) {
            let (attribute, pixel) = (ids[(number / pixels) as usize], number % pixels);
            let window = range(begin + pixel * width, begin + (pixel + 1) * width);
            let held = times(&intervals, attribute, window);
            let most = held.iter().max_by_key(|(value, held)| (**held, std::cmp::Reverse(**value)));
            let expected = most.map(|(value, held)| (*value, (held * 255 / width as u64).max(1) as u8));
            prop_assert_eq!((cell.share > 0).then_some((cell.value, cell.share)), expected);
        }
    }
}

fn three() -> Vec<Interval> {
    [(0, 10, 0), (10, 30, 1), (40, 50, 2)]
        .map(|(begin, end, value)| Interval {
            attribute: AttributeId(0),
            range: range(begin, end),
            value: Value(value),
        })
        .into()
}

#[test]
fn names_and_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let history = build(folder.path(), &three(), 3, 1, 2);
    let state = history.find("threads/0/state").unwrap();
    let found = history.at(state, Timestamp::from_ns(10)).unwrap();
    assert_eq!(history.value_name(state, found.value), Some("WAITING"));
    assert_eq!(history.value_name(AttributeId(1), Value(1)), None);
    assert_eq!(history.at(state, Timestamp::from_ns(30)), None);
    assert_eq!(history.find("threads/9/state"), None);
    let below: Vec<&str> = history.below("threads/").map(|(path, _)| path).collect();
    assert_eq!(below.len(), 3);
    assert_eq!(history.range(), range(0, 50));
}

#[test]
fn an_interval_ends_where_the_next_begins() {
    let folder = tempfile::tempdir().unwrap();
    let mut intervals = three();
    intervals[0].range = range(0, 15);
    let history = build(folder.path(), &intervals, 1, 1, 10);
    assert_eq!(history.overlaps(), 1);
    let first = history.at(AttributeId(0), Timestamp::from_ns(0)).unwrap();
    assert_eq!(first.range, range(0, 10));
}

#[test]
fn short_intervals_are_summarised() {
    let folder = tempfile::tempdir().unwrap();
    let of = |n: i64| Interval {
        attribute: AttributeId(0),
        range: range(n * 10, n * 10 + 10),
        value: Value(n % 3),
    };
    let intervals: Vec<Interval> = (0..10_000).map(of).collect();
    let history = build(folder.path(), &intervals, 1, 1, 1 << 20);
    assert!(folder.path().join("history/level-05.arrow").exists());
    let screen = history.screen(&[AttributeId(0)], range(0, 100_000), 40);
    // Each of the three is held a third of the time, in either of a pixel's two buckets.
    let shares = screen.iter().map(|cell| cell.share);
    assert!(
        shares.clone().all(|share| (28..=90).contains(&share)),
        "{:?}",
        shares.collect::<Vec<_>>()
    );
    let times = history.times(AttributeId(0), range(5, 99_995));
    assert_eq!(times.values().map(|time| time.get()).sum::<u64>(), 99_990);
}

#[test]
fn an_empty_history_answers() {
    let folder = tempfile::tempdir().unwrap();
    let history = build(folder.path(), &[], 2, 1, 10);
    assert!(history.is_empty());
    assert_eq!(history.all_at(Timestamp::from_ns(0)).count(), 0);
    let cells = history.screen(&[AttributeId(0), AttributeId(7)], range(0, 9), 3);
    assert!(cells.iter().all(|cell| cell.share == 0));
}

#[test]
fn nothing_that_is_not_whole_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), &three(), 3, 1, 2);
    let target = folder.path().join("history");
    let other = Key("another recording".into());
    assert!(matches!(
        History::open(&target, &other),
        Err(Unusable::Other(_))
    ));
    assert!(matches!(
        History::open(&folder.path().join("elsewhere"), &key()),
        Err(Unusable::Missing(_))
    ));
    let mut files = 0;
    for entry in std::fs::read_dir(&target).unwrap() {
        let file = entry.unwrap().path();
        let whole = std::fs::read(&file).unwrap();
        let mut changed = whole.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 0x40;
        for damage in [&whole[..whole.len() - 1], &changed, b""] {
            std::fs::write(&file, damage).unwrap();
            if file.ends_with("history.json") && damage.len() == whole.len() {
                continue;
            }
            let opened = History::open(&target, &key());
            let error = opened
                .err()
                .unwrap_or_else(|| panic!("{file:?} is believed"));
            assert!(matches!(error, Unusable::Damaged { .. }), "{error}");
        }
        std::fs::remove_file(&file).unwrap();
        assert!(History::open(&target, &key()).is_err());
        std::fs::write(&file, whole).unwrap();
        files += 1;
    }
    assert!(files >= 5, "{files}");
    History::open(&target, &key()).unwrap();
}

#[test]
fn a_history_is_replaced_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), &three(), 3, 1, 2);
    let history = build(folder.path(), &three()[..1], 3, 1, 2);
    assert_eq!(history.len(), 1);
    let unfinished = Builder::create(&folder.path().join("other")).unwrap();
    drop(unfinished);
    let names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["history"]);
}

#[test]
fn the_files_do_not_depend_on_who_wrote_what() {
    let folders = [(1, 1000), (3, 1), (2, 2)].map(|(writers, run_rows)| {
        let folder = tempfile::tempdir().unwrap();
        build(folder.path(), &three(), 3, writers, run_rows);
        folder
    });
    let read = |folder: &tempfile::TempDir, name: &str| {
        std::fs::read(folder.path().join("history").join(name)).unwrap()
    };
    for name in ["history.json", "intervals.arrow", "attributes.arrow"] {
        assert_eq!(read(&folders[0], name), read(&folders[1], name), "{name}");
        assert_eq!(read(&folders[0], name), read(&folders[2], name), "{name}");
    }
}

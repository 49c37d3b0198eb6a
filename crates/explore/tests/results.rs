//! What results say of trials that are given: which configurations are on the front where some fail, and which is the best
//! where the first objective does not tell.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use slowpath_explore::{Configuration, Failure, Outcome, Results, Row, Spec, Standing, Trial};

const SPEC: &str = "[parameters.a]\ntype = \"integer\"\nmin = 1\nmax = 9\n\
    [workload]\ncommand = \"true\"\n[metrics.time]\nregex = '(1)'\n[metrics.memory]\nregex = '(2)'\n\
    [[objectives]]\nminimise = \"time\"\n[[objectives]]\nminimise = \"memory\"\n";

/// A trial of `a`: its time and memory, nothing where it failed.
type Tried = (i64, Option<(f64, f64)>);

fn results(tried: &[Tried]) -> Results {
    let load = |_: &Path| Err(io::ErrorKind::NotFound.into());
    let spec = Spec::parse(SPEC, "", "s", Path::new(""), &load).expect("a specification");
    let trial = |(id, (a, found)): (i64, &Tried)| Trial {
        id,
        batch: 0,
        configuration: Configuration::from_key(&format!("{{\"a\":{a}}}")).expect("JSON"),
        outcome: match found {
            Some(_) => Outcome::Good,
            None => Outcome::Failed {
                kind: Failure::Workload,
                what: "it failed".to_owned(),
            },
        },
        measures: found.map_or(BTreeMap::new(), |(time, memory)| {
            [("time".to_owned(), time), ("memory".to_owned(), memory)].into()
        }),
        notes: String::new(),
    };
    let trials: Vec<Trial> = (1..).zip(tried).map(trial).collect();
    Results::new(&spec, &trials)
}

/// Those for which this holds, by `a`, the best first.
fn those(tried: &[Tried], holds: impl Fn(&Row) -> bool) -> Vec<i64> {
    let results = results(tried);
    let rows = results.configurations.iter().filter(|row| holds(row));
    rows.filter_map(|row| row.configuration.get("a")?.number())
        .map(|a| a as i64)
        .collect()
}

/// Which of them lie on the front, by `a`.
fn front(tried: &[Tried]) -> Vec<i64> {
    let mut found = those(tried, |row| row.is_on_front);
    found.sort_unstable();
    found
}

#[test]
fn where_values_do_not_vary_there_is_no_luck() {
    let of = |vary: f64| {
        let tried = (1..=3).flat_map(|a| [0.0, vary].map(|by| (a, Some((a as f64 + by, 1.0)))));
        results(&tried.collect::<Vec<_>>()).luck()
    };
    assert_eq!(of(0.0), None);
    assert_eq!(of(0.01).map(|luck| luck.rivals), Some(3));
}

#[test]
fn where_the_first_objective_is_equal_the_next_one_decides() {
    let tried = [
        (1, Some((5.0, 9.0))),
        (2, Some((5.0, 7.0))),
        (3, Some((5.0, 8.0))),
        (4, Some((4.0, 20.0))),
        (2, Some((5.0, 7.5))),
    ];
    assert_eq!(those(&tried, |_| true), [4, 2, 3, 1]);
    assert_eq!(front(&tried), [2, 4]);
}

#[test]
fn however_often_one_number_was_measured_it_is_the_same_number() {
    let times = |a: i64, memory: f64, count: usize| vec![(a, Some((0.7, memory))); count];
    let tried = [
        times(1, 9.0, 3),
        times(2, 7.0, 6),
        times(4, 5.0, 2),
        times(8, 3.0, 10),
    ]
    .concat();
    assert_eq!(those(&tried, |_| true), [8, 4, 2, 1]);
    assert_eq!(front(&tried), [8]);
    let found = results(&tried);
    let is_worse = |row: &&Row| row.standing == Standing::Worse;
    assert_eq!(found.configurations.iter().find(is_worse), None);
    // There is nothing that could depend on anything.
    assert_eq!(found.importance, None);
    assert_eq!(found.objectives[0].noise, Some(0.0));
}

#[test]
fn what_fails_at_times_dominates_nothing_that_never_does() {
    let good = [
        (1, Some((5.0, 5.0))),
        (2, Some((9.0, 1.0))),
        (3, Some((6.0, 6.0))),
    ];
    assert_eq!(front(&good), [1, 2], "1 is better than 3 in both");
    // Better than all, but for the trial that failed.
    let with_failing = [&good[..], &[(4, Some((1.0, 0.5))), (4, None)]].concat();
    assert_eq!(front(&with_failing), [1, 2, 4]);
    // Among those that fail all count, and what never fails dominates what does.
    let worse = [
        (5, Some((2.0, 0.7))),
        (5, None),
        (6, Some((7.0, 7.0))),
        (6, None),
    ];
    assert_eq!(front(&[&with_failing[..], &worse].concat()), [1, 2, 4]);
    let always = [(7, None), (7, None)];
    assert_eq!(front(&[&good[..], &always].concat()), [1, 2]);
}

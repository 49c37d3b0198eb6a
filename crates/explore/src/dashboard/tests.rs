//! What is shown of an exploration, read from a store that was written here. How it is served: crates/cli/tests.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::trial::{Failure, Outcome, Trial};

const SPEC: &str = "[parameters.x]\ntype = \"integer\"\nvalues = [1, 2]\n\
                    [[files]]\npath = \"{{scratch}}/a\"\ncontent = \"x {{x}}\"\n\
                    [[files]]\npath = \"{{scratch}}/b\"\ntemplate = \"b.in\"\n\
                    [workload]\ncommand = \"true\"\n[metrics.speed]\nregex = '(1)'\nunit = \"1/s\"\n\
                    [[objectives]]\nmaximise = \"speed\"\n";

fn one(x: i64) -> Configuration {
    Configuration::from_key(&format!("{{\"x\":{x}}}")).expect("JSON")
}

/// Each of two configurations three times; what time alone does to both is `drift`, from the first trial to the last.
fn explored(folder: &Path, drift: f64) -> Store {
    let mut store = Store::create(folder, "t", SPEC, &["x {{x}}", "b {{x}}"]).expect("a store");
    let plan: Vec<(u32, Configuration)> = (0..8).map(|n| (n, one(1 + i64::from(n % 2)))).collect();
    store.plan(0, &plan).expect("written");
    for number in 0..7 {
        let trial = store.next().expect("read").expect("one more");
        store.begin(trial.id).expect("written");
        std::thread::sleep(std::time::Duration::from_millis(20));
        let base = if number % 2 == 0 { 100.0 } else { 50.0 };
        let speed = base * (1.0 + drift * f64::from(number) / 6.0);
        let (outcome, measures) = match number {
            6 => {
                let what = "after 1 s".to_owned();
                let kind = Failure::TimedOut;
                (Outcome::Failed { kind, what }, BTreeMap::new())
            }
            _ => (Outcome::Good, [("speed".to_owned(), speed)].into()),
        };
        (store.end(trial.id, &outcome, &measures, "", 20)).expect("written");
    }
    store
}

#[test]
fn an_exploration_is_read_with_nothing_but_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("tuning-exploration");
    std::fs::create_dir(&place).expect("made");
    let mut store = explored(&place, 0.0);
    let found = ReadExploration::of(&place).expect("read").dashboard;
    assert_eq!(found.results.name, "tuning");
    // Nobody holds the lock.
    assert_eq!(found.progress.state, State::Interrupted);
    assert_eq!((found.progress.planned, found.progress.ended), (8, 7));
    assert_eq!(found.results.failed, 1);
    assert_eq!(found.trials.len(), 7);
    assert_eq!(
        (found.trials[0].begin_ms, &*found.trials[6].words),
        (Some(0), "after 1 s")
    );
    assert_eq!(found.metrics[0].goal, Some("maximise"));
    let recommended = found.recommended.expect("a best one");
    assert_eq!((recommended.folder, recommended.files.len()), (None, 1));

    let revision = found.progress.revision;
    let reason = Reason {
        words: "because".to_owned(),
        about: vec![one(2), one(1)],
    };
    store
        .set_reasons(std::slice::from_ref(&reason))
        .expect("written");
    store.finish("done", &["so".to_owned()]).expect("written");
    let ended = ReadExploration::of(&place).expect("read").dashboard;
    assert_eq!(ended.progress.state, State::Ended);
    assert_ne!(ended.progress.revision, revision);
    assert_eq!(
        (ended.reasons, ended.conclusions),
        (vec![reason], vec!["so".to_owned()])
    );
    // Whoever takes it up again knows no reasons yet.
    store.take_up(SPEC).expect("written");
    assert_eq!(store.reasons().expect("read"), []);
}

#[test]
fn drift_is_told_from_what_configurations_do() {
    let change = |drift| {
        let folder = tempfile::tempdir().expect("a folder");
        drop(explored(folder.path(), drift));
        let mut found = ReadExploration::of(folder.path()).expect("read").dashboard;
        found.drift.remove(0).change.expect("enough trials")
    };
    let none = change(0.0);
    assert!(none.estimate.abs() < 1e-9, "{none:?}");
    let some = change(0.3);
    assert!(some.low > 0.05 && some.high < 0.6, "{some:?}");
}

#[test]
fn trials_that_follow_each_other_tell_of_no_drift() {
    let spec =
        Spec::parse(SPEC, "", "s", Path::new(""), &|_| Ok(String::new())).expect("a specification");
    // One configuration after the other, the first trial of each a little slow: over all the time that would be +100 % and more.
    let change = |configuration_of: &dyn Fn(i64) -> i64| {
        let trials: Vec<Trial> = (0..36)
            .map(|id| Trial {
                id,
                batch: 0,
                configuration: one(configuration_of(id)),
                outcome: Outcome::Good,
                measures: [("speed".to_owned(), 100.0 + (id % 3) as f64 * 4.0)].into(),
                notes: String::new(),
            })
            .collect();
        let times = (0..36)
            .map(|id| (id, (id * 1000, id * 1000 + 500)))
            .collect();
        drifts(&spec, &trials, &times).remove(0).change
    };
    assert_eq!(change(&|id| id / 3), None);
    assert!(change(&|id| id % 4).is_some_and(|change| change.low < 0.0 && change.high > 0.0));
}

#[test]
fn trials_that_were_stopped_count_in_no_picture() {
    let place = Path::new("");
    let load = |_: &Path| Ok(String::new());
    let spec = Spec::parse(SPEC, "", "s", place, &load).expect("a specification");
    let mut trials = Vec::new();
    let mut times = BTreeMap::new();
    // Each third one is stopped after a part of what it would have done, the later the earlier.
    for id in 1..=18 {
        let (outcome, speed) = match id % 3 {
            0 => (Outcome::Stopped, 100.0 / id as f64),
            _ => (Outcome::Good, 100.0),
        };
        times.insert(id, (id * 1000, id * 1000 + 500));
        trials.push(Trial {
            id,
            batch: 0,
            configuration: one(1 + id % 2),
            outcome,
            measures: [("speed".to_owned(), speed)].into(),
            notes: String::new(),
        });
    }
    let change = |trials: &[Trial]| drifts(&spec, trials, &times).remove(0).change;
    let found = change(&trials).expect("enough trials");
    assert!(found.estimate.abs() < 1e-9, "{found:?}");
    let results = Results::new(&spec, &trials);
    let map = heat_map::heat_map(&spec, &results, &HeatMapAsked::default()).expect("a map");
    let cells = map.panels[0].cells.iter();
    let seen: Vec<_> = cells.map(|cell| (cell.count, cell.mean)).collect();
    assert_eq!(seen, [(6, Some(100.0)), (6, Some(100.0))]);
    for row in trials::rows(&results, &trials, &times) {
        let deviation = row.deviations.get("speed").copied();
        assert_eq!(deviation, (row.outcome == "good").then_some(0.0), "{row:?}");
        assert!(row.measures.contains_key("speed"), "what was seen is shown");
    }
    // Where none ran to its end, parts are all there is.
    trials.retain(|trial| trial.outcome == Outcome::Stopped);
    assert!(change(&trials).is_some_and(|change| change.high < 0.0));
}

#[test]
fn reasons_of_an_older_store_are_about_all() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = explored(folder.path(), 0.0);
    let reason = Reason {
        words: "because".to_owned(),
        about: vec![one(1)],
    };
    store.set_reasons(&[reason]).expect("written");
    store.forget_what_reasons_are_about();
    let reasons = store.reasons().expect("read");
    assert_eq!((&*reasons[0].words, reasons[0].about.len()), ("because", 0));
}

#[test]
fn the_folder_or_the_store_in_it_is_an_exploration() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(exploration_at(folder.path()), None);
    drop(explored(folder.path(), 0.0));
    let at = Some(folder.path().to_owned());
    assert_eq!(exploration_at(folder.path()), at);
    assert_eq!(exploration_at(&folder.path().join(FILE_NAME)), at);
}

//! Optuna where constraints forbid most of what it proposes.

use super::{Configuration, Trial, go_on, keys, number, optuna, simulate};

/// A sixth of all that there is.
const SOME: &str = "constraints = [\"x + y <= 23\", \"x >= y || z == 'p'\"]\n\
    [parameters.x]\ntype = \"integer\"\nmin = 1\nmax = 40\n[parameters.y]\ntype = \"integer\"\nmin = 1\nmax = 40\n\
    [parameters.z]\ntype = \"category\"\nvalues = [\"p\", \"q\"]";

fn tried(trials: &[Trial]) -> Vec<String> {
    let trials = trials.iter();
    trials.map(|one| one.configuration.to_string()).collect()
}

#[test]
fn what_is_forbidden_is_none_of_those_that_are_wanted() {
    let Some((spec, mut policy)) = optuna(SOME, 1, 30, "") else {
        return;
    };
    let cost = |one: &Configuration| (number(one, "x") - 9.0).powi(2) + number(one, "y");
    let (trials, conclusions) = simulate(&spec, &mut *policy, cost);
    assert_eq!((keys(&trials).len(), conclusions.len()), (30, 0));

    // Where the constraints leave less than that, all of it is found.
    let few = SOME.replace("x + y <= 23", "x + y <= 4");
    let few = few.replace("max = 40", "max = 8");
    let Some((spec, mut policy)) = optuna(&few, 1, 30, "") else {
        return;
    };
    let (trials, conclusions) = simulate(&spec, &mut *policy, |one| number(one, "x"));
    assert_eq!((keys(&trials).len(), conclusions.len()), (10, 0));
}

#[test]
fn what_was_forbidden_is_known_again_when_it_goes_on() {
    let cost = |one: &Configuration| (number(one, "x") - 9.0).powi(2) + number(one, "y");
    let new = || optuna(SOME, 2, 24, "");
    let (Some((spec, mut one)), Some((_, mut other))) = (new(), new()) else {
        return;
    };
    let (whole, _) = simulate(&spec, &mut *one, cost);
    let (again, _) = go_on(&spec, &mut *other, whole[..9].to_vec(), cost);
    assert_eq!(tried(&again), tried(&whole));
}

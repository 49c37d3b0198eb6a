//! What `slowpath explore` refuses before anything runs, and how it says what it has found out.

mod support;

use std::fs;
use std::process::Command;

use support::exploring::{COST, NUMBERS, Place};
use support::{skip, wait_until};

#[test]
fn what_can_never_work_is_refused_by_a_check() {
    let refused = |specification: &str, words: &str| {
        let left = Place::with(specification).explore(&["--check"]);
        assert_eq!(left.status, Some(2), "{specification}: {}", left.stdout);
        assert!(left.stderr.contains(words), "{}", left.stderr);
    };
    let rest = format!("[workload]\ncommand = \"echo cost 1\"\n{COST}");
    let nothing = "no configuration satisfies all constraints\n  hint: ";
    refused(
        &format!("constraints = [\"a > 9\"]\n{NUMBERS}{rest}"),
        nothing,
    );
    let both = "constraints = [\"a > b\", \"b > a\"]\n";
    let random = "[policy]\nname = \"random\"\n";
    refused(&format!("{both}{NUMBERS}{rest}{random}"), nothing);
    // Not the policy's either.
    let float = "[parameters.f]\ntype = \"float\"\nmin = 0\nmax = 1\n";
    refused(
        &format!("{float}{rest}"),
        "the parameter `f` has no `steps`",
    );
    let defaults = "constraints = [\"a + b > 2\"]\n";
    let one = "[policy]\nname = \"one-at-a-time\"\n";
    refused(
        &format!("{defaults}{NUMBERS}{rest}{one}"),
        "the defaults (a=1 b=1) do not satisfy all constraints",
    );
    let listed = "[parameters.c]\ntype = \"integer\"\nvalues = [1, 2, 4]\n";
    let knee = "[policy]\nname = \"knee\"\nparameter = \"c\"\n";
    refused(
        &format!("{listed}{rest}{knee}"),
        "`c` is no whole number with `min` and `max`\n  hint: a knee looks between values",
    );
    let left = Place::with(&format!("{float}{rest}{random}")).explore(&["--check"]);
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    assert!(
        left.stdout.contains("1 parameter, no grid"),
        "{}",
        left.stdout
    );
}

#[test]
fn a_second_explorer_says_who_works_there() {
    let place = Place::with(&format!(
        "{NUMBERS}[workload]\ncommand = \"echo > began; sleep 60\"\n{COST}"
    ));
    let mut first = place.command(&["--no-reasons"]).spawn().expect("it starts");
    wait_until("a trial", || place.path("began").exists());
    let ways: [&[&str]; 3] = [&[], &["--resume"], &["--overwrite"]];
    for arguments in ways {
        let left = place.explore(arguments);
        assert_eq!(left.status, Some(2), "{arguments:?}");
        let words = format!("another explorer (process {}) works in ", first.id());
        assert!(
            left.stderr.contains(&words) && left.stderr.contains("hint: wait for it"),
            "{arguments:?}: {}",
            left.stderr
        );
    }
    // To look at what it has found is something else.
    assert_eq!(place.results()["trials"], 0);
    first.kill().expect("killed");
    first.wait().expect("it ended");
}

#[test]
fn a_best_of_0_has_differences_and_floats_are_short() {
    let place = Place::with(&format!(
        "[parameters.f]\ntype = \"float\"\nmin = 0.1\nmax = 0.4\nsteps = 4\n\
         [workload]\ncommand = '''awk 'BEGIN {{ print \"cost\", ({{{{f}}}} < 0.15 ? 0 : {{{{f}}}} * 10) }}' '''\n\
         {COST}[trials]\nper_configuration = 2\n"
    ));
    let left = place.explore(&["--no-reasons"]);
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    assert!(left.stdout.contains("+4.000 to +4.000"), "{}", left.stdout);
    let digits = left.stdout.split(|letter: char| !letter.is_ascii_digit());
    let longest = digits.map(str::len).max();
    assert!(longest < Some(10), "{}", left.stdout);
}

#[test]
fn results_are_told_though_the_specification_was_edited() {
    let text = format!("{NUMBERS}[workload]\ncommand = \"echo cost {{{{a}}}}\"\n{COST}");
    let place = Place::with(&text);
    let left = place.explore(&["--no-reasons", "--trials", "4"]);
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    let edited = text
        .replace("max = 3", "max = 5")
        .replace("cost {{a}}", "cost 7");
    let told = |why: &str| {
        let left = place.explore(&["--results", "table"]);
        assert_eq!(left.status, Some(0), "{}", left.stderr);
        assert!(left.stderr.contains(why), "{}", left.stderr);
        let said = "4 trials of 4 configurations";
        assert!(left.stdout.contains(said), "{}", left.stdout);
    };
    fs::write(place.path("s.toml"), edited).expect("written");
    told(
        "s.toml has changed since then, or a template of it has: what follows is of the specification as it was when",
    );
    fs::write(place.path("s.toml"), "[workload").expect("written");
    told("s.toml:1: ");
    fs::remove_file(place.path("s.toml")).expect("removed");
    told("s.toml: it cannot be read: No such file");
}

#[test]
fn a_specification_in_xml_is_explored() {
    let text = r#"<exploration>
  <parameter name="a" type="integer" min="1" max="4"/>
  <parameter name="b" type="category"><values><value>x</value><value>&lt;y&gt;</value></values></parameter>
  <constraint>a &lt; 4 || b == 'x'</constraint>
  <file path="{{scratch}}/out" template="out.in"/>
  <workload command="cat {{scratch}}/out"/>
  <metric name="cost"><regex>cost ([0-9.]+)</regex></metric>
  <objective minimise="cost"/>
  <trials per_configuration="1"/>
</exploration>
"#;
    let place = Place::with(text);
    fs::write(place.path("out.in"), "cost {{a}} of {{b}}\n").expect("written");
    let left = place.explore(&["--check"]);
    assert!(
        left.stdout.contains("2 parameters, 7 configurations"),
        "{}",
        left.stdout
    );
    let left = place.explore(&["--no-reasons", "--trials", "3"]);
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    let left = place.explore(&["--resume", "--no-reasons"]);
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    fs::write(place.path("s.toml"), text.replace("max=\"4\"", "max=\"9\"")).expect("written");
    // With the template of then, which only the folder has.
    fs::write(place.path("out.in"), "{{a}}").expect("written");
    let results = place.results();
    assert_eq!(results["trials"], 7);
    let best = &results["configurations"][0];
    assert_eq!(
        (
            &best["configuration"]["a"],
            &best["metrics"]["cost"]["mean"]
        ),
        (&1.into(), &1.0.into())
    );
}

#[test]
fn a_policy_may_begin_with_a_configuration_that_crashes() {
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("there is no python3");
    }
    let explored = |crashes: &str| {
        let place = Place::with(&format!(
            "{NUMBERS}[workload]\ncommand = \"[ {{{{a}}}} -gt {crashes} ] && echo cost {{{{a}}}}\"\n\
             {COST}[policy]\nname = \"python\"\nfile = \"p.py\"\n"
        ));
        let policy = "from slowpath_policy import Policy\nclass Upwards(Policy):\n    a = 0\n    def next(self):\n        self.a += 1\n        return {'a': self.a, 'b': 1} if self.a < 5 else None\n";
        fs::write(place.path("p.py"), policy).expect("written");
        let left = place.explore(&["--no-reasons"]);
        (left, place.results())
    };
    // Two of four configurations, three trials each, one configuration after the other.
    let (left, results) = explored("2");
    assert_eq!(left.status, Some(0), "{}", left.stderr);
    assert_eq!(
        (&results["trials"], &results["failed"]),
        (&12.into(), &6.into())
    );
    let told = "12 trials of 4 configurations; 6 trials failed\n";
    assert!(left.stdout.contains(told), "{}", left.stdout);
    // Three that fail alike are too many.
    let (left, results) = explored("4");
    let expected = "error: the first 7 trials all failed alike: ";
    assert!(left.stderr.contains(expected), "{}", left.stderr);
    assert_eq!((left.status, &results["trials"]), (Some(2), &7.into()));
}

#[test]
fn what_failures_leave_unknown_is_told() {
    let explored = |condition: &str, policy: &str, arguments: &[&str]| {
        let command = format!("{condition} && echo cost {{{{a}}}}");
        let place = Place::with(&format!(
            "[parameters.a]\ntype = \"integer\"\nvalues = [1, 2]\n\
             [parameters.b]\ntype = \"integer\"\nvalues = [1, 2]\n\
             [workload]\ncommand = \"{command}\"\n{COST}[policy]\n{policy}\n"
        ));
        place.explore(arguments).stdout
    };
    // Two configurations that fail are too few for a specification that is wrong.
    let nothing = "- no trial has a result, so there is no difference to explain\n";
    let told = explored("false", "name = \"random\"\nconfigurations = 2", &[]);
    assert!(told.contains(nothing), "{told}");

    let defaults = "- the defaults (a=1 b=1) have no result, so nothing is compared with them; give parameters a `default` that works\n";
    let one_at_a_time = |condition: &str| {
        explored(condition, "name = \"one-at-a-time\"", &["--no-reasons"]).contains(defaults)
    };
    assert!(one_at_a_time("[ {{a}}{{b}} != 11 ]"));
    assert!(!one_at_a_time("[ {{a}}{{b}} != 21 ]"));
}

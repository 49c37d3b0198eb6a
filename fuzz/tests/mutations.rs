//! Every target of fuzz/ bears random mutations of the fixtures: so many seconds as `FUZZ_SECONDS` says, in all.

use std::process::Command;

/// Two for each target.
const SECONDS: &str = "20";

#[test]
fn no_mutation_of_the_fixtures_makes_a_parser_fail() {
    let seconds = std::env::var("FUZZ_SECONDS").unwrap_or_else(|_| SECONDS.to_owned());
    let run = Command::new(env!("CARGO_BIN_EXE_mutate"))
        .args(["--seconds", &seconds])
        .output()
        .expect("the driver");
    let told = String::from_utf8_lossy(&run.stdout);
    println!("{told}");
    assert!(
        run.status.success(),
        "{told}{}",
        String::from_utf8_lossy(&run.stderr)
    );
}

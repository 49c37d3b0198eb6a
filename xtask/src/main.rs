//! The repository's own checks, which no compiler makes: `cargo xtask check`, and `cargo xtask
//! generate` for the files that are generated.
//!
//! Each check is a module with one function from facts to problems, so that its tests can hand it a
//! bad example. No check changes a file; only `generate` does.

#![forbid(unsafe_code)]

mod arrows;
mod generated;
mod headers;
mod interface;
mod links;
mod machine_paths;
mod problem;
mod repository;
mod sizes;
mod unsafe_rooms;

use std::io::Write;
use std::process::ExitCode;

use problem::Problem;
use repository::Repository;

type Check = fn(&Repository) -> Vec<Problem>;

/// Every check, with what it verifies in words.
const CHECKS: &[(&str, Check)] = &[
    ("arrows between crates", arrows::check),
    ("file headers", headers::check),
    ("links between documents", links::check),
    ("generated files", generated::check),
    ("file sizes", sizes::check),
    ("rooms of unsafe code", unsafe_rooms::check),
    ("paths of one machine", machine_paths::check),
];

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    let outcome = match command.as_str() {
        "check" => Repository::read().map(|repository| check(&repository)),
        "generate" => Repository::read()
            .and_then(|repository| generated::describe_interface(&repository))
            .and_then(|()| Repository::read())
            .and_then(generated::generate),
        _ => {
            eprintln!("usage: cargo xtask check | generate");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn check(repository: &Repository) -> ExitCode {
    let mut found = 0;
    let mut text = String::new();
    for (name, check) in CHECKS {
        let problems = check(repository);
        found += problems.len();
        text += &format!("{name}: {}\n", verdict(problems.len()));
        for problem in problems {
            text += &format!("  {problem}\n");
        }
    }
    if found > 0 {
        text += &format!("xtask check: {}\n", verdict(found));
    }
    // A reader that has seen enough (`| head`) changes nothing about what was found.
    let _ = std::io::stdout().write_all(text.as_bytes());
    match found {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn verdict(problems: usize) -> String {
    match problems {
        0 => "ok".to_owned(),
        1 => "1 problem".to_owned(),
        more => format!("{more} problems"),
    }
}

//! `unsafe` lives in `crates/platform` and in agents, nowhere else.
//!
//! The compiler is the judge: this only sees to it that it is asked. Every crate root elsewhere
//! forbids `unsafe_code`, every package takes over the workspace's lints (which deny it in tests
//! and build scripts too), and no file lifts that.

use crate::problem::Problem;
use crate::repository::Repository;

const ROOMS: &[&str] = &["crates/platform/", "agents/"];

/// Checks crate roots, manifests and every Rust file.
pub fn check(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut wrong = |file: &str, line, what: &str, hint| {
        problems.push(Problem {
            file: file.to_owned(),
            line,
            what: what.to_owned(),
            hint,
        });
    };
    for (path, text) in repository.texts() {
        if ROOMS.iter().any(|room| path.starts_with(room)) {
            continue;
        }
        if is_manifest(path) && !takes_over_lints(text) {
            wrong(
                path,
                None,
                "the package does not take over the workspace's lints",
                "add `[lints]` with `workspace = true`",
            );
        }
        if is_crate_root(path) && !text.contains("#![forbid(unsafe_code)]") {
            wrong(
                path,
                Some(1),
                "the crate does not forbid unsafe code",
                "write `#![forbid(unsafe_code)]` below its header",
            );
        }
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let lifts = ["allow", "warn", "expect"].iter().any(|level| {
                line.starts_with(&format!("#[{level}("))
                    || line.starts_with(&format!("#![{level}("))
            });
            if path.ends_with(".rs") && lifts && line.contains("unsafe_code") {
                wrong(
                    path,
                    Some(number + 1),
                    "unsafe code is permitted here",
                    "move it into crates/platform behind a safe function",
                );
            }
        }
    }
    problems
}

/// Of a package that the compiler can be asked about: not `fuzz`, whose targets are made by a macro.
fn is_manifest(path: &str) -> bool {
    path.ends_with("/Cargo.toml") && !path.starts_with("fuzz/")
}

fn takes_over_lints(manifest: &str) -> bool {
    let after = manifest.split_once("[lints]").map(|(_, after)| after);
    after.is_some_and(|after| after.trim_start().starts_with("workspace = true"))
}

fn is_crate_root(path: &str) -> bool {
    !path.starts_with("fuzz/")
        && (path.ends_with("/src/lib.rs")
            || path.ends_with("/src/main.rs")
            || path.contains("/src/bin/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_asked_everywhere_but_in_the_rooms() {
        let lints = "[package]\n[lints]\nworkspace = true\n";
        let files = [
            ("crates/good/Cargo.toml", lints),
            (
                "crates/good/src/lib.rs",
                "//! Good.\n#![forbid(unsafe_code)]\n",
            ),
            ("crates/loose/Cargo.toml", "[package]\n"),
            ("crates/loose/src/lib.rs", "//! Loose.\n"),
            (
                "crates/sly/src/map.rs",
                "//! Sly.\n#[allow(unsafe_code)]\nfn map() {}\n",
            ),
            ("crates/platform/Cargo.toml", "[package]\n"),
            ("crates/platform/src/lib.rs", "#![allow(unsafe_code)]\n"),
            ("agents/probes/src/lib.rs", "#![allow(unsafe_code)]\n"),
        ];
        let found: Vec<_> = check(&Repository::of(&files))
            .into_iter()
            .map(|problem| (problem.file, problem.line))
            .collect();
        assert_eq!(
            found,
            [
                ("crates/loose/Cargo.toml".to_owned(), None),
                ("crates/loose/src/lib.rs".to_owned(), Some(1)),
                ("crates/sly/src/map.rs".to_owned(), Some(2)),
            ]
        );
    }
}

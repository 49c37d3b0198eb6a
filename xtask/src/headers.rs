//! Every source file opens with a comment that says what it is.
//!
//! Only that there is such a comment, and that it has words, can be seen from here; whether it says
//! why the file exists and what it is not is for the reader of a change.

use crate::problem::Problem;
use crate::repository::{Repository, extension};

/// A header says at least this much.
const LEAST_WORDS: usize = 4;

/// Checks every source file.
pub fn check(repository: &Repository) -> Vec<Problem> {
    repository
        .texts()
        .filter_map(|(path, text)| {
            let openings = openings(path, text)?;
            let what = complaint(openings, text)?;
            Some(Problem {
                file: path.to_owned(),
                line: Some(1),
                what,
                hint: "open the file with two to six lines: what it is, why it exists, what it is not",
            })
        })
        .collect()
}

/// How a header comment may open in such a file; `None` where it is no source file.
fn openings(path: &str, text: &str) -> Option<&'static [&'static str]> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match extension(path) {
        "rs" => Some(&["//!"]),
        "py" => Some(&["\"\"\"", "#"]),
        "c" | "h" | "cpp" | "hpp" | "js" | "cjs" | "mjs" | "ts" | "tsx" | "go" | "java" => {
            Some(&["//", "/*"])
        }
        "sh" => Some(&["#"]),
        _ if name == "Makefile" || text.starts_with("#!") => Some(&["#", "\"\"\""]),
        _ => None,
    }
}

/// What must stand above everything else: the interpreter of a script, JavaScript's mode.
fn is_directive(line: &str) -> bool {
    line.starts_with("#!") && !line.starts_with("#![") || line == "'use strict';"
}

fn complaint(openings: &[&str], text: &str) -> Option<String> {
    let mut lines = text
        .lines()
        .skip_while(|line| is_directive(line))
        .skip_while(|line| line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let Some(opening) = openings.iter().find(|opening| first.starts_with(**opening)) else {
        return Some("the file does not open with a header comment".to_owned());
    };
    let words = first[opening.len()..].split_whitespace().count()
        + lines
            .next()
            .map_or(0, |line| line.split_whitespace().count());
    (words < LEAST_WORDS).then(|| "the header comment says nothing".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files_found(files: &[(&str, &str)]) -> Vec<String> {
        let problems = check(&Repository::of(files));
        problems.into_iter().map(|problem| problem.file).collect()
    }

    #[test]
    fn files_with_a_header_pass() {
        let files = [
            ("a.rs", "//! What this is, and why.\n\nfn main() {}\n"),
            (
                "b.py",
                "#!/usr/bin/env python3\n\"\"\"What this is, and why.\"\"\"\n",
            ),
            ("c.c", "/*\n * What this is, and why.\n */\n"),
            ("d.sh", "#!/bin/sh\n# What this is, and why.\n"),
            ("e.js", "'use strict';\n// What this is, and why.\n"),
            ("Makefile", "# What this is, and why.\nall:\n"),
            ("notes.txt", "no source\n"),
        ];
        assert_eq!(files_found(&files), [""; 0]);
    }

    #[test]
    fn files_without_one_fail() {
        let files = [
            ("a.rs", "use std::fmt;\n//! What this is, and why.\n"),
            ("b.py", "import os\n"),
            ("c.h", "#include <stdio.h>\n"),
            ("d.sh", "#!/bin/sh\nset -eu\n"),
            ("empty.rs", ""),
            ("e/Makefile", "all:\n"),
            ("plain.rs", "// What this is, and why.\n"),
            ("run", "#!/bin/sh\ntrue\n"),
            ("short.rs", "//! Utilities.\n\nfn main() {}\n"),
        ];
        let mut found = files_found(&files);
        found.sort();
        assert_eq!(
            found,
            [
                "a.rs",
                "b.py",
                "c.h",
                "d.sh",
                "e/Makefile",
                "empty.rs",
                "plain.rs",
                "run",
                "short.rs"
            ]
        );
    }
}

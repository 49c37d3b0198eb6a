//! No source file grows past the size at which it has to be split by idea.
//!
//! About 400 lines without tests is a good size; only the hard limit is checked.

use crate::problem::Problem;
use crate::repository::{Repository, extension};

const MOST_LINES: usize = 800;

/// Checks every source file that people write.
pub fn check(repository: &Repository) -> Vec<Problem> {
    repository
        .texts()
        .filter(|(path, _)| ["rs", "py", "c"].contains(&extension(path)))
        .filter_map(|(path, text)| {
            let lines = text.lines().count();
            (lines > MOST_LINES).then(|| Problem {
                file: path.to_owned(),
                line: None,
                what: format!("{lines} lines, more than {MOST_LINES}"),
                hint: "split it by idea, not by length",
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_past_the_limit_fail() {
        let long = "x\n".repeat(801);
        let fitting = "x\n".repeat(800);
        let files = [
            ("data.json", long.as_str()),
            ("fits.rs", &fitting),
            ("long.rs", &long),
        ];
        let found: Vec<_> = check(&Repository::of(&files))
            .into_iter()
            .map(|problem| (problem.file, problem.what))
            .collect();
        let expected = ("long.rs".to_owned(), "801 lines, more than 800".to_owned());
        assert_eq!(found, [expected]);
    }
}

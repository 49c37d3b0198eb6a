//! No tracked text names a folder of the machine that somebody worked on.
//!
//! Such a path works for one person only. Looked for are users' home folders and the usual place of
//! checkouts in containers; paths of the system (`/usr`, `/proc`, `/tmp`) are fine.

use crate::problem::Problem;
use crate::repository::Repository;

/// In pieces, so that this file passes its own check.
const FOLDERS: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
];

/// Checks every tracked text.
pub fn check(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in repository.texts() {
        for (number, line) in text.lines().enumerate() {
            if let Some(folder) = FOLDERS.iter().find(|folder| names(line, folder)) {
                problems.push(Problem {
                    file: path.to_owned(),
                    line: Some(number + 1),
                    what: format!("names a path of one machine: {folder}…"),
                    hint: "use a path relative to the repository, or an environment variable",
                });
            }
        }
    }
    problems
}

/// Whether a path in `line` begins with `folder` and goes on.
fn names(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + folder.len()..].chars().next();
        let begins = before.is_none_or(|c| !c.is_alphanumeric() && !"_-./~*$}".contains(c));
        begins && after.is_some_and(|c| c.is_alphanumeric() || "_.".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_paths_of_a_machine_fail() {
        let home = format!("see {}ann/traces\n", FOLDERS[0]);
        let root = format!("line\nopen(\"{}x\")\n", FOLDERS[1]);
        let inside = format!("fixtures{}x and the folder {}\n", FOLDERS[2], FOLDERS[0]);
        let files = [
            ("home.md", home.as_str()),
            ("inside.md", &inside),
            ("root.py", &root),
            ("system.md", "/usr/bin, /tmp/x, /proc/self\n"),
        ];
        let found: Vec<_> = check(&Repository::of(&files))
            .into_iter()
            .map(|problem| (problem.file, problem.line))
            .collect();
        let expected = [
            ("home.md".to_owned(), Some(1)),
            ("root.py".to_owned(), Some(2)),
        ];
        assert_eq!(found, expected);
    }
}

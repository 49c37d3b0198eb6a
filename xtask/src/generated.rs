//! Files that hold generated sections, and whether these are fresh.
//!
//! A section lies between `<!-- generated: NAME … -->` and `<!-- end: NAME -->`; what stands outside
//! is written by people. To generate more, add a line to [`SECTIONS`].
//! One file is generated whole: the description of the server's interface, which only a build of the
//! server can tell to be stale (its test `the_description_in_the_repository_is_fresh`).

use std::fmt::Write as _;
use std::process::{Command, ExitCode};

use crate::arrows::{TABLE, Table};
use crate::interface;
use crate::problem::Problem;
use crate::repository::Repository;

/// A section of a file and what makes it.
struct Section {
    file: &'static str,
    name: &'static str,
    generate: fn(&Repository) -> Result<String, String>,
}

const SECTIONS: &[Section] = &[
    Section {
        file: "ARCHITECTURE.md",
        name: "crates",
        generate: crates_table,
    },
    Section {
        file: "docs/reference/http.md",
        name: "questions",
        generate: |repository| interface::questions(description(repository)?),
    },
    Section {
        file: "docs/reference/http.md",
        name: "shapes",
        generate: |repository| interface::shapes(description(repository)?),
    },
];

/// Writes the description of the server's interface, which the server itself makes; nothing where there is
/// no server.
///
/// # Errors
/// Where the server does not build, or the file cannot be written.
pub fn describe_interface(repository: &Repository) -> Result<(), String> {
    let mut packages = repository.metadata.packages.iter();
    if !packages.any(|package| package.name == "slowpath-server") {
        return Ok(());
    }
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "--package", "slowpath-server"]);
    let output = cargo.args(["--example", "description"]).output();
    let output = output.map_err(|error| format!("cannot run `cargo`: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the server does not tell its interface: {said}"));
    }
    let path = repository.root.join(interface::DESCRIPTION);
    match std::fs::read(&path) {
        Ok(known) if known == output.stdout => Ok(()),
        _ => {
            println!("{}: written", interface::DESCRIPTION);
            std::fs::write(&path, output.stdout)
                .map_err(|error| format!("cannot write {}: {error}", interface::DESCRIPTION))
        }
    }
}

fn description(repository: &Repository) -> Result<&str, String> {
    let text = repository.text(interface::DESCRIPTION);
    text.ok_or_else(|| format!("{} is missing", interface::DESCRIPTION))
}

/// Compares every section with what its generator says now.
pub fn check(repository: &Repository) -> Vec<Problem> {
    check_sections(repository, SECTIONS)
}

fn check_sections(repository: &Repository, sections: &[Section]) -> Vec<Problem> {
    sections
        .iter()
        .filter_map(|section| {
            let what = match refreshed(repository, section) {
                Err(error) => error,
                Ok((old, new)) if old != new => format!("section `{}` is stale", section.name),
                Ok(_) => return None,
            };
            Some(Problem {
                file: section.file.to_owned(),
                line: None,
                what,
                hint: "run `cargo xtask generate` and commit what it changed",
            })
        })
        .collect()
}

/// Rewrites the sections that are stale.
///
/// # Errors
/// Where a file, a marker or a generator's input is missing.
pub fn generate(mut repository: Repository) -> Result<ExitCode, String> {
    for section in SECTIONS {
        let (old, new) = refreshed(&repository, section)?;
        if old != new {
            std::fs::write(repository.root.join(section.file), &new)
                .map_err(|error| format!("cannot write {}: {error}", section.file))?;
            println!("{}: section `{}` written", section.file, section.name);
            // The file may have more sections.
            repository.replace(section.file, new);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A section's whole file as it is and as it should be.
fn refreshed<'a>(
    repository: &'a Repository,
    section: &Section,
) -> Result<(&'a str, String), String> {
    let text = repository
        .text(section.file)
        .ok_or_else(|| format!("{} is missing", section.file))?;
    let generated = (section.generate)(repository)?;
    Ok((text, with_section(text, section.name, &generated)?))
}

/// `text` with what lies between the markers of section `name` replaced.
fn with_section(text: &str, name: &str, generated: &str) -> Result<String, String> {
    let missing = || format!("the markers of section `{name}` are missing");
    let opening = text
        .find(&format!("<!-- generated: {name} "))
        .ok_or_else(missing)?;
    let begin = opening + text[opening..].find("-->\n").ok_or_else(missing)? + "-->\n".len();
    let end = text[begin..]
        .find(&format!("<!-- end: {name} -->"))
        .ok_or_else(missing)?;
    Ok(format!(
        "{}{generated}{}",
        &text[..begin],
        &text[begin + end..]
    ))
}

/// The table of crates, the highest layer first.
fn crates_table(repository: &Repository) -> Result<String, String> {
    let text = repository
        .text(TABLE)
        .ok_or_else(|| format!("{TABLE} is missing"))?;
    let table = Table::parse(text)?;
    let mut out = String::from("| layer | crate | its one job | may use |\n|---|---|---|---|\n");
    for (height, layer) in table.layers.iter().enumerate().rev() {
        for row in table.crates.iter().filter(|row| row.layer == *layer) {
            let mut uses: Vec<&str> = row.siblings.iter().map(String::as_str).collect();
            uses.extend(row.uses.iter().map(String::as_str));
            let uses = match (row.test_only, uses.join(", ")) {
                (true, uses) => format!("{uses} (only tests use it)"),
                (false, uses) if uses.is_empty() => "–".to_owned(),
                (false, uses) => uses,
            };
            let (name, job) = (&row.name, &row.job);
            let _ = writeln!(
                out,
                "| {height} {layer} | [`{name}`](crates/{name}) | {job} | {uses} |"
            );
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYERS: &str = r#"
        layers = ["low", "high"]
        crate = [
            { name = "words", layer = "low", job = "Says things." },
            { name = "sums", layer = "high", job = "Adds.", uses = ["words"] },
        ]"#;
    const FRESH: &str = "\
before
<!-- generated: crates (by hand? no) -->
| layer | crate | its one job | may use |
|---|---|---|---|
| 1 high | [`sums`](crates/sums) | Adds. | words |
| 0 low | [`words`](crates/words) | Says things. | – |
<!-- end: crates -->
after
";

    fn complaints(architecture: &str) -> Vec<String> {
        let files = [("ARCHITECTURE.md", architecture), (TABLE, LAYERS)];
        let of_crates = &SECTIONS[..1];
        let problems = check_sections(&Repository::of(&files), of_crates);
        problems.into_iter().map(|problem| problem.what).collect()
    }

    #[test]
    fn a_fresh_section_passes() {
        assert_eq!(complaints(FRESH), [""; 0]);
    }

    #[test]
    fn a_stale_section_fails() {
        let stale = FRESH.replace("Adds.", "Multiplies.");
        assert_eq!(complaints(&stale), ["section `crates` is stale"]);
    }

    #[test]
    fn a_missing_section_fails() {
        let expected = ["the markers of section `crates` are missing"];
        assert_eq!(complaints("before\nafter\n"), expected);
        assert_eq!(complaints("<!-- generated: crates -->\nno end\n"), expected);
    }
}

//! Links between the repository's documents are live: the file is tracked, the heading exists.
//!
//! Anchors are made of headings as GitHub makes them. Links to the web are not followed: a check
//! that needs the network fails on somebody else's bad day.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::problem::Problem;
use crate::repository::Repository;

/// Checks every Markdown file.
pub fn check(repository: &Repository) -> Vec<Problem> {
    let documents: Vec<(&str, &str)> = repository
        .texts()
        .filter(|(path, _)| path.ends_with(".md"))
        .collect();
    let anchors: BTreeMap<&str, BTreeSet<String>> = documents
        .iter()
        .map(|(path, text)| (*path, anchors(text)))
        .collect();
    let mut problems = Vec::new();
    for (path, text) in &documents {
        for (line, link) in links(text) {
            if let Some(what) = dead(repository, &anchors, path, &link) {
                problems.push(Problem {
                    file: (*path).to_owned(),
                    line: Some(line),
                    what,
                    hint: "links are relative to the file that holds them",
                });
            }
        }
    }
    problems
}

/// The links of a document with the line that each begins on.
fn links(text: &str) -> Vec<(usize, String)> {
    Parser::new(text)
        .into_offset_iter()
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let line = 1 + text[..range.start].matches('\n').count();
                Some((line, dest_url.into_string()))
            }
            _ => None,
        })
        .collect()
}

/// Why a link of the document at `path` leads nowhere.
fn dead(
    repository: &Repository,
    anchors: &BTreeMap<&str, BTreeSet<String>>,
    path: &str,
    link: &str,
) -> Option<String> {
    let has_scheme = link
        .split('/')
        .next()
        .is_some_and(|first| first.contains(':'));
    if has_scheme || link.starts_with("//") {
        return None;
    }
    let (target, anchor) = match link.split_once('#') {
        Some((target, anchor)) => (target, Some(anchor)),
        None => (link, None),
    };
    let target = if target.is_empty() {
        path.to_owned()
    } else {
        let Some(target) = resolve(path, target) else {
            return Some(format!("`{link}` leads out of the repository"));
        };
        target
    };
    let folder = if target.is_empty() {
        String::new()
    } else {
        format!("{target}/")
    };
    let exists = repository
        .files
        .iter()
        .any(|file| file.path == target || file.path.starts_with(&folder));
    if !exists {
        return Some(format!("`{link}` leads to no tracked file"));
    }
    let anchor = anchor?;
    match anchors.get(target.as_str()) {
        Some(known) if !known.contains(anchor) => {
            Some(format!("`{target}` has no heading `#{anchor}`"))
        }
        _ => None,
    }
}

/// `target` as seen from the file at `path`, from the root; `None` where it leads above that.
fn resolve(path: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = match target.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => path.split('/').collect(),
    };
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The anchors of a document: GitHub's slugs of its headings, numbered where they repeat.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&heading.take().unwrap_or_default());
                let mut unique = slug.clone();
                let mut repeats = 0;
                while !anchors.insert(unique.clone()) {
                    repeats += 1;
                    unique = format!("{slug}-{repeats}");
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    anchors
}

fn slug(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        let files = [
            ("README.md", "# Slowpath\n"),
            ("docs/guide/start.md", text),
            (
                "docs/guide/other.md",
                "# Where do I add `x`?\n## Same\n## Same\n",
            ),
        ];
        let problems = check(&Repository::of(&files));
        problems.into_iter().map(|problem| problem.what).collect()
    }

    #[test]
    fn live_links_pass() {
        for link in [
            "[a](other.md)",
            "[a](../../README.md#slowpath)",
            "[a](other.md#where-do-i-add-x)",
            "[a](other.md#same-1)",
            "[a](../guide/)",
            "# Here\n[a](#here)",
            "[a](https://example.org/none#x) [b](mailto:a@example.org)",
            "`[code](none.md)`",
            "```\n[code](none.md)\n```",
        ] {
            assert_eq!(complaints(link), [""; 0], "{link}");
        }
    }

    #[test]
    fn dead_links_fail() {
        for (link, expected) in [
            ("[a](none.md)", "`none.md` leads to no tracked file"),
            ("![a](none.png)", "`none.png` leads to no tracked file"),
            (
                "[a][r]\n\n[r]: none.md",
                "`none.md` leads to no tracked file",
            ),
            (
                "[a](../../../x.md)",
                "`../../../x.md` leads out of the repository",
            ),
            (
                "[a](other.md#same-2)",
                "`docs/guide/other.md` has no heading `#same-2`",
            ),
            ("[a](#here)", "`docs/guide/start.md` has no heading `#here`"),
        ] {
            assert_eq!(complaints(link), [expected], "{link}");
        }
    }
}

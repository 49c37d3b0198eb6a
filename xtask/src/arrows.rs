//! Dependency arrows between the workspace's crates against the one table, `crates/layers.toml`.
//!
//! Two questions: does the table itself keep the layers (arrows downward, no cycle among
//! siblings), and does every arrow that cargo knows stand in it? Packages from outside are not
//! looked at, nor are `xtask` and `benches`, which stand outside the layers.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::problem::Problem;
use crate::repository::{Metadata, Package, Repository};

/// Where the table is.
pub const TABLE: &str = "crates/layers.toml";

const PREFIX: &str = "slowpath-";
const HINT_TABLE: &str = "see docs/adr/0001-layers.md for which arrows are possible";

/// The table of layers, crates and allowed arrows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// From the lowest.
    pub layers: Vec<String>,
    /// In the order in which they are shown.
    #[serde(rename = "crate")]
    pub crates: Vec<Row>,
}

/// What the table says of one crate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The folder under `crates/`; the package is `slowpath-` and this.
    pub name: String,
    /// One of the table's layers.
    pub layer: String,
    /// Its one job, in words.
    pub job: String,
    /// Crates of lower layers that it may use.
    #[serde(default)]
    pub uses: Vec<String>,
    /// Crates of its own layer that it may use.
    #[serde(default)]
    pub siblings: Vec<String>,
    /// Whether only tests may use it.
    #[serde(default)]
    pub test_only: bool,
}

impl Table {
    /// Understands the text of the table.
    ///
    /// # Errors
    /// Where it is no TOML or has a key that is not one of the table's.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string().trim().replace('\n', " "))
    }

    fn row(&self, name: &str) -> Option<&Row> {
        self.crates.iter().find(|row| row.name == name)
    }

    fn height(&self, layer: &str) -> Option<usize> {
        self.layers.iter().position(|known| known == layer)
    }
}

/// Checks the table, and the workspace against it.
pub fn check(repository: &Repository) -> Vec<Problem> {
    let Some(text) = repository.text(TABLE) else {
        return vec![problem(
            TABLE,
            "the table of layers is missing".to_owned(),
            HINT_TABLE,
        )];
    };
    match Table::parse(text) {
        Ok(table) => {
            let mut problems = check_table(&table);
            problems.extend(check_workspace(&table, &repository.metadata));
            problems
        }
        Err(error) => vec![problem(TABLE, error, HINT_TABLE)],
    }
}

/// Arrows in the table go down, or sideways where they say so and never in a circle.
fn check_table(table: &Table) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut wrong = |what: String| problems.push(problem(TABLE, what, HINT_TABLE));
    let mut seen = BTreeSet::new();
    for row in &table.crates {
        let name = &row.name;
        if !seen.insert(name) {
            wrong(format!("`{name}` stands twice in the table"));
        }
        let Some(height) = table.height(&row.layer) else {
            wrong(format!(
                "`{name}` is in layer `{}`, which is none",
                row.layer
            ));
            continue;
        };
        let arrows = row.uses.iter().map(|used| (used, false));
        for (used, sibling) in arrows.chain(row.siblings.iter().map(|used| (used, true))) {
            let Some(target) = table.row(used) else {
                wrong(format!("`{name}` uses `{used}`, which is not in the table"));
                continue;
            };
            let below = table.height(&target.layer);
            if target.test_only {
                wrong(format!("`{name}` uses `{used}`, which only tests may use"));
            } else if sibling && below != Some(height) {
                wrong(format!(
                    "`{used}` is no sibling of `{name}`: it is in another layer"
                ));
            } else if !sibling && below >= Some(height) {
                wrong(format!("the arrow `{name}` → `{used}` does not go down"));
            }
        }
        if reaches(table, name, name) {
            wrong(format!("`{name}` uses itself by way of its siblings"));
        }
    }
    problems
}

/// Whether `to` can be reached from `from` over one or more arrows between siblings.
fn reaches(table: &Table, from: &str, to: &str) -> bool {
    let mut open = vec![from];
    let mut visited = BTreeSet::new();
    while let Some(row) = open.pop().and_then(|name| table.row(name)) {
        for used in &row.siblings {
            if used == to {
                return true;
            }
            if visited.insert(used) && table.row(used).is_some() {
                open.push(used);
            }
        }
    }
    false
}

/// Every crate has a row, every row a crate, and every arrow of cargo's stands in the table.
fn check_workspace(table: &Table, metadata: &Metadata) -> Vec<Problem> {
    let mut problems = Vec::new();
    let packages: BTreeMap<String, &Package> = metadata
        .packages
        .iter()
        .filter_map(|package| Some((crate_folder(metadata, package)?, package)))
        .collect();
    for row in &table.crates {
        if !packages.contains_key(&row.name) {
            let what = format!(
                "`{}` stands in the table, but crates/{0} is no crate",
                row.name
            );
            problems.push(problem(TABLE, what, "remove the row or add the crate"));
        }
    }
    for (name, package) in &packages {
        let manifest = format!("crates/{name}/Cargo.toml");
        if package.name != format!("{PREFIX}{name}") {
            let what = format!("the package is called `{}`", package.name);
            problems.push(problem(
                &manifest,
                what,
                "call it slowpath- and its folder's name",
            ));
        }
        let Some(row) = table.row(name) else {
            let what = format!("`{name}` has no row in {TABLE}");
            problems.push(problem(
                &manifest,
                what,
                "decide on its layer and add a row",
            ));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|one| one.path.is_some()) {
            let used = dependency
                .name
                .strip_prefix(PREFIX)
                .unwrap_or(&dependency.name);
            let for_tests = dependency.kind.as_deref() == Some("dev");
            let test_only = table.row(used).is_some_and(|target| target.test_only);
            let listed = row
                .uses
                .iter()
                .chain(&row.siblings)
                .any(|name| name == used);
            if !(listed || for_tests && test_only) {
                let what = format!("the arrow `{name}` → `{used}` is not allowed by {TABLE}");
                problems.push(problem(
                    &manifest,
                    what,
                    "move what you need into a lower layer, or argue for the arrow in docs/adr/",
                ));
            }
        }
    }
    problems
}

/// The folder's name of a package directly under `crates/`.
fn crate_folder(metadata: &Metadata, package: &Package) -> Option<String> {
    let folder = package.manifest_path.parent()?;
    let crates = metadata.workspace_root.join("crates");
    let inside = folder.strip_prefix(crates).ok()?;
    Some(inside.to_str()?.to_owned())
}

fn problem(file: &str, what: String, hint: &'static str) -> Problem {
    Problem {
        file: file.to_owned(),
        line: None,
        what,
        hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE_OF_FOUR: &str = r#"
        layers = ["low", "high"]
        crate = [
            { name = "words", layer = "low", job = "" },
            { name = "drawing", layer = "low", job = "", siblings = ["words"], test_only = true },
            { name = "sums", layer = "high", job = "", uses = ["words"] },
            { name = "paths", layer = "high", job = "", uses = ["words"], siblings = ["sums"] },
        ]"#;

    /// What the check says of a workspace with the crates of [`TABLE_OF_FOUR`] and these arrows:
    /// `from -> to`, or `from -> to (dev)`.
    fn complaints(arrows: &[&str]) -> Vec<String> {
        let dependencies_of = |name: &str| -> Vec<serde_json::Value> {
            arrows
                .iter()
                .filter_map(|arrow| {
                    let (from, to) = arrow.split_once(" -> ")?;
                    let (to, kind) = match to.strip_suffix(" (dev)") {
                        Some(to) => (to, Some("dev")),
                        None => (to, None),
                    };
                    (from == name).then(|| {
                        serde_json::json!({
                            "name": format!("slowpath-{to}"), "kind": kind, "path": format!("/r/crates/{to}")
                        })
                    })
                })
                .collect()
        };
        let packages: Vec<_> = ["words", "drawing", "sums", "paths"]
            .iter()
            .map(|name| {
                serde_json::json!({
                    "name": format!("slowpath-{name}"),
                    "manifest_path": format!("/r/crates/{name}/Cargo.toml"),
                    "dependencies": dependencies_of(name),
                })
            })
            .collect();
        let metadata = serde_json::json!({ "workspace_root": "/r", "packages": packages });
        let metadata = serde_json::from_value(metadata).expect("the shape of cargo metadata");
        let table = Table::parse(TABLE_OF_FOUR).expect("a table");
        assert_eq!(check_table(&table), []);
        let problems = check_workspace(&table, &metadata);
        problems.into_iter().map(|problem| problem.what).collect()
    }

    #[test]
    fn arrows_of_the_table_pass() {
        let arrows = [
            "sums -> words",
            "paths -> words",
            "paths -> sums",
            "sums -> drawing (dev)",
        ];
        assert_eq!(complaints(&arrows), [""; 0]);
    }

    #[test]
    fn a_broken_arrow_fails() {
        for (arrow, from, to) in [
            ("words -> sums", "words", "sums"),
            ("sums -> paths", "sums", "paths"),
            ("words -> paths (dev)", "words", "paths"),
            ("sums -> drawing", "sums", "drawing"),
        ] {
            let expected = format!("the arrow `{from}` → `{to}` is not allowed by {TABLE}");
            assert_eq!(complaints(&[arrow]), [expected], "{arrow}");
        }
    }

    #[test]
    fn a_table_that_breaks_its_own_layers_fails() {
        for (rows, expected) in [
            (
                r#"{ name = "a", layer = "low", job = "", uses = ["b"] }, { name = "b", layer = "high", job = "" }"#,
                "the arrow `a` → `b` does not go down",
            ),
            (
                r#"{ name = "a", layer = "low", job = "", uses = ["b"] }, { name = "b", layer = "low", job = "" }"#,
                "the arrow `a` → `b` does not go down",
            ),
            (
                r#"{ name = "a", layer = "high", job = "", siblings = ["b"] }, { name = "b", layer = "low", job = "" }"#,
                "`b` is no sibling of `a`: it is in another layer",
            ),
            (
                r#"{ name = "a", layer = "low", job = "", siblings = ["a"] }"#,
                "`a` uses itself by way of its siblings",
            ),
            (
                r#"{ name = "a", layer = "attic", job = "" }"#,
                "`a` is in layer `attic`, which is none",
            ),
            (
                r#"{ name = "a", layer = "low", job = "", uses = ["ghost"] }"#,
                "`a` uses `ghost`, which is not in the table",
            ),
        ] {
            let text = format!("layers = [\"low\", \"high\"]\ncrate = [{rows}]");
            let table = Table::parse(&text).expect("a table");
            let found: Vec<_> = check_table(&table)
                .into_iter()
                .map(|one| one.what)
                .collect();
            assert_eq!(found, [expected]);
        }
    }

    #[test]
    fn crate_and_row_need_each_other() {
        let table = Table::parse(
            r#"layers = ["low"]
               crate = [{ name = "ghost", layer = "low", job = "" }]"#,
        )
        .expect("a table");
        let metadata = Metadata {
            workspace_root: "/r".into(),
            packages: vec![Package {
                name: "stranger".to_owned(),
                manifest_path: "/r/crates/stranger/Cargo.toml".into(),
                dependencies: Vec::new(),
            }],
        };
        let found: Vec<_> = check_workspace(&table, &metadata)
            .into_iter()
            .map(|one| one.what)
            .collect();
        assert_eq!(
            found,
            [
                "`ghost` stands in the table, but crates/ghost is no crate",
                "the package is called `stranger`",
                "`stranger` has no row in crates/layers.toml",
            ]
        );
    }
}

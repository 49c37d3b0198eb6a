//! The repository as the checks see it: its tracked files and what cargo says of its crates.
//!
//! Read once at the start; no check opens a file or runs a command of its own. Files that git does
//! not track are no part of it.

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

/// Tracked files and crates.
#[derive(Debug, Default)]
pub struct Repository {
    /// Its root folder.
    pub root: PathBuf,
    /// Sorted by path.
    pub files: Vec<File>,
    /// What `cargo metadata` says.
    pub metadata: Metadata,
}

/// A tracked file.
#[derive(Debug)]
pub struct File {
    /// From the root, with `/`.
    pub path: String,
    /// `None` where it is no UTF-8 text.
    pub text: Option<String>,
}

/// The part of `cargo metadata` that checks need.
#[derive(Debug, Default, Deserialize)]
pub struct Metadata {
    /// The workspace's own packages.
    pub packages: Vec<Package>,
    /// Its root folder.
    pub workspace_root: PathBuf,
}

/// A package of the workspace.
#[derive(Debug, Deserialize)]
pub struct Package {
    /// As in its `Cargo.toml`.
    pub name: String,
    /// Where its `Cargo.toml` is, absolute.
    pub manifest_path: PathBuf,
    /// All of them, outside packages too.
    pub dependencies: Vec<Dependency>,
}

/// One line under a `[dependencies]` of a package.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// The package depended on.
    pub name: String,
    /// `dev`, `build` or, for the usual kind, none.
    pub kind: Option<String>,
    /// Its folder, where it is one of the workspace's own.
    pub path: Option<PathBuf>,
}

impl Repository {
    /// Reads the repository that the current folder belongs to.
    ///
    /// # Errors
    /// Where cargo or git fails, with what it said.
    pub fn read() -> Result<Self, String> {
        let metadata = output("cargo", &["metadata", "--no-deps", "--format-version", "1"])?;
        let metadata: Metadata = serde_json::from_str(&metadata)
            .map_err(|error| format!("cannot understand `cargo metadata`: {error}"))?;
        let root = metadata.workspace_root.clone();
        // A clone that belongs to another user is as good as one's own here: git only lists it.
        let folder = root.to_string_lossy();
        let list = ["-c", "safe.directory=*", "-C", &folder, "ls-files", "-z"];
        let mut paths: Vec<String> = output("git", &list)?
            .split_terminator('\0')
            .map(str::to_owned)
            .collect();
        paths.sort();
        paths.dedup();
        let mut files = Vec::new();
        for path in paths {
            // A file deleted but not yet committed so is no file.
            if let Ok(bytes) = std::fs::read(root.join(&path)) {
                let text = String::from_utf8(bytes).ok();
                files.push(File { path, text });
            }
        }
        Ok(Self {
            root,
            files,
            metadata,
        })
    }

    /// The text of a tracked file.
    pub fn text(&self, path: &str) -> Option<&str> {
        let position = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path));
        self.files[position.ok()?].text.as_deref()
    }

    /// Takes `text` for the text of a tracked file from now on.
    pub fn replace(&mut self, path: &str, text: String) {
        for file in self.files.iter_mut().filter(|file| file.path == path) {
            file.text = Some(text.clone());
        }
    }

    /// Every tracked text, with its path.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let with_text = |file: &'_ File| file.text.is_some();
        self.files
            .iter()
            .filter(move |file| with_text(file))
            .map(|file| (file.path.as_str(), file.text.as_deref().unwrap_or_default()))
    }

    /// A repository of these files and no crates, for tests.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let mut files: Vec<File> = files
            .iter()
            .map(|(path, text)| File {
                path: (*path).to_owned(),
                text: Some((*text).to_owned()),
            })
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self {
            files,
            ..Self::default()
        }
    }
}

/// The part of a path after its last dot; empty where there is none.
pub fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("cannot run `{program}`: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "`{program} {}` failed: {}",
            arguments.join(" "),
            said.trim()
        ));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{program}` printed no UTF-8"))
}

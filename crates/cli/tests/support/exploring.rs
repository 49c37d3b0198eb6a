//! `slowpath explore` in a folder of its own, with small scripts as the observed system.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Two parameters.
pub const NUMBERS: &str = "[parameters.a]\ntype = \"integer\"\nmin = 1\nmax = 4\n[parameters.b]\ntype = \"integer\"\nmin = 1\nmax = 3\n";
/// What is measured of a workload that prints it.
pub const COST: &str =
    "[metrics.cost]\nregex = 'cost ([0-9.]+)'\n[[objectives]]\nminimise = \"cost\"\n";

/// A folder with a specification.
pub struct Place {
    folder: tempfile::TempDir,
}

/// What an explorer left.
pub struct Left {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn with(specification: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("s.toml"), specification).expect("written");
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slowpath"));
        command
            .arg("explore")
            .arg(self.path("s.toml"))
            .arg("-o")
            .arg(self.path("x"))
            .args(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn explore(&self, arguments: &[&str]) -> Left {
        let output = self.command(arguments).output().expect("slowpath runs");
        let left = Left {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        assert!(!left.stderr.contains("panicked at"), "{}", left.stderr);
        left
    }

    pub fn results(&self) -> Value {
        let left = self.explore(&["--results", "json"]);
        serde_json::from_str(&left.stdout)
            .unwrap_or_else(|_| panic!("no JSON: {} {}", left.stdout, left.stderr))
    }

    pub fn lines(&self, name: &str) -> Vec<String> {
        fs::read_to_string(self.path(name))
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

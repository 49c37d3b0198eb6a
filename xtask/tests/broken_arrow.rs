//! `cargo xtask check` as CI runs it, on a little repository of two crates: it succeeds while the
//! arrow between them points downward and fails once it is turned round.
//!
//! The rules themselves are tested beside each check; this is about the command and its exit status.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const LAYERS: &str = r#"
layers = ["low", "high"]

[[crate]]
name = "words"
layer = "low"
job = "Says things."

[[crate]]
name = "sums"
layer = "high"
job = "Adds."
uses = ["words"]
"#;

#[test]
fn check_fails_when_an_arrow_is_broken() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path();
    write(
        root,
        "Cargo.toml",
        "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"3\"\n[workspace.lints]\n",
    );
    write(
        root,
        "ARCHITECTURE.md",
        "# Two\n<!-- generated: crates -->\n<!-- end: crates -->\n",
    );
    let sections = ["questions", "shapes"];
    let sections =
        sections.map(|name| format!("<!-- generated: {name} -->\n<!-- end: {name} -->\n"));
    write(
        root,
        "docs/reference/http.md",
        &format!("# None\n{}", sections.concat()),
    );
    let interface = r#"{"paths":{},"components":{"schemas":{}},"tags":[]}"#;
    write(root, "docs/reference/openapi.json", interface);
    write(root, "crates/layers.toml", LAYERS);
    for name in ["words", "sums"] {
        let source = "//! A crate of a test, which does nothing.\n#![forbid(unsafe_code)]\n";
        write(root, &format!("crates/{name}/src/lib.rs"), source);
    }
    write(root, "crates/words/Cargo.toml", &manifest("words", None));
    write(
        root,
        "crates/sums/Cargo.toml",
        &manifest("sums", Some("words")),
    );
    succeed(
        Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(root),
    );
    succeed(Command::new("git").args(["add", "."]).current_dir(root));
    succeed(&mut xtask(root, "generate"));

    let downward = xtask(root, "check").output().expect("xtask runs");
    assert!(downward.status.success(), "{}", text(&downward));

    write(
        root,
        "crates/words/Cargo.toml",
        &manifest("words", Some("sums")),
    );
    write(root, "crates/sums/Cargo.toml", &manifest("sums", None));
    let upward = xtask(root, "check").output().expect("xtask runs");
    assert_eq!(upward.status.code(), Some(1), "{}", text(&upward));
    let complaint = "crates/words/Cargo.toml: the arrow `words` → `sums` is not allowed";
    assert!(text(&upward).contains(complaint), "{}", text(&upward));
}

fn manifest(name: &str, uses: Option<&str>) -> String {
    let dependency = uses.map_or_else(String::new, |used| {
        format!("slowpath-{used} = {{ path = \"../{used}\" }}\n")
    });
    format!(
        "[package]\nname = \"slowpath-{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
         [lints]\nworkspace = true\n[dependencies]\n{dependency}"
    )
}

fn xtask(root: &Path, command: &str) -> Command {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    xtask.arg(command).current_dir(root);
    xtask
}

fn succeed(command: &mut Command) {
    let output = command.output().expect("the command runs");
    assert!(output.status.success(), "{command:?}: {}", text(&output));
}

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, content).expect("a file");
}

fn text(output: &Output) -> String {
    let streams = [output.stdout.as_slice(), &output.stderr];
    String::from_utf8_lossy(&streams.concat()).into_owned()
}

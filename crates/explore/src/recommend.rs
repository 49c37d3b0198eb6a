//! A configuration as files ready to use: its values, the filled-in configuration files, and the command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::run::Filled;
use crate::spec::{CommandLine, Spec};
use crate::template::Template;
use crate::value::{Configuration, Value};

/// Writes a configuration into `folder`, which is replaced, and says which files these are. Files go there whatever
/// path the specification gives them: nothing outside of it is touched.
///
/// # Errors
/// Where something cannot be written or filled in.
pub fn recommend(
    spec: &Spec,
    configuration: &Configuration,
    folder: &Path,
) -> io::Result<Vec<PathBuf>> {
    match fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
        _ => fs::create_dir_all(folder)?,
    }
    let spec_folder = spec.folder.canonicalize()?;
    let filled = Filled::to_use(spec, configuration, folder, &spec_folder);
    let fill = |template: &Template| filled.text(template).map_err(io::Error::other);
    let mut written = Vec::new();
    let mut write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text)?;
        written.push(path);
        io::Result::Ok(())
    };
    let values = configuration
        .0
        .iter()
        .map(|(name, value)| format!("{name} = {}\n", in_toml(value)));
    write("parameters.toml", values.collect())?;
    for file in &spec.files {
        let path = PathBuf::from(fill(&file.path)?);
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        write(&name, fill(&file.content)?)?;
    }
    let (command, environment) = match &spec.system {
        Some(system) => (&system.command, &system.environment),
        None => (&spec.workload.command, &spec.workload.environment),
    };
    let mut script =
        "#!/bin/sh\n# Written by slowpath explore: runs with the recommended configuration.\n"
            .to_owned();
    script += &format!(
        "cd {} || exit 1\n",
        quoted(&spec_folder.display().to_string())
    );
    for (name, template) in environment {
        script += &format!("export {name}={}\n", quoted(&fill(template)?));
    }
    script += &match command {
        CommandLine::Shell(text) => fill(text)?,
        CommandLine::Words(words) => {
            let words = words.iter().map(|word| Ok(quoted(&fill(word)?)));
            format!("exec {}", words.collect::<io::Result<Vec<_>>>()?.join(" "))
        }
    };
    write("start.sh", script + "\n")?;
    Ok(written)
}

fn in_toml(value: &Value) -> String {
    match value {
        // A string of JSON is one of TOML as well.
        Value::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        Value::Float(number) => format!("{number:?}"),
        other => other.to_string(),
    }
}

/// One word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        assert_eq!(quoted("--port=70"), "--port=70");
        assert_eq!(quoted("it's $x"), r"'it'\''s $x'");
        assert_eq!(quoted(""), "''");
    }
}

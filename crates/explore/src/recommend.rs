//! A configuration as files ready to use: its values, the filled-in configuration files, and the command, which first
//! puts those files that do not lie in `scratch` where they belong, as a trial does. What applies the configuration to a
//! system that runs is a script of its own.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use slowpath_model::shell_word;

use crate::run::Filled;
use crate::spec::{CommandLine, Spec};
use crate::template::Template;
use crate::value::{Configuration, Value};

/// The file of a recommendation that has the values.
pub(crate) const PARAMETERS_FILE: &str = "parameters.toml";

/// Writes a configuration into `folder`, which is replaced, and says which files these are: those of `scratch` in a folder
/// of that name, others below `files` by their whole path. Nothing outside of `folder` is touched before `start.sh` runs.
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
    let folder = &folder.canonicalize()?;
    let spec_folder = spec.folder.canonicalize()?;
    let scratch = folder.join("scratch");
    let filled = Filled::to_use(spec, configuration, &scratch, &spec_folder);
    let fill = |template: &Template| filled.text(template).map_err(io::Error::other);
    let mut written = Vec::new();
    let mut write = |path: PathBuf, text: String| {
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, &text)?;
        if path.parent() == Some(folder) && text.starts_with("#!") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        written.push(path);
        io::Result::Ok(())
    };
    fs::create_dir(&scratch)?;
    write(folder.join(PARAMETERS_FILE), in_toml(configuration))?;
    let mut placing = String::new();
    for file in &spec.files {
        let path = plain(&spec_folder.join(fill(&file.path)?));
        let text = fill(&file.content)?;
        if path.starts_with(plain(&scratch)) {
            write(path, text)?;
            continue;
        }
        let kept = path.strip_prefix("/").unwrap_or(&path);
        let kept = folder.join("files").join(kept);
        let word = |path: &Path| shell_word(&path.display().to_string());
        let parent = path.parent().unwrap_or(Path::new("/"));
        placing += &format!(
            "mkdir -p -- {} && cp -- {} {} || exit 1\n",
            word(parent),
            word(&kept),
            word(&path)
        );
        write(kept, text)?;
    }
    let (command, environment) = match &spec.system {
        Some(system) => (&system.command, &system.environment),
        None => (&spec.workload.command, &spec.workload.environment),
    };
    let begin = |what: &str| {
        format!(
            "#!/bin/sh\n# Written by slowpath explore: {what} the recommended configuration.\ncd {} || exit 1\n",
            shell_word(&spec_folder.display().to_string())
        )
    };
    let shell = |command: &CommandLine| -> io::Result<String> {
        match command {
            CommandLine::Shell(text) => fill(text),
            CommandLine::Words(words) => {
                let words = words.iter().map(|word| Ok(shell_word(&fill(word)?)));
                Ok(words.collect::<io::Result<Vec<_>>>()?.join(" "))
            }
        }
    };
    if !spec.commands.configure.is_empty() {
        let mut script = begin("applies, to what runs,");
        for command in &spec.commands.configure {
            // As in a trial, each has a shell of its own, and the first that fails is the last.
            script += &match command {
                CommandLine::Shell(_) => {
                    format!("sh -c {} || exit\n", shell_word(&shell(command)?))
                }
                CommandLine::Words(_) => format!("{} || exit\n", shell(command)?),
            };
        }
        write(folder.join("configure.sh"), script)?;
    }
    let mut script = begin("runs with") + &placing;
    for (name, template) in environment {
        script += &format!("export {name}={}\n", shell_word(&fill(template)?));
    }
    if matches!(command, CommandLine::Words(_)) {
        script += "exec ";
    }
    script += &shell(command)?;
    write(folder.join("start.sh"), script + "\n")?;
    Ok(written)
}

/// A path without `.` and `..`, as its words say, not as links lead.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// The values of a configuration, a line each.
pub(crate) fn in_toml(configuration: &Configuration) -> String {
    let values = configuration.0.iter();
    values
        .map(|(name, value)| format!("{name} = {}\n", value_in_toml(value)))
        .collect()
}

fn value_in_toml(value: &Value) -> String {
    match value {
        // A string of JSON is one of TOML as well.
        Value::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        Value::Float(number) => format!("{number:?}"),
        other => other.to_string(),
    }
}

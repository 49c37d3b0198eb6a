//! Fills in the templates of one trial: what names mean there, files, command lines, environments.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::child::Program;
use crate::spec::{CommandLine, FilledFile, Spec};
use crate::store::Planned;
use crate::template::Template;
use crate::value::{Configuration, Value};

/// What the names in the templates of one trial mean.
pub(crate) struct Filled<'run> {
    spec: &'run Spec,
    configuration: &'run Configuration,
    trial: i64,
    scratch: &'run Path,
    spec_folder: &'run Path,
}

impl<'run> Filled<'run> {
    pub(super) fn new(
        spec: &'run Spec,
        planned: &'run Planned,
        scratch: &'run Path,
        spec_folder: &'run Path,
    ) -> Self {
        Self {
            spec,
            configuration: &planned.configuration,
            trial: planned.id,
            scratch,
            spec_folder,
        }
    }

    /// For a configuration that is to be used, not tried.
    pub(crate) fn to_use(
        spec: &'run Spec,
        configuration: &'run Configuration,
        folder: &'run Path,
        spec_folder: &'run Path,
    ) -> Self {
        Self {
            spec,
            configuration,
            trial: 0,
            scratch: folder,
            spec_folder,
        }
    }

    /// A text with its names filled in.
    pub(crate) fn text(&self, template: &Template) -> Result<String, String> {
        template.fill(&|name| match name {
            "scratch" => Some(path(self.scratch)),
            "trial" => Some(Value::Integer(self.trial)),
            "spec_folder" => Some(path(self.spec_folder)),
            "seed" => Some(seed(self.spec)),
            _ => self.spec.space.value(self.configuration, name),
        })
    }

    /// A command with its names filled in.
    pub(crate) fn program(
        &self,
        command: &CommandLine,
        environment: &BTreeMap<String, Template>,
    ) -> Result<Program, String> {
        let mut program = words(command, &|template| self.text(template))?;
        for (name, template) in environment {
            program
                .environment
                .insert(name.clone(), self.text(template)?);
        }
        Ok(program)
    }

    /// Writes a file with its names filled in, and makes the folder that it lies in; a relative path starts from the
    /// specification's folder. Says where.
    pub(crate) fn write(&self, file: &FilledFile) -> Result<PathBuf, String> {
        let path = self.spec_folder.join(self.text(&file.path)?);
        let content = self.text(&file.content)?;
        let folder = path.parent().unwrap_or(self.spec_folder);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, content))
            .map_err(|cause| format!("{} cannot be written: {cause}", path.display()))?;
        Ok(path)
    }
}

/// A command that belongs to no trial.
pub(super) fn outside(
    spec: &Spec,
    command: &CommandLine,
    spec_folder: &Path,
) -> Result<Program, String> {
    let value_of = |name: &str| match name {
        "spec_folder" => Some(path(spec_folder)),
        "seed" => Some(seed(spec)),
        _ => None,
    };
    words(command, &|template| template.fill(&value_of))
}

fn words(
    command: &CommandLine,
    fill: &dyn Fn(&Template) -> Result<String, String>,
) -> Result<Program, String> {
    let words = match command {
        CommandLine::Shell(text) => vec!["sh".to_owned(), "-c".to_owned(), fill(text)?],
        CommandLine::Words(words) => words.iter().map(fill).collect::<Result<_, _>>()?,
    };
    Ok(Program {
        words,
        environment: BTreeMap::new(),
    })
}

fn path(path: &Path) -> Value {
    Value::Text(path.display().to_string())
}

/// A seed that no number of expressions has is a text.
fn seed(spec: &Spec) -> Value {
    let seed = spec.trials.seed;
    i64::try_from(seed).map_or_else(|_| Value::Text(seed.to_string()), Value::Integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_filled_in_as_it_is() {
        for given in [0, 7, u64::MAX] {
            let text = format!(
                "[parameters.a]\ntype = \"boolean\"\n[workload]\ncommand = \"true {{{{seed}}}}\"\n[metrics.time]\n\
                 measure = \"wall\"\n[[objectives]]\nminimise = \"time\"\n[trials]\nseed = {given}\n"
            );
            let load = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
            let spec = Spec::parse(&text, "a.toml", "a", Path::new("."), &load).expect("a spec");
            let program = outside(&spec, &spec.workload.command, Path::new("."));
            let expected = ["sh", "-c", &format!("true {given}")].map(str::to_owned);
            assert_eq!(program.expect("words").words, expected);
        }
    }
}

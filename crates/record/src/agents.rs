//! The agents that tell of spans from inside applications: where they lie, and which variable of the
//! environment makes a runtime load each. They are made by `make agents` (agents/*/README.md).
//!
//! Each is harmless to a process that is not for it, so a whole shop of services may inherit them.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::RecordError;

/// Names the folder of the agents where they do not lie beside the program.
const FOLDER_VARIABLE: &str = "SLOWPATH_AGENTS";
/// By this, agents of all languages find the library that fires the events.
const LIBRARY_VARIABLE: &str = "SLOWPATH_SPANS_LIBRARY";
const LIBRARY: &str = "spans-native/build/libslowpath_spans.so";
/// By this, Node is told to load modules before the program.
pub(crate) const NODE_OPTIONS: &str = "NODE_OPTIONS";

/// An agent, named by the runtime that loads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// An extension of the OpenTelemetry Java agent, without which it does nothing.
    Java,
    /// A module that Node loads first.
    Node,
    /// A package that Python imports at its start.
    Python,
}

const ALL: [Agent; 3] = [Agent::Java, Agent::Node, Agent::Python];

/// Which agents a recorded command inherits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentsChoice {
    /// Those that have been built, where LTTng can record what they say.
    Auto,
    /// None.
    Off,
    /// These.
    These(Vec<Agent>),
}

impl FromStr for Agent {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = ALL.into_iter().find(|agent| agent.name() == name);
        named.ok_or_else(|| format!("{name:?} is no agent; java, node and python are"))
    }
}

impl Agent {
    /// As it is named on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Java => "java",
            Self::Node => "node",
            Self::Python => "python",
        }
    }

    /// What its runtime loads, and a file without which that is not built.
    fn files(self) -> (&'static str, &'static str) {
        match self {
            Self::Java => {
                let jar = "spans-java/target/slowpath-spans.jar";
                (jar, jar)
            }
            Self::Node => ("spans-node/register.js", "spans-node/build"),
            Self::Python => ("spans-python/build/site", "spans-python/build/site"),
        }
    }

    /// The variable that makes its runtime load `file`, added to the value that it has.
    fn variable(self, file: &Path, value: Option<OsString>) -> (&'static str, OsString) {
        let value = value.filter(|value| !value.is_empty());
        let joined = |first: OsString, between: &str, second: OsString| {
            let mut joined = first;
            joined.push(between);
            joined.push(second);
            joined
        };
        let own = file.as_os_str().to_owned();
        match (self, value) {
            // The agent takes a list with commas.
            (Self::Java, Some(theirs)) => (self.variable_name(), joined(theirs, ",", own)),
            (Self::Node, theirs) => (self.variable_name(), node_options(file, theirs)),
            (Self::Python, Some(theirs)) => (self.variable_name(), joined(own, ":", theirs)),
            (_, None) => (self.variable_name(), own),
        }
    }

    fn variable_name(self) -> &'static str {
        match self {
            Self::Java => "OTEL_JAVAAGENT_EXTENSIONS",
            Self::Node => NODE_OPTIONS,
            Self::Python => "PYTHONPATH",
        }
    }
}

/// Agents that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agents {
    found: Vec<(Agent, PathBuf)>,
    events: Option<PathBuf>,
}

impl Agents {
    /// Looks for those that were chosen.
    ///
    /// # Errors
    /// Where one that was named has not been built.
    pub(crate) fn find(choice: &AgentsChoice) -> Result<Self, RecordError> {
        Self::find_in(folder().as_deref(), choice)
    }

    fn find_in(folder: Option<&Path>, choice: &AgentsChoice) -> Result<Self, RecordError> {
        let (wanted, must_be_there) = match choice {
            AgentsChoice::Off => return Ok(Self::default()),
            AgentsChoice::Auto => (&ALL[..], false),
            AgentsChoice::These(agents) => (&agents[..], true),
        };
        let mut found = Vec::new();
        for agent in wanted {
            let (file, sign) = agent.files();
            match folder.filter(|folder| folder.join(sign).exists()) {
                Some(folder) => found.push((*agent, folder.join(file))),
                None if must_be_there => {
                    return Err(RecordError::NoAgent {
                        agent: *agent,
                        folder: folder.map(Path::to_owned),
                    });
                }
                None => {}
            }
        }
        let library = folder.map(|folder| folder.join(LIBRARY));
        Ok(Self {
            found,
            events: library.filter(|library| library.exists()),
        })
    }

    /// The names of those that were found.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.found.iter().map(|(agent, _)| agent.name()).collect()
    }

    /// The variables that make a command load them; `value_of` is what a variable has now.
    pub(crate) fn variables(
        &self,
        value_of: impl Fn(&str) -> Option<OsString>,
    ) -> Vec<(&'static str, OsString)> {
        let of_agents = self.found.iter().filter_map(|(agent, file)| {
            let value = value_of(agent.variable_name());
            let is_on = value.as_ref().is_some_and(|value| names(value, file));
            (!is_on).then(|| agent.variable(file, value))
        });
        let mut variables: Vec<_> = of_agents.collect();
        if let (Some(events), None) = (&self.events, value_of(LIBRARY_VARIABLE)) {
            variables.push((LIBRARY_VARIABLE, events.into()));
        }
        variables
    }
}

/// Whether the user has switched on already what lies at `file`.
pub(crate) fn names(value: &OsStr, file: &Path) -> bool {
    value.to_string_lossy().contains(&*file.to_string_lossy())
}

/// Node's options with the module `file` beside `theirs`.
pub(crate) fn node_options(file: &Path, theirs: Option<OsString>) -> OsString {
    let mut options = theirs.unwrap_or_default();
    if !options.is_empty() {
        options.push(" ");
    }
    // Blanks separate options, unless they are quoted.
    options.push("--require \"");
    options.push(file);
    options.push("\"");
    options
}

/// The folder `agents`: named by the user, or of the repository or the installation that this
/// program lies in.
pub(crate) fn folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(FOLDER_VARIABLE) {
        return std::path::absolute(folder).ok();
    }
    let program = std::env::current_exe().ok()?;
    let above = program.ancestors().skip(1).take(4);
    above
        .flat_map(|folder| [folder.join("agents"), folder.join("share/slowpath/agents")])
        .find(|folder| folder.join("spans-native").is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder in which the agents for Node and Python have been built.
    fn built() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for sign in ["spans-node/build", "spans-python/build/site"] {
            std::fs::create_dir_all(folder.path().join(sign)).expect("a folder");
        }
        folder
    }

    #[test]
    fn what_is_built_is_found_and_what_is_not_is_said() {
        let folder = built();
        let find = |choice: &AgentsChoice| Agents::find_in(Some(folder.path()), choice);
        let found = find(&AgentsChoice::Auto).expect("whatever there is");
        assert_eq!(found.names(), ["node", "python"]);
        assert_eq!(
            find(&AgentsChoice::Off).expect("nothing"),
            Agents::default()
        );
        let error = find(&AgentsChoice::These(vec![Agent::Java])).expect_err("not built");
        assert!(error.to_string().contains("java"), "{error}");
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("make agents"))
        );
    }

    #[test]
    fn variables_keep_what_the_user_has_in_them() {
        let folder = built();
        let at = |file: &str| folder.path().join(file).display().to_string();
        let agents = Agents::find_in(Some(folder.path()), &AgentsChoice::Auto).expect("agents");
        let check = |theirs: Option<&str>, node: Option<String>, python: Option<String>| {
            let variables = agents.variables(|_| theirs.map(OsString::from));
            let value = |name: &str| {
                let found = variables.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| value.to_string_lossy().into_owned())
            };
            assert_eq!(value("NODE_OPTIONS"), node);
            assert_eq!(value("PYTHONPATH"), python);
        };
        let require = format!("--require \"{}\"", at("spans-node/register.js"));
        let site = at("spans-python/build/site");
        check(None, Some(require.clone()), Some(site.clone()));
        check(Some(""), Some(require.clone()), Some(site.clone()));
        check(
            Some("-x"),
            Some(format!("-x {require}")),
            Some(format!("{site}:-x")),
        );
        check(Some(&require), None, Some(format!("{site}:{require}")));
        let jar = Agent::Java.variable(Path::new("/a.jar"), Some("/b.jar".into()));
        assert_eq!(jar, ("OTEL_JAVAAGENT_EXTENSIONS", "/b.jar,/a.jar".into()));
    }
}

//! Recording inside Node: the agent of agents/node, loaded by the Node programs that the command starts.
//!
//! The command inherits it through `NODE_OPTIONS`; other programs do not look there. Those that run already
//! cannot be given it.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::agents::{self, NODE_OPTIONS};
use crate::error::RecordError;

const PRELOAD: &str = "node/preload.cjs";
const ADDON: &str = "node/build/slowpath_node.node";
/// All that it tells.
const EVENTS: &str = "slowpath_node:*";

/// The agent, where it is wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeAgent {
    preload: Option<PathBuf>,
}

impl NodeAgent {
    /// Finds it.
    ///
    /// # Errors
    /// Where it is wanted and has not been built.
    pub(crate) fn find(is_wanted: bool) -> Result<Self, RecordError> {
        if !is_wanted {
            return Ok(Self::default());
        }
        let folder = agents::folder();
        match &folder {
            Some(folder) if folder.join(ADDON).exists() => Ok(Self {
                preload: Some(folder.join(PRELOAD)),
            }),
            _ => Err(RecordError::NotBuilt {
                program: "Node",
                folder,
            }),
        }
    }

    /// The events to record.
    pub(crate) fn events(&self) -> Option<String> {
        self.preload.as_ref().map(|_| EVENTS.to_owned())
    }

    /// What makes Node load the agent; `theirs` is what it has to load otherwise.
    pub(crate) fn variable(&self, theirs: Option<OsString>) -> Option<(&'static str, OsString)> {
        let preload = self.preload.as_ref()?;
        let is_on = (theirs.as_ref()).is_some_and(|theirs| agents::names(theirs, preload));
        (!is_on).then(|| (NODE_OPTIONS, agents::node_options(preload, theirs)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_node_loads_already_stays() {
        let agent = NodeAgent {
            preload: Some("/a b/preload.cjs".into()),
        };
        let variable = |theirs: Option<&str>| {
            let variable = agent.variable(theirs.map(Into::into));
            variable.map(|(name, value)| format!("{name}={}", value.to_string_lossy()))
        };
        let own = r#"--require "/a b/preload.cjs""#;
        assert_eq!(variable(None), Some(format!("NODE_OPTIONS={own}")));
        assert_eq!(variable(Some("")), Some(format!("NODE_OPTIONS={own}")));
        let both = format!("NODE_OPTIONS=--no-warnings {own}");
        assert_eq!(variable(Some("--no-warnings")), Some(both));
        assert_eq!(variable(Some(own)), None);
    }

    #[test]
    fn where_it_is_not_wanted_nothing_changes() {
        let agent = NodeAgent::find(false).expect("nothing to find");
        assert_eq!(agent.events(), None);
        assert_eq!(agent.variable(Some("--no-warnings".into())), None);
    }
}

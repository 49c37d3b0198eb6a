//! What a recorded command finds in its environment, so that its spans come here by themselves and
//! its runtimes load the agents that tell which thread works on which.

use std::ffi::OsString;

use crate::agents::NODE_OPTIONS;
use crate::options::RecordOptions;
use crate::plan::Plan;
use crate::recorder::Recording;
use crate::spans::SpanReceiver;

/// Where exporters of OTLP send everything.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Where they send spans, if elsewhere.
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";

/// The variables to set for the command. The protocol is not among them: every port takes all.
pub(crate) fn of_command(
    recording: &Recording,
    options: &RecordOptions,
    plan: &Plan,
    talk: &mut dyn FnMut(&str),
) -> Vec<(&'static str, OsString)> {
    if options.command.is_empty() {
        return Vec::new();
    }
    let mut variables = Vec::new();
    if recording.has_user_space() {
        let value_of = |name: &str| std::env::var_os(name);
        variables = plan.agents.variables(value_of);
        variables.extend(plan.redis.variable(value_of("LD_PRELOAD")));
        // With what the agent for spans of Node has put there; of two values the later one holds.
        let set = (variables.iter()).find(|(name, _)| *name == NODE_OPTIONS);
        let options = set.map(|(_, value)| value.clone());
        variables.extend(
            plan.node
                .variable(options.or_else(|| value_of(NODE_OPTIONS))),
        );
        let names = plan.agents.names();
        if !names.is_empty() {
            talk(&format!(
                "the command inherits the agents for {} (--agents off leaves them out)",
                names.join(", ")
            ));
        }
    }
    let endpoint = recording.receiver.as_ref().map(SpanReceiver::endpoint);
    if let Some(endpoint) = endpoint {
        let before = [TRACES_ENDPOINT, ENDPOINT].map(std::env::var_os);
        if let ([Some(theirs), _] | [None, Some(theirs)], None) = (&before, &options.spans.forward)
        {
            talk(&format!(
                "the command's spans come here instead of to {}; --spans-forward passes them on",
                theirs.display()
            ));
        }
        if before[0].is_some() {
            // Exporters over HTTP take this one as it is, those over gRPC leave its path out.
            variables.push((TRACES_ENDPOINT, format!("{endpoint}/v1/traces").into()));
        }
        variables.push((ENDPOINT, endpoint.into()));
    }
    variables
}

//! What stands out of what Redis did, as a section for people.

use slowpath_datastore::StoreReport;
use slowpath_views::{StoreFinding, store_finding};

/// A section of its own; empty where nothing stands out.
pub(crate) fn stands_out(told: &StoreReport) -> String {
    if told.findings.is_empty() {
        return String::new();
    }
    let several = told.servers.len() > 1;
    let mut text = "\nWhat stands out\n".to_owned();
    for finding in &told.findings {
        let StoreFinding {
            server,
            title,
            evidence,
            steps,
            advice,
            ..
        } = store_finding(finding, |at_ns| at_ns.to_string());
        text += "- ";
        if several {
            text += &format!("server {server}: ");
        }
        text += &format!("{title}\n");
        text.extend(evidence.iter().map(|line| format!("  {line}\n")));
        text.extend(steps.iter().map(|step| format!("    {step}\n")));
        if !advice.is_empty() {
            text += &format!("  {advice}\n");
        }
    }
    text
}

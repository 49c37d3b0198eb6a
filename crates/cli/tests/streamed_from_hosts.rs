//! Several hosts send what their agents tell to one that collects, by LTTng's relay daemon: examples/redis-hosts, whose
//! checks hold what slowpath says against what Redis and the client of the services counted.
//!
//! Needs root, namespaces, LTTng, Redis and Node; skips visibly where one is missing.

mod support;

use std::path::Path;
use std::process::Command;

use support::inside::agents_with;
use support::skip;

#[test]
fn what_hosts_send_to_one_that_collects_is_one_recording() {
    let built = [
        ("redis", "libslowpath_redis.so", "redis-benchmark"),
        ("node", "slowpath_node.node", "node"),
    ];
    for (agent, file, program) in built {
        if agents_with(agent, file, program).is_none() {
            return;
        }
    }
    let may_unshare = Command::new("unshare")
        .args(["--net", "--mount", "--uts", "ip", "link", "show", "lo"])
        .output();
    if !may_unshare.is_ok_and(|run| run.status.success()) {
        skip("namespaces cannot be made");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/redis-hosts/run.sh");
    let run = Command::new("sh")
        .arg(script)
        .env("SLOWPATH", env!("CARGO_BIN_EXE_slowpath"))
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&run.stdout);
    let checks: Vec<&str> = (said.lines())
        .filter(|line| line.starts_with("ok ") || line.starts_with("FAILED "))
        .collect();
    assert!(
        run.status.success() && !checks.is_empty(),
        "{checks:#?}\n{}",
        String::from_utf8_lossy(&run.stderr)
    );
}

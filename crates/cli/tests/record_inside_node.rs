//! A Node program that the command starts is recorded from inside: each request that it sends and answers is
//! told, headers and bodies are not, and what the user has Node load besides stays.
//!
//! Needs LTTng, Node and the agent, which it builds; skips visibly where one is missing.

mod support;

use std::path::Path;

use support::inside::{agents_with, record_with};
use support::slowpath_succeeds;

const REQUESTS: usize = 20;

/// Asks itself over connections that are kept, one request after the other, and to answer each once more. Fails
/// without what the user has it load.
const PROGRAM: &str = "
    const http = require('http');
    const agent = new http.Agent({ keepAlive: true });
    const headers = { authorization: 'SECRET' };
    const ask = (path) => new Promise((resolve, reject) => {
      const { port } = server.address();
      http.get({ agent, host: '127.0.0.1', port, path, headers }, (answer) => answer.resume().on('end', resolve))
        .on('error', reject);
    });
    const server = http.createServer(async (request, response) => {
      if (request.url.startsWith('/tea')) await ask('/water?SECRET');
      response.end('SECRET');
    });
    server.listen(0, '127.0.0.1', async () => {
      for (let i = 0; i < Number(process.env.REQUESTS); i++) await ask('/tea?SECRET');
      process.exit(globalThis.theirs ? 0 : 1);
    });
";

#[test]
fn a_program_that_the_command_starts_is_recorded() {
    let Some(agents) = agents_with("node", "slowpath_node.node", "node") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("theirs.cjs");
    std::fs::write(&own, "globalThis.theirs = true;").expect("a module");
    let options = format!("--require {}", own.display());
    let requests = REQUESTS.to_string();
    let variables = [("NODE_OPTIONS", &*options), ("REQUESTS", &*requests)];
    let recording = folder.path().join("recorded");
    let arguments = ["--node", "--", "node", "--eval", PROGRAM];
    let said = record_with(&agents, &recording, &arguments, &variables);
    assert!(said.contains("\nnext: slowpath calls "), "{said}");
    let text = slowpath_succeeds(&["events"], &recording);
    let text = String::from_utf8_lossy(&text.stdout);
    for event in [
        "http_client_request",
        "http_server_receive",
        "http_server_response",
        "http_client_response",
    ] {
        let count = text.matches(&format!("slowpath_node:{event}:")).count();
        assert_eq!(count, 2 * REQUESTS, "{event}");
    }
    assert!(text.contains("path = \"/tea\""), "{text}");
    assert!(!text.contains("SECRET"), "{text}");
    each_request_is_a_tree(&recording);
}

fn each_request_is_a_tree(recording: &Path) {
    let told = slowpath_succeeds(&["calls", "--json", "--slowest", "0"], recording).json();
    for (row, of, without_request) in [(0, "received", 0), (1, "calls", REQUESTS)] {
        let row = &told["joins"][row];
        assert_eq!(row["of"], of);
        let counts = ["count", "joined", "without_request"].map(|key| row[key].as_u64());
        let expected = [2 * REQUESTS, 2 * REQUESTS, without_request];
        assert_eq!(counts, expected.map(|count| Some(count as u64)), "{row}");
    }
    let requests = told["requests"].as_array().expect("requests");
    assert_eq!(requests.len(), REQUESTS);
    for request in requests {
        let called = request["called"].as_array().expect("what it asked");
        assert_eq!((&request["path"], called.len()), (&"/tea".into(), 1));
        let water = &called[0]["request"];
        assert_eq!(water["path"], "/water");
        let ends = [request, water].map(|one| {
            let begin = one["begin_ns"].as_i64().expect("a time");
            (
                begin,
                begin + one["duration_ns"].as_i64().expect("a length"),
            )
        });
        assert!(ends[0].0 < ends[1].0 && ends[1].1 < ends[0].1, "{ends:?}");
    }
    let text = slowpath_succeeds(&["calls"], recording);
    let text = String::from_utf8_lossy(&text.stdout);
    let trees = text
        .lines()
        .filter(|line| line.contains("GET /tea 200  service 1, from service 1 at 127.0.0.1:"));
    assert_eq!(trees.count(), 5, "{text}");
}

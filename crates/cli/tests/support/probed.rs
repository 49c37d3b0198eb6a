//! A real program in C with probes, linked with the agent: built once for each test binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::skip;

/// Executes CNT `rows`, TPT `batch` and LAT `query` as often as the first argument says, in as many processes as the second, each of
/// which ends without a farewell. The third is how long a query sleeps, in microseconds. As `serve FIFO`, once for each
/// byte that it reads.
const PROGRAM: &str = r#"
#include <slowpath_probes.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { rows = 3, batch = 5, query = 7, other = 8 };

static void work(unsigned sleep)
{
    CNT_PROBE_BEGIN(rows, 1);
    TPT_PROBE_BEGIN(batch, 10);
    LAT_PROBE_BEGIN(query, 1);
    if (sleep)
        usleep(sleep);
    LAT_PROBE_END(query);
    TPT_PROBE_END(batch);
    CNT_PROBE_END(rows);
    LAT_PROBE_BEGIN(other, 1);
    LAT_PROBE_END(other);
    SNAPSHOT_PROBE(9, 1, 11, sleep);
}

int main(int count, char **arguments)
{
    char byte;
    if (strcmp(arguments[1], "serve") == 0) {
        int fifo = open(arguments[2], O_RDWR);
        if (write(1, "up\n", 3) != 3)
            return 1;
        while (read(fifo, &byte, 1) == 1) {
            work(0);
            if (byte == 'e' && close(open(arguments[3], O_WRONLY | O_CREAT, 0600)) != 0)
                return 1;
        }
        return 0;
    }
    int processes = atoi(arguments[2]);
    for (int process = 0; process < processes; process++)
        if (fork() == 0) {
            for (int execution = 0; execution < atoi(arguments[1]); execution++)
                work(atoi(arguments[3]));
            raise(SIGKILL);
        }
    while (wait(NULL) > 0)
        ;
    return count == 4 ? 0 : 1;
}
"#;

/// The program, built once; `None` where that is not possible.
pub fn program() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (source, built) = (folder.path().join("p.c"), folder.path().join("probed"));
        fs::write(&source, PROGRAM).expect("written");
        let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agents/probes");
        let parts = ["probes.c", "memory.c", "counters.c", "view.c"].map(|part| agent.join(part));
        let mut command = Command::new("cc");
        command
            .args(["-std=gnu11", "-O1", "-I"])
            .arg(&agent)
            .arg("-o")
            .arg(&built);
        command.arg(&source).args(parts).args(["-pthread", "-ldl"]);
        let output = command.stdin(Stdio::null()).output().ok()?;
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        Some((folder, built))
    });
    if built.is_none() {
        skip("there is no C compiler");
    }
    built.as_ref().map(|(_, built)| built.as_path())
}

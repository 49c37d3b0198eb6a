//! Prints the description of the server's interface (OpenAPI 3.1), for `cargo xtask generate`.
//!
//! Not an example of how to use the crate; cargo builds examples without a binary to install.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(slowpath_server::description().as_bytes())
}

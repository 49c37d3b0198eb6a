//! `slowpath serve`: recordings and explorations in the browser, until the user ends it.

use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use slowpath_explore::exploration_at;
use slowpath_server::{Recording, Settings, serve};
use slowpath_session::Experiment;

use crate::input::{InputArgs, Report, at_least_one};

/// Show recordings, or an exploration, in the browser.
#[derive(Args)]
pub struct ServeArgs {
    /// Recordings, CTF traces, trace.dat files, files of spans, reports of transfers, or folders with any of them; and the
    /// folder of an exploration (`slowpath explore`), also while it runs.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The port; 0 takes any that is free.
    #[arg(long, default_value_t = 7447, value_name = "PORT")]
    port: u16,
    /// The address to listen on. Beyond loopback everybody who asks needs the token that is printed.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS")]
    address: IpAddr,
    /// Open the browser.
    #[arg(long)]
    open: bool,
    /// Let pages of this origin ask, for instance a trace viewer's (`http://localhost:3000`). May be
    /// repeated.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Workers; by default as many as there are processors.
    #[arg(long, short, value_name = "N", value_parser = at_least_one)]
    jobs: Option<std::num::NonZeroUsize>,
}

/// Runs the command.
pub fn run(args: &ServeArgs) -> anyhow::Result<Report> {
    let (explorations, others): (Vec<PathBuf>, Vec<PathBuf>) =
        (args.paths.iter().cloned()).partition(|path| exploration_at(path).is_some());
    let exploration = one_of(&explorations)?;
    let input = InputArgs::all_of(&others, args.jobs);
    let mut experiment = match others.is_empty() {
        true => Experiment::default(),
        false => input.open_to_show()?,
    };
    experiment.paths.splice(0..0, explorations);
    let report = Report::begin(&experiment);
    let token = match args.address.is_loopback() {
        true => None,
        false => Some(random_token()?),
    };
    let settings = Settings {
        address: args.address,
        port: args.port,
        origins: args.allow_origin.clone(),
        token: token.clone(),
    };
    let recording = Recording::new(experiment, input.options().jobs());
    let recording = Arc::new(match exploration {
        Some(folder) => recording.with_exploration(folder),
        None => recording,
    });
    serve(recording, &settings, |address| {
        let url = url(address, token.as_deref());
        eprintln!("slowpath shows it at {url}\nCtrl-C ends it");
        if args.open {
            open_browser(&url);
        }
    })?;
    Ok(report)
}

/// The folder of the one exploration among these, which can be read.
fn one_of(explorations: &[PathBuf]) -> anyhow::Result<Option<PathBuf>> {
    let mut folders = explorations.iter().filter_map(|path| exploration_at(path));
    let folder = folders.next();
    if let Some(other) = folders.next() {
        anyhow::bail!(
            "only one exploration can be shown at a time, and {} is another\n  hint: serve it by itself, with another --port",
            other.display()
        );
    }
    if let Some(folder) = &folder {
        slowpath_explore::ReadExploration::of(folder)?;
    }
    Ok(folder)
}

/// Where a browser finds the server.
fn url(address: SocketAddr, token: Option<&str>) -> String {
    let host = match address.ip() {
        ip if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        ip => ip,
    };
    let query = token.map_or(String::new(), |token| format!("?token={token}"));
    format!("http://{}/{query}", SocketAddr::new(host, address.port()))
}

fn random_token() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("no random token can be made")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn open_browser(url: &str) {
    let opened = Command::new("xdg-open")
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if opened.is_err() {
        eprintln!("hint: there is no xdg-open here; open the address yourself");
    }
}

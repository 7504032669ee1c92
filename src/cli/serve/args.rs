//! The arguments of `folio serve` and `folio dev`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::ListenAddress;
use crate::cli::manifest::EnvPair;
use crate::cli::output::LogFile;
use crate::yaml::parse_milliseconds;

const SERVE_HELP: &str = "\
Examples:
  folio serve                             serve the current folder, on stdin and stdout
  folio serve ~/desk                      the same for another folder, as a client would start it
  folio serve ~/desk --http               listen on http://127.0.0.1:8080/mcp
  folio serve ~/desk --http=:0            listen on a free port; stderr says which";

const DEV_HELP: &str = "\
Examples:
  folio dev                               on a terminal: serve HTTP, and say where the page is
  folio dev ~/desk --open                 serve as a client would start it, and open the page in the browser
  folio dev ~/desk --http --log dev.log   listen on http://127.0.0.1:8080/mcp, and keep the log in a file too

Clients get what `folio serve` gives them. If the manifest has errors, the last good version stays live; \
before the first good one, the errors are served as the resource folio://problems.";

const HEALTH_HELP: &str = "\
Examples:
  folio health                            ask the server on 127.0.0.1:8080
  folio health 9000                       ask another port, such as in the HEALTHCHECK of a container

It asks for `/readyz`, which needs no token, and waits for at most 5 s.

Exit status: 0 when the server is ready, 1 when it is not, or does not answer.";

/// `folio health`.
#[derive(Debug, Args)]
#[command(after_help = HEALTH_HELP)]
pub struct HealthArgs {
    /// Where it listens: PORT, :PORT or HOST:PORT
    #[arg(value_name = "ADDR", default_value_t)]
    pub address: ListenAddress,
}

/// `folio serve`.
#[derive(Debug, Default, Args)]
#[command(after_help = SERVE_HELP)]
pub struct ServeArgs {
    /// The folder of a folio.yaml, or the file itself
    #[arg(default_value = ".", value_hint = ValueHint::AnyPath)]
    pub path: PathBuf,
    /// Listen for Streamable HTTP instead of stdin: PORT, :PORT or HOST:PORT [default: the manifest's, else 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR", num_args = 0..=1)]
    pub http: Option<Option<ListenAddress>>,
    /// Serve HTTP+SSE of 2024-11-05 too, at /sse beside the endpoint, for old clients
    #[arg(long, requires = "http")]
    pub sse: bool,
    /// Do not reload when files change
    #[arg(long, conflicts_with = "poll")]
    pub no_watch: bool,
    /// Look for changes at this interval, where the file system reports no changes, such as 500ms [default: 1s]
    #[arg(long, value_name = "INTERVAL", num_args = 0..=1, default_missing_value = "1s", value_parser = parse_interval)]
    pub poll: Option<Duration>,
    /// Allow an address that other machines reach, without a token
    #[arg(long, requires = "http")]
    pub insecure: bool,
    /// Keep pending calls across a restart: a file of keys that encrypt them, one per line, 32 characters or more; the
    /// first encrypts, all decrypt [env: FOLIO_STATE_KEY, keys with commas]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub state_key_file: Option<PathBuf>,
    /// The folder that the client's user works on, `{{workspace}}` in a manifest. Over HTTP, client roots are accepted
    /// only inside this folder, and only if it is set [env: FOLIO_WORKSPACE] [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub workspace: Option<PathBuf>,
    /// Set a variable that the manifest reads; repeat it for others. Other users of the machine can read it, so pass secrets
    /// in the environment
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<EnvPair>,
}

/// `folio dev`.
#[derive(Debug, Default, Args)]
#[command(after_help = DEV_HELP)]
pub struct DevArgs {
    /// What is served, and how.
    #[command(flatten)]
    pub serve: ServeArgs,
    /// Open a page in the browser that shows each entry as you write it: on this machine alone, behind a token
    #[arg(long)]
    pub open: bool,
    /// Also append stderr output to a file, for clients that hide stderr
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = LogFile::open)]
    pub log: Option<LogFile>,
}

/// The interval of `--poll`.
fn parse_interval(text: &str) -> Result<Duration, String> {
    match parse_milliseconds(text) {
        Some(milliseconds @ 1..=86_400_000) => Ok(Duration::from_millis(milliseconds)),
        Some(_) => Err(format!("interval `{text}` out of range: 1ms to 24h")),
        None => Err(format!("invalid interval `{text}`, expected a number and a unit, such as 500ms, 2s or 1m")),
    }
}

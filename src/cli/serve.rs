//! `folio serve`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::manifest::{built, find};
use super::reloading::Reloading;
use super::{Exit, Output, Serve};
use crate::catalog::{Built, Catalog, Listening};
use crate::compile::Reads;
use crate::diagnostic::{self, Format, Report, Severity};
use crate::load::Place;
use crate::reload::{self, First, WatchSet};
use crate::server::{Live, Options};
use crate::transport::http::{self, HttpOptions};
use crate::transport::stdio;
use crate::world::Real;

/// How long the end may take when something does not let go.
const PARTING: Duration = Duration::from_millis(200);

/// How long the watch is put off: a client that has just started the server waits for its first answer.
const FIRST_ANSWER: Duration = Duration::from_millis(20);

/// Serves a manifest to clients.
pub(super) fn run(arguments: &Serve, output: &Output) -> anyhow::Result<Exit> {
    let place = find(&arguments.path)?;
    let began = SystemTime::now();
    let Built { catalog, report, reads } = built(&place);
    let Some(catalog) = catalog else {
        output.say(&diagnostic::render(&report, Format::Text, output.error_style()));
        return Ok(Exit::Failed);
    };
    warn(&report);
    if !catalog.unset().is_empty() {
        let names: Vec<String> = catalog.unset().iter().map(|name| format!("`{name}`")).collect();
        output.say(&format!("error: {} is required and not set\n", names.join(", ")));
        return Ok(Exit::Failed);
    }
    let keys = super::state_key::keys(arguments)?;
    let runtime = runtime(arguments)?;
    let start = Start { place, keys, catalog, report, began, watch: watch_set(reads) };
    let served = runtime.block_on(serve(arguments, start, *output));
    runtime.shutdown_timeout(PARTING);
    served.map(|()| Exit::Success)
}

/// What serving begins with.
struct Start {
    place: Place,
    catalog: Catalog,
    report: Report,
    began: SystemTime,
    watch: WatchSet,
    /// What seals the calls that wait for their client.
    keys: Vec<Vec<u8>>,
}

/// One pipe needs one thread; many sockets are shared by two. Neither is a current-thread runtime: on those, what takes
/// long could not go on elsewhere.
fn runtime(arguments: &Serve) -> anyhow::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(if arguments.http.is_none() { 1 } else { 2 });
    // Room for as many events as one pipe and a few programs ever have at once; more of them wait for the next look.
    if arguments.http.is_none() {
        builder.max_io_events_per_tick(64);
    }
    builder.enable_all().build().context("could not start")
}

async fn serve(arguments: &Serve, start: Start, output: Output) -> anyhow::Result<()> {
    let stop = CancellationToken::new();
    let listening = start.catalog.listening().clone();
    let options = Options { watching: !arguments.no_watch, declare_all: false };
    if start.keys.is_empty() && start.catalog.asks() {
        tracing::info!(target: "folio::serve", "questions that wait for a client end with this process; `--state-key-file` keeps them");
    }
    let live = Live::new(Arc::new(start.catalog), Arc::new(Real::new()), options);
    if !start.keys.is_empty() {
        live.seal_with(&start.keys);
    }
    // The address is taken before anything else begins: what can fail fails first.
    let bound = match &arguments.http {
        Some(address) => Some(http::bind(http_options(arguments, address.as_ref(), listening)).await?),
        None => None,
    };
    stop_on_signals(stop.clone())?;
    let watching = (!arguments.no_watch).then(|| {
        let load = Reloading::new(start.place, live.clone(), output).after(&start.report, &start.watch);
        let first = First { began: start.began, watch: start.watch };
        let poll = arguments.poll.map(|poll| poll.duration());
        let options = reload::Options { poll, delay: FIRST_ANSWER, ..reload::Options::default() };
        reload::watch(load, first, options, stop.clone())
    });
    match bound {
        Some(bound) => {
            output.say(&format!("listening on {}\n", bound.url()));
            if let Some(url) = bound.sse_url() {
                output.say(&format!("serving HTTP+SSE on {url}\n"));
            }
            bound.serve(&live, stop.clone()).await;
        }
        None => stdio::serve(&live, stop.clone()).await,
    }
    stop.cancel();
    if let Some(watching) = watching {
        let _ = tokio::time::timeout(PARTING, watching.stopped()).await;
    }
    Ok(())
}

fn http_options(arguments: &Serve, address: Option<&super::Address>, listening: Listening) -> HttpOptions {
    let default = HttpOptions::default();
    let written = || listening.listen.map(|address| address.to_string());
    HttpOptions {
        listen: address.map(ToString::to_string).or_else(written).unwrap_or(default.listen),
        path: listening.path.unwrap_or(default.path),
        allowed_origins: listening.allowed_origins,
        allowed_hosts: listening.allowed_hosts,
        token: listening.token,
        insecure: arguments.insecure,
        sse: arguments.sse || listening.sse,
        max_sessions: listening.max_sessions.unwrap_or(default.max_sessions),
        session_idle: listening.session_idle.unwrap_or(default.session_idle),
        ping: listening.ping,
        keep_alive: default.keep_alive,
    }
}

/// SIGTERM and SIGINT end the server in order; without a watcher SIGHUP, which asks for a reload, does nothing.
#[cfg(unix)]
fn stop_on_signals(stop: CancellationToken) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("could not listen for signals")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("could not listen for signals")?;
    let mut hangup = signal(SignalKind::hangup()).context("could not listen for signals")?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                _ = hangup.recv() => {}
            }
        }
        stop.cancel();
    });
    Ok(())
}

/// Ctrl-C ends the server in order.
#[cfg(not(unix))]
fn stop_on_signals(stop: CancellationToken) -> anyhow::Result<()> {
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.cancel();
        }
    });
    Ok(())
}

/// Says each warning in one line.
fn warn(report: &Report) {
    let warnings = report.diagnostics().iter().any(|diagnostic| diagnostic.severity == Severity::Warning);
    if warnings {
        for line in diagnostic::lines(report).lines() {
            tracing::warn!(target: "folio::manifest", "{line}");
        }
    }
}

/// The files and folders on which a catalog depends.
pub(super) fn watch_set(reads: Reads) -> WatchSet {
    WatchSet { files: reads.files, folders: reads.folders }
}

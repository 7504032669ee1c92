//! `folio serve`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::manifest::{built, find, world};
use super::reloading::{Reloading, Said};
use super::{Address, Exit, Output, Serve};
use crate::catalog::{Built, Catalog, Endpoint, Listening, NotAccepted, Started, Usage};
use crate::compile::Reads;
use crate::diagnostic::{self, Format};
use crate::load::Place;
use crate::reload::{self, First, WatchSet, Watching};
use crate::server::{Live, Options};
use crate::transport::http::{self, HttpOptions};
use crate::transport::stdio;
use crate::world::{Real, close_to_others};

/// How long the end may take when something does not let go.
const PARTING: Duration = Duration::from_millis(200);

/// How long the watch is put off: a client that has just started the server waits for its first answer.
const FIRST_ANSWER: Duration = Duration::from_millis(20);

/// Serves a manifest to clients.
pub(super) fn run(arguments: &Serve, output: &Output) -> anyhow::Result<Exit> {
    close_to_others();
    super::memory::give_back_large_blocks();
    let place = find(&arguments.path)?;
    let runtime = runtime(arguments)?;
    let world = Arc::new(world());
    let served = runtime.block_on(start(arguments, (place, world.clone()), output.clone()));
    runtime.shutdown_timeout(PARTING);
    world.finish();
    served
}

/// Loads what stands at `place`, and serves it where it is accepted.
async fn start(arguments: &Serve, (place, world): (Place, Arc<Real>), output: Output) -> anyhow::Result<Exit> {
    let began = SystemTime::now();
    let mut built = built(&place, &output);
    let usage = usage(arguments, built.catalog.as_deref().map(Catalog::listening)).await?;
    let catalog = match built.accept(&usage) {
        Ok(catalog) => catalog,
        Err(refused) => {
            output.say(&diagnostic::render(&built.report, Format::Text, output.error_style()));
            return Ok(if refused == NotAccepted::Open { Exit::Unusable } else { Exit::Failed });
        }
    };
    let mut said = Said::default();
    said.warn(&built.report);
    let keys = super::state_key::keys(arguments)?;
    serve(arguments, Start { place, keys, catalog, built, said, usage, began, world }, output).await?;
    Ok(Exit::Success)
}

/// How the manifest is going to be used; without one that is built it does not matter.
async fn usage(arguments: &Serve, listening: Option<&Listening>) -> anyhow::Result<Usage> {
    let (Some(given), Some(listening)) = (&arguments.http, listening) else { return Ok(Usage::Local) };
    let address = http::resolve(&listen(given.as_ref(), listening)).await?;
    Ok(Usage::Http(Endpoint { address, insecure: arguments.insecure, started: None }))
}

/// What serving begins with.
struct Start {
    place: Place,
    catalog: Arc<Catalog>,
    /// What the load came to, but for its catalog.
    built: Built,
    said: Said,
    usage: Usage,
    began: SystemTime,
    /// What seals the calls that wait for their client.
    keys: Vec<Vec<u8>>,
    world: Arc<Real>,
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
    let options = Options { watching: !arguments.no_watch, declare_all: false };
    if start.keys.is_empty() && start.catalog.asks() {
        tracing::info!(target: "folio::serve", "questions that wait for a client end with this process; `--state-key-file` keeps them");
    }
    let live = Live::new(start.catalog.clone(), start.world.clone(), options);
    if !start.keys.is_empty() {
        live.seal_with(&start.keys);
    }
    // The address is taken before anything else begins: what can fail fails first.
    let bound = match &start.usage {
        Usage::Http(endpoint) => Some(http::bind(http_options(arguments, endpoint, start.catalog.listening())).await?),
        Usage::Local => None,
    };
    stop_on_signals(stop.clone())?;
    let watching = (!arguments.no_watch).then(|| watch(arguments, start, (&live, output.clone()), stop.clone()));
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

/// Keeps what is served current.
fn watch(arguments: &Serve, start: Start, (live, output): (&Live, Output), stop: CancellationToken) -> Watching {
    let usage = later(arguments, &start);
    let watch = watch_set(start.built.reads.clone());
    let load = Reloading::new(start.place, usage, live.clone(), output).after(&start.built.report, start.said, &watch);
    let first = First { began: start.began, watch };
    let poll = arguments.poll.map(|poll| poll.duration());
    let options = reload::Options { poll, delay: FIRST_ANSWER, ..reload::Options::default() };
    reload::watch(load, first, options, stop)
}

/// How a later catalog is going to be used: some of what is settled now stays until the next start.
fn later(arguments: &Serve, start: &Start) -> Usage {
    let Usage::Http(endpoint) = &start.usage else { return Usage::Local };
    let listening = start.catalog.listening();
    let given = arguments.http.as_ref().is_some_and(Option::is_some);
    let started = Started {
        listen: (!given).then_some(listening.listen),
        path: Some(listening.path.clone()),
        sse: (!arguments.sse).then_some(listening.sse),
    };
    Usage::Http(Endpoint { started: Some(started), ..endpoint.clone() })
}

/// The address: a flag's, else the manifest's, else the usual one.
fn listen(given: Option<&Address>, listening: &Listening) -> String {
    let written = || listening.listen.map(|address| address.to_string());
    given.map(ToString::to_string).or_else(written).unwrap_or_else(|| HttpOptions::default().listen)
}

fn http_options(arguments: &Serve, endpoint: &Endpoint, listening: &Listening) -> HttpOptions {
    let default = HttpOptions::default();
    HttpOptions {
        listen: endpoint.address.to_string(),
        path: listening.path.clone().unwrap_or(default.path),
        insecure: arguments.insecure,
        sse: arguments.sse || listening.sse,
        ..HttpOptions::default()
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

/// The files and folders on which a catalog depends.
pub(super) fn watch_set(reads: Reads) -> WatchSet {
    WatchSet { files: reads.files, folders: reads.folders }
}

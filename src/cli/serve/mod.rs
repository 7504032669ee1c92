//! `folio serve`.

mod args;
pub(super) mod dev;
mod dev_page;
mod dev_session;
pub(super) mod health;
mod listen_address;
mod manifest_reload;
mod operation;
mod replicas;
mod service_manager;
mod state_keys;

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::catalog::{
    AcceptError, BuildOutcome, Catalog, HttpServingMode, HttpSettings, ReadFiles, ServingMode, SettingsAtStart,
};
use crate::cli::check::warn_of_gaps;
use crate::cli::manifest::{VariableCommands, build_loaded, environment, load_fingerprint};
use crate::cli::process::{
    fail_writes_beyond_limit, new_world, return_free_memory, stop_on_signals, stop_with_terminal, tune_allocator,
};
use crate::cli::run_tests::TestSource;
use crate::cli::{Exit, Output};
use crate::compile::FileBuffers;
use crate::diagnostic::one_line;
use crate::files::expand_home;
use crate::load::{ManifestLocation, WORKSPACE_VARIABLE};
use crate::reload::{self, InitialLoad, WatchHandle};
use crate::server::{ServeOptions, SharedServer};
use crate::transport::http::{self, BoundServer, HttpError, HttpOptions};
use crate::transport::stdio;
use crate::world::{RealWorld, forbid_ptrace};
use dev_session::DevSession;
pub(crate) use listen_address::ListenAddress;
use manifest_reload::{ManifestOrigin, ManifestReload, ReportedWarnings};
use operation::Operation;

pub(crate) use args::{DevArgs, HealthArgs, ServeArgs};

/// How long the shutdown may take.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(200);

/// How long other replicas may take to hear how tasks ended.
const REPLICAS_TIMEOUT: Duration = Duration::from_millis(700);

/// How long the watch is delayed, so that the first request of a client is answered first.
const WATCH_START_DELAY: Duration = Duration::from_millis(20);

/// Serves a manifest to clients.
pub(super) fn run(arguments: &ServeArgs, output: &Output) -> anyhow::Result<Exit> {
    run_with(arguments, None, output)
}

/// Serves a manifest to clients; with `dev` to its author too.
fn run_with(arguments: &ServeArgs, dev: Option<Arc<DevSession>>, output: &Output) -> anyhow::Result<Exit> {
    forbid_ptrace();
    tune_allocator();
    let location = ManifestLocation::resolve(&arguments.path)?;
    let runtime = build_runtime(arguments)?;
    let world = Arc::new(new_world());
    let served = runtime.block_on(load_and_serve(&Invocation { arguments, dev, output }, location, world.clone()));
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    world.shut_down();
    served
}

/// How the server was started.
struct Invocation<'a> {
    arguments: &'a ServeArgs,
    /// The session of an author at work.
    dev: Option<Arc<DevSession>>,
    output: &'a Output,
}

/// Loads the manifest, and serves it if it is accepted.
async fn load_and_serve(
    invocation: &Invocation<'_>,
    location: ManifestLocation,
    world: Arc<RealWorld>,
) -> anyhow::Result<Exit> {
    let Invocation { arguments, dev, output } = invocation;
    fail_writes_beyond_limit();
    let began = SystemTime::now();
    let environment = environment(&arguments.env, arguments.workspace.as_deref());
    let stop = CancellationToken::new();
    // From here on SIGHUP does not end the server.
    let _hangup = signal(SignalKind::hangup()).context("could not listen for signals")?;
    let mut commands = VariableCommands::new(world.clone(), stop.clone());
    let mut built = build_loaded(commands.load(&location, &environment, false).await, output);
    // An author's session listens, whatever the manifest says.
    let default = dev.as_ref().map(|_| HttpSettings::default());
    let settings = built.catalog.as_deref().map(Catalog::http_settings).or(default.as_ref());
    let serving_mode = serving_mode(arguments, settings).await?;
    let accepted = built.accept(&serving_mode);
    let mut reported = ReportedWarnings::default();
    let catalog = match (accepted, dev) {
        (Ok(catalog), Some(dev)) => dev.start(&built, Some(catalog))?,
        (Err(AcceptError::Invalid), Some(dev)) => dev.start(&built, None)?,
        (Ok(catalog), None) => {
            reported.log_new(&built.report);
            catalog
        }
        (Err(refused), _) => {
            output.eprint_report(&built.report);
            return Ok(if refused == AcceptError::Unprotected { Exit::CannotRun } else { Exit::Failure });
        }
    };
    warn_of_gaps(&built);
    let keys = state_keys::read_state_keys(arguments)?;
    let origin = ManifestOrigin { location, environment, commands };
    let start =
        LoadedServer { origin, state_keys: keys, catalog, built, reported, serving_mode, started_at: began, world };
    serve(invocation, start, stop).await?;
    Ok(Exit::Success)
}

/// How the manifest will be used, which does not matter if it has errors.
async fn serving_mode(arguments: &ServeArgs, listening: Option<&HttpSettings>) -> anyhow::Result<ServingMode> {
    let (Some(flag), Some(listening)) = (&arguments.http, listening) else { return Ok(ServingMode::Local) };
    // The address of the flag, else of the manifest, else the default.
    let declared = || listening.listen.map(|address| address.to_string());
    let listen = flag.as_ref().map(ToString::to_string).or_else(declared);
    let address = http::resolve(&listen.unwrap_or_else(|| HttpOptions::default().listen)).await?;
    Ok(ServingMode::Http(HttpServingMode { address, insecure: arguments.insecure, settings_at_start: None }))
}

/// A loaded manifest that is ready to be served.
struct LoadedServer {
    /// The place of the manifest, and the sources of its variables.
    origin: ManifestOrigin,
    catalog: Arc<Catalog>,
    /// The outcome of the load, without its catalog.
    built: BuildOutcome,
    reported: ReportedWarnings,
    serving_mode: ServingMode,
    started_at: SystemTime,
    /// The keys that encrypt pending calls.
    state_keys: Vec<Vec<u8>>,
    world: Arc<RealWorld>,
}

/// One thread beside that of stdin, one for each core for sockets, and two at least. A current-thread runtime could not
/// move long work to another thread.
fn build_runtime(arguments: &ServeArgs) -> anyhow::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    builder.worker_threads(if arguments.http.is_none() { 1 } else { cores.max(2) });
    // As many events as a few programs have at once.
    if arguments.http.is_none() {
        builder.max_io_events_per_tick(64);
    } else {
        // Who sends one request at a time does not wait for many of those who send more.
        builder.event_interval(8);
    }
    builder.enable_all().build().context("could not start the runtime")
}

async fn serve(invocation: &Invocation<'_>, server: LoadedServer, stop: CancellationToken) -> anyhow::Result<()> {
    let Invocation { arguments, dev, output } = invocation;
    let options = ServeOptions { watching: !arguments.no_watch, declare_all_capabilities: dev.is_some() };
    let shared_server = shared_server(arguments, &server, options);
    let background = replicas::join(arguments, &server, &shared_server).await?;
    // The address is bound first, as this can fail.
    let bound = match &server.serving_mode {
        ServingMode::Http(endpoint) => {
            let settings = server.catalog.http_settings();
            let is_default = arguments.http == Some(None) && settings.listen.is_none();
            let options = http_options(arguments, endpoint, settings);
            Some(bind(options, dev.is_some() && is_default).await?)
        }
        ServingMode::Local | ServingMode::LocalCaller(_) | ServingMode::Pipe(_) => None,
    };
    let stop_now = CancellationToken::new();
    stop_on_signals(stop.clone(), stop_now.clone())?;
    if dev.is_some() && io::stdin().is_terminal() {
        stop_with_terminal(stop.clone())?;
    }
    let mut operation = Operation::start(&shared_server, &server.serving_mode, dev.as_ref(), output).await?;
    operation.serve(&shared_server);
    if let Some(dev) = dev {
        let (location, world) = (server.origin.location.clone(), server.world.clone());
        let source = TestSource { location, buffers: FileBuffers::default(), world };
        dev.run_tests_of(source, server.origin.environment.clone());
        dev::serve_dev_page(dev, &shared_server, stop.clone()).await?;
    }
    let watching = start_watch(invocation, server, shared_server.clone(), stop.clone());
    match bound {
        Some(bound) => {
            eprint_addresses(&bound, dev.is_none(), output);
            service_manager::notify_service_manager("READY=1");
            let stopping = stop.clone();
            tokio::spawn(async move {
                stopping.cancelled().await;
                service_manager::notify_service_manager("STOPPING=1");
            });
            bound.serve(&shared_server, stop.clone(), stop_now).await;
        }
        None => {
            say_that_stdio_is_served(&shared_server, output);
            stdio::serve(&shared_server, stop.clone()).await;
            if dev.is_some() && !stop.is_cancelled() {
                output.eprint("stopped: the client closed stdin\n");
            }
        }
    }
    stop.cancel();
    let _ = tokio::time::timeout(REPLICAS_TIMEOUT, shared_server.leave_replicas()).await;
    drop(background);
    operation.end().await;
    if let Some(watching) = watching {
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, watching.join()).await;
    }
    Ok(())
}

/// Binds the address, or another port of it where the port may be chosen and another server has it.
async fn bind(options: HttpOptions, may_choose_port: bool) -> Result<BoundServer, HttpError> {
    match http::bind(options.clone()).await {
        Err(HttpError::AddressInUse { mut address }) if may_choose_port => {
            tracing::warn!(target: "folio::serve", "another server has {address}: a free port is taken");
            address.set_port(0);
            http::bind(HttpOptions { listen: address.to_string(), ..options }).await
        }
        bound => bound,
    }
}

/// What connections see of the manifest.
fn shared_server(arguments: &ServeArgs, server: &LoadedServer, options: ServeOptions) -> SharedServer {
    if server.state_keys.is_empty() && server.catalog.asks_client() {
        tracing::info!(target: "folio::serve", "pending questions are lost on exit; use `--state-key-file` to keep them");
    }
    let shared_server = SharedServer::new(server.catalog.clone(), server.world.clone(), options);
    if !server.state_keys.is_empty() {
        shared_server.set_state_keys(&server.state_keys);
    }
    if matches!(server.serving_mode, ServingMode::Http(_)) {
        let environment = environment(&arguments.env, arguments.workspace.as_deref());
        let workspace = environment.get(WORKSPACE_VARIABLE).filter(|folder| !folder.is_empty());
        let workspace = workspace.and_then(|folder| fs::canonicalize(expand_home(Path::new(&folder))).ok());
        shared_server.confine_roots(workspace.as_deref());
    }
    shared_server
}

/// Says where the server listens, and how to end it where nothing else says so.
fn eprint_addresses(bound: &BoundServer, mentions_ctrl_c: bool, output: &Output) {
    let end = if mentions_ctrl_c && io::stdin().is_terminal() { " (Ctrl-C ends it)" } else { "" };
    output.eprint(&format!("listening on {}{end}\n", bound.url()));
    if let Some(url) = bound.sse_url() {
        output.eprint(&format!("serving HTTP+SSE on {url}\n"));
    }
}

/// Says what the server waits for, where who started it may expect something else.
fn say_that_stdio_is_served(shared_server: &SharedServer, output: &Output) {
    let catalog = shared_server.catalog();
    if catalog.http_settings().listen.is_some() {
        tracing::info!(target: "folio::serve", "`http.listen` has no effect without `--http`: serving stdin and stdout");
    }
    if io::stdin().is_terminal() {
        let name = one_line(&catalog.server().name);
        output.eprint(&format!(
            "serving `{name}` on stdin and stdout, for an MCP client that starts this command; Ctrl-C ends it\n"
        ));
    }
}

/// Starts to watch and reload, from the load that is served, unless nothing is to be watched.
fn start_watch(
    invocation: &Invocation<'_>,
    server: LoadedServer,
    shared_server: SharedServer,
    stop: CancellationToken,
) -> Option<WatchHandle> {
    let Invocation { arguments, dev, output } = invocation;
    if arguments.no_watch {
        drop_load(server);
        return None;
    }
    let serving_mode = reload_serving_mode(arguments, &server);
    let LoadedServer { origin, built, reported, started_at, .. } = server;
    let BuildOutcome { report, dependencies, files, places, .. } = built;
    let first = InitialLoad { started_at, watch: dependencies.clone() };
    let (output, dev) = (Output::clone(output), dev.clone());
    // Runs while clients are answered already, as it takes time with thousands of files.
    let make_reload = move || {
        // What a broken manifest is served as is not what was loaded.
        let served = Some(shared_server.catalog()).filter(|_| !report.has_errors());
        let mut reload = ManifestReload {
            last_fingerprint: Some(load_fingerprint(&report, served.as_deref())),
            origin,
            serving_mode,
            shared_server,
            output,
            last_dependencies: dependencies,
            files: ReadFiles::default(),
            reported,
            dev,
        };
        reload.keep_files(files);
        drop_load((report, places));
        reload
    };
    let options = reload::WatchOptions {
        poll_interval: arguments.poll,
        start_delay: WATCH_START_DELAY,
        ..reload::WatchOptions::default()
    };
    Some(reload::watch(make_reload, first, options, stop))
}

/// Drops what only the load needed, and returns its memory to the system.
fn drop_load<T>(loaded: T) {
    drop(loaded);
    return_free_memory();
}

/// How reloaded catalogs will be used: some settings stay until the next start.
fn reload_serving_mode(arguments: &ServeArgs, server: &LoadedServer) -> ServingMode {
    let (listening, operation) = (server.catalog.http_settings(), server.catalog.operation_settings());
    let (admin, audit, telemetry) = (operation.admin, operation.audit.clone(), operation.telemetry);
    let store = operation.store.clone();
    let ServingMode::Http(endpoint) = &server.serving_mode else {
        return ServingMode::Pipe(SettingsAtStart { admin, audit, telemetry, store, ..SettingsAtStart::default() });
    };
    let flag = arguments.http.as_ref().is_some_and(Option::is_some);
    let started = SettingsAtStart {
        listen: (!flag).then_some(listening.listen),
        path: Some(listening.path.clone()),
        sse: (!arguments.sse).then_some(listening.sse),
        sessions: Some(listening.sessions),
        admin,
        audit,
        telemetry,
        store,
    };
    ServingMode::Http(HttpServingMode { settings_at_start: Some(started), ..endpoint.clone() })
}

fn http_options(arguments: &ServeArgs, endpoint: &HttpServingMode, listening: &HttpSettings) -> HttpOptions {
    let default = HttpOptions::default();
    HttpOptions {
        listen: endpoint.address.to_string(),
        path: listening.path.clone().unwrap_or(default.path),
        insecure: arguments.insecure,
        sse: arguments.sse || listening.sse,
        sessions: listening.sessions,
        ..default
    }
}

//! Loads a catalog for a command, and sends it one request.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::file_size_limit::fail_writes_beyond_limit;
use super::variable_commands::VariableCommands;
use super::{Exit, Output, RequestArgs};
use crate::catalog::{BuildOutcome, Catalog, Usage, build};
use crate::diagnostic::sanitize;
use crate::load::{EnvSource, LoadedPacks, ManifestLocation, load};
use crate::server::{LiveCatalog, ServeOptions};
use crate::transport::in_process::{self, RequestError};
use crate::world::{ActionReport, DryRunWorld, RealWorld, ReportingWorld, World};

/// Loads and builds a manifest, and lets `output` remove its secrets.
pub(super) fn load_and_build(place: &ManifestLocation, output: &Output) -> BuildOutcome {
    load_with(place, &EnvSource::Process, output)
}

/// The same with the variables of `environment`.
pub(super) fn load_with(place: &ManifestLocation, environment: &EnvSource, output: &Output) -> BuildOutcome {
    finish_load(load(place, environment), output)
}

/// Loads and builds a manifest whose variables may come from commands, which are run.
fn run_commands_and_build(place: &ManifestLocation, output: &Output) -> anyhow::Result<BuildOutcome> {
    let world = Arc::new(new_world());
    let mut commands = VariableCommands::new(world.clone(), CancellationToken::new());
    let loaded = build_runtime()?.block_on(commands.load(place, &EnvSource::Process, false));
    world.shut_down();
    Ok(finish_load(loaded, output))
}

/// Builds what was loaded, and lets `output` remove its secrets.
pub(super) fn finish_load(loaded: LoadedPacks, output: &Output) -> BuildOutcome {
    let built = build(loaded);
    output.add_secrets(&built);
    built
}

pub(super) fn build_runtime() -> anyhow::Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("could not start the runtime")
}

/// The real world, with folio itself as the supervisor of programs.
pub(super) fn new_world() -> RealWorld {
    // On Linux this is the running file, even if its path has changed.
    let own = if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() };
    match own {
        Ok(own) => RealWorld::new().with_supervisor(own),
        Err(_) => RealWorld::new(),
    }
}

/// One request to the catalog at a path, sent as a client would.
pub(super) struct Request<'a> {
    pub(super) method: &'static str,
    /// The name or URI that is called.
    pub(super) name: &'a str,
    pub(super) options: &'a RequestArgs,
    pub(super) output: &'a Output,
}

impl Request<'_> {
    /// Sends it with the parameters that `params` makes, and prints the result, with `print` unless as JSON.
    pub(super) fn run(
        self,
        params: impl FnOnce(&Catalog) -> Value,
        print: impl FnOnce(&Value, &Output) -> anyhow::Result<Exit>,
    ) -> anyhow::Result<Exit> {
        let Request { method, options, output, .. } = self;
        let place = ManifestLocation::resolve(&options.file)?;
        let mut built = match options.dry_run || method == "prompts/get" {
            true => load_and_build(&place, output),
            false => run_commands_and_build(&place, output)?,
        };
        let Ok(catalog) = built.accept(&Usage::Local) else {
            output.eprint_report(&built.report);
            return Ok(Exit::Failure);
        };
        let params = params(&catalog);
        if options.dry_run {
            return self.dry_run(catalog, params);
        }
        match send_request(catalog.clone(), self.world(&catalog), method, params)? {
            Ok(result) if options.json => {
                output.print(&format!("{}\n", serde_json::to_string_pretty(&result)?))?;
                Ok(if result.get("isError") == Some(&Value::Bool(true)) { Exit::Failure } else { Exit::Success })
            }
            Ok(result) => print(&result, output),
            Err(error) => Ok(print_refusal(&error, output)),
        }
    }

    /// The real world, whose actions are printed with `--verbose`.
    fn world(&self, catalog: &Catalog) -> Arc<dyn World> {
        let world: Arc<dyn World> = Arc::new(new_world());
        if !self.options.verbose {
            return world;
        }
        let output = self.output.clone();
        let print = move |report: ActionReport<'_>| output.eprint(&report.to_text());
        ReportingWorld::wrap(catalog.redactor(), &world, Arc::new(print))
    }

    /// Prints the first action instead of doing it.
    fn dry_run(&self, catalog: Arc<Catalog>, params: Value) -> anyhow::Result<Exit> {
        let world = Arc::new(DryRunWorld::new(catalog.redactor().clone()));
        let result = send_request(catalog.clone(), world.clone(), self.method, params)?;
        if let Some(action) = world.first_action() {
            self.output.print(&action)?;
            if catalog.step_count(self.method, self.name) > 1 {
                self.output.print("later steps depend on its outcome\n")?;
            }
            return Ok(Exit::Success);
        }
        match result {
            Ok(result) if result.get("isError") == Some(&Value::Bool(true)) => {
                super::call::print_result(&result, self.output)
            }
            Ok(_) => {
                self.output.print("no program is run and no request is sent\n")?;
                Ok(Exit::Success)
            }
            Err(error) => Ok(print_refusal(&error, self.output)),
        }
    }
}

fn print_refusal(error: &RequestError, output: &Output) -> Exit {
    output.eprint(&format!("error: {}\n", sanitize(&error.to_string())));
    Exit::Failure
}

fn send_request(
    catalog: Arc<Catalog>,
    world: Arc<dyn World>,
    method: &str,
    params: Value,
) -> anyhow::Result<Result<Value, RequestError>> {
    let runtime = build_runtime()?;
    let options = ServeOptions { watching: false, declare_all: true };
    let answer = runtime.block_on(async {
        fail_writes_beyond_limit();
        let live = LiveCatalog::new(catalog, world, options);
        in_process::ask(&live, method, params).await
    });
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    Ok(answer)
}

/// A content block for display.
pub(super) fn format_content_block(block: &Value) -> String {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    let within = |key: &str| block.get("resource").and_then(|resource| resource.get(key)).and_then(Value::as_str);
    match text("type") {
        "text" => text("text").to_owned(),
        "resource_link" => format!("[link to {}]", text("uri")),
        "resource" => match within("text") {
            Some(body) => format!("[resource {}]\n{body}", within("uri").unwrap_or_default()),
            None => format!("[resource {}: bytes]", within("uri").unwrap_or_default()),
        },
        kind => format!("[{kind}, {}, {} bytes in base64]", text("mimeType"), text("data").len()),
    }
}

/// The text with a final newline.
pub(super) fn ensure_newline(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

//! `folio get --watch`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use serde_json::{Map, Value};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::args::GetArgs;
use super::command_line_arguments::CommandLineArguments;
use super::get::{print_messages, request};
use super::{UnsentRequestError, print_refusal};
use crate::catalog::BuildOutcome;
use crate::cli::manifest::load_and_build;
use crate::cli::process::build_runtime;
use crate::cli::terminal::Terminal;
use crate::cli::{Exit, Output};
use crate::compile::{LoadDependencies, OutdatedCheck};
use crate::load::ManifestLocation;
use crate::reload::{self, InitialLoad, LoadOutput, ReloadInfo, ReloadSource, WatchOptions};

/// Renders a prompt now, and again after each change, until ^C.
pub(crate) fn run(arguments: GetArgs, output: Output) -> anyhow::Result<Exit> {
    let location = ManifestLocation::resolve(&arguments.request.file)?;
    let given = request(&arguments, &output).read_arguments()?;
    let last_dependencies = LoadDependencies::default();
    let prompt = PromptReload {
        arguments,
        output,
        location,
        unresolved_arguments: Some(given),
        all_arguments: None,
        last_dependencies,
        rendered_files: BTreeSet::new(),
    };
    let runtime = build_runtime()?;
    let exit = runtime.block_on(watch(prompt));
    runtime.shutdown_timeout(Duration::from_millis(200));
    exit
}

async fn watch(prompt: PromptReload) -> anyhow::Result<Exit> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for ^C")?;
    let stop = CancellationToken::new();
    let watching = async {
        let first = spawn_blocking(|| prompt.render_first()).await.context("could not render")?;
        let (prompt, exit, initial_load) = first?;
        if exit != Exit::CannotRun {
            let options = WatchOptions { reload_on_sighup: false, ..WatchOptions::default() };
            reload::watch(move || prompt, initial_load, options, stop.clone()).join().await;
        }
        Ok(exit)
    };
    tokio::select! {
        _ = interrupt.recv() => {
            stop.cancel();
            Ok(Exit::Success)
        }
        exit = watching => exit,
    }
}

/// A prompt that is rendered again and again.
struct PromptReload {
    arguments: GetArgs,
    output: Output,
    location: ManifestLocation,
    /// The arguments as written, until all are known.
    unresolved_arguments: Option<CommandLineArguments>,
    /// All arguments, with those that were asked for.
    all_arguments: Option<Map<String, Value>>,
    last_dependencies: LoadDependencies,
    /// Files that no load reads, but the last rendering.
    rendered_files: BTreeSet<PathBuf>,
}

impl PromptReload {
    /// Renders it for the first time, with arguments from the person at the terminal.
    fn render_first(mut self) -> anyhow::Result<(PromptReload, Exit, InitialLoad)> {
        let started_at = SystemTime::now();
        let LoadOutput { outcome: built, mut watch } = self.load(false, &OutdatedCheck::default());
        let output = self.output.clone();
        let exit = self.render(built, Terminal::detect(&output).as_ref())?;
        watch.files.extend(self.rendered_files.iter().cloned());
        Ok((self, exit, InitialLoad { started_at, watch }))
    }

    /// Renders the prompt and prints it, or why there is none.
    fn render(&mut self, mut built: BuildOutcome, terminal: Option<&Terminal<'_>>) -> anyhow::Result<Exit> {
        let request = request(&self.arguments, &self.output);
        let Ok(catalog) = built.accept(&request.serving_mode()?) else {
            self.output.eprint_report(&built.report);
            return Ok(Exit::Failure);
        };
        if let Some(given) = self.unresolved_arguments.take() {
            match request.arguments(&catalog, given.clone(), terminal) {
                Ok(filled) => self.all_arguments = Some(filled),
                Err(UnsentRequestError { message, exit }) => {
                    self.unresolved_arguments = Some(given);
                    print_refusal(&message, &self.output);
                    return Ok(exit);
                }
            }
        }
        let arguments = self.all_arguments.clone().unwrap_or_default();
        match request.send(&catalog, arguments, request.world(&catalog), terminal)? {
            Ok(result) => {
                let messages = result.get("messages").and_then(Value::as_array).into_iter().flatten();
                let uris = messages.filter_map(|message| message.pointer("/content/resource/uri")?.as_str());
                self.rendered_files = uris.filter_map(|uri| catalog.path_from_variables(uri)).collect();
                request.print(&result, print_messages)
            }
            Err(error) => Ok(print_refusal(&request.refusal(&catalog, &error), &self.output)),
        }
    }
}

impl ReloadSource for PromptReload {
    type Outcome = BuildOutcome;

    fn load(&mut self, _: bool, _: &OutdatedCheck) -> LoadOutput<BuildOutcome> {
        let built = load_and_build(&self.location, &self.output);
        let mut watch = built.dependencies.to_watch(&mut self.last_dependencies, built.report.has_errors());
        watch.files.extend(self.rendered_files.iter().cloned());
        LoadOutput { outcome: built, watch }
    }

    fn publish(&mut self, built: BuildOutcome, _: ReloadInfo) {
        let separator = if self.arguments.request.json { "" } else { "\n" };
        if let Err(error) = self.output.print(separator).and_then(|()| self.render(built, None)) {
            self.output.eprint_error(&error);
        }
    }
}

//! Runs the `command` of variables: at start, when it changes, and on SIGHUP.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::compile::FileBuffers;
use crate::diagnostic::truncate;
use crate::load::{CommandOutputs, EnvSource, LoadedPacks, ManifestLocation, load_manifests};
use crate::redact::{InputEnd, Redactor};
use crate::world::{ProgramCommand, ProgramOutput, RealWorld, World, WorldError, strip_escapes};

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of a value.
const MAX_VALUE_BYTES: u64 = 64 << 10;
/// How much of the first line of stderr an error shows.
const MAX_REASON_CHARS: usize = 300;

/// The commands of the variables of a manifest, and what they printed.
pub(crate) struct VariableCommands {
    world: Arc<RealWorld>,
    cancel: CancellationToken,
    /// What each printed when it last succeeded.
    outputs: CommandOutputs,
}

impl VariableCommands {
    /// Runs commands in `world`, until `cancel` ends them.
    pub(crate) fn new(world: Arc<RealWorld>, cancel: CancellationToken) -> VariableCommands {
        VariableCommands { world, cancel, outputs: CommandOutputs::default() }
    }

    /// Loads a manifest after its commands have run: those without a value, or all to `refresh` them. A manifest with
    /// errors runs nothing. Its included files are not read yet.
    pub(crate) async fn load(
        &mut self,
        location: &ManifestLocation,
        environment: &EnvSource,
        refresh: bool,
    ) -> LoadedPacks {
        let load = |outputs: &_| load_manifests(location, environment, outputs, &FileBuffers::default());
        let loaded = load(&self.outputs);
        if loaded.load_context.report.has_errors() {
            return loaded;
        }
        self.outputs.retain(&loaded.load_context.commands);
        let is_due = |command: &&Vec<String>| refresh || !self.outputs.contains(command);
        let due: Vec<Vec<String>> = loaded.load_context.commands.iter().filter(is_due).cloned().collect();
        if due.is_empty() {
            return loaded;
        }
        let secrets: Vec<&str> = loaded.packs.iter().flat_map(|pack| pack.pack.env.secrets()).collect();
        let ended = join_all(due.iter().map(|command| self.run(command, location, &secrets))).await;
        let mut outputs = self.outputs.clone();
        for (command, output) in due.into_iter().zip(ended) {
            if output.is_ok() {
                self.outputs.insert(command.clone(), output.clone());
            }
            outputs.insert(command, output);
        }
        load(&outputs)
    }

    /// What a command prints, or why it fails, without `secrets`.
    async fn run(&self, command: &[String], location: &ManifestLocation, secrets: &[&str]) -> Result<String, String> {
        let (program, arguments) = command.split_first().ok_or_else(|| "no program".to_owned())?;
        let budget = Budget::new(self.cancel.clone(), &Arc::default());
        let mut start = ProgramCommand::with_budget(budget, program, PathBuf::from(location.path()));
        start.args = arguments.iter().map(Into::into).collect();
        start.timeout = TIMEOUT;
        start.max_output = MAX_VALUE_BYTES;
        let output = self.world.run_program(start).await.map_err(|error| match error {
            WorldError::TimedOut { after, .. } => format!("`{program}` timed out after {after:?}"),
            other => other.to_string(),
        })?;
        match output.exit_code {
            Some(0) => printed_value(program, &output),
            _ => Err(exit_reason(program, &output, secrets)),
        }
    }
}

/// The value that a program printed, without line breaks at its end.
fn printed_value(program: &str, output: &ProgramOutput) -> Result<String, String> {
    if output.stdout.is_truncated() {
        return Err(format!("`{program}` printed more than {MAX_VALUE_BYTES} bytes"));
    }
    let text = output.stdout.text().ok_or_else(|| format!("`{program}` printed invalid UTF-8"))?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(format!("`{program}` printed nothing")),
        value => Ok(value.to_owned()),
    }
}

/// How a program failed, with the first line of its stderr. What it printed on stdout may be the secret.
fn exit_reason(program: &str, output: &ProgramOutput, secrets: &[&str]) -> String {
    let printed = output.stdout.to_display_text();
    let redactor = Redactor::new(secrets.iter().copied().chain([&*printed]));
    let mut stderr = output.stderr.clone();
    redactor.redact_bytes(&mut stderr.bytes, InputEnd::Interrupted);
    let stderr = stderr.to_display_text();
    let stderr = strip_escapes(&stderr);
    let line = stderr.lines().map(str::trim).find(|line| !line.is_empty());
    let how = output.describe_end(program);
    line.map_or(how.clone(), |line| format!("{how}: {}", truncate(line, MAX_REASON_CHARS)))
}

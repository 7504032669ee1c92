//! What `exec` and `script` share: working directory, environment, stdin and outcome.

mod arg_max;
pub(super) mod code_injection;
pub(super) mod exec;
mod exit_messages;
mod sandbox;
pub(super) mod script;
mod shell_syntax;
pub(super) mod stdin;
pub(super) mod stream_progress;
mod working_folder;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::sync::Arc;

use serde_json::Value;

use super::context::outcome::{ActionError, ActionOutcome, OutcomeBody};
use super::context::step::{OutcomeReads, StepContext};
use super::literal_credential::warn_literal_field;
use super::parse::{OutputFormat, ParsedOutput};
use super::{ClientUse, Step};
use crate::budget::BudgetExceeded;
use crate::compile::{Compiler, Exposure, SandboxRules, SandboxUse};
use crate::diagnostic::Code;
use crate::template::{EnvSlot, RenderError, Shape, Template};
use crate::value_types::{NamedMap, Scalar, is_identifier};
use crate::world::{
    CapturedBytes, LatestLine, ProgramCommand, ProgramOutput, WorldError, printed_suffix, printed_text, strip_escapes,
};
use crate::yaml::{Location, Spanned};
use arg_max::ArgSize;
use exit_messages::ExitMessages;
use stdin::Stdin;
use stream_progress::report_lines;
use working_folder::WorkingFolder;

/// The keys beside the action.
pub(super) const PROGRAM_SIBLING_KEYS: &[&str] =
    &["stdin", "cwd", "env", "okExit", "onExit", "sandbox", "parse", "stream"];

/// Keeps Python from writing beside modules, which in the cache must stay as they were locked.
const WITHOUT_BYTECODE: (&str, &str) = ("PYTHONDONTWRITEBYTECODE", "1");

/// What errors about its output say of a program.
const ALREADY_RUN_NOTE: &str = "The program did run.";

/// The options of a program: working directory, environment, stdin and exit codes.
pub(super) struct ProgramOptions {
    cwd: WorkingFolder,
    env: Vec<(String, Template<EnvSlot>)>,
    /// Whether its pack is in the cache.
    is_in_cache: bool,
    stdin: Option<Stdin>,
    sandboxes: Vec<Arc<SandboxRules>>,
    ok_exit: Vec<i32>,
    exit_messages: ExitMessages,
    format: OutputFormat,
    /// Whether its lines are progress messages.
    streams: bool,
}

/// The shape of the outcome of a program.
pub(super) fn program_outcome_shape() -> Shape {
    Shape::object([("stdout", Shape::Text), ("stderr", Shape::Text), ("exit", Shape::Number), ("json", Shape::Any)])
}

/// A command whose size is checked against the limits of the system.
pub(super) struct PreparedCommand {
    pub(super) command: ProgramCommand,
    arg_size: ArgSize,
}

impl PreparedCommand {
    /// Adds an argument; `longest_argument` is the template variable with the longest value in it.
    ///
    /// # Errors
    /// It is too long.
    pub(super) fn arg(
        &mut self,
        element: impl Into<OsString>,
        longest_argument: Option<&str>,
    ) -> Result<(), ActionError> {
        let element = element.into();
        self.arg_size.add(element.len(), longest_argument)?;
        self.command.args.push(element);
        Ok(())
    }

    /// Adds an environment variable; `longest_argument` is the template variable with the longest value in it.
    ///
    /// # Errors
    /// It is too long.
    pub(super) fn env(&mut self, name: &str, value: String, longest_argument: Option<&str>) -> Result<(), ActionError> {
        self.arg_size.add(name.len() + 1 + value.len(), longest_argument)?;
        self.command.env.push((name.to_owned(), value));
        Ok(())
    }
}

impl ProgramOptions {
    pub(super) fn compile(step: &Step, wants_json: bool, compiler: &mut Compiler<'_>) -> Option<ProgramOptions> {
        let cwd = WorkingFolder::compile(step.cwd.as_ref(), compiler);
        let sandboxes = sandbox::compile(step, compiler);
        let env = compile_env(&step.env, compiler);
        code_injection::check_env(step, compiler);
        let stdin = match &step.stdin {
            Some(stdin) => Stdin::compile(stdin, compiler).map(Some),
            None => Some(None),
        };
        let format = OutputFormat::new(step.parse.as_ref(), wants_json);
        let ok_exit = step.ok_exit.clone().unwrap_or_else(|| vec![0]);
        let exit_messages = ExitMessages::compile(step, &ok_exit, compiler);
        Some(ProgramOptions {
            cwd: cwd?,
            env: env?,
            is_in_cache: compiler.pack.locked.is_some(),
            stdin: stdin?,
            sandboxes: sandboxes?,
            ok_exit,
            exit_messages: exit_messages?,
            format,
            streams: step.stream.is_some(),
        })
    }

    /// How it uses the client of its call.
    pub(super) fn client_use(&self) -> ClientUse {
        if self.streams { ClientUse::ReportsProgress } else { ClientUse::None }
    }

    /// Lists the program with its sandbox, if it has one; `name` is known unless it is a template.
    pub(super) fn list_sandbox(&self, name: Option<&str>, at: Location, compiler: &mut Compiler<'_>) {
        if !self.sandboxes.is_empty() {
            let listed = SandboxUse { at, program: name.map(str::to_owned), rules: self.sandboxes.clone() };
            compiler.load_context.sandboxes.push(listed);
        }
    }

    /// The command without arguments.
    pub(super) fn prepare(&self, program: &str, context: &StepContext<'_>) -> Result<PreparedCommand, ActionError> {
        let cwd = self.cwd.locate(context)?;
        let command = ProgramCommand {
            cwd_folder: cwd.open,
            step: context.id.map(str::to_owned),
            trace: context.call.trace.clone(),
            sandboxes: self.sandboxes.clone(),
            timeout: context.timeout,
            max_output: context.max_output,
            ..ProgramCommand::with_budget(context.scope.budget().clone(), program, cwd.path)
        };
        let mut prepared = PreparedCommand { command, arg_size: ArgSize::default() };
        if self.is_in_cache {
            let (name, value) = WITHOUT_BYTECODE;
            prepared.env(name, value.to_owned(), None)?;
        }
        for (name, template) in &self.env {
            let value = template.render(context.scope)?;
            let longest_argument = value.longest_variable().map(str::to_owned);
            prepared.env(name, value.text, longest_argument.as_deref())?;
        }
        if let Some(stdin) = &self.stdin {
            prepared.command.stdin = Some(stdin.bytes(context)?);
        }
        Ok(prepared)
    }

    /// Runs a program, called `name` in messages, to its outcome.
    pub(super) async fn run(
        &self,
        PreparedCommand { mut command, arg_size }: PreparedCommand,
        name: &str,
        context: &StepContext<'_>,
    ) -> Result<ActionOutcome, ActionError> {
        let (world, client) = (&context.call.world, context.entry.client());
        let finished = match self.streams && client.wants_progress() {
            true => {
                let latest = Arc::<LatestLine>::default();
                command.latest_line = Some(latest.clone());
                Box::pin(report_lines(&latest, client, world.run_program(command))).await
            }
            false => world.run_program(command).await,
        };
        let finished = finished.map_err(|error| match error {
            WorldError::SpawnFailed { source, .. } if source.kind() == ErrorKind::ArgumentListTooLong => {
                arg_size.total_too_long_error()
            }
            WorldError::BudgetExceeded(why) => output_limit_error(why),
            other => other.into(),
        })?;
        let size = finished.stdout.bytes.len() + finished.stderr.bytes.len();
        let budget = context.scope.budget();
        // As bytes, in the fields of the outcome, and as its body.
        budget.hold_when_free(size.saturating_mul(3)).await.map_err(output_limit_error)?;
        let format = self.format.hold_value(&finished.stdout.bytes, budget, ALREADY_RUN_NOTE).await;
        budget.run(|| self.to_outcome(name, finished, format, context))?
    }

    fn to_outcome(
        &self,
        program: &str,
        finished: ProgramOutput,
        format: Result<OutputFormat, ActionError>,
        context: &StepContext<'_>,
    ) -> Result<ActionOutcome, ActionError> {
        let exit = finished.exit_code;
        let parse = |format: OutputFormat| {
            let printed = || printed_text(&finished.stdout, &finished.stderr);
            let parsed = format.parse(&finished.stdout, None, context.max_output);
            parsed.map_err(|error| error.about_output(&program_effect(exit), &printed()))
        };
        if !exit.is_some_and(|code| self.ok_exit.contains(&code)) {
            // What a failure prints may have another form.
            let parsed = format.and_then(|format| parse(format).or_else(|_| parse(OutputFormat::Detect))).ok();
            return self.failed_outcome(program, finished, parsed.as_ref(), context);
        }
        let parsed = parse(format?)?;
        let value = outcome_fields(&finished, Some(&parsed), context.reads);
        let stdout = context.reads.stdout.then(|| finished.stdout.clone());
        let mut body = parsed.into_body(finished.stdout);
        if let OutcomeBody::Text(text) = &mut body
            && let Cow::Owned(plain) = strip_escapes(text)
        {
            *text = plain;
        }
        Ok(ActionOutcome { stdout, ..ActionOutcome::success(value, body) })
    }

    /// The outcome of a program that failed, in the words of `onExit` or in its own.
    fn failed_outcome(
        &self,
        program: &str,
        finished: ProgramOutput,
        parsed: Option<&ParsedOutput>,
        context: &StepContext<'_>,
    ) -> Result<ActionOutcome, ActionError> {
        let message = self.exit_messages.find(finished.exit_code);
        let reads = if message.is_some() { &OutcomeReads::ALL } else { context.reads };
        let value = outcome_fields(&finished, parsed, reads);
        let worded = match message.map(|message| message.render(&context.scope.clone().with_response(value.clone()))) {
            // The failure says more than that its output is not JSON.
            Some(Err(error @ RenderError::OutputMismatch { .. })) => {
                tracing::warn!(target: "folio::call", "message of `onExit` not used: {error}");
                None
            }
            text => text.transpose()?.map(|text| text.0).filter(|text| !text.trim().is_empty()),
        };
        let failure = worded.unwrap_or_else(|| {
            let printed = printed_suffix(&finished.stdout, &finished.stderr);
            format!("{}{printed}", finished.describe_end(program))
        });
        let stdout = context.reads.stdout.then_some(finished.stdout);
        Ok(ActionOutcome { failure: Some(failure), stdout, ..ActionOutcome::success(value, OutcomeBody::None) })
    }
}

/// The fields of the outcome of a program, as far as they are read.
fn outcome_fields(finished: &ProgramOutput, parsed: Option<&ParsedOutput>, reads: &OutcomeReads) -> Value {
    let ProgramOutput { stdout, stderr, exit_code, .. } = finished;
    let json = parsed.filter(|_| reads.has_field("json")).and_then(|parsed| parsed.to_json(stdout));
    let text = |output: &CapturedBytes| Value::from(without_line_break(&output.to_display_text()));
    let fields = [
        ("stdout", reads.has_text("stdout", json.as_ref()).then(|| text(stdout))),
        ("stderr", reads.has_field("stderr").then(|| text(stderr))),
        ("exit", Some((*exit_code).into())),
        ("json", json),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// What is done when a program has ended by itself, in errors about its output.
pub(super) fn program_effect(exit: Option<i32>) -> String {
    format!("the program ran: exit {}", exit.unwrap_or_default())
}

/// A text without the line break at its end, as in a shell's `$(…)`, but for further ones.
fn without_line_break(text: &str) -> &str {
    text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text))
}

fn compile_env(
    variables: &NamedMap<Spanned<Scalar>>,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<(String, Template<EnvSlot>)>> {
    let mut env = Vec::with_capacity(variables.len());
    for (name, value) in variables {
        if !is_identifier(name) {
            compiler
                .error(Code::BadName, name.location, format!("invalid environment variable name `{}`", name.value))
                .help("use letters, digits and `_`");
        }
        let text = value.to_text();
        warn_literal_field(name, &text, compiler);
        let template = compiler.template(&text, Exposure::Private);
        env.push(template.map(|template| (name.value.clone(), template)));
    }
    env.into_iter().collect()
}

fn output_limit_error(why: BudgetExceeded) -> ActionError {
    ActionError::limit_error_after(why, ALREADY_RUN_NOTE)
}

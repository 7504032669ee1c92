//! Loads a catalog for a command, and sends it one request.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use serde_json::{Map, Value};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::argument_completion::ArgumentCompletion;
use super::call_progress::CallProgress;
use super::command_line_arguments::CommandLineArguments;
use super::entry_kind::EntryKind;
use super::file_size_limit::fail_writes_beyond_limit;
use super::missing_arguments::{ArgumentPrompt, EntryArguments};
use super::output::error_text;
use super::preset_answers::PresetAnswers;
use super::question_answerer::{NoAnswers, QuestionAnswerer, client_capabilities, first_answer, unanswered_error};
use super::terminal::Terminal;
use super::variable_commands::VariableCommands;
use super::{Exit, Output, RequestArgs};
use crate::catalog::{BuildOutcome, Catalog, ServingMode, build};
use crate::diagnostic::sanitize;
use crate::load::{CommandOutputs, EnvSource, LoadedPacks, ManifestLocation, ParsedFiles, load, load_again};
use crate::redact::SECRET_PLACEHOLDER;
use crate::server::{ServeOptions, SharedServer};
use crate::spec_version::SpecVersion;
use crate::transport::in_process::{self, InProcessClient, InProcessError, ServerQuestion};
use crate::world::{ActionReport, DryRunWorld, RealWorld, ReportingWorld, World};

/// Loads and builds a manifest, and lets `output` remove its secrets.
pub(super) fn load_and_build(location: &ManifestLocation, output: &Output) -> BuildOutcome {
    load_in_environment(location, &EnvSource::Process, output)
}

/// The same with the variables of `environment`.
pub(super) fn load_in_environment(
    location: &ManifestLocation,
    environment: &EnvSource,
    output: &Output,
) -> BuildOutcome {
    build_loaded(load(location, environment), output)
}

/// Loads and builds a manifest whose variables may come from commands, which are run.
fn run_commands_and_build(location: &ManifestLocation, output: &Output) -> anyhow::Result<BuildOutcome> {
    let world = Arc::new(new_world());
    let mut commands = VariableCommands::new(world.clone(), CancellationToken::new());
    let loaded = build_runtime()?.block_on(commands.load(location, &EnvSource::Process, false));
    world.shut_down();
    Ok(build_loaded(loaded, output))
}

/// Loads and builds a manifest whose commands are not run: what each would print is a placeholder.
fn build_without_commands(location: &ManifestLocation, output: &Output) -> BuildOutcome {
    let loaded = load(location, &EnvSource::Process);
    let mut outputs = CommandOutputs::default();
    for command in &loaded.load_context.commands {
        outputs.insert(command.clone(), Ok(SECRET_PLACEHOLDER.to_owned()));
    }
    build_loaded(load_again(location, &EnvSource::Process, &outputs, &ParsedFiles::default()), output)
}

/// Builds what was loaded, and lets `output` remove its secrets.
pub(super) fn build_loaded(loaded: LoadedPacks, output: &Output) -> BuildOutcome {
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
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) kind: EntryKind,
    /// The name or URI that is called.
    pub(super) name: &'a str,
    /// The arguments as written.
    pub(super) words: &'a [String],
    pub(super) options: &'a RequestArgs,
    pub(super) output: &'a Output,
}

/// Where the actions of a call happen, and who is asked.
pub(super) struct CallEnvironment<'a> {
    pub(super) world: Arc<dyn World>,
    pub(super) terminal: Option<&'a Terminal<'a>>,
}

/// Why a request is not sent.
pub(super) struct UnsentRequestError {
    pub(super) message: String,
    pub(super) exit: Exit,
}

impl Request<'_> {
    /// Sends it, and prints the result, with `print` unless as JSON.
    pub(super) fn run(&self, print: impl FnOnce(&Value, &Output) -> anyhow::Result<Exit>) -> anyhow::Result<Exit> {
        let given = self.read_arguments()?;
        let location = ManifestLocation::resolve(&self.options.file)?;
        let mut built = match (self.options.dry_run, self.kind) {
            (true, _) => build_without_commands(&location, self.output),
            (false, EntryKind::Prompt) => load_and_build(&location, self.output),
            (false, _) => run_commands_and_build(&location, self.output)?,
        };
        let Ok(catalog) = built.accept(&ServingMode::Local) else {
            self.output.eprint_report(&built.report);
            return Ok(Exit::Failure);
        };
        let terminal = Terminal::detect(self.output);
        let arguments = match self.arguments(&catalog, given, terminal.as_ref()) {
            Ok(arguments) => arguments,
            Err(UnsentRequestError { message, exit }) => {
                print_refusal(&message, self.output);
                return Ok(exit);
            }
        };
        if self.options.dry_run {
            return self.dry_run(&catalog, arguments, terminal.as_ref());
        }
        let environment = CallEnvironment { world: self.world(&catalog), terminal: terminal.as_ref() };
        match self.send(&catalog, arguments, environment)? {
            Ok(result) => self.print(&result, print),
            Err(error) => Ok(print_refusal(&self.refusal(&catalog, &error), self.output)),
        }
    }

    /// Prints a result, with `print` unless as JSON.
    pub(super) fn print(
        &self,
        result: &Value,
        print: impl FnOnce(&Value, &Output) -> anyhow::Result<Exit>,
    ) -> anyhow::Result<Exit> {
        if !self.options.json {
            return print(result, self.output);
        }
        self.output.print(&format!("{}\n", serde_json::to_string_pretty(result)?))?;
        Ok(if result.get("isError") == Some(&Value::Bool(true)) { Exit::Failure } else { Exit::Success })
    }

    /// Reads what the command line says, before anything is loaded.
    pub(super) fn read_arguments(&self) -> anyhow::Result<CommandLineArguments> {
        CommandLineArguments::read(self.words, self.options.args.as_deref(), self.output)
    }

    /// The arguments, those that are missing from the person at the terminal.
    pub(super) fn arguments(
        &self,
        catalog: &Arc<Catalog>,
        given: CommandLineArguments,
        terminal: Option<&Terminal<'_>>,
    ) -> Result<Map<String, Value>, UnsentRequestError> {
        let schema = self.kind.input_schema(catalog, self.name);
        if schema.is_none() && self.kind != EntryKind::Resource {
            return Err(UnsentRequestError { message: self.unknown_entry(catalog), exit: Exit::Failure });
        }
        let mut arguments = given.into_arguments(self.kind, schema.unwrap_or(&Map::new()));
        let Some(form) = schema.and_then(|schema| self.kind.form(schema, self.name)) else {
            return self.without_form(arguments);
        };
        let entry = EntryArguments { kind: self.kind, name: self.name, form: &form };
        if let Some(terminal) = terminal {
            let world = self.world(catalog);
            let reference = self.kind.completion_ref(self.name);
            let completion = ArgumentCompletion { catalog: catalog.clone(), world, reference };
            let complete = |name: &str, typed: &str, given: &Map<String, Value>| completion.values(name, typed, given);
            let asked = entry.ask_missing(&mut arguments, &ArgumentPrompt { terminal, complete: &complete });
            asked.map_err(|error| UnsentRequestError { message: error_text(&error), exit: Exit::Failure })?;
        }
        let unknown = entry.unknown_error(&arguments).filter(|_| self.kind == EntryKind::Resource);
        let list = entry.list_error(&arguments).filter(|_| self.kind == EntryKind::Tool);
        match unknown.or(list).or_else(|| entry.missing_error(&arguments)) {
            Some(message) => Err(UnsentRequestError { message, exit: Exit::CannotRun }),
            None => Ok(arguments),
        }
    }

    /// A URI is given no arguments.
    fn without_form(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, UnsentRequestError> {
        match arguments.keys().next() {
            Some(name) if self.kind == EntryKind::Resource => {
                let message = format!(
                    "unexpected argument `{name}`: `{}` is not a resource template\nhelp: write a template as `folio list` shows it",
                    self.name
                );
                Err(UnsentRequestError { message, exit: Exit::CannotRun })
            }
            _ => Ok(arguments),
        }
    }

    fn unknown_entry(&self, catalog: &Catalog) -> String {
        let near = match (self.kind.command_for(catalog, self.name), self.kind.nearest_name(catalog, self.name)) {
            (Some(help), _) => help,
            (None, Some(near)) => format!("help: did you mean `{near}`?"),
            (None, None) => {
                "help: `folio list` shows what there is, and `folio check` what is left out, and why".to_owned()
            }
        };
        format!("unknown {} `{}`\n{near}", self.kind.noun(), self.name)
    }

    /// What the server refuses; with a near URI, where there is none.
    pub(super) fn refusal(&self, catalog: &Catalog, error: &InProcessError) -> String {
        let is_unknown = self.kind == EntryKind::Resource && catalog.fingerprint(self.name).is_none();
        if let Some(help) = self.kind.command_for(catalog, self.name).filter(|_| is_unknown) {
            return format!("{error}\n{help}");
        }
        match self.kind.nearest_name(catalog, self.name).filter(|near| is_unknown && near != self.name) {
            Some(near) => format!("{error}\nhelp: did you mean `{near}`?"),
            None => error.to_string(),
        }
    }

    /// Sends it to the catalog, and answers what is asked on the way.
    pub(super) fn send(
        &self,
        catalog: &Arc<Catalog>,
        arguments: Map<String, Value>,
        environment: CallEnvironment<'_>,
    ) -> anyhow::Result<Result<Value, InProcessError>> {
        let CallEnvironment { world, terminal } = environment;
        let params = self.kind.params(catalog, self.name, arguments);
        let called = params.get("uri").and_then(Value::as_str).unwrap_or(self.name);
        let questions = catalog.declared_questions(self.kind.method(), called);
        let answers = PresetAnswers::new(&self.options.answers, &questions)?;
        let has_answers = terminal.is_some() || !answers.is_empty();
        let progress = CallProgress::default();
        let last: &dyn QuestionAnswerer = terminal.map_or(&NoAnswers, |terminal| terminal);
        let answer = |question: &ServerQuestion<'_>| {
            progress.clear();
            first_answer(&[&answers, last], question)
        };
        let show = |params: &Value| progress.show(params);
        let client = InProcessClient {
            version: SpecVersion::NEWEST,
            capabilities: client_capabilities(has_answers, &questions),
            answer: &answer,
            progress: if self.shows_progress() { Some(&show) } else { None },
        };
        let request = LiveRequest { catalog: catalog.clone(), world, method: self.kind.method(), params };
        Ok(send_as(&client, request)?.map_err(|error| match unanswered_error(&questions) {
            Some(message) if !has_answers && error.lacks_capability() => InProcessError::Unanswered(message),
            _ => error,
        }))
    }

    fn shows_progress(&self) -> bool {
        !self.options.verbose && self.output.shows_progress()
    }

    /// The real world, whose actions are printed with `--verbose`.
    pub(super) fn world(&self, catalog: &Catalog) -> Arc<dyn World> {
        let world: Arc<dyn World> = Arc::new(new_world());
        if !self.options.verbose {
            return world;
        }
        let output = self.output.clone();
        let print = move |report: ActionReport<'_>| output.eprint(&report.to_text());
        ReportingWorld::wrap(catalog.redactor(), &world, Arc::new(print))
    }

    /// Prints the first action instead of doing it.
    fn dry_run(
        &self,
        catalog: &Arc<Catalog>,
        arguments: Map<String, Value>,
        terminal: Option<&Terminal<'_>>,
    ) -> anyhow::Result<Exit> {
        let world = Arc::new(DryRunWorld::new(catalog.redactor().clone()));
        let result = self.send(catalog, arguments, CallEnvironment { world: world.clone(), terminal })?;
        if let Some(action) = world.first_action() {
            self.output.print(&action)?;
            if catalog.step_count(self.kind.method(), self.name) > 1 {
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
            Err(error) => Ok(print_refusal(&self.refusal(catalog, &error), self.output)),
        }
    }
}

/// Prints why there is no result.
pub(super) fn print_refusal(message: &str, output: &Output) -> Exit {
    output.eprint(&format!("error: {}\n", sanitize(message)));
    Exit::Failure
}

/// What is sent, and to what.
struct LiveRequest {
    catalog: Arc<Catalog>,
    world: Arc<dyn World>,
    method: &'static str,
    params: Value,
}

/// Sends a request of a client that is asked nothing.
pub(super) fn send_without_questions(
    catalog: &Arc<Catalog>,
    world: &Arc<dyn World>,
    method: &'static str,
    params: Value,
) -> anyhow::Result<Result<Value, InProcessError>> {
    let client = InProcessClient::without_answers();
    send_as(&client, LiveRequest { catalog: catalog.clone(), world: world.clone(), method, params })
}

fn send_as(client: &InProcessClient<'_>, request: LiveRequest) -> anyhow::Result<Result<Value, InProcessError>> {
    let LiveRequest { catalog, world, method, params } = request;
    let runtime = build_runtime()?;
    let options = ServeOptions { watching: false, declare_all_capabilities: true };
    let answer = runtime.block_on(async {
        fail_writes_beyond_limit();
        let shared_server = SharedServer::new(catalog, world, options);
        in_process::ask(client, &shared_server, method, params).await
    });
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    Ok(answer)
}

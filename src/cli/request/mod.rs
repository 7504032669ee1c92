//! Loads a catalog for a command, and sends it one request.

mod answer_pair;
mod args;
mod argument_completion;
mod argument_pairs;
pub(super) mod call;
mod call_progress;
mod command_line_arguments;
mod entry_kind;
pub(super) mod get;
mod get_watch;
pub(super) mod list;
mod missing_arguments;
mod preset_answers;
mod questions;
pub(super) mod read;
mod result_text;
mod terminal_answers;
mod value_file;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::catalog::{Catalog, ServingMode};
use crate::cli::manifest::{build_loaded, load_and_build, load_with_commands, load_without_commands};
use crate::cli::output::error_text;
use crate::cli::process::{build_runtime, fail_writes_beyond_limit, new_world};
use crate::cli::terminal::Terminal;
use crate::cli::{Exit, Output};
use crate::diagnostic::sanitize;
use crate::load::{EnvSource, ManifestLocation};
use crate::server::{ServeOptions, SharedServer};
use crate::spec_version::SpecVersion;
use crate::transport::in_process::{self, InProcessClient, InProcessError, ServerQuestion};
use crate::world::{ActionReport, DryRunWorld, ReportingWorld, World};
use args::RequestArgs;
use call_progress::CallProgress;
use command_line_arguments::CommandLineArguments;
use missing_arguments::EntryArguments;
use preset_answers::PresetAnswers;
use questions::{answer_question, client_capabilities, unanswered_error};
use value_file::read_caller;

pub(crate) use answer_pair::AnswerPair;
pub(crate) use args::{CallArgs, GetArgs, ListArgs, ReadArgs};
pub(crate) use argument_completion::ArgumentCompletion;
pub(crate) use entry_kind::EntryKind;

/// One request to the catalog at a path, sent as a client would.
#[derive(Clone, Copy)]
struct Request<'a> {
    kind: EntryKind,
    /// The name or URI that is called.
    name: &'a str,
    /// The arguments as written.
    words: &'a [String],
    options: &'a RequestArgs,
    output: &'a Output,
}

/// Why a request is not sent.
struct UnsentRequestError {
    message: String,
    exit: Exit,
}

impl Request<'_> {
    /// Sends it, and prints the result, with `print` unless as JSON.
    fn run(&self, print: impl FnOnce(&Value, &Output) -> anyhow::Result<Exit>) -> anyhow::Result<Exit> {
        let given = self.read_arguments()?;
        let serving_mode = self.serving_mode()?;
        let location = ManifestLocation::resolve(&self.options.file)?;
        let mut built = match (self.options.dry_run, self.kind) {
            (true, _) => build_loaded(load_without_commands(&location), self.output),
            (false, EntryKind::Prompt) => load_and_build(&location, self.output),
            (false, _) => build_loaded(load_with_commands(&location, &EnvSource::Process)?, self.output),
        };
        let Ok(catalog) = built.accept(&serving_mode) else {
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
        match self.send(&catalog, arguments, self.world(&catalog), terminal.as_ref())? {
            Ok(result) => self.print(&result, print),
            Err(error) => Ok(print_refusal(&self.refusal(&catalog, &error), self.output)),
        }
    }

    /// Prints a result, with `print` unless as JSON.
    fn print(
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

    /// As whom it is sent.
    fn serving_mode(&self) -> anyhow::Result<ServingMode> {
        let caller = self.options.caller.as_deref().map(|path| read_caller(path, self.output)).transpose()?;
        Ok(caller.map_or(ServingMode::Local, |caller| ServingMode::LocalCaller(Arc::new(caller))))
    }

    /// Reads what the command line says, before anything is loaded.
    fn read_arguments(&self) -> anyhow::Result<CommandLineArguments> {
        CommandLineArguments::read(self.words, self.options.args.as_deref(), self.output)
    }

    /// The arguments, those that are missing from the person at the terminal.
    fn arguments(
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
            let (world, reference) = (self.world(catalog), self.kind.completion_ref(self.name));
            let completion = ArgumentCompletion { catalog: catalog.clone(), world, reference };
            let asked = entry.ask_missing(&mut arguments, terminal, &completion);
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
    fn refusal(&self, catalog: &Catalog, error: &InProcessError) -> String {
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
    fn send(
        &self,
        catalog: &Arc<Catalog>,
        arguments: Map<String, Value>,
        world: Arc<dyn World>,
        terminal: Option<&Terminal<'_>>,
    ) -> anyhow::Result<Result<Value, InProcessError>> {
        let params = self.kind.params(catalog, self.name, arguments);
        let called = params.get("uri").and_then(Value::as_str).unwrap_or(self.name);
        let questions = catalog.declared_questions(self.kind.method(), called);
        let answers = PresetAnswers::new(&self.options.answers, &questions)?;
        let has_answers = terminal.is_some() || !answers.is_empty();
        let progress = CallProgress::default();
        let answer = |question: &ServerQuestion<'_>| {
            progress.clear();
            answer_question(question, &answers, terminal)
        };
        let show = |params: &Value| progress.show(params);
        let shows_progress = !self.options.verbose && self.output.shows_progress();
        let client = InProcessClient {
            version: SpecVersion::NEWEST,
            capabilities: client_capabilities(has_answers, &questions),
            answer: &answer,
            progress: if shows_progress { Some(&show) } else { None },
        };
        let result = send_request(&client, catalog.clone(), world, self.kind.method(), params)?;
        Ok(result.map_err(|error| match unanswered_error(&questions) {
            Some(message) if !has_answers && error.lacks_capability() => InProcessError::Unanswered(message),
            _ => error,
        }))
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
    fn dry_run(
        &self,
        catalog: &Arc<Catalog>,
        arguments: Map<String, Value>,
        terminal: Option<&Terminal<'_>>,
    ) -> anyhow::Result<Exit> {
        let world = Arc::new(DryRunWorld::new(catalog.redactor().clone()));
        let result = self.send(catalog, arguments, world.clone(), terminal)?;
        if let Some(action) = world.first_action() {
            self.output.print(&action)?;
            if catalog.step_count(self.kind.method(), self.name) > 1 {
                self.output.print("later steps depend on its outcome\n")?;
            }
            return Ok(Exit::Success);
        }
        match result {
            Ok(result) if result.get("isError") == Some(&Value::Bool(true)) => call::print_result(&result, self.output),
            Ok(_) => {
                self.output.print("no program is run and no request is sent\n")?;
                Ok(Exit::Success)
            }
            Err(error) => Ok(print_refusal(&self.refusal(catalog, &error), self.output)),
        }
    }
}

/// Prints why there is no result.
fn print_refusal(message: &str, output: &Output) -> Exit {
    output.eprint(&format!("error: {}\n", sanitize(message)));
    Exit::Failure
}

/// Sends a request of a client to a catalog.
fn send_request(
    client: &InProcessClient<'_>,
    catalog: Arc<Catalog>,
    world: Arc<dyn World>,
    method: &'static str,
    params: Value,
) -> anyhow::Result<Result<Value, InProcessError>> {
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

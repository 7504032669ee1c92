//! The command-line arguments. Doc comments here are the texts of `--help`.

mod after_help;
mod error_tip;
mod export;
mod install;
mod packs;

use std::any::TypeId;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use super::{AnswerPair, EntryKind, EnvPair, InitTemplate, NewAction};
use super::{Exit, ListenAddress, LogFile, LogFilter, LogFormat};
use crate::catalog::KnownClient;
use crate::diagnostic::{Code, Format};
use crate::files::expand_home;
use crate::yaml::parse_milliseconds;
use after_help::{
    ABOUT, CALL_HELP, CANDIDATES_HELP, CHECK_HELP, COMPLETIONS_HELP, DEV_HELP, EXIT_STATUS_HELP, EXPLAIN_HELP,
    GET_HELP, INIT_HELP, LIST_HELP, NEW_HELP, READ_HELP, SCHEMA_HELP, SERVE_HELP, TEST_HELP,
};
use export::EXPORT_HELP;
use install::{INSTALL_HELP, UNINSTALL_HELP};
use packs::{ADD_HELP, FETCH_HELP, LOCK_HELP, REMOVE_HELP, TRUST_HELP, UPDATE_HELP};

pub use export::{ExportArgs, ExportDockerArgs, ExportMcpbArgs, ExportServerJsonArgs, ExportTarget};
pub use install::{InstallArgs, InstallTarget, UninstallArgs};
pub use packs::{AddArgs, FetchArgs, LockArgs, RemoveArgs, TrustArgs, UpdateArgs};

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "folio", bin_name = "folio", version, about = "An MCP server that you write in YAML", long_about = ABOUT)]
#[command(after_help = EXIT_STATUS_HELP, arg_required_else_help = true, subcommand_required = true)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: CliCommand,
    /// The arguments of every command.
    #[command(flatten)]
    pub global: GlobalArgs,
}

impl Cli {
    /// Parses the command line. Help and errors are printed before this returns.
    pub fn parse_args(words: impl IntoIterator<Item = OsString>) -> Result<Cli, Exit> {
        let words: Vec<OsString> = words.into_iter().collect();
        let parsed = with_expanded_home(Cli::command()).try_get_matches_from(&words);
        parsed.and_then(|matches| Cli::from_arg_matches(&matches)).map_err(|error| {
            let error = error_tip::add_tip(error, &words);
            // Help goes to stdout, errors to stderr; a closed pipe is ignored.
            let _ = error.print();
            if error.use_stderr() { Exit::CannotRun } else { Exit::Success }
        })
    }

    /// The file to which the log is added.
    pub(super) fn log_file(&self) -> Option<&LogFile> {
        match &self.command {
            CliCommand::Dev(dev) => dev.log.as_ref(),
            _ => None,
        }
    }
}

/// Clients that start folio expand no `~` as a shell does.
fn with_expanded_home(command: clap::Command) -> clap::Command {
    let is_path = |arg: &Arg| arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let path = || OsStringValueParser::new().map(|path| expand_home(path.as_ref()));
    command
        .mut_args(|arg| if is_path(&arg) { arg.value_parser(path()) } else { arg })
        .mut_subcommands(with_expanded_home)
}

/// The arguments of every command.
#[derive(Debug, Args)]
pub struct GlobalArgs {
    /// How much to log on stderr: error, warn, info, debug, trace, off, or a filter such as `info,rmcp=debug`
    /// [default: info; of calls, only those that fail after they started]
    #[arg(long, global = true, env = "FOLIO_LOG", value_name = "LEVEL", default_value = "", hide_default_value = true)]
    #[arg(hide_env_values = true)]
    pub log_level: LogFilter,
    /// How to write on stderr
    #[arg(long, global = true, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// Whether to use colours; NO_COLOR is honoured
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Whether to use colours, with this default.
    pub fn applies(self, usual: bool) -> bool {
        match self {
            Color::Auto => usual,
            Color::Always => true,
            Color::Never => false,
        }
    }
}

/// The subcommand.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Serve a folder to MCP clients, live as you edit
    #[command(after_help = SERVE_HELP)]
    Serve(ServeArgs),
    /// Serve a folder while you write it, with errors, reloads and calls in view
    #[command(after_help = DEV_HELP)]
    Dev(DevArgs),
    /// Check a manifest and report every problem
    #[command(after_help = CHECK_HELP)]
    Check(CheckArgs),
    /// Explain a code of `check`: what it means, why, and how to write it instead
    #[command(after_help = EXPLAIN_HELP)]
    Explain(ExplainArgs),
    /// List the prompts, resources and tools that a client would see
    #[command(after_help = LIST_HELP)]
    List(ListArgs),
    /// Get a prompt, as a client would
    #[command(after_help = GET_HELP)]
    Get(GetArgs),
    /// Call a tool, as a client would
    #[command(after_help = CALL_HELP)]
    Call(CallArgs),
    /// Read a resource, as a client would
    #[command(after_help = READ_HELP)]
    Read(ReadArgs),
    /// Run the tests of a manifest
    #[command(after_help = TEST_HELP)]
    Test(TestArgs),
    /// Print the JSON Schema of the manifest, for editors
    #[command(after_help = SCHEMA_HELP)]
    Schema,
    /// Write a small commented server that runs
    #[command(after_help = INIT_HELP)]
    Init(InitArgs),
    /// Add a prompt, a tool or a resource to a manifest
    #[command(after_help = NEW_HELP)]
    New(NewArgs),
    /// Add a pack from a repository or a folder to a manifest
    #[command(after_help = ADD_HELP)]
    Add(AddArgs),
    /// Remove a pack from a manifest
    #[command(after_help = REMOVE_HELP)]
    Remove(RemoveArgs),
    /// Update packs to the current commits of their branches and tags
    #[command(after_help = UPDATE_HELP)]
    Update(UpdateArgs),
    /// Show what a pack would do, and trust it if you agree
    #[command(after_help = TRUST_HELP)]
    Trust(TrustArgs),
    /// Write folio.lock: the commit and the digest of each pack with `git` or `url`
    #[command(after_help = LOCK_HELP)]
    Lock(LockArgs),
    /// Fetch the packs of folio.lock into the cache
    #[command(after_help = FETCH_HELP)]
    Fetch(FetchArgs),
    /// Write a bundle, a server.json or a container image, for other people
    #[command(after_help = EXPORT_HELP)]
    Export(ExportArgs),
    /// Add a server to the configuration of MCP clients
    #[command(after_help = INSTALL_HELP)]
    Install(InstallArgs),
    /// Take a server out of the configuration of MCP clients
    #[command(after_help = UNINSTALL_HELP)]
    Uninstall(UninstallArgs),
    /// Print the script that completes this command line in a shell
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(CompletionsArgs),
    /// Print completions of a partial command line, for the scripts of `completions`
    #[command(hide = true, after_help = CANDIDATES_HELP)]
    Candidates(CandidatesArgs),
}

/// `folio serve`.
#[derive(Debug, Default, Args)]
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

/// `folio check`.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// Folders of a folio.yaml, or the files themselves; `-` for a text on stdin
    #[arg(default_value = ".", value_hint = ValueHint::AnyPath, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The file that `-` stands for, such as a buffer of an editor [default: folio.yaml]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub stdin_path: Option<PathBuf>,
    /// The format of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Treat warnings as errors; notes never are
    #[arg(long)]
    pub strict: bool,
    /// Check again whenever a file changes
    #[arg(long, conflicts_with_all = ["stdin_path", "fix", "diff"])]
    pub watch: bool,
    /// Apply the fixes that are certain, and report the rest
    #[arg(long, conflicts_with = "stdin_path")]
    pub fix: bool,
    /// Print what --fix would change, and change nothing
    #[arg(long, conflicts_with_all = ["stdin_path", "format", "verbose"])]
    pub diff: bool,
    /// Also warn of what these clients refuse, cut or do not show, such as `cursor,gemini`, or `all`
    #[arg(long, value_name = "CLIENT", value_delimiter = ',', value_parser = PossibleValuesParser::new(client_names()))]
    pub clients: Vec<String>,
    /// Also print what each program with a `sandbox` may reach
    #[arg(short, long, conflicts_with = "format")]
    pub verbose: bool,
    /// The folder of `{{workspace}}` [env: FOLIO_WORKSPACE] [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub workspace: Option<PathBuf>,
}

/// The values of `--clients`.
fn client_names() -> impl Iterator<Item = &'static str> {
    KnownClient::ALL.iter().map(|client| client.name()).chain(["all"])
}

/// `folio explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The code, such as `unknown-variable`; without one, the list of all
    #[arg(value_name = "CODE", value_parser = PossibleValuesParser::new(Code::ALL.iter().map(|code| code.as_str())))]
    #[arg(hide_possible_values = true)]
    pub code: Option<String>,
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Format] {
        Format::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Format::Text => PossibleValue::new("text").help("Frames of the source, for people"),
            Format::Json => PossibleValue::new("json").help("A JSON list, for programs"),
            Format::Lines => PossibleValue::new("lines").help("path:line:column: error[code]: message"),
            Format::Sarif => PossibleValue::new("sarif").help("SARIF 2.1.0, for code scanning"),
            Format::Github => PossibleValue::new("github").help("Annotations of a GitHub workflow"),
        })
    }
}

/// `folio list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// The folder of a folio.yaml, or the file itself
    #[arg(default_value = ".", value_hint = ValueHint::AnyPath)]
    pub path: PathBuf,
    /// Print the lists as clients receive them
    #[arg(long)]
    pub json: bool,
}

/// What `folio get`, `folio call` and `folio read` share.
#[derive(Debug, Clone, Args)]
pub struct RequestArgs {
    /// The folder of a folio.yaml, or the file itself
    #[arg(short, long, value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub file: PathBuf,
    /// Print the whole result as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the first program that would be run, or request that would be sent, and stop there
    #[arg(long, conflicts_with = "json")]
    pub dry_run: bool,
    /// Print each program and request on stderr, and how it ended
    #[arg(short, long, conflicts_with = "dry_run")]
    pub verbose: bool,
    /// Read arguments from a file, an object in JSON or YAML; `-` for stdin. Those on the command line override them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub args: Option<PathBuf>,
    /// Answer a question that the call asks: KEY.FIELD=VALUE for a field of its form, or KEY=decline or KEY=cancel;
    /// KEY=accept for a page, KEY=TEXT for what the client's model is asked. Repeat it for others
    #[arg(long = "answer", value_name = "KEY.FIELD=VALUE")]
    pub answers: Vec<AnswerPair>,
}

/// `folio get`.
#[derive(Debug, Clone, Args)]
pub struct GetArgs {
    /// The name of the prompt
    pub name: String,
    /// Its arguments
    #[arg(value_name = "NAME=VALUE")]
    pub arguments: Vec<String>,
    /// Render it again whenever a file that it uses changes, until ^C
    #[arg(long, conflicts_with = "dry_run")]
    pub watch: bool,
    /// How to send the request.
    #[command(flatten)]
    pub request: RequestArgs,
}

/// `folio call`.
#[derive(Debug, Args)]
pub struct CallArgs {
    /// The name of the tool
    pub name: String,
    /// Its arguments
    #[arg(value_name = "NAME=VALUE")]
    pub arguments: Vec<String>,
    /// How to send the request.
    #[command(flatten)]
    pub request: RequestArgs,
}

/// `folio read`.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// The URI of the resource, or a template as it is listed, such as `docs://{page}`
    pub uri: String,
    /// The variables of the template
    #[arg(value_name = "NAME=VALUE")]
    pub arguments: Vec<String>,
    /// How to send the request.
    #[command(flatten)]
    pub request: RequestArgs,
}

/// `folio test`.
#[derive(Debug, Clone, Args)]
pub struct TestArgs {
    /// The folder of a folio.yaml, or the file itself
    #[arg(default_value = ".", value_hint = ValueHint::AnyPath)]
    pub path: PathBuf,
    /// Run only the tests whose names contain this, or match it as a glob with `*` and `?`
    pub filter: Option<String>,
    /// Also run the tests with `live: true`, which may run programs, send requests and change files
    #[arg(long)]
    pub live: bool,
    /// Also run the tests with `live: true`, and write what programs and servers answer into the manifest as their mocks
    #[arg(long, conflicts_with = "watch")]
    pub record: bool,
    /// Record the snapshots of the tests that run, and remove those that belong to no test
    #[arg(long)]
    pub update: bool,
    /// Run the tests that an edit touches, and those that failed, whenever a file changes
    #[arg(long, conflicts_with_all = ["update", "format"])]
    pub watch: bool,
    /// How to print the outcomes
    #[arg(long, value_enum, default_value_t = TestFormat::Text)]
    pub format: TestFormat,
    /// Also print which prompts, resources and tools no test reaches, which steps none runs, and which branches of
    /// templates none renders
    #[arg(long, conflicts_with = "watch")]
    pub coverage: bool,
    /// How many tests run at once [default: the number of processors]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// How outcomes of tests are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TestFormat {
    /// A line for each test, and frames of what fails
    Text,
    /// A JSON object
    Json,
    /// JUnit XML, for CI
    Junit,
}

/// `folio init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The folder to write to; created if it does not exist
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// The template to start from [default: hello]
    #[arg(long, value_enum, conflicts_with = "openapi")]
    pub template: Option<InitTemplate>,
    /// Write tools for an HTTP API, from its description: OpenAPI 3.0 or 3.1, or Swagger 2, in YAML or JSON
    #[arg(long, value_name = "FILE|URL", value_hint = ValueHint::FilePath)]
    pub openapi: Option<String>,
    /// Take only these: tags, operationIds, names of tools, or globs of these or of paths
    #[arg(long, value_name = "PATTERN", num_args = 1.., requires = "openapi")]
    pub only: Vec<String>,
    /// Update an earlier import, and keep entries that were edited by hand
    #[arg(long, requires = "openapi")]
    pub update: bool,
}

/// `folio new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// What to add; on a terminal it is asked for, like the name and the description
    #[arg(value_enum)]
    pub kind: Option<EntryKind>,
    /// Its name: letters, digits, `_` and `-`
    pub name: Option<String>,
    /// The folder of a folio.yaml, the file itself, or a file that it includes
    #[arg(short, long, value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub file: PathBuf,
    /// What it is, for users and models [default: its name, in words]
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// What a tool does [default: exec]
    #[arg(long, value_enum)]
    pub action: Option<NewAction>,
}

/// `folio candidates`.
#[derive(Debug, Args)]
pub struct CandidatesArgs {
    /// The command line up to the cursor
    #[arg(allow_hyphen_values = true)]
    pub line: String,
}

/// `folio completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// The interval of `--poll`.
fn parse_interval(text: &str) -> Result<Duration, String> {
    match parse_milliseconds(text) {
        Some(milliseconds @ 1..=86_400_000) => Ok(Duration::from_millis(milliseconds)),
        Some(_) => Err(format!("interval `{text}` out of range: 1ms to 24h")),
        None => Err(format!("invalid interval `{text}`, expected a number and a unit, such as 500ms, 2s or 1m")),
    }
}

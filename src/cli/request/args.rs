//! The arguments of `folio list`, `folio get`, `folio call` and `folio read`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::AnswerPair;

const LIST_HELP: &str = "\
Examples:
  folio list                              what the current folder offers to clients
  folio list ~/desk --json                the same, as clients receive it";

const GET_HELP: &str = "\
Examples:
  folio get greet who=Ada
  git diff --staged | folio get commit-message diff=@- -f ~/desk
  folio get greet who=Ada --watch         render it again on each save

A value `@FILE` is read from the file, `@-` from stdin; write `@@` for a value that begins with @.

On a terminal, missing arguments are asked for, with completion on Tab.

Exit status: 0 when all went well, and after ^C with --watch; 1 when the manifest has errors or the request is refused; \
2 for a wrong command line, such as a missing argument.";

const CALL_HELP: &str = "\
Examples:
  folio call search pattern=TODO ignoreCase=true
  folio call label id=7 'labels=[\"bug\",\"ui\"]' -f ~/desk
  folio call close id=7 --caller ada.yaml as a caller of these scopes and roles
  folio call deploy --args deploy.yaml --answer confirm.sure=true
                                          arguments from a file, and an answer to the question that the tool asks

Values are JSON where the tool's schema asks for a number, boolean, list or object, and text where it asks for text.
A value `@FILE` is read from the file, `@-` from stdin; write `@@` for a value that begins with @.

On a terminal, missing arguments are asked for, questions of the tool are answered, and progress is shown. In a script, \
--answer answers questions, and without any --answer those that are `optional` are skipped.

Exit status: 0 when all went well, 1 when the manifest has errors, the tool fails, or a question has no answer, 2 for a \
wrong command line, such as a missing argument or an --answer that nothing asks for.";

const READ_HELP: &str = "\
Examples:
  folio read docs://policy
  folio read src://src/main.rs -f ~/desk
  folio read 'docs://{page}' page=policy  a template, with its variables

On a terminal, missing variables are asked for, with completion on Tab.

Exit status: 0 when all went well, 1 when the manifest has errors or the resource cannot be read, 2 for a wrong command \
line, such as a missing variable.";

/// `folio list`.
#[derive(Debug, Args)]
#[command(after_help = LIST_HELP)]
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
    /// Call as this caller, an object in JSON or YAML with `id issuer client scopes roles claims headers`, to whom `scopes`, `roles`
    /// and `permit` apply. Without it they do not
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub caller: Option<PathBuf>,
    /// Answer a question that the call asks: KEY.FIELD=VALUE for a field of its form, or KEY=decline or KEY=cancel;
    /// KEY=accept for a page, KEY=TEXT for what the client's model is asked. Repeat it for others
    #[arg(long = "answer", value_name = "KEY.FIELD=VALUE")]
    pub answers: Vec<AnswerPair>,
}

/// `folio get`.
#[derive(Debug, Clone, Args)]
#[command(after_help = GET_HELP)]
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
#[command(after_help = CALL_HELP)]
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
#[command(after_help = READ_HELP)]
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

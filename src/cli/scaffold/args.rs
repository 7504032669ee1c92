//! The arguments of `folio init` and `folio new`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{InitTemplate, NewAction};
use crate::cli::request::EntryKind;

const INIT_HELP: &str = "\
Examples:
  folio init                              in the current folder
  folio init hello                        in a new folder
  folio init desk --template docs         a folder of documents; others are prompts, api, ops and team
  folio init petstore --openapi petstore.yaml
                                          tools from a description of an HTTP API
  folio init petstore --openapi https://api.example/openapi.json --only pets 'store/*'
  folio init --openapi petstore.yaml --list
                                          what there is, and how large it is for a model
  folio init petstore --openapi petstore.yaml --update
                                          again, and what you changed stays

Existing files are never overwritten, except by --update.";

const NEW_HELP: &str = "\
Examples:
  folio new                               on a terminal: ask what to add
  folio new prompt triage                 add a prompt to the current folder
  folio new tool search -f ~/desk --description 'Search the notes'
  folio new tool weather --action http    a tool that sends a request
  folio new prompt triage -f prompts.yaml to a file that the manifest includes

Everything else in the file stays as it is. Nothing is written if the manifest would have errors.";

/// `folio init`.
#[derive(Debug, Args)]
#[command(after_help = INIT_HELP)]
pub struct InitArgs {
    /// The folder to write to; created if it does not exist
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// The template to start from [default: hello]
    #[arg(long, value_enum, conflicts_with = "openapi")]
    pub template: Option<InitTemplate>,
    /// Write tools for an HTTP API, from its description: OpenAPI 3.0, 3.1 or 3.2, or Swagger 2.0, in YAML or JSON
    #[arg(long, value_name = "FILE|URL", value_hint = ValueHint::FilePath)]
    pub openapi: Option<String>,
    /// Take only these: tags, operationIds, names of tools, or globs of these or of paths
    #[arg(long, value_name = "PATTERN", num_args = 1.., requires = "openapi")]
    pub only: Vec<String>,
    /// Update an earlier import, and keep entries that were edited by hand
    #[arg(long, requires = "openapi")]
    pub update: bool,
    /// Print the tags of the description, with how large their tools are, and write nothing
    #[arg(long, requires = "openapi", conflicts_with = "update")]
    pub list: bool,
}

/// `folio new`.
#[derive(Debug, Args)]
#[command(after_help = NEW_HELP)]
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

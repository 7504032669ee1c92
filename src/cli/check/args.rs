//! The arguments of `folio check` and `folio explain`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum, ValueHint};

use crate::catalog::KnownClient;
use crate::diagnostic::{Code, Format};

const CHECK_HELP: &str = "\
Examples:
  folio check                             check the current folder
  folio check ~/desk --strict             treat warnings as errors, as in CI
  folio check --format lines              path:line:column: error[code]: message
  folio check desk packs/*                check several folders
  folio check --fix                       apply the fixes that are certain; --diff shows them
  folio check --clients all               also warn of what clients refuse, cut or do not show
  folio check --access                    also print who may use what
  folio check - --stdin-path folio.yaml   check a text on stdin instead of a file, as editors do

The comment `# folio: allow CODE` silences a warning: on its line, on the line after it, or in the whole file \
if it is above everything else.

Exit status: 0 without errors, 1 with errors (or warnings, with --strict), 2 when a path cannot be read.";

const EXPLAIN_HELP: &str = "\
Examples:
  folio explain                           the codes of all diagnostics
  folio explain unknown-variable          what it means, and how to write it instead";

pub(crate) const SCHEMA_HELP: &str = "\
Example:
  folio schema > folio.schema.json        and begin folio.yaml with
  # yaml-language-server: $schema=./folio.schema.json";

/// `folio check`.
#[derive(Debug, Clone, Args)]
#[command(after_help = CHECK_HELP)]
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
    #[arg(long, value_name = "CLIENT", value_delimiter = ',', value_parser = PossibleValuesParser::new(KnownClient::ALL.iter().map(|client| client.name()).chain(["all"])))]
    pub clients: Vec<String>,
    /// Also print what each program with a `sandbox` may reach
    #[arg(short, long, conflicts_with = "format")]
    pub verbose: bool,
    /// Also print who may use what: the scopes, roles and conditions of each entry, and the scopes that its steps add
    #[arg(long, conflicts_with_all = ["watch", "diff"])]
    pub access: bool,
    /// The folder of `{{workspace}}` [env: FOLIO_WORKSPACE] [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub workspace: Option<PathBuf>,
}

/// `folio explain`.
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_HELP)]
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

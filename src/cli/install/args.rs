//! The arguments of `folio install` and `folio uninstall`.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};

use crate::cli::manifest::EnvPair;
use crate::client_config::{CLIENTS, ConfigScope};

const INSTALL_HELP: &str = "\
Examples:
  folio install claude-code               the server of the current folder, for you, in every project
  folio install cursor zed -f ~/desk      that of another folder, in two clients
  folio install vscode --project          in .vscode/mcp.json of the current folder
  folio install codex --env TOKEN=…       with the value of a variable, which is written to the file
  folio install gemini --http https://desk.example/mcp
  folio install librechat --print         write nothing, and print what would be written

Without --user and --project the file is that of the user; librechat has one in the current folder alone. \
Everything else in it stays as it is, and a backup is put beside it. A file is made if there is none.

With --project, the entry contains no absolute paths if the manifest is in the current folder, so a team can share the file. \
Others need folio on their PATH.

Required variables of the manifest are written as references where the client expands them; values only by --env.";

const UNINSTALL_HELP: &str = "\
Examples:
  folio uninstall claude-code             take the server of the current folder out again
  folio uninstall cursor zed -f ~/desk
  folio uninstall vscode --project --name desk
  folio uninstall cursor --print          write nothing, and print what would be taken out

Every other byte of the file stays as it is. Where the manifest is gone, \
`--name` names the server, and `-f` the folder where it was, if it is to be that one alone.";

/// `folio install`.
#[derive(Debug, Args)]
#[command(after_help = INSTALL_HELP)]
pub struct InstallArgs {
    /// The clients and the server.
    #[command(flatten)]
    pub target: InstallTarget,
    /// Set a variable of the server; repeat it for others. The value is written to the file
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<EnvPair>,
    /// Write nothing, and print what would be written, without the values of variables
    #[arg(long)]
    pub print: bool,
}

/// `folio uninstall`.
#[derive(Debug, Args)]
#[command(after_help = UNINSTALL_HELP)]
pub struct UninstallArgs {
    /// The clients and the server.
    #[command(flatten)]
    pub target: InstallTarget,
    /// Write nothing, and print what would be taken out, without the values of variables
    #[arg(long)]
    pub print: bool,
}

/// The clients and the server of an installation.
#[derive(Debug, Args)]
pub struct InstallTarget {
    /// The clients
    #[arg(required = true, value_name = "CLIENT", value_parser = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))]
    pub clients: Vec<String>,
    /// The file of the user, which counts everywhere
    #[arg(long, conflicts_with = "project")]
    pub user: bool,
    /// The file of the project in the current folder
    #[arg(long)]
    pub project: bool,
    /// The name of the server in the client [default: `server.name`, as the client takes it]
    #[arg(long)]
    pub name: Option<String>,
    /// The server is reached at this URL, and not started
    #[arg(long, value_name = "URL")]
    pub http: Option<url::Url>,
    /// The folder of a folio.yaml, or the file itself [default: the current folder]
    #[arg(short, long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub file: Option<PathBuf>,
}

impl InstallTarget {
    /// The folder of the manifest, or the manifest.
    pub(crate) fn file(&self) -> &Path {
        self.file.as_deref().unwrap_or(Path::new("."))
    }

    /// The scope that is chosen, if any.
    pub(crate) fn scope(&self) -> Option<ConfigScope> {
        match (self.user, self.project) {
            (true, _) => Some(ConfigScope::User),
            (_, true) => Some(ConfigScope::Project),
            _ => None,
        }
    }
}

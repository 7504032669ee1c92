//! `folio export`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

pub(crate) const EXPORT_HELP: &str = "\
Examples:
  folio export mcpb -o desk.mcpb                                a bundle that Claude Desktop installs with one click
  folio export server.json                                      the metadata for MCP registries
  folio export docker -o image                                  a Dockerfile and its context

Secrets, `.env` files, private keys, what belongs to Git and hidden files that the server does not read are never exported. \
`.mcpbignore` in the folder of the manifest \
names more, one pattern on a line.";

const MCPB_HELP: &str = "\
Examples:
  folio export mcpb -o desk.mcpb                                for this system
  folio export mcpb -o desk-mac.mcpb --program ~/folio-darwin   for another system, with a folio built for it
  folio export mcpb -o desk.mcpb --author 'Ada' -f ~/desk

The bundle has folio, the folder of the manifest and its packs. The variables in `env` are asked for when it is installed. The \
same files give the same bytes.";

const SERVER_JSON_HELP: &str = "\
Examples:
  folio export server.json --name io.github.me/desk
  folio export server.json --name io.github.me/desk --mcpb desk.mcpb --url https://example.com/desk.mcpb -o server.json
  folio export server.json --name io.github.me/desk --remote https://desk.example/mcp";

const DOCKER_HELP: &str = "\
Example:
  folio export docker -o image            then: docker build -t desk image

It serves over HTTP on port 8080, not as root. `http: { token: … }` in the manifest keeps others out; without it, `--insecure` \
must say that something else does.";

/// What to export to.
#[derive(Debug, Subcommand)]
pub enum ExportTarget {
    /// Write an MCPB bundle, which clients install with one click
    Mcpb(ExportMcpbArgs),
    /// Write a server.json, which registries of MCP servers read
    #[command(name = "server.json")]
    ServerJson(ExportServerJsonArgs),
    /// Write a Dockerfile and its context, for an image that serves over HTTP
    Docker(ExportDockerArgs),
}

/// `folio export mcpb`.
#[derive(Debug, Args)]
#[command(after_help = MCPB_HELP)]
pub struct ExportMcpbArgs {
    /// The file to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// The folder of a folio.yaml, or the file itself
    #[arg(short, long, value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub file: PathBuf,
    /// Who made it [default: the namespace of `server.name`, else its name]
    #[arg(long, value_name = "NAME")]
    pub author: Option<String>,
    /// The folio to put in, for this system or another [default: this one]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub program: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long)]
    pub force: bool,
}

/// `folio export server.json`.
#[derive(Debug, Args)]
#[command(after_help = SERVER_JSON_HELP)]
pub struct ExportServerJsonArgs {
    /// Its name in the registry, such as io.github.me/desk [default: `server.name`]
    #[arg(long)]
    pub name: Option<String>,
    /// The file to write [default: stdout]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// The folder of a folio.yaml, or the file itself
    #[arg(short, long, value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub file: PathBuf,
    /// A bundle, whose SHA-256 is written
    #[arg(long, value_name = "FILE", requires = "url", value_hint = ValueHint::FilePath)]
    pub mcpb: Option<PathBuf>,
    /// Where people download the bundle
    #[arg(long, requires = "mcpb")]
    pub url: Option<String>,
    /// A container image that serves on port 8080, such as ghcr.io/me/desk:1.0.0
    #[arg(long)]
    pub image: Option<String>,
    /// The URL where it is served
    #[arg(long, value_name = "URL")]
    pub remote: Option<String>,
    /// Overwrite the file
    #[arg(long)]
    pub force: bool,
}

/// `folio export docker`.
#[derive(Debug, Args)]
#[command(after_help = DOCKER_HELP)]
pub struct ExportDockerArgs {
    /// The folder to write
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
    /// The folder of a folio.yaml, or the file itself
    #[arg(short, long, value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub file: PathBuf,
    /// The folio to put in, for Linux [default: this one]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub program: Option<PathBuf>,
    /// Serve without a token
    #[arg(long)]
    pub insecure: bool,
    /// Replace an earlier export
    #[arg(long)]
    pub force: bool,
}

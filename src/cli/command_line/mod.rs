//! The command line: its subcommands, its help, and its completions.

pub(super) mod candidates;
pub(super) mod completions;
mod error_tip;
#[cfg(test)]
mod tests;

use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use crate::cli::Exit;
use crate::cli::check::{CheckArgs, ExplainArgs, SCHEMA_HELP};
use crate::cli::export::{EXPORT_HELP, ExportTarget};
use crate::cli::install::{InstallArgs, UninstallArgs};
use crate::cli::output::GlobalArgs;
use crate::cli::packs::{AddArgs, FetchArgs, LockArgs, RemoveArgs, TrustArgs, UpdateArgs};
use crate::cli::request::{CallArgs, GetArgs, ListArgs, ReadArgs};
use crate::cli::run_tests::TestArgs;
use crate::cli::scaffold::{InitArgs, NewArgs};
use crate::cli::serve::{DevArgs, HealthArgs, ServeArgs};
use crate::files::expand_home;
const ABOUT: &str = "\
folio serves prompts, resources and tools over MCP, the Model Context Protocol, from a folder of YAML. \
Clients see every edit as you save it.

A whole server is seven lines of `folio.yaml`:

    folio: 1
    server: { name: hello }
    prompts:
      greet:
        description: Greet someone
        arguments: { who: { required: true } }
        text: \"Say hello to {{who}}.\"

Try it:

    folio init hello                      write a small server that runs
    folio check hello                     report every problem, and where
    folio get greet who=Ada -f hello      get what a client would get

Then add it to a client: the command is `folio serve` with the absolute path of the folder.";

const EXIT_STATUS_HELP: &str = "\
Exit status: 0 when all went well, 1 when the manifest has errors or a call failed, \
2 for a wrong command line, a path that cannot be read, or a server that cannot start.";

const COMPLETIONS_HELP: &str = "\
The names of prompts, resources, tools and their arguments are those of the current folder, or of `-f`.

Examples:
  folio completions bash > ~/.local/share/bash-completion/completions/folio
  folio completions zsh > ~/.zfunc/_folio           where ~/.zfunc is in fpath
  folio completions fish > ~/.config/fish/completions/folio.fish";

const CANDIDATES_HELP: &str = "\
Example:
  folio candidates -- 'folio get '        the prompts of the current folder";

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
}

/// Clients that start folio expand no `~` as a shell does.
fn with_expanded_home(command: clap::Command) -> clap::Command {
    let is_path = |arg: &Arg| arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let path = || OsStringValueParser::new().map(|path| expand_home(path.as_ref()));
    command
        .mut_args(|arg| if is_path(&arg) { arg.value_parser(path()) } else { arg })
        .mut_subcommands(with_expanded_home)
}

/// The subcommand.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Serve a folder to MCP clients, live as you edit
    Serve(ServeArgs),
    /// Serve a folder while you write it, with errors, reloads and calls in view
    Dev(DevArgs),
    /// Ask a server that listens for HTTP whether it is ready
    Health(HealthArgs),
    /// Check a manifest and report every problem
    Check(CheckArgs),
    /// Explain a code of `check`: what it means, why, and how to write it instead
    Explain(ExplainArgs),
    /// List the prompts, resources and tools that a client would see
    List(ListArgs),
    /// Get a prompt, as a client would
    Get(GetArgs),
    /// Call a tool, as a client would
    Call(CallArgs),
    /// Read a resource, as a client would
    Read(ReadArgs),
    /// Run the tests of a manifest
    Test(TestArgs),
    /// Print the JSON Schema of the manifest, for editors
    #[command(after_help = SCHEMA_HELP)]
    Schema,
    /// Write a small commented server that runs
    Init(InitArgs),
    /// Add a prompt, a tool or a resource to a manifest
    New(NewArgs),
    /// Add a pack from a repository or a folder to a manifest
    Add(AddArgs),
    /// Remove a pack from a manifest
    Remove(RemoveArgs),
    /// Update packs to the current commits of their branches and tags
    Update(UpdateArgs),
    /// Show what a pack would do, and trust it if you agree
    Trust(TrustArgs),
    /// Write folio.lock: the commit and the digest of each pack with `git` or `url`
    Lock(LockArgs),
    /// Fetch the packs of folio.lock into the cache
    Fetch(FetchArgs),
    /// Write a bundle, a server.json or a container image, for other people
    #[command(subcommand, after_help = EXPORT_HELP)]
    Export(ExportTarget),
    /// Add a server to the configuration of MCP clients
    Install(InstallArgs),
    /// Take a server out of the configuration of MCP clients
    Uninstall(UninstallArgs),
    /// Print the script that completes this command line in a shell
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print completions of a partial command line, for the scripts of `completions`
    #[command(hide = true, after_help = CANDIDATES_HELP)]
    Candidates {
        /// The command line up to the cursor
        #[arg(allow_hyphen_values = true)]
        line: String,
    },
}

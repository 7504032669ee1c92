//! The command line: arguments in, text and an exit status out.
//!
//! Each subcommand is a file in the folder of its trade, or the folder itself:
//!
//! ```text
//! serve         serve, dev, health
//! check         check, explain, schema
//! request       list, get, call, read
//! test          test
//! scaffold      init, new
//! packs         add, remove, update, trust, lock, fetch
//! export        export
//! install       install, uninstall
//! command_line  completions, candidates
//! ```
//!
//! The other folders are what these share. A folder uses only those above it in the list below. What is not here: anything
//! that clients of the server see.

mod exit;
mod text_file;
mod process;
mod output;
mod terminal;
mod manifest;
mod request;
mod check;
mod run_tests;
mod serve;
mod scaffold;
mod packs;
mod export;
mod install;
mod command_line;

pub use command_line::Cli;
pub use exit::Exit;
use output::Output;

use command_line::CliCommand;

use crate::redact::Redactors;

/// Runs the command, and prints its error. Output and logs hide the secrets of what is loaded.
pub fn run(arguments: Cli) -> Exit {
    let redactors = Redactors::default();
    let log_file = match &arguments.command {
        CliCommand::Dev(dev) => dev.log.clone(),
        _ => None,
    };
    let logs_calls = matches!(arguments.command, CliCommand::Serve(_));
    output::start_logging(&arguments.global, logs_calls, redactors.clone(), log_file.clone());
    let output = Output::new(&arguments.global, redactors.clone(), log_file);
    run_command(arguments.command, &output).unwrap_or_else(|error| {
        Output::new(&arguments.global, redactors, None).eprint_error(&error);
        Exit::CannotRun
    })
}

fn run_command(command: CliCommand, output: &Output) -> anyhow::Result<Exit> {
    match command {
        CliCommand::Serve(serve) => serve::run(&serve, output),
        CliCommand::Dev(dev) => serve::dev::run(dev, output),
        CliCommand::Health(health) => serve::health::run(&health, output),
        CliCommand::Check(check) => check::run(&check, output),
        CliCommand::Explain(explain) => check::explain::run(&explain, output),
        CliCommand::List(list) => request::list::run(&list, output),
        CliCommand::Get(get) => request::get::run(&get, output),
        CliCommand::Call(call) => request::call::run(&call, output),
        CliCommand::Read(read) => request::read::run(&read, output),
        CliCommand::Test(test) => run_tests::run(&test.with_filter_of_path(), output),
        CliCommand::Schema => check::schema::run(output),
        CliCommand::Init(init) => scaffold::init::run(&init, output),
        CliCommand::New(new) => scaffold::new::run(new, output),
        CliCommand::Add(add) => packs::add::run(&add, output),
        CliCommand::Remove(remove) => packs::remove::run(&remove, output),
        CliCommand::Update(update) => packs::update::run(&update, output),
        CliCommand::Trust(trust) => packs::trust::run(&trust, output),
        CliCommand::Lock(lock) => packs::lock::run(&lock, output),
        CliCommand::Fetch(fetch) => packs::fetch::run(&fetch, output),
        CliCommand::Export(target) => export::run(&target, output),
        CliCommand::Install(install) => install::run(&install, output),
        CliCommand::Uninstall(uninstall) => install::uninstall::run(&uninstall, output),
        CliCommand::Candidates { line } => command_line::candidates::run(&line, output),
        CliCommand::Completions { shell } => command_line::completions::run(shell, output),
    }
}

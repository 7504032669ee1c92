//! The command line: arguments in, text and an exit status out.
//!
//! Each subcommand is one file. What is not here: anything that clients of the server see.

mod listen_address;
mod add;
mod add_source;
mod args;
mod text_prompt;
mod call;
mod candidates;
mod check;
mod check_fix;
mod check_watch;
mod client_setup;
mod completions;
mod coverage_report;
mod dev;
mod dev_session;
mod env_pair;
mod file_size_limit;
mod exit;
mod export;
mod fetch;
mod explain;
mod get;
mod init;
mod install;
mod init_openapi;
mod init_template;
mod list;
mod lock;
mod log_file;
mod logging;
mod new;
mod new_entry;
mod request;
mod allocator;
mod answer_pair;
mod preset_answers;
mod argument_completion;
mod call_progress;
mod entry_kind;
mod folio_path;
mod form;
mod get_watch;
mod command_line_arguments;
mod line_editor;
mod missing_arguments;
mod output;
mod pack_file_text;
mod pack_grant_uses;
mod pack_project;
mod question_answerer;
mod remove;
mod result_text;
mod terminal;
mod text_file;
mod argument_pairs;
mod read;
mod manifest_reload;
mod sandbox_listing;
mod schema;
mod serve;
mod state_keys;
mod stop_signals;
mod junit;
mod test;
mod test_record;
mod test_report;
mod test_watch;
mod trust;
mod update;
mod variable_commands;

#[cfg(test)]
mod tests;

pub use answer_pair::AnswerPair;
pub use args::{
    AddArgs, CallArgs, CandidatesArgs, CheckArgs, Cli, CliCommand, Color, CompletionsArgs, DevArgs, ExplainArgs,
    ExportDockerArgs, ExportMcpbArgs, ExportServerJsonArgs, ExportTarget, FetchArgs, GetArgs, GlobalArgs, InitArgs,
    InstallArgs, InstallTarget, ListArgs, LockArgs, NewArgs, ReadArgs, RemoveArgs, RequestArgs, ServeArgs, TestArgs,
    TestFormat, TrustArgs, UninstallArgs, UpdateArgs,
};
pub use argument_pairs::ArgumentPairs;
pub use entry_kind::EntryKind;
pub use env_pair::EnvPair;
pub use exit::Exit;
pub use init_template::InitTemplate;
pub use listen_address::ListenAddress;
pub use log_file::LogFile;
pub use logging::{LogFilter, LogFormat, init_logging as start_logging};
pub use new_entry::NewAction;
pub use output::Output;

use crate::redact::Redactors;

/// Runs the command. Output and logs pass `redactors`, which learn the secrets of what is loaded. An `Err` is printed for
/// the user.
pub fn run(arguments: Cli, redactors: Redactors) -> anyhow::Result<Exit> {
    let output = Output::new(&arguments.global, redactors).with_log_file(arguments.log_file().cloned());
    match arguments.command {
        CliCommand::Serve(serve) => serve::run(&serve, None, &output),
        CliCommand::Dev(dev) => dev::run(dev, &output),
        CliCommand::Check(check) => check::run(&check, &output),
        CliCommand::Explain(explain) => explain::run(&explain, &output),
        CliCommand::List(list) => list::run(&list, &output),
        CliCommand::Get(get) => get::run(&get, &output),
        CliCommand::Call(call) => call::run(&call, &output),
        CliCommand::Read(read) => read::run(&read, &output),
        CliCommand::Test(test) => test::run(&test.with_filter_of_path(), &output),
        CliCommand::Schema => schema::run(&output),
        CliCommand::Init(init) => init::run(&init, crate::manifest::SCHEMA, &output),
        CliCommand::New(new) => new::run(new, &output),
        CliCommand::Add(add) => add::run(&add, &output),
        CliCommand::Remove(remove) => remove::run(&remove, &output),
        CliCommand::Update(update) => update::run(&update, &output),
        CliCommand::Trust(trust) => trust::run(&trust, &output),
        CliCommand::Lock(lock) => lock::run(&lock, &output),
        CliCommand::Fetch(fetch) => fetch::run(&fetch, &output),
        CliCommand::Export(export) => export::run(&export.target, &output),
        CliCommand::Install(install) => install::run(&install, &output),
        CliCommand::Uninstall(uninstall) => install::run_uninstall(&uninstall, &output),
        CliCommand::Candidates(candidates) => candidates::run(&candidates, &output),
        CliCommand::Completions(completions) => completions::run(&completions, &output),
    }
}

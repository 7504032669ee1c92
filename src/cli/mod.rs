//! The command line: arguments in, text and an exit status out.
//!
//! Each subcommand is one file. What is not here: anything that a client of the server could notice.

mod address;
mod args;
mod call;
mod check;
mod completions;
mod exit;
mod get;
mod init;
mod interval;
mod list;
mod logging;
mod manifest;
mod memory;
mod output;
mod pairs;
mod read;
mod reloading;
mod schema;
mod serve;
mod state_key;

#[cfg(test)]
mod tests;

pub use address::{Address, AddressError};
pub use args::{Arguments, Call, Check, Color, Command, Common, Completions, Get, Init, List, Read, Serve};
pub use exit::Exit;
pub use interval::{Interval, IntervalError};
pub use logging::{Filter, FilterError, start as start_logging};
pub use output::{Output, complain};
pub use pairs::{PairError, Pairs};

use crate::redact::Redactors;

/// Does what the command line asks for. What is written, on stderr too, passes `redactors`, which learn the secrets of
/// what is loaded. An `Err` is for the person at the terminal: folio could not do it.
pub fn run(arguments: Arguments, redactors: Redactors) -> anyhow::Result<Exit> {
    let output = Output::new(arguments.common.color, redactors);
    match arguments.command {
        Command::Serve(serve) => serve::run(&serve, &output),
        Command::Check(check) => check::run(&check, &output),
        Command::List(list) => list::run(&list, &output),
        Command::Get(get) => get::run(&get, &output),
        Command::Call(call) => call::run(&call, &output),
        Command::Read(read) => read::run(&read, &output),
        Command::Schema => schema::run(&output),
        Command::Init(init) => init::run(&init, &crate::manifest::schema(), &output),
        Command::Completions(completions) => completions::run(&completions, &output),
    }
}

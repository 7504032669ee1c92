//! The `folio` program, which calls the library.

use std::process::ExitCode;

use folio::Cli;

fn main() -> ExitCode {
    if let Some(supervised) = folio::run_supervisor(std::env::args_os()) {
        return if supervised.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    match Cli::parse_args(std::env::args_os()) {
        Ok(arguments) => folio::run(arguments).into(),
        Err(exit) => exit.into(),
    }
}

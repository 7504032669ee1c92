//! The `folio` program, which calls the library.

use std::process::ExitCode;

use folio::cli::{self, Cli, Exit, Output};
use folio::redact::Redactors;

fn main() -> ExitCode {
    if let Some(supervised) = folio::world::run_supervisor(std::env::args_os()) {
        return if supervised.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let arguments = match Cli::parse_args(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(exit) => return exit.into(),
    };
    let redactors = Redactors::default();
    cli::start_logging(&arguments, redactors.clone());
    let output = Output::new(&arguments.global, redactors.clone());
    match cli::run(arguments, redactors) {
        Ok(exit) => exit.into(),
        Err(error) => {
            output.eprint_error(&error);
            Exit::CannotRun.into()
        }
    }
}

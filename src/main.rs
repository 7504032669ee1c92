//! The `folio` program, which calls the library.

use std::process::ExitCode;

use folio::{Cli, Exit, Output, Redactors};

fn main() -> ExitCode {
    if let Some(supervised) = folio::run_supervisor(std::env::args_os()) {
        return if supervised.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let arguments = match Cli::parse_args(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(exit) => return exit.into(),
    };
    let redactors = Redactors::default();
    folio::start_logging(&arguments, redactors.clone());
    let output = Output::new(&arguments.global, redactors.clone());
    match folio::run(arguments, redactors) {
        Ok(exit) => exit.into(),
        Err(error) => {
            output.eprint_error(&error);
            Exit::CannotRun.into()
        }
    }
}

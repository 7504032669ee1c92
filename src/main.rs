//! The `folio` program: a doorway to the library.

use std::process::ExitCode;

use folio::cli::{self, Arguments, Exit};
use folio::redact::Redactors;

fn main() -> ExitCode {
    if let Some(supervised) = folio::world::supervise(std::env::args_os()) {
        return if supervised.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let arguments = match Arguments::read(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(exit) => return exit.into(),
    };
    let redactors = Redactors::default();
    cli::start_logging(&arguments.common, redactors.clone());
    match cli::run(arguments, redactors.clone()) {
        Ok(exit) => exit.into(),
        Err(error) => {
            cli::complain(&error, &redactors);
            Exit::Unusable.into()
        }
    }
}

//! The `folio` program: a doorway to the library.

use std::process::ExitCode;

use folio::cli::{self, Arguments, Exit};

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(exit) => return exit.into(),
    };
    cli::start_logging(&arguments.common);
    match cli::run(arguments) {
        Ok(exit) => exit.into(),
        Err(error) => {
            cli::complain(&error);
            Exit::Unusable.into()
        }
    }
}

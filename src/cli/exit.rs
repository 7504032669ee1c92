//! How the program ends.

use std::process::ExitCode;

/// The outcome of a command, as the shell sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked.
    Success,
    /// The manifest has errors, or the call failed.
    Failure,
    /// A wrong command line, an unreadable path, or it could not start.
    CannotRun,
}

impl Exit {
    /// The number that the shell gets.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::CannotRun => 2,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

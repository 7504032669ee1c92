//! The exit status of a command.

use std::process::ExitCode;

/// The outcome of a command, as the shell sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Success,
    /// The manifest has errors, or a call failed.
    Failure,
    /// A wrong command line, an unreadable path, or a server that cannot start.
    CannotRun,
}

impl Exit {
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

//! Writes to stdout and stderr for every command.

use std::io::{self, ErrorKind, IsTerminal, Write};

use anyhow::Context;

use super::Color;
use crate::catalog::BuildOutcome;
use crate::diagnostic::{Format, Report, TerminalStyle, render, sanitize};
use crate::redact::Redactors;

/// The output of a command.
#[derive(Debug, Clone)]
pub struct Output {
    color: Color,
    /// Removes the secrets of what was loaded.
    redactors: Redactors,
}

impl Output {
    /// Creates an output with colours as chosen, and with the secrets of `redactors` removed.
    pub fn new(color: Color, redactors: Redactors) -> Output {
        Output { color, redactors }
    }

    /// Removes the secrets of what was loaded from now on, here and in the log.
    pub(super) fn add_secrets(&self, built: &BuildOutcome) {
        self.redactors.replace(built.redactor.clone());
    }

    /// The style of stdout.
    pub fn style(&self) -> TerminalStyle {
        stream_style(self.color, &io::stdout())
    }

    /// The style of stderr.
    pub fn error_style(&self) -> TerminalStyle {
        stream_style(self.color, &io::stderr())
    }

    /// Writes to stdout. A closed pipe is not an error.
    pub fn print(&self, text: &str) -> anyhow::Result<()> {
        write_to(&mut io::stdout().lock(), self.redactors.redact_text(text.to_owned()).as_bytes())
            .context("could not write to stdout")
    }

    /// Writes bytes to stdout, like [`Output::print`].
    pub fn print_bytes(&self, bytes: &[u8]) -> anyhow::Result<()> {
        write_to(&mut io::stdout().lock(), &self.redactors.redact_bytes(bytes.to_vec()))
            .context("could not write to stdout")
    }

    /// Writes the diagnostics of a load to stderr.
    pub(super) fn eprint_report(&self, report: &Report) {
        self.eprint(&render(report, Format::Text, self.error_style()));
    }

    /// Writes to stderr, and ignores errors.
    pub fn eprint(&self, text: &str) {
        let _ = write_to(&mut io::stderr().lock(), self.redactors.redact_text(text.to_owned()).as_bytes());
    }
}

/// Prints an error to stderr in one paragraph, without a backtrace.
pub fn print_error(error: &anyhow::Error, redactors: &Redactors) {
    let words = redactors.redact_text(format!("error: {error:#}\n"));
    let _ = write_to(&mut io::stderr().lock(), sanitize(&words).as_bytes());
}

fn write_to(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    match stream.write_all(bytes).and_then(|()| stream.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

fn stream_style(color: Color, stream: &(impl IsTerminal + Columns)) -> TerminalStyle {
    let terminal = stream.is_terminal();
    let asked = |name| std::env::var_os(name);
    let plain =
        asked("NO_COLOR").is_some_and(|value| !value.is_empty()) || asked("TERM").is_some_and(|term| term == "dumb");
    TerminalStyle { color: color.applies(terminal && !plain), width: terminal.then(|| stream.columns()).flatten() }
}

/// A stream that may have a width.
trait Columns {
    fn columns(&self) -> Option<usize>;
}

impl<S: std::os::fd::AsFd> Columns for S {
    fn columns(&self) -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(self).ok()?;
        Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that fails as told.
    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn broken_pipe_is_ignored_and_full_disk_is_an_error() {
        assert!(write_to(&mut Failing(ErrorKind::BrokenPipe), b"x").is_ok());
        assert!(write_to(&mut Failing(ErrorKind::StorageFull), b"x").is_err());
    }

    #[test]
    fn color_choice_overrides_the_terminal() {
        assert!(Color::Always.applies(false));
        assert!(!Color::Never.applies(true));
        assert!(Color::Auto.applies(true) && !Color::Auto.applies(false));
    }
}

//! Writes to stdout and stderr for every command.

mod args;
mod log_file;
mod logging;

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

use anyhow::Context;

use serde_json::Value;

use crate::diagnostic::{Format, Report, Severity, TerminalStyle, render, render_line, sanitize};
use crate::redact::{Redactor, Redactors};
use logging::log_object;

pub(crate) use args::{Color, GlobalArgs};
pub(crate) use log_file::LogFile;
pub(crate) use logging::{LogFilter, LogFormat, start_logging};

/// The output of a command.
#[derive(Debug, Clone)]
pub struct Output {
    color: Color,
    /// The format of stderr.
    log_format: LogFormat,
    /// Removes the secrets of what was loaded.
    redactors: Redactors,
    /// Where what is written on stderr is added too.
    log_file: Option<LogFile>,
}

impl Output {
    /// An output that hides the secrets of `redactors`, and adds what it writes on stderr to `log_file` too.
    pub fn new(global: &GlobalArgs, redactors: Redactors, log_file: Option<LogFile>) -> Output {
        Output { color: global.color, log_format: global.log_format, redactors, log_file }
    }

    /// Removes these secrets from now on, here and in the log.
    pub(super) fn set_redactor(&self, redactor: Arc<Redactor>) {
        self.redactors.replace(redactor);
    }

    /// The format of what is written on stderr.
    pub(super) fn log_format(&self) -> LogFormat {
        self.log_format
    }

    /// Whether stderr is a terminal that shows bars of progress.
    pub(super) fn shows_progress(&self) -> bool {
        self.log_format == LogFormat::Text && io::stderr().is_terminal() && !is_dumb_terminal()
    }

    /// The style of stdout.
    pub fn style(&self) -> TerminalStyle {
        stream_style(self.color, &io::stdout())
    }

    /// The style of stderr.
    pub fn error_style(&self) -> TerminalStyle {
        stream_style(self.color, &io::stderr())
    }

    /// What others have written, as it may be printed: exactly, unless a terminal would obey it.
    pub(super) fn sanitize_for_stdout(&self, text: String) -> String {
        if io::stdout().is_terminal() { sanitize(&text).into_owned() } else { text }
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
        if self.log_format == LogFormat::Text {
            return self.eprint(&render(report, Format::Text, self.error_style()));
        }
        for diagnostic in report.diagnostics() {
            let level = match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warn",
                Severity::Note => "info",
            };
            self.eprint_json(level, "folio::manifest", render_line(report, diagnostic).trim_end());
        }
    }

    /// Writes to stderr, and ignores errors.
    pub fn eprint(&self, text: &str) {
        match (self.log_format, text.strip_prefix("error: ")) {
            (LogFormat::Json, Some(error)) => self.eprint_json("error", "folio::cli", error.trim_end()),
            (LogFormat::Json, None) => self.eprint_json("info", "folio::cli", text.trim_end()),
            (LogFormat::Text, _) => self.write_to_stderr(self.redactors.redact_text(text.to_owned())),
        }
    }

    /// Writes to stderr, and not to the log file, which others may read.
    pub fn eprint_unlogged(&self, text: &str) {
        let line = match self.log_format {
            LogFormat::Json => {
                format!("{}\n", Value::Object(log_object("info", "folio::cli", text.trim_end().to_owned())))
            }
            LogFormat::Text => text.to_owned(),
        };
        let _ = write_to(&mut io::stderr().lock(), line.as_bytes());
    }

    /// Prints an error to stderr in one paragraph, without a backtrace.
    pub fn eprint_error(&self, error: &anyhow::Error) {
        // An escape must not hide a secret.
        let text = self.redactors.redact_text(format!("error: {}\n", error_text(error)));
        self.eprint(&sanitize(&text));
    }

    fn eprint_json(&self, level: &str, target: &str, message: &str) {
        let message = self.redactors.redact_text(message.to_owned());
        self.write_to_stderr(format!("{}\n", Value::Object(log_object(level, target, message))));
    }

    fn write_to_stderr(&self, text: String) {
        self.log_file.iter().for_each(|file| file.append(text.as_bytes()));
        let _ = write_to(&mut io::stderr().lock(), text.as_bytes());
    }
}

/// An error with its causes, without those that it quotes itself.
pub(super) fn error_text(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // The number of an error of the system is often left out.
        let words = cause.split(" (os error ").next().unwrap_or_default();
        if text != words && !text.contains(&format!(": {words}")) {
            text.push_str(&format!(": {cause}"));
        }
    }
    text
}

fn write_to(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    match stream.write_all(bytes).and_then(|()| stream.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

fn stream_style(color: Color, stream: &(impl IsTerminal + AsFd)) -> TerminalStyle {
    let terminal = stream.is_terminal();
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || is_dumb_terminal();
    TerminalStyle { color: color.applies(terminal && !plain), width: terminal.then(|| columns(stream)).flatten() }
}

/// Whether the terminal can place no cursor.
pub(super) fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// The width of a stream that is a terminal.
fn columns(stream: &impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
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

//! Asks for one answer of plain text on stderr, as `init` and `new` do, which need neither completion nor secrets.
//! Arguments and forms are asked for in `line_editor`.

use std::io::{self, BufRead, IsTerminal};

use anyhow::Context;

use crate::cli::Output;

/// Whether there is a person to answer.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Whether what is printed is seen by the one who answers.
pub(crate) fn is_output_seen() -> bool {
    io::stdout().is_terminal()
}

/// Forgets what was typed and not read yet.
pub(crate) fn discard_typed_text() {
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// Asks until `check` takes the answer, and returns what it makes of it. An empty answer is the default, where there is one.
///
/// # Errors
/// The terminal is closed.
pub(crate) fn ask<T>(
    question: &str,
    default: &str,
    check: impl Fn(&str) -> Result<T, String>,
    output: &Output,
) -> anyhow::Result<T> {
    let hint = if default.is_empty() { String::new() } else { format!(" [{default}]") };
    loop {
        output.eprint(&format!("{question}{hint}: "));
        let mut line = String::new();
        let count = io::stdin().lock().read_line(&mut line).context("cannot read the answer")?;
        anyhow::ensure!(count > 0, "no answer: nothing is written");
        let answer = if line.trim().is_empty() { default } else { line.trim() };
        match check(answer) {
            Ok(value) => return Ok(value),
            Err(message) => output.eprint(&format!("{message}\n")),
        }
    }
}

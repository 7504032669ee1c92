//! Edits one line at the terminal, with completion on Tab, for the arguments of an entry and the fields of a form. Plain
//! questions are in `text_prompt`.

use std::borrow::Cow;

use anyhow::{Context, bail};
use rustyline::completion::{Completer, Pair};
use rustyline::config::{Behavior, CompletionType};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{ColorMode, Config, Editor, Helper};

/// A value that Tab offers.
pub(crate) struct Candidate {
    pub(crate) value: String,
    /// The value as it is listed.
    pub(crate) shown: String,
}

/// The values for what is typed so far.
pub(crate) type CompleteFn<'a> = dyn Fn(&str) -> Vec<Candidate> + 'a;

/// Reads a line from the terminal itself, whatever stdout is; `None` at ^D. A secret stays invisible as it is typed.
///
/// # Errors
/// ^C, or the terminal cannot be read.
pub(crate) fn read_line(label: &str, complete: &CompleteFn<'_>, is_secret: bool) -> anyhow::Result<Option<String>> {
    let config = Config::builder()
        .behavior(Behavior::PreferTerm)
        .completion_type(CompletionType::List)
        .auto_add_history(false)
        .color_mode(if is_secret { ColorMode::Forced } else { ColorMode::Disabled })
        .build();
    let mut editor: Editor<LineHelper<'_>, MemHistory> =
        Editor::with_history(config, MemHistory::new()).context("cannot use the terminal")?;
    editor.set_helper(Some(LineHelper { complete, is_secret }));
    match editor.readline(label) {
        Ok(text) => Ok(Some(text)),
        Err(ReadlineError::Eof) => Ok(None),
        Err(ReadlineError::Interrupted) => bail!("interrupted"),
        Err(error) => Err(error).context("cannot read from the terminal"),
    }
}

struct LineHelper<'a> {
    complete: &'a CompleteFn<'a>,
    is_secret: bool,
}

impl Completer for LineHelper<'_> {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &rustyline::Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        if self.is_secret {
            return Ok((pos, Vec::new()));
        }
        let candidates = (self.complete)(line.get(..pos).unwrap_or(line)).into_iter();
        let pairs = candidates.map(|candidate| Pair { display: candidate.shown, replacement: candidate.value });
        Ok((0, pairs.collect()))
    }
}

impl Highlighter for LineHelper<'_> {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        match self.is_secret {
            true => Cow::Owned(" ".repeat(line.chars().count())),
            false => Cow::Borrowed(line),
        }
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        self.is_secret && kind != CmdKind::MoveCursor
    }
}

impl Hinter for LineHelper<'_> {
    type Hint = String;
}

impl Validator for LineHelper<'_> {}

impl Helper for LineHelper<'_> {}

//! Actions that are written as a text.

use super::text::{scalar, words};
use super::{Meant, Reshaper, suggest};
use crate::diagnostic::Code;
use crate::yaml::{Entry, NodeId};

/// What a command needs that a program without a shell does not read.
const SCRIPT_HELP: &str =
    "no shell reads it: write `script: { shell: sh, text: … }`, where arguments are variables, as in \"$x\"";

impl Reshaper<'_> {
    /// `run`: an action, a list of steps, or a command as a text.
    pub(super) fn run(&mut self, run: NodeId) {
        if self.document.string_of(run).is_some() {
            return self.command(run, true);
        }
        match self.document.items_of(run) {
            Some(steps) => steps.into_iter().for_each(|step| self.step(step)),
            None => self.step(run),
        }
    }

    fn step(&mut self, step: NodeId) {
        self.each(step, "exec", |reshaper, exec| {
            if reshaper.document.string_of(exec).is_some() {
                reshaper.command(exec, false);
            }
        });
        self.each(step, "http", |reshaper, http| {
            reshaper.text_as_key(http, "url");
            reshaper.each(http, "allow", Reshaper::text_as_list);
        });
        self.each(step, "script", Reshaper::script);
    }

    /// A script without its shell.
    fn script(&mut self, script: NodeId) {
        if self.document.string_of(script).is_none() {
            return;
        }
        let span = self.span(script);
        let [shell, shell_key, text_key] = ["sh", "shell", "text"].map(|text| self.document.add_string(text, span));
        let text = self.document.add_string("", span);
        let entries = vec![Entry { key: shell_key, value: shell }, Entry { key: text_key, value: text }];
        let node = self.document.add_map(entries, span);
        let message = "expected a map, found a string";
        self.report
            .error(Code::WrongType, span, message)
            .help("write `script: { shell: sh, text: … }`, with the shell that reads it");
        self.document.replace(script, node);
    }

    /// A program with its arguments in one text.
    fn command(&mut self, node: NodeId, is_run: bool) {
        let command = self.document.string_of(node).unwrap_or_default().to_owned();
        let (span, split) = (self.span(node), words(&command));
        let program = command.split_whitespace().next().unwrap_or("true").to_owned();
        let elements = split.clone().unwrap_or_else(|| vec![program]);
        let items = elements.iter().map(|word| self.document.add_string(word, span)).collect();
        let mut meant = self.document.add_list(items, span);
        if is_run {
            let key = self.document.add_string("exec", span);
            meant = self.document.add_map(vec![Entry { key, value: meant }], span);
        }
        let expected = if is_run { "a map or a list" } else { "a list" };
        let diagnostic = self.report.error(Code::WrongType, span, format!("expected {expected}, found a string"));
        match split {
            None => {
                diagnostic.help(SCRIPT_HELP);
            }
            Some(words) => {
                let list = format!("[{}]", words.iter().map(|word| scalar(word)).collect::<Vec<_>>().join(", "));
                let text = if is_run { format!("{{ exec: {list} }}") } else { list };
                let shown = format!("write `{text}`");
                suggest(diagnostic, span, &Meant { text, is_certain: !command.contains('\n'), node: meant }, &shown);
            }
        }
        self.document.replace(node, meant);
    }
}

//! Scripts without a shell, and those that are a file.

use std::path::Path;

use super::{Correction, Corrector, suggest};
use crate::diagnostic::{Code, Span};
use crate::yaml::{Entry, NodeId};

/// The shells of files, by extension.
const SHELLS: &[(&str, &str)] =
    &[("bash", "bash"), ("zsh", "zsh"), ("ps1", "pwsh"), ("py", "python3"), ("js", "node"), ("mjs", "node")];

/// How the text of a script is called elsewhere.
const TEXT_KEYS: &[&str] = &["run", "script", "command", "code", "source", "inline", "body", "content"];

impl Corrector<'_> {
    pub(super) fn script(&mut self, script: NodeId) {
        if self.document.string_of(script).is_some() {
            return self.script_text(script);
        }
        if self.document.entry_of(script, "text").is_some() {
            return;
        }
        let find = |keys: &[&str]| keys.iter().find_map(|key| self.document.entry_of(script, key));
        if let Some(file) = find(&["file"]) {
            self.script_file(script, file);
        } else if let Some(text) = find(TEXT_KEYS) {
            self.script_key(script, text);
        }
    }

    /// `run: …` in the place of `text: …`.
    fn script_key(&mut self, script: NodeId, text: Entry) {
        let (name, at) = (self.document.key_text(text.key).to_owned(), self.span(text.key));
        let key = self.document.add_string("text", at);
        let mut entries = self.document.entries_of(script).unwrap_or_default();
        entries.iter_mut().filter(|entry| entry.key == text.key).for_each(|entry| entry.key = key);
        let node = self.document.add_map(entries, self.span(script));
        self.report.error(Code::UnknownKey, at, format!("unknown key `{name}`")).help("write `text`").fix(at, "text");
        self.document.replace(script, node);
    }

    /// A script without its shell.
    fn script_text(&mut self, script: NodeId) {
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

    /// `file: build.sh` in the place of `text: { file: build.sh }`.
    fn script_file(&mut self, script: NodeId, file: Entry) {
        let path = self.document.scalar_of(file.value).unwrap_or_default().to_owned();
        let mut entries = self.document.entries_of(script).unwrap_or_default();
        entries.retain(|entry| entry.key != file.key);
        let (at, span) = (self.span(file.key), self.span(script));
        let inner = self.document.add_map(vec![file], span);
        entries.push(Entry { key: self.document.add_string("text", at), value: inner });
        let mut text = format!("text: {{ file: {} }}", self.flow_text(file.value));
        let has_shell = self.document.entry_of(script, "shell").is_some();
        if !has_shell {
            let [key, shell] = ["shell", shell_of(&path)].map(|text| self.document.add_string(text, at));
            entries.push(Entry { key, value: shell });
            text = format!("shell: {}, {text}", shell_of(&path));
        }
        let node = self.document.add_map(entries, span);
        let shown = if has_shell { format!("write `{text}`") } else { format!("write `{{ {text} }}`") };
        let place = Span { end: self.span(file.value).end, ..at };
        let is_certain = has_shell && self.document.scalar_of(file.value).is_some();
        let diagnostic = self.report.error(Code::UnknownKey, at, "unknown key `file`");
        suggest(diagnostic, place, &Correction { text, is_certain, node }, &shown);
        self.document.replace(script, node);
    }
}

/// The shell that a file is most likely written for.
fn shell_of(path: &str) -> &'static str {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    SHELLS.iter().find(|(known, _)| *known == extension).map_or("sh", |(_, shell)| shell)
}

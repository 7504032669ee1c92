//! Scripts without a shell, and those that are a file.

use std::path::Path;

use super::action::PROGRAM_KEYS;
use super::text::{scalar_as_written, words};
use super::{Correction, Corrector, suggest};
use crate::diagnostic::{Code, Span};
use crate::yaml::{MapEntry, NodeId, flow_scalar};

/// The shells of files, by extension.
const SHELLS: &[(&str, &str)] =
    &[("bash", "bash"), ("zsh", "zsh"), ("ps1", "pwsh"), ("py", "python3"), ("js", "node"), ("mjs", "node")];

/// How the text of a script is called elsewhere.
const TEXT_KEYS: &[&str] = &["run", "script", "command", "code", "source", "inline", "body", "content"];

const NO_SHELL_HELP: &str = "`exec` runs without a shell, and `script: { shell: sh, text: … }` with one";

/// Shells that elsewhere are a key with the command.
const SHELL_KEYS: &[&str] = &[
    "shell", "bash", "sh", "zsh", "python", "python3", "node", "pwsh", "npx", "npm", "uvx", "uv", "deno", "bun",
    "ruby", "git", "make", "curl", "cargo", "go",
];

impl Corrector<'_> {
    /// `name: Test` and `run: npm test` in a step, and `uri: { url: … }`.
    pub(super) fn run_key(&mut self, step: NodeId) {
        let request = self.document.first_entry_of(step, &["uri", "request", "fetch"]);
        if let Some(request) = request.filter(|request| self.document.entry_of(request.value, "url").is_some()) {
            self.rename_key(step, request, "http");
        }
        if let Some(name) = self.document.entry_of(step, "name") {
            self.report
                .error(Code::UnknownKey, self.span(name.key), "unknown key `name`")
                .help("write it as a comment; later steps know a step by its `id`");
            self.remove_entry(step, name);
        }
        self.foreign_step_keys(step);
        if let Some(run) = self.document.entry_of(step, "run")
            && self.document.string_of(run.value).is_some()
        {
            self.command_key(step, run, "sh");
        }
    }

    /// Questions without `ask`, and how other runners say what follows a failure, or comes before.
    fn foreign_step_keys(&mut self, step: NodeId) {
        for kind in ["elicit", "sample", "roots"] {
            let Some(question) = self.document.entry_of(step, kind) else { continue };
            self.report
                .error(Code::UnknownKey, self.span(question.key), format!("unknown key `{kind}`: it is a question"))
                .help(format!("write `ask: {{ answer: {{ {kind}: … }} }}`"));
            if self.document.string_of(question.value).is_some() {
                // The text alone is no question: with it, the step has no action.
                self.report.mark_incomplete(self.span(step));
                self.remove_entry(step, question);
                continue;
            }
            let at = self.span(question.key);
            let [ask, answer] = ["ask", "answer"].map(|key| self.document.add_string(key, at));
            let inner = self.document.add_map(vec![question], at);
            let value = self.document.add_map(vec![MapEntry { key: answer, value: inner }], at);
            self.replace_entry(step, question, MapEntry { key: ask, value });
        }
        for key in ["continue-on-error", "ignore_errors", "continueOnError", "ignoreErrors"] {
            let Some(found) = self.document.entry_of(step, key) else { continue };
            let at = self.span(found.key);
            let span = Span { end: self.span(found.value).end, ..at };
            let diagnostic = self.report.error(Code::UnknownKey, at, format!("unknown key `{key}`"));
            diagnostic.help("write `onFail: continue`").fix(span, "onFail: continue");
            self.remove_entry(step, found);
        }
        for key in ["depends_on", "dependsOn", "needs", "after"] {
            let Some(found) = self.document.entry_of(step, key) else { continue };
            let message = format!("unknown key `{key}`");
            let diagnostic = self.report.error(Code::UnknownKey, self.span(found.key), message);
            diagnostic.help("remove it: steps run one after the other, in the order written");
            self.remove_entry(step, found);
        }
    }

    /// `shell: ls -l`, `bash: …` and `shell: true` in a step.
    pub(super) fn shell_key(&mut self, step: NodeId) {
        let find = |keys: &[&str]| self.document.first_entry_of(step, keys);
        let Some(shell) = find(SHELL_KEYS) else { return };
        let (at, key) = (self.span(shell.key), self.document.key_text(shell.key).to_owned());
        if let Some(script) = find(&["script"]).filter(|_| key == "shell") {
            return self.script_beside_shell(step, shell, script);
        }
        let program = find(PROGRAM_KEYS).map(|program| self.document.key_text(program.key) == "exec");
        if let Some(is_exec) = program {
            if is_exec {
                let message = format!("unknown key `{key}`");
                self.report.error(Code::UnknownKey, at, message).help(format!("remove it: {NO_SHELL_HELP}"));
            }
            return self.remove_entry(step, shell);
        }
        let name = match key.as_str() {
            "shell" => "sh",
            "python" => "python3",
            other => other,
        };
        if key != "shell" && self.interpreter_key(step, shell, name) {
            return;
        }
        self.command_key(step, shell, name);
    }

    /// A command for a shell, under a key that does not exist.
    fn command_key(&mut self, step: NodeId, written: MapEntry, shell: &str) {
        let (at, key) = (self.span(written.key), self.document.key_text(written.key).to_owned());
        let command = self.document.string_of(written.value).map(str::to_owned);
        let exec = command.as_deref().and_then(words).filter(|_| ["sh", "bash"].contains(&shell));
        let is_block = command.as_deref().is_none_or(|command| command.contains('\n'));
        let has_tags = command.as_deref().is_some_and(|command| command.contains("{{"));
        let exec = exec.filter(|_| !is_block);
        let text = match (&exec, &command) {
            (Some(words), _) => {
                format!("exec: [{}]", words.iter().map(|word| flow_scalar(word)).collect::<Vec<_>>().join(", "))
            }
            (None, Some(command)) if !is_block => {
                format!("script: {{ shell: {shell}, text: {} }}", scalar_as_written(self.raw(written.value), command))
            }
            _ => format!("script: {{ shell: {shell}, text: … }}"),
        };
        let span = Span { end: self.span(written.value).end, ..at };
        let is_certain = exec.is_some() || !is_block && !has_tags;
        let help = match has_tags && exec.is_none() {
            true => {
                format!("write `script: {{ shell: {shell}, text: … }}`, where arguments are variables, as in \"$x\"")
            }
            false => format!("write `{text}`"),
        };
        let diagnostic = self.report.error(Code::UnknownKey, at, format!("unknown key `{key}`")).help(help);
        if is_certain {
            diagnostic.fix(span, text);
        }
        let meant = match exec {
            Some(words) => {
                let items = words.iter().map(|word| self.document.add_string(word, span)).collect();
                MapEntry { key: self.document.add_string("exec", at), value: self.document.add_list(items, span) }
            }
            None => MapEntry { key: self.document.add_string("script", at), value: self.empty_script(at) },
        };
        self.replace_entry(step, written, meant);
    }

    pub(super) fn remove_entry(&mut self, map: NodeId, removed: MapEntry) {
        let mut entries = self.document.entries_of(map).unwrap_or_default();
        entries.retain(|entry| entry.key != removed.key);
        let node = self.document.add_map(entries, self.span(map));
        self.document.replace(map, node);
    }

    /// A script with a shell and no text, from which no error follows.
    pub(super) fn empty_script(&mut self, at: Span) -> NodeId {
        let [shell_key, shell, text_key, text] =
            ["shell", "sh", "text", ""].map(|text| self.document.add_string(text, at));
        self.document
            .add_map(vec![MapEntry { key: shell_key, value: shell }, MapEntry { key: text_key, value: text }], at)
    }

    /// `shell: bash` beside `script: …`.
    fn script_beside_shell(&mut self, step: NodeId, shell: MapEntry, script: MapEntry) {
        if self.document.string_of(script.value).is_some() {
            let (at, name) = (self.span(shell.key), self.flow_text(shell.value));
            let written = self.flow_text(script.value);
            let is_short = !written.contains('\n');
            let text = if is_short { written } else { "…".to_owned() };
            let text = format!("script: {{ shell: {name}, text: {text} }}");
            let fix = self.span_of_pair(step, shell, script).filter(|_| is_short);
            let diagnostic = self.report.error(Code::UnknownKey, at, "unknown key `shell`");
            diagnostic.help(format!("write `{text}`"));
            if let Some(span) = fix {
                diagnostic.fix(span, text);
            }
            let empty = self.empty_script(at);
            self.document.replace(script.value, empty);
            self.remove_entry(step, shell);
        }
    }

    pub(super) fn script(&mut self, script: NodeId) {
        if self.document.string_of(script).is_some() {
            return self.script_text(script);
        }
        if self.document.entry_of(script, "text").is_some() {
            return;
        }
        let find = |keys: &[&str]| self.document.first_entry_of(script, keys);
        if let Some(file) = find(&["file"]) {
            self.script_file(script, file);
        } else if let Some(text) = find(TEXT_KEYS) {
            self.script_key(script, text);
        }
    }

    /// `run: …` in the place of `text: …`.
    fn script_key(&mut self, script: NodeId, text: MapEntry) {
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
        let entries = vec![MapEntry { key: shell_key, value: shell }, MapEntry { key: text_key, value: text }];
        let node = self.document.add_map(entries, span);
        let message = "expected a map, found a string";
        self.report
            .error(Code::WrongType, span, message)
            .help("write `script: { shell: sh, text: … }`, with the shell that reads it");
        self.document.replace(script, node);
    }

    /// `file: build.sh` in the place of `text: { file: build.sh }`.
    fn script_file(&mut self, script: NodeId, file: MapEntry) {
        let path = self.document.scalar_of(file.value).unwrap_or_default().to_owned();
        let mut entries = self.document.entries_of(script).unwrap_or_default();
        entries.retain(|entry| entry.key != file.key);
        let (at, span) = (self.span(file.key), self.span(script));
        let inner = self.document.add_map(vec![file], span);
        entries.push(MapEntry { key: self.document.add_string("text", at), value: inner });
        let mut text = format!("text: {{ file: {} }}", self.flow_text(file.value));
        let has_shell = self.document.entry_of(script, "shell").is_some();
        if !has_shell {
            let [key, shell] = ["shell", shell_of(&path)].map(|text| self.document.add_string(text, at));
            entries.push(MapEntry { key, value: shell });
            text = format!("shell: {}, {text}", shell_of(&path));
        }
        let node = self.document.add_map(entries, span);
        let suggestion_text = if has_shell { format!("write `{text}`") } else { format!("write `{{ {text} }}`") };
        let place = Span { end: self.span(file.value).end, ..at };
        let is_certain = has_shell && self.document.scalar_of(file.value).is_some();
        let diagnostic = self.report.error(Code::UnknownKey, at, "unknown key `file`");
        suggest(diagnostic, place, &Correction { text, is_certain, node }, &suggestion_text);
        self.document.replace(script, node);
    }
}

/// The shell that a file is most likely written for.
fn shell_of(path: &str) -> &'static str {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    SHELLS.iter().find(|(known, _)| *known == extension).map_or("sh", |(_, shell)| shell)
}

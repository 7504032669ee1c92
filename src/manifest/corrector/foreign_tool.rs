//! Keys of a tool that other programs have: a command or a function, an operation of an API, the output.

use super::Corrector;
use super::argument::names_file;
use super::kind::MapKind;
use super::text::words;
use crate::diagnostic::{Code, Span};
use crate::yaml::{MapEntry, NodeId, flow_scalar};

/// Keys with one command, or with a program.
const COMMAND_KEYS: &[&str] = &["handler", "action", "execute", "entrypoint", "main", "module", "function", "func"];

/// Keys with a list of commands.
const COMMAND_LIST_KEYS: &[&str] = &["commands", "cmds", "script", "scripts", "steps", "run"];

/// Keys of an operation of an API.
const OPERATION_KEYS: &[&str] = &[
    "method", "path", "operationId", "requestBody", "responses", "consumes", "produces", "security", "tags", "summary",
];

impl Corrector<'_> {
    pub(super) fn foreign_tool(&mut self, tool: NodeId) {
        self.output_key(tool);
        self.operation(tool);
        self.command_list(tool);
        self.one_command(tool);
    }

    /// A tool that is a command.
    pub(super) fn tool_text(&mut self, tool: NodeId) {
        let Some(command) = self.document.string_of(tool).map(str::to_owned) else { return };
        let is_file = names_file(&command) || command.contains('\n');
        let Some(split) = words(&command).filter(|_| !is_file) else { return };
        let words: Vec<String> = split.iter().map(|word| flow_scalar(word)).collect();
        let help = format!("write `{{ description: …, run: {{ exec: [{}] }} }}`", words.join(", "));
        let span = self.span(tool);
        self.report.error(Code::WrongType, span, "expected a map, found a string").help(help);
        self.read_as_tool(tool, span);
    }

    /// `output: "{{stdout}}"`.
    fn output_key(&mut self, tool: NodeId) {
        let written = self.document.first_entry_of(tool, &["output", "returns"]);
        let Some(written) = written.filter(|_| self.document.entry_of(tool, "result").is_none()) else { return };
        let Some(text) = self.document.string_of(written.value).map(str::to_owned) else { return };
        let at = self.span(written.key);
        let [result, text_key] = ["result", "text"].map(|key| self.document.add_string(key, at));
        let value =
            self.document.add_map(vec![MapEntry { key: text_key, value: written.value }], self.span(written.value));
        let key = self.document.key_text(written.key).to_owned();
        self.replace_entry(tool, written, MapEntry { key: result, value });
        let meant = self.with_outcome(tool, &text).unwrap_or(text);
        let node = self.document.add_string(&meant, self.span(written.value));
        self.document.replace(written.value, node);
        let text = format!("result: {{ text: {} }}", flow_scalar(&meant));
        let place = Span { end: self.span(written.value).end, ..at };
        let is_short = !self.report.sources.text_of(place).contains('\n');
        let diagnostic = self.report.error(Code::UnknownKey, at, format!("unknown key `{key}`"));
        diagnostic.help(format!("write `{text}`"));
        if is_short {
            diagnostic.fix(place, text);
        }
    }

    /// `method`, `path` and others of an operation.
    fn operation(&mut self, tool: NodeId) {
        let entries = self.document.entries_of(tool).unwrap_or_default();
        let keys = |entry: &&MapEntry| OPERATION_KEYS.contains(&self.document.key_text(entry.key));
        let found: Vec<MapEntry> = entries.iter().filter(keys).copied().collect();
        let is_operation = ["method", "path", "operationId", "requestBody", "responses"]
            .iter()
            .any(|key| self.document.entry_of(tool, key).is_some());
        let text_of =
            |key: &str| self.document.entry_of(tool, key).and_then(|entry| self.document.string_of(entry.value));
        let has_url = self.document.entry_of(tool, "url").is_some();
        let Some(first) = found.first().filter(|_| found.len() > 1 && is_operation && !has_url) else { return };
        let method = text_of("method").unwrap_or("GET").to_uppercase();
        let path = text_of("path").unwrap_or("/…").replace('{', "{{").replace('}', "}}");
        let (at, key) = (self.span(first.key), self.document.key_text(first.key).to_owned());
        let help = format!(
            "write `run: {{ http: {{ method: {method}, url: \"https://HOST{path}\" }} }}`; `folio init DIR --openapi FILE` writes all tools of a description"
        );
        self.report
            .error(Code::UnknownKey, at, format!("unknown key `{key}`: it describes an operation of an API"))
            .help(help);
        let mut rest = entries;
        rest.retain(|entry| !found.iter().any(|found| found.key == entry.key));
        let map = self.document.add_map(rest, self.span(tool));
        self.document.replace(tool, map);
        self.read_as_tool(tool, at);
    }

    /// `commands: [npm ci, npm test]`.
    fn command_list(&mut self, tool: NodeId) {
        let run = self.document.entry_of(tool, "run").filter(|run| self.document.entries_of(run.value).is_some());
        let owner = run.map_or(tool, |run| run.value);
        let is_list = |entry: &MapEntry| {
            let items = self.document.items_of(entry.value).unwrap_or_default();
            let texts: Vec<&str> = items.iter().filter_map(|item| self.document.string_of(*item)).collect();
            let is_argv = self.document.key_text(entry.key) == "run" && !texts.iter().any(|text| text.contains(' '));
            !texts.is_empty() && texts.len() == items.len() && !is_argv
        };
        let written = self.document.first_entry_of(owner, COMMAND_LIST_KEYS);
        let Some(written) = written.filter(is_list) else { return };
        let items = self.document.items_of(written.value).unwrap_or_default();
        let texts: Vec<String> =
            items.iter().filter_map(|item| self.document.string_of(*item)).map(command_step).collect();
        let text = format!("run: [{}]", texts.join(", "));
        let (at, key) = (self.span(written.key), self.document.key_text(written.key).to_owned());
        let wrong = run.map_or(written, |run| run);
        let place = Span { end: self.span(wrong.value).end, ..self.span(wrong.key) };
        let is_alone = run.is_none_or(|run| self.document.entries_of(run.value).is_some_and(|keys| keys.len() == 1));
        let is_whole =
            is_alone && !texts.iter().any(|text| text.contains('…')) && !self.raw(written.value).contains('#');
        let message = format!("unexpected list in `{key}`: each command is a step");
        let diagnostic = self.report.error(Code::UnknownKey, at, message).help(format!("write `{text}`"));
        if is_whole {
            diagnostic.fix(place, text);
        }
        let mut entries = self.document.entries_of(tool).unwrap_or_default();
        entries.retain(|entry| entry.key != wrong.key);
        let map = self.document.add_map(entries, self.span(tool));
        self.document.replace(tool, map);
        self.read_as_tool(tool, at);
    }

    /// `handler: ./tool.js`.
    fn one_command(&mut self, tool: NodeId) {
        if ["run", "result"].iter().any(|key| self.document.entry_of(tool, key).is_some()) {
            return;
        }
        let found = self.document.first_entry_of(tool, COMMAND_KEYS);
        let Some(written) = found.filter(|found| self.document.entries_of(found.value).is_none()) else { return };
        let (at, key) = (self.span(written.key), self.document.key_text(written.key).to_owned());
        let items = self.document.items_of(written.value);
        let texts = match (&items, self.document.string_of(written.value)) {
            (Some(items), _) => Some(items.iter().map(|item| self.flow_text(*item)).collect::<Vec<_>>()),
            (None, Some(text)) if text.contains(['/', ' ']) => {
                words(text).map(|words| words.iter().map(|word| flow_scalar(word)).collect())
            }
            _ => None,
        };
        let diagnostic = self.report.error(Code::UnknownKey, at, format!("unknown key `{key}`"));
        match texts.map(|texts| texts.join(", ")).filter(|text| !text.contains('\n')) {
            Some(text) => {
                let text = format!("run: {{ exec: [{text}] }}");
                let place = Span { end: self.document.location(written.value).span().end, ..at };
                diagnostic.help(format!("write `{text}`")).fix(place, text);
            }
            None => {
                diagnostic.help("no function of a program is called: write `run: { exec: [PROGRAM] }`, or `http`");
            }
        }
        self.remove_entry(tool, written);
        self.read_as_tool(tool, at);
    }

    /// Adds an action from which no error follows, where there is none.
    fn read_as_tool(&mut self, tool: NodeId, at: Span) {
        let mut entries = self.document.entries_of(tool).unwrap_or_default();
        if !entries.iter().any(|entry| MapKind::Tool.content_keys().contains(&self.document.key_text(entry.key))) {
            let script = self.document.add_string("script", at);
            let value = self.empty_script(at);
            let value = self.document.add_map(vec![MapEntry { key: script, value }], at);
            entries.push(MapEntry { key: self.document.add_string("run", at), value });
        }
        let is_described = |entry: &MapEntry| {
            ["description", "desc", "summary", "help", "doc"].contains(&self.document.key_text(entry.key))
        };
        if !entries.iter().any(is_described) {
            let [key, value] = ["description", "…"].map(|text| self.document.add_string(text, at));
            entries.push(MapEntry { key, value });
        }
        let map = self.document.add_map(entries, self.span(tool));
        self.document.replace(tool, map);
    }
}

/// A command as a step.
fn command_step(command: &str) -> String {
    match words(command) {
        Some(words) => {
            let words: Vec<String> = words.iter().map(|word| flow_scalar(word)).collect();
            format!("{{ exec: [{}] }}", words.join(", "))
        }
        None if command.contains("{{") || command.contains('\n') => "{ script: { shell: sh, text: … } }".to_owned(),
        None => format!("{{ script: {{ shell: sh, text: {} }} }}", flow_scalar(command)),
    }
}

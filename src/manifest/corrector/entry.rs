//! Keys of prompts, tools and resources that stand one level too high, or have another name elsewhere.

use super::Corrector;
use super::action::{ARGUMENT_KEYS, PROGRAM_KEYS};
use super::kind::MapKind;
use crate::action::ACTIONS;
use crate::diagnostic::{Code, Span};
use crate::yaml::{MapEntry, NodeId};

/// How a file with the text is called elsewhere.
const FILE_KEYS: &[&str] = &["file", "path", "filename", "src", "source", "template_file"];

/// How the folder of a resource is called elsewhere.
const FOLDER_KEYS: &[&str] = &["dir", "directory", "folder"];

/// Keys of a request.
const REQUEST_KEYS: &[&str] =
    &["url", "method", "query", "headers", "auth", "json", "form", "body", "params", "data", "endpoint"];

impl Corrector<'_> {
    /// Arguments, and keys of the entry beside and below `arguments`, that are not indented as they should be.
    pub(super) fn argument_indentation(&mut self, entry: NodeId, kind: MapKind) {
        let Some(arguments) = self.document.entry_of(entry, "arguments") else { return };
        if self.schema_properties(arguments.value).is_some() {
            return;
        }
        if self.is_null(arguments.value) {
            self.unindented_arguments(entry, arguments, kind);
        }
        self.unindented_keys(arguments.value, MapKind::Argument);
        self.nested_entries(arguments.value, MapKind::Argument);
        let content = kind.content_keys();
        if content.iter().any(|key| self.document.entry_of(entry, key).is_some()) {
            return;
        }
        self.nested_keys(entry, arguments, arguments.value, |corrector, key| {
            content.contains(&corrector.document.key_text(key.key)) && corrector.is_content(key.value)
        });
        for argument in self.document.entries_of(arguments.value).unwrap_or_default() {
            self.nested_keys(entry, arguments, argument.value, |corrector, key| {
                content.contains(&corrector.document.key_text(key.key))
            });
        }
    }

    /// Arguments beside `arguments:`, which has no value.
    fn unindented_arguments(&mut self, entry: NodeId, arguments: MapEntry, kind: MapKind) {
        let entries = self.document.entries_of(entry).unwrap_or_default();
        let is_argument = |entry: &&MapEntry| {
            let is_key = kind.keys().contains(&self.document.key_text(entry.key));
            !is_key && self.looks_like(entry.value, MapKind::Argument)
        };
        let behind = entries.iter().skip_while(|entry| entry.key != arguments.key).skip(1);
        let run: Vec<MapEntry> = behind.take_while(is_argument).copied().collect();
        if !run.is_empty() && self.lines_of(&run).is_some() {
            let column = self.column_of(arguments.key).map(|column| column + 2);
            self.report_unindented(&run, arguments.key, column);
            self.move_entries(entry, arguments.value, &run);
        }
    }

    /// Whether a value below `arguments` is that of the entry, and no argument.
    fn is_content(&self, value: NodeId) -> bool {
        match self.document.string_of(value) {
            Some(text) => super::argument::type_of(text).is_none(),
            None => self.document.items_of(value).is_some() || self.looks_like(value, MapKind::Step),
        }
    }

    /// Actions beside the other keys of an entry, which stand in `run`. Returns whether there are any.
    pub(super) fn actions_in_entry(&mut self, entry: NodeId, kind: MapKind) -> bool {
        let run = self.document.entry_of(entry, "run");
        let entries = self.document.entries_of(entry).unwrap_or_default();
        if run.is_some_and(|run| !self.is_null(run.value)) {
            return false;
        }
        let has_program = entries.iter().any(|entry| PROGRAM_KEYS.contains(&self.document.key_text(entry.key)));
        let is_request = ["url", "endpoint"].iter().any(|key| self.document.entry_of(entry, key).is_some());
        let is_part = |entry: &MapEntry| {
            let key = self.document.key_text(entry.key);
            let is_argument = ARGUMENT_KEYS.contains(&key) && self.document.items_of(entry.value).is_some();
            let is_step = MapKind::Step.keys().contains(&key) || PROGRAM_KEYS.contains(&key) || key == "shell";
            let is_other = is_step || is_request && REQUEST_KEYS.contains(&key) && kind == MapKind::Tool;
            is_argument && has_program || is_other && !kind.keys().contains(&key) && !self.is_text_of(entry, kind)
        };
        let moved: Vec<MapEntry> = entries.iter().copied().filter(is_part).collect();
        let is_action = |entry: &MapEntry| {
            let key = self.document.key_text(entry.key);
            let is_known = ACTIONS.iter().any(|action| action.key == key);
            is_known || PROGRAM_KEYS.contains(&key) || ["shell", "url", "endpoint"].contains(&key)
        };
        if !moved.iter().any(is_action) {
            return false;
        }
        match run {
            Some(run) if self.lines_of(&moved).is_some() => {
                let column = self.column_of(run.key).map(|column| column + 2);
                self.report_unindented(&moved, run.key, column);
                self.move_entries(entry, run.value, &moved);
                false
            }
            Some(_) => false,
            None => {
                self.move_to_run(entry, &entries, &moved);
                true
            }
        }
    }

    /// `prompt: Hello` in a prompt, and `file: a.md`, are its text.
    fn is_text_of(&self, entry: &MapEntry, kind: MapKind) -> bool {
        let key = self.document.key_text(entry.key);
        let is_text = self.document.scalar_of(entry.value).is_some();
        is_text && (kind == MapKind::Prompt && key == "prompt" || kind != MapKind::Tool && key == "file")
    }

    /// Reads keys of an entry as those of its `run`, and reports that once.
    fn move_to_run(&mut self, entry: NodeId, entries: &[MapEntry], moved: &[MapEntry]) {
        let Some(first) = moved.first() else { return };
        let at = self.span(first.key);
        let is_request = moved.iter().all(|entry| REQUEST_KEYS.contains(&self.document.key_text(entry.key)));
        let parents: &[&str] = if is_request { &["run", "http"] } else { &["run"] };
        let fix = self.nested(entries, moved, parents);
        let mut run = self.document.add_map(moved.to_vec(), at);
        if is_request {
            let http = self.document.add_string("http", at);
            run = self.document.add_map(vec![MapEntry { key: http, value: run }], at);
        }
        let before = self.report.diagnostics().len();
        self.run(run);
        if self.report.diagnostics().len() == before {
            self.report_outside_run(*first, parents, fix);
        } else {
            self.complete_with_run(entries, moved);
        }
        let mut rest = self.document.entries_of(entry).unwrap_or_default();
        rest.retain(|entry| !moved.iter().any(|moved| moved.key == entry.key));
        rest.push(MapEntry { key: self.document.add_string("run", at), value: run });
        let rest = self.document.add_map(rest, self.span(entry));
        self.document.replace(entry, rest);
    }

    /// Says that what the last diagnostic suggests stands in `run`.
    fn complete_with_run(&mut self, entries: &[MapEntry], moved: &[MapEntry]) {
        let span = match *moved {
            [only] => Some(Span { end: self.span(only.value).end, ..self.span(only.key) }),
            [one, other] => self.span_of_neighbours(entries, one, other),
            _ => None,
        };
        let span = span.filter(|span| !self.report.sources.text_of(*span).contains('\n'));
        let Some(diagnostic) = self.report.last_mut() else { return };
        diagnostic.fix = None;
        let help = diagnostic.help.take().unwrap_or_default();
        let list =
            help.strip_prefix("write `exec: ").or_else(|| help.strip_prefix("write `").filter(|_| help.contains("`[")));
        match list.and_then(|list| list.strip_suffix('`')) {
            Some(list) => {
                let text = format!("run: {{ exec: {list} }}");
                diagnostic.help(format!("write `{text}`"));
                if let Some(span) = span {
                    diagnostic.fix(span, text);
                }
            }
            None => {
                diagnostic.help(format!("{help}, below `run`"));
            }
        }
    }

    fn report_outside_run(&mut self, first: MapEntry, parents: &[&str], fix: Option<(Span, String)>) {
        let (at, key) = (self.span(first.key), self.document.key_text(first.key).to_owned());
        let help = match (&fix, parents.last()) {
            (Some((_, text)), _) if !text.contains('\n') => format!("write `{text}`"),
            (_, Some(&"http")) => "write it in `run: { http: { … } }`".to_owned(),
            _ => format!("write it in `run: {{ {key}: … }}`"),
        };
        let message = format!("unknown key `{key}`: an action stands in `run`");
        let diagnostic = self.report.error(Code::UnknownKey, at, message).help(help);
        if let Some((span, text)) = fix {
            diagnostic.fix(span, text);
        }
    }

    /// The text of neighbouring entries below other keys, and where it is to be written.
    pub(super) fn nested(&self, entries: &[MapEntry], moved: &[MapEntry], parents: &[&str]) -> Option<(Span, String)> {
        let position = |moved: &MapEntry| entries.iter().position(|entry| entry.key == moved.key);
        let positions: Vec<usize> = moved.iter().filter_map(position).collect();
        if positions.windows(2).any(|pair| matches!(pair, [first, second] if first + 1 != *second)) {
            return None;
        }
        if let [only] = moved
            && !self.raw(only.value).contains(['\n', '#'])
        {
            let span = Span { end: self.span(only.value).end, ..self.span(only.key) };
            let opened = parents.iter().map(|parent| format!("{parent}: {{ ")).collect::<String>();
            let closed = " }".repeat(parents.len());
            let (key, value) = (self.raw(only.key), self.flow_text(only.value));
            return Some((span, format!("{opened}{key}: {value}{closed}")));
        }
        let lines = self.lines_of(moved)?;
        let mut text = String::new();
        for (depth, parent) in parents.iter().enumerate() {
            text.push_str(&format!("{}{parent}:\n", " ".repeat(lines.column + 2 * depth)));
        }
        let moved = self.moved_lines(&lines, lines.column + 2 * parents.len())?;
        Some((lines.span, format!("{text}{moved}")))
    }

    /// Keys of a tool that stand beside the key below which they belong.
    pub(super) fn tool_keys(&mut self, tool: NodeId) {
        self.nest_keys(tool, "annotations", &["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]);
        match self.document.entry_of(tool, "result").map(|result| result.value) {
            None => {
                self.output_names(tool);
                self.nest_keys(tool, "result", &["text", "select", "structuredContent"]);
            }
            Some(result) if self.document.entry_of(result, "select").is_none() => {
                self.nest_keys(tool, "result", &["select"]);
            }
            Some(_) => {}
        }
        let result =
            ["result", "output", "returns"].into_iter().find(|key| self.document.entry_of(tool, key).is_some());
        self.with_value_of(tool, result.unwrap_or("result"), |corrector, result| corrector.text_as_key(result, "text"));
    }

    /// `{{stdout}}` in the text of a tool: the place of the text is reported, and so its name is not.
    fn output_names(&mut self, tool: NodeId) {
        let Some(text) = self.document.entry_of(tool, "text") else { return };
        let Some(written) = self.document.string_of(text.value).map(str::to_owned) else { return };
        if let Some(meant) = self.with_outcome(tool, &written).filter(|_| !self.raw(text.value).contains('\n')) {
            let node = self.document.add_string(&meant, self.span(text.value));
            self.document.replace(text.value, node);
        }
    }

    /// A text with `{{result.stdout}}` for `{{stdout}}`, where the tool runs one program, and the text has it.
    pub(super) fn with_outcome(&self, tool: NodeId, text: &str) -> Option<String> {
        let run = self.document.entry_of(tool, "run")?;
        let is_program = |key: &&str| self.document.entry_of(run.value, key).is_some();
        ["exec", "script"].iter().find(|key| is_program(key))?;
        let mut meant = text.to_owned();
        for (name, field) in [("stdout", "stdout"), ("output", "stdout"), ("stderr", "stderr")] {
            for (open, close) in [("{{", "}}"), ("{{ ", " }}")] {
                meant = meant.replace(&format!("{open}{name}{close}"), &format!("{open}result.{field}{close}"));
            }
        }
        (meant != text).then_some(meant)
    }

    /// A file or a folder under the name that it has elsewhere.
    pub(super) fn content_keys(&mut self, entry: NodeId, kind: MapKind) {
        if kind.content_keys().iter().any(|key| self.document.entry_of(entry, key).is_some()) {
            return;
        }
        let find = |keys: &[&str]| self.document.first_entry_of(entry, keys);
        let is_text = |found: &MapEntry| self.document.scalar_of(found.value).is_some();
        match kind {
            MapKind::Prompt => {
                if let Some(file) = find(FILE_KEYS).filter(is_text) {
                    self.text_file(entry, file);
                }
            }
            MapKind::Resource => {
                if let Some(folder) = find(FOLDER_KEYS).filter(is_text) {
                    self.rename_key(entry, folder, "root");
                } else if let Some(file) = find(FILE_KEYS).filter(is_text) {
                    let is_root = self.uri_has_path(entry);
                    self.rename_key(entry, file, if is_root { "root" } else { "file" });
                }
            }
            _ => {}
        }
    }

    /// Whether the URI of a resource stands for any path, as that of a folder does.
    fn uri_has_path(&self, resource: NodeId) -> bool {
        let uri = self.document.entry_of(resource, "uri").and_then(|uri| self.document.string_of(uri.value));
        uri.is_some_and(|uri| uri.contains("{+"))
    }

    /// `file: a.md` in the place of `text: { file: a.md }`.
    fn text_file(&mut self, entry: NodeId, file: MapEntry) {
        let (at, name) = (self.span(file.key), self.document.key_text(file.key).to_owned());
        let text = format!("text: {{ file: {} }}", self.flow_text(file.value));
        let span = Span { end: self.span(file.value).end, ..at };
        self.report
            .error(Code::UnknownKey, at, format!("unknown key `{name}`"))
            .help(format!("write `{text}`"))
            .fix(span, text);
        let [text_key, file_key] = ["text", "file"].map(|key| self.document.add_string(key, at));
        let inner = self.document.add_map(vec![MapEntry { key: file_key, value: file.value }], span);
        self.replace_entry(entry, file, MapEntry { key: text_key, value: inner });
    }

    /// A key that has another name here.
    pub(super) fn rename_key(&mut self, map: NodeId, written: MapEntry, name: &str) {
        let (at, wrong) = (self.span(written.key), self.document.key_text(written.key).to_owned());
        let diagnostic = self.report.error(Code::UnknownKey, at, format!("unknown key `{wrong}`"));
        diagnostic.help(format!("write `{name}`")).fix(at, name);
        let key = self.document.add_string(name, at);
        self.replace_entry(map, written, MapEntry { key, value: written.value });
    }

    /// Reads another entry in the place of one.
    pub(super) fn replace_entry(&mut self, map: NodeId, written: MapEntry, meant: MapEntry) {
        let mut entries = self.document.entries_of(map).unwrap_or_default();
        entries.iter_mut().filter(|entry| entry.key == written.key).for_each(|entry| *entry = meant);
        let node = self.document.add_map(entries, self.span(map));
        self.document.replace(map, node);
    }
}

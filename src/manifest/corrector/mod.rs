//! Values of a shape that other formats give them: lists of what has a name, a text where a map is due, messages with a
//! `role`. Each is reported once, with what to write, and then read as what it was meant to be, so that nothing follows
//! from it.
//!
//! What is not here: values of no known form, which the deserializer reports.

mod action;
mod argument;
mod unnested_keys;
mod call;
mod comment;
mod entry;
mod expectation;
mod foreign_file;
mod foreign_tool;
mod indentation;
mod interpreter;
mod json_schema;
mod kind;
mod layout;
mod message;
mod named_list;
mod pack;
mod prompt_keys;
mod question;
mod request;
mod runner_step;
mod script;
mod section;
mod text;
mod top_level;
mod type_expression;

use crate::diagnostic::{Code, Diagnostic, Report, Span};
use crate::yaml::{Document, MapEntry, NodeId, flow_scalar};

use kind::MapKind;
use text::scalar_as_written;

/// Reads the entries of a manifest or a fragment.
pub fn correct_entries(document: &mut Document, report: &mut Report) {
    let root = document.root();
    Corrector { document, report }.manifest(root);
}

/// Reads the front matter of a prompt file.
pub fn correct_prompt(document: &mut Document, report: &mut Report) {
    let root = document.root();
    let mut corrector = Corrector { document, report };
    corrector.texts_cut_by_comment(root);
    corrector.entry(root, MapKind::Prompt);
}

struct Corrector<'a> {
    document: &'a mut Document,
    report: &'a mut Report,
}

/// What a value was meant to be.
struct Correction {
    /// The right form, as text in the place of the value.
    text: String,
    /// Whether nothing else can be meant.
    is_certain: bool,
    /// The node with the right form.
    node: NodeId,
}

impl Corrector<'_> {
    fn manifest(&mut self, root: NodeId) {
        self.foreign_file(root);
        self.texts_cut_by_comment(root);
        self.indentation(root);
        self.top_level(root);
        self.with_value_of(root, "server", |corrector, value| corrector.text_as_key(value, "name"));
        self.with_value_of(root, "env", |corrector, value| {
            corrector.assigned_variables(value);
            corrector.named_list_as_map(value, "env");
        });
        self.with_value_of(root, "skills", |corrector, value| corrector.text_as_key(value, "dir"));
        self.with_value_of(root, "packs", Corrector::packs);
        self.with_value_of(root, "folders", Corrector::folder_list);
        self.with_value_of(root, "tests", |corrector, tests| {
            for test in corrector.document.entries_of(tests).unwrap_or_default() {
                corrector.test(test.value);
            }
        });
        for kind in [MapKind::Prompt, MapKind::Tool, MapKind::Resource] {
            self.section_path(root, kind);
            self.with_value_of(root, kind.section(), |corrector, entries| {
                corrector.texts_as_map(entries, kind);
                corrector.function_list(entries);
                corrector.named_list_as_map(entries, kind.section());
                for entry in corrector.document.entries_of(entries).unwrap_or_default() {
                    match kind {
                        MapKind::Prompt => corrector.prompt_text(entry.value),
                        MapKind::Tool => corrector.tool_text(entry.value),
                        _ => {}
                    }
                    corrector.entry(entry.value, kind);
                }
            });
        }
    }

    /// A prompt, a tool or a resource.
    fn entry(&mut self, entry: NodeId, kind: MapKind) {
        self.argument_indentation(entry, kind);
        if kind == MapKind::Tool {
            self.foreign_tool(entry);
        }
        let is_moved = self.actions_in_entry(entry, kind);
        self.content_keys(entry, kind);
        match kind {
            MapKind::Prompt => self.prompt_keys(entry),
            MapKind::Tool => self.tool_keys(entry),
            _ => {}
        }
        self.schema_keys(entry, kind);
        if let Some(arguments) = self.arguments_key(entry, kind) {
            let before = self.report.diagnostics().len();
            self.parameter_list(arguments.value);
            self.named_list_as_map(arguments.value, "arguments");
            self.json_schema(arguments.value);
            self.required_among_arguments(arguments.value);
            for argument in self.document.entries_of(arguments.value).unwrap_or_default() {
                self.named_argument(arguments.value, argument);
            }
            self.rename_with_value(entry, arguments, before);
        }
        self.with_value_of(entry, "messages", Corrector::messages);
        if !is_moved && !self.correct_workflow_steps(entry) {
            self.nested_in_run(entry, kind);
            self.with_value_of(entry, "run", Corrector::run);
        }
    }

    /// A text where a map is due, whose most important key is `key`.
    fn text_as_key(&mut self, node: NodeId, key: &str) {
        if self.document.string_of(node).is_some() {
            self.wrap(node, key, true);
        }
    }

    fn wrap(&mut self, node: NodeId, key: &str, is_certain: bool) {
        let span = self.span(node);
        let written = self.raw(node).to_owned();
        let value = match self.document.scalar_of(node) {
            Some(text) => scalar_as_written(&written, text),
            None => written.clone(),
        };
        let key_node = self.document.add_string(key, span);
        let value_node = self.document.add_copy(node);
        let map = self.document.add_map(vec![MapEntry { key: key_node, value: value_node }], span);
        let text = format!("{{ {key}: {value} }}");
        let is_certain = is_certain && !written.contains('\n');
        self.replace(node, "a map", Correction { text, is_certain, node: map });
    }

    /// A scalar where a list is due.
    fn scalar_as_list(&mut self, node: NodeId) {
        let Some(text) = self.document.scalar_of(node).map(str::to_owned) else { return };
        let (span, written) = (self.span(node), self.raw(node).to_owned());
        let item = self.document.add_copy(node);
        let list = self.document.add_list(vec![item], span);
        let is_text = self.document.string_of(node).is_some();
        let text = if is_text { scalar_as_written(&written, &text) } else { written.clone() };
        let text = format!("[{text}]");
        self.replace(node, "a list", Correction { text, is_certain: !written.contains('\n'), node: list });
    }

    /// Reports a value of the wrong shape, and reads it as what is meant.
    fn replace(&mut self, node: NodeId, expected: &str, correction: Correction) {
        let message = format!("expected {expected}, found {}", self.describe(node));
        let (span, suggestion_text) = (self.span(node), self.suggestion(node, &correction.text));
        let diagnostic = self.report.error(Code::WrongType, span, message);
        suggest(diagnostic, span, &correction, &suggestion_text);
        self.document.replace(node, correction.node);
    }

    /// The help that shows a text to write in the place of a node.
    fn suggestion(&self, node: NodeId, text: &str) -> String {
        if !text.contains('\n') {
            return format!("write `{text}`");
        }
        let span = self.span(node);
        let column = self.report.sources.get(span.file).map_or(1, |source| source.position(span.start).column);
        let first = " ".repeat((column as usize).saturating_sub(1));
        let whole = format!("{first}{text}");
        let indent_of = |line: &str| line.len() - line.trim_start().len();
        let indent = whole.lines().filter(|line| !line.trim().is_empty()).map(indent_of).min().unwrap_or_default();
        let lines: Vec<&str> = whole.lines().map(|line| line.get(indent..).unwrap_or_default().trim_end()).collect();
        format!("write\n{}", lines.join("\n"))
    }

    fn describe(&self, node: NodeId) -> String {
        match (self.document.items_of(node), self.document.entries_of(node)) {
            (Some(_), _) => "a list".to_owned(),
            (_, Some(_)) => "a map".to_owned(),
            _ if self.document.string_of(node).is_some() => "a string".to_owned(),
            _ => format!("`{}`", self.document.scalar_of(node).unwrap_or("null")),
        }
    }

    /// Reads the value of a key, if it is there.
    fn with_value_of(&mut self, map: NodeId, key: &str, read: impl FnOnce(&mut Self, NodeId)) {
        if let Some(entry) = self.document.entry_of(map, key) {
            read(self, entry.value);
        }
    }

    /// Whether there is no value.
    fn is_null(&self, node: NodeId) -> bool {
        self.document.json(node).is_null()
    }

    /// A value as an item of a list in flow style, quoted as it is written.
    fn flow_text(&self, node: NodeId) -> String {
        let written = self.raw(node);
        let is_quoted =
            |text: &str| [format!("\"{text}\""), format!("'{text}'")].iter().any(|quoted| quoted == written);
        let is_block = !written.starts_with(['{', '[', '&', '*']) && !written.contains('\n');
        match self.document.string_of(node) {
            Some(text) if !is_quoted(text) => flow_scalar(text),
            None if is_block && self.document.entries_of(node).is_some() => format!("{{ {written} }}"),
            None if is_block && self.document.items_of(node).is_some() => {
                format!("[{}]", written.trim_start_matches('-').trim_start())
            }
            _ => written.to_owned(),
        }
    }

    fn span(&self, node: NodeId) -> Span {
        self.document.location(node).span()
    }

    /// The text of a node as it is written.
    fn raw(&self, node: NodeId) -> &str {
        self.report.sources.text_of(self.span(node))
    }
}

/// Shows what to write: in the place of the value where that is certain.
fn suggest(diagnostic: &mut Diagnostic, span: Span, correction: &Correction, suggestion_text: &str) {
    diagnostic.help(suggestion_text);
    if correction.is_certain {
        diagnostic.fix(span, correction.text.clone());
    }
}

//! Steps that call a tool or a prompt of this server, as other formats write them.

use super::Corrector;
use super::action::ARGUMENT_KEYS;
use crate::diagnostic::{Code, Span};
use crate::yaml::{MapEntry, NodeId};

/// How `tool` is called elsewhere.
const CALL_KEYS: &[&str] = &["call", "call_tool", "callTool", "invoke", "uses", "use"];

/// How the arguments of a call are called elsewhere.
const INPUT_KEYS: &[&str] = &["with", "input", "inputs", "vars"];

impl Corrector<'_> {
    /// `tool: NAME` with `arguments` beside it, and `call: NAME`.
    pub(super) fn call(&mut self, step: NodeId) {
        let find = |keys: &[&str]| self.document.first_entry_of(step, keys);
        let Some(call) = find(&["tool", "prompt"]).or_else(|| find(CALL_KEYS)) else { return };
        let arguments = find(ARGUMENT_KEYS).or_else(|| find(INPUT_KEYS));
        let key = self.document.key_text(call.key).to_owned();
        let meant = if key == "prompt" { "prompt" } else { "tool" };
        self.reference_keys(call.value);
        let arguments = arguments.filter(|arguments| self.document.entries_of(arguments.value).is_some());
        match (self.document.string_of(call.value).map(str::to_owned), arguments) {
            (Some(_), Some(arguments)) => self.call_with_arguments(step, call, arguments, meant),
            _ if key != meant => self.rename_key(step, call, meant),
            _ => {}
        }
    }

    /// `{ tool: search }` in the place of `{ name: search }`.
    fn reference_keys(&mut self, reference: NodeId) {
        let has_name = self.document.entry_of(reference, "name").is_some();
        let find = |keys: &[&str]| self.document.first_entry_of(reference, keys);
        let Some(name) = find(&["tool", "prompt"]).or_else(|| find(CALL_KEYS)).filter(|_| !has_name) else { return };
        self.rename_key(reference, name, "name");
    }

    fn call_with_arguments(&mut self, step: NodeId, call: MapEntry, arguments: MapEntry, meant: &str) {
        let wrong = if self.document.key_text(call.key) == meant { arguments } else { call };
        let (at, key) = (self.span(wrong.key), self.document.key_text(wrong.key).to_owned());
        let (name, values) = (self.flow_text(call.value), self.flow_text(arguments.value));
        let is_short = !values.contains('\n');
        let text = match is_short {
            true => format!("{meant}: {{ name: {name}, arguments: {values} }}"),
            false => format!("{meant}: {{ name: {name}, arguments: {{ … }} }}"),
        };
        let fix = self.span_of_pair(step, call, arguments).filter(|_| is_short);
        let diagnostic = self.report.error(Code::UnknownKey, at, format!("unknown key `{key}`"));
        diagnostic.help(format!("write `{text}`"));
        if let Some(span) = fix {
            diagnostic.fix(span, text);
        }
        let span = self.span(call.value);
        let [name_key, arguments_key, meant] =
            ["name", "arguments", meant].map(|text| self.document.add_string(text, at));
        let name = self.document.add_copy(call.value);
        let entries =
            vec![MapEntry { key: name_key, value: name }, MapEntry { key: arguments_key, value: arguments.value }];
        let reference = self.document.add_map(entries, span);
        let mut rest = self.document.entries_of(step).unwrap_or_default();
        rest.retain(|entry| entry.key != arguments.key);
        let map = self.document.add_map(rest, self.span(step));
        self.document.replace(step, map);
        self.replace_entry(step, call, MapEntry { key: meant, value: reference });
    }

    /// From the key of the first of two entries to the end of the second, if they are neighbours.
    pub(super) fn span_of_pair(&self, map: NodeId, one: MapEntry, other: MapEntry) -> Option<Span> {
        self.span_of_neighbours(&self.document.entries_of(map)?, one, other)
    }

    /// From the first to the last of entries that stand side by side, without a comment among them.
    pub(super) fn span_of_run(&self, map: NodeId, parts: &[MapEntry]) -> Option<Span> {
        let entries = self.document.entries_of(map)?;
        let position = |part: &MapEntry| entries.iter().position(|entry| entry.key == part.key);
        let mut positions = parts.iter().map(position).collect::<Option<Vec<usize>>>()?;
        positions.sort_unstable();
        let (first, last) = (*positions.first()?, *positions.last()?);
        let (start, end) = (self.span(entries.get(first)?.key), self.span(entries.get(last)?.value));
        let span = Span { end: end.end, ..start };
        let is_run = last - first + 1 == parts.len();
        (is_run && !self.report.sources.text_of(span).contains('#')).then_some(span)
    }

    pub(super) fn span_of_neighbours(&self, entries: &[MapEntry], one: MapEntry, other: MapEntry) -> Option<Span> {
        let position = |wanted: MapEntry| entries.iter().position(|entry| entry.key == wanted.key);
        let (first, second) = match (position(one)?, position(other)?) {
            (first, second) if first + 1 == second => (one, other),
            (second, first) if first + 1 == second => (other, one),
            _ => return None,
        };
        let span = Span { end: self.span(second.value).end, ..self.span(first.key) };
        (!self.report.sources.text_of(span).contains('#')).then_some(span)
    }
}

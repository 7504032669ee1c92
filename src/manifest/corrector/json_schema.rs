//! A JSON Schema of an object, as MCP and the APIs of models have it, where arguments by name are due.

use super::Corrector;
use super::kind::MapKind;
use crate::diagnostic::{Code, Span};
use crate::yaml::{MapEntry, NodeId};

/// How `arguments` is called elsewhere.
const ARGUMENTS_KEYS: &[&str] =
    &["arguments", "parameters", "params", "args", "inputs", "variables", "vars", "input_variables", "inputVariables"];

/// How the schema of a prompt's arguments is called elsewhere; a tool has `inputSchema`.
const SCHEMA_KEYS: &[&str] = &["inputSchema", "input_schema", "schema"];

/// The longest map of arguments that is shown on one line.
const MAX_SHOWN_BYTES: usize = 160;

impl Corrector<'_> {
    /// The entry of the arguments, under the name that it has here or elsewhere.
    pub(super) fn arguments_key(&self, entry: NodeId, kind: MapKind) -> Option<MapEntry> {
        let find = |keys: &[&str]| self.document.first_entry_of(entry, keys);
        let schema = find(SCHEMA_KEYS).filter(|schema| self.schema_properties(schema.value).is_some());
        find(ARGUMENTS_KEYS).or_else(|| schema.filter(|_| kind == MapKind::Prompt))
    }

    /// Reads the `properties` of a JSON Schema as the arguments.
    pub(super) fn json_schema(&mut self, arguments: NodeId) {
        let Some(properties) = self.schema_properties(arguments) else { return };
        let required = self.document.entry_of(arguments, "required");
        let required = required.map(|required| self.names_in(required.value)).unwrap_or_default();
        let span = self.span(arguments);
        let at = self.document.entry_of(arguments, "properties").map_or(span, |entry| self.span(entry.key));
        let (text, node) = self.arguments_of(&properties, &required, span);
        let is_short = is_short(&text);
        let is_whole = is_short && !self.raw(arguments).contains('#');
        let diagnostic = self.report.error(Code::WrongType, at, "expected the arguments by name, found a JSON Schema");
        diagnostic.help(help(&text));
        if is_whole {
            diagnostic.fix(span, text);
        }
        self.document.replace(arguments, node);
    }

    /// The properties, unless `properties` is an argument of that name.
    pub(super) fn schema_properties(&self, arguments: NodeId) -> Option<Vec<MapEntry>> {
        let properties = self.document.entries_of(self.document.entry_of(arguments, "properties")?.value)?;
        let kind = self.document.entry_of(arguments, "type");
        let is_object = kind.is_some_and(|kind| self.document.string_of(kind.value) == Some("object"));
        let required = self.document.entry_of(arguments, "required");
        let is_list = required.is_some_and(|required| self.document.items_of(required.value).is_some());
        (is_object || is_list).then_some(properties)
    }

    /// `properties`, and `required` as a list, beside the other keys of a prompt or a tool.
    pub(super) fn schema_keys(&mut self, entry: NodeId, kind: MapKind) {
        let properties = self.document.entry_of(entry, "properties");
        let properties = properties.filter(|entry| self.document.entries_of(entry.value).is_some());
        let required = self.document.entry_of(entry, "required");
        let required = required.filter(|required| self.document.items_of(required.value).is_some());
        let arguments = self.document.entry_of(entry, "arguments");
        let has_schema = ["inputSchema", "input_schema"].iter().any(|key| self.document.entry_of(entry, key).is_some());
        let Some(first) = properties.or(required).filter(|_| kind != MapKind::Resource) else { return };
        if properties.is_some() && arguments.is_some() || has_schema {
            return;
        }
        let names = required.map(|required| self.names_in(required.value)).unwrap_or_default();
        let at = self.span(first.key);
        let owner = properties.or(arguments);
        let known = owner.and_then(|owner| self.document.entries_of(owner.value));
        if known.is_none() && owner.is_some() {
            return;
        }
        let known = known.unwrap_or_else(|| self.empty_arguments(&names, at));
        let (text, node) = self.arguments_of(&known, &names, at);
        let object = self.document.entry_of(entry, "type");
        let object = object.filter(|kind| self.document.string_of(kind.value) == Some("object"));
        let parts: Vec<MapEntry> = [object, properties, required, arguments].into_iter().flatten().collect();
        let place = self.span_of_run(entry, &parts);
        let key = self.document.key_text(first.key).to_owned();
        let message = match key.as_str() {
            "required" => "unknown key `required`: each argument says so itself".to_owned(),
            key => format!("unknown key `{key}`: arguments stand in `arguments` by name"),
        };
        let is_short = is_short(&text);
        let diagnostic = self.report.error(Code::UnknownKey, at, message).help(help(&text));
        if let Some(place) = place.filter(|_| is_short) {
            diagnostic.fix(place, format!("arguments: {text}"));
        }
        let mut rest = self.document.entries_of(entry).unwrap_or_default();
        rest.retain(|entry| !parts.iter().any(|part| part.key == entry.key));
        rest.push(MapEntry { key: self.document.add_string("arguments", at), value: node });
        let rest = self.document.add_map(rest, self.span(entry));
        self.document.replace(entry, rest);
    }

    /// `required: [who]` among the arguments.
    pub(super) fn required_among_arguments(&mut self, arguments: NodeId) {
        let Some(required) = self.document.entry_of(arguments, "required") else { return };
        let mut others = self.document.entries_of(arguments).unwrap_or_default();
        others.retain(|other| other.key != required.key);
        let names = self.names_in(required.value);
        let is_argument = |name: &String| others.iter().any(|other| self.document.key_text(other.key) == name);
        if names.is_empty() || !names.iter().all(is_argument) {
            return;
        }
        let (at, span) = (self.span(required.key), self.span(arguments));
        let (text, node) = self.arguments_of(&others, &names, span);
        let is_whole = is_short(&text) && !self.raw(arguments).contains('#');
        let message = "unknown argument `required`: each argument says so itself";
        let diagnostic = self.report.error(Code::UnknownKey, at, message).help(help(&text));
        if is_whole {
            diagnostic.fix(span, text);
        }
        self.document.replace(arguments, node);
    }

    /// Parameters as OpenAPI lists them: with `in` and a `schema`.
    pub(super) fn parameter_list(&mut self, list: NodeId) {
        let items = self.document.items_of(list).unwrap_or_default();
        let is_parameter = |item: &NodeId| {
            let has = |key: &str| self.document.entry_of(*item, key).is_some();
            has("name") && (has("in") || has("schema"))
        };
        if items.is_empty() || !items.iter().all(is_parameter) {
            return;
        }
        let span = self.span(list);
        let mut required = Vec::new();
        let mut properties = Vec::new();
        for item in items {
            let find = |key: &str| self.document.entry_of(item, key);
            let Some(name) = find("name") else { continue };
            let schema = find("schema").and_then(|schema| self.document.entries_of(schema.value)).unwrap_or_default();
            let keys: Vec<MapEntry> = [find("description")].into_iter().flatten().chain(schema).collect();
            let is_required = find("required").is_some_and(|required| self.document.json(required.value) == true);
            required.extend(self.document.string_of(name.value).filter(|_| is_required).map(str::to_owned));
            properties.push(MapEntry { key: name.value, value: self.document.add_map(keys, self.span(item)) });
        }
        let (text, node) = self.arguments_of(&properties, &required, span);
        let is_whole = is_short(&text) && !self.raw(list).contains('#');
        let diagnostic = self.report.error(Code::WrongType, span, "expected a map, found a list").help(help(&text));
        if is_whole {
            diagnostic.fix(span, text);
        }
        self.document.replace(list, node);
    }

    /// Reads a key that has another name elsewhere as `arguments`, where its value is wrong too: both are one mistake.
    pub(super) fn rename_with_value(&mut self, entry: NodeId, written: MapEntry, before: usize) {
        let key = self.document.key_text(written.key).to_owned();
        if key == "arguments" || self.report.diagnostics().len() == before {
            return;
        }
        let reported = self.report.diagnostics().get(before).cloned();
        self.report.truncate(before);
        let (at, span) = (self.span(written.key), self.span(written.value));
        let fix = reported.as_ref().and_then(|reported| reported.fix.clone());
        let fix = fix.filter(|fix| fix.is_certain && fix.span == span && span.start > at.end).and_then(|fix| {
            let source = self.report.sources.get(at.file)?.text();
            let between = source.get(at.end as usize..span.start as usize)?;
            let is_flow = fix.text.starts_with('{');
            let text =
                if is_flow { format!("arguments: {}", fix.text) } else { format!("arguments{between}{}", fix.text) };
            Some((Span { end: span.end, ..at }, text))
        });
        let help = match (&fix, reported.and_then(|reported| reported.help)) {
            (Some((_, text)), _) if !text.contains('\n') => format!("write `{text}`"),
            (_, Some(help)) if help.starts_with("write `arguments") => help,
            (_, Some(help)) => help.replacen("write", "write `arguments`, and as its value", 1),
            (_, None) => "write `arguments`".to_owned(),
        };
        let diagnostic = self.report.error(Code::UnknownKey, at, format!("unknown key `{key}`")).help(help);
        if let Some((place, text)) = fix {
            diagnostic.fix(place, text);
        }
        let key = self.document.add_string("arguments", at);
        self.replace_entry(entry, written, MapEntry { key, value: written.value });
    }

    /// The texts in a list.
    fn names_in(&self, list: NodeId) -> Vec<String> {
        let items = self.document.items_of(list).unwrap_or_default();
        items.into_iter().filter_map(|item| self.document.string_of(item).map(str::to_owned)).collect()
    }

    fn empty_arguments(&mut self, names: &[String], at: Span) -> Vec<MapEntry> {
        let argument = |name: &String| MapEntry {
            key: self.document.add_string(name, at),
            value: self.document.add_map(Vec::new(), at),
        };
        names.iter().map(argument).collect()
    }

    /// Arguments, of which some are required: as a text in flow style, and as a node.
    fn arguments_of(&mut self, properties: &[MapEntry], required: &[String], span: Span) -> (String, NodeId) {
        let mut entries = Vec::new();
        let mut texts = Vec::new();
        for property in properties {
            let name = self.document.key_text(property.key).to_owned();
            let is_required = required.contains(&name);
            texts.push(format!("{name}: {}", self.argument_yaml(property.value, is_required)));
            entries.push(MapEntry { key: property.key, value: self.argument_of(property.value, is_required) });
        }
        let text = if texts.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", texts.join(", ")) };
        (text, self.document.add_map(entries, span))
    }

    /// The argument with `required: true`, where it is due.
    fn argument_of(&mut self, property: NodeId, is_required: bool) -> NodeId {
        let is_map = self.document.entries_of(property).is_some() || self.is_null(property);
        if !is_required || !is_map {
            return property;
        }
        let span = self.span(property);
        let mut entries = self.document.entries_of(property).unwrap_or_default();
        entries.retain(|entry| self.document.key_text(entry.key) != "required");
        let key = self.document.add_string("required", span);
        entries.push(MapEntry { key, value: self.document.add_plain(true, span) });
        self.document.add_map(entries, span)
    }

    fn argument_yaml(&self, property: NodeId, is_required: bool) -> String {
        let mut entries = self.document.entries_of(property).unwrap_or_default();
        entries.retain(|entry| !is_required || self.document.key_text(entry.key) != "required");
        let mut parts: Vec<String> = entries
            .iter()
            .map(|entry| format!("{}: {}", self.document.key_text(entry.key), self.flow_text(entry.value)))
            .collect();
        parts.extend(is_required.then(|| "required: true".to_owned()));
        if parts.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", parts.join(", ")) }
    }
}

fn is_short(text: &str) -> bool {
    !text.contains('\n') && text.len() <= MAX_SHOWN_BYTES
}

fn help(text: &str) -> String {
    match is_short(text) {
        true => format!("write `arguments: {text}`"),
        false => "write each of them under `arguments`, as `NAME: { type: string, required: true }`".to_owned(),
    }
}

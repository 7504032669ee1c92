//! Arguments, and keys of their schemas, as other formats write them.

use super::text::scalar_as_written;
use super::{Correction, Corrector, type_expression};
use crate::diagnostic::{Code, Span, quote_names};
use crate::value_types::is_identifier;
use crate::yaml::{MapEntry, NodeId, flow_scalar};

/// The types of JSON Schema, each with its names in other languages.
const TYPES: &[(&str, &[&str])] = &[
    ("string", &["str", "text", "String"]),
    ("number", &["float", "double", "Number"]),
    ("integer", &["int", "Integer"]),
    ("boolean", &["bool", "Boolean"]),
    ("array", &["list", "List", "Array"]),
    ("object", &["dict", "map", "Object"]),
];

/// The type of JSON Schema that a word means.
pub(super) fn type_of(word: &str) -> Option<&'static str> {
    TYPES.iter().find(|(name, others)| *name == word || others.contains(&word)).map(|(name, _)| *name)
}

/// Whether a text names a file.
pub(super) fn names_file(text: &str) -> bool {
    let is_path = |extension| text.ends_with(extension);
    let is_word = !text.contains(char::is_whitespace) && !text.contains("{{");
    is_word && [".md", ".txt", ".hbs", ".prompt", ".j2", ".yaml", ".yml", ".json"].into_iter().any(is_path)
}

impl Corrector<'_> {
    /// An argument by its name, which elsewhere may end in `?`.
    pub(super) fn named_argument(&mut self, arguments: NodeId, argument: MapEntry) {
        let key = self.document.key_text(argument.key);
        let Some(name) = key.strip_suffix('?').filter(|name| is_identifier(name)).map(str::to_owned) else {
            return self.argument(argument);
        };
        if self.document.entry_of(arguments, &name).is_some() {
            return;
        }
        let (at, span) = (self.span(argument.key), self.span(argument.value));
        let written = self.raw(argument.value).to_owned();
        let meant = MapEntry { key: self.document.add_string(&name, at), value: argument.value };
        self.replace_entry(arguments, argument, meant);
        let before = self.report.diagnostics().len();
        self.argument(meant);
        let fix = self.report.diagnostics().get(before).and_then(|diagnostic| diagnostic.fix.clone());
        self.report.truncate(before);
        let value = fix.filter(|fix| fix.span == span).map_or(written, |fix| fix.text);
        let is_short = !value.contains('\n');
        let (place, text) = match is_short {
            true if span.start > at.start => (Span { end: span.end, ..at }, format!("{name}: {value}")),
            _ => (at, name.clone()),
        };
        let message = format!("invalid argument name `{name}?`");
        self.report
            .error(Code::BadName, at, message)
            .help(format!("write `{text}`: an argument is optional unless it says `required: true`"))
            .fix(place, text);
    }

    /// An argument: a map, or what stands for one elsewhere.
    fn argument(&mut self, argument: MapEntry) {
        let value = argument.value;
        if self.document.entries_of(value).is_some() {
            return self.argument_keys(value);
        }
        if self.document.items_of(value).is_some_and(|items| self.are_scalars(&items) && !items.is_empty()) {
            return self.wrap(value, "enum", true);
        }
        let Some(text) = self.document.string_of(value).map(str::to_owned) else {
            return self.default_value(value);
        };
        // `type: object` may be the beginning of a whole JSON Schema.
        let is_certain = self.document.key_text(argument.key) != "type";
        match type_of(&text) {
            Some(name) if name == text => self.wrap(value, "type", is_certain),
            Some(name) => self.argument_as(value, "type", name.into(), is_certain),
            None if text == "required" => self.argument_as(value, "required", true.into(), true),
            None if text == "optional" => self.argument_as(value, "required", false.into(), true),
            None if self.type_expression(value, &text) => {}
            None if names_file(&text) => self.wrap(value, "default", false),
            None if self.typed_description(value, &text) => {}
            None => self.wrap(value, "description", false),
        }
    }

    /// `string[]` and `low | high`.
    fn type_expression(&mut self, node: NodeId, text: &str) -> bool {
        let Some(found) = type_expression::read(text) else { return false };
        let span = self.span(node);
        let kind = found.kind.map(|kind| {
            let [key, value] = ["type", kind].map(|text| self.document.add_string(text, span));
            MapEntry { key, value }
        });
        let map = self.document.add_map(kind.into_iter().collect(), span);
        let correction = Correction { text: format!("{{ {} }}", found.text), is_certain: true, node: map };
        self.replace(node, "a map", correction);
        true
    }

    /// `string, the person`, as dotprompt has it.
    fn typed_description(&mut self, node: NodeId, text: &str) -> bool {
        let Some((word, rest)) = text.split_once(',') else { return false };
        let Some(kind) = type_of(word.trim()) else { return false };
        let (span, rest) = (self.span(node), rest.trim());
        let texts = ["type", kind, "description", rest].map(|text| self.document.add_string(text, span));
        let [type_key, kind_node, description_key, description] = texts;
        let entries =
            vec![MapEntry { key: type_key, value: kind_node }, MapEntry { key: description_key, value: description }];
        let map = self.document.add_map(entries, span);
        let text = format!("{{ type: {kind}, description: {} }}", flow_scalar(rest));
        self.replace(node, "a map", Correction { text, is_certain: !rest.contains('\n'), node: map });
        true
    }

    fn are_scalars(&self, items: &[NodeId]) -> bool {
        items.iter().all(|item| self.document.scalar_of(*item).is_some())
    }

    /// `limit: 10`.
    fn default_value(&mut self, node: NodeId) {
        let value = self.document.json(node);
        let (kind, is_number) = match &value {
            serde_json::Value::Number(number) if number.is_i64() => ("integer", true),
            serde_json::Value::Number(_) => ("number", true),
            serde_json::Value::Bool(_) => ("boolean", false),
            _ => return,
        };
        let text =
            if is_number { format!("{{ type: {kind}, default: {value} }}") } else { "{ required: true }".to_owned() };
        let span = self.span(node);
        let [type_key, kind_node] = ["type", kind].map(|text| self.document.add_string(text, span));
        let map = self.document.add_map(vec![MapEntry { key: type_key, value: kind_node }], span);
        self.replace(node, "a map", Correction { text, is_certain: false, node: map });
    }

    /// A word that stands for one key of an argument.
    fn argument_as(&mut self, node: NodeId, key: &str, value: serde_json::Value, is_certain: bool) {
        let span = self.span(node);
        let suggestion_text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let key_node = self.document.add_string(key, span);
        let value = match value.as_str() {
            Some(text) => self.document.add_string(text, span),
            None => self.document.add_plain(value, span),
        };
        let map = self.document.add_map(vec![MapEntry { key: key_node, value }], span);
        self.replace(
            node,
            "a map",
            Correction { text: format!("{{ {key}: {suggestion_text} }}"), is_certain, node: map },
        );
    }

    /// `type: select` with `options`, as forms have it.
    fn select_type(&mut self, argument: NodeId) {
        let find = |keys: &[&str]| self.document.first_entry_of(argument, keys);
        let (Some(kind), Some(choices)) = (find(&["type"]), find(&["enum", "options", "choices", "values"])) else {
            return;
        };
        let name = self.document.string_of(kind.value).unwrap_or_default().to_owned();
        if !["select", "choice", "enum", "dropdown", "radio", "pickString"].contains(&name.as_str()) {
            return;
        }
        let at = self.span(kind.value);
        let values = self.flow_text(choices.value);
        let help = match values.contains('\n') {
            true => "write the values as `enum`, without `type`".to_owned(),
            false => format!("write `enum: {values}`, without `type`"),
        };
        self.report.error(Code::Schema, at, format!("unknown type `{name}`")).help(help);
        let key = self.document.add_string("enum", self.span(choices.key));
        self.replace_entry(argument, choices, MapEntry { key, value: choices.value });
        self.remove_entry(argument, kind);
    }

    fn argument_keys(&mut self, argument: NodeId) {
        self.select_type(argument);
        self.with_value_of(argument, "enum", Corrector::choices);
        self.with_value_of(argument, "type", Corrector::type_word);
        self.choices_as_type(argument);
        self.limits(argument);
        self.slashed_pattern(argument);
        if let Some(optional) = self.document.entry_of(argument, "optional") {
            self.optional_key(argument, optional);
        }
    }

    /// `min` and `max`, which have a name for each type.
    fn limits(&mut self, argument: NodeId) {
        let kind = self.document.entry_of(argument, "type").and_then(|kind| self.document.string_of(kind.value));
        let names = match kind {
            Some("integer" | "number") => ["minimum", "maximum"],
            Some("array") => ["minItems", "maxItems"],
            _ => ["minLength", "maxLength"],
        };
        for (written, name) in ["min", "max"].into_iter().zip(names) {
            let is_free = self.document.entry_of(argument, name).is_none();
            if let Some(limit) = self.document.entry_of(argument, written).filter(|_| is_free) {
                self.rename_key(argument, limit, name);
            }
        }
    }

    /// `/^a$/`, whose slashes are part of the pattern.
    fn slashed_pattern(&mut self, argument: NodeId) {
        let Some(pattern) = self.document.entry_of(argument, "pattern") else { return };
        let text = self.document.string_of(pattern.value).unwrap_or_default().to_owned();
        let Some(inner) = text.strip_prefix("/^").and_then(|rest| rest.strip_suffix("$/")) else { return };
        let (at, meant) = (self.span(pattern.value), serde_json::Value::from(format!("^{inner}$")).to_string());
        self.report
            .warning(Code::BadValue, at, "the slashes around a pattern are part of it: nothing matches")
            .help(format!("write `{meant}`"))
            .fix(at, meant);
    }

    /// `type: [low, high]` in the place of `enum: [low, high]`.
    fn choices_as_type(&mut self, argument: NodeId) {
        let Some(kind) = self.document.entry_of(argument, "type") else { return };
        let items = self.document.items_of(kind.value).unwrap_or_default();
        let is_value = |item: &NodeId| {
            let text = self.document.scalar_of(*item);
            text.is_some_and(|text| text != "null" && type_of(text).is_none())
        };
        let is_free = self.document.entry_of(argument, "enum").is_none();
        if !items.is_empty() && items.iter().all(is_value) && is_free {
            let at = self.span(kind.key);
            let message = "expected types in `type`, found values".to_owned();
            self.report.error(Code::Schema, at, message).help("write `enum`").fix(at, "enum");
            let key = self.document.add_string("enum", at);
            self.replace_entry(argument, kind, MapEntry { key, value: kind.value });
        }
    }

    /// `optional: true` in the place of `required: false`.
    fn optional_key(&mut self, argument: NodeId, optional: MapEntry) {
        let Some(is_optional) = self.document.json(optional.value).as_bool() else { return };
        let (at, is_required) = (self.span(optional.key), !is_optional);
        if self.document.entry_of(argument, "required").is_some() {
            return;
        }
        let text = format!("required: {is_required}");
        let span = Span { end: self.span(optional.value).end, ..at };
        self.report
            .error(Code::UnknownKey, at, "unknown key `optional`")
            .help(format!("write `{text}`"))
            .fix(span, text);
        let key = self.document.add_string("required", at);
        let value = self.document.add_plain(is_required, span);
        self.replace_entry(argument, optional, MapEntry { key, value });
    }

    /// `enum: a`, `enum: "a, b"` and `enum: { a: First }`.
    fn choices(&mut self, choices: NodeId) {
        let span = self.span(choices);
        let names: Vec<String> = match (self.document.string_of(choices), self.document.entries_of(choices)) {
            (_, Some(entries)) => entries.iter().map(|entry| self.document.key_text(entry.key).to_owned()).collect(),
            (Some(text), _) if text.contains([',', '|']) => {
                text.split([',', '|']).map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
            }
            _ => return self.scalar_as_list(choices),
        };
        let text = names.iter().map(|name| flow_scalar(name)).collect::<Vec<_>>().join(", ");
        let items = names.iter().map(|name| self.document.add_string(name, span)).collect();
        let node = self.document.add_list(items, span);
        let is_certain = self.document.string_of(choices).is_some();
        self.replace(choices, "a list", Correction { text: format!("[{text}]"), is_certain, node });
    }

    /// `type: str` and `type: [a, b]`.
    fn type_word(&mut self, kind: NodeId) {
        let Some(name) = self.document.string_of(kind).map(str::to_owned) else { return };
        let Some(meant) = type_of(&name).filter(|meant| *meant != name) else { return };
        let span = self.span(kind);
        let known = ["array", "boolean", "integer", "null", "number", "object", "string"];
        let message = format!("unknown type `{name}`, expected one of {}", quote_names(&known));
        self.report.error(Code::Schema, span, message).help(format!("write `{meant}`")).fix(span, meant);
        let node = self.document.add_string(meant, span);
        self.document.replace(kind, node);
    }

    /// A text where the map of a prompt is due: its text, or the file that holds it.
    pub(super) fn prompt_text(&mut self, prompt: NodeId) {
        let Some(path) = self.document.string_of(prompt).filter(|text| names_file(text)).map(str::to_owned) else {
            return self.text_as_key(prompt, "text");
        };
        let (span, written) = (self.span(prompt), self.raw(prompt).to_owned());
        let [text_key, file_key, file] = ["text", "file", &path].map(|text| self.document.add_string(text, span));
        let inner = self.document.add_map(vec![MapEntry { key: file_key, value: file }], span);
        let node = self.document.add_map(vec![MapEntry { key: text_key, value: inner }], span);
        let text = format!("{{ text: {{ file: {} }} }}", scalar_as_written(&written, &path));
        self.replace(prompt, "a map", Correction { text, is_certain: true, node });
    }
}

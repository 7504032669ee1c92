//! Schemas of a description, translated to JSON Schema 2020-12 that needs no other document.
//!
//! What a `$ref` names stands in its place, or in `$defs` where it is large or refers to itself.

mod keyword;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::description_text;
use super::discriminator::{Discriminator, subtypes};
use super::document::{ApiDocument, ApiNode, object};
use super::merge::merge_objects;
use crate::diagnostic::Code;
use keyword::{copy_limits, copy_values, is_null_type, is_nullable, name_types};

/// The number of schemas from which on the targets of `$ref` are put into `$defs`.
const MAX_INLINED: usize = 24;
/// How deeply schemas may stand in each other; what is deeper may be anything.
const MAX_NESTING: usize = 10;
/// From how deep on every `$ref` leads into `$defs`, where nesting begins anew.
const MAX_INLINE_NESTING: usize = 5;
/// How many schemas one tool may take or give.
const MAX_SCHEMAS: usize = 2000;
/// How many schemas all tools together may take and give: a description that uses the same ones over and over again is
/// small, and what comes of it is not.
const MAX_ALL_SCHEMAS: usize = 500_000;
/// How long the name of a property may be.
const MAX_PROPERTY_BYTES: usize = 256;

/// Which way the values go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// Into a request: without what only answers hold.
    Input,
    /// Out of an answer: what it is, and not how its values are bounded, as a breach would be a failed call.
    Output,
}

/// Translates the schemas of one tool.
pub(super) struct Translator<'d> {
    document: &'d ApiDocument,
    pub(super) direction: Direction,
    /// What stands in `$defs`.
    pub(super) definitions: Map<String, Value>,
    names: HashMap<usize, String>,
    /// The targets of `$ref` that are being translated.
    in_progress: Vec<usize>,
    /// How many schemas were translated.
    count: usize,
    nesting: usize,
    /// Whether something was too deep or too much.
    pub(super) is_cut: bool,
    /// Whether the next schema is what others are built on, and none of these stands for it.
    is_base: bool,
}

impl<'d> Translator<'d> {
    pub(super) fn new(document: &'d ApiDocument, direction: Direction) -> Translator<'d> {
        Translator {
            document,
            direction,
            definitions: Map::new(),
            names: HashMap::new(),
            in_progress: Vec::new(),
            count: 0,
            nesting: 0,
            is_cut: false,
            is_base: false,
        }
    }

    /// Translates a schema.
    pub(super) fn translate(&mut self, node: ApiNode<'d>) -> Value {
        if self.is_over_limit() || self.nesting >= MAX_NESTING {
            self.is_cut = true;
            return Value::Object(Map::new());
        }
        self.count += 1;
        self.document.schemas.update(|count| count + 1);
        self.nesting += 1;
        let translated = match node.value {
            Value::Bool(false) => object([("not", Value::Object(Map::new()))]),
            Value::Object(map) if map.contains_key("$ref") => self.translate_reference(node),
            Value::Object(_) => self.translate_object(node),
            _ => Value::Object(Map::new()),
        };
        self.nesting -= 1;
        translated
    }

    /// Whether nothing more may be translated.
    fn is_over_limit(&self) -> bool {
        self.count >= MAX_SCHEMAS || self.document.schemas.get() >= MAX_ALL_SCHEMAS
    }

    fn translate_reference(&mut self, node: ApiNode<'d>) -> Value {
        let Some(target) = self.document.resolve(node) else { return Value::Object(Map::new()) };
        let reference = self.translate_target(node, target);
        // Beside a reference, a description says what it is here.
        match (reference, self.description_of(node)) {
            (Value::Object(mut map), Some(description)) => {
                map.insert("description".to_owned(), description);
                Value::Object(map)
            }
            (reference, _) => reference,
        }
    }

    fn translate_target(&mut self, node: ApiNode<'d>, target: ApiNode<'d>) -> Value {
        let id = target.address();
        if let Some(name) = self.names.get(&id) {
            return reference_to(name);
        }
        if self.in_progress.contains(&id) {
            return reference_to(&self.name_definition(node, id));
        }
        self.in_progress.push(id);
        let (count, nesting) = (self.count, self.nesting);
        let deep = nesting >= MAX_INLINE_NESTING;
        if deep {
            self.nesting = 1;
        }
        let translated = self.translate(target);
        self.nesting = nesting;
        self.in_progress.pop();
        if !deep && !self.names.contains_key(&id) && self.count - count <= MAX_INLINED {
            return translated;
        }
        let name = self.name_definition(node, id);
        self.definitions.insert(name.clone(), translated);
        reference_to(&name)
    }

    /// The name in `$defs` of what a reference leads to.
    fn name_definition(&mut self, node: ApiNode<'d>, id: usize) -> String {
        if let Some(name) = self.names.get(&id) {
            return name.clone();
        }
        let last = node.text("$ref").unwrap_or_default().rsplit(['/', '#']).find(|part| !part.is_empty());
        let plain: String = last
            .unwrap_or_default()
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || "_-.".contains(*c))
            .take(48)
            .collect();
        let stem = if plain.is_empty() { "schema".to_owned() } else { plain };
        let existing: HashSet<&String> = self.names.values().collect();
        let numbered = (2..).map(|number: usize| format!("{stem}-{number}"));
        let name = std::iter::once(stem.clone()).chain(numbered).find(|name| !existing.contains(name)).unwrap_or(stem);
        self.names.insert(id, name.clone());
        name
    }

    fn translate_object(&mut self, node: ApiNode<'d>) -> Value {
        let is_base = std::mem::take(&mut self.is_base);
        let mut schema = Map::new();
        name_types(node, &mut schema);
        if let Some(description) = self.description_of(node) {
            schema.insert("description".to_owned(), description);
        }
        if self.direction == Direction::Input {
            copy_limits(node, &mut schema);
        }
        copy_values(node, self.direction, &mut schema);
        self.translate_properties(node, &mut schema);
        self.translate_parts(node, &mut schema);
        self.translate_alternatives(node, &mut schema);
        let schema = self.translate_all_of(node, schema);
        let schema = if is_base { schema } else { self.with_subtypes(node, schema) };
        if is_nullable(node) { or_null(schema) } else { Value::Object(schema) }
    }

    fn description_of(&self, node: ApiNode<'_>) -> Option<Value> {
        if self.direction == Direction::Output {
            return None;
        }
        let text = node.text("description")?;
        let mut known = self.document.prose.borrow_mut();
        let plain = known
            .entry(node.address())
            .or_insert_with(|| description_text::plain(text, description_text::ARGUMENT_CHARS));
        (!plain.is_empty()).then(|| Value::from(plain.as_str()))
    }

    fn translate_properties(&mut self, node: ApiNode<'d>, schema: &mut Map<String, Value>) {
        let mut properties = Map::new();
        for (name, property) in node.get("properties").into_iter().flat_map(ApiNode::entries) {
            if self.is_over_limit() {
                self.is_cut = true;
                break;
            }
            if name.len() > MAX_PROPERTY_BYTES {
                self.document.warn(
                    property,
                    Code::TooLarge,
                    "a property with a name of more than 256 bytes is left out",
                );
            } else if !self.is_excluded(property) {
                properties.insert(name.to_owned(), self.translate(property));
            }
        }
        let left_out = |name: &str| {
            node.get("properties").is_some_and(|all| all.get(name).is_some()) && !properties.contains_key(name)
        };
        let mut required: Vec<Value> = Vec::new();
        for name in node
            .get("required")
            .into_iter()
            .flat_map(ApiNode::items)
            .take(MAX_SCHEMAS)
            .filter_map(|name| name.value.as_str())
        {
            let name_value = Value::from(name);
            if !left_out(name) && !required.contains(&name_value) {
                required.push(name_value);
            }
        }
        if !properties.is_empty() {
            schema.entry("type").or_insert_with(|| "object".into());
            schema.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), Value::Array(required));
        }
    }

    /// Whether a property is part of answers alone, or of requests alone, and this is the other.
    fn is_excluded(&self, property: ApiNode<'d>) -> bool {
        let key = if self.direction == Direction::Input { "readOnly" } else { "writeOnly" };
        let said = |node: ApiNode<'_>| node.flag(key) == Some(true);
        said(property) || property.get("$ref").is_some() && self.document.resolve(property).is_some_and(said)
    }

    /// Schemas that hold for a part of a value.
    fn translate_parts(&mut self, node: ApiNode<'d>, schema: &mut Map<String, Value>) {
        for key in ["items", "contains", "additionalProperties", "propertyNames", "unevaluatedProperties"] {
            let Some(alternative) = node.get(key) else { continue };
            match alternative.value {
                // What an answer holds beyond what is described is not an error.
                Value::Bool(_) if key == "items" || self.direction == Direction::Output => {}
                Value::Bool(more) => _ = schema.insert(key.to_owned(), Value::Bool(*more)),
                Value::Array(_) => self.translate_list(alternative, "prefixItems", schema),
                _ => {
                    let translated = self.translate(alternative);
                    schema.insert(key.to_owned(), translated);
                }
            }
        }
        if let Some(prefix) = node.get("prefixItems") {
            self.translate_list(prefix, "prefixItems", schema);
        }
        if let Some(patterns) = node.get("patternProperties") {
            let translated = patterns
                .entries()
                .take(MAX_SCHEMAS)
                .map(|(pattern, alternative)| (pattern.to_owned(), self.translate(alternative)))
                .collect();
            schema.insert("patternProperties".to_owned(), Value::Object(translated));
        }
    }

    fn translate_list(&mut self, list: ApiNode<'d>, key: &str, schema: &mut Map<String, Value>) {
        let translated: Vec<Value> =
            list.items().take(MAX_SCHEMAS).map(|alternative| self.translate(alternative)).collect();
        if !translated.is_empty() {
            schema.insert(key.to_owned(), Value::Array(translated));
        }
    }

    /// `oneOf` becomes `anyOf`: descriptions often have alternatives that overlap, and a value that fits two is fine.
    fn translate_alternatives(&mut self, node: ApiNode<'d>, schema: &mut Map<String, Value>) {
        let mut found = Vec::new();
        for key in ["oneOf", "anyOf"] {
            let Some(list) = node.get(key) else { continue };
            let mut translated: Vec<Value> = list
                .items()
                .take(MAX_SCHEMAS)
                .map(|alternative| self.translate_alternative(alternative, node))
                .collect();
            translated.dedup();
            if !translated.is_empty() {
                found.push(translated);
            }
        }
        let mut found = found.into_iter();
        if let Some(first) = found.next() {
            schema.insert("anyOf".to_owned(), Value::Array(first));
        }
        if let Some(second) = found.next() {
            schema.insert("allOf".to_owned(), Value::Array(vec![object([("anyOf", Value::Array(second))])]));
        }
        if let Some(not) = node.get("not") {
            let translated = self.translate(not);
            schema.insert("not".to_owned(), translated);
        }
    }

    /// One of the alternatives of a schema, in which the property that tells them apart says that it is this one.
    fn translate_alternative(&mut self, alternative: ApiNode<'d>, whole: ApiNode<'d>) -> Value {
        let translated = self.translate(alternative);
        let discriminator = Discriminator::read(whole).filter(|_| self.direction == Direction::Input);
        let Some((discriminator, reference)) = discriminator.zip(alternative.text("$ref")) else { return translated };
        let Some(target) = self.document.resolve(alternative) else { return translated };
        let opened = self.resolve_definition(&translated);
        // Alternatives in it have their own values.
        if opened.get("anyOf").is_some() {
            return translated;
        }
        let name = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let values = discriminator.values(name, target, self.document);
        discriminator.narrow(&opened, &values).unwrap_or(translated)
    }

    /// A schema on which others are built, told apart by a property: any of these, or itself.
    fn with_subtypes(&mut self, node: ApiNode<'d>, schema: Map<String, Value>) -> Map<String, Value> {
        let discriminator = Discriminator::read(node).filter(|_| self.direction == Direction::Input);
        let Some(discriminator) = discriminator.filter(|_| !schema.contains_key("anyOf")) else { return schema };
        let mut alternatives = Vec::new();
        for subtype in subtypes(node, self.document) {
            let translated = self.translate_base(subtype.node);
            let values = discriminator.values(&subtype.name, subtype.node, self.document);
            alternatives.push(discriminator.narrow(&translated, &values).unwrap_or(translated));
        }
        if alternatives.is_empty() {
            return schema;
        }
        let schemas = self.document.schemas_of(node.file).into_iter().flat_map(ApiNode::entries);
        let own_name = schemas.into_iter().find(|(_, known)| known.address() == node.address());
        let values = discriminator.values(own_name.map_or("", |(name, _)| name), node, self.document);
        let mut whole = Map::new();
        whole.extend(schema.get("description").map(|text| ("description".to_owned(), text.clone())));
        alternatives.extend(discriminator.narrow(&Value::Object(schema), &values));
        whole.insert("anyOf".to_owned(), Value::Array(alternatives));
        whole
    }

    /// A schema alone, without those that are built on it.
    fn translate_base(&mut self, node: ApiNode<'d>) -> Value {
        self.is_base = true;
        let translated = self.translate(node);
        self.is_base = false;
        translated
    }

    /// A part of an `allOf`, which is only itself where others are built on it.
    fn translate_part(&mut self, node: ApiNode<'d>) -> Value {
        let target = node.get("$ref").and_then(|_| self.document.resolve(node));
        match target.filter(|target| target.get("discriminator").is_some()) {
            Some(base) => self.translate_base(base),
            None => self.translate(node),
        }
    }

    fn translate_all_of(&mut self, node: ApiNode<'d>, schema: Map<String, Value>) -> Map<String, Value> {
        let Some(list) = node.get("allOf") else { return schema };
        let translated: Vec<Value> =
            list.items().take(MAX_SCHEMAS).map(|alternative| self.translate_part(alternative)).collect();
        let own = (!schema.is_empty()).then(|| Value::Object(schema.clone()));
        let opened: Vec<Value> = translated.iter().map(|part| self.resolve_definition(part)).chain(own).collect();
        if let Some(merged) = merge_objects(&opened) {
            return merged;
        }
        // One part, and words on it: that is what it is.
        let adds_words = |only: &Map<String, Value>| {
            schema.iter().all(|(key, value)| key == "description" || only.get(key) == Some(value))
        };
        match translated.as_slice() {
            [] => schema,
            [Value::Object(only)] if adds_words(only) => {
                let mut whole = only.clone();
                whole.extend(schema);
                whole
            }
            _ => with_parts(schema, translated),
        }
    }

    /// A schema, or the one in `$defs` that it refers to.
    pub(super) fn resolve_definition(&self, schema: &Value) -> Value {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
        let found = target.and_then(|name| self.definitions.get(name));
        let mut found = found.unwrap_or(schema).clone();
        if let (Some(description), Some(map)) = (schema.get("description"), found.as_object_mut()) {
            map.insert("description".to_owned(), description.clone());
        }
        found
    }
}

/// A schema that has to fit these parts too.
fn with_parts(mut schema: Map<String, Value>, parts: Vec<Value>) -> Map<String, Value> {
    match schema.get_mut("allOf") {
        Some(Value::Array(known)) => known.extend(parts),
        _ => _ = schema.insert("allOf".to_owned(), Value::Array(parts)),
    }
    schema
}

fn reference_to(name: &str) -> Value {
    object([("$ref", format!("#/$defs/{name}").into())])
}

/// The same schema, or null.
fn or_null(mut schema: Map<String, Value>) -> Value {
    if is_null_type(&schema) {
        return Value::Object(schema);
    }
    let null = || object([("type", "null".into())]);
    if let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") {
        alternatives.push(null());
        return Value::Object(schema);
    }
    if schema.keys().all(|key| key == "description") {
        return Value::Object(schema);
    }
    let description = schema.shift_remove("description");
    let mut whole = Map::new();
    whole.extend(description.map(|description| ("description".to_owned(), description)));
    whole.insert("anyOf".to_owned(), Value::Array(vec![Value::Object(schema), null()]));
    Value::Object(whole)
}

/// Takes definitions that nothing refers to out of a schema with `$defs`.
pub(super) fn prune_definitions(schema: &mut Value) {
    let mut used: HashSet<String> = HashSet::new();
    let mut queue = Vec::new();
    if let Some(map) = schema.as_object() {
        map.iter().filter(|(key, _)| *key != "$defs").for_each(|(_, value)| collect_references(value, &mut queue));
    }
    while let Some(name) = queue.pop() {
        if !used.contains(&name) {
            let definition = schema.get("$defs").and_then(|all| all.get(&name));
            definition.iter().for_each(|definition| collect_references(definition, &mut queue));
            used.insert(name);
        }
    }
    let Some(map) = schema.as_object_mut() else { return };
    if let Some(Value::Object(definitions)) = map.get_mut("$defs") {
        definitions.retain(|name, _| used.contains(name));
    }
    if map.get("$defs").and_then(Value::as_object).is_some_and(Map::is_empty) {
        map.shift_remove("$defs");
    }
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        Value::Object(map) => {
            let target = map.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
            found.extend(target.map(str::to_owned));
            map.values().for_each(|alternative| collect_references(alternative, found));
        }
        _ => {}
    }
}

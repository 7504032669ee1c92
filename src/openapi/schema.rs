//! The schemas of arguments, written so that they need no other document and that no host refuses them: what a `$ref`
//! names is in its place.

use serde_json::{Map, Value};

use super::description_text;
use super::document::{ApiDocument, ApiNode, object};

/// How many schemas one tool may take, and how many there are in one that is not too large.
const MAX_SCHEMAS: usize = 2000;
const MAX_USUAL_SCHEMAS: usize = 800;
/// The least nesting to which a tool is cut.
pub(super) const MIN_NESTING: usize = 2;
/// How long the name of a property may be.
const MAX_PROPERTY_BYTES: usize = 256;
/// How many schemas may be built on one.
const MAX_SUBTYPES: usize = 50;
/// How long an example may be, as JSON.
const MAX_EXAMPLE_BYTES: usize = 80;
/// How many values an `enum` may have.
const MAX_CHOICES: usize = 1000;
/// Formats that folio checks, or that say something to whoever reads them.
const FORMATS: &[&str] = &[
    "date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "uuid",
    "password", "byte", "binary",
];

const TYPES: &[&str] = &["string", "integer", "number", "boolean", "array", "object", "null"];
/// Types, keywords that bound their values, and how the value of such a keyword is checked.
type Limit = (&'static [&'static str], &'static [&'static str], fn(&Value) -> bool);
const LIMITS: &[Limit] = &[
    (&["number", "integer"], &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], Value::is_number),
    (&["number", "integer"], &["multipleOf"], |step| step.as_f64() > Some(0.0)),
    (&["string"], &["minLength", "maxLength"], Value::is_u64),
    (&["string"], &["pattern"], Value::is_string),
    (&["array"], &["minItems", "maxItems"], Value::is_u64),
    (&["array"], &["uniqueItems"], |flag| *flag == Value::Bool(true)),
    (&["object"], &["minProperties", "maxProperties"], Value::is_u64),
    (&[], &["deprecated", "writeOnly"], |flag| *flag == Value::Bool(true)),
];

/// Reads the schemas of one tool.
pub(super) struct SchemaReader<'d> {
    document: &'d ApiDocument,
    /// How deeply schemas may be nested; what is deeper is its type alone.
    max_nesting: usize,
    nesting: usize,
    /// How deeply schemas were nested at most.
    pub(super) deepest: usize,
    count: usize,
    /// What is being read, so that a schema that holds itself ends.
    in_progress: Vec<usize>,
    /// Whether something was too deep or too much.
    pub(super) is_cut: bool,
}

impl<'d> SchemaReader<'d> {
    pub(super) fn new(document: &'d ApiDocument, max_nesting: usize) -> SchemaReader<'d> {
        SchemaReader { document, max_nesting, nesting: 0, deepest: 0, count: 0, in_progress: Vec::new(), is_cut: false }
    }

    /// The schema of a value.
    pub(super) fn read(&mut self, node: ApiNode<'d>) -> Value {
        let Some(target) = self.document.resolve(node) else { return Value::Object(Map::new()) };
        let mut schema = self.read_target(target, false);
        // Beside a reference, a description says what it is here.
        let own =
            Some(node).filter(|node| node.address() != target.address()).and_then(|node| self.description_of(node));
        schema.extend(own.map(|text| ("description".to_owned(), text)));
        Value::Object(schema)
    }

    /// `is_base` says that what is built on the schema is not meant.
    fn read_target(&mut self, node: ApiNode<'d>, is_base: bool) -> Map<String, Value> {
        self.count += 1;
        let is_repeated = self.in_progress.contains(&node.address());
        if is_repeated || self.nesting >= self.max_nesting || self.is_too_large() {
            self.is_cut |= !is_repeated;
            return self.read_type_alone(node, is_repeated);
        }
        self.in_progress.push(node.address());
        self.nesting += 1;
        self.deepest = self.deepest.max(self.nesting);
        let schema = self.read_object(node, is_base);
        self.nesting -= 1;
        self.in_progress.pop();
        schema
    }

    /// Whether there are more schemas than a tool may have; a tool that may be cut further has fewer.
    pub(super) fn is_too_large(&self) -> bool {
        self.count > if self.max_nesting > MIN_NESTING { MAX_USUAL_SCHEMAS } else { MAX_SCHEMAS }
    }

    /// What a schema is, without what it holds.
    fn read_type_alone(&self, node: ApiNode<'d>, is_repeated: bool) -> Map<String, Value> {
        let mut schema = Map::new();
        read_types(node, &mut schema);
        if schema.is_empty() && (node.get("properties").is_some() || node.get("allOf").is_some()) {
            schema.insert("type".to_owned(), "object".into());
        }
        let again = is_repeated.then(|| Value::from("The same again, nested"));
        schema.extend(again.or_else(|| self.description_of(node)).map(|text| ("description".to_owned(), text)));
        copy_values(node, &mut schema);
        finish(schema)
    }

    fn read_object(&mut self, node: ApiNode<'d>, is_base: bool) -> Map<String, Value> {
        let mut schema = Map::new();
        read_types(node, &mut schema);
        schema.extend(self.description_of(node).map(|text| ("description".to_owned(), text)));
        copy_limits(node, &mut schema);
        copy_values(node, &mut schema);
        self.read_properties(node, &mut schema);
        for key in ["items", "additionalProperties"] {
            match node.get(key) {
                Some(inner) if inner.value.is_object() => _ = schema.insert(key.to_owned(), self.read(inner)),
                Some(inner) if key != "items" && inner.value.is_boolean() => {
                    schema.insert(key.to_owned(), inner.value.clone());
                }
                _ => {}
            }
        }
        for part in node.get("allOf").into_iter().flat_map(ApiNode::items).take(MAX_SCHEMAS) {
            let Some(target) = self.document.resolve(part) else { continue };
            let part = match self.in_progress.contains(&target.address()) {
                // What it is an alternative of gives it its properties.
                true => {
                    let mut part = Map::new();
                    self.read_properties(target, &mut part);
                    part
                }
                false => self.read_target(target, true),
            };
            merge(&mut schema, part);
        }
        let has_discriminator = node.get("discriminator").is_some();
        if !(is_base && has_discriminator) {
            ["anyOf", "oneOf"].iter().for_each(|key| self.read_alternatives(node, key, &mut schema));
        }
        if !is_base && has_discriminator && !schema.contains_key("anyOf") {
            schema = self.with_subtypes(node, schema);
        }
        // Own words say more than those of a part.
        schema.extend(self.description_of(node).map(|text| ("description".to_owned(), text)));
        finish(schema)
    }

    fn description_of(&self, node: ApiNode<'_>) -> Option<Value> {
        let text = node.text("description")?;
        let mut known = self.document.prose.borrow_mut();
        let plain = known
            .entry(node.address())
            .or_insert_with(|| description_text::plain(text, description_text::ARGUMENT_CHARS));
        (!plain.is_empty()).then(|| Value::from(plain.as_str()))
    }

    fn read_properties(&mut self, node: ApiNode<'d>, schema: &mut Map<String, Value>) {
        let mut properties = Map::new();
        for (name, property) in node.get("properties").into_iter().flat_map(ApiNode::entries) {
            if name.len() > MAX_PROPERTY_BYTES {
                let words = "a property with a name of more than 256 bytes is left out";
                self.document.warn(property, crate::diagnostic::Code::TooLarge, words);
            } else if !self.is_read_only(property) {
                properties.insert(name.to_owned(), with_type(self.read(property)));
            }
        }
        if !properties.is_empty() {
            schema.entry("type").or_insert_with(|| "object".into());
            schema.insert("properties".to_owned(), Value::Object(properties));
        }
        let declared = node.get("properties");
        let left_out = |name: &str| {
            let kept = schema.get("properties").is_some_and(|properties| properties.get(name).is_some());
            !kept && declared.is_some_and(|all| all.get(name).is_some())
        };
        let required = node.get("required").into_iter().flat_map(ApiNode::items).filter_map(|name| name.value.as_str());
        let mut names: Vec<&str> = required.take(MAX_SCHEMAS).filter(|name| !left_out(name)).collect();
        names.dedup();
        if !names.is_empty() {
            schema.insert("required".to_owned(), names.into());
        }
    }

    /// Whether a property is part of answers alone.
    fn is_read_only(&self, property: ApiNode<'d>) -> bool {
        let is_set = |node: ApiNode<'_>| node.flag("readOnly") == Some(true);
        is_set(property) || property.get("$ref").is_some() && self.document.resolve(property).is_some_and(is_set)
    }

    /// `oneOf` becomes `anyOf`: descriptions often have alternatives that overlap, and a value that fits two is fine.
    fn read_alternatives(&mut self, node: ApiNode<'d>, key: &str, schema: &mut Map<String, Value>) {
        let mut alternatives: Vec<Value> = Vec::new();
        for alternative in node.get(key).into_iter().flat_map(ApiNode::items).take(MAX_SCHEMAS) {
            // What only says which fields go together names none of its own, which some hosts refuse.
            let only_requires =
                alternative.value.as_object().is_some_and(|map| map.keys().all(|key| key == "required"));
            let Some(target) = self.document.resolve(alternative).filter(|_| !only_requires) else { continue };
            let read = Value::Object(self.read_target(target, false));
            let name = alternative.text("$ref").and_then(|reference| reference.rsplit(['/', '#']).next());
            let read = match name {
                Some(name) => narrow(read, node, name, target, self.document),
                None => read,
            };
            if !alternatives.contains(&read) {
                alternatives.push(read);
            }
        }
        match (alternatives.len(), schema.contains_key("anyOf")) {
            (0, _) => {}
            (1, _) => {
                if let Some(Value::Object(only)) = alternatives.pop() {
                    merge(schema, only);
                }
            }
            (_, false) => _ = schema.insert("anyOf".to_owned(), alternatives.into()),
            (_, true) => push_part(schema, object([("anyOf", alternatives.into())])),
        }
    }

    /// A schema on which others are built, told apart by a property: any of these, or itself.
    fn with_subtypes(&mut self, node: ApiNode<'d>, schema: Map<String, Value>) -> Map<String, Value> {
        let mut alternatives = Vec::new();
        for (name, subtype) in self.document.subtypes(node, MAX_SUBTYPES) {
            let read = Value::Object(self.read_target(subtype, true));
            alternatives.push(narrow(read, node, &name, subtype, self.document));
        }
        if alternatives.is_empty() {
            return schema;
        }
        let schemas = self.document.schemas_of(node.file).into_iter().flat_map(ApiNode::entries);
        let own_name = schemas.into_iter().find(|(_, known)| known.address() == node.address());
        let name = own_name.map_or("", |(name, _)| name);
        let description = schema.get("description").cloned();
        alternatives.push(narrow(Value::Object(schema), node, name, node, self.document));
        let mut whole = Map::new();
        whole.extend(description.map(|text| ("description".to_owned(), text)));
        whole.insert("anyOf".to_owned(), alternatives.into());
        whole
    }
}

/// An alternative, in which the property that tells it from others has its value.
fn narrow<'d>(
    mut schema: Value,
    whole: ApiNode<'d>,
    name: &str,
    target: ApiNode<'d>,
    document: &'d ApiDocument,
) -> Value {
    let Some(discriminator) = whole.get("discriminator") else { return schema };
    let (Some(property), Some(map)) = (discriminator.text("propertyName"), schema.as_object_mut()) else {
        return schema;
    };
    // Alternatives in it have their own values.
    if map.contains_key("anyOf") {
        return schema;
    }
    let is_target = |written: ApiNode<'d>| {
        let named = written.value.as_str().and_then(|text| match text.contains(['/', '#', '.']) {
            true => document.target(written, text),
            false => document.schemas_of(written.file)?.get(text),
        });
        named.is_some_and(|named| named.address() == target.address())
    };
    let mapping = discriminator.get("mapping").into_iter().flat_map(ApiNode::entries);
    let mut values: Vec<&str> = mapping.filter(|(_, to)| is_target(*to)).map(|(value, _)| value).collect();
    if values.is_empty() && !name.is_empty() {
        values.push(name);
    }
    let properties = map.entry("properties").or_insert_with(|| Map::new().into());
    let declared = properties.get(property);
    let is_free = declared.is_none_or(|declared| declared.get("enum").is_none() && declared.get("const").is_none());
    if let (Some(properties), true, false) = (properties.as_object_mut(), is_free, values.is_empty()) {
        let key = if values.len() == 1 { ("const", values.concat().into()) } else { ("enum", values.into()) };
        properties.insert(property.to_owned(), object([("type", "string".into()), key]));
        map.entry("type").or_insert_with(|| "object".into());
        let required = map.entry("required").or_insert_with(|| Vec::<Value>::new().into());
        if let Some(required) = required.as_array_mut().filter(|names| !names.contains(&property.into())) {
            required.push(property.into());
        }
    }
    schema
}

/// Adds what a part of an `allOf` says. Where both say something of one property, the part says more of it.
fn merge(schema: &mut Map<String, Value>, part: Map<String, Value>) {
    for (key, value) in part {
        match (schema.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => {
                for (name, property) in more {
                    match (known.get_mut(&name), property) {
                        (Some(Value::Object(known)), Value::Object(property)) => merge(known, property),
                        (_, property) => _ = known.insert(name, property),
                    }
                }
            }
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                let new: Vec<Value> = more.into_iter().filter(|name| !known.contains(name)).collect();
                known.extend(new);
            }
            (Some(Value::Array(known)), Value::Array(more)) if key == "allOf" => known.extend(more),
            (Some(known), more) if key == "anyOf" && *known != more => push_part(schema, object([("anyOf", more)])),
            // A part that takes no other fields means its own alone.
            (_, Value::Bool(false)) if key == "additionalProperties" => {}
            (_, value) => _ = schema.insert(key, value),
        }
    }
}

fn push_part(schema: &mut Map<String, Value>, part: Value) {
    if let Value::Array(parts) = schema.entry("allOf").or_insert_with(|| Vec::<Value>::new().into()) {
        parts.push(part);
    }
}

/// Writes `type`: a list where it may be null.
fn read_types(node: ApiNode<'_>, schema: &mut Map<String, Value>) {
    let mut types: Vec<&str> = match node.value.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    types.retain(|kind| TYPES.contains(kind));
    types.dedup();
    let implied = ["properties", "items"].into_iter().find(|key| node.value.get(key).is_some_and(Value::is_object));
    match (types.as_slice(), implied) {
        ([], Some("items")) => _ = schema.insert("type".to_owned(), "array".into()),
        ([], Some(_)) => _ = schema.insert("type".to_owned(), "object".into()),
        ([], None) => {}
        ([one], _) => _ = schema.insert("type".to_owned(), Value::from(*one)),
        (several, _) => _ = schema.insert("type".to_owned(), Value::from(several.to_vec())),
    }
}

/// Whether a schema's `type` names one of these, or nothing.
fn has_type(schema: &Map<String, Value>, wanted: &[&str]) -> bool {
    let named = |kind: &Value| kind.as_str().is_some_and(|kind| wanted.contains(&kind));
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(named),
        Some(one) => named(one),
        None => true,
    }
}

/// Copies what bounds a value, as far as it concerns the type.
fn copy_limits(node: ApiNode<'_>, schema: &mut Map<String, Value>) {
    for (types, keys, is_valid) in LIMITS {
        for key in keys.iter().filter(|_| types.is_empty() || has_type(schema, types)).collect::<Vec<_>>() {
            let value = node.value.get(key).filter(|value| is_valid(value)).cloned();
            schema.extend(value.map(|value| ((*key).to_owned(), value)));
        }
    }
    let format = node.text("format").filter(|format| FORMATS.contains(format) && has_type(schema, &["string"]));
    schema.extend(format.map(|format| ("format".to_owned(), format.into())));
}

/// Copies values that are named: choices, the default, examples. What YAML read as a number is a text again where the
/// type says so.
fn copy_values(node: ApiNode<'_>, schema: &mut Map<String, Value>) {
    if let Some(constant) = node.value.get("const") {
        schema.insert("const".to_owned(), as_declared(constant, schema));
    }
    let choices = node.value.get("enum").and_then(Value::as_array).filter(|choices| choices.len() <= MAX_CHOICES);
    let mut unique: Vec<Value> = Vec::new();
    for choice in choices.into_iter().flatten() {
        let choice = as_declared(choice, schema);
        if !unique.contains(&choice) {
            unique.push(choice);
        }
    }
    if !unique.is_empty() {
        schema.insert("enum".to_owned(), unique.into());
    }
    let default = node.value.get("default").filter(|default| !default.is_null());
    let default = default.map(|default| as_declared(default, schema));
    schema.extend(default.map(|default| ("default".to_owned(), default)));
    let several = node.value.get("examples").and_then(Value::as_array).into_iter().flatten();
    let examples: Vec<Value> = node
        .value
        .get("example")
        .into_iter()
        .chain(several)
        .filter(|value| value.is_string() || value.is_number() || value.is_array())
        .map(|value| as_declared(value, schema))
        .filter(|value| value.to_string().len() <= MAX_EXAMPLE_BYTES)
        .take(2)
        .collect();
    if !examples.is_empty() && !schema.contains_key("enum") {
        schema.insert("examples".to_owned(), examples.into());
    }
}

/// A value as its type writes it: `1` is `"1"` where only texts are taken.
fn as_declared(value: &Value, schema: &Map<String, Value>) -> Value {
    let text_only =
        schema.get("type").is_some() && !has_type(schema, &["number", "integer", "boolean", "array", "object"]);
    match value {
        Value::Number(_) | Value::Bool(_) if text_only => Value::from(value.to_string()),
        Value::String(text) if !text_only && schema.contains_key("type") && !has_type(schema, &["string"]) => {
            let parsed = serde_json::from_str(text).ok().filter(|parsed: &Value| !parsed.is_string());
            parsed.unwrap_or_else(|| value.clone())
        }
        other => other.clone(),
    }
}

/// The same schema, without what some hosts refuse with the whole request.
fn finish(mut schema: Map<String, Value>) -> Map<String, Value> {
    if has_type(&schema, &["array"]) && schema.contains_key("type") {
        schema.entry("items").or_insert_with(|| Map::new().into());
    }
    if let Some(Value::Array(required)) = schema.get("required") {
        let properties = schema.get("properties").and_then(Value::as_object);
        let is_known =
            |name: &&Value| name.as_str().is_some_and(|name| properties.is_some_and(|all| all.contains_key(name)));
        let required: Vec<Value> = required.iter().filter(is_known).cloned().collect();
        match required.is_empty() {
            true => _ = schema.shift_remove("required"),
            false => _ = schema.insert("required".to_owned(), required.into()),
        }
    }
    name_choices(schema)
}

/// Choices that are texts stay; others are said in words. Null is an alternative of its own.
fn name_choices(mut schema: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Array(choices)) = schema.get("enum") else { return schema };
    let (texts, others): (Vec<Value>, Vec<Value>) = choices.iter().cloned().partition(Value::is_string);
    let may_be_null = others.contains(&Value::Null)
        || schema.get("type").and_then(Value::as_array).is_some_and(|types| types.contains(&"null".into()));
    let others: Vec<String> = others.iter().filter(|other| !other.is_null()).map(Value::to_string).collect();
    if !others.is_empty() {
        let all = texts.iter().map(Value::to_string).chain(others).collect::<Vec<_>>().join(", ");
        let said = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let said = format!("{said} One of {all}.").trim().to_owned();
        schema.shift_remove("enum");
        schema.insert("description".to_owned(), said.into());
        return schema;
    }
    if !may_be_null || texts.is_empty() {
        schema.insert("enum".to_owned(), texts.into());
        return schema;
    }
    let mut whole = Map::new();
    whole.extend(
        ["description", "default"].iter().filter_map(|key| Some(((*key).to_owned(), schema.shift_remove(*key)?))),
    );
    schema.insert("type".to_owned(), "string".into());
    schema.insert("enum".to_owned(), texts.into());
    whole.insert("anyOf".to_owned(), vec![Value::Object(schema), object([("type", "null".into())])].into());
    whole
}

/// A schema of a property, which has a type: some hosts refuse one without.
pub(super) fn with_type(schema: Value) -> Value {
    let Value::Object(mut map) = schema else { return schema };
    if ["type", "anyOf", "allOf"].iter().all(|key| !map.contains_key(*key)) {
        let is_text = |value: &Value| value.is_string();
        let values = map.get("enum").and_then(Value::as_array);
        let is_text =
            values.map(|values| values.iter().all(is_text)).or_else(|| map.get("const").map(is_text)).unwrap_or_else(
                || ["pattern", "format", "minLength", "maxLength"].iter().any(|key| map.contains_key(*key)),
            );
        match is_text {
            true => _ = map.shift_insert(0, "type".to_owned(), "string".into()),
            false => {
                let any = ["string", "number", "boolean", "object", "array"];
                map.shift_insert(0, "type".to_owned(), any.to_vec().into());
                map.insert("items".to_owned(), Map::new().into());
            }
        }
    }
    Value::Object(map)
}

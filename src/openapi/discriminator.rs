//! `discriminator`: the property that says which of several schemas a value has.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::document::{ApiDocument, ApiNode, object};

/// How many schemas may be built on one.
const MAX_SUBTYPES: usize = 50;

/// A property that says which schema a value has.
pub(super) struct Discriminator<'d> {
    property: &'d str,
    /// Schemas by what the property says.
    mapping: Option<ApiNode<'d>>,
}

/// A schema that is built on another by `allOf`.
pub(super) struct Subtype<'d> {
    pub(super) name: String,
    pub(super) node: ApiNode<'d>,
}

/// The schemas that are built on others: file and name, by the address of what they are built on.
pub(super) type SubtypeNames = HashMap<usize, Vec<(usize, String)>>;

impl<'d> Discriminator<'d> {
    /// The discriminator of a schema, which in Swagger 2 is a name alone.
    pub(super) fn read(schema: ApiNode<'d>) -> Option<Discriminator<'d>> {
        let node = schema.get("discriminator")?;
        let property = node.value.as_str().or_else(|| node.text("propertyName"))?;
        Some(Discriminator { property, mapping: node.get("mapping") })
    }

    /// What the property says of a schema: what the mapping has for it, or else its name.
    pub(super) fn values(&self, name: &str, target: ApiNode<'d>, document: &'d ApiDocument) -> Vec<String> {
        let entries = self.mapping.into_iter().flat_map(ApiNode::entries);
        let is_target = |written: ApiNode<'d>| {
            let found = written.value.as_str().and_then(|text| mapped(written, text, document));
            found.is_some_and(|found| found.address() == target.address())
        };
        let named: Vec<String> =
            entries.filter(|(_, written)| is_target(*written)).map(|(value, _)| value.to_owned()).collect();
        if named.is_empty() && !name.is_empty() { vec![name.to_owned()] } else { named }
    }

    /// The same schema, in which the property has one of these values. `None` where it says otherwise itself.
    pub(super) fn narrow(&self, schema: &Value, values: &[String]) -> Option<Value> {
        let mut map = schema.as_object()?.clone();
        let wanted = match values {
            [] => return None,
            [one] => object([("const", one.as_str().into())]),
            several => object([("enum", several.to_vec().into())]),
        };
        let Value::Object(properties) = map.entry("properties").or_insert_with(|| Map::new().into()) else {
            return None;
        };
        let known = properties.get(self.property);
        if known.is_some_and(|known| !allows(known, values)) {
            return None;
        }
        properties.insert(self.property.to_owned(), wanted);
        if let Value::Array(required) = map.entry("required").or_insert_with(|| Value::Array(Vec::new())) {
            let property = Value::from(self.property);
            if !required.contains(&property) {
                required.push(property);
            }
        }
        Some(Value::Object(map))
    }
}

/// What a mapping names: by a reference, or by the name of a schema.
fn mapped<'d>(at: ApiNode<'d>, written: &str, document: &'d ApiDocument) -> Option<ApiNode<'d>> {
    match written.contains(['/', '#', '.']) {
        true => document.target(at, written),
        false => document.schemas_of(at.file)?.get(written),
    }
}

/// Whether a schema takes some of these texts.
fn allows(schema: &Value, values: &[String]) -> bool {
    let is_meant = |value: &Value| value.as_str().is_some_and(|text| values.iter().any(|value| value == text));
    let of_choices = schema.get("enum").and_then(Value::as_array).is_none_or(|choices| choices.iter().any(is_meant));
    of_choices && schema.get("const").is_none_or(is_meant)
}

/// Finds which schemas of a description are built on which.
pub(super) fn find_subtypes(document: &ApiDocument) -> SubtypeNames {
    let mut found = SubtypeNames::new();
    for file in 0..document.files.len() {
        for (name, schema) in document.schemas_of(file).into_iter().flat_map(ApiNode::entries) {
            let parts = schema.get("allOf").into_iter().flat_map(ApiNode::items);
            let references = parts.filter_map(|part| document.target(part, part.text("$ref")?));
            for target in references {
                found.entry(target.address()).or_default().push((file, name.to_owned()));
            }
        }
    }
    found
}

/// The schemas that are built on one, and those that are built on these.
pub(super) fn subtypes<'d>(base: ApiNode<'d>, document: &'d ApiDocument) -> Vec<Subtype<'d>> {
    let (mut found, mut addresses): (Vec<Subtype<'d>>, Vec<usize>) = (Vec::new(), vec![base.address()]);
    let mut next = 0;
    while let Some(address) = addresses.get(next).copied() {
        next += 1;
        for (file, name) in document.subtypes_of(address) {
            let Some(node) = document.schemas_of(file).and_then(|schemas| schemas.get(&name)) else { continue };
            if found.len() < MAX_SUBTYPES && !addresses.contains(&node.address()) {
                addresses.push(node.address());
                found.push(Subtype { name, node });
            }
        }
    }
    found
}

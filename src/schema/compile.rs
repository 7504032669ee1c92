//! A schema that is ready to be held against values.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

use super::coerce::{self, Coerced};
use super::explain::{self, Explainer};
use super::{Refs, SchemaFault, Violation, bundle, check, meter, pattern, plain, property, secret, words};

/// How deeply a value may nest; what JSON parsers take at most.
const MAX_VALUE_DEPTH: usize = 128;

/// A schema without mistakes, in one document that needs no other.
///
/// Where nothing stands in it that its compiler could refuse, it is compiled when it is first needed.
pub struct Schema {
    json: Arc<Map<String, Value>>,
    /// The same as a value, once it is needed.
    root: OnceLock<Value>,
    draft: Draft,
    secrets: HashSet<String>,
    validator: OnceLock<Option<Validator>>,
    /// The same without `required`, once a value is to be held against one property alone.
    optional: OnceLock<Option<Validator>>,
}

impl Schema {
    /// Checks a schema with all that it refers to, and makes it ready.
    ///
    /// # Errors
    /// All its mistakes, each with its place.
    pub fn compile(json: Value, refs: &Refs<'_>) -> Result<Schema, Vec<SchemaFault>> {
        if plain::is_of_types_alone(&json) {
            return Ok(Schema {
                json: Arc::new(into_map(json)),
                secrets: HashSet::new(),
                root: OnceLock::new(),
                draft: Draft::Draft202012,
                validator: OnceLock::new(),
                optional: OnceLock::new(),
            });
        }
        let bundled = bundle::gather(&json, refs)?;
        let schema = Schema {
            json: Arc::new(into_map(bundled.json.clone())),
            secrets: secret::names(&bundled.json, bundled.draft),
            root: OnceLock::from(bundled.json),
            draft: bundled.draft,
            validator: OnceLock::new(),
            optional: OnceLock::new(),
        };
        if !bundled.plain {
            let validator = pattern::build(schema.root(), schema.draft).map_err(|error| {
                let faults = pattern::faults(schema.root(), schema.draft);
                if faults.is_empty() { vec![explain::fault(&error)] } else { faults }
            })?;
            let _ = schema.validator.set(Some(validator));
        }
        Ok(schema)
    }

    /// Never shows the values of properties of these names, besides those that the schema itself marks
    /// (`writeOnly: true`, `format: password`).
    #[must_use]
    pub fn hiding<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Schema {
        self.secrets.extend(names.into_iter().map(str::to_owned));
        self
    }

    /// The schema as clients are given it: self-contained. `true` is `{}`, and `false` is `{"not": {}}`.
    pub fn json(&self) -> &Arc<Map<String, Value>> {
        &self.json
    }

    /// Whether a value is as the schema wants it.
    pub fn is_valid(&self, value: &Value) -> bool {
        check::nests_within(value, MAX_VALUE_DEPTH)
            && self.validator().is_some_and(|validator| is_valid(validator, value) == Some(true))
    }

    /// Whether the top-level property `name` may have a value, whatever the others have.
    pub fn allows(&self, name: &str, value: &Value) -> bool {
        let property = self.property(name).and_then(Value::as_object);
        if let Some(fits) = property.and_then(|property| plain::fits(property, value)) {
            return fits;
        }
        let alone = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
        check::nests_within(value, MAX_VALUE_DEPTH)
            && self.optional().is_some_and(|validator| is_valid(validator, &alone) == Some(true))
    }

    /// Everything about a value that the schema does not allow; of very many, the first, and how many more.
    pub fn violations(&self, value: &Value) -> Vec<Violation> {
        if !check::nests_within(value, MAX_VALUE_DEPTH) {
            return vec![whole(format!("the value nests deeper than {MAX_VALUE_DEPTH} levels"))];
        }
        let Some(validator) = self.validator() else {
            return vec![whole("the value cannot be checked: its schema could not be compiled".to_owned())];
        };
        match is_valid(validator, value) {
            Some(true) => Vec::new(),
            Some(false) => self.explained(validator, value),
            None => {
                vec![whole("the value takes too much work to check: it nests too deeply for its schema".to_owned())]
            }
        }
    }

    fn explained(&self, validator: &Validator, value: &Value) -> Vec<Violation> {
        let explained = meter::within(meter::MAX_EXPLAINED, || {
            let mut explainer = Explainer::new(self.root(), value, &self.secrets);
            validator.iter_errors(value).for_each(|error| explainer.explain(&error));
            explainer.finish()
        });
        explained.unwrap_or_else(|| {
            vec![whole("the value does not fit its schema, and nests too deeply to say where".to_owned())]
        })
    }

    /// The value that a text means, by the type declared for the top-level property `name`.
    /// A property that is not declared is a text.
    pub fn coerce(&self, name: &str, text: &str) -> Coerced {
        match self.property(name) {
            Some(property) => coerce::coerce_within(self.root(), property, text),
            None => Coerced::Value(Value::String(text.to_owned())),
        }
    }

    /// What stands under a keyword in the schema of the top-level property `name`, or behind its `$ref`.
    pub fn said(&self, name: &str, keyword: &str) -> Option<&Value> {
        property::said(self.root(), self.property(name)?, keyword)
    }

    /// The values that the top-level property `name` may have, where its schema, or one behind its `$ref`, spells
    /// them out.
    pub fn choices(&self, name: &str) -> Option<Vec<&Value>> {
        property::choices(self.root(), self.property(name)?)
    }

    fn property(&self, name: &str) -> Option<&Value> {
        self.root().get("properties")?.get(name)
    }

    /// Fills in the defaults of the top-level properties that are absent.
    pub fn fill_defaults(&self, arguments: &mut Map<String, Value>) {
        coerce::fill_defaults(self.root(), arguments);
    }

    fn root(&self) -> &Value {
        self.root.get_or_init(|| Value::Object(Map::clone(&self.json)))
    }

    fn optional(&self) -> Option<&Validator> {
        let optional = || {
            let mut schema = Map::clone(&self.json);
            schema.remove("required");
            pattern::build(&Value::Object(schema), self.draft).ok()
        };
        self.optional.get_or_init(optional).as_ref()
    }

    fn validator(&self) -> Option<&Validator> {
        self.validator.get_or_init(|| pattern::build(self.root(), self.draft).ok()).as_ref()
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Schema").field("json", &words::shown(self.root())).finish_non_exhaustive()
    }
}

/// Whether a value fits; `None` where that takes too much work to tell.
fn is_valid(validator: &Validator, value: &Value) -> Option<bool> {
    meter::within(meter::MAX_CHECKS, || validator.is_valid(value))
}

fn into_map(json: Value) -> Map<String, Value> {
    match json {
        Value::Object(map) => map,
        Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
        _ => Map::new(),
    }
}

fn whole(message: String) -> Violation {
    Violation { pointer: String::new(), name: None, message }
}

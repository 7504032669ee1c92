//! Compiled schemas, and the validation of values.

use std::collections::HashSet;
use std::sync::{LazyLock, OnceLock};

use jsonschema::Draft;
use serde_json::{Map, Value, json};

use crate::budget::BudgetExceeded;

use super::coerce::{self, Coercion};
use super::explain::{self, Explainer};
use super::meter::LimitExceeded;
use super::pattern::MeteredValidator;
use super::property::TextForm;
use super::{
    ReferenceLoader, SchemaError, Violation, bundle, check, describe, meter, pattern, property, secret, simple_schema,
};

/// The deepest nesting of a value, as in JSON parsers.
const MAX_VALUE_DEPTH: usize = 128;

static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// A valid, self-contained schema. Where its compiler cannot fail, it is compiled on first use.
pub struct Schema {
    /// The self-contained schema, an object; made of `text` on first use where it is compact.
    root: OnceLock<Value>,
    text: Box<str>,
    draft: Draft,
    pub(super) secrets: HashSet<String>,
    validator: OnceLock<Option<Box<MeteredValidator>>>,
    /// The same without `required`, to validate one property alone.
    validator_without_required: OnceLock<Option<Box<MeteredValidator>>>,
}

impl Schema {
    /// Checks and compiles a schema with its references.
    ///
    /// # Errors
    /// All errors of the schema.
    pub fn compile(json: Value, refs: &ReferenceLoader<'_>) -> Result<Schema, Vec<SchemaError>> {
        if simple_schema::is_simple(&json) {
            return Ok(Schema::new(json, Draft::Draft202012));
        }
        let bundled = bundle::build_bundle(&json, refs)?;
        let secrets = secret::secret_names(&bundled.json, bundled.draft);
        let schema = Schema { secrets, ..Schema::new(bundled.json, bundled.draft) };
        if !bundled.compile_lazily {
            let validator = pattern::build_validator(schema.root(), schema.draft).map_err(|error| {
                let errors = pattern::pattern_errors(schema.root(), schema.draft);
                if errors.is_empty() { vec![explain::compiler_error(&error)] } else { errors }
            })?;
            let _ = schema.validator.set(Some(Box::new(validator)));
        }
        Ok(schema)
    }

    pub(super) fn new(json: Value, draft: Draft) -> Schema {
        let root = match json {
            Value::Object(map) => Value::Object(map),
            Value::Bool(false) => json!({ "not": {} }),
            _ => json!({}),
        };
        Schema {
            root: OnceLock::from(root),
            text: Box::default(),
            secrets: HashSet::new(),
            draft,
            validator: OnceLock::new(),
            validator_without_required: OnceLock::new(),
        }
    }

    /// Keeps the text of the schema alone, until its next use.
    pub fn compact(&mut self) {
        // Not `Value::to_string`, whose formatter costs twice as much.
        self.text = serde_json::to_string(self.root()).unwrap_or_default().into();
        self.root = OnceLock::new();
    }

    /// The self-contained schema for clients. `true` is `{}`, and `false` is `{"not": {}}`.
    pub fn json(&self) -> &Map<String, Value> {
        self.root().as_object().unwrap_or(&EMPTY)
    }

    /// The top-level properties.
    pub fn properties(&self) -> &Map<String, Value> {
        keyword(self.json(), "properties").and_then(Value::as_object).unwrap_or(&EMPTY)
    }

    /// Whether the top-level property `name` says of itself that it is a string.
    pub fn is_string_property(&self, name: &str) -> bool {
        let own = self.property(name).and_then(Value::as_object);
        own.and_then(|own| keyword(own, "type")).is_some_and(|declared| declared == "string")
    }

    /// Whether a value without this property is invalid.
    pub fn requires(&self, name: &str) -> bool {
        let required = keyword(self.json(), "required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|key| key == name))
    }

    /// Whether a value is valid.
    #[cfg(test)]
    pub(super) fn is_valid(&self, value: &Value) -> bool {
        check::has_depth_within(value, MAX_VALUE_DEPTH)
            && self.validator().is_some_and(|own| matches!(is_valid_within_limit(own, value), Ok(true)))
    }

    /// Whether the top-level property `name` may have a value, apart from the others; false where the running call ends.
    pub fn allows_property(&self, name: &str, value: &Value) -> bool {
        let property = self.property(name).and_then(Value::as_object);
        if let Some(fits) = property.and_then(|property| simple_schema::is_valid_simple(property, value)) {
            return fits;
        }
        if !check::has_depth_within(value, MAX_VALUE_DEPTH) {
            return false;
        }
        let alone = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
        self.validator_without_required()
            .is_some_and(|optional| matches!(is_valid_within_limit(optional, &alone), Ok(true)))
    }

    /// The violations of the schema by a value; of very many, the first, and the number of the rest.
    ///
    /// # Errors
    /// The running call ends.
    pub fn violations(&self, value: &Value) -> Result<Vec<Violation>, BudgetExceeded> {
        if !check::has_depth_within(value, MAX_VALUE_DEPTH) {
            return Ok(vec![root_violation(format!("nesting of the value exceeds {MAX_VALUE_DEPTH} levels"))]);
        }
        let Some(compiled) = self.validator() else {
            return Ok(vec![root_violation("cannot validate the value: its schema failed to compile")]);
        };
        match is_valid_within_limit(compiled, value) {
            Ok(true) => Ok(Vec::new()),
            Ok(false) => self.explain(compiled, value),
            Err(why) => Ok(vec![root_violation(format!("validation limit exceeded: {}", why.into_reason()?))]),
        }
    }

    fn explain(&self, compiled: &MeteredValidator, value: &Value) -> Result<Vec<Violation>, BudgetExceeded> {
        let explained = compiled.with_validator(value, meter::MAX_EXPLAIN_CHECKS, |validator| {
            let mut explainer = Explainer::new(self.root(), value, &self.secrets);
            validator.iter_errors(value).for_each(|error| explainer.explain(&error));
            explainer.finish()
        });
        match explained {
            Ok(violations) => Ok(violations),
            Err(LimitExceeded::Budget(why)) => Err(why),
            Err(LimitExceeded::Checks | LimitExceeded::Name) => Ok(vec![root_violation(
                "the value does not match its schema, and is too deeply nested to locate the error",
            )]),
        }
    }

    /// Coerces a string to the declared type of the top-level property `name`.
    /// A property that is not declared is a string.
    pub fn coerce_property(&self, name: &str, text: &str) -> Coercion {
        match self.property(name) {
            Some(property) => coerce::coerce(self.root(), property, text),
            None => Coercion::Value(Value::String(text.to_owned())),
        }
    }

    /// The value of a keyword in the schema of the top-level property `name`, or in its `$ref`.
    pub fn property_keyword(&self, name: &str, keyword: &str) -> Option<&Value> {
        property::keyword_value(self.root(), self.property(name)?, keyword)
    }

    /// The values that the top-level property `name` may have, where its schema lists them.
    pub fn property_choices(&self, name: &str) -> Option<Vec<&Value>> {
        property::allowed_values(self.root(), self.property(name)?)
    }

    /// What is typed for the top-level property `name`, beyond what its choices say.
    pub fn property_text_form(&self, name: &str) -> Option<TextForm> {
        property::text_form(self.root(), self.property(name)?)
    }

    pub(super) fn property(&self, name: &str) -> Option<&Value> {
        self.properties().get(name)
    }

    /// Fills in the defaults of the top-level properties that are absent.
    pub fn fill_defaults(&self, arguments: &mut Map<String, Value>) {
        for (name, property) in self.properties() {
            // The keywords of a property are few: to compare them is cheaper than to look an argument up.
            let leads_to_default = |key: &String| matches!(key.as_str(), "default" | "$ref" | "allOf");
            if property.as_object().is_some_and(|keywords| keywords.keys().any(leads_to_default))
                && !arguments.contains_key(name)
                && let Some(default) = property::keyword_value(self.root(), property, "default")
            {
                arguments.insert(name.clone(), default.clone());
            }
        }
    }

    pub(super) fn root(&self) -> &Value {
        self.root.get_or_init(|| serde_json::from_str(&self.text).unwrap_or_default())
    }

    fn validator_without_required(&self) -> Option<&MeteredValidator> {
        let optional = || {
            let mut schema = self.json().clone();
            schema.shift_remove("required");
            pattern::build_validator(&Value::Object(schema), self.draft).ok().map(Box::new)
        };
        self.validator_without_required.get_or_init(optional).as_deref()
    }

    fn validator(&self) -> Option<&MeteredValidator> {
        self.validator.get_or_init(|| pattern::build_validator(self.root(), self.draft).ok().map(Box::new)).as_deref()
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Schema").field("json", &describe::describe_value(self.root())).finish_non_exhaustive()
    }
}

/// The value of a keyword. A schema has so few that to compare them is cheaper than to look one up.
pub(super) fn keyword<'v>(schema: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    schema.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// Whether a value is valid.
fn is_valid_within_limit(compiled: &MeteredValidator, value: &Value) -> Result<bool, LimitExceeded> {
    compiled.with_validator(value, meter::MAX_CHECKS, |validator| validator.is_valid(value))
}

fn root_violation(message: impl Into<String>) -> Violation {
    Violation { pointer: String::new(), name: None, message: message.into() }
}

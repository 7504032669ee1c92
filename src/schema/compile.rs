//! A schema that is ready to be held against values.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use jsonschema::Draft;
use serde_json::{Map, Value, json};

use crate::budget::{Budget, Exhausted};

use super::coerce::{self, Coerced};
use super::explain::{self, Explainer};
use super::meter::Exceeded;
use super::pattern::Compiled;
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
    validator: OnceLock<Option<Box<Compiled>>>,
    /// The same without `required`, once a value is to be held against one property alone.
    optional: OnceLock<Option<Box<Compiled>>>,
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
            let _ = schema.validator.set(Some(Box::new(validator)));
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
    #[cfg(test)]
    pub(super) fn is_valid(&self, value: &Value) -> bool {
        check::nests_within(value, MAX_VALUE_DEPTH)
            && self.validator().is_some_and(|own| matches!(is_valid(own, value, &Budget::default()), Ok(true)))
    }

    /// Whether the top-level property `name` may have a value, whatever the others have; not where that takes more than
    /// the call may use.
    pub fn allows(&self, name: &str, value: &Value, budget: &Budget) -> bool {
        let property = self.property(name).and_then(Value::as_object);
        if let Some(fits) = property.and_then(|property| plain::fits(property, value)) {
            return fits;
        }
        if !check::nests_within(value, MAX_VALUE_DEPTH) {
            return false;
        }
        let alone = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
        let allowed = || self.optional().is_some_and(|optional| matches!(is_valid(optional, &alone, budget), Ok(true)));
        budget.run(allowed).unwrap_or(false)
    }

    /// Everything about a value that the schema does not allow; of very many, the first, and how many more.
    ///
    /// # Errors
    /// It takes more to tell than the call may use.
    pub fn violations(&self, value: &Value, budget: &Budget) -> Result<Vec<Violation>, Exhausted> {
        if !check::nests_within(value, MAX_VALUE_DEPTH) {
            return Ok(vec![whole(format!("the value nests deeper than {MAX_VALUE_DEPTH} levels"))]);
        }
        let Some(compiled) = self.validator() else {
            return Ok(vec![whole("the value cannot be checked: its schema could not be compiled".to_owned())]);
        };
        budget.run(|| self.judged(compiled, value, budget))?
    }

    fn judged(&self, compiled: &Compiled, value: &Value, budget: &Budget) -> Result<Vec<Violation>, Exhausted> {
        match is_valid(compiled, value, budget) {
            Ok(true) => Ok(Vec::new()),
            Ok(false) => self.explained(compiled, value, budget),
            Err(Exceeded::Budget(why)) => Err(why),
            Err(Exceeded::Checks) => {
                Ok(vec![whole("the value takes too much work to check: it nests too deeply for its schema".to_owned())])
            }
        }
    }

    fn explained(&self, compiled: &Compiled, value: &Value, budget: &Budget) -> Result<Vec<Violation>, Exhausted> {
        let explained = compiled.judge(value, (meter::MAX_EXPLAINED, budget), |validator| {
            let mut explainer = Explainer::new(self.root(), value, &self.secrets);
            validator.iter_errors(value).for_each(|error| explainer.explain(&error));
            explainer.finish()
        });
        match explained {
            Ok(violations) => Ok(violations),
            Err(Exceeded::Budget(why)) => Err(why),
            Err(Exceeded::Checks) => {
                Ok(vec![whole("the value does not fit its schema, and nests too deeply to say where".to_owned())])
            }
        }
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

    fn optional(&self) -> Option<&Compiled> {
        let optional = || {
            let mut schema = Map::clone(&self.json);
            schema.remove("required");
            pattern::build(&Value::Object(schema), self.draft).ok().map(Box::new)
        };
        self.optional.get_or_init(optional).as_deref()
    }

    fn validator(&self) -> Option<&Compiled> {
        self.validator.get_or_init(|| pattern::build(self.root(), self.draft).ok().map(Box::new)).as_deref()
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Schema").field("json", &words::shown(self.root())).finish_non_exhaustive()
    }
}

/// Whether a value fits.
fn is_valid(compiled: &Compiled, value: &Value, budget: &Budget) -> Result<bool, Exceeded> {
    compiled.judge(value, (meter::MAX_CHECKS, budget), |validator| validator.is_valid(value))
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

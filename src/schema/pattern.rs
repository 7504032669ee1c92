//! Regular expressions in schemas: in linear time where they can be, with a limit where they cannot.
//!
//! The engine is chosen for a whole schema: `regex`, which is linear in the text, unless a pattern needs look-around
//! or back-references; then `fancy-regex`, which gives up after [`BACKTRACKS`] steps, and the value counts as wrong.

use jsonschema::{Draft, PatternOptions, ValidationError, ValidationOptions, Validator, ValidatorMap};
use serde_json::{Map, Value, json};

use super::{SchemaFault, keyword, meter, pointer, words};

/// How often an expression may backtrack over one text.
const BACKTRACKS: usize = 100_000;

/// Compiles a self-contained schema.
pub(super) fn build(schema: &Value, draft: Draft) -> Result<Validator, ValidationError<'static>> {
    let metered = meter::metered(schema, draft);
    let schema = metered.as_ref().unwrap_or(schema);
    let linear = meter::counting(options(draft)).with_pattern_options(PatternOptions::regex());
    linear.build(schema).or_else(|_| meter::counting(backtracking(draft)).build(schema))
}

/// Compiles a self-contained schema and each schema in it, by JSON pointers with `#`.
pub(super) fn build_each(schema: &Value, draft: Draft) -> Option<ValidatorMap> {
    let linear = options(draft).with_pattern_options(PatternOptions::regex());
    linear.build_map(schema).or_else(|_| backtracking(draft).build_map(schema)).ok()
}

fn options<'i>(draft: Draft) -> ValidationOptions<'i> {
    jsonschema::options().with_draft(draft).should_validate_formats(true).offline()
}

fn backtracking<'i>(draft: Draft) -> ValidationOptions<'i> {
    options(draft).with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS))
}

/// Whether a schema itself holds an expression.
pub(super) fn has_any(schema: &Map<String, Value>) -> bool {
    schema.contains_key("pattern") || schema.contains_key("patternProperties")
}

/// The expressions of a document that no engine takes.
pub(super) fn faults(root: &Value, draft: Draft) -> Vec<SchemaFault> {
    let schemas = keyword::subschemas(root, draft);
    let expressions = schemas.iter().flat_map(|(place, schema)| {
        let own = schema.get("pattern").and_then(Value::as_str).map(|text| (pointer::join(place, "pattern"), text));
        let keys = schema.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let names = pointer::join(place, "patternProperties");
        own.into_iter().chain(keys.map(move |key| (pointer::join(&names, key), key.as_str())))
    });
    expressions.filter_map(|(pointer, text)| fault(pointer, text)).collect()
}

fn fault(pointer: String, text: &str) -> Option<SchemaFault> {
    build(&json!({ "pattern": text }), Draft::Draft202012).err()?;
    let why = regex::Regex::new(text).err().map(|error| error.to_string());
    let why = why.as_deref().and_then(|error| error.lines().last()?.strip_prefix("error: "));
    let message = format!("{} is not a regular expression", words::name(text));
    Some(SchemaFault { pointer, message: why.map_or(message.clone(), |why| format!("{message}: {why}")), help: None })
}

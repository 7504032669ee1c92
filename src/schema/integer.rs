//! Integers that are written with a fraction or an exponent.

use serde_json::{Number, Value};

use super::explain::Explainer;
use super::local_ref::{MAX_REFERENCE_STEPS, in_place_schemas};
use super::{Schema, Violation};
use crate::yaml::pointer;

/// Writes each number without a fraction as an integer: JSON has one kind of number, and `2.0` is `2` in it. Numbers
/// beyond 64 bits stay as they are. Returns whether one of those is an integer.
pub fn normalize_integers(value: &mut Value) -> bool {
    let any = |found: bool, value| normalize_integers(value) || found;
    match value {
        Value::Number(number) => match as_integer(number) {
            Some(integer) => {
                *number = integer;
                false
            }
            None => is_oversized(number),
        },
        Value::Array(items) => items.iter_mut().fold(false, any),
        Value::Object(fields) => fields.values_mut().fold(false, any),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The integer that a float is exactly.
pub(super) fn as_integer(number: &Number) -> Option<Number> {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;
    let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0)?;
    match float {
        _ if (-TWO_TO_63..TWO_TO_63).contains(&float) => Some(Number::from(float as i64)),
        _ if (0.0..TWO_TO_64).contains(&float) => Some(Number::from(float as u64)),
        _ => None,
    }
}

impl Schema {
    /// The integers of more than 64 bits in the arguments, but for those that are any numbers to the schema: their last
    /// digits are lost already.
    pub fn oversized_integers(&self, arguments: &Value) -> Vec<Violation> {
        let mut pointers = Vec::new();
        find_oversized(arguments, "", &mut pointers);
        let mut explainer = Explainer::new(self.root(), arguments, &self.secrets);
        for pointer in pointers.into_iter().filter(|pointer| !self.takes_fractions(pointer)) {
            explainer.push(pointer, "must be an integer of at most 64 bits; pass a longer one as a string".to_owned());
        }
        explainer.finish()
    }

    /// Whether a schema of the value at a pointer says `number`.
    fn takes_fractions(&self, pointer: &str) -> bool {
        let root = self.root();
        let mut schemas = with_in_place(root, vec![root]);
        for segment in pointer::segments(pointer) {
            let inner = schemas.iter().flat_map(|schema| inner_schemas(schema, &segment)).collect();
            schemas = with_in_place(root, inner);
        }
        schemas.iter().any(|schema| match schema.get("type") {
            Some(Value::String(only)) => only == "number",
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "number"),
            _ => false,
        })
    }
}

/// These schemas, and those that they name for the same value.
fn with_in_place<'v>(root: &'v Value, mut schemas: Vec<&'v Value>) -> Vec<&'v Value> {
    let mut at = 0;
    while let Some(schema) = schemas.get(at).copied().filter(|_| schemas.len() < MAX_REFERENCE_STEPS) {
        let named = schema.as_object().map(|schema| in_place_schemas(root, schema, &["allOf", "anyOf", "oneOf"]));
        schemas.extend(named.into_iter().flatten());
        at += 1;
    }
    schemas
}

/// The schemas that a schema has for what is at a name or an index of its value.
fn inner_schemas<'v>(schema: &'v Value, segment: &str) -> Vec<&'v Value> {
    let named = schema.get("properties").and_then(|properties| properties.get(segment));
    let placed = || schema.get("prefixItems")?.get(segment.parse::<usize>().ok()?);
    match named.or_else(placed) {
        Some(own) => vec![own],
        None => ["additionalProperties", "items"].iter().filter_map(|key| schema.get(*key)).collect(),
    }
}

fn is_oversized(number: &Number) -> bool {
    let is_whole = number.is_f64() && number.as_f64().is_some_and(|float| float.fract() == 0.0);
    is_whole && as_integer(number).is_none()
}

fn has_oversized(value: &Value) -> bool {
    match value {
        Value::Number(number) => is_oversized(number),
        Value::Array(items) => items.iter().any(has_oversized),
        Value::Object(fields) => fields.values().any(has_oversized),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The pointers to integers of more than 64 bits.
fn find_oversized(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(number) if is_oversized(number) => found.push(at.to_owned()),
        Value::Array(items) => {
            let places = items.iter().enumerate().filter(|(_, item)| has_oversized(item));
            places.for_each(|(place, item)| find_oversized(item, &pointer::join(at, &place.to_string()), found));
        }
        Value::Object(fields) => {
            let named = fields.iter().filter(|(_, field)| has_oversized(field));
            named.for_each(|(name, field)| find_oversized(field, &pointer::join(at, name), found));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_without_fraction_are_integers() {
        let mut value =
            json!([2.0, -3.0, -0.0, 1e3, 2.5, 1e19, -1e19, 1e300, 9_007_199_254_740_993_u64, { "a": [4.0] }, "5.0"]);
        normalize_integers(&mut value);
        let shown = r#"[2,-3,0,1000,2.5,10000000000000000000,-1e+19,1e+300,9007199254740993,{"a":[4]},"5.0"]"#;
        assert_eq!(value.to_string(), shown);
    }
}

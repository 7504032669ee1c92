//! Integers that are written with a fraction or an exponent.

use serde_json::{Map, Number, Value};

use super::{Schema, Violation};

/// Writes each number without a fraction as an integer: JSON has one kind of number, and `2.0` is `2` in it. Numbers
/// beyond 64 bits stay as they are.
pub fn normalize_integers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(integer) = as_integer(number) {
                *number = integer;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize_integers),
        Value::Object(fields) => fields.values_mut().for_each(normalize_integers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
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
    /// The integers of more than 64 bits among the arguments that are integers: their last digits are lost already.
    pub fn oversized_integers(&self, values: &Map<String, Value>) -> Vec<Violation> {
        let oversized = values.iter().filter(|(name, value)| {
            let is_whole = value.as_f64().is_some_and(|float| float.fract() == 0.0);
            let is_oversized = |number: &Number| number.is_f64() && is_whole && as_integer(number).is_none();
            self.takes_integers(name) && value.as_number().is_some_and(is_oversized)
        });
        let violation = |name: &String| Violation {
            pointer: format!("/{}", name.replace('~', "~0").replace('/', "~1")),
            name: Some(name.clone()),
            message: format!("`{name}` must be an integer of at most 64 bits; pass a longer one as a string"),
        };
        oversized.map(|(name, _)| violation(name)).collect()
    }

    /// Whether numbers of a property must be integers.
    fn takes_integers(&self, name: &str) -> bool {
        let kinds = self.property(name).and_then(|property| property.get("type"));
        let is = |kind: &str| match kinds {
            Some(Value::String(only)) => only == kind,
            Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
            _ => false,
        };
        is("integer") && !is("number")
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

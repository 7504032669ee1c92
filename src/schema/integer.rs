//! Integers that are written with a fraction or an exponent.

use serde_json::{Number, Value};

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

//! The value of a plain scalar, in the core schema of YAML 1.2.

use serde_json::{Number, Value};

/// The value of a plain scalar. `no`, `010`, `1_000` and `.inf` are strings: numbers are those of JSON.
pub(super) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(Number::from);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return u64::from_str_radix(digits, 8).ok().map(Number::from);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let whole = unsigned.split(['.', 'e', 'E']).next().unwrap_or_default();
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    let shape = unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && unsigned.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'-' | b'+'));
    if leading_zero || !shape {
        return None;
    }
    let signed = text.strip_prefix('+').unwrap_or(text);
    let integer = || signed.parse::<i64>().map(Number::from).or_else(|_| signed.parse::<u64>().map(Number::from)).ok();
    integer().or_else(|| signed.parse::<f64>().ok().and_then(Number::from_f64))
}

#[cfg(test)]
mod tests {
    use super::resolve;
    use serde_json::json;

    #[test]
    fn values_json_cannot_hold_stay_text() {
        for text in [
            "no", "yes", "on", "off", "010", "1_000", "0b11", ".inf", ".nan", "1.2.3", "-", "+", ".", "1e", "12:30",
            "0x", "--1", "1-2",
        ] {
            assert_eq!(resolve(text), json!(text), "{text}");
        }
    }

    #[test]
    fn plain_scalars_follow_yaml_1_2_core_schema() {
        for (text, value) in [
            ("1", json!(1)),
            ("-1", json!(-1)),
            ("+1", json!(1)),
            ("0", json!(0)),
            ("0.5", json!(0.5)),
            ("1.10", json!(1.1)),
            ("1e3", json!(1000.0)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("18446744073709551615", json!(18_446_744_073_709_551_615_u64)),
            ("true", json!(true)),
            ("False", json!(false)),
            ("~", json!(null)),
            ("", json!(null)),
        ] {
            assert_eq!(resolve(text), value, "{text}");
        }
    }
}

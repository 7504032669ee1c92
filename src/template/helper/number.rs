//! Arithmetic, and numbers as text. Integers stay integers, and are exact.

use serde_json::{Number, Value};

use super::argument::{HelperFn, HelperParams, HelperValue, as_count, charge_output, param_or_null, text_value};
use crate::template::render::RenderError;

pub(super) const HELPERS: &[(&str, HelperFn)] = &[
    ("add", |given| fold("add", given, (i128::checked_add, |one, other| one + other))),
    ("sub", |given| fold("sub", given, (i128::checked_sub, |one, other| one - other))),
    ("mul", |given| fold("mul", given, (i128::checked_mul, |one, other| one * other))),
    ("div", div),
    ("mod", modulo),
    ("round", round),
    ("number", number),
];

/// From here on a float stays one.
const MAX_WHOLE_FLOAT: f64 = 1e18;
/// The most digits behind the point.
const MAX_DECIMALS: usize = 20;

#[derive(Clone, Copy)]
enum HelperNumber {
    Integer(i128),
    Float(f64),
}

impl HelperNumber {
    fn float(self) -> f64 {
        match self {
            HelperNumber::Integer(integer) => integer as f64,
            HelperNumber::Float(float) => float,
        }
    }

    fn into_value(self, helper: &'static str) -> HelperValue {
        let number = match self {
            HelperNumber::Integer(integer) => i64::try_from(integer)
                .map(Number::from)
                .or_else(|_| u64::try_from(integer).map(Number::from))
                .ok()
                .or_else(|| Number::from_f64(integer as f64)),
            // Exact, as an integer is written; a larger float has no exact one.
            HelperNumber::Float(float) if float.fract() == 0.0 && float.abs() < MAX_WHOLE_FLOAT => {
                Some(Number::from(float as i64))
            }
            HelperNumber::Float(float) => Number::from_f64(float),
        };
        number.map(Value::Number).ok_or(RenderError::Helper { helper, reason: "the result is not a number" })
    }
}

/// A number, or text that is one.
fn to_num(value: &Value) -> Option<HelperNumber> {
    let parsed;
    let number = match value {
        Value::Number(number) => number,
        Value::String(text) => {
            parsed = text.trim().parse::<Number>().ok()?;
            &parsed
        }
        _ => return None,
    };
    number.as_i128().map(HelperNumber::Integer).or_else(|| number.as_f64().map(HelperNumber::Float))
}

fn param_num(helper: &'static str, given: &dyn HelperParams, place: usize) -> Result<HelperNumber, RenderError> {
    given.charge_work(32)?;
    to_num(param_or_null(given, place)).ok_or(RenderError::Helper { helper, reason: "expected numbers" })
}

/// An operation on integers, if its result is one, and on floats.
type ArithmeticOp = (fn(i128, i128) -> Option<i128>, fn(f64, f64) -> f64);

fn operate(one: HelperNumber, other: HelperNumber, (integers, floats): ArithmeticOp) -> HelperNumber {
    if let (HelperNumber::Integer(one), HelperNumber::Integer(other)) = (one, other)
        && let Some(exact) = integers(one, other)
    {
        return HelperNumber::Integer(exact);
    }
    HelperNumber::Float(floats(one.float(), other.float()))
}

fn fold(helper: &'static str, given: &dyn HelperParams, operation: ArithmeticOp) -> HelperValue {
    let mut result = param_num(helper, given, 0)?;
    for place in (1..).take_while(|place| given.param(*place).is_some()) {
        result = operate(result, param_num(helper, given, place)?, operation);
    }
    result.into_value(helper)
}

/// An integer where the division leaves nothing.
fn div(given: &dyn HelperParams) -> HelperValue {
    let (one, other) = (param_num("div", given, 0)?, param_num("div", given, 1)?);
    if other.float() == 0.0 {
        return Err(RenderError::Helper { helper: "div", reason: "division by zero" });
    }
    let exact = |one: i128, other: i128| (one.checked_rem(other)? == 0).then(|| one.checked_div(other)).flatten();
    operate(one, other, (exact, |one, other| one / other)).into_value("div")
}

fn modulo(given: &dyn HelperParams) -> HelperValue {
    let (one, other) = (param_num("mod", given, 0)?, param_num("mod", given, 1)?);
    if other.float() == 0.0 {
        return Err(RenderError::Helper { helper: "mod", reason: "division by zero" });
    }
    operate(one, other, (i128::checked_rem, |one, other| one % other)).into_value("mod")
}

fn round(given: &dyn HelperParams) -> HelperValue {
    let number = param_num("round", given, 0)?;
    let decimals = as_count(param_or_null(given, 1)).unwrap_or(0).min(MAX_DECIMALS);
    match number {
        HelperNumber::Integer(_) => number.into_value("round"),
        HelperNumber::Float(float) if decimals > 0 => {
            let rounded = format!("{float:.decimals$}").parse().unwrap_or(float);
            HelperNumber::Float(rounded).into_value("round")
        }
        HelperNumber::Float(float) if float.abs() >= MAX_WHOLE_FLOAT => HelperNumber::Float(float).into_value("round"),
        HelperNumber::Float(float) => HelperNumber::Integer(float.round() as i128).into_value("round"),
    }
}

/// A number as text, with fixed decimals and grouped thousands.
fn number(given: &dyn HelperParams) -> HelperValue {
    let number = param_num("number", given, 0)?;
    let decimals = given.option("decimals").and_then(as_count).map(|decimals| decimals.min(MAX_DECIMALS));
    let digits = match (number, decimals) {
        (HelperNumber::Integer(integer), None | Some(0)) => integer.to_string(),
        (HelperNumber::Integer(integer), Some(decimals)) => format!("{integer}.{}", "0".repeat(decimals)),
        (HelperNumber::Float(float), None) => float.to_string(),
        (HelperNumber::Float(float), Some(decimals)) => format!("{float:.decimals$}"),
    };
    // There is one zero.
    let digits = match digits.strip_prefix('-') {
        Some(zero) if zero.chars().all(|digit| matches!(digit, '0' | '.')) => zero.to_owned(),
        _ => digits,
    };
    let group = given.option("group").and_then(Value::as_str).unwrap_or_default();
    charge_output(given, digits.len().checked_mul(1 + group.len()))?;
    text_value(group_digits(&digits, group))
}

/// Writes a separator between each three digits before the point.
fn group_digits(digits: &str, separator: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let mut out = sign.to_owned();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            out.push_str(separator);
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

//! Arithmetic, and numbers as text. Integers stay integers, and are exact.

use serde_json::{Number, Value};

use super::argument::{HelperFn, HelperParams, HelperValue, as_count, check_text_size, param_or_null, text_value};
use crate::template::render::RenderError;

pub(super) const HELPERS: &[(&str, HelperFn)] = &[
    ("add", |params| {
        fold("add", params, ArithmeticOp { integers: i128::checked_add, floats: |left, right| left + right })
    }),
    ("sub", |params| {
        fold("sub", params, ArithmeticOp { integers: i128::checked_sub, floats: |left, right| left - right })
    }),
    ("mul", |params| {
        fold("mul", params, ArithmeticOp { integers: i128::checked_mul, floats: |left, right| left * right })
    }),
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

fn param_num(helper: &'static str, params: &dyn HelperParams, index: usize) -> Result<HelperNumber, RenderError> {
    to_num(param_or_null(params, index)).ok_or(RenderError::Helper { helper, reason: "expected numbers" })
}

#[derive(Clone, Copy)]
struct ArithmeticOp {
    /// The result, if it is an integer.
    integers: fn(i128, i128) -> Option<i128>,
    floats: fn(f64, f64) -> f64,
}

fn operate(left: HelperNumber, right: HelperNumber, operation: ArithmeticOp) -> HelperNumber {
    if let (HelperNumber::Integer(left), HelperNumber::Integer(right)) = (left, right)
        && let Some(exact) = (operation.integers)(left, right)
    {
        return HelperNumber::Integer(exact);
    }
    HelperNumber::Float((operation.floats)(left.float(), right.float()))
}

fn fold(helper: &'static str, params: &dyn HelperParams, operation: ArithmeticOp) -> HelperValue {
    let mut result = param_num(helper, params, 0)?;
    for index in (1..).take_while(|index| params.param(*index).is_some()) {
        result = operate(result, param_num(helper, params, index)?, operation);
    }
    result.into_value(helper)
}

/// An integer where the division leaves nothing.
fn div(params: &dyn HelperParams) -> HelperValue {
    let (left, right) = (param_num("div", params, 0)?, param_num("div", params, 1)?);
    if right.float() == 0.0 {
        return Err(RenderError::Helper { helper: "div", reason: "division by zero" });
    }
    let exact = |left: i128, right: i128| (left.checked_rem(right)? == 0).then(|| left.checked_div(right)).flatten();
    operate(left, right, ArithmeticOp { integers: exact, floats: |left, right| left / right }).into_value("div")
}

fn modulo(params: &dyn HelperParams) -> HelperValue {
    let (left, right) = (param_num("mod", params, 0)?, param_num("mod", params, 1)?);
    if right.float() == 0.0 {
        return Err(RenderError::Helper { helper: "mod", reason: "division by zero" });
    }
    operate(left, right, ArithmeticOp { integers: i128::checked_rem, floats: |left, right| left % right })
        .into_value("mod")
}

fn round(params: &dyn HelperParams) -> HelperValue {
    let number = param_num("round", params, 0)?;
    let decimals = as_count(param_or_null(params, 1)).unwrap_or(0).min(MAX_DECIMALS);
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
fn number(params: &dyn HelperParams) -> HelperValue {
    let number = param_num("number", params, 0)?;
    let decimals = params.option("decimals").and_then(as_count).map(|decimals| decimals.min(MAX_DECIMALS));
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
    let group = params.option("group").and_then(Value::as_str).unwrap_or_default();
    check_text_size(digits.len().checked_mul(1 + group.len()))?;
    text_value(group_digits(&digits, group))
}

/// Writes a separator between each three digits before the point.
fn group_digits(digits: &str, separator: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let mut out = sign.to_owned();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
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

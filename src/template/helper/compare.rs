//! Comparisons, inline or as blocks, as in Handlebars, but charged.

use std::cmp::Ordering;

use handlebars::{Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, ScopedJson};
use serde_json::{Number, Value};

use super::argument::{HelperParams, param_or_null};
use super::render_call::RenderCall;
use crate::budget::memory_size;
use crate::template::render::{RenderError, STEP_COST, is_truthy};

/// A predicate of the arguments.
type Predicate = fn(&dyn HelperParams) -> bool;

const PREDICATES: &[(&str, Predicate)] = &[
    ("eq", |given| param_or_null(given, 0) == param_or_null(given, 1)),
    ("ne", |given| param_or_null(given, 0) != param_or_null(given, 1)),
    ("gt", |given| compare_params(given) == Some(Ordering::Greater)),
    ("gte", |given| compare_params(given).is_some_and(Ordering::is_ge)),
    ("lt", |given| compare_params(given) == Some(Ordering::Less)),
    ("lte", |given| compare_params(given).is_some_and(Ordering::is_le)),
    ("and", |given| all_params(given).all(is_truthy)),
    ("or", |given| all_params(given).any(is_truthy)),
    ("not", |given| !is_truthy(param_or_null(given, 0))),
];

pub(super) fn register(registry: &mut Handlebars<'static>) {
    for (name, test) in PREDICATES {
        registry.register_helper(name, Box::new(PredicateHelper(*test)));
    }
}

pub(super) fn is_predicate(name: &str) -> bool {
    PREDICATES.iter().any(|(known, _)| *known == name)
}

struct PredicateHelper(Predicate);

impl PredicateHelper {
    fn holds(&self, given: &dyn HelperParams) -> Result<bool, RenderError> {
        given.charge_work(STEP_COST + comparison_cost(param_or_null(given, 0), param_or_null(given, 1)))?;
        Ok((self.0)(given))
    }
}

impl HelperDef for PredicateHelper {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, handlebars::RenderError> {
        Ok(ScopedJson::Derived(self.holds(helper)?.into()))
    }

    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let holds = self.holds(helper)?;
        if !helper.is_block() {
            return Ok(out.write(if holds { "true" } else { "false" })?);
        }
        let body = if holds { helper.template() } else { helper.inverse() };
        RenderCall { helper, registry, context, rendering, out }.render(body)
    }
}

fn all_params(given: &dyn HelperParams) -> impl Iterator<Item = &Value> {
    (0..).map_while(|place| given.param(place))
}

/// The cost of comparing two values.
fn comparison_cost(one: &Value, other: &Value) -> usize {
    match (one, other) {
        (Value::String(one), Value::String(other)) => one.len().min(other.len()),
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => {
            memory_size(one) + memory_size(other)
        }
        _ => 0,
    }
}

/// Compares the first two values: numbers, strings and booleans, and a number with a string that is a number.
fn compare_params(given: &dyn HelperParams) -> Option<Ordering> {
    let number = |text: &str| text.parse::<Number>().ok();
    match (param_or_null(given, 0), param_or_null(given, 1)) {
        (Value::Number(one), Value::Number(other)) => compare_numbers(one, other),
        (Value::Number(one), Value::String(other)) => compare_numbers(one, &number(other)?),
        (Value::String(one), Value::Number(other)) => compare_numbers(&number(one)?, other),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

/// Compares two numbers exactly.
pub(super) fn compare_numbers(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        (Some(one), None) => compare_integer_with_float(one, other.as_f64()?),
        (None, Some(other)) => compare_integer_with_float(other, one.as_f64()?).map(Ordering::reverse),
        (None, None) => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

fn compare_integer_with_float(whole: i128, float: f64) -> Option<Ordering> {
    // A float beyond all integers of JSON saturates.
    let by_whole = whole.cmp(&(float.trunc() as i128));
    Some(by_whole.then(0.0_f64.partial_cmp(&float.fract())?))
}

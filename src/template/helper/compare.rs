//! Comparisons, inline or as blocks.

use std::cmp::Ordering;

use handlebars::{Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, ScopedJson};
use serde_json::{Number, Value};

use super::argument::{HelperParams, param_or_null};
use super::render_call::RenderCall;
use crate::template::render::is_truthy;

/// A predicate of the arguments.
type Predicate = fn(&dyn HelperParams) -> bool;

const PREDICATES: &[(&str, Predicate)] = &[
    ("eq", |params| param_or_null(params, 0) == param_or_null(params, 1)),
    ("ne", |params| param_or_null(params, 0) != param_or_null(params, 1)),
    ("gt", |params| compare_params(params) == Some(Ordering::Greater)),
    ("gte", |params| compare_params(params).is_some_and(Ordering::is_ge)),
    ("lt", |params| compare_params(params) == Some(Ordering::Less)),
    ("lte", |params| compare_params(params).is_some_and(Ordering::is_le)),
    ("and", |params| all_params(params).all(is_truthy)),
    ("or", |params| all_params(params).any(is_truthy)),
    ("not", |params| !is_truthy(param_or_null(params, 0))),
];

pub(super) fn register(registry: &mut Handlebars<'static>) {
    for (name, test) in PREDICATES {
        registry.register_helper(name, Box::new(PredicateHelper(*test)));
    }
}

/// Registers the blocks `ifEquals` and `unlessEquals`.
pub(super) fn register_blocks(registry: &mut Handlebars<'static>) {
    for (block, predicate) in [("ifEquals", "eq"), ("unlessEquals", "ne")] {
        let test = PREDICATES.iter().find(|(name, _)| *name == predicate);
        test.into_iter().for_each(|(_, test)| registry.register_helper(block, Box::new(PredicateHelper(*test))));
    }
}

pub(super) fn is_predicate(name: &str) -> bool {
    PREDICATES.iter().any(|(known, _)| *known == name)
}

struct PredicateHelper(Predicate);

impl HelperDef for PredicateHelper {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, handlebars::RenderError> {
        Ok(ScopedJson::Derived((self.0)(helper).into()))
    }

    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let holds = (self.0)(helper);
        if !helper.is_block() {
            return Ok(out.write(if holds { "true" } else { "false" })?);
        }
        let body = if holds { helper.template() } else { helper.inverse() };
        RenderCall { helper, registry, context, rendering, out }.render(body)
    }
}

fn all_params(params: &dyn HelperParams) -> impl Iterator<Item = &Value> {
    (0..).map_while(|index| params.param(index))
}

/// Compares the first two values: numbers, strings and booleans, and a number with a string that is a number.
fn compare_params(params: &dyn HelperParams) -> Option<Ordering> {
    let number = |text: &str| text.parse::<Number>().ok();
    match (param_or_null(params, 0), param_or_null(params, 1)) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::Number(left), Value::String(right)) => compare_numbers(left, &number(right)?),
        (Value::String(left), Value::Number(right)) => compare_numbers(&number(left)?, right),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// Compares two numbers exactly.
pub(super) fn compare_numbers(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        (Some(left), None) => compare_integer_with_float(left, right.as_f64()?),
        (None, Some(right)) => compare_integer_with_float(right, left.as_f64()?).map(Ordering::reverse),
        (None, None) => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

fn compare_integer_with_float(whole: i128, float: f64) -> Option<Ordering> {
    // A float beyond all integers of JSON saturates.
    let by_whole = whole.cmp(&(float.trunc() as i128));
    Some(by_whole.then(0.0_f64.partial_cmp(&float.fract())?))
}

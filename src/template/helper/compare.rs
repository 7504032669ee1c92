//! Helpers that answer yes or no, in a hole, in parentheses or around a block: as Handlebars' own, save that what they
//! read is charged.

use std::cmp::Ordering;

use handlebars::{Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, Renderable, ScopedJson};
use serde_json::{Number, Value};

use super::argument::{Given, failure, value};
use crate::budget::weight;
use crate::template::render::{RenderError, STEP, truthy};

/// What is asked of the values that are given.
type Test = fn(&dyn Given) -> bool;

const TESTS: &[(&str, Test)] = &[
    ("eq", |given| value(given, 0) == value(given, 1)),
    ("ne", |given| value(given, 0) != value(given, 1)),
    ("gt", |given| order(given) == Some(Ordering::Greater)),
    ("gte", |given| order(given).is_some_and(Ordering::is_ge)),
    ("lt", |given| order(given) == Some(Ordering::Less)),
    ("lte", |given| order(given).is_some_and(Ordering::is_le)),
    ("and", |given| all(given).all(truthy)),
    ("or", |given| all(given).any(truthy)),
    ("not", |given| !truthy(value(given, 0))),
];

pub(super) fn register(registry: &mut Handlebars<'static>) {
    for (name, test) in TESTS {
        registry.register_helper(name, Box::new(Asked(*test)));
    }
}

struct Asked(Test);

impl Asked {
    fn holds(&self, given: &dyn Given) -> Result<bool, RenderError> {
        given.read(STEP + compared(value(given, 0), value(given, 1)))?;
        Ok((self.0)(given))
    }
}

impl HelperDef for Asked {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, handlebars::RenderError> {
        self.holds(helper).map(|holds| ScopedJson::Derived(holds.into())).map_err(failure)
    }

    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let holds = self.holds(helper).map_err(failure)?;
        match if holds { helper.template() } else { helper.inverse() } {
            _ if !helper.is_block() => Ok(out.write(if holds { "true" } else { "false" })?),
            Some(body) => body.render(registry, context, rendering, out),
            None => Ok(()),
        }
    }
}

fn all(given: &dyn Given) -> impl Iterator<Item = &Value> {
    (0..).map_while(|place| given.at(place))
}

/// How much of two values is read where they are compared.
fn compared(one: &Value, other: &Value) -> usize {
    match (one, other) {
        (Value::String(one), Value::String(other)) => one.len().min(other.len()),
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => weight(one) + weight(other),
        _ => 0,
    }
}

/// Which of the first two values is greater: of numbers, texts and truth values, and of a number and a text that is one.
fn order(given: &dyn Given) -> Option<Ordering> {
    let number = |text: &str| text.parse::<Number>().ok();
    match (value(given, 0), value(given, 1)) {
        (Value::Number(one), Value::Number(other)) => order_of_numbers(one, other),
        (Value::Number(one), Value::String(other)) => order_of_numbers(one, &number(other)?),
        (Value::String(one), Value::Number(other)) => order_of_numbers(&number(one)?, other),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

/// Which of two numbers is greater, to the last digit.
fn order_of_numbers(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        (Some(one), None) => order_of_mixed(one, other.as_f64()?),
        (None, Some(other)) => order_of_mixed(other, one.as_f64()?).map(Ordering::reverse),
        (None, None) => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

fn order_of_mixed(whole: i128, float: f64) -> Option<Ordering> {
    // A float beyond any whole number of JSON becomes the greatest or the least that there is.
    let by_whole = whole.cmp(&(float.trunc() as i128));
    Some(by_whole.then(0.0_f64.partial_cmp(&float.fract())?))
}

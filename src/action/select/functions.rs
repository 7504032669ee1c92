//! JMESPath functions: those that evaluate expressions, and the others by `jmespath`.

use std::cmp::Ordering;

use jmespath::ast::Ast;
use jmespath::{ErrorReason, Rcvar, RuntimeError, Variable};

use super::SelectError;
use super::interpreter::{ELEMENT_BYTES, EvalResult, Interpreter, array, null, written_size};
use crate::budget;

/// A list, and the expression that is evaluated for each of its elements.
struct KeyedItems<'v> {
    items: &'v [Rcvar],
    key: &'v Ast,
}

impl Interpreter<'_> {
    /// Calls a function.
    pub(super) fn call(&self, name: &str, arguments: &[Rcvar], depth: usize) -> EvalResult {
        // `jmespath` cannot be stopped: what is too long is refused before.
        arguments.iter().try_for_each(|value| written_size(value).map(drop))?;
        match (name, items_then_key(arguments)) {
            ("map", _) => match key_then_items(arguments) {
                Some(keyed) => self.map(&keyed, depth),
                None => self.call_builtin(name, arguments),
            },
            ("sort_by", Some(keyed)) => self.sort_by(&keyed, depth),
            ("max_by", Some(keyed)) => self.extremum_by(&keyed, Ordering::Greater, depth),
            ("min_by", Some(keyed)) => self.extremum_by(&keyed, Ordering::Less, depth),
            _ => {
                budget::hold(result_size(name, arguments)?)?;
                self.call_builtin(name, arguments)
            }
        }
    }

    fn map(&self, keyed: &KeyedItems<'_>, depth: usize) -> EvalResult {
        let mut found = Vec::with_capacity(keyed.items.len());
        for item in keyed.items {
            found.push(self.eval(item, keyed.key, depth)?);
        }
        array(found)
    }

    fn sort_by(&self, keyed: &KeyedItems<'_>, depth: usize) -> EvalResult {
        let mut sorted = self.keys(keyed, "expression->string|expression->number", depth)?;
        sorted.sort_by(|(_, one), (_, other)| one.cmp(other));
        array(sorted.into_iter().map(|(item, _)| item.clone()).collect())
    }

    fn extremum_by(&self, keyed: &KeyedItems<'_>, wanted: Ordering, depth: usize) -> EvalResult {
        let keys = self.keys(keyed, "expression->number|expression->string", depth)?;
        let better = |best: (Rcvar, Rcvar), (item, key): (&Rcvar, Rcvar)| match key.cmp(&best.1) == wanted {
            true => (item.clone(), key),
            false => best,
        };
        let mut keys = keys.into_iter();
        let Some((item, key)) = keys.next() else { return Ok(null()) };
        Ok(keys.fold((item.clone(), key), better).0)
    }

    /// The key of each element, all of which are texts or all numbers.
    fn keys<'v>(
        &self,
        keyed: &KeyedItems<'v>,
        expected: &str,
        depth: usize,
    ) -> Result<Vec<(&'v Rcvar, Rcvar)>, SelectError> {
        let mut keys: Vec<(&Rcvar, Rcvar)> = Vec::new();
        for (nth, item) in keyed.items.iter().enumerate() {
            let key = self.eval(item, keyed.key, depth)?;
            let expected = match keys.first() {
                Some((_, first)) if first.get_type() != key.get_type() => format!("expression->{}", first.get_type()),
                None if !key.is_string() && !key.is_number() => expected.to_owned(),
                _ => {
                    keys.push((item, key));
                    continue;
                }
            };
            let (actual, invocation) = (key.get_type().to_string(), nth.max(1));
            let wrong = RuntimeError::InvalidReturnType { expected, actual, position: 1, invocation };
            return Err(SelectError::from_reason(&ErrorReason::Runtime(wrong)));
        }
        Ok(keys)
    }
}

/// How much a function of `jmespath` makes of arguments: about as much as is at hand of them, but for texts.
fn result_size(name: &str, arguments: &[Rcvar]) -> Result<usize, SelectError> {
    match (name, arguments) {
        // Quotes and backslashes are written as two letters.
        ("to_string", [value]) if !value.is_string() => Ok(written_size(value)?.saturating_mul(2)),
        ("join", [glue, items]) => {
            let length = |text: &Rcvar| text.as_string().map_or(0, String::len);
            let items = items.as_array().into_iter().flatten();
            Ok(items.map(|item| length(item) + length(glue)).sum())
        }
        _ => Ok(arguments.iter().map(|value| shallow_size(value)).sum()),
    }
}

/// How much of a value is at hand: itself, and its elements, but not what is in them.
fn shallow_size(value: &Variable) -> usize {
    match value {
        Variable::String(text) => text.len(),
        Variable::Array(items) => items.len() * ELEMENT_BYTES,
        Variable::Object(fields) => fields.keys().map(|key| ELEMENT_BYTES + key.len()).sum(),
        _ => 0,
    }
}

/// What the functions are given that take a list, and an expression behind it.
fn items_then_key(arguments: &[Rcvar]) -> Option<KeyedItems<'_>> {
    let [items, key] = arguments else { return None };
    Some(KeyedItems { items: items.as_array()?, key: key.as_expref()? })
}

/// What `map` is given: the expression comes first.
fn key_then_items(arguments: &[Rcvar]) -> Option<KeyedItems<'_>> {
    let [key, items] = arguments else { return None };
    Some(KeyedItems { items: items.as_array()?, key: key.as_expref()? })
}

//! JMESPath functions: those that evaluate expressions, and the others by `jmespath` once their cost is charged.

use std::cmp::Ordering;

use jmespath::ast::Ast;
use jmespath::{ErrorReason, Rcvar, RuntimeError, Variable};

use super::SelectError;
use super::interpreter::{ELEMENT_BYTES, EvalResult, Interpreter, array, null};
use crate::budget::Budget;

/// A list, and the expression that is evaluated for each of its elements.
struct KeyedItems<'v> {
    items: &'v [Rcvar],
    key: &'v Ast,
}

impl Interpreter<'_> {
    /// Calls a function.
    pub(super) fn call(&self, name: &str, arguments: &[Rcvar], depth: usize) -> EvalResult {
        match (name, items_then_key(arguments)) {
            ("map", _) => match key_then_items(arguments) {
                Some(keyed) => self.map(&keyed, depth),
                None => self.call_builtin(name, arguments),
            },
            ("sort_by", Some(keyed)) => self.sort_by(&keyed, depth),
            ("max_by", Some(keyed)) => self.extremum_by(&keyed, Ordering::Greater, depth),
            ("min_by", Some(keyed)) => self.extremum_by(&keyed, Ordering::Less, depth),
            _ => {
                self.charge_call(name, arguments)?;
                self.call_builtin(name, arguments)
            }
        }
    }

    fn map(&self, keyed: &KeyedItems<'_>, depth: usize) -> EvalResult {
        let mut found = Vec::with_capacity(keyed.items.len());
        for item in keyed.items {
            found.push(self.eval(item, keyed.key, depth)?);
        }
        Ok(array(found))
    }

    fn sort_by(&self, keyed: &KeyedItems<'_>, depth: usize) -> EvalResult {
        let mut sorted = self.keys(keyed, "expression->string|expression->number", depth)?;
        self.charge_sort(sorted.iter().map(|(_, key)| key))?;
        sorted.sort_by(|(_, one), (_, other)| one.cmp(other));
        Ok(array(sorted.into_iter().map(|(item, _)| item.clone()).collect()))
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

    /// Charges what a function reads and makes.
    fn charge_call(&self, name: &str, arguments: &[Rcvar]) -> Result<(), SelectError> {
        let shallow: usize = arguments.iter().map(|value| shallow_size(value)).sum();
        self.budget.charge_memory(shallow)?;
        match (name, arguments) {
            ("to_string", [value]) if !value.is_string() => {
                let all = self.charge_value(value, Budget::charge_memory)?;
                // Quotes and backslashes are written as two letters.
                self.budget.charge_memory(all)?;
            }
            ("join", [glue, items]) => {
                let glues = items.as_array().map_or(0, Vec::len);
                self.budget.charge_memory(glues.saturating_mul(glue.as_string().map_or(0, String::len)))?;
            }
            ("sort", [items]) => self.charge_sort(items.as_array().into_iter().flatten())?,
            ("contains", [items, wanted]) => {
                for item in items.as_array().into_iter().flatten() {
                    self.charge_comparison(item, wanted)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Charges a sort: each key is compared with about as many others as it takes to halve the list to one.
    fn charge_sort<'k>(&self, keys: impl Iterator<Item = &'k Rcvar>) -> Result<(), SelectError> {
        let (count, letters) =
            keys.fold((0_usize, 0_usize), |(count, letters), key| (count + 1, letters + shallow_size(key)));
        let rounds = count.checked_ilog2().unwrap_or(0) as usize + 1;
        self.budget.charge_memory(letters)?;
        Ok(self.budget.charge_work(letters.saturating_mul(rounds))?)
    }
}

/// How much of a value is at hand: itself, and its elements, but not what is in them.
fn shallow_size(value: &Variable) -> usize {
    let text = |value: &Variable| value.as_string().map_or(0, String::len);
    match value {
        Variable::String(text) => ELEMENT_BYTES + text.len(),
        Variable::Array(items) => items.iter().map(|item| ELEMENT_BYTES + text(item)).sum(),
        Variable::Object(fields) => fields.iter().map(|(key, field)| ELEMENT_BYTES + key.len() + text(field)).sum(),
        _ => ELEMENT_BYTES,
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

//! Interprets JMESPath as `jmespath` does, but for the order of keys and for integers, and ends with its call.
//!
//! Values are shared and not copied, so that what is doubled is doubled in name only until it is written out.

use std::cell::RefCell;
use std::collections::BTreeMap;

use jmespath::ast::{Ast, Comparator, KeyValuePair};
use serde_json::{Number, Value};

use jmespath::{Context, DEFAULT_RUNTIME, ErrorReason, Rcvar, RuntimeError, Variable};

use super::SelectError;
use super::key_order::KeyOrders;
use crate::budget::{self, BudgetExceeded, MAX_MEMORY};

/// How deep evaluations may go, beyond what one expression can be nested: expressions that are values call one another.
const MAX_EVALUATION_DEPTH: usize = 512;
/// What an element of a list or an object takes beside its text.
pub(super) const ELEMENT_BYTES: usize = 48;

/// An expression that is being evaluated.
pub(super) struct Interpreter<'a> {
    expression: &'a str,
    /// The order of keys of the objects in it.
    orders: RefCell<KeyOrders<'a>>,
}

pub(super) type EvalResult = Result<Rcvar, SelectError>;

impl<'a> Interpreter<'a> {
    /// Selects from a value with a whole expression.
    pub(super) fn select(expression: &'a jmespath::Expression<'_>, value: &'a Value) -> Result<Value, SelectError> {
        let mut orders = KeyOrders::default();
        let data = orders.variable_of(value);
        let interpreter = Interpreter { expression: expression.as_str(), orders: RefCell::new(orders) };
        let found = interpreter.eval(&data, expression.as_ast(), 0)?;
        budget::hold(written_size(&found)?)?;
        let orders = interpreter.orders.into_inner();
        orders.into_value(&found).map_err(|error| SelectError::mismatch(error.to_string()))
    }

    /// What a node finds in a value, at some depth.
    pub(super) fn eval(&self, data: &Rcvar, node: &Ast, depth: usize) -> EvalResult {
        budget::tick()?;
        if depth > MAX_EVALUATION_DEPTH {
            return Err(SelectError::mismatch(format!("evaluation deeper than {MAX_EVALUATION_DEPTH} levels")));
        }
        self.eval_node(data, node, depth + 1)
    }

    /// What a node finds; each kind has a function, so that little is on the stack for each level.
    fn eval_node(&self, data: &Rcvar, node: &Ast, depth: usize) -> EvalResult {
        match node {
            Ast::Identity { .. } => Ok(data.clone()),
            Ast::Literal { value, .. } => Ok(value.clone()),
            Ast::Field { name, .. } => Ok(data.get_field(name)),
            Ast::Index { idx, .. } => Ok(index(data, *idx)),
            Ast::Subexpr { lhs, rhs, .. } => self.eval_subexpr(data, lhs, rhs, depth),
            Ast::Or { lhs, rhs, .. } => self.eval_or(data, lhs, rhs, depth),
            Ast::And { lhs, rhs, .. } => self.eval_and(data, lhs, rhs, depth),
            Ast::Not { node, .. } => self.eval(data, node, depth).map(|found| boolean(!found.is_truthy())),
            Ast::Condition { predicate, then, .. } => self.eval_condition(data, predicate, then, depth),
            Ast::Comparison { comparator, lhs, rhs, .. } => {
                compare(&*self.eval(data, lhs, depth)?, comparator, &*self.eval(data, rhs, depth)?)
            }
            Ast::ObjectValues { node, .. } => object_values(&*self.eval(data, node, depth)?),
            Ast::Flatten { node, .. } => flatten(&*self.eval(data, node, depth)?),
            Ast::Slice { start, stop, step, .. } => {
                slice(data, SliceBounds { start: *start, stop: *stop, step: *step })
            }
            Ast::Projection { lhs, rhs, .. } => self.eval_projection(data, lhs, rhs, depth),
            Ast::MultiList { elements, .. } => self.eval_multi_list(data, elements, depth),
            Ast::MultiHash { elements, .. } => self.eval_multi_hash(data, elements, depth),
            Ast::Function { name, args, .. } => self.eval_function(data, name, args, depth),
            Ast::Expref { ast, .. } => Ok(Rcvar::new(Variable::Expref((**ast).clone()))),
        }
    }

    fn eval_subexpr(&self, data: &Rcvar, left: &Ast, right: &Ast, depth: usize) -> EvalResult {
        self.eval(&self.eval(data, left, depth)?, right, depth)
    }

    fn eval_or(&self, data: &Rcvar, left: &Ast, right: &Ast, depth: usize) -> EvalResult {
        let found = self.eval(data, left, depth)?;
        if found.is_truthy() { Ok(found) } else { self.eval(data, right, depth) }
    }

    fn eval_and(&self, data: &Rcvar, left: &Ast, right: &Ast, depth: usize) -> EvalResult {
        let found = self.eval(data, left, depth)?;
        if found.is_truthy() { self.eval(data, right, depth) } else { Ok(found) }
    }

    fn eval_condition(&self, data: &Rcvar, predicate: &Ast, then: &Ast, depth: usize) -> EvalResult {
        if self.eval(data, predicate, depth)?.is_truthy() { self.eval(data, then, depth) } else { Ok(null()) }
    }

    fn eval_function(&self, data: &Rcvar, name: &str, arguments: &[Ast], depth: usize) -> EvalResult {
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(self.eval(data, argument, depth)?);
        }
        self.call(name, &values, depth)
    }

    fn eval_projection(&self, data: &Rcvar, left: &Ast, right: &Ast, depth: usize) -> EvalResult {
        let left = self.eval(data, left, depth)?;
        let Variable::Array(items) = &*left else { return Ok(null()) };
        let mut found = Vec::new();
        for item in items {
            let one = self.eval(item, right, depth)?;
            if !one.is_null() {
                found.push(one);
            }
        }
        array(found)
    }

    fn eval_multi_list(&self, data: &Rcvar, elements: &[Ast], depth: usize) -> EvalResult {
        if data.is_null() {
            return Ok(null());
        }
        let mut found = Vec::with_capacity(elements.len());
        for element in elements {
            found.push(self.eval(data, element, depth)?);
        }
        array(found)
    }

    fn eval_multi_hash(&self, data: &Rcvar, elements: &[KeyValuePair], depth: usize) -> EvalResult {
        if data.is_null() {
            return Ok(null());
        }
        let mut found = BTreeMap::new();
        for pair in elements {
            found.insert(pair.key.clone(), self.eval(data, &pair.value, depth)?);
        }
        budget::hold(found.keys().map(|key| ELEMENT_BYTES + key.len()).sum())?;
        let object = Rcvar::new(Variable::Object(found));
        self.orders.borrow_mut().record_created_object(&object, elements);
        Ok(object)
    }

    /// Calls a function of `jmespath` itself.
    pub(super) fn call_builtin(&self, name: &str, arguments: &[Rcvar]) -> EvalResult {
        let failed = |error: jmespath::JmespathError| SelectError::from_reason(&error.reason);
        let mut context = Context::new(self.expression, &DEFAULT_RUNTIME);
        match DEFAULT_RUNTIME.get_function(name) {
            Some(function) => function
                .evaluate(arguments, &mut context)
                .map(|found| restore_integer(name, arguments, found))
                .map_err(failed),
            None => Err(SelectError::mismatch(format!("unknown JMESPath function `{name}`"))),
        }
    }
}

/// The value of a function of numbers: an integer where its arguments are, or where it rounds.
fn restore_integer(name: &str, arguments: &[Rcvar], found: Rcvar) -> Rcvar {
    let integer = match (name, arguments) {
        ("abs", [number]) => as_integer(number).map(i128::abs),
        ("ceil" | "floor", _) => exact_integer(&found),
        ("avg", [items]) => {
            let integers = items.as_array().is_some_and(|items| items.iter().all(|item| as_integer(item).is_some()));
            exact_integer(&found).filter(|_| integers)
        }
        ("sum", [items]) => items
            .as_array()
            .and_then(|items| items.iter().map(as_integer).try_fold(0_i128, |sum, next| sum.checked_add(next?))),
        _ => None,
    };
    let number = integer.and_then(|integer| {
        let signed = i64::try_from(integer).ok().map(Number::from);
        signed.or_else(|| u64::try_from(integer).ok().map(Number::from))
    });
    number.map_or(found, |number| Rcvar::new(Variable::Number(number)))
}

fn as_integer(value: &Rcvar) -> Option<i128> {
    match &**value {
        Variable::Number(number) => number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)),
        _ => None,
    }
}

/// A float without a fraction, if it is exact.
fn exact_integer(value: &Rcvar) -> Option<i128> {
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let float = value.as_number()?;
    (float.abs() <= MAX_EXACT && float.fract() == 0.0).then_some(float as i128)
}

pub(super) fn null() -> Rcvar {
    Rcvar::new(Variable::Null)
}

pub(super) fn array(items: Vec<Rcvar>) -> EvalResult {
    budget::hold(items.len() * ELEMENT_BYTES)?;
    Ok(Rcvar::new(Variable::Array(items)))
}

/// How much a value takes when it is written out, where what is named twice is there twice.
///
/// # Errors
/// More than a call may hold.
pub(super) fn written_size(value: &Variable) -> Result<usize, BudgetExceeded> {
    let (mut size, mut ahead) = (0_usize, vec![value]);
    while let Some(value) = ahead.pop() {
        budget::tick()?;
        size += ELEMENT_BYTES;
        match value {
            Variable::String(text) => size += text.len(),
            Variable::Array(items) => ahead.extend(items.iter().map(|item| &**item)),
            Variable::Object(fields) => {
                size += fields.keys().map(String::len).sum::<usize>();
                ahead.extend(fields.values().map(|field| &**field));
            }
            _ => {}
        }
        if size as u64 > MAX_MEMORY {
            return Err(BudgetExceeded::Memory);
        }
    }
    Ok(size)
}

fn compare(left: &Variable, comparator: &Comparator, right: &Variable) -> EvalResult {
    // What is too long to be written out is too long to be compared.
    written_size(left)?;
    written_size(right)?;
    Ok(left.compare(comparator, right).map_or_else(null, boolean))
}

fn object_values(subject: &Variable) -> EvalResult {
    let Variable::Object(fields) = subject else { return Ok(null()) };
    array(fields.values().cloned().collect())
}

fn flatten(subject: &Variable) -> EvalResult {
    let Variable::Array(items) = subject else { return Ok(null()) };
    let length: usize = items.iter().map(|item| item.as_array().map_or(1, Vec::len)).sum();
    budget::hold(length * ELEMENT_BYTES)?;
    let mut flat = Vec::with_capacity(length);
    for item in items {
        match &**item {
            Variable::Array(inner) => flat.extend(inner.iter().cloned()),
            _ => flat.push(item.clone()),
        }
    }
    Ok(Rcvar::new(Variable::Array(flat)))
}

fn slice(data: &Variable, bounds: SliceBounds) -> EvalResult {
    if bounds.step == 0 {
        return Err(SelectError::from_reason(&ErrorReason::Runtime(RuntimeError::InvalidSlice)));
    }
    let Variable::Array(items) = data else { return Ok(null()) };
    array(slice_indices(items.len(), bounds).filter_map(|place| items.get(place).cloned()).collect())
}

fn boolean(holds: bool) -> Rcvar {
    Rcvar::new(Variable::Bool(holds))
}

fn index(data: &Rcvar, at: i32) -> Rcvar {
    let Variable::Array(items) = &**data else { return null() };
    let from_end = || items.len().checked_sub(at.unsigned_abs() as usize);
    let place = usize::try_from(at).ok().or_else(from_end);
    place.and_then(|place| items.get(place).cloned()).unwrap_or_else(null)
}

/// The elements that a slice takes: from one to another, in steps.
struct SliceBounds {
    start: Option<i32>,
    stop: Option<i32>,
    step: i32,
}

/// The places of the elements that a slice takes of a list of this length.
fn slice_indices(length: usize, SliceBounds { start, stop, step }: SliceBounds) -> impl Iterator<Item = usize> {
    let (length, step) = (i64::try_from(length).unwrap_or(i64::MAX), i64::from(step));
    let (least, most) = if step < 0 { (-1, length - 1) } else { (0, length) };
    let place = |end: Option<i32>, otherwise: i64| {
        let Some(end) = end.map(i64::from) else { return otherwise };
        let from_start = if end < 0 { end + length } else { end };
        from_start.clamp(least, most)
    };
    let (first, last) = if step < 0 { (length - 1, -1) } else { (0, length) };
    let (first, last) = (place(start, first), place(stop, last));
    let places = std::iter::successors(Some(first), move |place| Some(place + step));
    let inside = move |place: &i64| if step < 0 { *place > last } else { *place < last };
    places.take_while(inside).filter_map(|place| usize::try_from(place).ok())
}

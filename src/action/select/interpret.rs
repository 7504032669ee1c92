//! The interpreter: as that of `jmespath`, save that each value it makes is charged, and that its recursion ends.
//!
//! Values are shared and not copied, so that what is doubled is doubled in name only until it is written out.

use std::collections::BTreeMap;

use jmespath::ast::{Ast, Comparator, KeyValuePair};
use jmespath::{Context, DEFAULT_RUNTIME, ErrorReason, Rcvar, RuntimeError, Variable};

use super::SelectError;
use crate::budget::{Budget, Exhausted};

/// How deep evaluations may go, beyond what one expression can be nested: expressions that are values call one another.
const DEPTH: usize = 512;
/// What a node costs beside what it holds.
const NODE: usize = 64;
/// What an element of a list or an object costs beside its text.
pub(super) const ELEMENT: usize = 48;

/// An expression that is being evaluated.
pub(super) struct Interpreter<'a> {
    pub(super) expression: &'a str,
    pub(super) budget: &'a Budget,
}

/// What a value is charged as: as read, or as held.
pub(super) type Charge = fn(&Budget, usize) -> Result<(), Exhausted>;

pub(super) type Found = Result<Rcvar, SelectError>;

impl Interpreter<'_> {
    /// What a node finds in a value, at some depth.
    pub(super) fn find(&self, data: &Rcvar, node: &Ast, depth: usize) -> Found {
        self.budget.hold(NODE)?;
        if depth > DEPTH {
            return Err(SelectError::misfit(format!("the evaluation nests deeper than {DEPTH} levels")));
        }
        self.evaluate(data, node, depth + 1)
    }

    /// What a node finds; each kind has a function, so that little is on the stack for each level.
    fn evaluate(&self, data: &Rcvar, node: &Ast, depth: usize) -> Found {
        match node {
            Ast::Identity { .. } => Ok(data.clone()),
            Ast::Literal { value, .. } => Ok(value.clone()),
            Ast::Field { name, .. } => Ok(data.get_field(name)),
            Ast::Index { idx, .. } => Ok(index(data, *idx)),
            Ast::Subexpr { lhs, rhs, .. } => self.chain(data, (lhs, rhs), depth),
            Ast::Or { lhs, rhs, .. } => self.either(data, (lhs, rhs), depth),
            Ast::And { lhs, rhs, .. } => self.both(data, (lhs, rhs), depth),
            Ast::Not { node, .. } => self.find(data, node, depth).map(|found| truth(!found.is_truthy())),
            Ast::Condition { predicate, then, .. } => self.condition(data, (predicate, then), depth),
            Ast::Comparison { comparator, lhs, rhs, .. } => self.compare(data, (lhs, comparator, rhs), depth),
            Ast::ObjectValues { node, .. } => self.values(&self.find(data, node, depth)?),
            Ast::Flatten { node, .. } => self.flatten(&self.find(data, node, depth)?),
            Ast::Slice { start, stop, step, .. } => self.slice(data, (*start, *stop), *step),
            Ast::Projection { lhs, rhs, .. } => self.project(data, (lhs, rhs), depth),
            Ast::MultiList { elements, .. } => self.list(data, elements, depth),
            Ast::MultiHash { elements, .. } => self.hash(data, elements, depth),
            Ast::Function { name, args, .. } => self.function(data, (name, args), depth),
            Ast::Expref { ast, .. } => self.expression(ast),
        }
    }

    fn chain(&self, data: &Rcvar, (left, right): (&Ast, &Ast), depth: usize) -> Found {
        self.find(&self.find(data, left, depth)?, right, depth)
    }

    fn either(&self, data: &Rcvar, (left, right): (&Ast, &Ast), depth: usize) -> Found {
        let found = self.find(data, left, depth)?;
        if found.is_truthy() { Ok(found) } else { self.find(data, right, depth) }
    }

    fn both(&self, data: &Rcvar, (left, right): (&Ast, &Ast), depth: usize) -> Found {
        let found = self.find(data, left, depth)?;
        if found.is_truthy() { self.find(data, right, depth) } else { Ok(found) }
    }

    fn condition(&self, data: &Rcvar, (predicate, then): (&Ast, &Ast), depth: usize) -> Found {
        if self.find(data, predicate, depth)?.is_truthy() { self.find(data, then, depth) } else { Ok(null()) }
    }

    fn function(&self, data: &Rcvar, (name, arguments): (&str, &[Ast]), depth: usize) -> Found {
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            given.push(self.find(data, argument, depth)?);
        }
        self.call(name, &given, depth)
    }

    /// An expression as a value.
    fn expression(&self, node: &Ast) -> Found {
        self.budget.hold(self.expression.len() * ELEMENT)?;
        Ok(Rcvar::new(Variable::Expref(node.clone())))
    }

    fn compare(&self, data: &Rcvar, (left, comparator, right): (&Ast, &Comparator, &Ast), depth: usize) -> Found {
        let (left, right) = (self.find(data, left, depth)?, self.find(data, right, depth)?);
        if matches!(comparator, Comparator::Equal | Comparator::NotEqual) {
            self.weigh_compared(&left, &right)?;
        }
        Ok(left.compare(comparator, &right).map_or_else(null, truth))
    }

    fn values(&self, subject: &Rcvar) -> Found {
        let Variable::Object(fields) = &**subject else { return Ok(null()) };
        self.budget.hold(fields.len() * ELEMENT)?;
        Ok(array(fields.values().cloned().collect()))
    }

    fn flatten(&self, subject: &Rcvar) -> Found {
        let Variable::Array(items) = &**subject else { return Ok(null()) };
        let mut flat = Vec::new();
        for item in items {
            match &**item {
                Variable::Array(inner) => {
                    self.budget.hold(inner.len() * ELEMENT)?;
                    flat.extend(inner.iter().cloned());
                }
                _ => {
                    self.budget.hold(ELEMENT)?;
                    flat.push(item.clone());
                }
            }
        }
        Ok(array(flat))
    }

    fn slice(&self, data: &Rcvar, (start, stop): (Option<i32>, Option<i32>), step: i32) -> Found {
        if step == 0 {
            return Err(SelectError::of_reason(&ErrorReason::Runtime(RuntimeError::InvalidSlice)));
        }
        let Variable::Array(items) = &**data else { return Ok(null()) };
        self.budget.hold(items.len() * ELEMENT)?;
        let places = slice_places(items.len(), (start, stop), step);
        Ok(array(places.filter_map(|place| items.get(place).cloned()).collect()))
    }

    fn project(&self, data: &Rcvar, (left, right): (&Ast, &Ast), depth: usize) -> Found {
        let left = self.find(data, left, depth)?;
        let Variable::Array(items) = &*left else { return Ok(null()) };
        let mut found = Vec::new();
        for item in items {
            let one = self.find(item, right, depth)?;
            if !one.is_null() {
                found.push(one);
            }
        }
        Ok(array(found))
    }

    fn list(&self, data: &Rcvar, elements: &[Ast], depth: usize) -> Found {
        if data.is_null() {
            return Ok(null());
        }
        let mut found = Vec::with_capacity(elements.len());
        for element in elements {
            found.push(self.find(data, element, depth)?);
        }
        Ok(array(found))
    }

    fn hash(&self, data: &Rcvar, elements: &[KeyValuePair], depth: usize) -> Found {
        if data.is_null() {
            return Ok(null());
        }
        let mut found = BTreeMap::new();
        for pair in elements {
            self.budget.hold(pair.key.len())?;
            found.insert(pair.key.clone(), self.find(data, &pair.value, depth)?);
        }
        Ok(Rcvar::new(Variable::Object(found)))
    }

    /// Calls a function of `jmespath` itself.
    pub(super) fn call_builtin(&self, name: &str, given: &[Rcvar]) -> Found {
        let failed = |error: jmespath::JmespathError| SelectError::of_reason(&error.reason);
        let mut context = Context::new(self.expression, &DEFAULT_RUNTIME);
        match DEFAULT_RUNTIME.get_function(name) {
            Some(function) => function.evaluate(given, &mut context).map_err(failed),
            None => Err(SelectError::misfit(format!("there is no function `{name}`"))),
        }
    }

    /// Charges all that is in a value, as often as it is named there. Gives how much that is.
    pub(super) fn weigh(&self, value: &Variable, charge: Charge) -> Result<usize, SelectError> {
        let own = match value {
            Variable::String(text) => ELEMENT + text.len(),
            _ => ELEMENT,
        };
        charge(self.budget, own)?;
        let below: usize = match value {
            Variable::Array(items) => items.iter().map(|item| self.weigh(item, charge)).sum::<Result<_, _>>()?,
            Variable::Object(fields) => fields
                .iter()
                .map(|(key, field)| Ok(key.len() + self.weigh(field, charge)?))
                .sum::<Result<_, SelectError>>()?,
            _ => 0,
        };
        Ok(own + below)
    }

    /// Charges the comparison of two values.
    pub(super) fn weigh_compared(&self, one: &Variable, other: &Variable) -> Result<(), SelectError> {
        match (one, other) {
            (Variable::Array(_), Variable::Array(_)) | (Variable::Object(_), Variable::Object(_)) => {
                self.weigh(one, Budget::work)?;
                self.weigh(other, Budget::work)?;
            }
            (Variable::String(one), Variable::String(other)) => self.budget.work(one.len().min(other.len()))?,
            (Variable::Expref(_), Variable::Expref(_)) => self.budget.work(self.expression.len())?,
            _ => {}
        }
        Ok(())
    }
}

pub(super) fn null() -> Rcvar {
    Rcvar::new(Variable::Null)
}

pub(super) fn array(items: Vec<Rcvar>) -> Rcvar {
    Rcvar::new(Variable::Array(items))
}

fn truth(holds: bool) -> Rcvar {
    Rcvar::new(Variable::Bool(holds))
}

fn index(data: &Rcvar, at: i32) -> Rcvar {
    let Variable::Array(items) = &**data else { return null() };
    let from_end = || items.len().checked_sub(at.unsigned_abs() as usize);
    let place = usize::try_from(at).ok().or_else(from_end);
    place.and_then(|place| items.get(place).cloned()).unwrap_or_else(null)
}

/// The places of the elements that a slice takes of a list of this length.
fn slice_places(length: usize, (start, stop): (Option<i32>, Option<i32>), step: i32) -> impl Iterator<Item = usize> {
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

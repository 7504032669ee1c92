//! Limits the work of one validation, for schemas that refer to themselves.
//!
//! Such a schema may try several branches at each level of a value: a hundred bytes can take hours, and the errors of all
//! branches all memory. The validator has no limits, so each subschema gets a keyword that counts, and that ends a
//! validation over its limit. Patterns charge the budget of the call here too, before each match.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jsonschema::{Draft, Keyword, ValidationError, ValidationOptions};
use serde_json::Value;

use crate::budget::{Budget, BudgetExceeded};

use super::keyword;
use super::pattern_cost::PatternCost;

/// The keyword that counts.
const KEYWORD: &str = "x-folio-meter";

/// How many subschemas are checked to decide whether a value is valid.
pub(super) const MAX_CHECKS: u32 = 100_000;
/// How many are checked to explain an invalid value: each may leave an error.
pub(super) const MAX_EXPLAIN_CHECKS: u32 = 10_000;

/// How many steps of patterns one validation is not charged for: counting them would take as long.
const UNCHARGED_STEPS: usize = 16 << 10;

thread_local! {
    /// The running validation of this thread.
    static RUNNING: RefCell<Option<Validation>> = const { RefCell::new(None) };
}

/// What the running validation may still use.
struct Validation {
    checks: u32,
    uncharged_steps: usize,
    budget: Budget,
}

/// Why a validation ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum LimitExceeded {
    /// Too many subschemas.
    Checks,
    /// The budget of the call.
    Budget(BudgetExceeded),
}

struct Meter;

impl<'i> Keyword<'i> for Meter {
    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        consume_check();
        Ok(())
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        consume_check();
        true
    }
}

fn consume_check() {
    let counted = RUNNING.with_borrow_mut(|running| {
        let Some(validation) = running else { return true };
        validation.checks = validation.checks.saturating_sub(1);
        validation.checks > 0
    });
    if !counted {
        end(LimitExceeded::Checks);
    }
}

/// Charges the cost of a match, and ends a validation that exceeds its budget.
pub(super) fn charge(cost: &PatternCost, text: &str) {
    let charged = RUNNING.with_borrow_mut(|running| {
        let Some(validation) = running else { return Ok(()) };
        match validation.uncharged_steps.checked_sub(cost.max_steps(text.len())) {
            Some(uncharged_steps) => validation.uncharged_steps = uncharged_steps,
            None => cost.charge(text, &validation.budget)?,
        }
        Ok(())
    });
    if let Err(why) = charged {
        end(LimitExceeded::Budget(why));
    }
}

/// Ends the running validation, by unwinding: the validator has no other way.
pub(super) fn end(why: LimitExceeded) -> ! {
    // Not a panic: no hook runs.
    resume_unwind(Box::new(why))
}

/// Adds the counting keyword to each subschema, where the schema may refer to itself.
pub(super) fn add_meter(schema: &Value, draft: Draft) -> Option<Value> {
    let pointers: Vec<String> = keyword::subschemas(schema, draft).into_iter().map(|(pointer, _)| pointer).collect();
    let refers = |schema: &Value| ["$ref", "$dynamicRef", "$recursiveRef"].iter().any(|key| schema.get(key).is_some());
    let all = || pointers.iter().filter_map(|pointer| schema.pointer(pointer));
    if !all().any(refers) {
        return None;
    }
    let mut metered = schema.clone();
    for pointer in &pointers {
        if let Some(Value::Object(inner)) = metered.pointer_mut(pointer) {
            inner.shift_insert(0, KEYWORD.to_owned(), Value::Bool(true));
        }
    }
    Some(metered)
}

/// The options to compile metered schemas.
pub(super) fn with_meter_keyword(options: ValidationOptions<'_>) -> ValidationOptions<'_> {
    options.with_keyword(KEYWORD, |_, _, _| Ok(Box::new(Meter)))
}

/// What one validation may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits<'b> {
    /// How many subschemas it may check.
    pub checks: u32,
    pub budget: &'b Budget,
}

/// Runs a validation within limits.
///
/// # Errors
/// A limit is exceeded.
pub(super) fn run_metered<T>(limits: Limits<'_>, validate: impl FnOnce() -> T) -> Result<T, LimitExceeded> {
    let validation =
        Validation { checks: limits.checks, uncharged_steps: UNCHARGED_STEPS, budget: limits.budget.clone() };
    let outer = RUNNING.replace(Some(validation));
    let done = catch_unwind(AssertUnwindSafe(validate));
    RUNNING.set(outer);
    done.map_err(|payload| match payload.downcast::<LimitExceeded>() {
        Ok(why) => *why,
        Err(payload) => resume_unwind(payload),
    })
}

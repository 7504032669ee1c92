//! Limits the work of one validation, for schemas that refer to themselves.
//!
//! Such a schema may try several branches at each level of a value: a hundred bytes can take hours, and the errors of all
//! branches all memory. The validator has no limits, so each subschema gets a keyword that counts, and that ends a
//! validation over its limit, or with its call.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jsonschema::{Draft, Keyword, ValidationError, ValidationOptions};
use serde_json::Value;

use crate::budget::{self, BudgetExceeded};

use super::keyword;

/// The keyword that counts.
const KEYWORD: &str = "x-folio-meter";

/// How many subschemas are checked to decide whether a value is valid.
pub(super) const MAX_CHECKS: u32 = 100_000;
/// How many are checked to explain an invalid value: each may leave an error.
pub(super) const MAX_EXPLAIN_CHECKS: u32 = 10_000;

thread_local! {
    /// How many subschemas the running validation of this thread may still check.
    static CHECKS_LEFT: Cell<u32> = const { Cell::new(0) };
}

/// Why a validation ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum LimitExceeded {
    /// Too many subschemas.
    Checks,
    /// The name of a property is too long for the patterns of its schema.
    Name,
    /// The budget of the call.
    Budget(BudgetExceeded),
}

impl LimitExceeded {
    /// What is wrong with the value, where it is not that its call has ended.
    pub(super) fn into_reason(self) -> Result<&'static str, BudgetExceeded> {
        match self {
            LimitExceeded::Checks => Ok("the value is too deeply nested for its schema"),
            LimitExceeded::Name => Ok("the name of a property is too long for the patterns of its schema"),
            LimitExceeded::Budget(why) => Err(why),
        }
    }
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
    match CHECKS_LEFT.get().checked_sub(1) {
        Some(left) => CHECKS_LEFT.set(left),
        None => end(LimitExceeded::Checks),
    }
    tick();
}

/// One round of a loop of the running validation, which ends with its call.
pub(super) fn tick() {
    if let Err(why) = budget::tick() {
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

/// Runs a validation that checks at most so many subschemas.
///
/// # Errors
/// A limit is exceeded.
pub(super) fn run_metered<T>(checks: u32, validate: impl FnOnce() -> T) -> Result<T, LimitExceeded> {
    let outer = CHECKS_LEFT.replace(checks);
    let done = catch_unwind(AssertUnwindSafe(validate));
    CHECKS_LEFT.set(outer);
    done.map_err(|payload| match payload.downcast::<LimitExceeded>() {
        Ok(why) => *why,
        Err(payload) => resume_unwind(payload),
    })
}

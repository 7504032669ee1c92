//! A bound on the work of one validation, for schemas that refer to themselves.
//!
//! Such a schema may try several branches at each level of a value, and each of them several at the next: a value of a
//! hundred bytes can then take hours, and the errors of all branches more memory than there is. The validator has no
//! limit of its own, so each of its subschemas gets a keyword of ours that counts, and ends a validation that takes too
//! much. Patterns charge the budget of the call here too, each text before it is matched.
//! What is not here: how deep a value may nest (`check`), and what a pattern costs (`cost`).

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jsonschema::{Draft, Keyword, ValidationError, ValidationOptions};
use serde_json::Value;

use crate::budget::{Budget, Exhausted};

use super::cost::Cost;
use super::keyword;

/// The keyword that counts.
const KEYWORD: &str = "x-folio-meter";

/// How many subschemas are held against values to tell whether a value is valid.
pub(super) const MAX_CHECKS: u32 = 100_000;
/// How many are held against values to tell what is wrong: each may leave an error behind.
pub(super) const MAX_EXPLAIN_CHECKS: u32 = 10_000;

/// How many steps of patterns one validation may take at most without being charged for them: so many take no time that
/// is felt, and to count them would take as long.
const USER_DATA_KEYS: usize = 16 << 10;

thread_local! {
    /// The validation that this thread is at.
    static UNDER_WAY: RefCell<Option<Validation>> = const { RefCell::new(None) };
}

/// What a validation may still use.
struct Validation {
    checks: u32,
    free: usize,
    budget: Budget,
}

/// Why a validation was ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum LimitExceeded {
    /// It looked at too many subschemas.
    Checks,
    /// Its call may do no more.
    Budget(Exhausted),
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
    let counted = UNDER_WAY.with_borrow_mut(|under_way| {
        let Some(validation) = under_way else { return true };
        validation.checks = validation.checks.saturating_sub(1);
        validation.checks > 0
    });
    if !counted {
        end(LimitExceeded::Checks);
    }
}

/// Charges what it costs to match a text, and ends a validation that cannot afford it.
pub(super) fn charge(cost: &Cost, text: &str) {
    let charged = UNDER_WAY.with_borrow_mut(|under_way| {
        let Some(validation) = under_way else { return Ok(()) };
        match validation.free.checked_sub(cost.most(text.len())) {
            Some(free) => validation.free = free,
            None => cost.charge(text, &validation.budget)?,
        }
        Ok(())
    });
    if let Err(why) = charged {
        end(LimitExceeded::Budget(why));
    }
}

/// Ends the validation that is under way: the validator knows no other way to stop.
pub(super) fn end(why: LimitExceeded) -> ! {
    // No hook runs: this is no panic.
    resume_unwind(Box::new(why))
}

/// Has each subschema counted, where the schema may refer to itself.
pub(super) fn add_meter(schema: &Value, draft: Draft) -> Option<Value> {
    let places: Vec<String> = keyword::subschemas(schema, draft).into_iter().map(|(place, _)| place).collect();
    let refers = |schema: &Value| ["$ref", "$dynamicRef", "$recursiveRef"].iter().any(|key| schema.get(key).is_some());
    let all = || places.iter().filter_map(|place| schema.pointer(place));
    if !all().any(refers) {
        return None;
    }
    let mut metered = schema.clone();
    for place in &places {
        if let Some(Value::Object(inner)) = metered.pointer_mut(place) {
            inner.shift_insert(0, KEYWORD.to_owned(), Value::Bool(true));
        }
    }
    Some(metered)
}

/// The options with which metered schemas are compiled.
pub(super) fn with_meter_keyword(options: ValidationOptions<'_>) -> ValidationOptions<'_> {
    options.with_keyword(KEYWORD, |_, _, _| Ok(Box::new(Meter)))
}

/// Does a validation that may look at so many subschemas, and use what its call may.
///
/// # Errors
/// It took more.
pub(super) fn run_metered<T>(most: u32, budget: &Budget, validate: impl FnOnce() -> T) -> Result<T, LimitExceeded> {
    let validation = Validation { checks: most, free: USER_DATA_KEYS, budget: budget.clone() };
    let outer = UNDER_WAY.replace(Some(validation));
    let done = catch_unwind(AssertUnwindSafe(validate));
    UNDER_WAY.set(outer);
    done.map_err(|payload| match payload.downcast::<LimitExceeded>() {
        Ok(why) => *why,
        Err(payload) => resume_unwind(payload),
    })
}

//! A bound on the work of one validation, for schemas that refer to themselves.
//!
//! Such a schema may try several branches at each level of a value, and each of them several at the next: a value of a
//! hundred bytes can then take hours, and the errors of all branches more memory than there is. The validator has no
//! limit of its own, so each of its subschemas gets a keyword of ours that counts, and ends a validation that takes too
//! much. What is not here: how deep a value may nest (`check`), and the limits of patterns (`pattern`).

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jsonschema::{Draft, Keyword, ValidationError, ValidationOptions};
use serde_json::Value;

use super::keyword;

/// The keyword that counts.
const KEYWORD: &str = "x-folio-meter";

/// How many subschemas are held against values to tell whether a value is valid.
pub(super) const MAX_CHECKS: u32 = 100_000;
/// How many are held against values to tell what is wrong: each may leave an error behind.
pub(super) const MAX_EXPLAINED: u32 = 10_000;

thread_local! {
    /// How many more subschemas the validation on this thread may look at.
    static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// The validation took too much work.
struct Exceeded;

struct Meter;

impl<'i> Keyword<'i> for Meter {
    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        count();
        Ok(())
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        count();
        true
    }
}

fn count() {
    let left = LEFT.get();
    if left == 0 {
        // The validator knows no other way to stop. No hook runs: this is no panic.
        resume_unwind(Box::new(Exceeded));
    }
    LEFT.set(left - 1);
}

/// Has each subschema counted, where the schema may refer to itself.
pub(super) fn metered(schema: &Value, draft: Draft) -> Option<Value> {
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
pub(super) fn counting(options: ValidationOptions<'_>) -> ValidationOptions<'_> {
    options.with_keyword(KEYWORD, |_, _, _| Ok(Box::new(Meter)))
}

/// Does a validation that may look at so many subschemas; `None` where it took more.
pub(super) fn within<T>(most: u32, validate: impl FnOnce() -> T) -> Option<T> {
    let outer = LEFT.replace(most);
    let done = catch_unwind(AssertUnwindSafe(validate));
    LEFT.set(outer);
    match done {
        Ok(done) => Some(done),
        Err(payload) if payload.is::<Exceeded>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

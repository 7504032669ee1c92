//! A schema in which something is wrong: what can be taken out is, so that the rest holds.

use serde_json::{Map, Value};

use crate::schema::{LintKind, Schema, lint};
use crate::yaml::pointer::{parent, segments};

/// How often what is left is looked at again.
const MAX_ROUNDS: usize = 6;

/// Something that was taken out of a schema.
pub(super) struct RemovedKeyword {
    /// The JSON pointer of where it stood.
    pub(super) pointer: String,
    /// Why.
    pub(super) reason: String,
}

/// Something that is wrong with a schema.
struct SchemaMistake {
    removal: RemovedKeyword,
    /// Whether the schema means something else without it, which the author is told.
    has_effect: bool,
}

/// Takes out of a schema what is malformed, what nothing satisfies and what has no effect. What had no effect is not
/// told of. `None` where no schema is left.
pub(super) fn repair_schema(schema: &mut Value) -> Option<Vec<RemovedKeyword>> {
    let mut removals = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let errors = mistakes(schema);
        if errors.is_empty() {
            return Some(removals);
        }
        for SchemaMistake { removal, has_effect } in errors {
            remove(schema, &removal.pointer);
            removals.extend(has_effect.then_some(removal));
        }
    }
    mistakes(schema).is_empty().then_some(removals)
}

/// What is wrong, the last first, so that taking out one leaves the others where they are.
fn mistakes(schema: &Value) -> Vec<SchemaMistake> {
    let mut found: Vec<SchemaMistake> = match Schema::compile(schema.clone(), &|_| None) {
        Err(errors) => errors.into_iter().map(|error| SchemaMistake::new(error.at, error.message, true)).collect(),
        Ok(_) => {
            let lints = lint(schema).into_iter();
            lints
                .map(|lint| SchemaMistake::new(lint.error.at, lint.error.message, lint.kind == LintKind::Unsatisfiable))
                .collect()
        }
    };
    found.sort_by(|one, other| compare_pointers(&other.removal.pointer, &one.removal.pointer));
    found.dedup_by(|one, other| one.removal.pointer == other.removal.pointer);
    found
}

impl SchemaMistake {
    fn new(pointer: String, reason: String, has_effect: bool) -> SchemaMistake {
        SchemaMistake { removal: RemovedKeyword { pointer, reason }, has_effect }
    }
}

fn compare_pointers(one: &str, other: &str) -> std::cmp::Ordering {
    let by_number = |pointer: &str| -> Vec<(usize, String)> {
        pointer.split('/').map(|step| (step.parse().unwrap_or(0), step.to_owned())).collect()
    };
    by_number(one).cmp(&by_number(other))
}

/// Takes out what a pointer leads to. A property stays, and may be anything from then on.
fn remove(schema: &mut Value, pointer: &str) {
    let Some(key) = segments(pointer).last() else {
        *schema = Value::Object(Map::new());
        return;
    };
    let parent = parent(pointer);
    let is_property = parent.ends_with("/properties");
    match schema.pointer_mut(parent) {
        Some(Value::Object(map)) if is_property => _ = map.insert(key.into_owned(), Value::Object(Map::new())),
        Some(Value::Object(map)) => _ = map.shift_remove(&*key),
        Some(Value::Array(items)) => {
            if let Some(index) = key.parse::<usize>().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

//! Chooses the `anyOf` or `oneOf` branch whose errors are reported.

use indexmap::IndexSet;
use jsonschema::error::{ValidationError, ValidationErrorKind as Kind};

use super::{describe, explain};

/// The errors of the best branch of an `anyOf` or `oneOf`: one where the kind of the value and its fixed fields are
/// right, before others; then the one with the fewest errors; then the first.
pub(super) fn best_branch<'c>(context: &'c [Vec<ValidationError<'static>>]) -> &'c [ValidationError<'static>] {
    let depth = context.iter().flatten().map(|error| error.instance_path().as_str().len()).min().unwrap_or(0);
    context.iter().min_by_key(|branch| mismatch_rank(branch, depth)).map(Vec::as_slice).unwrap_or_default()
}

/// How far a branch is off: wrong kind of value, wrong fixed fields, all errors.
fn mismatch_rank(branch: &[ValidationError<'static>], depth: usize) -> (usize, usize, usize) {
    let is_root = |error: &&ValidationError<'static>| error.instance_path().as_str().len() <= depth;
    let wrong_kind = branch.iter().filter(is_root).filter(|error| is_type_error(error.kind())).count();
    let fixed = branch.iter().filter(|error| matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. })).count();
    (wrong_kind, fixed, branch.len())
}

fn is_type_error(kind: &Kind) -> bool {
    matches!(kind, Kind::Type { .. } | Kind::FalseSchema)
}

/// The expectation, where all branches have one of the value itself: types, or fixed values.
pub(super) fn merged_expectation(
    error: &ValidationError<'_>,
    context: &[Vec<ValidationError<'static>>],
) -> Option<String> {
    let here = error.instance_path().as_str();
    let only = |branch: &'_ Vec<ValidationError<'static>>| match branch.as_slice() {
        [one] if one.instance_path().as_str() == here => branch_expectation(one),
        _ => None,
    };
    let expectations: IndexSet<String> = context.iter().map(only).collect::<Option<_>>()?;
    let expectations = Vec::from_iter(expectations);
    (!expectations.is_empty()).then(|| format!("must be {}", describe::join_or(&expectations)))
}

fn branch_expectation(error: &ValidationError<'_>) -> Option<String> {
    match error.kind() {
        Kind::Type { kind } => Some(explain::type_names(kind)),
        Kind::Constant { expected_value } => Some(describe::describe_choice(expected_value)),
        Kind::Enum { options } => {
            Some(format!("one of {}", describe::join_choices(options.as_array().map(Vec::as_slice)?)))
        }
        Kind::Format { format } => Some(describe::describe_format(format)),
        _ => None,
    }
}

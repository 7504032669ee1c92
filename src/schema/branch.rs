//! Chooses the `anyOf` or `oneOf` branch whose errors are reported.

use indexmap::IndexSet;
use jsonschema::error::{ValidationError, ValidationErrorKind as Kind};

use super::{describe, explain};

/// The errors of the best branch of an `anyOf` or `oneOf`: one where the kind of the value and its fixed fields are
/// right, before others; then the one with the fewest errors; then the first.
pub(super) fn best_branch<'c>(context: &'c [Vec<ValidationError<'static>>]) -> &'c [ValidationError<'static>] {
    let depth = |error: &ValidationError<'static>| error.instance_path().as_str().len();
    let root = context.iter().flatten().map(depth).min().unwrap_or(0);
    let is_of_kind = |error: &ValidationError<'static>| matches!(error.kind(), Kind::Type { .. } | Kind::FalseSchema);
    let is_fixed = |error: &ValidationError<'static>| matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. });
    let rank = |branch: &&Vec<ValidationError<'static>>| {
        let wrong_kinds = branch.iter().filter(|error| depth(error) <= root && is_of_kind(error)).count();
        (wrong_kinds, branch.iter().filter(|error| is_fixed(error)).count(), branch.len())
    };
    context.iter().min_by_key(rank).map(Vec::as_slice).unwrap_or_default()
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

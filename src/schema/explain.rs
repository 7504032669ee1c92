//! Explains the errors of the validator: where, what is expected, and the actual value unless it is secret.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind as Kind};
use serde_json::{Map, Value};

use crate::diagnostic::{count_noun, nearest};

use super::{SchemaError, Violation, branch, describe, secret};
use crate::yaml::pointer;

/// How many violations are listed.
const MAX_VIOLATIONS: usize = 20;
/// How many are explained, to list the first of them in the order of the schema.
const MAX_EXPLAINED_ERRORS: usize = 200;

/// Turns the errors of one value into violations.
pub(super) struct Explainer<'v> {
    root: &'v Value,
    value: &'v Value,
    secrets: &'v HashSet<String>,
    violations: Vec<Violation>,
    omitted_count: usize,
}

impl<'v> Explainer<'v> {
    pub(super) fn new(root: &'v Value, value: &'v Value, secrets: &'v HashSet<String>) -> Explainer<'v> {
        Explainer { root, value, secrets, violations: Vec::new(), omitted_count: 0 }
    }

    /// Adds the violations of one error.
    pub(super) fn explain(&mut self, error: &ValidationError<'_>) {
        if self.violations.len() >= MAX_EXPLAINED_ERRORS {
            self.omitted_count += 1;
            return;
        }
        match error.kind() {
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => self.branches(error, context),
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                self.explain_unexpected(error, unexpected);
            }
            Kind::FalseSchema => match self.unexpected_keys(error) {
                Some(unexpected) => self.explain_unexpected(error, &unexpected),
                None => self.push(error.instance_path().as_str(), self.expectation(error)),
            },
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                self.push(pointer::join(error.instance_path().as_str(), name), "is required".to_owned());
            }
            Kind::PropertyNames { error: inner } => {
                let key = describe::quote_name(inner.instance().as_str().unwrap_or_default());
                self.push(
                    error.instance_path().as_str(),
                    format!("has the key {key}, but each key {}", self.expectation(inner)),
                );
            }
            _ => self.push(error.instance_path().as_str(), self.expectation(error)),
        }
    }

    /// The violations in the order of the schema's properties, and the number of the rest.
    pub(super) fn finish(mut self) -> Vec<Violation> {
        let properties = self.root.get("properties").and_then(Value::as_object);
        let order: HashMap<&str, usize> =
            properties.into_iter().flat_map(Map::keys).enumerate().map(|(at, name)| (name.as_str(), at)).collect();
        self.violations.sort_by_key(|violation| {
            violation.name.as_deref().map_or(0, |name| order.get(name).copied().unwrap_or(usize::MAX))
        });
        if self.violations.len() > MAX_VIOLATIONS {
            self.omitted_count += self.violations.len() - MAX_VIOLATIONS;
            self.violations.truncate(MAX_VIOLATIONS);
        }
        if self.omitted_count > 0 {
            let message = format!("and {} more", self.omitted_count);
            self.violations.push(Violation { pointer: String::new(), name: None, message });
        }
        self.violations
    }

    /// Adds a violation at a pointer into the value.
    pub(super) fn push(&mut self, pointer: impl Into<String>, message: String) {
        let pointer = pointer.into();
        let name = pointer::segments(&pointer).next().filter(|_| self.value.is_object()).map(Cow::into_owned);
        let message = format!("{} {message}", self.display_pointer(&pointer));
        let violation = Violation { pointer, name, message };
        if !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    fn branches(&mut self, error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>]) {
        if let Some(allowed) = branch::merged_expectation(error, context) {
            return self.push(error.instance_path().as_str(), format!("{allowed}{}", self.actual(error)));
        }
        for inner in branch::best_branch(context) {
            self.explain(inner);
        }
    }

    /// The keys of an object that may have none: the validator reports the path of the object and its first value.
    fn unexpected_keys(&self, error: &ValidationError<'_>) -> Option<Vec<String>> {
        let object = self.value.pointer(error.instance_path().as_str())?;
        let is_outer = error.schema_path().as_str().ends_with("/additionalProperties") && object != &**error.instance();
        let keys = object.as_object().filter(|_| is_outer)?.keys();
        Some(keys.cloned().collect())
    }

    fn explain_unexpected(&mut self, error: &ValidationError<'_>, unexpected: &[String]) {
        let at = error.instance_path().as_str();
        let beside = self.root.pointer(pointer::parent(error.schema_path().as_str()));
        let properties = beside.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        // Where other schemas declare properties too, the list would be incomplete.
        let is_all = matches!(error.kind(), Kind::AdditionalProperties { .. })
            && beside.is_some_and(|schema| schema.get("patternProperties").is_none());
        let listed =
            properties.filter(|properties| is_all && !properties.is_empty() && properties.len() <= MAX_VIOLATIONS);
        for name in unexpected.iter().take(MAX_EXPLAINED_ERRORS) {
            let near = properties.and_then(|properties| nearest(name, properties.keys().map(String::as_str)));
            let hint = match (near, listed) {
                (Some(near), _) => format!("; did you mean {}?", describe::quote_name(near)),
                (None, Some(properties)) => {
                    let names: Vec<String> = properties.keys().map(|name| describe::quote_name(name)).collect();
                    format!("; expected one of {}", names.join(", "))
                }
                (None, None) => String::new(),
            };
            self.push(pointer::join(at, name), format!("is not a known property{hint}"));
        }
        self.omitted_count += unexpected.len().saturating_sub(MAX_EXPLAINED_ERRORS);
    }

    /// The expectation, as the predicate of a message that starts with the position.
    fn expectation(&self, error: &ValidationError<'_>) -> String {
        match error.kind() {
            Kind::Type { kind } => format!("must be {}{}", type_names(kind), self.actual(error)),
            Kind::Enum { options } => self.choice(error, options),
            Kind::Constant { expected_value } => {
                format!("must be {}{}", describe::describe_choice(expected_value), self.actual(error))
            }
            Kind::Minimum { limit } => format!("must be at least {limit}{}", self.actual(error)),
            Kind::Maximum { limit } => format!("must be at most {limit}{}", self.actual(error)),
            Kind::ExclusiveMinimum { limit } => format!("must be greater than {limit}{}", self.actual(error)),
            Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}{}", self.actual(error)),
            Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}{}", self.actual(error)),
            Kind::Custom { message, .. } => format!("{message}{}", self.actual(error)),
            Kind::Pattern { pattern } => {
                format!("must match the pattern {}{}", describe::quote_name(pattern), self.actual(error))
            }
            Kind::Format { format } => format!("must be {}{}", describe::describe_format(format), self.actual(error)),
            Kind::Not { schema } => not_expectation(schema),
            Kind::Contains => self.contains_expectation(error),
            kind => size_expectation(kind, error.instance()).unwrap_or_else(|| other_expectation(kind)),
        }
    }

    fn choice(&self, error: &ValidationError<'_>, options: &Value) -> String {
        let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
        let near = error.instance().as_str().filter(|_| !self.is_secret(error)).and_then(|wrong| {
            let near = nearest(wrong, options.iter().filter_map(Value::as_str))?;
            Some(format!("; did you mean {}?", describe::describe_choice(&Value::from(near))))
        });
        let one_of = if options.len() == 1 { "must be" } else { "must be one of" };
        format!("{one_of} {}{}{}", describe::join_choices(options), self.actual(error), near.unwrap_or_default())
    }

    fn contains_expectation(&self, error: &ValidationError<'_>) -> String {
        let schema_path = error.schema_path().as_str();
        let limit =
            self.root.pointer(schema_path).and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
        match limit.filter(|_| !schema_path.ends_with("/contains")) {
            Some(limit) if schema_path.ends_with("/maxContains") => {
                format!("must contain at most {} matching `contains`", count_noun(limit, "item"))
            }
            Some(limit) => format!("must contain at least {} matching `contains`", count_noun(limit, "item")),
            None => "must contain at least one item matching `contains`".to_owned(),
        }
    }

    fn actual(&self, error: &ValidationError<'_>) -> String {
        let value = error.instance();
        if self.is_secret(error) && !value.is_null() && !value.is_array() && !value.is_object() {
            return String::new();
        }
        format!("; got {}", describe::describe_value(value))
    }

    /// Whether the value of an error is secret, by a name in its path or by a schema on the path of the keyword.
    fn is_secret(&self, error: &ValidationError<'_>) -> bool {
        pointer::segments(error.instance_path().as_str()).any(|segment| self.secrets.contains(&*segment))
            || secret::is_secret_path(self.root, error.schema_path().as_str())
    }

    /// A position in the value, such as `items[2].name`.
    fn display_pointer(&self, schema_path: &str) -> String {
        let mut current = Some(self.value);
        let mut shown = String::new();
        for segment in pointer::segments(schema_path) {
            let is_index = current.is_some_and(Value::is_array);
            let simple = segment.chars().all(|character| character.is_alphanumeric() || "_-$".contains(character));
            shown.push_str(&match (is_index, simple) {
                (true, _) => format!("[{segment}]"),
                (false, true) if shown.is_empty() => segment.to_string(),
                (false, true) => format!(".{segment}"),
                (false, false) => format!("[{}]", Value::from(&*segment)),
            });
            current = current.and_then(|value| secret::child_value(value, &segment));
        }
        if shown.is_empty() { "the value".to_owned() } else { describe::quote_name(&shown) }
    }
}

/// The expectation of a size, with the actual size.
fn size_expectation(kind: &Kind, value: &Value) -> Option<String> {
    let plural = |limit: &u64, noun: &str| count_noun(usize::try_from(*limit).unwrap_or(usize::MAX), noun);
    let (bound, unit) = match kind {
        Kind::MinLength { limit } => (format!("must be at least {} long", plural(limit, "character")), "character"),
        Kind::MaxLength { limit } => (format!("must be at most {} long", plural(limit, "character")), "character"),
        Kind::MinItems { limit } => (format!("must have at least {}", plural(limit, "item")), "item"),
        Kind::MaxItems { limit } => (format!("must have at most {}", plural(limit, "item")), "item"),
        Kind::AdditionalItems { limit } => (format!("must have at most {}", count_noun(*limit, "item")), "item"),
        Kind::MinProperties { limit } => (format!("must have at least {}", plural(limit, "key")), "key"),
        Kind::MaxProperties { limit } => (format!("must have at most {}", plural(limit, "key")), "key"),
        _ => return None,
    };
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(list) => list.len(),
        Value::Object(map) => map.len(),
        _ => return Some(bound),
    };
    Some(format!("{bound}; it has {}", count_noun(size, unit)))
}

/// An error that only the compiler finds.
pub(super) fn compiler_error(error: &ValidationError<'_>) -> SchemaError {
    let in_schema = !matches!(error.kind(), Kind::Referencing(_));
    let pointer = if in_schema { error.instance_path().as_str() } else { "" };
    SchemaError::new(pointer, format!("invalid schema: {}", error.masked()))
}

pub(super) fn type_names(kind: &TypeKind) -> String {
    let names: Vec<String> = match kind {
        TypeKind::Single(one) => vec![describe::describe_type(one.as_str()).to_owned()],
        TypeKind::Multiple(several) => {
            several.iter().map(|one| describe::describe_type(one.as_str()).to_owned()).collect()
        }
    };
    describe::join_or(&names)
}

fn not_expectation(schema: &Value) -> String {
    let types =
        schema.get("type").and_then(Value::as_str).filter(|_| schema.as_object().is_some_and(|map| map.len() == 1));
    let values =
        schema.get("const").map(std::slice::from_ref).or_else(|| Some(schema.get("enum")?.as_array()?.as_slice()));
    match (types, values) {
        (Some(name), _) => format!("must not be {}", describe::describe_type(name)),
        (None, Some(values)) => format!("must not be {}", describe::join_choices(values)),
        (None, None) => "must not match the schema of `not`".to_owned(),
    }
}

fn other_expectation(kind: &Kind) -> String {
    let words = match kind {
        Kind::FalseSchema => "is not allowed",
        Kind::UniqueItems => "must not contain duplicate items",
        Kind::OneOfMultipleValid { .. } => "matches more than one schema of `oneOf`, must match exactly one",
        Kind::UnevaluatedItems { .. } => "has unexpected items",
        Kind::ContentEncoding { .. } | Kind::FromUtf8 { .. } => "does not match its `contentEncoding`",
        Kind::ContentMediaType { .. } => "does not match its `contentMediaType`",
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "could not be matched against its pattern"
        }
        _ => "does not match its schema",
    };
    words.to_owned()
}

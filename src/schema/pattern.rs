//! Regular expressions in schemas: linear time where possible, with a limit where not.
//!
//! `regex` matches in linear time, and its cost is charged before; only expressions with look-around or back-references
//! use `fancy-regex`, which stops after [`MAX_BACKTRACKS`] steps, and the value is then invalid. The validator matches
//! the names of `patternProperties` itself: their cost is charged before it runs.

use std::sync::OnceLock;

use jsonschema::{Draft, Keyword, PatternOptions, ValidationError, ValidationOptions, Validator, ValidatorMap};
use serde_json::{Map, Value, json};

use crate::budget::BudgetExceeded;

use super::meter::{self, LimitExceeded, Limits};
use super::pattern_cost::PatternCost;
use super::{SchemaError, describe, keyword};
use crate::yaml::pointer;

/// How often an expression may backtrack over a text of at most so many bytes: each time it may read it again.
const MAX_BACKTRACKS: [(usize, usize); 5] =
    [(2 << 10, 100_000), (20 << 10, 10_000), (200 << 10, 1_000), (2 << 20, 100), (usize::MAX, 10)];
/// The longest name, in bytes, that is matched by backtracking.
const MAX_NAME_PATTERN_BYTES: usize = 2 << 10;
/// The largest automata, in bytes, of an expression with look-around, whose cost is not charged.
const MAX_DELEGATE_BYTES: usize = 1 << 20;

/// A validator, and the patterns of property names.
pub(super) struct MeteredValidator {
    validator: Validator,
    /// The patterns of property names.
    names: Vec<Pattern>,
}

impl MeteredValidator {
    /// Runs `with_validator` with limits.
    pub(super) fn with_validator<T>(
        &self,
        value: &Value,
        limits: Limits<'_>,
        with_validator: impl FnOnce(&Validator) -> T,
    ) -> Result<T, LimitExceeded> {
        meter::run_metered(limits, || {
            if !self.names.is_empty() {
                self.charge_names(value);
            }
            with_validator(&self.validator)
        })
    }

    /// Charges for the property names at all levels of a value.
    fn charge_names(&self, value: &Value) {
        let mut ahead = vec![value];
        while let Some(value) = ahead.pop() {
            match value {
                Value::Array(items) => ahead.extend(items),
                Value::Object(fields) => {
                    fields.keys().for_each(|name| self.names.iter().for_each(|pattern| pattern.charge_name(name)));
                    ahead.extend(fields.values());
                }
                _ => {}
            }
        }
    }
}

/// One expression.
struct Pattern {
    source: String,
    engine: RegexEngine,
}

enum RegexEngine {
    /// Compiled where it is first used: its automata may be much larger than its text.
    Linear {
        expression: String,
        regex: OnceLock<Option<regex::Regex>>,
        cost: OnceLock<Option<PatternCost>>,
    },
    Backtracking {
        expression: String,
        by_length: Box<[OnceLock<Option<fancy_regex::Regex>>; MAX_BACKTRACKS.len()]>,
    },
}

impl Pattern {
    fn compile(source: &str) -> Option<Pattern> {
        let expression = jsonschema_regex::to_rust_regex(source).ok()?;
        let engine = match regex::Regex::new(&expression) {
            Ok(_) => RegexEngine::Linear {
                expression: expression.into_owned(),
                regex: OnceLock::new(),
                cost: OnceLock::new(),
            },
            Err(_) => {
                let [shortest, ..] = MAX_BACKTRACKS;
                let by_length: Box<[OnceLock<_>; MAX_BACKTRACKS.len()]> = Box::default();
                let [first, ..] = &*by_length;
                let _ = first.set(Some(backtracking_options(&expression, shortest.1)?));
                RegexEngine::Backtracking { expression: expression.into_owned(), by_length }
            }
        };
        Some(Pattern { source: source.to_owned(), engine })
    }

    /// Whether it matches a text; `None` where a limit is exceeded.
    fn matches(&self, text: &str) -> Option<bool> {
        match &self.engine {
            RegexEngine::Linear { expression, regex, .. } => {
                self.charge(text);
                let regex = regex.get_or_init(|| regex::Regex::new(expression).ok());
                Some(regex.as_ref()?.is_match(text))
            }
            RegexEngine::Backtracking { expression, by_length } => {
                let fitting = MAX_BACKTRACKS.iter().zip(&**by_length).find(|((longest, _), _)| text.len() <= *longest);
                let ((_, limit), regex) = fitting?;
                regex.get_or_init(|| backtracking_options(expression, *limit)).as_ref()?.is_match(text).ok()
            }
        }
    }

    fn charge(&self, text: &str) {
        let RegexEngine::Linear { expression, cost, .. } = &self.engine else { return };
        if let Some(cost) = cost.get_or_init(|| PatternCost::compile(expression)) {
            meter::charge(cost, text);
        }
    }

    fn charge_name(&self, name: &str) {
        if matches!(self.engine, RegexEngine::Backtracking { .. }) && name.len() > MAX_NAME_PATTERN_BYTES {
            meter::end(LimitExceeded::Budget(BudgetExceeded::Work));
        }
        self.charge(name);
    }
}

fn backtracking_options(expression: &str, limit: usize) -> Option<fancy_regex::Regex> {
    let mut builder = fancy_regex::RegexBuilder::new(expression);
    builder.backtrack_limit(limit).delegate_size_limit(MAX_DELEGATE_BYTES).build().ok()
}

impl<'i> Keyword<'i> for Pattern {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        match value.as_str().map_or(Some(true), |text| self.matches(text)) {
            Some(true) => Ok(()),
            Some(false) => {
                Err(ValidationError::custom(format!("must match the pattern {}", describe::quote_name(&self.source))))
            }
            None => Err(ValidationError::custom("could not be matched against its pattern")),
        }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        value.as_str().is_none_or(|text| self.matches(text) == Some(true))
    }
}

/// Compiles a self-contained schema.
pub(super) fn build_validator(schema: &Value, draft: Draft) -> Result<MeteredValidator, ValidationError<'static>> {
    let names = names(schema, draft);
    let metered = meter::add_meter(schema, draft);
    let schema = metered.as_ref().unwrap_or(schema);
    let linear = meter::with_meter_keyword(base_options(draft)).with_pattern_options(PatternOptions::regex());
    let validator =
        linear.build(schema).or_else(|_| meter::with_meter_keyword(with_look_around(draft)).build(schema))?;
    Ok(MeteredValidator { validator, names })
}

/// The valid patterns of property names in a schema.
fn names(root: &Value, draft: Draft) -> Vec<Pattern> {
    let schemas = keyword::subschemas(root, draft);
    let maps = schemas.iter().filter_map(|(_, schema)| schema.get("patternProperties")?.as_object());
    maps.flat_map(Map::keys).filter_map(|name| Pattern::compile(name)).collect()
}

/// Compiles a self-contained schema and its subschemas, keyed by JSON pointers with `#`.
pub(super) fn build_subschema_validators(schema: &Value, draft: Draft) -> Option<ValidatorMap> {
    let linear = base_options(draft).with_pattern_options(PatternOptions::regex());
    linear.build_map(schema).or_else(|_| with_look_around(draft).build_map(schema)).ok()
}

fn base_options<'i>(draft: Draft) -> ValidationOptions<'i> {
    let base_options = jsonschema::options().with_draft(draft).should_validate_formats(true).offline();
    base_options.with_keyword("pattern", |_, value, _| match value.as_str().and_then(Pattern::compile) {
        Some(pattern) => Ok(Box::new(pattern)),
        None => Err(ValidationError::custom("invalid regular expression")),
    })
}

fn with_look_around<'i>(draft: Draft) -> ValidationOptions<'i> {
    let [_, (_, limit), ..] = MAX_BACKTRACKS;
    base_options(draft)
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(limit).size_limit(MAX_DELEGATE_BYTES))
}

/// Whether a schema itself has patterns.
pub(super) fn has_patterns(schema: &Map<String, Value>) -> bool {
    schema.contains_key("pattern") || schema.contains_key("patternProperties")
}

/// The invalid patterns of a document.
pub(super) fn pattern_errors(root: &Value, draft: Draft) -> Vec<SchemaError> {
    let schemas = keyword::subschemas(root, draft);
    let expressions = schemas.iter().flat_map(|(at, schema)| {
        let own = schema.get("pattern").and_then(Value::as_str).map(|text| (pointer::join(at, "pattern"), text));
        let keys = schema.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let names = pointer::join(at, "patternProperties");
        own.into_iter().chain(keys.map(move |key| (pointer::join(&names, key), key.as_str())))
    });
    expressions.filter_map(|(pointer, text)| pattern_error(pointer, text)).collect()
}

fn pattern_error(pointer: String, text: &str) -> Option<SchemaError> {
    build_validator(&json!({ "pattern": text }), Draft::Draft202012).err()?;
    if is_too_large(text) {
        let message =
            format!("regular expression {} is too large: its nested counts multiply", describe::quote_name(text));
        let help = "lower its counts, and limit the length with `maxLength`";
        return Some(SchemaError::new(pointer, message).help(help));
    }
    let why = regex::Regex::new(text).err().map(|error| error.to_string());
    let why = why.as_deref().and_then(|error| error.lines().last()?.strip_prefix("error: "));
    let message = format!("invalid regular expression {}", describe::quote_name(text));
    Some(SchemaError::new(pointer, why.map_or(message.clone(), |why| format!("{message}: {why}"))))
}

/// Whether an expression is valid except for its size.
fn is_too_large(text: &str) -> bool {
    let Ok(expression) = jsonschema_regex::to_rust_regex(text) else { return false };
    let looking = || match fancy_regex::RegexBuilder::new(&expression).delegate_size_limit(MAX_DELEGATE_BYTES).build() {
        Err(fancy_regex::Error::CompileError(error)) => {
            matches!(*error, fancy_regex::CompileError::InnerError(error) if error.size_limit().is_some())
        }
        _ => false,
    };
    matches!(regex::Regex::new(&expression), Err(regex::Error::CompiledTooBig(_))) || looking()
}

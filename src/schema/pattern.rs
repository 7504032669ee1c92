//! Regular expressions in schemas: linear time where possible, with a limit where not.
//!
//! An automaton matches in linear time, but one of an expression with large counts takes long for each byte: it ends with
//! its call. Only expressions with look-around or back-references use `fancy-regex`, which stops after [`MAX_BACKTRACKS`]
//! steps, and the value is then invalid.

use std::sync::OnceLock;

use jsonschema::{Draft, Keyword, PatternOptions, ValidationError, ValidationOptions, Validator, ValidatorMap};
use parking_lot::Mutex;
use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use serde_json::{Map, Value, json};

use super::meter::{self, LimitExceeded};
use super::{SchemaError, describe, keyword};
use crate::yaml::pointer;

/// How often an expression may backtrack over a text of at most so many bytes: each time it may read it again.
const MAX_BACKTRACKS: [(usize, usize); 5] =
    [(2 << 10, 100_000), (20 << 10, 10_000), (200 << 10, 1_000), (2 << 20, 100), (usize::MAX, 10)];
/// The longest name, in bytes, that is matched by backtracking.
const MAX_NAME_PATTERN_BYTES: usize = 2 << 10;
/// The largest automata, in bytes, of an expression with look-around.
const MAX_DELEGATE_BYTES: usize = 1 << 20;

/// A validator, and the patterns of property names.
pub(super) struct MeteredValidator {
    validator: Validator,
    /// The patterns of property names.
    names: Vec<Pattern>,
}

impl MeteredValidator {
    /// Runs `with_validator`, which checks at most so many subschemas of a value.
    pub(super) fn with_validator<T>(
        &self,
        value: &Value,
        checks: u32,
        with_validator: impl FnOnce(&Validator) -> T,
    ) -> Result<T, LimitExceeded> {
        meter::run_metered(checks, || {
            if !self.names.is_empty() {
                self.match_names(value);
            }
            with_validator(&self.validator)
        })
    }

    /// Matches the property names at all levels of a value. The validator does so itself and cannot be stopped, so that
    /// what takes too long must end here.
    fn match_names(&self, value: &Value) {
        let mut ahead = vec![value];
        while let Some(value) = ahead.pop() {
            match value {
                Value::Array(items) => ahead.extend(items),
                Value::Object(fields) => {
                    fields.keys().for_each(|name| self.names.iter().for_each(|pattern| pattern.match_name(name)));
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
    Linear(Box<LinearPattern>),
    Backtracking { expression: String, by_length: Box<[OnceLock<Option<fancy_regex::Regex>>; MAX_BACKTRACKS.len()]> },
}

impl Pattern {
    fn compile(source: &str) -> Option<Pattern> {
        let expression = jsonschema_regex::to_rust_regex(source).ok()?;
        let engine = match regex::Regex::new(&expression) {
            Ok(_) => RegexEngine::Linear(Box::new(LinearPattern::new(expression.into_owned()))),
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
            RegexEngine::Linear(pattern) => pattern.matches(text),
            RegexEngine::Backtracking { expression, by_length } => {
                let fitting = MAX_BACKTRACKS.iter().zip(&**by_length).find(|((longest, _), _)| text.len() <= *longest);
                let ((_, limit), regex) = fitting?;
                regex.get_or_init(|| backtracking_options(expression, *limit)).as_ref()?.is_match(text).ok()
            }
        }
    }

    fn match_name(&self, name: &str) {
        match &self.engine {
            RegexEngine::Linear(pattern) => drop(pattern.matches(name)),
            RegexEngine::Backtracking { .. } if name.len() > MAX_NAME_PATTERN_BYTES => meter::end(LimitExceeded::Name),
            RegexEngine::Backtracking { .. } => {}
        }
    }
}

/// An expression that is matched in linear time. It is compiled where it is first used: its automata may be much larger
/// than its text.
struct LinearPattern {
    expression: String,
    automaton: OnceLock<Option<DFA>>,
    cache: Mutex<Option<Cache>>,
    /// For a text with other letters than ASCII where the expression has the boundary of a word.
    regex: OnceLock<Option<regex::Regex>>,
}

/// How many bytes are matched between two ticks.
const BYTES_PER_TICK: usize = 32;
/// How large the states that a match has built may be: older ones are dropped, and built again.
const MAX_CACHE_BYTES: usize = 2 << 20;

impl LinearPattern {
    fn new(expression: String) -> LinearPattern {
        let (automaton, cache, regex) = (OnceLock::new(), Mutex::default(), OnceLock::new());
        LinearPattern { expression, automaton, cache, regex }
    }

    fn matches(&self, text: &str) -> Option<bool> {
        let automaton = self.automaton.get_or_init(|| self.compile()).as_ref()?;
        let mut cache = self.cache.lock().take().unwrap_or_else(|| automaton.create_cache());
        let found = run(automaton, &mut cache, text);
        *self.cache.lock() = Some(cache);
        found.or_else(|| {
            let regex = self.regex.get_or_init(|| regex::Regex::new(&self.expression).ok());
            Some(regex.as_ref()?.is_match(text))
        })
    }

    fn compile(&self) -> Option<DFA> {
        let config =
            DFA::config().cache_capacity(MAX_CACHE_BYTES).skip_cache_capacity_check(true).unicode_word_boundary(true);
        let automaton = thompson::Config::new().which_captures(WhichCaptures::None);
        DFA::builder().configure(config).thompson(automaton).build(&self.expression).ok()
    }
}

/// Runs an automaton over a text; `None` where it cannot read the text.
fn run(automaton: &DFA, cache: &mut Cache, text: &str) -> Option<bool> {
    let mut state = automaton.start_state_forward(cache, &Input::new(text)).ok()?;
    for (at, byte) in text.bytes().enumerate() {
        if at % BYTES_PER_TICK == 0 {
            meter::tick();
        }
        state = automaton.next_state(cache, state, byte).ok()?;
        if state.is_match() || state.is_dead() {
            return Some(state.is_match());
        }
        if state.is_quit() {
            return None;
        }
    }
    Some(automaton.next_eoi_state(cache, state).ok()?.is_match())
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

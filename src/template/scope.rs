//! The values in scope of a rendering.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::budget::Budget;
use crate::identity::{CallerSecrets, Identity};

use super::missing_output::{self, JSON_FIELD, MissingValue};
use super::render::RenderError;

/// The name of the `this` of a [`Scope`] in Handlebars, which no template can contain.
pub(super) const THIS: &str = " this";

/// The reserved top-level names and their meanings.
const RESERVED_NAMES: &[(&str, &str)] = &[
    ("arguments", "the map of all arguments"),
    ("env", "the environment"),
    ("server", "the server"),
    ("steps", "the outcomes of steps"),
    ("result", "the outcome"),
    ("this", "the item of a loop"),
];

/// The meaning of a reserved top-level name.
pub fn reserved_name_meaning(name: &str) -> Option<&'static str> {
    RESERVED_NAMES.iter().find(|(reserved, _)| *reserved == name).map(|(_, meaning)| *meaning)
}

/// A time that `now` always is, such as in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedTime(Timestamp);

impl std::str::FromStr for FixedTime {
    type Err = ();

    /// Reads an RFC 3339 time, such as `2026-01-31T12:00:00Z`.
    fn from_str(text: &str) -> Result<FixedTime, ()> {
        text.parse().map(FixedTime).map_err(|_| ())
    }
}

/// The values that are the same for all calls of one catalog.
#[derive(Debug, Default)]
pub struct ScopeConstants {
    /// The declared environment, as an object.
    pub env: Value,
    /// `name`, `title` and `version` of the server, as an object.
    pub server: Value,
    /// The time of `now`, if it is fixed.
    pub fixed_time: Option<FixedTime>,
}

/// The name of who calls, unless an argument has it.
pub const CALLER: &str = "caller";
/// The field of the caller with the headers that its client sends. They are found by their whole path alone: no other value,
/// such as `caller` itself, contains them.
pub const CALLER_HEADERS: &str = "headers";

/// Whether a path is that of headers that the caller's client sends, or of one of them.
pub fn is_caller_headers_path(path: &[String]) -> bool {
    matches!(path, [caller, headers, ..] if caller == CALLER && headers == CALLER_HEADERS)
}

/// What `caller` is.
#[derive(Debug, Clone, Default)]
enum CallerName {
    /// The argument of that name, if there is one.
    #[default]
    Argument,
    Nobody,
    Known(Arc<CallerValue>),
}

/// A caller, as templates see it. Most read nothing of it.
#[derive(Debug)]
struct CallerValue {
    identity: Arc<Identity>,
    value: OnceLock<Value>,
}

/// Of how many arguments to compare the names is cheaper than to look one up.
const MAX_COMPARED_NAMES: usize = 8;

/// The values in scope of one rendering. Arguments are `NAME` and `arguments.NAME`.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    arguments: Arc<Value>,
    constants: Arc<ScopeConstants>,
    steps: Option<Arc<Value>>,
    result: Option<Arc<Value>>,
    response: Option<Arc<Value>>,
    this: Option<Arc<Value>>,
    /// `index`, the number of the item in the loop around the template.
    index: Option<Value>,
    /// `typed`, what the user has typed of the argument that is completed.
    typed_text: Option<Value>,
    caller: CallerName,
    caller_secrets: Arc<CallerSecrets>,
    now: Option<Timestamp>,
    budget: Budget,
    /// Whether a text of an output must not have a note at its end.
    refuses_notes: bool,
}

impl Scope {
    /// A scope of arguments and constants.
    pub fn new(arguments: Map<String, Value>, constants: Arc<ScopeConstants>) -> Scope {
        Scope::with_budget(arguments, constants, &Budget::default())
    }

    /// The same with the budget of a call.
    pub fn with_budget(arguments: Map<String, Value>, constants: Arc<ScopeConstants>, budget: &Budget) -> Scope {
        let arguments = Arc::new(Value::Object(arguments));
        let now = constants.fixed_time.map(|FixedTime(now)| now);
        Scope {
            arguments,
            constants,
            steps: None,
            result: None,
            response: None,
            this: None,
            index: None,
            typed_text: None,
            caller: CallerName::default(),
            caller_secrets: CallerSecrets::none(),
            now,
            budget: budget.clone(),
            refuses_notes: false,
        }
    }

    /// Sets the result of a step.
    pub fn set_step(&mut self, id: impl Into<String>, outcome: Value) {
        let steps = self.steps.get_or_insert_with(|| Arc::new(Value::Object(Map::new())));
        if let Value::Object(steps) = Arc::make_mut(steps) {
            steps.insert(id.into(), outcome);
        }
    }

    /// Replaces the results of all steps.
    #[must_use]
    pub fn with_steps(mut self, steps: Map<String, Value>) -> Scope {
        self.steps = Some(Arc::new(Value::Object(steps)));
        self
    }

    /// Sets `result`.
    #[must_use]
    pub fn with_result(mut self, result: Value) -> Scope {
        self.result = Some(Arc::new(result));
        self
    }

    /// Adds the fields of an outcome as names at the top, for a message to a reader. They hide arguments of the same name.
    #[must_use]
    pub fn with_response(mut self, response: Value) -> Scope {
        self.response = Some(Arc::new(response));
        self.refuses_notes = false;
        self
    }

    /// Sets `this`, the element of a loop around the template.
    #[must_use]
    pub fn with_this(mut self, this: Value) -> Scope {
        self.this = Some(Arc::new(this));
        self
    }

    /// Sets `this` and `index`, the item of a repeated step and its number. They hide arguments of the same names.
    #[must_use]
    pub fn with_item(mut self, this: Value, index: usize) -> Scope {
        self.index = Some(index.into());
        self.with_this(this)
    }

    /// Sets `typed`, what the user has typed of the argument that is completed. It hides an argument of that name.
    #[must_use]
    pub fn with_typed_text(mut self, typed_text: impl Into<Value>) -> Scope {
        self.typed_text = Some(typed_text.into());
        self
    }

    /// Sets `caller`, which is null for nobody, and the headers of its client. It hides an argument of that name.
    #[must_use]
    pub fn with_caller(mut self, identity: Option<&Arc<Identity>>, secrets: &Arc<CallerSecrets>) -> Scope {
        self.caller_secrets = secrets.clone();
        self.caller = match identity {
            Some(identity) => {
                CallerName::Known(Arc::new(CallerValue { identity: identity.clone(), value: OnceLock::new() }))
            }
            None => CallerName::Nobody,
        };
        self
    }

    /// Sets whether a text of an output must not have a note at its end, as its readers are programs and not people.
    pub fn set_refuses_notes(&mut self, refuses: bool) {
        self.refuses_notes = refuses;
    }

    pub(super) fn refuses_notes(&self) -> bool {
        self.refuses_notes
    }

    /// The budget of the call.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The same values for work whose texts end with it.
    #[must_use]
    pub fn nested(&self) -> Scope {
        Scope { budget: self.budget.nested(), ..self.clone() }
    }

    /// Fixes the time of `now`.
    #[must_use]
    pub fn with_now(mut self, now: Timestamp) -> Scope {
        self.now = Some(now);
        self
    }

    pub fn arguments(&self) -> Option<&Map<String, Value>> {
        self.arguments.as_object()
    }

    /// The results of the steps so far.
    pub fn steps(&self) -> Option<&Map<String, Value>> {
        self.steps.as_deref()?.as_object()
    }

    /// The results of the steps, taken out.
    pub fn into_steps(self) -> Option<Map<String, Value>> {
        match Arc::unwrap_or_clone(self.steps?) {
            Value::Object(steps) => Some(steps),
            _ => None,
        }
    }

    /// The value at a path of [`Template::read_paths`](super::Template::read_paths).
    pub fn get<S: AsRef<str>>(&self, path: &[S]) -> Option<&Value> {
        let (head, rest) = path.split_first()?;
        let (first, rest) = match self.caller_headers(path) {
            Some((headers, rest)) => (headers, rest),
            None => (self.top_level(head.as_ref())?, rest),
        };
        rest.iter().try_fold(first, |value, key| match value {
            Value::Object(fields) => fields.get(key.as_ref()),
            Value::Array(list) => list.get(key.as_ref().parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// The value at a path; null where it is absent.
    ///
    /// # Errors
    /// The path reads an output in a form that it does not have.
    pub fn read<S: AsRef<str>>(&self, path: &[S]) -> Result<&Value, RenderError> {
        match self.get(path) {
            Some(value) => Ok(value),
            None => match missing_output::missing_value(self, path) {
                Some(MissingValue::Mismatch(error)) => Err(error),
                _ => Ok(&Value::Null),
            },
        }
    }

    /// Whether a path is the `json` of an output that is `null`.
    pub(super) fn is_null_output(&self, path: &[String]) -> bool {
        path.last().is_some_and(|last| last == JSON_FIELD)
            && matches!(missing_output::missing_value(self, path), Some(MissingValue::Null))
    }

    /// Whether a path is in an argument of the call, and its value is `null` there: an absent one has none.
    pub(super) fn is_null_argument(&self, path: &[String]) -> bool {
        let Some(head) = path.first() else { return false };
        let is_argument = match (self.arguments.get(head), self.top_level(head)) {
            (Some(own), Some(named)) => std::ptr::eq(own, named),
            _ => head == "arguments",
        };
        is_argument && self.get(path).is_some_and(Value::is_null)
    }

    /// The object at a path; at the empty path, the response.
    pub(super) fn outcome<S: AsRef<str>>(&self, path: &[S]) -> Option<&Map<String, Value>> {
        let outcome = if path.is_empty() { self.response.as_deref() } else { self.get(path) };
        outcome?.as_object()
    }

    pub(super) fn now(&self) -> Option<Timestamp> {
        self.now
    }

    fn top_level(&self, name: &str) -> Option<&Value> {
        match name {
            "arguments" => Some(&self.arguments),
            "env" => Some(&self.constants.env),
            "server" => Some(&self.constants.server),
            "steps" => Some(self.steps.as_deref().unwrap_or(&Value::Null)),
            "result" => Some(self.result.as_deref().unwrap_or(&Value::Null)),
            "this" => Some(self.this.as_deref().unwrap_or(&Value::Null)),
            CALLER if !matches!(self.caller, CallerName::Argument) => Some(match &self.caller {
                CallerName::Known(caller) => caller.value.get_or_init(|| caller.identity.to_value()),
                CallerName::Argument | CallerName::Nobody => &Value::Null,
            }),
            _ => {
                let of_response = self.response.as_deref().and_then(|response| response.get(name));
                if of_response.is_none() && name == JSON_FIELD && self.response.is_some() {
                    return None;
                }
                let of_loop = || self.index.as_ref().filter(|_| name == "index");
                let of_completion = || self.typed_text.as_ref().filter(|_| name == "typed");
                let argument = || match self.arguments.as_object()? {
                    few if few.len() <= MAX_COMPARED_NAMES => {
                        few.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
                    }
                    many => many.get(name),
                };
                of_response.or_else(of_loop).or_else(of_completion).or_else(argument)
            }
        }
    }

    /// The headers of the caller's client, where a path leads to them, and what is left of it.
    fn caller_headers<'a, S: AsRef<str>>(&self, path: &'a [S]) -> Option<(&Value, &'a [S])> {
        let ([caller, headers], rest) = path.split_first_chunk()?;
        let is_of_caller = caller.as_ref() == CALLER && !matches!(self.caller, CallerName::Argument);
        (is_of_caller && headers.as_ref() == CALLER_HEADERS).then_some((&self.caller_secrets.headers, rest))
    }

    /// The values at these paths, as one object for Handlebars. Nothing else is copied.
    pub(super) fn pick(&self, paths: &[Vec<String>]) -> Value {
        let mut root = Map::new();
        for path in paths.iter().filter(|path| self.caller_headers(path).is_none()) {
            let Some((head, rest)) = path.split_first() else { continue };
            if let Some(value) = self.top_level(head) {
                let key = if head == "this" { THIS } else { head };
                copy_path(root.entry(key), value, rest);
            }
        }
        for (headers, rest) in paths.iter().filter_map(|path| self.caller_headers(path)) {
            let caller = root.entry(CALLER).or_insert(Value::Null);
            // Nobody has headers too.
            if caller.is_null() {
                *caller = Value::Object(Map::new());
            }
            if let Value::Object(fields) = caller {
                copy_path(fields.entry(CALLER_HEADERS), headers, rest);
            }
        }
        Value::Object(root)
    }
}

/// Copies what is at `path` of `value` to the same path of `target`.
fn copy_path(target: Entry<'_>, value: &Value, path: &[String]) {
    match (value, path.split_first()) {
        (Value::Object(fields), Some((next, rest))) => {
            let slot = target.or_insert_with(|| Value::Object(Map::new()));
            if let (Value::Object(inner), Some(value)) = (slot, fields.get(next)) {
                copy_path(inner.entry(next), value, rest);
            }
        }
        _ => {
            target.and_modify(|slot| slot.clone_from(value)).or_insert_with(|| value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn each_argument_is_found_however_many_there_are() {
        for count in [1, MAX_COMPARED_NAMES, MAX_COMPARED_NAMES + 1, 40] {
            let names = || (0..count).map(|number| format!("a{number}"));
            let scope = Scope::new(names().map(|name| (name.clone(), json!(name))).collect(), Arc::default());
            assert!(names().all(|name| scope.get(&path(&name)) == Some(&json!(name))), "{count}");
            assert_eq!(scope.get(&path("b")), None, "{count}");
        }
    }

    #[test]
    fn headers_of_the_caller_are_found_by_their_whole_path_alone() {
        let secrets = Arc::new(CallerSecrets { headers: json!({ "x-key": "k-4711" }), token: None });
        let ann = Arc::new(Identity { id: "ann".to_owned(), ..Identity::default() });
        let forged = json!({ "caller": { "headers": { "x-key": "forged" } } }).as_object().cloned().unwrap();
        for (identity, id) in [(None, json!(null)), (Some(&ann), json!("ann"))] {
            let scope = Scope::new(forged.clone(), Arc::default()).with_caller(identity, &secrets);
            assert_eq!(scope.get(&path("caller.headers.x-key")), Some(&json!("k-4711")));
            assert!(!scope.get(&path("caller")).unwrap().to_string().contains("headers"));
            let picked = scope.pick(&[path("caller.headers.x-key"), path("caller.id")]);
            assert_eq!((&picked["caller"]["headers"], &picked["caller"]["id"]), (&secrets.headers, &id));
            assert!(!scope.pick(&[path("caller"), path("arguments.other")]).to_string().contains("4711"));
        }
        // A declared argument of that name is no caller.
        let scope = Scope::new(forged, Arc::default());
        assert_eq!(scope.get(&path("caller.headers.x-key")), Some(&json!("forged")));
    }
}

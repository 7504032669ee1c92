//! The values of `mock` in a test.

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::files::normalize;
use crate::yaml::pointer;

/// The actions that a mock stands in for, by name.
pub const MOCKED_ACTIONS: [&str; 5] = ["exec", "script", "http", "file", "ask"];

/// What else a mock sets.
pub(super) const MOCKED_SETTINGS: [&str; 2] = ["env", "now"];

/// What stands in for an action, or for a part of the outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Mock {
    /// How a program ends, each time.
    Program(ProgramMock),
    /// How programs end, one after the other.
    Programs(Vec<ProgramMock>),
    /// The response to every request.
    Response(ResponseMock),
    /// Responses, one after the other.
    Responses(Vec<ResponseMock>),
    /// A folder instead of the one that a `file` names.
    Folder(FolderMock),
    /// The answers of the client, by the keys of the questions.
    Answers(Map<String, Value>),
    /// Variables.
    Env(IndexMap<String, String>),
    /// The time.
    Now(String),
}

/// How a program ends.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a map with `exit`, `stdout` or `stderr`")]
pub struct ProgramMock {
    /// Its exit code.
    pub exit: i32,
    /// What it prints: a text, or JSON.
    pub stdout: Option<Value>,
    /// Its messages.
    pub stderr: Option<String>,
}

/// A response to a request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a map with `status`, `headers`, `json` or `body`")]
pub struct ResponseMock {
    /// Its status; 200 by default.
    pub status: Option<u16>,
    pub headers: IndexMap<String, String>,
    /// Its body as JSON.
    pub json: Option<Value>,
    /// Its body as text.
    pub body: Option<String>,
}

/// A folder.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map with `files`")]
pub struct FolderMock {
    /// Its files by their paths: texts, or JSON.
    pub files: IndexMap<String, Value>,
}

/// What is wrong with a mock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MockError {
    /// The part that is wrong, as a JSON pointer.
    pub pointer: String,
    /// The key that is wrong, if one is.
    pub unknown_key: Option<String>,
    /// The keys that are expected.
    pub keys: &'static [&'static str],
    /// What is wrong.
    pub message: String,
}

/// The keys of the mock of a program.
const PROGRAM_KEYS: &[&str] = &["exit", "stdout", "stderr"];
/// The keys of the mock of a response.
const RESPONSE_KEYS: &[&str] = &["status", "headers", "json", "body"];
/// The keys of the mock of a folder.
const FOLDER_KEYS: &[&str] = &["files"];

/// Reads one mock, to say what is wrong with it.
type ReadMock = fn(&Value) -> Result<(), String>;

impl MockError {
    /// Finds the part of a mock that cannot be read: each key of each answer is read alone.
    fn locate(name: &str, value: &Value, message: String) -> MockError {
        let (keys, read_one): (_, ReadMock) = match name {
            "exec" | "script" => (PROGRAM_KEYS, |answer| read::<ProgramMock>(answer).map(drop)),
            "http" => (RESPONSE_KEYS, |answer| read::<ResponseMock>(answer).map(drop)),
            "file" => (FOLDER_KEYS, |answer| folder(answer).map(drop)),
            _ => return MockError { pointer: String::new(), unknown_key: None, keys: &[], message },
        };
        let answers = match value {
            Value::Array(items) => items.iter().enumerate().map(|(at, item)| (format!("/{at}"), item)).collect(),
            one => vec![(String::new(), one)],
        };
        for (at, answer) in answers {
            let Some(fields) = answer.as_object() else {
                if let Err(message) = read_one(answer) {
                    return MockError { pointer: at, unknown_key: None, keys, message };
                }
                continue;
            };
            for (key, part) in fields {
                if let Err(message) = read_one(&Value::Object([(key.clone(), part.clone())].into_iter().collect())) {
                    let unknown_key = (!keys.contains(&key.as_str())).then(|| key.clone());
                    return MockError { pointer: pointer::join(&at, key), unknown_key, keys, message };
                }
            }
        }
        MockError { pointer: String::new(), unknown_key: None, keys, message }
    }
}

impl Mock {
    /// Every name that stands for itself, and not for a step.
    pub fn names() -> impl Iterator<Item = &'static str> {
        MOCKED_ACTIONS.into_iter().chain(MOCKED_SETTINGS)
    }

    /// Reads the mock of an action or a step.
    ///
    /// # Errors
    /// It does not have the keys of one.
    pub fn parse(name: &str, value: &Value) -> Result<Mock, MockError> {
        Mock::read(name, value).map_err(|message| MockError::locate(name, value, message))
    }

    /// An example of the mock of an action, or of a setting.
    pub fn example(name: &str) -> Option<&'static str> {
        Some(match name {
            "exec" => "exec: { stdout: done }",
            "script" => "script: { exit: 1, stderr: no such file }",
            "http" => "http: { status: 404, json: { message: none } }",
            "file" => "file: { files: { notes/a.md: hello } }",
            "ask" => "ask: { confirm: { sure: true } }",
            "env" => "env: { TOKEN: abc-123456 }",
            "now" => "now: 2026-01-31T12:00:00Z",
            _ => return None,
        })
    }

    fn read(name: &str, value: &Value) -> Result<Mock, String> {
        match name {
            "env" => read(value).map(|variables: IndexMap<String, MockScalar>| {
                Mock::Env(variables.into_iter().map(|(name, value)| (name, value.0)).collect())
            }),
            "now" => read(value).map(Mock::Now),
            "exec" | "script" => programs(value),
            "http" => responses(value),
            "file" => folder(value),
            "ask" => read(value).map(Mock::Answers),
            _ => step(value),
        }
    }
}

/// A number, a boolean or a text, as text.
#[derive(Deserialize)]
#[serde(from = "Value")]
struct MockScalar(String);

impl From<Value> for MockScalar {
    fn from(value: Value) -> MockScalar {
        match value {
            Value::String(text) => MockScalar(text),
            Value::Null => MockScalar(String::new()),
            other => MockScalar(other.to_string()),
        }
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_json::from_value(value.clone()).map_err(|error| error.to_string())
}

fn programs(value: &Value) -> Result<Mock, String> {
    if value.is_array() { read(value).map(Mock::Programs) } else { read(value).map(Mock::Program) }
}

fn responses(value: &Value) -> Result<Mock, String> {
    let mock = if value.is_array() { read(value).map(Mock::Responses) } else { read(value).map(Mock::Response) };
    let has_two = |response: &ResponseMock| response.json.is_some() && response.body.is_some();
    match &mock {
        Ok(Mock::Response(response)) if has_two(response) => Err("`json` cannot be used with `body`".to_owned()),
        Ok(Mock::Responses(all)) if all.iter().any(has_two) => Err("`json` cannot be used with `body`".to_owned()),
        _ => mock,
    }
}

fn folder(value: &Value) -> Result<Mock, String> {
    let folder: FolderMock = read(value)?;
    match folder.files.keys().find(|path| path.is_empty() || normalize(path).is_err()) {
        Some(path) => Err(format!("path `{path}` escapes the folder")),
        None => Ok(Mock::Folder(folder)),
    }
}

/// The mock of a step, whose keys say what it is of.
fn step(value: &Value) -> Result<Mock, String> {
    let first = value.get(0).unwrap_or(value);
    let has = |keys: &[&str]| keys.iter().any(|key| first.get(key).is_some());
    match () {
        () if has(PROGRAM_KEYS) => programs(value),
        () if has(RESPONSE_KEYS) => responses(value),
        () if has(FOLDER_KEYS) => folder(value),
        () if first.as_object().is_some_and(|keys| !keys.is_empty()) => read(value).map(Mock::Answers),
        () => Err(
            "expected keys of a program (`exit stdout stderr`), a response (`status headers json body`), a folder (`files`) \
             or questions"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Mock, ProgramMock, ResponseMock};

    #[test]
    fn keys_of_a_step_say_what_it_mocks() {
        let program = ProgramMock { exit: 2, ..ProgramMock::default() };
        assert_eq!(Mock::parse("x", &json!({ "exit": 2 })).unwrap(), Mock::Program(program.clone()));
        assert_eq!(Mock::parse("x", &json!([{ "exit": 2 }])).unwrap(), Mock::Programs(vec![program]));
        let response = ResponseMock { status: Some(404), ..ResponseMock::default() };
        assert_eq!(Mock::parse("x", &json!({ "status": 404 })).unwrap(), Mock::Response(response));
        assert!(matches!(Mock::parse("x", &json!({ "confirm": { "sure": true } })), Ok(Mock::Answers(_))));
        assert!(Mock::parse("x", &json!({})).is_err() && Mock::parse("x", &json!("text")).is_err());
    }

    #[test]
    fn unknown_and_excluding_keys_are_errors() {
        let error = Mock::parse("exec", &json!([{ "exit": 1 }, { "stdot": "x" }])).unwrap_err();
        assert_eq!((error.pointer.as_str(), error.unknown_key.as_deref()), ("/1/stdot", Some("stdot")));
        let error = Mock::parse("exec", &json!({ "exit": "x" })).unwrap_err();
        assert_eq!((error.pointer.as_str(), error.unknown_key), ("/exit", None));
        assert!(Mock::parse("http", &json!({ "json": 1, "body": "x" })).unwrap_err().message.contains("`body`"));
        assert!(Mock::parse("ask", &json!([])).is_err());
    }
}

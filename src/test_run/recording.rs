//! The mocks of a test, from the actions of a live run.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::diagnostic::{SourceMap, one_line};
use crate::load::{LoadedPacks, is_variable_of_tests, looks_secret};
use crate::manifest::Mock;
use crate::redact::{Redactor, has_credential_parameter, is_credential_field};
use crate::world::{MockReply, MockResponse, ProgramOutput, RecordedAction};

use super::plan::PlannedTest;

/// How much of a manifest one answer may take.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// Headers that differ from response to response, or with each change on the server. They are recorded where a manifest
/// names them.
const RECORDED_IF_NAMED_HEADERS: [&str; 14] = [
    "cf-cache-status", "etag", "expires", "last-modified", "nel", "report-to", "request-id", "server-timing",
    "x-amzn-requestid", "x-cache", "x-github-request-id", "x-request-id", "x-runtime", "x-served-by",
];

/// What a live run of a test tells of its mocks.
#[derive(Debug, Clone, PartialEq)]
pub enum Recording {
    /// The mocks that stand in for its actions, by name; none if nothing acted on the world.
    Mocks(IndexMap<String, Value>),
    /// Why there are no such mocks.
    Refused(String),
}

/// The variables of the process that a test saw, and sees again where its mock sets them. No secret is one of them.
pub fn seen_variables(loaded: &LoadedPacks, test: &PlannedTest) -> Map<String, Value> {
    let Some(pack) = loaded.packs.get(test.environment.pack) else { return Map::new() };
    let declared = pack.pack.env.variables.iter();
    let seen = declared.filter(|(name, variable)| {
        let is_own = !variable.secret && variable.value != variable.default;
        is_own && !is_variable_of_tests(name) && !test.environment.mocked.contains_key(*name)
    });
    seen.filter_map(|(name, variable)| Some((name.clone(), variable.value.clone()?.into()))).collect()
}

/// What is known of the server whose actions are recorded.
pub struct RecordedServer<'s> {
    /// What finds the secrets in answers.
    pub redactor: &'s Redactor,
    /// The files of its manifest and packs.
    pub sources: &'s SourceMap,
}

impl RecordedServer<'_> {
    /// Whether a header is part of a mock.
    fn records_header(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let mut texts = self.sources.iter().map(|source| source.text().to_ascii_lowercase());
        !RECORDED_IF_NAMED_HEADERS.contains(&name.as_str()) || texts.any(|text| text.contains(&name))
    }
}

/// The mocks of what happened in a test.
pub(super) fn record(
    actions: &[RecordedAction],
    variables: Map<String, Value>,
    server: &RecordedServer<'_>,
) -> Recording {
    match actions {
        [] => Recording::Mocks(IndexMap::new()),
        _ => call_mocks(actions, variables, server),
    }
}

/// The mocks of what happened in a call that saw these variables.
pub fn call_mocks(
    actions: &[RecordedAction],
    mut variables: Map<String, Value>,
    server: &RecordedServer<'_>,
) -> Recording {
    let redactor = server.redactor;
    let mut answers: IndexMap<String, Vec<&RecordedAction>> = IndexMap::new();
    for action in actions {
        answers.entry(action.mock.clone()).or_default().push(action);
    }
    let mut mocks = IndexMap::new();
    for (name, actions) in answers {
        match mock_value(&actions, server) {
            Ok(value) => mocks.insert(name, value),
            Err(reason) => return Recording::Refused(redactor.redact_text(&reason).into_owned()),
        };
    }
    variables.retain(|_, value| !value.as_str().is_some_and(|text| redactor.finds_secret(text)));
    if !variables.is_empty() {
        mocks.insert("env".to_owned(), Value::Object(variables));
    }
    match mocks.values().find_map(|mock| find_secret(mock, "")) {
        Some(key) => Recording::Refused(format!(
            "`{}` has what looks like a secret: declare its variable under `env`, or write the mock yourself",
            one_line(&key)
        )),
        None => Recording::Mocks(mocks),
    }
}

/// The key of a value that looks like a secret, though no variable declares it. A text that is JSON has keys, too.
fn find_secret(value: &Value, key: &str) -> Option<String> {
    match value {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(inner @ (Value::Array(_) | Value::Object(_))) => find_secret(&inner, key),
            _ if looks_secret(text) || is_credential_field(key, text) || has_credential_parameter(text) => {
                Some(key.to_owned())
            }
            _ => None,
        },
        Value::Number(number) => is_credential_field(key, &number.to_string()).then(|| key.to_owned()),
        Value::Array(items) => items.iter().find_map(|item| find_secret(item, key)),
        Value::Object(fields) => fields.iter().find_map(|(key, value)| find_secret(value, key)),
        _ => None,
    }
}

/// The mock of some actions: a list if there are several.
fn mock_value(actions: &[&RecordedAction], server: &RecordedServer<'_>) -> Result<Value, String> {
    let mut answers = Vec::new();
    for action in actions {
        let answer = action.reply.as_ref().map_err(Clone::clone).and_then(|reply| match reply {
            MockReply::Program(output) => program_answer(output, server.redactor),
            MockReply::Response(response) => response_answer(response, server),
        });
        answers.push(answer.map_err(|reason| format!("{}: {}", action.action, one_line(&reason)))?);
    }
    let value = match <[Value; 1]>::try_from(answers) {
        Ok([one]) => one,
        Err(several) => several.into(),
    };
    let name = actions.first().map(|action| action.mock.as_str()).unwrap_or_default();
    match Mock::parse(name, &value) {
        Ok(Mock::Program(_) | Mock::Programs(_) | Mock::Response(_) | Mock::Responses(_)) => Ok(value),
        _ => Err(format!("no mock stands in for the actions of the step `{name}`, which are of several kinds")),
    }
}

fn program_answer(output: &ProgramOutput, redactor: &Redactor) -> Result<Value, String> {
    let mut fields = Map::new();
    let exit = output.exit_code.unwrap_or_default();
    let stdout = text("stdout", &output.stdout.bytes, redactor)?;
    let stderr = text("stderr", &output.stderr.bytes, redactor)?;
    if exit != 0 || (stdout.is_empty() && stderr.is_empty()) {
        fields.insert("exit".to_owned(), exit.into());
    }
    for (key, text) in [("stdout", stdout), ("stderr", stderr)] {
        if !text.is_empty() {
            fields.insert(key.to_owned(), text.into());
        }
    }
    Ok(fields.into())
}

fn response_answer(response: &MockResponse, server: &RecordedServer<'_>) -> Result<Value, String> {
    let redactor = server.redactor;
    let mut fields = Map::new();
    fields.insert("status".to_owned(), response.status.into());
    let body = text("body", &response.body, redactor)?;
    let json = if is_json(response) { exact_json(&body) } else { None };
    let is_implied = |value: &str| json.is_some() && value == "application/json";
    let headers = response.headers.iter().filter(|(name, value)| !is_implied(value) && server.records_header(name));
    let shown = headers.map(|(name, value)| (name.clone(), redactor.redact_text(value).into_owned().into()));
    let headers: Map<String, Value> = shown.collect();
    if !headers.is_empty() {
        fields.insert("headers".to_owned(), headers.into());
    }
    match json {
        Some(json) => _ = fields.insert("json".to_owned(), json),
        None if !body.is_empty() => _ = fields.insert("body".to_owned(), body.into()),
        None => {}
    }
    Ok(fields.into())
}

/// Whether a response says that it is JSON.
fn is_json(response: &MockResponse) -> bool {
    let mut headers = response.headers.iter();
    let content_type = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let kind = content_type.map(|(_, value)| value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    kind.is_some_and(|kind| kind == "application/json" || kind.ends_with("+json"))
}

/// The value of a JSON text, if that is the same when it is written again: large numbers are not. `null` is no value of a
/// mock.
fn exact_json(body: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(body).ok().filter(|value: &Value| !value.is_null())?;
    (outside_strings(&value.to_string()) == outside_strings(body)).then_some(value)
}

/// The numbers and marks of a JSON text.
fn outside_strings(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let is_outside = |character: &char| {
        let was_in_string = in_string;
        in_string ^= *character == '"' && !escaped;
        escaped = was_in_string && *character == '\\' && !escaped;
        !was_in_string && !character.is_whitespace()
    };
    json.chars().filter(is_outside).collect()
}

/// A text of an answer without secrets.
fn text(what: &str, bytes: &[u8], redactor: &Redactor) -> Result<String, String> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(format!("its {what} is not UTF-8, and no text for a manifest"));
    };
    if text.len() > MAX_ANSWER_BYTES {
        return Err(format!(
            "its {what} has {} bytes, and a mock in a manifest at most {MAX_ANSWER_BYTES}",
            text.len()
        ));
    }
    Ok(redactor.redact_text(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn undeclared_secrets_are_found() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P";
        for (answer, key) in [
            (json!({ "stdout": format!("token {jwt}\n") }), Some("stdout")),
            (json!({ "json": { "access_token": "0123456789" } }), Some("access_token")),
            (json!({ "json": [{ "dbPassword": "correct horse" }] }), Some("dbPassword")),
            (json!({ "stdout": "{\"credential\": \"0123456789\"}\n" }), Some("credential")),
            (json!({ "json": { "card": { "pin": 4711, "passphrase": "" } } }), Some("pin")),
            (json!({ "body": "user=me&session_id=0123456789" }), Some("body")),
            (json!({ "json": { "next": "https://a.example/?page=2&access_token=0123456789" } }), Some("next")),
            (json!({ "body": "see https://me:hunter22@example.com/x" }), Some("body")),
            (json!({ "headers": { "x-auth": "Basic dXNlcjpwYXNzdw==" } }), Some("x-auth")),
            (json!({ "json": { "access_token": "[secret]", "token": "abc", "nextPageToken": "CAUQAA0123" } }), None),
            (json!({ "body": "https://example.com/a:b, basic training, mail me@example.com" }), None),
        ] {
            assert_eq!(find_secret(&answer, "").as_deref(), key, "{answer}");
        }
    }

    #[test]
    fn large_and_fractional_numbers_stay_text() {
        for (body, is_exact) in [
            (r#"{ "a": [1, 2.5] }"#, true),
            (r#"{"a": 12345678901234567890123}"#, false),
            (r#"{"a": 1.50}"#, false),
            (r#"{"a": 1, "a": 2}"#, false),
            (r#"{"\u00e9\" 1": "\/ 2\\"}"#, true),
            ("null", false),
        ] {
            assert_eq!(exact_json(body).is_some(), is_exact, "{body}");
        }
    }
}

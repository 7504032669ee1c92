//! Turns a response into the outcome of the action, or into an error message.

use serde_json::{Map, Value};

use crate::action::context::outcome::OutcomeBody;
use crate::action::context::step::OutcomeReads;
use crate::action::parse::OutputFormat;
use crate::action::{ActionError, ActionOutcome, StepContext};
use crate::budget::json_memory_size;
use crate::template::value_to_text;
use crate::world::HttpResponse;

use super::retry::{is_transient_status, retry_after};
use super::{ALREADY_SENT_NOTE, HttpAction, response_limit_error};

/// How much of the body of an error response is shown.
const MAX_ERROR_BODY_CHARS: usize = 2000;
/// Where APIs say what is wrong with which field, beside a message.
const DETAIL_KEYS: [&str; 9] = [
    "errors", "details", "invalid-params", "invalid_params", "invalidParams", "violations", "fieldErrors", "param",
    "field",
];
const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

impl HttpAction {
    /// Whether a status is not an error.
    pub(super) fn is_success(&self, status: u16) -> bool {
        (200..300).contains(&status)
            || (300..400).contains(&status) && !self.follows_redirects
            || self.expected_statuses.iter().any(|pattern| pattern.matches(status))
    }

    /// The outcome of a response, which the call holds, to the request that `request_description` describes.
    pub(super) async fn to_outcome(
        &self,
        request_description: &str,
        response: HttpResponse,
        context: &StepContext<'_>,
    ) -> Result<ActionOutcome, ActionError> {
        let budget = context.scope.budget();
        // An error may have any form.
        let is_success = self.is_success(response.status) && !self.is_failed(&response, context)?;
        let format = if is_success { self.format } else { OutputFormat::Detect };
        let format = format.hold_value(&response.body.bytes, budget, ALREADY_SENT_NOTE).await;
        budget.run(|| self.parse_response(request_description, response, is_success, format, context))?
    }

    fn parse_response(
        &self,
        request_description: &str,
        response: HttpResponse,
        is_success: bool,
        format: Result<OutputFormat, ActionError>,
        context: &StepContext<'_>,
    ) -> Result<ActionOutcome, ActionError> {
        let content_type = response.header("content-type").unwrap_or_default().to_lowercase();
        let mime_type = content_type.split(';').next().map(str::trim).filter(|mime_type| !mime_type.is_empty());
        let parsed = format.and_then(|format| {
            let parsed = format.parse(&response.body, mime_type, context.max_output);
            parsed.map_err(|error| error.about_output(&request_effect(response.status), &response.body.excerpt()))
        });
        let status = Some(response.status);
        if !is_success {
            let json = parsed.ok().and_then(|parsed| parsed.to_json(&response.body));
            let value = response_fields(&response, json, &OutcomeReads::ALL);
            let failure = Some(self.error_message(request_description, &response, &value, context)?);
            return Ok(ActionOutcome { failure, status, ..ActionOutcome::success(value, OutcomeBody::None) });
        }
        let parsed = parsed?;
        let json = if context.reads.has_field("json") { parsed.to_json(&response.body) } else { None };
        let value = response_fields(&response, json, context.reads);
        let note = response.body.bytes.is_empty().then(|| format!("HTTP status {}", status_line(response.status)));
        Ok(ActionOutcome { status, note, ..ActionOutcome::success(value, parsed.into_body(response.body)) })
    }

    /// Whether `failIf` says that a response is an error, whatever its status.
    pub(super) fn is_failed(&self, response: &HttpResponse, context: &StepContext<'_>) -> Result<bool, ActionError> {
        let Some(condition) = &self.fail_if else { return Ok(false) };
        let bytes = &response.body.bytes;
        let budget = context.scope.budget().nested();
        budget.hold(json_memory_size(bytes)).map_err(response_limit_error)?;
        let json = budget.run(|| serde_json::from_slice(bytes).unwrap_or(Value::Null))?;
        let fields = response_fields(response, Some(json), &OutcomeReads::ALL);
        Ok(condition.render(&context.scope.clone().with_response(fields))?)
    }

    fn error_message(
        &self,
        request_description: &str,
        response: &HttpResponse,
        outcome: &Value,
        context: &StepContext<'_>,
    ) -> Result<String, ActionError> {
        let scope = context.scope.clone().with_response(outcome.clone());
        if let Some(message) = self.error_messages.render(response.status, &scope)? {
            return Ok(message);
        }
        let status = status_line(response.status);
        let (mut message, reason) = match self.is_success(response.status) {
            // `failIf` says so, and no one knows how its errors are written.
            true => (format!("{request_description} failed, though with HTTP status {status}"), body_text(response)),
            false => {
                let reason = outcome.get("json").and_then(json_reason);
                let reason = reason.map(|reason| reason.trim().chars().take(MAX_ERROR_BODY_CHARS).collect());
                let message = format!("{request_description} failed with HTTP status {status}");
                (message, reason.unwrap_or_else(|| body_text(response)))
            }
        };
        if !reason.is_empty() {
            message.push_str(": ");
            message.push_str(&reason);
        }
        if let Some(hint) = retry_hint(response) {
            message.push('\n');
            message.push_str(&hint);
        }
        Ok(message)
    }
}

/// What is done when there is a response, in errors about it.
pub(in crate::action) fn request_effect(status: u16) -> String {
    format!("the request was carried out: HTTP {status}")
}

/// The headers of a response as an object.
pub(super) fn header_values(response: &HttpResponse) -> Map<String, Value> {
    response.headers.iter().map(|(name, _)| (name.clone(), response.header(name).into())).collect()
}

/// `404 Not Found`.
fn status_line(status: u16) -> String {
    let reason = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    reason.map_or_else(|| status.to_string(), |reason| format!("{status} {reason}"))
}

/// Whether the caller should try again.
fn retry_hint(response: &HttpResponse) -> Option<String> {
    if let Some(wait) = retry_after(response, std::time::SystemTime::now()) {
        return Some(match wait.as_secs() {
            seconds if seconds > SECONDS_PER_DAY => "Try again in more than a day.".to_owned(),
            seconds => format!("Try again in {} s.", seconds.max(1)),
        });
    }
    if is_transient_status(response.status) {
        return Some("Trying again later may help.".to_owned());
    }
    (400..500).contains(&response.status).then(|| "Retrying the same request will not help.".to_owned())
}

/// The beginning of the body of a response; of a page, its title.
fn body_text(response: &HttpResponse) -> String {
    let text = response.body.to_display_text().into_owned();
    html_title(&text).unwrap_or(text).trim().chars().take(MAX_ERROR_BODY_CHARS).collect()
}

/// The fields of the outcome of a response, as far as they are read.
fn response_fields(response: &HttpResponse, json: Option<Value>, reads: &OutcomeReads) -> Value {
    let fields = [
        ("status", Some(response.status.into())),
        ("headers", reads.has_field("headers").then(|| header_values(response).into())),
        ("body", reads.has_text("body", json.as_ref()).then(|| response.body.to_display_text().into())),
        ("url", Some(response.url.as_str().into())),
        ("json", json),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The message in a JSON error, of problem details (RFC 9457) or under a name that APIs often use, and what is wrong with
/// which field.
fn json_reason(json: &Value) -> Option<String> {
    let listed = |errors: &Value| {
        let reasons: Option<Vec<String>> = errors.as_array()?.iter().map(json_reason).collect();
        reasons.filter(|reasons| !reasons.is_empty()).map(|reasons| reasons.join("; "))
    };
    match json_title(json) {
        Some(title) => Some([title].into_iter().chain(error_details(json)).collect::<Vec<_>>().join("\n")),
        None => (json.get("error").and_then(json_reason))
            .or_else(|| json.get("errors").and_then(listed))
            .or_else(|| json.as_str().map(str::to_owned)),
    }
}

fn json_title(json: &Value) -> Option<String> {
    let text = |key: &str| json.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let (Some(title), Some(detail)) = (text("title"), text("detail")) {
        return Some(format!("{title}: {detail}"));
    }
    if let (Some(error), Some(description)) = (text("error"), text("error_description")) {
        return Some(format!("{error}: {description}"));
    }
    let names = ["message", "detail", "title", "error_description", "error", "reason"];
    names.into_iter().find_map(text).map(str::to_owned)
}

/// What is said beside the message, each on a line: `errors: [{"field":"title","code":"missing"}]`.
fn error_details(json: &Value) -> impl Iterator<Item = String> {
    let is_empty = |value: &Value| match value {
        Value::Null | Value::Bool(_) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(_) => false,
    };
    DETAIL_KEYS.into_iter().filter_map(move |key| {
        let value = json.get(key).filter(|value| !is_empty(value))?;
        Some(format!("{key}: {}", value_to_text(value)))
    })
}

/// The title of an HTML page.
fn html_title(text: &str) -> Option<String> {
    let start = text.trim_start().get(..15).unwrap_or_default().to_lowercase();
    if !start.starts_with("<!doctype html") && !start.starts_with("<html") {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let from = lower.find("<title>")? + "<title>".len();
    let to = from + lower.get(from..)?.find("</title>")?;
    text.get(from..to).map(|title| title.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{html_title, json_reason};

    #[test]
    fn reason_of_json_error_is_found() {
        for (body, reason) in [
            (json!({ "title": "Gone", "detail": "It was deleted" }), Some("Gone: It was deleted")),
            (
                json!({ "error": "invalid_scope", "error_description": "no such scope" }),
                Some("invalid_scope: no such scope"),
            ),
            (json!({ "message": "Not Found", "documentation_url": "x" }), Some("Not Found")),
            (json!({ "error": { "message": "No such customer", "type": "x" } }), Some("No such customer")),
            (json!({ "errors": [{ "message": "bad field" }, { "message": "b" }] }), Some("bad field; b")),
            (
                json!({ "message": "Validation Failed", "errors": [{ "field": "title", "code": "missing" }] }),
                Some("Validation Failed\nerrors: [{\"field\":\"title\",\"code\":\"missing\"}]"),
            ),
            (
                json!({ "error": { "message": "Missing", "param": "amount", "details": [] } }),
                Some("Missing\nparam: amount"),
            ),
            (json!({ "errors": [{ "code": 7 }] }), None),
            (json!({ "errors": ["bad field"] }), Some("bad field")),
            (json!({ "code": 7 }), None),
            (json!([]), None),
        ] {
            assert_eq!(json_reason(&body).as_deref(), reason, "{body}");
        }
    }

    #[test]
    fn html_error_page_is_shortened_to_its_title() {
        let page = "<!DOCTYPE html>\n<html><head><Title> 502 Bad Gateway </title></head><body>x</body></html>";
        assert_eq!(html_title(page).as_deref(), Some("502 Bad Gateway"));
        assert_eq!(html_title("plain <title>x</title>"), None);
    }
}

//! Checks an answer against what is expected of it.

use regex::Regex;
use serde_json::Value;

use crate::manifest::{Expect, ExpectedMessage};
use crate::value_types::{Json, OneOrMany};
use crate::yaml::{Documents, Location, Spanned};

use super::TestFailure;
use super::diff::mark_received;
use super::partial_match::differences;
use super::response::Response;

/// Compares JSON with a `json` key, and points to the parts that differ.
pub(super) fn check_json(expected: &Spanned<Json>, received: &Value, documents: &Documents) -> Vec<TestFailure> {
    let shown = serde_json::to_string_pretty(received).unwrap_or_default();
    let differing = differences(&expected.value.0, received).into_iter().enumerate();
    let failure = |(number, part): (usize, super::partial_match::Difference)| {
        let place = documents.value_at(expected.location, &part.pointer);
        let at = if part.pointer.is_empty() { String::new() } else { format!("`{}`: ", part.pointer) };
        let details = if number == 0 { mark_received(&shown) } else { String::new() };
        TestFailure::new(place, format!("{at}{}", part.message)).details(details)
    };
    differing.map(failure).collect()
}

/// What of `expects` does not hold; `at` is the place of the test.
pub(super) fn check(
    expects: &[Spanned<Expect>],
    answer: &Response,
    documents: &Documents,
    at: Location,
) -> Vec<TestFailure> {
    let claims_success = |expect: &Spanned<Expect>| {
        expect.is_error.as_ref().filter(|is_error| !is_error.value).map(|flag| flag.location)
    };
    let expects_error = |expect: &Spanned<Expect>| {
        expect.error.is_some() || expect.is_error.as_ref().is_some_and(|is_error| is_error.value)
    };
    if answer.is_error() && !expects.iter().any(expects_error) {
        let place = expects.iter().find_map(claims_success).unwrap_or(at);
        let failure =
            TestFailure::new(place, "the call failed").details(mark_received(&answer.error().unwrap_or_default()));
        return vec![failure.help("write `error: …` or `isError: true` if that is expected")];
    }
    expects.iter().flat_map(|expect| ExpectationCheck { expect, answer, documents }.failures()).collect()
}

struct ExpectationCheck<'a> {
    expect: &'a Expect,
    answer: &'a Response,
    documents: &'a Documents,
}

impl ExpectationCheck<'_> {
    fn failures(&self) -> Vec<TestFailure> {
        let mut failures = self.check_is_error();
        failures.extend(self.check_error());
        failures.extend(self.check_contains());
        failures.extend(self.check_equals());
        failures.extend(self.check_matches());
        failures.extend(self.check_json());
        failures.extend(self.check_messages());
        failures
    }

    fn check_is_error(&self) -> Vec<TestFailure> {
        let Some(expected) = self.expect.is_error.as_ref().filter(|flag| flag.value != self.answer.is_error()) else {
            return Vec::new();
        };
        let message = if expected.value { "expected an error, and the call succeeded" } else { "the call failed" };
        vec![TestFailure::new(expected.location, message).details(mark_received(&self.answer.text()))]
    }

    fn check_error(&self) -> Vec<TestFailure> {
        let Some(parts) = &self.expect.error else { return Vec::new() };
        let error = self.answer.error();
        let text = error.clone().unwrap_or_else(|| self.answer.text());
        missing_parts(parts, error.as_deref().unwrap_or_default())
            .map(|part| match error {
                Some(_) => (part, format!("the error does not contain `{}`", part.value.0)),
                None => (part, "expected an error, and the call succeeded".to_owned()),
            })
            .map(|(part, message)| TestFailure::new(part.location, message).details(mark_received(&text)))
            .collect()
    }

    fn check_contains(&self) -> Vec<TestFailure> {
        let text = self.answer.text();
        let parts = self.expect.contains.iter().flat_map(|parts| missing_parts(parts, &text));
        let failure = |(number, part): (usize, &Spanned<_>)| {
            let part: &Spanned<crate::value_types::Scalar> = part;
            let details = if number == 0 { mark_received(&text) } else { String::new() };
            let message = format!("the answer does not contain `{}`", crate::diagnostic::one_line(&part.value.0));
            TestFailure::new(part.location, message).details(details)
        };
        parts.enumerate().map(failure).collect()
    }

    fn check_equals(&self) -> Vec<TestFailure> {
        let Some(expected) = &self.expect.equals else { return Vec::new() };
        let (wanted, received) = match &expected.value.0 {
            Value::String(text) => (text.clone(), self.answer.text()),
            json => {
                let received = self.answer.json();
                if received.as_ref() == Some(json) {
                    return Vec::new();
                }
                (pretty(json), received.map_or_else(|| self.answer.text(), |received| pretty(&received)))
            }
        };
        if wanted.trim_end_matches('\n') == received.trim_end_matches('\n') {
            return Vec::new();
        }
        vec![TestFailure::new(expected.location, "the answer is another").difference(&wanted, &received)]
    }

    fn check_matches(&self) -> Vec<TestFailure> {
        let Some(pattern) = &self.expect.matches else { return Vec::new() };
        let text = self.answer.text();
        if Regex::new(pattern).is_ok_and(|regex| regex.is_match(&text)) {
            return Vec::new();
        }
        vec![TestFailure::new(pattern.location, "the answer does not match").details(mark_received(&text))]
    }

    fn check_json(&self) -> Vec<TestFailure> {
        let Some(expected) = &self.expect.json else { return Vec::new() };
        match self.answer.json() {
            Some(found) => check_json(expected, &found, self.documents),
            None => {
                let failure = TestFailure::new(expected.location, "the answer is not JSON");
                vec![failure.details(mark_received(&self.answer.text()))]
            }
        }
    }

    fn check_messages(&self) -> Vec<TestFailure> {
        let Some(expected) = &self.expect.messages else { return Vec::new() };
        let received = self.answer.messages();
        if expected.value.len() != received.len() {
            let message = format!("expected {} messages, found {}", expected.value.len(), received.len());
            let shown = received.iter().map(pretty).collect::<Vec<_>>().join("\n");
            return vec![TestFailure::new(expected.location, message).details(mark_received(&shown))];
        }
        expected
            .value
            .iter()
            .zip(received)
            .flat_map(|(expected, received)| self.check_message(expected, received))
            .collect()
    }

    fn check_message(&self, expected: &Spanned<ExpectedMessage>, received: &Value) -> Vec<TestFailure> {
        let roles = [("user", &expected.user), ("assistant", &expected.assistant)];
        let Some((role, content)) = roles.into_iter().find_map(|(role, content)| Some((role, content.as_ref()?)))
        else {
            return Vec::new();
        };
        let received_role = received.get("role").and_then(Value::as_str).unwrap_or_default();
        if received_role != role {
            let message = format!("expected a message of `{role}`, found one of `{received_role}`");
            return vec![TestFailure::new(expected.location, message)];
        }
        let block = received.get("content").unwrap_or(&Value::Null);
        let Value::String(wanted) = &content.value.0 else { return check_json(content, block, self.documents) };
        let text = block.get("text").and_then(Value::as_str).map_or_else(|| pretty(block), str::to_owned);
        if wanted.trim_end_matches('\n') == text.trim_end_matches('\n') {
            return Vec::new();
        }
        vec![TestFailure::new(content.location, "the message is another").difference(wanted, &text)]
    }
}

/// The parts that are not in a text.
fn missing_parts<'a>(
    parts: &'a OneOrMany,
    text: &str,
) -> impl Iterator<Item = &'a Spanned<crate::value_types::Scalar>> + use<'a> {
    let missing: Vec<_> = parts.items().iter().filter(|part| !text.contains(&part.value.0)).collect();
    missing.into_iter()
}

fn pretty(json: &Value) -> String {
    serde_json::to_string_pretty(json).unwrap_or_default()
}

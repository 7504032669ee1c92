//! Checks the programs that were run and the requests that were sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::manifest::{ExpectedAction, SentParts};
use crate::redact::Redactor;
use crate::world::SentAction;
use crate::yaml::{Documents, Spanned};

use super::TestFailure;
use super::expectation::check_json;

/// Compares what was sent.
pub(super) struct SentActionCheck<'a> {
    pub(super) sent: &'a [SentAction],
    pub(super) redactor: &'a Redactor,
    pub(super) documents: &'a Documents,
}

impl SentActionCheck<'_> {
    /// What of `expected` does not hold.
    pub(super) fn failures(&self, expected: &Spanned<ExpectedAction>) -> Vec<TestFailure> {
        let parts = expected.value.parts();
        if self.sent.is_empty() && !parts.is_empty() {
            return vec![TestFailure::new(expected.location, "no program was run and no request was sent")];
        }
        match &expected.value {
            ExpectedAction::One(parts) => {
                let differences = self.sent.iter().map(|sent| self.compare(parts, sent));
                differences.min_by_key(Vec::len).unwrap_or_default()
            }
            ExpectedAction::Many(all) if all.len() != self.sent.len() => {
                let message = format!("expected {} programs and requests, found {}", all.len(), self.sent.len());
                vec![TestFailure::new(expected.location, message).details(self.list())]
            }
            ExpectedAction::Many(all) => {
                all.iter().zip(self.sent).flat_map(|(parts, sent)| self.compare(parts, sent)).collect()
            }
        }
    }

    /// All that was sent, in lines.
    fn list(&self) -> String {
        let line = |sent: &SentAction| match (&sent.argv, &sent.method, &sent.url) {
            (Some(argv), ..) => format!("+{}\n", self.redactor.redact_text(&Value::from(argv.clone()).to_string())),
            (_, Some(method), Some(url)) => format!("+{method} {}\n", self.redactor.redact_text(url)),
            _ => String::new(),
        };
        self.sent.iter().map(line).collect()
    }

    fn compare(&self, parts: &Spanned<SentParts>, sent: &SentAction) -> Vec<TestFailure> {
        let mut failures = self.compare_argv(parts, sent);
        let text = |body: &Vec<u8>| std::str::from_utf8(body).map_or_else(|_| STANDARD.encode(body), str::to_owned);
        let body = sent.body.as_ref().map(text);
        let texts = [
            ("method", &parts.method, &sent.method),
            ("url", &parts.url, &sent.url),
            ("stdin", &parts.stdin, &sent.stdin),
            ("body", &parts.body, &body),
        ];
        for (key, expected, found) in texts {
            failures.extend(expected.iter().filter_map(|expected| self.compare_text(key, expected, found.as_deref())));
        }
        for (name, expected) in &parts.headers {
            let mut found = sent.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
            let found = found.next().map(|(_, value)| value.as_str());
            failures.extend(self.compare_text(&format!("header `{}`", name.value), expected, found));
        }
        if let Some(expected) = &parts.json {
            match body.as_deref().and_then(|body| serde_json::from_str(body).ok()) {
                Some(sent_json) => failures.extend(check_json(expected, &sent_json, self.documents)),
                None => failures.push(TestFailure::new(expected.location, "no JSON was sent")),
            }
        }
        failures
    }

    fn compare_argv(&self, parts: &SentParts, sent: &SentAction) -> Vec<TestFailure> {
        let Some(expected) = &parts.argv else { return Vec::new() };
        let Some(found) = &sent.argv else {
            return vec![TestFailure::new(expected.location, "a request was sent, and no program run")];
        };
        let wanted: Vec<&str> = expected.value.iter().map(|word| word.value.as_str()).collect();
        let shown: Vec<String> = found.iter().map(|word| self.redactor.redact_text(word).into_owned()).collect();
        if wanted == *found || wanted == shown {
            return Vec::new();
        }
        let failure = TestFailure::new(expected.location, "another program was run");
        vec![failure.difference(&wanted.join("\n"), &shown.join("\n"))]
    }

    /// Compares a part that was sent; a secret may be written as its placeholder.
    fn compare_text(&self, key: &str, expected: &Spanned<String>, sent: Option<&str>) -> Option<TestFailure> {
        let Some(sent) = sent else { return Some(TestFailure::new(expected.location, format!("no {key} was sent"))) };
        let shown = self.redactor.redact_text(sent);
        let holds = expected.value == sent || expected.value == *shown;
        (!holds).then(|| {
            TestFailure::new(expected.location, format!("another {key} was sent")).difference(&expected.value, &shown)
        })
    }
}

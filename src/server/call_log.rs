//! Logs each call: its arguments at `debug`, and at its end how it ended, after how long and why.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use tracing::Level;

use crate::catalog::{
    CallTraits,
    listing::Object,
    result::call_result::{PromptResult, ResourceResult, ResultBlock, ToolResult},
    result::refusal::{CallError, RefusalKind},
};
use crate::diagnostic::truncate;
use crate::redact::Redactor;
use crate::telemetry::ClientName;

use super::request::McpRequest;

/// How much of a reason is logged.
const MAX_REASON_CHARS: usize = 300;
/// How much of a name or URI.
const MAX_NAME_CHARS: usize = 256;
/// How much of what a client says of itself.
const MAX_CLIENT_CHARS: usize = 128;
/// How much of the arguments.
const MAX_ARGUMENTS_CHARS: usize = 2000;

/// What a request calls.
#[derive(Clone, Copy)]
pub(crate) struct CallTarget<'a> {
    pub(crate) method: &'static str,
    /// The tool or prompt, or the URI.
    pub(crate) name: &'a str,
    pub(crate) traits: CallTraits,
}

/// A call that is logged when it ends; if it is dropped before, as cancelled.
pub(crate) struct CallLog<'a> {
    target: CallTarget<'a>,
    sender: CallSender<'a>,
    /// `None` if calls are not logged, or this one has been.
    started: Option<Instant>,
}

/// Who sent a call, as its line says.
pub(crate) enum CallSender<'a> {
    Request(&'a McpRequest),
    /// The request is answered already.
    Task(&'a Redactor, SentBy),
}

/// Who sent a request.
#[derive(Clone, Default)]
pub(crate) struct SentBy {
    client: Option<String>,
    session: Option<Arc<str>>,
    address: Option<IpAddr>,
}

impl SentBy {
    pub(crate) fn new(request: &McpRequest) -> SentBy {
        let label = |client: ClientName| {
            let label = format!("{} {}", client.name, client.version);
            truncate(&request.redactor.redact_text(label.trim()), MAX_CLIENT_CHARS).into_owned()
        };
        let client = request.client_name().map(label);
        SentBy { client, session: request.session.id.clone(), address: request.address }
    }
}

impl CallSender<'_> {
    /// Hides the secrets of the catalog, and those that came with the request.
    fn redactor(&self) -> &Redactor {
        match self {
            CallSender::Request(request) => &request.redactor,
            CallSender::Task(redactor, _) => redactor,
        }
    }

    fn sent_by(&self) -> SentBy {
        match self {
            CallSender::Request(request) => SentBy::new(request),
            CallSender::Task(_, sent_by) => sent_by.clone(),
        }
    }
}

/// An answer that may report a failure.
pub(crate) trait LoggedResult {
    /// Why the call failed.
    fn failure(&self) -> Option<&str> {
        None
    }
}

impl LoggedResult for ToolResult {
    fn failure(&self) -> Option<&str> {
        let text = self.content.iter().find_map(|block| match block {
            ResultBlock::Text(block) => Some(block.text.as_str()),
            _ => None,
        });
        self.is_error.then(|| text.unwrap_or_default())
    }
}

impl LoggedResult for PromptResult {}
impl LoggedResult for ResourceResult {}

impl<'a> CallLog<'a> {
    pub(crate) fn start(target: CallTarget<'a>, arguments: Option<&Object>, sender: CallSender<'a>) -> CallLog<'a> {
        let is_logged = tracing::enabled!(target: "folio::call", Level::WARN);
        let log = CallLog { target, sender, started: is_logged.then(Instant::now) };
        if tracing::enabled!(target: "folio::call", Level::DEBUG) {
            log.write_arguments(arguments);
        }
        log
    }

    /// What is called, without secrets: its client names it.
    fn name(&self) -> String {
        // A secret is found before the text is cut.
        truncate(&self.sender.redactor().redact_text(self.target.name), MAX_NAME_CHARS).into_owned()
    }

    /// The call as on the command line: `call list-issues`.
    fn command(&self, name: &str) -> String {
        let verb = match self.target.method {
            "tools/call" => "call",
            "prompts/get" => "get",
            _ => "read",
        };
        format!("{verb} {name}")
    }

    fn write_arguments(&self, arguments: Option<&Object>) {
        let json = arguments.and_then(|arguments| serde_json::to_string(arguments).ok());
        let redacted = self.sender.redactor().redact_text(json.as_deref().unwrap_or("{}")).into_owned();
        let (call, arguments) = (self.command(&self.name()), truncate(&redacted, MAX_ARGUMENTS_CHARS));
        tracing::debug!(target: "folio::call", "{call} with {arguments}");
    }

    /// Logs how it ended.
    pub(crate) fn finish<T: LoggedResult>(mut self, outcome: &Result<T, CallError>) {
        let Some(started) = self.started.take() else { return };
        let (outcome, reason) = match outcome {
            Ok(answer) => answer.failure().map_or(("ok", None), |reason| ("failed", Some(reason))),
            Err(CallError::InputRequired(_)) => ("input required", None),
            Err(CallError::Detached(_)) => ("continues as a task", None),
            Err(CallError::Refused(refusal)) if refusal.kind == RefusalKind::Cancelled => ("cancelled", None),
            Err(CallError::Refused(refusal)) => ("failed", Some(&*refusal.message)),
        };
        self.write(outcome, reason, started);
    }

    /// Logs that the call failed without an outcome.
    pub(crate) fn fail(mut self, reason: &str) {
        if let Some(started) = self.started.take() {
            self.write("failed", Some(reason), started);
        }
    }

    /// A call that did not fail has a line if it acts, where that is logged.
    fn write(&self, outcome: &str, reason: Option<&str>, started: Instant) {
        let logs_success = || self.target.traits.runs_actions && tracing::enabled!(target: "folio::call", Level::INFO);
        if reason.is_none() && !logs_success() {
            return;
        }
        let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let reason = reason.map(|reason| first_line(&self.sender.redactor().redact_text(reason)));
        let reason = reason.as_deref();
        let suffix = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let (method, name) = (self.target.method, &*self.name());
        let message = format!("{}: {outcome}, {elapsed_ms} ms{suffix}", self.command(name));
        let SentBy { client, session, address } = self.sender.sent_by();
        let (client, session) = (client.as_deref(), session.as_deref());
        let address = address.map(|address| address.to_string());
        let address = address.as_deref();
        if reason.is_some() {
            tracing::warn!(
                target: "folio::call", method, name, outcome, elapsed_ms, reason, client, session, address, "{message}"
            );
        } else {
            tracing::info!(
                target: "folio::call", method, name, outcome, elapsed_ms, reason, client, session, address, "{message}"
            );
        }
    }
}

impl Drop for CallLog<'_> {
    fn drop(&mut self) {
        if let Some(started) = self.started.take() {
            self.write("cancelled", None, started);
        }
    }
}

/// The first line of a reason, with the second if it only introduces that.
fn first_line(reason: &str) -> String {
    let mut lines = reason.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let second = lines.next().filter(|_| first.ends_with(':'));
    let whole = second.map_or_else(|| first.to_owned(), |second| format!("{first} {second}"));
    truncate(&whole, MAX_REASON_CHARS).into_owned()
}

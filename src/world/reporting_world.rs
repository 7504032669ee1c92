//! A [`World`] that reports what it does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use super::describe::{
    program_details, program_end, program_line, request_details, request_line, response_details, response_end, url_text,
};
use super::{
    AccessToken, HttpRequest, HttpResponse, ProgramCommand, ProgramOutput, RedactingWorld, TokenRequest, World,
    WorldError,
};
use crate::redact::Redactor;

/// The beginning or the end of an action, without secrets.
#[derive(Debug, Clone, Copy)]
pub enum ActionReport<'a> {
    Start {
        kind: ReportedAction,
        /// In one line.
        action: &'a str,
        /// The rest, indented, in whole lines.
        details: &'a str,
    },
    End {
        /// In one line.
        action: &'a str,
        /// Its status and sizes, or its error.
        end: &'a str,
        /// The response of a request, indented, in whole lines.
        details: &'a str,
        elapsed: Duration,
        /// Whether it had no outcome, or one that says that it failed.
        failed: bool,
    },
}

/// What acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportedAction {
    Program,
    /// A request, or one for an access token.
    Request,
    /// A change of a file, whose end is not reported.
    FileChange,
}

impl ActionReport<'_> {
    /// The action and its end in one line; `None` at its beginning.
    pub fn to_line(self) -> Option<String> {
        match self {
            ActionReport::Start { .. } => None,
            ActionReport::End { action, end, elapsed, .. } => {
                Some(format!("{action}: {end}, {} ms", elapsed.as_millis()))
            }
        }
    }

    /// All of it for a person who follows the call.
    pub fn to_text(self) -> String {
        match self {
            ActionReport::Start { action, details, .. } => format!("{action}\n{details}"),
            ActionReport::End { end, details, elapsed, .. } => {
                format!("  -> {end}, {} ms\n{details}", elapsed.as_millis())
            }
        }
    }
}

/// Takes reports.
pub type ReportSink = Arc<dyn Fn(ActionReport<'_>) + Send + Sync>;

/// Reports the actions of another world.
pub struct ReportingWorld {
    redactor: Arc<Redactor>,
    world: Arc<dyn World>,
    sink: ReportSink,
}

impl ReportingWorld {
    /// Wraps a world, whose output is also redacted.
    #[must_use]
    pub fn wrap(redactor: &Arc<Redactor>, world: &Arc<dyn World>, sink: ReportSink) -> Arc<dyn World> {
        let world = RedactingWorld::wrap(redactor, world);
        Arc::new(ReportingWorld { redactor: redactor.clone(), world, sink })
    }

    async fn report<T>(
        &self,
        kind: ReportedAction,
        started: ActionText,
        work: impl Future<Output = Result<T, WorldError>>,
        describe: impl FnOnce(&T) -> ActionText,
    ) -> Result<T, WorldError> {
        let action = &started.line;
        (self.sink)(ActionReport::Start { kind, action, details: &started.details });
        let start = Instant::now();
        let outcome = work.await;
        let ended = match &outcome {
            Ok(outcome) => describe(outcome),
            Err(error) => {
                let line = super::describe::line(&error.to_line(), &self.redactor);
                ActionText { failed: true, ..line.into() }
            }
        };
        let ActionText { line: end, details, failed } = &ended;
        (self.sink)(ActionReport::End { action, end, details, elapsed: start.elapsed(), failed: *failed });
        outcome
    }
}

/// An action, or its end, in words.
struct ActionText {
    line: String,
    /// The rest, indented, in whole lines.
    details: String,
    failed: bool,
}

impl From<String> for ActionText {
    fn from(line: String) -> ActionText {
        ActionText { line, details: String::new(), failed: false }
    }
}

impl World for ReportingWorld {
    fn inner(&self) -> Option<&dyn World> {
        Some(&*self.world)
    }

    fn run_program(&self, command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
        let started = ActionText {
            line: format!("run {}", program_line(&command, &self.redactor)),
            details: program_details(&command, &self.redactor),
            failed: false,
        };
        let describe =
            |output: &ProgramOutput| ActionText { failed: output.exit_code != Some(0), ..program_end(output).into() };
        Box::pin(self.report(ReportedAction::Program, started, self.world.run_program(command), describe))
    }

    fn approve_file_change(&self, change: &str) -> Result<(), WorldError> {
        let action = super::describe::line(change, &self.redactor);
        (self.sink)(ActionReport::Start { kind: ReportedAction::FileChange, action: &action, details: "" });
        self.world.approve_file_change(change)
    }

    fn send_request(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        let started = ActionText {
            line: format!("send {}", request_line(&request, &self.redactor)),
            details: request_details(&request, &self.redactor),
            failed: false,
        };
        let describe = |response: &HttpResponse| ActionText {
            line: response_end(response),
            details: response_details(response, &self.redactor),
            failed: response.status >= 400,
        };
        Box::pin(self.report(ReportedAction::Request, started, self.world.send_request(request), describe))
    }

    fn access_token<'a>(
        &'a self,
        request: TokenRequest,
        rejected: Option<&'a AccessToken>,
    ) -> BoxFuture<'a, Result<AccessToken, WorldError>> {
        let action = format!("get access token from {}", url_text(&request.url, &request.limits, &self.redactor));
        let work = self.world.access_token(request, rejected);
        Box::pin(self.report(ReportedAction::Request, action.into(), work, |token| {
            let end = if token.is_cached { "ok, fetched earlier" } else { "ok" };
            end.to_owned().into()
        }))
    }
}

//! A [`World`] in which nothing happens: it describes the first action, and cancels the call.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::describe::{program_details, program_line, request_details, request_line, url_text};
use super::{AccessToken, HttpRequest, HttpResponse, ProgramCommand, ProgramOutput, TokenRequest, World, WorldError};
use crate::redact::Redactor;

/// The first action of a call, in lines.
#[derive(Default)]
struct FirstAction {
    /// The request for the access token that it needs, or nothing.
    token_request: String,
    action: Option<String>,
}

/// Describes the first action of a call.
pub struct DryRunWorld {
    redactor: Arc<Redactor>,
    first: Mutex<FirstAction>,
}

impl DryRunWorld {
    /// Creates a world that shows no secret of `redactor`.
    pub fn new(redactor: Arc<Redactor>) -> DryRunWorld {
        DryRunWorld { redactor, first: Mutex::default() }
    }

    /// The first action, in lines; `None` if there was none.
    pub fn first_action(&self) -> Option<String> {
        let first = self.first.lock();
        first.action.as_ref().map(|action| format!("{}{action}", first.token_request))
    }

    fn record(&self, action: String) -> WorldError {
        self.first.lock().action.get_or_insert(action);
        WorldError::Cancelled
    }
}

impl World for DryRunWorld {
    fn run_program(&self, command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
        let (line, details) = (program_line(&command, &self.redactor), program_details(&command, &self.redactor));
        let error = self.record(format!("run {line}\n{details}"));
        Box::pin(std::future::ready(Err(error)))
    }

    fn send_request(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        let (line, details) = (request_line(&request, &self.redactor), request_details(&request, &self.redactor));
        let error = self.record(format!("send {line}\n{details}"));
        Box::pin(std::future::ready(Err(error)))
    }

    fn approve_file_change(&self, change: &str) -> Result<(), WorldError> {
        Err(self.record(format!("{}\n", super::describe::line(change, &self.redactor))))
    }

    fn access_token<'a>(
        &'a self,
        request: TokenRequest,
        _: Option<&'a AccessToken>,
    ) -> BoxFuture<'a, Result<AccessToken, WorldError>> {
        let mut first = self.first.lock();
        if first.action.is_none() {
            first.token_request =
                format!("get access token from {}\n", url_text(&request.url, &request.limits, &self.redactor));
        }
        Box::pin(std::future::ready(Ok(AccessToken::placeholder(&request))))
    }
}

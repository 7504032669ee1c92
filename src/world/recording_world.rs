//! A [`World`] that keeps how the actions of another one end, so that mocks can stand in for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::describe::{line, program_line, request_line};
use super::{
    CapturedBytes, HttpHeader, HttpRequest, HttpResponse, MockReply, MockResponse, ProgramCommand, ProgramOutput,
    ReportedAction, World, WorldError,
};
use crate::redact::{Redactor, SECRET_PLACEHOLDER, mask_credentials_in_urls};

/// Headers of the connection, or of the moment: no reply depends on them.
const NEVER_RECORDED_HEADERS: [&str; 14] = [
    "age",
    "alt-svc",
    "cf-ray",
    "connection",
    "content-encoding",
    "content-length",
    "date",
    "keep-alive",
    "server",
    "set-cookie",
    "strict-transport-security",
    "transfer-encoding",
    "vary",
    "via",
];

#[derive(Debug, Clone, PartialEq)]
pub struct RecordedAction {
    pub kind: ReportedAction,
    /// The name of a mock of it: the id of its step, or else its kind.
    pub mock: String,
    /// What it was, in one line without secrets.
    pub action: String,
    /// How it ended, with all secrets; or why no mock stands in for it.
    pub reply: Result<MockReply, String>,
}

/// Keeps the actions of another world.
pub struct RecordingWorld {
    redactor: Arc<Redactor>,
    world: Arc<dyn World>,
    actions: Mutex<Vec<RecordedAction>>,
    /// How many bytes of replies may still be kept.
    bytes_left: AtomicUsize,
}

impl RecordingWorld {
    /// Wraps a world. Secrets of `redactor` are in no description.
    pub fn new(redactor: Arc<Redactor>, world: Arc<dyn World>) -> RecordingWorld {
        RecordingWorld { redactor, world, actions: Mutex::default(), bytes_left: AtomicUsize::new(usize::MAX) }
    }

    /// The same with a limit of how many bytes of replies are kept.
    #[must_use]
    pub fn with_limit(self, bytes: usize) -> RecordingWorld {
        RecordingWorld { bytes_left: AtomicUsize::new(bytes), ..self }
    }

    /// What happened, in the order in which it began.
    pub fn actions(&self) -> Vec<RecordedAction> {
        self.actions.lock().clone()
    }

    /// Keeps the place of an action that begins.
    fn begin(&self, kind: ReportedAction, mock: &str, action: String) -> usize {
        let mut actions = self.actions.lock();
        let reply = Err("it did not end".to_owned());
        actions.push(RecordedAction { kind, mock: mock.to_owned(), action, reply });
        actions.len() - 1
    }

    fn end(&self, number: usize, reply: Result<MockReply, String>) {
        let size = reply.as_ref().map_or(0, reply_size);
        let left = |left: usize| left.checked_sub(size);
        let reply = match self.bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left) {
            Ok(_) => reply,
            Err(_) => Err("more was answered in the call than is kept".to_owned()),
        };
        if let Some(action) = self.actions.lock().get_mut(number) {
            action.reply = reply;
        }
    }
}

impl World for RecordingWorld {
    fn inner(&self) -> Option<&dyn World> {
        Some(&*self.world)
    }

    fn run_program(&self, command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
        let key = if command.is_script { "script" } else { "exec" };
        let action = format!("program `{}`", program_line(&command, &self.redactor));
        let number = self.begin(ReportedAction::Program, command.step.as_deref().unwrap_or(key), action);
        Box::pin(async move {
            let ended = self.world.run_program(command).await;
            self.end(number, ended.as_ref().map_err(WorldError::to_line).and_then(program_reply));
            ended
        })
    }

    fn send_request(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        let action = format!("request `{}`", request_line(&request, &self.redactor));
        let number = self.begin(ReportedAction::Request, request.step.as_deref().unwrap_or("http"), action);
        Box::pin(async move {
            let response = self.world.send_request(request).await;
            self.end(number, response.as_ref().map_err(WorldError::to_line).and_then(response_reply));
            response
        })
    }

    fn approve_file_change(&self, change: &str) -> Result<(), WorldError> {
        let action = format!("file action `{}`", line(change, &self.redactor));
        let number = self.begin(ReportedAction::FileChange, "file", action);
        self.end(number, Err("changes of files cannot be recorded".to_owned()));
        self.world.approve_file_change(change)
    }
}

fn program_reply(output: &ProgramOutput) -> Result<MockReply, String> {
    if let Some(signal) = output.signal {
        return Err(format!("it was killed by signal {signal}, which a mock cannot express"));
    }
    check_whole(&output.stdout)?;
    check_whole(&output.stderr)?;
    Ok(MockReply::Program(output.clone()))
}

fn response_reply(response: &HttpResponse) -> Result<MockReply, String> {
    check_whole(&response.body)?;
    let is_cached = |name: &str| !NEVER_RECORDED_HEADERS.iter().any(|ignored| name.eq_ignore_ascii_case(ignored));
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, value) in response.headers.iter().filter(|(name, _)| is_cached(name)) {
        let is_credential = HttpHeader::new(name, value).is_credential();
        let value = if is_credential { SECRET_PLACEHOLDER.to_owned() } else { mask_credentials_in_urls(value) };
        match headers.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => known.extend([", ", &value]),
            None => headers.push((name.clone(), value)),
        }
    }
    Ok(MockReply::Response(MockResponse { status: response.status, headers, body: response.body.bytes.clone() }))
}

fn reply_size(reply: &MockReply) -> usize {
    match reply {
        MockReply::Program(output) => output.stdout.bytes.len() + output.stderr.bytes.len(),
        MockReply::Response(response) => response.body.len(),
    }
}

fn check_whole(bytes: &CapturedBytes) -> Result<(), String> {
    if bytes.missing_bytes == 0 { Ok(()) } else { Err("what it answers is longer than `maxOutput`".to_owned()) }
}

//! A [`World`] of a test: mocks stand in for programs and requests, and what was sent is kept.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};

use super::describe::{line, program_line, request_line};
use super::{
    AccessToken, CapturedBytes, HttpRequest, HttpResponse, ProgramCommand, ProgramOutput, RequestBody, ResponseSource,
    TokenRequest, World, WorldError, random_token,
};
use crate::redact::Redactor;

/// How large a file may be that is kept as the body of a request.
const MAX_KEPT_BODY_BYTES: u64 = 16 << 20;

#[derive(Debug, Clone, PartialEq)]
pub enum MockReply {
    /// The end of a program.
    Program(ProgramOutput),
    /// The response to a request.
    Response(MockResponse),
}

/// The response to a request, whatever its URL.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MockResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// The answers of one mock.
#[derive(Debug, Default)]
pub struct MockReplies {
    replies: Vec<MockReply>,
    /// Whether its one answer serves again and again.
    repeats: bool,
    used: AtomicUsize,
}

impl MockReplies {
    /// The same answer each time.
    pub fn repeating(reply: MockReply) -> MockReplies {
        MockReplies { replies: vec![reply], repeats: true, used: AtomicUsize::new(0) }
    }

    /// One answer after the other.
    pub fn in_order(replies: Vec<MockReply>) -> MockReplies {
        MockReplies { replies, repeats: false, used: AtomicUsize::new(0) }
    }

    /// How many answers were never given.
    fn remaining(&self) -> usize {
        self.replies.len().saturating_sub(self.used.load(Ordering::Acquire))
    }

    fn next(&self) -> Option<&MockReply> {
        let used = self.used.fetch_add(1, Ordering::AcqRel);
        self.replies.get(if self.repeats { 0 } else { used })
    }
}

/// A folder that stands in for another one, and is removed with this.
#[derive(Debug)]
pub struct MockFolder {
    path: PathBuf,
    is_used: AtomicBool,
}

impl MockFolder {
    /// Makes one with these files.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create<'f>(files: impl Iterator<Item = (&'f str, String)>) -> io::Result<MockFolder> {
        let token = random_token().ok_or_else(|| io::Error::other("the system has no randomness"))?;
        let path = std::env::temp_dir().join(format!("folio-test-{token}"));
        DirBuilder::new().mode(0o700).create(&path)?;
        let folder = MockFolder { path, is_used: AtomicBool::new(false) };
        for (name, text) in files {
            let path = folder.path.join(name);
            fs::create_dir_all(path.parent().unwrap_or(&folder.path))?;
            fs::write(&path, text)?;
            // The same in every run.
            File::options().write(true).open(&path)?.set_modified(SystemTime::UNIX_EPOCH)?;
        }
        Ok(folder)
    }
}

impl Drop for MockFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A program that was run or a request that was sent, with all that it contains.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SentAction {
    /// The program and its arguments.
    pub argv: Option<Vec<String>>,
    /// The stdin of the program.
    pub stdin: Option<String>,
    /// The method of the request.
    pub method: Option<String>,
    pub url: Option<String>,
    pub headers: Vec<(String, String)>,
    /// Its body; that of `multipart/form-data` is not kept.
    pub body: Option<Vec<u8>>,
}

impl SentAction {
    fn from_program(command: &ProgramCommand) -> SentAction {
        let words = command.args.iter().map(|word| String::from_utf8_lossy(word.as_bytes()).into_owned());
        let stdin = command.stdin.as_ref().map(|stdin| String::from_utf8_lossy(stdin).into_owned());
        let argv = std::iter::once(command.program.clone()).chain(words).collect();
        SentAction { argv: Some(argv), stdin, ..SentAction::default() }
    }

    fn from_request(request: &HttpRequest) -> SentAction {
        let body = match &request.body {
            Some(RequestBody::Bytes(bytes)) => Some(bytes.clone()),
            Some(RequestBody::File { folder, path }) => folder.read(path, MAX_KEPT_BODY_BYTES).ok(),
            Some(RequestBody::Multipart(_)) | None => None,
        };
        let headers = request.headers.iter().map(|header| (header.name.clone(), header.value.clone()));
        SentAction {
            method: Some(request.method.clone()),
            url: Some(request.url.to_string()),
            headers: headers.collect(),
            body,
            ..SentAction::default()
        }
    }
}

/// Answers actions with mocks, by the id of their step or else by their kind. What has no mock fails, unless there is a
/// world for it.
pub struct MockWorld {
    redactor: Arc<Redactor>,
    mocks: BTreeMap<String, MockReplies>,
    folders: BTreeMap<String, MockFolder>,
    /// Where actions without a mock happen.
    real: Option<Arc<dyn World>>,
    log: Mutex<MockLog>,
}

/// What happened in a test.
#[derive(Debug, Default)]
struct MockLog {
    sent: Vec<SentAction>,
    not_mocked: Vec<String>,
    hints: Vec<String>,
}

impl MockWorld {
    /// A world of these mocks, which shows no secret of `redactor`.
    pub fn new(redactor: Arc<Redactor>, mocks: BTreeMap<String, MockReplies>) -> MockWorld {
        MockWorld { redactor, mocks, folders: BTreeMap::new(), real: None, log: Mutex::default() }
    }

    /// Lets `file` work in these folders.
    #[must_use]
    pub fn with_folders(self, folders: BTreeMap<String, MockFolder>) -> MockWorld {
        MockWorld { folders, ..self }
    }

    /// Lets actions without a mock happen in `real`.
    #[must_use]
    pub fn with_real(self, real: Arc<dyn World>) -> MockWorld {
        MockWorld { real: Some(real), ..self }
    }

    /// What was run and sent, in order.
    pub fn sent(&self) -> Vec<SentAction> {
        self.log().sent.clone()
    }

    /// What would have acted on the world, each in one line.
    pub fn not_mocked(&self) -> Vec<String> {
        self.log().not_mocked.clone()
    }

    /// What may be wrong with the manifest, as the call has shown.
    pub fn hints(&self) -> Vec<String> {
        self.log().hints.clone()
    }

    /// The mocks with answers that were never given, and how many those are.
    pub fn unused_mocks(&self) -> BTreeMap<&str, usize> {
        let left = self.mocks.iter().map(|(name, replies)| (name.as_str(), replies.remaining()));
        let unused = self.folders.iter().filter(|(_, folder)| !folder.is_used.load(Ordering::Acquire));
        left.filter(|(_, left)| *left > 0).chain(unused.map(|(name, _)| (name.as_str(), 1))).collect()
    }

    fn log(&self) -> MutexGuard<'_, MockLog> {
        self.log.lock()
    }

    /// The next answer of the mock of a step, or else of its kind; `None` where there is no mock.
    fn reply(&self, step: Option<&str>, kind: &str) -> Option<Option<&MockReply>> {
        let mock = step.and_then(|step| self.mocks.get(step)).or_else(|| self.mocks.get(kind))?;
        Some(mock.next())
    }

    fn refuse(&self, action: String) -> WorldError {
        self.log().not_mocked.push(action.clone());
        WorldError::NotMocked { action }
    }
}

impl World for MockWorld {
    fn run_program(&self, command: ProgramCommand) -> BoxFuture<'_, Result<ProgramOutput, WorldError>> {
        self.log().sent.push(SentAction::from_program(&command));
        let kind = if command.is_script { "script" } else { "exec" };
        let reply = self.reply(command.step.as_deref(), kind);
        if let (None, Some(real)) = (reply, &self.real) {
            return real.run_program(command);
        }
        let ended = match reply {
            Some(Some(MockReply::Program(output))) => Ok(ProgramOutput {
                stdout: truncate_bytes(&output.stdout.bytes, command.max_output),
                stderr: truncate_bytes(&output.stderr.bytes, command.max_output),
                ..*output
            }),
            _ => Err(self.refuse(format!("program `{}`", program_line(&command, &self.redactor)))),
        };
        if let (Ok(output), Some(latest_line)) = (&ended, &command.latest_line) {
            latest_line.push(&output.stdout.bytes);
        }
        Box::pin(std::future::ready(ended))
    }

    fn send_request(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        self.log().sent.push(SentAction::from_request(&request));
        let reply = self.reply(request.step.as_deref(), "http");
        if let (None, Some(real)) = (reply, &self.real) {
            return real.send_request(request);
        }
        let answer = match reply {
            Some(Some(MockReply::Response(response))) => Ok(response.to_http(request)),
            _ => Err(self.refuse(format!("request `{}`", request_line(&request, &self.redactor)))),
        };
        Box::pin(std::future::ready(answer))
    }

    fn access_token<'a>(
        &'a self,
        request: TokenRequest,
        rejected: Option<&'a AccessToken>,
    ) -> BoxFuture<'a, Result<AccessToken, WorldError>> {
        match &self.real {
            Some(real) => real.access_token(request, rejected),
            None => Box::pin(std::future::ready(Ok(AccessToken::placeholder(&request)))),
        }
    }

    fn approve_file_change(&self, change: &str) -> Result<(), WorldError> {
        match &self.real {
            Some(real) => real.approve_file_change(change),
            None => Err(self.refuse(format!("file action `{}`", line(change, &self.redactor)))),
        }
    }

    fn mocked_folder(&self, step: Option<&str>) -> Option<PathBuf> {
        let folder = step.and_then(|step| self.folders.get(step)).or_else(|| self.folders.get("file"))?;
        folder.is_used.store(true, Ordering::Release);
        Some(folder.path.clone())
    }

    fn hint_to_author(&self, hint: &str) {
        self.log().hints.push(hint.to_owned());
    }

    fn has_real_time(&self) -> bool {
        self.real.is_some()
    }

    fn needs_credentials(&self) -> bool {
        self.real.is_some()
    }
}

/// So many bytes, and how many are missing.
fn truncate_bytes(bytes: &[u8], limit: u64) -> CapturedBytes {
    let kept = bytes.len().min(usize::try_from(limit).unwrap_or(usize::MAX));
    let (kept, missing) = bytes.split_at_checked(kept).unwrap_or((bytes, &[]));
    CapturedBytes::new(kept.to_vec(), missing.len() as u64)
}

impl MockResponse {
    fn to_http(&self, request: HttpRequest) -> HttpResponse {
        let headers = self.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        HttpResponse {
            status: self.status,
            headers: headers.collect(),
            body: truncate_bytes(&self.body, request.read_limit()),
            url: request.url,
            source: ResponseSource::Server,
        }
    }
}

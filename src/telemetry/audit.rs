//! The audit file: one line of JSON for each request.

use std::borrow::Cow;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::audit_file::{AuditFile, END_TIMEOUT};
use super::observer::{
    ClientName, HttpRefusal, Outcome, RecordParts, RequestIdRef, RequestObserver, RequestRecord, StartedRecord,
};
use crate::budget::block_if_large_with_secrets;
use crate::catalog::AuditSettings;
use crate::diagnostic::truncate;
use crate::identity::Identity;
use crate::manifest::AuditLevel;
use crate::redact::{Redactor, Redactors};

/// How much of the name of a client is written.
const MAX_NAME_CHARS: usize = 256;
/// How long most lines are.
const LINE_BYTES: usize = 512;

/// Writes a line for each request.
pub struct Audit {
    file: AuditFile,
    level: AuditLevel,
    is_required: bool,
    redactors: Redactors,
}

/// A line.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct AuditLine<'a> {
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<ClientJson<'a, RequestIdRef<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Cow<'a, str>>,
    caller: Option<AuditCaller<'a>>,
    client: Option<AuditClient<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<Cow<'a, str>>,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    missing_scopes: &'a [String],
    ms: f64,
    bytes_in: u64,
    bytes_out: u64,
    manifest: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<ClientJson<'a, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<ClientJson<'a, RawValue>>,
}

/// How a client names itself, not at any length.
#[derive(Serialize)]
struct AuditClient<'a> {
    name: Cow<'a, str>,
    version: Cow<'a, str>,
}

impl<'a> AuditClient<'a> {
    fn new(client: &'a ClientName, redactor: Option<&Redactor>) -> AuditClient<'a> {
        let shown = |text: &'a str| {
            let text = truncate(text, MAX_NAME_CHARS);
            redactor.map(|redactor| redactor.redact_text(&text).into_owned()).map_or(text, Cow::Owned)
        };
        AuditClient { name: shown(&client.name), version: shown(&client.version) }
    }
}

/// Who sent a request.
#[derive(Serialize)]
struct AuditCaller<'a> {
    issuer: &'a str,
    id: &'a str,
}

impl<'a> AuditCaller<'a> {
    fn new(identity: &'a Identity) -> AuditCaller<'a> {
        AuditCaller { issuer: &identity.issuer, id: &identity.id }
    }
}

impl Audit {
    /// Opens the file, and begins to write.
    ///
    /// # Errors
    /// It cannot be written to, where it must be.
    pub fn start(settings: &AuditSettings, redactors: &Redactors) -> std::io::Result<Audit> {
        let AuditSettings { file, level, required } = settings;
        let file = AuditFile::start(PathBuf::clone(file), *required)?;
        Ok(Audit { file, level: *level, is_required: *required, redactors: redactors.clone() })
    }

    /// Writes what waits. This blocks for a bounded time.
    pub fn flush(&self) {
        self.file.flush(END_TIMEOUT);
    }

    /// How many lines were lost.
    pub fn lost(&self) -> u64 {
        self.file.lost()
    }

    /// A line of JSON without secrets of the server.
    fn encode(&self, line: &AuditLine<'_>) -> Vec<u8> {
        let mut json = Vec::with_capacity(LINE_BYTES);
        let _ = serde_json::to_writer(&mut json, line);
        if !self.redactors.is_empty() {
            json = block_if_large_with_secrets(json.len() as u64, || self.redactors.redact_message(json));
        }
        json.push(b'\n');
        json
    }

    fn request_line(&self, record: &RequestRecord<'_>, outcome: &str) -> Vec<u8> {
        let level = self.level;
        let sent = record.params.filter(|_| level != AuditLevel::Metadata);
        let arguments = sent.and_then(|params| ["arguments", "argument"].iter().find_map(|key| params.get(key)));
        let redactor = record.redactor;
        // A name that the manifest has is no secret of a client, whatever it sends.
        let redacted = |text: &'_ str| {
            let redactor = redactor.filter(|_| !record.is_listed);
            redactor.map(|redactor| redactor.redact_text(text).into_owned())
        };
        let arguments = arguments.map(|value| ClientJson { value, redactor });
        let result = record.response.filter(|_| level == AuditLevel::All);
        let line = AuditLine {
            time: now(),
            id: Some(ClientJson { value: &record.id, redactor }),
            trace: record.trace_id(),
            caller: record.identity.map(AuditCaller::new),
            client: record.client.map(|client| AuditClient::new(client, redactor)),
            address: record.address,
            session: record.session,
            method: record.method.unwrap_or("unknown"),
            entry: record.entry.map(|entry| redacted(entry).map_or(entry.into(), Cow::Owned)),
            outcome,
            code: record.error_code,
            missing_scopes: record.missing_scopes,
            ms: milliseconds(record.elapsed),
            bytes_in: record.bytes_in,
            bytes_out: record.bytes_out,
            manifest: record.manifest,
            arguments,
            result: result.map(|value| ClientJson { value, redactor }),
            ..AuditLine::default()
        };
        self.encode(&line)
    }
}

impl RequestObserver for Audit {
    fn parts(&self) -> RecordParts {
        let level = self.level;
        RecordParts {
            client: true,
            params: level != AuditLevel::Metadata,
            response: level == AuditLevel::All,
            start: self.is_required,
            ..RecordParts::default()
        }
    }

    fn on_request_start(&self, record: &RequestRecord<'_>) -> StartedRecord {
        let line = self.is_required.then(|| self.request_line(record, "started"))?;
        Some(self.file.write_and_confirm(&line))
    }

    fn on_request_end(&self, record: &RequestRecord<'_>) {
        let outcome = match record.outcome {
            Outcome::InputRequired => "inputRequired",
            other => other.as_str(),
        };
        self.file.write(&self.request_line(record, outcome));
    }

    fn on_http_refusal(&self, refusal: &HttpRefusal<'_>) {
        let line = self.encode(&AuditLine {
            time: now(),
            caller: refusal.identity.map(AuditCaller::new),
            address: refusal.address,
            session: refusal.session,
            method: refusal.http_method,
            entry: Some(refusal.path.into()),
            outcome: Outcome::Refused.as_str(),
            status: Some(refusal.status),
            reason: Some(refusal.reason.as_str()),
            detail: refusal.detail,
            missing_scopes: refusal.missing_scopes,
            ms: milliseconds(refusal.elapsed),
            manifest: refusal.manifest,
            ..AuditLine::default()
        });
        self.file.write(&line);
    }
}

/// What a client has a say in, without the secrets that it sent beside its request. What it has none in is written as it is: nobody
/// chooses what is masked there.
struct ClientJson<'a, T: ?Sized> {
    value: &'a T,
    redactor: Option<&'a Redactor>,
}

impl<T: Serialize + ?Sized> Serialize for ClientJson<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(redactor) = self.redactor else { return self.value.serialize(serializer) };
        let json = serde_json::to_string(self.value).map_err(S::Error::custom)?;
        let redacted = block_if_large_with_secrets(json.len() as u64, || {
            let mut value: Value = serde_json::from_str(&json)?;
            redactor.redact_value(&mut value);
            serde_json::value::to_raw_value(&value)
        });
        redacted.map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// The time in RFC 3339, in UTC.
fn now() -> String {
    format!("{:.3}", Timestamp::now())
}

/// To a microsecond: most requests take less than a millisecond.
fn milliseconds(elapsed: Duration) -> f64 {
    u32::try_from(elapsed.as_micros())
        .map_or_else(|_| elapsed.as_secs_f64() * 1000.0, |micros| f64::from(micros) / 1000.0)
}

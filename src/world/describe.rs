//! Describes programs and requests to people, without secrets.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use url::Url;

use super::http::ResponseSource;
use super::shell_quote::shell_quote;
use super::{BodyPart, HttpHeader, HttpRequest, HttpResponse, PartContent, ProgramCommand, ProgramOutput, RequestBody};
use crate::diagnostic::{sanitize, truncate};
use crate::redact::{
    InputEnd, Redactor, SECRET_PLACEHOLDER, is_credential_name, mask_credentials_in_urls, mask_parameters,
};

/// How much of a body is shown.
const MAX_BODY_CHARS: usize = 2000;
/// How much of a text in a multipart body is shown.
const MAX_PART_CHARS: usize = 100;

/// The arguments of a program, as a line for a shell.
pub(super) fn program_line(command: &ProgramCommand, redactor: &Redactor) -> String {
    let words = std::iter::once(OsString::from(&command.program)).chain(command.args.iter().cloned());
    // Quotes would hide a secret from the redactor.
    let redacted = words.map(|word| {
        let mut bytes = word.as_bytes().to_vec();
        redactor.redact_bytes(&mut bytes, InputEnd::Complete);
        shell_quote(&OsString::from_vec(bytes))
    });
    redacted.collect::<Vec<_>>().join(" ")
}

/// What a program gets besides its arguments.
pub(super) fn program_details(command: &ProgramCommand, redactor: &Redactor) -> String {
    // Without a final slash.
    let cwd: PathBuf = command.cwd.components().collect();
    let mut details = format!("  cwd: {}\n", line(&cwd.to_string_lossy(), redactor));
    if !command.env.is_empty() {
        let names: Vec<&str> = command.env.iter().map(|(name, _)| name.as_str()).collect();
        details.push_str(&format!("  env: {}\n", names.join(", ")));
    }
    if let Some(stdin) = &command.stdin {
        details.push_str(&format!("  stdin: {} bytes\n", stdin.len()));
    }
    if !command.sandboxes.is_empty() {
        details.push_str("  sandbox: held to its rules, which `folio check -v` lists\n");
    }
    details
}

pub(super) fn program_end(output: &ProgramOutput) -> String {
    let status = match (output.exit_code, output.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown status".to_owned(),
    };
    let size = |bytes: &super::CapturedBytes| bytes.bytes.len() as u64 + bytes.missing_bytes;
    format!("{status}, stdout {} bytes, stderr {} bytes", size(&output.stdout), size(&output.stderr))
}

/// The method and the URL of a request.
pub(super) fn request_line(request: &HttpRequest, redactor: &Redactor) -> String {
    line(&request.describe(), redactor)
}

impl HttpRequest {
    /// Its method and URL, without what is a credential by its place or name. Secret values are up to a redactor.
    pub fn describe(&self) -> String {
        format!("{} {}", self.method, masked_url(&self.url, self))
    }

    /// The same without the query.
    pub fn describe_without_query(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        format!("{} {}", self.method, masked_url(&url, self))
    }
}

/// The headers and the body of a request.
pub(super) fn request_details(request: &HttpRequest, redactor: &Redactor) -> String {
    let mut details = String::new();
    for header in &request.headers {
        details.push_str(&format!("  {}: {}\n", line(&header.name, redactor), header_value(header, redactor)));
    }
    if let Some(body) = &request.body {
        match body {
            RequestBody::Bytes(bytes) => {
                details.push_str(&format!("  body: {} bytes\n", bytes.len()));
                details.push_str(&body_text(bytes, redactor));
            }
            RequestBody::File { path, .. } => {
                details.push_str(&format!("  body: file {}\n", line(&path.to_string_lossy(), redactor)));
            }
            RequestBody::Multipart(parts) => {
                details.push_str("  body: multipart\n");
                parts.iter().for_each(|part| details.push_str(&part_text(part, redactor)));
            }
        }
    }
    details
}

/// The headers of a response, and the beginning of its body.
pub(super) fn response_details(response: &HttpResponse, redactor: &Redactor) -> String {
    let mut details = String::new();
    for (name, value) in &response.headers {
        let header = HttpHeader::new(name, value);
        details.push_str(&format!("     {}: {}\n", line(name, redactor), header_value(&header, redactor)));
    }
    details.push_str(&body_text(&response.body.bytes, redactor));
    details
}

/// The response to a request.
pub(super) fn response_end(response: &HttpResponse) -> String {
    let source = match response.source {
        ResponseSource::Server => "",
        ResponseSource::Cache => ", from the cache",
        ResponseSource::Revalidated => ", from the cache, as the server says that it has not changed",
    };
    let size = response.body.bytes.len() as u64 + response.body.missing_bytes;
    format!("status {}, {size} bytes{source}", response.status)
}

/// A URL of a request, without its credentials.
pub(super) fn url_text(url: &Url, request: &HttpRequest, redactor: &Redactor) -> String {
    line(&masked_url(url, request), redactor)
}

fn masked_url(url: &Url, request: &HttpRequest) -> String {
    if url.host_str().is_some_and(|host| Some(host) == request.secret_host.as_deref()) {
        return SECRET_PLACEHOLDER.to_owned();
    }
    let mut display_path = url.clone();
    let _ = (display_path.set_username(""), display_path.set_password(None));
    display_path.set_query(None);
    display_path.set_fragment(None);
    let is_secret =
        |name: &str| is_credential_name(name) || request.secret_parameters.iter().any(|parameter| parameter == name);
    let query = url.query().map(|query| mask_parameters(&format!("?{query}"), |name, _| is_secret(name)));
    format!("{display_path}{}", query.unwrap_or_default())
}

fn header_value(header: &HttpHeader, redactor: &Redactor) -> String {
    if !header.is_credential() {
        return line(&mask_credentials_in_urls(&header.value), redactor);
    }
    match header.value.split_once(' ') {
        Some((scheme @ ("Bearer" | "Basic"), _)) if header.name.eq_ignore_ascii_case("authorization") => {
            format!("{scheme} {SECRET_PLACEHOLDER}")
        }
        _ => SECRET_PLACEHOLDER.to_owned(),
    }
}

/// A part of a multipart body in one line: `    report: file report.pdf (application/pdf)`.
fn part_text(part: &BodyPart, redactor: &Redactor) -> String {
    let text = match (&part.content, &part.filename) {
        (PartContent::Bytes(bytes), None) => {
            truncate(&redactor.redact_text(&String::from_utf8_lossy(bytes)), MAX_PART_CHARS).into_owned()
        }
        (_, filename) => {
            let mime_type = part.mime_type.as_deref().unwrap_or("application/octet-stream");
            format!("file {} ({mime_type})", filename.as_deref().unwrap_or_default())
        }
    };
    format!("    {}: {}\n", line(&part.name, redactor), line(&text, redactor))
}

/// The beginning of a body, indented.
fn body_text(body: &[u8], redactor: &Redactor) -> String {
    let Ok(text) = std::str::from_utf8(body) else { return String::new() };
    let redacted = redactor.redact_text(text);
    let display_path = truncate(&redacted, MAX_BODY_CHARS);
    sanitize(&display_path).lines().map(|line| format!("    {line}\n")).collect()
}

/// A value on one line.
pub(super) fn line(text: &str, redactor: &Redactor) -> String {
    sanitize(&redactor.redact_text(text).replace('\r', "\\r").replace('\n', "\\n")).into_owned()
}

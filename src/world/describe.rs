//! Describes programs and requests to people, without secrets.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use url::Url;

use super::shell_quote::shell_quote;
use super::{HttpHeader, HttpRequest, HttpResponse, ProgramCommand, ProgramOutput, RequestBody};
use crate::diagnostic::{sanitize, truncate};
use crate::redact::{InputEnd, Redactor, SECRET_PLACEHOLDER};

/// How much of a body is shown.
const MAX_BODY_CHARS: usize = 2000;

/// What parameters are called that may be credentials.
const CREDENTIAL_WORDS: [&str; 7] = ["key", "token", "secret", "password", "signature", "sig", "auth"];
/// Headers whose values are credentials.
const CREDENTIAL_HEADERS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "x-api-key"];

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

/// How a program ended.
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
    let url = url_text(&request.url, request, redactor);
    format!("{} {url}", line(&request.method, redactor))
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
            RequestBody::Multipart(parts) => {
                let names = parts.iter().map(|part| line(&part.name, redactor)).collect::<Vec<_>>();
                details.push_str(&format!("  body: multipart, parts {}\n", names.join(", ")));
            }
        }
    }
    details
}

/// The response to a request.
pub(super) fn response_end(response: &HttpResponse) -> String {
    format!("status {}, {} bytes", response.status, response.body.bytes.len() as u64 + response.body.missing_bytes)
}

/// A URL of a request, without its credentials.
pub(super) fn url_text(url: &Url, request: &HttpRequest, redactor: &Redactor) -> String {
    if url.host_str().is_some_and(|host| Some(host) == request.secret_host.as_deref()) {
        return SECRET_PLACEHOLDER.to_owned();
    }
    let mut shown = url.clone();
    let _ = (shown.set_username(""), shown.set_password(None));
    shown.set_query(None);
    shown.set_fragment(None);
    let query =
        url.query().map(|query| format!("?{}", query_text(query, &request.secret_parameters))).unwrap_or_default();
    line(&format!("{shown}{query}"), redactor)
}

fn query_text(query: &str, secret_parameters: &[String]) -> String {
    let is_secret = |part: &str, name: &str| {
        let mut decoded = url::form_urlencoded::parse(part.as_bytes()).map(|(name, _)| name);
        is_credential_name(name) || decoded.any(|name| secret_parameters.iter().any(|secret| *secret == name))
    };
    let masked = query.split('&').map(|part| match part.split_once('=') {
        Some((name, _)) if is_secret(part, name) => format!("{name}={SECRET_PLACEHOLDER}"),
        _ => part.to_owned(),
    });
    masked.collect::<Vec<_>>().join("&")
}

fn is_credential_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    CREDENTIAL_WORDS.iter().any(|word| name.ends_with(word))
}

fn header_value(header: &HttpHeader, redactor: &Redactor) -> String {
    let name = header.name.to_ascii_lowercase();
    if !header.secret && !CREDENTIAL_HEADERS.contains(&name.as_str()) {
        return line(&header.value, redactor);
    }
    match header.value.split_once(' ') {
        Some((scheme @ ("Bearer" | "Basic"), _)) if name == "authorization" => format!("{scheme} {SECRET_PLACEHOLDER}"),
        _ => SECRET_PLACEHOLDER.to_owned(),
    }
}

/// The beginning of a body, indented.
fn body_text(body: &[u8], redactor: &Redactor) -> String {
    let Ok(text) = std::str::from_utf8(body) else { return String::new() };
    let redacted = redactor.redact_text(text);
    let shown = truncate(&redacted, MAX_BODY_CHARS);
    sanitize(&shown).lines().map(|line| format!("    {line}\n")).collect()
}

/// A value on one line.
pub(super) fn line(text: &str, redactor: &Redactor) -> String {
    sanitize(&redactor.redact_text(text).replace('\r', "\\r").replace('\n', "\\n")).into_owned()
}

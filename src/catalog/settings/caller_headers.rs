//! Checks `http.callerHeaders`: what clients send for templates.

use std::collections::BTreeSet;

use crate::action::is_header_name;
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::manifest;

/// Headers of HTTP and of MCP, which say other things than what an upstream is to know.
const REFUSED_HEADERS: [&str; 23] = [
    "accept", "accept-encoding", "authorization", "connection", "content-encoding", "content-length", "content-type",
    "cookie", "expect", "forwarded", "host", "keep-alive", "last-event-id", "origin", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "via", "x-forwarded-for", "x-forwarded-host",
];
/// Those that begin so are of MCP, or of browsers.
const REFUSED_PREFIXES: [&str; 3] = ["mcp-", "sec-", "access-control-"];

/// The headers, as they are written.
pub(super) fn check_caller_headers(http: &manifest::Http, compiler: &mut Compiler<'_>) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut headers = Vec::new();
    for name in http.caller_headers.iter().flatten() {
        let lower = name.to_ascii_lowercase();
        if !is_header_name(name) {
            compiler
                .error(Code::BadName, name.location, format!("invalid header name `{}`", name.value.escape_debug()))
                .help("use letters, digits and `-`, such as `X-Desk-Key`");
        } else if is_refused(&lower) {
            let help = match lower.as_str() {
                "authorization" => {
                    "a connection's `auth: { exchange: … }` exchanges the caller's token for one of the upstream"
                }
                _ => "let clients send the value in a header of its own, such as `X-Desk-Key`",
            };
            let message = format!("`{}` cannot be a caller header: it belongs to the transport", name.value);
            compiler.error(Code::BadName, name.location, message).help(help);
        } else if !known.insert(lower) {
            compiler.error(Code::Duplicate, name.location, format!("duplicate header `{}`", name.value));
        } else {
            headers.push(name.value.clone());
        }
    }
    headers
}

fn is_refused(lower: &str) -> bool {
    REFUSED_HEADERS.contains(&lower) || REFUSED_PREFIXES.iter().any(|prefix| lower.starts_with(prefix))
}

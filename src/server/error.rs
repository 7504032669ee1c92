//! Maps refusals to JSON-RPC errors.

use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData};
use serde_json::json;

use crate::catalog::{
    format_wait,
    result::refusal::{Refusal, RefusalKind},
};
use crate::diagnostic::truncate;
use crate::spec_version::SpecVersion;

use super::capability::CapabilityKind;

/// Turns a refusal into the error that its caller gets.
pub(crate) fn refusal_error(refusal: Refusal) -> ErrorData {
    let code = match refusal.kind {
        RefusalKind::UnknownTool
        | RefusalKind::UnknownPrompt
        | RefusalKind::UnknownReference
        | RefusalKind::BadArguments
        | RefusalKind::BadUri
        | RefusalKind::InsufficientScope
        | RefusalKind::NotPermitted => ErrorCode::INVALID_PARAMS,
        // In 2026-07-28 it is -32602: see `dispatch`.
        RefusalKind::NotFound => ErrorCode::RESOURCE_NOT_FOUND,
        RefusalKind::MissingCapability => ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
        RefusalKind::EntryChanged => ErrorCode::INVALID_PARAMS,
        RefusalKind::CustomCode(code) => ErrorCode(code),
        RefusalKind::TimedOut | RefusalKind::LimitReached | RefusalKind::Cancelled | RefusalKind::Internal => {
            ErrorCode::INTERNAL_ERROR
        }
    };
    let data = match (refusal.kind, refusal.data) {
        (RefusalKind::MissingCapability, Some(capabilities)) => Some(json!({ "requiredCapabilities": capabilities })),
        (_, data) => data,
    };
    ErrorData::new(code, refusal.message, data)
}

/// The same for a client of this version: one with a session knows no error for capabilities that it lacks.
pub(crate) fn refusal_error_for(spec_version: SpecVersion, refusal: Refusal) -> ErrorData {
    if refusal.kind == RefusalKind::MissingCapability && !spec_version.is_sessionless() {
        return ErrorData::new(ErrorCode::INTERNAL_ERROR, refusal.message, None);
    }
    refusal_error(refusal)
}

/// The same for a resource: the error names the URI.
pub(crate) fn resource_error(spec_version: SpecVersion, refusal: Refusal, uri: &str) -> ErrorData {
    let not_found = refusal.kind == RefusalKind::NotFound;
    let mut error = refusal_error_for(spec_version, refusal);
    if not_found && error.data.is_none() {
        error.data = Some(json!({ "uri": uri }));
    }
    error
}

/// Why a call has no answer that ran when the server stopped.
pub(crate) const SERVER_STOPS: &str = "the server is stopping: the call was cancelled";

/// A method that belongs to something that was not declared.
pub(crate) fn undeclared_capability(kind: CapabilityKind) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("capability `{}` is not declared", kind.name()), None)
}

/// A request of a client that has asked for too much.
pub(crate) fn rate_limited(wait: Duration) -> ErrorData {
    let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    let message = format!("too many requests; try again in {}", format_wait(wait));
    ErrorData::internal_error(message, Some(json!({ "retryAfterMs": milliseconds })))
}

/// A request of which nothing can be written to the audit file.
pub(crate) fn not_recorded() -> ErrorData {
    ErrorData::internal_error("the request cannot be recorded, and is not done; try again later", None)
}

/// A request that needs what replicas share, which is away.
pub(crate) fn store_is_away() -> ErrorData {
    let message = "the store that replicas share is away: the request was not done; try again later";
    ErrorData::internal_error(message, Some(json!({ "retryAfterMs": 1000 })))
}

/// A method that needs a session, where requests stand for themselves.
pub(crate) fn needs_session(method: &str) -> ErrorData {
    let message = format!("`{method}` needs a session, and this server keeps none (`http.sessions: none`)");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

/// What is wrong with the params of a request, in words for its sender. It is kept in the extensions of a
/// `CustomRequest`, as which unknown methods are read too, so that every transport makes the same checks first.
#[derive(Debug, Clone)]
pub(crate) struct InvalidParams(pub(crate) String);

pub(crate) fn unknown_method(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method `{}`", truncate(method, 64)), None)
}

/// A request that wants log messages of a level that there is not.
pub(crate) fn unknown_log_level() -> ErrorData {
    let levels = "`debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert`, `emergency`";
    let message = format!("invalid `io.modelcontextprotocol/logLevel`, expected one of {levels}");
    ErrorData::invalid_params(message, None)
}

/// A request of a session that has not begun.
pub(crate) fn not_initialized() -> ErrorData {
    let message = "not initialized: send `initialize` first, or the `_meta` of 2026-07-28 with each request \
                   (`io.modelcontextprotocol/protocolVersion` and `io.modelcontextprotocol/clientCapabilities`)";
    ErrorData::invalid_params(message, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_kinds_map_to_error_codes() {
        let code = |kind| refusal_error(Refusal::new(kind, "m")).code.0;
        assert_eq!(code(RefusalKind::UnknownTool), -32602);
        assert_eq!(code(RefusalKind::BadArguments), -32602);
        assert_eq!(code(RefusalKind::NotFound), -32002);
        assert_eq!(code(RefusalKind::TimedOut), -32603);
    }

    #[test]
    fn not_found_error_names_the_uri() {
        let error = resource_error(SpecVersion::V2025_11_25, Refusal::new(RefusalKind::NotFound, "m"), "a:b");
        assert_eq!(error.data, Some(json!({ "uri": "a:b" })));
    }
}

//! The one place where a refusal becomes an error of the protocol.

use std::time::Duration;

use rmcp::model::{ErrorCode, ErrorData};
use serde_json::json;

use crate::catalog::{
    answer::{Refusal, RefusalKind},
    words_of,
};
use crate::diagnostic::cut;

use super::{capability::Kind, session::Era};

/// Turns a refusal into the error that its caller gets.
pub(crate) fn refused(refusal: Refusal) -> ErrorData {
    let code = match refusal.kind {
        RefusalKind::UnknownTool
        | RefusalKind::UnknownPrompt
        | RefusalKind::UnknownReference
        | RefusalKind::BadArguments
        | RefusalKind::BadUri => ErrorCode::INVALID_PARAMS,
        // rmcp makes it -32602 for peers of 2026-07-28.
        RefusalKind::NotFound => ErrorCode::RESOURCE_NOT_FOUND,
        RefusalKind::Needs => ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
        RefusalKind::Changed => ErrorCode::INVALID_PARAMS,
        RefusalKind::Own(code) => ErrorCode(code),
        RefusalKind::Asks
        | RefusalKind::Detached
        | RefusalKind::TimedOut
        | RefusalKind::Cancelled
        | RefusalKind::Internal => ErrorCode::INTERNAL_ERROR,
    };
    let data = match (refusal.kind, refusal.data) {
        (RefusalKind::Needs, Some(capabilities)) => Some(json!({ "requiredCapabilities": capabilities })),
        (_, data) => data,
    };
    ErrorData::new(code, refusal.message, data)
}

/// The same for a client of this version: one with a session knows no error for capabilities that it lacks.
pub(crate) fn refused_in(era: Era, refusal: Refusal) -> ErrorData {
    if refusal.kind == RefusalKind::Needs && !era.is_modern() {
        return ErrorData::new(ErrorCode::INTERNAL_ERROR, refusal.message, None);
    }
    refused(refusal)
}

/// The same for a resource: the error names the URI.
pub(crate) fn refused_uri(era: Era, refusal: Refusal, uri: &str) -> ErrorData {
    let not_found = refusal.kind == RefusalKind::NotFound;
    let mut error = refused_in(era, refusal);
    if not_found && error.data.is_none() {
        error.data = Some(json!({ "uri": uri }));
    }
    error
}

/// A method that belongs to something that was not declared.
pub(crate) fn undeclared(kind: Kind) -> ErrorData {
    let message = match kind {
        Kind::Tools => "this server has no tools",
        Kind::Prompts => "this server has no prompts",
        Kind::Resources => "this server has no resources",
        Kind::Completions => "this server completes nothing",
        Kind::Logging => "this server sends no log messages",
        Kind::Tasks => "this server has no tasks, or not in a session",
        Kind::Skills => "this server has no skills",
    };
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

/// A request of a client that has asked for too much.
pub(crate) fn too_early(wait: Duration) -> ErrorData {
    let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    let message = format!("too many requests; try again in {}", words_of(wait));
    ErrorData::internal_error(message, Some(json!({ "retryAfterMs": milliseconds })))
}

/// A method that nobody knows here.
pub(crate) fn unknown_method(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method `{}`", cut(method, 64)), None)
}

/// A request that wants log messages of a level that there is not.
pub(crate) fn unknown_level() -> ErrorData {
    let levels = "`debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert`, `emergency`";
    let words = format!("`io.modelcontextprotocol/logLevel` is none of {levels}");
    ErrorData::invalid_params(words, None)
}

/// A request of a session that has not begun.
pub(crate) fn not_begun() -> ErrorData {
    let message = "the session has not begun: send `initialize` first, or with each request the `_meta` of 2026-07-28 \
                   (`io.modelcontextprotocol/protocolVersion` and `io.modelcontextprotocol/clientCapabilities`)";
    ErrorData::invalid_params(message, None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn the_callers_faults_are_invalid_params_and_ours_are_internal() {
        let code = |kind| refused(Refusal::new(kind, "m")).code.0;
        assert_eq!(code(RefusalKind::UnknownTool), -32602);
        assert_eq!(code(RefusalKind::BadArguments), -32602);
        assert_eq!(code(RefusalKind::NotFound), -32002);
        assert_eq!(code(RefusalKind::TimedOut), -32603);
    }

    #[test]
    fn what_is_not_found_is_named() {
        let error = refused_uri(Era::V2025_11_25, Refusal::new(RefusalKind::NotFound, "m"), "a:b");
        assert_eq!(error.data, Some(json!({ "uri": "a:b" })));
    }
}

//! `logging/setLevel` of sessions; in 2026-07-28 each request has its own level.

use rmcp::model::{ErrorData, LoggingLevel, SetLevelRequestParams};

use crate::action::LogLevel;

use super::{ConnectionHandler, request::McpRequest, session_record::SessionChange};

/// Sets the least grave messages that a session wants.
pub(crate) async fn set_level(
    server: &ConnectionHandler,
    params: SetLevelRequestParams,
    request: &McpRequest,
) -> Result<(), ErrorData> {
    let level = level_from_protocol(params.level);
    server.keep_session_change(SessionChange::Level(level), request).await?;
    server.session.set_log_level(level);
    Ok(())
}

/// The levels by which the protocol's and ours correspond.
const LEVELS: [(LoggingLevel, LogLevel); 8] = [
    (LoggingLevel::Debug, LogLevel::Debug),
    (LoggingLevel::Info, LogLevel::Info),
    (LoggingLevel::Notice, LogLevel::Notice),
    (LoggingLevel::Warning, LogLevel::Warning),
    (LoggingLevel::Error, LogLevel::Error),
    (LoggingLevel::Critical, LogLevel::Critical),
    (LoggingLevel::Alert, LogLevel::Alert),
    (LoggingLevel::Emergency, LogLevel::Emergency),
];

/// A level of the protocol as actions have it.
pub(crate) fn level_from_protocol(written: LoggingLevel) -> LogLevel {
    LEVELS.iter().find(|(theirs, _)| *theirs == written).map_or_else(LogLevel::default, |(_, ours)| *ours)
}

/// A level as the protocol has it.
pub(crate) fn level_to_protocol(level: LogLevel) -> LoggingLevel {
    LEVELS.iter().find(|(_, ours)| *ours == level).map_or(LoggingLevel::Info, |(theirs, _)| *theirs)
}

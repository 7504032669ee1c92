//! `logging/setLevel`, which sessions have; in 2026-07-28 each request says its own level.

use rmcp::{
    RoleServer,
    model::{ErrorData, LoggingLevel, SetLevelRequestParams},
    service::RequestContext,
};

use crate::action::Level;

use super::{Server, capability::Kind, error, session};

/// Sets the least grave messages that a session wants.
pub(crate) fn set_level(
    server: &Server,
    request: &SetLevelRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    if session::is_modern(context) {
        return Err(error::unknown_method("logging/setLevel"));
    }
    server.admit(Kind::Logging, context)?;
    server.session.set_log_level(level(request.level));
    Ok(())
}

/// The levels by which the protocol's and ours correspond.
const LEVELS: [(LoggingLevel, Level); 8] = [
    (LoggingLevel::Debug, Level::Debug),
    (LoggingLevel::Info, Level::Info),
    (LoggingLevel::Notice, Level::Notice),
    (LoggingLevel::Warning, Level::Warning),
    (LoggingLevel::Error, Level::Error),
    (LoggingLevel::Critical, Level::Critical),
    (LoggingLevel::Alert, Level::Alert),
    (LoggingLevel::Emergency, Level::Emergency),
];

/// A level of the protocol as actions have it.
pub(crate) fn level(written: LoggingLevel) -> Level {
    LEVELS.iter().find(|(theirs, _)| *theirs == written).map_or_else(Level::default, |(_, ours)| *ours)
}

/// A level as the protocol has it.
pub(crate) fn written(level: Level) -> LoggingLevel {
    LEVELS.iter().find(|(_, ours)| *ours == level).map_or(LoggingLevel::Info, |(theirs, _)| *theirs)
}

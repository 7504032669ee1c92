//! An error in one value, whose position in a file the caller knows.

/// What is wrong inside of a value: a URI, a template, a schema.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{message}")]
pub struct LocatedError<P> {
    /// The position in the value: a range of bytes, or a JSON pointer.
    pub at: P,
    /// The message: lower case, no full stop, names in backticks.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
}

impl<P> LocatedError<P> {
    /// An error without help.
    pub fn new(at: impl Into<P>, message: impl Into<String>) -> LocatedError<P> {
        LocatedError { at: at.into(), message: message.into(), help: None }
    }

    /// Adds how to fix it.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> LocatedError<P> {
        self.optional_help(Some(help))
    }

    /// Adds how to fix it, where that is known.
    #[must_use]
    pub fn optional_help(self, help: Option<impl Into<String>>) -> LocatedError<P> {
        LocatedError { help: help.map(Into::into), ..self }
    }

    /// The same error at a position that is computed from its own.
    #[must_use]
    pub fn map_position(self, position: impl FnOnce(P) -> P) -> LocatedError<P> {
        LocatedError { at: position(self.at), ..self }
    }
}

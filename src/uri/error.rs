use std::ops::Range;

/// What is wrong with a URI or a URI template, and where in its text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UriError {
    /// The bytes at fault.
    pub range: Range<usize>,
    /// What is wrong with them.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl UriError {
    pub(super) fn new(range: Range<usize>, message: impl Into<String>) -> Self {
        Self { range, message: message.into(), help: None }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

//! The messages for requests that got no response.

use std::fmt;

use crate::world::WorldError;

/// A request without a response.
#[derive(Debug)]
pub struct RequestError {
    /// Its method and URL, without secrets.
    pub(in crate::action) request: String,
    /// How often it was sent.
    pub(in crate::action) attempts: u32,
    /// Whether what it does may be done twice.
    pub(in crate::action) is_repeatable: bool,
    /// Why the last attempt failed.
    pub source: WorldError,
    /// The variable of the environment that names a proxy, where no connection is made without one.
    pub(in crate::action) unused_proxy: Option<&'static str>,
}

impl RequestError {
    /// What the caller should know before it tries again.
    fn hint(&self) -> Option<&'static str> {
        let (is_transient, is_unsent) = (self.source.is_transient(), self.source.is_unsent());
        if !self.is_repeatable && !is_unsent && (is_transient || self.source.is_after_answer()) {
            return Some("The request may have been processed: check before you retry.");
        }
        is_transient.then_some("Trying again later may help.")
    }
}

impl std::error::Error for RequestError {}

impl fmt::Display for RequestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            timed_out @ WorldError::TimedOut { .. } => write!(formatter, "{} {timed_out}", self.request)?,
            error => write!(formatter, "{} failed: {error}", self.request)?,
        }
        if self.attempts > 1 {
            write!(formatter, " ({} attempts)", self.attempts)?;
        }
        if let Some(name) = self.unused_proxy {
            write!(formatter, "\n`{name}` is not used by itself: declare it in `env`, and write ")?;
            write!(formatter, "`proxy: \"{{{{env.{name}}}}}\"` at the connection")?;
        }
        self.hint().map_or(Ok(()), |hint| write!(formatter, "\n{hint}"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::RequestError;
    use crate::world::WorldError;

    #[test]
    fn error_says_what_to_do() {
        let say = |source, is_repeatable, attempts| {
            let request = "POST https://api.example/items".to_owned();
            RequestError { request, attempts, is_repeatable, source, unused_proxy: None }.to_string()
        };
        let timed_out = || WorldError::timed_out(Duration::from_secs(1));
        assert_eq!(
            say(timed_out(), false, 1),
            "POST https://api.example/items timed out after 1s\nThe request may have been processed: check before you retry."
        );
        assert_eq!(
            say(timed_out(), true, 3),
            "POST https://api.example/items timed out after 1s (3 attempts)\nTrying again later may help."
        );
        let private = WorldError::PrivateAddress { host: "a".to_owned() };
        assert!(say(private, false, 1).ends_with("is not listed in `allow`"));
    }
}

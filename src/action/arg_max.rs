//! How much the system can hand to a program: its arguments and its environment (`ARG_MAX`).

use super::ActionError;

/// How many bytes one argument or variable may have, with the NUL at its end: Linux's `MAX_ARG_STRLEN`.
pub(super) const MAX_ARG_STRLEN: usize = 128 << 10;
/// What is left for `PATH`, the trace, and all else that is put into each environment.
const RESERVED_ENV_BYTES: usize = 16 << 10;
/// What each string costs beside itself.
const POINTER_BYTES: usize = 8;

/// The arguments and variables of a program, as far as they are counted.
#[derive(Debug, Default)]
pub(super) struct ArgSize {
    bytes: usize,
    /// What of them each variable of a template has made.
    shares: Vec<(String, usize)>,
}

impl ArgSize {
    /// Counts one string; `of` is the variable that makes it long, where it is not the manifest's own.
    ///
    /// # Errors
    /// No program can be given it.
    pub(super) fn add(&mut self, bytes: usize, of: Option<&str>) -> Result<(), ActionError> {
        if bytes >= MAX_ARG_STRLEN {
            return Err(too_long(of, "a single argument or environment variable", MAX_ARG_STRLEN - 1));
        }
        let bytes = bytes + 1 + POINTER_BYTES;
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(of) = of {
            match self.shares.iter_mut().find(|(known, _)| known == of) {
                Some((_, share)) => *share += bytes,
                None => self.shares.push((of.to_owned(), bytes)),
            }
        }
        if self.bytes > max_total_bytes().saturating_sub(RESERVED_ENV_BYTES) {
            Err(self.too_long_in_total())
        } else {
            Ok(())
        }
    }

    /// Says that all of it together is too much.
    pub(super) fn too_long_in_total(&self) -> ActionError {
        let most = self.shares.iter().max_by_key(|(_, share)| share);
        let of = most.map(|(of, _)| of.as_str());
        too_long(
            of,
            "all arguments and environment variables together",
            max_total_bytes().saturating_sub(RESERVED_ENV_BYTES),
        )
    }
}

fn too_long(of: Option<&str>, place: &'static str, limit: usize) -> ActionError {
    let argument = of.unwrap_or("the command line").trim_start_matches("arguments.").to_owned();
    ActionError::ArgumentTooLong { argument, place, limit }
}

/// How many bytes all strings may have together: a quarter of the stack, as Linux has it.
#[cfg(target_os = "linux")]
fn max_total_bytes() -> usize {
    use rustix::process::{Resource, getrlimit};
    const MAX_TOTAL_BYTES: usize = 6 << 20;
    let stack = getrlimit(Resource::Stack).current.and_then(|bytes| usize::try_from(bytes / 4).ok());
    stack.unwrap_or(MAX_TOTAL_BYTES).clamp(MAX_ARG_STRLEN, MAX_TOTAL_BYTES)
}

#[cfg(not(target_os = "linux"))]
fn max_total_bytes() -> usize {
    1 << 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_argument_is_named() {
        let words =
            |result: Result<(), ActionError>| result.err().map(|failure| failure.to_string()).unwrap_or_default();
        let mut size = ArgSize::default();
        assert!(size.add(MAX_ARG_STRLEN - 1, Some("arguments.diff")).is_ok());
        let refused = words(size.add(MAX_ARG_STRLEN, Some("arguments.other")));
        assert!(refused.starts_with("`other` is too long") && refused.contains("131071"), "{refused}");
        let mut size = ArgSize::default();
        let mut refused = size.add(1000, Some("one"));
        while refused.is_ok() {
            refused = size.add(3, Some("many"));
        }
        assert!(words(refused).starts_with("`many` is too long"));
    }
}

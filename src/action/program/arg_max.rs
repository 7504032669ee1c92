//! Limits the size of arguments and environment to what the system accepts (`ARG_MAX`).

use std::sync::LazyLock;

use crate::action::ActionError;

/// The size limit of one argument or variable, with its terminating NUL: Linux's `MAX_ARG_STRLEN`.
pub(super) const MAX_ARG_STRLEN: usize = 128 << 10;
/// Reserved for `PATH`, the trace and the rest of the base environment.
const RESERVED_ENV_BYTES: usize = 16 << 10;
/// The size of the pointer to each string.
const POINTER_BYTES: usize = 8;

/// The limit of all strings together: on Linux a quarter of the stack, which programs inherit.
static MAX_TOTAL_BYTES: LazyLock<usize> = LazyLock::new(|| {
    #[cfg(target_os = "linux")]
    let bytes = {
        use rustix::process::{Resource, getrlimit};
        const MOST: usize = 6 << 20;
        let stack = getrlimit(Resource::Stack).current.and_then(|bytes| usize::try_from(bytes / 4).ok());
        stack.unwrap_or(MOST).clamp(MAX_ARG_STRLEN, MOST)
    };
    #[cfg(not(target_os = "linux"))]
    let bytes = 1 << 20;
    bytes
});

/// Counts the size of the arguments and variables of a program.
#[derive(Debug, Default)]
pub(super) struct ArgSize {
    bytes: usize,
    /// The bytes of each template variable.
    bytes_by_argument: Vec<(String, usize)>,
}

impl ArgSize {
    /// Counts one string; `argument` is the template variable with the longest value in it.
    ///
    /// # Errors
    /// It is over a limit of the system.
    pub(super) fn add(&mut self, bytes: usize, argument: Option<&str>) -> Result<(), ActionError> {
        if bytes >= MAX_ARG_STRLEN {
            return Err(too_long_error(argument, "a single argument or environment variable", MAX_ARG_STRLEN - 1));
        }
        let bytes = bytes + 1 + POINTER_BYTES;
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(argument) = argument {
            match self.bytes_by_argument.iter_mut().find(|(known, _)| known == argument) {
                Some((_, share)) => *share += bytes,
                None => self.bytes_by_argument.push((argument.to_owned(), bytes)),
            }
        }
        if self.bytes > MAX_TOTAL_BYTES.saturating_sub(RESERVED_ENV_BYTES) {
            Err(self.total_too_long_error())
        } else {
            Ok(())
        }
    }

    /// The error for a total over the limit.
    pub(super) fn total_too_long_error(&self) -> ActionError {
        let longest = self.bytes_by_argument.iter().max_by_key(|(_, share)| share);
        let argument = longest.map(|(argument, _)| argument.as_str());
        too_long_error(
            argument,
            "all arguments and environment variables together",
            MAX_TOTAL_BYTES.saturating_sub(RESERVED_ENV_BYTES),
        )
    }
}

fn too_long_error(argument: Option<&str>, place: &str, limit: usize) -> ActionError {
    let argument = argument.unwrap_or("the command line").trim_start_matches("arguments.");
    ActionError::BadArgument(format!(
        "`{argument}` is too long: {place} must not exceed {limit} bytes; pass it by `stdin`"
    ))
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

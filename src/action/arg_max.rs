//! How much the system can hand to a program: its arguments and its environment (`ARG_MAX`).

use super::Failure;

/// How many bytes one argument or variable may have, with the NUL at its end: Linux's `MAX_ARG_STRLEN`.
pub(super) const MAX_STRING: usize = 128 << 10;
/// What is left for `PATH`, the trace, and all else that is put into each environment.
const RESERVE: usize = 16 << 10;
/// What each string costs beside itself.
const POINTER: usize = 8;

/// The arguments and variables of a program, as far as they are counted.
#[derive(Debug, Default)]
pub(super) struct ArgMax {
    bytes: usize,
    /// What of them each variable of a template has made.
    shares: Vec<(String, usize)>,
}

impl ArgMax {
    /// Counts one string; `of` is the variable that makes it long, where it is not the manifest's own.
    ///
    /// # Errors
    /// No program can be given it.
    pub(super) fn add(&mut self, bytes: usize, of: Option<&str>) -> Result<(), Failure> {
        if bytes >= MAX_STRING {
            return Err(refusal(of, "one argument or variable", MAX_STRING - 1));
        }
        let bytes = bytes + 1 + POINTER;
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(of) = of {
            match self.shares.iter_mut().find(|(known, _)| known == of) {
                Some((_, share)) => *share += bytes,
                None => self.shares.push((of.to_owned(), bytes)),
            }
        }
        if self.bytes > total().saturating_sub(RESERVE) { Err(self.too_many()) } else { Ok(()) }
    }

    /// Says that all of it together is too much.
    pub(super) fn too_many(&self) -> Failure {
        let most = self.shares.iter().max_by_key(|(_, share)| share);
        let of = most.map(|(of, _)| of.as_str());
        refusal(of, "all arguments and variables together", total().saturating_sub(RESERVE))
    }
}

fn refusal(of: Option<&str>, place: &'static str, limit: usize) -> Failure {
    let argument = of.unwrap_or("the command line").trim_start_matches("arguments.").to_owned();
    Failure::TooLong { argument, place, limit }
}

/// How many bytes all strings may have together: a quarter of the stack, as Linux has it.
#[cfg(target_os = "linux")]
fn total() -> usize {
    use rustix::process::{Resource, getrlimit};
    const MOST: usize = 6 << 20;
    let stack = getrlimit(Resource::Stack).current.and_then(|bytes| usize::try_from(bytes / 4).ok());
    stack.unwrap_or(MOST).clamp(MAX_STRING, MOST)
}

#[cfg(not(target_os = "linux"))]
fn total() -> usize {
    1 << 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_it_too_long_is_named() {
        let words = |result: Result<(), Failure>| result.err().map(|failure| failure.to_string()).unwrap_or_default();
        let mut size = ArgMax::default();
        assert!(size.add(MAX_STRING - 1, Some("arguments.diff")).is_ok());
        let refused = words(size.add(MAX_STRING, Some("arguments.other")));
        assert!(refused.starts_with("`other` is too long") && refused.contains("131071"), "{refused}");
        let mut size = ArgMax::default();
        let mut refused = size.add(1000, Some("one"));
        while refused.is_ok() {
            refused = size.add(3, Some("many"));
        }
        assert!(words(refused).starts_with("`many` is too long"));
    }
}

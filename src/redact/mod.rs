//! Removes secret values from everything that folio sends, prints or logs.
//!
//! A [`Redactor`] knows the values of one load. It finds each in any mixture of the ways in which folio and what it
//! talks to write text: as it is, in either case, percent-encoded, escaped as in JSON or HTML, however often; in
//! hexadecimal; and in base64 at each of its three alignments. It is asked twice:
//! - where bytes come in, before anything can cut them apart: [`Redactor::redact_bytes`], and [`Redactor::redact_value`] for what
//!   one entry takes from another;
//! - where bytes leave: [`Redactor::redact_message`] looks at a whole message, whatever is in it, and [`Redactor::redact_text`] at
//!   lines for people.
//!
//! [`Redactors`] holds those of the load that is served and of the loads before it that are still in use. What is not
//! here: which values are secret (load/), and where bytes come in and leave (world/, catalog/, transport/, cli/).

mod escape;
mod pattern;
mod message;
mod redactors;
mod run;
mod matcher;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

pub use redactors::Redactors;

use matcher::SecretMatcher;
use pattern::SecretPattern;

/// What stands in the place of a secret.
pub const SECRET_PLACEHOLDER: &str = "[secret]";
/// Shorter values cannot be told from innocent text.
pub const MIN_SECRET_CHARS: usize = 4;
/// From this length on a value is hardly ever in a text by chance.
pub const SAFE_SECRET_CHARS: usize = 8;
/// So much of a secret at the end of what broke off is taken for its beginning.
const MIN_PARTIAL_SECRET_BYTES: usize = 4;

/// How bytes end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputEnd {
    /// Where whoever wrote them ended.
    Complete,
    /// Where whoever wrote them was ended: the last secret may be half written.
    Interrupted,
    /// Where folio cut them: the last secret may go on behind.
    Truncated,
}

/// Finds secrets, and puts something else in their place.
#[derive(Debug, Default)]
pub struct Redactor {
    secrets: Vec<String>,
    matcher: SecretMatcher,
    /// Names that clients need, though a secret may be part of them.
    public_names: HashSet<String>,
}

/// Two hide the same when they have the same secrets.
impl PartialEq for Redactor {
    fn eq(&self, other: &Redactor) -> bool {
        self.secrets == other.secrets && self.public_names == other.public_names
    }
}

impl Redactor {
    /// Hides these values, and each line of theirs that is long enough to be known again.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Redactor {
        let mut secrets: Vec<String> = secrets.into_iter().flat_map(secret_and_lines).map(str::to_owned).collect();
        secrets.sort();
        secrets.dedup();
        let forms: Vec<SecretPattern> =
            secrets.iter().flat_map(|secret| SecretPattern::all_encodings(secret)).collect();
        Redactor { matcher: SecretMatcher::new(forms), secrets, public_names: HashSet::new() }
    }

    /// Leaves these names as they are where the protocol has names: a client could not use what they name otherwise.
    #[must_use]
    pub fn with_public_names(mut self, names: impl IntoIterator<Item = String>) -> Redactor {
        if !self.is_empty() {
            self.public_names = names.into_iter().collect();
        }
        self
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Hides the secrets in a text.
    pub fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.matcher.find_all(text.as_bytes());
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(String::from_utf8_lossy(&replace_ranges(text.as_bytes(), &found)).into_owned())
    }

    /// The same in place.
    pub fn redact_in_place(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.redact_text(text) {
            *text = hidden;
        }
    }

    /// Hides the secrets in bytes that came from outside, and returns how many bytes it took off their end.
    pub fn redact_bytes(&self, bytes: &mut Vec<u8>, end: InputEnd) -> usize {
        if self.is_empty() {
            return 0;
        }
        let min_partial = match end {
            InputEnd::Complete => usize::MAX,
            InputEnd::Interrupted => MIN_PARTIAL_SECRET_BYTES,
            InputEnd::Truncated => 1,
        };
        let (mut found, partial_start) = self.matcher.find_all_and_partial(bytes, min_partial);
        let mut dropped = 0;
        if let Some(partial_start) = partial_start {
            found.retain(|range| range.start < partial_start);
            match end {
                InputEnd::Truncated => {
                    // A secret that ends behind here began before, and is hidden whole.
                    let from = found.last().map_or(partial_start, |last| last.end.max(partial_start)).min(bytes.len());
                    dropped = bytes.len() - from;
                    bytes.truncate(from);
                }
                _ => found.push(found.last().map_or(partial_start, |last| last.end.max(partial_start))..bytes.len()),
            }
        }
        if !found.is_empty() {
            *bytes = replace_ranges(bytes, &found);
        }
        dropped
    }

    /// Whether a word is a part of a secret, in either case.
    pub fn is_part_of_secret(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        word.chars().count() >= MIN_SECRET_CHARS
            && self.secrets.iter().any(|secret| secret.to_lowercase().contains(&word))
    }

    fn has_secret(&self, bytes: &[u8]) -> bool {
        self.matcher.has_any(bytes)
    }
}

/// A secret and its lines, for a program may print one without the others. The frame of a key is no secret.
fn secret_and_lines(secret: &str) -> impl Iterator<Item = &str> {
    let whole = Some(secret.trim()).filter(|whole| whole.chars().count() >= MIN_SECRET_CHARS);
    let lines = secret
        .lines()
        .map(str::trim)
        .filter(|line| line.chars().count() >= SAFE_SECRET_CHARS && !line.starts_with("-----"));
    whole.into_iter().chain(lines)
}

/// Bytes with something else in the place of what was found. What is no text keeps its length, for the parts of a
/// picture or an archive know where the others are.
fn replace_ranges(bytes: &[u8], found: &[Range<usize>]) -> Vec<u8> {
    let is_text = std::str::from_utf8(bytes).map_or_else(|fault| fault.error_len().is_none(), |_| true);
    let mut out = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for range in found {
        let number = if is_text { enclosing_json_number(bytes, range) } else { None };
        let place = number.as_ref().unwrap_or(range);
        out.extend_from_slice(bytes.get(copied..place.start).unwrap_or_default());
        match (is_text, number.is_some()) {
            (false, _) => out.resize(out.len() + place.len(), b'*'),
            (true, true) => out.extend_from_slice(format!("\"{SECRET_PLACEHOLDER}\"").as_bytes()),
            (true, false) => out.extend_from_slice(SECRET_PLACEHOLDER.as_bytes()),
        }
        copied = copied.max(place.end);
    }
    out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
    out
}

/// The number in JSON of which `range` is a part: in its place has to stand a text, with quotes.
fn enclosing_json_number(bytes: &[u8], range: &Range<usize>) -> Option<Range<usize>> {
    let is_number = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    if !bytes.get(range.clone())?.iter().all(is_number) {
        return None;
    }
    let (before, behind) = (bytes.get(..range.start)?, bytes.get(range.end..)?);
    let start = range.start - before.iter().rev().take_while(|byte| is_number(byte)).count();
    let end = range.end + behind.iter().take_while(|byte| is_number(byte)).count();
    let before = bytes.get(..start)?.trim_ascii_end().last()?;
    let behind = bytes.get(end..)?.trim_ascii_start().first()?;
    (matches!(before, b':' | b'[' | b',') && matches!(behind, b',' | b']' | b'}')).then_some(start..end)
}

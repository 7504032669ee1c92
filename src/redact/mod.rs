//! Removes secret values from everything that folio sends, prints or logs.
//!
//! A [`Redactor`] knows the secrets of one load, and finds them in the forms that `form` lists: as they are, each line
//! of them, escaped, in hexadecimal and in base64. It is used twice:
//! - on input, before anything can cut a secret apart: [`Redactor::redact_bytes`], and [`Redactor::redact_value`] between
//!   entries;
//! - on output: [`Redactor::redact_message`] for whole messages, and [`Redactor::redact_text`] for lines.
//!
//! [`Redactors`] holds the redactor of the served load and of earlier ones in use. What is not here: which values are
//! secret (load/), and where bytes enter and leave (world/, catalog/, transport/, cli/).

mod credential_name;
mod form;
mod message;
mod redactors;
mod matcher;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

pub use credential_name::{
    has_credential_parameter, is_credential_field, is_credential_name, mask_credentials_in_urls, mask_parameters,
    url_password,
};
pub use redactors::Redactors;

use matcher::{SecretMatcher, disjoint};

/// The replacement of a secret.
pub const SECRET_PLACEHOLDER: &str = "[secret]";
/// The minimum length of a secret: shorter values occur in unrelated text.
pub const MIN_SECRET_CHARS: usize = 4;
/// The length from which a secret hardly occurs in unrelated text.
pub const SAFE_SECRET_CHARS: usize = 8;
/// How much of a secret at an interrupted end is redacted. A caller who guesses so much of it at once does not need the
/// end of a program to confirm it.
const MIN_PARTIAL_SECRET_BYTES: usize = 5;

/// How bytes end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputEnd {
    /// The writer finished, or what is missing is beyond [`Redactor::lookahead`].
    Complete,
    /// The writer was killed: the last secret may be incomplete.
    Interrupted,
}

/// Finds and replaces the secrets of one load.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    secrets: Vec<String>,
    /// Those that find the secrets together.
    matchers: Vec<Arc<SecretMatcher>>,
    /// Names that stay unchanged even if a secret is part of them.
    public_names: HashSet<String>,
    /// What folio says of secrets, which stays unchanged even if a short secret is one of the words.
    own_words: Vec<String>,
}

/// Redactors are equal if they have the same secrets and public names.
impl PartialEq for Redactor {
    fn eq(&self, other: &Redactor) -> bool {
        self.secrets == other.secrets && self.public_names == other.public_names
    }
}

/// To tell a load with another secret from the last.
impl Hash for Redactor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.secrets.hash(state);
    }
}

impl Redactor {
    /// Creates a redactor of these values, and of each of their lines that is long enough.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Redactor {
        let mut secrets: Vec<String> = secrets.into_iter().flat_map(secret_and_lines).map(str::to_owned).collect();
        secrets.sort();
        secrets.dedup();
        let matchers = if secrets.is_empty() { Vec::new() } else { vec![Arc::new(SecretMatcher::new(&secrets))] };
        Redactor { matchers, secrets, ..Redactor::default() }
    }

    /// The same that finds these values too, such as those of one call.
    #[must_use]
    pub fn with<'a>(&self, secrets: impl IntoIterator<Item = &'a str>) -> Redactor {
        let both = Redactor::join([self, &Redactor::new(secrets)]);
        Redactor { public_names: self.public_names.clone(), ..both }
    }

    /// Finds the secrets of all `parts`.
    pub fn join<'a>(parts: impl IntoIterator<Item = &'a Redactor>) -> Redactor {
        let mut joined = Redactor::default();
        for part in parts {
            joined.secrets.extend_from_slice(&part.secrets);
            joined.matchers.extend_from_slice(&part.matchers);
            joined.own_words.extend_from_slice(&part.own_words);
        }
        joined
    }

    /// Whether it was made of this value, among others.
    pub fn includes(&self, secret: &str) -> bool {
        self.secrets.iter().any(|own| own == secret)
    }

    /// Leaves these names unchanged where the protocol has names, as clients need them.
    #[must_use]
    pub fn with_public_names(mut self, names: impl IntoIterator<Item = String>) -> Redactor {
        if !self.is_empty() {
            self.public_names = names.into_iter().collect();
        }
        self
    }

    /// Leaves these texts unchanged in lines. They must be words of folio and names, without values.
    #[must_use]
    pub fn with_own_words(mut self, texts: impl IntoIterator<Item = String>) -> Redactor {
        if !self.is_empty() {
            self.own_words = texts.into_iter().collect();
        }
        self
    }

    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    pub fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut ranges = self.secret_ranges(text);
        self.retain_foreign(text, &mut ranges);
        if ranges.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(String::from_utf8_lossy(&replace_ranges(text.as_bytes(), &ranges)).into_owned())
    }

    /// Redacts a text in place.
    pub fn redact_in_place(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.redact_text(text) {
            *text = hidden;
        }
    }

    /// Redacts input.
    pub fn redact_bytes(&self, bytes: &mut Vec<u8>, end: InputEnd) {
        self.redact_and_truncate(bytes, usize::MAX, end);
    }

    /// How many bytes behind a limit are read, so that a secret across the limit is known.
    pub fn lookahead(&self) -> usize {
        self.matchers.iter().map(|matcher| matcher.longest()).max().unwrap_or_default()
    }

    /// Redacts input, drops what is behind `limit`, and returns how much it dropped. A secret across the limit is redacted
    /// whole: what is kept of other text must not depend on how it resembles a secret.
    pub fn redact_and_truncate(&self, bytes: &mut Vec<u8>, limit: usize, end: InputEnd) -> usize {
        let mut ranges = self.find(bytes, end);
        ranges.retain(|range| range.start < limit);
        let kept = ranges.last().map_or(0, |last| last.end).max(limit.min(bytes.len()));
        let dropped = bytes.len() - kept;
        bytes.truncate(kept);
        if !ranges.is_empty() {
            *bytes = replace_ranges(bytes, &ranges);
        }
        dropped
    }

    /// The ranges of the secrets in bytes that more may follow, sorted and disjoint. One that is incomplete at the end
    /// counts.
    pub fn find_so_far(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        self.find(bytes, InputEnd::Interrupted)
    }

    /// Redacts the end of some input, and drops what is before its last `limit` bytes, as
    /// [`Redactor::redact_and_truncate`] does behind them.
    pub fn redact_and_keep_end(&self, bytes: &mut Vec<u8>, limit: usize, end: InputEnd) {
        let mut ranges = self.find(bytes, end);
        let start = bytes.len().saturating_sub(limit);
        ranges.retain(|range| range.end > start);
        let start = ranges.first().map_or(start, |first| first.start.min(start));
        bytes.drain(..start);
        let ranges: Vec<_> = ranges.into_iter().map(|range| range.start - start..range.end - start).collect();
        if !ranges.is_empty() {
            *bytes = replace_ranges(bytes, &ranges);
        }
    }

    /// The ranges of the secrets in a text, sorted and disjoint.
    pub fn secret_ranges(&self, text: &str) -> Vec<Range<usize>> {
        self.find(text.as_bytes(), InputEnd::Complete)
    }

    /// Drops the ranges that are inside of folio's own words.
    fn retain_foreign(&self, text: &str, ranges: &mut Vec<Range<usize>>) {
        if ranges.is_empty() || self.own_words.is_empty() {
            return;
        }
        let words = self.own_words.iter().flat_map(|words| text.match_indices(words.as_str()));
        let mut own: Vec<Range<usize>> = words.map(|(start, words)| start..start + words.len()).collect();
        own.sort_by_key(|range| range.start);
        // Those that one text holds in another end before it.
        own.dedup_by(|next, last| next.end <= last.end);
        ranges.retain(|range| {
            let last = own.get(own.partition_point(|own| own.start <= range.start).wrapping_sub(1));
            last.is_none_or(|own| range.end > own.end)
        });
    }

    fn find(&self, bytes: &[u8], end: InputEnd) -> Vec<Range<usize>> {
        disjoint(self.matchers.iter().flat_map(|matcher| matcher.find(bytes, end)).collect())
    }

    /// Whether a word is part of a secret, in either case.
    pub fn is_part_of_secret(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        word.chars().count() >= MIN_SECRET_CHARS
            && self.secrets.iter().any(|secret| secret.to_lowercase().contains(&word))
    }

    /// Whether a text holds a secret.
    pub fn finds_secret(&self, text: &str) -> bool {
        self.has_secret(text.as_bytes())
    }

    fn has_secret(&self, bytes: &[u8]) -> bool {
        self.matchers.iter().any(|matcher| matcher.is_match(bytes))
    }
}

/// A secret and its lines, except the frame of a key: a program may print a single line.
fn secret_and_lines(secret: &str) -> impl Iterator<Item = &str> {
    let whole = Some(secret.trim()).filter(|whole| whole.chars().count() >= MIN_SECRET_CHARS);
    let lines = secret
        .lines()
        .map(str::trim)
        .filter(|line| line.chars().count() >= SAFE_SECRET_CHARS && !line.starts_with("-----"));
    whole.into_iter().chain(lines)
}

/// A part of `bytes` in which these ranges of `bytes`, as [`Redactor::find_so_far`] has them, are replaced.
pub fn redact_part(bytes: &[u8], part: Range<usize>, ranges: Vec<Range<usize>>) -> Vec<u8> {
    let inside = ranges.into_iter().filter(|range| range.start < part.end && part.start < range.end);
    let moved = inside.map(|range| range.start.max(part.start) - part.start..range.end.min(part.end) - part.start);
    replace_ranges(bytes.get(part.clone()).unwrap_or_default(), &disjoint(moved.collect()))
}

/// Replaces ranges. Binary data keeps its length, as images and archives contain offsets.
fn replace_ranges(bytes: &[u8], ranges: &[Range<usize>]) -> Vec<u8> {
    let is_text = std::str::from_utf8(bytes).map_or_else(|fault| fault.error_len().is_none(), |_| true);
    let mut out = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for range in ranges {
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

/// The JSON number that contains `range`, which must be replaced by a string with quotes.
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

//! Secrets, kept out of whatever leaves.
//!
//! A [`Redactor`] knows the values of one load. It finds each in any mixture of the ways in which folio and what it
//! talks to write text: as it is, in either case, percent-encoded, escaped as in JSON or HTML, however often; in
//! hexadecimal; and in base64 at each of its three alignments. It is asked twice:
//! - where bytes come in, before anything can cut them apart: [`Redactor::hide`], and [`Redactor::value`] for what
//!   one entry takes from another;
//! - where bytes leave: [`Redactor::message`] looks at a whole message, whatever is in it, and [`Redactor::text`] at
//!   lines for people.
//!
//! [`Redactors`] holds those of the load that is served and of the loads before it that are still in use. What is not
//! here: which values are secret (load/), and where bytes come in and leave (world/, catalog/, transport/, cli/).

mod escape;
mod form;
mod message;
mod redactors;
mod run;
mod search;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

pub use redactors::Redactors;

use form::Form;
use search::Search;

/// What stands in the place of a secret.
pub const HIDDEN: &str = "[secret]";
/// Shorter values cannot be told from innocent text.
pub const SHORTEST: usize = 4;
/// From this length on a value is hardly ever in a text by chance.
pub const SAFE: usize = 8;
/// So much of a secret at the end of what broke off is taken for its beginning.
const BEGINNING: usize = 4;

/// How bytes end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Where whoever wrote them ended.
    Whole,
    /// Where whoever wrote them was ended: the last secret may be half written.
    Broken,
    /// Where folio cut them: the last secret may go on behind.
    Cut,
}

/// Finds secrets, and puts something else in their place.
#[derive(Debug, Default)]
pub struct Redactor {
    secrets: Vec<String>,
    search: Search,
    /// Names that clients need, though a secret may be part of them.
    names: HashSet<String>,
}

/// Two hide the same when they have the same secrets.
impl PartialEq for Redactor {
    fn eq(&self, other: &Redactor) -> bool {
        self.secrets == other.secrets && self.names == other.names
    }
}

impl Redactor {
    /// Hides these values, and each line of theirs that is long enough to be known again.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Redactor {
        let mut secrets: Vec<String> = secrets.into_iter().flat_map(parts).map(str::to_owned).collect();
        secrets.sort();
        secrets.dedup();
        let forms: Vec<Form> = secrets.iter().flat_map(|secret| Form::all(secret)).collect();
        Redactor { search: Search::new(forms), secrets, names: HashSet::new() }
    }

    /// Leaves these names as they are where the protocol has names: a client could not use what they name otherwise.
    #[must_use]
    pub fn sparing(mut self, names: impl IntoIterator<Item = String>) -> Redactor {
        if !self.is_empty() {
            self.names = names.into_iter().collect();
        }
        self
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Hides the secrets in a text.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.search.find(text.as_bytes());
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(String::from_utf8_lossy(&replaced(text.as_bytes(), &found)).into_owned())
    }

    /// The same in place.
    pub fn replace(&self, text: &mut String) {
        if let Cow::Owned(hidden) = self.text(text) {
            *text = hidden;
        }
    }

    /// Hides the secrets in bytes that came from outside, and returns how many bytes it took off their end.
    pub fn hide(&self, bytes: &mut Vec<u8>, end: End) -> usize {
        if self.is_empty() {
            return 0;
        }
        let least = match end {
            End::Whole => usize::MAX,
            End::Broken => BEGINNING,
            End::Cut => 1,
        };
        let (mut found, open) = self.search.find_open(bytes, least);
        let mut dropped = 0;
        if let Some(open) = open {
            found.retain(|range| range.start < open);
            match end {
                End::Cut => {
                    // A secret that ends behind here began before, and is hidden whole.
                    let from = found.last().map_or(open, |last| last.end.max(open)).min(bytes.len());
                    dropped = bytes.len() - from;
                    bytes.truncate(from);
                }
                _ => found.push(found.last().map_or(open, |last| last.end.max(open))..bytes.len()),
            }
        }
        if !found.is_empty() {
            *bytes = replaced(bytes, &found);
        }
        dropped
    }

    /// Whether a word is a part of a secret, in either case.
    pub fn has_part(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        word.chars().count() >= SHORTEST && self.secrets.iter().any(|secret| secret.to_lowercase().contains(&word))
    }

    fn finds(&self, bytes: &[u8]) -> bool {
        self.search.has_any(bytes)
    }
}

/// A secret and its lines, for a program may print one without the others. The frame of a key is no secret.
fn parts(secret: &str) -> impl Iterator<Item = &str> {
    let whole = Some(secret.trim()).filter(|whole| whole.chars().count() >= SHORTEST);
    let lines = secret.lines().map(str::trim).filter(|line| line.chars().count() >= SAFE && !line.starts_with("-----"));
    whole.into_iter().chain(lines)
}

/// Bytes with something else in the place of what was found. What is no text keeps its length, for the parts of a
/// picture or an archive know where the others are.
fn replaced(bytes: &[u8], found: &[Range<usize>]) -> Vec<u8> {
    let is_text = std::str::from_utf8(bytes).map_or_else(|fault| fault.error_len().is_none(), |_| true);
    let mut out = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for range in found {
        let number = if is_text { number_around(bytes, range) } else { None };
        let place = number.as_ref().unwrap_or(range);
        out.extend_from_slice(bytes.get(copied..place.start).unwrap_or_default());
        match (is_text, number.is_some()) {
            (false, _) => out.resize(out.len() + place.len(), b'*'),
            (true, true) => out.extend_from_slice(format!("\"{HIDDEN}\"").as_bytes()),
            (true, false) => out.extend_from_slice(HIDDEN.as_bytes()),
        }
        copied = copied.max(place.end);
    }
    out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
    out
}

/// The number in JSON of which `range` is a part: in its place has to stand a text, with quotes.
fn number_around(bytes: &[u8], range: &Range<usize>) -> Option<Range<usize>> {
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

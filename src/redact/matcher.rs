//! Searches a text for all forms of all secrets at once.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::InputEnd;
use super::form::{SecretForm, binary_forms, text_forms};

/// How much longer hexadecimal and base64 are with the breaks between their lines and groups.
const MAX_BREAKS_FACTOR: usize = 2;

/// How much of a form the automaton searches; the rest is compared, so that a long secret needs no more room than another.
const MAX_SEARCHED_BYTES: usize = 32;

/// Finds some secrets.
#[derive(Debug)]
pub(super) struct SecretMatcher {
    /// The secrets as they are and escaped, in any case.
    texts: FormMatcher,
    /// The secrets in hexadecimal and base64, which are searched without what breaks these.
    binary: FormMatcher,
}

impl SecretMatcher {
    pub(super) fn new(secrets: &[String]) -> SecretMatcher {
        SecretMatcher {
            texts: FormMatcher::new(secrets.iter().flat_map(|secret| text_forms(secret)).collect(), true),
            binary: FormMatcher::new(secrets.iter().flat_map(|secret| binary_forms(secret)).collect(), false),
        }
    }

    /// How long a secret may be in a text.
    pub(super) fn longest(&self) -> usize {
        self.texts.longest().max(self.binary.longest() * MAX_BREAKS_FACTOR)
    }

    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        self.texts.is_match(text) || self.binary.is_match(&join_unbroken(text))
    }

    /// The ranges of secrets, sorted and disjoint. What may be the beginning of a secret at an interrupted end is one.
    pub(super) fn find(&self, text: &[u8], end: InputEnd) -> Vec<Range<usize>> {
        let mut found = self.texts.find(text, end);
        let joined = join_unbroken(text);
        let (mut positions, mut passed) = (unbroken(text).map(|(at, _)| at), 0);
        for range in disjoint(self.binary.find(&joined, end)) {
            let mut place = positions.by_ref().skip(range.start - passed).take(range.len());
            if let Some(first) = place.next() {
                found.push(first..place.last().unwrap_or(first) + 1);
            }
            passed = range.end;
        }
        disjoint(found)
    }
}

/// The bytes of a text but those that only break hexadecimal and base64 into lines and groups, with their positions. A
/// line break may be escaped for JSON.
fn unbroken(text: &[u8]) -> impl Iterator<Item = (usize, u8)> {
    let mut before = 0;
    text.iter().copied().enumerate().filter(move |(_, byte)| {
        let is_break = match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b':' | b'\\' => true,
            b'n' | b'r' | b't' => before == b'\\',
            _ => false,
        };
        before = *byte;
        !is_break
    })
}

/// The bytes alone, for every message is searched: pieces between breaks are copied as a whole.
fn join_unbroken(text: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b':' | b'\\')) {
        let (piece, broken) = rest.split_at(at);
        joined.extend_from_slice(piece);
        let is_escape = matches!(broken, [b'\\', b'n' | b'r' | b't', ..]);
        rest = broken.get(1 + usize::from(is_escape)..).unwrap_or_default();
    }
    joined.extend_from_slice(rest);
    joined
}

/// Ranges in order; those that overlap are one.
pub(super) fn disjoint(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
    ranges
}

/// Finds some forms of secrets.
#[derive(Debug)]
struct FormMatcher {
    forms: Vec<SecretForm>,
    /// `None` where the forms are too many for one, which hides everything.
    automaton: Option<AhoCorasick>,
}

impl FormMatcher {
    fn new(forms: Vec<SecretForm>, in_any_case: bool) -> FormMatcher {
        let beginning = |form: &SecretForm| form.text.bytes().take(MAX_SEARCHED_BYTES).collect::<Vec<u8>>();
        let automaton = AhoCorasick::builder().ascii_case_insensitive(in_any_case).build(forms.iter().map(beginning));
        FormMatcher { automaton: automaton.ok(), forms }
    }

    fn longest(&self) -> usize {
        self.forms.iter().map(|form| form.text.len()).max().unwrap_or_default()
    }

    fn is_match(&self, text: &[u8]) -> bool {
        self.matches(text).next().is_some()
    }

    fn matches<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = Range<usize>> {
        let whole = self.automaton.is_none().then_some(0..text.len());
        let searched = self.automaton.iter().filter(move |automaton| automaton.is_match(text));
        let begun = searched.flat_map(move |automaton| automaton.find_overlapping_iter(text));
        whole.into_iter().chain(
            begun.filter_map(move |found| self.forms.get(found.pattern().as_usize())?.match_at(found.start(), text)),
        )
    }

    fn find(&self, text: &[u8], end: InputEnd) -> Vec<Range<usize>> {
        let mut found: Vec<_> = self.matches(text).collect();
        if end == InputEnd::Interrupted {
            found.extend(
                self.forms.iter().filter_map(|form| form.partial_start(text)).min().map(|start| start..text.len()),
            );
        }
        found
    }
}

impl SecretForm {
    /// Where a text ends with the beginning of this form that tells enough of the secret.
    fn partial_start(&self, text: &[u8]) -> Option<usize> {
        let ends_with = |length: &usize| {
            let end = text.len().checked_sub(*length).and_then(|start| text.get(start..));
            end.zip(self.text.as_bytes().get(..*length)).is_some_and(|(end, form)| end.eq_ignore_ascii_case(form))
        };
        (self.min_partial..self.text.len()).rev().find(ends_with).map(|length| text.len() - length)
    }

    /// The match at a position, with the characters of base64 beside it that encode a part of the secret.
    fn match_at(&self, start: usize, text: &[u8]) -> Option<Range<usize>> {
        let end = start + self.text.len();
        if !text.get(start..end)?.eq_ignore_ascii_case(self.text.as_bytes()) {
            return None;
        }
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
        let before = start.checked_sub(1).and_then(|at| text.get(at));
        let is_shared = |shares: bool, byte: Option<&u8>| usize::from(shares && byte.is_some_and(is_base64));
        let [first, last] = self.shares_edges;
        Some(start - is_shared(first, before)..end + is_shared(last, text.get(end)))
    }
}

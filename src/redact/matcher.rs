//! Searches for all patterns in one pass; three bytes rule out most positions.

use std::ops::Range;
use std::sync::Arc;

use super::MAX_WHITE_SPACE;
use super::base64_run::{Base64Run, DecodedRun, base64_runs};
use super::escape::{self, DecodedEscape, Escapes};
use super::pattern::{ByteMatcher, SecretPattern, base64_sextet, is_white_space};

/// How many states are kept at one position: a secret of backslashes alone has very many.
const MAX_STATES_PER_POSITION: usize = 256;
/// The step limit of one match: a minimum, and a number for each byte of the pattern.
const MIN_MATCH_STEPS: usize = 4096;
const MATCH_STEPS_PER_BYTE: usize = 16;
/// The number of buckets of three-byte prefixes.
const PREFIX_BUCKETS: usize = 1 << 16;
/// The longest escape of a base64 character: `\u002f`.
const MAX_BASE64_ESCAPE_BYTES: usize = 6;

/// As how many backslashes one is written at most: escaped five times for JSON.
const MAX_BACKSLASHES_PER_ONE: usize = 32;

/// How many separators and invisible characters may stand between two characters of a secret. A run of any length would
/// make the work of a match depend on how much of a secret a caller has guessed.
const MAX_SKIPS: u8 = 16;

/// The deepest nesting of base64 in base64.
const MAX_BASE64_DEPTH: usize = 2;

/// The patterns of all secrets, indexed by their first bytes.
#[derive(Debug, Default)]
pub(super) struct SecretMatcher {
    patterns: Vec<Arc<SecretPattern>>,
    /// The patterns that can start with a byte.
    patterns_by_first_byte: Vec<Vec<u32>>,
    /// Whether a pattern or an escape can start with a byte.
    candidate_bytes: Vec<bool>,
    /// The three-byte prefixes of the patterns, as bits of their buckets.
    prefix_bits: Vec<u64>,
    /// Whether a pattern can be written with a byte.
    pattern_bytes: Vec<bool>,
    /// Whether a pattern contains a quote.
    has_quotes: bool,
    /// The length of the shortest pattern, in bytes.
    shortest: usize,
}

impl SecretMatcher {
    pub(super) fn new(patterns: Vec<Arc<SecretPattern>>) -> SecretMatcher {
        if patterns.is_empty() {
            return SecretMatcher::default();
        }
        let mut matcher = SecretMatcher {
            patterns_by_first_byte: vec![Vec::new(); 256],
            candidate_bytes: (0..=255).map(escape::starts_escape).collect(),
            prefix_bits: vec![0; PREFIX_BUCKETS / 64],
            pattern_bytes: (0..=255).map(|byte: u8| byte.is_ascii()).collect(),
            has_quotes: patterns.iter().flat_map(|pattern| &pattern.matchers).any(ByteMatcher::is_quote),
            shortest: patterns.iter().map(|pattern| pattern.matchers.len()).min().unwrap_or_default(),
            patterns: Vec::new(),
        };
        for (number, pattern) in (0..).zip(&patterns) {
            matcher.index_pattern(number, pattern);
        }
        matcher.patterns = patterns;
        matcher
    }

    /// Indexes the first bytes of a pattern.
    fn index_pattern(&mut self, number: u32, pattern: &SecretPattern) {
        let admitted = |nth: usize| {
            let expected = pattern.matchers.get(nth).copied();
            let separators = if nth > 0 { pattern.separators } else { &[] };
            let follows_break = nth > 0 && pattern.matchers.get(nth - 1) == Some(&ByteMatcher::LineBreak);
            let matches = move |byte: &u8| {
                expected.is_some_and(|expected| expected.matches(*byte))
                    || separators.contains(byte)
                    || follows_break && is_white_space(*byte)
            };
            (0..=255).filter(matches)
        };
        for expected in &pattern.matchers {
            if let ByteMatcher::Byte(byte) = expected {
                self.pattern_bytes.get_mut(usize::from(*byte)).into_iter().for_each(|is_it| *is_it = true);
            }
        }
        for first in admitted(0) {
            self.patterns_by_first_byte
                .get_mut(usize::from(first))
                .into_iter()
                .for_each(|patterns| patterns.push(number));
            self.candidate_bytes.get_mut(usize::from(first)).into_iter().for_each(|is_first| *is_first = true);
            for second in admitted(1) {
                for third in admitted(2) {
                    let bucket = prefix_bucket(first, second, third);
                    self.prefix_bits.get_mut(bucket / 64).into_iter().for_each(|bits| *bits |= 1 << (bucket % 64));
                }
            }
        }
    }

    pub(super) fn patterns(&self) -> &[Arc<SecretPattern>] {
        &self.patterns
    }

    /// The length of the longest text that a pattern matches, in bytes.
    pub(super) fn longest(&self) -> usize {
        self.patterns.iter().map(|pattern| pattern.longest_match()).max().unwrap_or_default()
    }

    /// The length of the shortest pattern in base64.
    fn shortest_in_base64(&self) -> usize {
        (self.shortest * 8).div_ceil(6)
    }

    /// The ranges of all secrets, sorted and disjoint.
    pub(super) fn find_all(&self, text: &[u8]) -> Vec<Range<usize>> {
        self.find_all_and_partial(text, usize::MAX).0
    }

    /// The same, and the start of an incomplete secret of at least `min_partial` bytes at the end of the text.
    pub(super) fn find_all_and_partial(&self, text: &[u8], min_partial: usize) -> (Vec<Range<usize>>, Option<usize>) {
        let found = self.find_nested(text, min_partial, MAX_BASE64_DEPTH);
        (found.ranges, found.partial_start)
    }

    /// The secrets of a text, also in base64, which may be nested `remaining_depth` times.
    fn find_nested(&self, text: &[u8], min_partial: usize, remaining_depth: usize) -> SecretRanges {
        let escapes = Escapes::new(text);
        let mut found = self.find_plain(&escapes, min_partial);
        let Some(remaining_depth) = remaining_depth.checked_sub(1).filter(|_| !self.patterns.is_empty()) else {
            return found;
        };
        let is_open = |run: &Base64Run<'_>| min_partial < usize::MAX && run.is_last();
        for run in base64_runs(&escapes).filter(|run| run.length >= self.shortest_in_base64() || is_open(run)) {
            let min_partial = if is_open(&run) { min_partial } else { usize::MAX };
            for decoded in run.decoded() {
                found.take(&decoded, self.find_decoded(&decoded.bytes, min_partial, remaining_depth));
            }
        }
        found.ordered()
    }

    fn find_decoded(&self, bytes: &[u8], min_partial: usize, remaining_depth: usize) -> SecretRanges {
        let mut found = SecretRanges::default();
        let is_open = |piece: &Range<usize>| min_partial < usize::MAX && piece.end == bytes.len();
        for piece in self.pieces(bytes).filter(|piece| piece.len() >= self.shortest || is_open(piece)) {
            let min_partial = if is_open(&piece) { min_partial } else { usize::MAX };
            let inside = self.find_nested(bytes.get(piece.clone()).unwrap_or_default(), min_partial, remaining_depth);
            let moved = inside.ranges.into_iter().map(|range| range.start + piece.start..range.end + piece.start);
            found.ranges.extend(moved);
            found.partial_start = inside.partial_start.map(|open| open + piece.start);
        }
        found
    }

    /// The longest runs of bytes with which a secret can be written.
    fn pieces(&self, bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let mut behind = 0;
        let pieces = bytes.split(|byte| !self.pattern_bytes.get(usize::from(*byte)).is_some_and(|is_it| *is_it));
        pieces.map(move |piece| {
            let start = behind;
            behind += piece.len() + 1;
            start..start + piece.len()
        })
    }

    fn find_plain(&self, escapes: &Escapes<'_>, min_partial: usize) -> SecretRanges {
        let mut found = SecretRanges::default();
        self.scan(escapes, |start, reached| {
            if let Some(end) = reached.end {
                found.add(start..end);
            }
            if reached.partial.is_some_and(|length| length >= min_partial) {
                found.partial_start.get_or_insert(start);
            }
        });
        found
    }

    /// Passes to `each` how far each pattern matches at each position.
    fn scan(&self, escapes: &Escapes<'_>, mut each: impl FnMut(usize, &MatchExtent)) {
        if self.patterns.is_empty() {
            return;
        }
        let text = escapes.text;
        for (at, first) in text.iter().enumerate() {
            if !self.candidate_bytes.get(usize::from(*first)).is_some_and(|is_first| *is_first)
                || !self.may_match_at(text, at)
            {
                continue;
            }
            let mut firsts = FirstBytes::default();
            firsts.add(text.get(at).copied());
            let _ = escapes.decode(at, |unit| firsts.add(unit.bytes().first().copied()));
            for number in
                firsts.iter().filter_map(|first| self.patterns_by_first_byte.get(usize::from(first))).flatten()
            {
                let Some(pattern) = self.patterns.get(usize::try_from(*number).unwrap_or_default()) else { continue };
                let Some(start) = match_start(pattern, text, at) else { continue };
                let reached =
                    PatternMatch { text, escapes, pattern, pending: Vec::new(), extent: MatchExtent::default() };
                each(start, &reached.run_from(at));
            }
        }
    }

    /// Whether a byte may encode another one, or may occur between those of a secret.
    fn is_special(&self, byte: u8) -> bool {
        escape::is_special(byte) || self.has_quotes && escape::is_quote(byte)
    }

    fn may_match_at(&self, text: &[u8], at: usize) -> bool {
        match text.get(at..) {
            Some([first, second, third, ..]) => {
                let bucket = prefix_bucket(*first, *second, *third);
                let begins = self.prefix_bits.get(bucket / 64).is_some_and(|bits| bits >> (bucket % 64) & 1 == 1);
                begins
                    || escape::starts_escape(*first)
                    || [second, third].into_iter().any(|byte| self.is_special(*byte))
            }
            rest => rest.is_some_and(|rest| !rest.is_empty()),
        }
    }
}

/// The secrets of a text.
#[derive(Debug, Default)]
struct SecretRanges {
    /// Sorted and disjoint.
    ranges: Vec<Range<usize>>,
    /// The start of an incomplete secret at the end of the text.
    partial_start: Option<usize>,
}

impl SecretRanges {
    /// Adds a range that does not start before the earlier ones.
    fn add(&mut self, range: Range<usize>) {
        match self.ranges.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => self.ranges.push(range),
        }
    }

    /// Adds the secrets of decoded base64.
    fn take(&mut self, decoded: &DecodedRun<'_>, inside: SecretRanges) {
        let rest = inside.partial_start.map(|open| open..decoded.bytes.len());
        let open = rest.and_then(|rest| decoded.text_ranges(std::slice::from_ref(&rest)).pop());
        self.partial_start = self.partial_start.into_iter().chain(open.map(|open| open.start)).min();
        if !inside.ranges.is_empty() {
            self.ranges.extend(decoded.text_ranges(&inside.ranges));
        }
    }

    /// Sorts and merges the ranges.
    fn ordered(mut self) -> SecretRanges {
        if !self.ranges.is_sorted_by_key(|range| range.start) {
            self.ranges.sort_by_key(|range| range.start);
        }
        std::mem::take(&mut self.ranges).into_iter().for_each(|range| self.add(range));
        self
    }
}

fn prefix_bucket(first: u8, second: u8, third: u8) -> usize {
    let mixed = u32::from_le_bytes([first, second, third, 0]).wrapping_mul(0x9E37_79B1);
    usize::try_from(mixed >> 16).unwrap_or_default()
}

/// The bytes that a position may encode.
#[derive(Default)]
struct FirstBytes {
    bytes: [u8; 6],
    count: usize,
}

impl FirstBytes {
    fn add(&mut self, byte: Option<u8>) {
        let Some(byte) = byte.filter(|byte| !self.iter().any(|known| known == *byte)) else { return };
        if let Some(place) = self.bytes.get_mut(self.count) {
            *place = byte;
            self.count += 1;
        }
    }

    fn iter(&self) -> impl Iterator<Item = u8> {
        self.bytes.into_iter().take(self.count)
    }
}

/// The start of a pattern whose first whole character is at `at`; `None` where it cannot match.
fn match_start(pattern: &SecretPattern, text: &[u8], at: usize) -> Option<usize> {
    let Some(lead) = pattern.leading_sextet else { return Some(at) };
    let before = text.get(at.saturating_sub(MAX_BASE64_ESCAPE_BYTES)..at).unwrap_or_default();
    match before.last() {
        Some(byte) if lead.matches(*byte) => Some(at - 1),
        // The byte may be the end of an escape.
        Some(byte) if base64_sextet(*byte).is_some() && !before.iter().any(|byte| escape::is_special(*byte)) => None,
        _ => Some(at),
    }
}

/// How far a pattern matches.
#[derive(Default)]
struct MatchExtent {
    /// The end of the match.
    end: Option<usize>,
    /// How many bytes of the secret matched where the text ended.
    partial: Option<usize>,
}

/// One match of one pattern at one position.
struct PatternMatch<'a> {
    text: &'a [u8],
    escapes: &'a Escapes<'a>,
    pattern: &'a SecretPattern,
    /// The states to continue from, the first position last; no step leads back, so no state repeats.
    pending: Vec<MatchState>,
    extent: MatchExtent,
}

/// A position, and the matcher that is expected there.
#[derive(Debug, Clone, Copy)]
struct MatchState {
    at: usize,
    matcher: usize,
    /// How many characters were skipped before it.
    skips: u8,
}

impl PatternMatch<'_> {
    fn run_from(mut self, start: usize) -> MatchExtent {
        let mut next = Some(MatchState { at: start, matcher: 0, skips: 0 });
        let most = MIN_MATCH_STEPS + MATCH_STEPS_PER_BYTE * self.pattern.matchers.len();
        for _ in 0..most {
            let Some(state) = next else { return self.extent };
            self.step(state);
            next = self.pending.pop();
        }
        // Beyond the limit it counts as a secret, as far as it was read.
        self.extent.end = self.extent.end.max(next.map(|way| way.at));
        self.extent
    }

    fn push_state(&mut self, nth: usize, at: usize) {
        self.push(MatchState { at, matcher: nth, skips: 0 });
    }

    /// The state behind what is skipped.
    fn push_skip(&mut self, before: MatchState, at: usize) {
        if before.skips < MAX_SKIPS {
            self.push(MatchState { at, skips: before.skips + 1, ..before });
        }
    }

    fn push(&mut self, state: MatchState) {
        let at = state.at;
        let key = |state: &MatchState| (state.at, state.matcher);
        let place = match self.pending.binary_search_by(|other| key(&state).cmp(&key(other))) {
            Err(place) => place,
            Ok(same) => {
                return self
                    .pending
                    .get_mut(same)
                    .into_iter()
                    .for_each(|same| same.skips = same.skips.min(state.skips));
            }
        };
        let from = self.pending.partition_point(|other| other.at > at);
        let to = self.pending.partition_point(|other| other.at >= at);
        if to - from < MAX_STATES_PER_POSITION {
            self.pending.insert(place, state);
        } else {
            // Beyond the limit it counts as a secret, as far as it was read.
            self.extent.end = self.extent.end.max(Some(at));
        }
    }

    fn step(&mut self, state: MatchState) {
        let MatchState { at, matcher: nth, .. } = state;
        let Some(expected) = self.pattern.matchers.get(nth).copied() else {
            self.extent.end = self.extent.end.max(Some(at));
            return;
        };
        let Some(byte) = self.text.get(at).copied() else {
            self.record_partial(nth);
            return;
        };
        if expected.matches(byte) {
            self.push_state(nth + 1, at + 1);
            if expected == ByteMatcher::LineBreak {
                self.push_white_space(state);
            }
        }
        if expected == ByteMatcher::Byte(byte) && escape::is_quote(byte) {
            self.quote(nth, at);
        }
        if nth > 0 && self.pattern.separators.contains(&byte) {
            self.push_skip(state, at + 1);
        }
        if escape::is_special(byte) {
            self.step_escaped(state, expected, byte);
        }
    }

    /// The states behind white space, of which more may follow as escapes.
    fn push_white_space(&mut self, state: MatchState) {
        let rest = self.text.get(state.at..).unwrap_or_default();
        let length = rest.iter().take(MAX_WHITE_SPACE).take_while(|byte| is_white_space(**byte)).count();
        self.push_state(state.matcher + 1, state.at + length);
        self.push_skip(state, state.at + length);
    }

    /// A quote of the secret, which may be incomplete.
    fn quote(&mut self, nth: usize, at: usize) {
        let text = self.text;
        if escape::quote(text, at, |end| self.push_state(nth + 1, end)).is_err() {
            self.record_partial(nth);
        }
    }

    /// A byte that may be part of an escape.
    fn step_escaped(&mut self, state: MatchState, expected: ByteMatcher, byte: u8) {
        let MatchState { at, matcher: nth, .. } = state;
        if byte == b'+' && expected.matches(b' ') {
            self.push_state(nth + 1, at + 1);
            self.skip_as_white_space(state, at + 1);
        }
        if expected == ByteMatcher::Byte(b'\\') {
            self.push_backslashes(nth, at);
        }
        self.skip_invisible(state, byte, at + 1);
        let escapes = self.escapes;
        if escapes.decode(at, |unit| self.step_decoded(state, &unit)).is_err() {
            self.record_partial(nth);
        }
    }

    /// The states behind 1, 2, 4 and so on backslashes, each of which may stand for one.
    fn push_backslashes(&mut self, nth: usize, at: usize) {
        let text = self.text;
        let ends = std::iter::successors(escape::backslash_end(text, at), |end| escape::backslash_end(text, *end));
        for (count, end) in (1_usize..=MAX_BACKSLASHES_PER_ONE).zip(ends) {
            if count.is_power_of_two() {
                self.push_state(nth + 1, end);
            }
        }
    }

    fn step_decoded(&mut self, state: MatchState, unit: &DecodedEscape) {
        let nth = state.matcher;
        let bytes = unit.bytes();
        let matchers = self.pattern.matchers.get(nth..nth + bytes.len()).unwrap_or_default();
        if matchers.len() == bytes.len() && matchers.iter().zip(bytes).all(|(expected, byte)| expected.matches(*byte)) {
            self.push_state(nth + bytes.len(), unit.end);
            self.skip_as_white_space(state, unit.end);
        }
        if let [byte] = bytes {
            if *byte == b'+' && matches!(matchers, [expected] if expected.matches(b' ')) {
                self.push_state(nth + 1, unit.end);
                self.skip_as_white_space(state, unit.end);
            }
            self.skip_invisible(state, *byte, unit.end);
        }
    }

    /// Skips what stands for a part of the white space that is expected.
    fn skip_as_white_space(&mut self, state: MatchState, end: usize) {
        if self.pattern.matchers.get(state.matcher) == Some(&ByteMatcher::LineBreak) {
            self.push_skip(state, end);
        }
    }

    /// Skips invisible characters, and separators of the pattern.
    fn skip_invisible(&mut self, state: MatchState, byte: u8, end: usize) {
        if state.matcher == 0 {
            return;
        }
        let end = if self.pattern.separators.contains(&byte) {
            Some(end)
        } else {
            escape::invisible_end(self.text, byte, end)
        };
        if let Some(end) = end {
            self.push_skip(state, end);
        }
    }

    fn record_partial(&mut self, nth: usize) {
        if nth > 0 {
            self.extent.partial = self.extent.partial.max(Some(self.pattern.revealed_bytes(nth)));
        }
    }
}

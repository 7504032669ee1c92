//! Searches for all patterns in one pass: most positions are skipped after a look at three bytes.

use std::ops::Range;

use super::escape::{self, DecodedEscape};
use super::pattern::{ByteMatcher, SecretPattern, base64_sextet};
use super::run::{Decoded, Run, runs};

/// How many ways of having come to one place are followed: a secret of nothing but backslashes has very many.
const MAX_STATES_PER_POSITION: usize = 256;
/// How many steps a reading may take at least, and how many for each element of its form.
const MIN_MATCH_STEPS: usize = 4096;
const MATCH_STEPS_PER_BYTE: usize = 16;
/// Three bytes are one of so many.
const PREFIX_BUCKETS: usize = 1 << 16;
/// How long an escape of a character of base64 is: `\u002f`.
const MAX_BASE64_ESCAPE_BYTES: usize = 6;

/// How deep base64 may stand in base64.
const MAX_ESCAPE_DEPTH: usize = 2;

/// What is looked for.
#[derive(Debug, Default)]
pub(super) struct SecretMatcher {
    patterns: Vec<SecretPattern>,
    /// The forms that can begin with a byte.
    patterns_by_first_byte: Vec<Vec<u32>>,
    /// Which bytes are worth a look: a form can begin with them, or an escape can.
    candidate_bytes: Vec<bool>,
    /// Which three bytes a form can begin with, as bits of their buckets.
    prefix_bits: Vec<u64>,
    /// Which bytes a form can be written with.
    written_with: Vec<bool>,
    /// Whether there is a quote in any form.
    has_quotes: bool,
    /// How many bytes a form has at least.
    shortest: usize,
}

impl SecretMatcher {
    pub(super) fn new(forms: Vec<SecretPattern>) -> SecretMatcher {
        if forms.is_empty() {
            return SecretMatcher::default();
        }
        let mut search = SecretMatcher {
            patterns_by_first_byte: vec![Vec::new(); 256],
            candidate_bytes: (0..=255).map(escape::starts_escape).collect(),
            prefix_bits: vec![0; PREFIX_BUCKETS / 64],
            written_with: (0..=255).map(|byte: u8| byte.is_ascii()).collect(),
            has_quotes: forms.iter().flat_map(|form| &form.matchers).any(ByteMatcher::is_quote),
            shortest: forms.iter().map(|form| form.matchers.len()).min().unwrap_or_default(),
            patterns: Vec::new(),
        };
        for (number, form) in (0..).zip(&forms) {
            search.index_pattern(number, form);
        }
        search.patterns = forms;
        search
    }

    /// Notes what a form can begin with.
    fn index_pattern(&mut self, number: u32, form: &SecretPattern) {
        let admitted = |nth: usize| {
            let element = form.matchers.get(nth).copied();
            let between = if nth > 0 { form.between } else { &[] };
            let matches =
                move |byte: &u8| element.is_some_and(|element| element.matches(*byte)) || between.contains(byte);
            (0..=255).filter(matches)
        };
        for element in &form.matchers {
            if let ByteMatcher::Byte(byte) = element {
                self.written_with.get_mut(usize::from(*byte)).into_iter().for_each(|is_it| *is_it = true);
            }
        }
        for first in admitted(0) {
            self.patterns_by_first_byte.get_mut(usize::from(first)).into_iter().for_each(|forms| forms.push(number));
            self.candidate_bytes.get_mut(usize::from(first)).into_iter().for_each(|is_first| *is_first = true);
            for second in admitted(1) {
                for third in admitted(2) {
                    let bucket = prefix_bucket(first, second, third);
                    self.prefix_bits.get_mut(bucket / 64).into_iter().for_each(|bits| *bits |= 1 << (bucket % 64));
                }
            }
        }
    }

    /// How many characters of base64 a form needs at least.
    fn shortest_in_base64(&self) -> usize {
        (self.shortest * 8).div_ceil(6)
    }

    /// Everything to hide, in order and apart from one another.
    pub(super) fn find_all(&self, text: &[u8]) -> Vec<Range<usize>> {
        self.find_all_and_partial(text, usize::MAX).0
    }

    /// The same, and where the text ends with the beginning of a secret, at `least` so much of it.
    pub(super) fn find_all_and_partial(&self, text: &[u8], least: usize) -> (Vec<Range<usize>>, Option<usize>) {
        let found = self.find_nested(text, least, MAX_ESCAPE_DEPTH);
        (found.ranges, found.open)
    }

    /// What there is to hide in a text, and in what it has base64 of, so `deep`.
    fn find_nested(&self, text: &[u8], least: usize, deep: usize) -> Found {
        let mut found = self.find_plain(text, least);
        let Some(deep) = deep.checked_sub(1).filter(|_| !self.patterns.is_empty()) else { return found };
        let is_open = |run: &Run<'_>| least < usize::MAX && run.is_last();
        for run in runs(text).filter(|run| run.length >= self.shortest_in_base64() || is_open(run)) {
            let least = if is_open(&run) { least } else { usize::MAX };
            for decoded in run.decoded() {
                found.take(&decoded, self.find_decoded(&decoded.bytes, least, deep));
            }
        }
        found.ordered()
    }

    fn find_decoded(&self, bytes: &[u8], least: usize, deep: usize) -> Found {
        let mut found = Found::default();
        let is_open = |piece: &Range<usize>| least < usize::MAX && piece.end == bytes.len();
        for piece in self.pieces(bytes).filter(|piece| piece.len() >= self.shortest || is_open(piece)) {
            let least = if is_open(&piece) { least } else { usize::MAX };
            let inside = self.find_nested(bytes.get(piece.clone()).unwrap_or_default(), least, deep);
            let moved = inside.ranges.into_iter().map(|range| range.start + piece.start..range.end + piece.start);
            found.ranges.extend(moved);
            found.open = inside.open.map(|open| open + piece.start);
        }
        found
    }

    /// The pieces of bytes that hold nothing but what a secret can be written with: of most bytes there are none.
    fn pieces(&self, bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let mut behind = 0;
        let pieces = bytes.split(|byte| !self.written_with.get(usize::from(*byte)).is_some_and(|is_it| *is_it));
        pieces.map(move |piece| {
            let start = behind;
            behind += piece.len() + 1;
            start..start + piece.len()
        })
    }

    fn find_plain(&self, text: &[u8], least: usize) -> Found {
        let mut found = Found::default();
        self.scan(text, |start, reached| {
            if let Some(end) = reached.end {
                found.add(start..end);
            }
            if reached.partial.is_some_and(|length| length >= least) {
                found.open.get_or_insert(start);
            }
        });
        found
    }

    /// Passes to `each` how far each pattern matches at each position.
    fn scan(&self, text: &[u8], mut each: impl FnMut(usize, &MatchExtent)) {
        if self.patterns.is_empty() {
            return;
        }
        for (at, first) in text.iter().enumerate() {
            if !self.candidate_bytes.get(usize::from(*first)).is_some_and(|is_first| *is_first)
                || !self.may_match_at(text, at)
            {
                continue;
            }
            let mut firsts = FirstBytes::default();
            firsts.add(text.get(at).copied());
            let _ = escape::decode_escape(text, at, |unit| firsts.add(unit.bytes().first().copied()));
            for number in
                firsts.iter().filter_map(|first| self.patterns_by_first_byte.get(usize::from(first))).flatten()
            {
                let Some(form) = self.patterns.get(usize::try_from(*number).unwrap_or_default()) else { continue };
                let Some(start) = match_start(form, text, at) else { continue };
                let reached = PatternRun { text, form, pending: Vec::new(), extent: MatchExtent::default() };
                each(start, &reached.run_from(at));
            }
        }
    }

    /// Whether a byte may be there for another one, or beside those of a secret.
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

/// What there is to hide in a text.
#[derive(Debug, Default)]
struct Found {
    /// In order and apart from one another.
    ranges: Vec<Range<usize>>,
    /// Where the text ends with the beginning of a secret.
    open: Option<usize>,
}

impl Found {
    /// Takes up a range that does not begin before those that are there.
    fn add(&mut self, range: Range<usize>) {
        match self.ranges.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => self.ranges.push(range),
        }
    }

    /// Takes up what was found in what base64 in the text is of.
    fn take(&mut self, decoded: &Decoded<'_>, inside: Found) {
        let rest = inside.open.map(|open| open..decoded.bytes.len());
        let open = rest.and_then(|rest| decoded.places(std::slice::from_ref(&rest)).pop());
        self.open = self.open.into_iter().chain(open.map(|open| open.start)).min();
        if !inside.ranges.is_empty() {
            self.ranges.extend(decoded.places(&inside.ranges));
        }
    }

    /// Brings the ranges in order and apart from one another.
    fn ordered(mut self) -> Found {
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

/// What a place can be read as at first.
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

/// Where a form begins of which the first whole character is at `at`. Nothing where it cannot stand there.
fn match_start(form: &SecretPattern, text: &[u8], at: usize) -> Option<usize> {
    let Some(lead) = form.leading_sextet else { return Some(at) };
    let before = text.get(at.saturating_sub(MAX_BASE64_ESCAPE_BYTES)..at).unwrap_or_default();
    match before.last() {
        Some(byte) if lead.matches(*byte) => Some(at - 1),
        // It may be the end of an escape.
        Some(byte) if base64_sextet(*byte).is_some() && !before.iter().any(|byte| escape::is_special(*byte)) => None,
        _ => Some(at),
    }
}

/// How far a form can be read.
#[derive(Default)]
struct MatchExtent {
    /// The end of it.
    end: Option<usize>,
    /// How much of it was there when the text ended.
    partial: Option<usize>,
}

/// One form, read at one place.
struct PatternRun<'a> {
    text: &'a [u8],
    form: &'a SecretPattern,
    /// Where it can be gone on from, the first place last: nothing leads back, so none comes twice.
    pending: Vec<MatchState>,
    extent: MatchExtent,
}

/// A place, and the element that is expected there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MatchState {
    at: usize,
    matcher: usize,
}

impl PatternRun<'_> {
    fn run_from(mut self, start: usize) -> MatchExtent {
        let mut next = Some(MatchState { at: start, matcher: 0 });
        let most = MIN_MATCH_STEPS + MATCH_STEPS_PER_BYTE * self.form.matchers.len();
        for _ in 0..most {
            let Some(MatchState { at, matcher }) = next else { return self.extent };
            self.step(matcher, at);
            next = self.pending.pop();
        }
        // What cannot be told apart in bounded time counts as a secret, as far as it was read.
        self.extent.end = self.extent.end.max(next.map(|way| way.at));
        self.extent
    }

    fn push_state(&mut self, nth: usize, at: usize) {
        let way = MatchState { at, matcher: nth };
        let Err(place) = self.pending.binary_search_by(|other| way.cmp(other)) else { return };
        let from = self.pending.partition_point(|other| other.at > at);
        let to = self.pending.partition_point(|other| other.at >= at);
        if to - from < MAX_STATES_PER_POSITION {
            self.pending.insert(place, way);
        } else {
            // What cannot be told apart any more counts as a secret, as far as it was read.
            self.extent.end = self.extent.end.max(Some(at));
        }
    }

    fn step(&mut self, nth: usize, at: usize) {
        let Some(element) = self.form.matchers.get(nth).copied() else {
            self.extent.end = self.extent.end.max(Some(at));
            return;
        };
        let Some(byte) = self.text.get(at).copied() else {
            self.record_partial(nth);
            return;
        };
        if element.matches(byte) {
            self.push_state(nth + 1, at + 1);
        }
        if element == ByteMatcher::Byte(byte) && escape::is_quote(byte) {
            self.quote(nth, at);
        }
        if nth > 0 && self.form.between.contains(&byte) {
            self.push_state(nth, at + 1);
        }
        if escape::is_special(byte) {
            self.step_escaped(nth, at, (element, byte));
        }
    }

    /// A quote of the secret, of which a part may be there alone.
    fn quote(&mut self, nth: usize, at: usize) {
        let text = self.text;
        if escape::quote(text, at, |end| self.push_state(nth + 1, end)).is_err() {
            self.record_partial(nth);
        }
    }

    /// A byte that may be read as something else.
    fn step_escaped(&mut self, nth: usize, at: usize, (element, byte): (ByteMatcher, u8)) {
        if byte == b'+' && element == ByteMatcher::Byte(b' ') {
            self.push_state(nth + 1, at + 1);
        }
        if element == ByteMatcher::Byte(b'\\') {
            let ends: Vec<usize> = escape::backslash_ends(self.text, at).collect();
            [1, 2, 4, 8, 16, 32]
                .iter()
                .filter_map(|count| ends.get(count - 1))
                .for_each(|end| self.push_state(nth + 1, *end));
        }
        self.skip_invisible(nth, byte, at + 1);
        let text = self.text;
        if escape::decode_escape(text, at, |unit| self.step_decoded(nth, &unit)).is_err() {
            self.record_partial(nth);
        }
    }

    fn step_decoded(&mut self, nth: usize, unit: &DecodedEscape) {
        let bytes = unit.bytes();
        let elements = self.form.matchers.get(nth..nth + bytes.len()).unwrap_or_default();
        if elements.len() == bytes.len() && elements.iter().zip(bytes).all(|(element, byte)| element.matches(*byte)) {
            self.push_state(nth + bytes.len(), unit.end);
        }
        if let [byte] = bytes {
            if *byte == b'+' && elements == [ByteMatcher::Byte(b' ')] {
                self.push_state(nth + 1, unit.end);
            }
            self.skip_invisible(nth, *byte, unit.end);
        }
    }

    /// Passes by what is not seen, and the ends of lines in what may be written in lines.
    fn skip_invisible(&mut self, nth: usize, byte: u8, end: usize) {
        if nth == 0 {
            return;
        }
        let end =
            if self.form.between.contains(&byte) { Some(end) } else { escape::invisible_end(self.text, byte, end) };
        if let Some(end) = end {
            self.push_state(nth, end);
        }
    }

    fn record_partial(&mut self, nth: usize) {
        if nth > 0 {
            self.extent.partial = self.extent.partial.max(Some(nth));
        }
    }
}

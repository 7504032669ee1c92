//! The search for all forms at once, in one pass: nearly every place is passed by after a look at three bytes.

use std::ops::Range;

use super::escape::{self, Unit};
use super::form::{Element, Form, sextet};
use super::run::{Decoded, Run, runs};

/// How many ways of having come to one place are followed: a secret of nothing but backslashes has very many.
const WAYS: usize = 256;
/// How many steps a reading may take at least, and how many for each element of its form.
const STEPS: usize = 4096;
const STEPS_OF_ELEMENT: usize = 16;
/// Three bytes are one of so many.
const BUCKETS: usize = 1 << 16;
/// How long an escape of a character of base64 is: `\u002f`.
const ESCAPE: usize = 6;

/// How deep base64 may stand in base64.
const NESTED: usize = 2;

/// What is looked for.
#[derive(Debug, Default)]
pub(super) struct Search {
    forms: Vec<Form>,
    /// The forms that can begin with a byte.
    by_first: Vec<Vec<u32>>,
    /// Which bytes are worth a look: a form can begin with them, or an escape can.
    firsts: Vec<bool>,
    /// Which three bytes a form can begin with, as bits of their buckets.
    beginnings: Vec<u64>,
    /// Which bytes a form can be written with.
    written_with: Vec<bool>,
    /// Whether there is a quote in any form.
    has_quotes: bool,
    /// How many bytes a form has at least.
    shortest: usize,
}

impl Search {
    pub(super) fn new(forms: Vec<Form>) -> Search {
        if forms.is_empty() {
            return Search::default();
        }
        let mut search = Search {
            by_first: vec![Vec::new(); 256],
            firsts: (0..=255).map(escape::begins).collect(),
            beginnings: vec![0; BUCKETS / 64],
            written_with: (0..=255).map(|byte: u8| byte.is_ascii()).collect(),
            has_quotes: forms.iter().flat_map(|form| &form.elements).any(Element::is_quote),
            shortest: forms.iter().map(|form| form.elements.len()).min().unwrap_or_default(),
            forms: Vec::new(),
        };
        for (number, form) in (0..).zip(&forms) {
            search.note(number, form);
        }
        search.forms = forms;
        search
    }

    /// Notes what a form can begin with.
    fn note(&mut self, number: u32, form: &Form) {
        let admitted = |nth: usize| {
            let element = form.elements.get(nth).copied();
            let between = if nth > 0 { form.between } else { &[] };
            let admits =
                move |byte: &u8| element.is_some_and(|element| element.admits(*byte)) || between.contains(byte);
            (0..=255).filter(admits)
        };
        for element in &form.elements {
            if let Element::Byte(byte) = element {
                self.written_with.get_mut(usize::from(*byte)).into_iter().for_each(|is_it| *is_it = true);
            }
        }
        for first in admitted(0) {
            self.by_first.get_mut(usize::from(first)).into_iter().for_each(|forms| forms.push(number));
            self.firsts.get_mut(usize::from(first)).into_iter().for_each(|is_first| *is_first = true);
            for second in admitted(1) {
                for third in admitted(2) {
                    let bucket = bucket(first, second, third);
                    self.beginnings.get_mut(bucket / 64).into_iter().for_each(|bits| *bits |= 1 << (bucket % 64));
                }
            }
        }
    }

    /// How many characters of base64 a form needs at least.
    fn shortest_in_base64(&self) -> usize {
        (self.shortest * 8).div_ceil(6)
    }

    /// Everything to hide, in order and apart from one another.
    pub(super) fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        self.find_open(text, usize::MAX).0
    }

    /// The same, and where the text ends with the beginning of a secret, at `least` so much of it.
    pub(super) fn find_open(&self, text: &[u8], least: usize) -> (Vec<Range<usize>>, Option<usize>) {
        let found = self.find_nested(text, least, NESTED);
        (found.ranges, found.open)
    }

    /// What there is to hide in a text, and in what it has base64 of, so `deep`.
    fn find_nested(&self, text: &[u8], least: usize, deep: usize) -> Found {
        let mut found = self.find_plain(text, least);
        let Some(deep) = deep.checked_sub(1).filter(|_| !self.forms.is_empty()) else { return found };
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
        self.walk(text, |start, reached| {
            if let Some(end) = reached.end {
                found.add(start..end);
            }
            if reached.open.is_some_and(|length| length >= least) {
                found.open.get_or_insert(start);
            }
            true
        });
        found
    }

    /// Whether there is anything to hide.
    pub(super) fn has_any(&self, text: &[u8]) -> bool {
        self.has_any_nested(text, NESTED)
    }

    fn has_any_nested(&self, text: &[u8], deep: usize) -> bool {
        let mut any = false;
        self.walk(text, |_, reached| {
            any |= reached.end.is_some();
            !any
        });
        let Some(deep) = deep.checked_sub(1).filter(|_| !any && !self.forms.is_empty()) else { return any };
        let mut runs = runs(text).filter(|run| run.length >= self.shortest_in_base64());
        runs.any(|run| run.decoded().any(|decoded| self.has_any_decoded(&decoded.bytes, deep)))
    }

    fn has_any_decoded(&self, bytes: &[u8], deep: usize) -> bool {
        let mut pieces = self.pieces(bytes).filter(|piece| piece.len() >= self.shortest);
        pieces.any(|piece| self.has_any_nested(bytes.get(piece).unwrap_or_default(), deep))
    }

    /// Says how far each form can be read at each place, until `each` has enough.
    fn walk(&self, text: &[u8], mut each: impl FnMut(usize, &Reached) -> bool) {
        if self.forms.is_empty() {
            return;
        }
        for (at, first) in text.iter().enumerate() {
            if !self.firsts.get(usize::from(*first)).is_some_and(|is_first| *is_first) || !self.may_begin(text, at) {
                continue;
            }
            let mut firsts = Firsts::default();
            firsts.add(text.get(at).copied());
            let _ = escape::read(text, at, |unit| firsts.add(unit.bytes().first().copied()));
            for number in firsts.iter().filter_map(|first| self.by_first.get(usize::from(first))).flatten() {
                let Some(form) = self.forms.get(usize::try_from(*number).unwrap_or_default()) else { continue };
                let Some(start) = start_of(form, text, at) else { continue };
                let reached = Reading { text, form, ways: Vec::new(), reached: Reached::default() };
                if !each(start, &reached.from(at)) {
                    return;
                }
            }
        }
    }

    /// Whether a byte may be there for another one, or beside those of a secret.
    fn is_special(&self, byte: u8) -> bool {
        escape::is_special(byte) || self.has_quotes && escape::is_quote(byte)
    }

    fn may_begin(&self, text: &[u8], at: usize) -> bool {
        match text.get(at..) {
            Some([first, second, third, ..]) => {
                let bucket = bucket(*first, *second, *third);
                let begins = self.beginnings.get(bucket / 64).is_some_and(|bits| bits >> (bucket % 64) & 1 == 1);
                begins || escape::begins(*first) || [second, third].into_iter().any(|byte| self.is_special(*byte))
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

fn bucket(first: u8, second: u8, third: u8) -> usize {
    let mixed = u32::from_le_bytes([first, second, third, 0]).wrapping_mul(0x9E37_79B1);
    usize::try_from(mixed >> 16).unwrap_or_default()
}

/// What a place can be read as at first.
#[derive(Default)]
struct Firsts {
    bytes: [u8; 6],
    count: usize,
}

impl Firsts {
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
fn start_of(form: &Form, text: &[u8], at: usize) -> Option<usize> {
    let Some(lead) = form.lead else { return Some(at) };
    let before = text.get(at.saturating_sub(ESCAPE)..at).unwrap_or_default();
    match before.last() {
        Some(byte) if lead.admits(*byte) => Some(at - 1),
        // It may be the end of an escape.
        Some(byte) if sextet(*byte).is_some() && !before.iter().any(|byte| escape::is_special(*byte)) => None,
        _ => Some(at),
    }
}

/// How far a form can be read.
#[derive(Default)]
struct Reached {
    /// The end of it.
    end: Option<usize>,
    /// How much of it was there when the text ended.
    open: Option<usize>,
}

/// One form, read at one place.
struct Reading<'a> {
    text: &'a [u8],
    form: &'a Form,
    /// Where it can be gone on from, the first place last: nothing leads back, so none comes twice.
    ways: Vec<Way>,
    reached: Reached,
}

/// A place, and the element that is expected there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    at: usize,
    nth: usize,
}

impl Reading<'_> {
    fn from(mut self, start: usize) -> Reached {
        let mut next = Some(Way { at: start, nth: 0 });
        let most = STEPS + STEPS_OF_ELEMENT * self.form.elements.len();
        for _ in 0..most {
            let Some(Way { at, nth }) = next else { return self.reached };
            self.step(nth, at);
            next = self.ways.pop();
        }
        // What cannot be told apart in bounded time counts as a secret, as far as it was read.
        self.reached.end = self.reached.end.max(next.map(|way| way.at));
        self.reached
    }

    fn go(&mut self, nth: usize, at: usize) {
        let way = Way { at, nth };
        let Err(place) = self.ways.binary_search_by(|other| way.cmp(other)) else { return };
        let from = self.ways.partition_point(|other| other.at > at);
        let to = self.ways.partition_point(|other| other.at >= at);
        if to - from < WAYS {
            self.ways.insert(place, way);
        } else {
            // What cannot be told apart any more counts as a secret, as far as it was read.
            self.reached.end = self.reached.end.max(Some(at));
        }
    }

    fn step(&mut self, nth: usize, at: usize) {
        let Some(element) = self.form.elements.get(nth).copied() else {
            self.reached.end = self.reached.end.max(Some(at));
            return;
        };
        let Some(byte) = self.text.get(at).copied() else {
            self.ends_within(nth);
            return;
        };
        if element.admits(byte) {
            self.go(nth + 1, at + 1);
        }
        if element == Element::Byte(byte) && escape::is_quote(byte) {
            self.quote(nth, at);
        }
        if nth > 0 && self.form.between.contains(&byte) {
            self.go(nth, at + 1);
        }
        if escape::is_special(byte) {
            self.special(nth, at, (element, byte));
        }
    }

    /// A quote of the secret, of which a part may be there alone.
    fn quote(&mut self, nth: usize, at: usize) {
        let text = self.text;
        if escape::quote(text, at, |end| self.go(nth + 1, end)).is_err() {
            self.ends_within(nth);
        }
    }

    /// A byte that may be read as something else.
    fn special(&mut self, nth: usize, at: usize, (element, byte): (Element, u8)) {
        if byte == b'+' && element == Element::Byte(b' ') {
            self.go(nth + 1, at + 1);
        }
        if element == Element::Byte(b'\\') {
            let ends: Vec<usize> = escape::backslashes(self.text, at).collect();
            [1, 2, 4, 8, 16, 32].iter().filter_map(|count| ends.get(count - 1)).for_each(|end| self.go(nth + 1, *end));
        }
        self.pass_by(nth, byte, at + 1);
        let text = self.text;
        if escape::read(text, at, |unit| self.unit(nth, &unit)).is_err() {
            self.ends_within(nth);
        }
    }

    fn unit(&mut self, nth: usize, unit: &Unit) {
        let bytes = unit.bytes();
        let elements = self.form.elements.get(nth..nth + bytes.len()).unwrap_or_default();
        if elements.len() == bytes.len() && elements.iter().zip(bytes).all(|(element, byte)| element.admits(*byte)) {
            self.go(nth + bytes.len(), unit.end);
        }
        if let [byte] = bytes {
            if *byte == b'+' && elements == [Element::Byte(b' ')] {
                self.go(nth + 1, unit.end);
            }
            self.pass_by(nth, *byte, unit.end);
        }
    }

    /// Passes by what is not seen, and the ends of lines in what may be written in lines.
    fn pass_by(&mut self, nth: usize, byte: u8, end: usize) {
        if nth == 0 {
            return;
        }
        let end = if self.form.between.contains(&byte) { Some(end) } else { escape::unseen(self.text, byte, end) };
        if let Some(end) = end {
            self.go(nth, end);
        }
    }

    fn ends_within(&mut self, nth: usize) {
        if nth > 0 {
            self.reached.open = self.reached.open.max(Some(nth));
        }
    }
}

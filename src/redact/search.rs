//! The search for all forms at once, in one pass: nearly every place is passed by after a look at three bytes.

use std::ops::Range;

use super::escape::{self, Unit};
use super::form::{Element, Form, sextet};

/// How many ways of having come to one place are followed: a secret of nothing but backslashes has very many.
const WAYS: usize = 256;
/// How many steps a reading may take at least, and how many for each element of its form.
const STEPS: usize = 4096;
const STEPS_OF_ELEMENT: usize = 16;
/// Three bytes are one of so many.
const BUCKETS: usize = 1 << 16;
/// How long an escape of a character of base64 is: `\u002f`.
const ESCAPE: usize = 6;

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
            (0..=255).filter(move |byte| element.is_some_and(|element| element.admits(*byte)))
        };
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

    /// Everything to hide, in order and apart from one another.
    pub(super) fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        self.find_open(text, usize::MAX).0
    }

    /// The same, and where the text ends with the beginning of a secret, at `least` so much of it.
    pub(super) fn find_open(&self, text: &[u8], least: usize) -> (Vec<Range<usize>>, Option<usize>) {
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut open: Option<usize> = None;
        self.walk(text, |start, reached| {
            if let Some(end) = reached.end {
                match found.last_mut() {
                    Some(last) if start < last.end => last.end = last.end.max(end),
                    _ => found.push(start..end),
                }
            }
            if reached.open.is_some_and(|length| length >= least) {
                open.get_or_insert(start);
            }
            true
        });
        (found, open)
    }

    /// Whether there is anything to hide.
    pub(super) fn has_any(&self, text: &[u8]) -> bool {
        let mut any = false;
        self.walk(text, |_, reached| {
            any |= reached.end.is_some();
            !any
        });
        any
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

    fn may_begin(&self, text: &[u8], at: usize) -> bool {
        match text.get(at..) {
            Some([first, second, third, ..]) => {
                let bucket = bucket(*first, *second, *third);
                let begins = self.beginnings.get(bucket / 64).is_some_and(|bits| bits >> (bucket % 64) & 1 == 1);
                begins || escape::begins(*first) || [second, third].into_iter().any(|byte| escape::is_special(*byte))
            }
            rest => rest.is_some_and(|rest| !rest.is_empty()),
        }
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
        if escape::is_special(byte) {
            self.special(nth, at, (element, byte));
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
        let end = if self.form.wraps && byte == b'\n' { Some(end) } else { escape::unseen(self.text, byte, end) };
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

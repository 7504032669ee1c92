//! Escapes: in URLs, in JSON and its kin, in HTML; and one in another, as JSON in JSON or in a URL.

/// How deep escapes may stand in one another.
const NESTED: usize = 4;
/// The longest run of backslashes that is looked at: so many stand before a quote in JSON six deep.
const BACKSLASHES: usize = 64;
/// How much is read ahead: the longest escape behind its first character, as `#x1F600;`.
const AHEAD: usize = 12;

/// What an escape stands for, and where it ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    bytes: [u8; 4],
    length: usize,
    pub(super) end: usize,
}

impl Unit {
    fn byte(byte: u8, end: usize) -> Unit {
        Unit { bytes: [byte, 0, 0, 0], length: 1, end }
    }

    fn character(number: u32, end: usize) -> Option<Unit> {
        let mut bytes = [0; 4];
        let length = char::from_u32(number)?.encode_utf8(&mut bytes).len();
        Some(Unit { bytes, length, end })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// The text ends in the middle of an escape.
#[derive(Debug)]
pub(super) struct BreaksOff;

type Read = Result<(), BreaksOff>;

/// Whether a byte begins an escape.
pub(super) fn begins(byte: u8) -> bool {
    matches!(byte, b'%' | b'\\' | b'&')
}

/// Whether a byte begins an escape, stands for another one, or stands between those of a secret without being seen.
pub(super) fn is_special(byte: u8) -> bool {
    byte < b' ' || matches!(byte, b'%' | b'\\' | b'&' | b'+' | 0x7f)
}

/// Gives everything that an escape at `at` may stand for.
pub(super) fn read(text: &[u8], at: usize, mut give: impl FnMut(Unit)) -> Read {
    if !text.get(at).is_some_and(|byte| begins(*byte)) {
        return Ok(());
    }
    percent(text, at, &mut give)?;
    // What begins an escape in JSON or HTML may itself be percent-encoded.
    match plain(text, at)? {
        Some((b'\\', _)) => backslash(text, at, &mut give),
        Some((b'&', end)) => entity(text, end, &mut give),
        _ => Ok(()),
    }
}

/// Whether nothing more stands at `at`, or only the beginning of an escape.
pub(super) fn is_end(text: &[u8], at: usize) -> bool {
    at >= text.len() || read(text, at, |_| {}).is_err()
}

/// The ends of the backslashes that stand one after the other.
pub(super) fn backslashes(text: &[u8], at: usize) -> impl Iterator<Item = usize> {
    let next = move |at: usize| plain(text, at).ok().flatten().filter(|(byte, _)| *byte == b'\\').map(|(_, end)| end);
    std::iter::successors(next(at), move |end| next(*end)).take(BACKSLASHES)
}

/// A byte, as it is or percent-encoded, and where it ends.
fn plain(text: &[u8], at: usize) -> Result<Option<(u8, usize)>, BreaksOff> {
    let Some(byte) = text.get(at) else { return Ok(None) };
    let mut found = (*byte, at + 1);
    if *byte == b'%' {
        percent(text, at, &mut |unit| found = (unit.bytes().first().copied().unwrap_or_default(), unit.end))?;
    }
    Ok(Some(found))
}

/// `%2F`, `%252F` and so on.
fn percent(text: &[u8], at: usize, give: &mut impl FnMut(Unit)) -> Read {
    let Some(mut rest) = text.get(at..).and_then(|rest| rest.strip_prefix(b"%")) else { return Ok(()) };
    for _ in 0..=NESTED {
        match rest {
            [high, low, ..] => {
                let Some(byte) = number(&[*high, *low], 16) else { return Ok(()) };
                give(Unit::byte(u8::try_from(byte).unwrap_or_default(), text.len() - rest.len() + 2));
            }
            short if short.iter().all(u8::is_ascii_hexdigit) => return Err(BreaksOff),
            _ => return Ok(()),
        }
        let Some(nested) = rest.strip_prefix(b"25") else { return Ok(()) };
        rest = nested;
    }
    Ok(())
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    u32::from_str_radix(digits?, radix).ok()
}

/// What comes next, without percent-encoding.
struct Ahead {
    bytes: [u8; AHEAD],
    ends: [usize; AHEAD],
    count: usize,
}

impl Ahead {
    fn of(text: &[u8], at: usize) -> Ahead {
        let mut ahead = Ahead { bytes: [0; AHEAD], ends: [at; AHEAD], count: 0 };
        let mut at = at;
        for (place, end) in ahead.bytes.iter_mut().zip(&mut ahead.ends) {
            let Ok(Some((byte, behind))) = plain(text, at) else { break };
            (*place, *end, at) = (byte, behind, behind);
            ahead.count += 1;
        }
        ahead
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.count).unwrap_or_default()
    }

    /// Where the first `count` bytes end.
    fn end(&self, count: usize) -> usize {
        self.ends.get(count.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// Whether the text ends before more could be read.
    fn is_short(&self) -> bool {
        self.count < AHEAD
    }

    /// A number of hexadecimal digits from `from` on.
    fn digits(&self, from: usize, count: usize) -> Result<Option<u32>, BreaksOff> {
        let digits = self.bytes().get(from..).unwrap_or_default();
        match digits.get(..count) {
            Some(digits) => Ok(number(digits, 16)),
            None if self.is_short() && digits.iter().all(u8::is_ascii_hexdigit) => Err(BreaksOff),
            None => Ok(None),
        }
    }

    /// A byte of three octal digits.
    fn octal(&self) -> Result<Option<Unit>, BreaksOff> {
        let is_octal = |digits: &[u8]| digits.iter().all(|digit| matches!(digit, b'0'..=b'7'));
        match self.bytes().get(..3) {
            Some(digits) if is_octal(digits) => {
                let byte = number(digits, 8).and_then(|byte| u8::try_from(byte).ok());
                Ok(byte.map(|byte| Unit::byte(byte, self.end(3))))
            }
            None if self.is_short() && is_octal(self.bytes()) => Err(BreaksOff),
            _ => Ok(None),
        }
    }

    /// A number of any length from `from` on, up to `close`.
    fn closed(&self, from: usize, (close, radix): (u8, u32)) -> Result<Option<Unit>, BreaksOff> {
        let rest = self.bytes().get(from..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        match rest.get(count) {
            Some(byte) if *byte == close => {
                let number = rest.get(..count).and_then(|digits| number(digits, radix));
                Ok(number.and_then(|number| Unit::character(number, self.end(from + count + 1))))
            }
            None if self.is_short() => Err(BreaksOff),
            _ => Ok(None),
        }
    }
}

/// `\n`, `\/`, `\"`, `\u00e4`, `\u{e4}`, `\U000000e4`, `\xc3`, `\303`, behind any number of backslashes.
fn backslash(text: &[u8], at: usize, give: &mut impl FnMut(Unit)) -> Read {
    let behind = backslashes(text, at).last().unwrap_or(at);
    let ahead = Ahead::of(text, behind);
    let byte = match ahead.bytes().first() {
        None => return Err(BreaksOff),
        Some(b'u') => return unicode(text, &ahead, give),
        Some(b'x') => {
            let byte = ahead.digits(1, 2)?.and_then(|byte| u8::try_from(byte).ok());
            byte.map(|byte| Unit::byte(byte, ahead.end(3)))
        }
        Some(b'U') => {
            ahead
                .digits(1, 8)?
                .and_then(|character| Unit::character(character, ahead.end(9)))
                .into_iter()
                .for_each(give);
            return Ok(());
        }
        Some(b'0'..=b'3') => ahead.octal()?,
        Some(letter) => short(*letter).map(|byte| Unit::byte(byte, ahead.end(1))),
    };
    byte.into_iter().for_each(&mut *give);
    // A quote may be escaped for HTML, and a backslash before it for JSON.
    match ahead.bytes().first() {
        Some(b'&') => entity(text, ahead.end(1), give),
        _ => Ok(()),
    }
}

/// What a letter behind a backslash stands for.
fn short(letter: u8) -> Option<u8> {
    match letter {
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        b'b' => Some(8),
        b'f' => Some(12),
        b'e' => Some(27),
        letter => (letter == b' ' || letter.is_ascii_punctuation()).then_some(letter),
    }
}

/// What begins with a `u`: four digits, twice for a pair of surrogates, or any number of them in braces.
fn unicode(text: &[u8], ahead: &Ahead, give: &mut impl FnMut(Unit)) -> Read {
    if ahead.bytes().get(1) == Some(&b'{') {
        ahead.closed(2, (b'}', 16))?.into_iter().for_each(give);
        return Ok(());
    }
    let Some(high) = ahead.digits(1, 4)? else { return Ok(()) };
    let (mut character, mut end) = (Some(high), ahead.end(5));
    if (0xD800..0xDC00).contains(&high) {
        let behind = backslashes(text, end).last().unwrap_or(end);
        let ahead = Ahead::of(text, behind);
        let low = ahead.digits(1, 4)?.filter(|low| (0xDC00..0xE000).contains(low));
        let is_pair = behind > end && ahead.bytes().first() == Some(&b'u');
        character = low.filter(|_| is_pair).map(|low| 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
        end = ahead.end(5);
    }
    character.and_then(|character| Unit::character(character, end)).into_iter().for_each(give);
    Ok(())
}

const ENTITIES: [(&[u8], u8); 8] = [
    (b"amp;", b'&'),
    (b"lt;", b'<'),
    (b"gt;", b'>'),
    (b"quot;", b'"'),
    (b"apos;", b'\''),
    (b"sol;", b'/'),
    (b"plus;", b'+'),
    (b"equals;", b'='),
];

/// What follows `&`: a name, or `#` and a number; behind any number of `amp;`.
fn entity(text: &[u8], mut at: usize, give: &mut impl FnMut(Unit)) -> Read {
    for _ in 0..=NESTED {
        let ahead = Ahead::of(text, at);
        let bytes = ahead.bytes();
        if ahead.is_short() && ENTITIES.iter().any(|(name, _)| bytes.len() < name.len() && name.starts_with(bytes)) {
            return Err(BreaksOff);
        }
        for (name, byte) in ENTITIES.iter().filter(|(name, _)| bytes.starts_with(name)) {
            give(Unit::byte(*byte, ahead.end(name.len())));
        }
        let numbered = match bytes {
            [b'#', b'x' | b'X', ..] => ahead.closed(2, (b';', 16))?,
            [b'#', ..] => ahead.closed(1, (b';', 10))?,
            _ => None,
        };
        numbered.into_iter().for_each(&mut *give);
        if !bytes.starts_with(b"amp;") {
            return Ok(());
        }
        at = ahead.end(4);
    }
    Ok(())
}

/// Whether a byte is a quote, which may be written in several ways between quotes.
pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'')
}

/// Gives each end of a quote that begins at `at`, as it is written between quotes: twice in CSV and SQL, and in a
/// shell after the end of one text and before the beginning of another.
pub(super) fn quote(text: &[u8], at: usize, mut give: impl FnMut(usize)) -> Read {
    const WAYS: [&[u8]; 4] = [b"''", b"\"\"", b"'\\''", b"'\"'\"'"];
    let rest = text.get(at..).unwrap_or_default();
    WAYS.iter().filter(|way| rest.starts_with(way)).for_each(|way| give(at + way.len()));
    let breaks_off = WAYS.iter().any(|way| way.len() > rest.len() && way.starts_with(rest));
    if breaks_off { Err(BreaksOff) } else { Ok(()) }
}

/// Where what is not seen ends: of `byte`, which ends at `end`, a control character or the beginning of the sequence by
/// which a terminal is told a colour. Nothing where it would be seen.
pub(super) fn unseen(text: &[u8], byte: u8, end: usize) -> Option<usize> {
    match byte {
        0x1b if text.get(end) == Some(&b'[') => {
            let rest = text.get(end + 1..).unwrap_or_default();
            let parameters = rest.iter().take(64).take_while(|byte| matches!(byte, b' '..=b'?')).count();
            Some((end + 2 + parameters).min(text.len()))
        }
        0x1b => Some((end + 1).min(text.len())),
        b'\n' | b'\t' => None,
        0..b' ' | 0x7f => Some(end),
        _ => None,
    }
}

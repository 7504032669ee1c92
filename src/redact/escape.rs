//! Decodes URL, JSON and HTML escapes, nested in one another.

use super::backslash_runs::BackslashRuns;

/// The deepest nesting of escapes.
const MAX_ESCAPE_DEPTH: usize = 4;
/// The longest control string of a terminal, such as a link's address.
const MAX_CONTROL_STRING_BYTES: usize = 256;
/// The lookahead: the longest escape without its first character, such as `#x1F600;`.
const LOOKAHEAD_BYTES: usize = 12;

/// The character that an escape encodes, and its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecodedEscape {
    bytes: [u8; 4],
    length: usize,
    pub(super) end: usize,
}

impl DecodedEscape {
    fn from_byte(byte: u8, end: usize) -> DecodedEscape {
        DecodedEscape { bytes: [byte, 0, 0, 0], length: 1, end }
    }

    fn from_code_point(number: u32, end: usize) -> Option<DecodedEscape> {
        let mut bytes = [0; 4];
        let length = char::from_u32(number)?.encode_utf8(&mut bytes).len();
        Some(DecodedEscape { bytes, length, end })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// The text ends in the middle of an escape.
#[derive(Debug)]
pub(super) struct IncompleteEscape;

type EscapeResult = Result<(), IncompleteEscape>;

/// Whether a byte starts an escape.
pub(super) fn starts_escape(byte: u8) -> bool {
    matches!(byte, b'%' | b'\\' | b'&')
}

/// Whether a byte starts an escape, encodes another one, or may be invisible between those of a secret.
pub(super) fn is_special(byte: u8) -> bool {
    byte < b' ' || matches!(byte, b'%' | b'\\' | b'&' | b'+' | 0x7f)
}

/// The escapes of one text.
#[derive(Debug)]
pub(super) struct Escapes<'t> {
    pub(super) text: &'t [u8],
    backslash_runs: BackslashRuns,
}

impl<'t> Escapes<'t> {
    pub(super) fn new(text: &'t [u8]) -> Escapes<'t> {
        Escapes { text, backslash_runs: BackslashRuns::default() }
    }

    /// Emits every character that an escape at `at` may encode.
    pub(super) fn decode(&self, at: usize, mut emit: impl FnMut(DecodedEscape)) -> EscapeResult {
        if !self.text.get(at).is_some_and(|byte| starts_escape(*byte)) {
            return Ok(());
        }
        decode_percent(self.text, at, &mut emit)?;
        // What begins an escape in JSON or HTML may itself be percent-encoded.
        match percent_decoded_byte(self.text, at)? {
            Some((b'\\', _)) => decode_backslash(self, at, &mut emit),
            Some((b'&', end)) => decode_html_entity(self.text, end, &mut emit),
            _ => Ok(()),
        }
    }

    /// Whether the text ends at `at`, or with an incomplete escape there.
    pub(super) fn is_end(&self, at: usize) -> bool {
        at >= self.text.len() || self.decode(at, |_| {}).is_err()
    }

    /// The end of adjacent backslashes.
    fn backslashes_end(&self, at: usize) -> usize {
        self.backslash_runs.end(self.text, at)
    }
}

#[cfg(test)]
thread_local! {
    /// How many backslashes were looked for.
    pub(super) static BACKSLASHES_READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The end of a backslash.
pub(super) fn backslash_end(text: &[u8], at: usize) -> Option<usize> {
    #[cfg(test)]
    BACKSLASHES_READ.set(BACKSLASHES_READ.get() + 1);
    percent_decoded_byte(text, at).ok().flatten().filter(|(byte, _)| *byte == b'\\').map(|(_, end)| end)
}

/// A byte, as it is or percent-encoded, and where it ends.
fn percent_decoded_byte(text: &[u8], at: usize) -> Result<Option<(u8, usize)>, IncompleteEscape> {
    let Some(byte) = text.get(at) else { return Ok(None) };
    let mut found = (*byte, at + 1);
    if *byte == b'%' {
        decode_percent(text, at, &mut |unit| found = (unit.bytes().first().copied().unwrap_or_default(), unit.end))?;
    }
    Ok(Some(found))
}

/// `%2F`, `%252F` and so on.
fn decode_percent(text: &[u8], at: usize, emit: &mut impl FnMut(DecodedEscape)) -> EscapeResult {
    let Some(mut rest) = text.get(at..).and_then(|rest| rest.strip_prefix(b"%")) else { return Ok(()) };
    for _ in 0..=MAX_ESCAPE_DEPTH {
        match rest {
            [high, low, ..] => {
                let (Some(high), Some(low)) = (hex_digit(*high), hex_digit(*low)) else { return Ok(()) };
                emit(DecodedEscape::from_byte(high << 4 | low, text.len() - rest.len() + 2));
            }
            short if short.iter().all(u8::is_ascii_hexdigit) => return Err(IncompleteEscape),
            _ => return Ok(()),
        }
        let Some(nested) = rest.strip_prefix(b"25") else { return Ok(()) };
        rest = nested;
    }
    Ok(())
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

fn parse_digits(digits: &[u8], radix: u32) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    u32::from_str_radix(digits?, radix).ok()
}

/// The next bytes, without percent-encoding.
struct Lookahead {
    bytes: [u8; LOOKAHEAD_BYTES],
    ends: [usize; LOOKAHEAD_BYTES],
    count: usize,
}

impl Lookahead {
    fn new(text: &[u8], at: usize) -> Lookahead {
        let mut ahead = Lookahead { bytes: [0; LOOKAHEAD_BYTES], ends: [at; LOOKAHEAD_BYTES], count: 0 };
        let mut at = at;
        for (place, end) in ahead.bytes.iter_mut().zip(&mut ahead.ends) {
            let Ok(Some((byte, behind))) = percent_decoded_byte(text, at) else { break };
            (*place, *end, at) = (byte, behind, behind);
            ahead.count += 1;
        }
        ahead
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.count).unwrap_or_default()
    }

    /// The end of the first `count` bytes.
    fn end(&self, count: usize) -> usize {
        self.ends.get(count.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// Whether the text ends before more could be read.
    fn reached_end(&self) -> bool {
        self.count < LOOKAHEAD_BYTES
    }

    /// A number of hexadecimal digits from `from` on.
    fn fixed_hex_number(&self, from: usize, count: usize) -> Result<Option<u32>, IncompleteEscape> {
        let digits = self.bytes().get(from..).unwrap_or_default();
        match digits.get(..count) {
            Some(digits) => Ok(parse_digits(digits, 16)),
            None if self.reached_end() && digits.iter().all(u8::is_ascii_hexdigit) => Err(IncompleteEscape),
            None => Ok(None),
        }
    }

    /// A byte of three octal digits.
    fn octal(&self) -> Result<Option<DecodedEscape>, IncompleteEscape> {
        let is_octal = |digits: &[u8]| digits.iter().all(|digit| matches!(digit, b'0'..=b'7'));
        match self.bytes().get(..3) {
            Some(digits) if is_octal(digits) => {
                let byte = parse_digits(digits, 8).and_then(|byte| u8::try_from(byte).ok());
                Ok(byte.map(|byte| DecodedEscape::from_byte(byte, self.end(3))))
            }
            None if self.reached_end() && is_octal(self.bytes()) => Err(IncompleteEscape),
            _ => Ok(None),
        }
    }

    /// A number of any length from `from` on, up to `close`.
    fn delimited_number(
        &self,
        from: usize,
        (close, radix): (u8, u32),
    ) -> Result<Option<DecodedEscape>, IncompleteEscape> {
        let rest = self.bytes().get(from..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        match rest.get(count) {
            Some(byte) if *byte == close => {
                let number = rest.get(..count).and_then(|digits| parse_digits(digits, radix));
                Ok(number.and_then(|number| DecodedEscape::from_code_point(number, self.end(from + count + 1))))
            }
            None if self.reached_end() => Err(IncompleteEscape),
            _ => Ok(None),
        }
    }
}

/// `\n`, `\/`, `\"`, `\u00e4`, `\u{e4}`, `\U000000e4`, `\xc3`, `\303`, after any number of backslashes.
fn decode_backslash(escapes: &Escapes<'_>, at: usize, emit: &mut impl FnMut(DecodedEscape)) -> EscapeResult {
    let text = escapes.text;
    let behind = escapes.backslashes_end(at);
    let Ok(Some((first, end))) = percent_decoded_byte(text, behind) else { return Err(IncompleteEscape) };
    let byte = match first {
        b'u' => return decode_unicode(escapes, &Lookahead::new(text, behind), emit),
        b'x' => {
            let ahead = Lookahead::new(text, behind);
            let byte = ahead.fixed_hex_number(1, 2)?.and_then(|byte| u8::try_from(byte).ok());
            byte.map(|byte| DecodedEscape::from_byte(byte, ahead.end(3)))
        }
        b'U' => {
            let ahead = Lookahead::new(text, behind);
            ahead
                .fixed_hex_number(1, 8)?
                .and_then(|character| DecodedEscape::from_code_point(character, ahead.end(9)))
                .into_iter()
                .for_each(emit);
            return Ok(());
        }
        b'0'..=b'3' => Lookahead::new(text, behind).octal()?,
        letter => short_escape(letter).map(|byte| DecodedEscape::from_byte(byte, end)),
    };
    byte.into_iter().for_each(&mut *emit);
    // A quote may be escaped for HTML, and a backslash before it for JSON.
    if first == b'&' { decode_html_entity(text, end, emit) } else { Ok(()) }
}

/// The character that a letter after a backslash encodes.
fn short_escape(letter: u8) -> Option<u8> {
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

/// An escape with `u`: four digits, twice for a pair of surrogates, or any number of them in braces.
fn decode_unicode(escapes: &Escapes<'_>, ahead: &Lookahead, emit: &mut impl FnMut(DecodedEscape)) -> EscapeResult {
    if ahead.bytes().get(1) == Some(&b'{') {
        ahead.delimited_number(2, (b'}', 16))?.into_iter().for_each(emit);
        return Ok(());
    }
    let Some(high) = ahead.fixed_hex_number(1, 4)? else { return Ok(()) };
    let (mut character, mut end) = (Some(high), ahead.end(5));
    if (0xD800..0xDC00).contains(&high) {
        let behind = escapes.backslashes_end(end);
        let ahead = Lookahead::new(escapes.text, behind);
        let low = ahead.fixed_hex_number(1, 4)?.filter(|low| (0xDC00..0xE000).contains(low));
        let is_pair = behind > end && ahead.bytes().first() == Some(&b'u');
        character = low.filter(|_| is_pair).map(|low| 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
        end = ahead.end(5);
    }
    character.and_then(|character| DecodedEscape::from_code_point(character, end)).into_iter().for_each(emit);
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

/// The rest of an entity after `&`: a name, or `#` and a number; after any number of `amp;`.
fn decode_html_entity(text: &[u8], mut at: usize, emit: &mut impl FnMut(DecodedEscape)) -> EscapeResult {
    for _ in 0..=MAX_ESCAPE_DEPTH {
        if percent_decoded_byte(text, at).ok().flatten().is_some_and(|(byte, _)| !b"#algqspe".contains(&byte)) {
            return Ok(());
        }
        let ahead = Lookahead::new(text, at);
        let bytes = ahead.bytes();
        if ahead.reached_end() && ENTITIES.iter().any(|(name, _)| bytes.len() < name.len() && name.starts_with(bytes)) {
            return Err(IncompleteEscape);
        }
        for (name, byte) in ENTITIES.iter().filter(|(name, _)| bytes.starts_with(name)) {
            emit(DecodedEscape::from_byte(*byte, ahead.end(name.len())));
        }
        let numbered = match bytes {
            [b'#', b'x' | b'X', ..] => ahead.delimited_number(2, (b';', 16))?,
            [b'#', ..] => ahead.delimited_number(1, (b';', 10))?,
            _ => None,
        };
        numbered.into_iter().for_each(&mut *emit);
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

/// Emits each end of a quote at `at` that is written between quotes: doubled in CSV and SQL, and in a shell outside of
/// the quoted parts.
pub(super) fn quote(text: &[u8], at: usize, mut emit: impl FnMut(usize)) -> EscapeResult {
    const QUOTED_QUOTES: [&[u8]; 4] = [b"''", b"\"\"", b"'\\''", b"'\"'\"'"];
    let rest = text.get(at..).unwrap_or_default();
    QUOTED_QUOTES.iter().filter(|way| rest.starts_with(way)).for_each(|way| emit(at + way.len()));
    let breaks_off = QUOTED_QUOTES.iter().any(|way| way.len() > rest.len() && way.starts_with(rest));
    if breaks_off { Err(IncompleteEscape) } else { Ok(()) }
}

/// The end of a control string such as a link (OSC), which ends with BEL or ST. One that is longer hides nothing.
fn control_string_end(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let length = rest.iter().take(MAX_CONTROL_STRING_BYTES).position(|byte| matches!(byte, 7 | 0x1b | b'\n'));
    match length.and_then(|length| Some((length, rest.get(length..)?))) {
        Some((length, [7, ..])) => start + length + 1,
        Some((length, [0x1b, b'\\', ..])) => start + length + 2,
        _ => start,
    }
}

/// The end of an invisible character: of `byte`, which ends at `end`, a control character or the start of a terminal
/// sequence. `None` where it is visible.
pub(super) fn invisible_end(text: &[u8], byte: u8, end: usize) -> Option<usize> {
    match byte {
        0x1b if text.get(end) == Some(&b'[') => {
            let rest = text.get(end + 1..).unwrap_or_default();
            let parameters = rest.iter().take(64).take_while(|byte| matches!(byte, b' '..=b'?')).count();
            Some((end + 2 + parameters).min(text.len()))
        }
        0x1b if text.get(end).is_some_and(|byte| b"]PX^_".contains(byte)) => Some(control_string_end(text, end + 1)),
        0x1b => Some((end + 1).min(text.len())),
        b'\n' | b'\t' => None,
        0..b' ' | 0x7f => Some(end),
        _ => None,
    }
}

/// Says whether a character stands for itself everywhere in a URI (RFC 3986, 2.3).
pub(super) fn is_unreserved(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_' | '~')
}

/// Says whether a character may delimit parts of a URI (RFC 3986, 2.2).
pub(super) fn is_reserved(character: char) -> bool {
    matches!(
        character,
        ':' | '/' | '?' | '#' | '[' | ']' | '@' | '!' | '$' | '&' | '\'' | '(' | ')' | '*' | '+' | ',' | ';' | '='
    )
}

/// Appends `text`, percent-encoding every character that `keep` does not let stand.
pub(super) fn percent_encode_into(out: &mut String, text: &str, keep: impl Fn(char) -> bool) {
    let mut bytes = [0; 4];
    for character in text.chars() {
        if keep(character) {
            out.push(character);
            continue;
        }
        for byte in character.encode_utf8(&mut bytes).bytes() {
            out.push('%');
            out.extend(
                [byte >> 4, byte & 15].iter().filter_map(|half| char::from_digit((*half).into(), 16)).map(to_upper),
            );
        }
    }
}

/// Decodes a value; nothing comes of a broken escape, of bytes that are no UTF-8 and of a NUL.
pub(super) fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' { hex_digit(rest.next()?)? * 16 + hex_digit(rest.next()?)? } else { byte });
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// Finds the first `%` that two hexadecimal digits do not follow.
pub(super) fn broken_escape(text: &str) -> Option<usize> {
    let is_whole =
        |at: usize| text.as_bytes().get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    text.match_indices('%').map(|(at, _)| at).find(|at| !is_whole(*at))
}

fn to_upper(digit: char) -> char {
    digit.to_ascii_uppercase()
}

fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

//! The charset of a response's text, which becomes UTF-8.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};

/// How much of a text may come before it names its charset.
const MAX_PROLOG_BYTES: usize = 1024;

/// Decodes a text in the charset of its byte order mark, its `Content-Type`, or its own beginning. Other bytes stay as
/// they are. This comes before redaction, which knows secrets in UTF-8.
pub(super) fn decode_text(bytes: Vec<u8>, content_type: &str) -> Vec<u8> {
    let content_type = content_type.to_ascii_lowercase();
    let mime_type = content_type.split(';').next().unwrap_or_default().trim();
    let marked = Encoding::for_bom(&bytes).filter(|_| is_text(mime_type));
    let (encoding, mark) = match marked {
        Some(marked) => marked,
        None => (named_charset(&content_type).or_else(|| declared_charset(&bytes, mime_type)).unwrap_or(UTF_8), 0),
    };
    if encoding == UTF_8 {
        return if mark == 0 { bytes } else { bytes.get(mark..).unwrap_or_default().to_vec() };
    }
    match encoding.decode_without_bom_handling(bytes.get(mark..).unwrap_or_default()) {
        (Cow::Owned(text), _) => text.into_bytes(),
        (Cow::Borrowed(text), _) => text.as_bytes().to_vec(),
    }
}

fn is_text(mime_type: &str) -> bool {
    mime_type.starts_with("text/") || mime_type.contains("json") || is_xml(mime_type)
}

fn is_xml(mime_type: &str) -> bool {
    mime_type.ends_with("/xml") || mime_type.ends_with("+xml")
}

/// The charset that `Content-Type` names.
fn named_charset(content_type: &str) -> Option<&'static Encoding> {
    let charset = content_type.split(';').skip(1).find_map(|parameter| parameter.trim().strip_prefix("charset="))?;
    Encoding::for_label(charset.trim_matches('"').as_bytes())
}

/// The charset that an XML declaration or the `meta` element of a page names.
fn declared_charset(bytes: &[u8], mime_type: &str) -> Option<&'static Encoding> {
    let beginning = bytes.get(..MAX_PROLOG_BYTES).unwrap_or(bytes);
    let beginning = String::from_utf8_lossy(beginning).to_ascii_lowercase();
    let label = match mime_type {
        "text/html" => beginning.split_once("<meta").and_then(|(_, meta)| meta.split_once("charset="))?.1,
        _ if is_xml(mime_type) => {
            let (declaration, _) = beginning.trim_start().strip_prefix("<?xml")?.split_once("?>")?;
            declaration.split_once("encoding=")?.1
        }
        _ => return None,
    };
    let label = label.trim_start_matches(['"', '\'']);
    let end = label.find(|ch: char| !ch.is_ascii_alphanumeric() && !matches!(ch, '-' | '_' | ':' | '.'));
    Encoding::for_label(label.get(..end.unwrap_or(label.len()))?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::decode_text;

    #[test]
    fn charset_is_found_and_decoded() {
        let latin =
            |text: &str| text.chars().map(|ch| u8::try_from(u32::from(ch)).unwrap_or(b'?')).collect::<Vec<u8>>();
        for (bytes, content_type, text) in [
            (latin("grün"), "text/plain; charset=ISO-8859-1", "grün"),
            (latin("<?xml version='1.0' encoding='iso-8859-1'?><a>ü</a>"), "application/xml", "<a>ü</a>"),
            (latin("<html><META charset=\"latin1\">ü"), "text/html; x=y", "ü"),
            (b"\xef\xbb\xbf{\"a\": 1}".to_vec(), "application/json", "{\"a\": 1}"),
            (b"\xff\xfeh\0i\0".to_vec(), "text/plain; charset=utf-8", "hi"),
            ("ü".as_bytes().to_vec(), "text/plain", "ü"),
        ] {
            let decoded = String::from_utf8(decode_text(bytes, content_type)).unwrap_or_default();
            assert!(decoded.ends_with(text), "{content_type}: {decoded}");
        }
        for (bytes, content_type) in [(b"\xff\xfeh\0".to_vec(), "image/png"), (b"\xfc".to_vec(), "application/zip")] {
            assert_eq!(decode_text(bytes.clone(), content_type), bytes);
        }
    }
}

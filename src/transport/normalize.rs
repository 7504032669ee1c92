//! Messages in the form in which they are parsed, of peers that write some of it otherwise: `[]` for an object without
//! members, as PHP has no other empty array, null for an object that is required, and half of a surrogate pair, as of an
//! emoji that was cut. Each is overwritten in place, so a message keeps its length.

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use memchr::{memchr_iter, memmem};
use serde::{
    Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::message::BorrowedText;

/// What seldom stands in a message. Finders are made once, since that takes as long as to search a short message.
static NULL: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"null"));
static UNICODE_ESCAPE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"\\u"));

/// Where the objects of a message stand.
enum Shape {
    /// An object whose members do not matter.
    Object,
    /// An object that must not be null, which is otherwise as good as absent.
    Required(&'static Shape),
    /// An object with these members, and others.
    Members(&'static [(&'static str, Shape)]),
    /// An object whose members are all such.
    Each(&'static Shape),
}

const MESSAGE: Shape =
    Shape::Members(&[("params", PARAMS), ("result", Shape::Required(&Shape::Members(&[("_meta", Shape::Object)])))]);

const PARAMS: Shape = Shape::Members(&[
    ("arguments", Shape::Object),
    ("capabilities", Shape::Required(&CAPABILITIES)),
    ("context", Shape::Members(&[("arguments", Shape::Object)])),
    ("notifications", Shape::Required(&Shape::Object)),
    ("inputResponses", Shape::Each(&Shape::Object)),
    ("_meta", Shape::Members(&[("io.modelcontextprotocol/clientCapabilities", Shape::Required(&CAPABILITIES))])),
]);

const CAPABILITIES: Shape = Shape::Members(&[
    ("elicitation", Shape::Each(&Shape::Object)),
    ("roots", Shape::Object),
    ("sampling", Shape::Each(&Shape::Object)),
    ("experimental", Shape::Each(&Shape::Required(&Shape::Object))),
    ("extensions", Shape::Each(&Shape::Required(&Shape::Object))),
]);

/// A message as it is parsed: itself, or a copy where something is overwritten.
pub(super) fn normalize(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Cow::Borrowed(bytes) };
    let (objects, halves) = (misshapen_objects(text), lone_surrogates(bytes));
    if objects.is_empty() && halves.is_empty() {
        return Cow::Borrowed(bytes);
    }
    let mut normal = bytes.to_vec();
    for object in objects {
        let bytes = normal.get_mut(object).unwrap_or_default();
        bytes.fill(b' ');
        bytes.first_mut().into_iter().for_each(|byte| *byte = b'{');
        bytes.last_mut().into_iter().for_each(|byte| *byte = b'}');
    }
    for digits in halves {
        normal.get_mut(digits).into_iter().for_each(|digits| digits.copy_from_slice(b"fffd"));
    }
    Cow::Owned(normal)
}

/// Where objects are written as `[]` or null.
fn misshapen_objects(text: &str) -> Vec<Range<usize>> {
    let rest = |at: usize| text.as_bytes().get(at + 1..).unwrap_or_default().trim_ascii_start();
    let has_empty_array = || memchr_iter(b'[', text.as_bytes()).any(|at| rest(at).starts_with(b"]"));
    // A batch is not an object.
    if text.trim_ascii_start().starts_with('[') {
        return Vec::new();
    }
    if NULL.find(text.as_bytes()).is_none() && !has_empty_array() {
        return Vec::new();
    }
    let mut objects = Vec::new();
    find_misshapen(text, &MESSAGE, &mut |object| {
        let start = object.as_ptr() as usize - text.as_ptr() as usize;
        objects.push(start..start + object.len());
    });
    objects
}

fn find_misshapen<'t>(written: &'t str, shape: &'static Shape, report: &mut dyn FnMut(&'t str)) {
    let (shape, is_required) = match shape {
        Shape::Required(shape) => (*shape, true),
        shape => (shape, false),
    };
    let inside = written.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if inside.is_some_and(|inside| inside.trim_ascii().is_empty()) || is_required && written == "null" {
        report(written);
    } else if !matches!(shape, Shape::Object) {
        // What is not an object is refused when it is parsed.
        let _ = serde_json::Deserializer::from_str(written).deserialize_map(ObjectVisitor { shape, report });
    }
}

/// Looks at the members of an object.
struct ObjectVisitor<'r, 't> {
    shape: &'static Shape,
    report: &'r mut dyn FnMut(&'t str),
}

impl<'t> Visitor<'t> for ObjectVisitor<'_, 't> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'t>>(self, mut members: M) -> Result<(), M::Error> {
        while let Some(BorrowedText(name)) = members.next_key()? {
            let shape = match self.shape {
                Shape::Members(known) => known.iter().find(|(known, _)| *known == name).map(|(_, shape)| shape),
                Shape::Each(shape) => Some(*shape),
                Shape::Object | Shape::Required(_) => None,
            };
            match shape {
                Some(shape) => find_misshapen(members.next_value::<&RawValue>()?.get(), shape, self.report),
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The digits of escapes that are half of a surrogate pair.
fn lone_surrogates(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut halves = Vec::new();
    if UNICODE_ESCAPE.find(bytes).is_none() {
        return halves;
    }
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'\\', bytes.get(at..).unwrap_or_default()) {
        at += next;
        let is_pair = matches!(escaped_unit(bytes, at), Some(0xD800..=0xDBFF))
            && matches!(escaped_unit(bytes, at + 6), Some(0xDC00..=0xDFFF));
        match escaped_unit(bytes, at) {
            _ if is_pair => at += 12,
            Some(0xD800..=0xDFFF) => {
                halves.push(at + 2..at + 6);
                at += 6;
            }
            _ => at += 2,
        }
    }
    halves
}

/// The unit of UTF-16 that is escaped at a place as `\uXXXX`.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        String::from_utf8(normalize(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn empty_array_or_null_becomes_an_object_where_one_stands() {
        for (written, read) in [
            (r#"{"params":[]}"#, r#"{"params":{}}"#),
            (r#"{"params":{"arguments":[ ]}}"#, r#"{"params":{"arguments":{ }}}"#),
            (r#"{"params":{"arguments":{"a":[],"b":null}}}"#, r#"{"params":{"arguments":{"a":[],"b":null}}}"#),
            (r#"{"params":{"arguments":[1],"x":[]}}"#, r#"{"params":{"arguments":[1],"x":[]}}"#),
            (r#"{"params":{"arguments":null}}"#, r#"{"params":{"arguments":null}}"#),
            (r#"{"params":{"capabilities":null}}"#, r#"{"params":{"capabilities":{  }}}"#),
            (
                r#"{"params":{"capabilities":{"roots":[],"sampling":null,"experimental":{"x":null}}}}"#,
                r#"{"params":{"capabilities":{"roots":{},"sampling":null,"experimental":{"x":{  }}}}}"#,
            ),
            (
                r#"{"params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":[]}},"id":null}"#,
                r#"{"params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}},"id":null}"#,
            ),
            (r#"{"id":1,"result":[]}"#, r#"{"id":1,"result":{}}"#),
            (r#"{"params":{"name":"[]"},"x":[[]]}"#, r#"{"params":{"name":"[]"},"x":[[]]}"#),
            ("[]", "[]"),
        ] {
            assert_eq!(normal(written), read, "{written}");
        }
    }

    #[test]
    fn half_of_a_surrogate_pair_is_replaced() {
        for (written, read) in [
            (r#""x\ud83d""#, r#""x\ufffd""#),
            (r#""\uD83D\uDE00\udE00x""#, r#""\uD83D\uDE00\ufffdx""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d \\\ud83d \u00e9""#, r#""\\ud83d \\\ufffd \u00e9""#),
            (r#""\ud83"#, r#""\ud83"#),
        ] {
            assert_eq!(normal(written), read);
        }
    }
}

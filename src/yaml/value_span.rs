//! Maps offsets in the value of a scalar to spans in its file.

use std::ops::Range;

use serde_json::Value;
use serde_yaml::granit_parser::ScalarStyle;

use super::document::{Documents, Location, NodeId, NodeKind};
use crate::diagnostic::{SourceMap, Span};

impl Documents {
    /// The span in the file of a byte range of the string at `at`. Exact for block scalars and single lines, escapes
    /// included; for folded lines the nearest position with the same character.
    pub fn span_within(&self, sources: &SourceMap, at: Location, range: Range<usize>) -> Span {
        let whole = at.span();
        if at.node == u32::MAX {
            let base = whole.start as usize;
            return Span::new(at.file, base + range.start, base + range.end);
        }
        let node = self.get(at.file).and_then(|document| document.node(NodeId(at.node)));
        let Some(NodeKind::Scalar(scalar)) = node.map(|node| &node.kind) else { return whole };
        let (text, style, value) = (scalar.text(), &scalar.style, &scalar.value);
        if !matches!(value, Value::String(_)) && text.is_empty() {
            return whole;
        }
        let raw = sources.text_of(whole);
        let offsets = match style {
            ScalarStyle::Literal => literal_offsets(text, raw),
            _ => aligned_offsets(text, raw, *style),
        };
        let place = |offset: usize| offsets.get(offset.min(text.len())).copied().unwrap_or(raw.len());
        let end = if range.end > range.start { place(range.end - 1) + 1 } else { place(range.start) };
        let (start, mut end) = (place(range.start), end.min(raw.len()));
        while !raw.is_char_boundary(end) {
            end += 1;
        }
        let base = whole.start as usize;
        Span::new(at.file, base + start, base + end.max(start))
    }
}

/// In a literal block each line of the value is the end of a line of the source.
fn literal_offsets(text: &str, raw: &str) -> Vec<usize> {
    let mut offsets = Vec::with_capacity(text.len() + 1);
    let mut line_start = if raw.starts_with('|') { raw.find('\n').map_or(raw.len(), |at| at + 1) } else { 0 };
    for line in text.split_inclusive('\n') {
        let source = raw.get(line_start..).unwrap_or_default();
        let source_line = source.split('\n').next().unwrap_or_default();
        let bare = line.trim_end_matches('\n').len();
        let indent = source_line.trim_end_matches('\r').len().saturating_sub(bare);
        offsets.extend((0..line.len()).map(|column| (line_start + indent + column).min(raw.len())));
        line_start += source_line.len() + 1;
    }
    offsets.push(line_start.min(raw.len()));
    offsets
}

/// Walks value and source side by side, past quotes, escapes, indentation and folded line ends.
fn aligned_offsets(text: &str, raw: &str, style: ScalarStyle) -> Vec<usize> {
    let mut offsets = Vec::with_capacity(text.len() + 1);
    let mut at = match style {
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => 1,
        ScalarStyle::Folded if raw.starts_with('>') => raw.find('\n').map_or(raw.len(), |at| at + 1),
        _ => 0,
    };
    for wanted in text.chars() {
        let (start, end) = match_char(raw, at, wanted, style);
        offsets.extend(
            std::iter::repeat_n(start, wanted.len_utf8())
                .enumerate()
                .map(|(nth, start)| if end - start == wanted.len_utf8() { start + nth } else { start }),
        );
        at = end;
    }
    offsets.push(at.min(raw.len()));
    offsets
}

/// The source range of `wanted`, from `at` on.
fn match_char(raw: &str, mut at: usize, wanted: char, style: ScalarStyle) -> (usize, usize) {
    while style == ScalarStyle::DoubleQuoted
        && raw.get(at..).is_some_and(|rest| rest.starts_with("\\\n") || rest.starts_with("\\\r\n"))
    {
        let after = raw.get(at + 1..).unwrap_or_default();
        at += 1 + after.len() - after.trim_start().len();
    }
    let rest = raw.get(at..).unwrap_or_default();
    if style == ScalarStyle::DoubleQuoted && rest.starts_with('\\') {
        return (at, (at + escape_length(rest)).min(raw.len()));
    }
    if style == ScalarStyle::SingleQuoted && wanted == '\'' && rest.starts_with("''") {
        return (at, at + 2);
    }
    if rest.starts_with(wanted) {
        return (at, at + wanted.len_utf8());
    }
    if wanted.is_whitespace() {
        let blank = rest.len() - rest.trim_start().len();
        return (at, at + if wanted == '\n' { rest.find('\n').map_or(blank, |line_end| line_end + 1) } else { blank });
    }
    match rest.find(wanted) {
        Some(ahead) => (at + ahead, at + ahead + wanted.len_utf8()),
        None => (at, at),
    }
}

fn escape_length(rest: &str) -> usize {
    match rest.as_bytes().get(1) {
        Some(b'x') => 4,
        Some(b'u') => 6,
        Some(b'U') => 10,
        _ => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
    }
}

//! Finds the key whose indentation the parser stumbles over.

use std::ops::Range;

use super::missing_space::{describe_blank, is_odd_blank, missing_space, odd_blank};
use super::syntax_error::SyntaxError;

/// A line that begins with a key, or with an item of a list.
struct KeyLine<'a> {
    /// Where the line starts.
    start: usize,
    /// How many spaces stand before it.
    indent: usize,
    /// The key, or the dash.
    name: &'a str,
    /// Whether a value stands on the line.
    has_value: bool,
    /// Whether nothing stands behind the key, so that the value is expected below.
    is_empty: bool,
    /// The column of its keys, which stand behind the dash of an item.
    column: usize,
}

/// A tab in the indentation of a line, or of the next one: a text that ends there is read to its end.
pub(super) fn tab(text: &str, line: &Range<usize>, message: &str) -> Option<SyntaxError> {
    let next = text.get(line.end..)?.split_inclusive('\n').scan(line.end, |end, line| {
        let start = *end;
        *end += line.len();
        Some((start, line))
    });
    let next = next.skip(1).find(|(_, line)| !line.trim().is_empty()).filter(|_| message.contains("tab"));
    let found =
        [Some((line.start, text.get(line.clone())?)), next].into_iter().flatten().find_map(|(start, line)| {
            let indentation = line.len() - line.trim_start_matches([' ', '\t']).len();
            line.get(..indentation)?.find('\t').map(|at| start + at)
        })?;
    let error = SyntaxError::new(found..found + 1, "a tab in the indentation");
    Some(error.help("indent with spaces; YAML does not allow tabs in indentation"))
}

/// A blank that is no space to YAML, or a colon without one, behind which the parser reads a text on to a key that cannot
/// stand there.
pub(super) fn blank_or_joined_key(text: &str, message: &str, at: usize, line: &Range<usize>) -> Option<SyntaxError> {
    let of_line = text.get(line.clone())?;
    if let Some(found) = odd_blank(of_line) {
        return Some(found.moved_by(line.start).into());
    }
    let from = text.get(at..)?.trim_start_matches(|c: char| "|>+-".contains(c) || c.is_ascii_digit());
    if let Some(blank) = from.chars().next().filter(|c| is_odd_blank(*c)) {
        let start = text.len() - from.len();
        let error = SyntaxError::new(
            start..start + blank.len_utf8(),
            format!("{} in the place of a space", describe_blank(blank)),
        );
        return Some(error.help("remove it, or write an ordinary space"));
    }
    let is_joined = |line: &str| {
        let inner = line.trim_start_matches(' ');
        let inner = inner.strip_prefix("- ").map_or(inner, |item| item.trim_start_matches(' '));
        Some((line.len() - inner.len(), missing_space(inner)?))
    };
    if message.contains("simple key expected") {
        return is_joined(of_line).map(|(column, found)| found.moved_by(line.start + column).into());
    }
    if !["mapping values are not allowed", "did not find expected"].iter().any(|part| message.contains(part)) {
        return None;
    }
    let column = is_joined(of_line).map_or(of_line.len() - of_line.trim_start_matches(' ').len(), |(column, _)| column);
    let above = text.get(..line.start)?;
    let mut end = above.len();
    for written in above.split_inclusive('\n').rev() {
        end -= written.len();
        let written = written.trim_end_matches(['\n', '\r']);
        if let Some(found) = odd_blank(written) {
            return (!is_in_block_text(text, end, written)).then(|| found.moved_by(end).into());
        }
        if let Some((at, found)) = is_joined(written).filter(|(at, _)| *at == column) {
            return Some(found.moved_by(end + at).into());
        }
        if written.trim_start().starts_with('#') || KeyLine::read(end, written).is_some() {
            return None;
        }
    }
    None
}

/// Whether a line stands in a text after `|` or `>`.
fn is_in_block_text(text: &str, start: usize, line: &str) -> bool {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let above = text.get(..start).unwrap_or_default().lines().rev();
    let holder = above.filter(|above| !above.trim().is_empty()).find(|above| indent(above) < indent(line));
    holder.is_some_and(|holder| holder.trim_end().trim_end_matches(['-', '+']).ends_with(['|', '>']))
}

/// The mistake behind an error of the parser on a line, if it is the indentation of the line.
pub(super) fn explain(text: &str, message: &str, line: &Range<usize>) -> Option<SyntaxError> {
    let Some(found) = KeyLine::read(line.start, text.get(line.clone())?) else { return block_text(text, line) };
    let above = lines_above(text.get(..line.start)?);
    let (column, words) = if message.contains("mapping values are not allowed") {
        let nearest = above.first().filter(|above| above.has_value && above.column < found.indent)?;
        (nearest.column, format!("`{}` is indented too far: `{}` has a value already", found.name, nearest.name))
    } else if message.contains("did not find expected key") || message.contains("did not find expected '-'") {
        let column = nearest_column(&above, found.indent)?;
        if let Some(error) = sibling_of_its_parent(&above, &found) {
            return Some(error);
        }
        (column, format!("`{}` is indented by {}, unlike any line above", found.name, spaces(found.indent)))
    } else {
        return None;
    };
    Some(found.indent_error(words, column))
}

/// The lines of keys, from the last.
fn lines_above(text: &str) -> Vec<KeyLine<'_>> {
    let starts = text.split_inclusive('\n').scan(0, |end, line| {
        let start = *end;
        *end += line.len();
        Some((start, line.trim_end()))
    });
    let mut lines: Vec<KeyLine<'_>> = starts.filter_map(|(start, line)| KeyLine::read(start, line)).collect();
    lines.reverse();
    lines
}

/// The first entry of a map that stands in the column of the map's own key, if the entries behind it, of which `found`
/// is one, are indented.
fn sibling_of_its_parent(above: &[KeyLine<'_>], found: &KeyLine<'_>) -> Option<SyntaxError> {
    let at = above.iter().position(|line| line.indent < found.indent)?;
    let (first, parent) = (above.get(at)?, above.get(at + 1)?);
    let is_sibling = parent.is_empty && first.is_empty && first.indent == parent.column;
    is_sibling.then(|| {
        let words = format!("`{}` is not indented below `{}`, and `{}` is", first.name, parent.name, found.name);
        first.indent_error(words, found.indent)
    })
}

/// A line of a text after `|` or `>` that is not indented as the text is.
fn block_text(text: &str, line: &Range<usize>) -> Option<SyntaxError> {
    let written = text.get(line.clone())?;
    let indent = written.len() - written.trim_start_matches(' ').len();
    let mut first = None;
    for above in text.get(..line.start)?.lines().rev().filter(|line| !line.trim().is_empty()) {
        let key = KeyLine::read(0, above);
        let is_start = above.trim_end().ends_with(['|', '>']) || above.trim_end().ends_with("|-");
        let Some(key) = key.filter(|_| is_start) else {
            first = Some(above.len() - above.trim_start_matches(' ').len());
            continue;
        };
        let column = first.unwrap_or(key.column + 2);
        if column <= key.column || indent >= column {
            return None;
        }
        let start = line.start + indent;
        let message = format!("the text of `{}` is not indented as it should be", key.name);
        let error = SyntaxError::new(start..start + written.trim().len(), message);
        return Some(error.help(format!("indent each of its lines by {}", spaces(column))));
    }
    None
}

/// The column of a block above that is nearest to an indentation that none has.
fn nearest_column(above: &[KeyLine<'_>], indent: usize) -> Option<usize> {
    let mut least = usize::MAX;
    let mut columns = Vec::new();
    for line in above {
        for column in [line.column, line.indent] {
            if column < least {
                least = column;
                columns.push(column);
            }
        }
    }
    let nearest = columns.into_iter().min_by_key(|column| column.abs_diff(indent))?;
    (nearest != indent).then_some(nearest)
}

fn spaces(count: usize) -> String {
    format!("{count} space{}", if count == 1 { "" } else { "s" })
}

impl KeyLine<'_> {
    /// A line of block style, unless it is empty or a comment.
    fn read(start: usize, line: &str) -> Option<KeyLine<'_>> {
        let rest = line.trim_start_matches(' ');
        let indent = line.len() - rest.len();
        if rest.trim().is_empty() || rest.starts_with('#') {
            return None;
        }
        let inner = rest.strip_prefix("- ").map_or(rest, |inner| inner.trim_start_matches(' '));
        let column = indent + rest.len() - inner.len();
        let end = inner.find(": ").or_else(|| inner.trim_end().strip_suffix(':').map(str::len));
        let key = inner.get(..end.unwrap_or_default())?;
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
        let value = inner.get(end? + 1..)?.split(" #").next()?.trim();
        let is_open = value.is_empty() || value.starts_with(['|', '>', '&']);
        let name = if column > indent { rest.get(..1)? } else { key };
        is_key.then_some(KeyLine { start, indent, name, has_value: !is_open, is_empty: value.is_empty(), column })
    }

    /// The error at this line, which should be indented by `column`.
    fn indent_error(&self, message: String, column: usize) -> SyntaxError {
        let name = self.start + self.indent;
        let mut error = SyntaxError::new(name..name + self.name.len(), message);
        error.suggestion = Some((self.start..name, " ".repeat(column)));
        error.help(format!("indent it by {}", spaces(column)))
    }
}

//! Finds the key whose indentation the parser stumbles over.

use std::ops::Range;

use serde_yaml::granit_parser::ErrorKind;

use super::missing_space::{describe_blank, is_odd_blank, missing_space, odd_blank};
use super::syntax_error::SyntaxError;

/// A line that begins with a key, or with an item of a list.
struct KeyLine<'a> {
    /// Where the line starts.
    start: usize,
    /// How many spaces come before it.
    indent: usize,
    /// The key, or the dash.
    name: &'a str,
    /// Whether the line has a value.
    has_value: bool,
    /// Whether nothing follows the key, so that the value is expected below.
    is_empty: bool,
    /// The column of its keys, which follow the dash of an item.
    column: usize,
}

/// A tab in the indentation of a line; of the next one too where the parser stumbled over a tab, for it reads a text to
/// its end.
pub(super) fn tab(text: &str, line: &Range<usize>, is_known: bool) -> Option<SyntaxError> {
    let next = text.get(line.end..)?.split_inclusive('\n').scan(line.end, |end, line| {
        let start = *end;
        *end += line.len();
        Some((start, line))
    });
    let next = next.skip(1).find(|(_, line)| !line.trim().is_empty()).filter(|_| is_known);
    let at = [Some((line.start, text.get(line.clone())?)), next].into_iter().flatten().find_map(|(start, line)| {
        let indentation = line.len() - line.trim_start_matches([' ', '\t']).len();
        line.get(..indentation)?.find('\t').map(|at| start + at)
    })?;
    let error = SyntaxError::new(at..at + 1, "a tab in the indentation");
    Some(error.help("indent with spaces; YAML does not allow tabs in indentation"))
}

/// A blank that YAML does not take for a space, or a colon without one, after which the parser reads a text up to a key
/// that cannot be there.
pub(super) fn blank_or_joined_key(text: &str, kind: &ErrorKind, at: usize, line: &Range<usize>) -> Option<SyntaxError> {
    let of_line = text.get(line.clone())?;
    if let Some(space) = odd_blank(of_line) {
        return Some(space.moved_by(line.start));
    }
    let from = text.get(at..)?.trim_start_matches(|c: char| "|>+-".contains(c) || c.is_ascii_digit());
    if let Some(blank) = from.chars().next().filter(|c| is_odd_blank(*c)) {
        let start = text.len() - from.len();
        let error =
            SyntaxError::new(start..start + blank.len_utf8(), format!("{} instead of a space", describe_blank(blank)));
        return Some(error.help("remove it, or write an ordinary space"));
    }
    let is_joined = |line: &str| {
        let inner = line.trim_start_matches(' ');
        let inner = inner.strip_prefix("- ").map_or(inner, |item| item.trim_start_matches(' '));
        Some((line.len() - inner.len(), missing_space(inner)?))
    };
    if *kind == ErrorKind::SimpleKeyExpected {
        return is_joined(of_line).map(|(column, space)| space.moved_by(line.start + column));
    }
    let is_of_key = matches!(
        kind,
        ErrorKind::MappingValueNotAllowed
            | ErrorKind::ExpectedBlockMappingKey
            | ErrorKind::ExpectedBlockSequenceEntry
            | ErrorKind::ExpectedFlowMappingSeparator
            | ErrorKind::ExpectedNodeContent
            | ErrorKind::ExpectedDocumentStart
    );
    if !is_of_key {
        return None;
    }
    let column = is_joined(of_line).map_or(of_line.len() - of_line.trim_start_matches(' ').len(), |(column, _)| column);
    let above = text.get(..line.start)?;
    let mut end = above.len();
    for line_above in above.split_inclusive('\n').rev() {
        end -= line_above.len();
        let line_above = line_above.trim_end_matches(['\n', '\r']);
        if let Some(space) = odd_blank(line_above) {
            return (!is_in_block_text(text, end, line_above)).then(|| space.moved_by(end));
        }
        if let Some((at, space)) = is_joined(line_above).filter(|(at, _)| *at == column) {
            return Some(space.moved_by(end + at));
        }
        if line_above.trim_start().starts_with('#') || KeyLine::read(end, line_above).is_some() {
            return None;
        }
    }
    None
}

/// Whether a line is part of a text after `|` or `>`.
fn is_in_block_text(text: &str, start: usize, line: &str) -> bool {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let above = text.get(..start).unwrap_or_default().lines().rev();
    let holder = above.filter(|above| !above.trim().is_empty()).find(|above| indent(above) < indent(line));
    holder.is_some_and(|holder| holder.trim_end().trim_end_matches(['-', '+']).ends_with(['|', '>']))
}

/// The mistake that an error of the parser on a line is about, if it is the indentation of the line.
pub(super) fn explain(text: &str, kind: &ErrorKind, line: &Range<usize>) -> Option<SyntaxError> {
    let Some(key_line) = KeyLine::read(line.start, text.get(line.clone())?) else { return block_text(text, line) };
    let above = lines_above(text.get(..line.start)?);
    let (column, message) = match kind {
        ErrorKind::MappingValueNotAllowed => {
            let nearest = above.first().filter(|above| above.has_value && above.column < key_line.indent)?;
            (nearest.column, format!("`{}` is indented too far: `{}` has a value already", key_line.name, nearest.name))
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::ExpectedBlockSequenceEntry => {
            let column = nearest_column(&above, key_line.indent)?;
            if let Some(error) = sibling_of_its_parent(&above, &key_line) {
                return Some(error);
            }
            (column, format!("`{}` is indented by {}, unlike any line above", key_line.name, spaces(key_line.indent)))
        }
        _ => return None,
    };
    Some(key_line.indent_error(message, column))
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

/// The first entry of a map in the column of the map's own key, if the entries after it, of which `key_line`
/// is one, are indented.
fn sibling_of_its_parent(above: &[KeyLine<'_>], key_line: &KeyLine<'_>) -> Option<SyntaxError> {
    let at = above.iter().position(|line| line.indent < key_line.indent)?;
    let (first, parent) = (above.get(at)?, above.get(at + 1)?);
    let is_sibling = parent.is_empty && first.is_empty && first.indent == parent.column;
    is_sibling.then(|| {
        let words = format!("`{}` is not indented below `{}`, and `{}` is", first.name, parent.name, key_line.name);
        first.indent_error(words, key_line.indent)
    })
}

/// A line of a text after `|` or `>` that is not indented as the text is.
fn block_text(text: &str, line: &Range<usize>) -> Option<SyntaxError> {
    let of_line = text.get(line.clone())?;
    let indent = of_line.len() - of_line.trim_start_matches(' ').len();
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
        let error = SyntaxError::new(start..start + of_line.trim().len(), message);
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

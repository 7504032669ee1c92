//! Finds the key whose indentation the parser stumbles over.

use std::ops::Range;

use super::syntax_error::SyntaxError;

/// A line that begins with a key, or with an item of a list.
struct KeyLine<'a> {
    /// How many spaces stand before it.
    indent: usize,
    /// The key, or the dash.
    name: &'a str,
    /// Whether a value stands on the line.
    has_value: bool,
    /// The column of its keys, which stand behind the dash of an item.
    column: usize,
}

/// The mistake behind an error of the parser on a line, if it is the indentation of the line.
pub(super) fn explain(text: &str, message: &str, line: &Range<usize>) -> Option<SyntaxError> {
    let Some(found) = KeyLine::read(text.get(line.clone())?) else { return block_text(text, line) };
    let above: Vec<KeyLine<'_>> = text.get(..line.start)?.lines().rev().filter_map(KeyLine::read).collect();
    let (column, words) = if message.contains("mapping values are not allowed") {
        let nearest = above.first().filter(|above| above.has_value && above.column < found.indent)?;
        (nearest.column, format!("`{}` is indented too far: `{}` has a value already", found.name, nearest.name))
    } else if message.contains("did not find expected key") || message.contains("did not find expected '-'") {
        let column = nearest_column(&above, found.indent)?;
        (column, format!("`{}` is indented by {}, unlike any line above", found.name, spaces(found.indent)))
    } else {
        return None;
    };
    let start = line.start + found.indent;
    let mut error = SyntaxError::new(start..start + found.name.len(), words);
    error.suggestion = Some((line.start..start, " ".repeat(column)));
    Some(error.help(format!("indent it by {}", spaces(column))))
}

/// A line of a text after `|` or `>` that is not indented as the text is.
fn block_text(text: &str, line: &Range<usize>) -> Option<SyntaxError> {
    let written = text.get(line.clone())?;
    let indent = written.len() - written.trim_start_matches(' ').len();
    let mut first = None;
    for above in text.get(..line.start)?.lines().rev().filter(|line| !line.trim().is_empty()) {
        let key = KeyLine::read(above);
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
    fn read(line: &str) -> Option<KeyLine<'_>> {
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
        is_key.then_some(KeyLine { indent, name, has_value: !is_open, column })
    }
}

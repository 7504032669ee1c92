//! Lines of block style, moved to another column or below another key.

use super::Corrector;
use crate::diagnostic::Span;
use crate::yaml::{MapEntry, NodeId};

/// Entries of one map on lines of their own, one below the other.
pub(super) struct EntryLines {
    /// From the indentation of the first key to the end of the last line.
    pub(super) span: Span,
    /// How many spaces come before the first key.
    pub(super) column: usize,
}

impl Corrector<'_> {
    /// The lines of these entries; `None` in flow style.
    pub(super) fn lines_of(&self, entries: &[MapEntry]) -> Option<EntryLines> {
        let (first, last) = (entries.first()?, entries.last()?);
        let text = self.report.sources.get(self.document.file())?.text();
        let start = self.span(first.key).start as usize;
        let end = (self.span(last.value).end.max(self.span(last.key).end)) as usize;
        let line = text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
        let is_indentation = text.get(line..start)?.bytes().all(|byte| byte == b' ');
        let end = start + text.get(start..end)?.trim_end().len();
        let rest = text.get(end..)?.lines().next().unwrap_or_default().trim();
        let is_whole = rest.is_empty() || rest.starts_with('#') || rest == ":";
        let is_ordered = entries.iter().all(|entry| {
            let (key, value) = (self.span(entry.key), self.span(entry.value));
            start <= key.start as usize
                && key.start <= value.start
                && value.end as usize <= end.max(key.end as usize) + 1
        });
        let lines = EntryLines { span: Span::new(self.document.file(), line, end), column: start - line };
        (is_indentation && is_whole && is_ordered).then_some(lines)
    }

    /// The column of a key that begins its line.
    pub(super) fn column_of(&self, key: NodeId) -> Option<usize> {
        let text = self.report.sources.get(self.document.file())?.text();
        let before = text.get(..self.span(key).start as usize)?;
        let line = before.get(before.rfind('\n').map_or(0, |at| at + 1)..)?;
        line.bytes().all(|byte| byte == b' ').then_some(line.len())
    }

    /// The text of lines with their first key in another column.
    pub(super) fn moved_lines(&self, lines: &EntryLines, column: usize) -> Option<String> {
        let mut moved = Vec::new();
        for line in self.report.sources.text_of(lines.span).split('\n') {
            let spaces = line.len() - line.trim_start_matches(' ').len();
            let is_comment = line.trim_start().starts_with('#');
            if line.trim().is_empty() {
                moved.push(line.to_owned());
            } else if spaces + column < lines.column && !is_comment {
                return None;
            } else {
                let spaces = (spaces + column).saturating_sub(lines.column);
                moved.push(format!("{}{}", " ".repeat(spaces), line.trim_start_matches(' ')));
            }
        }
        Some(moved.join("\n"))
    }
}

//! The lines of a file that a snippet shows, cut to what is near the spans and sanitized.

use std::collections::BTreeMap;
use std::ops::Range;

use super::sanitize::{one_line, replacement_char};
use super::{FileId, SourceFile, SourceMap, Span};

/// Characters that are kept on either side of a span.
const CONTEXT_CHARS: usize = 120;

/// Characters of a span that are underlined; the rest is cut off.
const MAX_SPAN_CHARS: usize = 160;

/// The distance in lines up to which a note is shown in the snippet of the primary span.
const MAX_NOTE_DISTANCE_LINES: usize = 50;

/// An underlined range.
pub(super) struct Mark {
    /// Whether it is the span of the diagnostic itself.
    pub primary: bool,
    /// The label beside it.
    pub label: Option<String>,
    line: usize,
    range: Range<usize>,
}

/// Some lines of one file with marks in them.
pub(super) struct Excerpt {
    file: FileId,
    path: String,
    lines: BTreeMap<usize, Window>,
    marks: Vec<Mark>,
    column: u32,
}

impl Excerpt {
    /// The span of a diagnostic. `None` where its file is unknown.
    pub(super) fn primary(sources: &SourceMap, span: Span) -> Option<Excerpt> {
        Excerpt::with_mark(sources, span, true, None)
    }

    /// A note that is shown on its own.
    pub(super) fn note(sources: &SourceMap, span: Span, label: String) -> Option<Excerpt> {
        Excerpt::with_mark(sources, span, false, Some(label))
    }

    /// A span that is shown whole: `None` where it is longer than a snippet shows of one line.
    pub(super) fn single_line(sources: &SourceMap, span: Span) -> Option<Excerpt> {
        let excerpt = Excerpt::primary(sources, span)?;
        let text = sources.get(span.file)?.text().get(span.start as usize..span.end as usize)?;
        (!text.contains('\n') && text.chars().count() <= MAX_SPAN_CHARS).then_some(excerpt)
    }

    fn with_mark(sources: &SourceMap, span: Span, primary: bool, label: Option<String>) -> Option<Excerpt> {
        let source = sources.get(span.file)?;
        let path = one_line(&source.path().display().to_string()).into_owned();
        let position = source.position(span.start);
        let line = position.line as usize;
        let (window, range) = Window::around(source, line, span);
        let marks = vec![Mark { primary, label, line, range }];
        Some(Excerpt { file: span.file, path, lines: BTreeMap::from([(line, window)]), marks, column: position.column })
    }

    /// Adds a note that is near enough; returns whether it did.
    pub(super) fn try_add_note(&mut self, sources: &SourceMap, span: Span, label: &str) -> bool {
        let Some(source) = sources.get(span.file).filter(|_| span.file == self.file) else { return false };
        let line = source.position(span.start).line as usize;
        if self.marks.first().is_none_or(|mark| mark.line.abs_diff(line) > MAX_NOTE_DISTANCE_LINES) {
            return false;
        }
        let range = match self.lines.get(&line) {
            Some(window) if window.contains(span) => window.locate(source, span),
            Some(_) => return false,
            None => {
                let (window, range) = Window::around(source, line, span);
                self.lines.insert(line, window);
                range
            }
        };
        self.fill_gap(source, line);
        self.marks.push(Mark { primary: false, label: Some(label.to_owned()), line, range });
        true
    }

    /// Shows a single line that is between two shown ones.
    fn fill_gap(&mut self, source: &SourceFile, line: usize) {
        for (between, beyond) in [(line.wrapping_sub(1), line.wrapping_sub(2)), (line + 1, line + 2)] {
            if self.lines.contains_key(&beyond) && !self.lines.contains_key(&between) {
                let start = source.line_range(between).start;
                let (window, _) = Window::around(source, between, Span::new(self.file, start, start));
                self.lines.insert(between, window);
            }
        }
    }

    /// The path, as it is shown.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The number of the first line.
    pub(super) fn first_line(&self) -> usize {
        self.lines.keys().next().copied().unwrap_or(1)
    }

    /// All lines from the first to the last; those that are not shown are left blank.
    pub(super) fn text(&self) -> String {
        let last = self.lines.keys().next_back().copied().unwrap_or(1);
        let lines: Vec<&str> = (self.first_line()..=last).map(|line| self.line(line)).collect();
        lines.join("\n")
    }

    fn line(&self, line: usize) -> &str {
        self.lines.get(&line).map_or(" ", |window| &window.text)
    }

    /// The marks with their ranges in [`Excerpt::text`].
    pub(super) fn marks(&self) -> impl Iterator<Item = (Range<usize>, &Mark)> {
        self.marks.iter().map(|mark| {
            let before: usize = (self.first_line()..mark.line).map(|line| self.line(line).len() + 1).sum();
            (before + mark.range.start..before + mark.range.end, mark)
        })
    }

    /// Corrects the column, which the renderer counts from the start of a cut line.
    pub(super) fn correct_column(&self, rendered: String) -> String {
        let Some(mark) = self.marks.first() else { return rendered };
        let shown = self.line(mark.line).get(..mark.range.start).unwrap_or_default().chars().count() + 1;
        if shown == self.column as usize {
            return rendered;
        }
        let position = format!("{}:{}:", self.path, mark.line);
        rendered.replacen(&format!("{position}{shown}\n"), &format!("{position}{}\n", self.column), 1)
    }
}

/// A part of one line, never empty, sanitized.
struct Window {
    /// The bytes of the source that it shows.
    source_range: Range<usize>,
    /// Replaces the part of the line before it.
    ellipsis: &'static str,
    text: String,
}

impl Window {
    /// The part of `line` around `span`, and the range of `span` in the window's text.
    fn around(source: &SourceFile, line: usize, span: Span) -> (Window, Range<usize>) {
        let whole = source.line_range(line);
        let inside = clamp_span(source, span, &whole);
        let text = source.text();
        let after = text.get(inside.end..whole.end).unwrap_or_default();
        let before = text.get(whole.start..inside.start).unwrap_or_default();
        let start = before.char_indices().rev().nth(CONTEXT_CHARS - 1).map_or(whole.start, |(at, _)| whole.start + at);
        let end = after.char_indices().nth(CONTEXT_CHARS).map_or(whole.end, |(at, _)| inside.end + at);
        let ellipsis = if start > whole.start { "…" } else { "" };
        let window = Window { source_range: start..end, ellipsis, text: String::new() };
        let range = window.locate(source, span);
        let mut text = format!("{ellipsis}{}", replace_controls(text.get(start..end).unwrap_or_default()));
        text.push_str(if end < whole.end { "…" } else { "" });
        if text.is_empty() {
            text.push(' ');
        }
        (Window { text, ..window }, range)
    }

    fn contains(&self, span: Span) -> bool {
        self.source_range.start <= span.start as usize && span.end as usize <= self.source_range.end
    }

    /// The range in the window's text of the part of `span` that is shown.
    fn locate(&self, source: &SourceFile, span: Span) -> Range<usize> {
        let inside = clamp_span(source, span, &self.source_range);
        let length_of = |range: Range<usize>| replace_controls(source.text().get(range).unwrap_or_default()).len();
        let start = self.ellipsis.len() + length_of(self.source_range.start..inside.start);
        start..start + length_of(inside)
    }
}

/// The part of `span` within `bounds`, on character boundaries and no longer than is underlined.
fn clamp_span(source: &SourceFile, span: Span, bounds: &Range<usize>) -> Range<usize> {
    let text = source.text();
    let start = source.floor_char_boundary((span.start as usize).clamp(bounds.start, bounds.end));
    let end = source.floor_char_boundary((span.end as usize).clamp(start, bounds.end));
    let covered = text.get(start..end).unwrap_or_default();
    let length = covered.char_indices().nth(MAX_SPAN_CHARS).map_or(covered.len(), |(at, _)| at);
    start..start + length
}

fn replace_controls(text: &str) -> String {
    text.chars().map(|character| replacement_char(character).unwrap_or(character)).collect()
}

//! Renders one diagnostic as snippets of its source, by annotate-snippets.
//!
//! The renderer gets excerpts and never a whole file, so a line of a megabyte costs what a short one does, and no span is
//! out of bounds.

use annotate_snippets::{AnnotationKind, Element, Group, Level, Patch, Renderer, Snippet};

use super::excerpt::Excerpt;
use super::render::TerminalStyle;
use super::sanitize::{one_line, sanitize};
use super::{Diagnostic, Note, Severity, SourceMap};

/// Narrower terminals than this get lines that wrap.
const MIN_TERMINAL_WIDTH: usize = 40;

/// The longest fix that is shown as a patch.
const MAX_FIX_CHARS: usize = 400;

pub(super) fn renderer(style: TerminalStyle) -> Renderer {
    let renderer = if style.color { Renderer::styled() } else { Renderer::plain() };
    match style.width {
        Some(width) => renderer.term_width(width.max(MIN_TERMINAL_WIDTH)),
        None => renderer,
    }
}

/// Renders one diagnostic, without a line feed at its end.
pub(super) fn render(renderer: &Renderer, sources: &SourceMap, diagnostic: &Diagnostic) -> String {
    let excerpts = excerpts(sources, diagnostic);
    let fix = fix_excerpt(sources, diagnostic);
    let title = level(diagnostic.severity).primary_title(sanitize(&diagnostic.message)).id(diagnostic.code.as_str());
    let mut first = Group::with_title(title).elements(excerpts.iter().map(source_snippet));
    let help = diagnostic.help.as_deref().map(sanitize);
    let mut groups = Vec::new();
    match (&fix, help) {
        (Some((excerpt, text)), help) => {
            let title = Level::HELP.secondary_title(help.unwrap_or("write this instead".into()));
            groups.push(Group::with_title(title).elements(patch_snippet(excerpt, text)));
        }
        (None, Some(help)) => first = first.element(Level::HELP.message(help)),
        (None, None) => {}
    }
    groups.insert(0, first);
    let shown = excerpts.iter().chain(fix.as_ref().map(|(excerpt, _)| excerpt));
    shown.fold(renderer.render(&groups), |text, excerpt| excerpt.correct_column(text))
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    }
}

/// The primary span first, with the notes near it; then the other notes, each on its own.
fn excerpts(sources: &SourceMap, diagnostic: &Diagnostic) -> Vec<Excerpt> {
    let mut excerpts = Vec::new();
    if let Some(excerpt) = diagnostic.span.and_then(|span| Excerpt::primary(sources, span)) {
        excerpts.push(excerpt);
    }
    for Note { span, text } in &diagnostic.notes {
        let label = one_line(text).into_owned();
        let joined = excerpts.first_mut().is_some_and(|first| first.try_add_note(sources, *span, &label));
        if !joined {
            excerpts.extend(Excerpt::note(sources, *span, label));
        }
    }
    excerpts
}

fn source_snippet(excerpt: &Excerpt) -> Element<'_> {
    let snippet = Snippet::source(excerpt.text()).path(excerpt.path()).line_start(excerpt.first_line());
    let annotations = excerpt.marks().map(|(range, mark)| {
        let kind = if mark.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        kind.span(range).label(mark.label.as_deref())
    });
    snippet.annotations(annotations).into()
}

/// The excerpt that a fix changes, with its new text. `None` where no fix can be shown.
fn fix_excerpt(sources: &SourceMap, diagnostic: &Diagnostic) -> Option<(Excerpt, String)> {
    let fix = diagnostic.fix.as_ref()?;
    let excerpt = Excerpt::single_line(sources, fix.span)?;
    let changes = sources.text_of(fix.span) != fix.text && fix.text.chars().count() <= MAX_FIX_CHARS;
    changes.then(|| (excerpt, sanitize(&fix.text).into_owned()))
}

fn patch_snippet<'a>(excerpt: &'a Excerpt, text: &'a str) -> Option<Element<'a>> {
    let (range, _) = excerpt.marks().next()?;
    let snippet = Snippet::source(excerpt.text()).path(excerpt.path()).line_start(excerpt.first_line());
    Some(snippet.patch(Patch::new(range, text)).into())
}

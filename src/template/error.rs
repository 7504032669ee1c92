//! What is wrong with a template, and where in its text.

use std::ops::Range;

use crate::diagnostic::{Code, nearest};

/// One thing that is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// Where it is.
    pub span: TemplateSpan,
    /// What kind of fault it is.
    pub code: Code,
    /// What is wrong: lower case, no full stop, names in back-ticks.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// What should stand at the place instead, where that is certain enough to be put there by a program.
    pub replacement: Option<String>,
}

/// A value of which a helper makes something in which it cannot be recognised, as `truncate` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Altered {
    /// The path of the value, or of what it may be a part of.
    pub path: Vec<String>,
    /// The helper.
    pub helper: String,
    /// Where the helper is given it.
    pub place: TemplateSpan,
}

/// A range of bytes in the text of a template or of a partial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateSpan {
    /// In the template itself.
    Template(Range<usize>),
    /// In a partial.
    Partial {
        /// The partial's name.
        name: String,
        /// The place in the partial's text.
        range: Range<usize>,
        /// Where the template names the partial through which it came there; empty for faults of [`Engine::new`](super::Engine::new).
        used_at: Range<usize>,
    },
}

impl TemplateError {
    pub(super) fn new(place: TemplateSpan, code: Code, message: impl Into<String>) -> TemplateError {
        TemplateError { span: place, code, message: message.into(), help: None, replacement: None }
    }

    pub(super) fn at_range(range: Range<usize>, code: Code, message: impl Into<String>) -> TemplateError {
        TemplateError::new(TemplateSpan::Template(range), code, message)
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> TemplateError {
        self.help = Some(help.into());
        self
    }

    pub(super) fn replacement(mut self, text: impl Into<String>) -> TemplateError {
        self.replacement = Some(text.into());
        self
    }

    pub(super) fn did_you_mean<'a>(self, wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> TemplateError {
        match nearest(wrong, candidates) {
            Some(near) => self.help(format!("did you mean `{near}`?")).replacement(near),
            None => self,
        }
    }

    /// Moves a fault that was found in a text read for itself into the partial which that text is.
    pub(super) fn in_partial(mut self, partial: &str) -> TemplateError {
        if let TemplateSpan::Template(range) = self.span {
            self.span = TemplateSpan::Partial { name: partial.to_owned(), range, used_at: 0..0 };
        }
        self
    }
}

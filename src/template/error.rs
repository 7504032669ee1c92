//! Errors of templates, at spans of their text.

use std::ops::Range;

use crate::diagnostic::{Code, nearest};

/// An error in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// Where it is.
    pub span: TemplateSpan,
    /// The code of its diagnostic.
    pub code: Code,
    /// The message: lower case, no full stop, names in backticks.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// A text that may replace the span.
    pub replacement: Option<String>,
    /// Whether nothing else can be meant than the replacement.
    pub is_certain: bool,
    /// The partials of a cycle.
    pub cycle: Vec<String>,
}

/// Values that a helper compares, of which one tells of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedValues {
    /// The paths of the values, or of values around them.
    pub paths: Vec<Vec<String>>,
    pub helper: String,
    /// The name of the helper in the text.
    pub span: TemplateSpan,
}

/// A value that a helper changes so that it cannot be redacted, as `truncate` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlteredValue {
    /// The path of the value, or of a value around it.
    pub path: Vec<String>,
    pub helper: String,
    /// The argument of the helper.
    pub span: TemplateSpan,
}

/// An outcome that a text shows as JSON, not one of its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeOutcome {
    /// How the text names it.
    pub name: String,
    /// Its fields, or those of each, where it is a list.
    pub fields: Vec<String>,
    /// Whether it is a list of outcomes.
    pub is_list: bool,
    /// The name in the text.
    pub span: TemplateSpan,
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
        /// The range in the text of the partial.
        range: Range<usize>,
        /// The use of the partial in the template; empty for errors of [`Engine::new`](super::Engine::new).
        used_at: Range<usize>,
    },
}

impl TemplateError {
    pub(super) fn new(span: TemplateSpan, code: Code, message: impl Into<String>) -> TemplateError {
        let (help, replacement, cycle) = (None, None, Vec::new());
        TemplateError { span, code, message: message.into(), help, replacement, is_certain: false, cycle }
    }

    pub(super) fn at_range(range: Range<usize>, code: Code, message: impl Into<String>) -> TemplateError {
        TemplateError::new(TemplateSpan::Template(range), code, message)
    }

    pub(super) fn syntax(range: Range<usize>, message: impl Into<String>) -> TemplateError {
        TemplateError::at_range(range, Code::Template, message)
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> TemplateError {
        self.help = Some(help.into());
        self
    }

    pub(super) fn replacement(mut self, text: impl Into<String>) -> TemplateError {
        self.replacement = Some(text.into());
        self
    }

    /// Adds what to write, where nothing else can be meant.
    pub(super) fn certain(self, text: impl Into<String>) -> TemplateError {
        TemplateError { is_certain: true, ..self.replacement(text) }
    }

    pub(super) fn did_you_mean<'a>(self, wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> TemplateError {
        match nearest(wrong, candidates) {
            Some(near) => self.help(format!("did you mean `{near}`?")).replacement(near),
            None => self,
        }
    }

    /// Moves an error into the partial whose text was checked.
    pub(super) fn in_partial(mut self, partial: &str) -> TemplateError {
        if let TemplateSpan::Template(range) = self.span {
            self.span = TemplateSpan::Partial { name: partial.to_owned(), range, used_at: 0..0 };
        }
        self
    }
}

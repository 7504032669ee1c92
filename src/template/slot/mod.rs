//! Places in which a rendered text can land, and what each does to the values that come there.
//! A slot is a type, and so is what it makes: a text made for one place cannot be put into another.

mod text;
mod value;
mod url;
mod path;

use std::fmt::Debug;
use std::ops::Range;

use serde_json::Value;

use super::compile::single_interpolation;
use super::error::TemplateError;
use super::render::{PrintMode, RenderError};
use super::syntax::{Interpolation, TemplateNode};

pub use path::{FilePath, PathText};
pub use text::{Argv, ArgvElement, Base64, Base64Text, EnvText, EnvValue, HeaderSlot, HeaderText, PlainText, Text};
pub use url::{Uri, UriText, Url, UrlBase, UrlText};
pub use value::{Condition, JsonLeaf, JsonValue, QueryValue, QueryValues};

mod sealed {
    pub trait Sealed {}
}

/// A kind of place. The list is closed.
pub trait Slot: sealed::Sealed + Sized + Debug + 'static {
    /// What a template of this kind becomes.
    type Output: Debug;

    /// What is known of the place since the template was read.
    #[doc(hidden)]
    type Analysis: Debug;

    #[doc(hidden)]
    const MODE: PrintMode;

    /// Whether a template that is exactly one `{{…}}` makes something of the value rather than of its text.
    #[doc(hidden)]
    const TYPED: bool = false;

    /// Whether what is made of a value holds a copy of it.
    #[doc(hidden)]
    const KEEPS_VALUE: bool = Self::TYPED;

    /// Checks what the place asks of a template as a whole. Answers the interpolation that stands as it is, if any.
    #[doc(hidden)]
    fn analyze(written: &ParsedTemplate<'_>, errors: &mut Vec<TemplateError>)
    -> (Self::Analysis, Option<Range<usize>>);

    /// Makes the outcome of the only expression's value; `None` where its text serves.
    #[doc(hidden)]
    fn output_from_value(_: &Value, _: &str, _: &Self::Analysis) -> Option<Result<Self::Output, RenderError>> {
        None
    }

    /// Makes the outcome of text.
    #[doc(hidden)]
    fn output_from_text(filled: RenderedText, known: &Self::Analysis) -> Result<Self::Output, RenderError>;
}

/// A template that was read.
#[doc(hidden)]
#[derive(Debug)]
pub struct ParsedTemplate<'w> {
    pub(in crate::template) text: &'w str,
    pub(in crate::template) nodes: &'w [TemplateNode],
    /// The path of the variable that the whole template is.
    pub(in crate::template) variable: Option<&'w [String]>,
}

impl<'w> ParsedTemplate<'w> {
    pub(in crate::template) fn single_interpolation(&self) -> Option<&'w Interpolation> {
        single_interpolation(self.nodes)
    }
}

/// A text that was rendered, and where its values stand in it.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct RenderedText {
    pub(in crate::template) text: String,
    /// Ranges of the text, each with what messages call the variable.
    pub(in crate::template) value_spans: Vec<(Range<usize>, String)>,
}

impl RenderedText {
    pub(in crate::template) fn without_values(text: String) -> RenderedText {
        RenderedText { text, value_spans: Vec::new() }
    }

    /// The first variable whose value touches a range of the text; an empty value touches where it would stand.
    fn variable_in(&self, range: &Range<usize>) -> Option<&str> {
        let touches =
            |interpolation: &Range<usize>| interpolation.start <= range.end && interpolation.end >= range.start;
        self.value_spans.iter().find(|(interpolation, _)| touches(interpolation)).map(|(_, label)| label.as_str())
    }
}

fn refused_value(variable: &str, reason: &'static str) -> RenderError {
    RenderError::Refused { variable: variable.to_owned(), reason }
}

//! Slots: where a rendered text goes, and how its values are escaped there.
//! A slot and its output are types, so that the text for one slot cannot be used in another.

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

pub use path::{FilePathSlot, FolderPathSlot, FolderPathText};
pub use text::{ArgvSlot, Base64Slot, Base64Text, EnvSlot, HeaderSlot, TextSlot};
pub use url::{UriSlot, UrlBase, UrlSlot};
pub use value::{ConditionSlot, JsonSlot, ListItems, ListSlot, NumberSlot, QuerySlot};

/// A kind of slot.
pub trait Slot: Sized + Debug + 'static {
    /// The output of rendering.
    type Output: Debug;

    /// What the template itself determines.
    #[doc(hidden)]
    type Analysis: Debug + Default;

    #[doc(hidden)]
    const PRINT_MODE: PrintMode;

    /// Whether exactly one `{{…}}` renders to an output from its value and not from its text.
    #[doc(hidden)]
    const RENDERS_FROM_VALUE: bool = false;

    /// Whether it only asks whether there is a value: an output of another form is null to it, and no error.
    #[doc(hidden)]
    const IS_CONDITION: bool = false;

    /// Whether a text may become a part of its output.
    #[doc(hidden)]
    const OUTPUT_INCLUDES_TEXT: bool = true;

    /// Whether exactly one `{{…}}` of an object is that object, and not its JSON.
    #[doc(hidden)]
    const KEEPS_OBJECTS: bool = !Self::OUTPUT_INCLUDES_TEXT;

    /// Whether the output from a value contains a copy of it.
    #[doc(hidden)]
    const OUTPUT_COPIES_VALUE: bool = Self::RENDERS_FROM_VALUE;

    /// Checks the template as a whole. Returns the interpolation that is not encoded, if any.
    #[doc(hidden)]
    fn analyze(_: &ParsedTemplate<'_>, _: &mut Vec<TemplateError>) -> (Self::Analysis, Option<Range<usize>>) {
        Default::default()
    }

    /// The output from the value of the only expression; `None` to use its text.
    #[doc(hidden)]
    fn output_from_value(_: &Value, _: &str, _: &Self::Analysis) -> Option<Result<Self::Output, RenderError>> {
        None
    }

    /// The output for a `null` that is not absent: of a caller, or the JSON of an action.
    #[doc(hidden)]
    fn output_from_present_null() -> Option<Self::Output> {
        None
    }

    /// The output from text.
    #[doc(hidden)]
    fn output_from_text(rendered: RenderedText, known: &Self::Analysis) -> Result<Self::Output, RenderError>;
}

/// A parsed template.
#[doc(hidden)]
#[derive(Debug)]
pub struct ParsedTemplate<'w> {
    pub(in crate::template) text: &'w str,
    pub(in crate::template) nodes: &'w [TemplateNode],
    /// The path, where the template is exactly one variable.
    pub(in crate::template) variable: Option<&'w [String]>,
}

impl<'w> ParsedTemplate<'w> {
    pub(in crate::template) fn single_interpolation(&self) -> Option<&'w Interpolation> {
        single_interpolation(self.nodes)
    }
}

/// A rendered text, and where its values are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedText {
    pub text: String,
    pub(in crate::template) values: Vec<RenderedValue>,
}

/// A value in a rendered text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::template) struct RenderedValue {
    pub range: Range<usize>,
    /// The variable, or the whole expression (`default a b`).
    pub label: String,
}

impl RenderedText {
    /// The variable whose value starts the text with `-`, or its whole expression; `None` where literal text does.
    pub fn leading_dash_variable(&self) -> Option<&str> {
        if self.text.starts_with('-') { self.find_label(|range| range.start == 0 && range.end > 0) } else { None }
    }

    /// The variable whose value is the longest in the text.
    pub fn longest_variable(&self) -> Option<&str> {
        self.values.iter().max_by_key(|value| value.range.len()).map(|value| value.label.as_str())
    }

    /// The first variable whose value touches a range of the text; an empty value touches its position.
    fn variable_in(&self, range: &Range<usize>) -> Option<&str> {
        self.find_label(|value| value.start <= range.end && value.end >= range.start)
    }

    fn find_label(&self, matches: impl Fn(&Range<usize>) -> bool) -> Option<&str> {
        self.values.iter().find(|value| matches(&value.range)).map(|value| value.label.as_str())
    }
}

fn refused_value(variable: &str, reason: &'static str) -> RenderError {
    RenderError::Refused { variable: variable.to_owned(), reason }
}

//! Places in which a rendered text can land, and what each does to the values that come there.
//! A slot is a type, and so is what it makes: a text made for one place cannot be put into another.

mod text;
mod typed;
mod url;
mod path;

use std::fmt::Debug;
use std::ops::Range;

use serde_json::Value;

use super::compile::sole;
use super::fault::Fault;
use super::render::{Mode, RenderError};
use super::syntax::{Hole, Node};

pub use path::{FilePath, PathText};
pub use text::{Argv, Base64, Base64Text, Element, EnvText, EnvValue, Header, HeaderText, PlainText, Text};
pub use typed::{Condition, Json, JsonValue, Parameter, Parameters};
pub use url::{Uri, UriText, Url, UrlBase, UrlText};

mod sealed {
    pub trait Sealed {}
}

/// A kind of place. The list is closed.
pub trait Slot: sealed::Sealed + Sized + Debug + 'static {
    /// What a template of this kind becomes.
    type Output: Debug;

    /// What is known of the place since the template was read.
    #[doc(hidden)]
    type Known: Debug;

    #[doc(hidden)]
    const MODE: Mode;

    /// Whether a template that is exactly one `{{…}}` makes something of the value rather than of its text.
    #[doc(hidden)]
    const TYPED: bool = false;

    /// Whether what is made of a value holds a copy of it.
    #[doc(hidden)]
    const KEEPS_VALUE: bool = Self::TYPED;

    /// Checks what the place asks of a template as a whole. Answers the hole that stands as it is, if any.
    #[doc(hidden)]
    fn inspect(written: &Written<'_>, faults: &mut Vec<Fault>) -> (Self::Known, Option<Range<usize>>);

    /// Makes the outcome of the only expression's value; `None` where its text serves.
    #[doc(hidden)]
    fn finish_value(_: &Value, _: &str, _: &Self::Known) -> Option<Result<Self::Output, RenderError>> {
        None
    }

    /// Makes the outcome of text.
    #[doc(hidden)]
    fn finish(filled: Filled, known: &Self::Known) -> Result<Self::Output, RenderError>;
}

/// A template that was read.
#[doc(hidden)]
#[derive(Debug)]
pub struct Written<'w> {
    pub(in crate::template) text: &'w str,
    pub(in crate::template) nodes: &'w [Node],
    /// The path of the variable that the whole template is.
    pub(in crate::template) variable: Option<&'w [String]>,
}

impl<'w> Written<'w> {
    pub(in crate::template) fn sole(&self) -> Option<&'w Hole> {
        sole(self.nodes)
    }
}

/// A text that was rendered, and where its values stand in it.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Filled {
    pub(in crate::template) text: String,
    /// Ranges of the text, each with what messages call the variable.
    pub(in crate::template) holes: Vec<(Range<usize>, String)>,
}

impl Filled {
    pub(in crate::template) fn unmarked(text: String) -> Filled {
        Filled { text, holes: Vec::new() }
    }

    /// The first variable whose value touches a range of the text; an empty value touches where it would stand.
    fn variable_in(&self, range: &Range<usize>) -> Option<&str> {
        let touches = |hole: &Range<usize>| hole.start <= range.end && hole.end >= range.start;
        self.holes.iter().find(|(hole, _)| touches(hole)).map(|(_, label)| label.as_str())
    }
}

fn refused(variable: &str, reason: &'static str) -> RenderError {
    RenderError::Refused { variable: variable.to_owned(), reason }
}

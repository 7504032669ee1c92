//! Places that take text as it is: prompts and bodies, argv, environment, headers.

use std::ops::Range;

use serde_json::Value;

use super::{Filled, Slot, Written, refused, sealed::Sealed};
use crate::template::fault::Fault;
use crate::template::render::{Mode, RenderError};

/// Prompt text, bodies, stdin, results: verbatim.
#[derive(Debug)]
pub enum Text {}

/// Text for people, models and bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainText(pub String);

impl Sealed for Text {}

impl Slot for Text {
    type Output = PlainText;
    type Known = ();
    const MODE: Mode = Mode::Plain;

    fn inspect(_: &Written<'_>, _: &mut Vec<Fault>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn finish(filled: Filled, (): &()) -> Result<PlainText, RenderError> {
        Ok(PlainText(filled.text))
    }
}

/// One element of an argv.
#[derive(Debug)]
pub enum Argv {}

/// One element of an argv, which is one element whatever it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    text: String,
    begins_with: Option<String>,
}

impl Element {
    /// The element.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Takes the element.
    pub fn into_text(self) -> String {
        self.text
    }

    /// The variable whose value the element begins with, as written; `None` where it begins with the manifest's
    /// own text. More than a variable (`default a b`) is the whole expression.
    pub fn begins_with(&self) -> Option<&str> {
        self.begins_with.as_deref()
    }

    /// The variable that put a `-` at the beginning of the element, as [`begins_with`](Element::begins_with).
    pub fn foreign_dash(&self) -> Option<&str> {
        self.begins_with().filter(|_| self.text.starts_with('-'))
    }
}

impl Sealed for Argv {}

impl Slot for Argv {
    type Output = Element;
    type Known = ();
    const MODE: Mode = Mode::Marked;

    fn inspect(_: &Written<'_>, _: &mut Vec<Fault>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn finish(filled: Filled, (): &()) -> Result<Element, RenderError> {
        let first = filled.holes.iter().find(|(hole, _)| hole.start == 0 && hole.end > 0);
        Ok(Element { begins_with: first.map(|(_, label)| label.clone()), text: filled.text })
    }
}

/// The value of an environment variable.
#[derive(Debug)]
pub enum EnvValue {}

/// The value of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvText(pub String);

impl Sealed for EnvValue {}

impl Slot for EnvValue {
    type Output = EnvText;
    type Known = ();
    const MODE: Mode = Mode::Marked;

    fn inspect(_: &Written<'_>, _: &mut Vec<Fault>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn finish(filled: Filled, (): &()) -> Result<EnvText, RenderError> {
        Ok(EnvText(filled.text))
    }
}

/// The value of an HTTP header.
#[derive(Debug)]
pub enum Header {}

/// The value of an HTTP header; it holds no control character. It renders to `None` where it is exactly one
/// `{{…}}` whose value is absent: then the header is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderText(pub String);

impl Sealed for Header {}

const CONTROL: &str = "holds a line break or another control character, which a header cannot";

impl Slot for Header {
    type Output = Option<HeaderText>;
    type Known = ();
    const MODE: Mode = Mode::Marked;
    const TYPED: bool = true;
    const KEEPS_VALUE: bool = false;

    fn inspect(_: &Written<'_>, _: &mut Vec<Fault>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn finish_value(value: &Value, _: &str, (): &()) -> Option<Result<Self::Output, RenderError>> {
        value.is_null().then_some(Ok(None))
    }

    fn finish(filled: Filled, (): &()) -> Result<Self::Output, RenderError> {
        let control = |c: char| c.is_control() && c != '\t';
        // The manifest's own text may end with the line break that YAML's `|` leaves there.
        let text = filled.text.trim_end_matches(['\r', '\n']);
        let ours = filled.holes.last().map_or(0, |(hole, _)| hole.end);
        let text = if text.len() >= ours { text } else { filled.text.get(..ours).unwrap_or_default() };
        match text.char_indices().find(|(_, c)| control(*c)) {
            None => Ok(Some(HeaderText(text.to_owned()))),
            Some((at, c)) => {
                Err(refused(filled.variable_in(&(at..at + c.len_utf8())).unwrap_or("the header"), CONTROL))
            }
        }
    }
}

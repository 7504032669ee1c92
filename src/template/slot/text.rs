//! Places that take text as it is: prompts and bodies, argv, environment, headers.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::{Filled, Slot, Written, refused, sealed::Sealed};
use crate::diagnostic::Code;
use crate::template::fault::Fault;
use crate::template::render::{Mode, RenderError};
use crate::template::syntax::Node;

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

/// Bytes as base64.
#[derive(Debug)]
pub enum Base64 {}

/// Bytes as base64, of RFC 4648's own alphabet, padded, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base64Text(pub String);

impl Sealed for Base64 {}

/// As people and programs write it: in lines or in one, padded or not.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Base64Text {
    /// Reads what is written; `None` where it is not base64.
    pub fn read(written: &str) -> Option<Base64Text> {
        let bare: String = written.split_ascii_whitespace().collect();
        LENIENT.decode(bare).ok().map(|bytes| Base64Text(LENIENT.encode(bytes)))
    }
}

impl Slot for Base64 {
    type Output = Base64Text;
    type Known = ();
    const MODE: Mode = Mode::Marked;

    fn inspect(written: &Written<'_>, faults: &mut Vec<Fault>) -> ((), Option<Range<usize>>) {
        let is_literal = written.nodes.iter().all(|node| matches!(node, Node::Text(_)));
        if is_literal && Base64Text::read(written.text).is_none() {
            faults.push(Fault::here(0..written.text.len(), Code::BadValue, "this is not base64"));
        }
        ((), None)
    }

    fn finish(filled: Filled, (): &()) -> Result<Base64Text, RenderError> {
        let variable = || longest(&filled.holes).unwrap_or("the text");
        Base64Text::read(&filled.text).ok_or_else(|| refused(variable(), "is not base64"))
    }
}

/// One element of an argv.
#[derive(Debug)]
pub enum Argv {}

/// One element of an argv, which is one element whatever it holds. It renders to `None` where it is exactly one `{{…}}`
/// whose value is absent: then the element is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    text: String,
    /// Ranges of the text that are values, each with what messages call the variable.
    holes: Vec<(Range<usize>, String)>,
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
        self.holes.iter().find(|(hole, _)| hole.start == 0 && hole.end > 0).map(|(_, label)| label.as_str())
    }

    /// The variable that put a `-` at the beginning of the element, as [`begins_with`](Element::begins_with).
    pub fn foreign_dash(&self) -> Option<&str> {
        self.begins_with().filter(|_| self.text.starts_with('-'))
    }

    /// The variable whose value is the longest in the element.
    pub fn longest(&self) -> Option<&str> {
        longest(&self.holes)
    }
}

fn longest(holes: &[(Range<usize>, String)]) -> Option<&str> {
    holes.iter().max_by_key(|(hole, _)| hole.len()).map(|(_, label)| label.as_str())
}

impl Sealed for Argv {}

impl Slot for Argv {
    type Output = Option<Element>;
    type Known = ();
    const MODE: Mode = Mode::Marked;
    const TYPED: bool = true;

    fn inspect(_: &Written<'_>, _: &mut Vec<Fault>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn finish_value(value: &Value, _: &str, (): &()) -> Option<Result<Self::Output, RenderError>> {
        value.is_null().then_some(Ok(None))
    }

    fn finish(filled: Filled, (): &()) -> Result<Self::Output, RenderError> {
        Ok(Some(Element { text: filled.text, holes: filled.holes }))
    }
}

/// The value of an environment variable.
#[derive(Debug)]
pub enum EnvValue {}

/// The value of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvText {
    /// The value.
    pub text: String,
    holes: Vec<(Range<usize>, String)>,
}

impl EnvText {
    /// The variable of the template whose value is the longest in it.
    pub fn longest(&self) -> Option<&str> {
        longest(&self.holes)
    }
}

impl Sealed for EnvValue {}

impl Slot for EnvValue {
    type Output = EnvText;
    type Known = ();
    const MODE: Mode = Mode::Marked;

    fn inspect(_: &Written<'_>, _: &mut Vec<Fault>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn finish(filled: Filled, (): &()) -> Result<EnvText, RenderError> {
        Ok(EnvText { text: filled.text, holes: filled.holes })
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

//! Places that take text as it is: prompts and bodies, argv, environment, headers.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::{ParsedTemplate, RenderedText, Slot, refused_value, sealed::Sealed};
use crate::diagnostic::Code;
use crate::template::error::TemplateError;
use crate::template::render::{PrintMode, RenderError};
use crate::template::syntax::TemplateNode;

/// Prompt text, bodies, stdin, results: verbatim.
#[derive(Debug)]
pub enum Text {}

/// Text for people, models and bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainText(pub String);

impl Sealed for Text {}

impl Slot for Text {
    type Output = PlainText;
    type Analysis = ();
    const MODE: PrintMode = PrintMode::Plain;

    fn analyze(_: &ParsedTemplate<'_>, _: &mut Vec<TemplateError>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn output_from_text(filled: RenderedText, (): &()) -> Result<PlainText, RenderError> {
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
const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Base64Text {
    /// Reads what is written; `None` where it is not valid base64.
    pub fn parse(written: &str) -> Option<Base64Text> {
        let bare: String = written.split_ascii_whitespace().collect();
        LENIENT_BASE64.decode(bare).ok().map(|bytes| Base64Text(LENIENT_BASE64.encode(bytes)))
    }
}

impl Slot for Base64 {
    type Output = Base64Text;
    type Analysis = ();
    const MODE: PrintMode = PrintMode::Marked;

    fn analyze(written: &ParsedTemplate<'_>, errors: &mut Vec<TemplateError>) -> ((), Option<Range<usize>>) {
        let is_literal = written.nodes.iter().all(|node| matches!(node, TemplateNode::Text(_)));
        if is_literal && Base64Text::parse(written.text).is_none() {
            errors.push(TemplateError::at_range(0..written.text.len(), Code::BadValue, "invalid base64"));
        }
        ((), None)
    }

    fn output_from_text(filled: RenderedText, (): &()) -> Result<Base64Text, RenderError> {
        let variable = || longest_value_label(&filled.value_spans).unwrap_or("the text");
        Base64Text::parse(&filled.text).ok_or_else(|| refused_value(variable(), "is not valid base64"))
    }
}

/// One element of an argv.
#[derive(Debug)]
pub enum Argv {}

/// One element of an argv, which is one element whatever it holds. It renders to `None` where it is exactly one `{{…}}`
/// whose value is absent: then the element is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgvElement {
    text: String,
    /// Ranges of the text that are values, each with what messages call the variable.
    interpolations: Vec<(Range<usize>, String)>,
}

impl ArgvElement {
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
    pub fn leading_variable(&self) -> Option<&str> {
        self.interpolations
            .iter()
            .find(|(interpolation, _)| interpolation.start == 0 && interpolation.end > 0)
            .map(|(_, label)| label.as_str())
    }

    /// The variable that put a `-` at the beginning of the element, as [`begins_with`](ArgvElement::leading_variable).
    pub fn leading_dash_variable(&self) -> Option<&str> {
        self.leading_variable().filter(|_| self.text.starts_with('-'))
    }

    /// The variable whose value is the longest in the element.
    pub fn longest_variable(&self) -> Option<&str> {
        longest_value_label(&self.interpolations)
    }
}

fn longest_value_label(interpolations: &[(Range<usize>, String)]) -> Option<&str> {
    interpolations.iter().max_by_key(|(interpolation, _)| interpolation.len()).map(|(_, label)| label.as_str())
}

impl Sealed for Argv {}

impl Slot for Argv {
    type Output = Option<ArgvElement>;
    type Analysis = ();
    const MODE: PrintMode = PrintMode::Marked;
    const TYPED: bool = true;

    fn analyze(_: &ParsedTemplate<'_>, _: &mut Vec<TemplateError>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn output_from_value(value: &Value, _: &str, (): &()) -> Option<Result<Self::Output, RenderError>> {
        value.is_null().then_some(Ok(None))
    }

    fn output_from_text(filled: RenderedText, (): &()) -> Result<Self::Output, RenderError> {
        Ok(Some(ArgvElement { text: filled.text, interpolations: filled.value_spans }))
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
    interpolations: Vec<(Range<usize>, String)>,
}

impl EnvText {
    /// The variable of the template whose value is the longest in it.
    pub fn longest_variable(&self) -> Option<&str> {
        longest_value_label(&self.interpolations)
    }
}

impl Sealed for EnvValue {}

impl Slot for EnvValue {
    type Output = EnvText;
    type Analysis = ();
    const MODE: PrintMode = PrintMode::Marked;

    fn analyze(_: &ParsedTemplate<'_>, _: &mut Vec<TemplateError>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn output_from_text(filled: RenderedText, (): &()) -> Result<EnvText, RenderError> {
        Ok(EnvText { text: filled.text, interpolations: filled.value_spans })
    }
}

/// The value of an HTTP header.
#[derive(Debug)]
pub enum HeaderSlot {}

/// The value of an HTTP header; it holds no control character. It renders to `None` where it is exactly one
/// `{{…}}` whose value is absent: then the header is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderText(pub String);

impl Sealed for HeaderSlot {}

const CONTROL_CHARACTER_REASON: &str = "contains a line break or control character, not allowed in a header";

impl Slot for HeaderSlot {
    type Output = Option<HeaderText>;
    type Analysis = ();
    const MODE: PrintMode = PrintMode::Marked;
    const TYPED: bool = true;
    const KEEPS_VALUE: bool = false;

    fn analyze(_: &ParsedTemplate<'_>, _: &mut Vec<TemplateError>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn output_from_value(value: &Value, _: &str, (): &()) -> Option<Result<Self::Output, RenderError>> {
        value.is_null().then_some(Ok(None))
    }

    fn output_from_text(filled: RenderedText, (): &()) -> Result<Self::Output, RenderError> {
        let control = |c: char| c.is_control() && c != '\t';
        // The manifest's own text may end with the line break that YAML's `|` leaves there.
        let text = filled.text.trim_end_matches(['\r', '\n']);
        let ours = filled.value_spans.last().map_or(0, |(interpolation, _)| interpolation.end);
        let text = if text.len() >= ours { text } else { filled.text.get(..ours).unwrap_or_default() };
        match text.char_indices().find(|(_, c)| control(*c)) {
            None => Ok(Some(HeaderText(text.to_owned()))),
            Some((at, c)) => Err(refused_value(
                filled.variable_in(&(at..at + c.len_utf8())).unwrap_or("the header"),
                CONTROL_CHARACTER_REASON,
            )),
        }
    }
}

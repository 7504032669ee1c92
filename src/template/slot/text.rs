//! Slots for unescaped text: prompts and bodies, argv, environment, headers.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::{ParsedTemplate, RenderedText, Slot, refused_value};
use crate::diagnostic::Code;
use crate::template::error::TemplateError;
use crate::template::render::{PrintMode, RenderError};
use crate::template::syntax::TemplateNode;

/// Prompt text, bodies, stdin, results: verbatim.
#[derive(Debug)]
pub enum TextSlot {}

/// Text for people, models and bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainText(pub String);

impl Slot for TextSlot {
    type Output = PlainText;
    type Analysis = ();
    const PRINT_MODE: PrintMode = PrintMode::Plain;

    fn output_from_text(rendered: RenderedText, (): &()) -> Result<PlainText, RenderError> {
        Ok(PlainText(rendered.text))
    }
}

/// Bytes as base64.
#[derive(Debug)]
pub enum Base64Slot {}

/// Bytes as base64 (RFC 4648), padded, on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base64Text(pub String);

/// With or without padding.
const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Base64Text {
    /// Reads what is written; `None` where it is not valid base64.
    pub fn parse(template: &str) -> Option<Base64Text> {
        let bare: String = template.split_ascii_whitespace().collect();
        LENIENT_BASE64.decode(bare).ok().map(|bytes| Base64Text(LENIENT_BASE64.encode(bytes)))
    }
}

impl Slot for Base64Slot {
    type Output = Base64Text;
    type Analysis = ();
    const PRINT_MODE: PrintMode = PrintMode::Marked;

    fn analyze(template: &ParsedTemplate<'_>, errors: &mut Vec<TemplateError>) -> ((), Option<Range<usize>>) {
        let is_literal = template.nodes.iter().all(|node| matches!(node, TemplateNode::Text(_)));
        if is_literal && Base64Text::parse(template.text).is_none() {
            errors.push(TemplateError::at_range(0..template.text.len(), Code::BadValue, "invalid base64"));
        }
        ((), None)
    }

    fn output_from_text(rendered: RenderedText, (): &()) -> Result<Base64Text, RenderError> {
        let variable = || rendered.longest_variable().unwrap_or("the text");
        Base64Text::parse(&rendered.text).ok_or_else(|| refused_value(variable(), "is not valid base64"))
    }
}

/// One element of an argv. Exactly one `{{…}}` whose value is absent renders to `None`, and the element is left out.
#[derive(Debug)]
pub enum ArgvSlot {}

impl Slot for ArgvSlot {
    type Output = Option<RenderedText>;
    type Analysis = ();
    const PRINT_MODE: PrintMode = PrintMode::Marked;
    const RENDERS_FROM_VALUE: bool = true;

    fn output_from_value(value: &Value, _: &str, (): &()) -> Option<Result<Self::Output, RenderError>> {
        value.is_null().then_some(Ok(None))
    }

    fn output_from_text(rendered: RenderedText, (): &()) -> Result<Self::Output, RenderError> {
        Ok(Some(rendered))
    }
}

/// The value of an environment variable.
#[derive(Debug)]
pub enum EnvSlot {}

impl Slot for EnvSlot {
    type Output = RenderedText;
    type Analysis = ();
    const PRINT_MODE: PrintMode = PrintMode::Marked;

    fn output_from_text(rendered: RenderedText, (): &()) -> Result<RenderedText, RenderError> {
        Ok(rendered)
    }
}

/// The value of an HTTP header.
#[derive(Debug)]
pub enum HeaderSlot {}

/// The value of an HTTP header, without control characters. Exactly one `{{…}}` whose value is absent renders to `None`,
/// and the header is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderText(pub String);

const CONTROL_CHARACTER_REASON: &str = "contains a line break or control character, not allowed in a header";

impl Slot for HeaderSlot {
    type Output = Option<HeaderText>;
    type Analysis = ();
    const PRINT_MODE: PrintMode = PrintMode::Marked;
    const RENDERS_FROM_VALUE: bool = true;
    const OUTPUT_COPIES_VALUE: bool = false;

    fn output_from_value(value: &Value, _: &str, (): &()) -> Option<Result<Self::Output, RenderError>> {
        value.is_null().then_some(Ok(None))
    }

    fn output_from_text(rendered: RenderedText, (): &()) -> Result<Self::Output, RenderError> {
        let control = |c: char| c.is_control() && c != '\t';
        // Literal text may end with the line break of YAML's `|`.
        let text = rendered.text.trim_end_matches(['\r', '\n']);
        let ours = rendered.values.last().map_or(0, |value| value.range.end);
        let text = if text.len() >= ours { text } else { rendered.text.get(..ours).unwrap_or_default() };
        match text.char_indices().find(|(_, c)| control(*c)) {
            None => Ok(Some(HeaderText(text.to_owned()))),
            Some((at, c)) => Err(refused_value(
                rendered.variable_in(&(at..at + c.len_utf8())).unwrap_or("the header"),
                CONTROL_CHARACTER_REASON,
            )),
        }
    }
}

//! URLs: values are percent-encoded, and none chooses the host.

use std::ops::Range;

use serde_json::Value;

use super::{ParsedTemplate, RenderedText, Slot, refused_value, sealed::Sealed};
use crate::diagnostic::Code;
use crate::template::compile::Template;
use crate::template::error::TemplateError;
use crate::template::render::{PrintMode, RenderError};
use crate::template::syntax::{Expression, Interpolation, TemplateNode};
use crate::uri::has_scheme;

/// The URL of an HTTP request.
#[derive(Debug)]
pub enum Url {}

/// A URL as it was rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlText {
    /// The URL.
    pub text: String,
    /// Whether all of it is one value that the manifest does not vouch for.
    pub is_whole_value: bool,
}

/// Who says which host a URL goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlBase {
    /// The manifest's own text.
    Literal,
    /// Nobody yet: it begins with `/`, `?` or `#`, or is empty, and follows the URL of a connection.
    Relative,
    /// An environment variable, which the text begins with.
    Env(String),
    /// A value that is the whole URL; its path, as [`Template::single_path`] gives it.
    Value(Vec<String>),
}

impl Template<Url> {
    /// Who says which host the URL goes to.
    pub fn url_base(&self) -> &UrlBase {
        self.analysis()
    }
}

impl Sealed for Url {}

impl Slot for Url {
    type Output = UrlText;
    type Analysis = UrlBase;
    const MODE: PrintMode = PrintMode::Encoded;
    const TYPED: bool = true;

    fn analyze(written: &ParsedTemplate<'_>, errors: &mut Vec<TemplateError>) -> (UrlBase, Option<Range<usize>>) {
        match url_base(written) {
            Ok(found) => found,
            Err(error) => {
                errors.push(*error);
                (UrlBase::Literal, None)
            }
        }
    }

    fn output_from_value(value: &Value, label: &str, base: &UrlBase) -> Option<Result<UrlText, RenderError>> {
        let whole = matches!(base, UrlBase::Value(_));
        Some(url_from_value(value, label).map(|text| UrlText { text, is_whole_value: whole }))
    }

    fn output_from_text(filled: RenderedText, base: &UrlBase) -> Result<UrlText, RenderError> {
        let from = match (base, filled.value_spans.first()) {
            (UrlBase::Env(_), Some((interpolation, label))) if interpolation.is_empty() => {
                return Err(refused_value(label, "is not set"));
            }
            (UrlBase::Env(_), Some((interpolation, _))) => interpolation.end,
            _ => authority_end(&filled.text),
        };
        check_segments(&filled, from)?;
        Ok(UrlText { text: filled.text, is_whole_value: false })
    }
}

/// A value that is a whole URL.
fn url_from_value(value: &Value, label: &str) -> Result<String, RenderError> {
    match value {
        Value::String(text) if !text.is_empty() => Ok(text.clone()),
        Value::Null | Value::String(_) => Err(refused_value(label, "is empty, expected a URL")),
        _ => Err(refused_value(label, "is not a string, expected a URL")),
    }
}

type BaseAndSpan = (UrlBase, Option<Range<usize>>);

fn url_base(written: &ParsedTemplate<'_>) -> Result<BaseAndSpan, Box<TemplateError>> {
    let (first, rest) = match written.nodes.split_first() {
        None => return Ok((UrlBase::Relative, None)),
        Some((first, rest)) => (first, rest),
    };
    match first {
        TemplateNode::Text(text) => {
            let shown = written.text.get(text.span.clone()).unwrap_or_default();
            literal_base(shown, (text.span.clone(), rest.first())).map(|base| (base, None))
        }
        TemplateNode::Interpolation(interpolation) => variable_base(written, (interpolation, rest.first())),
        other => Err(unknown_host_error(other)),
    }
}

const URL_START_HELP: &str =
    "start the URL with a scheme and host or with `{{env.NAME}}`, or write exactly one `{{argument}}`";

fn unknown_host_error(node: &TemplateNode) -> Box<TemplateError> {
    let error = TemplateError::at_range(node.span().clone(), Code::Unsafe, "unknown host in URL");
    Box::new(error.help(URL_START_HELP))
}

/// What ends the host of a URL. A backslash does so for some readers and not for others, so it does not for us.
fn ends_host(c: char) -> bool {
    matches!(c, '/' | '?' | '#')
}

fn literal_base(
    text: &str,
    (span, next): (Range<usize>, Option<&TemplateNode>),
) -> Result<UrlBase, Box<TemplateError>> {
    let error =
        |message: &str| Box::new(TemplateError::at_range(span.clone(), Code::Unsafe, message).help(URL_START_HELP));
    if text.starts_with(ends_host) {
        let foreign = text.starts_with("//") || text.starts_with("/\\") || (text == "/" && next.is_some());
        return if foreign {
            Err(error("invalid relative URL: it could name another host"))
        } else {
            Ok(UrlBase::Relative)
        };
    }
    let Some((_, after)) = text.split_once("://") else {
        return match next {
            Some(node) => Err(unknown_host_error(node)),
            None => Err(error("invalid URL: missing scheme")),
        };
    };
    if !has_scheme(text) || after.is_empty() && next.is_none() {
        return Err(error("invalid URL"));
    }
    match (after.find(ends_host), next) {
        (Some(0), _) => Err(error("invalid URL: missing host")),
        (None, Some(node)) => Err(value_in_host_error(node)),
        _ => Ok(UrlBase::Literal),
    }
}

fn value_in_host_error(node: &TemplateNode) -> Box<TemplateError> {
    let mut error = unknown_host_error(node);
    error.message = "value in the host of a URL".to_owned();
    error.help = Some("end the host with `/` before the value, or put the whole host in `env`".to_owned());
    error
}

fn variable_base(
    written: &ParsedTemplate<'_>,
    (interpolation, next): (&Interpolation, Option<&TemplateNode>),
) -> Result<BaseAndSpan, Box<TemplateError>> {
    let refuse = || unknown_host_error(&TemplateNode::Interpolation(interpolation.clone()));
    let Expression::Path(path) = &interpolation.expression else { return Err(refuse()) };
    let names: Vec<&str> = path.names.iter().map(|name| name.text.as_str()).collect();
    let plain = !path.local && path.parent_steps == 0;
    let env = match names.as_slice() {
        ["env", name] if plain && !path.this => Some((*name).to_owned()),
        _ => None,
    };
    match (env, next) {
        (Some(name), None) => Ok((UrlBase::Env(name), Some(interpolation.span.clone()))),
        (Some(name), Some(TemplateNode::Text(text))) => {
            let shown = written.text.get(text.span.clone()).unwrap_or_default();
            match shown.starts_with(ends_host) {
                true => Ok((UrlBase::Env(name), Some(interpolation.span.clone()))),
                false => Err(value_in_host_error(&TemplateNode::Text(text.clone()))),
            }
        }
        (Some(_), Some(node)) => Err(value_in_host_error(node)),
        (None, None) => match written.variable {
            Some(path) => Ok((UrlBase::Value(path.to_vec()), None)),
            None => Err(refuse()),
        },
        _ => Err(refuse()),
    }
}

/// Where the path of a URL begins that begins with the manifest's own scheme and host, or is relative.
fn authority_end(text: &str) -> usize {
    let host = text.find("://").map_or(0, |at| at + 3);
    if text.starts_with(ends_host) {
        return 0;
    }
    text.get(host..).and_then(|rest| rest.find(ends_host)).map_or(text.len(), |at| host + at)
}

/// Whether a segment is `.` or `..`, encoded or not.
fn is_dot_segment(segment: &str) -> bool {
    matches!(segment.replace("%2e", ".").replace("%2E", ".").as_str(), "." | "..")
}

/// Refuses values that make a segment of the path vanish or go up.
fn check_segments(filled: &RenderedText, from: usize) -> Result<(), RenderError> {
    let rest = filled.text.get(from..).unwrap_or_default();
    let path = rest.find(['?', '#']).map_or(rest, |end| rest.get(..end).unwrap_or_default());
    let mut start = from;
    for segment in path.split(['/', '\\']) {
        let range = start..start + segment.len();
        start = range.end + 1;
        let empty = segment.is_empty();
        if !empty && !is_dot_segment(segment) {
            continue;
        }
        let values = || filled.value_spans.iter().filter(|(interpolation, _)| interpolation.start >= from);
        // An empty value stands in this very segment; a path's own `//` is its own affair.
        let guilty = match empty {
            true => values().find(|(interpolation, _)| interpolation.is_empty() && interpolation.start == range.start),
            false => {
                values().find(|(interpolation, _)| interpolation.start < range.end && interpolation.end > range.start)
            }
        };
        if let Some((_, label)) = guilty {
            let reason =
                if empty { "is an empty segment of a URL path" } else { "is a `.` or `..` segment of a URL path" };
            return Err(refused_value(label, reason));
        }
    }
    Ok(())
}

/// An MCP URI, such as that of a resource.
#[derive(Debug)]
pub enum Uri {}

/// A URI as it was rendered; of exactly one `{{…}}` the value as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriText(pub String);

impl Sealed for Uri {}

impl Slot for Uri {
    type Output = UriText;
    type Analysis = ();
    const MODE: PrintMode = PrintMode::Encoded;
    const TYPED: bool = true;

    fn analyze(_: &ParsedTemplate<'_>, _: &mut Vec<TemplateError>) -> ((), Option<Range<usize>>) {
        ((), None)
    }

    fn output_from_value(value: &Value, label: &str, (): &()) -> Option<Result<UriText, RenderError>> {
        Some(url_from_value(value, label).map(UriText))
    }

    fn output_from_text(filled: RenderedText, (): &()) -> Result<UriText, RenderError> {
        Ok(UriText(filled.text))
    }
}

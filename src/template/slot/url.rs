//! URLs: values are percent-encoded, and cannot choose the host.

use std::ops::Range;

use serde_json::Value;

use super::{ParsedTemplate, RenderedText, Slot, refused_value};
use crate::diagnostic::Code;
use crate::template::compile::Template;
use crate::template::error::TemplateError;
use crate::template::render::{PrintMode, RenderError};
use crate::template::syntax::{Expression, Interpolation, TemplateNode};
use crate::uri::has_scheme;

/// The URL of an HTTP request.
#[derive(Debug)]
pub enum UrlSlot {}

/// A rendered URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlText {
    /// The URL.
    pub text: String,
    /// Whether it is exactly one value, from outside of the manifest.
    pub is_whole_value: bool,
}

/// What determines the host of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum UrlBase {
    /// The literal text.
    Literal,
    /// The URL of a connection: the template is empty or starts with `/`, `?` or `#`.
    #[default]
    Relative,
    /// An environment variable at the start.
    Env(String),
    /// A value that is the whole URL; its path, as [`Template::single_path`] gives it.
    Value(Vec<String>),
}

impl Template<UrlSlot> {
    /// What determines the host.
    pub fn url_base(&self) -> &UrlBase {
        self.analysis()
    }
}

impl Slot for UrlSlot {
    type Output = UrlText;
    type Analysis = UrlBase;
    const PRINT_MODE: PrintMode = PrintMode::Encoded;
    const RENDERS_FROM_VALUE: bool = true;

    fn analyze(template: &ParsedTemplate<'_>, errors: &mut Vec<TemplateError>) -> (UrlBase, Option<Range<usize>>) {
        match url_base(template) {
            Ok(analysis) => analysis,
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

    fn output_from_text(rendered: RenderedText, base: &UrlBase) -> Result<UrlText, RenderError> {
        let from = match (base, rendered.values.first()) {
            (UrlBase::Env(_), Some(value)) if value.range.is_empty() => {
                return Err(refused_value(&value.label, "is not set"));
            }
            (UrlBase::Env(_), Some(value)) => value.range.end,
            _ => authority_end(&rendered.text),
        };
        check_segments(&rendered, from)?;
        Ok(UrlText { text: rendered.text, is_whole_value: false })
    }
}

/// A whole URL from a value.
fn url_from_value(value: &Value, label: &str) -> Result<String, RenderError> {
    match value {
        Value::String(text) if !text.is_empty() => Ok(text.clone()),
        Value::Null | Value::String(_) => Err(refused_value(label, "is empty, expected a URL")),
        _ => Err(refused_value(label, "is not a string, expected a URL")),
    }
}

type BaseAndSpan = (UrlBase, Option<Range<usize>>);

fn url_base(template: &ParsedTemplate<'_>) -> Result<BaseAndSpan, Box<TemplateError>> {
    let (first, rest) = match template.nodes.split_first() {
        None => return Ok((UrlBase::Relative, None)),
        Some((first, rest)) => (first, rest),
    };
    match first {
        TemplateNode::Text(text) => {
            let shown = template.text.get(text.span.clone()).unwrap_or_default();
            literal_base(shown, text.span.clone(), rest.first()).map(|base| (base, None))
        }
        TemplateNode::Interpolation(interpolation) => variable_base(template, interpolation, rest.first()),
        other => Err(unknown_host_error(other)),
    }
}

const URL_START_HELP: &str =
    "start the URL with a scheme and host or with `{{env.NAME}}`, or write exactly one `{{argument}}`";

fn unknown_host_error(node: &TemplateNode) -> Box<TemplateError> {
    let error = TemplateError::at_range(node.span().clone(), Code::Unsafe, "unknown host in URL");
    Box::new(error.help(URL_START_HELP))
}

/// Whether a character ends the host of a URL. Parsers disagree on the backslash, so it does not.
fn ends_host(c: char) -> bool {
    matches!(c, '/' | '?' | '#')
}

fn literal_base(text: &str, span: Range<usize>, next: Option<&TemplateNode>) -> Result<UrlBase, Box<TemplateError>> {
    let error =
        |message: &str| Box::new(TemplateError::at_range(span.clone(), Code::Unsafe, message).help(URL_START_HELP));
    if text.starts_with(ends_host) {
        // The URL is appended to that of a connection, and a value is never empty: `/{{id}}` stays below it.
        let foreign = text.starts_with("//") || text.starts_with("/\\");
        return if foreign {
            Err(error("invalid relative URL: it could name another host"))
        } else {
            Ok(UrlBase::Relative)
        };
    }
    let Some((_, after)) = text.split_once("://") else {
        return match next {
            Some(node) => Err(unknown_host_error(node)),
            None => Err(match opaque_scheme(text) {
                Some(scheme) => error(&format!("invalid URL: `{scheme}:` without `//` and a host")),
                None if text.starts_with('$') => {
                    let error = error("invalid URL: missing scheme");
                    Box::new(error.help("write a variable of the environment as `{{env.NAME}}`"))
                }
                None => {
                    let mut error = error("invalid URL: missing scheme");
                    let host = text.split([':', '/']).next().unwrap_or_default();
                    let is_local = host == "localhost" || host.starts_with("127.") || !host.contains('.');
                    error.help = Some(format!("write `{}://{text}`", if is_local { "http" } else { "https" }));
                    error
                }
            }),
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

/// The scheme of a URL without `//`, such as `javascript:…`; `localhost:8080` has none.
fn opaque_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let is_name = scheme.starts_with(|character: char| character.is_ascii_alphabetic())
        && scheme.chars().all(|character| character.is_ascii_alphanumeric() || "+-".contains(character));
    (is_name && !rest.starts_with(|character: char| character.is_ascii_digit())).then_some(scheme)
}

fn value_in_host_error(node: &TemplateNode) -> Box<TemplateError> {
    let mut error = unknown_host_error(node);
    error.message = "value in the host of a URL".to_owned();
    error.help = Some("end the host with `/` before the value, or put the whole host in `env`".to_owned());
    error
}

fn variable_base(
    template: &ParsedTemplate<'_>,
    interpolation: &Interpolation,
    next: Option<&TemplateNode>,
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
            let shown = template.text.get(text.span.clone()).unwrap_or_default();
            match shown.starts_with(ends_host) {
                true => Ok((UrlBase::Env(name), Some(interpolation.span.clone()))),
                false => Err(value_in_host_error(&TemplateNode::Text(text.clone()))),
            }
        }
        (Some(_), Some(node)) => Err(value_in_host_error(node)),
        (None, None) => match template.variable {
            Some(path) => Ok((UrlBase::Value(path.to_vec()), None)),
            None => Err(refuse()),
        },
        _ => Err(refuse()),
    }
}

/// The end of the literal scheme and host; 0 for a relative URL.
fn authority_end(text: &str) -> usize {
    let host = text.find("://").map_or(0, |at| at + 3);
    if text.starts_with(ends_host) {
        return 0;
    }
    text.get(host..).and_then(|rest| rest.find(ends_host)).map_or(text.len(), |at| host + at)
}

/// Rejects values that make a path segment empty, `.` or `..`.
fn check_segments(rendered: &RenderedText, from: usize) -> Result<(), RenderError> {
    let rest = rendered.text.get(from..).unwrap_or_default();
    let path = rest.find(['?', '#']).map_or(rest, |end| rest.get(..end).unwrap_or_default());
    let mut start = from;
    for segment in path.split(['/', '\\']) {
        let range = start..start + segment.len();
        start = range.end + 1;
        let empty = segment.is_empty();
        let is_dots = matches!(segment.replace("%2e", ".").replace("%2E", ".").as_str(), "." | "..");
        if !empty && !is_dots {
            continue;
        }
        // An empty value is in this segment; a literal `//` is allowed.
        let responsible = rendered.find_label(|value| {
            let inside = value.start < range.end && value.end > range.start;
            value.start >= from && if empty { value.is_empty() && value.start == range.start } else { inside }
        });
        if let Some(label) = responsible {
            let reason =
                if empty { "is an empty segment of a URL path" } else { "is a `.` or `..` segment of a URL path" };
            return Err(refused_value(label, reason));
        }
    }
    Ok(())
}

/// An MCP URI, such as that of a resource.
#[derive(Debug)]
pub enum UriSlot {}

/// A rendered URI; for exactly one `{{…}}` the value unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriText(pub String);

impl Slot for UriSlot {
    type Output = UriText;
    type Analysis = ();
    const PRINT_MODE: PrintMode = PrintMode::Encoded;
    const RENDERS_FROM_VALUE: bool = true;

    fn output_from_value(value: &Value, label: &str, (): &()) -> Option<Result<UriText, RenderError>> {
        Some(url_from_value(value, label).map(UriText))
    }

    fn output_from_text(rendered: RenderedText, (): &()) -> Result<UriText, RenderError> {
        Ok(UriText(rendered.text))
    }
}

//! `UriTemplate`, its parts and operators.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use super::UriError;
use super::normalize::normalize_uri;
use super::parse;
use super::pattern::UriPattern;

/// A URI template (RFC 6570, level 3), such as `docs://{name}{?lang}`.
///
/// [`expand`](Self::expand) turns values into a URI, [`matches`](Self::matches) a URI into values.
#[derive(Clone)]
pub struct UriTemplate {
    pub(super) text: String,
    pub(super) parts: Vec<UriPart>,
    /// For each part, its literal as it is in normalized URIs; empty for an expression.
    pub(super) literals: Vec<String>,
    pub(super) variables: Vec<UriVariable>,
    /// For each variable, the characters at which its value ends.
    pub(super) stops: Vec<String>,
    /// Compiled on first use: most templates of a large server are rarely matched.
    pub(super) pattern: Arc<OnceLock<Option<UriPattern>>>,
}

/// A variable of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriVariable {
    pub name: String,
    /// The operator of its expression.
    pub operator: Operator,
    /// The range of the name in the template.
    pub range: Range<usize>,
}

/// The operator of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `{id}`: one value within a segment.
    Simple,
    /// `{+path}`: slashes are kept.
    Reserved,
    /// `{#part}`
    Fragment,
    /// `{.ext}`
    Label,
    /// `{/segment}`
    Path,
    /// `{;name}`
    Parameter,
    /// `{?name}`
    Query,
    /// `{&name}`
    Continuation,
}

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UriPart {
    /// The range in the text.
    Literal(Range<usize>),
    Expression {
        operator: Operator,
        /// The indices of its variables.
        variables: Range<usize>,
    },
}

impl UriTemplate {
    /// Parses a template, which must be an absolute URI except for its variables.
    pub fn parse(text: &str) -> Result<Self, UriError> {
        parse::parse(text)
    }

    /// The text it was parsed from.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its variables, in the order written.
    pub fn variables(&self) -> &[UriVariable] {
        &self.variables
    }

    /// The template in the form in which two are compared: its literals are normalized.
    pub fn key(&self) -> String {
        let part = |(part, literal): (&UriPart, &String)| match part {
            UriPart::Literal(_) => literal.clone(),
            UriPart::Expression { operator, variables } => {
                let variables = self.variables.get(variables.clone()).unwrap_or_default();
                let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
                format!("{{{operator:?} {}}}", names.join(","))
            }
        };
        self.parts.iter().zip(&self.literals).map(part).collect()
    }

    /// Whether it has no variables, and so is the URI of one resource.
    pub fn is_literal(&self) -> bool {
        self.variables.is_empty()
    }

    /// The text before its first variable, normalized.
    pub fn literal_prefix(&self) -> &str {
        self.literals.first().map_or("", String::as_str)
    }

    /// Whether it may answer a URI that begins with this text.
    pub fn may_match_beginning(&self, beginning: &str) -> bool {
        let (own, beginning) = (self.literal_prefix(), normalize_uri(beginning));
        own.starts_with(&*beginning) || !self.is_literal() && beginning.starts_with(own)
    }

    /// The text after its last variable, normalized.
    pub(super) fn literal_suffix(&self) -> &str {
        self.literals.last().map_or("", String::as_str)
    }

    /// The decoded values with which the template expands to `uri`, or to one that means the same, in the order of its
    /// variables.
    ///
    /// A value has at least one character, except with `;`, `?` and `&`. Those three and `#` may be absent. The
    /// parameters of the query may be in any order, without others. The time is linear in the length of `uri`.
    pub fn matches(&self, uri: &str) -> Option<IndexMap<String, String>> {
        self.values(&normalize_uri(uri), uri)
    }

    /// [`matches`](Self::matches) for a URI that is normalized. The values are those of the URI as it was sent, where it
    /// matches like this, so that they keep their case in a host.
    pub(super) fn values(&self, normalized: &str, sent: &str) -> Option<IndexMap<String, String>> {
        if self.is_literal() {
            return (self.literal_prefix() == normalized).then(IndexMap::new);
        }
        let pattern = self.pattern.get_or_init(|| UriPattern::new(self)).as_ref()?;
        let values = pattern.values(self, normalized)?;
        Some(pattern.values(self, &lowercase_scheme(sent)).unwrap_or(values))
    }
}

impl fmt::Debug for UriTemplate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("UriTemplate").field(&self.text).finish()
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl PartialEq for UriTemplate {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for UriTemplate {}

impl Operator {
    pub(super) fn from_char(character: char) -> Option<Self> {
        Some(match character {
            '+' => Self::Reserved,
            '#' => Self::Fragment,
            '.' => Self::Label,
            '/' => Self::Path,
            ';' => Self::Parameter,
            '?' => Self::Query,
            '&' => Self::Continuation,
            _ => return None,
        })
    }

    /// The first character of an expansion.
    pub(super) fn prefix(self) -> Option<char> {
        Some(match self {
            Self::Simple | Self::Reserved => return None,
            Self::Fragment => '#',
            Self::Label => '.',
            Self::Path => '/',
            Self::Parameter => ';',
            Self::Query => '?',
            Self::Continuation => '&',
        })
    }

    /// The separator of two values.
    pub(super) fn separator(self) -> char {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ',',
            Self::Label => '.',
            Self::Path => '/',
            Self::Parameter => ';',
            Self::Query | Self::Continuation => '&',
        }
    }

    /// Whether the name is written with the value.
    pub(super) fn is_named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    /// Whether reserved characters are kept.
    pub(super) fn keeps_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }

    /// Whether it is part of the query, in which order does not count.
    pub(super) fn is_query(self) -> bool {
        matches!(self, Self::Query | Self::Continuation)
    }
}

/// The URI with its scheme in lower case.
pub(super) fn lowercase_scheme(uri: &str) -> Cow<'_, str> {
    match uri.split_once(':') {
        Some((scheme, rest)) if scheme.bytes().any(|byte| byte.is_ascii_uppercase()) && !scheme.contains('/') => {
            Cow::Owned(format!("{}:{rest}", scheme.to_ascii_lowercase()))
        }
        _ => Cow::Borrowed(uri),
    }
}

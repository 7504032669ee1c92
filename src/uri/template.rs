use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use super::error::UriError;
use super::parse;
use super::pattern::Pattern;

/// A URI with variables, as RFC 6570 writes them, to its level 3.
///
/// It works both ways: [`expand`](Self::expand) makes a URI of values, [`matches`](Self::matches) finds them in one.
#[derive(Clone)]
pub struct UriTemplate {
    pub(super) text: String,
    pub(super) parts: Vec<UriPart>,
    pub(super) variables: Vec<UriVariable>,
    /// For each variable, the characters at which its value ends.
    pub(super) stops: Vec<String>,
    /// Made when first needed: most templates of a large server are seldom asked.
    pub(super) pattern: Arc<OnceLock<Option<Pattern>>>,
}

/// A variable of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriVariable {
    /// Its name.
    pub name: String,
    /// How the expression that it stands in writes its values.
    pub operator: Operator,
    /// Where the name stands in the text of the template.
    pub range: Range<usize>,
}

/// How an expression writes its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `{id}`: one value within a segment.
    Simple,
    /// `{+path}`: with the slashes it holds.
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

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UriPart {
    /// Where it stands in the text.
    Literal(Range<usize>),
    Expression {
        operator: Operator,
        /// The places of its variables in [`UriTemplate::variables`].
        variables: Range<usize>,
    },
}

impl UriTemplate {
    /// Parses a template, which must be an absolute URI but for its variables.
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

    /// The text by which two literals are one URI: the case of the scheme does not count.
    pub fn key(&self) -> Cow<'_, str> {
        lowercase_scheme(&self.text)
    }

    /// Says whether it has no variables, and so is the URI of one resource.
    pub fn is_literal(&self) -> bool {
        self.variables.is_empty()
    }

    /// What stands before its first variable.
    pub fn literal_prefix(&self) -> &str {
        match self.parts.first() {
            Some(UriPart::Literal(range)) => self.text.get(range.clone()).unwrap_or_default(),
            _ => "",
        }
    }

    /// What stands after its last variable.
    pub(super) fn literal_suffix(&self) -> &str {
        match self.parts.as_slice() {
            [.., UriPart::Literal(range)] => self.text.get(range.clone()).unwrap_or_default(),
            _ => "",
        }
    }

    /// Finds the values with which the template expands to `uri`, decoded, in the order of its variables.
    ///
    /// A value is one character or more, save with `;`, `?` and `&`, which allow empty ones. Those three and `#` may
    /// be absent. What `?` and `&` name may stand in any order, and nothing else may stand among it. The time taken
    /// is linear in the length of `uri`.
    pub fn matches(&self, uri: &str) -> Option<IndexMap<String, String>> {
        self.matches_normalized(&lowercase_scheme(uri))
    }

    /// As [`matches`](Self::matches), of a URI whose scheme is in lower case.
    pub(super) fn matches_normalized(&self, uri: &str) -> Option<IndexMap<String, String>> {
        if self.is_literal() {
            return (lowercase_scheme(&self.text) == uri).then(IndexMap::new);
        }
        self.pattern.get_or_init(|| Pattern::new(self)).as_ref()?.values(self, uri)
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

    /// What an expansion begins with.
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

    /// What stands between two values.
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

    /// Whether reserved characters stand as they are.
    pub(super) fn keeps_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }

    /// Whether it belongs to the query as a whole, in which order does not count.
    pub(super) fn is_query(self) -> bool {
        matches!(self, Self::Query | Self::Continuation)
    }
}

/// The URI with its scheme in lower case: the one part in which case does not count.
pub(super) fn lowercase_scheme(uri: &str) -> Cow<'_, str> {
    match uri.split_once(':') {
        Some((scheme, rest)) if scheme.bytes().any(|byte| byte.is_ascii_uppercase()) && !scheme.contains('/') => {
            Cow::Owned(format!("{}:{rest}", scheme.to_ascii_lowercase()))
        }
        _ => Cow::Borrowed(uri),
    }
}

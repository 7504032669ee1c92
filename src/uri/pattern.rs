//! Matches URI templates, by regular expressions.

use std::fmt::Write;

use indexmap::IndexMap;
use regex::Regex;

use super::percent::percent_decode;
use super::template::{Operator, UriPart, UriTemplate};

/// A regular expression whose groups capture the values of a template.
#[derive(Debug, Clone)]
pub(super) struct UriPattern {
    regex: Regex,
    /// The contents of the groups, in order.
    groups: Vec<Group>,
}

#[derive(Debug, Clone, Copy)]
enum Group {
    /// The value of a variable.
    Value(usize),
    /// `=` and the value of a variable, or nothing.
    Named(usize),
    /// The whole query.
    Query,
}

impl UriPattern {
    pub(super) fn new(template: &UriTemplate) -> Option<Self> {
        let in_authority = template.literal_prefix().contains("://");
        let mut builder = PatternBuilder { template, text: "^".to_owned(), groups: Vec::new(), in_authority };
        for (part, literal) in template.parts.iter().zip(&template.literals) {
            match part {
                UriPart::Literal(range) => builder.literal(literal, template.text.get(range.clone())?),
                UriPart::Expression { operator, variables } => builder.expression(*operator, variables.clone()),
            }
        }
        builder.text.push('$');
        Some(Self { regex: Regex::new(&builder.text).ok()?, groups: builder.groups })
    }

    pub(super) fn values(&self, template: &UriTemplate, uri: &str) -> Option<IndexMap<String, String>> {
        let captures = self.regex.captures(uri)?;
        let mut values: Vec<Option<String>> = vec![None; template.variables.len()];
        for (at, group) in self.groups.iter().enumerate() {
            let Some(text) = captures.get(at + 1).map(|found| found.as_str()) else { continue };
            match *group {
                Group::Value(variable) => *values.get_mut(variable)? = Some(percent_decode(text)?),
                Group::Named(variable) => {
                    *values.get_mut(variable)? = Some(percent_decode(text.strip_prefix('=').unwrap_or(text))?)
                }
                Group::Query => decode_query(template, text, &mut values)?,
            }
        }
        let named = template.variables.iter().zip(values);
        Some(named.filter_map(|(variable, value)| Some((variable.name.clone(), value?))).collect())
    }
}

/// Decodes `?a=1&b=2`; each name must be a variable, and be there once.
fn decode_query(template: &UriTemplate, text: &str, values: &mut [Option<String>]) -> Option<()> {
    let Some(pairs) = text.strip_prefix(['?', '&']).filter(|pairs| !pairs.is_empty()) else { return Some(()) };
    for pair in pairs.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let is_it = |variable: &super::template::UriVariable| variable.operator.is_query() && variable.name == name;
        let slot = values.get_mut(template.variables.iter().position(is_it)?)?;
        if slot.replace(percent_decode(value)?).is_some() {
            return None;
        }
    }
    Some(())
}

struct PatternBuilder<'a> {
    template: &'a UriTemplate,
    text: String,
    groups: Vec<Group>,
    /// Whether what follows may be in the authority, whose case does not count.
    in_authority: bool,
}

impl PatternBuilder<'_> {
    /// A literal as it is in normalized URIs, or as it is written.
    fn literal(&mut self, normalized: &str, spelled: &str) {
        let is_first = self.groups.is_empty();
        let authority_end = |text: &str| {
            let scheme_end = text.find("://").filter(|_| is_first).map_or(0, |at| at + "://".len());
            let path = text.get(scheme_end..).and_then(|rest| rest.find(['/', '?', '#']));
            if self.in_authority { path.map_or(text.len(), |path| scheme_end + path) } else { 0 }
        };
        let pattern = |text: &str| {
            let (authority, rest) = text.split_at_checked(authority_end(text)).unwrap_or((text, ""));
            format!("(?i:{}){}", regex::escape(authority), regex::escape(rest))
        };
        self.text.push_str(&match normalized == spelled {
            true => pattern(normalized),
            false => format!("(?:{}|{})", pattern(normalized), pattern(spelled)),
        });
        self.in_authority &= authority_end(normalized) == normalized.len();
    }

    fn expression(&mut self, operator: Operator, variables: std::ops::Range<usize>) {
        self.in_authority &= !matches!(operator.prefix(), Some('/' | '?' | '#'));
        match operator {
            Operator::Query => self.query(r"((?:\?[^#]*)?)"),
            // The group of the query captures it.
            Operator::Continuation if self.groups.iter().any(|group| matches!(group, Group::Query)) => {}
            Operator::Continuation => self.query("((?:&[^#]*)?)"),
            Operator::Parameter => variables.for_each(|variable| self.parameter(variable)),
            Operator::Fragment => {
                self.text.push_str("(?:");
                self.list(operator, variables);
                self.text.push_str(")?");
            }
            Operator::Simple | Operator::Reserved | Operator::Label | Operator::Path => self.list(operator, variables),
        }
    }

    fn query(&mut self, pattern: &str) {
        self.text.push_str(pattern);
        self.groups.push(Group::Query);
    }

    fn parameter(&mut self, variable: usize) {
        let name = self.template.variables.get(variable).map_or("", |variable| variable.name.as_str());
        // Writing to a `String` cannot fail.
        let (class, ignore_case) = (self.class(variable), if self.in_authority { "i" } else { "" });
        let _ = write!(self.text, "(?:;(?{ignore_case}:{name})((?:={class}*)?))?");
        self.groups.push(Group::Named(variable));
    }

    fn list(&mut self, operator: Operator, variables: std::ops::Range<usize>) {
        for variable in variables.clone() {
            let before = if variable == variables.start { operator.prefix() } else { Some(operator.separator()) };
            let before = before.map(|before| regex::escape(before.encode_utf8(&mut [0; 4]))).unwrap_or_default();
            let class = self.class(variable);
            let _ = write!(self.text, "{before}({class}+)");
            self.groups.push(Group::Value(variable));
        }
    }

    fn class(&self, variable: usize) -> String {
        let stops = self.template.stops.get(variable).map_or("", String::as_str);
        let codes: String = stops.chars().map(|stop| format!(r"\x{{{:x}}}", u32::from(stop))).collect();
        format!("[^{codes}]")
    }
}

//! Expands URI templates.

use super::percent::{RESERVED, UNRESERVED, percent_encode_except};
use super::template::{Operator, UriPart, UriTemplate};

impl UriTemplate {
    /// Expands the template; a variable without a value is left out.
    ///
    /// As in RFC 6570, except that `{+x}` and `{#x}` encode `%`, brackets, and characters at which
    /// [`matches`](Self::matches) would end the value: the URI of a file `a?b%20` matches again.
    pub fn expand(&self, values: &impl Fn(&str) -> Option<String>) -> String {
        let mut out = String::with_capacity(self.text.len() + 16);
        for part in &self.parts {
            match part {
                UriPart::Literal(range) => out.push_str(self.text.get(range.clone()).unwrap_or_default()),
                UriPart::Expression { operator, variables } => {
                    // A `{&x}` whose `{?y}` has no value starts the query.
                    let operator = match operator {
                        Operator::Continuation if !out.contains('?') => Operator::Query,
                        other => *other,
                    };
                    self.expand_expression(&mut out, operator, variables.clone(), values);
                }
            }
        }
        out
    }

    fn expand_expression(
        &self,
        out: &mut String,
        operator: Operator,
        variables: std::ops::Range<usize>,
        values: &impl Fn(&str) -> Option<String>,
    ) {
        let mut before = operator.prefix();
        for at in variables {
            let (Some(variable), Some(stops)) = (self.variables.get(at), self.stops.get(at)) else { continue };
            let Some(value) = values(&variable.name) else { continue };
            out.extend(before);
            if operator.is_named() {
                out.push_str(&variable.name);
                if !value.is_empty() || operator != Operator::Parameter {
                    out.push('=');
                }
            }
            // Brackets are reserved, but not allowed in a path, query or fragment (RFC 3986, 3.3).
            let is_kept =
                |next: &char| operator.keeps_reserved() && !matches!(next, '[' | ']') && !stops.contains(*next);
            let kept: String = UNRESERVED.chars().chain(RESERVED.chars().filter(is_kept)).collect();
            out.push_str(&percent_encode_except(&value, &kept));
            before = Some(operator.separator());
        }
    }
}

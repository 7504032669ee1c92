use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::check::{check_characters, check_fragment, check_scheme};
use super::error::UriError;
use super::percent::is_reserved;
use super::template::{Operator, UriPart, UriTemplate, UriVariable};

/// More than any URI that is meant, and little enough for the pattern that is made of it.
const MAX_TEMPLATE_BYTES: usize = 8 * 1024;

pub(super) fn parse(text: &str) -> Result<UriTemplate, UriError> {
    if text.len() > MAX_TEMPLATE_BYTES {
        return Err(UriError::new(0..text.len(), "URI template exceeds 8 KiB"));
    }
    check_scheme(text)?;
    let mut parser =
        UriTemplateParser { text, parts: Vec::new(), variables: Vec::new(), in_query: false, in_fragment: false };
    parser.parse_all()?;
    let UriTemplateParser { parts, variables, .. } = parser;
    let stops = stop_chars(text, &parts, variables.len());
    let pattern = Arc::new(OnceLock::new());
    Ok(UriTemplate { text: text.to_owned(), parts, variables, stops, pattern })
}

struct UriTemplateParser<'a> {
    text: &'a str,
    parts: Vec<UriPart>,
    variables: Vec<UriVariable>,
    /// Whether a literal `?` has been met.
    in_query: bool,
    /// Whether a literal `#` has been met.
    in_fragment: bool,
}

impl UriTemplateParser<'_> {
    fn parse_all(&mut self) -> Result<(), UriError> {
        let mut at = 0;
        while let Some(rest) = self.text.get(at..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with('{') {
                at = self.expression(at)?;
            } else {
                let end = at + rest.find('{').unwrap_or(rest.len());
                self.literal(at..end)?;
                at = end;
            }
        }
        Ok(())
    }

    fn literal(&mut self, range: Range<usize>) -> Result<(), UriError> {
        let text = self.text.get(range.clone()).unwrap_or_default();
        if let Some(at) = text.find('}') {
            let at = range.start + at;
            return Err(UriError::new(at..at + 1, "unmatched `}`").help("write a literal brace as `%7D`"));
        }
        check_characters(text, range.start)?;
        self.check_literal_position(&range, text)?;
        self.in_query |= text.split('#').next().is_some_and(|before| before.contains('?'));
        self.in_fragment |= text.contains('#');
        self.parts.push(UriPart::Literal(range));
        Ok(())
    }

    /// After what may be absent at the end, a literal can only be a fragment.
    fn check_literal_position(&self, range: &Range<usize>, text: &str) -> Result<(), UriError> {
        if self.in_fragment {
            return check_fragment(&format!("#{text}")).map_err(|fault| UriError { range: range.clone(), ..fault });
        }
        match self.last_operator() {
            Some(Operator::Fragment) => Err(UriError::new(range.clone(), "unexpected text after fragment `{#…}`")),
            Some(operator) if operator.is_query() && !text.starts_with('#') => {
                let fault = UriError::new(range.clone(), "unexpected text after a query expression");
                Err(fault.help("only `{&…}` or a fragment can follow; move the query expression to the end"))
            }
            _ => check_fragment(text).map_err(|fault| UriError {
                range: range.start + fault.range.start..range.start + fault.range.end,
                ..fault
            }),
        }
    }

    fn last_operator(&self) -> Option<Operator> {
        match self.parts.last()? {
            UriPart::Expression { operator, .. } => Some(*operator),
            UriPart::Literal(_) => None,
        }
    }

    /// Parses the expression that begins at `start`, and returns where it ends.
    fn expression(&mut self, start: usize) -> Result<usize, UriError> {
        let (inner, end) = self.braces(start)?;
        let written = self.text.get(inner.clone()).unwrap_or_default();
        let first = written.chars().next();
        if let Some(wrong) = first.filter(|first| matches!(first, '=' | ',' | '!' | '@' | '|')) {
            let range = inner.start..inner.start + wrong.len_utf8();
            return Err(UriError::new(range, format!("reserved operator `{wrong}` (RFC 6570)")));
        }
        let known = first.and_then(Operator::from_char);
        let operator = known.unwrap_or(Operator::Simple);
        self.check_operator_position(operator, start..end)?;
        let variables = self.variables.len();
        self.parse_names(operator, inner.start + usize::from(known.is_some())..inner.end)?;
        self.parts.push(UriPart::Expression { operator, variables: variables..self.variables.len() });
        Ok(end)
    }

    /// The range within the braces, and the end behind them.
    fn braces(&self, start: usize) -> Result<(Range<usize>, usize), UriError> {
        let rest = self.text.get(start + 1..).unwrap_or_default();
        if rest.starts_with('{') {
            let fault = UriError::new(start..start + 2, "unexpected `{{` in a URI template");
            return Err(fault.help("write `{name}`; URI templates (RFC 6570) use single braces"));
        }
        match rest.find(['{', '}']).filter(|at| rest.get(*at..).is_some_and(|rest| rest.starts_with('}'))) {
            Some(0) => Err(UriError::new(start..start + 2, "empty expression `{}`")),
            Some(at) => Ok((start + 1..start + 1 + at, start + 2 + at)),
            None => Err(UriError::new(start..start + 1, "unclosed `{`").help("write a literal brace as `%7B`")),
        }
    }

    /// Refuses expressions where they could not be told apart from what stands before.
    fn check_operator_position(&self, operator: Operator, range: Range<usize>) -> Result<(), UriError> {
        let last = self.last_operator();
        let refuse = |message: &str, help: &str| Err(UriError::new(range.clone(), message).help(help));
        let has_query = self.in_query || self.parts.iter().any(is_query);
        match (last, operator) {
            (Some(Operator::Fragment), _) => {
                refuse("unexpected expression after fragment `{#…}`", "move the fragment to the end")
            }
            (_, Operator::Query | Operator::Continuation | Operator::Fragment) if self.in_fragment => {
                refuse("unexpected expression after `#`", "move the expression before the `#`")
            }
            (_, Operator::Query) if has_query => {
                refuse("duplicate query expression", "write `{&…}` to continue the query")
            }
            (_, Operator::Continuation) if !has_query => {
                refuse("`{&…}` without a query", "write `{?…}` to start the query")
            }
            (Some(last), _) if last.is_query() && !matches!(operator, Operator::Continuation | Operator::Fragment) => {
                refuse(
                    "unexpected expression after a query expression",
                    "only `{&…}` or a fragment can follow; move the query expression to the end",
                )
            }
            (Some(_), Operator::Simple | Operator::Reserved) => {
                refuse("ambiguous adjacent expressions", "write a `/` between them")
            }
            _ => Ok(()),
        }
    }

    fn parse_names(&mut self, operator: Operator, range: Range<usize>) -> Result<(), UriError> {
        let mut start = range.start;
        for written in self.text.get(range).unwrap_or_default().split(',') {
            let place = start..start + written.len();
            check_name(written, &place)?;
            if self.variables.iter().any(|variable| variable.name == written) {
                let fault = UriError::new(place, format!("duplicate variable `{written}`"));
                return Err(fault.help("give each variable its own name"));
            }
            start = place.end + 1;
            self.variables.push(UriVariable { name: written.to_owned(), operator, range: place });
        }
        Ok(())
    }
}

fn check_name(written: &str, place: &Range<usize>) -> Result<(), UriError> {
    const LEVEL: &str = "RFC 6570 is supported to level 3";
    if let Some(name) = written.strip_suffix('*') {
        let fault = UriError::new(place.end - 1..place.end, "unsupported explode modifier `*`");
        return Err(fault.help(format!("write `{name}`; {LEVEL}")));
    }
    if let Some(at) = written.find(':') {
        let name = written.get(..at).unwrap_or_default();
        let fault = UriError::new(place.start + at..place.end, "unsupported prefix modifier `:`");
        return Err(fault.help(format!("write `{name}`; {LEVEL}")));
    }
    if written.is_empty() {
        return Err(UriError::new(place.clone(), "missing variable name"));
    }
    let is_first = |character: char| character.is_ascii_alphabetic() || character == '_';
    let is_rest = |character: char| character.is_ascii_alphanumeric() || character == '_';
    if written.starts_with(is_first) && written.chars().all(is_rest) {
        return Ok(());
    }
    let fault = UriError::new(place.clone(), format!("invalid variable name `{}`", written.escape_debug()));
    Err(fault.help("use letters, digits and `_`, not starting with a digit"))
}

fn is_query(part: &UriPart) -> bool {
    matches!(part, UriPart::Expression { operator, .. } if operator.is_query())
}

/// For each variable, the characters at which its value ends. [`expand`](UriTemplate::expand) encodes them, so that
/// a value that holds them is found again whole.
fn stop_chars(text: &str, parts: &[UriPart], count: usize) -> Vec<String> {
    let mut stops = Vec::with_capacity(count);
    let mut in_query = false;
    for (at, part) in parts.iter().enumerate() {
        match part {
            UriPart::Literal(range) => in_query |= text.get(range.clone()).is_some_and(|text| text.contains('?')),
            UriPart::Expression { operator, variables } => {
                let next = parts.get(at + 1);
                let later = if operator.keeps_reserved() { String::new() } else { later_stops(parts.get(at + 1..)) };
                let stop = |variable: usize| {
                    let next = if variable + 1 == variables.end { next_stop(text, *operator, next) } else { None };
                    let separator = if variable + 1 == variables.end { None } else { separator_stop(*operator) };
                    let query = (in_query && !operator.keeps_reserved()).then_some('&');
                    let all =
                        own_stops(*operator).chars().chain(next).chain(separator).chain(query).chain(later.chars());
                    all.collect::<String>()
                };
                stops.extend(variables.clone().map(stop));
            }
        }
    }
    stops
}

/// What expressions further on begin with: an encoded value holds none of it, so it cannot run over them.
fn later_stops(parts: Option<&[UriPart]>) -> String {
    let first = |part: &UriPart| match part {
        UriPart::Expression { operator, .. } => operator.prefix().filter(|first| matches!(first, ';' | '&')),
        UriPart::Literal(_) => None,
    };
    parts.unwrap_or_default().iter().filter_map(first).collect()
}

fn own_stops(operator: Operator) -> &'static str {
    match operator {
        Operator::Simple | Operator::Label | Operator::Path => "/?#",
        Operator::Reserved => "?#",
        Operator::Fragment => "#",
        Operator::Parameter => "/?#;",
        Operator::Query | Operator::Continuation => "&#",
    }
}

fn separator_stop(operator: Operator) -> Option<char> {
    Some(operator.separator()).filter(|separator| is_reserved(*separator))
}

/// A value ends where the next part begins, if that begins with what an encoded value cannot hold.
fn next_stop(text: &str, operator: Operator, next: Option<&UriPart>) -> Option<char> {
    match next? {
        UriPart::Literal(range) if !operator.keeps_reserved() => {
            text.get(range.clone())?.chars().next().filter(|first| is_reserved(*first))
        }
        UriPart::Literal(_) => None,
        UriPart::Expression { operator: next, .. } => next.prefix().filter(|first| matches!(first, ';' | '&')),
    }
}

//! Parses URI templates (RFC 6570, level 3).

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::UriError;
use super::check::{check_characters, check_fragment, check_scheme};
use super::normalize::normalize_uri;
use super::percent::is_reserved;
use super::template::{Operator, UriPart, UriTemplate, UriVariable, lowercase_scheme};

/// Longer than any useful URI, and short enough to compile to a pattern.
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
    let literals = normalized_literals(text, &parts).unwrap_or_else(|| {
        let text = lowercase_scheme(text);
        parts.iter().map(|part| literal_of(&text, part).to_owned()).collect()
    });
    let pattern = Arc::new(OnceLock::new());
    Ok(UriTemplate { text: text.to_owned(), parts, literals, variables, stops, pattern })
}

/// The text of a part; empty for an expression.
fn literal_of<'t>(text: &'t str, part: &UriPart) -> &'t str {
    match part {
        UriPart::Literal(range) => text.get(range.clone()).unwrap_or_default(),
        UriPart::Expression { .. } => "",
    }
}

/// The literals of a template as they are in the normalized URIs that it matches: those of one such URI, in which each
/// expression has a value that stays as it is.
fn normalized_literals(text: &str, parts: &[UriPart]) -> Option<Vec<String>> {
    let expansion = |(at, part): (usize, &UriPart)| match part {
        UriPart::Literal(_) => literal_of(text, part).to_owned(),
        UriPart::Expression { operator, .. } => {
            operator.prefix().into_iter().chain(format!("zzq{at}qzz").chars()).collect()
        }
    };
    let expansions: Vec<String> = parts.iter().enumerate().map(expansion).collect();
    let uri = expansions.concat();
    let uri = normalize_uri(&uri);
    let (mut literals, mut rest) = (vec![String::new(); parts.len()], &*uri);
    for (at, _) in parts.iter().enumerate().filter(|(_, part)| matches!(part, UriPart::Expression { .. })) {
        let (literal, after) = rest.split_once(expansions.get(at)?)?;
        if let Some(before) = at.checked_sub(1).and_then(|before| literals.get_mut(before)) {
            before.push_str(literal);
        }
        rest = after;
    }
    if let Some(last) = literals.last_mut() {
        last.push_str(rest);
    }
    Some(literals)
}

struct UriTemplateParser<'a> {
    text: &'a str,
    parts: Vec<UriPart>,
    variables: Vec<UriVariable>,
    /// Whether a literal `?` was parsed.
    in_query: bool,
    /// Whether a literal `#` was parsed.
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

    /// After optional expressions only a fragment can follow.
    fn check_literal_position(&self, range: &Range<usize>, text: &str) -> Result<(), UriError> {
        if self.in_fragment {
            return check_fragment(&format!("#{text}")).map_err(|error| error.map_position(|_| range.clone()));
        }
        match self.last_operator() {
            Some(Operator::Fragment) => Err(UriError::new(range.clone(), "unexpected text after fragment `{#…}`")),
            Some(operator) if operator.is_query() && !text.starts_with('#') => {
                let error = UriError::new(range.clone(), "unexpected text after a query expression");
                Err(error.help("only `{&…}` or a fragment can follow; move the query expression to the end"))
            }
            _ => check_fragment(text)
                .map_err(|error| error.map_position(|at| range.start + at.start..range.start + at.end)),
        }
    }

    fn last_operator(&self) -> Option<Operator> {
        match self.parts.last()? {
            UriPart::Expression { operator, .. } => Some(*operator),
            UriPart::Literal(_) => None,
        }
    }

    /// Parses the expression at `start`, and returns its end.
    fn expression(&mut self, start: usize) -> Result<usize, UriError> {
        let (inner, end) = self.braces(start)?;
        let first = self.text.get(inner.clone()).unwrap_or_default().chars().next();
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

    /// The range within the braces, and the end after them.
    fn braces(&self, start: usize) -> Result<(Range<usize>, usize), UriError> {
        let rest = self.text.get(start + 1..).unwrap_or_default();
        if rest.starts_with('{') {
            let error = UriError::new(start..start + 2, "unexpected `{{` in a URI template");
            return Err(error.help("write `{name}`; URI templates (RFC 6570) use single braces"));
        }
        match rest.find(['{', '}']).filter(|at| rest.get(*at..).is_some_and(|rest| rest.starts_with('}'))) {
            Some(0) => Err(UriError::new(start..start + 2, "empty expression `{}`")),
            Some(at) => Ok((start + 1..start + 1 + at, start + 2 + at)),
            None => Err(UriError::new(start..start + 1, "unclosed `{`").help("write a literal brace as `%7B`")),
        }
    }

    /// Rejects expressions that are ambiguous with what precedes them.
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
        for name in self.text.get(range).unwrap_or_default().split(',') {
            let name_range = start..start + name.len();
            check_name(name, &name_range)?;
            if self.variables.iter().any(|variable| variable.name == name) {
                let error = UriError::new(name_range, format!("duplicate variable `{name}`"));
                return Err(error.help("give each variable its own name"));
            }
            start = name_range.end + 1;
            self.variables.push(UriVariable { name: name.to_owned(), operator, range: name_range });
        }
        Ok(())
    }
}

fn check_name(name: &str, name_range: &Range<usize>) -> Result<(), UriError> {
    const LEVEL: &str = "RFC 6570 is supported to level 3";
    if let Some(bare) = name.strip_suffix('*') {
        let error = UriError::new(name_range.end - 1..name_range.end, "unsupported explode modifier `*`");
        return Err(error.help(format!("write `{bare}`; {LEVEL}")));
    }
    if let Some(at) = name.find(':') {
        let bare = name.get(..at).unwrap_or_default();
        let error = UriError::new(name_range.start + at..name_range.end, "unsupported prefix modifier `:`");
        return Err(error.help(format!("write `{bare}`; {LEVEL}")));
    }
    if name.is_empty() {
        return Err(UriError::new(name_range.clone(), "missing variable name"));
    }
    let is_rest = |character: char| character.is_ascii_alphanumeric() || character == '_';
    if !name.starts_with(|first: char| first.is_ascii_digit()) && name.chars().all(is_rest) {
        return Ok(());
    }
    let error = UriError::new(name_range.clone(), format!("invalid variable name `{}`", name.escape_debug()));
    Err(error.help("use letters, digits and `_`, not starting with a digit"))
}

fn is_query(part: &UriPart) -> bool {
    matches!(part, UriPart::Expression { operator, .. } if operator.is_query())
}

/// For each variable, the characters at which its value ends. [`expand`](UriTemplate::expand) encodes them, so that
/// a value with such characters matches again.
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
                    let all = operator_delimiters(*operator)
                        .chars()
                        .chain(next)
                        .chain(separator)
                        .chain(query)
                        .chain(later.chars());
                    all.collect::<String>()
                };
                stops.extend(variables.clone().map(stop));
            }
        }
    }
    stops
}

/// The characters at which later expressions start; an encoded value contains none of them.
fn later_stops(parts: Option<&[UriPart]>) -> String {
    let first = |part: &UriPart| match part {
        UriPart::Expression { operator, .. } => operator.prefix().filter(|first| matches!(first, ';' | '&')),
        UriPart::Literal(_) => None,
    };
    parts.unwrap_or_default().iter().filter_map(first).collect()
}

fn operator_delimiters(operator: Operator) -> &'static str {
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

/// The character at which the next part starts, if an encoded value cannot contain it.
fn next_stop(text: &str, operator: Operator, next: Option<&UriPart>) -> Option<char> {
    match next? {
        UriPart::Literal(range) if !operator.keeps_reserved() => {
            text.get(range.clone())?.chars().next().filter(|first| is_reserved(*first))
        }
        UriPart::Literal(_) => None,
        UriPart::Expression { operator: next, .. } => next.prefix().filter(|first| matches!(first, ';' | '&')),
    }
}

//! What a text prints: its own characters, and values.

use std::ops::Range;

use super::syntax::{Block, Else, Expression, Node, parse};

/// Names whose values are the manifest's own, or of who runs the server.
const FIXED: [&str; 2] = ["env", "server"];

/// One piece of what a text prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Printed<'t> {
    /// Characters of the text itself, or of a literal.
    Text(&'t str),
    /// A value that no caller chooses, such as `env.NAME`: the path to it, empty for one that is computed.
    Fixed(Vec<String>),
    /// Any other value: where it stands, and the path to it, empty for one that is computed.
    Value(Range<usize>, Vec<String>),
}

/// What a text prints, in the order written, whichever way its conditions go. A text with a fault has no meaning here.
pub fn printed(text: &str) -> Vec<Printed<'_>> {
    let mut pieces = Vec::new();
    nodes(text, &parse(text).0, &mut pieces);
    pieces
}

fn nodes<'t>(text: &'t str, list: &[Node], pieces: &mut Vec<Printed<'t>>) {
    for node in list {
        match node {
            Node::Text(own) => pieces.push(Printed::Text(text.get(own.span.clone()).unwrap_or_default())),
            Node::Hole(hole) => pieces.push(expression(text, &hole.expression, &hole.span)),
            Node::Block(inner) => block(text, inner, pieces),
            Node::Inline(inline) => nodes(text, &inline.body, pieces),
            Node::Partial(partial) => pieces.push(Printed::Value(partial.name.span.clone(), Vec::new())),
        }
    }
}

fn block<'t>(text: &'t str, written: &Block, pieces: &mut Vec<Printed<'t>>) {
    nodes(text, &written.body, pieces);
    match &written.otherwise {
        Some(Else::Plain(otherwise)) => nodes(text, otherwise, pieces),
        Some(Else::Chain(otherwise)) => block(text, otherwise, pieces),
        None => {}
    }
}

fn expression<'t>(text: &'t str, written: &Expression, span: &Range<usize>) -> Printed<'t> {
    match written {
        Expression::Literal(_, literal) => Printed::Text(text.get(literal.clone()).unwrap_or_default()),
        Expression::Path(path) => {
            let names: Vec<String> = path.names.iter().map(|name| name.text.clone()).collect();
            if is_fixed(written) { Printed::Fixed(names) } else { Printed::Value(span.clone(), names) }
        }
        Expression::Call(_) if is_fixed(written) => Printed::Fixed(Vec::new()),
        Expression::Call(_) => Printed::Value(span.clone(), Vec::new()),
    }
}

fn is_fixed(written: &Expression) -> bool {
    match written {
        Expression::Literal(..) => true,
        Expression::Path(path) => {
            let head = path.names.first().map(|name| name.text.as_str());
            !path.this && path.ups == 0 && head.is_some_and(|head| FIXED.contains(&head) && path.names.len() > 1)
        }
        Expression::Call(call) => {
            call.params.iter().all(is_fixed) && call.options.iter().all(|(_, option)| is_fixed(option))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(range: Range<usize>, path: &[&str]) -> Printed<'static> {
        Printed::Value(range, path.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn values_are_told_from_text_and_environment() {
        let fixed = |path: &[&str]| Printed::Fixed(path.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(
            printed("a{{x}}{{env.B}}{{{arguments.y}}}{{json x}}{{now \"%Y\"}}"),
            [
                Printed::Text("a"),
                value(1..6, &["x"]),
                fixed(&["env", "B"]),
                value(15..32, &["arguments", "y"]),
                value(32..42, &[]),
                fixed(&[]),
            ]
        );
    }

    #[test]
    fn a_condition_prints_only_what_stands_inside() {
        let inside = printed("{{#if x}}-a{{else if y}}{{y}}{{else}}-b{{/if}}");
        assert_eq!(inside, [Printed::Text("-a"), value(24..29, &["y"]), Printed::Text("-b")]);
        assert_eq!(printed("{{#each list}}{{this}}{{/each}}"), [value(14..22, &[])]);
    }
}

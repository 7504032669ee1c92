//! The output of a template as literal text and values.

use std::ops::Range;

use super::syntax::{Expression, TemplateNode, parse};

/// Names whose values come from the manifest or the operator.
const CONSTANT_ROOTS: [&str; 2] = ["env", "server"];

/// One piece of the output of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputPiece<'t> {
    /// Literal text.
    Text(&'t str),
    /// A value that no caller chooses, such as `env.NAME`: its path, empty for a computed one.
    Constant(Vec<String>),
    /// Any other value: its range in the template, and its path, empty for a computed one.
    Value(Range<usize>, Vec<String>),
}

/// The output of a template in the order written, of all branches of its conditions. The template must be valid.
pub fn output_pieces(text: &str) -> Vec<OutputPiece<'_>> {
    let mut pieces = Vec::new();
    nodes(text, &parse(text).0, &mut pieces);
    pieces
}

fn nodes<'t>(text: &'t str, list: &[TemplateNode], pieces: &mut Vec<OutputPiece<'t>>) {
    for node in list {
        match node {
            TemplateNode::Text(own) => pieces.push(OutputPiece::Text(text.get(own.span.clone()).unwrap_or_default())),
            TemplateNode::Interpolation(interpolation) => {
                pieces.push(expression(text, &interpolation.expression, &interpolation.span))
            }
            TemplateNode::Block(block) => {
                nodes(text, &block.body, pieces);
                nodes(text, &block.else_nodes, pieces);
            }
            TemplateNode::Inline(inline) => nodes(text, &inline.body, pieces),
            TemplateNode::Partial(partial) => pieces.push(OutputPiece::Value(partial.name.span.clone(), Vec::new())),
        }
    }
}

fn expression<'t>(text: &'t str, expression: &Expression, span: &Range<usize>) -> OutputPiece<'t> {
    match expression {
        Expression::Literal(_, literal) => OutputPiece::Text(text.get(literal.clone()).unwrap_or_default()),
        Expression::Path(path) => {
            let names: Vec<String> = path.names.iter().map(|name| name.text.clone()).collect();
            if is_constant(expression) { OutputPiece::Constant(names) } else { OutputPiece::Value(span.clone(), names) }
        }
        Expression::Call(_) if is_constant(expression) => OutputPiece::Constant(Vec::new()),
        Expression::Call(_) => OutputPiece::Value(span.clone(), Vec::new()),
    }
}

fn is_constant(expression: &Expression) -> bool {
    match expression {
        Expression::Literal(..) => true,
        Expression::Path(path) => {
            let head = path.names.first().map(|name| name.text.as_str());
            !path.this
                && path.parent_steps == 0
                && head.is_some_and(|head| CONSTANT_ROOTS.contains(&head) && path.names.len() > 1)
        }
        Expression::Call(call) => call.arguments.values().all(is_constant),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(range: Range<usize>, path: &[&str]) -> OutputPiece<'static> {
        OutputPiece::Value(range, path.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn values_text_and_env_are_distinguished() {
        let fixed = |path: &[&str]| OutputPiece::Constant(path.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(
            output_pieces("a{{x}}{{env.B}}{{{arguments.y}}}{{json x}}{{now \"%Y\"}}"),
            [
                OutputPiece::Text("a"),
                value(1..6, &["x"]),
                fixed(&["env", "B"]),
                value(15..32, &["arguments", "y"]),
                value(32..42, &[]),
                fixed(&[]),
            ]
        );
    }

    #[test]
    fn condition_prints_only_its_body() {
        let inside = output_pieces("{{#if x}}-a{{else if y}}{{y}}{{else}}-b{{/if}}");
        assert_eq!(inside, [OutputPiece::Text("-a"), value(24..29, &["y"]), OutputPiece::Text("-b")]);
        assert_eq!(output_pieces("{{#each list}}{{this}}{{/each}}"), [value(14..22, &[])]);
    }
}

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
    /// Any other value in scope: its range in the template, and its path, empty for `this`.
    Value(Range<usize>, Vec<String>),
    /// A value that is computed, or whose name is bound by a block: its range in the template.
    Computed(Range<usize>),
}

/// Blocks that bind no name, unless they have block parameters.
const CONDITIONS: [&str; 2] = ["if", "unless"];

/// The output of a template in the order written, of all branches of its conditions. The template must be valid.
pub fn output_pieces(text: &str) -> Vec<OutputPiece<'_>> {
    let mut pieces = Vec::new();
    add_nodes(text, &parse(text).0, false, &mut pieces);
    pieces
}

/// Adds the output of nodes, within a block that `binds_names` or not: `{{v}}` is another value in `{{#with x}}`.
fn add_nodes<'t>(text: &'t str, list: &[TemplateNode], binds_names: bool, pieces: &mut Vec<OutputPiece<'t>>) {
    for node in list {
        match node {
            TemplateNode::Text(own) => pieces.push(OutputPiece::Text(text.get(own.span.clone()).unwrap_or_default())),
            TemplateNode::Interpolation(interpolation) => {
                let piece = expression(text, &interpolation.expression, &interpolation.span);
                let is_bound = binds_names && !matches!(piece, OutputPiece::Text(_));
                pieces.push(if is_bound { OutputPiece::Computed(interpolation.span.clone()) } else { piece });
            }
            TemplateNode::Block(block) => {
                let is_condition =
                    CONDITIONS.contains(&block.call.helper.text.as_str()) && block.block_params.is_empty();
                let binds_names = binds_names || !is_condition;
                add_nodes(text, &block.body, binds_names, pieces);
                add_nodes(text, &block.else_nodes, binds_names, pieces);
            }
            TemplateNode::Inline(inline) => add_nodes(text, &inline.body, true, pieces),
            TemplateNode::Partial(partial) => pieces.push(OutputPiece::Computed(partial.name.span.clone())),
        }
    }
}

fn expression<'t>(text: &'t str, expression: &Expression, span: &Range<usize>) -> OutputPiece<'t> {
    match expression {
        Expression::Literal(_, literal) => OutputPiece::Text(text.get(literal.clone()).unwrap_or_default()),
        Expression::Path(path) => {
            let names: Vec<String> = path.names.iter().map(|name| name.text.clone()).collect();
            // `this.v` is not the argument `v`.
            let is_of_item = path.this && !names.is_empty();
            match is_constant(expression) {
                true => OutputPiece::Constant(names),
                false if is_of_item || path.parent_steps > 0 => OutputPiece::Computed(span.clone()),
                false => OutputPiece::Value(span.clone(), names),
            }
        }
        Expression::Call(_) if is_constant(expression) => OutputPiece::Constant(Vec::new()),
        Expression::Call(_) => OutputPiece::Computed(span.clone()),
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
                OutputPiece::Computed(32..42),
                fixed(&[]),
            ]
        );
    }

    #[test]
    fn condition_prints_only_its_body() {
        let inside = output_pieces("{{#if x}}-a{{else if y}}{{y}}{{else}}-b{{/if}}");
        assert_eq!(inside, [OutputPiece::Text("-a"), value(24..29, &["y"]), OutputPiece::Text("-b")]);
        assert_eq!(output_pieces("{{this}}{{this.v}}"), [value(0..8, &[]), OutputPiece::Computed(8..18)]);
    }

    #[test]
    fn name_in_a_block_is_no_argument() {
        for text in [
            "{{#each xs}}{{v}}{{/each}}",
            "{{#each xs as |v|}}{{v}}{{/each}}",
            "{{#with x}}{{v}}{{/with}}",
            "{{#with x}}{{#if y}}{{env.V}}{{/if}}{{/with}}",
            "{{#if x}}{{#each xs}}{{../v}}{{/each}}{{/if}}",
        ] {
            assert!(matches!(output_pieces(text)[..], [OutputPiece::Computed(_)]), "{text}");
        }
    }
}

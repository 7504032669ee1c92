//! The partials that a text uses.

use std::collections::BTreeSet;

use super::syntax::{TemplateNode, parse};

/// The names of the partials that a text uses, whatever else is wrong with it.
pub fn partial_names(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if !text.contains("{{") {
        return names;
    }
    let (nodes, _) = parse(text);
    let mut open: Vec<&[TemplateNode]> = vec![&nodes];
    while let Some(nodes) = open.pop() {
        for node in nodes {
            match node {
                TemplateNode::Text(_) | TemplateNode::Interpolation(_) => {}
                TemplateNode::Block(block) => open.extend([&*block.body, &*block.else_nodes]),
                TemplateNode::Inline(inline) => open.push(&inline.body),
                TemplateNode::Partial(partial) => {
                    names.insert(partial.name.text.clone());
                    open.extend(partial.body.as_deref());
                }
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partials_are_found_in_every_block() {
        let text = "{{> a}} {{#if x}}{{> b}}{{else}}{{#> c}}{{> d y=1}}{{/c}}{{/if}} {{e";
        assert_eq!(partial_names(text).into_iter().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    }
}

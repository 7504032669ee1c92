//! The syntax tree of a template.

use std::ops::Range;

use serde_json::Value;

/// One node of a template, in the order written.
#[derive(Debug, Clone)]
pub(in crate::template) enum TemplateNode {
    Text(TextNode),
    Interpolation(Interpolation),
    Block(BlockNode),
    Inline(InlineNode),
    Partial(PartialCall),
}

impl TemplateNode {
    /// The span by which messages point at the node.
    pub fn span(&self) -> &Range<usize> {
        match self {
            TemplateNode::Text(text) => &text.span,
            TemplateNode::Interpolation(interpolation) => &interpolation.span,
            TemplateNode::Block(block) => &block.call.span,
            TemplateNode::Inline(inline) => &inline.name.span,
            TemplateNode::Partial(partial) => &partial.name.span,
        }
    }
}

/// Text between tags.
#[derive(Debug, Clone)]
pub(in crate::template) struct TextNode {
    pub span: Range<usize>,
    /// The backslashes that escape tags.
    pub escapes: Vec<usize>,
}

/// A name and its span.
#[derive(Debug, Clone)]
pub(in crate::template) struct Ident {
    pub text: String,
    pub span: Range<usize>,
}

/// `{{…}}`
#[derive(Debug, Clone)]
pub(in crate::template) struct Interpolation {
    pub span: Range<usize>,
    pub expression: Expression,
    /// With three braces, or with `&`.
    pub raw: bool,
    /// With `~`.
    pub trims: bool,
}

/// An expression.
#[derive(Debug, Clone)]
pub(in crate::template) enum Expression {
    Path(PathNode),
    Literal(Value, Range<usize>),
    Call(Box<CallNode>),
}

impl Expression {
    pub fn span(&self) -> Range<usize> {
        match self {
            Expression::Path(path) => path.span.clone(),
            Expression::Literal(_, span) => span.clone(),
            Expression::Call(call) => call.span.clone(),
        }
    }
}

/// A call of a helper.
#[derive(Debug, Clone)]
pub(in crate::template) struct CallNode {
    pub span: Range<usize>,
    pub helper: Ident,
    pub arguments: CallArguments,
}

/// The arguments of a helper or partial: values by position, then by name.
#[derive(Debug, Clone, Default)]
pub(in crate::template) struct CallArguments {
    pub params: Vec<Expression>,
    pub options: Vec<(Ident, Expression)>,
}

impl CallArguments {
    /// All values, by position and by name.
    pub fn values(&self) -> impl Iterator<Item = &Expression> {
        self.params.iter().chain(self.options.iter().map(|(_, value)| value))
    }
}

/// A variable: `a.b`, `../a`, `this`, `@root.a`, `@index`.
#[derive(Debug, Clone)]
pub(in crate::template) struct PathNode {
    pub span: Range<usize>,
    /// With `this` or `./`.
    pub this: bool,
    /// `@root.`
    pub root: bool,
    /// `@index`, `@../index`
    pub local: bool,
    /// The number of `../`.
    pub parent_steps: usize,
    /// The names, without `this`.
    pub names: Vec<Ident>,
}

impl PathNode {
    /// The name, where the path is one plain name.
    pub fn single_name(&self) -> Option<&Ident> {
        match self.names.as_slice() {
            [only] if !self.root && !self.local && self.parent_steps == 0 && only.span == self.span => Some(only),
            _ => None,
        }
    }
}

/// `{{#helper …}}…{{/helper}}`
#[derive(Debug, Clone)]
pub(in crate::template) struct BlockNode {
    pub call: CallNode,
    pub block_params: Vec<Ident>,
    pub body: Vec<TemplateNode>,
    /// The nodes after `{{else}}`; of `{{else if …}}` the inner block.
    pub else_nodes: Vec<TemplateNode>,
}

/// `{{#*inline "name"}}…{{/inline}}`
#[derive(Debug, Clone)]
pub(in crate::template) struct InlineNode {
    pub name: Ident,
    pub body: Vec<TemplateNode>,
}

/// `{{> name}}` or `{{#> name}}…{{/name}}`
#[derive(Debug, Clone)]
pub(in crate::template) struct PartialCall {
    /// Of the opening tag.
    pub span: Range<usize>,
    pub name: Ident,
    pub arguments: CallArguments,
    pub body: Option<Vec<TemplateNode>>,
}

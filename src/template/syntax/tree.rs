//! The tree of a template.

use std::ops::Range;

use serde_json::Value;

/// One piece of a template, in the order written.
#[derive(Debug, Clone)]
pub(in crate::template) enum TemplateNode {
    Text(TextNode),
    Interpolation(Interpolation),
    Block(BlockNode),
    Inline(InlineNode),
    Partial(PartialCall),
}

/// Text between tags.
#[derive(Debug, Clone)]
pub(in crate::template) struct TextNode {
    pub span: Range<usize>,
    /// Where a backslash stands that only keeps a tag from being one.
    pub escapes: Vec<usize>,
}

/// A word and its place.
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
    /// Written with three braces, or with `&`.
    pub raw: bool,
    /// Written with `~`.
    pub trims: bool,
}

/// What stands for a value.
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

/// A helper with what it is given.
#[derive(Debug, Clone)]
pub(in crate::template) struct CallNode {
    pub span: Range<usize>,
    pub helper: Ident,
    pub params: Vec<Expression>,
    pub options: Vec<(Ident, Expression)>,
}

/// A variable: `a.b`, `../a`, `this`, `@root.a`, `@index`.
#[derive(Debug, Clone)]
pub(in crate::template) struct PathNode {
    pub span: Range<usize>,
    /// Written with `this` or `./`.
    pub this: bool,
    /// `@root.`
    pub root: bool,
    /// `@index`, `@../index`
    pub local: bool,
    /// How many `../`.
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
    pub else_branch: Option<ElseBranch>,
}

/// What follows `{{else}}`.
#[derive(Debug, Clone)]
pub(in crate::template) enum ElseBranch {
    Plain(Vec<TemplateNode>),
    Chain(Box<BlockNode>),
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
    pub name: Ident,
    pub params: Vec<Expression>,
    pub options: Vec<(Ident, Expression)>,
    pub body: Option<Vec<TemplateNode>>,
}

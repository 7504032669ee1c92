//! The syntax tree of a dotprompt template.

use std::sync::Arc;

use serde_json::Value;

/// One node, in the order written.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Text of the template.
    Text(String),
    /// `{{…}}`
    Value(Expression),
    /// `{{#…}}`
    Block(Block),
    /// `{{> …}}`
    Partial(PartialCall),
    /// `{{role "…"}}`: whose the text is from here on.
    Role(DotpromptRole),
    /// `{{history}}`: where a conversation would be.
    History,
    /// `{{section "…"}}`: the text before and after it are not one.
    Section,
    /// `{{media url=…}}`
    Media { url: Expression, content_type: Option<Expression> },
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DotpromptRole {
    /// The user, the system, or a tool, which MCP does not tell apart.
    User,
    System,
    /// The assistant.
    Model,
}

/// A block with two branches.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    pub(super) arguments: Arguments,
    /// `as |item index|`
    pub(super) names: Vec<String>,
    pub(super) body: Vec<Node>,
    pub(super) else_body: Vec<Node>,
}

/// What a block does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    If,
    Unless,
    Each,
    With,
    IfEquals,
    UnlessEquals,
    /// `{{#name}}`, for a list, an object or a condition.
    Section,
}

/// A partial and its context.
#[derive(Debug, Clone)]
pub(super) struct PartialCall {
    pub(super) nodes: Arc<Vec<Node>>,
    pub(super) context: Option<Expression>,
    pub(super) options: Vec<(String, Expression)>,
    /// The white space before a partial that is alone on its line.
    pub(super) indent: String,
}

/// The arguments of a helper.
#[derive(Debug, Clone, Default)]
pub(super) struct Arguments {
    pub(super) params: Vec<Expression>,
    pub(super) options: Vec<(String, Expression)>,
}

impl Arguments {
    /// The option with this name.
    pub(super) fn option(&self, name: &str) -> Option<&Expression> {
        self.options.iter().find(|(option, _)| option == name).map(|(_, value)| value)
    }
}

/// An expression.
#[derive(Debug, Clone)]
pub(super) enum Expression {
    Path(Path),
    Literal(Option<Value>),
    /// `lookup`
    Lookup(Box<Expression>, Box<Expression>),
    /// `json`, with its indentation.
    Json(Box<Expression>, Option<Box<Expression>>),
}

/// A variable.
#[derive(Debug, Clone, Default)]
pub(super) struct Path {
    /// Whether it begins with `@`.
    pub(super) is_data: bool,
    /// How many `../` it begins with.
    pub(super) parent_steps: usize,
    /// Whether it cannot be a name of a block, as in `this.x`.
    pub(super) is_this: bool,
    pub(super) names: Vec<String>,
}

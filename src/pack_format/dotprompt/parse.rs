//! Parses a template into its tree.

use std::ops::Range;
use std::sync::Arc;

use super::expression::{TagHead, parse_head};
use super::token::{SyntaxError, Tag, TagKind, Token, tokens};
use super::tree::{Arguments, Block, BlockKind, DotpromptRole, Expression, Node, PartialCall};

/// How deep blocks may be nested.
const MAX_DEPTH: usize = 64;

/// Finds the partial with this name.
pub(super) type FindPartial<'f> = dyn FnMut(&str) -> Result<Arc<Vec<Node>>, String> + 'f;

/// The tree of a template.
pub(super) fn parse(template: &str, find_partial: &mut FindPartial<'_>) -> Result<Vec<Node>, SyntaxError> {
    let tokens = tokens(template)?;
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), find_partial, depth: 0 };
    let nodes = parser.nodes()?;
    match parser.tokens.next() {
        Some(Token::Tag(tag)) => Err(SyntaxError::new(tag.span(), "unexpected end of a block")),
        _ => Ok(nodes),
    }
}

struct Parser<'t, 'f, 'g> {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token<'t>>>,
    find_partial: &'f mut FindPartial<'g>,
    depth: usize,
}

impl Parser<'_, '_, '_> {
    /// The nodes up to the end of a block, or of its first branch.
    fn nodes(&mut self) -> Result<Vec<Node>, SyntaxError> {
        let mut nodes = Vec::new();
        let is_end =
            |token: &Token<'_>| matches!(token, Token::Tag(tag) if matches!(tag.kind, TagKind::Else | TagKind::Close));
        while let Some(token) = self.tokens.next_if(|token| !is_end(token)) {
            match token {
                Token::Text(text) if text.trimmed.is_empty() => {}
                Token::Text(text) => nodes.push(Node::Text(text.trimmed)),
                Token::Tag(tag) => nodes.extend(self.tag(&tag)?),
            }
        }
        Ok(nodes)
    }

    fn tag(&mut self, tag: &Tag<'_>) -> Result<Option<Node>, SyntaxError> {
        match tag.kind {
            TagKind::Open | TagKind::OpenInverted => {
                let head = parse_head(tag.inside, tag.start)?;
                let mut block = self.block(&head, tag)?;
                self.close(&head, tag)?;
                if tag.kind == TagKind::OpenInverted {
                    std::mem::swap(&mut block.body, &mut block.else_body);
                }
                Ok(Some(Node::Block(block)))
            }
            TagKind::Partial => self.partial(tag).map(Some),
            TagKind::Value => value_node(parse_head(tag.inside, tag.start)?, tag.span()),
            TagKind::Comment | TagKind::Else | TagKind::Close => Ok(None),
        }
    }

    /// A block without its closing tag, which those that are chained by `else` share.
    fn block(&mut self, head: &TagHead, tag: &Tag<'_>) -> Result<Block, SyntaxError> {
        let kind = block_kind(head, tag.span())?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SyntaxError::new(tag.span(), format!("blocks nested deeper than {MAX_DEPTH} levels")));
        }
        let arguments = match kind {
            BlockKind::Section => Arguments { params: vec![Expression::Path(head.path.clone())], options: Vec::new() },
            _ => head.arguments.clone(),
        };
        let mut block =
            Block { kind, arguments, names: head.names.clone(), body: self.nodes()?, else_body: Vec::new() };
        let is_else = |token: &Token<'_>| matches!(token, Token::Tag(tag) if tag.kind == TagKind::Else);
        if let Some(Token::Tag(next)) = self.tokens.next_if(is_else) {
            block.else_body = match next.inside.trim() {
                "" => self.nodes()?,
                _ => vec![Node::Block(self.block(&parse_head(next.inside, next.start)?, &next)?)],
            };
        }
        self.depth -= 1;
        Ok(block)
    }

    fn close(&mut self, head: &TagHead, open: &Tag<'_>) -> Result<(), SyntaxError> {
        match self.tokens.next() {
            Some(Token::Tag(tag)) if tag.kind == TagKind::Close => match tag.inside.trim() == head.name {
                true => Ok(()),
                false => Err(SyntaxError::new(tag.span(), format!("expected `{{{{/{}}}}}`", head.name))),
            },
            Some(Token::Tag(tag)) => Err(SyntaxError::new(tag.span(), "unexpected `else`")),
            _ => Err(SyntaxError::new(open.span(), format!("unclosed block `{}`", head.name))),
        }
    }

    fn partial(&mut self, tag: &Tag<'_>) -> Result<Node, SyntaxError> {
        let head = parse_head(tag.inside, tag.start)?;
        let nodes = (self.find_partial)(&head.name).map_err(|message| SyntaxError::new(tag.span(), message))?;
        let Arguments { params, options } = head.arguments;
        Ok(Node::Partial(PartialCall {
            nodes,
            context: params.into_iter().next(),
            options,
            indent: tag.indent.clone(),
        }))
    }
}

fn block_kind(head: &TagHead, at: Range<usize>) -> Result<BlockKind, SyntaxError> {
    let (kind, params) = match head.name.as_str() {
        "if" => (BlockKind::If, 1),
        "unless" => (BlockKind::Unless, 1),
        "each" => (BlockKind::Each, 1),
        "with" => (BlockKind::With, 1),
        "ifEquals" => (BlockKind::IfEquals, 2),
        "unlessEquals" => (BlockKind::UnlessEquals, 2),
        "role" | "media" | "history" => return Err(SyntaxError::new(at, no_block_message(&head.name))),
        _ if head.has_arguments() => return Err(unknown_helper(head, at)),
        _ => return Ok(BlockKind::Section),
    };
    if head.arguments.params.len() != params {
        let words = if params == 1 { "one argument" } else { "two arguments" };
        return Err(SyntaxError::new(at, format!("invalid arguments of `{}`: expected {words}", head.name)));
    }
    Ok(kind)
}

/// What to write for a helper that stands alone, and changes what is below it.
fn no_block_message(name: &str) -> String {
    let spelling = match name {
        "role" => "`{{role \"user\"}}` before the text",
        "media" => "`{{media url=…}}`",
        _ => "`{{history}}`",
    };
    format!("`{name}` is not a block: write {spelling}, and no `{{{{/{name}}}}}`")
}

fn unknown_helper(head: &TagHead, at: Range<usize>) -> SyntaxError {
    SyntaxError::new(at, format!("unknown helper `{}`", head.name))
}

fn value_node(head: TagHead, at: Range<usize>) -> Result<Option<Node>, SyntaxError> {
    let node = match head.name.as_str() {
        "history" => Node::History,
        "section" => Node::Section,
        "role" => Node::Role(role(&head).ok_or_else(|| {
            SyntaxError::new(at, "invalid role: write `{{role \"user\"}}`, with `user`, `model` or `system` in quotes")
        })?),
        "media" => {
            let content_type = head.arguments.option("contentType").cloned();
            let url = head.arguments.option("url").cloned();
            let url = url.ok_or_else(|| SyntaxError::new(at, "missing `url` of `media`"))?;
            Node::Media { url, content_type }
        }
        "log" if head.has_arguments() => return Ok(None),
        _ => {
            let unknown = unknown_helper(&head, at);
            Node::Value(head.into_expression().ok_or(unknown)?)
        }
    };
    Ok(Some(node))
}

/// The role that a template names itself; a value could forge one.
fn role(head: &TagHead) -> Option<DotpromptRole> {
    let [Expression::Literal(Some(name))] = head.arguments.params.as_slice() else { return None };
    match name.as_str()? {
        "system" => Some(DotpromptRole::System),
        "model" | "assistant" => Some(DotpromptRole::Model),
        _ => Some(DotpromptRole::User),
    }
}

//! Renders a template. What it makes of roles and media is no text, so that no value can forge it.

use serde_json::Value;

use super::scope::{LoopItem, Scope};
use super::tree::{Block, BlockKind, DotpromptRole, Expression, Node, PartialCall};
use super::value::{is_empty, is_equal, is_truthy, is_zero, to_text};
use crate::budget::{Budget, BudgetExceeded};

/// How much work a node counts as: a million of them exhaust the budget.
const NODE_WORK: usize = 512;

/// A piece of what is rendered.
#[derive(Debug)]
pub(super) enum Segment {
    Text(String),
    Role(DotpromptRole),
    History,
    Section,
    Media { url: String, content_type: Option<String> },
}

/// Renders nodes with the values of `root`.
pub(super) fn render(nodes: &[Node], root: &Value, budget: &Budget) -> Result<Vec<Segment>, BudgetExceeded> {
    let mut renderer = Renderer { segments: Vec::new(), indent: String::new(), needs_indent: false, budget };
    renderer.nodes(nodes, &Scope::new(root))?;
    Ok(renderer.segments)
}

struct Renderer<'b> {
    segments: Vec<Segment>,
    /// The white space before each line of the partial that is rendered.
    indent: String,
    /// Whether the next text begins such a line.
    needs_indent: bool,
    budget: &'b Budget,
}

impl Renderer<'_> {
    fn nodes(&mut self, nodes: &[Node], scope: &Scope<'_>) -> Result<(), BudgetExceeded> {
        for node in nodes {
            self.budget.charge_work(NODE_WORK)?;
            match node {
                Node::Text(text) => self.template_text(text)?,
                Node::Value(expression) => {
                    let text = to_text(scope.value(expression).as_deref());
                    self.push(&text)?;
                }
                Node::Block(block) => self.block(block, scope)?,
                Node::Partial(partial) => self.partial(partial, scope)?,
                Node::Role(role) => self.segments.push(Segment::Role(*role)),
                Node::History => self.segments.push(Segment::History),
                Node::Section => self.segments.push(Segment::Section),
                Node::Media { url, content_type } => self.media(url, content_type.as_ref(), scope),
            }
        }
        Ok(())
    }

    /// Text of the template, whose lines have the indentation of the partial that it is in.
    fn template_text(&mut self, text: &str) -> Result<(), BudgetExceeded> {
        if self.indent.is_empty() {
            return self.push(text);
        }
        for line in text.split_inclusive('\n') {
            self.push(line)?;
            self.needs_indent = line.ends_with('\n');
        }
        Ok(())
    }

    fn push(&mut self, text: &str) -> Result<(), BudgetExceeded> {
        if text.is_empty() {
            return Ok(());
        }
        let indent = if std::mem::take(&mut self.needs_indent) { self.indent.as_str() } else { "" };
        self.budget.charge_work(indent.len() + text.len())?;
        self.budget.charge_memory(indent.len() + text.len())?;
        if !matches!(self.segments.last(), Some(Segment::Text(_))) {
            self.segments.push(Segment::Text(String::new()));
        }
        if let Some(Segment::Text(before)) = self.segments.last_mut() {
            before.push_str(indent);
            before.push_str(text);
        }
        Ok(())
    }

    fn media(&mut self, url: &Expression, content_type: Option<&Expression>, scope: &Scope<'_>) {
        let text = |expression: &Expression| to_text(scope.value(expression).as_deref());
        let url = text(url);
        if !url.is_empty() {
            let content_type = content_type.map(text).filter(|name| !name.is_empty());
            self.segments.push(Segment::Media { url, content_type });
        }
    }

    fn block(&mut self, block: &Block, scope: &Scope<'_>) -> Result<(), BudgetExceeded> {
        let argument = |nth: usize| block.arguments.params.get(nth).and_then(|param| scope.value(param));
        let first = argument(0);
        let first = first.as_deref();
        let takes_zero =
            || block.arguments.option("includeZero").is_some_and(|option| is_truthy(scope.value(option).as_deref()));
        let holds = |value| is_truthy(value) || (is_zero(value) && takes_zero());
        let is_first = match block.kind {
            BlockKind::If => holds(first),
            BlockKind::Unless => !holds(first),
            BlockKind::IfEquals => is_equal(first, argument(1).as_deref()),
            BlockKind::UnlessEquals => !is_equal(first, argument(1).as_deref()),
            BlockKind::Section if first == Some(&Value::Bool(true)) => true,
            BlockKind::Each => return self.each(block, first, scope),
            BlockKind::Section if matches!(first, Some(Value::Array(_))) => return self.each(block, first, scope),
            BlockKind::With | BlockKind::Section => match first.filter(|_| !is_empty(first)) {
                Some(context) => {
                    let mut inner = scope.inner(context);
                    inner.names.extend(block.names.first().map(|name| (name.as_str(), context)));
                    return self.nodes(&block.body, &inner);
                }
                None => false,
            },
        };
        self.nodes(if is_first { &block.body } else { &block.else_body }, scope)
    }

    fn each(&mut self, block: &Block, list: Option<&Value>, scope: &Scope<'_>) -> Result<(), BudgetExceeded> {
        let items: Vec<(Value, &Value)> = match list {
            Some(Value::Array(items)) => items.iter().enumerate().map(|(nth, item)| (Value::from(nth), item)).collect(),
            Some(Value::Object(fields)) => fields.iter().map(|(key, item)| (Value::from(key.clone()), item)).collect(),
            _ => Vec::new(),
        };
        if items.is_empty() {
            return self.nodes(&block.else_body, scope);
        }
        for (index, (key, item)) in items.iter().enumerate() {
            self.budget.charge_work(1)?;
            let mut inner = scope.inner(item);
            let names = block.names.iter().map(String::as_str);
            inner.names.extend(names.zip([*item, key]));
            inner.item = Some(LoopItem { key, index, is_last: index + 1 == items.len() });
            self.nodes(&block.body, &inner)?;
        }
        Ok(())
    }

    fn partial(&mut self, partial: &PartialCall, scope: &Scope<'_>) -> Result<(), BudgetExceeded> {
        let indent = self.indent.clone();
        self.indent.push_str(&partial.indent);
        self.needs_indent |= !partial.indent.is_empty();
        match partial_context(partial, scope) {
            Some(context) => {
                self.budget.charge_work(crate::budget::memory_size(&context))?;
                self.nodes(&partial.nodes, &scope.inner(&context))?;
            }
            None => self.nodes(&partial.nodes, scope)?,
        }
        self.needs_indent = false;
        self.indent = indent;
        Ok(())
    }
}

/// The context of a partial, if it is another than that of its call.
fn partial_context(partial: &PartialCall, scope: &Scope<'_>) -> Option<Value> {
    if partial.context.is_none() && partial.options.is_empty() {
        return None;
    }
    let context = match &partial.context {
        Some(context) => scope.value(context).map(std::borrow::Cow::into_owned).unwrap_or_default(),
        None => scope.context.clone(),
    };
    let mut fields = match context {
        Value::Object(fields) => fields,
        other if partial.options.is_empty() => return Some(other),
        _ => serde_json::Map::new(),
    };
    for (name, value) in &partial.options {
        fields.insert(name.clone(), scope.value(value).map(std::borrow::Cow::into_owned).unwrap_or_default());
    }
    Some(Value::Object(fields))
}

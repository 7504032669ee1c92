//! Checks uses of partials: their names, scopes and cycles.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::Checker;
use super::frame::{InlinePartial, ScopeFrame, SourceText, TypedValue};
use crate::diagnostic::{Code, nearest, quote_names};
use crate::template::error::TemplateError;
use crate::template::helper::checks_presence;
use crate::template::shape::Shape;
use crate::template::syntax::{CallNode, Expression, Ident, PartialCall, PathNode, TemplateNode};

const PARTIAL_BLOCK: &str = "@partial-block";

/// Tells partials apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PartialKey<'a> {
    /// The partial of the engine; `None` for the template itself.
    file: Option<&'a str>,
    /// Where an inline partial is in it.
    offset: usize,
}

/// The parameters of a partial that its callers need not give: the names that it tests, as in `{{#if strict}}`.
#[derive(Default)]
pub(super) struct OptionalParameters<'a> {
    names: BTreeSet<&'a str>,
    /// How many scopes there are where the partial begins.
    depth: usize,
}

/// The target of a partial name.
struct PartialTarget<'a> {
    body: &'a [TemplateNode],
    text: SourceText<'a>,
    key: PartialKey<'a>,
    has_errors: bool,
}

impl<'a> Checker<'a> {
    /// The inline partial of that name in scope.
    pub(super) fn visible_inline(&self, name: &str) -> Option<InlinePartial<'a>> {
        let last = |frame: &ScopeFrame<'a>| frame.inlines.iter().rev().find(|inline| inline.name == name).copied();
        self.frames.iter().rev().find_map(last)
    }

    fn resolve_partial(&self, name: &str) -> Option<PartialTarget<'a>> {
        if let Some(inline) = self.visible_inline(name) {
            let key = PartialKey { file: inline.text.partial, offset: inline.at };
            return Some(PartialTarget { body: inline.body, text: inline.text, key, has_errors: false });
        }
        let (name, partial) = self.partials.get_key_value(name)?;
        let text = SourceText { partial: Some(name), text: &partial.text };
        Some(PartialTarget {
            body: &partial.nodes,
            text,
            key: PartialKey { file: Some(name), offset: usize::MAX },
            has_errors: partial.has_errors,
        })
    }

    pub(super) fn partial(&mut self, call: &'a PartialCall) {
        if self.enter_nesting(&call.name) {
            match (call.name.text.as_str(), self.resolve_partial(&call.name.text)) {
                (PARTIAL_BLOCK, _) => self.partial_block(call),
                (_, Some(target)) => self.include(call, &target),
                (_, None) => self.report_missing_partial(call),
            }
        }
        self.depth -= 1;
    }

    /// `{{> @partial-block}}`: the block argument of this partial.
    fn partial_block(&mut self, call: &'a PartialCall) {
        self.partial_frame(call);
        if let Some(body) = &call.body {
            self.nodes(body, true);
        }
        match self.block_size {
            Some(size) => _ = self.charge(0, size, &call.name.span),
            None if call.body.is_some() || self.rules.any_scope => {}
            None => {
                let message = "missing block for `@partial-block`";
                self.report(self.error(&call.name.span, Code::UnknownPartial, message).help("call the partial as `{{#> name}}…{{/name}}`, or write a default here: `{{#> @partial-block}}…{{/@partial-block}}`"));
            }
        }
    }

    /// A missing partial. Its block, if any, is rendered instead.
    fn report_missing_partial(&mut self, call: &'a PartialCall) {
        let frame = self.partial_frame(call);
        if let Some(body) = &call.body {
            let content = self.block_size.take();
            self.walk_in_frame(frame, body);
            self.block_size = content;
        } else if !self.rules.any_scope && !self.is_full() {
            let name = &call.name.text;
            let error = self.error(&call.name.span, Code::UnknownPartial, format!("unknown partial `{name}`"));
            let inlines = self.frames.iter().flat_map(|frame| frame.inlines.iter().map(|inline| inline.name));
            let known: Vec<&str> = self.partials.keys().map(String::as_str).chain(inlines).collect();
            let error = error.did_you_mean(name, known.iter().copied());
            self.report(match (&error.help, known.as_slice()) {
                (Some(_), _) => error,
                (None, []) => error
                    .help(format!("write `partials: partials/*.md` at the top, and the text to `partials/{name}.md`")),
                (None, known) => error.help(format!("the partials are {}", quote_names(known))),
            });
        }
    }

    fn include(&mut self, call: &'a PartialCall, target: &PartialTarget<'a>) {
        let frame = self.partial_frame(call);
        self.frames.push(frame);
        let content = call.body.as_ref().map(|body| self.walk_given_block(body));
        if self.active.contains(&target.key) {
            self.report_cycle(call, target);
        } else if !target.has_errors {
            self.walk_partial(call, target, content);
        }
        self.frames.pop();
    }

    /// Checks the block argument of a partial, and returns its size. It is rendered only at `@partial-block`.
    fn walk_given_block(&mut self, body: &'a [TemplateNode]) -> usize {
        let before = self.size;
        self.optional.depth += 1;
        self.nodes(body, false);
        self.optional.depth -= 1;
        let size = self.size.saturating_sub(before);
        if self.size <= super::MAX_EXPANSION {
            self.size = before;
        }
        size
    }

    fn walk_partial(&mut self, call: &'a PartialCall, target: &PartialTarget<'a>, content: Option<usize>) {
        let (text, used_at) = (self.current_text, self.used_at.clone());
        if self.in_template() {
            self.used_at = call.name.span.clone();
        }
        let outer = std::mem::replace(&mut self.block_size, content);
        let mut optional = OptionalParameters { depth: self.frames.len(), ..OptionalParameters::default() };
        collect_tested_names(target.body, &mut optional.names);
        let outer_optional = std::mem::replace(&mut self.optional, optional);
        self.active.push(target.key);
        self.current_text = target.text;
        self.nodes(target.body, false);
        self.optional = outer_optional;
        self.current_text = text;
        self.used_at = used_at;
        self.active.pop();
        self.block_size = outer;
    }

    /// Whether a name that the scope of a partial lacks is an optional parameter of the partial. One that is near to a
    /// name of the scope is probably a mistake.
    pub(super) fn is_optional_parameter(&self, path: &PathNode, name: &Ident, scope: &Shape) -> bool {
        let is_first = path.names.first().is_some_and(|first| first.span == name.span);
        let is_own = path.root || self.frames.len() == self.optional.depth && path.parent_steps == 0;
        let Shape::Object(fields) = scope else { return false };
        is_first
            && is_own
            && self.optional.names.contains(name.text.as_str())
            && nearest(&name.text, fields.keys().map(String::as_str)).is_none()
    }

    fn report_cycle(&mut self, call: &PartialCall, target: &PartialTarget<'a>) {
        let from = self.active.iter().position(|key| *key == target.key).unwrap_or(0);
        let way: Vec<&str> = self.active.iter().skip(from).filter_map(|key| key.file).collect();
        let name = &call.name.text;
        let message = match way.len() {
            0 | 1 => format!("cyclic partial: `{name}` uses itself"),
            _ => format!(
                "cyclic partials: {} → `{name}`",
                way.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(" → ")
            ),
        };
        let cycle = way.into_iter().chain([name.as_str()]).map(str::to_owned).collect();
        let error = self.error(&call.name.span, Code::Cycle, message);
        self.report(TemplateError { cycle, ..error });
    }

    /// The scope of a partial: its context argument or that of the caller, and its named arguments.
    fn partial_frame(&mut self, call: &'a PartialCall) -> ScopeFrame<'a> {
        if let Some(extra) = call.arguments.params.get(1) {
            let message = "unexpected second context argument of partial";
            self.report(
                self.error(&extra.span(), Code::HelperArgument, message).help("write `{{> name context key=value}}`"),
            );
        }
        let current = self.frames.last().map(|frame| (frame.this.clone(), frame.locals));
        let (this, locals) =
            current.unwrap_or_else(|| (TypedValue::computed(Shape::Any), super::frame::Locals::default()));
        let this = match call.arguments.params.first() {
            Some(context) => self.context(context),
            None => this,
        };
        let mut params = Vec::new();
        for (index, (name, value)) in call.arguments.options.iter().enumerate() {
            if call.arguments.options.iter().take(index).any(|(other, _)| other.text == name.text) {
                self.report_duplicate_option(name);
            }
            let value = self.expression(value);
            self.mark_required(&value);
            params.push((name.text.as_str(), value));
        }
        let mut frame = ScopeFrame::new(merge_options(this, &params), locals);
        frame.params = params;
        frame
    }

    fn context(&mut self, context: &'a Expression) -> TypedValue<'a> {
        let value = self.expression(context);
        self.mark_required(&value);
        if !value.shape.is_object() {
            self.mark_read(&value);
        }
        value
    }
}

/// The `this` of a partial with named arguments.
fn merge_options<'a>(this: TypedValue<'a>, params: &[(&'a str, TypedValue<'a>)]) -> TypedValue<'a> {
    let own = params.iter().map(|(name, value)| ((*name).to_owned(), value.shape.clone().into_owned()));
    if params.is_empty() {
        return this;
    }
    let mut merged = match this.shape.as_ref() {
        Shape::Any | Shape::Map(_) | Shape::Open(_) => TypedValue { shape: Cow::Owned(Shape::Any), ..this },
        Shape::Object(fields) => {
            let shape = Shape::object(fields.iter().map(|(name, shape)| (name.clone(), shape.clone())).chain(own));
            TypedValue { shape: Cow::Owned(shape), ..this }
        }
        _ => TypedValue::computed(Shape::object(own)),
    };
    merged.argument_paths.extend(params.iter().flat_map(|(_, value)| value.paths().cloned()));
    merged.argument_paths.sort();
    merged.argument_paths.dedup();
    merged
}

fn collect_tested_names<'a>(nodes: &'a [TemplateNode], names: &mut BTreeSet<&'a str>) {
    for node in nodes {
        match node {
            TemplateNode::Text(_) | TemplateNode::Inline(_) => {}
            TemplateNode::Interpolation(interpolation) => collect_tested_in(&interpolation.expression, names),
            TemplateNode::Block(block) => {
                collect_tested_by(&block.call, names);
                collect_tested_names(&block.body, names);
                collect_tested_names(&block.else_nodes, names);
            }
            TemplateNode::Partial(call) => {
                call.arguments.values().for_each(|value| collect_tested_in(value, names));
                collect_tested_names(call.body.as_deref().unwrap_or_default(), names);
            }
        }
    }
}

fn collect_tested_in<'a>(expression: &'a Expression, names: &mut BTreeSet<&'a str>) {
    if let Expression::Call(call) = expression {
        collect_tested_by(call, names);
    }
}

fn collect_tested_by<'a>(call: &'a CallNode, names: &mut BTreeSet<&'a str>) {
    for value in call.arguments.values() {
        match value {
            Expression::Path(path) if checks_presence(&call.helper.text) && !path.local && path.parent_steps == 0 => {
                names.extend(path.names.first().map(|name| name.text.as_str()));
            }
            value => collect_tested_in(value, names),
        }
    }
}

//! Partials: which one is meant, what it sees, and that none comes back to itself.

use std::borrow::Cow;

use super::Check;
use super::frame::{Frame, InlinePartial, Site, Typed};
use crate::diagnostic::Code;
use crate::template::shape::Shape;
use crate::template::syntax::{Expression, Node, PartialCall};

const BLOCK: &str = "@partial-block";

/// What a name of a partial stands for.
struct Target<'a> {
    body: &'a [Node],
    site: Site<'a>,
    key: (Option<&'a str>, usize),
    faulty: bool,
}

impl<'a> Check<'a> {
    /// The partial of that name which was written inside a template and can be seen from here.
    pub(super) fn visible(&self, name: &str) -> Option<InlinePartial<'a>> {
        let last = |frame: &Frame<'a>| frame.inlines.iter().rev().find(|inline| inline.name == name).copied();
        self.frames.iter().rev().find_map(last)
    }

    fn target(&self, name: &str) -> Option<Target<'a>> {
        if let Some(inline) = self.visible(name) {
            let key = (inline.site.partial, inline.at);
            return Some(Target { body: inline.body, site: inline.site, key, faulty: false });
        }
        let (name, partial) = self.partials.get(name)?;
        let site = Site { partial: Some(name), text: &partial.text };
        Some(Target { body: &partial.nodes, site, key: (Some(name), usize::MAX), faulty: partial.faulty })
    }

    pub(super) fn partial(&mut self, call: &'a PartialCall) {
        if self.deeper(&call.name) {
            match (call.name.text.as_str(), self.target(&call.name.text)) {
                (BLOCK, _) => self.partial_block(call),
                (_, Some(target)) => self.include(call, &target),
                (_, None) => self.absent(call),
            }
        }
        self.depth -= 1;
    }

    /// `{{> @partial-block}}`: what the user of this partial put between its tags.
    fn partial_block(&mut self, call: &'a PartialCall) {
        self.frame_for(call);
        if let Some(body) = &call.body {
            self.nodes(body, true);
        }
        match self.content {
            Some(size) => _ = self.spend(0, size, &call.name.span),
            None if call.body.is_some() || self.rules.open => {}
            None => {
                let message = "nothing was put between the tags of this partial";
                let fault = self.fault(&call.name.span, Code::UnknownPartial, message);
                self.report(fault.help("use it as `{{#> name}}…{{/name}}`, or say here what stands for it: `{{#> @partial-block}}…{{/@partial-block}}`"));
            }
        }
    }

    /// A partial that does not exist. One that is used as a block then shows that block.
    fn absent(&mut self, call: &'a PartialCall) {
        let frame = self.frame_for(call);
        if let Some(body) = &call.body {
            let content = self.content.take();
            self.inside(frame, body);
            self.content = content;
        } else if !self.rules.open {
            let name = &call.name.text;
            let fault = self.fault(&call.name.span, Code::UnknownPartial, format!("unknown partial `{name}`"));
            let inlines = self.frames.iter().flat_map(|frame| frame.inlines.iter().map(|inline| inline.name));
            let known: Vec<&str> = self.partials.by_name.keys().map(String::as_str).chain(inlines).collect();
            self.report(fault.did_you_mean(name, known));
        }
    }

    fn include(&mut self, call: &'a PartialCall, target: &Target<'a>) {
        let frame = self.frame_for(call);
        self.frames.push(frame);
        let content = call.body.as_ref().map(|body| self.given_block(body));
        if self.active.contains(&target.key) {
            self.circle(call, target);
        } else if !target.faulty {
            self.enter(call, target, content);
        }
        self.frames.pop();
    }

    /// Walks the block that a partial is given; answers its size. It is printed only where the partial says so.
    fn given_block(&mut self, body: &'a [Node]) -> usize {
        let before = self.size;
        self.nodes(body, false);
        let size = self.size.saturating_sub(before);
        if self.size <= super::MAX_EXPANSION {
            self.size = before;
        }
        size
    }

    fn enter(&mut self, call: &'a PartialCall, target: &Target<'a>, content: Option<usize>) {
        let (site, used_at) = (self.site, self.used_at.clone());
        if self.is_here() {
            self.used_at = call.name.span.clone();
        }
        let outer = std::mem::replace(&mut self.content, content);
        self.active.push(target.key);
        self.site = target.site;
        self.nodes(target.body, false);
        self.site = site;
        self.used_at = used_at;
        self.active.pop();
        self.content = outer;
    }

    fn circle(&mut self, call: &PartialCall, target: &Target<'a>) {
        let from = self.active.iter().position(|key| *key == target.key).unwrap_or(0);
        let way: Vec<&str> = self.active.iter().skip(from).filter_map(|(partial, _)| *partial).collect();
        let name = &call.name.text;
        let message = match way.len() {
            0 | 1 => format!("the partial `{name}` uses itself"),
            _ => format!("the partials {} → `{name}` use each other in a circle", backticks(&way)),
        };
        let fault = self.fault(&call.name.span, Code::Cycle, message);
        self.report(fault);
    }

    /// The scope that a partial gets: a context of its own or that of its user, and what it is given by name.
    fn frame_for(&mut self, call: &'a PartialCall) -> Frame<'a> {
        if let Some(extra) = call.params.get(1) {
            let message = "a partial takes one context, and values by name";
            let fault = self.fault(&extra.span(), Code::HelperArgument, message);
            self.report(fault.help("write `{{> name context key=value}}`"));
        }
        let current = self.frames.last().map(|frame| (frame.this.clone(), frame.locals));
        let (this, locals) = current.unwrap_or_else(|| (Typed::made(Shape::Any), super::frame::Locals::default()));
        let this = match call.params.first() {
            Some(context) => self.context(context),
            None => this,
        };
        let mut given = Vec::new();
        for (place, (name, value)) in call.options.iter().enumerate() {
            if call.options.iter().take(place).any(|(other, _)| other.text == name.text) {
                self.twice(name);
            }
            let value = self.expression(value);
            self.need(&value);
            given.push((name.text.as_str(), value));
        }
        let mut frame = Frame::of(merged(this, &given), locals);
        frame.params = given;
        frame
    }

    fn context(&mut self, context: &'a Expression) -> Typed<'a> {
        let value = self.expression(context);
        self.need(&value);
        if !value.shape.is_object() {
            self.read(&value);
        }
        value
    }
}

/// What `this` is in a partial that is given values by name.
fn merged<'a>(this: Typed<'a>, given: &[(&'a str, Typed<'a>)]) -> Typed<'a> {
    let own = given.iter().map(|(name, value)| ((*name).to_owned(), value.shape.clone().into_owned()));
    if given.is_empty() {
        return this;
    }
    let mut merged = match this.shape.as_ref() {
        Shape::Any | Shape::Map(_) => Typed { shape: Cow::Owned(Shape::Any), ..this },
        Shape::Object(fields) => {
            let shape = Shape::object(fields.iter().map(|(name, shape)| (name.clone(), shape.clone())).chain(own));
            Typed { shape: Cow::Owned(shape), ..this }
        }
        _ => Typed::made(Shape::object(own)),
    };
    merged.given.extend(given.iter().flat_map(|(_, value)| value.paths().cloned()));
    merged.given.sort();
    merged.given.dedup();
    merged
}

fn backticks(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" → ")
}

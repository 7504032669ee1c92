//! Scopes: what `this` is, and which names a block or partial adds.

use std::borrow::Cow;

use crate::template::shape::{Names, Shape};
use crate::template::syntax::Node;

/// What is known of a value, and where in the scope it lies.
#[derive(Debug, Clone)]
pub(super) struct Typed<'a> {
    pub shape: Cow<'a, Shape>,
    /// The path to it from the top; `None` for what is computed, and for elements of what was read as a whole.
    pub origin: Option<Vec<String>>,
}

impl Typed<'_> {
    pub fn made(shape: Shape) -> Typed<'static> {
        Typed { shape: Cow::Owned(shape), origin: None }
    }

    /// Whether this is the whole scope.
    pub fn is_root(&self) -> bool {
        self.origin.as_ref().is_some_and(Vec::is_empty)
    }
}

/// Which `@` variables a loop around gives.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Locals {
    pub index: bool,
    pub key: bool,
}

/// A text in which names are being looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site<'a> {
    /// The partial that it is; `None` for the template.
    pub partial: Option<&'a str>,
    pub text: &'a str,
}

/// A partial that was written inside a template.
#[derive(Debug, Clone, Copy)]
pub(super) struct InlinePartial<'a> {
    pub name: &'a str,
    pub at: usize,
    pub body: &'a [Node],
    pub site: Site<'a>,
}

/// One scope of Handlebars.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub this: Typed<'a>,
    /// Names that a block or partial adds. They are seen from every scope inside.
    pub params: Vec<(&'a str, Typed<'a>)>,
    pub locals: Locals,
    pub inlines: Vec<InlinePartial<'a>>,
}

impl<'a> Frame<'a> {
    pub fn root(names: &'a Names, open: bool) -> Frame<'a> {
        let shape = if open { Cow::Owned(Shape::Any) } else { Cow::Borrowed(names.root()) };
        Frame::of(Typed { shape, origin: Some(Vec::new()) }, Locals { index: open, key: open })
    }

    pub fn of(this: Typed<'a>, locals: Locals) -> Frame<'a> {
        Frame { this, params: Vec::new(), locals, inlines: Vec::new() }
    }
}

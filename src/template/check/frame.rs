//! Scopes: what `this` is, and which names a block or partial adds.

use std::borrow::Cow;

use crate::template::shape::{ScopeShape, Shape};
use crate::template::syntax::TemplateNode;

/// What is known of a value, and where in the scope it lies.
#[derive(Debug, Clone)]
pub(super) struct TypedValue<'a> {
    pub shape: Cow<'a, Shape>,
    /// The path to it from the top; `None` for what is computed, and for elements of what was read as a whole.
    pub origin: Option<Vec<String>>,
    /// The paths of that of which it was computed, or is an element.
    pub made_of: Vec<Vec<String>>,
    /// Of the scope of a partial, the paths of what is among its fields because it was given by name.
    pub given: Vec<Vec<String>>,
}

impl<'a> TypedValue<'a> {
    pub fn computed(shape: Shape) -> TypedValue<'static> {
        TypedValue::of(Cow::Owned(shape), None)
    }

    pub fn of(shape: Cow<'a, Shape>, origin: Option<Vec<String>>) -> TypedValue<'a> {
        TypedValue { shape, origin, made_of: Vec::new(), given: Vec::new() }
    }

    /// An element of `whole`, or what was computed of it.
    pub fn made_of(shape: Cow<'a, Shape>, whole: &TypedValue<'_>) -> TypedValue<'a> {
        TypedValue { made_of: whole.paths().cloned().collect(), ..TypedValue::of(shape, None) }
    }

    /// A field of `whole`.
    pub fn field_of(shape: Cow<'a, Shape>, whole: &TypedValue<'_>, name: &str) -> TypedValue<'a> {
        let below = |path: &Vec<String>| path.iter().cloned().chain([name.to_owned()]).collect();
        TypedValue { made_of: whole.made_of.clone(), ..TypedValue::of(shape, whole.origin.as_ref().map(below)) }
    }

    /// The paths of everything of which something may be in it.
    pub fn paths(&self) -> impl Iterator<Item = &Vec<String>> {
        self.origin.iter().chain(&self.made_of).chain(&self.given)
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
pub(super) struct TextRef<'a> {
    /// The partial that it is; `None` for the template.
    pub partial: Option<&'a str>,
    pub text: &'a str,
}

/// A partial that was written inside a template.
#[derive(Debug, Clone, Copy)]
pub(super) struct InlinePartial<'a> {
    pub name: &'a str,
    pub at: usize,
    pub body: &'a [TemplateNode],
    pub site: TextRef<'a>,
}

/// One scope of Handlebars.
#[derive(Debug)]
pub(super) struct ScopeFrame<'a> {
    pub this: TypedValue<'a>,
    /// Names that a block or partial adds. They are seen from every scope inside.
    pub params: Vec<(&'a str, TypedValue<'a>)>,
    pub locals: Locals,
    pub inlines: Vec<InlinePartial<'a>>,
}

impl<'a> ScopeFrame<'a> {
    pub fn root(names: &'a ScopeShape, open: bool) -> ScopeFrame<'a> {
        let shape = if open { Cow::Owned(Shape::Any) } else { Cow::Borrowed(names.root()) };
        ScopeFrame::new(TypedValue::of(shape, Some(Vec::new())), Locals { index: open, key: open })
    }

    pub fn new(this: TypedValue<'a>, locals: Locals) -> ScopeFrame<'a> {
        ScopeFrame { this, params: Vec::new(), locals, inlines: Vec::new() }
    }
}

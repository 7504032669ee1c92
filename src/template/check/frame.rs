//! Scopes of blocks and partials.

use std::borrow::Cow;

use super::call::is_env_path;
use crate::template::shape::{ScopeShape, Shape};
use crate::template::syntax::TemplateNode;

/// The shape of a value, and its paths in the scope.
#[derive(Debug, Clone)]
pub(super) struct TypedValue<'a> {
    pub shape: Cow<'a, Shape>,
    /// Its path; `None` for a computed value, and for an element of a value that is read as a whole.
    pub origin: Option<Vec<String>>,
    /// The paths of the values that it is computed from, or is an element of.
    pub source_paths: Vec<Vec<String>>,
    /// For the scope of a partial, the paths of its named arguments.
    pub argument_paths: Vec<Vec<String>>,
}

impl<'a> TypedValue<'a> {
    pub fn computed(shape: Shape) -> TypedValue<'static> {
        TypedValue::with_origin(Cow::Owned(shape), None)
    }

    pub fn with_origin(shape: Cow<'a, Shape>, origin: Option<Vec<String>>) -> TypedValue<'a> {
        TypedValue { shape, origin, source_paths: Vec::new(), argument_paths: Vec::new() }
    }

    /// An element of `whole`, or a value computed from it.
    pub fn derived_from(shape: Cow<'a, Shape>, whole: &TypedValue<'_>) -> TypedValue<'a> {
        TypedValue { source_paths: whole.paths().cloned().collect(), ..TypedValue::with_origin(shape, None) }
    }

    /// A key of `whole`, whose caller may have chosen it; the manifest has those of `env`.
    pub fn key_of(shape: Shape, whole: &TypedValue<'_>) -> TypedValue<'static> {
        let source_paths = whole.paths().filter(|path| !is_env_path(path)).cloned().collect();
        TypedValue { source_paths, ..TypedValue::computed(shape) }
    }

    /// A field of `whole`.
    pub fn field_of(shape: Cow<'a, Shape>, whole: &TypedValue<'_>, name: &str) -> TypedValue<'a> {
        let below = |path: &Vec<String>| path.iter().cloned().chain([name.to_owned()]).collect();
        TypedValue {
            source_paths: whole.source_paths.clone(),
            ..TypedValue::with_origin(shape, whole.origin.as_ref().map(below))
        }
    }

    /// The paths of all values that it may contain.
    pub fn paths(&self) -> impl Iterator<Item = &Vec<String>> {
        self.origin.iter().chain(&self.source_paths).chain(&self.argument_paths)
    }

    /// Whether this is the whole scope.
    pub fn is_root(&self) -> bool {
        self.origin.as_ref().is_some_and(Vec::is_empty)
    }
}

/// The `@` variables of the loop around.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Locals {
    pub index: bool,
    pub key: bool,
}

/// The text of the checked nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourceText<'a> {
    /// The partial; `None` for the template.
    pub partial: Option<&'a str>,
    pub text: &'a str,
}

/// An inline partial.
#[derive(Debug, Clone, Copy)]
pub(super) struct InlinePartial<'a> {
    pub name: &'a str,
    pub at: usize,
    pub body: &'a [TemplateNode],
    pub text: SourceText<'a>,
}

/// One scope of Handlebars.
#[derive(Debug)]
pub(super) struct ScopeFrame<'a> {
    pub this: TypedValue<'a>,
    /// The names that a block or partial adds, which all inner scopes see.
    pub params: Vec<(&'a str, TypedValue<'a>)>,
    pub locals: Locals,
    /// `@key` of the loop around.
    pub key: TypedValue<'a>,
    pub inlines: Vec<InlinePartial<'a>>,
}

impl<'a> ScopeFrame<'a> {
    pub fn root(names: &'a ScopeShape, open: bool) -> ScopeFrame<'a> {
        let shape = if open { Cow::Owned(Shape::Any) } else { Cow::Borrowed(names.root()) };
        ScopeFrame::new(TypedValue::with_origin(shape, Some(Vec::new())), Locals { index: open, key: open })
    }

    pub fn new(this: TypedValue<'a>, locals: Locals) -> ScopeFrame<'a> {
        let key = TypedValue::computed(Shape::Any);
        ScopeFrame { this, params: Vec::new(), locals, key, inlines: Vec::new() }
    }
}

//! The values that a template sees at a place.

use std::borrow::Cow;

use serde_json::Value;

use super::tree::{Expression, Path};
use super::value::{to_json, to_text};

/// The context of a place, inside of those of the blocks around it.
pub(super) struct Scope<'s> {
    pub(super) root: &'s Value,
    pub(super) context: &'s Value,
    pub(super) outer: Option<&'s Scope<'s>>,
    /// The names that its block gives.
    pub(super) names: Vec<(&'s str, &'s Value)>,
    /// What is known of its item in a loop.
    pub(super) item: Option<LoopItem<'s>>,
}

/// An item of a loop.
pub(super) struct LoopItem<'s> {
    pub(super) key: &'s Value,
    pub(super) index: usize,
    pub(super) is_last: bool,
}

impl<'s> Scope<'s> {
    pub(super) fn new(root: &'s Value) -> Scope<'s> {
        Scope { root, context: root, outer: None, names: Vec::new(), item: None }
    }

    /// The scope of a block with another context.
    pub(super) fn inner(&'s self, context: &'s Value) -> Scope<'s> {
        Scope { root: self.root, context, outer: Some(self), names: Vec::new(), item: None }
    }

    /// The value of an expression; `None` is JavaScript's `undefined`.
    pub(super) fn value<'v>(&'v self, expression: &'v Expression) -> Option<Cow<'v, Value>> {
        match expression {
            Expression::Literal(literal) => literal.as_ref().map(Cow::Borrowed),
            Expression::Path(path) if path.is_data => self.data(path),
            Expression::Path(path) => self.variable(path),
            Expression::Lookup(object, key) => {
                let key = to_text(self.value(key).as_deref());
                match self.value(object)? {
                    Cow::Borrowed(object) => field(object, &key),
                    Cow::Owned(object) => field(&object, &key).map(|value| Cow::Owned(value.into_owned())),
                }
            }
            Expression::Json(value, indent) => {
                let indent = indent.as_ref().and_then(|indent| self.value(indent)?.as_u64()).unwrap_or_default();
                let text = to_json(self.value(value)?.as_ref(), usize::try_from(indent).unwrap_or_default());
                Some(Cow::Owned(Value::String(text)))
            }
        }
    }

    fn variable(&self, path: &Path) -> Option<Cow<'_, Value>> {
        let named = match path.names.split_first() {
            Some((first, rest)) if path.parent_steps == 0 && !path.is_this => {
                self.named(first).map(|value| (value, rest))
            }
            _ => None,
        };
        let (mut value, names) = match named {
            Some(found) => found,
            None => (self.outer_scope(path.parent_steps)?.context, path.names.as_slice()),
        };
        for (nth, name) in names.iter().enumerate() {
            match field(value, name)? {
                Cow::Borrowed(inner) => value = inner,
                owned => return Some(owned).filter(|_| nth + 1 == names.len()),
            }
        }
        Some(Cow::Borrowed(value))
    }

    fn named(&self, name: &str) -> Option<&Value> {
        let own = self.names.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
        own.or_else(|| self.outer?.named(name))
    }

    fn outer_scope(&self, parent_steps: usize) -> Option<&Scope<'s>> {
        if parent_steps == 0 { Some(self) } else { self.outer?.outer_scope(parent_steps - 1) }
    }

    fn data(&self, path: &Path) -> Option<Cow<'_, Value>> {
        let (first, rest) = path.names.split_first()?;
        if first == "root" {
            let whole = Some(Cow::Borrowed(self.root));
            return rest.iter().fold(whole, |value, name| match value? {
                Cow::Borrowed(value) => field(value, name),
                Cow::Owned(_) => None,
            });
        }
        let item = self.items().nth(path.parent_steps).filter(|_| rest.is_empty())?;
        match first.as_str() {
            "key" => Some(Cow::Borrowed(item.key)),
            "index" => Some(Cow::Owned(Value::from(item.index))),
            "first" => Some(Cow::Owned(Value::Bool(item.index == 0))),
            "last" => Some(Cow::Owned(Value::Bool(item.is_last))),
            _ => None,
        }
    }

    /// The items of the loops around, innermost first.
    fn items(&self) -> impl Iterator<Item = &LoopItem<'s>> {
        std::iter::successors(Some(self), |scope| scope.outer).filter_map(|scope| scope.item.as_ref())
    }
}

/// A field of a value, as JavaScript finds it.
fn field<'v>(value: &'v Value, name: &str) -> Option<Cow<'v, Value>> {
    match value {
        Value::Object(fields) => fields.get(name).map(Cow::Borrowed),
        Value::Array(items) if name == "length" => Some(Cow::Owned(Value::from(items.len()))),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?).map(Cow::Borrowed),
        Value::String(text) if name == "length" => Some(Cow::Owned(Value::from(text.encode_utf16().count()))),
        _ => None,
    }
}

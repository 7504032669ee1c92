//! Finds a field that an expression names and its input does not have: JMESPath gives null for it without a word.

use std::sync::Arc;

use jmespath::ast::Ast;

use crate::diagnostic::{nearest, quote_names};
use crate::template::Shape;

/// How many names of fields are listed.
const MAX_LISTED_FIELDS: usize = 20;

/// A field that is not there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MissingField {
    pub(super) name: String,
    /// About where it is named in the expression.
    pub(super) offset: usize,
    /// The fields that are there; none where it is not an object.
    pub(super) known: Vec<String>,
    /// What it is looked for in.
    owner: &'static str,
}

impl MissingField {
    /// What is wrong: "an object has no field `nmae`".
    pub(super) fn message(&self) -> String {
        let name: String = self.name.chars().take(64).collect();
        format!("{} has no field `{name}`", self.owner)
    }

    /// What to do.
    pub(super) fn help(&self) -> String {
        if self.owner == LIST {
            return format!("write `[].{}` for the field of each item", self.name);
        }
        if let Some(near) = nearest(&self.name, self.known.iter().map(String::as_str)) {
            return format!("did you mean `{near}`?");
        }
        let listed: Vec<&str> = self.known.iter().take(MAX_LISTED_FIELDS).map(String::as_str).collect();
        let more = if self.known.len() > MAX_LISTED_FIELDS { ", …" } else { "" };
        if listed.is_empty() { "it has no fields".to_owned() } else { format!("it has {}{more}", quote_names(&listed)) }
    }
}

const LIST: &str = "a list";

/// The first field that an expression names and values of a shape cannot have.
pub(super) fn find_missing_field(expression: &Ast, input: &Shape) -> Option<MissingField> {
    let mut search = Search { missing: None };
    search.shape_of(expression, input);
    search.missing
}

struct Search {
    missing: Option<MissingField>,
}

impl Search {
    /// The shape of what a node finds in values of a shape.
    fn shape_of(&mut self, node: &Ast, input: &Shape) -> Shape {
        match node {
            Ast::Identity { .. } => input.clone(),
            Ast::Field { name, offset } => self.field(input, name, *offset),
            Ast::Subexpr { lhs, rhs, .. } => {
                let found = self.shape_of(lhs, input);
                self.shape_of(rhs, &found)
            }
            Ast::Index { .. } => item_of(input),
            Ast::Slice { .. } => Shape::list(item_of(input)),
            Ast::Flatten { node, .. } => match item_of(&self.shape_of(node, input)) {
                Shape::List(item) => Shape::List(item),
                item => Shape::list(item),
            },
            Ast::ObjectValues { node, .. } => match self.shape_of(node, input) {
                Shape::Map(value) => Shape::List(value),
                _ => Shape::list(Shape::Any),
            },
            Ast::Projection { lhs, rhs, .. } => {
                let item = item_of(&self.shape_of(lhs, input));
                Shape::list(self.shape_of(rhs, &item))
            }
            Ast::Condition { predicate, then, .. } => {
                self.shape_of(predicate, input);
                self.shape_of(then, input)
            }
            Ast::MultiHash { elements, .. } => {
                let fields = elements.iter().map(|pair| (pair.key.clone(), self.shape_of(&pair.value, input)));
                Shape::Object(Arc::new(fields.collect()))
            }
            Ast::Or { lhs, rhs, .. } => self.alternatives(lhs, rhs, input),
            other => {
                self.search_parts(other, input);
                Shape::Any
            }
        }
    }

    /// Nodes whose parts see the same input, and whose own shape does not matter. What a function does to the items of a
    /// list is not known here, and `not_null` is for fields that may be missing.
    fn search_parts(&mut self, node: &Ast, input: &Shape) {
        match node {
            Ast::Comparison { lhs, rhs, .. } | Ast::And { lhs, rhs, .. } => {
                self.shape_of(lhs, input);
                self.shape_of(rhs, input);
            }
            Ast::Not { node, .. } => drop(self.shape_of(node, input)),
            Ast::MultiList { elements, .. } => elements.iter().for_each(|node| drop(self.shape_of(node, input))),
            Ast::Function { name, args, .. } if name != "not_null" => {
                args.iter().for_each(|node| drop(self.shape_of(node, input)));
            }
            _ => {}
        }
    }

    /// Of `a || b`, one may be missing.
    fn alternatives(&mut self, left: &Ast, right: &Ast, input: &Shape) -> Shape {
        let missing = find_missing_field(left, input).filter(|_| find_missing_field(right, input).is_some());
        self.missing = self.missing.take().or(missing);
        Shape::Any
    }

    fn field(&mut self, owner: &Shape, name: &str, offset: usize) -> Shape {
        let owner_words = match owner {
            Shape::Any => return Shape::Any,
            Shape::Map(value) => return Shape::clone(value),
            Shape::Open(fields) => return fields.get(name).cloned().unwrap_or_default(),
            Shape::Object(fields) => match fields.get(name) {
                Some(found) => return found.clone(),
                None => "the value",
            },
            Shape::List(_) => LIST,
            Shape::Text | Shape::Number | Shape::Boolean => owner.describe(),
        };
        let known = owner.fields().map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
        self.missing.get_or_insert(MissingField { name: name.to_owned(), offset, known, owner: owner_words });
        Shape::Any
    }
}

/// The shape of the items of a list.
fn item_of(list: &Shape) -> Shape {
    match list {
        Shape::List(item) => Shape::clone(item),
        _ => Shape::Any,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn missing(expression: &str, value: &Value) -> Option<String> {
        let found = find_missing_field(jmespath::compile(expression).unwrap().as_ast(), &Shape::inferred_from(value));
        found.map(|missing| format!("{}; {}", missing.message(), missing.help()))
    }

    #[test]
    fn misspelt_field_is_found_wherever_it_stands() {
        let value = json!({
            "items": [{ "id": 1, "name": "a", "tags": null }, { "id": 2, "tags": ["x"], "by": { "login": "l" } }],
            "total": 2, "empty": {},
        });
        for (expression, words) in [
            ("itms", "the value has no field `itms`; did you mean `items`?"),
            ("itms[].id", "the value has no field `itms`; did you mean `items`?"),
            ("items[].nmae", "the value has no field `nmae`; did you mean `name`?"),
            ("items[?stat == 'x'].id", "the value has no field `stat`; it has `by`, `id`, `name`, `tags`"),
            ("items[0].by.logn", "the value has no field `logn`; did you mean `login`?"),
            ("items.name", "a list has no field `name`; write `[].name` for the field of each item"),
            ("total.name", "a number has no field `name`; it has no fields"),
            ("{ a: total, b: itms }", "the value has no field `itms`; did you mean `items`?"),
            ("length(itms)", "the value has no field `itms`; did you mean `items`?"),
            ("items[].{ n: nme }", "the value has no field `nme`; did you mean `name`?"),
            ("itms || itmes", "the value has no field `itms`; did you mean `items`?"),
        ] {
            assert_eq!(missing(expression, &value).as_deref(), Some(words), "{expression}");
        }
        for expression in [
            "items[].name",
            "items[].tags[]",
            "items[].by.login",
            "other || items",
            "not_null(other, total)",
            "empty.x.y",
            "items[?by].by.login",
            "sort_by(items, &other)",
            "items[0].{ a: by }.a.login",
            "@",
            "`null`",
        ] {
            assert_eq!(missing(expression, &value), None, "{expression}");
        }
    }
}

//! What a schema says of one of its top-level properties, itself or behind its `$ref`.

use serde_json::{Map, Value};

use super::secret::referred;

/// How many references and branches are followed.
const MOST_STEPS: usize = 64;

/// What stands under a keyword in a schema, or else in what it refers to, or in what all hold for it.
pub(super) fn said<'v>(root: &'v Value, schema: &'v Value, keyword: &str) -> Option<&'v Value> {
    let mut ahead = vec![schema];
    for _ in 0..MOST_STEPS {
        let Some(schema) = ahead.pop()?.as_object() else { continue };
        if let Some(value) = schema.get(keyword) {
            return Some(value);
        }
        ahead.extend(all_of(schema).rev());
        ahead.extend(referred(root, schema));
    }
    None
}

/// The values that a schema allows, where it spells them out.
pub(super) fn choices<'v>(root: &'v Value, schema: &'v Value) -> Option<Vec<&'v Value>> {
    Choices { root, steps: 0 }.of(schema)
}

fn all_of(schema: &Map<String, Value>) -> impl DoubleEndedIterator<Item = &Value> {
    schema.get("allOf").and_then(Value::as_array).into_iter().flatten()
}

struct Choices<'v> {
    root: &'v Value,
    steps: usize,
}

impl<'v> Choices<'v> {
    fn of(&mut self, schema: &'v Value) -> Option<Vec<&'v Value>> {
        const BOOLEANS: [&Value; 2] = [&Value::Bool(true), &Value::Bool(false)];
        self.steps += 1;
        let schema = schema.as_object().filter(|_| self.steps < MOST_STEPS)?;
        if let Some(list) = schema.get("enum").and_then(Value::as_array) {
            return Some(list.iter().collect());
        }
        if let Some(only) = schema.get("const") {
            return Some(vec![only]);
        }
        if schema.get("type").is_some_and(|name| name == "boolean") {
            return Some(BOOLEANS.to_vec());
        }
        let behind = referred(self.root, schema).and_then(|schema| self.of(schema));
        let either = behind.or_else(|| all_of(schema).find_map(|schema| self.of(schema)));
        either.or_else(|| ["oneOf", "anyOf"].iter().find_map(|key| self.of_each(schema.get(*key)?.as_array()?)))
    }

    /// Those of all branches, where each spells them out.
    fn of_each(&mut self, branches: &'v [Value]) -> Option<Vec<&'v Value>> {
        let each: Option<Vec<_>> = branches.iter().map(|branch| self.of(branch)).collect();
        each.map(|each| each.concat()).filter(|choices| !choices.is_empty())
    }
}

//! Local references of a schema, and the schemas that apply to the same value.

use serde_json::{Map, Value};

use super::compile::keyword;
use crate::uri::percent_decode_lossy;

/// How many references and branches a search follows.
pub(super) const MAX_REFERENCE_STEPS: usize = 64;

/// The schema that a `$ref` names in the same document.
pub(super) fn resolve_local_ref<'v>(root: &'v Value, schema: &Map<String, Value>) -> Option<&'v Value> {
    let pointer = keyword(schema, "$ref")?.as_str()?.strip_prefix('#')?;
    root.pointer(&percent_decode_lossy(pointer))
}

/// The schemas that a schema names for the same value: that of its `$ref`, and its branches.
pub(super) fn in_place_schemas<'v>(
    root: &'v Value,
    schema: &'v Map<String, Value>,
    branches: &'static [&'static str],
) -> impl Iterator<Item = &'v Value> {
    let lists = branches.iter().filter_map(|name| keyword(schema, name)?.as_array());
    resolve_local_ref(root, schema).into_iter().chain(lists.flatten())
}

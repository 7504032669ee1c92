//! The keywords of JSON Schema: what each takes, and where schemas stand in it.

use jsonschema::Draft;
use serde_json::{Map, Value};

use crate::diagnostic::nearest;

use super::check::MAX_SUBSCHEMAS;
use super::{SchemaFault, pointer};

/// What a keyword takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Anything,
    Schema,
    /// One schema, or in older drafts a list by position.
    SchemaOrList,
    Schemas,
    SchemaMap,
    /// A map whose keys are regular expressions.
    PatternMap,
    /// A map to schemas or to lists of names.
    Dependencies,
    Types,
    Count,
    Number,
    /// A number; in draft 4, `true` or `false`.
    Limit,
    Positive,
    Text,
    Pattern,
    Flag,
    Names,
    NamesMap,
    Choices,
    List,
}

/// Where the schemas of a keyword apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applies {
    /// To the same value: a circle of such never ends.
    Here,
    /// To a part of the value, or nowhere until it is referred to.
    Within,
}

/// One keyword.
#[derive(Debug)]
pub(super) struct Keyword {
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    pub(super) applies: Applies,
}

const fn keyword(name: &'static str, takes: Takes) -> Keyword {
    Keyword { name, takes, applies: Applies::Within }
}

const fn here(name: &'static str, takes: Takes) -> Keyword {
    Keyword { name, takes, applies: Applies::Here }
}

const KEYWORDS: &[Keyword] = &[
    keyword("$schema", Takes::Text),
    keyword("$id", Takes::Text),
    keyword("$ref", Takes::Text),
    keyword("$dynamicRef", Takes::Text),
    keyword("$anchor", Takes::Text),
    keyword("$dynamicAnchor", Takes::Text),
    keyword("$vocabulary", Takes::Anything),
    keyword("$comment", Takes::Text),
    keyword("$defs", Takes::SchemaMap),
    keyword("definitions", Takes::SchemaMap),
    here("allOf", Takes::Schemas),
    here("anyOf", Takes::Schemas),
    here("oneOf", Takes::Schemas),
    here("not", Takes::Schema),
    here("if", Takes::Schema),
    here("then", Takes::Schema),
    here("else", Takes::Schema),
    here("dependentSchemas", Takes::SchemaMap),
    here("dependencies", Takes::Dependencies),
    keyword("prefixItems", Takes::Schemas),
    keyword("items", Takes::SchemaOrList),
    keyword("contains", Takes::Schema),
    keyword("properties", Takes::SchemaMap),
    keyword("patternProperties", Takes::PatternMap),
    keyword("additionalProperties", Takes::Schema),
    keyword("propertyNames", Takes::Schema),
    keyword("unevaluatedItems", Takes::Schema),
    keyword("unevaluatedProperties", Takes::Schema),
    keyword("type", Takes::Types),
    keyword("enum", Takes::Choices),
    keyword("const", Takes::Anything),
    keyword("multipleOf", Takes::Positive),
    keyword("maximum", Takes::Number),
    keyword("exclusiveMaximum", Takes::Limit),
    keyword("minimum", Takes::Number),
    keyword("exclusiveMinimum", Takes::Limit),
    keyword("maxLength", Takes::Count),
    keyword("minLength", Takes::Count),
    keyword("pattern", Takes::Pattern),
    keyword("maxItems", Takes::Count),
    keyword("minItems", Takes::Count),
    keyword("uniqueItems", Takes::Flag),
    keyword("maxContains", Takes::Count),
    keyword("minContains", Takes::Count),
    keyword("maxProperties", Takes::Count),
    keyword("minProperties", Takes::Count),
    keyword("required", Takes::Names),
    keyword("dependentRequired", Takes::NamesMap),
    keyword("format", Takes::Text),
    keyword("contentEncoding", Takes::Text),
    keyword("contentMediaType", Takes::Text),
    keyword("contentSchema", Takes::Schema),
    keyword("title", Takes::Text),
    keyword("description", Takes::Text),
    keyword("default", Takes::Anything),
    keyword("deprecated", Takes::Flag),
    keyword("readOnly", Takes::Flag),
    keyword("writeOnly", Takes::Flag),
    keyword("examples", Takes::List),
];

/// Keywords that older drafts have, and draft 2020-12 has not.
const OLDER: &[Keyword] = &[
    keyword("additionalItems", Takes::Schema),
    keyword("$recursiveRef", Takes::Text),
    keyword("$recursiveAnchor", Takes::Flag),
    keyword("id", Takes::Text),
];

/// The keyword of that name in a draft.
pub(super) fn find(name: &str, draft: Draft) -> Option<&'static Keyword> {
    let older = if draft == Draft::Draft202012 { &[] } else { OLDER };
    KEYWORDS.iter().chain(older).find(|keyword| keyword.name == name)
}

/// A schema that stands in another.
pub(super) struct Child<'v> {
    /// Where, from the outer schema on.
    pub(super) tail: String,
    pub(super) applies: Applies,
    pub(super) value: &'v Value,
}

/// The schemas that stand directly in a schema. What is no schema by its type is left out.
pub(super) fn children<'v>(schema: &'v Map<String, Value>, draft: Draft) -> Vec<Child<'v>> {
    let mut found = Vec::new();
    for (name, value) in schema {
        let Some(keyword) = find(name, draft) else { continue };
        let tail = pointer::join("", name);
        let mut push = |tail, value| found.push(Child { tail, applies: keyword.applies, value });
        match (keyword.takes, value) {
            (Takes::Schema | Takes::SchemaOrList, Value::Object(_) | Value::Bool(_)) => push(tail, value),
            (Takes::Schemas | Takes::SchemaOrList, Value::Array(list)) => {
                list.iter().enumerate().for_each(|(index, value)| push(format!("{tail}/{index}"), value));
            }
            (Takes::SchemaMap | Takes::PatternMap, Value::Object(map)) => {
                map.iter().for_each(|(key, value)| push(pointer::join(&tail, key), value));
            }
            (Takes::Dependencies, Value::Object(map)) => map
                .iter()
                .filter(|(_, value)| !value.is_array())
                .for_each(|(key, value)| push(pointer::join(&tail, key), value)),
            _ => {}
        }
    }
    found
}

/// Every schema of a document, with its pointer, the outer before the inner; without those behind references.
pub(super) fn subschemas(root: &Value, draft: Draft) -> Vec<(String, &Value)> {
    let mut found = vec![(String::new(), root)];
    let mut next = 0;
    while let Some((place, schema)) = found.get(next).cloned() {
        next += 1;
        if found.len() > MAX_SUBSCHEMAS {
            break;
        }
        let inner = schema.as_object().map(|schema| children(schema, draft)).unwrap_or_default();
        found.extend(inner.into_iter().map(|child| (format!("{place}{}", child.tail), child.value)));
    }
    found
}

/// The draft that a schema names, where it names one that is known; else 2020-12.
pub(super) fn draft_of(schema: &Value) -> Draft {
    schema.get("$schema").and_then(Value::as_str).and_then(draft_named).unwrap_or(Draft::Draft202012)
}

/// The draft behind the URI of a meta-schema.
pub(super) fn draft_named(uri: &str) -> Option<Draft> {
    let rest = uri.trim_end_matches('#').trim_start_matches("https://").trim_start_matches("http://");
    match rest {
        "json-schema.org/draft-04/schema" => Some(Draft::Draft4),
        "json-schema.org/draft-06/schema" => Some(Draft::Draft6),
        "json-schema.org/draft-07/schema" => Some(Draft::Draft7),
        "json-schema.org/draft/2019-09/schema" => Some(Draft::Draft201909),
        "json-schema.org/draft/2020-12/schema" => Some(Draft::Draft202012),
        _ => None,
    }
}

/// Finds keys that are no keywords of JSON Schema, anywhere in a schema, and says what was probably meant.
/// Keys that begin with `x-` are the author's own; `extra` names others that are allowed at the root.
pub fn unknown_keywords(schema: &Value, extra: &[&str]) -> Vec<SchemaFault> {
    let draft = draft_of(schema);
    let mut faults = Vec::new();
    for (place, schema) in subschemas(schema, draft) {
        let allowed = if place.is_empty() { extra } else { &[] };
        let names = schema.as_object().into_iter().flat_map(Map::keys);
        faults.extend(
            names
                .filter(|name| !name.starts_with("x-") && !allowed.contains(&name.as_str()))
                .filter(|name| find(name, draft).is_none())
                .map(|name| unknown(&place, name, allowed)),
        );
    }
    faults
}

fn unknown(place: &str, name: &str, allowed: &[&str]) -> SchemaFault {
    let names = KEYWORDS.iter().map(|keyword| keyword.name).chain(allowed.iter().copied());
    let help = replaced(name).map(str::to_owned).or_else(|| Some(format!("did you mean `{}`?", nearest(name, names)?)));
    SchemaFault {
        pointer: pointer::join(place, name),
        message: format!("`{name}` is not a keyword of JSON Schema"),
        help,
    }
}

/// What to write instead of words of other dialects.
fn replaced(name: &str) -> Option<&'static str> {
    Some(match name {
        "nullable" => "write the type as a list: `type: [string, \"null\"]`",
        "additionalItems" => "`items` holds for what follows `prefixItems`",
        "example" => "write `examples`, a list",
        "values" | "options" | "choices" | "oneof_values" => "write `enum`, a list of the values allowed",
        "min" => "write `minimum` for a number, `minLength` for a text, `minItems` for a list",
        "max" => "write `maximum` for a number, `maxLength` for a text, `maxItems` for a list",
        "regex" => "write `pattern`",
        "optional" => "what is not `required` is optional",
        "$recursiveRef" => "write `$dynamicRef`",
        "id" => "write `$id`",
        _ => return None,
    })
}

//! The keywords of JSON Schema, their values and their subschemas.

use jsonschema::Draft;
use serde_json::{Map, Value};

use crate::diagnostic::nearest;

use super::SchemaError;
use super::check::MAX_SUBSCHEMAS;
use crate::yaml::pointer;

/// The kind of value of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeywordValue {
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

/// Where the subschemas of a keyword apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applicator {
    /// To the same value, where a cycle would not end.
    InPlace,
    /// To a part of the value, or only where referenced.
    Subschema,
}

/// One keyword.
#[derive(Debug)]
pub(super) struct Keyword {
    pub(super) name: &'static str,
    pub(super) value_kind: KeywordValue,
    pub(super) application: Applicator,
}

const fn keyword(name: &'static str, value_kind: KeywordValue) -> Keyword {
    Keyword { name, value_kind, application: Applicator::Subschema }
}

const fn in_place_keyword(name: &'static str, value_kind: KeywordValue) -> Keyword {
    Keyword { name, value_kind, application: Applicator::InPlace }
}

const KEYWORDS: &[Keyword] = &[
    keyword("$schema", KeywordValue::Text),
    keyword("$id", KeywordValue::Text),
    keyword("$ref", KeywordValue::Text),
    keyword("$dynamicRef", KeywordValue::Text),
    keyword("$anchor", KeywordValue::Text),
    keyword("$dynamicAnchor", KeywordValue::Text),
    keyword("$vocabulary", KeywordValue::Anything),
    keyword("$comment", KeywordValue::Text),
    keyword("$defs", KeywordValue::SchemaMap),
    keyword("definitions", KeywordValue::SchemaMap),
    in_place_keyword("allOf", KeywordValue::Schemas),
    in_place_keyword("anyOf", KeywordValue::Schemas),
    in_place_keyword("oneOf", KeywordValue::Schemas),
    in_place_keyword("not", KeywordValue::Schema),
    in_place_keyword("if", KeywordValue::Schema),
    in_place_keyword("then", KeywordValue::Schema),
    in_place_keyword("else", KeywordValue::Schema),
    in_place_keyword("dependentSchemas", KeywordValue::SchemaMap),
    in_place_keyword("dependencies", KeywordValue::Dependencies),
    keyword("prefixItems", KeywordValue::Schemas),
    keyword("items", KeywordValue::SchemaOrList),
    keyword("contains", KeywordValue::Schema),
    keyword("properties", KeywordValue::SchemaMap),
    keyword("patternProperties", KeywordValue::PatternMap),
    keyword("additionalProperties", KeywordValue::Schema),
    keyword("propertyNames", KeywordValue::Schema),
    keyword("unevaluatedItems", KeywordValue::Schema),
    keyword("unevaluatedProperties", KeywordValue::Schema),
    keyword("type", KeywordValue::Types),
    keyword("enum", KeywordValue::Choices),
    keyword("const", KeywordValue::Anything),
    keyword("multipleOf", KeywordValue::Positive),
    keyword("maximum", KeywordValue::Number),
    keyword("exclusiveMaximum", KeywordValue::Limit),
    keyword("minimum", KeywordValue::Number),
    keyword("exclusiveMinimum", KeywordValue::Limit),
    keyword("maxLength", KeywordValue::Count),
    keyword("minLength", KeywordValue::Count),
    keyword("pattern", KeywordValue::Pattern),
    keyword("maxItems", KeywordValue::Count),
    keyword("minItems", KeywordValue::Count),
    keyword("uniqueItems", KeywordValue::Flag),
    keyword("maxContains", KeywordValue::Count),
    keyword("minContains", KeywordValue::Count),
    keyword("maxProperties", KeywordValue::Count),
    keyword("minProperties", KeywordValue::Count),
    keyword("required", KeywordValue::Names),
    keyword("dependentRequired", KeywordValue::NamesMap),
    keyword("format", KeywordValue::Text),
    keyword("contentEncoding", KeywordValue::Text),
    keyword("contentMediaType", KeywordValue::Text),
    keyword("contentSchema", KeywordValue::Schema),
    keyword("title", KeywordValue::Text),
    keyword("description", KeywordValue::Text),
    keyword("default", KeywordValue::Anything),
    keyword("deprecated", KeywordValue::Flag),
    keyword("readOnly", KeywordValue::Flag),
    keyword("writeOnly", KeywordValue::Flag),
    keyword("examples", KeywordValue::List),
];

/// Keywords of older drafts only.
const OLDER_DRAFT_KEYWORDS: &[Keyword] = &[
    keyword("additionalItems", KeywordValue::Schema),
    keyword("$recursiveRef", KeywordValue::Text),
    keyword("$recursiveAnchor", KeywordValue::Flag),
    keyword("id", KeywordValue::Text),
];

/// The keyword of that name in a draft.
pub(super) fn find_keyword(name: &str, draft: Draft) -> Option<&'static Keyword> {
    let older = if draft == Draft::Draft202012 { &[] } else { OLDER_DRAFT_KEYWORDS };
    KEYWORDS.iter().chain(older).find(|keyword| keyword.name == name)
}

/// A direct subschema.
pub(super) struct Subschema<'v> {
    /// The pointer from the outer schema.
    pub(super) pointer_suffix: String,
    pub(super) application: Applicator,
    pub(super) value: &'v Value,
}

/// The direct subschemas of a schema, without values that are not schemas by their type.
pub(super) fn direct_subschemas<'v>(schema: &'v Map<String, Value>, draft: Draft) -> Vec<Subschema<'v>> {
    let mut children = Vec::new();
    for (name, value) in schema {
        let Some(keyword) = find_keyword(name, draft) else { continue };
        let pointer_suffix = pointer::join("", name);
        let mut push = |pointer_suffix, value| {
            children.push(Subschema { pointer_suffix, application: keyword.application, value })
        };
        match (keyword.value_kind, value) {
            (KeywordValue::Schema | KeywordValue::SchemaOrList, Value::Object(_) | Value::Bool(_)) => {
                push(pointer_suffix, value)
            }
            (KeywordValue::Schemas | KeywordValue::SchemaOrList, Value::Array(list)) => {
                list.iter().enumerate().for_each(|(index, value)| push(format!("{pointer_suffix}/{index}"), value));
            }
            (KeywordValue::SchemaMap | KeywordValue::PatternMap, Value::Object(map)) => {
                map.iter().for_each(|(key, value)| push(pointer::join(&pointer_suffix, key), value));
            }
            (KeywordValue::Dependencies, Value::Object(map)) => map
                .iter()
                .filter(|(_, value)| !value.is_array())
                .for_each(|(key, value)| push(pointer::join(&pointer_suffix, key), value)),
            _ => {}
        }
    }
    children
}

/// Every schema of a document with its pointer, outer before inner; references are not followed.
pub(super) fn subschemas(root: &Value, draft: Draft) -> Vec<(String, &Value)> {
    let mut all = vec![(String::new(), root)];
    let mut next = 0;
    while let Some((at, schema)) = all.get(next).cloned() {
        next += 1;
        if all.len() > MAX_SUBSCHEMAS {
            break;
        }
        let inner = schema.as_object().map(|schema| direct_subschemas(schema, draft)).unwrap_or_default();
        all.extend(inner.into_iter().map(|child| (format!("{at}{}", child.pointer_suffix), child.value)));
    }
    all
}

/// The draft of `$schema`, else 2020-12.
pub(super) fn draft_of(schema: &Value) -> Draft {
    schema.get("$schema").and_then(Value::as_str).and_then(draft_from_uri).unwrap_or(Draft::Draft202012)
}

/// The draft of the URI of a meta-schema.
pub(super) fn draft_from_uri(uri: &str) -> Option<Draft> {
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

/// Finds unknown keywords anywhere in a schema.
/// Keys with the prefix `x-` are allowed, and those of `extra` at the root.
pub fn unknown_keywords(schema: &Value, extra: &[&str]) -> Vec<SchemaError> {
    let draft = draft_of(schema);
    let mut errors = Vec::new();
    for (at, schema) in subschemas(schema, draft) {
        let allowed = if at.is_empty() { extra } else { &[] };
        let names = schema.as_object().into_iter().flat_map(Map::keys);
        errors.extend(
            names
                .filter(|name| !name.starts_with("x-") && !allowed.contains(&name.as_str()))
                .filter(|name| find_keyword(name, draft).is_none())
                .map(|name| unknown_keyword(&at, name, allowed)),
        );
    }
    errors
}

fn unknown_keyword(at: &str, name: &str, allowed: &[&str]) -> SchemaError {
    let names = KEYWORDS.iter().map(|keyword| keyword.name).chain(allowed.iter().copied());
    let help = replacement_hint(name)
        .map(str::to_owned)
        .or_else(|| Some(format!("did you mean `{}`?", nearest(name, names)?)));
    SchemaError::new(pointer::join(at, name), format!("unknown JSON Schema keyword `{name}`")).optional_help(help)
}

/// The help for keywords of other dialects.
fn replacement_hint(name: &str) -> Option<&'static str> {
    Some(match name {
        "nullable" => "write the type as a list: `type: [string, \"null\"]`",
        "additionalItems" => "write `items`, which applies after `prefixItems`",
        "example" => "write `examples`, a list",
        "values" | "options" | "choices" | "oneof_values" => "write `enum`, a list of the values allowed",
        "min" => "write `minimum` for a number, `minLength` for a string, `minItems` for a list",
        "max" => "write `maximum` for a number, `maxLength` for a string, `maxItems` for a list",
        "regex" => "write `pattern`",
        "optional" => "remove it: a property that is not in `required` is optional",
        "$recursiveRef" => "write `$dynamicRef`",
        "id" => "write `$id`",
        _ => return None,
    })
}

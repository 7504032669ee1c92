//! References, within the document and into files.

use super::*;

fn files(path: &str) -> Option<Value> {
    Some(match path {
        "defs/common.json" => json!({
            "$id": "https://example.com/common",
            "$defs": {
                "id": { "$anchor": "ident", "type": "integer", "minimum": 1 },
                "tree": { "type": "object", "properties": { "children": { "type": "array", "items": { "$ref": "#/$defs/tree" } } } },
                "far": { "$ref": "../other.json" },
                "unused": { "$ref": "missing.json" },
            },
        }),
        "ids.json" => json!({
            "$id": "https://example.com/ids",
            "properties": { "n": { "$ref": "#n" }, "self": { "$ref": "https://example.com/ids" } },
            "$defs": { "n": { "$anchor": "n", "type": "integer" } },
        }),
        "other.json" => json!({ "type": "string", "maxLength": 3 }),
        "bag.json" => {
            json!({ "address": { "type": "object", "required": ["street"] }, "title": { "not": "a schema" } })
        }
        "wrong.json" => json!({ "properties": { "a": { "type": "strng" } } }),
        "old.json" => json!({ "$schema": "http://json-schema.org/draft-07/schema#" }),
        _ => return None,
    })
}

fn with_files(schema: Value) -> Result<Schema, Vec<SchemaError>> {
    Schema::compile(schema, &files)
}

#[test]
fn references_reach_across_files() {
    let schema = with_files(json!({
        "type": "object",
        "properties": {
            "id": { "$ref": "defs/common.json#/$defs/id" },
            "same": { "$ref": "defs/common.json#ident" },
            "tree": { "$ref": "./defs/common.json#/$defs/tree" },
            "far": { "$ref": "defs/common.json#/%24defs/far" },
            "address": { "$ref": "bag.json#/address" },
        },
        "$defs": { "id": { "type": "string" } },
    }))
    .unwrap();
    let wrong = json!({
        "id": 0, "same": 0, "far": "long", "address": {},
        "tree": { "children": [{ "children": [{ "children": 3 }] }] },
    });
    let found: Vec<String> = schema.found(&wrong).into_iter().map(|violation| violation.message).collect();
    assert_eq!(
        found,
        [
            "`id` must be at least 1; got 0",
            "`same` must be at least 1; got 0",
            "`tree.children[0].children[0].children` must be an array; got 3",
            "`far` must be at most 3 characters long; it has 4 characters",
            "`address.street` is required",
        ]
    );
}

#[test]
fn bundle_is_self_contained() {
    let bundled = bundle(
        &json!({ "properties": { "a": { "$ref": "defs/common.json#/$defs/far" } }, "$defs": { "far": true } }),
        &files,
    )
    .unwrap();
    assert_eq!(
        bundled,
        json!({
            "properties": { "a": { "$ref": "#/$defs/far-2" } },
            "$defs": { "far": true, "far-2": { "$ref": "#/$defs/other" }, "other": { "type": "string", "maxLength": 3 } },
        })
    );
    assert!(Schema::compile(bundled, &|_| None).is_ok());
}

#[test]
fn schema_without_files_is_unchanged() {
    let schema = json!({ "$id": "https://e.example/a", "$ref": "https://e.example/a#/$defs/n", "$defs": { "n": { "type": "null" } } });
    assert_eq!(bundle(&schema, &|_| None).unwrap(), schema);
    assert!(!compiled(schema).is_valid(&json!(1)));
}

#[test]
fn unresolved_reference_is_reported_at_ref() {
    let found = with_files(json!({
        "properties": {
            "a": { "$ref": "#/$defs/adress" },
            "b": { "$ref": "https://example.com/x.json" },
            "c": { "$ref": "missing.json#/a" },
            "d": { "$ref": "wrong.json" },
            "e": { "$ref": "old.json" },
            "f": { "$ref": "#nothing" },
            "g": { "$ref": "file:///etc/passwd" },
        },
        "$defs": { "address": {} },
    }))
    .unwrap_err();
    let messages: Vec<(&str, &str)> = pairs(&found);
    assert_eq!(
        messages,
        [
            ("/properties/a/$ref", "unresolved reference `#/$defs/adress`"),
            ("/properties/b/$ref", "unsupported remote reference `https://example.com/x.json`"),
            ("/properties/c/$ref", "schema file `missing.json` not found"),
            ("/properties/e/$ref", "mismatched draft of `old.json`: `http://json-schema.org/draft-07/schema#`"),
            ("/properties/f/$ref", "unresolved reference `#nothing`"),
            ("/properties/g/$ref", "unsupported remote reference `file:///etc/passwd`"),
            (
                "/properties/d/$ref",
                "in `wrong.json` at `/properties/a/type`: unknown type `strng`, expected one of `array`, `boolean`, `integer`, `null`, `number`, `object`, `string`"
            ),
        ]
    );
    assert_eq!(found[0].help.as_deref(), Some("did you mean `/$defs/address`?"));
}

#[test]
fn only_in_place_cycles_are_errors() {
    assert_eq!(errors(json!({ "$ref": "#" }))[0].at, "/$ref");
    let around = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "allOf": [{ "$ref": "#/$defs/b" }] }, "b": { "not": { "$ref": "#/$defs/a" } } } });
    let found = errors(around);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].at, "/$defs/b/not/$ref");
    let tree = compiled(json!({ "properties": { "next": { "$ref": "#" } }, "additionalProperties": false }));
    let deep = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({ "next": inner }));
    assert!(tree.is_valid(&deep(120)));
    assert!(tree.found(&deep(1_000))[0].message.contains("nesting of the value exceeds"));
}

#[test]
fn embedded_ids_and_dynamic_refs_resolve() {
    let schema = compiled(json!({
        "$id": "https://e.example/root",
        "properties": { "a": { "$ref": "item" }, "b": { "$ref": "#/$defs/i/$defs/n" } },
        "$defs": { "i": { "$id": "item", "$ref": "#/$defs/n", "$defs": { "n": { "type": "integer" } } } },
    }));
    assert_eq!(schema.found(&json!({ "a": "x", "b": "x" })).len(), 2);
    let tree =
        compiled(json!({ "$dynamicAnchor": "t", "properties": { "c": { "$dynamicRef": "#t" } }, "required": ["v"] }));
    assert_eq!(tree.found(&json!({ "v": 1, "c": {} }))[0].message, "`c.v` is required");
}

#[test]
fn property_named_like_keyword_is_a_property() {
    let schema = compiled(json!({
        "properties": { "$ref": { "type": "string" }, "type": { "const": { "$ref": "nowhere.json" } } },
        "enum": [{ "$ref": "#/nowhere" }],
    }));
    assert!(schema.is_valid(&json!({ "$ref": "#/nowhere" })));
}

#[test]
fn exponential_schemas_are_refused() {
    let chain = |length: usize| {
        let mut definitions = Map::from_iter([(format!("d{length}"), json!({ "type": "string" }))]);
        for index in 0..length {
            let next = json!({ "$ref": format!("#/$defs/d{}", index + 1) });
            definitions.insert(format!("d{index}"), json!({ "allOf": [next, next] }));
        }
        json!({ "$ref": "#/$defs/d0", "$defs": definitions })
    };
    assert!(compiled(chain(8)).is_valid(&json!("x")));
    let found = errors(chain(40));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("more than 100000 subschemas"), "{found:?}");
}

#[test]
fn file_ids_and_anchors_are_resolved_and_removed() {
    let schema =
        with_files(json!({ "properties": { "a": { "$ref": "ids.json" }, "b": { "$ref": "ids.json#n" } } })).unwrap();
    assert_eq!(schema.found(&json!({ "a": { "n": "x", "self": { "n": "x" } }, "b": "x" })).len(), 3);
    let text = Value::Object(schema.json().clone()).to_string();
    assert!(!text.contains("$id") && !text.contains("$anchor"), "{text}");
}

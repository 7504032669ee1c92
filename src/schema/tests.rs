use jsonschema::Draft;
use serde_json::{Map, Value, json};

use super::bundle::build_bundle;
use super::{
    Coercion, EmptyText, LintKind, ReferenceLoader, Schema, SchemaError, Violation, lint, simple_schema,
    unknown_keywords,
};

mod patterns;
mod properties;
mod references;
mod values;

fn bundle(schema: &Value, refs: &ReferenceLoader<'_>) -> Result<Value, Vec<SchemaError>> {
    build_bundle(schema, refs).map(|bundled| bundled.json)
}

fn coerce(schema: &Value, text: &str) -> Coercion {
    super::coerce::coerce(schema, schema, text)
}

fn fill_defaults(schema: &Value, arguments: &mut Map<String, Value>) {
    Schema::new(schema.clone(), Draft::Draft202012).fill_defaults(arguments);
}

fn compiled(schema: Value) -> Schema {
    Schema::compile(schema, &|_| None).unwrap()
}

impl Schema {
    /// What is wrong with a value, to a call that may do all that calls may.
    fn found(&self, value: &Value) -> Vec<Violation> {
        self.violations(value).unwrap()
    }
}

fn errors(schema: Value) -> Vec<SchemaError> {
    Schema::compile(schema, &|_| None).unwrap_err()
}

fn messages(schema: Value, value: Value) -> Vec<String> {
    compiled(schema).found(&value).into_iter().map(|violation| violation.message).collect()
}

fn property(schema: Value, value: Value) -> String {
    let schema = json!({ "type": "object", "properties": { "x": schema } });
    messages(schema, json!({ "x": value })).join(" | ")
}

fn pairs(errors: &[SchemaError]) -> Vec<(&str, &str)> {
    errors.iter().map(|error| (error.at.as_str(), error.message.as_str())).collect()
}

#[test]
fn all_schema_errors_are_found_with_pointers() {
    let found = errors(json!({
        "type": "object",
        "properties": {
            "a": { "type": "strng" },
            "b": { "type": "string", "minLength": -1, "pattern": "(" },
            "c": { "required": "x", "enum": [] },
            "d": 3,
            "e": { "items": { "anyOf": [{ "multipleOf": 0 }] } },
            "f": { "type": ["string", "string", null, "strin"] },
            "a/b~": { "uniqueItems": "yes" },
        },
        "required": ["a", "a", 1],
    }));
    assert_eq!(
        pairs(&found),
        [
            ("/required/1", "duplicate value \"a\""),
            ("/required/2", "invalid name: 1, expected a string"),
            (
                "/properties/a/type",
                "unknown type `strng`, expected one of `array`, `boolean`, `integer`, `null`, `number`, `object`, `string`"
            ),
            ("/properties/b/minLength", "invalid `minLength`: -1, expected a non-negative integer"),
            ("/properties/c/required", "invalid `required`: \"x\", expected a list of names"),
            ("/properties/c/enum", "empty `enum` allows no value"),
            ("/properties/d", "invalid schema: 3, expected an object or a boolean"),
            ("/properties/f/type/1", "duplicate value \"string\""),
            ("/properties/f/type/2", "invalid type: null"),
            (
                "/properties/f/type/3",
                "unknown type `strin`, expected one of `array`, `boolean`, `integer`, `null`, `number`, `object`, `string`"
            ),
            ("/properties/a~1b~0/uniqueItems", "invalid `uniqueItems`: \"yes\", expected true or false"),
            ("/properties/e/items/anyOf/0/multipleOf", "invalid `multipleOf`: 0, expected a number greater than 0"),
            ("/properties/b/pattern", "invalid regular expression `(`: unclosed group"),
        ]
    );
    assert_eq!(found[2].help.as_deref(), Some("did you mean `string`?"));
}

#[test]
fn only_the_invalid_pattern_is_found() {
    let found = errors(json!({ "patternProperties": { "[": {} }, "properties": { "x": { "pattern": "a{2,1}" } } }));
    let places: Vec<&str> = found.iter().map(|error| error.at.as_str()).collect();
    assert_eq!(places, ["/patternProperties/[", "/properties/x/pattern"]);
}

#[test]
fn type_names_of_other_languages_are_suggested() {
    let help = |name: &str| errors(json!({ "type": name }))[0].help.clone().unwrap();
    assert_eq!(help("int"), "did you mean `integer`?");
    assert_eq!(help("Bool"), "did you mean `boolean`?");
    assert_eq!(help("list"), "did you mean `array`?");
}

#[test]
fn known_drafts_are_supported() {
    let tuple = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "items": [{ "type": "string" }] });
    assert_eq!(compiled(tuple).found(&json!([1])).len(), 1);
    let four = json!({ "$schema": "http://json-schema.org/draft-04/schema#", "maximum": 3, "exclusiveMaximum": true });
    assert!(!compiled(four).is_valid(&json!(3)));
    assert_eq!(
        pairs(&errors(json!({ "$schema": "https://example.com/mine", "type": "string" }))),
        [("/$schema", "unsupported `$schema` `https://example.com/mine`")]
    );
    assert_eq!(
        pairs(&errors(json!({ "items": [{ "type": "string" }] }))),
        [("/items", "invalid `items`: an array of 1 item, expected one schema")]
    );
}

#[test]
fn too_deep_or_large_schema_is_refused() {
    let nest = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({ "items": inner }));
    assert!(compiled(nest(64)).is_valid(&json!([])));
    assert!(errors(nest(65))[0].message.contains("exceeds 64 levels"));
    assert!(errors(nest(1_000))[0].message.contains("exceeds 64 levels"));
    let many: Map<String, Value> = (0..10_001).map(|index| (index.to_string(), json!({}))).collect();
    assert!(errors(json!({ "properties": many }))[0].message.contains("more than 10000"));
}

#[test]
fn catastrophic_pattern_terminates() {
    let started = std::time::Instant::now();
    let text = json!(format!("{}!", "a".repeat(5_000)));
    for pattern in ["^(a+)+$", "^(a|aa)+$", "^(?=a)(a+)+$", "^(a*)*\\1b$", "(x+x+)+y"] {
        assert!(!compiled(json!({ "pattern": pattern })).is_valid(&text), "{pattern}");
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn lookaround_is_supported() {
    let schema = compiled(json!({ "pattern": "^(?!v0)v[0-9]+$" }));
    assert!(schema.is_valid(&json!("v12")) && !schema.is_valid(&json!("v01")));
}

#[test]
fn lint_finds_unsatisfiable_schemas() {
    let found = lint(&json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["colour"],
        "properties": {
            "color": { "type": "integer", "minimum": 3, "maximum": 1 },
            "b": { "type": "number", "exclusiveMinimum": 1, "maximum": 1 },
            "c": { "type": "string", "minLength": 3, "maxLength": 2 },
            "d": { "enum": ["low", "high"], "default": "medium" },
            "e": { "type": "string", "enum": ["a", 1, "a"] },
            "f": { "type": "string", "format": "date", "default": "soon" },
            "g": { "type": "integer", "default": 3, "minimum": 1, "minLength": 2 },
            "h": { "type": "array", "items": { "$ref": "#/$defs/n" }, "default": [1, "x"] },
            "i": { "const": 2, "enum": [1] },
            "j": { "type": "string", "format": "emial" },
            "k": { "type": "string", "format": "password", "default": null },
        },
        "$defs": { "n": { "type": "integer" } },
    }));
    let short: Vec<(LintKind, &str, &str)> =
        found.iter().map(|lint| (lint.kind, lint.error.at.as_str(), lint.error.message.as_str())).collect();
    use LintKind::{NoEffect, Unsatisfiable};
    assert_eq!(
        short,
        [
            (Unsatisfiable, "/required/0", "required property `colour` is neither declared nor allowed"),
            (Unsatisfiable, "/properties/color/minimum", "empty range: `minimum` 3, `maximum` 1"),
            (Unsatisfiable, "/properties/b/exclusiveMinimum", "empty range: `exclusiveMinimum` 1, `maximum` 1"),
            (Unsatisfiable, "/properties/c/minLength", "empty range: `minLength` 3, `maxLength` 2"),
            (
                Unsatisfiable,
                "/properties/d/default",
                "invalid `default`: the value must be one of \"low\", \"high\"; got \"medium\""
            ),
            (Unsatisfiable, "/properties/e/enum/1", "1 does not match type `string`"),
            (NoEffect, "/properties/e/enum/2", "duplicate value \"a\""),
            (
                Unsatisfiable,
                "/properties/f/default",
                "invalid `default`: the value must be a date such as 2026-07-28; got \"soon\""
            ),
            (NoEffect, "/properties/g/minLength", "`minLength` has no effect on the type `integer`"),
            (Unsatisfiable, "/properties/h/default", "invalid `default`: `[1]` must be an integer; got \"x\""),
            (Unsatisfiable, "/properties/i/const", "2 is not one of `enum`"),
            (NoEffect, "/properties/j/format", "unknown format `emial` is not checked"),
            (Unsatisfiable, "/properties/k/default", "invalid `default`: the value must be a string; got null"),
        ]
    );
    assert_eq!(found[0].error.help.as_deref(), Some("did you mean `color`?"));
    assert_eq!(found[11].error.help.as_deref(), Some("did you mean `email`?"));
}

#[test]
fn lint_is_silent_about_a_good_schema() {
    let good = json!({
        "type": "object",
        "properties": {
            "a": { "type": "integer", "minimum": 1, "maximum": 1, "default": 1 },
            "b": { "type": ["string", "null"], "default": null, "maxLength": 3 },
            "c": { "enum": ["x", 1], "default": 1 },
            "d": { "$ref": "#/properties/a", "default": 1 },
        },
        "required": ["a", "z"],
    });
    assert_eq!(lint(&good), []);
}

#[test]
fn unknown_keywords_get_suggestions() {
    let found = unknown_keywords(
        &json!({
            "complete": { "run": 1 },
            "x-mine": true,
            "descripton": "d",
            "properties": { "type": { "nullable": true }, "complete": { "complete": [], "minimun": 1 } },
            "default": { "anything": 1 },
            "examples": [{ "anything": 1 }],
            "enum": [{ "anything": 1 }],
            "additionalItems": false,
        }),
        &["complete"],
    );
    let short: Vec<(&str, &str)> =
        found.iter().map(|error| (error.at.as_str(), error.help.as_deref().unwrap_or(""))).collect();
    assert_eq!(
        short,
        [
            ("/descripton", "did you mean `description`?"),
            ("/additionalItems", "write `items`, which applies after `prefixItems`"),
            ("/properties/type/nullable", "write the type as a list: `type: [string, \"null\"]`"),
            ("/properties/complete/complete", ""),
            ("/properties/complete/minimun", "did you mean `minimum`?"),
        ]
    );
}

/// A schema in which each level of a value may be of either of two kinds.
fn branching() -> Value {
    json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/$defs/n" } },
        "$defs": { "n": { "anyOf": [
            { "type": "object", "properties": { "n": { "$ref": "#/$defs/n" } }, "required": ["z"] },
            { "type": "object", "properties": { "n": { "$ref": "#/$defs/n" } }, "required": ["y"] },
            { "type": "null" },
        ] } },
    })
}

#[test]
fn costly_validation_is_refused() {
    let schema = compiled(branching());
    let nested = |depth| json!({ "a": (0..depth).fold(Value::Null, |inner, _| json!({ "n": inner })) });
    assert!(schema.is_valid(&nested(0)));
    for (depth, words) in [(2, "is required"), (14, "too deeply"), (100, "too deeply")] {
        let violations = schema.found(&nested(depth));
        assert!(violations.iter().any(|violation| violation.message.contains(words)), "{depth}: {violations:?}");
    }
}

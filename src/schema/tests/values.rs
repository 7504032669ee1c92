//! Violations, coercion and defaults.

use super::*;

fn long() -> String {
    "x".repeat(65)
}

#[test]
fn violations_name_place_and_expectation() {
    let cases = [
        (json!({ "type": "integer" }), json!("abc"), "`x` must be an integer; got \"abc\""),
        (json!({ "type": ["string", "null"] }), json!([1]), "`x` must be null or a string; got an array of 1 item"),
        (json!({ "enum": ["low", "high"] }), json!("medium"), "`x` must be one of \"low\", \"high\"; got \"medium\""),
        (
            json!({ "enum": ["low", "high"] }),
            json!("hihg"),
            "`x` must be one of \"low\", \"high\"; got \"hihg\"; did you mean \"high\"?",
        ),
        (json!({ "const": 3 }), json!(4), "`x` must be 3; got 4"),
        (json!({ "minimum": 1 }), json!(0), "`x` must be at least 1; got 0"),
        (json!({ "exclusiveMaximum": 1.5 }), json!(2), "`x` must be less than 1.5; got 2"),
        (json!({ "multipleOf": 5 }), json!(3), "`x` must be a multiple of 5; got 3"),
        (json!({ "minLength": 2 }), json!("é"), "`x` must be at least 2 characters long; it has 1 character"),
        (json!({ "maxLength": 2 }), json!(long()), "`x` must be at most 2 characters long; it has 65 characters"),
        (json!({ "pattern": "^v[0-9]+$" }), json!("1"), "`x` must match the pattern `^v[0-9]+$`; got \"1\""),
        (json!({ "format": "date" }), json!("soon"), "`x` must be a date such as 2026-07-28; got \"soon\""),
        (json!({ "format": "email" }), json!(long()), "`x` must be an e-mail address; got a string of 65 characters"),
        (json!({ "minItems": 1 }), json!([]), "`x` must have at least 1 item; it has 0 items"),
        (json!({ "uniqueItems": true }), json!([1, 1]), "`x` must not contain duplicate items"),
        (json!({ "maxProperties": 0 }), json!({ "a": 1 }), "`x` must have at most 0 keys; it has 1 key"),
        (json!({ "not": { "const": 1 } }), json!(1), "`x` must not be 1"),
        (json!(false), json!(1), "`x` is not allowed"),
        (json!({ "items": { "required": ["name"] } }), json!([{ "name": 1 }, {}]), "`x[1].name` is required"),
        (
            json!({ "properties": { "a b": { "type": "null" } } }),
            json!({ "a b": 1 }),
            "`x[\"a b\"]` must be null; got 1",
        ),
        (
            json!({ "propertyNames": { "maxLength": 1 } }),
            json!({ "ab": 1 }),
            "`x` has the key `ab`, but each key must be at most 1 character long; it has 2 characters",
        ),
        (json!({ "dependentRequired": { "a": ["b"] } }), json!({ "a": 1 }), "`x.b` is required"),
        (json!({ "contains": { "const": 1 } }), json!([2]), "`x` must contain at least one item matching `contains`"),
        (
            json!({ "contains": { "const": 1 }, "minContains": 2 }),
            json!([1]),
            "`x` must contain at least 2 items matching `contains`",
        ),
        (
            json!({ "contains": { "const": 1 }, "maxContains": 1 }),
            json!([1, 1]),
            "`x` must contain at most 1 item matching `contains`",
        ),
        (json!({ "prefixItems": [{}], "items": false }), json!([1, 2]), "`x[1]` is not allowed"),
        (
            json!({ "additionalProperties": false }),
            json!({ "a": 1, "b": 2 }),
            "`x.a` is not a known property | `x.b` is not a known property",
        ),
        (
            json!({ "properties": { "additionalProperties": false } }),
            json!({ "additionalProperties": {} }),
            "`x.additionalProperties` is not allowed",
        ),
        (
            json!({ "properties": { "ab": {} }, "unevaluatedProperties": false }),
            json!({ "abc": 1 }),
            "`x.abc` is not a known property; did you mean `ab`?",
        ),
    ];
    for (schema, value, message) in cases {
        assert_eq!(property(schema, value), message);
    }
}

#[test]
fn violations_carry_their_argument_name() {
    let schema = compiled(json!({
        "type": "object",
        "properties": {
            "id": { "type": "integer" },
            "color": { "enum": ["red"] },
            "items": { "items": { "properties": { "n": { "type": "number" } } } },
        },
        "required": ["id"],
        "additionalProperties": false,
    }));
    let found = schema.found(&json!({ "zzzzzzzz": 1, "items": [{ "n": "s" }], "color": "blue", "colour": "x" }));
    let short: Vec<(&str, Option<&str>, &str)> =
        found.iter().map(|one| (one.pointer.as_str(), one.name.as_deref(), one.message.as_str())).collect();
    assert_eq!(
        short,
        [
            ("/id", Some("id"), "`id` is required"),
            ("/color", Some("color"), "`color` must be \"red\"; got \"blue\""),
            ("/items/0/n", Some("items"), "`items[0].n` must be a number; got \"s\""),
            (
                "/zzzzzzzz",
                Some("zzzzzzzz"),
                "`zzzzzzzz` is not a known property; expected one of `id`, `color`, `items`"
            ),
            ("/colour", Some("colour"), "`colour` is not a known property; did you mean `color`?"),
        ]
    );
}

#[test]
fn root_value_has_a_place() {
    assert_eq!(
        messages(json!({ "type": "object" }), json!([])),
        ["the value must be an object; got an array of 0 items"]
    );
    assert_eq!(messages(json!({ "items": { "type": "null" } }), json!([1])), ["`[0]` must be null; got 1"]);
}

#[test]
fn the_best_branch_is_reported() {
    let shapes = json!({ "oneOf": [
        { "type": "object", "properties": { "kind": { "const": "circle" }, "r": { "type": "number" } }, "required": ["kind", "r"] },
        { "type": "object", "properties": { "kind": { "const": "square" }, "side": { "type": "number" } }, "required": ["kind", "side"] },
        { "type": "string" },
    ] });
    assert_eq!(property(shapes.clone(), json!({ "kind": "square" })), "`x.side` is required");
    assert_eq!(property(shapes, json!("circle")), "");
    let types = json!({ "anyOf": [{ "type": "integer" }, { "type": "boolean" }] });
    assert_eq!(property(types, json!("y")), "`x` must be an integer or a boolean (true or false); got \"y\"");
    let constants = json!({ "oneOf": [{ "const": "a", "title": "A" }, { "const": "b", "title": "B" }] });
    assert_eq!(property(constants, json!("y")), "`x` must be \"a\" or \"b\"; got \"y\"");
    let both = json!({ "oneOf": [{ "minimum": 1 }, { "maximum": 9 }] });
    assert_eq!(property(both, json!(5)), "`x` matches more than one schema of `oneOf`, must match exactly one");
    let nested = json!({ "anyOf": [{ "type": "string" }, { "anyOf": [{ "type": "array", "minItems": 2 }, { "type": "null" }] }] });
    assert_eq!(property(nested, json!([1])), "`x` must have at least 2 items; it has 1 item");
}

#[test]
fn secrets_are_never_shown() {
    let secret = "hunter2";
    let schemas = [
        json!({ "properties": { "pw": { "writeOnly": true, "enum": ["hunter1"] } } }),
        json!({ "properties": { "pw": { "type": "string", "format": "password", "pattern": "^z" } } }),
        json!({ "properties": { "pw": { "writeOnly": true, "anyOf": [{ "type": "null" }, { "maxLength": 1, "pattern": "^z" }] } } }),
        json!({ "properties": { "pw": { "$ref": "#/$defs/s" } }, "$defs": { "s": { "writeOnly": true, "type": "integer" } } }),
        json!({ "allOf": [{ "properties": { "pw": { "writeOnly": true } } }, { "properties": { "pw": { "const": 1 } } }] }),
        json!({ "additionalProperties": { "writeOnly": true, "type": "integer" } }),
        json!({ "patternProperties": { "^pw": { "writeOnly": true, "allOf": [{ "format": "date" }] } } }),
        json!({ "properties": { "pw": { "items": { "writeOnly": true }, "type": "array" } } }),
    ];
    for schema in schemas {
        let found = messages(schema.clone(), json!({ "pw": secret })).join("\n");
        assert!(!found.is_empty() && !found.contains(secret), "{schema}: {found}");
    }
    let open = json!({ "properties": { "pw": { "type": "integer" } } });
    assert!(messages(open, json!({ "pw": secret })).join("").contains(secret));
}

#[test]
fn excess_violations_are_counted() {
    let found = messages(json!({ "items": { "type": "string" } }), json!(vec![1; 50]));
    assert_eq!(found.len(), 21);
    assert_eq!(found[20], "and 30 more");
    let closed = json!({ "additionalProperties": false });
    let many: Map<String, Value> = (0..50).map(|index| (format!("k{index}"), json!(1))).collect();
    assert_eq!(messages(closed, Value::Object(many)).last().unwrap(), "and 30 more");
}

#[test]
fn caller_names_are_truncated_and_sanitized() {
    let found = messages(json!({ "additionalProperties": false }), json!({ (format!("\n{}", "y".repeat(500))): 1 }));
    assert!(found[0].contains("yyy") && found[0].len() < 300 && !found[0].contains('\n'), "{found:?}");
}

fn value(schema: Value, text: &str) -> Value {
    match coerce(&schema, text) {
        Coercion::Value(value) => value,
        Coercion::Absent => json!("(absent)"),
    }
}

#[test]
fn texts_coerce_to_their_type() {
    let cases = [
        (json!({}), "3", json!("3")),
        (json!({ "type": "string" }), "true", json!("true")),
        (json!({ "type": "integer" }), "3", json!(3)),
        (json!({ "type": "integer" }), " -3 ", json!(-3)),
        (json!({ "type": "integer" }), "3.0", json!(3)),
        (json!({ "type": "integer" }), "1e3", json!(1000)),
        (json!({ "type": "integer" }), "3.5", json!("3.5")),
        (json!({ "type": ["integer", "string"] }), "1e3", json!("1e3")),
        (json!({ "type": "integer" }), "99999999999999999999", json!("99999999999999999999")),
        (json!({ "type": "integer" }), "007", json!("007")),
        (json!({ "type": "number" }), "3", json!(3)),
        (json!({ "type": "number" }), "-0.5e1", json!(-5.0)),
        (json!({ "type": "number" }), "NaN", json!("NaN")),
        (json!({ "type": "number" }), "1e999", json!("1e999")),
        (json!({ "type": "boolean" }), "true", json!(true)),
        (json!({ "type": "boolean" }), "FALSE", json!(false)),
        (json!({ "type": "boolean" }), "yes", json!("yes")),
        (json!({ "type": "null" }), "null", json!(null)),
        (json!({ "type": ["string", "null"] }), "null", json!("null")),
        (json!({ "type": ["string", "integer"] }), "3", json!(3)),
        (json!({ "type": ["integer", "array"] }), "3,4", json!(["3", "4"])),
        (json!({ "type": ["string", "array"] }), "a,b", json!("a,b")),
        (json!({ "type": ["string", "array"] }), "[1]", json!([1])),
        (json!({ "type": "object" }), "{\"a\":1}", json!({ "a": 1 })),
        (json!({ "type": "object" }), "[1]", json!("[1]")),
        (json!({ "enum": [1, 2, "2"] }), "2", json!("2")),
        (json!({ "enum": [1, 2] }), "2", json!(2)),
        (json!({ "enum": [1, 2] }), "3", json!("3")),
        (json!({ "const": true }), "true", json!(true)),
        (json!({ "type": "string", "enum": ["2"] }), "2", json!("2")),
        (json!({ "anyOf": [{ "type": "integer" }, { "type": "boolean" }] }), "true", json!(true)),
        (json!({ "$ref": "#/$defs/n", "$defs": { "n": { "type": "integer" } } }), "3", json!(3)),
        (json!({ "$ref": "#" }), "3", json!("3")),
    ];
    for (schema, text, expected) in cases {
        assert_eq!(value(schema.clone(), text), expected, "{schema} {text}");
    }
}

#[test]
fn lists_coerce_from_json_or_commas() {
    let numbers = json!({ "type": "array", "items": { "type": "integer" } });
    assert_eq!(value(numbers.clone(), "1, 2,x"), json!([1, 2, "x"]));
    assert_eq!(value(numbers.clone(), "[1, 2]"), json!([1, 2]));
    assert_eq!(value(numbers.clone(), "[1, "), json!("[1, "));
    assert_eq!(value(numbers, "7"), json!([7]));
    let texts = json!({ "type": "array" });
    assert_eq!(value(texts.clone(), "a,,b,"), json!(["a", "", "b"]));
    assert_eq!(value(texts, "1,true"), json!(["1", "true"]));
    let objects = json!({ "type": "array", "items": { "type": "object" } });
    assert_eq!(value(objects, "{\"a\":[1,2]},{}"), json!([{ "a": [1, 2] }, {}]));
    let pair = json!({ "type": "array", "prefixItems": [{ "type": "boolean" }], "items": { "type": "integer" } });
    assert_eq!(value(pair, "true,1"), json!([true, 1]));
}

#[test]
fn empty_text_is_text_or_absent() {
    assert_eq!(coerce(&json!({}), ""), Coercion::Value(json!("")));
    assert_eq!(coerce(&json!({ "type": ["integer", "string"] }), ""), Coercion::Value(json!("")));
    assert_eq!(coerce(&json!({ "enum": ["a"] }), ""), Coercion::Value(json!("")));
    for absent in [json!({ "type": "integer" }), json!({ "type": "array" }), json!({ "enum": [1] })] {
        assert_eq!(coerce(&absent, ""), Coercion::Absent);
    }
}

#[test]
fn coercion_by_name_follows_references() {
    let schema = compiled(json!({
        "properties": { "ids": { "type": "array", "items": { "$ref": "#/$defs/n" } }, "day": { "$ref": "#/$defs/day" } },
        "$defs": { "n": { "type": "integer" }, "day": { "type": "string", "default": "today" } },
    }));
    assert_eq!(schema.coerce_property("ids", "1,2"), Coercion::Value(json!([1, 2])));
    assert_eq!(schema.coerce_property("other", "1"), Coercion::Value(json!("1")));
    let mut arguments = Map::new();
    schema.fill_defaults(&mut arguments);
    assert_eq!(Value::Object(arguments), json!({ "day": "today" }));
}

#[test]
fn defaults_fill_only_what_is_absent() {
    let schema = json!({ "properties": { "a": { "default": 1 }, "b": { "default": 2 }, "c": {} } });
    let mut arguments = Map::from_iter([("b".to_owned(), Value::Null)]);
    fill_defaults(&schema, &mut arguments);
    assert_eq!(Value::Object(arguments), json!({ "b": null, "a": 1 }));
}

#[test]
fn what_stands_for_nothing_is_settled() {
    let schema = compiled(json!({
        "type": "object",
        "properties": {
            "e": { "enum": ["a"] },
            "n": { "type": "integer", "default": 3 },
            "o": { "$ref": "#/$defs/o" },
            "null": { "type": ["string", "null"] },
            "must": { "type": "string" },
        },
        "required": ["must"],
        "$defs": { "o": { "type": "object" } },
    }));
    let settle = |values: Value, empty_text| {
        let Value::Object(values) = values else { panic!("{values}") };
        let (settled, violations) = schema.settle(values, empty_text).unwrap();
        (Value::Object(settled), violations.into_iter().filter_map(|violation| violation.name).collect::<Vec<_>>())
    };
    let nothing = json!({ "e": null, "n": null, "o": [], "null": null, "must": "" });
    let settled = (json!({ "o": {}, "null": null, "must": "", "n": 3 }), Vec::new());
    assert_eq!(settle(nothing, EmptyText::Text), settled);
    let form = json!({ "e": "", "n": "", "must": "" });
    assert_eq!(settle(form.clone(), EmptyText::Absent), (json!({ "must": "", "n": 3 }), Vec::new()));
    assert_eq!(settle(form.clone(), EmptyText::Text), (form, vec!["e".to_owned(), "n".to_owned()]));
    let missing = json!({ "must": null, "other": null, "n": [] });
    assert_eq!(settle(missing, EmptyText::Absent).1, ["n", "must"]);
}

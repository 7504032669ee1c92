//! What holds for every schema and every value.

use proptest::prelude::*;

use super::*;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3i64..3).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        prop::sample::select(vec!["string", "integer", "#", "#/a", "#/$defs/a", "^a", "(", "date", "b.json#/a", ""])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..5).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    let keywords = [
        "type", "properties", "items", "anyOf", "oneOf", "allOf", "not", "enum", "const", "required", "minimum",
        "maxLength", "pattern", "patternProperties", "additionalProperties", "$ref", "$defs", "$id", "$anchor",
        "default", "format", "if", "then", "prefixItems", "contains", "minContains", "dependentSchemas", "a", "b",
        "$schema", "unevaluatedProperties", "multipleOf", "$dynamicRef", "propertyNames", "uniqueItems", "a/b~c",
    ];
    prop_oneof![4 => prop::sample::select(keywords.to_vec()).prop_map(str::to_owned), 1 => ".{0,6}"]
}

/// Schemas that are right, of the kind that authors write.
fn good_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        (0u64..4, 2u64..6).prop_map(|(low, high)| json!({ "type": "string", "minLength": low, "maxLength": high })),
        (-3i64..3).prop_map(|low| json!({ "type": "integer", "minimum": low })),
        Just(json!({ "type": "boolean" })),
        Just(json!({ "enum": ["a", 1, null] })),
        Just(json!({ "type": ["number", "null"], "exclusiveMaximum": 2.5 })),
        Just(json!({ "$ref": "#/$defs/leaf" })),
        Just(json!({ "type": "string", "pattern": "^[a-c]*$" })),
    ];
    let schema = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items, "maxItems": 3 })),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({
                "type": "object", "properties": { "a": a, "b": b }, "required": ["a"], "additionalProperties": false,
            })),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({ "anyOf": [a, b] })),
            (inner.clone(), inner).prop_map(|(a, b)| json!({ "oneOf": [a, b] })),
        ]
    });
    schema.prop_map(|mut schema| {
        schema["$defs"] = json!({ "leaf": { "type": "string" } });
        schema
    })
}

fn small_json() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-4i64..4).prop_map(Value::from),
        (-8i64..8).prop_map(|halves| json!(halves as f64 / 2.0)),
        "[aé]{0,4}".prop_map(Value::from),
        Just(json!([1])),
        Just(json!({})),
    ]
}

fn plain_schema() -> impl Strategy<Value = Value> {
    let types = ["string", "integer", "number", "boolean", "null", "array", "object"];
    let limits = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    let lengths = ["minLength", "maxLength"];
    let pair = prop_oneof![
        prop::sample::select(types.to_vec()).prop_map(|name| ("type", json!(name))),
        prop::sample::subsequence(types.to_vec(), 1..3).prop_map(|names| ("type", json!(names))),
        (prop::sample::select(limits.to_vec()), -3i64..3).prop_map(|(name, limit)| (name, json!(limit))),
        (prop::sample::select(lengths.to_vec()), 0u64..4).prop_map(|(name, limit)| (name, json!(limit))),
        prop::collection::vec(small_json(), 1..3).prop_map(|choices| ("enum", json!(choices))),
    ];
    prop::collection::vec(pair, 0..3)
        .prop_map(|pairs| pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

proptest! {
    #[test]
    fn nothing_panics_on_any_json(schema in any_json(), other in any_json(), value in any_json(), text in ".{0,12}") {
        let refs = |path: &str| (path == "b.json").then(|| other.clone());
        let _ = unknown_keywords(&schema, &[]);
        let _ = lint(&schema);
        let _ = coerce(&schema, &text);
        if let Ok(compiled) = Schema::compile(schema.clone(), &refs) {
            prop_assert_eq!(compiled.is_valid(&value), compiled.found(&value).is_empty());
            let _ = compiled.coerce_property("a", &text);
        }
    }

    #[test]
    fn validation_agrees_with_jsonschema(schema in good_schema(), value in any_json()) {
        let ours = Schema::compile(schema.clone(), &|_| None).unwrap();
        let theirs = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        prop_assert_eq!(ours.found(&value).is_empty(), theirs.is_valid(&value));
    }

    #[test]
    fn accepted_schemas_compile_in_jsonschema(schema in any_json()) {
        if let Ok(bundled) = bundle(&schema, &|_| None)
            && Schema::compile(schema.clone(), &|_| None).is_ok()
        {
            prop_assert!(jsonschema::options().build(&bundled).is_ok());
        }
    }

    #[test]
    fn simple_check_agrees_with_jsonschema(schema in plain_schema(), value in small_json()) {
        if let Some(fits) = simple_schema::is_valid_simple(schema.as_object().unwrap(), &value) {
            prop_assert_eq!(fits, jsonschema::is_valid(&schema, &value));
        }
    }

    #[test]
    fn printed_scalars_coerce_back(number in any::<i64>(), float in -1e9f64..1e9, flag in any::<bool>(), text in ".*") {
        let back = |name: &str, text: &str| coerce(&json!({ "type": name }), text);
        prop_assert_eq!(back("integer", &number.to_string()), Coercion::Value(json!(number)));
        prop_assert_eq!(back("number", &json!(float).to_string()), Coercion::Value(json!(float)));
        prop_assert_eq!(back("boolean", &flag.to_string()), Coercion::Value(json!(flag)));
        prop_assert_eq!(back("string", &text), Coercion::Value(json!(text)));
    }

    #[test]
    fn printed_collections_coerce_back(numbers in prop::collection::vec(any::<i64>(), 0..5), key in ".{0,5}") {
        let list = json!(numbers);
        let back = coerce(&json!({ "type": "array" }), &list.to_string());
        prop_assert_eq!(back, Coercion::Value(list));
        if !numbers.is_empty() {
            let commas = numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
            let back = coerce(&json!({ "type": "array", "items": { "type": "integer" } }), &commas);
            prop_assert_eq!(back, Coercion::Value(json!(numbers)));
        }
        let object = json!({ key: numbers });
        let back = coerce(&json!({ "type": "object" }), &object.to_string());
        prop_assert_eq!(back, Coercion::Value(object));
    }

    #[test]
    fn fill_defaults_is_idempotent(schema in any_json(), arguments in any_json()) {
        let schema = json!({ "properties": { "a": schema, "b": { "default": arguments } } });
        let mut once = Map::new();
        fill_defaults(&schema, &mut once);
        let mut twice = once.clone();
        fill_defaults(&schema, &mut twice);
        prop_assert_eq!(once, twice);
    }

    /// What is let past unlooked at has nothing to be found: the long way finds nothing either, and changes nothing.
    #[test]
    fn simple_schema_is_valid(
        types in prop::collection::btree_map("[a-z~/]{1,3}", prop::sample::select(vec!["string", "number", "integer", "boolean"]), 0..4),
        choices in prop::collection::vec("[ab]{0,2}", 0..4),
        default in prop::sample::select(vec![json!(null), json!("a"), json!(1), json!(1.5), json!(true)]),
        described: bool,
        required: bool,
    ) {
        let property = |kind: &&str| {
            let mut property = json!({ "type": kind });
            if described {
                property["description"] = json!("x");
            }
            if *kind == "string" && !choices.is_empty() {
                property["enum"] = json!(choices);
            }
            if !default.is_null() {
                property["default"] = default.clone();
            }
            property
        };
        let properties: Map<String, Value> = types.iter().map(|(name, kind)| (name.clone(), property(kind))).collect();
        let names: Vec<&String> = types.keys().filter(|_| required).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": names, "additionalProperties": false });
        // The same with a keyword that means nothing here, which is looked at.
        let mut looked_at = schema.clone();
        looked_at["minProperties"] = json!(0);
        prop_assert!(!simple_schema::is_simple(&looked_at));
        prop_assert_eq!(simple_schema::is_simple(&schema), lint(&looked_at).is_empty());
        prop_assert_eq!(&bundle(&schema, &|_| None).unwrap(), &schema);
        prop_assert!(crate::schema::pattern::build_validator(&schema, jsonschema::Draft::Draft202012).is_ok());
        looked_at["minProperties"] = json!(-1);
        prop_assert!(Schema::compile(looked_at, &|_| None).is_err());
    }

    #[test]
    fn compact_schema_is_the_same(schema in plain_schema(), value in small_json()) {
        let compile = || Schema::compile(schema.clone(), &|_| None).unwrap();
        let (whole, mut compact) = (compile(), compile());
        compact.compact();
        prop_assert_eq!(compact.is_valid(&value), whole.is_valid(&value));
        prop_assert_eq!(compact.json(), whole.json());
    }
}

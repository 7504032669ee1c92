//! Translation of schemas, names and texts, from within.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::description_text;
use super::document::ApiDocument;
use super::naming::{ArgumentNames, UniqueNames, file_stem, kebab, server_name, tool_names, variable_name};
use super::schema::{Direction, Translator};
use super::source::{Source, load};
use crate::diagnostic::Report;
use crate::value_types::is_identifier;

fn document(schemas: Value) -> ApiDocument {
    let whole = json!({ "openapi": "3.0.0", "components": { "schemas": schemas } });
    let source = Source {
        name: "api.json".into(),
        bytes: whole.to_string().into_bytes(),
        folder: None,
        fetched: Default::default(),
        url: None,
    };
    load(&source, &mut Report::default()).unwrap()
}

/// The schema `A` of some, translated, and its definitions.
fn translate(schemas: Value, direction: Direction) -> (Value, Map<String, Value>) {
    let document = document(schemas);
    let node = document.root().get("components").unwrap().get("schemas").unwrap().get("A").unwrap();
    let mut translator = Translator::new(&document, direction);
    let translated = translator.translate(node);
    (translated, translator.definitions)
}

#[test]
fn schemas_become_json_schema_2020_12() {
    for (written, wanted) in [
        (json!({ "type": "string", "nullable": true }), json!({ "type": ["string", "null"] })),
        (json!({ "type": "string", "x-nullable": true }), json!({ "type": ["string", "null"] })),
        (
            json!({ "x-nullable": true, "allOf": [{ "type": "string" }] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
        ),
        (
            json!({ "type": "string", "nullable": true, "enum": ["a"] }),
            json!({ "type": ["string", "null"], "enum": ["a", null] }),
        ),
        (
            json!({ "type": "number", "minimum": 1, "exclusiveMinimum": true }),
            json!({ "type": "number", "exclusiveMinimum": 1 }),
        ),
        (
            json!({ "type": "number", "minimum": 1, "exclusiveMinimum": false }),
            json!({ "type": "number", "minimum": 1 }),
        ),
        (json!({ "type": "number", "exclusiveMaximum": 7 }), json!({ "type": "number", "exclusiveMaximum": 7 })),
        (json!({ "type": "integer", "format": "int64", "example": 3 }), json!({ "type": "integer", "examples": [3] })),
        (json!({ "type": "file" }), json!({ "type": "string" })),
        (json!({ "type": "integer", "default": "5" }), json!({ "type": "integer", "default": 5 })),
        (json!({ "oneOf": [{ "type": "string" }], "discriminator": {} }), json!({ "anyOf": [{ "type": "string" }] })),
        (json!({ "properties": { "a": { "xml": {} } } }), json!({ "type": "object", "properties": { "a": {} } })),
        (
            json!({ "type": "string", "minLength": 2, "minimum": 3, "x-y": 1 }),
            json!({ "type": "string", "minLength": 2 }),
        ),
        (
            json!({ "nullable": true, "allOf": [{ "type": "string" }] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
        ),
    ] {
        assert_eq!(translate(json!({ "A": written }), Direction::Input).0, wanted, "{written}");
    }
}

#[test]
fn read_only_properties_are_left_out_of_inputs() {
    let schema = json!({ "A": {
        "type": "object",
        "required": ["id", "name", "password"],
        "properties": {
            "id": { "type": "integer", "readOnly": true },
            "name": { "type": "string" },
            "password": { "type": "string", "writeOnly": true },
            "made": { "$ref": "#/components/schemas/Made" }
        }
    }, "Made": { "type": "string", "readOnly": true } });
    let (input, _) = translate(schema.clone(), Direction::Input);
    assert_eq!(input["required"], json!(["name", "password"]));
    assert_eq!(input["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["name", "password"]);
    let (output, _) = translate(schema, Direction::Output);
    assert_eq!(output["required"], json!(["id", "name"]));
}

#[test]
fn recursive_references_go_into_definitions() {
    let (schema, definitions) = translate(
        json!({
            "A": { "type": "object", "properties": { "tree": { "$ref": "#/components/schemas/Tree" } } },
            "Tree": { "type": "object", "properties": { "leaf": { "$ref": "#/components/schemas/Leaf" }, "next": { "$ref": "#/components/schemas/Tree" } } },
            "Leaf": { "type": "string" }
        }),
        Direction::Input,
    );
    assert_eq!(schema["properties"]["tree"], json!({ "$ref": "#/$defs/Tree" }));
    let tree =
        json!({ "type": "object", "properties": { "leaf": { "type": "string" }, "next": { "$ref": "#/$defs/Tree" } } });
    assert_eq!(Value::Object(definitions), json!({ "Tree": tree }));
}

#[test]
fn all_of_objects_are_merged() {
    let part =
        |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    let (schema, _) =
        translate(json!({ "A": { "allOf": [part("a"), part("b")], "description": "Both" } }), Direction::Input);
    let properties = json!({ "a": { "type": "string" }, "b": { "type": "string" } });
    assert_eq!(
        schema,
        json!({ "type": "object", "description": "Both", "properties": properties, "required": ["a", "b"] })
    );
    let apart = json!({ "A": { "allOf": [part("a"), { "type": "object", "additionalProperties": false }] } });
    assert!(translate(apart, Direction::Input).0["allOf"].is_array());
}

#[test]
fn answers_are_described_without_what_bounds_them() {
    let schema = json!({ "A": { "type": "object", "additionalProperties": false, "description": "x", "properties": {
        "a": { "type": "string", "maxLength": 3, "pattern": "^a", "format": "uri", "enum": ["abc"] }
    } } });
    let wanted = json!({ "type": "object", "properties": { "a": { "type": "string", "enum": ["abc"] } } });
    assert_eq!(translate(schema, Direction::Output).0, wanted);
}

#[test]
fn names_are_those_that_people_would_choose() {
    for (id, name) in [
        ("listPets", "list-pets"),
        ("repos/get-content", "repos-get-content"),
        ("getHTTPResponse2Code", "get-http-response2-code"),
        ("Pet_findByStatus", "pet-find-by-status"),
    ] {
        assert_eq!(kebab(id, 64), name);
    }
    assert_eq!(tool_names(None, "GET", "/pets/{petId}", 64), ["get-pets-pet-id"]);
    assert_eq!(kebab("replace-the-repository-topics", 20), "replace-the");
    assert_eq!(server_name("GitHub's official OpenAPI spec"), "github");
    assert_eq!((server_name("日本"), server_name("The API")), ("api".to_owned(), "the-api".to_owned()));
    assert_eq!(variable_name(&["pet-store", "url"]), "PET_STORE_URL");
    assert_eq!(
        (file_stem("../.."), file_stem("CON"), file_stem("a/b")),
        ("default".into(), "tag-con".into(), "a-b".into())
    );
    let mut names = ArgumentNames::default();
    let claimed: Vec<String> =
        ["user-id", "user id", "env", "now", "", "2fa", "日"].iter().map(|name| names.claim(name, "query")).collect();
    assert_eq!(claimed, ["user_id", "query_user_id", "query_env", "query_now", "query", "query_2fa", "query_2"]);
}

#[test]
fn descriptions_are_one_plain_paragraph() {
    for (written, plain) in [
        ("# Title\n\nText", "Title"),
        ("See [the docs](https://x.example) for **more**.\n\nNot this.", "See the docs for more."),
        ("<p>One &amp; <b>two</b></p><p>three</p>", "One & two"),
        ("```sh\ncurl\n```\nCalls it", "Calls it"),
        ("a {{b}} {{{c}}}", "a {{b}} {{{c}}}"),
        ("a\u{1b}[31m\u{202e}b", "a\u{241b}[31mb"),
    ] {
        assert_eq!(description_text::plain(written, 300), plain, "{written}");
    }
    for (written, template) in
        [("a {{b}} {{{c}}}", r"a \{{b}} \{{{c}}}"), (r"\\{{a}}", r"\{{a}}"), ("{{{{a", r"\{{\{{a"), (r"\ {", r"\ {")]
    {
        assert_eq!(description_text::as_template(written), template);
    }
    assert_eq!(description_text::summarize("List pets", "List pets of a store."), "List pets of a store.");
    assert_eq!(description_text::summarize("List pets", "Newest first."), "List pets. Newest first.");
    assert!(description_text::plain(&"word ".repeat(1000), 50).chars().count() <= 50);
}

proptest! {
    #[test]
    fn any_text_becomes_a_valid_unique_name(texts in prop::collection::vec(any::<String>(), 0..12), max_chars in 8_usize..64) {
        let mut names = UniqueNames::default();
        let mut arguments = ArgumentNames::default();
        let (mut seen, mut seen_arguments) = (HashSet::new(), HashSet::new());
        for text in texts.iter().chain(&texts) {
            let name = names.claim(&tool_names(Some(text), "GET", text, max_chars), max_chars);
            let valid = !name.is_empty() && name.len() <= max_chars && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
            prop_assert!(valid && seen.insert(name.clone()), "{name}");
            let argument = arguments.claim(text, "query");
            prop_assert!(is_identifier(&argument) && argument.len() <= 80 && seen_arguments.insert(argument.clone()), "{argument}");
            prop_assert!(is_identifier(&variable_name(&[text, "url"])));
            let stem = file_stem(text);
            prop_assert!(!stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{stem}");
        }
    }

    #[test]
    fn plain_texts_obey_nothing(text in any::<String>()) {
        let plain = description_text::plain(&text, 80);
        prop_assert!(plain.chars().count() <= 80);
        prop_assert!(!description_text::plain_line(&plain).contains("{{"));
        prop_assert!(!plain.chars().any(char::is_control), "{plain:?}");
    }
}

//! Translation of schemas, names and texts, from within.

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::description_text;
use super::document::ApiDocument;
use super::naming::{ArgumentNames, UniqueNames, file_stem, kebab, server_name, tool_names, variable_name};
use super::operation::read_operations;
use super::schema::SchemaReader;
use super::source::{Source, hide_user_info, load};
use crate::diagnostic::Report;
use crate::value_types::is_identifier;

fn document(whole: Value) -> ApiDocument {
    let bytes = whole.to_string().into_bytes();
    let source =
        Source { name: "api.json".into(), bytes: Vec::new(), folder: None, fetched: Default::default(), url: None };
    load(&source, &bytes, &mut Report::default()).unwrap()
}

/// The schema `A` of some, as it is read at most so deeply.
fn read_nested(schemas: Value, max_nesting: usize) -> Value {
    let document = document(json!({ "openapi": "3.0.0", "components": { "schemas": schemas } }));
    let node = document.root().get("components").unwrap().get("schemas").unwrap().get("A").unwrap();
    SchemaReader::new(&document, max_nesting).read(node)
}

fn read(schemas: Value) -> Value {
    read_nested(schemas, 10)
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
            json!({ "anyOf": [{ "type": "string", "enum": ["a"] }, { "type": "null" }] }),
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
        (json!({ "type": "file" }), json!({ "type": "string", "format": "binary" })),
        // What hosts refuse with the whole request.
        (json!({ "type": "array" }), json!({ "type": "array", "items": {} })),
        (json!({ "type": "integer", "enum": [1, 2] }), json!({ "type": "integer", "description": "One of 1, 2." })),
        (
            json!({ "type": "object", "required": ["a", "b"], "properties": { "a": { "type": "string" } } }),
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] }),
        ),
        (
            json!({ "anyOf": [{ "required": ["a"] }, { "required": ["b"] }], "properties": { "a": { "type": "string" } } }),
            json!({ "type": "object", "properties": { "a": { "type": "string" } } }),
        ),
        (json!({ "type": "integer", "default": "5" }), json!({ "type": "integer", "default": 5 })),
        (json!({ "oneOf": [{ "type": "string" }], "discriminator": {} }), json!({ "type": "string" })),
        (
            json!({ "properties": { "a": { "xml": {} } } }),
            json!({ "type": "object", "properties": { "a": { "type": ["string", "number", "boolean", "object", "array"], "items": {} } } }),
        ),
        (
            json!({ "type": "string", "minLength": 2, "minimum": 3, "x-y": 1 }),
            json!({ "type": "string", "minLength": 2 }),
        ),
        (
            json!({ "nullable": true, "allOf": [{ "type": "string" }] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
        ),
    ] {
        assert_eq!(read(json!({ "A": written })), wanted, "{written}");
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
    let input = read(schema);
    assert_eq!(input["required"], json!(["name", "password"]));
    assert_eq!(input["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["name", "password"]);
}

#[test]
fn references_are_replaced_by_what_they_name() {
    let tree = json!({
        "A": { "type": "object", "properties": { "tree": { "$ref": "#/components/schemas/Tree", "description": "The root" } } },
        "Tree": { "type": "object", "properties": { "leaf": { "$ref": "#/components/schemas/Leaf" }, "next": { "$ref": "#/components/schemas/Tree" } } },
        "Leaf": { "type": "string" }
    });
    let next = json!({ "type": "object", "description": "The same again, nested" });
    let properties = json!({ "leaf": { "type": "string" }, "next": next });
    let wanted = json!({ "type": "object", "description": "The root", "properties": properties });
    assert_eq!(read(tree.clone())["properties"]["tree"], wanted);
    let cut = json!({ "type": "object", "description": "The root" });
    assert_eq!(read_nested(tree, 1)["properties"]["tree"], cut);
}

#[test]
fn all_of_is_merged() {
    let part =
        |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    let schema = read(json!({ "A": { "allOf": [part("a"), part("b")], "description": "Both" } }));
    let properties = json!({ "a": { "type": "string" }, "b": { "type": "string" } });
    let wanted = json!({ "type": "object", "description": "Both", "properties": properties, "required": ["a", "b"] });
    assert_eq!(schema, wanted);
    let choice = |kinds: [&str; 2]| json!({ "anyOf": kinds.map(|kind| json!({ "type": kind })) });
    let both = read(json!({ "A": { "allOf": [choice(["string", "integer"]), choice(["string", "boolean"])] } }));
    assert!(both["anyOf"].is_array() && both["allOf"][0]["anyOf"].is_array(), "{both}");
}

/// The names of tools for operations by method, path and id.
fn names_of(operations: &[(&str, &str, &str)], kept: &[(&str, &str)], max_chars: usize) -> Vec<String> {
    let mut paths = serde_json::Map::new();
    for (method, path, id) in operations {
        let item = paths.entry(*path).or_insert_with(|| json!({}));
        item[*method] = if id.is_empty() { json!({}) } else { json!({ "operationId": id }) };
    }
    let document = document(json!({ "openapi": "3.1.0", "paths": paths }));
    let kept: BTreeMap<String, String> = kept.iter().map(|(key, name)| ((*key).into(), (*name).into())).collect();
    tool_names(&read_operations(&document), &kept, max_chars)
}

#[test]
fn names_of_tools_keep_their_ends() {
    assert_eq!(names_of(&[("get", "/pets/{petId}", "")], &[], 42), ["get-pets-pet-id"]);
    let stations = [
        ("get", "/a", "stations/list-selected-stations-for-region"),
        ("get", "/b", "stations/list-selected-stations-for-district"),
        ("get", "/c", "stations/get-default-permissions"),
    ];
    let wanted =
        ["list-selected-stations-for-region", "list-selected-stations-for-district", "get-default-permissions"];
    assert_eq!(names_of(&stations, &[], 42), wanted);
    let wanted = ["list-selected-stations-region", "list-selected-stations-district", "get-default-permissions"];
    assert_eq!(names_of(&stations, &[], 32), wanted);
    let long = [("get", "/a", "aaaa-bbbb-cccc-dddd-one"), ("get", "/b", "aaaa-bbbb-cccc-dddd-two"), ("get", "/c", "x")];
    assert_eq!(names_of(&long, &[], 14), ["aaaa-dddd-one", "aaaa-dddd-two", "x"]);
    // One that was given stays, and is given to no other.
    assert_eq!(names_of(&[("get", "/a", "x"), ("get", "/b", "y")], &[("GET /b", "x")], 42), ["get-a", "x"]);
    assert_eq!(names_of(&[("get", "/a", "same"), ("get", "/b", "same")], &[], 42), ["same", "get-b"]);
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
    assert_eq!(kebab("replace-the-repository-topics", 20), "replace-the");
    assert_eq!(server_name("GitHub's official OpenAPI spec"), "github");
    assert_eq!((server_name("日本"), server_name("The API")), ("api".to_owned(), "the-api".to_owned()));
    assert_eq!(variable_name(&["pet-store", "url"]), "PET_STORE_URL");
    assert_eq!(
        (file_stem("../.."), file_stem("CON"), file_stem("a/b")),
        ("default".into(), "tag-con".into(), "a-b".into())
    );
    let mut names = ArgumentNames::default();
    let claimed: Vec<String> = ["user-id", "user id", "env", "now", "", "2fa", "日", "else"]
        .iter()
        .map(|name| names.claim(name, "query"))
        .collect();
    assert_eq!(
        claimed,
        ["user_id", "query_user_id", "query_env", "query_now", "query", "query_2fa", "query_2", "query_else"]
    );
}

#[test]
fn tool_of_a_line_is_found() {
    let api = json!({ "openapi": "3.1.0", "paths": { "/a": { "get": { "operationId": "first" } }, "/b": { "get": { "operationId": "second" } } } });
    let bytes = api.to_string().into_bytes();
    let source = Source { name: "api.json".into(), bytes, folder: None, fetched: Default::default(), url: None };
    let import = super::import(&source, &super::ImportOptions::default()).unwrap();
    let text = "tools:\n  first:\n    description: A\n\n  second: {}\n  mine: {}\n";
    let found = [1, 3, 5, 6].map(|line| import.tool_at("tools/default.yaml", text, line));
    assert_eq!(found, [None, Some("first".to_owned()), Some("second".to_owned()), None]);
    let left_out = super::ImportOptions { left_out: HashSet::from(["first".to_owned()]), ..Default::default() };
    let import = super::import(&source, &left_out).unwrap();
    assert_eq!((import.tools, import.operations), (1, 2));
    assert!(import.report.diagnostics().iter().any(|warning| warning.message.starts_with("`first` is left out")));
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

#[test]
fn user_info_of_urls_is_hidden() {
    for (written, hidden) in [
        ("[https://me:pw@a.example/x, http://b.example]", Some("[https://*****@a.example/x, http://b.example]")),
        ("https:\\/\\/token@a.example", Some("https:\\/\\/*****@a.example")),
        ("//me:p@w@a.example //b:ü@c", Some("//******@a.example //****@c")),
        ("me@a.example, @scope/package, https://a.example/@me", None),
    ] {
        assert_eq!(hide_user_info(written).as_deref(), hidden);
    }
    assert_eq!(hide_user_info(&"@".repeat(1 << 20)), None);
}

proptest! {
    #[test]
    fn any_text_becomes_a_valid_unique_name(texts in prop::collection::vec(any::<String>(), 0..12), max_chars in 8_usize..64) {
        let mut names = UniqueNames::default();
        let mut claim = |text: &String| names.claim(&[kebab(text, max_chars), format!("x{}", kebab(text, max_chars - 1))], max_chars);
        let mut arguments = ArgumentNames::default();
        let (mut seen, mut seen_arguments) = (HashSet::new(), HashSet::new());
        for text in texts.iter().chain(&texts) {
            let name = claim(text);
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

//! What a tool answers, and what its `outputSchema` asks of it.

use serde_json::{Value, json};

use crate::harness::{Folder, everywhere, text_of};

#[test]
fn an_output_schema_is_met_by_what_the_result_spells_out() {
    let folder = Folder::of(
        r#"
folio: 1
server: { name: results }
tools:
  words:
    description: The words
    run: { exec: [printf, 'a\nb\n'] }
    result: { structuredContent: { words: "{{lines result.stdout}}" } }
    outputSchema: { type: object, properties: { words: { type: array } }, required: [words] }
  json:
    description: What is no JSON, though it should be
    run: { exec: [printf, 'a\nb\n'] }
    outputSchema: { type: object }
"#,
    );
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    assert_eq!(client.call("words", json!({}))["structuredContent"], json!({ "words": ["a", "b"] }));
    assert_eq!(client.call("json", json!({}))["isError"], true);
}

const SHAPES: &str = r#"
folio: 1
server: { name: shapes }
tools:
  object:
    description: An object
    run: { exec: [printf, '{"n":7}'] }
    outputSchema: { type: object, properties: { n: { type: integer } }, required: [n] }
  list:
    description: A list
    run: { exec: [printf, '[1,2]'] }
    outputSchema: { type: array, items: { type: integer } }
  nothing:
    description: Null
    run: { exec: [printf, 'null'] }
    outputSchema: { type: "null" }
  breach:
    description: Not what it promises
    run: { exec: [printf, '{"n":"seven"}'] }
    outputSchema: { type: object, properties: { n: { type: integer } }, required: [n] }
"#;

#[test]
fn what_is_promised_is_given_in_the_form_that_the_version_knows() {
    everywhere(&Folder::of(SHAPES), &json!({}), |client| {
        let version = client.version.as_str();
        for (at, name, value) in
            [(0, "object", json!({ "n": 7 })), (1, "list", json!([1, 2])), (2, "nothing", json!(null))]
        {
            let schema = client.list("tools")[at]["outputSchema"].clone();
            let result = client.call(name, json!({}));
            let text: Value = serde_json::from_str(&text_of(&result["content"][0])).unwrap();
            assert_eq!(text, value, "the text says the same: {result}");
            let given = result.get("structuredContent");
            if version < "2025-06-18" {
                assert!(given.is_none() && schema.is_null(), "{version}: {result}");
                continue;
            }
            let given = given.unwrap_or_else(|| panic!("{version}: {result}"));
            assert!(jsonschema::is_valid(&schema, given), "{version}: {given} is not {schema}");
            let wrapped = json!({ "result": value });
            let bare = version == "2026-07-28" || name == "object";
            assert_eq!(*given, if bare { value } else { wrapped }, "{version}");
            assert!(bare || schema["type"] == "object", "{version}: {schema}");
        }
        let breach = client.call("breach", json!({}));
        assert_eq!(breach["isError"], true, "{version}: {breach}");
        assert!(breach.get("structuredContent").is_none(), "{version}: {breach}");
    });
}

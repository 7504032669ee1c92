//! What a tool answers, and what its `outputSchema` asks of it.

use serde_json::json;

use crate::harness::Folder;

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

//! Prompts: rendered messages and embedded resources.

use serde_json::json;

use super::CatalogFixture;
use crate::catalog::result::refusal::RefusalKind;

const MANIFEST: &str = r#"
prompts:
  ran:
    arguments: { who: {} }
    run: { exec: [echo, '{"n": 3}'] }
    text: "{{who}}: {{result.json.n}} {{result.stdout}}"
  failing: { run: { exec: ["false"] }, text: "{{result.stdout}}" }
  made:
    arguments: { id: {}, on: { type: boolean } }
    messages:
      - user: "{{id}}"
      - assistant: { text: only then, when: "{{on}}" }
      - user: { resource: "made://{{id}}" }
      - user: { resource: "{{arguments.id}}", when: "{{not on}}" }
  circular: { messages: [{ user: { resource: "loop://a" } }] }
resources:
  made: { uri: "made://{id}", run: { exec: [echo, "made {{id}}"] } }
  loop: { uri: "loop://{x}", run: { exec: [echo, x] }, result: { content: [{ resource: "loop://{{x}}" }, { resource: "loop://{{x}}" }] } }
"#;

#[test]
fn run_outcome_is_in_scope_of_text() {
    let said = CatalogFixture::new(MANIFEST).prompt("ran", json!({ "who": "ada" })).unwrap();
    assert_eq!(said[0]["content"]["text"], r#"ada: 3 {"n": 3}"#);
}

#[test]
fn failed_run_is_internal_error() {
    assert_eq!(CatalogFixture::new(MANIFEST).prompt("failing", json!({})).unwrap_err().kind, RefusalKind::Internal);
}

#[test]
fn pack_references_resolve_inside_the_pack() {
    let pack = r#"
folio: 1
server: { name: inner }
prompts:
  own: { messages: [{ user: { resource: "inner://a" } }] }
  reaching: { arguments: { uri: {} }, messages: [{ user: { resource: "{{uri}}" } }] }
resources: { a: { uri: "inner://a", text: inner } }
"#;
    let outer = r#"
packs: { p: { path: pack } }
prompts: { embracing: { messages: [{ user: { resource: "inner://a" } }] } }
resources: { secret: { uri: "outer://a", text: outer } }
"#;
    let fixture = CatalogFixture::with_files(&[("folio.yaml", outer), ("pack/folio.yaml", pack)], &[]);
    for (name, uri) in [("p-own", ""), ("embracing", ""), ("p-reaching", "inner://a")] {
        let arguments = if uri.is_empty() { json!({}) } else { json!({ "uri": uri }) };
        assert_eq!(fixture.prompt(name, arguments).unwrap()[0]["content"]["resource"]["text"], "inner", "{name}");
    }
    let refused = fixture.prompt("p-reaching", json!({ "uri": "outer://a" })).unwrap_err();
    assert_eq!(refused.kind, RefusalKind::NotFound);
}

#[test]
fn embedded_resources_are_read_at_call_time() {
    let said = CatalogFixture::new(MANIFEST).prompt("made", json!({ "id": "7", "on": "true" })).unwrap();
    assert_eq!(said.as_array().unwrap().len(), 3, "{said}");
    assert_eq!(
        said[2]["content"]["resource"],
        json!({ "uri": "made://7", "mimeType": "text/plain", "text": "made 7\n" })
    );
    let said = CatalogFixture::new(MANIFEST).prompt("made", json!({ "id": "made://9" })).unwrap();
    assert_eq!(said[1]["content"]["resource"]["uri"], "made://made%3A%2F%2F9", "a value is one segment");
    assert_eq!(said[2]["content"]["resource"]["uri"], "made://9", "and alone it is a whole URI");
}

#[test]
fn self_embedding_resource_hits_depth_limit() {
    let refusal = CatalogFixture::new(MANIFEST).prompt("circular", json!({})).unwrap_err();
    assert!(refusal.message.contains("call depth exceeds 8 entries"), "{refusal}");
}

#[test]
fn pack_without_grant_runs_nothing() {
    let pack = r#"
prompts:
  fine: { text: fine }
  runs: { run: { exec: [echo, x] }, text: "{{result.stdout}}" }
  completes: { arguments: { a: { complete: { run: { exec: [echo, leaked] } } } }, text: "{{a}}" }
  embeds: { messages: [{ user: { resource: "made://1" } }] }
resources:
  made: { uri: "made://{id}", run: { exec: [echo, leaked] } }
  one: { uri: "one://x", run: { exec: [echo, leaked] } }
tools:
  t: { description: d, run: { exec: [echo, leaked] } }
"#;
    let fixture =
        CatalogFixture::with_files(&[("folio.yaml", "packs: { p: { path: p } }"), ("p/folio.yaml", pack)], &[]);
    let lists = fixture.catalog.lists();
    let names: Vec<&str> = lists.prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names, ["p-fine", "p-completes", "p-embeds"]);
    assert!(lists.tools.is_empty() && lists.resources.is_empty() && lists.resource_templates.is_empty());
    assert_eq!(fixture.read("one://x").unwrap_err().kind, RefusalKind::NotFound);
    assert_eq!(fixture.read("made://1").unwrap_err().kind, RefusalKind::NotFound);
    assert!(fixture.prompt("p-embeds", json!({})).is_err());
    let of = crate::catalog::result::call_result::CompletionTarget::Prompt("p-completes".to_owned());
    assert!(fixture.complete(of, "a", "", &[]).is_empty());
}

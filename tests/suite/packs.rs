//! Which of several packs serves a URI.

use serde_json::{Value, json};

use crate::harness::{TestClient, TestFolder, on_every_version_and_wire};

const DESK: &str = r#"
folio: 1
server: { name: desk }
packs: { guest: { path: ./guest }, late: { path: ./late } }
resources:
  docs: { uri: "docs://{+page}", root: docs, mimeType: text/plain }
  skills: { uri: "skill://{+path}", text: "of the desk: {{path}}" }
  page: { uri: "page://one", text: the desk's }
tools:
  own: { description: Reads, run: { read: "docs://policy.md" } }
"#;

const GUEST: &str = r#"
folio: 1
server: { name: guest }
skills: { dir: skills }
resources:
  policy: { uri: "docs://policy.md", text: the guest's }
  scheme: { uri: "DOCS://other", text: the guest's }
  page: { uri: "page://{name}", text: "the guest's {{name}}" }
  alone: { uri: "guest://alone", text: the guest's }
tools:
  inner: { description: Reads, run: { read: "docs://policy.md" } }
prompts:
  inner: { description: Embeds, messages: [{ user: { resource: "docs://policy.md" } }] }
"#;

const LATE: &str = r#"
folio: 1
server: { name: late }
resources:
  page: { uri: "page://{+path}", text: "the late one's {{path}}" }
  alone: { uri: "guest://alone{?x}", text: the late one's }
"#;

fn desk() -> TestFolder {
    TestFolder::new(&[
        ("folio.yaml", DESK),
        ("docs/policy.md", "the desk's"),
        ("guest/folio.yaml", GUEST),
        ("guest/skills/helper/SKILL.md", "---\nname: helper\ndescription: Helps.\n---\nthe guest's\n"),
        ("late/folio.yaml", LATE),
    ])
}

fn embedded(client: &TestClient) -> Value {
    client.result("prompts/get", json!({ "name": "guest-inner" }))["messages"][0]["content"]["resource"]["text"].clone()
}

#[test]
fn importer_resource_wins_over_pack() {
    on_every_version_and_wire(&desk(), &json!({}), |client| {
        for (uri, text) in [
            ("docs://policy.md", "the desk's"),
            ("DOCS://policy.md", "the desk's"),
            ("skill://helper/SKILL.md", "of the desk: helper/SKILL.md"),
            ("page://one", "the desk's"),
            ("page://two", "the guest's two"),
            ("page://two/three", "the late one's two/three"),
            ("guest://alone", "the guest's"),
            ("guest://alone?x=1", "the late one's"),
        ] {
            assert_eq!(client.read_text(uri), text, "{uri}");
        }
        // What the importer's entry refuses, no other gives.
        let refused = client.request("resources/read", json!({ "uri": "docs://other" }));
        assert!(refused["error"]["code"].is_i64(), "{refused}");
    });
}

#[test]
fn pack_references_resolve_inside_the_pack() {
    on_every_version_and_wire(&desk(), &json!({}), |client| {
        assert_eq!(client.call_text("guest-inner", json!({})), "the guest's");
        assert_eq!(embedded(client), "the guest's");
        assert_eq!(client.call_text("own", json!({})), "the desk's");
    });
}

#[test]
fn listed_uris_are_unique() {
    let folder = desk();
    folder.write("docs/other.md", "another");
    folder
        .write("folio.yaml", DESK.replace("tools:", "  literal: { uri: \"docs://other.md\", text: by hand }\ntools:"));
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let listed: Vec<(String, String)> = client
            .list("resources")
            .iter()
            .map(|one| (one["uri"].as_str().unwrap().to_owned(), one["name"].as_str().unwrap().to_owned()))
            .collect();
        let wanted = [
            ("docs://policy.md", "policy.md"),
            ("page://one", "page"),
            ("docs://other.md", "literal"),
            ("guest://alone", "guest-alone"),
        ];
        let wanted = wanted.map(|(uri, name)| (uri.to_owned(), name.to_owned()));
        assert_eq!(listed, wanted);
        assert_eq!(client.read_text("docs://other.md"), "by hand");
    });
}

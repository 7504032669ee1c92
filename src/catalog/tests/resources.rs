//! Resources: their contents, and the files that they must not expose.

use serde_json::json;

use super::{CatalogFixture, StubWorld};
use crate::catalog::result::call_result::CompletionTarget;
use crate::catalog::result::refusal::RefusalKind;

const MANIFEST: &str = r#"
env: { DIR: {} }
resources:
  file: { uri: "docs://policy", file: docs/policy.md }
  blob: { uri: "docs://blob", blob: "aGk=", mimeType: application/x-thing }
  text: { uri: "docs://text", text: "{{server.name}}" }
  page: { uri: "page://{name}", file: "docs/{{name}}.md" }
  deep: { uri: "deep://{+name}", file: "docs/{{name}}" }
  src: { uri: "src://{+path}", root: docs, exclude: ["secret/**"] }
  theirs: { uri: "theirs://{+path}", root: "{{env.DIR}}" }
  made: { uri: "made://{id}", mimeType: application/json, run: { exec: [echo, '{"id": {{id}}}'] }, result: { select: id } }
  web: { uri: "web://{id}", run: { http: { url: "https://api.example/{{id}}" } } }
"#;

fn fixture() -> CatalogFixture {
    let files = [
        ("folio.yaml", MANIFEST),
        ("docs/policy.md", "Be kind."),
        ("docs/.hidden.md", "no"),
        ("docs/secret/key.md", "no"),
        ("docs/sub/a b.md", "spaced"),
        ("outside.md", "no"),
    ];
    CatalogFixture::with_files(&files, &[])
}

#[test]
fn each_resource_kind_has_its_mime_type() {
    let fixture = fixture();
    let read = |uri| fixture.read(uri).unwrap()[0].clone();
    assert_eq!(
        read("docs://policy"),
        json!({ "uri": "docs://policy", "mimeType": "text/markdown", "text": "Be kind." })
    );
    assert_eq!(read("docs://blob"), json!({ "uri": "docs://blob", "mimeType": "application/x-thing", "blob": "aGk=" }));
    assert_eq!(read("docs://text")["text"], "t");
    assert_eq!(read("page://policy")["text"], "Be kind.");
    assert_eq!(read("src://sub/a%20b.md")["text"], "spaced");
    assert_eq!(read("made://7"), json!({ "uri": "made://7", "mimeType": "application/json", "text": "7" }));
}

#[test]
fn resources_cannot_escape_their_folder() {
    let fixture = fixture();
    for uri in [
        "page://..%2Foutside",
        "page://sub%2F..%2F..%2Foutside",
        "deep://../outside.md",
        "deep://..%2Foutside.md",
        "deep:///etc/passwd",
        "deep://sub/../../outside.md",
        "src://../outside.md",
        "src://.hidden.md",
        "src://secret/key.md",
        "src://sub/../secret/key.md",
        "src://sub",
        "src://",
        "src:///etc/passwd",
        "page://policy%00",
        "theirs://anything",
        "nobody://x",
    ] {
        let found = fixture.read(uri);
        let refusal = found.expect_err(uri);
        assert!(matches!(refusal.kind, RefusalKind::NotFound | RefusalKind::BadArguments), "{uri}: {refusal:?}");
        assert!(!refusal.message.contains("/tmp"), "{refusal}");
    }
    assert_eq!(fixture.read("no uri").unwrap_err().kind, RefusalKind::BadUri);
}

#[test]
fn listed_resources_are_readable() {
    let fixture = fixture();
    let listed: Vec<&str> = fixture.catalog.lists().resources.iter().map(|resource| resource.uri.as_str()).collect();
    assert_eq!(listed, ["docs://policy", "docs://blob", "docs://text", "src://policy.md", "src://sub/a%20b.md"]);
    for uri in listed {
        fixture.read(uri).unwrap();
    }
    let of = CompletionTarget::Template("src://{+path}".to_owned());
    assert_eq!(fixture.complete(of, "path", "pol", &[]), ["policy.md"]);
}

#[test]
fn status_404_is_not_found_and_500_internal() {
    let mut fixture = fixture();
    fixture.world = StubWorld::new(404, "text/plain", "gone");
    assert_eq!(fixture.read("web://1").unwrap_err().kind, RefusalKind::NotFound);
    fixture.world = StubWorld::new(500, "text/plain", "broken");
    assert_eq!(fixture.read("web://1").unwrap_err().kind, RefusalKind::Internal);
}

#[test]
fn root_from_variable_is_served() {
    let theirs = tempfile::tempdir().unwrap();
    std::fs::write(theirs.path().join("x.txt"), "theirs").unwrap();
    let files = [(
        "folio.yaml",
        "env: { DIR: {} }\nresources:\n  r: { uri: \"r://{+path}\", root: \"{{env.DIR}}\" }\ntools:\n  ls: { description: d, run: { exec: [ls], cwd: \"{{env.DIR}}\" } }",
    )];
    let fixture = CatalogFixture::with_files(&files, &[("DIR", theirs.path().to_str().unwrap())]);
    assert_eq!(fixture.read("r://x.txt").unwrap()[0]["text"], "theirs");
    assert_eq!(fixture.text("ls", json!({})), "x.txt\n");
    assert!(CatalogFixture::with_files(&files, &[]).failure("ls", json!({})).contains("`DIR`"));
}

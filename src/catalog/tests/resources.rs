//! What resources hold, and what they never let out.

use serde_json::json;

use super::{Desk, Stage};
use crate::catalog::answer::{CompletionOf, RefusalKind};

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

fn desk() -> Desk {
    let files = [
        ("folio.yaml", MANIFEST),
        ("docs/policy.md", "Be kind."),
        ("docs/.hidden.md", "no"),
        ("docs/secret/key.md", "no"),
        ("docs/sub/a b.md", "spaced"),
        ("outside.md", "no"),
    ];
    Desk::of(&files, &[])
}

#[test]
fn each_kind_is_read_with_its_type() {
    let desk = desk();
    let read = |uri| desk.read(uri).unwrap()[0].clone();
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
fn nothing_leaves_its_folder() {
    let desk = desk();
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
        let found = desk.read(uri);
        let refusal = found.expect_err(uri);
        assert!(matches!(refusal.kind, RefusalKind::NotFound | RefusalKind::BadArguments), "{uri}: {refusal:?}");
        assert!(!refusal.message.contains("/tmp"), "{refusal}");
    }
    assert_eq!(desk.read("no uri").unwrap_err().kind, RefusalKind::BadUri);
}

#[test]
fn what_is_listed_is_what_can_be_read() {
    let desk = desk();
    let listed: Vec<&str> = desk.catalog.lists().resources.iter().map(|resource| resource.uri.as_str()).collect();
    assert_eq!(listed, ["docs://policy", "docs://blob", "docs://text", "src://policy.md", "src://sub/a%20b.md"]);
    for uri in listed {
        desk.read(uri).unwrap();
    }
    let of = CompletionOf::Template("src://{+path}".to_owned());
    assert_eq!(desk.complete(of, "path", "pol", &[]), ["policy.md"]);
}

#[test]
fn a_status_of_404_is_not_found_and_another_is_a_failure() {
    let mut desk = desk();
    desk.world = Stage::new(404, "text/plain", "gone");
    assert_eq!(desk.read("web://1").unwrap_err().kind, RefusalKind::NotFound);
    desk.world = Stage::new(500, "text/plain", "broken");
    assert_eq!(desk.read("web://1").unwrap_err().kind, RefusalKind::Internal);
}

#[test]
fn a_folder_that_a_variable_names_is_served() {
    let theirs = tempfile::tempdir().unwrap();
    std::fs::write(theirs.path().join("x.txt"), "theirs").unwrap();
    let files = [(
        "folio.yaml",
        "env: { DIR: {} }\nresources:\n  r: { uri: \"r://{+path}\", root: \"{{env.DIR}}\" }\ntools:\n  ls: { description: d, run: { exec: [ls], cwd: \"{{env.DIR}}\" } }",
    )];
    let desk = Desk::of(&files, &[("DIR", theirs.path().to_str().unwrap())]);
    assert_eq!(desk.read("r://x.txt").unwrap()[0]["text"], "theirs");
    assert_eq!(desk.text("ls", json!({})), "x.txt\n");
    assert!(Desk::of(&files, &[]).failure("ls", json!({})).contains("`DIR`"));
}

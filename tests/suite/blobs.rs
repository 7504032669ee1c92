//! Bytes that steps made, in blocks and resources.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::*;

const BLOBS: &str = r#"folio: 1
server: { name: blobs }
env: { T: { secret: true } }
tools:
  made:
    description: Makes blocks
    arguments: { type: {} }
    run: [{ id: b, exec: [sh, -c, "printf '\\211PNG\\000\\377b' | base64"] }, { id: t, exec: [printf, "é <svg/>"] }]
    result:
      content:
        - { image: { base64: "{{steps.b.stdout}}", mimeType: "image/{{type}}" } }
        - { image: { text: "{{steps.t.stdout}}" }, mimeType: image/svg+xml }
        - { audio: { base64: "{{steps.b.stdout}}" }, mimeType: "{{steps.t.stderr}}" }
        - { resource: { uri: "a://b", blob: { base64: "{{steps.b.stdout}}" } } }
        - { resource: { uri: "a://t", mimeType: "text/{{type}}", blob: { text: "[{{steps.t.stdout}}]" } } }
        - { resourceLink: { uri: "a://l", name: l, mimeType: "text/{{type}}" } }
  wrong:
    description: Makes no base64
    run: [{ id: b, exec: [printf, "no base64!"] }]
    result: { content: [{ resource: { uri: "a://b", blob: { base64: "{{steps.b.stdout}}" } } }] }
  secret:
    description: Prints a secret, whole in base64 and in halves
    run:
      - { id: b, onFail: continue, exec: [sh, -c, "printf 'ab%s' \"$T\" | base64"], env: { T: "{{env.T}}" } }
      - { id: one, exec: [sh, -c, "printf %.8s \"$T\""], env: { T: "{{env.T}}" } }
      - { id: other, exec: [sh, -c, "printf %s \"${T#????????}\""], env: { T: "{{env.T}}" } }
    result: { content: [{ resource: { uri: "a://t", blob: { text: "{{steps.one.stdout}}{{steps.other.stdout}}" } } }, { resource: { uri: "a://b", blob: { text: "{{steps.b.stdout}}" } } }] }
  ask:
    description: Shows the model a picture
    run: [{ id: b, exec: [printf, "%s", "R0lGODlh"] }, { ask: { q: { sample: { maxTokens: 1, messages: [{ user: { image: { base64: "{{steps.b.stdout}}", mimeType: "image/{{steps.b.exit}}" } } }, { user: { image: { text: "{{steps.b.stdout}}" } } }] } } } }]
resources:
  made: { uri: "made://{x}", blob: { text: "[{{x}}]" }, mimeType: text/x-made }
  given: { uri: "given://{x}", blob: { base64: "{{x}}" } }
  run: { uri: "run://b", run: [{ id: b, exec: [printf, "R0lGODlh"] }], result: { content: [{ image: { base64: "{{steps.b.stdout}}" } }] } }
"#;

fn serve() -> (TestFolder, TestServer) {
    let folder = TestFolder::with_manifest(BLOBS);
    let server = folder.serve_command().env("T", "sesame-open-4711").stdio();
    (folder, server)
}

fn decoded(base64: &Value) -> Vec<u8> {
    STANDARD.decode(base64.as_str().unwrap_or_else(|| panic!("{base64}"))).unwrap()
}

#[test]
fn blocks_take_bytes_of_steps() {
    let (_folder, server) = serve();
    let client = server.client_with(SESSION_VERSIONS[3], json!({ "sampling": {} }));
    let answer = client.call("made", json!({ "type": "png" }));
    let content = &answer["content"];
    for data in [&content[0]["data"], &content[2]["data"], &content[3]["resource"]["blob"]] {
        assert_eq!(decoded(data), b"\x89PNG\0\xffb", "{answer}");
    }
    assert_eq!(content[1]["text"], "é <svg/>");
    assert_eq!(decoded(&content[4]["resource"]["blob"]), "[é <svg/>]".as_bytes());
    let types = [0, 1, 2].map(|nth| content[nth]["mimeType"].as_str().unwrap_or_default());
    assert_eq!(types, ["image/png", "", "image/png"]);
    assert_eq!(content[3]["resource"]["mimeType"], "image/png");
    assert_eq!(
        (&content[4]["resource"]["mimeType"], &content[5]["mimeType"]),
        (&json!("text/png"), &json!("text/png"))
    );
    let refused = client.call("made", json!({ "type": "a b" }));
    let first_line = |result: &Value| text_of(&result["content"][0]).lines().next().unwrap_or_default().to_owned();
    assert_eq!(first_line(&refused), "`mimeType: image/{{type}}` is not a MIME type such as `image/png`");
    let wrong = client.call("wrong", json!({}));
    assert_eq!(first_line(&wrong), "invalid `blob`: `steps.b.stdout` is not valid base64");
    let mut asked = Vec::new();
    client.call_with_answers("ask", json!({}), |_, params| {
        asked.extend(params["messages"].as_array().unwrap().iter().map(|message| message["content"].clone()));
        json!({ "role": "assistant", "content": { "type": "text", "text": "x" }, "model": "m" })
    });
    let expected = json!([{ "type": "image", "data": "R0lGODlh", "mimeType": "image/gif" }, { "type": "text", "text": "R0lGODlh" }]);
    assert_eq!(Value::from(asked), expected);
}

#[test]
fn resources_take_bytes_of_values() {
    let (_folder, server) = serve();
    let client = server.session(SESSION_VERSIONS[3]);
    let read = |uri: &str| client.result("resources/read", json!({ "uri": uri }))["contents"][0].clone();
    assert_eq!(decoded(&read("made://%C3%A9")["blob"]), "[é]".as_bytes());
    assert_eq!(read("made://x")["mimeType"], "text/x-made");
    assert_eq!(decoded(&read("given://aGk")["blob"]), b"hi");
    assert_eq!(decoded(&read("run://b")["blob"]), b"GIF89a");
    let error = client.error("resources/read", json!({ "uri": "given://%21" }));
    assert!(error["message"].as_str().unwrap().contains("invalid `blob`: `x` is not valid base64"), "{error}");
}

#[test]
fn secrets_are_hidden_in_bytes_of_steps() {
    let (_folder, server) = serve();
    let client = server.session(SESSION_VERSIONS[3]);
    let answer = client.call("secret", json!({}));
    let bytes = [0, 1].map(|nth| decoded(&answer["content"][nth]["resource"]["blob"]));
    let shown = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(!shown[0].contains("sesame") && !shown[0].contains("4711"), "{shown:?}");
    assert!(!shown[1].contains(&STANDARD.encode("absesame-o")[..12]), "{shown:?}");
}

#[test]
fn invalid_bytes_are_reported_at_load() {
    for (entry, words) in [
        (
            "tools:\n  t: { description: D, result: { content: [{ image: { base64: x, text: y } }] } }",
            "expected exactly one of `file`, `base64`, `text`",
        ),
        (
            "tools:\n  t: { description: D, result: { content: [{ resource: { uri: \"a://b\", blob: {} } }] } }",
            "expected exactly one of `file`, `base64`, `text`",
        ),
        (
            "tools:\n  t: { description: D, result: { content: [{ resource: { uri: \"a://b\", blob: { base64: \"%%\" } } }] } }",
            "invalid base64",
        ),
        (
            "tools:\n  t: { description: D, result: { content: [{ resource: { uri: \"a://b\", blob: { text: \"{{x}}\" } } }] } }",
            "unknown variable `x`",
        ),
        (
            "tools:\n  t: { description: D, result: { content: [{ image: a.png, mimeType: \"{{x}}\" }] } }",
            "unknown variable `x`",
        ),
        (
            "tools:\n  t: { description: D, result: { content: [{ image: { text: x }, mimeType: picture }] } }",
            "invalid MIME type `picture`",
        ),
        (
            "resources:\n  r: { uri: \"a://b\", blob: { text: x, file: y } }",
            "expected exactly one of `file`, `base64`, `text`",
        ),
        (
            "env: { K: { secret: true } }\nresources:\n  r: { uri: \"a://b\", blob: { text: \"{{env.K}}\" } }",
            "secret `K`",
        ),
    ] {
        let folder = TestFolder::with_manifest(&format!("folio: 1\nserver: {{ name: s }}\n{entry}\n"));
        folder.write("a.png", "x");
        let ran = run_folio(folder.path(), &["check", "."]);
        assert!(ran.out.contains(words) || ran.err.contains(words), "{entry}: {ran:?}");
    }
}

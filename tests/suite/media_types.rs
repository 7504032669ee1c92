//! Images and sounds go by their bytes, whatever name or header they have.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::*;
use crate::upstream_server::{Reply, Upstream};

const WEBP: &[u8] = b"RIFF\x22\0\0\0WEBPVP8 \x16\xff";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\xff";
const BMP: &[u8] = b"BM\x46\0\0\0\xff";
const SVG: &[u8] = b"<svg xmlns='http://www.w3.org/2000/svg'/>";

const MANIFEST: &str = r#"folio: 1
server: { name: media, bridge: [prompts, resources] }
folders: { f: . }
tools:
  get: { description: G, arguments: { id: { required: true } }, run: { http: { url: "URL/{{id}}" } } }
  read: { description: R, arguments: { path: { required: true } }, run: { file: { read: "{{path}}", in: f } } }
  cat: { description: C, arguments: { path: { required: true } }, run: { exec: [cat, --, "{{path}}"] } }
  blocks:
    description: B
    result:
      content:
        - { image: png.jpg }
        - { image: a.svg, annotations: { priority: 1 } }
        - { image: a.bmp }
        - { image: empty.png }
        - { image: png.jpg, mimeType: text/plain }
        - { image: { base64: "UklGRiIAAABXRUJQVlA4" } }
        - { audio: { base64: "T2dnUwAC" }, mimeType: audio/wav }
        - { resource: "r://file" }
        - { resource: { uri: "r://inline", mimeType: image/png, blob: { base64: "AAECAw==" } } }
  sampled: { description: S, run: [{ id: a, ask: { q: { sample: { maxTokens: 1, messages: [{ user: { image: png.jpg } }, { user: { image: a.svg } }] } } } }] }
  refused: { description: S, run: [{ id: a, ask: { q: { sample: { maxTokens: 1, messages: [{ user: { image: a.bmp } }] } } } }] }
prompts:
  talk: { description: T, messages: [{ user: "Look at this." }, { assistant: "Which picture?" }, { user: { image: png.jpg } }, { user: { image: a.svg } }, { user: { image: empty.png } }] }
resources:
  file: { uri: "r://file", file: png.jpg }
  page: { uri: "r://page", file: page.png }
  named: { uri: "r://named", file: a.bmp, mimeType: image/jpg }
"#;

fn serve() -> (Upstream, TestFolder) {
    let api = Upstream::start(|request, _| {
        let (mime_type, body): (_, &[u8]) = match &*request.target {
            "/webp-as-png" => ("image/png", WEBP),
            "/html-as-png" => ("image/png", b"<html>404</html>"),
            "/empty" => ("image/png", b""),
            "/jpg" => ("image/jpg", b"\xff\xd8\xff\xe0\0\x10JFIF"),
            "/bmp" => ("image/bmp", BMP),
            "/octet" => ("application/octet-stream", WEBP),
            "/garbage" => ("image/x-png", b"\0\xff\xfe"),
            "/mp3-as-wav" => ("audio/wav", b"ID3\x04\0\xff"),
            "/page-as-wav" => ("audio/wav", b"no sound"),
            _ => ("", WEBP),
        };
        let headers = [("Content-Type", mime_type)];
        Reply::with_headers(200, if mime_type.is_empty() { &[] } else { &headers }, body)
    });
    let folder = TestFolder::with_manifest(&MANIFEST.replace("URL", &api.url()));
    for (name, bytes) in
        [("png.jpg", PNG), ("a.svg", SVG), ("a.bmp", BMP), ("empty.png", b""), ("page.png", b"<html>no picture</html>")]
    {
        folder.write(name, bytes);
    }
    (api, folder)
}

/// A block as its kind, with its type or its text.
fn short(block: &Value) -> String {
    let resource = &block["resource"];
    let what = [&block["text"], &block["mimeType"], &resource["text"], &resource["mimeType"]];
    let what = what.into_iter().find_map(Value::as_str).unwrap_or_default();
    format!("{} {what}", block["type"].as_str().unwrap())
}

fn all(result: &Value) -> Vec<String> {
    result["content"].as_array().unwrap_or_else(|| panic!("{result}")).iter().map(short).collect()
}

#[test]
fn responses_files_and_output_are_typed_by_their_bytes() {
    let (_api, folder) = serve();
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for (id, expected) in [
        ("webp-as-png", "image image/webp"),
        ("html-as-png", "text <html>404</html>"),
        ("empty", "text HTTP status 200 OK"),
        ("jpg", "image image/jpeg"),
        ("bmp", "resource image/bmp"),
        ("untyped", "image image/webp"),
        ("octet", "image image/webp"),
        ("garbage", "resource application/octet-stream"),
        ("mp3-as-wav", "audio audio/mpeg"),
        ("page-as-wav", "text no sound"),
    ] {
        assert_eq!(all(&client.call("get", json!({ "id": id }))), [expected], "{id}");
    }
    for (path, expected) in [("png.jpg", "image image/png"), ("a.bmp", "resource image/bmp")] {
        assert_eq!(all(&client.call("read", json!({ "path": path }))), [expected], "{path}");
    }
    assert_eq!(all(&client.call("cat", json!({ "path": "png.jpg" }))), ["image image/png"]);
}

#[test]
fn blocks_and_resources_are_typed_by_their_bytes() {
    let (_api, folder) = serve();
    let server = folder.stdio();
    let client = server.client_with(SESSION_VERSIONS[3], json!({ "sampling": {} }));
    let svg = format!("text {}", String::from_utf8_lossy(SVG));
    let blocks = client.call("blocks", json!({}));
    let expected = [
        "image image/png",
        &svg,
        "resource image/bmp",
        "image image/png",
        "image image/webp",
        "audio audio/ogg",
        "resource image/png",
        "resource application/octet-stream",
    ];
    assert_eq!(all(&blocks), expected);
    assert_eq!(blocks["content"][1]["annotations"], json!({ "priority": 1.0 }));
    let read = |uri: &str| client.result("resources/read", json!({ "uri": uri }))["contents"][0].clone();
    assert_eq!(read("r://file")["mimeType"], "image/png");
    assert_eq!(
        (&read("r://page")["mimeType"], &read("r://page")["text"]),
        (&json!("text/plain"), &json!("<html>no picture</html>"))
    );
    assert_eq!(
        (&read("r://named")["mimeType"], &read("r://named")["blob"]),
        (&json!("application/octet-stream"), &json!(STANDARD.encode(BMP)))
    );
    let mut asked = Vec::new();
    client.call_with_answers("sampled", json!({}), |_, params| {
        asked.extend(params["messages"].as_array().unwrap().iter().map(|message| short(&message["content"])));
        json!({ "role": "assistant", "content": { "type": "text", "text": "x" }, "model": "m" })
    });
    assert_eq!(asked, ["image image/png".to_owned(), svg]);
    let refused = client.call("refused", json!({}));
    assert!(text_of(&refused["content"][0]).starts_with("`image` of `sample` is neither a PNG"), "{refused}");
}

#[test]
fn bridge_shows_a_conversation_as_blocks() {
    let (_api, folder) = serve();
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    let talk = all(&client.call("get-prompt", json!({ "name": "talk" })));
    let svg = format!("text [message 4 of 4, of the user]\n{}", String::from_utf8_lossy(SVG));
    let expected = [
        "text [message 1 of 4, of the user]\nLook at this.",
        "text [message 2 of 4, of the assistant]\nWhich picture?",
        "text [message 3 of 4, of the user]",
        "image image/png",
        &svg,
    ];
    assert_eq!(talk, expected);
    assert_eq!(all(&client.call("read-resource", json!({ "uri": "r://file" }))), ["image image/png"]);
    assert_eq!(
        all(&client.call("read-resource", json!({ "uri": "r://named" }))),
        ["resource application/octet-stream"]
    );
}

#[test]
fn check_warns_of_images_that_no_client_takes() {
    let (_api, folder) = serve();
    let ran = run_folio(folder.path(), &["check", "--clients", "claude-code"]);
    for words in ["`a.svg` is no PNG, JPEG, GIF or WebP", "`a.bmp` is no PNG", "`empty.png` is empty: it is left out"] {
        assert!(ran.out.contains(words), "{words}: {ran:?}");
    }
    assert!(!ran.out.contains("`png.jpg` is"), "{ran:?}");
}

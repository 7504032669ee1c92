//! Arguments that must be paths inside the folders that the client works on.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Client, Folder, everywhere, text_of};

const MANIFEST: &str = r#"
folio: 1
server: { name: within }
tools:
  show:
    description: Shows a path
    arguments: { path: { within: roots }, more: { type: array, items: { type: string }, within: roots } }
    result: { text: "path {{path}}" }
  sure:
    description: Writes to a path, once a person is sure
    arguments: { path: { within: roots, required: true } }
    run:
      - script: { shell: sh, text: 'echo x >> "$log"' }
        env: { log: done.txt }
      - id: asked
        ask: { q: { elicit: { message: Sure?, schema: { yes: { type: boolean, required: true } } } } }
    result: { text: "{{path}} {{steps.asked.q.yes}}" }
prompts:
  about: { description: Of a path, arguments: { path: { within: roots, required: true } }, text: "About {{path}}." }
"#;

fn roots() -> Value {
    json!({ "roots": [{ "uri": "file:///srv/one" }, { "uri": "file:///srv/two%20words" }] })
}

fn answer(method: &str, _: &Value) -> Value {
    match method {
        "roots/list" => roots(),
        _ => json!({ "action": "accept", "content": { "yes": true } }),
    }
}

fn show(client: &Client, arguments: Value) -> (bool, String) {
    let result = client.talk_to("show", arguments, answer);
    (result["isError"] == true, text_of(&result["content"][0]))
}

#[test]
fn a_path_outside_of_the_clients_roots_is_refused_by_the_name_of_its_argument() {
    everywhere(&Folder::of(MANIFEST), &json!({ "roots": {} }), |client| {
        for inside in ["/srv/one", "/srv/one/a/b", "file:///srv/two%20words/x", "/srv/two words"] {
            assert_eq!(show(client, json!({ "path": inside })), (false, format!("path {inside}")));
        }
        for outside in ["/srv", "/srv/onemore", "/srv/one/../three", "file:///etc/passwd", "one", "https://srv/one"] {
            let (failed, words) = show(client, json!({ "path": outside }));
            assert!(failed && words.contains("`path`"), "{outside}: {words}");
        }
        let (failed, words) = show(client, json!({ "more": ["/srv/one/a", "/etc"] }));
        assert!(failed && words.contains("`more`"), "{words}");
        let prompt =
            client.talk("prompts/get", json!({ "name": "about", "arguments": { "path": "/srv/one/x" } }), answer);
        assert_eq!(text_of(&prompt["result"]["messages"][0]["content"]), "About /srv/one/x.");
        let refused = client.talk("prompts/get", json!({ "name": "about", "arguments": { "path": "/x" } }), answer);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    });
}

#[test]
fn a_client_that_tells_no_roots_can_name_no_path() {
    everywhere(&Folder::of(MANIFEST), &json!({}), |client| {
        let answer = client.request("tools/call", json!({ "name": "show", "arguments": { "path": "/srv/one" } }));
        if client.is_modern() {
            assert_eq!(answer["error"]["code"], -32021, "{answer}");
            assert_eq!(answer["error"]["data"]["requiredCapabilities"], json!({ "roots": {} }));
        } else {
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            assert!(text_of(&answer["result"]["content"][0]).contains("roots"), "{answer}");
        }
        // Nothing is asked for that is not needed.
        assert_eq!(client.call_text("show", json!({})), "path ");
    });
}

#[test]
fn a_question_behind_the_roots_is_asked_and_nothing_is_done_twice() {
    let folder = Folder::of(MANIFEST);
    let mut calls = 0;
    for version in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let server = folder.stdio();
        let client = server.able(version, json!({ "roots": {}, "elicitation": {} }));
        let result = client.talk_to("sure", json!({ "path": "/srv/one/x" }), answer);
        assert_eq!(text_of(&result["content"][0]), "/srv/one/x true");
        calls += 1;
        assert_eq!(fs::read_to_string(folder.at("done.txt")).unwrap().lines().count(), calls, "{version}");
        let refused = client.talk_to("sure", json!({ "path": "/elsewhere" }), answer);
        assert_eq!(refused["isError"], true, "{refused}");
        assert_eq!(fs::read_to_string(folder.at("done.txt")).unwrap().lines().count(), calls, "{version}");
    }
}

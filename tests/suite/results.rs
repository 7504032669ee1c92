//! Results of tools, their `outputSchema`, and texts that are empty.

use serde_json::{Value, json};

use crate::harness::{TestFolder, on_every_version_and_wire, text_of};

#[test]
fn structured_content_satisfies_output_schema() {
    let folder = TestFolder::with_manifest(
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

#[test]
fn text_and_blocks_may_have_structured_content_beside() {
    let folder = TestFolder::with_manifest(
        r#"
folio: 1
server: { name: results }
tools:
  text: { description: D, run: { exec: [printf, 'a\nb\n'] }, result: { text: "{{len (lines result.stdout)}} words", structuredContent: { words: "{{lines result.stdout}}" } } }
  content: { description: D, arguments: { n: { type: integer } }, result: { content: [one, { text: "two {{n}}" }], structuredContent: { n: "{{n}}" } } }
  selected: { description: D, run: { exec: [printf, '{"a":[3,4]}'] }, result: { select: "a", text: "{{len result}} found", structuredContent: { first: "{{first result}}" } }, outputSchema: { type: object, properties: { first: { type: integer } }, required: [first] } }
  promised: { description: D, run: { exec: [printf, plain] }, result: { text: "{{result.stdout}}", structuredContent: { n: 1 } }, outputSchema: { type: object, properties: { n: { type: integer } }, required: [n] } }
  breach: { description: D, run: { exec: [printf, plain] }, result: { text: "{{result.stdout}}", structuredContent: { n: "{{result.stdout}}" } }, outputSchema: { type: object, properties: { n: { type: integer } } } }
  steps: { description: D, run: [{ id: a, exec: [printf, plain] }, { exec: [printf, '{"n":2}'] }, { log: done }], outputSchema: { type: object, properties: { n: { type: integer } }, required: [n] } }
  scalar: { description: D, run: [{ exec: [printf, plain] }, { exec: [printf, '12'] }], outputSchema: { type: integer } }
  picked: { description: D, run: [{ id: a, exec: [printf, '{"n":3}'] }, { exec: [printf, plain] }], result: { select: "a.json" }, outputSchema: { type: object, properties: { n: { type: integer } }, required: [n] } }
  other: { description: D, run: [{ exec: [printf, '{"n":3}'] }, { exec: [printf, plain] }], outputSchema: { type: object } }
"#,
    );
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    let call = |name: &str| {
        let answer = client.call(name, if name == "content" { json!({ "n": 7 }) } else { json!({}) });
        assert_ne!(answer["isError"], true, "{name}: {answer}");
        let texts: Vec<String> = answer["content"].as_array().unwrap().iter().map(text_of).collect();
        (texts.join("|"), answer["structuredContent"].clone())
    };
    assert_eq!(call("text"), ("2 words".to_owned(), json!({ "words": ["a", "b"] })));
    assert_eq!(call("content"), ("one|two 7".to_owned(), json!({ "n": 7 })));
    assert_eq!(call("selected"), ("2 found".to_owned(), json!({ "first": 3 })));
    assert_eq!(call("promised"), ("plain".to_owned(), json!({ "n": 1 })));
    assert_eq!(call("steps"), ("{\"n\":2}".to_owned(), json!({ "n": 2 })));
    assert_eq!(call("scalar"), ("12".to_owned(), json!({ "result": 12 })));
    assert_eq!(call("picked").1, json!({ "n": 3 }));
    for (name, words) in [("breach", "`n` must be an integer"), ("other", "missing structured content")] {
        let answer = client.call(name, json!({}));
        assert!(answer["isError"] == true && text_of(&answer["content"][0]).contains(words), "{name}: {answer}");
    }
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
fn structured_content_matches_the_version() {
    on_every_version_and_wire(&TestFolder::with_manifest(SHAPES), &json!({}), |client| {
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

#[test]
fn binary_content_is_always_base64() {
    let folder = TestFolder::with_manifest(
        r#"
folio: 1
server: { name: blobs }
tools:
  inline:
    description: A resource
    arguments: { data: { required: true } }
    result: { content: [{ resource: { uri: "x://y", blob: "{{data}}" } }] }
  image:
    description: A picture
    arguments: { data: { required: true } }
    result: { content: [{ image: { base64: "{{data}}" } }] }
  program:
    description: A picture of a program
    arguments: { data: { required: true } }
    run: { exec: [printf, "%s", "{{data}}"] }
    result: { content: [{ image: { base64: "{{result.stdout}}" } }] }
prompts:
  inline:
    description: A resource
    arguments: { data: { required: true } }
    messages: [{ user: { resource: { uri: "x://y", blob: "{{data}}" } } }]
"#,
    );
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let sent = |tool: &str, data: &str| {
            let result = client.call(tool, json!({ "data": data }));
            let block = result["content"][0].clone();
            let bytes = [&block["data"], &block["resource"]["blob"]].into_iter().find(|bytes| bytes.is_string());
            (result["isError"] == true, bytes.cloned().unwrap_or_else(|| block["text"].clone()))
        };
        for tool in ["inline", "image", "program"] {
            for fine in ["iVBORw0KGgo=", "iVBORw0KGgo", "i\nVBORw0KGgo=\n"] {
                assert_eq!(sent(tool, fine), (false, json!("iVBORw0KGgo=")), "{tool} {fine:?}");
            }
            for wrong in ["not base64!", "a", "aGk=aGk=", "data:image/png;base64,aGk=", "{{data}}", "a\u{e9}"] {
                let (failed, words) = sent(tool, wrong);
                assert!(failed && words.as_str().unwrap().contains("` is not valid base64"), "{tool} {wrong}: {words}");
            }
        }
        let prompt =
            |data: &str| client.request("prompts/get", json!({ "name": "inline", "arguments": { "data": data } }));
        assert_eq!(prompt("aGk=")["result"]["messages"][0]["content"]["resource"]["blob"], "aGk=");
        assert_eq!(prompt("%%")["error"]["code"], -32602);
    });
}

#[test]
fn argument_cannot_form_a_hidden_file_name() {
    let folder = TestFolder::new(&[
        (
            "folio.yaml",
            r#"
folio: 1
server: { name: files }
resources:
  all: { uri: "all://{+path}", file: "{{path}}" }
  sub: { uri: "sub://{+path}", file: "docs/{{path}}" }
  two: { uri: "two://{a}/{b}", file: "docs/{{a}}{{b}}" }
  ends: { uri: "ends://{a}{?b}", file: "docs/{{b}}.{{a}}" }
  after: { uri: "after://{+a}{?b}", file: "docs/{{a}}.env" }
  known: { uri: "known://{a}", file: ".well-known/{{a}}" }
"#,
        ),
        (".env", "hidden"),
        ("docs/.env", "hidden"),
        ("docs/sub/.env", "hidden"),
        ("docs/.git/config", "hidden"),
        ("docs/x.env", "shown"),
        ("docs/sub/page", "shown"),
        (".well-known/page", "shown"),
        (".well-known/.page", "hidden"),
    ]);
    std::os::unix::fs::symlink(".env", folder.join("docs/link")).unwrap();
    std::os::unix::fs::symlink(".git", folder.join("docs/tree")).unwrap();
    std::os::unix::fs::symlink("x.env", folder.join("docs/open")).unwrap();
    on_every_version_and_wire(&folder, &json!({}), |client| {
        for uri in [
            "sub://open", "sub://x.env", "sub://sub/page", "two://x/.env", "ends://env?b=x", "after://x",
            "known://page",
        ] {
            assert_eq!(client.read_text(uri), "shown", "{uri}");
        }
        for uri in [
            "all://.env", "all://%2Eenv", "all://docs/.env", "sub://.env", "sub://sub/.env", "sub://.git/config",
            "two://./env", "two://.e/nv", "ends://env", "ends://env?b=", "after://sub/", "known://.page",
            "all://docs/link", "sub://link", "sub://tree/config",
        ] {
            let answer = client.request("resources/read", json!({ "uri": uri }));
            assert!(answer["error"]["code"].is_i64() && !answer.to_string().contains("hidden\""), "{uri}: {answer}");
        }
    });
}

#[test]
fn empty_texts_are_left_out() {
    let folder = TestFolder::with_manifest(
        r#"folio: 1
server: { name: empty }
prompts:
  some: { description: D, arguments: { x: {} }, messages: [{ user: "{{#if x}}Context: {{x}}{{/if}}" }, { assistant: " {{x}}\n" }, { user: Go. }] }
  text: { description: D, arguments: { x: {} }, text: "{{x}}" }
tools:
  blocks: { description: D, arguments: { x: {} }, result: { content: [{ text: "{{#if x}}hi{{/if}}" }, { text: ok }] } }
  none: { description: D, arguments: { x: {} }, result: { content: [{ text: "{{x}}" }] } }
  program: { description: D, run: { exec: ["true"] } }
  failure: { description: D, arguments: { x: {} }, run: { fail: "{{x}}" } }
  sample:
    description: D
    arguments: { x: {} }
    run: { ask: { answer: { sample: { maxTokens: 9, systemPrompt: "{{x}}", messages: [{ user: "{{x}}" }, { user: Go. }] } } } }
  silent:
    description: D
    arguments: { x: {} }
    run: { ask: { answer: { sample: { maxTokens: 9, prompt: "{{x}}" } } } }
"#,
    );
    let server = folder.stdio();
    let client = server.client_with("2025-06-18", json!({ "sampling": {} }));
    let messages = |name: &str, arguments| {
        client.result("prompts/get", json!({ "name": name, "arguments": arguments }))["messages"].clone()
    };
    let text = |role: &str, text: &str| json!({ "role": role, "content": { "type": "text", "text": text } });
    assert_eq!(messages("some", json!({})), json!([text("user", "Go.")]));
    let all = [text("user", "Context: y"), text("assistant", " y\n"), text("user", "Go.")];
    assert_eq!(messages("some", json!({ "x": "y" })), json!(all));
    assert_eq!(messages("text", json!({})), json!([]));
    let content = |name: &str| client.call(name, json!({}))["content"].clone();
    assert_eq!(content("blocks"), json!([{ "type": "text", "text": "ok" }]));
    assert_eq!(content("none"), json!([]));
    assert_eq!(content("program"), json!([]));
    assert_eq!(text_of(&content("failure")[0]), "the tool failed without a message");
    let sampled = client.call_with_answers("sample", json!({}), |_, params| {
        assert_eq!(params["messages"], json!([text("user", "Go.")]));
        assert!(params.get("systemPrompt").is_none(), "{params}");
        json!({ "role": "assistant", "content": { "type": "text", "text": "gone" }, "model": "m" })
    });
    assert_ne!(sampled["isError"], true, "{sampled}");
    let silent = client.call("silent", json!({}));
    assert!(text_of(&silent["content"][0]).contains("every message of `sample` is empty"), "{silent}");
}

#[test]
fn embedded_texts_that_are_empty_are_left_out() {
    let folder = TestFolder::with_manifest(
        r#"folio: 1
server: { name: empty }
resources:
  empty: { uri: "e://e", text: "" }
  some: { uri: "e://{x}", text: "{{x}}" }
prompts:
  p: { description: D, messages: [{ user: { resource: "e://e" } }, { user: Go. }] }
tools:
  read: { description: D, result: { content: [{ resource: "e://e" }, { resource: "e://ok" }] } }
  inline: { description: D, arguments: { x: {} }, result: { content: [{ resource: { uri: "x://y", text: "{{x}}" } }] } }
"#,
    );
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let prompt = client.result("prompts/get", json!({ "name": "p" }));
        let go = json!([{ "role": "user", "content": { "type": "text", "text": "Go." } }]);
        assert_eq!(prompt["messages"], go);
        let content = |name: &str, arguments| client.call(name, arguments)["content"].clone();
        let read = content("read", json!({}));
        assert_eq!((&read[0]["resource"]["text"], read.as_array().unwrap().len()), (&json!("ok"), 1), "{read}");
        assert_eq!(content("inline", json!({})), json!([]));
        assert_eq!(content("inline", json!({ "x": "y" })).as_array().unwrap().len(), 1);
        // Who reads it gets what it is.
        assert_eq!(client.read_text("e://e"), "");
    });
}

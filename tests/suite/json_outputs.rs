//! The `json` of outcomes: of what is JSON, of scalars, and of what is no JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::harness::*;
use crate::upstream_server::{Reply, Upstream};

const PLAIN: &str = "Hello there\\nmore";
const NOT_JSON: &str =
    "`steps.x.json` is not JSON: the output begins with `Hello there`; use `steps.x.stdout` for its text";

/// What a program prints, a template that reads it, and what that makes: a text, or an error.
const CASES: &[(&str, &str, Result<&str, &str>)] = &[
    (PLAIN, "{{steps.x.json}}", Err(NOT_JSON)),
    (PLAIN, "[{{steps.x.json.a}}]", Err(NOT_JSON)),
    (PLAIN, "{{json steps.x.json}}", Err(NOT_JSON)),
    (PLAIN, "{{len steps.x.json}}", Err(NOT_JSON)),
    (PLAIN, "{{#each steps.x.json}}-{{/each}}", Err(NOT_JSON)),
    (PLAIN, "{{#if arguments}}{{steps.x.json.a}}{{/if}}", Err(NOT_JSON)),
    (PLAIN, "{{#if arguments}}{{upper (trim steps.x.json.a)}}{{/if}}", Err(NOT_JSON)),
    (PLAIN, "{{#if steps.x.json}}{{steps.x.json.a}}{{else}}{{steps.x.stdout}}{{/if}}", Ok("Hello there\nmore")),
    (PLAIN, "{{#unless steps.x.json.a}}none{{/unless}}", Ok("none")),
    (PLAIN, "{{#with steps.x.json}}{{a}}{{else}}none{{/with}}", Ok("none")),
    (PLAIN, "{{default steps.x.json.a \"none\"}}", Ok("none")),
    (PLAIN, "{{#if arguments}}{{default steps.x.json.a \"none\"}}{{/if}}", Ok("none")),
    (PLAIN, "{{eq steps.x.json.a 1}}{{not steps.x.json}}", Ok("falsetrue")),
    (PLAIN, "{{steps.x.stdout}}", Ok("Hello there\nmore")),
    ("", "{{steps.x.json}}", Err("`steps.x.json` is not JSON: the output is empty; use `steps.x.stdout` for its text")),
    ("{a", "{{steps.x.json}}", Err("`steps.x.json` is not JSON: the output begins with `{a`")),
    ("12 files", "{{steps.x.json}}", Err("is not JSON")),
    ("{}", "[{{steps.x.json.a}}]", Ok("[]")),
    ("12\\n", "{{steps.x.json}} {{add steps.x.json 1}}", Ok("12 13")),
    ("true", "{{#if steps.x.json}}yes{{/if}}", Ok("yes")),
    ("false", "{{#if steps.x.json}}yes{{else}}no{{/if}} {{steps.x.json}}", Ok("no false")),
    ("\"a b\"", "{{steps.x.json}}", Ok("a b")),
    ("null", "[{{steps.x.json}}]", Ok("[null]")),
    ("null", "{{#if arguments}}[{{steps.x.json}}]{{/if}}", Ok("[null]")),
    ("null", "{{#if steps.x.json}}x{{else}}none{{/if}}{{steps.x.json.a}}", Ok("none")),
];

fn manifest() -> String {
    let mut manifest = "folio: 1\nserver: { name: outputs }\ntools:\n".to_owned();
    for (at, (output, template, _)) in CASES.iter().enumerate() {
        let (output, template) = (Value::from(*output).to_string().replace("\\\\", "\\"), Value::from(*template));
        let run = format!("[{{ id: x, exec: [printf, \"%s\", {output}] }}]");
        let _ = writeln!(
            manifest,
            "  t{at}: {{ description: D, arguments: {{ a: {{}} }}, run: {run}, result: {{ text: {template} }} }}"
        );
    }
    manifest
}

#[test]
fn json_of_other_output_is_an_error_where_used() {
    let folder = TestFolder::with_manifest(&manifest());
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    for (at, (output, template, expected)) in CASES.iter().enumerate() {
        let answer = client.call(&format!("t{at}"), json!({ "a": "x" }));
        let (text, failed) = (text_of(&answer["content"][0]), answer["isError"] == true);
        match expected {
            Ok(expected) => assert_eq!((text.as_str(), failed), (*expected, false), "{output}: {template}"),
            Err(expected) => assert!(failed && text.contains(expected), "{output}: {template}: {answer}"),
        }
    }
}

const PLACES: &str = r#"folio: 1
server: { name: places }
tools:
  when: { description: D, run: [{ id: x, exec: [printf, no] }, { id: y, when: "{{steps.x.json.a}}", exec: [printf, ran] }], result: { text: "{{json steps.y}}" } }
  if: { description: D, run: [{ id: x, exec: [printf, no] }, { exec: [printf, "%s", { if: "{{steps.x.json}}", then: [yes], else: [otherwise] }] }] }
  each: { description: D, run: [{ id: x, exec: [printf, no] }, { each: "{{steps.x.json}}", exec: [printf, x] }] }
  blocks: { description: D, run: [{ id: x, exec: [printf, no] }], result: { content: [{ each: steps.x.json, text: "{{this}}" }] } }
  structured: { description: D, run: { exec: [printf, no] }, result: { structuredContent: { a: "{{result.json}}" } } }
  "null": { description: D, run: { exec: [printf, "null"] }, result: { structuredContent: { a: "{{result.json}}", b: ["{{result.json}}"], gone: "{{result.json.x}}" } } }
  from: { description: D, run: [{ id: x, exec: [printf, no] }, { id: v, set: { a: { select: "a", from: "{{steps.x.json}}" } } }] }
  repeated: { description: D, run: [{ id: list, exec: [printf, "[1,2]"] }, { id: x, each: "{{steps.list.json}}", exec: [printf, "no {{this}}"] }, { exec: [printf, "%s", "{{steps.x.[1].json}}"] }] }
  scalar: { description: D, run: { exec: [printf, "41"] }, result: { select: "{ n: @, more: sum([@, `1`]) }" } }
  skipped: { description: D, run: [{ id: x, when: "{{eq 1 2}}", exec: [printf, no] }, { exec: [printf, "[%s]", "-{{steps.x.json.a}}"] }] }
  exits: { description: D, run: { exec: [sh, -c, "echo '{\"why\":\"gone\"}'; exit 3"], onExit: { 3: "It is {{json.why}}." } } }
  words: { description: D, run: { exec: [sh, -c, "echo no; exit 3"], onExit: { 3: "It is {{json.why}}." } } }
  formats: { description: D, run: { exec: [sh, -c, "echo '{\"a\":1}'; exit 3"], parse: jsonl, onExit: { 3: "first {{json.[0].a}}, {{len json}} in all" } } }
  csv: { description: D, run: [{ id: x, onFail: continue, parse: csv, exec: [sh, -c, "printf 'a,b\n1,2\n'; exit 3"] }], result: { text: "{{steps.x.json.[0].b}}" } }
  ends: { description: D, run: [{ id: x, exec: [sh, -c, "printf 'o\n\n'; printf 'e\r\n\r\n' >&2"] }], result: { text: "{{json steps.x.stdout}}{{json steps.x.stderr}}" } }
  failed: { description: D, run: [{ id: x, onFail: continue, exec: [sh, -c, "echo '{\"why\":\"gone\"}'; exit 3"] }], result: { text: "{{steps.x.error.exit}} {{steps.x.json.why}}" } }
prompts:
  said: { run: [{ id: x, exec: [printf, no] }], text: "{{steps.x.json.a}}" }
"#;

#[test]
fn json_of_other_output_is_an_error_in_every_place() {
    let folder = TestFolder::with_manifest(PLACES);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    let call = |name: &str| client.call(name, json!({}));
    assert_eq!(client.call_text("when", json!({})), "null");
    assert_eq!(client.call_text("if", json!({})), "otherwise");
    for name in ["each", "blocks", "structured", "from", "repeated"] {
        let answer = call(name);
        let text = text_of(&answer["content"][0]);
        assert!(
            answer["isError"] == true && text.contains("json` is not JSON: the output begins with `no"),
            "{name}: {answer}"
        );
    }
    assert!(text_of(&call("repeated")["content"][0]).contains("use `steps.x.1.stdout`"), "{}", call("repeated"));
    assert_eq!(call("null")["structuredContent"], json!({ "a": null, "b": [null] }));
    assert_eq!(call("scalar")["structuredContent"], json!({ "n": 41, "more": 42 }));
    assert_eq!(text_of(&call("formats")["content"][0]), "first 1, 1 in all");
    assert_eq!(client.call_text("csv", json!({})), "2");
    assert_eq!(client.call_text("ends", json!({})), r#""o\n""e\r\n""#);
    assert_eq!(client.call_text("skipped", json!({})), "[-]");
    assert_eq!(text_of(&call("exits")["content"][0]), "It is gone.");
    assert!(text_of(&call("words")["content"][0]).starts_with("`sh` exited with code 3"), "{}", call("words"));
    assert_eq!(client.call_text("failed", json!({})), "3 gone");
    let error = client.error("prompts/get", json!({ "name": "said" }));
    assert!(error["code"] == -32603 && error["message"].as_str().unwrap().contains("use `steps.x.stdout`"), "{error}");
}

#[test]
fn non_json_response_keeps_its_status() {
    let upstream = Upstream::start(|request, _| match request.target.as_str() {
        "/json" => Reply::json(404, &json!({ "message": "gone" })),
        _ => Reply::with_headers(502, &[("content-type", "text/plain")], "Bad gateway"),
    });
    let url = upstream.url();
    let http = |path: &str| {
        format!(
            "{{ http: {{ url: \"{url}/{path}\", allow: [127.0.0.1], onError: {{ default: \"It says {{{{json.message}}}}\" }} }} }}"
        )
    };
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: s }}\ntools:\n  json: {{ description: D, arguments: {{ json: {{ type: object }} }}, run: {} }}\n  page: {{ description: D, arguments: {{ json: {{ type: object }} }}, run: {} }}\n",
        http("json"),
        http("page"),
    ));
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    let text =
        |name: &str| text_of(&client.call(name, json!({ "json": { "message": "of the argument" } }))["content"][0]);
    assert_eq!(text("json"), "It says gone");
    assert!(text("page").contains("502 Bad Gateway: Bad gateway"), "{}", text("page"));
}

const LARGE: &str = r#"folio: 1
server: { name: large }
x-run: &run { shell: sh, text: "cat numbers" }
tools:
  text: { description: D, maxOutput: 64MiB, run: { script: *run }, result: { text: "{{len result.stdout}}" } }
  step: { description: D, maxOutput: 64MiB, run: [{ id: x, script: *run }], result: { text: "{{len steps.x.stdout}}" } }
  json: { description: D, maxOutput: 64MiB, run: [{ id: x, script: *run }], result: { text: "{{len steps.x.json}}" } }
  parsed: { description: D, maxOutput: 64MiB, run: [{ id: x, script: *run, parse: json }], result: { text: "{{len steps.x.json}}" } }
  selected: { description: D, maxOutput: 64MiB, run: { script: *run }, result: { select: "length(@)" } }
  fails: { description: D, maxOutput: 64MiB, run: { script: { shell: sh, text: "cat numbers; echo gone >&2; exit 3" } } }
  http: { description: D, maxOutput: 64MiB, run: [{ id: x, http: { url: "URL/", allow: [127.0.0.1] } }], result: { text: "{{len steps.x.body}}" } }
  body: { description: D, maxOutput: 64MiB, run: [{ id: x, http: { url: "URL/", allow: [127.0.0.1] } }], result: { text: "{{len steps.x.json}}" } }
"#;

#[test]
fn large_json_that_nobody_reads_stays_text() {
    let numbers = format!("[{}1]", "1,".repeat(4_000_000));
    let body = numbers.clone();
    let upstream =
        Upstream::start(move |_, _| Reply::with_headers(200, &[("content-type", "application/json")], &body));
    let folder = TestFolder::new(&[("folio.yaml", &LARGE.replace("URL", &upstream.url())), ("numbers", &numbers)]);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    let call = |name: &str| {
        let result = client.call(name, json!({}));
        (result["isError"] == true, text_of(&result["content"][0]))
    };
    for name in ["text", "step", "http"] {
        assert_eq!(call(name), (false, numbers.len().to_string()), "{name}");
    }
    for (name, text) in [("json", "stdout"), ("body", "body")] {
        let (is_error, said) = call(name);
        let found = format!("the JSON of {} bytes takes more memory than the 128 MiB of a call", numbers.len());
        let words = format!("`steps.x.json` is not there: {found}; use `steps.x.{text}` for its text");
        assert!(is_error && said.starts_with(&words), "{name}: {said}");
    }
    let (is_error, said) = call("parsed");
    assert!(is_error && said.starts_with("output too large to parse: its 8000003 bytes"), "{said}");
    let (is_error, said) = call("selected");
    let words =
        "`select` requires JSON output: `result.json` is not there: the JSON of 8000003 bytes takes more memory";
    assert!(is_error && said.starts_with(words), "{said}");
    let (is_error, said) = call("fails");
    assert!(is_error && said.contains("exited with code 3") && said.contains("gone"), "{said}");
}

//! Tools: runs and results.

use serde_json::json;

use super::{CatalogFixture, StubWorld};

const PROGRAMS: &str = r#"
tools:
  argv:
    description: d
    arguments: { a: {}, b: { allowDash: true }, on: { type: boolean }, l: { type: array, items: { type: string } } }
    run: { exec: [printf, "[%s]", "x{{a}}", { if: on, then: [yes], else: [no] }, { each: l, then: [-l, "{{this}}"] }, "{{b}}", --, "{{a}}"] }
  dash: { description: d, arguments: { a: {} }, run: { exec: [echo, "{{a}}"] } }
  dashes: { description: d, arguments: { l: { type: array } }, run: { exec: [echo, { each: l, then: ["{{this}}"] }] } }
  stdin: { description: d, arguments: { a: {} }, run: { exec: [cat], stdin: "<{{a}}>", env: { WHO: "{{a}}" } } }
  env: { description: d, arguments: { a: {}, l: { type: array }, none: {} }, run: { script: { shell: sh, text: 'echo "$WHO $a $l ${none-unset}"; ls' }, env: { WHO: "me {{a}}" }, cwd: sub } }
  exit: { description: d, arguments: { code: { type: integer } }, run: { script: { shell: sh, text: "echo out; printf '\\033[31mred\\033[0m' >&2; exit $code" }, okExit: [0, 1] } }
  json: { description: d, run: { exec: [echo, '{"a": [1, 2]}'] } }
  text: { description: d, run: { exec: [echo, "[not json"] } }
  number: { description: d, run: { exec: [echo, "42"] } }
  promised: { description: d, outputSchema: { type: integer }, run: { exec: [echo, "42"] } }
  breach: { description: d, outputSchema: { type: object, required: [id] }, run: { exec: [echo, "{}"] } }
  nothing: { description: d, outputSchema: { type: object }, result: { text: x } }
  slow: { description: d, timeout: 200ms, run: { script: { shell: sh, text: "echo begun >&2; sleep 30" } } }
  much: { description: d, maxOutput: 100B, run: { script: { shell: sh, text: "i=0; while [ $i -lt 100 ]; do printf 'é%d ' $i; i=$((i+1)); done" } } }
  cut: { description: d, maxOutput: 20B, run: { exec: [echo, '{"a": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}'] } }
  image: { description: d, run: { exec: [printf, '\211PNG\r\n\032\n\0\0'] } }
  bytes: { description: d, run: { exec: [printf, 'a\377b'] } }
  missing: { description: d, run: { exec: [folio-no-such-program] } }
"#;

fn fixture() -> CatalogFixture {
    CatalogFixture::with_files(&[("folio.yaml", PROGRAMS), ("sub/here.txt", "")], &[])
}

#[test]
fn value_is_one_argv_element() {
    let fixture = fixture();
    let text = fixture.text("argv", json!({ "a": "$(ls) 'b' c", "b": "-b", "on": true, "l": ["p", "q r"] }));
    assert_eq!(text, "[x$(ls) 'b' c][yes][-l][p][-l][q r][-b][--][$(ls) 'b' c]");
    assert_eq!(fixture.text("argv", json!({ "a": "-a" })), "[x-a][no][--][-a]");
}

#[test]
fn leading_dash_value_names_its_argument() {
    let fixture = fixture();
    assert!(fixture.failure("dash", json!({ "a": "-rf" })).contains("`a`"));
    assert!(fixture.failure("dashes", json!({ "l": ["x", "--output=y"] })).contains("`l`"));
    assert_eq!(fixture.text("dash", json!({ "a": "r-f" })).trim(), "r-f");
}

#[test]
fn stdin_and_environment_follow_manifest() {
    let fixture = fixture();
    assert_eq!(fixture.text("stdin", json!({ "a": "{{b}}\n" })), "<{{b}}\n>");
    let text = fixture.text("env", json!({ "a": "$HOME", "l": [1, "x"] }));
    assert_eq!(text, "me $HOME $HOME [1,\"x\"] unset\nhere.txt\n");
}

#[test]
fn unexpected_exit_code_includes_stderr() {
    let fixture = fixture();
    assert_eq!(fixture.text("exit", json!({ "code": 1 })), "out\n");
    assert_eq!(fixture.failure("exit", json!({ "code": 2 })), "`sh` exited with code 2:\nstderr:\nred\nstdout:\nout");
    assert!(fixture.failure("missing", json!({})).contains("folio-no-such-program"));
}

#[test]
fn only_json_objects_and_arrays_become_structured() {
    let fixture = fixture();
    let answer = fixture.call("json", json!({}));
    assert_eq!(answer.structured, Some(json!({ "a": [1, 2] })));
    assert_eq!(super::texts(&answer), r#"{"a": [1, 2]}"#);
    assert_eq!(fixture.call("text", json!({})).structured, None);
    assert_eq!(fixture.call("number", json!({})).structured, None);
    assert_eq!(fixture.call("promised", json!({})).structured, Some(json!(42)));
}

#[test]
fn output_schema_violation_is_an_error() {
    let fixture = fixture();
    let message = fixture.failure("breach", json!({}));
    assert!(message.contains("outputSchema") && message.contains("`id`"), "{message}");
    assert!(fixture.failure("nothing", json!({})).contains("structured"));
}

#[test]
fn timeout_and_max_output_are_enforced() {
    let fixture = fixture();
    let message = fixture.failure("slow", json!({}));
    assert!(message.contains("200") && message.contains("begun"), "{message}");
    let text = fixture.text("much", json!({}));
    let (kept, last) = text.trim_end().rsplit_once('\n').unwrap();
    assert!(kept.len() <= 100 && kept.starts_with("é0 é1"), "{kept}");
    assert!(last.contains(|character: char| character.is_ascii_digit()), "{last}");
    let message = fixture.failure("cut", json!({}));
    assert!(message.contains("truncated JSON") && message.contains("20"), "{message}");
}

#[test]
fn binary_output_becomes_image_or_escaped_text() {
    let fixture = fixture();
    let image = serde_json::to_value(&fixture.call("image", json!({})).content).unwrap();
    assert_eq!(image[0]["type"], "image");
    assert_eq!(image[0]["mimeType"], "image/png");
    let text = fixture.text("bytes", json!({}));
    assert!(text.contains('a') && text.contains('b') && text != "ab", "{text:?}");
}

const RESULTS: &str = r#"
tools:
  selected:
    description: d
    arguments: { n: { type: integer } }
    result: { select: "{twice: [n, n]}", text: "{{json result}}" }
  typed:
    description: d
    arguments: { n: { type: integer }, t: {} }
    run: { exec: [echo, '{"items": [{"id": 1}, {"id": 2}]}'] }
    result: { select: items, structuredContent: { n: "{{n}}", all: "{{result}}", first: "{{result.0.id}}", text: "n={{n}}", t: "{{t}}" } }
  blocks:
    description: d
    arguments: { names: { type: array }, more: { type: boolean } }
    result:
      content:
        - { each: names, text: "- {{this}}", annotations: { audience: [user], priority: 0.5 } }
        - { text: more, when: "{{more}}" }
        - { resource: "a://x" }
        - { resourceLink: "a://x" }
        - { resource: { uri: "b://{{more}}", text: "inline" } }
        - { image: { base64: "R0lGODlhAQABAAAAADs=", mimeType: image/gif } }
  misfit:
    description: d
    run: { exec: [echo, hello] }
    result: { select: a }
  fields:
    description: d
    run: { exec: [echo, "hello\n"] }
    result: { text: "{{result.stdout}}.{{result.exit}}.{{result.stderr}}.{{default result.json \"\"}}" }
resources:
  x: { uri: "a://x", title: X, text: embedded }
"#;

#[test]
fn without_a_run_select_sees_the_arguments() {
    assert_eq!(CatalogFixture::new(RESULTS).text("selected", json!({ "n": 2 })), r#"{"twice":[2,2]}"#);
}

#[test]
fn single_value_template_leaves_keep_type() {
    let answer = CatalogFixture::new(RESULTS).call("typed", json!({ "n": 5 }));
    let wanted = json!({ "n": 5, "all": [{ "id": 1 }, { "id": 2 }], "first": 1, "text": "n=5" });
    assert_eq!(answer.structured, Some(wanted));
}

#[test]
fn blocks_respect_each_and_when() {
    let fixture = CatalogFixture::new(RESULTS);
    let answer = fixture.call("blocks", json!({ "names": ["a", "b"], "more": true }));
    let blocks = serde_json::to_value(&answer.content).unwrap();
    let kinds: Vec<&str> = blocks.as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "text", "text", "resource", "resource_link", "resource", "image"]);
    assert_eq!(
        blocks[1],
        json!({ "type": "text", "text": "- b", "annotations": { "audience": ["user"], "priority": 0.5 } })
    );
    assert_eq!(blocks[3]["resource"]["text"], "embedded");
    assert_eq!(blocks[4]["title"], "X");
    assert_eq!(blocks[5]["resource"]["uri"], "b://true");
    let answer = fixture.call("blocks", json!({}));
    assert_eq!(answer.content.len(), 4, "{answer:?}");
}

#[test]
fn outcome_has_documented_fields() {
    let fixture = CatalogFixture::new(RESULTS);
    assert_eq!(fixture.text("fields", json!({})), "hello\n.0..");
    assert!(fixture.failure("misfit", json!({})).contains("select"));
}

#[test]
fn unexpected_http_status_is_an_error() {
    let manifest = r#"
tools:
  plain: { description: d, run: { http: { url: "https://api.example/" } } }
  worded: { description: d, arguments: { id: {} }, run: { http: { url: "https://api.example/{{id}}", onError: { 404: "no issue {{id}}" } } } }
  expected: { description: d, run: { http: { url: "https://api.example/", expect: [404] } }, result: { text: "{{result.status}} {{result.json.a}} {{result.headers.content-type}}" } }
"#;
    let mut fixture = CatalogFixture::new(manifest);
    fixture.world = StubWorld::new(404, "application/json", r#"{"a": "gone"}"#);
    let message = fixture.failure("plain", json!({}));
    assert!(
        message.contains("GET https://api.example/") && message.contains("404") && message.contains("gone"),
        "{message}"
    );
    assert_eq!(fixture.failure("worded", json!({ "id": "7" })), "no issue 7");
    assert_eq!(fixture.text("expected", json!({})), "404 gone application/json");
    assert!(fixture.failure("worded", json!({ "id": ".." })).contains("`id`"));
}

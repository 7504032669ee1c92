//! What tools do, and what is made of it.

use serde_json::json;

use super::{Desk, Stage};

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

fn desk() -> Desk {
    Desk::of(&[("folio.yaml", PROGRAMS), ("sub/here.txt", "")], &[])
}

#[test]
fn a_value_is_one_element_and_elements_come_and_go() {
    let desk = desk();
    let text = desk.text("argv", json!({ "a": "$(ls) 'b' c", "b": "-b", "on": true, "l": ["p", "q r"] }));
    assert_eq!(text, "[x$(ls) 'b' c][yes][-l][p][-l][q r][-b][--][$(ls) 'b' c]");
    assert_eq!(desk.text("argv", json!({ "a": "-a" })), "[x-a][no][--][-a]");
}

#[test]
fn a_value_that_would_be_an_option_is_refused_by_the_name_of_its_argument() {
    let desk = desk();
    assert!(desk.failure("dash", json!({ "a": "-rf" })).contains("`a`"));
    assert!(desk.failure("dashes", json!({ "l": ["x", "--output=y"] })).contains("`l`"));
    assert_eq!(desk.text("dash", json!({ "a": "r-f" })).trim(), "r-f");
}

#[test]
fn stdin_and_environment_are_what_the_manifest_hands_over() {
    let desk = desk();
    assert_eq!(desk.text("stdin", json!({ "a": "{{b}}\n" })), "<{{b}}\n>");
    let text = desk.text("env", json!({ "a": "$HOME", "l": [1, "x"] }));
    assert_eq!(text, "me $HOME $HOME [1,\"x\"] unset\nhere.txt\n");
}

#[test]
fn an_exit_code_that_is_not_expected_is_told_with_what_was_said() {
    let desk = desk();
    assert_eq!(desk.text("exit", json!({ "code": 1 })), "out\n");
    assert_eq!(desk.failure("exit", json!({ "code": 2 })), "`sh` ended with exit code 2:\nred");
    assert!(desk.failure("missing", json!({})).contains("folio-no-such-program"));
}

#[test]
fn json_becomes_structure_and_other_text_does_not() {
    let desk = desk();
    let answer = desk.call("json", json!({}));
    assert_eq!(answer.structured, Some(json!({ "a": [1, 2] })));
    assert_eq!(super::texts(&answer), r#"{"a": [1, 2]}"#);
    assert_eq!(desk.call("text", json!({})).structured, None);
    assert_eq!(desk.call("number", json!({})).structured, None);
    assert_eq!(desk.call("promised", json!({})).structured, Some(json!(42)));
}

#[test]
fn a_breach_of_the_promise_is_an_error_that_says_what_did_not_fit() {
    let desk = desk();
    let words = desk.failure("breach", json!({}));
    assert!(words.contains("outputSchema") && words.contains("`id`"), "{words}");
    assert!(desk.failure("nothing", json!({})).contains("structured"));
}

#[test]
fn time_and_size_have_their_limits() {
    let desk = desk();
    let words = desk.failure("slow", json!({}));
    assert!(words.contains("200") && words.contains("begun"), "{words}");
    let text = desk.text("much", json!({}));
    let (kept, last) = text.trim_end().rsplit_once('\n').unwrap();
    assert!(kept.len() <= 100 && kept.starts_with("é0 é1"), "{kept}");
    assert!(last.contains(|letter: char| letter.is_ascii_digit()), "{last}");
    let words = desk.failure("cut", json!({}));
    assert!(words.contains("cut") && words.contains("20"), "{words}");
}

#[test]
fn bytes_become_an_image_or_marked_text() {
    let desk = desk();
    let image = serde_json::to_value(&desk.call("image", json!({})).content).unwrap();
    assert_eq!(image[0]["type"], "image");
    assert_eq!(image[0]["mimeType"], "image/png");
    let text = desk.text("bytes", json!({}));
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
        - { image: { base64: "aGk=", mimeType: image/gif } }
  misfit:
    description: d
    run: { exec: [echo, hello] }
    result: { select: a }
  fields:
    description: d
    run: { exec: [echo, "hello\n"] }
    result: { text: "{{result.stdout}}.{{result.exit}}.{{result.stderr}}.{{result.json}}" }
resources:
  x: { uri: "a://x", title: X, text: embedded }
"#;

#[test]
fn without_a_run_select_sees_the_arguments() {
    assert_eq!(Desk::new(RESULTS).text("selected", json!({ "n": 2 })), r#"{"twice":[2,2]}"#);
}

#[test]
fn leaves_that_are_one_value_keep_their_type() {
    let answer = Desk::new(RESULTS).call("typed", json!({ "n": 5 }));
    let wanted = json!({ "n": 5, "all": [{ "id": 1 }, { "id": 2 }], "first": 1, "text": "n=5" });
    assert_eq!(answer.structured, Some(wanted));
}

#[test]
fn blocks_come_for_each_item_and_only_when_they_should() {
    let desk = Desk::new(RESULTS);
    let answer = desk.call("blocks", json!({ "names": ["a", "b"], "more": true }));
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
    let answer = desk.call("blocks", json!({}));
    assert_eq!(answer.content.len(), 4, "{answer:?}");
}

#[test]
fn an_outcome_has_the_fields_that_are_promised() {
    let desk = Desk::new(RESULTS);
    assert_eq!(desk.text("fields", json!({})), "hello\n.0..");
    assert!(desk.failure("misfit", json!({})).contains("select"));
}

#[test]
fn statuses_are_errors_unless_they_are_expected() {
    let manifest = r#"
tools:
  plain: { description: d, run: { http: { url: "https://api.example/" } } }
  worded: { description: d, arguments: { id: {} }, run: { http: { url: "https://api.example/{{id}}", onError: { 404: "no issue {{id}}" } } } }
  expected: { description: d, run: { http: { url: "https://api.example/", expect: [404] } }, result: { text: "{{result.status}} {{result.json.a}} {{result.headers.content-type}}" } }
"#;
    let mut desk = Desk::new(manifest);
    desk.world = Stage::new(404, "application/json", r#"{"a": "gone"}"#);
    let words = desk.failure("plain", json!({}));
    assert!(words.contains("`api.example`") && words.contains("404") && words.contains("gone"), "{words}");
    assert_eq!(desk.failure("worded", json!({ "id": "7" })), "no issue 7");
    assert_eq!(desk.text("expected", json!({})), "404 gone application/json");
    assert!(desk.failure("worded", json!({ "id": ".." })).contains("`id`"));
}

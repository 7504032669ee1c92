//! Values that steps name and reshape, and tools that are for steps alone.

use std::fs;

use serde_json::{Value, json};

use crate::harness::*;

const VALUES: &str = r#"folio: 1
server: { name: values }
packs: { p: { path: pack } }
tools:
  named:
    description: Names values
    arguments: { name: {}, list: { type: array } }
    run:
      - { id: list, exec: [printf, '[{"n":1,"name":"a"},{"n":2,"name":"b"}]'] }
      - id: v
        set:
          trimmed: "{{trim name}}"
          list: "{{list}}"
          count: 3
          map: { inner: "{{name}}", "select": "kept with other keys" }
          none: "{{steps.list.stderr}}"
          names: { select: "[].name", from: "{{steps.list.json}}" }
          sum: { select: "sum([].n)", from: "{{steps.list.json}}" }
          half: { select: "sum(@)", from: [1, 0.5] }
          numbers: { select: "{ ceil: ceil(@[0]), floor: floor(@[1]), abs: abs(@[2]) }", from: [1.2, 3.7, -4] }
          joined: { select: "join(', ', @)", from: ["{{name}}", x] }
      - { id: nothing, when: "{{eq 1 2}}", set: { a: 1 } }
      - { id: w, set: { again: "{{steps.v.names.[1]}}-{{steps.v.count}}", skipped: "{{json steps.nothing.a}}" } }
    result: { structuredContent: { v: "{{steps.v}}", w: "{{steps.w}}" } }
  speaks: { description: Its value is the result, arguments: { name: {} }, run: { set: { name: "{{name}}", sum: { select: "sum(@)", from: [9007199254740993, 1] } } } }
  big: { description: Sums what is too big, run: { set: { sum: { select: "sum(@)", from: [9223372036854775807, 9223372036854775807] } } } }
  mismatch: { description: Selects what is not there, arguments: { name: {} }, run: [{ id: a, onFail: continue, set: { x: { select: "sum(@)", from: "{{name}}" } } }], result: { text: "{{steps.a.error.text}}" } }
  double:
    hidden: true
    arguments: { word: { required: true, maxLength: 5 } }
    run: { exec: [printf, "%s%s", "{{word}}", "{{word}}"] }
  calls:
    description: Calls the hidden one
    arguments: { word: {} }
    run: [{ id: a, tool: { name: double, arguments: { word: "{{word}}" } } }, { id: b, tool: p-inner }]
    result: { text: "{{steps.a.text}} {{steps.b.text}}" }
"#;

const PACK: &str =
    "folio: 1\nserver: { name: pack }\ntools:\n  inner: { hidden: true, result: { text: of the pack } }\n";

fn values_folder() -> TestFolder {
    TestFolder::new(&[("folio.yaml", VALUES), ("pack/folio.yaml", PACK)])
}

#[test]
fn values_are_named_and_reshaped() {
    let folder = values_folder();
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    let given =
        client.call("named", json!({ "name": " é{{x}} ", "list": [1, "two", null] }))["structuredContent"].clone();
    let expected = json!({
        "trimmed": "é{{x}}", "list": [1, "two", null], "count": 3,
        "map": { "inner": " é{{x}} ", "select": "kept with other keys" }, "none": "", "names": ["a", "b"], "sum": 3,
        "half": 1.5, "numbers": { "abs": 4, "ceil": 2, "floor": 3 }, "joined": " é{{x}} , x",
    });
    assert_eq!(given["v"], expected, "{given}");
    assert_eq!(given["w"], json!({ "again": "b-3", "skipped": "null" }), "{given}");
    let spoken = client.call("speaks", json!({ "name": "x" }));
    assert_eq!(spoken["structuredContent"].to_string(), r#"{"name":"x","sum":9007199254740994}"#, "{spoken}");
    assert!(client.call("big", json!({}))["structuredContent"]["sum"].is_number());
    assert!(client.call_text("mismatch", json!({ "name": "x" })).contains("`select` of `steps.a.x` failed"));
}

#[test]
fn hidden_tool_is_only_for_steps() {
    let folder = values_folder();
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let listed = client.result("tools/list", json!({}))["tools"].clone();
        let names: Vec<&str> = listed.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert!(names.contains(&"calls") && !names.contains(&"double") && !names.contains(&"p-inner"), "{names:?}");
        assert_eq!(client.call_text("calls", json!({ "word": "ab" })), "abab of the pack");
        let refused = client.call("calls", json!({ "word": "abcdef" }));
        assert_eq!(refused["isError"], true, "{refused}");
        let error = |name: &str| {
            let mut error = client.error("tools/call", json!({ "name": name, "arguments": { "word": "a" } }));
            error["message"] = Value::from(error["message"].as_str().unwrap().replace(name, "NAME"));
            error
        };
        assert_eq!(error("double"), error("nobody"));
        assert_eq!(error("p-inner"), error("nobody"));
    });
}

#[test]
fn invalid_set_and_hidden_are_reported_at_load() {
    let folder = TestFolder::with_manifest("");
    let tool = |run: &str| format!("{{ description: T, arguments: {{ a: {{}} }}, run: {run} }}");
    for (tool, words, code) in [
        (tool("{ set: {} }"), "missing name in `set`", 1),
        (tool("{ set: [a] }"), "set", 1),
        (tool("{ set: { \"a-b\": 1 } }"), "invalid name `a-b` in `set`", 1),
        (tool("{ set: { a: \"{{nobody}}\" } }"), "unknown variable `nobody`", 1),
        (tool("{ set: { a: \"{{env.KEY}}\" } }"), "secret `KEY` is exposed to clients", 1),
        (tool("{ set: { a: { select: \"a\" } } }"), "missing key `from` beside `select`", 1),
        (tool("{ set: { a: { select: \"a[\", from: \"{{a}}\" } } }"), "invalid JMESPath", 1),
        (tool("{ set: { a: { select: \"a\", from: text } } }"), "`from` is a text", 0),
        (tool("[{ id: s, set: { x: 1 } }, { log: \"{{steps.s.y}}\" }]"), "unknown field `y`", 1),
        ("{ hidden: true, result: { text: x } }".to_owned(), "unused hidden tool `t`", 0),
        ("{ hidden: yes please, result: { text: x } }".to_owned(), "hidden", 1),
        ("{ hidden: true, task: optional, run: { sleep: 1s } }".to_owned(), "`task` cannot be used with `hidden`", 1),
        ("{ hidden: true, run: { tool: t } }".to_owned(), "cyclic run", 1),
    ] {
        let manifest = format!(
            "folio: 1\nserver: {{ name: a }}\nenv: {{ KEY: {{ secret: true, default: abcdefgh }} }}\ntools:\n  t: {tool}\n"
        );
        fs::write(folder.join("folio.yaml"), manifest).unwrap();
        let ran = run_folio(folder.path(), &["check", "."]);
        assert_eq!(ran.code, Some(code), "{tool}: {ran:?}");
        assert!(ran.out.contains(words) || ran.err.contains(words), "{tool}: {ran:?}");
    }
}

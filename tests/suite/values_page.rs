//! The tables of docs/values.md: fields of outcomes as the types have them, and what absent values do.

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;

use crate::doc_tables::{quoted, read};
use crate::harness::{TestFolder, run_folio};

/// The rows of the table below a line that begins with `head`, as cells.
fn rows(head: &str) -> Vec<Vec<String>> {
    let page = read("docs/values.md");
    let lines = page.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let rows = lines.take_while(|line| line.starts_with('|'));
    let rows: Vec<_> =
        rows.map(|row| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()).collect();
    assert!(rows.len() > 3, "{head}");
    rows
}

#[test]
fn every_action_has_its_fields() {
    let rows = rows("| action | fields");
    for action in folio::ACTIONS.iter().filter(|action| action.key != "file") {
        let names_action = |row: &&Vec<String>| quoted(&row[0]).any(|name| name == action.key);
        let row = rows.iter().find(names_action).unwrap_or_else(|| panic!("{}", action.key));
        let fields = (action.outcome_fields)();
        for field in quoted(&fields) {
            assert!(quoted(&row[1]).any(|written| written == field), "{} has `{field}`", action.key);
        }
    }
}

/// The fields that `check` says there are.
fn available(outcome: &str, action: &str) -> BTreeSet<String> {
    let manifest = format!(
        "folio: 1\nserver: {{ name: t }}\nfolders: {{ d: . }}\nresources: {{ r: {{ uri: \"a://b\", text: x }} }}\ntools:\n  t: {{ description: D, run: [{{ id: a, {action} }}], result: {{ text: \"{{{{{outcome}.wrong}}}}\" }} }}\n"
    );
    let ran = run_folio(TestFolder::with_manifest(&manifest).path(), &["check"]);
    let (_, fields) = ran.out.split_once("available fields: ").unwrap_or_else(|| panic!("{}{}", ran.out, ran.err));
    quoted(fields.split(';').next().unwrap()).map(str::to_owned).collect()
}

#[test]
fn questions_and_files_have_their_fields() {
    let ask = |question: &str| available("steps.a.key", &format!("ask: {{ key: {question} }}"));
    let row = |of: &[Vec<String>], name: &str| -> BTreeSet<String> {
        let row = of.iter().find(|row| row[0].contains(name)).unwrap_or_else(|| panic!("{name}"));
        quoted(&row[1]).map(str::to_owned).collect()
    };
    let questions = rows("| question of `ask`");
    assert!(ask("{ sample: { prompt: x, maxTokens: 1 } }").is_subset(&row(&questions, "sample")));
    assert_eq!(ask("{ elicit: { message: m, url: \"https://a.example/\" } }"), row(&questions, "with `url`"));
    let form = ask("{ elicit: { message: m, schema: { name: {} } } }");
    assert_eq!(form, BTreeSet::from(["action".to_owned(), "name".to_owned()]));
    let actions = rows("| action | fields");
    assert_eq!(available("steps.a", "file: { read: x, in: d }"), row(&actions, "file: { read }"));
    assert_eq!(available("steps.a", "file: { list: x, in: d }"), row(&actions, "file: { list }"));
}

const ABSENT: &str = r#"folio: 1
server: { name: absent }
env: { TOKEN: { secret: true } }
folders: { d: { path: d, write: true } }
prompts:
  other: { description: D, arguments: { a: { default: fallback } }, text: "[{{a}}]" }
  message: { description: D, arguments: { x: {} }, messages: [{ user: "{{x}}" }, { user: "[{{x}}]" }] }
resources:
  page: { uri: "page://{id}", text: "{{id}}" }
  log: { uri: "log://recent{?count}", text: "[{{count}}]" }
tools:
  text: { description: D, arguments: { x: {} }, result: { text: "[{{x}}]{{#if x}}y{{else}}n{{/if}}{{#each (split x \",\")}}t{{/each}}{{default x \"y\"}}" } }
  argv: { description: D, arguments: { x: {}, l: { type: array, items: { type: string } } }, run: { exec: [printf, "<%s>", "{{x}}", "--name={{x}}", { if: x, then: [yes] }, { each: l, then: [item] }] } }
  script: { description: D, arguments: { x: {} }, run: { script: { shell: sh, text: 'echo "${x-not set}"' } } }
  env: { description: D, arguments: { x: {} }, run: { exec: [sh, -c, 'echo "${A-not set}|$B"'], env: { A: "{{x}}", B: "b{{x}}" } } }
  stdin: { description: D, arguments: { x: {} }, run: { exec: [wc, -c], stdin: "{{x}}" } }
  path: { description: D, arguments: { x: {} }, run: { http: { url: "https://api.example/items/{{x}}" } } }
  json: { description: D, arguments: { x: {}, w: { default: w } }, run: { http: { url: "https://api.example/a", query: { q: "{{x}}", r: "r{{x}}", s: "s{{x}}{{w}}" }, headers: { X-A: "{{x}}", X-B: "b{{x}}", X-C: "c{{x}}{{w}}" }, json: { a: "{{x}}", b: "b{{x}}", c: ["{{x}}", 1] } } } }
  form: { description: D, arguments: { x: {}, w: { default: w } }, run: { http: { url: "https://api.example/a", form: { q: "{{x}}", r: "r{{x}}", s: "s{{x}}{{w}}" } } } }
  auth: { description: D, run: { http: { url: "https://api.example/a", auth: { bearer: "{{env.TOKEN}}" } } } }
  structured: { description: D, arguments: { x: {} }, result: { structuredContent: { a: "{{x}}", b: "b{{x}}", c: ["{{x}}"] } } }
  tool: { description: D, arguments: { x: {} }, run: { tool: { name: structured, arguments: { x: "{{x}}" } } } }
  prompt: { description: D, arguments: { x: {} }, run: { prompt: { name: other, arguments: { a: "{{x}}" } } } }
  set: { description: D, arguments: { x: {} }, run: [{ id: a, when: x, exec: ["true"] }, { id: b, set: { a: "{{x}}", b: "b{{x}}" } }, { id: c, each: "{{steps.a.json}}", exec: ["true"] }], result: { structuredContent: { a: "{{steps.a}}", b: "{{steps.b}}", c: "{{steps.c}}" } } }
  list: { description: D, arguments: { x: {} }, run: { file: { list: "{{x}}", in: d } } }
  file: { description: D, arguments: { x: {} }, run: { file: { read: "{{x}}", in: d } } }
  write: { description: D, arguments: { x: {} }, run: { file: { write: a.txt, in: d, text: "{{x}}" } } }
  read: { description: D, arguments: { x: {} }, run: { read: "page://{{x}}" } }
  count: { description: D, arguments: { x: {} }, run: { read: "log://recent?count={{x}}" } }
  sleep: { description: D, arguments: { x: {} }, run: { sleep: "{{x}}" } }
tests:
  json: { tool: json, mock: { http: { json: {} } }, expect: { isError: false, sent: { url: "https://api.example/a?s=sw", headers: { x-c: cw }, json: { b: b, c: [1] } } } }
  form: { tool: form, mock: { http: { json: {} } }, expect: { isError: false, sent: { body: "s=sw" } } }
"#;

#[test]
fn absent_values_do_what_the_table_says() {
    let folder = TestFolder::new(&[("folio.yaml", ABSENT), ("d/kept.txt", "x")]);
    let tested = run_folio(folder.path(), &["test"]);
    assert_eq!(tested.code, Some(0), "{}{}", tested.out, tested.err);
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    for (tool, text) in [
        ("text", "[]ny"),
        ("argv", "<--name=>"),
        ("script", "not set"),
        ("env", "|b"),
        ("stdin", "0"),
        ("prompt", "[fallback]"),
        ("count", "[]"),
    ] {
        assert_eq!(client.call_text(tool, json!({})).trim(), text, "{tool}");
    }
    for (tool, words) in [
        ("path", "`x` is an empty segment of a URL path"),
        ("auth", "missing credential: variable `TOKEN` is not set"),
        ("file", "is a folder"),
        ("read", "Resource not found: page://"),
        ("sleep", "invalid duration"),
    ] {
        let result = client.call(tool, json!({}));
        assert!(result["isError"] == true && result.to_string().contains(words), "{tool}: {result}");
    }
    let structured = |tool: &str, arguments| client.call(tool, arguments)["structuredContent"].clone();
    for tool in ["structured", "tool"] {
        assert_eq!(structured(tool, json!({})), json!({ "b": "b", "c": [] }), "{tool}");
    }
    assert_eq!(structured("set", json!({})), json!({ "b": { "a": null, "b": "b" }, "c": [] }));
    let listed = client.call_text("list", json!({}));
    assert!(listed.contains("kept.txt"), "{listed}");
    client.call_text("write", json!({}));
    assert_eq!(fs::read_to_string(folder.join("d/a.txt")).unwrap(), "");
    let messages = client.result("prompts/get", json!({ "name": "message", "arguments": {} }))["messages"].clone();
    assert_eq!(messages, json!([{ "role": "user", "content": { "type": "text", "text": "[]" } }]));
}

const PLACES: &str = r#"folio: 1
server: { name: places }
include: [inner/*.yaml]
env: { DIR: {} }
folders: { data: { path: data }, work: { path: "{{workspace}}" } }
resources: { data: { uri: "data://{+path}", root: data } }
tools:
  outer: { description: D, run: { exec: [pwd] } }
  workspace: { description: D, run: { exec: [pwd], cwd: "{{workspace}}" } }
  variable: { description: D, run: { exec: [pwd], cwd: "{{env.DIR}}" } }
  file: { description: D, run: { file: { read: a.txt, in: data } } }
  work: { description: D, run: { file: { read: w.txt, in: work } } }
  within: { description: D, arguments: { p: { within: "{{workspace}}", required: true } }, run: { exec: [printf, "%s", "{{p}}"] } }
"#;

const INNER: &str = "tools:\n  inner: { description: D, run: { exec: [pwd] } }\n  cwd: { description: D, run: { exec: [pwd], cwd: deep } }\n  program: { description: D, run: { exec: [./run] } }\n";

#[test]
fn paths_begin_where_the_table_says() {
    let folder = TestFolder::new(&[
        ("s/folio.yaml", PLACES),
        ("s/inner/t.yaml", INNER),
        ("s/inner/run", "#!/bin/sh\npwd\n"),
        ("s/inner/deep/.keep", ""),
        ("s/data/a.txt", "of data"),
        ("w/w.txt", "of the workspace"),
    ]);
    fs::set_permissions(folder.join("s/inner/run"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    let at = |path: &str| root.join(path).display().to_string();
    let server = crate::harness::ServeCommand::new(&folder.join("s"))
        .flag("--workspace")
        .flag(&at("w"))
        .env("DIR", &at("s/data"))
        .stdio();
    let client = server.session("2025-06-18");
    for (tool, wanted) in [
        ("outer", at("s")),
        ("inner", at("s/inner")),
        ("cwd", at("s/inner/deep")),
        ("program", at("s/inner")),
        ("workspace", at("w")),
        ("variable", at("s/data")),
        ("file", "of data".to_owned()),
        ("work", "of the workspace".to_owned()),
    ] {
        assert_eq!(client.call_text(tool, json!({})).trim(), wanted, "{tool}");
    }
    assert_eq!(client.call_text("within", json!({ "p": "w.txt" })), at("w/w.txt"));
    assert_eq!(client.read_text("data://a.txt"), "of data");
}

//! Arguments of calls: validation, defaults, and what reaches an action.

use serde_json::json;

use super::{CatalogFixture, StubWorld};
use crate::catalog::result::call_result::CompletionTarget;

const ECHO: &str = r#"
tools:
  show:
    description: d
    arguments:
      name: { required: true, pattern: "^[a-z]+$" }
      count: { type: integer, minimum: 1, default: 3 }
      tags: { type: array, items: { enum: [red, green] } }
      note: {}
    result: { structuredContent: { name: "{{name}}", count: "{{count}}", tags: "{{tags}}", note: "{{note}}" } }
  odd:
    description: d
    inputSchema:
      type: object
      properties: { user-id: { type: integer }, "a b": {} }
    result: { text: "{{arguments.[user-id]}}|{{json arguments}}" }
prompts:
  typed:
    arguments:
      n: { type: integer, minimum: 1 }
      flag: { type: boolean }
      list: { type: array, items: { type: integer } }
      when: { format: date }
    text: "{{json n}} {{json flag}} {{json list}} {{json when}}"
resources:
  issue: { uri: "issue://{id}{?limit}", arguments: { id: { pattern: "^[0-9]+$" }, limit: { type: integer, default: 5 } }, text: "{{id}} {{limit}}" }
"#;

#[test]
fn all_violations_are_reported_with_allowed_values() {
    let fixture = CatalogFixture::new(ECHO);
    let message = fixture.failure("show", json!({ "name": "A1", "count": 0, "tags": ["blue"], "more": 1 }));
    for part in ["`name`", "^[a-z]+$", "`count`", "1", "`tags", "red", "green", "`more`"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(message.lines().count(), 4, "{message}");
}

#[test]
fn tool_arguments_are_not_coerced() {
    let fixture = CatalogFixture::new(ECHO);
    assert!(fixture.failure("show", json!({ "name": "a", "count": "3" })).contains("`count`"));
}

#[test]
fn defaults_are_filled_in_and_absent_values_omitted() {
    let fixture = CatalogFixture::new(ECHO);
    let answer = fixture.call("show", json!({ "name": "ada" }));
    assert_eq!(answer.structured, Some(json!({ "name": "ada", "count": 3 })));
}

#[test]
fn null_arguments_fail_when_one_is_required() {
    let fixture = CatalogFixture::new(ECHO);
    assert!(fixture.failure("show", json!(null)).contains("`name`"));
    assert!(fixture.text("odd", json!(null)).starts_with('|'));
}

#[test]
fn odd_names_work_and_undeclared_are_dropped() {
    let fixture = CatalogFixture::new(ECHO);
    let text = fixture.text("odd", json!({ "user-id": 7, "a b": 1, "sneaked": true }));
    assert_eq!(text, r#"7|{"user-id":7,"a b":1}"#);
}

#[test]
fn prompt_arguments_are_coerced_by_type() {
    let fixture = CatalogFixture::new(ECHO);
    let said = |arguments| fixture.prompt("typed", arguments).unwrap()[0]["content"]["text"].clone();
    assert_eq!(
        said(json!({ "n": "3", "flag": "true", "list": "[1, 2]", "when": "2026-01-31" })),
        "3 true [1,2] \"2026-01-31\""
    );
    assert_eq!(said(json!({ "list": "1, 2" })), "null null [1,2] null");
    assert_eq!(said(json!({ "n": null })), "null null null null");
    let message =
        fixture.prompt("typed", json!({ "n": "0", "flag": "perhaps", "when": "tomorrow", "x": "y" })).unwrap_err();
    assert_eq!(message.message.lines().count(), 4, "{}", message.message);
}

#[test]
fn uri_variables_are_checked_and_coerced() {
    let fixture = CatalogFixture::new(ECHO);
    assert_eq!(fixture.read("issue://12").unwrap()[0]["text"], "12 5");
    assert_eq!(fixture.read("issue://12?limit=7").unwrap()[0]["text"], "12 7");
    let refusal = fixture.read("issue://abc").unwrap_err();
    assert!(refusal.message.contains("`id`"), "{refusal}");
    assert!(fixture.read("issue://12?limit=many").unwrap_err().message.contains("`limit`"));
}

const COMPLETED: &str = r#"
prompts:
  p:
    arguments:
      repo: { enum: [alpha, beta] }
      size: { type: integer, complete: [1, 10, 2] }
      file: { complete: { glob: "docs/*.md" } }
      branch: { complete: { run: { script: { shell: sh, text: 'printf "%s-main\n%s-dev\n" "$repo" "$repo"; env | grep SNEAKED; true' } } } }
      number: { complete: { run: { exec: [echo, '[{"n": 1}, {"n": 12}]'] }, select: "[].to_string(n)" } }
      broken: { complete: { run: { exec: ["false"] } } }
      flag: { type: boolean }
    text: "{{repo}}{{size}}{{file}}{{branch}}{{number}}{{broken}}{{flag}}"
"#;

#[test]
fn completion_context_is_limited_to_valid_arguments() {
    let fixture = CatalogFixture::with_files(
        &[("folio.yaml", COMPLETED), ("docs/a.md", ""), ("docs/.hidden.md", ""), ("docs/b.txt", "")],
        &[],
    );
    let of = || CompletionTarget::Prompt("p".to_owned());
    assert_eq!(fixture.complete(of(), "repo", "B", &[]), ["beta"]);
    assert_eq!(fixture.complete(of(), "size", "1", &[]), ["1", "10"]);
    assert_eq!(fixture.complete(of(), "file", "", &[]), ["docs/a.md"]);
    assert_eq!(fixture.complete(of(), "flag", "t", &[]), ["true"]);
    assert_eq!(fixture.complete(of(), "number", "2", &[]), ["12"]);
    assert!(fixture.complete(of(), "broken", "", &[]).is_empty());
    let branches = |context: &[(&str, &str)]| fixture.complete(of(), "branch", "", context);
    assert_eq!(branches(&[("repo", "alpha")]), ["alpha-main", "alpha-dev"]);
    assert_eq!(branches(&[("repo", "not one of them")]), ["-main", "-dev"]);
    assert_eq!(branches(&[("repo", "beta"), ("SNEAKED", "in")]), ["beta-main", "beta-dev"]);
}

#[test]
fn http_values_are_escaped_in_place() {
    let manifest = r#"
env: { TOKEN: { secret: true } }
tools:
  t:
    description: d
    arguments: { a: {}, n: { type: integer }, l: { type: array } }
    run:
      http:
        url: "https://api.example/x/{{a}}?q={{a}}"
        query: { l: "{{l}}", n: "{{n}}", none: "{{arguments.a}}x" }
        headers: { X-A: "{{n}}", X-None: "{{l}}" }
        auth: { bearer: "{{env.TOKEN}}" }
        json: { n: "{{n}}", a: "{{a}}", t: "{{env.TOKEN}}" }
"#;
    let mut fixture = CatalogFixture::with_files(&[("folio.yaml", manifest)], &[("TOKEN", "hunter22")]);
    let mock_world = StubWorld::new(200, "application/json", r#"{"ok": "hunter22"}"#);
    fixture.world = mock_world.clone();
    let answer = fixture.call("t", json!({ "a": "a/b&c=\"d\" {{n}}", "n": 3, "l": ["x y", "z"] }));
    assert_eq!(answer.structured, Some(json!({ "ok": "[secret]" })));
    let sent = mock_world.last_request();
    assert_eq!(sent["method"], "POST");
    let escaped = "a%2Fb%26c%3D%22d%22%20%7B%7Bn%7D%7D";
    let url = sent["url"].as_str().unwrap();
    assert!(url.starts_with(&format!("https://api.example/x/{escaped}?q={escaped}&l=x+y&l=z&n=3&none=")), "{url}");
    assert_eq!(sent["body"], r#"{"n":3,"a":"a/b&c=\"d\" {{n}}","t":"hunter22"}"#);
    assert_eq!(sent["secretBody"], true);
    assert!(sent["headers"].to_string().contains("Bearer hunter22"), "{sent}");
}

#[test]
fn only_optional_credentials_may_be_unset() {
    let manifest = r#"
env: { TOKEN: { secret: true }, OPTIONAL: { secret: true } }
tools:
  t: { description: d, run: { http: { url: "https://api.example/", auth: { bearer: "{{default env.OPTIONAL ''}}" } } } }
  u: { description: d, run: { http: { url: "https://api.example/", auth: { bearer: "{{env.TOKEN}}" } } } }
"#;
    let mut fixture = CatalogFixture::new(manifest);
    let mock_world = StubWorld::new(200, "text/plain", "fine");
    fixture.world = mock_world.clone();
    assert_eq!(fixture.text("t", json!({})), "fine");
    assert_eq!(mock_world.last_request()["headers"], json!([]));
    assert_eq!(fixture.failure("u", json!({})), "missing credential: variable `TOKEN` is not set");
}

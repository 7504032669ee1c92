//! `scopes`, `roles` and `permit`: over stdio, over HTTP without `http.auth`, and as a caller on the command line.

use serde_json::{Value, json};

use crate::harness::*;

const DESK: &str = r#"folio: 1
server: { name: desk }
prompts:
  brief: { description: B, text: "Brief for {{caller.id}}", roles: [ops] }
resources:
  plans: { uri: "doc://plans", text: "Plans of {{caller.claims.team}}", scopes: [plans.read] }
  about: { uri: "about://desk", text: About }
tools:
  close:
    description: C
    arguments: { id: { required: true }, team: {} }
    scopes: [desk.write, "issue:{{id}}"]
    roles: [ops, lead]
    permit: "{{eq caller.claims.team team}}"
    result: { text: "closed {{id}}" }
  review: { description: R, run: { read: "doc://plans" } }
tests:
  closes:
    tool: close
    arguments: { team: desk, id: "7" }
    cases:
      - { name: ada, caller: { id: ada, scopes: [desk.write, "issue:7"], roles: [ops], claims: { team: desk } }, expect: { equals: closed 7 } }
      - { name: bob, caller: { id: bob, roles: [guest] }, expect: { error: "Unknown tool: close" } }
      - { name: eve, caller: { id: eve, roles: [ops] }, expect: { error: ["desk.write", "issue:7"] } }
      - { name: no rules, expect: { equals: closed 7 } }
"#;

const ADA: &str = "id: ada\nscopes: [desk.write, 'issue:7', plans.read]\nroles: [ops]\nclaims: { team: desk }\n";

fn desk() -> TestFolder {
    TestFolder::new(&[
        ("folio.yaml", DESK),
        ("ada.yaml", ADA),
        ("bob.json", r#"{ "id": "bob", "issuer": "https://id.example", "roles": ["guest"] }"#),
        ("bad.yaml", "id: ada\nrole: [ops]\n"),
    ])
}

/// What a command prints and whether it succeeds.
fn ran(folder: &TestFolder, words: &[&str]) -> (bool, String) {
    let ran = run_folio(folder.path(), words);
    (ran.code == Some(0), if ran.code == Some(0) { ran.out } else { ran.err })
}

#[test]
fn rules_apply_to_the_caller_on_the_command_line() {
    let folder = desk();
    for (words, succeeds, expected) in [
        ("call close id=7 team=desk --caller ada.yaml", true, "closed 7\n"),
        ("call close id=7 team=shop --caller ada.yaml", false, "error: not permitted: the server does not let"),
        (
            "call close id=8 team=desk --caller ada.yaml",
            false,
            "error: insufficient scope: this needs `desk.write`, `issue:8`",
        ),
        ("call close id=7 team=desk --caller bob.json", false, "error: Unknown tool: close\n"),
        ("call close id=7 team=other", true, "closed 7\n"),
        ("call review --caller ada.yaml", true, "Plans of desk\n"),
        ("call review --caller bob.json", false, "error: insufficient scope: this needs `plans.read`"),
        ("get brief --caller ada.yaml", true, "Brief for ada\n"),
        ("get brief --caller bob.json", false, "error: Unknown prompt: brief\n"),
        ("get brief", true, "Brief for \n"),
        ("read doc://plans --caller ada.yaml", true, "Plans of desk\n"),
        ("read doc://plans --caller bob.json", false, "error: insufficient scope: this needs `plans.read`"),
        ("read about://desk --caller bob.json", true, "About\n"),
        ("read about://desk --caller bad.yaml", false, "did you mean `roles`?"),
        ("read about://desk --caller none.yaml", false, "cannot read `--caller` from `none.yaml`"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let (succeeded, text) = ran(&folder, &words);
        assert!(succeeded == succeeds && text.contains(expected), "{words:?}: {text}");
    }
}

#[test]
fn tests_of_a_manifest_have_callers() {
    let folder = desk();
    let (succeeded, text) = ran(&folder, &["test"]);
    assert!(succeeded && text.contains("4 passed"), "{text}");
    folder.write("folio.yaml", DESK.replace("roles: [guest] }, expect: { error", "roles: [lead] }, expect: { error"));
    let (succeeded, text) = ran(&folder, &["test"]);
    assert!(!succeeded, "{text}");
}

#[test]
fn without_auth_rules_are_noted_and_refused_over_http() {
    let folder = desk();
    let ran = run_folio(folder.path(), &["check", "--format", "lines"]);
    assert_eq!(ran.code, Some(0));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ran.out);
    for (line, place) in lines.iter().zip(["folio.yaml:4:", "folio.yaml:6:", "folio.yaml:12:"]) {
        assert!(line.starts_with(place) && line.contains("without `http.auth`: it does not apply on stdio"), "{line}");
    }
    let ran = run_folio(folder.path(), &["serve", "--http", "127.0.0.1:0"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("error[unsafe]: `roles` without `http.auth`") && ran.err.contains("3 errors"), "{ran:?}");
    for version in SESSION_VERSIONS.into_iter().chain([SESSIONLESS_VERSION]) {
        let server = folder.stdio();
        let client = server.client(version);
        let tools = client.request("tools/list", client.params(json!({})));
        assert_eq!(tools["result"]["tools"].as_array().map(Vec::len), Some(2), "{tools}");
        assert_eq!(client.call_text("close", json!({ "id": "7" })), "closed 7");
    }
}

#[test]
fn check_lists_who_may_use_what() {
    let folder = desk();
    let (succeeded, text) = ran(&folder, &["check", "--access"]);
    assert!(succeeded, "{text}");
    let table = text.split_once("access of `desk`\n").expect(&text).1;
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.trim().split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect())
        .collect();
    assert_eq!(
        rows,
        [
            vec!["entry", "scopes, all", "roles, any", "permit", "its steps add"],
            vec!["tool close", "desk.write, issue:{{id}}", "lead, ops", "{{eq caller.claims.team team}}", "-"],
            vec!["tool review", "-", "-", "-", "plans.read"],
            vec!["prompt brief", "-", "ops", "-", "-"],
            vec!["resource doc://plans", "plans.read", "-", "-", "-"],
            vec!["open to every caller: resource about://desk"],
        ],
        "{table}"
    );
    let (_, text) = ran(&folder, &["check", "--access", "--format", "json"]);
    let printed: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(printed["diagnostics"].as_array().map(Vec::len), Some(3), "{text}");
    let entries = printed["access"][0]["entries"].as_array().unwrap();
    let review = json!({ "kind": "tool", "name": "review", "scopes": [], "roles": [], "permit": null, "stepsNeed": ["plans.read"] });
    assert!(entries.contains(&review), "{text}");
    let (succeeded, text) = ran(&folder, &["check", "--access", "--format", "sarif"]);
    assert!(!succeeded && text.contains("`--access` needs `--format text` or `--format json`"), "{text}");
}

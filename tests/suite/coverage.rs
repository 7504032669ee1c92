//! `folio test --coverage`: what of a manifest no test reaches.

use serde_json::{Value, json};

use crate::harness::{CommandOutput, TestFolder, run_folio};

const HEAD: &str = r#"folio: 1
server: { name: covered }
include: more.yaml
partials: "*.hbs"
prompts:
  greet:
    arguments: { who: {}, formal: { type: boolean } }
    text: |
      {{#if formal}}
      Dear {{who}},
      {{else if who}}
      Hello {{who}}.
      {{else}}
      Hello.
      {{/if}}
      {{> sign}}
  unused: { text: x }
resources:
  note: { uri: "a://note", text: Note }
tools:
  inner:
    description: Inner
    run: { exec: [one] }
    result: { text: "{{result.stdout}}" }
  look:
    description: Looks
    arguments: { deep: { type: boolean }, list: { type: array, items: { type: string } } }
    run:
      - { id: called, tool: inner }
      - { id: more, when: deep, exec: [two, "{{#each list}}{{this}},{{else}}none{{/each}}"] }
      - { when: deep, exec: [three] }
    result: { text: "{{steps.called.text}}" }
tests:
"#;

const MORE: &str = "prompts:\n  other:\n    arguments: { x: {} }\n    text: \"{{#unless x}}no{{/unless}}\"\n";
const SIGN: &str = "Yours\n{{#if who}}to {{who}}\n{{/if}}";

fn test(tests: &str, arguments: &[&str]) -> CommandOutput {
    let indented: String = tests.lines().map(|line| format!("  {line}\n")).collect();
    let folder = TestFolder::with_manifest(&format!("{HEAD}{indented}"));
    folder.write("more.yaml", MORE);
    folder.write("sign.hbs", SIGN);
    run_folio(folder.path(), &[&["test"][..], arguments].concat())
}

const SOME: &str = r#"hello: { prompt: greet, arguments: { who: Ada }, expect: { equals: "Hello Ada.\nYours\nto Ada\n" } }
look: { tool: look, mock: { exec: { stdout: found } }, expect: { equals: found } }
live: { tool: look, live: true, arguments: { deep: true }, expect: { contains: x } }"#;

#[test]
fn gaps_have_their_places_and_kinds_a_share() {
    let ran = test(SOME, &["--coverage"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let expected = "
folio.yaml:17: no test reaches prompt `unused`
more.yaml:2: no test reaches prompt `other`
folio.yaml:19: no test reaches resource `note`
folio.yaml:30: no test runs step `more`
folio.yaml:31: no test runs `exec`
folio.yaml:9: no test renders `{{#if formal}}`
folio.yaml:13: no test renders `{{else}}` of `{{else if who}}`
folio.yaml:30: no test renders `{{#each list}}`
folio.yaml:30: no test renders `{{else}}` of `{{#each list}}`
more.yaml:4: no test renders `{{#unless x}}`

prompts    33%  1 of 3
resources   0%  0 of 1
tools     100%  2 of 2
steps      50%  2 of 4
branches   28%  2 of 7

test result: ok. 2 passed; 0 failed; 1 skipped;";
    assert!(ran.out.contains(expected), "{}", ran.out);
    let without = test(SOME, &[]);
    assert!(without.code == Some(0) && !without.out.contains("no test"), "{}", without.out);
}

#[test]
fn json_has_gaps_and_shares() {
    let ran = test(SOME, &["--coverage", "--format", "json"]);
    let shown: Value = serde_json::from_str(&ran.out).unwrap();
    let coverage = &shown["coverage"];
    assert_eq!(coverage["steps"], json!({ "reached": 2, "total": 4, "percent": 50 }));
    assert_eq!(coverage["branches"], json!({ "reached": 2, "total": 7, "percent": 28 }));
    let gaps = coverage["gaps"].as_array().unwrap();
    assert_eq!(gaps.len(), 10);
    assert_eq!(
        (&gaps[3]["kind"], &gaps[3]["line"], &gaps[3]["message"]),
        (&json!("steps"), &json!(30), &json!("no test runs step `more`"))
    );
    assert!(gaps[9]["file"].as_str().unwrap().ends_with("more.yaml"), "{}", gaps[9]);
    let without: Value = serde_json::from_str(&test(SOME, &["--format", "json"]).out).unwrap();
    assert_eq!(without.get("coverage"), None);
}

#[test]
fn tests_of_everything_leave_no_gap() {
    let tests = r#"formal: { prompt: greet, arguments: { who: Ada, formal: "true" }, expect: { equals: "Dear Ada,\nYours\nto Ada\n" } }
hello: { prompt: greet, arguments: { who: Ada }, expect: { contains: Hello Ada } }
nobody: { prompt: greet, expect: { equals: "Hello.\nYours\n" } }
unused: { prompt: unused, expect: { equals: x } }
other: { prompt: other, expect: { equals: no } }
note: { resource: note, expect: { equals: Note } }
deep: { tool: look, arguments: { deep: true, list: [a, b] }, mock: { exec: {}, more: { stdout: b } }, expect: { sent: [{ argv: [one] }, { argv: [two, "a,b,"] }, { argv: [three] }] } }
empty: { tool: look, arguments: { deep: true, list: [] }, mock: { exec: {}, more: { stdout: b } }, expect: { sent: [{ argv: [one] }, { argv: [two, none] }, { argv: [three] }] } }"#;
    let ran = test(tests, &["--coverage", "--jobs", "3"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("no test") && ran.out.contains("branches  100%  7 of 7"), "{}", ran.out);
}

#[test]
fn coverage_of_a_filter_counts_only_its_tests() {
    let ran = test(SOME, &["--coverage", ".", "hello"]);
    assert!(
        ran.out.contains("no test reaches tool `look`") && ran.out.contains("tools       0%  0 of 2"),
        "{}",
        ran.out
    );
}

#[test]
fn refused_arguments_reach_nothing() {
    let tests = "bad: { tool: look, arguments: { deep: 7 }, expect: { isError: true } }";
    let ran = test(tests, &["--coverage"]);
    assert!(ran.code == Some(0) && ran.out.contains("no test reaches tool `look`"), "{}{}", ran.out, ran.err);
}

#[test]
fn formats_without_a_place_for_coverage_are_refused() {
    let ran = test(SOME, &["--coverage", "--format", "junit"]);
    assert!(ran.code == Some(2) && ran.err.contains("`--coverage` cannot be used with"), "{}", ran.err);
    assert_eq!(test(SOME, &["--coverage", "--watch"]).code, Some(2));
}

//! Partials: where their lines go, their parameters, and their errors.

use std::fs;

use serde_json::json;

use crate::harness::{TestFolder, run_folio};

/// A value whose meaning its line breaks and its white space make.
const VALUE: &str = "a:\n  - 1\n\n  - 2\r\nend";

const INLINE: &str = r#"folio: 1
server: { name: inline }
partials: p/*.hbs
folders: { out: { path: out, write: true } }
prompts:
  text: { description: D, arguments: { body: { required: true } }, text: "  Body: {{> body}}" }
  messages: { description: D, arguments: { body: { required: true } }, messages: [{ user: "  Body: {{> body}}" }] }
resources:
  made: { uri: "made://{body}", run: { exec: [printf, "%s", "  Body: {{> body}}"] } }
  text: { uri: "text://{body}", text: "  Body: {{> body}}" }
tools:
  argv: { description: D, arguments: { body: {} }, run: { exec: [printf, "%s", "  Body: {{> body}}"] } }
  stdin: { description: D, arguments: { body: {} }, run: { exec: [cat], stdin: "  Body: {{> body}}" } }
  env: { description: D, arguments: { body: {} }, run: { exec: [printenv, BODY], env: { BODY: "  Body: {{> body}}" } } }
  text: { description: D, arguments: { body: {} }, result: { text: "  Body: {{> body}}" } }
  structured: { description: D, arguments: { body: {} }, result: { structuredContent: { body: "  Body: {{> body}}" } } }
  write: { description: D, arguments: { body: {} }, run: { file: { write: a.txt, in: out, text: "  Body: {{> body}}" } } }
"#;

#[test]
fn inline_partial_leaves_values_as_they_are() {
    let folder = TestFolder::new(&[("folio.yaml", INLINE), ("p/body.hbs", "{{body}}"), ("out/.keep", "")]);
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    let wanted = format!("  Body: {VALUE}");
    for name in ["text", "messages"] {
        assert_eq!(client.get_text(name, json!({ "body": VALUE })), wanted, "{name}");
    }
    // What a program prints is shown with plain line breaks.
    let printed = wanted.replace("\r\n", "\n");
    let encoded = VALUE.replace('\n', "%0A").replace('\r', "%0D").replace(' ', "%20").replace(':', "%3A");
    assert_eq!(client.read_text(&format!("made://{encoded}")), printed);
    assert_eq!(client.read_text(&format!("text://{encoded}")), wanted);
    assert_eq!(client.call_text("text", json!({ "body": VALUE })), wanted);
    for name in ["argv", "stdin", "env"] {
        assert_eq!(client.call_text(name, json!({ "body": VALUE })).trim_end(), printed, "{name}");
    }
    let structured = client.call("structured", json!({ "body": VALUE }));
    assert_eq!(structured["structuredContent"]["body"], wanted);
    client.call_text("write", json!({ "body": VALUE }));
    assert_eq!(fs::read_to_string(folder.join("out/a.txt")).unwrap(), wanted);
}

#[test]
fn parameters_that_a_partial_tests_are_optional() {
    let folder = TestFolder::new(&[
        (
            "folio.yaml",
            r#"folio: 1
server: { name: optional }
partials: p/*.hbs
prompts:
  without: { description: D, text: "{{> rules}}" }
  given: { description: D, text: "{{> rules strict=true tone=\"dry\"}}" }
  own: { description: D, arguments: { strict: { type: boolean }, tone: {} }, text: "{{> rules}}" }
  nested: { description: D, text: "{{> outer}}" }
  items: { description: D, arguments: { rows: { type: array, items: { type: object, properties: { name: { type: string } } } } }, text: "{{#each rows}}{{> row}}{{/each}}" }
  inline: { description: D, text: "{{#*inline \"one\"}}{{#if loud}}LOUD{{else}}quiet{{/if}}{{/inline}}{{> one}} {{> one loud=true}}" }
"#,
        ),
        (
            "p/rules.hbs",
            "{{#if strict}}strict{{else}}lax{{/if}}{{#unless tone}}, plain{{/unless}}{{#if tone}}, {{tone}}{{/if}}, {{default note \"none\"}}",
        ),
        ("p/outer.hbs", "{{#if strict}}!{{/if}}{{> rules strict=strict}}"),
        ("p/row.hbs", "{{name}}{{#if note}} ({{note}}){{/if}};"),
    ]);
    let checked = run_folio(folder.path(), &["check"]);
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    assert_eq!(client.get_text("without", json!({})), "lax, plain, none");
    assert_eq!(client.get_text("given", json!({})), "strict, dry, none");
    assert_eq!(client.get_text("own", json!({ "strict": "true", "tone": "warm" })), "strict, warm, none");
    assert_eq!(client.get_text("own", json!({})), "lax, plain, none");
    assert_eq!(client.get_text("nested", json!({})), "lax, plain, none");
    assert_eq!(client.get_text("items", json!({ "rows": "[{\"name\":\"a\"},{\"name\":\"b\"}]" })), "a;b;");
    assert_eq!(client.get_text("inline", json!({})), "quiet LOUD");
}

#[test]
fn error_in_a_partial_stands_once() {
    let prompts: String = (0..5)
        .map(|nth| format!("  p{nth}: {{ description: D, arguments: {{ severity: {{}} }}, text: \"{{{{severity}}}} {{{{> rules}}}}\" }}\n"))
        .collect();
    let folder = TestFolder::new(&[
        ("folio.yaml", &format!("folio: 1\nserver: {{ name: once }}\npartials: p/*.hbs\nprompts:\n{prompts}")),
        ("p/rules.hbs", "{{topic}}{{#if sevrity}}x{{/if}}"),
    ]);
    let checked = run_folio(folder.path(), &["check", "--format", "lines"]);
    let wanted = "p/rules.hbs:1:3: error[unknown-variable]: unknown variable `topic`\n\
         p/rules.hbs:1:16: error[unknown-variable]: unknown variable `sevrity`\n";
    assert_eq!(checked.out, wanted, "{}", checked.err);
}

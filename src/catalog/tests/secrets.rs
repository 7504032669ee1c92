//! Secrets reach actions, and no field that clients read.

use serde_json::json;

use super::{CatalogFixture, built};
use crate::catalog::result::call_result::CompletionTarget;
use crate::diagnostic::{Code, Severity};

const MANIFEST: &str = r#"
env: { TOKEN: { secret: true }, OPEN: { default: open } }
tools:
  leaks: { description: d, run: { exec: [sh, -c, 'echo "$T ${TOKEN-unset}"'], env: { T: "{{env.TOKEN}}" } } }
  fails: { description: d, run: { exec: [sh, -c, 'echo "$T" >&2; exit 3'], env: { T: "{{env.TOKEN}}" } } }
  json: { description: d, run: { exec: [sh, -c, 'printf "{\"a\": [\"%s\"], \"%s\": 1}" "$T" "$T"'], env: { T: "{{env.TOKEN}}" } } }
  slow: { description: d, timeout: 300ms, run: { exec: [sh, -c, 'echo "$T" >&2; sleep 20'], env: { T: "{{env.TOKEN}}" } } }
prompts:
  leaks: { arguments: { a: { complete: { run: { exec: [sh, -c, 'echo "$T"'], env: { T: "{{env.TOKEN}}" } } } } }, text: "{{result.stdout}}{{a}}", run: { exec: [sh, -c, 'echo "$T"'], env: { T: "{{env.TOKEN}}" } } }
  fails: { messages: [{ user: { resource: "r://fails" } }] }
resources:
  r: { uri: "r://{how}", run: { exec: [sh, -c, 'echo "$T"; echo "$T" >&2; [ "$HOW" = works ]'], env: { T: "{{env.TOKEN}}", HOW: "{{how}}" } } }
"#;

#[test]
fn answers_and_errors_are_redacted() {
    let fixture = CatalogFixture::with_files(&[("folio.yaml", MANIFEST)], &[("TOKEN", "hunter22")]);
    assert_eq!(fixture.text("leaks", json!({})), "[secret] unset\n");
    let mut said = vec![fixture.failure("fails", json!({})), fixture.failure("slow", json!({}))];
    let answer = fixture.call("json", json!({}));
    said.push(format!("{answer:?}"));
    said.push(fixture.prompt("leaks", json!({})).unwrap().to_string());
    said.push(format!("{:?}", fixture.prompt("fails", json!({})).unwrap_err()));
    said.push(fixture.read("r://works").unwrap().to_string());
    said.push(format!("{:?}", fixture.read("r://fails").unwrap_err()));
    said.push(fixture.complete(CompletionTarget::Prompt("leaks".to_owned()), "a", "", &[]).join(""));
    for text in said {
        assert!(!text.contains("hunter22"), "{text}");
        assert!(text.contains("[secret]"), "{text}");
    }
}

#[test]
fn secret_stays_secret_across_packs() {
    let outer = "env: { A: { secret: true } }\npacks: { p: { path: p, env: { B: \"x-{{env.A}}\" } } }";
    let middle = "env: { B: {} }\npacks: { q: { path: q, env: { C: \"{{env.B}}\" } } }";
    let inner = "env: { C: {}, PATH: {}, A: {} }\nprompts: { p: { text: \"{{env.C}}\" }, path: { text: \"{{env.PATH}}{{env.A}}\" } }";
    let files = [("folio.yaml", outer), ("p/folio.yaml", middle), ("p/q/folio.yaml", inner)];
    let found = built(&files, &[("A", "hunter22"), ("C", "not handed over")]);
    let errors = found.report.diagnostics().iter().filter(|error| error.severity == Severity::Error);
    let codes: Vec<Code> = errors.map(|error| error.code).collect();
    assert_eq!(codes, [Code::Secret], "{:?}", found.report.diagnostics());
}

#[test]
fn pack_sees_only_its_own_variables() {
    let inner = "env: { PATH: {}, A: {} }\nprompts: { path: { text: \"<{{env.PATH}}{{env.A}}>\" } }";
    let fixture = CatalogFixture::with_files(
        &[("folio.yaml", "packs: { p: { path: p } }"), ("p/folio.yaml", inner)],
        &[("A", "a")],
    );
    assert_eq!(fixture.prompt("p-path", json!({})).unwrap()[0]["content"]["text"], "<>");
}

#[test]
fn unexpanded_value_counts_as_unset() {
    let manifest = "env: { A: { default: d } }\nprompts: { p: { text: \"{{env.A}}\" } }";
    let fixture = CatalogFixture::with_files(&[("folio.yaml", manifest)], &[("A", "${A}")]);
    assert_eq!(fixture.prompt("p", json!({})).unwrap()[0]["content"]["text"], "d");
}

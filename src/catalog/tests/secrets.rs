//! Secrets are where they are used, and nowhere that a client reads.

use serde_json::json;

use super::{Desk, built};
use crate::catalog::answer::CompletionOf;
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
fn a_secret_leaves_in_no_answer_and_in_no_error() {
    let desk = Desk::of(&[("folio.yaml", MANIFEST)], &[("TOKEN", "hunter22")]);
    assert_eq!(desk.text("leaks", json!({})), "[secret] unset\n");
    let mut said = vec![desk.failure("fails", json!({})), desk.failure("slow", json!({}))];
    let answer = desk.call("json", json!({}));
    said.push(format!("{answer:?}"));
    said.push(desk.prompt("leaks", json!({})).unwrap().to_string());
    said.push(format!("{:?}", desk.prompt("fails", json!({})).unwrap_err()));
    said.push(desk.read("r://works").unwrap().to_string());
    said.push(format!("{:?}", desk.read("r://fails").unwrap_err()));
    said.push(desk.complete(CompletionOf::Prompt("leaks".to_owned()), "a", "", &[]).join(""));
    for text in said {
        assert!(!text.contains("hunter22"), "{text}");
        assert!(text.contains("[secret]"), "{text}");
    }
}

#[test]
fn a_secret_stays_one_in_every_pack_that_it_is_handed_to() {
    let outer = "env: { A: { secret: true } }\npacks: { p: { path: p, env: { B: \"x-{{env.A}}\" } } }";
    let middle = "env: { B: {} }\npacks: { q: { path: q, env: { C: \"{{env.B}}\" } } }";
    let inner = "env: { C: {}, PATH: {}, A: {} }\nprompts: { p: { text: \"{{env.C}}\" }, path: { text: \"{{env.PATH}}{{env.A}}\" } }";
    let files = [("folio.yaml", outer), ("p/folio.yaml", middle), ("p/q/folio.yaml", inner)];
    let found = built(&files, &[("A", "hunter22"), ("C", "not handed over")]);
    let errors = found.report.diagnostics().iter().filter(|fault| fault.severity == Severity::Error);
    let codes: Vec<Code> = errors.map(|fault| fault.code).collect();
    assert_eq!(codes, [Code::Secret], "{:?}", found.report.diagnostics());
}

#[test]
fn a_pack_reads_no_variable_that_it_was_not_handed() {
    let inner = "env: { PATH: {}, A: {} }\nprompts: { path: { text: \"<{{env.PATH}}{{env.A}}>\" } }";
    let desk = Desk::of(&[("folio.yaml", "packs: { p: { path: p } }"), ("p/folio.yaml", inner)], &[("A", "a")]);
    assert_eq!(desk.prompt("p-path", json!({})).unwrap()[0]["content"]["text"], "<>");
}

#[test]
fn a_value_that_the_host_did_not_expand_counts_as_unset() {
    let manifest = "env: { A: { default: d } }\nprompts: { p: { text: \"{{env.A}}\" } }";
    let desk = Desk::of(&[("folio.yaml", manifest)], &[("A", "${A}")]);
    assert_eq!(desk.prompt("p", json!({})).unwrap()[0]["content"]["text"], "d");
}

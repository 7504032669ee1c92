//! What the author is told where a `select` names a field that is not there.

use serde_json::json;

use crate::harness::*;

const MANIFEST: &str = r#"folio: 1
server: { name: hints }
tools:
  list:
    description: L
    run: { exec: [printf, '[{"id": 1, "name": "a", "due": null}]'] }
    result: { select: "[].nmae" }
  due:
    description: D
    run: { exec: [printf, '[{"id": 1, "name": "a", "due": null}]'] }
    result: { select: "[].due" }
  part:
    description: P
    run: { exec: [printf, '[{"id": 1, "name": "a"}]'] }
    result: { select: "[].{id: id, title: nmae}" }
  none:
    description: N
    run: { exec: [printf, '[]'] }
    result: { select: "[].nmae" }
  reshaped:
    description: R
    run: [{ id: a, exec: [printf, '{"items": [{"id": 1}]}'] }, { id: b, set: { ids: { select: "items.id", from: "{{steps.a.json}}" } } }]
    result: { text: "{{json steps.b.ids}}" }
  paged:
    description: P
    run: { http: { url: "https://api.example/", paginate: { next: link, items: itms } } }
resources:
  r: { uri: "r://one", run: { exec: [printf, '{"title": "x"}'] }, result: { select: titel } }
tests:
  names:
    tool: list
    mock: { exec: { stdout: '[{"id": 1, "name": "a", "due": null}]' } }
    expect: { json: [a] }
  pages:
    tool: paged
    mock: { http: { json: { items: [1] } } }
    expect: { json: [1] }
"#;

const LIST: &str = "`select` in `list`: `[].nmae` finds nothing: the value has no field `nmae`; did you mean `name`?";
const SET: &str =
    "`select` of `steps.b.ids` in `reshaped`: `items.id` finds nothing: a list has no field `id`; write `[].id`";

#[test]
fn call_and_server_say_which_field_is_missing() {
    let folder = TestFolder::with_manifest(MANIFEST);
    for (arguments, words) in [
        (&["call", "list"][..], LIST),
        (&["call", "-v", "list"], LIST),
        (&["call", "reshaped"], SET),
        (
            &["call", "part"],
            "`[].{id: id, title: nmae}` finds null: the value has no field `nmae`; did you mean `name`?",
        ),
        (&["read", "r://one"], "`titel` finds nothing: the value has no field `titel`; did you mean `title`?"),
    ] {
        let ran = run_folio(folder.path(), arguments);
        assert!(ran.code == Some(0) && ran.err.matches(words).count() == 1, "{arguments:?}: {ran:?}");
    }
    for fine in ["due", "none"] {
        let ran = run_folio(folder.path(), &["call", fine]);
        assert!(!ran.err.contains("finds nothing"), "{fine}: {ran:?}");
    }
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    assert_eq!(client.call_text("list", json!({})), "[]");
    server.log.wait_for_line(0, |line| line.contains(LIST));
}

#[test]
fn failed_test_says_it() {
    let folder = TestFolder::with_manifest(MANIFEST);
    let ran = run_folio(folder.path(), &["test"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains(LIST), "{ran:?}");
    let paged = "`items` of `paginate` did not select a list: `itms` finds nothing: the value has no field `itms`; did you mean `items`?";
    assert!(ran.out.contains(paged), "{ran:?}");
}

#[test]
fn check_warns_where_the_shape_is_known() {
    let manifest = r#"folio: 1
server: { name: shapes }
tools:
  steps:
    description: S
    run: [{ id: found, exec: [printf, '1'] }]
    result: { select: "{ n: fuond.json, out: found.stdot }" }
  plain:
    description: P
    arguments: { tags: { type: array, items: { type: string } }, limit: { type: integer } }
    result: { select: "[tag, limit]" }
  set:
    description: V
    run: [{ id: a, exec: [printf, '1'] }, { id: b, set: { x: { select: "stdou", from: "{{steps.a}}" } } }]
    result: { text: "{{steps.b.x}}" }
  fine:
    description: F
    run: [{ id: a, http: { url: "https://api.example/" } }]
    result: { select: "{ n: a.json.items[].name, h: a.headers.link, s: a.status || a.stat }" }
"#;
    let folder = TestFolder::with_manifest(manifest);
    let ran = run_folio(folder.path(), &["check"]);
    for (words, help) in [
        ("the value has no field `fuond`", "did you mean `found`?"),
        ("the value has no field `tag`", "did you mean `tags`?"),
        ("the value has no field `stdou`", "did you mean `stdout`?"),
    ] {
        assert!(ran.out.contains(words) && ran.out.contains(help), "{words}: {ran:?}");
    }
    assert_eq!(ran.out.matches("warning[select]").count(), 3, "{ran:?}");
}

//! Steps that are repeated by `each`, that go on after a failure, and that word exit codes.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::*;

const REPEATED: &str = r#"folio: 1
server: { name: repeated }
tools:
  words:
    description: Says each word
    arguments: { words: { type: array }, only: {} }
    run:
      - { id: said, each: "{{words}}", exec: [printf, "%s", "{{index}}={{this}}"] }
    result: { structuredContent: { said: "{{steps.said}}" } }
  by_field:
    description: Takes those that are due
    run:
      - { id: list, exec: [printf, '[{"n":1,"due":true},{"n":2},{"n":3,"due":true}]'] }
      - { id: due, each: "{{steps.list.json}}", parallel: 4, when: "{{this.due}}", exec: [printf, "%s", "{{this.n}}"] }
    result: { text: "{{#each steps.due}}[{{this.stdout}}]{{/each}}" }
  plain: { description: No result, arguments: { words: { type: array } }, run: [{ each: "{{words}}", exec: [printf, "%s\n", "{{this}}"] }] }
  json: { description: No result, arguments: { words: { type: array } }, run: [{ each: "{{words}}", exec: [printf, '{"word":"%s"}', "{{this}}"] }] }
  double: { description: Doubles, arguments: { word: {} }, run: { exec: [printf, "%s%s", "{{word}}", "{{word}}"] } }
  calls:
    description: Calls a tool for each
    arguments: { words: { type: array, items: { type: string } } }
    run: [{ id: all, each: "{{words}}", parallel: 3, tool: { name: double, arguments: { word: "{{this}}" } } }]
    result: { text: "{{#each steps.all}}{{text}} {{/each}}" }
  stops:
    description: Stops at the first that fails
    arguments: { file: {} }
    run:
      - { each: "{{split \"1,0,0\" \",\"}}", exec: [sh, -c, 'echo "$N" >> "$FILE"; exit $((1 - N + INDEX - INDEX))'], env: { N: "{{this}}", INDEX: "{{index}}", FILE: "{{file}}" } }
  goes_on:
    description: Goes on
    run:
      - { id: all, each: "{{split \"0,3,0\" \",\"}}", onFail: continue, exec: [sh, -c, 'echo out; echo why >&2; exit "$N"'], env: { N: "{{this}}" } }
      - { id: gone, onFail: continue, exec: [nowhere-to-be-found] }
      - { id: sound, onFail: continue, exec: [printf, fine] }
    result: { structuredContent: { all: "{{steps.all}}", gone: "{{steps.gone}}", sound: "{{steps.sound.error}}", why: "{{steps.gone.error.text}}" } }
  at_once:
    description: Runs all at once
    run: [{ each: "{{split \"60,0\" \",\"}}", parallel: 2, exec: [sh, -c, 'test "$N" = 0 && exit 3; sleep "$N"'], env: { N: "{{this}}" } }]
    timeout: 90s
  inner: { description: Fails, run: { fail: { message: by the inner tool, code: 42 } } }
  tolerant:
    description: Goes on after a tool
    run: [{ id: a, onFail: continue, tool: inner }, { id: b, exec: [printf, "after"] }]
    result: { text: "{{steps.b.stdout}}: {{steps.a.error.text}}" }
  speaks: { description: What failed says nothing, run: [{ exec: [printf, first] }, { onFail: continue, exec: [sh, -c, "echo no; exit 1"] }] }
  worded:
    description: Words exit codes
    arguments: { name: {}, code: { type: integer } }
    run:
      exec: [sh, -c, 'echo why >&2; exit "$CODE"']
      env: { CODE: "{{code}}" }
      okExit: [0, 7]
      onExit: { 1: "There is no branch {{name}}.", 2: "{{#if name}}{{/if}}", default: "Code {{exit}}: {{trim stderr}}" }
  worded_script:
    description: Words exit codes of scripts
    run: [{ id: a, onFail: continue, script: { shell: sh, text: "exit 9" }, onExit: { 9: "nine" } }]
    result: { text: "{{steps.a.error.text}} {{steps.a.error.exit}}" }
  slow: { description: Slow, timeout: 700ms, arguments: { words: { type: array } }, run: [{ each: "{{words}}", sleep: 300ms }], result: { text: never } }
  chosen:
    description: Chooses elements
    arguments: { mode: {}, dash: { type: boolean, default: false } }
    run:
      - { id: list, exec: [printf, '["a","-b"]'] }
      - id: all
        exec: [printf, "%s,", { if: "{{eq mode \"x\"}}", then: [x], else: [y] }, { if: dash, then: [--] }, { each: "{{steps.list.json}}", then: ["{{this}}"] }]
    result: { text: "{{steps.all.stdout}}" }
  named: { description: Takes a name, arguments: { loud: { type: boolean } }, run: [{ id: a, when: loud, exec: [printf, loud] }], result: { text: "[{{steps.a.stdout}}]" } }
"#;

fn failure(client: &TestClient, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments);
    assert_eq!(result["isError"], true, "{tool}: {result}");
    text_of(&result["content"][0])
}

/// What a tool gave as structured content, which each version has as text too.
fn structured(client: &TestClient, tool: &str, arguments: Value) -> Value {
    serde_json::from_str(&client.call_text(tool, arguments)).unwrap()
}

#[test]
fn each_item_is_run_in_order() {
    on_every_version_and_wire(&TestFolder::with_manifest(REPEATED), &json!({}), |client| {
        let said = structured(client, "words", json!({ "words": ["a", "b c", 3] }));
        let texts: Vec<&Value> = said["said"].as_array().unwrap().iter().map(|one| &one["stdout"]).collect();
        assert_eq!(texts, [&json!("0=a"), &json!("1=b c"), &json!("2=3")], "{said}");
        assert_eq!(structured(client, "words", json!({ "words": [] })), json!({ "said": [] }));
        assert_eq!(structured(client, "words", json!({})), json!({ "said": [] }));
        assert_eq!(client.call_text("by_field", json!({})), "[1][][3]");
        assert_eq!(client.call_text("calls", json!({ "words": ["a", "b", "c", "d"] })), "aa bb cc dd ");
        assert_eq!(client.call_text("plain", json!({ "words": ["a", "b"] })), "a\nb");
        assert_eq!(
            structured(client, "json", json!({ "words": ["a", "b"] })),
            json!([{ "word": "a" }, { "word": "b" }])
        );
    });
}

#[test]
fn items_over_the_limit_are_refused() {
    let folder = TestFolder::with_manifest(REPEATED);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    let words = failure(&client, "words", json!({ "words": vec!["a"; 10_001] }));
    assert!(words.contains("10001") && words.contains("10000"), "{words}");
}

#[test]
fn items_share_the_timeout_of_the_call() {
    let folder = TestFolder::with_manifest(REPEATED);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    let began = Instant::now();
    let words = failure(&client, "slow", json!({ "words": vec!["a"; 100] }));
    assert!(words.contains("timed out"), "{words}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn first_failing_item_ends_the_run() {
    let folder = TestFolder::with_manifest(REPEATED);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    let file = folder.join("reached");
    failure(&client, "stops", json!({ "file": file.to_str().unwrap() }));
    assert_eq!(fs::read_to_string(&file).unwrap(), "1\n0\n");
}

#[test]
fn failing_item_ends_those_that_run() {
    let folder = TestFolder::with_manifest(REPEATED);
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let began = Instant::now();
    assert_eq!(failure(&client, "at_once", json!({})), "`sh` exited with code 3");
    assert!(began.elapsed() < Duration::from_secs(30), "it waited for the items before");
}

#[test]
fn run_goes_on_after_tolerated_failure() {
    on_every_version_and_wire(&TestFolder::with_manifest(REPEATED), &json!({}), |client| {
        let given = structured(client, "goes_on", json!({}));
        let all = given["all"].as_array().unwrap();
        assert_eq!((all.len(), all[0].get("error"), all[2].get("error")), (3, None, None), "{given}");
        assert_eq!(all[1]["error"]["exit"], 3, "{given}");
        assert_eq!(all[1]["error"]["status"], Value::Null, "{given}");
        assert!(all[1]["error"]["text"].as_str().unwrap().contains("why"), "{given}");
        assert_eq!(all[1]["stdout"], "out", "{given}");
        assert_eq!((given.get("sound"), &given["why"]), (None, &given["gone"]["error"]["text"]), "{given}");
        assert!(given["why"].as_str().unwrap().contains("nowhere-to-be-found"), "{given}");
        assert_eq!(client.call_text("tolerant", json!({})), "after: by the inner tool");
        assert_eq!(client.call_text("speaks", json!({})), "first");
    });
}

#[test]
fn exit_codes_are_worded() {
    on_every_version_and_wire(&TestFolder::with_manifest(REPEATED), &json!({}), |client| {
        let worded = |code: i32| failure(client, "worded", json!({ "name": "main", "code": code }));
        assert_eq!(worded(1), "There is no branch main.");
        assert_eq!(worded(5), "Code 5: why");
        assert!(worded(2).contains("exited with code 2"));
        assert_ne!(client.call("worded", json!({ "code": 7 }))["isError"], true);
        assert_eq!(client.call_text("worded_script", json!({})), "nine 9");
        assert_eq!(client.call_text("named", json!({ "loud": true })), "[loud]");
        assert_eq!(client.call_text("named", json!({})), "[]");
    });
}

#[test]
fn argv_takes_conditions_and_lists_of_steps() {
    let folder = TestFolder::with_manifest(REPEATED);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    assert_eq!(client.call_text("chosen", json!({ "mode": "x", "dash": true })), "x,--,a,-b,");
    assert_eq!(client.call_text("chosen", json!({ "mode": "z", "dash": true })), "y,--,a,-b,");
    let words = failure(&client, "chosen", json!({ "mode": "z" }));
    assert!(words.contains("`steps.list.json` begins with `-`"), "{words}");
}

#[test]
fn invalid_repetition_is_refused_at_load() {
    let folder = TestFolder::with_manifest("");
    for (steps, words) in [
        ("{ each: \"{{n}}\", sleep: 1s }", "expected a list, and `{{n}}` is a number"),
        ("{ each: n, sleep: 1s }", "expected a list, and `{{n}}` is a number"),
        ("{ each: nobody, sleep: 1s }", "unknown argument `nobody`"),
        ("{ each: \"{{nobody}}\", sleep: 1s }", "unknown variable `nobody`"),
        ("{ each: 3, sleep: 1s }", "each"),
        ("{ each: \"{{l}}\", parallel: 0, sleep: 1s }", "invalid `parallel`"),
        ("{ each: \"{{l}}\", parallel: 17, sleep: 1s }", "invalid `parallel`"),
        ("{ parallel: 2, sleep: 1s }", "`parallel` without `each`"),
        ("{ each: \"{{l}}\", ask: { a: { roots: {} } } }", "`ask` cannot be repeated"),
        ("{ each: \"{{l}}\", tool: calls_asking }", "`asking` asks the client"),
        ("{ each: \"{{l}}\", log: \"{{steps.x}}\" }", "steps.x"),
        ("{ log: \"{{index}}\" }", "unknown variable `index`"),
        ("{ onFail: ignore, sleep: 1s }", "ignore"),
        ("{ onFail: continue, fail: over }", "`onFail` cannot be used with `fail`"),
        ("{ onFail: continue, ask: { a: { roots: {} } } }", "`onFail` cannot be used with `ask`"),
        ("{ id: a, exec: [printf, x] }, { log: \"{{steps.a.error}}\" }", "unknown field `error`"),
        ("{ exec: [printf, { if: nobody, then: [x] }] }", "unknown argument `nobody`"),
        ("{ exec: [printf, { if: \"{{nobody}}\", then: [x] }] }", "unknown variable `nobody`"),
        ("{ exec: [printf, { if: \"a{{n}}\", then: [x] }] }", "expected exactly one"),
        ("{ exec: [printf, { each: \"{{n}}\", then: [x] }] }", "expected a list, and `{{n}}` is a number"),
        ("{ exec: [printf], onExit: { 256: x } }", "invalid exit code `256`"),
        ("{ exec: [printf], onExit: { one: x } }", "invalid exit code `one`"),
        ("{ exec: [printf], onExit: { 0: x } }", "exit code 0 is not an error"),
        ("{ exec: [printf], onExit: { 1: \"{{nobody}}\" } }", "unknown variable `nobody`"),
        ("{ sleep: 1s, onExit: { 1: x } }", "unexpected key `onExit`"),
        ("{ when: nobody, sleep: 1s }", "unknown argument `nobody`"),
    ] {
        let manifest = format!(
            "folio: 1\nserver: {{ name: a }}\ntools:\n  t:\n    description: T\n    arguments: {{ n: {{ type: integer }}, l: \
             {{ type: array }} }}\n    run: [{steps}]\n  asking: {{ description: Asks, run: [{{ id: q, ask: {{ a: {{ roots: \
             {{}} }} }} }}] }}\n  calls_asking: {{ description: Calls, run: [{{ tool: asking }}] }}\n"
        );
        fs::write(folder.join("folio.yaml"), manifest).unwrap();
        let ran = run_folio(folder.path(), &["check", "."]);
        assert_eq!(ran.code, Some(1), "{steps}: {ran:?}");
        assert!(ran.out.contains(words) || ran.err.contains(words), "{steps}: {ran:?}");
    }
    let single =
        "folio: 1\nserver: { name: a }\ntools: { t: { description: T, run: { sleep: 1s, onFail: continue } } }\n";
    fs::write(folder.join("folio.yaml"), single).unwrap();
    let ran = run_folio(folder.path(), &["check", "."]);
    assert!((ran.out + &ran.err).contains("`onFail` is only allowed in a list of steps"));
}

#[test]
fn repeated_step_survives_a_question() {
    let folder = TestFolder::with_manifest(
        r#"folio: 1
server: { name: asks }
tools:
  t:
    description: Asks in between
    arguments: { file: {} }
    run:
      - { id: all, each: "{{split \"a,b\" \",\"}}", exec: [sh, -c, 'echo "$W" >> "$FILE"; printf %s "$W"'], env: { W: "{{this}}", FILE: "{{file}}" } }
      - { id: asked, ask: { ok: { elicit: { message: "Go?", schema: { sure: { type: boolean, required: true } } } } } }
      - { id: then, each: "{{steps.all}}", exec: [printf, "%s!", "{{this.stdout}}"] }
    result: { text: "{{#each steps.then}}{{stdout}}{{/each}}" }
"#,
    );
    let server = folder.stdio();
    let client = server.client_with(SESSIONLESS_VERSION, json!({ "elicitation": {} }));
    let file = folder.join("runs");
    let arguments = json!({ "file": file.to_str().unwrap() });
    let asked = client.result("tools/call", json!({ "name": "t", "arguments": arguments }));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let params = json!({
        "name": "t", "arguments": arguments, "requestState": asked["requestState"],
        "inputResponses": { key: { "action": "accept", "content": { "sure": true } } },
    });
    let ended = client.result("tools/call", params);
    assert_eq!(text_of(&ended["content"][0]), "a!b!", "{ended}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "a\nb\n");
}

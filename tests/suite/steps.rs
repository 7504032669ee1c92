//! Runs of several steps: selection, order, scope and outcome.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::*;

const STEPS: &str = r#"folio: 1
server: { name: steps }
env: { PLACE: { default: nowhere } }
prompts:
  gathered:
    description: What its steps find
    arguments: { who: { required: true }, much: { type: integer, default: 2 } }
    run:
      - { id: up, exec: [printf, "%s!", "{{who}}"] }
      - { id: never, when: "{{eq who \"nobody\"}}", exec: [printf, never] }
      - { id: much, tool: { name: typed, arguments: { count: "{{much}}" } } }
    text: "{{steps.up.stdout}} {{steps.much.structured.count}}{{#if steps.never}} {{steps.never.stdout}}{{/if}}"
  asked:
    description: Completes by steps
    arguments:
      word:
        complete:
          run:
            - { id: all, exec: [printf, '["alpha","beta","gamma"]'] }
            - { id: more, exec: [printf, '{"words":["%s","almond"]}', "{{steps.all.json.[0]}}x"] }
          select: more.json.words
    text: "{{word}}"
  breaks:
    description: Does not go well
    run: { fail: nothing is gathered }
    text: never
  breaks_by_code:
    description: Does not go well
    run: { fail: { message: nothing is gathered, code: 42 } }
    text: never
resources:
  made:
    uri: "made://{id}"
    run:
      - { id: one, exec: [printf, "1 %s", "{{id}}"] }
      - { id: two, exec: [printf, "%s 2", "{{steps.one.stdout}}"] }
    result: { text: "{{steps.two.stdout}}" }
  plain: { uri: "plain://text", text: A plain text, mimeType: text/plain }
  breaks: { uri: "breaks://always", run: { fail: nothing is read } }
  breaks_by_code: { uri: "breaks://code", run: { fail: { message: nothing is read, code: 42 } } }
tools:
  ordered:
    description: One after the other
    run:
      - { id: a, exec: [printf, "a"] }
      - { id: b, exec: [printf, "%sb", "{{steps.a.stdout}}"] }
      - { id: skipped, when: "{{eq steps.b.stdout \"c\"}}", exec: [printf, no] }
      - { id: taken, when: "{{not steps.skipped}}", exec: [printf, "%sc", "{{steps.b.stdout}}"] }
    result:
      structuredContent:
        all: "{{steps.taken.stdout}}"
        left_out: "{{steps.skipped}}"
        left_out_too: "{{steps.skipped.stdout}}"
        skipped: "is {{json steps.skipped}}"
        shown: "[{{steps.skipped.stdout}}]"
  chosen:
    description: Takes what is due
    arguments: { loud: { type: boolean, default: false }, times: { type: integer, default: 0 } }
    run:
      - { id: loud, when: "{{loud}}", exec: [printf, loud] }
      - { id: times, when: "{{gt times 1}}", exec: [printf, many] }
    result: { text: "{{steps.loud.stdout}}/{{steps.times.stdout}}" }
  typed:
    description: Says what it was given
    inputSchema:
      type: object
      properties: { count: { type: integer }, flag: { type: boolean }, list: { type: array }, map: { type: object }, text: { type: string }, none: {} }
    result: { structuredContent: { count: "{{count}}", flag: "{{flag}}", list: "{{list}}", map: "{{map}}", text: "{{text}}", given: "{{json arguments.none}}" } }
  hands_on:
    description: Hands its arguments on
    inputSchema:
      type: object
      properties: { n: { type: integer }, b: { type: boolean }, l: { type: array }, m: { type: object }, absent: { type: string } }
    run:
      - id: inner
        tool: { name: typed, arguments: { count: "{{n}}", flag: "{{b}}", list: "{{l}}", map: { in: "{{m}}" }, text: "n is {{n}}", none: "{{absent}}" } }
    result: { structuredContent: { inner: "{{steps.inner.structured}}", said: "{{steps.inner.isError}}" } }
  reads:
    description: Reads and asks for a prompt
    arguments: { id: { required: true } }
    run:
      - { id: made, read: "made://{{id}}" }
      - { id: plain, read: "plain://text" }
      - { id: words, prompt: { name: gathered, arguments: { who: "{{id}}", much: 7 } } }
    result: { text: "{{steps.made.text}}|{{steps.plain.mimeType}}|{{steps.words.text}}|{{len steps.words.messages}}" }
  stops:
    description: Stops where a step fails
    arguments: { file: { required: true } }
    run:
      - { id: bad, exec: [sh, -c, "echo broken >&2; exit 3"] }
      - { script: { shell: sh, text: 'echo reached > "$file"' } }
    result: { text: never }
  stops_inside:
    description: Stops where the tool that it calls fails
    arguments: { file: { required: true } }
    run:
      - { tool: { name: stops, arguments: { file: "{{file}}" } } }
      - { script: { shell: sh, text: 'echo reached > "$file"' } }
  goes_on:
    description: Goes on where a bad end is fine
    run:
      - { id: found, exec: [sh, -c, "exit 1"], okExit: [0, 1] }
    result: { text: "exit {{steps.found.exit}}" }
  fails: { description: Fails, run: [{ id: x, exec: [printf, why] }, { fail: "because {{steps.x.stdout}}" }] }
  fails_by_code: { description: Fails, run: { fail: { message: by a code, code: 42 } } }
  fails_inside: { description: Fails, run: [{ tool: fails_by_code }] }
  fails_when: { description: Fails for some, arguments: { n: { type: integer } }, run: [{ when: "{{gt n 3}}", fail: "{{n}} is too many" }], result: { text: "{{n}} is fine" } }
  speaks_last: { description: Speaks, run: [{ exec: [printf, first] }, { exec: [printf, second] }, { log: something }, { when: "{{eq 1 2}}", exec: [printf, third] }] }
  speaks_json: { description: Speaks, run: [{ exec: [printf, first] }, { exec: [printf, '{"a":[1,2]}'] }, { sleep: 1ms }] }
  speaks_not: { description: Says nothing, run: [{ sleep: 1ms }, { log: nothing }] }
  picks: { description: Picks, run: [{ id: a, exec: [printf, '{"x":[1,2,3]}'] }, { id: b, exec: [printf, words] }], result: { select: "{ sum: sum(a.json.x), said: b.stdout }" } }
  picked: { description: Picks, run: [{ id: a, exec: [printf, '{"x":[1,2,3]}'] }], result: { select: "a.json.x[-1]", text: "the last is {{result}}" } }
"#;

fn failure(client: &TestClient, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments);
    assert_eq!(result["isError"], true, "{tool} in {}: {result}", client.version);
    text_of(&result["content"][0])
}

/// What a tool gave for programs; older versions have it as text alone.
fn structured(client: &TestClient, tool: &str, arguments: Value) -> Value {
    let result = client.call(tool, arguments);
    assert_ne!(result["isError"], true, "{result}");
    let text: Value = serde_json::from_str(&text_of(&result["content"][0])).unwrap();
    if client.version.as_str() >= "2025-06-18" {
        assert_eq!(result["structuredContent"], text, "{result}");
    }
    text
}

#[test]
fn steps_run_in_order_and_skipped_is_null() {
    on_every_version_and_wire(&TestFolder::with_manifest(STEPS), &json!({}), |client| {
        let expected = json!({ "all": "abc", "skipped": "is null", "shown": "[]" });
        assert_eq!(structured(client, "ordered", json!({})), expected);
        for (arguments, text) in [
            (json!({}), "/"),
            (json!({ "loud": true }), "loud/"),
            (json!({ "times": 1 }), "/"),
            (json!({ "times": 2, "loud": true }), "loud/many"),
        ] {
            assert_eq!(client.call_text("chosen", arguments), text);
        }
        assert_eq!(client.call_text("goes_on", json!({})), "exit 1");
    });
}

#[test]
fn outcomes_reach_prompts_resources_and_completions() {
    on_every_version_and_wire(&TestFolder::with_manifest(STEPS), &json!({}), |client| {
        assert_eq!(client.get_text("gathered", json!({ "who": "Ada" })), "Ada! 2");
        assert_eq!(client.get_text("gathered", json!({ "who": "nobody", "much": "5" })), "nobody! 5 never");
        assert_eq!(client.read_text("made://x"), "1 x 2");
        let wish =
            json!({ "ref": { "type": "ref/prompt", "name": "asked" }, "argument": { "name": "word", "value": "al" } });
        let completion = client.result("completion/complete", wish)["completion"].clone();
        let mut values: Vec<&str> = completion["values"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        assert_eq!(values, ["almond", "alphax"], "{completion}");
    });
}

#[test]
fn entry_steps_preserve_value_types() {
    on_every_version_and_wire(&TestFolder::with_manifest(STEPS), &json!({}), |client| {
        let arguments = json!({ "n": 3, "b": false, "l": [1, "two", null], "m": { "deep": { "er": 1.5 } } });
        let given = structured(client, "hands_on", arguments);
        let inner = json!({
            "count": 3, "flag": false, "list": [1, "two", null], "map": { "in": { "deep": { "er": 1.5 } } },
            "text": "n is 3", "given": "null",
        });
        assert_eq!(given, json!({ "inner": inner, "said": false }));
        assert_eq!(client.call_text("reads", json!({ "id": "x" })), "1 x 2|text/plain|x! 7|1");
    });
}

#[test]
fn a_step_that_fails_ends_the_run() {
    let folder = TestFolder::with_manifest(STEPS);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let file = folder.join("reached");
        for tool in ["stops", "stops_inside"] {
            let words = failure(client, tool, json!({ "file": file.to_str().unwrap() }));
            assert!(words.contains("broken"), "{tool}: {words}");
            assert!(!file.exists(), "{tool} went on");
        }
    });
}

#[test]
fn fail_step_is_error_result_or_protocol_error() {
    on_every_version_and_wire(&TestFolder::with_manifest(STEPS), &json!({}), |client| {
        assert_eq!(failure(client, "fails", json!({})), "because why");
        assert_eq!(failure(client, "fails_when", json!({ "n": 4 })), "4 is too many");
        assert_eq!(client.call_text("fails_when", json!({ "n": 3 })), "3 is fine");
        let error = |method: &str, params: Value| {
            let error = client.error(method, params);
            (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
        };
        for tool in ["fails_by_code", "fails_inside"] {
            assert_eq!(error("tools/call", json!({ "name": tool })), (42, "by a code".to_owned()), "{tool}");
        }
        let gathered = "nothing is gathered".to_owned();
        assert_eq!(error("prompts/get", json!({ "name": "breaks" })), (-32603, gathered.clone()));
        assert_eq!(error("prompts/get", json!({ "name": "breaks_by_code" })), (42, gathered));
        let read = "nothing is read".to_owned();
        assert_eq!(error("resources/read", json!({ "uri": "breaks://always" })), (-32603, read.clone()));
        assert_eq!(error("resources/read", json!({ "uri": "breaks://code" })), (42, read));
    });
}

#[test]
fn default_result_is_last_step_with_output() {
    on_every_version_and_wire(&TestFolder::with_manifest(STEPS), &json!({}), |client| {
        assert_eq!(client.call_text("speaks_last", json!({})), "second");
        assert_eq!(structured(client, "speaks_json", json!({})), json!({ "a": [1, 2] }));
        let silent = client.call("speaks_not", json!({}));
        assert_eq!((&silent["content"], silent.get("structuredContent")), (&json!([]), None), "{silent}");
    });
}

#[test]
fn select_picks_from_the_outcomes_of_all_steps() {
    on_every_version_and_wire(&TestFolder::with_manifest(STEPS), &json!({}), |client| {
        let picked = structured(client, "picks", json!({}));
        assert_eq!((picked["sum"].as_f64(), &picked["said"]), (Some(6.0), &json!("words")), "{picked}");
        assert_eq!(client.call_text("picked", json!({})), "the last is 3");
    });
}

const TIMED: &str = r#"folio: 1
server: { name: timed }
prompts:
  slow: { description: Slow, timeout: 300ms, run: [{ tool: patient }], text: never }
tools:
  patient: { description: Takes its time, timeout: 2m, run: { exec: [sleep, "60"] } }
  hasty: { description: Has no time, timeout: 200ms, run: { exec: [sleep, "60"] } }
  outer: { description: Has less time than what it calls, timeout: 300ms, run: [{ tool: patient }], result: { text: never } }
  inner: { description: Calls what has less time, timeout: 2m, run: [{ tool: hasty }], result: { text: never } }
  shared: { description: Shares its time among its steps, timeout: 700ms, run: [{ sleep: 400ms }, { sleep: 400ms }], result: { text: never } }
  wait: { description: Waits, timeout: 2m, arguments: { marker: { required: true } }, run: [{ tool: { name: waits, arguments: { marker: "{{marker}}" } } }] }
  waits: { description: Waits, timeout: 2m, arguments: { marker: { required: true } }, run: [{ sleep: 1ms }, { exec: [sh, -c, "sleep 60 & wait", "{{marker}}"] }] }
  sleeps: { description: Sleeps, timeout: 2m, run: [{ sleep: 60s }] }
"#;

#[test]
fn nested_call_gets_the_remaining_timeout() {
    on_every_version_and_wire(&TestFolder::with_manifest(TIMED), &json!({}), |client| {
        for tool in ["outer", "inner", "shared"] {
            let began = Instant::now();
            let words = failure(client, tool, json!({}));
            assert!(began.elapsed() < Duration::from_secs(10), "{tool} took {:?}", began.elapsed());
            assert!(words.contains("ms"), "{tool}: {words}");
        }
        let error = client.error("prompts/get", json!({ "name": "slow" }));
        assert_eq!(error["code"], -32603, "{error}");
    });
}

#[test]
fn cancelling_a_call_ends_the_programs_of_its_steps_at_once() {
    let folder = TestFolder::with_manifest(TIMED);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let marker = format!("folio-steps-{}-{}-{}", std::process::id(), client.version, client.is_on_pipes());
        let id = client.start_call("wait", json!({ "marker": marker }));
        wait_until("the child", || !processes_with_argument(&marker).is_empty());
        client.cancel(id);
        wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
        client.round_trip();
        assert!(!client.has_answer(id), "what was cancelled was answered");
    });
}

#[test]
fn eof_interrupts_sleep_step() {
    for version in SESSION_VERSIONS.iter().chain([&SESSIONLESS_VERSION]) {
        let server = TestFolder::with_manifest(TIMED);
        let server = server.stdio();
        let client = server.client(version);
        client.start_call("sleeps", json!({}));
        client.round_trip();
        let began = Instant::now();
        server.pipe().close();
        assert!(server.wait_for_exit(Duration::from_secs(10)).is_some(), "it did not end");
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    }
}

#[test]
fn invalid_step_is_refused_at_load() {
    let run = |steps: &str| {
        format!("folio: 1\nserver: {{ name: a }}\ntools:\n  t:\n    description: T\n    run: [{steps}]\n")
    };
    let folder = TestFolder::with_manifest("");
    for (steps, words) in [
        ("{ id: a, exec: [printf, '{{steps.b.stdout}}'] }, { id: b, exec: [x] }", "steps.b"),
        ("{ id: a, sleep: 1s }, { id: a, sleep: 1s }", "duplicate step id `a`"),
        ("{ fail: over }, { sleep: 1s }", "unreachable step"),
        ("{ id: result, sleep: 1s }", "reserved step id `result`"),
        ("{ tool: t }", "cyclic run"),
        ("{ tool: nobody }", "nobody"),
        ("{ fail: { message: m, code: -32601 } }", "reserved error code"),
    ] {
        fs::write(folder.join("folio.yaml"), run(steps)).unwrap();
        let ran = run_folio(folder.path(), &["check", "."]);
        assert_eq!(ran.code, Some(1), "{steps}: {ran:?}");
        assert!(ran.out.contains(words) || ran.err.contains(words), "{steps}: {ran:?}");
    }
}

const FAILING_PROGRAMS: &str = r#"folio: 1
server: { name: fails }
prompts:
  p: { run: { exec: [sh, -c, "echo 2 failed; echo error: test failed >&2; exit 101"] }, text: never }
resources:
  r: { uri: "r://r", run: { exec: [sh, -c, "echo 2 failed; echo error: test failed >&2; exit 101"] } }
tools:
  both: { description: D, run: { exec: [sh, -c, "echo 2 failed; echo error: test failed >&2; exit 101"] } }
  script: { description: D, run: { script: { shell: sh, text: "echo 2 failed; echo error: test failed >&2; exit 101" } } }
  nested: { description: D, run: { tool: both } }
  out: { description: D, run: { exec: [sh, -c, "echo 2 failed; echo ' ' >&2; exit 101"] } }
  err: { description: D, run: { exec: [sh, -c, "echo error: test failed >&2; exit 101"] } }
  slow: { description: D, timeout: 1s, run: { exec: [sh, -c, "echo 2 failed; echo error: test failed >&2; sleep 600"] } }
  tolerated:
    description: D
    run: [{ id: a, onFail: continue, exec: [sh, -c, "echo 2 failed; echo error: test failed >&2; exit 101"] }]
    result: { text: "{{steps.a.error.text}}" }
  tolerated-slow:
    description: D
    timeout: 2s
    run:
      - { id: a, onFail: continue, tool: slow }
    result: { text: "{{steps.a.error.text}}" }
  long: { description: D, run: { exec: [sh, -c, "seq -f 'out %g' 9999; seq -f 'err %g' 9999 >&2; exit 1"] } }
  cut: { description: D, maxOutput: 3KiB, run: { exec: [sh, -c, "seq -f 'out %g' 99999; seq -f 'err %g' 99999 >&2; exit 1"] } }
  little: { description: D, maxOutput: 10B, run: { exec: [sh, -c, "echo much more than ten bytes; exit 1"] } }
  unparsed: { description: D, run: { exec: [sh, -c, "echo no such branch >&2"], parse: json } }
"#;

#[test]
fn failure_shows_stdout_and_stderr() {
    let folder = TestFolder::with_manifest(FAILING_PROGRAMS);
    let server = folder.stdio();
    let client = server.client(SESSIONLESS_VERSION);
    let both = "`sh` exited with code 101:\nstderr:\nerror: test failed\nstdout:\n2 failed";
    for (tool, said) in [
        ("both", both),
        ("script", both),
        ("nested", both),
        ("out", "`sh` exited with code 101:\n2 failed"),
        ("err", "`sh` exited with code 101:\nerror: test failed"),
        ("slow", "timed out after 1s:\nstderr:\nerror: test failed\nstdout:\n2 failed"),
    ] {
        assert_eq!(failure(&client, tool, json!({})), said, "{tool}");
    }
    assert_eq!(client.call_text("tolerated", json!({})), both);
    let slow = client.call_text("tolerated-slow", json!({}));
    assert!(slow.ends_with("error: test failed\nstdout:\n2 failed"), "{slow}");
    for (method, params) in [("prompts/get", json!({ "name": "p" })), ("resources/read", json!({ "uri": "r://r" }))] {
        assert_eq!(client.error(method, params)["message"], both, "{method}");
    }
    let long = failure(&client, "long", json!({}));
    let (err, out) = long.split_once("\nstdout:\n").unwrap();
    assert!(err.ends_with("\nerr 9999") && out.ends_with("\nout 9999"), "{long}");
    assert!(long.len() < 5000, "{}", long.len());
    // The end is there whatever is captured.
    let cut = failure(&client, "cut", json!({}));
    let (err, out) = cut.split_once("\nstdout:\n").unwrap();
    assert!(err.contains("stderr:\nerr 1\n") && err.ends_with("\nerr 99999"), "{cut}");
    assert!(
        out.starts_with("out 1\n") && out.ends_with("\nout 99999") && out.contains(" bytes left out …]\n"),
        "{cut}"
    );
    assert!(cut.len() < 5000, "{}", cut.len());
    assert_eq!(failure(&client, "little", json!({})), "`sh` exited with code 1:\nmuch more than ten bytes");
    let unparsed = failure(&client, "unparsed", json!({}));
    assert!(unparsed.starts_with("the program ran: exit 0; invalid JSON") && unparsed.ends_with("\nno such branch"));
}

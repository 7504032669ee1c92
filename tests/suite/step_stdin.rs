//! The stdout of a step as the stdin of another, and notes in texts, which no later step gets.

use serde_json::json;

use crate::harness::*;
use crate::upstream_server::{Reply, Upstream};

/// More than the limits of texts, and no text: every byte, in an order that does not repeat soon.
fn binary(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Mostly text, which takes the least memory to show.
        let [.., low, high] = state.to_be_bytes();
        if low == 0 { high } else { b'a' + high % 26 }
    };
    std::iter::repeat_with(&mut next).take(length).collect()
}

const STDIN: &str = r#"folio: 1
server: { name: stdin }
tools:
  exact: { description: D, maxOutput: 32MiB, run: [{ id: a, exec: [cat, bytes] }, { exec: [cmp, "-", bytes], stdin: { from: a } }], result: { text: same } }
  twice: { description: D, run: [{ id: a, exec: [printf, 'é\377\000\n\n'] }, { id: b, exec: [cat], stdin: { from: a } }, { exec: [od, -An, -tx1], stdin: { from: b } }] }
  script: { description: D, run: [{ id: a, script: { shell: sh, text: "printf 'a\\r\\n'" } }, { script: { shell: sh, text: "od -An -tx1" }, stdin: { from: a } }] }
  repeated: { description: D, run: [{ id: a, exec: [printf, x] }, { id: l, set: { n: [1, 2, 3] } }, { each: "{{steps.l.n}}", parallel: 3, exec: [cat], stdin: { from: a } }] }
  failed: { description: D, run: [{ id: a, onFail: continue, exec: [sh, -c, "printf before; exit 3"] }, { exec: [cat], stdin: { from: a } }] }
  skipped: { description: D, run: [{ id: a, when: "{{eq 1 2}}", exec: [printf, x] }, { exec: [cat], stdin: { from: a } }] }
  none: { description: D, run: [{ id: a, onFail: continue, exec: [./gone, x] }, { exec: [cat], stdin: { from: a } }] }
  cut: { description: D, maxOutput: 8B, run: [{ id: a, exec: [printf, 123456789] }, { exec: [touch, ran], stdin: { from: a } }] }
  file: { description: D, run: { exec: [cat], stdin: { file: gone } } }
  nested: { description: D, run: [{ id: a, exec: [printf, x] }, { tool: asks }, { exec: [cat], stdin: { from: a } }] }
  asks: { description: D, run: [{ id: q, ask: { q: { elicit: { message: M, schema: { a: { required: true } } } } } }], result: { text: "{{steps.q.q.a}}" } }
"#;

#[test]
fn stdin_is_exactly_stdout_of_step() {
    let folder = TestFolder::with_manifest(STDIN);
    folder.write("bytes", binary(20 << 20));
    folder.write("gone", "content");
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    assert_eq!(client.call_text("exact", json!({})), "same");
    assert_eq!(client.call_text("twice", json!({})).trim(), "c3 a9 ff 00 0a 0a");
    assert_eq!(client.call_text("script", json!({})).trim(), "61 0d 0a");
    assert_eq!(client.call_text("repeated", json!({})), "x\nx\nx");
    assert_eq!(client.call_text("failed", json!({})), "before");
    assert_eq!(client.call_text("file", json!({})), "content");
    for (tool, words) in [
        ("skipped", "invalid `stdin`: step `a` has no stdout: it was skipped"),
        ("none", "invalid `stdin`: step `a` has no stdout"),
        ("cut", "the stdout of step `a` is cut: 1 bytes over the limit of 8; raise `maxOutput`"),
    ] {
        let answer = client.call(tool, json!({}));
        assert!(answer["isError"] == true && text_of(&answer["content"][0]).contains(words), "{tool}: {answer}");
    }
    assert!(!folder.join("ran").exists());
}

#[test]
fn stdout_is_not_kept_across_a_question() {
    let folder = TestFolder::with_manifest(STDIN);
    folder.write("gone", "content");
    let server = folder.stdio();
    let client = server.client_with(SESSIONLESS_VERSION, json!({ "elicitation": { "form": {} } }));
    let answer = client.call_with_answers("nested", json!({}), |_, _| panic!("asked in vain"));
    let words = "the stdout of step `a` is not kept while the client is asked";
    assert!(answer.to_string().contains(words), "{answer}");
}

#[test]
fn secret_in_captured_stdout_is_redacted() {
    let manifest = "folio: 1\nserver: { name: s }\nenv: { TOKEN: { secret: true, default: s3cret-value } }\ntools:\n  t: { description: D, run: [{ id: a, exec: [sh, -c, 'printf \"a %s b\" \"$OWN\"'], env: { OWN: \"{{env.TOKEN}}\" } }, { exec: [tr, a-z, A-Z], stdin: { from: a } }] }\n";
    let folder = TestFolder::with_manifest(manifest);
    let server = folder.serve_command().env("TOKEN", "s3cret-value").stdio();
    let text = server.session(SESSION_VERSIONS[3]).call_text("t", json!({}));
    assert!(!text.contains("S3CRET") && text.starts_with("A ") && text.ends_with(" B"), "{text}");
}

#[test]
fn invalid_source_of_stdin_is_refused_at_load() {
    let ask = "{ ask: { q: { elicit: { message: M, schema: { a: { required: true } } } } } }";
    let (a, cat) = ("{ id: abc, exec: [printf, x] }", "{ exec: [cat], stdin: { from: abc } }");
    for (steps, words) in [
        (format!("[{cat}]"), "unknown step `abc`"),
        (format!("[{a}, {{ exec: [cat], stdin: {{ from: abd }} }}]"), "did you mean `abc`?"),
        (format!("[{cat}, {a}]"), "step `abc` comes later"),
        ("{ exec: [cat], stdin: { from: abc } }".to_owned(), "unknown step `abc`"),
        (format!("[{{ id: abc, set: {{ a: 1 }} }}, {cat}]"), "step `abc` has no stdout"),
        (format!("[{{ id: abc, each: [1], exec: [printf, x] }}, {cat}]"), "each"),
        (format!("[{{ id: abc, each: \"{{{{l}}}}\", exec: [printf, x] }}, {cat}]"), "step `abc` is repeated"),
        (format!("[{a}, {{ exec: [cat], stdin: {{ from: abc, file: x }} }}]"), "`from` beside `file`"),
        (format!("[{a}, {{ exec: [cat], stdin: {{}} }}]"), "expected a string, `{ file: … }` or `{ from: … }`"),
        (format!("[{a}, {{ exec: [cat], stdin: {{ of: abc }} }}]"), "of"),
        (format!("[{a}, {{ exec: [cat], stdin: {{ from: 3 }} }}]"), "from"),
        (format!("[{a}, {{ exec: [cat], stdin: {{ from: \"{{{{l}}}}\" }} }}]"), "unknown step `{{l}}`"),
        (format!("[{a}, {ask}, {cat}]"), "the stdout of `abc` is not kept over a question"),
        (format!("[{a}, {{ exec: [sh], stdin: {{ from: abc }} }}]"), "a value in the stdin of `sh` could become code"),
    ] {
        let folder = TestFolder::with_manifest(&format!(
            "folio: 1\nserver: {{ name: s }}\ntools:\n  t: {{ description: D, arguments: {{ l: {{ type: array }} }}, run: {steps} }}\n"
        ));
        let ran = run_folio(folder.path(), &["check", "."]);
        assert_eq!(ran.code, Some(1), "{steps}: {ran:?}");
        let report = ran.out + &ran.err;
        assert!(report.contains(words), "{steps}: {report}");
    }
}

/// A step that uses the text of step `x`.
const USES: &[&str] = &[
    r#"{ exec: [touch, "ran-{{TEXT}}"] }"#,
    r#"{ exec: [touch, ran, { if: "{{steps.x}}", then: ["{{TEXT}}"] }] }"#,
    r#"{ exec: [touch, ran], stdin: "{{TEXT}}" }"#,
    r#"{ exec: [touch, ran], stdin: "a {{TEXT}}" }"#,
    r#"{ exec: [touch, ran], env: { A: "{{TEXT}}" } }"#,
    r#"{ set: { a: "{{TEXT}}" } }"#,
    r#"{ set: { a: ["{{upper TEXT}}"] } }"#,
    r#"{ set: { a: "{{#if arguments}}{{TEXT}}{{/if}}" } }"#,
    r#"{ set: { a: "{{steps.x}}" } }"#,
    r#"{ set: { a: "{{json steps}}" } }"#,
    r#"{ set: { a: { select: "@", from: "{{TEXT}}" } } }"#,
    r#"{ file: { write: ran, in: f, text: "{{TEXT}}" } }"#,
    r#"{ when: '{{not (contains TEXT "FAILED")}}', file: { write: ran, in: f, text: "x" } }"#,
    r#"{ tool: { name: echo, arguments: { a: "{{TEXT}}" } } }"#,
    r#"{ http: { url: "URL/", allow: [127.0.0.1], method: POST, body: "{{TEXT}}" } }"#,
    r#"{ http: { url: "URL/", allow: [127.0.0.1], method: POST, json: { a: "{{TEXT}}" } } }"#,
    r#"{ http: { url: "URL/", allow: [127.0.0.1], query: { a: "{{TEXT}}" } } }"#,
];

/// A step whose text has a note, the path of that text, and what its error says.
const SOURCES: &[(&str, &str, &str)] = &[
    (
        "exec: [printf, 12345678901234567890]",
        "steps.x.stdout",
        "ends with the note `[truncated: 4 more bytes]` and cannot be used as a value: raise `maxOutput`, or pass the bytes by `stdin: { from: x }`",
    ),
    (
        r"exec: [printf, 'a\377']",
        "steps.x.stdout",
        "ends with the note `[invalid UTF-8 replaced by \u{fffd}]` and cannot be used as a value: pass the bytes by `stdin: { from: x }`",
    ),
    (
        "http: { url: \"URL/long\", allow: [127.0.0.1] }",
        "steps.x.body",
        "`steps.x.body` ends with the note `[truncated: 4 more bytes]` and cannot be used as a value: raise `maxOutput`",
    ),
    ("tool: long", "steps.x.text", "`steps.x.text` ends with the note `[truncated: 4 more bytes]`"),
];

#[test]
fn text_with_note_reaches_no_later_step() {
    let upstream = Upstream::start(|request, _| match request.target.as_str() {
        "/long" => Reply::with_headers(200, &[("content-type", "text/plain")], "abcdefghijklmnopqrst"),
        target => panic!("{target}: {:?}", request.body),
    });
    let mut manifest = "folio: 1\nserver: { name: s }\nfolders: { f: { path: f, write: true } }\ntools:\n  echo: { description: D, arguments: { a: {} }, result: { text: \"{{a}}\" } }\n  long: { description: D, maxOutput: 16B, run: { exec: [printf, 12345678901234567890] } }\n".to_owned();
    let mut expected = Vec::new();
    for (source, path, words) in SOURCES {
        for used in USES {
            let name = format!("t{}", expected.len());
            let step = used.replace("TEXT", path);
            manifest.push_str(&format!(
                "  {name}: {{ description: D, maxOutput: 16B, run: [{{ id: x, {source} }}, {step}] }}\n"
            ));
            expected.push((name, step, *words));
        }
    }
    let folder = TestFolder::with_manifest(&manifest.replace("URL", &upstream.url()));
    folder.write("f/kept", "");
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    for (name, step, words) in expected {
        let answer = client.call(&name, json!({}));
        assert!(answer["isError"] == true && text_of(&answer["content"][0]).contains(words), "{step}: {answer}");
    }
    assert!(!folder.join("ran").exists() && !folder.join("f/ran").exists());
}

const READERS: &str = r#"folio: 1
server: { name: s }
tools:
  result: { description: D, maxOutput: 8B, run: [{ id: x, exec: [printf, 123456789] }], result: { text: "{{steps.x.stdout}}" } }
  default: { description: D, maxOutput: 8B, run: { exec: [printf, 123456789] } }
  fails: { description: D, maxOutput: 8B, run: [{ id: x, exec: [printf, 123456789] }, { fail: "{{steps.x.stdout}}" }] }
  worded: { description: D, maxOutput: 8B, run: [{ id: x, exec: [sh, -c, "printf 123456789; exit 3"], onExit: { 3: "{{stdout}}" } }] }
  tests: { description: D, maxOutput: 8B, run: [{ id: x, exec: [printf, 123456789] }, { when: "{{steps.x.stdout}}", exec: [printf, "exit %s", "{{steps.x.exit}}"] }] }
  own: { description: D, run: [{ id: x, exec: [printf, "[truncated: 5 more words]"] }, { exec: [printf, "%s", "{{steps.x.stdout}}"] }] }
  stderr: { description: D, maxOutput: 32B, run: [{ id: x, exec: [sh, -c, "printf 12345678901234567890123456789012345 >&2; echo a"] }, { set: { a: "{{steps.x.stdout}}", b: "{{steps.x}}" } }], result: { text: "{{steps.x.stdout}}" } }
"#;

#[test]
fn reader_gets_note_of_text() {
    let folder = TestFolder::with_manifest(READERS);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    for (tool, text) in [
        ("result", "12345678\n[truncated: 1 more bytes]"),
        ("default", "12345678\n[truncated: 1 more bytes]"),
        ("fails", "12345678\n[truncated: 1 more bytes]"),
        ("worded", "12345678\n[truncated: 1 more bytes]"),
        ("tests", "exit 0"),
        ("own", "[truncated: 5 more words]"),
        ("stderr", "a"),
    ] {
        assert_eq!(text_of(&client.call(tool, json!({}))["content"][0]), text, "{tool}");
    }
}

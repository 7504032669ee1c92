//! `folio test`: the tests of a manifest.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{CommandOutput, FOLIO_BIN, TestFolder, run_folio};

const HEAD: &str = r#"
folio: 1
server: { name: tests }
env:
  API: { default: "https://api.example" }
  TOKEN: { secret: true, required: true }
  CITY: { default: Oslo }
prompts:
  greet:
    description: Greets
    arguments: { who: { required: true } }
    text: "Say hello to {{who}}."
  dated:
    description: Says the day
    text: "{{now '%Y-%m-%d'}} in {{env.CITY}}"
tools:
  search:
    description: Searches
    arguments: { pattern: { required: true } }
    run: { exec: [no-such-program, --, "{{pattern}}"], okExit: [0, 1] }
  scripted:
    description: Runs a script
    run: { script: { shell: sh, text: "echo real" } }
  items:
    description: Lists items
    run:
      http:
        url: "{{env.API}}/items"
        auth: { bearer: "{{env.TOKEN}}" }
        retry: { attempts: 3, on: [503], backoff: 30s }
        paginate: { next: link, maxPages: 5 }
    result: { select: "[].{id: id}" }
  add:
    description: Adds an item
    arguments: { name: { required: true } }
    run:
      http: { method: POST, url: "{{env.API}}/items", json: { name: "{{name}}", by: "{{server.name}}" }, headers: { X-Key: "{{env.TOKEN}}" } }
  two:
    description: Two programs
    run:
      - { id: first, exec: [one] }
      - { id: second, exec: [two, "{{trim steps.first.stdout}}"] }
    result: { text: "{{steps.first.stdout}}{{steps.second.stdout}}" }
  confirmed:
    description: Asks
    run:
      - id: asked
        ask: { confirm: { elicit: { message: Sure?, schema: { sure: { type: boolean, required: true } } } } }
    result: { text: "sure: {{steps.asked.confirm.sure}}" }
  write:
    description: Writes
    run: { file: { write: out.txt, in: here, text: hello } }
    result: { text: written }
folders: { here: { path: ., write: true } }
"#;

fn folder(tests: &str) -> TestFolder {
    let indented: String = tests.lines().map(|line| format!("  {line}\n")).collect();
    TestFolder::with_manifest(&format!("{HEAD}tests:\n{indented}"))
}

fn test(folder: &TestFolder, arguments: &[&str]) -> CommandOutput {
    let path = folder.path().to_str().unwrap();
    run_folio(folder.path(), &[&["test", path][..], arguments].concat())
}

/// Runs tests that all must pass.
#[track_caller]
fn assert_pass(tests: &str) {
    let ran = test(&folder(tests), &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("test result: ok."), "{}", ran.out);
}

/// Runs a test that must fail, and returns what is said of it.
#[track_caller]
fn fail(tests: &str) -> String {
    let ran = test(&folder(tests), &[]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("test result: FAILED."), "{}", ran.out);
    ran.out
}

#[test]
fn every_example_passes_its_tests() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/servers");
    let mut folders: Vec<PathBuf> = fs::read_dir(&examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.extend(["review", "style"].map(|pack| examples.join("team-pack/packs").join(pack)));
    for folder in folders {
        let ran = run_folio(Path::new("/"), &["test", folder.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{}: {}{}", folder.display(), ran.out, ran.err);
        // The smallest server has seven lines, and no place for a test.
        let is_smallest = folder.ends_with("hello");
        assert!(is_smallest || !ran.out.contains(" 0 passed"), "{} has no tests", folder.display());
    }
}

#[test]
fn expectations_hold_and_fail() {
    for (holds, breaks) in [
        ("{ contains: [hello, Ada] }", "{ contains: [hello, Bob] }"),
        ("{ equals: Say hello to Ada. }", "{ equals: Say hello. }"),
        ("{ matches: 'to \\w+\\.$' }", "{ matches: ^hello }"),
        ("{ messages: [{ user: Say hello to Ada. }] }", "{ messages: [{ assistant: Say hello to Ada. }] }"),
        ("{ messages: [{ user: { type: text } }] }", "{ messages: [] }"),
    ] {
        assert_pass(&format!("t:\n  prompt: greet\n  arguments: {{ who: Ada }}\n  expect: {holds}"));
        fail(&format!("t:\n  prompt: greet\n  arguments: {{ who: Ada }}\n  expect: {breaks}"));
    }
    for (holds, breaks) in [
        ("{ json: [{ id: 1 }] }", "{ json: [{ id: 2 }] }"),
        ("{ isError: false }", "{ isError: true }"),
        ("{ equals: [{ id: 1 }] }", "{ equals: [] }"),
        ("{ contains: id }", "{ error: id }"),
    ] {
        let head = "t:\n  tool: items\n  mock: { http: { json: [{ id: 1, more: 2 }] } }\n";
        assert_pass(&format!("{head}  expect: {holds}"));
        fail(&format!("{head}  expect: {breaks}"));
    }
}

#[test]
fn failures_have_a_frame_and_a_diff() {
    let out = fail("wrong:\n  prompt: greet\n  arguments: { who: Ada }\n  expect: { equals: Say hello to Bob. }");
    assert!(out.contains("test wrong ... FAILED"), "{out}");
    assert!(out.contains("error[failed-test]") && out.contains("folio.yaml:59:"), "{out}");
    assert!(out.contains("expect: { equals: Say hello to Bob. }") && out.contains("^^^"), "{out}");
    assert!(out.contains("-Say hello to Bob.") && out.contains("+Say hello to Ada."), "{out}");
    assert!(out.contains("0 passed; 1 failed; 0 skipped;"), "{out}");
}

#[test]
fn unexpected_errors_fail_a_test() {
    let out = fail(
        "t:\n  tool: search\n  arguments: { pattern: x }\n  mock: { exec: { exit: 7, stderr: broken } }\n  expect: { contains: broken }",
    );
    assert!(out.contains("the call failed") && out.contains("+") && out.contains("broken"), "{out}");
    assert_pass(
        "t:\n  tool: search\n  arguments: { pattern: x }\n  mock: { exec: { exit: 7, stderr: broken } }\n  expect: { error: broken }",
    );
    assert_pass("t:\n  prompt: greet\n  expect: { error: who }");
}

#[test]
fn nothing_acts_on_the_world_without_a_mock() {
    for (tool, action) in [
        ("search\n  arguments: { pattern: x }", "program `no-such-program -- x`"),
        ("scripted", "program `sh"),
        ("items", "request `GET https://api.example/items`"),
        ("confirmed", "question `confirm`"),
        ("write", "file action `write \"out.txt\"`"),
    ] {
        let folder = folder(&format!("t:\n  tool: {tool}\n  expect: {{ isError: true }}"));
        let ran = test(&folder, &[]);
        assert_eq!(ran.code, Some(1), "{}", ran.out);
        assert!(ran.out.contains("the test would act on the world: no mock for"), "{}", ran.out);
        assert!(ran.out.contains(action), "{action}: {}", ran.out);
        assert!(!folder.join("out.txt").exists());
    }
    let mock =
        "t:\n  tool: search\n  arguments: { pattern: x }\n  mock: { script: { stdout: y } }\n  expect: { contains: y }";
    let ran = test(&folder(mock), &[]);
    let message = "no mock for program `no-such-program -- x`, and nothing uses the mock of `script`";
    assert!(ran.out.contains(message), "{}", ran.out);
}

#[test]
fn live_tests_run_only_with_the_flag() {
    let folder =
        folder("t:\n  tool: write\n  live: true\n  mock: { env: { TOKEN: abcdefgh } }\n  expect: { equals: written }");
    let ran = test(&folder, &[]);
    assert!(ran.code == Some(0) && ran.out.contains("skipped (it is `live`"), "{}", ran.out);
    assert!(!folder.join("out.txt").exists());
    let ran = test(&folder, &["--live"]);
    assert!(ran.code == Some(0) && ran.out.contains("1 passed"), "{}{}", ran.out, ran.err);
    assert_eq!(fs::read_to_string(folder.join("out.txt")).unwrap(), "hello");
}

#[test]
fn mocked_requests_are_retried_paged_and_compared() {
    assert_pass(
        r#"pages:
  tool: items
  mock:
    http:
      - { status: 503, headers: { Retry-After: "25" } }
      - { json: [{ id: 1 }], headers: { Link: '<https://api.example/items?page=2>; rel="next"' } }
      - { json: [{ id: 2 }] }
  expect:
    json: [{ id: 1 }, { id: 2 }]
    sent:
      - { method: GET, url: "https://api.example/items" }
      - { url: "https://api.example/items", headers: { authorization: "Bearer [secret]" } }
      - { url: "https://api.example/items?page=2" }
"#,
    );
    let out = fail("t:\n  tool: items\n  mock: { http: [{ status: 503 }] }\n  expect: { isError: true }");
    assert!(out.contains("no mock for request `GET https://api.example/items`"), "{out}");
}

#[test]
fn sent_is_compared_in_all_its_parts() {
    let head = "t:\n  tool: add\n  arguments: { name: tea }\n  mock: { env: { TOKEN: abc-123456 }, http: { status: 201, json: {} } }\n";
    assert_pass(&format!(
        "{head}  expect: {{ sent: {{ method: POST, headers: {{ x-key: abc-123456 }}, json: {{ name: tea }} }} }}"
    ));
    assert_pass(&format!("{head}  expect: {{ sent: {{ body: '{{\"name\":\"tea\",\"by\":\"tests\"}}' }} }}"));
    for (sent, said) in [
        ("{ method: PUT }", "another method was sent"),
        ("{ url: x }", "another url was sent"),
        ("{ headers: { X-Key: other } }", "another header `X-Key` was sent"),
        ("{ headers: { X-None: other } }", "no header `X-None` was sent"),
        ("{ json: { name: ink } }", "`/name`: expected \"ink\", found \"tea\""),
        ("{ argv: [curl] }", "a request was sent, and no program run"),
        ("[]", "expected 0 programs and requests, found 1"),
    ] {
        let out = fail(&format!("{head}  expect: {{ sent: {sent} }}"));
        assert!(out.contains(said), "{sent}: {out}");
        assert!(!out.contains("+abc-123456"), "a secret in {out}");
    }
    assert_pass(
        "t:\n  tool: search\n  arguments: { pattern: -x }\n  mock: { exec: {} }\n  expect: { sent: { argv: [no-such-program, --, -x] } }",
    );
}

#[test]
fn mocks_are_by_step_or_by_action() {
    assert_pass(
        "t:\n  tool: two\n  mock: { first: { stdout: a }, exec: { stdout: b } }\n  expect: { equals: ab, sent: [{ argv: [one] }, { argv: [two, a] }] }",
    );
    assert_pass("t:\n  tool: two\n  mock: { exec: [{ stdout: a }, { stdout: b }] }\n  expect: { equals: ab }");
    assert_pass("t:\n  tool: scripted\n  mock: { script: { stdout: mocked } }\n  expect: { equals: mocked }");
    let out = fail("t:\n  tool: scripted\n  mock: { exec: { stdout: mocked } }\n  expect: { equals: mocked }");
    assert!(out.contains("no mock for program"), "{out}");
}

#[test]
fn questions_are_answered_in_every_version() {
    assert_pass(
        "t:\n  tool: confirmed\n  versions: [2025-06-18, 2025-11-25, 2026-07-28]\n  mock: { ask: { confirm: { sure: true } } }\n  expect: { equals: 'sure: true' }",
    );
    assert_pass(
        "t:\n  tool: confirmed\n  mock: { asked: { confirm: { action: decline } } }\n  expect: { isError: true }",
    );
}

#[test]
fn versions_are_what_their_clients_get() {
    let ran = test(
        &folder(
            "t:\n  tool: items\n  versions: [2024-11-05, 2026-07-28]\n  mock: { http: { json: [{ id: 1 }] } }\n  expect: { snapshot: true }",
        ),
        &["--update"],
    );
    assert!(ran.out.contains("test t [2024-11-05] ... ok (snapshot recorded)"), "{}", ran.out);
    let folder = folder(
        "t:\n  tool: items\n  versions: [2024-11-05]\n  mock: { http: { json: [{ id: 1 }] } }\n  expect: { snapshot: true }",
    );
    test(&folder, &["--update"]);
    let recorded = snapshots(&folder);
    assert!(!recorded[0].1.contains("structuredContent"), "an old client gets none: {recorded:?}");
}

#[test]
fn environment_and_time_are_those_of_the_test() {
    assert_pass(
        "a:\n  prompt: dated\n  mock: { env: { CITY: Lima }, now: 2026-01-31T12:00:00Z }\n  expect: { equals: 2026-01-31 in Lima }\nb:\n  prompt: dated\n  mock: { now: 2001-02-03T00:00:00Z }\n  expect: { equals: 2001-02-03 in Oslo }",
    );
}

#[test]
fn cases_share_the_keys_of_their_test() {
    let folder = folder(
        "t:\n  prompt: greet\n  expect: { contains: hello }\n  cases:\n    - { arguments: { who: Ada }, expect: { contains: Ada } }\n    - { name: bob, arguments: { who: Bob }, expect: { contains: Ada } }",
    );
    let ran = test(&folder, &[]);
    assert!(ran.out.contains("test t (1) ... ok\ntest t (bob) ... FAILED"), "{}", ran.out);
}

/// The snapshots of a folder, by name.
fn snapshots(folder: &TestFolder) -> Vec<(String, String)> {
    let Ok(files) = fs::read_dir(folder.join("__snapshots__")) else { return Vec::new() };
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let name = |file: &PathBuf| file.file_name().unwrap().to_str().unwrap().to_owned();
    files.iter().map(|file| (name(file), fs::read_to_string(file).unwrap())).collect()
}

#[test]
fn snapshots_are_recorded_compared_and_removed() {
    let manifest = |who: &str| {
        format!(
            "{HEAD}tests:\n  greeting: {{ prompt: greet, arguments: {{ who: {who} }}, expect: {{ snapshot: true }} }}\n"
        )
    };
    let folder = TestFolder::with_manifest(&manifest("Ada"));
    let ran = test(&folder, &[]);
    assert!(ran.code == Some(1) && ran.out.contains("no snapshot is recorded"), "{}", ran.out);
    assert_eq!(snapshots(&folder), []);
    assert_eq!(test(&folder, &["--update"]).code, Some(0));
    assert_eq!(snapshots(&folder), [("greeting.snap".to_owned(), "--- user text\nSay hello to Ada.\n".to_owned())]);
    assert_eq!(test(&folder, &[]).code, Some(0));
    folder.write("folio.yaml", manifest("Bob"));
    let ran = test(&folder, &[]);
    assert!(
        ran.code == Some(1) && ran.out.contains("-Say hello to Ada.") && ran.out.contains("+Say hello to Bob."),
        "{}",
        ran.out
    );
    folder.write("folio.yaml", HEAD);
    let ran = test(&folder, &[]);
    assert!(ran.code == Some(0) && ran.err.contains("obsolete snapshot"), "{}{}", ran.out, ran.err);
    assert_eq!(snapshots(&folder).len(), 1);
    test(&folder, &["--update"]);
    assert_eq!(snapshots(&folder), []);
}

#[test]
#[cfg(unix)]
fn snapshots_follow_no_link_out_of_the_folder() {
    use std::os::unix::fs::symlink;

    let victim = TestFolder::new(&[("a.snap", "mine"), ("bashrc", "mine")]);
    let folder = folder("one:\n  prompt: greet\n  arguments: { who: a }\n  expect: { snapshot: true }");
    symlink(victim.path(), folder.path().join("__snapshots__")).unwrap();
    let ran = test(&folder, &["--update"]);
    assert!(ran.code == Some(1) && ran.out.contains("cannot write the snapshot"), "{}{}", ran.out, ran.err);
    std::fs::remove_file(folder.path().join("__snapshots__")).unwrap();
    folder.write("__snapshots__/x.snap", "obsolete");
    symlink(victim.path().join("bashrc"), folder.path().join("__snapshots__/one.snap")).unwrap();
    test(&folder, &["--update"]);
    for name in ["a.snap", "bashrc"] {
        assert_eq!(std::fs::read_to_string(victim.path().join(name)).unwrap(), "mine");
    }
}

#[test]
fn live_tests_of_a_pack_run_only_in_its_folder() {
    let own = "folio: 1\nserver: { name: p }\ntools: { t: { description: T, run: { exec: [echo, hi] } } }\ntests:\n  acts: { tool: t, live: true, expect: { contains: hi } }\n";
    let importer = "folio: 1\nserver: { name: i }\npacks: { p: { path: p, allow: [exec] } }\n";
    let folder = TestFolder::new(&[("folio.yaml", importer), ("p/folio.yaml", own)]);
    let ran = test(&folder, &["--live"]);
    assert!(
        ran.code == Some(0) && ran.out.contains("skipped (it is `live`: run it in the folder of its pack"),
        "{}",
        ran.out
    );
    let ran = run_folio(&folder.path().join("p"), &["test", "--live"]);
    assert!(ran.code == Some(0) && ran.out.contains("1 passed"), "{}", ran.out);
}

#[test]
fn snapshots_hold_no_secret() {
    let folder = TestFolder::with_manifest(&format!(
        "{HEAD}tests:\n  t: {{ tool: scripted, mock: {{ env: {{ TOKEN: hush-123456 }}, script: {{ stdout: it is hush-123456 }} }}, expect: {{ snapshot: true }} }}\n"
    ));
    test(&folder, &["--update"]);
    assert!(snapshots(&folder)[0].1.contains("it is [secret]"), "{:?}", snapshots(&folder));
}

#[test]
fn filter_chooses_tests_by_name() {
    let folder = folder(
        "alpha one: { prompt: greet, arguments: { who: a }, expect: { contains: a } }\nbeta one: { prompt: greet, arguments: { who: a }, expect: { contains: a } }",
    );
    for (filter, passed) in [("one", 2), ("alpha", 1), ("*one", 2), ("be?a *", 1)] {
        let ran = test(&folder, &[filter]);
        assert!(ran.code == Some(0) && ran.out.contains(&format!("{passed} passed")), "{filter}: {}", ran.out);
    }
    for filter in ["gamma", "alph?"] {
        let ran = test(&folder, &[filter]);
        assert!(ran.code == Some(2) && ran.err.contains("no test matches"), "{filter}: {}", ran.err);
    }
    // In the folder of a manifest, what is no path is the filter.
    for (arguments, code, words) in [
        (&["test", "alpha"][..], Some(0), "1 passed"),
        (&["test", "gamma"], Some(2), "no test matches `gamma`"),
        (&["test", "no/such"], Some(2), "no/such"),
    ] {
        let ran = run_folio(folder.path(), arguments);
        assert!(ran.code == code && format!("{}{}", ran.out, ran.err).contains(words), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn manifest_with_errors_is_not_tested() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: x }\ntests: { t: { prompt: none, expect: { contains: x } } }\n",
    );
    let ran = test(&folder, &[]);
    assert!(ran.code == Some(2) && ran.err.contains("unknown-reference"), "{}{}", ran.out, ran.err);
    assert_eq!(run_folio(Path::new("/"), &["test", "/no/such/folder"]).code, Some(2));
}

#[test]
fn wrong_mocks_are_found_by_check() {
    for (mock, said) in [
        ("{ exec: { stdot: x } }", "unknown key `stdot`"),
        ("{ exce: {} }", "unknown action or step `exce`"),
        ("{ http: { json: 1, body: x } }", "`json` cannot be used with `body`"),
        ("{ now: tomorrow }", "invalid time"),
        ("{ file: {} }", "invalid mock of `file`: missing field `files`"),
        ("{ sleep: {} }", "unknown action or step `sleep`"),
    ] {
        let ran = test(&folder(&format!("t: {{ tool: scripted, mock: {mock}, expect: {{ contains: x }} }}")), &[]);
        assert!(ran.code == Some(2) && ran.err.contains(said), "{mock}: {}", ran.err);
    }
}

#[test]
fn mock_of_a_step_has_the_keys_of_its_action() {
    for (mock, said) in [
        ("{ first: { stdot: x } }", "did you mean `stdout`?"),
        ("{ first: [{ exit: 1 }, { stdot: x }] }", "did you mean `stdout`?"),
        ("{ first: { status: 404 } }", "a mock of `first` has `exit`, `stdout`, `stderr`"),
        ("{ first: { confirm: { sure: true } } }", "unknown key `confirm`"),
    ] {
        let ran = test(&folder(&format!("t: {{ tool: two, mock: {mock}, expect: {{ contains: x }} }}")), &[]);
        let errors = ran.err.matches("error[").count();
        assert!((ran.code, errors) == (Some(2), 1) && ran.err.contains(said), "{mock}: {}", ran.err);
    }
    assert_pass(
        "t: { tool: confirmed, mock: { asked: { confirm: { sure: true } } }, expect: { contains: \"sure: true\" } }",
    );
}

#[test]
fn json_lists_outcomes_with_places() {
    let folder = folder(
        "good: { prompt: greet, arguments: { who: a }, expect: { contains: a } }\nbad: { prompt: greet, arguments: { who: a }, expect: { contains: b } }",
    );
    let ran = test(&folder, &["--format", "json"]);
    let shown: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &shown["passed"], &shown["failed"]), (Some(1), &1.into(), &1.into()));
    assert_eq!(shown["tests"][0]["status"], "passed");
    let failure = &shown["tests"][1]["failures"][0];
    assert_eq!((&failure["line"], &failure["message"]), (&57.into(), &"the answer does not contain `b`".into()));
}

/// The elements of an XML text with their attributes, which must be well-formed as far as JUnit needs it.
fn parse_xml(text: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut elements = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains('>'), "a bare > in {rest}");
        let end = at + rest[at..].find('>').unwrap();
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut found = Vec::new();
        while let Some((key, after)) = attributes.trim_start().split_once("=\"") {
            let (value, after) = after.split_once('"').unwrap();
            assert!(!value.contains('<'), "{value}");
            found.push((key.to_owned(), value.to_owned()));
            attributes = after;
        }
        assert!(attributes.trim().is_empty(), "{attributes}");
        if !closed {
            open.push(name.to_owned());
        }
        elements.push((name.to_owned(), found));
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    for (at, _) in text.match_indices('&') {
        let entity = &text[at..at + text[at..].find(';').unwrap()];
        assert!(["&amp", "&lt", "&gt", "&quot"].contains(&entity) || entity.starts_with("&#"), "{entity}");
    }
    assert!(!text.chars().any(|letter| letter < ' ' && letter != '\n'));
    elements
}

#[test]
fn junit_is_well_formed_xml() {
    let folder = folder(
        "\"<good> & 'quoted' \\\"name\\\"\": { prompt: greet, arguments: { who: a }, expect: { contains: a } }\nbad: { prompt: greet, arguments: { who: \"<b>&\\e[0m]]>\" }, expect: { contains: \"</failure>\" } }\nlive: { live: true, prompt: greet, arguments: { who: a }, expect: { contains: a } }",
    );
    let ran = test(&folder, &["--format", "junit"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let elements = parse_xml(&ran.out);
    let names: Vec<&str> = elements.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["testsuites", "testsuite", "testcase", "testcase", "failure", "testcase", "skipped"]);
    let attribute = |at: usize, key: &str| {
        elements[at].1.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone()).unwrap_or_default()
    };
    for suite in 0..2 {
        let counts = ["tests", "failures", "errors", "skipped"].map(|key| attribute(suite, key));
        assert_eq!(counts, ["3", "1", "0", "1"]);
    }
    assert_eq!(attribute(2, "name"), "&lt;good&gt; &amp; 'quoted' &quot;name&quot;");
    assert!(attribute(4, "message").contains("&lt;/failure&gt;"), "{}", ran.out);
}

#[test]
fn pack_tests_run_alone_and_in_the_importer() {
    let pack = "folio: 1\nserver: { name: inner }\nenv: { WHO: { default: nobody } }\nprompts:\n  hi: { description: Says hi, text: \"hi {{env.WHO}}\" }\ntools:\n  run: { description: Runs, run: { exec: [no-such-program] } }\ntests:\n  says hi: { prompt: hi, mock: { env: { WHO: Ada } }, expect: { equals: hi Ada } }\n  runs: { tool: run, mock: { exec: { stdout: x } }, expect: { equals: x } }\n";
    let outer = "folio: 1\nserver: { name: outer }\npacks: { in: { path: packs/in } }\n";
    let folder = TestFolder::new(&[("folio.yaml", outer), ("packs/in/folio.yaml", pack)]);
    let alone = run_folio(folder.path(), &["test", "packs/in"]);
    assert!(alone.code == Some(0) && alone.out.contains("2 passed"), "{}{}", alone.out, alone.err);
    let imported = test(&folder, &[]);
    assert!(imported.out.contains("test in: says hi ... ok"), "{}{}", imported.out, imported.err);
    assert!(imported.out.contains("test in: runs ... skipped (its entry is not served here)"), "{}", imported.out);
}

#[test]
fn pack_test_sets_only_the_variables_of_its_pack() {
    let pack = "folio: 1\nserver: { name: inner }\nenv: { WHO: {}, CITY: {} }\nprompts:\n  hi: { description: Says hi, text: \"{{env.WHO}} in {{env.CITY}}\" }\ntests:\n  own: { prompt: hi, mock: { env: { CITY: Rome } }, expect: { equals: Oslo in Rome } }\n";
    let outer = "folio: 1\nserver: { name: outer }\nenv: { CITY: { default: Oslo } }\npacks: { in: { path: in, env: { WHO: \"{{env.CITY}}\" } } }\nprompts: { here: { description: Where, text: \"{{env.CITY}}\" } }\ntests:\n  here: { prompt: here, mock: { env: { CITY: Lima } }, expect: { equals: Lima } }\n";
    let folder = TestFolder::new(&[("folio.yaml", outer), ("in/folio.yaml", pack)]);
    let ran = test(&folder, &[]);
    assert!(ran.out.contains("test here ... ok\ntest in: own ... ok"), "{}{}", ran.out, ran.err);
}

#[test]
fn mocks_that_are_left_over_fail() {
    for (left, said) in [
        ("tool: two\n  mock: { exec: [{ stdout: a }, { stdout: b }, { stdout: c }] }", "1 of 3 answers of `exec`"),
        ("tool: scripted\n  mock: { script: { stdout: a }, http: { status: 200 } }", "unused mock `http`"),
        (
            "tool: scripted\n  mock: { script: { stdout: a }, ask: { confirm: { sure: true } } }",
            "`confirm` is never asked",
        ),
        (
            "tool: scripted\n  mock: { script: [{ stdout: a }, { stdout: b }] }\n  cases: [{ expect: { contains: a } }]",
            "1 of 2 answers of `script`",
        ),
    ] {
        let out = fail(&format!("t:\n  {left}\n  expect: {{ contains: a }}"));
        assert!(out.contains(said) && out.contains("folio.yaml:58:"), "{out}");
    }
    // What cases share need not be used by each.
    assert_pass(
        "t:\n  tool: confirmed\n  mock: { exec: { stdout: x }, ask: { confirm: { sure: true } } }\n  cases: [{ expect: { contains: sure } }]",
    );
}

#[test]
fn failed_run_is_a_valid_document_of_each_format() {
    let broken = TestFolder::with_manifest("folio: 1\nserver: { name: x }\nprompts: { p: { text: \"{{<who>}}\" } }\n");
    let none = TestFolder::new(&[]);
    for (folder, arguments, said) in [
        (&broken, &[][..], "the manifest has errors"),
        (&none, &[][..], "no folio.yaml"),
        (&folder("t: { prompt: dated, expect: { contains: Oslo } }"), &["other"][..], "no test matches `other`"),
    ] {
        let ran = test(folder, &[arguments, &["--format", "json"]].concat());
        let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}{}", ran.out, ran.err));
        assert_eq!((ran.code, document["tests"].as_array().map(Vec::len)), (Some(2), Some(0)), "{document:#}");
        assert!(document["error"].as_str().unwrap().contains(said), "{document:#}");
        let ran = test(folder, &[arguments, &["--format", "junit"]].concat());
        let elements = parse_xml(&ran.out);
        let names: Vec<&str> = elements.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((ran.code, names), (Some(2), vec!["testsuites", "testsuite", "testcase", "error"]));
        assert!(ran.out.contains(said), "{}", ran.out);
    }
    let ran = test(&broken, &["--format", "json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["problems"][0]["line"], 3, "{document:#}");
    assert_eq!(test(&broken, &[]).code, Some(2));
}

const WATCHED: &str = "folio: 1\nserver: { name: x }\nprompts:\n  a: { description: A, text: one }\n  b: { description: B, text: two }\ntools:\n  inner: { description: I, run: { exec: [one] } }\n  outer: { description: O, run: { tool: inner } }\ntests:\n  a: { prompt: a, expect: { contains: one } }\n  b: { prompt: b, expect: { contains: two } }\n  outer: { tool: outer, mock: { exec: { stdout: x } }, expect: { contains: x } }\n";

#[test]
fn watch_runs_affected_tests_and_exits_with_success() {
    let folder = TestFolder::with_manifest(WATCHED);
    let mut command = Command::new(FOLIO_BIN);
    command.args(["test", "--watch", "--jobs", "1"]).current_dir(folder.path());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut next_run = || -> Vec<String> {
        let until_result = lines.by_ref().take_while(|line| !line.starts_with("test result: "));
        until_result.filter(|line| line.starts_with("test ")).collect()
    };
    assert_eq!(next_run(), ["test a ... ok", "test b ... ok", "test outer ... ok"]);
    folder.write("folio.yaml", WATCHED.replace("text: two", "text: three"));
    assert_eq!(next_run(), ["test b ... FAILED"]);
    // What failed runs again with what an edit touches.
    folder.write("folio.yaml", WATCHED.replace("text: two", "text: three").replace("exec: [one]", "exec: [two]"));
    assert_eq!(next_run(), ["test b ... FAILED", "test outer ... ok"]);
    folder.write("folio.yaml", WATCHED.replace("exec: [one]", "exec: [two]"));
    assert_eq!(next_run(), ["test b ... ok"]);
    folder.write("folio.yaml", WATCHED.replace("exec: [one]", "exec: [two]").replace("contains: one", "contains: on"));
    assert_eq!(next_run(), ["test a ... ok"]);
    // A broken manifest is reported, and the watch goes on.
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    folder.write("folio.yaml", WATCHED.replace("tools:", "tols:"));
    assert!(errors.any(|line| line.contains("unknown key `tols`")));
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn unset_variables_are_named() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: x }\nenv: { BASE: { required: true } }\nprompts: { p: { description: P, text: \"{{env.BASE}}\" } }\ntests:\n  a: { prompt: p, expect: { contains: x } }\n  b: { prompt: p, mock: { env: { BASE: x } }, expect: { contains: x } }\n",
    );
    let ran = test(&folder, &["--jobs", "1"]);
    assert!(ran.out.contains("test a ... FAILED\ntest b ... ok"), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("required variable `BASE` is not set"), "{}", ran.out);
}

const FILES: &str = r#"
folio: 1
server: { name: files }
env:
  DIR: { required: true, test: /no/such/folder }
  CITY: { default: Oslo, test: Bergen }
  KEY: { secret: true, test: key-of-tests }
folders: { notes: { path: "{{env.DIR}}", write: true } }
tools:
  read: { description: D, arguments: { path: {} }, run: { file: { read: "{{path}}", in: notes } } }
  list: { description: D, run: { file: { find: ".", in: notes } }, result: { select: "[].[path, modified]" } }
  add:
    description: D
    arguments: { text: {} }
    run:
      - { id: add, file: { append: log.md, in: notes, text: "{{text}}" } }
      - { id: move, file: { move: log.md, to: done.md, in: notes } }
      - { id: see, file: { read: done.md, in: notes } }
  show: { description: D, result: { text: "{{env.CITY}}" } }
  key: { description: D, run: { exec: [sign, "{{env.KEY}}"] } }
tests:
"#;

fn files_folder(tests: &str) -> TestFolder {
    let indented: String = tests.lines().map(|line| format!("  {line}\n")).collect();
    TestFolder::with_manifest(&format!("{FILES}{indented}"))
}

#[test]
fn files_are_mocked_by_action_and_by_step() {
    let folder = files_folder(
        r#"reads: { tool: read, arguments: { path: a/b.md }, mock: { file: { files: { a/b.md: "Hello" } } }, expect: { equals: Hello } }
json: { tool: read, arguments: { path: a.json }, mock: { file: { files: { a.json: { n: 1 } } } }, expect: { equals: { n: 1 } } }
fails: { tool: read, arguments: { path: b.md }, mock: { file: { files: {} } }, expect: { error: "no such file or folder: `b.md`" } }
lists: { tool: list, mock: { file: { files: { b.md: b, a/c.md: c } } }, expect: { equals: [[a, null], [a/c.md, "1970-01-01T00:00:00Z"], [b.md, "1970-01-01T00:00:00Z"]] } }
changes: { tool: add, arguments: { text: two }, mock: { file: { files: { log.md: "one\n" } } }, expect: { equals: "one\ntwo" } }
steps:
  tool: add
  arguments: { text: x }
  mock: { add: { files: {} }, move: { files: { log.md: moved } }, see: { files: { done.md: seen } } }
  expect: { equals: seen }
"#,
    );
    // When a folder was made is not known beforehand.
    let manifest = fs::read_to_string(folder.join("folio.yaml")).unwrap();
    folder.write(
        "folio.yaml",
        manifest.replace("[[a, null], ", "[").replace("find: \".\"", "find: \".\", glob: \"**/*.md\""),
    );
    let ran = test(&folder, &[]);
    assert!(ran.code == Some(0) && ran.out.contains("6 passed"), "{}{}", ran.out, ran.err);
    let left = |name: std::ffi::OsString| name.to_string_lossy().starts_with("folio-test-");
    let left: Vec<_> = fs::read_dir(std::env::temp_dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| left(name.clone()))
        .collect();
    assert!(left.len() < 6, "{left:?}");
    for (mock, said) in [
        ("{ file: { files: { ../x: y } } }", "path `../x` escapes the folder"),
        ("{ file: { file: { a: b } } }", "unknown key `file`"),
        ("{ file: [a] }", "expected a map with `files`"),
    ] {
        let folder = files_folder(&format!("t: {{ tool: read, mock: {mock}, expect: {{ equals: x }} }}"));
        let ran = run_folio(folder.path(), &["check"]);
        assert!(ran.code == Some(1) && ran.out.contains(said), "{mock}: {}", ran.out);
    }
    let unused = files_folder("t: { tool: show, mock: { file: { files: {} } }, expect: { equals: Bergen } }");
    let ran = test(&unused, &[]);
    assert!(ran.code == Some(1) && ran.out.contains("unused mock `file`"), "{}", ran.out);
}

#[test]
fn variables_have_their_value_of_tests_in_all_tests() {
    let folder = files_folder(
        r#"all: { tool: show, expect: { equals: Bergen } }
own: { tool: show, mock: { env: { CITY: Rome } }, expect: { equals: Rome } }
secret: { tool: key, mock: { exec: { stdout: ok } }, expect: { sent: { argv: [sign, "[secret]"] } } }
live: { tool: show, live: true, expect: { equals: Oslo } }
"#,
    );
    let ran = test(&folder, &[]);
    assert!(ran.code == Some(0) && ran.out.contains("3 passed; 0 failed; 1 skipped"), "{}{}", ran.out, ran.err);
    let ran = run_folio(folder.path(), &["call", "show"]);
    assert!(ran.err.contains("`DIR` is not set"), "{ran:?}");
}

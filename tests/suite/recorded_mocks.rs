//! `folio test --record`: mocks from a live run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::harness::{CommandOutput, FOLIO_BIN, TestFolder};
use crate::upstream_server::{Reply, Upstream};

const TOKEN: &str = "hush-hush-123456";

/// Runs `folio test` with these variables.
fn test(folder: &Path, variables: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(FOLIO_BIN);
    command.arg("test").args(arguments).current_dir(folder).env_remove("FOLIO_LOG").env_remove("NO_COLOR");
    command.env_remove("TOKEN").env_remove("API").envs(variables.iter().copied());
    let output = command.output().unwrap();
    CommandOutput {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

const SERVER: &str = r#"# our issues
folio: 1
server: { name: issues }
env:
  API: { required: true }
  TOKEN: { secret: true, required: true }
tools:
  issues:
    description: Lists issues
    arguments: { state: { default: open } }
    run:
      http:
        url: "{{env.API}}/issues?state={{state}}"
        auth: { bearer: "{{env.TOKEN}}" }
        allow: ["127.0.0.1"]
  shout:
    description: Prints twice
    run:
      - { id: first, exec: [printf, 'one\ntwo: 2\n\n  three\n'] }
      - { id: second, exec: [sh, -c, "cat; echo gone >&2; exit 3"], stdin: "{{steps.first.stdout}}", okExit: [3] }
    result: { text: "{{steps.second.stdout}}{{steps.second.stderr}}" }
"#;

#[test]
fn live_run_becomes_mocks_without_secrets() {
    let upstream = Upstream::start(|request, _| {
        assert_eq!(request.header("authorization"), Some("Bearer hush-hush-123456"));
        let body = json!([{ "id": 7, "by": format!("for {TOKEN}"), "note": "é" }]);
        let headers = [
            ("Content-Type", "application/json"),
            ("Set-Cookie", "session=1"),
            ("X-Session-Token", "abc"),
            ("X-Seen", TOKEN),
            ("Date", "Mon, 23 Nov 2026 10:00:00 GMT"),
            ("Last-Modified", "Mon, 23 Nov 2026 09:00:00 GMT"),
            ("X-Request-Id", "7f3a"),
        ];
        Reply::with_headers(200, &headers, body.to_string())
    });
    let tests = r#"
# what we rely on
tests:
  lists the open ones:  # by name
    tool: issues
    live: true  # asks the real server
    # it has an id
    expect: { json: [{ id: 7 }], contains: "[secret]" }
  other: { tool: issues, mock: { env: { API: "http://x.example" }, http: { json: [] } }, expect: { json: [] } }
"#;
    let folder = TestFolder::with_manifest(&format!("{SERVER}{tests}"));
    let variables = [("API", upstream.url()), ("TOKEN", TOKEN.to_owned())];
    let variables = [("API", variables[0].1.as_str()), ("TOKEN", variables[1].1.as_str())];
    let ran = test(folder.path(), &variables, &["--record"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("lists the open ones: send GET http://127.0.0.1:"), "{}", ran.err);
    assert!(ran.err.contains("recorded the mocks of `lists the open ones` in `folio.yaml`"), "{}", ran.err);
    assert!(!(ran.out + &ran.err).contains(TOKEN));
    let mock = format!(
        r#"    # asks the real server
    mock:
      http:
        status: 200
        headers: {{ x-session-token: "[secret]", x-seen: "[secret]" }}
        json: [{{ id: 7, by: "for [secret]", note: é }}]
      env: {{ API: {} }}
"#,
        upstream.url()
    );
    let expected = tests.replace("    live: true  # asks the real server\n", &mock);
    assert_eq!(fs::read_to_string(folder.join("folio.yaml")).unwrap(), format!("{SERVER}{expected}"));
    // From here on nothing is asked of the server, and nothing changes.
    for arguments in [&[][..], &["--live"], &["--record"]] {
        let ran = test(folder.path(), &[], arguments);
        assert!(ran.code == Some(0) && ran.out.contains("2 passed"), "{}{}", ran.out, ran.err);
    }
    assert_eq!(upstream.requests().len(), 1);
    assert_eq!(fs::read_to_string(folder.join("folio.yaml")).unwrap(), format!("{SERVER}{expected}"));
}

#[test]
fn programs_are_recorded_by_their_steps() {
    let tests = "tests:\n  shouts:\n    tool: shout\n    live: true\n    mock: { env: { API: x, TOKEN: abcdefgh } }\n    expect: { contains: [three, gone] }\n";
    let folder = TestFolder::with_manifest(&format!("{SERVER}{tests}"));
    let ran = test(folder.path(), &[], &["--record"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("shouts: run printf") && ran.err.contains("shouts: run sh -c"), "{}", ran.err);
    let written = fs::read_to_string(folder.join("folio.yaml")).unwrap();
    let mock = r#"mock: { env: { API: x, TOKEN: abcdefgh }, first: { stdout: "one\ntwo: 2\n\n  three\n" }, second: { exit: 3, stdout: "one\ntwo: 2\n\n  three", stderr: "gone\n" } }"#;
    assert!(written.contains(mock) && !written.contains("live:"), "{written}");
    let ran = test(folder.path(), &[("PATH", "/nowhere")], &[]);
    assert!(ran.code == Some(0) && ran.out.contains("1 passed"), "{}{}", ran.out, ran.err);
}

#[test]
fn tests_of_included_files_and_packs_are_recorded_there() {
    let included = r#"# more
tools:
  say: { description: Says, arguments: { word: { required: true } }, run: { exec: [printf, '%s\n%s\n', "{{word}}", "end"] } }
tests:
  says:
    tool: say
    live: true
    cases:
      - name: hi
        arguments: { word: hi }
        expect: { contains: hi }
        # the next one
      - { arguments: { word: ho }, expect: { contains: ho } }
"#;
    let outer = "folio: 1\nserver: { name: outer }\ninclude: [more.yaml]\npacks: { in: { path: in, allow: [exec] } }\n";
    let pack = "folio: 1\nserver: { name: inner }\ntools: { t: { description: T, run: { exec: [echo, real] } } }\ntests:\n  acts: { tool: t, live: true, expect: { contains: real } }\n";
    let folder = TestFolder::new(&[("folio.yaml", outer), ("more.yaml", included), ("in/folio.yaml", pack)]);
    let ran = test(folder.path(), &[], &["--record"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let expected = included
        .replace("    live: true\n", "")
        .replace("        # the next one\n", "        # the next one\n        mock:\n          exec:\n            stdout: |\n              hi\n              end\n")
        .replace("expect: { contains: ho } }", r#"expect: { contains: ho }, mock: { exec: { stdout: "ho\nend\n" } } }"#);
    assert_eq!(fs::read_to_string(folder.join("more.yaml")).unwrap(), expected);
    assert_eq!(fs::read_to_string(folder.join("in/folio.yaml")).unwrap(), pack);
    let ran = test(&folder.join("in"), &[], &["--record"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let expected = pack.replace("live: true", r#"mock: { exec: { stdout: "real\n" } }"#);
    assert_eq!(fs::read_to_string(folder.join("in/folio.yaml")).unwrap(), expected);
    let ran = test(folder.path(), &[("PATH", "/nowhere")], &[]);
    assert!(ran.code == Some(0) && ran.out.contains("3 passed"), "{}{}", ran.out, ran.err);
}

#[test]
fn unmockable_actions_are_not_recorded() {
    let head = "folio: 1\nserver: { name: x }\nfolders: { here: { path: ., write: true } }\ntools:\n  t:\n    description: T\n    run: RUN\ntests:\n  t: { tool: t, live: true, expect: EXPECT }\n";
    for (run, expect, reason) in [
        ("{ exec: [printf, '\\377'] }", "{ matches: . }", "its stdout is not UTF-8"),
        ("{ exec: [no-such-program] }", "{ isError: true }", "program `no-such-program`: "),
        (
            "{ file: { write: out.txt, in: here, text: hello } }",
            "{ matches: out }",
            "changes of files cannot be recorded",
        ),
        (
            "{ exec: [seq, '20000'] }",
            "{ contains: '1' }",
            "its stdout has 108894 bytes, and a mock in a manifest at most 65536",
        ),
        ("{ exec: [seq, '20000'] }\n    maxOutput: 10B", "{ contains: '1' }", "longer than `maxOutput`"),
        (
            "{ exec: [printf, 'AKIA%s', ABCDEFGHIJKLMNOP] }",
            "{ contains: AKIA }",
            "`stdout` has what looks like a secret",
        ),
        ("{ exec: [sh, -c, 'kill -9 $$'] }", "{ isError: true }", "killed by signal 9"),
    ] {
        let manifest = head.replace("RUN", run).replace("EXPECT", expect);
        let folder = TestFolder::with_manifest(&manifest);
        let ran = test(folder.path(), &[], &["--record"]);
        assert_eq!(ran.code, Some(1), "{reason}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("error: cannot record `t`: ") && ran.err.contains(reason), "{reason}: {}", ran.err);
        assert_eq!(fs::read_to_string(folder.join("folio.yaml")).unwrap(), manifest);
    }
}

#[test]
fn failed_and_incomplete_tests_are_not_recorded() {
    let manifest = "folio: 1\nserver: { name: x }\ntools: { t: { description: T, arguments: { n: {} }, run: { exec: [echo, 'a{{n}}'] } } }\ntests:\n  t:\n    tool: t\n    live: true\n    cases:\n      - { expect: { contains: b } }\n      - { arguments: { n: b }, expect: { contains: b } }\n";
    let folder = TestFolder::with_manifest(manifest);
    for (arguments, reason) in [
        (&["--record"][..], "not all of its cases ran and passed"),
        (&[".", "t (1)", "--record"], "nothing is recorded"),
    ] {
        let ran = test(folder.path(), &[], arguments);
        assert!(ran.code == Some(1) && ran.err.contains(reason), "{}{}", ran.out, ran.err);
        assert_eq!(fs::read_to_string(folder.join("folio.yaml")).unwrap(), manifest);
    }
}

#[test]
fn mocks_with_which_the_test_fails_are_not_written() {
    // The variable of the case takes the place of those of the test.
    let manifest = "folio: 1\nserver: { name: x }\nenv: { API: { required: true }, B: { required: true } }\ntools: { t: { description: T, run: { exec: [echo, '{{env.API}} {{env.B}}'] } } }\ntests:\n  t:\n    tool: t\n    live: true\n    mock: { env: { B: b } }\n    cases: [{ expect: { contains: b } }]\n";
    let folder = TestFolder::with_manifest(manifest);
    let ran = test(folder.path(), &[("API", "a")], &["--record"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("it fails with its mocks: "), "{}", ran.err);
    assert_eq!(fs::read_to_string(folder.join("folio.yaml")).unwrap(), manifest);
}

#[test]
fn manifest_that_cannot_be_written_stays_whole() {
    let manifest = "folio: 1\nserver: { name: x }\ntools: { t: { description: T, run: { exec: [echo, hi] } } }\ntests:\n  t: { tool: t, live: true, expect: { contains: hi } }\n";
    let folder = TestFolder::with_manifest(manifest);
    let path = folder.join("folio.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let ran = test(folder.path(), &[], &["--record"]);
    assert!(
        ran.code == Some(1) && ran.err.contains("cannot record mocks in `folio.yaml`: it is read-only"),
        "{}",
        ran.err
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), manifest);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let ran = test(folder.path(), &[], &["--record"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn changing_header_is_recorded_where_it_is_read() {
    let headers =
        [("Content-Type", "text/plain"), ("ETag", "\"v7\""), ("Last-Modified", "Mon, 23 Nov 2026 09:00:00 GMT")];
    let upstream = Upstream::start(move |_, _| Reply::with_headers(200, &headers, "page"));
    let manifest = r#"folio: 1
server: { name: pages }
env: { API: { required: true } }
tools:
  page:
    description: The version of a page
    run: [{ id: page, http: { url: "{{env.API}}/page", allow: ["127.0.0.1"] } }]
    result: { text: "{{steps.page.headers.etag}}" }
tests:
  version: { tool: page, live: true, expect: { contains: v7 } }
"#;
    let folder = TestFolder::with_manifest(manifest);
    let ran = test(folder.path(), &[("API", &upstream.url())], &["--record"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let recorded = fs::read_to_string(folder.join("folio.yaml")).unwrap();
    assert!(recorded.matches("etag").count() == 2 && !recorded.contains("last-modified"), "{recorded}");
}

#[test]
fn urls_in_recorded_headers_hold_no_credentials() {
    let headers = [
        ("Content-Type", "text/plain"),
        ("Location", "/cb?code=4Ab-secret&state=x"),
        ("Link", "</page?n=2&access_token=ghq-secret>; rel=\"next\""),
        ("X-Login", "/login?to=%2Fcb%3Ftoken%3Dnested-secret"),
    ];
    let upstream = Upstream::start(move |_, _| Reply::with_headers(200, &headers, "page"));
    let head = "folio: 1\nserver: { name: pages }\nenv: { API: { required: true } }\ntools:\n  page:\n    description: A page\n    run: { http: { url: \"{{env.API}}/page\", allow: [\"127.0.0.1\"] } }\n";
    let folder = TestFolder::with_manifest(&format!(
        "{head}tests:\n  page: {{ tool: page, live: true, expect: {{ contains: page }} }}\n"
    ));
    let ran = test(folder.path(), &[("API", &upstream.url())], &["--record"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let recorded = fs::read_to_string(folder.join("folio.yaml")).unwrap();
    for kept in ["/cb?code=[secret]&state=x", "</page?n=2&access_token=[secret]>; rel=", "/login?to=[secret]"] {
        assert!(recorded.contains(kept), "{kept}: {recorded}");
    }
    assert!(!recorded.contains("-secret"), "{recorded}");
}

#[test]
fn answers_with_undeclared_credentials_are_not_recorded() {
    for (kind, body, key) in [
        ("application/json", r#"{"user": {"credential": "abcdefgh12"}}"#, "credential"),
        ("application/json", r#"{"passphrase": "horse battery"}"#, "passphrase"),
        ("application/json", r#"[{"sessionId": "abcdefgh12"}]"#, "sessionId"),
        ("application/json", r#"{"pin": 4711}"#, "pin"),
        ("application/x-www-form-urlencoded", "user=me&credential=abcdefgh12", "body"),
        ("text/plain", r#"{"session_id": "abcdefgh12"}"#, "session_id"),
    ] {
        let upstream = Upstream::start(move |_, _| Reply::with_headers(200, &[("Content-Type", kind)], body));
        let manifest = "folio: 1\nserver: { name: x }\nenv: { API: { required: true } }\ntools:\n  t: { description: T, run: { http: { url: \"{{env.API}}/x\", allow: [\"127.0.0.1\"] } } }\ntests:\n  t: { tool: t, live: true, expect: { matches: . } }\n";
        let folder = TestFolder::with_manifest(manifest);
        let ran = test(folder.path(), &[("API", &upstream.url())], &["--record"]);
        let said = format!("cannot record `t`: `{key}` has what looks like a secret");
        assert!(ran.code == Some(1) && ran.err.contains(&said), "{body}: {}{}", ran.out, ran.err);
        assert_eq!(fs::read_to_string(folder.join("folio.yaml")).unwrap(), manifest);
    }
}

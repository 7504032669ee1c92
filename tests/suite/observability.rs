//! What an operator sees: log lines of calls, programs and requests, `--log-format`, `--dry-run` and `--verbose`.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::*;
use crate::upstream_server::{Reply, Upstream};

const KEY: &str = "sesame-open-4711";
const TOKEN: &str = "issued-by-the-server-99";

/// An API that issues a token, knows one item, and fails for all others with what the caller must not see.
fn api() -> Upstream {
    Upstream::start(|request, _| match request.target.split('?').next().unwrap() {
        "/token" => Reply::json(200, &json!({ "access_token": TOKEN, "token_type": "Bearer" })),
        "/items" => Reply::json(200, &json!({ "ok": true })),
        _ => Reply::json(404, &json!({ "error": format!("no such item for {KEY}") })),
    })
}

fn manifest(api: &Upstream) -> String {
    let url = api.url();
    format!(
        r#"folio: 1
server: {{ name: seen }}
env: {{ KEY: {{ secret: true }} }}
connections:
  oauth:
    url: "{url}"
    auth: {{ oauth2: {{ tokenUrl: "{url}/token", clientId: me, clientSecret: "{{{{env.KEY}}}}" }} }}
  basic:
    url: "{url}"
    auth: {{ basic: {{ username: me, password: "{{{{env.KEY}}}}" }} }}
tools:
  good: {{ description: T, arguments: {{ word: {{ default: hi }} }}, run: {{ exec: [echo, "{{{{word}}}}"] }} }}
  bad: {{ description: T, run: {{ script: {{ shell: sh, text: "echo 'no luck' >&2; exit 3" }} }} }}
  leak: {{ description: T, run: {{ exec: [sh, -c, 'echo "$1" >&2; exit 1', sh, "{{{{env.KEY}}}}"] }} }}
  picky: {{ description: T, arguments: {{ n: {{ type: integer, required: true }} }}, run: {{ exec: [echo, "{{{{n}}}}"] }} }}
  plain: {{ description: T, result: {{ text: hello }} }}
  slow: {{ description: T, run: {{ exec: [sleep, "61.7319"] }} }}
  oauth: {{ description: T, run: {{ http: {{ use: oauth, url: /items }} }} }}
  basic: {{ description: T, run: {{ http: {{ use: basic, url: "/items?api_key=unmarked-credential", headers: {{ X-Key: "{{{{env.KEY}}}}" }}, json: {{ a: "{{{{env.KEY}}}}", b: 1 }} }} }} }}
  missing: {{ description: T, run: {{ http: {{ use: basic, url: /nothing }} }} }}
  write:
    description: T
    arguments: {{ text: {{}} }}
    run:
      - {{ exec: [tee, -a, "{{{{text}}}}", "{{{{env.KEY}}}}"], env: {{ LANG: C, OWN: "{{{{env.KEY}}}}" }}, stdin: "twelve bytes" }}
      - {{ http: {{ use: basic, url: /items }} }}
prompts:
  ask: {{ description: P, run: {{ exec: [echo, prompt] }}, text: "{{{{result.stdout}}}}" }}
resources:
  one: {{ uri: "x://one", run: {{ exec: [echo, resource] }} }}
"#
    )
}

fn folder(api: &Upstream) -> TestFolder {
    TestFolder::with_manifest(&manifest(api))
}

fn serve(folder: &TestFolder, flags: &[&str]) -> ServeCommand {
    flags.iter().fold(folder.serve_command().env("KEY", KEY), |command, flag| command.flag(flag))
}

/// Runs `folio` in `folder` to its end.
fn folio(folder: &TestFolder, arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(FOLIO_BIN);
    command.args(arguments).current_dir(folder.path()).env_remove("FOLIO_LOG").env("KEY", KEY).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    CommandOutput { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

fn assert_no_secret(text: &str) {
    use base64::Engine as _;

    let basic = base64::engine::general_purpose::STANDARD.encode(format!("me:{KEY}"));
    for secret in [KEY, TOKEN, &basic, "unmarked-credential"] {
        assert!(!text.contains(secret), "{secret} in:\n{text}");
    }
}

/// The lines about calls, without their times.
fn call_lines(server: &TestServer) -> Vec<String> {
    let lines = server.log.lines().into_iter().filter_map(|line| {
        let (before, call) = line.split_once(" call: ")?;
        let (head, tail) = call.split_once(" ms").unwrap_or_else(|| panic!("{line}"));
        let (head, time) = head.rsplit_once(", ").unwrap();
        assert!(time.parse::<u64>().is_ok(), "{line}");
        Some(format!("{} {head}{tail}", before.rsplit(' ').next().unwrap()))
    });
    lines.collect()
}

/// Calls with each outcome, one after another.
fn call_all(client: &TestClient) {
    for tool in ["good", "bad", "plain", "missing", "leak"] {
        client.call(tool, json!({}));
    }
    client.call("picky", json!({ "n": "x" }));
    client.error("tools/call", json!({ "name": "no\nsuch\u{1b}[31m", "arguments": {} }));
    client.get_text("ask", json!({}));
    client.read_text("x://one");
}

#[test]
fn each_outcome_is_one_line() {
    let api = api();
    let folder = folder(&api);
    for server in [serve(&folder, &["--log-level=info"]).stdio(), serve(&folder, &["--log-level=info"]).http()] {
        let client = server.client(SESSION_VERSIONS[3]);
        call_all(&client);
        let id = client.start_call("slow", json!({}));
        wait_until("the program", || !processes_with_argument("61.7319").is_empty());
        client.cancel(id);
        server.log.wait_for_line(0, |line| line.contains("call slow: "));
        let lines = call_lines(&server);
        let url = api.url();
        let expected = [
            "INFO call good: ok",
            "WARN call bad: failed: `sh` exited with code 3: no luck",
            &format!(
                "WARN call missing: failed: GET {url}/nothing failed with HTTP status 404 Not Found: no such item for [secret]"
            ),
            "WARN call leak: failed: `sh` exited with code 1: [secret]",
            "WARN call picky: failed: `n` must be an integer; got \"x\"",
            "WARN call no\\nsuch\u{241b}[31m: failed: Unknown tool: no",
            "INFO get ask: ok",
            "INFO read x://one: ok",
            "INFO call slow: cancelled",
        ];
        assert_eq!(lines, expected);
        assert_no_secret(&server.log.text());
    }
}

#[test]
fn only_failures_are_logged_by_default() {
    let api = api();
    let folder = folder(&api);
    let server = serve(&folder, &[]).stdio();
    call_all(&server.client(SESSION_VERSIONS[3]));
    server.log.wait_for_line(0, |line| line.contains("Unknown tool"));
    let lines = call_lines(&server);
    assert_eq!(lines.len(), 5, "{lines:#?}");
    assert!(lines.iter().all(|line| line.starts_with("WARN call ") && line.contains(": failed: ")), "{lines:#?}");
    let silent = serve(&folder, &["--log-level=off"]).stdio();
    call_all(&silent.client(SESSION_VERSIONS[3]));
    silent.pipe().close();
    silent.wait_for_exit(TEST_TIMEOUT).unwrap();
    assert_eq!(silent.log.text(), "");
}

#[test]
fn task_is_logged_when_it_ends() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  t: { description: T, task: required, run: { exec: [\"false\"] } }\n",
    );
    let server = folder.serve_command().flag("--log-level=info").stdio();
    let capabilities = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    server.client_with(SESSIONLESS_VERSION, capabilities).result("tools/call", json!({ "name": "t", "arguments": {} }));
    let line = server.log.wait_for_line(0, |line| line.contains("call t: failed"));
    assert!(line.contains("WARN") && line.contains("`false` exited with code 1"), "{line}");
}

#[test]
fn debug_shows_actions_without_secrets() {
    let api = api();
    let folder = folder(&api);
    let server = serve(&folder, &["--log-level=debug"]).stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    client.call("good", json!({ "word": format!("it's\n\u{1b}[31m {KEY}") }));
    for tool in ["oauth", "basic", "leak"] {
        client.call(tool, json!({}));
    }
    server.log.wait_for_line(0, |line| line.contains("call leak: failed"));
    let (text, url) = (server.log.text(), api.url());
    for part in [
        "call: call good with {\"word\":\"it's\\n",
        r"world: run echo $'it\'s\n\x1b[31m [secret]': exit 0, stdout ",
        &format!("world: get access token from {url}/token: ok, "),
        &format!("world: send GET {url}/items: status 200, 11 bytes, "),
        &format!("world: send POST {url}/items?api_key=[secret]: status 200, 11 bytes, "),
        "world: run sh -c 'echo \"$1\" >&2; exit 1' sh '[secret]': exit 1, stdout 0 bytes, stderr ",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert_no_secret(&text);
    assert!(!text.contains('\u{1b}'), "{text}");
}

/// The lines of a log as JSON.
fn json_lines(server: &TestServer) -> Vec<Value> {
    let parse = |line: &String| {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        let keys: BTreeSet<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert!(["time", "level", "target", "message"].iter().all(|key| keys.contains(key)), "{line}");
        value
    };
    server.log.lines().iter().map(parse).collect()
}

#[test]
fn every_line_of_session_is_json() {
    let api = api();
    for http in [false, true] {
        let folder = folder(&api);
        let command = serve(&folder, &["--log-format=json", "--log-level=debug"]);
        let server = if http { command.http() } else { command.stdio() };
        call_all(&server.client(SESSION_VERSIONS[3]));
        let mark = server.log.line_count();
        folder.write("folio.yaml", "folio: 1\nserver: { nam: x }\ntools: [\n");
        server.log.wait_for_failed_reload(mark);
        folder.write("folio.yaml", manifest(&api).replace("text: hello", "text: hello again"));
        server.log.wait_for_reload(mark);
        let lines = json_lines(&server);
        let failed = lines.iter().find(|line| line["name"] == "missing" && line["outcome"] == "failed").unwrap();
        assert_eq!((&failed["level"], &failed["target"]), (&json!("warn"), &json!("folio::call")), "{failed}");
        assert_eq!(failed["method"], "tools/call");
        assert!(failed["elapsed_ms"].is_u64() && failed["reason"].as_str().unwrap().contains("404"), "{failed}");
        assert!(lines.iter().any(|line| line["target"] == "folio::manifest" && line["level"] == "error"));
        assert_no_secret(&server.log.text());
    }
    let refused = folio(&TestFolder::with_manifest("folio: 2\n"), &["serve", "--log-format", "json"]);
    assert!(refused.err.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{refused:?}");
    assert!(!refused.err.is_empty());
    let missing = folio(&folder(&api), &["serve", "nowhere", "--log-format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&missing.err).unwrap()["level"], "error");
}

#[test]
fn dry_run_shows_program_and_runs_nothing() {
    let api = api();
    let folder = folder(&api);
    let hostile = "text=it's \u{1b}]0;x\u{7}\n$(touch evil)";
    let ran = folio(&folder, &["call", "write", hostile, "--dry-run"]);
    let cwd = folder.path().canonicalize().unwrap();
    let (first, second) = (r"run tee -a $'it\'s \x1b]0;x\x07\n$(touch evil)' '[secret]'", cwd.display());
    let expected =
        format!("{first}\n  cwd: {second}\n  env: LANG, OWN\n  stdin: 12 bytes\nlater steps depend on its outcome\n");
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), expected.as_str(), ""), "{}", ran.out);
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["folio.yaml"]);
    for arguments in [["get", "ask"], ["read", "x://one"]] {
        let ran = folio(&folder, &[arguments[0], arguments[1], "--dry-run"]);
        assert!(ran.code == Some(0) && ran.out.starts_with("run echo ") && !ran.out.contains("later"), "{ran:?}");
    }
    assert_eq!(api.targets(), Vec::<String>::new());
}

#[test]
fn dry_run_shows_request_and_sends_nothing() {
    let api = api();
    let (folder, url) = (folder(&api), api.url());
    let basic = folio(&folder, &["call", "basic", "--dry-run"]);
    let expected = format!(
        "send POST {url}/items?api_key=[secret]\n  X-Key: [secret]\n  Authorization: Basic [secret]\n  \
         Content-Type: application/json\n  body: 30 bytes\n    {{\"a\":\"[secret]\",\"b\":1}}\n"
    );
    assert_eq!((basic.code, basic.out.as_str()), (Some(0), expected.as_str()), "{}", basic.err);
    let oauth = folio(&folder, &["call", "oauth", "--dry-run"]);
    let expected =
        format!("get access token from {url}/token\nsend GET {url}/items\n  Authorization: Bearer [secret]\n");
    assert_eq!((oauth.code, oauth.out.as_str()), (Some(0), expected.as_str()), "{}", oauth.err);
    assert_eq!(api.targets(), Vec::<String>::new());
    let plain = folio(&folder, &["call", "plain", "--dry-run"]);
    assert_eq!((plain.code, plain.out.as_str()), (Some(0), "no program is run and no request is sent\n"));
    let invalid = folio(&folder, &["call", "picky", "n=x", "--dry-run"]);
    assert_eq!((invalid.code, invalid.out.as_str()), (Some(1), ""));
}

#[test]
fn dry_run_names_credentials_that_are_not_set() {
    let api = api();
    let folder = folder(&api);
    for tool in ["basic", "oauth"] {
        for arguments in [&["call", tool, "--dry-run"][..], &["call", tool]] {
            let ran = run_folio(folder.path(), arguments);
            let error = "error: missing credential: variable `KEY` is not set\n";
            assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(1), "", error), "{arguments:?}");
        }
    }
    let printed = manifest(&api).replace("KEY: { secret: true }", "KEY: { command: [touch, ran] }");
    let folder = TestFolder::with_manifest(&printed);
    let ran = run_folio(folder.path(), &["call", "basic", "--dry-run"]);
    assert!(ran.code == Some(0) && ran.out.contains("  Authorization: Basic [secret]\n"), "{ran:?}");
    assert_eq!((folder.join("ran").exists(), api.targets()), (false, Vec::new()));
}

#[test]
fn long_body_is_cut_after_its_secrets_are_found() {
    let api = api();
    let manifest = format!(
        "folio: 1\nserver: {{ name: s }}\nenv: {{ KEY: {{ secret: true }} }}\ntools:\n  t:\n    description: T\n    \
         arguments: {{ text: {{}} }}\n    run: {{ http: {{ url: \"{}\", body: \"{{{{text}}}}{{{{env.KEY}}}}\" }} }}\n",
        api.url()
    );
    let folder = TestFolder::with_manifest(&manifest);
    let ran = folio(&folder, &["call", "t", &format!("text={}", "x".repeat(1992)), "--dry-run"]);
    assert!(ran.out.ends_with(&format!("    {}[secret]\n", "x".repeat(1992))), "{}", ran.out);
    let ran = folio(&folder, &["call", "t", &format!("text={}", "x".repeat(1996)), "--dry-run"]);
    assert!(ran.out.ends_with("x[sec…\n") && ran.out.contains("body: 2012 bytes"), "{}", ran.out);
}

#[test]
fn verbose_shows_actions_on_stderr() {
    let api = api();
    let (folder, url) = (folder(&api), api.url());
    let ran = folio(&folder, &["call", "good", "word=two words", "-v"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "two words\n"), "{}", ran.err);
    assert!(ran.err.starts_with("run echo 'two words'\n  cwd: "), "{}", ran.err);
    assert!(ran.err.contains("\n  -> exit 0, stdout 10 bytes, stderr 0 bytes, "), "{}", ran.err);
    let ran = folio(&folder, &["call", "oauth", "--verbose"]);
    assert!(ran.err.starts_with(&format!("get access token from {url}/token\n  -> ok, ")), "{}", ran.err);
    let sent = format!("send GET {url}/items\n  Authorization: Bearer [secret]\n  -> status 200, 11 bytes, ");
    assert!(ran.err.contains(&sent), "{}", ran.err);
    for tool in ["oauth", "basic", "leak", "missing"] {
        let ran = folio(&folder, &["call", tool, "-v"]);
        assert_no_secret(&format!("{}{}", ran.out, ran.err));
    }
}

#[test]
fn command_says_once_why_call_failed() {
    let api = api();
    let ran = folio(&folder(&api), &["call", "bad"]);
    assert_eq!((ran.code, ran.err.matches("no luck").count()), (Some(1), 1), "{}", ran.err);
}

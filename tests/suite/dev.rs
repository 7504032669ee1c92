//! `folio dev`: a broken manifest ends nothing, what happens is told on stderr, and the page is for its author alone.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::*;

const GOOD: &str = "folio: 1\nserver: { name: desk }\nprompts:\n  greet: { arguments: { who: { required: true } }, text: \"Hello {{who}}\" }\ntools:\n  fail: { description: Fails, run: [{ fail: no luck }] }\n";
const BROKEN: &str = "folio: 1\nserver: { name: desk }\nprompts:\n  greet: { text: \"Hello {{whom}}\" }\n";

/// The address of the page: its port and its token.
fn page(server: &TestServer) -> (HttpClient, String) {
    let line = server.log.wait_for_line(0, |line| line.starts_with("page: "));
    let (origin, token) = line.strip_prefix("page: http://127.0.0.1:").unwrap().split_once("/#").unwrap();
    (HttpClient::new(origin.parse().unwrap()), token.to_owned())
}

fn with_page(folder: &TestFolder) -> TestServer {
    ServeCommand::dev(folder.path()).flag("--open").env("BROWSER", "").stdio()
}

fn get(page: &HttpClient, path: &str, headers: &[(&str, &str)]) -> HttpResponse {
    HttpClient { path: path.to_owned(), ..page.clone() }.send("GET", headers, b"")
}

/// Looks again and again until there is something.
fn wait_for<T>(find: impl Fn() -> Option<T>) -> T {
    let end = Instant::now() + TEST_TIMEOUT;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < end, "nothing came");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn problems_are_served_until_the_manifest_is_fixed() {
    let folder = TestFolder::with_manifest(BROKEN);
    let server = ServeCommand::dev(folder.path()).stdio();
    let client = server.session("2025-11-25");
    assert_eq!(client.list("resources")[0]["uri"], "folio://problems");
    let problems = client.read_text("folio://problems");
    assert!(problems.contains("whom") && problems.contains("folio.yaml:4"), "{problems}");
    let mark = server.log.line_count();
    folder.write("folio.yaml", GOOD);
    server.log.wait_for_line(mark, |line| line.contains("fixed, reloaded in ") && line.contains("+greet"));
    client.wait_for("notifications/prompts/list_changed");
    assert_eq!((client.names("prompts"), client.list("resources").len()), (vec!["greet".to_owned()], 0));
    let mark = server.log.line_count();
    folder.write("folio.yaml", BROKEN);
    server.log.wait_for_line(mark, |line| line.contains("keeping the last good version"));
    let said = client.wait_for("notifications/message");
    assert_eq!(said["params"]["level"], "error", "{said}");
    assert!(said["params"]["data"].as_str().unwrap().contains("1 error"), "{said}");
    assert_eq!(client.get_text("greet", json!({ "who": "Ada" })), "Hello Ada");
    let mark = server.log.line_count();
    folder.write("folio.yaml", GOOD.replace("Hello", "Good morning"));
    server.log.wait_for_line(mark, |line| line.contains("fixed, reloaded in ") && line.contains("~greet"));
    server.pipe().assert_only_messages();
}

#[test]
fn removed_manifest_is_reported_with_its_folder() {
    let folder = TestFolder::with_manifest(GOOD);
    let mut command = Command::new(FOLIO_BIN);
    command.args(["dev", ".", "--http", "127.0.0.1:0"]).current_dir(folder.path());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line.starts_with("listening on ")).unwrap();
    fs::remove_file(folder.path().join("folio.yaml")).unwrap();
    let line = lines.find(|line| line.contains("error[not-found]")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    assert!(line.contains("no `folio.yaml`") && line.contains(name), "{line}");
}

#[test]
fn problems_follow_the_edits_of_a_broken_manifest() {
    let folder = TestFolder::with_manifest("folio: 1\nserver: { name: desk }\nprompts: [\n");
    let server = ServeCommand::dev(folder.path()).http();
    let client = server.sessionless();
    let mark = server.log.line_count();
    folder.write("folio.yaml", BROKEN);
    server.log.wait_for_line(mark, |line| line.contains("still serving `folio://problems` alone"));
    assert!(client.read_text("folio://problems").contains("whom"));
    folder.write("folio.yaml", GOOD);
    server.log.wait_for_line(mark, |line| line.contains("fixed"));
    assert_eq!(client.names("tools"), ["fail"]);
}

#[test]
fn problems_hold_no_secret() {
    let manifest = "folio: 1\nserver: { name: desk }\nenv: { KEY: { secret: true } }\nprompts:\n  greet: { text: \"{{whom}}\", x: sesame-open-4711 }\n";
    let folder = TestFolder::with_manifest(manifest);
    let server = ServeCommand::dev(folder.path()).env("KEY", "sesame-open-4711").stdio();
    let problems = server.session("2025-11-25").read_text("folio://problems");
    assert!(problems.contains("whom") && !problems.contains("sesame"), "{problems}");
    assert!(!server.log.text().contains("sesame"));
}

#[test]
fn calls_and_clients_are_logged_to_stderr_and_file() {
    let folder = TestFolder::with_manifest(GOOD);
    let log = folder.join("dev.log");
    let server = ServeCommand::dev(folder.path()).flag("--log").flag(log.to_str().unwrap()).stdio();
    let client = server.session("2025-06-18");
    client.get_text("greet", json!({ "who": "Ada" }));
    client.error("prompts/get", json!({ "name": "greet" }));
    client.call("fail", json!({}));
    for line in [
        "client suite 1 connected",
        "suite: get greet: ok, ",
        "suite: get greet: failed, ",
        "suite: call fail: failed, ",
    ] {
        server.log.wait_for_line(0, |said| said.contains(line));
    }
    server.pipe().close();
    assert!(server.wait_for_exit(TEST_TIMEOUT).unwrap().success());
    server.log.wait_for_line(0, |said| said.contains("client suite 1 disconnected"));
    let kept = fs::read_to_string(log).unwrap();
    for line in server.log.lines() {
        assert!(kept.contains(&line), "{line} is not in\n{kept}");
    }
}

#[test]
fn log_file_is_made_private() {
    let folder = TestFolder::with_manifest(GOOD);
    for (name, before) in [("new.log", None), ("old.log", Some(0o644))] {
        let log = folder.join(name);
        if let Some(mode) = before {
            fs::write(&log, "before\n").unwrap();
            fs::set_permissions(&log, Permissions::from_mode(mode)).unwrap();
        }
        let server = ServeCommand::dev(folder.path()).flag("--log").flag(log.to_str().unwrap()).stdio();
        server.session("2025-06-18").get_text("greet", json!({ "who": "Ada" }));
        assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
        assert_eq!(fs::read_to_string(&log).unwrap().starts_with("before\n"), before.is_some(), "{name}");
    }
}

#[test]
fn warnings_are_shown_once_and_counted_afterwards() {
    let warned = GOOD.replace(
        "tools:",
        "resources:\n  a: { uri: \"a:a\", name: same, text: x }\n  b: { uri: \"a:b\", name: same, text: x }\ntools:",
    );
    let folder = TestFolder::with_manifest(&warned);
    let server = ServeCommand::dev(folder.path()).stdio();
    server.session("2025-11-25");
    let has_warning = |line: &str| line.starts_with("warning");
    if !server.log.lines().iter().any(|line| has_warning(line)) {
        server.log.wait_for_line(0, has_warning);
    }
    let mut mark = server.log.line_count();
    // On another line it is the same warning.
    let greeting = format!("# moved\n{}", warned.replace("Hello", "Good morning"));
    folder.write("folio.yaml", &greeting);
    server.log.wait_for_line(mark, |line| line.contains("1 warning as before"));
    server.log.wait_for_reload(mark);
    assert!(!server.log.lines().iter().skip(mark).any(|line| has_warning(line)), "{:?}", server.log.lines());
    mark = server.log.line_count();
    folder.write("folio.yaml", greeting.replace("description: Fails, ", ""));
    server.log.wait_for_line(mark, |line| line.contains("missing `description`"));
    server.log.wait_for_line(mark, |line| line.contains("1 warning as before"));
    server.log.wait_for_reload(mark);
    mark = server.log.line_count();
    folder.write("folio.yaml", greeting.replace("{{who}}", "{{whom}}"));
    server.log.wait_for_line(mark, |line| line.contains("whom") && line.starts_with("error"));
}

#[test]
fn page_is_served_with_a_strict_policy() {
    let folder = TestFolder::with_manifest(GOOD);
    let server = with_page(&folder);
    let (page, token) = page(&server);
    assert_eq!((token.len(), page.port == 0), (48, false));
    let index = get(&page, "/", &[]);
    let policy = index.header("content-security-policy").unwrap().to_owned();
    for part in ["default-src 'none'", "script-src 'self';", "connect-src 'self'", "require-trusted-types-for 'script'"]
    {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
    assert_eq!(
        (index.header("x-content-type-options"), index.header("cache-control")),
        (Some("nosniff"), Some("no-store"))
    );
    let text = index.text();
    assert!(!text.contains("desk") && !text.contains("http:") && !text.contains("https:"), "{text}");
    assert_eq!(get(&page, "/page.js", &[]).header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(get(&page, "/none.js", &[]).status, 404);
}

#[test]
fn page_asks_for_token_host_and_origin() {
    let folder = TestFolder::with_manifest(GOOD);
    let server = with_page(&folder);
    let (page, token) = page(&server);
    let call =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/list", "params": { "_meta": sessionless_meta() } });
    let post = |page: &HttpClient, more: &[(&str, &str)]| {
        let version = [("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", "prompts/list")];
        page.post(&[&version[..], more].concat(), &call)
    };
    let known = HttpClient { token: Some(token.clone()), ..page.clone() };
    let wrong = HttpClient { token: Some("0".repeat(48)), ..page.clone() };
    let elsewhere = HttpClient { host: "evil.example".to_owned(), ..known.clone() };
    let own = format!("http://127.0.0.1:{}", page.port);
    assert_eq!(post(&known, &[("Origin", &own)]).json()["result"]["prompts"][0]["name"], "greet");
    assert_eq!((post(&page, &[]).status, post(&wrong, &[]).status), (401, 401));
    assert_eq!((post(&elsewhere, &[]).status, post(&known, &[("Origin", "http://evil.example")]).status), (403, 403));
    assert_eq!((get(&page, "/events", &[]).status, get(&wrong, "/events", &[]).status), (401, 401));
    assert_eq!((get(&elsewhere, "/events", &[]).status, get(&elsewhere, "/", &[]).status), (403, 403));
    let link = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")];
    assert_eq!((get(&known, "/", &link[..1]).status, get(&known, "/", &link).status), (403, 200));
    assert_eq!((get(&known, "/events", &link).status, get(&known, "/page.js", &link).status), (403, 403));
}

#[test]
fn events_tell_of_problems_reloads_and_calls() {
    let manifest = GOOD.replace("prompts:", "# folio: allow unused\nenv: { KEY: { secret: true } }\nprompts:")
        + "  fact: { description: A fact, result: { structuredContent: { a: 1 } } }\n";
    let folder = TestFolder::with_manifest(&manifest);
    let server =
        ServeCommand::dev(folder.path()).flag("--open").env("BROWSER", "").env("KEY", "sesame-open-4711").stdio();
    let (page, token) = page(&server);
    let events = Arc::<WaitQueue<Value>>::default();
    let _stream = get(&HttpClient { token: Some(token), ..page }, "/events", &[]).stream(events.clone());
    let next = |wanted: &dyn Fn(&Value) -> bool| {
        events.take(TEST_TIMEOUT, wanted).unwrap_or_else(|| panic!("no such event in {:?}", events.all()))
    };
    let state = next(&|event| event["type"] == "state");
    assert_eq!((&state["broken"], &state["server"], &state["problems"]), (&json!(false), &json!("desk"), &json!([])));
    let greet = &state["schemas"]["prompts"]["changed"]["greet"];
    assert_eq!((&state["schemas"]["whole"], &greet["required"]), (&json!(true), &json!(["who"])));
    let client = server.session("2025-03-26");
    client.get_text("greet", json!({ "who": "sesame-open-4711" }));
    let call = next(&|event| event["type"] == "call" && event["method"] == "prompts/get");
    assert_eq!((&call["outcome"], &call["specVersion"]), (&json!("ok"), &json!("2025-03-26")));
    assert_eq!((&call["client"]["name"], &call["params"]["name"]), (&json!("suite"), &json!("greet")));
    assert_eq!(call["response"]["messages"][0]["content"]["text"], "Hello [secret]");
    assert!(!call.to_string().contains("sesame"), "{call}");
    client.call("fact", json!({}));
    // An answer is shown as this version has it, which knows no structured content.
    let call = next(&|event| event["type"] == "call" && event["method"] == "tools/call");
    let keys: Vec<&String> = call["response"].as_object().unwrap().keys().collect();
    assert!(
        !keys.iter().any(|key| *key == "structuredContent") && call["response"]["content"][0]["text"] != Value::Null,
        "{call}"
    );
    folder.write("folio.yaml", BROKEN);
    let state = next(&|event| event["type"] == "state");
    let problem = &state["problems"][0];
    assert_eq!((&state["broken"], &problem["line"]), (&json!(true), &json!(4)));
    assert!(problem["frame"].as_str().unwrap().contains("{{whom}}"), "{problem}");
    assert_eq!(problem["path"].as_str().unwrap(), folder.path().join("folio.yaml").to_str().unwrap());
    let codex = state["clients"].as_array().unwrap().iter().find(|client| client["name"] == "codex").unwrap();
    assert!(codex["rules"].to_string().contains("prompts are not shown"), "{codex}");
    assert_eq!(codex["bridged"], json!({ "prompts": true, "resources": false }));
    folder.write("folio.yaml", manifest.replace("Hello", "Good morning"));
    let reload = next(&|event| event["fixed"] == true);
    assert!(reload["changes"].as_str().unwrap().contains("~greet"), "{reload}");
    // A page that is open has the schemas that are the same.
    let none = json!({ "changed": {}, "gone": [] });
    let mended = next(&|event| event["type"] == "state" && event["broken"] == false);
    for state in [&state, &mended] {
        assert_eq!(state["schemas"], json!({ "whole": false, "prompts": none, "templates": none }));
    }
    folder.write("folio.yaml", manifest.replace("  greet:", "  hail:"));
    let renamed = &next(&|event| event["type"] == "state")["schemas"];
    assert_eq!((&renamed["whole"], &renamed["prompts"]["gone"]), (&json!(false), &json!(["greet"])));
    let changed = renamed["prompts"]["changed"].as_object().unwrap();
    assert_eq!(changed.keys().collect::<Vec<_>>(), ["hail"]);
}

#[test]
fn terminal_gets_http_and_the_page_until_it_is_closed() {
    let folder = TestFolder::with_manifest(&format!("{GOOD}http: {{ listen: \"127.0.0.1:0\" }}\n"));
    let command = format!("exec '{FOLIO_BIN}' dev '{}'", folder.path().display());
    // A program that gives another one a terminal.
    let mut terminal = Command::new("script");
    let terminal = terminal.args(["-qec", &command, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut terminal = terminal.spawn().unwrap();
    let mut lines = BufReader::new(terminal.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut after = |start: &str| {
        lines.find_map(|line| Some(line.split_once(start)?.1.trim_end().to_owned())).expect("a line that begins so")
    };
    let page = after("page: http://127.0.0.1:");
    let port: u16 = after("listening on http://127.0.0.1:").strip_suffix("/mcp").unwrap().parse().unwrap();
    let (page_port, token) = page.split_once("/#").unwrap();
    let page = HttpClient { token: Some(token.to_owned()), ..HttpClient::new(page_port.parse().unwrap()) };
    assert_eq!(get(&page, "/", &[]).status, 200);
    assert_eq!(get(&HttpClient::new(port), "/", &[]).text(), "this is an MCP server; its endpoint is /mcp\n");
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    wait_for(|| TcpStream::connect(("127.0.0.1", port)).err());
}

#[test]
fn second_dev_takes_a_free_port() {
    // Another test may have it as well.
    let _first = std::net::TcpListener::bind("127.0.0.1:8080");
    let folder = TestFolder::with_manifest(GOOD);
    let server = ServeCommand::dev(folder.path()).flag("--http").stdio();
    let line = server.log.wait_for_line(0, |line| line.starts_with("listening on http://127.0.0.1:"));
    assert!(!line.contains(":8080/"), "{line}");
}

#[test]
fn browser_arguments_do_not_contain_the_token() {
    let folder = TestFolder::with_manifest(GOOD);
    folder.write("browser", "#!/bin/sh\necho \"$1\" > \"$HERE/started\"\n");
    fs::set_permissions(folder.join("browser"), fs::Permissions::from_mode(0o755)).unwrap();
    let here = folder.path().to_str().unwrap();
    let browser = folder.join("browser");
    let server = ServeCommand::dev(folder.path()).flag("--open").env("HERE", here).env("XDG_RUNTIME_DIR", here);
    let server = server.env("BROWSER", browser.to_str().unwrap()).stdio();
    let (page, token) = page(&server);
    let started = wait_for(|| fs::read_to_string(folder.join("started")).ok().filter(|text| text.ends_with('\n')));
    let file = started.trim().strip_prefix("file://").unwrap();
    assert!(!started.contains(&token), "{started}");
    let redirect = fs::read_to_string(file).unwrap();
    assert!(redirect.contains(&format!("url=http://127.0.0.1:{}/#{token}", page.port)), "{redirect}");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    server.pipe().close();
    assert!(server.wait_for_exit(Duration::from_secs(20)).is_some_and(|status| status.success()));
    assert!(!Path::new(file).exists(), "it goes with the server");
}

#[test]
fn without_a_client_on_stdin_http_is_served() {
    let folder = TestFolder::with_manifest(&format!("{GOOD}http: {{ listen: \"127.0.0.1:0\" }}\n"));
    let mut command = Command::new(FOLIO_BIN);
    command.args(["dev", "--open"]).current_dir(folder.path()).env("BROWSER", "").env_remove("FOLIO_LOG");
    let mut dev = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(dev.stderr.take().unwrap()).lines().map(Result::unwrap);
    let is_listening = lines.any(|line| line.starts_with("listening on http://127.0.0.1:"));
    dev.kill().unwrap();
    dev.wait().unwrap();
    assert!(is_listening, "it ended");
}

#[test]
fn end_of_stdin_is_said() {
    let folder = TestFolder::with_manifest(GOOD);
    let ran = run_folio(folder.path(), &["dev"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.ends_with("stopped: the client closed stdin\n"), "{}", ran.err);
}

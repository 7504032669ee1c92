//! One peer on a pipe, in every version, with valid and invalid input.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::every_client::DESK;
use crate::harness::*;

const SLOW: &str = r#"folio: 1
server: { name: slow }
tools:
  wait:
    description: Waits
    arguments: { marker: { required: true } }
    run: { exec: [sh, -c, "sleep 60 & wait", "{{marker}}"] }
    timeout: 2m
  quick: { description: Does not, result: { text: done } }
"#;

/// A word that stands in the command line of one test's children alone.
fn marker(test: &str) -> String {
    format!("folio-suite-{test}-{}", std::process::id())
}

#[test]
fn both_generations_share_one_pipe_in_any_order() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.stdio();
    let modern = server.sessionless();
    assert_eq!(modern.call_text("echo", json!({ "text": "a" })), "a x1");
    let session = server.session("2025-06-18");
    assert_eq!(session.call_text("echo", json!({ "text": "b" })), "b x1");
    assert_eq!(modern.read_text("about://desk"), "desk 1.2.3");
    assert_eq!(session.error_code("resources/read", json!({ "uri": "about://x" })), -32002);
    assert_eq!(modern.error_code("resources/read", json!({ "uri": "about://x" })), -32602);
    session.round_trip();
}

#[test]
fn early_notification_does_not_end_connection() {
    let folder = TestFolder::with_manifest(DESK);
    for version in SESSION_VERSIONS.iter().chain([&SESSIONLESS_VERSION]) {
        let server = folder.stdio();
        server.pipe().write_line(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        server.pipe().write_line(
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } }).to_string(),
        );
        server.pipe().write_line(json!({ "jsonrpc": "2.0", "id": 5, "result": {} }).to_string());
        server.client(version).round_trip();
        assert!(server.is_alive());
    }
}

#[test]
fn session_may_begin_after_sessionless_requests() {
    let folder = TestFolder::with_manifest(DESK);
    for version in SESSION_VERSIONS {
        let server = folder.stdio();
        server.sessionless().round_trip();
        server.session(version).result("tools/list", Value::Null);
    }
}

#[test]
fn slow_request_does_not_block_others() {
    let folder = TestFolder::with_manifest(SLOW);
    for version in SESSION_VERSIONS.iter().chain([&SESSIONLESS_VERSION]) {
        let server = folder.stdio();
        let client = server.client(version);
        let marker = marker(&format!("holds-up-{version}"));
        client.send("tools/call", json!({ "name": "wait", "arguments": { "marker": marker } }));
        wait_until("the child", || !processes_with_argument(&marker).is_empty());
        assert_eq!(client.call_text("quick", Value::Null), "done");
    }
}

#[test]
fn request_before_initialize_explains_ping_is_answered() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.stdio();
    server.pipe().write_line(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string());
    let answer = server.pipe().next();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("initialize"), "{answer}");
    server.pipe().write_line(json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string());
    assert_eq!(server.pipe().next(), json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
}

#[test]
fn second_initialize_is_refused() {
    let folder = TestFolder::with_manifest(DESK);
    for version in SESSION_VERSIONS {
        let server = folder.stdio();
        let client = server.session(version);
        let name = json!({ "name": "a", "version": "1" });
        let params = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": name });
        assert_eq!(client.error_code("initialize", params), -32600);
        client.round_trip();
    }
}

#[test]
fn cancelled_call_gets_no_response_and_its_processes_end() {
    let folder = TestFolder::with_manifest(SLOW);
    for version in SESSION_VERSIONS.into_iter().chain([SESSIONLESS_VERSION]) {
        let server = folder.stdio();
        let client = server.client(version);
        let marker = marker(&format!("cancel-{version}"));
        let id = client.send("tools/call", json!({ "name": "wait", "arguments": { "marker": marker } }));
        wait_until("the child", || !processes_with_argument(&marker).is_empty());
        client.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
        wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
        client.round_trip();
        let left = client.untagged_notifications();
        assert!(left.is_empty(), "{left:?}");
        assert!(!client.has_answer(id), "a cancelled request was answered");
    }
}

#[test]
fn cancelling_unknown_request_is_ignored() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    for id in [json!(999), json!("x"), Value::Null] {
        client.notify("notifications/cancelled", json!({ "requestId": id }));
    }
    client.assert_silent();
}

#[test]
fn bad_line_gets_error_and_next_is_served() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let lines: [(&[u8], i64, Value); 14] = [
        (b"{", -32700, Value::Null),
        (b"nonsense", -32700, Value::Null),
        (b"\xff\xfe{}", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, Value::Null),
        (b"[]", -32600, Value::Null),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, Value::Null),
        (b"7", -32600, Value::Null),
        (b"\"text\"", -32600, Value::Null),
        (b"{}", -32600, Value::Null),
        (br#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, json!("a")),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":4,"method":7}"#, -32600, json!(4)),
        (deep.as_bytes(), -32602, json!(1)),
    ];
    for (line, code, id) in lines {
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        client.pipe().write_line(line);
        let answer = client.pipe().take(|message| message.get("error").is_some());
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{shown}: {answer}");
        client.round_trip();
    }
    for nothing in ["", "   ", "\r"] {
        client.pipe().write_line(nothing);
    }
    client.assert_silent();
}

#[test]
fn overlong_line_is_refused_and_next_is_served() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{{\"x\":\"{}\"}}}}",
        "x".repeat(17 << 20)
    );
    client.pipe().write_line(long);
    let answer = client.pipe().take(|message| message.get("error").is_some());
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("16 MiB"), "{answer}");
    client.round_trip();
}

#[test]
fn long_argument_round_trips() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let long = "ä".repeat(1 << 20);
    assert_eq!(client.call_text("echo", json!({ "text": long })), format!("{long} x1"));
}

#[test]
fn string_id_works_and_id_in_use_is_refused() {
    let folder = TestFolder::with_manifest(SLOW);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let marker = marker("same-id");
    let call = json!({ "jsonrpc": "2.0", "id": "a b", "method": "tools/call", "params": { "name": "wait", "arguments": { "marker": marker } } });
    client.pipe().write_line(call.to_string());
    wait_until("the child", || !processes_with_argument(&marker).is_empty());
    client.pipe().write_line(json!({ "jsonrpc": "2.0", "id": "a b", "method": "ping" }).to_string());
    let answer = client.pipe().next();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{answer}");
    client.pipe().write_line(json!({ "jsonrpc": "2.0", "id": "c", "method": "ping" }).to_string());
    assert_eq!(client.pipe().next()["id"], "c");
}

#[test]
fn unterminated_last_line_is_answered() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.stdio();
    server.pipe().write_bytes(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    server.pipe().close();
    assert_eq!(server.pipe().next()["id"], 1);
    assert_eq!(server.wait_for_exit(TEST_TIMEOUT).unwrap().code(), Some(0));
}

/// Hosts on Node give sockets, `inetd` one for both, and shells files.
#[test]
fn sockets_and_files_are_served_as_pipes_are() {
    let folder = TestFolder::with_manifest(DESK);
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let answer = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    let start = |stdin: Stdio, stdout: Stdio| {
        let mut command = Command::new(FOLIO_BIN);
        command.arg("serve").arg(folder.path()).stdin(stdin).stdout(stdout).stderr(Stdio::null()).spawn().unwrap()
    };
    let exit_code = |mut server: Child| {
        wait_until("the end of folio", || server.try_wait().unwrap().is_some());
        server.wait().unwrap().code()
    };
    for is_nonblocking in [false, true] {
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(is_nonblocking).unwrap();
        far.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let server = start(OwnedFd::from(near.try_clone().unwrap()).into(), OwnedFd::from(near).into());
        far.write_all(ping.as_bytes()).unwrap();
        let mut read = vec![0; answer.len()];
        far.read_exact(&mut read).unwrap();
        assert_eq!(String::from_utf8_lossy(&read), answer);
        far.shutdown(Shutdown::Write).unwrap();
        assert_eq!(exit_code(server), Some(0));
    }
    folder.write("requests", ping.repeat(1000));
    let output = File::create(folder.join("answers")).unwrap();
    let server = start(File::open(folder.join("requests")).unwrap().into(), output.into());
    assert_eq!(exit_code(server), Some(0));
    assert_eq!(fs::read_to_string(folder.join("answers")).unwrap(), answer.repeat(1000));
}

#[test]
fn resource_updates_stop_after_unsubscribe() {
    let folder = TestFolder::new(&[
        (
            "folio.yaml",
            "folio: 1\nserver: { name: s }\nresources:\n  a: { uri: \"a://a\", file: a.txt }\n  b: { uri: \"b://b\", file: b.txt }\n",
        ),
        ("a.txt", "one"),
        ("b.txt", "one"),
    ]);
    for version in SESSION_VERSIONS {
        folder.write("a.txt", "one");
        let server = folder.stdio();
        let client = server.session(version);
        assert_eq!(client.result("resources/subscribe", json!({ "uri": "a://a" })), json!({}));
        client.result("resources/subscribe", json!({ "uri": "nobody://answers" }));
        folder.write("a.txt", "two, and longer");
        let told = client.wait_for("notifications/resources/updated");
        assert_eq!(told["params"]["uri"], "a://a", "{told}");
        assert_eq!(client.read_text("a://a"), "two, and longer");
        assert_eq!(client.result("resources/unsubscribe", json!({ "uri": "a://a" })), json!({}));
        client.result("resources/subscribe", json!({ "uri": "b://b" }));
        folder.write("a.txt", "three");
        folder.write("b.txt", format!("changed for {version}"));
        assert_eq!(client.wait_for("notifications/resources/updated")["params"]["uri"], "b://b");
        client.assert_silent();
    }
}

#[test]
fn edits_of_files_that_a_uri_names_are_announced() {
    let folder = TestFolder::new(&[
        (
            "folio.yaml",
            "folio: 1\nserver: { name: s }\nresources:\n  \
             term: { uri: \"term://{name}\", file: \"terms/{{name}}.md\" }\n  \
             deep: { uri: \"deep://{+path}\", file: \"{{path}}\" }\n  \
             lower: { uri: \"lower://{name}\", file: \"low/{{lower name}}.md\" }\n",
        ),
        ("terms/a.md", "one"),
        ("low/a.md", "one"),
        ("some/where/a.md", "one"),
    ]);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let cases = [("term://a", "terms/a.md"), ("lower://A", "low/a.md"), ("deep://some/where/a.md", "some/where/a.md")];
    for (uri, file) in cases {
        client.result("resources/subscribe", json!({ "uri": uri }));
        folder.write(file, "two, and longer");
        assert_eq!(client.wait_for("notifications/resources/updated")["params"]["uri"], uri);
        assert_eq!(client.read_text(uri), "two, and longer");
    }
    client.result("resources/subscribe", json!({ "uri": "term://new" }));
    folder.write("terms/new.md", "one");
    assert_eq!(client.wait_for("notifications/resources/updated")["params"]["uri"], "term://new");
    folder.write("terms/new.md", "two, and longer");
    assert_eq!(client.wait_for("notifications/resources/updated")["params"]["uri"], "term://new");
}

#[test]
fn listen_on_stdio_is_tagged_and_cancellable() {
    let folder = TestFolder::new(&[
        (
            "folio.yaml",
            "folio: 1\nserver: { name: s }\nresources:\n  a: { uri: \"a://a\", file: a.txt }\nprompts:\n  p: { text: Hi }\n",
        ),
        ("a.txt", "one"),
    ]);
    let server = folder.stdio();
    let client = server.sessionless();
    let first = client.listen(json!({ "promptsListChanged": true }));
    let second = client.listen(json!({ "resourceSubscriptions": ["a://a"], "resourcesListChanged": true }));
    folder.write("a.txt", "two, and longer");
    assert_eq!(second.wait_for("notifications/resources/updated")["params"]["uri"], "a://a");
    folder.write("folio.yaml", "folio: 1\nserver: { name: s }\nresources:\n  a: { uri: \"a://a\", file: a.txt }\nprompts:\n  q: { text: Hi }\n");
    first.wait_for("notifications/prompts/list_changed");
    client.notify("notifications/cancelled", json!({ "requestId": first.id }));
    client.round_trip();
    folder.write("folio.yaml", "folio: 1\nserver: { name: s }\nresources:\n  b: { uri: \"a://a\", file: a.txt }\nprompts:\n  r: { text: Hi }\n");
    second.wait_for("notifications/resources/list_changed");
    client.round_trip();
    assert_eq!((first.notifications(), second.notifications()), (vec![], vec![]));
    assert!(
        client.untagged_notifications().is_empty(),
        "untagged word for a client of the newest version: {:?}",
        client.untagged_notifications()
    );
}

#[test]
fn stdout_has_only_messages_and_log_is_plain() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.serve_command().flag("--log-level=debug").stdio();
    let client = server.session("2025-11-25");
    client.call_text("shout", json!({ "text": "\u{1b}[31m" }));
    client.pipe().write_line("nonsense");
    client.round_trip();
    client.pipe().assert_only_messages();
    assert!(!server.log.text().contains('\u{1b}'), "{}", server.log.text());
}

#[test]
fn default_log_is_silent_per_request() {
    let folder = TestFolder::with_manifest(DESK);
    for version in SESSION_VERSIONS.iter().chain([&SESSIONLESS_VERSION]) {
        let server = folder.stdio();
        let client = server.client(version);
        for _ in 0..20 {
            client.round_trip();
            client.error_code("nothing", Value::Null);
        }
        server.pipe().close();
        server.wait_for_exit(Duration::from_secs(5)).unwrap();
        assert_eq!(server.log.lines(), Vec::<String>::new());
    }
}

#[test]
fn list_order_is_stable() {
    let folder = TestFolder::with_manifest(DESK);
    let web = folder.http();
    for version in SESSION_VERSIONS.iter().chain([&SESSIONLESS_VERSION]) {
        let pipes = folder.stdio();
        let (one, other) = (pipes.client(version), web.client(version));
        for of in ["tools", "prompts", "resources", "resourceTemplates"] {
            let list = one.list(of);
            assert_eq!((&one.list(of), &other.list(of)), (&list, &list));
        }
    }
}

#[test]
fn change_right_after_acknowledgement_is_notified() {
    let folder = TestFolder::new(&[
        ("folio.yaml", "folio: 1\nserver: { name: s }\nresources:\n  a: { uri: \"a://a\", file: a.txt }\n"),
        ("a.txt", "0"),
    ]);
    let server = folder.stdio();
    let client = server.sessionless();
    for round in 1..=20 {
        let listening = client.listen(json!({ "resourceSubscriptions": ["a://a"] }));
        folder.write("a.txt", "x".repeat(round));
        listening.wait_for("notifications/resources/updated");
        client.notify("notifications/cancelled", json!({ "requestId": listening.id }));
    }
}

/// How many bytes a process has read, from files and pipes.
#[cfg(target_os = "linux")]
fn read_bytes(pid: i32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

/// A small file of a local disk is kept, with or without a watcher, and yet every read has what it holds then: whether it
/// was written in place with as many bytes, replaced, removed, or made again.
#[cfg(target_os = "linux")]
#[test]
fn small_file_is_kept_and_never_stale() {
    for flag in ["--log-level=warn", "--no-watch"] {
        let manifest = "folio: 1\nserver: { name: s }\nresources:\n  a: { uri: \"a://a\", file: a.txt }\n";
        let text = |byte: &str| byte.repeat(60_000);
        let folder = TestFolder::new(&[("folio.yaml", manifest), ("a.txt", &text("0"))]);
        let server = folder.serve_command().flag(flag).stdio();
        let client = server.session("2025-11-25");
        for round in 1..10 {
            let now = text(&round.to_string());
            folder.write("a.txt", &now);
            assert!(client.read_text("a://a") == now, "written in place, {flag}");
        }
        // What has just changed is not kept yet.
        std::thread::sleep(Duration::from_millis(100));
        client.read_text("a://a");
        let before = read_bytes(server.pid());
        for _ in 0..50 {
            assert!(client.read_text("a://a") == text("9"), "{flag}");
        }
        let read = read_bytes(server.pid()) - before;
        assert!(read < 1_000_000, "{read} bytes are read, {flag}");
        folder.write("b.txt", text("b"));
        std::fs::rename(folder.join("b.txt"), folder.join("a.txt")).unwrap();
        assert!(client.read_text("a://a") == text("b"), "replaced, {flag}");
        std::fs::remove_file(folder.join("a.txt")).unwrap();
        client.error_code("resources/read", json!({ "uri": "a://a" }));
        folder.write("a.txt", "again");
        assert_eq!(client.read_text("a://a"), "again");
    }
}

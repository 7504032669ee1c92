//! The pipe: one peer, any generation, whatever it writes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::conversation::DESK;
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
    let folder = Folder::of(DESK);
    let server = folder.stdio();
    let modern = server.modern();
    assert_eq!(modern.call_text("echo", json!({ "text": "a" })), "a x1");
    let session = server.session("2025-06-18");
    assert_eq!(session.call_text("echo", json!({ "text": "b" })), "b x1");
    assert_eq!(modern.read_text("about://desk"), "desk 1.2.3");
    assert_eq!(session.code("resources/read", json!({ "uri": "about://x" })), -32002);
    assert_eq!(modern.code("resources/read", json!({ "uri": "about://x" })), -32602);
    session.round_trip();
}

#[test]
fn pitfall_5_6_a_a_notification_before_anything_else_ends_nothing() {
    let folder = Folder::of(DESK);
    for version in SESSIONS.iter().chain([&MODERN]) {
        let server = folder.stdio();
        server.pipe().line(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        server.pipe().line(
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } }).to_string(),
        );
        server.pipe().line(json!({ "jsonrpc": "2.0", "id": 5, "result": {} }).to_string());
        server.client(version).round_trip();
        assert!(server.is_alive());
    }
}

#[test]
fn pitfall_5_6_c_a_session_may_begin_after_requests_of_the_newest_version() {
    let folder = Folder::of(DESK);
    for version in SESSIONS {
        let server = folder.stdio();
        server.modern().round_trip();
        server.session(version).result("tools/list", Value::Null);
    }
}

#[test]
fn pitfall_5_6_d_a_slow_request_holds_up_no_other() {
    let folder = Folder::of(SLOW);
    for version in SESSIONS.iter().chain([&MODERN]) {
        let server = folder.stdio();
        let client = server.client(version);
        let marker = marker(&format!("holds-up-{version}"));
        client.send("tools/call", json!({ "name": "wait", "arguments": { "marker": marker } }));
        eventually("the child", || !processes(&marker).is_empty());
        assert_eq!(client.call_text("quick", Value::Null), "done");
    }
}

#[test]
fn a_request_before_the_session_is_told_how_to_begin_and_ping_is_answered() {
    let folder = Folder::of(DESK);
    let server = folder.stdio();
    server.pipe().line(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string());
    let answer = server.pipe().next();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("initialize"), "{answer}");
    server.pipe().line(json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string());
    assert_eq!(server.pipe().next(), json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
}

#[test]
fn a_session_begins_once() {
    let folder = Folder::of(DESK);
    for version in SESSIONS {
        let server = folder.stdio();
        let client = server.session(version);
        let name = json!({ "name": "a", "version": "1" });
        let params = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": name });
        assert_eq!(client.code("initialize", params), -32600);
        client.round_trip();
    }
}

#[test]
fn a_cancelled_call_gets_no_answer_and_its_processes_end() {
    let folder = Folder::of(SLOW);
    for version in SESSIONS.into_iter().chain([MODERN]) {
        let server = folder.stdio();
        let client = server.client(version);
        let marker = marker(&format!("cancel-{version}"));
        let id = client.send("tools/call", json!({ "name": "wait", "arguments": { "marker": marker } }));
        eventually("the child", || !processes(&marker).is_empty());
        client.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
        eventually("the end of the child", || processes(&marker).is_empty());
        client.round_trip();
        let left = client.notices();
        assert!(left.is_empty(), "{left:?}");
        assert!(!client.has_answer(id), "a cancelled request was answered");
    }
}

#[test]
fn cancelling_what_does_not_run_does_nothing() {
    let folder = Folder::of(DESK);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    for id in [json!(999), json!("x"), Value::Null] {
        client.notify("notifications/cancelled", json!({ "requestId": id }));
    }
    client.assert_silent();
}

#[test]
fn a_bad_line_is_answered_with_what_is_wrong_and_the_next_one_is_served() {
    let folder = Folder::of(DESK);
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
        client.pipe().line(line);
        let answer = client.pipe().take(|message| message.get("error").is_some());
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{shown}: {answer}");
        client.round_trip();
    }
    for nothing in ["", "   ", "\r"] {
        client.pipe().line(nothing);
    }
    client.assert_silent();
}

#[test]
fn a_line_of_17_mib_is_refused_and_the_next_one_is_served() {
    let folder = Folder::of(DESK);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{{\"x\":\"{}\"}}}}",
        "x".repeat(17 << 20)
    );
    client.pipe().line(long);
    let answer = client.pipe().take(|message| message.get("error").is_some());
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("16 MiB"), "{answer}");
    client.round_trip();
}

#[test]
fn a_long_argument_comes_back_whole() {
    let folder = Folder::of(DESK);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let long = "ä".repeat(1 << 20);
    assert_eq!(client.call_text("echo", json!({ "text": long })), format!("{long} x1"));
}

#[test]
fn an_id_may_be_text_and_one_in_use_is_refused() {
    let folder = Folder::of(SLOW);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let marker = marker("same-id");
    let call = json!({ "jsonrpc": "2.0", "id": "a b", "method": "tools/call", "params": { "name": "wait", "arguments": { "marker": marker } } });
    client.pipe().line(call.to_string());
    eventually("the child", || !processes(&marker).is_empty());
    client.pipe().line(json!({ "jsonrpc": "2.0", "id": "a b", "method": "ping" }).to_string());
    let answer = client.pipe().next();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{answer}");
    client.pipe().line(json!({ "jsonrpc": "2.0", "id": "c", "method": "ping" }).to_string());
    assert_eq!(client.pipe().next()["id"], "c");
}

#[test]
fn the_last_line_may_lack_its_end_and_is_answered() {
    let folder = Folder::of(DESK);
    let server = folder.stdio();
    server.pipe().bytes(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    server.pipe().close();
    assert_eq!(server.pipe().next()["id"], 1);
    assert_eq!(server.wait(PATIENCE).unwrap().code(), Some(0));
}

#[test]
fn a_session_hears_of_a_resource_that_it_subscribed_to_until_it_has_enough() {
    let folder = Folder::new(&[
        (
            "folio.yaml",
            "folio: 1\nserver: { name: s }\nresources:\n  a: { uri: \"a://a\", file: a.txt }\n  b: { uri: \"b://b\", file: b.txt }\n",
        ),
        ("a.txt", "one"),
        ("b.txt", "one"),
    ]);
    for version in SESSIONS {
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
fn a_stream_on_the_pipe_is_acknowledged_tagged_and_ended_by_cancelling() {
    let folder = Folder::new(&[
        (
            "folio.yaml",
            "folio: 1\nserver: { name: s }\nresources:\n  a: { uri: \"a://a\", file: a.txt }\nprompts:\n  p: { text: Hi }\n",
        ),
        ("a.txt", "one"),
    ]);
    let server = folder.stdio();
    let client = server.modern();
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
    assert_eq!((first.notices(), second.notices()), (vec![], vec![]));
    assert!(client.notices().is_empty(), "untagged word for a client of the newest version: {:?}", client.notices());
}

#[test]
fn nothing_but_messages_is_on_stdout_and_the_log_is_lines_without_colour() {
    let folder = Folder::of(DESK);
    let server = folder.serve().flag("--log-level=debug").stdio();
    let client = server.session("2025-11-25");
    client.call_text("shout", json!({ "text": "\u{1b}[31m" }));
    client.pipe().line("nonsense");
    client.round_trip();
    client.pipe().assert_clean();
    assert!(!server.log.text().contains('\u{1b}'), "{}", server.log.text());
}

#[test]
fn pitfall_5_8_a_quiet_server_says_nothing_of_each_request() {
    let folder = Folder::of(DESK);
    for version in SESSIONS.iter().chain([&MODERN]) {
        let server = folder.stdio();
        let client = server.client(version);
        for _ in 0..20 {
            client.round_trip();
            client.code("nothing", Value::Null);
        }
        server.pipe().close();
        server.wait(Duration::from_secs(5)).unwrap();
        assert_eq!(server.log.lines(), Vec::<String>::new());
    }
}

#[test]
fn pitfall_5_5_a_list_is_the_same_each_time_it_is_asked_for() {
    let folder = Folder::of(DESK);
    let web = folder.http();
    for version in SESSIONS.iter().chain([&MODERN]) {
        let pipes = folder.stdio();
        let (one, other) = (pipes.client(version), web.client(version));
        for of in ["tools", "prompts", "resources", "resourceTemplates"] {
            let list = one.list(of);
            assert_eq!((&one.list(of), &other.list(of)), (&list, &list));
        }
    }
}

#[test]
fn what_changes_right_after_a_stream_is_acknowledged_is_told_on_it() {
    let folder = Folder::new(&[
        ("folio.yaml", "folio: 1\nserver: { name: s }\nresources:\n  a: { uri: \"a://a\", file: a.txt }\n"),
        ("a.txt", "0"),
    ]);
    let server = folder.stdio();
    let client = server.modern();
    for round in 1..=20 {
        let listening = client.listen(json!({ "resourceSubscriptions": ["a://a"] }));
        folder.write("a.txt", "x".repeat(round));
        listening.wait_for("notifications/resources/updated");
        client.notify("notifications/cancelled", json!({ "requestId": listening.id }));
    }
}

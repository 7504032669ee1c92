//! HTTP+SSE of 2024-11-05, beside Streamable HTTP.

use serde_json::{Value, json};

use crate::every_client::DESK;
use crate::harness::*;

fn sse(folder: &TestFolder) -> TestServer {
    folder.serve_command().flag("--sse").http()
}

#[test]
fn http_sse_serves_each_version() {
    let folder = TestFolder::with_manifest(DESK);
    let server = sse(&folder);
    for version in SESSION_VERSIONS.iter().chain([&SESSIONLESS_VERSION]) {
        let client = server.sse_client(version);
        client.round_trip();
        assert_eq!(client.call_text("echo", json!({ "text": "a" })), "a x1");
        assert_eq!(client.get_text("greet", json!({ "who": "Ada" })), "Say a warm hello to Ada.");
        assert_eq!(client.read_text("note://one"), "Note one");
        assert_eq!(client.names("tools"), ["echo", "shout", "fails"]);
        assert_eq!(client.error_code("nope", Value::Null), -32601);
    }
}

#[test]
fn http_sse_notifies_changes() {
    let folder = TestFolder::with_manifest(DESK);
    let server = sse(&folder);
    let (old, new) = (server.sse_client("2024-11-05"), server.sse_client(SESSIONLESS_VERSION));
    let listening = new.listen(json!({ "toolsListChanged": true }));
    folder.write("folio.yaml", DESK.replace("  shout:", "  cry:"));
    old.wait_for("notifications/tools/list_changed");
    listening.wait_for("notifications/tools/list_changed");
    assert_eq!(old.names("tools"), ["echo", "cry", "fails"]);
}

#[test]
fn http_sse_is_served_only_when_enabled() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let mut web = server.http_client();
    for path in ["/sse", "/messages?sessionId=a"] {
        web.path = path.to_owned();
        assert_eq!((web.send("GET", &[], b"").status, web.send("POST", &[], b"").status), (404, 404), "{path}");
    }
    let folder = TestFolder::with_manifest(&format!("{DESK}http: {{ sse: true }}\n"));
    let server = folder.http();
    server.sse_client("2024-11-05").round_trip();
    server.session("2025-11-25").round_trip();
    server.log.wait_for_line(0, |line| line == format!("serving HTTP+SSE on http://127.0.0.1:{}/sse", server.port));
    let alone = run_folio(folder.path(), &["serve", "--sse"]);
    assert!(alone.code == Some(2) && alone.err.contains("--http"), "{alone:?}");
}

#[test]
fn http_sse_paths_follow_endpoint_and_proxy_prefix() {
    let folder = TestFolder::with_manifest(&format!("{DESK}http: {{ sse: true, path: /x/mcp }}\n"));
    let server = folder.http();
    let client = server.open_sse_client("/x/sse", &[], "2024-11-05");
    assert!(client.http_client().path.starts_with("/x/messages?sessionId="), "{}", client.http_client().path);
    assert!(client.result("ping", Value::Null).is_object());
    let behind = server.open_sse_client("/x/sse", &[("X-Forwarded-Prefix", "/outside")], "2024-11-05");
    assert!(behind.http_client().path.starts_with("/outside/x/messages?sessionId="), "{}", behind.http_client().path);
    let folder = TestFolder::with_manifest(&format!("{DESK}http: {{ path: /x/messages }}\n"));
    let refused = run_folio(folder.path(), &["serve", "--http", "127.0.0.1:0", "--sse"]);
    assert!(refused.code == Some(2) && refused.err.contains("/x/messages"), "{refused:?}");
}

#[test]
fn http_sse_refuses_invalid_post() {
    let folder = TestFolder::with_manifest(DESK);
    let server = sse(&folder);
    let client = server.sse_client("2024-11-05");
    for (body, code, id) in [
        ("{", -32700, Value::Null),
        ("", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600, Value::Null),
        ("{}", -32600, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600, Value::Null),
        ("{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}", -32600, json!(7)),
    ] {
        let refused = client.post(body).unwrap_or_else(|| panic!("{body} was taken"));
        assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(code), &id), "{body}: {refused}");
    }
    let plain = [("Content-Type", "text/plain")];
    assert_eq!(client.http_client().send("POST", &plain, b"{}").status, 415);
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{{\"x\":\"{}\"}}}}",
        "x".repeat(5 << 20)
    );
    assert_eq!(client.http_client().post_bytes(&[], long.as_bytes()).status, 413);
    client.round_trip();
}

#[test]
fn http_sse_unknown_session_404_and_method_405() {
    let folder = TestFolder::with_manifest(DESK);
    let server = sse(&folder);
    let streamable = server.session("2025-11-25");
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let mut web = server.http_client();
    for path in [
        "/messages",
        "/messages?sessionId=",
        "/messages?sessionId=nobody",
        &format!("/messages?sessionId={}", streamable.session_id()),
    ] {
        web.path = path.to_owned();
        assert_eq!(web.post(&[], &ping).status, 404, "{path}");
    }
    let client = server.sse_client("2024-11-05");
    let id = client.http_client().path.split_once('=').unwrap().1.to_owned();
    assert_eq!(server.http_client().post(&[("Mcp-Session-Id", &id)], &ping).status, 404);
    for (method, path) in [("POST", "/sse"), ("DELETE", "/sse"), ("GET", "/messages?sessionId=a")] {
        web.path = path.to_owned();
        assert_eq!(web.send(method, &[], b"").status, 405, "{method} {path}");
    }
    client.round_trip();
}

#[test]
fn http_sse_has_same_access_checks() {
    let manifest =
        format!("{DESK}env: {{ TOKEN: {{ secret: true }} }}\nhttp: {{ sse: true, token: \"{{{{env.TOKEN}}}}\" }}\n");
    let folder = TestFolder::with_manifest(&manifest);
    let server = folder.serve_command().env("TOKEN", "open-sesame-4711").http();
    let token = ("Authorization", "Bearer open-sesame-4711");
    let client = server.open_sse_client("/sse", &[token], "2024-11-05");
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for path in ["/sse", &client.http_client().path] {
        let mut web = server.http_client();
        web.path = path.to_owned();
        let method = if path == "/sse" { "GET" } else { "POST" };
        let send = |headers: &[(&str, &str)]| {
            let all = [headers, &[("Content-Type", "application/json")]].concat();
            web.send(method, &all, ping.to_string().as_bytes()).status
        };
        assert_eq!(send(&[]), 401, "{path}");
        assert_eq!(send(&[("Authorization", "Bearer wrong")]), 401, "{path}");
        assert_eq!(send(&[token, ("Origin", "http://evil.example")]), 403, "{path}");
        assert_eq!(send(&[token, ("Host", "evil.example")]), 403, "{path}");
    }
    assert_eq!(client.http_client().post(&[token], &ping).status, 202);
    assert_eq!(client.next_message()["result"], json!({}));
}

#[test]
fn http_sse_stream_end_cancels_its_session() {
    let marker = format!("folio-suite-sse-{}", std::process::id());
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: slow }}\ntools:\n  wait: {{ description: Waits, run: {{ exec: [sh, -c, \"sleep 60 & wait\", {marker}] }}, timeout: 2m }}\n"
    ));
    let server = sse(&folder);
    let client = server.sse_client("2024-11-05");
    let cancelled = client.send("tools/call", json!({ "name": "wait" }));
    wait_until("the child", || !processes_with_argument(&marker).is_empty());
    client.notify("notifications/cancelled", json!({ "requestId": cancelled }));
    wait_until("the end of the cancelled child", || processes_with_argument(&marker).is_empty());
    client.round_trip();
    assert!(!client.has_answer(cancelled));
    client.send("tools/call", json!({ "name": "wait" }));
    wait_until("the second child", || !processes_with_argument(&marker).is_empty());
    client.close_stream();
    wait_until("the end of the second child", || processes_with_argument(&marker).is_empty());
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(client.http_client().post(&[], &ping).status, 404);
}

#[test]
fn http_sse_sessions_count_toward_max_sessions() {
    let folder = TestFolder::with_manifest(&format!("{DESK}http: {{ sse: true, maxSessions: 2 }}\n"));
    let server = folder.http();
    let first = server.sse_client("2024-11-05");
    let _second = server.session("2025-11-25");
    let mut web = server.http_client();
    web.path = "/sse".to_owned();
    let third = web.send("GET", &[], b"");
    assert_eq!((third.status, third.header("retry-after")), (503, Some("60")));
    first.close_stream();
    wait_until("room for a session", || web.send("GET", &[], b"").status == 200);
}

#[test]
fn a_batch_is_answered_on_the_stream() {
    let folder = TestFolder::with_manifest(DESK);
    let server = sse(&folder);
    let client = server.sse_client("2025-03-26");
    let request = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    assert_eq!(client.post(&json!([request(101), request(102), 3]).to_string()), None);
    let answers = client.next_message();
    assert_eq!(answers.as_array().map(Vec::len), Some(3), "{answers}");
}

#[test]
fn server_shutdown_ends_http_sse_stream() {
    let folder = TestFolder::with_manifest(DESK);
    let server = sse(&folder);
    let client = server.sse_client("2024-11-05");
    server.signal("TERM");
    assert!(client.wait_for_stream_end());
    assert_eq!(server.wait_for_exit(TEST_TIMEOUT).unwrap().code(), Some(0));
}

//! Streamable HTTP: sessions, sessionless requests and access control.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::every_client::DESK;
use crate::example_api::MockApi;
use crate::harness::*;

fn initialize(id: i64) -> Value {
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params })
}

/// A request of 2026-07-28 with its headers.
fn sessionless_request(method: &str, mut params: Value) -> (Vec<(&str, &str)>, Value) {
    params["_meta"] = sessionless_meta();
    let headers = vec![("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", method)];
    (headers, json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
}

#[test]
fn session_lives_until_delete() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    for version in SESSION_VERSIONS {
        let client = server.session(version);
        client.round_trip();
        let session = client.session_id().to_owned();
        assert!(session.bytes().all(|byte| byte.is_ascii_graphic()), "{session}");
        let headers = [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", version)];
        let deleted = server.http_client().send("DELETE", &headers, b"");
        assert!((200..300).contains(&deleted.status), "{deleted:?}");
        let again = server.http_client().send("DELETE", &headers, b"");
        assert_eq!(again.status, 404, "{again:?}");
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        assert_eq!(server.http_client().post(&headers, &ping).status, 404, "after the end of the session");
    }
}

#[test]
fn request_without_session_id_is_refused() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let without = server.http_client().post(&[], &list);
    assert_eq!(without.status, 400, "{without:?}");
    let unknown = server.http_client().post(&[("Mcp-Session-Id", "nobody")], &list);
    assert_eq!(unknown.status, 404, "{unknown:?}");
    let stream =
        server.http_client().send("GET", &[("Accept", "text/event-stream"), ("Mcp-Session-Id", "nobody")], b"");
    assert_eq!(stream.status, 404, "{stream:?}");
    let ended = server.http_client().send("DELETE", &[("Mcp-Session-Id", "nobody")], b"");
    assert_eq!(ended.status, 404, "{ended:?}");
}

#[test]
fn sessions_do_not_mix() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let (one, other) = (server.session("2024-11-05"), server.session("2025-11-25"));
    assert_ne!(one.session_id(), other.session_id());
    assert_eq!(one.call_text("echo", json!({ "text": "1" })), "1 x1");
    assert_eq!(other.call_text("echo", json!({ "text": "2" })), "2 x1");
}

#[test]
fn max_sessions_is_enforced_and_freed_on_delete() {
    let folder = TestFolder::with_manifest(&format!("{DESK}http: {{ maxSessions: 2 }}\n"));
    let server = folder.http();
    let first = server.session("2025-06-18");
    let _second = server.session("2025-06-18");
    let third = server.http_client().post(&[], &initialize(7));
    assert_eq!(third.status, 503, "{third:?}");
    assert!(third.header("retry-after").is_some());
    assert_eq!(third.json()["id"], 7);
    server.sessionless().round_trip();
    server.http_client().send("DELETE", &[("Mcp-Session-Id", first.session_id())], b"");
    wait_until("room for a session", || server.http_client().post(&[], &initialize(8)).status == 200);
}

#[test]
fn idle_session_ends_and_listening_one_stays() {
    let folder = TestFolder::with_manifest(&format!("{DESK}http: {{ maxSessions: 2, sessionIdle: 2s }}\n"));
    // All at once, since a server of each version waits as long.
    let begun = SESSION_VERSIONS.map(|version| {
        let server = folder.http();
        let listening = server.session(version);
        let stream = listening.open_stream();
        let idle = server.session(version);
        (server, listening, stream, idle)
    });
    for (server, listening, _stream, idle) in begun {
        // There is room for another only when one of the two has ended.
        wait_until("the end of a session", || server.http_client().post(&[], &initialize(1)).status == 200);
        listening.round_trip();
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        assert_eq!(server.http_client().post(&[("Mcp-Session-Id", idle.session_id())], &ping).status, 404);
    }
}

#[test]
fn sessionless_requests_leave_no_state() {
    let folder = TestFolder::with_manifest(&format!("{DESK}http: {{ maxSessions: 1 }}\n"));
    let server = folder.http();
    let client = server.sessionless();
    for _ in 0..20 {
        let (headers, body) = sessionless_request("tools/list", json!({}));
        let response = server.http_client().post(&headers, &body);
        assert_eq!((response.status, response.header("mcp-session-id")), (200, None));
        assert_eq!(client.call_text("echo", json!({ "text": "a" })), "a x1");
    }
    server.session("2025-11-25").round_trip();
}

#[test]
fn http_status_matches_error_code() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    for (method, params, status, code) in [
        ("nothing", json!({}), 404, -32601),
        ("ping", json!({}), 404, -32601),
        ("initialize", json!({}), 404, -32601),
        ("resources/subscribe", json!({ "uri": "about://desk" }), 404, -32601),
        ("resources/unsubscribe", json!({ "uri": "about://desk" }), 404, -32601),
        ("tools/call", json!({ "name": "nobody" }), 200, -32602),
        ("resources/read", json!({ "uri": "about://nowhere" }), 200, -32602),
        ("logging/setLevel", json!({ "level": "info" }), 404, -32601),
    ] {
        let (mut headers, body) = sessionless_request(method, params);
        // With the headers that the specification asks for, and no others.
        let name = match method {
            "tools/call" => body["params"]["name"].as_str(),
            "resources/read" => body["params"]["uri"].as_str(),
            _ => None,
        };
        headers.extend(name.map(|name| ("Mcp-Name", name)));
        let response = server.http_client().post(&headers, &body);
        let was = response.status;
        let answer = response.json();
        assert_eq!(
            (was, &answer["error"]["code"], &answer["id"]),
            (status, &json!(code), &json!(1)),
            "{method}: {answer}"
        );
    }
    let (mut headers, mut body) = sessionless_request("tools/list", json!({}));
    body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    headers[0].1 = "2099-01-01";
    let response = server.http_client().post(&headers, &body);
    assert_eq!(response.status, 400);
    assert_eq!(response.json()["error"]["code"], -32022);
    for key in ["io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/protocolVersion"] {
        for wrong in [Value::Null, json!(7)] {
            let (headers, mut body) = sessionless_request("tools/list", json!({}));
            body["params"]["_meta"][key] = wrong.clone();
            if wrong.is_null() {
                body["params"]["_meta"].as_object_mut().unwrap().remove(key);
            }
            let response = server.http_client().post(&headers, &body);
            assert_eq!(response.status, 400, "{key} {wrong}");
            assert_eq!(response.json()["error"]["code"], -32602, "{key} {wrong}");
        }
    }
}

#[test]
fn single_answer_is_json_and_notified_one_is_sse() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  t: { description: T, run: [{ progress: { progress: 1 } }, { sleep: 1ms }], result: { text: x } }\n",
    );
    let server = folder.http();
    let call = |meta: Value| {
        let (mut headers, mut body) = sessionless_request("tools/call", json!({ "name": "t" }));
        headers.push(("Mcp-Name", "t"));
        body["params"]["_meta"].as_object_mut().unwrap().extend(meta.as_object().unwrap().clone());
        server.http_client().post(&headers, &body)
    };
    let alone = call(json!({}));
    assert_eq!((alone.status, alone.header("content-type")), (200, Some("application/json")));
    assert_eq!(alone.json()["result"]["content"][0]["text"], "x");
    let stream = call(json!({ "progressToken": "p" }));
    assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
    // No proxy may hold back what is told on the way.
    assert_eq!(stream.header("x-accel-buffering"), Some("no"));
    let mut told = Vec::new();
    let answer = stream.answer(&json!(1), |message| told.push(message["method"].clone()));
    assert_eq!(told, ["notifications/progress"]);
    assert_eq!(answer["result"]["content"][0]["text"], "x");
}

#[test]
fn mcp_name_header_base64_duplicate_and_missing() {
    let folder = TestFolder::with_manifest(&DESK.replace("about://blob", "about://b%C3%A4r"));
    let server = folder.http();
    let version = ("MCP-Protocol-Version", SESSIONLESS_VERSION);
    let method = ("Mcp-Method", "resources/read");
    let (_, body) = sessionless_request("resources/read", json!({ "uri": "about://b%C3%A4r" }));
    let plain = ("Mcp-Name", "about://b%C3%A4r");
    for name in [plain, ("Mcp-Name", "=?base64?YWJvdXQ6Ly9iJUMzJUE0cg==?="), ("Mcp-Name", "  about://b%C3%A4r ")] {
        let response = server.http_client().post(&[version, method, name], &body);
        assert_eq!(response.status, 200, "{name:?}");
        assert_eq!(response.json()["result"]["contents"][0]["blob"], "AAEC");
    }
    for headers in [
        vec![method, plain],
        vec![version, plain],
        vec![version, method],
        vec![version, method, plain, plain],
        vec![version, method, method, plain],
        vec![version, method, ("Mcp-Name", "=?base64?!!!?=")],
        vec![version, method, ("Mcp-Name", "=?base64?YWJvdXQ6Ly9kZXNr?=")],
        vec![version, method, ("Mcp-Name", "")],
        vec![version, ("Mcp-Method", "Resources/Read"), plain],
    ] {
        let response = server.http_client().post(&headers, &body);
        let status = response.status;
        let answer = response.json();
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32020)), "{headers:?}: {answer}");
    }
}

#[test]
fn headers_contradicting_body_are_refused() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let (right, body) = sessionless_request("tools/call", json!({ "name": "echo", "arguments": { "text": "a" } }));
    let named = |name: &'static str| [right.clone(), vec![("Mcp-Name", name)]].concat();
    assert_eq!(server.http_client().post(&named("echo"), &body).status, 200);
    let wrong = [
        named("shout"),
        right.clone(),
        vec![("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", "tools/list"), ("Mcp-Name", "echo")],
        vec![("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Name", "echo")],
        vec![("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "echo")],
    ];
    for headers in wrong {
        let response = server.http_client().post(&headers, &body);
        let status = response.status;
        let answer = response.json();
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32020)), "{headers:?}: {answer}");
    }
}

#[test]
fn session_headers_are_ignored_when_sessionless() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let session = server.session("2025-11-25");
    for id in ["nobody", session.session_id()] {
        let (mut headers, body) = sessionless_request("tools/list", json!({}));
        headers.extend([("Mcp-Session-Id", id), ("Last-Event-ID", "1-1")]);
        let response = server.http_client().post(&headers, &body);
        assert_eq!((response.status, response.header("mcp-session-id")), (200, None), "{id}");
        assert_eq!(response.json()["result"]["resultType"], "complete", "{id}");
    }
    session.round_trip();
}

#[test]
fn invalid_body_gets_json_rpc_error() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    for (body, code) in [
        (&b"{"[..], -32700),
        (b"", -32700),
        (b"nonsense", -32700),
        (b"\xff\xfe", -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b"{}", -32600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
    ] {
        let response = server.http_client().post_bytes(&[], body);
        let status = response.status;
        let answer = response.json();
        let shown = String::from_utf8_lossy(body);
        assert_eq!(
            (status, &answer["error"]["code"], &answer["id"]),
            (400, &json!(code), &Value::Null),
            "{shown}: {answer}"
        );
    }
    server.sessionless().round_trip();
}

#[test]
fn content_type_and_accept_are_required() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let body = initialize(1).to_string();
    let plain = [("Content-Type", "text/plain"), ("Accept", "application/json, text/event-stream")];
    let refused = server.http_client().send("POST", &plain, body.as_bytes());
    assert_eq!((refused.status, refused.header("content-type")), (415, Some("text/plain; charset=utf-8")));
    for coding in ["gzip", "br, identity"] {
        let refused = server.http_client().post_bytes(&[("Content-Encoding", coding)], body.as_bytes());
        assert_eq!((refused.status, refused.header("accept-encoding")), (415, Some("identity")), "{coding}");
    }
    assert_eq!(server.http_client().post_bytes(&[("Content-Encoding", "Identity")], body.as_bytes()).status, 200);
    for types in ["image/png", "*/*;q=0", "text/html, image/*"] {
        let deaf = [("Content-Type", "application/json"), ("Accept", types)];
        let refused = server.http_client().send("POST", &deaf, body.as_bytes());
        assert_eq!(
            (refused.status, refused.header("content-type")),
            (406, Some("text/plain; charset=utf-8")),
            "{types}"
        );
    }
    let refused = server.http_client().send("GET", &[("Accept", "application/json")], b"");
    assert_eq!((refused.status, refused.header("content-type")), (406, Some("text/plain; charset=utf-8")));
    assert_eq!(server.http_client().send("PUT", &[], body.as_bytes()).status, 405);
    let sessionless_request = [("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Accept", "text/event-stream")];
    for method in ["GET", "DELETE"] {
        assert_eq!(server.http_client().send(method, &sessionless_request, b"").status, 405, "{method}");
    }
}

/// A tool that reports progress and one that asks, beside a slow one.
const REPORTING: &str = r#"folio: 1
server: { name: s }
prompts: { p: { text: Hi } }
tools:
  reports: { description: R, run: [{ progress: { progress: 1, message: half } }, { log: here }], result: { text: done } }
  asks: { description: A, run: [{ id: a, ask: { q: { elicit: { message: Who?, schema: { name: {} } } } } }], result: { text: "{{steps.a.q.name}}" } }
  slow: { description: S, run: { sleep: 500ms }, result: { text: done } }
"#;

#[test]
fn answer_has_a_type_that_the_client_accepts() {
    let folder = TestFolder::with_manifest(REPORTING);
    let server = folder.http();
    let session = server.client_with("2025-11-25", json!({ "elicitation": {} }));
    let in_session = [("Mcp-Session-Id", session.session_id()), ("MCP-Protocol-Version", "2025-11-25")];
    let call = |name: &str| {
        let params = json!({ "name": name, "arguments": {}, "_meta": { "progressToken": 1 } });
        json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params })
    };
    let post = |headers: &[(&str, &str)], accept: Option<&str>, body: &Value| {
        let mut all = vec![("Content-Type", "application/json")];
        all.extend(accept.map(|accept| ("Accept", accept)));
        all.extend_from_slice(headers);
        server.http_client().send("POST", &all, body.to_string().as_bytes())
    };
    let sessionless = |name: &'static str| {
        let (mut headers, mut body) = sessionless_request("tools/call", json!({ "name": name, "arguments": {} }));
        body["params"]["_meta"]["progressToken"] = json!(1);
        body["id"] = json!(5);
        headers.push(("Mcp-Name", name));
        (headers, body)
    };
    for (accept, kind) in [
        (Some("*/*"), None),
        (Some("application/*, TEXT/*;q=0.1"), None),
        (None, None),
        (Some("application/json"), Some("application/json")),
        (Some("text/event-stream;q=0, */*"), Some("application/json")),
        (Some("text/event-stream"), Some("text/event-stream")),
    ] {
        let hello = post(&[], accept, &initialize(5));
        assert!(hello.header("mcp-session-id").is_some(), "{accept:?}: {hello:?}");
        let (headers, body) = sessionless("reports");
        let answers = [hello, post(&in_session, accept, &call("reports")), post(&headers, accept, &body)];
        for answer in answers {
            let content_type = answer.header("content-type").unwrap().to_owned();
            assert!(kind.is_none_or(|kind| content_type == kind), "{accept:?}: {content_type}");
            assert!(answer.answer(&json!(5), |_| {}).get("result").is_some(), "{accept:?}");
        }
    }
    // Who takes no stream is asked nothing, and is sent no changes.
    let refused = post(&in_session, Some("application/json"), &call("asks")).json();
    let words = text_of(&refused["result"]["content"][0]);
    assert!(refused["result"]["isError"] == true && words.contains("does not accept `text/event-stream`"), "{words}");
    let (headers, body) =
        sessionless_request("subscriptions/listen", json!({ "notifications": { "promptsListChanged": true } }));
    let refused = post(&headers, Some("application/json"), &body);
    assert_eq!((refused.status, refused.header("content-type")), (406, Some("application/json")));
    let mut any = in_session.to_vec();
    any.push(("Accept", "*/*"));
    assert_eq!(server.http_client().send("GET", &any, b"").status, 200);
}

/// Sends bytes, closes this side, and reads the rest.
fn send_and_half_close(port: u16, text: &str) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    socket.write_all(text.as_bytes()).unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let mut said = String::new();
    socket.read_to_string(&mut said).unwrap();
    said
}

#[test]
fn client_that_has_closed_its_side_gets_its_response() {
    let folder = TestFolder::with_manifest(REPORTING);
    let server = folder.http();
    let session = server.session("2025-11-25");
    let call = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": { "name": "slow" } });
    let (mut headers, sessionless) = sessionless_request("tools/call", json!({ "name": "slow" }));
    headers.push(("Mcp-Name", "slow"));
    for (headers, body) in [(vec![("Mcp-Session-Id", session.session_id())], call), (headers, sessionless)] {
        let body = body.to_string();
        let head: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n{head}Content-Length: {}\r\n\r\n",
            server.port,
            body.len()
        );
        let said = send_and_half_close(server.port, &(head.clone() + &body));
        assert!(said.starts_with("HTTP/1.1 200") && said.contains("done"), "{said}");
        // Half a body is none.
        let said = send_and_half_close(server.port, &(head + &body[..20]));
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 400"), "{said}");
    }
}

#[test]
fn refusal_reaches_a_client_that_sends_on() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let body = vec![b'x'; 30 << 20];
    for (host, status) in [(format!("127.0.0.1:{}", server.port), 413), ("evil.example".to_owned(), 403)] {
        let mut socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        socket.write_all(head.as_bytes()).unwrap();
        socket.write_all(&body).unwrap();
        let response = HttpResponse::read(socket);
        assert_eq!(response.status, status);
        let text = response.text();
        assert!(status != 413 || text.contains("message exceeds 4 MiB"), "{text}");
    }
}

#[test]
fn missing_or_doubled_host_is_a_bad_request() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let own = format!("Host: 127.0.0.1:{}\r\n", server.port);
    for (version, hosts, status) in [
        ("1.1", String::new(), 400),
        ("1.1", own.repeat(2), 400),
        ("1.1", "Host: a b\r\n".to_owned(), 400),
        ("1.1", own.clone(), 200),
        ("1.0", String::new(), 403),
    ] {
        let said =
            send_and_half_close(server.port, &format!("GET / HTTP/{version}\r\n{hosts}Connection: close\r\n\r\n"));
        assert!(said.split(' ').nth(1) == Some(&status.to_string()), "{version} {hosts:?}: {said}");
    }
}

#[test]
fn body_over_4_mib_is_refused() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let client = server.sessionless();
    let long = "x".repeat(3 << 20);
    assert_eq!(client.call_text("echo", json!({ "text": long })).len(), long.len() + 3);
    let (headers, body) =
        sessionless_request("tools/call", json!({ "name": "echo", "arguments": { "text": "x".repeat(5 << 20) } }));
    assert_eq!(server.http_client().post(&headers, &body).status, 413);
    client.round_trip();
}

#[test]
fn other_paths_name_the_endpoint() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let mut web = server.http_client();
    for (path, status) in [("/", 200), ("/other", 404), ("/mcp/x", 404)] {
        web.path = path.to_owned();
        let response = web.send("GET", &[], b"");
        assert_eq!(response.status, status, "{path}");
        assert!(response.text().contains("/mcp"), "{path}");
    }
}

#[test]
fn probes_need_neither_a_token_nor_a_known_host() {
    let token = "env: { TOKEN: { secret: true } }\nhttp: { token: \"{{env.TOKEN}}\" }\n";
    let folder = TestFolder::with_manifest(&format!("{DESK}{token}"));
    let server = folder.serve_command().env("TOKEN", "open-sesame-4711").http();
    let mut web = server.http_client();
    for path in ["/livez", "/readyz"] {
        web.path = path.to_owned();
        for method in ["GET", "HEAD"] {
            assert_eq!(web.send(method, &[("Host", "10.1.2.3:8080")], b"").status, 200, "{method} {path}");
        }
        assert_eq!(web.send("POST", &[], b"{}").status, 404, "{path}");
    }
    let health = |port: u16| run_folio(folder.path(), &["health", &port.to_string()]);
    assert_eq!(health(server.port).out, "ready\n");
    let port = server.port;
    drop(server);
    let down = health(port);
    assert_eq!(down.code, Some(1), "{down:?}");
    assert!(down.err.starts_with("not ready: "), "{down:?}");
}

#[test]
fn foreign_host_or_origin_is_forbidden() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let port = server.port;
    let (own, local) = (format!("http://127.0.0.1:{port}"), format!("http://localhost:{port}"));
    let near = format!("localhost:{port}");
    for (headers, status) in [
        (vec![("Host", near.as_str())], 200),
        (vec![("Origin", own.as_str())], 200),
        (vec![("Host", near.as_str()), ("Origin", local.as_str())], 200),
        (vec![("Host", "evil.example.com")], 403),
        (vec![("Origin", "http://evil.example.com")], 403),
        (vec![("Origin", "null")], 403),
        (vec![("Host", "evil.example.com"), ("Origin", "http://evil.example.com")], 403),
        (vec![("Origin", "http://127.0.0.1:1")], 403),
    ] {
        let response = server.http_client().post(&headers, &initialize(1));
        assert_eq!(response.status, status, "{headers:?}");
        let list = server.http_client().send("GET", &headers, b"");
        assert_eq!(list.status == 403, status == 403, "GET {headers:?}");
    }
}

#[test]
fn allowed_origin_gets_cors_headers() {
    let folder = TestFolder::with_manifest(&format!("{DESK}http: {{ allowedOrigins: [\"https://desk.example\"] }}\n"));
    let server = folder.http();
    let response = server.http_client().post(&[("Origin", "https://desk.example")], &initialize(1));
    assert_eq!(response.status, 200);
    assert_eq!(response.header("access-control-allow-origin"), Some("https://desk.example"));
    let asked = server.http_client().send("OPTIONS", &[("Origin", "https://desk.example")], b"");
    assert_eq!((asked.status, asked.header("access-control-allow-origin")), (204, Some("https://desk.example")));
    assert_eq!(
        server.http_client().post(&[("Origin", "https://desk.example.evil.example")], &initialize(1)).status,
        403
    );
}

#[test]
fn token_is_required_and_never_leaked() {
    let manifest = format!("{DESK}env: {{ TOKEN: {{ secret: true }} }}\nhttp: {{ token: \"{{{{env.TOKEN}}}}\" }}\n");
    let folder = TestFolder::with_manifest(&manifest);
    let server = folder.serve_command().env("TOKEN", "open-sesame-4711").http();
    let refused = server.http_client().post(&[], &initialize(1));
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    let refused = refused.text();
    let mut web = server.http_client();
    web.token = Some("wrong".to_owned());
    assert_eq!(web.post(&[], &initialize(1)).status, 401);
    web.token = Some("open-sesame-4711".to_owned());
    assert_eq!(web.post(&[], &initialize(1)).status, 200);
    assert!(!server.log.text().contains("sesame") && !refused.contains("sesame"));
}

#[test]
fn token_is_read_only_from_authorization_header() {
    let api = MockApi::start();
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: s }}\nenv: {{ TOKEN: {{ secret: true }} }}\nhttp: {{ token: \"{{{{env.TOKEN}}}}\" }}\n\
         tools:\n  web: {{ description: W, run: {{ http: {{ url: \"{}/v1/weather\", headers: {{ x-api-key: k }} }} }} }}\n",
        api.url()
    ));
    let server = folder.serve_command().env("TOKEN", "open-sesame-4711").http();
    let mut web = server.http_client();
    let (mut headers, body) = sessionless_request("tools/call", json!({ "name": "web" }));
    headers.push(("Mcp-Name", "web"));
    for query in ["access_token", "token"] {
        web.path = format!("/mcp?{query}=open-sesame-4711");
        assert_eq!(web.post(&headers, &body).status, 401, "{query}");
    }
    web.path = "/mcp".to_owned();
    web.token = Some("open-sesame-4711".to_owned());
    assert_eq!(web.post(&headers, &body).status, 200);
    let asked = api.last();
    assert!(asked.headers.iter().all(|(_, value)| !value.contains("sesame")), "{asked:?}");
}

#[test]
fn public_address_needs_token_or_insecure() {
    let folder = TestFolder::with_manifest(DESK);
    let path = folder.path().to_str().unwrap();
    let refused = run_folio(folder.path(), &["serve", path, "--http", "0.0.0.0:0"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("--insecure") && refused.err.contains("token"), "{refused:?}");
    assert_eq!(refused.out, "");
    let server = folder.serve_command().flag("--http=0.0.0.0:0").flag("--insecure").http_as_configured();
    server.sessionless().round_trip();
    let guarded = TestFolder::with_manifest(&format!(
        "{DESK}env: {{ TOKEN: {{ secret: true }} }}\nhttp: {{ token: \"{{{{env.TOKEN}}}}\" }}\n"
    ));
    let server = guarded.serve_command().flag("--http=0.0.0.0:0").env("TOKEN", "open-sesame-4711").http_as_configured();
    assert_eq!(server.http_client().post(&[], &initialize(1)).status, 401);
}

#[test]
fn bare_port_binds_loopback() {
    let folder = TestFolder::with_manifest(DESK);
    for flag in ["--http=:0", "--http=0"] {
        let server = folder.serve_command().flag(flag).http_as_configured();
        let log = server.log.text();
        assert!(log.contains("listening on http://127.0.0.1:"), "{flag}: {log}");
    }
}

#[test]
fn http_flags_override_manifest() {
    let folder = TestFolder::with_manifest(&format!("{DESK}http: {{ listen: \"127.0.0.1:0\", path: /desk }}\n"));
    let server = folder.serve_command().flag("--http").http_as_configured();
    assert!(server.log.text().contains("/desk"), "{}", server.log.text());
    let mut web = server.http_client();
    web.path = "/desk".to_owned();
    assert_eq!(web.post(&[], &initialize(1)).status, 200);
    web.path = "/mcp".to_owned();
    assert_eq!(web.post(&[], &initialize(1)).status, 404);
}

#[test]
fn disconnect_cancels_sessionless_request() {
    let marker = format!("folio-suite-hang-up-{}", std::process::id());
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: slow }}\ntools:\n  wait: {{ description: Waits, run: {{ exec: [sh, -c, \"sleep 60 & wait\", {marker}] }}, timeout: 2m }}\n"
    ));
    let server = folder.http();
    let (mut headers, body) = sessionless_request("tools/call", json!({ "name": "wait" }));
    headers.push(("Mcp-Name", "wait"));
    let body = body.to_string();
    let mut socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let mut head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
        server.port,
        body.len()
    );
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    socket.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
    wait_until("the child", || !processes_with_argument(&marker).is_empty());
    drop(socket);
    wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
    server.sessionless().round_trip();
}

#[test]
fn cancelled_session_request_ends_processes() {
    let marker = format!("folio-suite-web-cancel-{}", std::process::id());
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: slow }}\ntools:\n  wait: {{ description: Waits, run: {{ exec: [sh, -c, \"sleep 60 & wait\", {marker}] }}, timeout: 2m }}\n"
    ));
    let server = folder.http();
    let client = server.session("2025-11-25");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let id = json!(555);
            let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "wait" } });
            let response = server.http_client().post(&[("Mcp-Session-Id", client.session_id())], &body);
            // No answer comes; the stream ends, or the client does.
            drop(response);
        });
        wait_until("the child", || !processes_with_argument(&marker).is_empty());
        client.notify("notifications/cancelled", json!({ "requestId": 555 }));
        wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
        client.round_trip();
        server.http_client().send("DELETE", &[("Mcp-Session-Id", client.session_id())], b"");
    });
}

#[test]
fn changes_reach_session_and_listen_streams() {
    let before = "folio: 1\nserver: { name: s }\nprompts:\n  p: { text: Hi }\ntools:\n  t: { description: T, result: { text: x } }\n";
    let folder = TestFolder::with_manifest(before);
    let server = folder.http();
    let sessions: Vec<TestClient> = SESSION_VERSIONS.iter().map(|version| server.session(version)).collect();
    let _streams: Vec<SseStream> = sessions.iter().map(TestClient::open_stream).collect();
    let sessionless_request = server.sessionless();
    let all = sessionless_request.listen(json!({ "promptsListChanged": true, "toolsListChanged": true }));
    let tools_only = sessionless_request.listen(json!({ "toolsListChanged": true }));
    folder.rename_over("folio.yaml", before.replace("  p:", "  q:"));
    for session in &sessions {
        session.wait_for("notifications/prompts/list_changed");
        assert_eq!(session.names("prompts"), ["q"]);
        session.assert_silent();
    }
    all.wait_for("notifications/prompts/list_changed");
    sessionless_request.round_trip();
    assert_eq!((all.notifications(), tools_only.notifications()), (vec![], vec![]));
}

#[test]
fn notification_goes_to_one_stream_per_session() {
    let before = "folio: 1\nserver: { name: s }\nprompts:\n  p: { text: Hi }\n";
    for version in SESSION_VERSIONS {
        let folder = TestFolder::with_manifest(before);
        let server = folder.http();
        let client = server.session(version);
        let _streams = [client.open_stream(), client.open_stream()];
        folder.rename_over("folio.yaml", before.replace("  p:", "  q:"));
        client.wait_for("notifications/prompts/list_changed");
        client.assert_silent();
    }
}

#[test]
fn partial_and_non_http_requests_delay_nobody() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let mut half = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    half.write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Le").unwrap();
    let mut noise = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    noise.write_all(b"\x16\x03\x01 not http at all\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    noise.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let _ = noise.read_to_end(&mut answer);
    server.sessionless().round_trip();
    server.session("2025-06-18").round_trip();
}

#[test]
fn mirrored_header_must_match_argument() {
    let folder = TestFolder::with_manifest(
        r#"folio: 1
server: { name: s }
tools:
  t:
    description: T
    arguments:
      region: { x-mcp-header: Region }
      count: { type: integer, x-mcp-header: Count }
      where: { type: object, properties: { dry: { type: boolean, x-mcp-header: Dry-Run } } }
    result: { text: "in {{region}}" }
"#,
    );
    let server = folder.http();
    let arguments = json!({ "region": "n\u{f6}rd", "count": 3, "where": { "dry": true } });
    let (mut headers, body) = sessionless_request("tools/call", json!({ "name": "t", "arguments": arguments }));
    headers.push(("Mcp-Name", "t"));
    let region = ("mcp-param-region", "=?base64?bsO2cmQ=?=");
    let all = [region, ("Mcp-Param-Count", "3"), ("Mcp-Param-Dry-Run", "true")];
    let cases: [(&[(&str, &str)], bool); 6] = [
        (&all, true),
        (&[region, all[1]], false),
        (&[all[0], all[1], ("Mcp-Param-Dry-Run", "false")], false),
        (&[("Mcp-Param-Region", "south"), all[1], all[2]], false),
        (&[region, all[1], all[2], ("Mcp-Param-Count", "3")], false),
        (&[], false),
    ];
    for (mirrored, right) in cases {
        let mut headers = headers.clone();
        headers.extend(mirrored);
        let response = server.http_client().post(&headers, &body);
        let status = response.status;
        let answer = response.answer(&json!(1), |_| {});
        if right {
            assert_eq!(text_of(&answer["result"]["content"][0]), "in n\u{f6}rd");
        } else {
            assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32020)), "{mirrored:?}: {answer}");
        }
    }
    let status = |arguments: Value, mirrored: &[(&str, &str)]| {
        let (mut headers, body) = sessionless_request("tools/call", json!({ "name": "t", "arguments": arguments }));
        headers.push(("Mcp-Name", "t"));
        headers.extend(mirrored);
        server.http_client().post(&headers, &body).status
    };
    assert_eq!(status(json!({ "region": null }), &[]), 200);
    assert_eq!(status(json!({ "region": null }), &[("Mcp-Param-Region", "north")]), 400);
    assert_eq!(status(json!({ "region": " padded " }), &[("Mcp-Param-Region", "=?base64?IHBhZGRlZCA=?=")]), 200);
    assert_eq!(status(json!({ "region": " padded " }), &[("Mcp-Param-Region", "padded")]), 400);
    assert_eq!(
        status(json!({ "region": "=?base64?x?=" }), &[("Mcp-Param-Region", "=?base64?PT9iYXNlNjQ/eD89?=")]),
        200
    );
    assert_eq!(status(json!({ "count": 3 }), &[("Mcp-Param-Count", "3"), ("Mcp-Param-Of-Others", "x")]), 200);
    // What is not given is not repeated, and a session repeats nothing.
    let (mut headers, body) = sessionless_request("tools/call", json!({ "name": "t", "arguments": {} }));
    headers.push(("Mcp-Name", "t"));
    assert_eq!(server.http_client().post(&headers, &body).status, 200);
    headers.push(("Mcp-Param-Region", "north"));
    assert_eq!(server.http_client().post(&headers, &body).status, 400);
    assert_eq!(server.session("2025-11-25").call_text("t", json!({ "region": "south" })), "in south");
}

#[test]
fn unknown_version_header_is_refused_in_session() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    for version in SESSION_VERSIONS {
        let client = server.session(version);
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let session = ("Mcp-Session-Id", client.session_id());
        for unknown in ["2099-01-01", "nonsense"] {
            let response = server.http_client().post(&[session, ("MCP-Protocol-Version", unknown)], &ping);
            assert_eq!(response.status, 400, "{unknown} in {version}");
        }
        assert_eq!(server.http_client().post(&[session], &ping).status, 200, "without one it is an older client");
    }
}

#[test]
fn unknown_version_header_is_refused_without_session() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let client = json!({ "name": "a", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string();
    for unknown in ["1999-01-01", "2099-01-01", "nonsense"] {
        let version = ("MCP-Protocol-Version", unknown);
        let response = server.http_client().post_bytes(&[version], initialize.as_bytes());
        assert_eq!((response.status, response.header("mcp-session-id")), (400, None), "{unknown}");
        let batch = server.http_client().post_bytes(&[version], format!("[{initialize}]").as_bytes());
        assert_eq!(batch.text(), format!("Bad Request: Unsupported MCP-Protocol-Version: {unknown}"));
        for method in ["GET", "DELETE"] {
            let response = server.http_client().send(method, &[version, ("Accept", "text/event-stream")], b"");
            assert_eq!(response.status, 400, "{method} {unknown}");
        }
    }
}

#[test]
fn version_header_that_is_no_text_is_refused() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    for method in ["GET", "POST", "DELETE"] {
        let headers = [("MCP-Protocol-Version", "\u{e9}"), ("Accept", "application/json, text/event-stream")];
        let response = server.http_client().send(method, &headers, b"{}");
        assert_eq!(response.status, 400, "{method}");
        assert_eq!(response.text(), "Bad Request: invalid MCP-Protocol-Version");
    }
}

#[test]
fn request_that_names_the_version_of_its_session_is_of_the_session() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    for version in SESSION_VERSIONS {
        let client = server.session(version);
        let (_, mut body) = sessionless_request("tools/list", json!({}));
        body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
        let headers = [("Mcp-Session-Id", client.session_id()), ("MCP-Protocol-Version", version)];
        let answer = server.http_client().post(&headers, &body).answer(&json!(1), |_| {});
        assert!(answer["result"]["tools"].is_array(), "{version}: {answer}");
    }
}

#[test]
fn initialize_with_sessionless_meta_begins_no_session() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let client = json!({ "name": "a", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let (_, body) = sessionless_request("initialize", params);
    let response = server.http_client().post(&[], &body);
    assert_eq!((response.status, response.header("mcp-session-id")), (400, None));
    assert_eq!(response.json()["error"]["code"], -32020);
}

#[test]
fn disconnect_does_not_cancel_session_request() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  t: { description: T, run: { exec: [sh, -c, \"touch began; while ! [ -e gate ]; do sleep 0.02; done; touch ended\"] } }\n",
    );
    let server = folder.http();
    for version in SESSION_VERSIONS {
        let client = server.session(version);
        assert_disconnect_does_not_cancel(&folder, &server, &client);
        for file in ["began", "gate", "ended"] {
            folder.remove(file);
        }
    }
}

fn assert_disconnect_does_not_cancel(folder: &TestFolder, server: &TestServer, client: &TestClient) {
    let body = json!({ "jsonrpc": "2.0", "id": 777, "method": "tools/call", "params": { "name": "t" } }).to_string();
    let mut socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: {}\r\nContent-Length: {}\r\n\r\n",
        server.port,
        client.session_id(),
        body.len()
    );
    socket.write_all(format!("{head}{body}").as_bytes()).unwrap();
    wait_until("the call", || folder.join("began").exists());
    drop(socket);
    client.round_trip();
    folder.write("gate", "");
    wait_until("the end of the call", || folder.join("ended").exists());
}

#[test]
fn concurrent_requests_get_their_own_answers() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let clients = [server.session("2025-03-26"), server.session("2025-11-25"), server.sessionless()];
    std::thread::scope(|scope| {
        for number in 0..12 {
            let client = &clients[number % clients.len()];
            scope.spawn(move || {
                for round in 0..10 {
                    let text = format!("{number}-{round}");
                    assert_eq!(client.call_text("shout", json!({ "text": text })), format!("{text}!"));
                }
            });
        }
    });
}

#[test]
fn keep_alive_and_chunked_bodies_work() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let mut socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let (headers, body) = sessionless_request("tools/list", json!({}));
    let body = body.to_string();
    let (one, other) = body.split_at(20);
    let mut head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n",
        server.port
    );
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    for round in 0..3 {
        let request = if round == 1 {
            format!(
                "{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{one}\r\n{:x}\r\n{other}\r\n0\r\n\r\n",
                one.len(),
                other.len()
            )
        } else {
            format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
        };
        socket.write_all(request.as_bytes()).unwrap();
        let response = HttpResponse::read(socket.try_clone().unwrap());
        assert_eq!(response.status, 200);
        assert_eq!(response.json()["result"]["tools"][0]["name"], "echo", "round {round}");
    }
}

//! `http.drain`: calls end before the server does.

use std::io::Write;

use serde_json::json;

use crate::harness::*;

const DESK: &str = r#"
folio: 1
server: { name: desk }
http: { drain: { delay: 1s, timeout: 6s } }
tools:
  slow: { run: { sleep: 2500ms }, result: { text: done } }
  endless: { run: { sleep: 60s }, timeout: 2m, result: { text: done } }
"#;

fn ready_status(server: &TestServer) -> u16 {
    HttpClient { path: "/readyz".to_owned(), ..server.http_client() }.send("GET", &[], b"").status
}

/// Whether the server takes a connection.
fn takes_requests(server: &TestServer) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", server.port)).is_ok()
}

#[test]
fn calls_are_answered_and_requests_taken_until_balancers_know() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    for client in [server.session("2025-11-25"), server.sessionless()] {
        client.round_trip();
    }
    let (in_session, sessionless) = (server.session("2025-11-25"), server.sessionless());
    let calls = [&in_session, &sessionless].map(|client| (client, client.start_call("slow", json!({}))));
    let listening = server.http_client();
    let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": sessionless_meta() });
    let headers = [("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", "subscriptions/listen")];
    let stream = listening
        .post(&headers, &json!({ "jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": params }));
    server.signal("TERM");
    wait_until("it is not ready at once", || ready_status(&server) == 503);
    assert_eq!(
        server.sessionless().result("tools/list", json!({}))["tools"].as_array().unwrap().len(),
        2,
        "it still answers"
    );
    wait_until("it takes nothing new", || !takes_requests(&server));
    assert!(stream.text().contains("\"id\":9,\"result\""), "a stream ends with its result");
    for (client, id) in calls {
        let answer = client.wait_for_answer(id);
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    }
    assert_eq!(server.wait_for_exit(TEST_TIMEOUT).unwrap().code(), Some(0));
}

#[test]
fn request_that_arrives_slowly_is_answered() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let params = json!({ "name": "slow", "_meta": sessionless_meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params }).to_string();
    let mut socket = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {SESSIONLESS_VERSION}\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: slow\r\nContent-Length: {}\r\n\r\n{}",
        server.port,
        body.len(),
        &body[..20]
    );
    socket.write_all(head.as_bytes()).unwrap();
    // What is sent later is answered, so its head has arrived.
    server.sessionless().round_trip();
    server.signal("TERM");
    wait_until("it takes nothing new", || !takes_requests(&server));
    socket.write_all(&body.as_bytes()[20..]).unwrap();
    let response = HttpResponse::read(socket);
    assert_eq!((response.status, response.header("connection")), (200, Some("close")));
    assert!(response.text().contains("done"));
    assert_eq!(server.wait_for_exit(TEST_TIMEOUT).unwrap().code(), Some(0));
}

#[test]
fn calls_that_do_not_end_are_cancelled_with_an_answer() {
    for by_second_signal in [false, true] {
        let manifest = if by_second_signal {
            DESK.replace("timeout: 6s", "timeout: 50s")
        } else {
            DESK.replace("timeout: 6s", "timeout: 500ms")
        };
        let folder = TestFolder::with_manifest(&manifest);
        let server = folder.http();
        let client = server.sessionless();
        let id = client.start_call("endless", json!({}));
        client.round_trip();
        server.signal("TERM");
        wait_until("it takes nothing new", || !takes_requests(&server));
        if by_second_signal {
            assert!(server.is_alive(), "it waits for the call");
            server.signal("TERM");
        }
        let answer = client.wait_for_answer(id);
        assert_eq!(answer["error"]["message"], "the server is stopping: the call was cancelled", "{answer}");
        assert_eq!(server.wait_for_exit(TEST_TIMEOUT).unwrap().code(), Some(0));
    }
}

#[test]
fn service_manager_is_told_of_the_start_and_the_end() {
    let folder = TestFolder::with_manifest(DESK);
    let path = folder.join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let next = || {
        let mut state = [0; 64];
        let length = socket.recv(&mut state).unwrap();
        String::from_utf8_lossy(&state[..length]).into_owned()
    };
    let server = folder.serve_command().env("NOTIFY_SOCKET", path.to_str().unwrap()).http();
    assert_eq!(next(), "READY=1");
    server.session("2025-11-25").round_trip();
    server.signal("TERM");
    assert_eq!(next(), "STOPPING=1");
}

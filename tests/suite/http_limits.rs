//! `http.limits` and `http.trustedProxies`: how much callers may have under way, and how often they may ask.

use std::net::TcpStream;

use serde_json::{Value, json};

use crate::harness::*;

const CALLERS: [&str; 3] = ["ada", "bob", "eve"];

/// A server for three callers, each with the token `NAME-token-4711`, with these limits.
fn manifest(limits: &str) -> String {
    let tokens = CALLERS.map(|name| {
        let digest = ring::digest::digest(&ring::digest::SHA256, token(name).as_bytes());
        let digest: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{name}: {{ sha256: '{digest}' }}")
    });
    format!(
        r#"folio: 1
server: {{ name: limited }}
http: {{ auth: {{ tokens: {{ {} }} }}, limits: {limits} }}
prompts: {{ greet: {{ text: Hello. }} }}
tools:
  hold:
    arguments: {{ id: {{}} }}
    run: {{ exec: [sh, -c, 'touch "held-$1"; while [ ! -e "free-$1" ]; do sleep 0.02; done', sh, "{{{{id}}}}"] }}
    result: {{ text: "held {{{{id}}}}" }}
"#,
        tokens.join(", ")
    )
}

fn token(name: &str) -> String {
    format!("{name}-token-4711")
}

fn client(server: &TestServer, name: &str) -> HttpClient {
    HttpClient { token: Some(token(name)), ..server.http_client() }
}

fn head(method: &str) -> [(&str, &str); 2] {
    [("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", method)]
}

fn message(method: &str, mut params: Value) -> Value {
    params["_meta"] = sessionless_meta();
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

/// Lists prompts.
fn list(client: &HttpClient) -> HttpResponse {
    client.post(&head("prompts/list"), &message("prompts/list", json!({})))
}

fn begin_session(client: &HttpClient, version: &str) -> String {
    let params =
        json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
    let response = client.post(&[], &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    assert_eq!(response.status, 200);
    response.header("mcp-session-id").unwrap().to_owned()
}

/// Calls that run until they are freed.
struct Held<'f> {
    folder: &'f TestFolder,
    waiting: Vec<(String, TcpStream)>,
}

impl<'f> Held<'f> {
    fn new(folder: &'f TestFolder) -> Held<'f> {
        Held { folder, waiting: Vec::new() }
    }

    /// Starts one, and returns once it runs.
    fn start(&mut self, client: &HttpClient, session: Option<&str>) {
        let id = self.waiting.len().to_string();
        let params = json!({ "name": "hold", "arguments": { "id": id } });
        let stream = match session {
            Some(session) => client.start_post(
                &[("Mcp-Session-Id", session)],
                &json!({ "jsonrpc": "2.0", "id": format!("h{id}"), "method": "tools/call", "params": params }),
            ),
            None => {
                let [version, method] = head("tools/call");
                client.start_post(&[version, method, ("Mcp-Name", "hold")], &message("tools/call", params))
            }
        };
        wait_until("the call runs", || self.folder.join(&format!("held-{id}")).exists());
        self.waiting.push((id, stream));
    }

    /// Ends them all, and returns once they are answered.
    fn free(self) {
        for (id, _) in &self.waiting {
            self.folder.write(&format!("free-{id}"), "");
        }
        for (id, stream) in self.waiting {
            let text = HttpResponse::read(stream).text();
            assert!(text.contains(&format!("held {id}")), "{text}");
        }
    }
}

/// Asserts that a request is refused with this status, in words, and returns after how many seconds it may come again.
fn refusal(response: HttpResponse, status: u16, words: &str) -> u64 {
    assert_eq!(response.status, status);
    let seconds = response.header("retry-after").unwrap().parse().unwrap();
    let text = response.text();
    assert!(text.contains(words), "{text}");
    seconds
}

#[test]
fn no_caller_has_more_than_half_of_the_requests_in_flight() {
    let folder = TestFolder::with_manifest(&manifest("{ inFlight: 4 }"));
    let server = folder.http();
    let [ada, bob, eve] = CALLERS.map(|name| client(&server, name));
    let session = begin_session(&ada, "2025-11-25");
    let mut held = Held::new(&folder);
    held.start(&ada, None);
    held.start(&ada, Some(&session));
    assert_eq!(refusal(list(&ada), 429, "too many requests in flight of one caller"), 1);
    let ping = json!({ "jsonrpc": "2.0", "id": 8, "method": "ping" });
    let refused = ada.post(&[("Mcp-Session-Id", &session)], &ping);
    refusal(refused, 429, "\"id\":8");
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(ada.post(&[("Mcp-Session-Id", &session)], &initialized).status, 202, "it asks nothing");
    assert_eq!(list(&bob).status, 200);
    held.start(&bob, None);
    held.start(&bob, None);
    refusal(list(&eve), 503, "too many requests in flight at the moment");
    held.free();
    for client in [&ada, &bob, &eve] {
        assert_eq!(list(client).status, 200, "what is answered leaves its place");
    }
    // A call of a client that leaves is cancelled.
    let mut left = Held::new(&folder);
    for id in ["free-0", "free-1", "held-0", "held-1"] {
        folder.remove(id);
    }
    left.start(&ada, None);
    left.start(&ada, None);
    drop(left);
    wait_until("its place is free", || list(&ada).status == 200);
}

#[test]
fn no_caller_has_more_than_half_of_the_streams() {
    let folder = TestFolder::with_manifest(&manifest("{ streams: 2 }"));
    let server = folder.http();
    let [ada, bob, eve] = CALLERS.map(|name| client(&server, name));
    let listen = message("subscriptions/listen", json!({ "notifications": { "promptsListChanged": true } }));
    let stream = ada.post(&head("subscriptions/listen"), &listen);
    assert_eq!(stream.status, 200);
    refusal(ada.post(&head("subscriptions/listen"), &listen), 429, "too many streams of one caller");
    let get = |client: &HttpClient| {
        let session = begin_session(client, "2025-11-25");
        client.send("GET", &[("Mcp-Session-Id", session.as_str()), ("Accept", "text/event-stream")], b"")
    };
    refusal(get(&ada), 429, "too many streams of one caller");
    let of_bob = get(&bob);
    assert_eq!(of_bob.status, 200);
    refusal(get(&eve), 503, "too many streams at the moment");
    refusal(eve.post(&head("subscriptions/listen"), &listen), 503, "too many streams at the moment");
    drop(of_bob);
    drop(stream);
    // Each keeps its place: one that is given back is not free at once.
    let mut streams = Vec::new();
    for client in [&ada, &eve] {
        wait_until("the place is free", || {
            let stream = client.post(&head("subscriptions/listen"), &listen);
            let is_open = stream.status == 200;
            streams.extend(is_open.then_some(stream));
            is_open
        });
    }
    assert_eq!(list(&ada).status, 200);
}

#[test]
fn some_connections_are_of_no_stream() {
    let folder = TestFolder::with_manifest(&manifest("{ connections: 16 }"));
    let server = folder.http();
    let [ada, bob, _] = CALLERS.map(|name| client(&server, name));
    let listen = message("subscriptions/listen", json!({ "notifications": { "promptsListChanged": true } }));
    let open = || ada.post(&head("subscriptions/listen"), &listen);
    let mut streams: Vec<HttpResponse> = (0..14).map(|_| open()).collect();
    assert!(streams.iter().all(|stream| stream.status == 200));
    refusal(open(), 503, "too many streams at the moment");
    refusal(list(&bob), 503, "too many requests in flight at the moment");
    let probe = HttpClient { path: "/livez".to_owned(), ..server.http_client() };
    assert_eq!(probe.send("GET", &[], b"").status, 200);
    streams.pop();
    wait_until("the place is free", || list(&bob).status == 200);
}

#[test]
fn each_caller_may_send_so_many_requests() {
    let folder = TestFolder::with_manifest(&manifest("{ perCaller: { calls: 6, per: 1h } }"));
    let server = folder.http();
    let [ada, bob, _] = CALLERS.map(|name| client(&server, name));
    let sessions = ["2025-03-26", "2025-11-25"].map(|version| begin_session(&ada, version));
    assert_eq!(list(&ada).status, 200);
    let pings: Vec<Value> = (20..23).map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).collect();
    let batch = |count: usize| {
        let pings = &pings[..count];
        ada.post(&[("Mcp-Session-Id", &sessions[0])], &json!(pings))
    };
    assert_eq!(batch(2).status, 200);
    refusal(batch(2), 429, "too many requests of one caller");
    assert_eq!(batch(1).status, 200, "the sixth");
    let seconds = refusal(list(&ada), 429, "too many requests of one caller; try again in");
    assert!((500..=600).contains(&seconds), "a sixth of an hour: {seconds}");
    refusal(ada.post(&[("Mcp-Session-Id", &sessions[1])], &pings[0]), 429, "too many requests");
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(ada.post(&[("Mcp-Session-Id", &sessions[1])], &initialized).status, 202);
    assert_eq!(list(&bob).status, 200);
    for (limits, status) in [("{}", 200), ("{ perCaller: { calls: 6, per: 1h } }", 429)] {
        let mark = server.log.line_count();
        folder.write("folio.yaml", manifest(limits));
        server.log.wait_for_reload(mark);
        assert_eq!(list(&ada).status, status, "a reload changes the limit, and forgives nothing");
    }
}

/// A call in a session that runs until it is freed.
fn held_call(client: &HttpClient, session: &str, id: &str) -> TcpStream {
    let params = json!({ "name": "hold", "arguments": { "id": id } });
    client.start_post(
        &[("Mcp-Session-Id", session)],
        &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }),
    )
}

#[test]
fn sessions_of_a_known_caller_count_together() {
    let folder =
        TestFolder::with_manifest(&(manifest("{}").replace("limited }", "limited, limits: { programs: 2 } }")));
    let server = folder.http();
    let [ada, bob, _] = CALLERS.map(|name| client(&server, name));
    let sessions = [&ada, &ada, &bob].map(|client| begin_session(client, "2025-11-25"));
    let has_begun = |id: &str| folder.join(&format!("held-{id}")).exists();
    let mut calls = vec![held_call(&ada, &sessions[0], "a")];
    wait_until("the first call runs", || has_begun("a"));
    calls.push(held_call(&ada, &sessions[1], "b"));
    // What is sent behind it is answered, so it has arrived.
    let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
    assert_eq!(ada.post(&[("Mcp-Session-Id", &sessions[1])], &ping).status, 200);
    calls.push(held_call(&bob, &sessions[2], "c"));
    wait_until("the call of the other runs", || has_begun("c"));
    assert!(!has_begun("b"), "its caller has half of two programs already");
    folder.write("free-a", "");
    wait_until("the second call runs", || has_begun("b"));
    folder.write("free-b", "");
    folder.write("free-c", "");
    for call in calls {
        assert!(HttpResponse::read(call).text().contains("held"));
    }
}

#[test]
fn known_caller_has_at_most_half_of_the_sessions() {
    let folder = TestFolder::with_manifest(&manifest("{}").replace("http: { ", "http: { maxSessions: 4, "));
    let server = folder.http();
    let [ada, bob, _] = CALLERS.map(|name| client(&server, name));
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } } });
    let hold = |client: &HttpClient| {
        let id = begin_session(client, "2025-11-25");
        let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(client.post(&[("Mcp-Session-Id", &id)], &begun).status, 202);
        client.send("GET", &[("Mcp-Session-Id", id.as_str()), ("Accept", "text/event-stream")], b"")
    };
    let held = [hold(&ada), hold(&ada)];
    assert_eq!(ada.post(&[], &initialize).status, 503);
    let of_bob = [hold(&bob), hold(&bob)];
    drop((held, of_bob));
}

#[test]
fn known_caller_has_one_budget() {
    let limits = "limited, limits: { callsPerSecond: 1 } }";
    let folder = TestFolder::with_manifest(&manifest("{}").replace("limited }", limits));
    folder.write("free-x", "");
    let server = folder.http();
    let [ada, bob, _] = CALLERS.map(|name| client(&server, name));
    let session = begin_session(&ada, "2025-11-25");
    let params = json!({ "name": "hold", "arguments": { "id": "x" } });
    let call = |client: &HttpClient, session: Option<&str>| match session {
        Some(id) => client
            .post(
                &[("Mcp-Session-Id", id)],
                &json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }),
            )
            .text(),
        None => {
            let [version, method] = head("tools/call");
            client.post(&[version, method, ("Mcp-Name", "hold")], &message("tools/call", params.clone())).text()
        }
    };
    // Ten seconds are saved up; more are earned while this runs.
    let called = (0..40).take_while(|_| call(&ada, None).contains("held x")).count();
    assert!((10..40).contains(&called), "{called}");
    assert!(call(&ada, Some(&session)).contains("too many requests"));
    assert!(call(&bob, None).contains("held x"));
}

#[test]
fn requests_of_httpsse_are_limited_too() {
    let manifest = "folio: 1\nserver: { name: s }\nhttp: { sse: true, limits: { streams: 4, perCaller: { calls: 3, per: 1h } } }\n\
                    prompts: { greet: { text: Hello. } }\n";
    let folder = TestFolder::with_manifest(manifest);
    let server = folder.http();
    let client = server.sse_client("2024-11-05");
    assert!(client.request("ping", json!({}))["error"].is_null());
    let get = || HttpClient { path: "/sse".to_owned(), ..server.http_client() }.send("GET", &[], b"");
    let stream = get();
    assert_eq!(stream.status, 200);
    refusal(get(), 429, "too many streams of one caller");
    let ping = |id: i64| client.http_client().post(&[], &json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
    assert_eq!(ping(20).status, 202, "the third");
    refusal(ping(21), 429, "too many requests of one caller");
}

#[test]
fn address_behind_a_proxy_is_that_of_its_client() {
    let manifest = |trusted: &str| {
        format!(
            "folio: 1\nserver: {{ name: s }}\nprompts: {{ greet: {{ text: Hello. }} }}\naudit: {{ file: audit.jsonl }}\n\
             http: {{ {trusted} limits: {{ perCaller: {{ calls: 2, per: 1h }} }} }}\n"
        )
    };
    let folder = TestFolder::with_manifest(&manifest("trustedProxies: [127.0.0.1, 10.0.0.0/8],"));
    let server = folder.http();
    let status = |forwarded: &str| {
        let [version, method] = head("prompts/list");
        let headers = [version, method, ("X-Forwarded-For", forwarded)];
        server.http_client().post(&headers, &message("prompts/list", json!({}))).status
    };
    assert_eq!([status("203.0.113.9"), status("192.0.2.1, 203.0.113.9, 10.0.0.7")], [200, 200]);
    assert_eq!(status("192.0.2.2, 203.0.113.9"), 429, "what a client writes itself changes nothing");
    assert_eq!(status("203.0.113.10"), 200);
    let mut recorded = String::new();
    wait_until("a line for each request", || {
        recorded = std::fs::read_to_string(folder.join("audit.jsonl")).unwrap_or_default();
        recorded.lines().count() == 4
    });
    for (address, count) in [("203.0.113.9", 3), ("203.0.113.10", 1), ("192.0.2.1", 0), ("127.0.0.1", 0)] {
        assert_eq!(recorded.matches(&format!("\"address\":\"{address}\"")).count(), count, "{address}: {recorded}");
    }
    let folder = TestFolder::with_manifest(&manifest(""));
    let server = folder.http();
    let status = |forwarded: &str| {
        let [version, method] = head("prompts/list");
        let headers = [version, method, ("X-Forwarded-For", forwarded)];
        server.http_client().post(&headers, &message("prompts/list", json!({}))).status
    };
    assert_eq!([status("203.0.113.9"), status("203.0.113.10"), status("203.0.113.11")], [200, 200, 429]);
}

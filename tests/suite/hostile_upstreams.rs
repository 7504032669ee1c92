//! Issuers of tokens, APIs and their answers that do what none should: nothing of one connection reaches another, and the
//! server answers on.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustls::{ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::harness::*;
use crate::tls::Authority;
use crate::upstream_server::{RecordedRequest, Reply, Upstream};

/// An issuer, at `/token`, of the token that is in the query of its URL, and an API that says `said`.
fn issuer(said: &'static str) -> Upstream {
    Upstream::start(move |request, _| match request.target.split_once('=') {
        Some((_, token)) if request.target.starts_with("/token?") => {
            Reply::json(200, &json!({ "access_token": token, "expires_in": 3600 }))
        }
        _ => Reply::with_headers(200, &[], said),
    })
}

/// A tool that requests `target` of `api` with the token `token`.
fn authorized(api: &Upstream, target: &str, token: &str) -> Value {
    let url = api.url();
    let oauth2 =
        json!({ "tokenUrl": format!("{url}/token?t={token}"), "clientId": "me", "clientSecret": "secret-4711" });
    tool(json!({ "url": format!("{url}{target}"), "auth": { "oauth2": oauth2 } }))
}

fn tool(http: Value) -> Value {
    json!({ "description": "T", "arguments": { "v": {} }, "run": { "http": http } })
}

fn manifest(keys: Value) -> String {
    let mut all = json!({ "folio": 1, "server": { "name": "up", "limits": { "callsPerSecond": 1_000_000 } } });
    all.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    all.to_string()
}

fn text(result: &Value) -> String {
    text_of(&result["content"][0])
}

fn token_requests(api: &Upstream) -> usize {
    api.targets().iter().filter(|target| target.starts_with("POST /token")).count()
}

/// A server that requires a client certificate, issues tokens, and records the first lines of requests.
fn tls_issuer(authority: &Authority) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let config = Arc::new(authority.issue("127.0.0.1").server_config(Some(authority)));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, recorded) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
    let lines = recorded.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut tls = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
            let mut buffer = [0; 4096];
            let Ok(count) = tls.read(&mut buffer) else { continue };
            let head = String::from_utf8_lossy(&buffer[..count]).into_owned();
            lines.lock().unwrap().push(head.lines().next().unwrap_or_default().to_owned());
            let body = r#"{"access_token":"token-0123456789"}"#;
            let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = tls.write_all((head + body).as_bytes());
            tls.conn.send_close_notify();
            let _ = tls.conn.complete_io(&mut tls.sock);
        }
    });
    (address, recorded)
}

#[test]
fn client_certificates_share_no_access_token() {
    let authority = Authority::new();
    let (address, recorded) = tls_issuer(&authority);
    let (mut connections, mut tools) = (json!({}), json!({}));
    let folder = TestFolder::with_manifest("folio: 1");
    folder.write("ca.pem", &authority.pem);
    for name in ["alice", "bob"] {
        let identity = authority.issue(name);
        folder.write(&format!("{name}.pem"), &identity.certificate);
        folder.write(&format!("{name}.key"), &identity.key);
        let oauth2 = json!({ "tokenUrl": format!("https://{address}/token"), "clientId": "a", "clientSecret": "b" });
        connections[name] = json!({
            "url": format!("https://{address}"),
            "tls": { "ca": "ca.pem", "clientCert": format!("{name}.pem"), "clientKey": format!("{name}.key") },
            "auth": { "oauth2": oauth2 },
        });
        tools[name] = tool(json!({ "use": name, "url": "/x" }));
    }
    folder.write("folio.yaml", manifest(json!({ "connections": connections, "tools": tools })));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for name in ["alice", "bob", "alice", "bob"] {
        let result = client.call(name, json!({}));
        assert_eq!(result["isError"], false, "{result}");
    }
    let recorded = recorded.lock().unwrap();
    assert_eq!(recorded.iter().filter(|line| line.starts_with("POST /token")).count(), 2, "{recorded:?}");
}

/// A server of two packs, whose tools are `own` and `guest`.
fn two_packs(own: Value, guest: Value) -> (TestFolder, TestServer) {
    let packs = json!({ "guest": { "path": "./guest", "allow": ["http"] } });
    let guest = json!({ "folio": 1, "server": { "name": "guest" }, "tools": guest }).to_string();
    let folder = TestFolder::new(&[
        ("folio.yaml", &manifest(json!({ "packs": packs, "tools": own }))),
        ("guest/folio.yaml", &guest),
    ]);
    let server = folder.stdio();
    (folder, server)
}

#[test]
fn packs_share_no_access_token() {
    let api = issuer("said");
    let tools = || json!({ "t": authorized(&api, "/x", "token-0123456789") });
    let (_folder, server) = two_packs(tools(), tools());
    let client = server.client(SESSION_VERSIONS[3]);
    for name in ["t", "guest-t", "t", "guest-t"] {
        assert_eq!(client.call_text(name, json!({})), "said");
    }
    assert_eq!(token_requests(&api), 2, "{:?}", api.targets());
}

#[test]
fn token_of_a_pack_changes_no_response_of_another() {
    let api = issuer("documentation_url and username_of_x");
    let own = json!({ "t": tool(json!({ "url": format!("{}/x", api.url()) })) });
    let (_folder, server) = two_packs(own, json!({ "t": authorized(&api, "/x", "documentation_url") }));
    let client = server.client(SESSION_VERSIONS[3]);
    assert_eq!(client.call_text("guest-t", json!({})), "[secret] and username_of_x");
    assert_eq!(client.call_text("t", json!({})), "documentation_url and username_of_x");
}

#[test]
fn common_word_as_token_changes_no_other_response() {
    let api = issuer(r#"{"status": "username"}"#);
    let tools = json!({
        "status": authorized(&api, "/x", "status"),
        "username": authorized(&api, "/x", "username"),
        "long": authorized(&api, "/x", "0123456789abcdef"),
        "plain": tool(json!({ "url": format!("{}/x", api.url()) })),
    });
    let folder = TestFolder::with_manifest(&manifest(json!({ "tools": tools })));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let refused = client.call("status", json!({}));
    assert!(text(&refused).contains("`access_token` has fewer than 8 characters"), "{refused}");
    assert_eq!(client.call_text("username", json!({})), r#"{"status": "[secret]"}"#);
    for other in ["plain", "long"] {
        assert_eq!(client.call_text(other, json!({})), r#"{"status": "username"}"#, "{other}");
    }
}

#[test]
fn error_of_token_endpoint_shows_no_live_token() {
    let api = Upstream::start(|request, _| match request.target.as_str() {
        "/token" if TOKENS.lock().unwrap().insert(request.header("host").unwrap().to_owned()) => {
            Reply::json(200, &json!({ "access_token": "live-token-0123456789" }))
        }
        "/token" => {
            let said = "in use: live-token-0123456789 \u{1b}[31mred, or new-token-0123456789";
            let body = json!({ "error": "busy", "error_description": said, "access_token": "new-token-0123456789" });
            Reply::json(400, &body)
        }
        _ => Reply::json(401, &json!({})),
    });
    let url = api.url();
    let oauth2 = json!({ "tokenUrl": format!("{url}/token"), "clientId": "me", "clientSecret": "secret-4711" });
    let tools = json!({ "t": tool(json!({ "url": url, "auth": { "oauth2": oauth2 } })) });
    let folder = TestFolder::with_manifest(&manifest(json!({ "tools": tools })));
    let server = folder.serve_command().flag("--log-level=debug").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let result = client.call("t", json!({}));
    assert!(text(&result).contains("busy: in use: [secret] red, or [secret]"), "{result}");
    assert!(!server.log.text().contains("token-0123456789"), "{}", server.log.text());
}

/// The issuers that gave a token.
static TOKENS: Mutex<std::collections::BTreeSet<String>> = Mutex::new(std::collections::BTreeSet::new());

/// An API whose tokens are numbered, and which repeats the first.
fn numbered_tokens(request: &RecordedRequest, number: usize) -> Reply {
    match request.target.as_str() {
        "/token" => Reply::persistent(&json!({ "access_token": format!("token-{:010}", number / 2) })),
        _ => Reply::persistent(&json!({ "you": "token-0000000000" })),
    }
}

fn scoped(api: &Upstream) -> Value {
    let url = api.url();
    let oauth2 = json!({
        "tokenUrl": format!("{url}/token"), "clientId": "me", "clientSecret": "secret-4711",
        "scopes": ["read", "{{v}}"],
    });
    tool(json!({ "url": url, "auth": { "oauth2": oauth2 } }))
}

#[test]
fn values_that_make_tokens_are_bounded() {
    let api = Upstream::start(numbered_tokens);
    let folder = TestFolder::with_manifest(&manifest(json!({ "tools": { "t": scoped(&api) } })));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for number in 0..256 {
        let said = client.call_text("t", json!({ "v": format!("s{number}") }));
        assert_eq!(said, r#"{"you":"[secret]"}"#, "{number}");
    }
    let refused = client.call("t", json!({ "v": "more" }));
    assert!(text(&refused).contains("its client has 256 tokens"), "{refused}");
    assert_eq!(token_requests(&api), 256);
}

#[test]
fn value_in_scopes_is_one_scope() {
    let api = issuer("said");
    let mut tool = scoped(&api);
    tool["run"]["http"]["auth"]["oauth2"]["tokenUrl"] = format!("{}/token?t=0123456789abcdef", api.url()).into();
    let folder = TestFolder::with_manifest(&manifest(json!({ "tools": { "t": tool } })));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for value in ["x admin", "x\tadmin", "x\nadmin", "x\"", "x\\", "é", " "] {
        let refused = client.call("t", json!({ "v": value }));
        assert!(text(&refused).contains("must be one scope"), "{value:?}: {refused}");
    }
    assert!(api.requests().is_empty(), "{:?}", api.targets());
    for (value, form) in [("repo:write", "read+repo%3Awrite"), ("", "read")] {
        assert_eq!(client.call_text("t", json!({ "v": value })), "said");
        let request = api.requests().into_iter().rfind(|request| request.method == "POST").unwrap();
        assert_eq!(request.body, format!("grant_type=client_credentials&scope={form}"));
    }
}

#[test]
fn longer_access_token_leaves_cached_responses() {
    let api = issuer("said");
    let url = api.url();
    let tools = json!({
        "kept": tool(json!({ "url": format!("{url}/kept"), "cache": "1h" })),
        "t": authorized(&api, "/x", "{{v}}"),
    });
    let folder = TestFolder::with_manifest(&manifest(json!({ "tools": tools })));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for length in [16, 20, 32, 8] {
        assert_eq!(client.call_text("kept", json!({})), "said");
        assert_eq!(client.call_text("t", json!({ "v": "0123456789abcdef0123456789abcdef"[..length] })), "said");
    }
    assert_eq!(api.targets().iter().filter(|target| *target == "GET /kept").count(), 1, "{:?}", api.targets());
}

#[test]
fn type_of_a_response_is_a_mime_type() {
    let api = Upstream::start(|request, _| {
        let bytes: &[u8] = if request.target == "/png" { b"\x89PNG\r\n\x1a\n\0" } else { b"\xff\0a" };
        Reply::with_headers(200, &[("Content-Type", "image/png\"onload=x<b>")], bytes)
    });
    let tools = json!({ "t": tool(json!({ "url": format!("{}/{{{{v}}}}", api.url()) })) });
    let folder = TestFolder::with_manifest(&manifest(json!({ "tools": tools })));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let result = client.call("t", json!({ "v": "png" }));
    assert_eq!(result["content"][0]["mimeType"], "image/png", "{result}");
    let result = client.call("t", json!({ "v": "bytes" }));
    assert!(!result.to_string().contains("onload"), "{result}");
}

/// The longest that a ping took while calls of `t` were answered by `http`.
fn longest_ping(tools: Value, calls: usize) -> Duration {
    let keys = json!({ "env": { "SECRET": { "secret": true, "default": "s3cr%t&Tok\"en-value" } }, "tools": tools });
    let folder = TestFolder::with_manifest(&manifest(keys));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let started: Vec<i64> = (0..calls).map(|_| client.start_call("t", json!({}))).collect();
    let mut longest = Duration::ZERO;
    for _ in 0..10 {
        thread::sleep(Duration::from_millis(200));
        let sent = Instant::now();
        client.result("ping", json!({}));
        longest = longest.max(sent.elapsed());
    }
    drop(started);
    longest
}

#[test]
fn interim_responses_without_end_hold_up_no_ping() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let hints = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".repeat(1000);
            thread::spawn(move || while stream.write_all(&hints).is_ok() {});
        }
    });
    let tools = json!({ "t": tool(json!({ "url": format!("http://{address}/"), "timeout": "5s" })) });
    let longest = longest_ping(tools, 4);
    assert!(longest < Duration::from_secs(2), "{longest:?}");
}

#[test]
fn response_of_escapes_holds_up_no_ping() {
    let api = Upstream::start(|_, _| Reply::with_headers(200, &[("Content-Type", "text/plain")], "\\".repeat(600_000)));
    let http = json!({ "url": api.url(), "headers": { "X-Key": "{{env.SECRET}}" } });
    let mut tool = tool(http);
    tool["result"] = json!({ "text": "{{len result.body}}" });
    let longest = longest_ping(json!({ "t": tool }), 4);
    assert!(longest < Duration::from_secs(2), "{longest:?}");
}

#[test]
fn redirect_to_a_host_named_like_the_token_is_redacted() {
    let api = Upstream::start(|request, _| match request.header("authorization") {
        Some(given) if request.target == "/x" => {
            let host = given.trim_start_matches("Bearer ");
            Reply::with_headers(302, &[("Location", &format!("http://{host}.invalid/"))], "")
        }
        _ => Reply::json(200, &json!({ "access_token": "live-token-0123456789" })),
    });
    let tools = json!({ "t": authorized(&api, "/x", "unused") });
    let folder = TestFolder::with_manifest(&manifest(json!({ "tools": tools })));
    let server = folder.serve_command().flag("--log-level=debug").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let result = client.call("t", json!({}));
    assert!(text(&result).contains("could not resolve host `[secret].invalid`"), "{result}");
    assert!(!server.log.text().contains("live-token"), "{}", server.log.text());
}

#[test]
fn token_that_is_refused_again_and_again_is_replaced_once() {
    let api = Upstream::start(|request, number| match request.target.as_str() {
        "/x" => Reply::json(401, &json!({})),
        _ => Reply::json(200, &json!({ "access_token": format!("token-{number:010}") })),
    });
    let mut tool = authorized(&api, "/x", "unused");
    tool["run"]["http"]["retry"] = json!({ "attempts": 5, "on": [401], "backoff": "1ms" });
    let folder = TestFolder::with_manifest(&manifest(json!({ "tools": { "t": tool } })));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for _ in 0..3 {
        let result = client.call("t", json!({}));
        assert!(text(&result).contains("401"), "{result}");
    }
    assert_eq!(token_requests(&api), 2, "{:?}", api.targets());
    assert_eq!(api.requests().len(), 2 + 6 + 5 + 5, "{:?}", api.targets());
}

//! Streamable HTTP over real sockets.

use std::{net::SocketAddr, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{TEST_TIMEOUT, sessionless_params};
use crate::{
    server::{
        SharedServer,
        testing::{TEST_MANIFEST, build_catalog, shared_server},
    },
    transport::http::{HttpError, HttpOptions, bind},
};

struct TestHttpServer {
    address: SocketAddr,
    shared_server: SharedServer,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

fn any_port() -> HttpOptions {
    HttpOptions { listen: "127.0.0.1:0".into(), ..HttpOptions::default() }
}

async fn start_server() -> TestHttpServer {
    start_server_with(shared_server(TEST_MANIFEST), any_port()).await
}

async fn start_server_with(shared_server: SharedServer, options: HttpOptions) -> TestHttpServer {
    let bound = bind(options).await.unwrap();
    let (address, stop) = (bound.address, CancellationToken::new());
    let serving = tokio::spawn({
        let (shared_server, stop) = (shared_server.clone(), stop.clone());
        async move { bound.serve(&shared_server, stop, CancellationToken::new()).await }
    });
    TestHttpServer { address, shared_server, stop, serving }
}

/// A response of which the head is read.
struct HttpReply {
    status: u16,
    head: String,
    rest: Vec<u8>,
    stream: TcpStream,
}

impl HttpReply {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    async fn read_more(&mut self) -> bool {
        let read =
            tokio::time::timeout(TEST_TIMEOUT, self.stream.read_buf(&mut self.rest)).await.expect("nothing comes");
        read.is_ok_and(|read| read > 0)
    }

    /// The next message on a stream; `None` at its end.
    async fn event(&mut self) -> Option<Value> {
        loop {
            let text = String::from_utf8_lossy(&self.rest).into_owned();
            if let Some(start) = text.find("data: {")
                && let Some(length) = text[start..].find('\n')
            {
                self.rest.drain(..start + length);
                return Some(serde_json::from_str(&text[start + 6..start + length]).unwrap());
            }
            if !self.read_more().await {
                return None;
            }
        }
    }

    /// The answer, be it the body or the next message on a stream.
    async fn answer(mut self) -> Value {
        match self.header("content-type") {
            Some("application/json") => self.json().await,
            _ => self.event().await.unwrap(),
        }
    }

    async fn text(mut self) -> String {
        while self.read_more().await {}
        String::from_utf8_lossy(&self.rest).into_owned()
    }

    async fn json(self) -> Value {
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"))
    }
}

impl TestHttpServer {
    async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> HttpReply {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        let usual = [
            ("Host", self.address.to_string()),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ];
        for (name, value) in &usual {
            if !headers.iter().any(|(given, _)| given == name) {
                head += &format!("{name}: {value}\r\n");
            }
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
        let _ = stream.write_all(body).await;
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            let read =
                tokio::time::timeout(TEST_TIMEOUT, stream.read_buf(&mut bytes)).await.expect("nothing comes").unwrap();
            assert!(read > 0, "it ended without a word");
        };
        let rest = bytes.split_off(end + 4);
        let head = String::from_utf8(bytes).unwrap();
        HttpReply { status: head[9..12].parse().unwrap(), head, rest, stream }
    }

    async fn post(&self, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> HttpReply {
        self.send("POST", "/mcp", headers, body.as_ref()).await
    }

    async fn post_sessionless(&self, method: &str, name: Option<&str>, params: Value) -> HttpReply {
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": sessionless_params(params) }).to_string();
        let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        headers.extend(name.map(|name| ("Mcp-Name", name)));
        self.post(&headers, body).await
    }

    async fn initialize(&self) -> HttpReply {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        self.post(&[], body.to_string()).await
    }

    /// A session that has begun, by its name.
    async fn session(&self) -> String {
        let reply = self.initialize().await;
        let session = reply.header("mcp-session-id").unwrap().to_owned();
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert_eq!(reply.answer().await["id"], 0);
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(self.post(&[("Mcp-Session-Id", &session)], ready).await.status, 202);
        session
    }

    async fn ask(&self, session: &str, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string();
        let reply = self.post(&[("Mcp-Session-Id", session)], body).await;
        assert_eq!(reply.status, 200);
        reply.answer().await
    }

    async fn end(self) {
        self.stop.cancel();
        tokio::time::timeout(TEST_TIMEOUT, self.serving).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn both_generations_are_served_at_one_endpoint() {
    let site = start_server().await;
    let reply = site.post_sessionless("server/discover", None, json!({})).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    assert_eq!(reply.json().await["result"]["supportedVersions"].as_array().unwrap().len(), 5);
    let reply = site
        .post_sessionless("tools/call", Some("echo"), json!({ "name": "echo", "arguments": { "text": "x" } }))
        .await;
    assert_eq!(reply.json().await["result"]["content"][0]["text"], "x");
    let session = site.session().await;
    let list = site.ask(&session, "tools/list", json!({})).await;
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 3);
    assert_eq!(site.send("DELETE", "/mcp", &[("Mcp-Session-Id", &session)], b"").await.status, 204);
    assert_eq!(
        site.post(&[("Mcp-Session-Id", &session)], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await.status,
        404
    );
    site.end().await;
}

#[tokio::test]
async fn foreign_host_or_origin_is_refused_on_every_path() {
    let site = start_server().await;
    for path in ["/mcp", "/", "/other"] {
        for (name, value) in [("Host", "evil.example"), ("Origin", "http://evil.example"), ("Origin", "null")] {
            let reply = site.send("POST", path, &[(name, value)], b"{}").await;
            assert_eq!(reply.status, 403, "{path} {name} {value}");
        }
    }
    let own = format!("http://localhost:{}", site.address.port());
    let host = format!("localhost:{}", site.address.port());
    let discover =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": sessionless_params(json!({})) })
            .to_string();
    let headers = [
        ("Host", host.as_str()),
        ("Origin", &own),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "server/discover"),
    ];
    let reply = site.post(&headers, discover).await;
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, Some(own.as_str())));
    let preflight = site.send("OPTIONS", "/mcp", &[("Origin", &own)], b"").await;
    assert_eq!(preflight.status, 204);
    assert!(preflight.header("access-control-allow-headers").unwrap().contains("Mcp-Session-Id"));
    site.end().await;
}

#[tokio::test]
async fn public_address_requires_token_unless_insecure() {
    let everywhere = || HttpOptions { listen: "0.0.0.0:0".into(), ..any_port() };
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (options, status) in [(everywhere(), 401), (HttpOptions { insecure: true, ..everywhere() }, 400)] {
        let site = start_server_with(shared_server(TEST_MANIFEST), options).await;
        assert_eq!(site.post(&[], ping).await.status, status);
        site.end().await;
    }
}

#[tokio::test]
async fn invalid_body_gets_json_rpc_error() {
    let site = start_server().await;
    for (body, expected) in [
        ("{", -32700),
        ("", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":5}}"#, -32602),
    ] {
        let reply = site.post(&[], body).await;
        assert_eq!((reply.status, reply.header("content-type")), (400, Some("application/json")), "{body}");
        assert_eq!(reply.json().await["error"]["code"], expected, "{body}");
    }
    let reply = site.post(&[], vec![b' '; 5 << 20]).await;
    assert_eq!(reply.status, 413);
    site.end().await;
}

#[tokio::test]
async fn sessions_and_listen_streams_are_notified() {
    let site = start_server().await;
    let listen = json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": ["desk://notes"] } });
    let mut stream = site.post_sessionless("subscriptions/listen", None, listen).await;
    assert_eq!(stream.event().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
    let session = site.session().await;
    site.ask(&session, "resources/subscribe", json!({ "uri": "desk://notes" })).await;
    let mut get = site.send("GET", "/mcp", &[("Mcp-Session-Id", &session)], b"").await;
    assert_eq!(get.status, 200);
    site.shared_server
        .replace(build_catalog(&TEST_MANIFEST.replace("text: First", "text: Second").replace("  wait:", "  later:")));
    let mut told = Vec::new();
    for reply in [&mut stream, &mut get] {
        let two = [reply.event().await.unwrap(), reply.event().await.unwrap()];
        assert_eq!(two[0]["method"], "notifications/tools/list_changed");
        assert_eq!(
            (&two[1]["method"], &two[1]["params"]["uri"]),
            (&json!("notifications/resources/updated"), &json!("desk://notes"))
        );
        told.push(two[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone());
    }
    assert_eq!(told, [json!(1), Value::Null]);
    site.end().await;
}

#[tokio::test]
async fn priming_event_only_since_2025_11_25() {
    let site = start_server().await;
    for (version, primed) in [("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)] {
        let params =
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string();
        let takes_events = ("Accept", "text/event-stream");
        let begun = site.post(&[takes_events], body).await;
        let session = begun.header("mcp-session-id").unwrap().to_owned();
        let head = [takes_events, ("MCP-Session-Id", session.as_str()), ("MCP-Protocol-Version", version)];
        // The first version with HTTP does not say itself in a header.
        let head = if version == "2025-03-26" { &head[..2] } else { &head[..] };
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
        assert_eq!(site.post(head, initialized).await.status, 202);
        let listed = site.post(head, json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }).to_string()).await;
        let mut listening = site.send("GET", "/mcp", head, b"").await;
        site.shared_server.replace(build_catalog(&TEST_MANIFEST.replace("  wait:", &format!("  since-{version}:"))));
        while !String::from_utf8_lossy(&listening.rest).contains("list_changed") {
            assert!(listening.read_more().await, "the stream ended");
        }
        assert!(site.send("DELETE", "/mcp", head, b"").await.status < 300);
        // The session begins with its answer: before, there is nothing to come back to.
        for (reply, primed) in [(begun, false), (listed, primed), (listening, primed)] {
            let text = reply.text().await;
            assert!(text.contains("data: {"), "{version}: {text}");
            assert_eq!(text.contains("data: \n"), primed, "{version}: {text}");
        }
    }
    site.end().await;
}

#[tokio::test]
async fn idle_session_ends_and_listening_one_stays() {
    let shared_server = shared_server(&format!("{TEST_MANIFEST}http: {{ sessionIdle: 2s }}\n"));
    let site = start_server_with(shared_server, any_port()).await;
    let listens = site.session().await;
    let mut get = site.send("GET", "/mcp", &[("Mcp-Session-Id", &listens)], b"").await;
    let forgotten = site.session().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let begun = std::time::Instant::now();
    // Asking keeps a session alive, so it is not asked until it must have ended.
    while begun.elapsed() < Duration::from_secs(4) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(site.post(&[("Mcp-Session-Id", &forgotten)], ping).await.status, 404);
    site.shared_server.replace(build_catalog(&TEST_MANIFEST.replace("  wait:", "  later:")));
    assert_eq!(get.event().await.unwrap()["method"], "notifications/tools/list_changed");
    site.end().await;
}

#[tokio::test]
async fn bind_errors_are_typed() {
    let taken = bind(any_port()).await.unwrap();
    let again = bind(HttpOptions { listen: taken.address.to_string(), ..any_port() }).await.unwrap_err();
    assert!(matches!(again, HttpError::AddressInUse { .. }), "{again}");
    let none = bind(HttpOptions { listen: "nonsense".into(), ..any_port() }).await.unwrap_err();
    assert!(matches!(none, HttpError::InvalidAddress { .. }), "{none}");
    assert_eq!(taken.url(), format!("http://127.0.0.1:{}/mcp", taken.address.port()));
}

#[tokio::test]
async fn silent_stream_sends_keep_alive_comments() {
    let options = HttpOptions { sse: true, keep_alive: Duration::from_millis(50), ..any_port() };
    let site = start_server_with(shared_server(TEST_MANIFEST), options).await;
    let session = site.session().await;
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    for mut reply in [
        site.post_sessionless("subscriptions/listen", None, listen).await,
        site.send("GET", "/mcp", &[("Mcp-Session-Id", &session)], b"").await,
        site.send("GET", "/sse", &[], b"").await,
    ] {
        assert_eq!((reply.status, reply.header("x-accel-buffering")), (200, Some("no")));
        while !String::from_utf8_lossy(&reply.rest).lines().any(|line| line.starts_with(':')) {
            assert!(reply.read_more().await, "the stream ended");
        }
    }
    site.end().await;
}

//! What knowing the caller and being watched cost a call over HTTP, as ratios within one run. Nothing here asserts a time.
//!
//! ```text
//! cargo bench --bench callers
//! ```
//!
//! Servers with other settings answer the same calls, 16 at a time, in turn; what counts is the processor time of the server
//! for each call, as the median of the rounds.
#![allow(
    clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout,
    missing_docs
)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair, RsaPublicKeyComponents};
use serde_json::{Value, json};

const CONNECTIONS: usize = 16;
const CALLS_PER_CONNECTION: usize = 400;
const ROUNDS: usize = 9;
const STATIC_TOKEN: &str = "a-token-of-the-manifest-4711";
const AUDIENCE: &str = "https://desk.example/mcp";

/// Settings of a server, and which tokens its callers show.
struct Contender {
    name: &'static str,
    server: Server,
    /// Whether each call has a token of its own.
    has_new_tokens: bool,
    token: Option<String>,
    figures: Vec<f64>,
}

fn main() {
    let key = RsaKeyPair::from_pkcs8(include_bytes!("../tests/fixtures/issuer/rsa-2048.pk8")).unwrap();
    let (issuer, sink) = (start_upstream(jwks(&key)), start_upstream(json!({})));
    let auth = json!({ "publicUrl": AUDIENCE, "auth": { "issuer": issuer, "jwksUri": format!("{issuer}/jwks") } });
    let token = || json!({ "token": "{{env.TOKEN}}" });
    let watched = json!({
        "http": {}, "admin": { "listen": "127.0.0.1:0" }, "audit": { "file": "audit.jsonl" }, "telemetry": "otlp",
    });
    let only = |key: &str| json!({ "http": {}, key: watched[key] });
    let contender = |name, settings: Value, has_new_tokens, token| {
        let server = Server::start(&settings, &sink);
        Contender { name, server, has_new_tokens, token, figures: Vec::new() }
    };
    let mut contenders = [
        contender("nothing", json!({ "http": {} }), false, None),
        contender("metrics", only("admin"), false, None),
        contender("audit", only("audit"), false, None),
        contender("1 % of traces", only("telemetry"), false, None),
        contender("all three", watched.clone(), false, None),
        contender("static token", json!({ "http": token() }), false, Some(STATIC_TOKEN.to_owned())),
        contender("cached token of an issuer", json!({ "http": auth }), false, Some(sign(&key, &issuer, 0))),
        contender("new RS256 token each", json!({ "http": auth }), true, None),
    ];
    let mut signed = 0;
    for round in 0..=ROUNDS {
        for contender in &mut contenders {
            let tokens: Vec<Option<String>> = (0..CONNECTIONS * CALLS_PER_CONNECTION)
                .map(|_| {
                    signed += 1;
                    if contender.has_new_tokens { Some(sign(&key, &issuer, signed)) } else { contender.token.clone() }
                })
                .collect();
            let figure = contender.server.microseconds_per_call(&tokens);
            // The first one warms up.
            if round > 0 {
                contender.figures.push(figure);
            }
        }
    }
    println!("processor time of the server for each call, in µs");
    let [nothing, _, _, _, watched, fixed, cached, new] = contenders.map(|contender| {
        let figure = median(contender.figures);
        println!("{:<32}{figure:>8.1}", contender.name);
        figure
    });
    println!("{:<32}{:>8.3}", "  all three / nothing", watched / nothing);
    println!("{:<32}{:>8.3}", "  cached / static token", cached / fixed);
    println!("{:<32}{:>8.1}", "  new - cached token, in µs", new - cached);
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

struct Server {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Server {
    /// Serves an echo with these settings; `sink` takes its traces.
    fn start(settings: &Value, sink: &str) -> Server {
        let mut manifest = json!({
            "folio": 1, "server": { "name": "bench" }, "env": { "TOKEN": { "secret": true } },
            "tools": { "echo": { "arguments": { "text": {} }, "result": { "text": "{{text}}" } } },
        });
        manifest.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("folio.yaml"), manifest.to_string()).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_folio"))
            .args(["serve", folder.path().to_str().unwrap(), "--http", "127.0.0.1:0"])
            .env("TOKEN", STATIC_TOKEN)
            .env("FOLIO_LOG", "error")
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", sink)
            .env("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
            .env("OTEL_TRACES_SAMPLER_ARG", "0.01")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().expect("the server listens").unwrap();
            if let Some((_, rest)) = line.split_once("http://").filter(|_| line.contains("/mcp")) {
                break rest.split('/').next().unwrap().to_owned();
            }
        };
        thread::spawn(move || lines.for_each(drop));
        let port = address.rsplit(':').next().unwrap().parse().unwrap();
        Server { child, port, _folder: folder }
    }

    /// Calls it once with each token.
    fn microseconds_per_call(&self, tokens: &[Option<String>]) -> f64 {
        let before = self.cpu_seconds();
        thread::scope(|scope| {
            for tokens in tokens.chunks(CALLS_PER_CONNECTION) {
                scope.spawn(|| call_with_each(self.port, tokens));
            }
        });
        (self.cpu_seconds() - before) / tokens.len() as f64 * 1e6
    }

    /// The processor time that it has used so far, of which the kernel counts nanoseconds.
    fn cpu_seconds(&self) -> f64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let nanoseconds = tasks.map(|task| {
            let text = std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap_or_default();
            text.split(' ').next().and_then(|time| time.parse::<u64>().ok()).unwrap_or_default()
        });
        nanoseconds.sum::<u64>() as f64 / 1e9
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// Sends calls over one connection, each once the last one is answered.
fn call_with_each(port: u16, tokens: &[Option<String>]) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "echo", "arguments": { "text": "hello" }, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    for token in tokens {
        let token = token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: echo\r\n{token}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let (status, body) = read_message(&mut reader);
        assert!(status.contains(" 200 ") && body.contains("hello"), "{status}{body}");
    }
}

/// The first line of a message, and its body.
fn read_message(reader: &mut impl BufRead) -> (String, String) {
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() <= 2 {
            break;
        }
        let line = line.to_ascii_lowercase();
        length = line.strip_prefix("content-length:").map_or(length, |value| value.trim().parse().unwrap());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (first, String::from_utf8_lossy(&body).into_owned())
}

/// Answers all that is asked with this, and returns its URL.
fn start_upstream(answer: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, body) = (stream.unwrap(), answer.to_string());
            thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                while !read_message(&mut reader).0.is_empty() {
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
                    stream.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
                }
            });
        }
    });
    url
}

fn jwks(key: &RsaKeyPair) -> Value {
    let numbers: RsaPublicKeyComponents<Vec<u8>> = key.public().into();
    let [n, e] = [numbers.n, numbers.e].map(|number| URL_SAFE_NO_PAD.encode(number));
    json!({ "keys": [{ "kty": "RSA", "kid": "k", "alg": "RS256", "n": n, "e": e }] })
}

/// A token of one caller, other than those with other numbers.
fn sign(key: &RsaKeyPair, issuer: &str, number: usize) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let header = json!({ "alg": "RS256", "kid": "k", "typ": "at+jwt" });
    let claims = json!({ "iss": issuer, "aud": AUDIENCE, "sub": "ada", "exp": now + 3600, "jti": number.to_string() });
    let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let signed = format!("{header}.{claims}");
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

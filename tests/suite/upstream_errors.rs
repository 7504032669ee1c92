//! HTTP servers that fail, lie and flood: each request ends in time with a clear error, and the next one works.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::*;
use crate::upstream_server::{Reply, Upstream};

/// A server that gives each request, by its path, a stream to write to.
struct FaultyServer {
    address: SocketAddr,
}

impl FaultyServer {
    fn start(handler: impl Fn(&str, &mut TcpStream) -> std::io::Result<()> + Clone + Send + 'static) -> FaultyServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let handler = handler.clone();
                thread::spawn(move || serve(stream, &handler));
            }
        });
        FaultyServer { address }
    }

    /// A server with the one tool `t`, which requests the path `id`.
    fn folio(&self, keys: &str) -> (TestFolder, TestServer) {
        folio(&format!("http://{}", self.address), keys)
    }
}

fn folio(url: &str, keys: &str) -> (TestFolder, TestServer) {
    let manifest = format!(
        "folio: 1\nserver: {{ name: faulty, limits: {{ callsPerSecond: 1000000 }} }}\ntools:\n  t:\n    \
         description: T\n    arguments: {{ id: {{}} }}\n    run: {{ http: {{ url: \"{url}/{{{{id}}}}\"{keys} }} }}\n"
    );
    let folder = TestFolder::with_manifest(&manifest);
    let server = folder.stdio();
    (folder, server)
}

fn serve(stream: TcpStream, handler: &impl Fn(&str, &mut TcpStream) -> std::io::Result<()>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().trim_start_matches('/').to_owned();
    while reader.read_line(&mut line)? > 2 {}
    handler(&path, reader.get_mut())
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfine";

fn text(result: &Value) -> String {
    text_of(&result["content"][0])
}

#[test]
fn broken_responses_are_errors() {
    const INCOMPLETE: &str = "invalid or incomplete response from `127.0.0.1`";
    const UNDECODABLE: &str = "cannot decode the response from `127.0.0.1` with HTTP status 200: its body is not `";
    const CASES: &[(&str, &[u8], &str)] = &[
        ("closed", b"", INCOMPLETE),
        ("no-http", b"SSH-2.0-OpenSSH_9.7\r\n", INCOMPLETE),
        ("cut", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this", INCOMPLETE),
        ("two-lengths", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nfines", INCOMPLETE),
        ("no-length", b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nfine", INCOMPLETE),
        ("chunks", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nfine\r\n0\r\n\r\n", INCOMPLETE),
        ("huge-chunk", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx", INCOMPLETE),
        ("cut-chunk", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nfine", INCOMPLETE),
        ("no-gzip", b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nfine", UNDECODABLE),
        ("no-br", b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 4\r\n\r\nfine", UNDECODABLE),
        ("no-zstd", b"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nContent-Length: 4\r\n\r\nfine", UNDECODABLE),
        (
            "longer",
            b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfineHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
            "fine",
        ),
    ];
    let api = FaultyServer::start(|path, stream| {
        stream.write_all(CASES.iter().find(|(name, ..)| *name == path).map_or(OK, |(_, reply, _)| reply))
    });
    let (_folder, server) = api.folio("");
    let client = server.client(SESSION_VERSIONS[3]);
    for (name, _, expected) in CASES {
        let result = client.call("t", json!({ "id": name }));
        assert!(text(&result).contains(expected), "{name}: {result}");
        assert_eq!(client.call_text("t", json!({ "id": "good" })), "fine", "after {name}");
    }
}

#[test]
fn reset_in_body_is_an_error() {
    // A socket that is closed with unread bytes resets the connection.
    let api = FaultyServer::start(|path, stream| match path {
        "reset" => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nsome"),
        _ => {
            stream.write_all(OK)?;
            std::io::copy(stream, &mut std::io::sink()).map(drop)
        }
    });
    let body = "x".repeat(200_000);
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: faulty, limits: {{ callsPerSecond: 1000000 }} }}\ntools:\n  t:\n    description: T\n    arguments: {{ id: {{}} }}\n    \
         run: {{ http: {{ url: \"http://{}/{{{{id}}}}\", body: {{ file: body.txt }} }} }}\n",
        api.address
    ));
    folder.write("body.txt", &body);
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let result = client.call("t", json!({ "id": "reset" }));
    assert!(text(&result).contains("`127.0.0.1`") && result["isError"] == true, "{result}");
    assert_eq!(client.call_text("t", json!({ "id": "good" })), "fine");
}

#[test]
fn trickle_ends_at_time_limit() {
    let api = FaultyServer::start(|path, stream| {
        let (head, rest) = match path {
            "head" => ("HTTP/1.1 200 OK\r\nX-A: ", "x"),
            "body" => ("HTTP/1.1 200 OK\r\n\r\n", "x"),
            "interim" => ("", "HTTP/1.1 102 Processing\r\n\r\n"),
            _ => return stream.write_all(OK),
        };
        stream.write_all(head.as_bytes())?;
        loop {
            stream.write_all(rest.as_bytes())?;
            thread::sleep(Duration::from_millis(20));
        }
    });
    let (_folder, server) = api.folio(", timeout: 1s");
    let client = server.client(SESSION_VERSIONS[3]);
    for path in ["head", "body", "interim"] {
        let result = client.call("t", json!({ "id": path }));
        assert!(text(&result).contains("timed out after 1s"), "{path}: {result}");
        assert_eq!(client.call_text("t", json!({ "id": "good" })), "fine");
    }
}

#[test]
fn plain_server_at_https_url_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let api = FaultyServer { address: listener.local_addr().unwrap() };
    let hello = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut hello = vec![0; 4096];
        let length = stream.read(&mut hello).unwrap();
        stream.write_all(OK).unwrap();
        hello.truncate(length);
        hello
    });
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: faulty, limits: {{ callsPerSecond: 1000000 }} }}\ntools:\n  t: {{ description: T, run: {{ http: {{ url: \"https://{}/\", timeout: 5s }} }} }}\n",
        api.address
    ));
    let result = folder.stdio().client(SESSION_VERSIONS[3]).call("t", json!({}));
    assert!(text(&result).contains("TLS connection to `127.0.0.1` failed"), "{result}");
    let protocols = b"\x02h2\x08http/1.1";
    assert!(hello.join().unwrap().windows(protocols.len()).any(|offered| offered == protocols), "HTTP/2 is offered");
}

/// Bits in the order of DEFLATE and Brotli: the lowest of a byte first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    fn push(&mut self, value: u32, width: usize) -> &mut Bits {
        for bit in 0..width {
            if self.count.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |= u8::try_from(value >> bit & 1).unwrap() << (self.count % 8);
            self.count += 1;
        }
        self
    }
}

/// About a gigabyte in gzip: a zero that is copied on and on (RFC 1951, fixed codes).
fn gzip_bomb() -> Vec<u8> {
    let mut bits = Bits::default();
    // The last block, with fixed codes; the literal 0, whose code is sent from its highest bit.
    bits.push(1, 1).push(1, 2).push(0b0000_1100, 8);
    // 258 bytes from a distance of 1: the codes 11000101 and 00000.
    for _ in 0..(1 << 30) / 258 {
        bits.push(0b1010_0011, 8).push(0, 5);
    }
    let mut bomb = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    bomb.extend(bits.bytes);
    bomb
}

/// A gigabyte in Brotli (RFC 7932): 64 blocks of one command, which copies the byte before it.
fn brotli_bomb() -> Vec<u8> {
    const LENGTH: u32 = 1 << 24;
    let align = |bits: &mut Bits| {
        // An empty block of metadata ends at a byte.
        bits.push(0, 1).push(3, 2).push(0, 1).push(0, 2);
        bits.count = bits.bytes.len() * 8;
    };
    let mut bits = Bits::default();
    bits.push(0, 1);
    align(&mut bits);
    for _ in 0..64 {
        // Not the last; a length of six digits; one type of each kind of block; no postfix; one tree of each kind.
        bits.push(0, 1).push(2, 2).push(LENGTH - 1, 24).push(0, 1);
        bits.push(0, 3).push(0, 6).push(0, 2).push(0, 2);
        // Trees of one symbol: the literal 0; one literal and a copy of the longest class; the distance code 16.
        bits.push(1, 4).push(0, 8).push(1, 4).push(399, 10).push(1, 4).push(16, 6);
        // How long the copy is beyond its class, and a distance of 1.
        bits.push(LENGTH - 1 - 2118, 24).push(0, 1);
        align(&mut bits);
    }
    bits.bytes
}

/// A gigabyte in Zstandard (RFC 8878): blocks of one byte that is repeated.
fn zstd_bomb() -> Vec<u8> {
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 10 << 3];
    for _ in 0..8192 {
        let block = (128_u32 << 10 << 3) | (1 << 1);
        bomb.extend_from_slice(&block.to_le_bytes()[..3]);
        bomb.push(0);
    }
    bomb
}

/// A field of the memory of a server, in KiB.
pub fn memory(server: &TestServer, field: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn decompression_bombs_end_at_the_limit() {
    let bombs = [("gzip", gzip_bomb()), ("br", brotli_bomb()), ("zstd", zstd_bomb())];
    let api = FaultyServer::start(move |path, stream| {
        let bomb = &bombs.iter().find(|(name, _)| *name == path).unwrap().1;
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Encoding: {path}\r\nContent-Length: {}\r\n\r\n", bomb.len())?;
        stream.write_all(bomb)
    });
    let (_folder, server) = api.folio(", timeout: 60s");
    let client = server.client(SESSION_VERSIONS[3]);
    for coding in ["gzip", "br", "zstd"] {
        let result = client.call("t", json!({ "id": coding }));
        let text = text(&result);
        assert!(text.contains("[truncated: "), "{coding}: {}", &text[text.len().saturating_sub(300)..]);
    }
    let peak = memory(&server, "VmHWM");
    assert!(peak < 160 << 10, "{peak} KiB");
}

#[test]
fn endless_body_ends_at_the_limit() {
    let api = FaultyServer::start(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        let block = vec![b'x'; 1 << 16];
        loop {
            stream.write_all(&block)?;
        }
    });
    let (_folder, server) = api.folio(", timeout: 60s");
    let result = server.client(SESSION_VERSIONS[3]).call("t", json!({ "id": "x" }));
    assert!(text(&result).contains("[truncated: "));
}

/// How many connections may be kept: by far fewer than one for each request.
const MAX_IDLE_CONNECTIONS: usize = 16;

#[test]
#[cfg(target_os = "linux")]
fn ten_thousand_requests_leave_nothing_behind() {
    // Connections that stay open and such as break, which is what most of the time goes into.
    let api = Upstream::start(|request, _| match &*request.target {
        "/cut" => Reply::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"),
        "/garbage" => Reply::raw(b"garbage"),
        "/closed" => Reply::json(200, &json!("fine")),
        _ => Reply::persistent(&json!("fine")),
    });
    let (_folder, server) = folio(&api.url(), "");
    let client = server.client(SESSION_VERSIONS[3]);
    let check = |path: &str, call: i64| {
        let result = &client.wait_for_answer(call)["result"];
        let is_good = !["cut", "garbage"].contains(&path);
        assert_eq!((text(result) == "\"fine\"", result["isError"] == false), (is_good, is_good), "{path}: {result}");
    };
    let call_often = |count: usize| {
        let mut waiting = std::collections::VecDeque::new();
        for number in 0..count {
            let path = ["good", "cut", "good", "good", "closed", "good", "garbage", "good"][number % 8];
            waiting.push_back((path, client.start_call("t", json!({ "id": path }))));
            if waiting.len() == 16 {
                let (path, call) = waiting.pop_front().unwrap();
                check(path, call);
            }
        }
        waiting.into_iter().for_each(|(path, call)| check(path, call));
    };
    // What the system shows of a process that lets nobody look at it is nothing; then only memory counts.
    let files = || fs::read_dir(format!("/proc/{}/fd", server.pid())).map_or(0, Iterator::count);
    call_often(2_000);
    let (files_before, memory_before) = (files(), memory(&server, "RssAnon"));
    call_often(8_000);
    wait_until("descriptors to be closed", || files() <= files_before + MAX_IDLE_CONNECTIONS);
    let memory_after = memory(&server, "RssAnon");
    // Half a kilobyte for each request would be seen.
    assert!(memory_after < memory_before + (4 << 10), "{memory_before} KiB, then {memory_after} KiB");
}

/// The requests that a server got: the first and the second of its connections.
#[derive(Default)]
struct RequestCounts([AtomicUsize; 2]);

impl RequestCounts {
    fn all(&self) -> usize {
        self.0.iter().map(|count| count.load(Ordering::SeqCst)).sum()
    }

    fn dropped(&self) -> usize {
        self.0[1].load(Ordering::SeqCst)
    }
}

/// A server that answers the first request of each connection, and closes it at the second.
fn connection_dropping_server() -> (SocketAddr, Arc<RequestCounts>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::<RequestCounts>::default();
    let counts = requests.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counts = counts.clone();
            thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                for (count, response) in
                    counts.0.iter().zip([&b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"[..], b""])
                {
                    if !has_request(&mut reader) {
                        return;
                    }
                    count.fetch_add(1, Ordering::SeqCst);
                    reader.get_mut().write_all(response).unwrap();
                }
            });
        }
    });
    (address, requests)
}

/// Reads the head of a request, unless the connection ends before it.
fn has_request(reader: &mut BufReader<TcpStream>) -> bool {
    let mut lines = reader.lines().map_while(Result::ok);
    lines.any(|line| line.is_empty())
}

#[test]
fn idempotent_request_survives_a_connection_that_was_closed() {
    for (method, is_repeated) in [("GET", true), ("DELETE", true), ("POST", false)] {
        let (address, requests) = connection_dropping_server();
        let (_folder, server) = FaultyServer { address }.folio(&format!(", method: {method}"));
        let client = server.client(SESSION_VERSIONS[3]);
        let (mut calls, mut failures) = (0, 0);
        // A call may come before the connection of the last one is free again, and is then the first on a new one.
        while calls < 100 && requests.dropped() < 2 {
            calls += 1;
            let result = client.call("t", json!({ "id": "x" }));
            if text(&result) != "fine" {
                assert!(text(&result).contains("invalid or incomplete response from `127.0.0.1`"), "{result}");
                failures += 1;
            }
        }
        let (all, dropped) = (requests.all(), requests.dropped());
        assert!(dropped >= 2, "{method}: no connection was used again");
        let expected = if is_repeated { (calls + dropped, 0) } else { (calls, dropped) };
        assert_eq!((all, failures), expected, "{method}");
    }
}

//! Greedy clients: memory stays bounded, and modest clients are served.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::*;

/// One answer that is large, one that is small, one that is a task.
const SERVER: &str = r#"folio: 1
server: { name: s, limits: { bytesInFlight: 64MiB } }
resources:
  files: { uri: "f://{+path}", root: files }
tools:
  small: { description: S, result: { text: fine } }
  later: { description: L, task: required, result: { text: done } }
"#;

/// How long the large answer is.
const LARGE_BODY_BYTES: usize = 3 << 20;

/// How much memory the server may have taken at its height.
const MAX_MEMORY_BYTES: u64 = 384 << 20;

/// How long the flood lasts at least.
const FLOOD_DURATION: Duration = Duration::from_secs(12);

/// How long an answer may take. What is shipped writes large answers a hundred times as fast as what is tested, on a
/// machine that does other things besides.
const HONEST_ANSWER_TIMEOUT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 });

fn folder() -> TestFolder {
    let folder = TestFolder::with_manifest(SERVER);
    folder.write("files/large.txt", vec![b'x'; LARGE_BODY_BYTES]);
    folder
}

/// The most memory that a process has had.
fn peak(pid: impl std::fmt::Display) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// What is written to a socket that may be closed already.
fn begin(server: &TestServer, text: &str) -> Option<TcpStream> {
    let mut socket = TcpStream::connect(("127.0.0.1", server.port)).ok()?;
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    socket.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
    socket.write_all(text.as_bytes()).ok()?;
    Some(socket)
}

fn head(server: &TestServer, headers: &str, length: usize) -> String {
    let port = server.port;
    format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{headers}Content-Length: {length}\r\n\r\n"
    )
}

fn post(server: &TestServer, headers: &str, body: &Value) -> Option<TcpStream> {
    let body = body.to_string();
    begin(server, &(head(server, headers, body.len()) + &body))
}

/// What the server says until it has nothing more to say.
fn drain(socket: Option<TcpStream>) -> String {
    let (mut text, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
    let Some(mut socket) = socket else { return String::new() };
    while let Ok(count @ 1..) = socket.read(&mut buffer) {
        text.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn message(id: impl Into<Value>, method: &str, params: Value) -> Value {
    let id: Value = id.into();
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn initialize(version: &str) -> Value {
    let info = json!({ "name": "flood", "version": "1" });
    message(0, "initialize", json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": info }))
}

/// Begins a session, and says the headers of what is asked in it.
fn session(server: &TestServer, version: &str) -> Option<String> {
    let mut socket = post(server, "", &initialize(version))?;
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    while !text.contains("\r\n\r\n") {
        let count = socket.read(&mut buffer).ok().filter(|count| *count > 0)?;
        text += &String::from_utf8_lossy(&buffer[..count]);
    }
    let line = text.lines().find(|line| line.to_ascii_lowercase().starts_with("mcp-session-id:"))?.to_owned();
    Some(format!("{line}\r\nMCP-Protocol-Version: {version}\r\n"))
}

fn large() -> Value {
    json!({ "uri": "f://large.txt" })
}

fn sessionless_request(method: &str, name: &str) -> String {
    format!("MCP-Protocol-Version: {SESSIONLESS_VERSION}\r\nMcp-Method: {method}\r\nMcp-Name: {name}\r\n")
}

fn with_meta(mut params: Value) -> Value {
    params["_meta"] = sessionless_meta();
    params
}

/// Sessions that read one large answer after another.
fn flood_with_readers(server: &TestServer, is_over: &AtomicBool) {
    for _ in 0..40 {
        let Some(headers) = session(server, "2025-11-25") else { continue };
        for id in 1..=4 {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            drain(post(server, &(headers.clone() + "Connection: close\r\n"), &message(id, "resources/read", large())));
        }
    }
}

/// Large answers that nobody reads.
fn flood_with_unread_answers(server: &TestServer, is_over: &AtomicBool) {
    let ask = || {
        post(
            server,
            &sessionless_request("resources/read", "f://large.txt"),
            &message(1, "resources/read", with_meta(large())),
        )
    };
    let mut held = Vec::new();
    while !is_over.load(Ordering::Relaxed) && held.len() < 150 {
        let mut socket = ask();
        // One after another: what is measured is not how fast a debug build writes.
        let _ = socket.as_mut().map(|socket| socket.read(&mut [0; 1]));
        held.extend(socket);
    }
    wait(is_over);
}

/// A batch of a few kilobytes with hundreds of megabytes of answers.
fn batches(server: &TestServer, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        let Some(headers) = session(server, "2025-03-26") else { continue };
        let batch: Vec<Value> = (1..=100).map(|id| message(id, "resources/read", large())).collect();
        drain(post(server, &(headers + "Connection: close\r\n"), &batch.into()));
    }
}

/// Heads and bodies that never end.
fn flood_with_partial_requests(server: &TestServer, is_over: &AtomicBool) {
    let mut held = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        held.clear();
        for number in 0..1139 {
            let whole = head(server, "", 3 << 20);
            let half = if number % 2 == 0 { &whole[..whole.len() - 20] } else { &whole };
            let mut socket = begin(server, half);
            if number % 20 == 1 {
                let _ = socket.as_mut().map(|socket| socket.write_all(&vec![b' '; 2 << 20]));
            }
            held.extend(socket);
        }
        thread::sleep(Duration::from_secs(2));
    }
}

/// Sessions that never begin.
fn flood_with_uninitialized_sessions(server: &TestServer, is_over: &AtomicBool) {
    for _ in 0..1200 {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        session(server, "2025-06-18");
    }
}

/// Requests of long ids that are cancelled, and URIs without end.
fn flood_with_long_ids(server: &TestServer, is_over: &AtomicBool) {
    let Some(headers) = session(server, "2025-11-25") else { return };
    let close = headers + "Connection: close\r\n";
    for number in 0..200 {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let id = format!("{number}{}", "i".repeat(3_900_000));
        let asked = post(server, &close, &message(id.clone(), "tools/call", json!({ "name": "small" })));
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        drain(post(server, &close, &cancel));
        drain(asked);
        let uri = format!("f://{number}{}", "u".repeat(3_900_000));
        drain(post(server, &close, &message(number, "resources/subscribe", json!({ "uri": uri }))));
    }
}

/// Tasks that end at once, more than there may be.
fn tasks(server: &TestServer, is_over: &AtomicBool) {
    let mut params = with_meta(json!({ "name": "later" }));
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    for id in 0..1200 {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let headers = sessionless_request("tools/call", "later") + "Connection: close\r\n";
        let said = drain(post(server, &headers, &message(id, "tools/call", params.clone())));
        assert!(said.is_empty() || !said.contains("tasks are") && !said.contains("tasks already"), "{said}");
    }
}

/// Arrays in arrays, which take three hundred times their text: more than may be under way, and about as much, eight at
/// a time.
fn flood_with_nested_arrays(server: &TestServer, is_over: &AtomicBool) {
    let body = |count: usize| {
        let mut params = with_meta(json!({ "name": "small" }));
        params["_meta"]["padding"] = "@".into();
        let values = vec!["[[[[[[1]]]]]]"; count].join(",");
        message(1, "tools/call", params).to_string().replace("\"@\"", &format!("[{values}]"))
    };
    let headers = sessionless_request("tools/call", "small") + "Connection: close\r\n";
    thread::scope(|scope| {
        for count in [292_857, 6000].into_iter().cycle().take(8) {
            let (body, headers) = (body(count), &headers);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    drain(begin(server, &(head(server, headers, body.len()) + &body)));
                }
            });
        }
    });
}

fn wait(is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(20));
    }
}

/// One who asks for little, again and again: the longest that it waited.
fn longest_honest_wait(server: &TestServer, until: Instant) -> Duration {
    let mut longest = Duration::ZERO;
    while Instant::now() < until {
        let began = Instant::now();
        assert_eq!(server.sessionless().call_text("small", json!({})), "fine");
        longest = longest.max(began.elapsed());
        thread::sleep(Duration::from_millis(50));
    }
    longest
}

type Attack = fn(&TestServer, &AtomicBool);

const ATTACKS: [(&str, Attack); 8] = [
    ("readers", flood_with_readers),
    ("deaf", flood_with_unread_answers),
    ("batches", batches),
    ("halves", flood_with_partial_requests),
    ("beginners", flood_with_uninitialized_sessions),
    ("labels", flood_with_long_ids),
    ("tasks", tasks),
    ("nested", flood_with_nested_arrays),
];

#[test]
fn flood_uses_bounded_memory_and_serves_others() {
    let folder = folder();
    let server = limited(&folder).http_as_configured();
    let is_over = AtomicBool::new(false);
    let only = std::env::var("FOLIO_FLOOD").ok();
    let longest = thread::scope(|scope| {
        for (_, attack) in ATTACKS.iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)) {
            scope.spawn(|| attack(&server, &is_over));
        }
        let longest = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            longest_honest_wait(&server, Instant::now() + FLOOD_DURATION)
        }));
        is_over.store(true, Ordering::Relaxed);
        longest
    });
    let peak = peak(server.pid());
    println!("flood {only:?}: peak {} MiB, longest {longest:?}", peak >> 20);
    let longest = longest.expect("an honest client was not served");
    assert!(longest < HONEST_ANSWER_TIMEOUT, "an honest client waited {longest:?}");
    assert!(peak < MAX_MEMORY_BYTES, "the server has taken {} MiB", peak >> 20);
    // A session can begin, and one that has begun is served.
    server.session("2025-11-25").round_trip();
}

/// A server that may have as many files open as most systems allow.
fn limited(folder: &TestFolder) -> ServeCommand {
    ServeCommand::wrapped_by(&["sh", "-c", "ulimit -n 1024; exec \"$@\"", "sh"], folder.path())
        .flag("--http")
        .flag("127.0.0.1:0")
}

/// What is parsed is more than is written: it is refused with the reason, or waits for its turn.
#[test]
fn nested_arrays_use_bounded_memory() {
    let folder = folder();
    let server = folder.http();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| flood_with_nested_arrays(&server, &is_over));
        longest_honest_wait(&server, Instant::now() + Duration::from_secs(4));
        is_over.store(true, Ordering::Relaxed);
    });
    let peak = peak(server.pid());
    println!("flood of nested arrays: peak {} MiB", peak >> 20);
    assert!(peak < MAX_MEMORY_BYTES, "the server has taken {} MiB", peak >> 20);
    let params = json!({ "name": "small", "_meta": { "padding": vec![json!([[[[[[1]]]]]]); 120_000] } });
    let refused = post(&server, "Connection: close\r\n", &message(1, "tools/call", params));
    let said = drain(refused);
    assert!(said.starts_with("HTTP/1.1 413") && said.contains("message too large: up to"), "{said}");
}

/// Each has sent half of its body before any sends the rest: the halves alone are more than may be under way.
#[test]
fn concurrent_large_uploads_all_complete() {
    const UPLOADS: usize = 40;
    let server = folder().http();
    let mut params = with_meta(json!({ "name": "small" }));
    params["_meta"]["padding"] = "x".repeat((4 << 20) - 1000).into();
    let body = message(1, "tools/call", params).to_string();
    let headers = sessionless_request("tools/call", "small") + "Connection: close\r\n";
    let flood_with_partial_requests = AtomicUsize::new(0);
    let upload = || {
        let mut socket = begin(&server, &head(&server, &headers, body.len())).unwrap();
        socket.set_write_timeout(Some(TEST_TIMEOUT)).unwrap();
        socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let (half, rest) = body.split_at(2 << 20);
        let _ = socket.write_all(half.as_bytes());
        flood_with_partial_requests.fetch_add(1, Ordering::Relaxed);
        // Where sockets hold less than half, some are not through before others go on.
        let deadline = Instant::now() + Duration::from_secs(5);
        while flood_with_partial_requests.load(Ordering::Relaxed) < UPLOADS && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = socket.write_all(rest.as_bytes());
        drain(Some(socket))
    };
    let answers: Vec<String> = thread::scope(|scope| {
        let uploads: Vec<_> = (0..UPLOADS).map(|_| scope.spawn(upload)).collect();
        uploads.into_iter().map(|upload| upload.join().unwrap()).collect()
    });
    for answer in answers {
        assert!(answer.contains("fine"), "{answer}");
    }
}

/// Over a pipe: many requests with large answers, of which none is read.
#[test]
fn non_reading_peer_uses_bounded_memory() {
    let folder = folder();
    let mut server = Command::new(FOLIO_BIN)
        .args(["serve", folder.path().to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = initialize("2025-11-25").to_string() + "\n";
    lines += "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    for id in 1..=600 {
        lines += &(message(id, "resources/read", large()).to_string() + "\n");
    }
    let mut stdin = server.stdin.take().unwrap();
    thread::spawn(move || {
        let _ = stdin.write_all(lines.as_bytes());
        thread::sleep(FLOOD_DURATION * 2);
    });
    let began = Instant::now();
    let mut steady = (0, Instant::now());
    while steady.0 < LARGE_BODY_BYTES as u64
        || steady.1.elapsed() < Duration::from_secs(3) && began.elapsed() < FLOOD_DURATION
    {
        thread::sleep(Duration::from_millis(50));
        let now = peak(server.id());
        if now > steady.0 {
            steady = (now, Instant::now());
        }
    }
    let _ = server.kill();
    let _ = server.wait();
    println!("flood deaf pipe: peak {} MiB", steady.0 >> 20);
    assert!(steady.0 < MAX_MEMORY_BYTES, "the server has taken {} MiB", steady.0 >> 20);
}

/// A server of these limits, and what it says to a socket on which `text` was written, until it closes that. It is left alone
/// for longer where the machine is slow.
fn said_within(limits: &str, text: impl Fn(&TestServer) -> String) -> String {
    let folder = TestFolder::with_manifest(
        &SERVER.replace("resources:", &format!("http: {{ limits: {{ {limits} }} }}\nresources:")),
    );
    folder.write("files/large.txt", vec![b'x'; LARGE_BODY_BYTES]);
    let server = folder.http();
    for seconds in [1, 4, 16] {
        let mut socket = begin(&server, &text(&server)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        thread::sleep(Duration::from_secs(seconds));
        let mut said = Vec::new();
        let closed = socket.read_to_end(&mut said).map_err(|error| error.kind());
        if matches!(closed, Ok(_) | Err(std::io::ErrorKind::ConnectionReset)) {
            return String::from_utf8_lossy(&said).into_owned();
        }
    }
    panic!("it is not closed")
}

#[test]
fn slow_request_head_times_out() {
    assert_eq!(said_within("headerTimeout: 200ms", |server| head(server, "", 3)[..50].to_owned()), "");
}

#[test]
fn slow_request_body_times_out() {
    let said = said_within("bodyTimeout: 200ms", |server| head(server, "", 3) + "{");
    assert!(said.starts_with("HTTP/1.1 408") && said.contains("body timed out after 200ms"), "{said}");
}

#[test]
fn non_reading_client_times_out() {
    // More than the sockets of both sides hold.
    let said = said_within("writeTimeout: 200ms", |server| {
        let body = message(1, "resources/read", with_meta(large())).to_string();
        let one = head(server, &sessionless_request("resources/read", "f://large.txt"), body.len()) + &body;
        one.repeat(8)
    });
    assert!(
        said.starts_with("HTTP/1.1 200") && said.len() < LARGE_BODY_BYTES * 8,
        "all of it was sent: {}",
        said.len()
    );
}

#[test]
fn full_server_evicts_longest_waiting_connection() {
    let folder =
        TestFolder::with_manifest(&SERVER.replace("resources:", "http: { limits: { connections: 4 } }\nresources:"));
    folder.write("files/a.txt", "a");
    let server = folder.http();
    let mut flood_with_partial_requests: Vec<TcpStream> =
        (0..4).map(|_| begin(&server, &head(&server, "", 3)).unwrap()).collect();
    assert_eq!(server.sessionless().call_text("small", json!({})), "fine");
    server.log.wait_for_line(0, |line| line.contains("connection limit reached"));
    let closed = |socket: &mut TcpStream| match socket.read(&mut [0; 8]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    };
    assert_eq!(flood_with_partial_requests.iter_mut().filter_map(|socket| closed(socket).then_some(())).count(), 1);
}

#[test]
fn overlong_labels_are_refused_in_every_version() {
    let folder = folder();
    for version in SESSION_VERSIONS.into_iter().chain([SESSIONLESS_VERSION]) {
        let server = folder.stdio();
        let client = server.client(version);
        let long = "x".repeat(20_000);
        for (method, params) in [
            ("tools/call", json!({ "name": long })),
            ("tools/list", json!({ "cursor": long })),
            ("resources/read", json!({ "uri": format!("f://{long}") })),
            ("tools/call", json!({ "name": "small", "_meta": { "progressToken": long } })),
        ] {
            let refused = client.error(method, params);
            assert_eq!(refused["code"], -32602, "{refused}");
            assert!(
                refused.to_string().len() < 500 && refused["message"].as_str().unwrap().contains("is too long (limit")
            );
        }
        let pipe = client.pipe();
        pipe.write_line(message(long.clone(), "tools/list", json!({})).to_string());
        assert_eq!(pipe.take(|said| said["id"].is_null())["error"]["message"], "`id` is too long (limit 1 KiB)");
    }
}

/// Programs that run until there is a file `gate`.
const SLOW: &str = r#"folio: 1
server: { name: s, limits: { programs: 4, bytesInFlight: 64MiB } }
tools:
  slow: { description: S, run: { exec: [sh, -c, "while ! [ -e gate ]; do sleep 0.05; done", MARKER] } }
  quick: { description: Q, run: { exec: [printf, fine] } }
  takes: { description: T, arguments: { text: {} }, result: { text: fine } }
  asks: { description: A, arguments: { text: {} }, run: [{ ask: { q: { elicit: { message: Sure?, schema: { yes: {} } } } } }] }
"#;

#[test]
fn one_caller_has_at_most_half_of_the_programs() {
    let marker = format!("folio-suite-share-{}", std::process::id());
    let folder = TestFolder::with_manifest(&SLOW.replace("MARKER", &marker));
    let server = folder.http();
    let callers = [server.session("2025-11-25"), server.sessionless()];
    let mut started = Vec::new();
    for (count, greedy) in (1..).zip(&callers) {
        started.extend((0..8).map(|_| (greedy, greedy.start_call("slow", json!({})))));
        wait_until("its share", || processes_with_argument(&marker).len() == 2 * count);
        if count < callers.len() {
            assert_eq!(server.session("2025-11-25").call_text("quick", json!({})), "fine");
            assert_eq!(processes_with_argument(&marker).len(), 2 * count);
        }
    }
    folder.write("gate", "");
    for (greedy, id) in started {
        assert!(greedy.wait_for_answer(id).get("result").is_some());
    }
    // On a pipe there is nobody else.
    folder.remove("gate");
    let pipes = folder.stdio();
    let only = pipes.session("2025-11-25");
    for _ in 0..8 {
        only.start_call("slow", json!({}));
    }
    wait_until("all there are", || processes_with_argument(&marker).len() == 4);
}

#[test]
fn unanswered_questions_hold_no_memory_of_others() {
    let folder = TestFolder::with_manifest(SLOW);
    let server = folder.http();
    // What has escapes may take ten times its text: each is nearly half of what large requests may take.
    let large = "\u{1}".repeat(250_000);
    let asked: Vec<TestClient> = (0..2)
        .map(|_| {
            let client = server.client_with("2025-11-25", json!({ "elicitation": {} }));
            client.start_call("asks", json!({ "text": large }));
            client.next_question();
            client
        })
        .collect();
    let began = Instant::now();
    for client in [server.session("2025-11-25"), server.sessionless()] {
        assert_eq!(client.call_text("takes", json!({ "text": large })), "fine");
    }
    assert!(began.elapsed() < Duration::from_secs(20), "they waited {:?}", began.elapsed());
    drop(asked);
}

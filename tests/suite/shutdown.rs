//! Shutdown: orderly, within a second, and without leftovers.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::*;

/// The end may take this long; the machine that tests may be slow, so the second is measured in the middle of several.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

fn folder(marker: &str) -> TestFolder {
    TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: slow }}\nprompts:\n  p: {{ text: Hi }}\ntools:\n  wait:\n    description: Waits\n    run: {{ exec: [sh, -c, \"trap '' TERM HUP INT; sleep 60 & sleep 60\", {marker}] }}\n    timeout: 2m\n"
    ))
}

fn marker(test: &str) -> String {
    format!("folio-suite-end-{test}-{}", std::process::id())
}

#[derive(Clone, Copy, PartialEq)]
enum StopSignal {
    Terminate,
    Interrupt,
    EndOfInput,
}

fn end(server: &TestServer, how: StopSignal) -> Duration {
    let began = Instant::now();
    match how {
        StopSignal::Terminate => server.signal("TERM"),
        StopSignal::Interrupt => server.signal("INT"),
        StopSignal::EndOfInput => server.pipe().close(),
    }
    let status = server.wait_for_exit(SHUTDOWN_TIMEOUT).expect("the server does not end");
    assert_eq!(status.code(), Some(0), "{}", server.log.text());
    began.elapsed()
}

/// A stream ends with a result that names it.
fn assert_is_last(listening: &Subscription) {
    let last = listening.wait_for_result();
    assert_eq!(last["result"]["resultType"], "complete", "{last}");
    assert_eq!(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listening.id, "{last}");
}

fn on_pipes(how: StopSignal, name: &str) {
    assert_within_a_second(|round| {
        let marker = marker(&format!("{name}-{round}"));
        let folder = folder(&marker);
        let server = folder.stdio();
        let client = server.sessionless();
        let listening = client.listen(json!({ "promptsListChanged": true }));
        client.send("tools/call", json!({ "name": "wait" }));
        wait_until("the child", || !processes_with_argument(&marker).is_empty());
        let took = end(&server, how);
        if how != StopSignal::EndOfInput {
            assert_is_last(&listening);
        }
        wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
        client.pipe().assert_only_messages();
        took
    });
}

#[test]
fn sigterm_ends_stdio_server_and_children() {
    on_pipes(StopSignal::Terminate, "term");
}

#[test]
fn sigint_ends_stdio_server_and_children() {
    on_pipes(StopSignal::Interrupt, "int");
}

#[test]
fn eof_ends_server_with_open_stream() {
    on_pipes(StopSignal::EndOfInput, "eof");
}

#[test]
fn eof_ends_stdio_session() {
    assert_within_a_second(|round| {
        let marker = marker(&format!("session-{round}"));
        let folder = folder(&marker);
        let server = folder.stdio();
        let client = server.session("2025-11-25");
        client.send("tools/call", json!({ "name": "wait" }));
        wait_until("the child", || !processes_with_argument(&marker).is_empty());
        let took = end(&server, StopSignal::EndOfInput);
        wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
        took
    });
}

fn on_sockets(how: StopSignal, name: &str) {
    assert_within_a_second(|round| {
        let marker = marker(&format!("{name}-{round}"));
        let folder = folder(&marker);
        let server = folder.http();
        let sessions = SESSION_VERSIONS.map(|version| server.session(version));
        let streams = sessions.each_ref().map(TestClient::open_stream);
        let session = &sessions[3];
        let modern = server.sessionless();
        let listening = modern.listen(json!({ "promptsListChanged": true }));
        std::thread::scope(|scope| {
            // The answer is whatever the end leaves of it.
            let calling = scope.spawn(|| {
                let body = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "wait" } });
                let _ = std::panic::catch_unwind(|| {
                    server.http_client().post(&[("Mcp-Session-Id", session.session_id())], &body)
                });
            });
            wait_until("the child", || !processes_with_argument(&marker).is_empty());
            let took = end(&server, how);
            assert_is_last(&listening);
            assert!(streams.iter().all(SseStream::wait_for_end));
            wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
            let _ = calling.join();
            took
        })
    });
}

#[test]
fn sigterm_ends_http_server_and_streams_with_result() {
    on_sockets(StopSignal::Terminate, "web-term");
}

#[test]
fn sigint_ends_http_server_within_a_second() {
    on_sockets(StopSignal::Interrupt, "web-int");
}

#[test]
fn port_is_free_after_shutdown() {
    let folder = folder("unused");
    let server = folder.http();
    let address = format!("--http=127.0.0.1:{}", server.port);
    end(&server, StopSignal::Terminate);
    let again = folder.serve_command().flag(&address).http_as_configured();
    again.sessionless().round_trip();
}

#[test]
fn children_end_when_server_is_killed() {
    let marker = marker("killed");
    let folder = folder(&marker);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    client.send("tools/call", json!({ "name": "wait" }));
    wait_until("the child", || !processes_with_argument(&marker).is_empty());
    server.signal("KILL");
    server.wait_for_exit(SHUTDOWN_TIMEOUT).expect("the server does not end");
    wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
}

#[test]
fn closed_stdout_ends_the_server() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let folder = folder("unused");
    let mut child = Command::new(FOLIO_BIN);
    child.arg("serve").arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    let deadline = Instant::now() + TEST_TIMEOUT;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < deadline, "the server writes to nobody for ever");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(0));
}

#[test]
fn non_reading_peer_does_not_delay_shutdown() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  t: { description: T, arguments: { x: {} }, result: { text: \"{{x}}\" } }\n",
    );
    let mut child = Command::new(FOLIO_BIN);
    child.arg("serve").arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It takes what it can; some day it reads no more, as nobody reads what it writes.
    let flooding = std::thread::spawn(move || {
        let long = "x".repeat(100_000);
        for id in 0..10_000 {
            let meta = sessionless_meta();
            let params = json!({ "name": "t", "arguments": { "x": long }, "_meta": meta });
            let line = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            if writeln!(stdin, "{line}").is_err() {
                return;
            }
        }
        panic!("a gigabyte of answers that nobody reads was taken");
    });
    let mut seen = 0;
    wait_until("a standstill", || {
        // Nothing is read any more when the process no longer works.
        let before = seen;
        seen = processor_time(child.id());
        std::thread::sleep(Duration::from_millis(200));
        before > 0 && seen == before
    });
    let ended = Command::new("sh").args(["-c", &format!("kill -TERM {}", child.id())]).status().unwrap();
    assert!(ended.success());
    let deadline = Instant::now() + SHUTDOWN_TIMEOUT;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "the end is held up");
        std::thread::sleep(Duration::from_millis(5));
    }
    flooding.join().unwrap();
}

/// What a process has worked so far, in ticks; 1 where that cannot be told.
fn processor_time(pid: u32) -> u64 {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return 1 };
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

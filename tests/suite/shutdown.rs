//! Shutdown: orderly, within a second, and without leftovers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::*;

/// The end may take this long; the machine that tests may be slow, so the second is measured in the middle of several.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

fn folder(marker: &str) -> TestFolder {
    TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: slow }}\nprompts:\n  p: {{ text: Hi }}\ntools:\n  ask: {{ description: Asks, run: [{{ ask: {{ q: {{ elicit: {{ message: Sure?, schema: {{ yes: {{}} }} }} }} }} }}] }}\n  wait:\n    description: Waits\n    run: {{ exec: [sh, -c, \"trap '' TERM HUP INT; sleep 60 & sleep 60\", {marker}] }}\n    timeout: 2m\n"
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

/// A call that was running is answered.
fn assert_is_cancelled(answer: &Value) {
    let error = &answer["error"];
    assert_eq!((&error["code"], &error["message"]), (&json!(-32603), &json!(STOPPED)), "{answer}");
}

const STOPPED: &str = "the server is stopping: the call was cancelled";

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
        let call = client.send("tools/call", json!({ "name": "wait" }));
        wait_until("the child", || !processes_with_argument(&marker).is_empty());
        let took = end(&server, how);
        assert_is_last(&listening);
        assert_is_cancelled(&client.wait_for_answer(call));
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
        let client = server.client_with("2025-11-25", json!({ "elicitation": {} }));
        let calls = ["wait", "ask"].map(|name| client.start_call(name, json!({})));
        client.next_question();
        wait_until("the child", || !processes_with_argument(&marker).is_empty());
        let took = end(&server, StopSignal::EndOfInput);
        calls.iter().for_each(|call| assert_is_cancelled(&client.wait_for_answer(*call)));
        wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
        took
    });
}

#[test]
fn abandoned_calls_are_counted_on_stderr() {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::{Command, Stdio};
    let marker = marker("abandoned");
    let folder = folder(&marker);
    let mut child = Command::new(FOLIO_BIN);
    child.arg("serve").arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let request = |id: i64, method: &str, mut params: Value| {
        params["_meta"] = sessionless_meta();
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    };
    for id in [1, 2] {
        writeln!(stdin, "{}", request(id, "tools/call", json!({ "name": "wait" }))).unwrap();
    }
    writeln!(stdin, "{}", request(3, "tools/list", json!({}))).unwrap();
    let mut stdout = BufReader::new(stdout);
    stdout.read_line(&mut String::new()).unwrap();
    wait_until("the children", || !processes_with_argument(&marker).is_empty());
    drop((stdout, stdin));
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(log.contains("2 calls abandoned"), "{log}");
}

fn on_sockets(how: StopSignal, name: &str) {
    assert_within_a_second(|round| {
        let marker = marker(&format!("{name}-{round}"));
        let folder = folder(&marker);
        let server = folder.http();
        let asked = json!({ "elicitation": {} });
        let sessions = SESSION_VERSIONS.map(|version| server.client_with(version, asked.clone()));
        let streams = sessions.each_ref().map(TestClient::open_stream);
        let modern = server.sessionless();
        let listening = modern.listen(json!({ "promptsListChanged": true }));
        let mut clients: Vec<&TestClient> = sessions.iter().collect();
        clients.push(&modern);
        let mut calls: Vec<_> = clients.iter().map(|client| (*client, client.start_call("wait", json!({})))).collect();
        calls.push((&sessions[3], sessions[3].start_call("ask", json!({}))));
        sessions[3].next_question();
        // A shell and two that sleep for each.
        wait_until("the children", || processes_with_argument(&marker).len() >= clients.len());
        let took = end(&server, how);
        assert_is_last(&listening);
        for (client, call) in calls {
            assert_is_cancelled(&client.wait_for_answer(call));
        }
        assert!(streams.iter().all(SseStream::wait_for_end));
        wait_until("the end of the children", || processes_with_argument(&marker).is_empty());
        assert!(!server.log.text().contains("abandoned"), "{}", server.log.text());
        took
    });
}

#[test]
fn sigterm_answers_calls_of_http_sse() {
    let marker = marker("sse");
    let folder = folder(&marker);
    let server = folder.serve_command().flag("--sse").http();
    let client = server.sse_client("2024-11-05");
    let call = client.start_call("wait", json!({}));
    wait_until("the child", || !processes_with_argument(&marker).is_empty());
    end(&server, StopSignal::Terminate);
    assert_is_cancelled(&client.wait_for_answer(call));
}

#[test]
fn running_tasks_are_counted_as_abandoned() {
    let marker = marker("task");
    let folder = folder(&marker);
    let manifest = std::fs::read_to_string(folder.join("folio.yaml")).unwrap();
    folder.write("folio.yaml", manifest.replace("description: Waits", "description: Waits\n    task: required"));
    for server in [folder.stdio(), folder.http()] {
        let capabilities = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        let client = server.client_with(SESSIONLESS_VERSION, capabilities);
        assert_eq!(client.call("wait", json!({}))["resultType"], "task");
        end(&server, StopSignal::Terminate);
        server.log.wait_for_line(0, |line| line.contains("1 call abandoned"));
        wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
    }
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

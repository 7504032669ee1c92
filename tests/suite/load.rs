//! Many clients, the worst of them: nobody is slowed down, and nothing stays behind.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::*;

/// How many clients do the same.
const MANY: usize = 50;

/// How many sessions there may be: those of the clients below, and a few.
const MOST: usize = 2 * MANY + 20;

/// How many sessions of each kind are opened and dropped in a round.
const SESSIONS_OPENED: usize = 1000;

/// When a session ends whose client has vanished: late enough that a machine that stands still for a while ends none.
const VANISHED: &str = "5s";

/// When a session ends that is only ended in order: never, as long as a test takes.
const KEPT: &str = "1h";

/// What a round trip may take while others do their worst. One that waits for another client, which never reads, waits
/// for as long as that client is there.
const PROMPT: Duration = Duration::from_secs(10);

/// A server whose lists change with the round, and whose sessions end when nobody has used them for as long as `idle`.
fn manifest(idle: &str, round: usize) -> String {
    format!(
        "folio: 1\nserver: {{ name: load }}\nhttp: {{ sse: true, maxSessions: {MOST}, sessionIdle: {idle} }}\ntools:\n  t{round}: {{ description: D, result: {{ text: x }} }}\nresources:\n  a: {{ uri: \"a://a\", text: \"{round}\" }}\n"
    )
}

/// What the server holds: open files, and kilobytes of its own, beside what it maps of its file.
#[derive(Debug, Clone, Copy)]
struct Held {
    files: usize,
    kilobytes: usize,
}

fn held(server: &Server) -> Held {
    let pid = server.pid();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kilobytes = own.trim().trim_end_matches("kB").trim().parse().unwrap();
    // A server lets nobody but root see what it has open; others see its connections.
    let files = fs::read_dir(format!("/proc/{pid}/fd")).map(Iterator::count);
    Held { files: files.unwrap_or_else(|_| connections(server.port)), kilobytes }
}

/// The connections to a port that its server holds, in whatever state but those that the system ends by itself.
fn connections(port: u16) -> usize {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let (local, held) = (format!(":{port:04X}"), ["01", "08"]);
    let fields = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    fields.filter(|line| line[1].ends_with(&local) && held.contains(&line[3])).count()
}

/// What the server holds before anybody came. One that has told of a change has opened what it keeps open.
fn watching(folder: &Folder, server: &Server, idle: &str) -> Held {
    changed(folder, server, idle, 1);
    held(server)
}

/// What the server holds when the connections of its clients are closed, and it has no more files open than `before`.
fn at_rest(server: &Server, before: Held) -> Held {
    eventually("the end of all connections", || held(server).files <= before.files);
    held(server)
}

/// Fails if the server holds more than it did. What an allocator keeps for later is never quite the same, hence a
/// quarter; a single kilobyte for each session that was is more.
fn assert_given_back(warm: Held, after: Held) {
    assert!(after.kilobytes <= warm.kilobytes + warm.kilobytes / 4, "{warm:?}, then {after:?}");
}

fn connect(server: &Server, method: &str, path: &str, headers: &[(String, String)], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n",
        server.port
    );
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    stream
}

/// Streams of every kind that nobody reads: of sessions, of 2026-07-28, and of HTTP+SSE.
fn unread(server: &Server) -> Vec<TcpStream> {
    let modern = server.modern();
    let params =
        modern.params(json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": ["a://a"] } }));
    let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params }).to_string();
    let headers = modern.headers("subscriptions/listen", &params);
    let streams = (0..MANY).flat_map(|_| {
        let session = server.session("2025-11-25");
        session.result("resources/subscribe", json!({ "uri": "a://a" }));
        [
            connect(server, "GET", "/mcp", &session.headers("", &Value::Null), ""),
            connect(server, "POST", "/mcp", &headers, &listen),
            connect(server, "GET", "/sse", &[], ""),
        ]
    });
    streams.collect()
}

/// Whether nearly as many sessions can begin as may be. They are ended at once.
fn room(server: &Server) -> bool {
    let begin = |client: &Client| client.notify("notifications/initialized", Value::Null);
    let sessions: Vec<Client> = (0..MOST - 5).map_while(|_| server.try_sse().inspect(begin)).collect();
    let all = sessions.len() == MOST - 5;
    sessions.iter().for_each(Client::hang_up);
    all
}

fn changed(folder: &Folder, server: &Server, idle: &str, round: usize) {
    let mark = server.log.mark();
    folder.write("folio.yaml", manifest(idle, round));
    server.log.reloaded_after(mark);
}

/// Fails if a round trip, a change or word of it takes long.
fn assert_prompt(folder: &Folder, server: &Server, round: usize) {
    let (session, modern) = (server.session("2025-11-25"), server.modern());
    let _stream = session.open_stream();
    let listening = modern.listen(json!({ "toolsListChanged": true }));
    changed(folder, server, VANISHED, round);
    let begun = Instant::now();
    session.wait_for("notifications/tools/list_changed");
    listening.wait_for("notifications/tools/list_changed");
    session.round_trip();
    modern.round_trip();
    assert!(begun.elapsed() < PROMPT, "{:?}", begun.elapsed());
}

#[test]
fn clients_that_never_read_and_clients_that_vanish_slow_nobody_and_leave_nothing() {
    let folder = Folder::of(&manifest(VANISHED, 0));
    let server = folder.http();
    let before = watching(&folder, &server, VANISHED);
    let worst = |rounds: std::ops::Range<usize>| {
        let streams = unread(&server);
        eventually("the streams", || held(&server).files >= streams.len());
        rounds.for_each(|round| assert_prompt(&folder, &server, round));
        // What is closed with something unread in it is reset.
        drop(streams);
        at_rest(&server, before);
        // Their sessions end when nobody has used them for a while.
        eventually("the end of their sessions", || room(&server));
        at_rest(&server, before)
    };
    // The first time decides how much the allocator keeps.
    worst(2..4);
    let warm = worst(4..6);
    let after = worst(6..8);
    assert_given_back(warm, after);
    let amiss = server.log.lines().into_iter().filter(|line| !line.contains("INFO") && !line.contains(" on http://"));
    assert_eq!(amiss.collect::<Vec<_>>(), [] as [String; 0]);
}

#[test]
fn sessions_that_are_opened_and_dropped_give_their_memory_back() {
    let folder = Folder::of(&manifest(KEPT, 0));
    let server = folder.http();
    let before = watching(&folder, &server, KEPT);
    let round = || {
        for _ in 0..SESSIONS_OPENED {
            let session = server.session("2025-11-25");
            let headers = session.headers("", &Value::Null);
            let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(server.web().send("DELETE", &headers, b"").status, 204);
            server.sse_at("/sse", &[], "2024-11-05").hang_up();
        }
        at_rest(&server, before)
    };
    let warm = round();
    let after = round();
    assert_given_back(warm, after);
}

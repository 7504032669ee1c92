//! Many clients at once, bad ones among them: none is slowed down, and nothing leaks.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::*;

/// How many clients do the same.
const CLIENTS_PER_KIND: usize = 50;

/// How many sessions there may be: those of the clients below, and a few.
const MAX_SESSIONS: usize = 2 * CLIENTS_PER_KIND + 20;

/// How many sessions of each kind are opened and dropped in a round.
const SESSIONS_OPENED: usize = 1000;

/// When a session ends whose client has vanished: late enough that a machine that stands still for a while ends none.
const SHORT_SESSION_IDLE: &str = "5s";

/// When a session ends that is only ended in order: never, as long as a test takes.
const LONG_SESSION_IDLE: &str = "1h";

/// What a round trip may take while others do their worst. One that waits for another client, which never reads, waits
/// for as long as that client is there.
const PROMPT_ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A server whose lists change with the round, and whose sessions end when nobody has used them for as long as `idle`.
fn manifest(idle: &str, round: usize) -> String {
    format!(
        "folio: 1\nserver: {{ name: load }}\nhttp: {{ sse: true, maxSessions: {MAX_SESSIONS}, sessionIdle: {idle} }}\ntools:\n  t{round}: {{ description: D, result: {{ text: x }} }}\nresources:\n  a: {{ uri: \"a://a\", text: \"{round}\" }}\n"
    )
}

/// What the server holds: open files, and kilobytes of its own, beside what it maps of its file.
#[derive(Debug, Clone, Copy)]
struct ServerUsage {
    files: usize,
    kilobytes: usize,
}

fn server_usage(server: &TestServer) -> ServerUsage {
    let pid = server.pid();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kilobytes = own.trim().trim_end_matches("kB").trim().parse().unwrap();
    // A server lets nobody but root see what it has open; others see its connections.
    let files = fs::read_dir(format!("/proc/{pid}/fd")).map(Iterator::count);
    ServerUsage { files: files.unwrap_or_else(|_| connections(server.port)), kilobytes }
}

/// The connections to a port that its server holds, in whatever state but those that the system ends by itself.
fn connections(port: u16) -> usize {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let (local, server_usage) = (format!(":{port:04X}"), ["01", "08"]);
    let fields = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    fields.filter(|line| line[1].ends_with(&local) && server_usage.contains(&line[3])).count()
}

/// What the server holds before anybody came. One that has told of a change has opened what it keeps open.
fn usage_while_watching(folder: &TestFolder, server: &TestServer, idle: &str) -> ServerUsage {
    changed(folder, server, idle, 1);
    server_usage(server)
}

/// What the server holds when the connections of its clients are closed, and it has no more files open than `before`.
fn usage_at_rest(server: &TestServer, before: ServerUsage) -> ServerUsage {
    wait_until("the end of all connections", || server_usage(server).files <= before.files);
    server_usage(server)
}

/// Fails if the server holds more than it did. What an allocator keeps for later is never quite the same, hence a
/// quarter; a single kilobyte for each session that was is more.
fn assert_given_back(warm: ServerUsage, after: ServerUsage) {
    assert!(after.kilobytes <= warm.kilobytes + warm.kilobytes / 4, "{warm:?}, then {after:?}");
}

fn connect(server: &TestServer, method: &str, path: &str, headers: &[(String, String)], body: &str) -> TcpStream {
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
fn open_unread_streams(server: &TestServer) -> Vec<TcpStream> {
    let modern = server.sessionless();
    let params =
        modern.params(json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": ["a://a"] } }));
    let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params }).to_string();
    let headers = modern.headers("subscriptions/listen", &params);
    let streams = (0..CLIENTS_PER_KIND).flat_map(|_| {
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
fn has_session_room(server: &TestServer) -> bool {
    let begin = |client: &TestClient| client.notify("notifications/initialized", Value::Null);
    let sessions: Vec<TestClient> =
        (0..MAX_SESSIONS - 5).map_while(|_| server.try_sse_client().inspect(begin)).collect();
    let all = sessions.len() == MAX_SESSIONS - 5;
    sessions.iter().for_each(TestClient::close_stream);
    all
}

fn changed(folder: &TestFolder, server: &TestServer, idle: &str, round: usize) {
    let mark = server.log.line_count();
    folder.write("folio.yaml", manifest(idle, round));
    server.log.wait_for_reload(mark);
}

/// Fails if a round trip, a change or word of it takes long.
fn assert_prompt(folder: &TestFolder, server: &TestServer, round: usize) {
    let (session, modern) = (server.session("2025-11-25"), server.sessionless());
    let _stream = session.open_stream();
    let listening = modern.listen(json!({ "toolsListChanged": true }));
    changed(folder, server, SHORT_SESSION_IDLE, round);
    let begun = Instant::now();
    session.wait_for("notifications/tools/list_changed");
    listening.wait_for("notifications/tools/list_changed");
    session.round_trip();
    modern.round_trip();
    assert!(begun.elapsed() < PROMPT_ANSWER_TIMEOUT, "{:?}", begun.elapsed());
}

#[test]
fn dead_clients_slow_nobody_and_leak_nothing() {
    let folder = TestFolder::with_manifest(&manifest(SHORT_SESSION_IDLE, 0));
    let server = folder.http();
    let before = usage_while_watching(&folder, &server, SHORT_SESSION_IDLE);
    let worst = |rounds: std::ops::Range<usize>| {
        let streams = open_unread_streams(&server);
        wait_until("the streams", || server_usage(&server).files >= streams.len());
        rounds.for_each(|round| assert_prompt(&folder, &server, round));
        // What is closed with something unread in it is reset.
        drop(streams);
        usage_at_rest(&server, before);
        // Their sessions end when nobody has used them for a while.
        wait_until("the end of their sessions", || has_session_room(&server));
        usage_at_rest(&server, before)
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
fn dropped_sessions_free_their_memory() {
    let folder = TestFolder::with_manifest(&manifest(LONG_SESSION_IDLE, 0));
    let server = folder.http();
    let before = usage_while_watching(&folder, &server, LONG_SESSION_IDLE);
    let round = || {
        for _ in 0..SESSIONS_OPENED {
            let session = server.session("2025-11-25");
            let headers = session.headers("", &Value::Null);
            let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(server.http_client().send("DELETE", &headers, b"").status, 204);
            server.open_sse_client("/sse", &[], "2024-11-05").close_stream();
        }
        usage_at_rest(&server, before)
    };
    let warm = round();
    let after = round();
    assert_given_back(warm, after);
}

/// What reads, writes, edits, lists, moves and removes files of 16 clients, each in a folder of its own.
const FILES: &str = r#"
folio: 1
server: { name: files, limits: { callsPerSecond: 1000000 } }
folders: { n: { path: n, write: true }, work: { path: "{{workspace}}" } }
x-keys: &keys { description: D, arguments: { at: {} } }
tools:
  write: { <<: *keys, run: { file: { write: "{{at}}/a", in: n, text: "one\ntwo\n" } } }
  append: { <<: *keys, run: { file: { append: "{{at}}/a", in: n, text: "three\n" } } }
  edit: { <<: *keys, run: { file: { write: "{{at}}/a", in: n, edits: [{ old: two, new: "2" }] } } }
  read: { <<: *keys, run: { file: { read: "n/{{at}}/a", in: work } } }
  list: { <<: *keys, run: { file: { list: "{{at}}", in: n } } }
  find: { <<: *keys, run: { file: { find: "{{at}}", in: n, glob: "**/*" } } }
  copy: { <<: *keys, run: { file: { copy: "{{at}}/a", to: "{{at}}/b", in: n } } }
  move: { <<: *keys, run: { file: { move: "{{at}}/b", to: "{{at}}/c", in: n } } }
  stat: { <<: *keys, run: { file: { stat: "{{at}}/c", in: n } } }
  remove: { <<: *keys, run: { file: { remove: "{{at}}/c", in: n } } }
"#;

#[test]
fn thousands_of_file_actions_leave_nothing_behind() {
    const ROUNDS: usize = 6;
    const ACTIONS_OF_A_ROUND: usize = 5_000;
    const AT_ONCE: usize = 16;
    /// Less than half a kilobyte for each action.
    const KILOBYTES_OF_A_ROUND: usize = 2 << 10;
    const TOOLS: [&str; 10] = ["write", "append", "edit", "read", "list", "find", "copy", "move", "stat", "remove"];
    let folder = TestFolder::in_memory(&[("folio.yaml", FILES)]);
    (0..AT_ONCE).for_each(|client| folder.write(&format!("n/{client}/keep"), ""));
    let command = folder.serve_command().flag("--no-watch");
    let server = command.flag(&format!("--workspace={}", folder.path().display())).stdio();
    let client = server.sessionless();
    let call_all = |actions: usize| {
        std::thread::scope(|scope| {
            for nth in 0..AT_ONCE {
                let client = &client;
                scope.spawn(move || {
                    for tool in TOOLS.iter().cycle().take(actions / AT_ONCE / TOOLS.len() * TOOLS.len()) {
                        let result = client.call(tool, json!({ "at": nth.to_string() }));
                        assert_eq!(result["isError"], false, "{tool}: {result}");
                    }
                });
            }
        });
    };
    let usage_after_round = || {
        call_all(ACTIONS_OF_A_ROUND);
        server_usage(&server)
    };
    // Threads that wait for disks come and go, each with some memory of its own; what is left behind grows in every round.
    let mut usages = vec![usage_after_round()];
    let is_at_rest = |usages: &[ServerUsage]| match usages {
        [.., before, after] => {
            after.files <= before.files && after.kilobytes <= before.kilobytes + KILOBYTES_OF_A_ROUND
        }
        _ => false,
    };
    while !is_at_rest(&usages) && usages.len() <= ROUNDS {
        usages.push(usage_after_round());
    }
    assert!(is_at_rest(&usages), "{usages:?}");
    for nth in 0..AT_ONCE {
        let mut names: Vec<_> =
            fs::read_dir(folder.join(&format!("n/{nth}"))).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a", "keep"]);
    }
}

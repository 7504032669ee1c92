//! Streams of HTTP sessions: resumed, parallel, and checked for a live client.

use std::time::Instant;

use serde_json::{Value, json};

use crate::every_client::DESK;
use crate::harness::*;

/// A tool that is done when there is a file `gate`.
const GATED: &str = "folio: 1\nserver: { name: s }\ntools:\n  t: { description: T, run: { exec: [sh, -c, \"while ! [ -e gate ]; do sleep 0.02; done; echo through\"] } }\n";

/// An event as it was written.
#[derive(Debug)]
struct Event {
    id: String,
    data: Value,
}

fn event(response: &mut HttpResponse) -> Event {
    let text = response.first_event();
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap_or_default();
    Event { id: field("id:").to_owned(), data: serde_json::from_str(field("data:")).unwrap_or_default() }
}

fn borrowed(headers: &[(String, String)]) -> Vec<(&str, &str)> {
    headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// Opens the stream of a session, anew or behind an event.
fn open(client: &TestClient, after: Option<&str>) -> HttpResponse {
    let headers = client.headers("", &Value::Null);
    let mut headers = borrowed(&headers);
    headers.push(("Accept", "text/event-stream"));
    headers.extend(after.map(|id| ("Last-Event-ID", id)));
    let response = client.http_client().send("GET", &headers, b"");
    assert_eq!(response.status, 200, "{response:?}");
    response
}

fn post(client: &TestClient, body: &Value) -> HttpResponse {
    let headers = client.headers("", &Value::Null);
    client.http_client().post(&borrowed(&headers), body)
}

fn call(id: i64, name: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name } })
}

fn is_gone(client: &TestClient) -> bool {
    post(client, &json!({ "jsonrpc": "2.0", "id": 4711, "method": "ping" })).status == 404
}

/// Changes a list, and waits until the server has seen it.
fn change(folder: &TestFolder, server: &TestServer, of: &str, name: &str) {
    let mark = server.log.line_count();
    let entry = if of == "prompts" { "{ text: Hi }" } else { "{ description: D, result: { text: x } }" };
    folder.write("folio.yaml", DESK.replace(&format!("\n{of}:\n"), &format!("\n{of}:\n  {name}: {entry}\n")));
    server.log.wait_for_reload(mark);
}

#[test]
fn broken_stream_resumes_after_last_event_id() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let client = server.session("2025-11-25");
    let mut stream = open(&client, None);
    let primed = event(&mut stream);
    assert_eq!(primed.data, Value::Null);
    change(&folder, &server, "tools", "one");
    let first = event(&mut stream);
    assert_eq!(first.data["method"], "notifications/tools/list_changed");
    drop(stream);
    change(&folder, &server, "prompts", "two");
    let mut stream = open(&client, Some(&first.id));
    let again = event(&mut stream);
    assert_eq!((&*again.id, &again.data), (&*first.id, &Value::Null), "it begins at the same place");
    let told = [event(&mut stream), event(&mut stream)];
    // The second edit took back the first.
    assert_eq!(told[0].data["method"], "notifications/tools/list_changed");
    assert_eq!(told[1].data["method"], "notifications/prompts/list_changed");
    drop(stream);
    let mut stream = open(&client, Some(&primed.id));
    event(&mut stream);
    let all = [event(&mut stream), event(&mut stream), event(&mut stream)];
    assert_eq!(all.map(|event| event.id), [first.id, told[0].id.clone(), told[1].id.clone()]);
}

/// What says that a client has begun may be lost on its way to one of several replicas.
#[test]
fn who_listens_without_having_said_that_it_has_begun_hears_of_changes() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let client = server.uninitialized("2025-11-25");
    let mut stream = open(&client, None);
    event(&mut stream);
    change(&folder, &server, "tools", "one");
    assert_eq!(event(&mut stream).data["method"], "notifications/tools/list_changed");
}

#[test]
fn older_version_stream_resumes() {
    for version in ["2025-03-26", "2025-06-18"] {
        let folder = TestFolder::with_manifest(DESK);
        let server = folder.http();
        let client = server.session(version);
        let mut stream = open(&client, None);
        change(&folder, &server, "tools", "one");
        let first = event(&mut stream);
        assert_eq!(first.data["method"], "notifications/tools/list_changed", "{version}");
        drop(stream);
        change(&folder, &server, "prompts", "two");
        // The second time it goes on behind the same event, what came then was lost on the way.
        for _ in 0..2 {
            let mut stream = open(&client, Some(&first.id));
            // The second edit took back the first.
            let told = [event(&mut stream), event(&mut stream)].map(|event| event.data["method"].clone());
            assert_eq!(told, ["notifications/tools/list_changed", "notifications/prompts/list_changed"], "{version}");
        }
    }
}

#[test]
fn answer_is_replayed_after_broken_stream() {
    let folder = TestFolder::with_manifest(GATED);
    let server = folder.http();
    let client = server.session("2025-11-25");
    let mut stream = post(&client, &call(101, "t"));
    let primed = event(&mut stream);
    drop(stream);
    folder.write("gate", "");
    let mut stream = open(&client, Some(&primed.id));
    event(&mut stream);
    assert_eq!(event(&mut stream).data["result"]["content"][0]["text"], "through\n");
    assert_eq!(stream.text(), "", "it ends with the answer");
    // Once more, in case it was lost on the way again.
    let mut stream = open(&client, Some(&primed.id));
    event(&mut stream);
    assert_eq!(event(&mut stream).data["id"], 101);
}

#[test]
fn answer_that_is_there_at_once_is_json_where_its_client_takes_it() {
    let folder = TestFolder::with_manifest(&format!("{GATED}  quick: {{ description: Q, result: {{ text: x }} }}\n"));
    let server = folder.http();
    for version in ["2025-03-26", "2025-11-25"] {
        let client = server.session(version);
        let headers = client.headers("", &Value::Null);
        let mut takes_events = borrowed(&headers);
        takes_events.extend([("Content-Type", "application/json"), ("Accept", "text/event-stream")]);
        let as_events = |body: &Value| client.http_client().send("POST", &takes_events, body.to_string().as_bytes());
        for (response, id, media_type) in [
            (post(&client, &call(101, "quick")), 101, "application/json"),
            (as_events(&call(102, "quick")), 102, "text/event-stream"),
        ] {
            assert_eq!((response.status, response.header("content-type")), (200, Some(media_type)), "{version}");
            assert_eq!(response.answer(&json!(id), drop)["result"]["content"][0]["text"], "x");
        }
        let slow = post(&client, &call(103, "t"));
        assert_eq!(slow.header("content-type"), Some("text/event-stream"), "{version}");
        folder.write("gate", "");
        assert_eq!(slow.answer(&json!(103), drop)["result"]["content"][0]["text"], "through\n");
        folder.remove("gate");
    }
}

#[test]
fn unknown_last_event_id_ends_the_stream() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let client = server.session("2025-11-25");
    for id in ["0-99", "99-0", "nonsense", "", "-1", "0-18446744073709551615", "18446744073709551616-0"] {
        assert_eq!(open(&client, Some(id)).text(), "", "{id}");
    }
    client.round_trip();
}

#[test]
fn newest_stream_gets_notifications() {
    let folder = TestFolder::with_manifest(DESK);
    let server = folder.http();
    let client = server.session("2025-06-18");
    let mut first = open(&client, None);
    let mut second = open(&client, None);
    change(&folder, &server, "tools", "one");
    assert_eq!(event(&mut second).data["method"], "notifications/tools/list_changed");
    drop(second);
    // The server learns of it when it reads the end of the connection.
    let third = open(&client, None);
    drop(third);
    change(&folder, &server, "prompts", "two");
    let mut methods = Vec::new();
    while methods.last().is_none_or(|method| method != "notifications/prompts/list_changed") {
        methods.push(event(&mut first).data["method"].clone());
    }
    assert!(methods.len() <= 2, "{methods:?}");
}

#[test]
fn session_end_kills_its_programs() {
    assert_within_a_second(|round| {
        let marker = format!("folio-suite-delete-{round}-{}", std::process::id());
        let manifest = format!(
            "folio: 1\nserver: {{ name: slow }}\ntools:\n  wait: {{ description: Waits, run: {{ exec: [sh, -c, \"sleep 60 & wait\", {marker}] }}, timeout: 2m }}\n"
        );
        let folder = TestFolder::with_manifest(&manifest);
        let server = folder.http();
        let client = server.session("2025-11-25");
        let mut stream = post(&client, &call(101, "wait"));
        event(&mut stream);
        wait_until("the child", || !processes_with_argument(&marker).is_empty());
        let begun = Instant::now();
        let headers = client.headers("", &Value::Null);
        assert_eq!(client.http_client().send("DELETE", &borrowed(&headers), b"").status, 204);
        assert!(is_gone(&client));
        wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
        let took = begun.elapsed();
        assert_eq!(stream.text(), "", "the stream of the call ends without an answer");
        took
    });
}

#[test]
fn unanswered_ping_ends_the_session() {
    let folder = TestFolder::with_manifest(&format!("{DESK}http: {{ ping: 2s, sse: true }}\n"));
    let server = folder.http();
    let (there, deaf, quiet) =
        (server.session("2025-11-25"), server.session("2025-11-25"), server.session("2025-11-25"));
    let old = server.sse_client("2024-11-05");
    let (mut stream, unanswered) = (open(&there, None), deaf.open_stream());
    event(&mut stream);
    for _ in 0..3 {
        let ping = event(&mut stream).data;
        assert_eq!(ping["method"], "ping", "{ping}");
        let pong = json!({ "jsonrpc": "2.0", "id": ping["id"], "result": {} });
        assert_eq!(post(&there, &pong).status, 202);
    }
    assert!(unanswered.wait_for_end() && old.wait_for_stream_end());
    assert_eq!(deaf.untagged_notifications(), ["ping"]);
    assert!(is_gone(&deaf));
    assert!(!is_gone(&there), "it answers");
    assert!(!is_gone(&quiet), "it has never had a stream on which it could be asked");
}

/// A tool that says something, asks something, and answers with what it was told.
const ASKING: &str = r#"folio: 1
server: { name: s }
tools:
  t:
    description: T
    run:
      - log: Here it comes
      - progress: { progress: 1, total: 2 }
      - id: asked
        ask: { name: { elicit: { message: Who?, schema: { who: { required: true } } } } }
    result: { text: "It is {{steps.asked.name.who}}." }
"#;

fn can_be_asked(version: &str) -> Value {
    let client = json!({ "name": "suite", "version": "1" });
    let params = json!({ "protocolVersion": version, "capabilities": { "elicitation": {} }, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

fn call_with_progress() -> Value {
    let params = json!({ "name": "t", "_meta": { "progressToken": "p" } });
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params })
}

fn answered(question: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept", "content": { "who": "Ada" } } })
}

const SAID: [&str; 3] = ["notifications/message", "notifications/progress", "elicitation/create"];

#[test]
fn call_notifications_and_questions_use_its_stream() {
    let folder = TestFolder::with_manifest(ASKING);
    let server = folder.http();
    for version in ["2025-06-18", "2025-11-25"] {
        let begun = server.http_client().post(&[], &can_be_asked(version));
        let session = begun.header("mcp-session-id").unwrap().to_owned();
        let session = [("Mcp-Session-Id", &*session), ("MCP-Protocol-Version", version)];
        let _other = server.http_client().send("GET", &[session[0], session[1], ("Accept", "text/event-stream")], b"");
        let mut stream = server.http_client().post(&session, &call_with_progress());
        if version == "2025-11-25" {
            assert_eq!(event(&mut stream).data, Value::Null);
        }
        let said = SAID.map(|_| event(&mut stream).data);
        assert_eq!(said.clone().map(|message| message["method"].clone()), SAID);
        assert_eq!(server.http_client().post(&session, &answered(&said[2])).status, 202);
        assert_eq!(event(&mut stream).data["result"]["content"][0]["text"], "It is Ada.");
    }
}

#[test]
fn http_sse_carries_call_messages_on_one_stream() {
    let folder = TestFolder::with_manifest(ASKING);
    let server = folder.serve_command().flag("--sse").http();
    let client = server.open_sse_client("/sse", &[], "2025-06-18");
    assert_eq!(client.post(&can_be_asked("2025-06-18").to_string()), None);
    assert_eq!(client.next_message()["id"], 1);
    assert_eq!(client.post(&call_with_progress().to_string()), None);
    let said = SAID.map(|_| client.next_message());
    assert_eq!(said.clone().map(|message| message["method"].clone()), SAID);
    assert_eq!(client.post(&answered(&said[2]).to_string()), None);
    assert_eq!(client.next_message()["result"]["content"][0]["text"], "It is Ada.");
}

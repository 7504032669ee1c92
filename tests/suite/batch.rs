//! Batches of 2025-03-26.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::every_client::DESK;
use crate::harness::*;

const SLOW: &str = r#"folio: 1
server: { name: slow }
tools:
  wait:
    description: Waits
    arguments: { marker: { required: true } }
    run: { exec: [sh, -c, "sleep 60 & wait", "{{marker}}"] }
    timeout: 2m
"#;

/// How many messages a batch may hold.
const MAX_BATCH_MESSAGES: usize = 100;

fn request(id: i64, method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method })
}

fn call(id: i64, text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "echo", "arguments": { "text": text } } })
}

fn notification() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" })
}

/// Sends what is no single message, and returns what comes back: an error, or a list.
fn send(client: &TestClient, body: &str) -> Value {
    if client.is_on_pipes() {
        client.pipe().write_line(body);
        return client.pipe().next();
    }
    let response = post(client, body);
    assert!(matches!(response.status, 200 | 400), "{response:?}");
    assert_eq!(response.header("content-type"), Some("application/json"));
    response.json()
}

/// Sends what nobody answers.
fn post_notifications(client: &TestClient, body: &str) {
    if client.is_on_pipes() {
        client.pipe().write_line(body);
        let ping = client.send("ping", Value::Null);
        assert_eq!(client.pipe().next()["id"], ping);
    } else {
        assert_eq!(post(client, body).status, 202);
    }
}

fn post(client: &TestClient, body: &str) -> HttpResponse {
    let headers = client.headers("", &Value::Null);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    client.http_client().post_bytes(&headers, body.as_bytes())
}

/// Goes through `part` on each wire, in one version.
fn for_each_wire(version: &str, part: impl Fn(&TestClient)) {
    let folder = TestFolder::with_manifest(DESK);
    part(&folder.stdio().client(version));
    part(&folder.http().client(version));
}

fn ids(answer: &Value) -> Vec<Value> {
    let mut ids: Vec<Value> =
        answer.as_array().unwrap_or_else(|| panic!("{answer}")).iter().map(|a| a["id"].clone()).collect();
    ids.sort_by_key(ToString::to_string);
    ids
}

#[test]
fn batch_is_answered_in_one_list() {
    for_each_wire("2025-03-26", |client| {
        let answer = send(
            client,
            &json!([call(101, "a"), notification(), request(102, "ping"), request(103, "nope")]).to_string(),
        );
        assert_eq!(ids(&answer), [json!(101), json!(102), json!(103)]);
        let of = |id: i64| answer.as_array().unwrap().iter().find(|answer| answer["id"] == id).unwrap().clone();
        assert_eq!(of(101)["result"]["content"][0]["text"], "a x1");
        assert_eq!(of(102)["result"], json!({}));
        assert_eq!(of(103)["error"]["code"], -32601);
        client.round_trip();
    });
}

#[test]
fn batch_of_notifications_or_responses_gets_no_response() {
    for_each_wire("2025-03-26", |client| {
        let answer = json!({ "jsonrpc": "2.0", "id": 7, "result": {} });
        post_notifications(client, &json!([notification(), notification(), answer]).to_string());
        client.round_trip();
    });
}

#[test]
fn invalid_batch_item_gets_error_and_rest_is_answered() {
    for_each_wire("2025-03-26", |client| {
        let answer = send(
            client,
            &json!([1, {}, request(101, "ping"), { "jsonrpc": "2.0", "id": null, "method": "ping" }]).to_string(),
        );
        assert_eq!(ids(&answer), [json!(101), Value::Null, Value::Null, Value::Null]);
        let errors = answer.as_array().unwrap().iter().filter(|answer| answer["id"].is_null());
        assert!(errors.clone().all(|answer| answer["error"]["code"] == -32600), "{answer}");
        let wrong = send(client, "[1]");
        assert_eq!(
            (wrong[0]["error"]["code"].clone(), wrong[0].get("id")),
            (json!(-32600), Some(&Value::Null)),
            "{wrong}"
        );
    });
}

#[test]
fn empty_or_malformed_batch_gets_one_error() {
    for_each_wire("2025-03-26", |client| {
        let many: Vec<Value> = (0..=MAX_BATCH_MESSAGES as i64).map(|id| request(1000 + id, "ping")).collect();
        for (body, code, says) in [
            ("[]".to_owned(), -32600, "empty batch"),
            ("[".to_owned(), -32700, "JSON"),
            (json!(many).to_string(), -32600, "limit 100"),
        ] {
            let answer = send(client, &body);
            assert_eq!(
                (answer["error"]["code"].clone(), answer.get("id")),
                (json!(code), Some(&Value::Null)),
                "{answer}"
            );
            assert!(answer["error"]["message"].as_str().unwrap().contains(says), "{answer}");
        }
        assert_eq!(ids(&send(client, &json!(many[..MAX_BATCH_MESSAGES]).to_string())).len(), MAX_BATCH_MESSAGES);
    });
}

#[test]
fn batch_in_other_version_is_refused() {
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        for_each_wire(version, |client| {
            let answer = send(client, &json!([request(101, "ping")]).to_string());
            assert_eq!(
                (&answer["error"]["code"], &answer["id"]),
                (&json!(-32600), &Value::Null),
                "{version}: {answer}"
            );
            assert!(
                answer["error"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("only supported in sessions of version 2025-03-26"),
                "{answer}"
            );
            client.round_trip();
        });
    }
    // Nor is there one without a session.
    let folder = TestFolder::with_manifest(DESK);
    for headers in [&[("MCP-Protocol-Version", SESSIONLESS_VERSION)][..], &[]] {
        let response =
            folder.http().http_client().post_bytes(headers, b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]");
        assert_eq!(response.status, 400, "{response:?}");
        assert!(response.text().contains("only supported in sessions of version 2025-03-26"));
    }
}

#[test]
fn initialize_and_listen_are_refused_in_a_batch() {
    for_each_wire("2025-03-26", |client| {
        let answer = send(
            client,
            &json!([request(101, "initialize"), request(102, "subscriptions/listen"), request(103, "ping")])
                .to_string(),
        );
        assert_eq!(ids(&answer), [json!(101), json!(102), json!(103)]);
        for refused in answer.as_array().unwrap().iter().filter(|answer| answer["id"] != 103) {
            assert_eq!(refused["error"]["code"], -32600, "{answer}");
            assert!(refused["error"]["message"].as_str().unwrap().contains("on its own"), "{answer}");
        }
    });
}

#[test]
fn duplicate_id_in_batch_is_refused_once() {
    for_each_wire("2025-03-26", |client| {
        let answer = send(client, &json!([request(101, "ping"), request(101, "ping")]).to_string());
        assert_eq!(ids(&answer), [json!(101), Value::Null]);
    });
}

#[test]
fn cancelled_batch_item_does_not_block_the_rest() {
    let folder = TestFolder::with_manifest(SLOW);
    for http in [false, true] {
        let server = if http { folder.http() } else { folder.stdio() };
        let client = server.session("2025-03-26");
        let marker = format!("folio-suite-batch-{http}-{}", std::process::id());
        let params = json!({ "name": "wait", "arguments": { "marker": marker } });
        let wait = json!({ "jsonrpc": "2.0", "id": 101, "method": "tools/call", "params": params });
        let body = json!([wait, request(102, "ping")]).to_string();
        std::thread::scope(|scope| {
            let answer = scope.spawn(|| match http {
                true => send(&client, &body),
                false => {
                    client.pipe().write_line(&body);
                    client.pipe().next()
                }
            });
            wait_until("the child", || !processes_with_argument(&marker).is_empty());
            client.notify("notifications/cancelled", json!({ "requestId": 101 }));
            assert_eq!(ids(&answer.join().unwrap()), [json!(102)]);
        });
        wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
        client.round_trip();
    }
}

#[test]
fn response_to_a_small_batch_is_limited_in_bytes() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nresources:\n  large: { uri: \"f://large\", file: large.txt }\n",
    );
    folder.write("large.txt", vec![b'x'; 3 << 20]);
    let batch: Vec<Value> = (0..50)
        .map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": { "uri": "f://large" } }))
        .collect();
    let body = Value::from(batch).to_string();
    assert!(body.len() < 5_000, "{}", body.len());
    for server in [folder.stdio(), folder.http()] {
        let client = server.session("2025-03-26");
        let answer = send(&client, &body);
        let answers = answer.as_array().unwrap();
        assert_eq!(answers.len(), 50);
        let (full, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.get("result").is_some());
        assert!((1..=10).contains(&full.len()), "{} are answered", full.len());
        for refused in refused {
            let words = refused["error"]["message"].as_str().unwrap();
            assert_eq!(words, "batch response exceeds 32 MiB; send the request on its own");
        }
    }
}

/// Each keeps what it has read until it is complete, and all of them together could keep more than there may be.
#[test]
fn batches_of_large_reads_do_not_wait_for_each_other() {
    const BATCHES: usize = 8;
    const READS: i64 = 40;
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s, limits: { bytesInFlight: 64MiB } }\nresources:\n  large: { uri: \"f://large\", file: large.txt }\n",
    );
    folder.write("large.txt", vec![b'x'; 1 << 20]);
    let server = folder.http();
    let read =
        |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": { "uri": "f://large" } });
    let body = Value::from((0..READS).map(read).collect::<Vec<_>>()).to_string();
    let clients: Vec<TestClient> = (0..BATCHES).map(|_| server.session("2025-03-26")).collect();
    assert!(clients[0].result("resources/read", json!({ "uri": "f://large" }))["contents"].is_array());
    let began = Instant::now();
    let answers: Vec<String> = std::thread::scope(|scope| {
        let sent: Vec<_> = clients.iter().map(|client| scope.spawn(|| post(client, &body).text())).collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    assert!(began.elapsed() < Duration::from_secs(25), "they waited {:?}", began.elapsed());
    let count = |part: &str| answers.iter().map(|answer| answer.matches(part).count()).sum::<usize>();
    let refused = count("server busy: too many bytes in flight") + count("batch response exceeds 32 MiB");
    let full = count("\"contents\"");
    assert_eq!(full + refused, BATCHES * READS as usize, "{full} are answered, {refused} are refused");
    assert!(full >= 5, "{full} are answered");
}

/// The rest is answered, and the id is free for another request, in the batch or behind it.
#[test]
fn batch_that_cancels_its_own_request_is_answered() {
    let folder = TestFolder::with_manifest(SLOW);
    let (pipes, web) = (folder.stdio(), folder.http());
    for client in [pipes.session("2025-03-26"), web.session("2025-03-26")] {
        let params = json!({ "name": "wait", "arguments": { "marker": "folio-suite-own" } });
        let call = json!({ "jsonrpc": "2.0", "id": 101, "method": "tools/call", "params": params });
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 101 } });
        for ping in [102, 101] {
            let answers = send(&client, &json!([call, cancel, request(ping, "ping")]).to_string());
            assert_eq!(answers, json!([{ "jsonrpc": "2.0", "id": ping, "result": {} }]));
        }
        post_notifications(&client, &json!([call, cancel]).to_string());
        let ping = client.send("ping", Value::Null);
        assert_eq!(client.wait_for_answer(ping)["result"], json!({}));
    }
}

/// Over HTTP, where each has a stream of its own.
#[test]
fn batch_may_cancel_a_request_and_use_its_id() {
    let folder = TestFolder::with_manifest(SLOW);
    let server = folder.http();
    let client = server.session("2025-03-26");
    let marker = format!("folio-suite-batch-id-{}", std::process::id());
    let params = json!({ "name": "wait", "arguments": { "marker": marker } });
    let call = json!({ "jsonrpc": "2.0", "id": 101, "method": "tools/call", "params": params });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 101 } });
    thread::scope(|scope| {
        let first = scope.spawn(|| post(&client, &call.to_string()));
        wait_until("the child", || !processes_with_argument(&marker).is_empty());
        let answers = send(&client, &json!([cancel, request(101, "ping"), request(102, "ping")]).to_string());
        assert_eq!(answers, json!([101, 102].map(|id| json!({ "jsonrpc": "2.0", "id": id, "result": {} }))));
        let first = first.join().unwrap();
        assert_eq!(first.status, 200, "its stream ends");
        let told = first.text();
        assert!(!told.contains("result"), "{told}");
    });
}

#[test]
fn fully_cancelled_batch_is_not_answered() {
    let folder = TestFolder::with_manifest(SLOW);
    let server = folder.stdio();
    let client = server.session("2025-03-26");
    let marker = format!("folio-suite-batch-all-{}", std::process::id());
    let params = json!({ "name": "wait", "arguments": { "marker": marker } });
    client
        .pipe()
        .write_line(json!([{ "jsonrpc": "2.0", "id": 101, "method": "tools/call", "params": params }]).to_string());
    wait_until("the child", || !processes_with_argument(&marker).is_empty());
    client.notify("notifications/cancelled", json!({ "requestId": 101 }));
    let ping = client.send("ping", Value::Null);
    assert_eq!(client.pipe().next()["id"], ping);
}

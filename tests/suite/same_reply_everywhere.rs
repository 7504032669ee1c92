//! A request gets the same reply over stdio, Streamable HTTP and HTTP+SSE, in every version.

use serde_json::{Value, json};

use crate::every_client::DESK;
use crate::harness::*;

/// Requests of every method, with what is right and what is wrong with them.
pub fn requests(version: &str) -> Vec<(&'static str, Value)> {
    let complete = |reference: Value, name: &str, value: &str| json!({ "ref": reference, "argument": { "name": name, "value": value } });
    vec![
        ("ping", Value::Null),
        ("ping", json!([])),
        ("server/discover", Value::Null),
        ("initialize", Value::Null),
        (
            "initialize",
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } }),
        ),
        ("tools/list", Value::Null),
        ("tools/list", json!({ "cursor": "nonsense" })),
        ("tools/list", json!({ "cursor": 7 })),
        ("tools/list", json!([])),
        ("tools/list", json!(7)),
        ("tools/call", json!({ "name": "echo", "arguments": { "text": "ä\u{2028}\"" } })),
        ("tools/call", json!({ "name": "echo", "arguments": { "text": "a", "times": 9, "more": 1 } })),
        ("tools/call", json!({ "name": "echo", "arguments": {} })),
        ("tools/call", json!({ "name": "echo", "arguments": null })),
        ("tools/call", json!({ "name": "echo", "arguments": [1] })),
        ("tools/call", json!({ "name": "shout", "arguments": { "text": "a" } })),
        ("tools/call", json!({ "name": "fails" })),
        ("tools/call", json!({ "name": "nobody" })),
        ("tools/call", json!({ "arguments": {} })),
        ("tools/call", json!({ "name": 7 })),
        ("prompts/list", Value::Null),
        ("prompts/get", json!({ "name": "greet", "arguments": { "who": "Ada" } })),
        ("prompts/get", json!({ "name": "greet", "arguments": { "who": 7 } })),
        ("prompts/get", json!({ "name": "greet", "arguments": { "who": "Ada", "tone": "loud" } })),
        ("prompts/get", json!({ "name": "greet" })),
        ("prompts/get", json!({ "name": "count", "arguments": { "n": "3" } })),
        ("prompts/get", json!({ "name": "nobody" })),
        ("prompts/get", json!({})),
        ("resources/list", Value::Null),
        ("resources/templates/list", Value::Null),
        ("resources/templates/list", json!({ "cursor": "nonsense" })),
        ("resources/read", json!({ "uri": "about://desk" })),
        ("resources/read", json!({ "uri": "about://blob" })),
        ("resources/read", json!({ "uri": "note://one" })),
        ("resources/read", json!({ "uri": "note://three" })),
        ("resources/read", json!({ "uri": "nobody://answers" })),
        ("resources/read", json!({ "uri": "no uri" })),
        ("resources/read", json!({})),
        ("resources/subscribe", json!({ "uri": "about://desk" })),
        ("resources/subscribe", json!({})),
        ("resources/unsubscribe", json!({ "uri": "about://desk" })),
        ("completion/complete", complete(json!({ "type": "ref/prompt", "name": "greet" }), "tone", "w")),
        ("completion/complete", complete(json!({ "type": "ref/resource", "uri": "note://{id}" }), "id", "")),
        ("completion/complete", complete(json!({ "type": "ref/prompt", "name": "nobody" }), "tone", "")),
        ("completion/complete", complete(json!({ "type": "ref/nothing" }), "tone", "")),
        ("completion/complete", json!({})),
        ("logging/setLevel", json!({ "level": "info" })),
        ("logging/setLevel", json!({ "level": "loud" })),
        ("subscriptions/listen", json!({})),
        ("subscriptions/listen", json!({ "notifications": 7 })),
        ("tasks/get", json!({ "taskId": "a" })),
        ("nope", Value::Null),
        ("tools/nope", json!({ "a": 1 })),
        ("", Value::Null),
    ]
}

/// What is no request: malformed, no message, or no answer is due to it.
const BODIES: &[&str] = &[
    "{",
    "nonsense",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x",
    "7",
    "\"text\"",
    "null",
    "{}",
    "[]",
    "[",
    "[{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"ping\"}]",
    "[{\"jsonrpc\":\"2.0\",\"id\":91,\"method\":\"nope\"},7]",
    "{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}",
    "{\"id\":1,\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":7}",
    "{\"jsonrpc\":\"2.0\",\"id\":4}",
    "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":99,\"error\":{\"code\":1,\"message\":\"m\"}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":99}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nobody/knows\",\"params\":{\"a\":1}}",
];

/// The part of a reply that does not depend on which request of a client it was.
fn reply(mut answer: Value) -> Value {
    // rmcp's own words for missing metadata begin so over HTTP.
    if let Some(bare) = answer["error"]["message"].as_str().and_then(|text| text.strip_prefix("Invalid params: ")) {
        answer["error"]["message"] = json!(bare);
    }
    if let Some(answer) = answer.as_object_mut().filter(|answer| answer["id"].is_number()) {
        answer.remove("id");
    }
    answer
}

/// Clients of one version on each wire, the pipes first.
fn clients<'a>(pipes: &TestServer, web: &TestServer, version: &str) -> [(&'a str, TestClient); 3] {
    [("stdio", pipes.client(version)), ("HTTP", web.client(version)), ("SSE", web.sse_client(version))]
}

fn serve(folder: &TestFolder) -> TestServer {
    folder.serve_command().flag("--sse").http()
}

#[test]
fn request_gets_same_reply_on_each_wire() {
    let folder = TestFolder::with_manifest(DESK);
    let web = serve(&folder);
    for version in SESSION_VERSIONS.iter().chain([&SESSIONLESS_VERSION]) {
        let pipes = folder.stdio();
        let clients = clients(&pipes, &web, version);
        let mut different = Vec::new();
        for (method, params) in requests(version) {
            // Where each request says for itself what it is, it needs an object for that.
            if *version == SESSIONLESS_VERSION && !params.is_object() && !params.is_null() {
                continue;
            }
            let replies: Vec<Value> =
                clients.iter().map(|(_, client)| reply(client.request(method, params.clone()))).collect();
            for ((wire, _), other) in clients.iter().zip(&replies).skip(1) {
                if *other != replies[0] {
                    different.push(format!("{method} {params}\n  stdio {}\n  {wire} {other}", replies[0]));
                }
            }
        }
        assert!(different.is_empty(), "{version}:\n{}", different.join("\n"));
    }
}

/// Posts a body to the endpoint, and returns the answer, if one is due.
fn post(client: &TestClient, body: &str) -> Option<Value> {
    let headers = client.headers("", &Value::Null);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    let response = client.http_client().post_bytes(&headers, body.as_bytes());
    (response.status != 202).then(|| response.json())
}

/// Sends a body, and returns the next message that comes. Where none is due, it is the answer to what is sent after.
fn send(client: &TestClient, body: &str, due: bool) -> Option<Value> {
    if client.is_on_pipes() {
        client.pipe().write_line(body);
    } else if let Some(refused) = client.post(body) {
        return Some(refused);
    }
    let ping = (!due).then(|| client.send("ping", Value::Null));
    let heard = client.next_message();
    if ping.is_some_and(|ping| heard["id"] == ping) { None } else { Some(heard) }
}

#[test]
fn invalid_message_gets_same_reply_on_each_wire() {
    let folder = TestFolder::with_manifest(DESK);
    let web = serve(&folder);
    for version in SESSION_VERSIONS {
        let pipes = folder.stdio();
        let [(_, pipe), (_, http), (_, sse)] = clients(&pipes, &web, version);
        for body in BODIES {
            let posted = post(&http, body);
            for client in [&pipe, &sse] {
                assert_eq!(send(client, body, posted.is_some()), posted, "{body} in {version}");
            }
        }
    }
}

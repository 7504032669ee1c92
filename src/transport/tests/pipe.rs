//! All versions over a pipe.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

use super::{PipeClient, TEST_TIMEOUT, error_code, sessionless_params};
use crate::{
    server::{
        ServeOptions, SharedServer,
        testing::{SleepingWorld, TEST_MANIFEST, build_catalog, shared_server, shared_server_with},
    },
    transport::{
        in_process::{self, InProcessClient, InProcessError},
        stdio,
    },
};

fn live_with_sleeping_world() -> (SharedServer, Arc<SleepingWorld>) {
    let world = Arc::new(SleepingWorld::default());
    (SharedServer::new(build_catalog(TEST_MANIFEST), world.clone(), ServeOptions::default()), world)
}

#[tokio::test]
async fn versions_are_negotiated() {
    let shared_server = shared_server(TEST_MANIFEST);
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let result = PipeClient::new(&shared_server).initialize(asked).await;
        assert_eq!(result["protocolVersion"], agreed);
        assert_eq!(result["serverInfo"], json!({ "name": "desk", "version": "1.2.3" }));
        assert_eq!(result["instructions"], "Ask it.");
    }
}

#[tokio::test]
async fn capabilities_match_the_catalog() {
    let capabilities = async |shared_server: &SharedServer| {
        PipeClient::new(shared_server).initialize("2025-11-25").await["capabilities"].take()
    };
    let desk = json!({
        "completions": {},
        "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "tools": { "listChanged": true },
    });
    assert_eq!(capabilities(&shared_server(TEST_MANIFEST)).await, desk);
    let still = ServeOptions { watching: false, declare_all_capabilities: false };
    let expected = json!({ "completions": {}, "prompts": {}, "resources": {}, "tools": {} });
    assert_eq!(capabilities(&shared_server_with(TEST_MANIFEST, still)).await, expected);
    let empty = "{ folio: 1, server: { name: e, version: '1' } }";
    assert_eq!(capabilities(&shared_server(empty)).await, json!({}));
    let all = ServeOptions { watching: true, declare_all_capabilities: true };
    let mut everything = desk;
    everything["logging"] = json!({});
    assert_eq!(capabilities(&shared_server_with(empty, all)).await, everything);
}

#[tokio::test]
async fn undeclared_method_is_method_not_found() {
    let shared_server = shared_server("{ folio: 1, server: { name: e, version: '1' } }");
    let mut client = PipeClient::session(&shared_server, "2025-11-25").await;
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "x" })),
        ("tools/call", json!({ "arguments": 1 })),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "x" })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "a:b" })),
        ("resources/subscribe", json!({ "uri": "a:b" })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "a", "value": "" } }),
        ),
    ] {
        assert_eq!(error_code(&client.ask(method, params.clone()).await), -32601, "{method}");
        assert_eq!(error_code(&client.ask_sessionless(method, params).await), -32601, "{method}");
    }
}

#[tokio::test]
async fn sessionless_results_have_server_info_and_cache_hints() {
    let mut client = PipeClient::new(&shared_server(TEST_MANIFEST));
    let info = json!({ "name": "desk", "version": "1.2.3" });
    for (method, params, cached) in [
        ("server/discover", json!({}), true),
        ("tools/list", json!({}), true),
        ("prompts/list", json!({}), true),
        ("resources/list", json!({}), true),
        ("resources/templates/list", json!({}), true),
        ("resources/read", json!({ "uri": "desk://notes" }), true),
        ("tools/call", json!({ "name": "echo", "arguments": { "text": "x" } }), false),
        ("prompts/get", json!({ "name": "greet" }), false),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "review" }, "argument": { "name": "style", "value": "p" } }),
            false,
        ),
    ] {
        let result = client.ask_sessionless(method, params).await["result"].take();
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"], info, "{method}: {result}");
        assert_eq!(result["resultType"], "complete", "{method}");
        let hints = (result["ttlMs"] == 0, result["cacheScope"] == "private");
        assert_eq!(hints, (cached, cached), "{method}: {result}");
    }
}

#[tokio::test]
async fn session_results_have_no_sessionless_keys() {
    let mut client = PipeClient::session(&shared_server(TEST_MANIFEST), "2025-11-25").await;
    let text = json!({ "content": [{ "type": "text", "text": "x" }], "isError": false });
    let echo = json!({ "name": "echo", "arguments": { "text": "x" } });
    assert_eq!(client.ask("tools/call", echo).await["result"], text);
    let greet = client.ask("prompts/get", json!({ "name": "greet" })).await["result"].take();
    let message = json!({ "role": "user", "content": { "type": "text", "text": "Hello" } });
    assert_eq!(greet, json!({ "description": "A greeting", "messages": [message] }));
    let read = client.ask("resources/read", json!({ "uri": "desk://page/7" })).await["result"].take();
    assert_eq!(read, json!({ "contents": [{ "uri": "desk://page/7", "mimeType": "text/plain", "text": "A page" }] }));
    let list = client.ask("resources/list", json!({})).await["result"].take();
    assert_eq!(list.as_object().unwrap().keys().collect::<Vec<_>>(), ["resources"]);
    let reference = json!({ "type": "ref/prompt", "name": "review" });
    let request = json!({ "ref": reference, "argument": { "name": "style", "value": "p" } });
    let completion = json!({ "completion": { "values": ["plain", "pretty"], "total": 2, "hasMore": false } });
    assert_eq!(client.ask("completion/complete", request).await["result"], completion);
}

#[tokio::test]
async fn error_codes_match_the_version() {
    let mut client = PipeClient::session(&shared_server(TEST_MANIFEST), "2025-11-25").await;
    let unknown = client.ask("tools/call", json!({ "name": "nope" })).await;
    assert_eq!(error_code(&unknown), -32602);
    assert!(unknown["error"]["message"].as_str().unwrap().contains("nope"));
    let lacking = client.ask("tools/call", json!({ "name": "echo" })).await;
    assert_eq!(lacking["result"]["isError"], true, "{lacking}");
    assert_eq!(error_code(&client.ask("prompts/get", json!({ "name": "nope" })).await), -32602);
    assert_eq!(error_code(&client.ask("prompts/get", json!({ "name": "review" })).await), -32602);
    let missing = json!({ "uri": "desk://none" });
    for (answer, expected) in [
        (client.ask("resources/read", missing.clone()).await, -32002),
        (client.ask_sessionless("resources/read", missing).await, -32602),
    ] {
        assert_eq!(error_code(&answer), expected);
        assert_eq!(answer["error"]["data"]["uri"], "desk://none");
    }
    let reference = json!({ "type": "ref/prompt", "name": "nope" });
    let request = json!({ "ref": reference, "argument": { "name": "a", "value": "" } });
    assert_eq!(error_code(&client.ask("completion/complete", request).await), -32602);
}

#[tokio::test]
async fn absent_null_and_empty_arguments_are_equal() {
    let mut client = PipeClient::session(&shared_server(TEST_MANIFEST), "2025-11-25").await;
    for params in [
        json!({ "name": "list" }),
        json!({ "name": "list", "arguments": null }),
        json!({ "name": "list", "arguments": {} }),
    ] {
        assert_eq!(client.ask("tools/call", params).await["result"]["isError"], false);
    }
    assert!(client.ask("tools/list", Value::Null).await["result"]["tools"].is_array());
}

#[tokio::test]
async fn structured_results_match_the_version() {
    let shared_server = shared_server(TEST_MANIFEST);
    let call = json!({ "name": "list" });
    let text = json!([{ "type": "text", "text": "[1,2]" }]);
    let schema = json!({ "type": "array", "items": { "type": "integer" } });
    let wrapped = json!({ "type": "object", "properties": { "result": schema }, "required": ["result"] });
    for (version, structured, listed) in [
        ("2024-11-05", Value::Null, Value::Null),
        ("2025-03-26", Value::Null, Value::Null),
        ("2025-06-18", json!({ "result": [1, 2] }), wrapped.clone()),
        ("2025-11-25", json!({ "result": [1, 2] }), wrapped),
    ] {
        let mut client = PipeClient::session(&shared_server, version).await;
        let result = client.ask("tools/call", call.clone()).await["result"].take();
        assert_eq!((&result["structuredContent"], &result["content"]), (&structured, &text), "{version}");
        assert_eq!(client.ask("tools/list", json!({})).await["result"]["tools"][1]["outputSchema"], listed);
    }
    let mut client = PipeClient::new(&shared_server);
    assert_eq!(client.ask_sessionless("tools/call", call).await["result"]["structuredContent"], json!([1, 2]));
    assert_eq!(client.ask_sessionless("tools/list", json!({})).await["result"]["tools"][1]["outputSchema"], schema);
}

#[tokio::test(start_paused = true)]
async fn eof_ends_calls_with_errors_and_streams_with_results() {
    let (shared_server, world) = live_with_sleeping_world();
    let mut client = PipeClient::session(&shared_server, "2025-11-25").await;
    let call = client.send("tools/call", json!({ "name": "wait" })).await;
    let listen = client
        .send("subscriptions/listen", sessionless_params(json!({ "notifications": { "toolsListChanged": true } })))
        .await;
    assert_eq!(client.receive().await["method"], "notifications/subscriptions/acknowledged");
    world.wait_for_programs(1).await;
    let before = tokio::time::Instant::now();
    let [ended, stopped] = client.end().await.try_into().unwrap();
    assert_eq!((&ended["id"], &ended["result"]["resultType"]), (&json!(listen), &json!("complete")), "{ended}");
    assert_eq!(stopped["id"], call);
    assert_eq!(stopped["error"]["message"], "the server is stopping: the call was cancelled", "{stopped}");
    assert!(before.elapsed() < Duration::from_secs(1), "{:?}", before.elapsed());
    world.wait_for_programs(0).await;
}

#[tokio::test]
async fn requests_just_before_eof_are_answered() {
    let mut client = PipeClient::new(&shared_server(TEST_MANIFEST));
    let ask = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": sessionless_params(json!({})) });
    client.send_line(format!("{}\n{}", ask(1), ask(2))).await;
    assert_eq!(client.end().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn stop_ends_streams_with_result() {
    let (shared_server, world) = live_with_sleeping_world();
    let mut client = PipeClient::session(&shared_server, "2025-11-25").await;
    let call = client.send("tools/call", json!({ "name": "wait" })).await;
    let id = client
        .send("subscriptions/listen", sessionless_params(json!({ "notifications": { "toolsListChanged": true } })))
        .await;
    client.receive().await;
    world.wait_for_programs(1).await;
    let before = tokio::time::Instant::now();
    client.stop.cancel();
    let end = client.receive().await;
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!(id), &json!("complete")));
    let stopped = client.receive().await;
    assert_eq!((&stopped["id"], &stopped["error"]["code"]), (&json!(call), &json!(-32603)), "{stopped}");
    assert_eq!(client.lines.next_line().await.unwrap(), None);
    assert!(before.elapsed() < Duration::from_secs(1));
    world.wait_for_programs(0).await;
}

#[tokio::test]
async fn stop_ends_idle_connection() {
    let mut client = PipeClient::session(&shared_server(TEST_MANIFEST), "2025-11-25").await;
    client.stop.cancel();
    assert_eq!(tokio::time::timeout(TEST_TIMEOUT, client.lines.next_line()).await.unwrap().unwrap(), None);
}

#[tokio::test]
async fn stop_ends_flooded_connection() {
    let (shared_server, stop) = (shared_server(TEST_MANIFEST), CancellationToken::new());
    let serving = tokio::spawn({
        let stop = stop.clone();
        async move { stdio::serve_on(&shared_server, tokio::io::repeat(b'\n'), tokio::io::sink(), stop).await }
    });
    tokio::task::yield_now().await;
    stop.cancel();
    tokio::time::timeout(TEST_TIMEOUT, serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn non_reading_peer_is_not_read_and_delays_nobody() {
    let text = "x".repeat(1 << 19);
    let shared_server = shared_server(&TEST_MANIFEST.replace("text: First", &format!("text: {text}")));
    let mut client = PipeClient::with_buffer(&shared_server, 1024);
    let mut sent = 0;
    let read = json!({ "uri": "desk://notes" });
    while tokio::time::timeout(
        Duration::from_millis(300),
        client.send("resources/read", sessionless_params(read.clone())),
    )
    .await
    .is_ok()
    {
        sent += 1;
        assert!(sent < 400, "it reads on and on");
    }
    assert!(shared_server.replace(build_catalog("{ folio: 1, server: { name: e, version: '1' } }")).has_changes());
    // Whole again: the rest of the request that was cut short, and the answers.
    let mut bytes = vec![0; 1 << 16];
    let mut reader = client.lines.into_inner();
    assert!(reader.read(&mut bytes).await.unwrap() > 0);
}

#[tokio::test]
async fn in_process_request_uses_the_pipe_path() {
    let shared_server = shared_server(TEST_MANIFEST);
    let params = json!({ "name": "echo", "arguments": { "text": "x" } });
    let client = InProcessClient::without_answers();
    assert_eq!(
        in_process::ask(&client, &shared_server, "tools/call", params).await.unwrap()["content"][0]["text"],
        "x"
    );
    let refused =
        in_process::ask(&client, &shared_server, "resources/read", json!({ "uri": "desk://none" })).await.unwrap_err();
    assert!(matches!(refused, InProcessError::Refused { code: -32602, data: Some(_), .. }), "{refused:?}");
}

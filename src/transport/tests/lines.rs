//! Lines that a peer may write on a pipe, and their replies.

use serde_json::{Value, json};

use super::{PipeClient, error_code, sessionless_params};
use crate::server::testing::{TEST_MANIFEST, shared_server};

#[tokio::test]
async fn invalid_line_gets_error_and_pipe_continues() {
    let mut client = PipeClient::session(&shared_server(TEST_MANIFEST), "2025-11-25").await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let table: &[(&[u8], i64)] = &[
        (b"{", -32700),
        (b"hello", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x", -32700),
        (b"\xff\xfe{}", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700),
        (deep.as_bytes(), -32600),
        (b"3", -32600),
        (b"[]", -32600),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        (b"{}", -32600),
        (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
        (b"{\"id\":1,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1}", -32600),
    ];
    for (line, expected) in table {
        client.send_line(line).await;
        let answer = client.receive().await;
        assert_eq!(
            error_code(&answer),
            *expected,
            "{} gave {answer}",
            String::from_utf8_lossy(&line[..line.len().min(80)])
        );
        assert!(answer.get("id").is_some(), "{answer}");
        assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    }
}

#[tokio::test]
async fn error_has_request_id_when_known() {
    let mut client = PipeClient::new(&shared_server(TEST_MANIFEST));
    client.send_line(r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#).await;
    assert_eq!(client.receive().await["id"], "a");
    client.send_line("{").await;
    assert_eq!(client.receive().await["id"], Value::Null);
}

#[tokio::test]
async fn blank_lines_are_ignored() {
    let mut client = PipeClient::new(&shared_server(TEST_MANIFEST));
    client.send_line("\n\r\n  \n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r").await;
    assert_eq!(client.receive().await["result"], json!({}));
}

#[tokio::test]
async fn overlong_line_is_refused_and_next_answered() {
    let mut client = PipeClient::new(&shared_server(TEST_MANIFEST));
    let long = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "x": "y".repeat(17 << 20) } });
    client.send_line(long.to_string()).await;
    assert_eq!(error_code(&client.receive().await), -32600);
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn bad_params_and_unknown_methods_have_their_codes() {
    let mut client = PipeClient::session(&shared_server(TEST_MANIFEST), "2025-11-25").await;
    for (method, params) in [
        ("tools/call", json!({ "name": "echo", "arguments": [1] })),
        ("tools/call", json!({})),
        ("tools/call", json!(["echo"])),
        ("tools/list", json!({ "cursor": 7 })),
        ("tools/list", json!([null, null])),
        ("tools/list", json!({ "_meta": 5 })),
        ("prompts/get", json!({ "name": 1 })),
        ("resources/read", json!({})),
        ("resources/subscribe", json!({})),
        ("completion/complete", json!({ "ref": { "type": "ref/none" } })),
        ("initialize", json!({})),
    ] {
        let answer = client.ask(method, params.clone()).await;
        assert_eq!(error_code(&answer), -32602, "{method} {params}: {answer}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    client.send_line(format!(r#"{{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{{"name":"echo","arguments":{{"text":{deep}}}}}}}"#)).await;
    assert_eq!(error_code(&client.receive().await), -32602);
    for method in ["tools/none", "nothing", "logging/setLevel", "tasks/list"] {
        let answer = client.ask(method, json!({ "level": "debug" })).await;
        assert_eq!(error_code(&answer), -32601, "{method}: {answer}");
    }
}

#[tokio::test]
async fn id_in_use_is_refused() {
    let mut client = PipeClient::session(&shared_server(TEST_MANIFEST), "2025-11-25").await;
    let wait = json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": { "name": "wait" } });
    client.send_line(wait.to_string()).await;
    client.send_line(r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#).await;
    let answer = client.receive().await;
    assert_eq!(error_code(&answer), -32600);
    assert_eq!(answer["id"], Value::Null);
    client.send_line(r#"{"jsonrpc":"2.0","id":"y","method":"ping"}"#).await;
    assert_eq!(client.receive().await["id"], "y");
}

#[tokio::test]
async fn early_messages_do_not_end_connection() {
    let mut client = PipeClient::new(&shared_server(TEST_MANIFEST));
    client.notify("notifications/initialized", json!({})).await;
    client.notify("notifications/cancelled", json!({ "requestId": 1 })).await;
    client.send_line(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    assert_eq!(error_code(&client.ask("tools/list", json!({})).await), -32602);
    client.ask_sessionless("server/discover", json!({})).await;
    client.notify("notifications/initialized", json!({})).await;
    assert_eq!(client.initialize("2025-06-18").await["protocolVersion"], "2025-06-18");
}

#[tokio::test]
async fn both_generations_share_a_pipe_in_any_order() {
    let mut client = PipeClient::new(&shared_server(TEST_MANIFEST));
    assert_eq!(client.ask_sessionless("tools/list", json!({})).await["result"]["resultType"], "complete");
    client.initialize("2025-11-25").await;
    let answer = client.ask("tools/list", json!({})).await;
    assert!(answer["result"].get("resultType").is_none(), "{answer}");
    assert_eq!(client.ask_sessionless("tools/list", json!({})).await["result"]["resultType"], "complete");
    let again = client.ask("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } })).await;
    assert_eq!(error_code(&again), -32600);
}

#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_wait_for_initialize() {
    let shared_server = shared_server(TEST_MANIFEST);
    let client_info = json!({ "name": "t", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client_info });
    let first = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let lines = format!("{first}\n{}\n{list}", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    // Threads race here; one round would say little.
    for _ in 0..300 {
        let mut client = PipeClient::new(&shared_server);
        client.send_line(&lines).await;
        assert_eq!(client.receive().await["id"], 0);
        assert_eq!(client.receive().await["result"]["tools"][0]["name"], "echo");
    }
}

#[tokio::test]
async fn unknown_version_and_missing_meta_have_distinct_codes() {
    let mut client = PipeClient::new(&shared_server(TEST_MANIFEST));
    let mut params = sessionless_params(json!({}));
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let answer = client.ask("tools/list", params).await;
    assert_eq!(error_code(&answer), -32022);
    assert_eq!(answer["error"]["data"]["requested"], "2099-01-01");
    let params = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } });
    assert_eq!(error_code(&client.ask("tools/list", params).await), -32602);
}

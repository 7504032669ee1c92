//! What both generations get, over a pipe.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use super::{Client, SOON, code, modern};
use crate::{
    server::{
        Live, Options,
        testing::{Asleep, DESK, catalog, live, live_with},
    },
    transport::{
        local::{self, Failure},
        stdio,
    },
};

fn sleeping() -> (Live, Arc<Asleep>) {
    let world = Arc::new(Asleep::default());
    (Live::new(catalog(DESK), world.clone(), Options::default()), world)
}

#[tokio::test]
async fn each_version_is_agreed_on_and_others_get_the_newest() {
    let live = live(DESK);
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let result = Client::new(&live).initialize(asked).await;
        assert_eq!(result["protocolVersion"], agreed);
        assert_eq!(result["serverInfo"], json!({ "name": "desk", "version": "1.2.3" }));
        assert_eq!(result["instructions"], "Ask it.");
    }
}

#[tokio::test]
async fn capabilities_tell_the_truth() {
    let capabilities = async |live: &Live| Client::new(live).initialize("2025-11-25").await["capabilities"].take();
    let desk = json!({
        "completions": {},
        "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "tools": { "listChanged": true },
    });
    assert_eq!(capabilities(&live(DESK)).await, desk);
    let still = Options { watching: false, declare_all: false };
    let expected = json!({ "completions": {}, "prompts": {}, "resources": {}, "tools": {} });
    assert_eq!(capabilities(&live_with(DESK, still)).await, expected);
    let empty = "{ folio: 1, server: { name: e, version: '1' } }";
    assert_eq!(capabilities(&live(empty)).await, json!({}));
    let all = Options { watching: true, declare_all: true };
    let mut everything = desk;
    everything["logging"] = json!({});
    assert_eq!(capabilities(&live_with(empty, all)).await, everything);
}

#[tokio::test]
async fn what_was_not_declared_is_an_unknown_method() {
    let live = live("{ folio: 1, server: { name: e, version: '1' } }");
    let mut client = Client::session(&live, "2025-11-25").await;
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
        assert_eq!(code(&client.ask(method, params.clone()).await), -32601, "{method}");
        assert_eq!(code(&client.ask_modern(method, params).await), -32601, "{method}");
    }
}

#[tokio::test]
async fn methods_of_sessions_are_unknown_without_one() {
    let mut client = Client::session(&live(DESK), "2025-11-25").await;
    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", json!({ "level": "debug" })),
        ("resources/subscribe", json!({ "uri": "a:b" })),
        ("resources/unsubscribe", json!({ "uri": "a:b" })),
        ("initialize", json!({})),
    ] {
        assert_eq!(code(&client.ask_modern(method, params).await), -32601, "{method}");
    }
}

#[tokio::test]
async fn results_of_2026_say_who_answers_and_how_long_they_hold() {
    let mut client = Client::new(&live(DESK));
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
        let result = client.ask_modern(method, params).await["result"].take();
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"], info, "{method}: {result}");
        assert_eq!(result["resultType"], "complete", "{method}");
        let hints = (result["ttlMs"] == 0, result["cacheScope"] == "private");
        assert_eq!(hints, (cached, cached), "{method}: {result}");
    }
}

#[tokio::test]
async fn results_for_sessions_hold_nothing_of_2026() {
    let mut client = Client::session(&live(DESK), "2025-11-25").await;
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
    let wish = json!({ "ref": reference, "argument": { "name": "style", "value": "p" } });
    let completion = json!({ "completion": { "values": ["plain", "pretty"], "total": 2, "hasMore": false } });
    assert_eq!(client.ask("completion/complete", wish).await["result"], completion);
}

#[tokio::test]
async fn errors_have_the_codes_of_each_generation() {
    let mut client = Client::session(&live(DESK), "2025-11-25").await;
    let unknown = client.ask("tools/call", json!({ "name": "nope" })).await;
    assert_eq!(code(&unknown), -32602);
    assert!(unknown["error"]["message"].as_str().unwrap().contains("nope"));
    let lacking = client.ask("tools/call", json!({ "name": "echo" })).await;
    assert_eq!(lacking["result"]["isError"], true, "{lacking}");
    assert_eq!(code(&client.ask("prompts/get", json!({ "name": "nope" })).await), -32602);
    assert_eq!(code(&client.ask("prompts/get", json!({ "name": "review" })).await), -32602);
    let missing = json!({ "uri": "desk://none" });
    for (answer, expected) in [
        (client.ask("resources/read", missing.clone()).await, -32002),
        (client.ask_modern("resources/read", missing).await, -32602),
    ] {
        assert_eq!(code(&answer), expected);
        assert_eq!(answer["error"]["data"]["uri"], "desk://none");
    }
    let reference = json!({ "type": "ref/prompt", "name": "nope" });
    let wish = json!({ "ref": reference, "argument": { "name": "a", "value": "" } });
    assert_eq!(code(&client.ask("completion/complete", wish).await), -32602);
}

#[tokio::test]
async fn absent_arguments_are_none_in_each_spelling() {
    let mut client = Client::session(&live(DESK), "2025-11-25").await;
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
async fn structured_results_fit_what_each_version_knows() {
    let live = live(DESK);
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
        let mut client = Client::session(&live, version).await;
        let result = client.ask("tools/call", call.clone()).await["result"].take();
        assert_eq!((&result["structuredContent"], &result["content"]), (&structured, &text), "{version}");
        assert_eq!(client.ask("tools/list", json!({})).await["result"]["tools"][1]["outputSchema"], listed);
    }
    let mut client = Client::new(&live);
    assert_eq!(client.ask_modern("tools/call", call).await["result"]["structuredContent"], json!([1, 2]));
    assert_eq!(client.ask_modern("tools/list", json!({})).await["result"]["tools"][1]["outputSchema"], schema);
}

#[tokio::test]
async fn a_cancelled_call_is_ended_and_not_answered() {
    let (live, world) = sleeping();
    let mut client = Client::session(&live, "2025-11-25").await;
    let id = client.send("tools/call", json!({ "name": "wait" })).await;
    let modern_id = client.send("tools/call", modern(json!({ "name": "wait" }))).await;
    tokio::time::timeout(SOON, world.asleep(2)).await.unwrap();
    client.notify("notifications/cancelled", json!({ "requestId": id })).await;
    client.notify("notifications/cancelled", json!({ "requestId": modern_id, "reason": "enough" })).await;
    tokio::time::timeout(SOON, world.asleep(0)).await.unwrap();
    tokio::time::timeout(SOON, live.idle()).await.unwrap();
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    assert!(client.end().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_ends_all_at_once_and_nothing_is_said_after() {
    let (live, world) = sleeping();
    let mut client = Client::session(&live, "2025-11-25").await;
    client.send("tools/call", json!({ "name": "wait" })).await;
    client.send("subscriptions/listen", modern(json!({ "notifications": { "toolsListChanged": true } }))).await;
    assert_eq!(client.hear().await["method"], "notifications/subscriptions/acknowledged");
    world.asleep(1).await;
    let before = tokio::time::Instant::now();
    assert_eq!(client.end().await, [] as [Value; 0]);
    assert!(before.elapsed() < Duration::from_secs(1), "{:?}", before.elapsed());
    world.asleep(0).await;
}

#[tokio::test]
async fn what_was_asked_just_before_the_end_of_input_is_answered() {
    let mut client = Client::new(&live(DESK));
    let ask = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": modern(json!({})) });
    client.raw(format!("{}\n{}", ask(1), ask(2))).await;
    assert_eq!(client.end().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_streams_with_their_result() {
    let (live, world) = sleeping();
    let mut client = Client::session(&live, "2025-11-25").await;
    client.send("tools/call", json!({ "name": "wait" })).await;
    let id =
        client.send("subscriptions/listen", modern(json!({ "notifications": { "toolsListChanged": true } }))).await;
    client.hear().await;
    world.asleep(1).await;
    let before = tokio::time::Instant::now();
    live.close();
    client.stop.cancel();
    let end = client.hear().await;
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!(id), &json!("complete")));
    assert_eq!(client.lines.next_line().await.unwrap(), None);
    assert!(before.elapsed() < Duration::from_secs(1));
    world.asleep(0).await;
}

#[tokio::test]
async fn a_stop_ends_a_connection_on_which_nothing_happens() {
    let mut client = Client::session(&live(DESK), "2025-11-25").await;
    client.stop.cancel();
    assert_eq!(tokio::time::timeout(SOON, client.lines.next_line()).await.unwrap().unwrap(), None);
}

#[tokio::test]
async fn a_stop_ends_a_connection_that_is_flooded() {
    let (live, stop) = (live(DESK), CancellationToken::new());
    let serving = tokio::spawn({
        let stop = stop.clone();
        async move { stdio::serve_on(&live, tokio::io::repeat(b'\n'), tokio::io::sink(), stop).await }
    });
    tokio::task::yield_now().await;
    stop.cancel();
    tokio::time::timeout(SOON, serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_connection_ends_when_its_peer_no_longer_reads() {
    let ((mut near, reader), (gone, writer)) = (tokio::io::duplex(1024), tokio::io::duplex(1024));
    drop(gone);
    let live = live(DESK);
    let serving = tokio::spawn(async move { stdio::serve_on(&live, reader, writer, CancellationToken::new()).await });
    near.write_all(b"{}\n").await.unwrap();
    tokio::time::timeout(SOON, serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_asked_no_more_and_delays_nobody() {
    let text = "x".repeat(1 << 19);
    let live = live(&DESK.replace("text: First", &format!("text: {text}")));
    let mut client = Client::with_room(&live, 1024);
    let mut sent = 0;
    let read = json!({ "uri": "desk://notes" });
    while tokio::time::timeout(Duration::from_millis(300), client.send("resources/read", modern(read.clone())))
        .await
        .is_ok()
    {
        sent += 1;
        assert!(sent < 400, "it reads on and on");
    }
    assert!(live.replace(catalog("{ folio: 1, server: { name: e, version: '1' } }")).any());
    // Whole again: the rest of the request that was cut short, and the answers.
    let mut bytes = vec![0; 1 << 16];
    let mut reader = client.lines.into_inner();
    assert!(reader.read(&mut bytes).await.unwrap() > 0);
}

#[tokio::test]
async fn a_request_within_the_process_takes_the_same_path() {
    let live = live(DESK);
    let params = json!({ "name": "echo", "arguments": { "text": "x" } });
    assert_eq!(local::ask(&live, "tools/call", params).await.unwrap()["content"][0]["text"], "x");
    let refused = local::ask(&live, "resources/read", json!({ "uri": "desk://none" })).await.unwrap_err();
    assert!(matches!(refused, Failure::Refused { code: -32602, data: Some(_), .. }), "{refused:?}");
}

//! Notifications of clients when the catalog is replaced.

use serde_json::{Value, json};

use super::{PipeClient, error_code, sessionless_params};
use crate::server::{
    SharedServer,
    testing::{TEST_MANIFEST, build_catalog, shared_server},
};

fn with_tool(name: &str) -> String {
    format!("{TEST_MANIFEST}\n  {name}:\n    description: More\n    result: {{ text: more }}\n")
}

fn with_prompt(name: &str) -> String {
    TEST_MANIFEST.replace("prompts:", &format!("prompts:\n  {name}: {{ text: x }}"))
}

fn with_notes(text: &str) -> String {
    TEST_MANIFEST.replace("text: First", &format!("text: {text}"))
}

fn replace(shared_server: &SharedServer, manifest: &str) {
    shared_server.replace(build_catalog(manifest));
}

/// Everything that is said until a ping is answered.
async fn messages_until_ping(client: &mut PipeClient) -> Vec<Value> {
    let id = client.send("ping", json!({})).await;
    let mut heard = Vec::new();
    loop {
        let message = client.receive().await;
        if message["id"] == id {
            return heard;
        }
        heard.push(message);
    }
}

fn methods(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["method"].as_str().unwrap()).collect()
}

async fn listen_client(shared_server: &SharedServer, notifications: Value) -> (PipeClient, i64) {
    let mut client = PipeClient::new(shared_server);
    let id = client.send("subscriptions/listen", sessionless_params(json!({ "notifications": notifications }))).await;
    let acknowledged = client.receive().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    (client, id)
}

#[tokio::test]
async fn session_is_notified_of_changed_lists_only() {
    let shared_server = shared_server(TEST_MANIFEST);
    let mut client = PipeClient::session(&shared_server, "2025-11-25").await;
    replace(&shared_server, &with_tool("extra"));
    assert_eq!(client.receive().await["method"], "notifications/tools/list_changed");
    replace(&shared_server, &with_prompt("extra"));
    let two = [client.receive().await, client.receive().await];
    assert_eq!(methods(&two), ["notifications/tools/list_changed", "notifications/prompts/list_changed"]);
    let edited = with_prompt("extra").replace("text: Hello", "text: Goodbye");
    replace(&shared_server, &edited);
    replace(&shared_server, &edited);
    replace(&shared_server, &edited.replace("desk://page/{id}", "desk://leaf/{id}"));
    assert_eq!(client.receive().await["method"], "notifications/resources/list_changed");
    assert!(messages_until_ping(&mut client).await.is_empty());
    let greet = client.ask("prompts/get", json!({ "name": "greet" })).await;
    assert_eq!(greet["result"]["messages"][0]["content"]["text"], "Goodbye");
}

#[tokio::test]
async fn changes_before_initialized_are_notified_once_after() {
    let shared_server = shared_server(TEST_MANIFEST);
    let mut client = PipeClient::new(&shared_server);
    client.initialize("2025-06-18").await;
    replace(&shared_server, &with_tool("a"));
    replace(&shared_server, &with_tool("b"));
    assert!(messages_until_ping(&mut client).await.is_empty());
    client.notify("notifications/initialized", json!({})).await;
    client.notify("notifications/initialized", json!({})).await;
    assert_eq!(client.receive().await["method"], "notifications/tools/list_changed");
    replace(&shared_server, &with_prompt("c"));
    assert_eq!(client.receive().await["method"], "notifications/tools/list_changed");
    assert_eq!(client.receive().await["method"], "notifications/prompts/list_changed");
    assert!(messages_until_ping(&mut client).await.is_empty());
}

#[tokio::test]
async fn listen_stream_gets_requested_changes_with_its_id() {
    let shared_server = shared_server(TEST_MANIFEST);
    let (mut client, id) =
        listen_client(&shared_server, json!({ "toolsListChanged": true, "resourceSubscriptions": ["desk://notes"] }))
            .await;
    replace(&shared_server, &with_prompt("unasked"));
    replace(&shared_server, &with_tool("extra"));
    let told = client.receive().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    replace(&shared_server, &with_notes("Second"));
    let two = [client.receive().await, client.receive().await];
    assert_eq!(methods(&two), ["notifications/tools/list_changed", "notifications/resources/updated"]);
    assert_eq!(two[1]["params"]["uri"], "desk://notes");
    assert_eq!(two[1]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    client.notify("notifications/cancelled", json!({ "requestId": id })).await;
    client.initialize("2025-11-25").await;
    replace(&shared_server, &with_tool("other"));
    assert!(messages_until_ping(&mut client).await.is_empty());
}

#[tokio::test]
async fn listen_stream_ignores_earlier_changes() {
    let shared_server = shared_server(TEST_MANIFEST);
    let mut client = PipeClient::session(&shared_server, "2025-11-25").await;
    replace(&shared_server, &with_tool("extra").replace("text: First", "text: Second"));
    client.receive().await;
    let notifications = json!({ "toolsListChanged": true, "resourceSubscriptions": ["desk://notes"] });
    client.send("subscriptions/listen", sessionless_params(json!({ "notifications": notifications }))).await;
    assert_eq!(client.receive().await["method"], "notifications/subscriptions/acknowledged");
    assert!(messages_until_ping(&mut client).await.is_empty());
}

#[tokio::test]
async fn sessionless_client_without_stream_gets_nothing() {
    let shared_server = shared_server(TEST_MANIFEST);
    let mut client = PipeClient::new(&shared_server);
    client.ask_sessionless("tools/list", json!({})).await;
    client.notify("notifications/initialized", json!({})).await;
    replace(&shared_server, &with_tool("extra"));
    client.ask_sessionless("tools/list", json!({})).await;
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn stream_and_session_on_one_pipe_are_both_notified() {
    let shared_server = shared_server(TEST_MANIFEST);
    let mut client = PipeClient::session(&shared_server, "2025-11-25").await;
    let id = client
        .send("subscriptions/listen", sessionless_params(json!({ "notifications": { "toolsListChanged": true } })))
        .await;
    client.receive().await;
    replace(&shared_server, &with_tool("extra"));
    let mut tags = [client.receive().await, client.receive().await]
        .map(|message| message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone());
    tags.sort_by_key(Value::is_null);
    assert_eq!(tags, [json!(id), Value::Null]);
}

#[tokio::test]
async fn subscribers_get_resource_updated() {
    let shared_server = shared_server(TEST_MANIFEST);
    let mut client = PipeClient::session(&shared_server, "2025-11-25").await;
    let mut other = PipeClient::session(&shared_server, "2025-11-25").await;
    for uri in ["desk://notes", "desk://page/1", "desk://to-come"] {
        assert_eq!(client.ask("resources/subscribe", json!({ "uri": uri })).await["result"], json!({}));
    }
    replace(&shared_server, &with_notes("Second"));
    let told = client.receive().await;
    assert_eq!(
        (&told["method"], &told["params"]),
        (&json!("notifications/resources/updated"), &json!({ "uri": "desk://notes" }))
    );
    assert!(messages_until_ping(&mut client).await.is_empty());
    client.ask("resources/unsubscribe", json!({ "uri": "desk://notes" })).await;
    let come = with_notes("Third").replace("resources:", "resources:\n  come: { uri: 'desk://to-come', text: x }");
    replace(&shared_server, &come);
    let two = [client.receive().await, client.receive().await];
    assert_eq!(methods(&two), ["notifications/resources/list_changed", "notifications/resources/updated"]);
    assert_eq!(two[1]["params"]["uri"], "desk://to-come");
    assert!(messages_until_ping(&mut client).await.is_empty());
    assert_eq!(methods(&messages_until_ping(&mut other).await), ["notifications/resources/list_changed"]);
}

#[tokio::test]
async fn subscriptions_per_session_are_bounded() {
    let mut client = PipeClient::session(&shared_server(TEST_MANIFEST), "2025-11-25").await;
    for number in 0..1000 {
        client.ask("resources/subscribe", json!({ "uri": format!("desk://page/{number}") })).await;
    }
    assert_eq!(error_code(&client.ask("resources/subscribe", json!({ "uri": "desk://notes" })).await), -32602);
    assert_eq!(client.ask("resources/subscribe", json!({ "uri": "desk://page/1" })).await["result"], json!({}));
}

#[tokio::test]
async fn cursor_is_bound_to_its_list() {
    let paged = |manifest: &str| manifest.replace("version: \"1.2.3\"", "version: \"1.2.3\", pageSize: 2");
    let shared_server = shared_server(&paged(TEST_MANIFEST));
    let mut client = PipeClient::session(&shared_server, "2025-11-25").await;
    let first = client.ask("tools/list", json!({})).await["result"].take();
    let cursor = &first["nextCursor"];
    assert_eq!(first["tools"].as_array().unwrap().len(), 2);
    replace(&shared_server, &paged(&with_notes("Second")));
    let second = client.ask("tools/list", json!({ "cursor": cursor })).await["result"].take();
    assert_eq!((&second["tools"][0]["name"], second.get("nextCursor")), (&json!("wait"), None));
    assert_eq!(error_code(&client.ask("prompts/list", json!({ "cursor": cursor })).await), -32602);
    replace(&shared_server, &paged(&with_tool("extra")));
    client.receive().await;
    assert_eq!(error_code(&client.ask("tools/list", json!({ "cursor": cursor })).await), -32602);
    assert_eq!(error_code(&client.ask("tools/list", json!({ "cursor": "nonsense" })).await), -32602);
}

#[tokio::test]
async fn too_many_subscriptions_are_dropped_from_filter() {
    let uris: Vec<_> = (0..1001).map(|number| format!("desk://page/{number}")).collect();
    let mut client = PipeClient::new(&shared_server(TEST_MANIFEST));
    let filter = json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": uris } });
    client.send("subscriptions/listen", sessionless_params(filter)).await;
    assert_eq!(client.receive().await["params"]["notifications"], json!({ "toolsListChanged": true }));
}

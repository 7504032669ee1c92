//! What clients are told when the catalog is replaced.

use serde_json::{Value, json};

use super::{Client, code, modern};
use crate::server::{
    Live, Options,
    testing::{DESK, catalog, live, live_with},
};

fn with_tool(name: &str) -> String {
    format!("{DESK}\n  {name}:\n    description: More\n    result: {{ text: more }}\n")
}

fn with_prompt(name: &str) -> String {
    DESK.replace("prompts:", &format!("prompts:\n  {name}: {{ text: x }}"))
}

fn with_notes(text: &str) -> String {
    DESK.replace("text: First", &format!("text: {text}"))
}

fn replace(live: &Live, manifest: &str) {
    live.replace(catalog(manifest));
}

/// Everything that is said until a ping is answered.
async fn heard(client: &mut Client) -> Vec<Value> {
    let id = client.send("ping", json!({})).await;
    let mut heard = Vec::new();
    loop {
        let message = client.hear().await;
        if message["id"] == id {
            return heard;
        }
        heard.push(message);
    }
}

fn methods(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["method"].as_str().unwrap()).collect()
}

async fn listening(live: &Live, notifications: Value) -> (Client, i64) {
    let mut client = Client::new(live);
    let id = client.send("subscriptions/listen", modern(json!({ "notifications": notifications }))).await;
    let acknowledged = client.hear().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    (client, id)
}

#[tokio::test]
async fn a_session_is_told_of_exactly_the_lists_that_changed() {
    let live = live(DESK);
    let mut client = Client::session(&live, "2025-11-25").await;
    replace(&live, &with_tool("extra"));
    assert_eq!(client.hear().await["method"], "notifications/tools/list_changed");
    replace(&live, &with_prompt("extra"));
    let two = [client.hear().await, client.hear().await];
    assert_eq!(methods(&two), ["notifications/tools/list_changed", "notifications/prompts/list_changed"]);
    let edited = with_prompt("extra").replace("text: Hello", "text: Goodbye");
    replace(&live, &edited);
    replace(&live, &edited);
    replace(&live, &edited.replace("desk://page/{id}", "desk://leaf/{id}"));
    assert_eq!(client.hear().await["method"], "notifications/resources/list_changed");
    assert!(heard(&mut client).await.is_empty());
    let greet = client.ask("prompts/get", json!({ "name": "greet" })).await;
    assert_eq!(greet["result"]["messages"][0]["content"]["text"], "Goodbye");
}

#[tokio::test]
async fn nothing_is_said_before_the_client_is_ready_and_then_once() {
    let live = live(DESK);
    let mut client = Client::new(&live);
    client.initialize("2025-06-18").await;
    replace(&live, &with_tool("a"));
    replace(&live, &with_tool("b"));
    assert!(heard(&mut client).await.is_empty());
    client.notify("notifications/initialized", json!({})).await;
    client.notify("notifications/initialized", json!({})).await;
    assert_eq!(client.hear().await["method"], "notifications/tools/list_changed");
    replace(&live, &with_prompt("c"));
    assert_eq!(client.hear().await["method"], "notifications/tools/list_changed");
    assert_eq!(client.hear().await["method"], "notifications/prompts/list_changed");
    assert!(heard(&mut client).await.is_empty());
}

#[tokio::test]
async fn a_stream_is_told_what_it_asked_for_under_its_name() {
    let live = live(DESK);
    let (mut client, id) =
        listening(&live, json!({ "toolsListChanged": true, "resourceSubscriptions": ["desk://notes"] })).await;
    replace(&live, &with_prompt("unasked"));
    replace(&live, &with_tool("extra"));
    let told = client.hear().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    replace(&live, &with_notes("Second"));
    let two = [client.hear().await, client.hear().await];
    assert_eq!(methods(&two), ["notifications/tools/list_changed", "notifications/resources/updated"]);
    assert_eq!(two[1]["params"]["uri"], "desk://notes");
    assert_eq!(two[1]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    client.notify("notifications/cancelled", json!({ "requestId": id })).await;
    client.initialize("2025-11-25").await;
    replace(&live, &with_tool("other"));
    assert!(heard(&mut client).await.is_empty());
}

#[tokio::test]
async fn a_stream_is_told_of_nothing_that_was_before_it() {
    let live = live(DESK);
    let mut client = Client::session(&live, "2025-11-25").await;
    replace(&live, &with_tool("extra").replace("text: First", "text: Second"));
    client.hear().await;
    let notifications = json!({ "toolsListChanged": true, "resourceSubscriptions": ["desk://notes"] });
    client.send("subscriptions/listen", modern(json!({ "notifications": notifications }))).await;
    assert_eq!(client.hear().await["method"], "notifications/subscriptions/acknowledged");
    assert!(heard(&mut client).await.is_empty());
}

#[tokio::test]
async fn a_client_of_2026_without_a_stream_is_told_nothing() {
    let live = live(DESK);
    let mut client = Client::new(&live);
    client.ask_modern("tools/list", json!({})).await;
    client.notify("notifications/initialized", json!({})).await;
    replace(&live, &with_tool("extra"));
    client.ask_modern("tools/list", json!({})).await;
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn a_stream_and_a_session_on_one_pipe_are_each_told_in_their_way() {
    let live = live(DESK);
    let mut client = Client::session(&live, "2025-11-25").await;
    let id =
        client.send("subscriptions/listen", modern(json!({ "notifications": { "toolsListChanged": true } }))).await;
    client.hear().await;
    replace(&live, &with_tool("extra"));
    let mut tags = [client.hear().await, client.hear().await]
        .map(|message| message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone());
    tags.sort_by_key(Value::is_null);
    assert_eq!(tags, [json!(id), Value::Null]);
}

#[tokio::test]
async fn subscribers_hear_of_the_resources_that_changed() {
    let live = live(DESK);
    let mut client = Client::session(&live, "2025-11-25").await;
    let mut other = Client::session(&live, "2025-11-25").await;
    for uri in ["desk://notes", "desk://page/1", "desk://to-come"] {
        assert_eq!(client.ask("resources/subscribe", json!({ "uri": uri })).await["result"], json!({}));
    }
    replace(&live, &with_notes("Second"));
    let told = client.hear().await;
    assert_eq!(
        (&told["method"], &told["params"]),
        (&json!("notifications/resources/updated"), &json!({ "uri": "desk://notes" }))
    );
    assert!(heard(&mut client).await.is_empty());
    client.ask("resources/unsubscribe", json!({ "uri": "desk://notes" })).await;
    let come = with_notes("Third").replace("resources:", "resources:\n  come: { uri: 'desk://to-come', text: x }");
    replace(&live, &come);
    let two = [client.hear().await, client.hear().await];
    assert_eq!(methods(&two), ["notifications/resources/list_changed", "notifications/resources/updated"]);
    assert_eq!(two[1]["params"]["uri"], "desk://to-come");
    assert!(heard(&mut client).await.is_empty());
    assert_eq!(methods(&heard(&mut other).await), ["notifications/resources/list_changed"]);
}

#[tokio::test]
async fn a_session_subscribes_to_so_many_resources_and_no_more() {
    let mut client = Client::session(&live(DESK), "2025-11-25").await;
    for number in 0..1000 {
        client.ask("resources/subscribe", json!({ "uri": format!("desk://page/{number}") })).await;
    }
    assert_eq!(code(&client.ask("resources/subscribe", json!({ "uri": "desk://notes" })).await), -32602);
    assert_eq!(client.ask("resources/subscribe", json!({ "uri": "desk://page/1" })).await["result"], json!({}));
}

#[tokio::test]
async fn a_session_keeps_what_it_has_agreed_on() {
    let tools = "{ folio: 1, server: { name: e, version: '1' }, tools: { a: { result: { text: x } } } }";
    let prompts = "{ folio: 1, server: { name: e, version: '1' }, prompts: { a: { text: x } } }";
    let live = live(tools);
    let mut old = Client::session(&live, "2025-11-25").await;
    replace(&live, prompts);
    assert_eq!(old.hear().await["method"], "notifications/tools/list_changed");
    assert_eq!(old.ask("tools/list", json!({})).await["result"]["tools"], json!([]));
    assert_eq!(code(&old.ask("prompts/list", json!({})).await), -32601);
    assert_eq!(code(&old.ask_modern("tools/list", json!({})).await), -32601);
    assert_eq!(old.ask_modern("prompts/list", json!({})).await["result"]["prompts"][0]["name"], "a");
    let mut new = Client::session(&live, "2025-11-25").await;
    assert_eq!(new.ask("prompts/list", json!({})).await["result"]["prompts"][0]["name"], "a");
}

#[tokio::test]
async fn who_does_not_watch_promises_nothing() {
    let live = live_with(DESK, Options { watching: false, declare_all: false });
    let mut client = Client::session(&live, "2025-11-25").await;
    assert_eq!(code(&client.ask("resources/subscribe", json!({ "uri": "desk://notes" })).await), -32601);
    let listen = json!({ "notifications": { "toolsListChanged": true } });
    assert_eq!(code(&client.ask_modern("subscriptions/listen", listen).await), -32601);
}

#[tokio::test]
async fn a_cursor_goes_on_in_the_same_list_and_is_refused_in_another() {
    let paged = |manifest: &str| manifest.replace("version: \"1.2.3\"", "version: \"1.2.3\", pageSize: 2");
    let live = live(&paged(DESK));
    let mut client = Client::session(&live, "2025-11-25").await;
    let first = client.ask("tools/list", json!({})).await["result"].take();
    let cursor = &first["nextCursor"];
    assert_eq!(first["tools"].as_array().unwrap().len(), 2);
    replace(&live, &paged(&with_notes("Second")));
    let second = client.ask("tools/list", json!({ "cursor": cursor })).await["result"].take();
    assert_eq!((&second["tools"][0]["name"], second.get("nextCursor")), (&json!("wait"), None));
    assert_eq!(code(&client.ask("prompts/list", json!({ "cursor": cursor })).await), -32602);
    replace(&live, &paged(&with_tool("extra")));
    client.hear().await;
    assert_eq!(code(&client.ask("tools/list", json!({ "cursor": cursor })).await), -32602);
    assert_eq!(code(&client.ask("tools/list", json!({ "cursor": "nonsense" })).await), -32602);
}

#[tokio::test]
async fn more_resources_than_can_be_watched_are_not_accepted() {
    let uris: Vec<_> = (0..1001).map(|number| format!("desk://page/{number}")).collect();
    let mut client = Client::new(&live(DESK));
    let wish = json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": uris } });
    client.send("subscriptions/listen", modern(wish)).await;
    assert_eq!(client.hear().await["params"]["notifications"], json!({ "toolsListChanged": true }));
}

//! `store` and `http.sessions`: what a server does without sessions, and while the store that replicas share is away. Replicas with
//! a real one are in `tests/interop/replicas.py`.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::harness::*;

const KEY: &str = "0123456789abcdef0123456789abcdef";
const NEWER_KEY: &str = "fedcba9876543210fedcba9876543210";

const TOOLS: &str = r#"
resources: { note: { uri: "note://a", text: one } }
prompts: { greet: { text: Hello. } }
tools:
  echo: { arguments: { text: {} }, result: { text: "{{text}}" } }
  limited: { rateLimit: { calls: 2, per: 1h }, result: { text: let in } }
  waits: { task: required, run: { sleep: 1ms }, result: { text: waited } }
  confirms:
    run: [{ id: asked, ask: { sure: { elicit: { message: Sure?, schema: { sure: { type: boolean } } } } } }]
    result: { text: "confirmed {{steps.asked.sure.sure}}" }
  acts-first:
    run:
      - { exec: [sh, -c, "echo acted >> acted"] }
      - { id: asked, ask: { sure: { elicit: { message: Sure?, schema: { sure: { type: boolean } } } } } }
    result: { text: "{{steps.asked.sure.sure}}" }
"#;

fn manifest(keys: &str) -> String {
    format!("folio: 1\nserver: {{ name: desk }}\n{keys}\n{TOOLS}")
}

fn begin_session(client: &HttpClient, version: &str) -> HttpResponse {
    let client_info = json!({ "name": "a", "version": "1" });
    let params =
        json!({ "protocolVersion": version, "capabilities": { "elicitation": {} }, "clientInfo": client_info });
    client.post(&[], &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }))
}

fn request(client: &HttpClient, version: &str, method: &str, params: Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params });
    client.post(&[("MCP-Protocol-Version", version)], &message).answer(&json!(2), |_| ())
}

#[test]
fn without_sessions_each_request_stands_for_itself() {
    let folder = TestFolder::with_manifest(&manifest("http: { sessions: none }"));
    let server = folder.http();
    let client = server.http_client();
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let begun = begin_session(&client, version);
        assert_eq!((begun.status, begun.header("mcp-session-id")), (200, None));
        let result = begun.answer(&json!(1), |_| ())["result"].clone();
        assert_eq!(result["protocolVersion"], version);
        let declared = json!({ "tools": {}, "prompts": {}, "resources": {} });
        assert_eq!(result["capabilities"], declared, "what needs a session is not declared");
        let called = request(&client, version, "tools/call", json!({ "name": "echo", "arguments": { "text": "hi" } }));
        assert_eq!(called["result"]["content"][0]["text"], "hi");
        assert_eq!(request(&client, version, "tools/list", json!({}))["result"]["tools"].as_array().unwrap().len(), 5);
        for (method, params) in [
            ("resources/subscribe", json!({ "uri": "note://a" })),
            ("resources/unsubscribe", json!({ "uri": "note://a" })),
            ("logging/setLevel", json!({ "level": "debug" })),
        ] {
            let error = request(&client, version, method, params)["error"].clone();
            assert_eq!(error["code"], -32601);
            let words = format!("`{method}` needs a session, and this server keeps none (`http.sessions: none`)");
            assert_eq!(error["message"], words);
        }
        let asked = request(&client, version, "tools/call", json!({ "name": "confirms", "arguments": {} }));
        let text = all_text_of(&asked["result"]);
        assert!(asked["result"]["isError"] == true && text.contains("keeps no sessions"), "{asked}");
    }
    // One without a version, or with the id of a session that another replica has begun before.
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    assert_eq!(client.post(&[("Mcp-Session-Id", "elsewhere")], &ping).answer(&json!(2), |_| ())["result"], json!({}));
    for method in ["GET", "DELETE"] {
        let refused = client.send(method, &[("Accept", "text/event-stream"), ("Mcp-Session-Id", "elsewhere")], b"");
        assert_eq!((refused.status, refused.header("allow")), (405, Some("POST")));
    }
    // Requests of 2026-07-28 are as they were.
    let client = server.client_with(SESSIONLESS_VERSION, json!({ "elicitation": { "form": {} } }));
    let answer = |_: &str, _: &Value| json!({ "action": "accept", "content": { "sure": true } });
    let confirmed = client.call_with_answers("confirms", json!({}), answer);
    assert_eq!(all_text_of(&confirmed), "confirmed true");
}

/// A server whose store is at a port where nothing listens.
fn without_store(folder: &TestFolder) -> ServeCommand {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    folder.serve_command().env("REDIS_URL", &format!("redis://127.0.0.1:{port}")).env("FOLIO_STATE_KEY", KEY)
}

const STORE: &str = "env: { REDIS_URL: { secret: true } }\nstore: { redis: \"{{env.REDIS_URL}}\" }";

#[test]
fn what_needs_the_store_is_refused_while_it_is_away_and_the_rest_is_served() {
    let folder = TestFolder::with_manifest(&manifest(&format!("{STORE}\nhttp: {{ sessions: store }}")));
    let server = without_store(&folder).http();
    let (http, client) = (server.http_client(), server.sessionless());
    assert_eq!(client.call_text("echo", json!({ "text": "hi" })), "hi");
    assert_eq!(client.get_text("greet", json!({})), "Hello.");
    // Limits are those of this replica.
    let limited = || all_text_of(&client.call("limited", json!({})));
    assert_eq!([limited(), limited()], ["let in", "let in"]);
    assert!(limited().contains("rate limit of `limited` exceeded"));
    // A session would be known here alone.
    let begun = begin_session(&http, "2025-11-25");
    assert_eq!((begun.status, begun.header("retry-after")), (503, Some("1")));
    assert!(begun.text().contains("the store that replicas share is away"));
    let unknown = http.post(&[("Mcp-Session-Id", "s")], &json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }));
    assert_eq!(unknown.status, 503, "nobody knows whether there is such a session");
    // So would a task, which is not begun.
    let mut params = json!({ "name": "waits", "arguments": {}, "_meta": sessionless_meta() });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let head = [("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", "tools/call"), ("Mcp-Name", "waits")];
    let message = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
    let refused = http.post(&head, &message);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    let error = refused.json()["error"].clone();
    assert_eq!((&error["code"], &error["data"]["retryAfterMs"]), (&json!(-32603), &json!(1000)));
}

#[test]
fn a_question_is_answered_without_the_store_unless_the_call_has_acted() {
    let folder = TestFolder::with_manifest(&manifest(&format!("{STORE}\nhttp: {{}}")));
    let server = without_store(&folder).http();
    let client = server.client_with(SESSIONLESS_VERSION, json!({ "elicitation": { "form": {} } }));
    let answer = |_: &str, _: &Value| json!({ "action": "accept", "content": { "sure": true } });
    assert_eq!(all_text_of(&client.call_with_answers("confirms", json!({}), answer)), "confirmed true");
    let asked = client.result("tools/call", json!({ "name": "acts-first", "arguments": {} }));
    let answers = json!({ "sure": { "action": "accept", "content": { "sure": true } } });
    let params = json!({
        "name": "acts-first", "arguments": {}, "requestState": asked["requestState"], "inputResponses": answers,
    });
    // What was refused is not used, and can be sent again.
    for _ in 0..2 {
        let error = client.error("tools/call", params.clone());
        assert!(error["message"].as_str().unwrap().contains("the store that replicas share is away"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(folder.join("acted")).unwrap(), "acted\n");
}

#[test]
fn a_store_needs_a_state_key() {
    let folder = TestFolder::with_manifest(&manifest(&format!("{STORE}\nhttp: {{}}")));
    let command = std::process::Command::new(FOLIO_BIN)
        .args(["serve", "--http", "127.0.0.1:0"])
        .arg(folder.path())
        .env_remove("FOLIO_STATE_KEY")
        .env("REDIS_URL", "redis://:a-password-4711@127.0.0.1:1")
        .output()
        .unwrap();
    let stderr = String::from_utf8(command.stderr).unwrap();
    assert_eq!(command.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("`store` needs a state key that all replicas have"), "{stderr}");
    assert!(!stderr.contains("4711"), "{stderr}");
}

#[test]
fn the_file_of_state_keys_is_read_again() {
    let folder = TestFolder::with_manifest(&manifest("http: {}"));
    folder.write("keys", KEY);
    let keys = folder.join("keys");
    let serve = || folder.serve_command().flag("--state-key-file").flag(keys.to_str().unwrap());
    let (one, other) = (serve().http(), serve().http());
    let ask = |server: &TestServer| {
        let client = server.client_with(SESSIONLESS_VERSION, json!({ "elicitation": { "form": {} } }));
        client.result("tools/call", json!({ "name": "confirms", "arguments": {} }))["requestState"].clone()
    };
    let answer = |server: &TestServer, state: &Value| {
        let client = server.client_with(SESSIONLESS_VERSION, json!({ "elicitation": { "form": {} } }));
        let answers = json!({ "sure": { "action": "accept", "content": { "sure": true } } });
        let params = json!({ "name": "confirms", "arguments": {}, "requestState": state, "inputResponses": answers });
        client.request("tools/call", params)
    };
    let before = ask(&one);
    let marks = [&one, &other].map(|server| server.log.line_count());
    folder.rename_over("keys", format!("{NEWER_KEY}\n{KEY}\n"));
    for (server, mark) in [&one, &other].into_iter().zip(marks) {
        server.log.wait_for_line(mark, |line| line.contains("are read again"));
    }
    assert_eq!(all_text_of(&answer(&other, &before)["result"]), "confirmed true", "the older key opens still");
    let (first, second) = (ask(&one), ask(&one));
    assert_eq!(all_text_of(&answer(&other, &first)["result"]), "confirmed true");
    // A file that cannot be used changes nothing.
    let mark = other.log.line_count();
    folder.rename_over("keys", "short");
    let line = other.log.wait_for_line(mark, |line| line.contains("the state keys stay as they are"));
    assert!(line.contains("too short") && !line.contains("`short`"), "{line}");
    assert_eq!(all_text_of(&answer(&other, &second)["result"]), "confirmed true");
}

/// Two replicas with one key, the other of which serves another edition of a manifest.
struct Editions {
    folders: [TestFolder; 2],
    servers: [TestServer; 2],
}

impl Editions {
    fn serve(manifest: &str, (old, new): (&str, &str)) -> Editions {
        assert!(manifest.contains(old), "{old}");
        let folders = [manifest, &manifest.replace(old, new)].map(TestFolder::with_manifest);
        let servers = [0, 1].map(|at: usize| folders[at].serve_command().env("FOLIO_STATE_KEY", KEY).http());
        Editions { folders, servers }
    }

    fn clients(&self) -> [TestClient; 2] {
        let capabilities = json!({ "elicitation": { "form": {} } });
        [0, 1].map(|at: usize| self.servers[at].client_with(SESSIONLESS_VERSION, capabilities.clone()))
    }

    /// What the tools have done that the two serve.
    fn acted(&self) -> [String; 2] {
        [0, 1].map(|at: usize| std::fs::read_to_string(self.folders[at].join("acted")).unwrap_or_default())
    }
}

const LISTED: &str = r#"
folio: 1
server: { name: desk, pageSize: 2 }
tools:
  one: { arguments: { text: {} }, result: { text: "1" } }
  two: { result: { text: "2" } }
  three: { result: { text: "3" } }
prompts:
  first: { text: a }
  second: { text: b }
  third: { text: c }
resources:
  a: { uri: "note://a", text: a }
  b: { uri: "note://b", text: b }
  c: { uri: "note://c", text: c }
"#;

#[test]
fn cursor_of_another_edition_goes_on_with_the_same_list_or_is_refused_in_words() {
    for (edit, changed) in [
        (("  two: { result: { text: \"2\" } }", "  two: { result: { text: other } }"), None),
        (("  two: { result: { text: \"2\" } }\n", ""), Some("tools")),
        (("{ text: {} }", "{ word: {} }"), Some("tools")),
        (
            ("  first: { text: a }\n  second: { text: b }", "  second: { text: b }\n  first: { text: a }"),
            Some("prompts"),
        ),
        (("  b: { uri: \"note://b\"", "  b: { uri: \"note://other\""), Some("resources")),
    ] {
        let editions = Editions::serve(LISTED, edit);
        let [one, other] = editions.clients();
        for list in ["tools", "prompts", "resources"] {
            let method = format!("{list}/list");
            let first = one.result(&method, json!({}));
            let answer = other.request(&method, json!({ "cursor": first["nextCursor"] }));
            if changed == Some(list) {
                let words = "expired `cursor`: the list has changed; start again without one";
                assert_eq!(answer["error"], json!({ "code": -32602, "message": words }), "{edit:?}");
            } else {
                let pages = [&first[list], &answer["result"][list]].map(|page| page.as_array().unwrap().clone());
                assert_eq!(pages.concat(), other.list(list), "{edit:?}: {answer}");
            }
        }
    }
}

const ASKING: &str = r#"
folio: 1
server: { name: desk }
tools:
  confirms:
    arguments: { id: {} }
    run:
      - { id: asked, ask: { sure: { elicit: { message: Sure?, schema: { sure: { type: boolean } } } } } }
      - { exec: [sh, -c, "echo confirmed >> acted"] }
    result: { text: "confirmed {{id}}" }
  acts-first:
    arguments: { id: {} }
    run:
      - { exec: [sh, -c, "echo acted >> acted"] }
      - { id: asked, ask: { sure: { elicit: { message: Sure?, schema: { sure: { type: boolean } } } } } }
    result: { text: "acted {{id}}" }
"#;

/// What the other edition answers to an answer of a question of the first.
enum Answered {
    With(&'static str),
    Asked(&'static str),
    Refused(&'static str),
}

/// Has one replica ask, and the other take the answer.
fn answer_elsewhere(editions: &Editions, tool: &str) -> Value {
    let [one, other] = editions.clients();
    let mut params = json!({ "name": tool, "arguments": { "id": "x" } });
    let asked = one.result("tools/call", params.clone());
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({ "sure": { "action": "accept", "content": { "sure": true } } });
    other.request("tools/call", params)
}

fn check_answered(answer: &Value, expected: &Answered) {
    let result = &answer["result"];
    match expected {
        Answered::With(text) => assert_eq!(all_text_of(result), *text),
        Answered::Asked(message) => {
            assert_eq!(result["inputRequests"]["sure"]["params"]["message"], *message, "{answer}")
        }
        Answered::Refused(words) => {
            let said = answer["error"]["message"].as_str().map_or_else(|| all_text_of(result), str::to_owned);
            assert!(said.contains(words), "{answer}");
            assert!(result.is_null() || result["isError"] == true, "{answer}");
        }
    }
}

#[test]
fn question_of_another_edition_is_answered_asked_again_or_refused_in_words() {
    use Answered::{Asked, Refused, With};
    const CHANGED: Answered = Refused("the definition changed after the question was asked: call it again");
    for (edit, confirms, acts_first) in [
        (("tools:\n", "tools:\n  new: { result: { text: new } }\n"), With("confirmed x"), With("acted x")),
        (("Sure?", "Really?"), Asked("Really?"), CHANGED),
        (("\"echo", "\"echo other; echo"), Asked("Sure?"), CHANGED),
        (("    run:\n", "    run:\n      - { sleep: 1ms }\n"), Asked("Sure?"), CHANGED),
        (("{ id: {} }", "{ id: { type: integer } }"), Refused("`id`"), Refused("`id`")),
        (("  confirms:", "  renamed:"), Refused("Unknown tool"), With("acted x")),
    ] {
        let editions = Editions::serve(ASKING, edit);
        check_answered(&answer_elsewhere(&editions, "confirms"), &confirms);
        let done_elsewhere = if matches!(confirms, With(_)) { "confirmed\n" } else { "" };
        assert_eq!(editions.acted(), ["", done_elsewhere], "{edit:?}");
        check_answered(&answer_elsewhere(&editions, "acts-first"), &acts_first);
        assert_eq!(editions.acted(), ["acted\n", done_elsewhere], "{edit:?}");
    }
}

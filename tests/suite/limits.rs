//! How much one may ask for, and what a client must be capable of: refused in words that say what to do.

use serde_json::{Value, json};

use crate::harness::*;

const LIMITED: &str = r#"folio: 1
server: { name: s }
tools:
  twice: { description: T, rateLimit: { calls: 2, per: 1h }, arguments: { n: { type: integer, default: 1 } }, result: { text: "{{n}}" } }
  often: { description: O, result: { text: fine } }
"#;

fn refusal(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    text_of(&result["content"][0])
}

#[test]
fn a_tool_is_called_so_often_and_the_next_call_is_told_when_to_try_again() {
    let folder = Folder::of(LIMITED);
    for version in SESSIONS.into_iter().chain([MODERN]) {
        let server = folder.stdio();
        let client = server.client(version);
        // A call that does nothing, as its arguments do not fit, does not count.
        assert!(refusal(&client.call("twice", json!({ "n": "x" }))).contains('n'));
        for n in [1, 2] {
            assert_eq!(client.call_text("twice", json!({ "n": n })), n.to_string());
        }
        let said = refusal(&client.call("twice", json!({})));
        assert_eq!(said, "`twice` may be called 2 times an hour; try again in 60 min", "{version}");
        assert_eq!(client.call_text("often", json!({})), "fine");
    }
}

#[test]
fn the_limit_of_a_tool_is_one_for_all_clients_and_outlives_a_reload() {
    let folder = Folder::of(LIMITED);
    let server = folder.http();
    let client = server.session("2025-11-25");
    assert_eq!(client.call_text("twice", json!({})), "1");
    assert_eq!(server.modern().call_text("twice", json!({})), "1");
    let mark = server.log.mark();
    folder.rename_over("folio.yaml", LIMITED.replace("{{n}}", "now {{n}}").replace("calls: 2", "calls: 3"));
    server.log.reloaded_after(mark);
    assert_eq!(client.call_text("twice", json!({})), "now 1");
    for client in [client, server.modern(), server.session("2024-11-05")] {
        assert!(refusal(&client.call("twice", json!({}))).contains("3 times an hour"));
    }
}

#[test]
fn so_many_calls_of_a_tool_run_at_once() {
    let folder = Folder::of(
        "folio: 1\nserver: { name: s }\ntools:\n  wait: { description: W, concurrency: 1, run: { exec: [sh, -c, \"touch began; while ! [ -e gate ]; do sleep 0.02; done\"] } }\n",
    );
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    let first = client.send("tools/call", json!({ "name": "wait" }));
    eventually("the first call", || folder.at("began").exists());
    let said = refusal(&client.call("wait", Value::Null));
    assert_eq!(said, "`wait` runs one call at once, and does so now; try again when one has ended");
    folder.write("gate", "");
    assert_ne!(client.answer(first)["result"]["isError"], true);
    assert_ne!(client.call("wait", Value::Null)["isError"], true);
}

#[test]
fn a_cancelled_call_makes_room_for_the_next() {
    let folder = Folder::of(
        "folio: 1\nserver: { name: s }\ntools:\n  wait: { description: W, concurrency: 1, arguments: { for: {} }, run: { exec: [sh, -c, \"touch began; exec sleep $0\", \"{{for}}\"] }, timeout: 2m }\n",
    );
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    let first = client.send("tools/call", json!({ "name": "wait", "arguments": { "for": "60" } }));
    eventually("the first call", || folder.at("began").exists());
    client.notify("notifications/cancelled", json!({ "requestId": first }));
    eventually("room", || client.call("wait", json!({ "for": "0" }))["isError"] != true);
}

/// A program that is not there: the call acts on the world, and is over at once.
const NOTHING: &str = "folio: 1\nserver: { name: s }\ntools:\n  act: { description: A, run: { exec: [folio-suite-no-such-program] } }\nprompts:\n  p: { arguments: { a: { enum: [one, two] } }, text: \"{{a}}\" }\n";

#[test]
fn a_session_that_runs_wild_is_told_when_to_go_on_and_others_are_served() {
    let folder = Folder::of(NOTHING);
    let server = folder.stdio();
    let wild = server.session("2025-11-25");
    // In lots, as no client has thousands of requests under way.
    let told = (0..400).any(|_| {
        let sent: Vec<i64> = (0..50).map(|_| wild.send("tools/call", json!({ "name": "act" }))).collect();
        let said: Vec<String> = sent.iter().map(|id| refusal(&wild.answer(*id)["result"])).collect();
        said.iter().any(|said| said.starts_with("too many requests; try again in "))
    });
    assert!(told, "20,000 calls were let in");
    assert!(refusal(&server.modern().call("act", Value::Null)).contains("folio-suite-no-such-program"));
    let complete = json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" } });
    let refused = (0..400).find_map(|_| {
        let sent: Vec<i64> = (0..50).map(|_| wild.send("completion/complete", complete.clone())).collect();
        let answers: Vec<Value> = sent.iter().map(|id| wild.answer(*id)).collect();
        answers.iter().find_map(|answer| answer.get("error").cloned())
    });
    let refused = refused.expect("20,000 completions were let in");
    assert_eq!(refused["code"], -32603);
    assert!(refused["data"]["retryAfterMs"].as_u64().is_some_and(|wait| (1..10_000).contains(&wait)), "{refused}");
    assert!(server.modern().request("completion/complete", complete).get("result").is_some());
}

const ACTING: &str = "folio: 1\nserver: { name: s }\nprompts:\n  act: { run: { exec: [folio-suite-no-such-program] }, text: x }\n  embed: { messages: [{ user: { resource: \"r://r\" } }] }\n  say: { text: x }\nresources:\n  r: { uri: \"r://r\", run: { exec: [folio-suite-no-such-program] } }\n";

#[test]
fn prompts_and_resources_that_act_take_credit_as_tools_do() {
    let folder = Folder::of(ACTING);
    for (method, params) in [
        ("prompts/get", json!({ "name": "act" })),
        ("prompts/get", json!({ "name": "embed" })),
        ("resources/read", json!({ "uri": "r://r" })),
    ] {
        let server = folder.stdio();
        let wild = server.session("2025-11-25");
        let refused = (0..400).find_map(|_| {
            let sent: Vec<i64> = (0..50).map(|_| wild.send(method, params.clone())).collect();
            let answers: Vec<Value> = sent.iter().map(|id| wild.answer(*id)).collect();
            answers.into_iter().find(|answer| answer.to_string().contains("too many requests; try again in "))
        });
        let refused = refused.unwrap_or_else(|| panic!("20,000 of {params} were let in"));
        assert_eq!(refused["error"]["code"], -32603, "{refused}");
        assert!(refused["error"]["data"]["retryAfterMs"].as_u64().is_some_and(|wait| wait < 10_000), "{refused}");
        // What does not act is let in a thousand times as often.
        eventually("its credit", || wild.request("prompts/get", json!({ "name": "say" })).get("result").is_some());
    }
}

const NEEDY: &str = r#"folio: 1
server: { name: s }
tools:
  ask: { description: A, requires: { sampling: { tools: {} }, elicitation: {} }, result: { text: asked } }
"#;

/// Calls `ask` over a pipe as a client with these capabilities.
fn ask(folder: &Folder, version: &str, capabilities: Value) -> Value {
    let server = folder.stdio();
    let pipe = server.pipe();
    let info = json!({ "name": "c", "version": "1" });
    let mut params = json!({ "name": "ask" });
    if version == MODERN {
        params["_meta"] = modern_meta();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    } else {
        let begin = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": info });
        pipe.line(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin }).to_string());
        pipe.take(|message| message["id"] == 0);
    }
    pipe.line(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string());
    pipe.take(|message| message["id"] == 1)
}

#[test]
fn a_tool_is_refused_to_a_client_without_what_it_requires() {
    let folder = Folder::of(NEEDY);
    let whole = json!({ "sampling": { "tools": {} }, "elicitation": { "form": {} } });
    for version in SESSIONS.into_iter().chain([MODERN]) {
        let fine = ask(&folder, version, whole.clone());
        assert_eq!(text_of(&fine["result"]["content"][0]), "asked", "{version}");
        for (lacking, missing) in [
            (json!({}), json!({ "sampling": { "tools": {} }, "elicitation": {} })),
            (json!({ "sampling": {}, "elicitation": {} }), json!({ "sampling": { "tools": {} } })),
            (json!({ "sampling": { "tools": {} }, "roots": {} }), json!({ "elicitation": {} })),
        ] {
            let answer = ask(&folder, version, lacking);
            if version == MODERN {
                assert_eq!(answer["error"]["code"], -32021, "{answer}");
                assert_eq!(answer["error"]["data"], json!({ "requiredCapabilities": missing }));
            } else {
                let said = refusal(&answer["result"]);
                assert!(said.starts_with("`ask` needs a client with `"), "{said}");
                assert!(missing.as_object().unwrap().keys().all(|name| said.contains(name)), "{said}");
            }
        }
    }
}

#[test]
fn a_task_is_refused_before_it_begins() {
    let folder = Folder::of(
        "folio: 1\nserver: { name: s }\ntools:\n  ask: { description: A, requires: { roots: {} }, task: required, result: { text: asked } }\n",
    );
    let tasks = json!({ "io.modelcontextprotocol/tasks": {} });
    let refused = ask(&folder, MODERN, json!({ "extensions": tasks }));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    assert_eq!(refused["error"]["data"], json!({ "requiredCapabilities": { "roots": {} } }));
    let begun = ask(&folder, MODERN, json!({ "extensions": tasks, "roots": {} }));
    assert_eq!(begun["result"]["resultType"], "task", "{begun}");
}

/// What a tool may require, a capability that meets it, and one that does not.
fn required() -> [(&'static str, Value, Value); 8] {
    let extension = |name: &str, settings: Value| json!({ "extensions": { name: settings } });
    let tasks = "io.modelcontextprotocol/tasks";
    [
        ("tasks: {}", extension(tasks, json!({})), json!({ "tasks": {} })),
        ("extensions: { io.modelcontextprotocol/tasks: {} }", extension(tasks, json!({})), extension("a/b", json!({}))),
        ("extensions: { a/b: { depth: 2 } }", extension("a/b", json!({ "depth": 2 })), extension("a/b", json!({}))),
        ("experimental: { maps: {} }", json!({ "experimental": { "maps": {} } }), json!({ "experimental": {} })),
        ("roots: { listChanged: true }", json!({ "roots": { "listChanged": true } }), json!({ "roots": {} })),
        ("sampling: { context: {} }", json!({ "sampling": { "context": {} } }), json!({ "sampling": {} })),
        ("elicitation: { url: {} }", json!({ "elicitation": { "url": {} } }), json!({ "elicitation": {} })),
        ("elicitation: {}", json!({ "elicitation": {} }), json!({ "elicitation": { "url": {} } })),
    ]
}

#[test]
fn whatever_can_be_required_is_met_by_a_client_that_has_it() {
    for (written, has, lacks) in required() {
        let tool = format!("{{ description: A, requires: {{ {written} }}, result: {{ text: asked }} }}");
        let folder = Folder::of(&format!("folio: 1\nserver: {{ name: s }}\ntools:\n  ask: {tool}\n"));
        for version in ["2025-11-25", MODERN] {
            let fine = ask(&folder, version, has.clone());
            assert_eq!(text_of(&fine["result"]["content"][0]), "asked", "{written} in {version}");
            let refused = ask(&folder, version, lacks.clone());
            let error = refused["error"]["code"] == -32021 || refused["result"]["isError"] == true;
            assert!(error, "{written} in {version}: {refused}");
        }
    }
    let refused = ask(&Folder::of(&NEEDY.replace("sampling: { tools: {} }", "tasks: {}")), MODERN, json!({}));
    let missing = json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    assert_eq!(refused["error"]["data"]["requiredCapabilities"], missing, "in the words of the protocol: {refused}");
}

#[test]
fn over_http_a_missing_capability_is_a_bad_request() {
    let folder = Folder::of(NEEDY);
    let server = folder.http();
    let params = json!({ "name": "ask", "_meta": modern_meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let headers = [("MCP-Protocol-Version", MODERN), ("Mcp-Method", "tools/call"), ("Mcp-Name", "ask")];
    let response = server.web().post(&headers, &body);
    assert_eq!(response.status, 400);
    assert_eq!(response.answer(&json!(1), |_| {})["error"]["code"], -32021);
}

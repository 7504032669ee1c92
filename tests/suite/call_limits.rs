//! Rate limits and required client capabilities.

use std::fs;

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
fn rate_limited_tool_says_when_to_retry() {
    let folder = TestFolder::with_manifest(LIMITED);
    for version in SESSION_VERSIONS.into_iter().chain([SESSIONLESS_VERSION]) {
        let server = folder.stdio();
        let client = server.client(version);
        // A call that does nothing, as its arguments do not fit, does not count.
        assert!(refusal(&client.call("twice", json!({ "n": "x" }))).contains('n'));
        for n in [1, 2] {
            assert_eq!(client.call_text("twice", json!({ "n": n })), n.to_string());
        }
        let said = refusal(&client.call("twice", json!({})));
        assert_eq!(said, "rate limit of `twice` exceeded (2 times an hour); try again in 60 min", "{version}");
        assert_eq!(client.call_text("often", json!({})), "fine");
    }
}

#[test]
fn rate_limit_is_shared_and_survives_reload() {
    let folder = TestFolder::with_manifest(LIMITED);
    let server = folder.http();
    let client = server.session("2025-11-25");
    assert_eq!(client.call_text("twice", json!({})), "1");
    assert_eq!(server.sessionless().call_text("twice", json!({})), "1");
    let mark = server.log.line_count();
    folder.rename_over("folio.yaml", LIMITED.replace("{{n}}", "now {{n}}").replace("calls: 2", "calls: 3"));
    server.log.wait_for_reload(mark);
    assert_eq!(client.call_text("twice", json!({})), "now 1");
    for client in [client, server.sessionless(), server.session("2024-11-05")] {
        assert!(refusal(&client.call("twice", json!({}))).contains("3 times an hour"));
    }
}

#[test]
fn concurrency_limit_is_enforced() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  wait: { description: W, concurrency: 1, run: { exec: [sh, -c, \"touch began; while ! [ -e gate ]; do sleep 0.02; done\"] } }\n",
    );
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    let first = client.send("tools/call", json!({ "name": "wait" }));
    wait_until("the first call", || folder.join("began").exists());
    let said = refusal(&client.call("wait", Value::Null));
    assert_eq!(said, "concurrency limit of `wait` reached (1 call); try again when one has ended");
    folder.write("gate", "");
    assert_ne!(client.wait_for_answer(first)["result"]["isError"], true);
    assert_ne!(client.call("wait", Value::Null)["isError"], true);
}

const QUEUED: &str = "folio: 1\nserver: { name: s }\ntools:\n  wait: { description: W, concurrency: { calls: 1, queue: 2 }, arguments: { who: {} }, run: { exec: [sh, -c, \"echo $0 >> order; while ! [ -e gate ]; do sleep 0.02; done\", \"{{who}}\"] } }\n";

#[test]
fn queued_calls_run_in_order() {
    let folder = TestFolder::with_manifest(QUEUED);
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    let start = |who: &str| {
        let params = json!({ "name": "wait", "arguments": { "who": who }, "_meta": { "progressToken": who } });
        client.send("tools/call", params)
    };
    let wait_for_position = |who: &str, position: usize| {
        let words = format!("waiting for `wait`: position {position} in its queue");
        client.take(|message| {
            message["params"]["progressToken"] == who && message["params"]["message"] == words.as_str()
        });
    };
    let order = || fs::read_to_string(folder.join("order")).unwrap_or_default();
    let first = start("a");
    wait_until("the first call", || order() == "a\n");
    let second = start("b");
    wait_for_position("b", 1);
    let third = start("c");
    wait_for_position("c", 2);
    let said = refusal(&client.call("wait", json!({ "who": "d" })));
    assert_eq!(said, "concurrency limit of `wait` reached (1 call, and 2 waiting); try again when one has ended");
    client.cancel(second);
    wait_for_position("c", 1);
    let fourth = start("e");
    wait_for_position("e", 2);
    folder.write("gate", "");
    for id in [first, third, fourth] {
        assert_ne!(client.wait_for_answer(id)["result"]["isError"], true);
    }
    assert_eq!(order(), "a\nc\ne\n");
}

#[test]
fn calls_in_one_write_run_in_the_order_of_reading() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  note: { description: N, concurrency: { calls: 1, queue: 10 }, \
         arguments: { n: { type: integer } }, run: { exec: [sh, -c, \"echo $0 >> order\", \"{{n}}\"] } }\n",
    );
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    for round in 0..4 {
        let ids: Vec<i64> = (0..8).map(|_| client.next_id()).collect();
        let call = |(n, id): (usize, &i64)| {
            let params = json!({ "name": "note", "arguments": { "n": round * 8 + n } });
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string() + "\n"
        };
        server.pipe().write_bytes(ids.iter().enumerate().map(call).collect::<String>().as_bytes());
        for id in ids {
            assert_ne!(client.wait_for_answer(id)["result"]["isError"], true);
        }
    }
    let expected: String = (0..32).map(|n| format!("{n}\n")).collect();
    assert_eq!(fs::read_to_string(folder.join("order")).unwrap(), expected);
}

#[test]
fn queue_is_checked_at_load() {
    for (concurrency, expected) in [
        ("{ queue: 1 }", "missing key `calls` in `concurrency`"),
        ("{ calls: 0 }", "invalid `concurrency`, expected at least 1"),
        ("{ calls: 1, queue: 1001 }", "invalid `queue`, expected at most 1000"),
        ("{ calls: 1, queued: 1 }", "unknown key `queued`"),
        ("many", "expected"),
    ] {
        let manifest = format!(
            "folio: 1\nserver: {{ name: s }}\ntools:\n  t: {{ description: T, concurrency: {concurrency}, result: {{ text: x }} }}\n"
        );
        let ran = run_folio(TestFolder::with_manifest(&manifest).path(), &["check", "--format", "lines"]);
        assert!(ran.code == Some(1) && ran.out.contains(expected), "{concurrency}: {ran:?}");
    }
}

#[test]
fn cancelled_call_frees_concurrency() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  wait: { description: W, concurrency: 1, arguments: { for: {} }, run: { exec: [sh, -c, \"touch began; exec sleep $0\", \"{{for}}\"] }, timeout: 2m }\n",
    );
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    let first = client.send("tools/call", json!({ "name": "wait", "arguments": { "for": "60" } }));
    wait_until("the first call", || folder.join("began").exists());
    client.notify("notifications/cancelled", json!({ "requestId": first }));
    wait_until("room", || client.call("wait", json!({ "for": "0" }))["isError"] != true);
}

/// A program that is not there: the call acts on the world, and is over at once.
const NOTHING: &str = "folio: 1\nserver: { name: s }\ntools:\n  act: { description: A, run: { exec: [folio-suite-no-such-program] } }\nprompts:\n  p: { arguments: { a: { enum: [one, two] } }, text: \"{{a}}\" }\n";

#[test]
fn session_rate_limit_spares_other_clients() {
    let folder = TestFolder::with_manifest(NOTHING);
    let server = folder.http();
    let wild = server.session("2025-11-25");
    // In lots, as no client has thousands of requests under way.
    let told = (0..400).any(|_| {
        let sent: Vec<i64> = (0..50).map(|_| wild.send("tools/call", json!({ "name": "act" }))).collect();
        let said: Vec<String> = sent.iter().map(|id| refusal(&wild.wait_for_answer(*id)["result"])).collect();
        said.iter().any(|said| said.starts_with("too many requests; try again in "))
    });
    assert!(told, "20,000 calls were let in");
    assert!(refusal(&server.sessionless().call("act", Value::Null)).contains("folio-suite-no-such-program"));
    let complete = json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" } });
    let refused = (0..400).find_map(|_| {
        let sent: Vec<i64> = (0..50).map(|_| wild.send("completion/complete", complete.clone())).collect();
        let answers: Vec<Value> = sent.iter().map(|id| wild.wait_for_answer(*id)).collect();
        answers.iter().find_map(|answer| answer.get("error").cloned())
    });
    let refused = refused.expect("20,000 completions were let in");
    assert_eq!(refused["code"], -32603);
    assert!(refused["data"]["retryAfterMs"].as_u64().is_some_and(|wait| (1..10_000).contains(&wait)), "{refused}");
    assert!(server.sessionless().request("completion/complete", complete).get("result").is_some());
}

const ACTING: &str = "folio: 1\nserver: { name: s }\nprompts:\n  act: { run: { exec: [folio-suite-no-such-program] }, text: x }\n  embed: { messages: [{ user: { resource: \"r://r\" } }] }\n  say: { text: x }\nresources:\n  r: { uri: \"r://r\", run: { exec: [folio-suite-no-such-program] } }\n";

#[test]
fn acting_prompts_and_resources_count_toward_limit() {
    let folder = TestFolder::with_manifest(ACTING);
    for (method, params) in [
        ("prompts/get", json!({ "name": "act" })),
        ("prompts/get", json!({ "name": "embed" })),
        ("resources/read", json!({ "uri": "r://r" })),
    ] {
        let server = folder.stdio();
        let wild = server.session("2025-11-25");
        let refused = (0..400).find_map(|_| {
            let sent: Vec<i64> = (0..50).map(|_| wild.send(method, params.clone())).collect();
            let answers: Vec<Value> = sent.iter().map(|id| wild.wait_for_answer(*id)).collect();
            answers.into_iter().find(|answer| answer.to_string().contains("too many requests; try again in "))
        });
        let refused = refused.unwrap_or_else(|| panic!("20,000 of {params} were let in"));
        assert_eq!(refused["error"]["code"], -32603, "{refused}");
        assert!(refused["error"]["data"]["retryAfterMs"].as_u64().is_some_and(|wait| wait < 10_000), "{refused}");
        // What does not act is let in a thousand times as often.
        wait_until("its credit", || wild.request("prompts/get", json!({ "name": "say" })).get("result").is_some());
    }
}

const NEEDY: &str = r#"folio: 1
server: { name: s }
tools:
  ask: { description: A, requires: { sampling: { tools: {} }, elicitation: {} }, result: { text: asked } }
"#;

/// Calls `ask` over a pipe as a client with these capabilities.
fn ask(folder: &TestFolder, version: &str, capabilities: Value) -> Value {
    let server = folder.stdio();
    let pipe = server.pipe();
    let info = json!({ "name": "c", "version": "1" });
    let mut params = json!({ "name": "ask" });
    if version == SESSIONLESS_VERSION {
        params["_meta"] = sessionless_meta();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    } else {
        let begin = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": info });
        pipe.write_line(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin }).to_string());
        pipe.take(|message| message["id"] == 0);
    }
    pipe.write_line(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string());
    pipe.take(|message| message["id"] == 1)
}

#[test]
fn tool_requires_client_capability() {
    let folder = TestFolder::with_manifest(NEEDY);
    let whole = json!({ "sampling": { "tools": {} }, "elicitation": { "form": {} } });
    for version in SESSION_VERSIONS.into_iter().chain([SESSIONLESS_VERSION]) {
        let fine = ask(&folder, version, whole.clone());
        assert_eq!(text_of(&fine["result"]["content"][0]), "asked", "{version}");
        for (lacking, missing) in [
            (json!({}), json!({ "sampling": { "tools": {} }, "elicitation": {} })),
            (json!({ "sampling": {}, "elicitation": {} }), json!({ "sampling": { "tools": {} } })),
            (json!({ "sampling": { "tools": {} }, "roots": {} }), json!({ "elicitation": {} })),
        ] {
            let answer = ask(&folder, version, lacking);
            if version == SESSIONLESS_VERSION {
                assert_eq!(answer["error"]["code"], -32021, "{answer}");
                assert_eq!(answer["error"]["data"], json!({ "requiredCapabilities": missing }));
            } else {
                let said = refusal(&answer["result"]);
                assert!(said.starts_with("tool `ask` requires client capability `"), "{said}");
                assert!(missing.as_object().unwrap().keys().all(|name| said.contains(name)), "{said}");
            }
        }
    }
}

#[test]
fn a_task_is_refused_before_it_begins() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  ask: { description: A, requires: { roots: {} }, task: required, result: { text: asked } }\n",
    );
    let tasks = json!({ "io.modelcontextprotocol/tasks": {} });
    let refused = ask(&folder, SESSIONLESS_VERSION, json!({ "extensions": tasks }));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    assert_eq!(refused["error"]["data"], json!({ "requiredCapabilities": { "roots": {} } }));
    let begun = ask(&folder, SESSIONLESS_VERSION, json!({ "extensions": tasks, "roots": {} }));
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
fn every_requirable_capability_can_be_met() {
    for (written, has, lacks) in required() {
        let tool = format!("{{ description: A, requires: {{ {written} }}, result: {{ text: asked }} }}");
        let folder = TestFolder::with_manifest(&format!("folio: 1\nserver: {{ name: s }}\ntools:\n  ask: {tool}\n"));
        for version in ["2025-11-25", SESSIONLESS_VERSION] {
            let fine = ask(&folder, version, has.clone());
            assert_eq!(text_of(&fine["result"]["content"][0]), "asked", "{written} in {version}");
            let refused = ask(&folder, version, lacks.clone());
            let error = refused["error"]["code"] == -32021 || refused["result"]["isError"] == true;
            assert!(error, "{written} in {version}: {refused}");
        }
    }
    let refused = ask(
        &TestFolder::with_manifest(&NEEDY.replace("sampling: { tools: {} }", "tasks: {}")),
        SESSIONLESS_VERSION,
        json!({}),
    );
    let missing = json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    assert_eq!(refused["error"]["data"]["requiredCapabilities"], missing, "in the words of the protocol: {refused}");
}

#[test]
fn missing_required_capability_is_status_400() {
    let folder = TestFolder::with_manifest(NEEDY);
    let server = folder.http();
    let params = json!({ "name": "ask", "_meta": sessionless_meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let headers = [("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", "tools/call"), ("Mcp-Name", "ask")];
    let response = server.http_client().post(&headers, &body);
    assert_eq!(response.status, 400);
    assert_eq!(response.answer(&json!(1), |_| {})["error"]["code"], -32021);
}

//! What a run tells its client on the way: log messages, progress, and word of changes.

use serde_json::{Value, json};

use crate::harness::*;

const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const LOG: &str = "notifications/message";
const PROGRESS: &str = "notifications/progress";

const SPEAKING: &str = r#"folio: 1
server: { name: speaking }
env: { KEY: { secret: true } }
prompts:
  p: { description: P, run: [{ log: from a prompt }], text: Hi }
resources:
  r: { uri: "r://r", run: [{ log: from a resource }, { exec: [printf, Hi] }] }
tools:
  levels:
    description: Speaks at every level
    run:
      - { log: { level: debug, data: debug } }
      - { log: { level: info, data: info } }
      - { log: { level: notice, data: notice } }
      - { log: { level: warning, data: warning } }
      - { log: { level: error, data: error } }
      - { log: { level: critical, data: critical } }
      - { log: { level: alert, data: alert } }
      - { log: { level: emergency, data: emergency } }
    result: { text: done }
  words:
    description: Speaks in every form
    arguments: { n: { type: integer, default: 3 } }
    run:
      - { log: "n is {{n}}" }
      - { log: { logger: desk, data: { n: "{{n}}", list: ["{{n}}", text], none: null } } }
    result: { text: done }
  calls: { description: Has another speak, run: [{ tool: words }], result: { text: done } }
  discreet:
    description: Finds out what nobody is to know
    run:
      - { id: key, script: { shell: sh, text: 'echo "the key is $KEY"' }, env: { KEY: "{{env.KEY}}" } }
      - { id: here, exec: [pwd] }
      - { log: "{{steps.key.stdout}} at {{steps.here.stdout}}/x" }
      - { log: { data: { deep: ["{{steps.key.stdout}}", { "in": "{{steps.here.stdout}}" }] } } }
      - { progress: { progress: 1, message: "{{steps.key.stdout}} at {{steps.here.stdout}}" } }
    result: { text: done }
  steps:
    description: Says how far it is
    arguments: { total: { type: number, default: 4 } }
    run:
      - { progress: { progress: 1, total: "{{total}}", message: "Step 1 of {{total}}" } }
      - { progress: { progress: 2.5, total: "{{total}}" } }
      - { progress: { progress: 2, total: "{{total}}", message: back } }
      - { progress: { progress: 2.5, total: "{{total}}", message: again } }
      - { progress: { progress: 4, total: "{{total}}" } }
    result: { text: done }
"#;

/// The parameters of `method` that came with a call: its notifications come before its answer.
fn told_by(client: &Client, tool: &str, meta: Value, method: &str) -> Vec<Value> {
    let before = client.told(method).len();
    let mut params = json!({ "name": tool, "arguments": {} });
    if !meta.is_null() {
        params["_meta"] = meta;
    }
    let result = client.result("tools/call", params);
    assert_ne!(result["isError"], true, "{result}");
    client.told(method).split_off(before)
}

/// What `_meta` says of the level that a request of 2026-07-28 wants.
fn level(level: &str) -> Value {
    json!({ "io.modelcontextprotocol/logLevel": level })
}

fn data(told: &[Value]) -> Vec<&Value> {
    told.iter().map(|params| &params["data"]).collect()
}

#[test]
fn a_client_hears_the_levels_that_it_asked_for() {
    everywhere(&Folder::of(SPEAKING), &json!({}), |client| {
        let heard = |meta: Value| {
            let told = told_by(client, "levels", meta, LOG);
            assert!(told.iter().all(|params| params["level"] == params["data"] && params["logger"] == "levels"));
            told.len()
        };
        if client.is_modern() {
            assert_eq!(heard(Value::Null), 0, "a request that names no level hears nothing");
            for (nth, name) in LEVELS.iter().enumerate() {
                assert_eq!(heard(level(name)), LEVELS.len() - nth, "{name}");
            }
            assert_eq!(heard(Value::Null), 0, "a level is of its request alone");
            assert_eq!(client.code("logging/setLevel", json!({ "level": "debug" })), -32601);
            return;
        }
        assert!(client.agreed["capabilities"]["logging"].is_object(), "{}", client.agreed);
        assert_eq!(heard(Value::Null), 7, "until it is told otherwise, a session hears from info on");
        for (nth, name) in LEVELS.iter().enumerate() {
            assert_eq!(client.result("logging/setLevel", json!({ "level": name })), json!({}));
            assert_eq!(heard(Value::Null), LEVELS.len() - nth, "{name}");
        }
        for wrong in ["loud", "", "Info"] {
            assert_eq!(client.code("logging/setLevel", json!({ "level": wrong })), -32602, "{wrong}");
        }
        assert_eq!(heard(level("debug")), 1, "a session's level is not the request's to set");
    });
}

#[test]
fn a_level_that_nobody_knows_is_refused() {
    let folder = Folder::of(SPEAKING);
    for server in [folder.stdio(), folder.http()] {
        let client = server.modern();
        let error = client.error("tools/call", json!({ "name": "levels", "_meta": level("loud") }));
        assert_eq!(error["code"], -32602, "{error}");
    }
}

#[test]
fn the_level_of_a_session_is_its_own() {
    let server = Folder::of(SPEAKING);
    let server = server.http();
    let (quiet, loud) = (server.session("2025-11-25"), server.session("2025-11-25"));
    quiet.result("logging/setLevel", json!({ "level": "emergency" }));
    loud.result("logging/setLevel", json!({ "level": "debug" }));
    assert_eq!(told_by(&quiet, "levels", Value::Null, LOG).len(), 1);
    assert_eq!(told_by(&loud, "levels", Value::Null, LOG).len(), 8);
    assert_eq!(quiet.told(LOG).len(), 1);
}

#[test]
fn a_log_message_is_any_value_and_says_who_speaks() {
    everywhere(&Folder::of(SPEAKING), &json!({}), |client| {
        let meta = if client.is_modern() { level("info") } else { Value::Null };
        let structured = json!({ "n": 3, "list": [3, "text"], "none": null });
        for tool in ["words", "calls"] {
            let told = told_by(client, tool, meta.clone(), LOG);
            assert_eq!(told.len(), 2, "{told:?}");
            assert_eq!((&told[0]["logger"], &told[0]["data"]), (&json!("words"), &json!("n is 3")));
            assert_eq!((&told[1]["logger"], &told[1]["level"]), (&json!("desk"), &json!("info")));
            let mut data = told[1]["data"].clone();
            if data.get("none").is_none() {
                data["none"] = Value::Null;
            }
            assert_eq!(data, structured);
        }
        for (method, params, words) in [
            ("prompts/get", json!({ "name": "p", "_meta": meta }), "from a prompt"),
            ("resources/read", json!({ "uri": "r://r", "_meta": meta }), "from a resource"),
        ] {
            let mut params = params;
            if params["_meta"].is_null() {
                params.as_object_mut().unwrap().remove("_meta");
            }
            let before = client.told(LOG).len();
            client.result(method, params);
            assert_eq!(data(&client.told(LOG)[before..]), [words]);
        }
    });
}

#[test]
fn neither_a_secret_nor_where_the_server_is_gets_into_what_is_told() {
    let folder = Folder::of(SPEAKING);
    let serve = || folder.serve().env("KEY", "hunter2-and-more");
    let web = serve().http();
    for version in SESSIONS.iter().chain([&MODERN]) {
        let pipes = serve().stdio();
        for client in [pipes.client(version), web.client(version)] {
            let mut meta = if client.is_modern() { level("info") } else { json!({}) };
            meta["progressToken"] = json!("t");
            let told = told_by(&client, "discreet", meta, LOG);
            assert_eq!(data(&told)[0], "the key is [secret] at ./x", "{told:?}");
            let progress = client.told(PROGRESS);
            let all = format!("{told:?} {progress:?}");
            assert!(!all.contains("hunter2") && !all.contains(folder.path().to_str().unwrap()), "{all}");
            assert_eq!((told.len(), progress.len()), (2, 1), "{all}");
        }
    }
}

#[test]
fn progress_is_told_with_the_token_of_the_request_and_only_upward() {
    everywhere(&Folder::of(SPEAKING), &json!({}), |client| {
        assert!(told_by(client, "steps", Value::Null, PROGRESS).is_empty(), "nobody gave a token");
        for token in [json!("a token"), json!(7)] {
            let told = told_by(client, "steps", json!({ "progressToken": token }), PROGRESS);
            let numbers: Vec<f64> = told.iter().map(|params| params["progress"].as_f64().unwrap()).collect();
            assert_eq!(numbers, [1.0, 2.5, 4.0], "{told:?}");
            assert!(told.iter().all(|params| params["progressToken"] == token && params["total"] == 4.0), "{told:?}");
            // 2024-11-05 knows no message.
            let message = if client.version == "2024-11-05" { Value::Null } else { json!("Step 1 of 4") };
            assert_eq!(told[0]["message"], message, "{told:?}");
        }
        let before = client.told(PROGRESS).len();
        client.round_trip();
        assert_eq!(client.told(PROGRESS).len(), before, "progress came behind the end");
    });
}

/// A manifest with a tool of many steps.
fn many(steps: usize, step: impl Fn(usize) -> String) -> Folder {
    let steps: Vec<String> = (1..=steps).map(|nth| format!("      - {}\n", step(nth))).collect();
    Folder::of(&format!(
        "folio: 1\nserver: {{ name: many }}\ntools:\n  quiet: {{ description: Q, run: [{{ log: {{ level: debug, data: q }} }}], \
         result: {{ text: quiet }} }}\n  many:\n    description: Speaks without end\n    run:\n{}    result: {{ text: done }}\n",
        steps.concat()
    ))
}

#[test]
fn progress_that_comes_too_fast_is_told_by_its_newest() {
    everywhere(&many(400, |nth| format!("{{ progress: {{ progress: {nth}, total: 400 }} }}")), &json!({}), |client| {
        let told = told_by(client, "many", json!({ "progressToken": "t" }), PROGRESS);
        let numbers: Vec<f64> = told.iter().map(|params| params["progress"].as_f64().unwrap()).collect();
        assert!(numbers.len() >= 51 && numbers.len() < 300, "{}", numbers.len());
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
        assert_eq!(numbers.last(), Some(&400.0), "the last word is missing");
    });
}

#[test]
fn log_messages_that_come_too_fast_are_left_out_and_counted() {
    everywhere(&many(600, |nth| format!("{{ log: {{ level: error, data: {nth} }} }}")), &json!({}), |client| {
        let meta = if client.is_modern() { level("info") } else { Value::Null };
        let told = told_by(client, "many", meta, LOG);
        let (ours, theirs): (Vec<&Value>, Vec<&Value>) = told.iter().partition(|params| params["logger"] == "folio");
        assert!(theirs.len() >= 200 && theirs.len() < 500, "{}", theirs.len());
        let counted: usize = ours
            .iter()
            .map(|params| params["data"].as_str().unwrap().split(' ').next().unwrap().parse::<usize>().unwrap())
            .sum();
        assert_eq!(theirs.len() + counted, 600, "{ours:?}");
    });
}

#[test]
fn that_something_was_left_out_is_told_at_a_level_that_the_client_wants() {
    let folder = many(600, |nth| format!("{{ log: {{ level: emergency, data: {nth} }} }}"));
    everywhere(&folder, &json!({}), |client| {
        let meta = if client.is_modern() {
            level("critical")
        } else {
            client.result("logging/setLevel", json!({ "level": "critical" }));
            Value::Null
        };
        let told = told_by(client, "many", meta, LOG);
        let below = told
            .iter()
            .filter(|params| !["critical", "alert", "emergency"].contains(&params["level"].as_str().unwrap()));
        assert_eq!(below.count(), 0, "the client asked for nothing below critical");
        assert!(told.iter().any(|params| params["logger"] == "folio"), "it is not told that messages are missing");
    });
}

#[test]
fn a_request_that_wants_no_messages_is_not_told_what_another_missed() {
    let folder = many(601, |nth| match nth {
        601 => "{ sleep: 1s }".to_owned(),
        nth => format!("{{ log: {{ level: emergency, data: {nth} }} }}"),
    });
    let server = folder.stdio();
    let client = server.modern();
    let id = client.send("tools/call", json!({ "name": "many", "_meta": level("critical") }));
    eventually("as many messages as there may be", || client.told(LOG).len() >= 200);
    while !client.has_answer(id) {
        client.call("quiet", json!({}));
    }
    // Whoever asked for messages hears of those that are missing at the level that it named.
    let told = client.told(LOG);
    assert!(told.iter().any(|params| params["logger"] == "folio"), "{told:?}");
    assert!(told.iter().all(|params| params["level"] == "emergency" || params["level"] == "critical"), "{told:?}");
}

const NOTIFYING: &str = r#"folio: 1
server: { name: notifying }
prompts:
  p: { description: P, text: Hi }
resources:
  r: { uri: "r://r", text: Hi }
tools:
  tools: { description: T, run: { notify: tools }, result: { text: told } }
  prompts: { description: T, run: { notify: prompts }, result: { text: told } }
  resources: { description: T, run: [{ notify: resources }], result: { text: told } }
  updated: { description: T, arguments: { uri: { required: true } }, run: [{ notify: { updated: "{{uri}}" } }], result: { text: told } }
"#;

const CHANGED: [(&str, &str); 3] = [
    ("tools", "notifications/tools/list_changed"),
    ("prompts", "notifications/prompts/list_changed"),
    ("resources", "notifications/resources/list_changed"),
];
const UPDATED: &str = "notifications/resources/updated";

/// Everything that a stream can be asked to tell.
fn everything() -> Value {
    json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": ["r://r", "made://up"] })
}

fn notify_is_heard(client: &Client) {
    let _stream = (!client.is_on_pipes()).then(|| client.open_stream());
    for (tool, method) in CHANGED {
        client.call_text(tool, json!({}));
        client.wait_for(method);
    }
    client.result("resources/subscribe", json!({ "uri": "r://r" }));
    client.call_text("updated", json!({ "uri": "made://up" }));
    client.call_text("updated", json!({ "uri": "r://r" }));
    assert_eq!(client.wait_for(UPDATED)["params"]["uri"], "r://r", "only what is subscribed to is told");
    client.result("resources/unsubscribe", json!({ "uri": "r://r" }));
    client.call_text("updated", json!({ "uri": "r://r" }));
    client.assert_silent();
}

#[test]
fn sessions_hear_what_a_step_says_has_changed() {
    let folder = Folder::of(NOTIFYING);
    for watch in [true, false] {
        let serve = || if watch { folder.serve() } else { folder.serve().flag("--no-watch") };
        let web = serve().http();
        for version in SESSIONS {
            notify_is_heard(&serve().stdio().session(version));
            notify_is_heard(&web.session(version));
        }
    }
}

#[test]
fn streams_hear_what_a_step_says_has_changed() {
    let folder = Folder::of(NOTIFYING);
    for watch in [true, false] {
        let serve = || if watch { folder.serve() } else { folder.serve().flag("--no-watch") };
        for server in [serve().stdio(), serve().http()] {
            let client = server.modern();
            let (all, tools) = (client.listen(everything()), client.listen(json!({ "toolsListChanged": true })));
            for (tool, method) in CHANGED {
                client.call_text(tool, json!({}));
                all.wait_for(method);
            }
            // Of something that changes while it begins, a stream cannot tell what it is: it is told of its resources.
            while all.notices().iter().any(|method| method == UPDATED) {
                all.wait_for(UPDATED);
            }
            for uri in ["r://r", "made://up"] {
                client.call_text("updated", json!({ "uri": uri }));
                assert_eq!(all.wait_for(UPDATED)["params"]["uri"], uri);
            }
            tools.wait_for("notifications/tools/list_changed");
            client.round_trip();
            assert_eq!((tools.notices(), all.notices()), (vec![], vec![]), "more was told than was asked for");
        }
    }
}

/// More than a client may have open at once.
const STREAMS: i64 = 250;

#[test]
fn a_stream_that_is_cancelled_in_the_same_write_leaves_nothing() {
    let folder = Folder::of(NOTIFYING);
    let server = folder.stdio();
    let client = server.modern();
    let params = client.params(json!({ "notifications": everything() }));
    for id in 10_000..10_000 + STREAMS {
        let listen = json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params });
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        client.pipe().bytes(format!("{listen}\n{cancel}\n").as_bytes());
    }
    client.round_trip();
    let stream = client.listen(everything());
    client.call_text("tools", json!({}));
    stream.wait_for("notifications/tools/list_changed");
    client.round_trip();
    // One that was cancelled when it had begun may have been acknowledged, and hears nothing after that.
    assert_eq!(client.told("notifications/tools/list_changed"), Vec::<Value>::new());
}

#[test]
fn a_pack_tells_of_its_own_resources_alone() {
    let folder = Folder::of(
        "folio: 1\nserver: { name: s }\npacks: { p: { path: ./p } }\nresources:\n  own: { uri: \"own://x\", text: x }\ntools:\n  tell: { description: T, arguments: { uri: {} }, run: { notify: { updated: \"{{uri}}\" } }, result: { text: told } }\n",
    );
    folder.write(
        "p/folio.yaml",
        "folio: 1\nserver: { name: p }\nresources:\n  mine: { uri: \"mine://{id}\", text: x }\ntools:\n  tell: { description: T, arguments: { uri: {} }, run: { notify: { updated: \"{{uri}}\" } }, result: { text: told } }\n",
    );
    everywhere(&folder, &json!({}), |client| {
        let tell = |tool: &str, uri: &str| client.call(tool, json!({ "uri": uri }));
        assert_eq!(tell("p-tell", "mine://1")["isError"], false);
        for uri in ["own://x", "made://up"] {
            let refused = tell("p-tell", uri);
            assert_eq!(refused["isError"], true, "{refused}");
            let words = text_of(&refused["content"][0]);
            assert_eq!(words, format!("`notify` names `{uri}`, which is no resource of this pack"));
        }
        for uri in ["own://x", "mine://1", "made://up"] {
            assert_ne!(tell("tell", uri)["isError"], true);
        }
    });
}

#[test]
fn a_stream_is_told_first_what_it_will_be_told() {
    let folder = Folder::of(
        "folio: 1\nserver: { name: s }\nresources:\n  r: { uri: 'r://r', text: R }\n\
         tools:\n  t: { description: T, run: { notify: tools }, result: { text: told } }\n",
    );
    let asked = json!({ "toolsListChanged": true, "promptsListChanged": false, "resourceSubscriptions": ["r://r"] });
    for (watch, agreed) in [
        (true, json!({ "toolsListChanged": true, "resourceSubscriptions": ["r://r"] })),
        (false, json!({ "toolsListChanged": true })),
    ] {
        let serve = || if watch { folder.serve() } else { folder.serve().flag("--no-watch") };
        for server in [serve().stdio(), serve().http()] {
            let client = server.modern();
            let id = client.send("subscriptions/listen", json!({ "notifications": asked }));
            client.call_text("t", json!({}));
            let said = client.take(|message| tag(message) == id);
            assert_eq!(said["method"], "notifications/subscriptions/acknowledged", "{said}");
            assert_eq!(said["params"]["notifications"], agreed, "{said}");
        }
    }
}

#[test]
fn without_a_watch_only_what_a_step_can_tell_is_promised() {
    let tool = |run: &str| {
        format!(
            "folio: 1\nserver: {{ name: n }}\nprompts: {{ p: {{ description: P, text: Hi }} }}\n\
             resources: {{ r: {{ uri: 'r://r', text: Hi }} }}\n\
             tools: {{ t: {{ description: T, run: {run}, result: {{ text: done }} }} }}\n"
        )
    };
    for (run, tools, resources) in [
        ("{ sleep: 1ms }", json!({}), json!({})),
        ("{ notify: tools }", json!({ "listChanged": true }), json!({})),
        ("[{ notify: resources }]", json!({}), json!({ "listChanged": true })),
        ("[{ notify: { updated: 'r://r' } }]", json!({}), json!({ "subscribe": true })),
    ] {
        let folder = Folder::of(&tool(run));
        let server = folder.serve().flag("--no-watch").http();
        let session = server.session("2025-11-25");
        let hello = server.modern().result("server/discover", Value::Null);
        for capabilities in [&session.agreed["capabilities"], &hello["capabilities"]] {
            assert_eq!(capabilities["tools"], tools, "{run}: {capabilities}");
            assert_eq!(capabilities["prompts"], json!({}), "{run}: {capabilities}");
            assert_eq!(capabilities["resources"], resources, "{run}: {capabilities}");
            assert!(capabilities.get("logging").is_none(), "nothing here logs: {capabilities}");
        }
    }
}

//! Notifications during a run: log messages, progress and changes.

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
  embeds: { description: Embeds what embeds what speaks, messages: [{ user: { resource: "r://outer" } }] }
  makes-up: { description: Embeds what it names in a call, messages: [{ user: { resource: "r://{{lower 'R'}}" } }] }
resources:
  r: { uri: "r://r", run: [{ log: from a resource }, { exec: [printf, Hi] }] }
  outer: { uri: "r://outer", run: { exec: ["true"] }, result: { content: [{ resource: "r://r" }] } }
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
fn notified_params(client: &TestClient, tool: &str, meta: Value, method: &str) -> Vec<Value> {
    let before = client.notified_params(method).len();
    let mut params = json!({ "name": tool, "arguments": {} });
    if !meta.is_null() {
        params["_meta"] = meta;
    }
    let result = client.result("tools/call", params);
    assert_ne!(result["isError"], true, "{result}");
    client.notified_params(method).split_off(before)
}

/// What `_meta` says of the level that a request of 2026-07-28 wants.
fn level(level: &str) -> Value {
    json!({ "io.modelcontextprotocol/logLevel": level })
}

fn data(told: &[Value]) -> Vec<&Value> {
    told.iter().map(|params| &params["data"]).collect()
}

#[test]
fn log_messages_respect_the_requested_level() {
    on_every_version_and_wire(&TestFolder::with_manifest(SPEAKING), &json!({}), |client| {
        let heard = |meta: Value| {
            let told = notified_params(client, "levels", meta, LOG);
            assert!(told.iter().all(|params| params["level"] == params["data"] && params["logger"] == "levels"));
            told.len()
        };
        if client.is_sessionless() {
            assert_eq!(heard(Value::Null), 0, "a request that names no level hears nothing");
            for (nth, name) in LEVELS.iter().enumerate() {
                assert_eq!(heard(level(name)), LEVELS.len() - nth, "{name}");
            }
            assert_eq!(heard(Value::Null), 0, "a level is of its request alone");
            assert_eq!(client.error_code("logging/setLevel", json!({ "level": "debug" })), -32601);
            return;
        }
        assert!(client.initialize_result["capabilities"]["logging"].is_object(), "{}", client.initialize_result);
        assert_eq!(heard(Value::Null), 7, "until it is told otherwise, a session hears from info on");
        for (nth, name) in LEVELS.iter().enumerate() {
            assert_eq!(client.result("logging/setLevel", json!({ "level": name })), json!({}));
            assert_eq!(heard(Value::Null), LEVELS.len() - nth, "{name}");
        }
        for wrong in ["loud", "", "Info"] {
            assert_eq!(client.error_code("logging/setLevel", json!({ "level": wrong })), -32602, "{wrong}");
        }
        assert_eq!(heard(level("debug")), 1, "a session's level is not the request's to set");
    });
}

#[test]
fn unknown_log_level_is_refused() {
    let folder = TestFolder::with_manifest(SPEAKING);
    for server in [folder.stdio(), folder.http()] {
        let client = server.sessionless();
        let error = client.error("tools/call", json!({ "name": "levels", "_meta": level("loud") }));
        assert_eq!(error["code"], -32602, "{error}");
    }
}

#[test]
fn log_level_is_per_session() {
    let server = TestFolder::with_manifest(SPEAKING);
    let server = server.http();
    let (quiet, loud) = (server.session("2025-11-25"), server.session("2025-11-25"));
    quiet.result("logging/setLevel", json!({ "level": "emergency" }));
    loud.result("logging/setLevel", json!({ "level": "debug" }));
    assert_eq!(notified_params(&quiet, "levels", Value::Null, LOG).len(), 1);
    assert_eq!(notified_params(&loud, "levels", Value::Null, LOG).len(), 8);
    assert_eq!(quiet.notified_params(LOG).len(), 1);
}

#[test]
fn log_message_has_any_data_and_a_logger() {
    on_every_version_and_wire(&TestFolder::with_manifest(SPEAKING), &json!({}), |client| {
        let meta = if client.is_sessionless() { level("info") } else { Value::Null };
        let structured = json!({ "n": 3, "list": [3, "text"], "none": null });
        for tool in ["words", "calls"] {
            let told = notified_params(client, tool, meta.clone(), LOG);
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
            ("resources/read", json!({ "uri": "r://outer", "_meta": meta }), "from a resource"),
            ("prompts/get", json!({ "name": "embeds", "_meta": meta }), "from a resource"),
            ("prompts/get", json!({ "name": "makes-up", "_meta": meta }), "from a resource"),
        ] {
            let mut params = params;
            if params["_meta"].is_null() {
                params.as_object_mut().unwrap().remove("_meta");
            }
            let before = client.notified_params(LOG).len();
            client.result(method, params);
            assert_eq!(data(&client.notified_params(LOG)[before..]), [words]);
        }
    });
}

#[test]
fn notifications_hold_no_secret_or_server_path() {
    let folder = TestFolder::with_manifest(SPEAKING);
    let serve = || folder.serve_command().env("KEY", "hunter2-and-more");
    let web = serve().http();
    for version in SESSION_VERSIONS.iter().chain([&SESSIONLESS_VERSION]) {
        let pipes = serve().stdio();
        for client in [pipes.client(version), web.client(version)] {
            let mut meta = if client.is_sessionless() { level("info") } else { json!({}) };
            meta["progressToken"] = json!("t");
            let told = notified_params(&client, "discreet", meta, LOG);
            assert_eq!(data(&told)[0], "the key is [secret] at ./x", "{told:?}");
            let progress = client.notified_params(PROGRESS);
            let all = format!("{told:?} {progress:?}");
            assert!(!all.contains("hunter2") && !all.contains(folder.path().to_str().unwrap()), "{all}");
            assert_eq!((told.len(), progress.len()), (2, 1), "{all}");
        }
    }
}

#[test]
fn progress_uses_request_token_and_only_increases() {
    on_every_version_and_wire(&TestFolder::with_manifest(SPEAKING), &json!({}), |client| {
        assert!(notified_params(client, "steps", Value::Null, PROGRESS).is_empty(), "nobody gave a token");
        for token in [json!("a token"), json!(7)] {
            let told = notified_params(client, "steps", json!({ "progressToken": token }), PROGRESS);
            let numbers: Vec<f64> = told.iter().map(|params| params["progress"].as_f64().unwrap()).collect();
            // What does not go on is a small step further, with its message.
            assert_eq!(numbers, [1.0, 2.5, 2.501, 2.502, 4.0], "{told:?}");
            assert!(told.iter().all(|params| params["progressToken"] == token && params["total"] == 4.0), "{told:?}");
            // 2024-11-05 knows no message.
            let message = if client.version == "2024-11-05" { Value::Null } else { json!("Step 1 of 4") };
            assert_eq!(told[0]["message"], message, "{told:?}");
        }
        let before = client.notified_params(PROGRESS).len();
        client.round_trip();
        assert_eq!(client.notified_params(PROGRESS).len(), before, "progress came behind the end");
    });
}

/// A manifest with a tool of many steps.
fn many(steps: usize, step: impl Fn(usize) -> String) -> TestFolder {
    let steps: Vec<String> = (1..=steps).map(|nth| format!("      - {}\n", step(nth))).collect();
    TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: many }}\ntools:\n  quiet: {{ description: Q, run: [{{ log: {{ level: debug, data: q }} }}], \
         result: {{ text: quiet }} }}\n  many:\n    description: Speaks without end\n    run:\n{}    result: {{ text: done }}\n",
        steps.concat()
    ))
}

#[test]
fn fast_progress_sends_only_the_newest() {
    on_every_version_and_wire(
        &many(400, |nth| format!("{{ progress: {{ progress: {nth}, total: 400 }} }}")),
        &json!({}),
        |client| {
            let told = notified_params(client, "many", json!({ "progressToken": "t" }), PROGRESS);
            let numbers: Vec<f64> = told.iter().map(|params| params["progress"].as_f64().unwrap()).collect();
            assert!(numbers.len() >= 51 && numbers.len() < 300, "{}", numbers.len());
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
            assert_eq!(numbers.last(), Some(&400.0), "the last word is missing");
        },
    );
}

#[test]
fn fast_log_messages_are_dropped_and_counted() {
    on_every_version_and_wire(
        &many(600, |nth| format!("{{ log: {{ level: error, data: {nth} }} }}")),
        &json!({}),
        |client| {
            let meta = if client.is_sessionless() { level("info") } else { Value::Null };
            let told = notified_params(client, "many", meta, LOG);
            let (ours, theirs): (Vec<&Value>, Vec<&Value>) =
                told.iter().partition(|params| params["logger"] == "folio");
            assert!(theirs.len() >= 200 && theirs.len() < 500, "{}", theirs.len());
            let counted: usize = ours
                .iter()
                .map(|params| params["data"].as_str().unwrap().split(' ').next().unwrap().parse::<usize>().unwrap())
                .sum();
            assert_eq!(theirs.len() + counted, 600, "{ours:?}");
        },
    );
}

#[test]
fn dropped_messages_notice_uses_wanted_level() {
    let folder = many(600, |nth| format!("{{ log: {{ level: emergency, data: {nth} }} }}"));
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let meta = if client.is_sessionless() {
            level("critical")
        } else {
            client.result("logging/setLevel", json!({ "level": "critical" }));
            Value::Null
        };
        let told = notified_params(client, "many", meta, LOG);
        let below = told
            .iter()
            .filter(|params| !["critical", "alert", "emergency"].contains(&params["level"].as_str().unwrap()));
        assert_eq!(below.count(), 0, "the client asked for nothing below critical");
        assert!(told.iter().any(|params| params["logger"] == "folio"), "it is not told that messages are missing");
    });
}

#[test]
fn dropped_notice_goes_only_to_logging_requests() {
    let folder = many(601, |nth| match nth {
        601 => "{ sleep: 1s }".to_owned(),
        nth => format!("{{ log: {{ level: emergency, data: {nth} }} }}"),
    });
    let server = folder.stdio();
    let client = server.sessionless();
    let id = client.send("tools/call", json!({ "name": "many", "_meta": level("critical") }));
    wait_until("as many messages as there may be", || client.notified_params(LOG).len() >= 200);
    while !client.has_answer(id) {
        client.call("quiet", json!({}));
    }
    // Whoever asked for messages hears of those that are missing at the level that it named.
    let told = client.notified_params(LOG);
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

fn notify_is_heard(client: &TestClient) {
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

const WIKI: &str = r#"
folio: 1
server: { name: s }
resources:
  policy: { uri: "https://Wiki.example:443/policy", text: P }
  pages: { uri: "wiki://Team.{id}/{+page}", text: "{{id}} {{page}}" }
  files: { uri: "files://{+path}", root: files, mimeType: text/plain }
tools:
  updated: { description: T, arguments: { uri: {} }, run: { notify: { updated: "{{uri}}" } }, result: { text: told } }
"#;

/// What is subscribed to, and the forms in which a step names it.
const FORMS: &[(&str, &[&str])] = &[
    ("https://wiki.example/policy", &["https://Wiki.example:443/policy", "HTTPS://wiki.example/%70olicy"]),
    ("https://Wiki.example:443/policy", &["https://wiki.example/policy"]),
    ("wiki://team.red/A", &["wiki://Team.Red/A", "WIKI://team.red:/./A"]),
];

#[test]
fn subscription_hears_of_every_form_of_its_uri() {
    let folder = TestFolder::new(&[("folio.yaml", WIKI), ("files/Read Me.md", "one")]);
    for server in [folder.serve_command().stdio(), folder.serve_command().http()] {
        let session = server.session("2025-11-25");
        let _stream = (!session.is_on_pipes()).then(|| session.open_stream());
        for (subscribed, forms) in FORMS {
            session.result("resources/subscribe", json!({ "uri": subscribed }));
            for form in *forms {
                session.call_text("updated", json!({ "uri": form }));
                assert_eq!(session.wait_for(UPDATED)["params"]["uri"], *subscribed, "{form}");
            }
            session.result("resources/unsubscribe", json!({ "uri": forms[0] }));
            session.call_text("updated", json!({ "uri": subscribed }));
            session.assert_silent();
        }
    }
    let server = folder.stdio();
    let client = server.sessionless();
    for (subscribed, forms) in FORMS {
        let listening = client.listen(json!({ "resourceSubscriptions": [subscribed] }));
        client.call_text("updated", json!({ "uri": forms[0] }));
        assert_eq!(listening.wait_for(UPDATED)["params"]["uri"], *subscribed);
    }
}

#[test]
fn client_that_normalizes_uris_finds_what_is_listed() {
    let folder = TestFolder::new(&[("folio.yaml", WIKI), ("files/Read Me.md", "one"), ("files/A/B.md", "two")]);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let listed: Vec<Value> = client.list("resources").iter().map(|one| one["uri"].clone()).collect();
        assert_eq!(listed, ["https://Wiki.example:443/policy", "files://A/B.md", "files://Read%20Me.md"]);
        for (uri, text) in [
            ("https://wiki.example/policy", "P"),
            ("files://Read%20Me.md", "one"),
            ("files://read%20me.md", "one"),
            ("files://read%20me.md/", "one"),
            ("files://a/B.md", "two"),
            ("files://A/./B.md", "two"),
            ("wiki://team.Red/A", "Red A"),
            ("wiki://team.Red/%41", "Red A"),
        ] {
            let contents = &client.result("resources/read", json!({ "uri": uri }))["contents"][0];
            assert_eq!((&contents["text"], &contents["uri"]), (&json!(text), &json!(uri)));
        }
        let missing = client.request("resources/read", json!({ "uri": "files://a/b.md" }));
        assert!(missing["error"].is_object(), "{missing}");
    });
}

#[test]
fn notify_step_reaches_sessions() {
    let folder = TestFolder::with_manifest(NOTIFYING);
    for watch in [true, false] {
        let serve = || if watch { folder.serve_command() } else { folder.serve_command().flag("--no-watch") };
        let web = serve().http();
        for version in SESSION_VERSIONS {
            notify_is_heard(&serve().stdio().session(version));
            notify_is_heard(&web.session(version));
        }
    }
}

#[test]
fn notify_step_reaches_listen_streams() {
    let folder = TestFolder::with_manifest(NOTIFYING);
    for watch in [true, false] {
        let serve = || if watch { folder.serve_command() } else { folder.serve_command().flag("--no-watch") };
        for server in [serve().stdio(), serve().http()] {
            let client = server.sessionless();
            let (all, tools) = (client.listen(everything()), client.listen(json!({ "toolsListChanged": true })));
            for (tool, method) in CHANGED {
                client.call_text(tool, json!({}));
                all.wait_for(method);
            }
            // Of something that changes while it begins, a stream cannot tell what it is: it is told of its resources.
            while all.notifications().iter().any(|method| method == UPDATED) {
                all.wait_for(UPDATED);
            }
            for uri in ["r://r", "made://up"] {
                client.call_text("updated", json!({ "uri": uri }));
                assert_eq!(all.wait_for(UPDATED)["params"]["uri"], uri);
            }
            tools.wait_for("notifications/tools/list_changed");
            client.round_trip();
            assert_eq!(
                (tools.notifications(), all.notifications()),
                (vec![], vec![]),
                "more was told than was asked for"
            );
        }
    }
}

/// More than a client may have open at once.
const STREAMS: i64 = 250;

#[test]
fn a_stream_that_is_cancelled_in_the_same_write_leaves_nothing() {
    let folder = TestFolder::with_manifest(NOTIFYING);
    let server = folder.stdio();
    let client = server.sessionless();
    let params = client.params(json!({ "notifications": everything() }));
    for id in 10_000..10_000 + STREAMS {
        let listen = json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params });
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        client.pipe().write_bytes(format!("{listen}\n{cancel}\n").as_bytes());
    }
    client.round_trip();
    let stream = client.listen(everything());
    client.call_text("tools", json!({}));
    stream.wait_for("notifications/tools/list_changed");
    client.round_trip();
    // One that was cancelled when it had begun may have been acknowledged, and hears nothing after that.
    assert_eq!(client.notified_params("notifications/tools/list_changed"), Vec::<Value>::new());
}

#[test]
fn pack_notifies_only_of_its_own_resources() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\npacks: { p: { path: ./p } }\nresources:\n  own: { uri: \"own://x\", text: x }\ntools:\n  tell: { description: T, arguments: { uri: {} }, run: { notify: { updated: \"{{uri}}\" } }, result: { text: told } }\n",
    );
    folder.write(
        "p/folio.yaml",
        "folio: 1\nserver: { name: p }\nresources:\n  mine: { uri: \"mine://{id}\", text: x }\ntools:\n  tell: { description: T, arguments: { uri: {} }, run: { notify: { updated: \"{{uri}}\" } }, result: { text: told } }\n",
    );
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let tell = |tool: &str, uri: &str| client.call(tool, json!({ "uri": uri }));
        assert_eq!(tell("p-tell", "mine://1")["isError"], false);
        for uri in ["own://x", "made://up"] {
            let refused = tell("p-tell", uri);
            assert_eq!(refused["isError"], true, "{refused}");
            let words = text_of(&refused["content"][0]);
            assert_eq!(words, format!("invalid `notify`: `{uri}` is not a resource of this pack"));
        }
        for uri in ["own://x", "mine://1", "made://up"] {
            assert_ne!(tell("tell", uri)["isError"], true);
        }
    });
}

#[test]
fn listen_stream_begins_with_acknowledgement() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nresources:\n  r: { uri: 'r://r', text: R }\n\
         tools:\n  t: { description: T, run: { notify: tools }, result: { text: told } }\n",
    );
    let asked = json!({ "toolsListChanged": true, "promptsListChanged": false, "resourceSubscriptions": ["r://r"] });
    for (watch, agreed) in [
        (true, json!({ "toolsListChanged": true, "resourceSubscriptions": ["r://r"] })),
        (false, json!({ "toolsListChanged": true })),
    ] {
        let serve = || if watch { folder.serve_command() } else { folder.serve_command().flag("--no-watch") };
        for server in [serve().stdio(), serve().http()] {
            let client = server.sessionless();
            let id = client.send("subscriptions/listen", json!({ "notifications": asked }));
            client.call_text("t", json!({}));
            let said = client.take(|message| subscription_id(message) == id);
            assert_eq!(said["method"], "notifications/subscriptions/acknowledged", "{said}");
            assert_eq!(said["params"]["notifications"], agreed, "{said}");
        }
    }
}

#[test]
fn no_watch_declares_only_notify_step_changes() {
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
        let folder = TestFolder::with_manifest(&tool(run));
        let server = folder.serve_command().flag("--no-watch").http();
        let session = server.session("2025-11-25");
        let hello = server.sessionless().result("server/discover", Value::Null);
        for capabilities in [&session.initialize_result["capabilities"], &hello["capabilities"]] {
            assert_eq!(capabilities["tools"], tools, "{run}: {capabilities}");
            assert_eq!(capabilities["prompts"], json!({}), "{run}: {capabilities}");
            assert_eq!(capabilities["resources"], resources, "{run}: {capabilities}");
            assert!(capabilities.get("logging").is_none(), "nothing here logs: {capabilities}");
        }
    }
}

//! Each version gets everything that it knows, and nothing else.

use serde_json::{Value, json};

use crate::every_client::DESK;
use crate::example_api::MockApi;
use crate::harness::*;
use crate::same_reply_everywhere::requests;

const EVERYTHING: &str = r#"folio: 1
server:
  name: s
  title: T
  description: D
  websiteUrl: https://x.example/
  icons: [{ src: "https://x.example/i.png" }]
prompts:
  p:
    title: P
    _meta: { k: 1 }
    icons: [{ src: "https://x.example/i.png" }]
    arguments: { a: { title: A, enum: [x, y], default: x } }
    messages:
      - user: { audio: sound.wav }
      - user: { resourceLink: "r:one" }
      - user: { resource: "r:one", annotations: { priority: 1, lastModified: "2026-01-31T12:00:00Z" }, _meta: { k: 1 } }
resources:
  r: { uri: "r:one", title: R, text: body, _meta: { k: 1 }, icons: [{ src: "https://x.example/i.png" }], annotations: { priority: 1, lastModified: "2026-01-31T12:00:00Z" } }
  t: { uri: "t:{x}", title: R, text: body, _meta: { k: 1 }, icons: [{ src: "https://x.example/i.png" }] }
tools:
  t:
    title: T
    description: D
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
    icons: [{ src: "https://x.example/i.png" }]
    _meta: { k: 1 }
    outputSchema: { type: object }
    result: { content: [{ audio: sound.wav }, { resourceLink: "r:one" }, { text: t }] }
    run: { exec: [printf, '{"a":1}'] }
"#;

/// Every key in a message, save in what an author says freely.
fn keys(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                into.push(key.clone());
                if !["inputSchema", "outputSchema", "structuredContent"].contains(&key.as_str()) {
                    keys(value, into);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, into)),
        _ => {}
    }
}

#[test]
fn no_version_gets_newer_keys() {
    let folder = TestFolder::with_manifest(EVERYTHING);
    folder.write("sound.wav", b"RIFF\0\0\0\0WAVE");
    let since = [
        ("title", "2025-06-18"),
        ("_meta", "2025-06-18"),
        ("outputSchema", "2025-06-18"),
        ("structuredContent", "2025-06-18"),
        ("lastModified", "2025-06-18"),
        ("readOnlyHint", "2025-03-26"),
        ("destructiveHint", "2025-03-26"),
        ("idempotentHint", "2025-03-26"),
        ("openWorldHint", "2025-03-26"),
        ("icons", "2025-11-25"),
        ("websiteUrl", "2025-11-25"),
    ];
    for version in SESSION_VERSIONS.into_iter().chain([SESSIONLESS_VERSION]) {
        let server = folder.stdio();
        let client = server.client(version);
        let begun = if client.is_sessionless() {
            client.result("server/discover", Value::Null)
        } else {
            client.initialize_result.clone()
        };
        let mut sent = Vec::new();
        for result in [
            begun,
            client.result("tools/list", Value::Null),
            client.result("prompts/list", Value::Null),
            client.result("resources/list", Value::Null),
            client.result("resources/templates/list", Value::Null),
            client.result("resources/read", json!({ "uri": "r:one" })),
            client.result("prompts/get", json!({ "name": "p" })),
            client.call("t", json!({})),
        ] {
            keys(&result, &mut sent);
        }
        for (key, from) in since {
            assert_eq!(sent.iter().any(|sent| sent == key), version >= from, "{key} in {version}");
        }
        let declared = client.initialize_result["capabilities"]["completions"].is_object();
        assert_eq!(declared, ("2025-03-26".."2026").contains(&version), "{version}: {}", client.initialize_result);
    }
}

#[test]
fn audio_and_links_are_downgraded() {
    let folder = TestFolder::with_manifest(EVERYTHING);
    folder.write("sound.wav", b"RIFF\0\0\0\0WAVE");
    for version in SESSION_VERSIONS.into_iter().chain([SESSIONLESS_VERSION]) {
        let server = folder.stdio();
        let client = server.client(version);
        let kinds = |blocks: Vec<&Value>| -> Vec<String> {
            blocks.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect()
        };
        let result = client.call("t", json!({}));
        let of_tool = kinds(result["content"].as_array().unwrap().iter().collect());
        let said = client.result("prompts/get", json!({ "name": "p" }));
        let of_prompt = kinds(said["messages"].as_array().unwrap().iter().map(|one| &one["content"]).collect());
        let expected = match version {
            "2024-11-05" => ["resource", "text"],
            "2025-03-26" => ["audio", "text"],
            _ => ["audio", "resource_link"],
        };
        assert_eq!(of_tool[..2], expected, "{version}");
        assert_eq!(of_prompt[..2], expected, "{version}");
        if version == "2024-11-05" {
            let sound = &result["content"][0]["resource"];
            assert_eq!((&sound["mimeType"], &sound["blob"]), (&json!("audio/wav"), &json!("UklGRgAAAABXQVZF")));
            assert_eq!(result["content"][1]["text"], "[R](r:one) (text/plain)");
        }
    }
}

const CONTENT: &str = r#"folio: 1
server: { name: content }
resources:
  r: { uri: "r:one", text: body, mimeType: text/plain }
prompts:
  p:
    description: P
    messages:
      - user: { text: words, annotations: { audience: [user], priority: 0.5 } }
      - assistant: { image: dot.png, annotations: { audience: [assistant], priority: 1 } }
      - user: { resource: "r:one", annotations: { audience: [user, assistant], priority: 0 } }
tools:
  t:
    description: T
    result:
      content:
        - { text: words, annotations: { audience: [user], priority: 0.5 } }
        - { image: dot.png, annotations: { audience: [assistant], priority: 1 } }
        - { resource: "r:one", annotations: { audience: [user, assistant], priority: 0 } }
"#;

#[test]
fn common_content_is_unchanged_in_each_version() {
    let folder = TestFolder::with_manifest(CONTENT);
    folder.write("dot.png", b"\x89PNG");
    let blocks = [
        json!({ "type": "text", "text": "words", "annotations": { "audience": ["user"], "priority": 0.5 } }),
        json!({
            "type": "image", "data": "iVBORw==", "mimeType": "image/png",
            "annotations": { "audience": ["assistant"], "priority": 1.0 }
        }),
        json!({
            "type": "resource", "resource": { "uri": "r:one", "mimeType": "text/plain", "text": "body" },
            "annotations": { "audience": ["user", "assistant"], "priority": 0.0 }
        }),
    ];
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let answer = client.call("t", json!({}));
        assert_eq!(answer["content"], json!(blocks), "{}", client.version);
        let said = client.result("prompts/get", json!({ "name": "p" }));
        for ((message, role), block) in
            said["messages"].as_array().unwrap().iter().zip(["user", "assistant", "user"]).zip(&blocks)
        {
            assert_eq!(*message, json!({ "role": role, "content": block }), "{}", client.version);
        }
        assert_eq!(said["messages"].as_array().unwrap().len(), blocks.len());
    });
}

#[test]
fn extensions_and_experimental_are_declared_verbatim() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s, extensions: { com.example/desk: { level: 2 } }, experimental: { odd: { a: 1 } } }\n\
         prompts:\n  p: { description: P, text: Hi }\n",
    );
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let begun = if client.is_sessionless() {
            client.result("server/discover", Value::Null)
        } else {
            client.initialize_result.clone()
        };
        let declared = &begun["capabilities"];
        assert_eq!(declared["extensions"], json!({ "com.example/desk": { "level": 2 } }), "{begun}");
        assert_eq!(declared["experimental"], json!({ "odd": { "a": 1 } }), "{begun}");
    });
}

#[test]
fn views_are_declared_where_a_tool_has_one() {
    let by_hand = "app, extensions: { io.modelcontextprotocol/ui: { level: 2 } } }";
    let without_link = APP.replace("ui: { resourceUri: \"ui://desk/board\", visibility: [model, app] }", "a: 1");
    for (manifest, settings) in [
        (APP.to_owned(), json!({})),
        (APP.replace("app }", by_hand), json!({ "level": 2 })),
        (without_link, Value::Null),
    ] {
        on_every_version_and_wire(&TestFolder::with_manifest(&manifest), &json!({}), |client| {
            let begun = match client.is_sessionless() {
                true => client.result("server/discover", Value::Null),
                false => client.initialize_result.clone(),
            };
            let declared = &begun["capabilities"]["extensions"]["io.modelcontextprotocol/ui"];
            assert_eq!(*declared, settings, "{begun}");
        });
    }
}

const APP: &str = r#"folio: 1
server: { name: app }
resources:
  board:
    uri: "ui://desk/board"
    mimeType: text/html;profile=mcp-app
    text: "<p>Board</p>"
    _meta: { ui: { csp: { connectDomains: ["https://x.example"] }, prefersBorder: true } }
tools:
  show: { description: S, _meta: { ui: { resourceUri: "ui://desk/board", visibility: [model, app] } }, result: { text: x } }
"#;

#[test]
fn mcp_app_resource_is_linked_from_tool() {
    on_every_version_and_wire(&TestFolder::with_manifest(APP), &json!({}), |client| {
        let knows_meta = client.version.as_str() >= "2025-06-18";
        let due = |meta: Value| if knows_meta { meta } else { Value::Null };
        let tool = &client.list("tools")[0];
        let named = json!({ "resourceUri": "ui://desk/board", "visibility": ["model", "app"] });
        assert_eq!(tool["_meta"]["ui"], due(named), "{}: {tool}", client.version);
        let page = client.result("resources/read", json!({ "uri": "ui://desk/board" }))["contents"][0].clone();
        assert_eq!(page["mimeType"], "text/html;profile=mcp-app");
        assert_eq!(page["text"], "<p>Board</p>");
        let may = json!({ "csp": { "connectDomains": ["https://x.example"] }, "prefersBorder": true });
        assert_eq!(page["_meta"]["ui"], due(may), "{}: {page}", client.version);
    });
}

/// The codes of JSON-RPC, which every version has.
const ANY_VERSION: [i64; 5] = [-32700, -32600, -32601, -32602, -32603];

#[test]
fn no_version_gets_newer_error_codes() {
    let folder = TestFolder::with_manifest(DESK);
    let web = folder.http();
    for version in SESSION_VERSIONS.into_iter().chain([SESSIONLESS_VERSION]) {
        let pipes = folder.stdio();
        for client in [pipes.client(version), web.client(version)] {
            let mut errors = 0;
            for (method, params) in requests(version) {
                if client.is_sessionless() && !params.is_object() && !params.is_null() {
                    continue;
                }
                let answer = client.request(method, params.clone());
                let Some(code) = answer["error"]["code"].as_i64() else { continue };
                errors += 1;
                let not_found = !client.is_sessionless() && method == "resources/read" && code == -32002;
                assert!(ANY_VERSION.contains(&code) || not_found, "{version} {method} {params}: {answer}");
            }
            assert!(errors > 20, "{errors}");
        }
    }
}

const TRACED: [(&str, &str); 3] = [
    ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ("tracestate", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
    ("baggage", "userId=alice,region=north"),
];

#[test]
fn trace_context_is_forwarded() {
    let api = MockApi::start();
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: s }}\ntools:\n  env: {{ description: E, run: {{ exec: [sh, -c, 'echo \"$TRACEPARENT $TRACESTATE $BAGGAGE\"'] }} }}\n  own: {{ description: E, run: {{ exec: [sh, -c, 'echo \"$BAGGAGE\"'], env: {{ BAGGAGE: mine }} }} }}\n  web: {{ description: W, run: {{ http: {{ url: \"{}/v1/weather\", headers: {{ x-api-key: k }} }} }} }}\n",
        api.url()
    ));
    for version in SESSION_VERSIONS.into_iter().chain([SESSIONLESS_VERSION]) {
        let server = folder.stdio();
        let client = server.client(version);
        let call = |name: &str, meta: &[(&str, &str)]| {
            let meta: Value = meta.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect();
            client.result("tools/call", json!({ "name": name, "_meta": meta }))
        };
        let printed = |name: &str, meta: &[(&str, &str)]| all_text_of(&call(name, meta)).trim().to_owned();
        assert_eq!(printed("env", &TRACED), TRACED[0].1, "{version}");
        assert_eq!(printed("own", &TRACED), "mine", "{version}");
        call("web", &TRACED);
        // What else a caller says of its trace is for whoever asked for it.
        let sent = TRACED.map(|(name, _)| api.last().header(name).map(str::to_owned));
        assert_eq!(sent, [Some(TRACED[0].1.to_owned()), None, None], "{version}");
        // What is malformed is nobody's.
        let malformed = [("traceparent", "00-x"), ("tracestate", "a=1"), ("baggage", "no list\r\nx-evil: 1")];
        assert_eq!(printed("env", &malformed), "", "{version}");
        call("web", &malformed);
        for (name, _) in TRACED {
            assert_eq!(api.last().header(name), None, "{version}");
        }
    }
}

#[test]
fn tracestate_and_baggage_are_opt_in() {
    for (asked, handed_on) in [("[]", vec![0]), ("[tracestate]", vec![0, 1]), ("[baggage, tracestate]", vec![0, 1, 2])]
    {
        let folder = TestFolder::with_manifest(&format!(
            "folio: 1\nserver: {{ name: s, trace: {asked} }}\ntools:\n  env: {{ description: E, run: {{ exec: [sh, -c, 'echo \"$TRACEPARENT $TRACESTATE $BAGGAGE\"'] }} }}\n"
        ));
        let server = folder.stdio();
        let client = server.client(SESSIONLESS_VERSION);
        let meta: Value = TRACED.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect();
        let printed = text_of(&client.result("tools/call", json!({ "name": "env", "_meta": meta }))["content"][0]);
        let expected: Vec<&str> = handed_on.into_iter().map(|nth: usize| TRACED[nth].1).collect();
        assert_eq!(printed.trim(), expected.join(" "), "{asked}");
    }
}

#[test]
fn task_keeps_its_request_trace() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  t: { description: T, task: required, run: { exec: [printenv, TRACEPARENT] } }\n",
    );
    let server = folder.stdio();
    let pipe = server.pipe();
    let ask = |id: i64, method: &str, mut params: Value| {
        params["_meta"] = sessionless_meta();
        params["_meta"]["traceparent"] = json!(TRACED[0].1);
        let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = tasks;
        pipe.write_line(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        pipe.take(|message| message["id"] == id)["result"].clone()
    };
    let begun = ask(1, "tools/call", json!({ "name": "t" }));
    let mut id = 1;
    wait_until("the end of the task", || {
        id += 1;
        let task = ask(id, "tasks/get", json!({ "taskId": begun["taskId"] }));
        task["status"] == "completed" && text_of(&task["result"]["content"][0]).trim() == TRACED[0].1
    });
}

/// Sends a first message as it is, on each wire, and returns the answers.
fn first_answers(folder: &TestFolder, message: &[u8]) -> [Value; 2] {
    let pipes = folder.stdio();
    pipes.pipe().write_line(message);
    let web = folder.http();
    [pipes.pipe().next(), web.http_client().post_bytes(&[], message).answer(&json!(1), |_| {})]
}

#[test]
fn sloppy_hello_begins_a_session() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  t: { description: T, result: { text: ok } }\n",
    );
    let hello = |capabilities: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{capabilities},"clientInfo":{{"name":"a","version":"1"}}}}}}"#
        )
    };
    for capabilities in
        ["null", "[]", "[ ]", r#"{"roots":[]}"#, r#"{"experimental":[],"sampling":null,"elicitation":{"form":[]}}"#]
    {
        for answer in first_answers(&folder, hello(capabilities).as_bytes()) {
            assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{capabilities}: {answer}");
        }
    }
    let marked = [b"\xef\xbb\xbf", hello("{}").as_bytes()].concat();
    for answer in first_answers(&folder, &marked) {
        assert_eq!(answer["id"], 1, "{answer}");
    }
    for (wrong, words) in [
        (r#"{"roots":true}"#, "invalid params: `capabilities.roots`: invalid type: boolean `true`"),
        (r#"[1]"#, "invalid params: `capabilities"),
        ("7", "invalid params: `capabilities`: invalid type: integer `7`"),
        (
            r#"{"roots":{"listChanged":"yes"}}"#,
            "invalid params: `capabilities.roots.listChanged`: invalid type: string",
        ),
        (r#"{"experimental":{"a":1}}"#, "invalid params: `capabilities.experimental.a`: invalid type: integer"),
        (r#"{"extensions":{"a/b":[1]}}"#, "invalid params: `capabilities.extensions.a/b`: invalid type: array"),
        (r#"{"sampling":{"context":true}}"#, "invalid params: `capabilities.sampling.context`: invalid type: boolean"),
        (r#"{"elicitation":{"url":true}}"#, "invalid params: `capabilities.elicitation.url`: invalid type: boolean"),
    ] {
        for answer in first_answers(&folder, hello(wrong).as_bytes()) {
            let said = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
            assert!(said.starts_with(words), "{said}");
        }
    }
}

#[test]
fn sloppy_params_are_taken_and_wrong_ones_named() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nprompts:\n  p: { arguments: { a: {}, b: { enum: [x] } }, text: \"<{{a}}>{{b}}\" }\ntools:\n  t: { description: T, arguments: { a: {} }, result: { text: \"<{{a}}>\" } }\n",
    );
    let web = folder.http();
    for version in ["2025-06-18", "2025-11-25", SESSIONLESS_VERSION] {
        let pipes = folder.stdio();
        for client in [pipes.client(version), web.client(version)] {
            for nothing in [json!([]), Value::Null] {
                assert_eq!(client.call_text("t", nothing.clone()), "<>");
                assert_eq!(client.get_text("p", nothing), "<>");
            }
            assert_eq!(client.result("tools/list", json!({ "cursor": "" }))["tools"].as_array().unwrap().len(), 1);
            if !client.is_sessionless() {
                assert!(client.result("tools/list", json!([]))["tools"].is_array());
                client.notify("notifications/roots/list_changed", json!([]));
            }
            for (method, params, words) in [
                (
                    "tools/call",
                    json!({ "name": 7 }),
                    "invalid params: `name`: invalid type: integer `7`, expected a string",
                ),
                ("tools/call", json!({}), "invalid params: missing field `name`"),
                ("tools/call", json!({ "name": "t", "arguments": [1] }), "invalid params: `arguments`: invalid type"),
                ("prompts/get", json!({ "name": "p", "arguments": "a" }), "invalid params: `arguments`: invalid type"),
                ("tools/list", json!({ "cursor": 7 }), "invalid params: `cursor`: invalid type: integer `7`"),
                (
                    "completion/complete",
                    json!({ "ref": { "type": "x" } }),
                    "invalid params: `ref.type`: unknown variant `x`",
                ),
            ] {
                let error = client.error(method, params);
                let said = error["message"].as_str().unwrap();
                assert!(said.starts_with(words), "{method}: {said}");
                assert!(!said.contains("struct") && !said.contains("Params") && error["code"] != -32700, "{said}");
            }
        }
    }
}

#[test]
fn half_of_a_surrogate_pair_becomes_a_replacement_character() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  t: { description: T, arguments: { a: {} }, result: { text: \"<{{a}}>\" } }\n",
    );
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":"x\ud83d \ud83d\ude00"}}}"#;
    client.pipe().write_line(call);
    let answer = client.pipe().take(|message| message["id"] == 1);
    assert_eq!(text_of(&answer["result"]["content"][0]), "<x\u{fffd} \u{1f600}>");
    let web = folder.http();
    let session = web.session("2025-11-25");
    let answered = web.http_client().post_bytes(&[("Mcp-Session-Id", session.session_id())], call);
    assert_eq!(answered.answer(&json!(1), |_| {})["result"], answer["result"]);
}

#[test]
fn empty_array_answers_a_ping() {
    let folder = TestFolder::with_manifest("folio: 1\nserver: { name: s }\nhttp: { ping: 2s }\n");
    let server = folder.http();
    let client = server.session("2025-11-25");
    let _stream = client.open_stream();
    for _ in 0..2 {
        let ping = client.next_question();
        client.send_raw(&json!({ "jsonrpc": "2.0", "id": ping["id"], "result": [] }));
    }
    client.round_trip();
}

//! Tools that are searched instead of listed (`server.toolSearch`).

use std::fs;

use serde_json::{Value, json};

use crate::harness::*;

const MANIFEST: &str = r#"folio: 1
server: { name: desk, toolSearch: always }
tools:
  get-issue:
    title: Read an issue
    description: Get an issue by its number
    annotations: { readOnlyHint: true }
    arguments: { number: { type: integer, required: true, description: Its number } }
    run: { exec: [printf, '{"number": %s}', "{{number}}"] }
    outputSchema: { type: object, properties: { number: { type: integer } }, required: [number] }
  list-issues:
    description: List what is open
    annotations: { readOnlyHint: true }
    outputSchema: { type: array, items: { type: integer } }
    run: { exec: [printf, "[1, 2]"] }
  create-issue:
    description: File something new
    arguments: { headline: { required: true } }
    run: { exec: [printf, "made %s", "{{headline}}"] }
  close-issue:
    description: Asks first
    run: [{ id: ok, ask: { sure: { elicit: { message: "Sure?", schema: { yes: { type: boolean, required: true } } } } } }]
    result: { text: "closed: {{steps.ok.sure.yes}}" }
  sync:
    description: Goes through all
    run: [{ progress: { progress: 1, total: 2, message: halfway } }, { exec: [printf, done] }]
"#;

const LISTED: [&str; 3] = ["search-tools", "call-read-only-tool", "call-tool"];

fn found(client: &TestClient, arguments: Value) -> Vec<Value> {
    let found: Value = serde_json::from_str(&client.call_text("search-tools", arguments)).unwrap();
    found["tools"].as_array().unwrap().clone()
}

fn found_names(client: &TestClient, query: &str) -> Vec<String> {
    let found = found(client, json!({ "query": query }));
    found.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// What a tool is called with through another.
fn through(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

/// The text of a call that fails.
fn failure(client: &TestClient, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    text_of(&result["content"][0])
}

fn check(manifest: &str, options: &[&str]) -> String {
    let folder = TestFolder::with_manifest(manifest);
    run_folio(folder.path(), &[&["check", "--format", "lines"], options].concat()).out
}

#[test]
fn three_tools_are_listed_and_find_the_others() {
    let folder = TestFolder::with_manifest(MANIFEST);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let listed = client.list("tools");
        let names: Vec<&str> = listed.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, LISTED);
        if client.is_sessionless() {
            let hints: Vec<&Value> = listed.iter().map(|tool| &tool["annotations"]).collect();
            let (reads, writes) = (json!({ "readOnlyHint": true }), json!({ "destructiveHint": true }));
            assert_eq!(hints, [&reads, &reads, &writes]);
        }
        let tools = found(client, json!({ "query": "read ISSUE", "limit": 1 }));
        let expected = json!({
            "name": "get-issue", "title": "Read an issue", "description": "Get an issue by its number",
            "annotations": { "readOnlyHint": true },
            "inputSchema": {
                "type": "object", "required": ["number"], "additionalProperties": false,
                "properties": { "number": { "type": "integer", "description": "Its number" } }
            }
        });
        assert_eq!(tools, [expected]);
        assert_eq!(found_names(client, "headline"), ["create-issue"]);
        assert_eq!(found_names(client, "issues"), ["list-issues", "get-issue", "close-issue", "create-issue"]);
        for nothing in ["zebra", "i want to see my zebra"] {
            let answer: Value =
                serde_json::from_str(&client.call_text("search-tools", json!({ "query": nothing }))).unwrap();
            assert_eq!(answer, json!({ "tools": [], "note": "none of 5 tools matches: try other words" }));
        }
        assert_eq!(found_names(client, "can you show the issues of a repo")[0], "list-issues");
        assert_eq!(found(client, json!({ "query": "" })).len(), 5);
        for (arguments, words) in [
            (json!({}), "`query` is required"),
            (json!({ "query": "x".repeat(257) }), "`query`"),
            (json!({ "query": "x", "limit": 0 }), "`limit`"),
        ] {
            assert!(failure(client, "search-tools", arguments).contains(words), "{words}");
        }
    });
}

#[test]
fn allowed_values_and_names_within_arguments_are_found() {
    let manifest = r#"folio: 1
server: { name: desk, toolSearch: always }
tools:
  get: { description: Get it, arguments: { state: { enum: [archived, open] } }, run: { exec: ["true"] } }
  put:
    description: Put it
    arguments: { order: { type: object, properties: { invoiceNumber: { type: string } } } }
    run: { exec: ["true"] }
"#;
    let folder = TestFolder::with_manifest(manifest);
    let server = folder.stdio();
    let client = server.sessionless();
    assert_eq!(found_names(&client, "archived"), ["get"]);
    assert_eq!(found_names(&client, "invoice"), ["put"]);
}

#[test]
fn tools_are_called_by_name_and_through_both_doors() {
    let folder = TestFolder::with_manifest(MANIFEST);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        for (tool, arguments, door) in [
            ("get-issue", json!({ "number": 7 }), LISTED[1]),
            ("list-issues", json!({}), LISTED[1]),
            ("list-issues", json!({}), LISTED[2]),
            ("create-issue", json!({ "headline": "x" }), LISTED[2]),
            ("create-issue", json!({ "number": 7 }), LISTED[2]),
        ] {
            let direct = client.call(tool, arguments.clone());
            assert_eq!(client.call(door, through(tool, arguments)), direct, "{tool} through {door}");
        }
        let structured = client.call(LISTED[1], through("list-issues", json!({})))["structuredContent"].clone();
        match client.version.as_str() {
            SESSIONLESS_VERSION => assert_eq!(structured, json!([1, 2])),
            "2025-06-18" | "2025-11-25" => assert_eq!(structured, json!({ "result": [1, 2] })),
            _ => assert_eq!(structured, Value::Null),
        }
    });
}

#[test]
fn wrong_calls_are_results_for_the_model() {
    let folder = TestFolder::with_manifest(MANIFEST);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let said = failure(client, LISTED[1], through("create-issue", json!({ "headline": "x" })));
        assert_eq!(said, "`create-issue` may change something: call it with `call-tool`");
        for door in &LISTED[1..] {
            let said = failure(client, door, through("get-isue", json!({})));
            assert_eq!(said, "Unknown tool: get-isue; did you mean `get-issue`?");
            assert!(failure(client, door, json!({})).contains("`name` is required"));
            assert!(
                failure(client, door, json!({ "name": "sync", "arguments": [1] }))
                    .contains("`arguments` must be an object")
            );
            let said = failure(client, door, through("call-tool", through("sync", json!({}))));
            assert!(said.starts_with("Unknown tool: call-tool"), "{said}");
        }
        let error = client.error("tools/call", json!({ "name": "get-isue" }));
        assert_eq!(error["message"], "Unknown tool: get-isue; did you mean `get-issue`?");
    });
}

#[test]
fn tool_asks_and_reports_through_the_door() {
    let folder = TestFolder::with_manifest(MANIFEST);
    let server = folder.stdio();
    for version in ["2025-06-18", SESSIONLESS_VERSION] {
        let client = server.client_with(version, json!({ "elicitation": {} }));
        let answer = json!({ "action": "accept", "content": { "yes": true } });
        let result = client.call_with_answers(LISTED[2], through("close-issue", json!({})), |_, _| answer.clone());
        assert_eq!(all_text_of(&result), "closed: true", "{version}");
        let params =
            json!({ "name": LISTED[2], "arguments": through("sync", json!({})), "_meta": { "progressToken": 7 } });
        assert_eq!(all_text_of(&client.result("tools/call", params)), "done");
        assert_eq!(client.wait_for("notifications/progress")["params"]["message"], "halfway", "{version}");
    }
}

#[test]
fn limits_tasks_and_cancellation_are_those_of_the_tool() {
    let folder = TestFolder::with_manifest(
        r#"folio: 1
server: { name: s, toolSearch: always }
tools:
  note: { description: N, concurrency: { calls: 1, queue: 10 }, arguments: { n: { type: integer } }, run: { exec: [sh, -c, "echo $0 >> order", "{{n}}"] } }
  once: { description: O, rateLimit: { calls: 1, per: 1h }, run: { exec: [printf, once] } }
  long: { description: L, task: required, run: { exec: [printf, made] } }
  hang: { description: H, timeout: 2m, run: { exec: [sh, -c, "sleep 60 & wait", "hangs-for-tool-search"] } }
"#,
    );
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    let ids: Vec<i64> = (0..8).map(|_| client.next_id()).collect();
    let call = |(n, id): (usize, &i64)| {
        let params = json!({ "name": LISTED[2], "arguments": through("note", json!({ "n": n })) });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string() + "\n"
    };
    server.pipe().write_bytes(ids.iter().enumerate().map(call).collect::<String>().as_bytes());
    for id in ids {
        assert_ne!(client.wait_for_answer(id)["result"]["isError"], true);
    }
    assert_eq!(fs::read_to_string(folder.join("order")).unwrap(), (0..8).map(|n| format!("{n}\n")).collect::<String>());

    assert_eq!(client.call_text("once", json!({})), "once");
    assert!(failure(&client, LISTED[2], through("once", json!({}))).contains("rate limit of `once`"));

    let hanging = client.start_call(LISTED[2], through("hang", json!({})));
    wait_until("the program", || !processes_with_argument("hangs-for-tool-search").is_empty());
    client.cancel(hanging);
    wait_until("its end", || processes_with_argument("hangs-for-tool-search").is_empty());

    let server = folder.stdio();
    let capabilities = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let client = server.client_with(SESSIONLESS_VERSION, capabilities);
    let started = client.call(LISTED[2], through("long", json!({})));
    assert_eq!(started["resultType"], "task", "{started}");
    let task = || client.result("tasks/get", json!({ "taskId": started["taskId"] }));
    wait_until("the task", || task()["status"] == "completed");
    assert_eq!(all_text_of(&task()["result"]), "made");
}

#[test]
fn tools_of_bridge_are_listed_beside() {
    let bridged = MANIFEST.replace("desk,", "desk, bridge: [prompts],");
    let folder = TestFolder::with_manifest(&format!(
        "{bridged}  get-prompt: {{ description: Mine, run: {{ exec: [printf, mine] }} }}\nprompts: {{ p: {{ text: Hi }} }}\n"
    ));
    on_every_version_and_wire(&folder, &json!({}), |client| {
        assert_eq!(client.names("tools"), [LISTED[0], LISTED[1], LISTED[2], "list-prompts"]);
        assert!(client.call_text("list-prompts", json!({})).contains("\"p\""));
        assert_eq!(client.call_text("get-prompt", json!({})), "mine");
    });
}

/// A server with so many bytes of descriptions.
fn sized(setting: &str, bytes: usize) -> String {
    let tool = |n| format!("  t{n}: {{ description: {}, run: {{ exec: [ls] }} }}\n", "x".repeat(bytes / 10));
    format!("folio: 1\nserver: {{ name: s{setting} }}\ntools:\n{}", (0..10).map(tool).collect::<String>())
}

#[test]
fn auto_goes_by_the_size_of_the_list() {
    for (bytes, is_searched) in [(90_000, false), (110_000, true)] {
        let folder = TestFolder::with_manifest(&sized(", toolSearch: auto", bytes));
        let server = folder.stdio();
        let names = server.session("2025-11-25").names("tools");
        assert_eq!(names == LISTED, is_searched, "{bytes}: {names:?}");
        for clients in [&[][..], &["--clients", "all"]] {
            assert_eq!(check(&sized(", toolSearch: auto", bytes), clients), "", "{clients:?}");
            let hint = "`server: { toolSearch: auto }` lists three tools";
            let folder = TestFolder::with_manifest(&sized("", bytes));
            let ran = run_folio(folder.path(), &[&["check"], clients].concat());
            assert_eq!(ran.out.contains(hint) || ran.err.contains(hint), is_searched, "{ran:?}");
            assert_eq!(check(&sized(", toolSearch: never", bytes), clients), "", "{clients:?}");
        }
    }
}

#[test]
fn checks_go_by_what_is_listed() {
    let tools: String = (0..130).map(|n| format!("  {}{n}: {{ description: d, inputSchema: {{ type: object, properties: {{ \"a b\": {{}} }}, anyOf: [{{}}] }}, run: {{ exec: [ls] }} }}\n", "x".repeat(57))).collect();
    let manifest = |setting| format!("folio: 1\nserver: {{ name: s{setting} }}\ntools:\n{tools}");
    for clients in [&[][..], &["--clients", "all"]] {
        assert!(!check(&manifest(""), clients).is_empty());
        assert_eq!(check(&manifest(", toolSearch: always"), clients), "", "{clients:?}");
    }
}

#[test]
fn name_of_a_search_tool_is_refused_at_its_place() {
    for setting in ["auto", "always", "never"] {
        for name in LISTED {
            let out = check(
                &format!(
                    "folio: 1\nserver: {{ name: s, toolSearch: {setting} }}\ntools:\n  {name}: {{ description: d, run: {{ exec: [ls] }} }}\n"
                ),
                &[],
            );
            let expected =
                format!("folio.yaml:4:3: error[duplicate]: tool `{name}` has the name of one of `server.toolSearch`");
            assert_eq!(out.contains(&expected), setting != "never", "{out}");
        }
    }
}

#[test]
fn added_tool_is_found_and_a_change_of_the_setting_is_announced() {
    let folder = TestFolder::with_manifest(MANIFEST);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    assert_eq!(found_names(&client, "archive"), [""; 0]);
    let more = format!("{MANIFEST}  archive-all: {{ description: Put away, run: {{ exec: [printf, away] }} }}\n");
    let mark = server.log.line_count();
    folder.write("folio.yaml", &more);
    server.log.wait_for_reload(mark);
    assert_eq!(found_names(&client, "archive"), ["archive-all"]);
    assert_eq!(client.call_text(LISTED[2], through("archive-all", json!({}))), "away");
    client.wait_for("notifications/tools/list_changed");
    folder.write("folio.yaml", more.replace("toolSearch: always", "toolSearch: never"));
    client.wait_for("notifications/tools/list_changed");
    assert_eq!(client.names("tools").len(), 6);
    let error = client.error("tools/call", json!({ "name": "search-tools", "arguments": { "query": "x" } }));
    assert!(error["message"].as_str().unwrap().starts_with("Unknown tool: search-tools"), "{error}");
}

#[test]
fn command_line_shows_and_calls_the_tools_themselves() {
    let folder = TestFolder::with_manifest(MANIFEST);
    let listed = run_folio(folder.path(), &["list"]).out;
    let title = "tools, which clients find and call with `search-tools`, `call-read-only-tool`, `call-tool`\n  get-issue number=";
    assert!(listed.contains(title), "{listed}");
    let json: Value = serde_json::from_str(&run_folio(folder.path(), &["list", "--json"]).out).unwrap();
    assert_eq!(json["tools"].as_array().unwrap().len(), 5);
    assert_eq!(run_folio(folder.path(), &["call", "create-issue", "headline=x"]).out, "made x\n");
    let ran = run_folio(folder.path(), &["call", "search-tools", "query=x"]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
}

//! Tools as tasks: the extension `io.modelcontextprotocol/tasks` of 2026-07-28.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::*;

const TASKS: &str = r#"folio: 1
server: { name: tasks }
tools:
  optional:
    description: Is a task where the client knows tasks
    task: optional
    arguments: { label: { default: work } }
    run: [{ sleep: 50ms }, { progress: { progress: 1, total: 2, message: halfway } }, { sleep: 300ms }]
    result: { text: "{{label}} is done" }
  required: { description: Is a task, task: required, run: { exec: [printf, made] } }
  fails: { description: Is a task that fails, task: required, run: { fail: It went wrong } }
  breaks: { description: Is a task that breaks, task: required, run: { fail: { message: It broke, code: 42 } } }
  runs:
    description: Is a task that runs a program
    task: required
    timeout: 2m
    arguments: { marker: { required: true } }
    run: { exec: [sh, -c, "sleep 60 & wait", "{{marker}}"] }
  brief: { description: Is soon forgotten, task: { support: required, ttl: 3s }, run: { exec: [printf, brief] } }
  overdue: { description: Takes longer than it may, task: { support: required, ttl: 3s }, timeout: 2m, arguments: { marker: { required: true } }, run: { exec: [sh, -c, "sleep 60 & wait", "{{marker}}"] } }
  asks:
    description: Is a task that asks
    task: optional
    arguments: { file: { required: true } }
    run:
      - { script: { shell: sh, text: 'echo before >> "$file"' } }
      - id: asked
        ask:
          name: { elicit: { message: Who are you?, schema: { name: { minLength: 2, required: true } } } }
          sure: { elicit: { message: Sure?, schema: { sure: { type: boolean, required: true } } } }
      - { script: { shell: sh, text: 'echo after >> "$file"' } }
    result: { text: "{{steps.asked.name.name}} {{steps.asked.sure.sure}}" }
  declines:
    description: Is a task that asks
    task: required
    run: [{ id: asked, ask: { sure: { elicit: { message: Sure?, schema: { sure: { type: boolean } } } } } }]
  behind:
    description: Is a task behind its question
    task: { support: optional, after: who }
    run:
      - { id: who, ask: { name: { elicit: { message: Who are you?, schema: { name: { required: true } } } } } }
      - { id: word, exec: [printf, "for %s", "{{steps.who.name.name}}"] }
      - { sleep: 100ms }
    result: { text: "{{steps.word.stdout}}" }
  speaks_before:
    description: Has its say before it becomes a task
    task: { support: optional, after: said }
    run: [{ id: said, exec: [printf, said] }, { sleep: 50ms }]
"#;

fn capabilities() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/tasks": {} }, "elicitation": { "form": {} } })
}

fn begin(client: &TestClient, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments);
    assert_eq!(result["resultType"], "task", "{result}");
    result["taskId"].as_str().unwrap().to_owned()
}

fn get(client: &TestClient, task: &str) -> Value {
    client.result("tasks/get", json!({ "taskId": task }))
}

/// Waits until a task stands so.
fn wait_for_status(client: &TestClient, task: &str, status: &str) -> Value {
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        let now = get(client, task);
        if now["status"] == status {
            return now;
        }
        assert!(Instant::now() < deadline && now["status"].is_string(), "it is not {status}: {now}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn on_each_wire(part: impl Fn(&TestClient, &TestFolder)) {
    let folder = TestFolder::with_manifest(TASKS);
    for server in [folder.stdio(), folder.http()] {
        part(&server.client_with(SESSIONLESS_VERSION, capabilities()), &folder);
    }
}

#[test]
fn task_outlives_its_request_and_keeps_outcome() {
    on_each_wire(|client, _| {
        let result = client.call("optional", json!({ "label": "this" }));
        assert_eq!((&result["resultType"], &result["status"]), (&json!("task"), &json!("working")), "{result}");
        for key in ["createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"] {
            assert!(!result[key].is_null(), "{key}: {result}");
        }
        let task = result["taskId"].as_str().unwrap();
        let mut messages = Vec::new();
        let deadline = Instant::now() + TEST_TIMEOUT;
        let ended = loop {
            let now = get(client, task);
            assert_eq!(now["resultType"], "complete", "{now}");
            messages.extend(now["statusMessage"].as_str().map(str::to_owned));
            if now["status"] != "working" {
                break now;
            }
            assert!(Instant::now() < deadline, "{now}");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!((&ended["status"], ended["result"]["isError"] == true), (&json!("completed"), false), "{ended}");
        assert_eq!(text_of(&ended["result"]["content"][0]), "this is done");
        assert!(messages.iter().any(|message| message == "halfway"), "{messages:?}");
        assert_eq!(get(client, task)["result"], ended["result"], "its outcome is kept");
    });
}

#[test]
fn tool_error_completes_task_protocol_error_fails_it() {
    on_each_wire(|client, _| {
        let ended = wait_for_status(client, &begin(client, "fails", json!({})), "completed");
        assert_eq!(ended["result"]["isError"], true, "{ended}");
        assert_eq!(text_of(&ended["result"]["content"][0]), "It went wrong");
        let ended = wait_for_status(client, &begin(client, "breaks", json!({})), "failed");
        assert_eq!((&ended["error"]["code"], &ended["error"]["message"]), (&json!(42), &json!("It broke")), "{ended}");
    });
}

#[test]
fn optional_task_runs_inline_required_is_refused() {
    on_every_version_and_wire(&TestFolder::with_manifest(TASKS), &json!({}), |client| {
        assert_eq!(client.call_text("optional", json!({})), "work is done");
        let said = client.request("tools/call", json!({ "name": "required" }));
        if client.is_sessionless() {
            assert_eq!(said["error"]["code"], -32021, "{said}");
            let required = &said["error"]["data"]["requiredCapabilities"]["extensions"];
            assert!(required["io.modelcontextprotocol/tasks"].is_object(), "{said}");
        } else {
            assert_eq!(said["result"]["isError"], true, "{said}");
            assert!(text_of(&said["result"]["content"][0]).contains("task"), "{said}");
        }
    });
}

#[test]
fn cancelling_a_task_ends_its_program() {
    on_each_wire(|client, _| {
        let marker = format!("folio-task-{}-{}", std::process::id(), client.is_on_pipes());
        let task = begin(client, "runs", json!({ "marker": marker }));
        wait_until("the child", || !processes_with_argument(&marker).is_empty());
        assert_eq!(client.result("tasks/cancel", json!({ "taskId": task }))["resultType"], "complete");
        wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
        wait_for_status(client, &task, "cancelled");
        client.result("tasks/cancel", json!({ "taskId": task }));
    });
}

#[test]
fn expired_task_is_removed_and_its_program_killed() {
    on_each_wire(|client, _| {
        let task = begin(client, "brief", json!({}));
        wait_for_status(client, &task, "completed");
        wait_until("the end of the task", || {
            client.request("tasks/get", json!({ "taskId": task }))["error"]["code"] == -32602
        });
        let marker = format!("folio-overdue-{}-{}", std::process::id(), client.is_on_pipes());
        let task = begin(client, "overdue", json!({ "marker": marker }));
        wait_until("the child", || !processes_with_argument(&marker).is_empty());
        // Nobody asks for it any more: it ends all the same.
        wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
        let answer = client.request("tasks/get", json!({ "taskId": task }));
        assert!(answer["result"]["status"] == "failed" || answer["error"]["code"] == -32602, "{answer}");
    });
}

#[test]
fn shutdown_ends_tasks() {
    let folder = TestFolder::with_manifest(TASKS);
    for http in [false, true] {
        let server = if http { folder.http() } else { folder.stdio() };
        let client = server.client_with(SESSIONLESS_VERSION, capabilities());
        let marker = format!("folio-task-end-{}-{http}", std::process::id());
        begin(&client, "runs", json!({ "marker": marker }));
        wait_until("the child", || !processes_with_argument(&marker).is_empty());
        if http {
            server.signal("TERM");
        } else {
            server.pipe().close();
        }
        assert!(server.wait_for_exit(Duration::from_secs(8)).is_some(), "it did not end");
        wait_until("the end of the child", || processes_with_argument(&marker).is_empty());
    }
}

#[test]
fn task_takes_input_responses_one_by_one() {
    on_each_wire(|client, folder| {
        let file = folder.join(&format!("asked-{}", client.is_on_pipes()));
        let task = begin(client, "asks", json!({ "file": file.to_str().unwrap() }));
        let waits = wait_for_status(client, &task, "input_required");
        let asked = waits["inputRequests"].as_object().unwrap();
        assert_eq!(asked["name"]["params"]["message"], "Who are you?", "{waits}");
        assert!(asked.contains_key("sure"), "{waits}");
        let update =
            |responses: Value| client.result("tasks/update", json!({ "taskId": task, "inputResponses": responses }));
        let accept = |content: Value| json!({ "action": "accept", "content": content });
        update(json!({ "sure": accept(json!({ "sure": true })), "unasked": accept(json!({})) }));
        let waits = wait_for_status(client, &task, "input_required");
        let keys: Vec<&String> = waits["inputRequests"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["name"], "{waits}");
        // One that does not fit is asked for again, under a key of its own.
        update(json!({ "name": accept(json!({ "name": "x" })) }));
        wait_until("the second question", || {
            get(client, &task)["inputRequests"]
                .as_object()
                .is_some_and(|asked| !asked.contains_key("name") && asked.len() == 1)
        });
        let waits = get(client, &task);
        let key = waits["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        let mut responses = json!({});
        responses[&key] = accept(json!({ "name": "Ada" }));
        update(responses);
        let ended = wait_for_status(client, &task, "completed");
        assert_eq!(text_of(&ended["result"]["content"][0]), "Ada true", "{ended}");
        assert_eq!(std::fs::read_to_string(file).unwrap(), "before\nafter\n");

        let task = begin(client, "declines", json!({}));
        wait_for_status(client, &task, "input_required");
        client.result("tasks/update", json!({ "taskId": task, "inputResponses": { "sure": { "action": "decline" } } }));
        let ended = wait_for_status(client, &task, "completed");
        assert!(text_of(&ended["result"]["content"][0]).contains("declined"), "{ended}");
    });
}

#[test]
fn task_may_start_after_a_step() {
    on_each_wire(|client, _| {
        let answer = |_: &str, _: &Value| json!({ "action": "accept", "content": { "name": "Ada" } });
        let begun = client.call_with_answers("behind", json!({}), answer);
        assert_eq!(begun["resultType"], "task", "{begun}");
        let ended = wait_for_status(client, begun["taskId"].as_str().unwrap(), "completed");
        assert_eq!(text_of(&ended["result"]["content"][0]), "for Ada");
        let task = begin(client, "speaks_before", json!({}));
        let ended = wait_for_status(client, &task, "completed");
        assert_eq!(ended["result"]["content"][0]["text"], "said", "{ended}");
    });
    let folder = TestFolder::with_manifest(TASKS);
    on_every_version_and_wire(&folder, &json!({ "elicitation": {} }), |client| {
        let answer = |_: &str, _: &Value| json!({ "action": "accept", "content": { "name": "Ada" } });
        if client.version.as_str() >= "2025-06-18" {
            let result = client.call_with_answers("behind", json!({}), answer);
            assert_eq!(text_of(&result["content"][0]), "for Ada", "{result}");
        }
        assert_eq!(client.call_text("speaks_before", json!({})), "said");
    });
}

#[test]
fn unknown_task_is_an_error() {
    on_each_wire(|client, _| {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let params = json!({ "taskId": "nobody", "inputResponses": {} });
            assert_eq!(client.error_code(method, params), -32602, "{method}");
            assert_eq!(client.error_code(method, json!({ "taskId": 7 })), -32602, "{method} of no text");
        }
        for method in ["tasks/list", "tasks/result"] {
            assert_eq!(client.error_code(method, json!({ "taskId": "nobody" })), -32601, "{method}");
        }
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            for wrong in [json!({}), json!({ "taskId": 7 }), json!({ "taskId": "nobody", "inputResponses": 7 })] {
                assert_eq!(client.error_code(method, wrong.clone()), -32602, "{method} {wrong}");
            }
        }
    });
}

/// Whatever its client declares: tasks are of 2026-07-28, and those of 2025-11-25 are others.
#[test]
fn session_has_no_tasks_and_runs_inline() {
    on_every_version_and_wire(&TestFolder::with_manifest(TASKS), &capabilities(), |client| {
        if client.is_sessionless() {
            let declared = client.result("server/discover", Value::Null)["capabilities"]["extensions"].clone();
            assert_eq!(declared, json!({ "io.modelcontextprotocol/tasks": {} }));
            return;
        }
        let declared = &client.initialize_result["capabilities"];
        assert!(declared.get("extensions").is_none() && declared.get("tasks").is_none(), "{declared}");
        for method in ["tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result"] {
            for params in [json!({ "taskId": "a", "inputResponses": {} }), json!({})] {
                assert_eq!(client.error_code(method, params), -32601, "{method} in {}", client.version);
            }
        }
        let result = client.result("tools/call", json!({ "name": "optional", "task": { "ttl": 60_000 } }));
        assert_eq!(text_of(&result["content"][0]), "work is done", "{}", client.version);
    });
}

#[test]
fn mcp_name_header_is_the_task_id() {
    let server = TestFolder::with_manifest(TASKS);
    let server = server.http();
    let client = server.client_with(SESSIONLESS_VERSION, capabilities());
    let task = begin(&client, "required", json!({}));
    let params = client.params(json!({ "taskId": task }));
    let body = json!({ "jsonrpc": "2.0", "id": 900, "method": "tasks/get", "params": params });
    let status = |name: Option<&str>| {
        let mut headers = vec![("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", "tasks/get")];
        headers.extend(name.map(|name| ("Mcp-Name", name)));
        server.http_client().post(&headers, &body).status
    };
    assert_eq!([Some(task.as_str()), Some("another"), None].map(status), [200, 400, 400]);
}

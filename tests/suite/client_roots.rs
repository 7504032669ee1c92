//! Arguments that must be paths inside the client's roots.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{
    SESSION_VERSIONS, SESSIONLESS_VERSION, TestClient, TestFolder, TestServer, on_every_version_and_wire, text_of,
    wait_until,
};

const MANIFEST: &str = r#"
folio: 1
server: { name: within }
tools:
  show:
    description: Shows a path
    arguments: { path: { within: roots }, more: { type: array, items: { type: string }, within: roots } }
    result: { text: "path {{path}}" }
  sure:
    description: Writes to a path, once a person is sure
    arguments: { path: { within: roots, required: true } }
    run:
      - script: { shell: sh, text: 'echo x >> "$log"' }
        env: { log: done.txt }
      - id: asked
        ask: { q: { elicit: { message: Sure?, schema: { yes: { type: boolean, required: true } } } } }
    result: { text: "{{path}} {{steps.asked.q.yes}}" }
prompts:
  about: { description: Of a path, arguments: { path: { within: roots, required: true } }, text: "About {{path}}." }
"#;

fn roots() -> Value {
    json!({ "roots": [{ "uri": "file:///srv/one" }, { "uri": "file:///srv/two%20words" }] })
}

fn answer(method: &str, _: &Value) -> Value {
    match method {
        "roots/list" => roots(),
        _ => json!({ "action": "accept", "content": { "yes": true } }),
    }
}

fn show(client: &TestClient, arguments: Value) -> (bool, String) {
    let result = client.call_with_answers("show", arguments, answer);
    (result["isError"] == true, text_of(&result["content"][0]))
}

#[test]
fn path_outside_roots_names_its_argument() {
    on_every_version_and_wire(&TestFolder::with_manifest(MANIFEST), &json!({ "roots": {} }), |client| {
        for (inside, path) in [
            ("/srv/one", "/srv/one"),
            ("/srv/one/a//./b/", "/srv/one/a/b"),
            ("file:///srv/two%20words/x", "/srv/two words/x"),
            ("file://localhost/srv/two words", "/srv/two words"),
        ] {
            assert_eq!(show(client, json!({ "path": inside })), (false, format!("path {path}")));
        }
        for outside in [
            "/srv",
            "/srv/onemore",
            "/srv/one/../three",
            "/srv/one/../one/a",
            "file:///srv/one/%2e%2E/one",
            "file:///srv/one%2F..%2Fone",
            "file:///etc/passwd",
            "one",
            "https://srv/one",
        ] {
            let (failed, words) = show(client, json!({ "path": outside }));
            assert!(failed && words.contains("`path`"), "{outside}: {words}");
        }
        let (failed, words) = show(client, json!({ "more": ["/srv/one/a", "/etc"] }));
        assert!(failed && words.contains("`more`"), "{words}");
        let prompt = client.request_with_answers(
            "prompts/get",
            json!({ "name": "about", "arguments": { "path": "/srv/one/x" } }),
            answer,
        );
        assert_eq!(text_of(&prompt["result"]["messages"][0]["content"]), "About /srv/one/x.");
        let refused = client.request_with_answers(
            "prompts/get",
            json!({ "name": "about", "arguments": { "path": "/x" } }),
            answer,
        );
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    });
}

/// A root with links of every kind, beside what nobody may reach through them.
fn tree() -> TestFolder {
    let tree = TestFolder::new(&[("root/sub/file", "mine"), ("other/inner/file", "theirs"), ("secret", "theirs")]);
    for (target, link) in [
        ("sub", "root/inside"),
        ("../other/inner", "root/link"),
        ("../secret", "root/secret"),
        ("../gone", "root/dangling"),
        ("circle", "root/circle"),
        ("root", "linked-root"),
    ] {
        symlink(target, tree.join(link)).unwrap();
    }
    tree
}

#[test]
fn links_and_dot_dot_cannot_leave_roots() {
    let tree = tree();
    let at = |path: &str| tree.join(path).to_str().unwrap().to_owned();
    let folder = TestFolder::with_manifest(
        r#"
folio: 1
server: { name: within }
tools:
  read:
    description: Reads files
    arguments: { paths: { type: array, items: { type: string }, within: roots, required: true } }
    run: { exec: [cat, --, { each: paths, then: ["{{this}}"] }] }
  write:
    description: Writes a file
    arguments: { path: { within: roots, required: true } }
    run: { script: { shell: sh, text: 'printf %s written > "$path"; printf %s "$path"' } }
"#,
    );
    for root in ["root", "linked-root"] {
        let answer = |_: &str, _: &Value| json!({ "roots": [{ "uri": format!("file://{}", at(root)) }] });
        on_every_version_and_wire(&folder, &json!({ "roots": {} }), |client| {
            let call = |name: &str, arguments: Value| {
                let result = client.call_with_answers(name, arguments, answer);
                (result["isError"] == true, text_of(&result["content"][0]))
            };
            for inside in ["root/sub/file", "root/inside/file", "linked-root/./sub/file"] {
                assert_eq!(call("read", json!({ "paths": [at(inside)] })), (false, "mine".to_owned()), "{inside}");
            }
            for outside in [
                "root/link/../secret", "root/../secret", "root/secret", "root/link/file", "root/circle",
                "root/sub/file/x", "secret",
            ] {
                let (failed, words) = call("read", json!({ "paths": [at("root/sub/file"), at(outside)] }));
                assert!(failed && words.starts_with("`paths` "), "{outside}: {words}");
                let uri = format!("file://{}", at(outside).replace("..", "%2e%2e"));
                assert!(call("read", json!({ "paths": [uri] })).0, "{outside}");
            }
            for outside in ["root/dangling", "root/dangling/", "root/dangling/new", "root/link/new"] {
                let (failed, words) = call("write", json!({ "path": at(outside) }));
                assert!(failed && words.starts_with("`path` "), "{outside}: {words}");
            }
            assert!(!tree.join("gone").exists() && !tree.join("other/inner/new").exists());
            // What is not there yet is where it is said to be, and the program is told where that is.
            let new = fs::canonicalize(tree.join("root/sub")).unwrap().join("new");
            let told = call("write", json!({ "path": at("linked-root/inside/new") }));
            assert_eq!(told, (false, new.to_str().unwrap().to_owned()));
            assert_eq!(fs::read_to_string(&new).unwrap(), "written");
        });
    }
}

#[test]
fn many_paths_in_many_roots_are_judged_soon_and_in_few_words() {
    const MANY: usize = 4_000;
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  t: { description: T, arguments: { p: { type: array, items: {}, within: roots } }, result: { text: fine } }\n",
    );
    let server = folder.stdio();
    let client = server.client_with("2025-11-25", json!({ "roots": {} }));
    let roots: Vec<Value> = (0..MANY).map(|nth| json!({ "uri": format!("file:///folio/root{nth}") })).collect();
    let answer = |_: &str, _: &Value| json!({ "roots": roots });
    let inside: Vec<String> = (0..MANY).map(|nth| format!("/folio/root{nth}/file")).collect();
    let fine = client.call_with_answers("t", json!({ "p": inside }), answer);
    assert_eq!(text_of(&fine["content"][0]), "fine");
    let outside: Vec<String> =
        (0..MANY).map(|nth| format!("/folio/other{nth}")).chain(vec![String::new(); 100_000]).collect();
    let refused = client.call_with_answers("t", json!({ "p": outside }), answer);
    let words = text_of(&refused["content"][0]);
    assert!(words.len() < 5_000 && words.ends_with("and 103980 more"), "{words}");
    let deep = vec!["/folio/root1".to_owned() + &"/a".repeat(2_000); 3_000];
    let fine = client.call_with_answers("t", json!({ "p": deep }), answer);
    assert_eq!(text_of(&fine["content"][0]), "fine");
}

#[test]
fn completion_never_sees_unchecked_paths() {
    let folder = TestFolder::with_manifest(
        r#"
folio: 1
server: { name: within }
prompts:
  about:
    description: Of a file in a folder
    arguments:
      folder: { within: roots }
      plain: {}
      file: { complete: { run: { exec: [printf, "<%s>", "{{folder}}{{plain}}"] } } }
    text: "{{file}}"
"#,
    );
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let complete = |argument: &str| {
            let params = json!({
                "ref": { "type": "ref/prompt", "name": "about" },
                "argument": { "name": "file", "value": "" },
                "context": { "arguments": { argument: "/etc" } },
            });
            client.result("completion/complete", params)["completion"]["values"].clone()
        };
        assert_eq!(complete("plain"), json!(["</etc>"]));
        assert_eq!(complete("folder"), json!(["<>"]));
    });
}

#[test]
fn client_without_roots_cannot_pass_paths() {
    on_every_version_and_wire(&TestFolder::with_manifest(MANIFEST), &json!({}), |client| {
        let answer = client.request("tools/call", json!({ "name": "show", "arguments": { "path": "/srv/one" } }));
        if client.is_sessionless() {
            assert_eq!(answer["error"]["code"], -32021, "{answer}");
            assert_eq!(answer["error"]["data"]["requiredCapabilities"], json!({ "roots": {} }));
        } else {
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            assert!(text_of(&answer["result"]["content"][0]).contains("roots"), "{answer}");
        }
        // Nothing is asked for that is not needed.
        assert_eq!(client.call_text("show", json!({})), "path ");
    });
}

#[test]
fn question_after_roots_is_asked_once() {
    let folder = TestFolder::with_manifest(MANIFEST);
    let mut calls = 0;
    for version in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let server = folder.stdio();
        let client = server.client_with(version, json!({ "roots": {}, "elicitation": {} }));
        let result = client.call_with_answers("sure", json!({ "path": "/srv/one/x" }), answer);
        assert_eq!(text_of(&result["content"][0]), "/srv/one/x true");
        calls += 1;
        assert_eq!(fs::read_to_string(folder.join("done.txt")).unwrap().lines().count(), calls, "{version}");
        let refused = client.call_with_answers("sure", json!({ "path": "/elsewhere" }), answer);
        assert_eq!(refused["isError"], true, "{refused}");
        assert_eq!(fs::read_to_string(folder.join("done.txt")).unwrap().lines().count(), calls, "{version}");
    }
}

/// The folders of a client on another machine are not here.
#[test]
fn roots_over_http_count_inside_workspace_only() {
    let manifest = r#"
folio: 1
server: { name: s }
folders: { own: { roots: client, write: true } }
tools:
  show: { description: D, arguments: { path: { within: roots, required: true } }, result: { text: "path {{path}}" } }
  read: { description: D, run: { file: { read: a, in: own } } }
"#;
    let folder = TestFolder::new(&[("folio.yaml", manifest), ("ws/in/a", "in"), ("out/a", "out")]);
    symlink("../out", folder.join("ws/link")).unwrap();
    let at = |path: &str| fs::canonicalize(folder.path()).unwrap().join(path).to_str().unwrap().to_owned();
    let attempt = |server: &TestServer, root: &str| {
        let client = server.client_with(SESSION_VERSIONS[3], json!({ "roots": {} }));
        let roots = json!({ "roots": [{ "uri": format!("file://{}", at(root)) }] });
        let call = |tool: &str, arguments: Value| {
            let result = client.call_with_answers(tool, arguments, |_, _| roots.clone());
            let said = text_of(&result["content"][0]);
            assert!(result["isError"] != true || said.contains("none of the client's roots counts"), "{said}");
            result["isError"] != true
        };
        let allowed = call("read", json!({}));
        assert_eq!(call("show", json!({ "path": at(&format!("{root}/a")) })), allowed, "{root}");
        allowed
    };
    let confined = folder.serve_command().env("FOLIO_WORKSPACE", &at("ws")).http();
    assert!(attempt(&confined, "ws/in"));
    assert!(!attempt(&confined, "out") && !attempt(&confined, "ws/link"));
    assert!(!attempt(&folder.http(), "ws/in"), "without a workspace none counts");
    assert!(attempt(&folder.stdio(), "out"), "a client that starts the server is on its machine");
}

/// Everything that asks for roots, with less time than a program has to answer.
const ASKING: &str = r#"
folio: 1
server: { name: asking }
folders:
  theirs: { roots: client }
  either: { roots: client, else: notes }
tools:
  within: { description: W, arguments: { path: { within: roots } }, run: { exec: ["true"] }, result: { text: "{{path}}" }, timeout: 1s }
  listed: { description: L, run: { file: { list: ., in: theirs } }, timeout: 1s }
  fallback: { description: F, run: { file: { list: ., in: either } }, timeout: 1s }
  step: { description: S, run: [{ id: a, ask: { r: { roots: {} } } }], result: { text: "{{#each steps.a.r}}{{uri}};{{/each}}" }, timeout: 1s }
  optional: { description: O, run: [{ id: a, ask: { r: { roots: {}, optional: true } } }], result: { text: "<{{steps.a.r}}>" }, timeout: 1s }
  mixed:
    description: M
    run:
      - id: a
        ask: { r: { roots: {}, optional: true }, n: { elicit: { message: Who?, schema: { name: {} } } } }
    result: { text: "<{{steps.a.r}}>{{steps.a.n.name}}" }
    timeout: 1s
"#;

fn asking_folder() -> TestFolder {
    let folder = TestFolder::with_manifest(ASKING);
    folder.write("notes/mine.txt", "");
    folder
}

#[test]
fn client_that_is_silent_about_roots_is_asked_once() {
    let folder = asking_folder();
    let path = json!({ "path": "/srv/one/x" });
    let silent = [("within", path.clone(), true), ("listed", json!({}), true), ("fallback", json!({}), false)];
    let web = folder.serve_command().env("FOLIO_WORKSPACE", "/").http();
    for version in SESSION_VERSIONS {
        let pipes = folder.stdio();
        let capabilities = json!({ "roots": {}, "elicitation": {} });
        for client in [&pipes, &web].map(|server| server.client_with(version, capabilities.clone())) {
            let began = Instant::now();
            let id = client.start_call("within", path.clone());
            // The TypeScript SDK takes parameters that are null for a message that is none.
            let question = client.next_question();
            assert_eq!((&question["method"], question.get("params")), (&json!("roots/list"), None));
            let late = client.wait_for_answer(id);
            assert!(began.elapsed() >= Duration::from_millis(900) && began.elapsed() < Duration::from_secs(9));
            assert_eq!(text_of(&late["result"]["content"][0]), "the client did not answer `roots/list` in time");
            // From here on a question would be an unexpected message.
            for (tool, arguments, fails) in silent.iter().chain([&("step", json!({}), true)]) {
                let result =
                    client.call_with_answers(tool, arguments.clone(), |method, _| panic!("asked for {method}"));
                assert_eq!(result["isError"] == true, *fails, "{tool}: {result}");
            }
            assert_eq!(client.call_text("optional", json!({})), "<>");
            if version >= "2025-06-18" {
                let name = |method: &str, _: &Value| {
                    assert_eq!(method, "elicitation/create");
                    json!({ "action": "accept", "content": { "name": "Ada" } })
                };
                assert_eq!(text_of(&client.call_with_answers("mixed", json!({}), name)["content"][0]), "<>Ada");
            }
            client.notify("notifications/roots/list_changed", Value::Null);
            let answered = client.call_with_answers("within", path.clone(), answer);
            assert_eq!(text_of(&answered["content"][0]), "/srv/one/x");
        }
    }
}

#[test]
fn task_does_not_wait_long_for_roots() {
    let folder = asking_folder();
    folder.write("folio.yaml", ASKING.replace("  within: {", "  within: { task: required,"));
    let server = folder.stdio();
    let capabilities = json!({ "roots": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let client = server.client_with(SESSIONLESS_VERSION, capabilities);
    let task = client.call("within", json!({ "path": "/srv/one/x" }))["taskId"].as_str().unwrap().to_owned();
    let status = || client.result("tasks/get", json!({ "taskId": task }));
    wait_until("the end of the task", || status()["status"] == "completed");
    assert_eq!(text_of(&status()["result"]["content"][0]), "the client did not answer `roots/list` in time");
}

#[test]
fn roots_that_cannot_be_used_are_left_out() {
    let folder = asking_folder();
    let tree = tree();
    let root = tree.path().to_str().unwrap().to_owned();
    let [plain, capital, local] = ["file://", "FILE://", "file://localhost"].map(|scheme| format!("{scheme}{root}"));
    for usable in [plain, capital, local] {
        let roots = json!([
            { "uri": "vscode-vfs://github/a/b" }, { "uri": "" }, { "uri": root }, { "uri": "file://elsewhere/srv" },
            { "name": "no uri" }, null, { "uri": usable, "name": "mine" },
        ]);
        let answer = |_: &str, _: &Value| json!({ "roots": roots });
        on_every_version_and_wire(&folder, &json!({ "roots": {} }), |client| {
            let call = |tool: &str, arguments: Value| {
                let result = client.call_with_answers(tool, arguments, answer);
                assert_ne!(result["isError"], true, "{tool}: {result}");
                text_of(&result["content"][0])
            };
            assert!(call("within", json!({ "path": format!("{root}/secret") })).ends_with("/secret"));
            assert!(call("listed", json!({})).contains("linked-root"));
            assert_eq!(call("step", json!({})), format!("{usable};"));
        });
    }
    let server = folder.stdio();
    let client = server.client_with("2025-11-25", json!({ "roots": {} }));
    let none = |_: &str, _: &Value| json!({ "roots": [{ "uri": "vscode-vfs://github/a/b" }] });
    let listed = client.call_with_answers("fallback", json!({}), none);
    assert!(text_of(&listed["content"][0]).contains("mine.txt"), "{listed}");
    server.log.wait_for_line(0, |line| line.contains("vscode-vfs://github/a/b") && line.contains("left out"));
}

#[test]
fn no_roots_are_an_empty_list() {
    let folder = TestFolder::with_manifest(ASKING);
    folder.write("notes/mine.txt", "");
    on_every_version_and_wire(&folder, &json!({ "roots": { "listChanged": true } }), |client| {
        for nothing in [json!({ "roots": [] }), json!({ "roots": null }), json!({}), json!([])] {
            let call = |tool: &str, arguments: Value| client.call_with_answers(tool, arguments, |_, _| nothing.clone());
            assert_eq!(text_of(&call("optional", json!({}))["content"][0]), "<[]>", "{nothing}");
            let outside = call("within", json!({ "path": "/srv/one" }));
            assert!(outside["isError"] == true, "{outside}");
            let said = text_of(&outside["content"][0]);
            assert!(said.contains("`path`") && !said.contains("invalid"), "{said}");
            client.notify("notifications/roots/list_changed", Value::Null);
        }
    });
}

//! Arguments that must be paths inside the folders that the client works on.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::harness::{Client, Folder, everywhere, text_of};

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

fn show(client: &Client, arguments: Value) -> (bool, String) {
    let result = client.talk_to("show", arguments, answer);
    (result["isError"] == true, text_of(&result["content"][0]))
}

#[test]
fn a_path_outside_of_the_clients_roots_is_refused_by_the_name_of_its_argument() {
    everywhere(&Folder::of(MANIFEST), &json!({ "roots": {} }), |client| {
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
        let prompt =
            client.talk("prompts/get", json!({ "name": "about", "arguments": { "path": "/srv/one/x" } }), answer);
        assert_eq!(text_of(&prompt["result"]["messages"][0]["content"]), "About /srv/one/x.");
        let refused = client.talk("prompts/get", json!({ "name": "about", "arguments": { "path": "/x" } }), answer);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    });
}

/// A root with links of every kind, beside what nobody may reach through them.
fn tree() -> Folder {
    let tree = Folder::new(&[("root/sub/file", "mine"), ("other/inner/file", "theirs"), ("secret", "theirs")]);
    for (target, link) in [
        ("sub", "root/inside"),
        ("../other/inner", "root/link"),
        ("../secret", "root/secret"),
        ("../gone", "root/dangling"),
        ("circle", "root/circle"),
        ("root", "linked-root"),
    ] {
        symlink(target, tree.at(link)).unwrap();
    }
    tree
}

#[test]
fn no_link_and_no_detour_leads_out_of_the_roots() {
    let tree = tree();
    let at = |path: &str| tree.at(path).to_str().unwrap().to_owned();
    let folder = Folder::of(
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
        everywhere(&folder, &json!({ "roots": {} }), |client| {
            let call = |name: &str, arguments: Value| {
                let result = client.talk_to(name, arguments, answer);
                (result["isError"] == true, text_of(&result["content"][0]))
            };
            for inside in ["root/sub/file", "root/inside/file", "linked-root/./sub/file"] {
                assert_eq!(call("read", json!({ "paths": [at(inside)] })), (false, "mine".to_owned()), "{inside}");
            }
            for outside in [
                "root/link/../secret",
                "root/../secret",
                "root/secret",
                "root/link/file",
                "root/circle",
                "root/sub/file/x",
                "secret",
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
            assert!(!tree.at("gone").exists() && !tree.at("other/inner/new").exists());
            // What is not there yet is where it is said to be, and the program is told where that is.
            let new = fs::canonicalize(tree.at("root/sub")).unwrap().join("new");
            let told = call("write", json!({ "path": at("linked-root/inside/new") }));
            assert_eq!(told, (false, new.to_str().unwrap().to_owned()));
            assert_eq!(fs::read_to_string(&new).unwrap(), "written");
        });
    }
}

#[test]
fn many_paths_in_many_roots_are_judged_soon_and_in_few_words() {
    const MANY: usize = 4_000;
    let folder = Folder::of(
        "folio: 1\nserver: { name: s }\ntools:\n  t: { description: T, arguments: { p: { type: array, items: {}, within: roots } }, result: { text: fine } }\n",
    );
    let server = folder.stdio();
    let client = server.able("2025-11-25", json!({ "roots": {} }));
    let roots: Vec<Value> = (0..MANY).map(|nth| json!({ "uri": format!("file:///folio/root{nth}") })).collect();
    let answer = |_: &str, _: &Value| json!({ "roots": roots });
    let inside: Vec<String> = (0..MANY).map(|nth| format!("/folio/root{nth}/file")).collect();
    let fine = client.talk_to("t", json!({ "p": inside }), answer);
    assert_eq!(text_of(&fine["content"][0]), "fine");
    let outside: Vec<String> =
        (0..MANY).map(|nth| format!("/folio/other{nth}")).chain(vec![String::new(); 100_000]).collect();
    let refused = client.talk_to("t", json!({ "p": outside }), answer);
    let words = text_of(&refused["content"][0]);
    assert!(words.len() < 5_000 && words.ends_with("and 103980 more"), "{words}");
    let deep = vec!["/folio/root1".to_owned() + &"/a".repeat(2_000); 3_000];
    let refused = client.talk_to("t", json!({ "p": deep }), answer);
    assert!(text_of(&refused["content"][0]).starts_with("this takes too much work"), "{refused}");
}

#[test]
fn what_is_completed_sees_no_path_that_nobody_has_judged() {
    let folder = Folder::of(
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
    everywhere(&folder, &json!({}), |client| {
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
fn a_client_that_tells_no_roots_can_name_no_path() {
    everywhere(&Folder::of(MANIFEST), &json!({}), |client| {
        let answer = client.request("tools/call", json!({ "name": "show", "arguments": { "path": "/srv/one" } }));
        if client.is_modern() {
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
fn a_question_behind_the_roots_is_asked_and_nothing_is_done_twice() {
    let folder = Folder::of(MANIFEST);
    let mut calls = 0;
    for version in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let server = folder.stdio();
        let client = server.able(version, json!({ "roots": {}, "elicitation": {} }));
        let result = client.talk_to("sure", json!({ "path": "/srv/one/x" }), answer);
        assert_eq!(text_of(&result["content"][0]), "/srv/one/x true");
        calls += 1;
        assert_eq!(fs::read_to_string(folder.at("done.txt")).unwrap().lines().count(), calls, "{version}");
        let refused = client.talk_to("sure", json!({ "path": "/elsewhere" }), answer);
        assert_eq!(refused["isError"], true, "{refused}");
        assert_eq!(fs::read_to_string(folder.at("done.txt")).unwrap().lines().count(), calls, "{version}");
    }
}

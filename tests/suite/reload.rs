//! A saved edit is served, and breaks no session and no running call.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::harness::*;

fn with_prompt(name: &str) -> String {
    format!("folio: 1\nserver: {{ name: s }}\nprompts:\n  {name}: {{ text: Hi }}\n")
}

/// Saves in some way, and expects the prompt `after` to be served instead of `before`.
fn is_seen(server: &TestServer, after: &str, save: impl FnOnce()) {
    let client = server.sessionless();
    client.round_trip();
    let mark = server.log.line_count();
    save();
    server.log.wait_for_reload(mark);
    assert_eq!(client.names("prompts"), [after]);
}

fn in_every_way(folder: &TestFolder, server: &TestServer) {
    is_seen(server, "in-place", || folder.write("folio.yaml", with_prompt("in-place")));
    is_seen(server, "renamed-over", || folder.rename_over("folio.yaml", with_prompt("renamed-over")));
    is_seen(server, "in-pieces", || {
        let mut file = fs::File::create(folder.join("folio.yaml")).unwrap();
        for piece in with_prompt("in-pieces").as_bytes().chunks(7) {
            file.write_all(piece).unwrap();
            file.flush().unwrap();
        }
    });
    is_seen(server, "backed-up", || {
        fs::rename(folder.join("folio.yaml"), folder.join("folio.yaml~")).unwrap();
        folder.write("folio.yaml", with_prompt("backed-up"));
    });
    is_seen(server, "recreated", || {
        folder.remove("folio.yaml");
        folder.write("folio.yaml", with_prompt("recreated"));
    });
}

#[test]
fn every_save_strategy_is_detected_by_watcher() {
    let folder = TestFolder::with_manifest(&with_prompt("first"));
    in_every_way(&folder, &folder.stdio());
}

#[test]
fn every_save_strategy_is_detected_by_polling() {
    let folder = TestFolder::with_manifest(&with_prompt("first"));
    in_every_way(&folder, &folder.serve_command().flag("--poll=100ms").stdio());
}

#[test]
fn deleted_manifest_stays_served_until_restored() {
    let folder = TestFolder::with_manifest(&with_prompt("first"));
    let server = folder.stdio();
    let client = server.sessionless();
    client.round_trip();
    let mark = server.log.line_count();
    folder.remove("folio.yaml");
    server.log.wait_for_failed_reload(mark);
    assert_eq!(client.names("prompts"), ["first"]);
    is_seen(&server, "second", || folder.write("folio.yaml", with_prompt("second")));
}

#[test]
fn swapped_symlink_folder_is_detected() {
    let folder = TestFolder::new(&[("v1/folio.yaml", &with_prompt("one")), ("v2/folio.yaml", &with_prompt("two"))]);
    symlink("v1", folder.join("..data")).unwrap();
    symlink("..data/folio.yaml", folder.join("folio.yaml")).unwrap();
    let server = folder.stdio();
    assert_eq!(server.sessionless().names("prompts"), ["one"]);
    is_seen(&server, "two", || {
        symlink("v2", folder.join("..data_tmp")).unwrap();
        fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
        fs::remove_dir_all(folder.join("v1")).unwrap();
    });
    folder.write("v3/folio.yaml", with_prompt("three"));
    is_seen(&server, "three", || {
        symlink("v3", folder.join("..data_tmp")).unwrap();
        fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
    });
}

#[test]
fn created_moved_and_deleted_folders_are_detected() {
    let folder = TestFolder::new(&[
        (
            "folio.yaml",
            "folio: 1\nserver: { name: s }\nprompts:\n  own: { text: Hi }\ninclude: [\"prompts/**/*.md\"]\nresources:\n  docs: { uri: \"docs://{+path}\", root: docs }\n",
        ),
        ("prompts/one.md", "One"),
        ("docs/a.md", "A"),
    ]);
    let server = folder.stdio();
    let client = server.sessionless();
    assert_eq!(client.names("prompts"), ["own", "one"]);
    let step = |prompts: &[&str], uris: &[&str], change: &dyn Fn()| {
        let mark = server.log.line_count();
        change();
        server.log.wait_for_reload(mark);
        wait_until("the lists", || {
            let listed = client.list("resources");
            let listed: Vec<&str> = listed.iter().map(|entry| entry["uri"].as_str().unwrap()).collect();
            client.names("prompts") == prompts && listed == uris
        });
    };
    step(&["own", "two", "one"], &["docs://a.md"], &|| folder.write("prompts/deep/er/two.md", "Two"));
    step(&["own", "three", "two", "one"], &["docs://a.md"], &|| folder.write("prompts/deep/er/three.md", "Three"));
    step(&["own", "three", "two", "one"], &["docs://a.md", "docs://sub/b.md"], &|| folder.write("docs/sub/b.md", "B"));
    step(&["own", "one", "three", "two"], &["docs://a.md", "docs://sub/b.md"], &|| {
        fs::rename(folder.join("prompts/deep"), folder.join("prompts/p")).unwrap();
    });
    step(&["own", "one"], &["docs://a.md", "docs://sub/b.md"], &|| {
        fs::remove_dir_all(folder.join("prompts/p")).unwrap()
    });
    step(&["own", "one"], &["docs://sub/b.md"], &|| folder.remove("docs/a.md"));
    assert_eq!(client.read_text("docs://sub/b.md"), "B");
}

#[test]
fn everything_that_the_manifest_reads_is_watched() {
    let folder = TestFolder::new(&[
        (
            "folio.yaml",
            "folio: 1\nserver: { name: s, instructions: { file: told.md } }\npartials: parts/*.hbs\ninclude: [more.yaml]\npacks: { p: { path: pack } }\nprompts:\n  a: { text: \"{{> house}}\" }\n  b: { text: { file: b.txt } }\ntools:\n  t: { description: T, inputSchema: { file: t.json }, result: { text: x } }\n",
        ),
        ("told.md", "told 1"),
        ("parts/house.hbs", "house 1"),
        ("more.yaml", "prompts:\n  c: { text: c 1 }\n"),
        ("pack/folio.yaml", "folio: 1\nserver: { name: p }\nprompts:\n  d: { text: d 1 }\n"),
        ("b.txt", "b 1"),
        ("t.json", "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\",\"title\":\"1\"}}}"),
    ]);
    let server = folder.stdio();
    let client = server.sessionless();
    assert_eq!(client.names("prompts"), ["a", "b", "c", "p-d"]);
    let none = json!({});
    let step = |path: &str, text: &str, got: &dyn Fn() -> String, due: &str| {
        let mark = server.log.line_count();
        folder.write(path, text);
        server.log.wait_for_reload(mark);
        assert_eq!(got(), due, "{path}");
    };
    step("parts/house.hbs", "house 2", &|| client.get_text("a", none.clone()), "house 2");
    step("b.txt", "b 2", &|| client.get_text("b", none.clone()), "b 2");
    step("more.yaml", "prompts:\n  c: { text: c 2 }\n", &|| client.get_text("c", none.clone()), "c 2");
    let pack = "folio: 1\nserver: { name: p }\nprompts:\n  d: { text: d 2 }\n";
    step("pack/folio.yaml", pack, &|| client.get_text("p-d", none.clone()), "d 2");
    let instructions = || client.result("server/discover", json!({}))["instructions"].as_str().unwrap().to_owned();
    step("told.md", "told 2", &instructions, "told 2");
    let title = || client.list("tools")[0]["inputSchema"]["properties"]["x"]["title"].as_str().unwrap().to_owned();
    step("t.json", "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\",\"title\":\"2\"}}}", &title, "2");
}

#[test]
fn sighup_reloads_even_without_changes() {
    let folder = TestFolder::with_manifest(&with_prompt("p"));
    for flags in [&[][..], &["--poll=1h"]] {
        let serve = flags.iter().fold(folder.serve_command(), |serve, flag| serve.flag(flag));
        let server = serve.stdio();
        server.sessionless().round_trip();
        let mark = server.log.line_count();
        server.signal("HUP");
        assert!(server.log.wait_for_reload(mark).contains("no list changed"));
        let mark = server.log.line_count();
        folder.write("folio.yaml", "folio: [");
        server.signal("HUP");
        server.log.wait_for_failed_reload(mark);
        folder.write("folio.yaml", with_prompt("p"));
    }
}

#[test]
fn edit_right_after_first_answer_is_detected() {
    for _ in 0..5 {
        let folder = TestFolder::with_manifest(&with_prompt("first"));
        let server = folder.stdio();
        is_seen(&server, "second", || folder.write("folio.yaml", with_prompt("second")));
    }
}

#[test]
fn no_watch_declares_no_list_changed() {
    let folder =
        TestFolder::with_manifest(&format!("{}resources:\n  r: {{ uri: \"r://r\", text: R }}\n", with_prompt("p")));
    let server = folder.serve_command().flag("--no-watch").stdio();
    let modern = server.sessionless();
    let session = server.session("2025-11-25");
    assert_eq!(session.initialize_result["capabilities"], json!({ "prompts": {}, "resources": {} }));
    assert_eq!(session.error_code("resources/subscribe", json!({ "uri": "r://r" })), -32601);
    let filter = json!({ "notifications": { "promptsListChanged": true } });
    assert_eq!(modern.error_code("subscriptions/listen", filter), -32601);
    folder.write("folio.yaml", with_prompt("q"));
    server.signal("HUP");
    session.round_trip();
    assert_eq!(session.names("prompts"), ["p"]);
    assert!(server.is_alive());
}

#[test]
fn invalid_edit_keeps_last_catalog_and_is_reported() {
    let folder = TestFolder::with_manifest(&with_prompt("p"));
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let mark = server.log.line_count();
    folder.write("folio.yaml", "folio: 1\nserver: { name: s }\nprompts:\n  q: { text: \"{{nobody}}\" }\n");
    server.log.wait_for_failed_reload(mark);
    let report = server.log.text();
    assert!(report.contains("nobody") && report.contains("folio.yaml:4:"), "{report}");
    assert_eq!(client.names("prompts"), ["p"]);
    client.assert_silent();
    let mark = server.log.line_count();
    folder.write("folio.yaml", with_prompt("p"));
    let line = server.log.wait_for_reload(mark);
    assert!(line.contains("no list changed"), "{line}");
    client.assert_silent();
}

#[test]
fn session_keeps_negotiated_capabilities_after_reload() {
    SESSION_VERSIONS.iter().for_each(|version| keeps_what_it_negotiated(version));
}

fn keeps_what_it_negotiated(version: &str) {
    let folder = TestFolder::with_manifest(&with_prompt("p"));
    let server = folder.http();
    let before = server.session(version);
    let _stream = before.open_stream();
    let mark = server.log.line_count();
    let tools = "tools:\n  t: { description: T, result: { text: x } }\n";
    folder.write("folio.yaml", format!("{}{tools}", with_prompt("p")));
    let line = server.log.wait_for_reload(mark);
    assert!(line.ends_with(": +t; clients in a session see `tools` when they reconnect"), "{line}");
    assert_eq!(before.error_code("tools/list", json!({})), -32601);
    before.assert_silent();
    let after = server.session(version);
    assert_eq!(after.names("tools"), ["t"]);
    assert_eq!(server.sessionless().names("tools"), ["t"]);
    let mark = server.log.line_count();
    folder.write("folio.yaml", format!("folio: 1\nserver: {{ name: s }}\n{tools}"));
    server.log.wait_for_reload(mark);
    assert_eq!(before.names("prompts"), Vec::<String>::new(), "what was negotiated is answered, empty as it may be");
    before.wait_for("notifications/prompts/list_changed");
    assert_eq!(server.sessionless().error_code("prompts/list", json!({})), -32601);
}

#[test]
fn running_request_finishes_on_its_catalog() {
    SESSION_VERSIONS.iter().chain([&SESSIONLESS_VERSION]).for_each(|version| ends_on_its_catalog(version));
}

fn ends_on_its_catalog(version: &str) {
    let gate = |answer: &str| {
        format!(
            "folio: 1\nserver: {{ name: s }}\ntools:\n  t:\n    description: {answer}\n    run: {{ exec: [sh, -c, \"touch began; while ! [ -e gate ]; do sleep 0.02; done\"] }}\n    result: {{ text: {answer} }}\n"
        )
    };
    let folder = TestFolder::with_manifest(&gate("old"));
    let server = folder.stdio();
    let client = server.client(version);
    let id = client.send("tools/call", json!({ "name": "t" }));
    wait_until("the call", || folder.join("began").exists());
    let mark = server.log.line_count();
    folder.write("folio.yaml", gate("new"));
    server.log.wait_for_reload(mark);
    assert_eq!(client.list("tools")[0]["description"], "new");
    folder.write("gate", "");
    assert_eq!(text_of(&client.wait_for_answer(id)["result"]["content"][0]), "old");
    assert_eq!(client.call_text("t", json!({})), "new");
}

#[test]
fn change_before_initialized_is_announced_after() {
    for version in SESSION_VERSIONS {
        let folder = TestFolder::with_manifest(&with_prompt("p"));
        let server = folder.stdio();
        let client = server.uninitialized(version);
        let mark = server.log.line_count();
        folder.write("folio.yaml", with_prompt("q"));
        server.log.wait_for_reload(mark);
        client.assert_silent();
        client.notify("notifications/initialized", json!({}));
        client.wait_for("notifications/prompts/list_changed");
        client.assert_silent();
    }
}

#[test]
fn cursor_survives_reload_only_for_same_list() {
    let list = |names: &[&str]| {
        let prompts: String = names.iter().map(|name| format!("  {name}: {{ text: Hi }}\n")).collect();
        format!("folio: 1\nserver: {{ name: s, pageSize: 2 }}\nprompts:\n{prompts}")
    };
    let folder = TestFolder::with_manifest(&list(&["a", "b", "c"]));
    let server = folder.stdio();
    let client = server.sessionless();
    let cursor = client.result("prompts/list", json!({}))["nextCursor"].clone();
    let mark = server.log.line_count();
    folder.write("folio.yaml", list(&["a", "b", "c"]).replace("Hi", "Hello"));
    server.log.wait_for_reload(mark);
    let page = client.result("prompts/list", json!({ "cursor": cursor }));
    assert_eq!(page["prompts"][0]["name"], "c");
    let mark = server.log.line_count();
    folder.write("folio.yaml", list(&["0", "a", "b", "c"]));
    server.log.wait_for_reload(mark);
    assert_eq!(client.error_code("prompts/list", json!({ "cursor": cursor })), -32602);
}

#[test]
fn non_reading_peer_does_not_delay_reload() {
    let folder = TestFolder::with_manifest(&with_prompt("p0"));
    let server = folder.http();
    let deaf = SESSION_VERSIONS.map(|version| server.session(version));
    // Their streams are open, and nobody reads from them.
    let sockets: Vec<HttpResponse> = deaf
        .iter()
        .map(|client| {
            server.http_client().send(
                "GET",
                &[("Accept", "text/event-stream"), ("Mcp-Session-Id", client.session_id())],
                b"",
            )
        })
        .collect();
    let client = server.session("2025-11-25");
    let _stream = client.open_stream();
    let modern = server.sessionless();
    let listening = modern.listen(json!({ "promptsListChanged": true }));
    for round in 1..=25 {
        folder.rename_over("folio.yaml", with_prompt(&format!("p{round}")));
        client.wait_for("notifications/prompts/list_changed");
        listening.wait_for("notifications/prompts/list_changed");
        assert_eq!(client.names("prompts"), [format!("p{round}")]);
    }
    drop(sockets);
}

#[test]
fn an_edit_while_the_server_starts_is_not_lost() {
    for round in 0..5 {
        let folder = TestFolder::with_manifest(&with_prompt("old"));
        let server = folder.stdio();
        if round > 0 {
            // Somewhere in the middle of the start, each time elsewhere.
            std::thread::sleep(std::time::Duration::from_millis(round * 3));
        }
        folder.rename_over("folio.yaml", with_prompt("new"));
        let client = server.sessionless();
        wait_until("the new prompt", || client.names("prompts") == ["new"]);
    }
}

/// Whatever becomes of one file of many, what is served is what a server serves that starts with the same files.
#[test]
fn many_files_are_served_as_they_are_after_each_edit() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\npartials: \"*.hbs\"\ninclude: [\"prompts/*.md\", \"*.entries.yaml\"]\n\
         tools: { own: { description: d, result: { text: own } } }\n",
    );
    folder.write("part.hbs", "one");
    for number in 0..60 {
        let text =
            format!("---\narguments: {{ who: {{}}, unused-{number}: {{}} }}\n---\n{number} {{{{who}}}} {{{{> part}}}}");
        folder.write(&format!("prompts/p{number:02}.md"), text.replace("unused-", "unused_"));
    }
    folder.write("a.entries.yaml", "tools: { t: { description: d, result: { text: t } } }");
    let server = folder.stdio();
    let client = server.sessionless();
    let describe = |client: &TestClient| {
        let prompt = |name: &String| {
            client.request("prompts/get", json!({ "name": name, "arguments": { "who": "W" } }))["result"].clone()
        };
        let names = client.names("prompts");
        let prompts: Vec<_> = names.iter().map(prompt).collect();
        (client.names("tools"), names, prompts)
    };
    client.round_trip();
    let edits: [&dyn Fn(); 7] = [
        &|| folder.write("prompts/p30.md", "---\narguments: { who: { complete: [a] } }\n---\n{{who}}"),
        &|| folder.write("prompts/p29a.md", "between"),
        &|| folder.remove("prompts/p10.md"),
        &|| folder.write("a.entries.yaml", "prompts: { p00a: { text: a } }"),
        &|| folder.write("b.entries.yaml", "tools: { u: { description: d, result: { text: u } } }"),
        &|| folder.write("part.hbs", "two"),
        &|| folder.rename_over("prompts/p59.md", "---\ntitle: T\n---\nlast"),
    ];
    for edit in edits {
        let mark = server.log.line_count();
        edit();
        server.log.wait_for_reload(mark);
        let fresh = folder.stdio();
        assert_eq!(describe(&client), describe(&fresh.sessionless()));
        let names = client.names("prompts");
        assert!(names.iter().filter(|name| *name != "p00a").is_sorted(), "{names:?}");
    }
    let warnings = server.log.text().matches("argument `unused_5` is never used").count();
    assert_eq!(warnings, 1, "a warning is logged once");
}

#[test]
fn many_warnings_are_counted_and_not_logged_each() {
    let folder = TestFolder::with_manifest("folio: 1\nserver: { name: s }\ninclude: [prompts/*.md]\n");
    for number in 0..130 {
        folder.write(&format!("prompts/p{number}.md"), "---\narguments: { unused: {} }\n---\ntext");
    }
    let server = folder.stdio();
    server.log.wait_for_line(0, |line| line.contains("30 more warnings: `folio check` lists them all"));
    assert_eq!(server.log.text().matches("argument `unused` is never used").count(), 100);
    let mark = server.log.line_count();
    folder.write("prompts/p7.md", "---\narguments: { unused: {}, other: {} }\n---\ntext");
    server.log.wait_for_reload(mark);
    server.log.wait_for_line(mark, |line| line.contains("argument `other` is never used"));
    assert!(!server.log.text().contains("1 more warning"), "what is known is not counted again");
    let mark = server.log.line_count();
    folder.write("prompts/p8.md", "---\narguments: [\n---\ntext");
    server.log.wait_for_line(mark, |line| line.contains("not reloaded"));
    let mark = server.log.line_count();
    folder.write("prompts/p8.md", "---\narguments: { unused: {} }\n---\ntext");
    server.log.wait_for_reload(mark);
    let logged = server.log.lines();
    assert!(!logged.iter().skip(mark).any(|line| line.contains("is never used")), "known before the broken save");
}

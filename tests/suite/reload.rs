//! An edit is seen, however it is saved; and nothing that was agreed or begun is broken by it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::harness::*;

fn with_prompt(name: &str) -> String {
    format!("folio: 1\nserver: {{ name: s }}\nprompts:\n  {name}: {{ text: Hi }}\n")
}

/// Saves in some way, and expects the prompt `after` to be served instead of `before`.
fn is_seen(server: &Server, after: &str, save: impl FnOnce()) {
    let client = server.modern();
    client.round_trip();
    let mark = server.log.mark();
    save();
    server.log.reloaded_after(mark);
    assert_eq!(client.names("prompts"), [after]);
}

fn in_every_way(folder: &Folder, server: &Server) {
    is_seen(server, "in-place", || folder.write("folio.yaml", with_prompt("in-place")));
    is_seen(server, "renamed-over", || folder.rename_over("folio.yaml", with_prompt("renamed-over")));
    is_seen(server, "in-pieces", || {
        let mut file = fs::File::create(folder.at("folio.yaml")).unwrap();
        for piece in with_prompt("in-pieces").as_bytes().chunks(7) {
            file.write_all(piece).unwrap();
            file.flush().unwrap();
        }
    });
    is_seen(server, "backed-up", || {
        fs::rename(folder.at("folio.yaml"), folder.at("folio.yaml~")).unwrap();
        folder.write("folio.yaml", with_prompt("backed-up"));
    });
    is_seen(server, "recreated", || {
        folder.remove("folio.yaml");
        folder.write("folio.yaml", with_prompt("recreated"));
    });
}

#[test]
fn every_way_of_saving_is_seen() {
    let folder = Folder::of(&with_prompt("first"));
    in_every_way(&folder, &folder.stdio());
}

#[test]
fn every_way_of_saving_is_seen_by_looking_too() {
    let folder = Folder::of(&with_prompt("first"));
    in_every_way(&folder, &folder.serve().flag("--poll=100ms").stdio());
}

#[test]
fn a_manifest_that_goes_away_stays_served_until_it_comes_back() {
    let folder = Folder::of(&with_prompt("first"));
    let server = folder.stdio();
    let client = server.modern();
    client.round_trip();
    let mark = server.log.mark();
    folder.remove("folio.yaml");
    server.log.refused_after(mark);
    assert_eq!(client.names("prompts"), ["first"]);
    is_seen(&server, "second", || folder.write("folio.yaml", with_prompt("second")));
}

#[test]
fn a_folder_of_links_that_is_swapped_is_seen() {
    let folder = Folder::new(&[("v1/folio.yaml", &with_prompt("one")), ("v2/folio.yaml", &with_prompt("two"))]);
    symlink("v1", folder.at("..data")).unwrap();
    symlink("..data/folio.yaml", folder.at("folio.yaml")).unwrap();
    let server = folder.stdio();
    assert_eq!(server.modern().names("prompts"), ["one"]);
    is_seen(&server, "two", || {
        symlink("v2", folder.at("..data_tmp")).unwrap();
        fs::rename(folder.at("..data_tmp"), folder.at("..data")).unwrap();
        fs::remove_dir_all(folder.at("v1")).unwrap();
    });
    folder.write("v3/folio.yaml", with_prompt("three"));
    is_seen(&server, "three", || {
        symlink("v3", folder.at("..data_tmp")).unwrap();
        fs::rename(folder.at("..data_tmp"), folder.at("..data")).unwrap();
    });
}

#[test]
fn folders_that_come_move_and_go_are_seen() {
    let folder = Folder::new(&[
        (
            "folio.yaml",
            "folio: 1\nserver: { name: s }\nprompts:\n  own: { text: Hi }\ninclude: [\"prompts/**/*.md\"]\nresources:\n  docs: { uri: \"docs://{+path}\", root: docs }\n",
        ),
        ("prompts/one.md", "One"),
        ("docs/a.md", "A"),
    ]);
    let server = folder.stdio();
    let client = server.modern();
    assert_eq!(client.names("prompts"), ["own", "one"]);
    let step = |prompts: &[&str], uris: &[&str], change: &dyn Fn()| {
        let mark = server.log.mark();
        change();
        server.log.reloaded_after(mark);
        eventually("the lists", || {
            let listed = client.list("resources");
            let listed: Vec<&str> = listed.iter().map(|entry| entry["uri"].as_str().unwrap()).collect();
            client.names("prompts") == prompts && listed == uris
        });
    };
    step(&["own", "two", "one"], &["docs://a.md"], &|| folder.write("prompts/deep/er/two.md", "Two"));
    step(&["own", "three", "two", "one"], &["docs://a.md"], &|| folder.write("prompts/deep/er/three.md", "Three"));
    step(&["own", "three", "two", "one"], &["docs://a.md", "docs://sub/b.md"], &|| folder.write("docs/sub/b.md", "B"));
    step(&["own", "one", "three", "two"], &["docs://a.md", "docs://sub/b.md"], &|| {
        fs::rename(folder.at("prompts/deep"), folder.at("prompts/p")).unwrap();
    });
    step(&["own", "one"], &["docs://a.md", "docs://sub/b.md"], &|| fs::remove_dir_all(folder.at("prompts/p")).unwrap());
    step(&["own", "one"], &["docs://sub/b.md"], &|| folder.remove("docs/a.md"));
    assert_eq!(client.read_text("docs://sub/b.md"), "B");
}

#[test]
fn everything_that_the_manifest_reads_is_watched() {
    let folder = Folder::new(&[
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
    let client = server.modern();
    assert_eq!(client.names("prompts"), ["a", "b", "c", "p-d"]);
    let none = json!({});
    let step = |path: &str, text: &str, got: &dyn Fn() -> String, due: &str| {
        let mark = server.log.mark();
        folder.write(path, text);
        server.log.reloaded_after(mark);
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
fn sighup_asks_for_a_reload_and_is_answered_though_nothing_changed() {
    let folder = Folder::of(&with_prompt("p"));
    for flags in [&[][..], &["--poll=1h"]] {
        let serve = flags.iter().fold(folder.serve(), |serve, flag| serve.flag(flag));
        let server = serve.stdio();
        server.modern().round_trip();
        let mark = server.log.mark();
        server.signal("HUP");
        assert!(server.log.reloaded_after(mark).contains("no list changed"));
        let mark = server.log.mark();
        folder.write("folio.yaml", "folio: [");
        server.signal("HUP");
        server.log.refused_after(mark);
        folder.write("folio.yaml", with_prompt("p"));
    }
}

#[test]
fn an_edit_right_behind_the_first_answer_is_seen() {
    for _ in 0..5 {
        let folder = Folder::of(&with_prompt("first"));
        let server = folder.stdio();
        is_seen(&server, "second", || folder.write("folio.yaml", with_prompt("second")));
    }
}

#[test]
fn without_a_watch_nothing_changes_and_nothing_is_promised() {
    let folder = Folder::of(&format!("{}resources:\n  r: {{ uri: \"r://r\", text: R }}\n", with_prompt("p")));
    let server = folder.serve().flag("--no-watch").stdio();
    let modern = server.modern();
    let session = server.session("2025-11-25");
    assert_eq!(session.agreed["capabilities"], json!({ "prompts": {}, "resources": {} }));
    assert_eq!(session.code("resources/subscribe", json!({ "uri": "r://r" })), -32601);
    let filter = json!({ "notifications": { "promptsListChanged": true } });
    assert_eq!(modern.code("subscriptions/listen", filter), -32601);
    folder.write("folio.yaml", with_prompt("q"));
    server.signal("HUP");
    session.round_trip();
    assert_eq!(session.names("prompts"), ["p"]);
    assert!(server.is_alive());
}

#[test]
fn a_broken_file_leaves_everything_as_it_was_and_is_reported_at_its_place() {
    let folder = Folder::of(&with_prompt("p"));
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let mark = server.log.mark();
    folder.write("folio.yaml", "folio: 1\nserver: { name: s }\nprompts:\n  q: { text: \"{{nobody}}\" }\n");
    server.log.refused_after(mark);
    let report = server.log.text();
    assert!(report.contains("nobody") && report.contains("folio.yaml:4:"), "{report}");
    assert_eq!(client.names("prompts"), ["p"]);
    client.assert_silent();
    let mark = server.log.mark();
    folder.write("folio.yaml", with_prompt("p"));
    let line = server.log.reloaded_after(mark);
    assert!(line.contains("no list changed"), "{line}");
    client.assert_silent();
}

#[test]
fn a_session_keeps_what_it_negotiated_and_a_new_one_sees_the_new_kind() {
    SESSIONS.iter().for_each(|version| keeps_what_it_negotiated(version));
}

fn keeps_what_it_negotiated(version: &str) {
    let folder = Folder::of(&with_prompt("p"));
    let server = folder.http();
    let before = server.session(version);
    let _stream = before.open_stream();
    let mark = server.log.mark();
    let tools = "tools:\n  t: { description: T, result: { text: x } }\n";
    folder.write("folio.yaml", format!("{}{tools}", with_prompt("p")));
    assert!(server.log.reloaded_after(mark).ends_with(": +t"));
    assert_eq!(before.code("tools/list", json!({})), -32601);
    before.assert_silent();
    let after = server.session(version);
    assert_eq!(after.names("tools"), ["t"]);
    assert_eq!(server.modern().names("tools"), ["t"]);
    let mark = server.log.mark();
    folder.write("folio.yaml", format!("folio: 1\nserver: {{ name: s }}\n{tools}"));
    server.log.reloaded_after(mark);
    assert_eq!(before.names("prompts"), Vec::<String>::new(), "what was negotiated is answered, empty as it may be");
    before.wait_for("notifications/prompts/list_changed");
    assert_eq!(server.modern().code("prompts/list", json!({})), -32601);
}

#[test]
fn a_request_under_way_ends_on_the_catalog_that_it_began_with() {
    SESSIONS.iter().chain([&MODERN]).for_each(|version| ends_on_its_catalog(version));
}

fn ends_on_its_catalog(version: &str) {
    let gate = |answer: &str| {
        format!(
            "folio: 1\nserver: {{ name: s }}\ntools:\n  t:\n    description: {answer}\n    run: {{ exec: [sh, -c, \"touch began; while ! [ -e gate ]; do sleep 0.02; done\"] }}\n    result: {{ text: {answer} }}\n"
        )
    };
    let folder = Folder::of(&gate("old"));
    let server = folder.stdio();
    let client = server.client(version);
    let id = client.send("tools/call", json!({ "name": "t" }));
    eventually("the call", || folder.at("began").exists());
    let mark = server.log.mark();
    folder.write("folio.yaml", gate("new"));
    server.log.reloaded_after(mark);
    assert_eq!(client.list("tools")[0]["description"], "new");
    folder.write("gate", "");
    assert_eq!(text_of(&client.answer(id)["result"]["content"][0]), "old");
    assert_eq!(client.call_text("t", json!({})), "new");
}

#[test]
fn word_of_a_change_before_the_client_is_ready_waits_until_it_is() {
    for version in SESSIONS {
        let folder = Folder::of(&with_prompt("p"));
        let server = folder.stdio();
        let client = server.unready(version);
        let mark = server.log.mark();
        folder.write("folio.yaml", with_prompt("q"));
        server.log.reloaded_after(mark);
        client.assert_silent();
        client.notify("notifications/initialized", json!({}));
        client.wait_for("notifications/prompts/list_changed");
        client.assert_silent();
    }
}

#[test]
fn a_cursor_of_an_older_list_goes_on_only_if_the_list_is_the_same() {
    let list = |names: &[&str]| {
        let prompts: String = names.iter().map(|name| format!("  {name}: {{ text: Hi }}\n")).collect();
        format!("folio: 1\nserver: {{ name: s, pageSize: 2 }}\nprompts:\n{prompts}")
    };
    let folder = Folder::of(&list(&["a", "b", "c"]));
    let server = folder.stdio();
    let client = server.modern();
    let cursor = client.result("prompts/list", json!({}))["nextCursor"].clone();
    let mark = server.log.mark();
    folder.write("folio.yaml", list(&["a", "b", "c"]).replace("Hi", "Hello"));
    server.log.reloaded_after(mark);
    let page = client.result("prompts/list", json!({ "cursor": cursor }));
    assert_eq!(page["prompts"][0]["name"], "c");
    let mark = server.log.mark();
    folder.write("folio.yaml", list(&["0", "a", "b", "c"]));
    server.log.reloaded_after(mark);
    assert_eq!(client.code("prompts/list", json!({ "cursor": cursor })), -32602);
}

#[test]
fn pitfall_5_3_a_peer_that_does_not_read_delays_nobody() {
    let folder = Folder::of(&with_prompt("p0"));
    let server = folder.http();
    let deaf = SESSIONS.map(|version| server.session(version));
    // Their streams are open, and nobody reads from them.
    let sockets: Vec<Response> = deaf
        .iter()
        .map(|client| {
            server.web().send("GET", &[("Accept", "text/event-stream"), ("Mcp-Session-Id", client.session_id())], b"")
        })
        .collect();
    let client = server.session("2025-11-25");
    let _stream = client.open_stream();
    let modern = server.modern();
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
        let folder = Folder::of(&with_prompt("old"));
        let server = folder.stdio();
        if round > 0 {
            // Somewhere in the middle of the start, each time elsewhere.
            std::thread::sleep(std::time::Duration::from_millis(round * 3));
        }
        folder.rename_over("folio.yaml", with_prompt("new"));
        let client = server.modern();
        eventually("the new prompt", || client.names("prompts") == ["new"]);
    }
}

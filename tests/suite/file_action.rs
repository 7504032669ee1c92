//! `file`: what it reads, lists and changes, and what it refuses at load.

use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::*;

/// A tool for each operation, in the folder `notes`, which may be written.
const MANIFEST: &str = r#"
folio: 1
server: { name: files, limits: { callsPerSecond: 1000000 } }
folders:
  notes: { path: notes, write: true }
  open: { path: notes, write: true, hidden: true }
x-path: &path { path: {}, to: {}, text: {}, n: { type: integer }, yes: { type: boolean }, list: { type: array } }
tools:
  read: { description: D, arguments: *path, run: { file: { read: "{{path}}", in: notes } } }
  readOpen: { description: D, arguments: *path, run: { file: { read: "{{path}}", in: open } } }
  readPart: { description: D, arguments: *path, run: { file: { read: "sub/{{path}}.md", in: notes } } }
  head: { description: D, arguments: *path, run: { file: { read: "{{path}}", in: notes, head: "{{n}}" } } }
  tail: { description: D, arguments: *path, run: { file: { read: "{{path}}", in: notes, tail: "{{n}}" } } }
  write: { description: D, arguments: *path, run: { file: { write: "{{path}}", in: notes, text: "{{text}}" } } }
  create: { description: D, arguments: *path, run: { file: { write: "{{path}}", in: notes, text: "{{text}}", create: only } } }
  writeBytes: { description: D, arguments: *path, run: { file: { write: "{{path}}", in: notes, base64: "{{text}}" } } }
  append: { description: D, arguments: *path, run: { file: { append: "{{path}}", in: notes, text: "{{text}}" } } }
  edit: { description: D, arguments: *path, run: { file: { write: "{{path}}", in: notes, edits: "{{list}}", dryRun: "{{yes}}" } } }
  replace: { description: D, arguments: *path, run: { file: { write: "{{path}}", in: notes, edits: [{ old: "{{text}}", new: "{{to}}" }] } } }
  list: { description: D, arguments: *path, run: { file: { list: "{{path}}", in: notes, recursive: "{{yes}}", limit: "{{n}}" } } }
  tree: { description: D, arguments: *path, run: { file: { tree: "{{path}}", in: notes } } }
  find: { description: D, arguments: *path, run: { file: { find: "{{path}}", in: notes, glob: "{{text}}", exclude: "{{list}}" } } }
  findWithout: { description: D, arguments: *path, run: { file: { find: "{{path}}", in: notes, exclude: "{{list}}" } } }
  listWithout: { description: D, arguments: *path, run: { file: { list: "{{path}}", in: notes, recursive: "{{yes}}", exclude: "{{list}}" } } }
  treeWithout: { description: D, arguments: *path, run: { file: { tree: "{{path}}", in: notes, exclude: "{{list}}" } } }
  quote: { description: D, arguments: *path, run: [{ id: r, file: { read: "{{path}}", in: notes } }], result: { text: "{{steps.r.path}}: {{steps.r.text}}" } }
  findOpen: { description: D, arguments: *path, run: { file: { find: "{{path}}", in: open } } }
  stat: { description: D, arguments: *path, run: { file: { stat: "{{path}}", in: notes } } }
  copy: { description: D, arguments: *path, run: { file: { copy: "{{path}}", to: "{{to}}", in: notes } } }
  move: { description: D, arguments: *path, run: { file: { move: "{{path}}", to: "{{to}}", in: notes, create: only } } }
  moveOver: { description: D, arguments: *path, run: { file: { move: "{{path}}", to: "{{to}}", in: notes } } }
  remove: { description: D, arguments: *path, run: { file: { remove: "{{path}}", in: notes, recursive: "{{yes}}" } } }
  makeDir: { description: D, arguments: *path, run: { file: { makeDir: "{{path}}", in: notes } } }
"#;

fn notes() -> TestFolder {
    TestFolder::new(&[
        ("folio.yaml", MANIFEST),
        ("notes/a.md", "one\ntwo\nthree\n"),
        ("notes/sub/b.md", "b"),
        ("notes/sub/deep/c.txt", "c"),
        ("notes/.hidden", "h"),
        ("outside.txt", "theirs"),
    ])
}

/// The text of a result, or the error.
fn called(client: &TestClient, tool: &str, arguments: Value) -> Result<Value, String> {
    let result = client.call(tool, arguments);
    match result["isError"] == true {
        true => Err(text_of(&result["content"][0])),
        false => Ok(result),
    }
}

fn text(client: &TestClient, tool: &str, arguments: Value) -> Result<String, String> {
    let text = |result: Value| result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    called(client, tool, arguments).map(text)
}

fn entries(client: &TestClient, tool: &str, arguments: Value) -> Vec<String> {
    let result = called(client, tool, arguments).unwrap();
    let entries: Vec<Value> = serde_json::from_str(&text_of(&result["content"][0])).unwrap();
    entries.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
}

fn read(folder: &TestFolder, path: &str) -> String {
    fs::read_to_string(folder.join(path)).unwrap()
}

#[test]
fn read_gives_text_lines_and_bytes() {
    let folder = notes();
    folder.write("notes/bytes.png", [0x89, b'P', b'N', b'G', 0xff, 0]);
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let all = "one\ntwo\nthree\n";
    let absolute = folder.join("notes/a.md");
    for path in ["a.md", "./a.md", "a.md/", "//a.md".trim_start_matches('/'), absolute.to_str().unwrap()] {
        assert_eq!(text(&client, "read", json!({ "path": path })).as_deref(), Ok(all), "{path}");
    }
    let uri = format!("file://{}", absolute.display());
    assert_eq!(text(&client, "read", json!({ "path": uri })).as_deref(), Ok(all));
    assert_eq!(text(&client, "readPart", json!({ "path": "b" })).as_deref(), Ok("b"));
    for (tool, n, expected) in
        [("head", 0, ""), ("head", 2, "one\ntwo\n"), ("head", 9, all), ("tail", 1, "three\n"), ("tail", 9, all)]
    {
        assert_eq!(text(&client, tool, json!({ "path": "a.md", "n": n })).unwrap_or_default(), expected, "{tool} {n}");
    }
    let image = called(&client, "read", json!({ "path": "bytes.png" })).unwrap();
    assert_eq!(image["content"][0]["type"], "image", "{image}");
    assert_eq!(image["content"][0]["mimeType"], "image/png");
    assert_eq!(text(&client, "readOpen", json!({ "path": ".hidden" })).as_deref(), Ok("h"));
    let refused = text(&client, "read", json!({ "path": ".hidden" })).unwrap_err();
    assert!(refused.contains("hidden file"), "{refused}");
}

#[test]
fn exclude_leaves_out_a_folder_with_all_in_it() {
    let folder = notes();
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let found = |tool: &str, exclude: &[&str]| {
        entries(&client, tool, json!({ "path": ".", "yes": true, "list": exclude })).join(" ")
    };
    for tool in ["findWithout", "listWithout"] {
        assert_eq!(found(tool, &["none"]), "a.md sub sub/b.md sub/deep sub/deep/c.txt", "{tool}");
        for exclude in [["sub"], ["**/sub"], ["s*"]] {
            assert_eq!(found(tool, &exclude), "a.md", "{tool} {exclude:?}");
        }
        assert_eq!(found(tool, &["sub/"]), "a.md sub", "{tool}");
        assert_eq!(found(tool, &["**/deep", "*.md"]), "sub sub/b.md", "{tool}");
    }
    assert_eq!(found("treeWithout", &["sub"]), "a.md");
    assert!(!text(&client, "treeWithout", json!({ "path": ".", "list": ["sub/deep"] })).unwrap().contains("c.txt"));
}

#[test]
fn exclude_of_a_root_that_matches_nothing_is_reported() {
    let manifest = |exclude: &str| {
        format!(
            "folio: 1\nserver: {{ name: s }}\nresources:\n  d: {{ uri: 'd://{{+path}}', root: docs, exclude: {exclude} }}\n"
        )
    };
    let folder = TestFolder::new(&[("docs/a.md", "a"), ("docs/old/b.md", "b"), ("docs/old/c/d.md", "d")]);
    folder.write("folio.yaml", manifest("[old]"));
    let server = folder.stdio();
    assert_eq!(server.client(SESSION_VERSIONS[3]).list("resources").len(), 1);
    for (exclude, unused) in
        [("[old]", None), ("['old/c', .git]", None), ("[old, gone]", Some("gone")), ("['*.txt']", Some("*.txt"))]
    {
        folder.write("folio.yaml", manifest(exclude));
        let ran = run_folio(folder.path(), &["check"]);
        let report = format!("{}{}", ran.out, ran.err);
        let warning = unused.map(|unused| format!("exclude `{unused}` matches no files of this `root`"));
        assert!(warning.iter().all(|warning| report.contains(warning)), "{exclude}: {report}");
        assert_eq!(report.contains("matches no files"), unused.is_some(), "{exclude}: {report}");
    }
}

#[test]
fn read_has_its_path() {
    let folder = notes();
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    assert_eq!(text(&client, "quote", json!({ "path": "./sub/b.md" })).as_deref(), Ok("sub/b.md: b"));
}

#[test]
fn impossible_paths_have_distinct_errors() {
    let folder = notes();
    std::os::unix::fs::symlink("circle", folder.join("notes/circle")).unwrap();
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let refused = |tool: &str, path: &str| text(&client, tool, json!({ "path": path, "text": "x" })).unwrap_err();
    let long = "n".repeat(300);
    for tool in ["read", "write"] {
        assert_eq!(refused(tool, &long), format!("name too long: `{}…`", "n".repeat(60)), "{tool}");
    }
    assert_eq!(refused("read", "circle"), "too many links on the way to `circle`");
    assert_eq!(refused("read", "/etc/passwd"), "the path `/etc/passwd` is outside of the folder `notes`");
}

#[test]
fn operations_have_their_own_fields() {
    for (operation, field, is_there) in [
        ("read: a.md", "path", true),
        ("read: a.md", "entries", false),
        ("list: .", "entries", true),
        ("list: .", "text", false),
        ("write: a.md, text: x", "diff", false),
        ("write: a.md, edits: [{ old: a, new: b }]", "diff", true),
        ("stat: a.md", "mode", true),
        ("remove: a.md", "size", false),
    ] {
        let folder = TestFolder::with_manifest(&format!(
            "folio: 1\nserver: {{ name: s }}\nfolders: {{ n: {{ path: ., write: true }} }}\ntools:\n  t: {{ description: D, \
             run: [{{ id: a, file: {{ {operation}, in: n }} }}], result: {{ text: '{{{{steps.a.{field}}}}}' }} }}\n"
        ));
        let ran = run_folio(folder.path(), &["check"]);
        let report = format!("{}{}", ran.out, ran.err);
        assert_eq!(!report.contains(&format!("unknown field `{field}`")), is_there, "{operation} {field}: {report}");
    }
}

#[test]
fn list_has_at_most_ten_thousand_entries() {
    let folder = notes();
    for number in 0..10_100 {
        folder.write(&format!("notes/many/{number}"), "");
    }
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let listed = entries(&client, "list", json!({ "path": "many", "n": 1_000_000_000, "yes": true }));
    assert_eq!(listed.len(), 10_000);
}

#[test]
fn writes_replace_whole_files_and_keep_permissions() {
    let folder = notes();
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    fs::set_permissions(folder.join("notes/a.md"), fs::Permissions::from_mode(0o640)).unwrap();
    called(&client, "write", json!({ "path": "a.md", "text": "new" })).unwrap();
    assert_eq!(read(&folder, "notes/a.md"), "new");
    assert_eq!(fs::metadata(folder.join("notes/a.md")).unwrap().permissions().mode() & 0o777, 0o640);
    called(&client, "append", json!({ "path": "a.md", "text": " end" })).unwrap();
    called(&client, "append", json!({ "path": "log.md", "text": "first" })).unwrap();
    assert_eq!((read(&folder, "notes/a.md").as_str(), read(&folder, "notes/log.md").as_str()), ("new end", "first"));
    called(&client, "writeBytes", json!({ "path": "bytes", "text": "AP8=" })).unwrap();
    assert_eq!(fs::read(folder.join("notes/bytes")).unwrap(), [0, 255]);
    assert!(text(&client, "writeBytes", json!({ "path": "bytes", "text": "?" })).unwrap_err().contains("base64"));
    assert_eq!(text(&client, "create", json!({ "path": "a.md", "text": "x" })).unwrap_err(), "`a.md` already exists");
    called(&client, "create", json!({ "path": "c.md", "text": "c" })).unwrap();
    assert_eq!((read(&folder, "notes/a.md").as_str(), read(&folder, "notes/c.md").as_str()), ("new end", "c"));
    let missing = text(&client, "write", json!({ "path": "no/a.md", "text": "x" })).unwrap_err();
    assert_eq!(missing, "no such file or folder: `no`");
    assert!(text(&client, "write", json!({ "path": "sub", "text": "x" })).unwrap_err().contains("is a folder"));
}

#[test]
fn edits_give_a_diff_and_change_all_or_nothing() {
    let folder = notes();
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let edits = json!([{ "old": "two", "new": "2" }, { "oldText": "three", "newText": "3" }]);
    let diff = "--- a.md\n+++ a.md\n@@ -1,3 +1,3 @@\n one\n-two\n-three\n+2\n+3\n";
    let dry = text(&client, "edit", json!({ "path": "a.md", "list": edits, "yes": true }));
    assert_eq!((dry.as_deref(), read(&folder, "notes/a.md").as_str()), (Ok(diff), "one\ntwo\nthree\n"));
    assert_eq!(text(&client, "edit", json!({ "path": "a.md", "list": edits })).as_deref(), Ok(diff));
    assert_eq!(read(&folder, "notes/a.md"), "one\n2\n3\n");
    let twice = json!([{ "old": "one", "new": "1" }, { "old": "gone", "new": "" }]);
    let refused = text(&client, "edit", json!({ "path": "a.md", "list": twice })).unwrap_err();
    assert_eq!(
        (refused.as_str(), read(&folder, "notes/a.md").as_str()),
        ("edit 2: `old` is not in the file", "one\n2\n3\n")
    );
    called(&client, "replace", json!({ "path": "a.md", "text": "2\n3", "to": "{{text}}" })).unwrap();
    assert_eq!(read(&folder, "notes/a.md"), "one\n{{text}}\n");
    let missing = text(&client, "edit", json!({ "path": "gone.md", "list": edits })).unwrap_err();
    assert_eq!((missing.as_str(), folder.join("notes/gone.md").exists()), ("no such file or folder: `gone.md`", false));
}

#[test]
fn changes_are_described_in_a_sentence() {
    let folder = notes();
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let absolute = fs::canonicalize(folder.join("notes")).unwrap().join("a.md");
    let absolute = absolute.to_str().unwrap();
    for (tool, arguments, sentence) in [
        ("write", json!({ "path": "new.md", "text": "Grüße" }), "created new.md with 7 bytes".to_owned()),
        ("write", json!({ "path": "./new.md", "text": "" }), "wrote 0 bytes to new.md".to_owned()),
        ("write", json!({ "path": absolute, "text": "x" }), format!("wrote 1 byte to {absolute}")),
        ("append", json!({ "path": "new.md", "text": "abc" }), "added 3 bytes to new.md".to_owned()),
        ("append", json!({ "path": "log", "text": "abc" }), "created log with 3 bytes".to_owned()),
        ("writeBytes", json!({ "path": "new.md", "text": "AP8=" }), "wrote 2 bytes to new.md".to_owned()),
        ("replace", json!({ "path": "a.md", "text": "x", "to": "x" }), "nothing to change in a.md".to_owned()),
        ("copy", json!({ "path": "a.md", "to": "sub/c.md" }), "copied a.md to sub/c.md".to_owned()),
        ("move", json!({ "path": "sub", "to": "moved" }), "moved sub to moved".to_owned()),
        ("makeDir", json!({ "path": "x/y" }), "made the folder x/y".to_owned()),
        ("makeDir", json!({ "path": "." }), "made the folder .".to_owned()),
        ("remove", json!({ "path": "x/y" }), "removed x/y".to_owned()),
        ("create", json!({ "path": "only", "text": "1" }), "created only with 1 byte".to_owned()),
    ] {
        let result = called(&client, tool, arguments.clone()).unwrap();
        assert_eq!(result["content"], json!([{ "type": "text", "text": sentence }]), "{tool} {arguments}");
        assert_eq!(result["structuredContent"], Value::Null, "{tool}");
    }
}

#[test]
fn sentence_replaces_no_body_and_no_value() {
    let manifest = r#"
folio: 1
server: { name: s }
folders: { notes: { path: notes, write: true } }
tools:
  after:
    description: D
    run: [{ set: { x: 1 }, id: made }, { file: { write: a, in: notes, text: x } }, { file: { append: a, in: notes, text: yz } }]
  before:
    description: D
    run: [{ exec: [echo, out] }, { file: { write: a, in: notes, text: x } }]
  each:
    description: D
    run: [{ each: '{{split "a,b" ","}}', file: { write: "{{this}}", in: notes, text: x } }]
  many:
    description: D
    run: [{ each: '{{split "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22" ","}}', file: { makeDir: "{{this}}", in: notes } }]
  value: { description: D, run: { file: { write: a, in: notes, text: x } }, result: { structuredContent: "{{result}}" } }
  text: { description: D, run: { file: { write: a, in: notes, text: x } }, result: { text: "done {{result.path}}" } }
"#;
    let folder = TestFolder::new(&[("folio.yaml", manifest), ("notes/a", "old")]);
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let text = |tool: &str| text(&client, tool, json!({})).unwrap();
    assert_eq!(text("before"), "out\n");
    assert_eq!(text("each"), "wrote 1 byte to a\ncreated b with 1 byte");
    assert_eq!(text("text"), "done a");
    let many = text("many");
    assert!(many.starts_with("made the folder 1\n") && many.ends_with("folder 20\nand 2 more"), "{many}");
    let value = called(&client, "value", json!({})).unwrap();
    assert_eq!(value["structuredContent"], json!({ "path": "a" }), "{value}");
    let after = text("after");
    assert_eq!(after, r#"{"x":1}"#);
}

#[test]
fn appends_at_once_lose_nothing() {
    let folder = notes();
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let calls: Vec<_> =
        (0..100).map(|n| client.start_call("append", json!({ "path": "log", "text": format!("{n}\n") }))).collect();
    let results: Vec<Value> = calls.into_iter().map(|call| client.wait_for_answer(call)).collect();
    let mut lines: Vec<usize> = read(&folder, "notes/log").lines().map(|line| line.parse().unwrap()).collect();
    lines.sort_unstable();
    let failed: Vec<_> = results.iter().filter(|result| result["result"]["isError"] != false).collect();
    assert_eq!((lines, failed.len()), ((0..100).collect(), 0), "{failed:?}");
}

#[test]
fn lists_trees_and_finds_are_sorted_and_bounded() {
    let folder = notes();
    std::os::unix::fs::symlink("../outside.txt", folder.join("notes/leads-out")).unwrap();
    std::os::unix::fs::symlink("sub", folder.join("notes/to-sub")).unwrap();
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    assert_eq!(entries(&client, "list", json!({})), ["a.md", "leads-out", "sub", "to-sub"]);
    assert_eq!(entries(&client, "list", json!({ "path": "sub/" })), ["sub/b.md", "sub/deep"]);
    let all = ["a.md", "leads-out", "sub", "sub/b.md", "sub/deep", "sub/deep/c.txt", "to-sub"];
    assert_eq!(entries(&client, "list", json!({ "yes": true })), all);
    let cut = called(&client, "list", json!({ "yes": true, "n": 2 })).unwrap();
    assert_eq!(text_of(&cut["content"][1]), "[cut: there are more than 2 entries]", "{cut}");
    assert_eq!(entries(&client, "find", json!({ "text": "**/*.md" })), ["a.md", "sub/b.md"]);
    assert_eq!(entries(&client, "find", json!({ "text": "*.md" })), ["a.md"]);
    assert_eq!(entries(&client, "find", json!({ "list": ["sub/**", "*-*"] })), ["a.md", "sub"]);
    assert!(entries(&client, "findOpen", json!({})).contains(&".hidden".to_owned()));
    let absolute = folder.join("notes/sub");
    let found = entries(&client, "find", json!({ "path": absolute, "text": "*.md" }));
    assert_eq!(found, [fs::canonicalize(absolute.join("b.md")).unwrap().to_str().unwrap()]);
    let tree = text(&client, "tree", json!({})).unwrap();
    let tree: Value = serde_json::from_str(&tree).unwrap();
    assert_eq!(tree[2]["entries"][1]["entries"][0]["name"], "c.txt", "{tree}");
    assert_eq!((&tree[1]["type"], &tree[3]["type"]), (&json!("link"), &json!("directory")), "{tree}");
    let invalid = text(&client, "find", json!({ "text": "[" })).unwrap_err();
    assert!(invalid.starts_with("invalid `glob`"), "{invalid}");
}

#[test]
fn stat_copy_move_remove_and_make_dir() {
    let folder = notes();
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let stat = called(&client, "stat", json!({ "path": "a.md" })).unwrap()["structuredContent"].clone();
    assert_eq!((&stat["type"], &stat["size"], &stat["path"]), (&json!("file"), &json!(14), &json!("a.md")), "{stat}");
    assert_eq!(stat["folders"], json!([fs::canonicalize(folder.join("notes")).unwrap()]));
    let call = |tool: &str, path: &str, to: &str| text(&client, tool, json!({ "path": path, "to": to })).err();
    assert_eq!(call("makeDir", "x/y/z", ""), None);
    assert_eq!(call("makeDir", "x/y", ""), None);
    assert_eq!(call("copy", "a.md", "x/y/a.md"), None);
    assert_eq!(read(&folder, "notes/x/y/a.md"), read(&folder, "notes/a.md"));
    assert_eq!(call("move", "a.md", "sub/b.md"), Some("`sub/b.md` already exists".to_owned()));
    assert_eq!(call("moveOver", "a.md", "sub/b.md"), None);
    assert_eq!(
        (read(&folder, "notes/sub/b.md").as_str(), folder.join("notes/a.md").exists()),
        ("one\ntwo\nthree\n", false)
    );
    assert_eq!(call("move", "sub", "moved"), None);
    assert_eq!(call("remove", "moved/b.md", ""), None);
    assert!(call("remove", "moved", "").unwrap().contains("not empty"));
    assert!(call("move", "x", "x/y/z/x").is_some());
    called(&client, "remove", json!({ "path": "moved", "yes": true })).unwrap();
    assert!(!folder.join("notes/moved").exists());
    for path in ["", ".", folder.join("notes").to_str().unwrap()] {
        assert!(text(&client, "remove", json!({ "path": path, "yes": true })).is_err(), "{path}");
    }
    assert_eq!(read(&folder, "outside.txt"), "theirs");
}

/// The diagnostics of a manifest, as lines.
fn check(files: &[(&str, &str)]) -> String {
    let folder = TestFolder::new(files);
    folder.write("notes/a.md", "a");
    run_folio(Path::new("/"), &["check", folder.path().to_str().unwrap(), "--format", "lines"]).out
}

fn checked(folders: &str, file: &str) -> String {
    check(&[(
        "folio.yaml",
        &format!(
            "folio: 1\nserver: {{ name: s }}\nenv: {{ D: {{}} }}\nfolders: {{ {folders} }}\ntools:\n  t: {{ description: D, arguments: {{ p: {{}} }}, run: {{ file: {{ {file} }} }} }}\n"
        ),
    )])
}

#[test]
fn unknown_folder_lists_the_folders() {
    let two = "folders: { notes: notes, drafts: notes }";
    for (folders, name, help) in [
        (two, "note", "help: did you mean `notes`? expected one of `notes`, `drafts`\n"),
        (two, "zz", "help: expected one of `notes`, `drafts`\n"),
        ("", "notes", "help: write `folders: { notes: { path: notes } }` at the top level\n"),
    ] {
        let manifest = format!(
            "folio: 1\nserver: {{ name: s }}\n{folders}\ntools:\n  t: {{ description: D, run: {{ file: {{ read: a.md, in: {name} }} }} }}\n"
        );
        let folder = TestFolder::new(&[("folio.yaml", &manifest), ("notes/a.md", "a")]);
        let ran = run_folio(Path::new("/"), &["check", folder.path().to_str().unwrap()]);
        assert!(ran.out.contains(help), "{name}: {}", ran.out);
    }
}

#[test]
fn errors_of_files_are_reported_at_load() {
    let notes = "n: { path: notes, write: true }";
    for (folders, file, message) in [
        (notes, "read: a.md", "missing key `in` in `file`"),
        (notes, "in: n", "missing operation in `file`"),
        (notes, "read: a, write: b, in: n", "multiple operations `read` and `write`"),
        (notes, "read: a, in: m", "unknown folder `m`"),
        (notes, "read: a, in: n, text: x", "unexpected key `text` beside `read`"),
        (notes, "read: ../a, in: n", "path `../a` contains `..`"),
        (notes, "read: a, in: n, head: x", "invalid `head`, expected a number"),
        (notes, "read: a, in: n, head: 1, tail: 1", "`tail` cannot be used with `head`"),
        (notes, "write: a, in: n", "expected exactly one of `text`, `base64`, `edits`"),
        (notes, "write: a, in: n, text: a, base64: b", "expected exactly one of `text`, `base64`, `edits`"),
        (notes, "write: a, in: n, edits: x", "invalid `edits`"),
        (notes, "write: a, in: n, edits: [{ old: x }]", "invalid `edits`"),
        (notes, "write: a, in: n, edits: [{ old: x, new: y }], create: only", "`create` cannot be used with `edits`"),
        (notes, "write: a, in: n, text: x, dryRun: true", "`dryRun` cannot be used with `text`"),
        (notes, "write: a, in: n, text: x, create: always", "invalid value `always`, expected one of `only`"),
        (notes, "copy: a, in: n", "missing key `to` beside `copy`"),
        (notes, "remove: a, in: n, recursive: maybe", "invalid `recursive`, expected true or false"),
        (notes, "find: a, in: n, glob: '['", "glob"),
        (notes, "read: '{{q}}', in: n", "`q`"),
        (notes, "read: '.x{{p}}', in: n", "must not start with `.`"),
        ("n: notes", "write: a, in: n, text: x", "folder `n` is only read: `write` changes it"),
        ("n: gone", "read: a, in: n", "no such file or folder: `gone`"),
        ("n: notes/a.md", "read: a, in: n", "`notes/a.md` is not a folder"),
        ("n: ../x", "read: a, in: n", "escapes the pack folder"),
        ("n: '{{p}}'", "read: a, in: n", "`p`"),
        ("n: '{{env.D}}/x'", "read: a, in: n", "invalid folder"),
        ("n: { write: true }", "read: a, in: n", "expected exactly one of `path` and `roots` in folder `n`"),
        ("n: { path: notes, roots: client }", "read: a, in: n", "expected exactly one of `path` and `roots`"),
        ("n: { path: notes, else: notes }", "read: a, in: n", "expected exactly one of `path` and `roots`"),
        ("n: { roots: server }", "read: a, in: n", "invalid value `server`"),
        ("n: notes, m: notes", "read: a, in: n", "folder `m` is never used"),
        ("n: '{{env.D}}'", "read: a, in: n", "variable `D` is not set, so there is no folder `n`"),
    ] {
        let report = checked(folders, file);
        assert!(report.contains(message), "{folders} / {file}: {report}");
    }
    assert_eq!(checked(notes, "write: '{{p}}', in: n, edits: '{{p}}', dryRun: true"), "");
}

#[test]
fn pack_needs_grant_to_write_and_to_read_outside() {
    let pack = r#"
folio: 1
server: { name: p }
env: { D: {} }
folders: { n: { path: notes, write: true }, o: "{{env.D}}", c: { roots: client } }
tools:
  read: { description: D, run: { file: { read: a.md, in: n } } }
  write: { description: D, run: { file: { write: a.md, in: n, text: x } } }
  out: { description: D, run: { file: { read: a.md, in: o } } }
  roots: { description: D, run: { file: { read: a.md, in: c } } }
"#;
    for (allow, expected) in [("", vec!["p-read"]), (", allow: [files]", vec!["p-read", "p-write", "p-out", "p-roots"])]
    {
        let manifest = format!(
            "folio: 1\nserver: {{ name: s }}\nenv: {{ D: {{}} }}\npacks: {{ p: {{ path: p{allow}, env: {{ D: \"{{{{env.D}}}}\" }} }} }}\n"
        );
        let folder = TestFolder::new(&[("folio.yaml", &manifest), ("p/folio.yaml", pack), ("p/notes/a.md", "a")]);
        folder.write("elsewhere/a.md", "elsewhere");
        let server = folder.serve_command().env("D", folder.join("elsewhere").to_str().unwrap()).stdio();
        let client = server.client(SESSION_VERSIONS[3]);
        let names: Vec<String> =
            client.list("tools").iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(names, expected);
        assert_eq!(text(&client, "p-read", json!({})).as_deref(), Ok("a"));
        if expected.len() > 1 {
            assert_eq!(text(&client, "p-out", json!({})).as_deref(), Ok("elsewhere"));
        }
    }
}

#[test]
fn roots_of_the_client_are_folders() {
    let manifest = r#"
folio: 1
server: { name: s }
env: { DIRS: {} }
folders: { allowed: { roots: client, else: "{{env.DIRS}}", write: true } }
tools:
  read: { description: D, arguments: { path: {} }, run: { file: { read: "{{path}}", in: allowed } } }
  copy:
    description: D
    arguments: { path: {}, to: {} }
    run:
      - { id: old, file: { read: "{{path}}", in: allowed } }
      - { file: { write: "{{to}}", in: allowed, text: "{{steps.old.text}}!" } }
      - { id: new, file: { stat: "{{to}}", in: allowed } }
    result: { text: "{{steps.new.path}} {{steps.new.size}} {{len steps.new.folders}}" }
"#;
    let folder = TestFolder::new(&[("folio.yaml", manifest), ("one/a", "one"), ("two/a", "two"), ("three/a", "three")]);
    let real = fs::canonicalize(folder.path()).unwrap();
    let at = |path: &str| real.join(path).to_str().unwrap().to_owned();
    let roots =
        json!({ "roots": [{ "uri": format!("file://{}", at("one")) }, { "uri": format!("file://{}", at("two")) }] });
    on_every_version_and_wire(&folder, &json!({ "roots": {} }), |client| {
        let answer = |_: &str, _: &Value| roots.clone();
        let call = |tool: &str, arguments: Value| {
            let result = client.call_with_answers(tool, arguments, answer);
            (result["isError"] == true, text_of(&result["content"][0]))
        };
        assert_eq!(call("read", json!({ "path": "a" })), (false, "one".to_owned()));
        assert_eq!(call("read", json!({ "path": at("two/a") })), (false, "two".to_owned()));
        assert!(call("read", json!({ "path": at("three/a") })).0);
        assert!(call("read", json!({ "path": at("folio.yaml") })).0);
        assert_eq!(call("copy", json!({ "path": "a", "to": at("two/b") })), (false, format!("{} 4 2", at("two/b"))));
    });
    let dirs = format!("{}:{}", at("three"), at("gone"));
    let server = folder.serve_command().env("DIRS", &dirs).stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    assert_eq!(text(&client, "read", json!({ "path": "a" })).as_deref(), Ok("three"));
    assert!(text(&client, "read", json!({ "path": at("one/a") })).is_err());
    let server = folder.stdio();
    let none = text(&server.client(SESSION_VERSIONS[3]), "read", json!({ "path": "a" })).unwrap_err();
    assert!(none.contains("roots"), "{none}");
}

#[test]
fn dry_run_changes_no_file() {
    let folder = notes();
    let at = folder.path().to_str().unwrap();
    let ran = run_folio(Path::new("/"), &["call", "write", "path=a.md", "text=x", "--dry-run", "-f", at]);
    assert_eq!(
        (ran.out.as_str(), read(&folder, "notes/a.md").as_str()),
        ("write \"a.md\"\n", "one\ntwo\nthree\n"),
        "{ran:?}"
    );
}

#[test]
fn link_to_hidden_folder_takes_no_new_file() {
    let manifest = r#"
folio: 1
server: { name: s }
folders: { notes: { path: notes, write: true } }
tools:
  write: { description: D, arguments: { path: {} }, run: { file: { write: "{{path}}", in: notes, text: x } } }
  make: { description: D, arguments: { path: {} }, run: { file: { makeDir: "{{path}}", in: notes } } }
  copy: { description: D, arguments: { path: {} }, run: { file: { copy: a, to: "{{path}}", in: notes } } }
  move: { description: D, arguments: { path: {} }, run: { file: { move: a, to: "{{path}}", in: notes } } }
"#;
    let folder = TestFolder::new(&[("folio.yaml", manifest), ("notes/a", "a"), ("notes/.git/config", "c")]);
    std::os::unix::fs::symlink(".git", folder.join("notes/g")).unwrap();
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for tool in ["write", "make", "copy", "move"] {
        for path in ["g/new", "g/deep/new"] {
            let refused = text(&client, tool, json!({ "path": path })).unwrap_err();
            assert!(refused.contains("names a hidden file"), "{tool} {path}: {refused}");
        }
        assert_eq!(fs::read_dir(folder.join("notes/.git")).unwrap().count(), 1, "{tool}");
    }
    assert!(text(&client, "make", json!({ "path": "deep" })).is_ok());
}

const KEY: &str = "Zq7Xk2Pw9LmB4vTs";

/// Tools that show what they can of files with a secret.
const WITH_KEY: &str = r#"
folio: 1
server: { name: files, limits: { callsPerSecond: 1000000 } }
env: { KEY: { secret: true } }
folders: { n: { path: n, write: true } }
x-path: &path { p: {}, old: {}, new: {}, g: {}, n: { type: integer }, dry: { type: boolean } }
tools:
  edit: { description: D, arguments: *path, run: { file: { write: "{{p}}", in: n, edits: [{ old: "{{old}}", new: "{{new}}" }], dryRun: "{{dry}}" } } }
  bytes: { description: D, arguments: *path, run: { file: { read: "{{p}}", in: n, base64: true } }, result: { text: "{{slice result.base64 8 24}} {{hash result.base64}}" } }
  auto: { description: D, arguments: *path, run: { file: { read: "{{p}}", in: n } }, result: { text: "{{slice (default result.base64 result.text) 8 24}}" } }
  tail: { description: D, maxOutput: 20B, arguments: *path, run: { file: { read: "{{p}}", in: n, tail: 9 } } }
  head: { description: D, maxOutput: 12B, arguments: *path, run: { file: { read: "{{p}}", in: n, head: 9 } } }
  list: { description: D, arguments: *path, run: { file: { list: ".", in: n } }, result: { text: "{{#each result.entries}}{{slice name 0 9}} {{slice path 0 9}} {{/each}}" } }
  tree: { description: D, arguments: *path, run: { file: { tree: ".", in: n } }, result: { select: "entries[].name", text: "{{#each result}}{{slice this 0 9}} {{/each}}" } }
  stat: { description: D, arguments: *path, run: { file: { stat: "{{p}}", in: n } }, result: { text: "{{slice result.path 0 9}}" } }
  find: { description: D, arguments: *path, run: { file: { find: ".", in: n, glob: "{{g}}" } }, result: { text: "{{len result.entries}}" } }
"#;

fn with_key() -> (TestFolder, TestServer) {
    let folder = TestFolder::new(&[
        ("folio.yaml", WITH_KEY),
        ("n/c.yaml", &format!("token: {KEY}\nend\n")),
        ("n/b64.txt", &format!("token: {}\nend\n", STANDARD.encode(KEY))),
        (&format!("n/{KEY}.log"), ""),
    ]);
    folder.write("n/b.bin", [b"\xff\0bin: ", KEY.as_bytes(), b" \xfe"].concat());
    let server = folder.serve_command().env("KEY", KEY).stdio();
    (folder, server)
}

#[test]
fn edits_neither_show_nor_confirm_a_secret() {
    let (folder, server) = with_key();
    let client = server.client(SESSION_VERSIONS[3]);
    for path in ["c.yaml", "b64.txt"] {
        let before = read(&folder, &format!("n/{path}"));
        let secret = before[7..].split('\n').next().unwrap();
        let guesses = [secret, &secret[..1], &secret[3..], &before[..9], "token: A", &secret[5..8], "zzz"];
        for (old, dry) in guesses.iter().flat_map(|old| [(old, true), (old, false)]) {
            let said = called(&client, "edit", json!({ "p": path, "old": old, "new": "[x]", "dry": dry }));
            assert_eq!(said.unwrap_err(), "edit 1: `old` is not in the file", "{old}");
        }
        assert_eq!(read(&folder, &format!("n/{path}")), before);
        let diff = text(&client, "edit", json!({ "p": path, "old": "tok", "new": "T" })).unwrap();
        assert!(diff.contains("-token: [secret]") && diff.contains("+Ten: [secret]"), "{diff}");
        assert!(!diff.contains(&secret[..6]), "{diff}");
        assert_eq!(read(&folder, &format!("n/{path}")), before.replacen("tok", "T", 1));
    }
}

#[test]
fn templates_see_no_secret_of_files() {
    let (folder, server) = with_key();
    let client = server.client(SESSION_VERSIONS[3]);
    let pieces: Vec<String> = (0..4).map(|from| KEY[from..from + 6].to_owned()).collect();
    for (tool, path) in [
        ("bytes", "c.yaml"),
        ("bytes", "b.bin"),
        ("auto", "b.bin"),
        ("auto", "c.yaml"),
        ("tail", "c.yaml"),
        ("head", "c.yaml"),
        ("list", ""),
        ("tree", ""),
    ] {
        let said = text(&client, tool, json!({ "p": path })).unwrap();
        let word = said.split(' ').next().unwrap();
        let decoded = STANDARD.decode(word).unwrap_or_default();
        let all = format!("{said} {}", String::from_utf8_lossy(&decoded));
        assert!(!pieces.iter().any(|piece| all.contains(piece)), "{tool} {path}: {all}");
    }
    let digest =
        |path: &str| text(&client, "bytes", json!({ "p": path })).unwrap().split(' ').nth(1).unwrap().to_owned();
    folder.write("n/hidden.yaml", "token: [secret]\nend\n");
    assert_eq!(digest("c.yaml"), digest("hidden.yaml"), "a digest of the secret lets guesses be checked");
    let count = |glob: &str| text(&client, "find", json!({ "g": glob })).unwrap();
    for glob in ["Zq*", "*4vTs.log", "ZqA*", "[A-Z]q*"] {
        assert_eq!(count(glob), "0", "{glob}");
    }
    assert_eq!(count("*.log"), "1");
}

/// A folder with files that are `name: content`, and a client of its tools.
fn served(files: &[(&str, &str)]) -> (TestFolder, TestServer) {
    let folder = notes();
    files.iter().for_each(|(name, content)| folder.write(&format!("notes/{name}"), content));
    let server = folder.stdio();
    (folder, server)
}

#[test]
fn changed_file_keeps_owner_and_extended_attributes() {
    let (folder, server) = served(&[("kept.md", "one\n")]);
    let client = server.sessionless();
    let path = folder.join("notes/kept.md");
    let is_root = std::os::unix::fs::chown(&path, Some(65534), Some(65534)).is_ok();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    let has_attributes = rustix::fs::setxattr(&path, "user.kept", b"value", flags).is_ok();
    for (tool, arguments) in [
        ("edit", json!({ "path": "kept.md", "list": [{ "old": "one", "new": "two" }] })),
        ("append", json!({ "path": "kept.md", "text": "three\n" })),
        ("write", json!({ "path": "kept.md", "text": "four" })),
        ("copy", json!({ "path": "a.md", "to": "kept.md" })),
    ] {
        called(&client, tool, arguments).unwrap();
        let meta = fs::metadata(&path).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, 0o600, "{tool}");
        assert!(!is_root || (meta.uid(), meta.gid()) == (65534, 65534), "{tool}: {meta:?}");
        let mut value = [0; 16];
        let length = rustix::fs::getxattr(&path, "user.kept", &mut value);
        assert!(!has_attributes || length.is_ok_and(|length| &value[..length] == b"value"), "{tool}");
    }
}

#[test]
fn append_loses_no_line_of_a_program() {
    const LINES: usize = 2000;
    // The longer the file, the longer a copy of it would take.
    let (folder, server) = served(&[("log", &"before\n".repeat(500_000))]);
    let client = server.sessionless();
    let path = folder.join("notes/log");
    let program = std::thread::spawn(move || {
        for _ in 0..LINES {
            let mut log = fs::OpenOptions::new().append(true).open(&path).unwrap();
            log.write_all(b"program\n").unwrap();
        }
    });
    let mut appended = 0;
    while !program.is_finished() {
        called(&client, "append", json!({ "path": "log", "text": "folio\n" })).unwrap();
        appended += 1;
    }
    program.join().unwrap();
    let log = read(&folder, "notes/log");
    let count = |line: &str| log.lines().filter(|found| *found == line).count();
    assert_eq!((count("program"), count("folio")), (LINES, appended));
}

#[test]
fn edit_of_file_that_changes_meanwhile_is_refused() {
    let lines: String = (0..100_000).map(|line| format!("line {line} of the file\n")).collect();
    let (folder, server) = served(&[("big", &lines)]);
    let client = server.sessionless();
    let path = folder.join("notes/big");
    let is_edited = std::sync::atomic::AtomicBool::new(false);
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_edited.load(std::sync::atomic::Ordering::Relaxed) {
                fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"+").unwrap();
            }
        });
        let edits = json!([{ "old": "line 99999 of", "new": "x" }]);
        let said = text(&client, "edit", json!({ "path": "big", "list": edits }));
        is_edited.store(true, std::sync::atomic::Ordering::Relaxed);
        said
    });
    assert_eq!(said.unwrap_err(), "`big` was changed meanwhile: read it again");
    assert!(read(&folder, "notes/big").starts_with(&lines));
}

#[test]
fn move_to_another_name_of_the_file_removes_one() {
    let (folder, server) = served(&[]);
    let client = server.sessionless();
    fs::hard_link(folder.join("notes/a.md"), folder.join("notes/other.md")).unwrap();
    called(&client, "moveOver", json!({ "path": "a.md", "to": "a.md" })).unwrap();
    assert_eq!(read(&folder, "notes/a.md"), "one\ntwo\nthree\n");
    called(&client, "moveOver", json!({ "path": "a.md", "to": "other.md" })).unwrap();
    assert!(!folder.join("notes/a.md").exists());
    assert_eq!(read(&folder, "notes/other.md"), "one\ntwo\nthree\n");
}

#[test]
fn folder_is_removed_whatever_its_names_are() {
    let (folder, server) = served(&[("tree/file", ""), ("tree/sub/file", "")]);
    let client = server.sessionless();
    let odd = folder.join("notes/tree").join(std::ffi::OsStr::from_bytes(b"sub\xff"));
    fs::create_dir_all(odd.join("inner")).unwrap();
    called(&client, "remove", json!({ "path": "tree", "yes": true })).unwrap();
    assert!(!folder.join("notes/tree").exists());
    fs::create_dir_all(folder.join(&format!("notes/deep{}", "/d".repeat(140)))).unwrap();
    fs::write(folder.join("notes/deep/a"), "").unwrap();
    let refused = text(&client, "remove", json!({ "path": "deep", "yes": true })).unwrap_err();
    assert_eq!(refused, "`deep` is nested deeper than 128 folders");
    assert!(folder.join("notes/deep/a").exists());
}

#[test]
fn removal_stops_at_its_timeout_and_reports_what_is_removed() {
    let manifest = "folio: 1\nserver: { name: s }\nfolders: { notes: { path: notes, write: true } }\ntools:\n  t: { description: D, timeout: 100ms, run: { file: { remove: many, in: notes, recursive: true } } }\n";
    let folder = TestFolder::in_memory(&[("folio.yaml", manifest), ("notes/keep", "")]);
    for number in 0..200 {
        fs::create_dir_all(folder.join(&format!("notes/many/{number}"))).unwrap();
        (0..200).for_each(|file| fs::write(folder.join(&format!("notes/many/{number}/{file}")), "").unwrap());
    }
    let server = folder.serve_command().flag("--no-watch").stdio();
    let result = server.sessionless().call("t", json!({}));
    assert_eq!(result["isError"], true, "{result}");
    assert!(folder.join("notes/many").exists(), "{result}");
    let left: usize = fs::read_dir(folder.join("notes/many"))
        .unwrap()
        .map(|sub| fs::read_dir(sub.unwrap().path()).unwrap().count())
        .sum();
    let said = text_of(&result["content"][0]);
    assert!(left == 40_000 || said.contains("removed before"), "{left}: {said}");
}

#[test]
fn make_dir_that_fails_leaves_no_folder() {
    let (folder, server) = served(&[]);
    let client = server.sessionless();
    let path = format!("new/inner/{}", "x".repeat(300));
    text(&client, "makeDir", json!({ "path": path })).unwrap_err();
    assert!(!folder.join("notes/new").exists());
    text(&client, "makeDir", json!({ "path": format!("sub/{}", "x".repeat(300)) })).unwrap_err();
    assert!(folder.join("notes/sub/b.md").exists());
}

#[test]
fn impossible_writes_have_errors_of_folio() {
    let (_folder, server) = served(&[]);
    let client = server.sessionless();
    let into = text(&client, "moveOver", json!({ "path": "sub", "to": "sub/e" })).unwrap_err();
    assert_eq!(into, "cannot move `sub` into itself");
    let long = text(&client, "read", json!({ "path": "x/".repeat(5000) })).unwrap_err();
    assert!(long.len() < 300, "{}", long.len());
}

#[test]
fn edit_of_a_crlf_file_adds_crlf_and_counts_overlaps() {
    let (folder, server) = served(&[("crlf", "x\r\ny\r\n"), ("same", "aaa")]);
    let client = server.sessionless();
    called(&client, "edit", json!({ "path": "crlf", "list": [{ "old": "x", "new": "a\nb" }] })).unwrap();
    assert_eq!(read(&folder, "notes/crlf"), "a\r\nb\r\ny\r\n");
    let twice = text(&client, "edit", json!({ "path": "same", "list": [{ "old": "aa", "new": "b" }] })).unwrap_err();
    assert!(twice.contains("more than once"), "{twice}");
}

#[test]
fn leftovers_of_killed_writes_are_removed() {
    let (folder, server) = served(&[
        ("left/.folio-1-18a0000000000002.tmp", "x"),
        (".folio-1-18a0000000000002.tmp", "old"),
        (".folio-1-18a0000000000003.tmp", "new"),
    ]);
    let client = server.sessionless();
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let old = fs::File::options().write(true).open(folder.join("notes/.folio-1-18a0000000000002.tmp")).unwrap();
    old.set_modified(hour_ago).unwrap();
    called(&client, "write", json!({ "path": "new.md", "text": "x" })).unwrap();
    assert!(!folder.join("notes/.folio-1-18a0000000000002.tmp").exists());
    assert!(folder.join("notes/.folio-1-18a0000000000003.tmp").exists(), "it may still be written");
    called(&client, "remove", json!({ "path": "left" })).unwrap();
    assert!(!folder.join("notes/left").exists());
}

/// A template that reads a file or a resource which is not text, and what that makes: a text, or an error.
const BYTES_READ: &[(&str, &str, Result<&str, &str>)] = &[
    (
        "file: { read: latin, in: n }",
        "[{{steps.x.text}}]",
        Err("`steps.x.text` is not text: byte 4 is not UTF-8; use `steps.x.base64` for its bytes"),
    ),
    ("file: { read: latin, in: n }", "{{#if steps.x.path}}{{upper steps.x.text}}{{/if}}", Err("is not text: byte 4")),
    ("file: { read: latin, in: n }", "{{#if steps.x.text}}text{{else}}{{steps.x.base64}}{{/if}}", Ok("Y2Fm6Qo=")),
    ("file: { read: latin, in: n }", "{{default steps.x.text \"none\"}}", Ok("none")),
    (
        "file: { read: text, in: n, base64: true }",
        "{{steps.x.text}}",
        Err("`steps.x.text` is not there, as it was read as bytes"),
    ),
    ("file: { read: text, in: n }", "[{{steps.x.text}}]", Ok("[café]")),
    ("file: { read: empty, in: n }", "[{{steps.x.text}}]", Ok("[]")),
    (
        "read: docs://latin",
        "{{steps.x.text}}",
        Err("is not text: byte 4 is not UTF-8; use `steps.x.blob` for its bytes"),
    ),
    ("read: docs://text", "{{steps.x.text}}", Ok("café")),
];

#[test]
fn text_of_bytes_is_an_error_where_it_is_used() {
    let mut manifest = "folio: 1\nserver: { name: s }\nfolders: { n: { path: n } }\nresources: { docs: { uri: \"docs://{+path}\", root: n } }\ntools:\n".to_owned();
    for (at, (step, template, _)) in BYTES_READ.iter().enumerate() {
        let template = Value::from(*template);
        manifest +=
            &format!("  t{at}: {{ description: D, run: [{{ id: x, {step} }}], result: {{ text: {template} }} }}\n");
    }
    manifest += "  later: { description: D, run: [{ id: x, file: { read: latin, in: n } }, { exec: [echo, \"{{steps.x.text}}\"] }] }\n";
    manifest += "  set: { description: D, run: [{ id: x, file: { read: latin, in: n } }, { id: y, set: { t: \"{{steps.x.text}}\" } }], result: { text: \"{{steps.y.t}}\" } }\n";
    manifest +=
        "  only: { description: D, run: { file: { read: latin, in: n } }, result: { text: \"{{result.text}}\" } }\n";
    let folder = TestFolder::new(&[("folio.yaml", &manifest), ("n/text", "café"), ("n/empty", "")]);
    folder.write("n/latin", b"caf\xe9\n");
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    for (at, (step, template, expected)) in BYTES_READ.iter().enumerate() {
        let said = text(&client, &format!("t{at}"), json!({}));
        let holds = match (&said, expected) {
            (Err(said), Err(words)) => said.contains(words),
            (Ok(said), Ok(expected)) => said == expected,
            _ => false,
        };
        assert!(holds, "{step} {template}: {said:?}");
    }
    for tool in ["later", "set", "only"] {
        let said = text(&client, tool, json!({})).unwrap_err();
        assert!(said.contains(".text` is not text: byte 4 is not UTF-8"), "{tool}: {said}");
    }
}

#[test]
fn names_that_are_not_utf8_are_counted() {
    let (folder, server) = served(&[]);
    let bad = |name: &[u8]| folder.join("notes").join(std::ffi::OsStr::from_bytes(name));
    if fs::write(bad(b"x\xff.md"), "x").is_err() {
        // Not every file system has such names.
        return;
    }
    let client = server.sessionless();
    let notes = |tool: &str, arguments: Value| {
        let result = called(&client, tool, arguments).unwrap();
        let blocks = result["content"].as_array().unwrap();
        blocks.iter().skip(1).map(text_of).collect::<Vec<_>>().join("|")
    };
    let one = "[left out 1 name that is not UTF-8]";
    assert_eq!(notes("list", json!({ "path": "." })), one);
    assert_eq!(notes("tree", json!({ "path": "." })), one);
    assert_eq!(notes("find", json!({ "path": ".", "text": "**/*.md", "list": [] })), one);
    assert_eq!(notes("find", json!({ "path": ".", "text": "**/*.txt", "list": [] })), "");
    assert_eq!(notes("list", json!({ "path": "sub" })), "");
    fs::create_dir(bad(b"d\xfe")).unwrap();
    fs::write(bad(b".hidden\xfe"), "h").unwrap();
    assert_eq!(notes("find", json!({ "path": ".", "text": "**/*.txt", "list": [] })), one);
    let cut = "[cut: there are more than 1 entries]\n[left out 2 names that are not UTF-8]";
    assert_eq!(notes("list", json!({ "path": ".", "n": 1 })), cut);
}

#[test]
fn root_reports_names_that_are_not_utf8() {
    let manifest = "folio: 1\nserver: { name: s }\nresources: { docs: { uri: \"docs://{+path}\", root: docs, include: [\"**/*.md\"] } }\n";
    let folder = TestFolder::new(&[("folio.yaml", manifest), ("docs/a.md", "a")]);
    let bad = |name: &[u8]| folder.join("docs").join(std::ffi::OsStr::from_bytes(name));
    if fs::write(bad(b"x\xff.md"), "x").is_err() {
        return;
    }
    fs::write(bad(b"x\xff.txt"), "x").unwrap();
    fs::write(bad(b".\xff.md"), "x").unwrap();
    let ran = run_folio(Path::new("/"), &["check", folder.path().to_str().unwrap()]);
    assert!(ran.out.contains("left out 1 name that is not UTF-8\n --> "), "{}", ran.out);
    folder.stdio().log.wait_for_line(0, |line| line.contains("left out 1 name that is not UTF-8"));
}

const CUT_LISTS: &str = r#"folio: 1
server: { name: s }
folders: { n: n }
tools:
  list: { description: D, arguments: { max: { type: integer } }, run: { file: { list: ".", in: n, limit: "{{max}}" } } }
  tree: { description: D, arguments: { max: { type: integer } }, run: { file: { tree: ".", in: n, limit: "{{max}}" } } }
  find: { description: D, arguments: { max: { type: integer } }, run: { file: { find: ".", in: n, limit: "{{max}}" } } }
  selected: { description: D, arguments: { max: { type: integer } }, run: { file: { list: ".", in: n, limit: "{{max}}" } }, result: { select: "[].name" } }
  called: { description: D, arguments: { max: { type: integer } }, run: { tool: { name: list, arguments: { max: "{{max}}" } } } }
  each: { description: D, arguments: { max: { type: integer }, names: { type: array, default: [a] } }, run: [{ each: names, file: { list: ".", in: n, limit: "{{max}}" } }] }
  step:
    description: D
    arguments: { max: { type: integer } }
    run: [{ id: a, tool: { name: list, arguments: { max: "{{max}}" } } }]
    result: { text: "{{len steps.a.structured}} {{steps.a.text}}" }
  schema: { description: D, arguments: { max: { type: integer } }, outputSchema: { type: array }, run: { file: { list: ".", in: n, limit: "{{max}}" } } }
  own: { description: D, arguments: { max: { type: integer } }, run: { file: { list: ".", in: n, limit: "{{max}}" } }, result: { select: "[].name", structuredContent: { names: "{{result}}" } } }
"#;

#[test]
fn list_that_was_cut_has_no_structured_content_unless_promised() {
    let folder = TestFolder::new(&[("folio.yaml", CUT_LISTS), ("n/a", "1"), ("n/b", "2"), ("n/c", "3")]);
    for version in [SESSION_VERSIONS[2], SESSIONLESS_VERSION] {
        let server = folder.stdio();
        let client = server.client(version);
        let note = "[cut: there are more than 2 entries]";
        for tool in ["list", "tree", "find", "selected", "called", "each"] {
            let (cut, whole) = (client.call(tool, json!({ "max": 2 })), client.call(tool, json!({ "max": 3 })));
            assert_eq!(
                (cut.get("structuredContent"), &cut["content"][1]["text"]),
                (None, &json!(note)),
                "{tool}: {cut}"
            );
            assert_eq!(cut["content"].as_array().unwrap().len(), 2, "{cut}");
            let is_whole = whole.get("structuredContent").is_some() && whole["content"].as_array().unwrap().len() == 1;
            assert!(is_whole, "{tool}: {whole}");
        }
        for tool in ["schema", "own"] {
            let cut = client.call(tool, json!({ "max": 2 }));
            assert!(cut.get("structuredContent").is_some() && cut["content"][1]["text"] == note, "{tool}: {cut}");
        }
        let step = client.call_text("step", json!({ "max": 2 }));
        assert!(step.starts_with("2 [{") && step.ends_with(note), "{step}");
    }
}

const CUT_RESOURCES: &str = r#"folio: 1
server: { name: cut, bridge: [resources] }
folders: { n: { path: n } }
resources:
  two: { uri: "l://2", run: { file: { list: ".", in: n, limit: 2 } } }
  three: { uri: "l://3", run: { file: { list: ".", in: n, limit: 3 } } }
  names: { uri: "l://names", run: { file: { list: ".", in: n, limit: 2 } }, result: { select: "[].name" } }
  blocks: { uri: "l://blocks", run: { file: { list: ".", in: n, limit: 2 } }, result: { select: "[].name", content: [{ each: result, text: "{{this}}" }] } }
  again: { uri: "l://again", run: { read: "l://2" } }
prompts:
  p: { description: P, messages: [{ user: { resource: "l://2" } }, { user: Go. }] }
  step: { description: S, run: [{ id: a, read: "l://2" }], text: "{{steps.a.text}}" }
tools:
  read: { description: R, run: { read: "l://2" } }
  step: { description: S, run: [{ id: a, read: "l://2" }], result: { text: "{{steps.a.text}}" } }
  block: { description: B, result: { content: [{ resource: "l://2" }] } }
"#;

#[test]
fn list_that_was_cut_says_so_to_each_reader() {
    let folder = TestFolder::new(&[("folio.yaml", CUT_RESOURCES), ("n/a", "1"), ("n/b", "2"), ("n/c", "3")]);
    let note = "[cut: there are more than 2 entries]";
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let contents = |uri: &str| client.result("resources/read", json!({ "uri": uri }))["contents"].clone();
        for (uri, pieces) in [("l://2", 2), ("l://names", 2), ("l://blocks", 3), ("l://again", 2)] {
            let read = contents(uri);
            let last = json!({ "uri": uri, "mimeType": "text/plain", "text": note });
            let count = read.as_array().unwrap().len();
            assert_eq!((&read[pieces - 1], count), (&last, pieces), "{read}");
        }
        assert_eq!(contents("l://2")[0]["mimeType"], "application/json");
        assert_eq!(contents("l://3").as_array().unwrap().len(), 1);
        let bridged = client.call("read-resource", json!({ "uri": "l://2" }));
        assert_eq!(text_of(&bridged["content"][1]), note, "{bridged}");
        let prompt = client.result("prompts/get", json!({ "name": "p" }));
        assert_eq!(text_of(&prompt["messages"][1]["content"]), note, "{prompt}");
        for said in [client.get_text("step", json!({})), client.call_text("step", json!({}))] {
            assert!(said.starts_with("[{") && said.ends_with(&format!("]\n{note}")), "{said}");
        }
        for tool in ["read", "block"] {
            let called = client.call(tool, json!({}));
            assert_eq!(text_of(&called["content"][1]), note, "{tool}: {called}");
        }
    });
}

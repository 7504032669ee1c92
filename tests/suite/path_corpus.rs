//! Paths that lead elsewhere, through everything that takes a path: files, the workspace, `within`, sandboxes and `cwd`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;

use serde_json::{Value, json};

use crate::file_paths::{PATHS, fill, snapshot, swap_until, tree_of};
use crate::harness::*;

/// The tools read what a path names; each is one thing that takes a path.
const MANIFEST: &str = r#"
folio: 1
server: { name: corpus, limits: { callsPerSecond: 1000000 } }
env: { DIR: {} }
folders:
  notes: { path: notes, write: true }
  work: { path: "{{workspace}}", write: true }
  named: { path: "{{env.DIR}}", write: true }
x-read: &read { script: { shell: sh, text: 'if [ -f "$path" ]; then cat -- "$path"; else exit 9; fi' } }
x-held: &held
  script: { shell: sh, text: 'if [ -f "$path" ]; then cat -- "$path"; else exit 9; fi' }
  cwd: "{{workspace}}"
  sandbox: {}
tools:
  readNotes: { description: D, arguments: { path: {} }, run: { file: { read: "{{path}}", in: notes } } }
  readWork: { description: D, arguments: { path: {} }, run: { file: { read: "{{path}}", in: work } } }
  readNamed: { description: D, arguments: { path: {} }, run: { file: { read: "{{path}}", in: named } } }
  withinWork: { description: D, arguments: { path: { within: "{{workspace}}" } }, run: *read }
  withinNamed: { description: D, arguments: { path: { within: "{{env.DIR}}" } }, run: *read }
  withinRoots: { description: D, arguments: { path: { within: roots } }, run: *read }
  held: { description: D, arguments: { path: {} }, run: *held }
  cwd: { description: D, arguments: { path: { within: "{{workspace}}", required: true } }, run: { exec: [pwd, -P], cwd: "{{path}}" } }
  writeWork: { description: D, arguments: { path: {} }, run: { file: { write: "{{path}}", in: work, text: mine } } }
  writeNamed: { description: D, arguments: { path: {} }, run: { file: { append: "{{path}}", in: named, text: mine } } }
resources:
  notes: { uri: "notes://{+path}", root: notes, description: D }
  work: { uri: "work://{+path}", root: "{{workspace}}", description: D }
"#;

/// The tools that read beneath a folder and take a path in each of its forms.
const READING: &[&str] = &["readNotes", "readWork", "readNamed", "withinWork", "withinNamed"];

fn serve(folder: &TestFolder, workspace: &Path) -> TestServer {
    let command = folder.serve_command().flag("--no-watch").flag(&format!("--workspace={}", workspace.display()));
    command.env("DIR", workspace.to_str().unwrap()).stdio()
}

/// A client whose roots are this folder, which it was asked for, and which it would tell of a change.
fn client_with_root(server: &TestServer, root: &Path) -> TestClient {
    let client = server.client_with("2025-11-25", json!({ "roots": { "listChanged": true } }));
    let answer = |_: &str, _: &Value| json!({ "roots": [{ "uri": format!("file://{}", root.display()) }] });
    let first = client.call_with_answers("withinRoots", json!({ "path": root.join("a.md") }), answer);
    assert_eq!(text_of(&first["content"][0]), "a");
    client
}

/// The answers of a tool to every path.
fn call_each(client: &TestClient, tool: &str, paths: &[String]) -> Vec<Value> {
    let call = |path: &String| ("tools/call", json!({ "name": tool, "arguments": { "path": path } }));
    client.request_all(paths.iter().map(call))
}

fn leaks(answer: &Value) -> bool {
    answer.to_string().contains("SECRET")
}

#[test]
fn no_path_leads_out_of_anything() {
    let folder = tree_of(MANIFEST);
    let root = fs::canonicalize(folder.path()).unwrap();
    let notes = root.join("notes");
    let distinct: BTreeSet<&str> = PATHS.iter().map(|(path, _)| *path).collect();
    assert!(distinct.len() == PATHS.len() && PATHS.len() >= 150, "{} of {}", distinct.len(), PATHS.len());
    let paths: Vec<String> = PATHS.iter().map(|(path, _)| fill(path, root.to_str().unwrap())).collect();
    let server = serve(&folder, &root.join("linked"));
    let client = client_with_root(&server, &notes);
    let before = snapshot(&root);
    let mut wrong = Vec::new();
    for tool in READING.iter().chain(&["withinRoots", "held", "cwd"]) {
        for ((path, readable), answer) in PATHS.iter().zip(call_each(&client, tool, &paths)) {
            let result = &answer["result"];
            let is_refused = result["isError"] != false && READING.contains(tool) && *readable;
            let runs_in = text_of(&result["content"][0]);
            let is_inside = Path::new(runs_in.strip_suffix('\n').unwrap_or_default()).starts_with(&notes);
            let runs_elsewhere = *tool == "cwd" && result["isError"] == false && !is_inside;
            if leaks(&answer) || is_refused || runs_elsewhere {
                wrong.push(format!("{tool} {path:?}: {answer}"));
            }
        }
    }
    for scheme in ["notes", "work"] {
        let read = |path: &String| ("resources/read", json!({ "uri": format!("{scheme}://{path}") }));
        let answers = client.request_all(paths.iter().map(read));
        let told = answers.iter().zip(&paths).filter(|(answer, _)| leaks(answer));
        wrong.extend(told.map(|(answer, path)| format!("{scheme} {path:?}: {answer}")));
    }
    for tool in ["writeWork", "writeNamed"] {
        let answers = call_each(&client, tool, &paths);
        wrong.extend(answers.iter().filter(|answer| leaks(answer)).map(|answer| format!("{tool}: {answer}")));
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(snapshot(&root), before);
}

#[test]
fn folders_that_are_swapped_lead_nowhere() {
    let folder = tree_of(MANIFEST);
    let root = fs::canonicalize(folder.path()).unwrap();
    let notes = root.join("notes");
    fs::create_dir(notes.join("d")).unwrap();
    let server = serve(&folder, &notes);
    let client = server.client(SESSION_VERSIONS[3]);
    let (before, stop) = (snapshot(&root), AtomicBool::new(false));
    let call = |tool: &str, path: &str| ("tools/call", json!({ "name": tool, "arguments": { "path": path } }));
    let swapped = thread::scope(|scope| {
        let swapping = scope.spawn(|| swap_until(&notes, &stop));
        let running = StopOnDrop(&stop);
        for _ in 0..10 {
            for tool in ["readNotes", "readWork", "held", "writeWork", "writeNamed"] {
                for path in ["d/secret", "f"] {
                    let answers = client.request_all((0..16).map(|_| call(tool, path)));
                    assert!(!answers.iter().any(leaks), "{tool} {path}: {answers:?}");
                }
            }
            let answers = client.request_all((0..16).map(|_| call("cwd", "d")));
            let outside = root.join("outside");
            let is_outside =
                |answer: &Value| text_of(&answer["result"]["content"][0]).trim() == outside.to_str().unwrap();
            assert!(!answers.iter().any(is_outside), "{answers:?}");
            let read = |uri: &str| ("resources/read", json!({ "uri": uri }));
            let answers = client.request_all((0..16).map(|_| read("work://d/secret")));
            assert!(!answers.iter().any(leaks), "{answers:?}");
        }
        drop(running);
        swapping.join().unwrap()
    });
    assert!(swapped > 100, "{swapped}");
    assert_eq!(snapshot(&root), before);
}

/// Paths of `sandbox` that lead out are refused when the program starts, or at load.
#[test]
fn sandbox_paths_lead_out_of_no_pack() {
    let paths = [
        "..", "../outside", "sub/../../outside", "./..", "out", "out/secret", "chain", "up/outside", "absolute-out",
        "gone", "dangling", "circle", "sub/x/..//../../outside",
    ];
    let folder = TestFolder::in_memory(&[("outside/secret", "SECRET"), ("server/sub/x/y", "")]);
    for (target, link) in
        [("../outside", "out"), ("out", "chain"), ("..", "up"), ("nowhere", "dangling"), ("circle", "circle")]
    {
        symlink(target, folder.join("server").join(link)).unwrap();
    }
    symlink(folder.join("outside"), folder.join("server/absolute-out")).unwrap();
    let secret = folder.join("outside/secret");
    for path in paths {
        let manifest = format!(
            "folio: 1\nserver: {{ name: s }}\ntools:\n  t: {{ description: D, run: {{ exec: [cat, {secret:?}], sandbox: {{ read: [{path:?}] }} }} }}\n"
        );
        folder.write("server/folio.yaml", &manifest);
        let ran = run_folio(&folder.join("server"), &["call", "t"]);
        assert!(ran.code != Some(0) && !ran.out.contains("SECRET"), "{path}: {ran:?}");
    }
}

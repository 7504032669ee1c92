//! Arguments with `within` a folder of the manifest, and programs that run in the folder of an argument.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::harness::*;

const MANIFEST: &str = r#"
folio: 1
server: { name: paths, limits: { callsPerSecond: 1000000 } }
env: { DIRS: {} }
tools:
  work: { description: D, arguments: { path: { within: "{{workspace}}" } }, result: { text: "path {{path}}" } }
  dirs: { description: D, arguments: { path: { within: "{{env.DIRS}}" } }, result: { text: "path {{path}}" } }
  many:
    description: D
    arguments: { paths: { type: array, items: { type: string }, within: "{{ workspace }}" } }
    result: { text: "{{#each paths}}[{{this}}]{{/each}}" }
  pwd: { description: D, arguments: { dir: { within: "{{workspace}}", default: . } }, run: { exec: [pwd, -P], cwd: "{{dir}}" } }
  shell:
    description: D
    arguments: { dir: { within: "{{env.DIRS}}", required: true } }
    run: { script: { shell: sh, text: pwd -P }, cwd: "{{arguments.dir}}" }
"#;

fn tree() -> TestFolder {
    let folder = TestFolder::new(&[
        ("server/folio.yaml", MANIFEST),
        ("work/sub/file", "mine"),
        ("one/file", "1"),
        ("two/sub/file", "2"),
        ("outside/secret", "SECRET"),
    ]);
    for (target, link) in [
        ("sub", "work/in"),
        ("../outside", "work/out"),
        ("../outside/gone", "work/dangling"),
        ("circle", "work/circle"),
        ("work", "linked"),
    ] {
        symlink(target, folder.join(link)).unwrap();
    }
    folder
}

fn real(folder: &TestFolder, path: &str) -> PathBuf {
    fs::canonicalize(folder.path()).unwrap().join(path)
}

fn shown(folder: &TestFolder, path: &str) -> String {
    real(folder, path).to_str().unwrap().to_owned()
}

fn serve(folder: &TestFolder) -> TestServer {
    let dirs = format!("{}:{}", folder.join("one").display(), folder.join("two").display());
    let command = ServeCommand::new(&folder.join("server")).env("DIRS", &dirs).flag("--no-watch");
    command.flag(&format!("--workspace={}", folder.join("linked").display())).stdio()
}

/// The text of a call, and whether it is an error.
fn called(client: &TestClient, tool: &str, arguments: Value) -> (bool, String) {
    let result = client.call(tool, arguments);
    (result["isError"] == true, text_of(&result["content"][0]))
}

#[test]
fn path_is_resolved_beneath_its_folder() {
    let folder = tree();
    let server = serve(&folder);
    let client = server.client(SESSION_VERSIONS[3]);
    let at = |path: &str| shown(&folder, path);
    for (tool, given, resolved) in [
        ("work", "sub/file".to_owned(), "work/sub/file"),
        ("work", ".".to_owned(), "work"),
        ("work", "./sub//file/.".to_owned(), "work/sub/file"),
        ("work", "in/file".to_owned(), "work/sub/file"),
        ("work", "in/new".to_owned(), "work/sub/new"),
        ("work", at("linked/sub"), "work/sub"),
        ("work", format!("file://{}", at("work/sub")), "work/sub"),
        ("dirs", "file".to_owned(), "one/file"),
        ("dirs", at("two/sub/file"), "two/sub/file"),
    ] {
        assert_eq!(
            called(&client, tool, json!({ "path": given })),
            (false, format!("path {}", at(resolved))),
            "{given}"
        );
    }
    let both = called(&client, "many", json!({ "paths": ["sub", at("work/in/file")] }));
    assert_eq!(both, (false, format!("[{}][{}]", at("work/sub"), at("work/sub/file"))));
    assert_eq!(called(&client, "work", json!({})), (false, "path ".to_owned()));
    for outside in [
        "..", "../outside", "sub/..", "sub/../sub", "out", "out/secret", "out/new", "dangling", "dangling/x", "circle",
        "sub/file/x", "", "sub\0", "/", "/etc/passwd", "file:///etc/passwd", "file://x/etc", "%2e%2e",
    ] {
        let (failed, words) = called(&client, "work", json!({ "path": outside }));
        // A name of percent signs is a name like any other.
        assert_eq!(failed && words.starts_with("`path` "), outside != "%2e%2e", "{outside}: {words}");
    }
    let (failed, words) = called(&client, "many", json!({ "paths": ["sub", "out/secret"] }));
    assert_eq!((failed, words.as_str()), (true, "`paths` must be inside the workspace"));
    let (failed, words) = called(&client, "dirs", json!({ "path": at("work/sub") }));
    assert_eq!((failed, words.as_str()), (true, "`path` must be inside the folder of `env.DIRS`"));
}

#[test]
fn program_runs_in_folder_of_argument() {
    let folder = tree();
    let server = serve(&folder);
    let client = server.client(SESSION_VERSIONS[3]);
    let at = |path: &str| shown(&folder, path);
    for (tool, given, runs_in) in [
        ("pwd", json!({}), "work"),
        ("pwd", json!({ "dir": "in" }), "work/sub"),
        ("pwd", json!({ "dir": at("linked/sub") }), "work/sub"),
        ("shell", json!({ "dir": "." }), "one"),
        ("shell", json!({ "dir": at("two/sub") }), "two/sub"),
    ] {
        assert_eq!(called(&client, tool, given.clone()), (false, format!("{}\n", at(runs_in))), "{given}");
    }
    for (given, why) in [
        ("out", "`dir` must be inside the workspace"),
        ("sub/file", "the value of `dir` is not a folder"),
        ("gone", "the value of `dir` is not a folder"),
        ("..", "`dir` must not contain `..`"),
    ] {
        assert_eq!(called(&client, "pwd", json!({ "dir": given })), (true, why.to_owned()), "{given}");
    }
}

#[test]
fn unset_variable_holds_no_path() {
    let folder = tree();
    let server = ServeCommand::new(&folder.join("server")).flag("--no-watch").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let (failed, words) = called(&client, "dirs", json!({ "path": "file" }));
    assert_eq!((failed, words.as_str()), (true, "`path` cannot be checked: `DIRS` is not set"));
    assert_eq!(called(&client, "dirs", json!({})), (false, "path ".to_owned()));
}

/// Puts a link out of the workspace in the place of a folder, and takes it away again.
fn swap(work: &Path) {
    let at = |name: &str| work.join(name);
    let _ = fs::rename(at("d"), at("kept"));
    let _ = symlink("../outside", at("d"));
    let _ = fs::remove_file(at("d"));
    let _ = fs::rename(at("kept"), at("d"));
}

#[test]
fn swapped_link_moves_no_program() {
    let folder = tree();
    let manifest = r#"
folio: 1
server: { name: swapped, limits: { callsPerSecond: 1000000 } }
tools:
  pwd: { description: D, arguments: { dir: { within: "{{workspace}}", required: true } }, run: { exec: [pwd, -P], cwd: "{{dir}}" } }
"#;
    folder.write("server/folio.yaml", manifest);
    fs::create_dir(folder.join("work/d")).unwrap();
    let server = serve(&folder);
    let client = server.client(SESSION_VERSIONS[3]);
    let (stop, work) = (AtomicBool::new(false), real(&folder, "work"));
    let (mut ran, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                swap(&work);
            }
        });
        let _running = StopOnDrop(&stop);
        // On a busy machine few calls meet the folder itself.
        for round in 1.. {
            let calls: Vec<i64> = (0..16).map(|_| client.start_call("pwd", json!({ "dir": "d" }))).collect();
            for id in calls {
                let result = client.wait_for_answer(id)["result"].clone();
                let words = text_of(&result["content"][0]);
                assert!(!words.contains("outside\n"), "{words}");
                if result["isError"] == true { refused += 1 } else { ran += 1 }
            }
            if round >= 40 && ran > 0 && refused > 0 {
                break;
            }
            assert!(round < 1000, "{ran} ran, {refused} were refused");
        }
    });
}

#[test]
fn invalid_within_and_cwd_are_reported_with_help() {
    let cases = [
        ("within: root", "", "invalid `within`, expected `roots`", "write `within: \"{{workspace}}\"`"),
        ("within: docs", "", "invalid `within`, expected `roots`", "write `within: \"{{workspace}}\"`"),
        ("within: \"{{workspace}}/x\"", "", "invalid `within`, expected `roots`", "write `within: \"{{workspace}}\"`"),
        ("within: \"{{env.DIR}}/x\"", "", "invalid `within`, expected `roots`", "write `within: \"{{workspace}}\"`"),
        ("within: \"{{env.DIRX}}\"", "", "unknown", "did you mean"),
        ("within: 3", "", "invalid `within`, expected `roots`", "write `within: \"{{workspace}}\"`"),
        (
            "required: true",
            "cwd: \"{{dir}}\"",
            "invalid `cwd`",
            "write `within: \"{{workspace}}\"` in the argument `dir`",
        ),
        ("within: \"{{workspace}}\"", "cwd: \"{{dir}}\"", "a call without `dir` has no folder", "add `required: true`"),
        ("within: roots", "cwd: \"{{dir}}\"", "a call without `dir` has no folder", "add `required: true`"),
        ("within: roots, required: true", "cwd: \"{{dir}}/x\"", "invalid `cwd`", "an argument must not choose"),
        ("within: roots, required: true", "cwd: \"{{upper dir}}\"", "invalid `cwd`", "an argument must not choose"),
    ];
    for (argument, cwd, message, help) in cases {
        let manifest = format!(
            "folio: 1\nserver: {{ name: s }}\nenv: {{ DIR: {{ default: /tmp }} }}\ntools:\n  t:\n    description: D\n    arguments: {{ dir: {{ {argument} }} }}\n    run:\n      exec: [\"true\"]\n      {cwd}\n"
        );
        let folder = TestFolder::with_manifest(&manifest);
        let ran = run_folio(Path::new("/"), &["check", folder.path().to_str().unwrap()]);
        assert!(ran.code == Some(1) && ran.out.contains(message), "{argument} {cwd}: {ran:?}");
        assert!(ran.out.contains(help), "{argument} {cwd}: {ran:?}");
    }
    for sound in [
        "within: roots, required: true",
        "within: \"{{workspace}}\", default: .",
        "within: \"{{env.DIR}}\", required: true",
    ] {
        let manifest = format!(
            "folio: 1\nserver: {{ name: s }}\nenv: {{ DIR: {{ default: /tmp }} }}\ntools:\n  t:\n    description: D\n    arguments: {{ dir: {{ {sound} }} }}\n    run: {{ exec: [\"true\"], cwd: \"{{{{dir}}}}\" }}\n"
        );
        let folder = TestFolder::with_manifest(&manifest);
        let ran = run_folio(Path::new("/"), &["check", folder.path().to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{sound}: {ran:?}");
    }
}

#[test]
fn pack_needs_grant_for_paths_within_workspace() {
    let pack = "folio: 1\nserver: { name: p }\ntools: { t: { description: D, arguments: { p: { within: \"{{workspace}}\" } }, result: { text: x } } }\n";
    for (allow, missing) in [("", true), (", allow: [files]", false)] {
        let manifest = format!("folio: 1\nserver: {{ name: s }}\npacks: {{ p: {{ path: p{allow} }} }}\n");
        let folder = TestFolder::new(&[("folio.yaml", &manifest), ("p/folio.yaml", pack)]);
        let ran = run_folio(Path::new("/"), &["check", folder.path().to_str().unwrap()]);
        assert_eq!(ran.out.contains("missing grant `files`: the workspace"), missing, "{ran:?}");
    }
}

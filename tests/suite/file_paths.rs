//! Paths of `file` that lead elsewhere: through the built binary, nothing outside of the folder is read or changed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::json;

use crate::harness::*;

const MANIFEST: &str = r#"
folio: 1
server: { name: paths, limits: { callsPerSecond: 1000000 } }
folders: { notes: { path: notes, write: true } }
x-path: &path { path: {} }
tools:
  read: { description: D, arguments: *path, run: { file: { read: "{{path}}", in: notes } } }
  stat: { description: D, arguments: *path, run: { file: { stat: "{{path}}", in: notes } } }
  list: { description: D, arguments: *path, run: { file: { list: "{{path}}", in: notes, recursive: true } } }
  write: { description: D, arguments: *path, run: { file: { write: "{{path}}", in: notes, text: new } } }
  create: { description: D, arguments: *path, run: { file: { write: "{{path}}", in: notes, text: new, create: only } } }
  append: { description: D, arguments: *path, run: { file: { append: "{{path}}", in: notes, text: new } } }
  edit: { description: D, arguments: *path, run: { file: { write: "{{path}}", in: notes, edits: [{ old: SECRET, new: x }] } } }
  copyFrom: { description: D, arguments: *path, run: { file: { copy: "{{path}}", to: copied, in: notes } } }
  copyTo: { description: D, arguments: *path, run: { file: { copy: a.md, to: "{{path}}", in: notes } } }
  moveFrom: { description: D, arguments: *path, run: { file: { move: "{{path}}", to: moved, in: notes } } }
  moveTo: { description: D, arguments: *path, run: { file: { move: a.md, to: "{{path}}", in: notes } } }
  remove: { description: D, arguments: *path, run: { file: { remove: "{{path}}", in: notes, recursive: true } } }
  makeDir: { description: D, arguments: *path, run: { file: { makeDir: "{{path}}", in: notes } } }
"#;

const TOOLS: &[&str] = &[
    "read", "stat", "list", "write", "create", "append", "edit", "copyFrom", "copyTo", "moveFrom", "moveTo", "remove",
    "makeDir",
];

/// The tools that change nothing.
const READING: &[&str] = &["read", "stat", "list"];

/// Paths, and whether the file there may be read. `ROOT` is the absolute path around the folder `notes`.
pub(crate) const PATHS: &[(&str, bool)] = &[
    ("a.md", true),
    ("./a.md", true),
    ("././/a.md", true),
    ("a.md/", true),
    ("a.md/.", true),
    ("sub/./b.md", true),
    ("sub//b.md", true),
    ("ROOT/notes/a.md", true),
    ("ROOT/./notes//a.md", true),
    ("ROOT/linked/a.md", true),
    ("ROOT/linked/sub/b.md", true),
    ("file://ROOT/notes/a.md", true),
    ("file://localhost/ROOT/notes/a.md", true),
    ("FILE://ROOT/notes/a.md", true),
    ("in/b.md", true),
    ("in-file", true),
    ("absolute-in", true),
    ("to-in-file", true),
    ("sub/around/b.md", true),
    ("line\nbreak", true),
    ("tab\there", true),
    ("back\\slash", true),
    ("colon:name", true),
    (" space ", true),
    ("\u{e9}.md", true),
    ("e\u{301}.md", false),
    ("A.MD", false),
    ("-rf", true),
    ("~", false),
    ("~/a.md", false),
    ("$HOME/a.md", false),
    ("*", false),
    ("", false),
    (".", false),
    ("/", false),
    ("..", false),
    ("../", false),
    ("../outside/secret", false),
    ("./../outside/secret", false),
    ("sub/../../outside/secret", false),
    ("sub/../a.md", false),
    ("sub/..", false),
    ("a.md/..", false),
    ("a.md/../../outside/secret", false),
    ("out/../outside/secret", false),
    ("..\\outside\\secret", false),
    ("ROOT/outside/secret", false),
    ("ROOT/notes/../outside/secret", false),
    ("ROOT/notes", false),
    ("ROOT/notes/", false),
    ("ROOT", false),
    ("ROOT/linked", false),
    ("ROOT/notes-not", false),
    ("ROOT/notes-not/secret", false),
    ("//ROOT/outside/secret", false),
    ("file://ROOT/outside/secret", false),
    ("file://ROOT/notes/%2e%2e/outside/secret", false),
    ("file://ROOT/notes/..%2foutside%2fsecret", false),
    ("file:///etc/passwd", false),
    ("/etc/passwd", false),
    ("/proc/self/environ", false),
    ("/proc/self/cwd/a.md", false),
    ("/dev/zero", false),
    ("/dev/fd/0", false),
    ("out", false),
    ("out/secret", false),
    ("out/new", false),
    ("out/inner", false),
    ("out-file", false),
    ("absolute-out", false),
    ("absolute-out/secret", false),
    ("absolute-out-file", false),
    ("chain", false),
    ("chain/secret", false),
    ("up", false),
    ("up/outside/secret", false),
    ("up/notes/a.md", true),
    ("through-up", false),
    ("dangling", false),
    ("dangling-out", false),
    ("dangling-absolute", false),
    ("dangling/x", false),
    ("circle", false),
    ("circle/x", false),
    ("circle-a", false),
    ("fifo", false),
    ("fifo/x", false),
    ("to-fifo", false),
    ("socket", false),
    ("device", false),
    ("to-zero", false),
    ("to-proc", false),
    (".hidden", false),
    ("sub/.hidden/x", false),
    ("to-hidden", false),
    ("sub/.git/config", false),
    (".folio-1-18a0000000000002.tmp", false),
    ("sub/.folio-1-18a0000000000002.tmp", false),
    ("a.md\0", false),
    ("\0", false),
    ("a.md\0/../../outside/secret", false),
    ("gone", false),
    ("gone/gone/gone", false),
    ("a.md/x", false),
    ("LONG", false),
    ("DEEP", false),
    ("%2e%2e/outside/secret", false),
    ("\u{2025}/outside/secret", false),
    ("\u{ff0e}\u{ff0e}/outside/secret", false),
    ("\u{202e}dm.a", false),
    ("...", false),
    ("sub/...", false),
    ("./.", false),
    (".//", false),
    ("./..", false),
    ("...//....//outside/secret", false),
    (".../a.md", false),
    ("sub/.../b.md", false),
    ("sub/./../a.md", false),
    ("in/../a.md", false),
    ("in/..", false),
    ("sub/b.md/../../a.md", false),
    ("./../notes/a.md", false),
    ("notes/a.md", false),
    ("a.md/./.", true),
    (".//sub/.//./b.md//", true),
    ("ROOT//notes//sub//b.md", true),
    ("ROOT/notes/in/b.md", true),
    ("ROOT/notes/in-file", true),
    ("ROOT/notes/./sub/../a.md", false),
    ("ROOT/notes/out/secret", false),
    ("ROOT/linked/out/secret", false),
    ("ROOT/linked/up/outside/secret", false),
    ("ROOT/linked/../outside/secret", false),
    ("ROOT/NOTES/a.md", false),
    ("ROOT/outside/../notes/a.md", false),
    ("SUB/b.md", false),
    ("Sub/b.md", false),
    ("a.MD", false),
    ("ſub/b.md", false),
    ("\u{ff41}.md", false),
    ("a\u{200b}.md", false),
    ("\u{feff}a.md", false),
    ("a.md\u{301}", false),
    ("\u{2044}etc\u{2044}passwd", false),
    ("\u{2215}etc\u{2215}passwd", false),
    ("..\u{2215}outside\u{2215}secret", false),
    ("sub/\u{2025}\u{2215}secret", false),
    ("\n", false),
    ("a.md\n", false),
    ("\na.md", false),
    ("line\r\nbreak", false),
    ("..\n/outside/secret", false),
    ("\n../outside/secret", false),
    ("sub\n/../b.md", false),
    (" a.md", false),
    ("a.md ", false),
    ("a.md.", false),
    (" ", false),
    ("\t../outside/secret", false),
    ("C:\\Windows\\win.ini", false),
    ("C:/a.md", false),
    ("\\\\?\\ROOT\\outside\\secret", false),
    ("NUL", false),
    ("a.md::$DATA", false),
    ("`id`", false),
    ("$(cat ../outside/secret)", false),
    ("a.md;cat ../outside/secret", false),
    ("|cat", false),
    ("{{env.HOME}}", false),
    ("--", false),
    ("-", false),
    ("--help", false),
    ("@a.md", false),
    ("%61.md", false),
    ("..%c0%afoutside%c0%afsecret", false),
    ("file:ROOT/outside/secret", false),
    ("file:///proc/self/environ", false),
    ("file://elsewhereROOT/notes/a.md", false),
    ("https://ROOT/notes/a.md", false),
    ("/proc/self/root/ROOT/outside/secret", false),
    ("/proc/self/cwd/../outside/secret", false),
    ("/proc/1/root/etc/passwd", false),
    ("/dev/stdin", false),
    ("/dev/null", false),
    ("/dev/shm", false),
    ("fifo/.", false),
    ("socket/x", false),
    ("device/x", false),
    ("to-zero/x", false),
    ("to-proc/x", false),
    ("to-hidden/x", false),
    ("circle-a/x", false),
    ("circle-b", false),
    ("chain/inner/x", false),
    ("up/up/outside/secret", false),
    ("up/outside/new", false),
    ("absolute-out-file/x", false),
    ("absolute-in/x", false),
    ("dangling-out/x", false),
    ("out-file/", false),
    ("out/./secret", false),
];

fn make_node(path: &Path, kind: &[&str]) {
    // Devices need a privilege that not every machine gives.
    let _ = Command::new("mknod").arg(path).args(kind).output();
}

/// The folder `notes` with everything that may stand in it.
fn create_hostile_tree(root: &Path) {
    let notes = root.join("notes");
    let _ = fs::remove_dir_all(&notes);
    fs::create_dir_all(notes.join("sub/.hidden")).unwrap();
    for (name, text) in [
        ("a.md", "a"),
        ("sub/b.md", "b"),
        ("sub/.hidden/x", "x"),
        (".hidden", "HIDDEN"),
        ("line\nbreak", "l"),
        ("tab\there", "t"),
        ("back\\slash", "s"),
        ("colon:name", "c"),
        (" space ", "s"),
        ("\u{e9}.md", "e"),
        ("-rf", "r"),
        (".folio-1-18a0000000000002.tmp", "TEMPORARY"),
    ] {
        fs::write(notes.join(name), text).unwrap();
    }
    let absolute = |path: &str| root.join(path).to_str().unwrap().to_owned();
    for (link, target) in [
        ("in", "sub".to_owned()),
        ("in-file", "sub/b.md".to_owned()),
        ("absolute-in", absolute("notes/sub/b.md")),
        ("to-in-file", "in-file".to_owned()),
        ("sub/around", "../sub".to_owned()),
        ("out", "../outside".to_owned()),
        ("out-file", "../outside/secret".to_owned()),
        ("absolute-out", absolute("outside")),
        ("absolute-out-file", absolute("outside/secret")),
        ("chain", "out".to_owned()),
        ("up", "..".to_owned()),
        ("through-up", "up/outside/secret".to_owned()),
        ("dangling", "nowhere/x".to_owned()),
        ("dangling-out", "../outside/new".to_owned()),
        ("dangling-absolute", absolute("outside/new")),
        ("circle", "circle".to_owned()),
        ("circle-a", "circle-b".to_owned()),
        ("circle-b", "circle-a".to_owned()),
        ("to-fifo", "fifo".to_owned()),
        ("to-zero", "/dev/zero".to_owned()),
        ("to-proc", "/proc/self/environ".to_owned()),
        ("to-hidden", ".hidden".to_owned()),
    ] {
        symlink(target, notes.join(link)).unwrap();
    }
    for node in ["fifo", "device"] {
        let _ = fs::hard_link(root.join("nodes").join(node), notes.join(node));
    }
    drop(UnixListener::bind(notes.join("socket")).unwrap());
}

fn tree() -> TestFolder {
    tree_of(MANIFEST)
}

/// The folder `notes` of everything, what is beside it, and a manifest.
pub(crate) fn tree_of(manifest: &str) -> TestFolder {
    let folder = TestFolder::in_memory(&[
        ("folio.yaml", manifest),
        ("outside/secret", "SECRET"),
        ("outside/inner/x", "SECRET"),
        ("notes-not/secret", "SECRET"),
    ]);
    symlink("notes", folder.join("linked")).unwrap();
    fs::create_dir(folder.join("nodes")).unwrap();
    make_node(&folder.join("nodes/fifo"), &["p"]);
    make_node(&folder.join("nodes/device"), &["c", "1", "5"]);
    create_hostile_tree(folder.path());
    folder
}

/// All files beneath a folder but those of `notes`, with what they have.
pub(crate) fn snapshot(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let kind = entry.file_type().unwrap();
            match kind.is_dir() {
                true if name == "notes" => continue,
                true => folders.push(entry.path()),
                false => {}
            }
            let content = if kind.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
            files.insert(name, content);
        }
    }
    files
}

pub(crate) fn fill(path: &str, root: &str) -> String {
    match path {
        "LONG" => "x".repeat(5000),
        "DEEP" => "x/".repeat(2000),
        path => path.replace("ROOT", root),
    }
}

#[test]
fn no_path_reaches_outside_of_its_folder() {
    let folder = tree();
    let root = fs::canonicalize(folder.path()).unwrap();
    let server = folder.serve_command().flag("--no-watch").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let before = snapshot(&root);
    let mut wrong = Vec::new();
    for tool in TOOLS {
        for (path, readable) in PATHS {
            if !READING.contains(tool) {
                create_hostile_tree(&root);
            }
            let path = fill(path, root.to_str().unwrap());
            let result = client.call(tool, json!({ "path": path }));
            let shown = result.to_string();
            let is_error = result["isError"] == true;
            let leaks = ["SECRET", "HIDDEN", "TEMPORARY"].iter().any(|word| shown.contains(word));
            let unexpected = *tool == "read" && is_error == *readable;
            let is_bad_list = *tool == "list" && !is_error && (shown.contains(".folio-") || shown.contains("/inner"));
            if leaks || unexpected || is_bad_list || snapshot(&root) != before {
                wrong.push(format!("{tool} {path:?}: {shown}"));
            }
            if ["write", "append"].contains(tool) && *readable && is_error {
                wrong.push(format!("{tool} {path:?}: {shown}"));
            }
        }
    }
    assert!(TOOLS.len() * PATHS.len() > 1000);
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn links_are_moved_and_removed_themselves() {
    let folder = tree();
    let root = fs::canonicalize(folder.path()).unwrap();
    let server = folder.serve_command().flag("--no-watch").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for path in ["out", "in-file", "dangling", "circle"] {
        for (tool, at) in
            [("remove", path.to_owned()), ("moveFrom", root.join("notes").join(path).display().to_string())]
        {
            create_hostile_tree(&root);
            let result = client.call(tool, json!({ "path": at }));
            assert_eq!(result["isError"], false, "{tool} {path}: {result}");
            assert!(fs::symlink_metadata(root.join("notes").join(path)).is_err(), "{tool} {path}");
        }
    }
    assert_eq!(fs::read(root.join("notes/sub/b.md")).unwrap(), b"b");
    create_hostile_tree(&root);
    client.call("write", json!({ "path": "in-file" }));
    assert_eq!(fs::read_to_string(root.join("notes/sub/b.md")).unwrap(), "new");
    assert!(fs::symlink_metadata(root.join("notes/in-file")).unwrap().is_symlink());
}

/// Swaps until it is told to stop; gives how often.
pub(crate) fn swap_until(notes: &Path, stop: &AtomicBool) -> usize {
    std::iter::repeat_with(|| swap(notes)).take_while(|()| !stop.load(Ordering::Relaxed)).count()
}

/// Puts links out of the folder in the place of a folder and a file, and takes them away again. It follows no link.
fn swap(notes: &Path) {
    let at = |name: &str| notes.join(name);
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    if is_folder(&at("d")) {
        let _ = fs::remove_dir_all(at("kept"));
        let _ = fs::rename(at("d"), at("kept"));
    }
    let _ = symlink("../outside", at("d"));
    let _ = fs::remove_file(at("f.new"));
    let _ = fs::File::create_new(at("f.new")).map(|mut file| file.write_all(b"mine"));
    let _ = fs::remove_dir(at("f"));
    let _ = fs::rename(at("f.new"), at("f"));
    let _ = fs::remove_file(at("d"));
    if is_folder(&at("kept")) {
        let _ = fs::write(at("kept/secret"), "mine");
    }
    let _ = fs::rename(at("kept"), at("d"));
    let _ = fs::remove_file(at("f.new"));
    let _ = symlink("../outside/secret", at("f.new"));
    let _ = fs::remove_dir(at("f"));
    let _ = fs::rename(at("f.new"), at("f"));
}

#[test]
fn folders_and_links_that_are_swapped_lead_nowhere() {
    let folder = tree();
    let root = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir(root.join("notes/d")).unwrap();
    let server = folder.serve_command().flag("--no-watch").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let before = snapshot(&root);
    let stop = AtomicBool::new(false);
    let notes = root.join("notes");
    let swapped = thread::scope(|scope| {
        let swapping = scope.spawn(|| swap_until(&notes, &stop));
        let running = StopOnDrop(&stop);
        let began = Instant::now();
        for round in 0..100 {
            for tool in TOOLS {
                let path = if round % 2 == 0 { "d/secret" } else { "f" };
                let result = client.call(tool, json!({ "path": path })).to_string();
                assert!(!result.contains("SECRET"), "{tool} {path}: {result}");
            }
            let _ = fs::write(notes.join("a.md"), "a");
            assert!(began.elapsed() < TEST_TIMEOUT * 5, "round {round}");
        }
        drop(running);
        swapping.join().unwrap()
    });
    assert!(swapped > 100, "{swapped}");
    assert_eq!(snapshot(&root), before);
}

/// The names of temporary files in a folder.
fn temporary_files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".folio-")).collect()
}

const FAILING: &str = r#"
folio: 1
server: { name: failing }
folders: { notes: { path: notes, write: true, hidden: true } }
x-path: &path { path: {}, text: {} }
tools:
  write: { description: D, arguments: *path, run: { file: { write: "{{path}}", in: notes, text: "{{text}}" } } }
  append: { description: D, arguments: *path, run: { file: { append: "{{path}}", in: notes, text: "{{text}}" } } }
  copy: { description: D, timeout: 60s, arguments: *path, run: { file: { copy: big, to: "{{path}}", in: notes } } }
  list: { description: D, run: { file: { list: "", in: notes } } }
"#;

#[test]
fn write_without_room_leaves_the_old_file() {
    let folder =
        TestFolder::new(&[("folio.yaml", FAILING), ("notes/a.md", "old"), ("notes/big", &"x".repeat(1 << 20))]);
    // Nothing is done about the signal that ends a process which writes too much.
    let limited = "ulimit -f 64; exec \"$@\"";
    let server = ServeCommand::wrapped_by(&["sh", "-c", limited, "sh"], folder.path()).stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let text = "x".repeat(1 << 20);
    for (tool, path) in [("write", "a.md"), ("append", "a.md"), ("copy", "a.md"), ("write", "new"), ("copy", "new")] {
        let result = client.call(tool, json!({ "path": path, "text": text }));
        let words = text_of(&result["content"][0]);
        assert!(result["isError"] == true && words.starts_with("cannot change"), "{tool} {path}: {words}");
        assert_eq!(fs::read_to_string(folder.join("notes/a.md")).unwrap(), "old", "{tool}");
        assert!(!folder.join("notes/new").exists(), "{tool}");
        assert_eq!(temporary_files(&folder.join("notes")), [""; 0], "{tool}");
    }
    assert_eq!(client.call("write", json!({ "path": "a.md", "text": "new" }))["isError"], false);
}

/// Runs a server where the folder `notes` is a disk of 256 KiB, if this machine lets anyone make one.
fn on_small_disk(folder: &TestFolder) -> Option<TestServer> {
    let mount = "mount -t tmpfs -o size=256k none \"$0/notes\" && printf old > \"$0/notes/a.md\" && exec \"$@\"";
    let place = folder.path().to_str().unwrap();
    let program = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, place];
    let works = Command::new(program[0]).args(&program[1..]).arg("true").output();
    works.is_ok_and(|output| output.status.success()).then(|| ServeCommand::wrapped_by(&program, folder.path()).stdio())
}

#[test]
#[expect(clippy::print_stderr, reason = "who reads the tests' output should know what was left out")]
fn full_disk_leaves_the_old_file() {
    let manifest =
        FAILING.replace("  list:", "  read: { description: D, run: { file: { read: a.md, in: notes } } }\n  list:");
    let folder = TestFolder::new(&[("folio.yaml", &manifest), ("notes/keep", "")]);
    let Some(server) = on_small_disk(&folder) else {
        eprintln!("skipped, as this machine lets nobody make a disk");
        return;
    };
    let client = server.client(SESSION_VERSIONS[3]);
    let text = "x".repeat(1 << 20);
    for (tool, path) in [("write", "a.md"), ("append", "a.md"), ("write", "new"), ("append", "new")] {
        let result = client.call(tool, json!({ "path": path, "text": text }));
        let words = text_of(&result["content"][0]);
        assert!(result["isError"] == true && words.ends_with("no storage space"), "{tool} {path}: {words}");
        assert_eq!(client.call_text("read", json!({})), "old", "{tool} {path}");
        let listed = client.call("list", json!({}))["structuredContent"].to_string();
        assert!(!listed.contains("new") && !listed.contains(".folio-"), "{listed}");
    }
    // What was not written has left its room to others.
    let fits = "y".repeat(200 << 10);
    assert_eq!(client.call("write", json!({ "path": "fits", "text": fits }))["isError"], false);
}

#[test]
fn writes_that_are_killed_leave_whole_files() {
    const FILES: usize = 8;
    let big = "0123456789abcdef".repeat(1 << 20);
    let folder = TestFolder::in_memory(&[("folio.yaml", FAILING), ("notes/big", &big)]);
    let content = |file: usize| fs::read_to_string(folder.join(&format!("notes/k{file}"))).unwrap();
    let mut killed = 0;
    for round in 0..4 {
        (0..FILES).for_each(|file| folder.write(&format!("notes/k{file}"), "old"));
        let server = folder.serve_command().flag("--no-watch").stdio();
        let client = server.client(SESSION_VERSIONS[3]);
        for file in 0..FILES {
            client.start_call("copy", json!({ "path": format!("k{file}") }));
        }
        wait_until("a new file", || (0..FILES).any(|file| content(file).len() > 3));
        server.signal("KILL");
        server.wait_for_exit(TEST_TIMEOUT).unwrap();
        for file in 0..FILES {
            let text = content(file);
            assert!(text == "old" || text == big, "round {round}, file {file}: {} bytes", text.len());
            killed += usize::from(text == "old");
        }
    }
    assert!(killed > 0, "they were killed too late");
}

#[test]
fn write_that_is_killed_leaves_the_old_file() {
    let folder = TestFolder::new(&[("folio.yaml", FAILING), ("notes/a.md", "old")]);
    let big = fs::File::create(folder.join("notes/big")).unwrap();
    big.set_len(512 << 20).unwrap();
    big.set_permissions(fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(folder.join("notes/a.md"), fs::Permissions::from_mode(0o644)).unwrap();
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    client.start_call("copy", json!({ "path": "a.md" }));
    wait_until("a temporary file", || !temporary_files(&folder.join("notes")).is_empty());
    server.signal("KILL");
    server.wait_for_exit(TEST_TIMEOUT).unwrap();
    assert_eq!(fs::read_to_string(folder.join("notes/a.md")).unwrap(), "old");
    let left = temporary_files(&folder.join("notes"));
    assert_eq!(left.len(), 1, "it was killed too late");
    let mode = fs::metadata(folder.join("notes").join(&left[0])).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "nobody else reads what is left");
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let listed = client.call("list", json!({})).to_string();
    assert!(listed.contains("a.md") && !listed.contains(".folio-"), "{listed}");
    let written = client.call("write", json!({ "path": left[0], "text": "x" }));
    assert_eq!(written["isError"], true, "{written}");
}

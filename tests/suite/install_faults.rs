//! `folio install` and `folio uninstall` among other programs: several at once, killed ones, and what they leave.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::harness::FOLIO_BIN;
use crate::install::{Machine, ROWS, finish};

/// A file of each format.
const FILES: &[(&str, &str, &str)] = &[
    ("cursor", "home/.cursor/mcp.json", "{ \"mcpServers\": { \"b\": { \"command\": \"x\" } } } // end\n"),
    ("codex", "home/.codex/config.toml", "# mine\n[mcp_servers.b]\ncommand = \"x\"\n"),
    ("goose", "home/.config/goose/config.yaml", "extensions:\n  # mine\n  b:\n    cmd: x\n"),
];

fn start(machine: &Machine, arguments: &[&str]) -> Child {
    let mut command = machine.command(Path::new(FOLIO_BIN), arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs a verb for several servers at once.
fn all_at_once(machine: &Machine, verb: &str, host: &str, names: &[String]) {
    let start = |name: &String| start(machine, &[verb, host, "-f", "../desk", "--name", name]);
    let children: Vec<Child> = names.iter().map(start).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn installations_at_once_lose_nothing() {
    let names: Vec<String> = (0..6).map(|nth| format!("server-{nth}")).collect();
    for (host, file, text) in FILES {
        for text in [Some(text), None] {
            let machine = Machine::new();
            text.into_iter().for_each(|text| machine.write(file, text));
            let before = machine.tree();
            for _ in 0..3 {
                all_at_once(&machine, "install", host, &names);
                let after = machine.read(file);
                assert!(names.iter().all(|name| after.contains(name.as_str())), "{after}");
                all_at_once(&machine, "uninstall", host, &names);
                match text {
                    Some(_) => assert_eq!(machine.tree(), before, "{host}"),
                    None => assert!(!machine.read(file).contains("server-"), "{host}"),
                }
                machine.assert_no_leftovers();
            }
        }
    }
}

#[test]
fn killed_runs_leave_nothing_after_the_next_that_writes() {
    for (nth, row) in ROWS.iter().enumerate() {
        let machine = Machine::new();
        let text = row.texts()[0].clone();
        if nth % 2 == 0 {
            machine.write(row.file, &text);
        }
        let began = Instant::now();
        machine.install(row.host);
        let lasts = began.elapsed();
        let installed = machine.read(row.file);
        machine.uninstall(row.host);
        let (before, left) = (machine.tree(), machine.read(row.file));
        assert_eq!(left, if nth % 2 == 0 { text.as_str() } else { row.emptied() });
        for nth in 0..10 {
            for verb in ["install", "uninstall"] {
                let mut child = start(&machine, &[verb, row.host, "-f", "../desk"]);
                std::thread::sleep(lasts * nth / 10);
                child.kill().unwrap();
                child.wait().unwrap();
                let now = machine.read(row.file);
                assert!(now == left || now == installed, "{now}");
            }
        }
        machine.install(row.host);
        machine.uninstall(row.host);
        assert_eq!(machine.tree(), before, "{}", row.host);
    }
}

#[test]
fn leftovers_of_a_killed_run_are_swept() {
    let machine = Machine::new();
    machine.write("home/.cursor/mcp.json", "{}");
    let before = machine.tree();
    for verb in ["install", "uninstall"] {
        // The process has ended, as no system has so many.
        machine.write("home/.cursor/.folio-2147483646-18a0000000000001.tmp", "half");
        // Between the backup and the file.
        machine.write("home/.cursor/mcp.json.folio-backup", "{}");
        machine.ok(&[verb, "cursor", "-f", "../desk"]);
        assert!(!machine.path("home/.cursor/.folio-2147483646-18a0000000000001.tmp").exists(), "{verb}");
    }
    assert_eq!(machine.tree(), before);
    // What is not folio's stays, however old.
    for name in [".folio-notes.tmp", ".folio-2147483646-mine.tmp", ".folio-.tmp", ".folio-1.tmp"] {
        let path = format!("home/.cursor/{name}");
        machine.write(&path, "mine");
        let file = fs::File::options().write(true).open(machine.path(&path)).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        machine.install("cursor");
        machine.uninstall("cursor");
        assert_eq!(machine.read(&path), "mine");
        fs::remove_file(machine.path(&path)).unwrap();
    }
    // What a live process writes stays.
    let live = format!("home/.cursor/.folio-{}-18a0000000000001.tmp", std::process::id());
    machine.write(&live, "half");
    machine.install("cursor");
    machine.uninstall("cursor");
    assert!(machine.path(&live).exists());
}

#[test]
fn folder_that_another_program_locks_is_an_error() {
    let machine = Machine::new();
    machine.write("home/.cursor/mcp.json", "{}");
    let before = machine.tree();
    let folder = fs::File::open(machine.path("home/.cursor")).unwrap();
    rustix::fs::flock(folder.as_fd(), rustix::fs::FlockOperation::LockExclusive).unwrap();
    let said = machine.fail(&["install", "cursor", "-f", "../desk"]);
    assert!(said.contains("another program has its folder locked"), "{said}");
    assert_eq!(machine.tree(), before);
}

#[test]
fn file_that_keeps_changing_is_not_lost() {
    let machine = Machine::new();
    let file = machine.path("home/.cursor/mcp.json");
    machine.write("home/.cursor/mcp.json", "{}");
    // A client that replaces its file, and knows of no lock.
    let mut child = start(&machine, &["install", "cursor", "-f", "../desk"]);
    let (mut last, deadline) = (0, Instant::now() + Duration::from_secs(60));
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline);
        last += 1;
        let text = fs::read_to_string(&file).unwrap();
        if text.contains("my-desk") {
            break;
        }
        let beside = machine.path("home/.cursor/new");
        fs::write(&beside, format!("{{ \"n\": {last} }}")).unwrap();
        fs::rename(beside, &file).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str::<serde_json::Value>(&fs::read_to_string(file).unwrap()).unwrap();
    assert!(output.status.success() || said.contains("another program keeps changing the file"), "{said}");
    let names: Vec<_> =
        fs::read_dir(machine.path("home/.cursor")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{names:?}");
}

#[test]
fn folders_of_others_stay_and_odd_ones_are_named() {
    let machine = Machine::new();
    fs::create_dir(machine.path("home/.cursor")).unwrap();
    machine.install("cursor");
    machine.uninstall("cursor");
    fs::remove_dir_all(machine.path("home/.cursor")).unwrap();
    symlink(machine.path("nowhere"), machine.path("home/.cursor")).unwrap();
    let said = machine.fail(&["install", "cursor", "-f", "../desk"]);
    assert!(said.contains("/.cursor` is a link that leads nowhere"), "{said}");
    machine.uninstall("cursor");
    fs::remove_file(machine.path("home/.cursor")).unwrap();
    machine.write("home/.cursor", "mine");
    for verb in ["install", "uninstall"] {
        assert!(machine.fail(&[verb, "cursor", "-f", "../desk"]).contains("its folder is a file"));
    }
    // A link to a file in the same folder, which is locked once.
    machine.write("home/.codex/real.toml", "a = 1\n");
    symlink("real.toml", machine.path("home/.codex/config.toml")).unwrap();
    let before = machine.tree();
    machine.install("codex");
    assert!(machine.read("home/.codex/real.toml").contains("my-desk"));
    machine.uninstall("codex");
    assert_eq!(machine.tree(), before);
}

#[test]
fn made_file_that_became_a_link_stays_one() {
    let machine = Machine::new();
    machine.install("cursor");
    fs::rename(machine.path("home/.cursor/mcp.json"), machine.path("mine.json")).unwrap();
    symlink(machine.path("mine.json"), machine.path("home/.cursor/mcp.json")).unwrap();
    machine.uninstall("cursor");
    assert_eq!(machine.read("mine.json"), "{}\n");
    assert!(machine.path("home/.cursor/mcp.json").is_symlink());
}

#[test]
fn entries_that_a_user_wrote_are_refused_or_named() {
    let machine = Machine::new();
    let desk = fs::canonicalize(machine.path("desk")).unwrap();
    let desk = desk.display();
    let own = |name: &str| {
        format!(
            "\"{name}\": {{ \"command\": \"folio\", \"args\": [\"serve\", \"{desk}\"], \"env\": {{ \"K\": \"their-value\" }} }}"
        )
    };
    // Without `type`, which folio writes for Claude Code.
    machine.write("home/.claude.json", &format!("{{ \"mcpServers\": {{ {} }} }}", own("my-desk")));
    let before = machine.tree();
    let said = machine.fail(&["install", "claude-code", "-f", "../desk"]);
    assert!(said.contains("folio did not write it") && said.contains(".claude.json:1:"), "{said}");
    assert_eq!(machine.tree(), before);
    // One of another name is not in the backup, as it may have values: that is said.
    machine.write("home/.cursor/mcp.json", &format!("{{ \"mcpServers\": {{ {} }} }}", own("theirs")));
    let before = machine.read("home/.cursor/mcp.json");
    let said = machine.install("cursor");
    assert!(said.contains("mcp.json.folio-backup, without `theirs`"), "{said}");
    assert!(!machine.read("home/.cursor/mcp.json.folio-backup").contains("their-value"));
    machine.uninstall("cursor");
    assert_eq!(machine.read("home/.cursor/mcp.json"), before);
}

#[test]
fn name_alone_takes_a_server_out_where_no_manifest_is() {
    let machine = Machine::new();
    machine.ok(&["install", "cursor", "-f", "../desk", "--name", "gone"]);
    fs::remove_dir_all(machine.path("desk")).unwrap();
    let before = machine.tree();
    let shown = machine.ok(&["uninstall", "cursor", "--name", "gone", "--print"]);
    assert!(shown.contains("\"gone\"") && shown.contains("would be taken out"), "{shown}");
    assert_eq!(machine.tree(), before);
    // That of another folder, which is named.
    assert!(machine.fail(&["uninstall", "cursor", "--name", "gone", "-f", "."]).contains("another server"));
    machine.ok(&["uninstall", "cursor", "--name", "gone"]);
    assert_eq!(machine.read("home/.cursor/mcp.json"), "{}\n");
    for entry in ["{ \"command\": \"npx\", \"args\": [\"serve\", \"x\"] }", "{ \"url\": \"https://desk.example/mcp\" }"]
    {
        machine.write("home/.cursor/mcp.json", &format!("{{ \"mcpServers\": {{ \"x\": {entry} }} }}"));
        assert!(machine.fail(&["uninstall", "cursor", "--name", "x"]).contains("another server"), "{entry}");
    }
}

#[test]
fn print_of_what_would_be_taken_out_hides_values() {
    for row in ROWS {
        let machine = Machine::new();
        machine.ok(&["install", row.host, "-f", "../desk", "--env", "ACME_TOKEN=s3cret-of-acme"]);
        let before = machine.tree();
        let shown = machine.ok(&["uninstall", row.host, "-f", "../desk", "--print"]);
        assert!(shown.contains("my-desk") && shown.contains("<value of ACME_TOKEN>"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
        assert_eq!(machine.tree(), before);
    }
}

#[test]
fn url_without_the_path_of_folio_is_a_warning() {
    let machine = Machine::new();
    machine.write("other/folio.yaml", "folio: 1\nserver: { name: other }\nhttp: { path: /desk }\n");
    for (folder, url, right) in [
        ("../desk", "https://a.example", Some("https://a.example/mcp")),
        ("../desk", "http://127.0.0.1:8080/", Some("http://127.0.0.1:8080/mcp")),
        ("../desk", "https://a.example/mcp/", Some("https://a.example/mcp")),
        ("../desk", "https://a.example/team/mcp", None),
        ("../other", "https://a.example/mcp", Some("https://a.example/desk")),
        ("../other", "https://a.example/desk", None),
    ] {
        let ran = machine.run(&["install", "cursor", "-f", folder, "--http", url, "--print"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        match right {
            Some(right) => assert!(ran.err.ends_with(&format!("did you mean `{right}`?\n")), "{url}: {}", ran.err),
            None => assert_eq!(ran.err, "", "{url}"),
        }
    }
}

/// The hosts with files of projects that a team can share.
const SHARED: &[(&str, &str, &str)] = &[
    ("claude-code", ".mcp.json", "./desk"),
    ("cursor", ".cursor/mcp.json", "${workspaceFolder}/desk"),
    ("vscode", ".vscode/mcp.json", "${workspaceFolder}/desk"),
    ("zed", ".zed/settings.json", "./desk"),
    ("gemini", ".gemini/settings.json", "./desk"),
    ("codex", ".codex/config.toml", "./desk"),
    ("copilot-cli", ".github/mcp.json", "./desk"),
    ("opencode", "opencode.json", "./desk"),
];

#[test]
fn files_of_projects_have_no_path_of_this_machine() {
    let machine = Machine::new();
    fs::rename(machine.path("desk"), machine.path("project/desk")).unwrap();
    for (host, file, manifest) in SHARED {
        let before = machine.tree();
        let said = machine.ok(&["install", host, "--project", "-f", "desk"]);
        assert!(said.contains("`folio` has to be on the PATH of everyone") && !said.contains("is new"), "{said}");
        let text = machine.read(&format!("project/{file}"));
        assert!(text.contains(&format!("\"{manifest}\"")), "{host}: {text}");
        assert!(!text.contains(machine.path("").to_str().unwrap()) && !text.contains(FOLIO_BIN), "{host}: {text}");
        let new: Vec<PathBuf> = machine.tree().into_keys().filter(|path| !before.contains_key(path)).collect();
        assert!(new.iter().all(|path| machine.path(&format!("project/{file}")).starts_with(path)), "{new:?}");
        assert!(machine.ok(&["install", host, "--project", "-f", "desk"]).contains("already"), "{host}");
        machine.ok(&["uninstall", host, "--project", "-f", "desk"]);
        assert!(!machine.read(&format!("project/{file}")).contains("my-desk"), "{host}");
    }
    // What cannot be shared is said.
    let said = machine.ok(&["install", "cursor", "--project", "-f", "desk", "--env", "ACME_TOKEN=s3cret-of-acme"]);
    assert!(said.contains("the values in it are not for your repository"), "{said}");
    fs::create_dir(machine.path("elsewhere")).unwrap();
    fs::copy(machine.path("project/desk/folio.yaml"), machine.path("elsewhere/folio.yaml")).unwrap();
    let said = machine.ok(&["install", "zed", "--project", "-f", "../elsewhere"]);
    assert!(said.contains("its paths are those of this machine"), "{said}");
    assert!(machine.read("project/.zed/settings.json").contains(FOLIO_BIN));
}

#[test]
fn shared_entry_starts_the_server_in_its_project() {
    let machine = Machine::new();
    fs::rename(machine.path("desk"), machine.path("project/desk")).unwrap();
    machine.ok(&["install", "claude-code", "--project", "-f", "desk"]);
    let file: serde_json::Value = serde_json::from_str(&machine.read("project/.mcp.json")).unwrap();
    let entry = &file["mcpServers"]["my-desk"];
    let words: Vec<&str> = entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let mut command = machine.command(Path::new(entry["command"].as_str().unwrap()), &words);
    let folder = Path::new(FOLIO_BIN).parent().unwrap();
    let ran = finish(command.env("PATH", folder).env("ACME_TOKEN", "a-token-of-acme"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn what_a_host_does_not_show_is_said_if_the_server_has_it() {
    let machine = Machine::new();
    machine.write(
        "both/folio.yaml",
        "folio: 1\nserver: { name: both }\nprompts: { hi: { description: Greets, text: Hello } }\n\
         resources: { a: { uri: 'desk://a', text: A } }\n",
    );
    machine.write(
        "tools/folio.yaml",
        "folio: 1\nserver: { name: tools }\ntools: { t: { description: T, result: { text: x } } }\n",
    );
    for (host, notes) in [
        ("claude-code", &[][..]),
        ("claude-desktop", &[]),
        ("cursor", &[]),
        ("vscode", &[]),
        ("zed", &["resources are not shown", "by `list-resources`"]),
        ("goose", &[]),
        ("gemini", &[]),
        ("codex", &["prompts are not shown", "by `list-prompts`"]),
        (
            "copilot-cli",
            &["prompts are not shown", "resources are not shown", "by `list-prompts`", "by `list-resources`"],
        ),
        ("opencode", &[]),
        ("windsurf", &["prompts and resources may not be shown; `bridge: [prompts, resources]`"]),
        ("kiro", &[]),
        ("roo", &["prompts are not shown", "by `list-prompts`"]),
        ("librechat", &["prompts are not shown", "by `list-prompts`"]),
    ] {
        let notes_of = |folder: &str| -> Vec<String> {
            let said = machine.ok(&["install", host, "-f", folder]);
            let of_lists = said.lines().filter(|line| line.contains("note: ") && !line.contains("read once"));
            of_lists.map(str::to_owned).collect()
        };
        let found = notes_of("../both");
        assert_eq!(found.len(), notes.len(), "{host}: {found:?}");
        assert!(found.iter().zip(notes).all(|(line, note)| line.contains(note)), "{host}: {found:?}");
        assert!(notes_of("../tools").is_empty(), "{host}");
    }
}

#[test]
fn edits_of_a_manifest_at_once_lose_nothing() {
    let machine = Machine::new();
    for (nth, name) in ["a", "b", "c", "d"].iter().enumerate() {
        machine.write(&format!("packs/{name}/p{nth}.md"), "text\n");
    }
    for _ in 0..5 {
        let (head, path) = ("folio: 1\nserver: { name: desk }\n", "desk/folio.yaml");
        machine.write(path, head);
        let new = |name: &str| start(&machine, &["new", "prompt", name, "-f", "../desk"]);
        let children: Vec<(String, Child)> =
            (0..4).map(|nth| format!("p{nth}")).map(|name| (name.clone(), new(&name))).collect();
        for (name, child) in children {
            let output = child.wait_with_output().unwrap();
            let is_there = machine.read(path).contains(&format!("  {name}:"));
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            // One that is not written says so.
            assert_eq!(output.status.success(), is_there, "{name}: {error}");
            assert!(is_there || error.contains("it has changed since it was read"), "{error}");
        }
    }
}

//! `folio init --command`: what is written from the help of a program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::*;

/// A folder with a program `prog` that prints the help texts of a fixture: `main` for itself, `SUB` for a subcommand,
/// with `.-h` behind it for `-h`; for all else it prints its arguments.
fn program(name: &str) -> TestFolder {
    let folder = TestFolder::new(&[]);
    let fixtures = crate::doc_tables::read(&format!("tests/fixtures/help/{name}.txt"));
    for (part, text) in fixtures.split("=== ").skip(1).map(|part| part.split_once('\n').unwrap()) {
        folder.write(&format!("help/{part}.txt"), text);
    }
    let script = "#!/bin/sh\nhere=${0%/*}\nlast=; sub=main\nfor word; do last=$word; done\n\
                  [ $# -gt 1 ] && sub=$1\n[ \"$last\" = --help ] && exec cat \"$here/help/$sub.txt\"\n\
                  [ \"$last\" = -h ] && exec cat \"$here/help/$sub.-h.txt\"\n\
                  printf '[%s]' \"$@\"\n";
    folder.write("prog", script);
    fs::set_permissions(folder.join("prog"), PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

fn drafted(folder: &TestFolder, command: &str, more: &[&str]) -> String {
    let ran = run_folio(folder.path(), &[&["init", "out", "--command", command], more].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let checked = run_folio(folder.path(), &["check", "out", "--strict", "--format", "lines"]);
    let faults: Vec<&str> = checked.out.lines().filter(|line| !line.contains(": note[")).collect();
    let manifest = fs::read_to_string(folder.join("out/folio.yaml")).unwrap();
    assert!(checked.code == Some(0), "{faults:#?}\n{manifest}");
    manifest
}

/// Drafts the tools of a fixture, and serves them.
fn served(name: &str) -> (TestFolder, TestServer, String) {
    let folder = program(name);
    let command = folder.join("prog").to_str().unwrap().to_owned();
    let manifest = drafted(&folder, &command, &[]);
    let server = ServeCommand::new(&folder.join("out")).stdio();
    (folder, server, manifest)
}

/// The arguments of each tool with their types, in order.
fn arguments(client: &TestClient) -> Vec<String> {
    let shown = |tool: &Value| {
        let schema = &tool["inputSchema"];
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let properties = properties.map(|(name, property)| {
            let kind = if property["enum"].is_array() { "enum" } else { property["type"].as_str().unwrap_or("any") };
            let mark = if required.contains(&json!(name)) { "!" } else { "" };
            format!(" {name}{mark}:{kind}")
        });
        format!("{}{}", tool["name"].as_str().unwrap(), properties.collect::<String>())
    };
    client.list("tools").iter().map(shown).collect()
}

#[test]
fn clap_help_becomes_tools() {
    let (_folder, server, manifest) = served("clap");
    let client = server.session("2025-11-25");
    let expected = [
        "add verbose:boolean color:enum tag:array name!:string path:array",
        "remove force:boolean jobs:integer name!:string",
    ];
    assert_eq!(arguments(&client), expected, "{manifest}");
    let called =
        client.call_text("add", json!({ "verbose": true, "color": "never", "tag": ["a", "b c"], "name": "n" }));
    assert_eq!(called, "[add][--verbose][--color][never][--tag][a][--tag][b c][n]");
    assert_eq!(client.call_text("remove", json!({ "jobs": 2, "name": "n" })), "[remove][--jobs][2][n]");
    assert!(manifest.contains("# review: "), "{manifest}");
    assert!(client.list("tools").iter().all(|tool| tool["annotations"]["destructiveHint"] == true));
}

#[test]
fn argparse_help_becomes_tools() {
    let (_folder, server, manifest) = served("argparse");
    let client = server.session("2025-11-25");
    assert_eq!(
        arguments(&client),
        ["build quiet:boolean level:enum out:string source!:string", "clean all:boolean"],
        "{manifest}"
    );
    let called = client.call_text("build", json!({ "level": "high", "out": "x", "source": "s" }));
    assert_eq!(called, "[build][--level][high][--out][x][s]");
}

#[test]
fn click_help_becomes_tools() {
    let (_folder, server, manifest) = served("click");
    let expected = ["sync count:integer format:enum shout:boolean source:array target!:string"];
    assert_eq!(arguments(&server.session("2025-11-25")), expected, "{manifest}");
}

#[test]
fn cobra_help_becomes_tools() {
    let (_folder, server, manifest) = served("cobra");
    let client = server.session("2025-11-25");
    let expected = ["get all:boolean label:array output:string kind!:string name:string"];
    assert_eq!(arguments(&client), expected, "{manifest}");
    let called = client.call_text("get", json!({ "label": ["a=b"], "kind": "pod" }));
    assert_eq!(called, "[get][--label][a=b][pod]");
}

#[test]
fn getopt_help_becomes_a_tool() {
    let (_folder, server, manifest) = served("getopt");
    let client = server.session("2025-11-25");
    let expected = ["prog all:boolean color:string lines:integer w:integer file:array"];
    assert_eq!(arguments(&client), expected, "{manifest}");
    let called = client.call_text("prog", json!({ "lines": 3, "w": 80, "file": ["a", "b"] }));
    assert_eq!(called, "[--lines=3][-w][80][a][b]");
    assert!(manifest.contains("`color` cannot be given without a value"), "{manifest}");
}

/// Drafts the tools of the fixture for git, whose program has the name by which folio knows what its options run.
fn served_git() -> (TestFolder, TestServer, String) {
    let folder = program("git");
    fs::rename(folder.join("prog"), folder.join("git")).unwrap();
    let manifest = drafted(&folder, folder.join("git").to_str().unwrap(), &[]);
    let server = ServeCommand::new(&folder.join("out")).stdio();
    (folder, server, manifest)
}

#[test]
fn short_help_is_preferred_to_a_manual_page() {
    let (_folder, server, manifest) = served_git();
    let client = server.session("2025-11-25");
    let expected = [
        "clone bare:boolean decorate:enum no_walk:enum repository!:string directory:string",
        "fetch verbose:boolean depth:string repository:string refspec:array",
        "grep e:string max_count:integer pattern!:string rev:array path:array",
    ];
    assert_eq!(arguments(&client), expected, "{manifest}");
    let called = client.call_text("clone", json!({ "no_walk": "sorted", "bare": true, "repository": "r" }));
    assert_eq!(called, "[clone][--bare][--no-walk=sorted][r]");
    for review in [
        "`--upload-pack` is left out: its value may be code, or a program",
        "`--open-files-in-pager` is left out",
        "`--template` is left out",
        "write `okExit: [0, 1]`",
        "`cwd: \"{{workspace}}\"` in `run`",
        "`-NUM` is left out: it could not be read",
    ] {
        assert!(manifest.contains(review), "{review}:\n{manifest}");
    }
    assert!(!manifest.contains("1----2") && !manifest.contains("checkout"), "{manifest}");
}

#[test]
fn what_drafts_leave_out_is_unsafe_by_hand() {
    for (exec, words) in [
        ("[git, fetch, \"--upload-pack={{p}}\"]", "a value in `--upload-pack` could make `git` run code"),
        ("[git, fetch, --upload-pack, \"{{p}}\"]", "a value in `--upload-pack` could make `git` run code"),
        ("[git, clone, \"--config={{p}}\", x]", "could make a program run code"),
        ("[git, clone, \"--config=core.editor={{p}}\", x]", "a value in `core.editor` could make a program run code"),
        (
            "[git, grep, \"--open-files-in-pager={{p}}\"]",
            "a value in `--open-files-in-pager` could make `git` run code",
        ),
        ("[curl, -K, \"{{p}}\"]", "a value in `-K` could make `curl` run code"),
        ("[rg, \"--pre={{p}}\", x]", "a value in `--pre` could make `rg` run code"),
    ] {
        let manifest = format!(
            "folio: 1\nserver: {{ name: x }}\ntools:\n  t:\n    description: T\n    arguments: {{ p: {{}} }}\n    run: {{ exec: {exec} }}\n"
        );
        let folder = TestFolder::new(&[("folio.yaml", &manifest)]);
        let ran = run_folio(folder.path(), &["check", "--format", "lines"]);
        assert!(ran.code == Some(1) && ran.out.contains("[unsafe]") && ran.out.contains(words), "{exec}: {ran:?}");
    }
}

#[test]
fn curl_help_becomes_a_tool_with_one_positional() {
    let folder = TestFolder::new(&[]);
    let help = "Usage: curl [options...] <url>\n -d, --data <data>          HTTP POST data\n -f, --fail                 \
                Fail fast with no output on HTTP errors\n -K, --config <file>        Read config from a file\n\n\
                This is not the full help, this menu is split into categories.\nUse \"--help all\" for all.\n";
    folder.write("curl", format!("#!/bin/sh\ncat <<'END'\n{help}END\n"));
    fs::set_permissions(folder.join("curl"), PermissionsExt::from_mode(0o755)).unwrap();
    let manifest = drafted(&folder, folder.join("curl").to_str().unwrap(), &[]);
    assert!(manifest.contains("url: { required: true }"), "{manifest}");
    assert_eq!(manifest.matches("required: true").count(), 1, "{manifest}");
    assert!(manifest.contains("`--config` is left out"), "{manifest}");
    assert!(manifest.contains("then: [--data, \"{{data}}\"]"), "{manifest}");
    assert!(manifest.contains("description: Run ") && manifest.contains("is not the full one"), "{manifest}");
}

#[test]
fn only_chosen_subcommands_become_tools() {
    let folder = program("clap");
    let command = folder.join("prog").to_str().unwrap().to_owned();
    let manifest = drafted(&folder, &command, &["--only", "rem*"]);
    assert!(manifest.contains("\n  remove:\n") && !manifest.contains("\n  add:\n"), "{manifest}");
    let again = run_folio(folder.path(), &["init", "out", "--command", &command]);
    assert!(again.code == Some(1) && again.err.contains("already exist"), "{again:?}");
    let none = run_folio(folder.path(), &["init", "other", "--command", &command, "--only", "x"]);
    assert!(none.code == Some(2) && none.err.contains("no subcommand matches `x`"), "{none:?}");
    let updated = run_folio(folder.path(), &["init", "other", "--command", &command, "--update"]);
    assert!(
        updated.code == Some(2) && updated.err.contains("'--update'") && updated.err.contains("'--command"),
        "{updated:?}"
    );
    let alone = program("getopt");
    let command = alone.join("prog").to_str().unwrap().to_owned();
    let none = run_folio(alone.path(), &["init", "other", "--command", &command, "--only", "x"]);
    assert!(none.code == Some(2) && none.err.contains("`--only` chooses subcommands"), "{none:?}");
    let braces = run_folio(alone.path(), &["init", "other", "--command", &format!("{command} {{{{x}}}}")]);
    assert!(braces.code == Some(2) && braces.err.contains("would be part of a template"), "{braces:?}");
    assert!(!alone.join("other").exists());
    assert!(!folder.join("other").exists());
}

#[test]
fn programs_of_this_machine_become_tools() {
    for command in ["tar", "python3 -m json.tool", "cargo", "git", "ls", "curl", "grep", "sed", "find", "rsync"] {
        let program = command.split(' ').next().unwrap();
        if Command::new(program).arg("--help").output().is_err() {
            eprintln!("no `{program}` here");
            continue;
        }
        let folder = TestFolder::new(&[]);
        let only: &[&str] = match command {
            "cargo" => &["--only", "[a-c]*"],
            "git" => &["--only", "[a-c]*", "--only", "[f-g]*", "--only", "pu*", "--only", "rebase"],
            _ => &[],
        };
        let manifest = drafted(&folder, command, only);
        assert!(manifest.contains("exec:"), "{manifest}");
        assert!(manifest.matches("required: true").count() < 12, "{manifest}");
    }
}

#[test]
fn program_without_help_is_an_error() {
    let folder = TestFolder::new(&[]);
    folder.write("silent", "#!/bin/sh\n");
    fs::set_permissions(folder.join("silent"), PermissionsExt::from_mode(0o755)).unwrap();
    let silent = folder.join("silent").to_str().unwrap().to_owned();
    for (command, words) in
        [("no-such-program-here", "no-such-program-here"), (&*silent, "prints nothing that can be read")]
    {
        let ran = run_folio(folder.path(), &["init", "out", "--command", command]);
        assert!(ran.code == Some(2) && ran.err.contains(words), "{ran:?}");
        assert!(!folder.join("out").exists());
    }
}

//! `{{workspace}}`: the folder that the client's user works on, and `--env`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::*;

const MANIFEST: &str = r#"
folio: 1
server: { name: workspace }
env: { WORD: {} }
folders: { w: "{{workspace}}" }
resources:
  files: { uri: "work://{+path}", root: "{{workspace}}", description: Files }
tools:
  read: { description: D, arguments: { path: {} }, run: { file: { read: "{{path}}", in: w } } }
  pwd: { description: D, run: { exec: [pwd], cwd: "{{workspace}}" } }
  word: { description: D, result: { text: "{{env.WORD}}" } }
"#;

fn workspace() -> TestFolder {
    TestFolder::new(&[
        ("server/folio.yaml", MANIFEST),
        ("work/a.txt", "mine"),
        ("other/a.txt", "other"),
        ("secret", "SECRET"),
    ])
}

fn called(client: &TestClient, tool: &str, arguments: Value) -> String {
    text_of(&client.call(tool, arguments)["content"][0])
}

#[test]
fn flag_precedes_variable_and_variable_the_current_folder() {
    let folder = workspace();
    let at = |path: &str| fs::canonicalize(folder.join(path)).unwrap().to_str().unwrap().to_owned();
    let server = folder.join("server");
    let commands = [
        (
            ServeCommand::new(&server)
                .env("FOLIO_WORKSPACE", &at("other"))
                .flag(&format!("--workspace={}", at("work"))),
            "work",
        ),
        (ServeCommand::new(&server).env("FOLIO_WORKSPACE", &at("other")), "other"),
        (ServeCommand::wrapped_by(&["env", "-C", &at("work")], &server).env("FOLIO_WORKSPACE", ""), "work"),
        (
            ServeCommand::wrapped_by(&["env", "-C", &at("work")], &server).env("FOLIO_WORKSPACE", "${workspaceFolder}"),
            "work",
        ),
    ];
    for (command, expected) in commands {
        let server = command.stdio();
        let client = server.client(SESSION_VERSIONS[3]);
        let content = fs::read_to_string(folder.join(expected).join("a.txt")).unwrap();
        assert_eq!(called(&client, "pwd", json!({})).trim(), at(expected));
        assert_eq!(called(&client, "read", json!({ "path": "a.txt" })), content);
        assert!(called(&client, "read", json!({ "path": at("secret") })).contains("outside"));
        let read = client.result("resources/read", json!({ "uri": "work://a.txt" }));
        assert_eq!(read["contents"][0]["text"], content.as_str(), "{read}");
        assert!(client.error("resources/read", json!({ "uri": "work://../secret" }))["code"].is_number());
    }
}

#[test]
fn check_says_the_workspace() {
    let folder = workspace();
    let (server, work) = (folder.join("server"), folder.join("work"));
    let ran = run_folio(Path::new("/"), &["check", server.to_str().unwrap(), "--workspace", work.to_str().unwrap()]);
    assert!(ran.out.ends_with(&format!("workspace: {}\n", work.display())), "{ran:?}");
    let plain = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools: { t: { description: D, result: { text: x } } }\n",
    );
    let ran = run_folio(Path::new("/"), &["check", plain.path().to_str().unwrap()]);
    assert!(!ran.out.contains("workspace"), "{ran:?}");
}

#[test]
fn workspace_is_hidden_from_packs_without_the_grant() {
    let pack = "folio: 1\nserver: { name: p }\nresources: { r: { uri: \"w://{+path}\", root: \"{{workspace}}\", description: D } }\n";
    for (allow, missing) in [("", true), (", allow: [files]", false)] {
        let manifest = format!("folio: 1\nserver: {{ name: s }}\npacks: {{ p: {{ path: p{allow} }} }}\n");
        let folder = TestFolder::new(&[("folio.yaml", &manifest), ("p/folio.yaml", pack), ("p/a", "a")]);
        let at = folder.path().to_str().unwrap();
        let ran = run_folio(Path::new("/"), &["check", at, "--workspace", at]);
        assert_eq!(ran.out.contains("missing grant `files`"), missing, "{ran:?}");
    }
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools: { t: { description: D, result: { text: \"{{workspace}}\" } } }\n",
    );
    let ran = run_folio(Path::new("/"), &["check", folder.path().to_str().unwrap()]);
    assert!(ran.code == Some(1) && ran.out.contains("`workspace`"), "{ran:?}");
}

#[test]
fn env_flag_sets_variables() {
    let folder = workspace();
    let command = ServeCommand::new(&folder.join("server")).env("WORD", "outer").flag("--env=WORD=a=b");
    let server = command.flag(&format!("--workspace={}", folder.join("work").display())).stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    assert_eq!(called(&client, "word", json!({})), "a=b");
    let mark = server.log.line_count();
    folder.rename_over("server/folio.yaml", MANIFEST.replace("text: \"{{env.WORD}}\"", "text: \"{{env.WORD}}!\""));
    server.log.wait_for_reload(mark);
    assert_eq!(called(&client, "word", json!({})), "a=b!");
    let ran = run_folio(Path::new("/"), &["serve", "--env", "a b=c", folder.path().to_str().unwrap()]);
    assert!(ran.code == Some(2) && ran.err.contains("expected NAME=VALUE"), "{ran:?}");
}

const NAMED_FOLDERS: &str = r#"
folio: 1
server: { name: named }
env: { NOTES: {}, PROGRAM: { default: cat } }
folders: { n: "{{env.NOTES}}" }
resources:
  files: { uri: "notes://{+path}", root: "{{env.NOTES}}" }
tools:
  read: { description: D, arguments: { path: {} }, run: { file: { read: "{{path}}", in: n } } }
  pwd: { description: D, run: { exec: [pwd], cwd: "{{env.NOTES}}" } }
  inside: { description: D, arguments: { path: { within: "{{env.NOTES}}" } }, result: { text: "{{path}}" } }
  held: { description: D, run: { exec: [cat, a.md], cwd: "{{env.NOTES}}", sandbox: { read: ["{{env.NOTES}}"] } } }
  program: { description: D, run: { exec: ["{{env.PROGRAM}}"] } }
  work: { description: D, run: { exec: [pwd], cwd: "{{workspace}}" } }
"#;

#[test]
fn tilde_in_values_is_the_home_folder() {
    let folder = TestFolder::new(&[
        ("desk/folio.yaml", NAMED_FOLDERS),
        ("notes/a.md", "mine"),
        ("tool", "#!/bin/sh\necho ran\n"),
    ]);
    let home = fs::canonicalize(folder.path()).unwrap();
    let (home, notes) = (home.to_str().unwrap(), home.join("notes").to_str().unwrap().to_owned());
    fs::set_permissions(folder.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    // As a host starts it, without a shell.
    let command = ServeCommand::new(Path::new("~/desk")).env("HOME", home).env("NOTES", "~/notes");
    let server = command.env("PROGRAM", "~/tool").flag("--workspace=~/notes").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for path in ["a.md", "~/notes/a.md"] {
        assert_eq!(called(&client, "read", json!({ "path": path })), "mine", "{path}");
    }
    assert!(called(&client, "read", json!({ "path": "~/tool" })).contains("outside of the folder"));
    assert_eq!(called(&client, "inside", json!({ "path": "~/notes/a.md" })), format!("{notes}/a.md"));
    assert!(called(&client, "inside", json!({ "path": "~/tool" })).contains("must be inside"));
    assert_eq!(client.read_text("notes://a.md"), "mine");
    for (tool, said) in [("pwd", notes.as_str()), ("work", &notes), ("held", "mine"), ("program", "ran")] {
        assert_eq!(called(&client, tool, json!({})).trim(), said, "{tool}");
    }
    let ran = folio(&folder, &["call", "work", "-f", "~/desk"], &[("HOME", home), ("FOLIO_WORKSPACE", "~/notes")]);
    assert_eq!(ran.out.trim(), notes, "{}", ran.err);
    let ran = folio(&folder, &["check", "~/desk"], &[("HOME", home), ("NOTES", "~/notes")]);
    assert!(ran.code == Some(0) && ran.out.contains("no warnings"), "{}", ran.out);
}

fn folio(folder: &TestFolder, arguments: &[&str], variables: &[(&str, &str)]) -> CommandOutput {
    let mut command = Command::new(FOLIO_BIN);
    let output = command.args(arguments).current_dir(folder.path()).envs(variables.iter().copied()).output().unwrap();
    CommandOutput {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn value_that_is_no_folder_is_shown_whole_with_its_reason() {
    let manifest = NAMED_FOLDERS.replace(
        "  files: { uri: \"notes://{+path}\", root: \"{{env.NOTES}}\" }\n",
        "  none: { uri: \"n://n\", text: n }\n",
    );
    let folder = TestFolder::new(&[("folio.yaml", &manifest), ("root/folio.yaml", NAMED_FOLDERS)]);
    for (value, help) in [
        ("~/no/such", "make it, or correct the value"),
        ("~nobody/notes", "only a leading `~/` is expanded"),
        ("$HOME/notes", "`$NAME` is not expanded in a value"),
        ("\"/tmp\"", "the quotes are part of the value"),
        ("no/such", "a relative path begins in the folder of the manifest"),
        ("/no/such/folder", "make it, or correct the value"),
    ] {
        let variables = [("HOME", "/home/somebody"), ("NOTES", value)];
        let message = format!("the value of `NOTES` is not a folder: `{value}`");
        let ran = folio(&folder, &["check"], &variables);
        assert!(ran.code == Some(0) && ran.out.contains(&message) && ran.out.contains(help), "{value}: {}", ran.out);
        let ran = folio(&folder, &["check", "root"], &variables);
        assert!(ran.code == Some(1) && ran.out.contains(&format!("error[not-found]: {message}")), "{}", ran.out);
        let whole = value.replace('~', if value.starts_with("~/") { "/home/somebody" } else { "~" });
        let ran = folio(&folder, &["call", "read", "path=a"], &variables);
        assert!(ran.err.contains(&format!("no such file or folder: `{whole}`")), "{value}: {}", ran.err);
        let ran = folio(&folder, &["call", "pwd"], &variables);
        assert!(ran.err.contains(&message), "{value}: {}", ran.err);
    }
    let argument = "folio: 1\nserver: { name: s }\nenv: { NOTES: {} }\ntools: { t: { description: D, run: { exec: [ls, \"{{env.NOTES}}\"] } } }\n";
    let folder = TestFolder::with_manifest(argument);
    let ran = folio(&folder, &["check"], &[("NOTES", "~/notes")]);
    assert!(ran.out.contains("`~` in the value of `NOTES` is not expanded in an argument"), "{}", ran.out);
}

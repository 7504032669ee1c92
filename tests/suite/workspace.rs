//! `{{workspace}}`: the folder that the client's user works on, and `--env`.

use std::fs;
use std::path::Path;

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

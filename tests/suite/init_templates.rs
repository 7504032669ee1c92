//! `folio init --template`: each begins with a server that checks, passes its tests and is served, and ends with what to
//! paste into a client.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{CommandOutput, FOLIO_BIN, ServeCommand, TestFolder, run_folio};

const TEMPLATES: [&str; 6] = ["hello", "prompts", "docs", "api", "ops", "team"];

fn init(template: &str) -> (TestFolder, CommandOutput) {
    let folder = TestFolder::new(&[]);
    let ran = run_folio(folder.path(), &["init", "desk", "--template", template]);
    assert_eq!(ran.code, Some(0), "{template}: {ran:?}");
    (folder, ran)
}

/// A request to an entry of a template, and what its answer holds.
fn request(template: &str) -> (&'static str, Value, &'static str) {
    match template {
        "hello" => ("prompts/get", json!({ "name": "greet", "arguments": { "who": "Ada" } }), "warm greeting for Ada"),
        "prompts" => ("prompts/get", json!({ "name": "review", "arguments": { "code": "x" } }), "Be brief"),
        "docs" => {
            ("tools/call", json!({ "name": "search-docs", "arguments": { "text": "save it" } }), "first-steps.md:3")
        }
        "api" => ("tools/call", json!({ "name": "list-tickets", "arguments": { "limit": 0 } }), "at least 1"),
        "ops" => ("tools/call", json!({ "name": "tail-log", "arguments": { "log": "app.log" } }), "out of memory"),
        "team" => ("prompts/get", json!({ "name": "style-plain", "arguments": { "text": "x" } }), "short sentences"),
        other => panic!("no request of {other}"),
    }
}

#[test]
fn every_template_is_in_the_help() {
    let help = run_folio(Path::new("/"), &["init", "--help"]).out;
    let listed = help.split("--template").nth(1).unwrap().split("--openapi").next().unwrap();
    let names = listed.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(':').next());
    assert_eq!(names.collect::<Vec<_>>(), TEMPLATES);
}

#[test]
fn template_checks_passes_its_tests_and_is_served() {
    for template in TEMPLATES {
        let (folder, _) = init(template);
        let desk = folder.join("desk");
        let checked =
            run_folio(&desk, &["check", "--strict", "--format", "lines", "--clients", "claude-code,vscode,codex"]);
        assert_eq!((checked.code, checked.out.as_str()), (Some(0), ""), "{template}: {checked:?}");
        let tested = run_folio(&desk, &["test"]);
        assert_eq!(tested.code, Some(0), "{template}: {tested:?}");
        assert!(tested.out.contains("; 0 failed; 0 skipped"), "{template}: {}", tested.out);
        let (method, params, expected) = request(template);
        let answer = ServeCommand::new(&desk).stdio().session("2025-11-25").request(method, params);
        assert!(answer.to_string().contains(expected), "{template}: {answer}");
    }
}

#[test]
fn files_of_a_template_are_commented_and_named_after_the_folder() {
    for template in TEMPLATES {
        let (folder, ran) = init(template);
        let manifest = fs::read_to_string(folder.join("desk/folio.yaml")).unwrap();
        let readme = fs::read_to_string(folder.join("desk/README.md")).unwrap();
        assert!(manifest.contains("\n  name: \"desk\"\n") && readme.starts_with("# desk\n"), "{template}");
        assert!(manifest.contains("\ntests:") && manifest.matches("# ").count() >= 5, "{template}");
        for line in ran.out.lines().filter_map(|line| line.strip_prefix("wrote ")) {
            let text = fs::read_to_string(folder.join(line)).unwrap();
            assert!(!text.contains("my-server"), "{template}: {line}");
        }
    }
}

#[test]
fn commands_to_try_run() {
    for template in TEMPLATES {
        let (folder, ran) = init(template);
        let (_, after) = ran.out.split_once("Try it:\n").unwrap();
        let commands: Vec<&str> = after.lines().map_while(|line| line.strip_prefix("  folio ")).collect();
        assert!(commands.len() >= 3, "{template}: {}", ran.out);
        for command in commands {
            let words: Vec<String> = shell_words(command);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let tried = run_folio(folder.path(), &words);
            assert_eq!(tried.code, Some(0), "{template}: {command}: {tried:?}");
        }
    }
}

/// Words of a command, with single quotes.
fn shell_words(command: &str) -> Vec<String> {
    let parts = command.split('\'').enumerate();
    let words = parts.flat_map(|(number, part)| match number % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

#[test]
fn configurations_to_paste_have_absolute_paths() {
    let folder = TestFolder::new(&[]);
    let ran = run_folio(folder.path(), &["init", "desk"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let desk = fs::canonicalize(folder.join("desk")).unwrap().display().to_string();
    let program = fs::canonicalize(FOLIO_BIN).unwrap().display().to_string();
    let blocks: Vec<Value> = ran.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let [vscode, others] = blocks.as_slice() else { panic!("{}", ran.out) };
    let server = json!({ "command": program, "args": ["serve", desk] });
    assert_eq!(others, &json!({ "mcpServers": { "desk": server } }));
    assert_eq!(vscode["servers"]["desk"]["type"], "stdio");
    assert_eq!(vscode["servers"]["desk"]["args"], server["args"]);
    assert!(ran.out.contains(&format!("\n  claude mcp add desk -- {program} serve {desk}\n")), "{}", ran.out);
}

#[test]
fn template_overwrites_nothing() {
    let folder = TestFolder::new(&[("desk/prompts", "mine"), ("desk/tools/names.yaml", "mine")]);
    let ran = run_folio(folder.path(), &["init", "desk", "--template", "team"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("`desk/prompts`") && ran.err.contains("`desk/tools/names.yaml`"), "{}", ran.err);
    let left: Vec<_> = fs::read_dir(folder.join("desk")).unwrap().collect();
    assert_eq!((left.len(), fs::read_to_string(folder.join("desk/prompts")).unwrap().as_str()), (2, "mine"));
}

#[test]
fn missing_manifest_names_init_and_the_absolute_path() {
    let folder = TestFolder::new(&[("my desk/notes.txt", "")]);
    let absolute = fs::canonicalize(folder.path()).unwrap().display().to_string();
    for command in ["serve", "check", "dev", "test", "list"] {
        let ran = run_folio(&fs::canonicalize(folder.path()).unwrap(), &[command]);
        let expected = format!(
            "error: no folio.yaml in `{absolute}`\nhelp: write a server with `folio init`, or name the folder of one\n"
        );
        assert_eq!((ran.code, ran.err), (Some(2), expected), "{command}");
        let ran = run_folio(&fs::canonicalize(folder.path()).unwrap(), &[command, "my desk"]);
        let expected = format!(
            "error: no folio.yaml in `{absolute}/my desk`\nhelp: write a server with `folio init 'my desk'`, or name the folder of one\n"
        );
        assert_eq!((ran.code, ran.err), (Some(2), expected), "{command}");
        let ran = run_folio(&fs::canonicalize(folder.path()).unwrap(), &[command, "nowhere"]);
        assert_eq!(ran.err, format!("error: no such file or folder: `{absolute}/nowhere`\n"), "{command}");
    }
}

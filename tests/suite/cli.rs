//! The command line does what `--help` documents.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::every_client::DESK;
use crate::harness::*;

const COMMANDS: [&str; 10] = ["serve", "check", "list", "get", "call", "read", "test", "schema", "init", "completions"];

/// Runs in `folder`, and must end well.
fn run_ok(folder: &Path, arguments: &[&str]) -> String {
    let ran = run_folio(folder, arguments);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}: {ran:?}");
    ran.out
}

/// Runs, and must end with this status, one line for a person on stderr and nothing on stdout.
fn refused(folder: &Path, arguments: &[&str], code: i32) -> String {
    let ran = run_folio(folder, arguments);
    assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{arguments:?}: {ran:?}");
    assert!(!ran.err.is_empty() && !ran.err.contains("panicked") && !ran.err.contains("backtrace"), "{ran:?}");
    ran.err
}

#[test]
fn help_lists_every_command() {
    let help = run_ok(Path::new("/"), &["--help"]);
    for command in COMMANDS {
        assert!(help.contains(command), "{command}");
        for flag in ["--help", "-h"] {
            let of_it = run_ok(Path::new("/"), &[command, flag]);
            assert!(of_it.contains(&format!("Usage: folio {command}")), "{of_it}");
        }
    }
    assert!(run_ok(Path::new("/"), &["-h"]).len() < help.len());
    let version = run_ok(Path::new("/"), &["--version"]);
    assert_eq!(version, format!("folio {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn usage_error_exits_with_2() {
    let folder = TestFolder::with_manifest(DESK);
    for arguments in [
        &["chekc"][..],
        &["check", "--strct"],
        &["check", "a", "b"],
        &["check", "--format", "xml"],
        &["serve", "--http", "no:port"],
        &["serve", "--no-watch", "--poll"],
        &["serve", "--insecure"],
        &["serve", "--poll", "soon"],
        &["get"],
        &["completions", "dos"],
        &["check", "--log-level", "loud"],
    ] {
        refused(folder.path(), arguments, 2);
    }
    assert_eq!(run_folio(folder.path(), &[]).code, Some(2));
    assert!(refused(folder.path(), &["chekc"], 2).contains("check"), "did you mean");
}

#[test]
fn missing_path_exits_with_2_in_every_command() {
    let folder = TestFolder::new(&[("empty/.keep", "")]);
    for path in ["nowhere", "empty"] {
        for arguments in [
            &["check", path][..],
            &["list", path],
            &["serve", path],
            &["get", "x", "-f", path],
            &["call", "x", "-f", path],
            &["read", "x://y", "-f", path],
        ] {
            let error = refused(folder.path(), arguments, 2);
            assert!(error.contains(path), "{error}");
        }
    }
}

#[test]
fn check_exit_codes() {
    let right = TestFolder::with_manifest(DESK);
    assert_eq!(run_folio(right.path(), &["check"]).code, Some(0));
    assert_eq!(run_folio(right.path(), &["check", "--strict"]).code, Some(0));
    let wrong = TestFolder::with_manifest("folio: 1\nserver: { name: x }\npromts: {}\n");
    let ran = run_folio(wrong.path(), &["check"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("promts") && ran.out.contains("prompts") && ran.out.contains("folio.yaml:3:1"), "{ran:?}");
    let warned = TestFolder::with_manifest(
        "folio: 1\nserver: { name: x }\nprompts:\n  p: { arguments: { a: { required: true, default: x } }, text: \"{{a}}\" }\n",
    );
    assert_eq!(run_folio(warned.path(), &["check"]).code, Some(0));
    assert_eq!(run_folio(warned.path(), &["check", "--strict"]).code, Some(1));
}

#[test]
fn check_json_and_lines_formats() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: x }\nprompts:\n  p: { text: \"{{nobody}}\" }\npromts: {}\n",
    );
    let ran = run_folio(folder.path(), &["check", "--format", "json"]);
    assert_eq!(ran.code, Some(1));
    let list: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(list.len(), 2, "{list:?}");
    for diagnostic in &list {
        let keys: Vec<&str> = diagnostic.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["code", "severity", "message", "file", "line", "column", "endLine", "endColumn", "help"]);
        assert_eq!(diagnostic["severity"], "error");
        assert!(diagnostic["file"].as_str().unwrap().ends_with("folio.yaml"));
    }
    let variable = list.iter().find(|diagnostic| diagnostic["code"] == "unknown-variable").unwrap();
    assert_eq!((&variable["line"], &variable["endLine"]), (&json!(4), &json!(4)));
    let (from, to) = (variable["column"].as_u64().unwrap(), variable["endColumn"].as_u64().unwrap());
    let line = "  p: { text: \"{{nobody}}\" }";
    assert_eq!(&line[usize::try_from(from).unwrap() - 1..usize::try_from(to).unwrap() - 1], "nobody");
    let lines = run_folio(folder.path(), &["check", "--format", "lines"]);
    for line in lines.out.lines() {
        let (place, rest) = line.split_once(": error[").unwrap();
        let numbers: Vec<&str> = place.rsplitn(3, ':').collect();
        assert!(
            numbers[0].parse::<u32>().is_ok() && numbers[1].parse::<u32>().is_ok() && rest.contains("]: "),
            "{line}"
        );
    }
    assert_eq!(lines.out.lines().count(), 2);
    let fine = TestFolder::with_manifest(DESK);
    assert_eq!(run_ok(fine.path(), &["check", "--format", "json"]).trim(), "[]");
    assert_eq!(run_ok(fine.path(), &["check", "--format", "lines"]), "");
}

#[test]
fn color_flag_controls_ansi() {
    let folder = TestFolder::with_manifest("folio: 1\nserver: { name: x }\npromts: {}\n");
    assert!(!run_folio(folder.path(), &["check"]).out.contains('\u{1b}'));
    assert!(run_folio(folder.path(), &["check", "--color", "always"]).out.contains('\u{1b}'));
}

#[test]
fn list_shows_what_a_client_sees() {
    let folder = TestFolder::with_manifest(DESK);
    let text = run_ok(folder.path(), &["list"]);
    for name in ["greet", "count", "bare", "echo", "shout", "about://desk", "note://{id}"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    let lists: Value = serde_json::from_str(&run_ok(folder.path(), &["list", "--json"])).unwrap();
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    for of in ["tools", "prompts", "resources", "resourceTemplates"] {
        assert_eq!(lists[of], json!(client.list(of)), "{of}");
    }
}

#[test]
fn get_call_and_read_print_the_client_result() {
    let folder = TestFolder::with_manifest(DESK);
    let path = folder.path();
    assert_eq!(run_ok(path, &["get", "greet", "who=Ada"]).trim_end(), "Say a warm hello to Ada.");
    assert_eq!(run_ok(path, &["call", "echo", "text=hi", "times=2"]).trim_end(), "hi x2");
    assert_eq!(run_ok(path, &["call", "echo", "text=12"]).trim_end(), "12 x1");
    assert_eq!(run_ok(path, &["read", "note://one"]).trim_end(), "Note one");
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let whole = |arguments: &[&str]| serde_json::from_str::<Value>(&run_ok(path, arguments)).unwrap();
    let got = client.result("prompts/get", json!({ "name": "count", "arguments": { "n": "2" } }));
    assert_eq!(whole(&["get", "count", "n=2", "--json"])["messages"], got["messages"]);
    let called = client.call("echo", json!({ "text": "a", "times": 3 }));
    assert_eq!(whole(&["call", "echo", "text=a", "times=3", "--json"])["content"], called["content"]);
    let read = client.result("resources/read", json!({ "uri": "about://blob" }));
    assert_eq!(whole(&["read", "about://blob", "--json"])["contents"], read["contents"]);
}

#[test]
fn get_call_and_read_failures_exit_with_1() {
    let folder = TestFolder::with_manifest(DESK);
    for (arguments, named) in [
        (&["get", "gret", "who=x"][..], "gret"),
        (&["get", "greet", "who=x", "tone=loud"], "tone"),
        (&["get", "count", "n=many"], "n"),
        (&["call", "ehco", "text=x"], "ehco"),
        (&["read", "about://nowhere"], "about://nowhere"),
        (&["read", "no uri"], "no uri"),
    ] {
        let error = refused(folder.path(), arguments, 1);
        assert!(error.contains(named), "{arguments:?}: {error}");
    }
    assert!(refused(folder.path(), &["call", "fails"], 1).contains("sorry"));
    for (arguments, named) in
        [(&["get", "greet"][..], "who"), (&["call", "echo"], "text"), (&["get", "greet", "who"], "who")]
    {
        assert!(refused(folder.path(), arguments, 2).contains(named), "{arguments:?}");
    }
    refused(folder.path(), &["call", "echo", "=x"], 2);
}

#[test]
fn one_text_for_a_list_shows_what_to_write() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  t: { description: D, arguments: { tags: { type: array } }, result: { text: \"{{join tags ','}}\" } }\n",
    );
    let error = refused(folder.path(), &["call", "t", "tags=sf"], 2);
    assert_eq!(error, "error: argument `tags` of tool `t` is a list\nhelp: write `tags='[\"sf\"]'`\n");
    assert_eq!(run_ok(folder.path(), &["call", "t", "tags=[\"sf\"]"]).trim_end(), "sf");
}

#[test]
fn argument_value_from_file_or_stdin() {
    let folder = TestFolder::new(&[("folio.yaml", DESK), ("who.txt", "Grace")]);
    assert_eq!(run_ok(folder.path(), &["get", "greet", "who=@who.txt"]).trim_end(), "Say a warm hello to Grace.");
    let fed = run_folio_with_input(folder.path(), &["get", "greet", "who=@-"], b"Edsger");
    assert_eq!(fed.out.trim_end(), "Say a warm hello to Edsger.", "{fed:?}");
    assert_eq!(run_ok(folder.path(), &["get", "greet", "who=@@home"]).trim_end(), "Say a warm hello to @home.");
    assert_eq!(run_folio(folder.path(), &["get", "greet", "who=@nowhere"]).code, Some(2));
}

#[test]
fn paths_resolve_from_any_working_directory() {
    let folder = TestFolder::new(&[
        (
            "desk/folio.yaml",
            "folio: 1\nserver: { name: s }\nprompts:\n  p: { text: { file: docs/p.txt } }\ntools:\n  where: { description: Where, run: { exec: [cat, docs/p.txt] } }\nresources:\n  r: { uri: \"r://r\", file: docs/p.txt }\n",
        ),
        ("desk/docs/p.txt", "found"),
        ("elsewhere/.keep", ""),
    ]);
    let absolute = folder.join("desk").to_str().unwrap().to_owned();
    let manifest = folder.join("desk/folio.yaml").to_str().unwrap().to_owned();
    for (from, path) in [
        ("desk", "."),
        ("desk", "folio.yaml"),
        ("desk/docs", ".."),
        ("elsewhere", "../desk"),
        ("elsewhere", "../desk/folio.yaml"),
        ("elsewhere", absolute.as_str()),
        ("elsewhere", manifest.as_str()),
    ] {
        let from = folder.join(from);
        for arguments in [&["get", "p"][..], &["call", "where"], &["read", "r://r"]] {
            let out = run_ok(&from, &[arguments, &["-f", path]].concat());
            assert_eq!(out.trim_end(), "found", "{arguments:?} -f {path}");
        }
        assert_eq!(run_folio(&from, &["check", path]).code, Some(0));
    }
}

#[test]
fn init_writes_valid_server_and_never_overwrites() {
    let folder = TestFolder::new(&[]);
    let new = folder.join("new");
    assert_eq!(run_folio(folder.path(), &["init", "new"]).code, Some(0));
    let manifest = fs::read_to_string(new.join("folio.yaml")).unwrap();
    assert!(manifest.starts_with("# yaml-language-server: $schema="), "{manifest}");
    let checked = run_folio(&new, &["check", "--strict", "--format", "lines"]);
    assert_eq!((checked.code, checked.out.as_str()), (Some(0), ""), "{checked:?}");
    let server = ServeCommand::new(&new).stdio();
    let client = server.session("2025-11-25");
    assert!(!client.list("prompts").is_empty());
    fs::write(new.join("folio.yaml"), "mine").unwrap();
    let again = run_folio(folder.path(), &["init", "new"]);
    assert_ne!(again.code, Some(0), "{again:?}");
    assert_eq!(fs::read_to_string(new.join("folio.yaml")).unwrap(), "mine");
}

#[test]
fn completions_are_scripts_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run_ok(Path::new("/"), &["completions", shell]);
        for command in COMMANDS {
            assert!(script.contains(command), "{command} in {shell}");
        }
    }
}

#[test]
fn broken_pipe_on_stdout_is_silent() {
    let folder = TestFolder::with_manifest(DESK);
    for arguments in [&["schema"][..], &["list", "--json"], &["--help"], &["completions", "bash"]] {
        let mut command = Command::new(FOLIO_BIN);
        command.args(arguments).current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked") && said.is_empty(), "{arguments:?}: {said}");
        assert!(output.status.code().is_some(), "{arguments:?}: {:?}", output.status);
    }
}

#[test]
fn log_level_comes_from_flag_or_environment() {
    let folder = TestFolder::with_manifest(DESK);
    let loud = folder.serve_command().env("FOLIO_LOG", "debug").stdio();
    let quiet = folder.serve_command().env("FOLIO_LOG", "debug").flag("--log-level=off").stdio();
    for server in [&loud, &quiet] {
        server.sessionless().round_trip();
        folder.write("folio.yaml", DESK.replace("Be brief.", "Be brief, or not."));
        wait_until("the edit", || {
            server.sessionless().result("server/discover", json!({}))["instructions"] == "Be brief, or not."
        });
        server.pipe().close();
        server.wait_for_exit(TEST_TIMEOUT).unwrap();
    }
    assert_eq!(quiet.log.text(), "");
}

#[test]
fn unset_required_variable_warns_in_check_fails_serve() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nenv: { FOLIO_SUITE_UNSET: { required: true } }\nprompts:\n  p: { text: \"{{env.FOLIO_SUITE_UNSET}}\" }\n",
    );
    let checked = run_folio(folder.path(), &["check"]);
    assert_eq!(checked.code, Some(0));
    assert!(checked.out.contains("FOLIO_SUITE_UNSET"), "{checked:?}");
    let served = run_folio(folder.path(), &["serve"]);
    assert_eq!(served.code, Some(1), "{served:?}");
    assert!(served.err.contains("FOLIO_SUITE_UNSET"), "{served:?}");
    let server = folder.serve_command().env("FOLIO_SUITE_UNSET", "set").stdio();
    assert_eq!(server.sessionless().get_text("p", json!({})), "set");
}

#[test]
fn serve_reports_invalid_manifest_on_stderr() {
    let folder = TestFolder::with_manifest("folio: 1\nserver: { name: s }\nprompts:\n  p: { text: \"{{nobody}}\" }\n");
    let served = run_folio(folder.path(), &["serve"]);
    assert_eq!((served.code, served.out.as_str()), (Some(1), ""), "{served:?}");
    assert!(served.err.contains("nobody") && served.err.contains("folio.yaml:4:"), "{served:?}");
}

/// The system's own words for such a variable hold its value.
#[test]
fn non_utf8_state_key_is_refused_without_printing_it() {
    use std::os::unix::ffi::OsStrExt;

    let folder = TestFolder::with_manifest(DESK);
    let key = std::ffi::OsStr::from_bytes(b"a-key-that-nobody-may-see-in-a-log\xff");
    let mut command = Command::new(FOLIO_BIN);
    command.args(["serve"]).current_dir(folder.path()).env("FOLIO_STATE_KEY", key).stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{said}");
    assert!(said.contains("FOLIO_STATE_KEY is not UTF-8") && !said.contains("nobody-may-see"), "{said}");
}

#[test]
fn failed_call_prints_no_escapes() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  t: { description: D, run: { fail: \"a\\e[31mb\" } }\n",
    );
    let said = refused(folder.path(), &["call", "t"], 1);
    assert!(said.contains("[31mb") && !said.contains('\u{1b}'), "{said:?}");
}

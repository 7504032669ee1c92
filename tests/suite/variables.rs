//! `env` with `file` and `command`: secrets that stand in no environment.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::harness::*;

/// A tool that shows a variable shifted by one letter, which is no secret, and one that repeats what it is given.
fn manifest(declaration: &str) -> String {
    format!(
        r#"
folio: 1
server: {{ name: s }}
env: {{ T: {declaration} }}
tools:
  shifted: {{ description: S, run: {{ exec: [sh, -c, 'printf %s "$T" | tr a-y b-z'], env: {{ T: "{{{{env.T}}}}" }} }} }}
  plain: {{ description: P, run: {{ exec: [sh, -c, 'printf %s "$T"'], env: {{ T: "{{{{env.T}}}}" }} }} }}
  repeat: {{ description: R, arguments: {{ text: {{}} }}, result: {{ text: "{{{{text}}}}" }} }}
"#
    )
}

fn file_manifest(path: &Path) -> String {
    manifest(&format!("{{ file: '{}' }}", path.display()))
}

/// Links in the way of a mounted Kubernetes secret: `token` leads by `..data` into a folder of this version.
fn mount(folder: &TestFolder, version: &str, value: &str) {
    folder.write(&format!("mount/..{version}/token"), value);
    symlink(format!("..{version}"), folder.join("mount/..data_tmp")).unwrap();
    fs::rename(folder.join("mount/..data_tmp"), folder.join("mount/..data")).unwrap();
}

#[test]
fn file_of_variable_is_read_and_is_secret() {
    let secrets = TestFolder::new(&[("token", "aaaa bbbb cccc\n\r\n")]);
    let folder = TestFolder::with_manifest(&file_manifest(&secrets.join("token")));
    // The file counts, not a variable of its name.
    let server = folder.serve_command().env("T", "from the environment").stdio();
    let client = server.sessionless();
    assert_eq!(client.call_text("shifted", json!({})), "bbbb cccc dddd");
    assert_eq!(client.call_text("plain", json!({})), "[secret]");
    folder.write("folio.yaml", manifest(&format!("{{ file: '{}', secret: false }}", secrets.join("token").display())));
    let ran = run_folio(folder.path(), &["call", "plain"]);
    assert_eq!(ran.out, "aaaa bbbb cccc\n", "{}", ran.err);
}

#[test]
fn byte_order_mark_is_no_part_of_a_value() {
    let secrets = TestFolder::new(&[("token", "\u{feff}aaaa bbbb cccc\n")]);
    let from_command = manifest(&format!("{{ command: [cat, '{}'] }}", secrets.join("token").display()));
    for manifest in [file_manifest(&secrets.join("token")), from_command] {
        let folder = TestFolder::with_manifest(&manifest);
        assert_eq!(folder.stdio().sessionless().call_text("shifted", json!({})), "bbbb cccc dddd");
    }
}

#[test]
fn change_of_secret_file_is_served() {
    let secrets = TestFolder::new(&[("token", "first-aaaa")]);
    let folder = TestFolder::with_manifest(&file_manifest(&secrets.join("token")));
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    client.round_trip();
    let expect = |value: &str, shifted: &str, change: &dyn Fn()| {
        let mark = server.log.line_count();
        change();
        server.log.wait_for_reload(mark);
        assert_eq!(client.call_text("shifted", json!({})), shifted);
        assert_eq!(client.call_text("repeat", json!({ "text": value })), "[secret]");
    };
    expect("second-bbbb", "tfdpoe-cccc", &|| secrets.write("token", "second-bbbb\n"));
    expect("third-cccc", "uijse-dddd", &|| secrets.rename_over("token", "third-cccc"));
    // The one before may still be in an answer.
    assert_eq!(client.call_text("repeat", json!({ "text": "second-bbbb" })), "[secret]");
    let mark = server.log.line_count();
    secrets.remove("token");
    server.log.wait_for_failed_reload(mark);
    assert_eq!(client.call_text("shifted", json!({})), "uijse-dddd");
    expect("fourth-dddd", "gpvsui-eeee", &|| secrets.write("token", "fourth-dddd"));
    assert!(!server.log.text().contains("aaaa") && !server.log.text().contains("dddd"), "{}", server.log.text());
}

#[test]
fn swapped_mount_of_secret_is_served() {
    for flag in [None, Some("--poll=100ms")] {
        let secrets = TestFolder::new(&[]);
        mount(&secrets, "1", "first-aaaa");
        symlink("..data/token", secrets.join("mount/token")).unwrap();
        let folder = TestFolder::with_manifest(&file_manifest(&secrets.join("mount/token")));
        let server = flag.into_iter().fold(folder.serve_command(), ServeCommand::flag).stdio();
        let client = server.sessionless();
        assert_eq!(client.call_text("shifted", json!({})), "gjstu-bbbb");
        let mark = server.log.line_count();
        mount(&secrets, "2", "second-bbbb");
        fs::remove_dir_all(secrets.join("mount/..1")).unwrap();
        server.log.wait_for_reload(mark);
        assert_eq!(client.call_text("shifted", json!({})), "tfdpoe-cccc");
    }
}

#[test]
fn unusable_secret_file_is_an_error_at_its_place() {
    let secrets = TestFolder::new(&[("large", &"x".repeat((64 << 10) + 1)), ("empty", "\n"), ("short", "abc")]);
    secrets.write("binary", [0xff, 0xfe]);
    let fifo = std::process::Command::new("mkfifo").arg(secrets.join("fifo")).status().unwrap();
    assert!(fifo.success());
    let at = |name: &str| format!("{{ file: '{}' }}", secrets.join(name).display());
    let cases = [
        (at("none"), "no such file or folder: `none`"),
        (at(""), "is a folder"),
        (at("fifo"), "`fifo` is not a regular file"),
        (at("large"), "file `large` is too large: 65537 bytes, limit 65536"),
        (at("binary"), "is not UTF-8"),
        (at("empty"), "is empty"),
        (at("short"), "secret `T` is too short: 3 characters"),
        ("{ file: secrets/token }".to_owned(), "relative path `secrets/token` of a secret"),
        ("{ file: '' }".to_owned(), "relative path `` of a secret"),
        ("{ file: [a] }".to_owned(), "expected"),
        ("{ file: /etc/hostname, default: x }".to_owned(), "`default` cannot be used with `file`"),
    ];
    for (declaration, message) in cases {
        let folder = TestFolder::with_manifest(&manifest(&declaration));
        for command in ["check", "serve"] {
            let ran = run_folio(folder.path(), &[command]);
            let said = ran.out + &ran.err;
            assert!(ran.code == Some(1) && said.contains(message), "{declaration}: {said}");
            assert!(said.contains("folio.yaml:4:"), "{declaration}: {said}");
        }
    }
}

#[test]
fn files_and_commands_are_refused_in_packs() {
    let secrets = TestFolder::new(&[("token", "aaaa bbbb cccc")]);
    let path = secrets.join("token").display().to_string();
    for (key, declaration) in
        [("file", format!("{{ file: '{path}' }}")), ("command", format!("{{ command: [cat, '{path}'] }}"))]
    {
        let root =
            "folio: 1\nserver: { name: s }\npacks: { p: { path: p, allow: [exec], env: { T: passed-value } } }\n";
        let folder = TestFolder::new(&[("folio.yaml", root), ("p/folio.yaml", &manifest(&declaration))]);
        for command in ["check", "serve"] {
            let ran = run_folio(folder.path(), &[command]);
            let said = ran.out + &ran.err;
            assert_eq!(ran.code, Some(1), "{said}");
            assert!(said.contains(&format!("`{key}` of a variable is not available in packs")), "{said}");
            assert!(said.contains(r#"pass the value from the importer: `env: { T: "{{env.T}}" }`"#), "{said}");
            assert!(!said.contains("bbbb"), "{said}");
        }
    }
}

/// How often the command of a manifest has run, which leaves a line in `runs`.
fn runs(folder: &TestFolder) -> usize {
    fs::read_to_string(folder.join("runs")).unwrap_or_default().lines().count()
}

#[test]
fn command_of_variable_runs_at_start_and_on_sighup() {
    let text = manifest("{ command: [sh, -c, 'echo x >>runs; cat value'] }");
    let folder = TestFolder::new(&[("folio.yaml", &text), ("value", "first-aaaa\n\n")]);
    let server = folder.serve_command().env("T", "from the environment").stdio();
    let client = server.sessionless();
    assert_eq!(client.call_text("shifted", json!({})), "gjstu-bbbb");
    assert_eq!(client.call_text("plain", json!({})), "[secret]");
    let edit = |text: &str| {
        let mark = server.log.line_count();
        folder.rename_over("folio.yaml", text);
        server.log.wait_for_reload(mark);
    };
    folder.write("value", "second-bbbb");
    edit(&format!("{text}prompts: {{ p: {{ text: Hi }} }}\n"));
    assert_eq!((client.call_text("shifted", json!({})), runs(&folder)), ("gjstu-bbbb".to_owned(), 1));
    let hang_up = || {
        let mark = server.log.line_count();
        server.signal("HUP");
        mark
    };
    server.log.wait_for_reload(hang_up());
    assert_eq!((client.call_text("shifted", json!({})), runs(&folder)), ("tfdpoe-cccc".to_owned(), 2));
    // Without a value the last one stays, also for later edits.
    folder.remove("value");
    server.log.wait_for_failed_reload(hang_up());
    assert!(
        server.log.text().contains("command of `T` failed: `sh` exited with code 1: cat: "),
        "{}",
        server.log.text()
    );
    edit(&text);
    assert_eq!((client.call_text("shifted", json!({})), runs(&folder)), ("tfdpoe-cccc".to_owned(), 3));
    edit(&text.replace("cat value", "printf other-cccc"));
    assert_eq!((client.call_text("shifted", json!({})), runs(&folder)), ("puifs-dddd".to_owned(), 4));
    let log = server.log.text();
    assert!(!["aaaa", "bbbb", "cccc", "dddd"].iter().any(|part| log.contains(part)), "{log}");
}

#[test]
fn failing_command_refuses_the_start() {
    let cases = [
        (
            "[sh, -c, 'echo >&2; echo \"no session for $(cat value) \" >&2; echo second >&2; cat value; exit 3']",
            "command of `T` failed: `sh` exited with code 3: no session for [secret]\n",
        ),
        ("[sh, -c, 'kill -9 $$']", "command of `T` failed: `sh` was killed by signal 9"),
        ("[no-such-program-x]", "command of `T` failed: program `no-such-program-x` not found"),
        ("['true']", "command of `T` failed: `true` printed nothing"),
        ("[printf, '\\377\\376aaa']", "command of `T` failed: `printf` printed invalid UTF-8"),
        ("[sh, -c, 'yes | head -c 65537']", "command of `T` failed: `sh` printed more than 65536 bytes"),
        ("[printf, abc]", "secret `T` is too short: 3 characters"),
    ];
    for (command, message) in cases {
        let text = manifest(&format!("{{ command: {command} }}"));
        let folder = TestFolder::new(&[("folio.yaml", &text), ("value", "aaaa bbbb cccc")]);
        for arguments in [&["serve"][..], &["call", "plain"]] {
            let ran = run_folio(folder.path(), arguments);
            let said = ran.out + &ran.err;
            assert!(ran.code == Some(1) && said.contains(message), "{command}: {said}");
            assert!(said.contains("folio.yaml:4:"), "{command}: {said}");
            assert!(!said.contains("bbbb"), "{command}: {said}");
        }
        let ran = run_folio(folder.path(), &["check"]);
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.out);
    }
}

#[test]
fn invalid_command_is_an_error_at_its_place() {
    let cases = [
        ("{ command: [] }", "missing program in `command`"),
        ("{ command: [''] }", "missing program in `command`"),
        ("{ command: op read }", "expected"),
        ("{ command: [[op]] }", "expected"),
        ("{ command: [op], file: /etc/hostname }", "`command` cannot be used with `file`"),
        ("{ command: [op], default: x }", "`default` cannot be used with `command`"),
        ("{ command: [op], secret: false }", "`secret: false` cannot be used with `command`"),
    ];
    for (declaration, message) in cases {
        let folder = TestFolder::with_manifest(&manifest(declaration));
        let ran = run_folio(folder.path(), &["check"]);
        assert!(ran.code == Some(1) && ran.out.contains(message), "{declaration}: {}", ran.out);
        assert!(ran.out.contains("folio.yaml:4:"), "{declaration}: {}", ran.out);
    }
}

#[test]
fn commands_run_for_calls_and_reads_only() {
    let entries = "resources: { r: { uri: 'r://r', run: { exec: [sh, -c, 'printf %s \"$T\" | wc -c'], env: { T: '{{env.T}}' } } } }\nprompts: { p: { text: 'it is <{{env.T}}>' } }\n";
    let text = manifest("{ required: true, command: [sh, -c, 'echo x >>runs; echo aaaabbbb'] }")
        .replace("[sh, -c, 'printf %s \"$T\" | tr a-y b-z']", "[sh, -c, 'printf %s \"$T\" | tr a-y b-z; echo']");
    // A secret may not be in a prompt.
    let folder = TestFolder::with_manifest(&(text + &entries.replace("{{env.T}}>", ">")));
    for arguments in [&["check"][..], &["check", "-v"], &["list"], &["get", "p"], &["call", "shifted", "--dry-run"]] {
        let ran = run_folio(folder.path(), arguments);
        assert_eq!((ran.code, runs(&folder)), (Some(0), 0), "{arguments:?}: {}{}", ran.out, ran.err);
    }
    let ran = run_folio(folder.path(), &["call", "shifted"]);
    assert_eq!((ran.out.as_str(), runs(&folder)), ("bbbbcccc\n", 1), "{}", ran.err);
    let ran = run_folio(folder.path(), &["read", "r://r"]);
    assert_eq!((ran.out.trim(), runs(&folder)), ("8", 2), "{}", ran.err);
    let broken = fs::read_to_string(folder.join("folio.yaml")).unwrap().replace("server:", "servers:");
    folder.write("folio.yaml", broken);
    let ran = run_folio(folder.path(), &["serve"]);
    assert_eq!((ran.code, runs(&folder)), (Some(1), 2), "a manifest with errors runs something");
}

#[cfg(target_os = "linux")]
#[test]
fn command_of_variable_ends_with_the_server() {
    use std::os::unix::process::ExitStatusExt as _;

    let marker = format!("folio-suite-variables-{}", std::process::id());
    let folder = TestFolder::with_manifest(&manifest(&format!("{{ command: [sh, -c, 'sleep 600; :', {marker}] }}")));
    let server = folder.stdio();
    wait_until("the command", || processes_with_argument(&marker).len() == 1);
    // It would end with the first signal, if that ended it.
    server.signal("HUP");
    server.signal("TERM");
    let status = server.wait_for_exit(TEST_TIMEOUT).expect("the server is still there");
    assert_eq!(status.signal(), Some(15), "{status:?}");
    wait_until("the end of the command", || processes_with_argument(&marker).is_empty());
}

#[test]
fn short_secret_does_not_spoil_what_is_said_of_it() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nenv: { T: { secret: true } }\ntools: { t: { description: D, run: { exec: [sh, -c, 'printf %s \"$T\"'], env: { T: '{{env.T}}' } } } }\n",
    );
    let run = |value: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(FOLIO_BIN);
        let output = command.args(arguments).current_dir(folder.path()).env("T", value).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for value in ["short", "secret", "where", "value", "use 8", "`T`"] {
        let length = value.chars().count();
        let message = format!("secret `T` is too short: {length} characters");
        for format in ["text", "json", "lines", "github", "sarif"] {
            let said = run(value, &["check", "--format", format]);
            assert!(said.contains(&message), "{value} {format}: {said}");
        }
        let help = "use 8 characters or more: a shorter value is also redacted where it occurs by chance";
        assert!(length < 4 || run(value, &["check"]).contains(help), "{value}");
        assert!(length < 4 || run(value, &["call", "t"]).trim() == "[secret]", "{value}");
    }
}

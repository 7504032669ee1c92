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
fn secret_file_is_refused_in_packs() {
    let secrets = TestFolder::new(&[("token", "aaaa bbbb cccc")]);
    let pack = file_manifest(&secrets.join("token"));
    let folder = TestFolder::new(&[
        (
            "folio.yaml",
            "folio: 1\nserver: { name: s }\npacks: { p: { path: p, allow: [exec], env: { T: passed-value } } }\n",
        ),
        ("p/folio.yaml", &pack),
    ]);
    let ran = run_folio(folder.path(), &["check"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.out.contains("`file` of a variable is not available in packs"), "{}", ran.out);
    assert!(ran.out.contains(r#"pass the value from the importer: `env: { T: "{{env.T}}" }`"#), "{}", ran.out);
    assert!(!ran.out.contains("bbbb"), "{}", ran.out);
}

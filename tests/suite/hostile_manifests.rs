//! Hostile manifests: each error is reported at its place, and the server continues.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::*;

const GOOD: &str = "folio: 1\nserver: { name: s }\nprompts:\n  p: { text: Hi }\n";

/// How long a refusal may take on a machine that does other things besides.
const LOAD_TIMEOUT: Duration = Duration::from_secs(30);

/// What `check` says of it: refused, soon, with words and a place.
fn refused(folder: &TestFolder) -> String {
    let began = Instant::now();
    let ran = run_folio(folder.path(), &["check", "--format", "lines"]);
    assert!(began.elapsed() < LOAD_TIMEOUT, "it took {:?}", began.elapsed());
    assert_eq!(ran.code, Some(1), "{} {}", short(&ran.out), short(&ran.err));
    assert!(ran.out.contains("error[") && !ran.err.contains("panicked"), "{} {}", short(&ran.out), short(&ran.err));
    assert!(ran.out.len() < 20_000, "a report of {} bytes: {}", ran.out.len(), short(&ran.out));
    // The report for people is drawn from the same, and must be as tame.
    let people = run_folio(folder.path(), &["check"]);
    assert_eq!(people.code, Some(1));
    assert!(people.out.len() < 100_000 && !people.err.contains("panicked"), "{}", short(&people.err));
    ran.out
}

fn short(text: &str) -> String {
    text.chars().take(600).collect()
}

/// Saves it beneath a server that runs, which must stay as it is and take the mend.
fn is_survived(name: &str, make: impl Fn(&TestFolder)) {
    let folder = TestFolder::with_manifest(GOOD);
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    client.round_trip();
    let mark = server.log.line_count();
    make(&folder);
    server.log.wait_for_failed_reload(mark);
    assert_eq!(client.names("prompts"), ["p"], "{name}");
    client.assert_silent();
    let mark = server.log.line_count();
    let path = folder.join("folio.yaml");
    if path.is_dir() {
        fs::remove_dir(&path).unwrap();
    } else {
        fs::remove_file(&path).unwrap();
    }
    folder.write("folio.yaml", GOOD.replace("  p:", "  q:"));
    server.log.wait_for_reload(mark);
    assert_eq!(client.names("prompts"), ["q"], "{name}");
}

fn alias_bomb() -> String {
    let mut text = "folio: 1\nserver: { name: s }\nx-a: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..12 {
        let again = format!("*a{}, ", level - 1).repeat(9);
        text += &format!("x-{level}: &a{level} [{}]\n", again.trim_end_matches(", "));
    }
    text + "prompts:\n  p: { text: Hi }\n"
}

#[test]
fn yaml_alias_bomb_is_refused() {
    let folder = TestFolder::with_manifest(&alias_bomb());
    let said = refused(&folder);
    assert!(said.contains("folio.yaml:"), "{said}");
    is_survived("bomb", |folder| folder.write("folio.yaml", alias_bomb()));
}

#[test]
fn deep_yaml_nesting_is_refused() {
    for deep in [
        format!("folio: 1\nserver: {{ name: s }}\nx-a: {}{}\n", "[".repeat(100_000), "]".repeat(100_000)),
        format!("folio: 1\nserver: {{ name: s }}\nx-a: {}\n", "{a: ".repeat(50_000)),
        format!("folio: 1\nserver: {{ name: s }}\nx-a:\n  {}x\n", "- ".repeat(50_000)),
    ] {
        let folder = TestFolder::with_manifest(&deep);
        let said = refused(&folder);
        assert!(said.contains("folio.yaml:"), "{}", short(&said));
    }
    is_survived("depth", |folder| folder.write("folio.yaml", format!("x: {}", "[".repeat(100_000))));
}

#[test]
fn deep_templates_are_refused() {
    let blocks = format!("{}{}", "{{#if a}}".repeat(2_000), "{{/if}}".repeat(2_000));
    let calls = format!("{{{{upper {}a{}}}}}", "(upper ".repeat(2_000), ")".repeat(2_000));
    for text in [blocks, calls] {
        let folder = TestFolder::with_manifest(&format!(
            "folio: 1\nserver: {{ name: s }}\nprompts:\n  p: {{ arguments: {{ a: {{}} }}, text: \"{text}\" }}\n"
        ));
        refused(&folder);
    }
}

#[test]
fn a_file_of_100_mb_is_refused_unread() {
    let folder = TestFolder::new(&[]);
    let make = |folder: &TestFolder| {
        let file = fs::File::create(folder.join("folio.yaml")).unwrap();
        file.set_len(100_000_000).unwrap();
    };
    make(&folder);
    let ran = run_folio(folder.path(), &["check", "--format", "lines"]);
    assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
    assert!(format!("{}{}", ran.out, ran.err).contains("folio.yaml"), "{ran:?}");
    is_survived("size", make);
}

#[test]
fn oversized_text_file_is_reported_at_reference() {
    let folder =
        TestFolder::with_manifest("folio: 1\nserver: { name: s }\nprompts:\n  p: { text: { file: big.txt } }\n");
    fs::File::create(folder.join("big.txt")).unwrap().set_len(100_000_000).unwrap();
    let said = refused(&folder);
    assert!(said.contains("folio.yaml:4:") && said.contains("big.txt"), "{said}");
}

fn make_fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

#[test]
fn fifo_is_refused_without_blocking() {
    let folder =
        TestFolder::with_manifest("folio: 1\nserver: { name: s }\ninclude: [more.yaml]\nprompts:\n  p: { text: Hi }\n");
    make_fifo(&folder.join("more.yaml"));
    let said = refused(&folder);
    assert!(said.contains("folio.yaml:3:") && said.contains("more.yaml"), "{said}");

    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nresources:\n  files: { uri: \"f://{+path}\", root: . , include: [\"*.txt\"] }\n",
    );
    folder.write("a.txt", "a");
    make_fifo(&folder.join("fifo.txt"));
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let uris: Vec<String> =
        client.list("resources").iter().map(|entry| entry["uri"].as_str().unwrap().to_owned()).collect();
    assert_eq!(uris, ["f://a.txt"]);
    client.error("resources/read", json!({ "uri": "f://fifo.txt" }));
    assert_eq!(client.read_text("f://a.txt"), "a");

    let folder = TestFolder::new(&[]);
    make_fifo(&folder.join("folio.yaml"));
    let ran = run_folio(folder.path(), &["check"]);
    assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
    is_survived("fifo", |folder| {
        folder.remove("folio.yaml");
        make_fifo(&folder.join("folio.yaml"));
    });
}

/// Whoever runs the tests may be allowed everything, so a folder stands where a file should.
#[test]
fn unreadable_file_is_reported_at_reference() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ninclude: [more.yaml]\nprompts:\n  p: { text: { file: text.txt } }\n",
    );
    fs::create_dir(folder.join("more.yaml")).unwrap();
    fs::create_dir(folder.join("text.txt")).unwrap();
    let said = refused(&folder);
    assert!(said.contains("folio.yaml:3:") && said.contains("folio.yaml:5:"), "both at once: {said}");
    is_survived("folder", |folder| {
        folder.remove("folio.yaml");
        fs::create_dir(folder.join("folio.yaml")).unwrap();
    });
}

#[test]
fn permission_denied_file_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let folder =
        TestFolder::with_manifest("folio: 1\nserver: { name: s }\nprompts:\n  p: { text: { file: secret.txt } }\n");
    folder.write("secret.txt", "secret");
    fs::set_permissions(folder.join("secret.txt"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(folder.join("secret.txt")).is_ok() {
        eprintln!("nothing is forbidden to this user: what a folder in the place of a file shows has to do");
        return;
    }
    let said = refused(&folder);
    assert!(said.contains("folio.yaml:4:") && said.contains("secret.txt"), "{said}");
}

#[test]
fn non_utf8_encoding_is_named() {
    let utf16 = |text: &str| -> Vec<u8> {
        [0xfe_ffu16].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    for (bytes, named) in [(utf16(GOOD), "UTF-16"), (b"folio: 1\nserver: { name: \xff }\n".to_vec(), "UTF-8")] {
        let folder = TestFolder::new(&[]);
        folder.write("folio.yaml", &bytes);
        let said = refused(&folder);
        assert!(said.contains(named), "{named}: {said}");
        is_survived(named, |folder| folder.write("folio.yaml", &bytes));
    }
}

#[test]
fn nul_and_other_controls_are_refused_and_not_printed() {
    let folder = TestFolder::new(&[]);
    folder.write("folio.yaml", b"folio: 1\nserver: { name: s }\nprompts:\n  p: { text: \"a\0b\" }\n");
    let said = refused(&folder);
    assert!(!said.contains('\0'), "{said:?}");
    folder.write("folio.yaml", b"folio: 1\nserver: { name: s }\nprom\x1b[31mpts: {}\n");
    let said = refused(&folder);
    assert!(!said.contains('\u{1b}'), "{said:?}");
}

#[test]
fn bom_and_crlf_are_accepted() {
    let folder = TestFolder::with_manifest(&format!("\u{feff}{}", GOOD.replace('\n', "\r\n")));
    let server = folder.stdio();
    assert_eq!(server.sessionless().get_text("p", json!({})), "Hi");
}

#[test]
fn a_second_document_and_an_empty_one_are_refused() {
    for text in [
        "",
        "# nothing\n",
        "---\n...\n",
        "folio: 1\nserver: { name: s }\n---\nfolio: 1\n",
        "null\n",
        "[]\n",
        "just text\n",
    ] {
        let folder = TestFolder::with_manifest(text);
        refused(&folder);
    }
    is_survived("empty", |folder| folder.write("folio.yaml", ""));
}

#[test]
fn a_link_to_what_is_hidden_is_hidden_too() {
    use std::os::unix::fs::symlink;
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nresources:\n  files: { uri: \"f://{+path}\", root: docs }\nprompts:\n  p: { text: P, arguments: { f: { complete: { glob: \"docs/**\" } } } }\n",
    );
    for (path, text) in [("docs/a.txt", "a"), ("docs/.secret", "s"), ("docs/.hidden/b.txt", "s"), ("docs/c/d.txt", "d")]
    {
        folder.write(path, text);
    }
    for (target, link) in [
        (".secret", "docs/visible.txt"),
        (".hidden", "docs/visible"),
        (".hidden/b.txt", "docs/b.txt"),
        ("../.secret", "docs/c/up.txt"),
        ("visible.txt", "docs/twice.txt"),
        ("a.txt", "docs/again.txt"),
        ("c", "docs/c-again"),
    ] {
        symlink(target, folder.join(link)).unwrap();
    }
    symlink(folder.join("docs/.secret"), folder.join("docs/absolute.txt")).unwrap();
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let mut listed: Vec<_> = client.list("resources").iter().map(|entry| entry["uri"].to_string()).collect();
        listed.sort();
        let expected = ["a.txt", "again.txt", "c-again/d.txt", "c/d.txt"].map(|path| format!("\"f://{path}\""));
        assert_eq!(listed, expected);
        for path in [
            ".secret", "visible.txt", "visible/b.txt", "b.txt", "c/up.txt", "twice.txt", "absolute.txt",
            "c-again/up.txt",
        ] {
            let answer = client.request("resources/read", json!({ "uri": format!("f://{path}") }));
            assert!(answer.get("error").is_some(), "{path}: {answer}");
        }
        for path in ["a.txt", "again.txt", "c-again/d.txt"] {
            client.read_text(&format!("f://{path}"));
        }
        let asked = json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "f", "value": "" } });
        let completed = client.result("completion/complete", asked);
        assert_eq!(completed["completion"]["values"].as_array().unwrap().len(), 4, "{completed}");
    });
}

#[test]
fn escaping_or_circular_links_are_refused() {
    use std::os::unix::fs::symlink;
    let outside = TestFolder::new(&[("secret.txt", "secret")]);
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nresources:\n  files: { uri: \"f://{+path}\", root: docs }\n",
    );
    folder.write("docs/a.txt", "a");
    symlink(outside.join("secret.txt"), folder.join("docs/out.txt")).unwrap();
    symlink(outside.path(), folder.join("docs/out")).unwrap();
    symlink(".", folder.join("docs/round")).unwrap();
    symlink("loop", folder.join("docs/loop")).unwrap();
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let listed = client.list("resources");
        assert!(listed.iter().all(|entry| !entry["uri"].as_str().unwrap().contains("out")), "{listed:?}");
        for uri in [
            "f://out.txt", "f://out/secret.txt", "f://../folio.yaml", "f://..%2ffolio.yaml", "f://%2e%2e/folio.yaml",
            "f:///etc/passwd", "f://loop",
        ] {
            let answer = client.request("resources/read", json!({ "uri": uri }));
            assert!(answer.get("error").is_some(), "{uri}: {answer}");
            assert!(!answer.to_string().contains(outside.path().to_str().unwrap()), "{answer}");
        }
        assert_eq!(client.read_text("f://a.txt"), "a");
    });
}

/// A manifest with one tool of this `inputSchema`.
fn tool_with_schema(schema: &serde_json::Value) -> String {
    let tool = json!({ "description": "D", "inputSchema": schema, "run": { "exec": ["echo", "hi"] } });
    json!({ "folio": 1, "server": { "name": "s" }, "tools": { "t": tool } }).to_string()
}

/// Compared each with each, one of these lists would take minutes.
#[test]
fn long_lists_are_compared_in_linear_time() {
    let names: Vec<String> = (0..100_000).map(|number| format!("v{number}")).collect();
    let choices = json!({ "a": { "type": "string", "enum": names } });
    let merged: String = names.iter().map(|name| format!("  {name}: 1\n")).collect();
    for (what, manifest) in [
        ("enum", tool_with_schema(&json!({ "type": "object", "properties": choices }))),
        ("required", tool_with_schema(&json!({ "type": "object", "required": names }))),
        ("merged", format!("{GOOD}x-a: &a\n{merged}x-b:\n  <<: *a\n{}", merged.replace("  v", "  w"))),
    ] {
        let folder = TestFolder::with_manifest(&manifest);
        let began = Instant::now();
        let ran = run_folio(folder.path(), &["check", "--format", "lines"]);
        assert_eq!(ran.code, Some(0), "{what}: {}", short(&ran.out));
        assert!(began.elapsed() < LOAD_TIMEOUT, "{what} took {:?}", began.elapsed());
    }
    let same = vec!["v"; 50_000];
    for schema in
        [json!({ "type": "object", "required": same }), json!({ "type": "object", "dependentRequired": { "a": same } })]
    {
        let folder = TestFolder::with_manifest(&tool_with_schema(&schema));
        let said = refused(&folder);
        assert_eq!(said.matches("duplicate value").count(), 20, "{said}");
    }
}

#[test]
fn prompt_has_at_most_256_arguments() {
    let manifest = |count: usize, head: &str| {
        let arguments: String = (0..count).map(|nth| format!("      a{nth}: {{}}\n")).collect();
        let uses: String = (0..count).map(|nth| format!("{{{{a{nth}}}}}")).collect();
        format!("folio: 1\nserver: {{ name: s }}\n{}    arguments:\n{arguments}", head.replace("USES", &uses))
    };
    let prompt = "prompts:\n  p:\n    text: \"USES\"\n";
    let said = refused(&TestFolder::with_manifest(&manifest(257, prompt)));
    assert!(said.contains("folio.yaml:263:7: error[too-large]: more than 256 arguments"), "{said}");
    assert_eq!(said.matches("error[").count(), 1, "{said}");
    // The author of a tool is trusted with what it costs.
    let tool = "tools:\n  t:\n    description: D\n    run: { exec: [echo, \"USES\"] }\n";
    for allowed in [manifest(256, prompt), manifest(257, tool)] {
        let folder = TestFolder::with_manifest(&allowed);
        let ran = run_folio(folder.path(), &["check", "--format", "lines"]);
        assert_eq!(ran.code, Some(0), "{}", short(&ran.out));
    }
}

/// Each pack imports the next one ten times.
#[test]
fn packs_that_multiply_are_refused() {
    let folder = TestFolder::new(&[]);
    for level in 0..14 {
        let imports: String = (0..10).map(|nth| format!("  p{nth}: {{ path: next }}\n")).collect();
        let below = "next/".repeat(level);
        folder.write(&format!("{below}folio.yaml"), format!("folio: 1\nserver: {{ name: s }}\npacks:\n{imports}"));
    }
    folder.write(&format!("{}folio.yaml", "next/".repeat(14)), GOOD);
    let said = refused(&folder);
    assert!(said.contains("error[too-large]: more than 256 packs, with those that they import"), "{said}");
}

#[test]
fn port_in_use_exits_with_2() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let folder = TestFolder::with_manifest(GOOD);
    let ran = run_folio(folder.path(), &["serve", "--http", &format!("127.0.0.1:{port}")]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.err.contains("in use") && ran.err.contains(&port.to_string()), "{ran:?}");
}

#[test]
fn failing_program_affects_only_its_caller() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools:\n  flood: { description: F, run: { exec: [sh, -c, \"yes | head -c 50000000\"] } }\n  hang: { description: H, run: { exec: [sleep, \"60\"] }, timeout: 200ms }\n  gone: { description: G, run: { exec: [folio-suite-no-such-program] } }\n  binary: { description: B, run: { exec: [printf, '\\377\\376x'] } }\n  deep: { description: D, run: { exec: [sh, -c, \"yes [ | tr -d '\\\\n' | head -c 100000\"] }, result: { select: a } }\n",
    );
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    let flood = client.call("flood", json!({}));
    let text = text_of(&flood["content"][0]);
    assert!(text.len() < 2_000_000 && text.trim_end().lines().last().unwrap().len() > 1, "it says that it was cut");
    for name in ["hang", "gone", "deep"] {
        let result = client.call(name, json!({}));
        assert_eq!(result["isError"], true, "{name}: {result}");
    }
    client.call("binary", json!({}));
    client.round_trip();
}

//! Values of a call in the command line and environment of a program.

use folio::build;
use folio::render_lines;
use folio::{EnvSource, ManifestLocation, load};
use serde_json::{Value, json};

use crate::harness::{TestClient, TestFolder, on_every_version_and_wire, text_of};

const TOOLS: &str = r#"
folio: 1
server: { name: argv }
tools:
  show:
    description: Shows its elements
    arguments: { a: {}, b: { default: given }, n: { type: integer }, list: { type: array, items: {} } }
    run:
      exec: [printf, "[%s]", "{{a}}", "{{b}}", "{{n}}", "x{{a}}", "{{upper a}}", "{{default a n}}", { if: b, then: ["{{a}}"] }, end]
  one:
    description: One element
    arguments: { diff: { required: true }, small: { default: s } }
    run: { exec: [TOUCH, "--{{small}}={{diff}}"] }
  many:
    description: Many elements
    arguments: { small: { default: s }, parts: { type: array, items: { type: string } } }
    run: { exec: [TOUCH, "{{small}}", { each: parts, then: ["{{this}}"] }] }
  variable:
    description: A variable
    arguments: { diff: { required: true } }
    run: { exec: [TOUCH], env: { DIFF: "-{{diff}}" } }
  script:
    description: A script
    arguments: { diff: { required: true }, more: { type: object } }
    run: { script: { shell: sh, text: 'echo started > started' } }
  piped:
    description: Input
    arguments: { diff: { required: true } }
    run: { exec: [wc, -c], stdin: "{{diff}}" }
prompts:
  one: { description: One, arguments: { diff: { required: true } }, run: { exec: [TOUCH, "{{diff}}"] }, text: never }
resources:
  one: { uri: "one://{diff}", run: { exec: [TOUCH, "{{diff}}"] } }
"#;

/// A folder whose program tells that it was started.
fn folder() -> TestFolder {
    let folder = TestFolder::with_manifest(&TOOLS.replace("TOUCH", "./touch.sh"));
    folder.write("touch.sh", "#!/bin/sh\necho started > \"${0%/*}/started\"\n");
    let program = folder.join("touch.sh");
    std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn element_of_one_absent_value_is_omitted() {
    on_every_version_and_wire(&TestFolder::with_manifest(&TOOLS.replace("TOUCH", "touch")), &json!({}), |client| {
        let show = |arguments: Value| client.call_text("show", arguments);
        assert_eq!(show(json!({})), "[given][x][][end]");
        assert_eq!(show(json!({ "a": "", "b": "", "n": 0 })), "[][][0][x][][0][end]");
        assert_eq!(show(json!({ "a": "1", "n": 2 })), "[1][given][2][x1][1][1][1][end]");
    });
}

fn refused(client: &TestClient, folder: &TestFolder, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments);
    assert_eq!(result["isError"], true, "{tool}");
    assert!(!folder.join("started").exists(), "{tool} was started");
    text_of(&result["content"][0])
}

#[test]
fn oversized_argv_value_names_its_argument() {
    let folder = folder();
    let server = folder.stdio();
    for version in ["2025-06-18", "2026-07-28"] {
        let client = server.client(version);
        let long = "x".repeat(128 << 10);
        for (tool, arguments, argument) in [
            ("one", json!({ "diff": long }), "diff"),
            ("many", json!({ "parts": ["a", long] }), "parts"),
            ("many", json!({ "parts": vec!["y".repeat(100_000); 70] }), "parts"),
            ("many", json!({ "parts": vec!["y"; 500_000] }), "parts"),
            ("variable", json!({ "diff": long }), "diff"),
            ("script", json!({ "diff": long }), "diff"),
            ("script", json!({ "diff": "x", "more": { "deep": [long] } }), "more"),
        ] {
            let words = refused(&client, &folder, tool, arguments);
            assert!(words.starts_with(&format!("`{argument}` is too long")), "{tool}: {words}");
            assert!(words.contains("bytes") && words.contains("`stdin`"), "{tool}: {words}");
        }
        assert_eq!(client.call_text("piped", json!({ "diff": long })).trim(), "131072");
        let prompt = client.request("prompts/get", json!({ "name": "one", "arguments": { "diff": long } }));
        assert_eq!(prompt["error"]["code"], -32602, "{prompt}");
        let read = client.request("resources/read", json!({ "uri": format!("one://{long}") }));
        assert_eq!(read["error"]["code"], -32602, "{}", read["error"]["message"]);
        assert!(!folder.join("started").exists());
        // What fits is carried.
        let fits = "x".repeat((128 << 10) - 100);
        assert!(client.call("one", json!({ "diff": fits }))["isError"] != true);
        assert!(folder.join("started").exists());
        folder.remove("started");
    }
}

#[test]
fn oversized_script_is_a_manifest_error() {
    for (length, fits) in [(131_071, true), (131_072, false)] {
        let text = "#".repeat(length);
        let folder = TestFolder::with_manifest(&format!(
            "folio: 1\nserver: {{ name: s }}\ntools:\n  t: {{ description: T, run: {{ script: {{ shell: sh, text: \"{text}\" }} }} }}\n"
        ));
        let built = build(load(&ManifestLocation::resolve(folder.path()).unwrap(), &EnvSource::Process));
        assert_eq!(built.catalog.is_some(), fits, "{length}");
        assert!(fits || render_lines(&built.report).contains("the limit is 131071 bytes"), "{length}");
    }
}

//! `parse`: the output of programs and the bodies of responses as values.

use serde_json::{Value, json};

use crate::harness::{SESSION_VERSIONS, TestClient, TestFolder, run_folio, text_of};
use crate::upstream_server::{Reply, Upstream};

fn manifest(url: &str) -> String {
    let program = |format: &str| {
        format!(
            "  {format}: {{ description: D, arguments: {{ text: {{}} }}, run: {{ exec: [cat], stdin: \"{{{{text}}}}\", parse: {format} }} }}\n"
        )
    };
    let programs: String = ["json", "jsonl", "csv", "lines"].into_iter().map(program).collect();
    format!(
        "folio: 1\nserver: {{ name: s }}\ntools:\n{programs}  page:\n    description: D\n    run: {{ http: {{ url: \"{url}\", allow: [127.0.0.1] }}, parse: csv }}\n    result: {{ text: \"{{{{#each result.json}}}}{{{{name}}}};{{{{/each}}}}\" }}\n  words:\n    description: D\n    arguments: {{ text: {{}} }}\n    run: {{ script: {{ shell: sh, text: 'printf %s \"$text\"' }}, parse: lines }}\n    result: {{ text: \"{{{{#each result.json}}}}[{{{{this}}}}]{{{{/each}}}}\" }}\n  fails: {{ description: D, run: {{ exec: [sh, -c, \"echo 'not json'; exit 3\"], parse: jsonl }} }}\n  long: {{ description: D, run: {{ exec: [sh, -c, \"yes | head -c 9000\"], parse: lines }}, maxOutput: 4KiB }}\n"
    )
}

fn parsed(client: &TestClient, tool: &str, text: &str) -> Value {
    let result = client.call(tool, json!({ "text": text }));
    match result["isError"] == true {
        true => Value::String(text_of(&result["content"][0])),
        false => serde_json::from_str(&text_of(&result["content"][0])).unwrap(),
    }
}

#[test]
fn output_is_a_list_or_names_its_bad_line() {
    let api = Upstream::start(|_, _| {
        Reply::with_headers(200, &[("Content-Type", "text/csv")], "name,age\nAda,36\n\"Grace, H.\",85\n")
    });
    let folder = TestFolder::with_manifest(&manifest(&api.url()));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for (tool, text, expected) in [
        ("json", "{\"a\": 1}", json!({ "a": 1 })),
        ("jsonl", "{\"a\": 1}\n\n[2]\r\n3", json!([{ "a": 1 }, [2], 3])),
        ("jsonl", "", json!([])),
        (
            "json",
            "[1]\n[2]\n",
            json!(
                "the program ran: exit 0; invalid JSON in the output: trailing characters at line 2 column 1; if each line is JSON, \
                 write `parse: jsonl`\n[1]\n[2]"
            ),
        ),
        (
            "jsonl",
            "1\n{",
            json!(
                "the program ran: exit 0; invalid JSON in line 2 of the output: EOF while parsing an object at column 1\n1\n{"
            ),
        ),
        ("csv", "a,b\n1,\"x\ny\"\n", json!([{ "a": "1", "b": "x\ny" }])),
        (
            "csv",
            "a,b\n1\n",
            json!("the program ran: exit 0; invalid CSV in line 2 of the output: expected 2 fields, found 1\na,b\n1"),
        ),
        ("lines", "one\n\ntwo\r\n", json!(["one", "", "two"])),
        // PowerShell and .NET write a byte order mark.
        ("json", "\u{feff}{\"a\": 1}", json!({ "a": 1 })),
        ("jsonl", "\u{feff}1\n2\n", json!([1, 2])),
        ("csv", "\u{feff}a,b\n1,2\n", json!([{ "a": "1", "b": "2" }])),
        ("lines", "\u{feff}one\n\u{feff}two", json!(["one", "\u{feff}two"])),
    ] {
        assert_eq!(parsed(&client, tool, text), expected, "{tool}: {text:?}");
    }
    assert_eq!(client.call_text("page", json!({})), "Ada;Grace, H.;");
    assert_eq!(client.call_text("words", json!({ "text": "a\nb" })), "[a][b]");
    let failed = client.call("fails", json!({}));
    assert_eq!(text_of(&failed["content"][0]), "`sh` exited with code 3:\nnot json");
    let long = client.call("long", json!({}));
    assert!(text_of(&long["content"][0]).starts_with("the program ran: exit 0; truncated output: "), "{long}");
}

#[test]
fn hostile_lines_stay_in_their_items() {
    let folder = TestFolder::with_manifest(&manifest("http://127.0.0.1:9"));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for value in ["\"", "a,b", "\r", "{{env.X}}", "\u{1b}[31m", "\u{2028}", "-rf", "$(id)", "null", "\\n", "\u{feff}x"]
    {
        let quoted = format!("c\n\"{}\"\n", value.replace('"', "\"\""));
        assert_eq!(parsed(&client, "csv", &quoted), json!([{ "c": value }]), "{value:?}");
        let line = json!({ "v": value }).to_string();
        assert_eq!(parsed(&client, "jsonl", &format!("{line}\n{line}")), json!([{ "v": value }, { "v": value }]));
        // A byte order mark at the beginning is not part of the text.
        if !value.contains('\r') {
            let first = value.trim_start_matches('\u{feff}');
            assert_eq!(parsed(&client, "lines", &format!("{value}\n{value}")), json!([first, value]));
        }
    }
}

#[test]
fn misplaced_parse_is_refused() {
    let check = |run: &str| {
        let text = format!("folio: 1\nserver: {{ name: s }}\ntools:\n  t: {{ description: D, run: {run} }}\n");
        let ran = run_folio(TestFolder::with_manifest(&text).path(), &["check", "--format", "lines"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        ran.out
    };
    let sleeping = check("{ sleep: 1s, parse: csv }");
    assert!(sleeping.contains("unexpected key `parse` for action `sleep`"), "{sleeping}");
    let unknown = check("{ exec: [ls], parse: xml }");
    assert!(unknown.contains("folio.yaml:4:") && unknown.contains("xml"), "{unknown}");
    let paged = check("{ http: { url: \"https://a.example\", paginate: { next: next, items: items } }, parse: csv }");
    assert!(paged.contains("`paginate` cannot be used with `parse`"), "{paged}");
}

#[test]
fn wide_csv_is_refused_at_once() {
    let wide = "folio: 1\nserver: { name: s }\ntools:\n  t: { description: D, timeout: 20s, maxOutput: 4MiB, run: { exec: [sh, -c, \"seq 400000 | tr '\\\\n' ,\"], parse: csv } }\n";
    let folder = TestFolder::with_manifest(wide);
    let server = folder.stdio();
    let result = server.sessionless().call("t", json!({}));
    let said = text_of(&result["content"][0]);
    let why = "invalid CSV in line 1 of the output: too many columns: 400001, and the limit is 16384\n1,2,3,";
    assert!(said.starts_with(&format!("the program ran: exit 0; {why}")) && said.len() < 10_000, "{said}");
}

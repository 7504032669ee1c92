//! Arbitrary manifests and arbitrary arguments.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{CatalogFixture, StubWorld, block_on};
use crate::catalog::{BuildOutcome, build};
use crate::diagnostic::Code;
use crate::files::Folder;
use crate::load::{EnvSource, ManifestLocation, load};

const WHOLE: &str = include_str!("../../../tests/fixtures/valid/whole-shape/folio.yaml");

fn from_bytes(manifest: Vec<u8>, fragment: Vec<u8>) -> BuildOutcome {
    let files = BTreeMap::from([
        ("folio.yaml".to_owned(), manifest),
        ("more.yaml".to_owned(), fragment.clone()),
        ("prompts/page.md".to_owned(), fragment.clone()),
        ("partials/house-style.hbs".to_owned(), fragment),
    ]);
    build(load(&ManifestLocation::in_memory(Folder::in_memory(files)), &EnvSource::default()))
}

/// Either there is a catalog or an error says why not; and every place is in its file.
fn check_consistent(built: &BuildOutcome) -> Result<(), TestCaseError> {
    prop_assert_eq!(built.catalog.is_none(), built.report.has_errors(), "{:?}", built.report.diagnostics());
    for error in built.report.diagnostics() {
        let Some(span) = error.span else { continue };
        let text = built.report.sources.get(span.file).unwrap().text().clone();
        prop_assert!(text.get(span.start as usize..span.end as usize).is_some(), "{error:?}");
    }
    Ok(())
}

#[derive(Debug, Clone)]
enum Edit {
    Delete(usize, usize),
    Insert(usize, String),
    Swap(usize, usize),
    Repeat(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let piece = prop_oneof![
        "[ -~]{0,6}",
        prop::sample::select(vec![
            "{{", "}}", "{{#if x}}", "{{> p}}", "&a", "*a", "<<:", "---\n", "\t", "\n", ": ", "- ", "[", "]", "{", "}",
            "\"", "'", "null", "|", ">-", "é", "\u{feff}", "\0", "!!str", "..", "/", "-1", "1e999",
            "{file: more.yaml}", "exec", "run:",
        ])
        .prop_map(str::to_owned),
    ];
    prop_oneof![
        (any::<usize>(), 0usize..40).prop_map(|(at, length)| Edit::Delete(at, length)),
        (any::<usize>(), piece).prop_map(|(at, text)| Edit::Insert(at, text)),
        (any::<usize>(), any::<usize>()).prop_map(|(one, other)| Edit::Swap(one, other)),
        any::<usize>().prop_map(Edit::Repeat),
    ]
}

fn apply(text: &str, edits: &[Edit]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for edit in edits {
        match edit {
            Edit::Swap(one, other) => {
                let count = lines.len();
                lines.swap(one % count, other % count);
            }
            Edit::Repeat(at) => {
                let at = at % lines.len();
                lines.insert(at, lines[at].clone());
            }
            Edit::Delete(at, length) => {
                let nth = at % lines.len();
                let kept: String =
                    lines[nth].chars().take(at / 7 % 40).chain(lines[nth].chars().skip(at / 7 % 40 + length)).collect();
                lines[nth] = kept;
            }
            Edit::Insert(at, text) => {
                let nth = at % lines.len();
                let column = at / 11 % (lines[nth].chars().count() + 1);
                let head: String = lines[nth].chars().take(column).collect();
                let tail: String = lines[nth].chars().skip(column).collect();
                lines[nth] = format!("{head}{text}{tail}");
            }
        }
    }
    lines.join("\n")
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["-rf", "--", "..", "../x", "{{a}}", "\0", "\r\nX: y", "", "a,b", "[1]"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

const CALLED: &str = r#"
tools:
  t:
    description: d
    arguments: { a: {}, b: { type: integer, minimum: 0 }, c: { type: array }, d: { type: object }, e: { enum: [x] }, f: { format: email } }
    result:
      content:
        - { text: "{{a}} {{upper a}} {{json d}} {{#each c}}{{this}}{{/each}}" }
        - { each: c, text: "{{this}}", when: "{{this}}" }
        - { resource: "r://{{a}}" }
  h: { description: d, arguments: { a: {}, c: {} }, inputSchema: null, run: { http: { url: "https://x.example/{{a}}/{{c}}", headers: { X: "{{a}}" }, json: { a: "{{a}}" } } } }
prompts:
  p: { arguments: { a: {}, b: { type: integer }, c: { type: array }, d: { type: object } }, text: "{{a}}{{b}}{{truncate a 3}}{{json c}}{{d}}" }
resources:
  r: { uri: "r://{a}", text: "{{a}}" }
  f: { uri: "f://{+path}", root: docs }
  g: { uri: "g://{x}", file: "docs/{{x}}" }
"#;

fn shared_server() -> &'static CatalogFixture {
    static DESK: OnceLock<CatalogFixture> = OnceLock::new();
    DESK.get_or_init(|| {
        let mut fixture = CatalogFixture::with_files(
            &[("folio.yaml", CALLED), ("docs/a.md", "inside"), ("secret.md", "outside")],
            &[],
        );
        fixture.world = StubWorld::new(200, "text/plain", "fine");
        fixture
    })
}

proptest! {
    #[test]
    fn any_bytes_load_or_report_errors(manifest in prop::collection::vec(any::<u8>(), 0..300), fragment in prop::collection::vec(any::<u8>(), 0..100)) {
        check_consistent(&from_bytes(manifest, fragment))?;
    }

    #[test]
    fn mutated_manifest_loads_or_reports_errors(edits in prop::collection::vec(edit(), 1..6), fragment in "[ -~\n]{0,60}") {
        let text = apply(WHOLE, &edits).replace("tools/*.yaml", "more.yaml");
        check_consistent(&from_bytes(text.into_bytes(), fragment.into_bytes()))?;
    }

    #[test]
    fn any_arguments_are_answered(arguments in prop::collection::btree_map("[a-f]", value(), 0..6)) {
        let fixture = shared_server();
        let given: Map<String, Value> = arguments.into_iter().collect();
        for tool in ["t", "h"] {
            let answer = block_on(fixture.catalog.call_tool(tool, Some(given.clone()), &fixture.call_context())).unwrap();
            prop_assert!(answer.is_error || !answer.content.is_empty() || tool == "t");
        }
        let _ = block_on(fixture.catalog.get_prompt("p", Some(given), &fixture.call_context()));
    }

    #[test]
    fn any_uri_stays_inside_its_folder(tail in "(\\PC|[./%]|%2e|%2f|\\.\\./){0,16}", scheme in "[rfg]") {
        if let Ok(contents) = shared_server().read(&format!("{scheme}://{tail}")) {
            let told = contents.to_string();
            prop_assert!(scheme == "r" || !told.contains("outside"), "{told}");
        }
    }
}

#[test]
fn manifest_with_bom_and_crlf_is_read() {
    let text = "\u{feff}folio: 1\r\nserver: { name: t }\r\nprompts:\r\n  p: { text: \"{{x}}\" }\r\n";
    let built = from_bytes(text.as_bytes().to_vec(), Vec::new());
    let error = &built.report.diagnostics()[0];
    let span = error.span.unwrap();
    let place = built.report.sources.get(span.file).unwrap().position(span.start);
    assert_eq!((error.code, place.line, place.column), (Code::UnknownVariable, 4, 17));
}

#[test]
fn symlinked_pack_cycle_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("folio.yaml"), "folio: 1\nserver: { name: t }\npacks: { a: { path: a } }\n")
        .unwrap();
    std::os::unix::fs::symlink(".", folder.path().join("a")).unwrap();
    let built = build(load(&ManifestLocation::resolve(folder.path()).unwrap(), &EnvSource::default()));
    let codes: Vec<Code> = built.report.diagnostics().iter().map(|error| error.code).collect();
    assert_eq!(codes, [Code::Cycle]);
}

#[test]
fn fifo_is_reported_without_blocking() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = "folio: 1\nserver: { name: t }\nresources: { r: { uri: \"a://b\", file: pipe }, t: { uri: \"a://c\", text: { file: pipe } } }\n";
    std::fs::write(folder.path().join("folio.yaml"), manifest).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap();
    assert!(made.success());
    let built = build(load(&ManifestLocation::resolve(folder.path()).unwrap(), &EnvSource::default()));
    assert_eq!(built.report.diagnostics().len(), 2, "{:?}", built.report.diagnostics());
}

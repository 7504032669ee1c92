use std::fmt::Write as _;

use indexmap::IndexMap;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Documents, Location, Spanned, decode, from_document, parse, parse_json};
use crate::diagnostic::{Code, Report, Severity};

fn tree(text: &str) -> (Option<Value>, Report) {
    let mut report = Report::default();
    let file = report.sources.add("folio.yaml", text);
    let document = parse(file, &mut report);
    (document.map(|document| document.json(document.root())), report)
}

/// Each error as `line:column code`.
fn places(report: &Report) -> String {
    let mut lines = String::new();
    for diagnostic in report.diagnostics() {
        let span = diagnostic.span.unwrap();
        let at = report.sources.get(span.file).unwrap().position(span.start);
        writeln!(lines, "{}:{} {}", at.line, at.column, diagnostic.code.as_str()).unwrap();
    }
    lines
}

fn from<T: for<'de> Deserialize<'de>>(text: &str) -> (Option<T>, Report) {
    let mut report = Report::default();
    let file = report.sources.add("folio.yaml", text);
    let document = parse(file, &mut report).unwrap();
    let read = from_document(&document, &mut report);
    (read, report)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tool {
    title: Option<Spanned<String>>,
    max_output: Option<u32>,
    annotations: IndexMap<String, bool>,
    role: Option<Role>,
    text: Option<Text>,
    list: Vec<Spanned<String>>,
    raw: Option<Spanned<Value>>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename = "$kind")]
enum Text {
    #[serde(rename = "text")]
    Inline(String),
    #[serde(rename = "map")]
    File(IndexMap<String, String>),
}

#[test]
fn all_errors_of_a_file_are_reported_at_once() {
    let text = "titel: x\nmaxOutput: many\nannotations: [1]\nrole: usr\ntext: [1]\nlist: [a, {b: 1}, c]\nraw: 1\n";
    let (tool, report) = from::<Tool>(text);
    assert_eq!(
        places(&report),
        "1:1 unknown-key\n2:12 wrong-type\n3:14 wrong-type\n4:7 bad-value\n5:7 wrong-type\n6:11 wrong-type\n"
    );
    assert_eq!(report.diagnostics()[0].help.as_deref(), Some("did you mean `title`?"));
    assert_eq!(report.diagnostics()[3].help.as_deref(), Some("did you mean `user`?"));
    assert_eq!(tool.unwrap().raw.unwrap().value, json!(1));
}

#[test]
fn strings_keep_the_spelling_of_plain_scalars() {
    let (tool, report) = from::<Tool>("title: 1.10\nlist: [no, 010, 1_000, true, '~']\n");
    assert!(report.diagnostics().is_empty());
    let tool = tool.unwrap();
    assert_eq!(tool.title.unwrap().value, "1.10");
    assert_eq!(
        tool.list.iter().map(|item| item.value.as_str()).collect::<Vec<_>>(),
        ["no", "010", "1_000", "true", "~"]
    );
}

#[test]
fn node_kind_selects_the_variant() {
    assert_eq!(from::<Tool>("text: hello").0.unwrap().text, Some(Text::Inline("hello".into())));
    let file = IndexMap::from([("file".to_owned(), "a.md".to_owned())]);
    assert_eq!(from::<Tool>("text: { file: a.md }").0.unwrap().text, Some(Text::File(file)));
}

#[test]
fn extension_keys_are_ignored() {
    assert!(from::<Tool>("x-mine: [1, {a: b}]\ntitle: t").1.diagnostics().is_empty());
}

#[test]
fn duplicate_key_keeps_first_and_notes_it() {
    let (value, report) = tree("a: 1\nb: 2\na: 3\n");
    assert_eq!(value, Some(json!({"a": 1, "b": 2})));
    assert_eq!(places(&report), "3:1 duplicate\n");
    assert_eq!(report.diagnostics()[0].notes[0].span.start, 0);
}

#[test]
fn duplicates_are_found_in_maps_of_any_size() {
    for many in [1, 15, 16, 17, 18, 40] {
        let text: String = (0..many).map(|number| format!("k{number}: {number}\n")).collect();
        let (value, report) = tree(&text);
        assert_eq!((value.unwrap().as_object().unwrap().len(), places(&report)), (many, String::new()));
        for again in [0, many / 2, many - 1] {
            let (value, report) = tree(&format!("{text}k{again}: again\nlast: 1\n"));
            assert_eq!(places(&report), format!("{}:1 duplicate\n", many + 1), "k{again} of {many}");
            assert_eq!(value.unwrap()[format!("k{again}")], again);
        }
    }
}

#[test]
fn anchors_aliases_and_merges_work() {
    let (value, report) = tree("base: &b { x: 1, y: 2 }\nmore: { <<: *b, y: 3 }\nlist: [*b]\n");
    assert!(report.diagnostics().is_empty());
    assert_eq!(value, Some(json!({"base": {"x": 1, "y": 2}, "more": {"y": 3, "x": 1}, "list": [{"x": 1, "y": 2}]})));
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = level - 1;
        writeln!(
            text,
            "a{level}: &a{level} [*a{before}, *a{before}, *a{before}, *a{before}, *a{before}, *a{before}, *a{before}]"
        )
        .unwrap();
    }
    let (value, report) = tree(&text);
    assert_eq!(value, None);
    assert_eq!(report.diagnostics()[0].code, Code::TooLarge);
}

#[test]
fn an_alias_of_itself_is_refused() {
    let (_, report) = tree("a: &a [*a]\n");
    assert_eq!(places(&report), "1:8 cycle\n");
}

#[test]
fn depth_is_bounded() {
    for text in ["[".repeat(20_000), (0..3000).fold(String::new(), |text, level| text + &" ".repeat(level) + "a:\n")] {
        let (value, report) = tree(&text);
        assert_eq!(value, None);
        assert!(report.has_errors());
    }
}

#[test]
fn second_document_is_an_error() {
    assert_eq!(places(&tree("a: 1\n---\nb: 2\n").1), "2:1 syntax\n");
    assert_eq!(places(&tree("---\na: 1\n").1), "");
}

#[test]
fn unquoted_template_is_read_and_reported_once() {
    let (value, report) = tree("text: {{name}}\nmore: {{{raw}}}\nok: 1\n");
    assert_eq!(places(&report), "1:7 syntax\n2:7 syntax\n");
    assert_eq!(value, Some(json!({"text": "{{name}}", "more": "{{{raw}}}", "ok": 1})));
    let (_, report) = tree("text: {{name}} and more\n");
    assert!(report.diagnostics()[0].help.as_deref().unwrap().contains("write `\"{{name}} and more\"`"));
}

#[test]
fn other_encodings_are_rejected_by_name() {
    let mut report = Report::default();
    assert!(decode(b"\xEF\xBB\xBFa: 1", "a", &mut report).is_some());
    assert!(decode("é".as_bytes(), "a", &mut report).is_some());
    assert!(!report.has_errors());
    for (bytes, name) in [(&b"\xFF\xFEa\0"[..], "UTF-16"), (b"a\0:\0", "UTF-16"), (b"caf\xE9", "Latin-1")] {
        assert!(decode(bytes, "a", &mut report).is_none());
        assert!(report.diagnostics().last().unwrap().message.contains(name));
    }
}

#[test]
fn json_is_strict_and_has_positions() {
    let mut report = Report::default();
    let file = report.sources.add("a.json", "{\n\t\"a\": [1,\t\"\\ud83d\"]\n}");
    assert!(parse_json(file, &mut report).is_none());
    let file = report.sources.add("b.json", "{\n\t\"a\": [1,\t{\"b\": true}]\n}");
    let document = parse_json(file, &mut report).unwrap();
    let mut documents = Documents::default();
    let root = documents.add(document);
    let span = documents.value_at(root, "/a/1/b").span();
    assert_eq!(report.sources.text_of(span), "true");
    assert_eq!(report.sources.text_of(documents.key_at(root, "/a/1/b").span()), "\"b\"");
    let file = report.sources.add("c.json", "{\"a\": 1,}");
    assert!(parse_json(file, &mut report).is_none());
}

/// Where each of the two `@` of the value is in the file, by the mapping.
fn at_signs(yaml: &str) -> Vec<String> {
    let mut report = Report::default();
    let file = report.sources.add("folio.yaml", yaml);
    let document = parse(file, &mut report).unwrap();
    let value = document.json(document.root());
    let text = value["t"].as_str().unwrap().to_owned();
    let mut documents = Documents::default();
    let root = documents.add(document);
    let at: Location = documents.value_at(root, "/t");
    let places =
        text.match_indices('@').map(|(offset, _)| documents.span_within(&report.sources, at, offset..offset + 1));
    places.map(|span| format!("{}={}", span.start, report.sources.text_of(span))).collect()
}

#[test]
fn value_offsets_map_to_file_offsets() {
    for yaml in [
        "t: a @ b @ c",
        "t: 'it''s @ and @'",
        "t: \"tab\\t @ \\u00e9 \\\n   next @\"",
        "t: |\n  é @ one\n\n    @ two\n",
        "t: |-\r\n  x @ one\r\n  y @ two\r\n",
        "t: >\n  folded @ line\n  and @ more\n",
        "t: plain @ over\n  two @ lines\n",
    ] {
        let written: Vec<String> = yaml.match_indices('@').map(|(offset, _)| format!("{offset}=@")).collect();
        assert_eq!(at_signs(yaml), written, "{yaml:?}");
    }
}

proptest! {
    /// Whatever the bytes are, reading them ends with a tree or with an error, and never panics.
    #[test]
    fn any_text_parses_or_reports_an_error(text in "[ -~\n\t{}\\[\\]:&*|>'\"#-]{0,200}") {
        let (value, report) = tree(&text);
        prop_assert!(value.is_some() || report.diagnostics().iter().any(|error| error.severity == Severity::Error));
        let mut report = Report::default();
        let file = report.sources.add("a", text);
        if let Some(document) = parse(file, &mut report) {
            let _ = from_document::<Tool>(&document, &mut report);
        }
    }

    /// JSON read as YAML is the same value.
    #[test]
    fn yaml_reads_json_as_the_same_value(value in json_value()) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(tree(&text).0, Some(value));
    }

    /// The oracle: what serde_yaml reads as text, the tree reads as the same text.
    #[test]
    fn block_scalars_match_serde_yaml(lines in prop::collection::vec("[a-z@:#{} -]{0,12}", 1..6), style in "[|>][-+]?") {
        let body: String = lines.iter().map(|line| format!("  x{line}\n")).collect();
        let text = format!("t: {style}\n{body}");
        let expected: IndexMap<String, String> = serde_yaml::from_str(&text).unwrap();
        prop_assert_eq!(&tree(&text).0.unwrap()["t"], &json!(expected["t"]));
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~é\n]{0,12}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(("[a-z ]{1,8}", inner), 0..6)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

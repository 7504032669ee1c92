use std::collections::HashSet;
use std::time::Instant;

use proptest::prelude::*;

use super::*;

const PLAIN: TerminalStyle = TerminalStyle { color: false, width: None };

/// A report with one text `folio.yaml`, and the span of `part` in it.
fn report_on(text: &str, part: &str) -> (Report, Span) {
    let mut report = Report::default();
    let file = report.sources.add("folio.yaml", text);
    let start = text.find(part).unwrap();
    (report, Span::new(file, start, start + part.len()))
}

#[test]
fn codes_are_kebab_case_unique_and_explained() {
    let mut seen = HashSet::new();
    for code in Code::ALL {
        let text = code.as_str();
        assert!(seen.insert(text), "duplicate code `{text}`");
        let kebab = text.split('-').all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase()));
        assert!(kebab, "`{text}` is not kebab-case");
        assert!(code.explanation().trim().ends_with('.'), "`{text}` is not explained in a sentence");
    }
}

#[test]
fn text_has_snippet_fix_and_summary() {
    let (mut report, span) = report_on("folio: 1\nprompts:\n  greet:\n    descripton: Greet\n", "descripton");
    report.error(Code::UnknownKey, span, "unknown key `descripton`").did_you_mean("descripton", ["description"]);
    let expected = "\
error[unknown-key]: unknown key `descripton`
 --> folio.yaml:4:5
  |
4 |     descripton: Greet
  |     ^^^^^^^^^^
  |
help: did you mean `description`?
  |
4 |     description: Greet
  |             +

1 error
";
    assert_eq!(render_text(&report, PLAIN), expected);
}

#[test]
fn notes_join_the_snippet_or_get_their_own() {
    let (mut report, second) = report_on("tools:\n  a: 1\n  b: 2\n  a: 3\n", "a: 3");
    let first = Span::new(second.file, 9, 10);
    let other = report.sources.add("tools/more.yaml", "tools:\n  a: 4\n");
    report
        .error(
            Code::Duplicate,
            Span::new(second.file, second.start as usize, second.start as usize + 1),
            "duplicate key `a`",
        )
        .note(first, "first here")
        .note(Span::new(other, 9, 10), "and here")
        .help("give one of them another name");
    let expected = "\
error[duplicate]: duplicate key `a`
 --> folio.yaml:4:3
  |
2 |   a: 1
  |   - first here
3 |   b: 2
4 |   a: 3
  |   ^
  |
 ::: tools/more.yaml:2:3
  |
2 |   a: 4
  |   - and here
  |
  = help: give one of them another name

1 error
";
    assert_eq!(render_text(&report, PLAIN), expected);
}

#[test]
fn error_without_span_has_no_snippet() {
    let mut report = Report::default();
    report.error(Code::Unreadable, None, "`x` could not be read").help("check its permissions");
    report.warning(Code::Unused, None, "nothing");
    report.warning(Code::Unused, None, "nothing else");
    let shown = render_text(&report, PLAIN);
    assert!(shown.contains("error[unreadable]: `x` could not be read\n"), "{shown}");
    assert!(shown.contains("= help: check its permissions\n"), "{shown}");
    assert!(shown.ends_with("\n1 error, 2 warnings\n"), "{shown}");
}

#[test]
fn summary_pluralizes_counts() {
    let mut report = Report::default();
    assert_eq!(summary(&report), "no errors, no warnings");
    report.warning(Code::Unused, None, "a");
    assert_eq!(summary(&report), "1 warning");
    report.error(Code::Syntax, None, "b");
    report.error(Code::Syntax, None, "c");
    assert_eq!(summary(&report), "2 errors, 1 warning");
}

#[test]
fn json_has_exactly_the_documented_keys() {
    let (mut report, span) = report_on("a: ä\nb: |\n  x\n", "b: |\n  x");
    report.warning(Code::BadValue, span, "line\nbreak").help("fix it");
    report.error(Code::Unreadable, None, "gone");
    let parsed: serde_json::Value = serde_json::from_str(&render_json(&report)).unwrap();
    let expected = serde_json::json!([
        { "code": "bad-value", "severity": "warning", "message": "line\nbreak", "file": "folio.yaml",
          "line": 2, "column": 1, "endLine": 3, "endColumn": 4, "help": "fix it" },
        { "code": "unreadable", "severity": "error", "message": "gone", "file": null,
          "line": null, "column": null, "endLine": null, "endColumn": null, "help": null },
    ]);
    assert_eq!(parsed, expected);
}

#[test]
fn lines_format_has_one_line_per_diagnostic() {
    let (mut report, span) = report_on("a: ä\nb: x\n", "x");
    report.error(Code::BadValue, span, "two\nlines\u{1b}[0m");
    report.warning(Code::Unreadable, None, "gone");
    assert_eq!(
        render_lines(&report),
        "folio.yaml:2:4: error[bad-value]: two lines\u{241b}[0m\nwarning[unreadable]: gone\n"
    );
}

#[test]
fn long_line_is_cut_around_span_and_keeps_column() {
    let text_of_line = format!("{}wrong{}", "é".repeat(500_000), "y".repeat(500_000));
    let (mut report, span) = report_on(&text_of_line, "wrong");
    for _ in 0..100 {
        report.error(Code::BadValue, span, "bad").note(Span::new(span.file, 0, 2), "begins here").fix(span, "right");
    }
    let begun = Instant::now();
    let shown = render_text(&report, PLAIN);
    assert!(begun.elapsed().as_secs() < 20, "a frame must not cost what its line is long");
    assert!(shown.contains("--> folio.yaml:1:500001\n"), "{shown}");
    assert!(shown.contains("::: folio.yaml:1:1\n"), "{shown}");
    assert!(shown.contains(&format!("{}wrong{}", "é".repeat(20), "y".repeat(20))), "{shown}");
    assert!(shown.contains("y…\n"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() < 500), "{shown}");
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let (mut report, span) = report_on("a: \"\u{1b}]0;title\u{7}\u{9b}2J\u{202e}\" # end\r\nb: 1\r\n", "title");
    report.error(Code::BadValue, span, "bad \u{1b}[31m").help("not \u{1b}[32m this").fix(span, "\u{1b}[33m");
    for style in [PLAIN, TerminalStyle { color: false, width: Some(1) }] {
        let shown = render_text(&report, style);
        let obeyed = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!shown.contains(obeyed), "{shown:?}");
    }
}

#[test]
fn underline_aligns_after_bom_tabs_and_wide_chars() {
    let (mut report, span) = report_on("\u{feff}日本:\tx\r\n", "x");
    report.error(Code::BadValue, span, "bad");
    let shown = render_text(&report, PLAIN);
    assert!(shown.contains("--> folio.yaml:1:5\n"), "{shown}");
    assert!(shown.contains("1 | 日本:    x\n  |          ^\n"), "{shown}");
}

#[test]
fn span_at_end_of_file_is_shown() {
    let (mut report, _) = report_on("a: [\n", "a");
    let file = FileId(0);
    report.error(Code::Syntax, Span::new(file, 5, 5), "unexpected end");
    report.error(Code::Syntax, Span::new(file, 500, 900), "past the end");
    let shown = render_text(&report, PLAIN);
    assert_eq!(shown.matches("--> folio.yaml:2:1\n").count(), 2, "{shown}");
}

#[test]
fn empty_last_line_is_shown_beside_a_note() {
    let (mut report, opened) = report_on("a: 1\nb: [\n", "[");
    report.error(Code::Syntax, Span::new(opened.file, 10, 10), "unexpected end").note(opened, "opened here");
    let shown = render_text(&report, PLAIN);
    assert!(shown.contains("--> folio.yaml:3:1\n"), "{shown}");
    assert!(shown.contains("2 | b: [\n  |    - opened here\n3 |  \n  | ^\n"), "{shown}");
}

#[test]
fn colors_are_off_by_default() {
    let (mut report, span) = report_on("a: 1\n", "1");
    report.error(Code::BadValue, span, "bad");
    assert!(!render_text(&report, PLAIN).contains('\u{1b}'));
    assert!(render_text(&report, TerminalStyle { color: true, width: None }).contains('\u{1b}'));
}

/// Texts that are rich in what goes wrong.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z: {}]{0,8}",
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\r".to_owned()),
        Just("\t".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("日本".to_owned()),
        Just("e\u{301}\u{200d}👩‍👩‍👧".to_owned()),
        Just("\u{1b}[31m\u{9b}\u{0}\u{202e}".to_owned()),
        Just("long ".repeat(90)),
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

fn spans() -> impl Strategy<Value = Span> {
    (0u32..3, 0u32..700, 0u32..700).prop_map(|(file, start, end)| Span { file: FileId(file), start, end })
}

/// Line and column, counted the simple way.
fn naive_position(text: &str, offset: usize) -> (u32, u32) {
    let (mut line, mut column) = (1, 1);
    for (at, character) in text.char_indices() {
        if at + character.len_utf8() > offset {
            break;
        }
        match character {
            '\n' => (line, column) = (line + 1, 1),
            '\u{feff}' if at == 0 => {}
            _ => column += 1,
        }
    }
    (line, column)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rendering_never_panics(
        (first, second) in (texts(), texts()),
        places in proptest::collection::vec(spans(), 4),
        (message, fix) in (texts(), texts()),
        width in proptest::option::of(0usize..200),
    ) {
        let mut report = Report::default();
        report.sources.add("one.yaml", first);
        report.sources.add("two\n.yaml", second);
        let diagnostic = report.error(Code::Syntax, places[0], message.clone());
        diagnostic.note(places[1], message.clone()).note(places[2], "").fix(places[3], fix);
        report.warning(Code::Unused, places[1], "x").help(message).fix(places[1], "");
        for color in [false, true] {
            let shown = render_text(&report, TerminalStyle { color, width });
            prop_assert!(color || !shown.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')), "{:?}", shown);
        }
        prop_assert_eq!(render_lines(&report).lines().count(), 2);
        let parsed: Vec<serde_json::Value> = serde_json::from_str(&render_json(&report)).unwrap();
        prop_assert_eq!(parsed.len(), 2);
    }

    #[test]
    fn position_matches_naive_count(text in texts(), offset in 0usize..700) {
        let mut sources = SourceMap::default();
        let file = sources.add("one.yaml", text.clone());
        let position = sources.get(file).unwrap().position(offset as u32);
        prop_assert_eq!((position.line, position.column), naive_position(&text, offset));
    }
}

#[test]
fn nearest_prefers_the_name_that_ends_with_the_word() {
    let names = ["git-commit-push", "git-commit", "git-code-review", "code-review-all"];
    for (word, near) in [("commit", Some("git-commit")), ("code-review", Some("git-code-review")), ("git", None)] {
        assert_eq!(crate::diagnostic::nearest(word, names), near, "{word}");
    }
    assert_eq!(crate::diagnostic::nearest("commit", ["alpha-commit", "beta-commit"]), None);
}

#[test]
fn nearest_ignores_overlong_names() {
    let long = "a".repeat(4 << 20);
    let many = || (0..1000).map(|_| long.as_str());
    assert_eq!(crate::diagnostic::nearest(&long, many()), None);
    assert_eq!(crate::diagnostic::nearest("alphq", many().take(3).chain(["alpha"])), Some("alpha"));
    assert_eq!(crate::diagnostic::nearest(&"b".repeat(64), [&*"b".repeat(63)]), Some(&*"b".repeat(63)));
    assert_eq!(crate::diagnostic::nearest(&"b".repeat(65), [&*"b".repeat(64)]), None);
}

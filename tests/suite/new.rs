//! `folio new`: adds an entry to a manifest, and keeps every other byte. And what folio says on a terminal.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;

use crate::harness::{TestFolder, run_folio};
use crate::pseudo_terminal::PseudoTerminal;

const DESK: &str = "\
# The desk.
folio: 1
server: { name: desk }   # ours

prompts:
  # What we greet with.
  greet:
    description: Greet
    text: |
      Hi

      # not a comment

  # bye: later

# What runs.
tools:
    now:
        description: The time
        run: { exec: [date] }
";

/// What was added: the one text between the two parts of the former one.
fn added<'a>(before: &str, after: &'a str) -> &'a str {
    let start = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
    let end = before.len() - start;
    assert!(after.len() > before.len() && after.ends_with(&before[start..]), "bytes were changed:\n{after}");
    &after[start..after.len() - end]
}

fn names(folder: &Path, kind: &str) -> Vec<String> {
    let ran = run_folio(folder, &["list", "--json"]);
    let lists: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    lists[kind].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn entries_follow_the_layout_of_the_manifest() {
    for (line_break, mark) in [("\n", ""), ("\r\n", "\u{feff}")] {
        let before = format!("{mark}{}", DESK.replace('\n', line_break));
        let folder = TestFolder::with_manifest(&before);
        let ran = run_folio(folder.path(), &["new", "prompt", "bye", "--description", "Say: bye"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.starts_with("added prompt `bye` at folio.yaml:15\n"), "{}", ran.out);
        let with_prompt = fs::read_to_string(folder.join("folio.yaml")).unwrap();
        let text = added(&before, &with_prompt);
        assert!(text.replace('\r', "").contains("  bye:\n    description: \"Say: bye\"\n"), "{text}");
        assert_eq!(text.matches('\n').count(), text.matches(line_break).count());
        assert!(with_prompt.contains(&format!("# bye: later{line_break}  bye:")), "{with_prompt}");
        assert_eq!(run_folio(folder.path(), &["new", "tool", "echo"]).code, Some(0));
        let with_tool = fs::read_to_string(folder.join("folio.yaml")).unwrap();
        let text = added(&with_prompt, &with_tool).replace('\r', "");
        assert!(text.starts_with("    echo:\n        description: Echo\n"), "{text}");
        assert!(text.contains("\n        run:\n            exec: [echo, \"{{text}}\"]"), "{text}");
        let checked = run_folio(folder.path(), &["check", "--strict"]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
        let called = run_folio(folder.path(), &["call", "echo", "text=hello"]);
        assert_eq!(called.out, "hello\n", "{called:?}");
    }
}

#[test]
fn every_kind_checks_and_runs() {
    let folder = TestFolder::with_manifest("folio: 1\nserver: { name: desk }");
    for (arguments, place, tried) in [
        (&["new", "prompt", "p"][..], "`p` at folio.yaml:4\n", "Write about tea."),
        (&["new", "resource", "no"], "`no` at folio.yaml:11\n", "Write here"),
        (&["new", "tool", "print"], "`print` at folio.yaml:18\n", "hello"),
        (&["new", "tool", "write-out", "--action", "script"], "`write-out` at", "hello"),
        (&["new", "tool", "get_item", "--action", "http"], "`get_item` at", "send GET https://api.example.com/items/1"),
    ] {
        let ran = run_folio(folder.path(), arguments);
        assert!(ran.code == Some(0) && ran.out.contains(place), "{arguments:?}: {ran:?}");
        let (_, command) = ran.out.split_once("Try it:\n  folio ").unwrap();
        let words: Vec<&str> = command.split_whitespace().collect();
        let ran = run_folio(folder.path(), &words);
        assert!(ran.code == Some(0) && ran.out.contains(tried), "{command}: {ran:?}");
    }
    let checked = run_folio(folder.path(), &["check", "--strict"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
}

#[test]
fn tool_uses_the_connection_and_the_folder_of_its_manifest() {
    let folder = TestFolder::new(&[
        ("notes/a.txt", "in a note"),
        (
            "folio.yaml",
            "folio: 1\nserver: { name: desk }\nconnections: { api: { url: \"https://api.example/v1\" } }\nfolders: { notes: notes }\n\
             tools:\n  old: { description: D, run: { http: { use: api, url: / } } }\n",
        ),
    ]);
    for (name, action, tried, expected) in [
        ("get-item", "http", &["id=1", "--dry-run"][..], "send GET https://api.example/v1/items/1"),
        ("note", "file", &["path=a.txt"], "in a note"),
    ] {
        let ran = run_folio(folder.path(), &["new", "tool", name, "--action", action]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let ran = run_folio(folder.path(), &[&["call", name], tried].concat());
        assert!(ran.code == Some(0) && ran.out.contains(expected), "{ran:?}");
    }
    let bare = TestFolder::with_manifest(DESK);
    let ran = run_folio(bare.path(), &["new", "tool", "note", "--action", "file"]);
    assert!(ran.code == Some(2) && ran.err.contains("help: add `folders: { notes: notes }`"), "{ran:?}");
}

#[test]
fn every_example_takes_entries_and_keeps_its_bytes() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/servers");
    for example in fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()) {
        let folder = TestFolder::new(&[]);
        copy(&example, folder.path());
        for (kind, list) in [("prompt", "prompts"), ("tool", "tools"), ("resource", "resources")] {
            let before = fs::read_to_string(folder.join("folio.yaml")).unwrap();
            let ran = run_folio(folder.path(), &["new", kind, "brand-new"]);
            assert_eq!(ran.code, Some(0), "{}: {kind}: {ran:?}", example.display());
            let after = fs::read_to_string(folder.join("folio.yaml")).unwrap();
            assert!(added(&before, &after).contains("brand-new:"));
            assert!(names(folder.path(), list).contains(&"brand-new".to_owned()), "{}: {kind}", example.display());
        }
        let checked = run_folio(folder.path(), &["check", "--strict"]);
        assert_eq!(checked.code, Some(0), "{}: {checked:?}", example.display());
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn included_file_takes_an_entry() {
    let fragment = "# more\ntools:\n  a: { description: A, result: { text: a } }\n";
    let folder = TestFolder::new(&[
        ("folio.yaml", "folio: 1\nserver: { name: desk }\ninclude: more.yaml\n"),
        ("more.yaml", fragment),
        ("other.yaml", fragment),
    ]);
    assert_eq!(run_folio(folder.path(), &["new", "tool", "b", "-f", "more.yaml"]).code, Some(0));
    assert!(added(fragment, &fs::read_to_string(folder.join("more.yaml")).unwrap()).starts_with("  b:\n"));
    assert_eq!(names(folder.path(), "tools"), ["a", "b"]);
    let taken = run_folio(folder.path(), &["new", "tool", "a"]);
    assert_eq!((taken.code, taken.err.as_str()), (Some(1), "error: the manifest has a tool `a` already\n"));
    let ran = run_folio(folder.path(), &["new", "tool", "c", "-f", "other.yaml"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.starts_with("error: cannot add to `other.yaml`: the manifest does not include the file\n"),
        "{ran:?}"
    );
    assert_eq!(fs::read_to_string(folder.join("other.yaml")).unwrap(), fragment);
}

#[test]
fn entry_that_cannot_be_added_is_printed_to_paste() {
    for (manifest, why) in [
        ("folio: 1\nserver: { name: d }\nprompts: { a: { text: A } }\n", "`prompts` is written in braces"),
        ("{ folio: 1, server: { name: d } }\n", "the file is written in braces"),
        (
            "folio: 1\nserver: { name: d }\nprompts: &p\n  a: { text: A }\nx-p: *p\n",
            "the layout of `prompts` leaves no",
        ),
    ] {
        let folder = TestFolder::with_manifest(manifest);
        let ran = run_folio(folder.path(), &["new", "prompt", "bye"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.starts_with("error: cannot add to `folio.yaml`: ") && ran.err.contains(why), "{}", ran.err);
        let (_, paste) = ran.err.split_once("help: write this yourself:\n\n").unwrap();
        assert!(paste.starts_with("prompts:\n  bye:\n    description: Bye\n"), "{paste}");
        assert_eq!(fs::read_to_string(folder.join("folio.yaml")).unwrap(), manifest);
    }
}

#[test]
fn nothing_is_added_to_an_invalid_manifest() {
    let manifest = "folio: 1\nserver: { name: desk }\nprompts:\n  a: { txt: A }\n";
    let folder = TestFolder::with_manifest(manifest);
    let ran = run_folio(folder.path(), &["new", "prompt", "bye"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("error[unknown-key]") && ran.err.contains("manifest with errors"), "{}", ran.err);
    // A warning that is there already is none of ours; a URI that is taken is.
    let manifest =
        "folio: 1\nserver: { name: desk }\nresources:\n  a: { uri: \"desk://bye\", text: A }\nenv: { UNUSED: {} }\n";
    let folder = TestFolder::with_manifest(manifest);
    let ran = run_folio(folder.path(), &["new", "resource", "bye"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("would have errors: duplicate resource URI `desk://bye`"), "{}", ran.err);
    assert!(!ran.err.contains("write this yourself"), "{}", ran.err);
    assert_eq!(fs::read_to_string(folder.join("folio.yaml")).unwrap(), manifest);
    assert_eq!(run_folio(folder.path(), &["new", "prompt", "bye"]).code, Some(0));
}

#[test]
fn script_is_never_asked() {
    let folder = TestFolder::with_manifest(DESK);
    for (arguments, message) in [
        (&["new"][..], "error: missing kind of the entry\nhelp: "),
        (&["new", "prompt"], "error: missing name of the prompt\nhelp: "),
        (&["new", "prompt", "a b"], "error: invalid name `a b`\nhelp: use 1 to 64 letters, digits, `_` and `-`\n"),
        (&["new", "prompt", "a", "--action", "http"], "error: `--action` is for tools, and this is a prompt\n"),
    ] {
        let ran = run_folio(folder.path(), arguments);
        assert!(ran.code == Some(2) && ran.err.starts_with(message), "{arguments:?}: {ran:?}");
    }
    assert_eq!(fs::read_to_string(folder.join("folio.yaml")).unwrap(), DESK);
}

#[test]
fn terminal_is_asked_for_what_is_missing() {
    let folder = TestFolder::with_manifest(DESK);
    let mut program = PseudoTerminal::start(folder.path(), &["new"]);
    program.answer("a tool or a resource? [prompt]: ", "tol");
    program.answer("expected one of `prompt`, `tool`, `resource`", "tool");
    program.answer("Its name: ", "a b");
    program.answer("use 1 to 64 letters", "now");
    program.answer("the manifest has a tool `now` already", "get-item");
    program.answer("in a sentence [Get item]: ", "");
    program.answer("an http request or a file? [exec]: ", "http");
    let ran = program.finish();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("added tool `get-item` at folio.yaml:"), "{ran:?}");
    assert_eq!(names(folder.path(), "tools"), ["now", "get-item"]);
}

#[test]
fn serve_says_on_a_terminal_what_it_does() {
    let folder = TestFolder::with_manifest(DESK);
    let over_pipes =
        "serving `desk` on stdin and stdout, for an MCP client that starts this command; Ctrl-C ends it\r\n";
    for (arguments, expected) in
        [(&["serve"][..], over_pipes), (&["serve", "--http", "127.0.0.1:0"], "/mcp (Ctrl-C ends it)\r\n")]
    {
        let mut program = PseudoTerminal::start(folder.path(), arguments);
        program.wait_for(expected);
        program.interrupt();
        let ran = program.finish();
        assert_eq!((ran.code, ran.err.lines().count()), (Some(0), 1), "{ran:?}");
    }
    let piped = folder.stdio();
    piped.session("2025-11-25").round_trip();
    assert_eq!(piped.log.text(), "");
}

/// Lines that mean nothing, in many shapes.
fn filler() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(String::new()),
        1 => Just("\n".to_owned()),
        1 => Just("# a comment: { of: any }\n".to_owned()),
        1 => Just("   # an indented one\n\n".to_owned()),
        1 => Just("  \n".to_owned()),
    ]
}

/// An entry of a map, at a column.
fn entry(column: usize) -> impl Strategy<Value = String> {
    let spaces = " ".repeat(column);
    let deeper = " ".repeat(column + 3);
    prop_oneof![
        Just("{ text: A } # flow"),
        Just("\n_+text: |\n_+  a\n\n_+  # b\n"),
        Just("\n_+text: |-\n_+  a"),
        Just("\n_+text: >\n_+  a\n_+  b"),
        Just("\n_+text: \"a\n_+  # b\"  # c"),
        Just("\n_+# first\n_+text: a\n_+# last"),
        Just("\n_+list:\n_+- a\n_+-  b: [1,\n_+     2]"),
    ]
    .prop_map(move |text| format!(" {}\n", text).replace("_+", &deeper).replace('_', &spaces))
}

fn section(name: &'static str) -> impl Strategy<Value = String> {
    (1..5usize).prop_flat_map(move |column| {
        let entries = proptest::collection::vec((filler(), entry(column)), 1..4);
        entries.prop_map(move |entries| {
            let spaces = " ".repeat(column);
            let lines = entries.into_iter().enumerate();
            let text: String = lines.map(|(at, (filler, entry))| format!("{filler}{spaces}e{at}:{entry}")).collect();
            format!("{name}:\n{text}")
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn new_entry_changes_no_other_value(
        sections in proptest::sample::subsequence(vec!["prompts", "tools", "env", "tests"], 0..=4)
            .prop_shuffle()
            .prop_flat_map(|names| names.into_iter().map(|name| (filler(), section(name))).collect::<Vec<_>>()),
        last in filler(),
        breaks in prop_oneof![Just("\n"), Just("\r\n")],
        ends in any::<bool>(),
    ) {
        let text: String = sections.into_iter().map(|(filler, section)| filler + &section).collect();
        let mut text = format!("folio: 1\n{text}{last}").replace('\n', breaks);
        if !ends {
            text.truncate(text.trim_end().len());
        }
        let (section, name) = ("prompts", "new");
        let entry = folio::NewEntry { section, name, text: "new:\n  text: New\n", flow: None };
        let insertion = folio::insert_entry(&text, &entry).unwrap_or_else(|why| panic!("{why}:\n{text}"));
        let mut after = text.clone();
        after.insert_str(insertion.at, &insertion.text);
        let mut value: Value = serde_yaml::from_str(&after).unwrap_or_else(|why| panic!("{why}:\n{after}"));
        let prompts = value["prompts"].as_object_mut().unwrap();
        prop_assert_eq!(prompts.remove("new"), Some(serde_json::json!({ "text": "New" })));
        if prompts.is_empty() {
            value.as_object_mut().unwrap().remove("prompts");
        }
        let before: Value = serde_yaml::from_str(&format!("{text}\n")).unwrap();
        prop_assert_eq!(value, before);
    }
}

//! `folio check`: formats, several folders, stdin, `--watch`, comments that allow warnings, and `--fix`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{FOLIO_BIN, TestFolder, run_folio, run_folio_with_input};

const HEAD: &str = "folio: 1\nserver: { name: t }\n";

fn folder(rest: &str) -> TestFolder {
    TestFolder::with_manifest(&format!("{HEAD}{rest}"))
}

fn read(folder: &TestFolder, path: &str) -> String {
    std::fs::read_to_string(folder.path().join(path)).unwrap()
}

const FAULTY: &str = "prompts:\n  p: { descripton: a, text: \"{{x, y}} 100%\" }\n  q: { text: \"{{> no}}\" }\n";

#[test]
fn sarif_has_the_required_parts() {
    let folder = folder(FAULTY);
    let log: Value = serde_json::from_str(&run_folio(folder.path(), &["check", "--format", "sarif"]).out).unwrap();
    let schema: Value = serde_json::from_str(include_str!("../fixtures/sarif-2.1.0-required.json")).unwrap();
    let schema = jsonschema_errors(&schema, &log);
    assert_eq!(schema, Vec::<String>::new(), "{log:#}");
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3, "{log:#}");
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    }
    let region = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(region["artifactLocation"]["uri"], "folio.yaml");
    assert_eq!(region["region"], json!({ "startLine": 4, "startColumn": 8, "endLine": 4, "endColumn": 18 }));
    let clean = TestFolder::with_manifest(HEAD);
    let log: Value = serde_json::from_str(&run_folio(clean.path(), &["check", "--format", "sarif"]).out).unwrap();
    assert_eq!(log["runs"][0]["results"], json!([]));
}

/// What of a value does not fit a schema.
fn jsonschema_errors(schema: &Value, value: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).unwrap();
    validator.iter_errors(value).map(|error| error.to_string()).collect()
}

#[test]
fn github_annotations_are_escaped() {
    let folder = folder("prompts:\n  p: { text: \"{{x}} 100%\", \"a,b:c\": 1 }\n");
    let out = run_folio(folder.path(), &["check", "--format", "github"]).out;
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 2, "{out}");
    assert!(
        lines[0].starts_with(
            "::error file=folio.yaml,line=4,endLine=4,col=17,endColumn=18,title=unknown-variable::unknown variable `x`"
        ),
        "{out}"
    );
    assert!(lines[1].contains("%0Ahelp: expected one of") && lines[1].contains("unknown key `a,b:c`"), "{out}");
    let odd = TestFolder::new(&[("a,b:c%/folio.yaml", "folio: 2\nserver: { name: t }\n")]);
    let out = run_folio(odd.path(), &["check", "--format", "github", "a,b:c%"]).out;
    assert!(out.starts_with("::error file=a%2Cb%3Ac%25/folio.yaml,line=1"), "{out}");
}

#[test]
fn several_folders_are_one_report() {
    let folder = TestFolder::new(&[
        ("a/folio.yaml", "folio: 1\nserver: { name: t }\npromts: {}\n"),
        ("b/folio.yaml", "folio: 1\nserver: { name: t }\n"),
        ("c/folio.yaml", "folio: 1\nserver: { nam: t }\n"),
    ]);
    let ran = run_folio(folder.path(), &["check", "a", "b", "c", "--format", "lines"]);
    assert_eq!(ran.code, Some(1));
    let places: Vec<&str> = ran.out.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["a/folio.yaml:3:1", "c/folio.yaml:2:11"], "{}", ran.out);
    let text = run_folio(folder.path(), &["check", "a", "c"]).out;
    assert!(text.contains("3 | promts: {}") && text.contains("2 | server: { nam: t }"), "{text}");
    assert!(text.ends_with("\n2 errors\n"), "{text}");
    assert_eq!(run_folio(folder.path(), &["check", "a", "none"]).code, Some(2));
}

#[test]
fn stdin_stands_for_a_file() {
    let folder = TestFolder::new(&[
        ("folio.yaml", "folio: 1\nserver: { name: t }\ninclude: [prompts/*.md]\n"),
        ("prompts/greet.md", "Hello\n"),
        ("policy.md", "Text\n"),
    ]);
    let check = |arguments: &[&str], text: &str| {
        let mut all = vec!["check", "-", "--format", "lines"];
        all.extend(arguments);
        run_folio_with_input(folder.path(), &all, text.as_bytes())
    };
    let unsaved = "folio: 1\nserver: { name: t }\nresources: { r: { uri: \"a://b\", file: policy.md } }\npromts: {}\n";
    let ran = check(&[], unsaved);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "folio.yaml:4:1: error[unknown-key]: unknown key `promts`\n"));
    let ran = check(&["--stdin-path", "prompts/greet.md"], "Hello {{who}}\n");
    assert_eq!(ran.out, "prompts/greet.md:1:9: error[unknown-variable]: unknown variable `who`\n");
    let ran = check(&["--stdin-path", "new/folio.yaml"], unsaved);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    let absolute = folder.path().join("folio.yaml");
    let ran = check(&["--stdin-path", absolute.to_str().unwrap()], unsaved);
    assert!(ran.out.contains("folio.yaml:4:1: error[unknown-key]"), "{}", ran.out);
    assert_eq!(read(&folder, "prompts/greet.md"), "Hello\n");
}

#[test]
fn buffer_of_a_new_file_is_checked() {
    let folder = folder(
        "include: prompts/*.md\ntools: { t: { description: d, run: { exec: [cat], stdin: { file: new.txt } } } }\n",
    );
    folder.write("prompts/old.md", "Hello\n");
    let check = |path: &str, text: &str| {
        run_folio_with_input(folder.path(), &["check", "-", "--stdin-path", path, "--format", "lines"], text.as_bytes())
    };
    let ran = check("prompts/new.md", "Hello {{who}}\n");
    assert!(ran.out.contains("prompts/new.md:1:9: error[unknown-variable]: unknown variable `who`\n"), "{}", ran.out);
    let ran = check("new.txt", "{{who}}\n");
    assert!(ran.out.contains("new.txt:1:3: error[unknown-variable]"), "{}", ran.out);
    folder.write("folio.yaml", format!("{HEAD}skills: {{ dir: skills }}\n"));
    folder.write("skills/a/SKILL.md", "---\nname: a\ndescription: A\n---\nA\n");
    let ran = check("skills/a/SKILL.md", "---\nname: b\ndescription: A\n---\nA\n");
    assert!(ran.out.contains("skill name `b` does not match"), "{}{}", ran.out, ran.err);
    let ran = check("other.md", "{{who}}\n");
    assert!(ran.err.contains("other.md` is not checked"), "{}", ran.err);
}

/// Starts `check --watch` in a folder, and gives the lines that it prints.
fn start_watch(folder: &TestFolder) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut command = Command::new(FOLIO_BIN);
    command.args(["check", "--watch", "--format", "lines"]).current_dir(folder.path());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    (child, lines)
}

#[test]
fn watch_prints_a_report_once() {
    let folder = folder("promts: {}\n");
    // The manifest is so young that the watch reads it again, to be sure of it.
    let (mut child, mut lines) = start_watch(&folder);
    assert!(lines.next().unwrap().contains("unknown key `promts`"));
    for text in ["promts: {}\n", "promts: {}\n", "tols: {}\n"] {
        folder.write("folio.yaml", format!("{HEAD}{text}"));
        // Longer than the quiet after which files are read again: each save is one of its own.
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    assert!(lines.next().unwrap().contains("unknown key `tols`"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn watch_checks_again_after_a_change() {
    let folder = folder("promts: {}\n");
    let (mut child, mut lines) = start_watch(&folder);
    assert!(lines.next().unwrap().contains("unknown key `promts`"));
    folder.write("folio.yaml", format!("{HEAD}tols: {{}}\n"));
    assert!(lines.next().unwrap().contains("unknown key `tols`"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn comment_allows_a_warning_and_never_an_error() {
    let lines = |rest: &str| run_folio(folder(rest).path(), &["check", "--strict", "--format", "lines"]).out;
    assert_eq!(lines("env: { A: {} } # folio: allow unused\n"), "");
    assert_eq!(lines("# folio: allow unused\nenv: { A: {} }\n"), "");
    let head = TestFolder::with_manifest(&format!("# folio: allow unused\n{HEAD}env: {{ A: {{}} }}\n"));
    assert_eq!(run_folio(head.path(), &["check", "--strict", "--format", "lines"]).out, "");
    let error = lines("prompts: { p: { text: \"{{x}}\" } } # folio: allow unknown-variable\n");
    assert!(error.contains("error[unknown-variable]"), "{error}");
    let other = lines("env: { A: {} } # folio: allow secret\n");
    assert!(other.contains(":3:8: warning[unused]: variable `A` is never used"), "{other}");
    assert!(other.contains(":3:31: warning[unused]: unused `allow`: no warning `secret` here"), "{other}");
    // What depends on the machine may have no effect on this one.
    assert_eq!(lines("tools: { t: { description: d, run: { exec: [ls] } } } # folio: allow missing-program\n"), "");
}

#[test]
fn allowed_note_still_stops_serve() {
    let folder = folder("env: { FOLIO_TEST_UNSET: { required: true } } # folio: allow unset-variable, unused\n");
    assert_eq!(run_folio(folder.path(), &["check", "--format", "lines"]).out, "");
    let ran = run_folio(folder.path(), &["serve"]);
    assert!(ran.code == Some(1) || ran.code == Some(2), "{ran:?}");
    assert!(ran.err.contains("FOLIO_TEST_UNSET"), "{}", ran.err);
}

const TO_FIX: &str = "prompts:
  # A greeting.
  p:
    descripton: Note this   # kept
    arguments:
      # Who it is.
      - name: who
        required: true      # always
      - name: where
    messages:
      - { role: user, content: \"Hello {{who}} in {{where}}\" }
tools:
  t: { description: d, run: { exec: ls -l } }
";

const FIXED: &str = "prompts:
  # A greeting.
  p:
    description: Note this   # kept
    arguments:
      # Who it is.
      who:
        required: true      # always
      where: {}
    messages:
      - { user: \"Hello {{who}} in {{where}}\" }
tools:
  t: { description: d, run: { exec: [ls, -l] } }
";

#[test]
fn fix_keeps_comments_and_layout() {
    for (mark, end) in [("", "\n"), ("\u{feff}", "\r\n")] {
        let with = |rest: &str| format!("{mark}{HEAD}{rest}").replace('\n', end);
        let folder = TestFolder::with_manifest(&with(TO_FIX));
        let ran = run_folio(folder.path(), &["check", "--diff"]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.out.contains("-    descripton: Note this") && ran.out.contains("+      where: {}"), "{}", ran.out);
        assert_eq!(read(&folder, "folio.yaml"), with(TO_FIX));
        let ran = run_folio(folder.path(), &["check", "--fix"]);
        assert_eq!((ran.code, read(&folder, "folio.yaml")), (Some(0), with(FIXED)), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("applied 4 fixes in 1 file"), "{}", ran.err);
        let again = run_folio(folder.path(), &["check", "--diff"]);
        assert_eq!((again.code, again.out.as_str()), (Some(0), ""));
    }
}

#[test]
fn diff_of_fixes_changes_nothing() {
    let folder = folder(TO_FIX);
    let before = read(&folder, "folio.yaml");
    let alone = run_folio(folder.path(), &["check", "--diff"]);
    let both = run_folio(folder.path(), &["check", "--fix", "--diff"]);
    assert_eq!((both.code, &both.out), (Some(1), &alone.out));
    assert_eq!(read(&folder, "folio.yaml"), before);
}

#[test]
fn fix_leaves_what_is_not_certain() {
    let rest = "prompts:\n  p: { arguments: { who: {} }, text: \"{{hwo}} {{who}}\" }\n";
    let folder = folder(rest);
    let ran = run_folio(folder.path(), &["check", "--fix", "--format", "lines"]);
    assert_eq!((ran.code, read(&folder, "folio.yaml")), (Some(1), format!("{HEAD}{rest}")));
    assert!(ran.out.contains("unknown variable `hwo`"), "{}", ran.out);
}

#[test]
fn fix_goes_on_after_a_syntax_error() {
    let folder = folder("prompts:\n  p:\n    descripton: Note: this\n    text: {{x}} is\n    arguments: [x]\n");
    let ran = run_folio(folder.path(), &["check", "--fix"]);
    let fixed = "prompts:\n  p:\n    description: \"Note: this\"\n    text: \"{{x}} is\"\n    arguments: { x: {} }\n";
    assert_eq!((ran.code, read(&folder, "folio.yaml")), (Some(0), format!("{HEAD}{fixed}")), "{}{}", ran.out, ran.err);
}

#[cfg(unix)]
#[test]
fn program_that_is_not_executable_is_a_warning() {
    let folder = folder("tools: { t: { description: d, run: { exec: [./tool.sh] } } }\n");
    folder.write("tool.sh", "#!/bin/sh\n");
    let ran = run_folio(folder.path(), &["check", "--format", "lines"]);
    assert_eq!(ran.out, "folio.yaml:3:45: warning[missing-program]: `./tool.sh` is not executable\n");
}

//! What `folio check` says of whole folders: every fault that there is a code for, each at its place.
//!
//! A case is a folder under `tests/fixtures/`. `invalid/CODE/CASE` has the report, as `--format lines` prints it, in
//! `expected.txt`; `UPDATE=1 cargo test --test suite check` writes those anew, and git shows what has changed. A case
//! under `valid/` has no fault at all. The variables of a case stand in its `environment`, one `NAME=value` a line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use folio::{BuildOutcome, build};
use folio::{Code, render_lines};
use folio::{EnvSource, ManifestLocation, load};

use crate::harness::{FOLIO_BIN, TestFolder, run_folio};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// The variables of a case: its own, and the PATH on which programs are looked for.
fn environment(case: &Path) -> EnvSource {
    let mut values = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())]);
    let own = fs::read_to_string(case.join("environment")).unwrap_or_default();
    values.extend(own.lines().filter_map(|line| line.split_once('=')).map(|(name, value)| (name.into(), value.into())));
    EnvSource::Fixed(values)
}

fn check(case: &Path) -> BuildOutcome {
    build(load(&ManifestLocation::resolve(case).unwrap(), &environment(case)))
}

/// The report, with paths as they are within the case.
fn report(case: &Path, built: &BuildOutcome) -> String {
    render_lines(&built.report).replace(&format!("{}/", case.display()), "")
}

fn compare(case: &Path, code: &str, failures: &mut Vec<String>) {
    let built = check(case);
    let found = report(case, &built);
    let expected = case.join("expected.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&expected, &found).unwrap();
    }
    if !found.contains(&format!("[{code}]")) {
        failures.push(format!("{}: nothing is called `{code}`:\n{found}", case.display()));
    }
    if built.catalog.is_some() == built.report.has_errors() {
        failures.push(format!("{}: there is either a catalog or an error", case.display()));
    }
    let wanted = fs::read_to_string(&expected).unwrap_or_default();
    if wanted != found {
        failures.push(format!("{}\n--- expected\n{wanted}--- found\n{found}", case.display()));
    }
}

#[test]
fn invalid_fixtures_give_expected_diagnostics() {
    let mut failures = Vec::new();
    let mut cases = 0;
    for code in folders(&fixtures().join("invalid")) {
        for case in folders(&code) {
            compare(&case, &name(&code), &mut failures);
            cases += 1;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(cases + 2 >= Code::ALL.len(), "{cases}");
}

#[test]
fn every_code_has_a_fixture() {
    let folders: Vec<String> = folders(&fixtures().join("invalid")).iter().map(|folder| name(folder)).collect();
    // No key of a manifest is left that is not implemented; `init --openapi` still says so of others.
    // What a failing test is, `check` does not say.
    // Limits of clients are found by `check --clients`.
    let all = Code::ALL.iter().filter(|code| !matches!(code, Code::Unimplemented | Code::FailedTest));
    let all = all.filter(|code| !code.is_client_code());
    let mut codes: Vec<&str> = all.map(|code| code.as_str()).collect();
    codes.sort_unstable();
    assert_eq!(folders, codes);
}

#[test]
fn valid_fixtures_have_no_diagnostics() {
    for case in folders(&fixtures().join("valid")) {
        let built = check(&case);
        assert_eq!(report(&case, &built), "", "{}", case.display());
        assert!(built.catalog.is_some(), "{}", case.display());
    }
}

/// One mend at a time is not what an author should have to do: nearly all that is wrong says what to do about it.
#[test]
fn suggestion_is_within_edit_distance() {
    for code in folders(&fixtures().join("invalid")) {
        for case in folders(&code) {
            let built = check(&case);
            for fault in built.report.diagnostics() {
                let Some(span) = fault.span else { continue };
                let source = built.report.sources.get(span.file).unwrap();
                assert!(source.text().is_char_boundary(span.start as usize), "{}: {}", case.display(), fault.message);
                assert!(source.text().is_char_boundary(span.end as usize), "{}: {}", case.display(), fault.message);
                let first = fault.message.chars().next().unwrap();
                assert!(
                    !first.is_uppercase() || fault.message.starts_with("MCP") || fault.message.starts_with("JMESPath"),
                    "{}",
                    fault.message
                );
                assert!(!fault.message.ends_with('.'), "{}", fault.message);
            }
        }
    }
}

/// The help of the only fault of a manifest with this `exec`.
fn help_for(exec: &str) -> String {
    let head = "folio: 1\nserver: { name: t }\ntools:\n  t:\n    description: d\n    arguments: { x: {}, y: {} }\n    run: { exec: ";
    let folder = TestFolder::with_manifest(&format!("{head}{exec} }}\n"));
    let place = ManifestLocation::resolve(folder.path()).unwrap();
    let built = build(load(&place, &environment(folder.path())));
    let faults = built.report.diagnostics().iter().filter(|fault| fault.code == Code::Unsafe).collect::<Vec<_>>();
    assert_eq!(faults.len(), 1, "{exec}: {}", render_lines(&built.report));
    faults[0].help.clone().unwrap_or_default()
}

#[test]
fn interpolated_code_help_names_script() {
    for exec in [
        r#"[bash, -c, "echo {{x}}"]"#,
        r#"[bash, -c, "echo {{x}}", name, a]"#,
        r#"[sh, -ec, "ls {{x}}\nrm {{x}}"]"#,
        r#"[timeout, "10", bash, -c, "ls {{x}}"]"#,
        r#"[sudo, bash, -c, "echo {{x}}"]"#,
        r#"[python3, "-cprint({{x}})"]"#,
        r#"[node, -e, 'console.log("{{x}}")']"#,
        r#"[perl, -ne, 'print if /a/; print {{x}}']"#,
        r#"[ssh, host, ls, "{{x}}"]"#,
        r#"[awk, "/{{x}}/"]"#,
        r#"[jq, ".{{x}}"]"#,
        r#"[cat, -c, "a {{x}}"]"#,
    ] {
        let help = help_for(exec);
        assert!(help.contains("write it as a `script: { shell: PROGRAM, text: CODE }`"), "{exec}: {help}");
        assert!(help.contains("pass the value as an argument after the code"), "{exec}: {help}");
    }
}

#[test]
fn value_that_chooses_what_runs_has_a_help() {
    for (exec, part) in [
        (r#"[env, "{{x}}"]"#, "name the program"),
        (r#"[env, "LD_PRELOAD={{x}}", cat]"#, "write its value here, or take it from `env`"),
    ] {
        let help = help_for(exec);
        assert!(help.contains(part), "{exec}: {help}");
    }
}

const GRANTS_AND_SECRETS: &[(&str, &str)] = &[
    (
        "folio.yaml",
        "folio: 1\nserver: { name: t }\nenv: { FOLIO_TEST_UNSET: { required: true, secret: true } }\npacks: { p: { path: p } }\ntools:\n  t: { description: d, run: { http: { url: \"https://x.example/\", auth: { bearer: \"{{env.FOLIO_TEST_UNSET}}\" } } } }\n",
    ),
    ("p/folio.yaml", "folio: 1\ntools: { act: { description: d, run: { exec: [cat] } } }\n"),
];

#[test]
fn strict_check_passes_without_secrets_and_grants() {
    let folder = TestFolder::new(GRANTS_AND_SECRETS);
    let ran = run_folio(folder.path(), &["check", "--strict"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert!(ran.out.contains("note[unset-variable]: required variable `FOLIO_TEST_UNSET` is not set"), "{}", ran.out);
    assert!(ran.out.contains("note[not-granted]: missing grant `exec`"), "{}", ran.out);
    assert!(ran.out.ends_with("\nno errors, no warnings, 2 notes\n"), "{}", ran.out);
    let ran = run_folio(folder.path(), &["check", "--format", "json"]);
    assert!(ran.out.contains("\"severity\": \"note\""), "{}", ran.out);
}

#[test]
fn a_step_calls_an_entry_of_a_pack_by_its_listed_name() {
    let manifest = "folio: 1\nserver: { name: t }\npacks: { p: { path: p, prefix: rv } }\ntools:\n  t: { description: d, arguments: { who: {} }, run: { tool: { name: rv-hello, arguments: { who: \"{{who}}\" } } } }\n";
    let pack =
        "folio: 1\ntools: { hello: { description: d, arguments: { who: {} }, result: { text: \"hello {{who}}\" } } }\n";
    let folder = TestFolder::new(&[("folio.yaml", manifest), ("p/folio.yaml", pack)]);
    let ran = run_folio(folder.path(), &["call", "t", "who=Ada"]);
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "hello Ada"), "{}", ran.err);
}

#[test]
fn listed_texts_are_filled_in_at_load() {
    let manifest = "folio: 1\nserver: { name: desk, title: Desk, version: \"2\", instructions: \"On {{env.FOLIO_TEST_HOST}}\" }\nenv: { FOLIO_TEST_HOST: { default: host } }\nprompts:\n  p: { title: \"{{server.title}} {{server.version}}\", description: \"of {{env.FOLIO_TEST_HOST}}, with \\\\{{braces}}\", text: x }\n";
    let folder = TestFolder::with_manifest(manifest);
    let ran = run_folio(folder.path(), &["list", "--json"]);
    assert!(ran.out.contains("\"title\": \"Desk 2\""), "{}", ran.out);
    assert!(ran.out.contains("\"description\": \"of host, with {{braces}}\""), "{}", ran.out);
}

#[test]
fn unknown_outcome_field_lists_known_fields() {
    let manifest = "folio: 1\nserver: { name: t }\ntools:\n  t: { description: d, run: [{ id: one, exec: [cat] }, { log: \"{{steps.one.output}}\" }] }\n";
    let folder = TestFolder::with_manifest(manifest);
    let ran = run_folio(folder.path(), &["check"]);
    assert!(ran.out.contains("available fields: `exit`, `json`, `stderr`, `stdout`"), "{}", ran.out);
}

#[test]
fn texts_with_thousands_of_unexpanded_forms_are_warned_of_64_times() {
    let prompt = |text: String| {
        let manifest = format!(
            "folio: 1\nserver: {{ name: t }}\nprompts: {{ p: {{ arguments: {{ a: {{}} }}, text: \"{text}\" }} }}\n"
        );
        let folder = TestFolder::with_manifest(&manifest);
        run_folio(folder.path(), &["check", "--format", "lines"]).out
    };
    assert_eq!(prompt("${a} ".repeat(1000)).matches("is not expanded").count(), 64);
    // What is as long as that is no tag.
    assert!(prompt(format!("{{% if a {}%}}", "x".repeat(1000))).contains("is not expanded"));
    assert!(!prompt(format!("{{% if a {}%}}", "x".repeat(1024))).contains("is not expanded"));
}

/// The time on a processor that a check of so many prompt files takes.
fn check_of(files: usize) -> Duration {
    let folder = TestFolder::with_manifest("folio: 1\nserver: { name: s }\ninclude: [\"prompts/*.md\"]\n");
    (0..files).for_each(|number| folder.write(&format!("prompts/p{number}.md"), "x"));
    let script = "\"$0\" check \"$1\" >/dev/null && times";
    let output = Command::new("sh").args(["-c", script, FOLIO_BIN]).arg(folder.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let seconds = |time: &str| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    };
    // The second line is of the programs that the shell has waited for.
    Duration::from_secs_f64(text.lines().nth(1).unwrap().split_whitespace().map(seconds).sum())
}

#[test]
fn check_time_is_linear_in_files() {
    let (few, many) = (check_of(4000), check_of(16_000));
    assert!(many < few * 7, "{few:?} and {many:?}");
}

#[test]
fn long_tool_chain_is_checked() {
    let tool = |number: usize| format!("  t{number}: {{ description: d, run: {{ tool: t{} }} }}\n", number + 1);
    let last = "  t8000: { description: d, result: { text: x } }\n";
    let tools: String = (0..8000).rev().map(tool).collect();
    let folder = TestFolder::with_manifest(&format!("folio: 1\nserver: {{ name: s }}\ntools:\n{tools}{last}"));
    let script = "ulimit -s 2048; exec \"$0\" check \"$1\"";
    let output = Command::new("sh").args(["-c", script, FOLIO_BIN]).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn missing_path_names_the_similar_one() {
    let manifest = r#"folio: 1
server: { name: s }
resources:
  file: { uri: "a:file", file: Note/one.md }
  root: { uri: "root://{+path}", root: nots }
  template: { uri: "template://{id}", file: "note/{{id}}.md" }
prompts:
  p: { arguments: { a: { complete: { glob: "notse/*.md" } } }, text: { file: notes/on.md } }
  q: { arguments: { a: { complete: { glob: "*", base: note } } }, text: "{{a}}" }
  r: { arguments: { a: {} }, text: { file: "notes/{{a}}.md" } }
tools:
  t: { description: T, run: { exec: [ls], cwd: ./noets } }
  far: { description: T, run: { exec: [ls], cwd: elsewhere/notes } }
"#;
    let folder = TestFolder::new(&[("folio.yaml", manifest), ("notes/one.md", "one"), ("notes/.secret.md", "x")]);
    let report = run_folio(folder.path(), &["check"]).out;
    for similar in ["notes/one.md", "notes", "notes/{{id}}.md", "notes/*.md", "./notes"] {
        assert!(report.contains(&format!("did you mean `{similar}`?")), "{similar}\n{report}");
    }
    assert_eq!(report.matches("did you mean `notes/one.md`?").count(), 2, "{report}");
    assert_eq!(report.matches("did you mean `notes`?").count(), 2, "{report}");
    assert_eq!(report.matches("make it, or correct the path").count(), 1, "{report}");
    assert_eq!(report.matches("serve the files as a resource with variables in its URI").count(), 1, "{report}");
}

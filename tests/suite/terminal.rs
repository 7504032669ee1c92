//! `get`, `call` and `read` at a terminal.

use std::process::Command;

use crate::harness::*;
use crate::pseudo_terminal::*;

const DESK: &str = r#"folio: 1
server: { name: desk }
prompts:
  greet:
    description: Greet someone
    arguments:
      who: { description: Whom, required: true, complete: [Ada, Adele, Grace] }
      tone: { enum: [warm, cool], required: true }
      times: { type: integer, minimum: 1, required: true }
    text: "Say a {{tone}} hello to {{who}}, {{times}} times."
resources:
  note:
    uri: "note://{id}"
    arguments: { id: { complete: [first, second] } }
    text: "Note {{id}}"
tools:
  login:
    description: Needs a secret
    arguments: { user: { required: true }, key: { required: true, writeOnly: true } }
    run: [{ script: { shell: sh, text: 'printf %s "$key" | wc -c | tr -d " "' } }]
  deploy:
    description: Asks before
    run:
      - id: asked
        ask:
          confirm:
            elicit:
              message: "Deploy to production?"
              schema:
                sure: { type: boolean, required: true }
                why: { description: For the log }
                region: { default: eu, oneOf: [{ const: eu, title: Europe }, { const: us, title: America }] }
    result: { text: "{{json steps.asked.confirm}}" }
  slow:
    description: Shows progress
    run:
      - { progress: { progress: 1, total: 4, message: "copied a file" } }
      - { id: asked, ask: { go: { elicit: { message: "Go on?", schema: { on: { type: boolean, required: true } } } } } }
      - { progress: { progress: 3, total: 4, message: "copied most" } }
    result: { text: done }
"#;

#[test]
fn missing_arguments_are_asked_for_with_completion() {
    let folder = TestFolder::with_manifest(DESK);
    let mut terminal = PseudoTerminal::start(folder.path(), &["get", "greet"]);
    terminal.wait_for("prompt `greet` needs arguments");
    terminal.wait_for("Whom");
    terminal.wait_for("who (string): ");
    terminal.type_keys(&format!("A{TAB}"));
    // Both names begin so.
    terminal.wait_for("Ad");
    terminal.type_keys(&format!("e{TAB}"));
    terminal.wait_for("Adele");
    terminal.type_keys(ENTER);
    terminal.wait_for("tone (warm|cool): ");
    terminal.type_keys(&format!("hot{ENTER}"));
    terminal.wait_for("must be one of");
    terminal.wait_for("tone (warm|cool): ");
    terminal.type_keys(&format!("c{TAB}{ENTER}"));
    terminal.wait_for("times (integer): ");
    terminal.type_keys(ENTER);
    terminal.wait_for("a value is needed");
    terminal.wait_for("times (integer): ");
    terminal.type_keys(&format!("3{ENTER}"));
    let ran = terminal.finish();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Say a cool hello to Adele, 3 times.\n"), "{ran:?}");
}

#[test]
fn template_variable_is_asked_for() {
    let folder = TestFolder::with_manifest(DESK);
    let mut terminal = PseudoTerminal::start(folder.path(), &["read", "note://{id}"]);
    terminal.wait_for("id (string): ");
    terminal.type_keys(&format!("s{TAB}{ENTER}"));
    let ran = terminal.finish();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Note second\n"), "{ran:?}");
}

#[test]
fn end_of_input_leaves_an_argument_missing() {
    let folder = TestFolder::with_manifest(DESK);
    for keys in [CTRL_D, CTRL_C] {
        let mut terminal = PseudoTerminal::start(folder.path(), &["get", "greet"]);
        terminal.wait_for("who (string): ");
        terminal.type_keys(keys);
        let ran = terminal.finish();
        assert_eq!(ran.out, "", "{ran:?}");
        let (code, said) = if keys == CTRL_D { (2, "missing arguments `who`") } else { (1, "interrupted") };
        assert!(ran.code == Some(code) && ran.err.contains(said), "{ran:?}");
    }
}

#[test]
fn secret_argument_is_not_echoed() {
    let folder = TestFolder::with_manifest(DESK);
    let mut terminal = PseudoTerminal::start(folder.path(), &["call", "login"]);
    terminal.wait_for("user (string): ");
    terminal.type_keys(&format!("visible{ENTER}"));
    terminal.wait_for("key (string): ");
    terminal.type_keys(&format!("sesame42{ENTER}"));
    let ran = terminal.finish();
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "8"), "{ran:?}");
    assert!(ran.err.contains("visible") && !ran.err.contains("sesame"), "{ran:?}");
}

#[test]
fn question_is_answered_field_by_field() {
    let folder = TestFolder::with_manifest(DESK);
    let mut terminal = PseudoTerminal::start(folder.path(), &["call", "deploy"]);
    terminal.wait_for("Deploy to production?");
    terminal.wait_for("sure (true|false): ");
    terminal.type_keys(&format!("perhaps{ENTER}"));
    terminal.wait_for("sure (true|false): ");
    terminal.type_keys(&format!("y{ENTER}"));
    terminal.wait_for("For the log");
    terminal.wait_for("why (string, optional): ");
    terminal.type_keys(ENTER);
    terminal.wait_for("region (eu|us) [eu]: ");
    terminal.type_keys(ENTER);
    let ran = terminal.finish();
    assert_eq!(ran.out, "{\"sure\":true,\"region\":\"eu\",\"action\":\"accept\"}\n", "{ran:?}");
}

#[test]
fn empty_line_or_end_declines_a_question() {
    let folder = TestFolder::with_manifest(DESK);
    for keys in [ENTER, CTRL_D] {
        let mut terminal = PseudoTerminal::start(folder.path(), &["call", "deploy"]);
        terminal.wait_for("sure (true|false): ");
        terminal.type_keys(keys);
        terminal.wait_for("declined");
        let ran = terminal.finish();
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
        assert!(ran.err.contains("error: the user declined: Deploy to production?"), "{ran:?}");
    }
}

#[test]
fn progress_is_shown_only_on_a_terminal() {
    let folder = TestFolder::with_manifest(DESK);
    let mut terminal = PseudoTerminal::start(folder.path(), &["call", "slow"]);
    terminal.wait_for(" 25% 1/4 copied a file");
    terminal.wait_for("on (true|false): ");
    terminal.type_keys(&format!("yes{ENTER}"));
    terminal.wait_for(" 75% 3/4 copied most");
    let ran = terminal.finish();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "done\n"), "{ran:?}");
    let quiet = run_folio(folder.path(), &["call", "slow", "--answer", "go.on=true"]);
    assert_eq!((quiet.code, quiet.out.as_str(), quiet.err.as_str()), (Some(0), "done\n", ""), "{quiet:?}");
}

#[test]
fn dumb_terminal_is_asked_nothing() {
    let folder = TestFolder::with_manifest(DESK);
    let ran = PseudoTerminal::start_on("dumb", folder.path(), &["get", "greet"]).finish();
    assert!(ran.code == Some(2) && ran.err.contains("missing arguments `who`, `tone`, `times`"), "{ran:?}");
}

#[test]
fn control_characters_of_a_question_are_escaped() {
    let hostile = DESK.replace("Deploy to production?", "Sure?\\e[2J\\e]0;owned\\a");
    let folder = TestFolder::with_manifest(&hostile);
    let mut terminal = PseudoTerminal::start(folder.path(), &["call", "deploy"]);
    terminal.wait_for("sure (true|false): ");
    assert!(terminal.screen().contains("Sure?\u{241b}[2J"), "{:?}", terminal.screen());
    assert!(!terminal.screen().contains("\u{1b}]0;"), "{:?}", terminal.screen());
    terminal.type_keys(CTRL_D);
    terminal.finish();
}

#[test]
fn control_characters_of_a_resource_are_escaped() {
    let manifest =
        r#"{ folio: 1, server: { name: s }, resources: { a: { uri: "a:b", text: "x\e[8m hidden\nnext" } } }"#;
    let folder = TestFolder::with_manifest(manifest);
    let mut command = Command::new(FOLIO_BIN);
    command.args(["read", "a:b"]).current_dir(folder.path());
    let mut terminal = PseudoTerminal::start_with_stdout(command);
    terminal.wait_for("next");
    let screen = terminal.screen();
    assert!(screen.contains("x\u{241b}[8m hidden"), "{screen:?}");
    terminal.finish();
    let piped = run_folio(folder.path(), &["read", "a:b"]);
    assert_eq!(piped.out, "x\u{1b}[8m hidden\nnext\n", "{piped:?}");
}

const WATCHED: &str = r#"folio: 1
server: { name: watched }
include: [more.yaml]
partials: partials/*.hbs
resources:
  page: { uri: "page://{name}", file: "pages/{{name}}.md" }
"#;

const WATCHED_PROMPT: &str = r#"prompts:
  p:
    arguments: { who: { required: true } }
    messages:
      - user: "One {{who}} {{> sign}}"
      - user: { file: body.md }
      - user: { resource: "page://a" }
"#;

#[test]
fn watch_renders_again_on_each_save() {
    let folder = TestFolder::new(&[
        ("folio.yaml", WATCHED),
        ("more.yaml", WATCHED_PROMPT),
        ("partials/sign.hbs", "sign 1"),
        ("body.md", "body 1"),
        ("pages/a.md", "page 1"),
    ]);
    let mut terminal = PseudoTerminal::start(folder.path(), &["get", "p", "--watch"]);
    terminal.wait_for("who (string): ");
    terminal.type_keys(&format!("Ada{ENTER}"));
    let first = terminal.wait_for_stdout("page 1");
    assert!(first.contains("One Ada sign 1") && first.contains("body 1"), "{first}");
    for (path, text, shown) in [
        ("partials/sign.hbs", "sign 2".to_owned(), "One Ada sign 2"),
        ("body.md", "body 2".to_owned(), "body 2"),
        ("pages/a.md", "page 2".to_owned(), "page 2"),
        ("more.yaml", WATCHED_PROMPT.replace("One", "Two"), "Two Ada sign 2"),
    ] {
        folder.rename_over(path, text);
        terminal.wait_for_stdout(shown);
    }
    folder.rename_over("more.yaml", WATCHED_PROMPT.replace("{{who}}", "{{whom}}"));
    terminal.wait_for("error[unknown-variable]");
    folder.rename_over("more.yaml", WATCHED_PROMPT.replace("One", "Three"));
    let all = terminal.wait_for_stdout("Three Ada sign 2");
    assert!(!all.contains('\u{1b}'), "{all:?}");
    terminal.type_keys(CTRL_C);
    let ran = terminal.finish();
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn watch_begins_with_a_broken_manifest() {
    let folder = TestFolder::with_manifest("folio: 1\nserver: { name: s }\nprompts:\n  p: { txt: Hi }\n");
    let mut terminal = PseudoTerminal::start(folder.path(), &["get", "p", "--watch", "--json"]);
    terminal.wait_for("unknown key `txt`");
    folder.rename_over("folio.yaml", "folio: 1\nserver: { name: s }\nprompts:\n  p: { text: Hi }\n");
    terminal.wait_for_stdout("\"text\": \"Hi\"");
    terminal.type_keys(CTRL_C);
    assert_eq!(terminal.finish().code, Some(0));
}

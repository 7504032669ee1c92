//! `get`, `call` and `read` in scripts: arguments from files, answers, and what is said where they are missing.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::*;

const DESK: &str = r#"folio: 1
server: { name: desk }
prompts:
  greet:
    description: Greet someone
    arguments:
      who: { description: Whom, required: true }
      tone: { enum: [warm, cool], default: warm }
      tags: { type: array, items: { type: string } }
    text: "Say a {{tone}} hello to {{who}}{{#each tags}} {{this}}{{/each}}."
  talk:
    messages:
      - user: "Look:"
      - user: { image: { base64: iVBORw0KGgo=, mimeType: image/png } }
      - assistant: { resource: "note://one" }
resources:
  about: { uri: "about://desk", text: A desk }
  blob: { uri: "about://blob", blob: AAEC, mimeType: application/octet-stream }
  note:
    uri: "note://{id}{?page}"
    arguments: { id: { enum: [one, two] } }
    text: "Note {{id}}{{page}}"
tools:
  add:
    description: Adds
    arguments: { a: { type: integer, required: true }, b: { type: integer, required: true } }
    result: { text: "{{a}}+{{b}}" }
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
                why: {}
                parts: { type: array, items: { type: string, enum: [web, api, jobs] } }
    result: { text: "{{json steps.asked.confirm}}" }
  kept:
    description: Goes on after a no
    run: [{ id: asked, ask: { confirm: { onDecline: continue, elicit: { message: "Sure?", schema: { sure: { type: boolean, required: true } } } } } }]
    result: { text: "{{steps.asked.confirm.action}}" }
  outer:
    description: Calls a tool that asks
    run: [{ id: inner, tool: deploy }]
    result: { text: "outer {{steps.inner.text}}" }
  page:
    description: Leads to a page
    run: [{ id: asked, ask: { paid: { elicit: { message: Please pay, url: "https://pay.example/" } } } }]
    result: { text: "{{steps.asked.paid.action}}" }
  model:
    description: Asks the model
    run: [{ id: asked, ask: { said: { sample: { prompt: "Sum up", maxTokens: 9 } } } }]
    result: { text: "{{steps.asked.said.text}}" }
  rooted:
    description: Asks for the roots
    run: [{ id: asked, ask: { all: { roots: {} } } }]
    result: { text: "{{#each steps.asked.all}}{{uri}}{{/each}}" }
  twice:
    description: Asks two things
    run: [{ id: asked, ask: { first: { elicit: { message: "What?", schema: { a: {} } } }, second: { elicit: { message: "And now?", schema: { b: {} } } } } }]
  unlikely:
    description: Asks where that is wanted
    arguments: { ask: { type: boolean, default: false } }
    run:
      - { id: asked, ask: { note: { optional: true, elicit: { message: Anything else?, schema: { text: {} } } } } }
      - { when: "{{ask}}", ask: { sure: { elicit: { message: "Sure?", schema: { sure: { type: boolean } } } } } }
    result: { text: "{{json steps.asked.note}}" }
  again:
    description: Asks under one key in two steps
    run:
      - { ask: { more: { elicit: { message: "One?", schema: { one: { required: true } } } } } }
      - { ask: { more: { elicit: { message: "Two?", schema: { two: { required: true } } } } } }
  optional:
    description: Asks whoever can be asked
    run: [{ id: asked, ask: { note: { optional: true, elicit: { message: Anything else?, schema: { text: {} } } } } }]
    result: { text: "{{json steps.asked.note}}" }
"#;

fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let ran = run_folio(folder, arguments);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}: {ran:?}");
    ran.out.trim_end().to_owned()
}

/// What stderr says, with nothing on stdout.
fn fail(folder: &Path, arguments: &[&str], code: i32) -> String {
    let ran = run_folio(folder, arguments);
    assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{arguments:?}: {ran:?}");
    ran.err
}

#[test]
fn args_file_lies_under_the_command_line() {
    let folder = TestFolder::new(&[
        ("folio.yaml", DESK),
        ("a.json", r#"{ "who": "Ada", "tone": "cool", "tags": ["x", "y"] }"#),
        ("a.yaml", "# someone\nwho: Ada\ntone: cool\n"),
        ("n.yaml", "a: 1\nb: 2\n"),
    ]);
    let path = folder.path();
    assert_eq!(succeed(path, &["get", "greet", "--args", "a.json"]), "Say a cool hello to Ada x y.");
    assert_eq!(succeed(path, &["get", "greet", "tone=warm", "--args", "a.yaml"]), "Say a warm hello to Ada.");
    assert_eq!(succeed(path, &["call", "add", "--args", "n.yaml", "b=5"]), "1+5");
    let fed = run_folio_with_input(path, &["call", "add", "--args", "-"], b"{\"a\": 3, \"b\": 4}");
    assert_eq!((fed.code, fed.out.trim_end()), (Some(0), "3+4"), "{fed:?}");
}

#[test]
fn args_file_must_be_an_object() {
    let folder = TestFolder::new(&[("folio.yaml", DESK), ("list.json", "[1]"), ("bad.yaml", "a: [1\n")]);
    for (file, said) in [
        ("list.json", "expected an object of arguments in `list.json`"),
        ("bad.yaml", "bad.yaml:"),
        ("none.yaml", "cannot read `--args` from `none.yaml`"),
    ] {
        let error = fail(folder.path(), &["call", "add", "--args", file], 2);
        assert!(error.contains(said), "{file}: {error}");
    }
    let error = fail(folder.path(), &["call", "add", "a=@-", "--args", "-"], 2);
    assert!(error.contains("already read for an argument"), "{error}");
}

#[test]
fn name_that_is_nearly_right_is_suggested() {
    let folder = TestFolder::with_manifest(DESK);
    for (arguments, code, said) in [
        (&["get", "greet", "whom=Ada"][..], 2, "help: `whom` is unknown, did you mean `who`?\n"),
        (&["call", "greet"], 1, "unknown tool `greet`\nhelp: `greet` is a prompt: `folio get greet`\n"),
        (&["get", "add"], 1, "unknown prompt `add`\nhelp: `add` is a tool: `folio call add`\n"),
        (&["read", "greet"], 1, "help: `greet` is a prompt: `folio get greet`\n"),
        (&["read", "add"], 1, "help: `add` is a tool: `folio call add`\n"),
    ] {
        let error = fail(folder.path(), arguments, code);
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}

#[test]
fn missing_argument_is_named_with_usage() {
    let folder = TestFolder::with_manifest(DESK);
    for (arguments, said, usage) in [
        (
            &["get", "greet", "tone=cool"][..],
            "error: missing argument `who` of prompt `greet`\n",
            "help: folio get greet who=<string> [tone=<warm|cool>] [tags=<list>]\n",
        ),
        (
            &["call", "add"],
            "error: missing arguments `a`, `b` of tool `add`\n",
            "help: folio call add a=<integer> b=<integer>\n",
        ),
        (
            &["read", "note://{id}{?page}", "page=3"],
            "error: missing argument `id` of resource `note://{id}{?page}`\n",
            "id=<one|two> [page=<string>]\n",
        ),
    ] {
        let error = fail(folder.path(), arguments, 2);
        assert!(error.starts_with(said) && error.ends_with(usage), "{arguments:?}: {error}");
    }
}

#[test]
fn template_is_read_with_its_variables() {
    let folder = TestFolder::with_manifest(DESK);
    let template = "note://{id}{?page}";
    assert_eq!(succeed(folder.path(), &["read", template, "id=two", "page=7"]), "Note two7");
    assert_eq!(succeed(folder.path(), &["read", template, "id=two"]), "Note two");
    let error = fail(folder.path(), &["read", template, "id=two", "pge=7"], 2);
    assert!(error.contains("unknown argument `pge`"), "{error}");
    let error = fail(folder.path(), &["read", "about://desk", "id=two"], 2);
    assert!(error.contains("`about://desk` is not a resource template"), "{error}");
}

#[test]
fn unknown_name_shows_the_near_one() {
    let folder = TestFolder::with_manifest(DESK);
    for (arguments, said) in [
        (&["get", "gret", "who=x"][..], "error: unknown prompt `gret`\nhelp: did you mean `greet`?\n"),
        (&["call", "deplyo"], "error: unknown tool `deplyo`\nhelp: did you mean `deploy`?\n"),
        (
            &["call", "zzzzzzzz"],
            "error: unknown tool `zzzzzzzz`\nhelp: `folio list` shows what there is, and `folio check` what is left out, and why\n",
        ),
        (&["read", "about://dsek"], "\nhelp: did you mean `about://desk`?\n"),
        (&["read", "nte://one"], "\nhelp: did you mean `note://{id}{?page}`?\n"),
    ] {
        let error = fail(folder.path(), arguments, 1);
        assert!(error.ends_with(said), "{arguments:?}: {error}");
    }
}

#[test]
fn answers_are_typed_and_reach_the_question() {
    let folder = TestFolder::with_manifest(DESK);
    let path = folder.path();
    let called =
        succeed(path, &["call", "deploy", "--answer", "confirm.sure=yes", "--answer", "confirm.parts=web,jobs"]);
    let expected = json!({ "sure": true, "parts": ["web", "jobs"], "action": "accept" });
    assert_eq!(serde_json::from_str::<Value>(&called).unwrap(), expected);
    assert!(succeed(path, &["call", "outer", "--answer", "confirm.sure=false"]).starts_with("outer {\"sure\":false"));
    assert_eq!(succeed(path, &["call", "kept", "--answer", "confirm=cancel"]), "cancel");
    assert_eq!(succeed(path, &["call", "page", "--answer", "paid=accept"]), "accept");
    assert_eq!(succeed(path, &["call", "model", "--answer", "said=All is well"]), "All is well");
    assert_eq!(succeed(path, &["call", "rooted", "--answer", "all=/srv/desk"]), "file:///srv/desk");
    let here = succeed(path, &["call", "rooted"]);
    assert_eq!(here, format!("file://{}", path.canonicalize().unwrap().display()));
    assert!(succeed(path, &["call", "optional", "--answer", "note.text=hi"]).contains("\"text\":\"hi\""));
}

#[test]
fn declined_question_fails_the_call() {
    let folder = TestFolder::with_manifest(DESK);
    let error = fail(folder.path(), &["call", "deploy", "--answer", "confirm=decline"], 1);
    assert_eq!(error, "error: the user declined: Deploy to production?\n");
}

#[test]
fn unanswered_question_says_which_answer_to_pass() {
    let folder = TestFolder::with_manifest(DESK);
    let error = fail(folder.path(), &["call", "deploy"], 1);
    assert_eq!(
        error,
        "error: no answer to question `confirm`\n\
         help: pass `--answer 'confirm.sure=<true|false>'` `--answer 'confirm.why=<string>'` \
         `--answer 'confirm.parts=<list of web|api|jobs>'`\n"
    );
    let error = fail(folder.path(), &["call", "page"], 1);
    assert!(error.contains("--answer 'paid=accept|decline|cancel'"), "{error}");
    let error = fail(folder.path(), &["call", "twice", "--answer", "first.a=1"], 1);
    assert_eq!(error, "error: no answer to question `second`: And now?\nhelp: pass `--answer 'second.b=<string>'`\n");
}

#[test]
fn answer_that_fits_one_of_two_questions_ends_the_call() {
    let folder = TestFolder::with_manifest(DESK);
    let error = fail(folder.path(), &["call", "again", "--answer", "more.two=x"], 1);
    assert_eq!(error, "error: invalid answer to `more`: `one` is required\n");
}

#[test]
fn condition_or_optional_question_needs_no_answer() {
    let folder = TestFolder::with_manifest(DESK);
    assert_eq!(succeed(folder.path(), &["call", "optional"]), "null");
    assert_eq!(succeed(folder.path(), &["call", "unlikely"]), "null");
}

#[test]
fn wrong_answer_is_refused_before_the_call() {
    let folder = TestFolder::with_manifest(DESK);
    for (tool, answer, said) in [
        (
            "deploy",
            "confrim.sure=true",
            "unknown question `confrim`; did you mean `confirm`?\nhelp: pass `--answer 'confirm.sure=",
        ),
        (
            "deploy",
            "confirm.surr=true",
            "unknown field `surr` of question `confirm`, expected one of `sure`, `why`, `parts`",
        ),
        ("deploy", "confirm.sure=maybe", "invalid answer to `confirm`: `sure`"),
        ("deploy", "confirm.parts=web,cli", "invalid answer to `confirm`: `parts"),
        ("deploy", "confirm.why=x", "invalid answer to `confirm`: `sure` is required\nhelp: pass"),
        ("deploy", "confirm=perhaps", "help: pass `--answer 'confirm.sure=<true|false>'`"),
        ("add", "confirm.sure=true", "unknown question `confirm`: nothing is asked here"),
        ("add", "confirm", "expected KEY.FIELD=VALUE"),
    ] {
        let error = fail(folder.path(), &["call", tool, "a=1", "b=2", "--answer", answer], 2);
        assert!(error.contains(said), "{answer}: {error}");
    }
}

#[test]
fn plain_output_has_one_line_for_bytes() {
    let folder = TestFolder::with_manifest(DESK);
    let text = succeed(folder.path(), &["get", "talk"]);
    assert_eq!(text, "--- user\nLook:\n--- user\n[image/png, 8 bytes]\n--- assistant\n[resource note://one]\nNote one");
    let whole = succeed(folder.path(), &["get", "talk", "--json"]);
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(whole["messages"][1]["content"]["data"], "iVBORw0KGgo=");
    // Bytes in a pipe are bytes.
    assert_eq!(run_folio(folder.path(), &["read", "about://blob"]).out, "\u{0}\u{1}\u{2}");
}

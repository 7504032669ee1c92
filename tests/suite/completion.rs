//! Completion offers only values that are accepted and lead to readable resources.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::harness::*;

/// Prompts and templates over one folder of pages, of which some are not served.
const DESK: &str = r#"folio: 1
server: { name: desk }
prompts:
  triage:
    description: Triage
    arguments:
      page: { complete: { resource: docs } }
      link: { complete: { resource: docs, uri: true } }
      name: { complete: { glob: "**/*.md", base: docs, stem: true } }
      file: { complete: { glob: "*.md", base: docs } }
      short: { maxLength: 4, complete: { glob: "*.md", base: docs } }
      lang: { complete: { resource: translated } }
      title: { complete: { resource: translated, variable: page } }
      kind: { complete: { resource: issue } }
    messages:
      - user: { resource: "docs://{{path page}}" }
      - user: "{{link}}{{name}}{{file}}{{short}}{{lang}}{{title}}{{kind}}"
resources:
  docs: { uri: "docs://{+page}", root: docs, include: ["**/*.md"], exclude: ["draft-*", "old/**"] }
  page: { uri: "page://{name}", file: "docs/{{name}}.md" }
  deep: { uri: "deep://{+path}", file: "docs/{{path}}" }
  translated: { uri: "tr://{lang}/{page}", file: "text/{{lang}}/{{page}}.txt" }
  numbered: { uri: "no://{n}", arguments: { n: { type: integer, minimum: 2 } }, file: "numbers/{{n}}.txt" }
  chosen: { uri: "chosen://{n}", arguments: { n: { complete: ["2"] } }, file: "numbers/{{n}}.txt" }
  issue: { uri: "issue://{kind}", arguments: { kind: { enum: [bug, idea] } }, text: "{{kind}}" }
"#;

fn desk() -> TestFolder {
    let folder = TestFolder::with_manifest(DESK);
    let docs =
        ["policy.md", "how-to/restart.md", "draft-new.md", "old/was.md", ".hidden.md", "a b%20?.md", "c:d.md", "x.txt"];
    for path in docs {
        folder.write(&format!("docs/{path}"), path);
    }
    for path in ["text/en/start.txt", "text/en/end.txt", "text/de/start.txt", "numbers/1.txt", "numbers/2.txt"] {
        folder.write(path, path);
    }
    folder.write("numbers/02.txt", "no number is written so");
    folder.write("outside.md", "outside");
    symlink(folder.join("outside.md"), folder.join("docs/out.md")).unwrap();
    folder
}

fn complete(client: &TestClient, reference: Value, argument: &str, typed: &str, known: Value) -> Vec<String> {
    let params = json!({
        "ref": reference,
        "argument": { "name": argument, "value": typed },
        "context": { "arguments": known },
    });
    let mut values: Vec<String> =
        serde_json::from_value(client.result("completion/complete", params)["completion"]["values"].clone()).unwrap();
    values.sort();
    values
}

fn prompt(name: &str) -> Value {
    json!({ "type": "ref/prompt", "name": name })
}

fn template(uri: &str) -> Value {
    json!({ "type": "ref/resource", "uri": uri })
}

#[test]
fn resource_source_offers_listed_values() {
    let folder = desk();
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let triage = |argument: &str, typed: &str| complete(client, prompt("triage"), argument, typed, json!({}));
        let listed = client.list("resources");
        let names: Vec<&str> = listed.iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(triage("page", ""), names);
        assert_eq!(names, ["a b%20?.md", "c:d.md", "how-to/restart.md", "policy.md"]);
        for page in &names {
            let check_diagnostics =
                client.result("prompts/get", json!({ "name": "triage", "arguments": { "page": page } }));
            assert_eq!(text_of(&check_diagnostics["messages"][0]["content"]["resource"]).as_str(), page.to_owned());
        }
        let uris: Vec<&str> = listed.iter().map(|one| one["uri"].as_str().unwrap()).collect();
        assert_eq!(triage("link", ""), uris);
        assert_eq!(triage("link", "docs://pol"), ["docs://policy.md"]);
        assert_eq!(triage("kind", ""), ["bug", "idea"]);
    });
}

#[test]
fn glob_source_respects_base_and_stem() {
    let folder = desk();
    let server = folder.stdio();
    let client = &server.sessionless();
    let triage = |argument: &str| complete(client, prompt("triage"), argument, "", json!({}));
    // A link within the pack is as good as a file.
    assert_eq!(triage("file"), ["a b%20?.md", "c:d.md", "draft-new.md", "out.md", "policy.md"]);
    let stems = ["a b%20?", "c:d", "draft-new", "how-to/restart", "old/was", "out", "policy"];
    assert_eq!(triage("name"), stems);
    assert!(triage("short").is_empty(), "what the argument refuses is offered: {:?}", triage("short"));
}

#[test]
fn file_template_completes_its_variables() {
    let folder = desk();
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let all = |uri: &str, variable: &str, known: Value| complete(client, template(uri), variable, "", known);
        assert_eq!(all("page://{name}", "name", json!({})), ["a b%20?", "c:d", "draft-new", "policy"]);
        let deep = ["a b%20?.md", "c:d.md", "draft-new.md", "how-to/restart.md", "old/was.md", "policy.md", "x.txt"];
        assert_eq!(all("deep://{+path}", "path", json!({})), deep);
        assert_eq!(all("tr://{lang}/{page}", "lang", json!({})), ["de", "en"]);
        assert_eq!(all("tr://{lang}/{page}", "page", json!({})), ["end", "start"]);
        assert_eq!(all("tr://{lang}/{page}", "page", json!({ "lang": "de" })), ["start"]);
        assert_eq!(all("tr://{lang}/{page}", "lang", json!({ "page": "end", "lang": "de" })), ["en"]);
        assert_eq!(all("tr://{lang}/{page}", "page", json!({ "lang": "../docs" })), Vec::<String>::new());
        assert_eq!(all("no://{n}", "n", json!({})), ["2"]);
        assert_eq!(all("chosen://{n}", "n", json!({})), ["2"]);
        let typed = complete(client, template("page://{name}"), "name", "poli", json!({}));
        assert_eq!(typed, ["policy"]);
        let triage = |argument: &str, known: Value| complete(client, prompt("triage"), argument, "", known);
        assert_eq!(triage("lang", json!({})), ["de", "en"]);
        assert_eq!(triage("title", json!({ "lang": "de" })), ["start"]);
    });
}

#[test]
fn new_file_is_offered_at_once() {
    let folder = desk();
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    folder.write("docs/zebra.md", "zebra");
    client.wait_for("notifications/resources/list_changed");
    assert_eq!(complete(&client, prompt("triage"), "page", "zeb", json!({})), ["zebra.md"]);
    assert_eq!(complete(&client, template("page://{name}"), "name", "zeb", json!({})), ["zebra"]);
}

#[test]
fn referenced_schema_gives_choices_and_description() {
    let folder = TestFolder::new(&[
        (
            "folio.yaml",
            r##"folio: 1
server: { name: s }
prompts:
  p:
    description: P
    arguments:
      tone: { $ref: "defs.yaml#/$defs/tone" }
      own: { $ref: "defs.yaml#/$defs/tone", description: Its own words }
      again: { $ref: "#/properties/tone" }
      twice: { allOf: [{ $ref: "defs.yaml#/$defs/alias" }] }
      flag: { $ref: "defs.yaml#/$defs/flag" }
      way: { oneOf: [{ const: mail, title: By mail }, { const: call }] }
      open: { anyOf: [{ const: any }, { type: string }] }
    text: "{{tone}}{{own}}{{again}}{{twice}}{{flag}}{{way}}{{open}}"
"##,
        ),
        (
            "defs.yaml",
            r##"$defs:
  tone: { title: Tone, description: How it is said, enum: [warm, cool] }
  alias: { $ref: "#/$defs/tone" }
  flag: { type: boolean, description: Whether }
"##,
        ),
    ]);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let all = |argument: &str| complete(client, prompt("p"), argument, "", json!({}));
        for argument in ["tone", "own", "again", "twice"] {
            assert_eq!(all(argument), ["cool", "warm"], "{argument}");
        }
        assert_eq!(all("flag"), ["false", "true"]);
        assert_eq!(all("way"), ["call", "mail"]);
        assert!(all("open").is_empty());
        let listed = client.list("prompts")[0]["arguments"].clone();
        let words: Vec<&Value> = listed.as_array().unwrap().iter().map(|one| &one["description"]).take(5).collect();
        let check_diagnostics = "How it is said (one of: warm, cool)";
        let own = "Its own words (one of: warm, cool)";
        assert_eq!(
            json!(words),
            json!([check_diagnostics, own, check_diagnostics, check_diagnostics, "Whether (true or false)"]),
            "{listed}"
        );
    });
}

/// What `check` says of the argument `a` of a prompt beside some resources.
fn check_diagnostics(complete: &str) -> Vec<Value> {
    let folder = desk();
    let head = DESK.split_once("prompts:").unwrap().0;
    let resources = DESK.split_once("resources:").unwrap().1;
    let prompts = format!("prompts:\n  p: {{ description: P, arguments: {{ a: {complete} }}, text: '{{{{a}}}}' }}\n");
    let more = "  plain: { uri: 'plain://x', text: x }\n  made: { uri: 'made://{x}', text: '{{x}}' }\n  \
        one: { uri: 'one://{x}', arguments: { x: { complete: { resource: two } } }, text: '{{x}}' }\n  \
        two: { uri: 'two://{x}', arguments: { x: { complete: { resource: one } } }, text: '{{x}}' }\n";
    let more = if complete.contains("one") { more } else { more.split_once("  one:").unwrap().0 };
    folder.write("folio.yaml", format!("{head}{prompts}resources:{resources}{more}"));
    let ran = run_folio(folder.path(), &["check", "--format", "json"]);
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"))
}

#[test]
fn empty_completion_source_is_reported() {
    for (complete, words) in [
        ("{ complete: { resource: dosc } }", "unknown resource `dosc`"),
        ("{ complete: { resource: plain } }", "resource `plain` has no completed variables"),
        ("{ complete: { resource: made } }", "resource `made` has no completed variables"),
        ("{ complete: { resource: translated } }", "ambiguous variable of resource `translated`"),
        ("{ complete: { resource: docs, variable: pgae } }", "unknown completed variable `pgae` of resource `docs`"),
        (
            "{ complete: { resource: translated, variable: page, uri: true } }",
            "cannot complete the URI of `translated`: it also requires `lang`",
        ),
        ("{ complete: { resource: one } }", "cyclic completion: `one` completes itself"),
        ("{ complete: { resource: docs, stem: true } }", "`stem` requires `glob`"),
        ("{ complete: { glob: '*.md', uri: true } }", "`uri` requires `resource`"),
        (
            "{ complete: { glob: '*.md', resource: docs } }",
            "invalid `complete`, expected a list or exactly one of `glob`, `resource`, `run`",
        ),
        ("{ complete: { glob: '*.md', base: dosc } }", "no such folder: `dosc`"),
        ("{ complete: { glob: '../*.md', base: docs } }", "glob escapes its `base`"),
        ("{ complete: { glob: '*.rst', base: docs } }", "no files match this glob"),
        ("{ enum: [x, y], complete: [x, z] }", "unused completion `z`: `a` does not accept it"),
    ] {
        let report = check_diagnostics(complete);
        assert!(report.iter().any(|fault| fault["message"] == words), "{complete}: {report:#?}");
    }
    let meant = check_diagnostics("{ complete: { resource: dosc } }");
    assert!(meant[0]["help"].as_str().unwrap().contains("did you mean `docs`"), "{meant:#?}");
    assert_eq!(check_diagnostics("{ complete: { resource: docs } }"), Vec::<Value>::new());
}

/// The warnings of a manifest whose globs offer pages.
fn warned(entries: &str) -> Vec<(String, String)> {
    let folder = desk();
    folder.write("folio.yaml", format!("folio: 1\nserver: {{ name: s }}\n{entries}"));
    let ran = run_folio(folder.path(), &["check", "--format", "json"]);
    let report: Vec<Value> = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let words = |fault: &Value, key: &str| fault[key].as_str().unwrap_or_default().to_owned();
    let warnings = report.iter().filter(|fault| fault["severity"] == "warning");
    warnings.map(|fault| (words(fault, "message"), words(fault, "help"))).collect()
}

#[test]
fn glob_offering_unreadable_files_is_reported() {
    let asks = |glob: &str| {
        format!(
            "prompts: {{ p: {{ arguments: {{ page: {{ complete: {{ {glob} }} }} }}, messages: [{{ user: {{ resource: 'docs://{{{{path page}}}}' }} }}] }} }}\n\
            resources: {{ docs: {{ uri: 'docs://{{+page}}', root: docs, include: ['*.md'], exclude: ['draft-*', 'out.md'] }} }}\n"
        )
    };
    let mend = "use `complete: { resource: docs }`, which offers only readable files".to_owned();
    let check_diagnostics = |path: &str, uri: &str| format!("completion `{path}` leads to unreadable resource `{uri}`");
    let from_here = check_diagnostics("docs/a b%20?.md", "docs://docs/a%20b%2520%3F.md");
    assert_eq!(warned(&asks("glob: 'docs/*.md'")), [(from_here, mend.clone())]);
    let draft = check_diagnostics("draft-new.md", "docs://draft-new.md");
    assert_eq!(warned(&asks("glob: '*.md', base: docs")), [(draft, mend.clone())]);
    let linked = "messages: [{ user: { resourceLink: { uri: 'docs://{{path page}}', name: n } } }]";
    for body in [linked, "run: { read: 'docs://{{path page}}' }, text: '{{result.text}}'"] {
        let written = |glob: &str| {
            let messages = "messages: [{ user: { resource: 'docs://{{path page}}' } }]";
            assert!(asks(glob).contains(messages));
            asks(glob).replace(messages, body)
        };
        assert_eq!(
            warned(&written("glob: 'docs/*.md'")),
            [(check_diagnostics("docs/a b%20?.md", "docs://docs/a%20b%2520%3F.md"), mend.clone())]
        );
        assert_eq!(warned(&written("glob: 'p*.md', base: docs")), []);
    }
    assert_eq!(warned(&asks("glob: 'p*.md', base: docs")), []);
    let own = |glob: &str| {
        format!(
            "resources: {{ page: {{ uri: 'page://{{name}}', arguments: {{ name: {{ complete: {{ {glob} }} }} }}, file: 'docs/{{{{name}}}}.md' }} }}\n"
        )
    };
    let twice = check_diagnostics("docs/policy.md", "page://docs%2Fpolicy.md");
    let without = "remove `complete`: the readable files complete it".to_owned();
    assert_eq!(warned(&own("glob: 'docs/p*.md'")), [(twice, without)]);
    assert_eq!(warned(&own("glob: 'p*.md', base: docs, stem: true")), []);
}

#[test]
fn pack_completes_from_its_own_resources() {
    let prompts =
        "prompts: { p: { description: P, arguments: { a: { complete: { resource: docs } } }, text: '{{a}}' } }\n";
    let folder = TestFolder::new(&[
        (
            "folio.yaml",
            &format!(
                "folio: 1\nserver: {{ name: s }}\npacks: {{ in: {{ path: in }} }}\n{prompts}resources: {{ docs: {{ uri: 'a://{{+x}}', root: a }} }}\n"
            ),
        ),
        ("a/outer.md", ""),
        (
            "in/folio.yaml",
            &format!(
                "folio: 1\nserver: {{ name: i }}\n{prompts}resources: {{ docs: {{ uri: 'b://{{+x}}', root: b }} }}\n"
            ),
        ),
        ("in/b/inner.md", ""),
    ]);
    let server = folder.stdio();
    let client = &server.sessionless();
    assert_eq!(complete(client, prompt("p"), "a", "", json!({})), ["outer.md"]);
    assert_eq!(complete(client, prompt("in-p"), "a", "", json!({})), ["inner.md"]);
}

const MATCHED: &str = r#"folio: 1
server: { name: s }
prompts:
  p:
    description: P
    arguments:
      near: { complete: { glob: "*.md", base: docs } }
      begun: { complete: { glob: "*.md", base: docs, match: prefix } }
      fuzzy: { complete: { glob: "*.md", base: docs, match: fuzzy } }
      level: { enum: [low, Lower, high, slow], complete: { match: prefix } }
      found: { complete: { run: { exec: [printf, "%s\n", "found-{{typed}}", "not {{typed}}"] }, match: prefix } }
      typed: { complete: { run: { exec: [printf, "%s\n", "{{typed}} {{arguments.typed}}"] } } }
      other: { complete: { resource: day } }
    text: "{{near}}{{begun}}{{fuzzy}}{{level}}{{found}}{{typed}}{{other}}"
resources:
  day: { uri: "day://{d}", arguments: { d: { complete: { run: { exec: [printf, "%s\n", "{{typed}}!"] } } } }, text: "{{d}}" }
"#;

#[test]
fn prefix_match_offers_only_what_begins_so() {
    let folder = TestFolder::with_manifest(MATCHED);
    ["policy.md", "apology.md", "Poll.md", "p-o-l.md"]
        .iter()
        .for_each(|page| folder.write(&format!("docs/{page}"), page));
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let offered = |argument: &str, typed: &str| complete(client, prompt("p"), argument, typed, json!({}));
        assert_eq!(offered("begun", "pol"), ["Poll.md", "policy.md"]);
        assert_eq!(offered("near", "pol"), ["Poll.md", "apology.md", "p-o-l.md", "policy.md"]);
        assert_eq!(offered("fuzzy", "pol"), offered("near", "pol"));
        assert_eq!(offered("level", "LOW"), ["Lower", "low"]);
        assert_eq!(offered("level", "").len(), 4);
    });
}

#[test]
fn completing_run_knows_what_was_typed() {
    let folder = TestFolder::with_manifest(MATCHED);
    folder.write("docs/a.md", "A");
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let offered = |argument: &str, typed: &str| complete(client, prompt("p"), argument, typed, json!({}));
        assert_eq!(offered("found", "found-"), ["found-found-"]);
        assert_eq!(offered("found", "x"), [""; 0]);
        assert_eq!(offered("other", "mon"), ["mon!"]);
        assert_eq!(offered("found", &"f".repeat(300)), [""; 0]);
        let known = complete(client, prompt("p"), "typed", "ab", json!({ "typed": "known" }));
        assert_eq!(known, ["ab known"]);
    });
}

#[test]
fn wrong_match_and_typed_are_reported() {
    for (complete, words) in [
        ("{ complete: { glob: '*.md', base: docs, match: exact } }", "exact"),
        ("{ complete: { match: prefix } }", "`match` without values to match"),
    ] {
        let report = check_diagnostics(complete);
        let messages: Vec<_> = report.iter().map(|fault| fault["message"].as_str().unwrap()).collect();
        assert!(messages.iter().any(|message| message.contains(words)), "{complete}: {report:#?}");
    }
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nprompts: { p: { description: P, text: '{{typed}}' } }\n",
    );
    let ran = run_folio(folder.path(), &["check", "--format", "json"]);
    assert!(ran.out.contains("unknown variable `typed`"), "{ran:?}");
}

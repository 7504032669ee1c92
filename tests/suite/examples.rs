//! Every server in `examples/servers/` passes its check and works as documented.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::example_api::{MockApi, TOKEN};
use crate::harness::{
    HttpClient, HttpResponse, SESSION_VERSIONS, SESSIONLESS_VERSION, ServeCommand, TestClient, TestFolder, TestServer,
    run_folio, sessionless_meta, text_of, wait_until,
};
use crate::issuer::{Issuer, SigningKey};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The examples, by name. A new one gets its test here.
const EXAMPLES: [&str; 13] = [
    "ask-first", "assistant", "callers", "company", "conformance", "docs", "git-desk", "hello", "notes", "sandboxed",
    "scope-challenge", "team-pack", "web-api",
];

fn example(name: &str) -> PathBuf {
    Path::new(ROOT).join("examples/servers").join(name)
}

/// Every file beneath `folder`, relative to it.
fn files_beneath(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => files.push(entry.path().strip_prefix(folder).unwrap().to_owned()),
            }
        }
    }
    files.sort();
    files
}

/// A copy of an example that a test may edit.
fn copy_of(name: &str) -> TestFolder {
    let folder = TestFolder::new(&[]);
    for file in files_beneath(&example(name)) {
        folder.write(file.to_str().unwrap(), fs::read(example(name).join(&file)).unwrap());
    }
    folder
}

/// The folders of all manifests: those of the examples, and those of the packs in them.
fn manifests() -> Vec<PathBuf> {
    let examples = Path::new(ROOT).join("examples/servers");
    let files = files_beneath(&examples);
    let manifests = files.iter().filter(|file| file.ends_with("folio.yaml"));
    manifests.map(|file| examples.join(file.parent().unwrap())).collect()
}

#[expect(clippy::print_stderr, reason = "who reads the tests' output should know what was left out")]
fn has_git() -> bool {
    let found = Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: there is no git on this machine");
    }
    found
}

/// The values that complete an argument, best first.
fn completed(client: &TestClient, reference: Value, name: &str, value: &str, known: Value) -> Vec<String> {
    let params = json!({
        "ref": reference,
        "argument": { "name": name, "value": value },
        "context": { "arguments": known },
    });
    let values = client.result("completion/complete", params)["completion"]["values"].clone();
    serde_json::from_value(values).unwrap()
}

fn prompt(name: &str) -> Value {
    json!({ "type": "ref/prompt", "name": name })
}

fn template(uri: &str) -> Value {
    json!({ "type": "ref/resource", "uri": uri })
}

fn messages(client: &TestClient, name: &str, arguments: Value) -> Vec<Value> {
    let result = client.result("prompts/get", json!({ "name": name, "arguments": arguments }));
    result["messages"].as_array().unwrap().clone()
}

fn templates_of(client: &TestClient) -> Vec<String> {
    let templates = client.list("resourceTemplates");
    templates.iter().map(|template| template["uriTemplate"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_example_is_tested() {
    let entries = fs::read_dir(Path::new(ROOT).join("examples/servers")).unwrap();
    let names: BTreeSet<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, EXAMPLES.map(str::to_owned).into());
    for name in EXAMPLES {
        assert!(example(name).join("README.md").is_file(), "{name} has no README.md");
    }
}

#[test]
fn every_example_checks_without_a_warning() {
    let git = has_git();
    for folder in manifests() {
        let ran = run_folio(Path::new("/"), &["check", folder.to_str().unwrap(), "--strict", "--format", "json"]);
        let mut report: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
        report.retain(|fault| fault["severity"] != "note" && (git || fault["code"] != "missing-program"));
        assert!(report.is_empty(), "{}: {report:#?}", folder.display());
        assert!(ran.code == Some(0) || !git, "{ran:?}");
    }
}

#[test]
fn every_manifest_has_a_schema_modeline() {
    let examples = Path::new(ROOT).join("examples/servers");
    let schema = fs::canonicalize(Path::new(ROOT).join("schemas/folio.schema.json")).unwrap();
    let mut seen = 0;
    // Those of Kubernetes are no manifests of ours.
    let is_foreign = |file: &Path| file.ends_with("kustomization.yaml") || file.iter().any(|part| part == "deploy");
    let is_yaml = |file: &&PathBuf| file.extension().is_some_and(|kind| kind == "yaml") && !is_foreign(file);
    for file in files_beneath(&examples).iter().filter(is_yaml) {
        let text = fs::read_to_string(examples.join(file)).unwrap();
        let path = text.lines().next().unwrap().strip_prefix("# yaml-language-server: $schema=");
        let path = path.unwrap_or_else(|| panic!("{} begins with no modeline", file.display()));
        let found = fs::canonicalize(examples.join(file).parent().unwrap().join(path));
        assert_eq!(found.ok(), Some(schema.clone()), "{}", file.display());
        seen += 1;
    }
    assert!(seen >= EXAMPLES.len());
}

#[test]
fn every_action_has_an_example() {
    let examples = Path::new(ROOT).join("examples/servers");
    let files = files_beneath(&examples).into_iter().filter(|file| file.extension().is_some_and(|kind| kind == "yaml"));
    let texts: String = files.map(|file| fs::read_to_string(examples.join(file)).unwrap()).collect();
    for row in folio::ACTIONS.iter() {
        let used = texts.lines().any(|line| line.trim_start_matches([' ', '-']).starts_with(&format!("{}:", row.key)));
        assert!(used || texts.contains(&format!("run: {{ {}:", row.key)), "no example uses `{}`", row.key);
    }
}

/// What the specification shows as examples, an author should find here.
#[test]
fn specification_examples_are_included() {
    let (mut names, mut uris) = (BTreeSet::new(), BTreeSet::new());
    for example in EXAMPLES.map(example) {
        let ran = run_folio(Path::new(ROOT), &["list", example.to_str().unwrap(), "--json"]);
        let lists: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        for entry in lists.as_object().unwrap().values().flat_map(|list| list.as_array().into_iter().flatten()) {
            names.extend(entry["name"].as_str().map(str::to_owned));
            uris.extend(entry["uriTemplate"].as_str().map(str::to_owned));
        }
    }
    for name in ["git-commit", "explain-code", "analyze-project", "debug-error", "code_review", "get_weather"] {
        assert!(names.contains(name), "there is no {name} in {names:?}");
    }
    for uri in ["file:///{path}", "logs://recent{?timeframe}"] {
        assert!(uris.contains(uri), "there is no {uri} in {uris:?}");
    }
}

/// The first value that completes each of these names, each seeing those before it; a text where nothing does.
fn filled(client: &TestClient, reference: &Value, names: &[String]) -> Value {
    let mut known = json!({});
    for name in names {
        let offered = completed(client, reference.clone(), name, "", known.clone());
        known[name] = json!(offered.first().map_or("1", String::as_str));
    }
    known
}

/// Whether a request failed because something that was offered does not exist, or is not taken.
fn leads_nowhere(client: &TestClient, method: &str, params: Value) -> Option<Value> {
    let error = client.request(method, params)["error"].clone();
    let code = error["code"].as_i64();
    code.is_some_and(|code| code != -32603).then_some(error)
}

fn check_prompts(client: &TestClient) -> usize {
    let mut offered = 0;
    for entry in client.list("prompts") {
        let name = entry["name"].as_str().unwrap();
        let arguments = entry["arguments"].as_array().cloned().unwrap_or_default();
        let names: Vec<String> = arguments.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        let base = filled(client, &prompt(name), &names);
        for argument in &names {
            for value in completed(client, prompt(name), argument, "", base.clone()) {
                let mut given = base.clone();
                given[argument] = json!(value);
                let params = json!({ "name": name, "arguments": given });
                let error = leads_nowhere(client, "prompts/get", params);
                assert!(error.is_none(), "`{value}` is offered for `{argument}` of {name}: {error:?}");
                offered += 1;
            }
        }
    }
    offered
}

fn check_templates(client: &TestClient) -> usize {
    let mut offered = 0;
    for uri in templates_of(client) {
        let parsed = folio::UriTemplate::parse(&uri).unwrap();
        let names: Vec<String> = parsed.variables().iter().map(|variable| variable.name.clone()).collect();
        let base = filled(client, &template(&uri), &names);
        for variable in &names {
            for value in completed(client, template(&uri), variable, "", base.clone()) {
                let known = |name: &str| {
                    if name == variable { Some(value.clone()) } else { base[name].as_str().map(str::to_owned) }
                };
                let read = json!({ "uri": parsed.expand(&known) });
                let error = leads_nowhere(client, "resources/read", read);
                assert!(error.is_none(), "`{value}` is offered for `{variable}` of {uri}: {error:?}");
                offered += 1;
            }
        }
    }
    offered
}

#[test]
fn offered_completions_are_usable() {
    if !has_git() {
        return;
    }
    let mut offered = 0;
    for name in EXAMPLES {
        let server = ServeCommand::new(&example(name)).stdio();
        let client = server.sessionless();
        let declared = client.result("server/discover", Value::Null)["capabilities"].clone();
        if declared.get("completions").is_some() {
            offered += if declared.get("prompts").is_some() { check_prompts(&client) } else { 0 };
            offered += if declared.get("resources").is_some() { check_templates(&client) } else { 0 };
        }
    }
    assert!(offered > 20, "only {offered} values are offered in all");
}

#[test]
fn hello_greets_in_every_version_and_wire() {
    let on_http = ServeCommand::new(&example("hello")).http();
    for version in SESSION_VERSIONS.into_iter().chain([SESSIONLESS_VERSION]) {
        let on_pipes = ServeCommand::new(&example("hello")).stdio();
        for client in [on_pipes.client(version), on_http.client(version)] {
            assert_eq!(client.names("prompts"), ["greet"]);
            assert_eq!(client.get_text("greet", json!({ "who": "Ada" })), "Say hello to Ada.");
            let error = client.error("prompts/get", json!({ "name": "greet" }));
            assert_eq!(error["code"], -32602);
            assert!(error["message"].as_str().unwrap().contains("`who`"), "{error}");
        }
    }
}

/// Seven lines and the modeline: a promise of the README.
#[test]
fn hello_is_seven_lines() {
    let text = fs::read_to_string(example("hello").join("folio.yaml")).unwrap();
    assert_eq!(text.lines().count(), 1 + 7);
}

#[test]
fn docs_lists_completes_and_embeds() {
    let server = ServeCommand::new(&example("docs")).stdio();
    let client = server.session("2025-11-25");
    let uris: Vec<Value> = client.list("resources").iter().map(|entry| entry["uri"].clone()).collect();
    assert!(uris.contains(&json!("handbook://guide/how-to/restart.md")), "{uris:?}");
    assert!(!uris.iter().any(|uri| uri.as_str().unwrap().contains("draft")), "{uris:?}");
    let expected = ["handbook://{+page}", "file:///{path}", "term://{name}", "logs://recent{?timeframe}"];
    assert_eq!(templates_of(&client), expected);

    assert!(client.read_text("handbook://guide/start.md").contains("port 7000"));
    assert!(client.read_text("term://drain").contains("To *drain* a server"));
    assert!(client.read_text("file:///app.py").contains("def handle"));
    assert_eq!(client.read_text("logs://recent").lines().count(), 3);
    assert_eq!(client.read_text("logs://recent?timeframe=24h").lines().count(), 6);
    assert_eq!(client.read_text("logs://recent?timeframe=7d").lines().count(), 8);
    assert_eq!(client.error_code("resources/read", json!({ "uri": "logs://recent?timeframe=1y" })), -32602);
    for outside in ["file:///../folio.yaml", "file:///..%2Ffolio.yaml", "handbook://guide/draft-backup.md"] {
        let answer = client.request("resources/read", json!({ "uri": outside }));
        assert!(answer.get("error").is_some(), "{outside}: {answer}");
    }
    let blob = client.result("resources/read", json!({ "uri": "handbook-assets://flow.png" }));
    assert_eq!(blob["contents"][0]["mimeType"], "image/png");

    let none = json!({});
    assert_eq!(
        completed(&client, template("handbook://{+page}"), "page", "rest", none.clone()),
        ["guide/how-to/restart.md"]
    );
    assert_eq!(completed(&client, template("term://{name}"), "name", "", none.clone()), ["drain", "tenant"]);
    assert_eq!(completed(&client, template("logs://recent{?timeframe}"), "timeframe", "2", none.clone()), ["24h"]);
    assert_eq!(completed(&client, prompt("ask-handbook"), "page", "START", none.clone())[0], "guide/start.md");
    assert_eq!(completed(&client, prompt("analyze-project"), "fileUri", "store", none), ["file:///store.py"]);
}

#[test]
fn docs_prompts_embed_logs_code_and_pictures() {
    let server = ServeCommand::new(&example("docs")).stdio();
    let client = server.sessionless();
    let arguments = json!({ "timeframe": "1h", "fileUri": "file:///store.py" });
    let said = messages(&client, "analyze-project", arguments);
    assert_eq!(text_of(&said[0]["content"]), "Analyze these system logs and the code file for any issues:");
    assert_eq!(said[1]["content"]["resource"]["uri"], "logs://recent?timeframe=1h");
    assert!(text_of(&said[1]["content"]["resource"]).contains("KeyError"));
    assert_eq!(said[2]["content"]["resource"]["uri"], "file:///store.py");
    assert!(text_of(&said[2]["content"]["resource"]).contains("class Store"));

    let said = messages(&client, "ask-handbook", json!({ "question": "Which port?" }));
    assert_eq!(said[1]["content"]["resource"]["uri"], "handbook://guide/start.md");
    assert_eq!(said[2]["content"]["type"], "resource_link");
    assert_eq!(said[3]["role"], "assistant");

    let said = messages(&client, "explain-flow", json!({}));
    assert_eq!(said[1]["content"]["type"], "image");
    assert_eq!(said[1]["content"]["mimeType"], "image/png");
}

#[test]
fn docs_searches() {
    let server = ServeCommand::new(&example("docs")).stdio();
    let client = server.session("2025-06-18");
    let found = client.call("search-handbook", json!({ "text": "DRAIN IT" }));
    assert!(text_of(&found["content"][0]).starts_with("guide/how-to/restart.md:3:"), "{found}");
    assert_eq!(found["content"][1]["type"], "resource_link");
    let exact = client.call("search-handbook", json!({ "text": "DRAIN IT", "matchCase": true }));
    assert_eq!(text_of(&exact["content"][0]), "The handbook does not mention DRAIN IT.");
    assert_eq!(exact["content"].as_array().unwrap().len(), 1);
    // What looks like an option of grep is a text like any other.
    let odd = client.call_text("search-handbook", json!({ "text": "--help" }));
    assert_eq!(odd, "The handbook does not mention --help.");
}

#[test]
fn docs_notifies_edits_and_new_pages() {
    let folder = copy_of("docs");
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    let uri = "handbook://guide/start.md";
    client.result("resources/subscribe", json!({ "uri": uri }));
    folder.write("guide/start.md", "# Start\n\nIt listens on port 7001.\n");
    assert_eq!(client.wait_for("notifications/resources/updated")["params"]["uri"], uri);
    assert!(client.read_text(uri).contains("port 7001"));
    folder.write("guide/how-to/stop.md", "# Stop\n\nDrain it, then stop it.\n");
    client.wait_for("notifications/resources/list_changed");
    assert!(client.read_text("handbook://guide/how-to/stop.md").contains("then stop it"));
}

#[test]
fn docs_notifies_sessionless_subscribers() {
    let folder = copy_of("docs");
    let server = folder.http();
    let client = server.sessionless();
    let uri = "handbook://guide/start.md";
    let listening = client.listen(json!({ "resourceSubscriptions": [uri], "resourcesListChanged": true }));
    folder.rename_over("guide/start.md", "# Start\n\nIt listens on port 7002.\n");
    assert_eq!(listening.wait_for("notifications/resources/updated")["params"]["uri"], uri);
    folder.write("guide/end.md", "# End\n");
    listening.wait_for("notifications/resources/list_changed");
}

/// A repository with two commits, something staged and something not tracked.
fn repository() -> TestFolder {
    let folder = TestFolder::new(&[("a.txt", "one\n"), ("src/b.txt", "needle\n")]);
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=Ada", "-c", "user.email=ada@desk.example", "-c", "commit.gpgsign=false"]);
        let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "Begin"]);
    folder.write("src/b.txt", "needle\nhay\n");
    git(&["commit", "-q", "-a", "-m", "Add hay"]);
    folder.write("a.txt", "two\n");
    git(&["add", "a.txt"]);
    folder.write("new.txt", "");
    folder
}

#[test]
fn git_desk_uses_the_configured_repository() {
    if !has_git() {
        return;
    }
    let repository = repository();
    let server =
        ServeCommand::new(&example("git-desk")).env("FOLIO_WORKSPACE", repository.path().to_str().unwrap()).stdio();
    let client = server.session("2025-06-18");
    let status = client.call_text("status", json!({}));
    assert!(status.contains("## main") && status.contains("M  a.txt") && status.contains("?? new.txt"), "{status}");
    assert!(client.call_text("status", json!({ "folder": "src" })).contains("## main"));
    for elsewhere in ["..", "/", "src/b.txt"] {
        assert_eq!(client.call("status", json!({ "folder": elsewhere }))["isError"], true, "{elsewhere}");
    }
    let log = |arguments: Value| client.call_text("log", arguments);
    assert_eq!(log(json!({})).lines().count(), 2);
    assert!(log(json!({ "count": 1 })).trim_end().ends_with("Ada: Add hay"));
    assert_eq!(log(json!({ "paths": ["a.txt", "nothing"], "merges": false })).lines().count(), 1);
    assert_eq!(log(json!({ "author": "Bob" })), "No commits match.\n");
    let changed = client.call("changed-files", json!({ "since": "HEAD~1" }));
    assert_eq!(changed["structuredContent"], json!({ "since": "HEAD~1", "files": ["a.txt", "src/b.txt"] }));
    assert_eq!(client.call("changed-files", json!({}))["structuredContent"]["files"], json!(["a.txt"]));
    assert_eq!(client.call_text("grep", json!({ "text": "needle" })).trim_end(), "src/b.txt:1:needle");
    assert_eq!(client.call_text("grep", json!({ "text": "n.*e", "regex": true })).trim_end(), "src/b.txt:1:needle");
    assert_eq!(client.call_text("grep", json!({ "text": "--open-files-in-pager=id" })), "Nothing found.");
    assert!(client.call_text("churn", json!({ "count": 1 })).trim().ends_with("src/b.txt"));
}

#[test]
fn git_desk_refuses_leading_dash_values() {
    if !has_git() {
        return;
    }
    let repository = repository();
    let server =
        ServeCommand::new(&example("git-desk")).env("FOLIO_WORKSPACE", repository.path().to_str().unwrap()).stdio();
    let client = server.sessionless();
    let result = client.call("changed-files", json!({ "since": "--output=taken.txt" }));
    assert_eq!(result["isError"], true, "{result}");
    let uri = "git-show://--output%3Dtaken.txt";
    assert!(client.request("resources/read", json!({ "uri": uri })).get("error").is_some());
    assert!(!repository.join("taken.txt").exists());
}

#[test]
fn git_desk_prompts_gather_what_they_need() {
    if !has_git() {
        return;
    }
    let repository = repository();
    let server =
        ServeCommand::new(&example("git-desk")).env("FOLIO_WORKSPACE", repository.path().to_str().unwrap()).stdio();
    let client = server.session("2025-11-25");
    let staged = client.get_text("commit-staged", json!({}));
    assert!(staged.contains("-one\n+two"), "{staged}");
    let given = client.get_text("git-commit", json!({ "changes": "+ a {{line}}", "style": "conventional" }));
    assert!(given.starts_with("Write one conventional Git commit message") && given.contains("+ a {{line}}"));
    let review = messages(&client, "review-commit", json!({ "commit": "main" }));
    assert!(text_of(&review[1]["content"]).lines().count() == 2, "{review:?}");
    assert!(text_of(&review[2]["content"]["resource"]).contains("+hay"));
    assert_eq!(review[3]["role"], "assistant");

    assert_eq!(client.read_text("git://HEAD/a.txt"), "one\n");
    assert_eq!(client.read_text("git://HEAD~1/src/b.txt"), "needle\n");
    let uri = "git://{ref}/{+file}";
    assert_eq!(completed(&client, template(uri), "ref", "ma", json!({})), ["main"]);
    assert_eq!(completed(&client, template(uri), "file", "b", json!({ "ref": "main" }))[0], "src/b.txt");
    let commits = completed(&client, prompt("review-commit"), "commit", "", json!({}));
    assert_eq!(commits.len(), 2, "{commits:?}");
}

#[test]
fn team_pack_gathers_prompts_from_files_fragments_and_packs() {
    let server = ServeCommand::new(&example("team-pack")).stdio();
    let client = server.session("2025-06-18");
    let prompts = ["debug-error", "code_review", "explain-code", "standup", "rv-checklist", "style-plain"];
    assert_eq!(client.names("prompts"), prompts);
    assert_eq!(client.names("tools"), ["count-words", "slug", "rv-todo", "rv-longest-line"]);

    let said = messages(&client, "debug-error", json!({ "error": "ECONNREFUSED" }));
    assert_eq!(text_of(&said[0]["content"]), "Here's an error I'm seeing: ECONNREFUSED");
    assert_eq!(text_of(&said[1]["content"]), "I'll help analyze this error. What have you tried so far?");
    assert_eq!(said[1]["role"], "assistant");
    assert_eq!(text_of(&said[2]["content"]), "I've tried restarting the service, but the error persists.");
    assert!(text_of(&said[3]["content"]["resource"]).starts_with("House rules of team Harbour"));
    assert_eq!(said[3]["content"]["annotations"]["priority"], 0.5);

    let quick = client.get_text("code_review", json!({ "code": "let x = {{y}};", "depth": "quick" }));
    assert!(quick.contains("House rules") && quick.contains("only what must be mended"), "{quick}");
    assert!(quick.ends_with("let x = {{y}};\n") || quick.ends_with("let x = {{y}};"), "{quick}");
    let explained = client.get_text("explain-code", json!({ "code": "fn main() {}", "language": "Rust" }));
    assert!(explained.contains("this Rust code works") && explained.contains("```rust\nfn main() {}\n```"));
    assert!(client.get_text("rv-checklist", json!({})).contains("for the api of Harbour"));
    assert_eq!(completed(&client, prompt("explain-code"), "language", "ru", json!({})), ["Rust"]);
}

#[test]
fn team_pack_tools_take_texts_as_they_are() {
    let server = ServeCommand::new(&example("team-pack")).env("TEAM", "Lighthouse").stdio();
    let client = server.sessionless();
    assert_eq!(client.call_text("count-words", json!({ "text": "one $(two) `three`" })), "3 words");
    assert_eq!(client.call_text("slug", json!({ "title": " A Good Day " })), "a-good-day");
    let text = "done\n# FIXME: this\n$(id)";
    assert_eq!(client.call_text("rv-todo", json!({ "text": text })).trim_end(), "2:# FIXME: this");
    assert_eq!(
        client.call_text("rv-todo", json!({ "text": text, "marks": ["$(id)", "--file=x"] })).trim_end(),
        "3:$(id)"
    );
    assert_eq!(client.call_text("rv-todo", json!({ "text": "all done" })), "Nothing is left to do.");
    let longest = client.call("rv-longest-line", json!({ "text": "a\n$(exit 1)\nEND\n`id` $x" }));
    assert_eq!(longest["structuredContent"], json!({ "length": 9 }));
    assert!(client.read_text("team://about").contains("team Lighthouse"));
    assert!(client.read_text("style://words").contains("*use*"));
}

#[test]
fn team_pack_has_a_skill_for_agents() {
    let server = ServeCommand::new(&example("team-pack")).stdio();
    let client = server.sessionless();
    let skills = client.list("skills");
    assert_eq!(skills.len(), 1);
    assert_eq!(skills[0]["frontmatter"]["name"], "write-changelog");
    for file in skills[0]["resources"].as_array().unwrap() {
        assert!(!client.read_text(file["uri"].as_str().unwrap()).is_empty());
    }
}

#[test]
fn team_pack_has_a_new_prompt_when_a_file_is_added() {
    let folder = copy_of("team-pack");
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    folder.write("prompts/retro.md", "---\ndescription: Look back\n---\n{{> house-style}}\nWhat went well?\n");
    client.wait_for("notifications/prompts/list_changed");
    assert!(client.names("prompts").contains(&"retro".to_owned()));
    // The body of a partial is live without a word.
    folder.write("partials/house-style.hbs", "Be kind.\n");
    crate::harness::wait_until("the partial's new text", || {
        client.get_text("retro", json!({})).starts_with("Be kind.")
    });
}

#[test]
fn web_api_asks_the_api_and_cuts_its_answers() {
    let api = MockApi::start();
    let server = ServeCommand::new(&example("web-api"))
        .env("WEATHER_API", &api.url())
        .env("WEATHER_SECRET", "key-93b1c")
        .stdio();
    let client = server.session("2025-11-25");
    let now = client.call("get_weather", json!({ "location": "São Paulo & co", "units": "metric" }));
    let expected = json!({ "temperature": 22.5, "conditions": "Partly cloudy", "humidity": 65 });
    assert_eq!(now["structuredContent"], expected, "{now}");
    assert_eq!(serde_json::from_str::<Value>(&text_of(&now["content"][0])).unwrap(), expected);
    let sent = api.last();
    assert_eq!(sent.target, "/v1/weather?city=S%C3%A3o+Paulo+%26+co&units=metric");
    assert_eq!(sent.header("authorization"), Some(&*format!("Bearer {TOKEN}")));

    client.call("get_weather", json!({ "location": "Lima" }));
    assert_eq!(api.last().target, "/v1/weather?city=Lima");
    let forecast = client.call_text("forecast", json!({ "location": "../x", "days": 2, "fields": ["wind", "rain"] }));
    assert_eq!(forecast, "Mon: Rain, 18 °C\nTue: Sun, 23 °C\n");
    assert_eq!(api.last().target, "/v1/cities/..%2Fx/forecast?days=2&field=wind&field=rain");
    let stations = client.call_text("stations", json!({ "country": "de" }));
    assert_eq!(stations, "10 Station 1\n20 Station 2\n30 Station 3\n\n");
    assert_eq!(api.last().target, "/v1/stations?country=de&cursor=3");

    // Other requests are asked anew; the pages of stations are kept.
    client.call("get_weather", json!({ "location": "Lima" }));
    assert_eq!(client.call_text("stations", json!({ "country": "de" })), stations);
    assert_eq!(api.last().target, "/v1/weather?city=Lima");
    client.call("stations", json!({ "country": "fr" }));
    assert_eq!(api.last().target, "/v1/stations?country=fr&cursor=3");
}

#[test]
fn web_api_words_errors_and_keeps_its_key() {
    let api = MockApi::start();
    let server = ServeCommand::new(&example("web-api"))
        .env("WEATHER_API", &api.url())
        .env("WEATHER_SECRET", "key-93b1c")
        .stdio();
    let client = server.sessionless();
    let unknown = client.call("get_weather", json!({ "location": "Atlantis" }));
    assert_eq!(unknown["isError"], true);
    assert_eq!(text_of(&unknown["content"][0]), "There is no weather for Atlantis: try the nearest city.");
    // An API that echoes the key in its answer does not get it to the client.
    let leaking = client.call("forecast", json!({ "location": "leak" }));
    for secret in ["key-93b1c", TOKEN] {
        assert!(!leaking.to_string().contains(secret), "{leaking}");
        assert!(!server.log.text().contains(secret));
    }
    // A host that the manifest does not name stays out of reach.
    let other = ServeCommand::new(&example("web-api"))
        .env("WEATHER_API", "http://127.0.0.2:9")
        .env("WEATHER_SECRET", "key-93b1c")
        .stdio();
    let refused = other.sessionless().call("get_weather", json!({ "location": "Lima" }));
    assert_eq!(refused["isError"], true);
    assert!(text_of(&refused["content"][0]).contains("private"), "{refused}");
}

#[test]
fn web_api_sends_json_with_its_types() {
    let api = MockApi::start();
    let server = ServeCommand::new(&example("web-api"))
        .env("WEATHER_API", &api.url())
        .env("WEATHER_SECRET", "key-93b1c")
        .stdio();
    let client = server.session("2025-06-18");
    let arguments = json!({ "location": "Oslo", "temperature": -3.5, "tags": ["snow", "\"quoted\""] });
    assert_eq!(client.call_text("report", arguments), "Report 17 was taken.");
    let sent = api.last();
    assert_eq!(sent.method, "POST");
    let expected = json!({
        "city": "Oslo", "temperature": -3.5, "tags": ["snow", "\"quoted\""], "source": "web-api/1.0.0",
    });
    assert_eq!(serde_json::from_str::<Value>(&sent.body).unwrap(), expected);
    let again = json!({ "location": "twice", "temperature": 1 });
    assert_eq!(client.call_text("report", again), "Somebody reported it already.");
    let wrong = client.call("report", json!({ "location": "Oslo", "temperature": 99 }));
    assert_eq!(wrong["isError"], true);
    assert!(text_of(&wrong["content"][0]).contains("`temperature`"), "{wrong}");
}

#[test]
fn web_api_serves_a_prompt_and_a_resource() {
    let api = MockApi::start();
    let server = ServeCommand::new(&example("web-api"))
        .env("WEATHER_API", &api.url())
        .env("WEATHER_SECRET", "key-93b1c")
        .stdio();
    let client = server.session("2025-06-18");
    let text = client.get_text("what-to-wear", json!({ "location": "Lima" }));
    assert!(text.starts_with("It is 22.5 °C in Lima, with partly cloudy."), "{text}");
    let read: Value = serde_json::from_str(&client.read_text("weather://Lima")).unwrap();
    assert_eq!(read["humidity"], 65);
    assert_eq!(completed(&client, template("weather://{city}"), "city", "li", json!({}))[0], "Lima");
    let missing = client.error("resources/read", json!({ "uri": "weather://Atlantis" }));
    assert_eq!(missing["code"], -32002, "{missing}");
}

/// Goes through `part` with a client of each of these versions that has these capabilities, on each wire.
fn with_each(versions: &[&str], serve: impl Fn() -> ServeCommand, capabilities: &Value, part: impl Fn(&TestClient)) {
    let web = serve().http();
    for version in versions {
        let pipes = serve().stdio();
        part(&pipes.client_with(version, capabilities.clone()));
        part(&web.client_with(version, capabilities.clone()));
    }
}

#[test]
fn ask_first_deletes_only_after_confirmation() {
    let desk = TestFolder::new(&[]);
    let serve = || ServeCommand::new(&example("ask-first")).env("DESK", desk.path().to_str().unwrap());
    with_each(&["2025-06-18", "2025-11-25", SESSIONLESS_VERSION], serve, &json!({ "elicitation": {} }), |client| {
        desk.write("plan.txt", "Buy milk\nand bread\n");
        let arguments = json!({ "name": "plan" });
        for (answer, text) in [
            (json!({ "action": "decline" }), "`plan` is kept."),
            (json!({ "action": "cancel" }), "`plan` is kept."),
            (json!({ "action": "accept", "content": { "sure": false } }), "`plan` is kept."),
        ] {
            let result = client.call_with_answers("delete-note", arguments.clone(), |_, params| {
                assert_eq!(params["message"], "Delete the note `plan`? It begins: Buy milk");
                answer.clone()
            });
            assert_eq!(text_of(&result["content"][0]), text);
            assert!(desk.join("plan.txt").exists());
        }
        let yes = json!({ "action": "accept", "content": { "sure": true } });
        let result = client.call_with_answers("delete-note", arguments.clone(), |_, _| yes.clone());
        assert_eq!(text_of(&result["content"][0]), "Deleted `plan`.");
        assert!(!desk.join("plan.txt").exists());
        // Nobody is asked about what is not there, and no name leads out of the desk.
        for name in ["plan", "../plan"] {
            let result =
                client.call_with_answers("delete-note", json!({ "name": name }), |_, _| unreachable!("it was asked"));
            assert_eq!(result["isError"], true, "{result}");
        }
    });
}

#[test]
fn ask_first_invites_in_two_rounds() {
    let desk = TestFolder::new(&[]);
    let serve = || ServeCommand::new(&example("ask-first")).env("DESK", desk.path().to_str().unwrap());
    with_each(&["2025-06-18", "2025-11-25", SESSIONLESS_VERSION], serve, &json!({ "elicitation": {} }), |client| {
        let accept = |content: Value| json!({ "action": "accept", "content": content });
        let invite = |send: bool| {
            client.call_with_answers("invite", json!({}), |_, params| match params["message"].as_str().unwrap() {
                "Whom do you want to invite?" => accept(json!({ "mail": "ada@desk.example" })),
                "Send ada@desk.example an invitation as reader?" => accept(json!({ "send": send })),
                other => panic!("{other}"),
            })
        };
        assert_eq!(text_of(&invite(true)["content"][0]), "Invited ada@desk.example.");
        let refused = invite(false);
        assert_eq!(
            (&refused["isError"], text_of(&refused["content"][0]).as_str()),
            (&json!(true), "Nobody was invited.")
        );
        let lines = fs::read_to_string(desk.join("invited.txt")).unwrap();
        let lines: Vec<&str> = lines.lines().map(|line| line.strip_prefix("ada@desk.example ").unwrap()).collect();
        assert_eq!(lines, ["asked for", "invited", "asked for"]);
        desk.remove("invited.txt");
    });
}

#[test]
fn assistant_samples_and_reports_progress() {
    let serve = || ServeCommand::new(&example("assistant"));
    let versions: Vec<&str> = SESSION_VERSIONS.into_iter().chain([SESSIONLESS_VERSION]).collect();
    with_each(&versions, serve, &json!({ "sampling": {}, "roots": {} }), |client| {
        let mut meta = json!({ "progressToken": 9 });
        if client.is_sessionless() {
            meta["io.modelcontextprotocol/logLevel"] = json!("debug");
        } else {
            client.result("logging/setLevel", json!({ "level": "debug" }));
        }
        let minutes = fs::read_to_string(example("assistant").join("minutes/kick-off.md")).unwrap();
        let params = json!({ "name": "summarize-meeting", "arguments": { "meeting": "kick-off" }, "_meta": meta });
        let said = client.request_with_answers("tools/call", params, |method, params| {
            assert_eq!(method, "sampling/createMessage");
            assert_eq!(text_of(&params["messages"][0]["content"]).trim(), minutes.trim());
            assert!(params["systemPrompt"].as_str().unwrap().starts_with("Write a short summary"), "{params}");
            json!({ "role": "assistant", "content": { "type": "text", "text": " In short.\n" }, "model": "tiny" })
        });
        assert_eq!(text_of(&said["result"]["content"][0]), "# kick-off\n\nIn short.\n");
        let told = client.notified_params("notifications/progress");
        let progress: Vec<f64> = told.iter().map(|params| params["progress"].as_f64().unwrap()).collect();
        assert_eq!(progress, [1.0, 2.0, 3.0], "{told:?}");
        let logs = client.notified_params("notifications/message");
        let spoken: Vec<(&str, &str)> =
            logs.iter().map(|log| (log["level"].as_str().unwrap(), log["logger"].as_str().unwrap())).collect();
        assert_eq!(spoken, [("debug", "summarize"), ("info", "summarize-meeting")], "{logs:?}");

        let roots = json!({ "roots": [{ "uri": "file:///work/desk" }, { "uri": "file:///work/lab" }] });
        let folders = client.call_with_answers("folders", json!({}), |_, _| roots.clone());
        assert_eq!(text_of(&folders["content"][0]), "file:///work/desk\nfile:///work/lab\n");

        let before = client.notified_params("notifications/progress").len();
        let meta = json!({ "progressToken": "wait" });
        let id = client.send("tools/call", json!({ "name": "wait", "arguments": { "seconds": 10 }, "_meta": meta }));
        wait_until("a first word", || client.notified_params("notifications/progress").len() > before);
        client.cancel(id);
        client.round_trip();
        assert!(!client.has_answer(id));
        assert_eq!(client.call_text("wait", json!({ "seconds": 0.01 })), "Waited 0.01 s.");
    });
}

#[test]
fn assistant_refuses_client_without_sampling() {
    let serve = || ServeCommand::new(&example("assistant"));
    with_each(&["2024-11-05", "2025-11-25", SESSIONLESS_VERSION], serve, &json!({}), |client| {
        let said = client.request("tools/call", json!({ "name": "summarize", "arguments": { "text": "long" } }));
        let words = if client.is_sessionless() {
            assert_eq!(said["error"]["code"], -32021, "{said}");
            said["error"]["message"].as_str().unwrap().to_owned()
        } else {
            text_of(&said["result"]["content"][0])
        };
        assert!(words.contains("`sampling`"), "{words}");
    });
}

#[test]
fn sandboxed_programs_reach_what_is_listed() {
    let folder = copy_of("sandboxed");
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    assert_eq!(client.call_text("sales", json!({ "product": "tea" })), "January: 12\nFebruary: 9\n");
    assert_eq!(client.call_text("sales", json!({ "product": "x\\" })), "No sales of x\\.\n");
    assert_eq!(client.call_text("note", json!({ "text": "one\ntwo" })), "Noted.");
    assert_eq!(client.call_text("total", json!({})), "51 sold.");
    assert_eq!(fs::read_to_string(folder.join("out/note.txt")).unwrap(), "one\ntwo");
    assert!(client.call_text("show", json!({ "path": "sales.csv" })).starts_with("product,"));
    let outside = client.call("show", json!({ "path": "../folio.yaml" }));
    let is_held = folio::SandboxSupport::detect().gaps([]).is_empty();
    assert_eq!(outside["isError"] == true, is_held, "{outside}");
}

#[test]
fn notes_are_found_edited_and_removed_after_a_question() {
    let folder = copy_of("notes");
    let server = folder.stdio();
    let client = server.client_with(SESSION_VERSIONS[3], json!({ "elicitation": {} }));
    let call = |tool: &str, arguments: Value| text_of(&client.call(tool, arguments)["content"][0]);
    assert_eq!(call("list-notes", json!({})), "projects/garden.md (49 bytes)\nwelcome.md (43 bytes)\n");
    assert!(call("read-note", json!({ "name": "projects/garden" })).starts_with("# Garden"));
    let edits = json!([{ "old": "[ ] Plant beans", "new": "[x] Plant beans" }]);
    let diff = call("edit-note", json!({ "name": "projects/garden", "edits": edits, "dryRun": true }));
    assert!(diff.contains("-- [ ] Plant beans\n+- [x] Plant beans\n"), "{diff}");
    assert!(!fs::read_to_string(folder.join("notes/projects/garden.md")).unwrap().contains("[x]"));
    assert_eq!(call("edit-note", json!({ "name": "projects/garden", "edits": edits })), diff);
    assert!(fs::read_to_string(folder.join("notes/projects/garden.md")).unwrap().contains("[x]"));
    assert_eq!(call("write-note", json!({ "name": "new", "text": "Hello" })), "Wrote new.md.");
    assert_eq!(call("write-note", json!({ "name": "new", "text": "Again" })), "`new.md` already exists");
    for (sure, words, is_there) in [(false, "`new` is kept.", true), (true, "Removed `new`.", false)] {
        let answer = |_: &str, question: &Value| {
            assert!(question["message"].as_str().unwrap().ends_with("It begins:\nHello\n"), "{question}");
            json!({ "action": "accept", "content": { "sure": sure } })
        };
        let removed = client.call_with_answers("remove-note", json!({ "name": "new" }), answer);
        assert_eq!((text_of(&removed["content"][0]).as_str(), folder.join("notes/new.md").exists()), (words, is_there));
    }
    for outside in ["../README", "/etc/hosts", "projects/../../README"] {
        let read = client.call("read-note", json!({ "name": outside }));
        assert_eq!(read["isError"], true, "{read}");
    }
}

#[test]
fn notes_serve_the_tools_of_a_file_server() {
    let folder = copy_of("notes");
    folder.write("work/a.txt", "one\ntwo\n");
    folder.write("work/.env", "x");
    let server = folder.stdio();
    let client = server.client_with(SESSION_VERSIONS[3], json!({ "roots": {} }));
    let work = fs::canonicalize(folder.join("work")).unwrap();
    let at = |path: &str| work.join(path).to_str().unwrap().to_owned();
    let call = |tool: &str, arguments: Value| {
        let roots = json!({ "roots": [{ "uri": format!("file://{}", work.display()) }] });
        let result = client.call_with_answers(tool, arguments, |_: &str, _: &Value| roots.clone());
        text_of(&result["content"][0])
    };
    assert_eq!(call("list_allowed_directories", json!({})), format!("Allowed directories:\n{}", work.display()));
    assert_eq!(call("read_text_file", json!({ "path": at("a.txt"), "tail": 1 })), "two\n");
    let written = call("write_file", json!({ "path": at("b.txt"), "content": "{{x}}" }));
    assert_eq!(written, format!("Successfully wrote to {}", at("b.txt")));
    let edits = json!([{ "oldText": "two", "newText": "2" }]);
    let diff = call("edit_file", json!({ "path": at("a.txt"), "edits": edits }));
    let file = at("a.txt");
    assert_eq!(diff, format!("```diff\n--- {file}\n+++ {file}\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n```\n\n"));
    assert!(call("create_directory", json!({ "path": at("x/y") })).starts_with("Successfully"));
    assert!(call("move_file", json!({ "source": at("b.txt"), "destination": at("x/y/b.txt") })).starts_with("Succ"));
    assert_eq!(call("list_directory", json!({ "path": at("") })), "[FILE] .env\n[FILE] a.txt\n[DIR] x");
    assert_eq!(call("search_files", json!({ "path": at(""), "pattern": "**/b.*" })), at("x/y/b.txt"));
    assert_eq!(call("search_files", json!({ "path": at(""), "pattern": "gone" })), "No matches found");
    assert!(call("directory_tree", json!({ "path": at("") })).contains("\"entries\":[{\"name\":\"b.txt\""));
    assert!(call("get_file_info", json!({ "path": at("x") })).contains("isDirectory: true\nisFile: false"));
    assert!(call("read_text_file", json!({ "path": folder.join("folio.yaml") })).contains("outside"));
}

/// Answers a request of 2026-07-28 with a token, or without.
fn send(server: &TestServer, token: Option<&str>, method: &str, name: &str, params: Value) -> HttpResponse {
    let mut params = params;
    params["_meta"] = sessionless_meta();
    let client = HttpClient { token: token.map(str::to_owned), ..server.http_client() };
    let headers = [("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", method), ("Mcp-Name", name)];
    client.post(&headers, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
}

#[test]
fn scope_challenge_names_all_scopes_of_a_request_at_once() {
    let server = ServeCommand::new(&example("scope-challenge")).http();
    let (low, full) = (Some("mcp-conformance-scope-low"), Some("mcp-conformance-scope-full"));
    let by_uri = |uri: &str| json!({ "uri": uri });
    for (method, name, params, scopes) in [
        ("tools/call", "test_simple_text", json!({ "name": "test_simple_text" }), "tools:call tools:test_simple_text"),
        ("resources/read", "test://static-text", by_uri("test://static-text"), "resources:read resources:static"),
        (
            "resources/read",
            "test://template/123/data",
            by_uri("test://template/123/data"),
            "resources:read resources:template:123",
        ),
        (
            "prompts/get",
            "test_simple_prompt",
            json!({ "name": "test_simple_prompt" }),
            "prompts:get prompts:test_simple_prompt",
        ),
    ] {
        let refused = send(&server, low, method, name, params.clone());
        assert_eq!(refused.status, 403, "{name}");
        let challenge = refused.header("www-authenticate").unwrap();
        let expected: Vec<String> = scopes.split(' ').map(|scope| format!("mcp:conformance:{scope}")).collect();
        assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
        assert!(challenge.contains(&format!("scope=\"{}\"", expected.join(" "))), "{challenge}");
        let answered = send(&server, full, method, name, params.clone());
        assert_eq!(answered.status, 200, "{name}");
        assert!(answered.json().get("result").is_some());
        assert_eq!(send(&server, None, method, name, params).status, 401, "{name}");
    }
    let other = json!({ "uri": "test://template/124/data" });
    assert_eq!(send(&server, full, "resources/read", "test://template/124/data", other).status, 403);
    let open = send(&server, None, "tools/call", "open_to_all", json!({ "name": "open_to_all" }));
    assert_eq!(open.json()["result"]["content"][0]["text"], "Hello, nobody.");
}

#[test]
fn callers_example_takes_tokens_for_its_own_url_alone() {
    let key = SigningKey::rsa("k");
    let issuer = Issuer::start(&[&key]);
    let server = ServeCommand::new(&example("callers")).env("ISSUER", &issuer.url()).http();
    let own_url = format!("http://127.0.0.1:{}/mcp", server.port);
    assert_eq!(issuer.requests().len(), 0, "its keys are looked for when the first token comes");
    let token = |audience: &str, scopes: &str| key.token(&json!({}), &issuer.claims("ada", audience, scopes));
    let who = |token: Option<&str>| send(&server, token, "tools/call", "who-am-i", json!({ "name": "who-am-i" }));
    let refused = who(None);
    assert_eq!(refused.status, 401);
    let metadata =
        format!("resource_metadata=\"http://127.0.0.1:{}/.well-known/oauth-protected-resource/mcp\"", server.port);
    assert!(refused.header("www-authenticate").unwrap().contains(&metadata));
    let good = who(Some(&token(&own_url, "desk.use")));
    assert_eq!(good.json()["result"]["content"][0]["text"], "ada");
    for audience in ["https://other.example/mcp", "http://127.0.0.1/mcp", "api://desk"] {
        let refused = who(Some(&token(audience, "desk.use")));
        assert_eq!(refused.status, 401, "{audience}");
        assert!(refused.header("www-authenticate").unwrap().contains("error=\"invalid_token\""));
    }
    assert_eq!(who(Some(&token(&own_url, "other"))).status, 403);
    let close = json!({ "name": "close-issue", "arguments": { "id": 7 } });
    let refused = send(&server, Some(&token(&own_url, "desk.use")), "tools/call", "close-issue", close.clone());
    assert_eq!(refused.status, 403);
    assert!(refused.header("www-authenticate").unwrap().contains("scope=\"desk.use desk.write\""));
    let without_key = send(&server, Some(&token(&own_url, "desk.use desk.admin")), "tools/call", "close-issue", close);
    assert!(without_key.text().contains("missing credential"), "an admin may write, and sends no key here");
}

//! What the page of `folio dev` asks and is told: texts as trees, sources, steps, tests, fixes.

use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::*;

const MANIFEST: &str = r#"folio: 1
server: { name: desk }
partials: partials/*.md
env: { KEY: { secret: true }, CITY: { default: Rome } }
prompts:
  greet: { arguments: { who: { required: true } }, text: "Hello {{> sign who=who}} in {{env.CITY}}" }
  plain: { text: "plain" }
  filed: { text: { file: hail.hbs } }
tools:
  build:
    description: Builds
    arguments: { n: { type: integer } }
    run:
      - id: list
        exec: [sh, -c, "echo '{ \"items\": [1, 2] }'"]
      - { id: skipped, when: "{{eq n 5}}", set: { x: "1" } }
      - id: key
        exec: [sh, -c, "echo key is $KEY; exit 3"]
        env: { KEY: "{{env.KEY}}" }
        onFail: continue
      - { id: sub, tool: inner }
    result: { text: "{{len steps.list.json.items}} {{steps.sub.text}}" }
  inner: { description: Inner, run: { exec: [echo, inner] } }
  sure:
    description: Asks
    run: [{ id: q, ask: { ok: { elicit: { message: Sure?, schema: { yes: { type: boolean } } } } } }]
    result: { text: "{{steps.q.ok.yes}}" }
tests:
  greets: { prompt: greet, arguments: { who: Ada }, expect: { equals: "Hello signed Ada in Rome" } }
  acts: { tool: inner, live: true, expect: { contains: inner } }
"#;

const SECRET: &str = "sesame-open-4711";

/// A page that is open.
struct OpenPage {
    server: TestServer,
    http: HttpClient,
    events: Arc<WaitQueue<Value>>,
    _stream: SseStream,
}

impl OpenPage {
    fn open(folder: &TestFolder, flags: &[&str]) -> OpenPage {
        let command = ServeCommand::dev(folder.path()).flag("--open").env("BROWSER", "").env("KEY", SECRET);
        let server = flags.iter().fold(command.env("CITY", "Oslo"), |command, flag| command.flag(flag)).stdio();
        let line = server.log.wait_for_line(0, |line| line.starts_with("page: "));
        let (port, token) = line.strip_prefix("page: http://127.0.0.1:").unwrap().split_once("/#").unwrap();
        let http = HttpClient { token: Some(token.to_owned()), ..HttpClient::new(port.parse().unwrap()) };
        let events = Arc::<WaitQueue<Value>>::default();
        let stream = HttpClient { path: "/events".to_owned(), ..http.clone() }.send("GET", &[], b"");
        let _stream = stream.stream(events.clone());
        OpenPage { server, http, events, _stream }
    }

    fn next(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        let found = self.events.take(TEST_TIMEOUT, wanted);
        found.unwrap_or_else(|| panic!("no such event among {:#?}", self.events.all()))
    }

    fn state(&self) -> Value {
        self.next(|event| event["type"] == "state")
    }

    /// The outcomes of the tests once they have run, by name.
    fn outcomes(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        self.next(|event| event["type"] == "tests" && event["running"] == false && wanted(event))
    }

    fn ask(&self, name: &str, body: &Value) -> (u16, Value) {
        let answer = HttpClient { path: format!("/api/{name}"), ..self.http.clone() }.post(&[], body);
        (answer.status, answer.json())
    }

    fn answer(&self, name: &str, body: &Value) -> Value {
        let (status, answer) = self.ask(name, body);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Makes a call as the page does, and returns what is told of it.
    fn call(&self, id: &str, method: &str, mut params: Value) -> Value {
        let name = params["name"].as_str().or(params["uri"].as_str()).unwrap().to_owned();
        params["_meta"] = sessionless_meta();
        params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "folio-page", "version": "1" });
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": { "form": {} } });
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let headers = [("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", method), ("Mcp-Name", &name)];
        self.http.post(&headers, &message);
        self.next(|event| event["type"] == "call" && event["id"] == id)
    }

    fn save(&self, request: &Value, write: bool) -> Value {
        let mut request = request.clone();
        request["write"] = write.into();
        self.answer("test/save", &request)
    }
}

fn folder() -> TestFolder {
    let files =
        [("folio.yaml", MANIFEST), ("partials/sign.md", "signed {{who}}"), ("hail.hbs", "Hail {{> sign who=\"x\"}}")];
    TestFolder::new(&files)
}

fn status_of<'e>(event: &'e Value, name: &str) -> &'e Value {
    let tests = event["tests"].as_array().unwrap();
    &tests.iter().find(|test| test["name"] == name).unwrap_or_else(|| panic!("no {name} in {event}"))["status"]
}

/// The lines of a diff that are others.
fn changed_lines(answer: &Value) -> Vec<String> {
    let lines = answer["diff"].as_array().unwrap().iter().filter(|line| line["change"] != "same");
    lines.map(|line| format!("{} {}", line["change"].as_str().unwrap(), line["text"].as_str().unwrap())).collect()
}

#[test]
fn requests_need_the_token_and_a_body_that_is_known() {
    let folder = folder();
    let page = OpenPage::open(&folder, &[]);
    let request = json!({ "kind": "prompt", "id": "greet" });
    for (token, status) in [(None, 401), (Some("0".repeat(48)), 401), (page.http.token.clone(), 200)] {
        let client = HttpClient { token, path: "/api/source".to_owned(), ..page.http.clone() };
        assert_eq!(client.post(&[], &request).status, status);
    }
    let elsewhere = HttpClient { host: "evil.example".to_owned(), path: "/api/source".to_owned(), ..page.http.clone() };
    assert_eq!(elsewhere.post(&[], &request).status, 403);
    let get = HttpClient { path: "/api/source".to_owned(), ..page.http.clone() }.send("GET", &[], b"");
    assert_eq!(get.status, 405);
    for (name, body, status, error) in [
        ("nothing", json!({}), 404, "unknown request `nothing`"),
        ("source", json!({ "kind": "prompt" }), 400, "invalid body"),
        ("source", json!({ "kind": "tool", "id": "greet" }), 200, "no tool `greet`"),
        ("fix", json!({ "problem": 0, "write": true }), 200, "no such problem"),
    ] {
        let (found, answer) = page.ask(name, &body);
        assert_eq!(found, status, "{answer}");
        assert!(answer["error"].as_str().unwrap().starts_with(error), "{answer}");
    }
    let large = json!({ "items": [{ "text": "x".repeat(5 << 20) }] });
    assert_eq!(HttpClient { path: "/api/render".to_owned(), ..page.http.clone() }.post(&[], &large).status, 413);
}

#[test]
fn page_of_a_folder_keeps_its_port() {
    let folder = folder();
    let first = OpenPage::open(&folder, &[]);
    let (port, token) = (first.http.port, first.http.token.clone());
    let second = OpenPage::open(&folder, &[]);
    assert_ne!(second.http.port, port);
    drop((first, second));
    let again = OpenPage::open(&folder, &[]);
    assert_eq!(again.http.port, port);
    assert_ne!(again.http.token, token);
}

#[test]
fn hostile_markdown_is_text() {
    let folder = folder();
    let page = OpenPage::open(&folder, &[]);
    let text = "# <b>T</b>\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) ![p](https://evil.example/p.png)\n\n\
                [ok](https://good.example)\n\nlast";
    let request = json!({ "items": [
        { "text": text, "previous": "# <b>T</b>\n\nlast", "markdown": true },
        { "text": "a\nb", "previous": "a" },
        { "text": format!("{}x", "> ".repeat(20_000)), "markdown": true },
    ] });
    let items = page.answer("render", &request)["items"].clone();
    let blocks = items[0]["blocks"].as_array().unwrap();
    assert_eq!(blocks[0], json!({ "tag": "h1", "children": ["<b>T</b>"] }));
    let script = json!({ "tag": "p", "children": ["<script>alert(1)</script>"], "changed": true });
    assert_eq!(blocks[1], script);
    assert_eq!(blocks[2]["children"][0], "[x](javascript:alert(1)) ");
    assert_eq!(blocks[2]["children"][1], json!({ "tag": "picture", "alt": "p" }));
    assert_eq!(blocks[3]["children"][0]["href"], "https://good.example");
    assert_eq!(blocks[4], json!({ "tag": "p", "children": ["last"] }));
    assert!(!items.to_string().contains("p.png"), "{items}");
    let lines = json!([{ "change": "same", "text": "a" }, { "change": "added", "text": "b" }]);
    assert_eq!(items[1]["lines"], lines);
    assert!(items[2].to_string().matches("blockquote").count() <= 48);
}

#[test]
fn source_has_the_files_of_an_entry() {
    let folder = folder();
    let page = OpenPage::open(&folder, &[]);
    let parts = page.answer("source", &json!({ "kind": "prompt", "id": "filed" }))["parts"].clone();
    let roles: Vec<_> = parts.as_array().unwrap().iter().map(|part| (&part["role"], &part["title"])).collect();
    assert_eq!(json!(roles), json!([["entry", "filed"], ["template", "hail.hbs"], ["partial", "sign"]]));
    assert_eq!((&parts[0]["line"], &parts[0]["text"]), (&json!(8), &json!("  filed: { text: { file: hail.hbs } }")));
    let path = folder.path().join("partials/sign.md");
    assert_eq!(parts[2]["path"].as_str().unwrap(), path.to_str().unwrap());
    let places = &page.state()["places"];
    assert_eq!((&places["whole"], &places["changed"]["prompt greet"]["line"]), (&json!(true), &json!(6)));
    // Who uses a partial is edited with it, and nothing else.
    folder.write("partials/sign.md", "signed by {{who}}");
    let state = page.state();
    assert_eq!(state["edited"], json!(["prompt filed", "prompt greet"]));
    assert_eq!(state["places"], json!({ "whole": false, "changed": {}, "gone": [] }));
    // A file that cannot be parsed is shown as it was.
    folder.write("folio.yaml", format!("{MANIFEST}  broken: [\n"));
    assert_eq!(page.state()["broken"], true);
    let parts = page.answer("source", &json!({ "kind": "prompt", "id": "greet" }))["parts"].clone();
    assert_eq!(parts[1]["text"], "signed by {{who}}");
}

#[test]
fn steps_of_a_call_are_told_without_secrets() {
    let folder = folder();
    let page = OpenPage::open(&folder, &[]);
    let call = page.call("c1", "tools/call", json!({ "name": "build", "arguments": { "n": 1 } }));
    assert_eq!((&call["outcome"], &call["response"]["content"][0]["text"]), (&json!("ok"), &json!("2 inner\n")));
    assert!(!call.to_string().contains(SECRET), "{call}");
    let trace = call["trace"].as_array().unwrap();
    let rows: Vec<_> = trace.iter().map(|row| json!([row["kind"], row["depth"], row["id"], row["outcome"]])).collect();
    let expected = json!([
        ["step", 0, "list", "ok"],
        ["program", 1, null, "ok"],
        ["step", 0, "skipped", "skipped"],
        ["step", 0, "key", "failed"],
        ["program", 1, null, "failed"],
        ["step", 0, "sub", "ok"],
        ["step", 1, null, "ok"],
        ["program", 2, null, "ok"],
    ]);
    assert_eq!(json!(rows), expected);
    // What no template reads is there, too.
    assert_eq!(trace[0]["value"]["json"], json!({ "items": [1, 2] }));
    assert_eq!(trace[3]["value"]["stdout"], "key is [secret]");
    assert_eq!(trace[3]["value"]["error"]["exit"], 3);
    assert!(trace[4]["end"].as_str().unwrap().starts_with("exit 3, "), "{}", trace[4]);
    assert!(trace[1]["startMs"].as_f64() >= trace[0]["startMs"].as_f64());
    // A prompt without steps is rendered again and again: nothing is told of that.
    let other = page.server.session("2025-11-25");
    other.get_text("plain", json!({}));
    let call = page.next(|event| event["type"] == "call");
    assert_eq!((&call["method"], &call["trace"]), (&json!("prompts/get"), &json!([])));
}

#[test]
fn results_are_tried_on_outcomes() {
    let folder = folder();
    let page = OpenPage::open(&folder, &[]);
    let steps = json!({ "list": { "json": { "items": [1, 2] } } });
    let request =
        |key: &str, text: &str| json!({ "tool": "build", "arguments": { "n": 7 }, "steps": steps, key: text });
    assert_eq!(page.answer("try", &request("select", "list.json.items[1]")), json!({ "value": 2 }));
    let shown = page.answer("try", &request("template", "{{n}} {{> sign who=\"x\"}} {{env.KEY}} {{upper env.KEY}}"));
    assert_eq!(shown, json!({ "text": "7 signed x [secret] [SECRET]" }));
    for (key, text, line, column) in
        [("select", "list.json[?", 1, 12), ("template", "a\n{{steps.none}}", 2, 9), ("template", "{{#if n}}", 1, 4)]
    {
        let (status, answer) = page.ask("try", &request(key, text));
        assert_eq!((status, &answer["line"], &answer["column"]), (200, &json!(line), &json!(column)), "{answer}");
    }
}

#[test]
fn tests_run_after_each_edit() {
    let folder = folder();
    let page = OpenPage::open(&folder, &[]);
    let event = page.outcomes(|_| true);
    assert_eq!((status_of(&event, "greets"), status_of(&event, "acts")), (&json!("passed"), &json!("skipped")));
    assert_eq!(event["tests"][0]["entry"], "prompt greet");
    let gaps: Vec<&str> = event["gaps"].as_array().unwrap().iter().map(|gap| gap["label"].as_str().unwrap()).collect();
    assert!(
        gaps.contains(&"no test reaches prompt `plain`") && !gaps.iter().any(|gap| gap.contains("greet")),
        "{gaps:?}"
    );
    folder.write("folio.yaml", MANIFEST.replace("\"Hello {{", "\"Hi {{"));
    let event = page.outcomes(|event| status_of(event, "greets") == "failed");
    let diff = json!([
        { "change": "removed", "text": "Hello signed Ada in Rome" }, { "change": "added", "text": "Hi signed Ada in Rome" },
    ]);
    assert_eq!(event["tests"][0]["failures"][0]["diff"], diff);
    page.answer("test/run", &json!({ "names": ["acts"], "live": true }));
    page.outcomes(|event| status_of(event, "acts") == "passed" && status_of(event, "greets") == "failed");
    folder.write("folio.yaml", MANIFEST);
    let event = page.outcomes(|event| status_of(event, "greets") == "passed");
    assert_eq!(status_of(&event, "acts"), "passed", "what it did stays shown until an edit touches it");
}

#[test]
fn call_becomes_a_test_that_passes() {
    let folder = folder();
    let page = OpenPage::open(&folder, &[]);
    page.call("c1", "tools/call", json!({ "name": "build", "arguments": { "n": 1 } }));
    let request = json!({ "kind": "tool", "id": "build", "name": "build: works", "call": "c1" });
    let shown = page.save(&request, false);
    assert_eq!((&shown["refusal"], &shown["name"]), (&Value::Null, &json!("build: works")));
    let lines = [
        "added   \"build: works\":",
        "added     tool: build",
        "added     arguments: { \"n\": 1 }",
        "added     mock:",
        "added       list: { stdout: \"{ \\\"items\\\": [1, 2] }\\n\" }",
        "added       key: { exit: 3, stdout: \"key is [secret]\\n\" }",
        "added       exec: { stdout: \"inner\\n\" }",
        "added     expect: { equals: 2 inner }",
    ];
    assert_eq!(changed_lines(&shown), lines);
    assert_eq!(std::fs::read_to_string(folder.path().join("folio.yaml")).unwrap(), MANIFEST);
    assert_eq!(page.save(&request, true), shown);
    let event = page.outcomes(|event| event["tests"].as_array().unwrap().len() == 3);
    assert_eq!(status_of(&event, "build: works"), "passed");
    assert_eq!(page.save(&request, true)["refusal"], "the name is taken");
    let ran = Command::new(FOLIO_BIN).args(["test", "."]).current_dir(folder.path()).output().unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success() && printed.contains("test build: works ... ok"), "{printed}");
}

#[test]
fn test_has_the_answers_and_variables_of_its_call() {
    let folder = folder();
    let page = OpenPage::open(&folder, &[]);
    let call = page.call("q1", "tools/call", json!({ "name": "sure", "arguments": {} }));
    assert_eq!(call["outcome"], "input required");
    assert_eq!(call["trace"][0]["outcome"], "waiting");
    let state = &call["response"]["requestState"];
    let answers = json!({ "ok": { "action": "accept", "content": { "yes": true } } });
    let params = json!({ "name": "sure", "arguments": {}, "requestState": state, "inputResponses": answers });
    page.call("q2", "tools/call", params);
    let request = json!({ "kind": "tool", "id": "sure", "name": "is sure", "call": "q2" });
    let shown = page.save(&request, false);
    assert_eq!(shown["refusal"], Value::Null, "{shown}");
    assert!(changed_lines(&shown).contains(&"added       ask: { ok: { \"yes\": true } }".to_owned()), "{shown}");
    // A variable of the process is not one of the test.
    let read = page.http.clone();
    let message = json!({ "jsonrpc": "2.0", "id": "p1", "method": "prompts/get", "params": {
        "name": "greet", "arguments": { "who": "Bob" },
        "_meta": { "io.modelcontextprotocol/protocolVersion": SESSIONLESS_VERSION,
            "io.modelcontextprotocol/clientInfo": { "name": "folio-page", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {} } } });
    let headers = [("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", "prompts/get"), ("Mcp-Name", "greet")];
    assert_eq!(read.post(&headers, &message).status, 200);
    let request = json!({ "kind": "prompt", "id": "greet", "name": "greets Bob", "call": "p1" });
    let shown = page.save(&request, false);
    assert!(changed_lines(&shown).contains(&"added       env: { CITY: Oslo }".to_owned()), "{shown}");
    assert!(page.save(&json!({ "kind": "tool", "id": "build", "name": "x" }), true)["refusal"].is_string());
    let other = json!({ "kind": "tool", "id": "build", "name": "x", "call": "p1" });
    assert_eq!(page.save(&other, true)["refusal"], "the call is of another entry");
}

#[test]
fn problem_is_fixed_where_it_is_certain() {
    let folder = folder();
    folder.write("folio.yaml", MANIFEST.replace("description: Inner", "descripton: Inner"));
    let page = OpenPage::open(&folder, &[]);
    let state = page.state();
    let problem = &state["problems"][0];
    assert_eq!((&problem["fixable"], &problem["entry"]), (&json!(true), &json!("tool inner")));
    let request = |digest: &Value, write: bool| json!({ "problem": 0, "digest": digest, "write": write });
    let (_, answer) = page.ask("fix", &request(&json!("0"), true));
    assert!(answer["error"].is_string(), "{answer}");
    let shown = page.answer("fix", &request(&state["digest"], false));
    assert_eq!(changed_lines(&shown).len(), 2, "{shown}");
    assert_eq!(page.answer("fix", &request(&state["digest"], true)), shown);
    assert_eq!(page.next(|event| event["type"] == "state")["problems"], json!([]));
    assert_eq!(std::fs::read_to_string(folder.path().join("folio.yaml")).unwrap(), MANIFEST);
}

#[test]
fn file_that_has_changed_is_not_written() {
    let folder = folder();
    let page = OpenPage::open(&folder, &["--no-watch"]);
    page.call("c1", "tools/call", json!({ "name": "inner", "arguments": {} }));
    let edited = format!("{MANIFEST}# mine\n");
    folder.write("folio.yaml", &edited);
    let request = json!({ "kind": "tool", "id": "inner", "name": "inner works", "call": "c1", "write": true });
    let (status, answer) = page.ask("test/save", &request);
    assert_eq!(status, 200, "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("it has changed since it was read"), "{answer}");
    assert_eq!(std::fs::read_to_string(folder.path().join("folio.yaml")).unwrap(), edited);
}

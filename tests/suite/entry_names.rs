//! Names of servers and resources, and listed texts made of values that are known at load.

use serde_json::{Value, json};

use crate::harness::*;

/// What `check` says of a manifest: its messages and helps.
fn check_messages(folder: &TestFolder) -> Vec<(String, String)> {
    let ran = run_folio(folder.path(), &["check", "--format", "json"]);
    let report: Vec<Value> = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let text = |fault: &Value, key: &str| fault[key].as_str().unwrap_or_default().to_owned();
    report.iter().map(|fault| (text(fault, "message"), text(fault, "help"))).collect()
}

/// The first resource template.
fn template(client: &TestClient) -> Value {
    client.result("resources/templates/list", json!({}))["resourceTemplates"][0].clone()
}

const NAMED: &str = r#"folio: 1
server: { name: s }
resources:
  travel: { uri: "docs://travel", name: "Policy: travel\n(2026) ✈", text: Go }
  day: { uri: "day://{n}", name: Any day, arguments: { n: { complete: ["1"] } }, text: "{{n}}" }
  plain: { uri: "docs://plain", text: Plain }
prompts:
  p:
    description: P
    arguments: { n: { complete: { resource: day } } }
    run: { read: "day://{{n}}" }
    text: "{{result.text}}"
tools: { t: { description: T, result: { content: [{ resourceLink: "docs://travel" }] } } }
tests: { read: { resource: day, arguments: { n: "1" }, expect: { contains: "1" } } }
"#;

#[test]
fn resource_name_is_any_text_beside_its_key() {
    let folder = TestFolder::with_manifest(NAMED);
    assert_eq!(check_messages(&folder), []);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        assert_eq!(client.names("resources"), ["Policy: travel\n(2026) ✈", "plain"]);
        assert_eq!(template(client)["name"], "Any day");
        assert_eq!(client.get_text("p", json!({ "n": "1" })), "1");
        let asked = json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "n", "value": "" } });
        assert_eq!(client.result("completion/complete", asked)["completion"]["values"], json!(["1"]));
        if client.list("tools")[0]["name"] == "t" {
            let link = &client.call("t", json!({}))["content"][0];
            assert!(link["name"] == "Policy: travel\n(2026) ✈" || link["type"] == "text", "{link}");
        }
    });
}

#[test]
fn equal_and_empty_resource_names_are_reported() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nresources:\n  a: { uri: 'a://a', text: A }\n  \
         b: { uri: 'b://b', name: a, text: B }\n  c: { uri: 'c://c', name: ' ', text: C }\n",
    );
    let messages: Vec<String> = check_messages(&folder).into_iter().map(|(message, _)| message).collect();
    assert_eq!(messages, ["duplicate resource name `a`", "empty resource name"]);
}

#[test]
fn server_name_may_have_a_namespace() {
    let named = |name: &str| TestFolder::with_manifest(&format!("folio: 1\nserver: {{ name: '{name}' }}\n"));
    for name in ["io.github.me/desk", "desk.v2", "a/b", "a-b.c-d/e.f"] {
        let folder = named(name);
        assert_eq!(check_messages(&folder), [], "{name}");
        on_every_version_and_wire(&folder, &json!({}), |client| {
            if !client.is_sessionless() {
                return;
            }
            let info =
                client.result("server/discover", json!({}))["_meta"]["io.modelcontextprotocol/serverInfo"].take();
            assert_eq!(info["name"], name);
        });
    }
    for name in ["/desk", "io.github.me/", "a/b/c", "a//b", "..", ".a", "a.", "a..b", "a/.b", "A", "a b", ""] {
        let (message, help) = check_messages(&named(name)).remove(0);
        assert_eq!(message, format!("invalid server name `{name}`"));
        assert!(help.contains("one `/` between"), "{help}");
    }
}

const LISTED: &str = r#"folio: 1
server: { name: desk, title: "Desk {{env.REGION}}", version: "2", instructions: "For {{env.REGION}}" }
env: { REGION: { default: eu }, KEY: { secret: true } }
prompts:
  p:
    description: "P {{env.REGION}} of {{server.title}}"
    arguments: { x: { title: "X {{env.REGION}}", description: "In {{upper env.REGION}}, {{server.name}}" } }
    text: "{{x}}: {{server.title}}"
tools:
  t:
    description: "T {{server.version}}"
    arguments:
      x: { description: "X {{env.REGION}} \\{{x}}", items: { type: string, description: "one {{x}}" }, type: array }
    result: { text: "{{x}}" }
resources: { r: { uri: "r://{v}", title: "R {{env.REGION}}", description: "R of {{server.name}}", text: "{{v}}" } }
"#;

#[test]
fn listed_texts_hold_values_known_at_load() {
    let folder = TestFolder::with_manifest(LISTED);
    let server = folder.serve_command().env("REGION", "us").env("KEY", "0123456789").stdio();
    let client = server.sessionless();
    let prompt = client.list("prompts").remove(0);
    assert_eq!(prompt["description"], "P us of Desk us");
    assert_eq!(prompt["arguments"][0]["title"], "X us");
    assert_eq!(prompt["arguments"][0]["description"], "In US, desk");
    let tool = client.list("tools").remove(0);
    assert_eq!(
        (&tool["description"], &tool["inputSchema"]["properties"]["x"]["description"]),
        (&json!("T 2"), &json!("X us {{x}}"))
    );
    let template = template(&client);
    assert_eq!((&template["title"], &template["description"]), (&json!("R us"), &json!("R of desk")));
    assert_eq!(client.get_text("p", json!({ "x": "{{env.REGION}}" })), "{{env.REGION}}: Desk us");
}

#[test]
fn secrets_and_arguments_in_listed_texts_are_errors() {
    let key = "secret `KEY`";
    let places = [
        "server: { name: s, title: '{{V}}' }",
        "server: { name: s, description: '{{V}}' }",
        "server: { name: s, instructions: '{{V}}' }",
        "server: { name: s }\nprompts: { p: { text: P, title: '{{V}}' } }",
        "server: { name: s }\nprompts: { p: { text: P, description: '{{V}}' } }",
        "server: { name: s }\nprompts: { p: { text: P, arguments: { x: { title: '{{V}}' } } } }",
        "server: { name: s }\nprompts: { p: { text: P, arguments: { x: { description: '{{V}}' } } } }",
        "server: { name: s }\nresources: { r: { uri: 'r://r', text: R, title: '{{V}}' } }",
        "server: { name: s }\nresources: { r: { uri: 'r://r', text: R, description: '{{V}}' } }",
        "server: { name: s }\nresources: { r: { uri: 'r://{x}', text: R, arguments: { x: { description: '{{V}}' } } } }",
        "server: { name: s }\ntools: { t: { description: T, title: '{{V}}', result: { text: R } } }",
        "server: { name: s }\ntools: { t: { description: '{{V}}', result: { text: R } } }",
        "server: { name: s }\ntools: { t: { description: T, arguments: { x: { title: '{{V}}' } }, result: { text: R } } }",
    ];
    for place in places {
        let of = |variable: &str| {
            let entry = place.replace("{{V}}", &format!("{{{{{variable}}}}}"));
            check_messages(&TestFolder::with_manifest(&format!(
                "folio: 1\nenv: {{ KEY: {{ secret: true }} }}\n{entry}\n"
            )))
        };
        let secret = of("env.KEY");
        assert!(secret.iter().any(|(message, _)| message.contains(key)), "{place}: {secret:?}");
        let argument = of("x");
        let words = "cannot use `{{x}}` in a listed text: lists are built before any call";
        assert!(argument.iter().any(|(message, _)| message == words), "{place}: {argument:?}");
    }
}

#[test]
fn packs_title_hides_its_secret() {
    let folder = TestFolder::new(&[
        (
            "folio.yaml",
            "folio: 1\nserver: { name: s }\nenv: { KEY: { secret: true } }\n\
             packs: { in: { path: in, env: { KEY: '{{env.KEY}}' } } }\n",
        ),
        (
            "in/folio.yaml",
            "folio: 1\nserver: { name: i, title: 'T {{env.KEY}}' }\nenv: { KEY: { secret: true } }\n\
             prompts: { p: { description: P, text: '{{server.title}}' } }\n",
        ),
    ]);
    let server = folder.serve_command().env("KEY", "0123456789").stdio();
    let text = server.sessionless().get_text("in-p", json!({}));
    assert!(text.starts_with("T {{env") && !text.contains("0123456789"), "{text}");
}

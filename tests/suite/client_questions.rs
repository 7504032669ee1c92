//! Questions to the client: within a session, or answered with the next request in 2026-07-28.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::*;

const ASKING: &str = r#"folio: 1
server: { name: asking }
prompts:
  hello: { description: A prompt named like a tool, arguments: {}, run: [{ id: who, ask: { name: { elicit: { message: Who are you?, schema: { name: { required: true } } } } } }], text: "{{steps.who.name.name}}" }
  about:
    description: Asks what to speak about
    arguments: { tone: { default: plain } }
    run:
      - { id: asked, ask: { topic: { elicit: { message: "About what, in a {{tone}} tone?", schema: { topic: { required: true } } } } } }
    text: "Speak about {{steps.asked.topic.topic}} in a {{tone}} tone."
resources:
  more:
    uri: "more://{id}"
    run:
      - { id: asked, ask: { more: { elicit: { message: "How many more of {{id}}?", schema: { many: { type: integer, required: true } } } } } }
    result: { text: "{{id}} and {{steps.asked.more.many}} more" }
tools:
  hello:
    description: Asks for a name
    run: [{ id: who, ask: { name: { elicit: { message: Who are you?, schema: { name: { required: true } } } } } }]
    result: { text: "Hello, {{steps.who.name.name}}!" }
  goodbye:
    description: Asks for a name too
    arguments: { word: { default: bye } }
    run: [{ id: who, ask: { name: { elicit: { message: Who are you?, schema: { name: { required: true } } } } } }]
    result: { text: "{{word}}, {{steps.who.name.name}}!" }
  kept:
    description: Goes on when the person says no
    run: [{ id: who, ask: { name: { onDecline: continue, elicit: { message: Who are you?, schema: { name: { required: true } } } } } }]
    result: { text: "{{steps.who.name.action}}/{{steps.who.name.name}}" }
  age:
    description: Asks for a number
    run: [{ id: asked, ask: { age: { elicit: { message: How old are you?, schema: { age: { type: integer, minimum: 1, required: true }, mail: { format: email } } } } } }]
    result: { text: "{{json steps.asked.age}}" }
  sampled:
    description: Asks the model
    arguments: { text: { default: a text } }
    run:
      - id: asked
        ask:
          said:
            sample:
              messages: [{ user: "Summarize {{text}}" }, { assistant: Gladly. }, { user: Begin. }]
              systemPrompt: "Be brief about {{text}}."
              maxTokens: 64
              temperature: 0.5
              stopSequences: [END]
              modelPreferences: { speedPriority: 0.75, hints: [{ name: small }] }
    result: { text: "{{steps.asked.said.text}} by {{steps.asked.said.model}}, {{steps.asked.said.stopReason}}" }
  tooled:
    description: Asks the model with tools
    run: [{ id: asked, ask: { said: { sample: { prompt: Go, maxTokens: 9, tools: [{ name: t, inputSchema: { type: object } }], toolChoice: { mode: auto } } } } }]
    result: { text: "{{steps.asked.said.text}}" }
  rooted:
    description: Asks for the roots
    run: [{ id: asked, ask: { all: { roots: {} } } }]
    result: { text: "{{#each steps.asked.all}}{{uri}} {{name}};{{/each}}" }
  several:
    description: Asks three things at once
    run:
      - id: asked
        ask:
          name: { elicit: { message: Who are you?, schema: { name: { required: true } } } }
          greeting: { sample: { prompt: Greet, maxTokens: 9 } }
          all: { roots: {} }
    result: { text: "{{steps.asked.greeting.text}} {{steps.asked.name.name}} of {{len steps.asked.all}}" }
  page:
    description: Leads to a page
    arguments: { id: { default: a b } }
    run: [{ id: asked, ask: { paid: { onDecline: continue, elicit: { message: Please pay, url: "https://pay.example/{{id}}" } } } }]
    result: { text: "{{steps.asked.paid.action}}" }
  optional:
    description: Asks whoever can be asked
    run:
      - id: asked
        ask:
          name: { optional: true, elicit: { message: Who are you?, schema: { name: { required: true } } } }
          said: { optional: true, sample: { prompt: Greet, maxTokens: 9 } }
    result: { text: "{{steps.asked.name.name}}/{{steps.asked.said.text}}/{{json steps.asked}}" }
  hasty: { description: Asks for a moment, run: [{ timeout: 1s, ask: { name: { elicit: { message: Who are you?, schema: { name: {} } } } } }] }
  alone:
    description: Asks where that is wanted, and runs one call at once
    concurrency: 1
    arguments: { ask: { type: boolean, default: false } }
    run: [{ when: "{{ask}}", ask: { name: { elicit: { message: Who are you?, schema: { name: {} } } } } }]
    result: { text: over }
  sleeps: { description: Takes four times as long as hasty asks, run: [{ sleep: 4s }], result: { text: slept } }
  fields:
    description: Asks for every kind of field
    run:
      - id: asked
        ask:
          form:
            elicit:
              message: Fill in
              schema:
                text: { title: Text, default: x, minLength: 1, maxLength: 9 }
                day: { format: date }
                at: { format: date-time }
                mail: { format: email }
                link: { format: uri }
                number: { type: number, minimum: 0.5, default: 1.5 }
                whole: { type: integer, default: 3 }
                yes: { type: boolean, default: true }
                one: { enum: [a, b], default: a }
                titled: { oneOf: [{ const: a, title: A }, { const: b, title: B }] }
                many: { type: array, items: { type: string, enum: [a, b, c] }, minItems: 1 }
                named: { type: array, items: { anyOf: [{ const: a, title: A }, { const: b, title: B }] } }
    result: { text: "{{json steps.asked.form}}" }
  effects:
    description: Asks between two effects
    arguments: { file: { required: true } }
    run:
      - { script: { shell: sh, text: 'echo before >> "$file"' } }
      - { id: sure, ask: { sure: { elicit: { message: Sure?, schema: { sure: { type: boolean, required: true } } } } } }
      - { script: { shell: sh, text: 'echo after >> "$file"' } }
    result: { text: done }
  nested:
    description: Calls a tool that asks, between two effects
    arguments: { file: { required: true } }
    run:
      - { script: { shell: sh, text: 'echo outer >> "$file"' } }
      - { id: inner, tool: { name: effects, arguments: { file: "{{file}}" } } }
      - { id: topic, prompt: { name: about, arguments: { tone: calm } } }
      - { id: more, read: "more://apples" }
      - { script: { shell: sh, text: 'echo outer >> "$file"' } }
    result: { text: "{{steps.inner.text}}; {{steps.topic.text}}; {{steps.more.text}}" }
"#;

fn all() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} }, "roots": {} })
}

fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

fn sampled_text(text: &str) -> Value {
    let content = json!({ "type": "text", "text": text });
    json!({ "role": "assistant", "content": content, "model": "tiny", "stopReason": "endTurn" })
}

fn roots() -> Value {
    json!({ "roots": [{ "uri": "file:///one", "name": "One" }, { "uri": "file:///two" }] })
}

/// Answers every question as its reader would like it.
fn any(method: &str, params: &Value) -> Value {
    match method {
        "sampling/createMessage" => sampled_text("Good day"),
        "roots/list" => roots(),
        _ => {
            let fields = params["requestedSchema"]["properties"].as_object().unwrap();
            let mut content = json!({});
            for (name, field) in fields {
                content[name] = match field["type"].as_str().unwrap() {
                    "boolean" => json!(true),
                    "integer" | "number" => json!(3),
                    _ => json!("Ada"),
                };
            }
            accept(content)
        }
    }
}

fn never(method: &str, params: &Value) -> Value {
    panic!("nothing was to be asked: {method} {params}")
}

/// Whether a client of this version can be shown a form.
fn knows_forms(client: &TestClient) -> bool {
    client.version.as_str() >= "2025-06-18"
}

/// What a tool says that went wrong.
fn failure(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    text_of(&result["content"][0])
}

fn text(result: &Value) -> String {
    assert_ne!(result["isError"], true, "{result}");
    all_text_of(result)
}

/// The first round of a call in 2026-07-28: what is asked, and the state.
fn first_round(client: &TestClient, tool: &str, arguments: Value) -> (Value, Value) {
    let result = client.call(tool, arguments);
    assert_eq!(result["resultType"], "input_required", "{result}");
    (result["inputRequests"].clone(), result["requestState"].clone())
}

/// The next round of a call.
fn round(client: &TestClient, tool: &str, arguments: Value, (responses, state): (Value, &Value)) -> Value {
    let mut params = json!({ "name": tool, "arguments": arguments, "inputResponses": responses });
    if !state.is_null() {
        params["requestState"] = state.clone();
    }
    client.request("tools/call", params)
}

fn lines(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn form_answer_is_visible_to_later_steps() {
    on_every_version_and_wire(&TestFolder::with_manifest(ASKING), &all(), |client| {
        let mut asked = Vec::new();
        let result = client.call_with_answers("hello", json!({}), |method, params| {
            asked.push((method.to_owned(), params.clone()));
            accept(json!({ "name": "Ada" }))
        });
        if !knows_forms(client) {
            assert!(failure(&result).contains("elicitation"), "{result}");
            assert!(asked.is_empty(), "{asked:?}");
            return;
        }
        assert_eq!(text(&result), "Hello, Ada!");
        let [(method, params)] = asked.as_slice() else { panic!("{asked:?}") };
        assert_eq!(method, "elicitation/create");
        assert_eq!(params["message"], "Who are you?");
        let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
        assert_eq!(params["requestedSchema"], schema);
        let mode = if client.version.as_str() >= "2025-11-25" { json!("form") } else { Value::Null };
        assert_eq!(params["mode"], mode, "{params}");
    });
}

#[test]
fn decline_or_cancel_ends_run_unless_on_decline() {
    let folder = TestFolder::with_manifest(ASKING);
    on_every_version_and_wire(&folder, &all(), |client| {
        if !knows_forms(client) {
            return;
        }
        for (action, words) in [("decline", "the user declined"), ("cancel", "the user cancelled")] {
            let answer = json!({ "action": action });
            let result = client.call_with_answers("hello", json!({}), |_, _| answer.clone());
            assert!(failure(&result).starts_with(words), "{result}");
            let result = client.call_with_answers("kept", json!({}), |_, _| answer.clone());
            assert_eq!(text(&result), format!("{action}/"));
            let file = folder.join(&format!("{action}-{}-{}", client.version, client.is_on_pipes()));
            let arguments = json!({ "file": file.to_str().unwrap() });
            failure(&client.call_with_answers("effects", arguments, |_, _| answer.clone()));
            assert_eq!(lines(&file), ["before"], "a step behind a question that was declined was taken");
            let sampled_text =
                client.request_with_answers("prompts/get", json!({ "name": "about" }), |_, _| answer.clone());
            assert_eq!(sampled_text["error"]["code"], -32603, "{sampled_text}");
        }
    });
}

#[test]
fn invalid_answer_is_asked_again() {
    on_every_version_and_wire(&TestFolder::with_manifest(ASKING), &all(), |client| {
        if !knows_forms(client) {
            return;
        }
        let wrong = [
            accept(json!({ "age": 0 })),
            accept(json!({ "age": "5" })),
            accept(json!({})),
            accept(Value::Null),
            accept(json!([5])),
            accept(json!({ "age": 5, "mail": "no mail" })),
            json!({ "action": "maybe", "content": { "age": 5 } }),
            json!({ "content": { "age": 5 } }),
            json!({}),
        ];
        for wrong in wrong {
            let mut asked = 0;
            let result = client.call_with_answers("age", json!({}), |_, _| {
                asked += 1;
                if asked == 1 { wrong.clone() } else { accept(json!({ "age": 5, "extra": 1 })) }
            });
            let outcome: Value = serde_json::from_str(&text(&result)).unwrap();
            assert_eq!((asked, outcome), (2, json!({ "age": 5, "action": "accept" })), "{wrong}");
        }
        let mut asked = 0;
        let result = client.call_with_answers("age", json!({}), |_, _| {
            asked += 1;
            accept(json!({ "age": if asked < 4 { 0 } else { 7 } }))
        });
        // A session asks again once; without one, each answer is a request of the client's own.
        if client.is_sessionless() {
            assert_eq!((asked, text(&result).contains('7')), (4, true));
        } else {
            assert_eq!(asked, 2);
            assert!(failure(&result).contains("`age`"), "{result}");
        }
    });
}

#[test]
fn sampling_asks_the_client_model() {
    on_every_version_and_wire(&TestFolder::with_manifest(ASKING), &all(), |client| {
        let result = client.call_with_answers("sampled", json!({ "text": "{{env}}" }), |method, params| {
            assert_eq!(method, "sampling/createMessage");
            let message = |role: &str, text: &str| json!({ "role": role, "content": { "type": "text", "text": text } });
            let expected = json!({
                "messages": [message("user", "Summarize {{env}}"), message("assistant", "Gladly."), message("user", "Begin.")],
                "systemPrompt": "Be brief about {{env}}.",
                "maxTokens": 64,
                "temperature": 0.5,
                "stopSequences": ["END"],
                "modelPreferences": { "speedPriority": 0.75, "hints": [{ "name": "small" }] },
            });
            let mut params = params.clone();
            params.as_object_mut().unwrap().remove("_meta");
            assert_eq!(params, expected);
            sampled_text("Short")
        });
        assert_eq!(text(&result), "Short by tiny, endTurn");
        let with_tools = client.call_with_answers("tooled", json!({}), |_, params| {
            assert_eq!((&params["tools"][0]["name"], &params["toolChoice"]["mode"]), (&json!("t"), &json!("auto")));
            sampled_text("Used")
        });
        if client.version.as_str() >= "2025-11-25" {
            assert_eq!(text(&with_tools), "Used");
        } else {
            assert!(failure(&with_tools).contains("sampling.tools"), "{with_tools}");
        }
    });
}

#[test]
fn roots_are_requested_from_the_client() {
    on_every_version_and_wire(&TestFolder::with_manifest(ASKING), &all(), |client| {
        let result = client.call_with_answers("rooted", json!({}), |method, _| {
            assert_eq!(method, "roots/list");
            roots()
        });
        assert_eq!(text(&result), "file:///one One;file:///two ;");
        // What is no list of roots is asked for again.
        let mut asked = 0;
        let result = client.call_with_answers("rooted", json!({}), |_, _| {
            asked += 1;
            if asked == 1 { json!({ "roots": "file:///one" }) } else { json!({ "roots": [] }) }
        });
        assert_eq!((asked, text(&result)), (2, String::new()));
    });
}

#[test]
fn roots_are_cached_until_list_changed() {
    let folder = TestFolder::with_manifest(ASKING);
    let capabilities = json!({ "roots": { "listChanged": true } });
    on_every_version_and_wire(&folder, &capabilities, |client| {
        if client.is_sessionless() {
            return;
        }
        let wrong = json!({ "roots": "file:///one" });
        let refused = client.call_with_answers("rooted", json!({}), |_, _| wrong.clone());
        assert!(failure(&refused).contains("roots"), "{refused}");
        let mut asked = 0;
        for _ in 0..2 {
            let result = client.call_with_answers("rooted", json!({}), |_, _| {
                asked += 1;
                roots()
            });
            assert_eq!(text(&result), "file:///one One;file:///two ;");
        }
        assert_eq!(asked, 1);
        // Right behind the word of a change nothing that was known before it counts.
        for round in 0..20 {
            client.notify("notifications/roots/list_changed", Value::Null);
            let now = if round % 2 == 0 { json!({ "roots": [] }) } else { roots() };
            let result = client.call_with_answers("rooted", json!({}), |_, _| now.clone());
            assert_eq!(text(&result).is_empty(), round % 2 == 0, "{result}");
        }
    });
}

#[test]
fn questions_of_a_round_are_sent_together() {
    on_every_version_and_wire(&TestFolder::with_manifest(ASKING), &all(), |client| {
        if !knows_forms(client) {
            let result = client.call_with_answers("several", json!({}), never);
            assert!(failure(&result).contains("`elicitation`"), "{result}");
            return;
        }
        if client.is_sessionless() {
            let (asked, state) = first_round(client, "several", json!({}));
            let keys: Vec<&str> = asked.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(keys.len(), 3, "{asked}");
            assert!(["name", "greeting", "all"].iter().all(|key| keys.contains(key)), "{keys:?}");
            let responses =
                json!({ "name": accept(json!({ "name": "Ada" })), "greeting": sampled_text("Hi"), "all": roots() });
            let answer = round(client, "several", json!({}), (responses, &state));
            assert_eq!(text(&answer["result"]), "Hi Ada of 2");
            return;
        }
        let id = client.start_call("several", json!({}));
        let questions = [client.next_question(), client.next_question(), client.next_question()];
        for question in questions.iter().rev() {
            let answer = any(question["method"].as_str().unwrap(), &question["params"]);
            client.answer_question(question, &answer);
        }
        assert_eq!(text(&client.wait_for_answer(id)["result"]), "Good day Ada of 2");
    });
}

#[test]
fn url_elicitation_needs_the_url_capability() {
    on_every_version_and_wire(&TestFolder::with_manifest(ASKING), &all(), |client| {
        let can = client.version.as_str() >= "2025-11-25";
        let mut asked = Value::Null;
        let result = client.call_with_answers("page", json!({}), |_, params| {
            asked = params.clone();
            json!({ "action": "accept" })
        });
        if !can {
            assert!(failure(&result).contains("elicitation.url") && asked.is_null(), "{result}");
            return;
        }
        assert_eq!(text(&result), "accept");
        assert_eq!((&asked["mode"], &asked["url"]), (&json!("url"), &json!("https://pay.example/a%20b")), "{asked}");
        // In 2026-07-28 a page has no id; the SDK sends an empty one.
        let id = asked["elicitationId"].as_str().unwrap_or_default();
        assert_eq!(id.is_empty(), client.is_sessionless(), "{asked}");
        let declined = client.call_with_answers("page", json!({}), |_, _| json!({ "action": "decline" }));
        assert_eq!(text(&declined), "decline");
    });
}

#[test]
fn url_elicitation_refuses_non_http_urls() {
    let folder = TestFolder::with_manifest(
        r#"
folio: 1
server: { name: pages }
tools:
  page:
    description: A page
    arguments: { url: { required: true } }
    run: [{ id: a, ask: { q: { elicit: { message: Visit, url: "{{url}}" } } } }]
    result: { text: "{{steps.a.q.action}}" }
"#,
    );
    for version in ["2025-11-25", "2026-07-28"] {
        let server = folder.stdio();
        let client = server.client_with(version, json!({ "elicitation": { "form": {}, "url": {} } }));
        for wrong in [
            "javascript:alert(1)",
            "java\tscript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "http://desk.example/",
            "https://desk.example@evil.example/",
            "/page",
        ] {
            let result = client.call_with_answers("page", json!({ "url": wrong }), never);
            assert!(failure(&result).starts_with("`url` "), "{wrong}: {result}");
        }
        let mut shown = String::new();
        let answer = |_: &str, params: &Value| {
            shown = params["url"].as_str().unwrap().to_owned();
            json!({ "action": "accept" })
        };
        let result = client.call_with_answers("page", json!({ "url": "https://desk.example/connect?x=1" }), answer);
        assert_eq!((text(&result).as_str(), shown.as_str()), ("accept", "https://desk.example/connect?x=1"));
    }
}

#[test]
fn client_without_capability_is_never_asked() {
    let folder = TestFolder::with_manifest(ASKING);
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } }), json!({ "sampling": {}, "roots": {} })] {
        on_every_version_and_wire(&folder, &capabilities, |client| {
            let expected = json!({ "elicitation": { "form": {} } });
            let sampled_text = client.request_with_answers("tools/call", json!({ "name": "hello" }), never);
            if client.is_sessionless() {
                assert_eq!(sampled_text["error"]["code"], -32021, "{sampled_text}");
                assert_eq!(sampled_text["error"]["data"]["requiredCapabilities"], expected, "{sampled_text}");
            } else {
                assert!(
                    failure(&sampled_text["result"]).contains("missing client capability: `elicitation`"),
                    "{sampled_text}"
                );
            }
            for (method, params) in
                [("prompts/get", json!({ "name": "about" })), ("resources/read", json!({ "uri": "more://x" }))]
            {
                let error = client.request_with_answers(method, params, never)["error"].clone();
                let code = if client.is_sessionless() { -32021 } else { -32603 };
                assert_eq!(error["code"], code, "{method} in {}: {error}", client.version);
                assert!(
                    error["message"].as_str().unwrap().contains("missing client capability: `elicitation`"),
                    "{error}"
                );
            }
        });
    }
}

#[test]
fn capabilities_are_per_request_when_sessionless() {
    let folder = TestFolder::with_manifest(ASKING);
    for server in [folder.stdio(), folder.http()] {
        // Neither a request before it nor a session beside it says anything of a request of 2026-07-28.
        let session = server.client_with("2025-11-25", all());
        let (able, unable) =
            (server.client_with(SESSIONLESS_VERSION, all()), server.client_with(SESSIONLESS_VERSION, json!({})));
        for _ in 0..2 {
            first_round(&able, "hello", json!({}));
            assert_eq!(unable.error_code("tools/call", json!({ "name": "hello" })), -32021);
        }
        let result = session.call_with_answers("hello", json!({}), |_, _| accept(json!({ "name": "Ada" })));
        assert_eq!(text(&result), "Hello, Ada!");
    }
}

#[test]
fn sessionless_client_is_sent_no_requests() {
    let folder = TestFolder::with_manifest(ASKING);
    for server in [folder.stdio(), folder.http()] {
        let client = server.client_with(SESSIONLESS_VERSION, all());
        for tool in ["hello", "sampled", "rooted", "several", "page"] {
            let result = client.call_with_answers(tool, json!({}), |method, params| match params["mode"].as_str() {
                Some("url") => json!({ "action": "accept" }),
                _ => any(method, params),
            });
            assert_eq!((&result["resultType"], &result["isError"]), (&json!("complete"), &json!(false)), "{result}");
        }
        client.round_trip();
        for method in ["elicitation/create", "sampling/createMessage", "roots/list", "ping"] {
            assert_eq!(client.notified_params(method), Vec::<Value>::new(), "{method}");
        }
    }
}

#[test]
fn missing_capability_is_status_400_over_http() {
    let server = TestFolder::with_manifest(ASKING);
    let server = server.http();
    let client = server.sessionless();
    let params = client.params(json!({ "name": "several" }));
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let headers = client.headers("tools/call", &params);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let response = server.http_client().post(&headers, &body);
    assert_eq!(response.status, 400);
    let required = json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} });
    assert_eq!(response.json()["error"]["data"]["requiredCapabilities"], required);
}

#[test]
fn optional_question_is_skipped_without_capability() {
    let folder = TestFolder::with_manifest(ASKING);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let result = client.call_with_answers("optional", json!({}), never);
        assert_eq!(text(&result), r#"//{"name":null,"said":null}"#);
    });
    on_every_version_and_wire(&folder, &json!({ "sampling": {} }), |client| {
        let result = client.call_with_answers("optional", json!({}), |method, _| {
            assert_eq!(method, "sampling/createMessage");
            sampled_text("Hi")
        });
        assert!(text(&result).starts_with("/Hi/"), "{result}");
    });
}

#[test]
fn form_schema_matches_the_version() {
    on_every_version_and_wire(&TestFolder::with_manifest(ASKING), &all(), |client| {
        if !knows_forms(client) {
            return;
        }
        let newer = client.version.as_str() >= "2025-11-25";
        let result = client.call_with_answers("fields", json!({}), |_, params| {
            let fields = &params["requestedSchema"]["properties"];
            for (field, format) in [("day", "date"), ("at", "date-time"), ("mail", "email"), ("link", "uri")] {
                assert_eq!(fields[field]["format"], format, "{fields}");
            }
            assert_eq!(fields["yes"]["default"], true, "{fields}");
            if newer {
                assert_eq!((&fields["text"]["default"], &fields["whole"]["default"]), (&json!("x"), &json!(3)));
                assert!(fields["titled"]["oneOf"].is_array() && fields["many"]["items"]["enum"].is_array(), "{fields}");
                assert_eq!(fields["named"]["items"]["anyOf"][1], json!({ "const": "b", "title": "B" }), "{fields}");
                return accept(json!({ "many": ["a", "c"], "titled": "b", "number": 0.5 }));
            }
            let defaults = fields.as_object().unwrap().values().filter(|field| field.get("default").is_some());
            assert_eq!(defaults.count(), 1, "{fields}");
            assert_eq!(fields["titled"], json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"] }));
            assert_eq!(fields["many"]["type"], "string", "{fields}");
            accept(json!({ "many": "a, c", "titled": "b", "number": 0.5 }))
        });
        let outcome: Value = serde_json::from_str(&text(&result)).unwrap();
        assert_eq!((&outcome["many"], &outcome["titled"]), (&json!(["a", "c"]), &json!("b")), "{outcome}");
    });
}

#[test]
fn prompts_and_resources_can_ask() {
    on_every_version_and_wire(&TestFolder::with_manifest(ASKING), &all(), |client| {
        if !knows_forms(client) {
            return;
        }
        let params = json!({ "name": "about", "arguments": { "tone": "wry" } });
        let prompt = client.request_with_answers("prompts/get", params, |_, params| {
            assert_eq!(params["message"], "About what, in a wry tone?");
            accept(json!({ "topic": "trees" }))
        });
        let text = text_of(&prompt["result"]["messages"][0]["content"]);
        assert_eq!(text, "Speak about trees in a wry tone.");
        let read = client.request_with_answers("resources/read", json!({ "uri": "more://pears" }), |_, params| {
            assert_eq!(params["message"], "How many more of pears?");
            accept(json!({ "many": 4 }))
        });
        assert_eq!(text_of(&read["result"]["contents"][0]), "pears and 4 more");
    });
}

#[test]
fn nested_call_asks_and_acts_once() {
    let folder = TestFolder::with_manifest(ASKING);
    on_every_version_and_wire(&folder, &all(), |client| {
        if !knows_forms(client) {
            return;
        }
        let file = folder.join(&format!("nested-{}-{}", client.version, client.is_on_pipes()));
        let mut asked = Vec::new();
        let arguments = json!({ "file": file.to_str().unwrap() });
        let result = client.call_with_answers("nested", arguments, |method, params| {
            asked.push(params["message"].as_str().unwrap().to_owned());
            any(method, params)
        });
        assert_eq!(text(&result), "done; Speak about Ada in a calm tone.; apples and 3 more");
        assert_eq!(asked, ["Sure?", "About what, in a calm tone?", "How many more of apples?"]);
        assert_eq!(lines(&file), ["outer", "before", "after", "outer"]);
    });
}

#[test]
fn unanswered_question_is_cancelled_and_late_answer_ignored() {
    let folder = TestFolder::with_manifest(ASKING);
    let web = folder.http();
    for version in ["2025-06-18", "2025-11-25"] {
        let pipes = folder.stdio();
        for client in [pipes.client_with(version, all()), web.client_with(version, all())] {
            // Which of the two is first tells how long it was open, however slow the machine is.
            let sleeping = client.start_call("sleeps", json!({}));
            let began = Instant::now();
            let id = client.start_call("hasty", json!({}));
            let question = client.next_question();
            let taken_back =
                client.take(|message| message["method"] == "notifications/cancelled" || message["id"] == sleeping);
            assert_eq!(taken_back["params"]["requestId"], question["id"], "{taken_back}");
            assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
            assert!(failure(&client.wait_for_answer(id)["result"]).contains("the client timed out after 1s"));
            client.cancel(sleeping);
            client.answer_question(&question, &accept(json!({ "name": "too late" })));
            client.answer_question(&json!({ "id": 987_654 }), &accept(json!({})));
            client.round_trip();
            let result = client.call_with_answers("hello", json!({}), |_, _| accept(json!({ "name": "Ada" })));
            assert_eq!(text(&result), "Hello, Ada!");
        }
        pipes.pipe().assert_only_messages();
    }
}

#[test]
fn time_limit_of_a_question_is_that_of_all_its_attempts() {
    let folder = TestFolder::with_manifest(ASKING);
    let server = folder.stdio();
    let client = server.client_with("2025-11-25", all());
    let id = client.start_call("hasty", json!({}));
    let question = client.next_question();
    let token = &question["params"]["_meta"]["progressToken"];
    client.notify("notifications/progress", json!({ "progressToken": token, "progress": 1 }));
    std::thread::sleep(Duration::from_millis(700));
    client.notify("notifications/progress", json!({ "progressToken": token, "progress": 2 }));
    client.answer_question(&question, &json!({ "action": "nonsense" }));
    client.next_question();
    let asked_again = Instant::now();
    let answer = client.wait_for_answer(id);
    assert!(failure(&answer["result"]).contains("the client timed out after 1s"), "{answer}");
    assert!(asked_again.elapsed() < Duration::from_millis(900), "{:?}", asked_again.elapsed());
}

#[test]
fn client_error_message_is_passed_on() {
    on_every_version_and_wire(&TestFolder::with_manifest(ASKING), &all(), |client| {
        if client.is_sessionless() {
            return;
        }
        let id = client.start_call("sampled", json!({}));
        let question = client.next_question();
        let error = json!({ "code": -1, "message": "User rejected sampling request" });
        client.send_raw(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": error }));
        let words = failure(&client.wait_for_answer(id)["result"]);
        assert!(words.contains("User rejected sampling request"), "{words}");
    });
}

#[test]
fn waiting_for_answer_does_not_count_as_timeout() {
    let manifest = "folio: 1\nserver: { name: a }\ntools:\n  t:\n    description: T\n    timeout: 2s\n    run:\n      \
                    - { sleep: 50ms }\n      - { id: a, ask: { n: { elicit: { message: N?, schema: { n: {} } } } } }\n      \
                    - { sleep: 100ms }\n    result: { text: done }\n";
    let folder = TestFolder::with_manifest(manifest);
    let server = folder.stdio();
    let client = server.client_with("2025-11-25", all());
    let id = client.start_call("t", json!({}));
    let question = client.next_question();
    std::thread::sleep(Duration::from_millis(2200));
    client.answer_question(&question, &accept(json!({})));
    assert_eq!(text(&client.wait_for_answer(id)["result"]), "done");
}

#[test]
fn cancelling_a_call_cancels_its_question() {
    let folder = TestFolder::with_manifest(ASKING);
    let web = folder.http();
    for version in ["2025-06-18", "2025-11-25"] {
        let pipes = folder.stdio();
        for client in [pipes.client_with(version, all()), web.client_with(version, all())] {
            let file = folder.join(&format!("cancelled-{version}-{}", client.is_on_pipes()));
            // The stream of the request is over with it, so over HTTP the word comes on the other one.
            let _stream = (!client.is_on_pipes()).then(|| client.open_stream());
            let id = client.start_call("effects", json!({ "file": file.to_str().unwrap() }));
            let question = client.next_question();
            client.cancel(id);
            let taken_back = client.take(|message| message["method"] == "notifications/cancelled");
            assert_eq!(taken_back["params"]["requestId"], question["id"], "{taken_back}");
            client.answer_question(&question, &accept(json!({ "sure": true })));
            client.round_trip();
            assert!(!client.has_answer(id), "what was cancelled was answered");
            assert_eq!(lines(&file), ["before"]);
        }
    }
}

#[test]
fn request_id_can_be_reused_after_its_cancelled_question() {
    let folder = TestFolder::with_manifest(ASKING);
    let server = folder.stdio();
    let client = server.client_with("2025-11-25", all());
    let call = json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": { "name": "hello" } });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 77 } });
    let mut questions = Vec::new();
    for _ in 0..3 {
        // Until the last word of the one before is over, the id is refused.
        let deadline = Instant::now() + TEST_TIMEOUT;
        let question = loop {
            client.pipe().write_line(call.to_string());
            let sampled_text = client.take(|sampled_text| {
                sampled_text["method"] == "elicitation/create" || !sampled_text["error"].is_null()
            });
            if sampled_text["method"] == "elicitation/create" {
                break sampled_text;
            }
            assert!(
                sampled_text["error"]["message"].as_str().unwrap().contains("duplicate request id"),
                "{sampled_text}"
            );
            assert!(Instant::now() < deadline, "the id is never free");
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(!questions.contains(&question["id"]), "an id of a question is used again");
        questions.push(question["id"].clone());
        client.pipe().write_line(cancel.to_string());
        let taken_back = client.take(|sampled_text| sampled_text["method"] == "notifications/cancelled");
        assert_eq!(taken_back["params"]["requestId"], question["id"]);
    }
    client.round_trip();
    server.pipe().assert_only_messages();
}

#[test]
fn idle_session_ends_after_a_cancelled_question() {
    let folder = TestFolder::with_manifest(&format!("{ASKING}http: {{ maxSessions: 1, sessionIdle: 1s }}\n"));
    let server = folder.http();
    let client = server.client_with("2025-11-25", all());
    let id = client.start_call("hello", json!({}));
    client.next_question();
    client.cancel(id);
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    wait_until("the end of the session", || server.http_client().post(&[], &body).status == 200);
}

#[test]
fn resumed_call_bypasses_concurrency_limit() {
    let manifest = "folio: 1\nserver: { name: a }\ntools:\n  t:\n    description: T\n    concurrency: 1\n    \
                    rateLimit: { calls: 2, per: 1h }\n    run:\n      \
                    - { id: a, ask: { n: { elicit: { message: N?, schema: { n: { type: number, required: true } } } } } }\n      \
                    - { sleep: \"{{steps.a.n.n}}s\" }\n    result: { text: done }\n";
    let folder = TestFolder::with_manifest(manifest);
    for server in [folder.stdio(), folder.http()] {
        let client = server.client_with(SESSIONLESS_VERSION, all());
        let states = [first_round(&client, "t", json!({})).1, first_round(&client, "t", json!({})).1];
        let answers = |n: f64| json!({ "n": accept(json!({ "n": n })) });
        let params = json!({ "name": "t", "arguments": {}, "inputResponses": answers(1.0), "requestState": states[0] });
        let running = client.send("tools/call", params);
        let answer = round(&client, "t", json!({}), (answers(0.01), &states[1]));
        assert_eq!(text(&answer["result"]), "done");
        assert_eq!(text(&client.wait_for_answer(running)["result"]), "done");
    }
}

#[test]
fn shutdown_does_not_wait_for_answers() {
    let folder = TestFolder::with_manifest(ASKING);
    for version in ["2025-06-18", "2025-11-25"] {
        for server in [folder.stdio(), folder.http()] {
            let client = server.client_with(version, all());
            client.start_call("hello", json!({}));
            client.next_question();
            server.signal("TERM");
            assert!(server.wait_for_exit(Duration::from_secs(10)).is_some(), "it waits");
        }
    }
}

#[test]
fn disconnect_ends_the_asking_call() {
    let folder = TestFolder::with_manifest(ASKING);
    assert_within_a_second(|_| {
        let pipes = folder.stdio();
        let client = pipes.client_with("2025-11-25", all());
        client.start_call("hello", json!({}));
        client.next_question();
        let began = Instant::now();
        pipes.pipe().close();
        assert!(pipes.wait_for_exit(TEST_TIMEOUT).is_some());
        began.elapsed()
    });
    assert_within_a_second(|_| {
        let web = folder.http();
        let (client, other) = (web.client_with("2025-11-25", all()), web.client_with("2025-11-25", all()));
        client.start_call("alone", json!({ "ask": true }));
        client.next_question();
        assert_eq!(other.call("alone", json!({}))["isError"], true, "two run at once");
        let ended = web.http_client().send("DELETE", &[("Mcp-Session-Id", client.session_id())], b"");
        assert!(ended.status < 300, "{ended:?}");
        wait_until("the end of the call", || other.call("alone", json!({}))["isError"] != true);
        let began = Instant::now();
        web.signal("TERM");
        assert!(web.wait_for_exit(TEST_TIMEOUT).is_some());
        began.elapsed()
    });
}

#[test]
fn http_sse_asks_on_its_single_stream() {
    let server = TestFolder::with_manifest(ASKING);
    let server = server.serve_command().flag("--sse").http();
    for version in ["2024-11-05", "2025-11-25"] {
        let client = server.sse_client_with(version, all());
        let result = client.call_with_answers("rooted", json!({}), any);
        assert_eq!(text(&result), "file:///one One;file:///two ;");
        let id = client.start_call("sampled", json!({}));
        let question = client.next_question();
        client.cancel(id);
        let taken_back = client.take(|message| message["method"] == "notifications/cancelled");
        assert_eq!(taken_back["params"]["requestId"], question["id"], "{taken_back}");
    }
}

#[test]
fn call_in_a_batch_can_ask() {
    let folder = TestFolder::with_manifest(ASKING);
    let server = folder.stdio();
    let client = server.client_with("2025-03-26", all());
    let call = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "sampled" } });
    client
        .pipe()
        .write_line(json!([call(500), { "jsonrpc": "2.0", "id": 501, "method": "ping" }, call(502)]).to_string());
    for _ in 0..2 {
        let question = client.next_question();
        client.answer_question(&question, &sampled_text("Short"));
    }
    let answers = client.take(Value::is_array);
    let mut ids: Vec<i64> = answers.as_array().unwrap().iter().filter_map(|answer| answer["id"].as_i64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [500, 501, 502], "{answers}");
    assert_eq!(answers.to_string().matches("Short by tiny").count(), 2, "{answers}");
}

#[test]
fn input_required_has_requests_and_state() {
    let folder = TestFolder::with_manifest(ASKING);
    for server in [folder.stdio(), folder.http()] {
        let client = server.client_with(SESSIONLESS_VERSION, all());
        let result = client.call("hello", json!({}));
        assert_eq!(result["resultType"], "input_required");
        assert_eq!(result["inputRequests"]["name"]["method"], "elicitation/create");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "asking", "{result}");
        for none in ["content", "isError", "ttlMs", "cacheScope"] {
            assert!(result.get(none).is_none(), "{none}: {result}");
        }
        let state = result["requestState"].as_str().unwrap();
        assert!(!state.contains("hello") && state.len() < 400, "{state}");
    }
}

#[test]
fn initial_input_responses_answer_first_round() {
    let folder = TestFolder::with_manifest(ASKING);
    for server in [folder.stdio(), folder.http()] {
        let client = server.client_with(SESSIONLESS_VERSION, all());
        let responses = json!({ "name": accept(json!({ "name": "Ada" })), "nobody": { "x": 1 } });
        let answer = round(&client, "hello", json!({}), (responses, &Value::Null));
        assert_eq!(text(&answer["result"]), "Hello, Ada!");
        // They serve no second one, under whatever key.
        let file = folder.join(&format!("first-{}", client.is_on_pipes()));
        let arguments = json!({ "file": file.to_str().unwrap() });
        let responses = json!({ "sure": accept(json!({ "sure": true })), "topic": accept(json!({ "topic": "x" })) });
        let answer = round(&client, "nested", arguments, (responses, &Value::Null));
        assert!(answer["result"]["inputRequests"]["topic"].is_object(), "{answer}");
    }
}

#[test]
fn valid_answers_are_kept_and_others_asked_again() {
    let folder = TestFolder::with_manifest(ASKING);
    for server in [folder.stdio(), folder.http()] {
        let client = server.client_with(SESSIONLESS_VERSION, all());
        let (_, state) = first_round(&client, "several", json!({}));
        let responses =
            json!({ "name": accept(json!({ "name": "Ada" })), "unasked": sampled_text("x"), "all": { "roots": 7 } });
        let answer = round(&client, "several", json!({}), (responses, &state));
        let asked = answer["result"]["inputRequests"].as_object().unwrap();
        let keys: Vec<&str> = asked.keys().map(String::as_str).collect();
        assert!(keys.len() == 2 && keys.contains(&"greeting") && keys.contains(&"all"), "{answer}");
        let state = answer["result"]["requestState"].clone();
        // An answer that was kept is not asked for any more, and a new one to it is no matter.
        let responses =
            json!({ "greeting": sampled_text("Hi"), "all": roots(), "name": accept(json!({ "name": "Eve" })) });
        let answer = round(&client, "several", json!({}), (responses, &state));
        assert_eq!(text(&answer["result"]), "Hi Ada of 2");
        for nothing in [json!({}), json!({ "other": 1 }), json!({ "name": null }), json!({ "name": 12345 })] {
            let (_, state) = first_round(&client, "hello", json!({}));
            let answer = round(&client, "hello", json!({}), (nothing.clone(), &state));
            assert_eq!(answer["result"]["resultType"], "input_required", "{nothing}: {answer}");
        }
    }
}

#[test]
fn request_state_is_single_use_and_call_bound() {
    let folder = TestFolder::with_manifest(ASKING);
    for server in [folder.stdio(), folder.http()] {
        let client = server.client_with(SESSIONLESS_VERSION, all());
        let answers = || json!({ "name": accept(json!({ "name": "Ada" })) });
        let refused = |tool: &str, arguments: Value, state: &Value| {
            let answer = round(&client, tool, arguments, (answers(), state));
            assert_eq!(answer["error"]["code"], -32602, "{tool}: {answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains("requestState"), "{answer}");
        };
        let (_, state) = first_round(&client, "goodbye", json!({ "word": "bye" }));
        refused("goodbye", json!({ "word": "ciao" }), &state);
        refused("goodbye", json!({}), &state);
        refused("hello", json!({ "word": "bye" }), &state);
        refused("hello", json!({}), &state);
        let text_of_state = state.as_str().unwrap();
        for place in [0, 5, text_of_state.len() / 2, text_of_state.len() - 3] {
            let mut tampered: Vec<u8> = text_of_state.into();
            tampered[place] = if tampered[place] == b'A' { b'B' } else { b'A' };
            refused("goodbye", json!({ "word": "bye" }), &json!(String::from_utf8(tampered).unwrap()));
        }
        for garbage in ["", "x", "AAAA", "ä", &"A".repeat(2_000_000), &text_of_state[..20]] {
            refused("goodbye", json!({ "word": "bye" }), &json!(garbage));
        }
        let answer = round(&client, "goodbye", json!({ "word": "bye" }), (answers(), &state));
        assert_eq!(text(&answer["result"]), "bye, Ada!");
        refused("goodbye", json!({ "word": "bye" }), &state);

        // The same name and arguments, as another kind of thing.
        let (_, state) = first_round(&client, "hello", json!({}));
        let mut params =
            json!({ "name": "hello", "arguments": {}, "inputResponses": answers(), "requestState": state });
        assert_eq!(client.error("prompts/get", params.clone())["code"], -32602);
        params["arguments"] = Value::Null;
        let answer = client.request("tools/call", params);
        assert_eq!(text(&answer["result"]), "Hello, Ada!", "no arguments are the same as none");
        // The order of arguments is no matter, the URI of a resource is.
        let read = |uri: &str, state: &Value| {
            let responses = json!({ "more": accept(json!({ "many": 1 })) });
            client.request("resources/read", json!({ "uri": uri, "inputResponses": responses, "requestState": state }))
        };
        let state = client.result("resources/read", json!({ "uri": "more://a" }))["requestState"].clone();
        assert_eq!(read("more://b", &state)["error"]["code"], -32602);
        assert_eq!(text_of(&read("more://a", &state)["result"]["contents"][0]), "a and 1 more");
    }
}

const TRAVEL: &str = r#"folio: 1
server: { name: travel }
tools:
  small:
    description: Names a little of much
    run:
      - { id: big, exec: [sh, -c, "head -c 300000 /dev/zero | tr '\\0' x"] }
      - { id: word, exec: [printf, kept] }
      - { log: "{{len steps.big.stdout}}" }
      - { id: n, ask: { n: { elicit: { message: N?, schema: { n: {} } } } } }
    result: { text: "{{steps.word.stdout}} {{steps.n.n.n}}" }
  big:
    description: Names much
    run:
      - { id: big, exec: [sh, -c, "head -c 300000 /dev/zero | tr '\\0' x"] }
      - { id: n, ask: { n: { elicit: { message: N?, schema: { n: {} } } } } }
    result: { text: "{{len steps.big.stdout}}" }
"#;

#[test]
fn request_state_holds_only_needed_outcomes() {
    let folder = TestFolder::with_manifest(TRAVEL);
    for server in [folder.stdio(), folder.http()] {
        let client = server.client_with(SESSIONLESS_VERSION, all());
        let (_, state) = first_round(&client, "small", json!({}));
        assert!(state.as_str().unwrap().len() < 1000, "{}", state.as_str().unwrap().len());
        let answers = json!({ "n": accept(json!({ "n": "7" })) });
        assert_eq!(text(&round(&client, "small", json!({}), (answers, &state))["result"]), "kept 7");
        let result = client.call("big", json!({}));
        assert!(failure(&result).contains("is 65536"), "{result}");
    }
}

/// A server whose manifest is edited between two rounds.
struct EditedTool {
    folder: TestFolder,
    server: TestServer,
}

const EDITED: &str = r#"folio: 1
server: { name: edited }
tools:
  pure: { description: D, run: [{ id: a, exec: [true] }, { id: q, ask: { n: { elicit: { message: First?, schema: { n: {} } } } } }], result: { text: "{{steps.q.n.n}}" } }
  still: { description: D, run: [{ sleep: 1ms }, { id: q, ask: { n: { elicit: { message: First?, schema: { n: {} } } } } }], result: { text: "first {{steps.q.n.n}}" } }
  same: { description: D, run: [{ id: a, exec: [true] }, { id: q, ask: { n: { elicit: { message: Same?, schema: { n: {} } } } } }], result: { text: "{{steps.q.n.n}}" } }
  outer: { description: D, run: [{ id: i, tool: still }], result: { text: "outer {{steps.i.text}}" } }
"#;

impl EditedTool {
    fn begin() -> EditedTool {
        let folder = TestFolder::with_manifest(EDITED);
        let server = folder.http();
        EditedTool { folder, server }
    }

    fn edit(&self, text: &str) {
        let mark = self.server.log.line_count();
        self.folder.rename_over("folio.yaml", text);
        self.server.log.wait_for_reload(mark);
    }
}

#[test]
fn edited_tool_restarts_unless_it_acted() {
    let edited = EditedTool::begin();
    let client = edited.server.client_with(SESSIONLESS_VERSION, all());
    let states: Vec<(&str, Value)> =
        ["pure", "still", "same", "outer"].map(|tool| (tool, first_round(&client, tool, json!({})).1)).into();
    edited.edit(&EDITED.replace("First?", "Second?").replace("first", "second"));
    let answers = json!({ "n": accept(json!({ "n": "7" })) });
    for (tool, state) in &states {
        let answer = round(&client, tool, json!({}), (answers.clone(), state));
        match *tool {
            // Its program may have changed the world.
            "pure" => {
                assert_eq!(answer["error"]["code"], -32602, "{answer}");
                assert!(answer["error"]["message"].as_str().unwrap().contains("changed"), "{answer}");
            }
            "same" => assert_eq!(text(&answer["result"]), "7"),
            _ => {
                let asked = &answer["result"]["inputRequests"]["n"]["params"]["message"];
                assert_eq!(asked, "Second?", "{tool}: {answer}");
                let answer = round(&client, tool, json!({}), (answers.clone(), &answer["result"]["requestState"]));
                assert!(text(&answer["result"]).ends_with("second 7"), "{tool}: {answer}");
            }
        }
    }
}

#[test]
fn edited_tool_without_question_does_not_act_twice() {
    for now in [
        "  pure: { description: D, run: { exec: [printf, acted] } }\n",
        "  pure: { description: D, result: { text: plain } }\n",
        "  other: { description: D, result: { text: plain } }\n",
        "  pure: { description: D, run: { exec: [printf, acted] } }\n  asks: { description: D, run: { ask: { n: { elicit: { message: N?, schema: { n: {} } } } } } }\n",
    ] {
        let edited = EditedTool::begin();
        let client = edited.server.client_with(SESSIONLESS_VERSION, all());
        let (_, state) = first_round(&client, "pure", json!({}));
        edited.edit(&format!("folio: 1\nserver: {{ name: edited }}\ntools:\n{now}"));
        let answers = json!({ "n": accept(json!({ "n": "7" })) });
        let answer = round(&client, "pure", json!({}), (answers, &state));
        assert_eq!(answer["error"]["code"], -32602, "{now}: {answer}");
    }
}

const KEY: &str = "0123456789abcdef0123456789abcdef";
const NEWER_KEY: &str = "fedcba9876543210fedcba9876543210";

/// `ask-first`, on a folder of its own.
fn ask_first(desk: &TestFolder, key: Option<&str>, http: bool) -> TestServer {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/servers/ask-first");
    let mut serve = ServeCommand::new(&example).env("DESK", desk.path().to_str().unwrap());
    if let Some(key) = key {
        serve = serve.env("FOLIO_STATE_KEY", key);
    }
    if http { serve.http() } else { serve.stdio() }
}

fn invited(desk: &TestFolder) -> Vec<String> {
    lines(&desk.join("invited.txt"))
}

#[test]
fn state_key_resumes_call_in_another_process() {
    for http in [false, true] {
        let desk = TestFolder::new(&[]);
        let guest = || json!({ "guest": accept(json!({ "mail": "ada@desk.example", "role": "editor" })) });
        let server = ask_first(&desk, Some(KEY), http);
        let (asked, state) = first_round(&server.client_with(SESSIONLESS_VERSION, all()), "invite", json!({}));
        assert!(asked["guest"].is_object(), "{asked}");
        assert!(invited(&desk).is_empty());
        server.signal("KILL");
        server.wait_for_exit(TEST_TIMEOUT).unwrap();

        let server = ask_first(&desk, Some(KEY), http);
        let client = server.client_with(SESSIONLESS_VERSION, all());
        let answer = round(&client, "invite", json!({}), (guest(), &state));
        let asked = &answer["result"]["inputRequests"]["confirm"]["params"]["message"];
        assert_eq!(asked, "Send ada@desk.example an invitation as editor?", "{answer}");
        assert_eq!(invited(&desk), ["ada@desk.example asked for"]);
        // The same state a second time does nothing again.
        assert_eq!(round(&client, "invite", json!({}), (guest(), &state))["error"]["code"], -32602);
        let state = answer["result"]["requestState"].clone();
        server.signal("KILL");
        server.wait_for_exit(TEST_TIMEOUT).unwrap();

        // By now there is a newer key, and the old one still opens.
        let server = ask_first(&desk, Some(&format!("{NEWER_KEY},{KEY}")), http);
        let client = server.client_with(SESSIONLESS_VERSION, all());
        let wrong = json!({ "confirm": accept(json!({ "send": "yes" })) });
        let answer = round(&client, "invite", json!({}), (wrong, &state));
        assert!(answer["result"]["inputRequests"]["confirm"].is_object(), "{answer}");
        let state = answer["result"]["requestState"].clone();
        server.signal("KILL");
        server.wait_for_exit(TEST_TIMEOUT).unwrap();

        // What the newer one sealed needs the old one no more.
        let server = ask_first(&desk, Some(NEWER_KEY), http);
        let client = server.client_with(SESSIONLESS_VERSION, all());
        let confirm = || json!({ "confirm": accept(json!({ "send": true })) });
        let answer = round(&client, "invite", json!({}), (confirm(), &state));
        assert_eq!(text(&answer["result"]), "Invited ada@desk.example.");
        let both = ["ada@desk.example asked for", "ada@desk.example invited"];
        assert_eq!(invited(&desk), both);
        assert_eq!(round(&client, "invite", json!({}), (confirm(), &state))["error"]["code"], -32602);
        assert_eq!(invited(&desk), both);
    }
}

#[test]
fn request_state_without_key_dies_with_process() {
    for (before, after) in [(None, None), (Some(KEY), None), (Some(KEY), Some(NEWER_KEY))] {
        let desk = TestFolder::new(&[]);
        let server = ask_first(&desk, before, true);
        let sampled_text = server.log.text().contains("--state-key-file");
        assert_eq!(sampled_text, before.is_none(), "{}", server.log.text());
        let (_, state) = first_round(&server.client_with(SESSIONLESS_VERSION, all()), "invite", json!({}));
        server.signal("KILL");
        server.wait_for_exit(TEST_TIMEOUT).unwrap();
        let server = ask_first(&desk, after, true);
        let guest = json!({ "guest": accept(json!({ "mail": "ada@desk.example" })) });
        let answer = round(&server.client_with(SESSIONLESS_VERSION, all()), "invite", json!({}), (guest, &state));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(invited(&desk).is_empty());
    }
}

#[test]
fn request_state_is_bound_to_server_name() {
    let named = |name: &str| {
        let folder = TestFolder::with_manifest(&EDITED.replace("name: edited", &format!("name: {name}")));
        let server = folder.serve_command().env("FOLIO_STATE_KEY", KEY).http();
        (folder, server)
    };
    let (ours, theirs, again) = (named("ours"), named("theirs"), named("ours"));
    let (_, state) = first_round(&ours.1.client_with(SESSIONLESS_VERSION, all()), "same", json!({}));
    let answers = || json!({ "n": accept(json!({ "n": "7" })) });
    let refused = round(&theirs.1.client_with(SESSIONLESS_VERSION, all()), "same", json!({}), (answers(), &state));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("not of this call"), "{refused}");
    let answer = round(&again.1.client_with(SESSIONLESS_VERSION, all()), "same", json!({}), (answers(), &state));
    assert_eq!(text(&answer["result"]), "7", "{answer}");
}

/// Whatever an entry is written in belongs to it: a file that another entry reads too, the body of a prompt file, a
/// resource.
#[test]
fn edit_of_included_file_invalidates_state() {
    let asks = "run: [{ id: q, ask: { n: { elicit: { message: N?, schema: { n: {} } } } } }]";
    let manifest = format!(
        "folio: 1\nserver: {{ name: s }}\ninclude: [\"*.md\"]\nprompts:\n  one: {{ {asks}, text: {{ file: shared.txt }} }}\n  two: {{ {asks}, text: {{ file: shared.txt }} }}\nresources:\n  page: {{ uri: \"page://p\", {asks}, result: {{ text: before }} }}\n"
    );
    let body = format!("---\n{asks}\n---\nbefore");
    let folder = TestFolder::new(&[("folio.yaml", &manifest), ("shared.txt", "before"), ("file.md", &body)]);
    let server = folder.http();
    let client = server.client_with(SESSIONLESS_VERSION, all());
    let requests = [
        ("prompts/get", json!({ "name": "one" })),
        ("prompts/get", json!({ "name": "two" })),
        ("prompts/get", json!({ "name": "file" })),
        ("resources/read", json!({ "uri": "page://p" })),
    ];
    let states = requests.clone().map(|(method, params)| client.result(method, params)["requestState"].clone());
    for (path, text) in [
        ("shared.txt", "after"),
        ("file.md", &body.replace("before", "after")),
        ("folio.yaml", &manifest.replace("before", "after")),
    ] {
        let mark = server.log.line_count();
        folder.rename_over(path, text);
        server.log.wait_for_reload(mark);
    }
    for ((method, mut params), state) in requests.into_iter().zip(states) {
        params["requestState"] = state;
        params["inputResponses"] = json!({ "n": accept(json!({ "n": "7" })) });
        let result = client.result(method, params.clone());
        assert_eq!(result["resultType"], "input_required", "{params} goes on in what it did not begin with: {result}");
    }
}

#[test]
fn key_file_refuses_short_key_without_printing_it() {
    let folder = TestFolder::with_manifest(ASKING);
    let started = |keys: &str| {
        folder.write("keys", keys);
        folder.serve_command().flag("--state-key-file").flag(folder.join("keys").to_str().unwrap())
    };
    for (keys, words) in
        [("a key of its own", "32"), ("\n \n", "no state key"), (&format!("{KEY}\nshort one"), "state key 2")]
    {
        let server = started(keys).stdio();
        let status = server.wait_for_exit(TEST_TIMEOUT).expect("it is not served");
        assert!(!status.success());
        wait_until("its last words", || server.log.text().contains(words));
        assert!(!server.log.text().contains(keys.lines().last().unwrap().trim()) || keys.trim().is_empty());
        assert!(!server.log.text().contains(KEY));
    }
    let (first, second) = (started(&format!("{KEY}\n")).http(), started(&format!("{NEWER_KEY}\n\n{KEY}\n")).http());
    let (_, state) = first_round(&first.client_with(SESSIONLESS_VERSION, all()), "hello", json!({}));
    let answers = json!({ "name": accept(json!({ "name": "Ada" })) });
    let answer = round(&second.client_with(SESSIONLESS_VERSION, all()), "hello", json!({}), (answers, &state));
    assert_eq!(text(&answer["result"]), "Hello, Ada!");
}

const NOTHING: &str = r#"folio: 1
server: { name: nothing }
tools:
  form:
    description: F
    run:
      - id: a
        ask:
          f:
            elicit:
              message: Which?
              schema: { e: { enum: [x, y] }, n: { type: integer, default: 3 }, d: { format: date }, t: {}, r: { type: boolean } }
    result: { text: "{{json steps.a.f}}" }
  required:
    description: R
    run: [{ id: a, ask: { f: { elicit: { message: Which?, schema: { e: { enum: [x, y], required: true } } } } } }]
    result: { text: "{{steps.a.f.e}}" }
  silent:
    description: S
    arguments: { x: {} }
    run: [{ id: first, ask: { f: { elicit: { message: " {{x}}", schema: { t: {} } } } } }]
    result: { text: "{{steps.first.f.t}}" }
"#;

#[test]
fn field_that_is_left_empty_is_absent() {
    let folder = TestFolder::with_manifest(NOTHING);
    on_every_version_and_wire(&folder, &json!({ "elicitation": {} }), |client| {
        if !knows_forms(client) {
            return;
        }
        let answered = |tool: &str, content: Value| {
            let said =
                client.request_with_answers("tools/call", json!({ "name": tool }), |_, _| accept(content.clone()));
            said["result"].clone()
        };
        let outcome = |content| -> Value { serde_json::from_str(&text(&answered("form", content))).unwrap() };
        let empty = json!({ "e": "", "n": null, "d": "", "t": "", "r": null });
        assert_eq!(outcome(empty), json!({ "n": 3, "t": "", "action": "accept" }));
        assert_eq!(outcome(json!({ "t": null, "r": "", "n": "" })), json!({ "n": 3, "action": "accept" }));
        assert_eq!(outcome(json!([])), json!({ "n": 3, "action": "accept" }));
        assert_eq!(text(&answered("required", json!({ "e": "x" }))), "x");
        // One without a session is asked again.
        for content in
            [json!({ "e": "" }), json!({ "e": null }), json!([])].into_iter().filter(|_| !client.is_sessionless())
        {
            assert!(failure(&answered("required", content)).contains("`e`"));
        }
    });
}

#[test]
fn question_without_words_is_not_sent() {
    let folder = TestFolder::with_manifest(NOTHING);
    on_every_version_and_wire(&folder, &json!({ "elicitation": {} }), |client| {
        if !knows_forms(client) {
            return;
        }
        let refused = client.call("silent", json!({}));
        assert_eq!(failure(&refused), "the `message` of question `f` of step `first` is empty");
        let asked = client.call_with_answers("silent", json!({ "x": "Who?" }), |_, _| accept(json!({ "t": "I" })));
        assert_eq!(text(&asked), "I");
    });
    folder.write("folio.yaml", NOTHING.replace("message: Which?", "message: \"\""));
    let checked = run_folio(folder.path(), &["check"]);
    assert!(
        checked.code == Some(1) && checked.out.contains("empty `message` in `elicit`"),
        "{}{}",
        checked.out,
        checked.err
    );
}

/// Whoever asked does not wait for another answer.
#[test]
fn unreadable_answer_ends_the_question() {
    let folder = TestFolder::with_manifest(ASKING);
    let server = folder.stdio();
    let client = server.client_with("2025-11-25", json!({ "elicitation": {} }));
    for answer in [json!({ "error": "no" }), json!({ "error": { "code": "x", "message": "m" } })] {
        let call = client.start_call("hello", json!({}));
        let mut message = json!({ "jsonrpc": "2.0", "id": client.next_question()["id"] });
        message.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        client.pipe().write_line(message.to_string());
        let result = client.wait_for_answer(call)["result"].take();
        let text = text_of(&result["content"][0]);
        assert!(result["isError"] == true && text.contains("invalid response"), "{text}");
    }
}

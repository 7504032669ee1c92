//! Questions to the client: put in place in a session, answered with the next request in 2026-07-28.

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

fn said(text: &str) -> Value {
    let content = json!({ "type": "text", "text": text });
    json!({ "role": "assistant", "content": content, "model": "tiny", "stopReason": "endTurn" })
}

fn roots() -> Value {
    json!({ "roots": [{ "uri": "file:///one", "name": "One" }, { "uri": "file:///two" }] })
}

/// Answers every question as its reader would like it.
fn any(method: &str, params: &Value) -> Value {
    match method {
        "sampling/createMessage" => said("Good day"),
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
fn knows_forms(client: &Client) -> bool {
    client.version.as_str() >= "2025-06-18"
}

/// What a tool says that went wrong.
fn failure(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    text_of(&result["content"][0])
}

fn text(result: &Value) -> String {
    assert_ne!(result["isError"], true, "{result}");
    text_of(&result["content"][0])
}

/// The first round of a call in 2026-07-28: what is asked, and the state.
fn first_round(client: &Client, tool: &str, arguments: Value) -> (Value, Value) {
    let result = client.call(tool, arguments);
    assert_eq!(result["resultType"], "input_required", "{result}");
    (result["inputRequests"].clone(), result["requestState"].clone())
}

/// The next round of a call.
fn round(client: &Client, tool: &str, arguments: Value, (responses, state): (Value, &Value)) -> Value {
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
fn a_form_is_shown_and_its_answer_seen_by_later_steps() {
    everywhere(&Folder::of(ASKING), &all(), |client| {
        let mut asked = Vec::new();
        let result = client.talk_to("hello", json!({}), |method, params| {
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
fn who_declines_or_cancels_ends_the_run_unless_it_goes_on() {
    let folder = Folder::of(ASKING);
    everywhere(&folder, &all(), |client| {
        if !knows_forms(client) {
            return;
        }
        for (action, words) in [("decline", "the user declined"), ("cancel", "the user answered nothing")] {
            let answer = json!({ "action": action });
            let result = client.talk_to("hello", json!({}), |_, _| answer.clone());
            assert!(failure(&result).starts_with(words), "{result}");
            let result = client.talk_to("kept", json!({}), |_, _| answer.clone());
            assert_eq!(text(&result), format!("{action}/"));
            let file = folder.at(&format!("{action}-{}-{}", client.version, client.is_on_pipes()));
            let arguments = json!({ "file": file.to_str().unwrap() });
            failure(&client.talk_to("effects", arguments, |_, _| answer.clone()));
            assert_eq!(lines(&file), ["before"], "a step behind a question that was declined was taken");
            let said = client.talk("prompts/get", json!({ "name": "about" }), |_, _| answer.clone());
            assert_eq!(said["error"]["code"], -32603, "{said}");
        }
    });
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_again() {
    everywhere(&Folder::of(ASKING), &all(), |client| {
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
            let result = client.talk_to("age", json!({}), |_, _| {
                asked += 1;
                if asked == 1 { wrong.clone() } else { accept(json!({ "age": 5, "extra": 1 })) }
            });
            let outcome: Value = serde_json::from_str(&text(&result)).unwrap();
            assert_eq!((asked, outcome), (2, json!({ "age": 5, "action": "accept" })), "{wrong}");
        }
        let mut asked = 0;
        let result = client.talk_to("age", json!({}), |_, _| {
            asked += 1;
            accept(json!({ "age": if asked < 4 { 0 } else { 7 } }))
        });
        // A session asks again once; without one, each answer is a request of the client's own.
        if client.is_modern() {
            assert_eq!((asked, text(&result).contains('7')), (4, true));
        } else {
            assert_eq!(asked, 2);
            assert!(failure(&result).contains("`age`"), "{result}");
        }
    });
}

#[test]
fn the_clients_model_is_asked() {
    everywhere(&Folder::of(ASKING), &all(), |client| {
        let result = client.talk_to("sampled", json!({ "text": "{{env}}" }), |method, params| {
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
            said("Short")
        });
        assert_eq!(text(&result), "Short by tiny, endTurn");
        let with_tools = client.talk_to("tooled", json!({}), |_, params| {
            assert_eq!((&params["tools"][0]["name"], &params["toolChoice"]["mode"]), (&json!("t"), &json!("auto")));
            said("Used")
        });
        if client.version.as_str() >= "2025-11-25" {
            assert_eq!(text(&with_tools), "Used");
        } else {
            assert!(failure(&with_tools).contains("sampling.tools"), "{with_tools}");
        }
    });
}

#[test]
fn the_clients_roots_are_asked_for() {
    everywhere(&Folder::of(ASKING), &all(), |client| {
        let result = client.talk_to("rooted", json!({}), |method, _| {
            assert_eq!(method, "roots/list");
            roots()
        });
        assert_eq!(text(&result), "file:///one One;file:///two ;");
        // Roots that are no files are no roots.
        let mut asked = 0;
        let result = client.talk_to("rooted", json!({}), |_, _| {
            asked += 1;
            if asked == 1 { json!({ "roots": [{ "uri": "https://one" }] }) } else { json!({ "roots": [] }) }
        });
        assert_eq!((asked, text(&result)), (2, String::new()));
    });
}

#[test]
fn roots_are_kept_until_they_change_and_only_if_they_are_roots() {
    let folder = Folder::of(ASKING);
    let capabilities = json!({ "roots": { "listChanged": true } });
    everywhere(&folder, &capabilities, |client| {
        if client.is_modern() {
            return;
        }
        let wrong = json!({ "roots": [{ "uri": "https://one" }] });
        let refused = client.talk_to("rooted", json!({}), |_, _| wrong.clone());
        assert!(failure(&refused).contains("roots"), "{refused}");
        let mut asked = 0;
        for _ in 0..2 {
            let result = client.talk_to("rooted", json!({}), |_, _| {
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
            let result = client.talk_to("rooted", json!({}), |_, _| now.clone());
            assert_eq!(text(&result).is_empty(), round % 2 == 0, "{result}");
        }
    });
}

#[test]
fn several_questions_are_put_at_once() {
    everywhere(&Folder::of(ASKING), &all(), |client| {
        if !knows_forms(client) {
            let result = client.talk_to("several", json!({}), never);
            assert!(failure(&result).contains("form"), "{result}");
            return;
        }
        if client.is_modern() {
            let (asked, state) = first_round(client, "several", json!({}));
            let keys: Vec<&str> = asked.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(keys.len(), 3, "{asked}");
            assert!(["name", "greeting", "all"].iter().all(|key| keys.contains(key)), "{keys:?}");
            let responses = json!({ "name": accept(json!({ "name": "Ada" })), "greeting": said("Hi"), "all": roots() });
            let answer = round(client, "several", json!({}), (responses, &state));
            assert_eq!(text(&answer["result"]), "Hi Ada of 2");
            return;
        }
        let id = client.begin_call("several", json!({}));
        let questions = [client.asked(), client.asked(), client.asked()];
        for question in questions.iter().rev() {
            let answer = any(question["method"].as_str().unwrap(), &question["params"]);
            client.reply(question, &answer);
        }
        assert_eq!(text(&client.answer(id)["result"]), "Good day Ada of 2");
    });
}

#[test]
fn a_page_is_opened_by_clients_that_can() {
    everywhere(&Folder::of(ASKING), &all(), |client| {
        let can = client.version.as_str() >= "2025-11-25";
        let mut asked = Value::Null;
        let result = client.talk_to("page", json!({}), |_, params| {
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
        assert_eq!(id.is_empty(), client.is_modern(), "{asked}");
        let declined = client.talk_to("page", json!({}), |_, _| json!({ "action": "decline" }));
        assert_eq!(text(&declined), "decline");
    });
}

#[test]
fn nobody_is_sent_to_what_is_no_page() {
    let folder = Folder::of(
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
        let client = server.able(version, json!({ "elicitation": { "form": {}, "url": {} } }));
        for wrong in [
            "javascript:alert(1)",
            "java\tscript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "http://desk.example/",
            "https://desk.example@evil.example/",
            "/page",
        ] {
            let result = client.talk_to("page", json!({ "url": wrong }), never);
            assert!(failure(&result).starts_with("`url` "), "{wrong}: {result}");
        }
        let mut shown = String::new();
        let answer = |_: &str, params: &Value| {
            shown = params["url"].as_str().unwrap().to_owned();
            json!({ "action": "accept" })
        };
        let result = client.talk_to("page", json!({ "url": "https://desk.example/connect?x=1" }), answer);
        assert_eq!((text(&result).as_str(), shown.as_str()), ("accept", "https://desk.example/connect?x=1"));
    }
}

#[test]
fn a_client_is_never_asked_what_it_does_not_say_that_it_can() {
    let folder = Folder::of(ASKING);
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } }), json!({ "sampling": {}, "roots": {} })] {
        everywhere(&folder, &capabilities, |client| {
            let expected = json!({ "elicitation": { "form": {} } });
            let said = client.talk("tools/call", json!({ "name": "hello" }), never);
            if client.is_modern() {
                assert_eq!(said["error"]["code"], -32021, "{said}");
                assert_eq!(said["error"]["data"]["requiredCapabilities"], expected, "{said}");
            } else {
                assert!(failure(&said["result"]).contains("show a form"), "{said}");
            }
            for (method, params) in
                [("prompts/get", json!({ "name": "about" })), ("resources/read", json!({ "uri": "more://x" }))]
            {
                let error = client.talk(method, params, never)["error"].clone();
                let code = if client.is_modern() { -32021 } else { -32603 };
                assert_eq!(error["code"], code, "{method} in {}: {error}", client.version);
                assert!(error["message"].as_str().unwrap().contains("show a form"), "{error}");
            }
        });
    }
}

#[test]
fn what_one_request_can_be_asked_is_not_what_the_next_can() {
    let folder = Folder::of(ASKING);
    for server in [folder.stdio(), folder.http()] {
        // Neither a request before it nor a session beside it says anything of a request of 2026-07-28.
        let session = server.able("2025-11-25", all());
        let (able, unable) = (server.able(MODERN, all()), server.able(MODERN, json!({})));
        for _ in 0..2 {
            first_round(&able, "hello", json!({}));
            assert_eq!(unable.code("tools/call", json!({ "name": "hello" })), -32021);
        }
        let result = session.talk_to("hello", json!({}), |_, _| accept(json!({ "name": "Ada" })));
        assert_eq!(text(&result), "Hello, Ada!");
    }
}

#[test]
fn a_client_of_the_newest_version_is_sent_no_requests() {
    let folder = Folder::of(ASKING);
    for server in [folder.stdio(), folder.http()] {
        let client = server.able(MODERN, all());
        for tool in ["hello", "sampled", "rooted", "several", "page"] {
            let result = client.talk_to(tool, json!({}), |method, params| match params["mode"].as_str() {
                Some("url") => json!({ "action": "accept" }),
                _ => any(method, params),
            });
            assert_eq!((&result["resultType"], &result["isError"]), (&json!("complete"), &json!(false)), "{result}");
        }
        client.round_trip();
        for method in ["elicitation/create", "sampling/createMessage", "roots/list", "ping"] {
            assert_eq!(client.told(method), Vec::<Value>::new(), "{method}");
        }
    }
}

#[test]
fn a_capability_that_lacks_is_the_status_400_over_http() {
    let server = Folder::of(ASKING);
    let server = server.http();
    let client = server.modern();
    let params = client.params(json!({ "name": "several" }));
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let headers = client.headers("tools/call", &params);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let response = server.web().post(&headers, &body);
    assert_eq!(response.status, 400);
    let required = json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} });
    assert_eq!(response.json()["error"]["data"]["requiredCapabilities"], required);
}

#[test]
fn what_is_optional_is_left_out_where_the_client_cannot_be_asked() {
    let folder = Folder::of(ASKING);
    everywhere(&folder, &json!({}), |client| {
        let result = client.talk_to("optional", json!({}), never);
        assert_eq!(text(&result), r#"//{"name":null,"said":null}"#);
    });
    everywhere(&folder, &json!({ "sampling": {} }), |client| {
        let result = client.talk_to("optional", json!({}), |method, _| {
            assert_eq!(method, "sampling/createMessage");
            said("Hi")
        });
        assert!(text(&result).starts_with("/Hi/"), "{result}");
    });
}

#[test]
fn forms_are_in_the_words_of_the_version() {
    everywhere(&Folder::of(ASKING), &all(), |client| {
        if !knows_forms(client) {
            return;
        }
        let newer = client.version.as_str() >= "2025-11-25";
        let result = client.talk_to("fields", json!({}), |_, params| {
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
fn prompts_and_resources_ask_too() {
    everywhere(&Folder::of(ASKING), &all(), |client| {
        if !knows_forms(client) {
            return;
        }
        let params = json!({ "name": "about", "arguments": { "tone": "wry" } });
        let prompt = client.talk("prompts/get", params, |_, params| {
            assert_eq!(params["message"], "About what, in a wry tone?");
            accept(json!({ "topic": "trees" }))
        });
        let text = text_of(&prompt["result"]["messages"][0]["content"]);
        assert_eq!(text, "Speak about trees in a wry tone.");
        let read = client.talk("resources/read", json!({ "uri": "more://pears" }), |_, params| {
            assert_eq!(params["message"], "How many more of pears?");
            accept(json!({ "many": 4 }))
        });
        assert_eq!(text_of(&read["result"]["contents"][0]), "pears and 4 more");
    });
}

#[test]
fn what_a_step_calls_asks_as_if_it_were_called_itself_and_each_effect_happens_once() {
    let folder = Folder::of(ASKING);
    everywhere(&folder, &all(), |client| {
        if !knows_forms(client) {
            return;
        }
        let file = folder.at(&format!("nested-{}-{}", client.version, client.is_on_pipes()));
        let mut asked = Vec::new();
        let arguments = json!({ "file": file.to_str().unwrap() });
        let result = client.talk_to("nested", arguments, |method, params| {
            asked.push(params["message"].as_str().unwrap().to_owned());
            any(method, params)
        });
        assert_eq!(text(&result), "done; Speak about Ada in a calm tone.; apples and 3 more");
        assert_eq!(asked, ["Sure?", "About what, in a calm tone?", "How many more of apples?"]);
        assert_eq!(lines(&file), ["outer", "before", "after", "outer"]);
    });
}

#[test]
fn a_question_that_nobody_answers_is_taken_back_and_a_late_answer_ignored() {
    let folder = Folder::of(ASKING);
    let web = folder.http();
    for version in ["2025-06-18", "2025-11-25"] {
        let pipes = folder.stdio();
        for client in [pipes.able(version, all()), web.able(version, all())] {
            // Which of the two is first tells how long it was open, however slow the machine is.
            let sleeping = client.begin_call("sleeps", json!({}));
            let began = Instant::now();
            let id = client.begin_call("hasty", json!({}));
            let question = client.asked();
            let taken_back =
                client.take(|message| message["method"] == "notifications/cancelled" || message["id"] == sleeping);
            assert_eq!(taken_back["params"]["requestId"], question["id"], "{taken_back}");
            assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
            assert!(failure(&client.answer(id)["result"]).contains("nobody answered within 1s"));
            client.give_up(sleeping);
            client.reply(&question, &accept(json!({ "name": "too late" })));
            client.reply(&json!({ "id": 987_654 }), &accept(json!({})));
            client.round_trip();
            let result = client.talk_to("hello", json!({}), |_, _| accept(json!({ "name": "Ada" })));
            assert_eq!(text(&result), "Hello, Ada!");
        }
        pipes.pipe().assert_clean();
    }
}

#[test]
fn an_error_in_place_of_an_answer_is_told_in_the_clients_words() {
    everywhere(&Folder::of(ASKING), &all(), |client| {
        if client.is_modern() {
            return;
        }
        let id = client.begin_call("sampled", json!({}));
        let question = client.asked();
        let error = json!({ "code": -1, "message": "User rejected sampling request" });
        client.tell(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": error }));
        let words = failure(&client.answer(id)["result"]);
        assert!(words.contains("User rejected sampling request"), "{words}");
    });
}

#[test]
fn the_time_that_an_answer_takes_does_not_count() {
    let manifest = "folio: 1\nserver: { name: a }\ntools:\n  t:\n    description: T\n    timeout: 2s\n    run:\n      \
                    - { sleep: 50ms }\n      - { id: a, ask: { n: { elicit: { message: N?, schema: { n: {} } } } } }\n      \
                    - { sleep: 100ms }\n    result: { text: done }\n";
    let folder = Folder::of(manifest);
    let server = folder.stdio();
    let client = server.able("2025-11-25", all());
    let id = client.begin_call("t", json!({}));
    let question = client.asked();
    std::thread::sleep(Duration::from_millis(2200));
    client.reply(&question, &accept(json!({})));
    assert_eq!(text(&client.answer(id)["result"]), "done");
}

#[test]
fn a_caller_that_cancels_has_its_question_taken_back() {
    let folder = Folder::of(ASKING);
    let web = folder.http();
    for version in ["2025-06-18", "2025-11-25"] {
        let pipes = folder.stdio();
        for client in [pipes.able(version, all()), web.able(version, all())] {
            let file = folder.at(&format!("cancelled-{version}-{}", client.is_on_pipes()));
            // The stream of the request is over with it, so over HTTP the word comes on the other one.
            let _stream = (!client.is_on_pipes()).then(|| client.open_stream());
            let id = client.begin_call("effects", json!({ "file": file.to_str().unwrap() }));
            let question = client.asked();
            client.give_up(id);
            let taken_back = client.take(|message| message["method"] == "notifications/cancelled");
            assert_eq!(taken_back["params"]["requestId"], question["id"], "{taken_back}");
            client.reply(&question, &accept(json!({ "sure": true })));
            client.round_trip();
            assert!(!client.has_answer(id), "what was cancelled was answered");
            assert_eq!(lines(&file), ["before"]);
        }
    }
}

#[test]
fn an_id_whose_question_was_taken_back_is_free_again() {
    let folder = Folder::of(ASKING);
    let server = folder.stdio();
    let client = server.able("2025-11-25", all());
    let call = json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": { "name": "hello" } });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 77 } });
    let mut questions = Vec::new();
    for _ in 0..3 {
        // Until the last word of the one before is over, the id is refused.
        let deadline = Instant::now() + PATIENCE;
        let question = loop {
            client.pipe().line(call.to_string());
            let said = client.take(|said| said["method"] == "elicitation/create" || !said["error"].is_null());
            if said["method"] == "elicitation/create" {
                break said;
            }
            assert!(said["error"]["message"].as_str().unwrap().contains("is not answered yet"), "{said}");
            assert!(Instant::now() < deadline, "the id is never free");
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(!questions.contains(&question["id"]), "an id of a question is used again");
        questions.push(question["id"].clone());
        client.pipe().line(cancel.to_string());
        let taken_back = client.take(|said| said["method"] == "notifications/cancelled");
        assert_eq!(taken_back["params"]["requestId"], question["id"]);
    }
    client.round_trip();
    server.pipe().assert_clean();
}

#[test]
fn a_session_whose_question_was_taken_back_ends_when_it_is_idle() {
    let folder = Folder::of(&format!("{ASKING}http: {{ maxSessions: 1, sessionIdle: 1s }}\n"));
    let server = folder.http();
    let client = server.able("2025-11-25", all());
    let id = client.begin_call("hello", json!({}));
    client.asked();
    client.give_up(id);
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    eventually("the end of the session", || server.web().post(&[], &body).status == 200);
}

#[test]
fn a_call_that_goes_on_is_let_in_whatever_runs_meanwhile() {
    let manifest = "folio: 1\nserver: { name: a }\ntools:\n  t:\n    description: T\n    concurrency: 1\n    \
                    rateLimit: { calls: 2, per: 1h }\n    run:\n      \
                    - { id: a, ask: { n: { elicit: { message: N?, schema: { n: { type: number, required: true } } } } } }\n      \
                    - { sleep: \"{{steps.a.n.n}}s\" }\n    result: { text: done }\n";
    let folder = Folder::of(manifest);
    for server in [folder.stdio(), folder.http()] {
        let client = server.able(MODERN, all());
        let states = [first_round(&client, "t", json!({})).1, first_round(&client, "t", json!({})).1];
        let answers = |n: f64| json!({ "n": accept(json!({ "n": n })) });
        let params = json!({ "name": "t", "arguments": {}, "inputResponses": answers(1.0), "requestState": states[0] });
        let running = client.send("tools/call", params);
        let answer = round(&client, "t", json!({}), (answers(0.01), &states[1]));
        assert_eq!(text(&answer["result"]), "done");
        assert_eq!(text(&client.answer(running)["result"]), "done");
    }
}

#[test]
fn a_server_that_is_told_to_end_waits_for_no_answer() {
    let folder = Folder::of(ASKING);
    for version in ["2025-06-18", "2025-11-25"] {
        for server in [folder.stdio(), folder.http()] {
            let client = server.able(version, all());
            client.begin_call("hello", json!({}));
            client.asked();
            server.signal("TERM");
            assert!(server.wait(Duration::from_secs(10)).is_some(), "it waits");
        }
    }
}

#[test]
fn a_client_that_leaves_ends_the_call_that_asks_it() {
    let folder = Folder::of(ASKING);
    assert_within_a_second(|_| {
        let pipes = folder.stdio();
        let client = pipes.able("2025-11-25", all());
        client.begin_call("hello", json!({}));
        client.asked();
        let began = Instant::now();
        pipes.pipe().close();
        assert!(pipes.wait(PATIENCE).is_some());
        began.elapsed()
    });
    assert_within_a_second(|_| {
        let web = folder.http();
        let (client, other) = (web.able("2025-11-25", all()), web.able("2025-11-25", all()));
        client.begin_call("alone", json!({ "ask": true }));
        client.asked();
        assert_eq!(other.call("alone", json!({}))["isError"], true, "two run at once");
        let ended = web.web().send("DELETE", &[("Mcp-Session-Id", client.session_id())], b"");
        assert!(ended.status < 300, "{ended:?}");
        eventually("the end of the call", || other.call("alone", json!({}))["isError"] != true);
        let began = Instant::now();
        web.signal("TERM");
        assert!(web.wait(PATIENCE).is_some());
        began.elapsed()
    });
}

#[test]
fn over_http_and_sse_everything_is_asked_on_the_one_stream() {
    let server = Folder::of(ASKING);
    let server = server.serve().flag("--sse").http();
    for version in ["2024-11-05", "2025-11-25"] {
        let client = server.able_sse(version, all());
        let result = client.talk_to("rooted", json!({}), any);
        assert_eq!(text(&result), "file:///one One;file:///two ;");
        let id = client.begin_call("sampled", json!({}));
        let question = client.asked();
        client.give_up(id);
        let taken_back = client.take(|message| message["method"] == "notifications/cancelled");
        assert_eq!(taken_back["params"]["requestId"], question["id"], "{taken_back}");
    }
}

#[test]
fn a_call_in_a_batch_asks_too() {
    let folder = Folder::of(ASKING);
    let server = folder.stdio();
    let client = server.able("2025-03-26", all());
    let call = |id: i64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "sampled" } });
    client.pipe().line(json!([call(500), { "jsonrpc": "2.0", "id": 501, "method": "ping" }, call(502)]).to_string());
    for _ in 0..2 {
        let question = client.asked();
        client.reply(&question, &said("Short"));
    }
    let answers = client.take(Value::is_array);
    let mut ids: Vec<i64> = answers.as_array().unwrap().iter().filter_map(|answer| answer["id"].as_i64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [500, 501, 502], "{answers}");
    assert_eq!(answers.to_string().matches("Short by tiny").count(), 2, "{answers}");
}

#[test]
fn a_request_that_waits_says_what_is_asked_and_where_it_stood() {
    let folder = Folder::of(ASKING);
    for server in [folder.stdio(), folder.http()] {
        let client = server.able(MODERN, all());
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
fn answers_that_come_with_the_first_call_serve_the_first_round() {
    let folder = Folder::of(ASKING);
    for server in [folder.stdio(), folder.http()] {
        let client = server.able(MODERN, all());
        let responses = json!({ "name": accept(json!({ "name": "Ada" })), "nobody": { "x": 1 } });
        let answer = round(&client, "hello", json!({}), (responses, &Value::Null));
        assert_eq!(text(&answer["result"]), "Hello, Ada!");
        // They serve no second one, under whatever key.
        let file = folder.at(&format!("first-{}", client.is_on_pipes()));
        let arguments = json!({ "file": file.to_str().unwrap() });
        let responses = json!({ "sure": accept(json!({ "sure": true })), "topic": accept(json!({ "topic": "x" })) });
        let answer = round(&client, "nested", arguments, (responses, &Value::Null));
        assert!(answer["result"]["inputRequests"]["topic"].is_object(), "{answer}");
    }
}

#[test]
fn what_is_missing_or_wrong_is_asked_for_again_and_what_fits_is_kept() {
    let folder = Folder::of(ASKING);
    for server in [folder.stdio(), folder.http()] {
        let client = server.able(MODERN, all());
        let (_, state) = first_round(&client, "several", json!({}));
        let responses =
            json!({ "name": accept(json!({ "name": "Ada" })), "unasked": said("x"), "all": { "roots": 7 } });
        let answer = round(&client, "several", json!({}), (responses, &state));
        let asked = answer["result"]["inputRequests"].as_object().unwrap();
        let keys: Vec<&str> = asked.keys().map(String::as_str).collect();
        assert!(keys.len() == 2 && keys.contains(&"greeting") && keys.contains(&"all"), "{answer}");
        let state = answer["result"]["requestState"].clone();
        // An answer that was kept is not asked for any more, and a new one to it is no matter.
        let responses = json!({ "greeting": said("Hi"), "all": roots(), "name": accept(json!({ "name": "Eve" })) });
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
fn a_state_is_good_for_its_own_call_once() {
    let folder = Folder::of(ASKING);
    for server in [folder.stdio(), folder.http()] {
        let client = server.able(MODERN, all());
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
fn only_what_later_steps_name_travels_and_not_more_than_may() {
    let folder = Folder::of(TRAVEL);
    for server in [folder.stdio(), folder.http()] {
        let client = server.able(MODERN, all());
        let (_, state) = first_round(&client, "small", json!({}));
        assert!(state.as_str().unwrap().len() < 1000, "{}", state.as_str().unwrap().len());
        let answers = json!({ "n": accept(json!({ "n": "7" })) });
        assert_eq!(text(&round(&client, "small", json!({}), (answers, &state))["result"]), "kept 7");
        let result = client.call("big", json!({}));
        assert!(failure(&result).contains("at most 65536"), "{result}");
    }
}

/// A server whose manifest is edited between two rounds.
struct Edited {
    folder: Folder,
    server: Server,
}

const EDITED: &str = r#"folio: 1
server: { name: edited }
tools:
  pure: { description: D, run: [{ id: a, exec: [true] }, { id: q, ask: { n: { elicit: { message: First?, schema: { n: {} } } } } }], result: { text: "{{steps.q.n.n}}" } }
  still: { description: D, run: [{ sleep: 1ms }, { id: q, ask: { n: { elicit: { message: First?, schema: { n: {} } } } } }], result: { text: "first {{steps.q.n.n}}" } }
  same: { description: D, run: [{ id: a, exec: [true] }, { id: q, ask: { n: { elicit: { message: Same?, schema: { n: {} } } } } }], result: { text: "{{steps.q.n.n}}" } }
  outer: { description: D, run: [{ id: i, tool: still }], result: { text: "outer {{steps.i.text}}" } }
"#;

impl Edited {
    fn begin() -> Edited {
        let folder = Folder::of(EDITED);
        let server = folder.http();
        Edited { folder, server }
    }

    fn edit(&self, text: &str) {
        let mark = self.server.log.mark();
        self.folder.rename_over("folio.yaml", text);
        self.server.log.reloaded_after(mark);
    }
}

#[test]
fn a_tool_that_was_edited_meanwhile_asks_anew_unless_something_was_done() {
    let edited = Edited::begin();
    let client = edited.server.able(MODERN, all());
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
fn a_tool_that_no_longer_asks_does_not_act_again() {
    for now in [
        "  pure: { description: D, run: { exec: [printf, acted] } }\n",
        "  pure: { description: D, result: { text: plain } }\n",
        "  other: { description: D, result: { text: plain } }\n",
        "  pure: { description: D, run: { exec: [printf, acted] } }\n  asks: { description: D, run: { ask: { n: { elicit: { message: N?, schema: { n: {} } } } } } }\n",
    ] {
        let edited = Edited::begin();
        let client = edited.server.able(MODERN, all());
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
fn ask_first(desk: &Folder, key: Option<&str>, http: bool) -> Server {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/servers/ask-first");
    let mut serve = Serve::of(&example).env("DESK", desk.path().to_str().unwrap());
    if let Some(key) = key {
        serve = serve.env("FOLIO_STATE_KEY", key);
    }
    if http { serve.http() } else { serve.stdio() }
}

fn invited(desk: &Folder) -> Vec<String> {
    lines(&desk.at("invited.txt"))
}

#[test]
fn a_call_goes_on_in_another_process_that_has_the_key_and_each_effect_happened_once() {
    for http in [false, true] {
        let desk = Folder::new(&[]);
        let guest = || json!({ "guest": accept(json!({ "mail": "ada@desk.example", "role": "editor" })) });
        let server = ask_first(&desk, Some(KEY), http);
        let (asked, state) = first_round(&server.able(MODERN, all()), "invite", json!({}));
        assert!(asked["guest"].is_object(), "{asked}");
        assert!(invited(&desk).is_empty());
        server.signal("KILL");
        server.wait(PATIENCE).unwrap();

        let server = ask_first(&desk, Some(KEY), http);
        let client = server.able(MODERN, all());
        let answer = round(&client, "invite", json!({}), (guest(), &state));
        let asked = &answer["result"]["inputRequests"]["confirm"]["params"]["message"];
        assert_eq!(asked, "Send ada@desk.example an invitation as editor?", "{answer}");
        assert_eq!(invited(&desk), ["ada@desk.example asked for"]);
        // The same state a second time does nothing again.
        assert_eq!(round(&client, "invite", json!({}), (guest(), &state))["error"]["code"], -32602);
        let state = answer["result"]["requestState"].clone();
        server.signal("KILL");
        server.wait(PATIENCE).unwrap();

        // By now there is a newer key, and the old one still opens.
        let server = ask_first(&desk, Some(&format!("{NEWER_KEY},{KEY}")), http);
        let client = server.able(MODERN, all());
        let wrong = json!({ "confirm": accept(json!({ "send": "yes" })) });
        let answer = round(&client, "invite", json!({}), (wrong, &state));
        assert!(answer["result"]["inputRequests"]["confirm"].is_object(), "{answer}");
        let state = answer["result"]["requestState"].clone();
        server.signal("KILL");
        server.wait(PATIENCE).unwrap();

        // What the newer one sealed needs the old one no more.
        let server = ask_first(&desk, Some(NEWER_KEY), http);
        let client = server.able(MODERN, all());
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
fn without_the_key_a_state_ends_with_its_process() {
    for (before, after) in [(None, None), (Some(KEY), None), (Some(KEY), Some(NEWER_KEY))] {
        let desk = Folder::new(&[]);
        let server = ask_first(&desk, before, true);
        let said = server.log.text().contains("--state-key-file");
        assert_eq!(said, before.is_none(), "{}", server.log.text());
        let (_, state) = first_round(&server.able(MODERN, all()), "invite", json!({}));
        server.signal("KILL");
        server.wait(PATIENCE).unwrap();
        let server = ask_first(&desk, after, true);
        let guest = json!({ "guest": accept(json!({ "mail": "ada@desk.example" })) });
        let answer = round(&server.able(MODERN, all()), "invite", json!({}), (guest, &state));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(invited(&desk).is_empty());
    }
}

#[test]
fn a_state_of_one_server_is_none_of_another_with_the_same_key() {
    let named = |name: &str| {
        let folder = Folder::of(&EDITED.replace("name: edited", &format!("name: {name}")));
        let server = folder.serve().env("FOLIO_STATE_KEY", KEY).http();
        (folder, server)
    };
    let (ours, theirs, again) = (named("ours"), named("theirs"), named("ours"));
    let (_, state) = first_round(&ours.1.able(MODERN, all()), "same", json!({}));
    let answers = || json!({ "n": accept(json!({ "n": "7" })) });
    let refused = round(&theirs.1.able(MODERN, all()), "same", json!({}), (answers(), &state));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("not one of this call"), "{refused}");
    let answer = round(&again.1.able(MODERN, all()), "same", json!({}), (answers(), &state));
    assert_eq!(text(&answer["result"]), "7", "{answer}");
}

/// Whatever an entry is written in belongs to it: a file that another entry reads too, the body of a prompt file, a
/// resource.
#[test]
fn an_edit_of_any_file_of_an_entry_is_noticed_between_two_rounds() {
    let asks = "run: [{ id: q, ask: { n: { elicit: { message: N?, schema: { n: {} } } } } }]";
    let manifest = format!(
        "folio: 1\nserver: {{ name: s }}\ninclude: [\"*.md\"]\nprompts:\n  one: {{ {asks}, text: {{ file: shared.txt }} }}\n  two: {{ {asks}, text: {{ file: shared.txt }} }}\nresources:\n  page: {{ uri: \"page://p\", {asks}, result: {{ text: before }} }}\n"
    );
    let body = format!("---\n{asks}\n---\nbefore");
    let folder = Folder::new(&[("folio.yaml", &manifest), ("shared.txt", "before"), ("file.md", &body)]);
    let server = folder.http();
    let client = server.able(MODERN, all());
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
        let mark = server.log.mark();
        folder.rename_over(path, text);
        server.log.reloaded_after(mark);
    }
    for ((method, mut params), state) in requests.into_iter().zip(states) {
        params["requestState"] = state;
        params["inputResponses"] = json!({ "n": accept(json!({ "n": "7" })) });
        let result = client.result(method, params.clone());
        assert_eq!(result["resultType"], "input_required", "{params} goes on in what it did not begin with: {result}");
    }
}

#[test]
fn a_key_file_holds_a_key_a_line_and_a_short_one_is_refused_without_being_told() {
    let folder = Folder::of(ASKING);
    let started = |keys: &str| {
        folder.write("keys", keys);
        folder.serve().flag("--state-key-file").flag(folder.at("keys").to_str().unwrap())
    };
    for (keys, words) in [("a key of its own", "32"), ("\n \n", "no key"), (&format!("{KEY}\nshort one"), "key 2")] {
        let server = started(keys).stdio();
        let status = server.wait(PATIENCE).expect("it is not served");
        assert!(!status.success());
        eventually("its last words", || server.log.text().contains(words));
        assert!(!server.log.text().contains(keys.lines().last().unwrap().trim()) || keys.trim().is_empty());
        assert!(!server.log.text().contains(KEY));
    }
    let (first, second) = (started(&format!("{KEY}\n")).http(), started(&format!("{NEWER_KEY}\n\n{KEY}\n")).http());
    let (_, state) = first_round(&first.able(MODERN, all()), "hello", json!({}));
    let answers = json!({ "name": accept(json!({ "name": "Ada" })) });
    let answer = round(&second.able(MODERN, all()), "hello", json!({}), (answers, &state));
    assert_eq!(text(&answer["result"]), "Hello, Ada!");
}

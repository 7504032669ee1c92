//! Behaviour for every client, on every version and transport.

use serde_json::{Value, json};

use crate::harness::*;

pub const DESK: &str = r#"folio: 1
server:
  name: desk
  title: A desk
  version: "1.2.3"
  instructions: Be brief.
  pageSize: 2
  ttlMs: 1500
  cacheScope: public
prompts:
  greet:
    title: Greeting
    description: Greet someone
    arguments:
      who: { description: Whom, required: true }
      tone: { enum: [warm, cool, wry], default: warm }
    text: "Say a {{tone}} hello to {{who}}."
  count:
    description: Count
    arguments: { n: { type: integer, minimum: 1, required: true } }
    messages:
      - user: "Count to {{n}}."
      - assistant: { resource: "about://desk" }
  bare: { text: Nothing to say. }
resources:
  about: { uri: "about://desk", text: "{{server.name}} {{server.version}}", mimeType: text/plain }
  blob: { uri: "about://blob", blob: AAEC, mimeType: application/octet-stream }
  third: { uri: "about://third", text: three }
  note:
    uri: "note://{id}"
    arguments: { id: { enum: [one, two] } }
    text: "Note {{id}}"
  free: { uri: "free://{a}/{b}", text: "{{a}} and {{b}}" }
  log: { uri: "log://recent{?frame}", text: "of {{frame}}" }
tools:
  echo:
    description: Say it again
    arguments:
      text: { required: true }
      times: { type: integer, minimum: 1, maximum: 3, default: 1 }
    annotations: { readOnlyHint: true }
    result: { text: "{{text}} x{{times}}" }
  shout:
    description: Say it loudly
    arguments: { text: { required: true } }
    run: { exec: [printf, "%s!", "{{text}}"] }
  fails: { description: Ends badly, run: { exec: [sh, -c, "echo sorry >&2; exit 3"] } }
"#;

const LISTS: [&str; 4] = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];

/// Goes through `part` with a client of each version on each wire.
pub fn for_each_version_and_wire(manifest: &str, part: impl Fn(&TestClient)) {
    let folder = TestFolder::with_manifest(manifest);
    let web = folder.http();
    for version in SESSION_VERSIONS.iter().chain([&SESSIONLESS_VERSION]) {
        let pipes = folder.stdio();
        part(&pipes.client(version));
        part(&web.client(version));
        pipes.pipe().assert_only_messages();
    }
}

#[test]
fn initialize_returns_server_info_and_capabilities() {
    for_each_version_and_wire(DESK, |client| {
        let hello = if client.is_sessionless() {
            client.result("server/discover", Value::Null)
        } else {
            client.initialize_result.clone()
        };
        let info = if client.is_sessionless() {
            let versions: Vec<&str> =
                hello["supportedVersions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            for version in SESSION_VERSIONS.iter().chain([&SESSIONLESS_VERSION]) {
                assert!(versions.contains(version), "{versions:?}");
            }
            assert_eq!((&hello["ttlMs"], &hello["cacheScope"]), (&json!(1500), &json!("public")), "{hello}");
            hello["_meta"]["io.modelcontextprotocol/serverInfo"].clone()
        } else {
            hello["serverInfo"].clone()
        };
        assert_eq!((&info["name"], &info["version"]), (&json!("desk"), &json!("1.2.3")), "{hello}");
        assert_eq!(hello["instructions"], "Be brief.");
        let mut capabilities = json!({
            "completions": {},
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "tools": { "listChanged": true },
        });
        if client.version == "2024-11-05" {
            capabilities.as_object_mut().unwrap().remove("completions");
        }
        assert_eq!(hello["capabilities"], capabilities);
    });
}

#[test]
fn undeclared_capability_method_is_not_found() {
    let only_a_prompt = "folio: 1\nserver: { name: one }\nprompts:\n  p: { text: Hi }\n";
    for_each_version_and_wire(only_a_prompt, |client| {
        let capabilities = match client.is_sessionless() {
            true => client.result("server/discover", Value::Null)["capabilities"].clone(),
            false => client.initialize_result["capabilities"].clone(),
        };
        assert_eq!(capabilities, json!({ "prompts": { "listChanged": true } }));
        for (method, params) in [
            ("tools/list", Value::Null),
            ("tools/call", json!({ "name": "x" })),
            ("resources/list", Value::Null),
            ("resources/templates/list", Value::Null),
            ("resources/read", json!({ "uri": "a://b" })),
            ("resources/subscribe", json!({ "uri": "a://b" })),
            (
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" } }),
            ),
        ] {
            assert_eq!(client.error_code(method, params), -32601, "{method} in {}", client.version);
        }
        assert_eq!(client.names("prompts"), ["p"]);
    });
    let only_a_tool = "folio: 1\nserver: { name: one }\ntools:\n  t: { description: T, result: { text: x } }\n";
    for_each_version_and_wire(only_a_tool, |client| {
        for (method, params) in [
            ("prompts/list", Value::Null),
            ("prompts/get", json!({ "name": "x" })),
            ("resources/list", Value::Null),
            ("resources/unsubscribe", json!({ "uri": "a://b" })),
            ("resources/directory/read", json!({ "uri": "a://b" })),
            ("skills/list", Value::Null),
            ("skills/get", json!({ "uri": "skill://a/SKILL.md" })),
            ("logging/setLevel", json!({ "level": "info" })),
            ("tasks/get", json!({ "taskId": "a" })),
        ] {
            assert_eq!(client.error_code(method, params), -32601, "{method} in {}", client.version);
        }
        assert_eq!(client.names("tools"), ["t"]);
    });
}

#[test]
fn requests_before_initialized_are_answered() {
    let folder = TestFolder::with_manifest(DESK);
    let web = folder.http();
    for version in SESSION_VERSIONS {
        let pipes = folder.stdio();
        for client in [pipes.uninitialized(version), web.uninitialized(version)] {
            client.round_trip();
            assert_eq!(client.names("tools"), ["echo", "shout", "fails"], "{version}");
            assert_eq!(client.call_text("echo", json!({ "text": "a" })), "a x1");
        }
    }
}

#[test]
fn ping_returns_empty_result() {
    for_each_version_and_wire(DESK, |client| {
        if !client.is_sessionless() {
            assert_eq!(client.result("ping", Value::Null), json!({}), "{}", client.version);
        }
    });
}

#[test]
fn lists_are_paged_in_manifest_order() {
    for_each_version_and_wire(DESK, |client| {
        for (of, names) in [
            ("prompts", &["greet", "count", "bare"][..]),
            ("tools", &["echo", "shout", "fails"]),
            ("resources", &["about", "blob", "third"]),
            ("resourceTemplates", &["note", "free", "log"]),
        ] {
            assert_eq!(client.names(of), names, "{of}");
        }
        let page = client.result("tools/list", Value::Null);
        assert_eq!(page["tools"].as_array().unwrap().len(), 2);
        let last = client.result("tools/list", json!({ "cursor": page["nextCursor"] }));
        assert!(last.get("nextCursor").is_none(), "{last}");
        // Some clients write no cursor as an empty one.
        assert_eq!(client.result("tools/list", json!({ "cursor": "" })), page);
        for (method, cursor) in LISTS.iter().flat_map(|list| ["nonsense", "MTox"].map(|cursor| (list, cursor))) {
            assert_eq!(client.error_code(method, json!({ "cursor": cursor })), -32602, "{method} {cursor}");
        }
        let foreign = json!({ "cursor": page["nextCursor"] });
        assert_eq!(client.error_code("prompts/list", foreign), -32602, "a cursor of another list");
    });
}

#[test]
fn listed_entry_matches_manifest() {
    for_each_version_and_wire(DESK, |client| {
        let prompt = &client.list("prompts")[0];
        let title = if client.version.as_str() < "2025-06-18" { Value::Null } else { json!("Greeting") };
        assert_eq!(prompt["title"], title);
        assert_eq!(prompt["arguments"][0], json!({ "name": "who", "description": "Whom", "required": true }));
        let tool = &client.list("tools")[0];
        let hints = if client.version == "2024-11-05" { Value::Null } else { json!({ "readOnlyHint": true }) };
        assert_eq!(tool["annotations"], hints);
        assert_eq!(tool["inputSchema"]["required"], json!(["text"]));
        assert_eq!(tool["inputSchema"]["properties"]["times"]["maximum"], 3);
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        assert_eq!(client.list("resources")[1]["mimeType"], "application/octet-stream");
        assert_eq!(client.list("resourceTemplates")[2]["uriTemplate"], "log://recent{?frame}");
    });
}

#[test]
fn prompts_get_returns_messages() {
    for_each_version_and_wire(DESK, |client| {
        assert_eq!(client.get_text("greet", json!({ "who": "Ada" })), "Say a warm hello to Ada.");
        assert_eq!(
            client.get_text("greet", json!({ "who": "{{tone}}", "tone": "cool" })),
            "Say a cool hello to {{tone}}."
        );
        let counted = client.result("prompts/get", json!({ "name": "count", "arguments": { "n": "3" } }));
        assert_eq!(
            counted["messages"][0],
            json!({ "role": "user", "content": { "type": "text", "text": "Count to 3." } })
        );
        assert_eq!(counted["messages"][1]["role"], "assistant");
        assert_eq!(counted["messages"][1]["content"]["resource"]["text"], "desk 1.2.3");
        for arguments in [Value::Null, json!({})] {
            assert_eq!(client.get_text("bare", arguments), "Nothing to say.");
        }
        assert_eq!(
            text_of(&client.result("prompts/get", json!({ "name": "bare" }))["messages"][0]["content"]),
            "Nothing to say."
        );
    });
}

#[test]
fn unknown_prompt_or_argument_is_named_in_error() {
    for_each_version_and_wire(DESK, |client| {
        for (params, named) in [
            (json!({ "name": "nobody" }), "nobody"),
            (json!({ "name": "greet" }), "who"),
            (json!({ "name": "greet", "arguments": { "who": "x", "tone": "loud" } }), "tone"),
            (json!({ "name": "greet", "arguments": { "who": "x", "extra": "y" } }), "extra"),
            (json!({ "name": "count", "arguments": { "n": "0" } }), "n"),
            (json!({ "name": "count", "arguments": { "n": "many" } }), "n"),
        ] {
            let error = client.error("prompts/get", params.clone());
            assert_eq!(error["code"], -32602, "{params}: {error}");
            assert!(error["message"].as_str().unwrap().contains(named), "{params}: {error}");
        }
    });
}

#[test]
fn tools_call_returns_content() {
    for_each_version_and_wire(DESK, |client| {
        assert_eq!(client.call_text("echo", json!({ "text": "a", "times": 2 })), "a x2");
        assert_eq!(client.call_text("echo", json!({ "text": "a" })), "a x1");
        assert_eq!(client.call_text("shout", json!({ "text": "$(id) `id` ; \"" })), "$(id) `id` ; \"!");
        let failed = client.call("fails", Value::Null);
        assert_eq!(failed["isError"], true);
        assert!(text_of(&failed["content"][0]).contains("sorry"), "{failed}");
    });
}

#[test]
fn invalid_tool_arguments_are_all_in_an_error_result() {
    for_each_version_and_wire(DESK, |client| {
        let result = client.call("echo", json!({ "times": 9, "loud": true }));
        assert_eq!(result["isError"], true, "{result}");
        let text = text_of(&result["content"][0]);
        for name in ["text", "times", "loud"] {
            assert!(text.contains(name), "{name}: {text}");
        }
        let uncoerced = client.call("echo", json!({ "text": "a", "times": "2" }));
        assert_eq!(uncoerced["isError"], true, "{uncoerced}");
        let error = client.error("tools/call", json!({ "name": "nothing", "arguments": {} }));
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains("nothing"), "{error}");
    });
}

#[test]
fn resources_and_templates_are_read() {
    for_each_version_and_wire(DESK, |client| {
        let read = client.result("resources/read", json!({ "uri": "about://desk" }));
        let contents = json!([{ "uri": "about://desk", "mimeType": "text/plain", "text": "desk 1.2.3" }]);
        assert_eq!(read["contents"], contents);
        let read = client.result("resources/read", json!({ "uri": "about://blob" }));
        assert_eq!(read["contents"][0]["blob"], "AAEC");
        assert_eq!(client.read_text("note://two"), "Note two");
        assert_eq!(client.read_text("free://x%20y/z"), "x y and z");
        assert_eq!(client.read_text("log://recent?frame=day"), "of day");
    });
}

#[test]
fn missing_resource_error_matches_version() {
    for_each_version_and_wire(DESK, |client| {
        let code = if client.is_sessionless() { -32602 } else { -32002 };
        for uri in ["about://nowhere", "free://only-one"] {
            let error = client.error("resources/read", json!({ "uri": uri }));
            assert_eq!(error["code"], code, "{uri} in {}: {error}", client.version);
            assert_eq!(error["data"]["uri"], uri, "{error}");
        }
        for uri in ["no uri", "note://three"] {
            let error = client.error("resources/read", json!({ "uri": uri }));
            assert_eq!(error["code"], -32602, "{uri} in {}: {error}", client.version);
        }
    });
}

#[test]
fn arguments_are_completed() {
    for_each_version_and_wire(DESK, |client| {
        let complete = |of: Value, name: &str, value: &str| {
            let result = client
                .result("completion/complete", json!({ "ref": of, "argument": { "name": name, "value": value } }));
            result["completion"].clone()
        };
        let greet = json!({ "type": "ref/prompt", "name": "greet" });
        let all = complete(greet.clone(), "tone", "");
        assert_eq!((&all["values"], &all["hasMore"]), (&json!(["warm", "cool", "wry"]), &json!(false)), "{all}");
        assert_eq!(complete(greet.clone(), "tone", "CO")["values"], json!(["cool"]));
        assert_eq!(complete(greet.clone(), "who", "x")["values"], json!([]));
        let note = json!({ "type": "ref/resource", "uri": "note://{id}" });
        assert_eq!(complete(note, "id", "t")["values"], json!(["two"]));
        for wrong in [
            json!({ "ref": { "type": "ref/prompt", "name": "none" }, "argument": { "name": "a", "value": "" } }),
            json!({ "ref": { "type": "ref/resource", "uri": "none://{x}" }, "argument": { "name": "x", "value": "" } }),
            json!({ "ref": { "type": "ref/other" }, "argument": { "name": "x", "value": "" } }),
            json!({ "ref": greet }),
        ] {
            assert_eq!(client.error_code("completion/complete", wrong.clone()), -32602, "{wrong}");
        }
    });
}

const COMPLETED: &str = r#"folio: 1
server: { name: completed }
prompts:
  p:
    description: P
    arguments:
      lang: {}
      lib: { complete: { run: { exec: [printf, '%s-a\n%s-b', "{{lang}}", "{{lang}}"] } } }
      number: { complete: { run: { exec: [seq, "250"] } } }
    text: "{{lib}} {{number}}"
"#;

#[test]
fn completion_uses_context_and_caps_at_100() {
    for_each_version_and_wire(COMPLETED, |client| {
        let complete = |argument: &str, context: Value| {
            let mut wish =
                json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": argument, "value": "" } });
            if !context.is_null() {
                wish["context"] = json!({ "arguments": context });
            }
            client.result("completion/complete", wish)["completion"].clone()
        };
        assert_eq!(complete("lib", Value::Null)["values"], json!(["-a", "-b"]));
        assert_eq!(complete("lib", json!({ "lang": "rust" }))["values"], json!(["rust-a", "rust-b"]));
        let many = complete("number", Value::Null);
        assert_eq!((&many["total"], &many["hasMore"]), (&json!(250), &json!(true)), "{many}");
        assert_eq!(many["values"].as_array().unwrap().len(), 100);
    });
}

const SCHEMA: &str = r##"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": { "address": { "$anchor": "address", "type": "object", "properties": { "street": { "type": "string" } }, "required": ["street"] } },
  "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" }, "again": { "$ref": "#address" }, "way": { "enum": ["mail", "call"] } },
  "allOf": [{ "anyOf": [{ "required": ["name"] }, { "required": ["address"] }] }],
  "if": { "properties": { "way": { "const": "mail" } }, "required": ["way"] },
  "then": { "required": ["address"] },
  "else": { "required": ["name"] },
  "additionalProperties": false
}"##;

#[test]
fn input_schema_is_listed_verbatim_and_enforced() {
    let manifest = "folio: 1\nserver: { name: s }\ntools:\n  t: { description: T, inputSchema: { file: schema.json }, result: { text: fits } }\n";
    let folder = TestFolder::new(&[("folio.yaml", manifest), ("schema.json", SCHEMA)]);
    let written: Value = serde_json::from_str(SCHEMA).unwrap();
    on_every_version_and_wire(&folder, &json!({}), |client| {
        assert_eq!(client.list("tools")[0]["inputSchema"], written, "{}", client.version);
        let street = json!({ "street": "Main" });
        for fits in [json!({ "name": "Ada" }), json!({ "way": "mail", "address": street, "again": street })] {
            assert_eq!(client.call_text("t", fits), "fits");
        }
        for (breach, named) in [
            (json!({ "way": "mail", "name": "Ada" }), "address"),
            (json!({ "address": street }), "name"),
            (json!({ "name": "Ada", "again": {} }), "street"),
            (json!({ "name": "Ada", "more": 1 }), "more"),
        ] {
            let result = client.call("t", breach.clone());
            assert_eq!(result["isError"], true, "{breach}: {result}");
            assert!(text_of(&result["content"][0]).contains(named), "{breach}: {result}");
        }
    });
}

#[test]
fn malformed_params_are_invalid_params() {
    for_each_version_and_wire(DESK, |client| {
        for (method, params) in [
            ("tools/call", json!({})),
            ("tools/call", json!({ "name": 7 })),
            ("tools/call", json!({ "name": "echo", "arguments": [1] })),
            ("tools/call", json!({ "name": "echo", "arguments": "text" })),
            ("prompts/get", json!({ "name": "greet", "arguments": [] })),
            ("resources/read", json!({})),
            ("resources/read", json!({ "uri": ["about://desk"] })),
            ("tools/list", json!({ "cursor": 7 })),
            ("prompts/list", json!({ "cursor": 7 })),
            ("prompts/get", json!({ "name": 7 })),
            ("resources/list", json!({ "cursor": 7 })),
            ("resources/templates/list", json!({ "cursor": 7 })),
            ("completion/complete", json!({ "ref": 7 })),
        ] {
            let code = client.error_code(method, params.clone());
            assert_eq!(code, -32602, "{method} {params} in {}", client.version);
        }
        if client.is_sessionless() {
            for wrong in [json!({}), json!({ "notifications": 7 })] {
                assert_eq!(client.error_code("subscriptions/listen", wrong), -32602);
            }
            return;
        }
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            for wrong in [json!({}), json!({ "uri": 7 })] {
                assert_eq!(client.error_code(method, wrong), -32602, "{method} in {}", client.version);
            }
        }
    });
}

#[test]
fn unknown_method_is_method_not_found() {
    for_each_version_and_wire(DESK, |client| {
        for method in ["tools/lst", "nothing", "", "tasks/list", "logging/setLevel"] {
            let params = if method == "logging/setLevel" { json!({ "level": "info" }) } else { json!({}) };
            let error = client.error(method, params);
            assert_eq!(error["code"], -32601, "{method:?} in {}: {error}", client.version);
        }
    });
}

#[test]
fn session_methods_are_unknown_when_sessionless() {
    for_each_version_and_wire(DESK, |client| {
        if !client.is_sessionless() {
            return;
        }
        for (method, params) in [
            ("ping", json!({})),
            ("logging/setLevel", json!({ "level": "info" })),
            ("resources/subscribe", json!({ "uri": "about://desk" })),
            ("resources/unsubscribe", json!({ "uri": "about://desk" })),
            (
                "initialize",
                json!({ "protocolVersion": SESSIONLESS_VERSION, "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } }),
            ),
        ] {
            assert_eq!(client.error_code(method, params), -32601, "{method}");
        }
    });
}

/// Every page of a list.
fn pages(client: &TestClient, method: &str) -> Vec<Value> {
    let mut pages = vec![client.result(method, Value::Null)];
    while let Some(cursor) = pages.last().and_then(|page| page.get("nextCursor")) {
        pages.push(client.result(method, json!({ "cursor": cursor })));
    }
    pages
}

#[test]
fn cache_hints_only_in_sessionless_results() {
    for_each_version_and_wire(DESK, |client| {
        let mut results: Vec<Value> = LISTS.iter().flat_map(|method| pages(client, method)).collect();
        assert_eq!(results.len(), 8, "two pages of each list");
        if client.is_sessionless() {
            results.push(client.result("server/discover", Value::Null));
        }
        results.push(client.result("resources/read", json!({ "uri": "about://desk" })));
        for result in &results {
            let said = (result.get("ttlMs"), result.get("cacheScope"));
            let due = (json!(1500), json!("public"));
            let due = if client.is_sessionless() { (Some(&due.0), Some(&due.1)) } else { (None, None) };
            assert_eq!(said, due, "{result}");
        }
        results.push(client.call("echo", json!({ "text": "a" })));
        results.push(client.result("prompts/get", json!({ "name": "bare" })));
        let tone =
            json!({ "ref": { "type": "ref/prompt", "name": "greet" }, "argument": { "name": "tone", "value": "" } });
        results.push(client.result("completion/complete", tone));
        for result in &results {
            let due = client.is_sessionless();
            assert_eq!(result.get("resultType"), due.then_some(&json!("complete")), "{result}");
            let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
            assert_eq!(server == "desk", due, "{result}");
        }
    });
}

#[test]
fn unsupported_version_error_lists_supported() {
    let folder = TestFolder::with_manifest(DESK);
    for server in [folder.stdio(), folder.http()] {
        let client = server.sessionless();
        let mut params = client.params(Value::Null);
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
        let answer = raw(&server, &client, "tools/list", &params, "2099-01-01");
        assert_eq!(answer["error"]["code"], -32022, "{answer}");
        assert_eq!(answer["error"]["data"]["requested"], "2099-01-01");
        assert!(answer["error"]["data"]["supported"].as_array().unwrap().contains(&json!(SESSIONLESS_VERSION)));
    }
}

/// A request of exactly these parameters.
fn raw(server: &TestServer, client: &TestClient, method: &str, params: &Value, version: &str) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 77, "method": method, "params": params });
    if server.port == 0 {
        client.pipe().write_line(body.to_string());
        return client.wait_for_answer(77);
    }
    let headers = [("MCP-Protocol-Version", version), ("Mcp-Method", method)];
    server.http_client().post(&headers, &body).answer(&json!(77), |_| {})
}

#[test]
fn sessionless_meta_requires_capabilities_only() {
    let folder = TestFolder::with_manifest(DESK);
    for server in [folder.stdio(), folder.http()] {
        let client = server.sessionless();
        let mut params = client.params(Value::Null);
        params["_meta"].as_object_mut().unwrap().remove("io.modelcontextprotocol/clientInfo");
        let answer = raw(&server, &client, "tools/list", &params, SESSIONLESS_VERSION);
        assert!(answer.get("result").is_some(), "{answer}");
        for key in ["io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/protocolVersion"] {
            let mut lacking = params.clone();
            lacking["_meta"].as_object_mut().unwrap().remove(key);
            let mut malformed = params.clone();
            malformed["_meta"][key] = json!(7);
            for (method, wrong) in [("tools/list", &lacking), ("server/discover", &lacking), ("tools/list", &malformed)]
            {
                let answer = raw(&server, &client, method, wrong, SESSIONLESS_VERSION);
                assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
                assert!(answer["error"]["message"].as_str().unwrap().contains(key), "{method}: {answer}");
            }
        }
    }
}

#[test]
fn unknown_version_negotiates_newest_session_version() {
    let folder = TestFolder::with_manifest(DESK);
    for server in [folder.stdio(), folder.http()] {
        for version in ["2099-01-01", SESSIONLESS_VERSION, "x"] {
            let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
            let answer = if server.port == 0 {
                let fresh = folder.stdio();
                fresh.pipe().write_line(body.to_string());
                fresh.pipe().next()
            } else {
                server.http_client().post(&[], &body).answer(&json!(1), |_| {})
            };
            assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        }
    }
}

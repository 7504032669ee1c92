//! Arguments: the types of choices, and those that are not declared.

use serde_json::{Value, json};

use crate::harness::*;

const CHOICES: &str = r#"folio: 1
server: { name: s }
prompts:
  p:
    description: P
    arguments: { level: { enum: [low, high] }, n: { enum: [1, 20] } }
    text: "{{level}}{{n}}"
tools:
  t:
    description: T
    arguments:
      level: { enum: [low, high] }
      count: { enum: [1, 20] }
      share: { enum: [1, 2.5] }
      flag: { enum: [true, false] }
      any: { enum: [1, low] }
      none: { enum: [low, null] }
      only: { const: 7 }
      given: { type: [string, "null"], enum: [low, null] }
    result: { text: "{{level}} {{count}} {{share}}" }
"#;

#[test]
fn choices_give_an_argument_its_type() {
    let folder = TestFolder::with_manifest(CHOICES);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let tool = client.list("tools").remove(0);
        let types = ["level", "count", "share", "flag", "any", "none", "only", "given"]
            .map(|name| tool["inputSchema"]["properties"][name]["type"].clone());
        let expected = json!(["string", "integer", "number", "boolean", null, null, "integer", ["string", "null"]]);
        assert_eq!(json!(types), expected);
        assert_eq!(client.call_text("t", json!({ "level": "low", "count": 20, "share": 2.5, "any": 1 })), "low 20 2.5");
        let wrong = client.call("t", json!({ "level": "mid" }));
        assert!(wrong["isError"] == true && text_of(&wrong["content"][0]).contains("level"), "{wrong}");
        assert_eq!(client.get_text("p", json!({ "level": "high", "n": "20" })), "high20");
        let values = |argument: &str| {
            let target = json!({ "type": "ref/prompt", "name": "p" });
            let asked = json!({ "ref": target, "argument": { "name": argument, "value": "" } });
            client.result("completion/complete", asked)["completion"]["values"].clone()
        };
        assert_eq!((values("level"), values("n")), (json!(["low", "high"]), json!(["1", "20"])));
    });
}

const OPEN: &str = r#"folio: 1
server: { name: s }
tools:
  all:
    description: All
    arguments: { v: { type: integer, required: true }, w: {} }
    additionalProperties: true
    result: { text: "{{v}}|{{arguments.v}}|{{arguments.more}}|{{arguments.more.x}}|{{json arguments}}" }
  each:
    description: Each
    additionalProperties: { type: integer, minimum: 1 }
    result: { text: "{{#each arguments}}{{@key}}={{this}};{{/each}}" }
  closed:
    description: Closed
    arguments: { v: {} }
    additionalProperties: false
    result: { text: "{{v}}" }
  step:
    description: A step
    run: { tool: { name: each, arguments: { n: 3, other: 4 } } }
"#;

#[test]
fn undeclared_arguments_are_accepted_and_in_scope() {
    let folder = TestFolder::with_manifest(OPEN);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let tools = client.list("tools");
        let schema = |name: &str| {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            tool["inputSchema"]["additionalProperties"].clone()
        };
        assert_eq!(schema("all"), true);
        assert_eq!(schema("each"), json!({ "type": "integer", "minimum": 1 }));
        assert_eq!((schema("closed"), schema("step")), (json!(false), json!(false)));
        let text = client.call_text("all", json!({ "zeta": [1], "v": 2, "more": { "x": "y" }, "env": "{{v}}" }));
        let (shown, whole) = text.rsplit_once('|').unwrap();
        assert_eq!(shown, r#"2|2|{"x":"y"}|y"#);
        let expected = json!({ "v": 2, "zeta": [1], "more": { "x": "y" }, "env": "{{v}}" });
        assert_eq!(serde_json::from_str::<Value>(whole).unwrap(), expected);
        assert_eq!(client.call_text("all", json!({ "v": 2 })), r#"2|2|||{"v":2}"#);
        assert_eq!(client.call_text("each", json!({ "b": 2, "a": 1 })), "b=2;a=1;");
        assert_eq!(client.call_text("step", json!({})), "n=3;other=4;");
        for (tool, arguments, named) in
            [("each", json!({ "a": 0 }), "a"), ("each", json!({ "a": "x" }), "a"), ("closed", json!({ "b": 1 }), "b")]
        {
            let refused = client.call(tool, arguments);
            assert_eq!(refused["isError"], true, "{refused}");
            assert!(text_of(&refused["content"][0]).contains(&format!("`{named}`")), "{refused}");
        }
    });
}

#[test]
fn errors_of_additional_properties_are_located() {
    let said = |keys: &str| {
        let folder = TestFolder::with_manifest(&format!(
            "folio: 1\nserver: {{ name: s }}\ntools:\n  t:\n    description: T\n    {keys}\n    result: {{ text: '{{{{v}}}}' }}\n"
        ));
        let ran = run_folio(folder.path(), &["check", "--format", "json"]);
        let report: Vec<Value> = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        let first = &report[0];
        (first["message"].as_str().unwrap().to_owned(), first["line"].clone())
    };
    let key = "arguments: { v: {} }\n    additionalProperties:";
    for (value, words) in [
        ("3", "invalid `additionalProperties`, expected a boolean or a JSON Schema"),
        ("{ type: strin }", "strin"),
        ("{ typ: string }", "typ"),
        ("{ pattern: '(' }", "invalid regular expression"),
    ] {
        let (message, line) = said(&format!("{key} {value}"));
        assert!(message.contains(words), "{value}: {message}");
        assert_eq!(line, 7, "{value}: {message}");
    }
    let both = "inputSchema: { type: object, properties: { v: {} } }\n    additionalProperties: true";
    assert_eq!(said(both).0, "`additionalProperties` cannot be used with `inputSchema`");
    let unknown = "arguments: { v: {} }\n    additionalProperties: true\n    run: { log: '{{other}}' }";
    assert_eq!(said(unknown).0, "unknown variable `other`");
}

#[test]
fn reserved_name_of_argument_is_one_error() {
    for entries in [
        "tools: { t: { description: D, arguments: { steps: {} }, result: { text: \"{{steps}} {{upper steps}}\" } } }",
        "tools: { t: { description: D, arguments: { result: {} }, run: { exec: [echo, \"{{result}}\"] } } }",
        "prompts: { p: { arguments: { steps: {} }, text: \"{{steps}}{{#if steps}}x{{/if}}\" } }",
        "resources: { r: { uri: \"s://{steps}\", arguments: { steps: {} }, text: \"{{steps}}\" } }",
    ] {
        let folder = TestFolder::with_manifest(&format!("folio: 1\nserver: {{ name: s }}\n{entries}\n"));
        let ran = run_folio(folder.path(), &["check"]);
        assert!(ran.out.starts_with("error[bad-name]: reserved argument name `"), "{}", ran.out);
        assert!(ran.out.ends_with("\n1 error\n"), "{}", ran.out);
    }
    // Another entry has none of it.
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nprompts: { a: { arguments: { steps: {} }, text: \"{{steps}}\" }, b: { text: \"{{steps}}\" } }\n",
    );
    let ran = run_folio(folder.path(), &["check"]);
    assert!(ran.out.contains("unknown variable `steps`") && ran.out.ends_with("\n2 errors\n"), "{}", ran.out);
}

#[test]
fn empty_text_for_optional_prompt_argument_is_none_where_it_does_not_fit() {
    let folder = TestFolder::with_manifest(
        r#"
folio: 1
server: { name: s }
prompts:
  p:
    text: "plain={{plain}};given={{given}};count={{count}};choice={{choice}};chosen={{chosen}};pattern={{pattern}};length={{length}};date={{date}};fixed={{fixed}};either={{either}};inside={{inside}};needed={{needed}};list={{list}};"
    arguments:
      plain: {}
      given: { default: dd }
      count: { type: integer, default: 3 }
      choice: { enum: [low, high] }
      chosen: { enum: [low, high], default: low }
      pattern: { pattern: "^v[0-9]+$" }
      length: { minLength: 2 }
      date: { format: date }
      fixed: { const: x }
      either: { anyOf: [{ minLength: 3 }, { type: integer }] }
      inside: { within: "{{workspace}}" }
      needed: { required: true, enum: [yes, no] }
      list: { complete: { run: { exec: [printf, "<%s%s>", "{{choice}}", "{{given}}"] } } }
"#,
    );
    let fine =
        "plain=;given=dd;count=3;choice=;chosen=low;pattern=;length=;date=;fixed=;either=;inside=;needed=yes;list=;";
    for server in [folder.stdio(), folder.http()] {
        for version in ["2025-06-18", SESSIONLESS_VERSION] {
            let client = server.client(version);
            for name in [
                "plain", "given", "count", "choice", "chosen", "pattern", "length", "date", "fixed", "either", "inside",
            ] {
                for nothing in [json!(""), Value::Null] {
                    assert_eq!(client.get_text("p", json!({ "needed": "yes", name: nothing })), fine, "{name}");
                }
            }
            // What is required, and what is not declared, is not left out.
            for (name, value) in [("needed", ""), ("undeclared", ""), ("choice", "x"), ("date", " ")] {
                let mut arguments = json!({ "needed": "yes" });
                arguments[name] = json!(value);
                let error = client.error("prompts/get", json!({ "name": "p", "arguments": arguments }));
                assert!(error["message"].as_str().unwrap().contains(&format!("`{name}`")), "{error}");
            }
            let completed = client.result(
                "completion/complete",
                json!({
                    "ref": { "type": "ref/prompt", "name": "p" },
                    "argument": { "name": "list", "value": "" },
                    "context": { "arguments": { "choice": "", "given": "" } },
                }),
            );
            assert_eq!(completed["completion"]["values"], json!(["<>"]), "{completed}");
        }
    }
}

#[test]
fn keys_that_hosts_add_are_refused_and_the_log_says_the_way_out() {
    let manifest = |others: &str| {
        format!(
            "folio: 1\nserver: {{ name: s }}\ntools:\n  none: {{ description: N, {others}result: {{ text: ok }} }}\n"
        )
    };
    let folder = TestFolder::with_manifest(&manifest(""));
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    let added = json!({ "toolCallId": "call_1", "sessionId": "s" });
    let refused = client.call("none", added.clone());
    assert_eq!(
        text_of(&refused["content"][0]),
        "- `toolCallId` is not a known property\n- `sessionId` is not a known property"
    );
    let line = server.log.wait_for_line(0, |line| line.contains("additionalProperties: true"));
    assert!(line.contains("call none") && line.contains("`toolCallId`, `sessionId`"), "{line}");
    for lenient in ["additionalProperties: true, ", "inputSchema: { type: object, additionalProperties: true }, "] {
        folder.write("folio.yaml", manifest(lenient));
        assert_eq!(folder.stdio().session("2025-06-18").call_text("none", added.clone()), "ok");
    }
}

const NOTHING: &str = r##"folio: 1
server: { name: s }
tools:
  optional:
    description: O
    arguments:
      e: { enum: [a, b] }
      n: { type: integer, default: 3 }
      o: { type: object }
      l: { type: [array, object] }
      either: { type: [string, "null"], default: x }
      text: { minLength: 1 }
    result: { text: "{{json arguments}}" }
  required: { description: R, arguments: { o: { type: object, required: true }, s: { required: true } }, result: { text: "{{json arguments}}" } }
  schema:
    description: S
    inputSchema: { type: object, properties: { o: { $ref: "#/$defs/o" }, n: { anyOf: [{ type: integer }] } }, $defs: { o: { type: object } } }
    result: { text: "{{json arguments}}" }
  step: { description: T, run: { tool: { name: optional, arguments: { e: null, n: null, o: [] } } } }
"##;

#[test]
fn null_is_no_argument_where_it_does_not_fit() {
    let folder = TestFolder::with_manifest(NOTHING);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let bound = |tool: &str, arguments| -> Value {
            serde_json::from_str(&client.call_text(tool, arguments)).unwrap_or_default()
        };
        let nothing = json!({ "e": null, "n": null, "o": null, "l": null, "either": null, "text": null });
        assert_eq!(bound("optional", nothing), json!({ "n": 3, "either": null }));
        let lists = json!({ "o": [], "l": [], "n": 4 });
        assert_eq!(bound("optional", lists), json!({ "n": 4, "o": {}, "l": [], "either": "x" }));
        assert_eq!(bound("required", json!({ "o": [], "s": "" })), json!({ "o": {}, "s": "" }));
        assert_eq!(bound("schema", json!({ "o": [], "n": null })), json!({ "o": {} }));
        assert_eq!(bound("step", json!({})), json!({ "n": 3, "o": {}, "either": "x" }));
        for (tool, arguments, words) in [
            ("required", json!({ "o": {}, "s": null }), "`s` must be a string"),
            ("required", json!({ "o": null, "s": "" }), "`o` must be an object"),
            ("required", json!({ "o": [1], "s": "" }), "`o` must be an object"),
            ("optional", json!({ "e": "" }), "`e` must be"),
            ("optional", json!({ "n": [] }), "`n` must be an integer"),
            ("optional", json!({ "other": null }), "`other`"),
        ] {
            let refused = client.call(tool, arguments);
            assert!(refused["isError"] == true && text_of(&refused["content"][0]).contains(words), "{refused}");
        }
    });
}

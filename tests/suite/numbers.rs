//! Integers, which JSON may write as `2.0` or `1e3`, in every place that values reach.

use serde_json::{Value, json};

use crate::harness::*;

const NUMBERS: &str = r#"folio: 1
server: { name: numbers }
tools:
  count:
    description: Shows its numbers
    arguments:
      n: { type: integer, default: 4.0 }
      x: { type: number }
      list: { type: array, items: { type: integer } }
      map: { type: object }
    run:
      - { id: argv, exec: [printf, "%s|", "{{n}}", "{{x}}", { each: list, then: ["{{this}}"] }, "--n={{n}}", "{{map.a.[0]}}"] }
      - { id: sh, script: { shell: sh, text: 'printf "%s" "$n"' } }
      - { id: v, set: { n: "{{n}}", half: "{{div n 2}}", sum: { select: "sum([])", from: ["{{list}}"] }, long: { select: "length(@)", from: "{{list}}" } } }
      - { id: inner, tool: { name: inner, arguments: { n: "{{n}}", fixed: 7.0 } } }
    result:
      structuredContent: { argv: "{{steps.argv.stdout}}", script: "{{steps.sh.stdout}}", v: "{{steps.v}}", inner: "{{steps.inner.text}}", map: "{{map}}", text: "{{json map}}" }
  inner:
    hidden: true
    arguments: { n: { type: integer }, fixed: { type: integer } }
    result: { text: "{{n}} {{fixed}}" }
  select:
    description: Selects from its arguments
    arguments: { n: { type: integer } }
    result: { select: "{ n: n, sum: sum([n, `1`]), average: avg([n, n]) }" }
prompts:
  say: { arguments: { n: { type: integer }, x: { type: number }, list: { type: array, items: { type: integer } } }, text: "{{n}} {{x}} {{list}}" }
resources:
  item: { uri: "item://{n}", arguments: { n: { type: integer } }, text: "{{n}}" }
  page: { uri: "page://{other}/{n}", arguments: { other: { type: integer }, n: { complete: { run: { exec: [printf, "n%s", "{{other}}"] } } } }, text: "{{n}}" }
"#;

#[test]
fn integral_numbers_are_integers_everywhere() {
    let folder = TestFolder::with_manifest(NUMBERS);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    let call = |arguments: &str| {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        client.call("count", arguments)["structuredContent"].clone()
    };
    let shown = call(r#"{ "n": 2.0, "x": 2.0, "list": [1.0, 1e3, 3], "map": { "a": [5.0], "b": 2.5, "c": "2.0" } }"#);
    let expected = r#"{"argv":"2|2|1|1000|3|--n=2|5|","script":"2","v":{"n":2,"half":1,"sum":1004,"long":3},"inner":"2 7","map":{"a":[5],"b":2.5,"c":"2.0"},"text":"{\"a\":[5],\"b\":2.5,\"c\":\"2.0\"}"}"#;
    assert_eq!(shown.to_string(), expected);
    let shown = call(r#"{ "x": 2.5, "list": [1e0], "map": { "a": [18446744073709551615] } }"#);
    assert_eq!(shown["argv"], "4|2.5|1|--n=4|18446744073709551615|", "{shown}");
    let selected = client.call("select", json!({ "n": 1e3 }))["structuredContent"].to_string();
    assert_eq!(selected, r#"{"n":1000,"sum":1001,"average":1000}"#);
    let refused = client.call("count", json!({ "n": 2.5 }));
    assert_eq!(text_of(&refused["content"][0]), "`n` must be an integer; got 2.5");
}

#[test]
fn integral_texts_are_integers_where_no_string_is() {
    let folder = TestFolder::with_manifest(NUMBERS);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    assert_eq!(client.get_text("say", json!({ "n": "2.0", "x": "3.0", "list": "[1.0,1e3]" })), "2 3 [1,1000]");
    assert_eq!(client.read_text("item://1e3"), "1000");
    let ask = json!({
        "ref": { "type": "ref/resource", "uri": "page://{other}/{n}" },
        "argument": { "name": "n", "value": "" },
        "context": { "arguments": { "other": "2.0" } },
    });
    assert_eq!(client.result("completion/complete", ask)["completion"]["values"], json!(["n2"]));
}

const QUESTIONS: &str = r#"folio: 1
server: { name: numbers }
tools:
  ask:
    description: Asks the model
    arguments: { n: { type: integer }, t: {}, p: {} }
    run:
      - id: limit
        set: { double: "{{mul n 2}}" }
      - ask:
          q:
            sample:
              prompt: Say it
              maxTokens: "{{steps.limit.double}}"
              temperature: "{{t}}"
              modelPreferences: { hints: [{ name: small }], costPriority: "{{p}}", speedPriority: 1.0 }
"#;

#[test]
fn numbers_of_questions_take_one_expression() {
    let folder = TestFolder::with_manifest(QUESTIONS);
    let server = folder.stdio();
    let client = server.client_with(SESSION_VERSIONS[3], json!({ "sampling": {} }));
    let ask = |arguments: Value| {
        let mut asked = None;
        let answer = client.call_with_answers("ask", arguments, |_, params| {
            asked = Some(params.clone());
            json!({ "role": "assistant", "content": { "type": "text", "text": "said" }, "model": "m" })
        });
        (asked, text_of(&answer["content"][0]))
    };
    let asked = ask(json!({ "n": 2.0, "t": "0.5", "p": "1.0" })).0.unwrap();
    let numbers = [&asked["maxTokens"], &asked["temperature"], &asked["modelPreferences"]].map(Value::to_string);
    assert_eq!(numbers, ["4", "0.5", r#"{"hints":[{"name":"small"}],"speedPriority":1,"costPriority":1}"#]);
    let asked = ask(json!({ "n": 1 })).0.unwrap();
    assert_eq!((&asked["maxTokens"], asked.get("temperature")), (&json!(2), None));
    for (arguments, message) in [
        (json!({ "n": -3 }), "invalid `maxTokens` `-6`, expected a whole number from 0 to 4294967295"),
        (json!({ "n": 1, "t": "warm" }), "invalid `temperature`: `t` is not a number, expected a number"),
        (json!({ "n": 1, "p": "1.5" }), "invalid `costPriority` `1.5`, expected a number from 0 to 1"),
    ] {
        assert_eq!(ask(arguments), (None, message.to_owned()));
    }
}

#[test]
fn invalid_numbers_of_questions_are_reported_at_load() {
    for (numbers, words) in [
        ("maxTokens: many", "invalid `maxTokens` `\"many\"`, expected a whole number"),
        ("maxTokens: 1.5", "invalid `maxTokens` `1.5`"),
        ("maxTokens: -1", "invalid `maxTokens` `-1`"),
        ("maxTokens: \"{{nobody}}\"", "unknown variable `nobody`"),
        ("maxTokens: \"{{a}}0\"", "invalid number, expected exactly one `{{…}}`"),
        ("maxTokens: 1, temperature: hot", "invalid `temperature` `\"hot\"`, expected a number"),
        (
            "maxTokens: 1, modelPreferences: { speedPriority: 2 }",
            "invalid `speedPriority` `2`, expected a number from 0 to 1",
        ),
        ("temperature: 1", "missing key `maxTokens`"),
    ] {
        let folder = TestFolder::with_manifest(&format!(
            "folio: 1\nserver: {{ name: s }}\ntools:\n  t: {{ description: D, arguments: {{ a: {{}} }}, run: {{ ask: {{ q: {{ sample: {{ prompt: p, {numbers} }} }} }} }} }}\n"
        ));
        let ran = run_folio(folder.path(), &["check", "."]);
        assert!(ran.code == Some(1) && ran.out.contains(words) | ran.err.contains(words), "{numbers}: {ran:?}");
    }
}

const HELPERS: &str = r#"folio: 1
server: { name: helpers }
tools:
  small: { description: D, arguments: { tiny: { type: number }, big: { type: number } }, result: { text: "{{number -0.4 decimals=0}} {{round 1.005 2}} {{add tiny 1}} {{round -0.4}} {{mul -1 0.0}} {{div 1 4}} {{mul big 10}}" } }
  integer: { description: D, arguments: { n: { type: integer } }, run: { exec: [printf, "%s", "{{n}}"] } }
  either: { description: D, arguments: { n: { type: [integer, string] } }, run: { exec: [printf, "%s", "{{n}}"] } }
  date: { description: D, arguments: { at: {} }, result: { text: "{{date at \"%H:%M %z\"}} {{date at \"%H:%M\" tz=\"UTC\"}}" } }
  huge: { description: D, run: { exec: [printf, '{"a": [1, 1e400]}'] }, result: { text: "{{result.json.a}}" } }
"#;

#[test]
fn numbers_print_without_needless_signs_and_fractions() {
    let folder = TestFolder::with_manifest(HELPERS);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    assert_eq!(client.call_text("small", json!({ "tiny": 5e-324, "big": 1e20 })), "0 1 1 0 0 0.25 1e+21");
    let huge = text_of(&client.call("huge", json!({}))["content"][0]);
    assert!(huge.contains("and has an error: number out of range"), "{huge}");
}

#[test]
fn integer_of_more_than_64_bits_is_refused() {
    let folder = TestFolder::with_manifest(HELPERS);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    let call = |tool: &str, n: &str| {
        let arguments: Value = serde_json::from_str(&format!("{{ \"n\": {n} }}")).unwrap();
        text_of(&client.call(tool, arguments)["content"][0])
    };
    let refused = "`n` must be an integer of at most 64 bits; pass a longer one as a string";
    for tool in ["integer", "either"] {
        assert_eq!(call(tool, "123456789012345678901234567890"), refused);
        assert_eq!(call(tool, "-18446744073709551615"), refused);
        assert_eq!(call(tool, "18446744073709551615"), "18446744073709551615");
    }
    assert_eq!(call("either", "\"123456789012345678901234567890\""), "123456789012345678901234567890");
}

#[test]
fn date_is_read_in_the_zone_that_it_names() {
    let folder = TestFolder::with_manifest(HELPERS);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    for (at, shown) in [
        ("2024-01-01T10:00[Europe/Paris]", "10:00 +0100 09:00"),
        ("2024-07-01T10:00+02:00[Europe/Paris]", "10:00 +0200 08:00"),
        ("2024-01-01T10:00Z", "10:00 +0000 10:00"),
        ("2024-01-01", "00:00 +0000 00:00"),
    ] {
        assert_eq!(client.call_text("date", json!({ "at": at })), shown, "{at}");
    }
    let wrong = client.call("date", json!({ "at": "2024-01-01T10:00+05:00[Europe/Paris]" }));
    assert_eq!(wrong["isError"], true, "{wrong}");
}

const NESTED: &str = r##"folio: 1
server: { name: numbers }
tools:
  free:
    description: D
    arguments:
      l: { type: array, items: { type: integer } }
      o: { type: object }
      x: { type: array, items: { type: number } }
      either: { anyOf: [{ type: string }, { type: number }] }
      deep: { type: object, properties: { a: { type: array, items: {} } } }
    result: { text: "{{json l}} {{json o}} {{json x}} {{json either}}" }
  schema:
    description: D
    inputSchema: { type: object, properties: { any: {}, number: { $ref: "#/$defs/number" } }, $defs: { number: { type: number } } }
    result: { text: "{{json any}} {{json number}}" }
prompts:
  say: { arguments: { l: { type: array, items: { type: integer } } }, text: "{{l}}" }
"##;

#[test]
fn nested_integers_beyond_64_bits_are_refused() {
    let folder = TestFolder::with_manifest(NESTED);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    let long = "123456789012345678901234567890";
    let words = "must be an integer of at most 64 bits; pass a longer one as a string";
    let call = |tool: &str, arguments: &str| {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let result = client.call(tool, arguments);
        (result["isError"] == true, text_of(&result["content"][0]))
    };
    for (tool, arguments, place) in [
        ("free", format!(r#"{{ "l": [1, {long}] }}"#), "l[1]"),
        ("free", format!(r#"{{ "o": {{ "a": {{ "b": [-{long}] }} }} }}"#), "o.a.b[0]"),
        ("free", r#"{ "o": { "a b": 18446744073709551616 } }"#.to_owned(), "o[\"a b\"]"),
        ("free", format!(r#"{{ "deep": {{ "a": [{long}] }} }}"#), "deep.a[0]"),
        ("schema", format!(r#"{{ "any": {{ "x": {long} }} }}"#), "any.x"),
        ("schema", format!(r#"{{ "other": {long} }}"#), "other"),
    ] {
        assert_eq!(call(tool, &arguments), (true, format!("`{place}` {words}")), "{arguments}");
    }
    let (is_error, said) = call("free", r#"{ "l": [18446744073709551615], "o": { "a": -9223372036854775808 } }"#);
    assert!(!is_error && said.starts_with(r#"[18446744073709551615] {"a":-9223372036854775808}"#), "{said}");
    // What may be any number has no digits to lose.
    let (is_error, said) =
        call("free", r#"{ "x": [1e300, 18446744073709551616], "either": 1e30, "o": { "f": 1e-300 } }"#);
    assert!(!is_error, "{said}");
    assert_eq!(call("schema", r#"{ "number": 1e30 }"#), (false, "null 1e+30".to_owned()));
    let error = client.error("prompts/get", json!({ "name": "say", "arguments": { "l": format!("[{long}]") } }));
    assert!(error["message"].as_str().unwrap().contains(&format!("`l[0]` {words}")), "{error}");
}

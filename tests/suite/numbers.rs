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
    assert_eq!(selected, r#"{"average":1000,"n":1000,"sum":1001}"#);
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

//! Results that do not fit the `outputSchema` of their tool: an error that says what was done, and shows it.

use serde_json::{Value, json};

use crate::harness::*;
use crate::upstream_server::{Reply, Upstream};

const SCHEMA: &str = "{ type: object, required: [id], properties: { id: { type: integer }, kind: { enum: [paper] }, cover: { type: string } } }";

/// The result of a tool with this `run` and the schema, and further keys.
fn call(run: &str, more: &str) -> Value {
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: shelf }}\nfolders: {{ f: . }}\ntools:\n  other: {{ description: O, result: {{ text: x }} }}\n  \
         t:\n    description: T\n    outputSchema: {SCHEMA}\n    run: {run}\n{more}"
    ));
    let server = folder.stdio();
    server.client(SESSION_VERSIONS[3]).call("t", json!({}))
}

fn text(result: &Value) -> String {
    result["content"].as_array().unwrap().iter().map(text_of).collect::<Vec<_>>().join("\n")
}

fn api() -> Upstream {
    Upstream::start(|request, _| {
        let json = [("Content-Type", "application/json")];
        match &*request.target {
            "/null" => Reply::json(200, &json!({ "id": 1, "cover": null })),
            "/enum" => Reply::json(201, &json!({ "id": 1, "kind": "ebook" })),
            "/list" => Reply::json(202, &json!([1])),
            "/nothing" => Reply::with_headers(204, &[], ""),
            "/empty" => Reply::with_headers(200, &json, ""),
            "/words" => Reply::with_headers(200, &[("Content-Type", "text/plain")], "Stored. It is fine."),
            "/broken" => Reply::with_headers(200, &json, "{\"id\": 7"),
            "/image" => Reply::with_headers(200, &[("Content-Type", "image/png")], b"\x89PNG\r\n\xff"),
            _ => Reply::json(200, &json!({ "id": 7 })),
        }
    })
}

#[test]
fn response_that_does_not_fit_is_said_to_be_carried_out_and_shown() {
    let api = api();
    for (path, status, reason, data) in [
        ("null", 200, "`cover` must be a string; got null", "{\"id\":1,\"cover\":null}"),
        ("enum", 201, "`kind` must be \"paper\"", "{\"id\":1,\"kind\":\"ebook\"}"),
        ("list", 202, "must be an object", "[1]"),
        ("nothing", 204, "missing structured content", ""),
        ("empty", 200, "missing structured content", ""),
        ("words", 200, "missing structured content", "Stored. It is fine."),
        ("broken", 200, "missing structured content", "{\"id\": 7"),
    ] {
        for method in ["GET", "POST"] {
            let result = call(&format!("{{ http: {{ method: {method}, url: \"{}/{path}\" }} }}", api.url()), "");
            let said = text(&result);
            let start =
                format!("the request was carried out: HTTP {status}; the response does not fit `outputSchema`: ");
            assert!(result["isError"] == true && said.starts_with(&start) && said.contains(reason), "{path}: {said}");
            assert!(said.ends_with(data) && result.get("structuredContent").is_none(), "{path}: {said}");
            assert_eq!(said.contains("do not call it again"), method == "POST", "{path}: {said}");
        }
    }
    let fits = call(&format!("{{ http: {{ url: \"{}/fits\" }} }}", api.url()), "");
    assert_eq!((&fits["structuredContent"], &fits["isError"]), (&json!({ "id": 7 }), &json!(false)));
    let image = call(&format!("{{ http: {{ url: \"{}/image\" }} }}", api.url()), "");
    assert_eq!((image["isError"] == true, &image["content"][1]["type"]), (true, &json!("image")), "{image}");
}

#[test]
fn selection_and_form_of_a_response_are_judged_in_the_same_way() {
    let api = api();
    let http = |path: &str| format!("{{ http: {{ method: POST, url: \"{}/{path}\" }} }}", api.url());
    let selected = text(&call(&http("words"), "    result: { select: id }\n"));
    let start =
        "the request was carried out: HTTP 200; the response does not fit `outputSchema`: `select` requires JSON";
    assert!(selected.starts_with(start) && selected.contains("\nStored. It is fine."), "{selected}");
    let parsed = text(&call(&http("words").replace(" } }", " }, parse: json }"), ""));
    let start = "the request was carried out: HTTP 200; invalid JSON in the output";
    assert!(parsed.starts_with(start) && parsed.ends_with("\nStored. It is fine."), "{parsed}");
}

#[test]
fn programs_and_steps_say_what_they_did() {
    let api = api();
    let http = format!("http: {{ method: POST, url: \"{}/enum\" }}", api.url());
    for (run, start, end) in [
        ("{ exec: [printf, '{\"id\": null}'] }", "the program ran: exit 0; its output does not fit", "{\"id\": null}"),
        (
            "{ exec: [sh, -c, 'echo done; exit 3'], okExit: [3] }",
            "the program ran: exit 3; its output does not fit",
            "done\n",
        ),
        ("{ script: { shell: sh, text: 'echo \"[1]\"' } }", "the program ran: exit 0; its output does not fit", "[1]"),
        ("{ exec: [printf, plain], parse: json }", "the program ran: exit 0; invalid JSON in the output", "plain"),
        ("{ tool: other }", "the action was carried out; its result does not fit", "x"),
        ("{ file: { read: folio.yaml, in: f } }", "the action was carried out; its result does not fit", ""),
        ("[{ exec: [printf, '{}'] }]", "the steps were carried out; their result does not fit", "{}"),
        (
            &format!("[{{ {http} }}]"),
            "the request was carried out: HTTP 201, as the last of the steps; their result",
            "\"ebook\"}",
        ),
    ] {
        let result = call(run, "");
        let said = text(&result);
        assert!(result["isError"] == true && said.starts_with(start) && said.ends_with(end), "{run}: {said}");
    }
}

#[test]
fn step_that_calls_such_a_tool_sees_the_same() {
    let folder = TestFolder::with_manifest(&format!(
        "folio: 1\nserver: {{ name: shelf }}\ntools:\n  inner: {{ description: I, outputSchema: {SCHEMA}, run: {{ exec: [printf, '[]'] }} }}\n  \
         outer: {{ description: O, run: [{{ id: a, tool: inner, onFail: continue }}], result: {{ text: \"{{{{steps.a.error.text}}}}\" }} }}\n"
    ));
    let server = folder.stdio();
    let said = server.client(SESSION_VERSIONS[3]).call_text("outer", json!({}));
    assert!(said.starts_with("the program ran: exit 0; its output does not fit") && said.ends_with("[]"), "{said}");
}

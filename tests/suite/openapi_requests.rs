//! Requests of tools that `folio init --openapi` writes: nothing of an operation is lost without a word.

use serde_json::{Value, json};

use crate::harness::*;
use crate::openapi::{description, import, import_value, read, tools};

/// What a tool would send for arguments.
fn sent(folder: &TestFolder, tool: &str, arguments: &Value) -> String {
    let arguments = arguments.as_object().unwrap().iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}={text}"),
        value => format!("{name}={value}"),
    });
    let arguments: Vec<String> = arguments.collect();
    let words: Vec<&str> =
        ["call", tool, "--dry-run", "-f", "out"].into_iter().chain(arguments.iter().map(String::as_str)).collect();
    let ran = run_folio(folder.path(), &words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.out.replace("%5B", "[").replace("%5D", "]")
}

fn imported(api: &Value) -> TestFolder {
    let folder = TestFolder::new(&[]);
    let ran = import_value(&folder, api, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    folder
}

/// A GET with these parameters.
fn get(parameters: Value) -> Value {
    description(json!({ "/a": { "get": { "operationId": "a", "parameters": parameters, "responses": {} } } }))
}

#[test]
fn objects_in_a_query_are_written_by_their_fields() {
    let object = json!({ "type": "object", "properties": { "gte": { "type": "integer" }, "in": { "type": "object", "additionalProperties": {} } } });
    let free = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let either = json!({ "anyOf": [object, { "type": "integer" }] });
    let objects = json!({ "type": "array", "items": object });
    for (style, explode, schema, value, query) in [
        ("deepObject", true, &either, json!({ "gte": 5 }), "x[gte]=5"),
        ("deepObject", true, &either, json!(5), "x=5"),
        ("deepObject", true, &object, json!({ "gte": 1, "in": { "a": [true] } }), "x[gte]=1&x[in][a][0]=true"),
        ("deepObject", true, &free, json!({ "k": "v w" }), "x[k]=v+w"),
        ("deepObject", true, &texts, json!(["a", "b"]), "x[0]=a&x[1]=b"),
        ("form", true, &object, json!({ "gte": 1 }), "gte=1"),
        ("form", true, &free, json!({ "k": "v" }), "k=v"),
        ("form", true, &texts, json!(["a", "b"]), "x=a&x=b"),
        ("form", true, &objects, json!([{ "gte": 1 }, { "gte": 2 }]), "x[0][gte]=1&x[1][gte]=2"),
        ("form", false, &free, json!({ "k": "v" }), "x=k%2Cv"),
    ] {
        let parameter = json!({ "name": "x", "in": "query", "style": style, "explode": explode, "schema": schema });
        let folder = imported(&get(json!([parameter])));
        let line = sent(&folder, "a", &json!({ "x": value }));
        assert!(
            line.starts_with(&format!("send GET https://pets.example/a?{query}\n")),
            "{style} {schema} {value}: {line}"
        );
        assert!(sent(&folder, "a", &json!({})).starts_with("send GET https://pets.example/a\n"));
    }
}

#[test]
fn objects_in_headers_are_joined() {
    let schema = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    for (explode, wanted) in [(false, "X-Tags: a,1,b,2"), (true, "X-Tags: a=1,b=2")] {
        let folder =
            imported(&get(json!([{ "name": "X-Tags", "in": "header", "explode": explode, "schema": schema }])));
        assert!(sent(&folder, "a", &json!({ "X_Tags": { "a": "1", "b": "2" } })).contains(wanted), "{wanted}");
        assert!(!sent(&folder, "a", &json!({})).contains("X-Tags"));
    }
}

#[test]
fn objects_in_forms_are_written_in_brackets() {
    let schema = json!({ "type": "object", "properties": {
        "email": { "type": "string" },
        "metadata": { "type": "object", "additionalProperties": { "type": "string" } },
        "tags": { "type": "array", "items": { "type": "string" } },
        "card": { "anyOf": [{ "type": "object", "properties": { "number": { "type": "string" } } }, { "type": "string" }] }
    } });
    let deep = json!({ "style": "deepObject", "explode": true });
    let encoding = json!({ "metadata": deep, "tags": deep, "card": deep });
    let content = json!({ "application/x-www-form-urlencoded": { "schema": schema, "encoding": encoding } });
    let folder = imported(&description(
        json!({ "/a": { "post": { "operationId": "a", "requestBody": { "content": content } } } }),
    ));
    let body = sent(
        &folder,
        "a",
        &json!({ "email": "e", "metadata": { "k": "v" }, "tags": ["t"], "card": { "number": "4" } }),
    );
    assert!(body.contains("email=e&metadata[k]=v&tags[0]=t&card[number]=4"), "{body}");
    assert!(sent(&folder, "a", &json!({ "card": "tok" })).contains("card=tok"));
}

#[test]
fn operation_that_is_a_reference_is_read() {
    let list =
        "operationId: listBooks\nsummary: List books\nparameters: [{ name: q, in: query, schema: { type: string } }]\n";
    let api = json!({
        "openapi": "3.0.3", "info": { "title": "Shelf", "version": "1" }, "servers": [{ "url": "https://shelf.example" }],
        "paths": { "/books": { "get": { "$ref": "ops/list.yaml" }, "post": { "$ref": "#/x-ops/add" }, "put": { "$ref": "#/x-ops/gone" } } },
        "x-ops": { "add": { "operationId": "addBook", "requestBody": { "content": { "application/json": { "schema": { "type": "object", "properties": { "title": { "type": "string" } } } } } } } }
    });
    let folder = TestFolder::new(&[("ops/list.yaml", list), ("api.json", &api.to_string())]);
    let ran = import(&folder, "api.json", &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("unresolved `$ref` `#/x-ops/gone`"), "{}", ran.err);
    let tools = tools(&folder, "tools/default.yaml");
    assert_eq!(
        (&tools["list-books"]["description"], &tools["list-books"]["arguments"]),
        (&json!("List books"), &json!({ "q": {} }))
    );
    assert_eq!(tools["add-book"]["arguments"], json!({ "title": {} }));
}

#[test]
fn default_of_a_required_parameter_is_sent() {
    let parameter =
        |name: &str, schema: Value| json!({ "name": name, "in": "query", "required": true, "schema": schema });
    let object =
        json!({ "type": "object", "properties": { "required": { "type": "boolean" } }, "required": ["required"] });
    let folder = imported(&get(json!([
        parameter("format", json!({ "type": "string", "default": "json", "enum": ["json", "xml"] })),
        parameter("v", json!({ "type": "integer", "default": 1 })),
        parameter("wrong", json!({ "type": "integer", "default": "x" })),
        { "name": "o", "in": "query", "style": "deepObject", "schema": object }
    ])));
    assert!(sent(&folder, "a", &json!({ "wrong": 3 })).contains("/a?format=json&v=1&wrong=3\n"));
    let ran = run_folio(folder.path(), &["call", "a", "--dry-run", "-f", "out"]);
    assert!(ran.err.contains("`wrong`") && !ran.err.contains("`v`"), "{ran:?}");
}

#[test]
fn base_urls_keep_what_the_description_says() {
    let operation = |id: &str| json!({ "get": { "operationId": id, "responses": {} } });
    for (servers, own, wanted) in [
        (json!([{ "url": "/api/v3" }]), json!(null), "https://given.example/api/v3/a"),
        (json!([{ "url": "//api.example.com/v1" }]), json!(null), "https://api.example.com/v1/a"),
        (json!([{ "url": "api.example.com/v1/" }]), json!(null), "https://api.example.com/v1/a"),
        (
            json!([{ "url": "https://api.example.com/v1" }]),
            json!([{ "url": "/upload" }]),
            "https://api.example.com/upload/a",
        ),
        (json!([{ "url": "https://api.example.com/v1" }]), json!([]), "https://api.example.com/v1/a"),
        (json!([]), json!(null), "https://given.example/a"),
    ] {
        let mut api = description(json!({ "/a": operation("a") }));
        api["servers"] = servers.clone();
        if !own.is_null() {
            api["paths"]["/a"]["get"]["servers"] = own.clone();
        }
        let folder = imported(&api);
        let ran = std::process::Command::new(FOLIO_BIN)
            .args(["call", "a", "--dry-run", "-f", "out"])
            .env("PETS_URL", if wanted.contains("given") { "https://given.example" } else { "" })
            .current_dir(folder.path())
            .output()
            .unwrap();
        let line = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(line.starts_with(&format!("send GET {wanted}\n")), "{servers} {own}: {ran:?}");
    }
}

#[test]
fn names_of_parameters_that_mean_something_else_are_written_all_the_same() {
    let names = ["else", "properties", "type", "required", "this", "each"];
    let parameters: Vec<Value> =
        names.iter().map(|name| json!({ "name": name, "in": "query", "schema": { "type": "string" } })).collect();
    let folder = imported(&get(json!(parameters)));
    let query = tools(&folder, "tools/default.yaml")["a"]["run"]["http"]["query"].clone();
    assert_eq!(query.as_object().unwrap().keys().collect::<Vec<_>>(), names);
    let body = |name: &str| json!({ "application/json": { "schema": { "type": "object", "properties": { name: { "type": "string" } } } } });
    let folder = imported(&description(
        json!({ "/a": { "post": { "operationId": "a", "requestBody": { "content": body("file") } } } }),
    ));
    assert!(sent(&folder, "a", &json!({ "body": { "file": "x" } })).contains(r#"{"file":"x"}"#));
}

#[test]
fn body_of_a_get_is_warned_of() {
    let body = |required: bool| json!({ "required": required, "content": { "application/json": { "schema": { "type": "object", "properties": { "q": { "type": "string" } } } } } });
    let operation = |id: &str, body: Value| json!({ "get": { "operationId": id, "requestBody": body } });
    let empty = json!({ "content": { "application/json": { "schema": { "type": "object", "properties": {} } } } });
    for (body, words) in [
        (body(true), "a GET request with a body is left out"),
        (body(false), "a GET request with a body is sent without it"),
        (empty, ""),
    ] {
        let folder = TestFolder::new(&[]);
        let api = description(json!({ "/a": operation("a", body), "/b": { "get": { "operationId": "b" } } }));
        let ran = import_value(&folder, &api, &[]);
        assert!(ran.code == Some(0) && ran.err.contains(words), "{ran:?}");
        assert_eq!(ran.err.is_empty(), words.is_empty(), "{}", ran.err);
        assert_eq!(tools(&folder, "tools/default.yaml")["a"].is_null(), words.ends_with("left out"));
    }
}

#[test]
fn answers_have_no_output_schema() {
    let schema = json!({ "type": "object", "required": ["id"], "properties": { "id": { "type": "integer" } } });
    let responses = json!({ "200": { "content": { "application/json": { "schema": schema } } }, "204": { "description": "nothing" } });
    let folder = imported(&description(json!({ "/a": { "get": { "operationId": "a", "responses": responses } } })));
    assert!(!read(&folder, "tools/default.yaml").contains("outputSchema"));
}

#[test]
fn schemas_are_written_so_that_no_client_refuses_them() {
    let tree = json!({ "type": "object", "properties": { "children": { "type": "array", "items": { "$ref": "#/components/schemas/Tree" } } } });
    let properties = json!({
        "list": { "type": "array" }, "size": { "type": "integer", "enum": [1, 2] }, "maybe": { "enum": ["a", null] },
        "any": {}, "tree": { "$ref": "#/components/schemas/Tree" },
        "object": { "type": "object", "required": ["gone"], "properties": { "x": {} } },
        "flag": { "type": "boolean", "enum": [true] }, "named": { "const": "x" }
    });
    let content = json!({ "application/json": { "schema": { "type": "object", "properties": properties } } });
    let mut api = description(json!({
        "/a": { "post": { "operationId": "a", "requestBody": { "content": content } } },
        "/b": { "get": { "operationId": "b", "parameters": [{ "name": "f", "in": "query", "schema": {} }] } },
        "/c": { "get": { "operationId": "c" } }
    }));
    api["components"] = json!({ "schemas": { "Tree": tree } });
    let folder = imported(&api);
    let ran = run_folio(
        folder.path(),
        &["check", "out", "--strict", "--format", "lines", "--clients", "vscode,gemini,codex,claude-code"],
    );
    let said: Vec<&str> = ran.out.lines().filter(|line| !line.contains(": note[")).collect();
    assert_eq!(said, Vec::<&str>::new());
}

#[test]
fn parameters_of_a_media_type_are_sent() {
    let schema = json!({ "type": "object", "properties": { "q": { "type": "string" } } });
    for (media_type, wanted) in [
        ("application/json;v=1.0", "Content-Type: application/json;v=1.0\n"),
        (
            "application/json; odata=minimalmetadata; charset=utf-8",
            "Content-Type: application/json; odata=minimalmetadata\n",
        ),
        ("application/json; charset=utf-8", "Content-Type: application/json\n"),
    ] {
        let content = json!({ media_type: { "schema": schema } });
        let folder = imported(&description(
            json!({ "/a": { "post": { "operationId": "a", "requestBody": { "content": content } } } }),
        ));
        let request = sent(&folder, "a", &json!({ "q": "x" }));
        assert!(request.contains(wanted) && request.contains(r#"{"q":"x"}"#), "{media_type}: {request}");
    }
}

#[test]
fn list_that_may_be_a_text_is_joined() {
    let either = json!({ "oneOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] });
    let folder = imported(&get(json!([
        { "name": "pipes", "in": "query", "style": "pipeDelimited", "explode": false, "schema": either },
        { "name": "commas", "in": "query", "explode": false, "schema": either },
        { "name": "X-List", "in": "header", "schema": either }
    ])));
    let list = json!(["a", "b"]);
    let request = sent(&folder, "a", &json!({ "pipes": list, "commas": list, "X_List": list }));
    assert!(request.contains("/a?pipes=a%7Cb&commas=a,b\n") && request.contains("X-List: a,b\n"), "{request}");
    let request = sent(&folder, "a", &json!({ "pipes": "a", "commas": "b", "X_List": "c" }));
    assert!(request.contains("/a?pipes=a&commas=b\n") && request.contains("X-List: c\n"), "{request}");
    let request = sent(&folder, "a", &json!({}));
    assert!(request.starts_with("send GET https://pets.example/a\n") && !request.contains("X-List"), "{request}");
}

#[test]
fn forms_have_the_fields_of_their_alternatives() {
    let text = json!({ "type": "string" });
    let code = json!({ "type": "object", "required": ["kind", "code"], "properties": { "kind": { "const": "code" }, "code": text } });
    let user = json!({ "type": "object", "required": ["kind", "user"], "properties": { "kind": { "const": "user" }, "user": text } });
    let either = json!({ "oneOf": [code, user] });
    let free = json!({ "type": "object", "additionalProperties": text });
    let mixed = json!({
        "type": "object", "properties": { "a": text }, "additionalProperties": text,
        "anyOf": [{ "properties": { "b": text } }, { "properties": { "c": text } }]
    });
    let operation = |id: &str, media_type: &str, schema: &Value| {
        let content = json!({ media_type: { "schema": schema } });
        json!({ "post": { "operationId": id, "requestBody": { "required": true, "content": content } } })
    };
    let form = "application/x-www-form-urlencoded";
    let folder = imported(&description(json!({
        "/either": operation("either", form, &either), "/parts": operation("parts", "multipart/form-data", &either),
        "/free": operation("free", form, &free), "/mixed": operation("mixed", form, &mixed)
    })));
    assert!(sent(&folder, "either", &json!({ "kind": "user", "user": "u" })).contains("kind=user&user=u"));
    assert!(sent(&folder, "free", &json!({ "body": { "k": "v" } })).contains("k=v"));
    let request = sent(&folder, "mixed", &json!({ "a": "1", "b": "2", "c": "3", "body": { "d": "4" } }));
    assert!(request.contains("a=1&b=2&c=3&d=4"), "{request}");
    let parts = sent(&folder, "parts", &json!({ "kind": "code", "code": "x" }));
    assert!(parts.contains("kind") && parts.contains("code"), "{parts}");
    for (tool, words) in [("either", "`kind`"), ("parts", "`kind`"), ("free", "`body`")] {
        let ran = run_folio(folder.path(), &["call", tool, "--dry-run", "-f", "out"]);
        assert!(ran.err.contains(words) && !ran.err.contains("`user`"), "{ran:?}");
    }
    let named = json!({ "type": "object", "properties": { "a": text }, "additionalProperties": true });
    for schema in [&free, &named, &text, &json!({ "oneOf": [code, free] })] {
        let parts = operation("a", "multipart/form-data", schema);
        let ran = import_value(&TestFolder::new(&[]), &description(json!({ "/a": parts })), &[]);
        assert!(ran.err.contains("unsupported fields of any name in a multipart body"), "{schema}: {}", ran.err);
        assert!(!ran.err.contains("takes fields of any name"), "{schema}: {}", ran.err);
    }
}

#[test]
fn forms_take_other_fields_where_they_say_so() {
    let text = json!({ "type": "string" });
    let named = json!({ "type": "object", "properties": { "a": text } });
    let free = json!({ "type": "object", "additionalProperties": text });
    let answered = json!({ "type": "object", "properties": { "id": { "type": "string", "readOnly": true } } });
    let open = json!({ "type": "object", "properties": { "a": text }, "additionalProperties": true });
    for (schema, is_free, is_warned) in [
        (json!({ "oneOf": [named, free] }), true, false),
        (json!({ "anyOf": [named, { "type": "object" }] }), true, false),
        (open, true, false),
        (json!({}), true, false),
        (json!(null), true, false),
        (text.clone(), true, true),
        (json!({ "type": "array", "items": named }), true, true),
        (json!({ "oneOf": [named, text] }), false, true),
        (named, false, false),
        (answered, false, false),
        (json!({ "type": "object", "additionalProperties": false }), false, false),
    ] {
        let media = if schema.is_null() { json!({}) } else { json!({ "schema": schema }) };
        let content = json!({ "application/x-www-form-urlencoded": media });
        let api =
            description(json!({ "/a": { "post": { "operationId": "a", "requestBody": { "content": content } } } }));
        let folder = TestFolder::new(&[]);
        let ran = import_value(&folder, &api, &[]);
        assert_eq!(ran.err.contains("of a form is no object"), is_warned, "{schema}: {ran:?}");
        let arguments = tools(&folder, "tools/default.yaml")["a"]["arguments"].clone();
        assert_eq!(arguments.get("body").is_some(), is_free, "{schema}: {arguments}");
        if is_free {
            assert!(sent(&folder, "a", &json!({ "body": { "k": "v" } })).contains("k=v"), "{schema}");
        }
    }
}

#[test]
fn list_in_a_path_that_may_be_something_else_is_warned_of() {
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let either = json!({ "oneOf": [{ "type": "string" }, texts] });
    let nested = json!({ "type": "array", "items": texts });
    for (schema, is_warned) in [(either, true), (nested, true), (texts, false)] {
        let parameter = json!({ "name": "x", "in": "path", "required": true, "schema": schema });
        let api = description(json!({ "/a/{x}": { "get": { "operationId": "a", "parameters": [parameter] } } }));
        let ran = import_value(&TestFolder::new(&[]), &api, &[]);
        assert_eq!(ran.err.contains("unsupported list in a path"), is_warned, "{schema}: {ran:?}");
    }
}

#[test]
fn media_type_that_is_a_reference_is_read() {
    let schema = json!({ "type": "object", "properties": { "q": { "type": "string" } } });
    let content = json!({ "application/json": { "$ref": "#/components/mediaTypes/query" } });
    let mut api =
        description(json!({ "/a": { "post": { "operationId": "a", "requestBody": { "content": content } } } }));
    api["openapi"] = json!("3.2.0");
    api["components"] = json!({ "mediaTypes": { "query": { "schema": schema } } });
    assert!(sent(&imported(&api), "a", &json!({ "q": "x" })).contains(r#"{"q":"x"}"#));
}

#[test]
fn operations_that_no_request_can_send_are_warned_of() {
    let operation = json!({ "operationId": "b", "responses": {} });
    let item = json!({ "get": { "operationId": "a" }, "query": operation, "trace": operation, "additionalOperations": { "COPY": operation } });
    let mut api = description(json!({ "/a": item }));
    api["openapi"] = json!("3.2.0");
    let ran = import_value(&TestFolder::new(&[]), &api, &[]);
    for method in ["query", "trace", "additionalOperations"] {
        assert!(ran.err.contains(&format!("unsupported method `{method}`")), "{method}: {ran:?}");
    }
}

#[test]
fn query_of_a_server_is_part_of_each_request() {
    let parameters = json!([{ "name": "own", "in": "query", "schema": { "type": "string" } }]);
    let mut api = description(json!({
        "/a": { "get": { "operationId": "a", "parameters": parameters } }, "b": { "get": { "operationId": "b" } }
    }));
    api["servers"] = json!([{ "url": "https://pets.example/v1?api-version=3&own=x" }]);
    let folder = imported(&api);
    let line = sent(&folder, "a", &json!({ "own": "y" }));
    assert!(line.starts_with("send GET https://pets.example/v1/a?own=y&api-version=3\n"), "{line}");
    // A path without a slash is below the server all the same.
    let line = sent(&folder, "b", &json!({}));
    assert!(line.starts_with("send GET https://pets.example/v1/b?api-version=3&own=x\n"), "{line}");
    api["servers"] = json!([{ "url": "https://pets.example/v1?key={{key}}&v=1" }]);
    let folder = TestFolder::new(&[]);
    let ran = import_value(&folder, &api, &[]);
    assert!(ran.err.contains("the value of `key` in the server URL holds a template"), "{ran:?}");
    assert!(sent(&folder, "b", &json!({})).starts_with("send GET https://pets.example/v1/b?v=1\n"));
}

#[test]
fn host_without_one_of_its_names_is_asked_for() {
    let mut api = get(json!([]));
    api["servers"] = json!([{ "url": "https://{tenant}.example.com", "variables": { "tenant": { "default": "" } } }]);
    let folder = TestFolder::new(&[]);
    let ran = import_value(&folder, &api, &[]);
    assert!(ran.err.contains("missing server URL: the variable `PETS_URL` has to name it"), "{}", ran.err);
    let manifest = read(&folder, "folio.yaml");
    assert!(manifest.contains("required: true") && !manifest.contains("example.com"), "{manifest}");
}

//! Credentials of a server that `folio init --openapi` writes.

use serde_json::{Value, json};

use crate::harness::*;
use crate::openapi::{description, import, import_value, read, tools};
use crate::upstream_server::{Reply, Upstream};

/// A description of two operations with these security schemes, of which each takes what `security` says.
fn secured(schemes: Value, security: Value) -> Value {
    let operation = |id: &str| json!({ "get": { "operationId": id, "responses": {} } });
    let mut api = description(json!({ "/a": operation("a"), "/b": operation("b") }));
    api["security"] = security;
    api["components"] = json!({ "securitySchemes": schemes });
    api
}

/// What the import says, and the manifest that it writes.
fn imported(api: &Value) -> (String, String) {
    let folder = TestFolder::new(&[]);
    let ran = import_value(&folder, api, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    (ran.err, read(&folder, "folio.yaml"))
}

#[test]
fn oauth_flows_become_a_bearer_token_that_is_asked_for() {
    let url = "https://login.example/x";
    for (scheme, source) in [
        (
            json!({ "type": "oauth2", "flows": { "password": { "tokenUrl": "/login", "scopes": {} } } }),
            "password: tokenUrl /login",
        ),
        (
            json!({ "type": "oauth2", "flows": { "implicit": { "authorizationUrl": url, "scopes": {} } } }),
            "implicit: authorizationUrl https://login.example/x",
        ),
        (
            json!({ "type": "oauth2", "flows": { "clientCredentials": { "tokenUrl": url }, "authorizationCode": { "authorizationUrl": url, "tokenUrl": url } } }),
            "authorizationCode: authorizationUrl https://login.example/x",
        ),
        (
            json!({ "type": "oauth2", "flows": { "clientCredentials": { "tokenUrl": "/relative" } } }),
            "clientCredentials: tokenUrl /relative",
        ),
        (json!({ "type": "oauth2" }), "the API's OAuth server"),
        (json!({ "type": "openIdConnect", "openIdConnectUrl": url }), "from https://login.example/x"),
    ] {
        let (said, manifest) = imported(&secured(json!({ "login": scheme }), json!([{ "login": ["read"] }])));
        assert!(manifest.contains("auth: { bearer: \"{{env.PETS_TOKEN}}\" }"), "{scheme}: {manifest}");
        assert!(
            manifest
                .contains("PETS_TOKEN: { description: The token that the API asks for, required: true, secret: true }"),
            "{manifest}"
        );
        assert!(said.contains("set `PETS_TOKEN` to an access token") && said.contains(source), "{scheme}: {said}");
    }
    let (said, _) =
        imported(&secured(json!({ "plain": { "type": "http", "scheme": "bearer" } }), json!([{ "plain": [] }])));
    assert_eq!(said, "");
}

#[test]
fn swagger_2_flows_become_a_bearer_token() {
    let scheme = json!({ "type": "oauth2", "flow": "accessCode", "tokenUrl": "https://pets.example/token", "authorizationUrl": "https://pets.example/ask" });
    let mut api = secured(json!({}), json!([{ "login": [] }]));
    let map = api.as_object_mut().unwrap();
    map.remove("openapi");
    map.extend(
        json!({ "swagger": "2.0", "host": "pets.example", "securityDefinitions": { "login": scheme } })
            .as_object()
            .unwrap()
            .clone(),
    );
    let (said, manifest) = imported(&api);
    assert!(manifest.contains("auth: { bearer: \"{{env.PETS_TOKEN}}\" }"), "{manifest}");
    assert!(said.contains("authorizationCode: tokenUrl https://pets.example/token"), "{said}");
}

#[test]
fn bearer_comes_before_basic() {
    let schemes =
        json!({ "basic": { "type": "http", "scheme": "basic" }, "token": { "type": "http", "scheme": "bearer" } });
    let (_, manifest) = imported(&secured(schemes, json!([{ "basic": [] }, { "token": [] }])));
    assert!(manifest.contains("bearer") && !manifest.contains("USERNAME"), "{manifest}");
}

#[test]
fn password_may_be_empty_and_a_key_is_secret() {
    for (words, is_secret) in [("Your key is the user name, the password is empty", true), ("", false)] {
        let scheme = json!({ "type": "http", "scheme": "basic", "description": words });
        let folder = TestFolder::new(&[]);
        let api = secured(json!({ "basic": scheme }), json!([{ "basic": [] }]));
        assert_eq!(import_value(&folder, &api, &[]).code, Some(0));
        let manifest = read(&folder, "folio.yaml");
        let (_, variables) = manifest.split_once("PETS_USERNAME:").unwrap();
        let (username, password) = variables.split_once("PETS_PASSWORD:").unwrap();
        assert_eq!(username.contains("secret: true"), is_secret, "{manifest}");
        let (password, _) = password.split_once("connections:").unwrap();
        assert!(password.contains("secret: true") && !password.contains("required"), "{manifest}");
        let ran = std::process::Command::new(FOLIO_BIN)
            .args(["call", "a", "--dry-run", "-f", "out"])
            .env("PETS_USERNAME", "key-1234")
            .env("PETS_PASSWORD", "")
            .current_dir(folder.path())
            .output()
            .unwrap();
        let sent = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success() && sent.contains("Authorization: "), "{ran:?}");
    }
}

#[test]
fn key_that_most_operations_take_as_a_parameter_is_a_credential() {
    let key = |name: &str, place: &str, required: bool| json!({ "name": name, "in": place, "required": required, "schema": { "type": "string" } });
    let api = |name: &str, place: &str, required: bool| {
        let operation = |id: &str| json!({ "get": { "operationId": id, "parameters": [key(name, place, required), key("q", "query", false)] } });
        description(
            json!({ "/a": operation("a"), "/b": operation("b"), "/c": operation("c"), "/d": { "get": { "operationId": "d" } } }),
        )
    };
    for (name, place, required, auth) in [
        ("api_key", "query", true, "auth: { query: { name: api_key, value: \"{{env.PETS_API_KEY}}\" } }"),
        ("token", "query", true, "auth: { query: { name: token, value: \"{{env.PETS_API_KEY}}\" } }"),
        ("X-Api-Key", "header", true, "auth: { header: { name: X-Api-Key, value: \"{{env.PETS_API_KEY}}\" } }"),
        ("key", "query", false, "auth: { query: { name: key, value: \"{{default env.PETS_API_KEY ''}}\" } }"),
    ] {
        let folder = TestFolder::new(&[]);
        assert_eq!(import_value(&folder, &api(name, place, required), &[]).code, Some(0));
        let manifest = read(&folder, "folio.yaml");
        assert!(manifest.contains(auth), "{auth}\n{manifest}");
        let tool = &tools(&folder, "tools/default.yaml")["a"];
        assert_eq!(tool["arguments"], json!({ "q": {} }), "{name}");
        // One operation does without.
        assert!(!manifest.contains("required: true"), "{manifest}");
    }
    // A token in the header and in the query is one; a parameter of few operations is none.
    let mut both = api("token", "query", true);
    both["security"] = json!([{ "bearer": [] }]);
    both["components"] = json!({ "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } } });
    both["paths"]["/d"]["get"]["parameters"] = json!([key("access_token", "query", true)]);
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &both, &[]).code, Some(0));
    let written = tools(&folder, "tools/default.yaml");
    assert_eq!(written["a"]["arguments"], json!({ "q": {} }));
    assert_eq!(written["d"]["arguments"], json!({ "access_token": { "required": true } }));
    assert!(read(&folder, "folio.yaml").contains("auth: { bearer: \"{{env.PETS_TOKEN}}\" }"));
    // What few operations take is an argument.
    let operation = |id: &str, parameters: Value| json!({ "get": { "operationId": id, "parameters": parameters } });
    let few = description(
        json!({ "/a": operation("a", json!([key("key", "query", true)])), "/b": operation("b", json!([])) }),
    );
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &few, &[]).code, Some(0));
    assert_eq!(tools(&folder, "tools/default.yaml")["a"]["arguments"], json!({ "key": { "required": true } }));
}

#[test]
fn two_keys_of_one_query_are_both_sent() {
    let key = |name: &str| json!({ "type": "apiKey", "in": "query", "name": name });
    let mut api = secured(json!({ "one": key("key"), "two": key("token") }), json!([{ "one": [], "two": [] }]));
    api["servers"] = json!([{ "url": "https://pets.example" }]);
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &api, &[]).code, Some(0));
    let ran = std::process::Command::new(FOLIO_BIN)
        .args(["call", "a", "--dry-run", "-f", "out"])
        .envs([("PETS_API_KEY", "first-secret"), ("PETS_TWO_API_KEY", "second-secret")])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let sent = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(sent.contains("token=") && sent.contains("key=") && !sent.contains("-secret"), "{sent}");
}

#[test]
fn credentials_beside_others_are_asked_for() {
    let key = |place: &str, name: &str| json!({ "type": "apiKey", "in": place, "name": name });
    let bearer = json!({ "type": "http", "scheme": "bearer" });
    for (one, two) in [(key("header", "X-Key"), bearer), (key("query", "a"), key("query", "b"))] {
        let mut api = secured(json!({ "one": one, "two": two }), json!([]));
        api["paths"]["/a"]["get"]["security"] = json!([{ "one": [], "two": [] }]);
        let folder = TestFolder::new(&[]);
        assert_eq!(import_value(&folder, &api, &[]).code, Some(0));
        let manifest = read(&folder, "folio.yaml");
        let names: Vec<&str> = manifest
            .lines()
            .filter(|line| line.contains("secret: true"))
            .filter_map(|line| line.trim().split(':').next())
            .collect();
        assert_eq!(names.len(), 2, "{manifest}");
        for (set, missing) in [(names[0], names[1]), (names[1], names[0])] {
            let ran = std::process::Command::new(FOLIO_BIN)
                .args(["call", "a", "-f", "out"])
                .env(set, "some-secret")
                .current_dir(folder.path())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert!(said.contains(&format!("missing credential: variable `{missing}` is not set")), "{said}");
        }
    }
}

#[test]
fn cookies_of_schemes_and_parameters_are_one_header() {
    let cookie = |name: &str| json!({ "type": "apiKey", "in": "cookie", "name": name });
    let mut api = secured(json!({ "one": cookie("sid"), "two": cookie("csrf") }), json!([{ "one": [], "two": [] }]));
    let theme = json!({ "name": "theme", "in": "cookie", "schema": { "type": "string" } });
    api["paths"]["/a"]["get"]["parameters"] = json!([theme]);
    let upstream = Upstream::start(|_, _| Reply::json(200, &json!({})));
    api["servers"] = json!([{ "url": upstream.url() }]);
    let folder = TestFolder::new(&[]);
    assert_eq!(import_value(&folder, &api, &[]).code, Some(0));
    for argument in [Some("theme=dark"), None] {
        let ran = std::process::Command::new(FOLIO_BIN)
            .args(["call", "a", "-f", "out"])
            .args(argument)
            .envs([("PETS_API_KEY", "first-secret"), ("PETS_TWO_API_KEY", "second-secret")])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }
    let requests = upstream.requests();
    let cookies: Vec<Option<&str>> = requests.iter().map(|request| request.header("cookie")).collect();
    let both = "sid=first-secret; csrf=second-secret";
    assert_eq!(cookies, [Some(format!("{both}; theme=dark").as_str()), Some(both)]);
}

#[test]
fn cookie_that_would_displace_a_credential_is_warned_of() {
    let schemes = json!({
        "sid": { "type": "apiKey", "in": "cookie", "name": "sid" }, "user": { "type": "http", "scheme": "basic" }
    });
    let mut api = secured(schemes, json!([{ "sid": [], "user": [] }]));
    api["paths"]["/a"]["get"]["parameters"] =
        json!([{ "name": "theme", "in": "cookie", "schema": { "type": "string" } }]);
    let (said, manifest) = imported(&api);
    assert!(said.contains("unsupported parameter: a cookie"), "{said}");
    assert!(manifest.contains("Cookie: \"sid={{env."), "{manifest}");
}

#[test]
fn password_in_a_url_is_not_shown() {
    for url in [
        "https://u:hunter22@pets.example",
        "http://u:hunter22@10.0.0.1",
        "//u:hunter22@pets.example/v1",
        "u:hunter22@pets.example/v1",
        "https://hunter22@pets.example",
        "https://u:hunter@22@pets.example",
    ] {
        let mut api =
            secured(json!({ "far": { "$ref": "https://u:hunter22@b.example/x.yaml" } }), json!([{ "far": [] }]));
        api["servers"] = json!([{ "url": url }]);
        api["paths"]["/a"]["get"]["parameters"] = json!([{ "name": "x", "in": "nowhere" }]);
        let lines = serde_json::to_string_pretty(&api).unwrap();
        for text in [api.to_string(), api.to_string().replace('/', "\\/"), lines] {
            let folder = TestFolder::new(&[("api.json", &text)]);
            let ran = import(&folder, "api.json", &[]);
            assert!(ran.err.contains("user name and password of the server URL left out"), "{ran:?}");
            assert!(ran.err.contains("unsupported parameter location"), "{ran:?}");
            assert!(!ran.err.contains("hunter") && !ran.err.contains("22@"), "{url}: {}", ran.err);
            assert!(!read(&folder, "folio.yaml").contains("hunter"), "{url}");
        }
    }
}

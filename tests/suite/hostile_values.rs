//! Hostile values in every place of a manifest that takes values: each arrives exactly, or is refused, and adds nothing.
//!
//! [`SLOTS`] and [`CONNECTION_SLOTS`] are the places of requests. A key of a request or of a connection that the schema
//! has and no table names fails [`every_key_of_requests_has_hostile_values`]; so does a slot of the template language.

use std::collections::{BTreeSet, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::harness::*;
use crate::upstream_server::{RecordedRequest, Reply, Upstream};

/// What breaks out of headers, URLs, forms, parts, JSON, templates, shells, terminals or lines of a log.
const FRAGMENTS: &[&str] = &[
    "\r\nX-Injected: 1",
    "\n",
    "\r",
    "\r\n\r\n",
    "\r\nContent-Length: 0\r\n\r\nGET /injected HTTP/1.1\r\nHost: x\r\n\r\n",
    "\r\n--",
    "\0",
    "\t",
    " ",
    "\u{b}",
    "\u{c}",
    "\u{1b}[31m",
    "\u{1b}]0;x\u{7}",
    "\u{7f}",
    "\u{80}",
    "\u{85}",
    "\u{9b}31m",
    "\u{a0}",
    "\u{ad}",
    "\u{200b}",
    "\u{2028}",
    "\u{2029}",
    "\u{202e}",
    "\u{feff}",
    "\u{fffd}",
    "\u{ffff}",
    "\u{e000}",
    "😀",
    "é",
    "e\u{301}",
    "日本",
    "&",
    "&injected=1",
    "?injected=1",
    "#injected",
    ";injected=1",
    "=",
    "%",
    "%00",
    "%0d%0aX-Injected:%201",
    "%2e%2e",
    "%2F",
    "%zz",
    "+",
    "/",
    "//",
    "/../",
    "..",
    ".",
    "\\",
    "..\\",
    "@injected.invalid",
    ":",
    "://",
    "\"",
    "'",
    "\"; filename=\"injected",
    "\"\r\nX-Injected: 1",
    "{{injected}}",
    "{{env.SECRET}}",
    "}}",
    "{{{x}}}",
    "${IFS}",
    "$(touch injected)",
    "`touch injected`",
    "; touch injected",
    "| cat",
    "&& touch injected",
    "-rf",
    "--injected",
    "~",
    "*",
    "[x]",
    "<script>",
    "]]>",
    ",",
    ", Bearer injected",
    "null",
    "true",
    "0",
    "{}",
    "\\n",
    "\\u0000",
    "1999-01-01T00:00:00.000000Z  INFO injected",
    "\n1999-01-01T00:00:00.000000Z ERROR injected",
    "\r\u{1b}[2K1999-01-01T00:00:00.000000Z ERROR injected",
    "\u{2028}1999-01-01T00:00:00.000000Z ERROR injected",
];

/// Each fragment alone, at the beginning, in the middle, at the end, and twice; nothing; and something long.
fn values() -> Vec<String> {
    let around = |fragment: &&str| {
        [
            (*fragment).to_owned(),
            format!("{fragment}b"),
            format!("a{fragment}b"),
            format!("a{fragment}"),
            format!("{fragment}{fragment}"),
        ]
    };
    let long = ["x".repeat(5_000), "é\n".repeat(2_000)];
    let all: BTreeSet<String> =
        FRAGMENTS.iter().flat_map(around).chain(long).chain([String::new(), "plain".to_owned()]).collect();
    assert!(all.len() >= 300, "{}", all.len());
    all.into_iter().collect()
}

/// A place of a request that takes values.
struct HttpSlot {
    /// The key, as the schema names it.
    key: &'static str,
    /// The keys of the request, in which `URL` is the address of the upstream.
    http: fn() -> Value,
    /// What the upstream takes for the value.
    decode: fn(&[&RecordedRequest]) -> Option<String>,
}

/// Every place of a request whose template sees the arguments of a call.
const SLOTS: &[HttpSlot] = &[
    HttpSlot {
        key: "HttpRequest.url",
        http: || json!({ "url": "URL/p/{{v}}/end" }),
        decode: |requests| path_segment(requests[0], 2),
    },
    HttpSlot {
        key: "HttpRequest.url",
        http: || json!({ "url": "URL/?q={{v}}&z=1" }),
        decode: |requests| parameter(requests[0], "q"),
    },
    HttpSlot {
        key: "HttpRequest.query",
        http: || json!({ "url": "URL/", "query": { "q": "{{v}}", "z": "1" } }),
        decode: |requests| parameter(requests[0], "q"),
    },
    HttpSlot {
        key: "HttpRequest.headers",
        http: || json!({ "url": "URL/", "headers": { "X-V": "[{{v}}]" } }),
        decode: |requests| bracketed(requests[0].header("x-v")?),
    },
    HttpSlot {
        key: "HttpRequest.json",
        http: || json!({ "url": "URL/", "json": { "v": "{{v}}", "text": "[{{v}}]" } }),
        decode: |requests| {
            let body: Value = serde_json::from_str(&requests[0].body).ok()?;
            let value = body["v"].as_str()?.to_owned();
            (bracketed(body["text"].as_str()?)? == value && body.as_object()?.len() == 2).then_some(value)
        },
    },
    HttpSlot {
        key: "HttpRequest.form",
        http: || json!({ "url": "URL/", "form": { "v": "{{v}}", "z": "1" } }),
        decode: |requests| form_field(requests[0], "v"),
    },
    HttpSlot {
        key: "HttpRequest.body",
        http: || json!({ "url": "URL/", "body": "[{{v}}]" }),
        decode: |requests| bracketed(&requests[0].body),
    },
    HttpSlot {
        key: "BodyBytes.base64",
        http: || json!({ "url": "URL/", "body": { "base64": "{{base64 v}}" } }),
        decode: |requests| Some(requests[0].body.clone()),
    },
    HttpSlot {
        key: "HttpRequest.multipart",
        http: || json!({ "url": "URL/", "multipart": { "v": "[{{v}}]", "z": "1" } }),
        decode: |requests| bracketed(&parts(requests[0]).first()?.1),
    },
    HttpSlot {
        key: "FilePart.filename",
        http: || json!({ "url": "URL/", "multipart": { "f": { "file": "f.txt", "filename": "{{v}}" }, "z": "1" } }),
        decode: |requests| {
            let head = parts(requests[0]).into_iter().next()?.0;
            let line = head.split("\r\n").next()?.to_owned();
            let name = line.split_once("; filename=\"")?.1.strip_suffix('"')?;
            // The browsers' way (WHATWG, multipart/form-data) keeps `%` as it is, so only these are decoded.
            Some(name.to_owned())
        },
    },
    HttpSlot {
        key: "FilePart.text",
        http: || json!({ "url": "URL/", "multipart": { "f": { "text": "[{{v}}]" }, "z": "1" } }),
        decode: |requests| bracketed(&parts(requests[0]).first()?.1),
    },
    HttpSlot {
        key: "FilePart.base64",
        http: || json!({ "url": "URL/", "multipart": { "f": { "base64": "{{base64 v}}" }, "z": "1" } }),
        decode: |requests| Some(parts(requests[0]).first()?.1.clone()),
    },
    HttpSlot {
        key: "Auth.bearer",
        http: || json!({ "url": "URL/", "auth": { "bearer": "[{{v}}]" } }),
        decode: |requests| bracketed(requests[0].header("authorization")?.strip_prefix("Bearer ")?),
    },
    HttpSlot {
        key: "Basic.username",
        http: || json!({ "url": "URL/", "auth": { "basic": { "username": "{{v}}", "password": "p" } } }),
        decode: |requests| basic(requests[0]).filter(|(_, password)| password == "p").map(|(username, _)| username),
    },
    HttpSlot {
        key: "Basic.password",
        http: || json!({ "url": "URL/", "auth": { "basic": { "username": "u", "password": "{{v}}" } } }),
        decode: |requests| basic(requests[0]).filter(|(username, _)| username == "u").map(|(_, password)| password),
    },
    HttpSlot {
        key: "Auth.header",
        http: || json!({ "url": "URL/", "auth": { "header": { "name": "X-V", "value": "[{{v}}]" } } }),
        decode: |requests| bracketed(requests[0].header("x-v")?),
    },
    HttpSlot {
        key: "Auth.query",
        http: || json!({ "url": "URL/?z=1", "auth": { "query": { "name": "q", "value": "[{{v}}]" } } }),
        decode: |requests| bracketed(&parameter(requests[0], "q")?),
    },
    HttpSlot {
        key: "OAuth2.tokenUrl",
        http: || oauth2(json!({ "tokenUrl": "URL/token/{{v}}/end?id={{id}}" })),
        decode: |requests| path_segment(requests[0], 2),
    },
    HttpSlot {
        key: "OAuth2.clientId",
        http: || oauth2(json!({ "clientId": "{{v}}" })),
        decode: |requests| basic(requests[0]).filter(|(_, secret)| secret == "secret").map(|(id, _)| form_decode(&id)),
    },
    HttpSlot {
        key: "OAuth2.clientSecret",
        http: || oauth2(json!({ "clientSecret": "{{v}}" })),
        decode: |requests| basic(requests[0]).filter(|(id, _)| id == "me").map(|(_, secret)| form_decode(&secret)),
    },
    HttpSlot {
        key: "OAuth2.clientAuthentication",
        http: || oauth2(json!({ "clientId": "{{v}}", "clientSecret": "[{{v}}]", "clientAuthentication": "post" })),
        decode: |requests| {
            let id = form_field(requests[0], "client_id")?;
            (bracketed(&form_field(requests[0], "client_secret")?)? == id).then_some(id)
        },
    },
    HttpSlot {
        key: "OAuth2.scopes",
        http: || oauth2(json!({ "scopes": ["{{v}}"] })),
        decode: |requests| form_field(requests[0], "scope"),
    },
    HttpSlot {
        key: "OAuth2.form",
        http: || oauth2(json!({ "form": { "audience": "{{v}}" } })),
        decode: |requests| form_field(requests[0], "audience"),
    },
];

/// Every place of a connection, whose templates see the environment.
const CONNECTION_SLOTS: &[HttpSlot] = &[
    HttpSlot {
        key: "Connection.url",
        http: || json!({ "url": "URL/{{v}}/end" }),
        decode: |requests| path_segment(requests[0], 1),
    },
    HttpSlot {
        key: "Connection.headers",
        http: || json!({ "url": "URL", "headers": { "X-V": "[{{v}}]" } }),
        decode: |requests| bracketed(requests[0].header("x-v")?),
    },
    HttpSlot {
        key: "Connection.auth",
        http: || json!({ "url": "URL", "auth": { "query": { "name": "q", "value": "[{{v}}]" } } }),
        decode: |requests| bracketed(&parameter(requests[0], "q")?),
    },
];

/// Keys of requests and connections that are not templates, or whose templates have rows of other names or tests below.
const OTHER_KEYS: &[&str] = &[
    "Auth.basic", "Auth.exchange", "Auth.oauth2", "BodyBytes.file", "Connection.allow", "Connection.failIf",
    "Connection.proxy", "Connection.retry", "Connection.tls", "FilePart.file", "FilePart.mimeType",
    "HttpRequest.allow", "HttpRequest.auth", "HttpRequest.cache", "HttpRequest.expect", "HttpRequest.failIf",
    "HttpRequest.method", "HttpRequest.onError", "HttpRequest.paginate", "HttpRequest.redirect", "HttpRequest.retry",
    "HttpRequest.timeout", "HttpRequest.use", "NameValue.name", "NameValue.value", "Paginate.cursor", "Paginate.items",
    "Paginate.maxItems", "Paginate.maxPages", "Paginate.next", "Paginate.page", "Paginate.parameter",
    "Paginate.partial", "Paginate.start", "Paginate.step", "Retry.attempts", "Retry.backoff", "Retry.on",
    "Retry.unsafe",
];

/// A request with a token from the client credentials, some of which are given.
fn oauth2(keys: Value) -> Value {
    let mut oauth2 = json!({ "tokenUrl": "URL/token?id={{id}}", "clientId": "me", "clientSecret": "secret" });
    oauth2.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    json!({ "url": "URL/", "auth": { "oauth2": oauth2 } })
}

fn form_decode(text: &str) -> String {
    let pair = format!("v={text}");
    form_urlencoded::parse(pair.as_bytes()).next().unwrap().1.into_owned()
}

fn path_segment(request: &RecordedRequest, number: usize) -> Option<String> {
    let path = request.target.split('?').next()?.strip_prefix('/')?;
    let segment = path.split('/').nth(number - 1)?;
    Some(form_decode(&segment.replace('+', "%2B").replace('&', "%26").replace(';', "%3B")))
}

fn pairs(text: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

fn query(request: &RecordedRequest) -> Vec<(String, String)> {
    request.target.split_once('?').map(|(_, query)| pairs(query)).unwrap_or_default()
}

fn parameter(request: &RecordedRequest, name: &str) -> Option<String> {
    query(request).into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

fn form_field(request: &RecordedRequest, name: &str) -> Option<String> {
    pairs(&request.body).into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

fn bracketed(text: &str) -> Option<String> {
    text.strip_prefix('[')?.strip_suffix(']').map(str::to_owned)
}

/// The user name and the password of Basic authentication (RFC 7617, 2: the first colon is between them).
fn basic(request: &RecordedRequest) -> Option<(String, String)> {
    let encoded = request.header("authorization")?.strip_prefix("Basic ")?;
    let pair = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    pair.split_once(':').map(|(username, password)| (username.to_owned(), password.to_owned()))
}

/// The heads and contents of the parts of a body.
fn parts(request: &RecordedRequest) -> Vec<(String, String)> {
    let kind = request.header("content-type").unwrap_or_default();
    let Some(boundary) = kind.strip_prefix("multipart/form-data; boundary=") else { return Vec::new() };
    let body = format!("\r\n{}", request.body);
    let body = body.strip_suffix(&format!("\r\n--{boundary}--\r\n")).unwrap();
    let separator = format!("\r\n--{boundary}\r\n");
    let parts = body.split(&separator).skip(1);
    parts.map(|part| part.split_once("\r\n\r\n").map(|(h, c)| (h.to_owned(), c.to_owned())).unwrap()).collect()
}

/// What of a request no value may change: how many of each there are, and their names.
fn outline(request: &RecordedRequest) -> Vec<String> {
    let path = request.target.split('?').next().unwrap();
    let mut outline = vec![request.method.clone(), path.matches('/').count().to_string()];
    outline.extend(query(request).into_iter().map(|(key, _)| key));
    let mut names: Vec<String> = request.headers.iter().map(|(name, _)| name.clone()).collect();
    names.sort();
    outline.extend(names);
    outline.extend(parts(request).iter().map(|(head, _)| head.split("\r\n").count().to_string()));
    if request.header("content-type").is_some_and(|kind| kind.contains("urlencoded")) {
        outline.extend(pairs(&request.body).into_iter().map(|(key, _)| key));
    }
    outline
}

/// JSON as YAML, in which some characters must be escaped that JSON may have as they are.
fn yaml(manifest: &Value) -> String {
    let escape = |c: char| match c {
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{ffff}' => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    manifest.to_string().chars().map(escape).collect()
}

/// A manifest with the address of the upstream in it.
fn folder(api: &Upstream, manifest: &Value) -> TestFolder {
    let folder = TestFolder::with_manifest(&yaml(manifest).replace("URL", &api.url()));
    folder.write("f.txt", "f");
    folder
}

fn tool(run: Value) -> Value {
    json!({ "description": "T", "arguments": { "v": {}, "w": {}, "id": {} }, "run": run })
}

/// Calls tools with 16 calls under way at a time; the results, in order.
fn call_all(client: &TestClient, calls: impl Iterator<Item = (String, Value)>) -> Vec<Value> {
    let calls = calls.map(|(name, arguments)| ("tools/call", json!({ "name": name, "arguments": arguments })));
    client.request_all(calls).into_iter().map(|mut answer| answer["result"].take()).collect()
}

/// Issues tokens, and accepts everything else.
fn issuer() -> Upstream {
    Upstream::start(|request, _| match request.target.starts_with("/token") {
        true => Reply::persistent(&json!({ "access_token": "token-0123456789", "token_type": "Bearer" })),
        false => Reply::persistent(&json!({ "ok": true })),
    })
}

/// The requests by the number of the call that they belong to.
fn requests_by_id(requests: &[RecordedRequest]) -> HashMap<String, Vec<&RecordedRequest>> {
    let mut by_id: HashMap<String, Vec<&RecordedRequest>> = HashMap::new();
    for request in requests {
        let id = request.header("x-id").map(str::to_owned).or_else(|| parameter(request, "id"));
        by_id.entry(id.unwrap_or_else(|| panic!("a request of nobody's: {request:?}"))).or_default().push(request);
    }
    by_id
}

/// A call with a value: its number, the value, and the result.
struct ValueCall<'a> {
    id: String,
    value: &'a str,
    result: &'a Value,
}

/// What is wrong with the requests of the calls of one slot: each value must be decoded as itself, or refused, and must
/// change nothing else.
fn faults(slot: &HttpSlot, calls: &[ValueCall<'_>], requests: &[RecordedRequest]) -> Vec<String> {
    let by_id = requests_by_id(requests);
    let empty = Vec::new();
    let of = |id: &str| by_id.get(id).unwrap_or(&empty);
    let plain = calls.iter().find(|call| call.value == "plain").unwrap();
    let expected: Vec<_> = of(&plain.id).iter().map(|request| outline(request)).collect();
    assert!(!expected.is_empty(), "{}: {}", slot.key, plain.result);
    let is_refused = |call: &&ValueCall<'_>| call.result["isError"] == true;
    let refused = calls.iter().filter(is_refused).count();
    // Scopes have no blanks, quotes, backslashes and letters beyond ASCII.
    let most = if slot.key == "OAuth2.scopes" { calls.len() * 2 / 3 } else { calls.len() / 2 };
    assert!(refused < most, "{}: {refused} of {} values are refused", slot.key, calls.len());
    let fault = |call: &ValueCall<'_>| {
        let requests = of(&call.id);
        let outlines: Vec<_> = requests.iter().map(|request| outline(request)).collect();
        let is_right = match is_refused(&call) {
            true => requests.is_empty(),
            false => outlines == expected && (slot.decode)(requests).as_deref() == Some(&*sent_as(slot, call.value)),
        };
        (!is_right).then(|| format!("{}: {:?}: {requests:?} {}", slot.key, call.value, call.result))
    };
    calls.iter().filter_map(fault).collect()
}

/// The value as it is decoded, which is itself but in a file name: browsers write `"` and control characters as `%22`
/// and so on there, and leave `%` as it is.
fn sent_as(slot: &HttpSlot, value: &str) -> String {
    if slot.key != "FilePart.filename" {
        return value.to_owned();
    }
    let escape = |c: char| match c {
        '"' | '\0'..='\x1f' | '\x7f' => format!("%{:02X}", u32::from(c)),
        c => c.to_string(),
    };
    value.chars().map(escape).collect()
}

fn assert_no_faults(faults: &[String]) {
    let shown: Vec<&str> = faults.iter().take(40).map(String::as_str).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), shown.join("\n"));
}

/// Whether a terminal obeys a character, or takes it for the end of a line.
fn is_terminal_control(c: char) -> bool {
    c != '\t' && (c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202e}'))
}

/// Fails if a line of a log in text is not one of folio's, or has what a terminal obeys.
fn assert_own_lines(server: &TestServer) {
    for line in server.log.lines() {
        assert!(line.starts_with("20") && line.get(10..11) == Some("T"), "{line:?}");
        assert!(!line.chars().any(is_terminal_control), "{line:?}");
    }
}

/// A server whose callers are not slowed down.
fn manifest(keys: Value) -> Value {
    let mut manifest = json!({ "folio": 1, "server": { "name": "s", "limits": { "callsPerSecond": 1_000_000 } } });
    manifest.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    manifest
}

/// The faults of all slots, whose results come slot by slot and value by value.
fn faults_of_slots(slots: &[HttpSlot], values: &[String], seen: (&[Value], &[RecordedRequest])) -> Vec<String> {
    let (results, requests) = seen;
    let mut all = Vec::new();
    for (number, (slot, results)) in slots.iter().zip(results.chunks(values.len())).enumerate() {
        let calls: Vec<_> = values
            .iter()
            .zip(results)
            .enumerate()
            .map(|(index, (value, result))| ValueCall { id: format!("{number}-{index}"), value, result })
            .collect();
        let prefix = format!("{number}-");
        let own = requests.iter().filter(|request| {
            let id = request.header("x-id").map(str::to_owned).or_else(|| parameter(request, "id"));
            id.is_none_or(|id| id.starts_with(&prefix))
        });
        all.extend(faults(slot, &calls, &own.cloned().collect::<Vec<_>>()));
    }
    all
}

#[test]
fn values_of_requests_arrive_or_are_refused() {
    let (api, values) = (issuer(), values());
    let mut tools = serde_json::Map::new();
    for (number, slot) in SLOTS.iter().enumerate() {
        let mut http = (slot.http)();
        http["headers"]["X-Id"] = "{{id}}".into();
        tools.insert(format!("t{number}"), tool(json!({ "http": http })));
    }
    let folder = folder(&api, &manifest(json!({ "tools": tools })));
    let server = folder.serve_command().flag("--log-level=debug").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let calls = (0..SLOTS.len()).flat_map(|slot| {
        let call = move |(number, value)| (format!("t{slot}"), json!({ "v": value, "id": format!("{slot}-{number}") }));
        values.iter().enumerate().map(call)
    });
    let results = call_all(&client, calls);
    assert_no_faults(&faults_of_slots(SLOTS, &values, (&results, &api.requests())));
    assert_own_lines(&server);
}

#[test]
fn values_of_connections_arrive_or_are_refused() {
    let api = issuer();
    // No environment has a NUL, what is around a variable is no part of it, and a client that does not know a variable
    // leaves `${NAME}` in its place.
    let is_kept =
        |value: &String| !value.contains('\0') && !value.contains("${") && !value.is_empty() && value.trim() == value;
    let values: Vec<String> = values().into_iter().filter(is_kept).collect();
    assert!(values.len() >= 300, "{}", values.len());
    let (mut env, mut connections, mut tools) =
        (serde_json::Map::new(), serde_json::Map::new(), serde_json::Map::new());
    for number in 0..values.len() {
        env.insert(format!("V{number}"), json!({}));
        for (slot, connection) in CONNECTION_SLOTS.iter().enumerate() {
            let written = (connection.http)().to_string().replace("{{v}}", &format!("{{{{env.V{number}}}}}"));
            connections.insert(format!("c{slot}-{number}"), serde_json::from_str(&written).unwrap());
            let http = json!({ "use": format!("c{slot}-{number}"), "headers": { "X-Id": "{{id}}" } });
            tools.insert(format!("t{slot}-{number}"), tool(json!({ "http": http })));
        }
    }
    let folder = folder(&api, &manifest(json!({ "env": env, "connections": connections, "tools": tools })));
    let command = folder.serve_command().flag("--log-level=debug").flag("--log-format=json");
    let command =
        values.iter().enumerate().fold(command, |command, (number, value)| command.env(&format!("V{number}"), value));
    let server = command.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let ids =
        (0..CONNECTION_SLOTS.len()).flat_map(|slot| (0..values.len()).map(move |number| format!("{slot}-{number}")));
    let results = call_all(&client, ids.map(|id| (format!("t{id}"), json!({ "id": id }))));
    assert_no_faults(&faults_of_slots(CONNECTION_SLOTS, &values, (&results, &api.requests())));
    for line in server.log.lines() {
        assert!(serde_json::from_str::<Value>(&line).is_ok_and(|line| line["target"].is_string()), "{line:?}");
    }
}

#[test]
fn names_add_nothing_to_requests() {
    let api = issuer();
    // A key of YAML has at most 1024 characters.
    let names: Vec<String> =
        values().into_iter().filter(|name| !name.contains("{{") && name.chars().count() < 1024).collect();
    let map: serde_json::Map<String, Value> = names.iter().map(|name| (name.clone(), json!("x"))).collect();
    let tools = json!({
        "query": tool(json!({ "http": { "url": "URL/", "query": map } })),
        "form": tool(json!({ "http": { "url": "URL/", "form": map } })),
        "multipart": tool(json!({ "http": { "url": "URL/", "multipart": map } })),
        "json": tool(json!({ "http": { "url": "URL/", "json": map } })),
    });
    let folder = folder(&api, &manifest(json!({ "tools": tools })));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for tool in ["query", "form", "multipart", "json"] {
        let result = client.call(tool, json!({}));
        assert_eq!(result["isError"], false, "{tool}: {result}");
    }
    let requests = api.requests();
    let keys = |pairs: Vec<(String, String)>| pairs.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys(query(&requests[0])), names);
    assert_eq!(keys(pairs(&requests[1].body)), names);
    let slot = HttpSlot { key: "FilePart.filename", http: || Value::Null, decode: |_| None };
    let heads: Vec<String> = parts(&requests[2]).into_iter().map(|(head, _)| head).collect();
    let head = |name: &String| format!("Content-Disposition: form-data; name=\"{}\"", sent_as(&slot, name));
    assert_eq!(heads, names.iter().map(head).collect::<Vec<_>>());
    assert_eq!(serde_json::from_str::<Value>(&requests[3].body).unwrap(), Value::Object(map));
}

/// Answers by the number of the call in `X-Id`, which is that of the value, after the name of what is to be shown.
fn with_values(reply: impl Fn(&RecordedRequest, &str) -> Reply + Send + Sync + 'static) -> (Upstream, Vec<String>) {
    let values = values();
    let known = values.clone();
    let api = Upstream::start(move |request, _| {
        let number: usize = request.header("x-id").unwrap().parse().unwrap();
        reply(request, &known[number])
    });
    (api, values)
}

/// Calls a tool for the number of each value.
fn call_by_number(client: &TestClient, tool: &str, count: usize) -> Vec<Value> {
    call_all(client, (0..count).map(|number| (tool.to_owned(), json!({ "id": number.to_string() }))))
}

#[test]
fn cursors_of_upstream_arrive_exactly() {
    let (api, values) = with_values(|request, value| match parameter(request, "cursor") {
        None => Reply::persistent(&json!({ "items": [1], "next": value })),
        Some(_) => Reply::persistent(&json!({ "items": [2] })),
    });
    let http = json!({
        "url": "URL/?z=1", "headers": { "X-Id": "{{id}}" },
        "paginate": { "cursor": "next", "parameter": "cursor", "items": "items" },
    });
    let folder = folder(&api, &manifest(json!({ "tools": { "t": tool(json!({ "http": http })) } })));
    let server = folder.serve_command().flag("--log-level=debug").stdio();
    call_by_number(&server.client(SESSION_VERSIONS[3]), "t", values.len());
    let requests = api.requests();
    let by_id = requests_by_id(&requests);
    for (number, value) in values.iter().enumerate() {
        let [first, rest @ ..] = &by_id[&number.to_string()][..] else { panic!("{value:?}") };
        let cursors: Vec<_> = rest.iter().map(|request| parameter(request, "cursor").unwrap()).collect();
        let expected: Vec<&String> = Some(value).into_iter().filter(|value| !value.is_empty()).collect();
        assert_eq!(cursors.iter().collect::<Vec<_>>(), expected);
        for request in rest {
            assert_eq!((query(request).len(), parameter(request, "z").as_deref()), (2, Some("1")), "{request:?}");
            assert_eq!(request.headers, first.headers);
        }
    }
    assert_own_lines(&server);
}

#[test]
fn next_pages_of_upstream_add_nothing() {
    let next = |request: &RecordedRequest, value: &str| match request.target.split_once('/').unwrap().1 {
        "query" => Some(format!("/next?x={value}")),
        "path" => Some(format!("/next/{value}")),
        // What names another host is asked for by name; tests of redirects and pages have that.
        "bare" if !value.contains("//") && !value.contains('\\') && !value.contains(':') => Some(value.to_owned()),
        _ => None,
    };
    let (api, values) = with_values(move |request, value| {
        let next = next(request, value);
        if request.header("x-form") == Some("link") {
            let target = next.filter(|next| !next.contains(['\r', '\n', '\0', '>'])).unwrap_or_default();
            return Reply::with_headers(200, &[("Link", &format!("<{target}>; rel=\"next\""))], "[1]");
        }
        Reply::persistent(&json!({ "items": [1], "next": next }))
    });
    let tool = |form: &str, paginate: Value| {
        let http = json!({
            "url": "URL/{{v}}", "headers": { "X-Id": "{{id}}", "X-Form": form }, "paginate": paginate,
            "auth": { "bearer": "key" },
        });
        tool(json!({ "http": http }))
    };
    let tools = json!({
        "body": tool("body", json!({ "next": "next", "items": "items", "maxPages": 2 })),
        "link": tool("link", json!({ "next": "link", "maxPages": 2 })),
    });
    let folder = folder(&api, &manifest(json!({ "tools": tools })));
    let server = folder.serve_command().flag("--log-level=debug").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for form in ["body", "link"] {
        for start in ["query", "path", "bare"] {
            let before = api.requests().len();
            let call = |number: usize| (form.to_owned(), json!({ "id": number.to_string(), "v": start }));
            call_all(&client, (0..values.len()).map(call));
            let requests = api.requests();
            let by_id = requests_by_id(&requests[before..]);
            let second = by_id.values().filter(|requests| requests.len() > 1).count();
            assert!(second * 2 > values.len(), "{form} {start}: {second}");
            for requests in by_id.values() {
                assert!(requests.len() <= 2, "{requests:?}");
                for request in requests {
                    assert!(request.target.bytes().all(|byte| byte.is_ascii_graphic()), "{request:?}");
                    assert_eq!((&*request.method, &request.headers), ("GET", &requests[0].headers));
                }
            }
        }
    }
    assert_own_lines(&server);
}

#[test]
fn values_of_errors_arrive_in_one_text() {
    let (api, values) = with_values(|_, value| {
        let body = json!({ "message": value }).to_string();
        Reply::with_headers(422, &[("Content-Type", "application/json")], body)
    });
    let http = |more: Value| {
        let mut http = json!({ "url": "URL/", "headers": { "X-Id": "{{id}}" } });
        http.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tool(json!({ "http": http }))
    };
    let tools = json!({
        "worded": http(json!({ "onError": { "4xx": "[{{json.message}}]" } })),
        "plain": http(json!({})),
    });
    let folder = folder(&api, &manifest(json!({ "tools": tools })));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for (value, result) in values.iter().zip(call_by_number(&client, "worded", values.len())) {
        assert_eq!(result["content"], json!([{ "type": "text", "text": format!("[{value}]") }]));
        assert_eq!(result["isError"], true);
    }
    for (value, result) in values.iter().zip(call_by_number(&client, "plain", values.len())) {
        assert_eq!((result["content"].as_array().unwrap().len(), &result["isError"]), (1, &json!(true)), "{value:?}");
        let text = text_of(&result["content"][0]);
        assert!(text.starts_with("GET http://127.0.0.1:") && text.contains(" 422 Unprocessable Entity"), "{text:?}");
    }
    let failures = server.log.lines().len();
    assert!(failures >= 2 * values.len(), "{failures}");
    assert_own_lines(&server);
}

/// Says what it was sent.
fn echo(request: &RecordedRequest, _: usize) -> Reply {
    Reply::persistent(&json!({ "target": request.target, "headers": request.headers }))
}

/// A request as [`echo`] tells of it.
fn echoed(result: &Value) -> RecordedRequest {
    let text = text_of(&result["content"][0]);
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
    let headers = value["headers"].as_array().unwrap().iter();
    let headers = headers.map(|pair| serde_json::from_value(pair.clone()).unwrap()).collect();
    RecordedRequest { target: value["target"].as_str().unwrap().to_owned(), headers, ..RecordedRequest::default() }
}

#[test]
fn different_values_share_no_cached_response() {
    let (api, values) = (Upstream::start(echo), values());
    let slots: Vec<&HttpSlot> = SLOTS
        .iter()
        .filter(|slot| {
            let http = (slot.http)();
            ["json", "form", "body", "multipart"].iter().all(|key| http.get(key).is_none())
                && http.pointer("/auth/oauth2").is_none()
        })
        .collect();
    assert!(slots.len() >= 8, "{}", slots.len());
    let mut tools = serde_json::Map::new();
    for (number, slot) in slots.iter().enumerate() {
        let mut http = (slot.http)();
        http["cache"] = "1h".into();
        tools.insert(format!("t{number}"), tool(json!({ "http": http })));
    }
    let both = json!({
        "url": "URL/", "query": { "a": "{{v}}", "b": "{{w}}" }, "headers": { "X-A": "[{{v}}]", "X-B": "[{{w}}]" },
        "cache": "1h",
    });
    tools.insert("both".to_owned(), tool(json!({ "http": both })));
    let folder = folder(&api, &manifest(json!({ "tools": tools })));
    let server = folder.stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for (number, slot) in slots.iter().enumerate() {
        let call = || call_all(&client, values.iter().map(|value| (format!("t{number}"), json!({ "v": value }))));
        let results = call();
        let requests = api.requests().len();
        assert_eq!(results, call());
        assert_eq!(api.requests().len(), requests, "{}: the second answers are kept ones", slot.key);
        for (value, result) in values.iter().zip(&results).filter(|(_, result)| result["isError"] != true) {
            assert_eq!((slot.decode)(&[&echoed(result)]).as_ref(), Some(value), "{}", slot.key);
        }
    }
    let pairs = values.iter().flat_map(|v| [(v.as_str(), ""), ("", v.as_str()), (v, v)]);
    let calls = pairs.clone().map(|(v, w)| ("both".to_owned(), json!({ "v": v, "w": w })));
    for (pair, result) in pairs.zip(call_all(&client, calls)).filter(|(_, result)| result["isError"] != true) {
        let request = echoed(&result);
        let (a, b) = (parameter(&request, "a").unwrap(), parameter(&request, "b").unwrap());
        assert_eq!((a.as_str(), b.as_str()), pair);
        assert_eq!(request.header("x-b").and_then(bracketed).as_deref(), Some(pair.1));
    }
}

#[test]
fn values_add_no_line_to_dry_run() {
    let values: Vec<String> = values().into_iter().filter(|value| !value.contains('\0')).collect();
    values.chunks(256).for_each(assert_one_line_in_dry_run);
}

fn assert_one_line_in_dry_run(values: &[String]) {
    let is_header = |value: &&String| !value.chars().any(|c| c.is_control() && c != '\t');
    let argument = |number: usize| format!("{{{{v{number}}}}}");
    let named: Vec<(String, String)> =
        (0..values.len()).map(|number| (format!("v{number}"), argument(number))).collect();
    let arguments: serde_json::Map<String, Value> = named.iter().map(|(name, _)| (name.clone(), json!({}))).collect();
    let texts: serde_json::Map<String, Value> = named.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
    let headers: serde_json::Map<String, Value> = named
        .iter()
        .zip(values)
        .filter(|(_, value)| is_header(value))
        .map(|((name, text), _)| (format!("X-{name}"), json!(text)))
        .collect();
    let elements: Vec<String> =
        ["printf".to_owned()].into_iter().chain(named.iter().map(|(_, text)| format!("[{text}]"))).collect();
    let request = json!({ "url": "http://127.0.0.1:9/", "query": texts, "headers": headers, "json": texts });
    let tools = json!({
        "request": { "description": "T", "arguments": arguments, "run": { "http": request } },
        "program": { "description": "T", "arguments": arguments, "run": { "exec": elements } },
    });
    let folder = TestFolder::with_manifest(&yaml(&manifest(json!({ "tools": tools }))));
    let pairs: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(number, value)| format!("v{number}={}{value}", if value.starts_with('@') { "@" } else { "" }))
        .collect();
    let run = |tool: &str| {
        let words: Vec<&str> =
            ["call", tool, "--dry-run"].into_iter().chain(pairs.iter().map(String::as_str)).collect();
        let ran = run_folio(folder.path(), &words);
        assert_eq!(ran.code, Some(0), "{tool}: {}{}", ran.out, ran.err);
        assert!(!ran.out.chars().any(|c| c != '\n' && is_terminal_control(c)), "{tool}: {:?}", ran.out);
        ran.out
    };
    let program = run("program");
    assert_eq!((program.lines().count(), program.starts_with("run printf ")), (2, true), "{program}");
    let request = run("request");
    let mut lines = request.lines();
    assert!(lines.next().unwrap().starts_with("send POST http://127.0.0.1:9/?v0="), "{request}");
    let shown: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("  Content-Type: ")).collect();
    assert_eq!(shown.len(), headers.len(), "{request}");
    assert!(shown.iter().all(|line| line.starts_with("  X-v")), "{request}");
    assert!(lines.next().unwrap().starts_with("  body: "), "{request}");
    assert_eq!(lines.count(), 1, "{request}");
}

#[test]
fn values_of_programs_arrive_or_are_refused() {
    let values = values();
    // In hexadecimal digits: what a terminal would obey is taken out of texts.
    let (all, bare) = ("printf '%s|%s|' \"$1\" \"$OWN\"; cat", "printf '%s' \"$1\"");
    let script = |text: &str| format!("#!/bin/sh\n{{ {text}; }} | od -v -An -tx1 | tr -d ' \\n'\n");
    let tools = json!({
        "all": tool(json!({ "exec": ["sh", "all.sh", "[{{v}}]"], "env": { "OWN": "{{v}}" }, "stdin": "{{v}}" })),
        "bare": tool(json!({ "exec": ["./bare.sh", "{{v}}"] })),
    });
    let folder = TestFolder::with_manifest(&yaml(&manifest(json!({ "tools": tools }))));
    folder.write("all.sh", script(all));
    folder.write("bare.sh", script(bare));
    std::fs::set_permissions(folder.join("bare.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let server = folder.serve_command().flag("--log-level=debug").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for (tool, expected) in [
        ("all", &(|value: &str| format!("[{value}]|{value}|{value}")) as &dyn Fn(&str) -> String),
        ("bare", &str::to_owned),
    ] {
        let results = call_all(&client, values.iter().map(|value| (tool.to_owned(), json!({ "v": value }))));
        for (value, result) in values.iter().zip(&results) {
            let is_refused = result["isError"] == true;
            let may_be = value.contains('\0') || (tool == "bare" && value.starts_with('-'));
            assert_eq!(is_refused, may_be, "{tool}: {value:?}: {result}");
            let digits: String = expected(value).bytes().map(|byte| format!("{byte:02x}")).collect();
            // What prints nothing has no content.
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            assert!(is_refused || text == digits, "{tool}: {value:?}: {result}");
        }
    }
    assert!(!folder.join("injected").exists());
    assert_own_lines(&server);
}

#[test]
fn typed_texts_arrive_in_completions_or_are_refused() {
    let argument = |exec: Value| json!({ "complete": { "run": { "exec": exec } } });
    let prompt = json!({
        "description": "P", "text": "{{bare}}{{after}}",
        "arguments": { "bare": argument(json!(["./seen.sh", "{{typed}}"])), "after": argument(json!(["./seen.sh", "--", "{{typed}}"])) },
    });
    let folder = TestFolder::with_manifest(&yaml(&manifest(json!({ "prompts": { "p": prompt } }))));
    folder.write("seen.sh", "#!/bin/sh\n[ \"$1\" != -- ] || shift\nprintf '%s' \"$1\" > seen\n");
    std::fs::set_permissions(folder.join("seen.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let server = folder.serve_command().flag("--log-level=debug").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for (argument, value) in values().iter().flat_map(|value| [("bare", value), ("after", value)]) {
        folder.write("seen", "nothing");
        let target = json!({ "type": "ref/prompt", "name": "p" });
        client
            .result("completion/complete", json!({ "ref": target, "argument": { "name": argument, "value": value } }));
        let is_run = !value.contains('\0')
            && value.chars().count() <= 256
            && (argument == "after" || !value.starts_with('-') || value == "--");
        let is_run = is_run && !(argument == "bare" && value == "--");
        let seen = std::fs::read_to_string(folder.join("seen")).unwrap();
        assert_eq!(seen, if is_run { value.as_str() } else { "nothing" }, "{argument}: {value:?}");
    }
    assert!(!folder.join("injected").exists());
    assert_own_lines(&server);
}

#[test]
fn undeclared_arguments_add_nothing() {
    let open =
        |run: Value| json!({ "description": "T", "arguments": { "v": {} }, "additionalProperties": true, "run": run });
    let tools = json!({
        "script": open(json!({ "script": { "shell": "sh", "text": "env > seen" } })),
        "bare": open(json!({ "exec": ["printf", "%s", "{{arguments.w}}"] })),
        "json": { "description": "T", "additionalProperties": true, "result": { "text": "{{json arguments}}" } },
    });
    let folder = TestFolder::with_manifest(&yaml(&manifest(json!({ "tools": tools }))));
    let server = folder.serve_command().flag("--log-level=debug").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let (values, own) = (values(), ["PATH", "LD_PRELOAD", "BASH_ENV", "ENV", "IFS", "https_proxy", "w"]);
    let names = values.iter().map(String::as_str).chain(own);
    let all: serde_json::Map<String, Value> = names.map(|name| (name.to_owned(), json!("injected"))).collect();
    client.call("script", Value::Object(all.clone()));
    let seen = std::fs::read_to_string(folder.join("seen")).unwrap();
    assert!(seen.contains("PATH=") && !seen.contains("injected"), "{seen}");
    let text = client.call_text("json", Value::Object(all.clone()));
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), Value::Object(all));
    for value in &values {
        let result = client.call("bare", json!({ "w": value }));
        let is_refused = value.contains('\0') || value.starts_with('-');
        assert_eq!(result["isError"] == true, is_refused, "{value:?}: {result}");
    }
    assert_own_lines(&server);
}

#[test]
fn values_of_repeated_steps_arrive_or_are_refused() {
    let values = values();
    let steps = json!([
        {
            "id": "all", "each": "{{vs}}", "parallel": 4, "onFail": "continue",
            "exec": ["sh", "all.sh", "[{{this}}]"], "env": { "OWN": "{{this}}" }, "stdin": "{{this}}",
        },
        {
            "id": "worded", "each": "{{vs}}", "parallel": 4, "onFail": "continue",
            "exec": ["sh", "-c", "exit 3"], "onExit": { "3": "[{{this}}]" },
        },
        { "id": "named", "set": { "same": "{{vs}}", "picked": { "select": "[*]", "from": "{{vs}}" } } },
    ]);
    let tool = json!({
        "description": "T", "arguments": { "vs": { "type": "array" } }, "run": steps, "maxOutput": "4MiB",
        "result": { "structuredContent": { "all": "{{steps.all}}", "worded": "{{steps.worded}}", "named": "{{steps.named}}" } },
    });
    let folder = TestFolder::with_manifest(&yaml(&manifest(json!({ "tools": { "t": tool } }))));
    let script = "{ printf '%s|%s|' \"$1\" \"$OWN\"; cat; } | od -v -An -tx1 | tr -d ' \\n'\n";
    folder.write("all.sh", script);
    let server = folder.serve_command().flag("--log-level=debug").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    let result = client.call("t", json!({ "vs": values }))["structuredContent"].clone();
    assert_eq!(result["named"], json!({ "same": values, "picked": values }));
    for (number, value) in values.iter().enumerate() {
        let arrived = &result["all"][number];
        let digits: String = format!("[{value}]|{value}|{value}").bytes().map(|byte| format!("{byte:02x}")).collect();
        match value.contains('\0') {
            true => assert!(arrived["error"]["text"].as_str().unwrap().contains("NUL"), "{value:?}: {arrived}"),
            false => assert_eq!(arrived["stdout"], digits, "{value:?}: {arrived}"),
        }
        assert_eq!(result["worded"][number]["error"]["text"], format!("[{value}]"));
    }
    assert!(!folder.join("injected").exists());
    assert_own_lines(&server);
}

#[test]
fn stdout_of_step_arrives_as_it_is() {
    let steps = json!([
        { "id": "a", "exec": ["sh", "-c", "printf '%s' \"$OWN\""], "env": { "OWN": "[{{v}}]" } },
        { "exec": ["od", "-v", "-An", "-tx1"], "stdin": { "from": "a" } },
    ]);
    let tool = json!({ "description": "T", "arguments": { "v": {} }, "maxOutput": "4MiB", "run": steps });
    let folder = TestFolder::with_manifest(&yaml(&manifest(json!({ "tools": { "t": tool } }))));
    let server = folder.serve_command().flag("--log-level=debug").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for value in values() {
        let answer = client.call("t", json!({ "v": value }));
        let text: String = answer["content"][0]["text"].as_str().unwrap().split_whitespace().collect();
        let digits: String = format!("[{value}]").bytes().map(|byte| format!("{byte:02x}")).collect();
        match value.contains('\0') {
            true => assert!(answer["isError"] == true && answer.to_string().contains("NUL"), "{value:?}: {answer}"),
            false => assert_eq!(text, digits, "{value:?}"),
        }
    }
    assert_own_lines(&server);
}

/// The keys of a definition of the schema.
fn schema_keys(schema: &Value, definition: &str) -> Vec<String> {
    let keys = schema["$defs"][definition]["properties"].as_object().unwrap_or_else(|| panic!("{definition}"));
    keys.keys().map(|key| format!("{definition}.{key}")).collect()
}

/// A key of `file`, and what it makes of a value: the tool, and the keys beside the path.
const FILE_SLOTS: &[(&str, &str)] = &[
    ("text", r#"{ write: f, in: n, text: "[{{v}}]" }"#),
    ("append", r#"{ append: "{{id}}", in: n, text: "[{{v}}]" }"#),
    ("base64", r#"{ write: f, in: n, base64: "{{v}}" }"#),
    ("edits", r#"{ write: e, in: n, edits: [{ old: "{{v}}", new: "x" }], dryRun: true }"#),
    ("dryRun", r#"{ write: e, in: n, edits: [{ old: plain, new: x }], dryRun: "{{v}}" }"#),
    ("write", r#"{ write: "{{v}}", in: n, text: mine }"#),
    ("read", r#"{ read: "p/{{v}}.md", in: n }"#),
    ("list", r#"{ list: "{{v}}", in: n }"#),
    ("tree", r#"{ tree: "{{v}}", in: n }"#),
    ("stat", r#"{ stat: "{{v}}", in: n }"#),
    ("makeDir", r#"{ makeDir: "d/{{v}}", in: n }"#),
    ("copy", r#"{ copy: "{{v}}", to: "copied/{{id}}", in: n }"#),
    ("move", r#"{ move: "{{v}}", to: "moved/{{id}}", in: n }"#),
    ("to", r#"{ copy: kept, to: "{{v}}", in: n, create: only }"#),
    ("remove", r#"{ remove: "{{v}}", in: n, recursive: "{{v}}" }"#),
    ("recursive", r#"{ list: ".", in: n, recursive: "{{v}}" }"#),
    ("find", r#"{ find: "{{v}}", in: n }"#),
    ("glob", r#"{ find: ".", in: n, glob: "{{v}}" }"#),
    ("exclude", r#"{ find: ".", in: n, exclude: "{{v}}" }"#),
    ("limit", r#"{ list: ".", in: n, limit: "{{v}}" }"#),
    ("head", r#"{ read: kept, in: n, head: "{{v}}" }"#),
    ("tail", r#"{ read: kept, in: n, tail: "{{v}}" }"#),
];

/// Every path outside of the folder `n`.
fn paths_outside(folder: &TestFolder) -> BTreeSet<std::path::PathBuf> {
    let mut paths = BTreeSet::new();
    for entry in std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
        paths.insert(entry.path());
    }
    paths
}

/// What the slots of `file` work on.
fn make_files(folder: &TestFolder, values: &[String]) {
    for file in ["n/kept", "n/p/x", "n/copied/x", "n/moved/x", "n/d/x"] {
        folder.write(file, "kept");
    }
    folder.write("n/e", values.concat());
}

#[test]
fn values_of_files_arrive_or_are_refused() {
    let values = values();
    let tools: Vec<String> = FILE_SLOTS
        .iter()
        .map(|(key, file)| {
            format!("  {key}: {{ description: D, arguments: {{ v: {{}}, id: {{}} }}, run: {{ file: {file} }} }}\n")
        })
        .collect();
    let manifest = format!(
        "folio: 1\nserver: {{ name: s, limits: {{ callsPerSecond: 1000000 }} }}\nfolders: {{ n: {{ path: n, write: true }} }}\ntools:\n{}",
        tools.concat()
    );
    let folder = TestFolder::in_memory(&[("folio.yaml", &manifest)]);
    make_files(&folder, &values);
    let before = paths_outside(&folder);
    let server = folder.serve_command().flag("--log-level=debug").flag("--no-watch").stdio();
    let client = server.client(SESSION_VERSIONS[3]);
    for (number, value) in values.iter().enumerate() {
        let id = number.to_string();
        let call = |tool: &str| client.call(tool, json!({ "v": value, "id": id }));
        let at = |path: &str| folder.join("n").join(path);
        assert_eq!(call("text")["isError"], false, "{value:?}");
        assert_eq!(std::fs::read_to_string(at("f")).unwrap(), format!("[{value}]"));
        call("append");
        assert_eq!(std::fs::read_to_string(at(&id)).unwrap(), format!("[{value}]"));
        let written = call("write");
        let own: Vec<&str> = value.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let is_file = written["isError"] == false;
        assert!(!is_file || std::fs::read_to_string(at(&own.join("/"))).is_ok_and(|text| text == "mine"), "{value:?}");
        for (slot, _) in FILE_SLOTS.iter().filter(|(slot, _)| !["text", "append", "write"].contains(slot)) {
            let result = call(slot);
            assert!(result["isError"].is_boolean(), "{slot} {value:?}: {result}");
        }
        assert_eq!(std::fs::read_to_string(at("kept")).unwrap(), "kept", "{value:?}");
        // What the value made is gone, so that lists stay short.
        std::fs::remove_dir_all(folder.join("n")).unwrap();
        make_files(&folder, &values);
    }
    assert_eq!(paths_outside(&folder), before);
    assert_own_lines(&server);
}

const QUESTIONS_AND_BLOBS: &str = r#"folio: 1
server: { name: s, limits: { callsPerSecond: 1000000 } }
tools:
  tokens: { description: D, arguments: { v: {} }, run: { ask: { q: { sample: { prompt: p, maxTokens: "{{v}}" } } } } }
  priority: { description: D, arguments: { v: {} }, run: { ask: { q: { sample: { prompt: p, maxTokens: 1, temperature: "{{v}}", modelPreferences: { costPriority: "{{v}}" } } } } } }
  base64: { description: D, arguments: { v: {} }, result: { content: [{ resource: { uri: "a://b", blob: { base64: "{{v}}" } } }] } }
  text: { description: D, arguments: { v: {} }, result: { content: [{ resource: { uri: "a://b", blob: { text: "[{{v}}]" }, mimeType: "{{v}}" } }] } }
  bytes: { description: D, arguments: { v: {} }, result: { content: [{ resource: { uri: "a://b", blob: { text: "[{{v}}]" } } }] } }
"#;

#[test]
fn values_of_questions_and_blobs_arrive_or_are_refused() {
    let folder = TestFolder::with_manifest(QUESTIONS_AND_BLOBS);
    let server = folder.stdio();
    let client = server.client_with(SESSION_VERSIONS[3], json!({ "sampling": {} }));
    for value in values() {
        let arguments = json!({ "v": value });
        let number: Option<f64> =
            value.trim().parse().ok().filter(|_| serde_json::from_str::<Value>(value.trim()).is_ok());
        for (tool, key) in [("tokens", "maxTokens"), ("priority", "temperature")] {
            let mut asked = Vec::new();
            let answer = client.call_with_answers(tool, arguments.clone(), |_, params| {
                asked.push(params.clone());
                json!({ "role": "assistant", "content": { "type": "text", "text": "x" }, "model": "m" })
            });
            assert_eq!(answer["isError"] != true, number.is_some(), "{tool} {value:?}: {answer}");
            assert!(asked.iter().all(|params| params[key].as_f64() == number), "{tool} {value:?}: {asked:?}");
        }
        let blob = |tool: &str| {
            let answer = client.call(tool, arguments.clone());
            let blob = answer["content"][0]["resource"].clone();
            if answer["isError"] == true { None } else { Some(blob) }
        };
        let decode = |blob: &Value| STANDARD.decode(blob["blob"].as_str().unwrap()).unwrap();
        assert_eq!(decode(&blob("bytes").unwrap()), format!("[{value}]").into_bytes());
        if let Some(resource) = blob("text") {
            let mime_type = resource["mimeType"].as_str().unwrap();
            assert!(!mime_type.contains(char::is_control) && mime_type.contains('/'), "{value:?}: {resource}");
        }
        if let Some(resource) = blob("base64") {
            let bare: String = value.split_ascii_whitespace().collect();
            let given = bare.trim_end_matches('=').to_owned();
            assert_eq!(STANDARD.encode(decode(&resource)).trim_end_matches('='), given, "{value:?}");
        }
    }
}

#[test]
fn every_key_of_files_has_hostile_values() {
    let schema: Value = serde_json::from_str(&crate::doc_tables::read("schemas/folio.schema.json")).unwrap();
    let written: BTreeSet<String> = schema_keys(&schema, "FileSpec").into_iter().collect();
    let fixed = ["in", "create"];
    let covered = FILE_SLOTS.iter().map(|(key, _)| *key).chain(fixed).map(|key| format!("FileSpec.{key}"));
    assert_eq!(written, covered.collect());
}

#[test]
fn every_key_of_requests_has_hostile_values() {
    let schema: Value = serde_json::from_str(&crate::doc_tables::read("schemas/folio.schema.json")).unwrap();
    let definitions = [
        "HttpRequest", "BodyBytes", "Connection", "Auth", "Basic", "NameValue", "OAuth2", "FilePart", "Paginate",
        "Retry",
    ];
    let written: BTreeSet<String> =
        definitions.iter().flat_map(|definition| schema_keys(&schema, definition)).collect();
    let covered = SLOTS.iter().chain(CONNECTION_SLOTS).map(|slot| slot.key).chain(OTHER_KEYS.iter().copied());
    assert_eq!(written, covered.map(str::to_owned).collect());
}

/// Each slot of the template language, with the test that has hostile values for it.
const TEMPLATE_SLOTS: &[(&str, &str)] = &[
    ("ArgvSlot", "hostile_values::values_of_programs_arrive_or_are_refused"),
    ("Base64Slot", "template::tests::slots::base64_is_normalized"),
    ("ConditionSlot", "template::tests::slots::condition_is_one_expression"),
    ("EnvSlot", "hostile_values::values_of_programs_arrive_or_are_refused"),
    ("FilePathSlot", "template::tests::properties::no_value_makes_a_hidden_or_escaping_path"),
    ("FolderPathSlot", "hostile_values::values_of_files_arrive_or_are_refused"),
    ("HeaderSlot", "hostile_values::values_of_requests_arrive_or_are_refused"),
    ("JsonSlot", "hostile_values::values_of_requests_arrive_or_are_refused"),
    ("ListSlot", "hostile_values::values_of_repeated_steps_arrive_or_are_refused"),
    ("NumberSlot", "hostile_values::values_of_questions_and_blobs_arrive_or_are_refused"),
    ("QuerySlot", "hostile_values::values_of_requests_arrive_or_are_refused"),
    ("TextSlot", "hostile_values::values_of_errors_arrive_in_one_text"),
    ("UriSlot", "template::tests::slots::uri_encodes_values_or_is_one_value"),
    ("UrlSlot", "hostile_values::values_of_requests_arrive_or_are_refused"),
];

#[test]
fn every_template_slot_has_hostile_values() {
    let files =
        ["path", "text", "url", "value"].map(|file| crate::doc_tables::read(&format!("src/template/slot/{file}.rs")));
    let declared: BTreeSet<&str> = files
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.strip_prefix("impl Slot for ")?.strip_suffix(" {"))
        .collect();
    assert_eq!(declared, TEMPLATE_SLOTS.iter().map(|(slot, _)| *slot).collect());
    let modules = crate::doc_tables::read("src/template/slot/mod.rs");
    assert_eq!(modules.lines().filter(|line| line.starts_with("mod ")).count(), files.len());
    assert_eq!(crate::doc_tables::missing_tests(TEMPLATE_SLOTS.iter().map(|(_, test)| *test)), [""; 0]);
}

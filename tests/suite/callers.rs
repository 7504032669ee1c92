//! Who calls over HTTP: tokens of issuers and of the manifest, and what belongs to each caller.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::*;
use crate::issuer::{Issuer, SigningKey, now};
use crate::upstream_server::{Reply, Upstream};

const AUDIENCE: &str = "https://desk.example/mcp";

fn manifest(auth: &str, rest: &str) -> String {
    format!(
        "folio: 1\nserver: {{ name: desk }}\nhttp:\n  publicUrl: {AUDIENCE}\n  auth: {auth}\n\
         prompts: {{ greet: {{ text: Hello }} }}\nresources: {{ notes: {{ uri: 'desk://notes', text: First }} }}\n{rest}"
    )
}

/// Lists prompts, by a request of 2026-07-28.
fn list(server: &TestServer, token: Option<&str>) -> HttpResponse {
    let client = HttpClient { token: token.map(str::to_owned), ..server.http_client() };
    let params = json!({ "_meta": sessionless_meta() });
    let headers = [("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", "prompts/list")];
    client.post(&headers, &json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/list", "params": params }))
}

fn begin_session<'t>(server: &TestServer, token: impl Into<Option<&'t str>>) -> String {
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
    let client = HttpClient { token: token.into().map(str::to_owned), ..server.http_client() };
    let response = client.post(&[], &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    assert_eq!(response.status, 200);
    response.header("mcp-session-id").unwrap().to_owned()
}

#[test]
fn metadata_says_where_tokens_come_from_and_needs_none() {
    let key = SigningKey::p256("k");
    let issuer = Issuer::start(&[&key]);
    let auth = format!("{{ issuer: '{}', scopes: [desk.use] }}", issuer.url());
    let folder = TestFolder::with_manifest(&manifest(&auth, ""));
    let server = folder.http();
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"] {
        let client = HttpClient { path: path.to_owned(), ..server.http_client() };
        let response = client.send("GET", &[], b"");
        assert_eq!(response.status, 200, "{path}");
        let expected = json!({ "resource": AUDIENCE, "authorization_servers": [issuer.url()], "scopes_supported": ["desk.use"],
                               "bearer_methods_supported": ["header"], "resource_name": "desk" });
        assert_eq!(response.json(), expected);
    }
    let client = HttpClient { path: "/.well-known/oauth-protected-resource/other".to_owned(), ..server.http_client() };
    assert_eq!(client.send("GET", &[], b"").status, 404);
    assert_eq!(issuer.requests().len(), 0, "keys are found when they are needed");
}

#[test]
fn too_little_scope_is_named_whole() {
    let key = SigningKey::p256("k");
    let issuer = Issuer::start(&[&key]);
    let auth = format!(
        "{{ issuer: '{}', scopes: [desk.use, desk.see], implies: {{ desk.admin: [desk.use, desk.see] }} }}",
        issuer.url()
    );
    let folder = TestFolder::with_manifest(&manifest(&auth, ""));
    let server = folder.http();
    let token = |scope: &str| key.token(&json!({}), &issuer.claims("ann", AUDIENCE, scope));
    let refused = list(&server, Some(&token("desk.use other")));
    assert_eq!(refused.status, 403);
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(
        challenge.contains("error=\"insufficient_scope\"") && challenge.contains("scope=\"desk.use desk.see\""),
        "{challenge}"
    );
    assert_eq!(list(&server, Some(&token("desk.see desk.use"))).status, 200);
    assert_eq!(list(&server, Some(&token("desk.admin"))).status, 200);
}

#[test]
fn session_of_another_caller_is_unknown() {
    let key = SigningKey::p256("k");
    let issuer = Issuer::start(&[&key]);
    let auth = format!("{{ issuer: '{}' }}", issuer.url());
    let folder = TestFolder::with_manifest(&manifest(&auth, ""));
    let server = folder.http();
    let token = |sub: &str, scope: &str| key.token(&json!({}), &issuer.claims(sub, AUDIENCE, scope));
    let session = begin_session(&server, token("ann", "a").as_str());
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    let as_caller = |token: String| HttpClient { token: Some(token), ..server.http_client() };
    let headers = [("Mcp-Session-Id", session.as_str())];
    let stream = [("Mcp-Session-Id", session.as_str()), ("Accept", "text/event-stream")];
    let ben = as_caller(token("ben", "a"));
    assert_eq!(ben.post(&headers, &ping).status, 404);
    assert_eq!(ben.post(&headers, &json!([ping])).status, 404);
    assert_eq!(ben.send("GET", &stream, b"").status, 404);
    assert_eq!(ben.send("DELETE", &headers, b"").status, 404);
    // Another token of the same caller, such as after a step-up.
    assert_eq!(as_caller(token("ann", "a b")).post(&headers, &ping).status, 200);
    assert_eq!(as_caller(token("ann", "a")).send("DELETE", &headers, b"").status, 204);
}

#[test]
fn tokens_of_the_manifest_need_no_issuer() {
    let digest = ring::digest::digest(&ring::digest::SHA256, b"ci-token-4711");
    let digest: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let auth = format!("{{ tokens: {{ ci: {{ sha256: '{digest}', scopes: [a] }} }} }}");
    let folder = TestFolder::with_manifest(&manifest(&auth, ""));
    let server = folder.http();
    assert_eq!(list(&server, Some("ci-token-4711")).status, 200);
    let refused = list(&server, Some("ci-token-4712"));
    assert_eq!(refused.status, 401);
    assert!(!refused.header("www-authenticate").unwrap().contains("resource_metadata"), "there is no issuer to find");
    assert_eq!(list(&server, None).status, 401);
}

#[test]
fn optional_lets_nobody_in_but_no_bad_token() {
    let key = SigningKey::p256("k");
    let issuer = Issuer::start(&[&key]);
    let auth = format!("{{ issuer: '{}', optional: true }}", issuer.url());
    let folder = TestFolder::with_manifest(&manifest(&auth, ""));
    let server = folder.http();
    assert_eq!(list(&server, None).status, 200);
    assert_eq!(list(&server, Some("bad")).status, 401);
    assert_eq!(list(&server, Some(&key.token(&json!({}), &issuer.claims("ann", AUDIENCE, "")))).status, 200);
}

#[test]
fn opaque_tokens_are_introspected_and_remembered() {
    let key = SigningKey::p256("k");
    let issuer = Issuer::start(&[&key]);
    let auth = format!(
        "{{ issuer: '{0}', scopes: [a], introspect: {{ url: '{0}/introspect', clientId: desk, clientSecret: '{{{{env.SECRET}}}}' }} }}",
        issuer.url()
    );
    let rest = "env: { SECRET: { secret: true } }\n";
    let folder = TestFolder::with_manifest(&manifest(&auth, rest));
    let server = folder.serve_command().env("SECRET", "very secret: 4711").http();
    issuer.add_opaque_token("opaque-good", &json!({ "sub": "ann", "aud": AUDIENCE, "scope": "a", "exp": now() + 60 }));
    issuer.add_opaque_token("opaque-other", &json!({ "sub": "ann", "aud": "https://other.example", "scope": "a" }));
    issuer.add_opaque_token("opaque-unbound", &json!({ "sub": "ann", "scope": "a" }));
    issuer.add_opaque_token("opaque-old", &json!({ "sub": "ann", "aud": AUDIENCE, "scope": "a", "exp": now() - 100 }));
    issuer.add_opaque_token(
        "opaque-foreign",
        &json!({ "iss": "https://x.example", "sub": "ann", "aud": AUDIENCE, "scope": "a" }),
    );
    for _ in 0..3 {
        assert_eq!(list(&server, Some("opaque-good")).status, 200);
    }
    assert_eq!(issuer.count("/introspect"), 1);
    let sent = issuer.requests().pop().unwrap();
    // `desk:very+secret%3A+4711`, as RFC 6749 encodes both.
    assert_eq!(sent.header("authorization"), Some("Basic ZGVzazp2ZXJ5K3NlY3JldCUzQSs0NzEx"));
    for token in ["opaque-other", "opaque-unbound", "opaque-old", "opaque-foreign", "opaque-unknown"] {
        assert_eq!(list(&server, Some(token)).status, 401, "{token}");
    }
    assert_eq!(issuer.count("/jwks"), 0);
    issuer.set_away(true);
    // A reload that changes nothing of `auth` forgets nothing.
    let mark = server.log.line_count();
    folder.write("folio.yaml", manifest(&auth, &rest.replace("SECRET:", "OTHER: {}, SECRET:")));
    server.log.wait_for_reload(mark);
    assert_eq!(list(&server, Some("opaque-good")).status, 200);
    let away = list(&server, Some("opaque-new"));
    assert_eq!((away.status, away.header("retry-after").is_some()), (503, true));
}

#[test]
fn verified_token_is_good_for_the_url_that_it_names_alone() {
    let key = SigningKey::p256("k");
    let issuer = Issuer::start(&[&key]);
    let before = manifest(&format!("{{ issuer: '{}' }}", issuer.url()), "");
    let folder = TestFolder::with_manifest(&before);
    let server = folder.http();
    let token = key.token(&json!({}), &issuer.claims("ann", AUDIENCE, ""));
    assert_eq!(list(&server, Some(&token)).status, 200);
    let mark = server.log.line_count();
    folder.write("folio.yaml", before.replace(AUDIENCE, "https://other.example/mcp"));
    server.log.wait_for_reload(mark);
    assert_eq!(list(&server, Some(&token)).status, 401);
}

#[test]
fn issuer_that_is_away_refuses_new_keys_only() {
    let (key, other) = (SigningKey::p256("k"), SigningKey::p256("other"));
    let issuer = Issuer::start(&[&key]);
    let folder = TestFolder::with_manifest(&manifest(&format!("{{ issuer: '{}' }}", issuer.url()), ""));
    let server = folder.http();
    issuer.set_away(true);
    let token = |key: &SigningKey, sub: &str| key.token(&json!({}), &issuer.claims(sub, AUDIENCE, ""));
    let early = list(&server, Some(&token(&key, "ann")));
    assert_eq!((early.status, early.header("retry-after").is_some()), (503, true));
    assert_eq!(list(&server, Some("no JWT")).status, 401);
    let server = folder.http();
    issuer.set_away(false);
    assert_eq!(list(&server, Some(&token(&key, "ann"))).status, 200);
    issuer.set_away(true);
    assert_eq!(list(&server, Some(&token(&key, "ben"))).status, 200);
    // It may sign by that key since it was asked, and cannot say so.
    assert_eq!(list(&server, Some(&token(&other, "ann"))).status, 503);
}

#[test]
fn listening_stream_ends_with_its_token() {
    let key = SigningKey::p256("k");
    let issuer = Issuer::start(&[&key]);
    let folder = TestFolder::with_manifest(&manifest(&format!("{{ issuer: '{}' }}", issuer.url()), ""));
    let server = folder.http();
    // Three seconds are left, as clocks may differ by a minute.
    let mut claims = issuer.claims("ann", AUDIENCE, "");
    claims["exp"] = (now() - 57).into();
    let token = key.token(&json!({}), &claims);
    let session = begin_session(&server, token.as_str());
    let client = HttpClient { token: Some(token), ..server.http_client() };
    let began = Instant::now();
    let headers = [("Mcp-Session-Id", session.as_str()), ("Accept", "text/event-stream")];
    let stream = client.send("GET", &headers, b"");
    assert_eq!(stream.status, 200);
    let params = json!({ "notifications": { "promptsListChanged": true }, "_meta": sessionless_meta() });
    let headers = [("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", "subscriptions/listen")];
    let listen = json!({ "jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": params });
    let listening = client.post(&headers, &listen);
    assert_eq!(listening.status, 200);
    let events = listening.text();
    assert!(
        began.elapsed() > Duration::from_secs(1) && began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    assert!(events.contains("\"id\":9,\"result\""), "it ends with its result: {events}");
    stream.text();
    assert!(began.elapsed() < Duration::from_secs(20));
}

/// A desk whose entries are for some, with the tokens of three callers.
struct AccessDesk {
    server: TestServer,
    key: SigningKey,
    issuer: Issuer,
    folder: TestFolder,
}

const ENTRIES: &str = r#"
tools:
  look: { result: { text: "{{caller.id}} looks" } }
  close: { scopes: [desk.write, "issue:{{id}}"], arguments: { id: { required: true } }, result: { text: "closed {{id}}" } }
  audit: { roles: [ops, lead], result: { text: audited } }
  own: { permit: "{{eq caller.claims.team team}}", arguments: { team: { required: true } }, result: { text: yours } }
  through: { run: { tool: { name: close, arguments: { id: "7" } } } }
  ask:
    run: { ask: { name: { elicit: { message: Who?, schema: { name: { required: true } } } } } }
    result: { text: "{{result.name.name}}" }
  slow: { task: required, run: { sleep: 20s }, result: { text: done } }
  restart: { roles: [ops], task: required, result: { text: done } }
  own-slow: { permit: "{{eq caller.claims.team team}}", arguments: { team: { required: true } }, task: required, result: { text: done } }
"#;

/// Prompts that are for some, one by its arguments.
const PROMPTS: &str = r#"prompts:
  greet: { scopes: [prompt.use], text: 'Hello {{caller.id}}' }
  plan:
    permit: "{{eq caller.claims.team team}}"
    scopes: ["plan:{{part}}"]
    arguments:
      team: { required: true }
      part: { required: true }
      item: { required: true, complete: { run: { exec: [sh, -c, 'touch ran; echo "$1-item"', sh, "{{team}}"] } } }
    text: '{{team}} {{part}} {{item}}'
  grade:
    permit: "{{eq caller.claims.level level}}"
    arguments: { level: { type: integer, required: true }, note: { required: true, complete: [good] } }
    text: '{{level}} {{note}}'
"#;

impl AccessDesk {
    fn start() -> AccessDesk {
        let key = SigningKey::p256("k");
        let issuer = Issuer::start(&[&key]);
        let auth = format!("{{ issuer: '{}', scopes: [desk.use] }}", issuer.url());
        let resources = "resources: { notes: { uri: 'desk://notes', text: First, roles: [ops] }, \
                         page: { uri: 'desk://page/{n}', scopes: ['page:{{n}}'], text: A page } }";
        let manifest = manifest(&auth, ENTRIES)
            .replace("resources: { notes: { uri: 'desk://notes', text: First } }", resources)
            .replace("prompts: { greet: { text: Hello } }", PROMPTS);
        let folder = TestFolder::with_manifest(&manifest);
        AccessDesk { server: folder.http(), key, issuer, folder }
    }

    fn token(&self, sub: &str, scope: &str, roles: &[&str]) -> String {
        let mut claims = self.issuer.claims(sub, AUDIENCE, &format!("desk.use {scope}"));
        claims["roles"] = json!(roles);
        claims["team"] = json!("red");
        claims["level"] = json!(5);
        self.key.token(&json!({}), &claims)
    }

    /// Sends a request of 2026-07-28.
    fn send(&self, token: &str, method: &str, name: &str, mut params: Value) -> HttpResponse {
        params["_meta"] = sessionless_meta();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
        let headers = [("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", method), ("Mcp-Name", name)];
        let client = HttpClient { token: Some(token.to_owned()), ..self.server.http_client() };
        client.post(&headers, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
    }

    fn call(&self, token: &str, tool: &str, arguments: Value) -> HttpResponse {
        self.send(token, "tools/call", tool, json!({ "name": tool, "arguments": arguments }))
    }

    fn names(&self, token: &str, method: &str, key: &str) -> Vec<String> {
        let result = self.send(token, method, "", json!({})).json()["result"].clone();
        assert!(result["cacheScope"] != "public", "{result}");
        result[key].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn text(response: HttpResponse) -> String {
    let status = response.status;
    let json = response.json();
    assert_eq!(status, 200, "{json}");
    json["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{json}")).to_owned()
}

#[test]
fn missing_scopes_are_a_status_with_a_challenge_that_names_all() {
    let desk = AccessDesk::start();
    let (plain, able) = (desk.token("ann", "", &[]), desk.token("ann", "desk.write issue:7 page:3 prompt.use", &[]));
    assert_eq!(text(desk.call(&plain, "look", json!({}))), "ann looks");
    for (method, name, params, needed) in [
        ("tools/call", "close", json!({ "name": "close", "arguments": { "id": "7" } }), "desk.use desk.write issue:7"),
        ("tools/call", "through", json!({ "name": "through" }), "desk.use desk.write"),
        ("prompts/get", "greet", json!({ "name": "greet" }), "desk.use prompt.use"),
        ("resources/read", "desk://page/3", json!({ "uri": "desk://page/3" }), "desk.use page:3"),
        (
            "completion/complete",
            "",
            json!({ "ref": { "type": "ref/prompt", "name": "greet" }, "argument": { "name": "a", "value": "" } }),
            "desk.use prompt.use",
        ),
    ] {
        let refused = desk.send(&plain, method, name, params.clone());
        assert_eq!(refused.status, 403, "{method} {name}");
        let challenge = refused.header("www-authenticate").unwrap().to_owned();
        assert!(
            challenge.contains(&format!("scope=\"{needed}\"")) && challenge.contains("insufficient_scope"),
            "{challenge}"
        );
        assert_eq!(refused.json()["id"], 1);
        if method != "completion/complete" {
            assert_eq!(desk.send(&able, method, name, params).status, 200, "{method} {name}");
        }
    }
    // In a session too, before a stream begins.
    let session = begin_session(&desk.server, plain.as_str());
    let client = |token: &str| HttpClient { token: Some(token.to_owned()), ..desk.server.http_client() };
    let call = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": { "name": "close", "arguments": { "id": "7" } } });
    let headers = [("Mcp-Session-Id", session.as_str())];
    assert_eq!(client(&plain).post(&headers, &call).status, 403);
    assert_eq!(client(&able).post(&headers, &call).status, 200, "after a step-up");
    let other = desk.call(&able, "close", json!({ "id": "8" }));
    assert_eq!(other.status, 403, "another issue");
    let no_scope = desk.call(&able, "close", json!({ "id": "a b" })).json();
    assert_eq!(no_scope["result"]["isError"], true, "a value that makes no scope: {no_scope}");
}

#[test]
fn roles_decide_what_is_seen_and_found() {
    let desk = AccessDesk::start();
    let (plain, ops, lead) =
        (desk.token("ann", "", &[]), desk.token("ben", "", &["ops"]), desk.token("cem", "", &["lead", "x"]));
    let seen = |token: &str| desk.names(token, "tools/list", "tools").contains(&"audit".to_owned());
    assert_eq!([seen(&plain), seen(&ops), seen(&lead), seen(&plain)], [false, true, true, false]);
    assert_eq!(desk.names(&plain, "resources/list", "resources"), Vec::<String>::new());
    assert_eq!(desk.names(&ops, "resources/list", "resources"), ["notes"]);
    assert_eq!(text(desk.call(&ops, "audit", json!({}))), "audited");
    // To others it is as one that there is not.
    let hidden = desk.call(&plain, "audit", json!({})).json();
    let unknown = desk.call(&plain, "audlt", json!({})).json();
    assert_eq!(hidden.to_string().replace("audit", "audlt"), unknown.to_string());
    let hidden = desk.send(&plain, "resources/read", "desk://notes", json!({ "uri": "desk://notes" })).json();
    let unknown = desk.send(&plain, "resources/read", "desk://nones", json!({ "uri": "desk://nones" })).json();
    assert_eq!(hidden.to_string().replace("notes", "nones"), unknown.to_string());
}

#[test]
fn condition_permits_by_caller_and_arguments() {
    let desk = AccessDesk::start();
    let token = desk.token("ann", "", &[]);
    assert_eq!(text(desk.call(&token, "own", json!({ "team": "red" }))), "yours");
    let refused = desk.call(&token, "own", json!({ "team": "blue" })).json();
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert!(!refused.to_string().contains("red"), "the claim is not shown: {refused}");
}

#[test]
fn call_that_is_refused_becomes_no_task() {
    let desk = AccessDesk::start();
    let (plain, ops) = (desk.token("ann", "", &[]), desk.token("ben", "", &["ops"]));
    let [hidden, unknown] = ["restart", "restert"].map(|tool| desk.call(&plain, tool, json!({})).json());
    assert_eq!(hidden.to_string().replace("restart", "restert"), unknown.to_string());
    assert_eq!(desk.call(&ops, "restart", json!({})).json()["result"]["resultType"], "task");
    let refused = desk.call(&plain, "own-slow", json!({ "team": "blue" })).json();
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert_eq!(desk.call(&plain, "own-slow", json!({ "team": "red" })).json()["result"]["resultType"], "task");
}

#[test]
fn arguments_are_completed_for_those_who_may_use_the_others() {
    let desk = AccessDesk::start();
    let token = desk.token("ann", "plan:a", &[]);
    let complete_of = |prompt: &str, argument: &str, context: Value| {
        let argument = json!({ "name": argument, "value": "" });
        let reference = json!({ "type": "ref/prompt", "name": prompt });
        let params = json!({ "ref": reference, "argument": argument, "context": { "arguments": context } });
        desk.send(&token, "completion/complete", "", params)
    };
    let complete = |context: Value| complete_of("plan", "item", context);
    let foreign = complete(json!({ "team": "blue" })).json();
    assert!(foreign["error"]["message"].as_str().unwrap().contains("not permitted"), "{foreign}");
    assert_eq!(complete(json!({ "team": "red", "part": "b" })).status, 403);
    assert!(!desk.folder.join("ran").exists(), "nothing runs for who is refused");
    let own = complete(json!({ "team": "red", "part": "a" })).json();
    assert_eq!(own["result"]["completion"]["values"], json!(["red-item"]), "{own}");
    assert!(desk.folder.join("ran").exists());
    // Values have the types that are declared, also while others are missing.
    let grade = |level: &str| complete_of("grade", "note", json!({ "level": level })).json();
    assert_eq!(grade("5")["result"]["completion"]["values"], json!(["good"]));
    assert!(grade("6")["error"].is_object());
}

#[test]
fn questions_and_tasks_belong_to_their_caller() {
    let desk = AccessDesk::start();
    let (ann, ben) = (desk.token("ann", "", &[]), desk.token("ben", "", &[]));
    let asked = desk.call(&ann, "ask", json!({})).json()["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let answered = json!({ "name": "ask", "arguments": {}, "requestState": asked["requestState"],
        "inputResponses": { "name": { "action": "accept", "content": { "name": "x" } } } });
    let stolen = desk.send(&ben, "tools/call", "ask", answered.clone()).json();
    assert_eq!(stolen["error"]["code"], -32602, "{stolen}");
    assert_eq!(text(desk.send(&ann, "tools/call", "ask", answered)), "x");

    let task = desk.call(&ann, "slow", json!({})).json()["result"]["taskId"].clone();
    let id = task.as_str().unwrap();
    let params = json!({ "taskId": task, "inputResponses": {} });
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let stolen = desk.send(&ben, method, id, params.clone()).json();
        let unknown = desk.send(&ben, method, "none", json!({ "taskId": "none", "inputResponses": {} })).json();
        assert_eq!(stolen.to_string().replace(id, "none"), unknown.to_string(), "{method}");
    }
    assert_eq!(desk.send(&ann, "tasks/get", id, params.clone()).json()["result"]["status"], "working");
    assert!(desk.send(&ann, "tasks/cancel", id, params).json()["result"].is_object());
}

/// What some see alone, reached by all other ways than its name.
const HIDDEN: &str = r#"folio: 1
server: { name: desk }
http: { auth: { tokens: TOKENS }, callerHeaders: [X-Key] }
prompts:
  a-greeting: { text: Hello }
  b-secret: { roles: [ops], arguments: { who: { complete: [ada] } }, text: "Hello {{who}}" }
  c-greeting: { text: Hello }
resources:
  a-page: { uri: "desk://a", text: A }
  b-secret: { uri: "desk://b", roles: [ops], text: B }
  c-page: { uri: "desk://c", text: C }
  d-secret: { uri: "desk://d/{n}", roles: [ops], arguments: { n: { complete: [one] } }, text: "{{n}}" }
tools:
  a-tool: { result: { text: A } }
  b-secret: { roles: [ops], result: { text: B } }
  c-tool: { result: { text: C } }
  d-secret:
    roles: [ops]
    inputSchema: { type: object, properties: { account: { type: string, x-mcp-header: Account } } }
    result: { text: D }
  upstream:
    run: { http: { url: "UPSTREAM/who", headers: { X-Key: "{{caller.headers.x-key}}" }, cache: 1h } }
    result: { text: "{{result.body}}" }
"#;

fn listed_token(name: &str, roles: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("{name}-token-4711").as_bytes());
    let digest: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name}: {{ sha256: '{digest}', roles: [{roles}] }}")
}

/// Sends a request of 2026-07-28.
fn send(server: &TestServer, caller: &str, method: &str, name: &str, mut params: Value) -> HttpResponse {
    params["_meta"] = sessionless_meta();
    let key = format!("key-of-{caller}-4711");
    let headers =
        [("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", method), ("Mcp-Name", name), ("X-Key", &key)];
    let client = HttpClient { token: Some(format!("{caller}-token-4711")), ..server.http_client() };
    client.post(&headers, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
}

#[test]
fn hidden_entries_are_reached_by_no_other_way() {
    let upstream = Upstream::start(|request, _| {
        Reply::with_headers(200, &[], format!("I am {}", request.header("x-key").unwrap()))
    });
    let tokens = format!("{{ {}, {} }}", listed_token("ada", "ops"), listed_token("eve", ""));
    let manifest =
        HIDDEN.replace("TOKENS", &tokens).replace("UPSTREAM", &upstream.url()).replace("desk }", "desk, pageSize: 1 }");
    let folder = TestFolder::with_manifest(&manifest);
    let server = folder.http();
    let ask =
        |caller: &str, method: &str, name: &str, params: Value| send(&server, caller, method, name, params).json();
    // Pages: of each list, by its own cursors and by those of another.
    for (method, key) in [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("tools/list", "tools"),
    ] {
        let walk = |caller: &str| {
            let (mut pages, mut cursor) = (Vec::new(), Value::Null);
            loop {
                let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
                let result = ask(caller, method, "", params)["result"].clone();
                pages.extend(result[key].as_array().unwrap().clone());
                cursor = result["nextCursor"].clone();
                if cursor.is_null() {
                    return pages;
                }
            }
        };
        let secrets = |pages: &[Value]| pages.iter().filter(|entry| entry.to_string().contains("secret")).count();
        let count = if key == "tools" { 2 } else { 1 };
        assert_eq!((secrets(&walk("ada")), secrets(&walk("eve"))), (count, 0), "{method}");
        let foreign = ask("ada", method, "", json!({}))["result"]["nextCursor"].clone();
        if !foreign.is_null() {
            let stolen = ask("eve", method, "", json!({ "cursor": foreign }));
            assert!(!stolen.to_string().contains("secret"), "{stolen}");
            assert_eq!(stolen["error"]["code"], -32602, "{stolen}");
        }
    }
    // Completion.
    for (reference, argument) in [
        (json!({ "type": "ref/prompt", "name": "b-secret" }), "who"),
        (json!({ "type": "ref/resource", "uri": "desk://d/{n}" }), "n"),
    ] {
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": "" } });
        assert_eq!(ask("ada", "completion/complete", "", params.clone())["result"]["completion"]["total"], 1);
        let refused = ask("eve", "completion/complete", "", params);
        assert!(refused.get("error").is_some() && !refused.to_string().contains("one"), "{refused}");
    }
    // The header that a parameter wants.
    let arguments = json!({ "name": "d-secret", "arguments": { "account": "a" } });
    assert!(ask("ada", "tools/call", "d-secret", arguments.clone()).to_string().contains("Mcp-Param-Account"));
    let refused = ask("eve", "tools/call", "d-secret", arguments);
    let unknown = ask("eve", "tools/call", "e-secret", json!({ "name": "e-secret", "arguments": { "account": "a" } }));
    assert_eq!(refused.to_string().replace("d-secret", "e-secret"), unknown.to_string());
    // A response that is kept belongs to who caused it.
    for caller in ["ada", "eve", "ada", "eve"] {
        let answer = ask(caller, "tools/call", "upstream", json!({ "name": "upstream" }));
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert!(!answer.to_string().contains("-4711"), "what a client sends is shown to nobody: {answer}");
    }
    assert_eq!(upstream.requests().len(), 2);
}

#[test]
fn nobody_hears_of_what_is_hidden() {
    let tokens = format!("{{ {}, {} }}", listed_token("ada", "ops"), listed_token("eve", ""));
    let manifest = HIDDEN
        .replace("{ tokens: TOKENS }", &format!("{{ optional: true, tokens: {tokens} }}"))
        .replace("UPSTREAM", "https://desk.example");
    let folder = TestFolder::with_manifest(&manifest);
    let server = folder.http();
    let lists = json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
                        "resourceSubscriptions": ["desk://a", "desk://b"] });
    let listen = |caller: &str| {
        let response = send(&server, caller, "subscriptions/listen", "", json!({ "notifications": lists }));
        assert_eq!(response.status, 200);
        let news = std::sync::Arc::<WaitQueue<Value>>::default();
        (response.stream(news.clone()), news)
    };
    let streams = ["ada", "eve"].map(listen);
    let in_sessions = [Some("ada"), Some("eve"), None].map(|caller| {
        let token = caller.map(|caller| format!("{caller}-token-4711"));
        let session = begin_session(&server, token.as_deref());
        let client = HttpClient { token, ..server.http_client() };
        let post = |message: Value| client.post(&[("Mcp-Session-Id", &session)], &message);
        assert_eq!(post(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).status, 202);
        let subscribe = |uri: &str| {
            let asked =
                post(json!({ "jsonrpc": "2.0", "id": 5, "method": "resources/subscribe", "params": { "uri": uri } }));
            asked.text().contains("\"error\"")
        };
        // To whom it is hidden, it is as one that is not there yet.
        assert_eq!(["desk://a", "desk://b", "desk://later"].map(subscribe), [false; 3]);
        let stream = client.send("GET", &[("Mcp-Session-Id", &session), ("Accept", "text/event-stream")], b"");
        let news = std::sync::Arc::<WaitQueue<Value>>::default();
        (stream.stream(news.clone()), news)
    });
    let heard = |news: &WaitQueue<Value>| {
        let all = news.all();
        let of = |message: &Value| {
            let method = message["method"].as_str()?.strip_prefix("notifications/")?;
            Some(format!("{method} {}", message["params"]["uri"].as_str().unwrap_or_default()).trim().to_owned())
        };
        all.iter().filter_map(of).filter(|what| what != "subscriptions/acknowledged").collect::<Vec<_>>()
    };
    let ([(_, ada), (_, eve)], [(_, ada_in_session), (_, eve_in_session), (_, nobody)]) = (&streams, &in_sessions);
    // Each hidden entry changes its listing, and the resource its text.
    let mark = server.log.line_count();
    let changed = manifest
        .replace("b-secret: {", "b-secret: { title: New,")
        .replace("d-secret: {", "d-secret: { title: New,")
        .replace("text: B }", "text: New }");
    folder.write("folio.yaml", &changed);
    server.log.wait_for_reload(mark);
    let expected =
        ["prompts/list_changed", "resources/list_changed", "resources/updated desk://b", "tools/list_changed"];
    for news in [ada, ada_in_session] {
        wait_until("all notices", || {
            let mut heard = heard(news);
            heard.sort();
            heard == expected
        });
    }
    // What all see comes after it, so nothing else was on the way.
    let mark = server.log.line_count();
    folder.write("folio.yaml", changed.replace("a-tool: {", "a-tool: { title: New,"));
    server.log.wait_for_reload(mark);
    for news in [eve, eve_in_session, nobody] {
        wait_until("the notice of a tool", || !heard(news).is_empty());
        assert_eq!(heard(news), ["tools/list_changed"]);
    }
}

//! Who calls over HTTP: tokens of issuers and of the manifest, and what belongs to each caller.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::*;
use crate::issuer::{Issuer, SigningKey, now};

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

fn begin_session(server: &TestServer, token: &str) -> String {
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
    let client = HttpClient { token: Some(token.to_owned()), ..server.http_client() };
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
    let session = begin_session(&server, &token("ann", "a"));
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
    assert_eq!(list(&server, Some("opaque-good")).status, 200);
    let away = list(&server, Some("opaque-new"));
    assert_eq!((away.status, away.header("retry-after").is_some()), (503, true));
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
    // It was asked a moment ago, and had no such key.
    assert_eq!(list(&server, Some(&token(&other, "ann"))).status, 401);
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
    let session = begin_session(&server, &token);
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

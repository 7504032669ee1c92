//! Requests upstream as the caller: by headers that its client sends, and by tokens for which its own is exchanged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::harness::*;
use crate::issuer::{Issuer, SigningKey};
use crate::upstream_server::{RecordedRequest, Reply, Upstream};

const KEY: &str = "key-of-ann-0815";
const AUDIENCE: &str = "https://desk.example/mcp";

const HEADERS_MANIFEST: &str = r#"
folio: 1
server: { name: desk }
http: { callerHeaders: [X-Desk-Key, X-Desk-Team] }
connections:
  api: { url: "URL", headers: { X-Team: "{{default caller.headers.x-desk-team ''}}" } }
tools:
  header: { run: { http: { use: api, url: /header, headers: { X-Key: "{{caller.headers.x-desk-key}}" } } } }
  bearer: { run: { http: { url: "URL/bearer", auth: { bearer: "{{caller.headers.[x-desk-key]}}" } } } }
  json: { run: { http: { url: "URL/json", query: { q: "{{caller.headers.x-desk-key}}" }, json: { k: "{{caller.headers.x-desk-key}}" } } } }
  form: { run: { http: { url: "URL/form", form: { k: "{{caller.headers.x-desk-key}}" } } } }
  fails: { run: { http: { url: "URL/fails", body: "{{caller.headers.x-desk-key}}" } } }
  kept: { run: { http: { url: "URL/kept", cache: 1h, query: { has: "{{#if caller.headers.x-desk-key}}yes{{/if}}" } } } }
  who: { result: { text: "{{#if caller}}somebody{{else}}nobody{{/if}}" } }
  tells:
    arguments: { text: { required: true } }
    run: [ { log: "L {{text}}" }, { progress: { progress: 1, message: "P {{text}}" } } ]
    result: { text: "R {{text}}" }
"#;

/// Repeats all that it is sent.
fn echo(request: &RecordedRequest, _: usize) -> Reply {
    let status = if request.target.starts_with("/fails") { 500 } else { 200 };
    let said = json!({ "target": request.target, "headers": request.headers, "body": request.body,
                       "error": format!("unknown {}", request.body) });
    Reply::json(status, &said)
}

fn last(upstream: &Upstream) -> RecordedRequest {
    upstream.requests().last().unwrap().clone()
}

/// Calls a tool by a request of 2026-07-28 with these headers.
fn call(server: &TestServer, token: Option<&str>, headers: &[(&str, &str)], tool: &str) -> HttpResponse {
    let client = HttpClient { token: token.map(str::to_owned), ..server.http_client() };
    let mut all = vec![("MCP-Protocol-Version", SESSIONLESS_VERSION), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
    all.extend_from_slice(headers);
    let params = json!({ "name": tool, "arguments": {}, "_meta": sessionless_meta() });
    client.post(&all, &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
}

fn answer_text(response: HttpResponse) -> String {
    let (status, json) = (response.status, response.json());
    assert_eq!(status, 200, "{json}");
    json["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{json}")).to_owned()
}

#[test]
fn declared_headers_reach_requests_and_no_output() {
    let upstream = Upstream::start(echo);
    let folder = TestFolder::with_manifest(&HEADERS_MANIFEST.replace("URL", &upstream.url()));
    let server = folder.serve_command().flag("--log-level=trace").http();
    let sent = [("X-Desk-Key", KEY), ("X-Desk-Team", "team-red"), ("X-Other", "other-4711")];
    for tool in ["header", "bearer", "json", "form", "fails"] {
        let answer = call(&server, None, &sent, tool).json();
        let answer = answer["result"].to_string();
        assert!(!answer.contains(KEY) && !answer.contains("team-red"), "{tool}: {answer}");
        assert!(answer.contains("[secret]"), "{tool}: {answer}");
        let request = last(&upstream);
        let all = format!("{request:?}");
        assert!(request.target.starts_with(&format!("/{tool}")) && all.contains(KEY), "{all}");
        assert!(!all.contains("other-4711"), "{all}");
        assert_eq!(all.contains("team-red"), tool == "header", "{all}");
    }
    let request = upstream.requests().into_iter().find(|request| request.target == "/bearer").unwrap();
    assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(answer_text(call(&server, None, &sent, "who")), "nobody", "headers are no identity");
    let log = server.log.text();
    assert!(log.contains("/header") && !log.contains(KEY) && !log.contains("team-red"), "{log}");
}

#[test]
fn header_that_a_request_repeats_is_in_no_member_of_the_log() {
    let folder = TestFolder::with_manifest(&HEADERS_MANIFEST.replace("URL", "http://127.0.0.1:9"));
    let server = folder.serve_command().flag("--log-format=json").http();
    // The second is cut within the secret.
    for name in [KEY.to_owned(), format!("{}{KEY}", "x".repeat(246))] {
        let mut meta = sessionless_meta();
        meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": KEY, "version": "1" });
        let params = json!({ "name": name, "_meta": meta });
        let headers = [
            ("MCP-Protocol-Version", SESSIONLESS_VERSION),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", &*name),
            ("X-Desk-Key", KEY),
        ];
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let mark = server.log.line_count();
        server.http_client().post(&headers, &message);
        let line = server.log.wait_for_line(mark, |line| line.contains("folio::call"));
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&line["name"], &line["client"]), (&json!(name.replace(KEY, "[secret]")), &json!("[secret] 1")));
        assert!(line["message"].as_str().unwrap().contains("[secret]: failed"), "{line}");
    }
}

#[test]
fn header_is_in_nothing_that_a_call_tells_its_client() {
    let folder = TestFolder::with_manifest(&HEADERS_MANIFEST.replace("URL", "http://127.0.0.1:9"));
    let mut meta = sessionless_meta();
    meta["progressToken"] = json!("t");
    meta["io.modelcontextprotocol/logLevel"] = json!("info");
    let params = json!({ "name": "tells", "arguments": { "text": KEY }, "_meta": meta });
    let headers = [
        ("MCP-Protocol-Version", SESSIONLESS_VERSION),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "tells"),
        ("X-Desk-Key", KEY),
    ];
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let told = folder.http().http_client().post(&headers, &message).text();
    assert!(["L", "P", "R"].iter().all(|kind| told.contains(&format!("{kind} [secret]"))), "{told}");
    assert!(!told.contains(KEY), "{told}");
}

#[test]
fn headers_belong_to_each_request_of_a_session() {
    let upstream = Upstream::start(echo);
    let folder = TestFolder::with_manifest(&HEADERS_MANIFEST.replace("URL", &upstream.url()));
    let server = folder.http();
    let params =
        json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let begun = server.http_client().post(&[("X-Desk-Key", "key-of-another-1")], &initialize);
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    let message =
        |id: i32| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "header" } });
    let headers = [("Mcp-Session-Id", session.as_str()), ("X-Desk-Key", KEY)];
    for body in [message(2), json!([message(3)])] {
        let answer = server.http_client().post(&headers, &body).text();
        assert!(answer.contains("[secret]") && !answer.contains(KEY), "{answer}");
        assert_eq!(last(&upstream).header("x-key"), Some(KEY));
    }
    let before = upstream.requests().len();
    let answer = server.http_client().post(&headers[..1], &message(4)).text();
    assert!(answer.contains("sends no header `x-desk-key`"), "{answer}");
    assert_eq!(upstream.requests().len(), before, "nothing is sent without the credential");
}

#[test]
fn headers_that_cannot_be_sent_on_are_refused() {
    let upstream = Upstream::start(echo);
    let folder = TestFolder::with_manifest(&HEADERS_MANIFEST.replace("URL", &upstream.url()));
    let server = folder.http();
    let long = "x".repeat(5000);
    for (headers, status) in [
        (vec![("X-Desk-Key", KEY), ("x-desk-key", KEY)], 400),
        (vec![("X-Desk-Key", "abc")], 400),
        (vec![("X-Desk-Key", long.as_str())], 431),
    ] {
        let refused = call(&server, None, &headers, "header");
        assert_eq!(refused.status, status);
        let words = refused.text();
        assert!(words.contains("`X-Desk-Key` is") && !words.contains(KEY), "{words}");
    }
    let origin = format!("http://127.0.0.1:{}", server.port);
    let preflight = [("Origin", origin.as_str()), ("Access-Control-Request-Method", "POST")];
    let allowed = server.http_client().send("OPTIONS", &preflight, b"");
    let allowed = allowed.header("access-control-allow-headers").unwrap().to_owned();
    assert!(allowed.contains("Mcp-Session-Id") && allowed.ends_with("X-Desk-Key, X-Desk-Team"), "{allowed}");
    assert_eq!(upstream.requests().len(), 0);
    let client = folder.stdio();
    let answer = client.client("2025-06-18").call("header", json!({})).to_string();
    assert!(answer.contains("sends no header `x-desk-key`"), "{answer}");
}

#[test]
fn responses_are_kept_for_each_caller_alone() {
    let upstream = Upstream::start(echo);
    let folder = TestFolder::with_manifest(&HEADERS_MANIFEST.replace("URL", &upstream.url()));
    let server = folder.http();
    for (key, expected) in [(KEY, 1), (KEY, 1), ("key-of-ben-4711", 2), (KEY, 2)] {
        call(&server, None, &[("X-Desk-Key", key)], "kept");
        assert_eq!(upstream.requests().len(), expected);
    }
}

#[test]
fn misplaced_and_undeclared_headers_are_errors_at_their_place() {
    let base = "folio: 1\nserver: { name: desk }\nhttp: { callerHeaders: [X-Desk-Key] }\n";
    let secret = "{{caller.headers.x-desk-key}}";
    let only = "the caller's header `x-desk-key` may only stand in requests";
    let argument = "the caller's header `x-desk-key` would be sent wherever `u` points";
    let host = "the caller's header `x-desk-key` would be sent to a host that the manifest does not name";
    for (entry, message) in [
        (format!("{{ result: {{ text: '{secret}' }} }}"), only),
        (format!("{{ run: {{ exec: [echo, '{secret}'] }} }}"), only),
        (format!("{{ run: {{ exec: [cat], stdin: '{secret}' }} }}"), only),
        (format!("{{ run: {{ exec: [env], env: {{ K: '{secret}' }} }} }}"), only),
        (format!("{{ run: {{ script: {{ shell: sh, text: 'echo $K' }}, env: {{ K: '{secret}' }} }} }}"), only),
        (format!("{{ run: {{ log: '{secret}' }} }}"), only),
        (format!("{{ run: {{ set: {{ k: '{secret}' }} }} }}"), only),
        (format!("{{ run: {{ fail: '{secret}' }} }}"), only),
        (format!("{{ run: {{ http: {{ url: 'https://a.example/{secret}' }} }} }}"), only),
        (format!("{{ run: [{{ when: '{secret}', sleep: 1s }}] }}"), only),
        (format!("{{ permit: '{secret}', result: {{ text: a }} }}"), only),
        ("{ result: { text: '{{json caller.headers}}' } }".to_owned(), "`caller.headers` may only stand in requests"),
        (
            format!(
                "{{ arguments: {{ u: {{}} }}, run: {{ http: {{ url: '{{{{u}}}}', headers: {{ K: '{secret}' }} }} }} }}"
            ),
            argument,
        ),
        (format!("{{ run: {{ http: {{ url: '{{{{env.API}}}}/a', headers: {{ K: '{secret}' }} }} }} }}"), host),
        (
            "{ run: { http: { url: 'https://a.example', headers: { K: '{{caller.headers.x-desk-kay}}' } } } }"
                .to_owned(),
            "unknown field `x-desk-kay` of `caller.headers`",
        ),
        (
            format!(
                "{{ run: {{ http: {{ url: 'https://a.example', headers: {{ K: '{{{{#if caller}}}}{secret}{{{{/if}}}}' }} }} }} }}"
            ),
            "`caller` as a whole cannot stand beside `caller.headers`",
        ),
    ] {
        let folder = TestFolder::with_manifest(&format!("{base}env: {{ API: {{}} }}\ntools:\n  t: {entry}\n"));
        let ran = run_folio(folder.path(), &["check", "--format", "lines"]);
        let found = ran.out.lines().any(|line| line.starts_with("folio.yaml:6:") && line.contains(message));
        assert!(found && ran.code == Some(1), "{entry}: {}", ran.out);
    }
    for (header, message) in [
        ("Authorization", "cannot be a caller header"),
        ("cookie", "cannot be a caller header"),
        ("Host", "cannot be a caller header"),
        ("Mcp-Session-Id", "cannot be a caller header"),
        ("X Desk", "invalid header name"),
        ("X-Desk-Key, x-desk-key", "duplicate header"),
    ] {
        let folder = TestFolder::with_manifest(&base.replace("X-Desk-Key", header));
        let ran = run_folio(folder.path(), &["check", "--format", "lines"]);
        assert!(ran.out.contains("folio.yaml:3:") && ran.out.contains(message), "{header}: {}", ran.out);
    }
}

#[test]
fn imported_packs_see_no_header_and_exchange_nothing() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: desk }\nhttp: { callerHeaders: [X-Desk-Key] }\n\
         packs: { sub: { path: sub, allow: [http] } }\n",
    );
    let exchange = "{ tokenUrl: 'https://a.example', clientId: a, clientSecret: b }";
    for (rest, message) in [
        (
            "tools: { t: { run: { http: { url: 'https://a.example', headers: { K: '{{caller.headers.x-desk-key}}' } } } } }",
            "unknown field `headers` of `caller`",
        ),
        (
            &*format!("connections: {{ api: {{ url: 'https://a.example', auth: {{ exchange: {exchange} }} }} }}"),
            "an imported pack must not exchange the token of the caller",
        ),
    ] {
        folder.write("sub/folio.yaml", format!("folio: 1\nserver: {{ name: sub }}\n{rest}\n"));
        let ran = run_folio(folder.path(), &["check", "--format", "lines"]);
        assert!(ran.out.contains(message) && ran.code == Some(1), "{}", ran.out);
    }
}

/// A desk that exchanges the tokens of its callers.
struct ExchangeDesk {
    server: TestServer,
    key: SigningKey,
    issuer: Issuer,
    /// The token endpoint.
    exchange: Upstream,
    upstream: Upstream,
    refuses: Arc<AtomicBool>,
    /// How many requests upstream refuses with 401.
    rejections: Arc<AtomicUsize>,
    _folder: TestFolder,
}

fn form_field(request: &RecordedRequest, name: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(request.body.as_bytes());
    pairs.find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}

fn subject_of(token: &str) -> String {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    claims["sub"].as_str().unwrap().to_owned()
}

impl ExchangeDesk {
    fn start() -> ExchangeDesk {
        let key = SigningKey::p256("k");
        let issuer = Issuer::start(&[&key]);
        let (refuses, rejections) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let exchange = Upstream::start({
            let refuses = refuses.clone();
            move |request, number| {
                let subject = form_field(request, "subject_token").unwrap();
                if refuses.load(Ordering::Relaxed) {
                    let words = format!("not {subject}");
                    return Reply::json(400, &json!({ "error": "invalid_target", "error_description": words }));
                }
                // So that calls at the same time wait for one exchange.
                thread::sleep(std::time::Duration::from_millis(100));
                let token = format!("exchanged-{}-{number}", subject_of(&subject));
                Reply::json(200, &json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600 }))
            }
        });
        let upstream = Upstream::start({
            let rejections = rejections.clone();
            move |request, number| {
                let takes_one = |left: usize| left.checked_sub(1);
                let rejects = rejections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, takes_one).is_ok();
                if rejects { Reply::json(401, &json!({ "of": request.headers })) } else { echo(request, number) }
            }
        });
        let manifest = format!(
            "folio: 1\nserver: {{ name: desk }}\nenv: {{ SECRET: {{ secret: true }} }}\n\
             http: {{ publicUrl: '{AUDIENCE}', auth: {{ issuer: '{}', optional: true }} }}\n\
             connections:\n  api:\n    url: {}\n    auth: {{ exchange: {{ tokenUrl: '{}/token', clientId: desk, \
             clientSecret: '{{{{env.SECRET}}}}', audience: 'https://api.example', scopes: [read, write] }} }}\n\
             tools:\n  get: {{ run: {{ http: {{ use: api, url: /get }} }} }}\n\
             \x20 kept: {{ run: {{ http: {{ use: api, url: /kept, cache: 1h }} }} }}\n",
            issuer.url(),
            upstream.url(),
            exchange.url()
        );
        let folder = TestFolder::with_manifest(&manifest);
        let server = folder.serve_command().env("SECRET", "client-secret-1").flag("--log-level=trace").http();
        ExchangeDesk { server, key, issuer, exchange, upstream, refuses, rejections, _folder: folder }
    }

    fn token(&self, sub: &str) -> String {
        self.key.token(&json!({}), &self.issuer.claims(sub, AUDIENCE, ""))
    }

    fn call(&self, token: &str, tool: &str) -> String {
        answer_text(call(&self.server, Some(token), &[], tool))
    }

    fn sent_tokens(&self) -> Vec<String> {
        let requests = self.upstream.requests();
        requests.iter().map(|request| request.header("authorization").unwrap_or_default().to_owned()).collect()
    }
}

#[test]
fn token_is_exchanged_once_for_each_caller() {
    let desk = ExchangeDesk::start();
    let (ann, ben) = (desk.token("ann"), desk.token("ben"));
    let answers: Vec<String> = thread::scope(|scope| {
        let calls: Vec<_> = (0..4).map(|_| scope.spawn(|| desk.call(&ann, "get"))).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(desk.exchange.requests().len(), 1, "calls at the same time share one exchange");
    assert_eq!(desk.sent_tokens(), vec!["Bearer exchanged-ann-0"; 4]);
    for answer in answers {
        assert!(answer.contains("[secret]") && !answer.contains("exchanged-ann"), "{answer}");
    }
    let asked = desk.exchange.requests()[0].clone();
    for (field, value) in [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("subject_token", ann.as_str()),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("audience", "https://api.example"),
        ("scope", "read write"),
    ] {
        assert_eq!(form_field(&asked, field).as_deref(), Some(value), "{field}");
    }
    assert!(asked.header("authorization").unwrap().starts_with("Basic "), "{asked:?}");
    desk.call(&ben, "get");
    desk.call(&ann, "get");
    assert_eq!(desk.sent_tokens()[4..], ["Bearer exchanged-ben-1", "Bearer exchanged-ann-0"]);
    // Another token of the same caller may have other scopes.
    let narrow = desk.key.token(&json!({}), &desk.issuer.claims("ann", AUDIENCE, "narrow"));
    desk.call(&narrow, "get");
    assert_eq!(desk.sent_tokens()[6], "Bearer exchanged-ann-2");
    let upstream = format!("{:?}", desk.upstream.requests());
    let log = desk.server.log.text();
    for token in [&ann, &ben, &narrow] {
        let signature = token.rsplit('.').next().unwrap();
        assert!(!upstream.contains(signature), "the caller's token goes to the token endpoint alone");
        assert!(!log.contains(signature) && !log.contains("exchanged-ann"), "{log}");
    }
}

#[test]
fn rejected_token_is_exchanged_once_more() {
    let desk = ExchangeDesk::start();
    let ann = desk.token("ann");
    desk.rejections.store(1, Ordering::Relaxed);
    let answer = desk.call(&ann, "get");
    assert!(answer.contains("/get"), "{answer}");
    assert_eq!(desk.sent_tokens(), ["Bearer exchanged-ann-0", "Bearer exchanged-ann-1"]);
    desk.rejections.store(5, Ordering::Relaxed);
    let answer = desk.call(&ann, "get");
    assert!(answer.contains("401") && !answer.contains("exchanged-ann"), "{answer}");
    assert_eq!(desk.exchange.requests().len(), 2, "a new token is not replaced at once");
}

#[test]
fn refusal_and_missing_token_are_words() {
    let desk = ExchangeDesk::start();
    let ann = desk.token("ann");
    desk.refuses.store(true, Ordering::Relaxed);
    let answer = call(&desk.server, Some(&ann), &[], "get").json();
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let words = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(words.contains("invalid_target: not [secret]") && !words.contains(&ann), "{words}");
    let nobody = call(&desk.server, None, &[], "get").json();
    assert_eq!(nobody["result"]["isError"], true, "{nobody}");
    let words = nobody["result"]["content"][0]["text"].as_str().unwrap();
    assert!(words.contains("no token of the caller to exchange: the user has to sign in"), "{words}");
    assert_eq!(desk.upstream.requests().len(), 0, "nothing is sent as somebody else");
    let stdio = desk._folder.serve_command().env("SECRET", "client-secret-1").stdio();
    let words = stdio.client("2025-06-18").call("get", json!({})).to_string();
    assert!(words.contains("this server knows its callers over HTTP only"), "{words}");
}

#[test]
fn responses_of_exchanged_tokens_are_kept_for_their_caller() {
    let desk = ExchangeDesk::start();
    let (ann, ben) = (desk.token("ann"), desk.token("ben"));
    for (token, expected) in [(&ann, 1), (&ann, 1), (&ben, 2), (&ann, 2)] {
        desk.call(token, "kept");
        assert_eq!(desk.upstream.requests().len(), expected);
    }
}

#[test]
fn exchange_is_checked() {
    let auth = "http: { auth: { issuer: 'https://id.example' } }\n";
    let exchange = |url: &str| format!("exchange: {{ tokenUrl: '{url}', clientId: a, clientSecret: '{{{{env.S}}}}' }}");
    let good = exchange("https://id.example/token");
    for (http, auth, message, code) in [
        (auth, good.clone(), "0 errors", 0),
        (auth, exchange("http://127.0.0.1:1/token"), "0 errors", 0),
        (auth, exchange("http://id.example/token"), "the caller's token would be sent without encryption", 1),
        (auth, format!("{good}, bearer: '{{{{env.S}}}}'"), "expected exactly one of", 1),
        ("", good.clone(), "`exchange` without `http.auth`: there is no token of a caller on stdio", 0),
    ] {
        let manifest = format!(
            "folio: 1\nserver: {{ name: desk }}\n{http}env: {{ S: {{ secret: true }} }}\n\
             connections: {{ api: {{ url: 'https://a.example', auth: {{ {auth} }} }} }}\n\
             tools: {{ t: {{ description: Gets, run: {{ http: {{ use: api }} }} }} }}\n"
        );
        let folder = TestFolder::with_manifest(&manifest);
        let ran = run_folio(folder.path(), &["check", "--format", "lines"]);
        let says = ran.out.contains(message) || message == "0 errors";
        assert!(says && ran.code == Some(code), "{auth}: {ran:?}");
        if http.is_empty() {
            let served = run_folio(folder.path(), &["serve", "--http", "127.0.0.1:0"]);
            assert!(served.code == Some(1) && served.err.contains("`exchange` without `http.auth`"), "{served:?}");
        }
    }
    let manifest = format!(
        "folio: 1\nserver: {{ name: desk }}\n{auth}env: {{ S: {{ secret: true }} }}\n\
         tools: {{ t: {{ run: {{ http: {{ url: 'https://a.example', auth: {{ {good} }} }} }} }} }}\n"
    );
    let folder = TestFolder::with_manifest(&manifest);
    let ran = run_folio(folder.path(), &["check", "--format", "lines"]);
    assert!(ran.out.contains("`exchange` belongs in the `auth` of a connection"), "{}", ran.out);
}

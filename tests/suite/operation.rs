//! What an operator sees of a running server: metrics, readiness, the audit file, and lines about refused requests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::*;
use crate::issuer::{Issuer, SigningKey};

const SECRET: &str = "sesame-open-4711";

/// A server with a tool of each outcome, whose audit file and `http` key are these.
fn manifest(audit: &str, http: &str) -> String {
    format!(
        r#"folio: 1
server: {{ name: operated }}
env: {{ KEY: {{ secret: true }} }}
admin: {{ listen: "127.0.0.1:0" }}
{audit}
{http}
prompts: {{ greet: {{ text: Hello. }} }}
resources: {{ policy: {{ uri: "docs://policy", text: Be kind. }} }}
tools:
  say: {{ description: T, arguments: {{ word: {{}} }}, result: {{ text: "said {{{{word}}}}" }} }}
  fail: {{ description: T, run: {{ exec: ["false"] }} }}
  slow: {{ description: T, run: {{ exec: [sleep, "61.9173"] }} }}
  touch: {{ description: T, run: {{ exec: [touch, touched] }} }}
"#
    )
}

fn serve(folder: &TestFolder) -> ServeCommand {
    folder.serve_command().env("KEY", SECRET).flag("--log-level=info")
}

/// The listener for operators.
fn admin(server: &TestServer) -> HttpClient {
    let line = server.log.wait_for_line(0, |line| line.starts_with("admin listener on http://"));
    HttpClient::new(line.rsplit(':').next().unwrap().trim().parse().unwrap())
}

fn get(admin: &HttpClient, path: &str) -> (u16, String) {
    let response = HttpClient { path: path.to_owned(), ..admin.clone() }.send("GET", &[], b"");
    (response.status, response.text())
}

/// The samples whose lines begin so.
fn samples(admin: &HttpClient, prefix: &str) -> Vec<String> {
    let (status, text) = get(admin, "/metrics");
    assert_eq!(status, 200);
    text.lines().filter(|line| line.starts_with(prefix)).map(str::to_owned).collect()
}

/// The value of the only sample whose line begins so.
fn sample(admin: &HttpClient, prefix: &str) -> f64 {
    let found = samples(admin, prefix);
    assert_eq!(found.len(), 1, "{prefix}: {found:#?}");
    found[0].rsplit(' ').next().unwrap().parse().unwrap()
}

fn audit_lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// Waits for a line of the audit file.
fn audit_line(path: &Path, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut found = None;
    wait_until("a line of the audit file", || {
        found = audit_lines(path).into_iter().find(&wanted);
        found.is_some()
    });
    found.unwrap()
}

fn use_all(client: &TestClient) {
    client.call("say", json!({ "word": "hi" }));
    client.call("fail", json!({}));
    client.request("tools/call", json!({ "name": "no-such-tool", "arguments": {} }));
    client.get_text("greet", json!({}));
    client.read_text("docs://policy");
}

#[test]
fn metrics_name_operations_of_the_catalog_alone() {
    let folder = TestFolder::with_manifest(&manifest("", ""));
    for (server, transport) in [(serve(&folder).http(), "tcp"), (serve(&folder).stdio(), "pipe")] {
        let admin = admin(&server);
        use_all(&server.session("2025-11-25"));
        if transport == "tcp" {
            use_all(&server.sessionless());
        }
        let count = |method: &str, tool: &str, prompt: &str, error: &str, version: &str| {
            // Labels are in alphabetical order.
            let labels = format!(
                "error_type=\"{error}\",gen_ai_prompt_name=\"{prompt}\",gen_ai_tool_name=\"{tool}\",\
                 mcp_method_name=\"{method}\",mcp_protocol_version=\"{version}\",network_transport=\"{transport}\""
            );
            sample(&admin, &format!("mcp_server_operation_duration_seconds_count{{{labels}}}"))
        };
        for version in ["2025-11-25", "2026-07-28"].iter().take(if transport == "tcp" { 2 } else { 1 }) {
            assert_eq!(count("tools/call", "say", "", "", version), 1.0);
            assert_eq!(count("tools/call", "fail", "", "tool_error", version), 1.0);
            assert_eq!(count("tools/call", "_OTHER", "", "-32602", version), 1.0);
            assert_eq!(count("prompts/get", "", "greet", "", version), 1.0);
            assert_eq!(count("resources/read", "", "", "", version), 1.0);
        }
        let (_, text) = get(&admin, "/metrics");
        assert!(!text.contains("docs://policy") && !text.contains("no-such-tool"), "{text}");
        let buckets = samples(&admin, "mcp_server_operation_duration_seconds_bucket{error_type=\"tool_error\"");
        let bounds: Vec<&str> =
            buckets.iter().map(|line| line.split("le=\"").nth(1).unwrap().split('"').next().unwrap()).collect();
        let expected =
            ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10", "30", "60", "120", "300", "+Inf"];
        assert_eq!(bounds[..15], expected);
        assert_eq!(sample(&admin, "folio_sessions "), 1.0);
        assert!(sample(&admin, "folio_programs_started_total ") >= 1.0);
        assert_every_sample_is_described(&text);
    }
}

fn assert_every_sample_is_described(text: &str) {
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        for word in ["HELP", "TYPE"] {
            assert!(text.contains(&format!("# {word} {family} ")), "no {word} of {family}");
        }
    }
}

#[test]
fn gauges_follow_calls_sessions_and_streams() {
    let folder = TestFolder::with_manifest(&manifest("", ""));
    let server = serve(&folder).http();
    let admin = admin(&server);
    let client = server.session("2025-11-25");
    let stream = client.open_stream();
    let call = client.start_call("slow", json!({}));
    wait_until("the program", || sample(&admin, "folio_programs_running ") == 1.0);
    assert_eq!(sample(&admin, "folio_in_flight_calls "), 1.0);
    // That of the call, and the one that belongs to none.
    wait_until("two streams", || sample(&admin, "folio_open_streams ") == 2.0);
    client.cancel(call);
    wait_until("the end of the program", || sample(&admin, "folio_programs_running ") == 0.0);
    stream.close();
    let web = server.http_client();
    web.send("DELETE", &[("Mcp-Session-Id", client.session_id())], b"");
    wait_until("the end of the session", || sample(&admin, "folio_sessions ") == 0.0);
    let ended =
        "mcp_server_session_duration_seconds_count{mcp_protocol_version=\"2025-11-25\",network_transport=\"tcp\"}";
    assert_eq!(sample(&admin, ended), 1.0);
    let cancelled = samples(&admin, "mcp_server_operation_duration_seconds_count{error_type=\"cancelled\"");
    let code = samples(&admin, "mcp_server_operation_duration_seconds_count{error_type=\"-32603\"");
    assert_eq!(cancelled.len() + code.len(), 1, "{cancelled:?} {code:?}");
}

#[test]
fn reloads_are_counted_and_told() {
    let good = manifest("", "");
    let folder = TestFolder::with_manifest(&good);
    let server = serve(&folder).http();
    let admin = admin(&server);
    let began = sample(&admin, "folio_last_good_reload_timestamp_seconds ");
    assert!(began > 1e9);
    assert_eq!(get(&admin, "/readyz"), (200, "ok\n".to_owned()));
    assert_eq!(get(&admin, "/readyz?verbose"), (200, "catalog: good\ndraining: no\n".to_owned()));
    let mark = server.log.line_count();
    folder.rename_over("folio.yaml", good.replace("text: Hello.", "txt: Hello."));
    server.log.wait_for_failed_reload(mark);
    let (status, text) = get(&admin, "/readyz?verbose");
    assert_eq!(status, 200, "the last good version is served");
    assert!(text.starts_with("catalog: the last reload failed"), "{text}");
    assert_eq!(sample(&admin, "folio_reloads_total{outcome=\"failed\"}"), 1.0);
    let mark = server.log.line_count();
    folder.rename_over("folio.yaml", good.replace("127.0.0.1:0", "127.0.0.1:9"));
    let warning = server.log.wait_for_line(mark, |line| line.contains("requires a restart"));
    assert!(warning.contains("change of `admin` requires a restart"), "{warning}");
    wait_until("the reload", || get(&admin, "/readyz?verbose").1.starts_with("catalog: good"));
    // A file that was written just before the start is read twice.
    assert!(sample(&admin, "folio_reloads_total{outcome=\"ok\"}") >= 1.0);
    assert_eq!((get(&admin, "/livez").0, get(&admin, "/mcp").0), (200, 404));
    let rebound = HttpClient { host: "evil.example".to_owned(), path: "/metrics".to_owned(), ..admin };
    assert_eq!(rebound.send("GET", &[], b"").status, 403, "a web page reads no metrics");
}

fn token(key: &SigningKey, issuer: &Issuer, caller: &str, scope: &str) -> String {
    key.token(&json!({ "alg": key.algorithm(), "kid": key.kid }), &issuer.claims(caller, "desk", scope))
}

#[test]
fn readiness_tells_what_is_known_of_the_issuer() {
    let key = SigningKey::p256("one");
    let issuer = Issuer::start(&[&key]);
    let http = format!("http: {{ auth: {{ issuer: \"{}\", audience: desk }} }}", issuer.url());
    let folder = TestFolder::with_manifest(&manifest("", &http));
    let server = serve(&folder).http();
    let admin = admin(&server);
    let state = || get(&admin, "/readyz?verbose").1.lines().last().unwrap().to_owned();
    assert_eq!(state(), format!("issuer {}: not asked yet", issuer.url()));
    let mut web = server.http_client();
    web.token = Some(token(&key, &issuer, "ada", ""));
    web.post(&[], &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    assert_eq!(state(), format!("issuer {}: reachable", issuer.url()));
}

#[test]
fn each_request_has_a_line_in_the_audit_file() {
    let folder = TestFolder::with_manifest(&manifest("audit: { file: audit.jsonl }", ""));
    let path = folder.join("audit.jsonl");
    let server = serve(&folder).http();
    let client = server.session("2025-11-25");
    use_all(&client);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let meta = json!({ "traceparent": format!("00-{trace}-b7ad6b7169203331-01") });
    client.request("tools/call", json!({ "name": "say", "arguments": { "word": "traced" }, "_meta": meta }));
    let line = audit_line(&path, |line| line["trace"] == trace);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(
        (&line["method"], &line["entry"], &line["outcome"]),
        (&json!("tools/call"), &json!("say"), &json!("ok"))
    );
    assert_eq!(line["client"], json!({ "name": "suite", "version": "1" }));
    assert_eq!((&line["address"], &line["session"]), (&json!("127.0.0.1"), &json!(client.session_id())));
    assert_eq!(line["caller"], Value::Null);
    let time = line["time"].as_str().unwrap();
    assert!(time.ends_with('Z') && time.len() == "2026-07-28T00:00:00.000Z".len(), "{time}");
    assert!(line["bytesIn"].as_u64().unwrap() > 100 && line["bytesOut"].as_u64().unwrap() > 50, "{line}");
    assert!(line["ms"].as_f64().unwrap() > 0.0 && line["manifest"].as_str().unwrap().len() == 16, "{line}");
    assert!(line.get("arguments").is_none() && line.get("result").is_none(), "{line}");
    let lines = audit_lines(&path);
    let outcome_of = |entry: &str| {
        let line = lines.iter().find(|line| line["entry"] == entry).unwrap();
        (line["outcome"].as_str().unwrap().to_owned(), line["code"].as_i64())
    };
    assert_eq!(outcome_of("fail"), ("failed".to_owned(), None));
    assert_eq!(outcome_of("no-such-tool"), ("failed".to_owned(), Some(-32602)));
    assert_eq!(outcome_of("docs://policy"), ("ok".to_owned(), None));
    assert!(lines.iter().any(|line| line["method"] == "initialize"), "{lines:#?}");
    let call = client.start_call("slow", json!({}));
    wait_until("the program", || !processes_with_argument("61.9173").is_empty());
    client.cancel(call);
    assert_eq!(audit_line(&path, |line| line["entry"] == "slow")["outcome"], "cancelled");
}

#[test]
fn levels_add_arguments_and_results_without_secrets() {
    for (level, has_arguments, has_result) in
        [("metadata", false, false), ("arguments", true, false), ("all", true, true)]
    {
        let audit = format!("audit: {{ file: audit.jsonl, level: {level} }}");
        let folder = TestFolder::with_manifest(&manifest(&audit, ""));
        let path = folder.join("audit.jsonl");
        let server = serve(&folder).stdio();
        server.sessionless().call("say", json!({ "word": format!("my {SECRET}") }));
        let line = audit_line(&path, |line| line["entry"] == "say");
        assert_eq!(line["arguments"], if has_arguments { json!({ "word": "my [secret]" }) } else { Value::Null });
        let text = line["result"]["content"][0]["text"].as_str();
        assert_eq!(text, has_result.then_some("said my [secret]"), "{line}");
        assert!(!fs::read_to_string(&path).unwrap().contains(SECRET));
    }
}

#[test]
fn audit_file_is_opened_again_when_it_was_moved() {
    let folder = TestFolder::with_manifest(&manifest("audit: { file: audit.jsonl }", ""));
    let (path, moved) = (folder.join("audit.jsonl"), folder.join("audit.jsonl.1"));
    let server = serve(&folder).stdio();
    let client = server.sessionless();
    client.call("say", json!({ "word": "one" }));
    audit_line(&path, |line| line["entry"] == "say");
    fs::rename(&path, &moved).unwrap();
    client.get_text("greet", json!({}));
    audit_line(&path, |line| line["entry"] == "greet");
    assert!(audit_lines(&moved).iter().all(|line| line["entry"] != "greet"));
    fs::remove_file(&path).unwrap();
    client.read_text("docs://policy");
    audit_line(&path, |line| line["entry"] == "docs://policy");
}

#[test]
fn no_line_is_torn_or_lost_among_many() {
    let folder = TestFolder::with_manifest(&manifest("audit: { file: audit.jsonl, level: all }", ""));
    let path = folder.join("audit.jsonl");
    let server = serve(&folder).http();
    let admin = admin(&server);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let client = server.sessionless();
                (0..25).for_each(|_| drop(client.call("say", json!({ "word": "x".repeat(3000) }))));
            });
        }
    });
    wait_until("all lines", || audit_lines(&path).len() >= 200);
    assert_eq!(audit_lines(&path).len(), 200);
    assert_eq!(sample(&admin, "folio_audit_lost_total "), 0.0);
}

#[test]
fn what_cannot_be_recorded_is_lost_or_not_done() {
    let lossy = TestFolder::with_manifest(&manifest("audit: { file: /dev/full }", ""));
    let server = serve(&lossy).http();
    let admin_client = admin(&server);
    server.sessionless().call("touch", json!({}));
    wait_until("the loss", || sample(&admin_client, "folio_audit_lost_total ") == 1.0);
    server.log.wait_for_line(0, |line| line.contains("cannot write to `/dev/full`"));
    assert!(lossy.join("touched").exists());

    let strict = TestFolder::with_manifest(&manifest("audit: { file: /dev/full, required: true }", ""));
    let server = serve(&strict).http();
    let client = server.sessionless();
    let params = client.params(json!({ "name": "touch", "arguments": {} }));
    let headers = client.headers("tools/call", &params);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let response = server.http_client().post(&headers, &body);
    assert_eq!(response.status, 503);
    assert_eq!(response.json()["error"]["code"], -32603);
    assert!(!strict.join("touched").exists(), "it was done");
    let server = serve(&strict).stdio();
    assert_eq!(server.sessionless().error_code("tools/call", json!({ "name": "touch", "arguments": {} })), -32603);
    assert!(!strict.join("touched").exists(), "it was done");
    strict.write("folio.yaml", manifest("audit: { file: no/such/audit, required: true }", ""));
    let started = run_folio(strict.path(), &["serve"]);
    assert!(started.code != Some(0) && started.err.contains("cannot open the audit file"), "{started:?}");
}

#[test]
fn required_line_comes_before_the_end_of_a_request() {
    let folder = TestFolder::with_manifest(&manifest("audit: { file: audit.jsonl, required: true }", ""));
    let path = folder.join("audit.jsonl");
    let server = serve(&folder).stdio();
    server.sessionless().call("say", json!({ "word": "hi" }));
    audit_line(&path, |line| line["outcome"] == "ok");
    let outcomes: Vec<Value> = audit_lines(&path).iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes, ["started", "ok"]);
}

#[test]
fn refused_requests_are_logged_counted_and_recorded() {
    let http = "http: { token: \"{{env.KEY}}\" }";
    let folder = TestFolder::with_manifest(&manifest("audit: { file: audit.jsonl }", http));
    let path = folder.join("audit.jsonl");
    let server = serve(&folder).http();
    let admin = admin(&server);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let web = server.http_client();
    assert_eq!(web.post(&[("Mcp-Session-Id", "forged\u{7f}")], &ping).status, 400);
    assert_eq!(web.post(&[("Mcp-Session-Id", "forged")], &ping).status, 401);
    let line = server.log.wait_for_line(0, |line| line.contains("refused 401"));
    assert!(
        line.contains("INFO") && line.contains("refused 401 to 127.0.0.1: invalid_token, session \"forged\""),
        "{line}"
    );
    let recorded = audit_line(&path, |line| line["status"] == 401);
    assert_eq!((&recorded["outcome"], &recorded["reason"]), (&json!("refused"), &json!("invalid_token")));
    assert_eq!((&recorded["address"], &recorded["session"]), (&json!("127.0.0.1"), &json!("forged")));
    let evil = HttpClient { host: "evil.example".to_owned(), ..web.clone() };
    assert_eq!(evil.post(&[], &ping).status, 403);
    server.log.wait_for_line(0, |line| line.contains("refused 403 to 127.0.0.1: unknown_host"));
    let known = HttpClient { token: Some(SECRET.to_owned()), ..web };
    assert_eq!(known.post_bytes(&[], &vec![b' '; 5 << 20]).status, 413);
    server.log.wait_for_line(0, |line| line.contains("refused 413 to 127.0.0.1: too_large"));
    audit_line(&path, |line| line["status"] == 413);
    assert_eq!(known.send("POST", &[("Content-Type", "text/plain"), ("Accept", "application/json")], b"x").status, 415);
    let recorded = audit_line(&path, |line| line["status"] == 415);
    assert_eq!(recorded["reason"], "invalid_message");
    assert_eq!(sample(&admin, "folio_auth_refusals_total{reason=\"invalid_token\"}"), 1.0);
    assert_eq!(sample(&admin, "folio_auth_refusals_total{reason=\"unknown_host\"}"), 1.0);
    assert_eq!(sample(&admin, "folio_limits_hit_total{limit=\"size\"}"), 1.0);
    assert!(!server.log.text().contains(SECRET) && !fs::read_to_string(&path).unwrap().contains(SECRET));
}

#[test]
fn caller_is_recorded_and_its_token_is_not() {
    let key = SigningKey::p256("one");
    let issuer = Issuer::start(&[&key]);
    let http = format!("http: {{ auth: {{ issuer: \"{}\", audience: desk, scopes: [use] }} }}", issuer.url());
    let folder = TestFolder::with_manifest(&manifest("audit: { file: audit.jsonl }", &http));
    let path = folder.join("audit.jsonl");
    let server = serve(&folder).http();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } } });
    let mut web = server.http_client();
    web.token = Some(token(&key, &issuer, "ada", "use"));
    assert_eq!(web.post(&[], &body).status, 200);
    let line = audit_line(&path, |line| line["method"] == "initialize");
    assert_eq!(line["caller"], json!({ "issuer": issuer.url(), "id": "ada" }));
    web.token = Some(token(&key, &issuer, "bob", "other"));
    assert_eq!(web.post(&[], &body).status, 403);
    let line = audit_line(&path, |line| line["status"] == 403);
    assert_eq!((&line["reason"], &line["missingScopes"]), (&json!("insufficient_scope"), &json!(["use"])));
    let text = fs::read_to_string(&path).unwrap() + &server.log.text();
    assert!(!text.contains(web.token.as_ref().unwrap()), "{text}");
}

#[test]
fn no_caller_chooses_what_is_masked_of_it() {
    let key = SigningKey::p256("one");
    let issuer = Issuer::start(&[&key]);
    let http = format!("http: {{ callerHeaders: [X-One], auth: {{ issuer: \"{}\", audience: desk }} }}", issuer.url());
    let folder = TestFolder::with_manifest(&manifest("audit: { file: audit.jsonl, level: all }", &http));
    let path = folder.join("audit.jsonl");
    let server = serve(&folder).http();
    let web = HttpClient { token: Some(token(&key, &issuer, "mallory", "")), ..server.http_client() };
    for (id, header) in [(1, "mallory"), (2, "127.0.0.1"), (3, "tools/call"), (4, "issuer")] {
        let params = json!({ "name": "say", "arguments": { "word": header }, "_meta": sessionless_meta() });
        let headers = [
            ("MCP-Protocol-Version", SESSIONLESS_VERSION),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "say"),
            ("X-One", header),
        ];
        web.post(&headers, &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
        let line = audit_line(&path, |line| line["id"] == id);
        assert_eq!(line["caller"], json!({ "issuer": issuer.url(), "id": "mallory" }), "{line}");
        assert_eq!((&line["address"], &line["method"]), (&json!("127.0.0.1"), &json!("tools/call")), "{line}");
        assert!(!line["arguments"].to_string().contains(header), "{line}");
        assert!(!line["result"].to_string().contains(header), "{line}");
    }
}

#[test]
fn log_names_client_session_and_address_of_a_call() {
    let folder = TestFolder::with_manifest(&manifest("", ""));
    let server = serve(&folder).flag("--log-format=json").http();
    let client = server.session("2025-11-25");
    client.call("fail", json!({}));
    let line = server.log.wait_for_line(0, |line| line.contains("folio::call") || line.contains("call fail"));
    let line: Value = serde_json::from_str(&line).unwrap();
    let field = |name: &str| line.get(name).or_else(|| line["fields"].get(name)).cloned().unwrap_or_default();
    assert_eq!((field("client"), field("address")), (json!("suite 1"), json!("127.0.0.1")), "{line}");
    assert_eq!(field("session"), json!(client.session_id()));
}

#[test]
fn second_server_on_pipes_goes_without_metrics() {
    let folder = TestFolder::with_manifest(&manifest("", ""));
    let port = admin(&serve(&folder).stdio()).port;
    let taken = manifest("", "").replace("127.0.0.1:0", &format!("127.0.0.1:{port}"));
    let folder = TestFolder::with_manifest(&taken);
    let first = serve(&folder).stdio();
    admin(&first);
    let second = serve(&folder).stdio();
    second.log.wait_for_line(0, |line| line.contains("no metrics are served: address already in use"));
    assert_eq!(second.sessionless().get_text("greet", json!({})), "Hello.");
    let over_http = run_folio(folder.path(), &["serve", "--http", "127.0.0.1:0"]);
    assert!(over_http.code != Some(0) && over_http.err.contains("address already in use"), "{over_http:?}");
}

#[test]
fn mistakes_in_the_keys_are_reported() {
    let folder = TestFolder::with_manifest("folio: 1\nserver: { name: s }\nadmin: {}\naudit: { level: loud }\n");
    let checked = run_folio(folder.path(), &["check"]);
    assert_eq!(checked.code, Some(1));
    for part in ["missing `listen`", "folio.yaml:3:8", "folio.yaml:4:"] {
        assert!(checked.out.contains(part) || checked.err.contains(part), "{part}: {checked:?}");
    }
    folder.write(
        "folio.yaml",
        "folio: 1\nserver: { name: s }\nadmin: { listen: \"0.0.0.0:9464\" }\naudit: { level: all }\n",
    );
    let checked = run_folio(folder.path(), &["check"]);
    for part in ["`0.0.0.0:9464` is reachable from other machines, and needs no token", "missing `file`"] {
        assert!(checked.out.contains(part) || checked.err.contains(part), "{part}: {checked:?}");
    }
}

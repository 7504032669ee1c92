//! `cache` of `http`: which responses are kept, for whom, and for how long.

use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};

use crate::harness::*;
use crate::upstream_server::RecordedRequest;
use crate::upstream_server::{Reply, Upstream};

fn manifest(http: &str) -> String {
    format!(
        "folio: 1\nserver: {{ name: cached }}\ntools:\n  t:\n    description: T\n    \
         arguments: {{ id: {{ default: a }}, key: {{ default: k }} }}\n    run: {{ http: {http} }}\n"
    )
}

fn serve(http: &str) -> (TestFolder, TestServer) {
    let folder = TestFolder::with_manifest(&manifest(http));
    let server = folder.stdio();
    (folder, server)
}

fn numbered(_: &RecordedRequest, number: usize) -> Reply {
    Reply::json(200, &json!({ "number": number }))
}

/// The texts of the results of one call for each of `arguments`.
fn texts(http: &str, arguments: &[Value]) -> Vec<String> {
    let (_folder, server) = serve(http);
    let client = server.client(SESSION_VERSIONS[3]);
    arguments.iter().map(|arguments| text_of(&client.call("t", arguments.clone())["content"][0])).collect()
}

fn number(number: usize) -> String {
    json!({ "number": number }).to_string()
}

#[test]
fn equal_requests_get_the_cached_response() {
    let api = Upstream::start(numbered);
    let http = format!(r#"{{ url: "{}/{{{{id}}}}", auth: {{ bearer: "{{{{key}}}}" }}, cache: 1h }}"#, api.url());
    let http = http.as_str();
    let calls = [json!({}), json!({ "key": "other" }), json!({ "id": "b" }), json!({ "key": "other" }), json!({})];
    assert_eq!(texts(http, &calls), [number(0), number(1), number(2), number(1), number(0)]);
    assert_eq!(texts(http, &[json!({})]), [number(3)], "another process keeps its own");
}

#[test]
fn unsuccessful_responses_are_not_cached() {
    for (status, headers) in
        [(404, &[][..]), (206, &[]), (200, &[("Cache-Control", "private, No-Store")]), (500, &[("ETag", "\"a\"")])]
    {
        let api = Upstream::start(move |_, _| Reply::with_headers(status, headers, "x"));
        texts(&format!("{{ url: \"{}\", cache: 1h }}", api.url()), &[json!({}), json!({})]);
        assert_eq!(api.requests().len(), 2, "{status} {headers:?}");
        assert_eq!(api.requests()[1].header("if-none-match"), None);
    }
}

#[test]
fn old_response_is_revalidated() {
    let api = Upstream::start(|_, number| match number {
        0 => Reply::with_headers(200, &[("ETag", "\"v1\""), ("Last-Modified", "yesterday")], "first"),
        1 => Reply::raw(b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".to_vec()),
        2 => Reply::with_headers(200, &[], "second"),
        _ => Reply::with_headers(200, &[], "third"),
    });
    let http = format!("{{ url: \"{}\", cache: 0ms }}", api.url());
    let calls = [json!({}), json!({}), json!({}), json!({})];
    assert_eq!(texts(&http, &calls), ["first", "first", "second", "third"]);
    let conditions = |request: &RecordedRequest| {
        (request.header("if-none-match").map(str::to_owned), request.header("if-modified-since").map(str::to_owned))
    };
    let validators = (Some("\"v1\"".to_owned()), Some("yesterday".to_owned()));
    let sent: Vec<_> = api.requests().iter().map(conditions).collect();
    assert_eq!(sent, [(None, None), validators.clone(), validators, (None, None)]);
}

#[test]
fn log_says_what_comes_from_the_cache() {
    let reply = |request: &RecordedRequest, _| match request.header("if-none-match") {
        Some(_) => Reply::with_headers(304, &[("ETag", "\"a\"")], ""),
        None => Reply::with_headers(200, &[("ETag", "\"a\"")], "kept"),
    };
    let api = Upstream::start(reply);
    for (cache, source) in
        [("1h", ", from the cache, "), ("1ms", ", from the cache, as the server says that it has not changed, ")]
    {
        let folder = TestFolder::with_manifest(&manifest(&format!("{{ url: \"{}\", cache: {cache} }}", api.url())));
        let server = folder.serve_command().flag("--log-level=debug").stdio();
        let client = server.client(SESSION_VERSIONS[3]);
        for _ in 0..2 {
            assert_eq!(text_of(&client.call("t", json!({}))["content"][0]), "kept");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        server.log.wait_for_line(0, |line| line.contains(&format!("status 200, 4 bytes{source}")));
    }
}

#[test]
fn response_is_cached_for_its_max_age() {
    let api = Upstream::start(numbered);
    let (_folder, server) = serve(&format!("{{ url: \"{}\", cache: 300ms }}", api.url()));
    let client = server.client(SESSION_VERSIONS[3]);
    let text = || text_of(&client.call("t", json!({}))["content"][0]);
    assert_eq!(text(), number(0));
    std::thread::sleep(std::time::Duration::from_millis(400));
    assert_eq!(text(), number(1));
}

#[test]
fn equal_requests_at_once_are_one() {
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let inner = gate.clone();
    let api = Upstream::start(move |request, number| {
        let (is_open, changed) = &*inner;
        drop(changed.wait_while(is_open.lock().unwrap(), |is_open| !*is_open).unwrap());
        numbered(request, number)
    });
    let (_folder, server) = serve(&format!("{{ url: \"{}\", cache: 1h }}", api.url()));
    let client = server.client(SESSION_VERSIONS[3]);
    let calls: Vec<i64> = (0..8).map(|_| client.start_call("t", json!({}))).collect();
    wait_until("the first request", || !api.requests().is_empty());
    client.round_trip();
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    for call in calls {
        assert_eq!(text_of(&client.wait_for_answer(call)["result"]["content"][0]), number(0));
    }
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn cache_of_other_methods_is_an_error() {
    let folder = TestFolder::with_manifest(&manifest("{ url: \"https://x.example/\", json: {}, cache: 60s }"));
    let output = run_folio(folder.path(), &["check"]);
    assert!(output.out.contains("a POST request must not have `cache`"), "{}{}", output.err, output.out);
}

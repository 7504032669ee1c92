//! The action `http` from the built binary: connections, credentials, retries, pages and errors.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::*;
use crate::upstream_server::{RecordedRequest, Reply, Upstream};

/// A manifest of one tool `t` whose run is `http`, with the top-level keys `keys`.
fn manifest(keys: &str, arguments: &str, http: &str) -> String {
    format!(
        "folio: 1\nserver: {{ name: api }}\nenv: {{ ID: {{}}, KEY: {{ secret: true }} }}\n{keys}\
         tools:\n  t:\n    description: T\n    arguments: {{ {arguments} }}\n    run: {{ http: {http} }}\n"
    )
}

fn serve(manifest: &str) -> (TestFolder, TestServer) {
    let folder = TestFolder::with_manifest(manifest);
    let server = folder.serve_command().env("ID", "client-7").env("KEY", "sesame-open-4711").stdio();
    (folder, server)
}

/// The result of one call of `t`.
fn call(manifest: &str, arguments: Value) -> Value {
    let (_folder, server) = serve(manifest);
    server.client(SESSION_VERSIONS[3]).call("t", arguments)
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

fn ok(_: &RecordedRequest, _: usize) -> Reply {
    Reply::json(200, &json!({ "ok": true }))
}

#[test]
fn connection_is_base_of_requests() {
    let api = Upstream::start(ok);
    let connections = format!(
        "connections:\n  c:\n    url: \"{}/v1/\"\n    headers: {{ X-A: shared, x-b: shared }}\n    \
         auth: {{ bearer: \"{{{{env.KEY}}}}\" }}\n",
        api.url()
    );
    let http = r#"{ use: c, url: "/items/{{id}}?x=1", query: { q: "{{q}}" }, headers: { X-B: own } }"#;
    call(&manifest(&connections, "id: {}, q: {}", http), json!({ "id": "a/b", "q": "ä" }));
    let own = r#"{ use: c, url: "?a=1", auth: { header: { name: X-Key, value: own } } }"#;
    call(&manifest(&connections, "id: {}", own), json!({}));
    let [first, second] = &api.requests()[..] else { panic!("{:?}", api.targets()) };
    assert_eq!(first.target, "/v1/items/a%2Fb?x=1&q=%C3%A4");
    assert_eq!(first.header("authorization"), Some("Bearer sesame-open-4711"));
    assert_eq!((first.header("x-a"), first.header("x-b")), (Some("shared"), Some("own")));
    assert_eq!(first.headers.iter().filter(|(name, _)| name == "x-b").count(), 1);
    assert_eq!(second.target, "/v1?a=1");
    assert_eq!((second.header("authorization"), second.header("x-key")), (None, Some("own")));
}

#[test]
fn values_do_not_leave_path_of_connection() {
    let api = Upstream::start(ok);
    let connections = format!("connections: {{ c: {{ url: \"{}/v1\" }} }}\n", api.url());
    let manifest = manifest(&connections, "id: {}", r#"{ use: c, url: "/{{id}}" }"#);
    for id in ["..", ".", "%2e%2e", "//evil.example", "@evil.example", "\\evil.example", "?a", "#a"] {
        call(&manifest, json!({ "id": id }));
    }
    let targets = api.targets();
    assert!(targets.len() >= 6, "{targets:?}");
    for target in targets {
        assert!(target.starts_with("GET /v1/") && !target.contains(['?', '#']), "{target}");
    }
}

#[test]
fn absent_values_leave_out_parameter_and_header() {
    let api = Upstream::start(ok);
    let http = format!(
        r#"{{ url: "{}", query: {{ a: "{{{{join tags ','}}}}", b: "x:{{{{tag}}}}", c: fixed, d: "{{{{tag}}}}-{{{{n}}}}" }}, headers: {{ X-A: "a {{{{tag}}}}" }} }}"#,
        api.url()
    );
    let arguments = "tags: { type: array, items: { type: string } }, tag: {}, n: { type: integer }";
    call(&manifest("", arguments, &http), json!({ "n": 1 }));
    call(&manifest("", arguments, &http), json!({ "tags": ["p", "q"], "tag": "t" }));
    let headers: Vec<_> = api.requests().iter().map(|request| request.header("x-a").map(str::to_owned)).collect();
    assert_eq!(headers, [None, Some("a t".to_owned())]);
    assert_eq!(api.targets(), ["GET /?c=fixed&d=-1", "GET /?a=p,q&b=x%3At&c=fixed&d=t-"]);
}

#[test]
fn delimiters_of_joined_lists_are_not_encoded() {
    let api = Upstream::start(|_, _| Reply::json(200, &json!([1])));
    let fields = r#"{ comma: "{{join tags ','}}", pipe: "{{join (sort tags) '|'}}", none: "{{default (join none ',') null}}", empty: "{{join none ','}}" }"#;
    let arguments = "tags: { type: array, items: { type: string } }, none: { type: array, items: { type: string } }";
    let call_with =
        |http: &str| call(&manifest("", arguments, http), json!({ "tags": ["c d", "a,b", "&="], "none": [] }));
    let encoded = "comma=c+d,a%2Cb,%26%3D&pipe=%26%3D%7Ca%2Cb%7Cc+d&empty=";
    call_with(&format!(
        "{{ url: \"{}/?x=1,2\", query: {fields}, paginate: {{ page: page, maxPages: 2 }} }}",
        api.url()
    ));
    let page = |page: usize| format!("GET /?x=1,2&{encoded}&page={page}");
    assert_eq!(api.targets(), [page(1), page(2)]);
    call_with(&format!("{{ url: \"{}\", form: {fields} }}", api.url()));
    assert_eq!(api.requests()[2].body, encoded);
}

#[test]
fn objects_and_lists_are_written_in_brackets() {
    let api = Upstream::start(ok);
    let filter = json!({ "a": 1, "b": [true, { "c d": "é" }], "none": null, "empty": {} });
    for (arguments, target) in [
        (json!({ "filter": filter }), "/?f[a]=1&f[b][0]=true&f[b][1][c+d]=%C3%A9&a=1&b[0]=true&b[1][c+d]=%C3%A9"),
        (json!({ "filter": ["x", ["y"]] }), "/?f[0]=x&f[1][0]=y&0=x&1[0]=y"),
        (json!({}), "/"),
    ] {
        let http =
            format!(r#"{{ url: "{}/", query: {{ "f[*]": "{{{{filter}}}}", "[*]": "{{{{filter}}}}" }} }}"#, api.url());
        call(&manifest("", "filter: { type: [object, array], items: {} }", &http), arguments);
        assert_eq!(api.requests().last().unwrap().target.replace("%5B", "[").replace("%5D", "]"), target);
    }
    let http = format!(r#"{{ url: "{}/", form: {{ "f[*]": ["{{{{filter}}}}", "z"] }} }}"#, api.url());
    call(&manifest("", "filter: { type: object }", &http), json!({ "filter": { "a": "b" } }));
    assert_eq!(api.requests().last().unwrap().body, "f%5Ba%5D=b&f=z");
}

/// A caller who names the fields may not choose a key, a tenant or a filter that the author has set.
#[test]
fn free_fields_replace_no_parameter_of_the_request() {
    let api = Upstream::start(ok);
    let set = r#""[*]": "{{free}}", tenant: "7", "page[*]": "{{page}}""#;
    for body in ["query", "form"] {
        let http = format!(r#"{{ url: "{}/?v=1", method: POST, {body}: {{ {set} }} }}"#, api.url());
        let declared = "free: { type: object }, page: { type: object }";
        let taken: &[&str] =
            if body == "query" { &["tenant", "Tenant", "tenant[]", "page", "v"] } else { &["tenant", "page[a]"] };
        for name in taken {
            let result =
                call(&manifest("", declared, &http), json!({ "free": { "a": 1, *name: "9" }, "page": { "n": 2 } }));
            let words = format!("the request itself has the parameter `{name}`: leave this field out");
            assert!(result.to_string().contains(&words), "{name}: {result}");
        }
        assert!(api.requests().iter().all(|sent| !format!("{sent:?}").contains("=9")), "{body}");
        call(&manifest("", declared, &http), json!({ "free": { "a": 1 }, "page": { "n": 2 } }));
        let sent = api.requests().pop().unwrap();
        assert!(format!("{}{}", sent.target, sent.body).ends_with("a=1&tenant=7&page%5Bn%5D=2"), "{sent:?}");
    }
}

#[test]
fn absent_json_body_is_not_sent() {
    let api = Upstream::start(ok);
    let http = format!(r#"{{ url: "{}", method: POST, json: "{{{{body}}}}" }}"#, api.url());
    call(&manifest("", "body: { type: object }", &http), json!({}));
    call(&manifest("", "body: { type: object }", &http), json!({ "body": { "a": 1 } }));
    let bodies: Vec<_> =
        api.requests().into_iter().map(|r| (r.header("content-type").map(str::to_owned), r.body)).collect();
    assert_eq!(bodies, [(None, String::new()), (Some("application/json".to_owned()), r#"{"a":1}"#.to_owned())]);
}

/// Fails `failures` times with `status`, then succeeds.
fn failing(status: u16, headers: &'static [(&'static str, &'static str)], failures: usize) -> Upstream {
    Upstream::start(move |request, number| match number < failures {
        true => Reply::with_headers(status, headers, "busy"),
        false => ok(request, number),
    })
}

#[test]
fn request_is_retried_until_it_succeeds() {
    let api = failing(503, &[], 2);
    let http = format!("{{ url: \"{}\", retry: {{ backoff: 10ms }} }}", api.url());
    let (_folder, server) = serve(&manifest("", "", &http));
    let client = server.client(SESSION_VERSIONS[3]);
    let result = client.result("tools/call", json!({ "name": "t", "_meta": { "progressToken": 7 } }));
    assert_eq!(text(&result), r#"{"ok":true}"#);
    assert_eq!(api.requests().len(), 3);
    let messages: Vec<Value> = client.notified_params("notifications/progress");
    let messages: Vec<&str> = messages.iter().filter_map(|params| params["message"].as_str()).collect();
    assert_eq!(messages, ["trying again in 0.0 s (2 of 3)", "trying again in 0.0 s (3 of 3)"]);
}

#[test]
fn attempts_are_limited() {
    let api = failing(503, &[], 9);
    let result =
        call(&manifest("", "", &format!("{{ url: \"{}\", retry: {{ backoff: 1ms }} }}", api.url())), json!({}));
    assert_eq!((result["isError"].as_bool(), api.requests().len()), (Some(true), 3));
}

#[test]
fn only_repeatable_requests_are_retried() {
    for (retry, requests) in [("{ backoff: 1ms }", 1), ("{ backoff: 1ms, unsafe: true }", 2)] {
        let api = failing(503, &[], 1);
        let http = format!("{{ url: \"{}\", json: {{ a: 1 }}, retry: {retry} }}", api.url());
        call(&manifest("", "", &http), json!({}));
        assert_eq!(api.requests().len(), requests, "{retry}");
    }
}

#[test]
fn connection_that_breaks_is_retried() {
    let api = Upstream::start(|request, number| match number {
        0 => Reply::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this".to_vec()),
        1 => Reply::raw(b"garbage".to_vec()),
        _ => ok(request, number),
    });
    let http = format!("{{ url: \"{}\", retry: {{ backoff: 1ms }} }}", api.url());
    assert_eq!(text(&call(&manifest("", "", &http), json!({}))), r#"{"ok":true}"#);
}

#[test]
fn retry_after_is_respected_within_time_limit() {
    let soon = failing(429, &[("Retry-After", "1")], 1);
    let began = Instant::now();
    let http = |api: &Upstream| format!("{{ url: \"{}\", retry: {{ backoff: 1ms }} }}", api.url());
    assert_eq!(text(&call(&manifest("", "", &http(&soon)), json!({}))), r#"{"ok":true}"#);
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    for far in [&[("Retry-After", "86400")], &[("Retry-After", "Fri, 31 Dec 2100 23:59:59 GMT")]] {
        let api = failing(429, far, 1);
        let result = call(&manifest("", "", &http(&api)), json!({}));
        assert_eq!(api.requests().len(), 1, "it would take too long");
        assert!(text(&result).contains("429 Too Many Requests: busy\nTry again in "), "{result}");
    }
    let past = failing(429, &[("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT")], 1);
    assert_eq!(text(&call(&manifest("", "", &http(&past)), json!({}))), r#"{"ok":true}"#);
}

/// Pages of two items, up to 7, in a form of `paginate`.
fn pages_of_two() -> Upstream {
    Upstream::start(|request, _| {
        let query = request.target.split_once('?').map_or("", |(_, query)| query);
        let number =
            |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
        let page: u64 = number("page").or(number("cursor")).unwrap_or(1);
        let items: Vec<u64> = (page * 2 - 1..=page * 2).filter(|item| *item <= 7).collect();
        let next = (page < 4).then(|| (page + 1).to_string());
        let path = request.target.split('?').next().unwrap();
        let url = next.as_ref().map(|next| format!("{path}?q=a&page={next}"));
        let link = url.as_ref().map_or(String::new(), |url| format!("<{url}>; rel=\"next\""));
        let body = match request.target.starts_with("/bare") {
            true => json!(items),
            false => json!({ "data": items, "next": url, "cursor": next }),
        };
        Reply::with_headers(200, &[("Content-Type", "application/json"), ("Link", &link)], body.to_string())
    })
}

#[test]
fn pages_are_joined_in_every_form() {
    for (target, paginate) in [
        ("/list?q=a", "{ next: link, items: data }"),
        ("/bare?q=a", "{ next: link }"),
        ("/list?q=a", "{ next: next, items: data }"),
        ("/list?q=a", "{ cursor: cursor, parameter: cursor, items: data }"),
        ("/list?q=a", "{ page: page, items: data }"),
        ("/bare?page=1", "{ page: page }"),
    ] {
        let api = pages_of_two();
        let http = format!("{{ url: \"{}{target}\", paginate: {paginate} }}", api.url());
        assert_eq!(text(&call(&manifest("", "", &http), json!({}))), "[1,2,3,4,5,6,7]", "{paginate}");
        let kept = api.targets().iter().skip(1).all(|target| target.contains("q=a"));
        assert!(kept || !target.contains("q=a"), "{:?}", api.targets());
    }
}

#[test]
fn pages_and_items_are_limited() {
    for (limit, items, requests) in [("maxPages: 2", "[1,2,3,4]", 2), ("maxItems: 3", "[1,2,3]", 2)] {
        let api = pages_of_two();
        let manifest =
            manifest("", "", &format!("{{ url: \"{}/bare\", paginate: {{ next: link, {limit} }} }}", api.url()))
                + "    result: { text: \"{{json result.json}} {{result.pages}} {{result.more}}\" }\n";
        assert_eq!(text(&call(&manifest, json!({}))), format!("{items} 2 true"));
        assert_eq!(api.requests().len(), requests);
    }
}

#[test]
fn resource_of_some_pages_says_that_there_are_more() {
    let api = pages_of_two();
    let manifest = format!(
        "folio: 1\nserver: {{ name: s }}\nresources:\n  r: {{ uri: \"r://all\", run: {{ http: {{ url: \"{}/bare\", paginate: {{ next: link, maxPages: 1 }} }} }} }}\n",
        api.url()
    );
    let folder = TestFolder::with_manifest(&manifest);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    let contents = client.result("resources/read", json!({ "uri": "r://all" }))["contents"].clone();
    assert_eq!((text_of(&contents[0]), &contents[1]["mimeType"]), ("[1,2]".to_owned(), &json!("text/plain")));
    assert_eq!(text_of(&contents[1]), "Only the first 2 items and 1 page were read; there are more.");
}

#[test]
fn truncated_list_says_that_there_is_more() {
    for result in ["", "    result: { select: \"[]\" }\n"] {
        for (limit, items, pages) in [("maxPages: 1", "[1,2]", 1), ("maxItems: 6", "[1,2,3,4,5,6]", 3)] {
            let api = pages_of_two();
            let http = format!("{{ url: \"{}/bare\", paginate: {{ next: link, {limit} }} }}", api.url());
            let called = call(&(manifest("", "", &http) + result), json!({}));
            let count = items.split(',').count();
            let note = format!(
                "Only the first {count} items and {pages} page{} were read; there are more.",
                if pages == 1 { "" } else { "s" }
            );
            assert_eq!((text(&called), &called["content"][1]["text"]), (items, &json!(note)), "{called}");
            assert!(called.get("structuredContent").is_none(), "{called}");
        }
        let http = format!("{{ url: \"{}/bare\", paginate: {{ next: link, maxItems: 7 }} }}", pages_of_two().url());
        let whole = call(&(manifest("", "", &http) + result), json!({}));
        assert_eq!(whole["content"].as_array().unwrap().len(), 1, "{whole}");
        assert!(whole.get("structuredContent").is_some(), "{whole}");
    }
}

#[test]
fn page_that_fails_is_an_error_unless_partial() {
    let api = || {
        Upstream::start(|_, number| match number {
            0 => Reply::json(200, &json!({ "items": [1], "next": "/2" })),
            _ => Reply::json(500, &json!({ "message": "out of order" })),
        })
    };
    let http = |partial: &str| {
        let url = api().url();
        manifest("", "", &format!("{{ url: \"{url}\", paginate: {{ next: next, items: items{partial} }} }}"))
    };
    let malformed = Upstream::start(|_, _| Reply::json(200, &json!({ "items": 7 })));
    let one =
        manifest("", "", &format!("{{ url: \"{}\", paginate: {{ next: next, items: items }} }}", malformed.url()));
    assert_eq!(
        text(&call(&one, json!({}))),
        "the request was carried out: HTTP 200; `items` of `paginate` did not select a list\n{\"items\":7}"
    );
    let failed = call(&http(""), json!({}));
    assert_eq!(failed["isError"], true);
    assert!(text(&failed).starts_with("page 2: GET http://127.0.0.1:"), "{failed}");
    assert!(text(&failed).contains("500 Internal Server Error: out of order"), "{failed}");
    let partial = call(&http(", partial: true"), json!({}));
    assert_eq!((partial["isError"].as_bool(), text(&partial)), (Some(false), "[1]"));
    let note = partial["content"][1]["text"].as_str().unwrap();
    assert!(note.starts_with("Incomplete: page 2: GET http://127.0.0.1:"), "{partial}");
}

#[test]
fn pages_that_form_a_loop_are_an_error() {
    let api = Upstream::start(|request, _| {
        let next = if request.target == "/a" { "/b" } else { "/a" };
        Reply::json(200, &json!({ "items": [1], "next": next }))
    });
    let http = format!("{{ url: \"{}/a\", paginate: {{ next: next, items: items }} }}", api.url());
    let result = call(&manifest("", "", &http), json!({}));
    assert!(text(&result).contains("the pages form a loop"), "{result}");
    assert_eq!(api.targets(), ["GET /a", "GET /b"]);
}

#[test]
fn next_page_at_another_origin_gets_no_credentials() {
    let other = Upstream::start(|_, _| Reply::json(200, &json!({ "items": [2] })));
    let (to, hidden) = (other.url(), "http://169.254.169.254/latest".to_owned());
    let api = Upstream::start(move |request, _| {
        let next = if request.target.starts_with("/hidden") { &hidden } else { &to };
        Reply::json(200, &json!({ "items": [1], "next": next }))
    });
    for auth in [
        "{ bearer: \"{{env.KEY}}\" }",
        "{ header: { name: X-Key, value: \"{{env.KEY}}\" } }",
        "{ query: { name: key, value: \"{{env.KEY}}\" } }",
    ] {
        let allow = other.url().replace("http://", "");
        let http = |path: &str| {
            let url = api.url();
            format!(
                "{{ url: \"{url}{path}\", auth: {auth}, allow: [\"{allow}\"], paginate: {{ next: next, items: items }} }}"
            )
        };
        assert_eq!(text(&call(&manifest("", "", &http("/")), json!({}))), "[1,2]");
        let refused = call(&manifest("", "", &http("/hidden")), json!({}));
        assert!(text(&refused).contains("has a private address"), "{refused}");
    }
    for request in other.requests() {
        assert!(!format!("{request:?}").contains("sesame"), "{request:?}");
    }
    assert!(api.requests().iter().all(|request| format!("{request:?}").contains("sesame")));
}

#[test]
fn next_page_at_another_origin_gets_no_secret_body() {
    let other = Upstream::start(|_, _| Reply::json(200, &json!({ "items": [2] })));
    let to = other.url();
    let api = Upstream::start(move |_, _| Reply::json(200, &json!({ "items": [1], "next": to })));
    let (url, allow) = (api.url(), other.url().replace("http://", ""));
    let http = format!(
        "{{ method: POST, url: \"{url}/\", json: {{ key: \"{{{{env.KEY}}}}\" }}, allow: [\"{allow}\"], \
         paginate: {{ next: next, items: items }} }}"
    );
    let refused = call(&manifest("", "", &http), json!({}));
    assert!(refused["isError"] == true && text(&refused).contains("would send credentials"), "{refused}");
    assert!(other.requests().is_empty(), "{:?}", other.requests());
}

/// An API behind an issuer of tokens, which are `token-1`, `token-2` and so on; the first `rejected` are refused.
fn oauth2_api(rejected: usize, expires_in: u64) -> Upstream {
    Upstream::start(move |request, _| {
        if request.target == "/token" {
            thread::sleep(Duration::from_millis(100));
            let number = TOKENS.with_number(request.header("host").unwrap_or_default());
            let token = format!("access-token-{number}-0123456789");
            return Reply::json(
                200,
                &json!({ "access_token": token, "token_type": "Bearer", "expires_in": expires_in }),
            );
        }
        let given = request.header("authorization").unwrap_or_default().to_owned();
        let number: usize =
            given.trim_start_matches("Bearer access-token-").split('-').next().unwrap().parse().unwrap_or(0);
        match number > rejected {
            true => Reply::json(200, &json!({ "you": given })),
            false => Reply::json(401, &json!({ "message": format!("bad token {given}") })),
        }
    })
}

/// Counts the tokens of each issuer.
struct TokenNumbers(std::sync::Mutex<std::collections::BTreeMap<String, usize>>);

static TOKENS: TokenNumbers = TokenNumbers(std::sync::Mutex::new(std::collections::BTreeMap::new()));

impl TokenNumbers {
    fn with_number(&self, issuer: &str) -> usize {
        let mut all = self.0.lock().unwrap();
        let number = all.entry(issuer.to_owned()).or_default();
        *number += 1;
        *number
    }
}

fn oauth2_manifest(api: &Upstream, more: &str) -> String {
    let url = api.url();
    let connections = format!(
        "connections:\n  c:\n    url: \"{url}\"\n    auth:\n      oauth2:\n        tokenUrl: \"{url}/token\"\n        \
         clientId: \"{{{{env.ID}}}}\"\n        clientSecret: \"{{{{env.KEY}}}}\"\n        scopes: [read, write]\n{more}"
    );
    manifest(&connections, "", "{ use: c, url: /me }")
}

fn token_requests(api: &Upstream) -> usize {
    api.targets().iter().filter(|target| *target == "POST /token").count()
}

#[test]
fn one_token_is_fetched_for_all_calls() {
    let api = oauth2_api(0, 3600);
    let (_folder, server) = serve(&oauth2_manifest(&api, ""));
    let client = server.client(SESSION_VERSIONS[3]);
    let ids: Vec<i64> = (0..8).map(|_| client.start_call("t", json!({}))).collect();
    for id in ids {
        let answer = client.wait_for_answer(id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert!(!answer.to_string().contains("access-token"), "the API echoes the token: {answer}");
    }
    assert_eq!(token_requests(&api), 1);
    let request = api.requests().into_iter().find(|request| request.target == "/token").unwrap();
    assert_eq!(request.header("authorization"), Some("Basic Y2xpZW50LTc6c2VzYW1lLW9wZW4tNDcxMQ=="));
    assert_eq!(request.body, "grant_type=client_credentials&scope=read+write");
}

#[test]
fn token_in_form_has_further_fields() {
    let api = oauth2_api(0, 3600);
    let more = "        clientAuthentication: post\n        form: { audience: \"https://api.example\" }\n";
    let result = call(&oauth2_manifest(&api, more), json!({}));
    assert_eq!(result["isError"], false, "{result}");
    let request = api.requests().into_iter().next().unwrap();
    assert_eq!(request.header("authorization"), None);
    let audience = "audience=https%3A%2F%2Fapi.example&scope=read+write";
    let client = "client_id=client-7&client_secret=sesame-open-4711";
    assert_eq!(request.body, format!("grant_type=client_credentials&{audience}&{client}"));
}

#[test]
fn rejected_token_is_replaced_once() {
    let api = oauth2_api(1, 3600);
    let result = call(&oauth2_manifest(&api, ""), json!({}));
    assert_eq!(result["isError"], false, "{result}");
    assert_eq!(token_requests(&api), 2);
    let api = oauth2_api(9, 3600);
    let result = call(&oauth2_manifest(&api, ""), json!({}));
    assert!(text(&result).contains("401 Unauthorized: bad token"), "{result}");
    assert!(!result.to_string().contains("access-token"), "{result}");
    assert_eq!((token_requests(&api), api.requests().len()), (2, 4));
}

#[test]
fn expired_token_is_replaced() {
    let api = oauth2_api(0, 0);
    let (_folder, server) = serve(&oauth2_manifest(&api, ""));
    let client = server.client(SESSION_VERSIONS[3]);
    for _ in 0..3 {
        assert_eq!(client.call("t", json!({}))["isError"], false);
    }
    assert_eq!(token_requests(&api), 3);
}

#[test]
fn error_of_token_endpoint_is_shown() {
    for (reply, message) in [
        (
            (400, r#"{"error":"invalid_client","error_description":"unknown client sesame-open-4711"}"#),
            "no access token from `127.0.0.1`: invalid_client: unknown client [secret]",
        ),
        ((502, "<html>no</html>"), "no access token from `127.0.0.1`: HTTP status 502"),
        ((200, "{}"), "no access token from `127.0.0.1`: no `access_token` in the response"),
        ((200, r#"{"access_token":"abc","token_type":"mac"}"#), "unsupported `token_type` `mac`"),
    ] {
        let api = Upstream::start(move |_, _| Reply::with_headers(reply.0, &[], reply.1));
        let result = call(&oauth2_manifest(&api, ""), json!({}));
        assert_eq!(result["isError"], true);
        assert!(text(&result).contains(message), "{result}");
        assert_eq!(api.requests().len(), 1);
    }
}

#[test]
fn token_endpoint_out_of_reach_is_not_the_api() {
    let api = oauth2_api(0, 3600);
    let manifest =
        oauth2_manifest(&api, "").replace(&format!("tokenUrl: \"{}/", api.url()), "tokenUrl: \"http://127.0.0.1:9/");
    let result = call(&manifest, json!({}));
    assert!(text(&result).contains("no access token: could not connect to `127.0.0.1`"), "{result}");
}

#[test]
fn null_of_the_caller_is_sent_and_an_absent_value_is_not() {
    let api = Upstream::start(|_, _| Reply::json(200, &json!({})));
    let manifest = format!(
        "folio: 1\nserver: {{ name: nulls }}\ntools:\n  t:\n    description: T\n    arguments:\n      title: {{ type: [string, 'null'] }}\n      \
         state: {{}}\n      label: {{ type: object, properties: {{ color: {{ type: [string, 'null'] }} }} }}\n    run:\n      http:\n        url: {}\n        \
         method: PATCH\n        json: {{ title: '{{{{title}}}}', state: '{{{{arguments.state}}}}', color: '{{{{label.color}}}}', list: ['{{{{title}}}}'] }}\n",
        api.url()
    );
    let (_folder, server) = serve(&manifest);
    let client = server.client(SESSION_VERSIONS[3]);
    for (arguments, body) in [
        (json!({}), json!({ "list": [] })),
        (json!({ "title": null }), json!({ "title": null, "list": [null] })),
        (json!({ "title": "a", "state": "b" }), json!({ "title": "a", "state": "b", "list": ["a"] })),
        (json!({ "label": { "color": null } }), json!({ "color": null, "list": [] })),
        (json!({ "label": {} }), json!({ "list": [] })),
        // Its schema has no null, which then stands for nothing.
        (json!({ "state": null }), json!({ "list": [] })),
    ] {
        assert_eq!(client.call("t", arguments.clone())["isError"], false);
        let sent: Value = serde_json::from_str(&api.requests().last().unwrap().body).unwrap();
        assert_eq!(sent, body, "{arguments}");
    }
}

#[test]
fn response_that_takes_too_much_memory_was_asked_for() {
    let api = Upstream::start(|_, _| {
        Reply::with_headers(
            200,
            &[("Content-Type", "application/json")],
            format!("[{}0]", r#"{"":0},"#.repeat(300_000)),
        )
    });
    let manifest = format!(
        "folio: 1\nserver: {{ name: large }}\ntools: {{ t: {{ description: T, maxOutput: 8MiB, run: {{ http: {{ url: \"{}\", method: POST }}, parse: json }} }} }}\n",
        api.url()
    );
    let result = call(&manifest, json!({}));
    let words = "take more memory as values than the 128 MiB of a call\nThe request was sent all the same.";
    assert!(text(&result).contains(words), "{result}");
    assert_eq!(api.requests().len(), 1);
}

#[test]
#[cfg(target_os = "linux")]
fn pages_that_take_too_much_memory_were_asked_for() {
    let api = Upstream::start(|_, _| {
        let page = format!("[{}0]", r#"{"":0},"#.repeat(300_000));
        Reply::with_headers(200, &[("Content-Type", "application/json"), ("Link", "<?page=2>; rel=next")], page)
    });
    let manifest = format!(
        "folio: 1\nserver: {{ name: large }}\ntools: {{ t: {{ description: T, maxOutput: 8MiB, run: {{ http: {{ url: \"{}\", paginate: {{ next: link }} }} }} }} }}\n",
        api.url()
    );
    let (_folder, server) = serve(&manifest);
    let client = server.client(SESSION_VERSIONS[3]);
    let words = "memory limit exceeded: more than 128 MiB held at once; send or request less\nThe request was sent all the same.";
    for call in [(); 4].map(|()| client.start_call("t", json!({}))) {
        let result = &client.wait_for_answer(call)["result"];
        assert!(text(result).contains(words), "{result}");
    }
    let peak = crate::upstream_errors::memory(&server, "VmHWM");
    assert!(peak < 128 << 10, "{peak} KiB");
}

/// A manifest whose tool sends the variable `KEY`, which is a secret, as its credential.
fn keyed_manifest(api: &Upstream, variable: &str, auth: &str) -> String {
    let (url, token) = (api.url(), api.url());
    manifest("", "", &format!("{{ url: \"{url}\", auth: {auth} }}"))
        .replace("KEY: { secret: true }", variable)
        .replace("TOKEN_URL", &token)
}

const OAUTH2: &str = "{ oauth2: { tokenUrl: \"TOKEN_URL/token\", clientId: a, clientSecret: \"{{env.KEY}}\" } }";

#[test]
fn credential_without_a_value_is_an_error() {
    let api = Upstream::start(ok);
    for auth in [
        "{ bearer: \"{{env.KEY}}\" }",
        "{ header: { name: X-Key, value: \"{{env.KEY}}\" } }",
        "{ header: { name: Authorization, value: \"Token {{env.KEY}}\" } }",
        "{ query: { name: key, value: \"{{env.KEY}}\" } }",
        "{ basic: { username: me, password: \"{{env.KEY}}\" } }",
        "{ basic: { username: \"{{env.KEY}}\", password: \"\" } }",
        OAUTH2,
    ] {
        let folder = TestFolder::with_manifest(&keyed_manifest(&api, "KEY: { secret: true }", auth));
        let result = folder.stdio().client(SESSION_VERSIONS[3]).call("t", json!({}));
        assert_eq!(text(&result), "missing credential: variable `KEY` is not set", "{auth}");
        assert_eq!(result["isError"], true, "{auth}");
    }
    let login = "[{ id: login, when: \"{{go}}\", set: { token: t } }, { http: { url: \"URL\", auth: { bearer: \"{{steps.login.token}}\" } } }]";
    let steps = manifest("", "go: { type: boolean }", "").replace("{ http:  }", &login.replace("URL", &api.url()));
    assert_eq!(text(&call(&steps, json!({}))), "missing credential: `steps.login.token` has no value");
    assert!(api.requests().is_empty(), "{:?}", api.requests());
}

#[test]
fn credential_that_may_be_absent_is_left_out() {
    let api = Upstream::start(ok);
    for (variable, auth) in [
        ("KEY: { secret: true }", "{ bearer: \"{{#if env.KEY}}{{env.KEY}}{{/if}}\" }"),
        ("KEY: { secret: true }", "{ bearer: \"{{default env.KEY ''}}\" }"),
        ("KEY: { default: \"\" }", "{ header: { name: X-Key, value: \"{{env.KEY}}\" } }"),
        ("KEY: { default: \"\" }", "{ query: { name: key, value: \"{{env.KEY}}\" } }"),
    ] {
        let folder = TestFolder::with_manifest(&keyed_manifest(&api, variable, auth));
        let result = folder.stdio().client(SESSION_VERSIONS[3]).call("t", json!({}));
        assert_eq!(result["isError"], false, "{auth}: {result}");
        let sent = api.requests().pop().unwrap();
        assert_eq!(
            (sent.target.as_str(), sent.header("authorization"), sent.header("x-key")),
            ("/", None, None),
            "{auth}"
        );
    }
}

#[test]
fn invalid_url_is_shown() {
    let manifest = "folio: 1\nserver: { name: urls }\nenv: { BASE: { default: \"api.example/v1\" } }\nconnections: { api: { url: \"{{env.BASE}}\" } }\n\
                    tools: { t: { description: T, run: { http: { use: api, url: /items } } } }\n";
    let result = call(manifest, json!({}));
    let words = "invalid URL `api.example/v1/items`: it must begin with `https://` or `http://`";
    assert!(text(&result).contains(words), "{result}");
}

#[test]
fn unknown_tool_is_named_with_a_near_one() {
    let (_folder, server) =
        serve("folio: 1\nserver: { name: near }\ntools: { get-issue: { description: T, run: { set: { a: x } } } }\n");
    let refused = server.client(SESSION_VERSIONS[3]).request("tools/call", json!({ "name": "getissue" }));
    assert!(refused.to_string().contains("Unknown tool: getissue; did you mean `get-issue`?"), "{refused}");
}

#[test]
fn errors_say_what_was_asked_and_whether_to_try_again() {
    let api = Upstream::start(|request, _| match request.target.split('?').next().unwrap() {
        "/problem" => Reply::with_headers(
            422,
            &[("Content-Type", "application/problem+json")],
            r#"{"title":"Invalid","detail":"`name` is empty"}"#,
        ),
        "/html" => {
            Reply::with_headers(502, &[("Content-Type", "text/html")], "<html><title>Bad Gateway</title></html>")
        }
        _ => Reply::with_headers(404, &[], ""),
    });
    let url = api.url();
    let message = |path: &str| {
        let auth = "auth: { query: { name: key, value: \"{{env.KEY}}\" } }";
        let http = format!("{{ url: \"{url}{path}\", query: {{ q: \"{{{{q}}}}\" }}, {auth} }}");
        text(&call(&manifest("", "q: {}", &http), json!({ "q": "a b" }))).to_owned()
    };
    assert_eq!(
        message("/problem"),
        format!(
            "GET {url}/problem?q=a+b&key=[secret] failed with HTTP status 422 Unprocessable Entity: Invalid: `name` is empty\n\
             Retrying the same request will not help."
        )
    );
    assert_eq!(
        message("/html"),
        format!(
            "GET {url}/html?q=a+b&key=[secret] failed with HTTP status 502 Bad Gateway: Bad Gateway\n\
             Trying again later may help."
        )
    );
    assert_eq!(
        message("/"),
        format!(
            "GET {url}/?q=a+b&key=[secret] failed with HTTP status 404 Not Found\n\
             Retrying the same request will not help."
        )
    );
}

#[test]
fn on_error_sees_the_response() {
    let api = Upstream::start(|request, _| {
        let status = request.target[1..4].parse().unwrap();
        let body = json!({ "message": "words", "status": "x" }).to_string();
        Reply::with_headers(status, &[("Content-Type", "application/json"), ("X-Id", "i-7")], body)
    });
    let http = format!(
        r#"{{ url: "{}/{{{{status}}}}", expect: [409, 3xx], onError: {{ 404: "no {{{{arguments.status}}}} at {{{{url}}}}", 4xx: "{{{{status}}}} {{{{json.message}}}} {{{{headers.x-id}}}}", default: "{{{{body}}}}" }} }}"#,
        api.url()
    );
    let manifest = manifest("", "status: {}", &http);
    let (_folder, server) = serve(&manifest);
    let client = server.client(SESSION_VERSIONS[3]);
    let message = |status: &str| text(&client.call("t", json!({ "status": status }))).to_owned();
    assert_eq!(message("404"), format!("no 404 at {}/404", api.url()));
    assert_eq!(message("400"), "400 words i-7");
    assert_eq!(message("500"), r#"{"message":"words","status":"x"}"#);
    for expected in ["200", "409", "304"] {
        assert_eq!(client.call("t", json!({ "status": expected }))["isError"], false, "{expected}");
    }
}

#[test]
fn redirect_can_be_the_response() {
    let api = Upstream::start(|request, number| match request.target.as_str() {
        "/" => Reply::with_headers(302, &[("Location", "/there")], ""),
        _ => ok(request, number),
    });
    let result = "    result: { text: \"{{result.status}} {{result.headers.location}} {{result.url}}\" }\n";
    let run = |redirect: &str| {
        let http = format!("{{ url: \"{}\"{redirect} }}", api.url());
        text(&call(&(manifest("", "", &http) + result), json!({}))).to_owned()
    };
    assert_eq!(run(", redirect: manual"), format!("302 /there {}/", api.url()));
    assert_eq!(run(""), format!("200  {}/there", api.url()));
}

#[test]
fn text_is_decoded_by_its_charset() {
    for (charset, bytes) in [
        ("; charset=iso-8859-1", &b"gr\xFC\xDFe"[..]),
        ("; charset=\"utf-16le\"", &b"g\0r\0\xFC\0\xDF\0e\0"[..]),
        ("; charset=UTF-8", "grüße".as_bytes()),
        ("", "grüße".as_bytes()),
    ] {
        let content_type = format!("text/plain{charset}");
        let api = Upstream::start(move |_, _| Reply::with_headers(200, &[("Content-Type", &content_type)], bytes));
        let result = call(&manifest("", "", &format!("{{ url: \"{}\" }}", api.url())), json!({}));
        assert_eq!(text(&result), "grüße", "{charset}");
    }
}

#[test]
fn media_and_other_bytes_are_content_of_their_kind() {
    let reply = |request: &crate::upstream_server::RecordedRequest, _: usize| {
        let (mime_type, body): (_, &[u8]) = match request.target.as_str() {
            "/png" => ("image/png", b"\x89PNG\xff"),
            "/ascii" => ("image/gif; x=1", b"GIF89a"),
            "/wav" => ("audio/wav", b"RIFF\xff"),
            "/zip" => ("application/zip", b"PK\x03\x04\xff"),
            "/svg" => ("image/svg+xml", b"<svg/>"),
            _ => ("application/octet-stream", b"caf\xe9"),
        };
        Reply::with_headers(200, &[("Content-Type", mime_type)], body)
    };
    let api = Upstream::start(reply);
    let (_folder, server) = serve(&manifest("", "id: {}", &format!("{{ url: \"{}/{{{{id}}}}\" }}", api.url())));
    let client = server.client(SESSION_VERSIONS[3]);
    let block = |id: &str| client.call("t", json!({ "id": id }))["content"][0].clone();
    assert_eq!(block("png"), json!({ "type": "image", "data": "iVBOR/8=", "mimeType": "image/png" }));
    assert_eq!(block("ascii"), json!({ "type": "image", "data": "R0lGODlh", "mimeType": "image/gif" }));
    assert_eq!(block("wav"), json!({ "type": "audio", "data": "UklGRv8=", "mimeType": "audio/wav" }));
    let zip = block("zip");
    assert_eq!((zip["type"].as_str(), zip["resource"]["blob"].as_str()), (Some("resource"), Some("UEsDBP8=")), "{zip}");
    assert_eq!(zip["resource"]["mimeType"], "application/zip");
    assert_eq!(block("svg")["text"], "<svg/>");
    assert!(block("raw")["text"].as_str().unwrap().starts_with("caf"));
}

#[test]
fn networks_can_be_allowed() {
    let api = Upstream::start(ok);
    let named = api.url().replace("127.0.0.1", "localhost");
    let outcome = |allow: &str, variable: &str, url: &str| {
        let http = format!("{{ url: \"{{{{id}}}}\", allow: [{allow}] }}");
        let folder = TestFolder::with_manifest(&manifest("", "id: {}", &http));
        let server = folder.serve_command().env("ID", variable).env("KEY", "sesame-open-4711").stdio();
        let result = server.client(SESSION_VERSIONS[3]).call("t", json!({ "id": url }));
        let checked = std::process::Command::new(env!("CARGO_BIN_EXE_folio"))
            .arg("check")
            .current_dir(folder.path())
            .env("ID", variable)
            .output()
            .unwrap();
        (text(&result).to_owned(), String::from_utf8_lossy(&checked.stdout).into_owned())
    };
    let fine = r#"{"ok":true}"#;
    for (allow, variable) in [
        ("127.0.0.0/8, \"::1/128\"", "x"),
        ("\"*\"", "x"),
        ("0.0.0.0/0, \"::/0\"", "x"),
        ("\"{{env.ID}}\"", "10.0.0.0/8, 127.0.0.0/8, ::1/128"),
    ] {
        for url in [&api.url(), &named] {
            let (text, warnings) = outcome(allow, variable, url);
            assert_eq!(text, fine, "{allow} {url}");
            assert_eq!(
                warnings.contains("opens the whole network"),
                allow.contains(['*']) || allow.contains("/0"),
                "{warnings}"
            );
        }
    }
    for url in [&api.url(), &named] {
        let (text, _) = outcome("10.0.0.0/8", "x", url);
        assert!(text.contains("has a private address and is not listed in `allow`"), "{text}");
    }
    let (_, warnings) = outcome("\"{{env.ID}}\"", "*", &named);
    assert!(warnings.contains("`*` in the value of `ID` opens the whole network"), "{warnings}");
}

#[test]
fn variable_reaches_the_private_host_of_its_default() {
    let (api, other) =
        (Upstream::start(|_, _| Reply::json(200, &json!(1))), Upstream::start(|_, _| Reply::json(200, &json!(1))));
    let manifest = format!(
        "folio: 1\nserver: {{ name: s }}\nenv: {{ API: {{ default: \"{}\" }} }}\ntools:\n  t: {{ description: T, run: {{ http: {{ url: \"{{{{env.API}}}}/x\" }} }} }}\n",
        api.url()
    );
    let folder = TestFolder::with_manifest(&manifest);
    let outcome = |value: &str| {
        let server = folder.serve_command().env("API", value).stdio();
        text(&server.client(SESSION_VERSIONS[3]).call("t", json!({}))).to_owned()
    };
    for path in ["", "/", "/v2"] {
        assert_eq!(outcome(&format!("{}{path}", api.url())), "1", "{path:?}");
    }
    let refused = outcome(&other.url());
    assert!(refused.contains("is not listed in `allow`"), "{refused}");
}

#[test]
fn token_does_not_follow_page_to_another_origin() {
    let other = Upstream::start(|_, _| Reply::json(200, &json!({ "items": [2] })));
    let to = other.url();
    let api = Upstream::start(move |request, _| match request.target.as_str() {
        "/token" => {
            Reply::json(200, &json!({ "access_token": "access-token-42", "expires_in": "3600", "error": null }))
        }
        _ => Reply::json(200, &json!({ "items": [1], "next": to })),
    });
    let url = api.url();
    let auth = format!("oauth2: {{ tokenUrl: \"{url}/token\", clientId: me, clientSecret: \"{{{{env.KEY}}}}\" }}");
    let allow = other.url().replace("http://", "");
    let paginate = "{ next: next, items: items }";
    let http = format!("{{ url: \"{url}/\", auth: {{ {auth} }}, allow: [\"{allow}\"], paginate: {paginate} }}");
    assert_eq!(text(&call(&manifest("", "", &http), json!({}))), "[1,2]");
    assert_eq!(api.requests()[1].header("authorization"), Some("Bearer access-token-42"));
    assert_eq!(other.requests()[0].header("authorization"), None);
}

#[test]
fn request_that_was_redirected_counts_as_sent() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let api = Upstream::start(move |_, _| Reply::with_headers(303, &[("Location", &format!("http://{closed}/"))], ""));
    let retry = "{ attempts: 3, backoff: 1ms }";
    let http = format!("{{ url: \"{}\", method: POST, retry: {retry}, allow: [127.0.0.1] }}", api.url());
    let result = call(&manifest("", "", &http), json!({}));
    assert!(text(&result).contains(" failed: after a redirect: could not connect"), "{result}");
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn timeout_bounds_pages_and_tokens() {
    let slow = Upstream::start(|request, _| {
        thread::sleep(Duration::from_millis(700));
        Reply::json(200, &json!({ "items": [1], "next": format!("{}x", request.target) }))
    });
    let paginate = "paginate: { next: next, items: items, maxPages: 100 }";
    let mut pages = manifest("", "", &format!("{{ url: \"{}/\", {paginate} }}", slow.url()));
    pages.push_str("    timeout: 2s\n");
    let began = Instant::now();
    assert!(text(&call(&pages, json!({}))).contains("timed out"));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(slow.requests().len() <= 4, "{}", slow.requests().len());

    let stuck = Upstream::start(|_, _| {
        thread::sleep(Duration::from_secs(60));
        Reply::raw(Vec::new())
    });
    let (_folder, server) = serve(&(oauth2_manifest(&stuck, "") + "    timeout: 1s\n"));
    let client = server.client(SESSION_VERSIONS[3]);
    let began = Instant::now();
    let ids: Vec<i64> = (0..12).map(|_| client.start_call("t", json!({}))).collect();
    for id in ids {
        assert_eq!(client.wait_for_answer(id)["result"]["isError"], true);
    }
    assert!(began.elapsed() < Duration::from_secs(10), "one after another: {:?}", began.elapsed());
}

#[test]
fn templates_cannot_cut_secrets_out_of_responses() {
    // ISO-2022-JP with an escape before each letter, and a key in the URL of a partial result.
    let escaped: Vec<u8> = "sesame-open-4711".bytes().flat_map(|byte| [0x1B, b'(', b'B', byte]).collect();
    let api = Upstream::start(move |request, number| match request.target.as_str() {
        "/jp" => Reply::with_headers(200, &[("Content-Type", "text/plain; charset=iso-2022-jp")], &escaped),
        _ if number % 2 == 0 => Reply::json(200, &json!({ "items": [1], "next": "/more" })),
        _ => Reply::json(500, &json!({})),
    });
    let auth = "auth: { query: { name: key, value: \"{{env.KEY}}\" } }";
    let partial =
        format!("{{ url: \"{}\", {auth}, paginate: {{ next: next, items: items, partial: true }} }}", api.url());
    let result = "    result: { text: \"{{split result.url '-'}} {{split result.partial '-'}}\" }\n";
    let shown = call(&(manifest("", "", &partial) + result), json!({})).to_string();
    assert!(!shown.contains("sesame") && shown.contains("127.0.0.1"), "{shown}");
    let http = format!("{{ url: \"{}/jp\" }}", api.url());
    let result = "    result: { text: \"{{split result.body '-'}} {{truncate result.body 9}}\" }\n";
    let shown = call(&(manifest("", "", &http) + result), json!({})).to_string();
    assert!(!shown.contains("sesame") && shown.contains("[secret]"), "{shown}");
}

#[test]
fn next_url_that_echoes_the_key_gets_it_again() {
    let api = Upstream::start(|request, number| {
        let next = (number == 0).then(|| format!("{}&page=2", request.target));
        Reply::json(200, &json!({ "items": [number], "next": next }))
    });
    let auth = "auth: { query: { name: key, value: \"{{env.KEY}}\" } }";
    let http = format!("{{ url: \"{}\", {auth}, paginate: {{ next: next, items: items }} }}", api.url());
    assert_eq!(text(&call(&manifest("", "", &http), json!({}))), "[0,1]");
    assert_eq!(api.targets(), ["GET /?key=sesame-open-4711", "GET /?page=2&key=sesame-open-4711"]);
}

#[test]
fn last_page_number_ends_the_pages() {
    let api = Upstream::start(|_, _| Reply::json(200, &json!([1])));
    let http = format!("{{ url: \"{}?page={}\", paginate: {{ page: page }} }}", api.url(), u64::MAX);
    assert_eq!(text(&call(&manifest("", "", &http), json!({}))), "[1]");
}

/// What it says is cut after secrets are found, however long they are.
#[test]
fn echoes_of_token_endpoint_are_hidden() {
    let secret: String =
        (0..390_u32).map(|nth| char::from_digit((nth * nth * 7 + nth / 3) % 36, 36).unwrap()).collect();
    for response in [
        json!({ "access_token": "abcdefghijkl", "token_type": format!("x{secret}") }),
        json!({ "error": secret.repeat(30) }),
        json!({ "error": "e", "error_description": format!("{}{secret}", ".".repeat(290)) }),
    ] {
        let status = if response["access_token"].is_null() { 400 } else { 200 };
        let api = Upstream::start(move |_, _| Reply::json(status, &response));
        let folder = TestFolder::with_manifest(&oauth2_manifest(&api, ""));
        let server = folder.serve_command().env("ID", "client-7").env("KEY", &secret).stdio();
        let said = text(&server.client(SESSION_VERSIONS[3]).call("t", json!({}))).to_owned();
        assert!(said.contains("[secret"), "{said}");
        let six: Vec<&str> = (0..secret.len() - 6).map(|from| &secret[from..from + 6]).collect();
        assert!(!six.iter().any(|six| said.contains(six)), "{said}");
    }
}

#[test]
fn unusable_token_is_refused() {
    for token in ["a\r\nX: y".to_owned(), "t".repeat(20_000)] {
        let api = Upstream::start(move |_, _| Reply::json(200, &json!({ "access_token": token })));
        let result = call(&oauth2_manifest(&api, ""), json!({}));
        assert!(text(&result).contains("invalid `access_token`"), "{result}");
    }
}

#[test]
fn next_page_reaches_private_hosts_of_its_own_allow_only() {
    let other = Upstream::start(|_, _| Reply::json(200, &json!({ "items": [2] })));
    let to = other.url();
    let api = Upstream::start(move |_, _| Reply::json(200, &json!({ "items": [1], "next": to })));
    let host = other.url().replace("http://", "");
    let run = |allow: &str| {
        let url = api.url();
        format!("{{ url: \"{url}\"{allow}, paginate: {{ next: next, items: items }} }}")
    };
    // Another connection, another tool and another credential name the host.
    let keys = format!(
        "connections:\n  o: {{ url: \"{0}\", allow: [\"{host}\"] }}\n  c:\n    url: \"{1}\"\n    auth: {{ oauth2: \
         {{ tokenUrl: \"{0}\", clientId: a, clientSecret: b }} }}\n",
        other.url(),
        api.url()
    );
    let more = format!("  u: {{ description: U, run: {{ http: {{ use: o, allow: [\"{host}\"] }} }} }}\n");
    let refused = call(&(manifest(&keys, "", &run("")) + &more), json!({}));
    assert!(text(&refused).contains("has a private address"), "{refused}");
    assert!(other.requests().is_empty());
    let allowed = call(&(manifest(&keys, "", &run(&format!(", allow: [\"{host}\"]"))) + &more), json!({}));
    assert_eq!(text(&allowed), "[1,2]");
}

#[test]
fn token_is_hidden_in_responses_of_other_requests() {
    let api = oauth2_api(0, 3600);
    let echo = Upstream::start(|_, _| Reply::json(200, &json!({ "log": "saw access-token-1-0123456789 today" })));
    let more = format!("  echo: {{ description: E, run: {{ http: {{ url: \"{}\" }} }} }}\n", echo.url());
    let (_folder, server) = serve(&(oauth2_manifest(&api, "") + &more));
    let client = server.client(SESSION_VERSIONS[3]);
    assert!(client.call_text("echo", json!({})).contains("access-token-1"), "there is no token yet");
    assert_eq!(client.call("t", json!({}))["isError"], false);
    assert_eq!(client.call_text("echo", json!({})), r#"{"log":"saw [secret] today"}"#);
    assert_eq!(client.call("t", json!({}))["isError"], false);
}

#[test]
fn colon_in_username_is_an_error() {
    let api = Upstream::start(ok);
    let http = |username: &str| {
        format!("{{ url: \"{}\", auth: {{ basic: {{ username: \"{username}\", password: p }} }} }}", api.url())
    };
    let folder = TestFolder::with_manifest(&manifest("", "", &http("a:b")));
    let checked = run_folio(folder.path(), &["check"]);
    assert!((checked.out + &checked.err).contains("`username` in `basic` must not contain `:`"));
    let folder = TestFolder::with_manifest(&manifest("", "", &http("{{env.ID}}")));
    let server = folder.serve_command().env("ID", "a:b").env("KEY", "sesame-open-4711").stdio();
    let result = server.client(SESSION_VERSIONS[3]).call("t", json!({}));
    assert_eq!(text(&result), "`username` in `basic` must not contain `:`");
    assert!(api.requests().is_empty());
}

#[test]
fn absurd_retry_after_is_reported() {
    for (after, hint) in [("86400", "Try again in 86400 s."), ("18446744073709551615", "Try again in more than a day.")]
    {
        let api = Upstream::start(move |_, _| Reply::with_headers(429, &[("Retry-After", after)], "busy"));
        let result = call(&manifest("", "", &format!("{{ url: \"{}\", retry: {{}} }}", api.url())), json!({}));
        assert!(text(&result).ends_with(hint), "{result}");
    }
}

#[test]
fn too_long_url_is_named_as_such() {
    let api = Upstream::start(ok);
    let http = format!("{{ url: \"{}\", query: {{ q: \"{{{{q}}}}\" }} }}", api.url());
    let result = call(&manifest("", "q: {}", &http), json!({ "q": "x".repeat(70_000) }));
    let said = text(&result);
    assert!(said.ends_with("failed: invalid URL: longer than 65534 bytes; send long values in the body"), "{said}");
    assert!(said.len() < 700, "{said}");
    assert!(api.requests().is_empty());
}

#[test]
fn dry_run_hides_query_credential_of_any_name() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: api }\ntools:\n  t:\n    description: T\n    run: { http: { url: \"https://api.example/?u=1\", \
         auth: { query: { name: \"a ü\", value: plain-value } } } }\n",
    );
    let ran = run_folio(folder.path(), &["call", "t", "--dry-run"]);
    assert_eq!(ran.out.lines().next(), Some("send GET https://api.example/?u=1&a+%C3%BC=[secret]"), "{}", ran.err);
}

/// The items of two pages of a list that is counted from 0.
fn items_of_pages(paginate: &str, key: &str) -> (String, Vec<String>) {
    let key = key.to_owned();
    let api = Upstream::start(move |request, _| {
        let number = request.target.split_once(&format!("{key}=")).map_or(0, |(_, number)| number.parse().unwrap());
        let items: Vec<u64> = (number..5).take(if key == "page" { 1 } else { 2 }).collect();
        Reply::json(200, &json!(items))
    });
    let http = format!("{{ url: \"{}\", paginate: {paginate} }}", api.url());
    let items = text(&call(&manifest("", "", &http), json!({}))).to_owned();
    (items, api.targets())
}

#[test]
fn page_number_has_a_start_and_a_step() {
    let (items, targets) = items_of_pages("{ page: page, start: 0 }", "page");
    assert_eq!((items.as_str(), targets[0].as_str()), ("[0,1,2,3,4]", "GET /?page=0"));
    let (items, targets) = items_of_pages("{ page: page }", "page");
    assert_eq!((items.as_str(), targets[0].as_str()), ("[1,2,3,4]", "GET /?page=1"), "the first request says its page");
    let (items, targets) = items_of_pages("{ page: offset, start: 0, step: 2 }", "offset");
    assert_eq!(items, "[0,1,2,3,4]");
    assert_eq!(targets, ["GET /?offset=0", "GET /?offset=2", "GET /?offset=4", "GET /?offset=6"]);
}

#[test]
fn next_page_of_the_wrong_type_is_an_error() {
    for (next, expected) in [
        (json!({ "url": "/2" }), Some("`next` of `paginate` did not select a URL")),
        (json!(2), Some("`next` of `paginate` did not select a URL")),
        (json!(true), Some("`next` of `paginate` did not select a URL")),
        (json!(null), None),
        (json!(false), None),
        (json!(""), None),
    ] {
        let said = next.clone();
        let api = Upstream::start(move |_, _| Reply::json(200, &json!({ "items": [1], "next": said })));
        let called = |paginate: &str| {
            let http = format!("{{ url: \"{}\", paginate: {{ {paginate}, items: items }} }}", api.url());
            call(&manifest("", "", &http), json!({}))
        };
        let by_url = called("next: next");
        match expected {
            Some(expected) => assert!(text(&by_url).contains(expected), "{next}: {by_url}"),
            None => assert_eq!(text(&by_url), "[1]", "{next}"),
        }
        let is_refused = next.is_object() || next == true;
        let by_cursor = called("cursor: next, parameter: after");
        let said = text(&by_cursor).contains("`cursor` of `paginate` did not select a text or a number");
        assert_eq!(said, is_refused, "{next}: {by_cursor}");
    }
}

#[test]
fn expected_error_status_ends_pagination() {
    let api = Upstream::start(|request, _| match request.target.as_str() {
        "/none?page=1" | "/two?page=2" => Reply::json(404, &json!({ "message": "none" })),
        _ => Reply::json(200, &json!([1])),
    });
    let called = |path: &str, expect: &str| {
        let url = api.url();
        let http = format!("{{ url: \"{url}{path}\", paginate: {{ page: page }}{expect} }}");
        call(&manifest("", "", &http), json!({}))
    };
    let none = called("/none", ", expect: [404]");
    assert_eq!((none["isError"].as_bool(), text(&none)), (Some(false), r#"{"message":"none"}"#));
    assert_eq!(text(&called("/two", ", expect: [404]")), "[1]");
    assert_eq!(called("/two", "")["isError"], true);
}

#[test]
fn pages_before_a_failure_are_not_all() {
    let api = Upstream::start(|request, _| match request.target.as_str() {
        "/?page=1" => Reply::with_headers(203, &[("Content-Type", "application/json"), ("X-Page", "1")], "[1]"),
        _ => Reply::json(500, &json!({})),
    });
    let http = format!("{{ url: \"{}\", paginate: {{ page: page, partial: true }} }}", api.url());
    let result = "    result: { text: \"{{result.status}} {{result.headers.x-page}} {{result.more}}\" }\n";
    assert_eq!(text(&call(&(manifest("", "", &http) + result), json!({}))), "203 1 true");
}

#[test]
fn header_with_the_name_of_a_credential_stays_at_its_origin() {
    let other = Upstream::start(|_, _| Reply::json(200, &json!([2])));
    let to = other.url();
    let api = Upstream::start(move |_, _| Reply::with_headers(302, &[("Location", &to)], ""));
    let allow = other.url().replace("http://", "");
    let headers = "{ X-Api-Key: \"k-{{k}}\", X-Auth-Token: t, Cookie: c=d, Idempotency-Key: i, X-Other: o }";
    let http = format!("{{ url: \"{}\", headers: {headers}, allow: [\"{allow}\"] }}", api.url());
    call(&manifest("", "k: {}", &http), json!({ "k": "v" }));
    let named = |request: &RecordedRequest| {
        let names = ["x-api-key", "x-auth-token", "cookie", "idempotency-key", "x-other"];
        names.into_iter().filter(|name| request.header(name).is_some()).collect::<Vec<_>>()
    };
    assert_eq!(named(&api.requests()[0]).len(), 5);
    assert_eq!(named(&other.requests()[0]), ["idempotency-key", "x-other"]);
}

#[test]
fn retry_of_a_request_takes_precedence_key_by_key() {
    let requests = |own: &str| {
        let api = failing(503, &[], usize::MAX);
        let connection = "retry: { attempts: 3, on: [503], backoff: 1ms }";
        let connections = format!("connections: {{ c: {{ url: \"{}\", {connection} }} }}\n", api.url());
        call(&manifest(&connections, "", &format!("{{ use: c, url: \"/\"{own} }}")), json!({}));
        api.requests().len()
    };
    assert_eq!(requests(""), 3);
    assert_eq!(requests(", retry: { attempts: 2 }"), 2);
    assert_eq!(requests(", retry: { on: [] }"), 1);
    assert_eq!(requests(", retry: { on: [500] }"), 1);
}

#[test]
fn error_without_response_names_the_request() {
    let silent = Upstream::start(|_, _| {
        thread::sleep(Duration::from_secs(3));
        Reply::raw("")
    });
    let called = |http: &str| text(&call(&manifest("", "", http), json!({}))).to_owned();
    let url = silent.url();
    assert_eq!(
        called(&format!("{{ method: POST, url: \"{url}/a?token=abc\", timeout: 200ms }}")),
        format!(
            "POST {url}/a?token=[secret] timed out after 200ms\n\
             The request may have been processed: check before you retry."
        )
    );
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(
        called(&format!("{{ url: \"http://{unused}/a\", retry: {{ attempts: 2, backoff: 1ms }} }}")),
        format!(
            "GET http://{unused}/a failed: could not connect to `127.0.0.1`: connection refused (2 attempts)\n\
             Trying again later may help."
        )
    );
}

#[test]
fn error_message_that_says_nothing_is_not_used() {
    let api = Upstream::start(|_, _| Reply::with_headers(502, &[], "<html><title>Bad Gateway</title></html>"));
    let http = format!("{{ url: \"{}\", onError: {{ 5xx: \"{{{{json.message}}}} \" }} }}", api.url());
    let failed = call(&manifest("", "", &http), json!({}));
    assert!(text(&failed).contains("502 Bad Gateway"), "{failed}");
}

#[test]
fn what_can_never_work_is_reported_at_load() {
    for (http, expected) in [
        ("method: HEAD, paginate: { next: link }", "a HEAD request must not have `paginate`"),
        ("paginate: { page: '' }", "empty name of a query parameter"),
        ("paginate: { cursor: next, parameter: '' }", "empty name of a query parameter"),
        ("paginate: { page: p, step: 0 }", "`step` must be greater than zero"),
        ("paginate: { next: link, start: 0 }", "`start` requires `page`"),
        ("paginate: { next: link, maxItems: 0 }", "invalid `maxItems` `0`"),
        ("paginate: { next: link, maxItems: many }", "invalid `maxItems` `many`"),
        ("paginate: { next: link, maxItems: 'a{{env.ID}}' }", "expected exactly one `{{…}}`"),
        ("timeout: 0s", "`timeout` must be greater than zero"),
        ("onError: { 404: '' }", "empty error message"),
        ("onError: { 2xx: a }", "unused message: status 2xx is not an error"),
        ("expect: [404], onError: { 404: a }", "unused message: status 404 is not an error"),
        ("redirect: manual, onError: { 302: a }", "unused message: status 302 is not an error"),
    ] {
        let http = format!("{{ url: \"https://api.example/\", {http} }}");
        let folder = TestFolder::with_manifest(&manifest("", "", &http));
        let report = run_folio(folder.path(), &["check"]);
        assert!(report.code == Some(1) && report.out.contains(expected), "{http}: {report:?}");
    }
    for connection in ["retry: { attempts: 99 }", "retry: { on: [700] }", "allow: ['a b']"] {
        let keys = format!("connections: {{ c: {{ url: \"https://api.example\", {connection} }} }}\n");
        let http = "{ use: c, url: /, retry: { attempts: 2, on: [503] }, allow: [] }";
        let folder = TestFolder::with_manifest(&manifest(&keys, "", http));
        let report = run_folio(folder.path(), &["check"]);
        assert_eq!(report.out.matches("error[").count(), 1, "{connection}: {report:?}");
    }
}

#[test]
fn result_that_does_not_fit_says_that_the_tool_has_run() {
    let api = Upstream::start(|_, _| Reply::json(201, &json!({ "id": "seven" })));
    let schema = "    outputSchema: { type: object, properties: { id: { type: integer } } }\n";
    let called = |method: &str, more: &str| {
        let http = format!("{{ method: {method}, url: \"{}\" }}", api.url());
        let result = call(&(manifest("", "", &http) + schema + more), json!({}));
        let start = "the request was carried out: HTTP 201; the response does not fit `outputSchema`: ";
        assert!(text(&result).starts_with(start), "{result}");
        text(&result).contains("The tool did run; do not call it again")
    };
    assert!(called("POST", ""));
    assert!(!called("POST", "    annotations: { readOnlyHint: true }\n"));
    assert!(!called("GET", ""));
}

#[test]
fn response_without_body_shows_its_status() {
    let api = Upstream::start(|_, _| Reply::with_headers(204, &[], ""));
    let http = format!("{{ method: DELETE, url: \"{}\" }}", api.url());
    let result = call(&manifest("", "", &http), json!({}));
    assert_eq!(result["content"], json!([{ "type": "text", "text": "HTTP status 204 No Content" }]));
    let status = "    result: { text: \"{{result.status}}\" }\n";
    let result = call(&(manifest("", "", &http) + status), json!({}));
    assert_eq!(result["content"], json!([{ "type": "text", "text": "204" }]));
}

#[test]
fn fail_if_makes_a_response_an_error() {
    let api = Upstream::start(|request, _| match &*request.target {
        "/good" => Reply::json(200, &json!({ "ok": true, "items": [1] })),
        "/empty" => Reply::with_headers(204, &[], ""),
        "/page" => Reply::with_headers(200, &[("Link", "</bad>; rel=next")], "{\"ok\":true,\"items\":[1]}"),
        _ => Reply::json(200, &json!({ "ok": false, "error": "no_channel", "needed": "chat:write" })),
    });
    let url = api.url();
    let called = |keys: &str, http: &str, path: &str| {
        let http = http.replace("URL", &format!("{url}/{path}"));
        let result = call(&manifest(keys, "name: {}", &http), json!({ "name": "general" }));
        (result["isError"] == true, text(&result).to_owned())
    };
    let own = "{ method: POST, url: \"URL\", failIf: \"{{eq json.ok false}}\" }";
    let body = r#"{"error":"no_channel","needed":"chat:write","ok":false}"#;
    let (failed, said) = called("", own, "bad");
    assert!(failed && said.starts_with(&format!("POST {url}/bad failed, though with HTTP status 200 OK: ")), "{said}");
    let shown: Value = serde_json::from_str(said.split_once("OK: ").unwrap().1).unwrap();
    assert_eq!(shown, serde_json::from_str::<Value>(body).unwrap());
    assert_eq!(called("", own, "good"), (false, r#"{"ok":true,"items":[1]}"#.to_owned()));
    assert_eq!(called("", own, "empty"), (false, "HTTP status 204 No Content".to_owned()));
    let worded = own.replace(" }", ", onError: { 200: \"{{json.error}}: {{arguments.name}} ({{status}})\" } }");
    assert_eq!(called("", &worded, "bad"), (true, "no_channel: general (200)".to_owned()));
    let pages = "{ url: \"URL\", failIf: \"{{not json.ok}}\", paginate: { next: link, items: items } }";
    let (failed, said) = called("", pages, "page");
    assert!(
        failed && said.starts_with(&format!("page 2: GET {url}/bad failed, though with HTTP status 200")),
        "{said}"
    );
    let tolerant = pages.replace("items: items", "items: items, partial: true");
    assert!(called("", &tolerant, "page").1.starts_with("[1]"));
    let shared = format!("connections: {{ c: {{ url: \"{url}\", failIf: \"{{{{not json.ok}}}}\" }} }}\n");
    assert!(called(&shared, "{ use: c, url: /bad }", "").0);
    assert!(!called(&shared, "{ use: c, url: /bad, failIf: \"{{eq status 500}}\" }", "").0);
    let csv = "{ url: \"URL\", failIf: \"{{not json.ok}}\" }, parse: csv";
    assert!(called("", csv, "bad").1.contains("failed, though with HTTP status 200"));
}

#[test]
fn fail_if_is_checked_at_load() {
    for (keys, http, expected) in [
        ("", "url: \"https://api.example/\", failIf: json.ok", "expected exactly one `{{…}}`"),
        ("", "url: \"https://api.example/\", failIf: \"{{jsn.ok}}\"", "unknown variable `jsn`"),
        (
            "connections: { c: { url: \"https://api.example\", failIf: \"{{not id}}\" } }\n",
            "use: c, url: /",
            "unknown variable `id`",
        ),
    ] {
        let folder = TestFolder::with_manifest(&manifest(keys, "id: {}", &format!("{{ {http} }}")));
        let report = run_folio(folder.path(), &["check"]);
        assert!(report.code == Some(1) && report.out.contains(expected), "{http}: {report:?}");
        assert_eq!(report.out.matches("error[").count(), 1, "{http}: {report:?}");
    }
}

#[test]
fn max_items_may_be_a_template() {
    let api = Upstream::start(|_, _| Reply::json(200, &json!([1, 2, 3])));
    let http =
        format!("{{ url: \"{}\", paginate: {{ page: p, maxPages: 2, maxItems: \"{{{{limit}}}}\" }} }}", api.url());
    let manifest = manifest("", "limit: { type: number }", &http);
    for (limit, expected) in [
        (json!({ "limit": 2 }), "[1,2]"),
        (json!({ "limit": 4.0 }), "[1,2,3,1]"),
        (json!({}), "[1,2,3,1,2,3]"),
        (json!({ "limit": 0 }), "invalid `maxItems` `0`, expected a whole number from 1"),
        (json!({ "limit": 1.5 }), "invalid `maxItems` `1.5`, expected a whole number from 1"),
    ] {
        let result = call(&manifest, limit.clone());
        assert_eq!(text(&result), expected, "{limit}");
    }
}

#[test]
fn body_may_be_bytes_as_they_are() {
    let api = Upstream::start(|request, _| Reply::json(200, &json!([request.header("content-type"), request.body])));
    let url = api.url();
    let arguments = "data: {}";
    let http = |body: &str| manifest("", arguments, &format!("{{ url: \"{url}\", body: {body} }}"));
    let folder = TestFolder::with_manifest(&http("{ file: page.html }"));
    let page = "\u{feff}<p>{{data}}</p>\r\n";
    folder.write("page.html", page);
    folder.write("raw", b"a\0\xffb");
    let sent = |manifest: &str, data: Value| {
        folder.write("folio.yaml", manifest);
        let server = folder.stdio();
        let result = server.client(SESSION_VERSIONS[3]).call("t", data);
        result["structuredContent"]["result"].as_array().cloned().unwrap_or_else(|| panic!("{result}"))
    };
    assert_eq!(sent(&http("{ file: page.html }"), json!({})), [json!("text/html"), json!(page)]);
    let raw = String::from_utf8_lossy(b"a\0\xffb").into_owned();
    assert_eq!(sent(&http("{ file: raw }"), json!({})), [json!("application/octet-stream"), json!(raw)]);
    let base64 = http("{ base64: \"{{data}}\" }");
    assert_eq!(sent(&base64, json!({ "data": "YQD/Yg==" })), [json!("application/octet-stream"), json!(raw)]);
    assert_eq!(sent(&base64, json!({})), [Value::Null, json!("")]);
    let typed = manifest(
        "",
        arguments,
        &format!("{{ url: \"{url}\", headers: {{ content-type: a/b }}, body: {{ file: raw }} }}"),
    );
    assert_eq!(sent(&typed, json!({}))[0], "a/b");
    let wrong = call(&base64, json!({ "data": "%" }));
    assert_eq!(text(&wrong), "`body` is not base64");
    let both = TestFolder::with_manifest(&http("{ file: raw, base64: x }"));
    both.write("raw", "x");
    assert!(run_folio(both.path(), &["check"]).out.contains("expected exactly one of `file`, `base64` in `body`"));
}

#[test]
fn bytes_of_a_body_are_shown_by_dry_run_and_test() {
    let tools = manifest("", "data: {}", "{ url: \"https://api.example/\", body: { base64: \"{{data}}\" } }")
        + "  u:\n    description: U\n    run: { http: { url: \"https://api.example/\", body: { file: raw } } }\n";
    let tests = r#"tests:
  bytes: { tool: t, arguments: { data: "YQD/Yg==" }, mock: { http: { status: 204 } }, expect: { sent: { body: "YQD/Yg==" } } }
  file: { tool: u, mock: { http: { status: 204 } }, expect: { sent: { body: "some text" } } }
"#;
    let folder = TestFolder::with_manifest(&(tools + tests));
    folder.write("raw", "some text");
    let tested = run_folio(folder.path(), &["test"]);
    assert_eq!(tested.code, Some(0), "{tested:?}");
    for (call, words) in [(&["call", "t", "data=YQD/Yg=="][..], "body: 4 bytes"), (&["call", "u"], "body: file raw")] {
        let shown = run_folio(folder.path(), &[call, &["--dry-run"]].concat());
        assert!(format!("{}{}", shown.out, shown.err).contains(words), "{shown:?}");
    }
}

#[test]
fn unused_proxy_of_the_environment_is_named_where_no_connection_is_made() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = |http: &str, variables: &[(&str, &str)]| {
        let connection = format!(
            "connections: {{ c: {{ url: \"http://{closed}\" }}, p: {{ url: \"https://api.invalid\", proxy: \"http://{closed}\" }} }}\n"
        );
        let folder = TestFolder::with_manifest(&manifest(&connection, "", http));
        let command = variables.iter().fold(folder.serve_command(), |command, (name, value)| command.env(name, value));
        text(&command.stdio().client(SESSION_VERSIONS[3]).call("t", json!({}))).to_owned()
    };
    let hint = |name: &str| {
        format!(
            "`{name}` is not used by itself: declare it in `env`, and write `proxy: \"{{{{env.{name}}}}}\"` at the connection"
        )
    };
    let direct = "{ use: c, url: / }";
    let both = [("HTTP_PROXY", "http://127.0.0.1:9"), ("HTTPS_PROXY", "http://127.0.0.1:9")];
    let text = said(direct, &both);
    assert!(text.contains(&hint("HTTP_PROXY")) && !text.contains("HTTPS_PROXY"), "{text}");
    assert!(said("{ url: \"https://api.invalid/\" }", &both).contains(&hint("HTTPS_PROXY")));
    assert!(said(direct, &[("all_proxy", "http://127.0.0.1:9")]).contains(&hint("all_proxy")));
    for (http, variables) in [(direct, &[("HTTP_PROXY", "")][..]), ("{ use: p, url: / }", &both)] {
        let text = said(http, variables);
        assert!(text.contains("failed") && !text.contains("not used by itself"), "{http}: {text}");
    }
}

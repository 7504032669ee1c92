//! A reload obeys the rules of a start, and reports its outcome.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::*;

const HEAD: &str = "folio: 1\nserver: { name: s }\n";

fn prompt(more: &str) -> String {
    format!("{HEAD}prompts:\n  p: {{ text: Hi }}\n{more}")
}

fn edit(folder: &TestFolder, server: &TestServer, manifest: &str) -> String {
    let mark = server.log.line_count();
    folder.rename_over("folio.yaml", manifest);
    server.log.wait_for_reload(mark)
}

/// The status of a first request with a token.
fn status(server: &TestServer, token: &str, headers: &[(&str, &str)]) -> u16 {
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let mut web = server.http_client();
    web.token = Some(token.to_owned()).filter(|token| !token.is_empty());
    web.post(headers, &initialize).status
}

const NEEDY: &str = "env:\n  FOLIO_SUITE_UNSET: { required: true }\n";

#[test]
fn reload_refuses_variables_that_start_refuses() {
    let folder = TestFolder::with_manifest(&prompt(""));
    // One after the other: a second server would reload when it likes.
    for start in [TestFolder::stdio, TestFolder::http] {
        let server = start(&folder);
        assert_eq!(server.sessionless().names("prompts"), ["p"]);
        let mark = server.log.line_count();
        folder.rename_over("folio.yaml", prompt(NEEDY).replace("  p:", "  q:"));
        server.log.wait_for_failed_reload(mark);
        let said = server.log.lines()[mark..].join("\n");
        assert!(said.contains("error[unset-variable]: required variable `FOLIO_SUITE_UNSET` is not set"), "{said}");
        assert!(said.contains("folio.yaml:6:3"), "{said}");
        assert_eq!(server.sessionless().names("prompts"), ["p"], "the last good version stays");
        let line = edit(&folder, &server, &prompt("").replace("  p:", "  r:"));
        assert!(line.ends_with(": +r, -p"), "{line}");
        edit(&folder, &server, &prompt(""));
    }
    folder.write("folio.yaml", prompt(NEEDY));
    let started = run_folio(folder.path(), &["serve"]);
    assert_eq!(started.code, Some(1), "{started:?}");
    assert!(
        started.err.contains("error[unset-variable]: required variable `FOLIO_SUITE_UNSET` is not set"),
        "{started:?}"
    );
    assert!(started.err.contains("folio.yaml:6:3"), "{started:?}");
}

#[test]
fn single_request_refuses_what_serve_refuses() {
    let more = "resources:\n  r: { uri: \"r://r\", text: R }\ntools:\n  t: { description: T, result: { text: x } }\n";
    let folder = TestFolder::with_manifest(&prompt(&format!("{NEEDY}{more}")));
    for request in [&["get", "p"][..], &["call", "t"], &["read", "r://r"]] {
        let refused = run_folio(folder.path(), request);
        assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{request:?}: {refused:?}");
        assert!(refused.err.contains("required variable `FOLIO_SUITE_UNSET` is not set"), "{refused:?}");
    }
    // Who looks what there is needs no secrets.
    assert_eq!(run_folio(folder.path(), &["list"]).code, Some(0));
}

#[test]
fn reload_shows_new_warnings_once() {
    let warns = "tools:\n  t: { description: T, timeout: 1s, result: { text: x } }\n";
    let warnings = |server: &TestServer, mark: usize| {
        let lines = server.log.lines();
        let about = |line: &&String| line.contains("WARN") && line.contains("`timeout` has no effect without `run`");
        lines[mark..].iter().filter(about).cloned().collect::<Vec<String>>()
    };
    let folder = TestFolder::with_manifest(&prompt(""));
    let server = folder.stdio();
    server.sessionless().round_trip();
    edit(&folder, &server, &prompt(warns));
    let said = warnings(&server, 0);
    assert!(said.len() == 1 && said[0].contains("folio.yaml:6:24: warning[unused]:"), "{said:?}");
    // Neither an edit elsewhere nor another line says it again.
    edit(&folder, &server, &prompt(&format!("  q: {{ text: Hi }}\n{warns}")));
    assert_eq!(warnings(&server, 0).len(), 1);
    edit(&folder, &server, &prompt(""));
    let mark = server.log.line_count();
    edit(&folder, &server, &prompt(warns));
    assert_eq!(warnings(&server, mark).len(), 1, "it was gone in between");
    let again = folder.stdio();
    again.sessionless().round_trip();
    assert_eq!(warnings(&again, 0).len(), 1);
    edit(&folder, &again, &prompt(&format!("  q: {{ text: Hi }}\n{warns}")));
    assert_eq!(warnings(&again, 0).len(), 1, "what the start said");
}

#[test]
fn reload_log_line_names_edited_entries() {
    let manifest = "partials: house.hbs\ninclude: [\"*.md\"]\nprompts:\n  greet: { text: Hi }\n  same: { text: Hi }\n  long: { text: { file: long.txt } }\n  old: { text: \"{{> house}}\" }\nresources:\n  note: { uri: \"note://n\", text: N }\n  file: { uri: \"file://f\", file: f.txt }\n  page: { uri: \"page://{id}\", text: P }\ntools:\n  same: { description: S, result: { text: x } }\n  run: { description: R, run: { exec: [echo, a] } }\n";
    let whole = |text: &str| format!("{HEAD}{text}");
    let folder = TestFolder::new(&[
        ("folio.yaml", &whole(manifest)),
        ("house.hbs", "house"),
        ("long.txt", "long"),
        ("f.txt", "f"),
        ("body.md", "---\ndescription: B\n---\nBody"),
    ]);
    let server = folder.stdio();
    server.sessionless().round_trip();
    let line = |path: &str, text: &str| {
        let mark = server.log.line_count();
        folder.rename_over(path, text);
        let line = server.log.wait_for_reload(mark);
        line.split_once(" ms: ").unwrap().1.to_owned()
    };
    assert_eq!(
        line("folio.yaml", &whole(&manifest.replace("greet: { text: Hi }", "greet: { text: Hello }"))),
        "~greet"
    );
    let edited = manifest.replace("greet: { text: Hi }", "triage: { text: Hi }").replace("text: N", "text: M");
    assert_eq!(line("folio.yaml", &whole(&edited)), "~note://n, +triage, -greet");
    assert_eq!(line("folio.yaml", &whole(&edited.replace("echo, a", "echo, b"))), "~run");
    assert_eq!(line("folio.yaml", &whole(&edited.replace("text: P", "text: Q"))), "~run, ~page://{id}");
    let both = edited.replace("same: { text: Hi }", "same: { text: Ho }").replace("description: S", "description: T");
    assert_eq!(line("folio.yaml", &whole(&both)), "~same (prompt), ~same (tool), ~page://{id}");
    assert_eq!(line("folio.yaml", &whole(&both).replace("name: s", "name: s, title: S")), "~server");
    assert_eq!(line("long.txt", "longer"), "~long");
    assert_eq!(line("body.md", "---\ndescription: B\n---\nOther"), "~body");
    assert_eq!(line("house.hbs", "mansion"), "~house");
    assert_eq!(line("f.txt", "other"), "~file://f");
    let commented = whole(&both).replace("name: s", "name: s, title: S") + "# nothing\n";
    assert_eq!(line("folio.yaml", &commented), "no list changed");
    let many: String =
        (0..12).map(|number| format!("  t{number}: {{ description: T, result: {{ text: x }} }}\n")).collect();
    let names = "+t0, +t1, +t2, +t3, +t4, +t5, +t6, +t7, +t8, +t9, and 2 more";
    assert_eq!(line("folio.yaml", &(commented.trim_end_matches("# nothing\n").to_owned() + &many)), names);
}

/// A server over HTTP whose token is in `name`.
fn with_token(name: &str) -> String {
    prompt(&format!(
        "env: {{ FOLIO_A: {{ secret: true }}, FOLIO_B: {{ secret: true }} }}\nhttp: {{ token: \"{{{{env.{name}}}}}\" }}\n"
    ))
}

fn started(folder: &TestFolder) -> ServeCommand {
    folder.serve_command().env("FOLIO_A", "the-first-token-1").env("FOLIO_B", "the-second-token")
}

#[test]
fn token_change_takes_effect_on_reload() {
    let folder = TestFolder::with_manifest(&prompt(""));
    let server = started(&folder).http();
    let (first, second) = ("the-first-token-1", "the-second-token");
    let statuses = || [status(&server, "", &[]), status(&server, first, &[]), status(&server, second, &[])];
    let session = server.session("2025-11-25");
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let asks = |token: &str| {
        let mut web = server.http_client();
        web.token = Some(token.to_owned());
        web.post(&[("Mcp-Session-Id", session.session_id()), ("MCP-Protocol-Version", "2025-11-25")], &ping).status
    };
    assert_eq!(statuses(), [200, 200, 200]);
    assert!(edit(&folder, &server, &with_token("FOLIO_A")).ends_with(": +env, +http"));
    assert_eq!((statuses(), asks("none"), asks(first)), ([401, 200, 401], 401, 200));
    assert!(edit(&folder, &server, &with_token("FOLIO_B")).ends_with(": ~http"));
    assert_eq!((statuses(), asks(first), asks(second)), ([401, 401, 200], 401, 200));
    edit(&folder, &server, &prompt(""));
    assert_eq!(statuses(), [200, 200, 200]);
    assert!(!server.log.text().contains("token-1"), "{}", server.log.text());
}

#[test]
fn stream_ends_when_its_token_is_revoked() {
    let folder = TestFolder::with_manifest(&prompt(""));
    let server = started(&folder).flag("--sse").http();
    let (session, modern) = (server.session("2025-11-25"), server.sessionless());
    let filter = modern.params(json!({ "notifications": { "promptsListChanged": true } }));
    let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": filter });
    let streams = |token: Option<&str>| {
        let mut web = server.http_client();
        web.token = token.map(str::to_owned);
        let get = [
            ("Accept", "text/event-stream"),
            ("Mcp-Session-Id", session.session_id()),
            ("MCP-Protocol-Version", "2025-11-25"),
        ];
        let headers = modern.headers("subscriptions/listen", &filter);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut sse = server.http_client();
        (sse.path, sse.token) = ("/sse".to_owned(), token.map(str::to_owned));
        let mut oldest = sse.send("GET", &get[..1], b"");
        assert!(oldest.first_event().contains("sessionId"));
        [web.send("GET", &get, b""), web.post(&headers, &listen), oldest].map(|opened| {
            assert_eq!(opened.status, 200, "{opened:?}");
            opened.stream(Arc::default())
        })
    };
    let open = streams(None);
    edit(&folder, &server, &with_token("FOLIO_A"));
    wait_until("the end of streams without a token", || open.iter().all(SseStream::has_exited));
    let first = streams(Some("the-first-token-1"));
    // An edit of something else ends none.
    edit(&folder, &server, &with_token("FOLIO_A").replace("prompts:", "prompts:\n  more: { text: more }"));
    assert!(!first.iter().any(SseStream::has_exited), "the token is the same");
    edit(&folder, &server, &with_token("FOLIO_B"));
    wait_until("the end of streams with the old token", || first.iter().all(SseStream::has_exited));
    let second = streams(Some("the-second-token"));
    edit(&folder, &server, &prompt(""));
    assert!(!second.iter().any(SseStream::has_exited), "everybody may read");
}

#[test]
fn public_address_without_token_is_warned_of() {
    for (listen, warned) in [
        ("0.0.0.0:8080", true),
        ("\"[::]:8080\"", true),
        ("192.0.2.1:8080", true),
        ("127.0.0.1:8080", false),
        ("\"[::1]:8080\"", false),
        ("localhost:8080", false),
    ] {
        let folder = TestFolder::with_manifest(&prompt(&format!("http: {{ listen: {listen} }}\n")));
        let checked = run_folio(folder.path(), &["check", "--strict", "--format", "lines"]);
        assert_eq!(checked.code, Some(i32::from(warned)), "{listen}: {checked:?}");
        assert_eq!(checked.out.contains("is reachable from other machines"), warned, "{listen}: {checked:?}");
    }
    let token = with_token("FOLIO_A").replace("http: {", "http: { listen: 0.0.0.0:8080,");
    let folder = TestFolder::with_manifest(&token);
    let checked = run_folio(folder.path(), &["check", "--format", "lines"]);
    assert!(!checked.out.contains("is reachable"), "{checked:?}");
}

#[test]
fn reload_without_token_on_public_address_is_refused() {
    let folder = TestFolder::with_manifest(&with_token("FOLIO_A"));
    let server = started(&folder).flag("--http=0.0.0.0:0").http_as_configured();
    assert_eq!(status(&server, "the-first-token-1", &[]), 200);
    for open in [prompt(""), with_token("FOLIO_A").replace("FOLIO_A", "FOLIO_C")] {
        let mark = server.log.line_count();
        folder.rename_over("folio.yaml", &open);
        server.log.wait_for_failed_reload(mark);
        assert_eq!((status(&server, "", &[]), status(&server, "the-first-token-1", &[])), (401, 200));
    }
    let said = server.log.text();
    assert!(said.contains("is reachable from other machines") && said.contains("--insecure"), "{said}");
    assert!(said.contains("`FOLIO_C` is not set"), "{said}");
    let careless = started(&folder).flag("--http=0.0.0.0:0").flag("--insecure");
    folder.write("folio.yaml", with_token("FOLIO_A"));
    let careless = careless.http_as_configured();
    edit(&folder, &careless, &prompt(""));
    assert_eq!(status(&careless, "", &[]), 200);
}

#[test]
fn origins_hosts_and_max_sessions_take_effect_on_reload() {
    let folder = TestFolder::with_manifest(&prompt(
        "http: { allowedOrigins: [\"https://a.example\"], allowedHosts: [a.example], maxSessions: 1 }\n",
    ));
    let server = folder.http();
    let from = |site: &str| {
        let origin = format!("https://{site}");
        (status(&server, "", &[("Origin", &origin), ("MCP-Protocol-Version", SESSIONLESS_VERSION)]), {
            let web = server.http_client();
            web.send("GET", &[("Host", site)], b"").status
        })
    };
    let refused = |(origin, host): (u16, u16)| (origin == 403, host == 403);
    assert_eq!((refused(from("a.example")), refused(from("b.example"))), ((false, false), (true, true)));
    let _one = server.session("2025-11-25");
    assert_eq!(status(&server, "", &[]), 503);
    edit(
        &folder,
        &server,
        &prompt("http: { allowedOrigins: [\"https://b.example\"], allowedHosts: [b.example], maxSessions: 2 }\n"),
    );
    assert_eq!((refused(from("a.example")), refused(from("b.example"))), ((true, true), (false, false)));
    let _two = server.session("2025-11-25");
    assert_eq!(status(&server, "", &[]), 503);
}

#[test]
fn setting_that_needs_restart_is_reported_at_its_key() {
    let folder = TestFolder::with_manifest(&prompt("http: { listen: \"127.0.0.1:0\", path: /a }\n"));
    let server = folder.serve_command().flag("--http").http_as_configured();
    let mark = server.log.line_count();
    edit(&folder, &server, &prompt("http: { listen: \"127.0.0.1:1\", path: /b, sse: true }\n"));
    let said = server.log.lines()[mark..].join("\n");
    for (key, column) in [("listen", 9), ("path", 32), ("sse", 42)] {
        let line = format!("folio.yaml:5:{column}: warning[unused]: change of `{key}` requires a restart");
        assert!(said.contains(&line), "{line}\n{said}");
    }
    let mut web = server.http_client();
    for (path, there) in [("/a", true), ("/b", false), ("/sse", false)] {
        web.path = path.to_owned();
        assert_eq!(web.send("GET", &[], b"").status != 404, there, "{path}");
    }
    // A flag has the last word, and a pipe none of it.
    let (flagged, piped) = (folder.http(), folder.stdio());
    piped.sessionless().round_trip();
    for (server, port) in [(flagged, 2), (piped, 3)] {
        let listen = format!("127.0.0.1:{port}");
        edit(&folder, &server, &prompt(&format!("http: {{ listen: \"{listen}\", path: /b, sse: true }}\n")));
        assert!(!server.log.text().contains("restart"), "{}", server.log.text());
    }
}

#[test]
fn token_from_unset_variable_is_refused_on_loopback() {
    let folder = TestFolder::with_manifest(&with_token("FOLIO_A"));
    let refused = |value: Option<&str>| {
        let serve = folder.serve_command().flag("--http=127.0.0.1:0");
        let server = value.into_iter().fold(serve, |serve, value| serve.env("FOLIO_A", value)).stdio();
        let status = server.wait_for_exit(TEST_TIMEOUT).expect("it is served");
        wait_until("the report", || server.log.text().contains("is not set"));
        let said = server.log.text();
        assert_eq!(status.code(), Some(1), "{value:?}: {said}");
        assert!(
            said.contains("error[unset-variable]: variable `FOLIO_A` is not set") && said.contains("folio.yaml:6:16"),
            "{said}"
        );
    };
    [None, Some(""), Some("  "), Some("${FOLIO_A}")].into_iter().for_each(refused);
    // Nobody asks for it over a pipe.
    assert_eq!(folder.serve_command().stdio().sessionless().names("prompts"), ["p"]);
    let checked = run_folio(folder.path(), &["check", "--format", "lines"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(
        checked.out.contains("folio.yaml:6:16: note[unset-variable]: variable `FOLIO_A` is not set"),
        "{checked:?}"
    );
    let default = with_token("FOLIO_A")
        .replace("FOLIO_A: { secret: true }", "FOLIO_A: { secret: true, default: \"${FOLIO_X}\" }");
    folder.write("folio.yaml", default);
    refused(None);
}

#[test]
fn short_token_and_wildcard_host_are_warned_about() {
    let folder = TestFolder::with_manifest(&with_token("FOLIO_A").replace("http: {", "http: { allowedHosts: [\"*\"],"));
    let server = folder.serve_command().env("FOLIO_A", "fifteen-letters").http();
    let said = server.log.text();
    assert!(said.contains("warning[secret]: token in `FOLIO_A` is shorter than 16 characters"), "{said}");
    assert!(said.contains("`*` accepts any `Host`") && !said.contains("fifteen"), "{said}");
    let fine = started(&folder).http();
    assert!(!fine.log.text().contains("fewer than"), "{}", fine.log.text());
}

#[test]
fn cross_site_request_without_origin_is_refused() {
    let folder = TestFolder::with_manifest(&prompt("http: { sse: true, maxSessions: 1 }\n"));
    let server = folder.http();
    let get = |path: &str, site: &str| {
        let mut web = server.http_client();
        web.path = path.to_owned();
        web.send("GET", &[("Accept", "text/event-stream"), ("Sec-Fetch-Site", site)], b"").status
    };
    for site in ["cross-site", "same-site"] {
        assert_eq!((get("/sse", site), get("/mcp", site)), (403, 403), "{site}");
        assert_eq!(status(&server, "", &[("Sec-Fetch-Site", site)]), 403, "{site}");
    }
    // What counts is what any of them says.
    let own = format!("http://127.0.0.1:{}", server.port);
    for twice in [
        [("Origin", own.as_str()), ("Origin", "http://evil.example")],
        [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")],
    ] {
        assert_eq!(status(&server, "", &twice), 403, "{twice:?}");
    }
    assert_eq!(get("/sse", "same-origin"), 200, "and nobody has taken its place");
    for once in [("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")] {
        assert_ne!(status(&server, "", &[once]), 403, "{once:?}");
    }
}

/// Worked out apart from this program: it travels, and another release must know it.
#[test]
fn cursor_is_stable_across_releases() {
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s, pageSize: 1 }\nprompts:\n  a: { text: A }\n  b: { text: B }\n",
    );
    let page: Value = folder.stdio().sessionless().result("prompts/list", json!({}));
    assert_eq!(page["nextCursor"], CURSOR);
}

const CURSOR: &str = "Zjc1MzU0MTYzMzgyYTIwODox";

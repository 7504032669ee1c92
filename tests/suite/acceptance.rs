//! A reload obeys the rules of a start, and says what came of it.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::*;

const HEAD: &str = "folio: 1\nserver: { name: s }\n";

fn prompt(more: &str) -> String {
    format!("{HEAD}prompts:\n  p: {{ text: Hi }}\n{more}")
}

fn edit(folder: &Folder, server: &Server, manifest: &str) -> String {
    let mark = server.log.mark();
    folder.rename_over("folio.yaml", manifest);
    server.log.reloaded_after(mark)
}

/// The status of a first request with a token.
fn status(server: &Server, token: &str, headers: &[(&str, &str)]) -> u16 {
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let mut web = server.web();
    web.token = Some(token.to_owned()).filter(|token| !token.is_empty());
    web.post(headers, &initialize).status
}

const NEEDY: &str = "env:\n  FOLIO_SUITE_UNSET: { required: true }\n";

#[test]
fn a_variable_that_a_start_refuses_is_refused_by_a_reload() {
    let folder = Folder::of(&prompt(""));
    for server in [folder.stdio(), folder.http()] {
        let mark = server.log.mark();
        folder.rename_over("folio.yaml", prompt(NEEDY).replace("  p:", "  q:"));
        server.log.refused_after(mark);
        let said = server.log.lines()[mark..].join("\n");
        assert!(said.contains("error[unset]: `FOLIO_SUITE_UNSET` is required and not set"), "{said}");
        assert!(said.contains("folio.yaml:6:3"), "{said}");
        assert_eq!(server.modern().names("prompts"), ["p"], "the last good version stays");
        let line = edit(&folder, &server, &prompt("").replace("  p:", "  r:"));
        assert!(line.ends_with(": +r, -p"), "{line}");
        edit(&folder, &server, &prompt(""));
    }
    folder.write("folio.yaml", prompt(NEEDY));
    let started = folio_in(folder.path(), &["serve"]);
    assert_eq!(started.code, Some(1), "{started:?}");
    assert!(started.err.contains("error[unset]: `FOLIO_SUITE_UNSET` is required and not set"), "{started:?}");
    assert!(started.err.contains("folio.yaml:6:3"), "{started:?}");
}

#[test]
fn what_serve_refuses_a_single_request_is_refused_too() {
    let more = "resources:\n  r: { uri: \"r://r\", text: R }\ntools:\n  t: { description: T, result: { text: x } }\n";
    let folder = Folder::of(&prompt(&format!("{NEEDY}{more}")));
    for request in [&["get", "p"][..], &["call", "t"], &["read", "r://r"]] {
        let refused = folio_in(folder.path(), request);
        assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{request:?}: {refused:?}");
        assert!(refused.err.contains("`FOLIO_SUITE_UNSET` is required and not set"), "{refused:?}");
    }
    // Who looks what there is needs no secrets.
    assert_eq!(folio_in(folder.path(), &["list"]).code, Some(0));
}

#[test]
fn the_warnings_of_a_reload_are_shown_when_they_come_up() {
    let warns = "tools:\n  t: { description: T, timeout: 1s, result: { text: x } }\n";
    let warnings = |server: &Server, mark: usize| {
        let lines = server.log.lines();
        let about = |line: &&String| line.contains("WARN") && line.contains("`timeout` does nothing without `run`");
        lines[mark..].iter().filter(about).cloned().collect::<Vec<String>>()
    };
    let folder = Folder::of(&prompt(""));
    let server = folder.stdio();
    server.modern().round_trip();
    edit(&folder, &server, &prompt(warns));
    let said = warnings(&server, 0);
    assert!(said.len() == 1 && said[0].contains("folio.yaml:6:24: warning:"), "{said:?}");
    // Neither an edit elsewhere nor another line says it again.
    edit(&folder, &server, &prompt(&format!("  q: {{ text: Hi }}\n{warns}")));
    assert_eq!(warnings(&server, 0).len(), 1);
    edit(&folder, &server, &prompt(""));
    let mark = server.log.mark();
    edit(&folder, &server, &prompt(warns));
    assert_eq!(warnings(&server, mark).len(), 1, "it was gone in between");
    let again = folder.stdio();
    again.modern().round_trip();
    assert_eq!(warnings(&again, 0).len(), 1);
    edit(&folder, &again, &prompt(&format!("  q: {{ text: Hi }}\n{warns}")));
    assert_eq!(warnings(&again, 0).len(), 1, "what the start said");
}

#[test]
fn the_line_of_a_reload_names_what_was_edited() {
    let manifest = "partials: house.hbs\ninclude: [\"*.md\"]\nprompts:\n  greet: { text: Hi }\n  same: { text: Hi }\n  long: { text: { file: long.txt } }\n  old: { text: \"{{> house}}\" }\nresources:\n  note: { uri: \"note://n\", text: N }\n  file: { uri: \"file://f\", file: f.txt }\n  page: { uri: \"page://{id}\", text: P }\ntools:\n  same: { description: S, result: { text: x } }\n  run: { description: R, run: { exec: [echo, a] } }\n";
    let whole = |text: &str| format!("{HEAD}{text}");
    let folder = Folder::new(&[
        ("folio.yaml", &whole(manifest)),
        ("house.hbs", "house"),
        ("long.txt", "long"),
        ("f.txt", "f"),
        ("body.md", "---\ndescription: B\n---\nBody"),
    ]);
    let server = folder.stdio();
    server.modern().round_trip();
    let line = |path: &str, text: &str| {
        let mark = server.log.mark();
        folder.rename_over(path, text);
        let line = server.log.reloaded_after(mark);
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

fn started(folder: &Folder) -> Serve {
    folder.serve().env("FOLIO_A", "the-first-token-1").env("FOLIO_B", "the-second-token")
}

#[test]
fn a_token_that_is_set_rotated_or_taken_away_is_in_force_at_once() {
    let folder = Folder::of(&prompt(""));
    let server = started(&folder).http();
    let (first, second) = ("the-first-token-1", "the-second-token");
    let statuses = || [status(&server, "", &[]), status(&server, first, &[]), status(&server, second, &[])];
    let session = server.session("2025-11-25");
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let asks = |token: &str| {
        let mut web = server.web();
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
fn a_stream_ends_with_the_token_that_it_was_opened_with() {
    let folder = Folder::of(&prompt(""));
    let server = started(&folder).flag("--sse").http();
    let (session, modern) = (server.session("2025-11-25"), server.modern());
    let filter = modern.params(json!({ "notifications": { "promptsListChanged": true } }));
    let listen = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": filter });
    let streams = |token: Option<&str>| {
        let mut web = server.web();
        web.token = token.map(str::to_owned);
        let get = [
            ("Accept", "text/event-stream"),
            ("Mcp-Session-Id", session.session_id()),
            ("MCP-Protocol-Version", "2025-11-25"),
        ];
        let headers = modern.headers("subscriptions/listen", &filter);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut sse = server.web();
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
    eventually("the end of streams without a token", || open.iter().all(Stream::has_ended));
    let first = streams(Some("the-first-token-1"));
    // An edit of something else ends none.
    edit(&folder, &server, &with_token("FOLIO_A").replace("prompts:", "prompts:\n  more: { text: more }"));
    assert!(!first.iter().any(Stream::has_ended), "the token is the same");
    edit(&folder, &server, &with_token("FOLIO_B"));
    eventually("the end of streams with the old token", || first.iter().all(Stream::has_ended));
    let second = streams(Some("the-second-token"));
    edit(&folder, &server, &prompt(""));
    assert!(!second.iter().any(Stream::has_ended), "everybody may read");
}

#[test]
fn a_manifest_that_listens_to_everybody_without_a_token_is_warned_of() {
    for (listen, warned) in [
        ("0.0.0.0:8080", true),
        ("\"[::]:8080\"", true),
        ("192.0.2.1:8080", true),
        ("127.0.0.1:8080", false),
        ("\"[::1]:8080\"", false),
        ("localhost:8080", false),
    ] {
        let folder = Folder::of(&prompt(&format!("http: {{ listen: {listen} }}\n")));
        let checked = folio_in(folder.path(), &["check", "--strict", "--format", "lines"]);
        assert_eq!(checked.code, Some(i32::from(warned)), "{listen}: {checked:?}");
        assert_eq!(checked.out.contains("can be reached from other machines"), warned, "{listen}: {checked:?}");
    }
    let token = with_token("FOLIO_A").replace("http: {", "http: { listen: 0.0.0.0:8080,");
    let folder = Folder::of(&token);
    let checked = folio_in(folder.path(), &["check", "--format", "lines"]);
    assert!(!checked.out.contains("can be reached"), "{checked:?}");
}

#[test]
fn a_reload_that_would_open_a_server_to_everybody_is_refused() {
    let folder = Folder::of(&with_token("FOLIO_A"));
    let server = started(&folder).flag("--http=0.0.0.0:0").http_as_told();
    assert_eq!(status(&server, "the-first-token-1", &[]), 200);
    for open in [prompt(""), with_token("FOLIO_A").replace("FOLIO_A", "FOLIO_C")] {
        let mark = server.log.mark();
        folder.rename_over("folio.yaml", &open);
        server.log.refused_after(mark);
        assert_eq!((status(&server, "", &[]), status(&server, "the-first-token-1", &[])), (401, 200));
    }
    let said = server.log.text();
    assert!(said.contains("can be reached from other machines") && said.contains("--insecure"), "{said}");
    assert!(said.contains("`FOLIO_C` is not set"), "{said}");
    let careless = started(&folder).flag("--http=0.0.0.0:0").flag("--insecure");
    folder.write("folio.yaml", with_token("FOLIO_A"));
    let careless = careless.http_as_told();
    edit(&folder, &careless, &prompt(""));
    assert_eq!(status(&careless, "", &[]), 200);
}

#[test]
fn origins_hosts_and_numbers_of_sessions_are_in_force_at_once() {
    let folder = Folder::of(&prompt(
        "http: { allowedOrigins: [\"https://a.example\"], allowedHosts: [a.example], maxSessions: 1 }\n",
    ));
    let server = folder.http();
    let from = |site: &str| {
        let origin = format!("https://{site}");
        (status(&server, "", &[("Origin", &origin), ("MCP-Protocol-Version", MODERN)]), {
            let web = server.web();
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
fn what_needs_a_restart_says_so_at_its_place() {
    let folder = Folder::of(&prompt("http: { listen: \"127.0.0.1:0\", path: /a }\n"));
    let server = folder.serve().flag("--http").http_as_told();
    let mark = server.log.mark();
    edit(&folder, &server, &prompt("http: { listen: \"127.0.0.1:1\", path: /b, sse: true }\n"));
    let said = server.log.lines()[mark..].join("\n");
    for (key, column) in [("listen", 9), ("path", 32), ("sse", 42)] {
        let line = format!("folio.yaml:5:{column}: warning: `{key}` has changed and needs a restart");
        assert!(said.contains(&line), "{line}\n{said}");
    }
    let mut web = server.web();
    for (path, there) in [("/a", true), ("/b", false), ("/sse", false)] {
        web.path = path.to_owned();
        assert_eq!(web.send("GET", &[], b"").status != 404, there, "{path}");
    }
    // A flag has the last word, and a pipe none of it.
    let (flagged, piped) = (folder.http(), folder.stdio());
    piped.modern().round_trip();
    for (server, port) in [(flagged, 2), (piped, 3)] {
        let listen = format!("127.0.0.1:{port}");
        edit(&folder, &server, &prompt(&format!("http: {{ listen: \"{listen}\", path: /b, sse: true }}\n")));
        assert!(!server.log.text().contains("restart"), "{}", server.log.text());
    }
}

#[test]
fn a_token_whose_variable_is_not_set_is_refused_also_on_this_machine() {
    let folder = Folder::of(&with_token("FOLIO_A"));
    let refused = |value: Option<&str>| {
        let serve = folder.serve().flag("--http=127.0.0.1:0");
        let server = value.into_iter().fold(serve, |serve, value| serve.env("FOLIO_A", value)).stdio();
        let status = server.wait(PATIENCE).expect("it is served");
        eventually("the report", || server.log.text().contains("is not set"));
        let said = server.log.text();
        assert_eq!(status.code(), Some(1), "{value:?}: {said}");
        assert!(said.contains("error[unset]: `FOLIO_A` is not set") && said.contains("folio.yaml:6:16"), "{said}");
    };
    [None, Some(""), Some("  "), Some("${FOLIO_A}")].into_iter().for_each(refused);
    // Nobody asks for it over a pipe.
    assert_eq!(folder.serve().stdio().modern().names("prompts"), ["p"]);
    let checked = folio_in(folder.path(), &["check", "--format", "lines"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.out.contains("folio.yaml:6:16: note: `FOLIO_A` is not set"), "{checked:?}");
    let default = with_token("FOLIO_A").replace("FOLIO_A: { secret: true }", "FOLIO_A: { default: \"${FOLIO_X}\" }");
    folder.write("folio.yaml", default);
    refused(None);
}

#[test]
fn a_short_token_and_an_open_list_of_hosts_are_warned_of() {
    let folder = Folder::of(&with_token("FOLIO_A").replace("http: {", "http: { allowedHosts: [\"*\"],"));
    let server = folder.serve().env("FOLIO_A", "fifteen-letters").http();
    let said = server.log.text();
    assert!(said.contains("warning: `FOLIO_A` has fewer than 16 characters"), "{said}");
    assert!(said.contains("`*` answers to every `Host`") && !said.contains("fifteen"), "{said}");
    let fine = started(&folder).http();
    assert!(!fine.log.text().contains("fewer than"), "{}", fine.log.text());
}

#[test]
fn pages_of_other_sites_begin_nothing_without_their_origin() {
    let folder = Folder::of(&prompt("http: { sse: true, maxSessions: 1 }\n"));
    let server = folder.http();
    let get = |path: &str, site: &str| {
        let mut web = server.web();
        web.path = path.to_owned();
        web.send("GET", &[("Accept", "text/event-stream"), ("Sec-Fetch-Site", site)], b"").status
    };
    for site in ["cross-site", "same-site"] {
        assert_eq!((get("/sse", site), get("/mcp", site)), (403, 403), "{site}");
        assert_eq!(status(&server, "", &[("Sec-Fetch-Site", site)]), 403, "{site}");
    }
    assert_eq!(get("/sse", "same-origin"), 200, "and nobody has taken its place");
}

/// Worked out apart from this program: it travels, and another release must know it.
#[test]
fn a_cursor_is_the_same_in_every_release() {
    let folder =
        Folder::of("folio: 1\nserver: { name: s, pageSize: 1 }\nprompts:\n  a: { text: A }\n  b: { text: B }\n");
    let page: Value = folder.stdio().modern().result("prompts/list", json!({}));
    assert_eq!(page["nextCursor"], CURSOR);
}

const CURSOR: &str = "Zjc1MzU0MTYzMzgyYTIwODox";

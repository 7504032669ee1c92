//! Which of several packs serves a URI.

use serde_json::json;

use crate::harness::{SESSION_VERSIONS, ServeCommand, TestFolder, on_every_version_and_wire, run_folio};

const DESK: &str = r#"
folio: 1
server: { name: desk }
packs: { guest: { path: ./guest }, late: { path: ./late } }
resources:
  docs: { uri: "docs://{+page}", root: docs, mimeType: text/plain }
  skills: { uri: "skill://{+path}", text: "of the desk: {{path}}" }
  page: { uri: "page://one", text: the desk's }
tools:
  own: { description: Reads, run: { read: "docs://policy.md" } }
"#;

const GUEST: &str = r#"
folio: 1
server: { name: guest }
skills: { dir: skills }
resources:
  policy: { uri: "docs://policy.md", text: the guest's }
  scheme: { uri: "DOCS://other", text: the guest's }
  page: { uri: "page://{name}", text: "the guest's {{name}}" }
  alone: { uri: "guest://alone", text: the guest's }
tools:
  inner: { description: Reads, run: { read: "docs://policy.md" } }
prompts:
  inner: { description: Embeds, messages: [{ user: { resource: "docs://policy.md" } }] }
"#;

const LATE: &str = r#"
folio: 1
server: { name: late }
resources:
  page: { uri: "page://{+path}", text: "the late one's {{path}}" }
  alone: { uri: "guest://alone{?x}", text: the late one's }
"#;

fn desk() -> TestFolder {
    TestFolder::new(&[
        ("folio.yaml", DESK),
        ("docs/policy.md", "the desk's"),
        ("guest/folio.yaml", GUEST),
        ("guest/skills/helper/SKILL.md", "---\nname: helper\ndescription: Helps.\n---\nthe guest's\n"),
        ("late/folio.yaml", LATE),
    ])
}

#[test]
fn importer_resource_wins_over_pack() {
    on_every_version_and_wire(&desk(), &json!({}), |client| {
        for (uri, text) in [
            ("docs://policy.md", "the desk's"),
            ("DOCS://policy.md", "the desk's"),
            ("skill://helper/SKILL.md", "of the desk: helper/SKILL.md"),
            ("page://one", "the desk's"),
            ("page://two", "the guest's two"),
            ("page://two/three", "the late one's two/three"),
            ("guest://alone", "the guest's"),
            ("guest://alone?x=1", "the late one's"),
        ] {
            assert_eq!(client.read_text(uri), text, "{uri}");
        }
        // What the importer's entry refuses, no other gives.
        let refused = client.request("resources/read", json!({ "uri": "docs://other" }));
        assert!(refused["error"]["code"].is_i64(), "{refused}");
    });
}

#[test]
fn pack_references_resolve_inside_the_pack() {
    let folder = desk();
    folder.write(
        "guest/folio.yaml",
        GUEST.replace("run: { read: \"docs://policy.md\" }", "run: { read: \"guest://alone\" }"),
    );
    on_every_version_and_wire(&folder, &json!({}), |client| {
        assert_eq!(client.call_text("guest-inner", json!({})), "the guest's");
        assert_eq!(client.call_text("own", json!({})), "the desk's");
    });
}

const HOST: &str = r#"
folio: 1
server: { name: host }
packs: { guest: { path: ./guest } }
resources:
  conf: { uri: "conf://h/a", text: the host's }
  mine: { uri: "mine://{one}", text: the host's }
"#;

const SPEAKER: &str = r#"
folio: 1
server: { name: guest }
resources:
  conf: { uri: "conf://{+z}", text: the guest's }
  mine: { uri: "mine://{+z}", text: the guest's }
tools:
  read: { description: D, arguments: { uri: {} }, run: { read: "{{uri}}" } }
  embed: { description: D, arguments: { uri: {} }, result: { content: [{ resource: "{{uri}}" }] } }
  tell: { description: D, arguments: { uri: {} }, run: { notify: { updated: "{{uri}}" } }, result: { text: told } }
  log: { description: D, run: { log: { level: emergency, logger: host, data: hi } }, result: { text: logged } }
"#;

#[test]
fn pack_does_not_speak_for_its_importer() {
    let folder = TestFolder::new(&[("folio.yaml", HOST), ("guest/folio.yaml", SPEAKER)]);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let is_refused = |tool: &str, uri: &str| client.call(tool, json!({ "uri": uri }))["isError"] == true;
        for (uri, is_its_own) in [
            ("mine://a", false),
            ("mine://a/b", true),
            ("conf://h/a", false),
            ("conf://h/b", true),
            ("conf://h/%61", false),
            ("conf://h/./a", false),
            ("CONF://h/b/../%61", false),
            ("conf://h/%2561", true),
        ] {
            for tool in ["guest-read", "guest-embed", "guest-tell"] {
                assert_eq!(is_refused(tool, uri), !is_its_own, "{tool} {uri}");
            }
            let read = client.request("resources/read", json!({ "uri": uri })).to_string();
            assert_eq!(read.contains("the guest's"), is_its_own, "{uri}: {read}");
        }
    });
}

/// URIs that mean the same; the first is that of the importer's resource.
const EQUIVALENT: &[&[&str]] = &[
    &[
        "https://Wiki.example/policy",
        "https://wiki.example/policy",
        "HTTPS://WIKI.EXAMPLE:443/policy",
        "https://wiki.example:/policy",
        "https://wiki.example:0443/%70olicy",
        "https://wiki.example/a/../policy",
        "https:wiki.example/policy",
    ],
    &["https://Home.example", "https://home.example/", "https://home.example:443", "https://home.example:443/"],
    &["https://home.example?Q", "https://home.example/?Q"],
    &["https://b%C3%BCcher.example/x", "https://xn--bcher-kva.example/x"],
    &["https://XN--Bcher-2.example/x", "https://xn--bcher-2.example/x"],
    &["wiki://Docs/%2fA", "wiki://docs/%2FA", "WIKI://DOCS:/%2FA", "wiki://dOCs/./%2fA"],
    &["wiki://Team", "wiki://team/", "wiki://TEAM:", "wiki://%74eam"],
    &["wiki://team:Eight/a/b", "wiki://team:eight/a/./b", "wiki://team:EIGHT/a/c/%2e%2E/b"],
    &["wiki://[2001:DB8::0:1]/a", "wiki://[2001:db8::1]/a"],
    &["file://localhost/srv/a", "file:///srv/a", "FILE:/srv/a", "file:/srv/./a"],
];

#[test]
fn every_form_of_a_uri_is_that_of_the_importer() {
    let resource = |(nth, uris): (usize, &&[&str])| format!("  r{nth}: {{ uri: \"{}\", text: host {nth} }}\n", uris[0]);
    let resources: String = EQUIVALENT.iter().enumerate().map(resource).collect();
    let host = HOST.replace("resources:\n", &format!("resources:\n{resources}"));
    let templates = ["https://{+z}", "wiki://{+z}", "wiki:{+z}", "file:{+z}"];
    let guest = |(nth, uri)| format!("  all{nth}: {{ uri: \"{uri}\", text: guest }}\n");
    let guest: String = templates.into_iter().enumerate().map(guest).collect();
    let guest = SPEAKER.replace("resources:\n", &format!("resources:\n{guest}"));
    let folder = TestFolder::new(&[("folio.yaml", &host), ("guest/folio.yaml", &guest)]);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        for (nth, uri) in EQUIVALENT.iter().enumerate().flat_map(|(nth, uris)| uris.iter().map(move |uri| (nth, uri))) {
            let contents = &client.result("resources/read", json!({ "uri": uri }))["contents"][0];
            assert_eq!((&contents["text"], &contents["uri"]), (&json!(format!("host {nth}")), &json!(uri)));
            for tool in ["guest-read", "guest-embed", "guest-tell"] {
                assert_eq!(client.call(tool, json!({ "uri": uri }))["isError"], true, "{tool} {uri}");
            }
        }
        // What no client sends, but a pack may have a client told of.
        for uri in ["https:\\\\wiki.example\\policy", "https://wiki.example/pol\ticy", "https://b\u{fc}cher.example/x"]
        {
            for tool in ["guest-read", "guest-embed", "guest-tell"] {
                assert_eq!(client.call(tool, json!({ "uri": uri }))["isError"], true, "{tool} {uri}");
            }
        }
        for uri in ["https://wiki.example/Policy", "https://wiki.example:80/policy", "wiki://team/a", "file:///srv/A"] {
            assert_eq!(client.read_text(uri), "guest", "{uri}");
        }
        let fragment = client.call("guest-read", json!({ "uri": "https://wiki.example:443/policy#top" }));
        assert_eq!(fragment["isError"], true, "{fragment}");
    });
}

#[test]
fn equivalent_uris_of_two_resources_are_an_error() {
    for uris in EQUIVALENT {
        let resource = |(nth, uri)| format!("  r{nth}: {{ uri: \"{uri}\", text: x }}\n");
        let resources: String = uris.iter().enumerate().map(resource).collect();
        let folder = TestFolder::with_manifest(&format!("folio: 1\nserver: {{ name: s }}\nresources:\n{resources}"));
        let report = run_folio(folder.path(), &["check", "--format", "lines"]).out;
        assert_eq!(report.matches("duplicate resource URI").count(), uris.len() - 1, "{report}");
    }
    let folder = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\nresources:\n  a: { uri: \"wiki://Docs/{id}\", text: x }\n  \
         b: { uri: \"WIKI://docs/{id}\", text: x }\n",
    );
    let report = run_folio(folder.path(), &["check", "--format", "lines"]).out;
    assert!(report.contains("duplicate resource URI `WIKI://docs/{id}`"), "{report}");
}

#[test]
fn log_of_a_pack_carries_its_name() {
    let folder = TestFolder::new(&[("folio.yaml", HOST), ("guest/folio.yaml", SPEAKER)]);
    let server = folder.stdio();
    let client = server.session(SESSION_VERSIONS[3]);
    client.result("logging/setLevel", json!({ "level": "debug" }));
    client.call_text("guest-log", json!({}));
    let message = client.take(|message| message["method"] == "notifications/message");
    assert_eq!(message["params"]["logger"], "guest-host", "{message}");
}

#[test]
fn pack_without_grant_knows_no_roots_and_no_lists() {
    let tools = r#"
tools:
  paths: { description: D, arguments: { path: { within: roots, required: true } }, result: { text: "{{path}}" } }
  lists: { description: D, run: { notify: tools }, result: { text: told } }
"#;
    let pack = format!("folio: 1\nserver: {{ name: p }}\n{tools}");
    let host = "folio: 1\nserver: { name: s }\npacks: { p: { path: ./p } }\n";
    let folder = TestFolder::new(&[("folio.yaml", host), ("p/folio.yaml", &pack)]);
    let report = run_folio(folder.path(), &["check"]);
    let said = report.out + &report.err;
    assert_eq!(report.code, Some(1), "{said}");
    assert!(said.contains("missing grant `files`: the roots of the client are outside the pack"), "{said}");
    assert!(said.contains("cannot notify of a list in a pack"), "{said}");
    folder.write("folio.yaml", host.replace("./p }", "./p, allow: [files] }"));
    folder.write("p/folio.yaml", pack.replace("notify: tools", "log: x"));
    let report = run_folio(folder.path(), &["check"]);
    assert_eq!(report.code, Some(0), "{}{}", report.out, report.err);
}

#[test]
fn listed_uris_are_unique() {
    let folder = desk();
    folder.write("docs/other.md", "another");
    folder
        .write("folio.yaml", DESK.replace("tools:", "  literal: { uri: \"docs://other.md\", text: by hand }\ntools:"));
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let listed: Vec<(String, String)> = client
            .list("resources")
            .iter()
            .map(|one| (one["uri"].as_str().unwrap().to_owned(), one["name"].as_str().unwrap().to_owned()))
            .collect();
        let wanted = [
            ("docs://policy.md", "policy.md"),
            ("page://one", "page"),
            ("docs://other.md", "literal"),
            ("guest://alone", "guest-alone"),
        ];
        let wanted = wanted.map(|(uri, name)| (uri.to_owned(), name.to_owned()));
        assert_eq!(listed, wanted);
        assert_eq!(client.read_text("docs://other.md"), "by hand");
    });
}

#[test]
fn packs_outside_the_folder_are_served_and_watched() {
    let folder = TestFolder::new(&[
        ("shared/folio.yaml", "folio: 1\nprompts: { ours: { text: One. } }\n"),
        ("home/commands/fix.md", "Fix it."),
    ]);
    let home = folder.join("home");
    let manifest = format!(
        "folio: 1\nserver: {{ name: desk }}\npacks: {{ team: {{ path: ../shared }}, mine: {{ path: \"{}\" }} }}\n",
        home.to_str().unwrap()
    );
    folder.write("desk/folio.yaml", manifest);
    let server = ServeCommand::new(&folder.join("desk")).stdio();
    let client = server.session("2025-11-25");
    assert_eq!(client.names("prompts"), ["team-ours", "mine-fix"]);
    folder.write("shared/folio.yaml", "folio: 1\nprompts: { all: { text: Two. } }\n");
    client.wait_for("notifications/prompts/list_changed");
    assert_eq!(client.names("prompts"), ["team-all", "mine-fix"]);
    folder.write("home/commands/deep/ask.md", "Ask.");
    client.wait_for("notifications/prompts/list_changed");
    assert_eq!(client.names("prompts"), ["team-all", "mine-deep-ask", "mine-fix"]);
    std::fs::rename(&home, folder.join("gone")).unwrap();
    server.log.wait_for_line(0, |line| line.contains("not found") || line.contains("no such file"));
    std::fs::rename(folder.join("gone"), &home).unwrap();
    folder.write("home/commands/back.md", "Back.");
    client.wait_for("notifications/prompts/list_changed");
    assert_eq!(client.names("prompts"), ["team-all", "mine-back", "mine-deep-ask", "mine-fix"]);
}

#[test]
fn path_of_a_missing_pack_is_shown_as_written() {
    for (path, message) in [
        ("/nonexistent/deeper", "no such file or folder: `/nonexistent/deeper`"),
        ("../no/such", "no such file or folder: `../no/such`"),
        ("./no/such/", "no such file or folder: `./no/such/`"),
        ("\"\"", "empty `path` of a pack"),
        (".", "cyclic pack: it imports itself"),
    ] {
        let manifest = format!("folio: 1\nserver: {{ name: desk }}\npacks: {{ a: {{ path: {path} }} }}\n");
        let folder = TestFolder::with_manifest(&manifest);
        let ran = run_folio(folder.path(), &["check", "--format", "lines"]);
        assert!(ran.out.contains(message), "{path}: {}", ran.out);
    }
}

//! Skills: by the extension, and as plain resources for other clients.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::harness::*;

const MATTER: &str = "---\nname: git-flow\ndescription: How we use Git\nlicense: MIT\nmetadata: { version: \"1.0\" }\n---\nSee [it](templates/commit.md).\n";
const COMMIT: &str = "# Commit\n";
const HIDDEN: &str = "Squash before you merge.\r\n";
const BYTES: &[u8] = &[0x89, b'P', b'N', b'G', 0, 1];

/// One skill with files and folders in it, one below a folder that is none, and one that is left out.
fn desk() -> TestFolder {
    let folder = TestFolder::new(&[
        ("folio.yaml", "folio: 1\nserver: { name: s, ttlMs: 5000 }\nskills: { dir: skills }\n"),
        ("skills/git-flow/SKILL.md", MATTER),
        ("skills/git-flow/templates/commit.md", COMMIT),
        ("skills/git-flow/templates/a b?.txt", "odd"),
        ("skills/git-flow/.hidden/.rules", HIDDEN),
        ("skills/team/refunds/SKILL.md", "---\nname: refunds\ndescription: Refunds\n---\n"),
        ("skills/broken/SKILL.md", "---\nname: another\ndescription: Wrong\n---\n"),
        ("skills/README.md", "Not of any skill"),
    ]);
    folder.write("skills/git-flow/assets/logo.png", BYTES);
    std::fs::create_dir(folder.join("skills/git-flow/empty")).unwrap();
    folder
}

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn file(uri: &str, bytes: &[u8]) -> Value {
    json!({ "uri": uri, "digest": digest(bytes), "size": bytes.len() })
}

fn git_flow() -> Value {
    json!({
        "uri": "skill://git-flow/SKILL.md",
        "frontmatter": {
            "name": "git-flow", "description": "How we use Git", "license": "MIT", "metadata": { "version": "1.0" }
        },
        "resources": [
            file("skill://git-flow/.hidden/.rules", HIDDEN.as_bytes()),
            file("skill://git-flow/SKILL.md", MATTER.as_bytes()),
            file("skill://git-flow/assets/logo.png", BYTES),
            file("skill://git-flow/templates/a%20b%3F.txt", b"odd"),
            file("skill://git-flow/templates/commit.md", COMMIT.as_bytes()),
        ],
    })
}

/// The names and types of what stands in a folder.
fn children(client: &TestClient, uri: &str) -> Vec<(String, String)> {
    let result = client.result("resources/directory/read", json!({ "uri": uri }));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |child: &Value| (text(&child["name"]), text(&child["mimeType"]));
    result["resources"].as_array().unwrap().iter().map(of).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, kind)| ((*name).to_owned(), (*kind).to_owned())).collect()
}

#[test]
fn skills_list_and_get_return_file_digests() {
    let folder = desk();
    let web = folder.http();
    for version in SESSION_VERSIONS.into_iter().chain([SESSIONLESS_VERSION]) {
        let pipe = folder.stdio();
        for client in [pipe.client(version), web.client(version)] {
            let skills = client.list("skills");
            assert_eq!(skills.len(), 2, "{skills:?}");
            assert_eq!(skills[0], git_flow(), "{version}");
            assert_eq!(skills[1]["uri"], "skill://team/refunds/SKILL.md");
            let got = client.result("skills/get", json!({ "uri": "skill://git-flow/SKILL.md" }));
            assert_eq!(got["skill"], git_flow(), "{version}");
            let listed = client.result("skills/list", json!({}));
            for result in [got, listed] {
                let hints = (&result["ttlMs"], &result["cacheScope"], &result["resultType"]);
                let expected = (&json!(5000), &json!("private"), &json!("complete"));
                assert_eq!(hints == expected, client.is_sessionless(), "{version}: {result}");
            }
        }
    }
}

#[test]
fn skill_digest_matches_the_file_read() {
    let folder = desk();
    let server = folder.stdio();
    let client = server.sessionless();
    for skill in client.list("skills") {
        for file in skill["resources"].as_array().unwrap() {
            let contents = client.result("resources/read", json!({ "uri": file["uri"] }))["contents"][0].clone();
            let bytes = match contents["text"].as_str() {
                Some(text) => text.as_bytes().to_vec(),
                None => base64(contents["blob"].as_str().unwrap()),
            };
            assert_eq!((&file["digest"], &file["size"]), (&json!(digest(&bytes)), &json!(bytes.len())), "{file}");
        }
    }
}

fn base64(text: &str) -> Vec<u8> {
    use ::base64::Engine as _;
    ::base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

#[test]
fn skill_directory_lists_its_children_only() {
    let folder = desk();
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let expected = [
            (".hidden", "inode/directory"),
            ("git-flow", "text/markdown"),
            ("assets", "inode/directory"),
            ("empty", "inode/directory"),
            ("templates", "inode/directory"),
        ];
        assert_eq!(children(client, "skill://git-flow"), pairs(&expected));
        let expected = [("a b?.txt", "text/plain"), ("commit.md", "text/markdown")];
        assert_eq!(children(client, "skill://git-flow/templates"), pairs(&expected));
        assert_eq!(children(client, "skill://git-flow/empty"), pairs(&[]));
        assert_eq!(children(client, "skill://team"), pairs(&[("refunds", "inode/directory")]));
        for none in ["skill://git-flow/SKILL.md", "skill://git-flow/", "skill://broken", "skill://", "x:y"] {
            assert_eq!(client.error_code("resources/directory/read", json!({ "uri": none })), -32602, "{none}");
        }
    });
}

#[test]
fn skill_directory_is_paged() {
    let folder = desk();
    folder.write("folio.yaml", "folio: 1\nserver: { name: s, pageSize: 4 }\nskills: { dir: skills }\n");
    let server = folder.stdio();
    let client = server.sessionless();
    let first = client.result("resources/directory/read", json!({ "uri": "skill://git-flow" }));
    assert_eq!(first["resources"].as_array().unwrap().len(), 4);
    let rest = json!({ "uri": "skill://git-flow", "cursor": first["nextCursor"] });
    let rest = client.result("resources/directory/read", rest);
    assert_eq!(rest["resources"][0]["name"], "templates");
    assert!(rest.get("nextCursor").is_none());
}

#[test]
fn skills_are_listed_as_resources() {
    let folder = desk();
    on_every_version_and_wire(&folder, &json!({}), see_resources);
}

fn see_resources(client: &TestClient) {
    let listed = client.list("resources");
    let uris: Vec<&str> = listed.iter().map(|one| one["uri"].as_str().unwrap()).collect();
    let expected = [
        "skill://git-flow/.hidden/.rules",
        "skill://git-flow/SKILL.md",
        "skill://git-flow/assets/logo.png",
        "skill://git-flow/templates/a%20b%3F.txt",
        "skill://git-flow/templates/commit.md",
        "skill://team/refunds/SKILL.md",
    ];
    assert_eq!(uris, expected);
    let shown = ("git-flow", "How we use Git", "text/markdown");
    assert_eq!(listed[1]["name"], shown.0);
    assert_eq!(listed[1]["description"], shown.1);
    assert_eq!(listed[1]["mimeType"], shown.2);
    assert_eq!(client.read_text("skill://git-flow/.hidden/.rules"), HIDDEN);
    assert_eq!(client.read_text("skill://git-flow/SKILL.md"), MATTER);
    assert_eq!(client.read_text("SKILL://Git-Flow/./SKILL.md"), MATTER);
    assert_eq!(client.read_text("skill://git-flow/templates/a%20b%3F.txt"), "odd");
    for none in [
        "skill://broken/SKILL.md",
        "skill://README.md",
        "skill://git-flow/.hidden",
        "skill://git-flow",
        "skill://git-flow/a/./SKILL.md",
    ] {
        let code = if client.is_sessionless() { -32602 } else { -32002 };
        assert_eq!(client.error_code("resources/read", json!({ "uri": none })), code, "{none}");
    }
}

#[test]
fn only_a_server_with_skills_declares_them() {
    let with = desk();
    let without = TestFolder::with_manifest(
        "folio: 1\nserver: { name: s }\ntools: { t: { description: T, result: { text: x } } }\n",
    );
    let id = "io.modelcontextprotocol/skills";
    for (folder, declared) in [(&with, json!({ "directoryRead": true })), (&without, Value::Null)] {
        let server = folder.stdio();
        let modern = server.sessionless();
        let said = modern.result("server/discover", Value::Null);
        assert_eq!(said["capabilities"]["extensions"][id], declared);
        assert_eq!(server.session("2025-11-25").initialize_result["capabilities"]["extensions"][id], declared);
    }
    let server = without.stdio();
    for method in ["skills/list", "skills/get", "resources/directory/read"] {
        assert_eq!(server.sessionless().error_code(method, json!({ "uri": "skill://a/SKILL.md" })), -32601, "{method}");
        assert_eq!(server.sessionless().error_code(method, json!({ "uri": 1, "cursor": 1 })), -32601, "{method}");
    }
    let server = with.stdio();
    for wrong in [json!({}), json!({ "uri": 1 }), json!({ "uri": "skill://x/SKILL.md" }), json!({ "uri": "a:b" })] {
        assert_eq!(server.sessionless().error_code("skills/get", wrong.clone()), -32602, "{wrong}");
    }
}

#[test]
fn skill_edits_take_effect_on_reload() {
    let folder = desk();
    let server = folder.stdio();
    let client = server.session("2025-06-18");
    let skill = |name: &str| client.result("skills/get", json!({ "uri": format!("skill://{name}/SKILL.md") }));
    client.result("resources/subscribe", json!({ "uri": "skill://git-flow/templates/commit.md" }));
    // Of the same length, so that nothing but the bytes tells.
    folder.write("skills/git-flow/templates/commit.md", "# COMMIT\n");
    let updated = client.wait_for("notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "skill://git-flow/templates/commit.md");
    assert_eq!(skill("git-flow")["skill"]["resources"][4]["digest"], digest(b"# COMMIT\n"));
    folder.write("skills/git-flow/new/deep.md", "x");
    client.wait_for("notifications/resources/list_changed");
    assert_eq!(skill("git-flow")["skill"]["resources"][3], file("skill://git-flow/new/deep.md", b"x"));
    folder.write("skills/broken/SKILL.md", "---\nname: broken\ndescription: Mended\n---\n");
    client.wait_for("notifications/resources/list_changed");
    assert_eq!(skill("broken")["skill"]["frontmatter"]["description"], "Mended");
    std::fs::remove_dir_all(folder.join("skills/git-flow")).unwrap();
    client.wait_for("notifications/resources/list_changed");
    assert_eq!(client.error_code("skills/get", json!({ "uri": "skill://git-flow/SKILL.md" })), -32602);
}

#[test]
fn nested_skill_is_part_of_both() {
    let folder = desk();
    folder.write("skills/git-flow/more/rebase/SKILL.md", "---\nname: rebase\ndescription: Rebase\n---\n");
    let server = folder.stdio();
    let skills = server.sessionless().list("skills");
    let uris = |skill: &Value| -> Vec<String> {
        skill["resources"].as_array().unwrap().iter().map(|file| file["uri"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(skills.len(), 3);
    assert!(uris(&skills[0]).contains(&"skill://git-flow/more/rebase/SKILL.md".to_owned()));
    assert_eq!(uris(&skills[1]), ["skill://git-flow/more/rebase/SKILL.md"]);
}

#[test]
fn skill_cannot_escape_its_folder() {
    let folder = desk();
    folder.write("secret.txt", "secret");
    std::os::unix::fs::symlink(folder.join("secret.txt"), folder.join("skills/git-flow/out.txt")).unwrap();
    std::os::unix::fs::symlink("/etc", folder.join("skills/git-flow/etc")).unwrap();
    let server = folder.stdio();
    let client = server.sessionless();
    assert_eq!(client.list("skills")[0], git_flow());
    for uri in ["skill://git-flow/out.txt", "skill://git-flow/etc/passwd", "skill://git-flow/../../secret.txt"] {
        assert_eq!(client.error_code("resources/read", json!({ "uri": uri })), -32602, "{uri}");
    }
}

#[test]
fn skill_in_hidden_folder_is_served() {
    let skill = |name: &str| format!("---\nname: {name}\ndescription: D\n---\nOf {name}\n");
    let folder = TestFolder::new(&[
        ("folio.yaml", "folio: 1\nserver: { name: s }\nskills: { dir: .agents/skills }\n"),
        (".agents/skills/.curated/review/SKILL.md", &skill("review")),
        (".agents/skills/.curated/review/.github/checks.yml", "on: push\n"),
        (".agents/skills/.curated/.git/hooks/SKILL.md", &skill("hooks")),
        (".agents/skills/.curated/node_modules/left-pad/SKILL.md", &skill("left-pad")),
        (".agents/skills/.curated/review/.git", "gitdir: ../elsewhere\n"),
        (".agents/skills/.curated/review/node_modules/a/index.js", "1"),
        (".agents/skills/.curated/review/.env", "TOKEN=1\n"),
        (".agents/skills/.curated/review/.SKILL.md.swp", "b0VIM"),
    ]);
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let uris = ["skill://.curated/review/.github/checks.yml", "skill://.curated/review/SKILL.md"];
        let expected = json!([file(uris[0], b"on: push\n"), file(uris[1], skill("review").as_bytes())]);
        let skills = client.list("skills");
        assert_eq!((skills.len(), &skills[0]["resources"]), (1, &expected), "{skills:?}");
        let got = client.result("skills/get", json!({ "uri": uris[1] }));
        assert_eq!(got["skill"], skills[0]);
        assert_eq!(client.read_text(uris[1]), skill("review"));
        assert_eq!(client.read_text(uris[0]), "on: push\n");
        let expected = [(".github", "inode/directory"), ("review", "text/markdown")];
        assert_eq!(children(client, "skill://.curated/review"), pairs(&expected));
        let listed: Vec<Value> = client.list("resources").iter().map(|one| one["uri"].clone()).collect();
        assert_eq!(listed, uris);
    });
    let server = folder.stdio();
    let client = server.session("2025-11-25");
    folder.write(".agents/skills/.new/plan/SKILL.md", skill("plan"));
    client.wait_for("notifications/resources/list_changed");
    assert_eq!(client.read_text("skill://.new/plan/SKILL.md"), skill("plan"));
}

/// Whoever acts on a skill holds its files against its manifest, and reads no other: nothing may be missing from it.
#[test]
fn skill_lists_every_readable_file_once() {
    let folder = desk();
    for path in ["a/.b/c d.md", ".x", "..dots", "%41.txt", "é/ü.txt", "a/SKILL.md.bak", "deep/er/.and/deeper"] {
        folder.write(&format!("skills/git-flow/{path}"), format!("\u{feff}of {path}\r\n"));
    }
    on_every_version_and_wire(&folder, &json!({}), |client| {
        let skills = client.list("skills");
        let manifest = skills[0]["resources"].as_array().unwrap();
        let mut named: Vec<&str> = manifest.iter().map(|file| file["uri"].as_str().unwrap()).collect();
        let listed = client.list("resources");
        let readable = listed.iter().map(|one| one["uri"].as_str().unwrap());
        assert_eq!(named, readable.filter(|uri| uri.starts_with("skill://git-flow/")).collect::<Vec<_>>());
        named.dedup();
        assert_eq!(named.len(), files_beneath(&folder.join("skills/git-flow")), "{named:?}");
        for file in manifest {
            let contents = client.result("resources/read", json!({ "uri": file["uri"] }))["contents"][0].clone();
            let bytes = match contents["text"].as_str() {
                Some(text) => text.as_bytes().to_vec(),
                None => base64(contents["blob"].as_str().unwrap()),
            };
            assert_eq!((&file["digest"], &file["size"]), (&json!(digest(&bytes)), &json!(bytes.len())), "{file}");
        }
    });
}

fn files_beneath(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { files_beneath(&path) } else { 1 }).sum()
}

#[test]
fn symlink_in_skill_is_skipped_and_reported() {
    let folder = desk();
    let link = |to: &str, from: &str| std::os::unix::fs::symlink(folder.join(to), folder.join(from)).unwrap();
    link("skills/git-flow", "skills/same");
    link("skills/README.md", "skills/git-flow/inside.md");
    link("nowhere", "skills/git-flow/templates/dead");
    let server = folder.stdio();
    assert_eq!(server.sessionless().list("skills")[0], git_flow());
    assert_eq!(server.sessionless().list("skills").len(), 2);
    let checked = run_folio(folder.path(), &["check", "--format", "lines"]);
    for path in ["same", "git-flow/inside.md", "git-flow/templates/dead"] {
        let words = format!("file `{path}` skipped: symbolic link or unreadable");
        assert!(checked.out.contains(&words), "{checked:?}");
    }
}

#[test]
fn pack_skills_are_served_and_scoped_to_pack() {
    let skill = |name: &str| format!("---\nname: {name}\ndescription: D\n---\nOf {name}");
    let embeds = |uri: &str| format!("prompts:\n  p: {{ messages: [ {{ user: {{ resource: \"{uri}\" }} }} ] }}\n");
    let begin = "folio: 1\nserver: { name: s }\nskills: { dir: skills }\n";
    let any = "  any: { arguments: { uri: { required: true } }, messages: [ { user: { resource: \"{{uri}}\" } } ] }\n";
    let folder = TestFolder::new(&[
        ("folio.yaml", &format!("{begin}packs: {{ in: {{ path: in }} }}\n{}", embeds("skill://inner/SKILL.md"))),
        ("skills/outer/SKILL.md", &skill("outer")),
        ("in/folio.yaml", &format!("{begin}{}{any}", embeds("skill://inner/SKILL.md"))),
        ("in/skills/inner/SKILL.md", &skill("inner")),
    ]);
    let server = folder.stdio();
    let client = server.sessionless();
    let uris: Vec<Value> = client.list("skills").iter().map(|skill| skill["uri"].clone()).collect();
    assert_eq!(uris, ["skill://outer/SKILL.md", "skill://inner/SKILL.md"]);
    for prompt in ["p", "in-p"] {
        let said = client.result("prompts/get", json!({ "name": prompt }));
        assert_eq!(said["messages"][0]["content"]["resource"]["text"], skill("inner"));
    }
    let any = |uri: &str| client.request("prompts/get", json!({ "name": "in-any", "arguments": { "uri": uri } }));
    assert!(any("skill://inner/SKILL.md").get("result").is_some());
    assert_eq!(any("skill://outer/SKILL.md")["error"]["code"], -32602, "a pack embeds what is another's");
    drop((client, server));
    folder.write("in/folio.yaml", format!("{begin}{}", embeds("skill://outer/SKILL.md")));
    let checked = run_folio(folder.path(), &["check", "--format", "lines"]);
    assert!(checked.out.contains("in/folio.yaml") && checked.out.contains("unknown-reference"), "{checked:?}");
}

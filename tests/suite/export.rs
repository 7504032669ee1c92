//! `folio export`: bundles that hosts install, descriptions for registries, and contexts of container images.

use std::fs;
use std::io::{Cursor, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use zip::ZipArchive;

use crate::harness::{CommandOutput, FOLIO_BIN, TestFolder};
use crate::pack_sources::{Desk, PACK, output};

const MANIFEST: &str = "\
folio: 1
server:
  name: io.github.ada/desk
  title: My desk
  version: \"1.4.0\"
  description: \"Greets {{env.GREETING}}\"
  websiteUrl: https://desk.example
env:
  GREETING: { description: What to say, default: hello }
  API_TOKEN: { secret: true, required: true }
include: prompts/*.md
tools:
  look: { description: Looks, run: { exec: [printf, seen] } }
";

const PROMPT: &str = "---\ndescription: Greets\narguments: { who: { required: true } }\n---\nHello {{who}}.";

/// A file that looks like a program.
const PROGRAM: &[u8] = b"\x7fELF, or so";

fn desk() -> Desk {
    let desk = Desk::with_manifest(MANIFEST);
    desk.folder.write("prompts/greet.md", PROMPT);
    desk.folder.write("out/program", PROGRAM);
    desk
}

fn bundle(path: &Path) -> ZipArchive<Cursor<Vec<u8>>> {
    ZipArchive::new(Cursor::new(fs::read(path).unwrap())).unwrap()
}

fn names(archive: &ZipArchive<Cursor<Vec<u8>>>) -> Vec<String> {
    archive.file_names().map(|name| name.unwrap().into_owned()).collect()
}

fn read(archive: &mut ZipArchive<Cursor<Vec<u8>>>, name: &str) -> String {
    let mut text = String::new();
    archive.by_name(name).unwrap().read_to_string(&mut text).unwrap();
    text
}

const MCPB: [&str; 6] = ["export", "mcpb", "-o", "out/desk.mcpb", "--program", "out/program"];

#[test]
fn bundle_describes_the_server() {
    let desk = desk();
    // The environment of whoever exports is not in it.
    let ran = output(desk.command(&MCPB).env("GREETING", "someone-here").env("API_TOKEN", "a-secret-value"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.starts_with("wrote out/desk.mcpb: desk 1.4.0 for linux, "), "{ran:?}");
    assert!(ran.err.contains(" files and the program, ") && ran.err.starts_with("packing "), "{ran:?}");
    let mut archive = bundle(&desk.folder.join("out/desk.mcpb"));
    let manifest: Value = serde_json::from_str(&read(&mut archive, "manifest.json")).unwrap();
    assert_eq!(
        manifest,
        json!({
            "manifest_version": "0.3",
            "name": "desk",
            "display_name": "My desk",
            "version": "1.4.0",
            "description": "Greets hello",
            "author": { "name": "ada" },
            "homepage": "https://desk.example",
            "server": {
                "type": "binary",
                "entry_point": "server/folio",
                "mcp_config": {
                    "command": "${__dirname}/server/folio",
                    "args": ["serve", "${__dirname}/server/manifest", "--no-watch"],
                    "env": { "GREETING": "${user_config.GREETING}", "API_TOKEN": "${user_config.API_TOKEN}" },
                },
            },
            "tools": [{ "name": "look", "description": "Looks" }],
            "prompts": [{ "name": "greet", "description": "Greets", "arguments": ["who"], "text": "" }],
            "user_config": {
                "GREETING": {
                    "type": "string", "title": "GREETING", "description": "What to say", "required": false,
                    "sensitive": false, "default": "hello",
                },
                "API_TOKEN": {
                    "type": "string", "title": "API_TOKEN", "description": "The environment variable API_TOKEN",
                    "required": true, "sensitive": true,
                },
            },
            "compatibility": { "platforms": ["linux"] },
        })
    );
    assert_eq!(read(&mut archive, "server/manifest/folio.yaml"), MANIFEST);
    assert_eq!(read(&mut archive, "server/manifest/prompts/greet.md"), PROMPT);
}

#[test]
fn bundle_of_the_same_files_has_the_same_bytes() {
    let bytes = |desk: &Desk| {
        desk.ok(&MCPB);
        fs::read(desk.folder.join("out/desk.mcpb")).unwrap()
    };
    let one = desk();
    one.folder.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(one.folder.join("run.sh"), PermissionsExt::from_mode(0o775)).unwrap();
    let other = desk();
    other.folder.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(other.folder.join("run.sh"), PermissionsExt::from_mode(0o700)).unwrap();
    fs::set_permissions(other.folder.join("prompts/greet.md"), PermissionsExt::from_mode(0o600)).unwrap();
    let written = fs::File::options().write(true).open(other.folder.join("folio.yaml")).unwrap();
    written.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert!(bytes(&one) == bytes(&other));
    let mut archive = bundle(&one.folder.join("out/desk.mcpb"));
    let sorted = names(&archive);
    assert!(sorted.is_sorted(), "{sorted:?}");
    let mut mode = |name: &str| archive.by_name(name).unwrap().unix_mode().unwrap() & 0o777;
    let modes = ["server/folio", "server/manifest/run.sh", "server/manifest/folio.yaml"].map(&mut mode);
    assert_eq!(modes, [0o755, 0o755, 0o644]);
}

#[test]
fn secrets_and_what_is_nobody_elses_are_left_out() {
    let desk = desk();
    for path in [
        ".env", "prompts/.env.local", "prod.env", ".git/config", "prompts/.git/x", "target/debug/x", "id_ed25519",
        "deploy.key", "node_modules/x/y.js", ".npmrc", ".DS_Store",
    ] {
        desk.folder.write(path, "hidden");
    }
    desk.folder.write("certificates.pem", "-----BEGIN EC PRIVATE KEY-----\nx\n");
    desk.folder.write("notes/a.txt", "x");
    desk.folder.write("notes/b.txt", "x");
    desk.folder.write("deep/drafts/a.txt", "x");
    desk.folder.write(".mcpbignore", "# ours\nnotes/a.txt\ndrafts/\n\nout\n");
    std::os::unix::fs::symlink("/etc/passwd", desk.folder.join("link")).unwrap();
    let said = desk.ok(&MCPB);
    assert!(said.contains("\nleft out: `link`, `certificates.pem`, `deep/drafts`, "), "{said}");
    assert!(said.contains(" more\n") && !said.contains("out/desk.mcpb`"), "{said}");
    assert_eq!(exported_paths(&desk), ["folio.yaml", "notes/b.txt", "prompts/greet.md"]);
    // A secret of this machine that stands in a file.
    desk.folder.write("notes/b.txt", "the token is a-secret-value, is it not");
    let ran = output(desk.command(&[&MCPB[..], &["--force"]].concat()).env("API_TOKEN", "a-secret-value"));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("`notes/b.txt` contains the value of a secret variable"), "{ran:?}");
    assert!(!(ran.out + &ran.err).contains("a-secret-value"));
    desk.folder.write(".mcpbignore", "!x\n");
    assert!(desk.fail(&[&MCPB[..], &["--force"]].concat()).contains("`!` is not supported"));
}

fn exported_paths(desk: &Desk) -> Vec<String> {
    let mut found = names(&bundle(&desk.folder.join("out/desk.mcpb")));
    found.retain(|name| name.starts_with("server/manifest/"));
    found.iter().map(|name| name.trim_start_matches("server/manifest/").to_owned()).collect()
}

#[test]
fn files_that_often_have_secrets_are_left_out() {
    let desk = desk();
    for path in [
        ".git-credentials", ".gitmodules", ".aws/credentials", ".docker/config.json", ".config/gh/hosts.yml", ".envrc",
        ".mcp.json", ".a.swp", "x.swp", "backup.env~", "_netrc", "terraform.tfstate", "terraform.tfstate.backup",
        "secrets.yaml", "prompts/Secrets.YML", "id_ed25519_sk", "ID_RSA", "a.jks", "a.keystore", "putty.ppk", "a.KEY",
        "prod.ENV",
    ] {
        desk.folder.write(path, "hidden");
    }
    desk.folder.write("pgp.asc", "-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n");
    desk.folder.write("putty.txt", "PuTTY-User-Key-File-3: ssh-ed25519\n");
    desk.folder.write("age.txt", "AGE-SECRET-KEY-1QQQQ\n");
    desk.folder.write("id_card.md", "kept");
    desk.folder.write(".mcpbignore", "out\n");
    desk.ok(&MCPB);
    assert_eq!(exported_paths(&desk), ["folio.yaml", "id_card.md", "prompts/greet.md"]);
}

#[test]
fn hidden_files_that_the_server_reads_are_exported() {
    let skill = "---\nname: pdf\ndescription: Reads PDF\n---\nRead it.";
    let desk = Desk::with_manifest(&format!(
        "{MANIFEST}skills: {{ dir: skills/.curated }}\nprompts: {{ p: {{ text: {{ file: .notes/p.md }} }} }}\n"
    ));
    desk.folder.write("prompts/greet.md", PROMPT);
    desk.folder.write("out/program", PROGRAM);
    desk.folder.write("skills/.curated/pdf/SKILL.md", skill);
    desk.folder.write("skills/.curated/pdf/scripts/run.py", "pass");
    desk.folder.write(".notes/p.md", "Hello");
    desk.folder.write(".notes/other.md", "x");
    desk.folder.write(".mcpbignore", "out\n");
    let said = desk.ok(&MCPB);
    assert!(said.contains("\nleft out: `out`, `.notes/other.md`\n"), "{said}");
    assert_eq!(
        exported_paths(&desk),
        [
            ".notes/p.md",
            "folio.yaml",
            "prompts/greet.md",
            "skills/.curated/pdf/SKILL.md",
            "skills/.curated/pdf/scripts/run.py",
        ]
    );
}

#[test]
fn earlier_exports_are_left_out() {
    let desk = desk();
    desk.folder.write(".mcpbignore", "out\n");
    let export = |to: &[&str]| {
        desk.ok(&[&["export"], to, &["--program", "out/program"]].concat());
    };
    export(&["mcpb", "-o", "one.mcpb"]);
    export(&["mcpb", "-o", "release.zip"]);
    fs::copy(desk.folder.join("one.mcpb"), desk.folder.join("copy.bin")).unwrap();
    export(&["docker", "--insecure", "-o", "image"]);
    export(&["docker", "--insecure", "-o", "deploy/image"]);
    desk.ok(&["export", "server.json", "-o", "server.json"]);
    desk.folder.write("app/Dockerfile", "FROM scratch\n");
    desk.folder.write("mixed/Dockerfile", "# Written by `folio export docker`.\n");
    desk.folder.write("mixed/compose.yaml", "mine");
    desk.folder.write("other.zip", "PK\u{3}\u{4} mine");
    desk.folder.write("other.json", "{}");
    let said = desk.ok(&MCPB);
    let kept = [
        "app/Dockerfile", "folio.yaml", "mixed/Dockerfile", "mixed/compose.yaml", "other.json", "other.zip",
        "prompts/greet.md",
    ];
    assert_eq!(exported_paths(&desk), kept);
    for name in ["`deploy/image`", "`image`", "`copy.bin`"] {
        assert!(said.contains(name), "{name}: {said}");
    }
    // The same bytes, whatever was exported before.
    let first = fs::read(desk.folder.join("out/desk.mcpb")).unwrap();
    desk.ok(&[&MCPB[..], &["--force"]].concat());
    assert!(fs::read(desk.folder.join("out/desk.mcpb")).unwrap() == first);
    export(&["docker", "--insecure", "-o", "last"]);
    let mut found = Command::new("sh");
    found.args(["-c", "find . -type f | LC_ALL=C sort"]);
    let found = found.current_dir(desk.folder.join("last/manifest")).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    assert_eq!(found.lines().map(|line| &line[2..]).collect::<Vec<_>>(), kept);
    // What the server reads is its own.
    desk.folder.write("folio.yaml", format!("{MANIFEST}resources: {{ s: {{ uri: \"x://s\", file: server.json }} }}\n"));
    desk.ok(&[&MCPB[..], &["--force"]].concat());
    assert!(exported_paths(&desk).contains(&"server.json".to_owned()));
}

#[test]
fn manifest_is_found_by_any_path() {
    let desk = desk();
    std::os::unix::fs::symlink(desk.folder.path(), desk.folder.join("out/link")).unwrap();
    for path in ["prompts/..", "out/link", "prompts/../folio.yaml", "out/link/folio.yaml"] {
        desk.ok(&[&MCPB[..], &["--force", "-f", path]].concat());
        assert!(exported_paths(&desk).contains(&"folio.yaml".to_owned()), "{path}");
    }
}

#[test]
fn server_that_needs_other_files_is_not_exported() {
    for (manifest, files, why) in [
        (
            "include: .env.d/*.md\nprompts: { p: { description: D, text: { file: secret.key } } }\n",
            vec!["secret.key"],
            "secret.key`, which is not exported",
        ),
        (
            "prompts: { p: { description: D, text: { file: target/p.md } } }\n",
            vec!["target/p.md"],
            "target/p.md`, which is not exported",
        ),
        ("env: { T: { file: /etc/passwd } }\n", vec![], "`T` is read from `/etc/passwd`"),
        (
            "prompts: { p: { description: D, text: { file: ../x.md } } }\n",
            vec![],
            "nothing is exported: the manifest has errors",
        ),
        ("prompts: { p: { text: [ } }\n", vec![], "nothing is exported: the manifest has errors"),
        ("packs: { p: { git: \"https://x/y\" } }\n", vec![], "is not in folio.lock"),
    ] {
        let desk = Desk::with_manifest(&format!("folio: 1\nserver: {{ name: desk, version: \"1\" }}\n{manifest}"));
        desk.folder.write("out/program", PROGRAM);
        files.iter().for_each(|path| desk.folder.write(path, "x"));
        let ran = desk.run(&MCPB);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!((ran.out + &ran.err).contains(why), "expected {why}: {}", desk.run(&MCPB).err);
        assert!(!desk.folder.join("out/desk.mcpb").exists());
    }
}

#[test]
fn export_overwrites_only_with_force() {
    let desk = desk();
    desk.folder.write("out/desk.mcpb", "mine");
    assert!(desk.fail(&MCPB).contains("is there already\nhelp: overwrite it with `--force`"));
    assert_eq!(fs::read_to_string(desk.folder.join("out/desk.mcpb")).unwrap(), "mine");
    desk.ok(&[&MCPB[..], &["--force"]].concat());
    let elsewhere = desk.fail(&["export", "mcpb", "-o", "gone/x.mcpb", "--program", "out/program"]);
    assert!(elsewhere.contains("cannot write `gone/x.mcpb`"), "{elsewhere}");
    let script = desk.fail(&["export", "mcpb", "-o", "x.mcpb", "--program", "folio.yaml"]);
    assert!(script.contains("it is not a program for Linux or macOS"), "{script}");
    desk.folder.write("folio.yaml", MANIFEST.replace("  version: \"1.4.0\"\n", ""));
    assert!(desk.fail(&["export", "mcpb", "-o", "x.mcpb"]).contains("the manifest has no version"));
}

/// Writes the files of a bundle to a folder, as a host does.
fn unpack(archive: &mut ZipArchive<Cursor<Vec<u8>>>, folder: &TestFolder) {
    for nth in 0..archive.len() {
        let mut file = archive.by_index(nth).unwrap();
        let path = folder.join(&file.name().unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(file.unix_mode().unwrap())).unwrap();
    }
}

/// Asks a server for its prompts.
fn list_prompts(command: &mut Command) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/list", "params": { "_meta": meta } });
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{request}").unwrap();
    let written = child.wait_with_output().unwrap();
    let line = String::from_utf8(written.stdout).unwrap();
    serde_json::from_str(line.lines().next().unwrap_or_default()).unwrap_or_else(|_| panic!("{line}"))
}

#[test]
fn bundle_serves_with_its_packs_on_another_machine() {
    let upstream = TestFolder::new(&[("folio.yaml", PACK)]);
    let tar = Command::new("tar").args(["-c", "folio.yaml"]).current_dir(upstream.path()).output().unwrap();
    let desk = desk();
    desk.folder.write("docs.tar", tar.stdout);
    desk.ok(&["add", "docs.tar", "--as", "docs"]);
    desk.ok(&MCPB);
    let mut archive = bundle(&desk.folder.join("out/desk.mcpb"));
    let manifest: Value = serde_json::from_str(&read(&mut archive, "manifest.json")).unwrap();
    let elsewhere = TestFolder::new(&[]);
    unpack(&mut archive, &elsewhere);
    drop(desk);
    assert!(fs::metadata(elsewhere.join("server/folio")).unwrap().permissions().mode() & 0o111 != 0);
    // The program of tests takes minutes to compress; tests/interop has bundles with it.
    fs::remove_file(elsewhere.join("server/folio")).unwrap();
    std::os::unix::fs::symlink(FOLIO_BIN, elsewhere.join("server/folio")).unwrap();
    let config = &manifest["server"]["mcp_config"];
    let here = elsewhere.path().canonicalize().unwrap();
    let expand = |value: &Value| {
        let text = value.as_str().unwrap().replace("${__dirname}", here.to_str().unwrap());
        text.replace("${user_config.API_TOKEN}", "a-secret-value")
    };
    let mut command = Command::new(expand(&config["command"]));
    command.args(config["args"].as_array().unwrap().iter().map(expand)).current_dir("/").env_clear();
    command.envs(config["env"].as_object().unwrap().iter().map(|(name, value)| (name, expand(value))));
    let listed = list_prompts(&mut command);
    let names: Vec<&str> =
        listed["result"]["prompts"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["greet", "docs-hi"]);
    assert_eq!(config["env"]["FOLIO_CACHE"], "${__dirname}/server/cache");
}

fn schema() -> jsonschema::Validator {
    let text = include_str!("../fixtures/server-2025-12-11.schema.json");
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

#[track_caller]
fn assert_valid(ran: &CommandOutput) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let written: Value = serde_json::from_str(&ran.out).unwrap();
    let errors: Vec<String> = schema().iter_errors(&written).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new(), "{written:#}");
    written
}

#[test]
fn server_json_follows_the_schema_of_registries() {
    let desk = desk();
    let plain = assert_valid(&desk.run(&["export", "server.json", "--name", "io.github.ada/desk"]));
    assert_eq!(
        plain,
        json!({
            "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name": "io.github.ada/desk",
            "title": "My desk",
            "description": "Greets hello",
            "version": "1.4.0",
            "websiteUrl": "https://desk.example",
        })
    );
    desk.ok(&MCPB);
    let url = "https://example.com/desk.mcpb";
    let whole = assert_valid(&desk.run(&[
        "export", "server.json", "--name", "io.github.ada/desk", "--mcpb", "out/desk.mcpb", "--url", url, "--image",
        "ghcr.io/ada/desk:1.4.0", "--remote", "https://desk.example/mcp",
    ]));
    let sum = Command::new("sha256sum").arg(desk.folder.join("out/desk.mcpb")).output().unwrap();
    let variables = json!([
        { "name": "GREETING", "description": "What to say", "isRequired": false, "isSecret": false, "default": "hello" },
        { "name": "API_TOKEN", "isRequired": true, "isSecret": true },
    ]);
    assert_eq!(
        whole["packages"],
        json!([
            {
                "registryType": "mcpb", "identifier": url, "version": "1.4.0",
                "fileSha256": &String::from_utf8_lossy(&sum.stdout)[..64], "transport": { "type": "stdio" },
                "environmentVariables": variables,
            },
            {
                "registryType": "oci", "identifier": "ghcr.io/ada/desk:1.4.0",
                "transport": { "type": "streamable-http", "url": "http://localhost:8080/mcp" },
                "environmentVariables": variables,
            },
        ])
    );
    assert_eq!(whole["remotes"], json!([{ "type": "streamable-http", "url": "https://desk.example/mcp" }]));
    desk.folder.write("folio.yaml", MANIFEST.replace("Greets {{env.GREETING}}", &"long ".repeat(40)));
    let long = assert_valid(&desk.run(&["export", "server.json", "--name", "io.github.ada/desk"]));
    assert!(long["description"].as_str().unwrap().ends_with('…'));
    desk.ok(&["export", "server.json", "--name", "io.github.ada/desk", "-o", "server.json"]);
    assert!(desk.fail(&["export", "server.json", "--name", "a/b", "-o", "server.json"]).contains("is there already"));
}

#[test]
fn server_json_that_registries_reject_is_refused() {
    let desk = desk();
    // Without `--name` it is that of the server.
    let own = desk.run(&["export", "server.json"]);
    assert_eq!(assert_valid(&own)["name"], "io.github.ada/desk");
    assert!(own.err.starts_with("note: it names no way to get the server"), "{own:?}");
    assert_eq!(desk.run(&["export", "server.json", "--remote", "https://desk.example/mcp"]).err, "");
    desk.folder.write("folio.yaml", MANIFEST.replace("io.github.ada/", ""));
    assert!(desk.fail(&["export", "server.json"]).contains("`server.name`, or with `--name`"));
    let export = |name: &str| desk.fail(&["export", "server.json", "--name", name]);
    assert!(export("desk").contains("invalid name `desk`"));
    assert!(export("a/b/c").contains("invalid name"));
    desk.folder.write("folio.yaml", MANIFEST.replace("1.4.0", "^1.4"));
    assert!(export("a/b").contains("invalid version `^1.4`"));
    desk.folder.write("folio.yaml", MANIFEST);
    let plain = desk.fail(&["export", "server.json", "--name", "a/b", "--remote", "http://desk.example/mcp"]);
    assert!(plain.contains("expected `https://…`"), "{plain}");
}

#[test]
fn container_serves_over_http_and_not_as_root() {
    let desk = desk();
    let docker = ["export", "docker", "-o", "image", "--program", "out/program"];
    let refused = desk.fail(&docker);
    assert!(refused.contains("everyone who reaches the container"), "{refused}");
    let auth = "http: { publicUrl: \"https://desk.example/mcp\", auth: { issuer: \"https://id.example\" } }";
    desk.folder.write("folio.yaml", format!("{MANIFEST}{auth}\n"));
    desk.run(&["export", "docker", "-o", "with-auth", "--program", "out/program"]);
    assert!(!fs::read_to_string(desk.folder.join("with-auth/Dockerfile")).unwrap().contains("--insecure"));
    desk.folder.write("folio.yaml", format!("{MANIFEST}http: {{ token: \"{{{{env.API_TOKEN}}}}\" }}\n"));
    desk.folder.write(".env", "API_TOKEN=a-secret-value");
    let ran = output(desk.command(&docker).env("API_TOKEN", "a-secret-value"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let dockerfile = fs::read_to_string(desk.folder.join("image/Dockerfile")).unwrap();
    for line in [
        "USER 65532:65532",
        "EXPOSE 8080",
        "#   docker run --rm -p 8080:8080 -e API_TOKEN desk",
        "# Under another name than localhost it answers once `http.publicUrl` or `http.allowedHosts` names it.",
        "LABEL io.modelcontextprotocol.server.name=\"io.github.ada/desk\"",
        "HEALTHCHECK --interval=30s --timeout=6s CMD [\"/usr/local/bin/folio\", \"health\", \"8080\"]",
        "ENTRYPOINT [\"/usr/local/bin/folio\", \"serve\", \"/srv/manifest\", \"--http\", \"0.0.0.0:8080\", \"--no-watch\"]",
    ] {
        assert!(dockerfile.lines().any(|found| found == line), "no {line}: {dockerfile}");
    }
    let found =
        Command::new("grep").args(["-r", "a-secret-value", "."]).current_dir(desk.folder.join("image")).output();
    assert_eq!(String::from_utf8_lossy(&found.unwrap().stdout), "");
    assert_eq!(fs::read(desk.folder.join("image/folio")).unwrap(), PROGRAM);
    let got =
        output(desk.command(&["get", "greet", "who=Ada", "-f", "image/manifest"]).env("API_TOKEN", "a-secret-value"));
    assert_eq!(got.out.trim(), "Hello Ada.", "{got:?}");
    // What is written is not exported the next time, and nothing else is replaced.
    assert!(desk.fail(&docker).contains("`image` is not empty"));
    desk.folder.write("image/manifest/old", "x");
    desk.ok(&[&docker[..], &["--force"]].concat());
    assert!(!desk.folder.join("image/manifest/old").exists() && !desk.folder.join("image/manifest/image").exists());
    let own = desk.fail(&["export", "docker", "-o", "prompts", "--force", "--program", "out/program"]);
    assert!(own.contains("has files that no export has written"), "{own}");
    assert!(desk.folder.join("prompts/greet.md").exists());
    desk.folder.write("image/compose.yaml", "mine");
    let beside = desk.fail(&[&docker[..], &["--force"]].concat());
    assert!(beside.contains("`image` has files that no export has written: `compose.yaml`"), "{beside}");
    assert_eq!(fs::read_to_string(desk.folder.join("image/compose.yaml")).unwrap(), "mine");
}

#[test]
fn container_is_written_where_a_link_leads() {
    let desk = desk();
    fs::create_dir(desk.folder.join("real")).unwrap();
    std::os::unix::fs::symlink("real", desk.folder.join("link")).unwrap();
    std::os::unix::fs::symlink("gone", desk.folder.join("dangling")).unwrap();
    let docker = ["export", "docker", "--insecure", "--program", "out/program", "-o"];
    desk.ok(&[&docker[..], &["link"]].concat());
    assert!(desk.folder.join("link").is_symlink() && desk.folder.join("real/Dockerfile").exists());
    assert!(!desk.folder.join("real/manifest/real").exists());
    assert!(desk.fail(&[&docker[..], &["dangling"]].concat()).contains("`dangling` is a link that leads nowhere"));
}

#[test]
fn names_with_a_secret_and_keys_in_utf_16_are_refused() {
    let desk = desk();
    let utf16 = |text: &str, order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
    let key = "-----BEGIN EC PRIVATE KEY-----\r\nx\r\n";
    desk.folder.write("le.txt", utf16(key, u16::to_le_bytes));
    desk.folder.write("bom.txt", utf16(&format!("\u{feff}{key}"), u16::to_le_bytes));
    desk.folder.write("be.txt", utf16(&format!("\u{feff}{key}"), u16::to_be_bytes));
    desk.folder.write("plain.txt", utf16("\u{feff}no key", u16::to_le_bytes));
    desk.folder.write(".mcpbignore", "out\n");
    let said = desk.ok(&MCPB);
    assert!(said.contains("left out: `be.txt`, `bom.txt`, `le.txt`"), "{said}");
    assert_eq!(exported_paths(&desk), ["folio.yaml", "plain.txt", "prompts/greet.md"]);
    let export = || {
        let ran = output(desk.command(&[&MCPB[..], &["--force"]].concat()).env("API_TOKEN", "a-secret-value"));
        assert_eq!(ran.code, Some(1), "{ran:?}");
        ran.out + &ran.err
    };
    desk.folder.write("plain.txt", utf16("\u{feff}a-secret-value", u16::to_le_bytes));
    assert!(export().contains("`plain.txt` contains the value of a secret variable"));
    for path in ["notes/a-secret-value.md", "a-secret-value/notes.md"] {
        desk.folder.write("plain.txt", "plain");
        desk.folder.write(path, "x");
        let said = export();
        assert!(
            said.contains("is named with the value of a secret variable") && !said.contains("a-secret-value"),
            "{said}"
        );
        desk.folder.remove(path);
    }
}

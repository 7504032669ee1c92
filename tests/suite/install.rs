//! `folio install` and `folio uninstall`: the files of clients, before and after.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;
use tempfile::TempDir;

use crate::harness::{CommandOutput, FOLIO_BIN};

const MANIFEST: &str = "\
folio: 1
server: { name: my.desk, description: A desk }
env:
  ACME_TOKEN: { required: true, secret: true }
  LEVEL: { default: info }
prompts:
  hi: { description: Greets, text: Hello }
";

/// A home folder, a project, and a server.
pub(crate) struct Machine {
    root: TempDir,
}

/// A host, with its file and what it has after an installation into nothing.
pub(crate) struct Row {
    pub(crate) host: &'static str,
    pub(crate) file: &'static str,
    stdio: &'static str,
    http: Option<&'static str>,
}

const fn row(host: &'static str, file: &'static str, stdio: &'static str, http: Option<&'static str>) -> Row {
    Row { host, file, stdio, http }
}

pub(crate) const ROWS: &[Row] = &[
    row(
        "claude-code",
        "home/.claude.json",
        r#"{"mcpServers": {"my-desk": {"type": "stdio", "command": "FOLIO", "args": ["serve", "DESK"], "env": {"ACME_TOKEN": "${ACME_TOKEN}"}}}}"#,
        Some(r#"{"mcpServers": {"my-desk": {"type": "http", "url": "URL"}}}"#),
    ),
    row(
        "claude-desktop",
        "home/.config/Claude/claude_desktop_config.json",
        r#"{"mcpServers": {"my-desk": {"command": "FOLIO", "args": ["serve", "DESK"]}}}"#,
        None,
    ),
    row(
        "cursor",
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {"my-desk": {"command": "FOLIO", "args": ["serve", "DESK"], "env": {"ACME_TOKEN": "${env:ACME_TOKEN}"}}}}"#,
        Some(r#"{"mcpServers": {"my-desk": {"url": "URL"}}}"#),
    ),
    row(
        "vscode",
        "home/.config/Code/User/mcp.json",
        r#"{"servers": {"my-desk": {"type": "stdio", "command": "FOLIO", "args": ["serve", "DESK"], "env": {"ACME_TOKEN": "${env:ACME_TOKEN}"}}}}"#,
        Some(r#"{"servers": {"my-desk": {"type": "http", "url": "URL"}}}"#),
    ),
    row(
        "zed",
        "home/.config/zed/settings.json",
        r#"{"context_servers": {"my-desk": {"command": "FOLIO", "args": ["serve", "DESK"]}}}"#,
        Some(r#"{"context_servers": {"my-desk": {"url": "URL"}}}"#),
    ),
    row(
        "goose",
        "home/.config/goose/config.yaml",
        "extensions:\n  my-desk:\n    type: stdio\n    name: my-desk\n    description: A desk\n    cmd: FOLIO\n    \
         args: [serve, DESK]\n    env_keys: [ACME_TOKEN]\n    timeout: 300\n    enabled: true\n",
        Some(
            "extensions:\n  my-desk:\n    type: streamable_http\n    name: my-desk\n    description: A desk\n    \
             uri: URL\n    timeout: 300\n    enabled: true\n",
        ),
    ),
    row(
        "gemini",
        "home/.gemini/settings.json",
        r#"{"mcpServers": {"my-desk": {"command": "FOLIO", "args": ["serve", "DESK"], "env": {"ACME_TOKEN": "${ACME_TOKEN}"}}}}"#,
        Some(r#"{"mcpServers": {"my-desk": {"httpUrl": "URL"}}}"#),
    ),
    row(
        "codex",
        "home/.codex/config.toml",
        "[mcp_servers.my-desk]\ncommand = \"FOLIO\"\nargs = [\"serve\", \"DESK\"]\nenv_vars = [\"ACME_TOKEN\"]\n",
        Some("[mcp_servers.my-desk]\nurl = \"URL\"\n"),
    ),
    row(
        "copilot-cli",
        "home/.copilot/mcp-config.json",
        r#"{"mcpServers": {"my-desk": {"type": "local", "command": "FOLIO", "args": ["serve", "DESK"], "env": {"ACME_TOKEN": "${ACME_TOKEN}"}, "tools": ["*"]}}}"#,
        Some(r#"{"mcpServers": {"my-desk": {"type": "http", "url": "URL", "tools": ["*"]}}}"#),
    ),
    row(
        "opencode",
        "home/.config/opencode/opencode.json",
        r#"{"mcp": {"my-desk": {"type": "local", "command": ["FOLIO", "serve", "DESK"], "enabled": true, "environment": {"ACME_TOKEN": "{env:ACME_TOKEN}"}}}}"#,
        Some(r#"{"mcp": {"my-desk": {"type": "remote", "url": "URL", "enabled": true}}}"#),
    ),
    row(
        "windsurf",
        "home/.codeium/windsurf/mcp_config.json",
        r#"{"mcpServers": {"my-desk": {"command": "FOLIO", "args": ["serve", "DESK"], "env": {"ACME_TOKEN": "${env:ACME_TOKEN}"}}}}"#,
        Some(r#"{"mcpServers": {"my-desk": {"serverUrl": "URL"}}}"#),
    ),
    row(
        "kiro",
        "home/.kiro/settings/mcp.json",
        r#"{"mcpServers": {"my-desk": {"command": "FOLIO", "args": ["serve", "DESK"], "env": {"ACME_TOKEN": "${ACME_TOKEN}"}}}}"#,
        Some(r#"{"mcpServers": {"my-desk": {"url": "URL"}}}"#),
    ),
    row(
        "roo",
        "home/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        r#"{"mcpServers": {"my-desk": {"command": "FOLIO", "args": ["serve", "DESK"], "env": {"ACME_TOKEN": "${env:ACME_TOKEN}"}}}}"#,
        Some(r#"{"mcpServers": {"my-desk": {"type": "streamable-http", "url": "URL"}}}"#),
    ),
    row(
        "librechat",
        "project/librechat.yaml",
        "mcpServers:\n  my-desk:\n    type: stdio\n    command: FOLIO\n    args: [serve, DESK]\n    \
         env:\n      ACME_TOKEN: \"${ACME_TOKEN}\"\n",
        Some("mcpServers:\n  my-desk:\n    type: streamable-http\n    url: URL\n"),
    ),
];

const URL: &str = "https://desk.example/mcp";

impl Row {
    pub(crate) fn is_json(&self) -> bool {
        self.file.contains("json")
    }

    /// The maps around an entry.
    fn section(&self) -> &'static str {
        match self.host {
            "vscode" => "servers",
            "zed" => "context_servers",
            "goose" => "extensions",
            "codex" => "mcp_servers",
            "opencode" => "mcp",
            _ => "mcpServers",
        }
    }

    /// Texts with entries of others, in every layout.
    pub(crate) fn texts(&self) -> Vec<String> {
        let section = self.section().split('.').next_back().unwrap();
        let texts: &[&str] = match self.host {
            "opencode" => &[
                "{\n  // mine\n  \"mcp\": {\n    \"servers\": {\n      \"b\": { \"type\": \"local\", \"command\": [\"x\"] }, // b\n    },\n  },\n}\n",
                "{\n  // mine\n  \"mcp\": { \"b\": { \"type\": \"local\", \"command\": [\"x\"], \"enabled\": false } }\n}\n",
                "{\"$schema\":\"https://opencode.ai/config.json\"}",
                "{ \"mcp\": {} }\r\n",
                "{ \"mcp\": { \"servers\": { \"type\": \"local\", \"command\": [\"x\"] } } }",
            ],
            _ if self.is_json() => &[
                "{\n  // mine\n  \"theme\": \"dark\",\n\n  \"SECTION\": {\n    \"b\": { \"command\": \"x\" } // b\n    // \"c\": {}\n  }\n}\n",
                "{\r\n\t\"SECTION\": {\r\n\t\t\"b\": {\r\n\t\t\t\"command\": \"x\",\r\n\t\t},\r\n\t},\r\n}",
                "\u{feff}{\"SECTION\":{\"b\":{\"command\":\"x\"}},\"z\":1}",
                "",
                "{}",
                "// nothing\n",
                "{ \"SECTION\": {} }\n",
                "\n\n{\n\n\t\"a\": [\n1 ]\n\n}\n\n",
            ],
            "codex" => &[
                "# mine\nmodel = \"x\" # the model\n\n[SECTION.b]\ncommand = 'x'\n\n# of c\n[c]\nd = 1",
                "\u{feff}model = \"x\"\r\n[SECTION.b]\r\ncommand = \"x\"\r\n",
                "",
                "SECTION.b.command = \"x\"\n",
                "[SECTION]\n\n\n",
            ],
            _ => &[
                "# mine\na: 1\n\nSECTION:\n  b:\n    cmd: x  # b\n    # in b\n  # of nothing\n\n# z\nz: |\n  # text\n",
                "\u{feff}SECTION:\r\n    b:\r\n        cmd: x\r\n",
                "",
                "SECTION: { b: { cmd: x } }\n",
                "a: 1",
                "SECTION:\n",
                "# nothing\n",
            ],
        };
        texts.iter().map(|text| text.replace("SECTION", section)).collect()
    }

    /// A text with an entry of somebody else under the same name.
    fn foreign(&self, command: &str) -> String {
        match self.host {
            "opencode" => {
                format!(
                    "{{ \"mcp\": {{ \"servers\": {{\n \"my-desk\": {{ \"type\": \"local\", \"command\": [\"{command}\"] }} }} }} }}\n"
                )
            }
            _ if self.is_json() => {
                format!("{{ \"{}\": {{\n  \"my-desk\": {{ \"command\": \"{command}\" }} }} }}\n", self.section())
            }
            "codex" => format!("# x\n[mcp_servers.my-desk]\ncommand = \"{command}\"\n"),
            _ => format!("{}:\n  my-desk:\n    cmd: {command}\n    command: {command}\n", self.section()),
        }
    }

    /// What is left of a file that folio made.
    pub(crate) fn emptied(&self) -> &'static str {
        if self.is_json() { "{}\n" } else { "" }
    }

    fn expected(&self, machine: &Machine, shape: &str) -> String {
        let desk = fs::canonicalize(machine.path("desk")).unwrap();
        shape.replace("FOLIO", FOLIO_BIN).replace("DESK", desk.to_str().unwrap()).replace("URL", URL)
    }
}

impl Machine {
    pub(crate) fn new() -> Machine {
        let machine = Machine { root: tempfile::tempdir().unwrap() };
        for folder in ["home", "project", "desk"] {
            fs::create_dir(machine.path(folder)).unwrap();
        }
        machine.write("desk/folio.yaml", MANIFEST);
        machine
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.path("project")).env_clear();
        command.env("HOME", self.path("home")).env("PATH", std::env::var_os("PATH").unwrap()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        finish(&mut self.command(Path::new(FOLIO_BIN), arguments))
    }

    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        ran.out + &ran.err
    }

    pub(crate) fn fail(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(1), "{arguments:?}: {ran:?}");
        ran.out + &ran.err
    }

    pub(crate) fn install(&self, host: &str) -> String {
        self.ok(&["install", host, "-f", "../desk"])
    }

    pub(crate) fn uninstall(&self, host: &str) -> String {
        self.ok(&["uninstall", host, "-f", "../desk"])
    }

    /// Fails where a temporary file or a backup is left.
    pub(crate) fn assert_no_leftovers(&self) {
        let is_left = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().contains("folio-");
        assert_eq!(self.tree().into_keys().filter(is_left).collect::<Vec<_>>(), Vec::<PathBuf>::new());
    }

    /// Every folder, and every file with its bytes and its permissions.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
        let (mut tree, mut folders) = (BTreeMap::new(), vec![self.root.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
                let (path, meta) = (entry.path(), entry.metadata().unwrap());
                let bytes = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                if meta.is_dir() {
                    folders.push(path.clone());
                }
                tree.insert(path, (bytes, meta.permissions().mode()));
            }
        }
        tree
    }
}

pub(crate) fn finish(command: &mut Command) -> CommandOutput {
    let output = command.output().unwrap();
    CommandOutput {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Whether every byte of a text is in another one, in the same order.
fn keeps(before: &str, after: &str) -> bool {
    let mut rest = after.bytes();
    before.bytes().all(|byte| rest.any(|other| other == byte))
}

/// The text without white space outside of what the shapes have.
fn packed(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn every_client_gets_its_shape_and_loses_it() {
    let machine = Machine::new();
    for row in ROWS {
        let said = machine.install(row.host);
        assert!(said.contains("added `my-desk`") && !said.contains("LEVEL"), "{said}");
        let text = machine.read(row.file);
        let expected = row.expected(&machine, row.stdio);
        match row.is_json() {
            true => assert_eq!(packed(&text), packed(&expected), "{}", row.host),
            false => assert_eq!(text, expected, "{}", row.host),
        }
        let after = machine.tree();
        assert!(machine.install(row.host).contains("already"));
        assert_eq!(machine.tree(), after, "{}: twice", row.host);
    }
    for row in ROWS {
        machine.uninstall(row.host);
        assert_eq!(machine.read(row.file), row.emptied(), "{}", row.host);
    }
    machine.assert_no_leftovers();
}

#[test]
fn every_client_with_urls_gets_that_shape() {
    let machine = Machine::new();
    for row in ROWS {
        let arguments = ["install", row.host, "-f", "../desk", "--http", URL];
        let Some(shape) = row.http else {
            assert!(machine.fail(&arguments).contains("takes no URL"));
            continue;
        };
        machine.ok(&arguments);
        assert_eq!(packed(&machine.read(row.file)), packed(&row.expected(&machine, shape)), "{}", row.host);
        let other = ["uninstall", row.host, "-f", "../desk", "--http", "https://other.example/mcp"];
        assert!(machine.fail(&other).contains("another server"));
        assert!(machine.fail(&["uninstall", row.host, "-f", "../desk"]).contains("name its URL with `--http`"));
        machine.ok(&["uninstall", row.host, "-f", "../desk", "--http", URL]);
        assert_eq!(machine.read(row.file), row.emptied(), "{}", row.host);
    }
    machine.ok(&["install", "cursor", "-f", "../nowhere", "--http", URL, "--name", "far"]);
    machine.ok(&["uninstall", "cursor", "-f", "../nowhere", "--http", URL, "--name", "far"]);
    for url in ["ftp://x", "https://user:pw@desk.example"] {
        assert_eq!(machine.run(&["install", "cursor", "-f", "../desk", "--http", url]).code, Some(2));
    }
}

#[test]
fn files_of_any_layout_keep_their_bytes_and_get_them_back() {
    for row in ROWS {
        for text in row.texts() {
            let machine = Machine::new();
            machine.write(row.file, &text);
            fs::set_permissions(machine.path(row.file), fs::Permissions::from_mode(0o640)).unwrap();
            let before = machine.tree();
            let said = machine.install(row.host);
            let after = machine.read(row.file);
            assert!(keeps(&text, &after) && after.contains("my-desk"), "{}: {text}\n---\n{after}", row.host);
            assert_eq!(after.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
            let breaks = after.matches('\n').count();
            assert!(!text.contains("\r\n") || after.matches("\r\n").count() == breaks, "{after:?}");
            let backup = format!("{}.folio-backup", row.file);
            assert!(said.contains(&machine.path(&backup).display().to_string()), "{said}");
            assert_eq!(machine.read(&backup), text);
            let tree = machine.tree();
            assert_eq!(tree[&machine.path(row.file)].1, tree[&machine.path(&backup)].1, "permissions");
            assert!(machine.install(row.host).contains("already"));
            assert_eq!(machine.tree(), tree, "{}: twice", row.host);
            machine.uninstall(row.host);
            assert_eq!(machine.tree(), before, "{}: {text}", row.host);
        }
    }
}

#[test]
fn broken_files_are_refused_unchanged_at_their_place() {
    for row in ROWS {
        let texts: &[(&[u8], &str)] = match row.file.rsplit('.').next().unwrap() {
            "toml" => &[(b"a = 1\nb\n", ":2:"), (b"a = \"\xff\"\n", "line 1"), (b"mcp_servers = 1\n", ":1:")],
            "yaml" => &[(b"a: 1\nb: [\n", ":2:4"), (b"\n\xff\n", "line 2"), (b"- a\n", ":1:1")],
            _ => &[
                (b"{\n  \"a\": 1\n  \"b\": 2 }", ":2:9"),
                (b"{}\n\xff", "line 2"),
                (b"[]", ":1:1"),
                (b"{ \"a\": 1", ":1:"),
            ],
        };
        for (text, place) in texts {
            let machine = Machine::new();
            machine.write(row.file, "");
            fs::write(machine.path(row.file), text).unwrap();
            let before = machine.tree();
            for verb in ["install", "uninstall"] {
                let said = machine.fail(&[verb, row.host, "-f", "../desk"]);
                assert!(said.contains(place) && said.contains(row.host), "{place}: {said}");
            }
            assert_eq!(machine.tree(), before);
        }
    }
}

#[test]
fn entries_of_others_are_refused_unchanged() {
    for row in ROWS {
        let machine = Machine::new();
        machine.write(row.file, &row.foreign("/usr/bin/other"));
        let before = machine.tree();
        for verb in ["install", "uninstall"] {
            let said = machine.fail(&[verb, row.host, "-f", "../desk"]);
            assert!(said.contains("`my-desk` is another server") && said.contains(":2:"), "{}: {said}", row.host);
        }
        assert_eq!(machine.tree(), before);
        machine.ok(&["install", row.host, "-f", "../desk", "--name", "mine"]);
        machine.ok(&["uninstall", row.host, "-f", "../desk", "--name", "mine"]);
        assert_eq!(machine.tree(), before);
    }
}

#[test]
fn another_manifest_of_the_same_name_is_another_server() {
    let machine = Machine::new();
    machine.write("desk2/folio.yaml", MANIFEST);
    machine.install("cursor");
    assert!(machine.fail(&["install", "cursor", "-f", "../desk2"]).contains("another server"));
    assert!(machine.fail(&["uninstall", "cursor", "-f", "../desk2"]).contains("another server"));
    assert!(machine.ok(&["uninstall", "cursor", "-f", "../desk", "--name", "x"]).contains("there as `my-desk`"));
    // The file itself is the same manifest, and a manifest that is gone can be taken out by its path.
    assert!(machine.ok(&["install", "cursor", "-f", "../desk/folio.yaml"]).contains("already"));
    fs::remove_dir_all(machine.path("desk")).unwrap();
    machine.ok(&["uninstall", "cursor", "-f", "../desk", "--name", "my-desk"]);
    assert_eq!(machine.read("home/.cursor/mcp.json"), "{}\n");
}

#[test]
fn values_are_only_in_the_file() {
    const VALUE: &str = "s3cret-\"value\"-of-acme";
    for row in ROWS {
        let machine = Machine::new();
        machine.write(row.file, &row.texts()[0]);
        let before = machine.tree();
        let pair = format!("ACME_TOKEN={VALUE}");
        let mut said = machine.ok(&["install", row.host, "-f", "../desk", "--env", &pair]);
        assert!(said.contains("other users can read"), "{said}");
        said += &machine.ok(&["install", row.host, "-f", "../desk", "--print", "--env", &pair]);
        // Another value, another server, and a file that somebody else has written anew.
        said += &machine.ok(&["install", row.host, "-f", "../desk", "--env", &format!("ACME_TOKEN={VALUE}2")]);
        said += &machine.ok(&["install", row.host, "-f", "../desk", "--name", "two"]);
        let text = machine.read(row.file);
        assert!(text.contains("s3cret-") && text.contains("-of-acme2"), "{text}");
        assert!(!said.contains("s3cret"), "{said}");
        for (path, (bytes, _)) in machine.tree() {
            let is_file = path == machine.path(row.file);
            assert!(is_file || !String::from_utf8_lossy(&bytes).contains("s3cret"), "{}", path.display());
        }
        // What is there counts, and is not replaced by a reference.
        assert!(machine.install(row.host).contains("already"), "{}", machine.read(row.file));
        assert_eq!(machine.read(row.file), text);
        machine.ok(&["uninstall", row.host, "-f", "../desk", "--name", "two"]);
        machine.uninstall(row.host);
        assert_eq!(machine.tree(), before, "{}", row.host);
    }
}

#[test]
fn backup_of_a_file_with_values_has_none() {
    let machine = Machine::new();
    machine.ok(&["install", "cursor", "-f", "../desk", "--env", "ACME_TOKEN=s3cret-value"]);
    let mode = fs::metadata(machine.path("home/.cursor/mcp.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // The client writes the file in a layout of its own.
    let value: serde_json::Value = serde_json::from_str(&machine.read("home/.cursor/mcp.json")).unwrap();
    machine.write("home/.cursor/mcp.json", &value.to_string());
    machine.ok(&["install", "cursor", "-f", "../desk", "--name", "two"]);
    let tree = machine.tree();
    let backups: Vec<_> = tree.iter().filter(|(path, _)| path.display().to_string().contains("backup")).collect();
    assert_eq!(backups.len(), 1);
    assert!(backups.iter().all(|(_, (bytes, _))| !String::from_utf8_lossy(bytes).contains("s3cret")));
    machine.ok(&["uninstall", "cursor", "-f", "../desk", "--name", "two"]);
    assert_eq!(machine.read("home/.cursor/mcp.json"), value.to_string());
}

#[test]
fn backup_has_the_file_before_the_first_entry() {
    let machine = Machine::new();
    let (path, backup) = ("home/.cursor/mcp.json", "home/.cursor/mcp.json.folio-backup");
    machine.write(path, "{ \"mcpServers\": { } }");
    machine.write(backup, "an earlier one");
    let said = machine.install("cursor") + &machine.ok(&["install", "cursor", "-f", "../desk", "--name", "two"]);
    assert_eq!(said.matches("backup: ").count(), 1, "{said}");
    assert_eq!(machine.read(backup), "{ \"mcpServers\": { } }");
    let said = machine.uninstall("cursor");
    assert!(said.contains("its backup stays: ") && machine.read(path).contains("two"), "{said}");
    let said = machine.ok(&["uninstall", "cursor", "-f", "../desk", "--name", "two"]);
    assert!(said.contains("its backup is gone"), "{said}");
    assert_eq!(machine.read(path), "{ \"mcpServers\": { } }");
    machine.assert_no_leftovers();
}

/// Sections that count as empty maps.
const EMPTY_SECTIONS: &[(&str, &str, &[&str])] = &[
    (
        "cursor",
        "home/.cursor/mcp.json",
        &[
            "{ \"mcpServers\": null }\n",
            "{\r\n  \"a\": 1, // one\r\n  \"mcpServers\": null, // none\r\n  \"z\": null\r\n}",
            "{ \"mcpServers\": {} }",
            "{\n  \"mcpServers\": {\n  },\n  \"z\": 1\n}\n",
            "{ \"mcpServers\": { /* none */ } }",
        ],
    ),
    (
        "opencode",
        "home/.config/opencode/opencode.json",
        &["{ \"mcp\": null }", "{ \"mcp\": { \"servers\": {} } }", "{ \"mcp\": { \"servers\": null } }"],
    ),
    (
        "codex",
        "home/.codex/config.toml",
        &[
            "[mcp_servers]\n",
            "mcp_servers = {}\n",
            "a = 1\r\nmcp_servers = { } # none\r\n[z]\r\nb = 1\r\n",
            "mcp_servers = { b = { command = \"x\" } }\n",
        ],
    ),
    (
        "goose",
        "home/.config/goose/config.yaml",
        &[
            "extensions:\n",
            "extensions: null\n",
            "a: 1\r\nextensions: ~ # none\r\nz: 1\r\n",
            "extensions: {}\n",
            "extensions: { } # none\nz: 1\n",
        ],
    ),
];

#[test]
fn empty_sections_get_an_entry_and_their_bytes_back() {
    for (host, file, texts) in EMPTY_SECTIONS {
        for text in *texts {
            let machine = Machine::new();
            machine.write(file, text);
            let before = machine.tree();
            machine.install(host);
            let installed = machine.read(file);
            assert!(machine.install(host).contains("already"), "{installed}");
            let value = machine.ok(&["install", host, "-f", "../desk", "--env", "ACME_TOKEN=a-token-of-acme"]);
            assert!(value.contains("updated"), "{value}");
            machine.uninstall(host);
            assert_eq!(machine.tree(), before, "{host}: {text}\n---\n{installed}");
            // The same where somebody has edited the file meanwhile, but for the white space in an empty map.
            machine.install(host);
            let comment = if file.ends_with("json") { "// mine\n" } else { "# mine\n" };
            machine.write(file, &(comment.to_owned() + &machine.read(file)));
            machine.uninstall(host);
            let left = machine.read(file);
            let packed =
                |text: &str| text.replace("null", "{}").replace("~", "{}").split_whitespace().collect::<String>();
            let is_same = packed(&left) == packed(&(comment.to_owned() + text))
                || packed(&left) == packed(&(comment.to_owned() + &text.replace("null", "").replace("~", "")));
            assert!(is_same, "{host}: {text}\n---\n{left}");
        }
    }
}

#[test]
fn edits_since_the_installation_stay() {
    for row in ROWS {
        let machine = Machine::new();
        let text = &format!("{}\n", row.texts()[0]);
        machine.write(row.file, text);
        machine.install(row.host);
        let edited = machine.read(row.file).replacen("mine", "mine, edited", 1);
        machine.write(row.file, &edited);
        let said = machine.uninstall(row.host);
        assert!(said.contains("its backup stays: ") && said.contains("folio-backup"), "{said}");
        assert_eq!(machine.read(row.file), text.replacen("mine", "mine, edited", 1), "{}", row.host);
    }
}

#[test]
fn server_that_a_user_added_to_a_new_file_keeps_it() {
    let machine = Machine::new();
    machine.install("cursor");
    let edited = machine.read("home/.cursor/mcp.json").replace("    \"my-desk\"", "    \"b\": {},\n    \"my-desk\"");
    machine.write("home/.cursor/mcp.json", &edited);
    machine.uninstall("cursor");
    assert_eq!(machine.read("home/.cursor/mcp.json"), "{\n  \"mcpServers\": {\n    \"b\": {}\n  }\n}\n");
}

#[test]
fn links_are_followed_and_read_only_files_refused() {
    let machine = Machine::new();
    machine.write("dotfiles/mcp.json", "{}\n");
    fs::create_dir(machine.path("home/.cursor")).unwrap();
    symlink(machine.path("dotfiles/mcp.json"), machine.path("home/.cursor/mcp.json")).unwrap();
    let before = machine.tree();
    machine.install("cursor");
    assert!(machine.path("home/.cursor/mcp.json").symlink_metadata().unwrap().is_symlink());
    assert!(machine.read("dotfiles/mcp.json").contains("my-desk"));
    machine.uninstall("cursor");
    assert_eq!(machine.tree(), before);
    fs::set_permissions(machine.path("dotfiles/mcp.json"), fs::Permissions::from_mode(0o444)).unwrap();
    let before = machine.tree();
    assert!(machine.fail(&["install", "cursor", "-f", "../desk"]).contains("read-only"));
    assert_eq!(machine.tree(), before);
    fs::remove_file(machine.path("dotfiles/mcp.json")).unwrap();
    assert!(machine.fail(&["install", "cursor", "-f", "../desk"]).contains("a link that leads nowhere"));
    fs::create_dir(machine.path("dotfiles/mcp.json")).unwrap();
    assert!(machine.fail(&["install", "cursor", "-f", "../desk"]).contains("not a regular file"));
}

/// Ends folio with a signal at its first write to a file.
fn killed_at_the_first_write(machine: &Machine, verb: &str) {
    let script = format!("ulimit -f 0; exec {FOLIO_BIN} {verb} cursor -f ../desk");
    let ran = finish(&mut machine.command(Path::new("sh"), &["-c", &script]));
    assert_eq!(ran.code, None, "{ran:?}");
}

#[test]
fn kill_during_a_write_leaves_the_file_whole() {
    let text = "{ \"mcpServers\": { \"b\": {} } }\n";
    let machine = Machine::new();
    machine.write("home/.cursor/mcp.json", text);
    // During the backup, and then during the file itself.
    killed_at_the_first_write(&machine, "install");
    assert_eq!(machine.read("home/.cursor/mcp.json"), text);
    machine.write("home/.cursor/mcp.json.folio-backup", text);
    killed_at_the_first_write(&machine, "install");
    assert_eq!(machine.read("home/.cursor/mcp.json"), text);
    machine.install("cursor");
    let after = machine.read("home/.cursor/mcp.json");
    killed_at_the_first_write(&machine, "uninstall");
    assert_eq!(machine.read("home/.cursor/mcp.json"), after);
    machine.uninstall("cursor");
    assert_eq!(machine.read("home/.cursor/mcp.json"), text);
    assert!(!machine.path("home/.cursor/mcp.json.folio-backup").exists());
}

#[test]
fn kill_at_any_moment_leaves_the_file_whole() {
    let text = "{ \"mcpServers\": { \"b\": {} } }\n";
    let machine = Machine::new();
    machine.write("home/.cursor/mcp.json", text);
    machine.install("cursor");
    let installed = machine.read("home/.cursor/mcp.json");
    for nth in 0..40_u64 {
        let verb = if nth % 2 == 0 { "uninstall" } else { "install" };
        let mut child = machine.command(Path::new(FOLIO_BIN), &[verb, "cursor", "-f", "../desk"]);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(nth * 2));
        child.kill().unwrap();
        child.wait().unwrap();
        let now = machine.read("home/.cursor/mcp.json");
        assert!(now == text || now == installed, "{now}");
    }
    machine.install("cursor");
    machine.uninstall("cursor");
    assert_eq!(machine.read("home/.cursor/mcp.json"), text);
}

#[test]
fn several_clients_say_nothing_that_was_not_done() {
    let machine = Machine::new();
    for arguments in [["install", "cursor", "zed", "--print"].as_slice(), &["uninstall", "cursor", "zed"]] {
        let ran = machine.run(&[arguments, &["-f", "../desk"]].concat());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    }
}

#[test]
fn name_stands_for_a_manifest_that_is_not_there() {
    let machine = Machine::new();
    for arguments in [
        ["uninstall", "cursor", "-f", "../gone"].as_slice(),
        &["install", "cursor", "-f", "../gone", "--http", "https://desk.example/mcp"],
    ] {
        let ran = machine.run(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let said = ran.err;
        assert!(said.contains("cannot tell the name of the server") && said.contains("help: use `--name`"), "{said}");
        assert!(!said.contains("folio init"), "{said}");
    }
    machine.ok(&["install", "cursor", "-f", "../gone", "--http", "https://desk.example/mcp", "--name", "desk"]);
}

#[test]
fn variable_that_is_not_declared_is_a_warning() {
    let machine = Machine::new();
    let ran = machine
        .run(&["install", "cursor", "-f", "../desk", "--env", "ACME_TOKN=x", "--env", "ACME_TOKEN=s3cret-value"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.err, "warning: the manifest does not declare `ACME_TOKN`: did you mean `ACME_TOKEN`?\n");
}

#[test]
fn file_with_many_entries_is_read_at_once() {
    let machine = Machine::new();
    let entry = |nth| format!("\"server-{nth}\": {{ \"command\": \"x\" }}");
    let entries: Vec<String> = (0..20_000).map(entry).collect();
    machine.write("home/.cursor/mcp.json", &format!("{{ \"mcpServers\": {{ {} }} }}", entries.join(",\n")));
    // Where each were searched for by itself, this would take minutes, and the harness would end it.
    machine.install("cursor");
    let said = machine.fail(&["install", "cursor", "-f", "../desk", "--name", "server-19999"]);
    assert!(said.contains("mcp.json:20000:1"), "{said}");
}

#[test]
fn one_client_that_fails_is_named_and_the_others_are_done() {
    let machine = Machine::new();
    machine.write("home/.cursor/mcp.json", "{");
    let ran = machine.run(&["install", "zed", "cursor", "codex", "zed", "-f", "../desk"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.ends_with("\nfailed: cursor\n"), "{}", ran.err);
    assert!(machine.path("home/.codex/config.toml").exists() && machine.path("home/.config/zed").exists());
    let said = machine.fail(&["install", "windsurf", "librechat", "--project", "-f", "../desk"]);
    assert!(said.contains("Windsurf has no file for a project") && said.contains("failed: windsurf\n"), "{said}");
    assert!(machine.fail(&["install", "librechat", "--user", "-f", "../desk"]).contains("use `--project`"));
    assert_eq!(machine.run(&["install", "emacs"]).code, Some(2));
}

#[test]
fn project_files_are_in_the_current_folder() {
    let machine = Machine::new();
    for (host, file) in [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("zed", ".zed/settings.json"),
        ("gemini", ".gemini/settings.json"),
        ("codex", ".codex/config.toml"),
        ("copilot-cli", ".github/mcp.json"),
        ("opencode", "opencode.json"),
        ("kiro", ".kiro/settings/mcp.json"),
        ("roo", ".roo/mcp.json"),
    ] {
        machine.ok(&["install", host, "--project", "-f", "../desk"]);
        assert!(machine.read(&format!("project/{file}")).contains("my-desk"), "{host}");
        machine.ok(&["uninstall", host, "--project", "-f", "../desk"]);
        assert!(!machine.read(&format!("project/{file}")).contains("my-desk"), "{host}");
    }
    machine.assert_no_leftovers();
}

#[test]
fn print_writes_nothing_and_shows_what_would_be_written() {
    let machine = Machine::new();
    for row in ROWS {
        let before = machine.tree();
        let shown = machine.ok(&["install", row.host, "--print", "-f", "../desk"]);
        let (path, text) = shown.split_once(":\n").unwrap();
        assert_eq!(Path::new(path), machine.path(row.file));
        assert_eq!(machine.tree(), before);
        machine.install(row.host);
        assert_eq!(machine.read(row.file), text);
        machine.uninstall(row.host);
    }
}

#[test]
fn opencode_2_keeps_its_shape_and_others_get_that_of_1() {
    let machine = Machine::new();
    let path = "home/.config/opencode/opencode.jsonc";
    for (text, place, is_later) in [
        (
            "{ \"mcp\": { \"servers\": { \"b\": { \"type\": \"local\", \"command\": [\"x\"] } } } }",
            "/mcp/servers",
            true,
        ),
        ("{ \"mcp\": { \"servers\": {} } }", "/mcp/servers", true),
        // opencode 1.18 refuses a file with `servers` in it.
        ("{ \"mcp\": { \"servers\": { \"type\": \"local\", \"command\": [\"x\"] } } }", "/mcp", false),
        ("{}", "/mcp", false),
    ] {
        machine.write(path, text);
        let before = machine.tree();
        machine.install("opencode");
        let after: serde_json::Value = serde_json::from_str(&machine.read(path)).unwrap();
        let entry = after.pointer(place).unwrap().get("my-desk").unwrap_or_else(|| panic!("{after}"));
        assert_eq!(entry["command"][1], "serve");
        assert_eq!(entry.get("enabled").is_none(), is_later, "{entry}");
        machine.uninstall("opencode");
        assert_eq!(machine.tree(), before);
    }
}

#[test]
fn names_fit_the_client_or_are_refused() {
    let machine = Machine::new();
    let said = machine.fail(&["install", "gemini", "cursor", "-f", "../desk", "--name", "my_desk"]);
    assert!(said.contains("Gemini CLI takes no name `my_desk`") && said.contains("failed: gemini"), "{said}");
    let long = "a".repeat(65);
    for name in ["a b", "", "a.b", "\u{1b}[31m", "-v", "--", &long] {
        let chosen = format!("--name={name}");
        assert!(machine.fail(&["install", "codex", "-f", "../desk", &chosen]).contains("takes no name"), "{name}");
    }
    assert!(!machine.path("home/.codex").exists());
}

#[test]
fn manifest_with_errors_is_not_installed() {
    let machine = Machine::new();
    machine.write("desk/folio.yaml", "folio: 1\nserver: { name: desk }\nprompts: { a: { text: \"{{nope}}\" } }\n");
    let before = machine.tree();
    let said = machine.fail(&["install", "cursor", "-f", "../desk"]);
    assert!(said.contains("error: nothing is installed: the manifest has errors"), "{said}");
    assert_eq!(machine.tree(), before);
    assert_eq!(machine.run(&["install", "cursor", "-f", "../nowhere"]).code, Some(2));
}

#[test]
fn program_is_named_by_the_path_by_which_it_was_found() {
    let machine = Machine::new();
    fs::create_dir(machine.path("bin")).unwrap();
    let link = machine.path("bin/folio");
    symlink(FOLIO_BIN, &link).unwrap();
    for program in [link.as_path(), Path::new("folio")] {
        let mut command = machine.command(program, &["install", "cursor", "-f", "../desk"]);
        let path = format!("{}:{}", machine.path("bin").display(), std::env::var("PATH").unwrap());
        let ran = finish(command.env("PATH", path));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(machine.read("home/.cursor/mcp.json").contains(&format!("\"command\": \"{}\"", link.display())));
        // The same program by another path.
        machine.uninstall("cursor");
        assert_eq!(machine.read("home/.cursor/mcp.json"), "{}\n");
    }
}

#[test]
fn variables_name_the_folders_of_clients() {
    let machine = Machine::new();
    for (variable, host, file) in [
        ("CLAUDE_CONFIG_DIR", "claude-code", "x/.claude.json"),
        ("CODEX_HOME", "codex", "x/config.toml"),
        ("COPILOT_HOME", "copilot-cli", "x/mcp-config.json"),
        ("XDG_CONFIG_HOME", "goose", "x/goose/config.yaml"),
    ] {
        let mut command = machine.command(Path::new(FOLIO_BIN), &["install", host, "-f", "../desk"]);
        let ran = finish(command.env(variable, machine.path("x")));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(machine.read(file).contains("my-desk"), "{host}");
    }
    let ran = finish(machine.command(Path::new(FOLIO_BIN), &["install", "cursor", "-f", "../desk"]).env_remove("HOME"));
    assert!(ran.code == Some(1) && ran.err.contains("no home folder"), "{ran:?}");
}

#[test]
fn installed_entry_starts_the_server() {
    let machine = Machine::new();
    machine.install("cursor");
    let file: serde_json::Value = serde_json::from_str(&machine.read("home/.cursor/mcp.json")).unwrap();
    let entry = &file["mcpServers"]["my-desk"];
    let mut command = machine.command(Path::new(entry["command"].as_str().unwrap()), &[]);
    command
        .args(entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()))
        .env("ACME_TOKEN", "a-token-of-acme");
    let ran = finish(&mut command);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn client_without_prompts_is_pointed_to_their_tools() {
    let machine = Machine::new();
    let said = machine.install("codex");
    assert!(said.contains("prompts are not shown") && said.contains("`list-prompts` and `get-prompt`"), "{said}");
    assert!(!machine.install("cursor").contains("not shown"));
    machine.write("desk/folio.yaml", &MANIFEST.replace("name: my.desk,", "name: my.desk, bridge: none,"));
    let said = machine.ok(&["install", "codex", "-f", "../desk", "--name", "two"]);
    assert!(said.contains("prompts are not shown") && !said.contains("list-prompts"), "{said}");
}

/// Lines of TOML or YAML with a map of servers among them.
fn lines(head: &'static str, server: &'static str) -> impl Strategy<Value = String> {
    let comment = prop::sample::select(vec!["", "# c\n", "\n", "# d\n\n"]);
    let line_break = prop::sample::select(vec!["\n", "\r\n"]);
    (prop::collection::vec(comment, 4), 0..3_usize, any::<bool>(), line_break).prop_map(
        move |(comments, servers, is_open, line_break)| {
            let servers: String = (0..servers).map(|nth| server.replace("N", &nth.to_string()) + comments[2]).collect();
            let text = format!("{}{head}{}{servers}{}", comments[0], comments[1], comments[3]);
            let text = if is_open { text.trim_end_matches('\n').to_owned() } else { text };
            text.replace('\n', line_break)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_file_gets_its_bytes_back(
        toml in lines("a = 1\n", "[mcp_servers.sN]\ncommand = \"x\" # N\n"),
        yaml in lines("a: 1\nextensions:\n  z: { cmd: x }\n", "  sN:\n    cmd: x # N\n"),
    ) {
        let machine = Machine::new();
        machine.write("home/.codex/config.toml", &toml);
        machine.write("home/.config/goose/config.yaml", &yaml);
        let before = machine.tree();
        machine.ok(&["install", "codex", "goose", "-f", "../desk"]);
        prop_assert!(keeps(&toml, &machine.read("home/.codex/config.toml")));
        prop_assert!(keeps(&yaml, &machine.read("home/.config/goose/config.yaml")));
        machine.ok(&["install", "codex", "goose", "-f", "../desk", "--name", "two"]);
        machine.ok(&["uninstall", "codex", "goose", "-f", "../desk"]);
        machine.ok(&["uninstall", "codex", "goose", "-f", "../desk", "--name", "two"]);
        prop_assert_eq!(machine.tree(), before);
    }
}

#[test]
fn control_characters_of_a_path_are_not_printed() {
    let machine = Machine::new();
    let home = machine.path("home/\u{1b}[31mred\nline");
    fs::create_dir(&home).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = machine.command(Path::new(FOLIO_BIN), arguments);
        let ran = finish(command.env("HOME", &home));
        ran.out + &ran.err
    };
    let install = ["install", "cursor", "-f", "../desk"];
    let printed = run(&["install", "cursor", "-f", "../desk", "--print"]);
    let (added, removed) = (run(&install), run(&["uninstall", "cursor", "-f", "../desk"]));
    fs::create_dir_all(home.join(".cursor")).unwrap();
    fs::write(home.join(".cursor/mcp.json"), "{").unwrap();
    for said in [printed, added, removed, run(&install)] {
        assert!(said.contains("[31mred line/.cursor/mcp.json") && !said.contains('\u{1b}'), "{said:?}");
    }
}

#[test]
fn link_that_leaves_the_project_is_refused() {
    let machine = Machine::new();
    machine.write("elsewhere/mcp.json", "{}\n");
    for (host, link, target) in [
        ("claude-code", ".mcp.json", "elsewhere/mcp.json"),
        ("vscode", ".vscode", "elsewhere"),
        ("cursor", ".cursor/mcp.json", "elsewhere/mcp.json"),
    ] {
        let link = machine.path(&format!("project/{link}"));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(machine.path(target), &link).unwrap();
        let before = machine.tree();
        for verb in ["install", "uninstall"] {
            let said = machine.fail(&[verb, host, "--project", "-f", "../desk"]);
            assert!(said.contains("a link leads out of the project, to `"), "{host}: {said}");
        }
        assert_eq!(machine.tree(), before, "{host}");
    }
    // One that stays in it is followed.
    machine.write("project/config/settings.json", "{}\n");
    fs::create_dir(machine.path("project/.zed")).unwrap();
    symlink("../config/settings.json", machine.path("project/.zed/settings.json")).unwrap();
    machine.ok(&["install", "zed", "--project", "-f", "../desk"]);
    assert!(machine.read("project/config/settings.json").contains("my-desk"));
}

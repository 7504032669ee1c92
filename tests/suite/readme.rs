//! Every block of README.md and of the pages in `docs/` is true: manifests load, commands run, configurations have
//! their clients' shapes.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::doc_tables::read;
use crate::harness::{FOLIO_BIN, SESSION_VERSIONS, SESSIONLESS_VERSION, ServeCommand, TestFolder, run_folio};
use crate::tls::Authority;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// How the block of commands begins that lead to a first server.
const FIRST_SERVER: &str = "folio init hello\n";

/// How the block of commands begins that install and measure other servers.
const COMPARISON: &str = "cargo build --release\n";

/// What follows ``` and what stands between.
#[derive(Debug, Clone)]
struct CodeBlock {
    kind: String,
    text: String,
    /// Where it begins: `PAGE:LINE`.
    place: String,
}

/// The paths of all pages: README.md first, then those in `docs/`.
fn pages() -> Vec<String> {
    let mut docs: Vec<String> = fs::read_dir(Path::new(ROOT).join("docs"))
        .unwrap()
        .map(|page| format!("docs/{}", page.unwrap().file_name().into_string().unwrap()))
        .filter(|page| page.ends_with(".md"))
        .collect();
    docs.sort();
    assert!(docs.len() > 4, "{docs:?}");
    docs.insert(0, "README.md".to_owned());
    docs
}

/// The blocks of all pages, in their order.
fn blocks() -> Vec<CodeBlock> {
    pages().iter().flat_map(|page| blocks_of(page)).collect()
}

fn blocks_of(page: &str) -> Vec<CodeBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<CodeBlock> = None;
    for (number, line) in read(page).lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(kind)) => {
                let place = format!("{page}:{}", number + 1);
                open = Some(CodeBlock { kind: kind.to_owned(), text: String::new(), place });
            }
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => block.text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block does not end: {open:?}");
    blocks
}

fn of_kind(kind: &str) -> Vec<CodeBlock> {
    let found: Vec<CodeBlock> = blocks().into_iter().filter(|block| block.kind == kind).collect();
    assert!(!found.is_empty(), "there is no block of {kind}");
    found
}

/// The files that the manifests of the page name.
fn desk() -> TestFolder {
    let pack = "folio: 1\nserver: { name: review }\nprompts: { list: { text: Look closely. } }\n";
    let board = fs::read(Path::new(ROOT).join("examples/servers/docs/assets/flow.png")).unwrap();
    let folder = TestFolder::new(&[
        ("docs/policy.md", "Be kind.\n"),
        ("policy.md", "Be kind.\n"),
        ("partials/house-style.hbs", "Be brief.\n"),
        ("prompts/plain.md", "Say it plainly.\n"),
        ("tools/echo.yaml", "tools: { echo: { description: Echo, result: { text: echo } } }\n"),
        ("packs/review/folio.yaml", pack),
    ]);
    folder.write("assets/board.png", board);
    let authority = Authority::new();
    let client = authority.issue("client");
    folder.write("certificates/ca.pem", authority.pem);
    folder.write("certificates/client.pem", client.certificate);
    folder.write("certificates/client.key", client.key);
    folder
}

/// A manifest is taken as it is; a part of one gets its head.
fn completed(block: &CodeBlock) -> String {
    let whole = block.text.lines().any(|line| line.starts_with("folio:"));
    if whole { block.text.clone() } else { format!("folio: 1\nserver: {{ name: readme }}\n{}", block.text) }
}

fn checked(manifest: &str) -> (Option<i32>, Vec<Value>) {
    let folder = desk();
    folder.write("folio.yaml", manifest);
    let ran = run_folio(folder.path(), &["check", "--format", "json"]);
    let report = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    (ran.code, report)
}

/// What `folio check` prints of a manifest.
fn printed(manifest: &str) -> String {
    let folder = TestFolder::with_manifest(manifest);
    let ran = run_folio(folder.path(), &["check"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.out + &ran.err
}

/// The report that a text block shows, when it shows one.
fn report_after(blocks: &[CodeBlock], index: usize) -> Option<&CodeBlock> {
    blocks.get(index + 1).filter(|block| block.kind == "text" && block.text.starts_with("error["))
}

#[test]
fn every_code_block_is_tested() {
    for block in blocks() {
        let known = ["json", "markdown", "python", "sh", "text", "toml", "yaml"].contains(&block.kind.as_str());
        assert!(known, "{}: no test knows what to do with ```{}", block.place, block.kind);
    }
}

#[test]
fn readme_manifests_load_or_fail_as_documented() {
    let blocks = blocks();
    let (mut good, mut bad) = (0, 0);
    for (index, block) in blocks.iter().enumerate().filter(|(_, block)| block.kind == "yaml") {
        if block.text.starts_with("extensions:") {
            continue;
        }
        if let Some(report) = report_after(&blocks, index) {
            assert_eq!(printed(&block.text).trim_end(), report.text.trim_end(), "{}", report.place);
            bad += 1;
            continue;
        }
        let (code, mut report) = checked(&completed(block));
        assert_eq!(code, Some(0), "{}: {report:#?}", block.place);
        // A part of a manifest may well declare what another part uses.
        report.retain(|fault| fault["code"] != "unused");
        assert!(report.is_empty(), "{}: {report:#?}", block.place);
        good += 1;
    }
    assert!(good >= 5 && bad >= 1, "{good} good, {bad} bad");
}

#[test]
fn python_is_from_the_server_compared_with() {
    let server = fs::read_to_string(Path::new(ROOT).join("tests/interop/web_api.py")).unwrap();
    let blocks = of_kind("python");
    assert!(!blocks.is_empty() && blocks.iter().all(|block| server.contains(block.text.trim_end())), "{blocks:?}");
}

#[test]
fn seven_lines_match_the_hello_example() {
    let example = fs::read_to_string(Path::new(ROOT).join("examples/servers/hello/folio.yaml")).unwrap();
    let (modeline, manifest) = example.split_once('\n').unwrap();
    assert!(modeline.starts_with("# yaml-language-server:"));
    assert_eq!(of_kind("yaml")[0].text, manifest);
    assert_eq!(manifest.lines().count(), 7);
}

#[test]
fn server_with_one_of_each_works_in_an_empty_folder() {
    let all_kinds = |block: &CodeBlock| ["prompts:", "resources:", "tools:"].iter().all(|key| block.text.contains(key));
    let mut manifests = blocks_of("README.md").into_iter().filter(|block| block.kind == "yaml");
    let manifest = manifests.find(all_kinds).unwrap();
    let folder = TestFolder::with_manifest(&manifest.text);
    for (arguments, expected) in [
        (&["check", "--strict"][..], ""),
        (&["get", "review", "focus=gaps"], "folio.yaml"),
        (&["call", "search", "pattern=one_of_[e]ach"], ""),
        (&["call", "search", "pattern=name: [d]esk"], "folio.yaml"),
    ] {
        let ran = run_folio(folder.path(), arguments);
        assert!(ran.code == Some(0) && ran.out.contains(expected), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn every_prompt_file_loads() {
    for block in of_kind("markdown") {
        let folder = desk();
        folder.write("prompts/commit.md", &block.text);
        folder.write("folio.yaml", "folio: 1\nserver: { name: x }\ninclude: prompts/*.md\npartials: partials/*.hbs\n");
        let ran = run_folio(folder.path(), &["get", "commit", "diff=+a"]);
        assert_eq!(ran.code, Some(0), "{}: {ran:?}", block.place);
        assert!(ran.out.starts_with("Be brief.\n") && ran.out.contains("+a"), "{ran:?}");
    }
}

/// The commands of a page, with their lines.
fn commands(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// Runs a command of `folio` as a shell would, in the repository.
fn run(words: &str) {
    let script = words.replacen("folio", "\"$FOLIO\"", 1);
    let output = Command::new("sh").args(["-c", &script]).env("FOLIO", FOLIO_BIN).current_dir(ROOT).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {said}");
    assert!(!output.stdout.is_empty(), "{words} says nothing: {said}");
}

/// Serves what a command says, on a port that is free.
fn serve(words: &str) {
    let mut words = words.split(' ').skip(2);
    let path = words.next().unwrap();
    assert_eq!(words.next(), Some("--http"), "only servers over HTTP show something");
    let server = ServeCommand::new(&Path::new(ROOT).join(path)).http();
    assert!(!server.session("2025-06-18").names("prompts").is_empty());
}

fn configured(words: &[String]) {
    let [program, serve, folder] = words else { panic!("{words:?} is not `folio serve FOLDER`") };
    assert!(program.starts_with('/') && program.ends_with("/folio"), "{program} is no absolute path of folio");
    assert_eq!(serve, "serve");
    assert!(folder.starts_with('/'), "{folder} is no absolute path");
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn every_command_runs() {
    let mut ran = 0;
    let tested_below = |block: &CodeBlock| [FIRST_SERVER, COMPARISON].iter().any(|begin| block.text.starts_with(begin));
    let blocks = of_kind("sh").into_iter().filter(|block| !tested_below(block));
    for command in blocks.flat_map(|block| commands(&block.text)) {
        let own = command.strip_prefix("cargo run -- ").map(|rest| format!("folio {rest}"));
        let own = own.or_else(|| command.starts_with("folio ").then(|| command.clone()));
        match own {
            Some(own) if own.starts_with("folio serve ") => serve(&own),
            Some(own) => run(&own),
            // That is this very program.
            None if command == "cargo test" => {}
            None => {
                let added = command.strip_prefix("claude mcp add desk -- ");
                let inspected = command.strip_prefix("npx @modelcontextprotocol/inspector --cli ");
                let inspected = inspected.and_then(|rest| rest.strip_suffix(" --method prompts/list"));
                configured(&words(added.or(inspected).unwrap_or_else(|| panic!("nobody knows `{command}`"))));
            }
        }
        ran += 1;
    }
    assert!(ran >= 10, "{ran}");
}

/// Runs a command in an empty home folder.
fn run_at_home(home: &TestFolder, words: &str) {
    let mut command = Command::new(FOLIO_BIN);
    let ran =
        command.args(words.split(' ').skip(1)).current_dir(home.path()).env("HOME", home.path()).output().unwrap();
    assert!(ran.status.success(), "{words}: {}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn first_server_is_seen_in_client_and_page() {
    let block = of_kind("sh").into_iter().find(|block| block.text.starts_with(FIRST_SERVER)).unwrap();
    let home = TestFolder::new(&[]);
    let [init, install, dev] = &commands(&block.text)[..] else { panic!("{block:?}") };
    run_at_home(&home, init);
    run_at_home(&home, install);
    assert_eq!(dev, "folio dev hello --open");
    let page = ServeCommand::dev(&home.join("hello")).flag("--open").env("BROWSER", "").stdio();
    page.log.wait_for_line(0, |line| line.starts_with("page: http://127.0.0.1:"));
    let config: Value = serde_json::from_str(&fs::read_to_string(home.join(".claude.json")).unwrap()).unwrap();
    let [_, _, folder] = &entry(config["mcpServers"].as_object().unwrap().values().next().unwrap(), "command")[..]
    else {
        panic!("{config}")
    };
    let client = ServeCommand::new(Path::new(folder)).stdio();
    let session = client.session("2025-11-25");
    run_at_home(&home, "folio new prompt triage -f hello");
    session.wait_for("notifications/prompts/list_changed");
    assert_eq!(session.names("prompts"), ["greet", "triage"]);
    page.log.wait_for_line(0, |line| line.contains("+triage"));
}

/// The comparison needs a network and other languages: its script says the same commands, and CI runs it.
#[test]
fn comparison_is_installed_as_its_script_says() {
    let block = of_kind("sh").into_iter().find(|block| block.text.starts_with(COMPARISON)).unwrap();
    let script = read("benches/compare.py");
    let indented: String = block.text.lines().map(|line| format!("    {line}\n")).collect();
    assert!(script.contains(&format!("\n\n{indented}\n")), "{block:?}");
}

#[test]
fn install_commands_come_first() {
    let first = commands(&of_kind("sh")[0].text);
    assert_eq!(first, ["cargo run -- serve examples/servers/hello --http", "cargo test"]);
}

/// The command and its arguments of a client's entry.
fn entry(value: &Value, command: &str) -> Vec<String> {
    let mut words = vec![value[command].as_str().unwrap_or_else(|| panic!("{value} has no {command}")).to_owned()];
    words.extend(value["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()));
    words
}

#[test]
fn client_configurations_use_absolute_paths() {
    for block in of_kind("json") {
        let value: Value = serde_json::from_str(&block.text).unwrap_or_else(|error| panic!("{error}: {block:?}"));
        let (key, servers) = value.as_object().unwrap().iter().next().unwrap();
        assert!(["mcpServers", "servers", "context_servers"].contains(&key.as_str()), "{key}");
        let server = &servers["desk"];
        match server["type"].as_str() {
            Some("http") => assert_eq!(server["url"], "http://127.0.0.1:8080/mcp"),
            None | Some("stdio") => configured(&entry(server, "command")),
            other => panic!("{other:?}"),
        }
    }
    for block in of_kind("toml") {
        assert!(block.text.starts_with("[mcp_servers.desk]\n"), "{block:?}");
        let value = |key: &str| -> Value {
            let line = block.text.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
            serde_json::from_str(line.unwrap()).unwrap()
        };
        configured(&entry(&serde_json::json!({ "command": value("command"), "args": value("args") }), "command"));
    }
    let goose = of_kind("yaml").into_iter().find(|block| block.text.starts_with("extensions:")).unwrap();
    let value: Value = serde_yaml::from_str(&goose.text).unwrap();
    assert_eq!(value["extensions"]["desk"]["type"], "stdio");
    configured(&entry(&value["extensions"]["desk"], "cmd"));
}

#[test]
fn module_list_matches_the_code() {
    let block = of_kind("text").into_iter().find(|block| block.text.starts_with("diagnostic ")).unwrap();
    let told: Vec<&str> = block.text.lines().map(|line| line.split(' ').next().unwrap()).collect();
    let code = fs::read_to_string(Path::new(ROOT).join("src/lib.rs")).unwrap();
    let rooms: Vec<&str> = code.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
    assert_eq!(told, rooms);
}

/// The keys that the page names beside the actions, each where it would have an effect.
#[test]
fn unimplemented_keys_match_check() {
    let manifest = r#"
folio: 1
server: { name: later }
skills: { dir: skills }
http: { sse: true, ping: 10s }
tools:
  program:
    description: x
    rateLimit: { calls: 1, per: 1m }
    concurrency: 1
    requires: { sampling: {} }
    task: optional
    arguments: { path: { within: roots } }
    run: { exec: [ls], sandbox: { read: [skills] } }
"#;
    let folder = TestFolder::new(&[("folio.yaml", manifest), ("skills/a/SKILL.md", "---\nname: a\n---\n")]);
    let ran = run_folio(folder.path(), &["check", "--format", "json"]);
    let report: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    let late = report.iter().filter(|fault| fault["code"] == "unimplemented");
    assert_eq!(late.count(), 0, "the page names no key that is not implemented: {report:#?}");
    assert!(!read("docs/language.md").contains("Not there yet"));
}

#[test]
fn versions_match_supported_versions() {
    let page = read("README.md");
    let told = page.split("in the versions ").nth(1).unwrap().split(", over").next().unwrap().replace(" and ", ", ");
    let spoken: Vec<&str> = SESSION_VERSIONS.into_iter().chain([SESSIONLESS_VERSION]).collect();
    assert_eq!(told, spoken.join(", "));
    let cargo = fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).unwrap();
    let rust = cargo.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(page.contains(&format!("[Rust](https://rustup.rs) {rust} or newer")), "{rust}");
}

#[test]
fn every_command_is_documented() {
    let help = run_folio(Path::new(ROOT), &["--help"]).out;
    let commands = help.split("Commands:\n").nth(1).unwrap().lines().take_while(|line| !line.is_empty());
    let page = read("docs/command-line.md");
    let mut told = 0;
    for command in commands.filter_map(|line| line.split_whitespace().next()).filter(|command| *command != "help") {
        assert!(page.contains(&format!("| `folio {command}")), "{command} is not in the table");
        told += 1;
    }
    assert!(told >= 9, "{told}");
}

/// Paths of links, without those that lead elsewhere.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).map(|rest| rest.split([')', '#']).next().unwrap().to_owned());
    targets.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

#[test]
fn every_link_resolves() {
    let mut count = 0;
    for page in pages().into_iter().chain(["CHANGELOG.md".to_owned()]) {
        let folder = Path::new(ROOT).join(&page).parent().unwrap().to_owned();
        for link in links(&read(&page)) {
            assert!(folder.join(&link).exists(), "{page}: {link} leads nowhere");
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn readme_links_to_every_page() {
    let links = links(&read("README.md"));
    for page in pages().into_iter().skip(1) {
        assert!(links.contains(&page), "{page}");
    }
}

fn in_a_repository() -> bool {
    let output = Command::new("git").args(["rev-parse", "--verify", "HEAD"]).current_dir(ROOT).output();
    output.is_ok_and(|output| output.status.success())
}

/// The READMEs of the examples show commands, indented, which run from the root of the repository.
#[test]
#[expect(clippy::print_stderr, reason = "who reads the tests' output should know what was left out")]
fn every_command_in_the_examples_pages_runs() {
    let mut ran = 0;
    for example in fs::read_dir(Path::new(ROOT).join("examples/servers")).unwrap().map(Result::unwrap) {
        let page = fs::read_to_string(example.path().join("README.md")).unwrap();
        for command in page.lines().filter_map(|line| line.strip_prefix("    ")) {
            if command.contains("git-desk") && !in_a_repository() {
                eprintln!("skipped, as this is no repository or there is no git: {command}");
            } else if command.starts_with("folio serve ") {
                serve(command);
            } else if command.starts_with("folio ") {
                run(command);
            } else {
                let needs_more = command.starts_with("FOLIO_WORKSPACE=") || command.starts_with("WEATHER_API=");
                assert!(needs_more, "nobody knows `{command}`");
                continue;
            }
            ran += 1;
        }
    }
    assert!(ran >= 8, "{ran}");
}

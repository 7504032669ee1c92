//! `folio check --clients`: what named clients refuse, cut or do not show.

use crate::harness::{TestFolder, run_folio};

fn folder(server: &str, rest: &str) -> TestFolder {
    TestFolder::with_manifest(&format!("folio: 1\nserver: {{ name: {server} }}\n{rest}\n"))
}

fn lines(folder: &TestFolder, clients: &str) -> String {
    let ran = run_folio(folder.path(), &["check", "--format", "lines", "--clients", clients]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    ran.out
}

fn tools(count: usize) -> String {
    let tools = (0..count).map(|number| format!("  t{number}: {{ description: d, run: {{ exec: [ls] }} }}\n"));
    format!("tools:\n{}", tools.collect::<String>())
}

fn tool(name: &str, schema: &str) -> String {
    format!("tools:\n  {name}: {{ description: d, inputSchema: {schema}, run: {{ exec: [ls] }} }}")
}

#[test]
fn each_limit_is_reported_only_for_its_client() {
    let long = "x".repeat(59);
    let object = "{ type: object }";
    let any = "{ type: object, properties: { a: {}, b: {} }, anyOf: [{ required: [a] }, { required: [b] }] }";
    let prompt = |body: &str| format!("prompts:\n  p: {{ description: d, {body} }}");
    for (client, server, rest, said) in [
        ("claude-code", "s", tool(&long, object), "`mcp__s__xxx"),
        ("claude-code", "s", tool("t", any), "`anyOf` at the root of the input schema of `t`"),
        ("claude-desktop", "s", tool("t", "{ type: object, properties: { \"a b\": {} } }"), "argument `a b` of `t`"),
        ("claude-code", "s", prompt("title: P q, text: x"), "title of prompt `p` with a space"),
        (
            "claude-code",
            "s",
            prompt("arguments: { a: { required: true }, b: { required: true } }, text: \"{{a}}{{b}}\""),
            "2 required arguments of `p`",
        ),
        ("cursor", "server", tool(&long, object), "has 65 letters"),
        ("cursor", "s", tools(41), "41 tools"),
        ("vscode", "s", tools(129), "129 tools"),
        (
            "vscode",
            "s",
            tool("t", "{ type: object, properties: { a: { type: array } } }"),
            "no `items` in `a` of tool `t`",
        ),
        ("codex", "s", tool("t", "{ type: object, properties: { a: { items: {} } } }"), "no `type` in `a` of tool `t`"),
        ("codex", "s", tool("t", object), "no `properties` of tool `t`"),
        ("gemini", "s", tool("t", "{ type: object, required: [z] }"), "`z` is `required` and not in `properties`"),
        (
            "gemini",
            "s",
            tool("t", "{ type: object, properties: { a: { type: object, properties: { b: { enum: [1, 2] } } } } }"),
            "an `enum` of other values than texts in `b` of tool `t`",
        ),
        (
            "gemini",
            "s",
            tool("t", "{ type: object, properties: { a: { $ref: \"#/$defs/N\" } }, $defs: { N: { type: string } } }"),
            "`$ref` in `a` of tool `t`",
        ),
        ("vscode", "s", "prompts: { p: { text: x } }".to_owned(), "no description of prompt `p`"),
        ("copilot-cli", "server", tool(&long, object), "has 66 letters"),
        ("gemini", "server", tool(&long, object), "cut in the middle"),
        ("gemini", "s", prompt("messages: [{ user: a }, { user: b }]"), "2 messages of prompt `p`"),
        (
            "gemini",
            "s",
            prompt("messages: [{ user: { resource: { uri: \"a://b\", text: c } } }]"),
            "no text at the start",
        ),
        ("gemini", "s", "resources: { r: { uri: \"a://{b}\", text: \"{{b}}\" } }".to_owned(), "1 resource template"),
        ("librechat", "s", "resources: { r: { uri: \"a://{b}\", text: \"{{b}}\" } }".to_owned(), "1 resource template"),
        ("codex", "s, bridge: none", prompt("text: x"), "1 prompt"),
        ("librechat", "s, bridge: [resources]", prompt("text: x"), "1 prompt"),
        ("copilot-cli", "s, bridge: none", "resources: { r: { uri: \"a://b\", text: b } }".to_owned(), "1 resource"),
    ] {
        let folder = folder(server, &rest);
        let out = lines(&folder, client);
        let code = format!("warning[client-{client}]: ");
        assert!(out.contains(&code) && out.contains(said), "{client}: {out}");
        assert!(out.lines().all(|line| line.contains(&code) && line.contains(&format!("in `{client}`"))), "{out}");
        assert!(lines(&folder, "all").contains(&code));
        let without = run_folio(folder.path(), &["check", "--format", "lines"]).out;
        assert!(!without.contains("warning[client-") || without.contains("client-compatibility"), "{without}");
    }
}

#[test]
fn good_server_is_silent_for_all_clients() {
    let folder = folder(
        "desk",
        "tools:\n  find: { description: Find, arguments: { q: { required: true } }, run: { exec: [ls, \"{{q}}\"] } }",
    );
    assert_eq!(lines(&folder, "all"), "");
    assert_eq!(lines(&folder, "cursor,gemini,codex"), "");
}

#[test]
fn lists_that_are_offered_as_tools_are_no_warning() {
    let both = "prompts: { p: { description: d, text: x } }\nresources: { r: { uri: \"a://b\", text: b } }";
    for server in ["s", "s, bridge: auto", "s, bridge: [prompts, resources]"] {
        assert_eq!(lines(&folder(server, both), "codex,copilot-cli,librechat"), "", "{server}");
    }
}

#[test]
fn warnings_of_clients_can_be_strict_and_allowed() {
    let prompt = "prompts: { p: { description: d, text: x } }";
    let ran = run_folio(folder("s, bridge: none", prompt).path(), &["check", "--strict", "--clients", "codex"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    let allowed = TestFolder::with_manifest(&format!(
        "# folio: allow client-codex\nfolio: 1\nserver: {{ name: s, bridge: none }}\n{prompt}\n"
    ));
    assert_eq!(lines(&allowed, "codex"), "");
    assert_eq!(run_folio(allowed.path(), &["check", "--strict"]).code, Some(0));
}

#[test]
fn unknown_client_is_refused_with_the_list() {
    let ran = run_folio(folder("s", "").path(), &["check", "--clients", "cursor,emacs"]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.err.contains("emacs") && ran.err.contains("claude-code") && ran.err.contains("all"), "{}", ran.err);
}

//! The forms that files of other programs have in public repositories, each with its name, arguments and text.

use serde_json::{Value, json};

use crate::pack_formats::{arguments, check, client, listed, server_of};

/// A file, and what is served of it under the name `a`.
struct Form<'f> {
    text: &'f str,
    /// Those that are required end with `!`.
    arguments: &'f [&'f str],
    given: Value,
    expected: &'f str,
}

fn form<'f>(text: &'f str, arguments: &'f [&'f str], given: Value, expected: &'f str) -> Form<'f> {
    Form { text, arguments, given, expected }
}

/// Serves all forms at once, one in each file `NTH…`.
#[track_caller]
fn assert_forms(format: &str, path: impl Fn(usize) -> String, forms: &[Form<'_>]) {
    let files: Vec<(String, &str)> = forms.iter().enumerate().map(|(nth, form)| (path(nth), form.text)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let folder = server_of(&format!("prefix: '', format: {format}"), &files);
    let (code, checked) = check(&folder);
    assert_eq!(code, Some(0), "{checked}");
    let client = client(&folder);
    let prompts = client.list("prompts");
    assert_eq!(prompts.len(), forms.len(), "{checked}");
    for (nth, form) in forms.iter().enumerate() {
        let name = format!("a{nth}");
        assert_eq!(arguments(&prompts, &name), form.arguments, "{}", form.text);
        assert_eq!(client.get_text(&name, form.given.clone()), form.expected, "{}", form.text);
    }
}

const HINT: &str = "---\nargument-hint: x\n---\n";

#[test]
fn claude_commands_have_these_forms() {
    let all: &[&str] = &["arguments"];
    let hinted = |text: &str| format!("{HINT}{text}");
    let (money, shell, braces) = (
        hinted("Costs $1,500, $2.50, $3k, $10 and $4."),
        hinted("awk '{print $1}' $ARGUMENTS"),
        hinted("${1} ${ARGUMENTS} $$1 $"),
    );
    assert_forms(
        "claude-commands",
        |nth| format!("commands/a{nth}.md"),
        &[
            form("$ARGUMENTS, $ARGUMENTS, \"$ARGUMENTS\"", all, json!({ "arguments": "q" }), "q, q, \"q\""),
            form(
                "---\narguments: $QUERY\n---\nFind $QUERY.",
                &["arguments", "QUERY"],
                json!({ "QUERY": "q" }),
                "Find q.",
            ),
            form("<task>$ARGUMENTS</task>'s", all, json!({ "arguments": "q" }), "<task>q</task>'s"),
            form("```\n$ARGUMENTS\n```", all, json!({ "arguments": "q" }), "```\nq\n```"),
            form(
                "$ARGUMENTS_X $arguments",
                all,
                json!({ "arguments": "q" }),
                "$ARGUMENTS_X $arguments\n\nARGUMENTS: q",
            ),
            form("T\r\n", all, json!({ "arguments": "q" }), "T\n\nARGUMENTS: q"),
            form("T\n\n\n", all, json!({}), "T\n\n\n"),
            form("T", all, json!({ "arguments": "" }), "T"),
            form("Pay $1 or $5", all, json!({ "arguments": "q" }), "Pay $1 or $5\n\nARGUMENTS: q"),
            form("SELECT $1, $2", all, json!({}), "SELECT $1, $2"),
            form("```\nawk '{print $1}' f\n```", all, json!({}), "```\nawk '{print $1}' f\n```"),
            form(
                &money,
                &["arguments", "arg4"],
                json!({ "arguments": "a b c d" }),
                "Costs $1,500, $2.50, $3k, $10 and d.",
            ),
            form(&shell, &["arguments", "arg1"], json!({ "arguments": "f" }), "awk '{print f}' f"),
            form(&braces, &["arguments", "arg1"], json!({ "arg1": "v" }), "${1} ${ARGUMENTS} $v $"),
            form("$ARGUMENTS[x] $ARGUMENTS[999999]", all, json!({ "arguments": "v" }), "v[x] v[999999]"),
            form("$ARGUMENTS[0] $0 $1", &["arguments", "arg1", "arg2"], json!({ "arguments": "a b" }), "a a b"),
            form(
                "---\narguments: issue branch\n---\n$issue $branch $0",
                &["arguments", "issue", "branch"],
                json!({ "arguments": "1 'b c'" }),
                "1 b c 1",
            ),
            form(
                "---\narguments: [a, ab]\n---\n$ab $a $ARGUMENTS",
                &["arguments", "a", "ab"],
                json!({ "a": "1", "ab": "2" }),
                "2 1 1 2",
            ),
            form("---\narguments: [a]\n---\nText", &["arguments", "a"], json!({}), "Text"),
            form("{{x}} {{#if a}}b{{/if}} {{> p}}", all, json!({}), "{{x}} {{#if a}}b{{/if}} {{> p}}"),
            form("---\r\ndescription: D\r\n---\r\n\r\nT\r\n", all, json!({}), "T\r\n"),
            form("---  \ndescription: D\n---\t\nT", all, json!({}), "T"),
            form("---\n---\nT", all, json!({}), "T"),
            form("---\ndescription: D\n---\n\n\n  T\n\n---\n\nU\n", all, json!({}), "  T\n\n---\n\nU\n"),
            form("# T\n\n---\n\nx: y\n\n---\nU", all, json!({}), "# T\n\n---\n\nx: y\n\n---\nU"),
        ],
    );
}

#[test]
fn front_matter_is_read_as_its_author_means_it() {
    let cases = [
        ("description: D\nargument-hint: [issue-number]", "D", Some("[issue-number]")),
        ("description: D\nargument-hint: [a] [b]", "D", Some("[a] [b]")),
        ("argument-hint: [a | b] [--flag] <c>\ndescription: D", "D", Some("[a | b] [--flag] <c>")),
        ("description: D\nargument-hint: <pr> [--draft]", "D", Some("<pr> [--draft]")),
        ("description: D\nargument-hint: [file, lines]", "D", Some("[file, lines]")),
        ("description: D\nargument-hint: [\"file\"] # which", "D", Some("[\"file\"]")),
        ("description: D\nargument-hint: {name}", "D", Some("{name}")),
        ("description: D\nargument-hint: [a: b]", "D", Some("[a: b]")),
        ("description: D\nargument-hint: \"[a] [b]\"", "D", Some("[a] [b]")),
        ("description: D\nargument-hint:\n  - a\n  - b", "D", Some("[a, b]")),
        ("description: D\nargument-hint: 12", "D", Some("12")),
        ("description: D\nargument-hint:", "D", None),
        ("description: Use: when\nallowed-tools: Bash(git add:*), Read", "Use: when", None),
        ("description: [WIP] Do it", "[WIP] Do it", None),
        ("description: `x` does", "`x` does", None),
        ("description: @agent does", "@agent does", None),
        ("description: \"One\" and 'two'", "\"One\" and 'two'", None),
        ("description: One\nallowed-tools: *", "One", None),
        ("allowed-tools:\n\t- Read\ndescription: D", "D", None),
        ("description: >\n  One\n  two", "One two", None),
        ("description: |\n  One\n  two\nx: [", "One two", None),
        ("description: 🚀 Ship: now", "🚀 Ship: now", None),
        ("description: One\ndescription: Two", "Two", None),
    ];
    let texts = cases.map(|(front_matter, ..)| format!("---\n{front_matter}\n---\nT $ARGUMENTS"));
    let crlf = texts.clone().map(|text| text.replace('\n', "\r\n"));
    for texts in [texts, crlf] {
        let paths: Vec<String> = (0..texts.len()).map(|nth| format!("commands/a{nth}.md")).collect();
        let files: Vec<(&str, &str)> =
            paths.iter().zip(&texts).map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let folder = server_of("prefix: ''", &files);
        assert_eq!(check(&folder).0, Some(0));
        let client = client(&folder);
        let prompts = client.list("prompts");
        for (nth, (front_matter, description, hint)) in cases.iter().enumerate() {
            let prompt = listed(&prompts, &format!("a{nth}"));
            assert_eq!(prompt["description"], *description, "{front_matter}");
            assert_eq!(prompt["arguments"][0]["description"], json!(hint), "{front_matter}");
            assert_eq!(client.get_text(&format!("a{nth}"), json!({ "arguments": "v" })), "T v", "{front_matter}");
        }
    }
}

#[test]
fn hint_of_two_lists_is_read_with_its_positions() {
    let text = "---\nallowed-tools: Bash(gh:*), Read\nargument-hint: [issue] [branch]\n---\nFix $1 on $2 ($ARGUMENTS).";
    let folder = server_of("prefix: ''", &[("commands/fix.md", text)]);
    let client = client(&folder);
    let prompts = client.list("prompts");
    assert_eq!(arguments(&prompts, "fix"), ["arguments", "arg1", "arg2"]);
    assert_eq!(listed(&prompts, "fix")["arguments"][0]["description"], "[issue] [branch]");
    for given in [json!({ "arg1": "7", "arg2": "main" }), json!({ "arguments": "7 main" })] {
        assert_eq!(client.get_text("fix", given), "Fix 7 on main (7 main).");
    }
    let (code, checked) = check(&folder);
    assert_eq!(code, Some(0));
    assert!(checked.contains("read line by line\n --> foreign/commands/fix.md:3:"), "{checked}");
}

#[test]
fn gemini_commands_have_these_forms() {
    let args: &[&str] = &["args"];
    let given = || json!({ "args": "v w" });
    assert_forms(
        "gemini-commands",
        |nth| format!("commands/a{nth}.toml"),
        &[
            form("prompt = \"Do\"", args, given(), "Do\n\n/a0 v w"),
            form("prompt = \"\"\"\nOne\n\nTwo {{args}}\n\"\"\"\n", args, given(), "One\n\nTwo v w\n"),
            form("prompt = '''\nC:\\x {{args}}\n'''\n", args, given(), "C:\\x v w\n"),
            form("prompt = \"\"\"\\\n  One \\\n  two {{args}}\"\"\"\n", args, given(), "One two v w"),
            form("prompt = \"a\\tb\\u00e9 {{args}}\"", args, given(), "a\tbé v w"),
            form(
                "prompt = \"!{awk '{ if ($1) { print } }' f} {{args}} @{a/b.md}\"",
                args,
                given(),
                "!{awk '{ if ($1) { print } }' f} v w @{a/b.md}",
            ),
            form("prompt = \"!{echo { } {{args}}\"", args, given(), "!{echo { } v w"),
            form("prompt = \"!{grep {{args}} .}\"", args, given(), "!{grep {{args}} .}\n\n/a7 v w"),
            form("prompt = \"{{ args }} {{x}}\"", args, given(), "{{ args }} {{x}}\n\n/a8 v w"),
            form("name = \"n\"\nprompt = \"P\"\n[meta]\na = 1\n", args, json!({}), "P"),
            form("description = 1\nprompt = \"P\"", args, json!({}), "P"),
            form("description = \"D\"\r\nprompt = \"\"\"\r\nA {{args}}\r\n\"\"\"\r\n", args, given(), "A v w\r\n"),
            form("prompt = \"$1 $ARGUMENTS ${input:x}\"", args, json!({}), "$1 $ARGUMENTS ${input:x}"),
        ],
    );
    let folder = server_of("prefix: ''", &[(".gemini/commands/git/my fix.toml", "prompt = 'Do'")]);
    assert_eq!(client(&folder).get_text("git-my-fix", given()), "Do\n\n/git:my fix v w");
}

#[test]
fn vscode_prompts_have_these_forms() {
    let editor = "${file} ${selection} ${selectedText} ${workspaceFolder} ${fileBasename} ${fileDirname}";
    let names: &[&str] = &["file", "selection", "selectedText", "workspaceFolder", "fileBasename", "fileDirname"];
    let given = || json!({ "x": "v" });
    assert_forms(
        "vscode-prompts",
        |nth| format!(".github/prompts/a{nth}.prompt.md"),
        &[
            form("${input:x} ${input:x:H} ${input:x|a,b}", &["x!"], given(), "v v v"),
            form("${input:x:e.g. https://x.org}!", &["x!"], given(), "v!"),
            form("${input:x:hint with {braces} in} end", &["x!"], given(), "v end"),
            form("${input:x:like ${file} or {{y}}} end", &["x!"], given(), "v end"),
            form("${input:A b} ${input:c.d}", &["A_b!", "c_d!"], json!({ "A_b": "1", "c_d": "2" }), "1 2"),
            form("${input:} ${input} ${input:x", &[], json!({}), "${input:} ${input} ${input:x"),
            form("${input:x:a\nb}", &[], json!({}), "${input:x:a\nb}"),
            form(editor, names, json!({}), editor),
            form("${env:H} ${command:x} ${H} `${b.c}`", &[], json!({}), "${env:H} ${command:x} ${H} `${b.c}`"),
            form("---\nmode: agent\ntools: ['a', \"b\"]\nmodel: GPT\n---\nDo", &[], json!({}), "Do"),
            form("---\nmode: agent\ntools: [a, b\n---\nDo", &[], json!({}), "Do"),
            form("```\n${input:x}\n``` [l](../y.md) #file:z", &["x!"], given(), "```\nv\n``` [l](../y.md) #file:z"),
            form("---\r\nmode: ask\r\n---\r\nDo ${input:x}\r\n", &["x!"], given(), "Do v\r\n"),
        ],
    );
    let hint = "${input:x:hint with {braces} in}";
    let folder = server_of("prefix: ''", &[("a.prompt.md", hint)]);
    assert_eq!(client(&folder).list("prompts")[0]["arguments"][0]["description"], "hint with {braces} in");
}

#[test]
fn fabric_patterns_have_these_forms() {
    let input: &[&str] = &["input!"];
    let given = || json!({ "input": "T" });
    assert_forms(
        "fabric",
        |nth| format!("patterns/a{nth}/system.md"),
        &[
            form("# INPUT:\n\nINPUT:\n", input, given(), "# INPUT:\n\nINPUT:\n\nT"),
            form("Sum.\n\nINPUT: ", input, given(), "Sum.\n\nINPUT:\n\nT"),
            form("A\r\n\r\nINPUT:\r\n", input, given(), "A\r\n\r\nINPUT:\n\nT"),
            form(
                "{{input}} {{input}}",
                input,
                json!({ "input": "{{input}} {{x}}" }),
                "{{input}} {{x}} {{input}} {{x}}",
            ),
            form("{{role}}", &["input!", "role"], given(), "{{role}}\n\nT"),
            form(
                "{{my-var}} {{Role_2}}",
                &["input!", "my-var", "Role_2"],
                json!({ "input": "", "my-var": "v", "Role_2": "" }),
                "v ",
            ),
            form("{{plugin:datetime:now}} {{ input }}", input, given(), "{{plugin:datetime:now}} {{ input }}\n\nT"),
            form("const a = {{b: 1}}; {{}} {{#if a}}", input, given(), "const a = {{b: 1}}; {{}} {{#if a}}\n\nT"),
            form("---\ntitle: x\n---\nBody\n---\n", input, given(), "---\ntitle: x\n---\nBody\n---\n\nT"),
            form("$1 $ARGUMENTS ${input:x} {{input}}", input, given(), "$1 $ARGUMENTS ${input:x} T"),
        ],
    );
    let explained = "# Brief\n\n1. **a**: Does A: well.\n2. **b:** Does B.\n- **c** - Does C.\n4. **d**:\n";
    let files = ["a", "b", "c", "d"].map(|name| (format!("{name}/system.md"), "X"));
    let mut files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    files.push(("pattern_explanations.md", explained));
    let prompts = client(&server_of("prefix: '', format: fabric", &files)).list("prompts");
    let described = ["a", "b", "c", "d"].map(|name| listed(&prompts, name)["description"].clone());
    assert_eq!(described, [json!("Does A: well."), json!("Does B."), json!("Does C."), Value::Null]);
}

#[test]
fn rows_of_csv_have_these_forms() {
    let rows: &[(&str, &str, &str, &[&str], &str)] = &[
        ("a,\"Do, \"\"now\"\"\nand then\"", "a", "a", &[], "Do, \"now\"\nand then"),
        ("B,${R:1} ${R:2} ${R}", "b", "B", &["R"], "1 2 1"),
        ("C,a${R:}b ${U:https://x.org}", "c", "C", &["R", "U"], "ab https://x.org"),
        ("D,\"${U:a, b} ${V:one\ntwo}\"", "d", "D", &["U", "V"], "a, b one\ntwo"),
        ("E,${My Role: a cook}", "e", "E", &["My_Role"], "a cook"),
        ("F,{x} {{y}} [z] $1 $ARGUMENTS", "f", "F", &[], "{x} {{y}} [z] $1 $ARGUMENTS"),
        (
            "G,\"`${index + 1}` ${f(x)} ${a[0]} ${x ? 1 : 2}\"",
            "g",
            "G",
            &[],
            "`${index + 1}` ${f(x)} ${a[0]} ${x ? 1 : 2}",
        ),
        ("C++ / C# (v2)!,Do", "c-c-v2", "C++ / C# (v2)!", &[], "Do"),
        ("Mom's Éclair,Do", "mom-s-clair", "Mom's Éclair", &[], "Do"),
        ("\"`Act` \"\"X\"\"\",Do,extra,columns", "act-x", "`Act` \"X\"", &[], "Do"),
        ("f,Again", "f-2", "f", &[], "Again"),
    ];
    for line_break in ["\n", "\r\n"] {
        let table: Vec<&str> = rows.iter().map(|(row, ..)| *row).collect();
        let table = format!(
            "\u{feff}\"act\",\"Prompt\",for_devs,type{line_break}{}{line_break}{line_break}",
            table.join(line_break)
        );
        let folder = server_of("prefix: ''", &[("prompts.csv", &table)]);
        let client = client(&folder);
        let prompts = client.list("prompts");
        for (row, name, title, names, text) in rows {
            assert_eq!(listed(&prompts, name)["title"], *title, "{row}");
            assert_eq!(arguments(&prompts, name), *names, "{row}");
            assert_eq!(client.get_text(name, json!({})), *text, "{row}");
        }
        assert_eq!(prompts.len(), rows.len());
    }
}

#[test]
fn names_are_made_of_paths_of_every_kind() {
    let cases = [
        ("commands/git/commit.md", "git-commit"),
        ("commands/x/commands/y.md", "y"),
        ("my-commands/a.md", "my-commands-a"),
        ("commands/my cmd (1).md", "my-cmd-1"),
        ("commands/a.b.md", "a-b"),
        ("commands/🚀 ship.md", "ship"),
        ("commands/🚀.md", "prompt"),
        ("commands/日本-go.md", "go-2"),
        ("commands/go-日本.md", "go"),
        ("commands/it's $x & #1.md", "it-s-x-1"),
        ("commands/-a_B-.md", "-a_B-"),
        ("commands/caf\u{e9} noir.md", "caf-noir"),
    ];
    let files: Vec<(&str, &str)> = cases.iter().map(|(path, name)| (*path, *name)).collect();
    let folder = server_of("prefix: '', format: claude-commands", &files);
    let client = client(&folder);
    let names = client.names("prompts");
    assert_eq!(names.len(), cases.len(), "{names:?}");
    for name in names {
        assert_eq!(client.get_text(&name, json!({})), name);
    }
}

#[test]
fn links_and_folders_of_git_are_never_read() {
    let folder = server_of(
        "prefix: ''",
        &[
            ("commands/a.md", "A"),
            ("commands/.git/b.md", "B"),
            (".git/commands/c.md", "C"),
            ("commands/node_modules/d.md", "D"),
            ("commands/ReadMe.md", "E"),
            ("commands/F.MD", "F"),
            ("commands/.hidden/g.md", "G"),
            ("commands/.h.md", "H"),
        ],
    );
    folder.write("outside/commands/x.md", "X");
    let at = |path: &str| folder.path().join(path);
    std::os::unix::fs::symlink(at("outside/commands/x.md"), at("foreign/commands/link.md")).unwrap();
    std::os::unix::fs::symlink("a.md", at("foreign/commands/inner.md")).unwrap();
    std::os::unix::fs::symlink(at("outside"), at("foreign/linked")).unwrap();
    assert_eq!(client(&folder).names("prompts"), ["h", "hidden-g", "a"]);
    assert_eq!(check(&folder).0, Some(0));
}

#[test]
fn skill_with_broken_front_matter_is_named_by_check() {
    let files = [
        ("skills/colon/SKILL.md", "---\nname: colon\ndescription: Use this: always\n---\nDo"),
        ("skills/open/SKILL.md", "---\nname: open\ndescription: D\n\nDo"),
        ("skills/bare/SKILL.md", "Do"),
        ("skills/words/SKILL.md", "---\nJust words\n---\nDo"),
        ("skills/fine/SKILL.md", "---\nname: fine\ndescription: D\nlicense: MIT\nmetadata: { author: x }\n---\nDo"),
    ];
    let folder = server_of("prefix: ''", &files);
    let client = client(&folder);
    let prompts = client.list("prompts");
    assert_eq!(client.names("prompts"), ["bare", "colon", "fine", "open", "words"]);
    assert_eq!(listed(&prompts, "colon")["description"], "Use this: always");
    let skills = client.request("skills/list", json!({}));
    let uris: Vec<&Value> = skills["result"]["skills"].as_array().unwrap().iter().map(|skill| &skill["uri"]).collect();
    assert_eq!(uris, [&json!("skill://skills/fine/SKILL.md")]);
    let (code, checked) = check(&folder);
    assert_eq!(code, Some(0), "{checked}");
    for (name, _) in files.iter().filter(|(path, _)| !path.contains("fine")) {
        let is_named =
            |block: &&str| block.contains("not in `skills/list`") && block.contains(&format!("--> foreign/{name}:"));
        assert!(checked.split("\n\n").any(|block| is_named(&block)), "{name}: {checked}");
        assert_eq!(checked.matches(&format!("--> foreign/{name}:")).count(), 1, "{name}: {checked}");
    }
    assert!(!checked.contains("skills/fine"), "{checked}");
}

//! What `folio check` tells an author to write instead of a mistake: one diagnostic for each, with the mend.

use crate::harness::{TestFolder, run_folio};

const HEAD: &str = "folio: 1\nserver: { name: t }\n";

/// Checks a manifest with one fault, and looks for these parts of what is said.
#[track_caller]
fn assert_suggests(rest: &str, parts: &[&str]) {
    let folder = TestFolder::with_manifest(&format!("{HEAD}{rest}\n"));
    folder.write("build.sh", "echo hello\n");
    folder.write("build.py", "print()\n");
    let ran = run_folio(folder.path(), &["check"]);
    let count = ran.out.lines().last().unwrap_or_default();
    assert!(count == "1 error" || count == "1 warning", "{}", ran.out);
    for part in parts {
        assert!(ran.out.contains(part), "`{part}` is not in\n{}", ran.out);
    }
}

/// A tool with this action, without its description.
fn tool(run: &str) -> String {
    format!("tools: {{ t: {{ description: d, arguments: {{ x: {{}} }}, run: {run} }} }}")
}

#[test]
fn keys_of_other_formats_in_a_step_have_their_names() {
    assert_suggests(&tool("[{ if: x, exec: [ls] }]"), &["unknown key `if`", "write `when`"]);
    for timeout in ["10", "10 seconds", "10s"] {
        let run = format!("{{ exec: [ls], timeout: {timeout} }}");
        assert_suggests(
            &tool(&run),
            &["unexpected key `timeout` for action `exec`", "write `timeout: 10s` next to `run`"],
        );
    }
    assert_suggests(
        &tool("{ exec: [ls], timeout: soon }"),
        &["unexpected key `timeout`", "write `timeout` next to `run`"],
    );
}

#[test]
fn program_with_arguments_is_shown_as_one_list() {
    for (run, help) in [
        ("{ command: ls, args: [\"{{x}}\"] }", "write `exec: [ls, \"{{x}}\"]`"),
        ("{ command: git log, args: [-n, \"{{x}}\"] }", "write `exec: [git, log, -n, \"{{x}}\"]`"),
        ("{ exec: ls, args: [\"{{x}}\"] }", "write `exec: [ls, \"{{x}}\"]`"),
        ("{ exec: { command: ls, args: [\"{{x}}\"] } }", "write `[ls, \"{{x}}\"]`"),
        ("[{ cmd: ls, arguments: [\"{{x}}\"] }]", "write `exec: [ls, \"{{x}}\"]`"),
        ("{ command: \"ls {{x}}\" }", "write `exec: [ls, \"{{x}}\"]`"),
        ("{ command: \"ls {{x}} | wc\" }", "write `script: { shell: sh, text: … }`"),
    ] {
        assert_suggests(&tool(run), &["error[unknown-key]: unknown key `", help]);
    }
}

#[test]
fn body_of_json_is_shown_as_json() {
    let request = |more: &str| tool(&format!("{{ http: {{ method: POST, url: \"http://127.0.0.1/\", {more} }} }}"));
    assert_suggests(&request("body: { a: \"{{x}}\" }"), &["found a map", "write `json: { a: \"{{x}}\" }`"]);
    assert_suggests(&request("body: [\"{{x}}\"]"), &["found a list", "write `json: [\"{{x}}\"]`"]);
    let post = tool("{ http: { post: \"http://127.0.0.1/\", json: \"{{x}}\" } }");
    assert_suggests(&post, &["unknown key `post`", "write `method: POST, url: \"http://127.0.0.1/\"`"]);
}

#[test]
fn script_of_a_file_is_shown_as_its_text() {
    let help = "write `{ shell: sh, text: { file: build.sh } }`";
    assert_suggests(&tool("{ script: { file: build.sh } }"), &["unknown key `file`", help]);
    assert_suggests(&tool("{ script: { file: build.py } }"), &["write `{ shell: python3, text: { file: build.py } }`"]);
    assert_suggests(&tool("{ script: { shell: sh, file: build.sh } }"), &["write `text: { file: build.sh }`"]);
    assert_suggests(&tool("{ script: { shell: sh, run: 'echo $x' } }"), &["unknown key `run`", "write `text`"]);
}

#[test]
fn json_schema_is_shown_as_arguments() {
    let schema = "{ type: object, properties: { who: { type: string }, n: { type: integer } }, required: [who] }";
    let help = "write `arguments: { who: { type: string, required: true }, n: { type: integer } }`";
    assert_suggests(&format!("prompts: {{ p: {{ arguments: {schema}, text: \"{{{{who}}}} {{{{n}}}}\" }} }}"), &[help]);
    let tool = format!(
        "tools: {{ t: {{ description: d, arguments: {schema}, run: {{ exec: [ls, \"{{{{who}}}}\", \"{{{{n}}}}\"] }} }} }}"
    );
    assert_suggests(&tool, &["expected the arguments by name, found a JSON Schema", help]);
}

#[test]
fn scalars_instead_of_lists_are_corrected_and_units_named() {
    assert_suggests(&tool("{ exec: [ls, \"{{x}}\"], okExit: 0 }"), &["expected a list, found `0`", "write `[0]`"]);
    assert_suggests(&tool("{ exec: [ls, \"{{x}}\"], okExit: \"1\" }"), &["write `[1]`"]);
    let http = "{ http: { url: \"http://127.0.0.1/{{x}}\", expect: 404 } }";
    assert_suggests(&tool(http), &["expected a list, found `404`", "write `[404]`"]);
    assert_suggests(
        "tools: { t: { description: d, timeout: 10, run: { exec: [ls] } } }",
        &["found `10`", "write `10s`"],
    );
    assert_suggests("tools: { t: { description: d, maxOutput: 4096, run: { exec: [ls] } } }", &["write `4096B`"]);
    assert_suggests("tools: { t: { description: d, maxOutput: 10KB, run: { exec: [ls] } } }", &["write `10KiB`"]);
    assert_suggests("tools: { t: { description: d, timeout: 5 min, run: { exec: [ls] } } }", &["write `5m`"]);
}

#[test]
fn names_are_shown_with_dashes() {
    assert_suggests("prompts: { my prompt: { text: x } }", &["invalid name `my prompt`", "write `my-prompt`"]);
    assert_suggests("prompts: { a.b/c: { text: x } }", &["write `a-b-c`"]);
}

#[test]
fn misordered_and_unknown_steps_have_distinct_errors() {
    let later =
        "[{ id: a, exec: [cat, \"{{steps.b.stdout}}\"] }, { id: b, exec: [date, \"{{steps.a.stdout}}{{x}}\"] }]";
    assert_suggests(&tool(later), &["step `b` comes later", "move it before this step"]);
    let own = "[{ id: a, exec: [cat, \"{{steps.a.stdout}}{{x}}\"] }]";
    assert_suggests(&tool(own), &["step `a` is this one", "use its outcome in a later step"]);
    let stdin = "[{ exec: [cat, \"{{x}}\"], stdin: { from: b } }, { id: b, exec: [date] }]";
    assert_suggests(&tool(stdin), &["step `b` comes later"]);
    assert_suggests(&tool("[{ id: a, exec: [cat, \"{{steps.c.stdout}}{{x}}\"] }]"), &["unknown field `c` of `steps`"]);
}

#[test]
fn unused_names_are_written_out_in_the_help() {
    assert_suggests("prompts: { p: { arguments: { who: {} }, text: hi } }", &["use it as `{{who}}`, or remove it"]);
    assert_suggests("env: { CITY: {} }", &["use it as `{{env.CITY}}`, or remove it"]);
    let step = "[{ id: day, exec: [date] }, { exec: [ls, \"{{x}}\"] }]";
    assert_suggests(&tool(step), &["use it as `{{steps.day}}`, or remove the `id`"]);
}

#[test]
fn variable_that_a_script_is_not_passed_is_unused() {
    let script =
        |more: &str| format!("env: {{ TOKEN: {{ secret: true }} }}\n{}", tool(&format!("{{ script: {more} }}")));
    let help = "write `env: { TOKEN: \"{{env.TOKEN}}\" }` beside it";
    assert_suggests(&script("{ shell: sh, text: 'curl -H \"$TOKEN\" $x' }"), &["variable `TOKEN` is never used", help]);
    let folder = TestFolder::with_manifest(&format!("{HEAD}{}\n", script("{ shell: sh, text: { file: get.sh } }")));
    folder.write("get.sh", "curl -H \"$TOKEN\" $x\n");
    let ran = run_folio(folder.path(), &["check"]);
    assert!(ran.out.contains(help), "{}", ran.out);
    let passed = "env: { TOKEN: { secret: true } }\ntools: { t: { description: d, run: { script: { shell: sh, text: 'curl $TOKEN' }, env: { TOKEN: \"{{env.TOKEN}}\" } } } }\n";
    let ran = run_folio(TestFolder::with_manifest(&format!("{HEAD}{passed}")).path(), &["check"]);
    assert!(ran.out.contains("no errors, no warnings"), "{}", ran.out);
}

const TESTED: &str = "env: { TOKEN: { default: abc } }\ntools: { t: { description: d, run: { exec: [ls, \"{{env.TOKEN}}\"] } } }\ntests: { ";

#[test]
fn errors_of_tests_are_located() {
    for (test, parts) in [
        (
            "a: { tool: t, mock: { exec: { stdot: x } }, expect: { contains: x } }",
            &["unknown key `stdot`", "did you mean `stdout`?"][..],
        ),
        (
            "a: { tool: t, mock: { exec: [{}, { code: 1 }] }, expect: { contains: x } }",
            &["unknown key `code`", "has `exit`, `stdout`, `stderr`"],
        ),
        (
            "a: { tool: t, mock: { exec: { exit: one } }, expect: { contains: x } }",
            &["invalid mock of `exec`", "for example `exec: {"],
        ),
        (
            "a: { tool: t, mock: { env: { TOKN: x } }, expect: { contains: x } }",
            &["undeclared variable `TOKN`", "did you mean `TOKEN`?"],
        ),
        (
            "a: { tool: t, mock: { env: { CITY: x } }, expect: { contains: x } }",
            &["undeclared variable `CITY`", "`env: { CITY: {} }`"],
        ),
        ("a: { tool: t, expect: a }", &["expected a map, found a string", "write `{ contains: a }`"]),
        (
            "a: { tool: t, cases: [{ expect: [a, b] }] }",
            &["expected a map, found a list", "write `{ contains: [a, b] }`"],
        ),
        (
            "a: { tool: t, cases: [{ name: n, expect: { contains: a } }, { name: n, expect: { contains: b } }] }",
            &["duplicate case `n`", "first defined here"],
        ),
        (
            "a: { tool: t, cases: [{ name: 2, expect: { contains: a } }, { expect: { contains: b } }] }",
            &["duplicate case `2`"],
        ),
        (
            "a: { tool: t, cases: [{ name: n, expect: { contains: a } }] }, a (n): { tool: t, expect: { contains: b } }",
            &["duplicate test `a (n)`"],
        ),
    ] {
        assert_suggests(&format!("{TESTED}{test} }}"), parts);
    }
}

#[test]
fn help_for_an_unknown_argument_lists_twenty() {
    let names: Vec<String> = (0..25).map(|nth| format!("number{nth:02}")).collect();
    let declared: String = names.iter().map(|name| format!("{name}: {{}}, ")).collect();
    let used: String = names.iter().map(|name| format!("{{{{{name}}}}}")).collect();
    let prompt = format!("prompts: {{ p: {{ arguments: {{ {declared} }}, text: \"{used}\" }} }}");
    let test = "tests: { t: { prompt: p, arguments: { zz: 1 }, expect: { contains: x } } }";
    assert_suggests(&format!("{prompt}\n{test}"), &["unknown argument `zz` of `p`", "expected one of `number00`, "]);
    assert_suggests(&format!("{prompt}\n{test}"), &["`number19`, …"]);
}

#[test]
fn values_with_brackets_are_not_quoted_for_the_author() {
    for (value, parts) in [
        ("exec: [ls]", &["a second key on one line", "write `exec: [ls]` on a line of its own"][..]),
        ("a: {b}", &["a second key on one line"]),
        ("[x] do: this", &["text after `]`", "quote it if it is a text: `\"[x] do: this\"`"]),
        ("{a}: b", &["text after `}`"]),
    ] {
        let rest = format!("prompts:\n  p:\n    text: {value}");
        assert_suggests(&rest, parts);
        let manifest = format!("{HEAD}{rest}\n");
        let folder = TestFolder::with_manifest(&manifest);
        let ran = run_folio(folder.path(), &["check", "--fix"]);
        assert_eq!(std::fs::read_to_string(folder.join("folio.yaml")).unwrap(), manifest, "{}", ran.err);
    }
    for value in ["see: [x](y)", "a: {{b}}"] {
        let help = format!("write `\"{value}\"`");
        assert_suggests(&format!("prompts:\n  p:\n    text: {value}"), &["unquoted text with `: ` in it", &help]);
    }
}

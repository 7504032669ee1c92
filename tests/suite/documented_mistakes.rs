//! Mistakes that authors make, each with the one diagnostic that it gives, and right manifests that give none.
//!
//! `tests/fixtures/mistakes.txt` is a list of cases:
//!
//! ```text
//! --- TITLE
//! the manifest, below a version and a server unless it has its own or begins with #!
//! +++ PATH
//! another file; `+++ PATH latin1` for one that is not UTF-8
//! >>> LINE[ of PATH]: SEVERITY[CODE]: MESSAGE
//! ```
//!
//! `UPDATE=1 cargo test --test suite mistakes` writes the last lines anew, and git shows what has changed.
//! `right.txt` has cases of the same form, without a last line.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use folio::Folder;
use folio::{BuildOutcome, build};
use folio::{Code, Diagnostic, Report};
use folio::{EnvSource, ManifestLocation, load};

const HEAD: &str = "folio: 1\nserver: { name: t }\n";

pub struct Case {
    title: String,
    /// The text of the case in its file.
    written: String,
    pub files: BTreeMap<String, Vec<u8>>,
    expected: String,
}

impl Case {
    pub fn title(&self) -> &str {
        &self.title
    }
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub fn cases(name: &str) -> Vec<Case> {
    let text = fs::read_to_string(path(name)).unwrap();
    let whole = format!("\n{text}");
    whole.split("\n--- ").skip(1).map(|case| read_case(case.trim_end_matches('\n'))).collect()
}

fn read_case(text: &str) -> Case {
    let (body, expected) = match text.split_once("\n>>> ") {
        Some((body, expected)) => (body, expected.trim_end()),
        None => (text, ""),
    };
    let (title, body) = body.split_once('\n').unwrap_or((body, ""));
    let mut files = BTreeMap::new();
    let body = format!("{body}\n");
    let mut parts = body.split("+++ ");
    let manifest = parts.next().unwrap();
    let manifest = match manifest.strip_prefix("#!") {
        Some(own) => own.to_owned(),
        None if manifest.starts_with("folio:") => manifest.to_owned(),
        None => format!("{HEAD}{manifest}"),
    };
    files.insert("folio.yaml".to_owned(), escaped(&manifest));
    for part in parts {
        let (head, text) = part.split_once('\n').unwrap();
        let bytes = match head.strip_suffix(" latin1") {
            Some(_) => text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect(),
            None => escaped(text),
        };
        files.insert(head.split(' ').next().unwrap().to_owned(), bytes);
    }
    Case { title: title.to_owned(), written: format!("--- {title}\n{body}"), files, expected: expected.to_owned() }
}

/// A text with `‹CR›`, `‹BOM›`, `‹TAB›` and `‹U+00A0›` as what they are named after, which no editor keeps or shows.
fn escaped(text: &str) -> Vec<u8> {
    let mut parts = text.split('‹');
    let mut written = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('›').unwrap_or_else(|| panic!("no end of ‹{part}"));
        let character = match name {
            "CR" => '\r',
            "BOM" => '\u{feff}',
            "TAB" => '\t',
            code => char::from_u32(u32::from_str_radix(&code[2..], 16).unwrap()).unwrap(),
        };
        written.push(character);
        written.push_str(rest);
    }
    written.into_bytes()
}

pub fn check(files: &BTreeMap<String, Vec<u8>>) -> BuildOutcome {
    let environment =
        EnvSource::Fixed(BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())]));
    build(load(&ManifestLocation::in_memory(Folder::in_memory(files.clone())), &environment))
}

fn line(report: &Report, diagnostic: &Diagnostic) -> String {
    let span = diagnostic.span.unwrap_or_else(|| panic!("no place: {}", diagnostic.message));
    let source = report.sources.get(span.file).unwrap();
    let line = source.position(span.start).line;
    let file = source.path().display().to_string();
    let of = if file == "folio.yaml" { String::new() } else { format!(" of {file}") };
    let (severity, code) = (diagnostic.severity.as_str(), diagnostic.code.as_str());
    format!("{line}{of}: {severity}[{code}]: {}", diagnostic.message.replace('\n', " "))
}

fn found(built: &BuildOutcome) -> Vec<String> {
    built.report.diagnostics().iter().map(|diagnostic| line(&built.report, diagnostic)).collect()
}

#[test]
fn each_mistake_gives_one_located_diagnostic() {
    let mut failures = Vec::new();
    let mut updated = String::new();
    let all = cases("mistakes.txt");
    for case in &all {
        let found = found(&check(&case.files));
        updated.push_str(&format!("{}>>> {}\n\n", case.written, found.join("\n>>> ")));
        if found != [case.expected.clone()] {
            failures.push(format!(
                "{}\n  expected {}\n  found    {}",
                case.title,
                case.expected,
                found.join("\n           ")
            ));
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path("mistakes.txt"), updated).unwrap();
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), all.len(), failures.join("\n"));
    assert!(all.len() >= 250, "{}", all.len());
    let titles: HashSet<&str> = all.iter().map(|case| case.title.as_str()).collect();
    assert_eq!(titles.len(), all.len());
}

/// What a message tells the author to write is what `check --fix` writes.
#[test]
fn fix_that_help_tells_to_write_is_certain() {
    let mut seen = 0;
    for case in cases("mistakes.txt") {
        let report = check(&case.files).report;
        for diagnostic in report.diagnostics() {
            let (Some(fix), Some(help)) = (&diagnostic.fix, &diagnostic.help) else { continue };
            if *help == format!("write `{}`", fix.text) {
                seen += 1;
                assert!(fix.is_certain, "{}: {help}", case.title);
            }
        }
    }
    assert!(seen >= 150, "{seen}");
}

#[test]
fn each_error_says_what_to_do() {
    // Most of those without help say in the message itself what is due, such as the values of a choice.
    let mut silent = Vec::new();
    for case in cases("mistakes.txt") {
        let report = check(&case.files).report;
        let without = report.diagnostics().iter().filter(|diagnostic| diagnostic.help.is_none());
        silent.extend(without.map(|diagnostic| format!("{}: {}", case.title, diagnostic.message)));
    }
    assert!(silent.len() <= 95, "{} without help:\n{}", silent.len(), silent.join("\n"));
}

#[test]
fn help_for_habits_of_other_tools_says_what_to_write() {
    let cases = cases("mistakes.txt");
    for (title, expected) in [
        ("if of a tool", "write `when` in a step of `run`"),
        ("timeout-minutes of a tool", "write `timeout`, such as `timeout: 5m`"),
        ("readOnly of a tool", "write `annotations: { readOnlyHint: true }`"),
        ("type of a step", "remove it: a key such as `exec` or `http` says what a step does"),
        ("env of a program as a list", "write `{ A: b, C: $D }`"),
        ("secrets.X", r"declare `X` under `env`, and write `{{env.X}}`; for the text itself, write `\\{{secrets.X}}`"),
        ("process.env.TOKEN", "write `env.TOKEN`"),
        (
            "name of a prompt file with a dot",
            "rename the file to `My-Prompt.md`: use 1 to 64 letters, digits, `_` and `-`",
        ),
        ("template of Go in a command", r"write `{{Names}}`; for the text itself, write `\\{{.Names}}`"),
        (
            "three braces as text",
            r"no argument is declared here: add it under `arguments`; for the text itself, write `\\{{{TODO}}}`",
        ),
        ("elseif", r"write `{{else if …}}`; for the text itself, write `\\{{elseif c}}`"),
        ("shell variable as base of a URL", "write a variable of the environment as `{{env.NAME}}`"),
        ("glob without quotes", "quote a text that begins with `*`"),
        (
            "file of a resource that is not there",
            "make it, or correct the path, which begins in the folder of this file",
        ),
        ("cwd that is not there", "make it, or correct the path, which begins in the folder of this file"),
        (
            "partial where there are none",
            "write `partials: partials/*.md` at the top, and the text to `partials/sig.md`",
        ),
        ("partial beside others", "the partials are `close`"),
        ("key that is there twice", "rename one of them, or remove it"),
        ("else without a block", r"write `{{#if NAME}}…{{else}}…{{/if}}`; for the text itself, write `\\{{else}}`"),
        ("elicit with a text", "write `ask: { answer: { elicit: … } }`"),
        (
            "name of a server for people",
            "use 1 to 64 of `a-z`, `0-9` and `-`, with `.` and one `/` between: write `name: my-desk`, and `title: My Desk` for people",
        ),
        ("version 2", "write `folio: 1`; a later version of the language needs a newer folio"),
        ("no-break spaces as an indentation", "write ordinary spaces instead; the file may have more of them"),
        ("tab below a plain text", "indent with spaces; YAML does not allow tabs in indentation"),
        ("regular expression in double quotes", "use single quotes, in which `\\` is a backslash: `'^\\d+$'`"),
        ("path of Windows in double quotes", "use single quotes, in which `\\` is a backslash: `'C:\\Users\\me'`"),
        ("apostrophe in single quotes", "write `\"it's\"`"),
        ("quotation in double quotes", "write `'say \"hi\" now'`"),
        ("text behind a closing quote", "quote the whole text as `'\"x\" y'`, or remove what comes after it"),
        (
            "item behind its key",
            "write each item on a line of its own below the key, or the list as `[a, b]`; quote it if it is a text: `\"- a\"`",
        ),
        (
            "text behind the sign of a block",
            "write the text on the lines below, indented; quote it if it is one text: `\"|text\"`",
        ),
        ("select with a list", "for example `select: \"items[].{id: id, name: name}\"`"),
        ("select of a set with a list", "for example `select: \"[].{id: id, name: name}\"`"),
        ("undefined anchor", "define it above as `&greeting`, or quote a text that begins with `*`"),
        ("misspelt anchor", "did you mean `*greeting`?"),
        ("no space after a colon", "write a space there"),
        ("no space after a colon in braces", "write a space after `text:`"),
        (
            "header of two lines",
            "a header is one line of visible characters, spaces and tabs; write several values as `a, b`",
        ),
        ("header that a block ends", "write `|-` in place of `|`: a block after `|` ends with a line feed"),
        ("host and port as a URL", "write `http://localhost:3000/x`"),
        ("host as a URL of a connection", "write `https://api.example.com`"),
        (
            "steps of a single action",
            r"the outcome of a single action is `result`; steps in a list have an `id`; for the text itself, write `\\{{steps.x.stdout}}`",
        ),
        ("curly quotes", "write `\"Summarize: {{text}}\"`, or use a block after `|`"),
        ("exec with quotes", "write `[wc, -w, \"notes/{{v}}.md\"]`"),
        ("select beside result", "write `select: \"items[].name\"` in `result`"),
        ("tool among resources", "such as `issue://{id}`; or write a tool below `tools:`, where it needs none"),
        ("test of an entry of another kind", "`greet` is a prompt"),
        ("number for a text", "put it in quotes: YAML reads it as a number"),
        ("name that a URI does not have", "did you mean `server.name`? the arguments here are `id`"),
    ] {
        let case = cases.iter().find(|case| case.title == title).unwrap();
        let report = check(&case.files).report;
        let help = report.diagnostics().iter().find_map(|diagnostic| diagnostic.help.as_deref());
        assert_eq!(help, Some(expected), "{title}");
    }
}

#[test]
fn each_code_has_a_mistake() {
    // What needs a program of the machine, a folder in the place of a file, or a description of an API.
    let elsewhere = [Code::Unimplemented, Code::Unreadable, Code::FailedTest];
    let all = cases("mistakes.txt");
    for code in Code::ALL.iter().filter(|code| !elsewhere.contains(code) && !code.is_client_code()) {
        let mark = format!("[{}]:", code.as_str());
        assert!(all.iter().any(|case| case.expected.contains(&mark)), "no mistake is called {mark}");
    }
}

#[test]
fn valid_manifests_have_no_diagnostics() {
    let all = cases("right.txt");
    for case in &all {
        let built = check(&case.files);
        assert_eq!(found(&built), Vec::<String>::new(), "{}", case.title);
        assert!(built.catalog.is_some(), "{}", case.title);
    }
    assert!(all.len() >= 40, "{}", all.len());
}

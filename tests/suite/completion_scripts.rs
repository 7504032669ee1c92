//! The scripts of `folio completions` know the names of the manifest. Shells that are not on the machine are left out.

use std::path::Path;
use std::process::Command;

use crate::harness::{FOLIO_BIN, TestFolder, run_folio};

const DESK: &str = "\
folio: 1
server: { name: desk }
prompts:
  greet:
    arguments: { who: { required: true }, tone: { enum: [warm, very formal], default: warm } }
    text: Hi {{who}} {{tone}}
  review: { text: Review }
  sourced: { arguments: { level: { complete: [low, high] }, page: { complete: { glob: \"*.yaml\" } } }, text: \"{{level}}{{page}}\" }
resources:
  policy: { uri: \"desk://policy\", text: Policy }
  page: { uri: \"desk://pages/{name}\", text: \"{{name}}\" }
tools:
  echo:
    description: Echo
    arguments: { text: {}, loud: { type: boolean } }
    run: { exec: [echo, \"{{text}}{{loud}}\"] }
";

/// Completion needs neither the packs nor their lock.
const PACKS: &str = "\
folio: 1
server: { name: packs }
packs: { docs: { path: docs }, desk: { git: \"https://example.com/desk\" } }
";

fn desk() -> TestFolder {
    let other = DESK.replace("greet", "welcome");
    TestFolder::new(&[("folio.yaml", DESK), ("other/folio.yaml", &other), ("packs/folio.yaml", PACKS)])
}

/// The candidates of a line, as the scripts ask for them.
fn candidates(folder: &Path, line: &str) -> Vec<String> {
    let ran = run_folio(folder, &["candidates", "--", line]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{line}: {ran:?}");
    ran.out.lines().map(str::to_owned).collect()
}

#[test]
fn names_and_arguments_complete() {
    let folder = desk();
    for (line, expected) in [
        ("folio get ", &["greet", "review", "sourced"][..]),
        ("folio get g", &["greet"]),
        ("git diff | folio get r", &["review"]),
        ("folio get greet ", &["who=", "tone="]),
        ("folio get greet who=Ada ", &["tone="]),
        ("folio get greet tone=", &["tone=warm", "tone=very formal"]),
        ("folio get greet tone=w", &["tone=warm"]),
        ("folio get -f other ", &["welcome", "review", "sourced"]),
        ("folio get sourced level=", &["level=low", "level=high"]),
        ("folio get sourced level=h", &["level=high"]),
        ("folio get sourced level=low page=f", &["page=folio.yaml"]),
        ("folio read desk://pages/{name} ", &["name="]),
        ("folio read desk://pages/{name} ", &["name="]),
        ("folio get --json --file=other w", &["welcome"]),
        ("folio update -f packs ", &["docs", "desk"]),
        ("folio remove -f packs do", &["docs"]),
        ("folio trust -f packs docs ", &[]),
        ("folio call ", &["echo"]),
        ("folio call echo l", &["loud="]),
        ("folio call echo loud=t", &["loud=true"]),
        ("folio read ", &["desk://policy", "desk://pages/"]),
        ("folio read desk://po", &["desk://policy"]),
        ("folio call -", &[]),
        ("folio call nothing ", &[]),
        ("folio get -f nowhere ", &[]),
        ("folio check ", &[]),
        ("folio", &[]),
    ] {
        assert_eq!(candidates(folder.path(), line), expected, "{line}");
    }
}

#[test]
fn broken_or_missing_manifest_has_no_candidates() {
    for manifest in ["folio: 1\nserver: { name: desk }\nprompts:\n  a: { txt: A }\n", "["] {
        assert!(candidates(TestFolder::with_manifest(manifest).path(), "folio get ").is_empty());
    }
    assert!(candidates(TestFolder::new(&[]).path(), "folio get ").is_empty());
}

/// What bash offers for a line.
fn in_bash(folder: &Path, line: &str) -> Vec<String> {
    let script = run_folio(folder, &["completions", "bash"]).out;
    let program = format!(
        "{script}\n\
         COMP_LINE=$1; COMP_POINT=${{#COMP_LINE}}; read -ra COMP_WORDS <<<\"$1\"; COMP_WORDS[0]={FOLIO_BIN}\n\
         [[ $1 == *' ' ]] && COMP_WORDS+=(''); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
         \"$(complete -p folio | sed 's/.*-F \\([^ ]*\\).*/\\1/')\" \"${{COMP_WORDS[0]}}\" \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    );
    let output = Command::new("bash").args(["-c", &program, "bash", line]).current_dir(folder).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(err, "", "{line}");
    out.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_names_of_the_manifest() {
    if Command::new("bash").arg("--version").output().is_err() {
        return;
    }
    let folder = desk();
    for (line, expected) in [
        ("folio get ", &["greet", "review", "sourced"][..]),
        ("folio get greet to", &["tone="]),
        // Behind `=` and `:`, readline takes the rest alone.
        ("folio get greet tone=", &["warm", "very\\ formal"]),
        ("folio read desk://p", &["//policy", "//pages/"]),
        // What the manifest does not know comes from the command line.
        ("folio comp", &["completions"]),
        ("folio call --dry", &["--dry-run"]),
    ] {
        assert_eq!(in_bash(folder.path(), line), expected, "{line}");
    }
}

/// A search path on which `folio` is the program under test.
fn search_path() -> String {
    let folder = Path::new(FOLIO_BIN).parent().unwrap().display().to_string();
    format!("{folder}:{}", std::env::var("PATH").unwrap_or_default())
}

#[test]
fn fish_completes_names_of_the_manifest() {
    if Command::new("fish").arg("--version").output().is_err() {
        return;
    }
    let folder = desk();
    let script = run_folio(folder.path(), &["completions", "fish"]).out;
    for (line, expected) in
        [("folio get g", "greet"), ("folio call echo lo", "loud="), ("folio read desk://po", "desk://policy")]
    {
        let program = format!("{script}\ncomplete -C '{line}'");
        let mut fish = Command::new("fish");
        let output = fish.args(["--no-config", "-c", &program]).env("PATH", search_path()).current_dir(folder.path());
        let output = output.output().unwrap();
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(out.lines().any(|found| found == expected), "{line}: {output:?}");
    }
}

/// What zsh offers, by a `compadd` that prints.
#[test]
fn zsh_completes_names_of_the_manifest() {
    if Command::new("zsh").arg("--version").output().is_err() {
        return;
    }
    let folder = desk();
    let script = run_folio(folder.path(), &["completions", "zsh"]).out;
    for (line, expected) in [
        ("folio get ", "greet\nreview\n"),
        ("folio call echo lo", "loud=\n"),
        ("folio read desk://po", "desk://policy\n"),
    ] {
        let program = format!(
            "compdef() {{ :; }}\n\
             compadd() {{ local -a all; all=(\"${{(@P)@[-1]}}\"); print -rl -- $all; }}\n\
             {script}\n\
             words=({line}); LBUFFER='{line}'; _folio"
        );
        let mut zsh = Command::new("zsh");
        let output = zsh.args(["-f", "-c", &program]).env("PATH", search_path()).current_dir(folder.path());
        let output = output.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{line}: {output:?}");
    }
}

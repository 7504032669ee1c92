//! What `folio add` says of the folder that it adds.

use std::process::Command;

use crate::harness::{CommandOutput, TestFolder, run_folio};

const DESK: &str = "folio: 1\nserver: { name: desk }\n";

fn add(folder: &TestFolder, arguments: &[&str]) -> CommandOutput {
    run_folio(folder.path(), &[&["add"], arguments].concat())
}

#[test]
fn files_that_are_left_out_are_counted() {
    let folder = TestFolder::with_manifest(DESK);
    folder.write("pack/commands/a.md", "Do a");
    folder.write("pack/commands/b.md", "---\nx: 1\n---\n");
    folder.write("pack/commands/c.toml", "prompt = 'unclosed");
    folder.write("pack/prompts.csv", "act,prompt\nx,Do x\ny,\nz,one, two\n");
    let added = add(&folder, &["./pack"]);
    assert_eq!(added.code, Some(0), "{}{}", added.out, added.err);
    assert!(added.out.contains(": 3 prompts"), "{}", added.out);
    assert!(
        added.err.contains("2 files left out, 1 row left out, 1 warning: `folio check` says which and why"),
        "{}",
        added.err
    );
    let checked = run_folio(folder.path(), &["check"]);
    assert_eq!(checked.out.matches("skipped").count(), 3, "{}", checked.out);
    folder.write("second/commands/d.md", "Do d");
    let again = add(&folder, &["./second"]);
    assert!(again.code == Some(0) && again.err.is_empty(), "no word of the first: {}", again.err);
}

#[test]
fn failure_shows_no_diagnostics_of_other_packs() {
    let folder = TestFolder::with_manifest(DESK);
    folder.write("pack/commands/b.md", "---\nx: 1\n---\n");
    folder.write("pack/commands/a.md", "Do a");
    assert_eq!(add(&folder, &["./pack"]).code, Some(0));
    folder.write("other/folio.yaml", "folio: 1\nserver: { name: o }\nprompts: { x: { text: \"{{nobody}}\" } }\n");
    let failed = add(&folder, &["./other"]);
    assert_eq!(failed.code, Some(1), "{}{}", failed.out, failed.err);
    assert!(failed.err.contains("nobody") && failed.err.contains("nothing was added"), "{}", failed.err);
    assert!(!failed.err.contains("b.md"), "{}", failed.err);
}

#[test]
fn repository_that_is_added_as_a_folder_is_not_locked() {
    let folder = TestFolder::with_manifest(DESK);
    folder.write("repo/commands/a.md", "Do a");
    let made = Command::new("git").args(["init", "-q"]).current_dir(folder.join("repo")).status().unwrap();
    assert!(made.success());
    let added = add(&folder, &["./repo"]);
    assert_eq!(added.code, Some(0), "{}", added.err);
    let url = format!("folio add file://{}", folder.path().canonicalize().unwrap().join("repo").display());
    assert!(added.err.contains("it is not locked") && added.err.contains(&url), "{}", added.err);
    assert!(!folder.join("folio.lock").exists());
}

#[test]
fn made_up_names_are_noted_with_their_files() {
    let folder = TestFolder::with_manifest(&format!("{DESK}packs:\n  p: {{ path: pack }}\n"));
    for name in ["翻译", "概要", "summary"] {
        folder.write(&format!("pack/commands/{name}.md"), "Text");
    }
    let checked = run_folio(folder.path(), &["check"]);
    assert_eq!(checked.code, Some(0), "{}", checked.out);
    for words in ["`commands/概要.md` is `prompt`, `commands/翻译.md` is `prompt-2`", "folio.yaml:4:", "letters `a-z`"]
    {
        assert!(checked.out.contains(words), "{words}: {}", checked.out);
    }
    assert!(!checked.out.contains("summary"), "{}", checked.out);
}

#[test]
fn row_with_too_many_fields_is_a_warning_at_its_line() {
    let folder = TestFolder::with_manifest(&format!("{DESK}packs:\n  p: {{ path: pack, format: csv }}\n"));
    folder.write("pack/p.csv", "act,prompt\nx,Do x\ny,Look, then jump\nz,\"a, b\",,\n");
    let checked = run_folio(folder.path(), &["check", "--format", "lines"]).out;
    assert!(
        checked.contains("p.csv:3:1: warning[syntax]: 3 fields for 2 columns: not read from `then jump` on"),
        "{checked}"
    );
    assert_eq!(checked.lines().filter(|line| line.contains("p.csv")).count(), 1, "{checked}");
}

#[test]
fn dotprompt_role_as_a_block_is_told_its_spelling() {
    let folder = TestFolder::with_manifest(&format!("{DESK}packs:\n  p: {{ path: pack, format: dotprompt }}\n"));
    folder.write("pack/a.prompt", "{{#role \"user\"}}Hi{{/role}}");
    folder.write("pack/b.prompt", "{{#role}}user{{/role}}");
    folder.write("pack/c.prompt", "{{role user}}Hi");
    let checked = run_folio(folder.path(), &["check", "--format", "lines"]).out;
    assert_eq!(checked.matches("`{{role \"user\"}}`").count(), 3, "{checked}");
}

//! A load that takes files from an earlier one is the same as a load from nothing, however files change.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::reuse::{describe, shared};
use crate::catalog::{BuildOutcome, ReadFiles, build, read_packs};
use crate::compile::FileBuffers;
use crate::diagnostic::{TerminalStyle, render_lines, render_text};
use crate::load::{CommandOutputs, EnvSource, ManifestLocation, load, load_manifests};

const NAMES: [&str; 4] = ["entries/a.md", "entries/b.md", "entries/c.yaml", "entries/sub/d.md"];

/// Texts, most of one length, good and bad, as front matter, as a fragment of prompts or tools, or as neither.
const TEXTS: [&str; 6] = [
    "---\ntitle: one\n---\nhi",
    "---\ntitle: two\n---\nhi",
    "---\ntitel: two\n---\nhi",
    "{ prompts: { x: hi }}",
    "tools: { t: { description: d, result: { text: t } } }",
    "---\n# Nothing uses it.\narguments: { unused: {} }\n---\nhi",
];

#[derive(Debug, Clone)]
enum FileEdit {
    Write(usize, usize),
    /// Another text of the same length and with the same time of change.
    WriteWithOldTime(usize, usize),
    RenameOver(usize, usize),
    Swap(usize, usize),
    Remove(usize),
    Link(usize, usize),
    /// The next load takes all that it can.
    WaitUntilTaken,
}

fn edits() -> impl Strategy<Value = Vec<FileEdit>> {
    let (name, text) = (0..NAMES.len(), 0..TEXTS.len());
    let edit = prop_oneof![
        (name.clone(), text.clone()).prop_map(|(name, text)| FileEdit::Write(name, text)),
        (name.clone(), text.clone()).prop_map(|(name, text)| FileEdit::WriteWithOldTime(name, text)),
        (name.clone(), text).prop_map(|(name, text)| FileEdit::RenameOver(name, text)),
        (name.clone(), name.clone()).prop_map(|(one, other)| FileEdit::Swap(one, other)),
        name.clone().prop_map(FileEdit::Remove),
        (name.clone(), name).prop_map(|(one, other)| FileEdit::Link(one, other)),
        Just(FileEdit::WaitUntilTaken),
    ];
    prop::collection::vec(edit, 1..10)
}

/// Whether it works does not matter: what counts is what is there afterwards.
fn apply_edit(root: &Path, edit: &FileEdit) {
    let at = |name: &usize| root.join(NAMES[*name]);
    let aside = root.join("aside");
    let _ = match edit {
        FileEdit::Write(name, text) => fs::write(at(name), TEXTS[*text]),
        FileEdit::WriteWithOldTime(name, text) => fs::metadata(at(name)).and_then(|before| {
            fs::write(at(name), TEXTS[*text])?;
            File::options().write(true).open(at(name))?.set_modified(before.modified()?)
        }),
        FileEdit::RenameOver(name, text) => fs::write(&aside, TEXTS[*text]).and_then(|()| fs::rename(&aside, at(name))),
        FileEdit::Swap(one, other) => fs::rename(at(one), &aside)
            .and_then(|()| fs::rename(at(other), at(one)))
            .and_then(|()| fs::rename(&aside, at(other))),
        FileEdit::Remove(name) => fs::remove_file(at(name)),
        FileEdit::Link(name, to) => fs::remove_file(at(name)).and_then(|()| symlink(at(to), at(name))),
        FileEdit::WaitUntilTaken => Ok(()),
    };
}

/// Loads and builds as a server does, with the files of the load before.
struct Reloads {
    place: ManifestLocation,
    files: ReadFiles,
}

impl Reloads {
    fn of(root: &Path) -> Reloads {
        Reloads { place: ManifestLocation::resolve(root).unwrap(), files: ReadFiles::default() }
    }

    fn next(&mut self) -> BuildOutcome {
        let (environment, outputs) = (EnvSource::default(), CommandOutputs::default());
        let loaded = load_manifests(&self.place, &environment, &outputs, &FileBuffers::default());
        let mut built = build(read_packs(loaded, &self.files));
        self.files = std::mem::take(&mut built.files);
        self.files.drop_texts();
        built
    }

    /// Loads until the next load takes all files.
    fn next_until_taken(&mut self) -> BuildOutcome {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let built = self.next();
            let is_there = |name: &&&str| built.dependencies.files.iter().any(|path| path.ends_with(name));
            if built.report.has_errors() || NAMES.iter().filter(is_there).all(|name| self.files.takes(name)) {
                return built;
            }
            assert!(Instant::now() < deadline, "a file stays ambiguous");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn load_after_edits_is_that_of_a_fresh_load(edits in edits()) {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path();
        fs::create_dir_all(root.join("entries/sub")).unwrap();
        fs::write(root.join("folio.yaml"), "{ folio: 1, server: { name: s }, include: [entries/**] }").unwrap();
        NAMES.iter().for_each(|name| fs::write(root.join(name), TEXTS[usize::from(name.ends_with("yaml")) * 3]).unwrap());
        let mut reloads = Reloads::of(root);
        reloads.next_until_taken();
        for edit in &edits {
            apply_edit(root, edit);
            let fresh = build(load(&reloads.place, &EnvSource::default()));
            prop_assert_eq!(describe(&reloads.next()), describe(&fresh));
            if matches!(edit, FileEdit::WaitUntilTaken) {
                reloads.next_until_taken();
            }
        }
    }
}

#[test]
fn files_that_are_the_same_keep_their_prompts() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    let manifest =
        "folio: 1\nserver: { name: s }\nenv: { CITY: { default: Oslo } }\npartials: \"*.hbs\"\ninclude: entries/**\n";
    fs::create_dir_all(root.join("entries/sub")).unwrap();
    let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
    write("folio.yaml", manifest);
    write("part.hbs", "one");
    write("entries/b.md", "b {{> part}}");
    write("entries/sub/d.md", "---\narguments: { unused: {} }\n---\nd");
    let mut reloads = Reloads::of(root);
    let mut before = reloads.next_until_taken().catalog.unwrap();
    for (name, text, expected) in [
        ("entries/c.yaml", "prompts: { x: { text: hi } }", &["b", "d"][..]),
        ("entries/b.md", "other {{> part}}", &["x", "d"]),
        ("part.hbs", "two", &[]),
        ("folio.yaml", &manifest.replace("Oslo", "Rome"), &[]),
        ("folio.yaml", &format!("# a line\n{}", manifest.replace("Oslo", "Rome")), &["b", "x", "d"]),
    ] {
        write(name, text);
        let after = reloads.next_until_taken();
        let report = render_lines(&after.report);
        assert!(report.contains("argument `unused` is never used"), "{name}: {report}");
        let after = after.catalog.unwrap();
        assert_eq!(shared(&before.0, &after.0), expected, "{name}");
        before = after;
    }
}

#[test]
fn warning_of_an_unchanged_file_shows_its_text() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    fs::create_dir(root.join("entries")).unwrap();
    fs::write(root.join("folio.yaml"), "{ folio: 1, server: { name: s }, include: [entries/**] }").unwrap();
    fs::write(root.join(NAMES[0]), TEXTS[5]).unwrap();
    let mut reloads = Reloads::of(root);
    reloads.next_until_taken();
    let unchanged = render_text(&reloads.next().report, TerminalStyle::default());
    assert!(unchanged.contains("entries/a.md:3:14"), "{unchanged}");
    assert!(unchanged.contains("3 | arguments: { unused: {} }"), "{unchanged}");

    // Changed since, it shows no text that it does not have; and nobody waits for a pipe.
    let replace: [fn(&Path); 2] = [
        |path| fs::write(path, TEXTS[5].replace("unused", "another")).unwrap(),
        |path| {
            fs::remove_file(path).unwrap();
            rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into()).unwrap();
        },
    ];
    for replace in replace {
        fs::write(root.join(NAMES[0]), TEXTS[5]).unwrap();
        reloads.next_until_taken();
        reloads.next();
        let built = reloads.next();
        replace(&root.join(NAMES[0]));
        let changed = render_text(&built.report, TerminalStyle::default());
        assert!(changed.contains("argument `unused` is never used"), "{changed}");
        assert!(!changed.contains("another"), "{changed}");
    }
}

#[test]
fn texts_are_kept_where_every_load_searches_them() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    fs::create_dir(root.join("entries")).unwrap();
    fs::write(root.join(NAMES[0]), TEXTS[5]).unwrap();
    for (env, is_kept) in [("", false), ("env: { CITY: { default: Oslo } },", true), ("", false)] {
        let manifest = format!("{{ folio: 1, server: {{ name: s }}, {env} include: [entries/**] }}");
        fs::write(root.join("folio.yaml"), manifest).unwrap();
        let mut reloads = Reloads::of(root);
        reloads.next_until_taken();
        reloads.next();
        assert_eq!(reloads.files.keeps_text(NAMES[0]), is_kept, "{env}");
    }
}

//! A load that takes files from an earlier one reads the same as a load from nothing, however files change.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::diagnostic::render_lines;
use crate::load::{CommandOutputs, EnvSource, LoadedPacks, ManifestLocation, ParsedFiles, load, load_again};

const NAMES: [&str; 4] = ["entries/a.md", "entries/b.md", "entries/c.yaml", "entries/sub/d.md"];

/// Texts of one length, good and bad, as front matter, as a fragment, or as neither.
const TEXTS: [&str; 4] =
    ["---\ntitle: one\n---\nhi", "---\ntitle: two\n---\nhi", "---\ntitel: two\n---\nhi", "{ prompts: { x: hi }}"];

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

/// All that comes of a load but its trees.
fn describe(loaded: &LoadedPacks) -> String {
    let entries = loaded.packs.iter().flat_map(|pack| &pack.entry_files).map(|file| (&file.base, &file.entries));
    let sources: Vec<_> =
        loaded.load_context.report.sources.iter().map(|source| (source.path(), source.text())).collect();
    let entries: Vec<_> = entries.collect();
    let report = render_lines(&loaded.load_context.report);
    format!("{sources:#?}\n{entries:#?}\n{:#?}\n{report}", loaded.load_context.dependencies)
}

/// Loads until all files are taken from the load before that have no faults.
fn load_until_taken(mut load: impl FnMut() -> LoadedPacks) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let loaded = load();
        let included: Vec<_> = loaded.packs.iter().flat_map(|pack| &pack.entry_files).skip(1).collect();
        let is_done = loaded.load_context.report.has_errors() || included.iter().all(|file| file.parsed.is_some());
        if is_done {
            return;
        }
        assert!(Instant::now() < deadline, "a file stays ambiguous");
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
        let place = ManifestLocation::resolve(root).unwrap();
        let environment = EnvSource::default();
        let mut parsed = ParsedFiles::default();
        let mut again = || {
            let loaded = load_again(&place, &environment, &CommandOutputs::default(), &parsed);
            parsed = ParsedFiles::from_packs(&loaded.packs);
            loaded
        };
        load_until_taken(&mut again);
        for edit in &edits {
            apply_edit(root, edit);
            prop_assert_eq!(describe(&again()), describe(&load(&place, &environment)));
            if matches!(edit, FileEdit::WaitUntilTaken) {
                load_until_taken(&mut again);
            }
        }
    }
}

#[test]
fn file_after_a_new_one_is_parsed_again() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    fs::write(root.join("folio.yaml"), "{ folio: 1, server: { name: s }, include: [\"*.md\"] }").unwrap();
    ["b.md", "d.md"].iter().for_each(|name| fs::write(root.join(name), "text").unwrap());
    let place = ManifestLocation::resolve(root).unwrap();
    let mut parsed = ParsedFiles::default();
    let mut again = || {
        let loaded = load_again(&place, &EnvSource::default(), &CommandOutputs::default(), &parsed);
        parsed = ParsedFiles::from_packs(&loaded.packs);
        loaded
    };
    load_until_taken(&mut again);
    let entries = |loaded: &LoadedPacks| -> Vec<_> {
        loaded.packs[0].entry_files.iter().skip(1).map(|file| file.entries.clone()).collect()
    };
    let before = entries(&again());
    fs::write(root.join("c.md"), "text").unwrap();
    let after = entries(&again());
    assert!(Arc::ptr_eq(&before[0], &after[0]));
    assert!(!after.iter().skip(1).any(|entries| Arc::ptr_eq(entries, &before[1])), "its locations are others");
}

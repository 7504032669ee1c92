//! Snapshots: answers in `__snapshots__` beside the file of their test.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::load::LoadedPacks;
use crate::yaml::Location;

use super::TestFailure;
use super::diff::{line_diff, received};
use super::plan::{PlannedTest, snapshot_folders};

/// The folder of snapshots.
const FOLDER: &str = "__snapshots__";
/// The extension of snapshots.
const EXTENSION: &str = "snap";
/// How much of the name of a test the name of its snapshot has.
const MAX_NAME_CHARS: usize = 80;

/// The path of the snapshot of a test in a folder.
pub(super) fn snapshot_path(folder: &Path, test: &str) -> PathBuf {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let plain: String =
        test.chars().map(|letter| if allowed(letter) { letter } else { '-' }).take(MAX_NAME_CHARS).collect();
    let name = match plain == test {
        true => plain,
        // Names that differ in other letters alone have files of their own.
        false => format!("{plain}-{:08x}", Digest::new("snapshot").chain_update(test.as_bytes()).finish_u64() >> 32),
    };
    folder.join(FOLDER).join(format!("{name}.{EXTENSION}"))
}

/// What became of a snapshot.
pub(super) enum SnapshotOutcome {
    Same,
    Written,
    Differs(TestFailure),
}

/// Compares an answer with its snapshot, or records it to `update`.
pub(super) fn compare(path: &Path, found: &str, update: bool, at: Location) -> SnapshotOutcome {
    let recorded = fs::read_to_string(path).ok();
    if recorded.as_deref() == Some(found) {
        return SnapshotOutcome::Same;
    }
    if update {
        return match write(path, found) {
            Ok(()) => SnapshotOutcome::Written,
            Err(error) => SnapshotOutcome::Differs(TestFailure::new(at, format!("cannot write the snapshot: {error}"))),
        };
    }
    let failure = match recorded {
        None => TestFailure::new(at, "no snapshot is recorded").details(received(found)),
        Some(recorded) => {
            TestFailure::new(at, "the answer differs from its snapshot").details(line_diff(&recorded, found))
        }
    };
    SnapshotOutcome::Differs(failure.help("run `folio test --update` to record it"))
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// Snapshots beside the served manifest that belong to none of its tests, sorted.
pub fn obsolete_snapshots(loaded: &LoadedPacks, tests: &[PlannedTest]) -> Vec<PathBuf> {
    let own: HashSet<&Path> =
        tests.iter().filter(|test| test.has_snapshot()).map(|test| test.snapshot.as_path()).collect();
    let mut found = Vec::new();
    for folder in snapshot_folders(loaded) {
        let entries = fs::read_dir(folder.join(FOLDER)).into_iter().flatten().flatten();
        let files = entries.map(|entry| entry.path());
        found.extend(files.filter(|file| {
            file.extension().is_some_and(|extension| extension == EXTENSION) && !own.contains(file.as_path())
        }));
    }
    found.sort();
    found
}

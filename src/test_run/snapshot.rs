//! Snapshots: answers in `__snapshots__` beside the file of their test.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::files::{FileError, OverwritePolicy, WritableFolder};
use crate::load::LoadedPacks;
use crate::yaml::Location;

use super::TestFailure;
use super::diff::mark_received;
use super::plan::{PlannedTest, snapshot_folders};

const FOLDER: &str = "__snapshots__";
const EXTENSION: &str = "snap";
/// How much of the name of a test the name of its snapshot has.
const MAX_NAME_CHARS: usize = 80;

/// How large a snapshot may be.
const MAX_BYTES: u64 = 64 << 20;

/// The path of the snapshot of a test in a folder.
pub(super) fn snapshot_path(folder: &Path, test: &str) -> PathBuf {
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let plain: String =
        test.chars().map(|character| if allowed(character) { character } else { '-' }).take(MAX_NAME_CHARS).collect();
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
pub(super) fn compare(path: &Path, received: &str, update: bool, at: Location) -> SnapshotOutcome {
    let recorded = read(path).ok();
    if recorded.as_deref() == Some(received) {
        return SnapshotOutcome::Same;
    }
    if update {
        return match write(path, received) {
            Ok(()) => SnapshotOutcome::Written,
            Err(error) => SnapshotOutcome::Differs(TestFailure::new(at, format!("cannot write the snapshot: {error}"))),
        };
    }
    let failure = match recorded {
        None => TestFailure::new(at, "no snapshot is recorded").details(mark_received(received)),
        Some(recorded) => TestFailure::new(at, "the answer differs from its snapshot").difference(&recorded, received),
    };
    SnapshotOutcome::Differs(failure.help("run `folio test --update` to record it"))
}

/// The folder that holds `__snapshots__`, and the path of a snapshot in it. No link leads out of it.
fn locate(path: &Path) -> Result<(WritableFolder, String), FileError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    Ok((WritableFolder::open(folder)?, format!("{FOLDER}/{name}")))
}

fn read(path: &Path) -> Result<String, FileError> {
    let (folder, name) = locate(path)?;
    let bytes = folder.open_file(&name)?.read(MAX_BYTES)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn write(path: &Path, text: &str) -> Result<(), FileError> {
    let (folder, name) = locate(path)?;
    if folder.info(FOLDER).is_err() {
        folder.create_folder(FOLDER)?;
    }
    let failed = |source| FileError::write_failed(&name, source);
    folder.write(&name, OverwritePolicy::Replace, |_, file| file.write_all(text.as_bytes()).map_err(failed))
}

/// Removes a snapshot.
///
/// # Errors
/// It is not below its folder, or cannot be removed.
pub fn remove_snapshot(path: &Path) -> Result<(), FileError> {
    let (folder, name) = locate(path)?;
    folder.remove(&name)
}

/// Snapshots beside the served manifest that belong to none of its tests, sorted.
pub fn obsolete_snapshots(loaded: &LoadedPacks, tests: &[PlannedTest]) -> Vec<PathBuf> {
    let own: HashSet<&Path> =
        tests.iter().filter(|test| test.snapshot_key().is_some()).map(|test| test.snapshot.as_path()).collect();
    let mut obsolete = Vec::new();
    for folder in snapshot_folders(loaded) {
        let listed = WritableFolder::open(&folder).and_then(|folder| folder.entries(FOLDER, false)).unwrap_or_default();
        let files = listed.entries.into_iter().map(|entry| folder.join(FOLDER).join(entry.name));
        obsolete.extend(files.filter(|file| {
            file.extension().is_some_and(|extension| extension == EXTENSION) && !own.contains(file.as_path())
        }));
    }
    obsolete.sort();
    obsolete
}

//! What of a manifest its tests reach. The parts of several loads are the same by their places.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::compile::{LoadCoverage, PartKind};
use crate::diagnostic::SourceMap;

/// A part of a manifest, in the order of files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ManifestPart {
    pub kind: PartKind,
    pub file: PathBuf,
    pub line: u32,
    start: u32,
    /// What it is, as messages show it.
    pub label: String,
}

/// What was reached in all loads of a manifest.
#[derive(Debug, Default)]
pub struct Coverage {
    parts: BTreeMap<ManifestPart, bool>,
}

impl Coverage {
    /// What was reached in one load.
    pub fn from_load(load: &LoadCoverage, sources: &SourceMap) -> Coverage {
        let mut coverage = Coverage::default();
        coverage.add(load, sources);
        coverage
    }

    /// Adds the parts of a load, and what of them was reached.
    pub fn add(&mut self, load: &LoadCoverage, sources: &SourceMap) {
        for part in &load.parts {
            let Some(source) = sources.get(part.at.file) else { continue };
            let line = source.position(part.at.start).line;
            let (file, start, label) = (source.path().to_owned(), part.at.start, part.label.clone());
            *self.parts.entry(ManifestPart { kind: part.kind, file, line, start, label }).or_default() |=
                part.marker.is_hit();
        }
    }

    /// How many parts of a kind there are.
    pub fn total(&self, kind: PartKind) -> usize {
        self.parts.keys().filter(|part| part.kind == kind).count()
    }

    /// The parts that were never reached.
    pub fn gaps(&self) -> impl Iterator<Item = &ManifestPart> {
        self.parts.iter().filter(|(_, is_hit)| !**is_hit).map(|(part, _)| part)
    }

    /// How many parts of a kind were reached.
    pub fn reached_count(&self, kind: PartKind) -> usize {
        self.parts.iter().filter(|(part, is_hit)| part.kind == kind && **is_hit).count()
    }
}

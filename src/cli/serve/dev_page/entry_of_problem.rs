//! The entries that problems stand in.

use std::collections::HashMap;

use super::declared_entry::{named_entry_around, parsed_file, prompt_of_file};
use crate::catalog::EntryPlaces;
use crate::diagnostic::{FileId, Report, Span};
use crate::yaml::Document;

/// Finds the entries of the problems of one load.
pub(super) struct ProblemEntries<'a> {
    report: &'a Report,
    places: &'a EntryPlaces,
    documents: HashMap<FileId, Option<Document>>,
}

impl<'a> ProblemEntries<'a> {
    pub(super) fn new(report: &'a Report, places: &'a EntryPlaces) -> ProblemEntries<'a> {
        ProblemEntries { report, places, documents: HashMap::new() }
    }

    /// The key of the entry that a problem stands in.
    pub(super) fn find(&mut self, span: Span) -> Option<String> {
        let report = self.report;
        let document = self.documents.entry(span.file).or_insert_with(|| parsed_file(report, span.file));
        let source = report.sources.get(span.file)?;
        let pack = self.places.pack_of(source.path()).map(|(pack, _)| pack);
        let written = document.as_ref().and_then(|document| named_entry_around(document, span.start, pack));
        let entry = written.or_else(|| prompt_of_file(self.places, span.file))?;
        Some(entry.kind.key(&entry.id))
    }
}

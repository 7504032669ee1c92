//! Included files that a later load takes as they were parsed, where they are the same and at the same place.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::LoadedPack;
use crate::compile::LoadContext;
use crate::diagnostic::{FileId, SourceFile};
use crate::files::FileStamp;
use crate::manifest::Fragment;
use crate::yaml::Document;

/// A file without errors or warnings.
pub(super) struct ParsedFile {
    /// Its absolute path.
    pub(super) path: PathBuf,
    pub(super) stamp: FileStamp,
    /// The id, which every location holds.
    pub(super) file: FileId,
    pub(super) source: Arc<SourceFile>,
    pub(super) document: Option<Arc<Document>>,
    pub(super) entries: Arc<Fragment>,
}

/// The included files of one load.
#[derive(Default)]
pub struct ParsedFiles {
    by_id: HashMap<FileId, Arc<ParsedFile>>,
}

impl ParsedFiles {
    /// Those of some packs.
    pub fn from_packs(packs: &[LoadedPack]) -> ParsedFiles {
        let files = packs.iter().flat_map(|pack| &pack.entry_files).filter_map(|file| file.parsed.clone());
        ParsedFiles { by_id: files.map(|parsed| (parsed.file, parsed)).collect() }
    }

    /// The same, or none.
    #[must_use]
    pub fn filter(self, keep: bool) -> ParsedFiles {
        if keep { self } else { ParsedFiles::default() }
    }

    /// The same, or `others` where there are none, as of a manifest that is broken for a while.
    #[must_use]
    pub fn or_if_empty(self, others: ParsedFiles) -> ParsedFiles {
        if self.by_id.is_empty() { others } else { self }
    }

    /// Adds the file at an absolute path to a load, if it is still the same and gets the same id.
    pub(super) fn reuse(
        &self,
        path: &PathBuf,
        stamp: FileStamp,
        load_context: &mut LoadContext,
    ) -> Option<Arc<ParsedFile>> {
        let known = self.by_id.get(&load_context.report.sources.next_id())?;
        let is_same = known.path == *path && known.stamp == stamp && load_context.buffers.get(path).is_none();
        (is_same && load_context.add_parsed_file(&known.source, known.document.as_ref())).then(|| known.clone())
    }
}

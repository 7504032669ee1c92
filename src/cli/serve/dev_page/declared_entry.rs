//! An entry in the tree of its file.

use crate::catalog::{EntryPlaces, PackPlace};
use crate::dev_page::{PageEntry, PageEntryKind};
use crate::diagnostic::{FileId, Report};
use crate::uri::UriTemplate;
use crate::yaml::{Document, MapEntry, parse};

/// The sections of a manifest that hold entries.
const SECTIONS: [(&str, PageEntryKind); 3] =
    [("prompts", PageEntryKind::Prompt), ("tools", PageEntryKind::Tool), ("resources", PageEntryKind::Resource)];

/// The tree of a file, without what is wrong with it.
pub(super) fn parsed_file(report: &Report, file: FileId) -> Option<Document> {
    let mut of_file = Report::with_sources(report.sources.clone());
    parse(file, &mut of_file)
}

/// The entry around an offset in a file of `sections`, with its kind.
pub(super) fn entry_around(document: &Document, offset: u32) -> Option<(PageEntryKind, MapEntry)> {
    let entries = document.entries_around(offset);
    let [section, entry, ..] = entries.as_slice() else { return None };
    let section = document.key_text(section.key);
    SECTIONS.iter().find(|(name, _)| *name == section).map(|(_, kind)| (*kind, *entry))
}

/// The entry around an offset, as the page names it.
pub(super) fn named_entry_around(document: &Document, offset: u32, pack: Option<&PackPlace>) -> Option<PageEntry> {
    let (kind, entry) = entry_around(document, offset)?;
    if kind == PageEntryKind::Resource {
        let uri = document.json(entry.value).get("uri")?.as_str()?.to_owned();
        let is_literal = UriTemplate::parse(&uri).is_ok_and(|template| template.is_literal());
        let kind = if is_literal { PageEntryKind::Resource } else { PageEntryKind::Template };
        return Some(PageEntry { kind, id: uri });
    }
    let name = document.key_text(entry.key);
    Some(PageEntry { kind, id: pack.map_or_else(|| name.to_owned(), |pack| pack.prefix.qualify(name)) })
}

/// The prompt whose file this is, if it is of one prompt.
pub(super) fn prompt_of_file(places: &EntryPlaces, file: FileId) -> Option<PageEntry> {
    let is_whole = |at: &crate::yaml::Location| at.file() == file && at.span().end == at.span().start;
    let (name, _) = places.prompts.iter().find(|(_, at)| is_whole(at))?;
    Some(PageEntry { kind: PageEntryKind::Prompt, id: name.clone() })
}

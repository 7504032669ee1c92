//! The entries that use partials, found by their texts.

use std::collections::{BTreeMap, BTreeSet};

use super::page_state::PageState;
use crate::catalog::PackPlace;
use crate::dev_page::PageEntryKind;
use crate::diagnostic::FileId;
use crate::template::partial_names;

/// The keys of the entries that use any of these partials, directly or through others. The partials are named as in digests:
/// with the prefix of their pack.
pub(super) fn entries_with_partials(state: &PageState, partials: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for pack in &state.places.packs {
        let changed = pack.partials.keys().filter(|name| partials.contains(&&*pack.prefix.qualify(name))).cloned();
        let changed = with_users(state, pack, changed.collect());
        if !changed.is_empty() {
            found.extend(users(state, pack, &changed));
        }
    }
    found
}

/// The partials, and those of the pack that use them.
fn with_users(state: &PageState, pack: &PackPlace, mut changed: BTreeSet<String>) -> BTreeSet<String> {
    let text = |file: &FileId| state.report.sources.get(*file).map(|source| source.text().clone());
    let uses: Vec<(&String, BTreeSet<String>)> =
        pack.partials.iter().filter_map(|(name, file)| Some((name, partial_names(&text(file)?)))).collect();
    loop {
        let more: Vec<String> = uses
            .iter()
            .filter(|(name, used)| !changed.contains(*name) && !used.is_disjoint(&changed))
            .map(|(name, _)| (*name).clone())
            .collect();
        if more.is_empty() {
            return changed;
        }
        changed.extend(more);
    }
}

/// The entries of a pack whose text uses one of these partials, or names a file that does.
fn users(state: &PageState, pack: &PackPlace, partials: &BTreeSet<String>) -> Vec<String> {
    let mut by_file: BTreeMap<FileId, Vec<(u32, String)>> = BTreeMap::new();
    let tools = state.places.tools.iter().map(|(name, at)| (PageEntryKind::Tool, name, at));
    let prompts = state.places.prompts.iter().map(|(name, at)| (PageEntryKind::Prompt, name, at));
    for (kind, name, at) in tools.chain(prompts) {
        by_file.entry(at.file()).or_default().push((at.span().start, kind.key(name)));
    }
    let carriers = template_files(state, partials, &by_file);
    let mut found = Vec::new();
    for (file, mut entries) in by_file {
        let Some(source) = state.report.sources.get(file) else { continue };
        if state.places.pack_of(source.path()).is_none_or(|(of_file, _)| !std::ptr::eq(of_file, pack)) {
            continue;
        }
        entries.sort_unstable();
        let ends: Vec<usize> = entries.iter().skip(1).map(|(start, _)| *start as usize).collect();
        for (number, (start, key)) in entries.into_iter().enumerate() {
            let end = ends.get(number).copied().unwrap_or(source.text().len());
            let text = source.text().get(start as usize..end).unwrap_or_default();
            let uses = !partial_names(text).is_disjoint(partials) || carriers.iter().any(|name| text.contains(name));
            found.extend(uses.then_some(key));
        }
    }
    found
}

/// The names of the files that are templates and use one of these partials.
fn template_files(
    state: &PageState,
    partials: &BTreeSet<String>,
    with_entries: &BTreeMap<FileId, Vec<(u32, String)>>,
) -> Vec<String> {
    let is_partial =
        |file: &FileId| state.places.packs.iter().any(|pack| pack.partials.values().any(|own| own == file));
    let templates = state.report.sources.iter_with_ids();
    let templates = templates.filter(|(file, _)| !with_entries.contains_key(file) && !is_partial(file));
    let users = templates.filter(|(_, source)| !partial_names(source.text()).is_disjoint(partials));
    users.filter_map(|(_, source)| Some(source.path().file_name()?.to_str()?.to_owned())).collect()
}

/// The partials that a text uses, directly or through others, in the order of their names.
pub(super) fn partials_of_texts<'p>(
    state: &PageState,
    pack: &'p PackPlace,
    texts: &[String],
) -> Vec<(&'p str, FileId)> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<String> = texts.iter().flat_map(|text| partial_names(text)).collect();
    while let Some(name) = open.pop() {
        let Some(file) = pack.partials.get(&name).filter(|_| !names.contains(&name)) else { continue };
        open.extend(state.report.sources.get(*file).map(|source| partial_names(source.text())).unwrap_or_default());
        names.insert(name);
    }
    let known = pack.partials.iter().filter(|(name, _)| names.contains(*name));
    known.map(|(name, file)| (name.as_str(), *file)).collect()
}

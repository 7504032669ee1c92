//! What each test depends on, so that a watch runs the tests that an edit touches.

use std::collections::{BTreeMap, BTreeSet};

use crate::action::{EntryReference, Run};
use crate::catalog::Catalog;
use crate::digest::Digest;
use crate::load::{LoadedPack, LoadedPacks};
use crate::yaml::Spanned;

use super::PlannedTest;

/// The keys of a manifest that concern some tests alone.
const OWN_KEYS: &[&str] = &["prompts", "resources", "tools", "tests"];

/// A fingerprint of each test and of what it calls: another one after an edit that touches it.
pub fn test_fingerprints(tests: &[PlannedTest], loaded: &LoadedPacks, catalog: &Catalog) -> Vec<u64> {
    let shared = shared_digest(loaded, catalog);
    let entries = entries(loaded, catalog);
    let fingerprint = |test: &PlannedTest| {
        let mut digest = Digest::new("test");
        [shared, test.digest].iter().for_each(|part| digest.update(&part.to_be_bytes()));
        let start = test.entry.iter().map(|name| (entry_kind(test.method), name.as_str()));
        for name in reached_entries(start, &entries) {
            let part = entries.get(&name).map_or(0, |entry| entry.digest);
            digest.update(&part.to_be_bytes());
        }
        digest.finish_u64()
    };
    tests.iter().map(fingerprint).collect()
}

/// The kind of the entries that a method calls.
fn entry_kind(method: &str) -> &'static str {
    if method == "tools/call" { "tool" } else { "prompt" }
}

/// What every test may depend on: partials, resources, and the keys of all manifests that hold no entries.
fn shared_digest(loaded: &LoadedPacks, catalog: &Catalog) -> u64 {
    let mut digest = Digest::new("shared");
    let digests = catalog.digests();
    for (name, part) in digests.partials.iter().chain(&digests.resources).chain(&digests.resource_templates) {
        digest.update(name.as_bytes());
        digest.update(&part.to_be_bytes());
    }
    let documents = &loaded.load_context.documents;
    for pack in &loaded.packs {
        for (key, _) in documents.keys_of(pack.at).iter().filter(|(key, _)| !OWN_KEYS.contains(&key.as_str())) {
            digest.update(key.as_bytes());
            documents.digest(documents.value_at(pack.at, &format!("/{key}")), &mut digest);
        }
    }
    digest.finish_u64()
}

/// A tool or a prompt.
struct TestedEntry {
    digest: u64,
    /// The kind and the name of what its run calls.
    calls: Vec<EntryName>,
}

/// The kind and the name of an entry, as clients see it.
type EntryName = (&'static str, String);

fn entries(loaded: &LoadedPacks, catalog: &Catalog) -> BTreeMap<EntryName, TestedEntry> {
    let digests = catalog.digests();
    let tools = digests.tools.iter().map(|(name, digest)| (("tool", (*name).to_owned()), *digest));
    let prompts = digests.prompts.iter().map(|(name, digest)| (("prompt", (*name).to_owned()), *digest));
    let of_digest = |digest| TestedEntry { digest, calls: Vec::new() };
    let mut found: BTreeMap<EntryName, TestedEntry> =
        tools.chain(prompts).map(|(name, digest)| (name, of_digest(digest))).collect();
    for pack in &loaded.packs {
        for file in &pack.entry_files {
            let tools = file.entries.tools.iter().map(|(name, tool)| ("tool", name, tool.run.as_ref()));
            let prompts = file.entries.prompts.iter().map(|(name, prompt)| ("prompt", name, prompt.run.as_ref()));
            for (kind, name, run) in tools.chain(prompts) {
                if let Some(entry) = found.get_mut(&(kind, pack.prefix.qualify(name))) {
                    entry.calls = run.map(|run| calls(run, pack)).unwrap_or_default();
                }
            }
        }
    }
    found
}

/// What a run calls.
fn calls(run: &Spanned<Run>, pack: &LoadedPack) -> Vec<EntryName> {
    let call = |reference: EntryReference| match reference {
        EntryReference::Tool(name, _) => Some(("tool", pack.prefix.qualify(&name))),
        EntryReference::Prompt(name, _) => Some(("prompt", pack.prefix.qualify(&name))),
        EntryReference::Resource(_) | EntryReference::Notified(_) => None,
    };
    run.references().into_iter().filter_map(call).collect()
}

/// The entries that a test reaches, in order.
fn reached_entries<'e>(
    start: impl Iterator<Item = (&'static str, &'e str)>,
    entries: &BTreeMap<EntryName, TestedEntry>,
) -> BTreeSet<EntryName> {
    let mut open: Vec<EntryName> = start.map(|(kind, name)| (kind, name.to_owned())).collect();
    let mut found = BTreeSet::new();
    while let Some(name) = open.pop() {
        if let Some(entry) = entries.get(&name).filter(|_| !found.contains(&name)) {
            open.extend(entry.calls.iter().cloned());
        }
        found.insert(name);
    }
    found
}

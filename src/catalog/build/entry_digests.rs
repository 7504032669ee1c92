//! Digests of entries as written, which show an edit that no list shows.

use crate::catalog::Catalog;
use crate::catalog::resource::CompiledResource;
use crate::compile::LoadContext;
use crate::digest::Digest;
use crate::load::LoadedPack;

/// The keys of a manifest that hold entries, which have digests of their own.
const ENTRY_KEYS: &[&str] = &["prompts", "resources", "tools"];

/// How much of the digest of a manifest is told: it tells manifests apart, and proves nothing.
const MANIFEST_DIGEST_BYTES: usize = 8;

/// Digests of all that was written, each by the name that an author knows it by.
pub struct EntryDigests<'a> {
    /// The prompts, by name.
    pub prompts: Vec<(&'a str, u64)>,
    /// The tools, by name.
    pub tools: Vec<(&'a str, u64)>,
    /// The resources, by URI.
    pub resources: Vec<(&'a str, u64)>,
    /// The templates of resources, by URI template.
    pub resource_templates: Vec<(&'a str, u64)>,
    /// The partials, by name.
    pub partials: Vec<(&'a str, u64)>,
    /// What else the served manifest holds, by key.
    pub keys: Vec<(&'a str, u64)>,
}

impl Catalog {
    /// A digest of all that was written, in hexadecimal digits: it is the same for the same manifest in every process.
    pub fn digest(&self) -> &str {
        self.settings.digest.get_or_init(|| {
            let EntryDigests { prompts, tools, resources, resource_templates, partials, keys } = self.digests();
            let mut digest = Digest::new("manifest");
            for (name, part) in [prompts, tools, resources, resource_templates, partials, keys].into_iter().flatten() {
                digest.update(name.as_bytes());
                digest.update(&part.to_be_bytes());
            }
            let bytes = digest.finish();
            bytes.iter().take(MANIFEST_DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect()
        })
    }

    /// Digests of all that was written.
    pub fn digests<'a>(&'a self) -> EntryDigests<'a> {
        let all = self.resources.iter();
        let (literal, templates): (Vec<_>, Vec<_>) = all.partition(|resource| resource.template.is_literal());
        let by_uri = |resource: &&'a CompiledResource| (resource.template.as_str(), resource.digest);
        EntryDigests {
            prompts: self.prompts.values().map(|prompt| (prompt.listing.name.as_str(), prompt.digest)).collect(),
            tools: self.tools.values().map(|tool| (tool.listing.name.as_str(), tool.digest)).collect(),
            resources: literal.iter().map(by_uri).collect(),
            resource_templates: templates.iter().map(by_uri).collect(),
            partials: self.settings.partial_digests.iter().map(|(name, digest)| (name.as_str(), *digest)).collect(),
            keys: self.settings.key_digests.iter().map(|(key, digest)| (key.as_str(), *digest)).collect(),
        }
    }
}

/// The digests of the keys of a manifest that hold no entries.
pub(in crate::catalog) fn key_digests(pack: &LoadedPack, load_context: &LoadContext) -> Vec<(String, u64)> {
    let keys = load_context.documents.values_of(pack.at).into_iter();
    let others = keys.filter(|(key, _)| !ENTRY_KEYS.contains(&key.as_str()));
    let digest = |value| {
        let mut digest = Digest::new("key");
        load_context.documents.digest(value, &mut digest);
        digest.finish_u64()
    };
    others.map(|(key, value)| (key, digest(value))).collect()
}

/// The digests of the partials of all packs.
pub(in crate::catalog) fn partial_digests(packs: &[LoadedPack], load_context: &LoadContext) -> Vec<(String, u64)> {
    let all = packs.iter().flat_map(|pack| pack.pack.partials.iter().map(move |(name, file)| (pack, name, file)));
    let digest = |file| {
        load_context
            .report
            .sources
            .get(file)
            .map_or(0, |source| Digest::new("partial").chain_update(source.text().as_bytes()).finish_u64())
    };
    all.map(|(pack, name, file)| (pack.prefix.qualify(name), digest(*file))).collect()
}

//! Where entries are declared, for an author who looks for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use crate::catalog::Catalog;
use crate::compile::NamePrefix;
use crate::diagnostic::FileId;
use crate::files::Folder;
use crate::load::LoadedPack;
use crate::uri::UriTemplate;
use crate::yaml::Location;

/// The places of the entries of one load, and the packs that they are in.
#[derive(Debug, Default)]
pub struct EntryPlaces {
    /// Of tools, the places of their names, by the names that clients see.
    pub tools: IndexMap<String, Location>,
    /// The same of prompts.
    pub prompts: IndexMap<String, Location>,
    /// The packs, the served one first.
    pub packs: Vec<PackPlace>,
    /// The places of URIs, by the templates in the form in which they are compared.
    pub(super) uris: IndexMap<String, Location>,
}

/// One pack.
#[derive(Debug)]
pub struct PackPlace {
    /// Its name, if another pack imports it.
    pub name: Option<String>,
    /// What the names of its entries begin with.
    pub prefix: NamePrefix,
    pub folder: Folder,
    /// The prefix of its paths in messages.
    pub display_prefix: String,
    /// Its manifest; `None` for a pack of another program.
    pub manifest: Option<FileId>,
    /// Whether it comes from elsewhere, so that its files are not edited.
    pub is_locked: bool,
    /// The files of its partials, by name.
    pub partials: BTreeMap<String, FileId>,
}

impl EntryPlaces {
    pub(super) fn add_packs(&mut self, packs: &[LoadedPack]) {
        self.packs.extend(packs.iter().map(|loaded @ LoadedPack { pack, prefix, importer, at, .. }| PackPlace {
            manifest: (!loaded.is_imported()).then(|| at.file()),
            is_locked: pack.locked.is_some(),
            name: importer.and_then(|_| pack.server.get("name")?.as_str().map(str::to_owned)),
            prefix: prefix.clone(),
            folder: pack.folder.clone(),
            display_prefix: pack.display_prefix.clone(),
            partials: pack.partials.clone(),
        }));
    }

    /// The place of a URI or a URI template, which `catalog` serves where there is one.
    #[must_use]
    pub fn uri(&self, uri: &str, catalog: Option<&Catalog>) -> Option<Location> {
        let declared = |template: &UriTemplate| self.uris.get(&template.key()).copied();
        let written = UriTemplate::parse(uri).ok();
        let served = || declared(&catalog?.find_resource(uri)?.0.template);
        written.as_ref().and_then(declared).or_else(served)
    }

    /// The pack of a file, by the path that messages show, and the path of the file in it.
    #[must_use]
    pub fn pack_of<'p>(&self, display_path: &'p Path) -> Option<(&PackPlace, &'p Path)> {
        let shown = display_path.to_str()?;
        let packs = self.packs.iter().filter_map(|pack| {
            let path = shown.strip_prefix(&pack.display_prefix)?;
            Some((pack, Path::new(path)))
        });
        packs.max_by_key(|(pack, _)| pack.display_prefix.len())
    }
}

impl PackPlace {
    /// The absolute path of a file in it.
    #[must_use]
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.folder.path().join(path)
    }
}

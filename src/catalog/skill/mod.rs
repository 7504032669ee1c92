//! Skills: folders with a SKILL.md, whose files are resources.
//!
//! An invalid skill is skipped with a warning. The methods of the extension are in server/.

mod collect;
mod front_matter;

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::budget::Budget;
use crate::uri::{Router, UriTemplate};

use super::content::pack_file::{self, PackFile};
use super::entry::PackContext;
use super::listing;
use super::result::call_result::{ResourceResult, ResultContents};
use super::result::refusal::Refusal;

pub(super) use collect::{SkillCollector, SkillLinks, SkillListings};

/// How many bytes a skill may hold; so a single file of it, too.
const MAX_SKILL_BYTES: u64 = 16 << 20;

/// Every skill of a catalog.
pub(super) struct SkillIndex {
    /// Whether the manifest declares skills, even if there are none.
    is_declared: bool,
    files: Vec<SkillResource>,
    by_uri: Router<usize>,
    /// The entries of each folder, by its URI.
    folders: HashMap<String, Vec<listing::ResourceListing>>,
}

/// One file of a skill, readable by its URI.
pub(super) struct SkillResource {
    pub(super) listing: listing::ResourceListing,
    pub(super) pack_context: Arc<PackContext>,
    file: PackFile,
}

/// The children of folders, by path and then by name.
type Children = BTreeMap<String, BTreeMap<String, listing::ResourceListing>>;

impl SkillIndex {
    fn new(is_declared: bool, files: Vec<SkillResource>, children: Children) -> SkillIndex {
        let literal = |(nth, file): (usize, &SkillResource)| Some((UriTemplate::parse(&file.listing.uri).ok()?, nth));
        let by_uri = Router::new(files.iter().enumerate().filter_map(literal));
        let folders = children.into_iter().map(|(path, children)| (skill_uri(&path), children.into_values().collect()));
        SkillIndex { is_declared, by_uri, folders: folders.collect(), files }
    }

    /// Whether skills are declared, even if there are none now.
    pub(super) fn is_declared(&self) -> bool {
        self.is_declared
    }

    /// The file with a URI.
    pub(super) fn file(&self, uri: &str) -> Option<&SkillResource> {
        if self.files.is_empty() {
            return None;
        }
        let (nth, _) = self.by_uri.find(uri)?;
        self.files.get(*nth)
    }

    /// The entries of the folder with a URI.
    pub(super) fn folder(&self, uri: &str) -> Option<&[listing::ResourceListing]> {
        self.folders.get(uri).map(Vec::as_slice)
    }
}

impl SkillResource {
    /// Reads it as it is now.
    ///
    /// # Errors
    /// It no longer exists, or cannot be read.
    pub(super) fn read(&self, uri: &str, budget: &Budget) -> Result<ResourceResult, Refusal> {
        let (body, mime_type) = pack_file::read_body(self.file.at(), MAX_SKILL_BYTES, uri, budget)?;
        let one = ResultContents { uri: uri.to_owned(), mime_type: Some(mime_type), body, meta: None };
        Ok(ResourceResult { contents: vec![one], ..ResourceResult::default() })
    }

    /// A number that changes when the file does.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.file.folder.stat(&self.file.path).ok().map(|stat| (stat.size, stat.modified)).hash(&mut hasher);
        hasher.finish()
    }
}

/// The URI of a path among the skills.
fn skill_uri(path: &str) -> String {
    match UriTemplate::parse("skill://{+path}") {
        Ok(template) => template.expand(&|_| Some(path.to_owned())),
        Err(_) => format!("skill://{path}"),
    }
}

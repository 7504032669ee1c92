//! Skills: folders with a SKILL.md, whose files are resources.
//!
//! An invalid skill is skipped with a warning. The methods of the extension are in server/.

mod collect;
mod front_matter;

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::action::CallContext;
use crate::budget::Budget;
use crate::uri::{Router, UriTemplate};
use crate::value_types::CacheScope;

use super::access::{EntryAccess, rules_for};
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
    pub(super) access: Option<Arc<EntryAccess>>,
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

    /// The files below the folder with a URI.
    pub(super) fn files_below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a SkillResource> {
        let is_below = move |file: &&SkillResource| {
            file.listing.uri.strip_prefix(folder).is_some_and(|rest| folder.ends_with('/') || rest.starts_with('/'))
        };
        self.files.iter().filter(is_below)
    }

    /// Whether some are not for everybody.
    pub(super) fn has_access(&self) -> bool {
        self.files.iter().any(|file| file.access.is_some())
    }

    /// Whether a caller needs a role to see some of them.
    pub(super) fn has_roles(&self) -> bool {
        self.files.iter().filter_map(|file| file.access.as_ref()).any(|access| !access.roles().is_empty())
    }

    /// The entries of the folder with a URI.
    pub(super) fn folder(&self, uri: &str) -> Option<&[listing::ResourceListing]> {
        self.folders.get(uri).map(Vec::as_slice)
    }
}

impl SkillResource {
    /// Refuses a caller who may not read it.
    ///
    /// # Errors
    /// The caller lacks a scope, or its condition does not permit it.
    pub(super) fn check_access(&self, call: &mut CallContext) -> Result<(), Refusal> {
        let Some(access) = rules_for(self.access.as_ref(), call) else { return Ok(()) };
        let scope = self
            .pack_context
            .scope(serde_json::Map::new(), &call.budget)
            .with_caller(call.access.identity(), &call.secrets);
        access.check(&scope, call)
    }

    /// Reads it as it is now.
    ///
    /// # Errors
    /// It no longer exists, or cannot be read.
    pub(super) fn read(&self, uri: &str, budget: &Budget) -> Result<ResourceResult, Refusal> {
        let (body, mime_type) = pack_file::read_body(self.file.at(), MAX_SKILL_BYTES, uri, budget)?;
        let one = ResultContents { uri: uri.to_owned(), mime_type: Some(mime_type), body, meta: None };
        let cache_scope = self.access.as_ref().map(|_| CacheScope::Private);
        Ok(ResourceResult { contents: vec![one], cache_scope, ..ResourceResult::default() })
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

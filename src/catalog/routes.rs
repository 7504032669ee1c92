//! Routes a URI to an entry; the importing pack comes before the packs that it imports.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use indexmap::IndexMap;

use crate::compile::LoadContext;
use crate::diagnostic::Code;
use crate::uri::{Router, UriTemplate, normalize_uri};
use crate::yaml::Location;

use super::entry::PackContext;
use super::listing;
use super::resource::CompiledResource;
use super::skill::{SkillIndex, SkillResource};

/// The routes of each pack: the importer comes before the imported packs, in the order written.
pub(super) struct Routes {
    packs: Vec<PackRoutes>,
    pub(super) skills: SkillIndex,
    /// Listed URIs by their normal forms, where these differ: a file in a folder keeps the case of its name.
    listed: HashMap<String, Vec<String>>,
}

struct PackRoutes {
    pack_context: Arc<PackContext>,
    router: Router<usize>,
}

/// What answers a URI.
pub(super) enum Route<'a> {
    /// A file of a skill.
    Skill(&'a SkillResource),
    /// The resource of this number, with the values of its variables.
    Resource(usize, IndexMap<String, String>),
}

impl Routes {
    /// Takes the packs in the order of their rank, and what they answer.
    pub(super) fn new(
        pack_contexts: Vec<Arc<PackContext>>,
        resources: &[CompiledResource],
        skills: SkillIndex,
    ) -> Routes {
        let packs = pack_contexts.into_iter().map(|pack_context| {
            let own =
                resources.iter().enumerate().filter(|(_, resource)| Arc::ptr_eq(&resource.pack_context, &pack_context));
            let router = Router::new(own.map(|(index, resource)| (resource.template.clone(), index)));
            PackRoutes { pack_context, router }
        });
        Routes { packs: packs.collect(), skills, listed: HashMap::new() }
    }

    /// Finds what is listed by other forms of its URI, too.
    pub(super) fn add_listed(&mut self, resources: &[listing::ResourceListing]) {
        for listing::ResourceListing { uri, .. } in resources {
            let normalized = normalize_uri(uri);
            if normalized != *uri {
                self.listed.entry(normalized.into_owned()).or_default().push(uri.clone());
            }
        }
    }

    /// What answers a URI to clients.
    pub(super) fn find(&self, uri: &str) -> Option<Route<'_>> {
        self.find_with_pack(uri).map(|(_, route)| route)
    }

    fn find_with_pack(&self, uri: &str) -> Option<(&PackContext, Route<'_>)> {
        let listed = if self.listed.is_empty() { None } else { self.listed.get(&*normalize_uri(uri)) };
        let uri = match listed {
            Some(listed) if !listed.iter().any(|listed| listed == uri) => listed.first().map_or(uri, String::as_str),
            _ => uri,
        };
        let skill = self.skills.file(uri);
        let mut packs = self.packs.iter().enumerate();
        let (index, pack, route) = packs.find_map(|(index, pack)| Some((index, pack, pack.find(uri, skill)?)))?;
        // Whether a pack before this one answers the resource of which this is a fragment.
        let normalized = if uri.contains('#') { normalize_uri(uri) } else { Cow::Borrowed(uri) };
        let is_shadowed = normalized.split_once('#').is_some_and(|(whole, _)| {
            let skill = self.skills.file(whole);
            self.packs.iter().take(index).any(|pack| pack.find(whole, skill).is_some())
        });
        (!is_shadowed).then_some((&*pack.pack_context, route))
    }

    /// What answers a URI to the entries of one pack: those of the pack that is served reach everything, others what
    /// their own pack answers to clients. For what its importer answers a pack must not speak.
    pub(super) fn find_in_pack(&self, pack_context: &PackContext, uri: &str) -> Option<Route<'_>> {
        if pack_context.is_root_pack() {
            return self.find(uri);
        }
        let (answering, route) = self.find_with_pack(uri)?;
        std::ptr::eq(answering, pack_context).then_some(route)
    }

    /// Keeps each listed URI once, at the entry that serves it.
    pub(super) fn retain_reachable(&self, listed: Vec<ListedResource>) -> Vec<listing::ResourceListing> {
        let mut times: HashMap<Cow<'_, str>, usize> = HashMap::new();
        listed.iter().for_each(|entry| *times.entry(normalize_uri(&entry.listing.uri)).or_default() += 1);
        let is_contested = |entry: &ListedResource| {
            !entry.in_root_pack || times.get(&normalize_uri(&entry.listing.uri)).is_some_and(|times| *times > 1)
        };
        let contested: Vec<bool> = listed.iter().map(is_contested).collect();
        let answers = |entry: &ListedResource| match self.find(&entry.listing.uri) {
            Some(Route::Resource(index, _)) => entry.resource == Some(index),
            Some(Route::Skill(_)) => entry.resource.is_none(),
            None => false,
        };
        let kept = listed.into_iter().zip(contested).filter(|(entry, contested)| !contested || answers(entry));
        kept.map(|(entry, _)| entry.listing).collect()
    }
}

impl PackRoutes {
    fn find<'s>(&self, uri: &str, skill: Option<&'s SkillResource>) -> Option<Route<'s>> {
        if let Some(file) = skill.filter(|file| Arc::ptr_eq(&file.pack_context, &self.pack_context)) {
            return Some(Route::Skill(file));
        }
        self.router.find(uri).map(|(index, values)| Route::Resource(*index, values))
    }
}

/// Something that an entry puts into the list of resources.
pub(super) struct ListedResource {
    pub(super) listing: listing::ResourceListing,
    /// The number of the resource; none of a skill's file.
    pub(super) resource: Option<usize>,
    /// Whether it is a resource of the pack that is served, before which no other pack answers.
    pub(super) in_root_pack: bool,
}

/// A declared URI, of a resource or a skill file.
pub(super) struct DeclaredUri {
    /// The number of its pack, which is its rank.
    pub(super) pack: usize,
    pub(super) template: UriTemplate,
    pub(super) at: Location,
}

/// Warns of URIs of a pack that an entry of an earlier pack serves, as far as samples show.
pub(super) fn warn_of_overlaps(uris: &[DeclaredUri], load_context: &mut LoadContext) {
    let last = uris.iter().map(|uri| uri.pack).max().unwrap_or_default();
    for pack in 1..=last {
        let earlier: Vec<&DeclaredUri> = uris.iter().filter(|uri| uri.pack < pack).collect();
        let later: Vec<&DeclaredUri> = uris.iter().filter(|uri| uri.pack == pack).collect();
        for (later, (earlier, example_uri)) in overlaps(&earlier, &later) {
            let message = match later.template.is_literal() {
                true => format!("unreachable resource `{example_uri}`"),
                false => format!("shadowed resource `{example_uri}` of `{}`", later.template.as_str()),
            };
            load_context
                .warning(Code::Duplicate, later.at, message)
                .note(earlier.at.span(), "this entry takes precedence: its pack comes first")
                .help("use different schemes or prefixes");
        }
    }
}

/// What of `later` is answered by which of `earlier`, with a URI that both would answer: one for each, in the order
/// written. Two literals that are equal are an error elsewhere.
fn overlaps<'w>(
    earlier: &[&'w DeclaredUri],
    later: &[&'w DeclaredUri],
) -> Vec<(&'w DeclaredUri, (&'w DeclaredUri, String))> {
    let (before, own) = (router(earlier), router(later));
    let mut overlaps_by_index: BTreeMap<usize, (&DeclaredUri, String)> = BTreeMap::new();
    for (index, one) in later.iter().enumerate() {
        let shared = sample_uris(&one.template).find_map(|uri| Some((*before.find(&uri)?.0, uri)));
        let shared = shared.and_then(|(by, uri)| Some((*earlier.get(by)?, uri)));
        overlaps_by_index.extend(shared.map(|shared| (index, shared)));
    }
    for one in earlier {
        for (index, uri) in sample_uris(&one.template).filter_map(|uri| Some((*own.find(&uri)?.0, uri))) {
            overlaps_by_index.entry(index).or_insert((one, uri));
        }
    }
    let later_of = |(index, shared): (usize, _)| Some((*later.get(index)?, shared));
    let are_two_literals = |(later, (earlier, _)): &(&DeclaredUri, (&DeclaredUri, String))| {
        later.template.is_literal() && earlier.template.is_literal()
    };
    overlaps_by_index.into_iter().filter_map(later_of).filter(|overlap| !are_two_literals(overlap)).collect()
}

fn router(uris: &[&DeclaredUri]) -> Router<usize> {
    Router::new(uris.iter().enumerate().map(|(index, one)| (one.template.clone(), index)))
}

/// URIs that a template answers: of a literal the only one.
fn sample_uris(template: &UriTemplate) -> impl Iterator<Item = String> {
    let values: &[&str] = if template.is_literal() { &[""] } else { &["x", "x/x"] };
    let expanded = values.iter().map(|value| template.expand(&|_: &str| Some((*value).to_owned())));
    expanded.filter(|uri| template.matches(uri).is_some())
}

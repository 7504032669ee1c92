//! Which entry answers a URI: of the pack that takes in others, before any of theirs.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::compile::Findings;
use crate::diagnostic::Code;
use crate::uri::{Router, UriTemplate};
use crate::yaml::At;

use super::entry::Home;
use super::face;
use super::resource::Resource;
use super::skill::{File, Skills};

/// What answers URIs, by pack: one that takes in others stands before them, and they in the order written.
pub(super) struct Routes {
    packs: Vec<PackRoutes>,
    pub(super) skills: Skills,
}

struct PackRoutes {
    home: Arc<Home>,
    router: Router<usize>,
}

/// What answers a URI.
pub(super) enum Route<'a> {
    /// A file of a skill.
    Skill(&'a File),
    /// The resource of this number, with the values of its variables.
    Resource(usize, IndexMap<String, String>),
}

impl Routes {
    /// Takes the packs in the order of their rank, and what they answer.
    pub(super) fn new(homes: Vec<Arc<Home>>, resources: &[Resource], skills: Skills) -> Routes {
        let packs = homes.into_iter().map(|home| {
            let own = resources.iter().enumerate().filter(|(_, resource)| Arc::ptr_eq(&resource.home, &home));
            let router = Router::new(own.map(|(nth, resource)| (resource.template.clone(), nth)));
            PackRoutes { home, router }
        });
        Routes { packs: packs.collect(), skills }
    }

    /// What answers a URI to clients.
    pub(super) fn find(&self, uri: &str) -> Option<Route<'_>> {
        let skill = self.skills.file(uri);
        self.packs.iter().find_map(|pack| pack.find(uri, skill))
    }

    /// What answers a URI to the entries of one pack: a pack's own references resolve inside it, and those of the pack
    /// that is served everywhere.
    pub(super) fn find_for(&self, home: &Home, uri: &str) -> Option<Route<'_>> {
        if home.is_served() {
            return self.find(uri);
        }
        let pack = self.packs.iter().find(|pack| std::ptr::eq(&*pack.home, home))?;
        pack.find(uri, self.skills.file(uri))
    }

    /// Leaves of what is listed each URI once, and only what answers it.
    pub(super) fn answered(&self, listed: Vec<Listed>) -> Vec<face::Resource> {
        let mut times: HashMap<&str, usize> = HashMap::new();
        listed.iter().for_each(|one| *times.entry(&one.face.uri).or_default() += 1);
        let is_contested = |one: &Listed| !one.of_served || times.get(one.face.uri.as_str()).is_some_and(|n| *n > 1);
        let contested: Vec<bool> = listed.iter().map(is_contested).collect();
        let answers = |one: &Listed| match self.find(&one.face.uri) {
            Some(Route::Resource(nth, _)) => one.resource == Some(nth),
            Some(Route::Skill(_)) => one.resource.is_none(),
            None => false,
        };
        let kept = listed.into_iter().zip(contested).filter(|(one, contested)| !contested || answers(one));
        kept.map(|(one, _)| one.face).collect()
    }
}

impl PackRoutes {
    fn find<'s>(&self, uri: &str, skill: Option<&'s File>) -> Option<Route<'s>> {
        if let Some(file) = skill.filter(|file| Arc::ptr_eq(&file.home, &self.home)) {
            return Some(Route::Skill(file));
        }
        self.router.find(uri).map(|(nth, values)| Route::Resource(*nth, values))
    }
}

/// Something that an entry puts into the list of resources.
pub(super) struct Listed {
    pub(super) face: face::Resource,
    /// The number of the resource; none of a skill's file.
    pub(super) resource: Option<usize>,
    /// Whether it is a resource of the pack that is served, before which no other pack answers.
    pub(super) of_served: bool,
}

/// A URI as it was written, of a resource or of a file of a skill.
pub(super) struct WrittenUri {
    /// The number of its pack, which is its rank.
    pub(super) pack: usize,
    pub(super) template: UriTemplate,
    pub(super) at: At,
}

/// Warns of every URI of a pack that an entry of an earlier pack answers, in whole or in part.
pub(super) fn warn_of_overlaps(written: &[WrittenUri], findings: &mut Findings) {
    for later in written.iter().filter(|later| later.pack > 0) {
        let before = written.iter().filter(|earlier| earlier.pack < later.pack);
        let Some((earlier, witness)) =
            before.filter_map(|earlier| Some((earlier, shared(&earlier.template, &later.template)?))).next()
        else {
            continue;
        };
        let words = match later.template.is_literal() {
            true => format!("`{witness}` of this pack is never answered"),
            false => format!("this pack does not answer every URI of `{}`: not `{witness}`", later.template.as_str()),
        };
        findings
            .report
            .warning(Code::Duplicate, later.at.span(), words)
            .note(earlier.at.span(), "this entry answers it, as its pack comes first")
            .help("let the two have different schemes, or different beginnings");
    }
}

/// A URI that both answer, where one is found. Two literals that are equal are an error elsewhere.
fn shared(one: &UriTemplate, other: &UriTemplate) -> Option<String> {
    if one.is_literal() && other.is_literal() {
        return None;
    }
    let samples = |of: &UriTemplate, with: &UriTemplate| -> Vec<String> {
        if of.is_literal() {
            return vec![of.as_str().to_owned()];
        }
        let parts = with.literal_parts().map(|part| part.trim_matches('/').to_owned());
        let values = ["x".to_owned(), "x/x".to_owned()].into_iter().chain(parts.filter(|part| !part.is_empty()));
        values.map(|value| of.expand(&|_: &str| Some(value.clone()))).collect()
    };
    let both = |uri: &String| one.matches(uri).is_some() && other.matches(uri).is_some();
    samples(other, one).into_iter().chain(samples(one, other)).find(both)
}

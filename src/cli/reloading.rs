//! What a reload does: load, build, and put the catalog in the place of the old one, or say why the old one stays.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::Output;
use super::manifest::built;
use super::serve::watch_set;
use crate::catalog::{Built, Catalog};
use crate::diagnostic::{self, Format, Report};
use crate::load::Place;
use crate::reload::{Load, Loaded, Round, WatchSet};
use crate::server::Live;

/// Keeps what is served current.
pub(super) struct Reloading {
    place: Place,
    live: Live,
    output: Output,
    watched: WatchSet,
    /// What was read the last time, to tell an edit from a touch.
    last: Option<u64>,
}

impl Reloading {
    /// Keeps current what `live` serves.
    pub(super) fn new(place: Place, live: Live, output: Output) -> Reloading {
        Reloading { place, live, output, watched: WatchSet::default(), last: None }
    }

    /// Goes on from the load that is served already.
    pub(super) fn after(self, report: &Report, watched: &WatchSet) -> Reloading {
        let last = Some(digest(report, Some(&self.live.catalog())));
        Reloading { last, watched: watched.clone(), ..self }
    }
}

impl Load for Reloading {
    type Outcome = Built;

    fn load(&mut self) -> Loaded<Built> {
        let built = built(&self.place);
        let mut watch = watch_set(built.reads.clone());
        if built.catalog.is_none() {
            // What a broken manifest does not reach is watched on, for the mend may be there.
            watch.files.extend(self.watched.files.iter().cloned());
            watch.folders.extend(self.watched.folders.iter().cloned());
        }
        self.watched = watch.clone();
        Loaded { outcome: built, watch }
    }

    fn publish(&mut self, built: Built, round: Round) {
        let digest = digest(&built.report, built.catalog.as_ref());
        let edited = self.last.replace(digest) != Some(digest);
        let took = round.took.as_millis();
        match built.catalog {
            Some(catalog) => {
                let changes = self.live.replace(Arc::new(catalog));
                if changes.any() {
                    tracing::info!(target: "folio::reload", "reloaded in {took} ms: {changes}");
                } else if edited || round.asked {
                    tracing::info!(target: "folio::reload", "reloaded in {took} ms: no list changed");
                }
            }
            None if edited || round.asked => {
                self.output.say(&diagnostic::render(&built.report, Format::Text, self.output.error_style()));
                tracing::error!(target: "folio::reload", "not reloaded: the last good version stays");
            }
            None => {}
        }
    }
}

/// A number for everything that was read, listed and found wrong: the files of a root by their sizes and times.
fn digest(report: &Report, catalog: Option<&Catalog>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for number in 0..report.sources.count() {
        if let Some(source) = report.sources.nth(number) {
            source.path().hash(&mut hasher);
            source.text().hash(&mut hasher);
        }
    }
    diagnostic::lines(report).hash(&mut hasher);
    for resource in catalog.iter().flat_map(|catalog| &catalog.lists().resources) {
        let modified = resource.annotations.as_ref().and_then(|annotations| annotations.last_modified.as_ref());
        (&resource.uri, resource.size, modified).hash(&mut hasher);
    }
    for file in catalog.iter().flat_map(|catalog| &catalog.lists().skills).flat_map(|skill| &skill.resources) {
        (&file.uri, &file.digest).hash(&mut hasher);
    }
    hasher.finish()
}

//! What a reload does: load, build, and put a catalog that is accepted in the place of the old one, or say why that one
//! stays.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::Output;
use super::manifest::built;
use super::serve::watch_set;
use crate::catalog::{Built, Catalog, Usage};
use crate::diagnostic::{self, Diagnostic, Format, Report};
use crate::load::Place;
use crate::reload::{Load, Loaded, Round, WatchSet};
use crate::server::Live;

/// Keeps what is served current.
pub(super) struct Reloading {
    place: Place,
    usage: Usage,
    live: Live,
    output: Output,
    watched: WatchSet,
    said: Said,
    /// What was read the last time, to tell an edit from a touch.
    last: Option<u64>,
}

impl Reloading {
    /// Keeps current what `live` serves.
    pub(super) fn new(place: Place, usage: Usage, live: Live, output: Output) -> Reloading {
        Reloading { place, usage, live, output, watched: WatchSet::default(), said: Said::default(), last: None }
    }

    /// Goes on from the load that is served already.
    pub(super) fn after(self, report: &Report, said: Said, watched: &WatchSet) -> Reloading {
        let last = Some(digest(report, Some(&self.live.catalog())));
        Reloading { last, said, watched: watched.clone(), ..self }
    }

    /// Serves a catalog from now on, and says what is other than it was.
    fn serve(&mut self, catalog: Arc<Catalog>, report: &Report, (round, edited): (Round, bool)) {
        let (changes, took) = (self.live.replace(catalog), round.took.as_millis());
        self.said.warn(report);
        if changes.any() {
            tracing::info!(target: "folio::reload", "reloaded in {took} ms: {changes}");
        } else if edited || round.asked {
            tracing::info!(target: "folio::reload", "reloaded in {took} ms: no list changed");
        }
    }

    /// Says why the catalog that is served stays.
    fn refuse(&mut self, report: &Report) {
        self.output.say(&diagnostic::render(report, Format::Text, self.output.error_style()));
        tracing::error!(target: "folio::reload", "not reloaded: the last good version stays");
        self.said = Said::of(report);
    }
}

/// The warnings of the last load: an author at work is told of each when it comes up, and not at every save.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said(HashSet<String>);

impl Said {
    fn of(report: &Report) -> Said {
        Said(report.warnings().map(|warning| Said::words(report, warning)).collect())
    }

    /// A warning, wherever it stands in its file.
    fn words(report: &Report, warning: &Diagnostic) -> String {
        let source = warning.span.and_then(|span| report.sources.get(span.file));
        let path = source.map(|source| source.path().display().to_string()).unwrap_or_default();
        format!("{path}\0{}\0{}", warning.code.as_str(), warning.message)
    }

    /// Says each warning that is new in one line.
    pub(super) fn warn(&mut self, report: &Report) {
        for warning in report.warnings().filter(|warning| !self.0.contains(&Said::words(report, warning))) {
            let line = diagnostic::line(report, warning);
            tracing::warn!(target: "folio::manifest", "{}", line.trim_end());
        }
        *self = Said::of(report);
    }
}

impl Load for Reloading {
    type Outcome = Built;

    fn load(&mut self) -> Loaded<Built> {
        let built = built(&self.place, &self.output);
        let mut watch = watch_set(built.reads.clone());
        if built.catalog.is_none() {
            // What a broken manifest does not reach is watched on, for the mend may be there.
            watch.files.extend(self.watched.files.iter().cloned());
            watch.folders.extend(self.watched.folders.iter().cloned());
        }
        self.watched = watch.clone();
        Loaded { outcome: built, watch }
    }

    fn publish(&mut self, mut built: Built, round: Round) {
        let digest = digest(&built.report, built.catalog.as_deref());
        let edited = self.last.replace(digest) != Some(digest);
        match built.accept(&self.usage) {
            Ok(catalog) => self.serve(catalog, &built.report, (round, edited)),
            Err(_) if edited || round.asked => self.refuse(&built.report),
            Err(_) => {}
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

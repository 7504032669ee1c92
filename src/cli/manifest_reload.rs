//! Reloads the served catalog, or reports why not.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tokio::runtime::Handle;

use super::Output;
use super::dev_session::{DevSession, PublishedReload};
use super::variable_commands::VariableCommands;
use crate::catalog::{BuildOutcome, Catalog, ServingMode, rebuild};
use crate::compile::{LoadDependencies, OutdatedCheck};
use crate::diagnostic::{self, Diagnostic, Report, Severity};
use crate::load::{EnvSource, ManifestLocation, ParsedFiles};
use crate::reload::{LoadOutput, ReloadInfo, ReloadSource};
use crate::server::SharedServer;

/// What is loaded: a manifest, with variables of the environment and of commands.
pub(super) struct ManifestOrigin {
    pub(super) location: ManifestLocation,
    pub(super) environment: EnvSource,
    pub(super) commands: VariableCommands,
}

/// Loads the manifest again, and replaces the served catalog.
pub(super) struct ManifestReload {
    origin: ManifestOrigin,
    serving_mode: ServingMode,
    shared_server: SharedServer,
    output: Output,
    last_dependencies: LoadDependencies,
    /// The included files of the last load.
    parsed: ParsedFiles,
    reported: ReportedWarnings,
    /// The session of an author at work, who is told more.
    dev: Option<Arc<DevSession>>,
    /// The fingerprint of the last load, to tell an edit from a touch.
    last_fingerprint: Option<u64>,
}

impl ManifestReload {
    /// Reloads what `live` serves.
    pub(super) fn new(
        origin: ManifestOrigin,
        serving_mode: ServingMode,
        shared_server: SharedServer,
        output: Output,
    ) -> ManifestReload {
        ManifestReload {
            origin,
            serving_mode,
            shared_server,
            output,
            last_dependencies: LoadDependencies::default(),
            parsed: ParsedFiles::default(),
            reported: ReportedWarnings::default(),
            dev: None,
            last_fingerprint: None,
        }
    }

    /// Reports to the session of an author at work.
    pub(super) fn with_dev(self, dev: Option<Arc<DevSession>>) -> ManifestReload {
        ManifestReload { dev, ..self }
    }

    /// Continues from the load that is served.
    pub(super) fn continue_from(self, built: BuildOutcome, already_reported: ReportedWarnings) -> ManifestReload {
        // What a broken manifest is served as is not what was loaded.
        let served = Some(self.shared_server.catalog()).filter(|_| !built.report.has_errors());
        let last = Some(load_fingerprint(&built.report, served.as_deref()));
        let BuildOutcome { dependencies, parsed, .. } = built;
        ManifestReload {
            last_fingerprint: last,
            reported: already_reported,
            last_dependencies: dependencies,
            parsed,
            ..self
        }
    }

    /// Reports why the served catalog stays.
    fn report_rejection(&mut self, built: &BuildOutcome) {
        let report = &built.report;
        if let Some(dev) = &self.dev {
            return dev.report_rejection(built, &self.shared_server);
        }
        self.output.eprint_report(report);
        tracing::error!(target: "folio::reload", "not reloaded: keeping the last good version");
        self.reported = ReportedWarnings::from_report(report);
    }
}

/// The warnings of the last load, so that each is logged once and not at every save.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReportedWarnings(HashSet<String>);

impl ReportedWarnings {
    fn from_report(report: &Report) -> ReportedWarnings {
        ReportedWarnings(report.warnings().map(|warning| report.identity(warning)).collect())
    }

    /// The errors, and the warnings that are new since the last load; and how many warnings are not.
    pub(super) fn take_new(&mut self, report: &Report) -> (Report, usize) {
        let is_old = |one: &Diagnostic| one.severity == Severity::Warning && self.0.contains(&report.identity(one));
        let new = report.filtered(|one| !is_old(one));
        let old_count = report.diagnostics().len() - new.diagnostics().len();
        *self = ReportedWarnings::from_report(report);
        (new, old_count)
    }

    /// Logs each new warning in one line.
    pub(super) fn log_new(&mut self, report: &Report) {
        for warning in report.warnings().filter(|warning| !self.0.contains(&report.identity(warning))) {
            let line = diagnostic::render_line(report, warning);
            tracing::warn!(target: "folio::manifest", "{}", line.trim_end());
        }
        *self = ReportedWarnings::from_report(report);
    }
}

impl ReloadSource for ManifestReload {
    type Outcome = BuildOutcome;

    fn load(&mut self, requested: bool, outdated: &OutdatedCheck) -> LoadOutput<BuildOutcome> {
        // Who asks for a load may know better than the stamps of the files.
        let earlier = std::mem::take(&mut self.parsed).filter(!requested);
        let ManifestOrigin { location, environment, commands } = &mut self.origin;
        let load = commands.reload(location, environment, requested, &earlier);
        let mut loaded = Handle::current().block_on(load);
        loaded.load_context.outdated = outdated.clone();
        let mut built = rebuild(loaded, &self.shared_server.catalog());
        self.parsed = std::mem::take(&mut built.parsed).or_if_empty(earlier);
        self.output.add_secrets(&built);
        let is_broken = built.catalog.is_none() || outdated.is_outdated();
        let watch = built.dependencies.to_watch(&mut self.last_dependencies, is_broken);
        LoadOutput { outcome: built, watch }
    }

    fn publish(&mut self, mut built: BuildOutcome, info: ReloadInfo) {
        let fingerprint = load_fingerprint(&built.report, built.catalog.as_deref());
        let content_changed = self.last_fingerprint.replace(fingerprint) != Some(fingerprint);
        let should_log = content_changed || info.requested;
        match built.accept(&self.serving_mode) {
            Ok(catalog) => {
                let (changes, elapsed) = (self.shared_server.replace(catalog.clone()), info.elapsed.as_millis());
                if let Some(dev) = &self.dev {
                    let reload = PublishedReload { changes: &changes, elapsed_ms: elapsed, should_log };
                    return dev.report_reload(&built, &catalog, &reload);
                }
                self.reported.log_new(&built.report);
                if changes.has_changes() {
                    tracing::info!(target: "folio::reload", "reloaded in {elapsed} ms: {changes}");
                } else if should_log {
                    tracing::info!(target: "folio::reload", "reloaded in {elapsed} ms: no list changed");
                }
            }
            Err(_) if should_log => self.report_rejection(&built),
            Err(_) => {}
        }
    }
}

/// A fingerprint of everything that was read, listed and reported, and of secrets; files of a root count by size and time.
pub(super) fn load_fingerprint(report: &Report, catalog: Option<&Catalog>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for source in report.sources.iter() {
        source.path().as_os_str().hash(&mut hasher);
        source.text().hash(&mut hasher);
    }
    diagnostic::render_lines(report).hash(&mut hasher);
    catalog.map(|catalog| catalog.redactor().as_ref()).hash(&mut hasher);
    for resource in catalog.iter().flat_map(|catalog| &catalog.lists().resources) {
        let modified = resource.info.annotations.as_ref().and_then(|annotations| annotations.last_modified.as_ref());
        (&resource.uri, resource.size, modified).hash(&mut hasher);
    }
    for file in catalog.iter().flat_map(|catalog| &catalog.lists().skills).flat_map(|skill| &skill.resources) {
        (&file.uri, &file.digest).hash(&mut hasher);
    }
    hasher.finish()
}

//! Reloads the served catalog, or reports why not.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::dev_session::{DevSession, PublishedReload};
use crate::catalog::{BuildOutcome, ReadFiles, ServingMode, build, read_packs};
use crate::cli::Output;
use crate::cli::manifest::VariableCommands;
use crate::cli::manifest::load_fingerprint;
use crate::compile::{LoadDependencies, OutdatedCheck};
use crate::diagnostic::{self, Diagnostic, Report, Severity};
use crate::load::{EnvSource, ManifestLocation};
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
    pub(super) origin: ManifestOrigin,
    pub(super) serving_mode: ServingMode,
    pub(super) shared_server: SharedServer,
    pub(super) output: Output,
    pub(super) last_dependencies: LoadDependencies,
    /// The included files of the last load.
    pub(super) files: ReadFiles,
    pub(super) reported: ReportedWarnings,
    /// The session of an author at work, who is told more.
    pub(super) dev: Option<Arc<DevSession>>,
    /// The fingerprint of the last load, to tell an edit from a touch.
    pub(super) last_fingerprint: Option<u64>,
}

impl ManifestReload {
    /// Keeps the files of a load for the next one: with their texts for the page of `folio dev`, which shows them.
    pub(super) fn keep_files(&mut self, files: ReadFiles) {
        self.files = files;
        if self.dev.is_none() {
            self.files.drop_texts();
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
        // What it does not mention is not gone: a load with errors looks for less.
        self.reported.0.extend(ReportedWarnings::from_report(report).0);
    }
}

/// How many warnings of one load are logged at most.
const MAX_LOGGED_WARNINGS: usize = 100;

/// The warnings of the last load, so that each is logged once and not at every save.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReportedWarnings(HashSet<u64>);

impl ReportedWarnings {
    fn from_report(report: &Report) -> ReportedWarnings {
        ReportedWarnings(report.warnings().map(|warning| report.identity(warning)).collect())
    }

    /// The errors, and the warnings that are new since the last load; and how many warnings are not.
    pub(super) fn take_new(&mut self, report: &Report) -> (Report, usize) {
        let is_old = |diagnostic: &Diagnostic| {
            diagnostic.severity == Severity::Warning && self.0.contains(&report.identity(diagnostic))
        };
        let new = report.filtered(|diagnostic| !is_old(diagnostic));
        let old_count = report.diagnostics().len() - new.diagnostics().len();
        *self = ReportedWarnings::from_report(report);
        (new, old_count)
    }

    /// Logs each new warning in one line. Of very many it logs the first.
    pub(super) fn log_new(&mut self, report: &Report) {
        let known = std::mem::take(self);
        let mut new_count = 0;
        for warning in report.warnings() {
            let identity = report.identity(warning);
            self.0.insert(identity);
            if known.0.contains(&identity) {
                continue;
            }
            new_count += 1;
            if new_count <= MAX_LOGGED_WARNINGS {
                let line = diagnostic::render_line(report, warning);
                tracing::warn!(target: "folio::manifest", "{}", line.trim_end());
            }
        }
        if new_count > MAX_LOGGED_WARNINGS {
            let more = diagnostic::count_noun(new_count - MAX_LOGGED_WARNINGS, "more warning");
            tracing::warn!(target: "folio::manifest", "{more}: `folio check` lists them all");
        }
    }
}

impl ReloadSource for ManifestReload {
    type Outcome = BuildOutcome;

    fn load(&mut self, requested: bool, outdated: &OutdatedCheck) -> LoadOutput<BuildOutcome> {
        // Who asks for a load may know better than the stamps of the files.
        let earlier = if requested { ReadFiles::default() } else { std::mem::take(&mut self.files) };
        let ManifestOrigin { location, environment, commands } = &mut self.origin;
        let mut loaded = Handle::current().block_on(commands.load(location, environment, requested));
        loaded.load_context.outdated = outdated.clone();
        let mut built = build(read_packs(loaded, &earlier));
        self.keep_files(std::mem::take(&mut built.files).or_if_empty(earlier));
        self.output.set_redactor(built.redactor.clone());
        let is_broken = built.catalog.is_none() || outdated.is_outdated();
        let watch = built.dependencies.to_watch(&mut self.last_dependencies, is_broken);
        LoadOutput { outcome: built, watch }
    }

    fn publish(&mut self, mut built: BuildOutcome, info: ReloadInfo) {
        let accepted = built.accept(&self.serving_mode);
        self.shared_server.health().record_reload(accepted.is_ok());
        let served = accepted.map(|catalog| (self.shared_server.replace(catalog.clone()), catalog));
        // Clients are told by now: what follows is for the log.
        let fingerprint = load_fingerprint(&built.report, served.as_ref().ok().map(|(_, catalog)| &**catalog));
        let content_changed = self.last_fingerprint.replace(fingerprint) != Some(fingerprint);
        let should_log = content_changed || info.requested;
        match served {
            Ok((changes, catalog)) => {
                let elapsed = info.elapsed.as_millis();
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

//! `folio check --watch`.

use std::time::SystemTime;

use tokio_util::sync::CancellationToken;

use super::{CheckOutcome, ManifestCheck};
use crate::cli::Exit;
use crate::cli::manifest::load_fingerprint;
use crate::cli::process::build_runtime;
use crate::compile::{LoadDependencies, OutdatedCheck};
use crate::diagnostic::Format;
use crate::reload::{self, InitialLoad, LoadOutput, ReloadInfo, ReloadSource, WatchOptions};

/// Checks now, and again after each change, until a signal ends the process.
pub(crate) fn run(check: ManifestCheck) -> anyhow::Result<Exit> {
    let started_at = SystemTime::now();
    let checked = check.check();
    check.print(&checked)?;
    let printed = load_fingerprint(&checked.report, None);
    let first = InitialLoad { started_at, watch: checked.dependencies };
    let reload = CheckReload { check, last_dependencies: first.watch.clone(), printed };
    let options = WatchOptions { reload_on_sighup: false, ..WatchOptions::default() };
    build_runtime()?
        .block_on(async { reload::watch(move || reload, first, options, CancellationToken::new()).join().await });
    Ok(Exit::Success)
}

struct CheckReload {
    check: ManifestCheck,
    last_dependencies: LoadDependencies,
    /// The fingerprint of what was printed last: a load that finds the same says nothing new, such as the one that makes
    /// sure that no file changed during the first.
    printed: u64,
}

impl ReloadSource for CheckReload {
    type Outcome = CheckOutcome;

    fn load(&mut self, _: bool, _: &OutdatedCheck) -> LoadOutput<CheckOutcome> {
        let outcome = self.check.check();
        let watch = outcome.dependencies.to_watch(&mut self.last_dependencies, outcome.report.has_errors());
        LoadOutput { outcome, watch }
    }

    fn publish(&mut self, checked: CheckOutcome, _: ReloadInfo) {
        let fingerprint = load_fingerprint(&checked.report, None);
        if std::mem::replace(&mut self.printed, fingerprint) == fingerprint {
            return;
        }
        let separator = if self.check.arguments.format == Format::Text { "\n" } else { "" };
        let printed = self.check.output.print(separator).and_then(|()| self.check.print(&checked));
        if let Err(error) = printed {
            self.check.output.eprint_error(&error);
        }
    }
}

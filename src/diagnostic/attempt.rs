//! Work whose diagnostics are kept only if they are wanted.

use super::{Diagnostic, Report};

/// What has a report.
pub trait Reporting {
    fn report(&mut self) -> &mut Report;

    /// Does some work, and takes what it reports, for the caller to keep with [`Report::extend`] or to drop.
    fn attempt<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> (T, Vec<Diagnostic>) {
        let start = self.report().diagnostics.len();
        let value = work(self);
        let reported = self.report().diagnostics.split_off(start);
        (value, reported)
    }
}

impl Reporting for Report {
    fn report(&mut self) -> &mut Report {
        self
    }
}

//! `folio check --fix`: applies the fixes that are certain.
//!
//! Each round checks the edited texts before anything is written. An edit after which more is wrong is taken back.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Context;
use similar::TextDiff;

use super::{CheckOutcome, ManifestCheck};
use crate::cli::Output;
use crate::cli::text_file::replace_text;
use crate::diagnostic::{Code, Fix, Report, Severity, count_noun, one_line, sanitize};

/// How often fixed texts are checked again for more to fix.
const MAX_ROUNDS: usize = 8;

/// The texts that are fixed, by the path that messages show.
#[derive(Default)]
pub(super) struct FixedFiles {
    files: BTreeMap<PathBuf, FixedFile>,
    fixes: usize,
}

struct FixedFile {
    before: String,
    after: String,
}

/// Fixes what is certain, in the buffers of a check.
pub(super) fn fix(check: &mut ManifestCheck) -> FixedFiles {
    let mut fixed = FixedFiles::default();
    let mut checked = check.check();
    for _ in 0..MAX_ROUNDS {
        let fixes = certain_fixes(&checked.report);
        if fixes.is_empty() {
            break;
        }
        // If something gets worse, each alone. The spans are those of this report, so one fix that helps ends the round.
        let next = try_fixes(check, &checked, &fixes, &mut fixed)
            .or_else(|| fixes.iter().find_map(|fix| try_fixes(check, &checked, std::slice::from_ref(fix), &mut fixed)));
        let Some(next) = next else { break };
        checked = next;
    }
    fixed
}

/// Applies fixes; takes them back and returns `None` unless less is wrong than before.
fn try_fixes(
    check: &mut ManifestCheck,
    checked: &CheckOutcome,
    fixes: &[Fix],
    fixed: &mut FixedFiles,
) -> Option<CheckOutcome> {
    let edited = edited_files(&checked.report, fixes);
    let mut buffers = check.buffers.clone();
    for (path, file) in &edited {
        // A file that is gone has no fix.
        let _ = buffers.insert_file(path, file.after.as_bytes());
    }
    let before = std::mem::replace(&mut check.buffers, buffers);
    let next = check.check();
    if !is_better(&next.report, &checked.report) {
        check.buffers = before;
        return None;
    }
    fixed.fixes += fixes.len();
    for (path, FixedFile { before, after }) in edited {
        fixed.files.entry(path).or_insert(FixedFile { before, after: String::new() }).after = after;
    }
    Some(next)
}

/// Whether less is wrong, or the parser comes further.
pub(crate) fn is_better(next: &Report, before: &Report) -> bool {
    let syntax_error = |report: &Report| {
        report.diagnostics().iter().find(|diagnostic| diagnostic.code == Code::Syntax).and_then(|error| error.span)
    };
    match (syntax_error(next), syntax_error(before)) {
        (Some(now), Some(then)) if now.file == then.file => now.start > then.start,
        _ => count_problems(next) < count_problems(before),
    }
}

/// How much is wrong.
fn count_problems(report: &Report) -> (usize, usize) {
    let count = |severity| report.diagnostics().iter().filter(|diagnostic| diagnostic.severity == severity).count();
    // What hides the rest weighs most: after it is fixed, more may be found.
    let syntax =
        |report: &Report| report.diagnostics().iter().filter(|diagnostic| diagnostic.code == Code::Syntax).count();
    (syntax(report) * 1000 + count(Severity::Error), count(Severity::Warning))
}

/// The fixes that are certain, without those that overlap, from the first to the last.
fn certain_fixes(report: &Report) -> Vec<Fix> {
    let fixes = report.diagnostics().iter().filter_map(|diagnostic| diagnostic.fix.clone());
    // A file that two manifests include is there twice.
    let first = |fix: &Fix| {
        let path = report.sources.get(fix.span.file).map(|source| source.path());
        report.sources.iter().position(|source| Some(source.path()) == path) == Some(fix.span.file.0 as usize)
    };
    let mut fixes: Vec<Fix> = fixes.filter(|fix| fix.is_certain && first(fix)).collect();
    fixes.sort_by_key(|fix| (fix.span.file, fix.span.start, fix.span.end));
    let mut kept: Vec<Fix> = Vec::new();
    for fix in fixes {
        let is_free = kept.last().is_none_or(|last| last.span.file != fix.span.file || last.span.end <= fix.span.start);
        if is_free && report.sources.text_of(fix.span) != fix.text {
            kept.push(fix);
        }
    }
    kept
}

/// The texts with the fixes applied, by the path of their file.
fn edited_files(report: &Report, fixes: &[Fix]) -> BTreeMap<PathBuf, FixedFile> {
    let mut files: BTreeMap<PathBuf, FixedFile> = BTreeMap::new();
    for fix in fixes.iter().rev() {
        let Some(source) = report.sources.get(fix.span.file) else { continue };
        let text = source.text().to_string();
        let file = files.entry(source.path().to_owned()).or_insert(FixedFile { before: text.clone(), after: text });
        let range = fix.span.start as usize..fix.span.end as usize;
        if file.after.get(range.clone()).is_some() {
            file.after.replace_range(range, &fix.text);
        }
    }
    files
}

impl FixedFiles {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What is changed, as a unified diff.
    pub(super) fn diff(&self) -> String {
        let mut text = String::new();
        for (path, FixedFile { before, after }) in &self.files {
            let path = path.display().to_string();
            let diff = TextDiff::from_lines(before, after);
            let _ = write!(text, "{}", diff.unified_diff().header(&path, &path));
        }
        sanitize(&text).into_owned()
    }

    /// Writes the files, and says on stderr how many.
    ///
    /// # Errors
    /// A file cannot be written, or has changed since it was read.
    pub(super) fn write(&self, output: &Output) -> anyhow::Result<()> {
        for (path, FixedFile { before, after }) in &self.files {
            replace_text(path, before, after).with_context(|| format!("cannot fix `{}`", path.display()))?;
        }
        if !self.is_empty() {
            let fixes = if self.fixes == 1 { "1 fix".to_owned() } else { format!("{} fixes", self.fixes) };
            let paths = self.files.keys().map(|path| format!("`{}`", one_line(&path.display().to_string())));
            let paths = paths.collect::<Vec<_>>().join(", ");
            output.eprint(&format!("applied {fixes} in {}: {paths}\n", count_noun(self.files.len(), "file")));
        }
        Ok(())
    }
}

//! What is wrong with a manifest, where, and how to fix it, as data in one [`Report`] of all files.
//!
//! What is not here: errors of requests (catalog/, server/) and of the command line (cli/).

mod attempt;
mod code;
mod consequence;
mod excerpt;
mod github;
mod hidden;
mod sarif;
mod snippet;
mod render;
mod source;
mod sanitize;
mod located_error;
mod wording;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

pub use attempt::Reporting;
pub use code::Code;
pub use consequence::Consequence;
pub use hidden::{is_hidden, mark_hidden};
pub use located_error::LocatedError;
pub use render::{
    Format, TerminalStyle, render, render_frames, render_json, render_line, render_lines, render_text, summary,
};
pub use sanitize::{one_line, sanitize, truncate};
pub use source::{
    FileId, Position, SourceFile, SourceMap, Span, bytes_without_byte_order_mark, without_byte_order_mark,
};
pub use wording::{count_noun, nearest, quote_names};

/// How serious a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The manifest cannot be served as written.
    Error,
    /// The manifest can be served, but probably not as meant.
    Warning,
    /// The manifest is served as meant: information.
    Note,
}

impl Severity {
    /// The severity as people and programs see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// What a manifest is loaded for, other than a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LoadPurpose {
    /// Its entries are used, by a client or from the command line.
    Use,
    /// It is served over HTTP.
    Http,
}

/// A second span that explains a diagnostic, such as the first use of a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Note {
    /// Where it points.
    pub span: Span,
    /// The label there.
    pub text: String,
}

/// A fix: `text` replaces `span`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fix {
    /// The span to replace.
    pub span: Span,
    /// The replacement.
    pub text: String,
    /// Whether nothing else can be meant, so that it may be applied without a look.
    pub is_certain: bool,
}

/// One error, warning or note.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// The kind.
    pub code: Code,
    /// How serious it is.
    pub severity: Severity,
    /// The message: lower case, no full stop, names in backticks.
    pub message: String,
    /// The exact key or value. `None` where no file could be read at all.
    pub span: Option<Span>,
    /// Other spans that explain it.
    pub notes: Vec<Note>,
    /// How to fix it.
    pub help: Option<String>,
    /// The fix to apply, where it is certain.
    pub fix: Option<Fix>,
    /// The purpose for which this warning is an error.
    pub forbids: Option<LoadPurpose>,
    /// What follows, which the message says too.
    pub consequence: Option<Consequence>,
    /// Whether it is about a key that a map lacks.
    lacks_key: bool,
}

impl Diagnostic {
    /// The same for a file that has another id in a later load.
    #[must_use]
    pub fn moved(mut self, from: FileId, to: FileId) -> Diagnostic {
        let spans = self.span.iter_mut().chain(self.notes.iter_mut().map(|note| &mut note.span));
        let spans = spans.chain(self.fix.iter_mut().map(|fix| &mut fix.span));
        spans.filter(|span| span.file == from).for_each(|span| span.file = to);
        self
    }

    /// Whether all that it shows is in one file.
    pub fn is_within(&self, file: FileId) -> bool {
        let spans = self.span.iter().chain(self.notes.iter().map(|note| &note.span));
        spans.chain(self.fix.iter().map(|fix| &fix.span)).all(|span| span.file == file)
    }

    /// Adds how to fix it.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }

    /// Makes a warning an error where the manifest is loaded for `purpose`.
    pub fn forbid(&mut self, purpose: LoadPurpose) -> &mut Self {
        self.forbids = Some(purpose);
        self
    }

    /// Adds a second span.
    pub fn note(&mut self, span: Span, text: impl Into<String>) -> &mut Self {
        self.notes.push(Note { span, text: text.into() });
        self
    }

    /// Adds a fix that may be applied without a look.
    pub fn fix(&mut self, span: Span, text: impl Into<String>) -> &mut Self {
        self.fix = Some(Fix { span, text: text.into(), is_certain: true });
        self
    }

    /// Adds a fix that is shown, for the author to choose.
    pub fn suggest(&mut self, span: Span, text: impl Into<String>) -> &mut Self {
        self.fix = Some(Fix { span, text: text.into(), is_certain: false });
        self
    }

    /// Adds what follows from it.
    pub fn consequence(&mut self, consequence: Consequence) -> &mut Self {
        self.message = format!("{}: {}", self.message, consequence.as_str());
        self.consequence = Some(consequence);
        self
    }

    /// Adds "did you mean" as help and as a suggestion, where a candidate is near to `wrong`.
    pub fn did_you_mean<'a>(&mut self, wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> &mut Self {
        if let (Some(near), Some(span)) = (nearest(wrong, candidates), self.span) {
            self.help(format!("did you mean `{near}`?")).suggest(span, near);
        }
        self
    }
}

/// The diagnostics of one load, with the sources that they point into.
#[derive(Debug, Default, Clone)]
pub struct Report {
    /// The files that were read.
    pub sources: SourceMap,
    diagnostics: Vec<Diagnostic>,
    /// Warnings that a comment allows. One that forbids a purpose comes back for that purpose.
    silenced: Vec<Diagnostic>,
    /// Values of no known meaning, from which nothing follows.
    unread: HashSet<Span>,
    /// Maps that lack a key because another one is in its place, which is reported.
    incomplete: HashSet<Span>,
    /// Files that are written for another program, which is reported.
    foreign_files: HashSet<FileId>,
}

impl Report {
    /// A report without diagnostics.
    pub fn with_sources(sources: SourceMap) -> Report {
        Report { sources, ..Report::default() }
    }

    /// Reports an error.
    pub fn error(&mut self, code: Code, span: impl Into<Option<Span>>, message: impl Into<String>) -> &mut Diagnostic {
        self.add(Severity::Error, code, span, message)
    }

    /// Reports a warning.
    pub fn warning(
        &mut self,
        code: Code,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.add(Severity::Warning, code, span, message)
    }

    /// Reports a note.
    pub fn note(&mut self, code: Code, span: impl Into<Option<Span>>, message: impl Into<String>) -> &mut Diagnostic {
        self.add(Severity::Note, code, span, message)
    }

    /// Reports a diagnostic and returns it, for its help and notes to be added.
    pub fn add(
        &mut self,
        severity: Severity,
        code: Code,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let (span, message, notes) = (span.into(), message.into(), Vec::new());
        self.diagnostics.push(Diagnostic {
            code,
            severity,
            message,
            span,
            notes,
            help: None,
            fix: None,
            forbids: None,
            consequence: None,
            lacks_key: code == Code::MissingKey,
        });
        let last = self.diagnostics.len() - 1;
        #[expect(clippy::indexing_slicing, reason = "it was pushed on the line above")]
        &mut self.diagnostics[last]
    }

    /// Reports that a map has not exactly one of these keys, such as `` `text`, `file` ``.
    pub fn not_exactly_one(&mut self, span: impl Into<Option<Span>>, keys: &str) -> &mut Diagnostic {
        let diagnostic = self.error(Code::Conflict, span, format!("expected exactly one of {keys}"));
        diagnostic.lacks_key = true;
        diagnostic
    }

    /// Reports an error in a value, at the span of its position.
    pub fn add_located<P>(
        &mut self,
        severity: Severity,
        code: Code,
        span: Span,
        error: LocatedError<P>,
    ) -> &mut Diagnostic {
        let diagnostic = self.add(severity, code, span, error.message);
        diagnostic.help = error.help;
        diagnostic
    }

    /// Everything reported so far, in the order of reporting.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// What was reported last, to add to it.
    pub fn last_mut(&mut self) -> Option<&mut Diagnostic> {
        self.diagnostics.last_mut()
    }

    /// Notes that the value at a span is reported and has no meaning, so that what follows from it is not reported too.
    pub fn mark_unread(&mut self, span: Span) {
        self.unread.insert(span);
    }

    /// Whether a span has a value that is reported and has no meaning.
    pub fn has_unread(&self, span: Span) -> bool {
        self.unread
            .iter()
            .any(|unread| unread.file == span.file && span.start <= unread.start && unread.end <= span.end)
    }

    /// Notes that a map has an unknown key, or is not a map, so that a key which it lacks is not reported too.
    pub fn mark_incomplete(&mut self, span: Span) {
        self.incomplete.insert(span);
    }

    /// Whether a map has an unknown key, or is not a map.
    pub fn is_incomplete(&self, span: Span) -> bool {
        self.incomplete.contains(&span)
    }

    /// Notes that a file is written for another program, which is reported: what its texts mean there is not.
    pub fn mark_foreign(&mut self, file: FileId) {
        self.foreign_files.insert(file);
    }

    /// Whether a file is reported as one of another program.
    pub fn is_foreign(&self, file: FileId) -> bool {
        self.foreign_files.contains(&file)
    }

    /// Adds what was reported in an attempt.
    pub fn extend(&mut self, reported: Vec<Diagnostic>) {
        self.diagnostics.extend(reported);
    }

    /// Adds what was reported in an attempt as warnings with their consequence.
    pub fn extend_as_warnings(&mut self, reported: Vec<Diagnostic>, consequence: Consequence) {
        self.diagnostics.extend(reported.into_iter().map(|mut diagnostic| {
            diagnostic.severity = diagnostic.severity.max(Severity::Warning);
            diagnostic.consequence(consequence);
            diagnostic
        }));
    }

    /// The warning of this kind in a file, to add what else follows from the same fault.
    pub fn warning_in(&mut self, file: FileId, code: Code) -> Option<&mut Diagnostic> {
        let is_in_file = |diagnostic: &Diagnostic| diagnostic.span.is_some_and(|span| span.file == file);
        let mut warnings = self.diagnostics.iter_mut().filter(|diagnostic| diagnostic.severity == Severity::Warning);
        warnings.find(|diagnostic| diagnostic.code == code && is_in_file(diagnostic))
    }

    /// Adds the diagnostics and the sources of another load.
    pub fn append(&mut self, other: Report) {
        let offset = self.sources.append(other.sources);
        let moved = |span: Span| Span { file: FileId(span.file.0 + offset), ..span };
        self.unread.extend(other.unread.into_iter().map(moved));
        self.incomplete.extend(other.incomplete.into_iter().map(moved));
        self.foreign_files.extend(other.foreign_files.into_iter().map(|file| FileId(file.0 + offset)));
        self.diagnostics.extend(other.diagnostics.into_iter().map(|mut diagnostic| {
            diagnostic.span = diagnostic.span.map(moved);
            diagnostic.notes.iter_mut().for_each(|note| note.span = moved(note.span));
            diagnostic.fix.iter_mut().for_each(|fix| fix.span = moved(fix.span));
            diagnostic
        }));
    }

    /// Adds what was reported of files that are read apart, whose ids are those that come next.
    pub fn extend_with_files(&mut self, next: Report) {
        let Report { sources, diagnostics, silenced, unread, incomplete, foreign_files } = next;
        self.sources.extend(sources);
        self.diagnostics.extend(diagnostics);
        self.silenced.extend(silenced);
        self.unread.extend(unread);
        self.incomplete.extend(incomplete);
        self.foreign_files.extend(foreign_files);
    }

    /// Drops the warnings and notes that `is_allowed` accepts.
    pub fn silence(&mut self, mut is_allowed: impl FnMut(&Diagnostic) -> bool) {
        let allowed = |diagnostic: &mut Diagnostic| diagnostic.severity != Severity::Error && is_allowed(diagnostic);
        self.silenced.extend(self.diagnostics.extract_if(.., allowed));
    }

    /// Turns the warnings and notes that forbid one of `purposes` into errors.
    pub fn enforce(&mut self, purposes: &[LoadPurpose]) {
        let forbids = |purpose: Option<LoadPurpose>| purpose.is_some_and(|purpose| purposes.contains(&purpose));
        self.diagnostics.extend(self.silenced.extract_if(.., |diagnostic| forbids(diagnostic.forbids)));
        for diagnostic in self.diagnostics.iter_mut().filter(|diagnostic| forbids(diagnostic.forbids)) {
            diagnostic.severity = Severity::Error;
        }
    }

    /// The warnings, in the order of reporting.
    pub fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Warning)
    }

    /// The first diagnostic, at least as serious as `min_severity`, whose message an earlier report has not, or not as often.
    pub fn first_new(&self, earlier: &Report, min_severity: Severity) -> Option<&Diagnostic> {
        let counts = |diagnostic: &&Diagnostic| diagnostic.severity <= min_severity;
        let mut earlier_messages: Vec<&str> =
            earlier.diagnostics.iter().filter(counts).map(|diagnostic| diagnostic.message.as_str()).collect();
        self.diagnostics.iter().filter(counts).find(|diagnostic| {
            let at = earlier_messages.iter().position(|message| *message == diagnostic.message);
            at.map(|at| earlier_messages.swap_remove(at)).is_none()
        })
    }

    /// Identifies a diagnostic by its file and its message, whatever its line: a digest of this process.
    pub fn identity(&self, diagnostic: &Diagnostic) -> u64 {
        let source = diagnostic.span.and_then(|span| self.sources.get(span.file));
        let mut hasher = DefaultHasher::new();
        // By its bytes: a path is hashed by its parts, which takes longer.
        (source.map(|source| source.path().as_os_str()), diagnostic.code, &diagnostic.message).hash(&mut hasher);
        hasher.finish()
    }

    /// The same report with the diagnostics alone that `is_wanted` accepts.
    pub fn filtered(&self, mut is_wanted: impl FnMut(&Diagnostic) -> bool) -> Report {
        let diagnostics = self.diagnostics.iter().filter(|diagnostic| is_wanted(diagnostic)).cloned().collect();
        Report { diagnostics, ..Report::with_sources(self.sources.clone()) }
    }

    /// The same report without the diagnostics that an earlier one has, on any line.
    pub fn without_those_of(&self, earlier: &Report) -> Report {
        let earlier_identities: HashSet<u64> =
            earlier.diagnostics.iter().map(|diagnostic| earlier.identity(diagnostic)).collect();
        self.filtered(|diagnostic| !earlier_identities.contains(&self.identity(diagnostic)))
    }

    /// Whether the manifest cannot be served.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether it can be served, and probably not as meant.
    pub fn has_warnings(&self) -> bool {
        self.warnings().next().is_some()
    }

    /// Sorts the diagnostics by file and line, and drops those that say the same at the same place, as each use of a
    /// partial does, and whatever else is reported at the span of a value that could not be read.
    pub fn sort_and_dedup(&mut self) {
        let mut unread: HashSet<Span> = HashSet::new();
        self.diagnostics.retain(|diagnostic| {
            let Some(span) = diagnostic.span else { return true };
            if diagnostic.lacks_key && self.incomplete.contains(&span) {
                return false;
            }
            let fresh = !unread.contains(&span) || diagnostic.code == Code::WrongType;
            let is_unread = matches!(diagnostic.code, Code::WrongType | Code::Syntax) || self.unread.contains(&span);
            if fresh && is_unread && span.start < span.end {
                unread.insert(span);
            }
            fresh
        });
        self.diagnostics.sort_by_key(|diagnostic| {
            (diagnostic.span.is_none(), diagnostic.span, diagnostic.severity, diagnostic.code)
        });
        // Most places have one.
        let by_place = self.diagnostics.chunk_by(|one, next| one.span == next.span);
        let is_first: Vec<bool> = by_place
            .flat_map(|same_place| {
                let mut said = HashSet::new();
                same_place.iter().map(move |one| same_place.len() == 1 || said.insert((one.code, &*one.message)))
            })
            .collect();
        let mut is_first = is_first.into_iter();
        self.diagnostics.retain(|_| is_first.next().unwrap_or_default());
    }
}

//! What is wrong with a manifest, where, and what to do about it: as data.
//!
//! Every room reports here, into one [`Report`] that collects all faults of all files. What is not here:
//! errors of requests (catalog/ and server/) and of the command line (cli/).

mod code;
mod excerpt;
mod snippet;
mod render;
mod source;
mod sanitize;
mod words;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

pub use code::Code;
pub use render::{Format, TerminalStyle, render, render_json, render_line, render_lines, render_text, summary};
pub use sanitize::{one_line, sanitize, truncate};
pub use source::{FileId, Position, SourceFile, SourceMap, Span};
pub use words::{count_noun, nearest, quote_names};

/// Whether the manifest can be served in spite of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The manifest cannot be served as written.
    Error,
    /// It can, and probably not as meant.
    Warning,
    /// It can, and just as meant: something to know.
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

/// What a manifest is loaded for, beyond being checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// Its entries are used, by a client or from the command line.
    Use,
    /// It is served over HTTP.
    Http,
}

/// A second place that explains a fault, such as where a name was used first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The place.
    pub span: Span,
    /// What is to be seen there.
    pub text: String,
}

/// A mend that is certain enough to be applied: `span` replaced by `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What is replaced.
    pub span: Span,
    /// What stands there afterwards.
    pub text: String,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The kind of fault.
    pub code: Code,
    /// Whether it can be served all the same.
    pub severity: Severity,
    /// What is wrong: lower case, no full stop, names in back-ticks.
    pub message: String,
    /// The exact key or value. `None` where no file could be read at all.
    pub span: Option<Span>,
    /// Other places that belong to it.
    pub notes: Vec<Note>,
    /// What to do.
    pub help: Option<String>,
    /// The mend, where it is certain.
    pub fix: Option<Fix>,
    /// The purpose for which the manifest is refused because of this, though it is a warning of a check.
    pub forbids: Option<Purpose>,
}

impl Diagnostic {
    /// Adds what to do about it.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }

    /// Makes a warning an error where the manifest is loaded for `purpose`.
    pub fn forbid(&mut self, purpose: Purpose) -> &mut Self {
        self.forbids = Some(purpose);
        self
    }

    /// Adds a second place.
    pub fn note(&mut self, span: Span, text: impl Into<String>) -> &mut Self {
        self.notes.push(Note { span, text: text.into() });
        self
    }

    /// Adds a certain mend.
    pub fn fix(&mut self, span: Span, text: impl Into<String>) -> &mut Self {
        self.fix = Some(Fix { span, text: text.into() });
        self
    }

    /// Adds "did you mean" as help and as mend of `span`, where `candidates` hold a name near to `wrong`.
    pub fn did_you_mean<'a>(
        &mut self,
        wrong: &str,
        span: Span,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> &mut Self {
        if let Some(near) = nearest(wrong, candidates) {
            self.help(format!("did you mean `{near}`?")).fix(span, near);
        }
        self
    }
}

/// All that is wrong in one load, together with the texts that it is wrong in.
#[derive(Debug, Default)]
pub struct Report {
    /// The texts that were read.
    pub sources: SourceMap,
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// Reports an error and returns it, for its help and notes to be added.
    pub fn error(&mut self, code: Code, span: impl Into<Option<Span>>, message: impl Into<String>) -> &mut Diagnostic {
        self.push(Severity::Error, code, span.into(), message.into())
    }

    /// Reports a warning and returns it, for its help and notes to be added.
    pub fn warning(
        &mut self,
        code: Code,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(Severity::Warning, code, span.into(), message.into())
    }

    /// Reports a note and returns it, for its help and notes to be added.
    pub fn note(&mut self, code: Code, span: impl Into<Option<Span>>, message: impl Into<String>) -> &mut Diagnostic {
        self.push(Severity::Note, code, span.into(), message.into())
    }

    fn push(&mut self, severity: Severity, code: Code, span: Option<Span>, message: String) -> &mut Diagnostic {
        let (notes, help, fix, forbids) = (Vec::new(), None, None, None);
        self.diagnostics.push(Diagnostic { code, severity, message, span, notes, help, fix, forbids });
        let last = self.diagnostics.len() - 1;
        #[expect(clippy::indexing_slicing, reason = "it was pushed on the line above")]
        &mut self.diagnostics[last]
    }

    /// Everything reported so far, in the order of reporting.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Drops those diagnostics from number `start` on that `keep` refuses.
    pub fn retain_from(&mut self, start: usize, keep: impl Fn(&Diagnostic) -> bool) {
        let newer = self.diagnostics.split_off(start.min(self.diagnostics.len()));
        self.diagnostics.extend(newer.into_iter().filter(keep));
    }

    /// Turns errors of one code, from number `start` on, into warnings; says whether there were any.
    pub fn downgrade_code_from(&mut self, start: usize, code: Code) -> bool {
        let mut softened = false;
        for diagnostic in self.diagnostics.iter_mut().skip(start).filter(|diagnostic| diagnostic.code == code) {
            diagnostic.severity = diagnostic.severity.max(Severity::Warning);
            diagnostic.help = None;
            softened = true;
        }
        softened
    }

    /// Turns all errors from number `start` on into warnings, which say what comes of them.
    pub fn downgrade_from(&mut self, start: usize, consequence: &str) {
        for diagnostic in self.diagnostics.iter_mut().skip(start) {
            diagnostic.severity = diagnostic.severity.max(Severity::Warning);
            diagnostic.message = format!("{}: {consequence}", diagnostic.message);
        }
    }

    /// Turns the warnings and notes that forbid one of `purposes` into errors.
    pub fn enforce(&mut self, purposes: &[Purpose]) {
        let forbids = |purpose: Option<Purpose>| purpose.is_some_and(|purpose| purposes.contains(&purpose));
        for diagnostic in self.diagnostics.iter_mut().filter(|diagnostic| forbids(diagnostic.forbids)) {
            diagnostic.severity = Severity::Error;
        }
    }

    /// The warnings, in the order of reporting.
    pub fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Warning)
    }

    /// Whether the manifest cannot be served.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether it can be served, and probably not as meant.
    pub fn has_warnings(&self) -> bool {
        self.warnings().next().is_some()
    }

    /// Puts the diagnostics in the order of the files and lines. Repetitions are dropped, and so is whatever was found
    /// later at the very place of a value that could not be read at all.
    pub fn sort_and_dedup(&mut self) {
        let mut unread: HashSet<Span> = HashSet::new();
        self.diagnostics.retain(|diagnostic| {
            let Some(span) = diagnostic.span else { return true };
            let fresh = !unread.contains(&span) || diagnostic.code == Code::WrongType;
            if fresh && matches!(diagnostic.code, Code::WrongType | Code::Syntax) && span.start < span.end {
                unread.insert(span);
            }
            fresh
        });
        self.diagnostics.sort_by_key(|diagnostic| {
            (diagnostic.span.is_none(), diagnostic.span, diagnostic.severity, diagnostic.code)
        });
        self.diagnostics.dedup();
    }
}

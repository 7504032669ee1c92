//! Marks the parts of a manifest where a load records which of them are reached.

use super::Compiler;
use crate::diagnostic::Span;
use crate::template::{Branch, CoverageMarker};
use crate::yaml::Location;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    Prompt,
    Resource,
    Tool,
    /// A step, or the one action of a run.
    Step,
    /// A branch of a block in a template.
    Branch,
}

impl PartKind {
    /// Every kind.
    pub const ALL: [PartKind; 5] =
        [PartKind::Prompt, PartKind::Resource, PartKind::Tool, PartKind::Step, PartKind::Branch];

    /// Several of them.
    pub fn plural(self) -> &'static str {
        match self {
            PartKind::Prompt => "prompts",
            PartKind::Resource => "resources",
            PartKind::Tool => "tools",
            PartKind::Step => "steps",
            PartKind::Branch => "branches",
        }
    }
}

/// The parts of one load.
#[derive(Debug, Default)]
pub struct LoadCoverage {
    /// In the order of the load; what is compiled twice is there twice.
    pub parts: Vec<MarkedPart>,
}

/// A part, and whether it was reached.
#[derive(Debug)]
pub struct MarkedPart {
    pub kind: PartKind,
    /// Its place.
    pub at: Span,
    /// What it is, as messages show it.
    pub label: String,
    /// Whether it was reached.
    pub marker: CoverageMarker,
}

impl LoadCoverage {
    fn mark(&mut self, kind: PartKind, at: impl Into<Span>, label: impl Into<String>) -> CoverageMarker {
        let marker = CoverageMarker::default();
        self.parts.push(MarkedPart { kind, at: at.into(), label: label.into(), marker: marker.clone() });
        marker
    }

    /// Adds a branch that is marked already.
    fn add_branch(&mut self, at: Span, label: &str, marker: &CoverageMarker) {
        let (label, marker) = (label.to_owned(), marker.clone());
        self.parts.push(MarkedPart { kind: PartKind::Branch, at, label, marker });
    }
}

impl Compiler<'_> {
    /// Marks a part, if the load records what is reached.
    pub fn mark(&mut self, kind: PartKind, at: Location, label: impl Into<String>) -> Option<CoverageMarker> {
        self.load_context.coverage.as_mut().map(|coverage| coverage.mark(kind, at, label))
    }

    /// Compiles what no test can reach, and so is not part of what is recorded.
    pub fn without_coverage<R>(&mut self, work: impl FnOnce(&mut Compiler<'_>) -> R) -> R {
        let coverage = self.load_context.coverage.take();
        let result = work(self);
        self.load_context.coverage = coverage;
        result
    }

    /// Adds the branches of a template.
    pub(super) fn add_branches(&mut self, branches: &[Branch], at: Location) {
        for branch in branches {
            let span = self.span_within(at, branch.range.clone());
            self.add_branch(span, branch);
        }
    }

    /// Adds a branch of a template, or of a partial.
    pub fn add_branch(&mut self, at: Span, branch: &Branch) {
        if let Some(coverage) = &mut self.load_context.coverage {
            coverage.add_branch(at, &branch.label, &branch.marker);
        }
    }
}

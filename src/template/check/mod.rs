//! What the names in a template mean, and whether they mean anything: a walk over its tree in the order in which
//! it will be rendered, through every partial that it uses, with the scopes that Handlebars will have there.
//! What is not here: syntax (syntax/), and what a place asks of its template as a whole (slot/).

mod frame;
mod path;
mod call;
mod walk;
mod include;

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use crate::diagnostic::Code;

use super::fault::{Altered, Fault, Place};
use super::limit::{MAX_EXPANSION, MAX_FAULTS};
use super::partial::Partials;
use super::shape::Names;
use super::syntax::Node;
use frame::{Frame, Site};

/// What is asked of the text of every template of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rules {
    /// The text may hold no NUL.
    pub marked: bool,
    /// What is printed is percent-encoded, so `{{{x}}}` is refused.
    pub encoded: bool,
    /// Nothing is known of the scope: any name may be there.
    pub open: bool,
}

/// What the check found out.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub faults: Vec<Fault>,
    /// The paths whose values are used.
    pub reads: BTreeSet<Vec<String>>,
    /// The values that cannot be recognised in what is made of them.
    pub altered: Vec<Altered>,
    /// The paths whose values must be there for the template to be rendered: `reads`, and objects gone into.
    pub needs: BTreeSet<Vec<String>>,
    /// Where variables begin whose way leads through values of unknown shape.
    pub lenient: HashSet<usize>,
    /// Where variables begin that mean the `this` of a loop around the template.
    pub this: HashSet<usize>,
    /// Where `{{now}}` stands for the helper.
    pub now: HashSet<usize>,
}

/// Checks a template that has been read.
pub(super) fn check(source: &str, nodes: &[Node], names: &Names, context: (&Partials, Rules)) -> Checked {
    let (partials, rules) = context;
    let mut check = Check {
        names,
        partials,
        rules,
        found: Checked::default(),
        frames: vec![Frame::root(names, rules.open)],
        site: Site { partial: None, text: source },
        used_at: 0..0,
        active: Vec::new(),
        content: None,
        depth: 0,
        walked: 0,
        size: 0,
    };
    check.nodes(nodes, false);
    check.found
}

struct Check<'a> {
    names: &'a Names,
    partials: &'a Partials,
    rules: Rules,
    found: Checked,
    /// The scopes around, innermost last.
    frames: Vec<Frame<'a>>,
    /// The text that is being walked.
    site: Site<'a>,
    /// Where the template uses the partial that is being walked.
    used_at: Range<usize>,
    /// The partials that are being walked, by the text they stand in and the place there.
    active: Vec<(Option<&'a str>, usize)>,
    /// How large the block is that was given to the partial being walked.
    content: Option<usize>,
    depth: usize,
    /// How much has been walked.
    walked: usize,
    /// How large that will be when it is rendered, values and loops aside.
    size: usize,
}

impl<'a> Check<'a> {
    fn place(&self, range: Range<usize>) -> Place {
        match self.site.partial {
            None => Place::Here(range),
            Some(name) => Place::Partial { name: name.to_owned(), range, used_at: self.used_at.clone() },
        }
    }

    fn fault(&mut self, range: &Range<usize>, code: Code, message: impl Into<String>) -> Fault {
        Fault::new(self.place(range.clone()), code, message)
    }

    fn report(&mut self, fault: Fault) {
        if self.found.faults.len() < MAX_FAULTS && !self.found.faults.contains(&fault) {
            self.found.faults.push(fault);
        }
    }

    fn is_here(&self) -> bool {
        self.site.partial.is_none()
    }

    /// Counts what is walked and what is rendered of it; `false` once either is too much.
    fn spend(&mut self, walked: usize, size: usize, at: &Range<usize>) -> bool {
        if self.walked.max(self.size) > MAX_EXPANSION {
            return false;
        }
        self.walked = self.walked.saturating_add(walked);
        self.size = self.size.saturating_add(size);
        let fits = self.walked.max(self.size) <= MAX_EXPANSION;
        if !fits {
            let message = format!("with all partials written out the template is larger than {MAX_EXPANSION} bytes");
            let fault = self.fault(at, Code::TooLarge, message);
            self.report(fault);
        }
        fits
    }
}

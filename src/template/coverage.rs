//! Records which branches of templates are rendered, where a load asks for it: each branch then begins with a call of a
//! hidden helper, which prints nothing.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use handlebars::template::{HelperTemplate, Template as Tree, TemplateElement as Element};
use handlebars::{Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext};
use parking_lot::RwLock;

use super::helper::GUARD;
use super::syntax::{BlockNode, TemplateNode};

/// Whether a part was reached; its clones are of the same part.
#[derive(Debug, Clone, Default)]
pub struct CoverageMarker(Arc<AtomicBool>);

impl CoverageMarker {
    /// Notes that the part is reached.
    pub fn hit(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was reached.
    pub fn is_hit(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// `{{$branch number}}`: notes that a branch is rendered.
const BRANCH: &str = "$branch";

/// The markers of the branches of one engine, by number.
#[derive(Debug, Default)]
pub(super) struct BranchRecorder {
    markers: RwLock<Vec<CoverageMarker>>,
}

/// A branch of a block.
#[derive(Debug, Clone)]
pub struct Branch {
    /// Its place in the text.
    pub range: Range<usize>,
    /// What it is, with tags in backticks, such as `{{#if open}}`.
    pub label: String,
    /// Whether it was rendered.
    pub marker: CoverageMarker,
}

impl BranchRecorder {
    /// Marks the branches of a lowered template.
    pub(super) fn mark(&self, tree: &mut Tree, source: &str, nodes: &[TemplateNode]) -> Vec<Branch> {
        let mut blocks = Vec::new();
        collect_blocks(nodes, &mut blocks);
        let mut marks = BranchMarks { recorder: self, source, blocks: blocks.into_iter(), branches: Vec::new() };
        marks.tree(tree);
        marks.branches
    }

    /// Lets templates of a registry record their branches.
    pub(super) fn register(recorder: &Arc<BranchRecorder>, registry: &mut Handlebars<'static>) {
        registry.register_helper(BRANCH, Box::new(BranchHelper(recorder.clone())));
    }

    fn add(&self, marker: CoverageMarker) -> usize {
        let mut markers = self.markers.write();
        markers.push(marker);
        markers.len() - 1
    }
}

/// The blocks of a text, in its order.
fn collect_blocks<'n>(nodes: &'n [TemplateNode], blocks: &mut Vec<&'n BlockNode>) {
    for node in nodes {
        match node {
            TemplateNode::Block(block) => {
                blocks.push(block);
                collect_blocks(&block.body, blocks);
                collect_blocks(&block.else_nodes, blocks);
            }
            TemplateNode::Inline(inline) => collect_blocks(&inline.body, blocks),
            TemplateNode::Partial(call) => collect_blocks(call.body.as_deref().unwrap_or_default(), blocks),
            TemplateNode::Text(_) | TemplateNode::Interpolation(_) => {}
        }
    }
}

/// Walks a lowered template beside its blocks, which both have in the same order.
struct BranchMarks<'m> {
    recorder: &'m BranchRecorder,
    source: &'m str,
    blocks: std::vec::IntoIter<&'m BlockNode>,
    branches: Vec<Branch>,
}

impl BranchMarks<'_> {
    fn tree(&mut self, tree: &mut Tree) {
        for element in &mut tree.elements {
            match element {
                Element::HelperBlock(block) if block.name.as_name() != Some(GUARD) => self.block(block),
                Element::HelperBlock(guard) => guard.template.iter_mut().for_each(|inner| self.tree(inner)),
                Element::DecoratorBlock(inner) | Element::PartialExpression(inner) | Element::PartialBlock(inner) => {
                    inner.template.iter_mut().for_each(|inner| self.tree(inner));
                }
                _ => {}
            }
        }
    }

    fn block(&mut self, block: &mut HelperTemplate) {
        let Some(node) = self.blocks.next() else { return };
        self.body(block.template.as_mut(), format!("`{}`", self.tag(node)), node.call.span.clone());
        let other = node.else_nodes.first().map(|first| first.span().clone());
        match (block.inverse.as_mut(), other) {
            // The branch of `{{else if …}}` is that of the block inside.
            (Some(inverse), Some(range)) if !self.is_chained(&range) => {
                let label = format!("`{{{{else}}}}` of `{}`", self.tag(node));
                self.body(Some(inverse), label, range);
            }
            (inverse, _) => inverse.into_iter().for_each(|inverse| self.tree(inverse)),
        }
    }

    /// Marks a branch, and those inside it.
    fn body(&mut self, body: Option<&mut Tree>, label: String, range: Range<usize>) {
        let Some(body) = body else { return };
        let marker = CoverageMarker::default();
        let call = format!("{{{{{BRANCH} {}}}}}", self.recorder.add(marker.clone()));
        self.branches.push(Branch { range, label, marker });
        self.tree(body);
        let call = Tree::compile(&call).ok().and_then(|mut tree| tree.elements.pop());
        call.into_iter().for_each(|call| body.elements.insert(0, call));
    }

    /// The tag that opens a block.
    fn tag(&self, node: &BlockNode) -> String {
        let call = self.source.get(node.call.span.clone()).unwrap_or_default().trim();
        match self.is_chained(&node.call.span) {
            true => format!("{{{{else {call}}}}}"),
            false => format!("{{{{#{call}}}}}"),
        }
    }

    /// Whether a block begins with the `else` of another.
    fn is_chained(&self, range: &Range<usize>) -> bool {
        let before = self.source.get(..range.start).unwrap_or_default().trim_end();
        before.ends_with("else") || before.ends_with('^')
    }
}

struct BranchHelper(Arc<BranchRecorder>);

impl HelperDef for BranchHelper {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
        _: &mut dyn Output,
    ) -> HelperResult {
        let number = helper.param(0).and_then(|number| number.value().as_u64());
        let number = number.and_then(|number| usize::try_from(number).ok());
        let markers = self.0.markers.read();
        number.and_then(|number| markers.get(number)).into_iter().for_each(CoverageMarker::hit);
        Ok(())
    }
}

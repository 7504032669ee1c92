//! Prompts of other programs: their templates and steps are those of folio, but no author wrote them, so that nothing is
//! said of their texts.

use std::sync::Arc;

use crate::action::{RunLimits, RunPlan};
use crate::budget;
use crate::catalog::content::block::RenderedBlock;
use crate::catalog::entry::PackContext;
use crate::catalog::listing::{ResourceInfo, ResourceListing};
use crate::catalog::result::call_result::{BlockNotes, ResultBlock};
use crate::catalog::result::media_block::media_block;
use crate::compile::Compiler;
use crate::diagnostic::{Code, Consequence};
use crate::digest::Digest;
use crate::pack_format::{DotpromptTemplate, ImportedContent, ImportedMessage, ImportedPrompt, ImportedValue};
use crate::template::{RenderError, Scope, ScopeShape, Shape, Template, TextSlot};
use crate::value_types::{Role, TextOrFile};

/// What a prompt of another program has beside its text.
#[derive(Default)]
pub(in crate::catalog) struct ImportedParts {
    /// The values of its templates that are not arguments themselves.
    pub(in crate::catalog) values: Vec<ImportedValue>,
    /// Links to the files that belong to it.
    pub(in crate::catalog) links: Vec<ResourceListing>,
}

/// The steps and the text of a prompt, and a digest of them. `None` if it is too large, which is reported.
pub(in crate::catalog) fn compile_text(
    imported: &ImportedPrompt,
    pack_context: &PackContext,
    compiler: &mut Compiler<'_>,
) -> Option<(Option<RunPlan>, Template<TextSlot>, u64)> {
    let (prompt, at) = (&imported.prompt, imported.at());
    let Some(TextOrFile::Text(text)) = prompt.text.as_ref().map(|text| &text.value) else { return None };
    let digest = Digest::new("imported prompt").chain_update(text.as_bytes());
    let digest = digest.chain_update(format!("{:?}{:?}", imported.values, prompt.run).as_bytes()).finish_u64();
    let arguments = prompt.arguments.keys().map(|name| name.value.clone());
    let values = imported.values.iter().map(|value| value.name.clone());
    let names = ScopeShape::new().with_arguments(arguments.chain(values).map(|name| (name, Shape::Text)));
    compiler.with_scope_shape(names.clone(), |compiler| {
        let run = prompt.run.as_ref().map(|run| run.compile(false, RunLimits::default(), compiler));
        let names = run.as_ref().map_or_else(|| names.clone(), |run| run.names_after(&names));
        let Ok(template) = Template::<TextSlot>::compile(&compiler.pack.engine, text, &names) else {
            compiler.warning(Code::TooLarge, at, "text too large").consequence(Consequence::PromptSkipped);
            return None;
        };
        compiler.record_reads(template.read_paths());
        let mut plan = run.and_then(|run| run.plan);
        if let Some(plan) = &mut plan {
            plan.set_outcome_reads(&compiler.outcome_reads, pack_context.entry_digest(digest));
        }
        Some((plan, template, digest))
    })
}

/// The messages of a template of dotprompt.
pub(in crate::catalog) fn dotprompt_messages(
    template: &Arc<DotpromptTemplate>,
    scope: &Scope,
) -> Result<Vec<(Role, Vec<RenderedBlock>)>, RenderError> {
    let arguments = scope.arguments().cloned().unwrap_or_default();
    // Partials can use one another again and again.
    let messages = budget::run_long(|| template.render(&arguments, scope.budget()))??;
    let with_block = |ImportedMessage { role, content }| {
        let block = match content {
            ImportedContent::Text(text) => ResultBlock::text(text),
            // A picture without bytes is left out.
            ImportedContent::Media { bytes, mime_type } => media_block(&bytes, &mime_type, BlockNotes::default())?,
            ImportedContent::Link { uri, mime_type } => {
                let name = uri.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(&uri).to_owned();
                let info = ResourceInfo { name, mime_type, ..ResourceInfo::default() };
                ResultBlock::ResourceLink(ResourceListing { uri, info, size: None })
            }
        };
        Some((role, vec![RenderedBlock::Block(block)]))
    };
    Ok(messages.into_iter().filter_map(with_block).collect())
}

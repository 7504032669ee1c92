//! Prompts of other programs: their texts, and what they do first.

use serde_json::{Map, Value};

use crate::action::{ForeignRunBuilder, RunLimits, RunOutcome, RunPlan};
use crate::budget::{Budget, BudgetExceeded};
use crate::compile::Compiler;
use crate::load::{FOREIGN_WORKSPACE, WORKSPACE_TEMPLATE};
use crate::pack_format::{
    ForeignAction, ForeignBody, ForeignContent, ForeignMessage, ForeignPrompt, ForeignText, ForeignValues,
    render_pieces,
};
use crate::template::{ScopeShape, Shape};
use crate::value_types::Role;

use super::block::RenderedBlock;
use super::call_result::ResultBlock;
use super::listing::{ResourceInfo, ResourceListing};
use super::media_block::{BlockNotes, media_block};

/// What a prompt of another program says.
pub(super) struct ForeignMessages {
    body: ForeignBody,
    /// Links to the files that belong to it.
    links: Vec<ResourceListing>,
}

impl ForeignMessages {
    pub(super) fn new(body: ForeignBody, links: Vec<ResourceListing>) -> ForeignMessages {
        ForeignMessages { body, links }
    }

    /// The arguments of the run: what its commands get, and the paths of the files that it reads.
    pub(super) fn run_arguments(
        &self,
        given: &Map<String, Value>,
        budget: &Budget,
    ) -> Result<Map<String, Value>, BudgetExceeded> {
        let Some(text) = self.text() else { return Ok(Map::new()) };
        let mut arguments = text.variable_values(given);
        for (index, action) in text.actions.iter().enumerate() {
            if let ForeignAction::Read(path) = action {
                let mut rendered = String::new();
                let values = ForeignValues { arguments: given, outcomes: &[] };
                render_pieces(path, &values, &mut rendered, budget)?;
                arguments.insert(path_argument(index), Value::from(rendered));
            }
        }
        Ok(arguments)
    }

    /// What its actions found.
    pub(super) fn outcomes(&self, run: &RunOutcome) -> Vec<Option<String>> {
        let actions = self.text().map(|text| text.actions.as_slice()).unwrap_or_default();
        let outcome = |(index, action): (usize, &ForeignAction)| {
            let field = if matches!(action, ForeignAction::Read(_)) { "text" } else { "stdout" };
            let outcome = run.steps.as_ref()?.get(&step_id(index))?;
            Some(outcome.get(field)?.as_str()?.to_owned()).filter(|_| outcome.get("error").is_none_or(Value::is_null))
        };
        actions.iter().enumerate().map(outcome).collect()
    }

    /// Its messages, each with one block.
    pub(super) fn render(
        &self,
        values: &ForeignValues<'_>,
        budget: &Budget,
    ) -> Result<Vec<(Role, Vec<RenderedBlock>)>, BudgetExceeded> {
        let messages = self.body.render(values, budget)?;
        let links = self.links.iter().cloned().map(|link| (Role::User, ResultBlock::ResourceLink(link)));
        let blocks = messages.into_iter().filter_map(block_of).chain(links);
        Ok(blocks.map(|(role, block)| (role, vec![RenderedBlock::Block(block)])).collect())
    }

    fn text(&self) -> Option<&ForeignText> {
        match &self.body {
            ForeignBody::Text(text) => Some(text),
            ForeignBody::Dotprompt(_) => None,
        }
    }
}

/// Compiles what a prompt does first, if it does anything.
pub(super) fn compile_actions(prompt: &ForeignPrompt, compiler: &mut Compiler<'_>) -> Option<RunPlan> {
    let ForeignBody::Text(text) = &prompt.body else { return None };
    if text.actions.is_empty() {
        return None;
    }
    let mut run = ForeignRunBuilder::new(prompt.at);
    let mut arguments: Vec<String> = text.variables.iter().map(|variable| variable.name.clone()).collect();
    for (index, action) in text.actions.iter().enumerate() {
        match action {
            ForeignAction::Script(script) => {
                run.add_script(&step_id(index), script, WORKSPACE_TEMPLATE);
            }
            ForeignAction::Read(_) => {
                run.add_read(&step_id(index), &path_argument(index), FOREIGN_WORKSPACE);
                arguments.push(path_argument(index));
            }
        }
    }
    let names = ScopeShape::new().with_arguments(arguments.into_iter().map(|name| (name, Shape::Text)));
    let run = run.into_run();
    compiler.with_scope_shape(names, |compiler| run.compile(false, RunLimits::default(), compiler)).plan
}

fn step_id(index: usize) -> String {
    format!("action_{index}")
}

fn path_argument(index: usize) -> String {
    format!("path_{index}")
}

/// A message as an answer has it; `None` for a picture without bytes.
fn block_of(message: ForeignMessage) -> Option<(Role, ResultBlock)> {
    let block = match message.content {
        ForeignContent::Text(text) => ResultBlock::text(text),
        ForeignContent::Media { bytes, mime_type } => media_block(&bytes, &mime_type, BlockNotes::default())?,
        ForeignContent::Link { uri, mime_type } => {
            let name = uri.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(&uri).to_owned();
            let info = ResourceInfo { name, mime_type, ..ResourceInfo::default() };
            ResultBlock::ResourceLink(ResourceListing { uri, info, size: None })
        }
    };
    Some((message.role, block))
}

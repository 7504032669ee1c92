//! `each`, `with`, `if` and `unless`, as in Handlebars, but null is not an error and the work is charged.

use handlebars::{
    BlockContext, BlockParams, Context, Handlebars, Helper, HelperDef, HelperResult, JsonTruthy, Output, PathAndJson,
    RenderContext, Renderable, Template,
};
use serde_json::Value;

use super::argument::wrap_error;
use crate::template::render::{
    LimitedOutput, RenderError, STEP_COST, charge_copy, charge_work, count_iteration, is_truthy,
};

pub(super) fn register(registry: &mut Handlebars<'static>) {
    registry.register_helper("each", Box::new(Each));
    registry.register_helper("if", Box::new(If { expected: true }));
    registry.register_helper("unless", Box::new(If { expected: false }));
    registry.register_helper("with", Box::new(With));
}

fn render_inverse<'reg: 'rc, 'rc>(
    helper: &Helper<'rc>,
    registry: &'reg Handlebars<'reg>,
    context: &'rc Context,
    (rendering, out): (&mut RenderContext<'reg, 'rc>, &mut dyn Output),
) -> HelperResult {
    match helper.inverse() {
        Some(body) => body.render(registry, context, rendering, out),
        None => Ok(()),
    }
}

struct Each;

/// One iteration of a loop.
struct Iteration<'v> {
    /// The last segment of its path.
    step: String,
    key: Option<&'v str>,
    index: usize,
    last: bool,
    value: &'v Value,
}

impl HelperDef for Each {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let (Some(over), Some(body)) = (helper.param(0), helper.template()) else { return Ok(()) };
        let length = match over.value() {
            Value::Array(list) => list.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        };
        if length == 0 {
            return render_inverse(helper, registry, context, (rendering, out));
        }
        rendering.push_block(block_context(over).map_err(wrap_error)?);
        let mut out = LimitedOutput::new(out);
        let mut go =
            |round: Iteration<'_>| round.render(helper, over, (registry, context, body), (rendering, &mut out));
        match over.value() {
            Value::Array(list) => list.iter().enumerate().try_for_each(|(index, value)| {
                go(Iteration { step: index.to_string(), key: None, index, last: index + 1 == length, value })
            })?,
            Value::Object(fields) => fields.iter().enumerate().try_for_each(|(index, (key, value))| {
                go(Iteration { step: key.clone(), key: Some(key), index, last: index + 1 == length, value })
            })?,
            _ => {}
        }
        rendering.pop_block();
        Ok(())
    }
}

type RenderTarget<'t, 'reg, 'rc> = (&'reg Handlebars<'reg>, &'rc Context, &'rc Template);

impl Iteration<'_> {
    fn render<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        over: &PathAndJson<'rc>,
        (registry, context, body): RenderTarget<'_, 'reg, 'rc>,
        (rendering, out): (&mut RenderContext<'reg, 'rc>, &mut dyn Output),
    ) -> HelperResult {
        count_iteration().map_err(wrap_error)?;
        if let Some(block) = rendering.block_mut() {
            self.enter(block, over).map_err(wrap_error)?;
            block.set_block_params(self.params(helper, over)?);
        }
        body.render(registry, context, rendering, out)
    }

    fn enter(&self, block: &mut BlockContext<'_>, over: &PathAndJson<'_>) -> Result<(), RenderError> {
        block.set_local_var("first", Value::Bool(self.index == 0));
        block.set_local_var("last", Value::Bool(self.last));
        block.set_local_var("index", Value::from(self.index));
        if let Some(key) = self.key {
            block.set_local_var("key", Value::from(key));
        }
        match (over.context_path(), self.index) {
            (None, _) => {
                charge_copy(self.value)?;
                block.set_base_value(self.value.clone());
            }
            (Some(path), 0) => {
                let path = path.iter().cloned().chain([self.step.clone()]);
                *block.base_path_mut() = path.collect();
            }
            (Some(_), _) => {
                if let Some(step) = block.base_path_mut().last_mut() {
                    step.clone_from(&self.step);
                }
            }
        }
        Ok(())
    }

    fn params<'rc>(
        &self,
        helper: &Helper<'rc>,
        over: &PathAndJson<'_>,
    ) -> Result<BlockParams<'rc>, handlebars::RenderError> {
        let (value, key) = match (helper.block_param(), helper.block_param_pair()) {
            (Some(value), _) => (Some(value), None),
            (None, Some((value, key))) => (Some(value), Some(key)),
            (None, None) => (None, None),
        };
        let mut params = BlockParams::new();
        match value {
            Some(name) if over.context_path().is_some() => params.add_path(name, Vec::new())?,
            Some(name) => {
                charge_copy(self.value).map_err(wrap_error)?;
                params.add_value(name, self.value.clone())?;
            }
            None => {}
        }
        if let Some(name) = key {
            params.add_value(name, self.key.map_or(Value::from(self.index), Value::from))?;
        }
        Ok(params)
    }
}

fn block_context<'rc>(value: &PathAndJson<'rc>) -> Result<BlockContext<'rc>, RenderError> {
    let mut block = BlockContext::new();
    match value.context_path() {
        Some(path) => block.base_path_mut().clone_from(path),
        None => {
            charge_copy(value.value())?;
            block.set_base_value(value.value().clone());
        }
    }
    Ok(block)
}

struct With;

impl HelperDef for With {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let (Some(value), Some(body)) = (helper.param(0), helper.template()) else { return Ok(()) };
        if !is_truthy(value.value()) {
            return render_inverse(helper, registry, context, (rendering, out));
        }
        charge_work(STEP_COST).map_err(wrap_error)?;
        let mut block = block_context(value).map_err(wrap_error)?;
        if let Some(outer) = rendering.block() {
            block.local_variables_mut().clone_from(outer.local_variables());
        }
        if let Some(name) = helper.block_param() {
            let mut params = BlockParams::new();
            match value.context_path() {
                Some(_) => params.add_path(name, Vec::new())?,
                None => {
                    charge_copy(value.value()).map_err(wrap_error)?;
                    params.add_value(name, value.value().clone())?;
                }
            }
            block.set_block_params(params);
        }
        rendering.push_block(block);
        body.render(registry, context, rendering, out)?;
        rendering.pop_block();
        Ok(())
    }
}

struct If {
    expected: bool,
}

impl HelperDef for If {
    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        rendering: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        charge_work(STEP_COST).map_err(wrap_error)?;
        let zero_counts = helper.hash_get("includeZero").and_then(|zero| zero.value().as_bool()).unwrap_or(false);
        let holds = helper.param(0).is_some_and(|value| value.value().is_truthy(zero_counts));
        match helper.template().filter(|_| holds == self.expected) {
            Some(body) => body.render(registry, context, rendering, out),
            None if holds == self.expected => Ok(()),
            None => render_inverse(helper, registry, context, (rendering, out)),
        }
    }
}

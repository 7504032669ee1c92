//! `each`, `with`, `if` and `unless`, as in Handlebars, but null is not an error and a loop ends with its call.

use handlebars::{BlockContext, BlockParams, Handlebars, Helper, HelperResult, JsonTruthy, PathAndJson};
use serde_json::Value;

use super::render_call::{RenderCall, RenderHelper};
use crate::template::render::{count_iterations, is_truthy};

pub(super) fn register(registry: &mut Handlebars<'static>) {
    registry.register_helper("each", Box::new(RenderHelper(each)));
    registry.register_helper("if", Box::new(RenderHelper(|call| render_if(call, true))));
    registry.register_helper("unless", Box::new(RenderHelper(|call| render_if(call, false))));
    registry.register_helper("with", Box::new(RenderHelper(with)));
}

/// One iteration of a loop.
struct Iteration<'v> {
    /// The last segment of its path.
    step: String,
    key: Option<&'v str>,
    index: usize,
    last: bool,
    value: &'v Value,
}

pub(super) fn each(call: &mut RenderCall<'_, '_, '_>) -> HelperResult {
    let Some(collection) = call.helper.param(0) else { return Ok(()) };
    let length = match collection.value() {
        Value::Array(list) => list.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    if length == 0 {
        return call.render(call.helper.inverse());
    }
    call.rendering.push_block(block_context(collection));
    call.with_limit(|call| match collection.value() {
        Value::Array(list) => list.iter().enumerate().try_for_each(|(index, value)| {
            let step = index.to_string();
            Iteration { step, key: None, index, last: index + 1 == length, value }.render(call, collection)
        }),
        Value::Object(fields) => fields.iter().enumerate().try_for_each(|(index, (key, value))| {
            let step = key.clone();
            Iteration { step, key: Some(key), index, last: index + 1 == length, value }.render(call, collection)
        }),
        _ => Ok(()),
    })?;
    call.rendering.pop_block();
    Ok(())
}

impl Iteration<'_> {
    fn render<'reg: 'rc, 'rc>(
        &self,
        call: &mut RenderCall<'_, 'reg, 'rc>,
        collection: &PathAndJson<'rc>,
    ) -> HelperResult {
        count_iterations(1)?;
        if let Some(block) = call.rendering.block_mut() {
            self.enter(block, collection);
            block.set_block_params(self.params(call.helper, collection)?);
        }
        call.render(call.helper.template())
    }

    fn enter(&self, block: &mut BlockContext<'_>, collection: &PathAndJson<'_>) {
        block.set_local_var("first", Value::Bool(self.index == 0));
        block.set_local_var("last", Value::Bool(self.last));
        block.set_local_var("index", Value::from(self.index));
        if let Some(key) = self.key {
            block.set_local_var("key", Value::from(key));
        }
        match (collection.context_path(), self.index) {
            (None, _) => block.set_base_value(self.value.clone()),
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
    }

    fn params<'rc>(
        &self,
        helper: &Helper<'rc>,
        collection: &PathAndJson<'_>,
    ) -> Result<BlockParams<'rc>, handlebars::RenderError> {
        let mut params = BlockParams::new();
        if let Some(name) = helper.block_param() {
            add_param(&mut params, name, collection, self.value)?;
        } else if let Some((name, key)) = helper.block_param_pair() {
            add_param(&mut params, name, collection, self.value)?;
            params.add_value(key, self.key.map_or(Value::from(self.index), Value::from))?;
        }
        Ok(params)
    }
}

/// Names the value of a block, by its path where the value that it is of has one.
fn add_param<'rc>(
    params: &mut BlockParams<'rc>,
    name: &'rc str,
    whole: &PathAndJson<'_>,
    value: &Value,
) -> HelperResult {
    match whole.context_path() {
        Some(_) => params.add_path(name, Vec::new()),
        None => params.add_value(name, value.clone()),
    }
}

fn block_context<'rc>(value: &PathAndJson<'rc>) -> BlockContext<'rc> {
    let mut block = BlockContext::new();
    match value.context_path() {
        Some(path) => block.base_path_mut().clone_from(path),
        None => block.set_base_value(value.value().clone()),
    }
    block
}

pub(super) fn with(call: &mut RenderCall<'_, '_, '_>) -> HelperResult {
    let Some(value) = call.helper.param(0) else { return Ok(()) };
    if !is_truthy(value.value()) {
        return call.render(call.helper.inverse());
    }
    let mut block = block_context(value);
    if let Some(outer) = call.rendering.block() {
        block.local_variables_mut().clone_from(outer.local_variables());
    }
    if let Some(name) = call.helper.block_param() {
        let mut params = BlockParams::new();
        add_param(&mut params, name, value, value.value())?;
        block.set_block_params(params);
    }
    call.rendering.push_block(block);
    call.render(call.helper.template())?;
    call.rendering.pop_block();
    Ok(())
}

fn render_if(call: &mut RenderCall<'_, '_, '_>, expected: bool) -> HelperResult {
    let zero_counts = call.helper.hash_get("includeZero").and_then(|zero| zero.value().as_bool()).unwrap_or(false);
    let holds = call.helper.param(0).is_some_and(|value| value.value().is_truthy(zero_counts));
    call.render(if holds == expected { call.helper.template() } else { call.helper.inverse() })
}

//! Internal helpers of lowered templates; a template that names them has an unknown helper.

use handlebars::template::{HelperTemplate, TemplateElement};
use handlebars::{Handlebars, Helper, HelperDef, HelperResult, ScopedJson, Template};

use super::argument::{FnHelper, param_or_null, param_text, text_value};
use super::path_helper::{PathHelper, PathHelperValue, ReadPath};
use super::render_call::{RenderCall, RenderHelper};
use crate::template::missing_output::MissingValue;
use crate::template::render::{MARK, PrintMode, RenderError, capture, count_iterations, missing_value, mode};
use crate::uri::percent_encode;

/// `{{$print label value raw}}`: prints a value for the slot, encoded unless `raw`.
pub(in crate::template) const PRINT: &str = "$print";
/// `($get path)`: the value of a path, null where it is missing.
pub(in crate::template) const READ_PATH: &str = "$get";
/// `($need path output printed)`: the value of a path that reads an output as JSON, an error where the output is not JSON.
pub(in crate::template) const REQUIRE_PATH: &str = "$need";
/// `{{#$guard}}`: limits the output inside.
pub(in crate::template) const GUARD: &str = "$guard";

pub(super) fn register(registry: &mut Handlebars<'static>) {
    registry.register_helper(PRINT, Box::new(RenderHelper(print)));
    registry.register_helper(READ_PATH, Box::new(PathHelper(|helper, read| Ok(read(&param_text(helper, 0))))));
    registry.register_helper(REQUIRE_PATH, Box::new(PathHelper(require_path)));
    registry.register_helper(GUARD, Box::new(RenderHelper(guard)));
}

/// An empty guard block in the tree of Handlebars.
pub(in crate::template) fn empty_guard_block() -> Option<Box<HelperTemplate>> {
    match Template::compile("{{#$guard}}{{/$guard}}").ok()?.elements.pop() {
        Some(TemplateElement::HelperBlock(block)) => Some(block),
        _ => None,
    }
}

fn print(call: &mut RenderCall<'_, '_, '_>) -> HelperResult {
    let value = param_or_null(call.helper, 1);
    match mode() {
        PrintMode::Captured => {
            capture(value);
            Ok(())
        }
        PrintMode::Plain => print_text(call),
        mode => {
            let label = param_text(call.helper, 0);
            if mode == PrintMode::Marked && param_text(call.helper, 1).contains(MARK) {
                let reason = "contains a NUL character";
                return Err(RenderError::Refused { variable: label.into_owned(), reason }.into());
            }
            // Straight to the output, so that marks are not indented.
            call.out.write(&format!("{MARK}{label}{MARK}"))?;
            print_text(call)?;
            Ok(call.out.write("\0")?)
        }
    }
}

fn print_text(call: &mut RenderCall<'_, '_, '_>) -> HelperResult {
    // Handlebars indents it.
    let helper = FnHelper(|params| {
        let text = param_text(params, 1);
        let raw = param_or_null(params, 2).as_bool() == Some(true);
        text_value(if mode() == PrintMode::Encoded && !raw { percent_encode(&text) } else { text.into_owned() })
    });
    helper.call(call.helper, call.registry, call.context, call.rendering, call.out)
}

fn require_path<'rc>(helper: &Helper<'rc>, read: &ReadPath<'_, 'rc>) -> PathHelperValue<'rc> {
    let value = read(&param_text(helper, 0));
    if !value.as_json().is_null() {
        return Ok(value);
    }
    let is_printed = param_or_null(helper, 2).as_bool() == Some(true) && mode() != PrintMode::Captured;
    match missing_value(&param_text(helper, 1)) {
        Some(MissingValue::Mismatch(error)) => Err(error.into()),
        Some(MissingValue::Null) if is_printed => Ok(ScopedJson::Derived("null".into())),
        _ => Ok(value),
    }
}

/// Renders a partial with a limit of its output.
pub(super) fn guard(call: &mut RenderCall<'_, '_, '_>) -> HelperResult {
    count_iterations(1)?;
    call.with_limit(|call| call.render(call.helper.template()))
}

//! The helpers of templates that are written for handlebars.js, where they differ from those of folio's own: values print
//! as in JavaScript, and sections and media are blocks and tags.

use handlebars::{Handlebars, Helper, HelperDef, HelperResult, ScopedJson};
use serde_json::Value;

use super::argument::{FnHelper, HelperParams, HelperValue, param_or_null, param_text, text_value};
use super::block::{each, with};
use super::compare;
use super::path_helper::{PathHelper, PathHelperValue, ReadPath};
use super::print::{GUARD, READ_PATH, guard};
use super::render_call::{RenderCall, RenderHelper};
use super::text::json_text;

use crate::template::render::{count_iterations, is_truthy};
use crate::template::syntax::{INVERSE_SECTION, SECTION};

/// `{{$text value}}`: prints a value.
pub(in crate::template) const TEXT: &str = "$text";
/// `{{$media url type}}`: prints the mark of a picture, a sound or a link.
pub(in crate::template) const MEDIA: &str = "$media";

/// `{{$role name}}`: prints the mark of a role.
pub(in crate::template) const ROLE: &str = "$role";

/// Begins a mark in rendered text. One in a value is [`LITERAL_MARK`].
pub(in crate::template) const MARK: char = '\0';
const LITERAL_MARK: &str = "\0v";
/// The marks around the URL and the type of a picture, a sound or a link.
const MEDIA_START: &str = "\0m";
const MEDIA_TYPE: &str = "\0t";
/// The marks around the name of a role within a block or a partial.
const ROLE_START: &str = "\0r";
const MARK_END: &str = "\0e";

/// How many iterations of a loop the use of a partial counts as: partials may use one another many times.
const ITERATIONS_PER_PARTIAL: u64 = 10;

/// Registers these helpers beside those of all templates.
pub(in crate::template) fn register_js(registry: &mut Handlebars<'static>) {
    compare::register_blocks(registry);
    registry.register_helper(GUARD, Box::new(RenderHelper(guard_partial)));
    registry.register_helper(READ_PATH, Box::new(PathHelper(read_path)));
    registry.register_helper(TEXT, Box::new(RenderHelper(print)));
    registry.register_helper(MEDIA, Box::new(RenderHelper(print_media)));
    registry.register_helper(ROLE, Box::new(RenderHelper(print_role)));
    registry.register_helper(SECTION, Box::new(RenderHelper(render_section)));
    registry.register_helper(INVERSE_SECTION, Box::new(RenderHelper(render_inverse_section)));
    registry.register_helper("json", Box::new(FnHelper(json)));
}

fn guard_partial(call: &mut RenderCall<'_, '_, '_>) -> HelperResult {
    count_iterations(ITERATIONS_PER_PARTIAL)?;
    guard(call)
}

/// Reads a path; `length` is that of a list or a text.
fn read_path<'rc>(helper: &Helper<'rc>, read: &ReadPath<'_, 'rc>) -> PathHelperValue<'rc> {
    let path = param_text(helper, 0);
    let value = read(&path);
    let owner = path.strip_suffix("length").filter(|_| value.is_missing());
    let Some(owner) = owner.map(|owner| owner.trim_end_matches(['.', '/'])) else { return Ok(value) };
    Ok(match read(if owner.is_empty() { "this" } else { owner }).as_json() {
        Value::Array(items) => ScopedJson::Derived(items.len().into()),
        Value::String(text) => ScopedJson::Derived(text.encode_utf16().count().into()),
        _ => value,
    })
}

/// Prints a value as it is: only the lines of the template have the indentation of a partial.
fn print(call: &mut RenderCall<'_, '_, '_>) -> HelperResult {
    let text = escape_marks(&js_text(param_or_null(call.helper, 0)));
    let first_line = FnHelper(|params| {
        let text = escape_marks(&js_text(param_or_null(params, 0)));
        text_value(text.split('\n').next().unwrap_or_default())
    });
    first_line.call(call.helper, call.registry, call.context, call.rendering, call.out)?;
    match text.find('\n') {
        Some(end) => Ok(call.out.write(text.get(end..).unwrap_or_default())?),
        None => Ok(()),
    }
}

fn print_media(call: &mut RenderCall<'_, '_, '_>) -> HelperResult {
    let text = |nth| escape_marks(&js_text(param_or_null(call.helper, nth)));
    let (url, content_type) = (text(0), text(1));
    if url.is_empty() {
        return Ok(());
    }
    Ok(call.out.write(&format!("{MEDIA_START}{url}{MEDIA_TYPE}{content_type}{MARK_END}"))?)
}

fn print_role(call: &mut RenderCall<'_, '_, '_>) -> HelperResult {
    let name = escape_marks(&js_text(param_or_null(call.helper, 0)));
    Ok(call.out.write(&format!("{ROLE_START}{name}{MARK_END}"))?)
}

/// `{{#name}}`, for a list, an object or a condition.
fn render_section(call: &mut RenderCall<'_, '_, '_>) -> HelperResult {
    match param_or_null(call.helper, 0) {
        Value::Bool(true) => call.render(call.helper.template()),
        Value::Array(_) => each(call),
        _ => with(call),
    }
}

/// `{{^name}}`
fn render_inverse_section(call: &mut RenderCall<'_, '_, '_>) -> HelperResult {
    let is_empty = !is_truthy(param_or_null(call.helper, 0));
    call.render(if is_empty { call.helper.template() } else { call.helper.inverse() })
}

fn json(params: &dyn HelperParams) -> HelperValue {
    let value = param_or_null(params, 0);
    let indent = params.option("indent").and_then(Value::as_u64).unwrap_or_default().min(10);
    if value.is_null() {
        // What is undefined has no JSON.
        return text_value("");
    }
    json_text(value, usize::try_from(indent).unwrap_or_default())
}

/// A value as text.
fn js_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => float.to_string(),
            None => number.to_string(),
        },
        Value::Array(items) => items.iter().map(js_text).collect::<Vec<_>>().join(","),
        Value::Object(_) => "[object Object]".to_owned(),
    }
}

/// A text in which no value is a mark.
fn escape_marks(text: &str) -> String {
    text.replace(MARK, LITERAL_MARK)
}

//! Renders listed texts (`title`, `description`, `instructions`) at load, before any call.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::catalog::entry::pack_names;
use crate::compile::{Compiler, Exposure, Pack, ShellVariableContext};
use crate::diagnostic::Code;
use crate::template::{OutputPiece, Scope, ScopeConstants, Template, TextSlot, output_pieces};
use crate::yaml::{Location, Spanned};

/// The text behind a key of the map at `at`.
pub(in crate::catalog) fn listed_text(
    text: Option<&str>,
    at: Location,
    key: &str,
    compiler: &mut Compiler<'_>,
) -> Option<String> {
    let at = compiler.load_context.documents.value_at(at, &format!("/{key}"));
    render_at_load(&Spanned::new(text?.to_owned(), at), compiler)
}

/// Renders a text with the values known at load. `None` if it has errors.
pub(in crate::catalog) fn render_at_load(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<String> {
    compiler.warn_shell_variables(text, ShellVariableContext::ListedText);
    if !text.contains("{{") {
        return Some(text.value.clone());
    }
    if report_unknown_values(text, compiler) {
        return None;
    }
    let names = pack_names(compiler.pack);
    let template: Template<TextSlot> =
        compiler.with_scope_shape(names, |compiler| compiler.template(text, Exposure::Client))?;
    let constants = pack_constants(compiler.pack);
    template.render(&Scope::new(Map::new(), Arc::new(constants))).ok().map(|text| text.0)
}

/// The values known at load. The title of the server may be a template of the others.
pub(in crate::catalog) fn pack_constants(pack: &Pack) -> ScopeConstants {
    let constants = ScopeConstants { env: pack.env.values(), server: pack.server.clone(), fixed_time: pack.fixed_time };
    let Some(title) = pack.server.get("title").and_then(Value::as_str).filter(|title| title.contains("{{")) else {
        return constants;
    };
    let template = Template::<TextSlot>::compile(&pack.engine, title, &pack_names(pack)).ok();
    let template = template.filter(|template| pack.env.find_secret(template.read_paths()).is_none());
    let (env, mut server) = (constants.env.clone(), constants.server.clone());
    let rendered = template.and_then(|template| template.render(&Scope::new(Map::new(), Arc::new(constants))).ok());
    if let (Some(fields), Some(title)) = (server.as_object_mut(), rendered) {
        fields.insert("title".to_owned(), Value::String(title.0));
    }
    ScopeConstants { env, server, fixed_time: pack.fixed_time }
}

/// Reports values that are unknown at load; returns whether there are any.
fn report_unknown_values(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> bool {
    let values = output_pieces(text).into_iter().filter_map(|piece| match piece {
        OutputPiece::Value(range, _) | OutputPiece::Computed(range) => Some(range),
        _ => None,
    });
    let values: Vec<_> = values.collect();
    for range in &values {
        let written = text.get(range.clone()).unwrap_or_default().to_owned();
        let span = compiler.span_within(text.location, range.clone());
        compiler
            .error(
                Code::UnknownVariable,
                span,
                format!("cannot use `{written}` in a listed text: lists are built before any call"),
            )
            .help("only `env` and `server` are available; write `\\{{` for literal braces");
    }
    !values.is_empty()
}

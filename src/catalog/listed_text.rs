//! Renders listed texts (`title`, `description`, `instructions`) at load, before any call.

use std::sync::Arc;

use serde_json::Map;

use crate::compile::{Compiler, Exposure, ShellVariableCheck};
use crate::diagnostic::Code;
use crate::template::{OutputPiece, Scope, ScopeConstants, Template, Text, output_pieces};
use crate::yaml::{Location, Spanned};

use super::entry::pack_names;

/// The text behind a key of the map at `at`.
pub(super) fn listed_text(
    text: Option<&str>,
    (at, key): (Location, &str),
    compiler: &mut Compiler<'_>,
) -> Option<String> {
    let at = compiler.findings.documents.value_at(at, &format!("/{key}"));
    render_at_load(&Spanned::new(text?.to_owned(), at), compiler)
}

/// Renders a text with the values known at load. `None` if it has errors.
pub(super) fn render_at_load(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<String> {
    compiler.warn_shell_variables(text, ShellVariableCheck::Listed);
    if !text.contains("{{") {
        return Some(text.value.clone());
    }
    if report_unknown_values(text, compiler) {
        return None;
    }
    let names = pack_names(compiler.pack);
    let template: Template<Text> =
        compiler.with_scope_shape(names, |compiler| compiler.template(text, Exposure::Client))?;
    let constants = ScopeConstants { env: compiler.pack.env.values(), server: compiler.pack.server.clone() };
    template.render(&Scope::new(Map::new(), Arc::new(constants))).ok().map(|text| text.0)
}

/// Reports values that are unknown at load; returns whether there are any.
fn report_unknown_values(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> bool {
    let values = output_pieces(text).into_iter().filter_map(|piece| match piece {
        OutputPiece::Value(range, _) => Some(range),
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

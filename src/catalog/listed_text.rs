//! Texts that stand in lists: `title`, `description`, `instructions`. They are filled in at load, when no call is known.

use std::sync::Arc;

use serde_json::Map;

use crate::compile::{Compiler, Dollars, Exposure};
use crate::diagnostic::Code;
use crate::template::{Fixed, Printed, Scope, Template, Text, printed};
use crate::yaml::{At, Spanned};

use super::entry::names;

/// The text behind a key of the map at `at`.
pub(super) fn listed_text(text: Option<&str>, (at, key): (At, &str), compiler: &mut Compiler<'_>) -> Option<String> {
    let at = compiler.findings.documents.value_at(at, &format!("/{key}"));
    filled(&Spanned::new(text?.to_owned(), at), compiler)
}

/// A text with what is known at load in the place of its templates. `None` where one is wrong, which is then reported.
pub(super) fn filled(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<String> {
    compiler.warn_of_dollars(text, Dollars::Listed);
    if !text.contains("{{") {
        return Some(text.value.clone());
    }
    if refuse_values(text, compiler) {
        return None;
    }
    let names = names(compiler.pack);
    let template: Template<Text> = compiler.with_names(names, |compiler| compiler.template(text, Exposure::Client))?;
    let fixed = Fixed { env: compiler.pack.env.values(), server: compiler.pack.server.clone() };
    template.render(&Scope::new(Map::new(), Arc::new(fixed))).ok().map(|text| text.0)
}

/// Reports what has no value when a list is made; says whether there is any.
fn refuse_values(text: &Spanned<String>, compiler: &mut Compiler<'_>) -> bool {
    let values = printed(text).into_iter().filter_map(|piece| match piece {
        Printed::Value(range, _) => Some(range),
        _ => None,
    });
    let values: Vec<_> = values.collect();
    for range in &values {
        let written = text.get(range.clone()).unwrap_or_default().to_owned();
        let span = compiler.span_within(text.at, range.clone());
        compiler
            .error(
                Code::UnknownVariable,
                span,
                format!("`{written}` has no value here: lists are made before any call"),
            )
            .help("only `env` and `server` are known here; for braces as they are, write `\\{{`");
    }
    !values.is_empty()
}

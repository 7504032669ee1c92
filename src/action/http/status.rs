//! Which statuses are errors, and what to say about them.

use crate::action::ActionError;
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::template::{RenderError, Scope, ScopeShape, Shape, Template, TextSlot};
use crate::value_types::{NamedMap, Scalar};
use crate::yaml::{Location, Spanned};

/// A status, a class of statuses, or all of them. The order is that of precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StatusPattern {
    /// `404`.
    Exact(u16),
    /// `4xx`.
    Class(u16),
    /// `default`.
    Any,
}

impl StatusPattern {
    /// Reads `404`, `4xx` or `default`; reports anything else.
    pub(super) fn compile(text: &str, at: Location, compiler: &mut Compiler<'_>) -> Option<StatusPattern> {
        let pattern = StatusPattern::parse(text);
        if pattern.is_none() {
            compiler
                .error(Code::BadValue, at, format!("invalid HTTP status `{text}`"))
                .help("use a number from 100 to 599, a class such as `4xx`, or `default`");
        }
        pattern
    }

    fn parse(text: &str) -> Option<StatusPattern> {
        if text == "default" {
            return Some(StatusPattern::Any);
        }
        if let Some(class) = text.strip_suffix("xx") {
            return class.parse().ok().filter(|class| (1..=5).contains(class)).map(StatusPattern::Class);
        }
        text.parse().ok().filter(|status| (100..600).contains(status)).map(StatusPattern::Exact)
    }

    pub(super) fn matches(self, status: u16) -> bool {
        match self {
            StatusPattern::Exact(exact) => status == exact,
            StatusPattern::Class(class) => status / 100 == class,
            StatusPattern::Any => true,
        }
    }
}

/// Reads a list of statuses.
pub(super) fn compile_patterns(
    statuses: Option<&Vec<Spanned<Scalar>>>,
    compiler: &mut Compiler<'_>,
) -> Option<Vec<StatusPattern>> {
    let patterns: Vec<_> = statuses
        .into_iter()
        .flatten()
        .map(|status| StatusPattern::compile(&status.value.0, status.location, compiler))
        .collect();
    patterns.into_iter().collect()
}

/// The messages of `onError`, the most precise first.
pub(super) struct ErrorMessages(Vec<(StatusPattern, Template<TextSlot>)>);

impl ErrorMessages {
    /// Compiles `onError`, whose templates see the response.
    pub(super) fn compile(
        on_error: &NamedMap<Spanned<String>>,
        response: &Shape,
        compiler: &mut Compiler<'_>,
    ) -> Option<ErrorMessages> {
        let names = compiler.scope_shape.clone();
        let mut all = compiler.with_scope_shape(with_response(names, response), |compiler| {
            let mut all = Vec::with_capacity(on_error.len());
            for (status, message) in on_error {
                let pattern = StatusPattern::compile(status, status.location, compiler);
                if message.trim().is_empty() {
                    compiler.error(Code::BadValue, message.location, "empty error message");
                }
                all.push(pattern.zip(compiler.template(message, Exposure::Client)));
            }
            all.into_iter().collect::<Option<Vec<_>>>()
        })?;
        all.sort_by_key(|(pattern, _)| *pattern);
        Some(ErrorMessages(all))
    }

    /// The message for a status, if one is written that says anything of this response.
    pub(super) fn render(&self, status: u16, scope: &Scope) -> Result<Option<String>, ActionError> {
        let message = self.0.iter().find(|(pattern, _)| pattern.matches(status));
        let text = match message.map(|(_, message)| message.render(scope)).transpose() {
            // The status says more than that the response is not JSON.
            Err(error @ RenderError::OutputMismatch { .. }) => {
                tracing::warn!(target: "folio::call", "message of `onError` not used: {error}");
                None
            }
            text => text?.map(|text| text.0),
        };
        Ok(text.filter(|text| !text.trim().is_empty()))
    }

    /// Reports messages for statuses that are not errors.
    pub(super) fn check_used(
        on_error: &NamedMap<Spanned<String>>,
        is_success: impl Fn(u16) -> bool,
        compiler: &mut Compiler<'_>,
    ) {
        for status in on_error.keys() {
            let pattern = StatusPattern::parse(status);
            if pattern.is_some_and(|pattern| (100..600).filter(|code| pattern.matches(*code)).all(&is_success)) {
                compiler
                    .error(
                        Code::Unused,
                        status.location,
                        format!("unused message: status {} is not an error", status.value),
                    )
                    .help("remove it, or take the status out of `expect`");
            }
        }
    }
}

/// Adds the fields of the response to what templates see. An argument of the same name is `arguments.NAME` there.
pub(super) fn with_response(names: ScopeShape, response: &Shape) -> ScopeShape {
    let Shape::Object(fields) = response else { return names };
    fields.iter().fold(names, |names, (name, shape)| names.with_name(name.clone(), shape.clone()))
}

#[cfg(test)]
mod tests {
    use super::StatusPattern;

    #[test]
    fn patterns_are_statuses_classes_and_default() {
        let parse = StatusPattern::parse;
        assert_eq!(parse("404"), Some(StatusPattern::Exact(404)));
        assert_eq!(parse("4xx"), Some(StatusPattern::Class(4)));
        assert_eq!(parse("default"), Some(StatusPattern::Any));
        for text in ["", "99", "600", "0xx", "6xx", "xx", "4XX", "4x", "-1", "404 "] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn class_matches_its_hundred_only() {
        let class = StatusPattern::Class(4);
        assert!(class.matches(400) && class.matches(499) && !class.matches(399) && !class.matches(500));
    }
}

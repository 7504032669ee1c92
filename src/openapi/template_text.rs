//! Texts for the places of a manifest that are templates.

use indexmap::IndexMap;
use serde_json::Value;

/// A text in which every `{{` is one that the import wrote.
///
/// What a description says gets in by [`TemplateText::literal`] alone, so that it is never a template itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TemplateText(String);

/// Templates by the names of fields, which are no templates.
pub(super) type TemplateFields = IndexMap<String, TemplateText>;

impl TemplateText {
    /// A text that stands for itself. `None` where it has a template in it, or becomes part of one by what follows.
    pub(super) fn literal(text: &str) -> Option<TemplateText> {
        let is_safe = !text.contains("{{") && !text.ends_with(['{', '\\']);
        is_safe.then(|| TemplateText(text.to_owned()))
    }

    /// The value of an argument, whose name is one of [`super::naming::ArgumentNames`].
    pub(super) fn placeholder(argument: &str) -> TemplateText {
        TemplateText::call(None, argument, "")
    }

    /// A helper's result for an argument, with what is written behind it.
    pub(super) fn call(helper: Option<&str>, argument: &str, rest: &str) -> TemplateText {
        let head = helper.map(|helper| format!("{helper} ")).unwrap_or_default();
        let inside: String = format!("{head}{argument}{rest}").chars().filter(|c| !matches!(c, '{' | '}')).collect();
        TemplateText(format!("{{{{{inside}}}}}"))
    }

    /// A variable of the environment.
    pub(super) fn variable(name: &str) -> TemplateText {
        TemplateText::call(None, &format!("env.{name}"), "")
    }

    /// What stands between two cookies.
    pub(super) fn cookie_separator() -> TemplateText {
        TemplateText("; ".to_owned())
    }

    /// This text, where an argument has a value.
    pub(super) fn when(self, argument: &str) -> TemplateText {
        TemplateText(format!("{{{{#if {argument}}}}}{}{{{{/if}}}}", self.0))
    }

    /// Adds a text behind this one.
    pub(super) fn push(&mut self, more: &TemplateText) {
        self.0.push_str(&more.0);
    }

    /// This text without the slashes at its start that are more than one.
    pub(super) fn with_one_slash(self) -> TemplateText {
        let bare = self.0.trim_start_matches('/');
        if self.0.len() > bare.len() + 1 { TemplateText(format!("/{bare}")) } else { self }
    }
}

impl From<TemplateText> for Value {
    fn from(text: TemplateText) -> Value {
        Value::String(text.0)
    }
}

/// Fields as a map of a manifest.
pub(super) fn fields_value(fields: TemplateFields) -> Value {
    Value::Object(fields.into_iter().map(|(name, text)| (name, text.into())).collect())
}

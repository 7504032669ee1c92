//! Texts for the places of a manifest that are templates.

use indexmap::IndexMap;
use serde_json::Value;

/// A text in which every `{{` is one that the import wrote.
///
/// What a description says gets in by [`TemplateText::literal`] alone, so that it is never a template itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TemplateText(String);

/// How an element of a list or an object is written.
#[derive(Default)]
pub(super) struct EachText {
    /// What stands before it.
    pub(super) head: TemplateText,
    /// What stands behind its key, where that is written.
    pub(super) key_end: Option<char>,
}

/// Templates by the names of fields, which are no templates.
pub(super) type TemplateFields = IndexMap<String, Vec<TemplateText>>;

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

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// A variable of the environment.
    pub(super) fn variable(name: &str) -> TemplateText {
        TemplateText::call(None, &format!("env.{name}"), "")
    }

    /// A variable of the environment, or `otherwise` where it is not set.
    pub(super) fn variable_or(name: &str, otherwise: &str) -> TemplateText {
        TemplateText::call(Some("default"), &format!("env.{name}"), &format!(" {otherwise}"))
    }

    /// The elements of an argument in one text; `null`, which leaves the entry out, where there are none.
    pub(super) fn joined(argument: &str, separator: &str) -> TemplateText {
        let separator = separator.replace('\t', "\\t");
        TemplateText::call(Some("default"), &format!("(join {argument} \"{separator}\")"), " null")
    }

    /// A text for each element of an argument, with this between them; of an object, with its key.
    pub(super) fn each(argument: &str, separator: &TemplateText, one: EachText) -> TemplateText {
        let between = match separator.0.is_empty() {
            true => String::new(),
            false => format!("{{{{#unless @first}}}}{}{{{{/unless}}}}", separator.0),
        };
        let key = one.key_end.map(|end| format!("{{{{@key}}}}{end}")).unwrap_or_default();
        TemplateText(format!("{{{{#each {argument}}}}}{between}{}{key}{{{{this}}}}{{{{/each}}}}", one.head.0))
    }

    /// What stands between two cookies.
    pub(super) fn cookie_separator() -> TemplateText {
        TemplateText("; ".to_owned())
    }

    /// This text, where an argument has a value.
    pub(super) fn when(self, argument: &str) -> TemplateText {
        TemplateText(format!("{{{{#if {argument}}}}}{}{{{{/if}}}}", self.0))
    }

    /// This text, where any of some arguments has a value.
    pub(super) fn when_any(self, arguments: &[&str]) -> TemplateText {
        match arguments {
            [argument] => self.when(argument),
            all => self.when(&format!("(or {})", all.join(" "))),
        }
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

/// Adds a template under a name.
pub(super) fn push_field(fields: &mut TemplateFields, name: &str, template: TemplateText) {
    fields.entry(name.to_owned()).or_default().push(template);
}

/// Fields as a map of a manifest.
pub(super) fn fields_value(fields: TemplateFields) -> Value {
    let value = |mut templates: Vec<TemplateText>| match (templates.pop(), templates.is_empty()) {
        (Some(only), true) => only.into(),
        (last, _) => Value::Array(templates.into_iter().chain(last).map(Value::from).collect()),
    };
    Value::Object(fields.into_iter().map(|(name, templates)| (name, value(templates))).collect())
}

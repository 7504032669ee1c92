//! `dotprompt`: the executable prompts of Genkit.
//!
//! Its templates are those of handlebars.js, which folio's own parser reads. They are split into messages at `{{role}}` when
//! they are loaded, so that no value can make a role. One within a block or a partial is a mark that no value can have.

mod message;
mod partials;
mod schema;

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

pub use self::message::{ImportedContent, ImportedMessage};
use self::message::{add_part, role_behind};
use self::partials::{Partials, is_partial, span_of};
use self::schema::{InputField, input_fields};
use super::front_matter::split_leading_front_matter;
use super::naming::{ArgumentNames, path_below};
use super::placeholders::{add_argument, text_argument};
use super::{ImportedFile, ImportedPrompt, PackFolder, PackFormat};
use crate::budget::Budget;
use crate::diagnostic::{Code, Consequence, Report, Span};
use crate::digest::Digest;
use crate::manifest::{Argument, Arguments, Prompt};
use crate::template::{JsPart, JsTemplates, RenderError, TemplateError};
use crate::value_types::Role;
use crate::yaml::Location;

/// How many nodes a template may have with its partials.
const MAX_NODES: usize = 10_000;

/// `**/*.prompt`: named after the path below the last `prompts/`. `_NAME.prompt` is a partial.
pub(super) struct Dotprompt;

/// A template with its variables.
pub struct DotpromptTemplate {
    /// What each says, in order.
    parts: Vec<(Role, JsPart)>,
    templates: Arc<JsTemplates>,
    variables: IndexMap<String, Variable>,
    /// Changes with the text, or that of a partial.
    digest: u64,
}

/// A variable of the template.
struct Variable {
    /// The name of its argument.
    argument: String,
    /// Whether it is a list or an object that no schema declares.
    is_structured: bool,
    default: Option<Value>,
}

impl std::fmt::Debug for DotpromptTemplate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("DotpromptTemplate").field("digest", &self.digest).finish_non_exhaustive()
    }
}

impl PackFormat for Dotprompt {
    fn globs(&self) -> &'static [&'static str] {
        &["**/*.prompt"]
    }

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ImportedPrompt> {
        let mut partials = Partials::new(&folder.files);
        let mut partials_digest = Digest::new("partials");
        for file in folder.files.iter().filter(|file| is_partial(&file.path)) {
            partials_digest.update(file.path.as_bytes());
            partials_digest.update(file.text.as_bytes());
        }
        let partials_hash = partials_digest.finish_u64();
        let mut prompts = Vec::new();
        for file in folder.files.iter().filter(|file| !is_partial(&file.path)) {
            let (keys, body) = split_leading_front_matter(file, report);
            if folder.is_auto && body == 0 {
                continue;
            }
            prompts.extend(PromptFile { file, keys, body, partials_hash }.read(&mut partials, report));
        }
        // All partials are known by now.
        let templates = Arc::new(JsTemplates::new(partials.sources));
        let with_partials = |(prompt, template)| {
            let template = DotpromptTemplate { templates: templates.clone(), ..template };
            ImportedPrompt { dotprompt: Some(Arc::new(template)), ..prompt }
        };
        prompts.into_iter().map(with_partials).collect()
    }
}

/// A file with a prompt.
struct PromptFile<'f> {
    file: &'f ImportedFile,
    keys: Map<String, Value>,
    /// Where its template begins.
    body: usize,
    /// The digest of all partials.
    partials_hash: u64,
}

impl PromptFile<'_> {
    /// The prompt, and its template without its partials, which are not complete yet.
    fn read(&self, partials: &mut Partials<'_>, report: &mut Report) -> Option<(ImportedPrompt, DotpromptTemplate)> {
        let whole = self.file.text.get(self.body..)?;
        // Below front matter, white space around the template is none of it.
        let text = if self.body > 0 { whole.trim() } else { whole };
        let start = self.body + if self.body > 0 { whole.len() - whole.trim_start().len() } else { 0 };
        if text.trim().is_empty() {
            report
                .warning(Code::MissingKey, Span::new(self.file.id, start, start), "no text")
                .consequence(Consequence::PromptSkipped);
            return None;
        }
        let source = partials.parse(&self.file.path, text, report);
        let source = source.map_err(|error| self.report_skipped(&error, start, report)).ok()?;
        let Some((used, unknown_data)) = source.variables(&partials.sources, MAX_NODES) else {
            let message = format!("more than {MAX_NODES} texts, values and blocks");
            report
                .warning(Code::TooLarge, Span::new(self.file.id, start, start), message)
                .consequence(Consequence::PromptSkipped);
            return None;
        };
        let parts = source.split().map_err(|error| self.report_skipped(&error, start, report)).ok()?;
        let parts = parts.into_iter().map(|(marker, part)| (role_behind(marker.as_ref()), part)).collect();
        for name in unknown_data {
            let at = start + text.find(&format!("@{name}")).unwrap_or_default();
            report
                .warning(Code::UnknownVariable, Span::new(self.file.id, at, at), format!("`@{name}` has no value here"))
                .help("another program would give it; use a variable, such as `{{name}}`, which becomes an argument");
        }
        let (variables, arguments) = self.variables(used);
        let digest = Digest::new("dotprompt")
            .chain_update(self.file.text.as_bytes())
            .chain_update(&self.partials_hash.to_be_bytes());
        let description = self.keys.get("description").and_then(Value::as_str).map(str::trim);
        let prompt = Prompt {
            description: description.filter(|text| !text.is_empty()).map(str::to_owned),
            arguments,
            ..Prompt::default()
        };
        let name = path_below(&self.file.path, "prompts", ".prompt").to_owned();
        let prompt = ImportedPrompt::new(name, Location::start_of(self.file.id), prompt, Vec::new());
        let digest = digest.finish_u64();
        Some((prompt, DotpromptTemplate { parts, templates: Arc::default(), variables, digest }))
    }

    /// Reports an error of the template, which begins at `start`.
    fn report_skipped(&self, error: &TemplateError, start: usize, report: &mut Report) {
        report
            .warning(Code::Syntax, span_of(error, self.file, start), &error.message)
            .consequence(Consequence::PromptSkipped);
    }

    /// The variables: those that are declared, then others that the template uses.
    fn variables(&self, used: IndexMap<String, bool>) -> (IndexMap<String, Variable>, Arguments) {
        let input = self.keys.get("input");
        let defaults = input.and_then(|input| input.get("default")).and_then(Value::as_object);
        let default = |name: &str| defaults.and_then(|defaults| defaults.get(name)).cloned();
        let mut variables = IndexMap::new();
        let mut names = ArgumentNames::default();
        let (mut arguments, at) = (Arguments::new(), Location::start_of(self.file.id));
        for InputField { name, description, schema, required, default: own } in
            input.and_then(|input| input.get("schema")).map(input_fields).unwrap_or_default()
        {
            let (argument, default) = (names.claim(&name), default(&name).or(own));
            let required = Some(required && default.is_none());
            let keyword = |key: &str| schema.get(key).cloned().map(Box::new);
            let (kind, choices) = (keyword("type"), keyword("enum"));
            let keys = Argument { description, required, kind, choices, ..Argument::default() };
            add_argument(&mut arguments, at, &argument, keys);
            variables.insert(name, Variable { argument, is_structured: false, default });
        }
        for (name, is_structured) in used {
            if variables.contains_key(&name) {
                continue;
            }
            let argument = names.claim(&name);
            add_argument(&mut arguments, at, &argument, text_argument(None, false));
            variables.insert(name.clone(), Variable { argument, is_structured, default: default(&name) });
        }
        for (name, value) in defaults.into_iter().flatten() {
            let default = || Variable { argument: String::new(), is_structured: false, default: Some(value.clone()) };
            variables.entry(name.clone()).or_insert_with(default);
        }
        (variables, arguments)
    }
}

impl DotpromptTemplate {
    /// Changes with its text, or that of a partial.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Its messages with these values.
    ///
    /// # Errors
    /// A limit is exceeded.
    pub fn render(&self, arguments: &Map<String, Value>, budget: &Budget) -> Result<Vec<ImportedMessage>, RenderError> {
        let mut root = Map::new();
        for (name, variable) in &self.variables {
            let value = arguments.get(&variable.argument).filter(|value| !value.is_null());
            let value = value.map(|value| variable.read(value)).or_else(|| variable.default.clone());
            if let Some(value) = value {
                root.insert(name.clone(), value);
            }
        }
        let (root, mut messages) = (Value::Object(root), Vec::new());
        for (role, part) in &self.parts {
            add_part(&mut messages, *role, self.templates.render(part, &root, budget)?);
        }
        Ok(messages)
    }
}

impl Variable {
    /// The value of its argument: a list or an object is written in JSON.
    fn read(&self, value: &Value) -> Value {
        let text = value.as_str().filter(|_| self.is_structured);
        let parsed = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
        parsed.filter(|parsed| parsed.is_array() || parsed.is_object()).unwrap_or_else(|| value.clone())
    }
}

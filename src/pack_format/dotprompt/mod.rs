//! `dotprompt`: the executable prompts of Genkit.
//!
//! Its templates are those of Handlebars as JavaScript renders them, so they have an interpreter of their own: its output
//! is no text with marks in it, but text, roles and media, which no value can forge.

mod expression;
mod message;
mod parse;
mod partials;
mod render;
mod schema;
mod scope;
mod token;
mod tree;
mod value;
mod variables;

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use self::partials::{Partials, is_partial};
use self::schema::{InputField, input_fields};
use self::tree::Node;
use self::variables::MAX_NODES;
use super::front_matter::split_leading_front_matter;
use super::naming::{argument_name, path_below};
use super::{ForeignArgument, ForeignBody, ForeignFile, ForeignMessage, ForeignPrompt, PackFolder, PackFormat};
use crate::budget::{Budget, BudgetExceeded};
use crate::diagnostic::{Code, Report, Span};
use crate::digest::Digest;
use crate::yaml::Location;

/// `**/*.prompt`: named after the path below the last `prompts/`. `_NAME.prompt` is a partial.
pub(super) struct Dotprompt;

/// A template with its variables.
pub struct DotpromptTemplate {
    nodes: Vec<Node>,
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

    fn read(&self, folder: &PackFolder<'_>, report: &mut Report) -> Vec<ForeignPrompt> {
        let mut partials = Partials::new(&folder.files);
        let partials_hash = partials_digest(&folder.files);
        let mut prompts = Vec::new();
        for file in folder.files.iter().filter(|file| !is_partial(&file.path)) {
            let (keys, body) = split_leading_front_matter(file, report);
            if folder.is_auto && body == 0 {
                continue;
            }
            let written = PromptFile { file, keys, body, partials_hash };
            prompts.extend(written.read(&mut partials, report));
        }
        prompts
    }
}

fn partials_digest(files: &[ForeignFile]) -> u64 {
    let mut digest = Digest::new("partials");
    for file in files.iter().filter(|file| is_partial(&file.path)) {
        digest.update(file.path.as_bytes());
        digest.update(file.text.as_bytes());
    }
    digest.finish_u64()
}

/// A file with a prompt.
struct PromptFile<'f> {
    file: &'f ForeignFile,
    keys: Map<String, Value>,
    /// Where its template begins.
    body: usize,
    /// The digest of all partials.
    partials_hash: u64,
}

impl PromptFile<'_> {
    fn read(&self, partials: &mut Partials<'_>, report: &mut Report) -> Option<ForeignPrompt> {
        let whole = self.file.text.get(self.body..)?;
        // Below front matter, white space around the template is none of it.
        let text = if self.body > 0 { whole.trim() } else { whole };
        let start = self.body + if self.body > 0 { whole.len() - whole.trim_start().len() } else { 0 };
        if text.trim().is_empty() {
            report.warning(Code::MissingKey, Span::new(self.file.id, start, start), "no text: prompt skipped");
            return None;
        }
        let nodes = match partials.parse(&self.file.path, text, report) {
            Ok(nodes) => nodes,
            Err(error) => {
                let place = Span::new(self.file.id, start + error.at.start, start + error.at.end);
                report.warning(Code::Syntax, place, format!("{}: prompt skipped", error.message));
                return None;
            }
        };
        let Some((used, unknown_data)) = variables::variables(&nodes) else {
            let message = format!("more than {MAX_NODES} texts, values and blocks: prompt skipped");
            report.warning(Code::TooLarge, Span::new(self.file.id, start, start), message);
            return None;
        };
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
        let template = DotpromptTemplate { nodes, variables, digest: digest.finish_u64() };
        let description = self.keys.get("description").and_then(Value::as_str).map(str::trim);
        let prompt = ForeignPrompt {
            name: path_below(&self.file.path, "prompts", ".prompt").to_owned(),
            title: None,
            description: description.filter(|text| !text.is_empty()).map(str::to_owned),
            arguments,
            body: ForeignBody::Dotprompt(Arc::new(template)),
            at: Location::start_of(self.file.id),
        };
        prompt.with_few_arguments(report)
    }

    /// The variables: those that are declared, then others that the template uses.
    fn variables(&self, used: variables::Variables) -> (IndexMap<String, Variable>, Vec<ForeignArgument>) {
        let input = self.keys.get("input");
        let defaults = input.and_then(|input| input.get("default")).and_then(Value::as_object);
        let default = |name: &str| defaults.and_then(|defaults| defaults.get(name)).cloned();
        let mut variables = IndexMap::new();
        let mut arguments = Vec::new();
        for InputField { name, description, schema, required, default: own } in
            input.and_then(|input| input.get("schema")).map(input_fields).unwrap_or_default()
        {
            let (argument, default) = (argument_name(&name), default(&name).or(own));
            let required = required && default.is_none();
            arguments.push(ForeignArgument { name: argument.clone(), description, required, schema: Some(schema) });
            variables.insert(name, Variable { argument, is_structured: false, default });
        }
        for (name, is_structured) in used {
            if variables.contains_key(&name) {
                continue;
            }
            let argument = argument_name(&name);
            arguments.push(ForeignArgument::optional(argument.clone()));
            variables.insert(name.clone(), Variable { argument, is_structured, default: default(&name) });
        }
        for (name, value) in defaults
            .into_iter()
            .flatten()
            .filter(|(name, _)| !variables.contains_key(name.as_str()))
            .collect::<Vec<_>>()
        {
            let variable = Variable { argument: String::new(), is_structured: false, default: Some(value.clone()) };
            variables.insert(name.clone(), variable);
        }
        (variables, arguments)
    }
}

impl DotpromptTemplate {
    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    /// Its messages with these values.
    ///
    /// # Errors
    /// The budget is exhausted.
    pub fn render(
        &self,
        arguments: &Map<String, Value>,
        budget: &Budget,
    ) -> Result<Vec<ForeignMessage>, BudgetExceeded> {
        let mut root = Map::new();
        for (name, variable) in &self.variables {
            let value = arguments.get(&variable.argument).filter(|value| !value.is_null());
            let value = value.map(|value| variable.read(value)).or_else(|| variable.default.clone());
            if let Some(value) = value {
                budget.charge_memory(crate::budget::memory_size(&value))?;
                root.insert(name.clone(), value);
            }
        }
        Ok(message::messages(render::render(&self.nodes, &Value::Object(root), budget)?))
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

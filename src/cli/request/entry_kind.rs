//! What a command names: a prompt, a tool or a resource.

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use crate::catalog::Catalog;
use crate::cli::terminal::Form;
use crate::diagnostic::nearest;
use crate::template::value_to_text;
use crate::uri::{Operator, UriTemplate};

/// The kind of the entry that a command names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EntryKind {
    /// A text that a person picks in the client
    Prompt,
    /// What a model can call
    Tool,
    /// What a client can read
    Resource,
}

impl EntryKind {
    pub(crate) fn method(self) -> &'static str {
        match self {
            EntryKind::Prompt => "prompts/get",
            EntryKind::Tool => "tools/call",
            EntryKind::Resource => "resources/read",
        }
    }

    pub(crate) fn noun(self) -> &'static str {
        match self {
            EntryKind::Prompt => "prompt",
            EntryKind::Tool => "tool",
            EntryKind::Resource => "resource",
        }
    }

    /// The key of a manifest that holds it.
    pub(crate) fn section(self) -> &'static str {
        match self {
            EntryKind::Prompt => "prompts",
            EntryKind::Tool => "tools",
            EntryKind::Resource => "resources",
        }
    }

    pub(crate) fn command(self) -> &'static str {
        match self {
            EntryKind::Prompt => "get",
            EntryKind::Tool => "call",
            EntryKind::Resource => "read",
        }
    }

    /// The schema of the arguments of an entry; for a resource, of a template as it is listed. `None` without such an
    /// entry.
    pub(crate) fn input_schema<'c>(self, catalog: &'c Catalog, name: &str) -> Option<&'c Map<String, Value>> {
        let find = |(listed, schema): (&str, &'c Map<String, Value>)| (listed == name).then_some(schema);
        match self {
            EntryKind::Prompt => catalog.prompt_schemas().find_map(find),
            EntryKind::Tool => catalog.input_schema(name),
            EntryKind::Resource => catalog.template_schemas().find_map(find),
        }
    }

    /// The fields of the arguments. The variables in the path of a template are required, whatever its schema says.
    pub(crate) fn form(self, schema: &Map<String, Value>, name: &str) -> Option<Form> {
        let mut schema = schema.clone();
        if let (EntryKind::Resource, Ok(template)) = (self, UriTemplate::parse(name)) {
            let is_query = |operator: Operator| matches!(operator, Operator::Query | Operator::Continuation);
            let in_path = template.variables().iter().filter(|variable| !is_query(variable.operator));
            let required = in_path.map(|variable| Value::from(variable.name.clone()));
            schema.insert("required".to_owned(), required.collect());
        }
        Form::new(&schema)
    }

    /// The help for the name of an entry of another kind, or of a resource by its name: the command for it.
    pub(crate) fn command_for(self, catalog: &Catalog, name: &str) -> Option<String> {
        let mut others = [EntryKind::Prompt, EntryKind::Tool].into_iter().filter(|kind| *kind != self);
        if let Some(kind) = others.find(|kind| kind.input_schema(catalog, name).is_some()) {
            return Some(format!("help: `{name}` is a {}: `folio {} {name}`", kind.noun(), kind.command()));
        }
        let lists = catalog.lists();
        let resources = lists.resources.iter().map(|resource| (&resource.info.name, &resource.uri));
        let templates = lists.resource_templates.iter().map(|template| (&template.info.name, &template.uri_template));
        let (_, uri) = resources.chain(templates).find(|(listed, _)| *listed == name)?;
        Some(format!("help: `{name}` is a resource: `folio read {uri}`"))
    }

    /// The name that was probably meant, where there is no such entry.
    pub(crate) fn nearest_name(self, catalog: &Catalog, name: &str) -> Option<String> {
        let lists = catalog.lists();
        match self {
            EntryKind::Prompt => nearest(name, lists.prompts.iter().map(|prompt| prompt.name.as_str())),
            EntryKind::Tool => nearest(name, lists.tools.iter().map(|tool| tool.name.as_str())),
            EntryKind::Resource => {
                let templates = lists.resource_templates.iter().map(|template| template.uri_template.as_str());
                let uris = lists.resources.iter().map(|resource| resource.uri.as_str());
                nearest(name, uris.chain(templates.clone())).or_else(|| template_of_near_scheme(name, templates))
            }
        }
        .map(str::to_owned)
    }

    /// The parameters of the request. Arguments of prompts are texts, and those of a template are in its URI.
    pub(crate) fn params(self, catalog: &Catalog, name: &str, arguments: Map<String, Value>) -> Value {
        match self {
            EntryKind::Prompt => {
                let texts = arguments.iter().map(|(name, value)| (name.clone(), value_to_text(value).into()));
                json!({ "name": name, "arguments": texts.collect::<Map<String, Value>>() })
            }
            EntryKind::Tool => json!({ "name": name, "arguments": arguments }),
            EntryKind::Resource => {
                let text = |variable: &str| arguments.get(variable).map(|value| value_to_text(value).into_owned());
                let uri = catalog.expand_template(name, &text);
                json!({ "uri": uri.unwrap_or_else(|| name.to_owned()) })
            }
        }
    }

    /// What names the entry in a request for completion, which tools have none of.
    pub(crate) fn completion_ref(self, name: &str) -> Option<Value> {
        match self {
            EntryKind::Prompt => Some(json!({ "type": "ref/prompt", "name": name })),
            EntryKind::Resource => Some(json!({ "type": "ref/resource", "uri": name })),
            EntryKind::Tool => None,
        }
    }
}

/// The template whose scheme is near to that of a URI.
fn template_of_near_scheme<'t>(uri: &str, mut templates: impl Iterator<Item = &'t str>) -> Option<&'t str> {
    let (wrong, _) = uri.split_once("://")?;
    templates.find(|template| {
        template.split_once("://").is_some_and(|(scheme, _)| scheme != wrong && nearest(wrong, [scheme]).is_some())
    })
}

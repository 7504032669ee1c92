//! `check --clients`: what named clients cut, drop or refuse of a server.
//!
//! What is known of clients is in mod.rs, and the limits that most of them share in common_client_limits.rs.

use indexmap::IndexMap;
use serde_json::Value;

use crate::catalog::clients::common_client_limits;
use crate::catalog::clients::{ClientLimit, KnownClient, Rule};
use crate::catalog::listing::{Lists, PromptListing, ServerInfo, ToolListing};
use crate::compile::LoadContext;
use crate::diagnostic::{Diagnostic, Report, Span, count_noun, quote_names};
use crate::load::LoadedPack;
use crate::manifest::{Message, Prompt};
use crate::value_types::{Block, BlockBody};
use crate::yaml::Location;

/// How many parts of one schema a rule names.
const MAX_SCHEMA_WARNINGS: usize = 3;

/// What the rules are about.
pub(in crate::catalog) struct LintedServer<'a> {
    pub(in crate::catalog) info: &'a ServerInfo,
    pub(in crate::catalog) lists: &'a Lists,
    /// What `tools/list` lists.
    pub(in crate::catalog) visible_tools: &'a [ToolListing],
    pub(in crate::catalog) packs: &'a [LoadedPack],
    /// The places of tools, by name.
    pub(in crate::catalog) tool_locations: &'a IndexMap<String, Location>,
    /// The places of prompts, by name.
    pub(in crate::catalog) prompt_locations: &'a IndexMap<String, Location>,
}

/// Warns of what the named clients do not take; without names, of what most do not.
pub(in crate::catalog) fn warn(clients: &[KnownClient], server: &LintedServer<'_>, load_context: &mut LoadContext) {
    let Some(first) = server.packs.first() else { return };
    let place_of = |tool: &str| server.tool_locations.get(tool).copied().unwrap_or(first.at);
    if clients.is_empty() {
        common_client_limits::warn_of_long_names(server.info, server.visible_tools, place_of, load_context);
        common_client_limits::warn_of_many_tools(server.visible_tools, first.at, load_context);
    } else {
        common_client_limits::warn_of_large_tools(server.visible_tools, place_of, load_context);
    }
    common_client_limits::warn_of_large_list(server.info, server.visible_tools, first.at, load_context);
    let at = load_context.documents.key_at(first.at, "/server");
    for (client, rule) in clients.iter().flat_map(|client| client.rules().iter().map(move |rule| (*client, rule))) {
        ClientRuleCheck { client, rule, server, at, report: &mut load_context.report }.check();
    }
}

/// The check of one rule.
struct ClientRuleCheck<'a> {
    client: KnownClient,
    rule: &'a Rule,
    server: &'a LintedServer<'a>,
    /// The place of the server.
    at: Location,
    report: &'a mut Report,
}

impl ClientRuleCheck<'_> {
    fn check(&mut self) {
        let lists = self.server.lists;
        match self.rule.limit {
            ClientLimit::Tools(_) | ClientLimit::Prompts | ClientLimit::Resources | ClientLimit::ResourceTemplates => {
                self.check_server()
            }
            ClientLimit::ToolName { .. }
            | ClientLimit::RootKeywords(_)
            | ClientLimit::Schema(_)
            | ClientLimit::PropertyName(_) => {
                self.server.visible_tools.iter().for_each(|tool| self.check_tool(tool));
            }
            ClientLimit::PromptTitle | ClientLimit::RequiredArguments(_) | ClientLimit::PromptDescription => {
                lists.prompts.iter().for_each(|prompt| self.check_prompt(prompt));
            }
            ClientLimit::Messages(_) | ClientLimit::FirstMessage => self.check_messages(),
            // They are not errors of the server: the page of `folio dev` shows them.
            ClientLimit::Completion
            | ClientLimit::Questions
            | ClientLimit::StructuredContent
            | ClientLimit::TextBesideStructured
            | ClientLimit::IgnoredKeywords(_)
            | ClientLimit::ListChanges => {}
        }
    }

    fn warn(&mut self, at: Span, what: &str) -> &mut Diagnostic {
        let message = format!("{what}: in `{}`, {}", self.client.name(), self.rule.outcome);
        self.report.warning(self.client.code(), at, message)
    }

    fn check_server(&mut self) {
        let (lists, at) = (self.server.lists, self.at);
        let tool_count = self.server.visible_tools.len();
        let bridged = self.server.info.bridge.lists_for_known(self.client.missing_lists());
        match self.rule.limit {
            ClientLimit::Tools(max) if tool_count > max => {
                self.warn(at.span(), &count_noun(tool_count, "tool"))
                    .help("split the server, or turn tools into prompts or resources");
            }
            ClientLimit::Prompts if !bridged.prompts && !lists.prompts.is_empty() => {
                self.warn(at.span(), &count_noun(lists.prompts.len(), "prompt"))
                    .help("`server: { bridge: auto }` offers them to its model as tools");
            }
            ClientLimit::Resources
                if !(bridged.resources || lists.resources.is_empty() && lists.resource_templates.is_empty()) =>
            {
                self.warn(at.span(), &count_noun(lists.resources.len() + lists.resource_templates.len(), "resource"))
                    .help("`server: { bridge: auto }` offers them to its model as tools");
            }
            ClientLimit::ResourceTemplates if !lists.resource_templates.is_empty() => {
                self.warn(at.span(), &count_noun(lists.resource_templates.len(), "resource template"))
                    .help("offer what matters there as a tool, too");
            }
            _ => {}
        }
    }

    fn check_tool(&mut self, tool: &ToolListing) {
        let at = self.server.tool_locations.get(&tool.name).unwrap_or(&self.at).span();
        match self.rule.limit {
            ClientLimit::ToolName { pattern, max } => {
                let whole = pattern.replace("{server}", &self.server.info.name).replace("{name}", &tool.name);
                let length = whole.chars().count();
                if length > max {
                    self.warn(at, &format!("`{whole}` has {length} letters"))
                        .help("shorten the name of the server or of the tool");
                }
            }
            ClientLimit::RootKeywords(keywords) => {
                let found: Vec<&str> =
                    keywords.iter().copied().filter(|keyword| tool.input_schema.contains_key(*keyword)).collect();
                if !found.is_empty() {
                    self.warn(
                        at,
                        &format!("{} at the root of the input schema of `{}`", quote_names(&found), tool.name),
                    )
                    .help("write one object with all properties, and say in `description` which belong together");
                }
            }
            ClientLimit::Schema(refused) => {
                for what in refused.find(&tool.input_schema).into_iter().take(MAX_SCHEMA_WARNINGS) {
                    self.warn(at, &format!("{what} of tool `{}`", tool.name)).help(refused.help());
                }
            }
            ClientLimit::PropertyName(max) => {
                let properties = tool.input_schema.get("properties").and_then(Value::as_object);
                for name in properties.into_iter().flat_map(|properties| properties.keys()) {
                    let is_allowed =
                        |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-');
                    if name.len() > max || !name.chars().all(is_allowed) {
                        self.warn(at, &format!("argument `{name}` of `{}`", tool.name))
                            .help(format!("use 1 to {max} letters, digits, `_`, `.` and `-`"));
                    }
                }
            }
            _ => {}
        }
    }

    fn check_prompt(&mut self, prompt: &PromptListing) {
        let name = &prompt.name;
        let at = self.server.prompt_locations.get(name).unwrap_or(&self.at).span();
        match self.rule.limit {
            ClientLimit::PromptTitle if prompt.title.as_ref().is_some_and(|title| title.contains(' ')) => {
                self.warn(at, &format!("title of prompt `{name}` with a space"))
                    .help("leave the title out, and say in `description` what it says");
            }
            ClientLimit::RequiredArguments(max) => {
                let required = prompt.arguments.iter().filter(|argument| argument.required).count();
                if required > max {
                    self.warn(at, &format!("{required} required arguments of `{name}`")).help(
                        "give every argument but the free-text one a default, or ask for quotes in `description`",
                    );
                }
            }
            ClientLimit::PromptDescription if prompt.description.is_none() => {
                self.warn(at, &format!("no description of prompt `{name}`")).help("write `description`");
            }
            _ => {}
        }
    }

    fn check_messages(&mut self) {
        for pack in self.server.packs {
            for (name, prompt) in pack.entry_files.iter().flat_map(|file| &file.entries.prompts) {
                let listed = pack.prefix.qualify(name);
                if self.server.lists.prompts.iter().any(|prompt| prompt.name == listed) {
                    self.check_messages_of(&listed, prompt, name.location);
                }
            }
        }
    }

    fn check_messages_of(&mut self, name: &str, prompt: &Prompt, at: Location) {
        let Some(messages) = &prompt.messages else { return };
        match self.rule.limit {
            ClientLimit::Messages(max) if messages.value.len() > max => {
                let count = count_noun(messages.value.len(), "message");
                self.warn(at.span(), &format!("{count} of prompt `{name}`"))
                    .help("put everything important in the first message");
            }
            ClientLimit::FirstMessage => {
                let Some(first) = messages.value.first().filter(|first| !is_text(first)) else { return };
                self.warn(first.location.span(), &format!("no text at the start of prompt `{name}`"))
                    .help("begin with a message of text");
            }
            _ => {}
        }
    }
}

/// Whether a message is a text.
fn is_text(message: &Message) -> bool {
    let block = message.user.as_ref().or(message.assistant.as_ref());
    match block.map(|block| &block.value) {
        Some(Block::Keys(body)) => matches!(**body, BlockBody { text: Some(_), .. } | BlockBody { file: Some(_), .. }),
        _ => true,
    }
}

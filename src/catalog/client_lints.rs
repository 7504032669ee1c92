//! `check --clients`: what named clients cut, drop or refuse of a server.
//!
//! [`RULES`] is the one table of what is known of clients. What is true of most of them is in client_limits.rs.

use indexmap::IndexMap;
use serde_json::Value;

use crate::compile::Findings;
use crate::diagnostic::{Code, Diagnostic, Report, Span, count_noun, quote_names};
use crate::load::LoadedPack;
use crate::manifest::{Message, Prompt};
use crate::notation::{Block, BlockBody};
use crate::yaml::Location;

use super::client_limits;
use super::listing::{Lists, PromptListing, ServerInfo, ToolListing};

/// A client that `check --clients` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Cursor.
    Cursor,
    /// Visual Studio Code with Copilot.
    VsCode,
    /// GitHub Copilot CLI.
    CopilotCli,
    /// Gemini CLI.
    Gemini,
    /// Codex.
    Codex,
    /// LibreChat.
    LibreChat,
}

impl Client {
    /// Every client, in the order of the list.
    pub const ALL: &[Client] = &[
        Client::ClaudeCode,
        Client::ClaudeDesktop,
        Client::Cursor,
        Client::VsCode,
        Client::CopilotCli,
        Client::Gemini,
        Client::Codex,
        Client::LibreChat,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::ClaudeDesktop => "claude-desktop",
            Client::Cursor => "cursor",
            Client::VsCode => "vscode",
            Client::CopilotCli => "copilot-cli",
            Client::Gemini => "gemini",
            Client::Codex => "codex",
            Client::LibreChat => "librechat",
        }
    }

    fn code(self) -> Code {
        match self {
            Client::ClaudeCode => Code::ClientClaudeCode,
            Client::ClaudeDesktop => Code::ClientClaudeDesktop,
            Client::Cursor => Code::ClientCursor,
            Client::VsCode => Code::ClientVsCode,
            Client::CopilotCli => Code::ClientCopilotCli,
            Client::Gemini => Code::ClientGemini,
            Client::Codex => Code::ClientCodex,
            Client::LibreChat => Code::ClientLibreChat,
        }
    }
}

/// What a client does not take.
enum Limit {
    /// Names of tools that are longer than this, with that of the server.
    ToolName { prefix: &'static str, separator: &'static str, max: usize },
    /// More tools than this.
    Tools(usize),
    /// These keywords at the root of an input schema.
    RootKeywords(&'static [&'static str]),
    /// Names of properties other than `[A-Za-z0-9_.-]`, or longer than this.
    PropertyName(usize),
    /// A title of a prompt with a space.
    PromptTitle,
    /// More required arguments of a prompt than this.
    RequiredArguments(usize),
    /// More messages of a prompt than this.
    Messages(usize),
    /// A first message that is not a text.
    FirstMessage,
    /// A prompt without a description.
    PromptDescription,
    /// Any prompt.
    Prompts,
}

/// A row of the table: a client, its limit, and what happens there.
struct Rule {
    client: Client,
    limit: Limit,
    outcome: &'static str,
}

/// Shortens the rows.
const fn rule(client: Client, limit: Limit, outcome: &'static str) -> Rule {
    Rule { client, limit, outcome }
}

/// Keywords that the API behind a client takes only below the root.
const COMBINATIONS: Limit = Limit::RootKeywords(&["oneOf", "anyOf", "allOf", "$ref"]);

/// What is known of clients.
const RULES: &[Rule] = &[
    rule(
        Client::ClaudeCode,
        Limit::ToolName { prefix: "mcp__", separator: "__", max: 64 },
        "names above 64 letters are refused",
    ),
    rule(Client::ClaudeCode, COMBINATIONS, "the API refuses such a schema, and with it the request"),
    rule(Client::ClaudeCode, Limit::PropertyName(64), "the API refuses such a property, and with it the request"),
    rule(Client::ClaudeCode, Limit::PromptTitle, "it may become the slash command, which cannot be typed then"),
    rule(
        Client::ClaudeCode,
        Limit::RequiredArguments(1),
        "what is typed is split at spaces, and words that are left are dropped",
    ),
    rule(Client::ClaudeCode, Limit::PromptDescription, "the menu shows nothing but its name"),
    rule(Client::ClaudeDesktop, COMBINATIONS, "the API refuses such a schema, and with it the request"),
    rule(Client::ClaudeDesktop, Limit::PropertyName(64), "the API refuses such a property, and with it the request"),
    rule(
        Client::Cursor,
        Limit::ToolName { prefix: "", separator: "", max: 60 },
        "tools whose name with that of the server is above 60 letters are dropped",
    ),
    rule(Client::Cursor, Limit::Tools(40), "above 40 tools the model chooses badly"),
    rule(Client::VsCode, Limit::Tools(128), "a request has at most 128 tools"),
    rule(Client::VsCode, Limit::PromptDescription, "the menu shows nothing but its name"),
    rule(
        Client::CopilotCli,
        Limit::ToolName { prefix: "", separator: "-", max: 64 },
        "names above 64 letters are refused by the model's provider",
    ),
    rule(Client::CopilotCli, Limit::Prompts, "prompts are not shown"),
    rule(
        Client::Gemini,
        Limit::ToolName { prefix: "mcp_", separator: "_", max: 63 },
        "names above 63 letters are cut in the middle",
    ),
    rule(Client::Gemini, Limit::FirstMessage, "a prompt works only if its first message is a text"),
    rule(Client::Gemini, Limit::Messages(1), "the first message alone is sent"),
    rule(Client::Gemini, Limit::PromptDescription, "the menu shows nothing but its name"),
    rule(Client::Codex, Limit::Prompts, "prompts are not shown"),
    rule(Client::LibreChat, Limit::Prompts, "prompts are not shown"),
];

/// What the rules are about.
pub(super) struct LintedServer<'a> {
    pub(super) info: &'a ServerInfo,
    pub(super) lists: &'a Lists,
    pub(super) packs: &'a [LoadedPack],
    /// The places of tools, by name.
    pub(super) tool_places: &'a IndexMap<String, Location>,
    /// The places of prompts, by name.
    pub(super) prompt_places: &'a IndexMap<String, Location>,
}

/// Warns of what the named clients do not take; without names, of what most do not.
pub(super) fn warn(clients: &[Client], server: &LintedServer<'_>, findings: &mut Findings) {
    let Some(first) = server.packs.first() else { return };
    if clients.is_empty() {
        let place_of = |tool: &str| server.tool_places.get(tool).copied().unwrap_or(first.at);
        client_limits::warn_of_long_names(server.info, server.lists, place_of, findings);
        client_limits::warn_of_many_tools(server.lists, first.at, findings);
    }
    let at = findings.documents.key_at(first.at, "/server");
    for rule in RULES.iter().filter(|rule| clients.contains(&rule.client)) {
        Lint { rule, server, at, report: &mut findings.report }.check();
    }
}

/// The check of one rule.
struct Lint<'a> {
    rule: &'a Rule,
    server: &'a LintedServer<'a>,
    /// The place of the server.
    at: Location,
    report: &'a mut Report,
}

impl Lint<'_> {
    fn check(&mut self) {
        let lists = self.server.lists;
        match self.rule.limit {
            Limit::Tools(_) | Limit::Prompts => self.check_server(),
            Limit::ToolName { .. } | Limit::RootKeywords(_) | Limit::PropertyName(_) => {
                lists.tools.iter().for_each(|tool| self.check_tool(tool));
            }
            Limit::PromptTitle | Limit::RequiredArguments(_) | Limit::PromptDescription => {
                lists.prompts.iter().for_each(|prompt| self.check_prompt(prompt));
            }
            Limit::Messages(_) | Limit::FirstMessage => self.check_messages(),
        }
    }

    fn warn(&mut self, at: Span, what: &str) -> &mut Diagnostic {
        let Rule { client, outcome, .. } = self.rule;
        self.report.warning(client.code(), at, format!("{what}: in `{}`, {outcome}", client.name()))
    }

    fn check_server(&mut self) {
        let (lists, at) = (self.server.lists, self.at);
        match self.rule.limit {
            Limit::Tools(max) if lists.tools.len() > max => {
                self.warn(at.span(), &count_noun(lists.tools.len(), "tool"))
                    .help("split the server, or turn tools into prompts or resources");
            }
            Limit::Prompts if !lists.prompts.is_empty() => {
                self.warn(at.span(), &count_noun(lists.prompts.len(), "prompt"))
                    .help("offer what matters there as a tool or a resource, too");
            }
            _ => {}
        }
    }

    fn check_tool(&mut self, tool: &ToolListing) {
        let at = self.server.tool_places.get(&tool.name).unwrap_or(&self.at).span();
        match self.rule.limit {
            Limit::ToolName { prefix, separator, max } => {
                let whole = format!("{prefix}{}{separator}{}", self.server.info.name, tool.name);
                let length = whole.chars().count();
                if length > max {
                    self.warn(at, &format!("`{whole}` has {length} letters"))
                        .help("shorten the name of the server or of the tool");
                }
            }
            Limit::RootKeywords(keywords) => {
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
            Limit::PropertyName(max) => {
                let properties = tool.input_schema.get("properties").and_then(Value::as_object);
                for name in properties.into_iter().flat_map(|properties| properties.keys()) {
                    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
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
        let at = self.server.prompt_places.get(name).unwrap_or(&self.at).span();
        match self.rule.limit {
            Limit::PromptTitle if prompt.title.as_ref().is_some_and(|title| title.contains(' ')) => {
                self.warn(at, &format!("title of prompt `{name}` with a space"))
                    .help("leave the title out, and say in `description` what it says");
            }
            Limit::RequiredArguments(max) => {
                let required = prompt.arguments.iter().filter(|argument| argument.required).count();
                if required > max {
                    self.warn(at, &format!("{required} required arguments of `{name}`"))
                        .help("give all but the one of free text a default, or say in `description` to write quotes");
                }
            }
            Limit::PromptDescription if prompt.description.is_none() => {
                self.warn(at, &format!("no description of prompt `{name}`")).help("write `description`");
            }
            _ => {}
        }
    }

    fn check_messages(&mut self) {
        for pack in self.server.packs {
            for (name, prompt) in pack.entry_files.iter().flat_map(|file| &file.entries.prompts) {
                let listed = pack.qualified_name(name);
                if self.server.lists.prompts.iter().any(|prompt| prompt.name == listed) {
                    self.check_messages_of(&listed, prompt, name.location);
                }
            }
        }
    }

    fn check_messages_of(&mut self, name: &str, prompt: &Prompt, at: Location) {
        let Some(messages) = &prompt.messages else { return };
        match self.rule.limit {
            Limit::Messages(max) if messages.value.len() > max => {
                let count = count_noun(messages.value.len(), "message");
                self.warn(at.span(), &format!("{count} of prompt `{name}`"))
                    .help("write all that matters into the first message");
            }
            Limit::FirstMessage => {
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

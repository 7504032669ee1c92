//! What is known of clients: how they name entries, and what they cut, drop or refuse.
//!
//! `check --clients` warns by this table, the page of `folio dev` shows an entry by it as a client would, and
//! `server.bridge: auto` offers tools by it in place of lists.

pub(super) mod client_checks;
pub(super) mod common_client_limits;
pub(super) mod refused_schema;

use serde::Serialize;

use crate::catalog::clients::refused_schema::RefusedSchema;
use crate::catalog::listing::Lists;
use crate::catalog::listing::bridge::BridgedLists;
use crate::diagnostic::Code;

/// A client that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownClient {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    /// Visual Studio Code with Copilot.
    VsCode,
    /// GitHub Copilot CLI.
    CopilotCli,
    /// Gemini CLI.
    Gemini,
    Codex,
    LibreChat,
}

/// What a client makes of a server.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ClientProfile {
    name: &'static str,
    /// What it calls itself in `clientInfo`.
    info_names: &'static [&'static str],
    names: NamePatterns,
    rules: &'static [Rule],
}

/// How a client shows names: `{server}` and `{name}` stand for that of the server, and the name or URI of the entry.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct NamePatterns {
    prompt: &'static str,
    resource: &'static str,
    tool: &'static str,
}

/// What a client does not take.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "camelCase")]
pub(super) enum ClientLimit {
    /// Names of tools that are longer than this, with that of the server.
    ToolName {
        pattern: &'static str,
        max: usize,
    },
    /// More tools than this.
    Tools(usize),
    /// These keywords at the root of an input schema.
    RootKeywords(&'static [&'static str]),
    /// These keywords anywhere in an input schema.
    IgnoredKeywords(&'static [&'static str]),
    /// Such a part anywhere in an input schema.
    Schema(RefusedSchema),
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
    Prompts,
    /// Any resource, and any template of resources.
    Resources,
    /// Any template of resources.
    ResourceTemplates,
    /// Suggestions for arguments.
    Completion,
    /// Questions to the user during a call.
    Questions,
    /// The structured content of a result.
    StructuredContent,
    /// The blocks of a result that has structured content.
    TextBesideStructured,
    /// That a list has changed.
    ListChanges,
}

/// A limit of a client, and what happens there.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Rule {
    #[serde(flatten)]
    pub(super) limit: ClientLimit,
    pub(super) outcome: &'static str,
}

/// Shortens the rows.
const fn rule(limit: ClientLimit, outcome: &'static str) -> Rule {
    Rule { limit, outcome }
}

/// Keywords that the API behind a client takes only below the root.
const ROOT_COMBINATORS: Rule = rule(
    ClientLimit::RootKeywords(&["oneOf", "anyOf", "allOf", "$ref"]),
    "the API rejects the schema, and the whole request with it",
);

/// A part of a schema that the API behind a client refuses.
const fn refused_schema(what: RefusedSchema) -> Rule {
    rule(ClientLimit::Schema(what), "the API refuses the schema, and the whole request with it")
}

const PROPERTY_NAMES: Rule =
    rule(ClientLimit::PropertyName(64), "the API refuses such a property, and with it the request");

const NO_PROMPTS: Rule = rule(ClientLimit::Prompts, "prompts are not shown");
const NO_RESOURCES: Rule = rule(ClientLimit::Resources, "resources are not shown");
const NO_TEMPLATES: Rule = rule(ClientLimit::ResourceTemplates, "resource templates are not shown");
const NO_COMPLETION: Rule = rule(ClientLimit::Completion, "completion values are not suggested");
const NO_QUESTIONS: Rule = rule(ClientLimit::Questions, "the user cannot be asked: a call that asks fails");
const NO_STRUCTURED_CONTENT: Rule = rule(ClientLimit::StructuredContent, "the model gets the text of a result alone");
const NO_RELOADS: Rule =
    rule(ClientLimit::ListChanges, "lists are read once at startup: new names appear after a restart");
const MENU_WITHOUT_DESCRIPTION: Rule = rule(ClientLimit::PromptDescription, "the menu shows nothing but its name");

/// Names as they are.
const UNQUALIFIED: NamePatterns = NamePatterns { prompt: "{name}", resource: "{name}", tool: "{name}" };

const CLAUDE_CODE_TOOL: &str = "mcp__{server}__{name}";
const COPILOT_CLI_TOOL: &str = "{server}-{name}";
const GEMINI_TOOL: &str = "mcp_{server}_{name}";

const CLAUDE_CODE: ClientProfile = ClientProfile {
    name: "claude-code",
    info_names: &["claude-code"],
    names: NamePatterns { prompt: "/mcp__{server}__{name}", resource: "@{server}:{name}", tool: CLAUDE_CODE_TOOL },
    rules: &[
        rule(ClientLimit::ToolName { pattern: CLAUDE_CODE_TOOL, max: 64 }, "names above 64 letters are refused"),
        ROOT_COMBINATORS,
        PROPERTY_NAMES,
        rule(ClientLimit::PromptTitle, "it may replace the slash command, which then cannot be typed"),
        rule(ClientLimit::RequiredArguments(1), "input is split at spaces, and extra words are dropped"),
        MENU_WITHOUT_DESCRIPTION,
        NO_COMPLETION,
        rule(ClientLimit::TextBesideStructured, "the model gets the structured content of a result alone"),
    ],
};

const CLAUDE_DESKTOP: ClientProfile = ClientProfile {
    name: "claude-desktop",
    info_names: &["claude-ai"],
    names: UNQUALIFIED,
    rules: &[ROOT_COMBINATORS, PROPERTY_NAMES, NO_QUESTIONS, NO_STRUCTURED_CONTENT, NO_RELOADS],
};

const CURSOR: ClientProfile = ClientProfile {
    name: "cursor",
    info_names: &["cursor-vscode"],
    names: UNQUALIFIED,
    rules: &[
        rule(
            ClientLimit::ToolName { pattern: "{server}{name}", max: 60 },
            "tools whose name with that of the server is above 60 letters are dropped",
        ),
        rule(ClientLimit::Tools(40), "above 40 tools the model chooses badly"),
    ],
};

const VS_CODE: ClientProfile = ClientProfile {
    name: "vscode",
    info_names: &["Visual Studio Code", "Visual-Studio-Code"],
    names: NamePatterns { prompt: "/mcp.{server}.{name}", ..UNQUALIFIED },
    rules: &[
        rule(ClientLimit::Tools(128), "a request has at most 128 tools"),
        refused_schema(RefusedSchema::ListWithoutItems),
        MENU_WITHOUT_DESCRIPTION,
    ],
};

const COPILOT_CLI: ClientProfile = ClientProfile {
    name: "copilot-cli",
    info_names: &["github-copilot-developer"],
    names: NamePatterns { tool: COPILOT_CLI_TOOL, ..UNQUALIFIED },
    rules: &[
        rule(
            ClientLimit::ToolName { pattern: COPILOT_CLI_TOOL, max: 64 },
            "names above 64 letters are refused by the model's provider",
        ),
        NO_PROMPTS,
        NO_RESOURCES,
    ],
};

const GEMINI: ClientProfile = ClientProfile {
    name: "gemini",
    info_names: &["gemini-cli-mcp-client"],
    names: NamePatterns { prompt: "/{name}", resource: "@{server}:{name}", tool: GEMINI_TOOL },
    rules: &[
        rule(ClientLimit::ToolName { pattern: GEMINI_TOOL, max: 63 }, "names above 63 letters are cut in the middle"),
        refused_schema(RefusedSchema::OtherChoices),
        refused_schema(RefusedSchema::Reference),
        refused_schema(RefusedSchema::UnknownRequired),
        rule(ClientLimit::FirstMessage, "a prompt works only if its first message is a text"),
        rule(ClientLimit::Messages(1), "the first message alone is sent"),
        MENU_WITHOUT_DESCRIPTION,
        rule(
            ClientLimit::IgnoredKeywords(&["$schema", "additionalProperties"]),
            "these keywords are taken off schemas",
        ),
        NO_TEMPLATES,
        NO_COMPLETION,
    ],
};

const CODEX: ClientProfile = ClientProfile {
    name: "codex",
    info_names: &["codex-mcp-client", "Codex"],
    names: UNQUALIFIED,
    rules: &[
        refused_schema(RefusedSchema::ListWithoutItems),
        refused_schema(RefusedSchema::UntypedProperty),
        refused_schema(RefusedSchema::NoProperties),
        NO_PROMPTS,
        NO_COMPLETION,
        NO_STRUCTURED_CONTENT,
        NO_RELOADS,
    ],
};

const LIBRE_CHAT: ClientProfile = ClientProfile {
    name: "librechat",
    info_names: &["@librechat/api-client"],
    names: UNQUALIFIED,
    rules: &[NO_PROMPTS, NO_TEMPLATES, NO_COMPLETION, NO_QUESTIONS],
};

/// Other clients that show a model tools alone, by what they call themselves.
const TOOLS_ONLY: &[&str] = &[
    "@n8n/n8n-nodes-langchain.mcpClientTool",
    "antigravity-client",
    "ChatGPT",
    "Cherry Studio",
    "continue-cli-client",
    "crush",
    "Jan-Streamable-Client",
];

/// Other clients without prompts.
const WITHOUT_PROMPTS: &[&str] = &["Cline", "Kilo-Code", "Roo-Code"];

/// Other clients without resources.
const WITHOUT_RESOURCES: &[&str] = &["Q-DEV-CLI", "Zed"];

/// The lists that a client does not show, by what it calls itself in `clientInfo`; none if it is not known.
pub fn missing_lists(info_name: &str) -> BridgedLists {
    if let Some(known) = KnownClient::ALL.iter().find(|client| client.profile().info_names.contains(&info_name)) {
        return known.missing_lists();
    }
    let shows_tools_only = TOOLS_ONLY.contains(&info_name);
    BridgedLists {
        prompts: shows_tools_only || WITHOUT_PROMPTS.contains(&info_name),
        resources: shows_tools_only || WITHOUT_RESOURCES.contains(&info_name),
    }
}

impl KnownClient {
    /// Every client, in the order of the list.
    pub const ALL: &[KnownClient] = &[
        KnownClient::ClaudeCode,
        KnownClient::ClaudeDesktop,
        KnownClient::Cursor,
        KnownClient::VsCode,
        KnownClient::CopilotCli,
        KnownClient::Gemini,
        KnownClient::Codex,
        KnownClient::LibreChat,
    ];

    /// What is known of it.
    pub fn profile(self) -> &'static ClientProfile {
        match self {
            KnownClient::ClaudeCode => &CLAUDE_CODE,
            KnownClient::ClaudeDesktop => &CLAUDE_DESKTOP,
            KnownClient::Cursor => &CURSOR,
            KnownClient::VsCode => &VS_CODE,
            KnownClient::CopilotCli => &COPILOT_CLI,
            KnownClient::Gemini => &GEMINI,
            KnownClient::Codex => &CODEX,
            KnownClient::LibreChat => &LIBRE_CHAT,
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.profile().name
    }

    /// What it calls itself in `clientInfo`.
    pub fn info_name(self) -> &'static str {
        self.profile().info_names.first().copied().unwrap_or_default()
    }

    /// What it does not show of a server with these lists, in words.
    pub fn not_shown(self, lists: &Lists) -> Vec<&'static str> {
        let matters = |rule: &&Rule| match rule.limit {
            ClientLimit::Prompts => !lists.prompts.is_empty(),
            ClientLimit::Resources => !lists.resources.is_empty() || !lists.resource_templates.is_empty(),
            ClientLimit::ResourceTemplates => !lists.resource_templates.is_empty(),
            ClientLimit::ListChanges => true,
            _ => false,
        };
        self.rules().iter().filter(matters).map(|rule| rule.outcome).collect()
    }

    /// The lists that it does not show.
    pub fn missing_lists(self) -> BridgedLists {
        let lacks = |list: fn(&ClientLimit) -> bool| self.rules().iter().any(|rule| list(&rule.limit));
        BridgedLists {
            prompts: lacks(|limit| matches!(limit, ClientLimit::Prompts)),
            resources: lacks(|limit| matches!(limit, ClientLimit::Resources)),
        }
    }

    pub(super) fn rules(self) -> &'static [Rule] {
        self.profile().rules
    }

    pub(super) fn code(self) -> Code {
        match self {
            KnownClient::ClaudeCode => Code::ClientClaudeCode,
            KnownClient::ClaudeDesktop => Code::ClientClaudeDesktop,
            KnownClient::Cursor => Code::ClientCursor,
            KnownClient::VsCode => Code::ClientVsCode,
            KnownClient::CopilotCli => Code::ClientCopilotCli,
            KnownClient::Gemini => Code::ClientGemini,
            KnownClient::Codex => Code::ClientCodex,
            KnownClient::LibreChat => Code::ClientLibreChat,
        }
    }
}

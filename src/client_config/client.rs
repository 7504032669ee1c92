//! The table of clients: one row for each, with what was read of it and where.
//!
//! Checked in November 2026. In the source of the program: goose (its types of extensions). In its own documentation: Zed,
//! opencode 1 and 2, Windsurf, LibreChat, Kiro, Roo Code, GitHub Copilot CLI (the variables: in its issues 903 and 1403). From
//! earlier notes alone: Claude Code, Claude Desktop, Cursor, VS Code, Gemini CLI, Codex. None of the files was read by a client here.
//!
//! The folder in which a client starts the servers of a project: in the issues of Zed (35271), Cursor (`${workspaceFolder}` in
//! its documentation), Claude Code (54786: where it was started), Kiro (10486), Copilot CLI and opencode (30676). opencode 1.18 refuses
//! `mcp.servers`, and opencode 2 reads `mcp` too, so that is what a new file gets.

use super::config_location::{BaseFolder, ConfigLocation};
use super::format::ConfigFormat;
use super::project::ProjectPaths;
use crate::catalog::KnownClient;

/// A client that starts servers.
#[derive(Debug)]
pub struct Client {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its name in messages.
    pub title: &'static str,
    /// The same client in the table of what clients do not show.
    pub profile: Option<KnownClient>,
    /// What it does not show, where that table does not have it.
    pub not_shown: UnsupportedFeatures,
    /// How its files are written.
    pub format: ConfigFormat,
    /// The file of a user.
    pub user: Option<ConfigLocation>,
    /// The file of a project.
    pub project: Option<ConfigLocation>,
    /// How its entries are laid out.
    pub layout: EntryLayout,
    /// How they do in a later version, in a file that has its section.
    pub later_layout: Option<EntryLayout>,
    /// How the entries of a project name what is in it.
    pub project_paths: ProjectPaths,
    /// How an entry refers to a variable.
    pub variables: VariableSyntax,
    /// Whether names of servers may have `_`.
    pub allows_underscore: bool,
    /// What to do so that it sees a new server.
    pub reload: &'static str,
}

/// What a client does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsupportedFeatures {
    /// As far as is known, nothing.
    Nothing,
    Prompts,
    Resources,
    /// What its documentation does not speak of: prompts and resources.
    AllButTools,
}

/// How a file lays out its entries.
#[derive(Debug)]
pub struct EntryLayout {
    /// The maps around the entries, from the top.
    pub section: &'static [&'static str],
    /// The keys of a server that is started.
    pub stdio: &'static [(&'static str, EntryValue)],
    /// The keys of a server with a URL, where the file takes one.
    pub http: Option<&'static [(&'static str, EntryValue)]>,
}

/// The value of a key.
#[derive(Debug)]
pub enum EntryValue {
    Text(&'static str),
    Number(u64),
    True,
    /// All tools, by the list that a client asks for.
    AllTools,
    /// The name of the server.
    Name,
    Description,
    Program,
    Arguments,
    /// Both in one list.
    CommandLine,
    /// The map of variables; no key if there is none.
    Variables,
    /// The names of the variables that the client passes on; no key if there is none.
    VariableNames,
    Url,
}

/// How an entry refers to a variable of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableSyntax {
    /// By its name between two texts.
    Between(&'static str, &'static str),
    /// By its name in a list.
    Names,
    None,
}

/// Whose servers a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigScope {
    /// Those of a user, everywhere.
    User,
    /// Those of the folder in which a client is started.
    Project,
}

impl VariableSyntax {
    /// A reference to a variable.
    pub fn reference(self, name: &str) -> Option<String> {
        match self {
            VariableSyntax::Between(before, after) => Some(format!("{before}{name}{after}")),
            VariableSyntax::Names | VariableSyntax::None => None,
        }
    }

    /// Whether the client would read a part of a text as a reference.
    pub fn would_expand(self, text: &str) -> bool {
        match self {
            // Some read `$NAME` too.
            VariableSyntax::Between("${", _) => text.contains('$'),
            VariableSyntax::Between(before, _) => text.contains(before),
            VariableSyntax::Names | VariableSyntax::None => false,
        }
    }
}

impl Client {
    /// The client of a name.
    pub fn named(name: &str) -> Option<&'static Client> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// The scope without a choice: that of the user, where there is one.
    pub fn default_scope(&self) -> ConfigScope {
        if self.user.is_some() { ConfigScope::User } else { ConfigScope::Project }
    }

    /// The file of a scope.
    pub fn location(&self, scope: ConfigScope) -> Option<&ConfigLocation> {
        match scope {
            ConfigScope::User => self.user.as_ref(),
            ConfigScope::Project => self.project.as_ref(),
        }
    }

    /// How the entries of a file are laid out.
    pub fn layout_of(&self, file: &serde_json::Value) -> &EntryLayout {
        let is_used = |later: &&EntryLayout| {
            let section = later.section.iter().try_fold(file, |value, key| value.get(*key));
            // A server of the former layout may have the name of the section.
            section
                .and_then(|section| section.as_object())
                .is_some_and(|map| map.values().all(|entry| entry.is_object()))
        };
        self.later_layout.as_ref().filter(is_used).unwrap_or(&self.layout)
    }

    /// The name of a server as this client takes it: its command line must not read it as an option.
    pub fn sanitize_name(&self, name: &str) -> String {
        let fit = |c: char| if self.takes(c) { c } else { '-' };
        let fit: String = name.chars().map(fit).collect();
        let fit: String = fit.trim_start_matches('-').chars().take(MAX_NAME_CHARS).collect();
        if fit.is_empty() { "server".to_owned() } else { fit }
    }

    /// Whether it takes a name as it is.
    pub fn takes_name(&self, name: &str) -> bool {
        (1..=MAX_NAME_CHARS).contains(&name.len()) && !name.starts_with('-') && name.chars().all(|c| self.takes(c))
    }

    fn takes(&self, c: char) -> bool {
        c.is_ascii_alphanumeric() || c == '-' || c == '_' && self.allows_underscore
    }
}

/// How long the name of a server may be.
const MAX_NAME_CHARS: usize = 64;

/// The keys that most clients share.
const COMMAND: &[(&str, EntryValue)] =
    &[("command", EntryValue::Program), ("args", EntryValue::Arguments), ("env", EntryValue::Variables)];
const TYPED_COMMAND: &[(&str, EntryValue)] = &[
    ("type", EntryValue::Text("stdio")),
    ("command", EntryValue::Program),
    ("args", EntryValue::Arguments),
    ("env", EntryValue::Variables),
];
const TYPED_URL: &[(&str, EntryValue)] = &[("type", EntryValue::Text("http")), ("url", EntryValue::Url)];
const URL: &[(&str, EntryValue)] = &[("url", EntryValue::Url)];
const MCP_SERVERS: &[&str] = &["mcpServers"];

use BaseFolder::{Application, Config, Home, Project};
use ProjectPaths::{Absolute, Below, Relative};

pub static CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        title: "Claude Code",
        profile: Some(KnownClient::ClaudeCode),
        not_shown: UnsupportedFeatures::Nothing,
        format: ConfigFormat::Json,
        user: Some(ConfigLocation::new(Home, "", &[".claude.json"]).or_below_variable("CLAUDE_CONFIG_DIR")),
        project: Some(ConfigLocation::new(Project, "", &[".mcp.json"])),
        layout: EntryLayout { section: MCP_SERVERS, stdio: TYPED_COMMAND, http: Some(TYPED_URL) },
        later_layout: None,
        project_paths: Relative,
        variables: VariableSyntax::Between("${", "}"),
        allows_underscore: true,
        reload: "start a new session; `/mcp` shows the server, and asks before it starts that of a project",
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        profile: Some(KnownClient::ClaudeDesktop),
        not_shown: UnsupportedFeatures::Nothing,
        format: ConfigFormat::Json,
        user: Some(ConfigLocation::new(Application, "Claude", &["claude_desktop_config.json"])),
        project: None,
        layout: EntryLayout { section: MCP_SERVERS, stdio: COMMAND, http: None },
        later_layout: None,
        project_paths: Absolute,
        variables: VariableSyntax::None,
        allows_underscore: true,
        reload: "quit Claude Desktop, not only its window, and start it again",
    },
    Client {
        name: "cursor",
        title: "Cursor",
        profile: Some(KnownClient::Cursor),
        not_shown: UnsupportedFeatures::Nothing,
        format: ConfigFormat::Json,
        user: Some(ConfigLocation::new(Home, ".cursor", &["mcp.json"])),
        project: Some(ConfigLocation::new(Project, ".cursor", &["mcp.json"])),
        layout: EntryLayout { section: MCP_SERVERS, stdio: COMMAND, http: Some(URL) },
        later_layout: None,
        project_paths: Below("${workspaceFolder}"),
        variables: VariableSyntax::Between("${env:", "}"),
        allows_underscore: true,
        reload: "turn the server on in the settings of Cursor, under MCP",
    },
    Client {
        name: "vscode",
        title: "VS Code",
        profile: Some(KnownClient::VsCode),
        not_shown: UnsupportedFeatures::Nothing,
        format: ConfigFormat::Json,
        user: Some(ConfigLocation::new(Application, "Code/User", &["mcp.json"])),
        project: Some(ConfigLocation::new(Project, ".vscode", &["mcp.json"])),
        layout: EntryLayout { section: &["servers"], stdio: TYPED_COMMAND, http: Some(TYPED_URL) },
        later_layout: None,
        project_paths: Below("${workspaceFolder}"),
        variables: VariableSyntax::Between("${env:", "}"),
        allows_underscore: true,
        reload: "VS Code sees the file at once: start the server with `MCP: List Servers`",
    },
    Client {
        name: "zed",
        title: "Zed",
        profile: None,
        not_shown: UnsupportedFeatures::Resources,
        format: ConfigFormat::Json,
        user: Some(ConfigLocation::new(Config, "zed", &["settings.json"])),
        project: Some(ConfigLocation::new(Project, ".zed", &["settings.json"])),
        layout: EntryLayout { section: &["context_servers"], stdio: COMMAND, http: Some(URL) },
        later_layout: None,
        project_paths: Relative,
        variables: VariableSyntax::None,
        allows_underscore: true,
        reload: "Zed sees the file at once: the settings of its agent show the server",
    },
    Client {
        name: "goose",
        title: "goose",
        profile: None,
        not_shown: UnsupportedFeatures::Nothing,
        format: ConfigFormat::Yaml,
        user: Some(ConfigLocation::new(Config, "goose", &["config.yaml"])),
        project: None,
        layout: EntryLayout { section: &["extensions"], stdio: GOOSE_COMMAND, http: Some(GOOSE_URL) },
        later_layout: None,
        project_paths: Absolute,
        variables: VariableSyntax::Names,
        allows_underscore: true,
        reload: "start a new session",
    },
    Client {
        name: "gemini",
        title: "Gemini CLI",
        profile: Some(KnownClient::Gemini),
        not_shown: UnsupportedFeatures::Nothing,
        format: ConfigFormat::Json,
        user: Some(ConfigLocation::new(Home, ".gemini", &["settings.json"])),
        project: Some(ConfigLocation::new(Project, ".gemini", &["settings.json"])),
        layout: EntryLayout { section: MCP_SERVERS, stdio: COMMAND, http: Some(&[("httpUrl", EntryValue::Url)]) },
        later_layout: None,
        project_paths: Relative,
        variables: VariableSyntax::Between("${", "}"),
        allows_underscore: false,
        reload: "start Gemini CLI again; `/mcp` shows the server",
    },
    Client {
        name: "codex",
        title: "Codex",
        profile: Some(KnownClient::Codex),
        not_shown: UnsupportedFeatures::Nothing,
        format: ConfigFormat::Toml,
        user: Some(ConfigLocation::new(Home, ".codex", &["config.toml"]).or_below_variable("CODEX_HOME")),
        project: Some(ConfigLocation::new(Project, ".codex", &["config.toml"])),
        layout: EntryLayout { section: &["mcp_servers"], stdio: CODEX_COMMAND, http: Some(URL) },
        later_layout: None,
        project_paths: Relative,
        variables: VariableSyntax::Names,
        allows_underscore: true,
        reload: "start Codex again; it reads the file of a project that is trusted",
    },
    Client {
        name: "copilot-cli",
        title: "GitHub Copilot CLI",
        profile: Some(KnownClient::CopilotCli),
        not_shown: UnsupportedFeatures::Nothing,
        format: ConfigFormat::Json,
        user: Some(ConfigLocation::new(Home, ".copilot", &["mcp-config.json"]).or_below_variable("COPILOT_HOME")),
        project: Some(ConfigLocation::new(Project, ".github", &["mcp.json"])),
        layout: EntryLayout { section: MCP_SERVERS, stdio: COPILOT_COMMAND, http: Some(COPILOT_URL) },
        later_layout: None,
        project_paths: Relative,
        variables: VariableSyntax::Between("${", "}"),
        allows_underscore: true,
        reload: "start Copilot CLI again; `/mcp show` shows the server",
    },
    Client {
        name: "opencode",
        title: "opencode",
        profile: None,
        not_shown: UnsupportedFeatures::Nothing,
        format: ConfigFormat::Json,
        user: Some(ConfigLocation::new(Config, "opencode", &["opencode.json", "opencode.jsonc"])),
        project: Some(ConfigLocation::new(Project, "", &["opencode.json", "opencode.jsonc"])),
        layout: EntryLayout { section: &["mcp"], stdio: OPENCODE_1_COMMAND, http: Some(OPENCODE_1_URL) },
        later_layout: Some(EntryLayout {
            section: &["mcp", "servers"],
            stdio: OPENCODE_COMMAND,
            http: Some(OPENCODE_URL),
        }),
        project_paths: Relative,
        variables: VariableSyntax::Between("{env:", "}"),
        allows_underscore: true,
        reload: "start opencode again",
    },
    Client {
        name: "windsurf",
        title: "Windsurf",
        profile: None,
        not_shown: UnsupportedFeatures::AllButTools,
        format: ConfigFormat::Json,
        user: Some(ConfigLocation::new(Home, ".codeium/windsurf", &["mcp_config.json"])),
        project: None,
        layout: EntryLayout { section: MCP_SERVERS, stdio: COMMAND, http: Some(&[("serverUrl", EntryValue::Url)]) },
        later_layout: None,
        project_paths: Absolute,
        variables: VariableSyntax::Between("${env:", "}"),
        allows_underscore: true,
        reload: "press the button that refreshes the servers of Cascade",
    },
    Client {
        name: "kiro",
        title: "Kiro",
        profile: None,
        not_shown: UnsupportedFeatures::Nothing,
        format: ConfigFormat::Json,
        user: Some(ConfigLocation::new(Home, ".kiro/settings", &["mcp.json"])),
        project: Some(ConfigLocation::new(Project, ".kiro/settings", &["mcp.json"])),
        layout: EntryLayout { section: MCP_SERVERS, stdio: COMMAND, http: Some(URL) },
        later_layout: None,
        project_paths: Relative,
        variables: VariableSyntax::Between("${", "}"),
        allows_underscore: true,
        reload: "Kiro sees the file at once: its panel shows the server, and asks before it passes variables on",
    },
    Client {
        name: "roo",
        title: "Roo-Code",
        profile: None,
        not_shown: UnsupportedFeatures::Prompts,
        format: ConfigFormat::Json,
        user: Some(ConfigLocation::new(
            Application,
            "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings",
            &["mcp_settings.json"],
        )),
        project: Some(ConfigLocation::new(Project, ".roo", &["mcp.json"])),
        layout: EntryLayout { section: MCP_SERVERS, stdio: COMMAND, http: Some(STREAMABLE_HTTP_URL) },
        later_layout: None,
        project_paths: Relative,
        variables: VariableSyntax::Between("${env:", "}"),
        allows_underscore: true,
        reload: "Roo-Code sees the file at once: its settings show the server, under MCP Servers",
    },
    Client {
        name: "librechat",
        title: "LibreChat",
        profile: Some(KnownClient::LibreChat),
        not_shown: UnsupportedFeatures::Nothing,
        format: ConfigFormat::Yaml,
        user: None,
        project: Some(ConfigLocation::new(Project, "", &["librechat.yaml"])),
        layout: EntryLayout { section: MCP_SERVERS, stdio: TYPED_COMMAND, http: Some(STREAMABLE_HTTP_URL) },
        later_layout: None,
        project_paths: Absolute,
        variables: VariableSyntax::Between("${", "}"),
        allows_underscore: true,
        reload: "start LibreChat again; in a container, mount the program and the manifest under the same paths",
    },
];

const GOOSE_COMMAND: &[(&str, EntryValue)] = &[
    ("type", EntryValue::Text("stdio")),
    ("name", EntryValue::Name),
    ("description", EntryValue::Description),
    ("cmd", EntryValue::Program),
    ("args", EntryValue::Arguments),
    ("envs", EntryValue::Variables),
    ("env_keys", EntryValue::VariableNames),
    ("timeout", EntryValue::Number(300)),
    ("enabled", EntryValue::True),
];
const GOOSE_URL: &[(&str, EntryValue)] = &[
    ("type", EntryValue::Text("streamable_http")),
    ("name", EntryValue::Name),
    ("description", EntryValue::Description),
    ("uri", EntryValue::Url),
    ("timeout", EntryValue::Number(300)),
    ("enabled", EntryValue::True),
];
const CODEX_COMMAND: &[(&str, EntryValue)] = &[
    ("command", EntryValue::Program),
    ("args", EntryValue::Arguments),
    ("env_vars", EntryValue::VariableNames),
    ("env", EntryValue::Variables),
];
const COPILOT_COMMAND: &[(&str, EntryValue)] = &[
    ("type", EntryValue::Text("local")),
    ("command", EntryValue::Program),
    ("args", EntryValue::Arguments),
    ("env", EntryValue::Variables),
    ("tools", EntryValue::AllTools),
];
const COPILOT_URL: &[(&str, EntryValue)] =
    &[("type", EntryValue::Text("http")), ("url", EntryValue::Url), ("tools", EntryValue::AllTools)];
const OPENCODE_COMMAND: &[(&str, EntryValue)] = &[
    ("type", EntryValue::Text("local")),
    ("command", EntryValue::CommandLine),
    ("environment", EntryValue::Variables),
];
const OPENCODE_URL: &[(&str, EntryValue)] = &[("type", EntryValue::Text("remote")), ("url", EntryValue::Url)];
const OPENCODE_1_COMMAND: &[(&str, EntryValue)] = &[
    ("type", EntryValue::Text("local")),
    ("command", EntryValue::CommandLine),
    ("enabled", EntryValue::True),
    ("environment", EntryValue::Variables),
];
const OPENCODE_1_URL: &[(&str, EntryValue)] =
    &[("type", EntryValue::Text("remote")), ("url", EntryValue::Url), ("enabled", EntryValue::True)];
const STREAMABLE_HTTP_URL: &[(&str, EntryValue)] =
    &[("type", EntryValue::Text("streamable-http")), ("url", EntryValue::Url)];

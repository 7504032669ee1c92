//! The table of hosts: one row for each, with what was read of it and where.
//!
//! Checked in November 2026. In the source of the program: goose (its types of extensions). In its own documentation: Zed,
//! opencode 1 and 2, Windsurf, LibreChat, GitHub Copilot CLI (the variables: in its issues 903 and 1403). From earlier
//! notes alone: Claude Code, Claude Desktop, Cursor, VS Code, Gemini CLI, Codex. None of the files was read by a host here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::format::ConfigFormat;
use crate::catalog::KnownClient;

/// A client that starts servers.
#[derive(Debug)]
pub struct Host {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its name in messages.
    pub title: &'static str,
    /// The same client in the table of what clients do not show.
    pub client: Option<KnownClient>,
    /// What it does not show, where that table does not have it.
    pub not_shown: Option<&'static str>,
    /// How its files are written.
    pub format: ConfigFormat,
    /// The file of a user.
    pub user: Option<ConfigPlace>,
    /// The file of a project.
    pub project: Option<ConfigPlace>,
    /// How entries stand in it.
    pub layout: HostLayout,
    /// How they did in an earlier version, which a file with such entries keeps.
    pub earlier_layout: Option<HostLayout>,
    /// How an entry refers to a variable.
    pub variables: VariableSyntax,
    /// Whether names of servers may have `_`.
    pub takes_underscore: bool,
    /// What to do so that it sees a new server.
    pub reload: &'static str,
}

/// How entries stand in a file.
#[derive(Debug)]
pub struct HostLayout {
    /// The maps around the entries, from the top.
    pub section: &'static [&'static str],
    /// The keys of a server that is started.
    pub stdio: &'static [(&'static str, Slot)],
    /// The keys of a server with a URL, where the file takes one.
    pub http: Option<&'static [(&'static str, Slot)]>,
}

/// The value of a key.
#[derive(Debug)]
pub enum Slot {
    /// This text.
    Text(&'static str),
    /// This number.
    Number(u64),
    /// `true`.
    True,
    /// All tools, by the list that a host asks for.
    AllTools,
    /// The name of the server.
    Name,
    /// Its description.
    Description,
    /// The program.
    Program,
    /// Its arguments.
    Arguments,
    /// Both in one list.
    Words,
    /// The map of variables; no key if there is none.
    Variables,
    /// The names of the variables that the host passes on; no key if there is none.
    VariableNames,
    /// The URL.
    Url,
}

/// How an entry refers to a variable of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableSyntax {
    /// By its name between two texts.
    Between(&'static str, &'static str),
    /// By its name in a list.
    Names,
    /// Not at all.
    None,
}

/// Whose servers a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those of a user, everywhere.
    User,
    /// Those of the folder in which a host is started.
    Project,
}

/// Where a file is.
#[derive(Debug)]
pub struct ConfigPlace {
    /// A variable that names the folder.
    pub variable: Option<&'static str>,
    base: BaseFolder,
    /// The folder below the base.
    folder: &'static str,
    /// The names of the file; the first one that exists, else the first.
    files: &'static [&'static str],
}

/// What a folder is below.
#[derive(Debug, Clone, Copy)]
enum BaseFolder {
    /// The home folder.
    Home,
    /// `$XDG_CONFIG_HOME`, else `~/.config`, on macOS too.
    Config,
    /// `~/Library/Application Support` on macOS, `%APPDATA%` on Windows, else as `Config`.
    Application,
    /// The current folder.
    Project,
}

impl ConfigPlace {
    const fn new(base: BaseFolder, folder: &'static str, files: &'static [&'static str]) -> ConfigPlace {
        ConfigPlace { variable: None, base, folder, files }
    }

    const fn or_in(self, variable: &'static str) -> ConfigPlace {
        ConfigPlace { variable: Some(variable), ..self }
    }

    /// The path of the file; `None` without a home folder.
    pub fn path(&self, variable: &dyn Fn(&str) -> Option<OsString>, project: &Path) -> Option<PathBuf> {
        let folder_in = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || folder_in("HOME");
        let config = || folder_in("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")));
        let base = match self.base {
            BaseFolder::Home => home(),
            BaseFolder::Config => config(),
            BaseFolder::Application if cfg!(target_os = "macos") => Some(home()?.join("Library/Application Support")),
            BaseFolder::Application if cfg!(windows) => folder_in("APPDATA"),
            BaseFolder::Application => config(),
            BaseFolder::Project => Some(project.to_owned()),
        };
        let named = self.variable.and_then(folder_in);
        let folder = named.or_else(|| Some(if self.folder.is_empty() { base? } else { base?.join(self.folder) }))?;
        let mut paths = self.files.iter().map(|file| folder.join(file));
        let first = paths.next()?;
        let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
        Some(if exists(&first) { first } else { paths.find(exists).unwrap_or(first) })
    }
}

impl VariableSyntax {
    /// A reference to a variable.
    pub fn reference(self, name: &str) -> Option<String> {
        match self {
            VariableSyntax::Between(before, after) => Some(format!("{before}{name}{after}")),
            VariableSyntax::Names | VariableSyntax::None => None,
        }
    }

    /// Whether the host would read a part of a text as a reference.
    pub fn would_expand(self, text: &str) -> bool {
        match self {
            // Some read `$NAME` too.
            VariableSyntax::Between("${", _) => text.contains('$'),
            VariableSyntax::Between(before, _) => text.contains(before),
            VariableSyntax::Names | VariableSyntax::None => false,
        }
    }
}

impl Host {
    /// The host of a name.
    pub fn named(name: &str) -> Option<&'static Host> {
        HOSTS.iter().find(|host| host.name == name)
    }

    /// The scope without a choice: that of the user, where there is one.
    pub fn default_scope(&self) -> Scope {
        if self.user.is_some() { Scope::User } else { Scope::Project }
    }

    /// The file of a scope.
    pub fn place(&self, scope: Scope) -> Option<&ConfigPlace> {
        match scope {
            Scope::User => self.user.as_ref(),
            Scope::Project => self.project.as_ref(),
        }
    }

    /// How the entries of a file stand in it.
    pub fn layout_of(&self, file: &serde_json::Value) -> &HostLayout {
        let earlier = self.earlier_layout.as_ref().filter(|earlier| {
            let section = earlier.section.iter().try_fold(file, |value, key| value.get(*key));
            let is_server =
                |value: &serde_json::Value| ["type", "command", "enabled"].iter().any(|key| value.get(*key).is_some());
            section.and_then(|section| section.as_object()).is_some_and(|map| map.values().any(is_server))
        });
        earlier.unwrap_or(&self.layout)
    }

    /// The name of a server as this host takes it.
    pub fn fit_name(&self, name: &str) -> String {
        let fit = |c: char| if self.takes(c) { c } else { '-' };
        name.chars().map(fit).collect()
    }

    /// Whether it takes a name as it is.
    pub fn takes_name(&self, name: &str) -> bool {
        (1..=64).contains(&name.len()) && name.chars().all(|c| self.takes(c))
    }

    fn takes(&self, c: char) -> bool {
        c.is_ascii_alphanumeric() || c == '-' || c == '_' && self.takes_underscore
    }
}

/// The keys that most hosts share.
const COMMAND: &[(&str, Slot)] = &[("command", Slot::Program), ("args", Slot::Arguments), ("env", Slot::Variables)];
const TYPED_COMMAND: &[(&str, Slot)] =
    &[("type", Slot::Text("stdio")), ("command", Slot::Program), ("args", Slot::Arguments), ("env", Slot::Variables)];
const TYPED_URL: &[(&str, Slot)] = &[("type", Slot::Text("http")), ("url", Slot::Url)];
const URL: &[(&str, Slot)] = &[("url", Slot::Url)];
const MCP_SERVERS: &[&str] = &["mcpServers"];

use BaseFolder::{Application, Config, Home, Project};

/// Every host.
pub static HOSTS: &[Host] = &[
    Host {
        name: "claude-code",
        title: "Claude Code",
        client: Some(KnownClient::ClaudeCode),
        not_shown: None,
        format: ConfigFormat::Json,
        user: Some(ConfigPlace::new(Home, "", &[".claude.json"]).or_in("CLAUDE_CONFIG_DIR")),
        project: Some(ConfigPlace::new(Project, "", &[".mcp.json"])),
        layout: HostLayout { section: MCP_SERVERS, stdio: TYPED_COMMAND, http: Some(TYPED_URL) },
        earlier_layout: None,
        variables: VariableSyntax::Between("${", "}"),
        takes_underscore: true,
        reload: "start a new session; `/mcp` shows the server, and asks before it starts that of a project",
    },
    Host {
        name: "claude-desktop",
        title: "Claude Desktop",
        client: Some(KnownClient::ClaudeDesktop),
        not_shown: None,
        format: ConfigFormat::Json,
        user: Some(ConfigPlace::new(Application, "Claude", &["claude_desktop_config.json"])),
        project: None,
        layout: HostLayout { section: MCP_SERVERS, stdio: COMMAND, http: None },
        earlier_layout: None,
        variables: VariableSyntax::None,
        takes_underscore: true,
        reload: "quit Claude Desktop, not only its window, and start it again",
    },
    Host {
        name: "cursor",
        title: "Cursor",
        client: Some(KnownClient::Cursor),
        not_shown: None,
        format: ConfigFormat::Json,
        user: Some(ConfigPlace::new(Home, ".cursor", &["mcp.json"])),
        project: Some(ConfigPlace::new(Project, ".cursor", &["mcp.json"])),
        layout: HostLayout { section: MCP_SERVERS, stdio: COMMAND, http: Some(URL) },
        earlier_layout: None,
        variables: VariableSyntax::Between("${env:", "}"),
        takes_underscore: true,
        reload: "turn the server on in the settings of Cursor, under MCP",
    },
    Host {
        name: "vscode",
        title: "VS Code",
        client: Some(KnownClient::VsCode),
        not_shown: None,
        format: ConfigFormat::Json,
        user: Some(ConfigPlace::new(Application, "Code/User", &["mcp.json"])),
        project: Some(ConfigPlace::new(Project, ".vscode", &["mcp.json"])),
        layout: HostLayout { section: &["servers"], stdio: TYPED_COMMAND, http: Some(TYPED_URL) },
        earlier_layout: None,
        variables: VariableSyntax::Between("${env:", "}"),
        takes_underscore: true,
        reload: "VS Code sees the file at once: start the server with `MCP: List Servers`",
    },
    Host {
        name: "zed",
        title: "Zed",
        client: None,
        not_shown: Some("resources are not shown"),
        format: ConfigFormat::Json,
        user: Some(ConfigPlace::new(Config, "zed", &["settings.json"])),
        project: Some(ConfigPlace::new(Project, ".zed", &["settings.json"])),
        layout: HostLayout { section: &["context_servers"], stdio: COMMAND, http: Some(URL) },
        earlier_layout: None,
        variables: VariableSyntax::None,
        takes_underscore: true,
        reload: "Zed sees the file at once: the settings of its agent show the server",
    },
    Host {
        name: "goose",
        title: "goose",
        client: None,
        not_shown: None,
        format: ConfigFormat::Yaml,
        user: Some(ConfigPlace::new(Config, "goose", &["config.yaml"])),
        project: None,
        layout: HostLayout { section: &["extensions"], stdio: GOOSE_COMMAND, http: Some(GOOSE_URL) },
        earlier_layout: None,
        variables: VariableSyntax::Names,
        takes_underscore: true,
        reload: "start a new session",
    },
    Host {
        name: "gemini",
        title: "Gemini CLI",
        client: Some(KnownClient::Gemini),
        not_shown: None,
        format: ConfigFormat::Json,
        user: Some(ConfigPlace::new(Home, ".gemini", &["settings.json"])),
        project: Some(ConfigPlace::new(Project, ".gemini", &["settings.json"])),
        layout: HostLayout { section: MCP_SERVERS, stdio: COMMAND, http: Some(&[("httpUrl", Slot::Url)]) },
        earlier_layout: None,
        variables: VariableSyntax::Between("${", "}"),
        takes_underscore: false,
        reload: "start Gemini CLI again; `/mcp` shows the server",
    },
    Host {
        name: "codex",
        title: "Codex",
        client: Some(KnownClient::Codex),
        not_shown: None,
        format: ConfigFormat::Toml,
        user: Some(ConfigPlace::new(Home, ".codex", &["config.toml"]).or_in("CODEX_HOME")),
        project: Some(ConfigPlace::new(Project, ".codex", &["config.toml"])),
        layout: HostLayout { section: &["mcp_servers"], stdio: CODEX_COMMAND, http: Some(URL) },
        earlier_layout: None,
        variables: VariableSyntax::Names,
        takes_underscore: true,
        reload: "start Codex again; it reads the file of a project that is trusted",
    },
    Host {
        name: "copilot-cli",
        title: "GitHub Copilot CLI",
        client: Some(KnownClient::CopilotCli),
        not_shown: None,
        format: ConfigFormat::Json,
        user: Some(ConfigPlace::new(Home, ".copilot", &["mcp-config.json"]).or_in("COPILOT_HOME")),
        project: Some(ConfigPlace::new(Project, ".github", &["mcp.json"])),
        layout: HostLayout { section: MCP_SERVERS, stdio: COPILOT_COMMAND, http: Some(COPILOT_URL) },
        earlier_layout: None,
        variables: VariableSyntax::Between("${", "}"),
        takes_underscore: true,
        reload: "start Copilot CLI again; `/mcp show` shows the server",
    },
    Host {
        name: "opencode",
        title: "opencode",
        client: None,
        not_shown: None,
        format: ConfigFormat::Json,
        user: Some(ConfigPlace::new(Config, "opencode", &["opencode.json", "opencode.jsonc"])),
        project: Some(ConfigPlace::new(Project, "", &["opencode.json", "opencode.jsonc"])),
        layout: HostLayout { section: &["mcp", "servers"], stdio: OPENCODE_COMMAND, http: Some(OPENCODE_URL) },
        earlier_layout: Some(HostLayout { section: &["mcp"], stdio: OPENCODE_1_COMMAND, http: Some(OPENCODE_1_URL) }),
        variables: VariableSyntax::Between("{env:", "}"),
        takes_underscore: true,
        reload: "start opencode again",
    },
    Host {
        name: "windsurf",
        title: "Windsurf",
        client: None,
        not_shown: Some("its documentation names tools alone: prompts and resources may not be shown"),
        format: ConfigFormat::Json,
        user: Some(ConfigPlace::new(Home, ".codeium/windsurf", &["mcp_config.json"])),
        project: None,
        layout: HostLayout { section: MCP_SERVERS, stdio: COMMAND, http: Some(&[("serverUrl", Slot::Url)]) },
        earlier_layout: None,
        variables: VariableSyntax::Between("${env:", "}"),
        takes_underscore: true,
        reload: "press the button that refreshes the servers of Cascade",
    },
    Host {
        name: "librechat",
        title: "LibreChat",
        client: Some(KnownClient::LibreChat),
        not_shown: None,
        format: ConfigFormat::Yaml,
        user: None,
        project: Some(ConfigPlace::new(Project, "", &["librechat.yaml"])),
        layout: HostLayout { section: MCP_SERVERS, stdio: TYPED_COMMAND, http: Some(LIBRECHAT_URL) },
        earlier_layout: None,
        variables: VariableSyntax::Between("${", "}"),
        takes_underscore: true,
        reload: "start LibreChat again; in a container, mount the program and the manifest under the same paths",
    },
];

const GOOSE_COMMAND: &[(&str, Slot)] = &[
    ("type", Slot::Text("stdio")),
    ("name", Slot::Name),
    ("description", Slot::Description),
    ("cmd", Slot::Program),
    ("args", Slot::Arguments),
    ("envs", Slot::Variables),
    ("env_keys", Slot::VariableNames),
    ("timeout", Slot::Number(300)),
    ("enabled", Slot::True),
];
const GOOSE_URL: &[(&str, Slot)] = &[
    ("type", Slot::Text("streamable_http")),
    ("name", Slot::Name),
    ("description", Slot::Description),
    ("uri", Slot::Url),
    ("timeout", Slot::Number(300)),
    ("enabled", Slot::True),
];
const CODEX_COMMAND: &[(&str, Slot)] = &[
    ("command", Slot::Program),
    ("args", Slot::Arguments),
    ("env_vars", Slot::VariableNames),
    ("env", Slot::Variables),
];
const COPILOT_COMMAND: &[(&str, Slot)] = &[
    ("type", Slot::Text("local")),
    ("command", Slot::Program),
    ("args", Slot::Arguments),
    ("env", Slot::Variables),
    ("tools", Slot::AllTools),
];
const COPILOT_URL: &[(&str, Slot)] = &[("type", Slot::Text("http")), ("url", Slot::Url), ("tools", Slot::AllTools)];
const OPENCODE_COMMAND: &[(&str, Slot)] =
    &[("type", Slot::Text("local")), ("command", Slot::Words), ("environment", Slot::Variables)];
const OPENCODE_URL: &[(&str, Slot)] = &[("type", Slot::Text("remote")), ("url", Slot::Url)];
const OPENCODE_1_COMMAND: &[(&str, Slot)] = &[
    ("type", Slot::Text("local")),
    ("command", Slot::Words),
    ("enabled", Slot::True),
    ("environment", Slot::Variables),
];
const OPENCODE_1_URL: &[(&str, Slot)] = &[("type", Slot::Text("remote")), ("url", Slot::Url), ("enabled", Slot::True)];
const LIBRECHAT_URL: &[(&str, Slot)] = &[("type", Slot::Text("streamable-http")), ("url", Slot::Url)];

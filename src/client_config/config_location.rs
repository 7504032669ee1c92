//! Where a client has its configuration file, on each system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct ConfigLocation {
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
pub(super) enum BaseFolder {
    Home,
    /// `$XDG_CONFIG_HOME`, else `~/.config`, on macOS too.
    Config,
    /// `~/Library/Application Support` on macOS, `%APPDATA%` on Windows, else as `Config`.
    Application,
    Project,
}

/// A system, as far as it decides where files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    MacOs,
    Windows,
    /// Linux, and all others.
    Linux,
}

impl Platform {
    /// The one for which this is built.
    pub const CURRENT: Platform = if cfg!(target_os = "macos") {
        Platform::MacOs
    } else if cfg!(windows) {
        Platform::Windows
    } else {
        Platform::Linux
    };
}

impl ConfigLocation {
    pub(super) const fn new(base: BaseFolder, folder: &'static str, files: &'static [&'static str]) -> ConfigLocation {
        ConfigLocation { variable: None, base, folder, files }
    }

    pub(super) const fn or_below_variable(self, variable: &'static str) -> ConfigLocation {
        ConfigLocation { variable: Some(variable), ..self }
    }

    /// The path of the file; `None` without a home folder.
    pub fn path(
        &self,
        platform: Platform,
        variable: &dyn Fn(&str) -> Option<OsString>,
        project: &Path,
    ) -> Option<PathBuf> {
        let folder_in = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || folder_in("HOME");
        let config = || folder_in("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")));
        let base = match self.base {
            BaseFolder::Home => home(),
            BaseFolder::Config => config(),
            BaseFolder::Application => match platform {
                Platform::MacOs => Some(home()?.join("Library/Application Support")),
                Platform::Windows => folder_in("APPDATA"),
                Platform::Linux => config(),
            },
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_config::{CLIENTS, Client, ConfigScope};

    fn user_path(client: &Client, platform: Platform, variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(*value))
        };
        let path = client.location(ConfigScope::User)?.path(platform, &variable, Path::new("/project"));
        path.map(|path| path.to_str().unwrap().to_owned())
    }

    #[test]
    fn files_of_users_are_where_each_system_has_them() {
        let support = "/Users/ann/Library/Application Support";
        for (name, mac, linux) in [
            ("claude-code", "/Users/ann/.claude.json".to_owned(), "/home/ann/.claude.json"),
            (
                "claude-desktop",
                format!("{support}/Claude/claude_desktop_config.json"),
                "/home/ann/.config/Claude/claude_desktop_config.json",
            ),
            ("cursor", "/Users/ann/.cursor/mcp.json".to_owned(), "/home/ann/.cursor/mcp.json"),
            ("vscode", format!("{support}/Code/User/mcp.json"), "/home/ann/.config/Code/User/mcp.json"),
            ("zed", "/Users/ann/.config/zed/settings.json".to_owned(), "/home/ann/.config/zed/settings.json"),
            ("goose", "/Users/ann/.config/goose/config.yaml".to_owned(), "/home/ann/.config/goose/config.yaml"),
            ("gemini", "/Users/ann/.gemini/settings.json".to_owned(), "/home/ann/.gemini/settings.json"),
            ("codex", "/Users/ann/.codex/config.toml".to_owned(), "/home/ann/.codex/config.toml"),
            ("copilot-cli", "/Users/ann/.copilot/mcp-config.json".to_owned(), "/home/ann/.copilot/mcp-config.json"),
            (
                "opencode",
                "/Users/ann/.config/opencode/opencode.json".to_owned(),
                "/home/ann/.config/opencode/opencode.json",
            ),
            (
                "windsurf",
                "/Users/ann/.codeium/windsurf/mcp_config.json".to_owned(),
                "/home/ann/.codeium/windsurf/mcp_config.json",
            ),
            ("kiro", "/Users/ann/.kiro/settings/mcp.json".to_owned(), "/home/ann/.kiro/settings/mcp.json"),
            (
                "roo",
                format!("{support}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
                "/home/ann/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
            ),
        ] {
            let client = Client::named(name).unwrap_or_else(|| panic!("{name}"));
            let found = |platform, home| user_path(client, platform, &[("HOME", home)]);
            assert_eq!(found(Platform::MacOs, "/Users/ann"), Some(mac), "{name}");
            assert_eq!(found(Platform::Linux, "/home/ann").as_deref(), Some(linux), "{name}");
        }
        assert_eq!(CLIENTS.iter().filter(|client| client.user.is_some()).count(), 13);
    }

    #[test]
    fn variables_name_folders_if_they_are_absolute() {
        let xdg = |value, platform| {
            user_path(Client::named("claude-desktop").unwrap(), platform, &[("HOME", "/h"), ("XDG_CONFIG_HOME", value)])
        };
        let mac = "/h/Library/Application Support/Claude/claude_desktop_config.json";
        assert_eq!(xdg("/x", Platform::MacOs).as_deref(), Some(mac));
        assert_eq!(xdg("/x", Platform::Linux).as_deref(), Some("/x/Claude/claude_desktop_config.json"));
        assert_eq!(xdg("x", Platform::Linux).as_deref(), Some("/h/.config/Claude/claude_desktop_config.json"));
        let windows =
            |variables: &[(&str, &str)]| user_path(Client::named("vscode").unwrap(), Platform::Windows, variables);
        assert_eq!(windows(&[("APPDATA", "/a")]).as_deref(), Some("/a/Code/User/mcp.json"));
        assert_eq!(windows(&[("HOME", "/h")]), None);
        assert_eq!(user_path(Client::named("cursor").unwrap(), Platform::MacOs, &[("HOME", "relative")]), None);
    }
}

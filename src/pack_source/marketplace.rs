//! Marketplaces of plugins, as Claude Code and Copilot have them: `.claude-plugin/marketplace.json` in a repository.

use serde_json::Value;

use crate::diagnostic::bytes_without_byte_order_mark;
use crate::files::{Globs, normalize};
use crate::manifest::PackFormatName;

/// The files of a marketplace, of Claude Code and of Copilot: the first that is there counts.
pub const MARKETPLACE_FILES: [&str; 2] = [".claude-plugin/marketplace.json", ".github/plugin/marketplace.json"];

/// A plugin of a marketplace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    pub name: String,
    /// Where it is.
    pub source: PluginSource,
    /// The globs of its files from there, where it is not all that is there.
    pub only: Vec<String>,
    /// The formats of these files; empty where all that is there is the plugin.
    pub formats: &'static [PackFormatName],
}

/// Where a plugin is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginSource {
    /// In a folder of the repository of its marketplace.
    Folder(String),
    /// In another repository.
    Repository {
        url: String,
        /// A commit, a branch or a tag; the commit counts.
        rev: Option<String>,
        /// The folder in it.
        path: Option<String>,
    },
    /// Somewhere that is not a repository, such as `npm`.
    Other(String),
}

impl PluginSource {
    /// Whether the marketplace is the plugin itself.
    pub fn is_root(&self) -> bool {
        matches!(self, PluginSource::Folder(path) if normalize(path).is_ok_and(|path| path.as_os_str().is_empty()))
    }
}

/// The plugins of a marketplace; those without a name or a source are left out.
pub fn plugins(text: &[u8]) -> Vec<Plugin> {
    let marketplace: Value = serde_json::from_slice(bytes_without_byte_order_mark(text)).unwrap_or_default();
    let root = marketplace.pointer("/metadata/pluginRoot").and_then(Value::as_str).unwrap_or_default();
    let listed = marketplace.get("plugins").and_then(Value::as_array).into_iter().flatten();
    listed
        .filter_map(|plugin| {
            let (name, source) = (plugin.get("name")?.as_str()?, plugin_source(plugin.get("source")?, root));
            // Elsewhere the lists add to what the folder of the plugin has.
            let is_whole = plugin.get("strict") != Some(&Value::Bool(false)) && !source.is_root();
            let only = if is_whole { Vec::new() } else { listed_files(plugin) };
            let has_others = ["skills", "commands"].iter().any(|key| plugin.get(key).is_some());
            let formats: &[PackFormatName] = match (plugin.get("agents").is_some(), has_others) {
                _ if only.is_empty() => &[],
                (false, _) => &[PackFormatName::Auto],
                (true, false) => &[PackFormatName::Agents],
                (true, true) => &[PackFormatName::Auto, PackFormatName::Agents],
            };
            Some(Plugin { name: name.to_owned(), source, only, formats })
        })
        .collect()
}

/// The globs of the files and folders that the marketplace lists of a plugin.
fn listed_files(plugin: &Value) -> Vec<String> {
    let lists = ["skills", "commands", "agents"].into_iter().filter_map(|key| plugin.get(key));
    let paths = lists.flat_map(|list| list.as_array().map_or(std::slice::from_ref(list), Vec::as_slice));
    let globs = paths.filter_map(Value::as_str).map(|path| match path.trim_start_matches("./").trim_end_matches('/') {
        file if file.ends_with(".md") => Globs::escape(file),
        "" => "**/*".to_owned(),
        folder => format!("{}/**", Globs::escape(folder)),
    });
    globs.collect()
}

fn plugin_source(source: &Value, root: &str) -> PluginSource {
    if let Some(folder) = source.as_str() {
        return PluginSource::Folder(match root.trim_end_matches('/') {
            "" => folder.to_owned(),
            root => format!("{root}/{}", folder.trim_start_matches("./")),
        });
    }
    let text = |key: &str| source.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = text("source").unwrap_or_default();
    let url = match kind.as_str() {
        "github" => text("repo").map(|repo| format!("https://github.com/{repo}")),
        "url" | "git" | "git-subdir" => text("url").map(|url| repository_url(&url)),
        _ => None,
    };
    let rev = text("sha").or_else(|| text("ref")).or_else(|| text("commit"));
    match url {
        Some(url) => PluginSource::Repository { url, rev, path: text("path") },
        None => PluginSource::Other(kind),
    }
}

/// The URL of what may be `OWNER/REPO` or the address of ssh.
pub fn repository_url(written: &str) -> String {
    let is_word = |text: &str| {
        let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        is_plain && text.starts_with(|first: char| first.is_ascii_alphanumeric())
    };
    if let Some((owner, repository)) = written.split_once('/').filter(|(owner, rest)| is_word(owner) && is_word(rest)) {
        return format!("https://github.com/{owner}/{repository}");
    }
    match written.split_once(':') {
        Some((host, path)) if host.contains('@') && !path.starts_with('/') => format!("ssh://{host}/{path}"),
        _ => written.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_have_all_kinds_of_source() {
        let sha = "a".repeat(40);
        let text = serde_json::json!({
            "metadata": { "pluginRoot": "./plugins" },
            "plugins": [
                { "name": "a", "source": "./a" },
                { "name": "b", "source": { "source": "github", "repo": "o/r", "ref": "v1", "sha": sha } },
                { "name": "c", "source": { "source": "url", "url": "https://x/y.git", "ref": "v1" } },
                { "name": "d", "source": { "source": "git-subdir", "url": "git@x:o/r.git", "path": "p" } },
                { "name": "e", "source": { "source": "npm", "package": "@x/y" } },
                { "name": "f", "source": { "source": "git-subdir", "url": "o/r", "path": "p" } },
                { "source": "./x" },
            ],
        });
        let url = |url: &str, rev: Option<&str>, path: Option<&str>| PluginSource::Repository {
            url: url.to_owned(),
            rev: rev.map(str::to_owned),
            path: path.map(str::to_owned),
        };
        let found: Vec<_> = plugins(text.to_string().as_bytes()).into_iter().map(|plugin| plugin.source).collect();
        let expected = [
            PluginSource::Folder("./plugins/a".to_owned()),
            url("https://github.com/o/r", Some(&sha), None),
            url("https://x/y.git", Some("v1"), None),
            url("ssh://git@x/o/r.git", None, Some("p")),
            PluginSource::Other("npm".to_owned()),
            url("https://github.com/o/r", None, Some("p")),
        ];
        assert_eq!(found, expected);
        assert_eq!(plugins(b"{"), Vec::new());
    }
}

//! `server.json`, by which registries of MCP servers describe one (2025-12-11).

use serde_json::{Map, Value, json};

use super::description::{ExportedVariable, ServerDescription};
use crate::diagnostic::{one_line, truncate};

/// The schema that it follows.
pub(super) const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
/// The longest description and title.
const MAX_TEXT_CHARS: usize = 100;
const MAX_NAME_CHARS: usize = 200;

/// What a manifest does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerJsonParts {
    /// The name in the registry: `io.github.me/desk`.
    pub name: String,
    /// The URL of a bundle, and its SHA-256.
    pub bundle: Option<(String, String)>,
    /// The container image, with its tag or digest.
    pub image: Option<String>,
    /// The URL where it is served.
    pub remote: Option<String>,
}

/// Why there is no `server.json` of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerJsonError {
    /// The name has no namespace, or other characters.
    #[error(
        "invalid name `{0}`: expected a namespace and a name, such as `io.github.me/desk`\nhelp: write it as `server.name`, or with `--name`"
    )]
    Name(String),
    /// The version is a range, or says nothing.
    #[error("invalid version `{0}`: a registry takes one version, such as `1.0.2`")]
    Version(String),
}

/// The `server.json` of a server.
///
/// # Errors
/// A registry would not take its name or version.
pub fn server_json(server: &ServerDescription, parts: &ServerJsonParts) -> Result<Value, ServerJsonError> {
    check_name(&parts.name)?;
    let version = check_version(&server.info.version)?;
    let short = |text: &str| match one_line(text) {
        long if long.chars().count() > MAX_TEXT_CHARS => truncate(&long, MAX_TEXT_CHARS - 1).into_owned(),
        line => line.into_owned(),
    };
    let mut keys = Map::new();
    keys.insert("$schema".to_owned(), json!(SCHEMA));
    keys.insert("name".to_owned(), json!(parts.name));
    if let Some(title) = server.info.title.as_ref().filter(|title| !title.is_empty()) {
        keys.insert("title".to_owned(), json!(short(title)));
    }
    keys.insert("description".to_owned(), json!(short(&server.summary())));
    keys.insert("version".to_owned(), json!(version));
    if let Some(url) = &server.info.website_url {
        keys.insert("websiteUrl".to_owned(), json!(url));
    }
    let packages = packages(server, parts);
    if !packages.is_empty() {
        keys.insert("packages".to_owned(), json!(packages));
    }
    if let Some(url) = &parts.remote {
        keys.insert("remotes".to_owned(), json!([{ "type": "streamable-http", "url": url }]));
    }
    Ok(Value::Object(keys))
}

fn check_name(name: &str) -> Result<(), ServerJsonError> {
    let is_plain = |text: &str, more: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    let parts = name.split_once('/');
    let is_valid = parts.is_some_and(|(space, name)| is_plain(space, ".-") && is_plain(name, "._-"));
    if is_valid && name.len() <= MAX_NAME_CHARS { Ok(()) } else { Err(ServerJsonError::Name(name.to_owned())) }
}

/// A version, if it is one and no range.
fn check_version(version: &str) -> Result<&str, ServerJsonError> {
    let is_wildcard = |part: &str| matches!(part, "x" | "X" | "*");
    let is_range = version.chars().any(|c| "^~<>=|*, ".contains(c)) || version.split('.').any(is_wildcard);
    let is_valid = !version.is_empty() && version.len() <= 255 && version != "latest" && !is_range;
    if is_valid { Ok(version) } else { Err(ServerJsonError::Version(version.to_owned())) }
}

fn packages(server: &ServerDescription, parts: &ServerJsonParts) -> Vec<Value> {
    let variables: Vec<Value> = server.variables.iter().map(variable).collect();
    let with_variables = |mut package: Value| {
        if let (Value::Object(keys), false) = (&mut package, variables.is_empty()) {
            keys.insert("environmentVariables".to_owned(), json!(variables));
        }
        package
    };
    let bundle = parts.bundle.as_ref().map(|(url, sha256)| {
        let transport = json!({ "type": "stdio" });
        let version = &server.info.version;
        json!({ "registryType": "mcpb", "identifier": url, "version": version, "fileSha256": sha256, "transport": transport })
    });
    let image = parts.image.as_ref().map(|image| {
        let transport = json!({ "type": "streamable-http", "url": "http://localhost:8080/mcp" });
        json!({ "registryType": "oci", "identifier": image, "transport": transport })
    });
    bundle.into_iter().chain(image).map(with_variables).collect()
}

fn variable(variable: &ExportedVariable) -> Value {
    let mut keys = Map::new();
    keys.insert("name".to_owned(), json!(variable.name));
    if let Some(description) = &variable.description {
        keys.insert("description".to_owned(), json!(description));
    }
    keys.insert("isRequired".to_owned(), json!(variable.is_required));
    keys.insert("isSecret".to_owned(), json!(variable.is_secret));
    if let Some(default) = &variable.default {
        keys.insert("default".to_owned(), json!(default));
    }
    Value::Object(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_namespace() {
        for name in ["io.github.me/desk", "a/b", "com.x-y/My_desk.2"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["desk", "a/b/c", "/b", "a/", "a b/c", "a_b/c", "", &format!("a/{}", "b".repeat(200))] {
            assert_eq!(check_name(name), Err(ServerJsonError::Name(name.to_owned())), "{name}");
        }
    }

    #[test]
    fn versions_are_not_ranges() {
        for version in ["1.0.2", "2.1.0-alpha+1", "1.10", "2026-01-02"] {
            assert_eq!(check_version(version), Ok(version));
        }
        for version in ["", "latest", "^1.2.3", "~1", ">=1.2", "1.x", "1.*", "1 || 2"] {
            assert!(check_version(version).is_err(), "{version}");
        }
    }
}

//! MCPB bundles: a zip archive with `manifest.json`, the program, the folder of the manifest and its packs.

use serde_json::{Map, Value, json};

use super::contents::ExportedFile;
use super::description::{ExportedVariable, ServerDescription};
use super::program::ProgramPlatform;
use crate::archive::{ArchiveError, ZipEntry, write_zip};

/// The version of the format.
const MANIFEST_VERSION: &str = "0.3";
/// What describes a bundle.
const MANIFEST: &str = "manifest.json";
/// Where the program is in a bundle.
const PROGRAM: &str = "server/folio";
/// Where the folder of the manifest is.
const FOLDER: &str = "server/manifest";
/// Where the cache of packs is.
const CACHE: &str = "server/cache";

/// Whether bytes are a bundle that [`mcpb_bundle`] has made, whose first entry is its manifest.
pub(super) fn is_mcpb_bundle(bytes: &[u8]) -> bool {
    const NAME_AT: usize = 30;
    let begins = bytes.starts_with(b"PK\x03\x04")
        && bytes.get(NAME_AT..).is_some_and(|rest| rest.starts_with(MANIFEST.as_bytes()));
    begins && bytes.windows(PROGRAM.len()).any(|name| name == PROGRAM.as_bytes())
}

/// What a bundle is made of.
pub struct BundleParts {
    /// The program, and its system.
    pub program: Vec<u8>,
    /// The system on which it runs.
    pub platform: ProgramPlatform,
    /// Who made it.
    pub author: String,
    /// The path of the manifest below its folder, if it has another name than `folio.yaml`.
    pub manifest: Option<String>,
    /// The files of the folder.
    pub folder: Vec<ExportedFile>,
    /// The files of the cache.
    pub packs: Vec<ExportedFile>,
}

/// The bytes of a bundle.
///
/// # Errors
/// It is too large for its format.
pub fn mcpb_bundle(server: &ServerDescription, parts: BundleParts) -> Result<Vec<u8>, ArchiveError> {
    let manifest = format!("{:#}\n", mcpb_manifest(server, &parts)).into_bytes();
    let below = |folder: &'static str, files: Vec<ExportedFile>| {
        files.into_iter().map(move |ExportedFile { path, bytes, is_program }| ZipEntry {
            path: format!("{folder}/{path}"),
            bytes,
            is_program,
        })
    };
    let mut entries = vec![
        ZipEntry { path: MANIFEST.to_owned(), bytes: manifest, is_program: false },
        ZipEntry { path: PROGRAM.to_owned(), bytes: parts.program, is_program: true },
    ];
    entries.extend(below(FOLDER, parts.folder));
    entries.extend(below(CACHE, parts.packs));
    write_zip(entries)
}

/// The `manifest.json` of a bundle.
pub fn mcpb_manifest(server: &ServerDescription, parts: &BundleParts) -> Value {
    let mut manifest = json!({
        "manifest_version": MANIFEST_VERSION,
        "name": server.short_name(),
        "display_name": server.info.title.as_deref().unwrap_or_else(|| server.short_name()),
        "version": server.info.version,
        "description": server.summary(),
        "author": { "name": parts.author },
    });
    let mut others = Map::new();
    if let Some(url) = &server.info.website_url {
        others.insert("homepage".to_owned(), json!(url));
    }
    others.insert("server".to_owned(), launch(server, parts));
    others.extend(entries(server));
    if !server.variables.is_empty() {
        let options = server.variables.iter().map(|variable| (variable.name.clone(), user_config_option(variable)));
        others.insert("user_config".to_owned(), Value::Object(options.collect()));
    }
    others.insert("compatibility".to_owned(), json!({ "platforms": [parts.platform.as_str()] }));
    if let Value::Object(keys) = &mut manifest {
        keys.extend(others);
    }
    manifest
}

/// How a host starts the server.
fn launch(server: &ServerDescription, parts: &BundleParts) -> Value {
    let inside = |path: &str| format!("${{__dirname}}/{path}");
    let path = match &parts.manifest {
        Some(name) => format!("{FOLDER}/{name}"),
        None => FOLDER.to_owned(),
    };
    let names = server.variables.iter().map(|variable| &variable.name);
    let mut env: Map<String, Value> =
        names.map(|name| (name.clone(), json!(format!("${{user_config.{name}}}")))).collect();
    if !parts.packs.is_empty() {
        env.insert("FOLIO_CACHE".to_owned(), json!(inside(CACHE)));
    }
    json!({
        "type": "binary",
        "entry_point": PROGRAM,
        "mcp_config": {
            "command": inside(PROGRAM),
            "args": ["serve", inside(&path), "--no-watch"],
            "env": env,
        },
    })
}

/// The lists of entries. The texts of prompts are the server's: they have steps, and conditions, that a bundle cannot say.
fn entries(server: &ServerDescription) -> Map<String, Value> {
    let with_description = |name: &str, description: Option<&String>| {
        let mut entry = Map::from_iter([("name".to_owned(), json!(name))]);
        entry.extend(description.map(|text| ("description".to_owned(), json!(text))));
        entry
    };
    let tools = server.lists.tools.iter();
    let tools: Vec<Value> = tools.map(|tool| with_description(&tool.name, tool.description.as_ref()).into()).collect();
    let prompts = server.lists.prompts.iter().map(|prompt| {
        let mut entry = with_description(&prompt.name, prompt.description.as_ref());
        let arguments: Vec<&str> = prompt.arguments.iter().map(|argument| argument.name.as_str()).collect();
        if !arguments.is_empty() {
            entry.insert("arguments".to_owned(), json!(arguments));
        }
        entry.insert("text".to_owned(), json!(""));
        Value::Object(entry)
    });
    let prompts: Vec<Value> = prompts.collect();
    let lists = [("tools", tools), ("prompts", prompts)].into_iter().filter(|(_, list)| !list.is_empty());
    lists.map(|(key, list)| (key.to_owned(), Value::Array(list))).collect()
}

fn user_config_option(variable: &ExportedVariable) -> Value {
    let description = variable.description.clone();
    let mut option = json!({
        "type": "string",
        "title": variable.name,
        "description": description.unwrap_or_else(|| format!("The environment variable {}", variable.name)),
        "required": variable.is_required,
        "sensitive": variable.is_secret,
    });
    if let (Value::Object(keys), Some(default)) = (&mut option, &variable.default) {
        keys.insert("default".to_owned(), json!(default));
    }
    option
}

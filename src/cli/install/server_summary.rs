//! What an installation needs to know of the server.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::catalog::listing::Lists;
use crate::catalog::{BridgedLists, UnacceptedCatalog, build, missing_lists};
use crate::cli::manifest::{EnvPair, environment};
use crate::cli::process::folio_path;
use crate::cli::{Exit, Output};
use crate::client_config::Launch;
use crate::load::{LoadedPacks, MANIFEST_NAMES, ManifestLocation, load};
use crate::manifest::{EnvEntry, EnvVariable};

/// Where folio serves, if a manifest does not say.
pub(super) const DEFAULT_PATH: &str = "/mcp";

pub(super) struct ServerSummary {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) variables: Vec<DeclaredVariable>,
    /// The names of all variables of the manifest and its packs, if there is one.
    pub(super) declared: Option<Vec<String>>,
    catalog: Option<UnacceptedCatalog>,
}

/// A variable that the manifest reads from the environment, and that has no default.
pub(super) struct DeclaredVariable {
    pub(super) name: String,
    pub(super) required: bool,
}

impl ServerSummary {
    /// A server of which a URL is known alone.
    pub(super) fn unknown(name: &str) -> ServerSummary {
        let (description, variables) = (String::new(), Vec::new());
        ServerSummary { name: name.to_owned(), description, variables, declared: None, catalog: None }
    }

    /// Loads and checks a manifest. Its errors are printed.
    ///
    /// # Errors
    /// There is no manifest.
    pub(super) fn load(path: &Path, env: &[EnvPair], output: &Output) -> anyhow::Result<Result<ServerSummary, Exit>> {
        let location = ManifestLocation::resolve(path)?;
        let loaded = load(&location, &environment(env, None));
        let variables = declared_variables(&loaded);
        let packs = loaded.packs.iter();
        let declared = packs.flat_map(|pack| pack.manifest.env.iter().map(|(name, _)| name.value.clone())).collect();
        let built = build(loaded);
        output.set_redactor(built.redactor.clone());
        let Some(catalog) = built.catalog.filter(|_| !built.report.has_errors()) else {
            output.eprint_report(&built.report);
            return Ok(Err(Exit::Failure));
        };
        let info = catalog.server();
        let description = info.description.clone().or_else(|| info.title.clone()).unwrap_or_else(|| info.name.clone());
        let name = info.name.clone();
        Ok(Ok(ServerSummary { name, description, variables, declared: Some(declared), catalog: Some(catalog) }))
    }

    /// What the server offers a client as tools, by the name of the client.
    pub(super) fn bridged_for(&self, client: &str) -> BridgedLists {
        let policy = self.catalog.as_ref().map(|catalog| catalog.server().bridge);
        policy.map(|policy| policy.lists_for_known(missing_lists(client))).unwrap_or_default()
    }

    /// The path at which it serves.
    pub(super) fn http_path(&self) -> &str {
        let settings = self.catalog.as_ref().map(|catalog| catalog.http_settings());
        settings.and_then(|settings| settings.path.as_deref()).unwrap_or(DEFAULT_PATH)
    }

    /// The lists of the server, where they are known.
    pub(super) fn lists(&self) -> Option<&Lists> {
        self.catalog.as_ref().map(|catalog| catalog.lists())
    }
}

/// The variables of the served manifest, but for those with a default, and those from files and commands.
fn declared_variables(loaded: &LoadedPacks) -> Vec<DeclaredVariable> {
    let env = loaded.packs.first().map(|pack| pack.manifest.env.iter());
    let declared = env.into_iter().flatten().map(|(name, entry)| {
        let keys = match &entry.value {
            EnvEntry::Keys(keys) => keys.clone(),
            _ => EnvVariable::default(),
        };
        (name.value.clone(), keys)
    });
    let of_environment = declared.filter(|(_, keys)| keys.file.is_none() && keys.command.is_none());
    let without_default = of_environment.filter(|(_, keys)| keys.default.is_none());
    let is_required = |keys: &EnvVariable| keys.required == Some(true);
    without_default.map(|(name, keys)| DeclaredVariable { name, required: is_required(&keys) }).collect()
}

/// How a client starts the server of a manifest, which need not exist any more.
///
/// # Errors
/// A path is not UTF-8.
pub(super) fn launch(path: &Path) -> anyhow::Result<Launch> {
    let absolute = real_path(&std::path::absolute(path)?);
    // The manifest of a folder is served by the name of the folder.
    let folder = absolute.parent().filter(|folder| {
        let first = MANIFEST_NAMES.iter().map(|name| folder.join(name)).find(|manifest| manifest.exists());
        first.as_ref() == Some(&absolute)
    });
    let text =
        |path: &Path| path.to_str().map(str::to_owned).with_context(|| format!("`{}` is not UTF-8", path.display()));
    let (program, manifest) = (text(&folio_path())?, text(folder.unwrap_or(&absolute))?);
    ensure!(program.starts_with('/'), "cannot tell the path of this program");
    Ok(Launch::Program { program, manifest })
}

/// A path with the links of those of its folders resolved that exist.
fn real_path(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => real_path(folder).join(name),
        _ => path.to_owned(),
    })
}

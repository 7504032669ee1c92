//! What `folio add` names: a folder, a repository, an archive, or a skill or a plugin of one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use url::Url;

use super::args::AddArgs;
use super::pack_contents::PackContents;
use super::project::PackProject;
use crate::diagnostic::{one_line, quote_names};
use crate::files::{Folder, Globs, expand_home};
use crate::manifest::PackFormatName;
use crate::pack_source::{
    ArchiveListing, ArchiveSource, GitSource, MARKETPLACE_FILES, PackSource, Plugin, PluginSource, RepositoryListing,
    SourceError, archive_sha256, check_archive_folder, check_archive_url, check_folder, check_sha256, list_archive,
    plugins, repository_url,
};
use crate::yaml::flow_scalar;

/// How many files of a folder are listed.
const MAX_LISTED_FILES: usize = 200_000;
/// How large a marketplace may be.
const MAX_MARKETPLACE_BYTES: u64 = 16 << 20;
/// How many names a message shows.
const MAX_SHOWN: usize = 20;
/// How the names of archives end.
const ARCHIVE_SUFFIXES: [&str; 4] = [".tar.gz", ".tgz", ".tar", ".zip"];

/// Where a pack is added from.
pub(super) enum NewSource {
    /// A folder, relative to the manifest.
    Folder(String),
    Repository(GitSource),
    Archive {
        source: ArchiveSource,
        /// What the pack is called where the command line does not say.
        name: String,
    },
}

impl NewSource {
    /// The last name in it.
    pub(super) fn name(&self) -> String {
        let path = match self {
            NewSource::Folder(path) => path,
            NewSource::Repository(source) => source.path.as_ref().unwrap_or(&source.url),
            NewSource::Archive { name, .. } => name,
        };
        let last = last_name(path);
        last.strip_suffix(".git").unwrap_or(last).to_owned()
    }

    /// The URL of a folder that is a git repository.
    pub(super) fn unlocked_repository(&self, project: &PackProject<'_>) -> Option<String> {
        let NewSource::Folder(path) = self else { return None };
        let folder = fs::canonicalize(project.location.path().join(path)).ok()?;
        let url = || Url::from_file_path(&folder).ok().map(String::from);
        folder.join(".git").exists().then(url).flatten()
    }

    /// Its keys in a manifest, and their values in YAML.
    pub(super) fn keys(&self) -> Vec<(&'static str, String)> {
        let keys = match self {
            NewSource::Folder(path) => [("path", Some(path)), ("", None), ("", None)],
            NewSource::Repository(source) => {
                [("git", Some(&source.url)), ("rev", source.rev.as_ref()), ("path", source.path.as_ref())]
            }
            NewSource::Archive { source, .. } => {
                [("url", Some(&source.url)), ("sha256", Some(&source.sha256)), ("path", source.path.as_ref())]
            }
        };
        keys.into_iter().filter_map(|(key, value)| Some((key, flow_scalar(value?)))).collect()
    }
}

fn last_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default()
}

/// What the command line names, with its keys in a manifest.
pub(super) struct NewPack {
    pub(super) source: NewSource,
    /// The globs of its files; empty for all.
    pub(super) only: Vec<String>,
    /// Its formats, where they are not those of any folder.
    pub(super) formats: &'static [PackFormatName],
}

impl NewPack {
    fn whole(source: NewSource) -> NewPack {
        NewPack { source, only: Vec::new(), formats: &[] }
    }
}

/// What the command line names.
pub(super) fn locate(arguments: &AddArgs, project: &PackProject<'_>) -> anyhow::Result<NewPack> {
    let named = arguments.source.as_str();
    if let Some(url) = archive_url(arguments)? {
        ensure!(arguments.rev.is_none(), "`--rev` is for repositories, but `{}` is an archive", one_line(named));
        return NewArchive::open(url, arguments, project)?.locate(arguments, project);
    }
    if is_folder(named) {
        ensure!(arguments.rev.is_none(), "`--rev` is for repositories, but `{}` is a folder", one_line(named));
        ensure!(
            arguments.name.is_none(),
            "`NAME` is for repositories and archives\nhelp: add the skill or plugin of a folder by its path, with `--path DIR`"
        );
        let folder = expand_home(Path::new(named)).join(arguments.path.as_deref().unwrap_or_default());
        return folder_path(&folder, project).map(NewSource::Folder).map(NewPack::whole);
    }
    let source = git_source(arguments)?;
    let Some(name) = &arguments.name else { return Ok(NewPack::whole(NewSource::Repository(source))) };
    let RepositoryListing { paths, text: marketplace } = project.list_repository(&source, &MARKETPLACE_FILES)?;
    let skills_folder = source.path.clone();
    let listing = PackListing { url: &source.url, paths, marketplace, skills_folder, root_folder: None };
    find_named(name, &listing)?.into_pack(PackSource::Git(source.clone()))
}

/// What the command line names has, as `--list` shows it.
pub(super) struct SourceFiles {
    /// The last name of the source.
    pub(super) name: String,
    /// The paths of all files below `--path`.
    pub(super) paths: Vec<String>,
    pub(super) plugins: Vec<Plugin>,
}

/// The files of what the command line names.
pub(super) fn list_files(arguments: &AddArgs, project: &PackProject<'_>) -> anyhow::Result<SourceFiles> {
    let named = arguments.source.as_str();
    if let Some(url) = archive_url(arguments)? {
        let ArchiveListing { paths, root_folder, file } = NewArchive::open(url, arguments, project)?.listing;
        let inside = root_folder.map(|root_folder| format!("{root_folder}/")).unwrap_or_default();
        let paths = paths.iter().map(|path| path.strip_prefix(&inside).unwrap_or(path).to_owned()).collect();
        return Ok(SourceFiles::below(arguments, last_name(named), paths, file));
    }
    if is_folder(named) {
        let folder = Folder::open(&expand_home(Path::new(named)))?;
        let globs =
            Globs::new(&["**/*"], &["**/.git/**", "**/node_modules/**"]).map_err(|error| anyhow!(error.message))?;
        let files = folder.walk(&globs.with_hidden_without_links(), MAX_LISTED_FILES)?;
        let read = |file: &&str| folder.read(Path::new(file), MAX_MARKETPLACE_BYTES).ok();
        let marketplace = MARKETPLACE_FILES.iter().find_map(read);
        let paths = files.into_iter().map(|file| file.path).collect();
        return Ok(SourceFiles::below(arguments, last_name(named), paths, marketplace));
    }
    let source = git_source(arguments)?;
    let RepositoryListing { paths, text } = project.list_repository(&source, &MARKETPLACE_FILES)?;
    Ok(SourceFiles::below(arguments, last_name(&source.url), paths, text))
}

impl SourceFiles {
    /// What folio finds in them.
    pub(super) fn contents(&self) -> anyhow::Result<PackContents> {
        PackContents::new(&self.name, self.paths.clone(), &self.plugin_folders())
    }

    /// The folders of the plugins that are below the root.
    pub(super) fn plugin_folders(&self) -> Vec<String> {
        let folder = |plugin: &Plugin| match &plugin.source {
            PluginSource::Folder(path) => check_folder(path).ok().filter(|folder| !folder.is_empty()),
            _ => None,
        };
        self.plugins.iter().filter_map(folder).collect()
    }

    fn below(arguments: &AddArgs, name: &str, paths: Vec<String>, marketplace: Option<Vec<u8>>) -> SourceFiles {
        let name = name.strip_suffix(".git").unwrap_or(name).to_owned();
        let Some(path) = &arguments.path else {
            let plugins = marketplace.map(|text| plugins(&text)).unwrap_or_default();
            return SourceFiles { name, paths, plugins };
        };
        let inside = format!("{}/", path.trim_start_matches("./").trim_end_matches('/'));
        let paths = paths.iter().filter_map(|path| path.strip_prefix(&inside)).map(str::to_owned).collect();
        SourceFiles { name: last_name(path).to_owned(), paths, plugins: Vec::new() }
    }
}

pub(super) fn is_folder(named: &str) -> bool {
    named.starts_with(['.', '/', '~']) || (!named.contains("://") && Path::new(named).is_dir())
}

/// The URL of an archive, if the command line names one.
fn archive_url(arguments: &AddArgs) -> anyhow::Result<Option<String>> {
    let named = arguments.source.as_str();
    if !named.contains("://") {
        let path = Path::new(named);
        if !path.is_file() {
            ensure!(arguments.sha256.is_none(), "no archive `{}`", one_line(named));
            return Ok(None);
        }
        let path = fs::canonicalize(path)?;
        let url = Url::from_file_path(&path)
            .map_err(|()| anyhow::anyhow!("`{}` has no URL", one_line(&path.to_string_lossy())))?;
        return Ok(Some(url.into()));
    }
    let path = named.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let is_archive = arguments.sha256.is_some() || ARCHIVE_SUFFIXES.iter().any(|suffix| path.ends_with(suffix));
    Ok(is_archive.then(|| named.to_owned()))
}

fn add_source_help(error: SourceError) -> anyhow::Error {
    match error.help() {
        Some(help) => anyhow::anyhow!("{error}\nhelp: {help}"),
        None => anyhow::anyhow!("{error}"),
    }
}

/// An archive that was downloaded to look into it.
struct NewArchive {
    url: String,
    sha256: String,
    listing: ArchiveListing,
}

impl NewArchive {
    fn open(url: String, arguments: &AddArgs, project: &PackProject<'_>) -> anyhow::Result<NewArchive> {
        // What is not a source is not downloaded.
        check_archive_url(&url).map_err(add_source_help)?;
        let expected = arguments.sha256.as_deref().map(check_sha256).transpose().map_err(add_source_help)?;
        arguments.path.as_deref().map(check_archive_folder).transpose().map_err(add_source_help)?;
        let bytes = project.download(&url)?;
        let sha256 = archive_sha256(&bytes);
        if let Some(expected) = expected.filter(|expected| *expected != sha256) {
            bail!("the archive has sha256 {sha256} and not {expected}");
        }
        Ok(NewArchive { listing: list_archive(&bytes, &MARKETPLACE_FILES)?, url, sha256 })
    }

    fn locate(mut self, arguments: &AddArgs, project: &PackProject<'_>) -> anyhow::Result<NewPack> {
        let path = self.folder(arguments.path.as_deref(), project);
        let source = ArchiveSource::new(&self.url, &self.sha256, path.as_deref()).map_err(add_source_help)?;
        let Some(name) = &arguments.name else {
            let name = self.default_name(arguments.path.as_deref());
            return Ok(NewPack::whole(NewSource::Archive { source, name }));
        };
        let listing = PackListing {
            url: &self.url,
            paths: std::mem::take(&mut self.listing.paths),
            marketplace: self.listing.file.take(),
            skills_folder: path,
            root_folder: self.listing.root_folder.take(),
        };
        find_named(name, &listing)?.into_pack(PackSource::Archive(source))
    }

    /// The folder of the pack. Archives of repositories have one folder around everything, of which few people think.
    fn folder(&self, given: Option<&str>, project: &PackProject<'_>) -> Option<String> {
        let has = |folder: &str| {
            let inside = format!("{}/", folder.trim_start_matches("./").trim_end_matches('/'));
            self.listing.paths.iter().any(|path| path.starts_with(&inside))
        };
        let root_folder = self.listing.root_folder.as_deref();
        let path = match (given, root_folder) {
            (Some(path), Some(root_folder)) if !has(path) => format!("{root_folder}/{path}"),
            (None, Some(root_folder)) => root_folder.to_owned(),
            (given, _) => return given.map(str::to_owned),
        };
        let shown = one_line(&path);
        project.output.eprint(&format!("everything in the archive is below one folder: `path` is `{shown}`\n"));
        Some(path)
    }

    /// What is left of the name of a folder or a file without its version.
    fn default_name(&self, given: Option<&str>) -> String {
        if let Some(path) = given {
            return last_name(path).to_owned();
        }
        let path = self.url.split(['?', '#']).next().unwrap_or_default();
        let last = self.listing.root_folder.as_deref().unwrap_or_else(|| last_name(path));
        let suffix = ARCHIVE_SUFFIXES.iter().find(|suffix| last.to_ascii_lowercase().ends_with(*suffix));
        let stem = suffix.and_then(|suffix| last.get(..last.len() - suffix.len())).unwrap_or(last);
        without_version(stem).to_owned()
    }
}

/// `docs` of `docs-1.2.0` and of `docs-v2`.
fn without_version(name: &str) -> &str {
    let is_version =
        |text: &str| text.strip_prefix('v').unwrap_or(text).starts_with(|first: char| first.is_ascii_digit());
    match name.rsplit_once('-') {
        Some((stem, version)) if is_version(version) && !stem.is_empty() => stem,
        _ => name,
    }
}

/// The path of a folder as a manifest names it: as it is written if it is absolute and not below the manifest, else from there.
fn folder_path(folder: &Path, project: &PackProject<'_>) -> anyhow::Result<String> {
    let real = |path: &Path| {
        fs::canonicalize(path).with_context(|| format!("cannot read `{}`", one_line(&path.to_string_lossy())))
    };
    let (real_folder, root) = (real(folder)?, real(project.location.path())?);
    ensure!(real_folder != root, "a manifest cannot be a pack of itself");
    let path = match real_folder.strip_prefix(&root) {
        Ok(below) => below.to_owned(),
        Err(_) if folder.is_absolute() => folder.components().collect(),
        Err(_) => path_between(&root, &real_folder),
    };
    path.to_str().map(str::to_owned).context("its path is not UTF-8")
}

/// The path that leads from one folder to another, both without links.
fn path_between(from: &Path, to: &Path) -> PathBuf {
    let shared = from.ancestors().find(|outer| to.starts_with(outer)).unwrap_or(Path::new("/"));
    let relative = |path: &Path| path.strip_prefix(shared).map(Path::to_owned).unwrap_or_default();
    let up = relative(from).components().map(|_| "..").collect::<PathBuf>();
    up.join(relative(to))
}

/// The repository of `OWNER/REPO`, of a URL, of the address of ssh, or of the page of a folder on GitHub.
fn git_source(arguments: &AddArgs) -> anyhow::Result<GitSource> {
    let (source, mut rev, mut path) = (arguments.source.as_str(), arguments.rev.clone(), arguments.path.clone());
    let page = source.strip_prefix("https://github.com/").and_then(|rest| rest.split_once("/tree/"));
    let url = match page.filter(|(repository, _)| repository.split('/').count() == 2) {
        Some((repository, rest)) => {
            let (page_rev, page_path) = rest.split_once('/').map_or((rest, None), |(rev, path)| (rev, Some(path)));
            rev = rev.or_else(|| Some(page_rev.to_owned()));
            path = path.or_else(|| page_path.map(str::to_owned));
            format!("https://github.com/{repository}")
        }
        None => repository_url(source),
    };
    GitSource::new(&url, rev.as_deref(), path.as_deref()).map_err(add_source_help)
}

/// What a repository or an archive has.
struct PackListing<'a> {
    url: &'a str,
    paths: Vec<String>,
    /// The text of its marketplace.
    marketplace: Option<Vec<u8>>,
    /// The folder in which skills are looked for.
    skills_folder: Option<String>,
    /// The folder around everything in an archive.
    root_folder: Option<String>,
}

/// What a name means.
struct NamedPack {
    place: PackPlace,
    only: Vec<String>,
    formats: &'static [PackFormatName],
}

impl NamedPack {
    fn into_pack(self, source: PackSource) -> anyhow::Result<NewPack> {
        let NamedPack { place, only, formats } = self;
        Ok(NewPack { source: place.into_source(source)?, only, formats })
    }
}

/// Where a skill or a plugin is.
enum PackPlace {
    /// In a folder of the same source; of the root where it is empty.
    Folder(String),
    /// In another repository.
    Repository(GitSource),
}

impl PackPlace {
    /// The same, where the folder of a plugin is that below another.
    fn inside(self, root_folder: Option<&str>) -> PackPlace {
        match (self, root_folder) {
            (PackPlace::Folder(path), Some(root_folder))
                if path != root_folder && !path.starts_with(&format!("{root_folder}/")) =>
            {
                PackPlace::Folder(format!("{root_folder}/{path}"))
            }
            (place, _) => place,
        }
    }

    /// Its source, which is in another folder of `source` or elsewhere.
    fn into_source(self, source: PackSource) -> anyhow::Result<NewSource> {
        let path = match self {
            PackPlace::Repository(source) => return Ok(NewSource::Repository(source)),
            PackPlace::Folder(path) => {
                Some(check_folder(&path).map_err(add_source_help)?).filter(|path| !path.is_empty())
            }
        };
        Ok(match source {
            PackSource::Git(source) => NewSource::Repository(GitSource { path, ..source }),
            PackSource::Archive(source) => {
                let name = path.clone().unwrap_or_default();
                NewSource::Archive { source: ArchiveSource { path, ..source }, name }
            }
        })
    }
}

/// A plugin with a name, or else a skill.
fn find_named(name: &str, listing: &PackListing<'_>) -> anyhow::Result<NamedPack> {
    let plugins = listing.marketplace.as_ref().map(|text| plugins(text)).unwrap_or_default();
    if let Some(plugin) = plugins.iter().find(|plugin| plugin.name == name) {
        let place = place_of(plugin, listing.url)?.inside(listing.root_folder.as_deref());
        let formats: &[PackFormatName] = match &place {
            PackPlace::Folder(folder) if plugin.only.is_empty() && has_only_agents(folder, &listing.paths)? => {
                &[PackFormatName::Agents]
            }
            _ => plugin.formats,
        };
        return Ok(NamedPack { place, only: plugin.only.clone(), formats });
    }
    let prefix = listing.skills_folder.as_ref().map(|path| format!("{path}/")).unwrap_or_default();
    let is_skill = |folder: &&str| folder.rsplit('/').next() == Some(name) && folder.starts_with(&prefix);
    let folders = listing.paths.iter().filter_map(|path| path.strip_suffix("/SKILL.md"));
    let matches: Vec<&str> = folders.clone().filter(is_skill).collect();
    match matches.as_slice() {
        [folder] => {
            let place = PackPlace::Folder((*folder).to_owned()).inside(listing.root_folder.as_deref());
            Ok(NamedPack { place, only: Vec::new(), formats: &[] })
        }
        [] => {
            let skills = folders.map(|folder| folder.rsplit('/').next().unwrap_or(folder).to_owned());
            let names: Vec<String> =
                plugins.iter().map(|plugin| plugin.name.clone()).chain(skills).take(MAX_SHOWN).collect();
            let help = if names.is_empty() {
                "it has no plugins or skills".to_owned()
            } else {
                format!("it has {}", quote_names(&names))
            };
            bail!("no plugin or skill `{}` in {}\nhelp: {help}", one_line(name), one_line(listing.url))
        }
        several => {
            bail!("several skills `{}`\nhelp: choose one with `--path`: {}", one_line(name), quote_names(several))
        }
    }
}

/// Whether folio finds nothing but agents in a folder.
fn has_only_agents(folder: &str, paths: &[String]) -> anyhow::Result<bool> {
    let inside = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let below = paths.iter().filter_map(|path| path.strip_prefix(&inside)).map(str::to_owned).collect();
    Ok(PackContents::new(last_name(folder), below, &[String::new()])?.has_only_agents())
}

/// Where a plugin is, of a marketplace with a URL.
fn place_of(plugin: &Plugin, marketplace: &str) -> anyhow::Result<PackPlace> {
    match &plugin.source {
        PluginSource::Folder(path) => Ok(PackPlace::Folder(check_folder(path).map_err(add_source_help)?)),
        PluginSource::Repository { url, rev, path } => {
            let is_local = |url: &str| url.starts_with("file:");
            ensure!(
                !is_local(url) || is_local(marketplace),
                "plugin `{}` of a remote marketplace is on this machine: `{}`",
                one_line(&plugin.name),
                one_line(url)
            );
            GitSource::new(url, rev.as_deref(), path.as_deref()).map(PackPlace::Repository).map_err(add_source_help)
        }
        PluginSource::Other(kind) => {
            bail!(
                "plugin `{}` cannot be added: its source is `{}`, not a repository",
                one_line(&plugin.name),
                one_line(kind)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marketplace_elsewhere_names_no_repository_of_this_machine() {
        let source = PluginSource::Repository { url: "file:///srv/x".to_owned(), rev: None, path: None };
        let plugin = Plugin { name: "x".to_owned(), source, only: Vec::new(), formats: &[] };
        assert!(place_of(&plugin, "https://example.com/x/y").is_err());
        let Ok(PackPlace::Repository(found)) = place_of(&plugin, "file:///srv/m") else { panic!("it is a repository") };
        assert_eq!(found.url, "file:///srv/x");
    }

    #[test]
    fn names_do_not_contain_versions() {
        for (name, expected) in
            [("docs-1.2.0", "docs"), ("docs-v2", "docs"), ("docs-main", "docs-main"), ("-1", "-1"), ("v1", "v1")]
        {
            assert_eq!(without_version(name), expected);
        }
    }
}

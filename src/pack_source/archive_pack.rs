//! Downloads archives, and takes the files of a pack from them.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use url::Url;

use super::archive_source::check_archive_url;
use super::source::{PackHosts, SourceError, private_host};
use super::tree::{PackTree, TreeError, TreeLimits, check_files, check_path};
use crate::archive::{ArchiveEntry, ArchiveError, visit_entries};
use crate::diagnostic::one_line;
use crate::world::{HttpHeader, HttpRequest, ProxyVariables, World, WorldError};

/// How large an archive may be.
const MAX_ARCHIVE_BYTES: u64 = 64 << 20;
/// How long a download may take, with its redirects.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(600);
const MAX_REDIRECTS: usize = 10;
/// How many paths of links are kept.
const MAX_SKIPPED: usize = 10_000;

/// Why an archive is not a pack.
#[derive(Debug, thiserror::Error)]
pub enum ArchivePackError {
    /// The request came to nothing.
    #[error("cannot download the archive: {0}")]
    Request(#[from] WorldError),
    /// Another pack names a host that not everybody reaches.
    #[error("{}", private_host(.0))]
    PrivateHost(String),
    /// The server had another answer.
    #[error("cannot download the archive: the server answered with HTTP status {0}")]
    Status(u16),
    /// It redirects to where archives do not come from.
    #[error("cannot download the archive: it redirects to a URL that is not https")]
    Redirect,
    /// It redirects on and on.
    #[error("cannot download the archive: more than {MAX_REDIRECTS} redirects")]
    TooManyRedirects,
    /// It is larger than any pack.
    #[error("the archive is larger than 64 MiB")]
    TooLarge,
    /// The file is not there, or no file.
    #[error("cannot read `{}`: {error}", one_line(path))]
    File {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// The URL is not that of an archive.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It is damaged, hostile, or no archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Its files are not a pack.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// It has no such folder, but perhaps one around it.
    #[error("no folder `{}` in the archive{}", one_line(path), .root_folder.as_ref().map(|root_folder| folder_help(root_folder, .path)).unwrap_or_default())]
    NoFolder {
        /// The folder.
        path: String,
        /// The one folder with everything.
        root_folder: Option<String>,
    },
}

fn folder_help(root_folder: &str, path: &str) -> String {
    let (root_folder, path) = (one_line(root_folder), one_line(path));
    if path == root_folder || path.starts_with(&format!("{root_folder}/")) {
        return format!("\nhelp: everything in it is below `{root_folder}`");
    }
    format!("\nhelp: everything in it is below `{root_folder}`: write `path: {root_folder}/{path}`")
}

/// The files of a pack, from an archive.
#[derive(Debug)]
pub struct UnpackedArchive {
    /// The files.
    pub tree: PackTree,
    /// The paths of links, which are left out.
    pub skipped: Vec<String>,
    /// How many files are left out because no format serves them.
    pub unserved: usize,
}

/// Takes the files below a folder of an archive, or all of them.
///
/// # Errors
/// It is not an archive, it is hostile, or it has no such folder.
pub fn unpack_archive(archive: &[u8], folder: Option<&str>) -> Result<UnpackedArchive, ArchivePackError> {
    let error = match unpack_files(archive, folder, None) {
        Err(ArchivePackError::Tree(error)) if error.is_limit() => error,
        unpacked => return unpacked,
    };
    let mut sizes = Vec::new();
    let visited = visit_entries(archive, &mut |entry: ArchiveEntry<'_>| {
        if let ArchiveEntry::File(file) = entry {
            sizes.extend(path_below(&file.path, folder).map(|path| (path.to_owned(), file.size)));
        }
        Ok::<(), ArchivePackError>(())
    });
    if visited.is_err() {
        return Err(error.into());
    }
    let files: Vec<(&str, u64)> = sizes.iter().map(|(path, size)| (path.as_str(), *size)).collect();
    let kept = check_files(&files)?;
    let unpacked = unpack_files(archive, folder, kept.as_ref())?;
    Ok(UnpackedArchive { unserved: files.len().saturating_sub(unpacked.tree.len()), ..unpacked })
}

/// The same, of these files alone.
fn unpack_files(
    archive: &[u8],
    folder: Option<&str>,
    kept: Option<&HashSet<&str>>,
) -> Result<UnpackedArchive, ArchivePackError> {
    let mut paths = ArchivePaths::default();
    let (mut tree, mut limits) = (PackTree::default(), TreeLimits::default());
    let mut skipped = Vec::new();
    visit_entries(archive, &mut |entry: ArchiveEntry<'_>| {
        paths.add(&entry)?;
        let file = match entry {
            ArchiveEntry::File(file) => file,
            ArchiveEntry::Link(path) => {
                skipped.extend(path_below(&path, folder).filter(|_| skipped.len() < MAX_SKIPPED).map(str::to_owned));
                return Ok(());
            }
            ArchiveEntry::Folder(_) => return Ok(()),
        };
        let below = path_below(&file.path, folder).filter(|path| kept.is_none_or(|kept| kept.contains(path)));
        let Some(below) = below.map(str::to_owned) else { return Ok(()) };
        limits.count(&below, file.size)?;
        tree.insert(below, file.read()?);
        Ok::<(), ArchivePackError>(())
    })?;
    if !tree.is_empty() {
        return Ok(UnpackedArchive { tree, skipped, unserved: 0 });
    }
    Err(match folder {
        Some(path) => ArchivePackError::NoFolder { path: path.to_owned(), root_folder: paths.common_folder() },
        None => TreeError::Empty.into(),
    })
}

fn path_below<'p>(path: &'p str, folder: Option<&str>) -> Option<&'p str> {
    match folder {
        Some(folder) => path.strip_prefix(folder)?.strip_prefix('/'),
        None => Some(path),
    }
}

/// What an archive has, without the bytes but those of one file.
#[derive(Debug, Default)]
pub struct ArchiveListing {
    /// The paths of all regular files.
    pub paths: Vec<String>,
    /// The one folder with everything, as archives of repositories have it.
    pub root_folder: Option<String>,
    /// The bytes of the first file that was asked for and is there, at the root or below that folder.
    pub file: Option<Vec<u8>>,
}

/// Lists the files of an archive, and reads the first of these that it has.
///
/// # Errors
/// It is not an archive, or it is hostile.
pub fn list_archive(archive: &[u8], wanted: &[&str]) -> Result<ArchiveListing, ArchivePackError> {
    let (mut paths, mut listing, mut best) = (ArchivePaths::default(), ArchiveListing::default(), wanted.len());
    let mut limits = TreeLimits::default();
    visit_entries(archive, &mut |entry: ArchiveEntry<'_>| {
        paths.add(&entry)?;
        let ArchiveEntry::File(file) = entry else { return Ok(()) };
        listing.paths.push(file.path.clone());
        let below = file.path.split_once('/').map(|(_, rest)| rest);
        let at = wanted.iter().position(|wanted| file.path == *wanted || below == Some(*wanted));
        if let Some(at) = at.filter(|at| *at <= best) {
            limits.count(&file.path, file.size)?;
            (listing.file, best) = (Some(file.read()?), at);
        }
        Ok::<(), ArchivePackError>(())
    })?;
    listing.root_folder = paths.common_folder();
    Ok(listing)
}

/// The paths of an archive, all of which are safe.
#[derive(Default)]
struct ArchivePaths {
    limits: TreeLimits,
    /// The first folder of all paths so far: `None` inside where they have not one.
    root_folder: Option<Option<String>>,
}

impl ArchivePaths {
    fn add(&mut self, entry: &ArchiveEntry<'_>) -> Result<(), TreeError> {
        match entry {
            ArchiveEntry::File(file) => self.add_file(&file.path),
            ArchiveEntry::Folder(path) => check_archive_path(path).and_then(|()| self.limits.claim_folder(path)),
            ArchiveEntry::Link(path) => check_archive_path(path).and_then(|()| self.limits.claim_path(path)),
        }
    }

    fn add_file(&mut self, path: &str) -> Result<(), TreeError> {
        check_archive_path(path)?;
        let top_folder = path.split_once('/').map(|(root_folder, _)| root_folder);
        let is_same = self.root_folder.as_ref().is_none_or(|root_folder| root_folder.as_deref() == top_folder);
        self.root_folder = Some(top_folder.filter(|_| is_same).map(str::to_owned));
        self.limits.claim_path(path)
    }

    fn common_folder(&self) -> Option<String> {
        self.root_folder.clone().flatten()
    }
}

fn check_archive_path(path: &str) -> Result<(), TreeError> {
    check_path(path)?;
    // `C:/x`
    let has_drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    if has_drive { Err(TreeError::Path { path: path.to_owned() }) } else { Ok(()) }
}

/// Downloads archives; the last one is kept, as it is often looked into before it is fetched.
#[derive(Default)]
pub struct ArchiveDownloads {
    proxies: ProxyVariables,
    last: Mutex<Option<(String, Arc<Vec<u8>>)>>,
}

impl ArchiveDownloads {
    /// Downloads through these proxies.
    pub fn new(proxies: ProxyVariables) -> ArchiveDownloads {
        ArchiveDownloads { proxies, ..ArchiveDownloads::default() }
    }

    /// The proxies of downloads.
    pub fn proxies(&self) -> &ProxyVariables {
        &self.proxies
    }

    /// The bytes under a URL.
    ///
    /// # Errors
    /// There are no URLs, too many, or only URLs without https.
    pub async fn get(&self, url: &str, hosts: PackHosts, world: &dyn World) -> Result<Arc<Vec<u8>>, ArchivePackError> {
        if let Some((_, bytes)) = self.last.lock().as_ref().filter(|(last_url, _)| last_url == url) {
            return Ok(bytes.clone());
        }
        let parsed = check_archive_url(url)?;
        let bytes = match parsed.scheme() {
            "file" => read_file(&parsed)?,
            _ => {
                let download = self.download(parsed, hosts, world);
                let timed_out = |_| ArchivePackError::Request(WorldError::timed_out(DOWNLOAD_TIMEOUT));
                tokio::time::timeout(DOWNLOAD_TIMEOUT, download).await.map_err(timed_out)??
            }
        };
        let bytes = Arc::new(bytes);
        *self.last.lock() = Some((url.to_owned(), bytes.clone()));
        Ok(bytes)
    }

    /// Downloads from a URL of https, and from those that it leads to.
    async fn download(&self, mut url: Url, hosts: PackHosts, world: &dyn World) -> Result<Vec<u8>, ArchivePackError> {
        let first_url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = HttpRequest::new("GET", url.clone());
            request.headers.push(HttpHeader::new("accept-encoding", "identity"));
            request.timeout = DOWNLOAD_TIMEOUT;
            request.max_output = MAX_ARCHIVE_BYTES;
            request.follows_redirects = false;
            request.decodes_text = false;
            request.proxy = self.proxies.proxy_for(&url)?;
            if hosts == PackHosts::Any {
                request.host_policy.allow_url(&first_url);
            }
            let response = world.send_request(request).await.map_err(|error| match error {
                WorldError::PrivateAddress { host } if hosts == PackHosts::Public => {
                    ArchivePackError::PrivateHost(host)
                }
                error => error.into(),
            })?;
            let location = response.header("location").filter(|_| (300..400).contains(&response.status));
            match location {
                Some(location) => url = redirected(&url, &location)?,
                None if !(200..300).contains(&response.status) => {
                    return Err(ArchivePackError::Status(response.status));
                }
                None if response.body.is_truncated() => return Err(ArchivePackError::TooLarge),
                None => return Ok(response.body.bytes),
            }
        }
        Err(ArchivePackError::TooManyRedirects)
    }
}

fn read_file(url: &Url) -> Result<Vec<u8>, ArchivePackError> {
    let path = url.to_file_path().unwrap_or_else(|()| PathBuf::from(url.path()));
    let failed = |error| ArchivePackError::File { path: path.display().to_string(), error };
    // A pipe would never end.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(failed(std::io::Error::other("it is no regular file")));
    }
    let mut bytes = Vec::new();
    File::open(&path).and_then(|file| file.take(MAX_ARCHIVE_BYTES + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > MAX_ARCHIVE_BYTES { Err(ArchivePackError::TooLarge) } else { Ok(bytes) }
}

fn redirected(url: &Url, location: &str) -> Result<Url, ArchivePackError> {
    let next = url.join(location).map_err(|_| ArchivePackError::Redirect)?;
    if next.scheme() == "https" { Ok(next) } else { Err(ArchivePackError::Redirect) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common_folder(paths: &[&str]) -> Option<String> {
        let mut found = ArchivePaths::default();
        paths.iter().for_each(|path| assert_eq!(found.add_file(path), Ok(()), "{path}"));
        found.common_folder()
    }

    #[test]
    fn one_folder_around_everything_is_found() {
        assert_eq!(common_folder(&["a/x", "a/b/y"]).as_deref(), Some("a"));
        for paths in [&["a/x", "b/y"][..], &["a/x", "y"], &["y", "a/x"], &["a/x", "b/y", "a/z"], &["x"], &[]] {
            assert_eq!(common_folder(paths), None, "{paths:?}");
        }
    }

    #[test]
    fn drive_letters_are_not_folders() {
        for path in ["C:/x", "c:x", "../x", "/x", "a\\b"] {
            assert_eq!(ArchivePaths::default().add_file(path), Err(TreeError::Path { path: path.to_owned() }));
        }
        assert_eq!(ArchivePaths::default().add_file("ab:c"), Ok(()));
    }
}

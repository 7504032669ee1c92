//! The source of a pack: a folder of a repository, or of an archive.

use std::fmt;
use std::path::Path;

use url::Url;

use super::archive_source::ArchiveSource;
use crate::diagnostic::one_line;
use crate::files::normalize;

/// The schemes of repositories.
const SCHEMES: [&str; 3] = ["https://", "ssh://", "file://"];

/// Where a pack comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackSource {
    /// A repository.
    Git(GitSource),
    Archive(ArchiveSource),
}

/// Which hosts a pack may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackHosts {
    /// Every host: its user names it.
    Any,
    /// Those that everybody reaches, without credentials: only another pack names it.
    Public,
}

/// Why a pack is not fetched from a host.
pub(super) fn private_host(host: &str) -> String {
    format!(
        "host `{host}` has a private address, and another pack names it\nhelp: it is fetched if your own manifest has a pack of this host"
    )
}

impl PackSource {
    /// Whether another source is at the same host.
    pub fn is_at_host_of(&self, other: &PackSource) -> bool {
        let host = |source: &PackSource| {
            let url = Url::parse(source.url()).ok()?;
            Some((url.host_str()?.trim_end_matches('.').to_owned(), url.port()))
        };
        host(self).is_some_and(|own| host(other) == Some(own))
    }

    /// The URL of the repository or the archive.
    pub fn url(&self) -> &str {
        match self {
            PackSource::Git(source) => &source.url,
            PackSource::Archive(source) => &source.url,
        }
    }

    /// Whether another one is the same archive with other bytes, or the same altogether.
    pub fn is_same_apart_from_sha256(&self, other: &PackSource) -> bool {
        match (self, other) {
            (PackSource::Archive(one), PackSource::Archive(other)) => one.url == other.url && one.path == other.path,
            _ => self == other,
        }
    }
}

impl fmt::Display for PackSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PackSource::Git(source) => source.fmt(f),
            PackSource::Archive(source) => source.fmt(f),
        }
    }
}

/// A folder of a git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSource {
    /// The URL, which [`check_url`] takes.
    pub url: String,
    /// A branch, a tag or a commit; the default branch where there is none.
    pub rev: Option<String>,
    /// The folder, without `./` and `/` at its ends; the whole repository where there is none.
    pub path: Option<String>,
}

/// Why something is not a source of a pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Another scheme, or none.
    #[error("the URL of a repository begins with `https://`, `ssh://` or `file://`")]
    Scheme,
    /// A password, or a user of `https`.
    #[error("the URL of a repository contains credentials")]
    Credentials,
    /// The host or the user is something that a program could take for an option.
    #[error("invalid host in the URL of a repository")]
    Host,
    /// Spaces or control characters, or what only a web page has.
    #[error("invalid characters in the URL of a repository")]
    Characters,
    /// No name of a branch or a tag, and no commit.
    #[error("invalid revision `{}`: expected a branch, a tag or a commit of 40 digits", one_line(.0))]
    Revision(String),
    /// It is not below the root of the repository.
    #[error("path `{}` escapes the repository", one_line(.0))]
    Folder(String),
    /// Another scheme than those of archives, or none.
    #[error("the URL of an archive begins with `https://` or `file:///`")]
    ArchiveScheme,
    /// No URL, or one of nothing that could be an archive.
    #[error("invalid URL of an archive")]
    ArchiveUrl,
    /// A user, a password, or a parameter that is called like a credential.
    #[error("the URL of an archive contains credentials")]
    ArchiveCredentials,
    /// It is not below the root of the archive.
    #[error("path `{}` escapes the archive", one_line(.0))]
    ArchiveFolder(String),
    /// It is not a SHA-256.
    #[error("invalid `sha256`: expected 64 hexadecimal digits")]
    Sha256,
}

impl SourceError {
    /// What to write instead.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            SourceError::Credentials => Some("git has the credentials of its helpers, and ssh those of its agent"),
            SourceError::Scheme => Some("such as `https://github.com/OWNER/REPO`"),
            SourceError::ArchiveScheme => Some("such as `https://example.com/prompts-1.2.0.tar.gz`"),
            SourceError::ArchiveCredentials => Some("archives are downloaded without credentials; git has its own"),
            SourceError::Sha256 => Some("`sha256sum ARCHIVE` prints it, and `folio add URL` writes it"),
            _ => None,
        }
    }
}

impl GitSource {
    /// A checked source.
    ///
    /// # Errors
    /// A part of it is invalid.
    pub fn new(url: &str, rev: Option<&str>, path: Option<&str>) -> Result<GitSource, SourceError> {
        check_url(url)?;
        rev.map_or(Ok(()), check_revision)?;
        let path = path.map(check_folder).transpose()?.filter(|path| !path.is_empty());
        Ok(GitSource { url: url.to_owned(), rev: rev.map(str::to_owned), path })
    }

    /// The commit that the revision is, unless it could move.
    pub fn fixed_commit(&self) -> Option<&str> {
        self.rev.as_deref().filter(|rev| is_commit(rev))
    }
}

impl fmt::Display for GitSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)?;
        self.rev.iter().try_for_each(|rev| write!(f, " at {rev}"))?;
        self.path.iter().try_for_each(|path| write!(f, ", folder {path}"))
    }
}

/// Whether a text is the full name of a commit.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Checks the URL of a repository.
///
/// # Errors
/// It is of another scheme, has credentials, or could be taken for something else.
pub fn check_url(url: &str) -> Result<(), SourceError> {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && c.is_ascii() && !"?#\\\"'`$&;|<>*{}".contains(c);
    if !url.chars().all(is_plain) {
        return Err(SourceError::Characters);
    }
    let scheme = SCHEMES.iter().find(|scheme| url.starts_with(*scheme)).ok_or(SourceError::Scheme)?;
    let rest = url.get(scheme.len()..).unwrap_or_default();
    if *scheme == "file://" {
        return if rest.starts_with('/') { Ok(()) } else { Err(SourceError::Host) };
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if user.is_some_and(|user| *scheme == "https://" || user.contains(':')) {
        return Err(SourceError::Credentials);
    }
    let has_path = rest.get(authority.len() + 1..).is_some_and(|path| !path.trim_matches('/').is_empty());
    let is_valid = user.is_none_or(is_user) && is_host(host) && has_path;
    if is_valid { Ok(()) } else { Err(SourceError::Host) }
}

fn is_user(user: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !user.starts_with('-') && !user.is_empty() && user.bytes().all(is_word)
}

/// Whether a text is a host, with a port or without.
fn is_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, "1"),
    };
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_address = |name: &str| {
        let inner = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        inner.is_some_and(|inner| inner.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte)))
    };
    let is_name = name.bytes().all(is_word) && name.starts_with(|first: char| first.is_ascii_alphanumeric());
    (is_name || is_address(name)) && port.parse::<u16>().is_ok()
}

/// Checks a branch, a tag or a commit, by the rules of git for the names of references.
///
/// # Errors
/// git takes it for something else.
pub fn check_revision(rev: &str) -> Result<(), SourceError> {
    let is_allowed = |c: char| !c.is_whitespace() && !c.is_control() && !" ~^:?*[\\\"'`$+".contains(c);
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_valid = rev.chars().all(is_allowed)
        && rev.split('/').all(is_part)
        && !rev.starts_with('-')
        && !rev.ends_with('.')
        && !rev.contains("..")
        && !rev.contains("@{")
        && rev != "@";
    if is_valid { Ok(()) } else { Err(SourceError::Revision(rev.to_owned())) }
}

/// Checks a folder of a repository, and takes `./` and `/` off its ends.
///
/// # Errors
/// It escapes the repository.
pub fn check_folder(path: &str) -> Result<String, SourceError> {
    let error = || SourceError::Folder(path.to_owned());
    if Path::new(path).is_absolute() || path.contains('\\') || path.chars().any(char::is_control) {
        return Err(error());
    }
    let normalized = normalize(path).map_err(|_| error())?;
    let text = normalized.to_str().ok_or_else(error)?;
    let is_git = |part: &str| part.eq_ignore_ascii_case(".git");
    if text.split('/').any(is_git) { Err(error()) } else { Ok(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_repositories_are_https_ssh_or_file() {
        for url in [
            "https://github.com/acme/docs",
            "https://git.example:8443/a/b.git",
            "ssh://git@github.com/acme/docs.git",
            "ssh://git@[::1]:22/x",
            "file:///srv/docs",
        ] {
            assert_eq!(check_url(url), Ok(()), "{url}");
        }
        for (url, why) in [
            ("http://github.com/acme/docs", SourceError::Scheme),
            ("ext::sh -c touch% /tmp/x", SourceError::Characters),
            ("ext::sh", SourceError::Scheme),
            ("fd::17", SourceError::Scheme),
            ("git://x/y", SourceError::Scheme),
            ("-uupload", SourceError::Scheme),
            ("/srv/docs", SourceError::Scheme),
            ("HTTPS://x/y", SourceError::Scheme),
            ("https://me:pass@x/y", SourceError::Credentials),
            ("https://token@x/y", SourceError::Credentials),
            ("ssh://git:pass@x/y", SourceError::Credentials),
            ("ssh://-oProxyCommand=x/y", SourceError::Host),
            ("ssh://%2doProxyCommand/y", SourceError::Host),
            ("ssh://-l@x/y", SourceError::Host),
            ("https:///y", SourceError::Host),
            ("https://x", SourceError::Host),
            ("https://x/", SourceError::Host),
            ("https://x:port/y", SourceError::Host),
            ("file://host/x", SourceError::Host),
            ("https://x/y?z", SourceError::Characters),
            ("https://x/y\nz", SourceError::Characters),
        ] {
            assert_eq!(check_url(url), Err(why), "{url}");
        }
    }

    #[test]
    fn revisions_are_names_of_references_or_commits() {
        for rev in ["main", "v1.2.0", "feature/x", "refs/tags/v1", "1-x", "ü"] {
            assert_eq!(check_revision(rev), Ok(()), "{rev}");
        }
        for rev in [
            "", "-x", "--upload-pack=x", "a b", "a:b", "+a", "a..b", "a^", "a~1", "@", "a@{1}", "a.lock", "/a", "a/",
            "a//b", ".a", "a\nb", "a*", "a.",
        ] {
            assert_eq!(check_revision(rev), Err(SourceError::Revision(rev.to_owned())), "{rev}");
        }
    }

    #[test]
    fn folders_stay_in_the_repository() {
        for (path, expected) in [("a/b", "a/b"), ("./a/", "a"), ("", ""), (".", ""), ("a/../b", "b"), ("-x", "-x")] {
            assert_eq!(check_folder(path).as_deref(), Ok(expected), "{path}");
        }
        for path in ["..", "a/../../b", "/a", ".git", "a/.GIT/hooks", "a\\b", "a\nb"] {
            assert_eq!(check_folder(path), Err(SourceError::Folder(path.to_owned())), "{path}");
        }
    }
}

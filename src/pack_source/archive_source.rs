//! `ArchiveSource`, the source of a pack that is downloaded as one file.

use std::fmt;

use url::Url;

use super::source::{SourceError, check_folder};
use super::tree_digest::hex_encode;
use crate::digest::sha256;
use crate::redact::is_credential_name;

/// A folder of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveSource {
    /// The URL, which [`check_archive_url`] takes.
    pub url: String,
    /// The SHA-256 of the archive, in lower-case digits.
    pub sha256: String,
    /// The folder, without `./` and `/` at its ends; the whole archive where there is none.
    pub path: Option<String>,
}

impl ArchiveSource {
    /// A checked source.
    ///
    /// # Errors
    /// A part of it is invalid.
    pub fn new(url: &str, sha256: &str, path: Option<&str>) -> Result<ArchiveSource, SourceError> {
        check_archive_url(url)?;
        let sha256 = check_sha256(sha256)?;
        let path = path.map(check_archive_folder).transpose()?.filter(|path| !path.is_empty());
        Ok(ArchiveSource { url: url.to_owned(), sha256, path })
    }
}

impl fmt::Display for ArchiveSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with sha256 {}", self.url, self.sha256)?;
        self.path.iter().try_for_each(|path| write!(f, ", folder {path}"))
    }
}

/// The SHA-256 of the bytes of an archive, as manifests have it.
pub fn archive_sha256(bytes: &[u8]) -> String {
    hex_encode(&sha256(bytes))
}

/// Checks the URL of an archive: `https`, or a file of this machine.
///
/// # Errors
/// It is of another scheme, has credentials, or is not a URL.
pub fn check_archive_url(url: &str) -> Result<Url, SourceError> {
    let is_plain = |c: char| c.is_ascii_graphic() && !"\"'\\<>`{}|^".contains(c);
    if !url.starts_with("https://") && !url.starts_with("file://") {
        return Err(SourceError::ArchiveScheme);
    }
    let parsed = Url::parse(url).ok().filter(|_| url.chars().all(is_plain)).ok_or(SourceError::ArchiveUrl)?;
    let is_signed = parsed.query_pairs().any(|(name, _)| is_credential_name(&name));
    if !parsed.username().is_empty() || parsed.password().is_some() || is_signed {
        return Err(SourceError::ArchiveCredentials);
    }
    let is_file_of_this_machine = parsed.scheme() == "file" && url.starts_with("file:///") && parsed.query().is_none();
    let is_valid = parsed.scheme() == "https" || is_file_of_this_machine;
    let has_path = !parsed.path().trim_matches('/').is_empty();
    if is_valid && has_path && parsed.fragment().is_none() { Ok(parsed) } else { Err(SourceError::ArchiveUrl) }
}

/// Checks a SHA-256, and returns it in lower case.
///
/// # Errors
/// It is something else.
pub fn check_sha256(text: &str) -> Result<String, SourceError> {
    let is_valid = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_valid { Ok(text.to_ascii_lowercase()) } else { Err(SourceError::Sha256) }
}

/// Checks a folder of an archive, and takes `./` and `/` off its ends.
///
/// # Errors
/// It escapes the archive.
pub fn check_archive_folder(path: &str) -> Result<String, SourceError> {
    check_folder(path).map_err(|_| SourceError::ArchiveFolder(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_archives_are_https_or_file() {
        for url in [
            "https://example.com/a.tar.gz",
            "https://example.com:8443/a/b.zip",
            "https://example.com/archive?path=prompts&dl=1",
            "https://example.com/a%20b.tgz",
            "file:///srv/a.tar",
        ] {
            assert!(check_archive_url(url).is_ok(), "{url}");
        }
        for (url, why) in [
            ("http://example.com/a.zip", SourceError::ArchiveScheme),
            ("ssh://example.com/a.zip", SourceError::ArchiveScheme),
            ("/srv/a.zip", SourceError::ArchiveScheme),
            ("HTTPS://example.com/a.zip", SourceError::ArchiveScheme),
            ("https://me:pass@example.com/a.zip", SourceError::ArchiveCredentials),
            ("https://token@example.com/a.zip", SourceError::ArchiveCredentials),
            ("https://example.com/a.zip?access_token=x", SourceError::ArchiveCredentials),
            ("https://example.com/a.zip?X-Amz-Signature=x", SourceError::ArchiveCredentials),
            ("https://example.com/a.zip?X-Amz-Credential=x", SourceError::ArchiveCredentials),
            ("https://example.com/a.zip#x", SourceError::ArchiveUrl),
            ("https://example.com/", SourceError::ArchiveUrl),
            ("https://", SourceError::ArchiveUrl),
            ("https://example.com/a b", SourceError::ArchiveUrl),
            ("https://example.com/a\nb", SourceError::ArchiveUrl),
            ("file://host/a.zip", SourceError::ArchiveUrl),
            ("file:///", SourceError::ArchiveUrl),
            ("file:///a.zip?x", SourceError::ArchiveUrl),
        ] {
            assert_eq!(check_archive_url(url), Err(why), "{url}");
        }
    }

    #[test]
    fn digest_of_an_archive_is_64_digits() {
        assert_eq!(check_sha256(&"AB".repeat(32)), Ok("ab".repeat(32)));
        for text in ["", "ab", &"x".repeat(64), &"a".repeat(65), &format!("sha256:{}", "a".repeat(57))] {
            assert_eq!(check_sha256(text), Err(SourceError::Sha256), "{text}");
        }
    }
}

//! `folio.lock`: what each pack is, to the byte, and what it may do.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;

use super::archive_source::ArchiveSource;
use super::source::{GitSource, PackSource, SourceError, is_commit};
use super::tree_digest::TreeDigest;
use crate::diagnostic::{Code, FileId, Report, Reporting};
use crate::manifest::Grant;
use crate::value_types::NamedMap;
use crate::yaml::{Location, Spanned, flow, flow_scalar, from_document, parse, scalar};

/// The name of the file.
pub const LOCK_NAME: &str = "folio.lock";
/// The version of its format.
const VERSION: i64 = 1;
/// The first lines of the file.
const HEADER: &str = "# Written by folio. Commit it: it says what each pack is, to the byte.\n";

/// The packs of a manifest, by their keys; that of a pack in a pack is `OUTER/INNER`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackLock {
    pub packs: BTreeMap<String, LockedPack>,
}

/// One pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedPack {
    /// Where it comes from, as the manifest says.
    pub source: PackSource,
    /// The commit, in a repository.
    pub commit: Option<String>,
    /// The digest of its files.
    pub digest: TreeDigest,
    /// How many files it has.
    pub files: u64,
    /// What it may do.
    pub trust: Option<TrustRecord>,
}

/// What a pack may do while it has one digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRecord {
    /// The digest of the files that were granted it.
    pub digest: TreeDigest,
    /// The grants.
    pub allow: BTreeSet<Grant>,
    /// The settings of the import that were shown with it: an object of YAML values; null if there were none.
    pub settings: Value,
}

/// How a lock, or the cache, differs from the manifest in one pack.
#[derive(Debug, thiserror::Error)]
pub enum LockMismatch {
    /// The lock does not have the pack.
    #[error("pack `{key}` is not in {LOCK_NAME}")]
    Missing { key: String },
    /// The lock has it from elsewhere.
    #[error("{LOCK_NAME} has another source for pack `{key}`: {locked}")]
    OtherSource {
        key: String,
        /// The source in the lock.
        locked: PackSource,
    },
    /// What is in the cache has another digest.
    #[error("pack `{key}` in the cache does not match {LOCK_NAME}")]
    ChangedInCache { key: String },
}

impl LockedPack {
    /// What it may do as its files are, where its import has these settings.
    pub fn grants(&self, settings: &Value) -> BTreeSet<Grant> {
        let granted = self.trust_of_files().filter(|granted| granted.settings == *settings);
        granted.map(|granted| granted.allow.clone()).unwrap_or_default()
    }

    /// What was granted to its files as they are.
    pub fn trust_of_files(&self) -> Option<&TrustRecord> {
        self.trust.as_ref().filter(|granted| granted.digest == self.digest)
    }

    /// The digits of its commit, or of the SHA-256 of its archive.
    pub fn revision(&self) -> &str {
        match &self.source {
            PackSource::Git(_) => self.commit.as_deref().unwrap_or_default(),
            PackSource::Archive(source) => &source.sha256,
        }
    }

    /// The same, with what they are.
    pub fn version(&self) -> String {
        let kind = if matches!(self.source, PackSource::Git(_)) { "commit" } else { "sha256" };
        format!("{kind} {}", self.revision())
    }
}

/// Whether a text may be the key of a pack in a manifest: letters, digits, `-`, `_` and `.`, from a letter or digit on.
pub fn is_pack_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// The file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct LockFile {
    lock: Option<Spanned<i64>>,
    packs: NamedMap<Spanned<LockFilePack>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct LockFilePack {
    git: Option<Spanned<String>>,
    rev: Option<Spanned<String>>,
    url: Option<Spanned<String>>,
    sha256: Option<Spanned<String>>,
    path: Option<Spanned<String>>,
    commit: Option<Spanned<String>>,
    digest: Option<Spanned<String>>,
    files: Option<u64>,
    granted: Option<Spanned<LockFileTrustRecord>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct LockFileTrustRecord {
    digest: Option<Spanned<String>>,
    allow: Vec<Grant>,
    settings: Value,
}

impl PackLock {
    /// Reads a file; reports what is wrong with it.
    pub fn parse(file: FileId, report: &mut Report) -> Option<PackLock> {
        let (lock, reported) = report.attempt(|report| PackLock::read(file, report));
        let is_valid = reported.is_empty();
        report.extend(reported);
        lock.filter(|_| is_valid)
    }

    fn read(file: FileId, report: &mut Report) -> Option<PackLock> {
        let document = parse(file, report)?;
        let file: LockFile = from_document(&document, report)?;
        check_version(&file, document.root_location(), report);
        let mut lock = PackLock::default();
        for (key, pack) in &file.packs {
            if !key.split('/').all(is_pack_key) {
                report.error(Code::BadName, key.location.span(), format!("invalid key of a pack `{}`", key.value));
            }
            let pack = PackReader { at: pack.location, report }.read(pack);
            lock.packs.extend(pack.map(|pack| (key.value.clone(), pack)));
        }
        Some(lock)
    }

    /// The pack with this key from this source.
    ///
    /// # Errors
    /// The lock does not have it, or has it from elsewhere.
    pub fn pack_from(&self, source: &PackSource, key: &str) -> Result<&LockedPack, LockMismatch> {
        match self.packs.get(key) {
            Some(locked) if locked.source == *source => Ok(locked),
            Some(locked) => Err(LockMismatch::OtherSource { key: key.to_owned(), locked: locked.source.clone() }),
            None => Err(LockMismatch::Missing { key: key.to_owned() }),
        }
    }

    /// The text of the file.
    pub fn to_yaml(&self) -> String {
        let mut text = format!("{HEADER}lock: {VERSION}\npacks:{}\n", if self.packs.is_empty() { " {}" } else { "" });
        for (key, pack) in &self.packs {
            let _ = writeln!(text, "  {}:", scalar(key));
            write_pack(&mut text, pack);
        }
        text
    }
}

fn check_version(file: &LockFile, at: Location, report: &mut Report) {
    match &file.lock {
        Some(version) if version.value == VERSION => {}
        Some(version) => {
            let message = format!("unsupported version {} of {LOCK_NAME}", version.value);
            report.error(Code::Version, version.location.span(), message).help("install a newer folio");
        }
        None => {
            report.error(Code::MissingKey, at.span(), "missing key `lock`").help(format!("add `lock: {VERSION}`"));
        }
    }
}

/// Reads one pack of the file.
struct PackReader<'a> {
    at: Location,
    report: &'a mut Report,
}

impl PackReader<'_> {
    fn read(&mut self, pack: &LockFilePack) -> Option<LockedPack> {
        let (source, commit) = match &pack.url {
            Some(url) => (PackSource::Archive(self.archive(url, pack)?), None),
            None => {
                let (source, commit) = self.repository(pack)?;
                (PackSource::Git(source), Some(commit))
            }
        };
        let digest = self.required("digest", pack.digest.as_ref())?;
        let digest = self.digest(digest)?;
        let trust = match &pack.granted {
            Some(granted) => Some(self.trust_record(granted)?),
            None => None,
        };
        Some(LockedPack { source, commit, digest, files: pack.files.unwrap_or(0), trust })
    }

    fn repository(&mut self, pack: &LockFilePack) -> Option<(GitSource, String)> {
        let text = |key: &Option<Spanned<String>>| key.as_ref().map(|key| key.value.clone());
        let url = self.required("git", pack.git.as_ref())?;
        let commit = self.required("commit", pack.commit.as_ref())?;
        if !is_commit(commit) {
            self.bad_value(commit.location, "expected a commit of 40 hexadecimal digits".to_owned());
        }
        let source = GitSource::new(url, text(&pack.rev).as_deref(), text(&pack.path).as_deref());
        Some((self.valid(url, source)?, commit.value.clone()))
    }

    fn archive(&mut self, url: &Spanned<String>, pack: &LockFilePack) -> Option<ArchiveSource> {
        let sha256 = self.required("sha256", pack.sha256.as_ref())?;
        for (key, value) in [("git", &pack.git), ("rev", &pack.rev), ("commit", &pack.commit)] {
            if let Some(value) = value {
                self.bad_value(value.location, format!("`{key}` cannot be used with `url`"));
            }
        }
        let path = pack.path.as_ref().map(|path| path.as_str());
        let source = ArchiveSource::new(url, sha256, path);
        self.valid(url, source)
    }

    fn valid<S>(&mut self, url: &Spanned<String>, source: Result<S, SourceError>) -> Option<S> {
        source.map_err(|error| self.bad_value(url.location, error.to_string())).ok()
    }

    fn trust_record(&mut self, record: &Spanned<LockFileTrustRecord>) -> Option<TrustRecord> {
        self.at = record.location;
        let digest = self.required("digest", record.digest.as_ref())?;
        let (allow, settings) = (record.allow.iter().copied().collect(), record.settings.clone());
        Some(TrustRecord { digest: self.digest(digest)?, allow, settings })
    }

    fn required<'w>(&mut self, key: &str, value: Option<&'w Spanned<String>>) -> Option<&'w Spanned<String>> {
        if value.is_none() {
            self.report.error(Code::MissingKey, self.at.span(), format!("missing key `{key}`"));
        }
        value
    }

    fn digest(&mut self, digest: &Spanned<String>) -> Option<TreeDigest> {
        digest.parse().map_err(|error| self.bad_value(digest.location, format!("{error}"))).ok()
    }

    fn bad_value(&mut self, at: Location, message: String) {
        self.report
            .error(Code::BadValue, at.span(), message)
            .help("restore the file, or remove it and run `folio lock`");
    }
}

fn write_pack(text: &mut String, pack: &LockedPack) {
    let LockedPack { source, commit, digest, files, trust } = pack;
    let digest_text = digest.to_string();
    let of_source = match source {
        PackSource::Git(GitSource { url, rev, path }) => {
            [("git", Some(url)), ("rev", rev.as_ref()), ("path", path.as_ref())]
        }
        PackSource::Archive(ArchiveSource { url, sha256, path }) => {
            [("url", Some(url)), ("sha256", Some(sha256)), ("path", path.as_ref())]
        }
    };
    let keys = of_source.into_iter().chain([("commit", commit.as_ref()), ("digest", Some(&digest_text))]);
    for (key, value) in keys.filter_map(|(key, value)| Some((key, value?))) {
        let _ = writeln!(text, "    {key}: {}", scalar(value));
    }
    let _ = writeln!(text, "    files: {files}");
    if let Some(TrustRecord { digest, allow, settings }) = trust {
        let allow: Vec<&str> = allow.iter().map(|grant| grant.as_str()).collect();
        let (digest, allow) = (flow_scalar(&digest.to_string()), allow.join(", "));
        let settings = if settings.is_null() { String::new() } else { format!(", settings: {}", flow(settings)) };
        let _ = writeln!(text, "    granted: {{ digest: {digest}, allow: [{allow}]{settings} }}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DIGEST: &str = "sha256:df80ec6e9043388ab0a25652e1d6a6a8ec3aed25db176a777d35d05d296fe9ba";

    fn parsed(text: &str) -> Result<PackLock, Vec<String>> {
        let mut report = Report::default();
        let file = report.sources.add(LOCK_NAME, text.to_owned());
        let lock = PackLock::parse(file, &mut report);
        lock.ok_or_else(|| report.diagnostics().iter().map(|diagnostic| diagnostic.message.clone()).collect())
    }

    #[test]
    fn written_lock_is_read_as_it_was() {
        let digest: TreeDigest = DIGEST.parse().unwrap();
        for (rev, commit) in [("v1.2.0", "3f2a"), ("1e5", "1234"), ("true", "1e10"), ("a#b", "12ab")] {
            let source = GitSource::new("https://github.com/acme/docs", Some(rev), Some("prompts/ü")).unwrap();
            let settings = if rev == "1e5" {
                Value::Null
            } else {
                json!({
                    "format": rev, "a: b": ["{{x}} #", { "c": 1, "d": 1.0, "e": null, "f": "0x2a" }],
                    "env": { "P": "\u{7f}\u{85}\u{2028}\u{feff}\"\\ \u{1b}[8m\n: {}\u{e0041}\u{10ffff}", "Q": "" },
                })
            };
            let granted = TrustRecord { digest, allow: [Grant::Exec, Grant::Http].into(), settings };
            let commit = format!("{commit:0<40}");
            let source = PackSource::Git(source);
            let pack = LockedPack { source, commit: Some(commit), digest, files: 12, trust: Some(granted) };
            let url = "https://example.com/a.zip?path=x&y=1";
            let archive = ArchiveSource::new(url, &"7e".repeat(32), rev.get(..1)).unwrap();
            let source = PackSource::Archive(archive);
            let other = LockedPack { source, commit: None, digest, files: 1, trust: None };
            let packs = [("docs/1".to_owned(), pack.clone()), ("null".to_owned(), pack), ("z".to_owned(), other)];
            let lock = PackLock { packs: packs.into() };
            assert_eq!(parsed(&lock.to_yaml()).as_ref(), Ok(&lock), "{}", lock.to_yaml());
        }
        assert_eq!(parsed(&PackLock::default().to_yaml()), Ok(PackLock::default()));
    }

    #[test]
    fn hostile_lock_is_refused() {
        let pack = |keys: &str| format!("lock: 1\npacks: {{ x: {{ {keys} }} }}\n");
        let commit = "a".repeat(40);
        let good = format!("git: https://x/y, commit: {commit}, digest: \"{DIGEST}\"");
        let good_archive = format!("url: https://x/y.zip, sha256: {:0>64}, digest: \"{DIGEST}\"", "a");
        assert!(parsed(&pack(&good)).is_ok());
        assert!(parsed(&pack(&good_archive)).is_ok());
        for text in [
            pack(&good.replace("https://x/y", "\"ext::sh -c x\"")),
            pack(&good.replace("https://x/y", "\"--upload-pack=x\"")),
            pack(&good.replace(DIGEST, "sha256:../../../etc")),
            pack(&good.replace(&commit, "HEAD")),
            pack(&good.replace(&commit, "--output=/tmp/x")),
            pack(&format!("{good}, rev: \"--x\"")),
            pack(&format!("{good}, path: ../x")),
            pack(&format!("{good}, other: 1")),
            pack(&format!("{good}, granted: {{ allow: [exec] }}")),
            pack(&format!("{good}, granted: {{ digest: x, allow: [exec] }}")),
            pack(&format!("{good}, granted: {{ digest: \"{DIGEST}\", allow: [all] }}")),
            pack(&good).replace("lock: 1", "lock: 2"),
            pack(&good).replace("lock: 1\n", ""),
            "<<<<<<< ours\nlock: 1\n".to_owned(),
            pack(&good_archive.replace("https://", "http://")),
            pack(&good_archive.replace("sha256: 0", "sha256: x")),
            pack(&good_archive.replace("sha256:", "rev:")),
            pack(&format!("{good_archive}, commit: {commit}")),
            pack(&format!("{good_archive}, git: https://x/y")),
            pack(&format!("{good_archive}, path: ../x")),
        ] {
            assert!(parsed(&text).is_err(), "{text}");
        }
    }
}

//! From bytes to a [`ApiDocument`]: the file itself, and the local files that its `$ref`s name.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;

use serde_json::Value;
use url::Url;

use super::dialect::modernize;
use super::document::{ApiDocument, DocumentFile, referenced_path};
use crate::diagnostic::{Code, Consequence, FileId, Report, Reporting, Span};
use crate::files::Folder;
use crate::yaml::{Document, Documents, Location, decode, parse, parse_json};

/// How large a description may be, with all its files.
pub const MAX_DESCRIPTION_BYTES: u64 = 16 << 20;

/// How large a description may be of which a part is imported: what is not of it is not parsed.
pub const MAX_PARTIAL_BYTES: u64 = 256 << 20;

/// How many files a description may have.
pub(super) const MAX_FILES: usize = 256;

/// A description that was read and not yet looked into.
pub struct Source {
    /// By what name people know it.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
    /// The folder in which its local references are looked for.
    pub folder: Option<Folder>,
    /// The files that were fetched with it, by their paths from where it stands.
    pub fetched: HashMap<String, Vec<u8>>,
    /// Where it was fetched from, to which the URLs in it are relative.
    pub url: Option<Url>,
}

struct Loader<'s> {
    source: &'s Source,
    report: &'s mut Report,
    files: Vec<DocumentFile>,
    documents: Documents,
    /// How many bytes may still be read.
    remaining_bytes: u64,
}

/// Loads a description. `None` where it is not a description: then the report says why.
pub(super) fn load(source: &Source, bytes: &[u8], report: &mut Report) -> Option<ApiDocument> {
    let remaining_bytes = MAX_DESCRIPTION_BYTES.saturating_sub(bytes.len() as u64);
    let mut loader = Loader { source, report, files: Vec::new(), documents: Documents::default(), remaining_bytes };
    let own_name = source.name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    loader.add(own_name, &source.name, bytes)?;
    let root = loader.files.first()?;
    let is_swagger_2 = is_swagger_2(&root.value, root.root, loader.report)?;
    loader.add_referenced();
    modernize(&mut loader.files, is_swagger_2);
    Some(ApiDocument::new(loader.files, loader.documents))
}

impl Loader<'_> {
    fn add(&mut self, path: String, display_path: &str, bytes: &[u8]) -> Option<()> {
        let (file, mut reported) = self.report.attempt(|report| decode(bytes, display_path, report));
        let (document, more) = self.report.attempt(|report| parse_either(file?, report));
        reported.extend(more);
        self.hide_user_info(file);
        let Some(document) = document else {
            self.report.extend(reported);
            return None;
        };
        // What a stricter reader would refuse, such as a repeated key, need not keep the rest from being imported.
        self.report.extend_as_warnings(reported, Consequence::RestRead);
        let root = self.documents.add(document);
        let value = self.documents.json(root);
        self.files.push(DocumentFile { path, value, root });
        Some(())
    }

    /// Names and passwords in URLs are not shown, wherever a warning points.
    fn hide_user_info(&mut self, file: Option<FileId>) {
        let sources = &mut self.report.sources;
        let shown = file.and_then(|file| Some((file, hide_user_info(sources.get(file)?.text())?)));
        if let Some((file, shown)) = shown {
            sources.replace_text(file, shown);
        }
    }

    /// Loads what the files refer to, and what that refers to. What is not found is told where it is needed.
    fn add_referenced(&mut self) {
        let mut seen: HashSet<String> = self.files.iter().map(|file| file.path.clone()).collect();
        let mut queue: VecDeque<usize> = VecDeque::from([0]);
        while let Some(file) = self.files.get(queue.pop_front().unwrap_or(usize::MAX)) {
            let mut paths = Vec::new();
            find_files(&file.value, &file.path, &mut paths);
            for path in paths {
                if seen.insert(path.clone()) && self.files.len() < MAX_FILES && self.add_file(path).is_some() {
                    queue.push_back(self.files.len() - 1);
                }
            }
        }
    }

    fn add_file(&mut self, path: String) -> Option<()> {
        let shown = path.clone();
        if let Some(bytes) = self.source.fetched.get(&path) {
            return self.add(path, &shown, bytes);
        }
        let bytes = self.source.folder.as_ref()?.read(Path::new(&path), self.remaining_bytes).ok()?;
        self.remaining_bytes = self.remaining_bytes.saturating_sub(bytes.len() as u64);
        self.add(path, &shown, &bytes)
    }
}

/// Parses JSON, or else YAML, which may begin with `{` too.
fn parse_either(file: FileId, report: &mut Report) -> Option<Document> {
    let text = report.sources.get(file)?.text().trim_start();
    let Some(inside) = text.strip_prefix('{') else { return parse(file, report) };
    let looks_like_json = inside.trim_start().starts_with('"');
    let (document, errors) = report.attempt(|report| parse_json(file, report));
    if document.is_some() {
        return document;
    }
    let (document, reported) = report.attempt(|report| parse(file, report));
    report.extend(if document.is_none() && looks_like_json { errors } else { reported });
    document
}

/// A text of the same length in which what stands before the `@` of URLs is hidden. `None` where there is nothing.
pub(super) fn hide_user_info(text: &str) -> Option<String> {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '/' | '\\');
    let (mut hidden, mut start) = (String::new(), 0);
    for word in text.split_inclusive(is_end) {
        let (user_info, _) = word.rsplit_once('@').unwrap_or_default();
        let before = text.get(..start)?;
        let is_in_url = before.ends_with("//") || before.ends_with("\\/") || user_info.contains(':');
        if !user_info.is_empty() && is_in_url {
            hidden.push_str(text.get(hidden.len()..start)?);
            hidden.push_str(&"*".repeat(user_info.len()));
        }
        start += word.len();
    }
    let rest = text.get(hidden.len()..)?;
    (!hidden.is_empty()).then(|| hidden + rest)
}

/// The files that the references in one of a description name.
pub(super) fn referenced_files(path: &str, bytes: &[u8]) -> Vec<String> {
    let mut report = Report::default();
    let source = Source { name: path.to_owned(), bytes: Vec::new(), folder: None, fetched: HashMap::new(), url: None };
    let (files, documents, remaining_bytes) = (Vec::new(), Documents::default(), 0);
    let mut loader = Loader { source: &source, report: &mut report, files, documents, remaining_bytes };
    let mut found = Vec::new();
    if loader.add(path.to_owned(), path, bytes).is_some() {
        loader.files.iter().for_each(|file| find_files(&file.value, &file.path, &mut found));
    }
    found
}

/// The files that references in a tree name.
fn find_files(value: &Value, from: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| find_files(item, from, found)),
        Value::Object(map) => {
            let reference = map.get("$ref").and_then(Value::as_str);
            let path = reference.and_then(|reference| reference.split('#').next()).filter(|path| !path.is_empty());
            found.extend(path.and_then(|path| referenced_path(from, path)));
            map.values().for_each(|inner| find_files(inner, from, found));
        }
        _ => {}
    }
}

/// Whether a description is Swagger 2.0, and not OpenAPI 3. `None` where it is neither.
fn is_swagger_2(value: &Value, root: Location, report: &mut Report) -> Option<bool> {
    let field = |key: &str| value.get(key).map(|field| field.as_str().map_or_else(|| field.to_string(), str::to_owned));
    let span = Span::start_of(root.file());
    match (field("openapi"), field("swagger")) {
        (Some(version), _) if version.starts_with("3.") => {
            warn_unknown_version(&version, span, report);
            Some(false)
        }
        (None, Some(version)) if version.starts_with('2') => Some(true),
        (Some(version), _) | (None, Some(version)) => {
            let shown = crate::diagnostic::truncate(&version, 40);
            report
                .error(Code::Version, span, format!("unsupported version `{shown}` of OpenAPI"))
                .help("supported are OpenAPI 3.0, 3.1 and 3.2, and Swagger 2.0");
            None
        }
        (None, None) => {
            report
                .error(Code::MissingKey, span, "not an OpenAPI description: missing field `openapi` or `swagger`")
                .help("a description begins with `openapi: 3.1.0`, or with `swagger: \"2.0\"`");
            None
        }
    }
}

/// Warns of a version that nobody has published yet: what is new in it is not known here.
fn warn_unknown_version(version: &str, span: Span, report: &mut Report) {
    let minor = version.split('.').nth(1).unwrap_or_default();
    if !["0", "1", "2"].contains(&minor) {
        let shown = crate::diagnostic::truncate(version, 40);
        report
            .warning(Code::Version, span, format!("unsupported version `{shown}` of OpenAPI: it is read as 3.1"))
            .help("supported are OpenAPI 3.0, 3.1 and 3.2, and Swagger 2.0");
    }
}

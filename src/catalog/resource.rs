//! Resources and resource templates: checked, listed, and read.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::action::Plan;
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::files::{FileError, Folder, mime_by_name, rfc3339};
use crate::manifest;
use crate::notation::{TextOrFile, is_identifier};
use crate::template::{FilePath, Scope, Template, Text};
use crate::uri::{UriTemplate, check_uri};
use crate::yaml::Spanned;

use super::answer::{Body, Contents, Refusal, RefusalKind};
use super::block::{Made, annotations, bare, check_icons, contents, icons};
use super::complete::{Sources, completions};
use super::entry::{Calling, Home, RunKeys, check_limits, knowing, print};
use super::face::{self, Annotations, CacheScope, Object};
use super::inputs::{Inputs, check_argument, check_name, complaint, is_taken};
use super::prompt::Building;
use super::result::{ResultPlan, Shown};
use super::root::Root;
use super::told::refused;

/// How large a file may be that is read as a resource.
const MAX_RESOURCE: u64 = 64 << 20;

/// A resource, or a template of resources, that is ready.
pub(super) struct Resource {
    pub(super) template: UriTemplate,
    pub(super) name: String,
    pub(super) completions: Sources,
    pub(super) home: Arc<Home>,
    pub(super) ttl_ms: Option<u64>,
    pub(super) cache_scope: Option<CacheScope>,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
    icons: Vec<face::Icon>,
    annotations: Option<Annotations>,
    meta: Option<Object>,
    size: Option<u64>,
    inputs: Inputs,
    content: Content,
    /// Changes when what was written changes.
    print: u64,
}

enum Content {
    Text(Template<Text>),
    Blob(Vec<u8>),
    File(Folder, PathBuf),
    /// The folder that a path never leaves, and what of the path stands below it.
    FileTemplate {
        folder: Folder,
        literal: PathBuf,
        path: Template<FilePath>,
    },
    Root(Root),
    Run(Box<Plan>, Box<ResultPlan>),
}

/// What a reading gave.
pub(super) enum Reading {
    Contents(Vec<Contents>),
    /// Blocks, some of which the catalog has yet to read.
    Made(Vec<Made>),
}

impl Resource {
    /// Checks a resource as it was written. `None` where something is wrong with it, or its pack may not act.
    pub(super) fn build(written: &Spanned<manifest::Resource>, building: Building<'_, '_>) -> Option<Resource> {
        let Building { compiler, references, home, name } = building;
        check_icons(written.icons.as_deref(), written.at, compiler);
        let template = uri(written, compiler)?;
        let inputs = variables(written, &template, compiler);
        let sources = completions(&written.arguments, inputs.as_ref(), compiler);
        let before = compiler.findings.report.sources.count();
        let content = content(written, &template, compiler, references);
        let hints = written.annotations.as_ref().map(|hints| annotations(hints, compiler));
        let print = print(written.at, before, compiler);
        let scope = written.cache_scope.map(super::listening::cache_scope);
        let inputs = inputs?;
        Some(Resource {
            template,
            name,
            completions: sources?,
            home: home.clone(),
            ttl_ms: written.ttl_ms,
            cache_scope: scope,
            title: written.title.clone(),
            description: written.description.clone(),
            mime_type: written.mime_type.as_ref().map(|mime| mime.value.clone()),
            icons: icons(written.icons.as_deref()),
            annotations: hints,
            meta: written.meta.clone(),
            size: written.size,
            inputs,
            content: content?,
            print,
        })
    }

    /// What it takes.
    pub(super) fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Its run, where it has one.
    pub(super) fn plan(&self) -> Option<&Plan> {
        match &self.content {
            Content::Run(plan, _) => Some(plan),
            _ => None,
        }
    }

    /// What of it stands in the list of resources: itself, the files of its root, or nothing where it is a template.
    pub(super) fn listed(&self) -> Vec<face::Resource> {
        if let Content::Root(root) = &self.content {
            return root.entries().iter().map(|entry| self.root_face(root, entry)).collect();
        }
        if !self.template.is_literal() {
            return Vec::new();
        }
        let face = self.face(self.template.as_str().to_owned());
        vec![match &self.content {
            Content::File(folder, path) => with_stat(face, folder, path),
            Content::Blob(bytes) => face::Resource { size: Some(bytes.len() as u64), ..face },
            _ => face,
        }]
    }

    fn root_face(&self, root: &Root, entry: &crate::files::Entry) -> face::Resource {
        let uri = self.template.expand(&|_| Some(entry.path.clone()));
        let mime_type = self.mime_type.clone().or_else(|| mime_by_name(&entry.path).map(str::to_owned));
        let modified = entry.modified.map(rfc3339);
        let annotations = Annotations { last_modified: modified, ..self.annotations.clone().unwrap_or_default() };
        debug_assert!(root.admits(&entry.path), "what is listed can be read");
        face::Resource {
            name: entry.path.clone(),
            title: None,
            mime_type,
            size: Some(entry.size),
            annotations: Some(annotations),
            ..self.face(uri)
        }
    }

    /// What of it stands in the list of templates.
    pub(super) fn listed_template(&self) -> Option<face::ResourceTemplate> {
        (!self.template.is_literal()).then(|| face::ResourceTemplate {
            uri_template: self.template.as_str().to_owned(),
            name: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            mime_type: self.mime_type.clone(),
            icons: self.icons.clone(),
            annotations: self.annotations.clone(),
            meta: self.meta.clone(),
        })
    }

    /// Itself as a link or a list shows it, under one of its URIs.
    pub(super) fn face(&self, uri: String) -> face::Resource {
        let guessed = || match &self.content {
            Content::File(_, path) => mime_by_name(&path.to_string_lossy()).map(str::to_owned),
            Content::Text(_) => Some("text/plain".to_owned()),
            _ => None,
        };
        face::Resource {
            uri,
            name: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            mime_type: self.mime_type.clone().or_else(guessed),
            size: self.size,
            icons: self.icons.clone(),
            annotations: self.annotations.clone(),
            meta: self.meta.clone(),
        }
    }

    /// What an action sees that completes one of its variables.
    pub(super) fn partly(&self, given: &BTreeMap<String, String>) -> Scope {
        self.home.scope(self.inputs.bind_partly(given))
    }

    /// The files of its root, for completion.
    pub(super) fn paths(&self) -> Option<Vec<String>> {
        match &self.content {
            Content::Root(root) => Some(root.entries().iter().map(|entry| entry.path.clone()).collect()),
            _ => None,
        }
    }

    /// The name of the variable that holds the path in its root.
    pub(super) fn path_variable(&self) -> Option<&str> {
        self.template.variables().first().map(|variable| variable.name.as_str())
    }

    /// Whether it could answer a URI that matches its template.
    pub(super) fn admits(&self, values: &IndexMap<String, String>) -> bool {
        match (&self.content, values.values().next()) {
            (Content::Root(root), Some(path)) => root.admits(path),
            _ => true,
        }
    }

    /// Reads what a URI of it names.
    ///
    /// # Errors
    /// Variables that do not fit, a file that is not there, and what an action refuses.
    pub(super) async fn read(
        &self,
        uri: &str,
        values: IndexMap<String, String>,
        calling: &Calling<'_>,
    ) -> Result<Reading, Refusal> {
        let path = values.values().next().cloned().unwrap_or_default();
        let given: Map<String, Value> = values.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
        let wrong = |violations: Vec<_>| {
            Refusal::new(RefusalKind::BadArguments, complaint(&violations)).with_data(json!({ "uri": uri }))
        };
        let arguments = self.inputs.bind_texts(Some(given)).map_err(wrong)?;
        let (calling, roots) = self.inputs.confined(&arguments, calling).await?;
        let scope = self.home.scope(arguments);
        if !matches!(self.content, Content::Run(..)) {
            calling.begins()?;
        }
        let body = match &self.content {
            Content::Text(text) => (Body::Text(text.render(&scope).map_err(refused)?.0), "text/plain".to_owned()),
            Content::Blob(bytes) => (Body::Blob(STANDARD.encode(bytes)), "application/octet-stream".to_owned()),
            Content::File(folder, file) => self.read_file(folder, file, uri)?,
            Content::FileTemplate { folder, literal, path } => {
                let rendered = path.render(&scope).map_err(|error| not_found(uri, &error.to_string()))?.text;
                let below = Path::new(&rendered).strip_prefix(literal).unwrap_or(Path::new(&rendered)).to_owned();
                self.read_file(folder, &below, uri)?
            }
            Content::Root(root) if root.admits(&path) => self.read_file(root.folder(), Path::new(&path), uri)?,
            Content::Root(_) => return Err(not_found(uri, &format!("there is no `{path}`"))),
            Content::Run(plan, result) => {
                let reading = self.run((plan, result), scope, uri, &calling).await;
                return reading.map_err(|refusal| knowing(roots, refusal));
            }
        };
        Ok(Reading::Contents(vec![self.contents(uri, body)]))
    }

    fn contents(&self, uri: &str, (body, guessed): (Body, String)) -> Contents {
        let mime_type = self.mime_type.clone().unwrap_or(guessed);
        Contents { uri: uri.to_owned(), mime_type: Some(mime_type), body, meta: self.meta.clone() }
    }

    fn read_file(&self, folder: &Folder, path: &Path, uri: &str) -> Result<(Body, String), Refusal> {
        match folder.read(path, MAX_RESOURCE) {
            Ok(bytes) => Ok(contents(bytes, &path.to_string_lossy())),
            Err(error @ (FileError::TooLarge { .. } | FileError::Denied { .. } | FileError::Other { .. })) => {
                Err(Refusal::new(RefusalKind::Internal, error.to_string()).with_data(json!({ "uri": uri })))
            }
            Err(error) => Err(not_found(uri, &error.to_string())),
        }
    }

    async fn run(
        &self,
        made: (&Plan, &ResultPlan),
        scope: Scope,
        uri: &str,
        calling: &Calling<'_>,
    ) -> Result<Reading, Refusal> {
        let (plan, result) = made;
        let ended = self.home.run((&self.name, plan), &scope, calling).await?;
        if let Some(words) = &ended.outcome.failed {
            let kind = if ended.outcome.status == Some(404) { RefusalKind::NotFound } else { RefusalKind::Internal };
            return Err(Refusal::new(kind, words.clone()).with_data(json!({ "uri": uri })));
        }
        let body = match result.make(Some(ended), scope)? {
            Shown::Content(made, _) => return Ok(Reading::Made(made)),
            Shown::Text(text, _) => (Body::Text(text), "text/plain".to_owned()),
            Shown::Value(Value::String(text)) => (Body::Text(text), "text/plain".to_owned()),
            Shown::Value(value) => (Body::Text(value.to_string()), "application/json".to_owned()),
            Shown::Itself(crate::action::Body::Json(_, text)) => (Body::Text(text), "application/json".to_owned()),
            Shown::Itself(crate::action::Body::Bytes(bytes, mime_type)) => {
                (Body::Blob(STANDARD.encode(bytes)), mime_type)
            }
            Shown::Itself(crate::action::Body::Text(text)) => (Body::Text(text), "text/plain".to_owned()),
            Shown::Itself(crate::action::Body::None) => (Body::Text(String::new()), "text/plain".to_owned()),
        };
        Ok(Reading::Contents(vec![self.contents(uri, body)]))
    }

    /// A number that changes when what a URI of it would answer changes, as far as files and the manifest go.
    pub(super) fn fingerprint(&self, values: &IndexMap<String, String>) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.print.hash(&mut hasher);
        let path = values.values().next().map(String::as_str).unwrap_or_default();
        let stat = match &self.content {
            Content::File(folder, file) => folder.stat(file).ok(),
            Content::Root(root) if root.admits(path) => root.folder().stat(Path::new(path)).ok(),
            Content::FileTemplate { folder, literal, path } => self.template_stat((folder, literal, path), values),
            _ => None,
        };
        stat.map(|stat| (stat.size, stat.modified)).hash(&mut hasher);
        hasher.finish()
    }

    fn template_stat(
        &self,
        file: (&Folder, &Path, &Template<FilePath>),
        values: &IndexMap<String, String>,
    ) -> Option<crate::files::Stat> {
        let (folder, literal, path) = file;
        let given = values.iter().map(|(name, value)| (name.clone(), Value::from(value.clone()))).collect();
        let scope = self.home.scope(self.inputs.bind_texts(Some(given)).ok()?);
        let rendered = path.render(&scope).ok()?.text;
        folder.stat(Path::new(&rendered).strip_prefix(literal).unwrap_or(Path::new(&rendered))).ok()
    }
}

/// Nothing answers a URI.
pub(super) fn not_found(uri: &str, words: &str) -> Refusal {
    Refusal::new(RefusalKind::NotFound, words).with_data(json!({ "uri": uri }))
}

fn with_stat(face: face::Resource, folder: &Folder, path: &Path) -> face::Resource {
    let Ok(stat) = folder.stat(path) else { return face };
    let modified = stat.modified.map(rfc3339);
    let annotations = Annotations { last_modified: modified, ..face.annotations.clone().unwrap_or_default() };
    face::Resource { size: Some(stat.size), annotations: Some(annotations), ..face }
}

fn uri(written: &Spanned<manifest::Resource>, compiler: &mut Compiler<'_>) -> Option<UriTemplate> {
    let Some(uri) = &written.uri else {
        compiler
            .error(Code::MissingKey, written.at, "a resource needs a `uri`")
            .help("such as `docs://policy` or `issue://{id}`");
        return None;
    };
    let fault = match UriTemplate::parse(uri) {
        Ok(template) if template.is_literal() => match check_uri(uri) {
            Ok(()) => return checked(uri, template, compiler),
            Err(fault) => fault,
        },
        Ok(template) => return checked(uri, template, compiler),
        Err(fault) => fault,
    };
    let span = compiler.span_within(uri.at, fault.range);
    let diagnostic = compiler.error(Code::Uri, span, fault.message);
    if let Some(help) = fault.help {
        diagnostic.help(help);
    }
    None
}

fn checked(uri: &Spanned<String>, template: UriTemplate, compiler: &mut Compiler<'_>) -> Option<UriTemplate> {
    let lower = uri.to_lowercase();
    if lower.starts_with("http:") || lower.starts_with("https:") {
        compiler
            .warning(
                Code::Client,
                uri.at,
                "clients fetch `http(s):` URIs from the web themselves, and not from this server",
            )
            .help("use a scheme of your own, such as `docs://`");
    }
    Some(template)
}

/// The variables of the URI: those that `arguments` does not describe are required texts.
fn variables(
    written: &Spanned<manifest::Resource>,
    template: &UriTemplate,
    compiler: &mut Compiler<'_>,
) -> Option<Inputs> {
    let mut arguments = written.arguments.clone();
    let names: Vec<&str> = template.variables().iter().map(|variable| variable.name.as_str()).collect();
    for name in arguments.keys().filter(|name| !names.contains(&name.value.as_str())) {
        compiler
            .error(Code::UnknownVariable, name.at, format!("the `uri` has no variable `{}`", name.value))
            .did_you_mean(name, name.at.span(), names.iter().copied());
    }
    for (name, argument) in &written.arguments {
        check_name(name, compiler);
        check_argument(name, argument, compiler);
    }
    for variable in template.variables() {
        if !arguments.contains_key(variable.name.as_str()) {
            let optional =
                matches!(variable.operator, crate::uri::Operator::Query | crate::uri::Operator::Continuation);
            let argument = manifest::Argument { required: Some(!optional), ..manifest::Argument::default() };
            let nowhere = crate::yaml::At::start_of(written.at.file());
            check_variable(&variable.name, written, compiler);
            arguments.insert(Spanned::new(variable.name.clone(), nowhere), Spanned::new(argument, nowhere));
        }
    }
    Inputs::of_checked(&arguments, compiler)
}

/// The name of a variable that only the URI declares; that some are helpers too, such as `path`, is no fault there.
fn check_variable(name: &str, written: &Spanned<manifest::Resource>, compiler: &mut Compiler<'_>) {
    if !is_identifier(name) || is_taken(name) {
        let at = written.uri.as_ref().map_or(written.at, |uri| uri.at);
        compiler
            .error(Code::BadName, at, format!("`{name}` cannot name a variable of a `uri`"))
            .help("use letters, digits and `_`, and none of `env server steps result arguments`");
    }
}

fn content(
    written: &Spanned<manifest::Resource>,
    template: &UriTemplate,
    compiler: &mut Compiler<'_>,
    references: &mut super::reference::References,
) -> Option<Content> {
    check_content_keys(written, compiler)?;
    if let Some(text) = &written.text {
        let text = compiler.text(text)?;
        return compiler.template(&text, Exposure::Client).map(Content::Text);
    }
    if let Some(blob) = &written.blob {
        return blob_content(blob, compiler);
    }
    if let Some(file) = &written.file {
        return if file.contains("{{") { file_template(file, compiler) } else { file_content(file, compiler) };
    }
    if let Some(root) = &written.root {
        return Root::build(written, root, template, compiler).map(Content::Root);
    }
    let keys = RunKeys {
        run: written.run.as_ref(),
        timeout: written.timeout,
        max_output: written.max_output,
        wants_json: false,
    };
    let ready = keys.compile(compiler);
    let result =
        compiler.with_names(ready.names, |compiler| ResultPlan::compile(written.result.as_ref(), compiler, references));
    Some(Content::Run(Box::new(ready.plan?), Box::new(result?)))
}

fn check_content_keys(written: &Spanned<manifest::Resource>, compiler: &mut Compiler<'_>) -> Option<()> {
    let keys = RunKeys {
        run: written.run.as_ref(),
        timeout: written.timeout,
        max_output: written.max_output,
        wants_json: false,
    };
    check_limits(&keys, written.at, compiler);
    if let (Some(result), None) = (&written.result, &written.run) {
        compiler.error(Code::Conflict, result.at, "`result` is made of what `run` gave, and there is no `run`");
    }
    for (name, there) in [("include", written.include.is_some()), ("exclude", written.exclude.is_some())] {
        if there && written.root.is_none() {
            let key = compiler.key(written.at, name);
            compiler.error(Code::Conflict, key, format!("`{name}` chooses files of a `root`, and there is none"));
        }
    }
    let ways = [
        written.text.is_some(),
        written.blob.is_some(),
        written.file.is_some(),
        written.root.is_some(),
        written.run.is_some(),
    ];
    if ways.into_iter().filter(|way| *way).count() == 1 {
        return Some(());
    }
    let names = ["text", "blob", "file", "root", "run"];
    let second = names.iter().zip(ways).filter(|(_, there)| *there).nth(1);
    let (code, at) = match second {
        Some((name, _)) => (Code::Conflict, compiler.key(written.at, name)),
        None => (Code::MissingKey, written.at),
    };
    compiler.error(code, at, "a resource is exactly one of `text`, `blob`, `file`, `root`, `run`");
    None
}

fn blob_content(blob: &Spanned<TextOrFile>, compiler: &mut Compiler<'_>) -> Option<Content> {
    match &blob.value {
        TextOrFile::Text(text) => match STANDARD.decode(bare(text)) {
            Ok(bytes) => Some(Content::Blob(bytes)),
            Err(_) => {
                compiler
                    .error(Code::BadValue, blob.at, "this is not base64")
                    .help("or name a file: `blob: { file: … }`");
                None
            }
        },
        TextOrFile::File(file) => file_content(compiler.file_of(file, blob.at)?, compiler),
    }
}

fn file_content(file: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Content> {
    let path = compiler.file(file, file.at)?;
    Some(Content::File(compiler.pack.folder.clone(), path))
}

/// A path that depends on the URI: the literal part before its first `{{` is the folder that it never leaves.
fn file_template(file: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<Content> {
    let path: Template<FilePath> = compiler.template(file, Exposure::Client)?;
    let before = file.split("{{").next().unwrap_or_default();
    let literal = before.rfind('/').map_or("", |slash| before.get(..slash).unwrap_or_default());
    let folder = compiler.path(literal, file.at)?;
    compiler.findings.reads.folder(compiler.pack.folder.path().join(&folder));
    match compiler.pack.folder.subfolder(&folder) {
        Ok(folder) => Some(Content::FileTemplate { folder, literal: PathBuf::from(literal), path }),
        Err(error) => {
            compiler.error(Code::NotFound, file.at, error.to_string());
            None
        }
    }
}

//! Resources and resource templates: listed and read.
//!
//! What is not here: how they are checked (`build`).

mod build;
mod named;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::action::Plan;
use crate::budget::Budget;
use crate::diagnostic::cut;
use crate::files::{Folder, mime_by_name, rfc3339};
use crate::template::{FilePath, Scope, Template, Text};
use crate::uri::UriTemplate;

use super::answer::{Body, Contents, Refusal, RefusalKind};
use super::block::Made;
use super::complete::{Asking, Owner, Sources};
use super::entry::{Calling, Home, knowing};
use super::face::{self, Annotations, CacheScope, Object};
use super::file;
use super::inputs::{Confined, Inputs, Misfit};
use super::result::{ResultPlan, Shown};
use super::root::Root;
use super::told::{exhausted, refused};
use super::{LONG_URI, URI};
use named::{Named, names};

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
    /// A digest of what was written.
    pub(super) digest: u64,
}

/// What it takes to go through one file of a root.
const PATH: usize = 256;

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
            return self.readable(root).map(|entry| self.root_face(root, entry)).collect();
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

    /// The files of its root whose paths its variable takes.
    fn readable<'r>(&'r self, root: &'r Root) -> impl Iterator<Item = &'r crate::files::Entry> {
        let taken = |path: &str| {
            self.path_variable().is_some_and(|variable| self.inputs.takes(variable, path, &Budget::default()))
        };
        root.entries().iter().filter(move |entry| taken(&entry.path))
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

    /// The values of a variable with which its URI names something, where that can be told: by `complete`, by the files
    /// of its root, or by those that its path can name.
    pub(super) async fn values(&self, asking: Asking<'_>) -> Option<Vec<String>> {
        if let Some(values) = self.completed().values(asking).await {
            return Some(values);
        }
        match &self.content {
            Content::Root(root) if self.path_variable() == Some(asking.argument) => {
                let paths = || self.readable(root).map(|entry| entry.path.clone()).collect();
                asking.calling.budget.run_sized(root.entries().len().saturating_mul(PATH), paths).ok()
            }
            Content::FileTemplate { folder, literal, path } => {
                let named = Named { folder, literal, path, resource: self, budget: asking.calling.budget };
                asking.calling.budget.wait(|| named.values(asking.argument, asking.given)).ok()?
            }
            _ => None,
        }
    }

    /// What its variables are completed by, where that is written.
    pub(super) fn completed(&self) -> Owner<'_> {
        Owner { sources: &self.completions, inputs: &self.inputs, home: &self.home }
    }

    /// The variables that something completes.
    pub(super) fn completed_variables(&self) -> impl Iterator<Item = &str> {
        let names = self.template.variables().iter().map(|variable| variable.name.as_str());
        names.filter(|name| self.completions.contains_key(*name) || self.completes_itself(name))
    }

    /// Its URI with this value of the one variable that it needs.
    pub(super) fn uri_with(&self, variable: &str, value: &str) -> Option<String> {
        let mut others = self.template.variables().iter().filter(|other| other.name != variable);
        let alone = others.all(|other| !self.inputs.requires(&other.name));
        alone.then(|| self.template.expand(&|name| (name == variable).then(|| value.to_owned())))
    }

    /// Whether the files that it has are values of the variable.
    pub(super) fn completes_itself(&self, variable: &str) -> bool {
        match &self.content {
            Content::Root(_) => self.path_variable() == Some(variable),
            Content::FileTemplate { path, .. } => names(path, variable),
            _ => false,
        }
    }

    /// The name of the variable that holds the path in its root.
    fn path_variable(&self) -> Option<&str> {
        self.template.variables().first().map(|variable| variable.name.as_str())
    }

    /// Whether it could answer a URI that matches its template.
    pub(super) fn admits(&self, values: &IndexMap<String, String>) -> bool {
        match (&self.content, values.values().next()) {
            (Content::Root(root), Some(path)) => root.admits(path),
            _ => true,
        }
    }

    /// Whether a URI of it names a file that is there; of what is made anew there is no telling, and so it is taken.
    pub(super) fn has(&self, values: &IndexMap<String, String>) -> bool {
        let path = values.values().next().map(String::as_str).unwrap_or_default();
        let is_file = |stat: crate::files::Stat| !stat.is_dir;
        match &self.content {
            // The folder of a variable that is not set has nothing, which is said elsewhere.
            Content::Root(root) if root.entries().is_empty() => true,
            Content::Root(root) => root.shows(path) && root.folder().stat(Path::new(path)).is_ok_and(is_file),
            Content::FileTemplate { folder, literal, path } => {
                self.template_stat((folder, literal, path), values).is_some_and(is_file)
            }
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
        let wrong = |misfit: Misfit| misfit.refusal().with_data(json!({ "uri": uri }));
        let budget = calling.budget_of(self.plan());
        let calling = &calling.charging(&budget);
        let bound = budget.run_sized(uri.len(), || self.inputs.bind_texts(Some(given), &budget)).map_err(exhausted)?;
        let arguments = bound.map_err(wrong)?;
        let Confined { arguments, calling, roots } = self.inputs.confined(arguments, calling).await?;
        let scope = self.home.scope(arguments, &budget);
        if !matches!(self.content, Content::Run(..)) {
            calling.begins()?;
        }
        let body = match &self.content {
            Content::Text(text) => (Body::Text(text.render(&scope).map_err(refused)?.0), "text/plain".to_owned()),
            Content::Blob(bytes) => {
                let encode = || Body::Blob(STANDARD.encode(bytes));
                (budget.run_sized(bytes.len(), encode).map_err(exhausted)?, "application/octet-stream".to_owned())
            }
            Content::File(folder, file) => file::body((folder, file), MAX_RESOURCE, uri, &budget)?,
            Content::FileTemplate { folder, literal, path } => {
                let rendered = path.render(&scope).map_err(|error| not_found(uri, &error.to_string()))?.text;
                let below = Path::new(&rendered).strip_prefix(literal).unwrap_or(Path::new(&rendered)).to_owned();
                file::body((folder, &below), MAX_RESOURCE, uri, &budget)?
            }
            Content::Root(root) if root.shows(&path) => {
                file::body((root.folder(), Path::new(&path)), MAX_RESOURCE, uri, &budget)?
            }
            Content::Root(_) => return Err(not_found(uri, &format!("there is no `{}`", cut(&path, URI)))),
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
        let (budget, size) = (calling.budget, ended.size());
        let shown = || result.make(Some(ended), scope);
        let body = match budget.run_sized(size, shown).map_err(exhausted)?? {
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

    /// A number that changes when what a URI of it would answer changes, as far as files and the manifest go. It is
    /// compared in this process alone.
    pub(super) fn fingerprint(&self, values: &IndexMap<String, String>) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.home.digest(self.digest).hash(&mut hasher);
        let path = values.values().next().map(String::as_str).unwrap_or_default();
        let stat = match &self.content {
            Content::File(folder, file) => folder.stat(file).ok(),
            Content::Root(root) if root.shows(path) => root.folder().stat(Path::new(path)).ok(),
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
        let budget = Budget::default();
        let scope = self.home.scope(self.inputs.bind_texts(Some(given), &budget).ok()?, &budget);
        let rendered = path.render(&scope).ok()?.text;
        folder.stat(Path::new(&rendered).strip_prefix(literal).unwrap_or(Path::new(&rendered))).ok()
    }
}

/// Nothing answers a URI.
pub(super) fn not_found(uri: &str, words: &str) -> Refusal {
    Refusal::new(RefusalKind::NotFound, words).with_data(json!({ "uri": cut(uri, LONG_URI) }))
}

fn with_stat(face: face::Resource, folder: &Folder, path: &Path) -> face::Resource {
    let Ok(stat) = folder.stat(path) else { return face };
    let modified = stat.modified.map(rfc3339);
    let annotations = Annotations { last_modified: modified, ..face.annotations.clone().unwrap_or_default() };
    face::Resource { size: Some(stat.size), annotations: Some(annotations), ..face }
}

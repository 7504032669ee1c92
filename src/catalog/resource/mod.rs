//! Resources and resource templates: listed, read and completed.

pub(super) mod resource_root;
mod build;
mod file_template;
mod path_values;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::action::{CallContext, OutcomeBody, RunPlan};
use crate::budget::{Budget, Reservation};
use crate::diagnostic::truncate;
use crate::files::{mime_by_name, rfc3339};
use crate::template::{Scope, Template, TextSlot, UriSlot};
use crate::uri::UriTemplate;
use crate::value_types::CacheScope;

use super::CallTraits;
use super::access::{EntryAccess, rules_for};
use super::complete::{CompletionOwner, CompletionQuery, CompletionSources, ResourceCompletion};
use super::content::blob::CompiledBlob;
use super::content::block::RenderedBlock;
use super::content::compiled_result::{AuthorHints, CompiledResult, RenderedResult};
use super::content::pack_file::{self, FileLocation, KeptFile};
use super::entry::{PackContext, with_entry_timeout, with_roots_checkpoint};
use super::inputs::{BindError, Inputs};
use super::listing::{self, Annotations, ResourceInfo};
use super::resource::resource_root::ResourceRoot;
use super::result::call_result::{ResultContents, TextOrBlob};
use super::result::media_block::contents_type;
use super::result::refusal::{CallError, Refusal, RefusalKind};
use super::{Catalog, MAX_SHOWN_URI_CHARS};
use file_template::FileTemplate;
use path_values::{PathValues, has_variable};

/// How large a file may be that is read as a resource.
const MAX_RESOURCE_BYTES: u64 = 64 << 20;

/// A compiled resource or resource template.
pub(super) struct CompiledResource {
    /// The key in the manifest, with the prefix of its pack.
    pub(super) key: String,
    pub(super) template: UriTemplate,
    pub(super) completions: CompletionSources,
    pub(super) pack_context: Arc<PackContext>,
    pub(super) access: Option<Arc<EntryAccess>>,
    /// Whether its templates read who calls.
    pub(super) reads_caller: bool,
    /// Whether what is read depends on who calls, by what it uses too.
    pub(super) is_private: bool,
    pub(super) ttl_ms: Option<u64>,
    pub(super) cache_scope: Option<CacheScope>,
    pub(super) info: ResourceInfo,
    size: Option<u64>,
    pub(super) inputs: Inputs,
    content: ResourceContent,
    /// What reading it does, once the catalog is whole.
    pub(super) traits: CallTraits,
    /// A digest of its source.
    pub(super) digest: u64,
}

/// What it takes to go through one file of a root.
const PATH_OVERHEAD_BYTES: usize = 256;

enum ResourceContent {
    Text(Template<TextSlot>),
    Blob(Vec<u8>),
    BlobTemplate(CompiledBlob),
    File(KeptFile),
    FileTemplate(FileTemplate),
    Root(ResourceRoot),
    Run(Box<ResourceRun>),
}

/// A run, and what its outcome becomes.
struct ResourceRun {
    plan: RunPlan,
    result: CompiledResult,
}

/// The outcome of a read.
pub(super) struct ReadOutcome {
    pub(super) body: ReadBody,
    /// What it lacks, such as the end of a list that was cut.
    pub(super) note: Option<String>,
}

pub(super) enum ReadBody {
    Contents(ResultContents),
    /// Blocks, some of which the catalog has yet to read.
    Blocks(Vec<RenderedBlock>),
}

impl CompiledResource {
    /// How it is read. What is likely in memory is read at once: a text or bytes of the manifest, or a file that was read.
    pub(in crate::catalog) fn traits_now(&self) -> CallTraits {
        let begins_at_once = match &self.content {
            ResourceContent::Text(_) | ResourceContent::Blob(_) => true,
            ResourceContent::File(file) => file.is_kept(),
            _ => false,
        };
        CallTraits { begins_at_once, ..self.traits }
    }

    /// Its run, if any.
    pub(super) fn plan(&self) -> Option<&RunPlan> {
        match &self.content {
            ResourceContent::Run(run) => Some(&run.plan),
            _ => None,
        }
    }

    /// The URIs of the resources that it embeds.
    pub(super) fn resource_uris(&self) -> impl Iterator<Item = &Template<UriSlot>> {
        let result = match &self.content {
            ResourceContent::Run(run) => Some(&run.result),
            _ => None,
        };
        result.into_iter().flat_map(CompiledResult::resource_uris)
    }

    /// Its entries in the list of resources: itself, the files of its `root`, or none for a template.
    pub(super) fn listings(&self) -> Vec<listing::ResourceListing> {
        if let ResourceContent::Root(root) = &self.content {
            return self.readable_entries(root).map(|entry| self.root_listing(root, entry)).collect();
        }
        if !self.template.is_literal() {
            return Vec::new();
        }
        let listing = self.listing(self.template.as_str().to_owned());
        vec![match &self.content {
            ResourceContent::File(KeptFile { file, .. }) => {
                let Ok(stat) = file.folder.stat(&file.path) else { return vec![listing] };
                let last_modified = stat.modified.map(rfc3339);
                let annotations = Annotations { last_modified, ..listing.info.annotations.unwrap_or_default() };
                let info = ResourceInfo { annotations: Some(annotations), ..listing.info };
                listing::ResourceListing { size: Some(stat.size), info, ..listing }
            }
            ResourceContent::Blob(bytes) => listing::ResourceListing { size: Some(bytes.len() as u64), ..listing },
            _ => listing,
        }]
    }

    /// The files of its root whose paths its variable takes.
    fn readable_entries<'r>(&'r self, root: &'r ResourceRoot) -> impl Iterator<Item = &'r crate::files::FileEntry> {
        let taken = |path: &str| self.path_variable().is_some_and(|variable| self.inputs.accepts(variable, path));
        root.entries().iter().filter(move |entry| taken(&entry.path))
    }

    fn root_listing(&self, root: &ResourceRoot, entry: &crate::files::FileEntry) -> listing::ResourceListing {
        let uri = self.template.expand(&|_| Some(entry.path.clone()));
        let mime_type = self.info.mime_type.clone().or_else(|| mime_by_name(&entry.path).map(str::to_owned));
        let modified = entry.modified.map(rfc3339);
        let annotations = Annotations { last_modified: modified, ..self.info.annotations.clone().unwrap_or_default() };
        debug_assert!(root.matches(&entry.path), "what is listed can be read");
        listing::ResourceListing {
            uri,
            info: ResourceInfo {
                name: entry.path.clone(),
                title: None,
                mime_type,
                annotations: Some(annotations),
                ..self.info.clone()
            },
            size: Some(entry.size),
        }
    }

    /// Its listing under one of its URIs.
    pub(super) fn listing(&self, uri: String) -> listing::ResourceListing {
        let guessed = || match &self.content {
            ResourceContent::File(KeptFile { file, .. }) => {
                mime_by_name(&file.path.to_string_lossy()).map(str::to_owned)
            }
            ResourceContent::Text(_) => Some("text/plain".to_owned()),
            _ => None,
        };
        let mime_type = self.info.mime_type.clone().or_else(guessed);
        listing::ResourceListing { uri, info: ResourceInfo { mime_type, ..self.info.clone() }, size: self.size }
    }

    /// The same, where it is a file of its root as that is listed.
    pub(super) fn linked_listing(&self, uri: String, values: &IndexMap<String, String>) -> listing::ResourceListing {
        let ResourceContent::Root(root) = &self.content else { return self.listing(uri) };
        let path = self.path_variable().and_then(|variable| values.get(variable));
        let entries = root.entries();
        let at = path.and_then(|path| entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok());
        match at.and_then(|at| entries.get(at)) {
            Some(entry) => listing::ResourceListing { uri, ..self.root_listing(root, entry) },
            None => self.listing(uri),
        }
    }

    /// The values of a variable, if known: from `complete`, from the files of its `root`, or from the files that its
    /// path matches.
    pub(super) async fn completion_values(&self, query: CompletionQuery<'_>) -> Option<Vec<String>> {
        if let Some(values) = self.completion_owner().values(query).await {
            return Some(values);
        }
        match &self.content {
            ResourceContent::Root(root) if self.path_variable() == Some(query.argument) => {
                let paths = || self.readable_entries(root).map(|entry| entry.path.clone()).collect();
                query.call.budget.run_sized(root.entries().len().saturating_mul(PATH_OVERHEAD_BYTES), paths).ok()
            }
            ResourceContent::FileTemplate(file) => {
                let named = PathValues { file, resource: self, budget: &query.call.budget };
                query.call.budget.run_io(|| named.values(query.argument, query.other_arguments)).ok()?
            }
            _ => None,
        }
    }

    /// Its completion sources.
    pub(super) fn completion_owner(&self) -> CompletionOwner<'_> {
        CompletionOwner { sources: &self.completions, inputs: &self.inputs, pack_context: &self.pack_context }
    }

    /// The resource of this name in the same pack.
    pub(super) fn find<'a>(
        resources: &'a [CompiledResource],
        name: &str,
        pack_context: &PackContext,
    ) -> Option<&'a CompiledResource> {
        let qualified = pack_context.prefix.qualify(name);
        let is_own = |resource: &&CompiledResource| std::ptr::eq(Arc::as_ptr(&resource.pack_context), pack_context);
        resources.iter().filter(is_own).find(|resource| resource.key == qualified)
    }

    /// The variable that completes an argument: the named one, else the only completed one, else the one with the
    /// argument's name.
    pub(super) fn completed_variable(&self, completion: &ResourceCompletion, argument: &str) -> Option<&str> {
        let completed: Vec<&str> = self.completed_variables().collect();
        match (&completion.variable, completed.as_slice()) {
            (None, [only]) => Some(only),
            (variable, _) => {
                let name = variable.as_ref().map_or(argument, |variable| variable.as_str());
                completed.into_iter().find(|variable| *variable == name)
            }
        }
    }

    /// The variables that something completes.
    pub(super) fn completed_variables(&self) -> impl Iterator<Item = &str> {
        let names = self.template.variables().iter().map(|variable| variable.name.as_str());
        names.filter(|name| self.completions.get(name).is_some() || self.completes_from_files(name))
    }

    /// Its URI with this value, if it needs no other variable.
    pub(super) fn uri_with(&self, variable: &str, value: &str) -> Option<String> {
        let mut others = self.template.variables().iter().filter(|other| other.name != variable);
        let alone = others.all(|other| !self.inputs.requires(&other.name));
        alone.then(|| self.template.expand(&|name| (name == variable).then(|| value.to_owned())))
    }

    /// Whether its files are values of the variable.
    pub(super) fn completes_from_files(&self, variable: &str) -> bool {
        match &self.content {
            ResourceContent::Root(_) => self.path_variable() == Some(variable),
            ResourceContent::FileTemplate(file) => has_variable(&file.path, variable),
            _ => false,
        }
    }

    /// The name of the variable that holds the path in its root.
    fn path_variable(&self) -> Option<&str> {
        self.template.variables().first().map(|variable| variable.name.as_str())
    }

    /// Whether it could answer a URI that matches its template.
    pub(super) fn may_answer(&self, values: &IndexMap<String, String>) -> bool {
        match (&self.content, values.values().next()) {
            (ResourceContent::Root(root), Some(path)) => root.matches(path),
            _ => true,
        }
    }

    /// Whether the file of a URI exists; true for content that is not a file.
    pub(super) fn file_exists(&self, values: &IndexMap<String, String>) -> bool {
        let path = values.values().next().map(String::as_str).unwrap_or_default();
        let is_file = |stat: crate::files::FileStat| !stat.is_dir;
        match &self.content {
            // The folder of an unset variable is empty, which is reported elsewhere.
            ResourceContent::Root(root) if root.entries().is_empty() => true,
            ResourceContent::Root(root) => {
                root.matches_resolved(path) && root.folder().stat(Path::new(path)).is_ok_and(is_file)
            }
            ResourceContent::FileTemplate(file) => self.template_stat(file, values).is_some_and(is_file),
            _ => true,
        }
    }

    /// Refuses a caller who lacks a scope, before anything else is said of the URI.
    ///
    /// # Errors
    /// The caller lacks one; the refusal names all that a read of this URI needs.
    pub(super) fn check_scopes(&self, values: &IndexMap<String, String>, call: &CallContext) -> Result<(), Refusal> {
        let Some(access) = rules_for(self.access.as_ref(), call) else { return Ok(()) };
        access.check_scopes(self.known_scope(values, call).as_ref(), call).map(drop)
    }

    /// Refuses a caller who may not read a URI, as far as the URI says.
    ///
    /// # Errors
    /// The caller lacks a scope, or its condition does not permit it.
    pub(super) fn check_access(
        &self,
        values: &IndexMap<String, String>,
        call: &mut CallContext,
    ) -> Result<(), Refusal> {
        let Some(access) = rules_for(self.access.as_ref(), call) else { return Ok(()) };
        match self.known_scope(values, call) {
            Some(scope) => access.check(&scope, call),
            None => access.check_scopes(None, call).map(drop),
        }
    }

    /// What its templates see of the values of a URI, if these fit.
    fn known_scope(&self, values: &IndexMap<String, String>, call: &CallContext) -> Option<Scope> {
        let given = values.iter().map(|(name, value)| (name.clone(), Value::from(value.clone()))).collect();
        // What a path leads to is not known yet.
        let arguments = self.inputs.bind_coerced(Some(given)).ok().filter(|given| !self.inputs.confines(given))?;
        Some(self.inputs.scope(&self.pack_context, arguments, call))
    }

    /// Reads what a URI of it names.
    ///
    /// # Errors
    /// Variables that do not fit, a file that is not there, and what an action refuses.
    pub(super) async fn read(
        &self,
        uri: &str,
        values: IndexMap<String, String>,
        catalog: &Catalog,
        call: &CallContext,
    ) -> Result<ReadOutcome, CallError> {
        let path = values.values().next().cloned().unwrap_or_default();
        let given: Map<String, Value> = values.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
        let bind_refusal = |bind_error: BindError| Refusal::from(bind_error).with_data(json!({ "uri": uri }));
        let mut call = with_entry_timeout(call, self.plan());
        let bound = call.budget.run_sized(uri.len(), || self.inputs.bind_coerced(Some(given)))?;
        let arguments = bound.map_err(bind_refusal)?;
        let (arguments, roots) = self.inputs.confine(arguments, &mut call).await?;
        let scope = self.inputs.scope(&self.pack_context, arguments, &call);
        if let Some(access) = rules_for(self.access.as_ref(), &call) {
            access.check(&scope, &mut call)?;
        }
        if let ResourceContent::Run(run) = &self.content {
            let reading = self.run(run, scope, uri, catalog, &call).await;
            return reading.map_err(|error| with_roots_checkpoint(roots, error));
        }
        call.ensure_not_resumed()?;
        let (body, mime_type) = self.read_content(uri, &path, &scope, &call.memory).await?;
        Ok(ReadOutcome { body: ReadBody::Contents(self.to_contents(uri, body, mime_type)), note: None })
    }

    /// Reads what is not a run, with its type if the manifest has none.
    async fn read_content(
        &self,
        uri: &str,
        path: &str,
        scope: &Scope,
        memory: &Arc<Reservation>,
    ) -> Result<(TextOrBlob, String), Refusal> {
        let budget = scope.budget();
        Ok(match &self.content {
            ResourceContent::Text(text) => (TextOrBlob::Text(text.render(scope)?.0), "text/plain".to_owned()),
            ResourceContent::Blob(bytes) => {
                let encode = || TextOrBlob::Blob(STANDARD.encode(bytes));
                (budget.run_sized(bytes.len(), encode)?, "application/octet-stream".to_owned())
            }
            ResourceContent::BlobTemplate(blob) => {
                (TextOrBlob::Blob(blob.render(scope)?), "application/octet-stream".to_owned())
            }
            ResourceContent::File(file) => match file.kept_body(memory) {
                Some(body) => body,
                None => {
                    // The thread that serves does not wait for a disk: what pauses goes on elsewhere.
                    tokio::task::yield_now().await;
                    pack_file::wait_for_memory(file.file.at(), MAX_RESOURCE_BYTES, memory, budget).await?;
                    file.read_body(MAX_RESOURCE_BYTES, uri, budget)?
                }
            },
            ResourceContent::FileTemplate(file) => {
                let rendered = file.path.render(scope).map_err(|error| Refusal::not_found(uri, error.to_string()))?;
                let below = file.below(&rendered.text);
                if !file.may_be_shown(below, &self.pack_context.secrets) {
                    return Err(file_not_found(uri, &rendered.text));
                }
                let at = FileLocation { folder: &file.folder, path: below };
                pack_file::wait_for_memory(at, MAX_RESOURCE_BYTES, memory, budget).await?;
                pack_file::read_body(at, MAX_RESOURCE_BYTES, uri, budget).map_err(|refusal| match refusal.kind {
                    RefusalKind::NotFound => file_not_found(uri, &rendered.text),
                    _ => refusal,
                })?
            }
            ResourceContent::Root(root) if root.matches_resolved(path) => {
                let at = FileLocation { folder: root.folder(), path: Path::new(path) };
                pack_file::wait_for_memory(at, MAX_RESOURCE_BYTES, memory, budget).await?;
                pack_file::read_body(at, MAX_RESOURCE_BYTES, uri, budget)?
            }
            ResourceContent::Root(_) | ResourceContent::Run(_) => return Err(file_not_found(uri, path)),
        })
    }

    fn to_contents(&self, uri: &str, body: TextOrBlob, guessed: String) -> ResultContents {
        let mime_type = contents_type(&body, self.info.mime_type.clone().unwrap_or(guessed));
        ResultContents { uri: uri.to_owned(), mime_type: Some(mime_type), body, meta: self.info.meta.clone() }
    }

    async fn run(
        &self,
        run: &ResourceRun,
        scope: Scope,
        uri: &str,
        catalog: &Catalog,
        call: &CallContext,
    ) -> Result<ReadOutcome, CallError> {
        let mut outcome = Box::pin(self.pack_context.run_plan(&self.key, &run.plan, &scope, catalog, call)).await?;
        if let Some(message) = &outcome.outcome.failure {
            let kind = if outcome.outcome.status == Some(404) { RefusalKind::NotFound } else { RefusalKind::Internal };
            return Err(Refusal::new(kind, message.clone()).with_data(json!({ "uri": uri })).into());
        }
        // An empty body lacks nothing.
        let has_body = outcome.outcome.body.size() > 0;
        let note = outcome.outcome.note.take().filter(|_| has_body && run.result.shows_note());
        let size = outcome.size();
        let author = AuthorHints { world: &*call.world, entry_name: &self.key };
        let render = || run.result.render(Some(outcome), scope, &author);
        let body = match call.budget.run_sized(size, render)?? {
            RenderedResult::Content(made, _) => return Ok(ReadOutcome { body: ReadBody::Blocks(made), note }),
            RenderedResult::Text(text, _) => (TextOrBlob::Text(text), "text/plain".to_owned()),
            RenderedResult::Value(Value::String(text)) => (TextOrBlob::Text(text), "text/plain".to_owned()),
            RenderedResult::Value(value) => (TextOrBlob::Text(value.to_string()), "application/json".to_owned()),
            RenderedResult::Unchanged(OutcomeBody::Json(_, text)) => {
                (TextOrBlob::Text(text), "application/json".to_owned())
            }
            RenderedResult::Unchanged(OutcomeBody::Bytes(bytes, mime_type)) => {
                (TextOrBlob::Blob(STANDARD.encode(bytes)), mime_type)
            }
            RenderedResult::Unchanged(OutcomeBody::Text(text)) => (TextOrBlob::Text(text), "text/plain".to_owned()),
            RenderedResult::Unchanged(OutcomeBody::None) => (TextOrBlob::Text(String::new()), "text/plain".to_owned()),
        };
        Ok(ReadOutcome { body: ReadBody::Contents(self.to_contents(uri, body.0, body.1)), note })
    }

    /// A number that changes when the manifest or the file of a URI changes; only compared within this process.
    pub(super) fn fingerprint(&self, values: &IndexMap<String, String>) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.pack_context.entry_digest(self.digest).hash(&mut hasher);
        let path = values.values().next().map(String::as_str).unwrap_or_default();
        let stat = match &self.content {
            ResourceContent::File(KeptFile { file, .. }) => file.folder.stat(&file.path).ok(),
            ResourceContent::Root(root) if root.matches_resolved(path) => root.folder().stat(Path::new(path)).ok(),
            ResourceContent::FileTemplate(file) => self.template_stat(file, values),
            _ => None,
        };
        stat.map(|stat| (stat.size, stat.modified)).hash(&mut hasher);
        hasher.finish()
    }

    fn template_stat(&self, file: &FileTemplate, values: &IndexMap<String, String>) -> Option<crate::files::FileStat> {
        let below = self.template_path(file, values)?;
        file.folder.stat(&below).ok()
    }

    /// The path of a file below its folder, if it may be shown.
    fn template_path(&self, file: &FileTemplate, values: &IndexMap<String, String>) -> Option<PathBuf> {
        let given = values.iter().map(|(name, value)| (name.clone(), Value::from(value.clone()))).collect();
        let budget = Budget::default();
        let scope = self.pack_context.scope(self.inputs.bind_coerced(Some(given)).ok()?, &budget);
        let rendered = file.path.render(&scope).ok()?.text;
        let below = file.below(&rendered);
        file.may_be_shown(below, &self.pack_context.secrets).then(|| below.to_owned())
    }

    /// The file that a URI leads to by its variables.
    pub(super) fn path_from_variables(&self, values: &IndexMap<String, String>) -> Option<PathBuf> {
        match &self.content {
            ResourceContent::FileTemplate(file) => Some(file.folder.path().join(self.template_path(file, values)?)),
            _ => None,
        }
    }
}

fn file_not_found(uri: &str, path: &str) -> Refusal {
    Refusal::not_found(uri, format!("file not found: `{}`", truncate(path, MAX_SHOWN_URI_CHARS)))
}

//! The parts that prompts, resources and tools share: pack, run and scope.

pub(super) mod entry_references;
pub(super) mod listed_text;
pub(super) mod redacting_client;

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::action::{
    self, ActionOutcome, CallContext, EntryFuture, McpClient, OutcomeReads, Run, RunCompilation, RunLimits, RunOutcome,
    RunPlan, StepContext, StepEntry,
};
use crate::budget::Budget;
use crate::catalog::Catalog;
use crate::catalog::entry::entry_references::ReferenceCollector;
use crate::catalog::entry::listed_text::pack_constants;
use crate::catalog::entry::redacting_client::RedactingClient;
use crate::catalog::listing::Object;
use crate::catalog::result::call_result::{ResourceResult, ResultBlock, TextOrBlob, ToolResult};
use crate::catalog::result::refusal::CallError;
use crate::compile::{Compiler, LoadContext, NamePrefix, Pack};
use crate::diagnostic::{Code, SourceMap};
use crate::digest::Digest;
use crate::files::Folder;
use crate::load::LoadedPack;
use crate::redact::{InputEnd, Redactor};
use crate::template::{Engine, Scope, ScopeConstants, ScopeShape};
use crate::value_types::{Duration, Size};
use crate::yaml::{Location, Spanned};

/// The context of a pack, which all its entries share.
pub(super) struct PackContext {
    pub(super) constants: Arc<ScopeConstants>,
    pub(super) folder: Folder,
    /// Its partials and helpers.
    pub(super) engine: Arc<Engine>,
    /// The names in scope of every entry of the pack.
    pub(super) names: ScopeShape,
    /// Finds the secrets of all packs.
    pub(super) secrets: Arc<Redactor>,
    /// The prefix of the names of its entries.
    pub(super) prefix: NamePrefix,
    is_root_pack: bool,
    /// A digest of its partials and server info.
    digest: u64,
}

impl PackContext {
    /// The context of a pack; `is_root_pack` says which pack it is.
    pub(super) fn new(
        LoadedPack { pack, prefix, .. }: &LoadedPack,
        is_root_pack: bool,
        sources: &SourceMap,
        secrets: &Arc<Redactor>,
    ) -> Arc<PackContext> {
        // What all entries of the pack may use: its partials, and what it is called.
        let mut digest = Digest::new("pack").chain_update(pack.server.to_string().as_bytes());
        for (name, file) in &pack.partials {
            digest.update(name.as_bytes());
            digest.update(sources.get(*file).map_or(b"", |source| source.text().as_bytes()));
        }
        Arc::new(PackContext {
            constants: Arc::new(pack_constants(pack)),
            folder: pack.folder.clone(),
            engine: pack.engine.clone(),
            names: pack_names(pack),
            secrets: secrets.clone(),
            prefix: prefix.clone(),
            is_root_pack,
            digest: digest.finish_u64(),
        })
    }

    /// A digest of an entry, from its source and its pack.
    pub(super) fn entry_digest(&self, written: u64) -> u64 {
        Digest::new("entry of a pack")
            .chain_update(&written.to_be_bytes())
            .chain_update(&self.digest.to_be_bytes())
            .finish_u64()
    }

    /// Whether it is the root pack, whose entries may call those of every other pack.
    pub(super) fn is_root_pack(&self) -> bool {
        self.is_root_pack
    }

    pub(super) fn scope(&self, arguments: Map<String, Value>, budget: &Budget) -> Scope {
        Scope::with_budget(arguments, self.constants.clone(), budget)
    }

    /// Runs the plan of the entry `name`.
    ///
    /// # Errors
    /// The run failed without an outcome.
    pub(super) async fn run_plan(
        &self,
        name: &str,
        plan: &RunPlan,
        scope: &Scope,
        catalog: &Catalog,
        call: &CallContext,
    ) -> Result<RunOutcome, CallError> {
        let client = RedactingClient { client: call.client(), folder: self.folder.path(), prefix: &self.prefix };
        let context = StepContext {
            call,
            entry: &EntryRun { name, pack_context: self, catalog, client },
            scope,
            timeout: call.time_left.min(plan.limits.timeout),
            max_output: plan.limits.max_output,
            checkpoint: call.checkpoint.as_deref(),
            stdouts: None,
            id: None,
            reads: &OutcomeReads::ALL,
        };
        Ok(plan.run(&context).await?)
    }
}

/// The context of an entry while it is compiled.
pub(super) struct EntryBuildContext<'a, 'c> {
    pub(super) compiler: &'a mut Compiler<'c>,
    pub(super) references: &'a mut ReferenceCollector,
    pub(super) pack_context: &'a Arc<PackContext>,
    /// The qualified name.
    pub(super) name: String,
    /// How many files were read before it.
    pub(super) contents_before: usize,
}

/// The call with no more time than the run of its entry may take, or its inputs and its content where it has none.
pub(super) fn with_entry_timeout(call: &CallContext, plan: Option<&RunPlan>) -> CallContext {
    let time_left = plan.map_or_else(RunLimits::default, |plan| plan.limits).timeout.min(call.time_left);
    CallContext { budget: call.budget.with_timeout(time_left), time_left, ..call.clone() }
}

/// Keeps known roots in the checkpoint of a call that waits for something else.
pub(super) fn with_roots_checkpoint(roots: Option<Vec<String>>, mut error: CallError) -> CallError {
    if let (CallError::InputRequired(pending), Some(roots)) = (&mut error, roots) {
        pending.checkpoint.roots = Some(roots);
    }
    error
}

/// An entry while its plan runs.
struct EntryRun<'a> {
    name: &'a str,
    pack_context: &'a PackContext,
    catalog: &'a Catalog,
    client: RedactingClient<'a>,
}

impl EntryRun<'_> {
    /// Redacts the outcome of another entry before a step sees it: a step could cut a secret into pieces.
    fn redact_outcome(&self, mut outcome: ActionOutcome) -> ActionOutcome {
        let redactor = self.catalog.redactor();
        redactor.redact_value(&mut outcome.value);
        match &mut outcome.body {
            action::OutcomeBody::None => {}
            action::OutcomeBody::Text(text) => redactor.redact_in_place(text),
            action::OutcomeBody::Json(value, text) => {
                redactor.redact_value(value);
                redactor.redact_in_place(text);
            }
            action::OutcomeBody::Bytes(bytes, _) => redactor.redact_bytes(bytes, InputEnd::Complete),
        }
        outcome.failure.iter_mut().chain(&mut outcome.note).for_each(|message| redactor.redact_in_place(message));
        outcome
    }
}

impl StepEntry for EntryRun<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn pack_folder(&self) -> &Path {
        self.pack_context.folder.path()
    }

    fn client(&self) -> &dyn McpClient {
        &self.client
    }

    fn call_tool<'a>(&'a self, name: &'a str, arguments: Object, context: StepContext<'a>) -> EntryFuture<'a> {
        Box::pin(async move {
            let name = self.pack_context.prefix.qualify(name);
            let call = context.nested_call()?;
            let tool =
                self.catalog.tools.get(&*name).ok_or_else(|| CallError::from(self.catalog.unknown_tool(&name)))?;
            let answer = tool.call(Some(arguments), self.catalog, &call).await?;
            Ok(self.redact_outcome(tool_outcome(answer, context.reads)))
        })
    }

    fn get_prompt<'a>(&'a self, name: &'a str, arguments: Object, context: StepContext<'a>) -> EntryFuture<'a> {
        Box::pin(async move {
            let name = self.pack_context.prefix.qualify(name);
            let answer = self.catalog.render_prompt(&name, Some(arguments), &context.nested_call()?).await?;
            let text: Vec<&str> = answer.messages.iter().filter_map(|message| block_text(&message.content)).collect();
            let text = text.join("\n");
            let value = match context.reads.has_fields() {
                true => json!({ "text": text, "messages": answer.messages }),
                false => Value::Null,
            };
            Ok(self.redact_outcome(ActionOutcome::success(value, action::OutcomeBody::Text(text))))
        })
    }

    fn read_resource<'a>(&'a self, uri: &'a str, context: StepContext<'a>) -> EntryFuture<'a> {
        Box::pin(async move {
            let answer = self.catalog.read_for_pack(uri, self.pack_context, &context.nested_call()?).await?;
            Ok(self.redact_outcome(resource_outcome(answer, context.reads)))
        })
    }

    fn may_notify_of(&self, uri: &str) -> bool {
        self.pack_context.is_root_pack() || self.catalog.has_resource_for(self.pack_context, uri)
    }
}

/// A tool's answer as a step sees it.
fn tool_outcome(answer: ToolResult, reads: &OutcomeReads) -> ActionOutcome {
    let text = answer.content.iter().filter_map(block_text).collect::<Vec<_>>().join("\n");
    let value = match reads.has_fields() {
        true => {
            let shown = with_note(&text, answer.note.as_deref());
            json!({ "text": shown, "structured": answer.structured, "isError": answer.is_error })
        }
        false => Value::Null,
    };
    let failure = answer.is_error.then(|| text.clone());
    let body = match answer.structured {
        Some(structured) => action::OutcomeBody::Json(structured, text),
        None => action::OutcomeBody::Text(text),
    };
    ActionOutcome { failure, note: answer.note, ..ActionOutcome::success(value, body) }
}

/// A text as a template shows it: what it lacks is said behind it.
fn with_note(text: &str, note: Option<&str>) -> String {
    note.map_or_else(|| text.to_owned(), |note| format!("{text}\n{note}"))
}

/// A resource's first piece as a step sees it.
fn resource_outcome(ResourceResult { contents, note, .. }: ResourceResult, reads: &OutcomeReads) -> ActionOutcome {
    let Some(first) = contents.into_iter().next() else {
        return ActionOutcome::success(Value::Null, action::OutcomeBody::None);
    };
    let says_json = first.mime_type.as_deref().is_some_and(|mime| mime.contains("json"));
    let outcome = match first.body {
        TextOrBlob::Text(text) => {
            let shown = reads.has_field("text").then(|| with_note(&text, note.as_deref()));
            let value = json!({ "text": shown, "blob": null, "mimeType": first.mime_type });
            let parsed = says_json.then(|| serde_json::from_str(&text).ok()).flatten();
            ActionOutcome::success(
                value,
                match parsed {
                    Some(parsed) => action::OutcomeBody::Json(parsed, text),
                    None => action::OutcomeBody::Text(text),
                },
            )
        }
        TextOrBlob::Blob(blob) => {
            let bytes = STANDARD.decode(&blob).unwrap_or_default();
            let value =
                if reads.has_fields() { json!({ "blob": blob, "mimeType": first.mime_type }) } else { Value::Null };
            ActionOutcome::success(value, action::OutcomeBody::Bytes(bytes, first.mime_type.unwrap_or_default()))
        }
    };
    ActionOutcome { note, ..outcome }
}

fn block_text(block: &ResultBlock) -> Option<&str> {
    match block {
        ResultBlock::Text(text) => Some(&text.text),
        ResultBlock::Resource(embedded) => match &embedded.resource.body {
            TextOrBlob::Text(text) => Some(text),
            TextOrBlob::Blob(_) => None,
        },
        ResultBlock::Image(_) | ResultBlock::Audio(_) | ResultBlock::ResourceLink(_) => None,
    }
}

/// A digest of what was written: the entry at `at`, and the files that were read for it since there were `before`.
pub(super) fn entry_digest(at: Location, before: usize, compiler: &Compiler<'_>) -> u64 {
    let load_context = &compiler.load_context;
    let mut digest = Digest::new("entry");
    add_source(at, load_context, &mut digest);
    load_context.content_digests.iter().skip(before).for_each(|content| digest.update(content));
    digest.finish_u64()
}

/// Adds the source of an entry to a digest.
pub(super) fn add_source(at: Location, load_context: &LoadContext, digest: &mut Digest) {
    // Where a file is one entry, its text is all of it.
    if load_context.documents.get(at.file()).is_none_or(|document| document.root_location() == at) {
        let text = load_context.report.sources.get(at.file()).map(|source| source.text());
        digest.update(text.map_or(b"", |text| text.as_bytes()));
        return;
    }
    load_context.documents.digest(at, digest);
}

/// The names that every entry of a pack sees.
pub(super) fn pack_names(pack: &Pack) -> ScopeShape {
    use crate::template::Shape;
    let server = Shape::object([("name", Shape::Text), ("title", Shape::Text), ("version", Shape::Text)]);
    ScopeShape::new().with_name("env", pack.env.shape()).with_name("server", server)
}

pub(super) struct CheckedRun {
    /// The run, if any, and if its grants are given.
    pub(super) plan: Option<RunPlan>,
    /// The scope after it.
    pub(super) names: ScopeShape,
    /// Whether the pack lacks a grant for it.
    pub(super) lacks_grant: bool,
    /// Whether it had errors.
    pub(super) has_errors: bool,
}

impl CheckedRun {
    /// The run of an entry that is checked completely; `fingerprint` is the entry's digest.
    pub(super) fn into_plan(self, digest: u64, compiler: &Compiler<'_>) -> Option<RunPlan> {
        let mut plan = self.plan?;
        plan.set_outcome_reads(&compiler.outcome_reads, digest);
        Some(plan)
    }
}

/// The keys of a run in its entry.
pub(super) struct RunKeys<'a> {
    pub(super) run: Option<&'a Spanned<Run>>,
    pub(super) timeout: Option<Duration>,
    pub(super) max_output: Option<Size>,
    pub(super) wants_json: bool,
}

impl RunKeys<'_> {
    /// Compiles the run. A run without its grants is checked too, and blocks its entry.
    pub(super) fn compile(self, compiler: &mut Compiler<'_>) -> CheckedRun {
        let Some(run) = self.run else {
            let names = compiler.scope_shape.clone();
            return CheckedRun { plan: None, names, lacks_grant: false, has_errors: false };
        };
        let mut limits = RunLimits::default();
        if let Some(timeout) = self.timeout {
            limits.timeout = timeout.to_std();
        }
        if let Some(max_output) = self.max_output {
            limits.max_output = max_output.bytes();
        }
        let compiled: RunCompilation = run.compile(self.wants_json, limits, compiler);
        let names = compiled.names_after(&compiler.scope_shape);
        let lacks_grant = run.missing_grants(compiler);
        for (grant, at) in &lacks_grant {
            let message = format!("missing grant `{grant}`: entries that need it are not listed");
            let help = compiler.grant_help(grant);
            compiler.note(Code::NotGranted, *at, message).help(help);
        }
        let has_errors = compiled.plan.is_none() && lacks_grant.is_empty();
        // A run without its grants is dropped.
        let plan = compiled.plan.filter(|_| lacks_grant.is_empty());
        CheckedRun { plan, names, lacks_grant: !lacks_grant.is_empty(), has_errors }
    }
}

/// Reports a timeout of zero, and limits without a run.
pub(super) fn check_limits(keys: &RunKeys<'_>, at: Location, compiler: &mut Compiler<'_>) {
    if keys.timeout.is_some_and(|timeout| timeout.to_std().is_zero()) {
        let place = compiler.load_context.documents.value_at(at, "/timeout");
        compiler.error(Code::BadValue, place, "`timeout` must be greater than zero").help("such as `10s`");
    }
    if keys.run.is_some() {
        return;
    }
    for (name, there) in [("timeout", keys.timeout.is_some()), ("maxOutput", keys.max_output.is_some())] {
        if there {
            let key = compiler.key_location(at, name);
            compiler.warning(Code::Unused, key, format!("`{name}` has no effect without `run`"));
        }
    }
}

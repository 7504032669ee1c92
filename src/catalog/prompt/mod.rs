//! Prompts: compiled at load, rendered at each call.

pub(super) mod imported_prompt;

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use crate::action::{CallContext, RunPlan};
use crate::budget::Budget;
use crate::catalog::access::{EntryAccess, rules_for};
use crate::catalog::complete::{CompletionOwner, CompletionSources, compile_sources};
use crate::catalog::content::block::{CompiledBlock, RenderedBlock};
use crate::catalog::entry::entry_references::ReferenceCollector;
use crate::catalog::entry::listed_text::listed_text;
use crate::catalog::entry::{
    EntryBuildContext, PackContext, RunKeys, check_limits, entry_digest, with_entry_timeout, with_roots_checkpoint,
};
use crate::catalog::inputs::{Inputs, arguments_size, refuse_many_arguments};
use crate::catalog::listing::icons::{check_icons, listed_icons};
use crate::catalog::listing::{self, Object, ResourceListing};
use crate::catalog::prompt::imported_prompt::{ImportedParts, compile_text, dotprompt_messages};
use crate::catalog::result::call_result::ResultBlock;
use crate::catalog::result::refusal::{CallError, Refusal, RefusalKind};
use crate::catalog::{CallTraits, Catalog};
use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::manifest;
use crate::pack_format::{DotpromptTemplate, ImportedPrompt, add_values};
use crate::template::{Scope, Template, TextSlot, UriSlot};
use crate::value_types::{Role, TextOrFile};
use crate::yaml::Spanned;

/// A compiled prompt in its pack.
pub(super) struct CompiledPrompt {
    /// Later catalogs share it, while it is the same.
    pub(super) parts: Arc<PromptParts>,
    /// Who may use it, with what its steps add.
    pub(super) access: Option<Arc<EntryAccess>>,
    pub(super) pack_context: Arc<PackContext>,
    /// What its calls do, once the catalog is whole.
    pub(super) traits: CallTraits,
}

impl Deref for CompiledPrompt {
    type Target = PromptParts;

    fn deref(&self) -> &PromptParts {
        &self.parts
    }
}

/// What a prompt is compiled to.
pub(super) struct PromptParts {
    /// The list of prompts shares it.
    pub(super) listing: Arc<listing::PromptListing>,
    pub(super) completions: CompletionSources,
    pub(super) inputs: Inputs,
    pub(super) plan: Option<Box<RunPlan>>,
    access: Option<Arc<EntryAccess>>,
    /// Whether its templates read who calls.
    pub(super) reads_caller: bool,
    body: PromptBody,
    /// A digest of its source.
    pub(super) digest: u64,
    imported: ImportedParts,
}

enum PromptBody {
    Text(Template<TextSlot>),
    Messages(Vec<(Role, CompiledBlock)>),
    /// A template of dotprompt.
    Dotprompt(Arc<DotpromptTemplate>),
}

impl PromptParts {
    /// Compiles a prompt. `None` if it has errors, or its pack lacks a grant.
    pub(super) fn build(
        prompt: &Spanned<manifest::Prompt>,
        build_context: EntryBuildContext<'_, '_>,
    ) -> Option<PromptParts> {
        let EntryBuildContext { compiler, references, pack_context, name, contents_before } = build_context;
        let plan_digest = |written| pack_context.entry_digest(written);
        PromptParts::compile(prompt, name, contents_before, compiler, references, &plan_digest)
    }

    /// Compiles a text with arguments. `None` if it has errors.
    pub(super) fn build_plain(
        prompt: &Spanned<manifest::Prompt>,
        name: String,
        compiler: &mut Compiler<'_>,
    ) -> Option<PromptParts> {
        PromptParts::compile(prompt, name, 0, compiler, &mut ReferenceCollector::default(), &|written| written)
    }

    /// Compiles a prompt; `plan_digest` is the digest of its run, from that of what was written.
    fn compile(
        prompt: &Spanned<manifest::Prompt>,
        name: String,
        contents_before: usize,
        compiler: &mut Compiler<'_>,
        references: &mut ReferenceCollector,
        plan_digest: &dyn Fn(u64) -> u64,
    ) -> Option<PromptParts> {
        check_icons(prompt.icons.as_deref(), prompt.location, compiler);
        let inputs = refuse_many_arguments(&prompt.arguments, compiler)
            .and_then(|()| Inputs::from_arguments(&prompt.arguments, compiler));
        let access = EntryAccess::build(prompt, compiler);
        let title = listed_text(prompt.title.as_deref(), prompt.location, "title", compiler);
        let description = listed_text(prompt.description.as_deref(), prompt.location, "description", compiler);
        let sources = compile_sources(&prompt.arguments, inputs.as_ref(), compiler);
        let keys = RunKeys {
            run: prompt.run.as_ref(),
            timeout: prompt.timeout,
            max_output: prompt.max_output,
            wants_json: false,
        };
        check_limits(&keys, prompt.location, compiler);
        let checked = keys.compile(compiler);
        let body =
            compiler.with_scope_shape(checked.names.clone(), |compiler| compile_body(prompt, compiler, references));
        if checked.lacks_grant || checked.has_errors {
            return None;
        }
        let digest = entry_digest(prompt.location, contents_before, compiler);
        let plan = checked.into_plan(plan_digest(digest), compiler).map(Box::new);
        let inputs = inputs?;
        let listing = listing::PromptListing {
            name,
            title,
            description,
            arguments: inputs.prompt_arguments(),
            icons: listed_icons(prompt.icons.as_deref()),
            meta: prompt.meta.clone(),
        };
        let (listing, imported) = (Arc::new(listing), ImportedParts::default());
        let (inputs, reads_caller) = (inputs.compacted(), compiler.reads_caller);
        let (completions, access, body) = (sources?, access?, body?);
        Some(PromptParts { listing, completions, inputs, plan, access, reads_caller, body, digest, imported })
    }

    /// Compiles a prompt of another program. `None` if it has errors.
    pub(super) fn from_imported(
        imported: &ImportedPrompt,
        links: Vec<ResourceListing>,
        build_context: EntryBuildContext<'_, '_>,
    ) -> Option<PromptParts> {
        let EntryBuildContext { compiler, pack_context, name, .. } = build_context;
        let prompt = &imported.prompt;
        let inputs = Inputs::from_imported_arguments(&prompt.arguments)?;
        let (plan, body, digest) = match &imported.dotprompt {
            Some(template) => (None, PromptBody::Dotprompt(template.clone()), template.digest()),
            None => {
                let (plan, text, digest) = compile_text(imported, pack_context, compiler)?;
                (plan.map(Box::new), PromptBody::Text(text), digest)
            }
        };
        let listing = listing::PromptListing {
            name,
            title: prompt.title.clone(),
            description: prompt.description.clone(),
            arguments: inputs.prompt_arguments(),
            icons: Vec::new(),
            meta: None,
        };
        let listing = Arc::new(listing);
        let imported = ImportedParts { values: imported.values.clone(), links };
        let completions = CompletionSources::default();
        let (access, reads_caller) = (None, false);
        Some(PromptParts { listing, completions, inputs, plan, access, reads_caller, body, digest, imported })
    }
}

impl CompiledPrompt {
    /// A prompt in its pack.
    pub(super) fn new(parts: Arc<PromptParts>, pack_context: Arc<PackContext>) -> CompiledPrompt {
        CompiledPrompt { access: parts.access.clone(), parts, pack_context, traits: CallTraits::default() }
    }

    /// Refuses a caller who lacks a scope, before anything else is said of the arguments.
    ///
    /// # Errors
    /// The caller lacks one; the refusal names all that a request with these arguments needs.
    pub(super) fn check_scopes(&self, given: Option<&Object>, call: &CallContext) -> Result<(), Refusal> {
        let Some(access) = rules_for(self.access.as_ref(), call) else { return Ok(()) };
        let bound = call.budget.run_sized(arguments_size(given), || self.inputs.bind_coerced(given.cloned()))?;
        // What a path leads to is not known yet.
        let known = bound.ok().filter(|arguments| !self.inputs.confines(arguments));
        let scope = known.map(|arguments| self.inputs.scope(&self.pack_context, arguments, call));
        access.check_scopes(scope.as_ref(), call).map(drop)
    }

    /// Its completion sources.
    pub(super) fn completion_owner(&self) -> CompletionOwner<'_> {
        CompletionOwner { sources: &self.completions, inputs: &self.inputs, pack_context: &self.pack_context }
    }

    /// The URIs that it reads or links to each time and that depend on this argument alone, with a value of it.
    pub(super) fn embedded_uris_with(&self, argument: &str, value: &str) -> Vec<String> {
        let messages = if let PromptBody::Messages(messages) = &self.body { messages.as_slice() } else { &[] };
        let given = std::collections::BTreeMap::from([(argument.to_owned(), value.to_owned())]);
        let budget = Budget::default();
        let scope = self.pack_context.scope(self.inputs.bind_with_defaults(&given), &budget);
        let alone = |path: &Vec<String>| match path.as_slice() {
            [name] => name == argument,
            [head, name, ..] => matches!(head.as_str(), "env" | "server") || (head == "arguments" && name == argument),
            [] => false,
        };
        let uris = messages.iter().filter_map(|(_, block)| block.unconditional_resource_uri());
        let uris = uris.chain(self.plan.as_deref().into_iter().flat_map(RunPlan::read_uris));
        let uris = uris.filter(|uri| uri.read_paths().iter().all(alone) && !uri.read_paths().is_empty());
        uris.filter_map(|uri| Some(uri.render(&scope).ok()?.0)).collect()
    }

    /// The URIs of the resources that it embeds.
    pub(super) fn resource_uris(&self) -> impl Iterator<Item = &Template<UriSlot>> {
        let messages = if let PromptBody::Messages(messages) = &self.body { messages.as_slice() } else { &[] };
        messages.iter().filter_map(|(_, block)| block.resource_uri())
    }

    /// Renders it, but for the resources that it embeds.
    ///
    /// # Errors
    /// Arguments that do not fit, and what an action or a template refuses.
    pub(super) async fn render(
        &self,
        given: Option<Object>,
        catalog: &Catalog,
        call: &CallContext,
    ) -> Result<Vec<(Role, Vec<RenderedBlock>)>, CallError> {
        let mut call = with_entry_timeout(call, self.plan.as_deref());
        let arguments = call.budget.run_sized(arguments_size(given.as_ref()), || self.inputs.bind_coerced(given))?;
        let (mut arguments, roots) = self.inputs.confine(arguments?, &mut call).await?;
        call.budget.run(|| add_values(&self.imported.values, &mut arguments)).flatten()?;
        let mut scope = self.inputs.scope(&self.pack_context, arguments, &call);
        if let Some(access) = rules_for(self.access.as_ref(), &call) {
            access.check(&scope, &mut call)?;
        }
        if let Some(plan) = &self.plan {
            let running = self.pack_context.run_plan(&self.listing.name, plan, &scope, catalog, &call);
            let ended = Box::pin(running).await.map_err(|error| with_roots_checkpoint(roots, error))?;
            if let Some(message) = ended.outcome.failure {
                return Err(Refusal::new(RefusalKind::Internal, message).into());
            }
            (scope, _) = ended.into_scope(scope);
        } else {
            call.ensure_not_resumed()?;
        }
        Ok(call.budget.run(|| self.render_messages(&scope))??)
    }

    /// Its messages, by role.
    fn render_messages(&self, scope: &Scope) -> Result<Vec<(Role, Vec<RenderedBlock>)>, Refusal> {
        let messages = match &self.body {
            PromptBody::Text(text) => {
                let text = ResultBlock::text(text.render(scope)?.0);
                let links = self.imported.links.iter().cloned().map(ResultBlock::ResourceLink);
                let blocks = [text].into_iter().chain(links);
                return Ok(blocks.map(|block| (Role::User, vec![RenderedBlock::Block(block)])).collect());
            }
            PromptBody::Messages(messages) => messages,
            PromptBody::Dotprompt(template) => return Ok(dotprompt_messages(template, scope)?),
        };
        let rendered = messages.iter().map(|(role, block)| {
            let mut rendered = Vec::new();
            block.render(scope, &mut rendered)?;
            Ok((*role, rendered))
        });
        rendered.collect()
    }
}

fn compile_body(
    prompt: &Spanned<manifest::Prompt>,
    compiler: &mut Compiler<'_>,
    references: &mut ReferenceCollector,
) -> Option<PromptBody> {
    match (&prompt.text, &prompt.messages) {
        (Some(text), None) => {
            warn_of_path(text, compiler);
            let text = compiler.resolve_text(text)?;
            compiler.message_text(&text).map(PromptBody::Text)
        }
        (None, Some(messages)) if messages.is_empty() => {
            compiler
                .error(Code::MissingKey, messages.location, "empty `messages`")
                .help("write a message, such as `- user: …`");
            None
        }
        (None, Some(messages)) => {
            let messages: Vec<_> =
                messages.iter().map(|message| compile_message(message, compiler, references)).collect();
            messages.into_iter().collect::<Option<Vec<_>>>().map(PromptBody::Messages)
        }
        (Some(_), Some(_)) => {
            compiler
                .error(
                    Code::Conflict,
                    compiler.key_location(prompt.location, "messages"),
                    "`messages` cannot be used with `text`",
                )
                .help("`text` is short for one `user` message");
            None
        }
        (None, None) => {
            compiler.error(Code::MissingKey, prompt.location, "missing key `text` or `messages`");
            None
        }
    }
}

/// Warns of a text that is the path of a file.
fn warn_of_path(text: &Spanned<TextOrFile>, compiler: &mut Compiler<'_>) {
    let TextOrFile::Text(path) = &text.value else { return };
    let path = path.strip_prefix("file://").unwrap_or(path).trim();
    let is_path = path.contains('.') && !path.contains(char::is_whitespace) && !path.contains("{{");
    if is_path && compiler.pack.folder.stat(Path::new(path)).is_ok_and(|entry| !entry.is_dir) {
        compiler
            .warning(Code::Unused, text.location, format!("`{path}` is not read: this is the text itself"))
            .help(format!("write `text: {{ file: {path} }}`"));
    }
}

fn compile_message(
    message: &Spanned<manifest::Message>,
    compiler: &mut Compiler<'_>,
    references: &mut ReferenceCollector,
) -> Option<(Role, CompiledBlock)> {
    if message.system.is_some() {
        compiler
            .error(Code::Role, compiler.key_location(message.location, "system"), manifest::SYSTEM_ROLE)
            .help(manifest::SYSTEM_ROLE_HELP);
        return None;
    }
    match (&message.user, &message.assistant) {
        (Some(block), None) => CompiledBlock::compile(block, compiler, references).map(|block| (Role::User, block)),
        (None, Some(block)) => {
            CompiledBlock::compile(block, compiler, references).map(|block| (Role::Assistant, block))
        }
        _ => {
            compiler
                .not_exactly_one(message.location, "`user`, `assistant`")
                .help("write each message as its own item");
            None
        }
    }
}

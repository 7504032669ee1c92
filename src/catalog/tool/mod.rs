//! Tools: compiled at load, called by clients and steps.

pub(super) mod call_limit;
pub(super) mod concurrency_queue;
mod listed_tool;
pub(super) mod mcp_header;
pub(super) mod required_capabilities;

use std::sync::Arc;

use serde_json::Value;

use crate::action::{CallContext, OutcomeBody, RunOutcome, RunPlan};
use crate::catalog::access::{EntryAccess, ensure_visible, rules_for};
use crate::catalog::complete::warn_of_tool_completions;
use crate::catalog::content::block::RenderedBlock;
use crate::catalog::content::compiled_result::{AuthorHints, CompiledResult, RenderedResult, StructuredValue};
use crate::catalog::entry::{
    EntryBuildContext, PackContext, RunKeys, check_limits, entry_digest, with_entry_timeout, with_roots_checkpoint,
};
use crate::catalog::inputs::argument_schema::DeclaredArguments;
use crate::catalog::inputs::{BindError, Inputs, arguments_size, violations_message};
use crate::catalog::listing::icons::check_icons;
use crate::catalog::listing::{self, Object};
use crate::catalog::result::call_result::{BlockNotes, ResultBlock, TaskPolicy, ToolResult};
use crate::catalog::result::media_block::{blob_block, media_block};
use crate::catalog::result::refusal::{CallError, Refusal, RefusalKind};
use crate::catalog::tool::call_limit::CallLimit;
use crate::catalog::tool::listed_tool::ListedTexts;
use crate::catalog::tool::required_capabilities::RequiredCapabilities;
use crate::catalog::{CallTraits, Catalog};
use crate::compile::{Compiler, LocatedJson};
use crate::diagnostic::{Code, FileId, Severity, quote_names, truncate};
use crate::manifest::{self, Task, TaskSupport};
use crate::schema::{Schema, unknown_keywords};
use crate::template::{Scope, Template, UriSlot};
use crate::value_types::Json;
use crate::world::CapturedBytes;
use crate::yaml::{Location, Spanned};

/// How much of the names of undeclared arguments is logged.
const MAX_LOGGED_NAMES_CHARS: usize = 200;

pub(super) struct CompiledTool {
    pub(super) listing: listing::ToolListing,
    pub(super) limit: Option<CallLimit>,
    pub(super) requires: Option<RequiredCapabilities>,
    pub(super) access: Option<Arc<EntryAccess>>,
    /// Whether its templates read who calls.
    pub(super) reads_caller: bool,
    pub(super) inputs: Inputs,
    output_schema: Option<Schema>,
    pub(super) plan: Option<RunPlan>,
    result: CompiledResult,
    pub(super) pack_context: Arc<PackContext>,
    pub(super) task: Option<TaskPolicy>,
    /// Whether it is for steps alone.
    pub(super) is_hidden: bool,
    /// What its calls do, once the catalog is whole.
    pub(super) traits: CallTraits,
    /// A digest of its source.
    pub(super) digest: u64,
}

/// The content of a tool result, before embedded resources are read.
pub(super) struct ToolContent {
    pub(super) content: Vec<RenderedBlock>,
    pub(super) structured: Option<Value>,
    /// What `structured` lacks.
    pub(super) note: Option<String>,
    /// Whether it does not fit the schema that the tool promises.
    pub(super) is_error: bool,
}

/// What a tool has done when its result is made.
struct Done {
    /// In words, up to the result, where that may not fit its schema.
    description: Option<String>,
    /// Whether it may have changed something.
    had_side_effects: bool,
}

impl CompiledTool {
    /// Compiles a tool. `None` if it has errors, or its pack lacks a grant.
    pub(super) fn build(
        tool: &Spanned<manifest::Tool>,
        build_context: EntryBuildContext<'_, '_>,
    ) -> Option<CompiledTool> {
        let EntryBuildContext { compiler, references, pack_context, name, contents_before } = build_context;
        check_icons(tool.icons.as_deref(), tool.location, compiler);
        check_keys(tool, compiler);
        let inputs = compile_inputs(tool, compiler);
        let access = EntryAccess::build(tool, compiler);
        let texts = ListedTexts::render(tool, compiler);
        let output = output_schema(tool, compiler);
        let keys = RunKeys {
            run: tool.run.as_ref(),
            timeout: tool.timeout,
            max_output: tool.max_output,
            wants_json: wants_json(tool),
        };
        check_limits(&keys, tool.location, compiler);
        let limit = CallLimit::build(tool, compiler);
        let requires = tool.requires.as_ref().and_then(|requires| RequiredCapabilities::build(requires, compiler));
        let checked = keys.compile(compiler);
        let result = compiler.with_scope_shape(checked.names.clone(), |compiler| {
            CompiledResult::compile(tool.result.as_ref(), compiler, references)
        });
        if checked.lacks_grant || checked.has_errors {
            return None;
        }
        let digest = entry_digest(tool.location, contents_before, compiler);
        let mut plan = checked.into_plan(pack_context.entry_digest(digest), compiler);
        let task = compile_task_policy(tool.task.as_ref().map(|task| &task.value), plan.as_mut());
        let (inputs, output) = (inputs?, output?);
        let listing = texts.into_listing(name, tool, &inputs, output.as_ref());
        Some(CompiledTool {
            listing,
            limit,
            requires,
            access: access?,
            reads_caller: compiler.reads_caller,
            inputs,
            output_schema: output,
            plan,
            result: result?,
            pack_context: pack_context.clone(),
            task,
            is_hidden: is_hidden(tool),
            traits: CallTraits::default(),
            digest,
        })
    }

    /// The URIs of the resources that it embeds.
    pub(super) fn resource_uris(&self) -> impl Iterator<Item = &Template<UriSlot>> {
        self.result.resource_uris()
    }

    /// Calls it, for a client or a step.
    ///
    /// # Errors
    /// What is no result for the model to read, as [`RefusalKind::is_tool_error`] says: such as a client that lacks what is
    /// required of it, a cancellation and a question.
    pub(super) async fn call(
        &self,
        given: Option<Object>,
        catalog: &Catalog,
        call: &CallContext,
    ) -> Result<ToolResult, CallError> {
        ensure_visible(self.access.as_ref(), call, || catalog.unknown_tool(&self.listing.name))?;
        let ToolContent { content, structured, note, is_error } = match self.run(given, catalog, call).await {
            Ok(content) => content,
            Err(CallError::Refused(refusal)) if refusal.kind.is_tool_error() => return Ok(refusal.into()),
            Err(error) => return Err(error),
        };
        match catalog.resolve_blocks(content, &self.pack_context, call).await {
            Ok(content) => Ok(ToolResult { content, structured, note, is_error }),
            Err(CallError::Refused(refusal))
                if !matches!(refusal.kind, RefusalKind::Cancelled | RefusalKind::InsufficientScope) =>
            {
                Ok(refusal.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Refuses a caller who lacks a scope, before anything else is said of the arguments.
    ///
    /// # Errors
    /// The caller lacks one; the refusal names all that a call with these arguments needs.
    pub(super) fn check_scopes(&self, given: Option<&Object>, call: &CallContext) -> Result<(), Refusal> {
        let Some(access) = rules_for(self.access.as_ref(), call) else { return Ok(()) };
        access.check_scopes(self.known_scope(given, call)?.as_ref(), call).map(drop)
    }

    /// The same with the condition, as far as the arguments are known.
    ///
    /// # Errors
    /// The caller lacks a scope, or is not permitted the call.
    pub(super) fn check_access(&self, given: Option<&Object>, call: &CallContext) -> Result<(), Refusal> {
        let Some(access) = rules_for(self.access.as_ref(), call) else { return Ok(()) };
        match self.known_scope(given, call)? {
            Some(scope) => access.check_known(&scope, |_| true, call),
            None => access.check_scopes(None, call).map(drop),
        }
    }

    /// What a call sees before it runs; `None` where the arguments do not fit, or hold a path, which may lead elsewhere.
    fn known_scope(&self, given: Option<&Object>, call: &CallContext) -> Result<Option<Scope>, Refusal> {
        let bound = call.budget.run_sized(arguments_size(given), || self.inputs.bind(given.cloned()))?;
        let known = bound.ok().filter(|arguments| !self.inputs.confines(arguments));
        Ok(known.map(|arguments| self.inputs.scope(&self.pack_context, arguments, call)))
    }

    /// Runs it when a limit allows it, and makes its content.
    async fn run(
        &self,
        given: Option<Object>,
        catalog: &Catalog,
        call: &CallContext,
    ) -> Result<ToolContent, CallError> {
        self.check_scopes(given.as_ref(), call)?;
        let name = &self.listing.name;
        if let Some(requires) = &self.requires {
            requires.check_client(name, call.client())?;
        }
        let mut call = with_entry_timeout(call, self.plan.as_ref());
        let bound = call.budget.run_sized(arguments_size(given.as_ref()), || self.inputs.bind(given))?;
        let arguments = bound.inspect_err(|error| self.log_undeclared_arguments(error))?;
        // A path may yet turn out to be another one, and what is done with is what counts.
        let has_paths = self.inputs.confines(&arguments);
        let rules = rules_for(self.access.as_ref(), &call);
        if let Some(access) = rules.filter(|_| !has_paths) {
            access.check(&self.inputs.scope(&self.pack_context, arguments.clone(), &call), &mut call)?;
        }
        let _permit = match &self.limit {
            Some(limit) => Some(Box::pin(limit.admit(name, &mut call)).await?),
            None => None,
        };
        let (arguments, roots) = self.inputs.confine(arguments, &mut call).await?;
        let scope = self.inputs.scope(&self.pack_context, arguments, &call);
        if let Some(access) = rules.filter(|_| has_paths) {
            access.check(&scope, &mut call)?;
        }
        let Some(plan) = &self.plan else {
            call.ensure_not_resumed()?;
            let author = AuthorHints { world: &*call.world, entry_name: name };
            let render = || self.tool_content(self.result.render(None, scope, &author)?, None);
            return Ok(call.budget.run(render)??);
        };
        // In a box, for calls without actions.
        let ended = Box::pin(self.pack_context.run_plan(name, plan, &scope, catalog, &call)).await;
        self.content_after_run(plan, ended.map_err(|error| with_roots_checkpoint(roots, error))?, scope, &call)
    }

    /// Tells the author how to take what hosts add to every call, of which the model need not know.
    fn log_undeclared_arguments(&self, error: &BindError) {
        let names = self.inputs.undeclared_names(error);
        if !names.is_empty() {
            let names = quote_names(&names);
            let (tool, names) = (&self.listing.name, truncate(&names, MAX_LOGGED_NAMES_CHARS));
            let way_out = "if the host adds them to every call, write `additionalProperties: true` beside `arguments` or in \
                           `inputSchema`";
            tracing::warn!(target: "folio::call", "call {tool}: arguments that are not declared: {names}; {way_out}");
        }
    }

    /// Whether a result has structured content in any case, as the author wrote it or its schema.
    pub(super) fn promises_structure(&self) -> bool {
        self.output_schema.is_some() || self.result.writes_structure()
    }

    /// Whether its calls may wait for one another.
    pub(super) fn has_queue(&self) -> bool {
        self.limit.as_ref().is_some_and(CallLimit::has_queue)
    }

    /// The content of its result after its run.
    fn content_after_run(
        &self,
        plan: &RunPlan,
        mut ended: RunOutcome,
        scope: Scope,
        call: &CallContext,
    ) -> Result<ToolContent, CallError> {
        if let Some(message) = ended.outcome.failure {
            return Err(Refusal::new(RefusalKind::Internal, message).into());
        }
        if self.output_schema.is_some() {
            ended.outcome.body = ended.outcome.body.into_json();
        }
        let note = ended.outcome.note.take().filter(|_| self.result.shows_note());
        let is_list = matches!(ended.outcome.body, OutcomeBody::Json(..));
        let size = ended.size();
        let author = AuthorHints { world: &*call.world, entry_name: &self.listing.name };
        let description = self.output_schema.as_ref().map(|_| plan.describe_end(&ended));
        let done = Done { description, had_side_effects: ended.had_side_effects };
        let render = || match self.result.render(Some(ended), scope, &author) {
            Ok(rendered) => self.tool_content(rendered, Some(&done)),
            // Such as what `select` selects from.
            Err(refusal) if self.output_schema.is_some() && refusal.kind == RefusalKind::Internal => {
                let message = self.misfit_message(&format!(" {}", refusal.message), Some(&done));
                Err(Refusal { message, ..refusal })
            }
            Err(refusal) => Err(Refusal { message: self.with_effects(refusal.message, Some(&done)), ..refusal }),
        };
        let mut content = call.budget.run_sized(size, render)??;
        // An error says what was done.
        let note = note.filter(|_| !content.is_error || !content.content.is_empty());
        if is_list && !content.is_error {
            content.note = note;
        } else if let Some(note) = note {
            content.content.retain(|block| !matches!(block, RenderedBlock::Block(block) if block.is_blank()));
            content.content.push(RenderedBlock::Block(ResultBlock::text(note)));
        }
        Ok(content)
    }

    /// A message with a line that the tool ran, although its result cannot be shown.
    fn with_effects(&self, message: String, done: Option<&Done>) -> String {
        let is_read_only = self.listing.annotations.as_ref().is_some_and(|hints| hints.read_only_hint == Some(true));
        match done.is_some_and(|done| done.had_side_effects && !is_read_only) {
            true => format!("{message}\nThe tool did run; do not call it again because of this error."),
            false => message,
        }
    }

    /// The message for a result that does not fit the schema; `reasons` begin on its line or on their own.
    fn misfit_message(&self, reasons: &str, done: Option<&Done>) -> String {
        let subject = done.and_then(|done| done.description.as_deref()).unwrap_or("the result");
        self.with_effects(format!("{subject} does not fit `outputSchema`:{reasons}"), done)
    }

    /// The content of a result. One that does not fit the schema is an error, as clients refuse it otherwise; it is shown
    /// behind the reason all the same, as what was done is not to be done again.
    fn tool_content(&self, rendered: RenderedResult, done: Option<&Done>) -> Result<ToolContent, Refusal> {
        let (mut content, structured) = match rendered {
            RenderedResult::Unchanged(OutcomeBody::None) => (Vec::new(), None),
            RenderedResult::Unchanged(OutcomeBody::Text(text)) => (text_content(text), None),
            RenderedResult::Unchanged(OutcomeBody::Json(value, text)) => {
                (text_content(text), self.as_structured(value))
            }
            RenderedResult::Unchanged(OutcomeBody::Bytes(bytes, mime_type)) => {
                (bytes_block(&bytes, &mime_type).map(RenderedBlock::Block).into_iter().collect(), None)
            }
            RenderedResult::Value(value) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                (text_content(text), self.as_structured(value))
            }
            RenderedResult::Text(text, structured) => (text_content(text), self.structured_content(structured)),
            RenderedResult::Content(made, structured) => (made, self.structured_content(structured)),
        };
        let Some(reasons) = self.misfit(structured.as_ref())? else {
            return Ok(ToolContent { content, structured, note: None, is_error: false });
        };
        let mut message = self.misfit_message(&reasons, done);
        content.retain(|block| !matches!(block, RenderedBlock::Block(block) if block.is_blank()));
        if let Some(RenderedBlock::Block(ResultBlock::Text(first))) = content.first_mut() {
            message.push('\n');
            first.text.insert_str(0, &message);
        } else {
            content.insert(0, RenderedBlock::Block(ResultBlock::text(message)));
        }
        Ok(ToolContent { content, structured: None, note: None, is_error: true })
    }

    /// The value beside a text or blocks: one that the author wrote, or one that the tool promises.
    fn structured_content(&self, structured: Option<StructuredValue>) -> Option<Value> {
        structured.filter(|beside| beside.is_written || self.output_schema.is_some()).map(|beside| beside.value)
    }

    /// A text or a number needs no structure, unless the tool promises one.
    fn as_structured(&self, value: Value) -> Option<Value> {
        (self.output_schema.is_some() || value.is_object() || value.is_array()).then_some(value)
    }

    /// Why a value does not fit the schema that the tool promises, if it does not: after a space, or each on a line of its own.
    fn misfit(&self, structured: Option<&Value>) -> Result<Option<String>, Refusal> {
        let Some(schema) = &self.output_schema else { return Ok(None) };
        let Some(value) = structured else {
            return Ok(Some(" missing structured content, as there is no JSON".to_owned()));
        };
        let violations = schema.violations(value)?;
        Ok(match violations.len() {
            0 => None,
            1 => Some(format!(" {}", violations_message(&violations))),
            _ => Some(format!("\n{}", violations_message(&violations))),
        })
    }
}

fn text_content(text: String) -> Vec<RenderedBlock> {
    vec![RenderedBlock::Block(ResultBlock::text(text))]
}

/// The block of a body that is not text; `None` if it is empty.
fn bytes_block(bytes: &[u8], mime_type: &str) -> Option<ResultBlock> {
    match mime_type.split('/').next() {
        Some("image" | "audio") => media_block(bytes, mime_type, BlockNotes::default()),
        // Bytes of no known type are text in another encoding more often than not.
        _ if mime_type == "application/octet-stream" => {
            Some(ResultBlock::text(CapturedBytes::new(bytes.to_vec(), 0).into_display_text()))
        }
        _ => Some(ResultBlock::Resource(blob_block(bytes, mime_type))),
    }
}

fn compile_task_policy(task: Option<&Task>, plan: Option<&mut RunPlan>) -> Option<TaskPolicy> {
    let (support, after, ttl) = match task? {
        Task::Support(support) => (*support, None, None),
        Task::Keys(keys) => (keys.support.unwrap_or(TaskSupport::Optional), keys.after.as_ref(), keys.ttl),
    };
    if let (Some(after), Some(plan)) = (after, plan) {
        plan.set_detach_after(after);
    }
    Some(TaskPolicy {
        required: support == TaskSupport::Required,
        starts_after_step: after.is_some(),
        ttl: ttl.map(|ttl| ttl.to_std()),
    })
}

fn compile_inputs(written: &Spanned<manifest::Tool>, compiler: &mut Compiler<'_>) -> Option<Inputs> {
    match (&written.arguments, &written.input_schema) {
        _ if written.additional_properties.is_some() && written.input_schema.is_some() => {
            let key = compiler.key_location(written.location, "additionalProperties");
            compiler
                .error(Code::Conflict, key, "`additionalProperties` cannot be used with `inputSchema`")
                .help("use `arguments`, or remove it: only the properties of an `inputSchema` are in scope");
            None
        }
        (Some(arguments), Some(_)) => {
            let key = compiler.key_location(written.location, "inputSchema");
            compiler.error(Code::Conflict, key, "`inputSchema` cannot be used with `arguments`");
            Inputs::from_arguments(&arguments.value, compiler).and(None)
        }
        (None, Some(schema)) => {
            let placed = compiler.json_value(schema)?;
            let inputs = Inputs::from_schema(&placed, compiler)?;
            let place = |pointer: &str, compiler: &Compiler<'_>| {
                compiler.load_context.documents.value_at(placed.location, pointer)
            };
            mcp_header::check(inputs.schema(), place, compiler);
            Some(inputs)
        }
        (arguments, None) => {
            let none = manifest::Arguments::default();
            let arguments = arguments.as_ref().map_or(&none, |arguments| &arguments.value);
            warn_of_tool_completions(arguments, compiler);
            let others = match &written.additional_properties {
                Some(others) => Some(additional_properties(others, compiler)?),
                None => None,
            };
            let written = DeclaredArguments { arguments, others: others.as_ref() };
            let inputs = Inputs::from_arguments(written, compiler)?;
            mcp_header::check(
                inputs.schema(),
                |pointer, compiler| argument_position(pointer, written, compiler),
                compiler,
            );
            Some(inputs)
        }
    }
}

/// Where an author wrote what a pointer into the whole schema leads to.
fn argument_position(pointer: &str, arguments: DeclaredArguments<'_>, compiler: &Compiler<'_>) -> Location {
    let place = arguments.locate(pointer).unwrap_or_else(|| (Location::start_of(FileId(0)), String::new()));
    compiler.load_context.documents.value_at(place.0, &place.1)
}

/// Whether arguments that are not declared are allowed, or their schema.
fn additional_properties(schema: &Spanned<Json>, compiler: &mut Compiler<'_>) -> Option<LocatedJson> {
    let located = compiler.json_value(schema)?;
    if !located.value.is_boolean() && !located.value.is_object() {
        compiler
            .error(
                Code::WrongType,
                located.location,
                "invalid `additionalProperties`, expected a boolean or a JSON Schema",
            )
            .help("such as `true` or `{ type: string }`");
        return None;
    }
    compiler.warn_unexpanded_schema(&located.value, located.location);
    for error in unknown_keywords(&located.value, &[]) {
        compiler.report_schema_error(error, located.location, Severity::Error);
    }
    Some(located)
}

/// `None` if it has errors, `Some(None)` if it is absent.
fn output_schema(tool: &Spanned<manifest::Tool>, compiler: &mut Compiler<'_>) -> Option<Option<Schema>> {
    let Some(schema) = &tool.output_schema else { return Some(None) };
    let placed = compiler.json_value(schema)?;
    compiler.schema(placed).map(Some)
}

fn check_keys(tool: &Spanned<manifest::Tool>, compiler: &mut Compiler<'_>) {
    if tool.run.is_none() && tool.result.is_none() {
        compiler
            .error(Code::MissingKey, tool.location, "missing key `run` or `result`")
            .help("`run` is what the tool does, `result` what it returns");
    }
    if let Some(Task::Keys(task)) = tool.task.as_ref().map(|task| &task.value)
        && let Some(after) = &task.after
    {
        let ids: Vec<&str> = tool.run.iter().flat_map(|run| run.ids()).collect();
        if !ids.contains(&after.value.as_str()) {
            let message = format!("unknown step `{}`", after.value);
            compiler.error(Code::UnknownReference, after.location, message).did_you_mean(after, ids);
        }
    }
    if let (true, Some(task)) = (is_hidden(tool), &tool.task) {
        compiler
            .error(Code::Conflict, task.location, "`task` cannot be used with `hidden`")
            .help("remove it: hidden tools are called by steps, never by clients");
    }
    if !is_hidden(tool) && tool.description.as_ref().is_none_or(|text| text.trim().is_empty()) {
        compiler
            .warning(Code::ClientCompatibility, tool.location, "missing `description`: models choose tools by it")
            .help("describe what it does in a sentence");
    }
}

fn is_hidden(tool: &manifest::Tool) -> bool {
    tool.hidden.as_ref().is_some_and(|hidden| hidden.value)
}

/// Whether what the action puts out has to be JSON: where an `outputSchema` is to be met by it, and not by a value that
/// `result` spells out.
fn wants_json(tool: &manifest::Tool) -> bool {
    let has_select_or_text =
        |result: &manifest::ResultSpec| result.structured_content.is_some() && result.select.is_none();
    tool.output_schema.is_some() && !tool.result.as_ref().is_some_and(|result| has_select_or_text(result))
}

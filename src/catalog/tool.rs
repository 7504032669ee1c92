//! Tools: checked, and called.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::action::{Body, Plan};
use crate::budget::Budget;
use crate::compile::Compiler;
use crate::diagnostic::{Code, FileId};
use crate::manifest::{self, Task, TaskSupport};
use crate::schema::Schema;
use crate::template::{Template, Uri};
use crate::world::Captured;
use crate::yaml::{At, Spanned};

use super::answer::{Block, Media, Refusal, RefusalKind, TaskRule, ToolAnswer};
use super::block::{Made, check_icons, icons};
use super::complete::warn_on_tool;
use super::entry::{Calling, Home, RunKeys, check_limits, digest, knowing};
use super::face::{self, Object};
use super::header;
use super::inputs::{Confined, Inputs, Misfit, argument_of, complaint, size_of};
use super::limit::Limit;
use super::listed_text::{filled, listed_text};
use super::prompt::Building;
use super::requires::Requires;
use super::result::{ResultPlan, Shown};
use super::told::{exhausted, is_for_the_model};

/// A tool that is ready.
pub(super) struct Tool {
    pub(super) face: face::Tool,
    pub(super) limit: Option<Limit>,
    pub(super) requires: Option<Requires>,
    inputs: Inputs,
    output: Option<Schema>,
    plan: Option<Plan>,
    result: ResultPlan,
    home: Arc<Home>,
    pub(super) task: Option<TaskRule>,
    /// A digest of what was written.
    pub(super) digest: u64,
}

/// What a tool gave, but for the resources that it embeds.
pub(super) struct Given {
    pub(super) content: Vec<Made>,
    pub(super) structured: Option<Value>,
}

impl Tool {
    /// Checks a tool as it was written. `None` where something is wrong with it, or its pack may not act.
    pub(super) fn build(written: &Spanned<manifest::Tool>, building: Building<'_, '_>) -> Option<Tool> {
        let Building { compiler, references, home, name, before } = building;
        check_icons(written.icons.as_deref(), written.at, compiler);
        check_keys(written, compiler);
        let inputs = inputs(written, compiler);
        let texts = Texts::fill(written, compiler);
        let output = output_schema(written, compiler);
        let keys = RunKeys {
            run: written.run.as_ref(),
            timeout: written.timeout,
            max_output: written.max_output,
            wants_json: wants_json(written),
        };
        check_limits(&keys, written.at, compiler);
        let limit = Limit::build(written, compiler);
        let requires = written.requires.as_ref().and_then(|requires| Requires::build(requires, compiler));
        let ready = keys.compile(compiler);
        let result = compiler.with_names(ready.names.clone(), |compiler| {
            ResultPlan::compile(written.result.as_ref(), compiler, references)
        });
        if ready.blocked || ready.faulty {
            return None;
        }
        let digest = digest(written.at, before, compiler);
        let mut plan = ready.settle(home.digest(digest), compiler);
        let task = task_rule(written.task.as_ref().map(|task| &task.value), plan.as_mut());
        let (inputs, output) = (inputs?, output?);
        let face = face(name, (written, texts), &inputs, output.as_ref());
        Some(Tool { face, limit, requires, inputs, output, plan, result: result?, home: home.clone(), task, digest })
    }

    /// The URIs of the resources that it embeds.
    pub(super) fn embeds(&self) -> impl Iterator<Item = &Template<Uri>> {
        self.result.embeds()
    }

    /// What its templates see beside its arguments.
    pub(super) fn home(&self) -> &Arc<Home> {
        &self.home
    }

    /// What it takes.
    pub(super) fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Its run, where it has one.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Calls it.
    ///
    /// # Errors
    /// Only what leaves no answer for a model: a cancelled call, a question to the client, a lack of what is required of
    /// it, or an error that the manifest asks for by its code. Whatever else goes wrong is for the model to read, and is
    /// `Err` within.
    pub(super) async fn call(
        &self,
        given: Option<Object>,
        calling: &Calling<'_>,
    ) -> Result<Result<Given, ToolAnswer>, Refusal> {
        self.requires.as_ref().map_or(Ok(()), |requires| requires.met(&self.face.name, &*calling.call.client))?;
        let budget = calling.budget_of(self.plan.as_ref());
        let calling = &calling.charging(&budget);
        let bound =
            budget.run_sized(size_of(given.as_ref()), || self.inputs.bind(given, &budget)).map_err(exhausted)?;
        let arguments = match bound.map_err(Misfit::refusal) {
            Ok(arguments) => arguments,
            Err(refusal) if is_for_the_model(refusal.kind) => return Ok(Err(ToolAnswer::failure(refusal.message))),
            Err(refusal) => return Err(refusal),
        };
        // Where it goes on, it was let in before.
        let fresh = calling.resume.is_none();
        let _turn = match self.limit.as_ref().map(|limit| limit.enter(&self.face.name, fresh)).transpose() {
            Ok(turn) => turn,
            Err(words) => return Ok(Err(ToolAnswer::failure(words))),
        };
        match self.make(arguments, calling).await {
            Ok(given) => Ok(Ok(given)),
            Err(refusal) if is_for_the_model(refusal.kind) => Ok(Err(ToolAnswer::failure(refusal.message))),
            Err(refusal) => Err(refusal),
        }
    }

    async fn make(&self, arguments: Object, calling: &Calling<'_>) -> Result<Given, Refusal> {
        let Confined { arguments, calling, roots } = self.inputs.confined(arguments, calling).await?;
        let scope = self.home.scope(arguments, calling.budget);
        let Some(plan) = &self.plan else {
            calling.begins()?;
            return self.given(self.result.make(None, scope)?, calling.budget);
        };
        let ended = self.home.run((&self.face.name, plan), &scope, &calling).await;
        let ended = ended.map_err(|refusal| knowing(roots, refusal))?;
        if let Some(words) = ended.outcome.failed {
            return Err(Refusal::new(RefusalKind::Internal, words));
        }
        let size = ended.size();
        let shown = || self.given(self.result.make(Some(ended), scope)?, calling.budget);
        calling.budget.run_sized(size, shown).map_err(exhausted)?
    }

    fn given(&self, shown: Shown, budget: &Budget) -> Result<Given, Refusal> {
        let (content, structured) = match shown {
            Shown::Itself(body) => self.of_body(body),
            Shown::Value(value) => (vec![said(&value)], self.as_structured(value)),
            Shown::Text(text, behind) => {
                (vec![Made::Block(Block::text(text))], behind.filter(|_| self.output.is_some()))
            }
            Shown::Content(made, behind) => (made, behind.filter(|_| self.output.is_some())),
        };
        self.check_output(structured.as_ref(), budget)?;
        Ok(Given { content, structured })
    }

    /// What an action speaks with: text, JSON with equal text, or a picture.
    fn of_body(&self, body: Body) -> (Vec<Made>, Option<Value>) {
        match body {
            Body::None => (Vec::new(), None),
            Body::Text(text) => (vec![Made::Block(Block::text(text))], None),
            Body::Json(value, text) => (vec![Made::Block(Block::text(text))], self.as_structured(value)),
            Body::Bytes(bytes, mime_type) => (vec![Made::Block(block_of(&bytes, mime_type))], None),
        }
    }

    /// A text or a number needs no structure, unless the tool promises one.
    fn as_structured(&self, value: Value) -> Option<Value> {
        (self.output.is_some() || value.is_object() || value.is_array()).then_some(value)
    }

    fn check_output(&self, structured: Option<&Value>, budget: &Budget) -> Result<(), Refusal> {
        let Some(schema) = &self.output else { return Ok(()) };
        let misfit = |words: String| Refusal::new(RefusalKind::Internal, words);
        let Some(value) = structured else {
            return Err(misfit("the tool promises structured content, and gave none".to_owned()));
        };
        match schema.violations(value, budget).map_err(exhausted)? {
            violations if violations.is_empty() => Ok(()),
            violations => {
                Err(misfit(format!("what the tool gave does not fit its `outputSchema`:\n{}", complaint(&violations))))
            }
        }
    }
}

/// A value as text: a text as it is, everything else as JSON.
fn said(value: &Value) -> Made {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Made::Block(Block::text(text))
}

fn block_of(bytes: &[u8], mime_type: String) -> Block {
    let media = |mime_type| Media { data: STANDARD.encode(bytes), mime_type, annotations: None, meta: None };
    match mime_type.split('/').next() {
        Some("image") => Block::Image(media(mime_type)),
        Some("audio") => Block::Audio(media(mime_type)),
        _ => Block::text(Captured::new(bytes.to_vec(), 0).to_text()),
    }
}

fn task_rule(written: Option<&Task>, plan: Option<&mut Plan>) -> Option<TaskRule> {
    let (support, after, ttl) = match written? {
        Task::Support(support) => (*support, None, None),
        Task::Keys(keys) => (keys.support.unwrap_or(TaskSupport::Optional), keys.after.as_ref(), keys.ttl),
    };
    if let (Some(after), Some(plan)) = (after, plan) {
        plan.detach_behind(after);
    }
    Some(TaskRule { required: support == TaskSupport::Required, later: after.is_some(), ttl: ttl.map(|ttl| ttl.get()) })
}

fn inputs(written: &Spanned<manifest::Tool>, compiler: &mut Compiler<'_>) -> Option<Inputs> {
    match (&written.arguments, &written.input_schema) {
        (Some(arguments), Some(_)) => {
            let key = compiler.key(written.at, "inputSchema");
            compiler.error(Code::Conflict, key, "a tool has `arguments` or an `inputSchema`, not both");
            Inputs::of(arguments, compiler).and(None)
        }
        (None, Some(schema)) => {
            let placed = compiler.json_value(schema)?;
            let inputs = Inputs::of_schema(&placed, compiler)?;
            let place =
                |pointer: &str, compiler: &Compiler<'_>| compiler.findings.documents.value_at(placed.at, pointer);
            header::check(inputs.schema(), place, compiler);
            Some(inputs)
        }
        (arguments, None) => {
            let none = manifest::Arguments::default();
            let arguments = arguments.as_ref().map_or(&none, |arguments| &arguments.value);
            warn_on_tool(arguments, compiler);
            let inputs = Inputs::of(arguments, compiler)?;
            header::check(inputs.schema(), |pointer, compiler| argument_place(pointer, arguments, compiler), compiler);
            Some(inputs)
        }
    }
}

/// Where an author wrote what a pointer into the whole schema leads to.
fn argument_place(pointer: &str, arguments: &manifest::Arguments, compiler: &Compiler<'_>) -> At {
    let (name, below) = argument_of(pointer);
    let written = arguments.get(name.as_str()).map_or(At::start_of(FileId(0)), |argument| argument.at);
    compiler.findings.documents.value_at(written, &below)
}

/// `None` where something is wrong with it, `Some(None)` where there is none.
fn output_schema(written: &Spanned<manifest::Tool>, compiler: &mut Compiler<'_>) -> Option<Option<Schema>> {
    let Some(schema) = &written.output_schema else { return Some(None) };
    let placed = compiler.json_value(schema)?;
    compiler.schema(placed).map(Some)
}

fn check_keys(written: &Spanned<manifest::Tool>, compiler: &mut Compiler<'_>) {
    if written.run.is_none() && written.result.is_none() {
        compiler
            .error(Code::MissingKey, written.at, "a tool needs `run` or `result`")
            .help("`run` says what it does, `result` what it gives");
    }
    if let Some(Task::Keys(task)) = written.task.as_ref().map(|task| &task.value)
        && let Some(after) = &task.after
    {
        let ids: Vec<&str> = written.run.iter().flat_map(|run| run.ids()).collect();
        if !ids.contains(&after.value.as_str()) {
            let words = format!("there is no step `{}`", after.value);
            compiler.error(Code::UnknownReference, after.at, words).did_you_mean(after, after.at.span(), ids);
        }
    }
    if written.description.as_ref().is_none_or(|text| text.trim().is_empty()) {
        compiler
            .warning(Code::Client, written.at, "this tool has no `description`: models choose tools by it")
            .help("say what it does, in a sentence");
    }
}

/// Whether what the action puts out has to be JSON: where an `outputSchema` is to be met by it, and not by a value that
/// `result` spells out.
fn wants_json(written: &manifest::Tool) -> bool {
    let spelled_out = |result: &manifest::ResultSpec| result.structured_content.is_some() && result.select.is_none();
    written.output_schema.is_some() && !written.result.as_ref().is_some_and(|result| spelled_out(result))
}

/// The texts of a tool that clients list.
struct Texts {
    title: Option<String>,
    description: Option<String>,
    /// The title among its hints.
    hint: Option<String>,
}

impl Texts {
    fn fill(written: &Spanned<manifest::Tool>, compiler: &mut Compiler<'_>) -> Texts {
        let hint = written.annotations.as_ref().and_then(|hints| hints.title.as_deref());
        Texts {
            title: listed_text(written.title.as_deref(), (written.at, "title"), compiler),
            description: written.description.as_ref().and_then(|text| filled(text, compiler)),
            hint: listed_text(hint, (written.at, "annotations/title"), compiler),
        }
    }
}

fn face(
    name: String,
    (written, texts): (&manifest::Tool, Texts),
    inputs: &Inputs,
    output: Option<&Schema>,
) -> face::Tool {
    let annotations = written.annotations.as_ref().map(|hints| face::ToolAnnotations {
        title: texts.hint,
        read_only_hint: hints.read_only_hint,
        destructive_hint: hints.destructive_hint,
        idempotent_hint: hints.idempotent_hint,
        open_world_hint: hints.open_world_hint,
    });
    face::Tool {
        name,
        title: texts.title,
        description: texts.description,
        input_schema: inputs.schema().clone(),
        output_schema: output.map(|schema| schema.json().clone()),
        annotations,
        icons: icons(written.icons.as_deref()),
        meta: written.meta.clone(),
    }
}

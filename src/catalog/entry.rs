//! What prompts, resources and tools have in common: their run, their scope, and how both are used by a call.

use std::sync::Arc;
use std::time;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::action::{
    self, Checkpoint, Doing, Ended, Entries, Failure, Limits, Outcome, Plan, Planned, Run, Visit, Visited,
};
use crate::budget::Budget;
use crate::compile::{Compiler, Pack};
use crate::diagnostic::{Code, Sources};
use crate::digest::Digest;
use crate::files::Folder;
use crate::load::LoadedPack;
use crate::notation::{Duration, Size};
use crate::redact::End;
use crate::template::{Fixed, Names, Scope};
use crate::world::Redacting;
use crate::yaml::{At, Spanned};

use super::Catalog;
use super::answer::{Block, Body, Call, Contents, PromptAnswer, Refusal, RefusalKind, ToolAnswer};
use super::discreet::Discreet;
use super::face::Object;
use super::told::{failed, told_to_step};

/// What all entries of a pack see at a call.
pub(super) struct Home {
    pub(super) fixed: Arc<Fixed>,
    pub(super) folder: Folder,
    /// The names that every entry of the pack sees.
    pub(super) names: Names,
    /// What the names of its tools and prompts begin with.
    prefix: String,
    served: bool,
    /// A digest of what all its entries may use.
    digest: u64,
}

/// The name of what a pack holds, outside of it.
pub(super) fn whole_name(prefix: &str, name: &str) -> String {
    match prefix {
        "" => name.to_owned(),
        prefix => format!("{prefix}-{name}"),
    }
}

impl Home {
    /// What the entries of a pack see; `served` is whether it is the pack that is served.
    pub(super) fn of(LoadedPack { pack, prefix, .. }: &LoadedPack, served: bool, sources: &Sources) -> Arc<Home> {
        Arc::new(Home {
            fixed: Arc::new(Fixed { env: pack.env.values(), server: pack.server.clone() }),
            folder: pack.folder.clone(),
            names: names(pack),
            prefix: prefix.clone(),
            served,
            digest: shared_digest(pack, sources),
        })
    }

    /// A digest of an entry, from that of what was written, and of what it may use.
    pub(super) fn digest(&self, written: u64) -> u64 {
        Digest::of("entry of a pack").with(&written.to_be_bytes()).with(&self.digest.to_be_bytes()).number()
    }

    /// The name by which clients know an entry of this pack.
    pub(super) fn whole_name(&self, name: &str) -> String {
        whole_name(&self.prefix, name)
    }

    /// What entries of this pack call the one that clients know by this name.
    pub(super) fn own_name(&self, whole: &str) -> Option<String> {
        match self.prefix.as_str() {
            "" => Some(whole.to_owned()),
            prefix => Some(whole.strip_prefix(prefix)?.strip_prefix('-')?.to_owned()),
        }
    }

    /// Whether it is the pack that is served, whose entries may name those of every other.
    pub(super) fn is_served(&self) -> bool {
        self.served
    }

    pub(super) fn scope(&self, arguments: Map<String, Value>, budget: &Budget) -> Scope {
        Scope::of_call(arguments, self.fixed.clone(), budget)
    }

    /// Runs the plan of the entry `name`.
    ///
    /// # Errors
    /// What kept it from coming to an outcome.
    pub(super) async fn run(
        &self,
        (name, plan): (&str, &Plan),
        scope: &Scope,
        calling: &Calling<'_>,
    ) -> Result<Ended, Refusal> {
        let desk = Desk { home: self, calling };
        let client = Discreet { client: &*calling.call.client, folder: self.folder.path() };
        let world = Redacting::around(calling.catalog.redactor(), &calling.call.world);
        let doing = Doing {
            scope,
            world: &world,
            cancel: calling.call.cancel.clone(),
            timeout: calling.timeout.map_or(plan.limits.timeout, |left| left.min(plan.limits.timeout)),
            max_output: plan.limits.max_output,
            folder: self.folder.path(),
            name,
            client: &client,
            entries: &desk,
            resume: calling.resume,
            waited: calling.budget.waited(),
            of_step: calling.depth > 0,
            detach: calling.depth == 0 && calling.call.detach,
        };
        plan.run(&doing).await.map_err(failed)
    }
}

/// A call on its way through the catalog, from entry to entry.
#[derive(Clone, Copy)]
pub(super) struct Calling<'a> {
    pub(super) call: &'a Call,
    pub(super) catalog: &'a Catalog,
    /// What is left of the time of the entry that runs this one.
    timeout: Option<time::Duration>,
    /// Where this entry stood when it waited for the client.
    pub(super) resume: Option<&'a Checkpoint>,
    /// What it may use.
    pub(super) budget: &'a Budget,
    /// How many entries run or embed one another.
    depth: usize,
}

impl<'a> Calling<'a> {
    /// A call that has come to its entry.
    pub(super) fn new(call: &'a Call, catalog: &'a Catalog, budget: &'a Budget) -> Calling<'a> {
        Calling { call, catalog, timeout: None, resume: call.resume.as_ref(), budget, depth: 0 }
    }

    /// The client's roots: those that it told already, or the ones that it is asked for.
    ///
    /// # Errors
    /// It cannot be asked, or has yet to answer.
    pub(super) async fn roots(&self) -> Result<Vec<String>, Refusal> {
        if let Some(known) = self.resume.and_then(|checkpoint| checkpoint.roots.clone()) {
            return Ok(known);
        }
        action::ask_roots(&*self.call.client, self.budget.waited()).await.map_err(failed)
    }

    /// What an entry may use that the call has come to: its own time, and no more than what is left of its caller's.
    pub(super) fn budget_of(&self, plan: Option<&Plan>) -> Budget {
        let own = plan.map_or_else(Limits::default, |plan| plan.limits).timeout;
        self.budget.within(self.timeout.map_or(own, |left| left.min(own)))
    }

    /// The call, with what its entry may use.
    pub(super) fn charging<'b>(&self, budget: &'b Budget) -> Calling<'b>
    where
        'a: 'b,
    {
        Calling { budget, ..*self }
    }

    /// The call, once its roots are known: where it waited for them, it has yet to begin.
    pub(super) fn behind_roots(&self) -> Calling<'a> {
        Calling { resume: self.resume.filter(|checkpoint| !checkpoint.wants_roots), ..*self }
    }

    /// Says that an entry without a run cannot go on from where it once stood.
    ///
    /// # Errors
    /// It was waiting for its client.
    pub(super) fn begins(&self) -> Result<(), Refusal> {
        if self.resume.is_some() { Err(failed(Failure::Changed)) } else { Ok(()) }
    }

    /// The call on its way to an entry that this one runs or embeds.
    ///
    /// # Errors
    /// There are too many on the way already.
    fn deeper(&self) -> Result<Calling<'a>, Refusal> {
        if self.depth >= DEPTH {
            return Err(Refusal::new(RefusalKind::Internal, "entries run or embed one another too deeply"));
        }
        Ok(Calling { resume: None, depth: self.depth + 1, ..*self })
    }

    /// The call on its way to a resource that is embedded.
    ///
    /// # Errors
    /// There are too many on the way already.
    pub(super) fn embedding(&self) -> Result<Calling<'a>, Refusal> {
        self.deeper()
    }
}

/// Keeps the roots that are known, where the call waits for something else.
pub(super) fn knowing(roots: Option<Vec<String>>, mut refusal: Refusal) -> Refusal {
    if let (Some(asking), Some(roots)) = (&mut refusal.asking, roots) {
        asking.checkpoint.roots = Some(roots);
    }
    refusal
}

/// How deep entries may run and embed one another.
const DEPTH: usize = 8;

/// What steps of one pack may use.
struct Desk<'a> {
    home: &'a Home,
    calling: &'a Calling<'a>,
}

impl Desk<'_> {
    fn visiting<'v>(&'v self, visit: Visit<'v>) -> Result<Calling<'v>, Failure> {
        let deeper = self.calling.deeper().map_err(told_to_step)?;
        Ok(Calling { timeout: Some(visit.timeout), resume: visit.resume, budget: visit.budget, ..deeper })
    }

    /// What another entry gave, as steps may have it: they could cut apart what stands in a file.
    fn without_secrets(&self, mut outcome: Outcome) -> Outcome {
        let redactor = self.calling.catalog.redactor();
        redactor.value(&mut outcome.value);
        match &mut outcome.body {
            action::Body::None => {}
            action::Body::Text(text) => redactor.replace(text),
            action::Body::Json(value, text) => {
                redactor.value(value);
                redactor.replace(text);
            }
            action::Body::Bytes(bytes, _) => drop(redactor.hide(bytes, End::Whole)),
        }
        outcome.failed.iter_mut().for_each(|words| redactor.replace(words));
        outcome
    }
}

impl Entries for Desk<'_> {
    fn call<'a>(&'a self, name: &'a str, arguments: Object, visit: Visit<'a>) -> Visited<'a> {
        Box::pin(async move {
            let calling = self.visiting(visit)?;
            let answer = calling.catalog.answer(&self.home.whole_name(name), Some(arguments), &calling).await;
            Ok(self.without_secrets(of_tool(answer.map_err(told_to_step)?)))
        })
    }

    fn get<'a>(&'a self, name: &'a str, arguments: Object, visit: Visit<'a>) -> Visited<'a> {
        Box::pin(async move {
            let calling = self.visiting(visit)?;
            let answer = calling.catalog.messages(&self.home.whole_name(name), Some(arguments), &calling).await;
            Ok(self.without_secrets(of_prompt(&answer.map_err(told_to_step)?)))
        })
    }

    fn may_tell_of(&self, uri: &str) -> bool {
        self.home.is_served() || self.calling.catalog.has_for(self.home, uri)
    }

    fn read<'a>(&'a self, uri: &'a str, visit: Visit<'a>) -> Visited<'a> {
        Box::pin(async move {
            let calling = self.visiting(visit)?;
            let answer = calling.catalog.contents(uri, self.home, &calling).await;
            Ok(self.without_secrets(of_resource(answer.map_err(told_to_step)?)))
        })
    }
}

/// A tool's answer as a step sees it.
fn of_tool(answer: ToolAnswer) -> Outcome {
    let text = texts(&answer.content);
    let value = json!({ "text": text, "structured": answer.structured, "isError": answer.is_error });
    let body = match answer.structured {
        Some(structured) => action::Body::Json(structured, text.clone()),
        None => action::Body::Text(text.clone()),
    };
    Outcome { failed: answer.is_error.then_some(text), ..Outcome::of(value, body) }
}

/// A prompt's answer as a step sees it.
fn of_prompt(answer: &PromptAnswer) -> Outcome {
    let text: Vec<&str> = answer.messages.iter().filter_map(|message| text_of(&message.content)).collect();
    let text = text.join("\n");
    Outcome::of(json!({ "text": text, "messages": answer.messages }), action::Body::Text(text))
}

/// A resource's first piece as a step sees it.
fn of_resource(contents: Vec<Contents>) -> Outcome {
    let Some(first) = contents.into_iter().next() else { return Outcome::of(Value::Null, action::Body::None) };
    let says_json = first.mime_type.as_deref().is_some_and(|mime| mime.contains("json"));
    match first.body {
        Body::Text(text) => {
            let value = json!({ "text": text, "blob": null, "mimeType": first.mime_type });
            let parsed = says_json.then(|| serde_json::from_str(&text).ok()).flatten();
            Outcome::of(
                value,
                match parsed {
                    Some(parsed) => action::Body::Json(parsed, text),
                    None => action::Body::Text(text),
                },
            )
        }
        Body::Blob(blob) => {
            let bytes = STANDARD.decode(&blob).unwrap_or_default();
            let value = json!({ "text": null, "blob": blob, "mimeType": first.mime_type });
            Outcome::of(value, action::Body::Bytes(bytes, first.mime_type.unwrap_or_default()))
        }
    }
}

fn texts(blocks: &[Block]) -> String {
    blocks.iter().filter_map(text_of).collect::<Vec<_>>().join("\n")
}

fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text(text) => Some(&text.text),
        Block::Resource(embedded) => match &embedded.resource.body {
            Body::Text(text) => Some(text),
            Body::Blob(_) => None,
        },
        Block::Image(_) | Block::Audio(_) | Block::ResourceLink(_) => None,
    }
}

/// A digest of what was written: the entry at `at`, and the files that were read for it since there were `before`.
pub(super) fn digest(at: At, before: usize, compiler: &Compiler<'_>) -> u64 {
    let findings = &compiler.findings;
    let mut digest = Digest::of("entry");
    findings.documents.digest(at, &mut digest);
    // Where a file is one entry, its text belongs to it.
    if findings.documents.get(at.file()).is_none_or(|document| document.root_at() == at) {
        let text = findings.report.sources.get(at.file()).map(|source| source.text());
        digest.add(text.map_or(b"", |text| text.as_bytes()));
    }
    findings.contents.iter().skip(before).for_each(|content| digest.add(content));
    digest.number()
}

/// A digest of what all entries of a pack may use: its partials, and what it is called.
fn shared_digest(pack: &Pack, sources: &Sources) -> u64 {
    let mut digest = Digest::of("pack").with(pack.server.to_string().as_bytes());
    for (name, file) in &pack.partials {
        digest.add(name.as_bytes());
        digest.add(sources.get(*file).map_or(b"", |source| source.text().as_bytes()));
    }
    digest.number()
}

/// The names that every entry of a pack sees.
pub(super) fn names(pack: &Pack) -> Names {
    use crate::template::Shape;
    let server = Shape::object([("name", Shape::Text), ("title", Shape::Text), ("version", Shape::Text)]);
    Names::new().with("env", pack.env.shape()).with("server", server)
}

/// A run that was written, checked.
pub(super) struct Ready {
    /// The run, where there is one and it may be run.
    pub(super) plan: Option<Plan>,
    /// The names behind it.
    pub(super) names: Names,
    /// Whether the pack may not do what it says.
    pub(super) blocked: bool,
    /// Whether something was wrong with it.
    pub(super) faulty: bool,
}

impl Ready {
    /// The run, now that all of its entry is checked, whose digest is `print`.
    pub(super) fn settle(self, print: u64, compiler: &Compiler<'_>) -> Option<Plan> {
        let mut plan = self.plan?;
        plan.settle(&compiler.steps_read, print);
        Some(plan)
    }
}

/// How a run was written beside its entry.
pub(super) struct RunKeys<'a> {
    pub(super) run: Option<&'a Spanned<Run>>,
    pub(super) timeout: Option<Duration>,
    pub(super) max_output: Option<Size>,
    pub(super) wants_json: bool,
}

impl RunKeys<'_> {
    /// Checks the run. One that the pack may not do is checked as well, and blocks its entry.
    pub(super) fn compile(self, compiler: &mut Compiler<'_>) -> Ready {
        let Some(run) = self.run else {
            let names = compiler.names.clone();
            return Ready { plan: None, names, blocked: false, faulty: false };
        };
        let mut limits = Limits::default();
        if let Some(timeout) = self.timeout {
            limits.timeout = timeout.get();
        }
        if let Some(max_output) = self.max_output {
            limits.max_output = max_output.bytes();
        }
        let before = compiler.findings.report.diagnostics().len();
        let planned: Planned = run.compile(self.wants_json, limits, compiler);
        let names = planned.names(&compiler.names);
        let blocked = run.blocked(compiler);
        for (grant, at) in &blocked {
            compiler.findings.report.retain_from(before, |fault| fault.code != Code::NotYet);
            let words = format!("this pack may not `{grant}`: what needs it is left out of the lists");
            compiler
                .note(Code::NotGranted, *at, words)
                .help(format!("grant it with `allow: [{grant}]` where the pack is taken in"));
        }
        let faulty = planned.plan.is_none() && blocked.is_empty();
        // What may not run is not at hand, whatever asks for it.
        let plan = planned.plan.filter(|_| blocked.is_empty());
        Ready { plan, names, blocked: !blocked.is_empty(), faulty }
    }
}

/// Reports a timeout of zero, and keys that limit a run where there is none.
pub(super) fn check_limits(keys: &RunKeys<'_>, at: At, compiler: &mut Compiler<'_>) {
    if keys.timeout.is_some_and(|timeout| timeout.get().is_zero()) {
        let place = compiler.findings.documents.value_at(at, "/timeout");
        compiler.error(Code::BadValue, place, "nothing can be done in no time").help("such as `10s`");
    }
    if keys.run.is_some() {
        return;
    }
    for (name, there) in [("timeout", keys.timeout.is_some()), ("maxOutput", keys.max_output.is_some())] {
        if there {
            let key = compiler.key(at, name);
            compiler.warning(Code::Unused, key, format!("`{name}` does nothing without `run`"));
        }
    }
}

//! Prompts: checked, and rendered.

use std::sync::Arc;

use crate::action::Plan;
use crate::budget::Budget;
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::manifest;
use crate::template::{Scope, Template, Text, Uri};
use crate::yaml::Spanned;

use super::answer::{Block, Refusal, RefusalKind};
use super::block::{BlockPlan, Made, check_icons, icons};
use super::complete::{Owner, Sources, completions};
use super::entry::{Calling, Home, RunKeys, check_limits, digest, knowing};
use super::face::{self, Object, Role};
use super::inputs::{Confined, Inputs, Misfit, size_of};
use super::listed_text::listed_text;
use super::reference::References;
use super::told::{exhausted, refused};

/// A prompt that is ready.
pub(super) struct Prompt {
    pub(super) face: face::Prompt,
    pub(super) completions: Sources,
    inputs: Inputs,
    plan: Option<Plan>,
    body: Body,
    home: Arc<Home>,
    /// A digest of what was written.
    pub(super) digest: u64,
}

enum Body {
    Text(Template<Text>),
    Messages(Vec<(Role, BlockPlan)>),
}

/// What is known of an entry while it is built.
pub(super) struct Building<'a, 'c> {
    pub(super) compiler: &'a mut Compiler<'c>,
    pub(super) references: &'a mut References,
    pub(super) home: &'a Arc<Home>,
    /// The name with its pack's prefix.
    pub(super) name: String,
    /// How many files had been read before it.
    pub(super) before: usize,
}

impl Prompt {
    /// Checks a prompt as it was written. `None` where something is wrong with it, or its pack may not act.
    pub(super) fn build(written: &Spanned<manifest::Prompt>, building: Building<'_, '_>) -> Option<Prompt> {
        let Building { compiler, references, home, name, before } = building;
        check_icons(written.icons.as_deref(), written.at, compiler);
        let inputs = Inputs::of(&written.arguments, compiler);
        let title = listed_text(written.title.as_deref(), (written.at, "title"), compiler);
        let description = listed_text(written.description.as_deref(), (written.at, "description"), compiler);
        let sources = completions(&written.arguments, inputs.as_ref(), compiler);
        let keys = RunKeys {
            run: written.run.as_ref(),
            timeout: written.timeout,
            max_output: written.max_output,
            wants_json: false,
        };
        check_limits(&keys, written.at, compiler);
        let ready = keys.compile(compiler);
        let body = compiler.with_names(ready.names.clone(), |compiler| body(written, compiler, references));
        if ready.blocked || ready.faulty {
            return None;
        }
        let digest = digest(written.at, before, compiler);
        let plan = ready.settle(home.digest(digest), compiler);
        let inputs = inputs?;
        let face = face::Prompt {
            name,
            title,
            description,
            arguments: inputs.listed(),
            icons: icons(written.icons.as_deref()),
            meta: written.meta.clone(),
        };
        Some(Prompt { face, completions: sources?, inputs, plan, body: body?, home: home.clone(), digest })
    }

    /// What its arguments are completed by.
    pub(super) fn completed(&self) -> Owner<'_> {
        Owner { sources: &self.completions, inputs: &self.inputs, home: &self.home }
    }

    /// The URIs that it reads each time and that depend on this argument alone, with a value of it.
    pub(super) fn uris_with(&self, argument: &str, value: &str) -> Vec<String> {
        let Body::Messages(messages) = &self.body else { return Vec::new() };
        let given = std::collections::BTreeMap::from([(argument.to_owned(), value.to_owned())]);
        let budget = Budget::default();
        let scope = self.home.scope(self.inputs.bind_known(&given, &budget), &budget);
        let alone = |path: &Vec<String>| match path.as_slice() {
            [name] => name == argument,
            [head, name, ..] => matches!(head.as_str(), "env" | "server") || (head == "arguments" && name == argument),
            [] => false,
        };
        let uris = messages.iter().filter_map(|(_, block)| block.reads());
        let uris = uris.filter(|uri| uri.reads().iter().all(alone) && !uri.reads().is_empty());
        uris.filter_map(|uri| Some(uri.render(&scope).ok()?.0)).collect()
    }

    /// What it takes.
    pub(super) fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Its run, where it has one.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// The URIs of the resources that it embeds.
    pub(super) fn embeds(&self) -> impl Iterator<Item = &Template<Uri>> {
        let messages = if let Body::Messages(messages) = &self.body { messages.as_slice() } else { &[] };
        messages.iter().filter_map(|(_, block)| block.embeds())
    }

    /// What its templates see beside its arguments.
    pub(super) fn home(&self) -> &Arc<Home> {
        &self.home
    }

    /// Renders it, but for the resources that it embeds.
    ///
    /// # Errors
    /// Arguments that do not fit, and what an action or a template refuses.
    pub(super) async fn render(
        &self,
        given: Option<Object>,
        calling: &Calling<'_>,
    ) -> Result<Vec<(Role, Vec<Made>)>, Refusal> {
        let budget = calling.budget_of(self.plan.as_ref());
        let calling = &calling.charging(&budget);
        let arguments =
            budget.run_sized(size_of(given.as_ref()), || self.inputs.bind_texts(given, &budget)).map_err(exhausted)?;
        let arguments = arguments.map_err(Misfit::refusal)?;
        let Confined { arguments, calling, roots } = self.inputs.confined(arguments, calling).await?;
        let mut scope = self.home.scope(arguments, &budget);
        if let Some(plan) = &self.plan {
            let ended = self.home.run((&self.face.name, plan), &scope, &calling).await;
            let ended = ended.map_err(|refusal| knowing(roots, refusal))?;
            scope = ended.enter(scope);
            if let Some(words) = ended.outcome.failed {
                return Err(Refusal::new(RefusalKind::Internal, words));
            }
        } else {
            calling.begins()?;
        }
        budget.run(|| self.messages(&scope)).map_err(exhausted)?
    }

    /// What it says, by who says it.
    fn messages(&self, scope: &Scope) -> Result<Vec<(Role, Vec<Made>)>, Refusal> {
        let written = match &self.body {
            Body::Text(text) => {
                let block = Block::text(text.render(scope).map_err(refused)?.0);
                return Ok(vec![(Role::User, vec![Made::Block(block)])]);
            }
            Body::Messages(written) => written,
        };
        let made = written.iter().map(|(role, block)| {
            let mut made = Vec::new();
            block.make(scope, &mut made)?;
            Ok((*role, made))
        });
        made.collect()
    }
}

fn body(written: &Spanned<manifest::Prompt>, compiler: &mut Compiler<'_>, references: &mut References) -> Option<Body> {
    match (&written.text, &written.messages) {
        (Some(text), None) => {
            let text = compiler.text(text)?;
            compiler.template(&text, Exposure::Client).map(Body::Text)
        }
        (None, Some(messages)) if messages.is_empty() => {
            compiler
                .error(Code::MissingKey, messages.at, "a prompt needs at least one message")
                .help("write `- user: …`");
            None
        }
        (None, Some(messages)) => {
            let messages: Vec<_> = messages.iter().map(|message| one_message(message, compiler, references)).collect();
            messages.into_iter().collect::<Option<Vec<_>>>().map(Body::Messages)
        }
        (Some(_), Some(_)) => {
            compiler
                .error(
                    Code::Conflict,
                    compiler.key(written.at, "messages"),
                    "a prompt has `text` or `messages`, not both",
                )
                .help("`text` is one message of the user");
            None
        }
        (None, None) => {
            compiler.error(Code::MissingKey, written.at, "a prompt needs `text` or `messages`");
            None
        }
    }
}

fn one_message(
    message: &Spanned<manifest::Message>,
    compiler: &mut Compiler<'_>,
    references: &mut References,
) -> Option<(Role, BlockPlan)> {
    if message.system.is_some() {
        compiler
            .error(
                Code::Role,
                compiler.key(message.at, "system"),
                "MCP has no `system` role: messages are the `user`'s or the `assistant`'s",
            )
            .help("say it in the first `user` message, or to every client in `server.instructions`");
        return None;
    }
    match (&message.user, &message.assistant) {
        (Some(block), None) => BlockPlan::compile(block, compiler, references).map(|block| (Role::User, block)),
        (None, Some(block)) => BlockPlan::compile(block, compiler, references).map(|block| (Role::Assistant, block)),
        _ => {
            compiler
                .error(Code::Conflict, message.at, "a message is exactly one of `user`, `assistant`")
                .help("write each message as an item of its own");
            None
        }
    }
}

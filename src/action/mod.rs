//! What `run` may hold: one file for each action, and the table that makes them one.
//!
//! A row of `actions!` gives an action its key in the manifest, its schema and hover text, its checks and its work.
//! What is not here: how a program is started and a request sent (world/), and what becomes of an outcome (catalog/).

mod arg_max;
mod ask;
mod tool;
mod checkpoint;
mod client;
mod entries;
mod exec;
mod fail;
mod http;
mod code_injection;
mod unsupported;
mod log;
mod notify;
mod outcome;
mod run_plan;
mod program;
mod progress;
mod prompt;
mod read;
mod run;
mod script;
mod select;
mod sleep;
mod step_keys;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::compile::Compiler;
use crate::template::Shape;
use crate::yaml::{Location, Spanned};

pub use ask::{ask_roots, parse_roots};
pub use checkpoint::{Checkpoint, PendingQuestions};
pub use client::{
    AskError, ChangeNotification, ClientCapability, ClientQuestion, LogNotification, McpClient, NoClient,
    ProgressUpdate, QuestionKind, QuestionRound,
};
pub use entries::{EntryCall, EntryFuture, PackEntries};
pub use http::check_connection;
pub use log::LogLevel;
pub use notify::ListKind;
pub use outcome::{ActionContext, ActionError, ActionOutcome, OutcomeBody};
pub use run::{ArgumentTemplates, CompiledRun, EntryReference, Run};
pub use run_plan::{RunLimits, RunOutcome, RunPlan};
pub use select::{SelectError, Selection};
pub use step_keys::{SiblingKeys, StepKeys};

/// An action: what the manifest says of it, its checks, and its work.
pub trait ActionKind: Sized + Send + Sync {
    /// What stands behind its key.
    type Spec: for<'de> Deserialize<'de> + JsonSchema + Clone + std::fmt::Debug;
    /// The keys beside it that it takes.
    const BESIDE: &'static [&'static str] = &[];
    /// The right without which a pack may not do it.
    const GRANT: Option<&'static str> = None;

    /// What templates may expect of its outcome, whatever is asked of it.
    fn outcome_shape() -> Shape {
        Shape::Any
    }

    /// What templates may expect of the outcome of what is asked of it.
    fn outcome_shape_of(_: &Self::Spec) -> Shape {
        Self::outcome_shape()
    }

    /// Checks it and makes it ready. `None` where it is wrong, which is then reported.
    fn compile(written: ActionNode<'_, Self::Spec>, compiler: &mut Compiler<'_>) -> Option<Self>;

    /// Whether it may change the world, so that doing it twice is not doing it once.
    fn has_side_effects(&self) -> bool {
        false
    }

    /// Does it.
    fn execute(&self, doing: &ActionContext<'_>) -> impl Future<Output = Result<ActionOutcome, ActionError>> + Send;
}

/// An action as it was written.
pub struct ActionNode<'a, S> {
    /// What stands behind its key.
    pub spec: &'a Spanned<S>,
    /// Its key in the manifest.
    pub name: &'static str,
    /// The place of its key.
    pub key: Location,
    /// What stands beside its key.
    pub siblings: &'a SiblingKeys<'a>,
    /// Whether text that it puts out is to be read as JSON, whatever it is.
    pub wants_json: bool,
}

/// A row of the table of actions, for lists and docs.
#[derive(Debug, Clone, Copy)]
pub struct ActionInfo {
    /// Its key in the manifest.
    pub key: &'static str,
    /// What it does.
    pub description: &'static str,
    outcome_shape: fn() -> Shape,
}

impl ActionInfo {
    /// The fields of its outcome; none where it gives nothing, or what was asked for says which.
    pub fn outcome_fields(&self) -> Vec<String> {
        match (self.outcome_shape)() {
            Shape::Object(fields) => fields.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }
}

macro_rules! actions {
    ($($(#[doc = $doc:literal])+ $key:ident $variant:ident($type:ty),)+) => {
        /// One action, and what stands beside it: exactly one of the actions, with an `id` and a `when` among steps.
        #[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
        #[serde(default, rename_all = "camelCase", deny_unknown_fields)]
        pub struct Step {
            $($(#[doc = $doc])+ pub $key: Option<Spanned<<$type as ActionKind>::Spec>>,)+
            /// The name of this step: later steps see its outcome as `{{steps.ID.…}}`.
            pub id: Option<Spanned<String>>,
            /// The step is taken only when this holds: exactly one `{{…}}`.
            pub when: Option<Spanned<String>>,
            /// What the program reads: a text (a template), or a file.
            pub stdin: Option<Spanned<crate::notation::TextOrFile>>,
            /// The folder in which the program runs: a path of the pack, or exactly one `{{env.NAME}}`.
            pub cwd: Option<Spanned<String>>,
            /// Environment variables for the program: templates by name.
            #[schemars(with = "indexmap::IndexMap<String, crate::notation::Scalar>")]
            pub env: crate::notation::NamedMap<Spanned<crate::notation::Scalar>>,
            /// Exit codes that are no error; `[0]` until told otherwise.
            pub ok_exit: Option<Vec<i32>>,
            /// What the program may touch.
            pub sandbox: Option<Spanned<crate::notation::Json>>,
            /// How long an answer is waited for.
            pub timeout: Option<Spanned<crate::notation::Duration>>,
        }

        impl Step {
            /// The keys of the actions that stand here.
            pub fn action_keys(&self) -> Vec<&'static str> {
                let mut keys = Vec::new();
                $(if self.$key.is_some() { keys.push(stringify!($key)); })+
                keys
            }

            /// The keys beside it that the action takes.
            pub fn allowed_siblings(&self) -> &'static [&'static str] {
                $(if self.$key.is_some() { return <$type as ActionKind>::BESIDE; })+
                &[]
            }

            /// The right that the action needs.
            pub fn grant(&self) -> Option<&'static str> {
                $(if self.$key.is_some() { return <$type as ActionKind>::GRANT; })+
                None
            }

            /// What templates may expect of the outcome.
            pub fn outcome_shape_of(&self) -> Shape {
                $(if let Some(spec) = &self.$key { return <$type as ActionKind>::outcome_shape_of(&spec.value); })+
                Shape::Any
            }

            /// Checks the action and makes it ready.
            pub fn compile(&self, keys: &StepKeys, compiler: &mut Compiler<'_>) -> Option<Action> {
                let beside = SiblingKeys::new(self);
                $(if let Some(spec) = &self.$key {
                    let name = stringify!($key);
                    let key = keys.key_at(name, spec.location);
                    let written = ActionNode { spec, name, key, siblings: &beside, wants_json: keys.wants_json };
                    return <$type>::compile(written, compiler).map(Action::$variant);
                })+
                None
            }
        }

        /// An action that is ready.
        #[allow(clippy::large_enum_variant, reason = "each is made once, at load, and stays where it is")]
        pub enum Action { $($(#[doc = $doc])+ $variant($type),)+ }

        impl Action {
            /// Whether it may change the world.
            pub fn has_side_effects(&self) -> bool {
                match self { $(Action::$variant(action) => action.has_side_effects(),)+ }
            }

            /// Does it.
            pub async fn execute(&self, doing: &ActionContext<'_>) -> Result<ActionOutcome, ActionError> {
                match self { $(Action::$variant(action) => action.execute(doing).await,)+ }
            }
        }

        /// Every action, in the order of the table.
        pub const ACTIONS: &[ActionInfo] = &[$(ActionInfo {
            key: stringify!($key),
            description: concat!($($doc,)+),
            outcome_shape: <$type as ActionKind>::outcome_shape,
        },)+];
    };
}

actions! {
    /// A program with its argv elements, and no shell.
    exec Exec(exec::ExecAction),
    /// Text for a shell, never templated; values arrive as environment variables.
    script Script(script::ScriptAction),
    /// One HTTP request.
    http Http(http::HttpAction),
    /// Another tool of this server.
    tool Tool(tool::ToolAction),
    /// A resource of this server, by its URI (a template).
    read Read(read::ReadAction),
    /// A prompt of this server.
    prompt Prompt(prompt::PromptAction),
    /// One round of questions to the client.
    ask Ask(ask::AskAction),
    /// A log message to the client, by the level that it asked for.
    log Log(log::LogAction),
    /// How far the work is, where the client gave a token.
    progress Progress(progress::ProgressAction),
    /// Waits: a duration, or a template that gives one.
    sleep Sleep(sleep::SleepAction),
    /// Tells clients that something changed.
    notify Notify(notify::NotifyAction),
    /// Ends the run, in words of its own.
    fail FailAction(fail::FailAction),
}

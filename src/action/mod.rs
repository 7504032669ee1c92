//! The actions of `run`, listed in the table `actions!`.
//!
//! A row of the table gives an action its key in the manifest, its schema and hover text, its checks and its work. An
//! action is given its context (context/), and steps are compiled and run in order (run/). What is not here: how programs
//! are started and requests sent (world/), and what an outcome becomes in an answer (catalog/).

mod condition;
mod csv;
mod literal_credential;
mod parse;
mod select;
mod sibling_keys;

mod context;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::compile::{Compiler, Pack};
use crate::template::Shape;
use crate::yaml::{Location, Spanned};

pub use ask::{DeclaredQuestion, DeclaredQuestionKind, ask_roots, is_roots_list};
pub use context::call::CallContext;
pub use context::call_recorder::CallRecorder;
pub use context::checkpoint::{Checkpoint, PendingQuestions};
pub use context::client::{
    AskError, ChangeNotification, ClientCapability, ClientQuestion, ClientUse, LogNotification, McpClient,
    ProgressUpdate, QuestionKind, QuestionRound,
};
pub use context::entry_reference::{ArgumentTemplates, EntryReference};
pub use context::outcome::{ActionError, ActionOutcome, OutcomeBody};
pub use context::step::{EntryFuture, OutcomeReads, StepContext, StepEntry};
pub use csv::{CsvFault, CsvFields};
pub use file::check_folder;
pub use http::{check_connection, is_header_name, is_reserved_header};
pub use literal_credential::{LITERAL_CREDENTIAL, LITERAL_CREDENTIAL_HELP, has_literal_credential};
pub use log::LogLevel;
pub use notify::ListKind;
pub use program::code_injection::{ValueUse, may_run_code, takes_values_behind, value_use};
pub use run::compile_run::{Run, RunCompilation};
pub use run::imported_step::ImportedRunBuilder;
pub use run::run_limits::RunLimits;
pub use run::run_plan::{InvokedEntry, RunOutcome, RunPlan};
pub use select::{InvalidSelect, SelectError, SelectExpression};

/// An action: its notation in the manifest, its checks and its work.
pub trait ActionKind: Sized + Send + Sync {
    /// The type of the value of its key.
    type Spec: for<'de> Deserialize<'de> + JsonSchema + Clone + std::fmt::Debug;
    /// The keys beside its own that it accepts, such as `stdin`.
    const SIBLING_KEYS: &'static [&'static str] = &[];
    /// The grant that a pack needs for it.
    const GRANT: Option<&'static str> = None;
    /// Whether it ends the run.
    const ENDS_RUN: bool = false;
    /// Whether it talks to the client, which a completion cannot.
    const TALKS_TO_CLIENT: bool = false;
    /// Whether what it renders is for people and models to read, who see the notes at the end of texts.
    const IS_FOR_DISPLAY: bool = false;

    /// The grant that a pack needs for this spec.
    fn required_grant(_: &Self::Spec, _: &Pack) -> Option<&'static str> {
        Self::GRANT
    }

    /// The shape of its outcome, whatever its spec.
    fn outcome_shape() -> Shape {
        Shape::Any
    }

    /// The shape of the outcome of this spec.
    fn outcome_shape_of(_: &Self::Spec) -> Shape {
        Self::outcome_shape()
    }

    /// The fields of its outcome as the reference lists them.
    fn outcome_fields() -> String {
        match Self::outcome_shape() {
            Shape::Object(fields) => fields.keys().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(" "),
            _ => String::new(),
        }
    }

    /// The entry of this server that the spec names.
    fn reference(_: &Spanned<Self::Spec>) -> Option<EntryReference> {
        None
    }

    /// Checks and compiles it. `None` if it has an error, which is reported.
    fn compile(node: ActionNode<'_, Self::Spec>, compiler: &mut Compiler<'_>) -> Option<Self>;

    /// Whether it may change something outside of the server, so that it must not be repeated.
    fn has_side_effects(&self) -> bool {
        false
    }

    /// How it uses the client of its call.
    fn client_use(&self) -> ClientUse {
        ClientUse::None
    }

    /// Runs it.
    fn execute(&self, context: &StepContext<'_>) -> impl Future<Output = Result<ActionOutcome, ActionError>> + Send;
}

/// An action as written in a step.
pub struct ActionNode<'a, S> {
    /// The value of its key.
    pub spec: &'a Spanned<S>,
    /// Its key.
    pub name: &'static str,
    /// The place of its key.
    pub key: Location,
    /// The step, with the keys beside the action.
    pub step: &'a Step,
    /// Whether its output is parsed as JSON.
    pub wants_json: bool,
}

/// A row of the table of actions.
#[derive(Debug, Clone, Copy)]
pub struct ActionInfo {
    /// Its key in the manifest.
    pub key: &'static str,
    /// Its documentation.
    pub description: &'static str,
    /// The fields of its outcome as the reference lists them.
    pub outcome_fields: fn() -> String,
    sibling_keys: &'static [&'static str],
    ends_run: bool,
    /// Whether it talks to the client, which a completion cannot.
    pub talks_to_client: bool,
}

macro_rules! actions {
    ($($(#[doc = $doc:literal])+ $key:ident $variant:ident($type:ty),)+) => {
        /// A step: exactly one action, with the keys that belong to it. Only the steps of a list have `id`, `when`, `each` and
        /// `onFail`.
        #[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
        #[serde(default, rename_all = "camelCase", deny_unknown_fields)]
        #[schemars(extend(
            "x-exactly-one" = [$(stringify!($key)),+],
            "x-if-several" = "multiple actions, expected one: write a list of steps",
        ))]
        pub struct Step {
            $($(#[doc = $doc])+ pub $key: Option<Spanned<<$type as ActionKind>::Spec>>,)+
            /// The id of the step. Later steps use its outcome as `{{steps.ID.…}}`.
            pub id: Option<Spanned<String>>,
            /// A condition: the step is skipped unless it is true. The name of an argument, or exactly one `{{…}}`, such as
            /// `"{{eq mode \"fast\"}}"`.
            pub when: Option<Spanned<String>>,
            /// A list of at most 10000 items: the step runs once for each, which is `{{this}}`, and its number from 0 is
            /// `{{index}}`: `each: "{{steps.list.json}}"`, or the name of an argument. The outcome is the list of the outcomes.
            /// `when` is tested for each item; the outcome of one that it skips is `null`.
            pub each: Option<Spanned<String>>,
            /// How many items of `each` run at the same time. The default is 1.
            #[schemars(with = "Option<u32>", range(min = 1, max = 16))]
            pub parallel: Option<Spanned<u32>>,
            /// What a failure does: `continue` goes on with the next step or item, and `{{steps.ID.error.text}}` says why. The
            /// default is `stop`.
            #[schemars(with = "Option<run::on_fail::OnFail>")]
            pub on_fail: Option<Spanned<run::on_fail::OnFail>>,
            /// The error messages of exit codes, templates with the names `stdout stderr exit json`:
            /// `{ 1: "no branch {{name}}" }`; `default` is for every other failure.
            #[schemars(with = "indexmap::IndexMap<String, String>")]
            pub on_exit: crate::value_types::NamedMap<Spanned<String>>,
            /// The standard input of the program: a template, `{ file: … }`, or `{ from: ID }` for exactly the bytes that an
            /// earlier step wrote to its stdout.
            pub stdin: Option<Spanned<program::stdin::StdinSpec>>,
            /// The working folder of the program: a path of the pack, or exactly one `{{env.NAME}}`, `{{workspace}}`, or an
            /// argument with `within`, such as `"{{dir}}"`.
            pub cwd: Option<Spanned<String>>,
            /// Environment variables of the program, templates by name: `{ LANG: C }`.
            #[schemars(with = "indexmap::IndexMap<String, crate::value_types::Scalar>")]
            pub env: crate::value_types::NamedMap<Spanned<crate::value_types::Scalar>>,
            /// The exit codes that are not errors. The default is `[0]`.
            pub ok_exit: Option<Vec<i32>>,
            /// How the output of a program, or the body of a response, is parsed: `json`, `jsonl`, `csv` or `lines`. The `json` of
            /// the outcome is the value, a list but for `json`. Without it, `json` is set where the output is JSON.
            #[schemars(with = "Option<parse::ParseFormat>")]
            pub parse: Option<Spanned<parse::ParseFormat>>,
            /// What becomes of stdout while the program runs: `progress` sends the latest line as a progress message to a client
            /// that sent a progress token.
            #[schemars(with = "Option<program::stream_progress::StreamTarget>")]
            pub stream: Option<Spanned<program::stream_progress::StreamTarget>>,
            /// What the program may reach: `{ read: [data], write: [out], network: none }`.
            pub sandbox: Option<Spanned<crate::value_types::Sandbox>>,
            /// How long to wait for the answers. The default is 5m.
            pub timeout: Option<Spanned<crate::value_types::Duration>>,
        }

        impl Step {
            /// The rows of the actions that are written in the step.
            pub fn actions(&self) -> Vec<&'static ActionInfo> {
                let written = [$(self.$key.is_some()),+];
                ACTIONS.iter().zip(written).filter_map(|(action, written)| written.then_some(action)).collect()
            }

            /// The grant that its action needs in this pack.
            pub fn required_grant(&self, pack: &Pack) -> Option<&'static str> {
                $(if let Some(spec) = &self.$key { return <$type>::required_grant(&spec.value, pack); })+
                None
            }

            /// The shape of its outcome.
            pub fn outcome_shape(&self) -> Shape {
                let shapes = [$(self.$key.as_ref().map(|spec| <$type>::outcome_shape_of(&spec.value))),+];
                let shape = shapes.into_iter().flatten().next().unwrap_or(Shape::Any);
                let shape = run::on_fail::shape_with_error(shape, self.on_fail.as_deref().copied());
                if self.each.is_some() { Shape::list(shape) } else { shape }
            }

            /// The entry of this server that its action names.
            pub fn reference(&self) -> Option<EntryReference> {
                None$(.or_else(|| <$type>::reference(self.$key.as_ref()?)))+
            }

            /// Checks and compiles its action; `at` is the place of the step.
            pub fn compile(&self, at: Location, wants_json: bool, compiler: &mut Compiler<'_>) -> Option<Action> {
                $(if let Some(spec) = &self.$key {
                    let name = stringify!($key);
                    let node = ActionNode { spec, name, key: compiler.key_location(at, name), step: self, wants_json };
                    return <$type>::compile(node, compiler).map(Action::$variant);
                })+
                None
            }
        }

        /// A compiled action.
        #[allow(clippy::large_enum_variant, reason = "each is built once, at load, and never moved again")]
        pub enum Action { $($(#[doc = $doc])+ $variant($type),)+ }

        impl Action {
            /// Whether it may change something outside of the server.
            pub fn has_side_effects(&self) -> bool {
                match self { $(Action::$variant(action) => action.has_side_effects(),)+ }
            }

            /// Its key in the manifest, with the entry of this server that it uses.
            pub(super) fn label(&self) -> String {
                let key = match self { $(Action::$variant(_) => stringify!($key),)+ };
                match self {
                    Action::Tool(tool) => format!("{key} {}", tool.0.name),
                    Action::Prompt(prompt) => format!("{key} {}", prompt.0.name),
                    _ => key.to_owned(),
                }
            }

            /// Whether what it renders is for people and models to read.
            pub(super) fn is_for_display(&self) -> bool {
                match self { $(Action::$variant(_) => <$type>::IS_FOR_DISPLAY,)+ }
            }

            /// How it uses the client of its call.
            pub fn client_use(&self) -> ClientUse {
                match self { $(Action::$variant(action) => action.client_use(),)+ }
            }

            /// Runs it. What its templates and programs wrote ends with it, and its outcome is held until the call ends.
            pub async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
                let scope = context.scope.nested();
                let inner = StepContext { scope: &scope, ..*context };
                // Boxed each: the state of the largest one would be moved for every one.
                let outcome = match self { $(Action::$variant(action) => Box::pin(action.execute(&inner)).await,)+ };
                let size = outcome.as_ref().map_or(0, ActionOutcome::memory_size);
                scope.budget().leave(context.scope.budget(), size);
                outcome
            }
        }

        /// Every action, in the order of the table.
        pub const ACTIONS: &[ActionInfo] = &[$(ActionInfo {
            key: stringify!($key),
            description: concat!($($doc,)+),
            outcome_fields: <$type>::outcome_fields,
            sibling_keys: <$type>::SIBLING_KEYS,
            ends_run: <$type>::ENDS_RUN,
            talks_to_client: <$type>::TALKS_TO_CLIENT,
        },)+];
    };
}

// To add an action, implement `ActionKind` in a file of its own and add three lines: its `mod` here, and its doc comment
// and row in the table below.
mod ask;
mod entries;
mod fail;
mod file;
mod http;
mod log;
mod notify;
mod program;
mod progress;
mod set;
mod sleep;

mod run;

actions! {
    /// Runs a program with a list of arguments, without a shell: `[git, log, "{{branch}}"]`.
    exec Exec(program::exec::ExecAction),
    /// Runs a script, whose values are environment variables, not templates: `{ shell: sh, text: 'wc -l "$path"' }`.
    script Script(program::script::ScriptAction),
    /// Sends an HTTP request: `{ url: "https://api.example.com/items" }`.
    http Http(http::HttpAction),
    /// Reads, lists or changes files below one of `folders`: `{ read: "{{name}}.md", in: notes }`.
    file File(file::FileAction),
    /// Calls another tool of this server: its name, or `{ name: search, arguments: { q: "{{q}}" } }`.
    tool Tool(entries::ToolAction),
    /// Reads a resource of this server, by its URI (a template).
    read Read(entries::ReadAction),
    /// Renders a prompt of this server: its name, or `{ name: review, arguments: { diff: "{{diff}}" } }`.
    prompt Prompt(entries::PromptAction),
    /// Asks the client one round of questions: `{ name: { elicit: { message: Who?, schema: { who: {} } } } }`.
    ask Ask(ask::AskAction),
    /// Sends a log message to the client, if it asked for its level: a text, or `{ level: warning, data: "{{who}}" }`.
    log Log(log::LogAction),
    /// Reports progress to a client that sent a progress token: `{ progress: 1, total: 3, message: searching }`.
    progress Progress(progress::ProgressAction),
    /// Waits for a duration, such as `2s`, or a template that renders to one.
    sleep Sleep(sleep::SleepAction),
    /// Names values for later steps, which use them as `{{steps.ID.NAME}}`: `{ total: "{{len steps.list.json}}" }`.
    set Set(set::SetAction),
    /// Notifies clients of a change: `tools`, `prompts` or `resources`, or `{ updated: "docs://policy" }`.
    notify Notify(notify::NotifyAction),
    /// Ends the run with an error message: a text, or `{ message: no such item, code: -32002 }`.
    fail Fail(fail::FailAction),
}

//! What stands beside an action, and where.

use crate::compile::Compiler;
use crate::diagnostic::Code;
use crate::notation::{Duration, Json, NamedMap, Scalar, TextOrFile};
use crate::yaml::{Location, Spanned};

use super::Step;

/// The places of the keys of a step.
pub struct StepKeys {
    keys: Vec<(String, Location)>,
    /// Whether text that the action puts out is to be read as JSON.
    pub wants_json: bool,
}

impl StepKeys {
    /// Finds the keys of the map at `at`.
    pub fn new(at: Location, wants_json: bool, compiler: &Compiler<'_>) -> StepKeys {
        StepKeys { keys: compiler.findings.documents.keys_of(at), wants_json }
    }

    /// The place of a key, or that of its value.
    pub fn key_at(&self, key: &str, value: Location) -> Location {
        self.keys.iter().find(|(name, _)| name == key).map_or(value, |(_, at)| *at)
    }
}

/// The keys beside an action that belong to it.
pub struct SiblingKeys<'a> {
    /// What the program reads.
    pub stdin: Option<&'a Spanned<TextOrFile>>,
    /// Where it runs.
    pub cwd: Option<&'a Spanned<String>>,
    /// Its environment.
    pub env: &'a NamedMap<Spanned<Scalar>>,
    /// Its exit codes that are no error.
    pub ok_exit: Option<&'a [i32]>,
    /// What it may touch.
    pub sandbox: Option<&'a Spanned<Json>>,
    /// How long an answer is waited for.
    pub timeout: Option<&'a Spanned<Duration>>,
}

const SIBLING_KEYS: &[&str] = &["stdin", "cwd", "env", "okExit", "sandbox", "timeout"];

impl<'a> SiblingKeys<'a> {
    /// The keys beside the action of `step`.
    pub fn new(step: &'a Step) -> SiblingKeys<'a> {
        SiblingKeys {
            stdin: step.stdin.as_ref(),
            cwd: step.cwd.as_ref(),
            env: &step.env,
            ok_exit: step.ok_exit.as_deref(),
            sandbox: step.sandbox.as_ref(),
            timeout: step.timeout.as_ref(),
        }
    }
}

/// Reports keys that the action beside them does not take.
pub(super) fn check_siblings(step: &Step, keys: &StepKeys, compiler: &mut Compiler<'_>) {
    let action = step.action_keys().first().copied().unwrap_or_default();
    for (name, at) in &keys.keys {
        if SIBLING_KEYS.contains(&name.as_str()) && !step.allowed_siblings().contains(&name.as_str()) {
            let fault = compiler.error(Code::Conflict, *at, format!("unexpected key `{name}` for action `{action}`"));
            match (name.as_str(), action) {
                ("timeout", "exec" | "script") => fault.help("write `timeout` next to `run`"),
                ("timeout", "http") => fault.help("write `timeout` next to `run`, or inside `http`"),
                _ => fault.help("use `stdin cwd env okExit sandbox` with `exec` and `script` only"),
            };
        }
    }
}

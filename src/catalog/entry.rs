//! What prompts, resources and tools have in common: their run, their scope, and how both are used by a call.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::action::{Doing, Failure, Limits, Outcome, Plan, Planned, Run};
use crate::compile::{Compiler, Pack};
use crate::diagnostic::Code;
use crate::files::Folder;
use crate::notation::{Duration, Size};
use crate::template::{Fixed, Names, Scope};
use crate::yaml::Spanned;

use super::answer::Call;

/// What all entries of a pack see at a call.
pub(super) struct Home {
    pub(super) fixed: Arc<Fixed>,
    pub(super) folder: Folder,
    /// Whether it is the pack that is served, whose entries may embed those of every other.
    served: bool,
}

impl Home {
    /// What the entries of a pack see; `served` is whether it is the pack that is served.
    pub(super) fn of(pack: &Pack, served: bool) -> Arc<Home> {
        let fixed = Arc::new(Fixed { env: pack.env.values(), server: pack.server.clone() });
        Arc::new(Home { fixed, folder: pack.folder.clone(), served })
    }

    /// Whether an entry here may embed an entry there: a pack's own references resolve inside it.
    pub(super) fn may_embed(&self, other: &Home) -> bool {
        self.served || std::ptr::eq(self, other)
    }

    pub(super) fn scope(&self, arguments: Map<String, Value>) -> Scope {
        Scope::new(arguments, self.fixed.clone())
    }

    /// Runs a plan for a call.
    pub(super) async fn run(&self, plan: &Plan, scope: &Scope, call: &Call) -> Result<Outcome, Failure> {
        let doing = Doing {
            scope,
            world: &call.world,
            cancel: call.cancel.clone(),
            timeout: plan.limits.timeout,
            max_output: plan.limits.max_output,
            folder: self.folder.path(),
        };
        plan.run(&doing).await
    }
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
            return Ready { plan: None, names: compiler.names.clone(), blocked: false, faulty: false };
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
                .warning(Code::NotGranted, *at, words)
                .help(format!("grant it with `allow: [{grant}]` where the pack is taken in"));
        }
        let faulty = planned.plan.is_none() && blocked.is_empty();
        // What may not run is not at hand, whatever asks for it.
        let plan = planned.plan.filter(|_| blocked.is_empty());
        Ready { plan, names, blocked: !blocked.is_empty(), faulty }
    }
}

/// Reports a timeout of zero, and keys that limit a run where there is none.
pub(super) fn check_limits(keys: &RunKeys<'_>, at: crate::yaml::At, compiler: &mut Compiler<'_>) {
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

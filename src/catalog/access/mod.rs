//! Who may use an entry: its `scopes`, `roles` and `permit`, and the scopes that its steps add.
//!
//! An entry without them has none of this, and costs nothing. Who calls is in identity.rs; whether a request is answered
//! with 403 is decided in server/ and transport/.

mod build;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::result::refusal::{Refusal, RefusalKind};
use crate::action::CallContext;
use crate::identity::{AccessControl, Identity, is_scope};
use crate::template::{ConditionSlot, RenderError, Scope, Template, TextSlot};

/// The longest scope that a value may make: it is sent in a header.
const MAX_SCOPE_CHARS: usize = 256;

/// Who may use an entry.
#[derive(Debug, Clone, Default)]
pub struct EntryAccess {
    /// In the order written.
    scopes: Vec<NeededScope>,
    /// Any one of them; none where all see the entry.
    roles: BTreeSet<String>,
    permit: Option<Arc<Template<ConditionSlot>>>,
    /// The scopes that the entries need which its steps use.
    step_scopes: BTreeSet<String>,
}

/// A scope that an entry needs.
#[derive(Debug, Clone)]
enum NeededScope {
    Literal(String),
    /// One that depends on the arguments.
    Template(Arc<Template<TextSlot>>),
}

impl NeededScope {
    fn as_written(&self) -> &str {
        match self {
            NeededScope::Literal(scope) => scope,
            NeededScope::Template(template) => template.source(),
        }
    }
}

impl EntryAccess {
    /// Whether a caller sees the entry in lists, and finds it.
    pub fn is_visible(&self, access: &AccessControl) -> bool {
        match access {
            AccessControl::Unrestricted => true,
            AccessControl::Caller(_) if self.roles.is_empty() => true,
            AccessControl::Caller(identity) => {
                identity.as_deref().is_some_and(|identity| !identity.roles.is_disjoint(&self.roles))
            }
        }
    }

    /// The roles of which a caller needs one to see the entry; none where all see it.
    pub fn roles(&self) -> &BTreeSet<String> {
        &self.roles
    }

    /// The scopes that the entry itself names, as they are written.
    pub fn written_scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().map(NeededScope::as_written)
    }

    /// The scopes that its steps add.
    pub fn step_scopes(&self) -> &BTreeSet<String> {
        &self.step_scopes
    }

    /// The condition, as it is written.
    pub fn written_permit(&self) -> Option<&str> {
        self.permit.as_ref().map(|permit| permit.source())
    }

    /// Whether the entry names any of its own, and not its steps alone.
    pub fn has_keys(&self) -> bool {
        !self.scopes.is_empty() || !self.roles.is_empty() || self.permit.is_some()
    }

    /// The scopes that every call needs, whatever its arguments.
    pub(in crate::catalog) fn fixed_scopes(&self) -> impl Iterator<Item = &String> {
        let own = self.scopes.iter().filter_map(|scope| match scope {
            NeededScope::Literal(scope) => Some(scope),
            NeededScope::Template(_) => None,
        });
        own.chain(&self.step_scopes)
    }

    /// The same with the scopes that its steps add.
    #[must_use]
    pub(in crate::catalog) fn with_step_scopes(self, step_scopes: BTreeSet<String>) -> EntryAccess {
        let own: BTreeSet<&String> = self.fixed_scopes().collect();
        let step_scopes = step_scopes.iter().filter(|scope| !own.contains(scope)).cloned().collect();
        EntryAccess { step_scopes, ..self }
    }

    /// All scopes that a call needs, as far as what they read is known.
    ///
    /// # Errors
    /// A value makes no scope.
    fn needed_scopes(
        &self,
        scope: &Scope,
        is_known: impl Fn(&[Vec<String>]) -> bool,
    ) -> Result<BTreeSet<String>, Refusal> {
        let mut needed: BTreeSet<String> = self.fixed_scopes().cloned().collect();
        for written in &self.scopes {
            if let NeededScope::Template(template) = written
                && is_known(template.read_paths())
            {
                needed.insert(render_scope(template, scope)?);
            }
        }
        Ok(needed)
    }

    /// Refuses a caller who lacks a scope, as far as the arguments are known. The refusal names all that the request needs.
    ///
    /// # Errors
    /// The caller lacks one, or is nobody.
    pub(in crate::catalog) fn check_scopes(
        &self,
        scope: Option<&Scope>,
        call: &CallContext,
    ) -> Result<BTreeSet<String>, Refusal> {
        let needed = match scope {
            Some(scope) => self.needed_scopes(scope, |_| true)?,
            None => self.fixed_scopes().cloned().collect(),
        };
        check_has_all(needed, call)
    }

    /// Refuses a caller who lacks a scope, or whom the condition does not permit the call with these arguments.
    ///
    /// # Errors
    /// It is refused, or a value makes no scope.
    pub(in crate::catalog) fn check(&self, scope: &Scope, call: &mut CallContext) -> Result<(), Refusal> {
        let needed = self.check_scopes(Some(scope), call)?;
        self.check_permit(scope)?;
        call.needed_scopes = Some(Arc::new(needed));
        Ok(())
    }

    /// Refuses what the condition does not permit. What it compares is not shown, nor why it fails.
    fn check_permit(&self, scope: &Scope) -> Result<(), Refusal> {
        let Some(permit) = &self.permit else { return Ok(()) };
        match permit.render(scope) {
            Ok(true) => Ok(()),
            Err(RenderError::BudgetExceeded(why)) => Err(why.into()),
            Ok(false) | Err(_) => Err(not_permitted()),
        }
    }

    /// The same where only the arguments are known for which `is_given` holds: what reads others does not count.
    pub(in crate::catalog) fn check_known(
        &self,
        scope: &Scope,
        is_given: impl Fn(&str) -> bool,
        call: &CallContext,
    ) -> Result<(), Refusal> {
        let is_known = |paths: &[Vec<String>]| {
            paths.iter().all(|path| match path.first().map(String::as_str) {
                Some(crate::template::CALLER | "env" | "server") => true,
                Some("arguments") => path.get(1).is_some_and(|name| is_given(name)),
                head => head.is_some_and(&is_given),
            })
        };
        check_has_all(self.needed_scopes(scope, is_known)?, call)?;
        let is_decided = self.permit.as_ref().is_some_and(|permit| is_known(permit.read_paths()));
        if is_decided { self.check_permit(scope) } else { Ok(()) }
    }
}

/// Refuses a caller who lacks one of these scopes, or of those that the call needs already, with all of them.
fn check_has_all(mut needed: BTreeSet<String>, call: &CallContext) -> Result<BTreeSet<String>, Refusal> {
    needed.extend(call.needed_scopes.iter().flat_map(|scopes| scopes.iter().cloned()));
    let has_all = |identity: &Arc<Identity>| identity.scopes.is_superset(&needed);
    match &call.access {
        AccessControl::Caller(identity) if !identity.as_ref().is_some_and(has_all) => {
            Err(Refusal::insufficient_scope(&needed))
        }
        _ => Ok(needed),
    }
}

/// The rules of an entry, where they apply to a call.
pub(in crate::catalog) fn rules_for<'a>(
    access: Option<&'a Arc<EntryAccess>>,
    call: &CallContext,
) -> Option<&'a EntryAccess> {
    access.map(AsRef::as_ref).filter(|_| call.access != AccessControl::Unrestricted)
}

/// Refuses an entry that the caller does not see: a client is told `unknown`, as of one that there is not.
///
/// # Errors
/// The caller has none of its roles.
pub(in crate::catalog) fn ensure_visible(
    access: Option<&Arc<EntryAccess>>,
    call: &CallContext,
    unknown: impl FnOnce() -> Refusal,
) -> Result<(), Refusal> {
    match access {
        Some(access) if !access.is_visible(&call.access) => {
            // The name that a step uses is no secret of the caller's, and says nothing to it.
            Err(if call.is_nested() { not_permitted() } else { unknown() })
        }
        _ => Ok(()),
    }
}

fn not_permitted() -> Refusal {
    Refusal::new(RefusalKind::NotPermitted, "not permitted: the server does not let this caller do that")
}

fn render_scope(template: &Template<TextSlot>, scope: &Scope) -> Result<String, Refusal> {
    let rendered = template.render(scope)?.0;
    if is_scope(&rendered) && rendered.len() <= MAX_SCOPE_CHARS {
        return Ok(rendered);
    }
    let message = format!(
        "the value in `{}` makes no scope: use printable ASCII without spaces, `\"` and `\\`",
        template.source()
    );
    Err(Refusal::new(RefusalKind::BadArguments, message))
}

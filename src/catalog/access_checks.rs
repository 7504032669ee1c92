//! What a caller sees of the catalog, and what it lacks for a request.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::Serialize;

use crate::action::{CallContext, ListKind};
use crate::identity::{AccessControl, CallerSecrets, Identity};

use super::Catalog;
use super::access::{EntryAccess, ensure_visible};
use super::listing::Object;
use super::read_resource::no_resource_refusal;
use super::result::refusal::{Refusal, RefusalKind};
use super::routes::Route;

/// What one entry asks of its callers, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessRow {
    /// `tool`, `prompt`, `resource` or `skill`.
    pub kind: &'static str,
    /// Its name, or URI.
    pub name: String,
    /// Its own scopes, as they are written.
    pub scopes: Vec<String>,
    /// Any one of them.
    pub roles: Vec<String>,
    pub permit: Option<String>,
    /// The scopes that its steps add.
    pub steps_need: Vec<String>,
}

impl Catalog {
    /// Who makes a request: as its sender says, or else as the command line or a test does.
    pub fn access_of(&self, sender: AccessControl) -> AccessControl {
        match sender {
            AccessControl::Unrestricted => self.settings.access.clone(),
            caller @ AccessControl::Caller(_) => caller,
        }
    }

    /// What comes beside a request to act upstream as its sender: as that sends, or else as the command line or a test does.
    pub fn caller_secrets(&self, sent: Arc<CallerSecrets>) -> Arc<CallerSecrets> {
        if sent.is_empty() { self.settings.caller_secrets.clone() } else { sent }
    }

    /// Who may call a tool; `None` for whoever may call anything.
    pub fn tool_access(&self, name: &str) -> Option<&EntryAccess> {
        self.tools.get(name)?.access.as_deref()
    }

    /// Who may get a prompt.
    pub fn prompt_access(&self, name: &str) -> Option<&EntryAccess> {
        self.prompts.get(name)?.access.as_deref()
    }

    /// Who may read a URI: of a resource, a file of a root or of a skill, or one that a template makes.
    pub fn resource_access(&self, uri: &str) -> Option<&EntryAccess> {
        match self.routes.find(uri)? {
            Route::Skill(file) => file.access.as_deref(),
            Route::Resource(nth, _) => self.resources.get(nth)?.access.as_deref(),
        }
    }

    /// Who may read what a resource template, as it is listed, makes.
    pub fn template_access(&self, template: &str) -> Option<&EntryAccess> {
        let resource = self.resources.iter().find(|resource| resource.template.as_str() == template)?;
        resource.access.as_deref()
    }

    /// Whether a caller sees a tool.
    pub fn sees_tool(&self, name: &str, access: &AccessControl) -> bool {
        self.tool_access(name).is_none_or(|entry| entry.is_visible(access))
    }

    /// Whether a caller sees a prompt.
    pub fn sees_prompt(&self, name: &str, access: &AccessControl) -> bool {
        self.prompt_access(name).is_none_or(|entry| entry.is_visible(access))
    }

    /// Whether a caller sees what has a URI: also a skill, by its SKILL.md, and a folder of skills, by what is in it.
    pub fn sees_resource(&self, uri: &str, access: &AccessControl) -> bool {
        if *access == AccessControl::Unrestricted {
            return true;
        }
        if self.routes.skills.folder(uri).is_none() {
            return self.resource_access(uri).is_none_or(|entry| entry.is_visible(access));
        }
        let mut files = self.routes.skills.files_below(uri).peekable();
        let is_visible =
            |file: &super::skill::SkillResource| file.access.as_ref().is_none_or(|entry| entry.is_visible(access));
        files.peek().is_none() || files.any(is_visible)
    }

    /// Whether a caller sees a resource template, as it is listed.
    pub fn sees_template(&self, template: &str, access: &AccessControl) -> bool {
        self.template_access(template).is_none_or(|entry| entry.is_visible(access))
    }

    /// Whether callers see lists of this kind differently: those of resources are also those of templates and skills.
    pub fn list_depends_on_caller(&self, kind: ListKind) -> bool {
        let has_roles = |access: Option<&EntryAccess>| access.is_some_and(|access| !access.roles().is_empty());
        match kind {
            ListKind::Tools => self.tools.values().any(|tool| has_roles(tool.access.as_deref())),
            ListKind::Prompts => self.prompts.values().any(|prompt| has_roles(prompt.access.as_deref())),
            ListKind::Resources => {
                self.routes.skills.has_roles()
                    || self.resources.iter().any(|resource| has_roles(resource.access.as_deref()))
            }
        }
    }

    /// Those roles of a caller that decide what it sees: callers with the same ones see the same lists.
    pub fn deciding_roles<'a>(&'a self, identity: &'a Identity) -> BTreeSet<&'a str> {
        let all = self.all_access().flat_map(|(_, _, access)| access.into_iter().flat_map(EntryAccess::roles));
        all.filter(|role| identity.roles.contains(*role)).map(String::as_str).collect()
    }

    /// The scopes that every request over HTTP needs.
    pub fn scopes_of_every_request(&self) -> &[String] {
        self.http_settings().auth.as_ref().map_or(&[], |auth| &auth.scopes)
    }

    /// Refuses a known caller who lacks a scope that every request needs.
    ///
    /// # Errors
    /// It is [`RefusalKind::InsufficientScope`].
    pub fn check_scopes_of_every_request(&self, access: &AccessControl) -> Result<(), Refusal> {
        let Some(caller) = access.identity() else { return Ok(()) };
        let needed = self.scopes_of_every_request();
        match needed.iter().all(|scope| caller.scopes.contains(scope)) {
            true => Ok(()),
            false => Err(Refusal::insufficient_scope(&needed.iter().cloned().collect())),
        }
    }

    /// Refuses a call of a tool that the caller does not see, or for which it lacks a scope. What else a call needs is
    /// checked when it is made.
    ///
    /// # Errors
    /// It is unknown to the caller, or [`RefusalKind::InsufficientScope`].
    pub fn check_tool(&self, name: &str, arguments: Option<&Object>, call: &CallContext) -> Result<(), Refusal> {
        let Some(tool) = self.listed_tool(name) else { return Ok(()) };
        ensure_visible(tool.access.as_ref(), call, || self.unknown_tool(name))?;
        only_missing_scope(tool.check_scopes(arguments, call))
    }

    /// The same with its condition, before a call becomes a task.
    ///
    /// # Errors
    /// It is unknown to the caller, who lacks a scope, or is not permitted the call.
    pub fn check_task(&self, name: &str, arguments: Option<&Object>, call: &CallContext) -> Result<(), Refusal> {
        let Some(tool) = self.listed_tool(name) else { return Ok(()) };
        ensure_visible(tool.access.as_ref(), call, || self.unknown_tool(name))?;
        tool.check_access(arguments, call)
    }

    /// The same for a prompt.
    ///
    /// # Errors
    /// It is unknown to the caller, or the caller lacks a scope.
    pub fn check_prompt(&self, name: &str, arguments: Option<&Object>, call: &CallContext) -> Result<(), Refusal> {
        let Some(prompt) = self.prompts.get(name) else { return Ok(()) };
        ensure_visible(prompt.access.as_ref(), call, || super::unknown_prompt(name))?;
        only_missing_scope(prompt.check_scopes(arguments, call))
    }

    /// Refuses a URI that the caller does not see or may not read, for a read or a subscription.
    ///
    /// # Errors
    /// It is not found by the caller, the caller lacks a scope, or its condition does not permit it.
    pub fn check_resource(&self, uri: &str, call: &CallContext) -> Result<(), Refusal> {
        let mut call = call.clone();
        match self.routes.find(uri) {
            Some(Route::Skill(file)) => {
                ensure_visible(file.access.as_ref(), &call, || no_resource_refusal(uri))?;
                file.check_access(&mut call)
            }
            Some(Route::Resource(nth, values)) => self.check_values(nth, uri, &values, &mut call),
            None => Ok(()),
        }
    }

    fn check_values(
        &self,
        nth: usize,
        uri: &str,
        values: &IndexMap<String, String>,
        call: &mut CallContext,
    ) -> Result<(), Refusal> {
        let Some(resource) = self.resources.get(nth) else { return Ok(()) };
        ensure_visible(resource.access.as_ref(), call, || no_resource_refusal(uri))?;
        resource.check_access(values, call)
    }

    /// What each entry asks of its callers, in the order of the lists; hidden tools too.
    pub fn access_rows(&self) -> Vec<AccessRow> {
        let row = |(kind, name, access): (&'static str, &str, Option<&EntryAccess>)| {
            let Some(access) = access else { return AccessRow { kind, name: name.to_owned(), ..AccessRow::default() } };
            AccessRow {
                kind,
                name: name.to_owned(),
                scopes: access.written_scopes().map(str::to_owned).collect(),
                roles: access.roles().iter().cloned().collect(),
                permit: access.written_permit().map(str::to_owned),
                steps_need: access.step_scopes().iter().cloned().collect(),
            }
        };
        self.all_access().map(row).collect()
    }

    fn all_access(&self) -> impl Iterator<Item = (&'static str, &str, Option<&EntryAccess>)> {
        let tools = self.tools.iter().map(|(name, tool)| ("tool", name.as_str(), tool.access.as_deref()));
        let prompts = self.prompts.iter().map(|(name, prompt)| ("prompt", name.as_str(), prompt.access.as_deref()));
        let resources =
            self.resources.iter().map(|resource| ("resource", resource.template.as_str(), resource.access.as_deref()));
        let skills =
            self.lists.skills.iter().map(|skill| ("skill", skill.uri.as_str(), self.resource_access(&skill.uri)));
        tools.chain(prompts).chain(resources).chain(skills)
    }
}

/// What is wrong with the arguments is said by the call.
fn only_missing_scope(checked: Result<(), Refusal>) -> Result<(), Refusal> {
    checked.or_else(|refusal| if refusal.kind == RefusalKind::InsufficientScope { Err(refusal) } else { Ok(()) })
}

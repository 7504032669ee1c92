//! The table of methods: the versions that have them, and what of the server they need; and what a request is about.

use rmcp::model::{ClientRequest, Reference};

use crate::spec_version::SpecVersion;

use super::capability::CapabilityKind;

/// A method of MCP.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    versions: Versions,
    /// What must be declared for it.
    pub(crate) capability: Option<CapabilityKind>,
    /// Whether its parameters are short, whatever is asked: those of a session are kept.
    pub(crate) has_small_params: bool,
}

/// Which versions have a method.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Versions {
    /// Those with sessions.
    Session,
    /// 2026-07-28, which has none.
    Sessionless,
    All,
}

impl Method {
    const fn new(name: &'static str, versions: Versions, capability: Option<CapabilityKind>) -> Method {
        Method { name, versions, capability, has_small_params: false }
    }

    const fn with_small_params(self) -> Method {
        Method { has_small_params: true, ..self }
    }

    /// The method of this name.
    pub(crate) fn find(name: &str) -> Option<&'static Method> {
        METHODS.iter().find(|method| method.name == name)
    }

    /// Whether it is about entries, which is what an author wants to know of.
    pub(crate) fn is_about_entries(&self) -> bool {
        self.versions == Versions::All
    }

    /// Whether it is of no use without a session, as it changes what that is told.
    pub(crate) fn needs_session(&self) -> bool {
        self.versions == Versions::Session && self.capability.is_some()
    }

    /// Whether a version has it.
    pub(crate) fn is_in(&self, version: SpecVersion) -> bool {
        match self.versions {
            Versions::Session => !version.is_sessionless(),
            Versions::Sessionless => version.is_sessionless(),
            Versions::All => true,
        }
    }
}

const METHODS: [Method; 21] = {
    use CapabilityKind as C;
    use Versions::{All, Session, Sessionless};
    [
        Method::new("tools/call", All, Some(C::Tools)),
        Method::new("prompts/get", All, Some(C::Prompts)),
        Method::new("resources/read", All, Some(C::Resources)),
        Method::new("tools/list", All, Some(C::Tools)),
        Method::new("prompts/list", All, Some(C::Prompts)),
        Method::new("resources/list", All, Some(C::Resources)),
        Method::new("resources/templates/list", All, Some(C::Resources)),
        Method::new("completion/complete", All, Some(C::Completions)),
        Method::new("ping", Session, None),
        Method::new("initialize", Session, None).with_small_params(),
        Method::new("logging/setLevel", Session, Some(C::Logging)),
        Method::new("resources/subscribe", Session, Some(C::Resources)),
        Method::new("resources/unsubscribe", Session, Some(C::Resources)),
        Method::new("server/discover", Sessionless, None).with_small_params(),
        Method::new("subscriptions/listen", Sessionless, None),
        Method::new("tasks/get", Sessionless, Some(C::Tasks)),
        Method::new("tasks/update", Sessionless, Some(C::Tasks)),
        Method::new("tasks/cancel", Sessionless, Some(C::Tasks)),
        Method::new("skills/list", All, Some(C::Skills)).with_small_params(),
        Method::new("skills/get", All, Some(C::Skills)),
        Method::new("resources/directory/read", All, Some(C::Skills)),
    ]
};

/// What a request is about, and the key of its parameters that says so.
pub(crate) fn request_subject(request: &ClientRequest) -> Option<(&'static str, &str)> {
    use ClientRequest as R;
    Some(match request {
        R::CallToolRequest(call) => ("name", &call.params.name),
        R::GetPromptRequest(get) => ("name", &get.params.name),
        R::ReadResourceRequest(read) => ("uri", &read.params.uri),
        R::SubscribeRequest(subscribe) => ("uri", &subscribe.params.uri),
        R::UnsubscribeRequest(unsubscribe) => ("uri", &unsubscribe.params.uri),
        R::GetSkillRequest(get) => ("uri", &get.params.uri),
        R::ReadResourceDirectoryRequest(read) => ("uri", &read.params.uri),
        R::GetTaskRequest(get) => ("taskId", &get.params.task_id),
        R::UpdateTaskRequest(update) => ("taskId", &update.params.task_id),
        R::CancelTaskRequest(cancel) => ("taskId", &cancel.params.task_id),
        R::CompleteRequest(complete) => match &complete.params.r#ref {
            Reference::Prompt(prompt) => ("name", &prompt.name),
            Reference::Resource(resource) => ("uri", &resource.uri),
            _ => return None,
        },
        _ => return None,
    })
}

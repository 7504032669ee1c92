//! `notify`: notifies clients of a change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ActionError, ActionKind, ActionNode, ActionOutcome, ChangeNotification, ClientUse, EntryReference, StepContext,
};
use crate::compile::{Compiler, Exposure, Grants};
use crate::diagnostic::{Code, truncate};
use crate::template::{Shape, Template, UriSlot};
use crate::value_types::yaml_kind_enum;
use crate::yaml::Spanned;

/// How much of a URI an error shows.
const MAX_SHOWN: usize = 200;

yaml_kind_enum! {
    /// The kind of list that changed (`tools`, `prompts`, `resources`), or a resource: `{ updated: URI }`. A pack may only
    /// name its own resources.
    pub enum NotifySpec {
        "text" => List(ListKind),
        "map" => Resource(ResourceUpdate),
    }
}

/// A kind of list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ListKind {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The lists of resources and of resource templates.
    Resources,
}

/// A notification of a changed resource.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceUpdate {
    /// The URI of the resource, a template. A pack may only name its own resources, not what its importer answers.
    #[schemars(with = "String", extend("x-required" = true))]
    pub updated: Option<Spanned<String>>,
}

/// A notification of a changed list or resource.
pub enum NotifyAction {
    List(ListKind),
    Resource(Template<UriSlot>),
}

impl ActionKind for NotifyAction {
    type Spec = NotifySpec;
    const TALKS_TO_CLIENT: bool = true;

    fn outcome_shape() -> Shape {
        Shape::Object(std::sync::Arc::default())
    }

    fn reference(spec: &Spanned<NotifySpec>) -> Option<EntryReference> {
        match &spec.value {
            NotifySpec::List(_) => None,
            NotifySpec::Resource(resource) => resource.updated.clone().map(EntryReference::Notified),
        }
    }

    fn compile(node: ActionNode<'_, NotifySpec>, compiler: &mut Compiler<'_>) -> Option<NotifyAction> {
        let resource = match &node.spec.value {
            NotifySpec::List(kind) => return check_list(&node, compiler).map(|()| NotifyAction::List(*kind)),
            NotifySpec::Resource(resource) => resource,
        };
        let Some(uri) = &resource.updated else {
            compiler
                .error(Code::MissingKey, node.key, "missing key `updated` in `notify`")
                .help("write `updated: URI`, or a kind of list: `tools`, `prompts` or `resources`");
            return None;
        };
        compiler.template(uri, Exposure::Client).map(NotifyAction::Resource)
    }

    fn client_use(&self) -> ClientUse {
        ClientUse::Notifies(match self {
            NotifyAction::List(kind) => Some(*kind),
            NotifyAction::Resource(_) => None,
        })
    }

    async fn execute(&self, context: &StepContext<'_>) -> Result<ActionOutcome, ActionError> {
        context.entry.client().notify(match self {
            NotifyAction::List(kind) => ChangeNotification::ListChanged(*kind),
            NotifyAction::Resource(uri) => {
                ChangeNotification::ResourceUpdated(check_notifiable(uri.render(context.scope)?.0, context)?)
            }
        });
        Ok(ActionOutcome::empty())
    }
}

/// The lists are those of the whole server.
fn check_list(node: &ActionNode<'_, NotifySpec>, compiler: &mut Compiler<'_>) -> Option<()> {
    if compiler.pack.grants == Grants::All {
        return Some(());
    }
    compiler
        .error(Code::NotGranted, node.spec.location, "cannot notify of a list in a pack: the lists are the server's")
        .help("write `{ updated: URI }` for a resource of the pack");
    None
}

/// A pack may only notify of its own resources.
fn check_notifiable(uri: String, context: &StepContext<'_>) -> Result<String, ActionError> {
    if context.entry.may_notify_of(&uri) {
        return Ok(uri);
    }
    Err(ActionError::message(format!(
        "invalid `notify`: `{}` is not a resource of this pack",
        truncate(&uri, MAX_SHOWN)
    )))
}

//! `notify`: tells clients that something changed.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Act, Doing, Failure, Notice, Outcome, Written};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::{Code, cut};
use crate::notation::by_kind;
use crate::template::{Template, Uri};
use crate::yaml::Spanned;

/// How much of a URI is shown.
const MAX_SHOWN: usize = 200;

by_kind! {
    /// The kind of list that changed, or a resource.
    pub enum NotifySpec {
        "text" => List(ListKind),
        "map" => Resource(Updated),
    }
}

/// A kind of list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ListKind {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The lists of resources and of resource templates.
    Resources,
}

/// A resource that changed.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Updated {
    /// Its URI, a template. A pack may name its own resources alone.
    #[schemars(with = "String", extend("x-required" = true))]
    pub updated: Option<Spanned<String>>,
}

/// Tells of a list, or of a resource.
pub enum Notify {
    List(ListKind),
    Resource(Template<Uri>),
}

impl Act for Notify {
    type Spec = NotifySpec;

    fn compile(written: Written<'_, NotifySpec>, compiler: &mut Compiler<'_>) -> Option<Notify> {
        let resource = match &written.spec.value {
            NotifySpec::List(kind) => return Some(Notify::List(*kind)),
            NotifySpec::Resource(resource) => resource,
        };
        let Some(uri) = &resource.updated else {
            compiler.error(Code::MissingKey, written.key, "`notify` needs `updated: URI`, or a kind of list");
            return None;
        };
        compiler.template(uri, Exposure::Client).map(Notify::Resource)
    }

    async fn act(&self, doing: &Doing<'_>) -> Result<Outcome, Failure> {
        doing.client.notify(match self {
            Notify::List(kind) => Notice::List(*kind),
            Notify::Resource(uri) => Notice::Updated(updated(uri.render(doing.scope)?.0, doing)?),
        });
        Ok(Outcome::nothing())
    }
}

/// A pack may tell of what is its own: of other resources it knows nothing.
fn updated(uri: String, doing: &Doing<'_>) -> Result<String, Failure> {
    if doing.entries.may_tell_of(&uri) {
        return Ok(uri);
    }
    Err(Failure::words(format!("`notify` names `{}`, which is no resource of this pack", cut(&uri, MAX_SHOWN))))
}

impl Notify {
    /// The kind of list that it tells of; `None` where it is a resource.
    pub(super) fn list(&self) -> Option<ListKind> {
        match self {
            Notify::List(kind) => Some(*kind),
            Notify::Resource(_) => None,
        }
    }
}

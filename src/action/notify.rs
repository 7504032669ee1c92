//! `notify`: tells clients that something changed. Checked whole; not yet sent.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Act, Written};
use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::notation::by_kind;
use crate::template::{Shape, Template, Uri};
use crate::yaml::Spanned;

by_kind! {
    /// The kind of list that changed, or a resource.
    pub enum NotifySpec {
        "text" => List(ListKind),
        "map" => Resource(Updated),
    }
}

/// A kind of list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ListKind {
    Tools,
    Prompts,
    Resources,
}

/// A resource that changed.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Updated {
    /// Its URI, a template.
    #[schemars(with = "String", extend("x-required" = true))]
    pub updated: Option<Spanned<String>>,
}

pub struct Notify;

impl Act for Notify {
    type Spec = NotifySpec;
    const NOT_YET: bool = true;

    fn shape() -> Shape {
        Shape::Any
    }

    fn compile(written: Written<'_, NotifySpec>, compiler: &mut Compiler<'_>) -> Option<Notify> {
        if let NotifySpec::Resource(resource) = &written.spec.value {
            match &resource.updated {
                Some(uri) => {
                    let _: Template<Uri> = compiler.template(uri, Exposure::Client)?;
                }
                None => {
                    compiler.error(Code::MissingKey, written.key, "`notify` needs `updated: URI`, or a kind of list");
                }
            }
        }
        Some(Notify)
    }
}

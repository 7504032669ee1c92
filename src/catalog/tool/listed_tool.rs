//! A tool as clients see it.

use std::sync::Arc;

use crate::catalog::entry::listed_text::{listed_text, render_at_load};
use crate::catalog::inputs::Inputs;
use crate::catalog::listing;
use crate::catalog::listing::icons::listed_icons;
use crate::compile::Compiler;
use crate::manifest;
use crate::schema::Schema;
use crate::yaml::Spanned;

/// The texts of a tool that clients list.
pub(super) struct ListedTexts {
    title: Option<String>,
    description: Option<String>,
    /// The title among its hints.
    annotations_title: Option<String>,
}

impl ListedTexts {
    pub(super) fn render(tool: &Spanned<manifest::Tool>, compiler: &mut Compiler<'_>) -> ListedTexts {
        let hint = tool.annotations.as_ref().and_then(|hints| hints.title.as_deref());
        ListedTexts {
            title: listed_text(tool.title.as_deref(), tool.location, "title", compiler),
            description: tool.description.as_ref().and_then(|text| render_at_load(text, compiler)),
            annotations_title: listed_text(hint, tool.location, "annotations/title", compiler),
        }
    }

    /// A tool as clients see it.
    pub(super) fn into_listing(
        self,
        name: String,
        tool: &manifest::Tool,
        inputs: &Inputs,
        output: Option<&Schema>,
    ) -> listing::ToolListing {
        let annotations = tool.annotations.as_ref().map(|hints| listing::ListedToolAnnotations {
            title: self.annotations_title,
            read_only_hint: hints.read_only_hint,
            destructive_hint: hints.destructive_hint,
            idempotent_hint: hints.idempotent_hint,
            open_world_hint: hints.open_world_hint,
        });
        listing::ToolListing {
            name,
            title: self.title,
            description: self.description,
            input_schema: Arc::new(inputs.schema().clone()),
            output_schema: output.map(|schema| Arc::new(schema.json().clone())),
            annotations,
            icons: listed_icons(tool.icons.as_deref()),
            meta: tool.meta.clone(),
        }
    }
}

//! MIME types that are fixed or templates, and a check of those that are written.

use super::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::files::is_mime_type;
use crate::template::{RenderError, Scope, Template, TextSlot};
use crate::yaml::Spanned;

/// The MIME type of what is made at a call.
#[derive(Debug)]
pub enum MimeType {
    /// As written.
    Fixed(String),
    Template(Template<TextSlot>),
}

impl MimeType {
    /// Compiles a MIME type, if there is one. `None` after an error.
    pub fn compile(mime_type: Option<&Spanned<String>>, compiler: &mut Compiler<'_>) -> Option<Option<MimeType>> {
        let Some(mime_type) = mime_type else { return Some(None) };
        if MimeType::is_template(mime_type) {
            return compiler.template(mime_type, Exposure::Client).map(|template| Some(MimeType::Template(template)));
        }
        Some(Some(MimeType::Fixed(mime_type.value.clone())))
    }

    /// Whether it is only known at a call.
    pub fn is_template(text: &str) -> bool {
        text.contains("{{")
    }

    /// The MIME type; `None` where the value is empty.
    ///
    /// # Errors
    /// The template fails, or gives something else.
    pub fn render(&self, scope: &Scope) -> Result<Option<String>, RenderError> {
        let template = match self {
            MimeType::Fixed(mime_type) => return Ok(Some(mime_type.clone())),
            MimeType::Template(template) => template,
        };
        let text = template.render(scope)?.0;
        match text.trim() {
            "" => Ok(None),
            text if is_mime_type(text) => Ok(Some(text.to_owned())),
            _ => {
                let reason = "is not a MIME type such as `image/png`";
                Err(RenderError::Refused { variable: format!("mimeType: {}", template.source()), reason })
            }
        }
    }
}

/// Warns of invalid MIME types, such as `markdown`.
pub fn check_mime_type(mime_type: Option<&Spanned<String>>, compiler: &mut Compiler<'_>) {
    let Some(mime_type) = mime_type.filter(|mime_type| !is_mime_type(mime_type)) else { return };
    compiler
        .warning(Code::BadValue, mime_type.location, format!("invalid MIME type `{}`", mime_type.value))
        .help("use two parts, such as `text/markdown` or `image/png`");
}

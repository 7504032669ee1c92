//! Bytes of blocks and resources: of a file, of base64, or of a text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::compile::{Compiler, Exposure};
use crate::diagnostic::Code;
use crate::notation::{Blob, BlobSource};
use crate::template::{Base64, Base64Text, RenderError, Scope, Template, Text};
use crate::yaml::{Location, Spanned};

use super::answer::Refusal;
use super::file::PackFile;

/// The source of bytes.
pub(super) enum Bytes {
    File(PackFile),
    Blob(BlobPlan),
}

/// Bytes that are written in place, which a call sends as base64.
pub(super) enum BlobPlan {
    Fixed(Base64Text),
    /// Base64, and the key that it is the value of.
    Base64(Template<Base64>, &'static str),
    /// A text, whose bytes they are.
    Text(Template<Text>),
}

impl Bytes {
    /// Compiles `blob`.
    pub(super) fn compile(blob: &Spanned<Blob>, compiler: &mut Compiler<'_>) -> Option<Bytes> {
        match &blob.value {
            Blob::Base64(text) => {
                BlobPlan::compile(&Spanned::new(text.clone(), blob.location), "blob", compiler).map(Bytes::Blob)
            }
            Blob::Source(source) => Bytes::from_source(source, "blob", blob.location, compiler),
        }
    }

    /// Compiles the source of bytes that is the value of a key.
    pub(super) fn from_source(
        source: &BlobSource,
        key: &'static str,
        at: Location,
        compiler: &mut Compiler<'_>,
    ) -> Option<Bytes> {
        match (&source.file, &source.base64, &source.text) {
            (Some(file), None, None) => PackFile::compile(file, compiler).map(Bytes::File),
            (None, Some(base64), None) => BlobPlan::compile(base64, key, compiler).map(Bytes::Blob),
            (None, None, Some(text)) => {
                compiler.template(text, Exposure::Client).map(|text| Bytes::Blob(BlobPlan::Text(text)))
            }
            _ => {
                compiler.error(Code::Conflict, at, "expected exactly one of `file`, `base64`, `text`");
                None
            }
        }
    }
}

impl BlobPlan {
    fn compile(text: &Spanned<String>, key: &'static str, compiler: &mut Compiler<'_>) -> Option<BlobPlan> {
        let template: Template<Base64> = compiler.template(text, Exposure::Client)?;
        let fixed = template.literal().and_then(Base64Text::parse);
        Some(fixed.map_or_else(|| BlobPlan::Base64(template, key), BlobPlan::Fixed))
    }

    /// The bytes as base64.
    ///
    /// # Errors
    /// A template fails, or gives what is not base64.
    pub(super) fn render(&self, scope: &Scope) -> Result<String, Refusal> {
        match self {
            BlobPlan::Fixed(fixed) => Ok(fixed.0.clone()),
            BlobPlan::Base64(template, key) => Ok(template.render(scope).map_err(|error| in_key(error, key))?.0),
            BlobPlan::Text(template) => {
                let text = template.render(scope)?.0;
                scope.budget().charge_memory(text.len() / 3 * 4)?;
                Ok(STANDARD.encode(text))
            }
        }
    }
}

/// Names the key in an error about its value.
fn in_key(error: RenderError, key: &str) -> Refusal {
    let of_value = matches!(error, RenderError::Refused { .. });
    let mut refusal = Refusal::from(error);
    if of_value {
        refusal.message = format!("invalid `{key}`: {}", refusal.message);
    }
    refusal
}

//! The blocks of bytes: pictures and sounds that hosts take, and what becomes of others.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::catalog::listing::{Annotations, Object};
use crate::catalog::result::call_result::{
    EmbeddedBlock, MediaBlock, ResultBlock, ResultContents, TextBlock, TextOrBlob,
};
use crate::digest::sha256;
use crate::files::{MediaForm, is_model_image, media_form, type_of_bytes};

/// How much base64 is decoded to know the type of bytes.
const HEAD_CHARS: usize = 64;

/// What a block has beside its content.
#[derive(Debug, Clone, Default)]
pub(in crate::catalog) struct BlockNotes {
    pub(in crate::catalog) annotations: Option<Annotations>,
    pub(in crate::catalog) meta: Option<Object>,
}

/// The block of an image or a sound that is said to be of some type; `None` if it is empty.
pub(in crate::catalog) fn media_block(bytes: &[u8], said: &str, notes: BlockNotes) -> Option<ResultBlock> {
    let BlockNotes { annotations, meta } = notes;
    Some(match media_form(bytes, said) {
        MediaForm::Empty => return None,
        MediaForm::Text(text) => ResultBlock::Text(TextBlock { text: text.to_owned(), annotations, meta }),
        MediaForm::Image(mime_type) => ResultBlock::Image(encoded(bytes, mime_type, annotations, meta)),
        MediaForm::Audio(mime_type) => ResultBlock::Audio(encoded(bytes, mime_type, annotations, meta)),
        MediaForm::Bytes(mime_type) => {
            ResultBlock::Resource(EmbeddedBlock { annotations, meta, ..blob_block(bytes, mime_type) })
        }
    })
}

fn encoded(bytes: &[u8], mime_type: &str, annotations: Option<Annotations>, meta: Option<Object>) -> MediaBlock {
    MediaBlock { data: STANDARD.encode(bytes), mime_type: mime_type.to_owned(), annotations, meta }
}

/// Bytes as a resource, which is named by its digest (RFC 6920): it exists in this result only.
pub(in crate::catalog) fn blob_block(bytes: &[u8], mime_type: &str) -> EmbeddedBlock {
    let uri = format!("ni:///sha-256;{}", URL_SAFE_NO_PAD.encode(sha256(bytes)));
    let body = TextOrBlob::Blob(STANDARD.encode(bytes));
    let resource = ResultContents { uri, mime_type: Some(mime_type.to_owned()), body, meta: None };
    EmbeddedBlock { resource, annotations: None, meta: None }
}

/// The type of the contents of a resource that are said to be of some type.
pub(in crate::catalog) fn contents_type(body: &TextOrBlob, said: String) -> String {
    match body {
        TextOrBlob::Text(_) if is_model_image(&said) => "text/plain".to_owned(),
        TextOrBlob::Text(_) => said,
        TextOrBlob::Blob(blob) => {
            let head = STANDARD.decode(blob.get(..HEAD_CHARS).unwrap_or(blob)).unwrap_or_default();
            type_of_bytes(&head, &said).to_owned()
        }
    }
}

/// The contents of a resource as the block that most clients show a model: text, pictures and sounds as such.
pub fn contents_block(contents: ResultContents) -> ResultBlock {
    match contents.body {
        TextOrBlob::Text(text) => ResultBlock::text(text),
        TextOrBlob::Blob(_) => embedded_block(EmbeddedBlock { resource: contents, annotations: None, meta: None }),
    }
}

/// An embedded resource as the block that most clients show a model: pictures and sounds as such.
pub fn embedded_block(embedded: EmbeddedBlock) -> ResultBlock {
    let media = match (&embedded.resource.body, &embedded.resource.mime_type) {
        (TextOrBlob::Blob(blob), Some(said)) if said.starts_with("image/") || said.starts_with("audio/") => {
            let notes = BlockNotes { annotations: embedded.annotations.clone(), meta: embedded.meta.clone() };
            STANDARD.decode(blob).ok().and_then(|bytes| media_block(&bytes, said, notes))
        }
        _ => None,
    };
    media.filter(|block| !matches!(block, ResultBlock::Resource(_))).unwrap_or(ResultBlock::Resource(embedded))
}

//! The blocks of bytes: pictures and sounds that hosts take, and what becomes of others.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::catalog::result::call_result::{
    BlockNotes, EmbeddedBlock, MediaBlock, ResultBlock, ResultContents, TextBlock, TextOrBlob,
};
use crate::digest::sha256;
use crate::files::{MediaForm, is_model_image, media_form, type_of_bytes};

/// How much base64 is decoded to know the type of bytes.
const HEAD_CHARS: usize = 64;

/// The block of an image or a sound that is said to be of some type; `None` if it is empty.
pub(in crate::catalog) fn media_block(bytes: &[u8], said: &str, notes: BlockNotes) -> Option<ResultBlock> {
    let encoded =
        |mime_type: &str, notes| MediaBlock { data: STANDARD.encode(bytes), mime_type: mime_type.to_owned(), notes };
    Some(match media_form(bytes, said) {
        MediaForm::Empty => return None,
        MediaForm::Text(text) => ResultBlock::Text(TextBlock { text: text.to_owned(), notes }),
        MediaForm::Image(mime_type) => ResultBlock::Image(encoded(mime_type, notes)),
        MediaForm::Audio(mime_type) => ResultBlock::Audio(encoded(mime_type, notes)),
        MediaForm::Bytes(mime_type) => ResultBlock::Resource(EmbeddedBlock { notes, ..blob_block(bytes, mime_type) }),
    })
}

/// Bytes as a resource, which is named by its digest (RFC 6920): it exists in this result only.
pub(in crate::catalog) fn blob_block(bytes: &[u8], mime_type: &str) -> EmbeddedBlock {
    let uri = format!("ni:///sha-256;{}", URL_SAFE_NO_PAD.encode(sha256(bytes)));
    let body = TextOrBlob::Blob(STANDARD.encode(bytes));
    let resource = ResultContents { uri, mime_type: Some(mime_type.to_owned()), body, meta: None };
    EmbeddedBlock { resource, notes: BlockNotes::default() }
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
        TextOrBlob::Blob(_) => embedded_block(EmbeddedBlock { resource: contents, notes: BlockNotes::default() }),
    }
}

/// An embedded resource as the block that most clients show a model: pictures and sounds as such.
pub fn embedded_block(embedded: EmbeddedBlock) -> ResultBlock {
    let media = match (&embedded.resource.body, &embedded.resource.mime_type) {
        (TextOrBlob::Blob(blob), Some(said)) if said.starts_with("image/") || said.starts_with("audio/") => {
            STANDARD.decode(blob).ok().and_then(|bytes| media_block(&bytes, said, embedded.notes.clone()))
        }
        _ => None,
    };
    media.filter(|block| !matches!(block, ResultBlock::Resource(_))).unwrap_or(ResultBlock::Resource(embedded))
}

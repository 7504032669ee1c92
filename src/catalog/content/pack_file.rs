//! Reads files as bytes or as the body of a resource.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::budget::{ADMISSION_TIMEOUT, Budget, BudgetExceeded, Reservation};
use crate::catalog::result::call_result::TextOrBlob;
use crate::catalog::result::media_block::contents_type;
use crate::catalog::result::refusal::{Refusal, RefusalKind};
use crate::compile::Compiler;
use crate::files::{FileError, Folder, mime_of};
use crate::yaml::Spanned;

/// A file below a folder.
#[derive(Clone, Copy)]
pub(in crate::catalog) struct FileLocation<'f> {
    pub(in crate::catalog) folder: &'f Folder,
    pub(in crate::catalog) path: &'f Path,
}

/// A file of a pack that a manifest names.
pub(in crate::catalog) struct PackFile {
    pub(in crate::catalog) folder: Folder,
    pub(in crate::catalog) path: PathBuf,
}

impl PackFile {
    /// Checks that the file exists within the pack.
    pub(in crate::catalog) fn compile(file: &Spanned<String>, compiler: &mut Compiler<'_>) -> Option<PackFile> {
        let path = compiler.resolve_file(file, file.location)?;
        Some(PackFile { folder: compiler.pack.folder.clone(), path })
    }

    pub(in crate::catalog) fn at(&self) -> FileLocation<'_> {
        FileLocation { folder: &self.folder, path: &self.path }
    }
}

/// Reads a file of at most `limit` bytes.
///
/// # Errors
/// It cannot be read, or the budget is exhausted.
pub(in crate::catalog) fn read_bytes(file: FileLocation<'_>, limit: u64, budget: &Budget) -> Result<Vec<u8>, Refusal> {
    read_and_convert(file, limit, budget, |bytes| bytes)?
        .map_err(|error| Refusal::new(RefusalKind::Internal, error.to_string()))
}

/// Waits until a request may hold a file, which is read then, of at most `limit` bytes.
///
/// # Errors
/// There is no room in time.
pub(in crate::catalog) async fn wait_for_memory(
    file: FileLocation<'_>,
    limit: u64,
    memory: &Arc<Reservation>,
    budget: &Budget,
) -> Result<(), BudgetExceeded> {
    // As it is read, and as it is written.
    let size = file.folder.stat(file.path).map_or(0, |stat| stat.size.min(limit) * 2);
    let grown = memory.grow_within(budget.time_left().min(ADMISSION_TIMEOUT), size).await;
    grown.map_err(|_| BudgetExceeded::Busy)
}

/// Reads a file of at most `limit` bytes as the body of a resource, with a MIME type guessed from its name or bytes.
///
/// # Errors
/// It does not exist or cannot be read, or the budget is exhausted.
pub(in crate::catalog) fn read_body(
    file: FileLocation<'_>,
    limit: u64,
    uri: &str,
    budget: &Budget,
) -> Result<(TextOrBlob, String), Refusal> {
    let body = read_and_convert(file, limit, budget, |bytes| decode_body(bytes, &file.path.to_string_lossy()))?;
    body.map_err(|error| match error {
        FileError::TooLarge { .. } | FileError::Denied { .. } | FileError::Other { .. } => {
            Refusal::new(RefusalKind::Internal, error.to_string()).with_data(json!({ "uri": uri }))
        }
        error => Refusal::not_found(uri, error.to_string()),
    })
}

/// Reads and converts a file; a small one on this thread, since a change of threads costs more.
fn read_and_convert<T>(
    file: FileLocation<'_>,
    limit: u64,
    budget: &Budget,
    convert: impl FnOnce(Vec<u8>) -> T,
) -> Result<Result<T, FileError>, Refusal> {
    let open = match file.folder.open_file(file.path) {
        Ok(open) => open,
        Err(error) => return Ok(Err(error)),
    };
    let size = open.size().map_or(usize::MAX, |size| usize::try_from(size).unwrap_or(usize::MAX));
    Ok(budget.run_sized(size, || open.read(limit).map(convert))?)
}

/// Text where the bytes are text.
fn decode_body(bytes: Vec<u8>, name: &str) -> (TextOrBlob, String) {
    let guessed = mime_of(name, &bytes).to_owned();
    let body = match String::from_utf8(bytes) {
        Ok(text) => TextOrBlob::Text(text),
        Err(error) => TextOrBlob::Blob(STANDARD.encode(error.into_bytes())),
    };
    let mime_type = contents_type(&body, guessed);
    (body, mime_type)
}

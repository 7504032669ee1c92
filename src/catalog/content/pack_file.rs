//! Reads files as bytes or as the body of a resource.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::json;

use crate::budget::{ADMISSION_TIMEOUT, Budget, BudgetExceeded, Reservation};
use crate::catalog::result::call_result::TextOrBlob;
use crate::catalog::result::media_block::contents_type;
use crate::catalog::result::refusal::{Refusal, RefusalKind};
use crate::compile::Compiler;
use crate::files::{FileError, FileStamp, Folder, OpenFile, mime_of};
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
    let body = read_and_convert(file, limit, budget, |bytes| decode_body(bytes, file.path))?;
    body.map_err(|error| body_refusal(uri, &error))
}

fn body_refusal(uri: &str, error: &FileError) -> Refusal {
    match error {
        FileError::TooLarge { .. } | FileError::Denied { .. } | FileError::Other { .. } => {
            Refusal::new(RefusalKind::Internal, error.to_string()).with_data(json!({ "uri": uri }))
        }
        error => Refusal::not_found(uri, error.to_string()),
    }
}

/// Reads and converts a file; a small one on this thread, since a change of threads costs more.
fn read_and_convert<T>(
    file: FileLocation<'_>,
    limit: u64,
    budget: &Budget,
    convert: impl FnOnce(Vec<u8>) -> T,
) -> Result<Result<T, FileError>, Refusal> {
    match file.folder.open_file(file.path) {
        Ok(open) => Ok(convert_open(open, limit, budget, convert)?),
        Err(error) => Ok(Err(error)),
    }
}

fn convert_open<T>(
    open: OpenFile,
    limit: u64,
    budget: &Budget,
    convert: impl FnOnce(Vec<u8>) -> T,
) -> Result<Result<T, FileError>, BudgetExceeded> {
    let size = open.size().map_or(usize::MAX, |size| usize::try_from(size).unwrap_or(usize::MAX));
    budget.run_sized(size, || open.read(limit).map(convert))
}

/// Text where the bytes are text.
fn decode_body(bytes: Vec<u8>, path: &Path) -> (TextOrBlob, String) {
    let guessed = mime_of(&path.to_string_lossy(), &bytes).to_owned();
    let body = match String::from_utf8(bytes) {
        Ok(text) => TextOrBlob::Text(text),
        Err(error) => TextOrBlob::Blob(STANDARD.encode(error.into_bytes())),
    };
    let mime_type = contents_type(&body, guessed);
    (body, mime_type)
}

/// How large a body may be that is kept.
const MAX_KEPT_BODY_BYTES: usize = 64 << 10;
/// How many bytes of bodies are kept by all catalogs together.
const MAX_KEPT_BYTES: usize = 16 << 20;
/// How many of them there are.
static KEPT_BYTES: AtomicUsize = AtomicUsize::new(0);

/// A file whose body is kept after it was read, and served as long as the stamp of the file is the same. A small file of a
/// local file system alone is kept: its stamp is in the memory of the kernel, where no one waits for it.
pub(in crate::catalog) struct KeptFile {
    pub(in crate::catalog) file: PackFile,
    kept: Mutex<Option<KeptBody>>,
}

struct KeptBody {
    stamp: FileStamp,
    body: TextOrBlob,
    mime_type: String,
}

impl KeptFile {
    pub(in crate::catalog) fn new(file: PackFile) -> KeptFile {
        KeptFile { file, kept: Mutex::default() }
    }

    /// Whether a body is kept, of the file as it is or as it was.
    pub(in crate::catalog) fn is_kept(&self) -> bool {
        self.kept.lock().is_some()
    }

    /// The body, where it is kept, the file is the same, and the request may hold it.
    pub(in crate::catalog) fn kept_body(&self, memory: &Reservation) -> Option<(TextOrBlob, String)> {
        let kept = self.kept.lock();
        let kept = kept.as_ref()?;
        let is_same = self.file.folder.stat(&self.file.path).is_ok_and(|stat| stat.stamp == kept.stamp);
        // As it is kept for the request, and as it is written.
        (is_same && memory.try_grow(body_bytes(&kept.body) as u64 * 2))
            .then(|| (kept.body.clone(), kept.mime_type.clone()))
    }

    /// Reads the file as [`read_body`] does, and keeps its body.
    ///
    /// # Errors
    /// It does not exist or cannot be read, or the budget is exhausted.
    pub(in crate::catalog) fn read_body(
        &self,
        limit: u64,
        uri: &str,
        budget: &Budget,
    ) -> Result<(TextOrBlob, String), Refusal> {
        let began = SystemTime::now();
        // What was kept has another stamp, or was not to be had.
        self.kept.lock().take();
        let open = self.file.folder.open_file(&self.file.path).map_err(|error| body_refusal(uri, &error))?;
        let (stamp, is_local) = (open.stamp(), open.is_local());
        let body = convert_open(open, limit, budget, |bytes| decode_body(bytes, &self.file.path))?;
        let (body, mime_type) = body.map_err(|error| body_refusal(uri, &error))?;
        // A file that changes once more within the same tick of the clock would keep its stamp.
        if is_local && !stamp.is_ambiguous_between(began, SystemTime::now()) && reserve_kept(body_bytes(&body)) {
            *self.kept.lock() = Some(KeptBody { stamp, body: body.clone(), mime_type: mime_type.clone() });
        }
        Ok((body, mime_type))
    }
}

/// Counts a body that is to be kept, if there is room for it.
fn reserve_kept(bytes: usize) -> bool {
    let add = |kept: usize| kept.checked_add(bytes).filter(|after| *after <= MAX_KEPT_BYTES);
    bytes <= MAX_KEPT_BODY_BYTES && KEPT_BYTES.fetch_update(Relaxed, Relaxed, add).is_ok()
}

fn body_bytes(body: &TextOrBlob) -> usize {
    let (TextOrBlob::Text(text) | TextOrBlob::Blob(text)) = body;
    text.len()
}

impl Drop for KeptBody {
    fn drop(&mut self) {
        KEPT_BYTES.fetch_sub(body_bytes(&self.body), Relaxed);
    }
}

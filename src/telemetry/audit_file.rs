//! A file of lines that a thread of its own writes, so that no request waits for a disk.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

/// How many bytes of lines may wait for the thread.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// How long lines are gathered that nobody waits for, and how many bytes of them are written at once, about.
const GATHER_TIME: Duration = Duration::from_millis(20);
const MAX_WRITE_BYTES: usize = 1 << 20;

/// How long the last lines may take when the server ends.
pub(super) const END_TIMEOUT: Duration = Duration::from_millis(200);

/// How often at most the log says that lines are lost.
const LOSS_WARNING_INTERVAL: Duration = Duration::from_secs(10);

/// A file that is written by a thread, which ends with it.
pub(super) struct AuditFile {
    queue: Arc<LineQueue>,
}

/// What requests leave for the thread.
#[derive(Default)]
struct LineQueue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    lost: AtomicU64,
}

/// Lines that are written at once, and who waits for them.
#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    confirms: Vec<oneshot::Sender<bool>>,
    flushes: Vec<SyncSender<()>>,
    /// Nobody can write any more.
    is_closed: bool,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.flushes.is_empty() && !self.is_closed
    }

    fn is_awaited(&self) -> bool {
        !self.confirms.is_empty() || !self.flushes.is_empty() || self.is_closed
    }

    /// Takes all, and leaves the room of what was taken before.
    fn take_into(&mut self, taken: &mut Waiting) {
        taken.lines.clear();
        // What a burst needed is not kept.
        taken.lines.shrink_to(MAX_WRITE_BYTES);
        std::mem::swap(&mut self.lines, &mut taken.lines);
        (taken.confirms, taken.flushes) = (std::mem::take(&mut self.confirms), std::mem::take(&mut self.flushes));
        taken.is_closed = self.is_closed;
    }
}

impl AuditFile {
    /// Starts to write to the file at a path. Where it is required, it must be open, and no line waits for others.
    ///
    /// # Errors
    /// It is required and cannot be opened, or there is no thread.
    pub(super) fn start(path: PathBuf, is_required: bool) -> io::Result<AuditFile> {
        let mut writer = LineWriter { path, open: None, is_torn: false };
        let opened = writer.reopen_if_moved().map(drop);
        if let Err(error) = opened {
            if is_required {
                return Err(error);
            }
            let path = writer.path.display();
            tracing::warn!(target: "folio::audit", "cannot open `{path}`: {error}; no request is recorded until it can be opened");
        }
        let queue = Arc::<LineQueue>::default();
        let of_thread = queue.clone();
        let gather = if is_required { Duration::ZERO } else { GATHER_TIME };
        thread::Builder::new()
            .name("folio-audit".to_owned())
            .spawn(move || write_lines(&mut writer, &of_thread, gather))?;
        Ok(AuditFile { queue })
    }

    /// Writes a line soon. It is lost if too many wait.
    pub(super) fn write(&self, line: &[u8]) {
        if !self.enqueue(line, None) {
            self.queue.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes a line, and becomes true once it is written.
    pub(super) fn write_and_confirm(&self, line: &[u8]) -> BoxFuture<'static, bool> {
        let (confirm, confirmed) = oneshot::channel();
        let is_enqueued = self.enqueue(line, Some(confirm));
        Box::pin(async move { is_enqueued && confirmed.await.unwrap_or(false) })
    }

    pub(super) fn lost(&self) -> u64 {
        self.queue.lost.load(Ordering::Relaxed)
    }

    /// Waits until what waits is written, or so long.
    pub(super) fn flush(&self, within: Duration) {
        let (done, wait) = sync_channel(1);
        self.queue.waiting.lock().flushes.push(done);
        self.queue.arrived.notify_one();
        let _ = wait.recv_timeout(within);
    }

    fn enqueue(&self, line: &[u8], confirm: Option<oneshot::Sender<bool>>) -> bool {
        let mut waiting = self.queue.waiting.lock();
        if waiting.lines.len().saturating_add(line.len()) > MAX_WAITING_BYTES {
            return false;
        }
        let wakes = waiting.is_empty() || confirm.is_some();
        waiting.lines.extend_from_slice(line);
        waiting.confirms.extend(confirm);
        drop(waiting);
        if wakes {
            self.queue.arrived.notify_one();
        }
        true
    }
}

impl Drop for AuditFile {
    fn drop(&mut self) {
        self.flush(END_TIMEOUT);
        self.queue.waiting.lock().is_closed = true;
        self.queue.arrived.notify_one();
    }
}

/// Writes what comes, until nobody can send any more. Where nobody waits for a line it gathers them for a moment: to wake for
/// each would cost as much as a request.
fn write_lines(writer: &mut LineWriter, queue: &LineQueue, gather: Duration) {
    let mut losses = LossWarnings::default();
    let mut taken = Waiting::default();
    while !taken.is_closed {
        let mut waiting = queue.waiting.lock();
        queue.arrived.wait_while(&mut waiting, |waiting| waiting.is_empty());
        queue.arrived.wait_while_for(&mut waiting, |waiting| !waiting.is_awaited(), gather);
        waiting.take_into(&mut taken);
        drop(waiting);
        let mut unwritten = 0;
        for lines in writer.writable_parts(&taken.lines) {
            if let Err(error) = writer.write(lines) {
                unwritten += lines.iter().filter(|byte| **byte == b'\n').count();
                losses.warn(&format!("cannot write to `{}`: {error}", writer.path.display()));
            }
        }
        // A line that somebody waits for is not lost: its request is refused.
        queue.lost.fetch_add(unwritten.saturating_sub(taken.confirms.len()) as u64, Ordering::Relaxed);
        if unwritten == 0 {
            losses.warn_of_queue(queue.lost.load(Ordering::Relaxed));
        }
        for confirm in taken.confirms.drain(..) {
            let _ = confirm.send(unwritten == 0);
        }
        for done in taken.flushes.drain(..) {
            let _ = done.send(());
        }
    }
}

/// What the log says of lost lines, and how often.
#[derive(Default)]
struct LossWarnings {
    warned_at: Option<Instant>,
    reported: u64,
}

impl LossWarnings {
    fn warn(&mut self, message: &str) {
        if self.warned_at.is_none_or(|at| at.elapsed() >= LOSS_WARNING_INTERVAL) {
            self.warned_at = Some(Instant::now());
            tracing::error!(target: "folio::audit", "{message}");
        }
    }

    /// Says how many lines there was no room for, or that could not be written earlier.
    fn warn_of_queue(&mut self, lost: u64) {
        if lost > self.reported && self.warned_at.is_none_or(|at| at.elapsed() >= LOSS_WARNING_INTERVAL) {
            self.warn(&format!("{} lines were lost", lost - self.reported));
            self.reported = lost;
        }
    }
}

/// Writes whole lines to the file that a path names at the moment.
struct LineWriter {
    path: PathBuf,
    open: Option<File>,
    /// Whether the beginning of a line stands at its end, which could not be taken back.
    is_torn: bool,
}

impl LineWriter {
    /// What of these lines is written at once: many of them to a file. A pipe takes no more whole than one line.
    fn writable_parts<'l>(&self, lines: &'l [u8]) -> impl Iterator<Item = &'l [u8]> + use<'l> {
        let is_file = |open: &File| open.metadata().is_ok_and(|metadata| metadata.is_file());
        let most = if self.open.as_ref().is_some_and(is_file) { MAX_WRITE_BYTES } else { 0 };
        let mut rest = lines;
        std::iter::from_fn(move || {
            let (_, behind) = rest.split_at_checked(most).unwrap_or((rest, &[]));
            let end = behind.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |newline| most + newline + 1);
            let part = rest.split_off(..end)?;
            (!part.is_empty()).then_some(part)
        })
    }

    /// Writes lines, whole or not at all.
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let is_torn = std::mem::take(&mut self.is_torn);
        let file = self.reopen_if_moved()?;
        if is_torn && file.write(b"\n").is_err() {
            self.is_torn = true;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let written = file.write(lines)?;
        if written == lines.len() {
            return Ok(());
        }
        // The disk is full, or a signal came. What is missing follows, or else the beginning goes too.
        let rest = lines.get(written..).unwrap_or_default();
        let Err(error) = file.write_all(rest) else { return Ok(()) };
        let before = file.metadata().map(|metadata| metadata.len().saturating_sub(written as u64));
        self.is_torn = before.and_then(|before| file.set_len(before)).is_err();
        Err(error)
    }

    /// The file, which is opened again if its path names another one by now, or none.
    fn reopen_if_moved(&mut self) -> io::Result<&mut File> {
        let is_same = |open: &File| {
            let (Ok(open), Ok(there)) = (open.metadata(), std::fs::metadata(&self.path)) else { return false };
            identity(&open) == identity(&there)
        };
        let file = match self.open.take().filter(is_same) {
            Some(open) => open,
            None => open(&self.path)?,
        };
        Ok(self.open.insert(file))
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Opens a file to append to. A pipe that nobody reads is no reason to wait.
fn open(path: &std::path::Path) -> io::Result<File> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn text(path: &std::path::Path) -> String {
        std::fs::read_to_string(path).unwrap_or_default()
    }

    #[tokio::test]
    async fn lines_follow_the_path_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (path, moved) = (folder.path().join("audit"), folder.path().join("audit.1"));
        let file = AuditFile::start(path.clone(), true).unwrap();
        assert!(file.write_and_confirm(b"one\n").await);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::rename(&path, &moved).unwrap();
        assert!(file.write_and_confirm(b"two\n").await);
        std::fs::remove_file(&path).unwrap();
        file.write(b"three\n");
        file.flush(Duration::from_secs(5));
        assert_eq!((text(&moved), text(&path), file.lost()), ("one\n".into(), "three\n".into(), 0));
    }

    #[tokio::test]
    async fn what_cannot_be_written_is_counted_or_told() {
        let file = AuditFile::start("/dev/full".into(), true).unwrap();
        file.write(b"one\n");
        assert!(!file.write_and_confirm(b"two\n").await);
        assert_eq!(file.lost(), 1);
        assert!(AuditFile::start("/no/such/folder/audit".into(), true).is_err());
        assert!(AuditFile::start("/no/such/folder/audit".into(), false).is_ok());
    }

    #[test]
    fn pipe_that_is_full_gets_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
        let mut reader = OpenOptions::new().read(true).custom_flags(nonblocking).open(&path).unwrap();
        let file = AuditFile::start(path, false).unwrap();
        let line = [[b'x'; 99].as_slice(), b"\n"].concat();
        (0..2_000).for_each(|_| file.write(&line));
        file.flush(Duration::from_secs(5));
        let mut read = Vec::new();
        let _ = std::io::Read::read_to_end(&mut reader, &mut read);
        assert!(read.chunks(100).all(|chunk| chunk == line), "{} bytes", read.len());
        assert_eq!(read.len() as u64 / 100 + file.lost(), 2_000);
        assert!(file.lost() > 0, "it was full");
    }

    #[test]
    fn line_after_one_that_a_pipe_took_half_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
        let mut reader = OpenOptions::new().read(true).custom_flags(nonblocking).open(&path).unwrap();
        let mut writer = LineWriter { path, open: None, is_torn: false };
        let long = [vec![b'x'; 1 << 20], b"\n".to_vec()].concat();
        assert!(writer.write(&long).is_err(), "no pipe takes so much");
        let mut read = vec![0; long.len()];
        let taken = std::io::Read::read(&mut reader, &mut read).unwrap();
        read.truncate(taken);
        writer.write(b"next\n").unwrap();
        let _ = std::io::Read::read_to_end(&mut reader, &mut read);
        assert_eq!(read.split(|byte| *byte == b'\n').nth_back(1), Some(b"next".as_slice()));
    }

    #[test]
    fn what_waits_is_bounded_in_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let file = AuditFile::start(folder.path().join("audit"), true).unwrap();
        file.write(&vec![b'x'; MAX_WAITING_BYTES + 1]);
        assert_eq!(file.lost(), 1);
        file.write(b"short\n");
        file.flush(Duration::from_secs(5));
        assert_eq!(file.lost(), 1);
        assert_eq!(text(&folder.path().join("audit")), "short\n");
    }
}

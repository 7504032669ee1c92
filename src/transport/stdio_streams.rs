//! Standard input and output without the event loop of the runtime, which would cost as much as a short answer.
//!
//! Reading input blocks its thread. Output is written at once; the event loop is asked only while the peer has no room.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use rustix::{
    buffer::spare_capacity,
    event::{PollFd, PollFlags},
    fs::{FileType, Mode, OFlags, fstat},
    io::Errno,
    net::SendFlags,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, Interest, unix::AsyncFd};

/// How much room a pipe to the peer has. A user's pipes may take 64 MiB together before new ones are made smaller.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 256 * 1024;

/// Where the bytes of a peer come from.
pub(super) trait ByteSource: Send {
    /// Adds what there is to `buffer`, once there is anything. Returns how much; nothing at the end.
    fn read(&mut self, buffer: &mut Vec<u8>) -> impl Future<Output = io::Result<usize>> + Send;
}

impl<R: AsyncRead + Unpin + Send> ByteSource for R {
    async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        self.read_buf(buffer).await
    }
}

/// Standard input. Reading it blocks the thread.
pub(super) struct BlockingStdin;

impl ByteSource for BlockingStdin {
    async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let stdin = rustix::stdio::stdin();
        loop {
            match rustix::io::read(stdin, spare_capacity(buffer)) {
                // Whoever shares it may have made it non-blocking.
                Err(Errno::AGAIN) => _ = rustix::event::poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None),
                Err(Errno::INTR) => {}
                read => return Ok(read?),
            }
        }
    }
}

/// Standard output. Where it cannot be written without waiting, threads of the runtime write it.
pub(super) fn stdout() -> Box<dyn AsyncWrite + Send + Unpin> {
    match DirectOutput::new(rustix::stdio::stdout()) {
        Some(output) => Box::new(output),
        None => Box::new(tokio::io::stdout()),
    }
}

/// An output that is written at once as far as it has room.
struct DirectOutput {
    file: Arc<OwnedFd>,
    is_socket: bool,
    /// Tells of room, while there is none.
    waiting: Option<AsyncFd<Arc<OwnedFd>>>,
}

impl DirectOutput {
    fn new(output: impl AsFd) -> Option<DirectOutput> {
        let output = output.as_fd();
        let file_type = FileType::from_raw_mode(fstat(output).ok()?.st_mode);
        let file = match file_type {
            // Each write to a socket says that it does not wait, and a file always has room.
            FileType::Socket | FileType::RegularFile => output.try_clone_to_owned().ok()?,
            // Others share its file description, such as standard error, so it must stay blocking. It is opened once more.
            FileType::Fifo => {
                let path = format!("/proc/self/fd/{}", output.as_raw_fd());
                let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let pipe = rustix::fs::open(path, flags, Mode::empty()).ok()?;
                #[cfg(target_os = "linux")]
                enlarge_pipe(&pipe);
                pipe
            }
            // The path of a terminal may lead to another one.
            _ => return None,
        };
        Some(DirectOutput { file: Arc::new(file), is_socket: file_type == FileType::Socket, waiting: None })
    }
}

impl AsyncWrite for DirectOutput {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            if let Some(waiting) = &self.waiting {
                drop(ready!(waiting.poll_write_ready(context))?);
                self.waiting = None;
            }
            let written = match self.is_socket {
                true => rustix::net::send(&self.file, bytes, SendFlags::DONTWAIT),
                false => rustix::io::write(&self.file, bytes),
            };
            match written {
                Err(Errno::AGAIN) => self.waiting = Some(wait_for_room(self.file.clone())?),
                Err(Errno::INTR) => {}
                written => return Poll::Ready(Ok(written?)),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Gives a pipe more room. Where it gets none, the rest of a long answer waits until the peer has read the first part.
#[cfg(target_os = "linux")]
fn enlarge_pipe(pipe: &OwnedFd) {
    if rustix::pipe::fcntl_getpipe_size(pipe).is_ok_and(|size| size < PIPE_BYTES) {
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
    }
}

fn wait_for_room(file: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    #[expect(deprecated, reason = "its successor is unsafe, for types whose descriptor changes; an OwnedFd's does not")]
    AsyncFd::with_interest(file, Interest::WRITABLE)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::io::Read;
    use tokio::io::AsyncWriteExt;

    const BYTES: usize = 4 * 1024 * 1024;

    /// More than there is room for is written in pieces, as the peer reads.
    async fn all_is_written(output: impl AsFd, mut far: impl Read + Send + 'static) {
        let mut output = DirectOutput::new(output).unwrap();
        assert!(output.write_all(b"x").await.is_ok() && output.waiting.is_none(), "nothing waits where there is room");
        let reading = tokio::task::spawn_blocking(move || {
            let mut read = vec![0; BYTES];
            far.read_exact(&mut read).unwrap();
            read
        });
        let sent: Vec<u8> = (0..BYTES - 1).map(|number| (number % 251) as u8).collect();
        output.write_all(&sent).await.unwrap();
        assert_eq!(reading.await.unwrap()[1..], sent);
    }

    #[tokio::test]
    async fn pipe_and_socket_are_written_as_they_are_read() {
        let (far, near) = std::io::pipe().unwrap();
        all_is_written(&near, far).await;
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        all_is_written(&near, far).await;
    }

    #[tokio::test]
    async fn what_others_share_stays_blocking() {
        let (near, _far) = std::os::unix::net::UnixStream::pair().unwrap();
        let (_far, pipe) = std::io::pipe().unwrap();
        for output in [near.as_fd(), pipe.as_fd()] {
            DirectOutput::new(output).unwrap().write_all(b"x").await.unwrap();
            assert!(!rustix::fs::fcntl_getfl(output).unwrap().contains(OFlags::NONBLOCK));
        }
    }
}

//! Standard input and output without a thread for each read and write, where they are sockets or pipes.
//!
//! Hosts that run on Node pass sockets, which can be made non-blocking as they are: the other ends belong to the host
//! alone. Pipes are shared with other programs, so they are opened once more.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FileType, fstat};
use tokio::net::{UnixStream, unix::pipe};

/// Returns both, where both are sockets.
pub(super) fn stdio_sockets() -> Option<(UnixStream, UnixStream)> {
    Some((unix_socket(std::io::stdin().as_fd())?, unix_socket(std::io::stdout().as_fd())?))
}

/// Opens both once more, where both are pipes and the system has a path for them, as Linux does.
pub(super) fn stdio_pipes() -> Option<(pipe::Receiver, pipe::Sender)> {
    let reader = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0").ok()?;
    Some((reader, pipe::OpenOptions::new().open_sender("/proc/self/fd/1").ok()?))
}

fn unix_socket(fd: BorrowedFd<'_>) -> Option<UnixStream> {
    if FileType::from_raw_mode(fstat(fd).ok()?.st_mode) != FileType::Socket {
        return None;
    }
    let stream = std::os::unix::net::UnixStream::from(fd.try_clone_to_owned().ok()?);
    // It fails for sockets of other families.
    stream.local_addr().ok()?;
    stream.set_nonblocking(true).ok()?;
    UnixStream::from_std(stream).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn only_unix_sockets_are_detected() {
        let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut taken = unix_socket(near.as_fd()).unwrap();
        far.write_all(b"x").unwrap();
        assert_eq!(taken.read_u8().await.unwrap(), b'x');
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(unix_socket(reader.as_fd()).is_none());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(unix_socket(listener.as_fd()).is_none());
    }
}

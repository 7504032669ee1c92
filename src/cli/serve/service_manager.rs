//! Tells a service manager such as systemd when the server is ready, and when it begins to stop (sd_notify(3)).

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The variable with the socket of the service manager.
const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";

/// Sends a state, such as `READY=1`, if a service manager started the server. One that cannot be told is no reason to stop.
pub(crate) fn notify_service_manager(state: &str) {
    let Some(socket) = std::env::var_os(NOTIFY_SOCKET).filter(|socket| !socket.is_empty()) else { return };
    if let Err(error) = send(&socket, state) {
        tracing::warn!(target: "folio::serve", %error, "cannot notify the service manager");
    }
}

fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address(socket)?).map(drop)
}

/// A path, or a name that begins with `@` and stands in no folder.
fn address(socket: &OsStr) -> io::Result<SocketAddr> {
    match socket.as_bytes().strip_prefix(b"@") {
        #[cfg(target_os = "linux")]
        Some(name) => <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name),
        _ => SocketAddr::from_pathname(socket),
    }
}

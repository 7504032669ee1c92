//! Transports: carry JSON-RPC messages over stdio, Streamable HTTP and HTTP+SSE. Requests are answered in server/.
//!
//! # Writing a transport
//!
//! A transport is a type that implements [`Transport`] and is passed to [`serve`]. The handler behind it knows neither
//! bytes nor sockets, and serves every protocol version, even mixed on one connection. The trait has three functions:
//! - `receive` waits for the next message of the peer; `None` ends the connection once pending requests are answered.
//!   It is dropped and called again whenever something else happens, so partial work must be kept outside its future.
//! - `send` takes a message for the peer. Work before it returns happens in the order of the messages; the returned
//!   future may wait for the peer, and delays only the sender of that message.
//! - `close` is called at the end.
//!
//! A transport is responsible for the following:
//! - A request is answered once or, if it was cancelled, not at all. Invalid messages get an error, and later ones are
//!   served (`peer_state`, which parses messages and tracks pending requests).
//! - A peer that does not read costs bounded memory and delays no other peer (`send_queue`, `http::event_channel`).
//! - It ends within a second when the peer is gone or the server stops.
//!
//! `stdio` is the transport for pipes, `http::session_transport` the one for HTTP, `tests::memory` the smallest.

mod batch;
mod peer_state;
pub mod http;
mod length_limits;
mod line_buffer;
pub mod in_process;
mod message;
mod message_size;
mod normalize;
mod send_queue;
mod pending_requests;
mod request_params;
mod stdio_sockets;
pub mod stdio;
#[cfg(test)]
mod tests;

use rmcp::service::{ServiceExt, serve_directly};
pub use rmcp::{RoleServer, transport::Transport};
use tokio_util::sync::CancellationToken;

use crate::diagnostic::count_noun;
use crate::server::{STOP_TIMEOUT, SharedServer};

/// Serves the peer behind a transport until that ends. When `stop` is cancelled, what is running is cancelled and answered
/// with an error within [`STOP_TIMEOUT`], for which the transport waits.
pub async fn serve<T>(shared_server: &SharedServer, transport: T, stop: CancellationToken)
where
    T: Transport<RoleServer> + 'static,
{
    // No lifecycle of rmcp's: the handler keeps the session, so nothing that a peer sends, however early, ends it.
    // In a box: the tasks of requests, each of which is moved several times, are small then.
    let handler = shared_server.connect().outlive_request(stop).into_dyn();
    let serving = serve_directly(handler, transport, None);
    if let Err(error) = serving.waiting().await {
        tracing::error!(%error, "connection failed");
    }
}

/// Says at the end how many calls have no answer that anybody reads.
fn log_abandoned_calls(count: usize) {
    if count > 0 {
        let calls = count_noun(count, "call");
        tracing::warn!(target: "folio::serve", "stopped: {calls} abandoned, as nobody reads an answer");
    }
}

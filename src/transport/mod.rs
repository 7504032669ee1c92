//! Where messages come from and go to: standard input and output, and HTTP.
//!
//! # A transport
//!
//! is one type in one file that implements [`Transport`], and is handed to [`serve`]. The handler behind it knows neither
//! bytes nor sockets, and serves both generations of the protocol, in one connection if the peer so wishes. The trait
//! has three functions:
//! - `receive` waits for the next message of the peer; `None` ends the connection, once what is under way is answered.
//!   It is dropped and called anew whenever something else happens, so what it has half done must outlast that.
//! - `send` takes a message for the peer. What it does before it returns happens in the order of the messages; the
//!   future that it returns may wait for the peer, and nobody waits with it but whoever said that message.
//! - `close` is called at the end.
//!
//! What each must see to itself, and how the ones that are here do:
//! - A request is answered once or, when it was cancelled, not at all. What is no message gets its error, and what comes
//!   after it is served (`exchange`, which reads bytes, and keeps account of what is under way).
//! - A peer that does not read costs bounded memory, and nobody else any time (`outbox`, `http::event_channel`).
//! - When the peer is gone, or the server is told to stop, it ends within a second.
//!
//! `stdio` is the one for pipes, `http::session` the one for all that comes over HTTP, `tests::memory` the smallest.
//!
//! What is not here: what requests mean (server/).

mod batch;
mod exchange;
pub mod http;
mod label_limits;
mod line_buffer;
pub mod in_process;
mod message;
mod outbox;
mod pending;
mod stdio_sockets;
pub mod stdio;
#[cfg(test)]
mod tests;

use rmcp::service::{ServiceExt, serve_directly_with_ct};
pub use rmcp::{RoleServer, transport::Transport};
use tokio_util::sync::CancellationToken;

use crate::server::LiveCatalog;

/// Serves the peer behind a transport until that ends or `stop` is cancelled. What is then still running is cancelled.
pub async fn serve<T>(live: &LiveCatalog, transport: T, stop: CancellationToken)
where
    T: Transport<RoleServer> + 'static,
{
    // No lifecycle of rmcp's: the handler keeps the session, so nothing that a peer sends, however early, ends it.
    // In a box: the tasks of requests, each of which is moved several times, are small then.
    let handler = live.connect().with_stamps().into_dyn();
    let serving = serve_directly_with_ct(handler, transport, None, stop.child_token());
    if let Err(error) = serving.waiting().await {
        tracing::error!(%error, "connection failed");
    }
}

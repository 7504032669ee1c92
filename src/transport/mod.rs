//! Transports: carry JSON-RPC messages over stdio, Streamable HTTP and HTTP+SSE. Requests are answered in server/.
//!
//! A transport reads messages with `peer_state`, which knows what is pending, and gives requests to the handler of its
//! connection; what the handler sends comes back as bytes with what they are. It is responsible for the following:
//! - A request is answered once or, if it was cancelled, not at all. Invalid messages get an error, and later ones are
//!   served.
//! - A peer that does not read costs bounded memory and delays no other peer (`send_queue`, `http::event_channel`).
//! - It ends within a second when the peer is gone or the server stops.

mod batch;
mod deferred_waker;
mod peer_state;
pub mod http;
mod length_limits;
mod line_buffer;
mod lone_surrogates;
pub mod in_process;
mod message;
mod message_size;
mod queue_writer;
mod send_queue;
mod pending_requests;
mod request_params;
mod stdio_streams;
pub mod stdio;
mod poll_while_woken;
#[cfg(test)]
mod tests;

use crate::diagnostic::count_noun;
use crate::server::STOP_TIMEOUT;

/// Says at the end how many calls have no answer that anybody reads.
fn log_abandoned_calls(count: usize) {
    if count > 0 {
        let calls = count_noun(count, "call");
        tracing::warn!(target: "folio::serve", "stopped: {calls} abandoned, as nobody reads an answer");
    }
}

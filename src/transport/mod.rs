//! Where messages come from and go to: standard input and output, and HTTP.
//!
//! A transport takes the handler of a connection from [`Live::connect`](crate::server::Live::connect) and carries
//! messages between it and a peer. That is all that one has to do: the handler knows neither bytes nor sockets,
//! and serves both generations of the protocol, in one connection if the peer so wishes. What each transport must
//! see to itself:
//! - A request is answered once or, when it was cancelled, not at all.
//! - A line or body that is no message gets its error, and what comes after it is served.
//! - A peer that does not read costs bounded memory, and nobody else any time.
//! - When the peer is gone, or the server is told to stop, it ends within a second.
//!
//! What is not here: what requests mean (server/).

mod batch;
mod exchange;
pub mod http;
mod line;
pub mod local;
mod message;
mod outbox;
mod pending;
mod standard;
pub mod stdio;
#[cfg(test)]
mod tests;

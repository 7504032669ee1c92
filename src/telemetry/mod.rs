//! What an operator sees of a server: records of its requests, and who is told of them.
//!
//! A request ends in one [`RequestRecord`], which `server` makes and hands to every [`RequestObserver`]: the page of `folio
//! dev`, [`Metrics`], [`Audit`] and [`Traces`]. Without observers nothing is recorded. [`ServerHealth`] is what `/readyz` says. What is
//! not here: the listener (transport/), and lines of the log, which each room writes.

mod audit;
mod audit_file;
mod health;
mod metrics;
mod observer;
mod otlp;
mod traces;

pub use audit::Audit;
pub use health::{IssuerState, ServerHealth};
pub use metrics::{Metrics, MetricsSnapshot};
pub use observer::{
    ClientName, HttpRefusal, Limit, Observers, Outcome, RecordParts, RefusalReason, RequestIdRef, RequestObserver,
    RequestRecord,
};
pub use traces::Traces;

//! MCP over a catalog: translates, looks up, delegates.
//!
//! [`Live`] holds the catalog of the moment; a [`Server`] is the handler of one connection to it, for both
//! generations of the protocol. What is not here: where messages come from and go to (transport/), and what
//! prompts, tools and resources do (catalog/).
//!
//! A request takes one snapshot (`served`) and is answered from it to its end. Nothing here knows a peer but the
//! peer's own task, so one that does not read delays nobody.

#![allow(deprecated, reason = "what 2026-07-28 deprecates, such as logging, it still has, and older versions too")]

mod asking;
mod bytes;
mod capability;
mod changes;
mod client;
mod completion;
mod content;
mod dated;
mod error;
mod handler;
mod limit;
mod listing;
mod live;
mod logging;
mod pace;
mod older;
mod prompts;
mod question;
mod resources;
mod served;
mod session;
mod skills;
mod state;
mod structured;
mod subscription;
mod tasks;
#[cfg(test)]
pub(crate) mod testing;
mod tools;
mod unknown;
mod weight;

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use rmcp::{RoleServer, service::RequestContext};
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) use bytes::{Account, Busy, PeerAccount, Reservation, SMALL};
pub use changes::{Change, Changes};
pub use live::{Live, Options};
pub(crate) use session::RootsAge;
pub(crate) use unknown::{complaint, is_of_sessions};

use crate::catalog::answer::{Call, Refusal, RefusalKind};
use crate::world::Trace;

use self::{
    limit::{Allowance, Cost},
    served::News,
    session::{Era, Session},
};

/// The handler of one connection, made by [`Live::connect`].
pub struct Server {
    live: Live,
    session: Arc<Session>,
    /// What was served when the connection was made.
    born: News,
    /// Whether its transport stamps requests with what was served when they came.
    stamped: bool,
    gone: CancellationToken,
    _gone: DropGuard,
}

impl Server {
    fn new(live: Live) -> Server {
        let gone = CancellationToken::new();
        let born = live.current().news;
        Server { live, session: Arc::default(), born, stamped: false, _gone: gone.clone().drop_guard(), gone }
    }

    /// The handler of a connection whose transport puts a [`Stamp`] on requests to listen.
    pub(crate) fn stamped(self) -> Server {
        Server { stamped: true, ..self }
    }

    /// Returns the catalog's holder that the handler answers from.
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// Runs a call until it ends or its caller no longer wants it. It is then given a moment to clean up.
    ///
    /// A call is large, and whatever carries it is moved several times before it begins: therefore it comes in a box.
    async fn run<T>(
        &self,
        context: &RequestContext<RoleServer>,
        mut call: BoxFuture<'_, Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let _running = self.live.enter();
        tokio::select! {
            biased;
            answer = &mut call => answer,
            () = context.ct.cancelled() => match tokio::time::timeout(CLEANING, call).await {
                Ok(answer) => answer,
                Err(_) => Err(Refusal::new(RefusalKind::Cancelled, "cancelled")),
            },
        }
    }

    fn call(&self, context: &RequestContext<RoleServer>, served: &served::Served) -> Call {
        let said = |key: &str| context.meta.get(key).and_then(Value::as_str);
        let hand_on = served.catalog.hand_on();
        let trace = Trace::new(said("traceparent"))
            .with_state(said("tracestate").filter(|_| hand_on.state))
            .with_baggage(said("baggage").filter(|_| hand_on.baggage));
        Call::new(context.ct.clone(), trace.around(self.live.world())).sharing(self.live.capacity())
    }

    /// Takes what a request costs from the credit of its client, or says how long it is too early.
    fn take(&self, era: Era, acts: bool) -> Result<(), Duration> {
        let calls = || self.live.catalog().limits().calls_per_second;
        self.allowance(era).take(if acts { Cost::Act(calls()) } else { Cost::Say })
    }

    /// What the client of a request may still ask for: without a session it is one of many.
    fn allowance(&self, era: Era) -> &Allowance {
        if era.is_modern() { self.live.allowance() } else { &self.session.allowance }
    }
}

/// How long a cancelled call may take to end by itself before it is dropped.
const CLEANING: Duration = Duration::from_millis(200);

/// What was served when a request to listen arrived.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    news: News,
    /// The prints of the resources that it wants to be told of, in its order.
    prints: Arc<[Option<u64>]>,
}

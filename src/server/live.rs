//! The catalog that is served at the moment, and word of its successors.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use rmcp::model::SubscriptionFilter;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::{action::Notice, budget::Capacity, catalog::Catalog, redact::Redactors, world::World};

use super::{
    Account, Changes, Server, Stamp, limit::Allowance, served::Served, state::Seal, subscription, tasks::Tasks,
};

/// How a server is served, whatever it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether the catalog may be replaced. Without it no client is promised word of changes.
    pub watching: bool,
    /// Whether tools, prompts, resources and completion are declared though the catalog holds none: for an
    /// author at work, whose session is older than the first tool.
    pub declare_all: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { watching: true, declare_all: false }
    }
}

/// The catalog that is served at the moment. Clones are handles of the same one.
#[derive(Clone)]
pub struct Live {
    inner: Arc<Inner>,
}

struct Inner {
    served: watch::Sender<Arc<Served>>,
    replacing: Mutex<()>,
    world: Arc<dyn World>,
    options: Options,
    closing: CancellationToken,
    running: AtomicUsize,
    idle: Notify,
    seal: OnceLock<Seal>,
    tasks: Tasks,
    allowance: Allowance,
    bytes: Account,
    redactors: Redactors,
    capacity: Arc<Capacity>,
}

impl Live {
    /// Begins to serve `catalog`, whose actions happen in `world`.
    pub fn new(catalog: Arc<Catalog>, world: Arc<dyn World>, options: Options) -> Live {
        world.limit_programs(catalog.limits().programs);
        let bytes = Account::new(catalog.limits().bytes_in_flight);
        let redactors = Redactors::of(catalog.redactor().clone());
        let served = watch::Sender::new(Arc::new(Served::first(catalog, options)));
        let inner = Inner {
            served,
            replacing: Mutex::new(()),
            world,
            options,
            closing: CancellationToken::new(),
            running: AtomicUsize::new(0),
            idle: Notify::new(),
            seal: OnceLock::new(),
            tasks: Tasks::new(bytes.peer()),
            allowance: Allowance::of_all(),
            bytes,
            redactors,
            capacity: Arc::default(),
        };
        Live { inner: Arc::new(inner) }
    }

    /// Serves `catalog` from now on, tells every session what is due to it, and returns which lists are
    /// different. Requests under way finish on the catalog that they began with; nobody is waited for.
    pub fn replace(&self, catalog: Arc<Catalog>) -> Changes {
        let _one_at_a_time = self.inner.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        self.inner.world.limit_programs(catalog.limits().programs);
        self.inner.bytes.set_limit(catalog.limits().bytes_in_flight);
        self.inner.redactors.replace(catalog.redactor().clone());
        let (next, changes) = Served::after(&self.current(), catalog, self.inner.options);
        self.inner.served.send_replace(Arc::new(next));
        changes
    }

    /// Seals what travels while a client is asked with the first of `keys`, and opens what any of them sealed: so a
    /// call goes on in another process that has the same ones. Without it a key of its own ends with the process.
    /// Only the first such call has an effect, and only before the first question.
    pub fn seal_with(&self, keys: &[Vec<u8>]) {
        let _ = self.inner.seal.set(Seal::new(keys));
    }

    /// What keeps the secrets of what is served and of what still runs: whatever leaves passes it.
    pub(crate) fn redactors(&self) -> &Redactors {
        &self.inner.redactors
    }

    pub(crate) fn seal(&self) -> &Seal {
        self.inner.seal.get_or_init(|| Seal::new(&[]))
    }

    /// What all calls use together.
    pub(crate) fn capacity(&self) -> Arc<Capacity> {
        self.inner.capacity.clone()
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.inner.tasks
    }

    /// Tells every client what a step says has changed.
    pub(crate) fn notice(&self, notice: Notice) {
        let _one_at_a_time = self.inner.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        let next = self.current().noticed(notice);
        self.inner.served.send_replace(Arc::new(next));
    }

    /// Returns the catalog that is served at the moment.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.inner.served.borrow().catalog.clone()
    }

    /// Returns the handler of one new connection.
    pub fn connect(&self) -> Server {
        Server::new(self.clone())
    }

    /// Ends the streams on which clients listen for changes, with the result that the protocol has for it.
    /// It cannot be undone.
    pub fn close(&self) {
        self.inner.closing.cancel();
    }

    /// Waits until no call is under way.
    pub async fn idle(&self) {
        loop {
            let idle = self.inner.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            if self.inner.running.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }

    pub(crate) fn current(&self) -> Arc<Served> {
        self.inner.served.borrow().clone()
    }

    /// Notes what is served now. A transport on which requests wait puts it among the extensions of a request
    /// to listen, so that no change between its arrival and its beginning is lost.
    pub(crate) fn stamp(&self, requested: &SubscriptionFilter) -> Stamp {
        let served = self.current();
        let prints = subscription::watchable(requested).iter().map(|uri| served.print(uri)).collect();
        Stamp { news: served.news, prints }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Arc<Served>> {
        self.inner.served.subscribe()
    }

    pub(crate) fn world(&self) -> Arc<dyn World> {
        self.inner.world.clone()
    }

    /// What those who have no session may still ask for.
    pub(crate) fn allowance(&self) -> &Allowance {
        &self.inner.allowance
    }

    /// The bytes that are under way.
    pub(crate) fn bytes(&self) -> &Account {
        &self.inner.bytes
    }

    pub(crate) fn closing(&self) -> CancellationToken {
        self.inner.closing.clone()
    }

    /// Counts a call as under way for as long as the guard lives.
    pub(crate) fn enter(&self) -> Running {
        self.inner.running.fetch_add(1, Ordering::AcqRel);
        Running { live: self.clone() }
    }
}

/// A call that is under way.
pub(crate) struct Running {
    live: Live,
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.live.inner.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.live.inner.idle.notify_waiters();
        }
    }
}

//! The catalog that is currently served, and its replacement.

use std::path::Path;
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use parking_lot::Mutex;
use rmcp::model::JsonObject;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::{
    action::{ChangeNotification, LogLevel},
    budget::{Caller, CallerKind, Capacity},
    catalog::{Catalog, Changes},
    files::ResolvedRoots,
    identity::AccessControl,
    redact::Redactors,
    telemetry::{Observers, ServerHealth},
    world::World,
};

use super::{
    ConnectionHandler, MessageSink, Peer, SharedSession, replicas::Replicas, request_state::StateSealer,
    session::Session, snapshot::CatalogSnapshot, task_table::Tasks,
};

/// Options of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServeOptions {
    /// Whether the catalog may be replaced. Without it no client is promised word of changes.
    pub watching: bool,
    /// Whether tools, prompts, resources and completion are declared though the catalog holds none: for an
    /// author at work, whose session is older than the first tool.
    pub declare_all_capabilities: bool,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions { watching: true, declare_all_capabilities: false }
    }
}

/// What a connection serves.
pub(crate) enum ConnectionKind {
    /// One request, after which nothing is remembered.
    Request,
    /// A session, over HTTP with an id, which other replicas may serve too where it is shared.
    Session { id: Option<Arc<str>>, shared: Option<SharedSession> },
}

/// The running server: the catalog it serves now, and the state that all connections share. Clones share it.
#[derive(Clone)]
pub struct SharedServer {
    inner: Arc<SharedServerState>,
}

struct SharedServerState {
    current_snapshot: watch::Sender<Arc<CatalogSnapshot>>,
    replace_lock: Mutex<()>,
    world: Arc<dyn World>,
    options: ServeOptions,
    stop: CancellationToken,
    /// Cancelled when clients may listen no longer.
    end_of_listening: CancellationToken,
    running: AtomicUsize,
    idle: Notify,
    state_sealer: StateSealer,
    replicas: Replicas,
    root_limit: OnceLock<ResolvedRoots>,
    tasks: Tasks,
    redactors: Redactors,
    capacity: Arc<Capacity>,
    observers: OnceLock<Observers>,
    health: Arc<ServerHealth>,
}

impl SharedServer {
    /// Begins to serve `catalog`, whose actions happen in `world`.
    pub fn new(catalog: Arc<Catalog>, world: Arc<dyn World>, options: ServeOptions) -> SharedServer {
        world.set_program_limit(catalog.limits().programs);
        let capacity = Arc::new(Capacity::new(catalog.limits().bytes_in_flight));
        let redactors = Redactors::new(catalog.redactor().clone());
        let current_snapshot = watch::Sender::new(Arc::new(CatalogSnapshot::initial(catalog, options)));
        let inner = SharedServerState {
            current_snapshot,
            replace_lock: Mutex::new(()),
            world,
            options,
            stop: CancellationToken::new(),
            end_of_listening: CancellationToken::new(),
            running: AtomicUsize::new(0),
            idle: Notify::new(),
            state_sealer: StateSealer::new(&[]),
            replicas: Replicas::default(),
            root_limit: OnceLock::new(),
            tasks: Tasks::new(Arc::new(Caller::new(CallerKind::Only, capacity.clone()))),
            redactors,
            capacity,
            observers: OnceLock::new(),
            health: Arc::default(),
        };
        SharedServer { inner: Arc::new(inner) }
    }

    /// Serves `catalog` from now on, notifies every session of the changes that concern it, and returns which lists are different.
    /// Running requests finish on the catalog that they started with, and are not awaited.
    pub fn replace(&self, catalog: Arc<Catalog>) -> Changes {
        let _one_at_a_time = self.inner.replace_lock.lock();
        self.inner.world.set_program_limit(catalog.limits().programs);
        self.inner.capacity.messages.set_limit(catalog.limits().bytes_in_flight);
        self.inner.redactors.replace(catalog.redactor().clone());
        let (next, changes) = CatalogSnapshot::after(&self.snapshot(), catalog, self.inner.options);
        self.inner.current_snapshot.send_replace(Arc::new(next));
        self.tell_of_reload(&changes);
        changes
    }

    /// Seals what travels while a client is asked with the first of `keys`, and opens what any of them sealed: so a
    /// call goes on in another process that has the same ones. Without it a key of its own ends with the process.
    /// Later calls replace them.
    pub fn set_state_keys(&self, keys: &[Vec<u8>]) {
        self.inner.state_sealer.replace_secrets(keys);
    }

    /// Lets clients give roots inside `workspace` alone, or none: those of other machines have no folders here to give.
    /// Without it every root counts. Only the first such call has an effect.
    pub fn confine_roots(&self, workspace: Option<&Path>) {
        let _ = self.inner.root_limit.set(ResolvedRoots::follow(workspace));
    }

    /// Whether a root that a client names counts.
    pub(crate) fn allows_root(&self, root: &Path) -> bool {
        self.inner.root_limit.get().is_none_or(|limit| limit.resolve(root).is_ok())
    }

    /// Tells `observers` of each request from now on. Only the first such call has an effect.
    pub fn set_observers(&self, observers: Observers) {
        let _ = self.inner.observers.set(observers);
    }

    /// Those who are told of requests, if there are any.
    pub(crate) fn observers(&self) -> Option<&Observers> {
        self.inner.observers.get()
    }

    /// Whether the server is well.
    pub fn health(&self) -> &Arc<ServerHealth> {
        &self.inner.health
    }

    /// Sends a log message to every session that wants such.
    pub fn publish_log(&self, level: LogLevel, text: String) {
        let _one_at_a_time = self.inner.replace_lock.lock();
        let next = self.snapshot().with_log(level, text);
        self.inner.current_snapshot.send_replace(Arc::new(next));
    }

    /// Redacts the secrets of the served catalog and of earlier ones that still run.
    pub fn redactors(&self) -> &Redactors {
        &self.inner.redactors
    }

    pub(crate) fn state_sealer(&self) -> &StateSealer {
        &self.inner.state_sealer
    }

    pub(crate) fn replicas(&self) -> &Replicas {
        &self.inner.replicas
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.inner.tasks
    }

    /// Notifies clients of a change that a step announces, of whichever replica.
    pub(crate) fn publish_notification(&self, notification: ChangeNotification) {
        self.announce(notification.clone());
        self.replicas().tell(notification);
    }

    /// Notifies the clients of this replica of a change.
    pub(super) fn announce(&self, notification: ChangeNotification) {
        let _one_at_a_time = self.inner.replace_lock.lock();
        let next = self.snapshot().with_notification(notification);
        self.inner.current_snapshot.send_replace(Arc::new(next));
    }

    /// Notifies the clients of this replica that every list and resource may have changed.
    pub(super) fn announce_everything(&self) {
        let _one_at_a_time = self.inner.replace_lock.lock();
        let next = self.snapshot().with_everything_announced();
        self.inner.current_snapshot.send_replace(Arc::new(next));
    }

    /// Returns the catalog that is served at the moment.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.inner.current_snapshot.borrow().catalog.clone()
    }

    /// The handler of a new connection to the client behind `sink`. Calls and streams end at `stop`, and with the server.
    pub(crate) fn connect(
        &self,
        sink: Arc<dyn MessageSink>,
        stop: CancellationToken,
        kind: ConnectionKind,
    ) -> Arc<ConnectionHandler> {
        let disconnected = CancellationToken::new();
        let (is_lasting, id, shared_session) = match kind {
            ConnectionKind::Request => (false, None, None),
            ConnectionKind::Session { id, shared } => (true, id, shared),
        };
        Arc::new(ConnectionHandler {
            shared_server: self.clone(),
            session: Arc::new(Session::new(id, is_lasting)),
            peer: Peer::new(sink, self.inner.redactors.clone(), shared_session.is_some()),
            shared_session,
            client: OnceLock::new(),
            stop,
            _disconnect_guard: disconnected.clone().drop_guard(),
            disconnected,
        })
    }

    /// Ends the streams on which clients listen for changes, with the result that the protocol has for it, and soon after
    /// what is running, with an error. It cannot be undone.
    pub fn stop(&self) {
        self.inner.health.start_draining();
        self.inner.end_of_listening.cancel();
        self.inner.stop.cancel();
    }

    /// Ends the streams on which clients listen for changes, with their result. Calls go on. It cannot be undone.
    pub(crate) fn end_listening(&self) {
        self.inner.end_of_listening.cancel();
    }

    /// Cancelled when the streams end on which clients listen for changes.
    pub(crate) fn end_of_listening(&self) -> CancellationToken {
        self.inner.end_of_listening.clone()
    }

    /// How many calls are running.
    pub(crate) fn running_calls(&self) -> usize {
        self.inner.running.load(Ordering::Acquire)
    }

    /// How many tasks are running.
    pub(crate) fn running_tasks(&self) -> usize {
        self.inner.tasks.running()
    }

    /// Waits until no call is running.
    pub async fn wait_until_idle(&self) {
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

    pub(crate) fn snapshot(&self) -> Arc<CatalogSnapshot> {
        self.inner.current_snapshot.borrow().clone()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<CatalogSnapshot>> {
        self.inner.current_snapshot.subscribe()
    }

    /// The input schema of a tool with arguments that HTTP repeats in headers.
    pub(crate) fn header_schema(&self, tool: &str, access: &AccessControl) -> Option<Arc<JsonObject>> {
        let snapshot = self.inner.current_snapshot.borrow();
        snapshot.header_schemas.get(tool).filter(|_| snapshot.catalog.sees_tool(tool, access)).cloned()
    }

    pub(crate) fn world(&self) -> Arc<dyn World> {
        self.inner.world.clone()
    }

    /// A new caller, which shares the memory of the server with others.
    pub(crate) fn new_caller(&self, kind: CallerKind) -> Arc<Caller> {
        Arc::new(Caller::new(kind, self.inner.capacity.clone()))
    }

    /// Cancelled when the server stops.
    pub(crate) fn stop_token(&self) -> CancellationToken {
        self.inner.stop.clone()
    }

    /// Counts a running call until the guard is dropped.
    pub(crate) fn start_call(&self) -> CallGuard {
        self.inner.running.fetch_add(1, Ordering::AcqRel);
        CallGuard { shared_server: self.clone() }
    }
}

pub(crate) struct CallGuard {
    shared_server: SharedServer,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        if self.shared_server.inner.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared_server.inner.idle.notify_waiters();
        }
    }
}

//! What this replica and the others tell each other: changes that clients are notified of, and what tasks elsewhere are to do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior};

use crate::action::{ChangeNotification, ListKind};
use crate::catalog::Changes;
use crate::store::{LEASE, MemoryStore, Received, Recipient, RenewedLease, Replica, Store, StoreError};

use super::{
    SharedServer,
    session_record::{SessionInbox, SessionMessage},
    task_record::TaskMessage,
};

/// How long what a client sends to one replica may be for another, in bytes.
pub(super) const MAX_FORWARDED_BYTES: usize = 256 * 1024;
/// How many changes wait to be told one by one; beyond that, that everything may have changed.
const MAX_UNTOLD_CHANGES: usize = 1000;
/// How often it is looked whether tasks have ended, when the server stops.
const TASK_CHECK_INTERVAL: Duration = Duration::from_millis(5);
/// How often a replica says that it lives.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(3);

/// What this replica knows of the others, and has to tell them.
#[derive(Default)]
pub(crate) struct Replicas {
    store: OnceLock<Arc<dyn Store>>,
    untold: Mutex<UntoldChanges>,
    /// Held while others are told: whoever asks for that next finds all told that was to be told before.
    telling: tokio::sync::Mutex<()>,
    /// Notified when there is anything to tell or to keep.
    pub(super) wake: Notify,
    lease: Mutex<Lease>,
    /// Whether there may be others.
    are_followed: AtomicBool,
    inbox: OnceLock<Arc<dyn SessionInbox>>,
}

#[derive(Default)]
struct UntoldChanges {
    changes: Vec<ChangeNotification>,
    everything: bool,
}

/// The replicas that live, as the store said last.
#[derive(Default)]
struct Lease {
    living: Vec<Replica>,
    renewed_at: Option<Instant>,
    /// Since when the store has had leases without a gap: it was not away for longer, and was not emptied.
    held_since: Option<Instant>,
    epoch: u64,
    /// When the store was found emptied.
    emptied_at: Option<Instant>,
}

/// What a renewed lease shows.
struct LeaseChange {
    is_first: bool,
    /// Whether a replica has left that served another manifest.
    other_has_left: bool,
}

/// What replicas tell each other.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ReplicaMessage {
    /// This replica serves something else now, or a step announces it.
    Changed(ChangeNotification),
    EverythingChanged,
    Task {
        id: String,
        message: TaskMessage,
    },
    Session {
        id: String,
        message: SessionMessage,
    },
}

impl Replicas {
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.store.get_or_init(|| Arc::new(MemoryStore::default()))
    }

    /// Notes a change for the other replicas.
    pub(super) fn tell(&self, change: ChangeNotification) {
        if !self.are_followed.load(Ordering::Acquire) {
            return;
        }
        let mut untold = self.untold.lock();
        if !untold.everything && !untold.changes.contains(&change) {
            untold.changes.push(change);
        }
        if untold.changes.len() > MAX_UNTOLD_CHANGES {
            *untold = UntoldChanges { changes: Vec::new(), everything: true };
        }
        drop(untold);
        self.wake.notify_one();
    }

    fn tell_everything(&self) {
        *self.untold.lock() = UntoldChanges { changes: Vec::new(), everything: true };
        self.wake.notify_one();
    }

    /// Tells the other replicas what they do not know yet. What cannot be told now is told later.
    async fn tell_untold(&self) {
        let UntoldChanges { changes, everything } = std::mem::take(&mut *self.untold.lock());
        let changes = changes.into_iter().map(ReplicaMessage::Changed);
        for message in changes.chain(everything.then_some(ReplicaMessage::EverythingChanged)) {
            if self.send(Recipient::Others, &message).await.is_err() {
                // It is unknown which of them arrived.
                *self.untold.lock() = UntoldChanges { changes: Vec::new(), everything: true };
                return;
            }
        }
    }

    pub(super) fn set_inbox(&self, inbox: Arc<dyn SessionInbox>) {
        let _ = self.inbox.set(inbox);
    }

    pub(super) async fn send(&self, to: Recipient<'_>, message: &ReplicaMessage) -> Result<(), StoreError> {
        self.store().send(to, &serde_json::to_vec(message).unwrap_or_default()).await
    }

    /// Says that this replica lives.
    async fn renew_lease(&self, manifest: &str) -> Result<LeaseChange, StoreError> {
        let RenewedLease { epoch, living } = self.store().renew_lease(manifest).await?;
        let mut lease = self.lease.lock();
        let now = Instant::now();
        let is_first = lease.renewed_at.is_none();
        let was_emptied = !is_first && lease.epoch != epoch;
        if was_emptied {
            lease.emptied_at = Some(now);
        }
        if was_emptied || lease.renewed_at.is_none_or(|renewed| now.duration_since(renewed) > LEASE) {
            lease.held_since = Some(now);
        }
        (lease.renewed_at, lease.epoch) = (Some(now), epoch);
        let before = std::mem::replace(&mut lease.living, living);
        let has_left = |other: &Replica| !lease.living.iter().any(|living| living.id == other.id);
        let other_has_left = before.iter().any(|other| other.manifest != manifest && has_left(other));
        Ok(LeaseChange { is_first, other_has_left })
    }

    /// Whether others know that this replica lives.
    pub(super) fn has_lease(&self) -> bool {
        self.lease.lock().renewed_at.is_some_and(|renewed| renewed.elapsed() < LEASE / 2)
    }

    fn is_living(&self, replica: &str) -> bool {
        self.lease.lock().living.iter().any(|living| living.id == replica)
    }

    /// Whether each replica that lives has had the time to say so.
    fn knows_all(&self) -> bool {
        self.lease.lock().held_since.is_some_and(|since| since.elapsed() > LEASE)
    }
}

impl SharedServer {
    /// What replicas share.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.replicas().store()
    }

    /// Shares with other replicas what `store` holds. Only the first such call has an effect, and only before the first
    /// request.
    pub fn set_store(&self, store: Arc<dyn Store>) {
        if self.replicas().store.set(store).is_ok() {
            self.replicas().are_followed.store(true, Ordering::Release);
        }
    }

    /// Keeps up with other replicas, for as long as the server runs.
    pub async fn follow_replicas(&self) {
        let replicas = self.replicas();
        let mut renewal = tokio::time::interval(RENEWAL_INTERVAL);
        renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                received = replicas.store().receive() => match received {
                    Received::Gap => self.catch_up().await,
                    Received::Message(message) => self.receive_message(&message),
                },
                _ = renewal.tick() => if self.renew_lease().await.is_ok() {
                    // What the store refused before.
                    self.tell_replicas().await;
                },
                () = replicas.wake.notified() => self.tell_replicas().await,
            }
        }
    }

    /// Says that this replica lives. What its clients and those of others hear of follows from who else does.
    pub(super) async fn renew_lease(&self) -> Result<(), StoreError> {
        let LeaseChange { is_first, other_has_left } = self.replicas().renew_lease(self.catalog().digest()).await?;
        if is_first {
            // A new replica may serve what others do not, or what one had that has ended.
            self.replicas().tell_everything();
        }
        if other_has_left {
            self.announce_everything();
        }
        Ok(())
    }

    /// Whether a replica is known to have ended. One that began a moment ago is found by another look, and after the store was
    /// away or emptied the lease of one may be over that lives.
    pub(crate) async fn replica_has_ended(&self, replica: &str) -> bool {
        let replicas = self.replicas();
        !replicas.is_living(replica)
            && self.renew_lease().await.is_ok()
            && replicas.knows_all()
            && !replicas.is_living(replica)
    }

    /// Fails where the store may have forgotten what another replica is about to keep again: it was emptied a moment ago.
    pub(super) async fn check_memory(&self) -> Result<(), StoreError> {
        self.renew_lease().await?;
        let emptied_at = self.replicas().lease.lock().emptied_at;
        if emptied_at.is_some_and(|at| at.elapsed() < LEASE) { Err(StoreError) } else { Ok(()) }
    }

    /// Tells the other replicas what they do not know, and keeps what they may ask for.
    pub async fn tell_replicas(&self) {
        let _one_at_a_time = self.replicas().telling.lock().await;
        self.replicas().tell_untold().await;
        self.keep_changed_tasks().await;
    }

    /// Tells the other replicas, where there may be any, how the tasks of this one ended: nobody else can.
    pub async fn leave_replicas(&self) {
        if !self.replicas().are_followed.load(Ordering::Acquire) {
            return;
        }
        while self.running_tasks() > 0 {
            tokio::time::sleep(TASK_CHECK_INTERVAL).await;
        }
        self.tell_replicas().await;
    }

    /// Messages from others or to them may have been lost: everything may have changed.
    async fn catch_up(&self) {
        let _ = self.renew_lease().await;
        self.announce_everything();
        self.keep_again();
        self.tell_replicas().await;
    }

    /// Has the store keep all of this replica once more: it may have forgotten, or know it under an older key.
    pub fn keep_again(&self) {
        self.tasks().set_all_changed();
        if let Some(inbox) = self.replicas().inbox.get() {
            inbox.keep_all();
        }
        self.replicas().wake.notify_one();
    }

    fn receive_message(&self, message: &[u8]) {
        match serde_json::from_slice(message) {
            Ok(ReplicaMessage::Changed(change)) => self.announce(change),
            Ok(ReplicaMessage::EverythingChanged) => self.announce_everything(),
            Ok(ReplicaMessage::Task { id, message }) => self.message_own_task(&id, message),
            Ok(ReplicaMessage::Session { id, message }) => {
                if let Some(inbox) = self.replicas().inbox.get() {
                    inbox.take(&id, message);
                }
            }
            Err(error) => {
                tracing::debug!(target: "folio::store", "a message of another replica cannot be read: {error}")
            }
        }
    }

    /// Tells the other replicas what this one serves now: their clients may have asked it before.
    pub(super) fn tell_of_reload(&self, changes: &Changes) {
        let lists = [
            (ListKind::Tools, changes.tools.has_changes()),
            (ListKind::Prompts, changes.prompts.has_changes()),
            (ListKind::Resources, changes.resources.has_changes() || changes.resource_templates.has_changes()),
        ];
        for (kind, _) in lists.into_iter().filter(|(_, has_changes)| *has_changes) {
            self.replicas().tell(ChangeNotification::ListChanged(kind));
        }
        let resources = &changes.resources;
        for uri in resources.added.iter().chain(&resources.removed).chain(&resources.changed).chain(&resources.edited) {
            self.replicas().tell(ChangeNotification::ResourceUpdated(uri.clone()));
        }
    }
}

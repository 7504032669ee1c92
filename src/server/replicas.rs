//! What this replica and the others tell each other: changes that clients are notified of, and what tasks elsewhere are to do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::InputResponses;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior};

use crate::action::{ChangeNotification, ListKind};
use crate::store::{LEASE, MemoryStore, Received, Recipient, Replica, Store, StoreError};

use super::{
    Changes, SharedServer,
    session_record::{SessionInbox, SessionMessage},
    task_record::TaskMessage,
};

/// How many changes wait to be told one by one; beyond that, that everything may have changed.
const MAX_UNTOLD_CHANGES: usize = 1000;
/// How often a replica says that it lives.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(3);

/// What this replica knows of the others, and has to tell them.
#[derive(Default)]
pub(crate) struct Replicas {
    store: OnceLock<Arc<dyn Store>>,
    untold: Mutex<UntoldChanges>,
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
    /// Since when the store was never away for longer than a lease.
    held_since: Option<Instant>,
}

/// What replicas tell each other.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ReplicaMessage {
    /// This replica serves something else now, or a step announces it.
    Changed(ChangeNotification),
    EverythingChanged,
    AnswerTask {
        id: String,
        responses: InputResponses,
    },
    CancelTask {
        id: String,
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
    fn tell(&self, change: ChangeNotification) {
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
    pub(super) async fn renew_lease(&self, manifest: &str) -> Result<Vec<Replica>, StoreError> {
        let living = self.store().renew_lease(manifest).await?;
        let mut lease = self.lease.lock();
        let now = Instant::now();
        if lease.renewed_at.is_none_or(|renewed| now.duration_since(renewed) > LEASE) {
            lease.held_since = Some(now);
        }
        lease.renewed_at = Some(now);
        lease.living.clone_from(&living);
        Ok(living)
    }

    /// Whether others know that this replica lives.
    pub(super) fn has_lease(&self) -> bool {
        self.lease.lock().renewed_at.is_some_and(|renewed| renewed.elapsed() < LEASE / 2)
    }

    /// Whether a replica is known to have ended. After the store was away its lease may be over although it lives.
    pub(super) fn has_ended(&self, replica: &str) -> bool {
        let lease = self.lease.lock();
        let is_sure = lease.held_since.is_some_and(|since| since.elapsed() > LEASE);
        is_sure && !lease.living.iter().any(|living| living.id == replica)
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
        let mut is_known = false;
        loop {
            tokio::select! {
                received = replicas.store().receive() => match received {
                    Received::Gap => self.catch_up().await,
                    Received::Message(message) => self.receive_message(&message),
                },
                _ = renewal.tick() => {
                    let own = self.catalog().digest().to_owned();
                    let renewed = replicas.renew_lease(&own).await;
                    if let Ok(living) = renewed && !std::mem::replace(&mut is_known, true) {
                        // A new replica may serve what others do not.
                        living.iter().any(|other| other.manifest != own).then(|| replicas.tell_everything());
                    }
                }
                () = replicas.wake.notified() => self.tell_replicas().await,
            }
        }
    }

    /// Tells the other replicas what they do not know, and keeps what they may ask for.
    pub async fn tell_replicas(&self) {
        self.replicas().tell_untold().await;
        self.keep_changed_tasks().await;
    }

    /// Messages from others or to them may have been lost: everything may have changed.
    async fn catch_up(&self) {
        let _ = self.replicas().renew_lease(self.catalog().digest()).await;
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
            Ok(ReplicaMessage::AnswerTask { id, responses }) => {
                self.message_own_task(&id, TaskMessage::Answer(responses));
            }
            Ok(ReplicaMessage::CancelTask { id }) => self.message_own_task(&id, TaskMessage::Cancel),
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

    /// Tells the other replicas of a change that a step announces.
    pub(super) fn tell_of_change(&self, change: ChangeNotification) {
        self.replicas().tell(change);
    }

    /// Tells the other replicas what this one serves now: their clients may have asked it before.
    pub(super) fn tell_of_reload(&self, changes: &Changes) {
        let lists = [
            (ListKind::Tools, changes.tools.has_changes()),
            (ListKind::Prompts, changes.prompts.has_changes()),
            (ListKind::Resources, changes.resources.has_changes() || changes.resource_templates.has_changes()),
        ];
        for (kind, _) in lists.into_iter().filter(|(_, has_changes)| *has_changes) {
            self.tell_of_change(ChangeNotification::ListChanged(kind));
        }
        let resources = &changes.resources;
        for uri in resources.added.iter().chain(&resources.removed).chain(&resources.changed).chain(&resources.edited) {
            self.tell_of_change(ChangeNotification::ResourceUpdated(uri.clone()));
        }
    }
}

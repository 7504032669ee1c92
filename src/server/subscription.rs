//! Change notifications: unsolicited in sessions, on subscription streams in 2026-07-28.
//!
//! One task notifies one session. It compares the served state with the last one that it sent, so changes that occur
//! while the peer is slow are sent once, and none is lost.

use std::sync::Arc;

use bytes::Bytes;
use rmcp::model::{
    ErrorData, GetMeta, LoggingMessageNotification, LoggingMessageNotificationParam, PromptListChangedNotification,
    RequestId, ResourceListChangedNotification, ResourceUpdatedNotification, ResourceUpdatedNotificationParam,
    ServerNotification, SubscriptionFilter, SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenResult, ToolListChangedNotification,
};
use tokio::sync::watch;

use crate::action::{CallContext, ListKind};
use crate::catalog::result::refusal::{Refusal, RefusalKind};
use crate::identity::AccessControl;
use crate::spec_version::SpecVersion;
use crate::uri::normalize_uri;

use super::{
    ConnectionHandler, Peer,
    capability::CapabilityKind,
    error, list_pages, log_level,
    request::McpRequest,
    session::{NegotiatedSession, Session, SubscribedResource},
    session_record::SessionChange,
    snapshot::{CatalogSnapshot, ResultNotes, Revisions},
    version_keys,
};

/// How many resources a session or a stream may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 1000;

/// How long the URIs of those may be in all.
const MAX_SUBSCRIPTION_BYTES: usize = 128 * 1024;

/// The resources of a stream: all that it requests, or none if there are too many.
fn watchable_uris(requested: &SubscriptionFilter) -> &[String] {
    let uris = requested.resource_subscriptions.as_deref().unwrap_or_default();
    let bytes: usize = uris.iter().map(String::len).sum();
    if uris.len() <= MAX_SUBSCRIPTIONS && bytes <= MAX_SUBSCRIPTION_BYTES { uris } else { &[] }
}

/// Refuses who may not read a resource. One that its caller does not see is as one that is not there, which may appear.
fn check_subscription(served: &CatalogSnapshot, uri: &str, call: &CallContext) -> Result<(), Refusal> {
    let checked = served.catalog.check_resource(uri, call);
    checked.or_else(|refusal| if refusal.kind == RefusalKind::NotFound { Ok(()) } else { Err(refusal) })
}

/// Subscribes the session to a resource; an unknown one is not an error, since it may appear.
pub(crate) async fn subscribe(server: &ConnectionHandler, uri: String, request: &McpRequest) -> Result<(), ErrorData> {
    let served = &request.snapshot;
    if !served.change_capabilities.updates {
        return Err(error::unknown_method("resources/subscribe"));
    }
    let call = server.call_context(request, &request.cancel);
    check_subscription(served, &uri, &call).map_err(|refusal| error::resource_error(request.version, refusal, &uri))?;
    check_room(&server.session, &uri)?;
    server.keep_session_change(SessionChange::Subscribed(uri.clone()), request).await?;
    insert(server, served, uri);
    Ok(())
}

/// Refuses one resource too many.
fn check_room(session: &Session, uri: &str) -> Result<(), ErrorData> {
    let subscribed = session.subscribed();
    if subscribed.contains_key(uri) {
        return Ok(());
    }
    if subscribed.len() >= MAX_SUBSCRIPTIONS {
        let message = format!("too many subscriptions (limit {MAX_SUBSCRIPTIONS}); unsubscribe from some first");
        return Err(ErrorData::invalid_params(message, None));
    }
    let bytes: usize = subscribed.keys().map(String::len).sum();
    if bytes + uri.len() > MAX_SUBSCRIPTION_BYTES {
        let max_kib = MAX_SUBSCRIPTION_BYTES / 1024;
        let message =
            format!("subscribed URIs are too long (limit {max_kib} KiB in total); unsubscribe from some first");
        return Err(ErrorData::invalid_params(message, None));
    }
    Ok(())
}

fn insert(server: &ConnectionHandler, served: &CatalogSnapshot, uri: String) {
    let fingerprint = served.fingerprint(&uri);
    let subscribed = SubscribedResource { generation: served.revisions.generation, fingerprint };
    server.session.subscribed().insert(uri, subscribed);
    server.session.subscription_added.notify_one();
}

/// Subscribes the session as another replica has.
pub(super) fn add(server: &ConnectionHandler, uri: &str) {
    insert(server, &server.shared_server.snapshot(), uri.to_owned());
}

/// Unsubscribes the session, as it asks or as another replica has.
pub(super) fn remove(server: &ConnectionHandler, uri: &str) {
    let normalized = normalize_uri(uri);
    server.session.subscribed().retain(|subscribed, _| normalize_uri(subscribed) != normalized);
}

/// Tells a session that all it hears of may have changed, as it may have missed something.
pub(crate) async fn announce_everything(server: &ConnectionHandler) {
    let Some(NegotiatedSession { capabilities, .. }) = server.session.negotiated() else { return };
    for kind in LIST_KINDS.into_iter().filter(|kind| capabilities.has(capability_of(*kind))) {
        server.peer.notify(list_changed(kind)).await;
    }
    let subscribed: Vec<String> = server.session.subscribed().keys().cloned().collect();
    let served = server.shared_server.snapshot();
    for uri in subscribed {
        if served.catalog.sees_resource(&uri, &server.session.access()) {
            server.peer.notify(resource_updated(uri)).await;
        }
    }
}

/// No longer watches a resource for the session, under whichever of its URIs it was subscribed to.
pub(crate) async fn unsubscribe(
    server: &ConnectionHandler,
    uri: String,
    request: &McpRequest,
) -> Result<(), ErrorData> {
    if !request.snapshot.change_capabilities.updates {
        return Err(error::unknown_method("resources/unsubscribe"));
    }
    server.keep_session_change(SessionChange::Unsubscribed(uri.clone()), request).await?;
    remove(server, &uri);
    Ok(())
}

/// Starts to notify a session of changes, including those since `initialize`.
pub(crate) fn start_change_notifications(server: &ConnectionHandler) {
    let notifies = server.shared_server.snapshot().change_capabilities.any();
    if server.session.negotiated().is_none() || !notifies || !server.session.start_notifying() {
        return;
    }
    let (session, peer) = (server.session.clone(), server.peer.clone());
    let served = server.shared_server.subscribe();
    let (disconnected, stop) = (server.disconnected.clone(), server.stop.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = disconnected.cancelled() => {}
            () = stop.cancelled() => {}
            () = notify_session(&session, &peer, served) => {}
        }
    });
}

/// Ends with the server.
async fn notify_session(session: &Session, peer: &Peer, mut snapshots: watch::Receiver<Arc<CatalogSnapshot>>) {
    let Some(NegotiatedSession { capabilities, revisions, .. }) = session.negotiated() else { return };
    let mut known = KnownLists { revisions: *revisions, visible: [None; 3] };
    let mut last_log = None;
    loop {
        let served = snapshots.borrow_and_update().clone();
        if capabilities.has(CapabilityKind::Logging) {
            notify_log(session, peer, &served, &mut last_log).await;
        }
        for kind in known.advance(&served, &session.access()) {
            if capabilities.has(capability_of(kind)) {
                peer.notify(list_changed(kind)).await;
            }
        }
        notify_updated_resources(session, peer, &served).await;
        drop(served);
        tokio::select! {
            changed = snapshots.changed() => if changed.is_err() { return },
            () = session.subscription_added.notified() => {}
        }
    }
}

/// The lists as a client last heard of them.
struct KnownLists {
    revisions: Revisions,
    /// What its caller saw of each, as far as that is known and depends on who calls.
    visible: [Option<u64>; 3],
}

const LIST_KINDS: [ListKind; 3] = [ListKind::Tools, ListKind::Prompts, ListKind::Resources];

impl KnownLists {
    fn new(served: &CatalogSnapshot, access: &AccessControl) -> KnownLists {
        let visible = LIST_KINDS.map(|kind| list_pages::visible_digest(served, kind, access));
        KnownLists { revisions: served.revisions, visible }
    }

    /// Those that are other to this caller now. Nobody hears of a change that is hidden.
    fn advance(&mut self, served: &CatalogSnapshot, access: &AccessControl) -> Vec<ListKind> {
        let before = std::mem::replace(self, KnownLists::new(served, access));
        let (old, new) = (before.revisions, self.revisions);
        let changed = [old.tools != new.tools, old.prompts != new.prompts, old.resources != new.resources];
        let seen = before.visible.iter().zip(&self.visible).map(|(old, new)| old.is_none() || old != new);
        let is_announced = old.announced != new.announced;
        let all = LIST_KINDS.into_iter().zip(changed).zip(seen);
        all.filter(|((_, is_changed), is_seen)| *is_changed && (*is_seen || is_announced))
            .map(|((kind, _), _)| kind)
            .collect()
    }
}

fn capability_of(kind: ListKind) -> CapabilityKind {
    match kind {
        ListKind::Tools => CapabilityKind::Tools,
        ListKind::Prompts => CapabilityKind::Prompts,
        ListKind::Resources => CapabilityKind::Resources,
    }
}

fn is_wanted(kind: ListKind, filter: &SubscriptionFilter) -> bool {
    let wanted = match kind {
        ListKind::Tools => filter.tools_list_changed,
        ListKind::Prompts => filter.prompts_list_changed,
        ListKind::Resources => filter.resources_list_changed,
    };
    wanted == Some(true)
}

fn list_changed(kind: ListKind) -> ServerNotification {
    match kind {
        ListKind::Tools => ToolListChangedNotification::default().into(),
        ListKind::Prompts => PromptListChangedNotification::default().into(),
        ListKind::Resources => ResourceListChangedNotification::default().into(),
    }
}

/// Sends the message for every session, once.
async fn notify_log(session: &Session, peer: &Peer, served: &CatalogSnapshot, last: &mut Option<u64>) {
    let Some(log) = &served.last_log else { return };
    if last.replace(log.number) == Some(log.number) || log.level < session.log_level() {
        return;
    }
    let level = log_level::level_to_protocol(log.level);
    let params = LoggingMessageNotificationParam::new(level, log.text.clone().into()).with_logger("folio".to_owned());
    peer.notify(LoggingMessageNotification::new(params)).await;
}

async fn notify_updated_resources(session: &Session, peer: &Peer, served: &CatalogSnapshot) {
    let generation = served.revisions.generation;
    let stale: Vec<_> = session
        .subscribed()
        .iter()
        .filter(|(_, subscribed)| subscribed.generation < generation)
        .map(|(uri, subscribed)| (uri.clone(), subscribed.fingerprint))
        .collect();
    for (uri, before) in stale {
        let fingerprint = served.fingerprint(&uri);
        let wanted = match session.subscribed().get_mut(&uri) {
            Some(subscribed) => {
                *subscribed = SubscribedResource { generation, fingerprint };
                true
            }
            None => false,
        };
        // A reload may have hidden it.
        if wanted && fingerprint != before && served.catalog.sees_resource(&uri, &session.access()) {
            peer.notify(resource_updated(uri)).await;
        }
    }
}

fn resource_updated(uri: String) -> ResourceUpdatedNotification {
    ResourceUpdatedNotification::new(ResourceUpdatedNotificationParam::new(uri))
}

/// Notifies a stream of changes until the client or the server ends it (basic/utilities/subscriptions).
///
/// What it compares with is noted before anything is awaited: no change after the arrival of the request is lost.
pub(crate) async fn listen(
    server: &ConnectionHandler,
    requested: SubscriptionFilter,
    request: &McpRequest,
) -> Result<Bytes, ErrorData> {
    let mut snapshots = server.shared_server.subscribe();
    let served = snapshots.borrow_and_update().clone();
    if !served.change_capabilities.any() {
        return Err(error::unknown_method("subscriptions/listen"));
    }
    let stream = SubscriptionStream::open(server, &requested, &served, request);
    tokio::select! {
        biased;
        () = request.cancel.cancelled() => {}
        () = server.stop.cancelled() => {}
        () = stream.run(snapshots) => {}
    }
    let mut result = SubscriptionsListenResult::complete(request.id.clone());
    result.meta.set_server_info(served.config.server_info.clone());
    version_keys::to_json(ResultNotes::default(), &result, SpecVersion::NEWEST, &[])
}

/// A stream of changes.
struct SubscriptionStream<'a> {
    peer: &'a Peer,
    id: &'a RequestId,
    accepted: SubscriptionFilter,
    /// Who listens.
    access: &'a AccessControl,
    lists: KnownLists,
    /// Those of the accepted resources, in their order.
    fingerprints: Vec<Option<u64>>,
}

impl<'a> SubscriptionStream<'a> {
    /// Accepts what is declared. Too many resources become none, which the acknowledgement shows.
    fn open(
        server: &'a ConnectionHandler,
        requested: &SubscriptionFilter,
        served: &CatalogSnapshot,
        request: &'a McpRequest,
    ) -> SubscriptionStream<'a> {
        let uris = watchable_uris(requested);
        let call = server.call_context(request, &request.cancel);
        let may_read = |uri: &String| check_subscription(served, uri, &call).is_ok();
        let mut candidate = requested.clone();
        candidate.resource_subscriptions = candidate.resource_subscriptions.filter(|wanted| wanted.len() == uris.len());
        candidate.resource_subscriptions.iter_mut().for_each(|uris| uris.retain(may_read));
        let accepted =
            requested.intersection(&candidate).intersection(&requested.supported_by(&served.config.capabilities));
        let uris = accepted.resource_subscriptions.iter().flatten();
        let fingerprints = uris.map(|uri| served.fingerprint(uri)).collect();
        let (access, lists) = (&request.access, KnownLists::new(served, &request.access));
        SubscriptionStream { peer: &server.peer, id: &request.id, accepted, access, lists, fingerprints }
    }

    /// Acknowledges the subscription, and sends changes. It never ends.
    async fn run(mut self, mut snapshots: watch::Receiver<Arc<CatalogSnapshot>>) {
        let params = SubscriptionsAcknowledgedNotificationParams::new(self.accepted.clone());
        self.send(SubscriptionsAcknowledgedNotification::new(params)).await;
        // Files are only checked with a new catalog, so one that is being written is announced once.
        while snapshots.changed().await.is_ok() {
            let served = snapshots.borrow_and_update().clone();
            for kind in self.lists.advance(&served, self.access) {
                if is_wanted(kind, &self.accepted) {
                    self.send(list_changed(kind)).await;
                }
            }
            let uris = self.accepted.resource_subscriptions.clone().unwrap_or_default();
            for (uri, nth) in uris.into_iter().zip(0..) {
                let now = served.fingerprint(&uri);
                let before = self.fingerprints.get_mut(nth).map(|print| std::mem::replace(print, now));
                if before != Some(now) && served.catalog.sees_resource(&uri, self.access) {
                    self.send(resource_updated(uri)).await;
                }
            }
        }
        std::future::pending().await
    }

    async fn send(&self, notification: impl Into<ServerNotification>) {
        let mut notification = notification.into();
        notification.get_meta_mut().set_subscription_id(self.id.clone());
        self.peer.notify(notification).await;
    }
}

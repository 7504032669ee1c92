//! Change notifications: unsolicited in sessions, on subscription streams in 2026-07-28.
//!
//! One task notifies one session. It compares the served state with the last one that it sent, so changes that occur
//! while the peer is slow are sent once, and none is lost.

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{ErrorData, LoggingMessageNotificationParam, ResourceUpdatedNotificationParam, SubscriptionFilter},
    service::{Peer, RequestContext, ServiceError, SubscriptionContext, SubscriptionSink},
};
use tokio::sync::watch;

use crate::uri::normalize_uri;

use super::{
    ConnectionHandler, SubscriptionBaseline,
    capability::CapabilityKind,
    error, log_level,
    session::{NegotiatedSession, Session, SubscribedResource},
    snapshot::{CatalogSnapshot, Revisions},
};

/// How many resources a session or a stream may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 1000;

/// How long the URIs of those may be in all.
const MAX_SUBSCRIPTION_BYTES: usize = 128 * 1024;

/// The resources of a stream: all that it requests, or none if there are too many.
pub(crate) fn watchable_uris(requested: &SubscriptionFilter) -> &[String] {
    let uris = requested.resource_subscriptions.as_deref().unwrap_or_default();
    let bytes: usize = uris.iter().map(String::len).sum();
    if uris.len() <= MAX_SUBSCRIPTIONS && bytes <= MAX_SUBSCRIPTION_BYTES { uris } else { &[] }
}

/// Subscribes the session to a resource; an unknown one is not an error, since it may appear.
pub(crate) async fn subscribe(
    server: &ConnectionHandler,
    uri: String,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let served = server.admit(CapabilityKind::Resources, context)?.snapshot;
    if !served.change_capabilities.updates {
        return Err(error::unknown_method("resources/subscribe"));
    }
    let fingerprint = served.fingerprint(&uri);
    let mut subscribed = server.session.subscribed();
    if subscribed.len() >= MAX_SUBSCRIPTIONS && !subscribed.contains_key(&uri) {
        let message = format!("too many subscriptions (limit {MAX_SUBSCRIPTIONS}); unsubscribe from some first");
        return Err(ErrorData::invalid_params(message, None));
    }
    let bytes: usize = subscribed.keys().map(String::len).sum();
    if bytes + uri.len() > MAX_SUBSCRIPTION_BYTES && !subscribed.contains_key(&uri) {
        let max_kib = MAX_SUBSCRIPTION_BYTES / 1024;
        let message =
            format!("subscribed URIs are too long (limit {max_kib} KiB in total); unsubscribe from some first");
        return Err(ErrorData::invalid_params(message, None));
    }
    subscribed.insert(uri, SubscribedResource { generation: served.revisions.generation, fingerprint });
    drop(subscribed);
    server.session.subscription_added.notify_one();
    Ok(())
}

/// No longer watches a resource for the session, under whichever of its URIs it was subscribed to.
pub(crate) fn unsubscribe(
    server: &ConnectionHandler,
    uri: &str,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    if !server.admit(CapabilityKind::Resources, context)?.snapshot.change_capabilities.updates {
        return Err(error::unknown_method("resources/unsubscribe"));
    }
    let normalized = normalize_uri(uri);
    server.session.subscribed().retain(|subscribed, _| normalize_uri(subscribed) != normalized);
    Ok(())
}

/// Starts to notify a session of changes, including those since `initialize`.
pub(crate) fn start_change_notifications(server: &ConnectionHandler, peer: Peer<RoleServer>) {
    let notifies = server.shared_server.snapshot().change_capabilities.any();
    if server.session.negotiated().is_none() || !notifies || !server.session.start_notifying() {
        return;
    }
    let (session, served) = (server.session.clone(), server.shared_server.subscribe());
    let (disconnected, stop) = (server.disconnected.clone(), server.stop.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = disconnected.cancelled() => {}
            () = stop.cancelled() => {}
            _ = notify_session(&session, &peer, served) => {}
        }
    });
}

/// Ends when the peer can no longer be reached.
async fn notify_session(
    session: &Session,
    peer: &Peer<RoleServer>,
    mut snapshots: watch::Receiver<Arc<CatalogSnapshot>>,
) -> Result<(), ServiceError> {
    let Some(NegotiatedSession { capabilities, revisions, .. }) = session.negotiated() else { return Ok(()) };
    let mut last_sent = *revisions;
    let mut last_log = None;
    loop {
        let served = snapshots.borrow_and_update().clone();
        if capabilities.has(CapabilityKind::Logging) {
            notify_log(session, peer, &served, &mut last_log).await?;
        }
        if served.revisions.tools != last_sent.tools && capabilities.has(CapabilityKind::Tools) {
            peer.notify_tool_list_changed().await?;
        }
        if served.revisions.prompts != last_sent.prompts && capabilities.has(CapabilityKind::Prompts) {
            peer.notify_prompt_list_changed().await?;
        }
        if served.revisions.resources != last_sent.resources && capabilities.has(CapabilityKind::Resources) {
            peer.notify_resource_list_changed().await?;
        }
        last_sent = served.revisions;
        notify_updated_resources(session, peer, &served).await?;
        drop(served);
        tokio::select! {
            changed = snapshots.changed() => if changed.is_err() { return Ok(()) },
            () = session.subscription_added.notified() => {}
        }
    }
}

/// Sends the message for every session, once.
async fn notify_log(
    session: &Session,
    peer: &Peer<RoleServer>,
    served: &CatalogSnapshot,
    last: &mut Option<u64>,
) -> Result<(), ServiceError> {
    let Some(log) = &served.last_log else { return Ok(()) };
    if last.replace(log.number) == Some(log.number) || log.level < session.log_level() {
        return Ok(());
    }
    let level = log_level::level_to_protocol(log.level);
    let params = LoggingMessageNotificationParam::new(level, log.text.clone().into()).with_logger("folio".to_owned());
    peer.notify_logging_message(params).await
}

async fn notify_updated_resources(
    session: &Session,
    peer: &Peer<RoleServer>,
    served: &CatalogSnapshot,
) -> Result<(), ServiceError> {
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
        if wanted && fingerprint != before {
            peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
        }
    }
    Ok(())
}

/// The filter that a stream is accepted with; rmcp keeps what is declared. Too many resources become none, which the
/// acknowledgement shows.
pub(crate) fn accept_filter(server: &ConnectionHandler, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
    let served = server.shared_server.snapshot();
    if !served.change_capabilities.any() {
        return None;
    }
    let uris = watchable_uris(requested);
    if !server.outlives_request && served.capabilities.has(CapabilityKind::Resources) {
        let fingerprints = uris.iter().map(|uri| (uri.clone(), served.fingerprint(uri)));
        server.session.accepted_fingerprints().extend(fingerprints);
    }
    let mut accepted = requested.clone();
    accepted.resource_subscriptions = accepted.resource_subscriptions.filter(|wanted| wanted.len() == uris.len());
    Some(accepted)
}

/// Notifies a stream of changes until the client or the server ends it.
pub(crate) async fn listen(server: &ConnectionHandler, context: SubscriptionContext) -> Result<(), ErrorData> {
    let baseline = context.request_context().extensions.get::<SubscriptionBaseline>().cloned();
    let snapshots = server.shared_server.subscribe();
    tokio::select! {
        biased;
        () = context.cancelled() => {}
        () = server.stop.cancelled() => {}
        () = notify_stream(context.sink(), server, snapshots, baseline) => {}
    }
    Ok(())
}

/// The sink drops notifications that were not requested, and reports that as an error, which is ignored.
async fn notify_stream(
    sink: &SubscriptionSink,
    server: &ConnectionHandler,
    mut snapshots: watch::Receiver<Arc<CatalogSnapshot>>,
    baseline: Option<SubscriptionBaseline>,
) {
    let uris = sink.accepted().resource_subscriptions.clone().unwrap_or_default();
    let served = snapshots.borrow_and_update().clone();
    let mut last_sent = baseline.as_ref().map_or(server.initial, |baseline| baseline.revisions);
    let mut fingerprints = match baseline.filter(|baseline| baseline.fingerprints.len() == uris.len()) {
        Some(baseline) => baseline.fingerprints.to_vec(),
        None => take_accepted_fingerprints(&uris, &server.session, &served),
    };
    // Contents before the replacement are unknown, so every resource is announced.
    if served.revisions.generation != last_sent.generation {
        for (uri, fingerprint) in uris.iter().zip(&mut fingerprints) {
            *fingerprint = served.fingerprint(uri);
            let _ = sink.notify_resource_updated(uri.clone()).await;
        }
    }
    notify_list_changes(sink, &served, &mut last_sent).await;
    drop(served);
    // Files are only checked with a new catalog, so one that is being written is announced once.
    while snapshots.changed().await.is_ok() {
        let served = snapshots.borrow_and_update().clone();
        notify_list_changes(sink, &served, &mut last_sent).await;
        for (uri, fingerprint) in uris.iter().zip(&mut fingerprints) {
            let now = served.fingerprint(uri);
            if std::mem::replace(fingerprint, now) != now {
                let _ = sink.notify_resource_updated(uri.clone()).await;
            }
        }
    }
    std::future::pending().await
}

/// What the resources were when the stream was acknowledged.
fn take_accepted_fingerprints(uris: &[String], session: &Session, served: &CatalogSnapshot) -> Vec<Option<u64>> {
    let mut accepted = session.accepted_fingerprints();
    uris.iter().map(|uri| accepted.remove(uri).unwrap_or_else(|| served.fingerprint(uri))).collect()
}

async fn notify_list_changes(sink: &SubscriptionSink, served: &CatalogSnapshot, last_sent: &mut Revisions) {
    if served.revisions.tools != last_sent.tools {
        let _ = sink.notify_tool_list_changed().await;
    }
    if served.revisions.prompts != last_sent.prompts {
        let _ = sink.notify_prompt_list_changed().await;
    }
    if served.revisions.resources != last_sent.resources {
        let _ = sink.notify_resource_list_changed().await;
    }
    *last_sent = served.revisions;
}

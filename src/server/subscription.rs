//! Word of changes: unsolicited to sessions, on the streams that they opened to clients of 2026-07-28.
//!
//! One task tells one session. It compares what is served with what it told last, so changes that come while the
//! peer is slow are told once, and none is lost.

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{ErrorData, ResourceUpdatedNotificationParam, SubscriptionFilter},
    service::{Peer, RequestContext, ServiceError, SubscriptionContext, SubscriptionSink},
};
use tokio::sync::watch;

use super::{
    ConnectionHandler, SubscriptionStamp,
    capability::CapabilityKind,
    error,
    session::{NegotiatedSession, Session, SubscribedResource},
    snapshot::{CatalogSnapshot, Revisions},
};

/// How many resources a session or a stream may be told of.
const MAX_SUBSCRIPTIONS: usize = 1000;

/// How long the URIs of those may be in all.
const MAX_SUBSCRIPTION_BYTES: usize = 128 * 1024;

/// The resources that a stream is told of: as many as it wants, or none.
pub(crate) fn watchable_uris(requested: &SubscriptionFilter) -> &[String] {
    let uris = requested.resource_subscriptions.as_deref().unwrap_or_default();
    let bytes: usize = uris.iter().map(String::len).sum();
    if uris.len() <= MAX_SUBSCRIPTIONS && bytes <= MAX_SUBSCRIPTION_BYTES { uris } else { &[] }
}

/// Watches a resource for the session. One that nobody answers may come to be, so it is no error.
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
    let mut watched = server.session.subscribed();
    if watched.len() >= MAX_SUBSCRIPTIONS && !watched.contains_key(&uri) {
        let message = format!("too many subscriptions (limit {MAX_SUBSCRIPTIONS}); unsubscribe from some first");
        return Err(ErrorData::invalid_params(message, None));
    }
    let bytes: usize = watched.keys().map(String::len).sum();
    if bytes + uri.len() > MAX_SUBSCRIPTION_BYTES && !watched.contains_key(&uri) {
        let max_kib = MAX_SUBSCRIPTION_BYTES / 1024;
        let message =
            format!("subscribed URIs are too long (limit {max_kib} KiB in total); unsubscribe from some first");
        return Err(ErrorData::invalid_params(message, None));
    }
    watched.insert(uri, SubscribedResource { generation: served.revisions.generation, fingerprint });
    drop(watched);
    server.session.subscription_added.notify_one();
    Ok(())
}

/// No longer watches a resource for the session.
pub(crate) fn unsubscribe(
    server: &ConnectionHandler,
    uri: &str,
    context: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    if !server.admit(CapabilityKind::Resources, context)?.snapshot.change_capabilities.updates {
        return Err(error::unknown_method("resources/unsubscribe"));
    }
    server.session.subscribed().remove(uri);
    Ok(())
}

/// Begins to tell a session of changes, now that it is ready for them. What changed since `initialize` is due.
pub(crate) fn announce(server: &ConnectionHandler, peer: Peer<RoleServer>) {
    let promised = server.live.snapshot().change_capabilities.any();
    if server.session.negotiated().is_none() || !promised || !server.session.start_announcing() {
        return;
    }
    let (session, served) = (server.session.clone(), server.live.subscribe());
    let (gone, closing) = (server.disconnected.clone(), server.live.shutdown_token());
    tokio::spawn(async move {
        tokio::select! {
            () = gone.cancelled() => {}
            () = closing.cancelled() => {}
            _ = notify_session(&session, &peer, served) => {}
        }
    });
}

/// Ends when the peer can no longer be reached.
async fn notify_session(
    session: &Session,
    peer: &Peer<RoleServer>,
    mut live: watch::Receiver<Arc<CatalogSnapshot>>,
) -> Result<(), ServiceError> {
    let Some(NegotiatedSession { capabilities, revisions, .. }) = session.negotiated() else { return Ok(()) };
    let mut told = *revisions;
    loop {
        let served = live.borrow_and_update().clone();
        if served.revisions.tools != told.tools && capabilities.has(CapabilityKind::Tools) {
            peer.notify_tool_list_changed().await?;
        }
        if served.revisions.prompts != told.prompts && capabilities.has(CapabilityKind::Prompts) {
            peer.notify_prompt_list_changed().await?;
        }
        if served.revisions.resources != told.resources && capabilities.has(CapabilityKind::Resources) {
            peer.notify_resource_list_changed().await?;
        }
        told = served.revisions;
        notify_updated_resources(session, peer, &served).await?;
        drop(served);
        tokio::select! {
            changed = live.changed() => if changed.is_err() { return Ok(()) },
            () = session.subscription_added.notified() => {}
        }
    }
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
        .filter(|(_, watched)| watched.generation < generation)
        .map(|(uri, watched)| (uri.clone(), watched.fingerprint))
        .collect();
    for (uri, before) in stale {
        let fingerprint = served.fingerprint(&uri);
        let wanted = match session.subscribed().get_mut(&uri) {
            Some(watched) => {
                *watched = SubscribedResource { generation, fingerprint };
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

/// Says what a stream may be opened for; rmcp leaves of it what is declared. More resources than can be watched
/// are none: the acknowledgement shows it.
pub(crate) fn accept_filter(server: &ConnectionHandler, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
    let served = server.live.snapshot();
    if !served.change_capabilities.any() {
        return None;
    }
    let uris = watchable_uris(requested);
    if !server.is_stamped && served.capabilities.has(CapabilityKind::Resources) {
        let fingerprints = uris.iter().map(|uri| (uri.clone(), served.fingerprint(uri)));
        server.session.accepted_fingerprints().extend(fingerprints);
    }
    let mut accepted = requested.clone();
    accepted.resource_subscriptions = accepted.resource_subscriptions.filter(|wanted| wanted.len() == uris.len());
    Some(accepted)
}

/// Tells a stream of changes until its client, or the server, has enough.
pub(crate) async fn listen(server: &ConnectionHandler, context: SubscriptionContext) -> Result<(), ErrorData> {
    let stamp = context.request_context().extensions.get::<SubscriptionStamp>().cloned();
    let closing = server.live.shutdown_token();
    let live = server.live.subscribe();
    tokio::select! {
        biased;
        () = context.cancelled() => {}
        () = closing.cancelled() => {}
        () = notify_stream((context.sink(), server), live, stamp) => {}
    }
    Ok(())
}

/// The sink lets pass only what was asked for, and says so by an error that is none.
async fn notify_stream(
    (sink, server): (&SubscriptionSink, &ConnectionHandler),
    mut live: watch::Receiver<Arc<CatalogSnapshot>>,
    stamp: Option<SubscriptionStamp>,
) {
    let uris = sink.accepted().resource_subscriptions.clone().unwrap_or_default();
    let served = live.borrow_and_update().clone();
    let mut told = stamp.as_ref().map_or(server.initial, |stamp| stamp.revisions);
    let mut fingerprints = match stamp.filter(|stamp| stamp.fingerprints.len() == uris.len()) {
        Some(stamp) => stamp.fingerprints.to_vec(),
        None => take_accepted_fingerprints(&uris, &server.session, &served),
    };
    // What was read before the catalog was replaced cannot be told from what is there now.
    if served.revisions.generation != told.generation {
        for (uri, fingerprint) in uris.iter().zip(&mut fingerprints) {
            *fingerprint = served.fingerprint(uri);
            let _ = sink.notify_resource_updated(uri.clone()).await;
        }
    }
    notify_list_changes(sink, &served, &mut told).await;
    drop(served);
    // Files are looked at when a catalog comes, not before: one that is being written is told of once.
    while live.changed().await.is_ok() {
        let served = live.borrow_and_update().clone();
        notify_list_changes(sink, &served, &mut told).await;
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

async fn notify_list_changes(sink: &SubscriptionSink, served: &CatalogSnapshot, told: &mut Revisions) {
    if served.revisions.tools != told.tools {
        let _ = sink.notify_tool_list_changed().await;
    }
    if served.revisions.prompts != told.prompts {
        let _ = sink.notify_prompt_list_changed().await;
    }
    if served.revisions.resources != told.resources {
        let _ = sink.notify_resource_list_changed().await;
    }
    *told = served.revisions;
}

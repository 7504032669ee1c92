//! Joins the replicas of a server by the store that they share.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::task::JoinSet;

use super::args::ServeArgs;
use super::{LoadedServer, state_keys};
use crate::catalog::{ServingMode, StoreSettings};
use crate::server::SharedServer;
use crate::store::{RedisStore, RedisUrl};

/// How long a start waits for the store.
const CONNECTION_WAIT: Duration = Duration::from_secs(2);

/// Shares with other replicas what they must, where the manifest names a store. What is returned keeps up with them.
pub(super) async fn join(
    arguments: &ServeArgs,
    server: &LoadedServer,
    shared_server: &SharedServer,
) -> anyhow::Result<JoinSet<()>> {
    let settings = server.catalog.operation_settings().store.as_ref();
    let store = match settings {
        Some(StoreSettings { url, prefix }) => {
            ensure!(
                !server.state_keys.is_empty(),
                "`store` needs a state key that all replicas have: set FOLIO_STATE_KEY or `--state-key-file`"
            );
            let url = RedisUrl::parse(url).context("the variable of `store.redis`")?;
            Some(Arc::new(RedisStore::start(&url, prefix, &server.state_keys)?))
        }
        None => None,
    };
    let mut tasks = JoinSet::new();
    if let Some(path) = &arguments.state_key_file {
        let (shared_server, store) = (shared_server.clone(), store.clone());
        tasks.spawn(state_keys::follow(path.clone(), server.state_keys.clone(), move |keys| {
            shared_server.set_state_keys(keys);
            store.iter().for_each(|store| store.replace_secrets(keys));
            shared_server.keep_again();
        }));
    }
    let Some(store) = store else { return Ok(tasks) };
    // Whoever asks a replica that takes requests finds it connected, unless the store is away.
    if matches!(server.serving_mode, ServingMode::Http(_)) {
        store.wait_for_connection(CONNECTION_WAIT).await;
    }
    shared_server.set_store(store);
    let following = shared_server.clone();
    tasks.spawn(async move { following.follow_replicas().await });
    Ok(tasks)
}

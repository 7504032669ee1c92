//! The signals that end a command which runs until then.

use std::io::{self, IsTerminal};

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancels `stop` on SIGTERM and SIGINT, and `stop_now` on the second of them. To be called in a runtime.
///
/// # Errors
/// The system refuses a handler.
pub(crate) fn stop_on_signals(stop: CancellationToken, stop_now: CancellationToken) -> anyhow::Result<()> {
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    tokio::spawn(async move {
        for stop in [stop, stop_now] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            stop.cancel();
        }
    });
    Ok(())
}

/// Cancels `stop` when the terminal on stdin is closed. Other SIGHUPs are for the watcher. To be called in a runtime.
///
/// # Errors
/// The system refuses a handler.
pub(crate) fn stop_with_terminal(stop: CancellationToken) -> anyhow::Result<()> {
    let mut hangup = listen(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() && io::stdin().is_terminal() {}
        stop.cancel();
    });
    Ok(())
}

fn listen(kind: SignalKind) -> anyhow::Result<Signal> {
    signal(kind).context("could not listen for signals")
}

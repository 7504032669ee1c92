//! `stream`: the output of a program while it runs.

use std::pin::pin;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::action::{McpClient, ProgressUpdate};
use crate::world::LatestLine;

/// How long to wait between two messages.
const MIN_REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Where output goes while its program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StreamTarget {
    /// The latest line of stdout is the message of a progress notification, at most ten times a second. The last line
    /// always is.
    Progress,
}

/// Runs a program, and reports its lines to the client as they come.
pub(super) async fn report_lines<T>(
    latest: &LatestLine,
    client: &dyn McpClient,
    program: impl Future<Output = T> + Send,
) -> T {
    let mut reported = None;
    let mut program = pin!(program);
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut program => break ended,
            () = latest.changed() => {}
        }
        // A report that is given up may have been sent, or not.
        let mut sending = pin!(report(latest, client, &mut reported));
        tokio::select! {
            biased;
            () = &mut sending => {}
            ended = &mut program => {
                sending.await;
                break ended;
            }
        }
        tokio::select! {
            biased;
            ended = &mut program => break ended,
            () = tokio::time::sleep(MIN_REPORT_INTERVAL) => {}
        }
    };
    latest.complete();
    report(latest, client, &mut reported).await;
    ended
}

/// Reports the latest line, unless it is the one that was reported last.
async fn report(latest: &LatestLine, client: &dyn McpClient, reported: &mut Option<String>) {
    let Some(line) = latest.get().filter(|line| reported.as_ref() != Some(line)) else { return };
    client.progress(ProgressUpdate { progress: None, total: None, message: Some(line.clone()) }).await;
    *reported = Some(line);
}

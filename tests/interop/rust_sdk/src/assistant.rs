//! `assistant`: what a client is asked and told while a tool runs, and calls that are given up.

use std::fs;

use rmcp::ServiceError;
use serde_json::{Value, json};

use crate::check::{Outcome, check, same, until};
use crate::peer::Peer;
use crate::served::{Example, lives};

pub async fn session(peer: &mut Peer, example: &Example) -> Outcome {
    peer.set_level().await?;
    let answer = peer.text("summarize-meeting", json!({ "meeting": "kick-off" })).await?;
    same("a tool that asks the client's model", answer, json!(["# kick-off\n\nIn short.\n", false]))?;
    let minutes = example.read("minutes/kick-off.md")?;
    let asked = peer.heard().asked.clone();
    let text = asked[0]["messages"][0]["content"]["text"].as_str().unwrap_or_default().trim();
    let seen = json!([asked.len(), asked[0]["maxTokens"], text]);
    same("what its model was asked", seen, json!([1, 400, minutes.trim()]))?;
    let steps = json!([[1.0, 3.0, "Reading the minutes"], [2.0, 3.0, "Asking for a summary"], [3.0, 3.0, "Done"]]);
    peer.until("progress", |heard| heard.progress.len() >= 3).await?;
    same("its words", json!(peer.heard().progress), steps)?;
    peer.until("log messages", |heard| heard.logs.len() >= 2).await?;
    let spoken: Vec<_> = peer.heard().logs.iter().map(|log| json!([log["level"], log["logger"]])).collect();
    same("who spoke", json!(spoken), json!([["debug", "summarize"], ["info", "summarize-meeting"]]))?;
    let folders = peer.text("folders", json!({})).await?;
    same("the client's roots", folders, json!(["file:///home/ada/desk\n", false]))?;

    cancelled(peer).await?;
    abandoned(peer, example).await
}

/// A call that is cancelled by its id, with a reason.
async fn cancelled(peer: &Peer) -> Outcome {
    peer.forget_progress();
    let call = peer.begin("wait", json!({ "seconds": 10 })).await?;
    peer.until("a call is under way", |heard| !heard.progress.is_empty()).await?;
    peer.cancel(call.id.clone()).await?;
    let end = call.await_response().await;
    let holds = matches!(&end, Err(ServiceError::Cancelled { reason: Some(reason) }) if reason == "enough");
    check("it is cancelled", holds, json!(format!("{end:?}")))?;
    let answer = peer.text("wait", json!({ "seconds": 0.01 })).await?;
    same("and the next is answered", answer, json!(["Waited 0.01 s.", false]))
}

/// A call that is dropped, as a caller's own deadline does it: the program that it runs ends with it.
async fn abandoned(peer: &mut Peer, example: &Example) -> Outcome {
    let file = example.desk().join("child");
    let script = format!("echo $$ > '{}'; exec sleep 600", file.display());
    peer.listen(&[]).await?;
    example.add_tool(&format!(
        "  linger:\n    description: Linger\n    run: {{ script: {{ shell: sh, text: {} }} }}\n",
        json!(script)
    ))?;
    peer.notice("tools/list_changed", 1).await?;

    let mut child: Option<u32> = None;
    let began = until("a program runs", async || {
        child = fs::read_to_string(&file).ok().and_then(|id| id.strip_suffix('\n')?.parse().ok());
        Ok((child.is_some(), json!(child)))
    });
    tokio::select! {
        answer = peer.call("linger", json!({})) => return Err(format!("it did not linger: {answer:?}").into()),
        began = began => began?,
    }
    let child = child.ok_or("no program runs")?;
    until("it ends with the call that nobody awaits", async || {
        let lives = lives(child).await?;
        Ok((!lives, json!({ "lives": lives })))
    })
    .await?;
    let answer: Value = peer.text("wait", json!({ "seconds": 0.01 })).await?;
    same("and the next is answered", answer, json!(["Waited 0.01 s.", false]))
}

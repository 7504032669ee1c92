//! `hello`: a prompt, and edits of it.

use serde_json::json;

use crate::check::{Outcome, check, same, until};
use crate::peer::{Peer, each, refused};
use crate::served::Example;

pub async fn session(peer: &mut Peer, example: &Example) -> Outcome {
    let prompts = peer.prompts().await?;
    same("prompts/list", json!(each(&prompts, "name")), json!(["greet"]))?;
    same("its argument", json!(prompts[0]["arguments"]), json!([{ "name": "who", "required": true }]))?;
    let messages = peer.get("greet", json!({ "who": "Ada" })).await?;
    let wanted = json!([{ "role": "user", "content": { "type": "text", "text": "Say hello to Ada." } }]);
    same("prompts/get", messages, wanted)?;
    let (code, words) = refused(peer.get("greet", json!({})).await)?;
    check("an argument is missing", code == -32602 && words.contains("who"), json!([code, words]))?;
    let (code, words) = refused(peer.get("gret", json!({ "who": "Ada" })).await)?;
    check("a prompt is unknown", code == -32602 && words.contains("gret"), json!([code, words]))?;

    peer.listen(&[]).await?;
    example.add_prompt()?;
    peer.notice("prompts/list_changed", 1).await?;
    let mut names = each(&peer.prompts().await?, "name");
    names.sort();
    same("the new prompt is listed", json!(names), json!(["farewell", "greet"]))?;
    let messages = peer.get("farewell", json!({})).await?;
    same("and can be got", messages[0]["content"]["text"].clone(), json!("Say goodbye."))?;
    edits(peer, example).await
}

async fn edits(peer: &Peer, example: &Example) -> Outcome {
    example.edit("Say hello to {{who}}.", "Greet {{who}} warmly.")?;
    until("an edit of a text alone is live", async || {
        let text = peer.get("greet", json!({ "who": "Ada" })).await?[0]["content"]["text"].clone();
        Ok((text == "Greet Ada warmly.", text))
    })
    .await?;
    example.edit("Say goodbye,", "Say farewell,")?;
    peer.notice("prompts/list_changed", 2).await?;
    let notices = peer.heard().notices.clone();
    same("and was not announced", json!(notices), json!(["prompts/list_changed", "prompts/list_changed"]))
}

//! `ask-first`: a person who is asked, and says yes, no, or nothing.

use std::fs;

use rmcp::model::{ElicitResult, ElicitationAction};
use serde_json::{Value, json};

use crate::check::{Outcome, check, same};
use crate::peer::Peer;
use crate::served::Example;

fn yes(content: Value) -> ElicitResult {
    ElicitResult::new(ElicitationAction::Accept).with_content(content)
}

pub async fn session(peer: &mut Peer, example: &Example) -> Outcome {
    let note = example.desk().join("plan.txt");
    fs::write(&note, "Buy milk\n")?;
    peer.answers([ElicitResult::new(ElicitationAction::Decline)]);
    let answer = peer.text("delete-note", json!({ "name": "plan" })).await?;
    same("a person says no", json!([answer, note.exists()]), json!([["`plan` is kept.", false], true]))?;
    asked(peer, "what was asked", 1, "It begins: Buy milk")?;
    peer.answers([yes(json!({ "sure": true }))]);
    let answer = peer.text("delete-note", json!({ "name": "plan" })).await?;
    same("a person says yes", json!([answer, note.exists()]), json!([["Deleted `plan`.", false], false]))?;

    peer.answers([yes(json!({ "mail": "ada@desk.example", "role": "editor" })), yes(json!({ "send": true }))]);
    same("two rounds", peer.text("invite", json!({})).await?, json!(["Invited ada@desk.example.", false]))?;
    asked(peer, "the second depends on the first", 4, "ada@desk.example an invitation as editor")?;
    peer.answers([yes(json!({ "mail": "bob@desk.example" })), ElicitResult::new(ElicitationAction::Cancel)]);
    let answer = peer.text("invite", json!({})).await?;
    let text = answer[0].as_str().unwrap_or_default();
    check("the second is cancelled", text.contains("the user cancelled") && answer[1] == true, answer)?;
    let lines = fs::read_to_string(example.desk().join("invited.txt"))?;
    let wanted = "ada@desk.example asked for\nada@desk.example invited\nbob@desk.example asked for\n";
    same("each effect happened once", json!(lines), json!(wanted))
}

/// Checks the last question, and how many there were.
fn asked(peer: &Peer, what: &str, count: usize, words: &str) -> Outcome {
    let asked = peer.heard().asked.clone();
    let last = asked.last().and_then(|question| question["message"].as_str()).unwrap_or_default();
    check(what, asked.len() == count && last.contains(words), json!([asked.len(), last]))
}

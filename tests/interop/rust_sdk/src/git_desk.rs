//! `git-desk`: programs behind prompts, resources and tools, over a repository made for it.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use rmcp::model::Reference;
use serde_json::json;
use tokio::process::Command;

use crate::check::{Outcome, check, same};
use crate::peer::{Peer, each};
use crate::served::Example;

pub async fn session(peer: &mut Peer, example: &Example) -> Outcome {
    let desk = example.desk();
    git(&desk, &["init", "-q", "-b", "main"]).await?;
    fs::write(desk.join("plan.txt"), "Buy milk\n")?;
    git(&desk, &["add", "."]).await?;
    git(&desk, &["commit", "-q", "-m", "Begin"]).await?;

    let tools = each(&peer.tools().await?, "name");
    same("tools/list", json!(tools), json!(["status", "log", "changed-files", "grep", "churn"]))?;
    same("a tool without arguments", peer.text("status", json!({})).await?, json!(["## main\n", false]))?;
    let log = peer.text("log", json!({ "count": 1, "paths": ["plan.txt"] })).await?;
    let text = log[0].as_str().unwrap_or_default();
    check("a tool with a number and a list", text.ends_with(" Ada: Begin") && log[1] == false, log)?;
    let answer = peer.text("log", json!({ "count": 0 })).await?;
    let text = answer[0].as_str().unwrap_or_default();
    check("a number out of bounds", text.contains("count") && answer[1] == true, answer)?;
    fs::write(desk.join("plan.txt"), "Buy hay\n")?;
    let answer = peer.call("changed-files", json!({})).await?;
    let wanted = json!({ "since": "HEAD", "files": ["plan.txt"] });
    same("structured content", answer["structuredContent"].clone(), wanted)?;
    let failed = peer.text("changed-files", json!({ "since": "nowhere" })).await?;
    let text = failed[0].as_str().unwrap_or_default();
    check("a program fails", text.contains("nowhere") && failed[1] == true, failed)?;
    history(peer, &desk).await
}

async fn history(peer: &Peer, desk: &Path) -> Outcome {
    let contents = peer.read("git://HEAD/plan.txt").await?;
    same("a file of a commit", contents[0]["text"].clone(), json!("Buy milk\n"))?;
    let template = || Reference::for_resource("git://{ref}/{+file}");
    same("completion of a branch", peer.complete(template(), ["ref", "ma"], &[]).await?, json!(["main"]))?;
    let files = peer.complete(template(), ["file", ""], &[("ref", "main")]).await?;
    same("of a file, of which the branch is known", files, json!(["plan.txt"]))?;
    git(desk, &["add", "."]).await?;
    let messages = peer.get("commit-staged", json!({})).await?;
    let text = messages[0]["content"]["text"].as_str().unwrap_or_default();
    check("a prompt over what a program says", text.contains("+Buy hay\n"), messages)?;
    let messages = peer.get("review-commit", json!({})).await?;
    let kinds: Vec<_> = messages.as_array().into_iter().flatten().map(|message| &message["content"]["type"]).collect();
    same("a prompt with a commit in it", json!(kinds), json!(["text", "text", "resource", "text"]))
}

/// Runs git as somebody, whatever is set on this machine.
async fn git(desk: &Path, arguments: &[&str]) -> Outcome {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Ada", "-c", "user.email=ada@desk.example", "-c", "commit.gpgsign=false"]);
    let status = command.args(arguments).current_dir(desk).stdin(Stdio::null()).status().await?;
    if status.success() { Ok(()) } else { Err(format!("git {arguments:?}: {status}").into()) }
}

//! `docs`: resources of every kind, completion, a tool, and word of what changes.

use std::collections::BTreeSet;
use std::fs;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::Reference;
use serde_json::{Value, json};

use crate::check::{Outcome, check, same};
use crate::peer::{Peer, each, refused};
use crate::served::Example;

const START: &str = "handbook://guide/start.md";

pub async fn session(peer: &mut Peer, example: &Example) -> Outcome {
    lists(peer).await?;
    reads(peer, example).await?;
    answers(peer, example).await?;
    changes(peer, example).await
}

async fn lists(peer: &Peer) -> Outcome {
    let prompts = each(&peer.prompts().await?, "name");
    check("prompts/list", prompts.iter().any(|name| name == "ask-handbook"), json!(prompts))?;
    let listed = each(&peer.resources().await?, "uri");
    let draft = listed.iter().any(|uri| uri == "handbook://guide/draft-backup.md");
    check("resources/list", listed.iter().any(|uri| uri == START) && !draft, json!(listed))?;
    let templates = each(&peer.templates().await?, "uriTemplate");
    let wanted = ["file:///{path}", "logs://recent{?timeframe}", "term://{name}"];
    let all = wanted.iter().all(|uri| templates.iter().any(|template| template == uri));
    check("resources/templates/list", all, json!(templates))?;
    let tools = peer.tools().await?;
    same("tools/list", json!(each(&tools, "name")), json!(["search-handbook"]))?;
    let schema = &tools[0]["inputSchema"];
    let seen = json!([schema["required"], schema["additionalProperties"]]);
    same("a tool's inputSchema", seen, json!([["text"], false]))
}

async fn reads(peer: &Peer, example: &Example) -> Outcome {
    let page = json!([{ "uri": START, "mimeType": "text/markdown", "text": example.read("guide/start.md")? }]);
    same("resources/read of a file", plain(peer.read(START).await?), page)?;
    let contents = peer.read("handbook-assets://flow.png").await?;
    let blob = BASE64_STANDARD.decode(contents[0]["blob"].as_str().unwrap_or_default())?;
    let bytes = fs::read(example.folder().join("assets/flow.png"))?;
    check("of bytes", blob == bytes, json!([blob.len(), bytes.len()]))?;
    let contents = peer.read("file:///app.py").await?;
    same("of a template over files", contents[0]["text"].clone(), json!(example.read("project/app.py")?))?;
    let uri = "logs://recent?timeframe=24h";
    let contents = peer.read(uri).await?;
    let text = contents[0]["text"].as_str().unwrap_or_default();
    check("of a template over a script", !text.is_empty() && contents[0]["uri"] == uri, contents)?;
    let (code, words) = refused(peer.read("handbook://guide/none.md").await)?;
    check("of what is not there", code == if peer.modern() { -32602 } else { -32002 }, json!([code, words]))
}

/// Contents without what only some of them have.
fn plain(mut contents: Value) -> Value {
    for content in contents.as_array_mut().into_iter().flatten() {
        if let Some(content) = content.as_object_mut() {
            content.retain(|key, _| ["uri", "mimeType", "text"].contains(&key.as_str()));
        }
    }
    contents
}

async fn answers(peer: &Peer, example: &Example) -> Outcome {
    let messages = peer.get("ask-handbook", json!({ "question": "How does it start?" })).await?;
    let embedded = json!([messages[1]["content"]["resource"]["uri"], messages[1]["content"]["resource"]["text"]]);
    same("prompts/get with an embedded resource", embedded, json!([START, example.read("guide/start.md")?]))?;
    let found = peer.text("search-handbook", json!({ "text": "the" })).await?;
    let text = found[0].as_str().unwrap_or_default();
    check("tools/call", text.contains("guide/") && found[1] == false, found)?;
    let answer = peer.text("search-handbook", json!({ "txt": "the" })).await?;
    let text = answer[0].as_str().unwrap_or_default();
    check("tools/call with a wrong argument", text.contains("txt") && answer[1] == true, answer)?;
    let (code, words) = refused(peer.call("serch-handbook", json!({})).await)?;
    check("a tool is unknown", code == -32602 && words.contains("serch-handbook"), json!([code, words]))?;
    let values = peer.complete(Reference::for_prompt("ask-handbook"), ["page", "restart"], &[]).await?;
    let holds = values.as_array().is_some_and(|values| values.contains(&json!("guide/how-to/restart.md")));
    check("completion/complete of a prompt", holds, values)?;
    let values = peer.complete(Reference::for_resource("term://{name}"), ["name", "ten"], &[]).await?;
    same("of a template", values, json!(["tenant"]))
}

/// In 2026-07-28 the SDK keeps what it got for as long as the server allows: only a notice makes it ask anew.
async fn changes(peer: &mut Peer, example: &Example) -> Outcome {
    peer.listen(&[START]).await?;
    example.write("guide/new.md", "# New\n")?;
    peer.notice("resources/list_changed", 1).await?;
    let new = "handbook://guide/new.md";
    let listed = each(&peer.resources().await?, "uri");
    check("the new file is listed", listed.iter().any(|uri| uri == new), json!(listed))?;
    same("and can be read", peer.read(new).await?[0]["text"].clone(), json!("# New\n"))?;
    let page = example.read("guide/start.md")? + "\nMore.\n";
    example.write("guide/start.md", &page)?;
    peer.notice(&format!("resources/updated {START}"), 1).await?;
    same("the changed file", peer.read(START).await?[0]["text"].clone(), json!(page))?;

    let tool = "  count:\n    description: Counts\n    arguments: { upTo: { type: integer, required: true } }\n";
    example.add_tool(&format!("{tool}    result: {{ structuredContent: {{ upTo: \"{{{{upTo}}}}\" }} }}\n"))?;
    peer.notice("tools/list_changed", 1).await?;
    let mut names = each(&peer.tools().await?, "name");
    names.sort();
    same("the new tool is listed", json!(names), json!(["count", "search-handbook"]))?;
    let answer = peer.call("count", json!({ "upTo": 3 })).await?;
    same("and can be called", answer["structuredContent"].clone(), json!({ "upTo": 3 }))?;
    let heard: BTreeSet<String> = peer.heard().notices.iter().cloned().collect();
    let wanted = json!(["resources/list_changed", format!("resources/updated {START}"), "tools/list_changed"]);
    same("no notice but these came", json!(heard), wanted)?;
    peer.listen_no_more(&[START]).await?;
    same("the session goes on", json!(peer.tools().await?.as_array().map(Vec::len)), json!(2))
}

// Shows results: messages by role, texts with what changed marked, pictures, sounds, resources, structured values.

import { element, media, wholeTree } from "/elements.js";
import { diffLines } from "/line_diff.js";
import { markdownView } from "/markdown_view.js";
import { structuredView } from "/structured_view.js";

/** What a block says, to tell whether it changed. */
function blockText(block) {
  const { type } = block;
  if (type === "text") return block.text ?? "";
  if (type === "resource") return block.resource?.text ?? JSON.stringify(block.resource ?? null);
  return JSON.stringify(block);
}

/** A result as a list of parts: who says it, and the block. */
export function partsOf(method, result) {
  if (method === "prompts/get") return (result.messages ?? []).map(({ role, content }) => ({ role, block: content }));
  if (method === "resources/read") {
    return (result.contents ?? []).map((resource) => ({ role: "contents", block: { type: "resource", resource } }));
  }
  return (result.content ?? []).map((block) => ({ role: "content", block }));
}

/** The view of a result; what is new against `previous`, parts of an earlier one, is marked. */
export function resultView(method, result, { previous, rendersMarkdown }) {
  const parts = partsOf(method, result);
  const view = element("div", {});
  if (result.description) view.append(element("p", { class: "description", text: result.description }));
  if (result.isError) view.append(element("p", { class: "error-text", text: "The tool reports an error." }));
  parts.forEach(({ role, block }, index) => {
    const before = previous?.[index]?.block;
    view.append(
      element("div", { class: "message" },
        element("div", { class: "role", text: role }),
        element("div", { class: "body" }, blockView(block, before, { isRenewed: previous !== undefined, rendersMarkdown }))),
    );
  });
  if (previous && previous.length > parts.length) {
    view.append(element("p", { class: "dim", text: `${previous.length - parts.length} fewer than before` }));
  }
  if (result.structuredContent !== undefined) {
    view.append(element("h3", { text: "Structured result" }), structuredView(result.structuredContent));
  }
  if (!view.childElementCount) view.append(element("p", { class: "dim", text: "Nothing." }));
  return view;
}

function blockView(block, before, how) {
  switch (block?.type) {
    case "text":
      return textView(block.text ?? "", before && blockText(before), how);
    case "image":
    case "audio":
      return media(block.mimeType, block.data ?? "");
    case "resource":
      return resourceView(block.resource ?? {}, before?.resource, how);
    case "resource_link":
      return element("div", {},
        element("p", { class: "dim", text: `link to ${block.uri}` }),
        element("p", { text: [block.title ?? block.name, block.mimeType].filter(Boolean).join(" · ") }));
    default:
      return wholeTree(block);
  }
}

function resourceView(resource, before, how) {
  const head = element("p", { class: "dim", text: [resource.uri, resource.mimeType].filter(Boolean).join(" · ") });
  if (resource.blob !== undefined) return element("div", {}, head, media(resource.mimeType, resource.blob, resource.uri));
  const isMarkdown = /^(text\/(markdown|x-markdown)|$)/.test((resource.mimeType ?? "").split(";")[0]);
  const rendersMarkdown = how.rendersMarkdown && isMarkdown;
  return element("div", {}, head, textView(resource.text ?? "", before?.text, { ...how, rendersMarkdown }));
}

/** A text as it is, HTML too, or as Markdown. */
function textView(text, before, { isRenewed, rendersMarkdown }) {
  if (rendersMarkdown) return markdownView(text, isRenewed ? before ?? "" : undefined);
  const view = element("pre", {});
  if (!isRenewed || before === text) {
    view.textContent = text;
    return view;
  }
  for (const { text: line, change } of diffLines(before ?? "", text)) {
    if (change === "same") view.append(`${line}\n`);
    else if (change === "added") view.append(element("mark", {}, line || " "));
    else view.append(element("del", { class: "removed" }, line || " "));
  }
  return view;
}

// A result as a person reads it: messages by role, Markdown, pictures, sounds, tables, trees, with what changed marked.

import { documentView } from "/document_view.js";
import { element, media } from "/elements.js";
import { structuredView } from "/structured_view.js";
import { valueTree } from "/value_tree.js";

/** The largest text that the server is asked to make a view of. */
const MAX_RENDERED = 1 << 20;

/** A result as a list of parts: who says it, and the block. */
export function partsOf(method, result) {
  if (method === "prompts/get") return (result.messages ?? []).map(({ role, content }) => ({ role, block: content }));
  if (method === "resources/read") {
    return (result.contents ?? []).map((resource) => ({ role: "contents", block: { type: "resource", resource } }));
  }
  return (result.content ?? []).map((block) => ({ role: "content", block }));
}

const textOf = (block) => (block?.type === "text" ? block.text ?? "" : block?.type === "resource" ? block.resource?.text : undefined);
const mediaType = ({ resource }) => (resource?.mimeType ?? "").split(";")[0].trim().toLowerCase();

const isSame = (one, other) => other !== undefined && JSON.stringify(one) === JSON.stringify(other);

/** How the text of a block is shown: "markdown", "json" or "text". */
function formOf(block, rendersMarkdown) {
  if (!rendersMarkdown) return "text";
  if (/[/+]json$/.test(mediaType(block)) || /^\s*[[{]/.test(textOf(block) ?? "")) {
    try {
      if (typeof JSON.parse(textOf(block)) === "object") return "json";
    } catch {
      // It only looks like it.
    }
  }
  return block.type === "text" || /^(text\/(x-)?markdown|)$/.test(mediaType(block)) ? "markdown" : "text";
}

/**
 * The view of a result. What is new against `previous`, parts of an earlier one, is marked.
 *
 * @param how.render (items) => Promise of the views of texts
 */
export async function renderedView(method, result, { previous, rendersMarkdown, render }) {
  const parts = partsOf(method, result);
  const items = [];
  const wanted = parts.map(({ block }, at) => {
    const text = textOf(block);
    const form = text === undefined ? undefined : formOf(block, rendersMarkdown);
    const before = previous && (textOf(previous[at]?.block) ?? "");
    const isPlain = form === "text" && (before === undefined || before === text);
    if (text === undefined || form === "json" || isPlain || text.length > MAX_RENDERED) return { form };
    items.push({ text, previous: before, markdown: form === "markdown" });
    return { form, item: items.length - 1 };
  });
  const views = items.length ? await render(items).catch(() => []) : [];
  const view = element("div", { class: "result-parts" });
  if (result.description) view.append(element("p", { class: "dim", text: result.description }));
  if (result.isError) view.append(element("p", { class: "result-error", role: "alert", text: "The tool reports an error." }));
  parts.forEach(({ role, block }, at) => {
    const isRepeated = wanted[at].form === "json" && isSame(JSON.parse(block.text ?? "null"), result.structuredContent);
    view.append(isRepeated ? element("p", { class: "dim", text: `${role}: the structured result as JSON` })
      : messageView(role, blockView(block, wanted[at].form, views[wanted[at].item])));
  });
  if (previous && previous.length > parts.length) {
    view.append(element("p", { class: "dim", text: `${previous.length - parts.length} fewer than before` }));
  }
  if (result.structuredContent !== undefined) view.append(messageView("structured result", structuredView(result.structuredContent)));
  if (!view.childElementCount) view.append(element("p", { class: "dim", text: "Nothing." }));
  return view;
}

const messageView = (role, ...body) =>
  element("div", { class: `message role-${role.replaceAll(" ", "-")}` },
    element("div", { class: "role", text: role }), element("div", { class: "body" }, ...body));

function blockView(block, form, view) {
  switch (block?.type) {
    case "text":
      return textView(block.text ?? "", form, view);
    case "image":
    case "audio":
      return media(block.mimeType, block.data ?? "");
    case "resource":
      return resourceView(block.resource ?? {}, form, view);
    case "resource_link":
      return element("div", {},
        element("p", { text: block.title ?? block.name ?? block.uri }),
        element("p", { class: "dim", text: [block.uri, block.mimeType].filter(Boolean).join(" · ") }));
    default:
      return valueTree(block);
  }
}

function resourceView(resource, form, view) {
  const head = element("p", { class: "result-uri", text: [resource.uri, resource.mimeType].filter(Boolean).join(" · ") });
  const body = resource.blob === undefined ? textView(resource.text ?? "", form, view) : media(resource.mimeType, resource.blob, resource.uri);
  return element("div", {}, head, body);
}

/** A text as the server made a view of it, as a tree where it is JSON, or as it is. */
function textView(text, form, view) {
  if (view?.blocks) return documentView(view.blocks);
  if (view?.lines) return linesView(view.lines);
  return form === "json" ? structuredView(JSON.parse(text)) : element("pre", { class: "text", text });
}

/** The lines of a text, with those that are new or gone. */
function linesView(lines) {
  const view = element("pre", { class: "text" });
  for (const { change, text } of lines) {
    const line = text.replace(/\n$/, "");
    if (change === "same") view.append(`${line}\n`);
    else view.append(element(change === "added" ? "mark" : "del", {}, line || " "));
  }
  return view;
}

/** The places in a view that changed: of neighbours the first. */
export function changesIn(view) {
  const all = [...view.querySelectorAll(".changed, mark, del")];
  return all.filter((one) => !one.previousElementSibling?.matches(".changed, mark, del") || one.previousSibling !== one.previousElementSibling);
}

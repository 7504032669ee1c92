// Elements of the nodes that the server makes of Markdown.

import { element } from "/elements.js";

const TAGS = new Set([
  "p", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "del", "a", "table", "thead", "tbody", "tr", "th", "td", "hr", "br",
]);
const SAFE_LINK = /^(https?|mailto):/i;

/** The view of a document. */
export const documentView = (blocks) => element("div", { class: "markdown" }, ...blocks.map(nodeView));

function nodeView(node) {
  if (typeof node === "string") return node;
  const { tag, children = [], changed } = node;
  const properties = { class: changed ? "changed" : undefined };
  const inner = children.map(nodeView);
  if (tag === "picture") return element("span", { class: "picture" }, `[picture: ${node.alt || "without a name"}]`);
  if (tag === "checkbox") return element("input", { type: "checkbox", disabled: true, checked: node.checked, "aria-label": node.checked ? "done" : "to do" });
  // The page has headings of its own: these have a level, and are no part of its outline.
  const heading = /^h([1-6])$/.exec(tag);
  if (heading) {
    const level = Number(heading[1]);
    return element("div", { ...properties, class: `heading level-${level}${changed ? " changed" : ""}`, role: "heading", "aria-level": Math.min(6, level + 2) }, ...inner);
  }
  if (!TAGS.has(tag)) return element("span", properties, ...inner);
  if (tag === "a") return linkView(node, inner);
  if (tag === "table") return element("div", { class: `wide${changed ? " changed" : ""}`, tabindex: "0", role: "region", "aria-label": "Table" }, element("table", {}, ...inner));
  if (tag === "pre") return element("pre", { class: `code${changed ? " changed" : ""}`, tabindex: "0", "data-language": node.language }, ...inner);
  const align = ["left", "center", "right"].includes(node.align) ? `align-${node.align}` : undefined;
  return element(tag, { ...properties, class: align ?? properties.class, start: tag === "ol" ? node.start : undefined }, ...inner);
}

function linkView({ href }, inner) {
  if (!SAFE_LINK.test(href ?? "")) return element("span", {}, ...inner);
  return element("a", { href, target: "_blank", rel: "noopener noreferrer", title: href }, ...inner);
}

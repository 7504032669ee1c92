// Markdown as elements. Markup in it stays text, pictures are named and not loaded, and only links to the web are links.

import { element } from "/elements.js";

/** What is longer is shown as text. */
const MAX_TEXT = 200_000;
const MAX_PARAGRAPH = 20_000;
const MAX_DEPTH = 8;

/**
 * How each kind of block begins, and the lines that continue it. No pattern has two repetitions side by side that take the
 * same characters, so each takes time in proportion to its line.
 */
const FENCE = /^ {0,3}(`{3,}(?!`)|~{3,}(?!~))[^`]*$/;
const FENCE_END = /^ {0,3}(`+|~+)\s*$/;
const HEADING = /^ {0,3}(#{1,6})(?!\S)/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?:\s+|$)/;

/** Whether a line stands between the head and the rows of a table. */
const isTableRule = (line) => line.trim().replace(/^\||\|$/g, "").split("|").every((cell) => /^:?-+:?$/.test(cell.trim()));

/** A text of Markdown as elements; the blocks that `previous`, an earlier text, has not are marked. */
export function markdownView(text, previous) {
  if (text.length > MAX_TEXT) return element("pre", { text });
  const view = element("div", { class: "markdown" });
  const known = previous === undefined ? undefined : new Set(split(previous).map(({ lines }) => lines.join("\n")));
  for (const block of split(text)) {
    const made = blockView(block, 0);
    if (known && !known.has(block.lines.join("\n"))) view.append(element("div", { class: "changed", role: "mark" }, made));
    else view.append(made);
  }
  return view;
}

/** The blocks of a text, each with its lines. */
function split(text) {
  const lines = text.split(/\r?\n/);
  const blocks = [];
  for (let at = 0; at < lines.length; ) {
    const block = blockAt(lines, at);
    if (block.lines.length && block.kind !== "blank") blocks.push(block);
    at += Math.max(1, block.lines.length);
  }
  return blocks;
}

function blockAt(lines, at) {
  const line = lines[at];
  const while_ = (holds, from = at + 1) => {
    let end = from;
    while (end < lines.length && holds(lines[end])) end += 1;
    return lines.slice(at, end);
  };
  if (!line.trim()) return { kind: "blank", lines: [line] };
  const fence = FENCE.exec(line);
  if (fence) {
    const isEnd = (mark) => mark !== undefined && mark[0] === fence[1][0] && mark.length >= fence[1].length;
    const body = while_((next) => !isEnd(FENCE_END.exec(next)?.[1]));
    const close = lines[at + body.length];
    return { kind: "code", body: body.slice(1), lines: close === undefined ? body : [...body, close] };
  }
  if (HEADING.test(line)) return { kind: "heading", lines: [line] };
  if (RULE.test(line)) return { kind: "rule", lines: [line] };
  if (QUOTE.test(line)) return { kind: "quote", lines: while_((next) => QUOTE.test(next)) };
  if (ITEM.test(line)) return { kind: "list", lines: while_((next) => ITEM.test(next) || /^ {2,}\S/.test(next)) };
  if (line.includes("|") && isTableRule(lines[at + 1] ?? "")) {
    return { kind: "table", lines: while_((next) => next.includes("|")) };
  }
  const isText = (next) => next.trim() && !FENCE.test(next) && !HEADING.test(next) && !QUOTE.test(next) && !RULE.test(next);
  return { kind: "paragraph", lines: while_((next) => isText(next) && !ITEM.test(next)) };
}

function blockView({ kind, lines, body }, depth) {
  switch (kind) {
    case "code":
      return element("pre", { class: "code", text: body.join("\n") });
    case "heading": {
      const [begin, marks] = HEADING.exec(lines[0]);
      const text = lines[0].slice(begin.length).trim().replace(/(^|\s)#+$/, "").trimEnd();
      // The page has headings of its own above those of a text.
      return element("p", { class: `heading level-${marks.length}`, role: "heading", "aria-level": Math.min(6, marks.length + 2) }, inline(text));
    }
    case "rule":
      return element("hr");
    case "quote": {
      const inner = lines.map((line) => line.replace(QUOTE, ""));
      return element("blockquote", {}, nested(inner, depth));
    }
    case "list":
      return listView(lines, depth);
    case "table":
      return tableView(lines);
    default:
      return element("p", {}, inline(lines.map((line) => line.trim()).join("\n")));
  }
}

function nested(lines, depth) {
  if (depth >= MAX_DEPTH) return [element("pre", { text: lines.join("\n") })];
  return split(lines.join("\n")).map((block) => blockView(block, depth + 1));
}

function listView(lines, depth) {
  const [, indent, mark] = ITEM.exec(lines[0]);
  const items = [];
  for (const line of lines) {
    const found = ITEM.exec(line);
    if (found && found[1].length <= indent.length) items.push([line.slice(found[0].length)]);
    else items.at(-1).push(line.slice(Math.min(line.search(/\S/), indent.length + mark.length + 1)));
  }
  const isNumbered = /\d/.test(mark);
  return element(isNumbered ? "ol" : "ul", { start: isNumbered && parseInt(mark, 10) !== 1 ? parseInt(mark, 10) : undefined },
    items.map((item) => element("li", {}, item.length === 1 ? inline(item[0]) : nested(item, depth))));
}

function tableView(lines) {
  const cells = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  const row = (name) => (line) => element("tr", {}, cells(line).map((cell) => element(name, {}, inline(cell))));
  const [head, , ...rows] = lines;
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table" },
    element("table", {}, element("thead", {}, row("th")(head)), element("tbody", {}, rows.map(row("td")))));
}

const INLINE = new RegExp([
  /\\([!-/:-@[-`{-~])/, // 1: an escape
  /`([^`]+)`/, // 2: code
  /!\[([^[\]]*)\]\(([^()\s]*)(?:\s[^()]*)?\)/, // 3, 4: a picture
  /\[([^[\]]+)\]\(([^()\s]*)(?:\s[^()]*)?\)/, // 5, 6: a link
  /\*\*([^*]+)\*\*|__([^_]+)__/, // 7, 8: strong
  /\*([^\s*][^*]*)\*|(?<!\w)_([^\s_][^_]*)_(?!\w)/, // 9, 10: emphasis
  /~~([^~]+)~~/, // 11: struck out
  /<(https?:\/\/[^<>\s]+)>/, // 12: an address
].map(({ source }) => source).join("|"), "g");

/** The texts and elements of a line. */
function inline(text, depth = 0) {
  if (depth >= MAX_DEPTH || text.length > MAX_PARAGRAPH) return [text];
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    parts.push(text.slice(end, found.index), inlineElement(found, depth + 1));
    end = found.index + found[0].length;
  }
  return [...parts, text.slice(end)].filter((part) => part !== "");
}

function inlineElement([whole, escaped, code, picture, source, label, address, ...rest], depth) {
  const [strong, strong2, emphasis, emphasis2, struck, bare] = rest;
  if (escaped !== undefined) return escaped;
  if (code !== undefined) return element("code", { text: code });
  if (picture !== undefined) return element("span", { class: "dim", text: `[picture: ${picture || source}]` });
  if (label !== undefined) return link(whole, address, inline(label, depth));
  if (strong ?? strong2) return element("strong", {}, inline(strong ?? strong2, depth));
  if (emphasis ?? emphasis2) return element("em", {}, inline(emphasis ?? emphasis2, depth));
  if (struck !== undefined) return element("s", {}, inline(struck, depth));
  return link(whole, bare, [bare]);
}

/** A link to the web; any other is shown as it is written. */
function link(written, address, parts) {
  if (!/^https?:\/\/[^\s]+$/i.test(address)) return written;
  return element("a", { href: address, title: address, target: "_blank", rel: "noopener noreferrer" }, parts);
}

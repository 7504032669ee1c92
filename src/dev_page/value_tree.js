// A value of JSON as a tree that folds. Only what is seen is made, however large the value is.

import { element } from "/elements.js";

const PAGE = 100;
const MAX_TEXT = 300;
const MAX_KEY = 120;
const MAX_PREVIEW = 60;
/** What is open at first: small branches, down to a depth, until so many rows are there. */
const OPEN_SIZE = 20;
const OPEN_DEPTH = 4;
const OPEN_ROWS = 60;

const isBranch = (value) => value !== null && typeof value === "object";

/** Marks of the server for what it left out. */
const omitted = (value) => (isBranch(value) && typeof value.omitted === "string" && /^\d+ bytes$/.test(value.omitted) && Object.keys(value).length === 1 ? value.omitted : undefined);

const keysOf = (value) => (Array.isArray(value) ? value.length : Object.keys(value).length);

/**
 * The tree of a value.
 *
 * @param options.path the keys that lead to the value itself
 * @param options.onPick is given the keys that lead to what was pressed, and that value
 */
export const valueTree = (value, options = {}) => new ValueTree(value, options).element;

class ValueTree {
  #onPick;
  #nodes = new WeakMap();
  #rows = 0;
  #stop;
  #picked;

  constructor(value, { path = [], onPick, name = "Value" }) {
    this.#onPick = onPick;
    this.element = element("ul", { class: onPick ? "value-tree picks" : "value-tree", role: "tree", "aria-label": name });
    const root = this.#item(value, undefined, path, 1);
    this.element.append(root);
    this.#stopAt(root);
    this.element.addEventListener("click", (event) => this.#clicked(event));
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("focusin", ({ target }) => this.#nodes.has(target) && this.#stopAt(target));
  }

  #item(value, key, path, level) {
    this.#rows += 1;
    const left = omitted(value);
    const node = { value, path, level, folds: left === undefined && (isBranch(value) ? keysOf(value) > 0 : isLong(value)) };
    const row = element("div", { class: "value-row" },
      element("span", { class: "value-twist", "aria-hidden": "true" }),
      key === undefined ? undefined : element("span", { class: typeof key === "number" ? "value-key index" : "value-key", text: cut(String(key)) }),
      left === undefined ? contentOf(value) : element("span", { class: "value-note", text: `left out, ${left}` }));
    const item = element("li", { class: "value-item", role: "treeitem", tabindex: "-1", "aria-level": level, "aria-expanded": node.folds ? "false" : undefined }, row);
    if (this.#onPick) item.setAttribute("aria-selected", "false");
    this.#nodes.set(item, node);
    if (isBranch(value) && node.folds && (level === 1 || (level <= OPEN_DEPTH && keysOf(value) <= OPEN_SIZE && this.#rows < OPEN_ROWS))) this.#toggle(item, true);
    return item;
  }

  #toggle(item, opens) {
    const node = this.#nodes.get(item);
    item.setAttribute("aria-expanded", String(opens));
    if (!isBranch(node.value)) return item.querySelector(".value-text").replaceWith(textOf(node.value, opens));
    if (opens && item.childElementCount === 1) {
      const group = element("ul", { class: "value-group", role: "group" });
      const keys = Array.isArray(node.value) ? node.value.keys() : Object.keys(node.value);
      this.#fill(group, node, keys[Symbol.iterator](), keysOf(node.value));
      item.append(group);
    }
    if (item.lastElementChild.role === "group") item.lastElementChild.hidden = !opens;
  }

  /** Adds one page of the parts of a value, and a row that adds the next. */
  #fill(group, node, keys, left) {
    const page = [];
    for (let count = 0; count < Math.min(PAGE, left); count += 1) {
      const { value: key } = keys.next();
      page.push(this.#item(node.value[key], key, [...node.path, key], node.level + 1));
    }
    group.append(...page);
    const rest = left - page.length;
    if (rest <= 0) return;
    const more = element("li", { class: "value-item value-more", role: "treeitem", tabindex: "-1", "aria-level": node.level + 1 },
      element("div", { class: "value-row" }, element("span", { class: "value-twist", "aria-hidden": "true" }),
        element("span", { class: "value-link", text: `${Math.min(PAGE, rest)} more of ${rest}` })));
    this.#nodes.set(more, {
      act: () => {
        more.remove();
        this.#fill(group, node, keys, rest);
        group.children[group.childElementCount - Math.min(PAGE, rest) - (rest > PAGE ? 1 : 0)].focus();
      },
    });
    group.append(more);
  }

  #clicked({ target }) {
    const item = target.closest(".value-item");
    const node = this.#nodes.get(item);
    if (!node) return;
    this.#stopAt(item);
    if (node.act) return node.act();
    const isClosed = item.getAttribute("aria-expanded") === "false";
    const isHandle = Boolean(target.closest(".value-twist, .value-link"));
    if (isHandle || !this.#onPick) return node.folds && (isHandle || isBranch(node.value)) ? this.#toggle(item, isClosed) : undefined;
    this.#pick(item);
  }

  #pick(item) {
    const { path, value } = this.#nodes.get(item);
    this.#picked?.setAttribute("aria-selected", "false");
    item.setAttribute("aria-selected", "true");
    this.#picked = item;
    this.#onPick(path, value);
  }

  #key(event) {
    const item = event.target.closest(".value-item");
    const node = this.#nodes.get(item);
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    const open = item.getAttribute("aria-expanded");
    if (event.key === "ArrowRight") open === "false" ? this.#toggle(item, true) : open === "true" && this.#step(item, 1);
    else if (event.key === "ArrowLeft") open === "true" ? this.#toggle(item, false) : item.parentElement.closest(".value-item")?.focus();
    else if (event.key === "ArrowDown") this.#step(item, 1);
    else if (event.key === "ArrowUp") this.#step(item, -1);
    else if (event.key === "Home") this.element.firstElementChild.focus();
    else if (event.key === "End") this.#seen().at(-1).focus();
    else if (event.key !== "Enter" && event.key !== " ") return;
    else if (node.act) node.act();
    else if (this.#onPick) this.#pick(item);
    else if (node.folds) this.#toggle(item, open === "false");
    event.preventDefault();
    event.stopPropagation();
  }

  #seen() {
    return [...this.element.querySelectorAll(".value-item")].filter((item) => !item.parentElement.closest("[hidden]"));
  }

  #step(item, by) {
    const all = this.#seen();
    all[all.indexOf(item) + by]?.focus();
  }

  #stopAt(item) {
    if (this.#stop) this.#stop.tabIndex = -1;
    this.#stop = item;
    item.tabIndex = 0;
  }
}

/** Takes back what was picked in a tree, as something else was. */
export function unpick(tree) {
  for (const item of tree.querySelectorAll('[aria-selected="true"]')) item.setAttribute("aria-selected", "false");
}

const cut = (key) => (key.length > MAX_KEY ? `${key.slice(0, MAX_KEY)}…` : key);

const isLong = (value) => typeof value === "string" && value.length > MAX_TEXT;

const contentOf = (value) => (isBranch(value) ? branchOf(value) : textOf(value, false));

/** How large a branch is, and for the folded one what is in it. */
function branchOf(value) {
  const size = keysOf(value);
  if (Array.isArray(value)) return element("span", { class: "value-size", text: size ? `[${size}]` : "[]" });
  if (size === 0) return element("span", { class: "value-size", text: "{}" });
  let preview = "";
  for (const key in value) {
    preview += `${preview && ", "}${key}`;
    if (preview.length > MAX_PREVIEW) break;
  }
  const cut = preview.length > MAX_PREVIEW ? `${preview.slice(0, MAX_PREVIEW)}…` : preview;
  return [element("span", { class: "value-size", text: `{${size}}` }), element("span", { class: "value-preview", text: cut })];
}

function textOf(value, isWhole) {
  if (typeof value !== "string") return element("span", { class: `value-text ${value === null ? "null" : "plain"}`, text: JSON.stringify(value) ?? "" });
  if (!isLong(value)) return element("span", { class: "value-text", text: JSON.stringify(value) });
  const shown = isWhole ? JSON.stringify(value) : `${JSON.stringify(value.slice(0, MAX_TEXT)).slice(0, -1)}…`;
  const words = isWhole ? "cut it" : `show all ${value.length.toLocaleString("en")} characters`;
  return element("span", { class: "value-text" }, shown, " ", element("span", { class: "value-link", text: words }));
}

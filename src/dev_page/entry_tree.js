// The tree of entries at the left. Of thousands of rows only those that are seen are elements.

import { element } from "/elements.js";
import { keep, kept } from "/storage.js";
import { buildTree, filteredRows, visibleRows } from "/tree_model.js";

const ROWS_AROUND = 8;
const TOGGLED = "toggled";
const WORDS = { changed: "changed at the last save", broken: "broken", failed: "a test fails", passed: "its tests pass" };

export class EntryTree {
  #tree = element("div", { class: "tree", role: "tree", tabindex: "0", "aria-label": "Entries" });
  #room = element("div", { role: "presentation" });
  #entries = [];
  #groups = [];
  #rows = [];
  #toggled = new Set(kept(TOGGLED, []));
  #chosen;
  #active;
  #filter = "";
  #onChoose;
  #marksOf;
  #frame;

  /**
   * @param onChoose (entry) when one is chosen
   * @param marksOf (key) => the marks of an entry: "changed", "broken", "failed", "passed"
   */
  constructor({ onChoose, marksOf }) {
    this.#onChoose = onChoose;
    this.#marksOf = marksOf;
    this.#tree.append(this.#room);
    this.#tree.addEventListener("scroll", () => this.#drawSoon());
    this.#tree.addEventListener("click", (event) => this.#click(event));
    this.#tree.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#drawSoon()).observe(this.#tree);
  }

  get element() {
    return this.#tree;
  }

  /** The entries that are found by the filter, or all. */
  get first() {
    return this.#rows.find(({ entry }) => entry)?.entry;
  }

  update(entries, places) {
    this.#entries = entries;
    this.#groups = buildTree(entries, places);
    this.#layOut();
  }

  set filter(text) {
    this.#filter = text;
    this.#tree.scrollTop = 0;
    this.#active = undefined;
    this.#layOut();
  }

  /** Marks an entry as the one that is shown, and brings it into view where it has a row. */
  choose(key) {
    this.#chosen = key;
    this.#active = key;
    this.#show(this.#rows.findIndex((row) => row.key === key));
    this.redraw();
  }

  redraw() {
    this.#draw(true);
  }

  #layOut() {
    this.#rows = this.#filter.trim() ? filteredRows(this.#entries, this.#filter) : visibleRows(this.#groups, this.#toggled);
    this.redraw();
  }

  get #rowHeight() {
    return Number.parseInt(getComputedStyle(this.#tree).getPropertyValue("--row-height"), 10) || 28;
  }

  #drawSoon() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#draw();
    });
  }

  /** Makes the rows that are seen, and drops the others. */
  #draw(anew = false) {
    const height = this.#rowHeight;
    const first = Math.max(0, Math.floor(this.#tree.scrollTop / height) - ROWS_AROUND);
    const last = Math.min(this.#rows.length, Math.ceil((this.#tree.scrollTop + this.#tree.clientHeight) / height) + ROWS_AROUND);
    const there = new Map(Array.from(this.#room.children, (row) => [row.dataset.row, row]));
    this.#room.style.height = `${this.#rows.length * height}px`;
    for (let at = first; at < last; at += 1) {
      const key = `${at} ${this.#rows[at].key}`;
      const drawn = there.get(key);
      there.delete(key);
      if (drawn && !anew) continue;
      const made = this.#row(at, key, height);
      if (!drawn) this.#room.append(made);
      else updateRow(drawn, made);
    }
    for (const row of there.values()) row.remove();
    if (this.#rows.length === 0) {
      this.#room.replaceChildren(element("p", { class: "tree-none", role: "treeitem", text: this.#entries.length ? "No match." : "No entries." }));
    }
    const active = this.#room.querySelector(".active");
    if (active) this.#tree.setAttribute("aria-activedescendant", active.id);
    else this.#tree.removeAttribute("aria-activedescendant");
  }

  #row(at, key, height) {
    const row = this.#rows[at];
    const { group, entry, level } = row;
    const role = group ? `tree-${group.role}` : "tree-entry";
    const made = element("div", {
      id: `tree-row-${at}`, class: `tree-row ${role}${row.key === this.#active ? " active" : ""}`, role: "treeitem",
      "aria-level": level, "aria-expanded": group ? String(row.isOpen) : undefined, "aria-setsize": this.#rows.length, "aria-posinset": at + 1,
      "aria-selected": entry ? String(row.key === this.#chosen) : undefined, "data-row": key, title: entry?.id,
    }, group ? element("span", { class: "tree-twist", "aria-hidden": "true", text: row.isOpen ? "▾" : "▸" }) : undefined,
      this.#label(row), ...(entry ? this.#marks(entry) : [element("span", { class: "tree-count", text: String(group.count) })]));
    made.style.top = `${at * height}px`;
    made.style.paddingLeft = `${8 + (level - 1) * 12 + (group ? 0 : 4)}px`;
    return made;
  }

  /** The name of a row, with the letters that the filter found. */
  #label({ group, label, detail, places }) {
    const text = group?.label ?? label;
    if (!places) return element("span", { class: "tree-label", text });
    const found = new Set(places);
    const made = element("span", { class: "tree-label" });
    for (let from = 0, to; from < text.length; from = to) {
      to = from + 1;
      while (to < text.length && found.has(to) === found.has(from)) to += 1;
      const piece = text.slice(from, to);
      made.append(found.has(from) ? element("span", { class: "tree-match", text: piece }) : piece);
    }
    if (detail) made.append(" ", element("span", { class: "tree-detail", text: detail }));
    return made;
  }

  #marks(entry) {
    const signs = { changed: "●", broken: "!", failed: "✕", passed: "✓" };
    return this.#marksOf(entry.key).map((mark) =>
      element("span", { class: `tree-mark ${mark}`, title: WORDS[mark] },
        element("span", { "aria-hidden": "true", text: signs[mark] }), element("span", { class: "hidden-text", text: WORDS[mark] })));
  }

  #click(event) {
    const row = event.target.closest("[data-row]");
    if (row) this.#open(this.#rows[Number(row.dataset.row.split(" ", 1)[0])]);
  }

  #open(row) {
    this.#active = row.key;
    if (row.entry) return this.#onChoose(row.entry);
    if (!this.#toggled.delete(row.key)) this.#toggled.add(row.key);
    keep(TOGGLED, [...this.#toggled]);
    this.#layOut();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.#rows.findIndex(({ key }) => key === this.#active);
    const row = this.#rows[at];
    const page = Math.max(1, Math.floor(this.#tree.clientHeight / this.#rowHeight) - 1);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: this.#rows.length - 1, PageDown: at + page, PageUp: at - page }[event.key];
    if (to !== undefined) this.#move(to);
    else if (!row) return;
    else if (event.key === "Enter" || event.key === " ") this.#open(row);
    else if (event.key === "ArrowRight") row.group && !row.isOpen ? this.#open(row) : this.#move(at + 1);
    else if (event.key === "ArrowLeft") row.isOpen ? this.#open(row) : this.#move(this.#parentOf(at));
    else return;
    event.preventDefault();
  }

  #parentOf(at) {
    const level = this.#rows[at].level;
    return this.#rows.findLastIndex((row, index) => index < at && row.level < level);
  }

  #move(to) {
    const at = Math.max(0, Math.min(this.#rows.length - 1, to));
    this.#active = this.#rows[at]?.key;
    this.#show(at);
    this.redraw();
  }

  #show(at) {
    if (at < 0) return;
    const [top, height] = [at * this.#rowHeight, this.#rowHeight];
    if (top < this.#tree.scrollTop) this.#tree.scrollTop = top;
    else if (top + height > this.#tree.scrollTop + this.#tree.clientHeight) this.#tree.scrollTop = top + height - this.#tree.clientHeight;
  }
}

/** Makes a row what another is. The elements that are the same stay: a click needs the one that was pressed. */
function updateRow(row, other) {
  for (const { name, value } of other.attributes) {
    // The page's policy forbids the attribute, not what it stands for.
    if (name === "style") row.style.cssText = other.style.cssText;
    else row.setAttribute(name, value);
  }
  if (row.innerHTML !== other.innerHTML) row.replaceChildren(...other.childNodes);
}

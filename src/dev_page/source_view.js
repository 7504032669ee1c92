// The YAML of an entry with its templates, partials and files, as they stand in the folder.

import { element } from "/elements.js";

export class SourceView {
  element = element("div", { class: "source" });
  #api;
  #editorLink;
  #shown = new Map();
  #key;
  #gaps = [];
  #number = 0;
  #parts = [];
  #lines = [];

  constructor({ api, editorLink }) {
    this.#api = api;
    this.#editorLink = editorLink;
  }

  /** Shows an entry; with `marksChanges` what is another than when it was last shown is marked. */
  async update(entry, { marksChanges = false } = {}) {
    const mine = (this.#number += 1);
    const isSame = this.#key === entry.key;
    try {
      const { parts } = await this.#api.source(entry);
      const before = (part) => (isSame && marksChanges ? this.#shown.get(`${part.file} ${part.role} ${part.title}`) : undefined);
      const items = parts.map((part) => ({ text: part.text, previous: before(part), markdown: false }));
      const changed = items.some(({ text, previous }) => previous !== undefined && previous !== text);
      const views = changed ? await this.#api.render(items) : [];
      if (mine !== this.#number) return;
      if (isSame && !changed && JSON.stringify(parts) === JSON.stringify(this.#parts)) return;
      this.#key = entry.key;
      this.#parts = parts;
      this.#lines = parts.map((part, at) => views[at]?.lines ?? part.text.split("\n").map((text) => ({ change: "same", text })));
      this.#shown = new Map(parts.map((part) => [`${part.file} ${part.role} ${part.title}`, part.text]));
      this.redraw();
      this.#showChange();
    } catch (error) {
      if (mine === this.#number) this.element.replaceChildren(element("p", { class: "error-text", text: error.message }));
    }
  }

  /** Sets the parts that no test reaches. */
  set gaps(gaps) {
    if (JSON.stringify(gaps) === JSON.stringify(this.#gaps)) return;
    this.#gaps = gaps;
    this.redraw();
  }

  redraw() {
    this.element.replaceChildren(...this.#parts.map((part, at) => this.#part(part, this.#lines[at])));
  }

  /** Brings the first line that changed into view, where the source scrolls by itself. */
  #showChange() {
    const [line, scroller] = [this.element.querySelector(".source-line:is(.added, .removed)"), this.element.parentElement];
    if (!line || !scroller) return;
    const above = line.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    scroller.scrollTop += above - scroller.clientHeight / 3;
  }

  #part(part, lines) {
    const place = `${part.file}:${part.line}`;
    const gaps = new Map(this.#gaps.filter(({ path }) => path === part.path).map(({ line, label }) => [line, label]));
    let number = part.line;
    const rows = lines.map(({ change, text }) => {
      const line = change === "removed" ? undefined : number++;
      const gap = gaps.get(line);
      const classes = ["source-line", change === "same" ? "" : change, gap ? "gap" : ""].filter(Boolean).join(" ");
      return element("span", { class: classes, title: gap && `no test reaches: ${gap}` },
        element("a", { class: "source-number", href: line && this.#editorLink({ path: part.path, line }), tabindex: "-1", "aria-hidden": "true", text: line ?? "" }),
        element("span", { class: "source-text", text: text.replace(/\n$/, "") }));
    });
    return element("section", { class: "source-part", "aria-label": `${part.role} ${part.title}` },
      element("div", { class: "source-head" },
        element("span", { class: "source-role", text: part.role }),
        element("span", { text: part.title === part.file ? "" : part.title }),
        element("a", { href: this.#editorLink(part), title: "Open in the editor", text: place })),
      element("pre", { class: "source-code", tabindex: "0", "aria-label": `source at ${place}` }, ...rows));
  }
}

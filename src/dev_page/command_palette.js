// ⌘K: goes to an entry, or does what the page can do.

import { element } from "/elements.js";
import { match } from "/tree_model.js";

const MAX_SHOWN = 50;

export class CommandPalette {
  #dialog;
  #input;
  #list;
  #items = [];
  #shown = [];
  #at = 0;
  #itemsOf;

  /** @param itemsOf () => what there is: `{ label, detail, run }` */
  constructor(itemsOf) {
    this.#itemsOf = itemsOf;
    this.#list = element("div", { class: "palette-list", role: "listbox", id: "palette-list", "aria-label": "Entries and actions" });
    this.#input = element("input", {
      type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-label": "Go to an entry or an action",
      placeholder: "Go to an entry or an action", autocomplete: "off", spellcheck: "false",
    });
    this.#dialog = element("dialog", { class: "palette", "aria-label": "Go to" }, this.#input, this.#list);
    document.body.append(this.#dialog);
    this.#input.addEventListener("input", () => this.#find());
    this.#input.addEventListener("keydown", (event) => this.#key(event));
    this.#list.addEventListener("click", (event) => {
      const item = event.target.closest("[data-at]");
      if (item) this.#run(Number(item.dataset.at));
    });
    this.#dialog.addEventListener("click", (event) => event.target === this.#dialog && this.#dialog.close());
  }

  open() {
    if (this.#dialog.open) return this.#dialog.close();
    this.#items = this.#itemsOf();
    this.#input.value = "";
    this.#dialog.showModal();
    this.#find();
  }

  #find() {
    const wanted = this.#input.value.trim().toLowerCase();
    const scored = this.#items.map((item) => ({ item, score: wanted ? match(item.label, wanted)?.score : 1 }));
    const found = scored.filter(({ score }) => score > 0);
    if (wanted) found.sort((one, other) => other.score - one.score);
    this.#shown = found.slice(0, MAX_SHOWN).map(({ item }) => item);
    this.#at = 0;
    this.#draw();
  }

  #draw() {
    const rows = this.#shown.map(({ label, detail }, at) =>
      element("div", { class: "palette-item", role: "option", id: `palette-${at}`, "data-at": at, "aria-selected": String(at === this.#at) },
        element("span", { text: label }), element("span", { class: "dim", text: detail })));
    this.#list.replaceChildren(...(rows.length ? rows : [element("p", { class: "tree-none", text: "Nothing is called so." })]));
    this.#input.setAttribute("aria-activedescendant", `palette-${this.#at}`);
    rows[this.#at]?.scrollIntoView({ block: "nearest" });
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      this.#at = (this.#at + step + this.#shown.length) % Math.max(1, this.#shown.length);
      this.#draw();
    } else if (event.key === "Enter") {
      this.#run(this.#at);
    } else {
      return;
    }
    event.preventDefault();
  }

  #run(at) {
    const item = this.#shown[at];
    this.#dialog.close();
    item?.run();
  }
}

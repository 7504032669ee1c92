// The bar at the bottom, and the drawer that it opens: calls, problems, tests.

import { element } from "/elements.js";
import { keep, kept } from "/storage.js";

export class Drawers {
  #buttons = new Map();
  #panels = new Map();
  #panel = element("div", { class: "drawer-panel", id: "drawer-panel", role: "region", hidden: true });
  #open = kept("drawer", undefined);

  /** @param drawers `{ name: { title, element } }`, @param more what stands at the right end of the bar */
  constructor(place, drawers, more) {
    const bar = element("div", { class: "drawer-bar" });
    for (const [name, { title, element: panel }] of Object.entries(drawers)) {
      const button = element("button", { type: "button", class: "quiet", "aria-controls": "drawer-panel", onclick: () => this.toggle(name) },
        title, element("span", { class: "drawer-count" }));
      this.#buttons.set(name, button);
      this.#panels.set(name, { title, panel });
      bar.append(button);
    }
    const close = element("button", { type: "button", class: "quiet drawer-close", "aria-label": "Close the drawer", text: "✕", onclick: () => this.toggle(this.#open) });
    place.addEventListener("keydown", (event) => this.#open && event.key === "Escape" && !event.defaultPrevented && this.toggle(this.#open));
    bar.append(element("span", { class: "spacer" }), more, close);
    place.append(bar, this.#panel);
    this.#draw();
  }

  /** Opens a drawer, or closes it where it is open. */
  toggle(name) {
    const before = this.#open;
    this.#open = this.#open === name ? undefined : name;
    keep("drawer", this.#open);
    this.#draw();
    if (this.#open === undefined) this.#buttons.get(before)?.focus();
  }

  open(name) {
    if (this.#open !== name) this.toggle(name);
  }

  /** What stands beside the title of a drawer, and how it is coloured: "bad", "warn", "good". */
  setCount(name, text, tone = "") {
    const count = this.#buttons.get(name).querySelector(".drawer-count");
    count.textContent = text;
    count.className = `drawer-count ${tone}`;
  }

  #draw() {
    for (const [name, button] of this.#buttons) button.setAttribute("aria-expanded", String(name === this.#open));
    const shown = this.#panels.get(this.#open);
    this.#panel.hidden = !shown;
    this.#panel.parentElement.classList.toggle("open", Boolean(shown));
    if (!shown) return this.#panel.replaceChildren();
    this.#panel.setAttribute("aria-label", shown.title);
    this.#panel.replaceChildren(shown.panel);
  }
}

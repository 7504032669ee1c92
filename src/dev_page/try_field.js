// A template or a `select`, tried on what the last call left as one types it.

import { element, freshId } from "/elements.js";
import { valueTree } from "/value_tree.js";

const DELAY_MS = 200;
/** How much of a line is shown before the place of an error. */
const MAX_BEFORE = 48;
const MAX_AFTER = 32;

const KINDS = { template: "{{steps.ID.stdout}}", select: "ID.json[].name" };

export class TryField {
  #evaluate;
  #kind = "template";
  #number = 0;
  #timer;
  #texts = { template: "", select: "" };
  #errorId = freshId("try-error");
  #field = element("textarea", { class: "try-text", rows: "1", spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-label": "Expression to try" });
  #kinds = new Map();
  #output = element("div", { class: "try-output", id: this.#errorId, "aria-live": "polite" });

  /** @param evaluate `{ template }` or `{ select }` → a promise of `{ text }` or `{ value }`, or an error with line and column */
  constructor(evaluate) {
    this.#evaluate = evaluate;
    for (const kind of Object.keys(KINDS)) {
      const choice = element("button", { type: "button", class: "toggle", "aria-pressed": "false", text: kind, onclick: () => this.#choose(kind) });
      this.#kinds.set(kind, choice);
    }
    const kinds = element("div", { class: "try-kinds", role: "group", "aria-label": "Kind of expression" }, ...this.#kinds.values());
    this.element = element("section", { class: "try", "aria-label": "Try an expression" },
      element("div", { class: "try-head" }, element("h2", { class: "line-title", text: "Try" }), kinds),
      this.#field, this.#output);
    this.#field.addEventListener("input", () => this.#changed());
    this.#choose("template");
  }

  /** Puts an expression into the field. */
  set({ template, select }) {
    const kind = template === undefined ? "select" : "template";
    this.#texts[kind] = template ?? select;
    this.#choose(kind);
    this.#field.focus();
  }

  #choose(kind) {
    this.#kind = kind;
    for (const [name, choice] of this.#kinds) choice.setAttribute("aria-pressed", String(name === kind));
    this.#field.placeholder = KINDS[kind];
    this.#field.value = this.#texts[kind];
    this.run();
  }

  #changed() {
    this.#texts[this.#kind] = this.#field.value;
    this.#fit();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.run(), DELAY_MS);
  }

  /** Grows with its text. */
  #fit() {
    this.#field.rows = Math.min(8, Math.max(1, this.#field.value.split("\n").length));
  }

  /** No answer that is under way is shown any more. */
  stop() {
    clearTimeout(this.#timer);
    this.#number += 1;
  }

  /** Evaluates what stands in the field; answers that are late are dropped. */
  async run() {
    this.stop();
    this.#fit();
    const mine = this.#number;
    const text = this.#field.value;
    if (text.trim() === "") return this.#show();
    try {
      const answer = await this.#evaluate({ [this.#kind]: text });
      if (mine === this.#number) this.#show("value" in answer ? valueTree(answer.value, { name: "What it gives" }) : textView(answer.text));
    } catch (error) {
      if (mine === this.#number) this.#show(errorView(text, error), true);
    }
  }

  #show(view, isError = false) {
    this.#field.setAttribute("aria-invalid", String(isError));
    if (isError) this.#field.setAttribute("aria-describedby", this.#errorId);
    else this.#field.removeAttribute("aria-describedby");
    this.#output.replaceChildren(...(view ? [view] : []));
  }
}

function textView(text) {
  if (text === "") return element("p", { class: "dim", text: "an empty text" });
  return element("pre", { class: "try-result", tabindex: "0", role: "group", "aria-label": "What it gives", text });
}

/** What is wrong, with the place in the text under a caret. */
function errorView(text, { message, line = 1, column }) {
  const words = element("p", { class: "error-text", text: message });
  const source = text.split("\n")[line - 1];
  if (column === undefined || column === null || source === undefined) return element("div", { class: "try-error" }, words);
  const letters = [...source.replaceAll("\t", " ")];
  const at = Math.min(column - 1, letters.length);
  const start = Math.max(0, at - MAX_BEFORE);
  const before = `${start > 0 ? "…" : ""}${letters.slice(start, at).join("")}`;
  const rest = letters.slice(at, at + MAX_AFTER).join("") + (letters.length > at + MAX_AFTER ? "…" : "");
  // The same letters stand unseen before the caret: so it is at its column whatever their width.
  return element("div", { class: "try-error" },
    element("pre", { class: "try-caret", role: "group", "aria-label": `line ${line}, column ${column}`, tabindex: "0" },
      element("span", { text: `${before}${rest}\n` }),
      element("span", { class: "try-unseen", "aria-hidden": "true", text: before }), element("span", { class: "try-mark", "aria-hidden": "true", text: "^" })),
    words);
}

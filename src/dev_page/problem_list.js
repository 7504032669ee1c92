// What is wrong with the manifest: one line each, opened to its place, its help, and the fix where one is certain.

import { diffView } from "/diff_view.js";
import { element } from "/elements.js";
import { foldedLine, helpOf, goByArrows, nothingHere, preText, redrawInPlace, stopAt, toneWord, wordsOf } from "/line_list.js";

const LINE = ".problem-line";
const MAX_LINE = 80;
const SEVERITIES = ["error", "warning", "note"];

const placeOf = ({ file, line, column }) => (file ? [file, line, column].filter((part) => part !== undefined && part !== null).join(":") : "");
const keyOf = (problem) => `${problem.message}\n${placeOf(problem)}`;
const rank = ({ severity }) => (SEVERITIES.indexOf(severity) + SEVERITIES.length + 1) % (SEVERITIES.length + 1);

/** The frame without its first line, which says what the line of the list says. */
const frameOf = ({ frame = "", severity, code }) => (frame.startsWith(`${severity}[${code}]`) ? frame.slice(frame.indexOf("\n ") + 1) : frame);

export class ProblemList {
  #editorLink;
  #onFix;
  #onOpenEntry;
  #problems = [];
  #isBroken = false;
  /** Which were opened or closed by hand, by message and place. */
  #open = new Map();
  #summary = element("p", { class: "drawer-summary", role: "status" });
  #list = element("ul", { class: "problem-list", "aria-label": "Problems" });
  #none = element("div", {});

  constructor({ editorLink, onFix, onOpenEntry }) {
    this.#editorLink = editorLink;
    this.#onFix = onFix;
    this.#onOpenEntry = onOpenEntry;
    this.element = element("div", { class: "problems drawer-view" }, element("div", { class: "drawer-tools" }, this.#summary), this.#list, this.#none);
    goByArrows(this.#list, LINE);
    this.redraw();
  }

  get count() {
    return this.#problems.length;
  }

  update(problems = [], isBroken = false) {
    this.#problems = problems;
    this.#isBroken = isBroken;
    const known = new Set(problems.map(keyOf));
    for (const key of this.#open.keys()) if (!known.has(key)) this.#open.delete(key);
    this.redraw();
  }

  /** Draws it again: another editor opens the places. */
  redraw() {
    redrawInPlace(this.element, LINE, () => this.#draw());
  }

  #draw() {
    const sorted = this.#problems.map((problem, index) => ({ problem, index })).sort((one, other) => rank(one.problem) - rank(other.problem));
    this.#list.replaceChildren(...sorted.map(({ problem, index }) => this.#item(problem, index)));
    this.#summary.parentElement.hidden = this.count === 0;
    this.#summary.replaceChildren(...this.#summaryParts());
    this.#none.replaceChildren(...(this.count ? [] : [nothingHere("No problems", element("p", { text: "Mistakes in the manifest appear here at each save, with their place and what helps." }))]));
    stopAt(this.#list, LINE);
  }

  #summaryParts() {
    const counts = SEVERITIES.map((severity) => [severity, this.#problems.filter((one) => one.severity === severity).length]).filter(([, count]) => count);
    const words = counts.map(([severity, count]) => toneWord(severity, `${count} ${severity}${count === 1 ? "" : "s"}`));
    return this.#isBroken ? [...words, element("span", { class: "dim", text: "The last good version is served until the errors are mended." })] : words;
  }

  #item(problem, index) {
    const { severity, code, message } = problem;
    const key = keyOf(problem);
    const place = placeOf(problem);
    const frame = frameOf(problem);
    const fixPlace = element("div", { class: "problem-fix", hidden: true });
    const item = foldedLine({
      name: "problem",
      parts: [
        element("span", { class: "line-twist", "aria-hidden": "true" }),
        element("span", { class: "problem-severity" }, toneWord(severity)),
        element("span", { class: "problem-message" }, message, code ? element("span", { class: "problem-code", text: code }) : undefined),
      ],
      beside: this.#beside(problem, place, (button) => this.#fix(index, fixPlace, button)),
      body: () => [
        // The line cuts what is longer.
        message.length > MAX_LINE || message.includes("\n") ? wordsOf(message, "Message", "problem-whole") : undefined,
        frame ? preText(frame, `Source at ${place || message}`) : undefined,
        problem.help && !frame.includes(problem.help) ? helpOf(problem.help) : undefined,
      ],
      // One alone is what one came for.
      isOpen: this.#open.get(key) ?? this.count === 1,
      onToggle: (isOpen) => this.#open.set(key, isOpen),
    });
    item.dataset.key = key;
    fixPlace.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      this.#closeFix(fixPlace, item.querySelector(".problem-fix-button"));
    });
    item.append(fixPlace);
    return item;
  }

  /** What stands beside the line: its entry, its place, and the fix. */
  #beside({ entry, path, line, column, fixable }, place, fix) {
    const open = () => this.#onOpenEntry(entry);
    const href = path && this.#editorLink({ path, line, column });
    return [
      entry && this.#onOpenEntry ? element("button", { type: "button", class: "quiet small cut problem-entry", title: "Open the entry", text: entry, onclick: open }) : undefined,
      href ? element("a", { class: "line-place", href, title: `Open ${place} in the editor`, text: place }) : undefined,
      place && !href ? element("span", { class: "line-place dim", text: place }) : undefined,
      fixable && this.#onFix ? element("button", { type: "button", class: "small problem-fix-button", text: "Fix…", onclick: ({ currentTarget }) => fix(currentTarget) }) : undefined,
    ];
  }

  /** Shows what a fix would change, and writes it where that is wanted. */
  async #fix(index, place, button) {
    if (!place.hidden) return this.#closeFix(place, button);
    button.setAttribute("aria-expanded", "true");
    place.hidden = false;
    place.replaceChildren(element("p", { class: "dim", text: "looking for what to change…" }));
    try {
      const { file, diff } = await this.#onFix(index);
      const apply = element("button", { type: "button", class: "primary small", text: "Apply", onclick: () => this.#apply(index, place, apply) });
      const cancel = element("button", { type: "button", class: "small", text: "Cancel", onclick: () => this.#closeFix(place, button) });
      place.replaceChildren(element("p", { class: "line-title", text: `Changes ${file}` }), diffView(diff, { name: `Fix in ${file}` }), element("div", { class: "line-actions" }, apply, cancel));
      apply.focus();
    } catch ({ message }) {
      place.replaceChildren(element("p", { class: "error-text", role: "alert", text: message }));
    }
  }

  async #apply(index, place, button) {
    button.disabled = true;
    try {
      const { file } = await this.#onFix(index, { write: true });
      place.replaceChildren(element("p", { class: "dim", role: "status", text: `Written to ${file}.` }));
    } catch ({ message }) {
      button.disabled = false;
      place.querySelector(".error-text")?.remove();
      place.append(element("p", { class: "error-text", role: "alert", text: message }));
    }
  }

  #closeFix(place, button) {
    place.hidden = true;
    place.replaceChildren();
    button.setAttribute("aria-expanded", "false");
    button.focus();
  }
}

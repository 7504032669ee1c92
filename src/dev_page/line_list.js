// Lines that open: one after another by the arrows, as one stop of the tab key. And what they all say in the same way.

import { element } from "/elements.js";

/** How many letters of a message stand as they are. */
const MAX_WORDS = 1200;

/** Outcomes of calls and of steps, and states of tests, as tones. */
const TONES = {
  ok: "good", passed: "good", fixed: "good",
  failed: "bad", refused: "bad", error: "bad", broken: "bad",
  waiting: "warn", "input required": "warn", warning: "warn",
};

/** A word with the dot of its tone: never the colour alone. */
export const toneWord = (word, text = word) =>
  element("span", { class: `tone ${TONES[word] ?? "plain"}` }, element("span", { class: "tone-dot", "aria-hidden": "true" }), element("span", { class: "tone-word", text }));

export const toneOf = (word) => TONES[word] ?? "plain";

/** A time as one reads it. */
export function formatMs(ms) {
  if (typeof ms !== "number" || !Number.isFinite(ms)) return "";
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9_995 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/**
 * A line that opens to what is below it, which is made when it first opens.
 *
 * @param options.parts what stands in the line
 * @param options.beside what stands beside it, and acts by itself
 * @param options.body gives the elements below
 * @param options.onToggle is told when it opens and closes
 */
export function foldedLine({ name, parts, beside = [], body, isOpen = false, onToggle, tabindex = "-1" }) {
  const button = element("button", { type: "button", class: `line ${name}-line`, "aria-expanded": "false", tabindex }, parts);
  const place = element("div", { class: `line-body ${name}-body`, hidden: true });
  const item = element("li", { class: `line-item ${name}-item` }, element("div", { class: `line-head ${name}-head` }, button, beside), place);
  const toggle = (opens) => {
    button.setAttribute("aria-expanded", String(opens));
    item.classList.toggle("open", opens);
    if (opens && !place.childElementCount) place.append(...[body()].flat().filter(Boolean));
    place.hidden = !opens;
  };
  button.addEventListener("click", () => {
    const opens = button.getAttribute("aria-expanded") !== "true";
    toggle(opens);
    onToggle?.(opens);
  });
  if (isOpen) toggle(true);
  return item;
}

const isSeen = (line) => !line.closest("[hidden]");

/** Makes the lines of a list one stop of the tab key, with the arrows inside. */
export function goByArrows(list, selector) {
  const lines = () => [...list.querySelectorAll(selector)].filter(isSeen);
  list.addEventListener("focusin", ({ target }) => target.matches(selector) && stopAt(list, selector, target));
  list.addEventListener("keydown", (event) => {
    if (!event.target.matches(selector)) return;
    const { target, key } = event;
    const all = lines();
    const at = all.indexOf(target);
    const isOpen = target.getAttribute("aria-expanded") === "true";
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[key];
    if (to !== undefined) all[Math.max(0, Math.min(to, all.length - 1))]?.focus();
    else if ((key === "ArrowRight" && !isOpen) || (key === "ArrowLeft" && isOpen)) target.click();
    else return;
    event.preventDefault();
  });
}

/** Sets which line the tab key stops at: this one, or the one before, or the first that is seen. */
export function stopAt(list, selector, line) {
  const before = list.querySelector(`${selector}[tabindex="0"]`);
  const next = line ?? (before && isSeen(before) ? before : [...list.querySelectorAll(selector)].find(isSeen));
  for (const one of list.querySelectorAll(`${selector}[tabindex="0"]`)) if (one !== next) one.tabIndex = -1;
  if (next) next.tabIndex = 0;
}

/** Draws a list anew; what is scrolled stays where it is, and so does the focus, by the keys of the lines. */
export function redrawInPlace(view, selector, draw) {
  const scroller = view.parentElement;
  const top = scroller?.scrollTop;
  const active = view.contains(document.activeElement) ? document.activeElement : undefined;
  const key = active?.closest("[data-key]")?.dataset.key;
  draw();
  if (key !== undefined && active !== document.activeElement) {
    const item = [...view.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
    (active.isConnected ? active : item?.querySelector(selector))?.focus({ preventScroll: true });
  }
  if (scroller) scroller.scrollTop = top;
}

/** What stands where nothing does. */
export const nothingHere = (title, ...more) => element("div", { class: "drawer-empty" }, element("p", { class: "drawer-empty-title", text: title }), more);

/** Words; those that are very many scroll by themselves. */
export const wordsOf = (text, name, className) => (text.length > MAX_WORDS ? preText(text, name, className) : element("p", { class: className, text }));

/** What helps. */
export const helpOf = (text) => element("div", { class: "line-help" }, element("strong", { text: "Help" }), wordsOf(text, "Help"));

/** A text in lines as they are, that scrolls by itself where it is long. */
export const preText = (text, name, more = "") => element("pre", { class: `line-pre ${more}`.trim(), tabindex: "0", role: "group", "aria-label": name, text });

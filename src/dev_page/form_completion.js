// Offers beneath a text field what completes it.

import { element, freshId } from "/elements.js";
import { lineOf } from "/form_schema.js";

const COMPLETION_DELAY_MS = 120;
const MAX_SUGGESTIONS = 12;

/** What is shown of a suggestion. */
const MAX_SHOWN = 200;

/**
 * Completes the field of a row while one is in it.
 *
 * A text area may not have the role of a combobox; it has what belongs to one all the same.
 *
 * @param complete (value) => Promise of values
 */
export function addCompletion({ control: { target }, label }, complete) {
  const list = element("div", {
    id: freshId("suggestions"), class: "form-suggestions", role: "listbox", "aria-label": `Suggestions for ${label}`, hidden: true,
  });
  const status = element("span", { class: "form-hidden", role: "status" });
  const box = element("div", { class: "form-completed" });
  target.replaceWith(box);
  box.append(target, list, status);
  target.setAttribute("aria-autocomplete", "list");
  target.setAttribute("aria-haspopup", "listbox");
  let timer;
  let number = 0;
  let values = [];
  let active = -1;

  const mark = (index) => {
    active = index;
    Array.from(list.children).forEach((option, place) => option.setAttribute("aria-selected", String(place === index)));
    const option = list.children[index];
    if (option) target.setAttribute("aria-activedescendant", option.id);
    else target.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  };
  const close = () => {
    clearTimeout(timer);
    number += 1;
    list.hidden = true;
    list.replaceChildren();
    target.removeAttribute("aria-controls");
    mark(-1);
    status.textContent = "";
  };
  const take = (value) => {
    target.value = value;
    target.focus();
    target.dispatchEvent(new Event("input", { bubbles: true }));
    close();
  };
  const show = (offered) => {
    values = offered.filter((value) => typeof value === "string" && value !== target.value).slice(0, MAX_SUGGESTIONS);
    if (values.length === 0) return close();
    list.replaceChildren(...values.map((value) => element("div", {
      id: freshId("suggestion"), class: "form-suggestion", role: "option", "aria-selected": "false", text: lineOf(value, MAX_SHOWN),
      onclick: () => take(value),
    })));
    list.hidden = false;
    target.setAttribute("aria-controls", list.id);
    mark(-1);
    status.textContent = values.length === 1 ? "1 suggestion" : `${values.length} suggestions`;
  };
  const ask = async () => {
    const mine = (number += 1);
    const offered = await complete(target.value).catch(() => []);
    if (mine === number && document.activeElement === target) show(Array.isArray(offered) ? offered : []);
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, COMPLETION_DELAY_MS);
  };

  target.addEventListener("input", later);
  target.addEventListener("focus", later);
  target.addEventListener("blur", close);
  // A press on the list leaves the focus where it is.
  list.addEventListener("pointerdown", (event) => event.preventDefault());
  list.addEventListener("mousedown", (event) => event.preventDefault());
  target.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (list.hidden) {
      if (event.key === "ArrowDown" && !target.value.includes("\n")) ask();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) mark(active + step < -1 ? values.length - 1 : active + step >= values.length ? -1 : active + step);
    else if (event.key === "Enter" && active >= 0) take(values[active]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

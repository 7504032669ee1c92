// Controls of what is chosen: a check box, buttons of which one holds, a list to select from, chips of which several hold.

import { element, freshId } from "/elements.js";
import { lineOf, textOf } from "/form_schema.js";

/** How many chips stand without a filter. */
const MAX_CHIPS = 24;

/** What is shown of a choice. */
const MAX_LABEL = 300;

const isSame = (choice, value) => value !== undefined && textOf(choice.value) === textOf(value);

/** Tells of a change that is none of an input. */
const tell = (node) => node.dispatchEvent(new Event("input", { bubbles: true }));

export function checkbox({ id }) {
  const target = element("input", { id, type: "checkbox", class: "form-check" });
  return {
    element: target, target, labels: "beside",
    read: () => ({ value: target.checked }),
    keep: () => target.checked,
    write: (value) => void (target.checked = value === true || value === "true"),
  };
}

/** A few choices as buttons that stand together. */
export function segments(choices, { id }) {
  const name = freshId("choice");
  const radios = choices.map((_, index) => element("input", { type: "radio", name, value: index }));
  const words = ({ label }) => element("span", { text: label === "" ? "“”" : label });
  const kind = ({ value }) => `form-segment${value === undefined ? " form-segment-unset" : ""}`;
  const parts = choices.map((choice, index) => element("label", { class: kind(choice) }, radios[index], words(choice)));
  const target = element("div", { id, class: "form-segments", role: "radiogroup" }, parts);
  const chosen = () => choices[radios.findIndex((radio) => radio.checked)]?.value;
  const write = (value) => {
    const unset = choices.findIndex((choice) => choice.value === undefined);
    const found = choices.findIndex((choice) => isSame(choice, value));
    const index = found < 0 ? unset : found;
    radios.forEach((radio, place) => (radio.checked = place === index));
  };
  const isClearable = choices.every(({ value }) => value !== undefined);
  return { element: target, target, labels: "group", isClearable, read: () => ({ value: chosen() }), keep: chosen, write };
}

/** Many choices, of which one holds. */
export function selection(choices, { id, isRequired, hasDefault }) {
  const options = choices.map(({ label }, index) => element("option", { value: index, text: lineOf(label, MAX_LABEL) }));
  const nothing = isRequired || !hasDefault ? element("option", { value: "", text: isRequired ? "choose…" : "unset" }) : undefined;
  const target = element("select", { id, class: "form-select" }, nothing, options);
  const chosen = () => (target.value === "" ? undefined : choices[Number(target.value)]?.value);
  const showState = () => target.classList.toggle("form-is-unset", target.value === "");
  const write = (value) => {
    const index = choices.findIndex((choice) => isSame(choice, value));
    target.value = index < 0 ? "" : String(index);
    showState();
  };
  target.addEventListener("input", showState);
  return { element: element("div", { class: "form-select-box" }, target), target, read: () => ({ value: chosen() }), keep: chosen, write };
}

/** Choices of which several hold. */
export function chips(choices, { id, label, hasDefault }) {
  const press = (chip, isPressed) => chip.setAttribute("aria-pressed", String(isPressed));
  const isPressed = (chip) => chip.getAttribute("aria-pressed") === "true";
  const all = choices.map((choice) => element("button", {
    type: "button", class: "form-chip", "aria-pressed": "false", title: choice.label.length > 40 ? choice.label.slice(0, 1000) : undefined,
    text: choice.label === "" ? "“”" : lineOf(choice.label, MAX_LABEL),
    onclick: ({ currentTarget }) => {
      press(currentTarget, !isPressed(currentTarget));
      tell(currentTarget);
    },
  }));
  const target = element("div", { id, class: "form-chips", role: "group" }, all);
  const isMany = all.length > MAX_CHIPS;
  // Of many, one is reached by Tab. Arrows go from chip to chip, as in other groups of choices.
  const reach = (reached) => isMany && all.forEach((chip) => (chip.tabIndex = chip === reached ? 0 : -1));
  reach(all[0]);
  target.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const shown = all.filter((chip) => !chip.hidden);
    const place = shown.indexOf(document.activeElement);
    if (!step || place < 0) return;
    event.preventDefault();
    const next = shown[(place + step + shown.length) % shown.length];
    reach(next);
    next.focus();
  });
  const chosen = () => all.flatMap((chip, index) => (isPressed(chip) ? [choices[index].value] : []));
  const given = () => (chosen().length || hasDefault ? chosen() : undefined);
  const write = (value) => {
    const wanted = new Set(listed(value).map(textOf));
    all.forEach((chip, index) => press(chip, wanted.has(textOf(choices[index].value))));
  };
  const box = isMany ? element("div", { class: "form-filtered" }, chipFilter(all, label, reach), target) : target;
  return { element: box, target, labels: "group", isWide: true, read: () => ({ value: given() }), keep: given, write };
}

function chipFilter(all, label, reach) {
  const filter = element("input", {
    type: "search", class: "form-line", autocomplete: "off", spellcheck: "false",
    placeholder: `Filter ${all.length} choices`, "aria-label": `Filter choices of ${label}`,
  });
  filter.addEventListener("input", (event) => {
    event.stopPropagation();
    const wanted = filter.value.toLowerCase();
    for (const chip of all) chip.hidden = !chip.textContent.toLowerCase().includes(wanted);
    reach(all.find((chip) => !chip.hidden));
  });
  // Enter sends a form, which nobody means who looks for a choice.
  filter.addEventListener("keydown", (event) => event.key === "Enter" && !event.ctrlKey && !event.metaKey && event.preventDefault());
  return filter;
}

/** A list that may be written as JSON, as prompts have it. */
export function listed(value) {
  if (value === undefined || value === null || value === "") return [];
  if (Array.isArray(value)) return value;
  if (typeof value !== "string") return [value];
  try {
    const parsed = JSON.parse(value);
    return Array.isArray(parsed) ? parsed : [value];
  } catch {
    return [value];
  }
}

// Lists: rows that one adds, removes, and moves with the arrows or by dragging.

import { element } from "/elements.js";
import { listed } from "/form_choices.js";
import { FormRow, tellChanged } from "/form_rows.js";
import { kindOf, resolve } from "/form_schema.js";

/** What one types or picks: nothing is no value of it. */
const TYPED = ["text", "number", "date", "password", "email", "url", "file", "json"];

/** The rows of a list or of keys: their buttons, their order. */
export class ItemRows {
  items = [];

  /**
   * @param options.label of what contains them
   * @param options.add words on the button that adds one
   * @param options.make (value) => { row, head?, isWide } of a new item
   * @param options.moves whether their order matters
   */
  constructor(options) {
    this.options = options;
    this.list = element("div", { class: "form-items" });
    this.button = element("button", {
      type: "button", class: "form-add", "aria-label": `${options.add} to ${options.label}`, text: options.add,
      onclick: () => this.insert(this.items.length),
    });
    this.status = element("span", { class: "form-hidden", role: "status" });
    this.element = element("div", { class: "form-item-list" }, this.list, this.button, this.status);
  }

  get label() {
    return this.options.label;
  }

  /** Adds an empty item at a place, and goes there. */
  insert(index) {
    const item = this.#insert(index, undefined);
    this.#number();
    (item.head?.querySelector("input") ?? item.row).focus();
    tellChanged(this.list);
  }

  #insert(index, value) {
    const item = this.options.make(value);
    const remove = element("button", { type: "button", class: "form-icon form-remove", onclick: () => this.remove(item) });
    const asGrip = { type: "button", class: "form-icon form-grip", "aria-keyshortcuts": "ArrowUp ArrowDown" };
    const grip = this.options.moves ? element("button", asGrip) : undefined;
    Object.assign(item, { remove, grip });
    item.element = element("div", { class: `form-item${item.isWide ? " form-item-wide" : ""}` }, grip, item.head, item.row.element, remove);
    item.element.addEventListener("keydown", (event) => this.#keyed(event, item));
    grip?.addEventListener("pointerdown", (event) => this.#drag(event, item));
    this.list.insertBefore(item.element, this.items[index]?.element ?? null);
    this.items.splice(index, 0, item);
    return item;
  }

  remove(item) {
    const index = this.items.indexOf(item);
    this.items.splice(index, 1);
    item.element.remove();
    this.#number();
    const next = this.items[Math.min(index, this.items.length - 1)];
    if (next) next.remove.focus();
    else this.button.focus();
    this.status.textContent = `Item ${index + 1} removed`;
    tellChanged(this.list);
  }

  /** Moves an item by one place. Whether there was one. */
  #move(item, step) {
    const index = this.items.indexOf(item);
    const place = index + step;
    if (place < 0 || place >= this.items.length) return false;
    const [other] = this.items.splice(place, 1, item);
    this.items[index] = other;
    // What is moved stays where it is, with its focus and its pointer; the other one goes around it.
    if (step < 0) item.element.after(other.element);
    else item.element.before(other.element);
    this.#number();
    this.status.textContent = `Moved to place ${place + 1} of ${this.items.length}`;
    tellChanged(this.list);
    return true;
  }

  #keyed(event, item) {
    if (event.target.closest(".form-item") !== item.element) return;
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (step && this.options.moves && (event.target === item.grip || event.altKey)) {
      event.preventDefault();
      this.#move(item, step);
      return;
    }
    // In a list of what one types, lines are items.
    const isLine = event.target.matches(".form-text:not(.form-json), .form-line") && !item.isWide;
    if (!isLine || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const index = this.items.indexOf(item);
    if (event.key === "Enter") {
      event.preventDefault();
      if (item.head?.contains(event.target)) item.row.focus();
      else this.insert(index + 1);
    } else if (event.key === "Backspace" && this.options.moves && isEmpty(event.target) && index > 0) {
      event.preventDefault();
      this.remove(item);
      this.items[index - 1].row.focus();
    }
  }

  /** Follows a pointer, from place to place. */
  #drag(event, item) {
    if (event.button !== 0) return;
    const { grip } = item;
    grip.setPointerCapture(event.pointerId);
    item.element.classList.add("form-is-dragged");
    const follow = ({ clientY }) => {
      const index = this.items.indexOf(item);
      const middle = (other) => (({ top, height }) => top + height / 2)(other.element.getBoundingClientRect());
      if (index > 0 && clientY < middle(this.items[index - 1])) this.#move(item, -1);
      else if (index < this.items.length - 1 && clientY > middle(this.items[index + 1])) this.#move(item, 1);
    };
    const end = () => {
      item.element.classList.remove("form-is-dragged");
      grip.removeEventListener("pointermove", follow);
    };
    grip.addEventListener("pointermove", follow);
    grip.addEventListener("lostpointercapture", end, { once: true });
  }

  #number() {
    this.items.forEach(({ row, remove, grip }, index) => {
      row.rename(`${this.label} ${index + 1}`);
      remove.setAttribute("aria-label", `Remove ${row.label}`);
      grip?.setAttribute("aria-label", `Reorder ${row.label}`);
    });
    this.list.hidden = this.items.length === 0;
  }

  fill(values) {
    this.items = [];
    this.list.replaceChildren();
    for (const value of values) this.#insert(this.items.length, value);
    this.#number();
  }

  untouch() {
    for (const { row } of this.items) row.untouch();
  }

  focusMistake() {
    const wrong = this.items.find(({ row }) => row.isWrong)?.row;
    if (wrong && !wrong.control.focusMistake?.()) wrong.focus();
    return wrong !== undefined;
  }
}

const isEmpty = ({ value, validity }) => value === "" && !validity.badInput;

export function listControl(schema, named, context) {
  const { isRequired, initial } = named;
  const inside = { ...context, depth: context.depth + 1, isItem: true };
  const items = resolve(schema.items, context.root);
  // A row in which nothing is typed is not sent.
  const isRequiredItem = !TYPED.includes(kindOf(items, inside.depth, context.root));
  const make = (value) => {
    const row = new FormRow(items, { name: named.name, label: named.label, isRequired: isRequiredItem }, inside);
    if (value !== undefined && value !== null) row.write(value);
    else if (value === null && items.nullable) row.write(null);
    return { row, isWide: row.control.isWide === true };
  };
  const rows = new ItemRows({ label: named.label, add: "Add", make, moves: true });
  const target = element("div", { id: named.id, class: "form-list", role: "group" }, rows.element);
  const hasDefault = Array.isArray(initial) && initial.length > 0;
  const isEmptyMeant = (count) => count === 0 && (isRequired || hasDefault);
  const read = (shows) => {
    const values = [];
    let mistake;
    rows.items.forEach(({ row }, index) => {
      const { value, error, missing } = row.read(shows);
      if (value !== undefined) values.push(value);
      if (error) mistake ??= { error: `item ${index + 1}: ${error}`, isInside: true };
      else if (missing !== undefined) mistake ??= { missing: missing ? `${index + 1}.${missing}` : String(index + 1), isInside: true };
    });
    if (mistake) return mistake;
    return { value: values.length || isEmptyMeant(rows.items.length) ? values : undefined };
  };
  const keep = (options) => {
    const kept = rows.items.map(({ row }) => row.keep(options)).filter((value) => value !== undefined);
    return kept.length || isEmptyMeant(rows.items.length) ? kept : undefined;
  };
  const write = (value) => {
    const values = listed(value);
    const isAsked = isRequired && value === undefined;
    rows.fill(values.length || !isAsked ? values : [undefined]);
  };
  return {
    element: target, target, labels: "group", isWide: true, read, keep, write,
    untouch: () => rows.untouch(), focusMistake: () => rows.focusMistake(),
  };
}

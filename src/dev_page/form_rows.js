// The rows of a form: a label with its limits, a control, a hint, and what is wrong, each at its place.

import { element, freshId } from "/elements.js";
import { makeControl } from "/form_controls.js";
import { kindOf, limitsOf, lineOf, mistakeIn, resolve, textOf } from "/form_schema.js";

/** How many optional rows stand open. */
const MAX_OPTIONAL = 40;

/** What is shown of a default or an example. */
const MAX_PLACEHOLDER = 60;

/** A hint that may be too long for its three lines. */
const LONG_HINT = 90;

/** Tells of a change that no key or click of a control made. */
export const tellChanged = (node) => node.dispatchEvent(new Event("input", { bubbles: true }));

/** Offers to unfold the hints that are too long for their place. */
const hints = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const isOpen = target.classList.contains("form-hint-open");
    if (!isOpen) target.nextElementSibling.hidden = target.scrollHeight <= target.clientHeight + 1;
  }
});

/** What a field is for, in at most three lines until more is wanted. */
function hintOf(text, id, label) {
  const hint = element("p", { class: "form-hint", id, text });
  if (text.length <= LONG_HINT && text.split("\n").length <= 3) return [hint];
  const more = element("button", { type: "button", class: "form-more", "aria-expanded": "false", "aria-label": `more of ${label}`, text: "more" });
  more.hidden = true;
  more.addEventListener("click", () => {
    const isOpen = hint.classList.toggle("form-hint-open");
    more.textContent = isOpen ? "less" : "more";
    more.setAttribute("aria-label", `${more.textContent} of ${label}`);
    more.setAttribute("aria-expanded", String(isOpen));
  });
  hints.observe(hint);
  return [hint, more];
}

export class FormRow {
  #id = freshId("field");
  #context;
  #mistake;
  #labelElement;
  #marks = [];
  #initial;
  #isEdited = false;
  #isTouched = false;
  #nullButton;
  #clearButton;

  /**
   * @param named name, isRequired, and initial where what contains the field has a value for it
   * @param context the form's: root, depth, options, isItem of a row without a label of its own
   */
  constructor(written, named, context) {
    const schema = resolve(written, context.root);
    this.schema = schema;
    this.name = named.name;
    this.isRequired = named.isRequired && schema.readOnly !== true;
    this.label = textOf(named.label ?? schema.title ?? named.name);
    this.#context = context;
    this.kind = schema.readOnly === true ? "const" : kindOf(schema, context.depth, context.root);
    this.#initial = "initial" in named ? named.initial : schema.default;
    const { label, isRequired } = this;
    const passed = { id: this.#id, label, name: named.name, isRequired, hasDefault: this.#hasDefault, initial: this.#initial };
    this.control = makeControl(this.kind, schema, passed, context);
    this.control.onRetarget = () => this.#bind();
    this.#mistake = element("p", { class: "form-mistake", id: `${this.#id}-mistake`, hidden: true });
    this.element = element("div", { class: context.isItem ? "form-item-body" : "form-row" });
    if (context.depth === 0 && !context.isItem) this.element.dataset.field = named.name;
    if (!context.isItem) this.#addLabel(named);
    else this.element.append(this.control.element, this.#mistake);
    this.#bind();
    this.#prefill();
    this.write(undefined);
    this.element.addEventListener("input", () => {
      this.#isEdited = true;
      this.#noteInput();
    });
    this.element.addEventListener("focusout", ({ relatedTarget }) => {
      if (!this.#isEdited || this.element.contains(relatedTarget)) return;
      this.#isTouched = true;
      this.read();
    });
  }

  get #hasDefault() {
    return this.#initial !== undefined && this.#initial !== null;
  }

  get isSecret() {
    return this.kind === "password";
  }

  /** The label beside or above its control, with what is quiet about it. */
  #addLabel(named) {
    const { schema, control } = this;
    const isBeside = control.labels === "beside" && !control.isWide;
    this.#labelElement = element("label", { id: `${this.#id}-label`, class: "form-label", text: this.label });
    if (this.label.length > 60) this.#labelElement.title = this.label.slice(0, 1000);
    const mark = (text, kind, hides) => text && element("span", { class: `form-mark form-${kind}`, "aria-hidden": hides ? "true" : undefined, text });
    const isAsked = this.isRequired && this.kind !== "const";
    this.#marks = [
      mark(schema.deprecated === true ? "deprecated" : undefined, "deprecated"),
      mark(schema.readOnly === true ? "read-only" : undefined, "limits"),
      mark(limitsOf(schema, this.kind), "limits"),
      mark(isAsked ? "required" : undefined, "required", this.#takesRequired),
    ].filter(Boolean);
    if (control.isClearable && !this.isRequired && !this.#hasDefault) this.#addClear();
    if (control.isNullable && this.#initial !== null) this.#addNull();
    if (schema.deprecated === true) this.element.classList.add("form-is-deprecated");
    const marks = element("span", { class: "form-marks", id: `${this.#id}-marks` }, this.#nullButton, this.#clearButton, this.#marks);
    const isOther = this.label.toLowerCase() !== String(named.name).toLowerCase();
    const alias = isOther ? element("code", { class: "form-name", text: lineOf(String(named.name)) }) : undefined;
    const title = element("span", { class: "form-title" }, this.#labelElement, alias);
    this.element.append(element("div", { class: "form-head" }, isBeside ? control.element : undefined, title, marks));
    const header = schema["x-mcp-header"];
    const also = typeof header === "string" ? `Sent as the header Mcp-Param-${header}, too.` : undefined;
    const hint = [schema.description, also].filter((text) => typeof text === "string" && text !== "").join("\n");
    const parts = hint ? hintOf(hint, `${this.#id}-hint`, this.label) : [];
    this.hasHint = parts.length > 0;
    // A hint beneath a list or an object would be far from its label.
    if (isBeside) this.element.append(this.#mistake, ...parts);
    else if (control.isWide) this.element.append(...parts, control.element, this.#mistake);
    else this.element.append(control.element, this.#mistake, ...parts);
    if (isBeside) this.element.classList.add("form-row-beside");
  }

  get #takesRequired() {
    const { target } = this.control;
    return target.matches("select, textarea, input:not([type=file]), [role=radiogroup]");
  }

  #addNull() {
    this.#nullButton = element("button", {
      type: "button", class: "form-mini", "aria-pressed": "false", "aria-label": `null for ${this.label}`, text: "null",
      onclick: () => {
        this.#setNull(!this.#isNull);
        tellChanged(this.element);
      },
    });
  }

  get #isNull() {
    return this.#nullButton?.getAttribute("aria-pressed") === "true";
  }

  #setNull(isNull) {
    this.#nullButton?.setAttribute("aria-pressed", String(isNull));
    this.element.classList.toggle("form-is-null", isNull);
    this.control.element.inert = isNull;
  }

  #addClear() {
    this.#clearButton = element("button", {
      type: "button", class: "form-mini form-clear", "aria-label": `clear ${this.label}`, text: "clear",
      onclick: () => {
        this.control.write(undefined);
        tellChanged(this.element);
        this.focus();
      },
    });
  }

  /** Names the control, and ties what stands around it to it. */
  #bind() {
    const { target, labels = "for" } = this.control;
    const label = this.#labelElement;
    if (!label) target.setAttribute("aria-label", this.label);
    else if (labels === "group") target.setAttribute("aria-labelledby", label.id);
    else label.htmlFor = target.id;
    if (labels === "group") label?.removeAttribute("for");
    if (this.isRequired && this.#takesRequired) target.setAttribute("aria-required", "true");
    this.#describe();
  }

  #describe() {
    const { target } = this.control;
    const parts = [["mistake", !this.#mistake.hidden], ["hint", this.hasHint], ["marks", this.#marks.length > 0]];
    // A field of several schemas has a row in the row, which describes it, too.
    const others = (target.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && !id.startsWith(`${this.#id}-`));
    const ids = [...parts.filter(([, isShown]) => isShown).map(([part]) => `${this.#id}-${part}`), ...others];
    if (ids.length) target.setAttribute("aria-describedby", ids.join(" "));
    else target.removeAttribute("aria-describedby");
  }

  /** Calls an item by its place in its list. */
  rename(label) {
    this.label = label;
    this.#bind();
  }

  /** What is typed stands in its field where it must be given; elsewhere it is told what is taken without it. */
  #prefill() {
    const { control, schema } = this;
    const initial = this.#initial;
    const isOptional = control.isTyped && !this.isRequired && !this.#context.options.fillsDefaults && !this.#context.isItem;
    if (!isOptional) this.#filled = initial;
    if (!control.placeholder) return;
    const examples = Array.isArray(schema.examples) ? schema.examples : schema.example !== undefined ? [schema.example] : [];
    if (isOptional && initial !== undefined && initial !== null) control.placeholder(`default: ${lineOf(textOf(initial), MAX_PLACEHOLDER)}`);
    else if (examples.length) control.placeholder(`e.g. ${lineOf(examples.slice(0, 2).map(textOf).join(", "), MAX_PLACEHOLDER)}`);
    else if (this.kind === "json") control.placeholder({ array: "[]", object: "{}" }[schema.type] ?? "JSON");
  }

  #filled;

  /** Takes a value; without one, that which stands there at first. */
  write(value) {
    const isInitial = value === undefined;
    const written = isInitial ? this.#filled : value;
    this.#setNull(written === null && this.#nullButton !== undefined);
    this.control.write(this.#isNull || (written === null && this.control.isNullable) ? undefined : written, isInitial);
    this.#noteInput(false);
  }

  /** Forgets that it was typed in, and what was wrong. */
  untouch() {
    this.#isEdited = false;
    this.#isTouched = false;
    this.control.untouch?.();
    this.#show(undefined);
  }

  keep(options = {}) {
    if (this.#isNull) return null;
    return this.isSecret && options.secrets === false ? undefined : this.control.keep(options);
  }

  /** Its value, or what is wrong: `{ value }`, `{ error }` or `{ missing }`, `isInside` if it is told inside of it. */
  read(shows = false) {
    if (shows) this.#isTouched = true;
    const found = this.#found(shows);
    const mistake = found.isInside ? undefined : (found.error ?? (found.missing !== undefined ? "required" : undefined));
    this.#show(this.#isTouched ? mistake : undefined);
    this.isWrong = Boolean(found.error) || found.missing !== undefined;
    return found;
  }

  #found(shows) {
    if (this.#isNull) return { value: null };
    const found = this.control.read(shows);
    if (found.error || found.missing !== undefined) return found;
    if (found.value === undefined) {
      if (!this.isRequired) return {};
      return this.schema.nullable ? { value: null } : { missing: "" };
    }
    const error = mistakeIn(this.schema, found.value);
    return error ? { error } : found;
  }

  #noteInput(reads = true) {
    if (this.#clearButton) this.#clearButton.style.visibility = this.control.keep() === undefined ? "hidden" : "visible";
    if (reads && this.#isTouched) this.read();
  }

  #show(mistake) {
    const { target } = this.control;
    if (mistake !== undefined) {
      this.#mistake.textContent = mistake;
      target.setAttribute("aria-invalid", "true");
    } else if (!this.#mistake.hidden) {
      target.removeAttribute("aria-invalid");
    }
    const isHidden = mistake === undefined;
    if (this.#mistake.hidden === isHidden) return;
    this.#mistake.hidden = isHidden;
    this.element.classList.toggle("form-is-wrong", !isHidden);
    this.#describe();
  }

  /** Goes to its first control. */
  focus() {
    const { target } = this.control;
    const places = "input:not([disabled]):not([type=hidden]), textarea, select, button";
    const place = target.matches(places) ? target : (target.querySelector("input:checked") ?? target.querySelector(places));
    place?.focus();
  }
}

/** The rows of an object. */
export class RowSet {
  rows = [];
  #pristine;

  constructor(schema, context, initial) {
    this.element = element("div", { class: "form-rows" });
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const own = (name) => (typeof initial === "object" && initial !== null && Object.hasOwn(initial, name) ? { initial: initial[name] } : {});
    for (const [name, written] of Object.entries(schema.properties ?? {})) {
      this.rows.push(new FormRow(written, { name, isRequired: required.has(name), ...own(name) }, context));
    }
    const optional = this.rows.filter((row) => !required.has(row.name));
    const folds = optional.length > MAX_OPTIONAL;
    this.element.append(...this.rows.filter((row) => !folds || required.has(row.name)).map((row) => row.element));
    if (folds) {
      const summary = element("summary", { class: "form-summary", text: `Optional (${optional.length})` });
      this.fold = element("details", { class: "form-fold" }, summary, element("div", { class: "form-rows" }, optional.map((row) => row.element)));
      this.fold.open = required.size === 0;
      this.element.append(this.fold);
    }
    this.#pristine = new Map(this.rows.map((row) => [row, JSON.stringify(row.keep())]));
  }

  /** Whether what stands in it is what stood there at first. */
  isDefault() {
    return this.rows.every((row) => this.#isInitial(row, row.keep()));
  }

  #isInitial(row, kept) {
    return JSON.stringify(kept) === this.#pristine.get(row);
  }

  /** What stands in it: with `changed` only what did not stand there at first. */
  keep({ changed = false, ...options } = {}) {
    const kept = this.rows.map((row) => [row.name, row.keep(options), row]);
    const wanted = kept.filter(([, value, row]) => value !== undefined && !(changed && this.#isInitial(row, value)));
    return Object.fromEntries(wanted.map(([name, value]) => [name, value]));
  }

  /** Fills it from an object. What that does not have gets its default. */
  write(values) {
    const given = typeof values === "object" && values !== null ? values : {};
    for (const row of this.rows) row.write(Object.hasOwn(given, row.name) ? given[row.name] : undefined);
    if (this.fold && !this.fold.open) this.fold.open = this.rows.some((row) => this.fold.contains(row.element) && Object.hasOwn(given, row.name));
  }

  untouch() {
    for (const row of this.rows) row.untouch();
  }

  /** The values of all rows that are right, and the first that is wrong: `error`, or `missing` by its name. */
  read(shows) {
    const given = [];
    let first;
    for (const row of this.rows) {
      const { value, error, missing } = row.read(shows);
      if (value !== undefined) given.push([row.name, value]);
      if (first) continue;
      if (error) first = { error: `${row.name}: ${error}` };
      else if (missing !== undefined) first = { missing: missing ? `${row.name}.${missing}` : row.name };
    }
    return { ...first, values: Object.fromEntries(given) };
  }

  /** Goes to the first field that is wrong. */
  focusMistake() {
    const wrong = this.rows.find((row) => row.isWrong);
    if (!wrong) return false;
    if (this.fold?.contains(wrong.element)) this.fold.open = true;
    if (!wrong.control.focusMistake?.()) wrong.focus();
    return true;
  }
}

// A form made from a JSON Schema: types, choices, booleans, numbers, the rest as JSON.

import { element, freshId } from "/elements.js";

const COMPLETION_DELAY_MS = 120;
const MAX_SUGGESTIONS = 12;

/** The type of a field, where its schema says one beside null. */
function typeOf(schema) {
  const types = [schema.type].flat().filter((type) => type && type !== "null");
  return types.length === 1 ? types[0] : types.length ? "json" : schema.enum || schema.oneOf ? "string" : "json";
}

/** The choices of a schema: values with labels. */
function choicesOf(schema) {
  const titled = schema.oneOf ?? schema.anyOf;
  if (titled?.length && titled.every((choice) => "const" in choice)) {
    return titled.map((choice) => ({ value: choice.const, label: choice.title ?? text(choice.const) }));
  }
  const names = schema.enumNames ?? [];
  return schema.enum?.map((value, index) => ({ value, label: names[index] ?? text(value) }));
}

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** Several choices at once. */
const manyChoicesOf = (schema) =>
  schema.type === "array" ? choicesOf({ ...schema.items, oneOf: schema.items?.oneOf ?? schema.items?.anyOf }) : undefined;

export class SchemaForm {
  #fields = new Map();

  /**
   * @param schema an object schema
   * @param options.complete (name, value, others) => Promise of values
   * @param options.texts whether all values are sent as texts, as those of prompts are
   * @param options.onInput is called when a value changes
   * @param options.values those that were there before
   */
  constructor(schema, options = {}) {
    this.options = options;
    this.element = element("div", {});
    const required = new Set(schema.required ?? []);
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      const written = typeof field === "object" && field !== null ? field : {};
      this.#addField(name, written, required.has(name));
    }
    if (this.#fields.size === 0) this.element.append(element("p", { class: "dim", text: "No arguments." }));
  }

  #addField(name, schema, isRequired) {
    const id = freshId("field");
    const hint = [schema.title !== undefined ? name : undefined, schema.description, describeLimits(schema)];
    const hintText = hint.filter(Boolean).join(" · ");
    const hintId = hintText ? `${id}-hint` : undefined;
    const field = makeField(schema, { id, name, isRequired, hintId });
    const label = element("label", { for: id }, schema.title ?? name);
    if (isRequired) label.append(element("span", { class: "required", "aria-hidden": "true", text: " *" }));
    const row = element("div", { class: "field" });
    if (field.control.type === "checkbox") row.append(field.control, " ", label);
    else row.append(label, field.control);
    if (hintText) row.append(element("span", { class: "hint", id: hintId, text: hintText }));
    this.element.append(row);
    this.#fields.set(name, { ...field, isRequired });
    field.write(this.options.values?.[name] ?? schema.default);
    field.control.addEventListener("input", () => this.options.onInput?.());
    if (this.options.complete && field.completes) this.#addCompletion(name, field.control, row);
  }

  /** Offers what completes a field while one is in it. */
  #addCompletion(name, control, row) {
    const offered = element("div", { class: "actions", role: "group", "aria-label": `Suggestions for ${name}`, hidden: true });
    row.append(offered);
    let timer;
    let number = 0;
    const take = (value) => {
      control.value = value;
      offered.hidden = true;
      control.dispatchEvent(new Event("input"));
      clearTimeout(timer);
      control.focus();
    };
    const complete = async () => {
      const mine = (number += 1);
      const values = await this.options.complete(name, control.value, this.texts()).catch(() => []);
      if (mine !== number || !row.contains(document.activeElement)) return;
      const others = values.filter((value) => value !== control.value).slice(0, MAX_SUGGESTIONS);
      const button = (value) => element("button", { type: "button", text: value, onclick: () => take(value) });
      offered.replaceChildren(...others.map(button));
      offered.hidden = others.length === 0;
    };
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(complete, COMPLETION_DELAY_MS);
    };
    control.addEventListener("input", later);
    control.addEventListener("focus", later);
    row.addEventListener("keydown", (event) => event.key === "Escape" && (offered.hidden = true));
    row.addEventListener("focusout", (event) => row.contains(event.relatedTarget) || (offered.hidden = true));
  }

  /** What stands in the fields, to be kept. */
  kept() {
    const kept = {};
    for (const [name, field] of this.#fields) kept[name] = field.keep();
    return kept;
  }

  /** The values as texts, of those that are given. */
  texts() {
    const given = Object.entries(this.kept()).filter(([, value]) => value !== undefined && value !== "");
    return Object.fromEntries(given.map(([name, value]) => [name, text(value)]));
  }

  /** The values, or the name of the first field that is wrong, and why. */
  read() {
    const values = {};
    for (const [name, field] of this.#fields) {
      const { value, error } = field.read();
      field.control.setAttribute("aria-invalid", String(Boolean(error)));
      if (error) return { error: `${name}: ${error}` };
      if (value === undefined && field.isRequired) return { missing: name };
      if (value !== undefined) values[name] = this.options.texts ? text(value) : value;
    }
    return { values };
  }
}

/** The limits that a schema sets, in words. */
function describeLimits(schema) {
  const type = [schema.type].flat().join(" or ");
  const limits = [
    ["minimum", "≥ "], ["exclusiveMinimum", "> "], ["maximum", "≤ "], ["exclusiveMaximum", "< "],
    ["minLength", "length ≥ "], ["maxLength", "length ≤ "], ["pattern", "matches "], ["format", ""],
  ];
  const found = limits.filter(([key]) => schema[key] !== undefined).map(([key, words]) => words + text(schema[key]));
  return [type && type !== "string" ? type : "", ...found].filter(Boolean).join(", ");
}

function makeField(schema, named) {
  const { id, name, isRequired, hintId } = named;
  const common = { id, name, "aria-describedby": hintId, "aria-required": isRequired ? "true" : undefined };
  const many = manyChoicesOf(schema);
  if (many?.length) return manyField(many, common);
  const choices = choicesOf(schema);
  if (choices?.length) return choiceField(choices, common, isRequired);
  switch (typeOf(schema)) {
    case "boolean":
      if (isRequired || schema.default !== undefined) return booleanField(common);
      return choiceField([true, false].map((value) => ({ value, label: String(value) })), common, isRequired);
    case "integer":
    case "number":
      return numberField(schema, common);
    case "string":
      return textField(common);
    default:
      return jsonField(schema, common);
  }
}

function textField(common) {
  const control = element("textarea", { ...common, rows: 1, spellcheck: "false", autocomplete: "off" });
  const grow = () => (control.rows = Math.min(12, control.value.split("\n").length));
  control.addEventListener("input", grow);
  const read = () => ({ value: control.value === "" ? undefined : control.value });
  const write = (value) => {
    control.value = value === undefined ? "" : text(value);
    grow();
  };
  return { control, read, write, keep: () => control.value || undefined, completes: true };
}

function numberField(schema, common) {
  const step = schema.type === "integer" ? 1 : "any";
  const control = element("input", { ...common, type: "number", step, min: schema.minimum, max: schema.maximum });
  const read = () => {
    if (control.validity.badInput) return { error: "not a number" };
    return { value: control.value === "" ? undefined : Number(control.value) };
  };
  const write = (value) => void (control.value = value ?? "");
  return { control, read, write, keep: () => read().value };
}

function booleanField(common) {
  const control = element("input", { ...common, type: "checkbox" });
  const read = () => ({ value: control.checked });
  const write = (value) => void (control.checked = value === true || value === "true");
  return { control, read, write, keep: () => control.checked };
}

function choiceField(choices, common, isRequired) {
  const options = choices.map(({ label }, index) => element("option", { value: index, text: label }));
  const control = element("select", common, element("option", { value: "", text: isRequired ? "choose…" : "" }), ...options);
  const read = () => ({ value: control.value === "" ? undefined : choices[Number(control.value)].value });
  const write = (value) => {
    const index = choices.findIndex((choice) => text(choice.value) === text(value));
    control.value = index < 0 ? "" : String(index);
  };
  return { control, read, write, keep: () => read().value };
}

function manyField(choices, common) {
  const options = choices.map(({ label }, index) => element("option", { value: index, text: label }));
  const control = element("select", { ...common, multiple: true }, ...options);
  const chosen = () => Array.from(control.selectedOptions, (option) => choices[Number(option.value)].value);
  const read = () => ({ value: chosen().length ? chosen() : undefined });
  const write = (value) => {
    const wanted = new Set([value ?? []].flat().map(text));
    options.forEach((option, index) => (option.selected = wanted.has(text(choices[index].value))));
  };
  return { control, read, write, keep: () => read().value };
}

/** Lists, objects and what has several types: JSON, or a text where that is allowed. */
function jsonField(schema, common) {
  const control = element("textarea", { ...common, rows: 3, spellcheck: "false", placeholder: "JSON" });
  const allowsText = [schema.type].flat().includes("string") || schema.type === undefined;
  const read = () => {
    if (control.value.trim() === "") return { value: undefined };
    try {
      return { value: JSON.parse(control.value) };
    } catch (error) {
      return allowsText ? { value: control.value } : { error: `not JSON: ${error.message}` };
    }
  };
  const write = (value) => {
    control.value = value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value, null, 2);
  };
  return { control, read, write, keep: () => control.value || undefined };
}

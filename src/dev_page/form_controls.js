// The controls of a form: one for each kind of value, all with the same ways to read and write.
//
// A control is an object: `element` to show, `target` that is named and described (`labels` by a label "for" it, "beside" it, or
// as a "group"), `read(shows)` → `{ value }`, `{ error }` or nothing given, `write(value)`, `keep()` of what stands there.

import { element } from "/elements.js";
import { checkbox, chips, segments, selection } from "/form_choices.js";
import { fileControl } from "/form_files.js";
import { jsonControl } from "/form_json.js";
import { listControl } from "/form_lists.js";
import { objectControl, variantsControl } from "/form_objects.js";
import { choicesOf, resolve, textOf } from "/form_schema.js";

/** Makes the control of a kind. */
export function makeControl(kind, schema, named, context) {
  const isNullable = schema.nullable === true;
  if (context.isItem && isNullable && !["segments", "select", "boolean", "variants"].includes(kind)) {
    const { nullable: _, ...other } = schema;
    return variantsControl({ anyOf: [other, { type: "null", const: null, title: "null" }] }, named, context);
  }
  const control = made(kind, schema, named, context);
  control.isNullable = isNullable && !["boolean", "segments", "select", "const"].includes(kind);
  return control;
}

function made(kind, schema, named, context) {
  const withNull = (choices) =>
    schema.nullable && named.isRequired && !choices.some(({ value }) => value === null) ? [...choices, { value: null, label: "null" }] : choices;
  switch (kind) {
    case "const": {
      const isChoice = !named.isRequired && schema.readOnly !== true;
      return isChoice ? segments([{ value: schema.const, label: textOf(schema.const) }], named) : fixedControl(schema, named);
    }
    case "segments":
      return segments(withNull(choicesOf(schema)), named);
    case "select":
      return selection(withNull(choicesOf(schema)), named);
    case "boolean":
      return booleanControl(schema, named);
    case "chips":
      return chips(choicesOf(resolve(schema.items, context.root)), named);
    case "number":
      return numberControl(schema, named);
    case "date":
      return dateControl(schema, named);
    case "password":
      return passwordControl(named);
    case "email":
    case "url":
      return lineControl(named, { type: kind, inputmode: kind });
    case "file":
      return fileControl(schema, named);
    case "list":
      return listControl(schema, named, context);
    case "object":
      return objectControl(schema, named, context);
    case "variants":
      return variantsControl(schema, named, context);
    case "json":
      return jsonControl(schema, named, context);
    default:
      return textControl(named);
  }
}

/** A check box where there is one of two; else three states, as nothing is a state of its own. */
function booleanControl(schema, named) {
  if ((named.isRequired || named.hasDefault) && !schema.nullable) return checkbox(named);
  const nothing = named.isRequired ? { value: null, label: "null" } : { value: undefined, label: "unset" };
  return segments([nothing, { value: true, label: "true" }, { value: false, label: "false" }], named);
}

const GROWS = globalThis.CSS?.supports("field-sizing", "content");
const MAX_ROWS = 12;

/** A text of one line, that grows with what is typed. */
function textControl({ id }) {
  const target = element("textarea", { id, class: "form-text", rows: 1, spellcheck: "false", autocomplete: "off" });
  const grow = () => {
    if (GROWS) return;
    target.rows = 1;
    const lines = Math.floor((target.scrollHeight || 0) / 20);
    target.rows = Math.max(1, Math.min(MAX_ROWS, Math.max(lines, target.value.split("\n").length)));
  };
  target.addEventListener("input", grow);
  const write = (value) => {
    target.value = value === undefined ? "" : textOf(value);
    grow();
  };
  return { ...typed(target), write, completes: true };
}

/** What all have in which one types. */
function typed(target) {
  const given = () => (target.value === "" ? undefined : target.value);
  return {
    element: target, target, isTyped: true, keep: given,
    read: () => ({ value: given() }),
    write: (value) => void (target.value = value === undefined ? "" : textOf(value)),
    placeholder: (text) => void (target.placeholder = text),
  };
}

/** A text of one line. */
function lineControl({ id }, properties) {
  return typed(element("input", { id, class: "form-line", autocomplete: "off", spellcheck: "false", ...properties }));
}

function numberControl(schema, named) {
  const step = schema.multipleOf ?? (schema.type === "integer" ? 1 : "any");
  const control = lineControl(named, { type: "number", step, min: schema.minimum, max: schema.maximum });
  const { target } = control;
  const read = () => {
    if (target.validity.badInput) return { error: "not a number" };
    return { value: target.value === "" ? undefined : Number(target.value) };
  };
  const write = (value) => {
    const isNumber = value !== undefined && value !== "" && Number.isFinite(Number(value));
    target.value = isNumber ? String(Number(value)) : "";
  };
  return { ...control, read, write, keep: () => read().value };
}

/** A text that is not shown until that is wanted. */
function passwordControl(named) {
  const control = lineControl(named, { type: "password", autocomplete: "new-password" });
  const { target } = control;
  const show = element("button", { type: "button", class: "form-inside", "aria-label": `Show ${named.label}`, text: "Show" });
  show.addEventListener("click", () => {
    const isShown = target.type === "password";
    target.type = isShown ? "text" : "password";
    show.textContent = isShown ? "Hide" : "Show";
    show.setAttribute("aria-label", `${show.textContent} ${named.label}`);
  });
  return { ...control, element: element("div", { class: "form-with-button" }, target, show), placeholder: undefined };
}

/** A day, a time, or both. What no picker can show is a text. */
function dateControl(schema, named) {
  const type = { date: "date", time: "time" }[schema.format] ?? "datetime-local";
  const control = lineControl(named, { type });
  const { target } = control;
  const isPicked = () => target.type === type;
  const read = () => {
    if (isPicked() && target.validity.badInput) return { error: "not whole" };
    if (target.value === "") return {};
    return { value: isPicked() ? toRfc3339(type, target.value) : target.value };
  };
  const write = (value) => {
    const local = value === undefined ? "" : fromRfc3339(type, textOf(value));
    target.type = local === undefined ? "text" : type;
    target.value = local ?? textOf(value);
  };
  return { ...control, isTyped: false, read, write, keep: () => read().value };
}

const twoDigits = (number) => String(number).padStart(2, "0");

/** What a picker holds, as RFC 3339: moments in UTC. */
function toRfc3339(type, value) {
  if (type === "date") return value;
  if (type === "time") return `${value.length === 5 ? `${value}:00` : value}Z`;
  const moment = new Date(value);
  return Number.isNaN(moment.getTime()) ? value : moment.toISOString().replace(".000Z", "Z");
}

/** What a picker shows of RFC 3339, if it can. */
function fromRfc3339(type, text) {
  if (text === "") return "";
  if (type === "date") return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined;
  if (type === "time") return /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?(Z|\+00:00)?$/i.exec(text)?.[0].replace(/(Z|\+00:00)$/i, "");
  const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d/i.test(text) ? new Date(text) : undefined;
  if (!moment || Number.isNaN(moment.getTime())) return undefined;
  const day = [String(moment.getFullYear()).padStart(4, "0"), twoDigits(moment.getMonth() + 1), twoDigits(moment.getDate())].join("-");
  const seconds = moment.getSeconds() ? `:${twoDigits(moment.getSeconds())}` : "";
  return `${day}T${twoDigits(moment.getHours())}:${twoDigits(moment.getMinutes())}${seconds}`;
}

/** A value that is settled. */
function fixedControl(schema, named) {
  const value = "const" in schema ? schema.const : named.initial;
  const text = value === undefined ? "" : textOf(value);
  const target = element("textarea", { id: named.id, class: "form-text form-fixed", rows: 1, readonly: true });
  target.value = text;
  const isSent = schema.readOnly !== true && named.isRequired;
  const read = () => ({ value: isSent ? schema.const : undefined });
  return { element: target, target, read, write: () => undefined, keep: () => read().value };
}

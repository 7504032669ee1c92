// Objects as forms in the form, keys that one names oneself, and values of one of several schemas.

import { element, freshId } from "/elements.js";
import { ItemRows } from "/form_lists.js";
import { FormRow, RowSet, tellChanged } from "/form_rows.js";
import { choicesOf, fits, isOfType, kindOf, otherKeysOf, resolve, variantName } from "/form_schema.js";

/** From which depth an optional object stands closed until it is wanted. */
const CLOSED_DEPTH = 2;

/** How many optional objects of a form stand open. */
const MAX_OPEN = 30;

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** An object that may be written as JSON, as prompts have it. */
function parsedObject(value) {
  if (typeof value !== "string") return isObject(value) ? value : undefined;
  try {
    return parsedObject(JSON.parse(value));
  } catch {
    return undefined;
  }
}

export function objectControl(schema, named, context) {
  const isOptional = !named.isRequired;
  const state = context.state;
  const closes = isOptional && (context.depth >= CLOSED_DEPTH || (state.open += 1) > MAX_OPEN);
  const target = element("div", { id: named.id, class: "form-object", role: "group" });
  const others = otherKeysOf(schema);
  let rows;
  let keys;
  const open = () => {
    if (rows) return;
    const inside = { ...context, depth: context.depth + 1, isItem: false };
    rows = new RowSet(schema, inside, named.initial);
    target.classList.toggle("form-is-flat", rows.rows.length === 0);
    if (others !== undefined) keys = keyRows(others, named, context);
    target.replaceChildren(...[rows.rows.length ? rows.element : undefined, keys?.element, closes ? close : undefined].filter(Boolean));
  };
  const shut = () => {
    rows = undefined;
    keys = undefined;
    target.classList.add("form-is-flat");
    target.replaceChildren(add);
  };
  const turn = (change) => {
    change();
    target.querySelector("input, textarea, select, button")?.focus();
    tellChanged(target);
  };
  const button = (kind, words, change) =>
    element("button", { type: "button", class: kind, "aria-label": `${words} ${named.label}`, text: words, onclick: () => turn(change) });
  const add = button("form-add", "Add", open);
  const close = button("form-add form-unset", "Leave out", shut);
  if (closes) shut();
  else open();
  const isUnset = () => !rows || (isOptional && !closes && rows.isDefault() && !keys?.items.length);
  const read = (shows) => {
    if (isUnset()) {
      rows?.untouch();
      return {};
    }
    const { values, error, missing } = rows.read(shows);
    if (error) return { error, isInside: true };
    const more = keys?.read(shows) ?? { entries: [] };
    if (more.error) return more;
    const value = Object.fromEntries([...Object.entries(values), ...(more.entries ?? [])]);
    const absent = missing ?? more.missing;
    return absent === undefined ? { value } : { missing: absent, isInside: true, given: value };
  };
  const keep = (options) =>
    isUnset() ? undefined : Object.fromEntries([...Object.entries(rows.keep(options)), ...(keys?.keep(options) ?? [])]);
  const write = (written, isInitial) => {
    const value = parsedObject(written);
    if (value === undefined && closes) return shut();
    open();
    rows.write(isInitial ? undefined : value);
    const known = new Set(rows.rows.map(({ name }) => name));
    keys?.fill(Object.entries(value ?? {}).filter(([name]) => !known.has(name)));
  };
  return {
    element: target, target, labels: "group", isWide: true, read, keep, write,
    rows: () => rows?.rows ?? [],
    untouch: () => (rows?.untouch(), keys?.untouch()),
    focusMistake: () => Boolean(rows?.focusMistake() || keys?.focusMistake()),
  };
}

/** Keys with their values. */
function keyRows(schema, named, context) {
  const inside = { ...context, depth: context.depth + 1, isItem: true };
  const make = (entry) => {
    const [name, value] = entry ?? ["", undefined];
    const row = new FormRow(schema, { name: named.name, label: named.label, isRequired: true }, inside);
    if (value !== undefined) row.write(value);
    const input = element("input", {
      type: "text", class: "form-line form-key", "aria-label": `Key in ${named.label}`, placeholder: "key",
      autocomplete: "off", spellcheck: "false",
    });
    input.value = name;
    return { row, head: element("div", { class: "form-item-head" }, input), input, isWide: row.control.isWide === true };
  };
  const rows = new ItemRows({ label: named.label, add: "Add a key", make, moves: false });
  rows.read = (shows) => {
    const entries = new Map();
    let mistake;
    for (const { row, input } of rows.items) {
      const { value, error, missing } = row.read(shows);
      const name = input.value;
      if (name === "" && value === undefined && !error) continue;
      if (name === "") mistake ??= { error: "a value has no key" };
      else if (entries.has(name)) mistake ??= { error: `the key ${name} is there twice` };
      else if (error) mistake ??= { error: `${name}: ${error}`, isInside: true };
      else if (missing !== undefined) mistake ??= { missing: missing ? `${name}.${missing}` : name, isInside: true };
      else entries.set(name, value);
    }
    return mistake ?? { entries: [...entries] };
  };
  rows.keep = (options) => {
    const kept = rows.items.map(({ row, input }) => [input.value, row.keep(options)]);
    return kept.filter(([name, value]) => name !== "" && value !== undefined);
  };
  return rows;
}

/** A choice of schemas, and the control of the one that is chosen. */
export function variantsControl(schema, named, context) {
  const { oneOf, anyOf, ...base } = schema;
  const resolved = (oneOf ?? anyOf).map((written) => resolve(written, context.root));
  const variants = resolved.map((variant) => {
    const isLarger = base.properties && (variant.properties || variant.type === undefined);
    const type = variant.type ?? (isLarger ? "object" : base.type);
    const properties = isLarger ? { ...base.properties, ...variant.properties } : variant.properties;
    const required = isLarger ? [...(base.required ?? []), ...(variant.required ?? [])] : variant.required;
    return { ...variant, ...(type && { type }), ...(properties && { properties, required }), description: undefined };
  });
  const names = resolved.map(variantName);
  const label = (name, index) => (names.indexOf(name) === index && names.lastIndexOf(name) === index ? name : `${name} ${index + 1}`);
  const kinds = variants.map((variant) => kindOf(variant, context.depth + 1, context.root));
  const isSettled = (index) => kinds[index] === "const" || (kinds[index] === "segments" && choicesOf(variants[index])?.length === 1);
  const startsUnset = isSettled(0) && !named.isRequired;
  const options = names.map((name, index) => element("option", { value: index, text: label(name, index) }));
  const unset = startsUnset ? element("option", { value: "", text: "unset" }) : undefined;
  const select = element("select", { id: named.id, class: "form-select", "aria-label": `Kind of ${named.label}` }, unset, options);
  const body = element("div", { class: "form-variant" });
  const box = element("div", { class: "form-variants" }, element("div", { class: "form-select-box" }, select), body);
  const inside = { ...context, depth: context.depth + 1, isItem: true };
  let row;
  const nothing = { target: select, labels: "for" };
  const control = {
    element: box, isWide: true,
    get target() {
      return row ? row.control.target : nothing.target;
    },
    get labels() {
      return row ? row.control.labels : nothing.labels;
    },
    read: (shows) => {
      if (!row) return {};
      const found = row.read(shows);
      return found.error || found.missing !== undefined ? { ...found, isInside: true } : found;
    },
    keep: (keepOptions) => row?.keep(keepOptions),
    untouch: () => row?.untouch(),
    focusMistake: () => row?.isWrong && (row.control.focusMistake?.() || (row.focus(), true)),
  };
  /** Shows the control of a variant. */
  const choose = (index, value) => {
    select.value = index < 0 ? "" : String(index);
    row = undefined;
    body.replaceChildren();
    if (index >= 0 && variants[index]) {
      const isRequired = named.isRequired || isSettled(index);
      row = new FormRow(variants[index], { name: named.name, label: named.label, isRequired }, inside);
      row.control.target.id ||= freshId("field");
      if (value !== undefined) row.write(value);
      // What is settled by its choice needs no field.
      if (!isSettled(index)) body.append(row.element);
    }
    body.hidden = body.childElementCount === 0;
    if (isSettled(index)) {
      const settled = row;
      row = { ...emptyRow, read: () => settled.read(), keep: () => settled.keep(), control: nothing };
    }
    control.onRetarget?.();
  };
  control.write = (value) => {
    if (value === undefined) return choose(startsUnset ? -1 : 0);
    const whole = variants.findIndex((variant) => fits(variant, value, context.root));
    const found = whole < 0 ? variants.findIndex((variant) => isOfType(variant, value)) : whole;
    choose(found < 0 ? Math.max(0, Number(select.value)) : found, value);
  };
  select.addEventListener("input", () => {
    const before = row?.kind;
    const kept = before && row.keep();
    const index = select.value === "" ? -1 : Number(select.value);
    choose(index, before === "object" && kinds[index] === "object" ? kept : undefined);
  });
  choose(startsUnset ? -1 : 0);
  return control;
}

/** What a row has that shows nothing. */
const emptyRow = { untouch: () => undefined, focus: () => undefined, isWrong: false };

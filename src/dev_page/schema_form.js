// A form made from a JSON Schema.

import { element } from "/elements.js";
import { addCompletion } from "/form_completion.js";
import { objectControl, variantsControl } from "/form_objects.js";
import { kindOf, lineOf, resolve, textOf } from "/form_schema.js";

const PLACES = "input, textarea, select, button";

export class SchemaForm {
  #root;
  #schema;
  #written;
  #options;
  #pristine;

  /**
   * @param schema an object schema
   * @param options.complete (name, value, others) => Promise of values
   * @param options.texts whether all values are sent as texts, as those of prompts are
   * @param options.onInput is called when a value changes
   * @param options.values those that were there before
   * @param options.fillsDefaults whether defaults stand in the fields, where nobody else would add them
   */
  constructor(schema, options = {}) {
    this.#options = options;
    this.#written = schema ?? {};
    this.#schema = resolve(this.#written, this.#written);
    const context = { root: this.#written, depth: -1, options, state: { open: 0 } };
    const named = { label: "the arguments", isRequired: true };
    const isVariants = kindOf(this.#schema, 0, this.#written) === "variants";
    this.#root = isVariants ? variantsControl(this.#schema, named, context) : objectControl(this.#schema, named, context);
    if (!isVariants) this.#root.target.removeAttribute("role");
    this.element = element("div", { class: "form" }, this.#root.element);
    if (this.#root.element.childElementCount === 0) {
      this.#root.element.append(element("p", { class: "form-nothing", text: "No arguments." }));
    }
    if (options.complete) {
      for (const row of this.#root.rows?.() ?? []) {
        if (row.control.completes) addCompletion(row, (value) => options.complete(row.name, value, this.texts()));
      }
    }
    this.#pristine = JSON.stringify(this.kept());
    if (options.values && Object.keys(options.values).length) this.write(options.values);
    this.element.addEventListener("input", () => options.onInput?.());
  }

  /**
   * What stands in the fields and is no default, to be kept: a default that changes is seen then. Without `secrets` what must not be
   * shown is left out.
   */
  kept({ secrets = true } = {}) {
    return this.#root.keep({ secrets, changed: true }) ?? {};
  }

  /** The values as texts, of those that are given. */
  texts() {
    const given = Object.entries(this.#root.keep() ?? {}).filter(([, value]) => value !== undefined && value !== "");
    return Object.fromEntries(given.map(([name, value]) => [name, textOf(value)]));
  }

  /**
   * The values, or the name of the first field that is wrong, and why: `{ values }`, `{ error }`, or `{ missing, given }` with what
   * is given beside. Mistakes are shown at fields that were touched; at all of them if `shows` is set.
   */
  read({ shows = false } = {}) {
    const { value = {}, error, missing, given = {} } = this.#root.read(shows);
    if (error) return { error };
    if (missing !== undefined) return { missing, given: this.#sent(given) };
    return { values: this.#sent(value) };
  }

  #sent(values) {
    if (!this.#options.texts) return values;
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textOf(value)]));
  }

  /** Fills it from an object; what that does not have gets its default. */
  write(values) {
    this.#root.write(values ?? {});
    this.#root.untouch();
  }

  /** Back to the defaults. */
  reset() {
    this.#root.write({}, true);
    this.#root.untouch();
    this.#options.onInput?.();
  }

  isDefault() {
    return JSON.stringify(this.kept()) === this.#pristine;
  }

  /** Goes to the first field that is wrong, as the last `read` found. Whether there is one. */
  focusMistake() {
    return Boolean(this.#root.focusMistake());
  }

  /** Goes to the first field. Whether there is one. */
  focus() {
    const first = this.element.querySelector("input:checked, input:not([type=file]), textarea, select, button.form-chip");
    first?.focus();
    return Boolean(first);
  }

  /** Where the focus is, to be given to `focusAt` of a form that takes the place of this one. */
  focusPlace() {
    const active = document.activeElement;
    if (!this.element.contains(active)) return undefined;
    const row = this.#outerRow(active);
    if (!row) return undefined;
    const index = Array.from(row.querySelectorAll(PLACES)).indexOf(active);
    const { selectionStart: from, selectionEnd: to } = active.matches("textarea") ? active : {};
    return { name: row.dataset.field, index, from, to };
  }

  #outerRow(node) {
    return Array.from(this.element.querySelectorAll("[data-field]")).find((row) => row.contains(node));
  }

  focusAt(place) {
    const row = Array.from(this.element.querySelectorAll("[data-field]")).find(({ dataset }) => dataset.field === place?.name);
    const places = row ? Array.from(row.querySelectorAll(PLACES)) : [];
    const found = places[place?.index] ?? places[0];
    found?.focus();
    if (place?.from !== undefined && found?.matches("textarea")) found.setSelectionRange(place.from, place.to);
  }

  /** The values in a few words each, with the labels of their fields: `[[label, text]]`. What must not be shown is not. */
  summary() {
    const { values = {} } = this.read();
    return Object.entries(values).map(([name, value]) => {
      const properties = this.#schema.properties ?? {};
      const schema = resolve(Object.hasOwn(properties, name) ? properties[name] : {}, this.#written);
      const kind = kindOf(schema, 0, this.#written);
      const text = kind === "password" ? "••••••" : kind === "file" ? `file, ${value.length} characters of base64` : lineOf(textOf(value), 200);
      return [textOf(schema.title ?? name), text];
    });
  }
}

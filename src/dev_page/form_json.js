// Values that have no control of their own, written as JSON, with the place of what is wrong in it.

import { element } from "/elements.js";

/** The parts of JSON, from where one is looked for. */
const SPACE = /[ \t\n\r]*/y;
const SCALAR = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const NAME = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

/** Where a text ceases to be JSON. */
function mistakeAt(text) {
  let at = 0;
  const open = [];
  const take = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found !== null;
  };
  const takes = (letter) => {
    take(SPACE);
    if (text[at] !== letter) return false;
    at += 1;
    return true;
  };
  const name = () => (take(SPACE), take(NAME) && takes(":"));
  while (at <= text.length) {
    take(SPACE);
    if (takes("[")) {
      if (!takes("]")) {
        open.push("]");
        continue;
      }
    } else if (takes("{")) {
      if (!takes("}")) {
        if (!name()) return at;
        open.push("}");
        continue;
      }
    } else if (!take(SCALAR)) {
      return at;
    }
    while (open.length && takes(open.at(-1))) open.pop();
    if (open.length === 0) return (take(SPACE), at);
    if (!takes(",") || (open.at(-1) === "}" && !name())) return at;
  }
  return at;
}

/** JSON in a text: its value, or what is wrong and where. */
function parseJson(text) {
  try {
    return { value: JSON.parse(text) };
  } catch {
    const at = mistakeAt(text);
    const lines = text.slice(0, at).split("\n");
    const place = `line ${lines.length}, column ${Array.from(lines.at(-1)).length + 1}`;
    const words = at >= text.trimEnd().length ? `ends too early at ${place}` : `at ${place}`;
    return { error: `not JSON: ${words}` };
  }
}

/** A text area of JSON, or of any text where the schema allows one. */
export function jsonControl(schema, named, { options }) {
  const allowsText = schema.type === undefined;
  const target = element("textarea", { id: named.id, class: "form-text form-json", rows: 2, spellcheck: "false", autocomplete: "off" });
  const parse = () => {
    const parsed = parseJson(target.value);
    // What begins like JSON is meant as JSON.
    return parsed.error && allowsText && !/^\s*[[{"]/.test(target.value) ? { value: target.value } : parsed;
  };
  const read = () => (target.value.trim() === "" ? {} : parse());
  // A text that is JSON, too, is quoted, so that it stays a text.
  const written = (value) => (allowsText && !options.texts && parseJson(value).error === undefined ? JSON.stringify(value) : value);
  const write = (value) => {
    target.value = value === undefined ? "" : typeof value === "string" ? written(value) : JSON.stringify(value, null, 2);
  };
  const keep = () => (target.value.trim() === "" ? undefined : (parseJson(target.value).value ?? target.value));
  return { element: target, target, read, write, keep, isTyped: true, placeholder: (text) => (target.placeholder = text) };
}

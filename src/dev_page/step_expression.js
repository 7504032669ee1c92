// The expressions that read a part of what a step left: in a template, and for `select`.

/** What a name has in a template without brackets. */
const SYMBOLS = /^[A-Za-z0-9_$:\u0080-\uffff-]+$/;
/** What cannot stand between brackets, or would end the tag for some of those who read it. */
const UNBRACKETED = /[\]{}\n\r]/;

/** A step that has no id has its number. */
export const hasId = (id) => typeof id === "string" && id !== "" && !/^\d+$/.test(id);

/** A path of a template: `steps.draft.[odd key].0`, with `lookup` for keys that no path can have. */
function templatePath(root, path) {
  let read = root;
  let isCall = false;
  for (const key of path) {
    const name = String(key);
    if (name === "" || UNBRACKETED.test(name) || isCall) {
      read = `lookup ${isCall ? `(${read})` : read} ${typeof key === "number" ? key : JSON.stringify(name)}`;
      isCall = true;
    } else {
      read += SYMBOLS.test(name) && name !== "this" ? `.${name}` : `.[${name}]`;
    }
  }
  return { read, isCall };
}

/** A path of JMESPath. */
const selectPath = (path) =>
  path.reduce((read, key) => {
    if (typeof key === "number") return `${read}[${key}]`;
    const name = /^[A-Za-z_][A-Za-z0-9_]*$/.test(key) ? key : JSON.stringify(key);
    return read ? `${read}.${name}` : name;
  }, "");

/** A text as YAML has it, in quotes where it must. */
const inYaml = (text) => (/^[A-Za-z_][\w.[\]-]*$/.test(text) ? text : `'${text.replaceAll("'", "''")}'`);

/**
 * How a value that a step left is read.
 *
 * @param step the row of the step; @param isAlone whether `run` is this one action; @param path the keys that lead to the value
 * @returns `[{ label, text, tries }]`: `tries` is what evaluates it; empty where the step has no id to read it by
 */
export function expressionsFor({ step, isAlone, path, value }) {
  const named = hasId(step.id);
  if (!named && !isAlone) return [];
  const { read, isCall } = templatePath(named ? `steps.${step.id}` : "result", path);
  const template = `{{${read}}}`;
  const expressions = [{ label: "Template", text: template, tries: { template } }];
  if (value !== null && typeof value === "object") {
    const json = `{{json ${isCall ? `(${read})` : read}}}`;
    expressions.push({ label: "In a text", text: json, tries: { template: json } });
  }
  const select = selectOf(step, named, path);
  if (select) expressions.push({ label: "Select", text: `select: ${inYaml(select)}`, tries: { select } });
  return expressions;
}

/** With steps `select` reads all of them by their ids; of one action without an id, the JSON of what it left. */
function selectOf(step, named, path) {
  if (named) return selectPath([step.id, ...path]);
  return path[0] === "json" ? selectPath(path.slice(1)) || "@" : undefined;
}

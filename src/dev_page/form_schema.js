// What a JSON Schema says of a field: its control, its choices, its limits, and what is wrong with a value.

/** How many references lead from one to another. */
const MAX_REFERENCES = 32;

/** How deep lists and objects have controls of their own. Beneath, they are JSON. */
const MAX_DEPTH = 4;

/** What a text has at most to be tried against a pattern. */
const MAX_MATCHED = 10_000;

/** The choices that are shown as buttons, and the letters that they have together. */
const MAX_SEGMENTS = 4;
const SEGMENTS_WIDTH = 40;

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** A value as a text: a text as it is, the rest as JSON. */
export const textOf = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

/** A text on one line, cut where it is too long to be read there. */
export function lineOf(text, most = 80) {
  const line = text.slice(0, most * 2).replace(/\s+/g, " ").trim();
  return line.length > most || text.length > most * 2 ? `${line.slice(0, most)}…` : line;
}

const own = (object, key) => (isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined);

/** What `#/…` names. */
function atPointer(root, reference) {
  if (typeof reference !== "string" || !reference.startsWith("#")) return {};
  let found = root;
  for (const part of reference.slice(1).split("/").slice(1)) {
    let name = part;
    try {
      name = decodeURIComponent(part);
    } catch {
      // It is no escape.
    }
    name = name.replaceAll("~1", "/").replaceAll("~0", "~");
    found = Array.isArray(found) ? found[Number(name)] : own(found, name);
  }
  return found;
}

function merge(one, other) {
  const both = { ...one, ...other };
  if (one.properties && other.properties) both.properties = { ...one.properties, ...other.properties };
  if (one.required && other.required) both.required = [...one.required, ...other.required];
  return both;
}

/** A schema with what it refers to: references followed, `allOf` merged, `null` beside another type as `nullable`. */
export function resolve(written, root, left = MAX_REFERENCES) {
  let schema = isObject(written) ? written : {};
  if (left > 0 && schema.$ref !== undefined) {
    const { $ref, ...rest } = schema;
    schema = merge(resolve(atPointer(root, $ref), root, left - 1), rest);
  }
  if (left > 0 && Array.isArray(schema.allOf)) {
    const { allOf, ...rest } = schema;
    schema = merge(allOf.map((part) => resolve(part, root, left - 1)).reduce(merge, {}), rest);
  }
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== "null");
    if (types.length < schema.type.length) schema = { ...schema, nullable: true };
    const isChoice = Array.isArray(schema.enum) || "const" in schema;
    if (types.length === 1) schema = { ...schema, type: types[0] };
    else if (types.length === 0) schema = { ...schema, const: null };
    else if (isChoice || schema.oneOf || schema.anyOf) schema = { ...schema, type: undefined };
    else schema = { ...schema, type: undefined, anyOf: types.map((type) => ({ type })) };
  }
  for (const key of ["anyOf", "oneOf"]) {
    if (left <= 0 || !Array.isArray(schema[key]) || choicesOf(schema)) continue;
    const { [key]: all, ...rest } = schema;
    const others = all.filter((one) => own(one, "type") !== "null" && own(one, "const") !== null);
    const isNullable = others.length < all.length || rest.nullable;
    if (others.length === 1) schema = { ...merge(resolve(others[0], root, left - 1), rest), nullable: isNullable };
    else schema = { ...schema, [key]: others, nullable: isNullable };
  }
  return schema;
}

/** The choices of a schema: values with labels. */
export function choicesOf(schema) {
  const titled = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(titled) && titled.length && titled.every((choice) => isObject(choice) && "const" in choice)) {
    return titled.map((choice) => ({ value: choice.const, label: textOf(choice.title ?? choice.const) }));
  }
  if (!Array.isArray(schema.enum) || schema.enum.length === 0) return undefined;
  const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
  return schema.enum.map((value, index) => ({ value, label: textOf(names[index] ?? value) }));
}

/** Whether choices are few and short enough to be buttons. */
const areShort = (choices, depth) =>
  choices.length <= MAX_SEGMENTS && choices.reduce((sum, { label }) => sum + label.length + 3, 0) <= SEGMENTS_WIDTH - depth * 4;

/** What an object says of the keys that it does not name: a schema, if they are wanted. */
export const otherKeysOf = ({ additionalProperties: other }) =>
  other === true ? {} : isObject(other) ? other : undefined;

const isText = ({ type }) => type === "string" || type === undefined;

/** Whether a text is the bytes of a file. */
function isFile(schema) {
  if (/^base64(url)?$/i.test(schema.contentEncoding ?? "") || ["byte", "binary"].includes(schema.format)) return true;
  const media = schema.contentMediaType;
  return typeof media === "string" && schema.contentEncoding === undefined && !/^text\/|json|xml|yaml/.test(media);
}

/** The kind of control of a schema that is resolved. */
export function kindOf(schema, depth, root) {
  if ("const" in schema) return "const";
  const choices = choicesOf(schema);
  if (choices) return areShort(choices, depth) ? "segments" : "select";
  if (depth < MAX_DEPTH && Array.isArray(schema.oneOf ?? schema.anyOf)) return "variants";
  const type = schema.type ?? impliedType(schema);
  if (type === "boolean") return "boolean";
  if (type === "integer" || type === "number") return "number";
  if (type === "array") {
    const items = resolve(schema.items, root);
    if (choicesOf(items)) return "chips";
    return depth < MAX_DEPTH && isObject(schema.items) && !schema.prefixItems && !Array.isArray(schema.items) ? "list" : "json";
  }
  if (type === "object") {
    return depth < MAX_DEPTH && (hasProperties(schema) || otherKeysOf(schema)) ? "object" : "json";
  }
  if (type === undefined && !schema.format && !schema.contentEncoding && !schema.contentMediaType) return "json";
  if (!isText(schema)) return "json";
  if (isFile(schema)) return "file";
  if (schema.format === "password" || schema.writeOnly === true) return "password";
  return { date: "date", "date-time": "date", time: "date", email: "email", uri: "url", url: "url" }[schema.format] ?? "text";
}

const hasProperties = ({ properties }) => isObject(properties) && Object.keys(properties).length > 0;

/** The type that other keywords tell. */
function impliedType(schema) {
  if (isObject(schema.properties)) return "object";
  if (isObject(schema.items)) return "array";
  if (schema.minimum !== undefined || schema.maximum !== undefined || schema.multipleOf !== undefined) return "number";
  return schema.minLength !== undefined || schema.maxLength !== undefined || schema.pattern !== undefined ? "string" : undefined;
}

/** Two ends in words: `1–10`, `≥ 1`, `≤ 10`. */
function between(least, most) {
  if (least !== undefined && most !== undefined) return least === most ? String(least) : `${least}–${most}`;
  return least !== undefined ? `≥ ${least}` : most !== undefined ? `≤ ${most}` : undefined;
}

/** The limits of a field in a few words, to stand beside its label. */
export function limitsOf(schema, kind) {
  const few = (value) => lineOf(textOf(value), 24);
  switch (kind) {
    case "number": {
      const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf: steps } = schema;
      const words = [
        above === undefined ? undefined : `> ${few(above)}`,
        between(minimum, maximum),
        below === undefined ? undefined : `< ${few(below)}`,
        steps === undefined ? undefined : `in steps of ${few(steps)}`,
      ].filter(Boolean);
      return words.length ? lineOf(words.join(", "), 40) : schema.type;
    }
    case "list":
    case "chips": {
      const count = between(schema.minItems, schema.maxItems);
      return count && `${lineOf(count, 24)} items`;
    }
    case "text":
    case "password":
    case "email":
    case "url": {
      const length = between(schema.minLength || undefined, schema.maxLength);
      const format = typeof schema.format === "string" && schema.format !== "password" ? few(schema.format) : undefined;
      return [format, length && `${lineOf(length, 24)} characters`].filter(Boolean).join(", ");
    }
    case "date":
      return { time: "UTC", "date-time": "local time" }[schema.format];
    case "file":
      return schema.contentMediaType && few(schema.contentMediaType);
    case "json":
      return "JSON";
    case "const":
      return schema.readOnly === true ? undefined : "fixed";
    default:
      return undefined;
  }
}

/** What is wrong with a value that is given, in words. */
export function mistakeIn(schema, value) {
  if (typeof value === "number") return mistakeInNumber(schema, value);
  if (typeof value === "string") return mistakeInText(schema, value);
  if (!Array.isArray(value)) return undefined;
  if (value.length < schema.minItems) return `${value.length} of at least ${schema.minItems} items`;
  if (value.length > schema.maxItems) return `${value.length} items, at most ${schema.maxItems}`;
  if (schema.uniqueItems === true && new Set(value.map((item) => JSON.stringify(item))).size < value.length) {
    return "an item is there twice";
  }
  return undefined;
}

function mistakeInNumber(schema, value) {
  if (!Number.isFinite(value)) return "too large";
  if (schema.type === "integer" && !Number.isInteger(value)) return "not a whole number";
  if (schema.type === "integer" && !Number.isSafeInteger(value)) return "too large to be sent as it is";
  if (value < schema.minimum) return `at least ${schema.minimum}`;
  if (value > schema.maximum) return `at most ${schema.maximum}`;
  if (value <= schema.exclusiveMinimum) return `more than ${schema.exclusiveMinimum}`;
  if (value >= schema.exclusiveMaximum) return `less than ${schema.exclusiveMaximum}`;
  const parts = value / schema.multipleOf;
  if (Math.abs(parts - Math.round(parts)) > 1e-9) return `not a multiple of ${schema.multipleOf}`;
  return undefined;
}

function mistakeInText(schema, value) {
  const length = schema.minLength === undefined && schema.maxLength === undefined ? undefined : Array.from(value).length;
  if (length < schema.minLength) return `${length} of at least ${schema.minLength} characters`;
  if (length > schema.maxLength) return `${length} characters, at most ${schema.maxLength}`;
  if (schema.format === "email" && !/^\S+@\S+$/.test(value)) return "not an email address";
  if (schema.format === "uri" && !/^[a-z][a-z0-9+.-]*:/i.test(value)) return "not an address with its scheme, such as https:";
  if (typeof schema.pattern === "string" && value.length <= MAX_MATCHED) {
    try {
      if (!new RegExp(schema.pattern, "u").test(value)) return `does not match ${lineOf(schema.pattern)}`;
    } catch {
      // The server knows more patterns than the browser.
    }
  }
  return undefined;
}

/** Whether a value has the type that a schema has. */
export function isOfType({ type, properties }, value) {
  const actual = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const wanted = type ?? (isObject(properties) ? "object" : undefined);
  return wanted === actual || (wanted === "integer" && actual === "number");
}

/** Whether a value is one of a schema, as far as its type and its fixed values tell. */
export function fits(written, value, root, depth = 0) {
  const schema = resolve(written, root);
  if ("const" in schema) return textOf(schema.const) === textOf(value);
  const choices = choicesOf(schema);
  if (choices) return choices.some((choice) => textOf(choice.value) === textOf(value));
  switch (schema.type ?? impliedType(schema)) {
    case "string":
      return typeof value === "string" && mistakeInText(schema, value) === undefined;
    case "integer":
    case "number":
      return typeof value === "number" && mistakeInNumber(schema, value) === undefined;
    case "boolean":
      return typeof value === "boolean";
    case "array":
      if (!Array.isArray(value)) return false;
      return depth > 1 || !isObject(schema.items) || value.every((item) => fits(schema.items, item, root, depth + 1));
    case "object": {
      if (!isObject(value) || !(schema.required ?? []).every((name) => Object.hasOwn(value, name))) return false;
      const given = Object.entries(schema.properties ?? {}).filter(([name]) => Object.hasOwn(value, name));
      return depth > 1 || given.every(([name, part]) => fits(part, value[name], root, depth + 1));
    }
    default:
      return true;
  }
}

/** What a variant is called: by its title, its type or a value that only it has. */
export function variantName(schema, index) {
  if (typeof schema.title === "string") return lineOf(schema.title, 60);
  if ("const" in schema) return lineOf(textOf(schema.const), 60);
  const fixed = Object.values(schema.properties ?? {}).find((part) => isObject(part) && "const" in part);
  if (fixed) return lineOf(textOf(fixed.const), 60);
  const type = schema.type ?? impliedType(schema);
  if (type === "array" && typeof own(schema.items, "type") === "string") return `list of ${schema.items.type}`;
  if (choicesOf(schema)) return "choice";
  if (!schema.type && !schema.properties && schema.required?.length) return lineOf(`with ${schema.required.join(", ")}`, 60);
  return [{ array: "list", string: "text" }[type] ?? type ?? `variant ${index + 1}`, schema.format].filter(Boolean).join(", ");
}

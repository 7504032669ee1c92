// The values of a form as one passes them on: a command, JSON, a test.

/** A word of a shell. */
const quote = (text) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** The command of folio that calls an entry. */
export function asCommand({ kind, id }, uri, values) {
  if (kind === "resource" || kind === "template") return `folio read ${quote(uri)}`;
  const pairs = Object.entries(values).map(([name, value]) => quote(`${name}=${asText(value)}`));
  return [kind === "tool" ? "folio call" : "folio get", quote(id), ...pairs].join(" ");
}

/** The arguments as a test has them. JSON is YAML. */
export function asTest({ kind, id }, uri, values) {
  const isUri = kind === "resource" || kind === "template";
  const lines = [`  ${JSON.stringify(`${id} works`)}:`, isUri ? `    uri: ${JSON.stringify(uri)}` : `    ${kind}: ${JSON.stringify(id)}`];
  if (!isUri && Object.keys(values).length) lines.push(`    arguments: ${JSON.stringify(values)}`);
  return ["tests:", ...lines, '    expect: { contains: "" }', ""].join("\n");
}

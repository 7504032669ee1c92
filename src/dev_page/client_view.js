// What a client makes of an entry, by the rules that the server sends: its name there, and what is left out or refused.

const NAME_PATTERN_KEYS = { prompt: "prompt", resource: "resource", template: "resource", tool: "tool" };

const fill = (pattern, server, name) => pattern.replace(/\{(server|name)\}/g, (_, key) => (key === "server" ? server : name));

/** The name of an entry as a client shows it. */
export const nameIn = (client, entry, server) => fill(client.names[NAME_PATTERN_KEYS[entry.kind]], server, entry.id);

const letters = (text) => [...text].length;
const properties = (tool) => Object.keys(tool.inputSchema?.properties ?? {});
const has = (value, key) =>
  typeof value === "object" && value !== null && (Object.hasOwn(value, key) || Object.values(value).some((part) => has(part, key)));

/** For each kind of rule, what of an entry it concerns; nothing where it does not. */
const LIMIT_CHECKS = {
  tool: {
    toolName({ id }, { pattern, max }, server) {
      const whole = fill(pattern, server, id);
      return letters(whole) > max && `\`${whole}\` has ${letters(whole)} letters`;
    },
    rootKeywords({ listing }, keywords) {
      const found = keywords.filter((key) => Object.hasOwn(listing.inputSchema ?? {}, key));
      return found.length > 0 && `${found.join(", ")} at the root of the input schema`;
    },
    ignoredKeywords({ listing }, keywords) {
      const found = keywords.filter((key) => has(listing.inputSchema, key));
      return found.length > 0 && found.join(", ");
    },
    propertyName({ listing }, max) {
      const wrong = properties(listing).filter((name) => !/^[A-Za-z0-9_.-]+$/.test(name) || letters(name) > max);
      return wrong.length > 0 && `argument ${wrong.join(", ")}`;
    },
    tools: (_, max, __, count) => count > max && `${count} tools`,
    questions: () => "questions",
  },
  prompt: {
    prompts: () => "left out",
    promptTitle: ({ listing }) => listing.title?.includes(" ") && "the title has a space",
    requiredArguments({ listing }, max) {
      const count = (listing.arguments ?? []).filter(({ required }) => required).length;
      return count > max && `${count} required arguments`;
    },
    promptDescription: ({ listing }) => !listing.description && "no description",
    completion: ({ listing }) => listing.arguments?.length > 0 && "completion",
  },
  template: {
    resources: () => "left out",
    resourceTemplates: () => "left out",
    completion: () => "completion",
  },
  resource: {
    resources: () => "left out",
  },
};

const bridgedResource = ({ resources }) => resources && "read-resource";

/** The tool by which the server offers an entry to a client that does not show it, for each kind. */
const BRIDGES = {
  prompt: ({ prompts }) => prompts && "get-prompt",
  resource: bridgedResource,
  template: bridgedResource,
};

/** What a client makes of an entry, in sentences. */
export function notesIn(client, entry, { server, toolCount }) {
  const notes = [];
  for (const { kind, value, outcome } of client.rules) {
    const what = kind === "listChanges" ? "reloads" : LIMIT_CHECKS[entry.kind][kind]?.(entry, value, server, toolCount);
    if (what) notes.push(`${what}: ${outcome}`);
  }
  const tool = BRIDGES[entry.kind]?.(client.bridged);
  if (tool) notes.push(`its model gets it by the tool \`${tool}\``);
  return notes;
}

const LIST_LIMITS = {
  prompt: ["prompts"],
  resource: ["resources"],
  template: ["resources", "resourceTemplates"],
};

/** Whether a client does not show an entry at all. */
export const leavesOut = (client, { kind }) =>
  client.rules.some((rule) => LIST_LIMITS[kind]?.includes(rule.kind));

/** A result as a client takes it, and in sentences what it leaves out. */
export function resultIn(client, method, result) {
  const notes = [];
  let taken = result;
  for (const { kind, value, outcome } of client.rules) {
    const rest = takes(kind, value, method, taken);
    if (rest === undefined) continue;
    taken = rest.result;
    notes.push(`${rest.what}: ${outcome}`);
  }
  return { result: taken, notes };
}

/** What a rule leaves of a result, and what it concerns; nothing where it does not concern it. */
function takes(kind, value, method, result) {
  if (method === "prompts/get") {
    const messages = result.messages ?? [];
    if (kind === "messages" && messages.length > value) {
      return { result: { ...result, messages: messages.slice(0, value) }, what: `${messages.length} messages` };
    }
    if (kind === "firstMessage" && messages[0] && messages[0].content?.type !== "text") {
      return { result: { ...result, messages: [] }, what: "the first message is no text" };
    }
  }
  if (method !== "tools/call" || result.structuredContent === undefined) return undefined;
  if (kind === "structuredContent") return { result: { ...result, structuredContent: undefined }, what: "structured content" };
  if (kind === "textBesideStructured" && !result.isError) return { result: { ...result, content: [] }, what: "text" };
  return undefined;
}

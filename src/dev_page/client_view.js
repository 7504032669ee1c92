// An entry as a client shows it, by the rules that the server sends: its name there, and what is left out or refused.

import { element } from "/elements.js";
import { methodOf } from "/entry_call.js";

/**
 * The view of an entry in the client that is chosen: its name and notes, the result as that client takes it, and the
 * place where its view belongs.
 */
export function clientView(entry, shown, options) {
  const { client, clients, server, toolCount } = options;
  const place = element("div", {});
  if (!client) return { element: element("p", { class: "dim", text: "The server tells of no clients." }), place };
  const choice = element("select", { "aria-label": "Show as" }, ...clients.map(({ name }) => element("option", { value: name, text: name })));
  choice.value = client.name;
  choice.addEventListener("change", () => options.set("client", choice.value));
  const isLeftOut = leavesOut(client, entry);
  const taken = isLeftOut || !shown ? { result: {}, notes: [] } : resultIn(client, methodOf(entry), shown.result);
  const notes = [...notesIn(client, entry, { server, toolCount }), ...taken.notes].map((note) => element("li", { text: note }));
  const name = element("code", { class: isLeftOut ? "left-out" : undefined, text: nameIn(client, entry, server) });
  const words = isLeftOut ? `${client.name} does not show it: ` : `in ${client.name}: `;
  const view = element("div", { class: "client-view" },
    element("div", { class: "client-head" }, choice, element("span", { class: "client-name" }, words, name)),
    notes.length ? element("ul", { class: "client-notes", "aria-label": `In ${client.name}` }, ...notes) : undefined,
    isLeftOut ? undefined : shown ? place : element("p", { class: "dim", text: "Run it to see what the client takes." }));
  return { element: view, result: taken.result, place };
}

const NAME_PATTERN_KEYS = { prompt: "prompt", resource: "resource", template: "resource", tool: "tool" };

const fill = (pattern, server, name) => pattern.replace(/\{(server|name)\}/g, (_, key) => (key === "server" ? server : name));

/** The name of an entry as a client shows it. */
const nameIn = (client, entry, server) => fill(client.names[NAME_PATTERN_KEYS[entry.kind]], server, entry.id);

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
function notesIn(client, entry, { server, toolCount }) {
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
const leavesOut = (client, { kind }) =>
  client.rules.some((rule) => LIST_LIMITS[kind]?.includes(rule.kind));

/** A result as a client takes it, and in sentences what it leaves out. */
function resultIn(client, method, result) {
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

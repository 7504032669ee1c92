// One call of an entry with all of its questions.

import { headerValue } from "/mcp_client.js";

/** How many rounds of questions a call may have. */
const MAX_ROUNDS = 50;

/** The method by which an entry is called. */
export const methodOf = ({ kind }) => ({ tool: "tools/call", prompt: "prompts/get" })[kind] ?? "resources/read";

/** What a call of an entry sends. */
export function paramsOf({ kind, id }, values) {
  if (kind === "tool" || kind === "prompt") return { name: id, arguments: values };
  return { uri: kind === "template" ? expandTemplate(id, values) : id };
}

export class EntryCall {
  #client;
  #entry;
  #controller = new AbortController();
  /** What was sent and what came, request by request. */
  exchanges = [];
  /** The rows of the traces of its requests, by their ids. */
  #traces = new Map();

  constructor(client, entry) {
    this.#client = client;
    this.#entry = entry;
  }

  get isCancelled() {
    return this.#controller.signal.aborted;
  }

  cancel() {
    this.#controller.abort();
  }

  /** The rows of what it did. */
  get trace() {
    return this.exchanges.flatMap(({ sent }) => this.#traces.get(sent.id) ?? []);
  }

  /** The id of its last request. */
  get id() {
    return this.exchanges.at(-1)?.sent.id;
  }

  /** Takes what the server tells of a request; whether that is one of this call. */
  note({ id, trace }) {
    const isOwn = this.exchanges.some(({ sent }) => sent.id === id);
    if (isOwn) this.#traces.set(id, trace ?? []);
    return isOwn;
  }

  /**
   * Calls it, and returns its result.
   *
   * @param onNotification is told of progress and logs
   * @param ask (requests, signal) => Promise of the answers to questions, by key
   */
  async run(values, { headers, onNotification, ask }) {
    const { signal } = this.#controller;
    const onExchange = (exchange) => this.exchanges.push(exchange);
    let round = {};
    for (let rounds = 0; rounds < MAX_ROUNDS; rounds += 1) {
      const params = { ...paramsOf(this.#entry, values), ...round };
      const result = await this.#client.request(methodOf(this.#entry), params, { signal, onNotification, onExchange, headers });
      if (result.resultType !== "input_required") return result;
      const inputResponses = await ask(result.inputRequests, signal);
      round = { inputResponses, requestState: result.requestState };
    }
    throw new Error("too many questions");
  }
}

/** The URI of a template (RFC 6570) with these values, in the forms that folio has. */
function expandTemplate(template, values) {
  return template.replace(/\{([+#./;?&]?)([^}]*)\}/g, (_, operator, list) => {
    const rows = list.split(",").map((name) => name.replace(/(\*|:\d+)$/, ""));
    const given = rows.filter((name) => values[name] !== undefined && values[name] !== "");
    const raw = operator === "+" || operator === "#";
    const escape = (value) => (raw ? encodeURI(value) : encodeURIComponent(value));
    const named = operator === "?" || operator === "&" || operator === ";";
    const parts = given.map((name) => (named ? `${name}=${escape(values[name])}` : escape(values[name])));
    if (parts.length === 0) return "";
    const separator = { "?": "&", "&": "&", ";": ";", ".": ".", "/": "/" }[operator] ?? ",";
    return (operator === "+" ? "" : operator) + parts.join(separator);
  });
}

/** The headers that repeat arguments, where a tool's schema wants them. */
export function parameterHeaders(schema, values) {
  const headers = {};
  for (const [name, field] of Object.entries(schema?.properties ?? {})) {
    const header = field?.["x-mcp-header"];
    if (header && values[name] !== undefined) headers[`Mcp-Param-${header}`] = headerValue(String(values[name]));
  }
  return headers;
}

/** The schema of a prompt's arguments, where the server has sent none of its own. */
function listedSchema(prompt) {
  const list = prompt.arguments ?? [];
  const properties = list.map(({ name, title, description }) => [name, { type: "string", title, description }]);
  return { properties: Object.fromEntries(properties), required: list.filter((one) => one.required).map((one) => one.name) };
}

/** The schema of an entry's form. */
export function schemaOf(entry, schemas) {
  switch (entry.kind) {
    case "tool":
      return entry.listing.inputSchema;
    case "prompt":
      return schemas.prompts[entry.id] ?? listedSchema(entry.listing);
    case "template": {
      const names = [...entry.id.matchAll(/\{[+#./;?&]?([^}]*)\}/g)].flatMap(([, list]) => list.split(","));
      const bare = names.map((name) => [name.replace(/(\*|:\d+)$/, ""), { type: "string" }]);
      const known = schemas.templates[entry.id];
      return known?.properties ? known : { properties: Object.fromEntries(bare), required: [] };
    }
    default:
      return {};
  }
}

// A client of MCP over HTTP: in 2026-07-28 each request stands for itself, in older versions a session is begun for it.

const NEWEST = "2026-07-28";
export const VERSIONS = [NEWEST, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const CLIENT_INFO = { name: "folio-page", version: "1" };
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** An error that the server answered with, or that kept it from answering. */
class RequestError extends Error {
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

export class McpClient {
  #token;
  #next = 1;
  #prefix = crypto.randomUUID().slice(0, 8);

  constructor(token) {
    this.#token = token;
  }

  /**
   * Sends a request and returns its result.
   *
   * @param options.onNotification is told of progress and logs on the way
   * @param options.onExchange is given what is sent, and where what comes is noted
   */
  async request(method, params = {}, { onNotification, onExchange, signal, headers = {} } = {}) {
    const id = this.#freshId();
    const name = params.name ?? params.uri;
    const meta = {
      "io.modelcontextprotocol/protocolVersion": NEWEST,
      "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
      "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
      ...(onNotification ? { progressToken: id, "io.modelcontextprotocol/logLevel": "debug" } : {}),
    };
    const sent = { jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } };
    const all = { "Mcp-Method": method, ...(name === undefined ? {} : { "Mcp-Name": headerValue(name) }), ...headers };
    const exchange = { sent, received: [], version: NEWEST, headers: all };
    const began = performance.now();
    onExchange?.(exchange);
    try {
      return await this.#exchange(exchange, { onNotification, signal });
    } finally {
      exchange.elapsedMs = performance.now() - began;
    }
  }

  /** Sends a request in an older version, in a session of its own; what was sent and what came, message by message. */
  async requestIn(version, method, params) {
    const exchanges = [];
    const session = {};
    const send = async (message) => {
      const exchange = { sent: { jsonrpc: "2.0", ...message }, received: [], version, headers: { ...session } };
      const began = performance.now();
      exchanges.push(exchange);
      const response = await this.#post(exchange);
      session["Mcp-Session-Id"] = response.headers.get("Mcp-Session-Id") ?? session["Mcp-Session-Id"];
      if (message.id !== undefined) await readAnswer(response, exchange).catch(() => {});
      exchange.elapsedMs = performance.now() - began;
    };
    await send({ id: this.#freshId(), method: "initialize", params: { protocolVersion: version, capabilities: {}, clientInfo: CLIENT_INFO } });
    await send({ method: "notifications/initialized" });
    await send({ id: this.#freshId(), method, params });
    await fetch("/mcp", { method: "DELETE", headers: { Authorization: `Bearer ${this.#token}`, ...session } });
    return exchanges;
  }

  /** Every entry of a list, through all its pages. */
  async list(method, key) {
    const entries = [];
    for (let cursor; ; ) {
      const page = await this.request(method, cursor === undefined ? {} : { cursor });
      entries.push(...page[key]);
      cursor = page.nextCursor;
      if (cursor === undefined) return entries;
    }
  }

  #freshId() {
    return `${this.#prefix}-${(this.#next += 1)}`;
  }

  #post(exchange, signal) {
    const headers = {
      Authorization: `Bearer ${this.#token}`,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": exchange.version,
      ...exchange.headers,
    };
    return fetch("/mcp", { method: "POST", signal, headers, body: JSON.stringify(exchange.sent) });
  }

  async #exchange(exchange, { onNotification, signal }) {
    const response = await this.#post(exchange, signal);
    const answer = await readAnswer(response, exchange, onNotification);
    if (answer.error) throw new RequestError(answer.error.message, answer.error.code);
    return answer.result;
  }
}

/** A text as a header carries it. */
export function headerValue(text) {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?/.test(text)) return text;
  const bytes = new TextEncoder().encode(text);
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}?=`;
}

/** The answer to what was sent; every message is noted. */
async function readAnswer(response, exchange, onNotification) {
  const type = response.headers.get("Content-Type") ?? "";
  if (type.startsWith("text/event-stream")) {
    for await (const message of eventData(response)) {
      exchange.received.push(message);
      if (message.id === exchange.sent.id && !message.method) return message;
      onNotification?.(message);
    }
    throw new RequestError("the stream ended without an answer");
  }
  if (!type.startsWith("application/json")) throw new RequestError(`${response.status}: ${(await response.text()).trim()}`);
  const message = await response.json();
  exchange.received.push(message);
  return message;
}

/** The JSON of each event of a stream. */
export async function* eventData(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      buffer += value;
      const events = buffer.split(/\r?\n\r?\n/);
      buffer = events.pop();
      for (const event of events) {
        const data = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
        const text = data.map((line) => line.slice(5).trim()).join("\n");
        if (text) yield JSON.parse(text);
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// A client of MCP 2026-07-28 over HTTP: each request stands for itself.

const VERSION = "2026-07-28";

/** An error that the server answered with, or that kept it from answering. */
export class RequestError extends Error {
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

export class McpClient {
  #token;
  #next = 1;

  constructor(token) {
    this.#token = token;
  }

  /** Sends a request and returns its result; `onNotification` is told of progress and logs on the way. */
  async request(method, params = {}, { onNotification, signal, headers = {} } = {}) {
    const id = (this.#next += 1);
    const name = params.name ?? params.uri;
    const meta = {
      "io.modelcontextprotocol/protocolVersion": VERSION,
      "io.modelcontextprotocol/clientInfo": { name: "folio-page", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
      ...(onNotification ? { progressToken: id, "io.modelcontextprotocol/logLevel": "debug" } : {}),
    };
    const response = await fetch("/mcp", {
      method: "POST",
      signal,
      headers: {
        Authorization: `Bearer ${this.#token}`,
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
        ...(name === undefined ? {} : { "Mcp-Name": headerValue(name) }),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } }),
    });
    const answer = await readAnswer(response, id, onNotification);
    if (answer.error) throw new RequestError(answer.error.message, answer.error.code);
    return answer.result;
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
}

/** A text as a header carries it. */
export function headerValue(text) {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?/.test(text)) return text;
  const bytes = new TextEncoder().encode(text);
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}?=`;
}

async function readAnswer(response, id, onNotification) {
  const type = response.headers.get("Content-Type") ?? "";
  if (type.startsWith("text/event-stream")) {
    for await (const message of eventData(response)) {
      if (message.id === id && !message.method) return message;
      onNotification?.(message);
    }
    throw new RequestError("the stream ended without an answer");
  }
  if (type.startsWith("application/json")) return response.json();
  throw new RequestError(`${response.status}: ${(await response.text()).trim()}`);
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

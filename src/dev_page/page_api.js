// What the server does for the page beside MCP.

/** An error with the place in the text that was sent, where there is one. */
class ApiError extends Error {
  constructor({ error, line, column }) {
    super(error);
    Object.assign(this, { line, column });
  }
}

export class PageApi {
  #token;

  constructor(token) {
    this.#token = token;
  }

  /** Sends a request, and returns its answer. */
  async request(name, body) {
    const headers = { Authorization: `Bearer ${this.#token}`, "Content-Type": "application/json" };
    const response = await fetch(`/api/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
    const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
    const answer = isJson ? await response.json() : { error: `${response.status}: ${(await response.text()).trim()}` };
    if (!response.ok || answer.error !== undefined) throw new ApiError(answer);
    return answer;
  }

  source(entry) {
    return this.request("source", { kind: entry.kind, id: entry.id });
  }

  /** The views of texts: Markdown as nodes, others as lines, with what changed against `previous`. */
  async render(items) {
    return (await this.request("render", { items })).items;
  }
}

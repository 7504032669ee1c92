// One entry: its form, and its result beside it.

import { leavesOut, nameIn, notesIn, resultIn } from "/client_view.js";
import { element, freshId } from "/elements.js";
import { headerValue } from "/mcp_client.js";
import { askQuestions } from "/question_form.js";
import { partsOf, resultView } from "/result_view.js";
import { SchemaForm } from "/schema_form.js";

const RENEW_DELAY_MS = 150;

/** How many rounds of questions a call may have. */
const MAX_ROUNDS = 50;

/** The schema of a prompt's arguments, where the server has sent none of its own. */
function listedSchema(prompt) {
  const list = prompt.arguments ?? [];
  const properties = list.map(({ name, title, description }) => [name, { type: "string", title, description }]);
  return { properties: Object.fromEntries(properties), required: list.filter((one) => one.required).map((one) => one.name) };
}

/** The schema of an entry's form. */
function schemaOf(entry, schemas) {
  switch (entry.kind) {
    case "tool":
      return entry.listing.inputSchema;
    case "prompt":
      return schemas?.prompts?.[entry.id] ?? listedSchema(entry.listing);
    case "template": {
      const names = [...entry.id.matchAll(/\{[+#./;?&]?([^}]*)\}/g)].flatMap(([, list]) => list.split(","));
      const bare = names.map((name) => [name.replace(/(\*|:\d+)$/, ""), { type: "string" }]);
      const known = schemas?.templates?.[entry.id];
      return known?.properties ? known : { properties: Object.fromEntries(bare), required: [] };
    }
    default:
      return {};
  }
}

export class EntryView {
  #client;
  #options;
  #entry;
  #form;
  #previous;
  #output = element("div", {});
  #about = element("div", {});
  /** The result that is shown, with the parts that were before it, and its element. */
  #shown;
  #questions = element("div", {});
  #status = element("p", { class: "dim", role: "status" });
  #run;
  #timer;
  #running;
  #lastResult;

  constructor({ client, options, place }, entry, schemas) {
    this.#client = client;
    this.#options = options;
    this.#place = place;
    this.update(entry, schemas);
  }

  #place;

  /** Tools act on the world, so they are run on a button alone. */
  get #isRunByHand() {
    return this.#entry.kind === "tool";
  }

  /** Shows an entry as it is now; what stood in its fields stays. Whether its form is another than before. */
  update(entry, schemas) {
    const schema = schemaOf(entry, schemas);
    const isSame = this.#entry && JSON.stringify([this.#entry.listing, this.#schema]) === JSON.stringify([entry.listing, schema]);
    this.#entry = entry;
    if (isSame) return false;
    this.#schema = schema;
    const hadFocus = this.#form?.element.contains(document.activeElement) ? document.activeElement.name : undefined;
    const values = this.#form?.kept() ?? this.#load();
    this.#form = new SchemaForm(schema, {
      values,
      texts: entry.kind !== "tool",
      complete: entry.kind === "tool" ? undefined : (name, value, others) => this.#complete(name, value, others),
      onInput: () => this.#changed(),
    });
    this.#render();
    if (hadFocus) this.#form.element.querySelector(`[name="${CSS.escape(hadFocus)}"]`)?.focus();
    return true;
  }

  #schema;

  #render() {
    const { listing, kind, id } = this.#entry;
    const titleId = freshId("entry");
    const label = kind === "tool" ? "Run" : kind === "prompt" ? "Get" : "Read";
    this.#run = element("button", { type: "submit", class: this.#isRunByHand ? "primary" : undefined, text: label });
    const stop = element("button", { type: "button", text: "Cancel", onclick: () => this.#running?.abort() });
    const form = element("form", { novalidate: true, "aria-labelledby": titleId },
      this.#form.element, element("div", { class: "actions" }, this.#run, this.#isRunByHand ? stop : undefined));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.show();
    });
    const title = listing.title && listing.title !== id ? `${id} · ${listing.title}` : id;
    this.#redrawNotes();
    this.#place.replaceChildren(
      element("h2", { id: titleId, class: "entry-title" }, title, element("span", { class: "kind", text: ` ${kind}` })),
      element("p", { class: "description", text: listing.description ?? "" }),
      this.#about,
      element("div", { class: "columns" },
        element("div", {}, form, this.#questions),
        element("div", { role: "region", "aria-label": "Result", "aria-live": "polite" }, this.#status, this.#output)),
    );
  }

  /** What the chosen client makes of the entry. */
  #redrawNotes() {
    const { client, server, toolCount } = this.#options;
    if (!client) return this.#about.replaceChildren();
    const isLeftOut = leavesOut(client, this.#entry);
    const name = element("code", { class: isLeftOut ? "left-out" : undefined, text: nameIn(client, this.#entry, server) });
    const notes = notesIn(client, this.#entry, { server, toolCount }).map((note) => element("li", { text: note }));
    const words = isLeftOut ? `${client.name} does not show it: ` : `in ${client.name}: `;
    this.#about.replaceChildren(
      element("div", { class: "notes", role: "note", "aria-label": `In ${client.name}` },
        element("p", {}, words, name), notes.length ? element("ul", {}, ...notes) : undefined));
  }

  /** Shows the same entry and result after another choice of how they are shown. */
  redraw() {
    this.#redrawNotes();
    if (!this.#shown?.element.isConnected) return;
    const { element: old } = this.#shown;
    this.#shown.element = this.#resultElement();
    old.replaceWith(this.#shown.element);
  }

  #resultElement() {
    const { result, previous } = this.#shown;
    const { client, rendersMarkdown } = this.#options;
    if (!client) return resultView(this.#method, result, { previous, rendersMarkdown });
    const taken = leavesOut(client, this.#entry) ? { result: {}, notes: [] } : resultIn(client, this.#method, result);
    const notes = taken.notes.map((note) => element("li", { text: note }));
    return element("div", {},
      notes.length ? element("div", { class: "notes" }, element("ul", {}, ...notes)) : undefined,
      resultView(this.#method, taken.result, { previous, rendersMarkdown }));
  }

  /** Renders again after a save, if nothing acts by it. */
  renew() {
    if (!this.#isRunByHand && !this.#questions.childElementCount) this.show({ marksChanges: true });
  }

  #changed() {
    this.#save();
    if (this.#isRunByHand) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.show(), RENEW_DELAY_MS);
  }

  get #key() {
    return `values ${this.#entry.kind} ${this.#entry.id}`;
  }

  #save() {
    try {
      sessionStorage.setItem(this.#key, JSON.stringify(this.#form.kept()));
    } catch {
      // What is too large to be kept is not.
    }
  }

  #load() {
    try {
      return JSON.parse(sessionStorage.getItem(this.#key)) ?? {};
    } catch {
      return {};
    }
  }

  async #complete(name, value, others) {
    const { kind, id } = this.#entry;
    const ref = kind === "prompt" ? { type: "ref/prompt", name: id } : { type: "ref/resource", uri: id };
    if (kind === "resource") return [];
    const given = Object.fromEntries(Object.entries(others).filter(([other]) => other !== name));
    const context = { arguments: given };
    const { completion } = await this.#client.request("completion/complete", { ref, argument: { name, value }, context });
    return completion.values;
  }

  /** Calls it, and shows what comes. */
  async show({ marksChanges = false } = {}) {
    clearTimeout(this.#timer);
    this.#running?.abort();
    const { values, error, missing } = this.#form.read();
    if (error) return this.#fail(error);
    if (missing && !this.#isRunByHand) return this.#wait(`${missing} is required`);
    const running = new AbortController();
    this.#running = running;
    this.#status.textContent = this.#isRunByHand ? "running…" : "";
    this.#run.disabled = this.#isRunByHand;
    if (this.#isRunByHand) this.#output.replaceChildren();
    try {
      const given = missing ? this.#form.kept() : values;
      const result = await this.#call(given, running.signal);
      if (this.#running === running) this.#succeed(result, marksChanges);
    } catch (failure) {
      if (this.#running === running) this.#fail(running.signal.aborted ? "cancelled" : failure.message);
    } finally {
      if (this.#running === running) this.#run.disabled = false;
    }
  }

  get #method() {
    return { tool: "tools/call", prompt: "prompts/get" }[this.#entry.kind] ?? "resources/read";
  }

  /** One call with all of its questions. */
  async #call(values, signal) {
    const { kind, id } = this.#entry;
    const uri = kind === "template" ? expandTemplate(id, values) : id;
    const params = kind === "tool" || kind === "prompt" ? { name: id, arguments: values } : { uri };
    const headers = kind === "tool" ? parameterHeaders(this.#schema, values) : {};
    const onNotification = this.#isRunByHand ? (message) => this.#notified(message) : undefined;
    let round = {};
    for (let rounds = 0; rounds < MAX_ROUNDS; rounds += 1) {
      const result = await this.#client.request(this.#method, { ...params, ...round }, { signal, onNotification, headers });
      if (result.resultType !== "input_required") return result;
      this.#status.textContent = "waiting for your answer";
      const inputResponses = await askQuestions(result.inputRequests, this.#questions, signal);
      round = { inputResponses, requestState: result.requestState };
    }
    throw new Error("too many questions");
  }

  #notified({ method, params }) {
    if (method === "notifications/progress") {
      const { progress, total, message } = params;
      const bar = element("progress", { "aria-label": "Progress", max: total, value: total === undefined ? undefined : progress });
      const words = [message, total === undefined ? progress : `${progress} of ${total}`].filter(Boolean).join(" · ");
      this.#status.replaceChildren(words, bar);
    } else if (method === "notifications/message") {
      const data = typeof params.data === "string" ? params.data : JSON.stringify(params.data);
      this.#output.append(element("pre", { class: "dim", text: `${params.level}: ${data}` }));
    }
  }

  #succeed(result, marksChanges) {
    this.#questions.replaceChildren();
    this.#status.textContent = "";
    const parts = partsOf(this.#method, result);
    const text = JSON.stringify([parts, result.structuredContent]);
    // What changed stays marked until something changes again.
    if (text === this.#lastResult) return;
    const previous = marksChanges ? this.#previous : undefined;
    const isRepeated = result.description === this.#entry.listing.description;
    const shown = isRepeated ? { ...result, description: undefined } : result;
    const logs = this.#isRunByHand ? Array.from(this.#output.children) : [];
    this.#shown = { result: shown, previous };
    this.#shown.element = this.#resultElement();
    this.#output.replaceChildren(...logs, this.#shown.element);
    this.#previous = parts;
    this.#lastResult = this.#isRunByHand ? undefined : text;
  }

  #fail(message) {
    this.#questions.replaceChildren();
    this.#status.textContent = "";
    this.#lastResult = undefined;
    this.#output.replaceChildren(element("p", { class: "error-text", role: "alert", text: message }));
  }

  #wait(message) {
    this.#running = undefined;
    this.#lastResult = undefined;
    this.#status.textContent = message;
    this.#output.replaceChildren();
  }

  close() {
    clearTimeout(this.#timer);
    this.#running?.abort();
    this.#running = undefined;
    this.#place.replaceChildren();
  }
}

/** The URI of a template (RFC 6570) with these values, in the forms that folio has. */
export function expandTemplate(template, values) {
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
function parameterHeaders(schema, values) {
  const headers = {};
  for (const [name, field] of Object.entries(schema?.properties ?? {})) {
    const header = field?.["x-mcp-header"];
    if (header && values[name] !== undefined) headers[`Mcp-Param-${header}`] = headerValue(String(values[name]));
  }
  return headers;
}

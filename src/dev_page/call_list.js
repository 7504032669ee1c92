// The requests of all clients, reloads, and clients that come and go; newest first.

import { callTrace } from "/call_trace.js";
import { element } from "/elements.js";
import { foldedLine, formatMs, goByArrows, nothingHere, stopAt, toneOf, toneWord, wordsOf } from "/line_list.js";
import { valueTree } from "/value_tree.js";

const MAX_LINES = 300;
const LINE = ".call-line";
const FAILURES = ["failed", "refused"];

/** The kinds of the entries that methods are for. */
const ENTRY_KINDS = { "tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource" };

export class CallList {
  /** What is kept, newest first, with their lines once they are made. */
  #records = [];
  /** What came since the last frame. */
  #pending = [];
  #frame;
  /** The words of the filter. */
  #terms = [];
  #onOpenEntry;
  #filter = element("input", {
    type: "search", class: "drawer-filter", placeholder: "Filter by client, entry, method or outcome", "aria-label": "Filter calls", autocomplete: "off", spellcheck: "false",
  });
  #failed = element("button", { type: "button", class: "toggle", "aria-pressed": "false", text: "Failed" });
  #shown = element("span", { class: "drawer-shown", role: "status" });
  #list = element("ul", { class: "call-list", "aria-label": "Calls, newest first" });
  #none = element("div", {});

  constructor({ onOpenEntry } = {}) {
    this.#onOpenEntry = onOpenEntry;
    this.element = element("div", { class: "calls drawer-view" },
      element("div", { class: "drawer-tools" }, this.#filter, this.#failed, this.#shown), this.#list, this.#none);
    this.#filter.addEventListener("input", () => this.#applyFilter());
    this.#filter.addEventListener("keydown", (event) => this.#filterKey(event));
    this.#failed.addEventListener("click", () => {
      this.#failed.setAttribute("aria-pressed", String(!this.#wantsFailed));
      this.#applyFilter();
    });
    goByArrows(this.#list, LINE);
    this.#applyFilter();
  }

  /** How many lines are kept. */
  get count() {
    return this.#records.length;
  }

  get #wantsFailed() {
    return this.#failed.getAttribute("aria-pressed") === "true";
  }

  /** Adds a line for an event, if it has one. */
  add(event) {
    const read = READERS[event.type];
    if (!read) return;
    const record = { event, ...read(event) };
    record.words = record.words.join(" ").toLowerCase();
    this.#records.unshift(record);
    this.#pending.push(record);
    for (const old of this.#records.splice(MAX_LINES)) old.line?.remove();
    // A page that is not seen draws no frames: what it would draw is bounded, too.
    if (this.#pending.length > MAX_LINES) this.#pending.shift();
    this.#frame ??= requestAnimationFrame(() => this.#draw());
  }

  clear() {
    this.#records = [];
    this.#pending = [];
    this.#list.replaceChildren();
    this.#applyFilter();
  }

  #draw() {
    this.#frame = undefined;
    const lines = this.#pending.toReversed().map((record) => this.#makeLine(record));
    this.#pending = [];
    this.#list.prepend(...lines);
    this.#afterChange();
  }

  #makeLine(record) {
    record.line = foldedLine({ name: "call", parts: record.parts(), body: () => record.body((key) => this.#onOpenEntry?.(key), Boolean(this.#onOpenEntry)) });
    record.line.hidden = !this.#matches(record);
    return record.line;
  }

  #filterKey(event) {
    if (event.key === "ArrowDown") this.#list.querySelector(`.call-item:not([hidden]) > .line-head > ${LINE}`)?.focus();
    else if (event.key === "Escape" && this.#filter.value) this.#clearFilter();
    else return;
    event.preventDefault();
  }

  #clearFilter() {
    this.#filter.value = "";
    this.#failed.setAttribute("aria-pressed", "false");
    this.#applyFilter();
  }

  #matches({ words, isFailed }) {
    return (isFailed || !this.#wantsFailed) && this.#terms.every((term) => words.includes(term));
  }

  #applyFilter() {
    this.#terms = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const record of this.#records) if (record.line) record.line.hidden = !this.#matches(record);
    this.#afterChange();
  }

  #noMatch() {
    const showAll = () => {
      this.#clearFilter();
      this.#filter.focus();
    };
    return nothingHere("No call matches", element("div", {}, element("button", { type: "button", text: "Show all", onclick: showAll })));
  }

  /** Says how many are shown, and what to do where none is. */
  #afterChange() {
    const shown = this.#records.filter((record) => this.#matches(record)).length;
    const isFiltered = this.#terms.length > 0 || this.#wantsFailed;
    this.#shown.textContent = isFiltered ? `${shown} of ${this.count}` : "";
    this.#none.replaceChildren(...(shown > 0 ? [] : [isFiltered ? this.#noMatch() : noCalls()]));
    stopAt(this.#list, LINE);
  }
}

const noCalls = () =>
  nothingHere("No calls yet", element("p", { text: "What this page and your other clients ask of the server appears here, and each reload." }));

/** For each type of event: what its line says, which words find it, and what it opens to. */
const READERS = {
  call(event) {
    const { client, method, outcome, reason } = event;
    const who = client?.name || "unnamed client";
    const isFailed = FAILURES.includes(outcome);
    const [verb, name] = verbAndName(event);
    return {
      isFailed,
      words: [who, method, verb, name, outcome, reason ?? ""],
      parts: () => lineParts({ event, who, verb, name, note: reason, outcome, elapsedMs: event.elapsedMs }),
      body: (open, canOpen) => callBody(event, canOpen ? open : undefined),
    };
  },
  reload(event) {
    const outcome = event.broken ? "broken" : event.fixed ? "fixed" : "reloaded";
    return {
      isFailed: Boolean(event.broken),
      words: ["folio reload", outcome, event.changes ?? ""],
      parts: () => lineParts({ event, who: "folio", verb: "reload", name: event.changes, outcome, elapsedMs: event.elapsedMs }),
      body: () => [wordsOf(event.changes || "Nothing changed.", "Changes", "call-words")],
    };
  },
  client(event) {
    const { name, version } = event.client ?? {};
    const who = name || "unnamed client";
    return {
      isFailed: false,
      words: [who, "client", event.state, version ?? ""],
      parts: () => lineParts({ event, who, verb: "client", name: version ? `version ${version}` : "", outcome: event.state }),
      body: () => [valueTree(event.client ?? {}, { name: "Client" })],
    };
  },
};

/** A method as a verb, and what it is about. */
function verbAndName({ method, name }) {
  const [group, ...rest] = method.split("/");
  const verb = rest.at(-1) ?? group;
  if (name) return [verb, name];
  return [verb, rest.length > 0 ? rest.length > 1 ? rest[0] : group : ""];
}

function lineParts({ event, who, verb, name, note, outcome, elapsedMs }) {
  const time = new Date(event.time);
  const isFaulty = toneOf(outcome) === "bad";
  return [
    element("span", { class: "line-twist", "aria-hidden": "true" }),
    element("time", { class: "call-time", datetime: Number.isNaN(time.getTime()) ? undefined : time.toISOString(), text: time.toLocaleTimeString(undefined, { hour12: false }) }),
    element("span", { class: "call-client", title: who, text: who }),
    element("span", { class: "call-verb", text: verb }),
    element("span", { class: "call-what" },
      element("span", { class: "call-name", title: name || undefined, text: name ?? "" }),
      note ? element("span", { class: isFaulty ? "call-note bad" : "call-note", text: note }) : undefined),
    element("span", { class: "call-outcome" }, toneWord(outcome)),
    element("span", { class: "call-elapsed", text: formatMs(elapsedMs) }),
  ];
}

/** What a call did, what was sent and answered. */
function callBody(event, open) {
  const { method, params, response, trace = [], specVersion, client, name } = event;
  const kind = ENTRY_KINDS[method];
  const facts = [method, specVersion && `MCP ${specVersion}`, client?.version && `${client.name} ${client.version}`].filter(Boolean);
  return [
    element("div", { class: "line-facts" },
      facts.map((fact) => element("span", { text: fact })),
      open && kind && name ? element("button", { type: "button", class: "quiet small", text: `Open ${kind}`, onclick: () => open(`${kind} ${name}`) }) : undefined),
    event.reason ? wordsOf(event.reason, "Reason", FAILURES.includes(event.outcome) ? "error-text" : "dim call-words") : undefined,
    trace.length > 0 ? callTrace(trace, event.elapsedMs) : undefined,
    element("div", { class: "line-columns" },
      sectionOf("Sent", params ?? {}),
      sectionOf("Answered", response?.error ? response.error : response ?? null)),
  ];
}

const sectionOf = (title, value) =>
  element("div", { class: "line-section", role: "group", "aria-label": title }, element("p", { class: "line-title", text: title }), valueTree(value, { name: title }));

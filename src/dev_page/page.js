// The page of `folio dev`: the entries, the one that is chosen, and what happens beside it.

import { CallList } from "/call_list.js";
import { CommandPalette } from "/command_palette.js";
import { Drawers } from "/drawers.js";
import { element } from "/elements.js";
import { emptyView, goneView } from "/empty_view.js";
import { EntryTree } from "/entry_tree.js";
import { EntryView } from "/entry_view.js";
import { McpClient } from "/mcp_client.js";
import { PageApi } from "/page_api.js";
import { readEvents, withChanges } from "/page_events.js";
import { ProblemList } from "/problem_list.js";
import { keep, kept } from "/storage.js";
import { TestsView } from "/tests_view.js";
import { followNextRun, takeToken } from "/token.js";
import { KINDS } from "/tree_model.js";
import { ViewOptions } from "/view_options.js";

/** How many entries keep what was last seen of them. */
const MAX_VIEWS = 30;

class Page {
  #client;
  #api;
  #entries = [];
  #places = {};
  #schemas = { prompts: {}, templates: {} };
  #edited = new Set();
  #broken = new Set();
  #digest;
  #chosen = kept("chosen");
  #view;
  /** The views of the entries that were shown last, which go on with their calls. */
  #views = new Map();
  #gaps = [];
  #refreshing = Promise.resolve();
  #isGone = false;
  #options = new ViewOptions((name) => this.#optionChanged(name));
  #tree = new EntryTree({ onChoose: (entry) => this.#go(entry.key), marksOf: (key) => this.#marksOf(key) });
  #calls = new CallList({ onOpenEntry: (key) => this.#go(key) });
  #problems;
  #tests;
  #drawers;
  #place = document.getElementById("entry");
  #palette = new CommandPalette(() => this.#commands());

  constructor(token) {
    this.#client = new McpClient(token);
    this.#api = new PageApi(token);
    const onOpenEntry = (key) => this.#go(key);
    const { editorLink } = this.#options;
    this.#problems = new ProblemList({ editorLink, onOpenEntry, onFix: (problem, how = {}) => this.#api.request("fix", { problem, digest: this.#digest, write: false, ...how }) });
    this.#tests = new TestsView({ editorLink, onOpenEntry, onRun: (body) => this.#api.request("test/run", body) });
    const drawers = {
      calls: { title: "Calls", element: this.#calls.element },
      problems: { title: "Problems", element: this.#problems.element },
      tests: { title: "Tests", element: this.#tests.element },
    };
    const editor = element("label", { class: "drawer-editor" }, element("span", { class: "dim", text: "Open in" }), this.#options.editorChoice());
    this.#drawers = new Drawers(document.getElementById("drawers"), drawers, editor);
    document.getElementById("entries").append(this.#tree.element);
    this.#setUpFilter();
    this.#setUpKeys();
    // It is a state, not a request: a page that connects again has all of it.
    readEvents(token, {
      onEvent: (event) => this.#handle(event),
      onConnected: () => this.#calls.clear(),
      onLost: (status) => this.#lost(status),
    });
  }

  #setUpFilter() {
    const filter = document.getElementById("filter");
    filter.value = kept("filter", "");
    this.#tree.filter = filter.value;
    filter.addEventListener("input", () => {
      this.#tree.filter = filter.value;
      keep("filter", filter.value);
    });
    filter.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") this.#tree.element.focus();
      else if (event.key === "Enter" && this.#tree.first) this.#go(this.#tree.first.key);
      else if (event.key === "Escape") filter.blur();
      else return;
      event.preventDefault();
    });
    const toggle = document.getElementById("tree-toggle");
    toggle.addEventListener("click", () => this.#showTree(toggle.getAttribute("aria-expanded") !== "true"));
  }

  /** In a narrow window the entries lie over the rest. */
  #showTree(isOpen) {
    document.getElementById("tree-toggle").setAttribute("aria-expanded", String(isOpen));
    document.getElementById("side").classList.toggle("open", isOpen);
  }

  #setUpKeys() {
    const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
    document.getElementById("palette-key").textContent = isMac ? "⌘K" : "Ctrl K";
    document.getElementById("palette-button").addEventListener("click", () => this.#palette.open());
    document.getElementById("status").addEventListener("click", () => this.#drawers.toggle("problems"));
    addEventListener("keydown", (event) => {
      const hasCommand = event.metaKey || event.ctrlKey;
      const isTyping = event.target.matches("input, textarea, select") || document.querySelector("dialog[open]");
      if (hasCommand && event.key.toLowerCase() === "k") this.#palette.open();
      else if (hasCommand && event.key === "Enter" && !document.querySelector("dialog[open]")) this.#submit(event.target);
      else if (isTyping || hasCommand || event.altKey) return;
      else if (event.key === "/") document.getElementById("filter").select();
      else if (event.key === "n") this.#view?.walk(1);
      else if (event.key === "p") this.#view?.walk(-1);
      else return;
      event.preventDefault();
    });
  }

  /** Answers the question in which one writes, or else runs the entry. */
  #submit(target) {
    const question = target.closest("[role=log] form");
    if (question) question.requestSubmit();
    else this.#view?.show();
  }

  #optionChanged(name) {
    this.#view?.redraw(name);
    if (name === "editor") {
      this.#problems.redraw?.();
      this.#tests.redraw?.();
    }
  }

  #handle(event) {
    switch (event.type) {
      case "state":
        return this.#showState(event);
      case "tests":
        return this.#showTests(event);
      case "call":
        for (const view of this.#views.values()) view.note(event);
        // What the page itself renders at each save is no call of anybody.
        if (event.preview) return;
    }
    this.#calls.add(event);
    this.#drawers.setCount("calls", String(this.#calls.count));
  }

  #showState(event) {
    const { schemas } = event;
    const [prompts, templates] = ["prompts", "templates"].map((kind) => withChanges(this.#schemas[kind], { whole: schemas.whole, ...schemas[kind] }));
    this.#schemas = { prompts, templates };
    this.#places = withChanges(this.#places, event.places ?? { whole: true, changed: {}, gone: [] });
    this.#edited = new Set(event.edited);
    this.#broken = new Set(event.problems.filter(({ severity }) => severity === "error").map(({ entry }) => entry));
    this.#digest = event.digest;
    this.#tree.redraw();
    Object.assign(this.#options, { clients: event.clients, server: event.server ?? "" });
    this.#problems.update(event.problems, event.broken);
    const tone = event.broken ? "error" : event.problems.length ? "warning" : "good";
    this.#drawers.setCount("problems", event.problems.length ? String(event.problems.length) : "", event.broken ? "bad" : "warn");
    document.getElementById("server-name").textContent = event.server ?? "";
    document.title = event.server ? `${event.server} · folio dev` : "folio dev";
    const served = event.broken && event.server ? "broken, serving the last good version" : "broken";
    showStatus(event.broken ? `${served}: ${event.summary}` : event.summary, tone);
    this.#refresh();
  }

  #showTests(event) {
    this.#tests.update(event);
    const { passed, failed } = this.#tests.counts;
    const words = failed ? `${failed} failed` : passed ? `${passed} passed` : "";
    this.#drawers.setCount("tests", event.running && !words ? "running…" : words, failed ? "bad" : "good");
    this.#gaps = event.gaps ?? [];
    if (this.#view) this.#view.gaps = this.#gaps;
    this.#tree.redraw();
  }

  #marksOf(key) {
    const marks = [];
    if (this.#broken.has(key)) marks.push("broken");
    const tested = this.#tests.statusOf(key);
    if (tested) marks.push(tested);
    if (this.#edited.has(key)) marks.push("changed");
    return marks;
  }

  #lost(status) {
    showStatus(status === 401 ? "this is the page of another run: open the address that folio dev printed" : "the server is away", "error");
  }

  /** Lists everything again, and renews what is shown; one after another. */
  #refresh() {
    this.#refreshing = this.#refreshing.then(() => this.#renew()).catch((error) => showStatus(error.message, "error"));
  }

  async #renew() {
    // What is looked at comes first.
    if (this.#view) this.#view.renew(this.#edited.has(this.#view.entry.key));
    const lists = KINDS.map(async ({ kind, method, key, id }) => {
      const listings = await this.#client.list(method, key);
      return listings.map((listing) => ({ kind, id: id(listing), key: `${kind} ${id(listing)}`, listing }));
    });
    this.#entries = (await Promise.all(lists)).flat();
    for (const entry of this.#entries) entry.place = this.#places[entry.key];
    this.#options.toolCount = this.#entries.filter(({ kind }) => kind === "tool").length;
    this.#tree.update(this.#entries, this.#places);
    const known = this.#entries.find((entry) => entry.key === this.#chosen);
    if (known && this.#view) {
      if (this.#view.update(known, this.#schemas)) this.#view.renew(this.#edited.has(known.key));
    } else if (known || !(this.#view || this.#isGone)) {
      this.#choose(known ?? this.#entries[0]);
    } else {
      this.#isGone = true;
      this.#view = undefined;
      this.#place.replaceChildren(goneView());
    }
    const keys = new Set(this.#entries.map(({ key }) => key));
    this.#dropViews((key) => !keys.has(key));
  }

  /** Ends the views of some entries. */
  #dropViews(isDropped) {
    for (const [key, view] of this.#views) {
      if (!isDropped(key)) continue;
      view.close();
      this.#views.delete(key);
    }
  }

  #go(key) {
    const entry = this.#entries.find((one) => one.key === key);
    if (!entry) return;
    this.#showTree(false);
    this.#choose(entry);
  }

  #choose(entry) {
    this.#isGone = false;
    this.#chosen = entry?.key;
    this.#view = undefined;
    if (!entry) return this.#place.replaceChildren(emptyView());
    keep("chosen", entry.key);
    this.#tree.choose(entry.key);
    const known = this.#views.get(entry.key);
    const view = known ?? new EntryView({ client: this.#client, api: this.#api, options: this.#options }, entry, this.#schemas);
    known?.update(entry, this.#schemas);
    // The last one is the newest.
    this.#views.delete(entry.key);
    this.#views.set(entry.key, view);
    const [oldest] = this.#views.keys();
    if (this.#views.size > MAX_VIEWS) this.#dropViews((key) => key === oldest);
    this.#view = view;
    view.gaps = this.#gaps;
    this.#place.replaceChildren(view.element);
    view.redraw();
    view.renew(false);
  }

  /** What the palette offers. */
  #commands() {
    const view = this.#view;
    const own = view ? [
      { label: "Run", detail: "Ctrl ↵", run: () => view.show() },
      ...view.actions.map((action) => ({ detail: view.entry.id, ...action })),
      { label: "Reset the form", detail: view.entry.id, run: () => view.reset() },
      { label: "Next change", detail: "n", run: () => view.walk(1) },
    ] : [];
    const drawers = ["calls", "problems", "tests"].map((name) => ({ label: `Show ${name}`, detail: "drawer", run: () => this.#drawers.open(name) }));
    const { rendersMarkdown, splitsSource } = this.#options;
    const choices = [
      { label: rendersMarkdown ? "Show texts as they are" : "Render Markdown", detail: "view", run: () => this.#options.set("rendersMarkdown", !rendersMarkdown) },
      { label: splitsSource ? "Hide the source below" : "Show the source below", detail: "view", run: () => this.#options.set("splitsSource", !splitsSource) },
    ];
    const entries = this.#entries.map((entry) => ({ label: entry.id, detail: entry.kind, run: () => this.#go(entry.key) }));
    return [...own, ...drawers, ...choices, ...entries];
  }
}

function showStatus(text, tone) {
  document.getElementById("status-text").textContent = text;
  document.getElementById("status").className = `status ${tone}`;
}

const token = takeToken();
followNextRun();
if (token) new Page(token);
else showStatus("open the address that folio dev printed: it holds the token of this page", "error");

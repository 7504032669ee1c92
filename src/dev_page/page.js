// The page of `folio dev`: the lists, the entry that is chosen, and what happens beside it.

import { clearLog, logEvent } from "/call_log.js";
import { element } from "/elements.js";
import { EntryView } from "/entry_view.js";
import { readEvents } from "/events.js";
import { McpClient } from "/mcp_client.js";
import { setUpProblems, showProblems } from "/problems.js";
import { ViewOptions } from "/view_options.js";

const TOKEN_KEY = "token";

/** The token from the address, which is then taken off it, or of this tab before it was loaded again. */
function takeToken() {
  const fromAddress = location.hash.slice(1);
  if (/^[0-9a-f]{48}$/.test(fromAddress)) {
    sessionStorage.setItem(TOKEN_KEY, fromAddress);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(TOKEN_KEY);
}

/** How many entries of a kind are listed at a time; the filter finds the others. */
const MAX_LISTED = 500;

const KINDS = [
  { kind: "prompt", title: "Prompts", method: "prompts/list", key: "prompts", id: (one) => one.name },
  { kind: "resource", title: "Resources", method: "resources/list", key: "resources", id: (one) => one.uri },
  { kind: "template", title: "Resource templates", method: "resources/templates/list", key: "resourceTemplates", id: (one) => one.uriTemplate },
  { kind: "tool", title: "Tools", method: "tools/list", key: "tools", id: (one) => one.name },
];

/** The schemas that are known, with those that changed. */
function withChanges(known, changes) {
  const apply = (kind) => {
    const all = { ...(changes.whole ? {} : known?.[kind]), ...changes[kind].changed };
    for (const name of changes[kind].gone) delete all[name];
    return all;
  };
  return { prompts: apply("prompts"), templates: apply("templates") };
}

class Page {
  #client;
  #entries = [];
  #chosen = sessionStorage.getItem("chosen");
  #view;
  #schemas;
  #options = new ViewOptions(() => this.#view?.redraw());
  #buttons = new Map();
  #refreshing = Promise.resolve();
  #isGone = false;

  constructor(token) {
    this.#client = new McpClient(token);
    const filter = document.getElementById("filter");
    filter.addEventListener("input", () => this.#showList());
    document.getElementById("entries").addEventListener("keydown", (event) => moveFocus(event));
    setUpProblems();
    // It is a state, not a request: a page that connects again has all of it.
    const handlers = {
      onEvent: (event) => this.#handle(event),
      onConnected: () => clearLog(),
      onLost: (status) => this.#lost(status),
    };
    readEvents(token, handlers);
  }

  #handle(event) {
    if (event.type !== "state") return logEvent(event);
    this.#schemas = withChanges(this.#schemas, event.schemas);
    this.#options.update(event);
    showProblems(event);
    document.getElementById("server-name").textContent = event.server ?? "";
    document.title = event.server ? `${event.server} · folio dev` : "folio dev";
    const tone = event.broken ? "error" : event.problems.length ? "warning" : "good";
    const served = event.broken && event.server ? "broken, serving the last good version" : "broken";
    showStatus(event.broken ? `${served}: ${event.summary}` : event.summary, tone);
    this.#refresh();
  }

  #lost(status) {
    if (status === 401) return showStatus("this address is of another run: open the one that folio dev printed", "error");
    showStatus("the server is away", "error");
  }

  /** Lists everything again, and renews what is shown; one after another. */
  #refresh() {
    this.#refreshing = this.#refreshing.then(() => this.#renew()).catch((error) => showStatus(error.message, "error"));
  }

  async #renew() {
    // What is looked at comes first.
    this.#view?.renew();
    const lists = KINDS.map(async ({ kind, method, key, id }) => {
      const listings = await this.#client.list(method, key);
      return listings.map((listing) => ({ kind, id: id(listing), key: `${kind} ${id(listing)}`, listing }));
    });
    this.#entries = (await Promise.all(lists)).flat();
    this.#options.toolCount = this.#entries.filter(({ kind }) => kind === "tool").length;
    const known = this.#entries.find((entry) => entry.key === this.#chosen);
    this.#showList();
    if (known && this.#view) {
      if (this.#view.update(known, this.#schemas)) this.#view.renew();
    } else if (known || !(this.#view || this.#isGone)) {
      this.#choose(known ?? this.#entries[0]);
    } else {
      this.#isGone = true;
      this.#view?.close();
      this.#view = undefined;
      document.getElementById("entry").replaceChildren(element("p", { class: "dim", text: "This entry is gone." }));
    }
  }

  #showList() {
    const wanted = document.getElementById("filter").value.trim().toLowerCase();
    const matches = ({ id, listing }) =>
      [id, listing.title, listing.description].some((text) => text?.toLowerCase().includes(wanted));
    const focused = document.activeElement?.dataset?.key;
    this.#buttons.clear();
    const groups = KINDS.map(({ kind, title }) => {
      const entries = this.#entries.filter((entry) => entry.kind === kind && matches(entry));
      return entries.length ? this.#group(title, entries) : undefined;
    }).filter(Boolean);
    const none = element("p", { class: "dim", text: this.#entries.length ? "No match." : "No entries." });
    document.getElementById("entries").replaceChildren(...(groups.length ? groups : [none]));
    if (focused !== undefined) this.#buttons.get(focused)?.focus();
  }

  #group(title, entries) {
    const button = (entry) => {
      const current = entry.key === this.#chosen ? "true" : undefined;
      const made = element("button", { type: "button", "aria-current": current, "data-key": entry.key, text: entry.id });
      made.addEventListener("click", () => this.#choose(entry));
      this.#buttons.set(entry.key, made);
      return element("li", {}, made);
    };
    const list = element("ul", {}, ...entries.slice(0, MAX_LISTED).map(button));
    const more = entries.length - MAX_LISTED;
    const note = more > 0 ? element("p", { class: "dim", text: `${more} more: filter to see them` }) : undefined;
    return element("div", {}, element("h2", { text: title }), list, note);
  }

  #choose(entry) {
    this.#view?.close();
    this.#view = undefined;
    this.#isGone = false;
    this.#chosen = entry?.key;
    if (!entry) return document.getElementById("entry").replaceChildren();
    sessionStorage.setItem("chosen", entry.key);
    for (const [key, button] of this.#buttons) {
      if (key === entry.key) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    const context = { client: this.#client, options: this.#options, place: document.getElementById("entry") };
    this.#view = new EntryView(context, entry, this.#schemas);
    this.#view.renew();
  }
}

/** Arrows go through the list. */
function moveFocus(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const buttons = [...document.querySelectorAll("#entries button")];
  const next = buttons[buttons.indexOf(document.activeElement) + step];
  if (next) {
    event.preventDefault();
    next.focus();
  }
}

function showStatus(text, tone) {
  const status = document.getElementById("status");
  status.textContent = text;
  status.className = tone;
}

// The address of another run, opened in the same tab.
addEventListener("hashchange", () => location.reload());

const token = takeToken();
if (token) new Page(token);
else showStatus("open the address that folio dev printed: it holds the token of this page", "error");

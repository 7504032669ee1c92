// The result of an entry, with its views as tabs: rendered, its steps, its source, the wire, and as a client shows it.

import { clientView } from "/client_view.js";
import { element } from "/elements.js";
import { methodOf } from "/entry_call.js";
import { changesIn, renderedView } from "/rendered_view.js";
import { SourceView } from "/source_view.js";
import { StepsView } from "/steps_view.js";
import { WireView } from "/wire_view.js";

const TITLES = { rendered: "Rendered", steps: "Steps", source: "Source", wire: "Wire", client: "As a client" };

export class ResultTabs {
  /** The name of the view that is shown. */
  tab;
  #entry;
  #api;
  #options;
  #tabs = new Map();
  #bar = element("div", { class: "result-tabs", role: "tablist", "aria-label": "Views of the result" });
  #tools = element("div", { class: "result-tools" });
  #status = element("div", { class: "result-status", role: "status" });
  #output = element("div", { class: "result-output" });
  #panel = element("div", { class: "result-panel", role: "tabpanel", id: "result-panel", tabindex: "-1" });
  #split = element("div", { class: "result-split", role: "region", "aria-label": "Source" });
  #shown;
  #steps;
  #wire;
  #source;
  #at = -1;
  /** Where the questions of a call are asked. */
  questions = element("div", { class: "result-questions", role: "log" });

  constructor({ entry, api, options, resend, tryExpression }) {
    this.#entry = entry;
    this.#api = api;
    this.#options = options;
    this.#steps = new StepsView({ tryExpression });
    this.#wire = new WireView({ resend, isTool: entry.kind === "tool" });
    this.#source = new SourceView({ api, editorLink: options.editorLink });
    this.element = element("section", { class: "result", role: "region", "aria-label": "Result" },
      element("div", { class: "result-bar" }, this.#bar, this.#tools), this.#status, this.#panel, this.#split);
    const names = Object.keys(TITLES).filter((name) => name !== "steps" || entry.kind === "tool");
    for (const name of names) {
      const tab = element("button", { type: "button", role: "tab", "aria-controls": "result-panel", text: TITLES[name], onclick: () => options.set("tab", name) });
      this.#tabs.set(name, tab);
      this.#bar.append(tab);
    }
    this.#bar.addEventListener("keydown", (event) => this.#key(event));
    this.#source.update(entry);
    this.#wire.update({ exchanges: [] });
    this.#steps.update({ trace: [], entry });
    this.choose(options.tab);
  }

  /** Arrows go from tab to tab. */
  #key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const names = [...this.#tabs.keys()];
    this.#options.set("tab", names[(names.indexOf(this.tab) + step + names.length) % names.length]);
    this.#tabs.get(this.tab).focus();
  }

  choose(name) {
    this.tab = this.#tabs.has(name) ? name : "rendered";
    for (const [key, tab] of this.#tabs) {
      tab.setAttribute("aria-selected", String(key === this.tab));
      tab.tabIndex = key === this.tab ? 0 : -1;
    }
    this.#panel.setAttribute("aria-label", TITLES[this.tab]);
    const views = { rendered: [this.questions, this.#output], steps: [this.#steps.element], source: [this.#source.element], wire: [this.#wire.element] };
    this.#panel.replaceChildren(...(views[this.tab] ?? [this.#clientView()]));
    const splits = this.#options.splitsSource && this.tab !== "source";
    this.#split.hidden = !splits;
    if (splits) this.#split.replaceChildren(this.#source.element);
    this.#drawTools();
  }

  #clientView() {
    const view = clientView(this.#entry, this.#shown, this.#options);
    if (this.#shown) {
      const how = { rendersMarkdown: this.#options.rendersMarkdown, render: (items) => this.#api.render(items) };
      renderedView(methodOf(this.#entry), view.result, how).then((rendered) => view.place.replaceChildren(rendered));
    }
    return view.element;
  }

  #drawTools() {
    const { rendersMarkdown, splitsSource } = this.#options;
    const changes = this.tab === "rendered" ? changesIn(this.#output) : [];
    const walk = (step, sign, label) => element("button", { type: "button", class: "quiet", "aria-label": label, text: sign, onclick: () => this.walk(step) });
    const toggle = (name, isOn, label) =>
      element("button", { type: "button", class: "toggle", "aria-pressed": String(isOn), text: label, onclick: () => this.#options.set(name, !isOn) });
    this.#tools.replaceChildren(...[
      changes.length > 0 && element("span", { class: "result-changes" }, `${changes.length} changed`, walk(-1, "↑", "Change before"), walk(1, "↓", "Next change")),
      ["rendered", "client"].includes(this.tab) && toggle("rendersMarkdown", rendersMarkdown, "Markdown"),
      this.tab !== "source" && toggle("splitsSource", splitsSource, "Source below"),
    ].filter(Boolean));
  }

  /** Goes to the next place that changed. */
  walk(step) {
    const changes = changesIn(this.#output);
    if (changes.length === 0) return;
    this.#at = (this.#at + step + changes.length) % changes.length;
    for (const one of changes) one.classList.toggle("current-change", one === changes[this.#at]);
    changes[this.#at].scrollIntoView({ block: "center" });
  }

  /** Another choice of how results are shown. */
  async redraw() {
    this.choose(this.#options.tab);
    this.#source.redraw();
    if (this.#shown) await this.#draw();
  }

  /** Shows a result; what is new against `previous` is marked. */
  async show(result, previous, logs = []) {
    this.#shown = { result, previous, logs };
    await this.#draw();
    if (this.tab === "client") this.choose(this.tab);
  }

  async #draw() {
    const { result, previous, logs } = this.#shown;
    const { rendersMarkdown } = this.#options;
    const how = { previous, rendersMarkdown, render: (items) => this.#api.render(items) };
    const view = await renderedView(methodOf(this.#entry), result, how);
    if (this.#shown?.result !== result) return;
    this.#at = -1;
    this.#output.replaceChildren(...logs, view);
    this.#drawTools();
  }

  fail(message) {
    this.#shown = undefined;
    // There are no steps of a call that never began.
    if (this.#entry.kind === "tool" && this.tab !== "rendered") this.#options.set("tab", "rendered");
    this.#output.replaceChildren(element("p", { class: "result-error", role: "alert", text: message }));
    this.#drawTools();
  }

  /** Says what is missing before there is a result. */
  wait(message) {
    this.#shown = undefined;
    this.#output.replaceChildren(element("p", { class: "result-wait", text: message }));
    this.#drawTools();
  }

  /** Clears for a call that begins; what was answered before stays until then. */
  begin() {
    this.#shown = undefined;
    this.questions.replaceChildren();
    this.#output.replaceChildren();
    if (this.tab === "source") this.#options.set("tab", "rendered");
    this.#drawTools();
  }

  /** Brings the place into view where questions are asked. */
  showQuestions() {
    if (this.tab !== "rendered") this.#options.set("tab", "rendered");
    return this.questions;
  }

  log(line) {
    this.#output.append(line);
  }

  get logs() {
    return [...this.#output.querySelectorAll(":scope > .result-log")];
  }

  set status(parts) {
    this.#status.replaceChildren(...[parts].flat());
  }

  /** The steps and exchanges of the last call. */
  updateCall({ trace, values, result, exchanges }) {
    if (trace) this.#steps.update({ trace, entry: this.#entry, arguments: values, result });
    if (exchanges) this.#wire.update({ exchanges });
  }

  updateSource(entry, how) {
    this.#entry = entry;
    this.#source.update(entry, how);
  }

  set gaps(gaps) {
    this.#source.gaps = gaps;
  }
}
